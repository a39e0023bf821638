"""Common options of all commands, and the layout of help pages."""

from __future__ import annotations

import functools
import math
import os
import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from gather_infer.report.output_formats import OutputFormat, ResultKind, common_formats

from .completers import files
from .console import Console

Function: TypeAlias = Callable[..., int]
"""The function of a command, which returns the exit code."""


_BYTES = re.compile(r"([0-9]{1,18})\s*(?:([KMGT])(?:I?B)?|B)?", re.IGNORECASE)


if TYPE_CHECKING:
    _Number = click.ParamType[int]
    _Text = click.ParamType[str]
else:
    _Number = _Text = click.ParamType  # not generic in click 8.1


class Bytes(_Number):
    """A number of bytes: `4096`, `64K`, `1M`, `2GiB`, in units of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = _BYTES.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a number of bytes: 4096, 64K or 1M", param, ctx)
        return int(match[1]) << 10 * (" KMGT".index(match[2].upper()) if match[2] else 0)


def require_file_name(path: str, hint: str) -> None:
    """Raise click.UsageError for the name of a folder, such as `out/`, which writing would take for `out`."""
    if path.endswith(("/", os.sep)):
        raise click.UsageError(f"{hint}: {path!r} names a folder, not a file")


class FileName(_Text):
    """The name of a file, not of a folder."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        require_file_name(value, "" if param is None else param.opts[-1])
        return str(value)


class Tolerance(click.FloatRange):
    """A finite number >= 0, by which floats may differ."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        tolerance = float(super().convert(value, param, ctx))
        if not math.isfinite(tolerance):
            self.fail(f"{value} is not finite", param, ctx)
        return tolerance


class Option(click.Option):
    """An option with the heading of its section on the help page."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """A command whose help page groups options into sections and ends with working examples, one per line."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse like click, but suggest -o if a command that writes a file gets a superfluous argument."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            writes = any(parameter.name == "output" for parameter in self.get_params(ctx))
            is_new = len(rest) == 1 and not ctx.params.get("output") and not os.path.exists(rest[0])
            hint = f"; -o {shlex.quote(rest[0])} writes a file" if writes and is_new else ""
            ctx.fail(f"got unexpected extra argument{'s' * (len(rest) > 1)} ({' '.join(rest)}){hint}")
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}  # in the order of the options, but Common last
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Common"), []).append(record)
        shared = sections.pop("Common")
        for heading, records in (*sections.items(), ("Common", shared)):
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"  {line}\n")


def option(*names: str, section: str, **settings: Any) -> Callable[[Function], Function]:
    """`click.option`, listed under the heading `section` of the help page; options for files get file completion."""
    if settings.get("metavar") in ("FILE", "FILE.py", "OUT"):
        settings["shell_complete"] = files
    return click.option(*names, cls=Option, section=section, **settings)


def model_argument(name: str = "model", **settings: Any) -> Callable[[Function], Function]:
    """An argument for a model, with file completion; `settings` are arguments of `click.argument`."""
    return click.argument(name, **{"shell_complete": files, **settings})


def with_options(function: Function, *options: Callable[[Function], Function]) -> Function:
    """`function` decorated with options, in the order of the help page."""
    for add in reversed(options):
        function = add(function)
    return function


def common_options(*kinds: ResultKind[Any], verbose: str) -> Callable[[Function], Function]:
    """A decorator that adds --format, -q, -v, --debug and --no-color to a command, which receives them as `console`.

    kinds     the kinds of results; --format accepts the formats that all of them have
    verbose   help text of -v
    """
    forms = [form.value for form in common_formats(*kinds)]

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def run(*args: Any, quiet: bool, verbose: bool, debug: bool, no_color: bool, form: str, **rest: Any) -> int:
            target = rest.get("target")  # from `output_options`, if the command has them
            console = Console(
                quiet=quiet,
                verbose=verbose,
                colour=not no_color,
                output_format=OutputFormat(form),
                results_to_stderr=target is not None and target.is_stdout,
            )
            return function(*args, console=console, **rest)

        return with_options(
            run,
            option("--format", "form", section="Common", type=click.Choice(forms), default=forms[0],
                   show_default=True, help="Choose the output format."),
            option("-q", "--quiet", section="Common", is_flag=True, help="Print results and errors only."),
            option("-v", "--verbose", section="Common", is_flag=True, help=verbose),
            option("--no-color", section="Common", is_flag=True, help="Print no colours, even on a terminal."),
            option("--debug", section="Common", is_flag=True, help="Print a traceback on failure."),
        )  # fmt: skip

    return decorate
