"""Options and execution of commands that process several models in parallel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click

from .console import Console
from .options import Function, option, with_options

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Parallel:
    """The values of --jobs and --cache."""

    jobs: int | None
    cache: str | None

    def folder(self, is_code_used: bool, console: Console) -> str | None:
        """The folder of the cache; None if there is none, or code of the user may change results unnoticed."""
        if self.cache is not None and is_code_used:
            console.message("--cache is not used: the results depend on rules or extensions, which are code")
            return None
        return self.cache


def parallel_options(verb: str) -> Callable[[Function], Function]:
    """A decorator that adds --jobs and --cache to a command, which receives them as `parallel`.

    verb   what the command does to a file, for the help text: Check, Optimize
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def run(*args: Any, jobs: int | None, cache: str | None, **rest: Any) -> int:
            if cache == "":
                raise click.UsageError("--cache needs the name of a folder, found ''")
            return function(*args, parallel=Parallel(jobs, cache), **rest)

        return with_options(
            run,
            option("--jobs", section="Run", type=click.IntRange(min=1), metavar="N",
                   help=f"{verb} N files at a time; one per core by default."),
            option("--cache", section="Run", metavar="DIR",
                   help="Keep results in DIR, and reuse those of files, options and versions that are unchanged."),
        )  # fmt: skip

    return decorate


class Arrivals(Generic[R]):
    """An iterator that counts its results, for the progress line."""

    def __init__(self, results: Iterator[R]) -> None:
        self._results = results
        self.number = 0

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        result = next(self._results)
        self.number += 1
        return result
