"""`gather-infer explain`."""

from __future__ import annotations

import difflib
import os
import re

import click

from gather_infer.diagnostic import CODES
from gather_infer.errors import UsageError
from gather_infer.report.forms import CODE, EXPLANATION, ExplanationReport

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, option

_CODE = re.compile(r"gi\d*", re.IGNORECASE)


@click.command("explain", cls=Command, example="gather-infer explain fixtures/bert-dynamo.onnx view --dim seq=1..64")
@click.argument("subject", metavar="MODEL TENSOR | CODE")
@click.argument("tensor", metavar="", required=False)
@facts_options
@assume_option
@option("--depth", section="Report", type=click.IntRange(min=0), default=8, show_default=True, metavar="N",
        help="Steps below each other at most.")  # fmt: skip
@common_options(EXPLANATION, CODE, verbose="Print every node of the chain.")
def command(subject: str, tensor: str | None, facts: Facts, no_assume: bool, depth: int, console: Console) -> int:
    """Print why a tensor has its shape, or what a code means.

    MODEL is an ONNX file; - is standard input. A tensor of a subgraph is named below its path: If_3/then_branch/y.
    """
    if tensor is None:
        if facts.options:
            raise click.UsageError(f"{facts.options[0]} needs MODEL TENSOR")
        console.result(CODE, _code(subject))
        return 0

    from gather_infer.explanation import explain

    with console.progress() as progress:
        progress(lambda: "explaining")
        explanation = explain(
            subject,
            tensor,
            dims=facts.dims,
            inputs=facts.inputs,
            rules=facts.rules(),
            assume=not no_assume,
            depth=depth,
            every=console.verbose,
        )
    called = "<stdin>" if subject == "-" else subject
    console.result(EXPLANATION, ExplanationReport(explanation, called))
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
