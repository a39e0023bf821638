"""Verification options of the commands that rewrite a model: `--verify N` and others."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.progress import Progress, no_progress

from .options import Function, option, with_options

if TYPE_CHECKING:
    from onnx import ModelProto

    from gather_infer.inference import Inference
    from gather_infer.model import ModelFile
    from gather_infer.verification import Verification


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The values of --verify, --feeds, --rtol and --atol."""

    runs: int
    feeds: tuple[Mapping[str, Any], ...]
    rtol: float | None
    atol: float | None

    def run(
        self,
        source: ModelFile,
        proto: ModelProto,
        inference: Inference,
        *,
        default: float | None = None,
        progress: Progress = no_progress,
    ) -> Verification:
        """Compare runs of the original model `source` and the rewritten `proto`.

        inference  inferred types of `source`
        default    rtol and atol if neither option is given; None compares bits
        progress   called with a function that describes the current step

        Raises the errors of `gather_infer.verification.verify`.
        """
        from gather_infer.verification import verify

        rtol, atol = self.rtol, self.atol
        if rtol is None and atol is None:
            rtol = atol = default
        progress(lambda: "verifying")
        return verify(
            source, proto, self.runs, inference=inference, feeds=self.feeds, rtol=rtol, atol=atol, progress=progress
        )


def _read(files: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """The feeds in each .npz file, as arrays by input name. Raises UsageError for an unreadable file."""
    if not files:
        return ()
    from gather_infer.verification import read_feeds

    return tuple(map(read_feeds, files))


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
        verifying = VerifyOptions(verify or 0, _read(feeds), rtol, atol) if is_wanted else None
        return function(*args, verifying=verifying, **rest)

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
