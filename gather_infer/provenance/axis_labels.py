"""Axis labels: which axes of the inputs and outputs of an operator have the same index, as in the notation of einsum.

An element of an output depends on the elements of each input with the same index along axes with shared labels, and on
all indices of the others. `Conv` is `n c *, o i *, o -> n o *`: `n` is shared, `*` are any number of axes of their own.
A label with `!` has the same index in the output, but elements along it are combined, as by Softmax. `...` broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

from gather_infer.provenance.row_step import RowStep

Label: TypeAlias = Hashable
Labels: TypeAlias = "tuple[Label, ...]"


class Role(Enum):
    """The role of an input without labels: only its shape and type matter, or all of its elements do."""

    SHAPE = "shape"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class AxisLabels:
    """The labels of each axis of each input and output.

    inputs    per input its labels or role; an omitted input has the role SHAPE
    mixed     labels along which elements are combined, although the output has them
    moves     output 0 has elements of input 0, unchanged
    flat      labels along which the outputs repeat their elements
    selected  labels of inputs along which one index is taken: nothing is combined
    action    what the operator does along axes without a shared label, for messages
    """

    inputs: tuple[Labels | Role, ...]
    outputs: tuple[Labels, ...]
    mixed: frozenset[Label] = frozenset()
    moves: bool = False
    flat: frozenset[Label] = frozenset()
    selected: frozenset[Label] = frozenset()
    action: str = "combines elements along the axis of the rows"


Labeller: TypeAlias = "Callable[[RowStep], AxisLabels | None]"
"""The labels of a node; None if it is not understood."""

LABELLERS: Final[dict[tuple[str, str], Labeller]] = {}


def labels_of(step: RowStep) -> AxisLabels | None:
    labeller = LABELLERS.get((step.op.domain, step.op_type))
    return None if labeller is None else labeller(step)


def labels(names: str, domain: str = "") -> Callable[[Labeller], Labeller]:
    """Decorator that registers the labels of operators, whose names are separated by spaces."""

    def add(function: Labeller) -> Labeller:
        for name in names.split():
            LABELLERS[domain, name] = function
        return function

    return add


def own(*key: Hashable) -> Label:
    """A label that no other axis has."""
    return ("own", *key)


def broadcast_labels(rank: int) -> Labels:
    """Labels of axes that broadcast: counted from the last one."""
    return tuple(("...", axis - rank) for axis in range(rank))


@lru_cache(maxsize=512)
def _parsed(text: str) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    given, _, made = text.partition("->")
    return tuple(tuple(part.split()) for part in given.split(",")), tuple(tuple(p.split()) for p in made.split(","))


def from_template(text: str, step: RowStep, *, moves: bool = False) -> AxisLabels | None:
    """The labels by a template; None if a rank is unknown or does not fit."""
    given, made = _parsed(text)
    mixed: set[Label] = set()
    inputs: list[Labels | Role] = []
    for index in step.inputs:
        if step.states[index] is None:
            inputs.append(Role.SHAPE)
            continue
        shape = step.shape(index)
        if index >= len(given) or shape is None:
            return None
        if given[index] == ("?",):
            inputs.append(Role.PARAMETER)
            continue
        found = _expanded(given[index], len(shape), ("in", index), mixed)
        if found is None:
            return None
        inputs.append(found)
    outputs: list[Labels] = []
    for output in step.outputs:
        shape = step.result(output).shape
        if shape is None or output >= len(made):
            outputs.append(tuple(own("out", output, axis) for axis in range(len(shape or ()))))
            continue
        found = _expanded(made[output], len(shape), ("out", output), mixed)
        if found is None:
            return None
        outputs.append(found)
    return AxisLabels(tuple(inputs), tuple(outputs), frozenset(mixed), moves)


def _expanded(tokens: Sequence[str], rank: int, where: tuple[str, int], mixed: set[Label]) -> Labels | None:
    variable = sum(token in ("*", "...") for token in tokens)
    length = rank - (len(tokens) - variable)
    if variable > 1 or length < 0 or (variable == 0 and length):
        return None
    found: list[Label] = []
    for token in tokens:
        if token == "*":
            found += [own(*where, number) for number in range(length)]
        elif token == "...":
            found += broadcast_labels(length)
        else:
            name = token.rstrip("!")
            found.append(name)
            if token.endswith("!"):
                mixed.add(name)
    return tuple(found)


def template(text: str, names: str, domain: str = "") -> None:
    """Register the labels of operators by a template."""

    def labelled(step: RowStep) -> AxisLabels | None:
        return from_template(text, step)

    labels(names, domain)(labelled)


def elementwise_labels(step: RowStep, *, only: Sequence[int] | None = None, moves: bool = False) -> AxisLabels | None:
    """The labels of operands that broadcast to all outputs.

    only   the inputs whose elements matter
    """
    inputs: list[Labels | Role] = []
    for index in step.inputs:
        if step.states[index] is None or (only is not None and index not in only):
            inputs.append(Role.SHAPE)
            continue
        shape = step.shape(index)
        if shape is None:
            return None
        inputs.append(broadcast_labels(len(shape)))
    outputs = []
    for output in step.outputs:
        shape = step.result(output).shape
        if shape is None:
            return None
        outputs.append(broadcast_labels(len(shape)))
    return AxisLabels(tuple(inputs), tuple(outputs), moves=moves)
