"""`gather-infer explain`."""

from __future__ import annotations

import difflib
import os
import re

import click

from gather_infer.diagnostic import CODES
from gather_infer.errors import UsageError

from .console import Console
from .options import Command, assumptions, common, facts, option

_CODE = re.compile(r"gi\d*", re.IGNORECASE)


@click.command("explain", cls=Command, example="gather-infer explain fixtures/bert-dynamo.onnx view --dim seq=1..64")
@click.argument("subject", metavar="MODEL TENSOR | CODE")
@click.argument("tensor", metavar="", required=False)
@facts
@assumptions
@option("--depth", section="Report", type=click.IntRange(min=0), default=8, show_default=True, metavar="N",
        help="Steps below each other at most.")  # fmt: skip
@common(verbose="Print every node of the chain.")
def command(
    subject: str,
    tensor: str | None,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    rules: tuple[str, ...],
    no_assume: bool,
    depth: int,
    console: Console,
) -> int:
    """Print why a tensor has its shape, or what a code means.

    MODEL is an ONNX file; - is standard input. A tensor of a subgraph is named below its path: If_3/then_branch/y.
    """
    if tensor is None:
        given = [name for name, values in (("--dim", dims), ("--input", inputs), ("--rules", rules)) if values]
        if given:
            raise click.UsageError(f"{given[0]} needs MODEL TENSOR")
        _explain_code(_code(subject), console)
        return 0

    from gather_infer.explanation import explain
    from gather_infer.report import explanation_json, explanation_text

    from .rule_files import load_rules

    explanation = explain(
        subject,
        tensor,
        dims=dims,
        inputs=inputs,
        rules=load_rules(rules),
        assume=not no_assume,
        depth=depth,
        every=console.verbose,
    )
    if console.json:
        console.result_json(explanation_json(explanation))
    else:
        console.result(explanation_text(explanation, model="<stdin>" if subject == "-" else subject))
    return 0


def _code(text: str) -> str:
    """The code that `text` names. Raises UsageError when there is none."""
    code = text.upper()
    if code in CODES:
        return code
    if not _CODE.fullmatch(text) and (os.path.exists(text) or text == "-" or "." in text):
        raise click.UsageError(f"missing argument 'TENSOR': which tensor of {'<stdin>' if text == '-' else text}?")
    near = difflib.get_close_matches(code, CODES, 1)
    raise UsageError(
        f"no code {text!r}; " + (f"did you mean {near[0]!r}?" if near else f"there are {', '.join(CODES)}")
    )


def _explain_code(code: str, console: Console) -> None:
    from gather_infer.report import code_json, code_text

    if console.json:
        console.result_json(code_json(code))
    else:
        console.result(code_text(code))
