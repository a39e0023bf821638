"""Options and execution that `fold` and `optimize` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from gather_infer.report.output_formats import MODELS, REWRITING

from .console import Console
from .facts import Facts, facts_options
from .options import Bytes, Function, common_options, model_argument, option, with_options
from .parallel import Parallel, parallel_options, run_alone, run_many
from .saving import DRY_RUN_OF_EDITS, Target, are_several, dry_run_option, missing_output, output_options, strict_option
from .verification import prove_options, verify_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions

_DOING = {"fold": "folding", "optimize": "optimizing"}


def run_rewriting(
    by: Literal["fold", "optimize"],
    *,
    models: tuple[str, ...],
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    passes: tuple[str, ...],
    skip: tuple[str, ...],
    fold_floats: bool,
    max_growth: int,
    prove: bool,
    certificate: str | None,
    verifying: VerifyOptions | None,
    strict: bool,
    parallel: Parallel,
    console: Console,
    rewrites: tuple[str, ...] = (),
) -> int:
    """Rewrite models, prove, verify, write, print; return the exit code. Arguments as those of `rewriting_options`.

    rewrites   files with rewrite sets
    """
    if target is None and not dry_run:
        raise missing_output(models)

    from gather_infer.many.rewrite import RewriteJob

    target = None if dry_run else target
    job = RewriteJob(
        **facts.job_options(target, console, rewrite_files=rewrites),
        by=by,
        passes=passes,
        skip=skip,
        fold_floats=fold_floats,
        max_growth=max_growth,
        edits=dry_run,
        prove=prove,
        certificate=certificate,
        verify=verifying,
        strict=strict,
    )
    if are_several(models):
        return run_many(job, models, target, parallel, console, doing=_DOING[by])
    return run_alone(job, models[0], target, parallel, console, timed=True)


def rewriting_options(
    by: Literal["fold", "optimize"], *extra: Callable[[Function], Function], becomes: str, verbose: str
) -> Callable[[Function], Function]:
    """A decorator that adds MODELS and the rewriting options to a command, which passes them to `run_rewriting`.

    by        the name of the command
    extra     additional options of the command
    becomes   participle for the help text: folded, optimized
    verbose   help text of -v
    """

    def decorate(function: Function) -> Function:
        return with_options(
            function,
            model_argument("models", nargs=-1, required=True),
            facts_options,
            output_options(f"Write the {becomes} model to OUT.", several=True),
            dry_run_option(DRY_RUN_OF_EDITS),
            prove_options,
            verify_options,
            option("--passes", section="Rewriting", multiple=True, metavar="NAME",
                   help="Apply only this rule; repeat it for more."),
            option("--skip", section="Rewriting", multiple=True, metavar="NAME",
                   help="Do not apply this rule; repeat it for more."),
            option("--list-passes", section="Rewriting", is_flag=True, is_eager=True, expose_value=False,
                   callback=functools.partial(_list_passes, by), help="Print the rules and exit."),
            *extra,
            option("--fold-floats", section="Rewriting", is_flag=True,
                   help="Also evaluate float operators of constants with a runtime; last bits may change."),
            option("--max-growth", section="Rewriting", type=Bytes(), default="1M", show_default=True,
                   metavar="SIZE", help="Limit the bytes by which a rewrite may grow the constants: 4096, 64K, 1M."),
            strict_option("Write nothing and exit with 1 on errors or warnings."),
            parallel_options(by.capitalize()),
            common_options(REWRITING, MODELS, verbose=verbose),
        )  # fmt: skip

    return decorate


def _list_passes(by: str, context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        from gather_infer.passes.optimizing import rule_names

        for name in rule_names(by):
            click.echo(name)
        context.exit()
