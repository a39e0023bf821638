"""`gather-infer freeze`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import has_errors_or_warnings
from gather_infer.report.output_formats import FREEZE, FreezeReport

from .console import Console
from .facts import Facts, facts_options
from .options import Command, common_options, model_argument
from .saving import Target, dry_run_option, finish, output_options, strict_option
from .verification import prove_options, verify_options

if TYPE_CHECKING:
    from gather_infer.many.job import Save
    from gather_infer.verification.options import VerifyOptions


@click.command(
    "freeze", cls=Command, example="gather-infer freeze fixtures/bert-torchscript.onnx --dim batch=1 -o out.onnx"
)
@model_argument()
@facts_options
@output_options("Write the frozen model to OUT.")
@dry_run_option("Write nothing.")
@prove_options
@verify_options
@strict_option("Write nothing and exit with 1 on errors or warnings.")
@common_options(FREEZE, verbose="Print each changed declaration, and every dim that is still symbolic.")
def command(
    model: str,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    prove: bool,
    certificate: str | None,
    verifying: VerifyOptions | None,
    strict: bool,
    console: Console,
) -> int:
    """Fix input sizes.

    The output dims that follow from them become static, too. MODEL is an ONNX file; - is standard input. The command
    exits with 1 and writes nothing if the model has an error with these sizes.
    """
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run writes nothing")
    if not (facts.dims or facts.inputs or facts.constants):
        raise click.UsageError("nothing to freeze: --dim batch=1 or --input 'ids=[1, 128]' is missing")

    from gather_infer.inference import infer
    from gather_infer.passes import freeze

    with console.progress() as progress:
        rules = facts.rules()
        arguments: dict[str, Any] = {
            "dims": facts.dims,
            "inputs": facts.inputs,
            "rules": rules,
            "initializers_as_constants": facts.constants,
        }
        result = freeze(facts.open_model(model), **arguments, progress=progress)
        proof = None
        save: Save = result.save
        if prove and not result.refused:
            from gather_infer.equality import diff
            from gather_infer.equality.certificate import certificate_file

            proof = diff(result.source, result.file, **arguments, details=False, runs=0, progress=progress)
            if certificate is not None:
                save = functools.partial(result.save, companions=certificate_file(certificate, proof, result.source))
        verification = None
        if verifying is not None and not result.refused:
            verification = verifying.run(
                result.source, result.proto, infer(result.source, **arguments), progress=progress
            )
        lines = console.lines_of(FREEZE, FreezeReport(result, verification, proof))
    is_wrong = (verification is not None and not verification.ok) or (proof is not None and not proof.is_proved)
    return finish(
        lines,
        save,
        None if dry_run else target,
        console,
        refused=bool(result.refused) or is_wrong or (strict and has_errors_or_warnings(result.diagnostics)),
    )
