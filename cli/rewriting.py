"""Options and execution that `fold` and `optimize` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import has_errors_or_warnings
from gather_infer.report.output_formats import REWRITING, RewriteReport

from .console import Console
from .facts import Facts, facts_options
from .options import Bytes, Function, common_options, model_argument, option, with_options
from .saving import DRY_RUN_OF_EDITS, Target, dry_run_option, finish, output_options, strict_option
from .verification import VerifyOptions, verify_options

if TYPE_CHECKING:
    from gather_infer.passes import OptimizeResult


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Arguments of a command that rewrites a model.

    passes       names of the rules to apply; empty means all
    skip         names of the rules not to apply
    max_growth   maximal number of bytes by which one rewrite may grow the constants
    """

    model: str
    facts: Facts
    target: Target | None
    dry_run: bool
    passes: tuple[str, ...]
    skip: tuple[str, ...]
    fold_floats: bool
    max_growth: int
    verifying: VerifyOptions | None
    strict: bool
    console: Console

    def run(self, rewrite: Callable[..., OptimizeResult]) -> int:
        """Rewrite with `gather_infer.fold` or `gather_infer.optimize`, verify, write, print; return the exit code."""
        if self.target is None and not self.dry_run:
            raise click.UsageError("-o OUT is missing; --dry-run writes nothing")
        with self.console.progress() as progress:
            result = rewrite(
                self.model,
                max_growth=self.max_growth,
                passes=self.passes,
                skip=self.skip,
                fold_floats=self.fold_floats,
                dims=self.facts.dims,
                inputs=self.facts.inputs,
                rules=self.facts.rules(),
                initializers_as_constants=self.facts.constants,
                progress=progress,
            )
            verification = None
            if self.verifying is not None:
                folded = None if result.floats is None else result.floats.tolerance
                verification = self.verifying.run(
                    result.source, result.proto, result.inference, default=folded, progress=progress
                )
            progress(lambda: "comparing")
            lines = self.console.lines_of(REWRITING, RewriteReport(result, self.dry_run, verification))
        is_wrong = verification is not None and not verification.ok
        return finish(
            lines,
            result.save,
            None if self.dry_run else self.target,
            self.console,
            refused=is_wrong or (self.strict and has_errors_or_warnings(result.diagnostics)),
        )


def rewriting_options(
    by: str, *extra: Callable[[Function], Function], becomes: str, verbose: str
) -> Callable[[Callable[..., int]], Function]:
    """A decorator that adds MODEL and the rewriting options to a command, which receives them as a `Rewriting`.

    by        the name of the command
    extra     additional options of the command
    becomes   participle for the help text: folded, optimized
    verbose   help text of -v
    """

    def decorate(function: Callable[..., int]) -> Function:
        @functools.wraps(function)
        def run(
            model: str,
            facts: Facts,
            target: Target | None,
            dry_run: bool,
            passes: tuple[str, ...],
            skip: tuple[str, ...],
            fold_floats: bool,
            max_growth: int,
            verifying: VerifyOptions | None,
            strict: bool,
            console: Console,
            **rest: Any,
        ) -> int:
            request = Rewriting(
                model,
                facts,
                target,
                dry_run,
                passes,
                skip,
                fold_floats,
                max_growth,
                verifying,
                strict,
                console,
            )
            return function(request, **rest)

        return with_options(
            run,
            model_argument(),
            facts_options,
            output_options(f"Write the {becomes} model to OUT."),
            dry_run_option(DRY_RUN_OF_EDITS),
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
            common_options(REWRITING, verbose=verbose),
        )  # fmt: skip

    return decorate


def _list_passes(by: str, context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        from gather_infer.passes.optimizing import rule_names

        for name in rule_names(by):
            click.echo(name)
        context.exit()
