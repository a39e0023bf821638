"""`--verify N`, and what else says how a rewritten model is verified, of the commands that rewrite one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.progress import Progress, unseen

from .options import Function, option, with_options

if TYPE_CHECKING:
    from onnx import ModelProto

    from gather_infer.inference import Inference
    from gather_infer.model import ModelFile
    from gather_infer.verification import Verification


@dataclass(frozen=True, slots=True)
class Verifying:
    """What --verify, --feeds, --rtol and --atol ask for."""

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
        progress: Progress = unseen,
    ) -> Verification:
        """What runs of the models before and after show. Raises as `gather_infer.verification.verify`.

        default    of rtol and of atol where neither is given; None compares bits
        progress   is given a function that tells what is being done
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
    """What is in the files, before anything is rewritten. Raises UsageError for one that cannot be read."""
    if not files:
        return ()
    from gather_infer.verification import read_feeds

    return tuple(map(read_feeds, files))


def verify_options(function: Function) -> Function:
    """--verify, --feeds, --rtol and --atol, as `verifying`; None when neither of the first two is given."""

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
        verifying = Verifying(verify or 0, _read(feeds), rtol, atol) if is_wanted else None
        return function(*args, verifying=verifying, **rest)

    return with_options(
        run,
        option("--verify", section="Output", type=click.IntRange(min=1), metavar="N",
               help="Run both models on N random inputs; write nothing and exit with 1 when outputs differ."),
        option("--feeds", section="Output", multiple=True, metavar="FILE",
               help="Run both models on the inputs in FILE.npz, by name; repeat it for more."),
        option("--rtol", section="Output", type=click.FloatRange(min=0), metavar="R",
               help="Let floats be apart by ATOL + R * |original|. Else every bit counts, but of an IR, of folded "
                    "floats, and of sums without onnxruntime: the report tells how far."),
        option("--atol", section="Output", type=click.FloatRange(min=0), metavar="A",
               help="Let floats be apart by A + RTOL * |original|."),
    )  # fmt: skip
