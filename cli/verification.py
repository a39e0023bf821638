"""`--verify N` of the commands that rewrite a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .options import Function, option

if TYPE_CHECKING:
    from gather_infer.passes import OptimizeResult
    from gather_infer.verification import Verification


def verify_option(function: Function) -> Function:
    """--verify, as `verify`: None when it is not given."""
    return option(
        "--verify",
        section="Output",
        type=click.IntRange(min=1),
        metavar="N",
        help="Run both models on N random inputs; write nothing and exit with 1 when outputs differ.",
    )(function)


def verified(result: OptimizeResult, runs: int) -> Verification:
    """What runs of the model before and after a pass show. Raises as `gather_infer.verification.verify`."""
    from gather_infer.verification import verify

    tolerance = None if result.floats is None else result.floats.tolerance
    return verify(result.source, result.proto, runs, inference=result.inference, tolerance=tolerance)
