"""Preconditions of layers on the elements of their inputs: bounds checks of their elements during inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gather_infer.access import Indexing
from gather_infer.dialect import AxisSize, InputPrecondition
from gather_infer.ops.semantics.indices import check_bounds, describe, integer, known_numbers
from gather_infer.ops.semantics.preconditions import known_value
from gather_infer.rules import OpCall


def addressed_inputs(preconditions: Mapping[int, InputPrecondition]) -> Mapping[int, int]:
    """The inputs whose elements are compared to a size -> the inputs that have these sizes."""
    return {position: one.size.input for position, one in preconditions.items() if one.size is not None}


def check_preconditions(call: OpCall, preconditions: Mapping[int, InputPrecondition]) -> None:
    """Record the accesses that `preconditions` define, and check known elements; a clause is recorded as undecided."""
    for position, one in preconditions.items():
        if position >= len(call.inputs) or call.inputs[position] is None:
            continue
        if one.clause and not _is_met(call, position, one):
            call.add_unchecked(f"elements of input {position} are known only at run time: {one.clause}")
        if one.size is None:
            continue
        elements, numbers = call.tensor(position), known_numbers(call, position)
        indexing = Indexing(strict=one.is_enforced, from_end=one.from_end, ignored=one.ignored, inserts=one.margin == 0)
        addressed = call.tensor(one.size.input)
        text = describe(addressed, f"input {one.size.input}")
        axes = list(_axes(call, position, one.size))
        for column, axis in enumerate(axes):
            if addressed.shape is not None and -len(addressed.shape) <= axis < len(addressed.shape):
                check_bounds(
                    call, elements, numbers, addressed.shape[axis] - one.margin + 1, indexing,
                    axis=axis % len(addressed.shape), data=text, position=position,
                    may_skip=one.may_skip, column=column if one.size.by_component else None, columns=len(axes),
                )  # fmt: skip


def _is_met(call: OpCall, position: int, one: InputPrecondition) -> bool:
    """Whether the clause of a precondition is known to hold: known elements that ascend."""
    numbers = known_numbers(call, position)
    if not one.is_ascending or numbers is None:
        return False
    known = [each for each in numbers.reshape(-1).tolist() if isinstance(each, int)]
    return len(known) == numbers.size and known == sorted(known)


def _axes(call: OpCall, position: int, size: AxisSize) -> Iterator[int]:
    """The axes of input `size.input` to which elements of input `position` are compared; none if they are unknown."""
    if size.by_component:
        shape = call.tensor(position).shape
        components = shape[-1] if shape else None
        if isinstance(components, int):
            yield from range(components)
    elif size.axis_input is not None:
        axis = known_value(call.tensor(size.axis_input)) if size.axis_input < len(call.inputs) else None
        if isinstance(axis, int):
            yield axis
    else:
        yield integer(call, size.attribute, 1) if size.attribute else size.axis
