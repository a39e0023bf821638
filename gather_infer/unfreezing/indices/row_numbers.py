"""Indices into an axis that holds a freed size: whether they carry the number of the row.

A constant that indexes or cuts such an axis says something about the old size. It is explained by an edit, or the model
is refused. At an old size of 1 the graph does not contradict: where rows are merged into one axis, an index of row 0 is
right for one row, and has to get `row * stride` for more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from onnx import NodeProto, helper

from gather_infer.symbolic import Dim, Expr, product
from gather_infer.tensor import DType, Shape, SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.indices.cuts import holds_rows, opened_slice
from gather_infer.unfreezing.indices.window_indices import sliding_index
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_ALONG_AXIS: Final = {"ArgMax": 0, "ArgMin": 0, "TopK": -1, "CumSum": None}
"""Operators whose results are positions along an axis -> the default of their attribute `axis`."""
_FOUND: Final = {"ArgMax": 0, "ArgMin": 0, "NonZero": 0, "TopK": 1}
"""Operators that find positions -> their first output with positions, which no element of an input makes a size."""
ADDRESSING: Final = frozenset({"Gather", "GatherElements", "ScatterElements", "GatherND", "ScatterND"})
SCATTERING: Final = frozenset({"ScatterElements", "ScatterND"})
SIZED_BY_OPERAND: Final = frozenset(
    {"Expand", "Reshape", "Tile", "Slice", "Resize", "Pad", "Split", "Squeeze", "Unsqueeze"}
)
"""Operators that read sizes and positions in all inputs but the first; these do not become elements of the result."""
_INT64_MAX: Final = 2**63 - 1

Array = np.ndarray[Any, Any]


class RowNumbers:
    """Facts about the elements of integer tensors.

    names   tensors whose elements may depend on the number of the row
    sized   tensors with elements that are computed from a freed size
    in_bounds  results of accesses whose new index is 0, 1, 2, ... along the axis that it addresses
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.sized: set[str] = set()
        self.in_bounds: set[str] = set()

    def forget(self, names: Collection[str]) -> None:
        """Forget values of a subgraph, whose names other subgraphs may have."""
        self.names.difference_update(names)
        self.sized.difference_update(names)

    def note(self, walk: UnfreezingWalk, node: NodeProto) -> None:
        computed = node.input[:1] if node.op_type in SIZED_BY_OPERAND else node.input
        if node.op_type != "Range" and any(name in self.sized or walk.has_free_values(name) for name in computed):
            made = node.output[: _FOUND.get(node.op_type)]
            self.sized.update(name for name in made if name and walk.array(name) is None)
        if any(name in self.names for name in node.input) or _is_source(walk, node):
            for name in filter(None, node.output):
                fact = walk.environment.values.get(name)
                if isinstance(fact, SymbolicTensor) and fact.dtype in (DType.INT64, DType.INT32):
                    self.names.add(name)


def with_row_numbers(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node, or an edited copy whose constants fit the freed axis. Raises Blocked."""
    if node.domain not in ("", "ai.onnx") or not node.input:
        return node
    if walk.is_matched(node):
        return node
    if node.op_type == "Slice":
        return opened_slice(walk, node) if node.input[0] in walk.factors else node
    if node.op_type in ADDRESSING and len(node.input) > 1:
        return _as_reshape(walk, node) or _with_index(walk, _with_addressed_rows(walk, node))
    return walk.positions.with_sizes(node)


def note_index(walk: UnfreezingWalk, node: NodeProto) -> None:
    """Record the axes that the index of a node addresses."""
    if node.op_type in ADDRESSING and node.domain in ("", "ai.onnx") and walk.counterpart is None:
        fact = walk.environment.values.get(node.input[0])
        rank = len(fact.shape or ()) if isinstance(fact, SymbolicTensor) else 0
        walk.indexed.note(node, (axis for _, axis in _addressed_axes(walk, node, rank) if axis < rank))


def _as_reshape(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """A GatherND or ScatterND at all positions, one after the other, as a Reshape; None for another node."""
    array, data, result = walk.array(node.input[1]), walk.static.get(node.input[0]), walk.static.get(node.output[0])
    if node.op_type not in ("GatherND", "ScatterND") or node.attribute or array is None or array.ndim < 2:
        return None
    shapes = [fact.shape if isinstance(fact, SymbolicTensor) else None for fact in (data, result)]
    sizes, target = ([dim for dim in shape or () if isinstance(dim, int)] for shape in shapes)
    if not array.size or [tuple(sizes), tuple(target)] != shapes:
        return None
    rows, sizes = array.reshape(-1, array.shape[-1]), sizes[: array.shape[-1]]
    if len(rows) != prod(sizes):
        return None
    every = np.stack(np.unravel_index(np.arange(len(rows)), sizes), -1)
    moved, count = (node.input[0], len(sizes)) if node.op_type == "GatherND" else (node.input[2], array.ndim - 1)
    addressed = walk.factors.get(moved, ())[:count]
    if not np.array_equal(rows, every) or not any(is_free(each, walk.freed) for axis in addressed for each in axis):
        return None
    shape = walk.constant(np.array(target, np.int64))
    return helper.make_node("Reshape", [moved, shape], list(node.output), name=node.name)


def _is_source(walk: UnfreezingWalk, node: NodeProto) -> bool:
    """Whether a node makes numbers of rows: positions in the axis of a freed size."""
    if node.op_type == "NonZero":
        return node.input[0] in walk.factors
    if node.op_type == "Range":
        return any(walk.has_free_values(name) for name in node.input)
    if node.op_type not in _ALONG_AXIS or node.input[0] not in walk.factors:
        return False
    axes = walk.factors[node.input[0]]
    axis = next((a.i for a in node.attribute if a.name == "axis"), _ALONG_AXIS[node.op_type])
    if node.op_type == "CumSum":
        given = walk.array(node.input[1])
        axis = None if given is None else int(given.ravel()[0])
    return axis is None or any(is_free(factor, walk.freed) for factor in axes[axis % len(axes)])


class _Addressed(NamedTuple):
    """An addressed axis with a freed size.

    component  of the last axis of the indices, which holds the positions; None if each element is one
    dim        the freed size, with `size` before
    stride     by which an index steps from one row to the next
    """

    component: int | None
    factors: Factors
    dim: Expr
    size: int
    stride: int


def _addressed_axes(walk: UnfreezingWalk, node: NodeProto, rank: int) -> list[tuple[int | None, int]]:
    """The components of the indices, None if each element is one, and the axes of the data that they address."""
    fact = walk.environment.values.get(node.input[1])
    attributes = {a.name: a.i for a in node.attribute}
    if node.op_type not in ("GatherND", "ScatterND"):
        return [(None, attributes.get("axis", 0) % rank)] if rank else []
    count = fact.shape[-1] if isinstance(fact, SymbolicTensor) and fact.shape else 0
    first = attributes.get("batch_dims", 0)
    return [(at, first + at) for at in range(count)] if isinstance(count, int) else []


def _addressed(walk: UnfreezingWalk, node: NodeProto, axes: AxisFactors | None) -> list[_Addressed]:
    """The addressed axes of the data that hold a freed size."""
    fact = walk.environment.values.get(node.input[1])
    if axes is None or not isinstance(fact, SymbolicTensor) or fact.shape is None:
        return []
    found = []
    for component, axis in _addressed_axes(walk, node, len(axes)):
        factors = axes[axis]
        free = next((at for at, factor in enumerate(factors) if is_free(factor, walk.freed)), None)
        if free is None:
            continue
        sizes = [size for size in values_of(factors, walk.samples.old) if size is not None]
        dim = factors[free]
        assert isinstance(dim, Expr), "a number is not free"
        found.append(_Addressed(component, factors, dim, sizes[free], int(np.prod(sizes[free + 1 :]))))
    return found


def addressed_dims(walk: UnfreezingWalk, node: NodeProto) -> list[Dim]:
    """The sizes of the addressed axes of the data that hold a freed size."""
    return [product(each.factors) for each in _addressed(walk, node, walk.factors.get(node.input[0]))]


def _with_index(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    indices = node.input[1]
    constant = walk.array(indices)
    if constant is not None and not constant.size:
        return node  # it reads at no position
    addressed = _addressed(walk, node, walk.factors.get(node.input[0]))
    for each in addressed:
        if walk.positions.are_in(indices, each.component, each.factors):
            continue
        if indices in walk.row_numbers.sized or walk.has_free_values(indices):
            return node
        if sum(is_free(factor, walk.freed) for factor in each.factors) > 1:
            raise Blocked(walk.label(node), f"reads in an axis of {product(each.factors)} by steps of the old sizes")
        if each.factors.index(each.dim) and walk.array(indices) is None:
            found = _with_scaled_offset(walk, indices, each)
            if found is None:
                raise Blocked(walk.label(node), f"reads in an axis of {product(each.factors)} by steps of the old size")
            return walk.with_inputs(node, {1: found})
        if indices in walk.row_numbers.names:
            return node
        own = walk.factors.get(indices)
        place = None if own is None else next((a for a, held in enumerate(own) if each.dim in held), None)
        if own is not None and place is not None:
            if each.size == 1:
                node = walk.with_inputs(node, {1: _offset(walk, node.input[1], own, place, each)})
            continue
        alike = {other.component for other in addressed if other.factors == each.factors}
        found = _rows_of_constant(walk, indices, each, alike)
        if found is None and (_reads_an_end(walk, indices, each) or _is_computed_position(walk, indices, each)):
            continue
        if found is None:
            raise Blocked(
                walk.label(node), f"reads at {_shown(walk.array(indices))} in an axis of {product(each.factors)}"
            )
        others = [other for other in addressed if not _is_same_column(constant, each, other)]
        if constant is not None and not all(_reads_an_end(walk, indices, other) for other in others):
            raise Blocked(walk.label(node), f"reads at {_shown(constant)} in axes of {_sizes(addressed)}")
        return walk.with_inputs(node, {1: found})
    return node


def _sizes(addressed: Iterable[_Addressed]) -> str:
    return " and ".join(str(product(each.factors)) for each in addressed)


def _is_same_column(array: Array | None, each: _Addressed, other: _Addressed) -> bool:
    """Whether an index has the same positions in two axes of one size, as that of a diagonal has."""
    if array is None or each.factors != other.factors:
        return False
    return each.component == other.component or bool((array[..., each.component] == array[..., other.component]).all())


def _is_computed_position(walk: UnfreezingWalk, indices: str, each: _Addressed) -> bool:
    """Whether an index is a position in a length that the model computes from its inputs."""
    return not holds_rows(walk, each.dim) and walk.array(indices) is None and len(each.factors) == 1


def _reads_an_end(walk: UnfreezingWalk, indices: str, each: _Addressed) -> bool:
    """Whether a constant index reads the first or the last position of a length."""
    array = walk.array(indices)
    if array is None or holds_rows(walk, each.dim) or len(each.factors) > 1 or array.dtype.kind not in "iu":
        return False
    rows = array if each.component is None else array[..., each.component]
    return bool(((rows == 0) | (rows == -1)).all())


def _rows_of_constant(walk: UnfreezingWalk, name: str, each: _Addressed, alike: Set[int | None]) -> str | None:
    """A constant index with one entry per row of the data, made to follow it; `alike` address the same size."""
    array = walk.array(name)
    if array is None:
        fact = walk.environment.values.get(name)
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        made = (walk.rows.with_rows(name, axis, (each.dim,)) for axis, held in enumerate(shape) if held == each.size)
        return next((found for found in made if found is not None), None)
    if not array.ndim or array.dtype.kind not in "iu":
        return None
    places = range(array.ndim - (each.component is not None))
    if each.component is None and len(each.factors) > 1 and each.size > 1:
        by_digits = _index_by_digits(walk, array, each)
        if by_digits is not None or each.factors.index(each.dim):
            return by_digits
    if each.size > 1:
        for axis in places:
            held = array.shape[axis]
            if held % each.size == 0 and held:
                factors: Factors = (each.dim,) if held == each.size else (each.dim, held // each.size)
                split = array.reshape(*array.shape[:axis], each.size, held // each.size, *array.shape[axis + 1 :])
                step = walk.rows.progression(split, axis)
                if step is not None and _steps_with(step, each, alike) and not _may_be_rolled(step, each):
                    found = walk.rows.with_rows(name, axis, factors)
                    if found is not None and _counts(split, axis, each):
                        walk.row_numbers.in_bounds.add(found)
                    return found
        return None if each.component is not None or len(each.factors) > 1 else sliding_index(walk, array, each.dim)
    rows = array if each.component is None else array[..., each.component]
    alone = [axis for axis in places if array.shape[axis] == 1]
    if not alone or rows.min() < 0 or rows.max() >= each.stride:
        return None
    step = np.zeros([1] * array.ndim, np.int64)
    if each.component is not None:
        step = np.zeros([*([1] * (array.ndim - 1)), array.shape[-1]], np.int64)
    step[..., 0 if each.component is None else each.component] = each.stride
    return walk.rows.numbered(array, step, alone[0], each.dim)


def _steps_with(step: Array, each: _Addressed, alike: Set[int | None]) -> bool:
    """Whether an index steps in the column of the freed size, and in no column that addresses another size."""
    if each.component is None:
        return bool(step.any())
    others = [column for column in range(step.shape[-1]) if column not in alike]
    return bool(step[..., each.component].any() and not step[..., others].any())


def _may_be_rolled(step: Array, each: _Addressed) -> bool:
    """Whether an index of two positions, the last one first, reverses them, or rolls them by one."""
    own = step if each.component is None else step[..., each.component]
    return each.size == 2 and bool((own < 0).any())


def _counts(array: Array, axis: int, each: _Addressed) -> bool:
    """Whether an index is 0, 1, 2, ... along an axis in the column of the freed size, and constant in other columns."""
    if each.component is None:
        return len(each.factors) == 1 and _is_numbered(array, axis, each.size)
    own = array[..., each.component]
    rest = np.delete(array, each.component, -1)
    return (
        len(each.factors) == 1 and _is_numbered(own, axis, each.size) and bool((rest == np.take(rest, [0], axis)).all())
    )


def _index_by_digits(walk: UnfreezingWalk, array: Array, each: _Addressed) -> str | None:
    """A constant index into a merged axis, computed from its digits: `[0, 7]` in an axis of `2*seq` is `[0, seq]`."""
    sizes = [size for size in values_of(each.factors, walk.samples.old) if size is not None]
    if array.min() < 0 or array.max() >= np.prod(sizes):
        return None
    digits = np.unravel_index(array, sizes)
    place = each.factors.index(each.dim)
    free = digits[place]
    along = next((axis for axis in range(array.ndim) if _is_numbered(free, axis, each.size)), None)
    if along is None and free.any():
        return None
    right = [int(np.prod([s for at, s in enumerate(sizes) if at > k and at != place])) for k in range(len(sizes))]
    inner = sum((digits[k] * right[k] for k in range(place + 1, len(sizes))), np.zeros_like(array))
    outer = sum((digits[k] * right[k] for k in range(place)), np.zeros_like(array))
    if along is not None:
        parts = [np.take(part, [0], along) for part in (inner, outer)]
        if any((part != kept).any() for part, kept in zip((inner, outer), parts, strict=True)):
            return None
        inner, outer = parts
    elif holds_rows(walk, each.dim):
        return None
    found = walk.constant(inner.astype(np.int64))
    if along is not None:
        if outer.any() and not inner.any():
            inner = np.zeros([1] * array.ndim, array.dtype)  # the other addend has the rest of the shape
        found = walk.rows.numbered(inner, np.full([1] * array.ndim, each.stride, np.int64), along, each.dim)
    if outer.any():
        found = walk.emit(
            "Add", [found, walk.emit("Mul", [walk.constant(outer.astype(np.int64)), walk.sizes.of_dim(each.dim)])]
        )
    if array.dtype != np.int64:
        found = walk.emit("Cast", [found], to=int(DType.INT32))
    return found


def _with_scaled_offset(walk: UnfreezingWalk, indices: str, each: _Addressed) -> str | None:
    """A computed index to which a constant adds multiples of the old size, such as `position + [0, 7]`."""
    node = walk.producer(indices)
    if node is None or node.op_type != "Add" or each.component is not None:
        return None
    for constant, other in (node.input, reversed(node.input)):
        array = walk.array(constant)
        if array is None or array.dtype.kind not in "iu":
            continue
        found = _index_by_digits(walk, array, each)
        if found is not None:
            return walk.emit("Add", [other, found])
    return None


def _is_numbered(array: Array, axis: int, size: int) -> bool:
    """Whether the elements are 0, 1, 2, ... along an axis, `size` of them."""
    if array.shape[axis] != size:
        return False
    numbers = np.arange(size).reshape([-1 if at == axis else 1 for at in range(array.ndim)])
    return bool((array == numbers).all())


def _offset(walk: UnfreezingWalk, indices: str, axes: tuple[Factors, ...], place: int, each: _Addressed) -> str:
    """The indices with `row * stride` added."""
    factors = axes[place]
    rest = len(axes) - place - 1
    rank = place + len(factors) + rest
    at = place + factors.index(each.dim)
    shape = [1] * rank
    if each.component is not None:
        last = axes[-1]
        width = int(last[0]) if last and isinstance(last[0], int) else 1
        shape[-1] = width
    step = np.zeros(shape, np.int64)
    step[..., 0 if each.component is None else each.component] = each.stride
    rows = walk.rows.numbered(np.zeros([1] * rank, np.int64), step, at, each.dim)
    if len(factors) > 1:
        rows = walk.emit("Expand", [rows, walk.sizes.of_shape([*([1] * place), *factors, *([1] * rest)])])
        target = [*([1] * place), -1, *shape[len(shape) - rest :]]
        rows = walk.emit("Reshape", [rows, walk.constant(np.array(target, np.int64))])
    fact = walk.environment.values[indices]
    if isinstance(fact, SymbolicTensor) and fact.dtype is DType.INT32:
        rows = walk.emit("Cast", [rows], to=int(DType.INT32))
    return walk.emit("Add", [indices, rows], reason="an index into merged rows needs the number of its row")


def _with_addressed_rows(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """Data of the old size that is addressed by row, made to follow it; of an old size of 1 also before it is."""
    if node.op_type not in SCATTERING:
        return node
    if node.input[0] in walk.factors:
        return node
    node = _with_scattered_rows(walk, node)
    own = walk.factors.get(node.input[1]) or (walk.factors.get(node.input[2]) if len(node.input) > 2 else None)
    fact = walk.environment.values.get(node.input[0])
    if own is None or (node.op_type == "ScatterND" and node.input[0] in walk.factors):
        return node
    if not isinstance(fact, SymbolicTensor) or not fact.shape:
        return node
    if node.op_type == "ScatterElements" and len(own) == len(fact.shape):
        node = _with_following_rows(walk, node, own, fact.shape)
        if node.input[0] in walk.factors:
            return node
    dims = [factor for held in own for factor in held if is_free(factor, walk.freed)]
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(fact.shape)
    size = next(values_of(dims[:1], walk.samples.old), None)
    held = fact.shape[axis]
    if not dims or not size or not isinstance(held, int) or held % size:
        return node
    if size > 1 and node.input[1] not in walk.row_numbers.names:
        return node
    factors: Factors = (dims[0],) if held == size else (dims[0], held // size)
    found = walk.rows.with_rows(node.input[0], axis, factors)
    return node if found is None else walk.with_inputs(node, {0: found})


def _with_scattered_rows(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node with data that follow the axis that the indices are positions in."""
    fact = walk.environment.values.get(node.input[0])
    shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
    for component, axis in _addressed_axes(walk, node, len(shape)):
        held = walk.positions.of(node.input[1], component) or _numbered_updates(walk, node, component, shape[axis])
        held = held or walk.indexed.of(node.input[1], shape[axis])
        if held is None or not any(is_free(factor, walk.freed) for factor in held):
            continue
        if shape[axis] == next(values_of([product(held)], walk.samples.old)):
            found = walk.rows.with_rows(node.input[0], axis, held)
            if found is None:
                raise Blocked(walk.label(node), f"its data have {shape[axis]} rows, its indices {product(held)}")
            node = walk.with_inputs(node, {0: found})
    return node


def _numbered_updates(
    walk: UnfreezingWalk, node: NodeProto, component: int | None, size: Dim
) -> Factors | None:  # fmt: skip
    """The factors of an axis of the updates that a constant index writes to all positions, one after the other."""
    array = walk.array(node.input[1])
    if array is None or not isinstance(size, int) or size < 2:
        return None
    rows = array if component is None else array[..., component]
    axes = walk.factors.get(node.input[2], ())
    along = (factors for at, factors in enumerate(axes[: rows.ndim]) if _is_numbered(rows, at, size))
    return next(along, None)


def _with_following_rows(walk: UnfreezingWalk, node: NodeProto, own: AxisFactors, shape: Shape) -> NodeProto:
    """The node with data that follow the indices along the axes that it does not address."""
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(shape)
    for at, (factors, held) in enumerate(zip(own, shape, strict=True)):
        if at == axis or not any(is_free(factor, walk.freed) for factor in factors):
            continue
        if held == next(values_of([product(factors)], walk.samples.old)):
            found = walk.rows.with_rows(node.input[0], at, factors)
            if found is None:
                raise Blocked(walk.label(node), f"its data have {held} rows, its indices {product(factors)}")
            node = walk.with_inputs(node, {0: found})
    return node


def _shown(constant: object) -> str:
    if not isinstance(constant, np.ndarray):
        return "an index without a row"
    flat = constant.ravel().tolist()
    return f"{flat[:4]}{'...' if len(flat) > 4 else ''}"
