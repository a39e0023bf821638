"""Indices into an axis that holds a freed size: whether they carry the number of the row.

A constant that indexes or cuts such an axis says something about the old size. It is explained by an edit, or the model
is refused. At an old size of 1 the graph does not contradict: where rows are merged into one axis, an index of row 0 is
right for one row, and has to get `row * stride` for more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import Expr, product
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.unfreezing.axis_factors import Factors, is_free
from gather_infer.unfreezing.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_SOURCES: Final = frozenset({"NonZero", "Range", "ArgMax", "ArgMin", "TopK", "CumSum"})
_DATA: Final = {"Gather": 0, "GatherElements": 0, "ScatterElements": 0, "GatherND": 0, "ScatterND": 0}
_INT64_MAX: Final = 2**63 - 1


class RowNumbers:
    """The names of integer tensors whose elements may depend on the number of the row."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def note(self, walk: UnfreezingWalk, node: NodeProto) -> None:
        if any(name in self.names for name in node.input) or (
            node.op_type in _SOURCES and any(name in walk.factors or walk.has_free_values(name) for name in node.input)
        ):
            for name in filter(None, node.output):
                fact = walk.environment.values.get(name)
                if isinstance(fact, SymbolicTensor) and fact.dtype in (DType.INT64, DType.INT32):
                    self.names.add(name)


def with_row_numbers(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node, or an edited copy whose constants fit the freed axis. Raises Blocked."""
    if node.domain not in ("", "ai.onnx") or not node.input or node.input[0] not in walk.factors:
        return node
    if node.op_type == "Slice":
        return _opened_slice(walk, node)
    if node.op_type in ("Gather", "GatherElements", "ScatterElements"):
        return _with_index(walk, node)
    return node


def _opened_slice(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """An end that is the old size means the end; another one is refused."""
    from gather_infer.unfreezing.walk import Blocked

    axes = walk.factors[node.input[0]]
    if len(node.input) < 3:
        return node
    starts, ends = walk.array(node.input[1]), walk.array(node.input[2])
    given = walk.array(node.input[3]) if len(node.input) > 3 and node.input[3] else np.arange(len(axes))
    steps = walk.array(node.input[4]) if len(node.input) > 4 and node.input[4] else None
    if starts is None or ends is None or given is None:
        return node
    changed = ends.copy()
    for at, axis in enumerate(given.ravel()[: starts.size].tolist()):
        factors = axes[axis % len(axes)]
        if not any(is_free(factor, walk.freed) for factor in factors):
            continue
        old = next(values_of([product(factors)], walk.samples.old))
        start, end, step = starts.flat[at], ends.flat[at], 1 if steps is None else steps.flat[at]
        if start == 0 and step == 1 and end == old:
            changed.flat[at] = _INT64_MAX if ends.dtype == np.int64 else 2**31 - 1
        elif not (step in (1, -1) and (end >= 2**31 - 1 or end <= -(2**31) + 1) and start in (0, -1)):
            raise Blocked(walk.label(node), f"cuts [{start}:{end}] out of an axis of {product(factors)}")
    if np.array_equal(changed, ends):
        return node
    return walk.with_inputs(node, {2: walk.constant(changed)})


def _with_index(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    from gather_infer.unfreezing.walk import Blocked

    axes = walk.factors[node.input[0]]
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(axes)
    factors = axes[axis]
    free = [place for place, factor in enumerate(factors) if is_free(factor, walk.freed)]
    indices = node.input[1]
    if not free or indices in walk.row_numbers.names or walk.has_free_values(indices):
        return node
    dim = factors[free[0]]
    sizes = [size for size in values_of(factors, walk.samples.old) if size is not None]
    stride = int(np.prod(sizes[free[0] + 1 :]))
    own = walk.factors.get(indices)
    place = None if own is None else next((a for a, held in enumerate(own) if dim in held), None)
    if place is None or own is None:
        constant = walk.array(indices)
        fact = walk.environment.values.get(indices)
        if constant is not None and isinstance(fact, SymbolicTensor):
            found = _rows_of_constant(walk, indices, constant.shape, dim, sizes[free[0]])
            if found is not None:
                return walk.with_inputs(node, {1: found})
        raise Blocked(walk.label(node), f"reads at {_shown(constant)} in an axis of {product(factors)}")
    if sizes[free[0]] != 1:
        return node
    return walk.with_inputs(node, {1: _offset(walk, indices, own, place, dim, stride)})


def _rows_of_constant(
    walk: UnfreezingWalk, name: str, shape: tuple[int, ...], dim: object, size: int
) -> str | None:
    """A constant index with one row per row of the data, made to follow it."""
    if size < 2 or not isinstance(dim, Expr):
        return None
    for axis, held in enumerate(shape):
        if held % size == 0 and held:
            factors: Factors = (dim,) if held == size else (dim, held // size)
            array = walk.array(name)
            assert array is not None, "it is a constant"
            split = array.reshape(*shape[:axis], size, held // size, *shape[axis + 1 :])
            if walk.rows.progression(split, axis) is not None:
                return walk.rows.with_rows(name, axis, factors)
    return None


def _offset(
    walk: UnfreezingWalk, indices: str, axes: tuple[Factors, ...], place: int, dim: object, stride: int
) -> str:
    """The indices with `row * stride` added."""
    factors = axes[place]
    shape: list[object] = [*([1] * place), *factors, *([1] * (len(axes) - place - 1))]
    at = place + factors.index(dim)  # type: ignore[arg-type]
    ones = np.zeros([1] * len(shape), np.int64)
    rows = walk.rows.numbered(ones, np.full([1] * len(shape), stride, np.int64), at, dim, shape)
    if len(factors) > 1:
        rows = walk.emit("Expand", [rows, walk.shape_vector(shape)])  # type: ignore[arg-type]
        target = [*([1] * place), -1, *([1] * (len(axes) - place - 1))]
        rows = walk.emit("Reshape", [rows, walk.constant(np.array(target, np.int64))])
    fact = walk.environment.values[indices]
    if isinstance(fact, SymbolicTensor) and fact.dtype is DType.INT32:
        rows = walk.emit("Cast", [rows], to=int(DType.INT32))
    return walk.emit("Add", [indices, rows], reason="an index into merged rows needs the number of its row")


def _shown(constant: object) -> str:
    if not isinstance(constant, np.ndarray):
        return "an index without a row"
    flat = constant.ravel().tolist()
    return f"{flat[:4]}{'...' if len(flat) > 4 else ''}"
