"""Constant folding of Loops: their iterations are evaluated one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant, from_integers
from gather_infer.passes.evaluate import Evaluation
from gather_infer.passes.match import Match
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.control import is_declared_scalar
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType

rewrites = RewriteSet()

MAX_STEPS: Final = 1 << 14
"""Maximum number of nodes that are evaluated for a Loop, over all iterations."""

_MAX_BYTES: Final = 1 << 20
"""Maximum number of bytes of a value in an iteration, and of all values that the iterations return for one output."""


@rewrites.rewrites("Loop")
def fold_loop(match: Match) -> Rewrite | None:
    """Replace a Loop by constants, where its inputs and all other values that its body reads are constant.

    All nodes of the body have evaluators, which are exact. The Loop ends within MAX_STEPS evaluated nodes.
    """
    body = match.body("body")
    if body is None or len(body.outputs) != 1 + len(match.outputs):
        return None
    given = [match.constant(at) for at in range(len(match.inputs))]
    if any(name and constant is None for name, constant in zip(match.inputs, given, strict=True)):
        return None
    states = [constant for constant in given[2:] if constant is not None]
    if len(states) < len(given) - 2 or len(body.inputs) != 2 + len(states):
        return None
    if not all(is_declared_scalar(match, body, name) for name in body.inputs[:2] if body.readers.get(name)):
        return None
    trips = _only(given[0]) if match.input(0) else None
    is_true = _only(given[1]) if match.input(1) else 1
    try:
        found = _iterate(match, body, trips, bool(is_true), states)
    except SpecViolation:
        return None
    if found is None:
        return None
    return match.replace_with_constants("all inputs of a Loop are constant, and all values that its body reads", found)


def _iterate(
    match: Match, body: Graph, trips: int | None, is_true: bool, states: Sequence[Constant]
) -> list[Constant] | None:
    """The outputs of the Loop; None if they are not known, or the Loop takes too many steps."""
    nodes = [match.view_of(node) for node in body.nodes]
    scanned: list[list[Constant]] = [[] for _ in body.outputs[1 + len(states) :]]
    number = 0
    while is_true and (trips is None or number < trips):
        number += 1
        if number * max(1, len(nodes)) > MAX_STEPS:
            return None
        start = (_scalar(number - 1, DType.INT64), _scalar(1, DType.BOOL), *states)
        known = _evaluated(match, nodes, dict(zip(body.inputs, start, strict=True)))
        if known is None:
            return None
        results = [known.get(name) or match.context.constants.load(body, name) for name in body.outputs]
        values = [value for value in results if value is not None and value.nbytes <= _MAX_BYTES]
        if len(values) < len(results):
            return None
        is_true, states = bool(_only(values[0])), values[1 : 1 + len(states)]
        for each, value in zip(scanned, values[1 + len(states) :], strict=True):
            each.append(value)
    stacked = [_stacked(values) for values in scanned]
    outputs = [*states, *(one for one in stacked if one is not None)]
    return outputs if len(outputs) == len(body.outputs) - 1 else None


def _evaluated(match: Match, nodes: Sequence[Match], bound: Mapping[str, Constant]) -> dict[str, Constant] | None:
    """The values of an iteration; None if one of them is not known.

    bound   the inputs of the body
    """
    known = dict(bound)
    for node in nodes:
        if node.node.is_constant:
            continue  # read where it is used
        evaluator = node.evaluator() if node.is_operator and not node.is_faulty and not node.node.bodies else None
        inputs = [
            (known.get(name) or match.context.constants.load(node.graph, name)) if name else None
            for name in node.inputs
        ]
        if evaluator is None or not inputs or any(name and not x for name, x in zip(node.inputs, inputs, strict=True)):
            return None
        results = evaluator(Evaluation(node.node.proto, inputs, node.version))
        if results is None or any(result.nbytes > _MAX_BYTES for result in results):
            return None
        known.update((name, result) for name, result in zip(node.outputs, results, strict=False) if name)
    return known


def _scalar(number: int, dtype: DType) -> Constant:
    element = np.empty((), dtype=object)
    element[()] = number
    return from_integers(dtype.value, element)


def _only(constant: Constant | None) -> int | None:
    """The element of an int64 or bool constant of one element. Raises SpecViolation for another one."""
    if constant is None or constant.bits.size != 1 or constant.data_type not in (DType.INT64.value, DType.BOOL.value):
        raise SpecViolation("a trip count or condition has one element")
    numbers = constant.to_indices()
    return int(constant.plain.reshape(-1)[0]) if numbers is None else int(numbers.reshape(-1)[0])


def _stacked(values: Sequence[Constant]) -> Constant | None:
    """The elements that the iterations return, along a new first axis; None if there are none, or shapes differ."""
    kinds = {(value.data_type, value.bits.shape) for value in values}
    if len(kinds) != 1 or sum(value.nbytes for value in values) > _MAX_BYTES:
        return None
    return Constant(values[0].data_type, np.stack([value.plain for value in values]))
