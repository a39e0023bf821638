"""`--verify N` of the commands that rewrite a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .facts import Facts
from .options import Function, option

if TYPE_CHECKING:
    from gather_infer.passes import PassResult
    from gather_infer.rules import RuleSet
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


def verified(result: PassResult, runs: int, facts: Facts, rules: Sequence[RuleSet]) -> Verification:
    """What runs of the model before and after a pass show. Raises as `gather_infer.verification.verify`."""
    from gather_infer.inference import infer
    from gather_infer.verification import verify

    inference = infer(result.source, dims=facts.dims, inputs=facts.inputs, rules=rules, assume=False)
    return verify(result.source, result.proto, runs, inference=inference)
