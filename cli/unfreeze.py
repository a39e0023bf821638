"""`gather-infer unfreeze`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import click

from gather_infer.report.output_formats import UNFREEZE, UnfreezeReport

from .console import Console
from .facts import Facts, code_options
from .options import Command, common_options, model_argument, option
from .saving import DRY_RUN_OF_EDITS, Target, dry_run_option, finish, output_options
from .verification import prove_options

if TYPE_CHECKING:
    from gather_infer.many.job import Save


@click.command(
    "unfreeze",
    cls=Command,
    example="gather-infer unfreeze fixtures/dlrm-torchscript.onnx \\\n  --dim tags.1=tags -o out.onnx",
)
@model_argument()
@option("--dim", "dims", section="Sizes", multiple=True, metavar="INPUT.AXIS=NAME",
        help="Give the size of an input axis a name: ids.0=batch. The same name for several axes says that they are "
             "equal; INPUT may be a pattern: '*.0=batch'.")  # fmt: skip
@option("--rows", multiple=True, section="Sizes", metavar="NAME",
        help="NAME counts independent rows, as a batch does. Without it, names of axis 0 alone do.")  # fmt: skip
@option("--length", "lengths", multiple=True, section="Sizes", metavar="NAME",
        help="NAME is a length: rows depend on each other.")  # fmt: skip
@option("--like", section="Sizes", metavar="OTHER",
        help="A second export of the same network at other sizes: a constant that is the same in both is not the size, "
             "one that differs is.")  # fmt: skip
@option("--partial", section="Sizes", is_flag=True,
        help="Of several sizes free those that can be freed. The exit code is 0 if one is.")  # fmt: skip
@option("--no-verify", section="Output", is_flag=True,
        help="Do not run the result beside the original.")  # fmt: skip
@code_options
@output_options("Write the dynamic model to OUT.")
@dry_run_option(DRY_RUN_OF_EDITS)
@prove_options
@common_options(UNFREEZE, verbose="Print each edit.")
def command(
    model: str,
    dims: tuple[str, ...],
    rows: tuple[str, ...],
    lengths: tuple[str, ...],
    like: str | None,
    partial: bool,
    no_verify: bool,
    facts: Facts,
    target: Target | None,
    dry_run: bool,
    prove: bool,
    certificate: str | None,
    console: Console,
) -> int:
    """Make a fixed size dynamic.

    Targets of Reshape and constants that stand for the old size become expressions of the input's size. MODEL is an
    ONNX file; - is standard input. The command exits with 1 and writes nothing if a node stands for the old size in a
    way that it cannot edit, or if rows run together differ from rows run in the original. With --partial the exit code
    is 0 if some of the sizes are free.
    """
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run writes nothing")
    if not dims:
        raise click.UsageError("nothing to make dynamic: --dim INPUT.AXIS=NAME is missing, such as --dim ids.0=batch")

    from gather_infer.unfreezing import unfreeze

    with console.progress() as progress:
        rules = facts.rules()
        opened = facts.open_model(model)
        result = unfreeze(
            opened,
            dims,
            rows=rows,
            lengths=lengths,
            like=None if like is None else facts.open_model(like),
            partial=partial,
            verify=not no_verify,
            rules=rules,
            progress=progress,
        )
        proof = like_proof = None
        save: Save = result.save
        if prove and not result.refused:
            from gather_infer.equality import diff
            from gather_infer.equality.certificate import certificate_file

            proof = diff(
                opened, result.file, dims=result.old_sizes, rules=rules, details=False, runs=0, progress=progress
            )
            if certificate is not None:
                save = functools.partial(result.save, companions=certificate_file(certificate, proof, opened))
            if result.like is not None:
                like_proof = diff(
                    result.like, result.file, dims=result.like_sizes, rules=rules, details=False, runs=0,
                    progress=progress,
                )  # fmt: skip
        lines = console.lines_of(UNFREEZE, UnfreezeReport(result, proof, like_proof, edits=dry_run or console.verbose))
    return finish(
        lines,
        save,
        None if dry_run else target,
        console,
        refused=result.refused or any(each is not None and not each.is_proved for each in (proof, like_proof)),
    )
