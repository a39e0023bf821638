"""Values of the old size, made to follow the freed one: constants by rule, computed values through their producers.

The rows of a constant along the freed size are, in this order: equal, and repeated; or, of integers, an arithmetic
progression, and computed from a Range. Of a merged axis the freed part is separated first, which covers tiles and
row-major numbers. Any other constant stays as it is: the missing rows are not in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto, helper

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.unfreezing.constants.followed_axes import places_in_product, places_in_scatter, same_place
from gather_infer.unfreezing.constants.position_masks import position_mask, steps_of
from gather_infer.unfreezing.constants.tables import are_parts, why_not_cut, why_not_cut_both
from gather_infer.unfreezing.factors.axis_factors import Factors, dim_of, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.images.grids import grid_of_pixels
from gather_infer.unfreezing.images.spanning_coordinates import spanning_coordinates
from gather_infer.unfreezing.images.window_masks import masked_windows
from gather_infer.unfreezing.indices.row_numbers import SCATTERING, with_row_numbers
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]

_UNARY: Final = frozenset(
    {"Identity", "Cast", "Neg", "Abs", "Not", "Exp", "Log", "Sqrt", "Floor", "Ceil", "Relu", "Sigmoid", "Tanh", "Sign",
     "Sin", "Cos", "Reciprocal", "Erf", "Softplus", "IsNaN", "Dropout", "Trilu"}
)  # fmt: skip
BROADCASTING: Final = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Sum", "Mean", "And", "Or", "Xor", "Equal", "Less",
     "LessOrEqual", "Greater", "GreaterOrEqual", "Where", "PRelu", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)  # fmt: skip
_MAX_DEPTH: Final = 20
MAX_SCALED: Final = 1 << 20
"""Maximal number of elements of a table that is compared with multiples of positions."""
NO_OTHERS: Final[Mapping[int, Factors]] = MappingProxyType({})


class ConstantRows:
    """Replacements for values whose axis has the old size."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._made: dict[tuple[object, ...], str | None] = {}
        self.why_refused = ""  # of the last table that was not cut

    def mark(self) -> int:
        """The present state, for `forget_since`."""
        return len(self._made)

    def forget_since(self, mark: int) -> None:
        """Forget the values of a subgraph, which other graphs cannot read."""
        while len(self._made) > mark:
            self._made.popitem()

    def with_rows(
        self,
        name: str,
        axis: int,
        factors: Factors,
        *,
        others: Mapping[int, Factors] = NO_OTHERS,
        broadcasts: bool = False,
        depth: int = 0,
    ) -> str | None:
        """A value like `name` whose axis has the sizes `factors`; None if there is no rule for it.

        others       other axes of the value that are going to follow a freed size, with their factors
        broadcasts   an axis of size 1 will do
        """
        fact = self.walk.environment.values.get(name)
        if isinstance(fact, SymbolicTensor) and fact.shape is not None and fact.shape[axis] == dim_of(factors):
            return name
        key = (name, axis, factors, broadcasts, tuple(others.items()))
        if key not in self._made:
            self._made[key] = None  # a cycle ends here
            array = self.walk.array(name)
            is_computed = self.walk.environment.constant(name) is None
            if is_computed and depth < _MAX_DEPTH:
                self._made[key] = self._of_node(name, axis, factors, depth + 1)
            if self._made[key] is None and array is not None:
                self._made[key] = self._of_constant(array, axis, factors, broadcasts, others)
            if self._made[key] is None and isinstance(fact, SymbolicTensor):
                self._made[key] = self._of_one_row(name, fact.shape or (), axis, factors)
        found = self._made[key]
        if found is not None and found in self.walk.factors:
            held = self.walk.factors[found]
            self.walk.factors[found] = (*held[:axis], factors, *held[axis + 1 :])
        return found

    def _of_one_row(self, name: str, shape: Shape, axis: int, factors: Factors) -> str | None:
        """The one row of a computed value that no freed size reaches, repeated."""
        walk = self.walk
        if shape[axis] != 1 or name in walk.dependent or not walk.row_symbols.issuperset(map(str, factors)):
            return None
        dims = [dim_of(factors) if at == axis else dim for at, dim in enumerate(shape)]
        return walk.emit("Expand", [name, walk.sizes.of_shape(dims)])

    # constants

    def _of_constant(self, array: Array, axis: int, factors: Factors, broadcasts: bool,
                     others: Mapping[int, Factors]) -> str | None:  # fmt: skip
        walk = self.walk
        free = [place for place, factor in enumerate(factors) if is_free(factor, walk.freed)]
        if len(free) > 1:
            equal = self._equal(array, axis, factors, broadcasts)
            return equal or masked_windows(walk, array, axis, factors) or grid_of_pixels(walk, array, axis, factors)
        sizes = [size for size in values_of(factors, walk.samples.old) if size is not None]
        if len(free) != 1 or len(sizes) < len(factors) or np.prod(sizes) != array.shape[axis]:
            return None
        dim, at = factors[free[0]], axis + free[0]
        split = array.reshape(*array.shape[:axis], *sizes, *array.shape[axis + 1 :])
        first = np.take(split, [0], at)
        shape = [*array.shape[:axis], *factors, *array.shape[axis + 1 :]]
        if np.array_equal(split, np.broadcast_to(first, split.shape)):
            if self._tells_size(first, dim):
                return None
            if len(factors) == 1 or np.array_equal(array, np.broadcast_to(np.take(array, [0], axis), array.shape)):
                return self._equal(array, axis, factors, broadcasts)
            found = walk.emit("Expand", [walk.constant(first), walk.sizes.of_shape(shape)])
        else:
            whole = self.progression(array, axis) if free[0] else None
            if whole is not None:  # numbers of all positions, of which the outer sizes have no steps of their own
                return self.numbered(np.take(array, [0], axis), whole, axis, dim_of(factors))
            progression = self.progression(split, at)
            if progression is not None and self._follows_length(split, at, progression, dim):
                self.why_refused = f"numbers of its constant {list(array.shape)} may follow the length"
                return None
            if progression is None or self._may_be_any(first, progression, split.shape[at], dim):
                numbers = self._scaled(split, at, dim) or spanning_coordinates(walk, split, at, dim)
                if numbers is None:
                    return self._of_length(array, axis, factors, others)
            else:
                numbers = self._anchored(first, np.take(split, [-1], at), progression, at, dim)
            if numbers is None:
                return None
            found = numbers
        return self._merged(found, array.shape, axis, factors)

    def _equal(self, array: Array, axis: int, factors: Factors, broadcasts: bool) -> str | None:
        """One row, repeated, of a constant with equal rows along an axis that holds several freed sizes."""
        walk, dim = self.walk, dim_of(factors)
        first = np.take(array, [0], axis)
        if not np.array_equal(array, np.broadcast_to(first, array.shape)) or self._tells_size(first, dim):
            return None
        if broadcasts:
            return walk.constant(first)
        shape = [*array.shape[:axis], dim, *array.shape[axis + 1 :]]
        return walk.emit("Expand", [walk.constant(first), walk.sizes.of_shape(shape)])

    def _tells_size(self, first: Array, dim: Dim) -> bool:
        """Whether equal rows along a length may depend on it, such as the `1/seq` of a mean.

        Equal whole numbers of rows may be another length, such as that of each sequence.
        """
        walk = self.walk
        size = next(values_of([dim], walk.samples.old))
        if first.dtype.kind not in "fiu" or size is None or not isinstance(dim, Expr):
            return False
        if dim.symbols <= walk.row_symbols:
            lengths = [size for name, size in walk.freed.items() if name not in walk.row_symbols]
            return first.dtype.kind in "iu" and bool(np.isin(first, lengths).any())
        if size < 2:
            return False
        numbers = np.abs(first[np.isfinite(first)].astype(np.float64))
        told = [size, 1 / size, np.sqrt(size), 1 / np.sqrt(size)]
        return bool(np.isclose(numbers[..., None], told, rtol=1e-6, atol=0).any())

    def _of_length(self, array: Array, axis: int, factors: Factors, others: Mapping[int, Factors]) -> str | None:
        """The first rows of a constant, right up to the old size; or a mask that compares two positions."""
        walk = self.walk
        dim = factors[0]
        if len(factors) != 1 or isinstance(dim, int) or not dim.symbols.isdisjoint(walk.row_symbols):
            return None
        if len(dim.symbols) > 1 or not dim.symbols.isdisjoint(walk.image_symbols):
            return None  # tables of positions in an image are interpolated to another size, not cut
        lengths = {symbol(name): size for name, size in walk.freed.items() if name not in walk.row_symbols}
        # the other positions of a mask may have no other operand that says what their number is
        guesses = [(at, each) for at, held in enumerate(array.shape) for each, size in lengths.items() if held == size]
        for other, each in [*((at, dim_of(held)) for at, held in others.items()), *guesses]:
            mask = position_mask(walk, array, {axis: dim, other: each}) if other != axis else None
            if mask is not None:
                return mask
        return self._cut(array, axis, dim, others)

    def _cut(self, array: Array, axis: int, dim: Expr, others: Mapping[int, Factors]) -> str | None:
        """The first rows of a table of a length.

        Of `seq + 17` the other rows may be first, last, or between. They are last in a table of distances `j - i` of
        two positions, where the first row is that of the first position.
        """
        walk, dims = self.walk, {axis: dim}
        for other, held in others.items():
            each = dim_of(held)
            if isinstance(each, Expr) and len(dim.symbols | each.symbols) == 1 and dim.is_symbol != each.is_symbol:
                low, high = sorted((axis, other))
                if steps_of(array, (low, high)) is not None:
                    dims[other] = each
        if all(not each.is_symbol for each in dims.values()):
            self.why_refused = f"rows of its constant {list(array.shape)} along {dim} may be first, last or between"
            return None
        pair = self._two_positions(array, axis, dim, others)
        why_of_both = "" if pair is None else why_not_cut_both(array, pair)
        for at in dims:
            why = why_not_cut(array, at) or why_of_both
            if why:
                self.why_refused = f"its constant {list(array.shape)} cannot be cut: {why}"
                return None
        found = walk.constant(array, "rows")
        zero = walk.constant(np.array([0], np.int64))
        for at, each in dims.items():
            walk.limit(each, array.shape[at])
            found = walk.emit("Slice", [found, zero, walk.sizes.of_dim(each), walk.constant(np.array([at], np.int64))])
        return found

    def _two_positions(
        self, array: Array, axis: int, dim: Expr, others: Mapping[int, Factors]
    ) -> tuple[int, int] | None:
        """The axes of a table that two positions of the same length index; None if there are not two."""
        sizes = [at for at, held in enumerate(array.shape) if at != axis and held == array.shape[axis]]
        chosen = [at for at in sizes if at in others and dim_of(others[at]) == dim] or sizes[-1:]
        if not chosen:
            return None
        low, high = sorted((axis, chosen[0]))
        return low, high

    @staticmethod
    def progression(array: Array, axis: int) -> Array | None:
        """The step of the arithmetic progressions of integers along an axis, as an array; None if there are none."""
        is_float = array.dtype.kind == "f" and array.shape[axis] > 2
        if (array.dtype.kind not in "iu" and not is_float) or array.shape[axis] < 2:
            return None
        if (is_float and not (np.abs(array) < 2**24).all()) or not np.array_equal(array, np.rint(array)):
            return None
        rows = array.astype(np.int64)
        step = np.take(rows, [1], axis) - np.take(rows, [0], axis)
        numbers = np.arange(array.shape[axis]).reshape([-1 if at == axis else 1 for at in range(array.ndim)])
        return step if np.array_equal(rows, np.take(rows, [0], axis) + numbers * step) else None

    def _follows_length(self, array: Array, axis: int, step: Array, dim: Dim) -> bool:
        """Whether numbers of positions step by a length, such as `row*n + column`, or begin at it, as `j - i + n`."""
        walk = self.walk
        lengths = [size for name, size in walk.freed.items() if name not in walk.row_symbols and size > 1]
        if np.isin(np.abs(step), [size for size in lengths if size > 2]).any():
            return True
        if array.size == array.shape[axis] and array.ravel()[0] in lengths:
            return True  # positions after a past
        if isinstance(dim, int) or dim.symbols & walk.row_symbols:
            return False
        size = array.shape[axis]
        for other in (at for at, held in enumerate(array.shape) if at != axis and held == size and size > 2):
            numbers = np.moveaxis(array, (axis, other), (0, 1))
            diagonal = numbers[np.arange(size), np.arange(size)]
            is_of_distances = np.array_equal(diagonal, np.broadcast_to(diagonal[:1], diagonal.shape))
            if is_of_distances and np.isin(np.abs(diagonal[0]), (size, size - 1)).any():
                return True
        return False

    def _may_be_any(self, first: Array, step: Array, size: int, dim: Dim) -> bool:
        """Whether two integers along a length are a progression by chance: they do not count by 1, nor from 0."""
        if size > 2 or (isinstance(dim, Expr) and dim.symbols <= self.walk.row_symbols):
            return False
        return bool(first.any() and (np.abs(step) > 1).any())

    def _anchored(self, first: Array, last: Array, step: Array, axis: int, dim: Dim) -> str | None:
        """Numbers that begin at a constant, or that end at 0, such as `2, 1, 0`; None if they may do either.

        Of a table of two positions, such as `j - i`, the row of the first other position tells.
        """
        size = next(values_of([dim], self.walk.samples.old))
        begin = tuple(slice(1) if at != axis and held == size else slice(None) for at, held in enumerate(first.shape))
        left, right, by = (each[begin].astype(np.int64) for each in (first, last, step))
        is_to_end = (left * by < 0) & (np.abs(right) <= np.abs(left))
        if not is_to_end.any():
            return self.numbered(first, step, axis, dim)
        if (right[is_to_end] != 0).any() or (by[~is_to_end] != 0).any() or isinstance(dim, int):
            self.why_refused = "numbers of its constant may begin or end at a number that depends on the length"
            return None
        walk = self.walk
        largest = walk.emit("Mul", [walk.sizes.of_dim(dim - 1), walk.constant(step.astype(np.int64))])
        if first.dtype != np.int64:
            largest = walk.emit("Cast", [largest], to=helper.np_dtype_to_tensor_dtype(first.dtype))
        return walk.emit("Sub", [self.numbered(last, step, axis, dim), largest])

    def _scaled(self, array: Array, axis: int, dim: Dim) -> str | None:
        """Positions times numbers, such as the slopes of linear biases: they begin at 0, or end there."""
        walk, size = self.walk, array.shape[axis]
        if array.dtype not in (np.float32, np.float64) or size < 3 or isinstance(dim, int) or array.size > MAX_SCALED:
            return None
        ones = [1] * array.ndim
        for start, place in ((0, 1), (1 - size, size - 2)):
            numbers = np.arange(start, start + size).reshape([-1 if at == axis else 1 for at in range(array.ndim)])
            step = np.take(array, [place], axis) * np.sign(start + 0.5).astype(array.dtype)
            with np.errstate(over="ignore", invalid="ignore"):
                is_scaled = np.array_equal(array, numbers.astype(array.dtype) * step)
            if not is_scaled or are_parts(step, size):
                continue
            counted = self.numbered(np.zeros(ones, np.int64), np.ones(ones, np.int64), axis, dim)
            if start:
                counted = walk.emit("Sub", [counted, walk.sizes.of_dim(dim - 1)])
            counted = walk.emit("Cast", [counted], to=helper.np_dtype_to_tensor_dtype(array.dtype))
            return walk.emit("Mul", [counted, walk.constant(step)])
        return None

    def numbered(self, first: Array, step: Array, axis: int, dim: Dim) -> str:
        """`first + row * step`, rows being numbered along an axis."""
        walk = self.walk
        zero, one = walk.constant(np.array(0, np.int64)), walk.constant(np.array(1, np.int64))
        limit = self.as_scalar(walk.sizes.of_dim(dim))
        rows = walk.emit("Range", [zero, limit, one])
        walk.row_numbers.names.add(rows)
        target = [-1 if at == axis else 1 for at in range(first.ndim)]
        found = walk.emit("Reshape", [rows, walk.constant(np.array(target, np.int64))]) if first.ndim != 1 else rows
        if step.size and (step == step.flat[0]).all():
            step = step.ravel()[:1].reshape([1] * first.ndim)
        if not (step == 1).all():
            found = walk.emit("Mul", [found, walk.constant(step.astype(np.int64))])
        if first.any() or first.size > 1:
            found = walk.emit("Add", [found, walk.constant(first.astype(np.int64))])
        if first.dtype != np.int64:
            found = walk.emit("Cast", [found], to=helper.np_dtype_to_tensor_dtype(first.dtype))
        return found

    def as_scalar(self, name: str) -> str:
        """The element of a vector of one."""
        return self.walk.emit("Reshape", [name, self.walk.constant(np.array([], np.int64))])

    def _merged(self, name: str, shape: Sequence[int], axis: int, factors: Factors) -> str:
        if len(factors) == 1:
            return name
        target = [*shape[:axis], -1, *shape[axis + 1 :]]
        return self.walk.emit("Reshape", [name, self.walk.constant(np.array(target, np.int64))])

    # computed values

    def _of_node(self, name: str, axis: int, factors: Factors, depth: int) -> str | None:
        """A copy of the producer of a value that follows the freed size, with operands that do."""
        walk = self.walk
        node = walk.producer(name)
        if node is None or node.domain not in ("", "ai.onnx"):
            return None
        fact = walk.environment.values.get(name)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            return None
        inputs = self._operands(node, fact, axis, factors, depth)
        if inputs is None:
            return None
        attributes = {a.name: a for a in node.attribute}
        copy = NodeProto()
        copy.CopyFrom(node)
        del copy.attribute[:]
        copy.attribute.extend(attributes.values())
        del copy.input[:]
        copy.input.extend(inputs)
        if node.op_type in SCATTERING:
            try:
                copy = with_row_numbers(walk, copy)
            except Blocked as fault:
                self.why_refused = fault.reason
                return None
        place = list(node.output).index(name)
        for at, output in enumerate(node.output):
            copy.output[at] = walk.fresh_output(output) if output else ""
        problem = walk.attempt(copy)
        if problem:
            self.why_refused = problem if node.op_type in SCATTERING else self.why_refused
            return None
        walk.add_copy(copy)
        made = walk.environment.values[copy.output[place]]
        if not isinstance(made, SymbolicTensor) or made.shape is None or made.shape[axis] != dim_of(factors):
            return None
        return str(copy.output[place])

    def _operands(
        self, node: NodeProto, fact: SymbolicTensor, axis: int, factors: Factors, depth: int
    ) -> list[str] | None:
        walk, op, shape = self.walk, node.op_type, fact.shape or ()
        inputs = list(node.input)

        def follow(position: int, at: int) -> bool:
            found = self.with_rows(inputs[position], at, factors, depth=depth)
            if found is not None:
                inputs[position] = found
            return found is not None

        def shape_of(position: int) -> tuple[Any, ...] | None:
            value = walk.environment.values.get(inputs[position])
            return value.shape if isinstance(value, SymbolicTensor) else None

        if op in _UNARY:
            return inputs if follow(0, axis) else None
        if op in BROADCASTING:
            is_followed = False
            for position in range(len(inputs)):
                held = shape_of(position)
                if held is None:
                    return None
                at = axis - (len(shape) - len(held))
                if at >= 0 and held[at] != 1:
                    if not follow(position, at):
                        return None
                    is_followed = True
            return inputs if is_followed else None
        if op == "Tile":
            held, repeats = shape_of(0), walk.array(inputs[1])
            if held is None or repeats is None or len(factors) != 1:
                return None
            counts = repeats.tolist()
            if held[axis] != 1:
                return inputs if counts[axis] == 1 and follow(0, axis) else None
            inputs[1] = walk.sizes.of_shape([dim_of(factors) if a == axis else c for a, c in enumerate(counts)])
            return inputs
        if op == "MatMul":
            places = places_in_product(shape_of(0), shape_of(1), len(shape) - axis)
            return inputs if places and all(follow(*place) for place in places) else None
        if op in SCATTERING:
            places = places_in_scatter(node, shape, shape_of(1), axis)
            return inputs if places and all(follow(*place) for place in places) else None
        if op == "Split":
            own = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(shape)
            return inputs if own != axis and follow(0, axis) else None
        if op == "GatherElements":
            own, held = next((a.i for a in node.attribute if a.name == "axis"), 0) % len(shape), shape_of(0)
            if held is None or (own != axis and not follow(0, axis)):
                return None
            return inputs if follow(1, axis) else None
        if op == "GatherND":
            indices = shape_of(1)
            if indices is None or any(a.name == "batch_dims" and a.i for a in node.attribute):
                return None
            return inputs if axis < len(indices) - 1 and follow(1, axis) else None
        if op == "Expand":
            held = shape_of(0)
            is_known = all(isinstance(size, int) or is_free(size, walk.freed) for size in shape)
            if held is None or not is_known:
                return None
            at = axis - (len(shape) - len(held))
            if at >= 0 and held[at] != 1 and (isinstance(held[at], int) or is_free(held[at], walk.freed)):
                if not follow(0, at):
                    return None
                dims: list[Any] = [1 if a == axis else d for a, d in enumerate(shape)]
            else:
                dims = [dim_of(factors) if a == axis else d for a, d in enumerate(shape)]
            inputs[1] = walk.sizes.of_shape(dims)
            return inputs
        if op == "ConstantOfShape":
            inputs[0] = walk.sizes.of_shape([dim_of(factors) if a == axis else d for a, d in enumerate(shape)])
            return inputs
        if op == "Concat":
            own = next(a.i for a in node.attribute if a.name == "axis") % len(shape)
            return inputs if own != axis and all(follow(position, axis) for position in range(len(inputs))) else None
        if op == "Transpose":
            perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(shape)))[::-1])
            return inputs if follow(0, perm[axis]) else None
        if op == "Slice" and len(inputs) > 3:
            cut = walk.array(inputs[3])
            if cut is None or axis in (cut % len(shape)).tolist():
                return None
            return inputs if follow(0, axis) else None
        if op == "Gather":
            own = next((a.i for a in node.attribute if a.name == "axis"), 0)
            data, indices = shape_of(0), shape_of(1)
            if data is None or indices is None:
                return None
            own %= len(data)
            if own <= axis < own + len(indices):
                return inputs if follow(1, axis - own) else None
            return inputs if follow(0, axis if axis < own else axis - len(indices) + 1) else None
        if op in ("Unsqueeze", "Squeeze", "Reshape"):
            held = shape_of(0)
            if held is None:
                return None
            place = same_place(*([*values_of(each, walk.samples.old)] for each in (held, shape)), axis=axis)
            if place is None or not follow(0, place):
                return None
            if op == "Reshape":
                made = walk.environment.values.get(inputs[0])
                kept = made.shape if isinstance(made, SymbolicTensor) else None
                dims = [dim_of(factors) if a == axis else d for a, d in enumerate(shape)]
                keeps = not any(a.name == "allowzero" and a.i for a in node.attribute)
                inputs[1] = walk.sizes.reshape_target(dims, kept or (), keeps=keeps)
            return inputs
        return None
