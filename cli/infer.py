"""`gather-infer infer`."""

from __future__ import annotations

import time
from functools import partial

import click

from .console import Console
from .options import Command, common, facts, option, output, rules


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@click.argument("model")
@facts
@rules
@output(required=False, help="Write the model with value_info for every tensor.")
@option("--in-place", section="Output", is_flag=True, help="Write to MODEL itself.")
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print what validity implies about the symbols.")
@option("--strict", section="Report", is_flag=True, help="Exit with 1 when there are errors or warnings.")
@common
def command(
    model: str,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    rules: tuple[str, ...],
    no_assume: bool,
    output: str | None,
    external_data: str | None,
    in_place: bool,
    everything: bool,
    constraints: bool,
    strict: bool,
    console: Console,
) -> int:
    """Print the symbolic type and shape of every tensor."""
    started = time.monotonic()
    out = _target(model, output, external_data, in_place)

    from gather_infer.diagnostic import Severity
    from gather_infer.inference import infer
    from gather_infer.model import open_model, save
    from gather_infer.report import inference_json, inference_text, summarize

    from .rule_files import load_rules

    user_rules = load_rules(rules)
    file = open_model(model)
    inference = infer(file, dims=dims, inputs=inputs, rules=user_rules, assume=not no_assume)
    summary = summarize(file.proto, name=_shown(model), nbytes=file.size)
    if console.json:
        show = partial(console.result_json, inference_json(inference, summary))
    else:
        lines = inference_text(
            inference,
            summary,
            everything=everything or console.verbose,
            constraints=constraints,
            width=console.width,
            seconds=time.monotonic() - started,
        )
        show = partial(console.result, lines)
    written = None
    if out is not None:
        written = save(file, inference.annotated(), out, external_data=external_data, in_place=in_place)
    show()
    if written is not None:
        console.wrote(written)
        fixed = [dim for dim in dims if ".." not in dim]
        if fixed:
            console.message(f"its value_info holds for {', '.join(fixed)} only, its inputs are declared as before")
    found = any(d.severity is not Severity.NOTE for d in inference.diagnostics)
    return 1 if strict and found else 0


def _target(model: str, output: str | None, external_data: str | None, in_place: bool) -> str | None:
    """The path to write to, None to write nothing.

    Raises click.UsageError when the options contradict each other.
    """
    if in_place:
        if output is not None:
            raise click.UsageError("--in-place and -o exclude each other")
        if model == "-":
            raise click.UsageError("--in-place needs a file, MODEL is standard input")
        return model
    if external_data is not None and output is None:
        raise click.UsageError("--external-data needs -o or --in-place")
    return output


def _shown(model: str) -> str:
    return "<stdin>" if model == "-" else model
