"""Calls in canonical form.

Reductions have their axes as an attribute, ascending, and no axes of size 1 in their place. Recurrent operators have no
initial state of zeros, which is what the specification assumes where there is none. A ScatterND that writes the same
positions as the one before it reads the data of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from gather_infer.equality.operators import normalized
from gather_infer.equality.terms import Attributes, Call, Literal, Operand, Operator, Select, Tensor, axis_symbol
from gather_infer.equality.view import TermView
from gather_infer.symbolic import Dim

Bounds: TypeAlias = "tuple[Dim, Dim | None] | None"
Reduction: TypeAlias = Callable[[TermView, Operator, Bounds], "Tensor | None"]
REDUCTIONS: Final[dict[tuple[str, str], Reduction]] = {}
"""Domain and operator -> the output of a reduction, whose elements have these bounds; None if its axes are unknown."""


def _reduction(view: TermView, operator: Operator, bounds: Bounds) -> Tensor | None:
    """Axes from the attribute or the input; the result without `keepdims`, and its elements put in place."""
    data = view.operand(0)
    if data is None:
        return None
    if view.integer("keepdims", 1) not in (0, 1):
        return None
    axes = view.integers_of(1) if view.has(1) else view.integers("axes")
    if view.has(1) and axes is None:
        return None
    if not axes:
        if view.integer("noop_with_empty_axes"):
            return None
        axes = tuple(range(data.rank))
    return _placed(view, operator, data, sorted(axis % data.rank for axis in axes), {}, bounds)


def _arg_reduction(view: TermView, operator: Operator, bounds: Bounds) -> Tensor | None:
    data = view.operand(0)
    axis = None if data is None else view.axis(data.rank)
    if data is None or axis is None or view.integer("keepdims", 1) not in (0, 1):
        return None
    return _placed(view, operator, data, [axis], {"select_last_index": view.integer("select_last_index")}, bounds)


def _placed(
    view: TermView, operator: Operator, data: Tensor, axes: list[int], others: dict[str, int], bounds: Bounds
) -> Tensor:
    pool = view.pool
    shape = tuple(dim for axis, dim in enumerate(data.shape) if axis not in axes)
    named = (*operator[:2], 1)
    call = pool.call(named, normalized({"axes": tuple(axes), **others}), (data,))
    source = pool.result(call, 0, view.dtype, shape, bounds)
    index: list[Dim] = [*view.frame.variables]
    if view.integer("keepdims", 1):
        index = [variable for axis, variable in enumerate(index) if axis not in axes]
    return view.result(pool.select(source, index, view.frame))


for _name in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]:
    REDUCTIONS["", f"Reduce{_name}"] = _reduction
REDUCTIONS["", "ArgMax"] = REDUCTIONS["", "ArgMin"] = _arg_reduction

_STATES: Final = {"LSTM": (5, 6), "GRU": (5,), "RNN": (5,)}
"""The inputs that are initial states."""


def without_zero_state(operator: Operator, operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """The operands of a recurrent operator without initial states of +0.0, and without operands left out at the end."""
    states = _STATES.get(operator[1], ()) if not operator[0] else ()
    found = [None if at in states and _is_zero(each) else each for at, each in enumerate(operands)]
    while found and found[-1] is None:
        found.pop()
    return tuple(found)


def _is_zero(operand: Operand) -> bool:
    return isinstance(operand, Tensor) and isinstance(operand.term, Literal) and operand.term.bits == 0


def without_overwritten(
    operator: Operator, attributes: Attributes, operands: tuple[Operand, ...]
) -> tuple[Operand, ...]:
    """The operands of a ScatterND without writes that it overwrites."""
    if operator[:2] != ("", "ScatterND") or dict(attributes).get("reduction", "none") != "none" or len(operands) != 3:
        return operands
    data, indices, updates = operands
    while (call := _call_of(data)) is not None and call.operator == operator and call.attributes == attributes:
        if len(call.operands) != 3 or call.operands[1] is not indices:
            break
        data = call.operands[0]
    return data, indices, updates


def _call_of(operand: Operand) -> Call | None:
    """The call whose first output a tensor is, as a whole."""
    term = operand.term if isinstance(operand, Tensor) else None
    if not isinstance(operand, Tensor) or not isinstance(term, Select) or term.source.call is None:
        return None
    place = tuple(0 if size == 1 else axis_symbol(axis) for axis, size in enumerate(operand.shape))
    is_whole = term.index == place and term.source.shape == operand.shape and term.source.output == 0
    return term.source.call if is_whole else None
