"""Calls in canonical form.

Reductions have their axes as an attribute, ascending, and no axes of size 1 in their place; one of a single integer is
that integer. Recurrent operators have no
initial state of zeros, which is what the specification assumes where there is none. A ScatterND that writes the same
positions as the one before it reads the data of that one. A Slice to the end of an axis has no other end. Convolutions
and poolings have no implied attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from gather_infer.equality.operators import normalized, without_defaults
from gather_infer.equality.terms import Attributes, Call, Literal, Operand, Operator, Select, Tensor, axis_symbol
from gather_infer.equality.view import TermView
from gather_infer.ir.graph import Node
from gather_infer.symbolic import Dim, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, static_dims

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
    index: list[Dim] = [*view.frame.variables]
    sizes = static_dims(tuple(data.shape[axis] for axis in axes))
    is_integer = data.dtype is not None and data.dtype.is_integer
    if operator[1] in _OF_ONE and is_integer and sizes == (1,) * len(axes):
        for axis in () if view.integer("keepdims", 1) else axes:
            index.insert(axis, 0)
        return view.moved(data, index)
    shape = tuple(dim for axis, dim in enumerate(data.shape) if axis not in axes)
    named = (*operator[:2], 1)
    call = pool.call(named, normalized({"axes": tuple(axes), **others}), (data,))
    source = pool.result(call, 0, view.dtype, shape, bounds)
    if view.integer("keepdims", 1):
        index = [variable for axis, variable in enumerate(index) if axis not in axes]
    return view.result(pool.select(source, index, view.frame))


for _name in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]:
    REDUCTIONS["", f"Reduce{_name}"] = _reduction
REDUCTIONS["", "ArgMax"] = REDUCTIONS["", "ArgMin"] = _arg_reduction

_OF_ONE: Final = frozenset(("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"))
"""Reductions that are the element itself where there is one; of integers: a sum of floats may lose the sign of -0.0."""

END: Final = INTEGER_RANGE[DType.INT64][1]
"""An end of a Slice behind every element."""

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


def with_open_ends(view: TermView, operator: Operator, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """The operands of a Slice with the largest integer in place of ends that are not before the end of an axis."""
    data, ends = view.operand(0), view.elements(2) if operator[:2] == ("", "Slice") and operator[2] >= 10 else None
    if data is None or ends is None:
        return operands
    axes = view.integers_of(3) if view.has(3) else tuple(range(len(ends)))
    if axes is None or len(axes) != len(ends) or not all(-data.rank <= axis < data.rank for axis in axes):
        return operands  # of the last, the node fails
    pool = view.pool
    opened = tuple(
        END if known_le(data.shape[axis], end, pool.facts) is True else end
        for end, axis in zip(ends, axes, strict=True)
    )
    if opened == tuple(ends):
        return operands
    terms = tuple(pool.integer(DType.INT64, end) for end in opened)
    return (*operands[:2], pool.whole(pool.listed_or_array(DType.INT64, (len(terms),), terms)), *operands[3:])


def _call_of(operand: Operand) -> Call | None:
    """The call whose first output a tensor is, as a whole."""
    term = operand.term if isinstance(operand, Tensor) else None
    if not isinstance(operand, Tensor) or not isinstance(term, Select) or term.source.call is None:
        return None
    place = tuple(0 if size == 1 else axis_symbol(axis) for axis, size in enumerate(operand.shape))
    is_whole = term.index == place and term.source.shape == operand.shape and term.source.output == 0
    return term.source.call if is_whole else None


_WINDOWED: Final = {"AveragePool": 1, "Conv": 0, "ConvTranspose": 0, "MaxPool": 1}
"""Operators with windows -> whether `kernel_shape` says more than the weights."""


def is_windowed(node: Node) -> bool:
    """Whether the key of a call of the operator depends on its operands."""
    return not node.domain and node.op_type in _WINDOWED


def call_attributes(node: Node, attributes: Mapping[str, Any], operands: Sequence[Operand]) -> Attributes:
    """The attributes of a node as a key, without those that have their default, or say what would be so anyway."""
    held = dict(without_defaults(node, attributes))
    if node.domain:
        return tuple(sorted(held.items()))
    if node.op_type == "BatchNormalization" and len(node.outputs) > 1:
        held["\0outputs"] = len(node.outputs)  # before opset 14, they say that it is training
    elif node.op_type == "BatchNormalization" and not held.get("training_mode"):
        held.pop("momentum", None)  # of the statistics that training computes
    elif node.op_type in _WINDOWED:
        _drop_implied(node.op_type, held, operands)
    return tuple(sorted(held.items()))


def _drop_implied(op_type: str, attributes: dict[str, Hashable], operands: Sequence[Operand]) -> None:
    """Drop strides and dilations of 1, paddings of 0, the size of the weights; write out pads where they are known."""
    data = operands[0] if operands else None
    if not isinstance(data, Tensor):
        return
    weights = operands[1] if len(operands) > 1 and not _WINDOWED[op_type] else None
    kernel = attributes.get("kernel_shape")
    if isinstance(weights, Tensor) and weights.shape[2:] == kernel:
        del attributes["kernel_shape"]
    elif kernel is None and isinstance(weights, Tensor):
        kernel = weights.shape[2:]
    if attributes.get("auto_pad") == "VALID" and "pads" not in attributes and "ceil_mode" not in attributes:
        del attributes["auto_pad"]
    elif attributes.get("auto_pad") in ("SAME_UPPER", "SAME_LOWER") and op_type == "Conv" and "pads" not in attributes:
        pads = _same_pads(attributes, static_dims(data.shape[2:]), kernel)
        if pads is not None:
            del attributes["auto_pad"]
            attributes["pads"] = pads
    axes = data.rank - 2
    ones, zeros = (1,) * axes, (0,) * axes
    for name, implied in (("strides", ones), ("dilations", ones), ("pads", zeros * 2), ("output_padding", zeros)):
        if attributes.get(name) == implied:
            del attributes[name]


def _same_pads(
    attributes: Mapping[str, Hashable], sizes: tuple[int, ...] | None, kernel: Hashable
) -> tuple[int, ...] | None:
    """The pads with which an axis of size n and stride s has ceil(n / s) windows; None if they are not known.

    None for dilated windows, which runtimes pad differently, and for windows with gaps between them.

    https://onnx.ai/onnx/operators/onnx__Conv.html: an odd element goes to the end for SAME_UPPER, else to the begin.
    """
    if sizes is None:
        return None
    ones = (1,) * len(sizes)
    strides = attributes.get("strides", ones)
    if attributes.get("dilations", ones) != ones:
        return None
    for given in (kernel, strides):
        if not isinstance(given, tuple) or len(given) != len(sizes):
            return None
        if not all(isinstance(each, int) and each > 0 for each in given):
            return None
    assert isinstance(kernel, tuple) and isinstance(strides, tuple)
    begins, ends = [], []
    for size, window, stride in zip(sizes, kernel, strides, strict=True):
        total = (-(-size // stride) - 1) * stride + window - size
        if total < 0:
            return None
        less, more = total // 2, total - total // 2
        begins.append(less if attributes["auto_pad"] == "SAME_UPPER" else more)
        ends.append(more if attributes["auto_pad"] == "SAME_UPPER" else less)
    return (*begins, *ends)
