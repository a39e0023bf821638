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
from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.axis_factors import Factors, dim_of, is_free
from gather_infer.unfreezing.grids import grid_of_pixels
from gather_infer.unfreezing.samples import values_of
from gather_infer.unfreezing.window_masks import masked_windows

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
NO_OTHERS: Final[Mapping[int, Factors]] = MappingProxyType({})


class ConstantRows:
    """Replacements for values whose axis has the old size."""

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self._made: dict[tuple[object, ...], str | None] = {}

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
        found = self._made[key]
        return found

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
        split = array.reshape(*array.shape[:axis], *sizes, *array.shape[axis + 1 :])
        at = axis + free[0]
        first = np.take(split, [0], at)
        shape = [*array.shape[:axis], *factors, *array.shape[axis + 1 :]]
        if np.array_equal(split, np.broadcast_to(first, split.shape)):
            if self._tells_size(first, factors[free[0]]):
                return None
            if broadcasts and len(factors) == 1:
                return walk.constant(first)
            found = walk.emit("Expand", [walk.constant(first), walk.sizes.of_shape(shape)])
        else:
            progression = self.progression(split, at)
            if progression is None:
                return self._of_length(array, axis, factors, others)
            found = self.numbered(first, progression, at, factors[free[0]])
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
        """Whether equal rows along a length may depend on it, such as the `1/seq` of a mean."""
        size = next(values_of([dim], self.walk.samples.old))
        if first.dtype.kind not in "fiu" or size is None or size < 2 or not isinstance(dim, Expr):
            return False
        if dim.symbols <= self.walk.row_symbols:
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
            mask = self.step_mask(array, {axis: dim, other: each}) if other != axis else None
            if mask is not None:
                return mask
        if not dim.is_symbol:
            return None  # of `seq + 17` the other rows may be first, last, or between
        walk.limit(dim, array.shape[axis])
        zero, axes = walk.constant(np.array([0], np.int64)), walk.constant(np.array([axis], np.int64))
        return walk.emit("Slice", [walk.constant(array, "rows"), zero, walk.sizes.of_dim(dim), axes])

    def step_mask(self, array: Array, dims: Mapping[int, Dim]) -> str | None:
        """A mask over two positions, which has one value where `j - i` is small and another where it is large."""
        walk = self.walk
        low, high = sorted(dims)
        rows, columns = array.shape[low], array.shape[high]
        first = array[tuple(slice(None) if at in dims else slice(1) for at in range(array.ndim))]
        if rows < 2 or columns < 2 or not np.array_equal(array, np.broadcast_to(first, array.shape)):
            return None
        square = first.reshape(rows, columns)
        steps = np.arange(columns)[None, :] - np.arange(rows)[:, None]
        values = [np.unique(square[steps == step]) for step in range(1 - rows, columns)]
        if any(len(found) != 1 for found in values):
            return None
        changes = [at for at in range(1, len(values)) if values[at][0] != values[at - 1][0]]
        if len(changes) != 1:
            return None
        limit = changes[0] - (rows - 1)  # the first step with the other value
        rank = array.ndim
        ones, step = np.zeros([1] * rank, np.int64), np.ones([1] * rank, np.int64)
        row, column = self.numbered(ones, step, low, dims[low]), self.numbered(ones, step, high, dims[high])
        difference = walk.emit("Sub", [column, row])
        is_small = walk.emit("Less", [difference, walk.constant(np.array(limit, np.int64))])
        if array.dtype == np.bool_:
            return is_small if values[0][0] else walk.emit("Not", [is_small])
        return walk.emit(
            "Where", [is_small, walk.constant(values[0].reshape(())), walk.constant(values[-1].reshape(()))]
        )

    @staticmethod
    def progression(array: Array, axis: int) -> Array | None:
        """The step of the arithmetic progressions of integers along an axis, as an array; None if there are none."""
        if array.dtype.kind not in "iu" or array.shape[axis] < 2:
            return None
        rows = array.astype(np.int64)
        step = np.take(rows, [1], axis) - np.take(rows, [0], axis)
        numbers = np.arange(array.shape[axis]).reshape([-1 if at == axis else 1 for at in range(array.ndim)])
        return step if np.array_equal(rows, np.take(rows, [0], axis) + numbers * step) else None

    def numbered(self, first: Array, step: Array, axis: int, dim: Dim) -> str:
        """`first + row * step`, rows being numbered along an axis."""
        walk = self.walk
        zero, one = walk.constant(np.array(0, np.int64)), walk.constant(np.array(1, np.int64))
        limit = walk.emit("Reshape", [walk.sizes.of_dim(dim), walk.constant(np.array([], np.int64))])
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
            from onnx import helper

            found = walk.emit("Cast", [found], to=helper.np_dtype_to_tensor_dtype(first.dtype))
        return found

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
        if node is None or node.domain not in ("", "ai.onnx") or len(node.output) != 1:
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
        copy.output[0] = walk.fresh_output(name)
        if walk.attempt(copy):
            return None
        walk.add_copy(copy)
        made = walk.environment.values[copy.output[0]]
        if not isinstance(made, SymbolicTensor) or made.shape is None or made.shape[axis] != dim_of(factors):
            return None
        return str(copy.output[0])

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
            if at >= 0 and held[at] != 1:
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
            if held is None or not all(isinstance(d, int) for d in (*held, *shape)):
                return None
            place = _same_place(held, shape, axis)
            if place is None or not follow(0, place):
                return None
            if op == "Reshape":
                made = walk.environment.values.get(inputs[0])
                kept = made.shape if isinstance(made, SymbolicTensor) else None
                dims = [dim_of(factors) if a == axis else d for a, d in enumerate(shape)]
                inputs[1] = walk.sizes.reshape_target(dims, kept or ())
            return inputs
        return None


def _same_place(shape: Sequence[Any], other: Sequence[Any], axis: int) -> int | None:
    """The axis of `shape` that holds the same elements as an axis of `other`, in the row-major order."""
    inner = int(np.prod(other[axis + 1 :]))
    for at in range(len(shape)):
        if int(np.prod(shape[at + 1 :])) == inner and shape[at] == other[axis]:
            return at
    return None
