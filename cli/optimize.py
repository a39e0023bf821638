"""`gather-infer optimize`."""

from __future__ import annotations

import click

from gather_infer.diagnostic import has_faults
from gather_infer.report.forms import REWRITING, RewriteReport

from .console import Console
from .facts import Facts, facts_options
from .options import Command, common_options, option
from .saving import Target, dry_run_option, finish, output_options, strict_option
from .verification import verified, verify_option


@click.command("optimize", cls=Command, example="gather-infer optimize fixtures/gpt2-kv-torchscript.onnx -o small.onnx")
@click.argument("model")
@facts_options
@output_options("Where to write the optimised model.")
@dry_run_option
@option("--passes", section="Rewriting", multiple=True, metavar="NAME", help="Ask this rule; repeat it for more.")
@option("--skip", section="Rewriting", multiple=True, metavar="NAME", help="Do not ask this rule; repeat it for more.")
@option(
    "--list-passes",
    section="Rewriting",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, wanted: _list_passes(ctx) if wanted else None,
    help="Print the rules and exit.",
)
@option(
    "--rewrites",
    section="Rewriting",
    multiple=True,
    metavar="FILE.py",
    help="Ask the rewrite sets of this file first; it is run.",
)
@option(
    "--max-growth",
    section="Rewriting",
    type=click.IntRange(min=0),
    default=1 << 20,
    show_default=True,
    metavar="N",
    help="Bytes by which a rewrite may let the constants grow.",
)
@verify_option
@strict_option("Write nothing and exit with 1 when there are errors or warnings.")
@common_options(REWRITING, verbose="Print each rewrite with its law, and why nodes were left alone.")
def command(
    model: str,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    passes: tuple[str, ...],
    skip: tuple[str, ...],
    rewrites: tuple[str, ...],
    max_growth: int,
    verify: int | None,
    strict: bool,
    console: Console,
) -> int:  # fmt: skip
    """Make a model smaller and faster that computes the same, bit for bit.

    MODEL is an ONNX file; - is standard input.
    """
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run shows the edits and writes nothing")

    from gather_infer.passes import RewriteSet, optimize

    from .rule_files import load_sets

    result = optimize(
        model,
        max_growth=max_growth,
        passes=passes,
        skip=skip,
        rewrites=load_sets(rewrites, RewriteSet, "--rewrites"),
        dims=facts.dims,
        inputs=facts.inputs,
        rules=facts.rules(),
    )
    verification = None if verify is None else verified(result, verify)
    return finish(
        console.lines_of(REWRITING, RewriteReport(result, dry_run, verification)),
        result.save,
        None if dry_run else target,
        console,
        refused=(strict and has_faults(result.diagnostics)) or (verification is not None and not verification.ok),
    )


def _list_passes(context: click.Context) -> None:
    from gather_infer.passes.run import rule_names

    for name in rule_names():
        click.echo(name)
    context.exit()
