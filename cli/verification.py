"""Verification options of the commands that rewrite a model: `--verify N` and others."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .options import FileName, Function, Tolerance, option, with_options
from .saving import Target, are_several

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


def prove_option(function: Function) -> Function:
    """Add --prove to a command that edits a model, which receives it as `prove`."""
    return option(
        "--prove", section="Output", is_flag=True,
        help="Prove the new model equal to the original for all sizes that both take; write nothing and exit with 1 if "
             "that fails.",
    )(function)  # fmt: skip


def prove_options(function: Function) -> Function:
    """Add --prove and --certificate to a command that rewrites models, which receives both as arguments.

    The argument `certificate` is None or the file to write; `prove` is then set.
    """

    @functools.wraps(function)
    def run(*args: Any, prove: bool, certificate: str | None, **rest: Any) -> int:
        if certificate is not None:
            _check_certificate(certificate, **rest)
        return function(*args, prove=prove or certificate is not None, certificate=certificate, **rest)

    return with_options(
        run,
        prove_option,
        option("--certificate", section="Output", type=FileName(), metavar="FILE",
               help="As --prove, and write a certificate of the proof to FILE together with OUT, which is a file: "
                    "diff --certificate FILE MODEL OUT checks it."),
    )  # fmt: skip


def _check_certificate(file: str, *, target: Target | None, dry_run: bool, **rest: Any) -> None:
    """Raise click.UsageError if a command does not write a file for one model, or the certificate has no file."""
    if file in ("", "-"):
        raise click.UsageError(f"--certificate needs the name of a file, found {file!r}")
    if dry_run:
        raise click.UsageError("--certificate and --dry-run exclude each other: a certificate is about a written file")
    if are_several(rest.get("models", ())):
        raise click.UsageError("--certificate is for one model")
    if target is not None and target.is_stdout:
        raise click.UsageError("--certificate needs -o with a file: a certificate is about a file")


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
        option("--feeds", section="Output", multiple=True, type=FileName(), metavar="FILE",
               help="Run both models on the inputs in FILE.npz, by name; repeat it for more."),
        option("--rtol", section="Output", type=Tolerance(), metavar="R",
               help="Allow floats to differ by ATOL + R * |original|. The default compares bits, except for an IR, "
                    "folded floats, and sums without onnxruntime; the report shows the tolerance."),
        option("--atol", section="Output", type=Tolerance(), metavar="A",
               help="Allow floats to differ by A + RTOL * |original|."),
    )  # fmt: skip
