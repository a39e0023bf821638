"""`gather-infer diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from gather_infer.errors import UsageError
from gather_infer.report.output_formats import DIFF, DiffReport

from .console import Console
from .facts import Facts, facts_options, ranges_option
from .options import Command, FileName, Tolerance, common_options, model_argument, option
from .verification import read_feed_files

if TYPE_CHECKING:
    from gather_infer.equality import Difference


MAX_REASONS = 6
"""Maximal number of printed reasons why a certificate does not hold, unless verbose."""


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    """The values of --map, `first=second` or `first=`. Raises UsageError for another text."""
    found = {}
    for text in given:
        first, equals, second = text.partition("=")
        if not equals or not first:
            raise click.UsageError(f"--map takes OUTPUT=OUTPUT, not {text!r}")
        found[first] = second
    return found


@click.command(
    "diff",
    cls=Command,
    example="gather-infer diff fixtures/dlrm-dynamo.onnx fixtures/dlrm-dynamo.onnx --prove",
)
@model_argument("first")
@model_argument("second")
@facts_options
@ranges_option
@option(
    "--map",
    "mapped",
    section="Comparison",
    multiple=True,
    metavar="A=B",
    help="Compare output A of the first model with output B of the second; by name without it. A= leaves A out.",
)
@option("--prove", section="Comparison", is_flag=True, help="Exit with 1 unless equality is proved; make no runs.")
@option(
    "--certificate",
    section="Comparison",
    type=FileName(),
    metavar="FILE",
    help="Check a certificate that another command has written: compare the hashes of both files, and prove "
    "again what it claims, with the facts that it was given. Exit with 1 if it does not hold.",
)
@option(
    "--runs",
    section="Comparison",
    type=click.IntRange(min=0),
    default=8,
    show_default=True,
    metavar="N",
    help="Run both models on N random inputs if something is not proved.",
)
@option(
    "--feeds",
    section="Comparison",
    multiple=True,
    type=FileName(),
    metavar="FILE",
    help="Run both models on the inputs in FILE.npz, by name; repeat it for more.",
)
@option(
    "--law",
    "laws",
    section="Comparison",
    multiple=True,
    metavar="NAME",
    help="Let proofs use a law that holds for real numbers: rows, columns or gemm-bias; repeat it for more.",
)
@option(
    "--rtol",
    section="Comparison",
    type=Tolerance(),
    metavar="R",
    help="Allow floats in runs to differ by ATOL + R * |original|; the default compares bits.",
)
@option(
    "--atol",
    section="Comparison",
    type=Tolerance(),
    metavar="A",
    help="Allow floats in runs to differ by A + RTOL * |original|.",
)
@option(
    "--witness",
    section="Output",
    type=FileName(),
    metavar="FILE",
    help="Write the first inputs for which the outputs differ to FILE.npz.",
)
@common_options(DIFF, verbose="Print every operator, weight and obligation, and the runs.")
def command(
    first: str,
    second: str,
    facts: Facts,
    ranges: tuple[str, ...],
    mapped: tuple[str, ...],
    prove: bool,
    certificate: str | None,
    runs: int,
    feeds: tuple[str, ...],
    laws: tuple[str, ...],
    rtol: float | None,
    atol: float | None,
    witness: str | None,
    console: Console,
) -> int:
    """Compare two models, by proof or by runs.

    Outputs are proved equal for all sizes, bit for bit, where possible. The rest is run on the same inputs. FIRST and
    SECOND are ONNX files or .xml files of OpenVINO IRs. The command exits with 1 if the models differ, if an output was
    neither proved nor run, if their inputs differ, or if the contract of SECOND is narrower.
    """
    if certificate is not None:
        given = [
            *facts.options,
            *(name for name, values in (("--range", ranges), ("--map", mapped), ("--law", laws)) if values),
        ]
        if refused := [name for name in given if name not in ("--rules", "--extension")]:
            raise click.UsageError(f"{refused[0]} is part of the certificate, and cannot be given with --certificate")
        source = click.get_current_context().get_parameter_source
        for name in ("runs", "feeds", "rtol", "atol", "witness"):
            if source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} is for runs, a certificate is checked by proof")
        return _check(certificate, first, second, facts, console)

    from gather_infer.equality import diff

    with console.progress() as progress:
        models = facts.open_model(first), facts.open_model(second)
        rules = facts.rules()
        found = diff(
            *models,
            dims=facts.dims,
            inputs=facts.inputs,
            ranges=ranges,
            rules=rules,
            initializers_as_constants=facts.constants,
            outputs=_pairs(mapped),
            laws=laws,
            runs=0 if prove else runs,
            feeds=() if prove else read_feed_files(feeds),
            rtol=rtol,
            atol=atol,
            progress=progress,
        )
        lines = console.lines_of(DIFF, DiffReport(found, models, rules))
    if witness is not None:
        _write_witness(found, Path(witness))
    console.print(lines)
    if witness is not None and found.witness is None:
        console.message(f"no inputs were found for which the outputs differ; {witness} is not written")
    return 0 if (found.is_proved if prove else found.is_equal) else 1


def _check(path: str, first: str, second: str, facts: Facts, console: Console) -> int:
    """Check a certificate; print the comparison, then why the certificate does not hold. Return the exit code."""
    from gather_infer.equality import Certificate

    certificate = Certificate.load(path)
    for note in (*certificate.notes, *(f"given by the certificate: {text}" for text in certificate.given.options)):
        console.message(note)
    with console.progress() as progress:
        models = facts.open_model(first), facts.open_model(second)
        rules = facts.rules()
        found, reasons = certificate.compare(*models, rules=rules, progress=progress)
        lines = console.lines_of(DIFF, DiffReport(found, models, rules))
    console.print(lines)
    shown = reasons if console.verbose else reasons[:MAX_REASONS]
    for reason in shown:
        console.error(UsageError(f"{path}: {reason}"))
    if len(shown) < len(reasons):
        console.error(UsageError(f"{path}: {len(reasons) - len(shown)} more: --verbose"))
    if not reasons:
        console.message(f"{path} holds")
    return 1 if reasons else 0


def _write_witness(found: Difference, path: Path) -> None:
    """Write the inputs that tell the models apart, if there are any."""
    if found.witness is None:
        return
    import numpy as np

    from gather_infer.model.staging import Staging

    with Staging() as staging:
        with staging.create(path) as file:
            np.savez(file, **found.witness)
        staging.commit()
