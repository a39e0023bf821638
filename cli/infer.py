"""`gather-infer infer`."""

from __future__ import annotations

import time
from functools import partial

import click

from gather_infer.diagnostic import has_faults

from .console import Console
from .options import Command, assumptions, common, facts, option, output, strict
from .target import target_of


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@click.argument("model")
@facts
@assumptions
@output("Write the model with value_info for every tensor.")
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print what validity implies about the symbols.")
@strict("Exit with 1 when there are errors or warnings.")
@common(verbose="Print every tensor, every constraint and all rows.")
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
    """Print symbolic types and shapes, and what is wrong.

    MODEL is an ONNX file; - is standard input.
    """
    started = time.monotonic()
    target = target_of(model, output, external_data, in_place)

    from gather_infer.inference import infer
    from gather_infer.model import open_model, save
    from gather_infer.report import inference_json, inference_text, summarize

    from .rule_files import load_rules

    user_rules = load_rules(rules)
    file = open_model(model)
    inference = infer(file, dims=dims, inputs=inputs, rules=user_rules, assume=not no_assume)
    summary = summarize(file.proto, name=file.name, nbytes=file.size)
    if console.json:
        show = partial(console.result_json, inference_json(inference, summary))
    else:
        lines = inference_text(
            inference,
            summary,
            everything=everything or console.verbose,
            constraints=constraints or console.verbose,
            tensors=console.verbose,
            width=console.width,
            seconds=time.monotonic() - started,
        )
        show = partial(console.result, lines)
    written = None
    if target is not None:
        written = save(
            file,
            inference.annotated(),
            target.path,
            external_data=target.external_data,
            in_place=target.in_place,
        )
    show()
    if written is not None:
        console.wrote(written)
        console.holds_for("its value_info", (*dims, *inputs))
    return 1 if strict and has_faults(inference.diagnostics) else 0
