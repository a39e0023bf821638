"""Options and execution that `extract`, `outputs`, `rename` and `compose` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gather_infer.report.output_formats import EDIT, EditReport, ResultKind

from .console import Console
from .facts import Facts
from .options import Function, common_options, with_options
from .saving import DRY_RUN_OF_EDITS, Target, dry_run_option, finish, output_options

if TYPE_CHECKING:
    from gather_infer.editing import EditResult
    from gather_infer.equality import Difference
    from gather_infer.many.job import Save
    from gather_infer.verification.result import Verification


def editing_options(
    *comparing: Callable[[Function], Function], help: str, names: tuple[str, ...] = ("-o", "--output")
) -> Callable[[Function], Function]:
    """A decorator that adds the output options of a command that edits a model.

    comparing   decorators for options that compare the new model with the original
    help        help text of -o, which has these `names`
    """

    def decorate(function: Function) -> Function:
        return with_options(
            function,
            output_options(help, names=names),
            dry_run_option(DRY_RUN_OF_EDITS),
            *comparing,
            common_options(EDIT, verbose="Print every input, output and edit."),
        )

    return decorate


def require_output(target: Target | None, *, dry_run: bool) -> None:
    """Raise click.UsageError if a command has nowhere to write."""
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run writes nothing")


def require_names(*options: tuple[str, ...], missing: str) -> None:
    """Raise click.UsageError with the text `missing` if the values of `options` hold no name."""
    if not any(text.strip() for texts in options for text in texts):
        raise click.UsageError(missing)


def arguments_of(facts: Facts) -> dict[str, Any]:
    """The arguments of an editing function for the constraints from the command line."""
    return {
        "dims": facts.dims,
        "types": facts.inputs,
        "rules": facts.rules(),
        "initializers_as_constants": facts.constants,
    }


def write_edited(
    result: EditResult,
    target: Target | None,
    console: Console,
    *,
    dry_run: bool,
    proof: Difference | None = None,
    verification: Verification | None = None,
    certificate: str | None = None,
    kind: ResultKind[EditReport] = EDIT,
) -> int:
    """Print the report and write the model, unless a proof or verification failed; return the exit code.

    certificate   a file for the certificate of the proof, which is written together with the model
    """
    lines = console.lines_of(kind, EditReport(result, dry_run, verification, proof))
    is_wrong = (
        bool(result.refused)
        or (verification is not None and not verification.ok)
        or (proof is not None and not proof.is_proved)
    )
    save: Save = result.save
    if certificate is not None:
        from gather_infer.equality.certificate import certificate_file

        assert proof is not None, "the option implies a proof"
        save = functools.partial(result.save, companions=certificate_file(certificate, proof, result.source))
    return finish(lines, save, None if dry_run else target, console, refused=is_wrong)
