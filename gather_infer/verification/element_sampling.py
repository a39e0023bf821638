"""Element sampling: random elements for the inputs of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, numpy_helper

from gather_infer.inference import Inference
from gather_infer.model.external import is_external
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors
from gather_infer.symbolic import Dim, evaluate, free_symbols
from gather_infer.tensor import INTEGER_RANGE, DType, OptionalType, SequenceType, SymbolicTensor, Value
from gather_infer.validate import Elements, Verdict
from gather_infer.verification.size_sampling import MAX_ELEMENTS, conditions_of

Array = npt.NDArray[Any]

_TIES = (0.0, -0.0, -1.5, 0.75, 2.0, 2.0)
"""Few values, so that many elements are equal, often the largest ones."""

_ENDS: Final = {
    DType.FLOAT64: (5e-324, 2.0**-1022, 1.7e308),
    DType.FLOAT32: (2.0**-149, 2.0**-126, 3.4e38),
    DType.FLOAT16: (2.0**-24, 2.0**-14, 65504.0),
    DType.BFLOAT16: (2.0**-133, 2.0**-126, 3.3e38),
}
"""Float type -> its smallest positive number, its smallest normal number, and a number near its largest."""

_TEXTS = ("", "a", "b", "abc", "B", "0", "1.5", "-3", "ü")
_RANGES = ((-3, 9), (0, 3), (0, 1), (1, 1), (0, 0))
"""Ranges of unconstrained integers: the more draws have failed, the smaller."""


_MAX_ELEMENTS_READ: Final = 16
"""Maximum number of elements of a tensor that is read for integers to try as elements of inputs."""

_MAX_BOUNDARY_VALUES: Final = 12
"""Maximum number of boundary values for an input of a run."""

MIN_ENDS: Final = 4
WITH_ENDS: Final = 5
"""One run of eight uses the exact bounds of the value range, for tensors with at least `MIN_ENDS` elements."""
WITH_TAGS: Final = 3
"""In one run of eight no two elements of an integer input are equal, if its bounds allow: each misplaced one shows."""

_MAX_SIZE: Final = 256
"""Largest boundary value where elements of inputs may be sizes."""


class FloatPattern(Enum):
    """Pattern of float inputs."""

    FINITE = "finite"
    TIES = "few, 0.0 and -0.0 among them"
    TINY = "subnormal, and as large as the type has"
    SPECIAL = "NaN, Inf and -0.0 among them"
    GIVEN = "as in the file"


class NotDrawable(Exception):
    """No elements exist for an input at these sizes; the text is the reason."""


@dataclass(frozen=True, slots=True)
class ElementLimits:
    """Bounds of the elements of an integer input, or of a bool one as 0 and 1.

    column         the index along the last axis to which the bounds apply; None for all elements
    low, high      the smallest and the largest element; None for no bound
    is_ascending   whether the elements ascend along the last axis; for floats too
    """

    column: int | None
    low: Dim | None
    high: Dim | None
    is_ascending: bool = False


def limits_of(found: Iterable[Verdict]) -> dict[str, list[ElementLimits]]:
    """Input -> the limits that the verdicts in `found` require of its elements."""
    limits: dict[str, list[ElementLimits]] = {}
    for condition in conditions_of(found):
        if isinstance(condition.left, Elements):
            at = limits.setdefault(condition.left.input, [])
            low = condition.right if condition.relation == ">=" else None
            high = {"<": condition.right - 1, "<=": condition.right}.get(condition.relation)
            at.append(ElementLimits(condition.left.column, low, high))
    return limits


@dataclass(frozen=True, slots=True)
class BoundaryValues:
    """Integers at which the behaviour of a model may change.

    numbers           integers in its small tensors, and their neighbours
    with_type_limits  the minimum and the maximum of a type are tried too
    """

    numbers: tuple[int, ...] = ()
    with_type_limits: bool = False

    def within(self, low: int, high: int, numbers: np.random.Generator) -> list[int]:
        """At most `_MAX_BOUNDARY_VALUES` of the numbers that are in `[low, high]`, chosen by the generator `numbers`.

        `low` and `high` follow, several times, if type limits are tried.
        """
        found = [number for number in self.numbers if low <= number <= high]
        if len(found) > _MAX_BOUNDARY_VALUES:
            found = [found[at] for at in numbers.permutation(len(found))[:_MAX_BOUNDARY_VALUES]]
        return [*found, *(low, high) * (len(found) // 2 + 1)] if self.with_type_limits else found


def boundary_values_of(inference: Inference, model_numbers: Iterable[int]) -> BoundaryValues:
    """The boundary values of a model in which the integers `model_numbers` occur.

    If elements of inputs may determine a size or a trip count, only small values are included.
    """
    facts = [v for held in inference.scopes.values() for v in held.values() if isinstance(v, SymbolicTensor)]
    marks = {number + step for number in model_numbers for step in (-1, 0, 1)}
    loops = any(node.op_type in ("Loop", "Scan") for _, body in bodies(inference.model.proto) for node in body.node)
    if loops or any(inference.is_generated(dim) for fact in facts for dim in fact.shape or ()):
        return BoundaryValues(tuple(sorted(mark for mark in marks if abs(mark) <= _MAX_SIZE)))
    return BoundaryValues(tuple(sorted(marks)), with_type_limits=True)


def known_integers(inference: Inference) -> set[int]:
    """The integers in small tensors of a model, computed ones too."""
    facts = [v for held in inference.scopes.values() for v in held.values() if isinstance(v, SymbolicTensor)]
    known = [fact.values for fact in facts if fact.values is not None and fact.values.size <= _MAX_ELEMENTS_READ]
    return {number for values in known for number in values.flat if type(number) is int}


def literal_integers(proto: ModelProto) -> set[int]:
    """The integers in small constants and attributes of a model file."""
    found: set[int] = set()
    for tensor in iter_tensors(proto):
        if tensor.data_type in INTEGER_RANGE and prod(tensor.dims) <= _MAX_ELEMENTS_READ and not is_external(tensor):
            found.update(map(int, numpy_helper.to_array(tensor).flat))
    for _, body in bodies(proto):
        for node in body.node:
            for attribute in node.attribute:
                found.update([attribute.i] if attribute.HasField("i") else attribute.ints[:_MAX_ELEMENTS_READ])
    return found


NO_BOUNDARY_VALUES: Final = BoundaryValues()


def why_not_drawable(value: Value) -> str:
    """Why no elements can be drawn for an input of this type, whatever its size; empty if they can."""
    inner: Value | None = value
    if isinstance(inner, OptionalType):
        inner = inner.element
    if isinstance(inner, SequenceType):
        inner = inner.element
    if not isinstance(inner, SymbolicTensor):
        return f"no elements can be drawn for {value}"
    if inner.dtype is None:
        return "its element type is not known"
    return ""


@dataclass(frozen=True, slots=True)
class ElementDrawer:
    """Draws the inputs of one run.

    limits           input -> the limits of its elements
    binding          the sizes of the symbols
    pattern          the pattern of the float inputs
    tameness         position in `_RANGES`, above 0 after failed draws: integers are drawn from a smaller range
    turn             the number of the run; some rare choices are made in certain turns only
    boundary_values  integers that are tried besides random ones
    largest          largest absolute value of integers; None for the limits of the type
    """

    limits: Mapping[str, list[ElementLimits]]
    binding: Mapping[str, int]
    pattern: FloatPattern
    tameness: int
    turn: int
    numbers: np.random.Generator
    boundary_values: BoundaryValues = NO_BOUNDARY_VALUES
    largest: int | None = None

    def feeds(self, inference: Inference, names: Iterable[str]) -> dict[str, Any]:
        """Elements for the inputs in `names`. Raises NotDrawable when no elements exist for an input."""
        return {name: self.value(name, inference[name]) for name in names}

    def feeds_with_masks(self, inference: Inference, names: Iterable[str]) -> dict[str, Any]:
        """The same; integers without limits are 0 or 1, as in masks."""
        feeds = self.feeds(inference, names)
        for name, value in feeds.items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and not self.limits.get(name):
                feeds[name] = self.numbers.integers(0, 2, value.shape).astype(value.dtype)
        return feeds

    def value(self, name: str, value: Value) -> Any:
        if isinstance(value, OptionalType):
            is_there = self.turn % 3 != 1 or self.tameness > 0
            return self.value(name, value.element) if is_there and value.element is not None else None
        if isinstance(value, SequenceType):
            length = value.length if isinstance(value.length, int) else int(self.numbers.integers(0, 4))
            assert value.element is not None, "why_not_drawable excludes this"
            return [self.value(name, value.element) for _ in range(length)]
        assert isinstance(value, SymbolicTensor), "why_not_drawable excludes this"
        assert value.dtype is not None, "why_not_drawable excludes this"
        dims = value.shape
        if dims is None:
            dims = tuple(int(n) for n in self.numbers.integers(1, 5, self.numbers.integers(0, 4)))
        shape = tuple(self._size(dim) for dim in dims)
        if prod(shape) > MAX_ELEMENTS and shape != dims:
            raise NotDrawable(f"input {name} has {prod(shape)} elements, {MAX_ELEMENTS} at most are drawn")
        if not value.dtype.has_dtype:
            raise NotDrawable(f"elements of input {name}, {value.dtype}, need the package ml_dtypes")
        drawn = np.asarray(self.tensor(name, value.dtype, shape))
        is_ascending = any(limit.is_ascending for limit in self.limits.get(name, ()))
        return np.sort(drawn) if is_ascending and drawn.ndim else drawn

    def _size(self, dim: Dim) -> int:
        if free_symbols(dim) <= self.binding.keys():
            return evaluate(dim, self.binding)
        return int(self.numbers.integers(1, 5))  # a dim of a sequence member

    def tensor(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Array:
        if dtype in INTEGER_RANGE:
            return self._integers(name, dtype, shape).astype(dtype.dtype)
        if dtype is DType.BOOL:
            drawn: Array = np.asarray(self.numbers.random(shape) < 0.5)
            if drawn.size:
                drawn.flat[0] = self.turn % 2 == 0
            return drawn | any(limit.low == 1 for limit in self.limits.get(name, ()))
        if dtype is DType.STRING:
            return np.array(self.numbers.choice(_TEXTS, shape), dtype=object).reshape(shape)
        with np.errstate(all="ignore"):
            kind = dtype.dtype
            if dtype in (DType.COMPLEX64, DType.COMPLEX128):
                return np.asarray(self._floats(shape, dtype) + 1j * self._floats(shape, dtype)).astype(kind)
            return self._floats(shape, dtype).astype(kind)

    def _floats(self, shape: tuple[int, ...], dtype: DType) -> Array:
        drawn = np.asarray(self.numbers.standard_normal(shape) * 2)
        if self.pattern is FloatPattern.FINITE:
            return drawn
        if self.pattern is FloatPattern.TIES:
            return np.asarray(self.numbers.choice(_TIES, shape))
        pool = (np.nan, -0.0, np.inf, -np.inf)
        if self.pattern is FloatPattern.TINY:
            least, smallest, largest = _ENDS.get(dtype, _ENDS[DType.FLOAT32])
            pool = (least, -3 * least, smallest / 2, largest)
        count = max(min(drawn.size, len(pool)), drawn.size // 4)
        places = self.numbers.permutation(drawn.size)[:count]
        drawn.flat[places] = np.resize(self.numbers.permutation(pool), count)  # each value occurs, where there is room
        return drawn

    def _integers(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Array:
        limits = self.limits.get(name, [])
        if all(limit.column is None for limit in limits) or not shape:
            return self._between(name, dtype, shape, [limit for limit in limits if limit.column is None])
        columns = [
            self._between(name, dtype, shape[:-1], [m for m in limits if m.column in (None, k, k - shape[-1])])
            for k in range(shape[-1])
        ]
        return np.stack(columns, -1) if columns else np.zeros(shape, np.int64)

    def _between(self, name: str, dtype: DType, shape: tuple[int, ...], limits: Iterable[ElementLimits]) -> Array:
        least, most = INTEGER_RANGE[dtype]
        if self.largest is not None:
            least, most = max(least, -self.largest), min(most, self.largest)
        lows = [evaluate(m.low, self.binding) for m in limits if m.low is not None and self._is_bound(m.low)]
        highs = [evaluate(m.high, self.binding) for m in limits if m.high is not None and self._is_bound(m.high)]
        tame_low, tame_high = _RANGES[min(self.tameness, len(_RANGES) - 1)]
        if not lows and not highs and most < 256 and not self.tameness:
            tame_low, tame_high = least, most
        low = max(least, *lows) if lows else min(tame_low, *highs) if highs else tame_low
        high = min(most, *highs) if highs else max(tame_high, *lows) if lows else tame_high
        low, high = max(low, least), min(high, most)
        if low > high and 0 not in shape:
            raise NotDrawable(f"no element of input {name} is in bounds")
        if low > high:
            return np.zeros(shape, np.int64)
        # the bounds, and -1 as the last position, more often than by chance
        edges = [edge for edge in (low, high, 0, -1) if low <= edge <= high]
        ends = max([least, *lows]), min([most, *highs])
        count = prod(shape)
        first = min(max(ends[0], 0), ends[1] - count + 1)
        is_tagged = self.turn % 8 == WITH_TAGS and self.boundary_values.with_type_limits
        if is_tagged and count > 1 and first >= ends[0]:
            kind = np.uint64 if first >= 0 else np.int64
            return np.asarray(self.numbers.permutation(count).astype(kind) + kind(first)).reshape(shape)
        edges += self.boundary_values.within(*ends, self.numbers)
        kind = np.uint64 if min(low, *edges) >= 0 else np.int64
        drawn = np.asarray(self.numbers.integers(low, high, shape, kind, endpoint=True))
        picked = self.numbers.choice(np.array(edges, kind), shape)
        found = np.where(self.numbers.random(shape) < 0.5, picked, drawn)
        if self.boundary_values.with_type_limits and self.turn % 8 == WITH_ENDS and found.size >= MIN_ENDS:
            found.flat[self.numbers.permutation(found.size)[:2]] = ends
        return found

    def _is_bound(self, dim: Dim) -> bool:
        return free_symbols(dim) <= self.binding.keys()
