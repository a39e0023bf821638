"""`gather-infer fold`."""

from __future__ import annotations

import click

from gather_infer.diagnostic import has_faults
from gather_infer.report.forms import REWRITING, RewriteReport

from .console import Console
from .facts import Facts, facts_options
from .options import Command, common_options, option
from .saving import Target, dry_run_option, finish, output_options, strict_option
from .verification import verified, verify_option


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@click.argument("model")
@facts_options
@output_options("Where to write the folded model.")
@dry_run_option
@option("--max-growth", section="Folding", type=click.IntRange(min=0), default=1 << 20, show_default=True,
        metavar="N", help="Bytes by which a node may let the constants grow.")  # fmt: skip
@verify_option
@strict_option("Write nothing and exit with 1 when there are errors or warnings.")
@common_options(REWRITING, verbose="Print each folded node, and why others were left alone.")
def command(
    model: str,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    max_growth: int,
    verify: int | None,
    strict: bool,
    console: Console,
) -> int:
    """Replace nodes whose results are known by constants.

    MODEL is an ONNX file; - is standard input.
    """
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run shows the edits and writes nothing")

    from gather_infer.passes import fold

    result = fold(model, max_growth=max_growth, dims=facts.dims, inputs=facts.inputs, rules=facts.rules())
    verification = None if verify is None else verified(result, verify)
    return finish(
        console.lines_of(REWRITING, RewriteReport(result, dry_run, verification)),
        result.save,
        None if dry_run else target,
        console,
        refused=(strict and has_faults(result.diagnostics)) or (verification is not None and not verification.ok),
    )
