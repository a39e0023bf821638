"""Where a command writes its model."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Target:
    """What -o, --external-data and --in-place ask for."""

    path: str
    external_data: str | None
    in_place: bool


def target_of(model: str, output: str | None, external_data: str | None, in_place: bool) -> Target | None:
    """Where to write the command's model, None for nowhere.

    Raises click.UsageError when the options contradict each other.
    """
    if in_place:
        if output is not None:
            raise click.UsageError("--in-place and -o exclude each other")
        if model == "-":
            raise click.UsageError("--in-place needs a file, MODEL is standard input")
        return Target(model, external_data, True)
    if output is None:
        if external_data is not None:
            raise click.UsageError("--external-data needs -o or --in-place")
        return None
    if not output:
        raise click.UsageError("-o needs the name of a file, found ''")
    if output == "-" and sys.stdout.isatty():
        raise click.UsageError("-o - writes a model to standard output, which is a terminal: send it elsewhere")
    return Target(output, external_data, False)
