"""Verification options of the commands that rewrite a model: `--verify N` and others."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import Function, option, with_options

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


def read_feed_files(files: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """The feeds in each .npz file, as arrays by input name. Raises UsageError for an unreadable file."""
    if not files:
        return ()
    from gather_infer.verification import read_feeds

    return tuple(map(read_feeds, files))


def _options(runs: int, feeds: Sequence[str], rtol: float | None, atol: float | None) -> VerifyOptions:
    from gather_infer.verification.options import VerifyOptions

    return VerifyOptions(runs, read_feed_files(feeds), rtol, atol)


PROVE = option(
    "--prove",
    section="Output",
    is_flag=True,
    help="Prove the new model equal to the original for all sizes; write nothing and exit with 1 if that fails.",
)
"""Decorator that adds --prove to a command that rewrites a model."""


def verify_options(function: Function) -> Function:
    """Add --verify, --feeds, --rtol and --atol to a command, which receives them as `verifying`.

    `verifying` is None if neither --verify nor --feeds is given.
    """

    @functools.wraps(function)
    def run(
        *args: Any,
        verify: int | None,
        feeds: tuple[str, ...],
        rtol: float | None,
        atol: float | None,
        **rest: Any,
    ) -> int:
        is_wanted = verify is not None or bool(feeds)
        if not is_wanted and (rtol is not None or atol is not None):
            raise click.UsageError("--rtol and --atol are for --verify N or --feeds FILE.npz")
        return function(*args, verifying=_options(verify or 0, feeds, rtol, atol) if is_wanted else None, **rest)

    return with_options(
        run,
        option("--verify", section="Output", type=click.IntRange(min=1), metavar="N",
               help="Run both models on N random inputs; write nothing and exit with 1 if outputs differ."),
        option("--feeds", section="Output", multiple=True, metavar="FILE",
               help="Run both models on the inputs in FILE.npz, by name; repeat it for more."),
        option("--rtol", section="Output", type=click.FloatRange(min=0), metavar="R",
               help="Allow floats to differ by ATOL + R * |original|. The default compares bits, except for an IR, "
                    "folded floats, and sums without onnxruntime; the report shows the tolerance."),
        option("--atol", section="Output", type=click.FloatRange(min=0), metavar="A",
               help="Allow floats to differ by A + RTOL * |original|."),
    )  # fmt: skip
