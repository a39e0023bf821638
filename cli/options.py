"""Options that commands share, and how help pages are laid out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from .console import Console

Function: TypeAlias = Callable[..., int]
"""The function of a command; what it returns is the exit code."""


class Option(click.Option):
    """An option with the heading that it stands under on the help page."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """A command whose help page groups the options and ends with an example that works."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}  # in the order of the options, what all commands have last
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
            formatter.write(f"  {self.example}\n")


def option(*names: str, section: str, **settings: Any) -> Callable[[Function], Function]:
    """click.option under the heading `section`."""
    return click.option(*names, cls=Option, section=section, **settings)


def common(*, verbose: str) -> Callable[[Function], Function]:
    """--format, -q, -v, --debug and --no-color; they reach the command as one argument, `console`.

    verbose   what -v does
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def run(*args: Any, quiet: bool, verbose: bool, debug: bool, no_color: bool, form: str, **rest: Any) -> int:
            console = Console(
                quiet=quiet,
                verbose=verbose,
                colour=not no_color,
                json=form == "json",
                results_to_stderr=rest.get("output") == "-",
            )
            return function(*args, console=console, **rest)

        flags = [
            option("--format", "form", section="Common", type=click.Choice(["text", "json"]), default="text",
                   show_default=True, help="Form of the results."),
            option("-q", "--quiet", section="Common", is_flag=True, help="Print results and errors only."),
            option("-v", "--verbose", section="Common", is_flag=True, help=verbose),
            option("--no-color", section="Common", is_flag=True, help="No colours, also on a terminal."),
            option("--debug", section="Common", is_flag=True, help="Print a traceback when something fails."),
        ]  # fmt: skip
        decorated: Function = run
        for flag in reversed(flags):
            decorated = flag(decorated)
        return decorated

    return decorate


def output(help: str) -> Callable[[Function], Function]:
    """-o OUT, --external-data FILE and --in-place; see `target_of`."""

    def decorate(function: Function) -> Function:
        function = option("--in-place", section="Output", is_flag=True, help="Write to MODEL itself.")(function)
        function = option(
            "--external-data", section="Output", metavar="FILE", help="Write large tensors to FILE, beside OUT."
        )(function)
        text = f"{help} - is standard output."
        return option("-o", "--output", section="Output", metavar="OUT", help=text)(function)

    return decorate


def facts(function: Function) -> Function:
    """--dim, --input and --rules: what the user knows of the inputs and of operators, as `dims`, `inputs`, `rules`."""
    function = option(
        "--rules", section="Facts", multiple=True, metavar="FILE.py", help="Run FILE.py and use the RuleSets in it."
    )(function)
    function = option(
        "--input", "inputs", section="Facts", multiple=True, metavar="NAME=TYPE",
        help="Type of an input: 'ids=int64[batch, seq]'.",
    )(function)  # fmt: skip
    return option(
        "--dim", "dims", section="Facts", multiple=True, metavar="NAME=VALUE",
        help="Size of a symbolic dim: seq=128, seq=1..512, total=past+seq.",
    )(function)  # fmt: skip


def assumptions(function: Function) -> Function:
    """--no-assume, as `no_assume`."""
    return option(
        "--no-assume", section="Facts", is_flag=True, help="Leave unknown what is right only unless a size is 0."
    )(function)


def strict(help: str) -> Callable[[Function], Function]:
    """--strict: errors and warnings in the model make a difference to the exit code."""
    return option("--strict", section="Report", is_flag=True, help=help)
