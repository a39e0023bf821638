"""`gather-infer explain`."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

import click

from gather_infer.diagnostic import CODES, codes_near, nearest_code
from gather_infer.errors import UsageError
from gather_infer.report.output_formats import CODE, EXPLANATIONS, ExplanationsReport

from .completers import codes_or_files, tensors
from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, model_argument, option
from .selection import op_option, unknown_option

if TYPE_CHECKING:
    from gather_infer.explanation import Explanation, SymbolExplanation

SHOWN = 12
"""Maximal number of tensors that are explained without --all; 13 are explained, too. A last line counts the others."""

_CODE = re.compile(r"gi\d*", re.IGNORECASE)


@click.command("explain", cls=Command, example="gather-infer explain fixtures/bert-dynamo.onnx view --dim seq=1..64")
@model_argument("subject", metavar="MODEL TENSOR | MODEL SYMBOL | CODE", shell_complete=codes_or_files)
@click.argument("name", metavar="", required=False, shell_complete=tensors)
@op_option
@unknown_option
@option(
    "--all", "everything", section="Tensors", is_flag=True, help="Explain all selected tensors, not only the first few."
)
@facts_options
@assume_option
@option("--depth", section="Report", type=click.IntRange(min=0), default=8, show_default=True, metavar="N",
        help="Limit the nesting of steps.")  # fmt: skip
@common_options(EXPLANATIONS, CODE, verbose="Print every node of the chain and every dim of a symbol.")
def command(
    subject: str,
    name: str | None,
    op: str | None,
    unknown: bool,
    everything: bool,
    facts: Facts,
    no_assume: bool,
    depth: int,
    console: Console,
) -> int:  # fmt: skip
    """Explain a shape, a symbol or a code.

    MODEL is an ONNX file (- is standard input) or the .xml of an OpenVINO IR. TENSOR may be a glob, '/encoder/*'; with
    --op or --unknown it is optional. The name of a tensor in a subgraph includes its path: If_3/then_branch/y. SYMBOL
    is a dim of the inputs (seq) or a generated symbol (nonzero_0).
    """
    if name is None and op is None and not unknown:
        if facts.options:
            raise click.UsageError(f"{facts.options[0]} needs MODEL TENSOR")
        console.result(CODE, _code(subject))
        return 0

    from gather_infer.explanation import Explainer

    with console.progress() as progress:
        rules = facts.rules()
        progress(lambda: "inferring")
        explainer = Explainer(
            facts.open_model(subject),
            dims=facts.dims,
            inputs=facts.inputs,
            rules=rules,
            assume=not no_assume,
            initializers_as_constants=facts.constants,
        )
        progress(lambda: "explaining")
        found: tuple[Explanation | SymbolExplanation, ...]
        more = 0
        if name is None or op is not None or unknown or explainer.is_glob(name):
            rows = explainer.inference.tensors(name or "", op=op, unknown=unknown)
            shown = rows if everything or len(rows) <= SHOWN + 1 else rows[:SHOWN]
            more = len(rows) - len(shown)
            found = tuple(explainer.tensor(row.title, depth=depth, every=console.verbose) for row in shown)
        else:
            found = explainer.named(name, depth=depth, every=console.verbose)
        lines = console.lines_of(EXPLANATIONS, ExplanationsReport(found, more))
    console.print(lines)
    if not found:
        console.message("every such tensor is fully known")
    return 0


def _code(text: str) -> str:
    """`text` as a documented code, in upper case. Raises UsageError if there is no such code."""
    code = text.upper()
    if code in CODES:
        return code
    if not _CODE.fullmatch(text) and (os.path.exists(text) or text == "-" or "." in text):
        raise click.UsageError(f"missing argument 'TENSOR': which tensor of {'<stdin>' if text == '-' else text}?")
    if nearest_code(text) is None and not _CODE.fullmatch(text):
        command = shlex.join(["gather-infer", "explain", "MODEL", text])
        raise click.UsageError(f"missing argument 'MODEL': {text!r} is no code; for a tensor or a symbol: {command}")
    raise UsageError(f"no code {text!r}{codes_near(text)}")
