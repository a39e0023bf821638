"""Output options of commands that write a model, and the writing itself."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .console import Console
from .interrupts import stop_if_interrupted
from .options import FileName, Function, option, require_file_name, with_options

if TYPE_CHECKING:
    from gather_infer.many.job import Save
    from gather_infer.model import SaveReport


DIM_DIALECTS = ("gather-infer", "rfc0009", "torch", "onnxruntime", "onnx-ir", "paddle")
"""The keys of `gather_infer.symbolic.notations.NOTATIONS`, which start-up does not load."""


class Target(NamedTuple):
    """The destination of a model, from -o, --external-data and --in-place; `path` "-" is standard output.

    dim_dialect   the dialect of the dims, from --dim-dialect; None keeps the default
    """

    path: str
    external_data: str | None
    in_place: bool
    dim_dialect: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments of `Save`."""
        return {"external_data": self.external_data, "in_place": self.in_place, "dim_dialect": self.dim_dialect}

    @property
    def is_stdout(self) -> bool:
        return self.path == "-"


def are_several(models: Sequence[str]) -> bool:
    """Whether the arguments of a command stand for several models: two or more, or a folder."""
    return len(models) > 1 or any(os.path.isdir(model) for model in models)


def output_options(
    help: str, *, several: bool = False, names: tuple[str, ...] = ("-o", "--output")
) -> Callable[[Function], Function]:
    """A decorator that adds -o, --external-data, --in-place and --dim-dialect to a command, which receives them as
    `target`.

    `target` is None if the options request no file; for a command with the argument `models` its path may be a folder.
    `help` is the help text of -o, `several` whether the command takes several models, `names` are those of -o.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def run(
            *args: Any,
            output: str | None,
            external_data: str | None,
            in_place: bool,
            dim_dialect: str | None,
            **rest: Any,
        ) -> int:
            models = rest["models"] if "models" in rest else (rest["model"],)
            target = target_of(models, output, external_data, in_place, "models" in rest and are_several(models))
            if target is not None:
                target = target._replace(dim_dialect=dim_dialect)
            elif dim_dialect is not None:
                raise click.UsageError("--dim-dialect needs -o or --in-place")
            return function(*args, target=target, **rest)

        return with_options(
            run,
            option(*names, "output", section="Output", metavar="OUT",
                   help=f"{help} - is standard output." + " With several models, OUT is a folder." * several),
            option("--external-data", section="Output", type=FileName(), metavar="FILE",
                   help="Write large tensors to FILE, in the folder of OUT."),
            option("--in-place", section="Output", is_flag=True, help=f"Overwrite MODEL{'S' * several}."),
            option("--dim-dialect", section="Output", type=click.Choice(DIM_DIALECTS), metavar="NAME",
                   help=f"Write dims as readers of NAME take them: {', '.join(DIM_DIALECTS)}."),
        )  # fmt: skip

    return decorate


DRY_RUN_OF_EDITS = "Write nothing; print the edits, more than 10 with -v."


def dry_run_option(help: str) -> Callable[[Function], Function]:
    """A decorator that adds --dry-run, with the text `help`, to a command, which receives it as `dry_run`."""
    return option("--dry-run", section="Output", is_flag=True, help=help)


def strict_option(help: str) -> Callable[[Function], Function]:
    """A decorator that adds --strict, with the text `help`, to a command, which receives it as `strict`."""
    return option("--strict", section="Report", is_flag=True, help=help)


def target_of(
    models: Sequence[str], output: str | None, external_data: str | None, in_place: bool, is_folder: bool
) -> Target | None:
    """The destination of the model that a command writes; None if the options request no file.

    models      the models that the command reads
    is_folder   the models are several, and the destination is a folder

    Raises click.UsageError if the options contradict each other.
    """
    if in_place:
        if output is not None:
            raise click.UsageError("--in-place and -o exclude each other")
        if "-" in models:
            raise click.UsageError("--in-place needs a file, MODEL is standard input")
        return Target(models[0], external_data, True)
    if output is None:
        if external_data is not None:
            raise click.UsageError("--external-data needs -o or --in-place")
        return None
    if not output:
        raise click.UsageError("-o needs the name of a file, found ''")
    if not is_folder:
        require_file_name(output, "-o")
    if output == "-" and is_folder:
        raise click.UsageError("-o - writes one model; for several models, OUT is a folder")
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError("-o - writes a model to standard output, which is a terminal: send it elsewhere")
    return Target(output, external_data, False)


def missing_output(models: Sequence[str]) -> click.UsageError:
    """The error for a command that has to write and has no -o; a hint if the last of two models is to be the output."""
    is_new = len(models) == 2 and not os.path.exists(models[1])
    hint = f"-o {shlex.quote(models[1])} writes a file" if is_new else "--dry-run writes nothing"
    return click.UsageError(f"-o OUT is missing; {hint}")


def write_and_print(
    lines: list[str], save: Save, target: Target | None, console: Console, *, refused: bool = False
) -> SaveReport | None:
    """Write a model, then print its report; return the written files, None if nothing was written.

    lines     lines of the report, made before anything is written, so that a command that fails writes nothing
    target    where to write the model; None writes nothing
    refused   write nothing although `target` is given
    """
    written = None
    if target is not None and not refused:
        stop_if_interrupted()
        with console.progress() as progress:
            progress(_writing())
            written = save(target.path, **target.options)
    console.print(lines)
    if target is not None and refused:
        console.message("nothing written")
    return written


def _writing() -> Callable[[], str]:
    """A function that returns the text of the progress line during writing, with the bytes of weights so far."""
    from gather_infer.model.source import READ_COUNTER
    from gather_infer.report.layout import size

    before = READ_COUNTER.nbytes
    return lambda: f"writing, {size(READ_COUNTER.nbytes - before)} of weights"


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write each text to its path in UTF-8, all files or none. Raises ModelWriteError if that fails."""
    from gather_infer.model.staging import Staging

    with Staging() as staging:
        for path, text in texts.items():
            with staging.create(path) as file:
                file.write(text.encode())
        staging.commit()


def finish(lines: list[str], save: Save, target: Target | None, console: Console, *, refused: bool) -> int:
    """Write a rewritten model, print its report and the written files; return the exit code: 1 if `refused`, else 0."""
    written = write_and_print(lines, save, target, console, refused=refused)
    if written is not None:
        console.wrote(written, timed=True)
    return 1 if refused else 0
