"""Random legal calls of the gather family: concrete arrays, then facts about them with dims made symbols."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gather_infer.diagnostic import Severity
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols, symbol
from gather_infer.tensor import MAX_VALUES, DType, SymbolicTensor, ValueRange, make_values

DTYPES = {
    "float32": DType.FLOAT32, "float64": DType.FLOAT64, "float16": DType.FLOAT16, "bool": DType.BOOL,
    "int8": DType.INT8, "int16": DType.INT16, "int32": DType.INT32, "int64": DType.INT64,
    "uint8": DType.UINT8, "uint16": DType.UINT16, "uint32": DType.UINT32, "uint64": DType.UINT64,
    "object": DType.STRING,
}  # fmt: skip


@dataclass
class Case:
    """One call. `dtypes` overrides what the numpy type of an input says (int4 data travel as int8)."""

    operator: str
    version: int
    attributes: dict[str, int]
    arrays: list[np.ndarray[Any, Any]]
    domain: str = ""
    dtypes: dict[int, DType] = field(default_factory=dict)


def dims(rng: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.choice((0, 1, 1, 2, 2, 3, 4, 5)) for _ in range(rank))


def array(rng: random.Random, shape: tuple[int, ...], dtype: str = "") -> np.ndarray[Any, Any]:
    """Distinct small numbers, mostly int64 so that values and spans are compared as well."""
    dtype = dtype or rng.choice(("int64", "int64", "int64", "int32", "float32", "bool", "uint8"))
    numbers = np.random.default_rng(rng.randrange(2**32)).permutation(int(np.prod(shape))).reshape(shape)
    if dtype == "object":
        return numbers.astype(str).astype(object)
    return (numbers % 100 - (0 if dtype.startswith("u") else 20)).astype(dtype) if dtype != "bool" else numbers % 2 == 0


def indices(
    rng: random.Random, shape: tuple[int, ...], sizes: tuple[int, ...], *, negative: bool, dtype: str
) -> np.ndarray[Any, Any]:
    """Legal indices; `sizes` are the lengths of the axes that the last dim of a tuple addresses, or of one axis."""
    low = [-s if negative else 0 for s in sizes]
    numbers = np.random.default_rng(rng.randrange(2**32))
    if len(sizes) == 1:
        return numbers.integers(low[0], max(sizes[0], low[0] + 1), size=shape).astype(dtype)
    return numbers.integers(low, [max(s, bottom + 1) for s, bottom in zip(sizes, low, strict=True)], size=shape).astype(
        dtype
    )


def with_zero(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """`shape` with one dim 0; None for a scalar."""
    if not shape or 0 in shape:
        return shape or None
    at = rng.randrange(len(shape))
    return (*shape[:at], 0, *shape[at + 1 :])


def gather(rng: random.Random, version: int, *, domain: str = "", dtype: str = "") -> Case | None:
    shape = dims(rng, rng.randint(1, 4))
    axis = rng.randrange(-len(shape), len(shape))
    size = shape[axis]
    index_shape: tuple[int, ...] | None = dims(rng, rng.randint(0, 3))
    if size == 0 and index_shape is not None:
        index_shape = with_zero(rng, index_shape)
    if index_shape is None:
        return None
    at = indices(rng, index_shape, (size,), negative=version >= 11, dtype=rng.choice(("int32", "int64")))
    attributes = {"axis": axis} if axis or rng.random() < 0.5 else {}
    return Case("Gather", version, attributes, [array(rng, shape, dtype), at], domain)


def gather_elements(rng: random.Random, version: int, *, same_dims: bool = False, negative: bool = True) -> Case | None:
    shape = dims(rng, rng.randint(1, 4))
    axis = rng.randrange(-len(shape), len(shape))
    size = shape[axis]
    index_shape = tuple(d if same_dims else rng.randint(min(d, 1), d) for d in shape)
    length = rng.randint(0, 5) if size or 0 in np.delete(shape, axis) else 0
    at_axis = axis % len(shape)
    index_shape = (*index_shape[:at_axis], length, *index_shape[at_axis + 1 :])
    at = indices(rng, index_shape, (size,), negative=negative, dtype=rng.choice(("int32", "int64")))
    return Case("GatherElements", version, {"axis": axis}, [array(rng, shape), at])


def gather_nd(
    rng: random.Random, version: int, *, batch: bool = True, domain: str = "", negative: bool = True, zero: bool = True
) -> Case | None:
    shape = dims(rng, rng.randint(1, 4))
    q = rng.randint(1, 4)
    b = rng.randint(0, min(q, len(shape)) - 1) if batch else 0
    k = rng.randint(1, len(shape) - b)
    sizes = shape[b : b + k]
    lead: tuple[int, ...] | None = dims(rng, q - 1 - b)
    if 0 in sizes and 0 not in shape[:b] and lead is not None:
        lead = with_zero(rng, lead)
    if lead is None or (not zero and (0 in shape or 0 in lead)):
        return None
    dtype = rng.choice(("int32", "int64")) if domain else "int64"
    at = indices(rng, (*shape[:b], *lead, k), sizes, negative=negative, dtype=dtype)
    attributes = {"batch_dims": b} if batch else {}
    return Case("GatherND", version, attributes, [array(rng, shape), at], domain)


def features(rng: random.Random) -> Case | None:
    shape = (*dims(rng, rng.randint(0, 3)), rng.randint(1, 5))
    index_shape = tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2)))
    at = indices(rng, index_shape, shape[-1:], negative=False, dtype="int64")
    data = array(rng, shape, rng.choice(("int64", "int64", "int32", "float32", "float64", "object")))
    return Case("ArrayFeatureExtractor", 1, {}, [data, at], "ai.onnx.ml")


def block_quantized(rng: random.Random) -> Case | None:
    dtype = rng.choice((DType.UINT8, DType.UINT8, DType.INT4, DType.UINT4))
    shape = tuple(rng.choice((1, 2, 3, 16, 20)) for _ in range(rng.randint(2, 3)))
    bits = rng.choice((2, 4, 8)) if dtype is DType.UINT8 else 4
    rank = len(shape)
    gather_axis = 0 if dtype is DType.UINT8 else rng.randrange(rank)
    quantize_axis = rank - 1 if dtype is DType.UINT8 else rng.randrange(rank)
    block = rng.choice((16, 32, 64))
    components = 8 // bits if dtype is DType.UINT8 else 1
    unpacked = (*shape[:-1], shape[-1] * components)
    scale_shape = tuple(-(-d // block) if j == quantize_axis else d for j, d in enumerate(unpacked))
    at = indices(rng, dims(rng, rng.randint(0, 2)), shape[gather_axis : gather_axis + 1], negative=True, dtype="int64")
    numbers = np.random.default_rng(rng.randrange(2**32))
    data = numbers.integers(0, 8, size=shape).astype("uint8" if dtype is not DType.INT4 else "int8")
    arrays = [data, at, np.ones(scale_shape, rng.choice(("float32", "float16")))]
    dtypes = {0: dtype}
    if rng.random() < 0.5:
        packed = tuple(-(-d // components) if j == quantize_axis else d for j, d in enumerate(scale_shape))
        arrays.append(np.zeros(packed, data.dtype))
        dtypes[3] = dtype
    attributes = {
        "gather_axis": gather_axis - (rank if rng.random() < 0.3 else 0),
        "quantize_axis": quantize_axis - (rank if rng.random() < 0.3 else 0),
        "block_size": block,
        "bits": bits,
    }
    return Case("GatherBlockQuantized", 1, attributes, arrays, "com.microsoft", dtypes)


def openvino_gather(rng: random.Random) -> Case | None:
    version = rng.choice((1, 7, 8, 8))
    shape = dims(rng, rng.randint(1, 4))
    axis = rng.randrange(len(shape))
    b = rng.randint(0, axis) if version >= 7 else 0
    rest: tuple[int, ...] | None = dims(rng, rng.randint(0, 2))
    if shape[axis] == 0 and 0 not in shape[:b] and rest is not None:
        rest = with_zero(rng, rest)
    if rest is None:
        return None
    index_shape = (*shape[:b], *rest)
    at = indices(rng, index_shape, (shape[axis],), negative=version == 8, dtype=rng.choice(("int32", "int64")))
    if version == 8 and at.size and len(shape) > 1 and rng.random() < 0.2:
        at.reshape(-1)[rng.randrange(at.size)] = shape[axis] + 3  # zeros
    attributes = {}
    if version >= 7:
        attributes["batch_dims"] = b - len(index_shape) if rng.random() < 0.4 and b < len(index_shape) else b
    if version == 8 and rng.random() < 0.3:
        attributes["run_time_axis"] = 1
    given = np.array(axis - (len(shape) if rng.random() < 0.4 else 0))
    data = array(rng, shape, rng.choice(("int64", "int64", "int32", "float32")))
    return Case(
        "Gather", version, attributes, [data, at, given if rng.random() < 0.7 else given.reshape(1)], "openvino"
    )


def openvino_elements(rng: random.Random) -> Case | None:
    case = gather_elements(rng, 6, same_dims=True, negative=False)
    if case is not None:
        case.domain = "openvino"
        case.arrays[0] = array(rng, case.arrays[0].shape, rng.choice(("int32", "int32", "float32")))
    return case


def openvino_nd(rng: random.Random) -> Case | None:
    version = rng.choice((5, 8))
    case = gather_nd(rng, version, negative=version == 8)
    if case is not None:
        case.domain = "openvino"
        case.arrays[0] = array(rng, case.arrays[0].shape, rng.choice(("int32", "int32", "float32")))
        case.arrays[1] = case.arrays[1].astype("int32")
    return case


def openvino_tree(rng: random.Random) -> Case | None:
    shape = tuple(rng.randint(1, 4) for _ in range(3))
    numbers = np.random.default_rng(rng.randrange(2**32))
    arrays = [
        numbers.integers(0, 9, size=shape),
        numbers.integers(0, shape[2], size=shape),
        numbers.integers(1, shape[0] + 1, size=shape[1]),
        numbers.integers(0, 9, size=()),
    ]
    dtype = rng.choice(("int32", "float32"))
    return Case("GatherTree", 1, {}, [np.asarray(a).astype(dtype) for a in arrays], "openvino")


Generator = Callable[[random.Random], "Case | None"]


def generate(make: Generator, count: int, seed: int) -> list[Case]:
    """`count` cases; always the same ones."""
    rng = random.Random(seed)
    found: list[Case] = []
    while len(found) < count:
        case = make(rng)
        if case is not None:
            found.append(case)
    return found


@dataclass
class Abstraction:
    """Facts about the inputs of a case, and the numbers that their symbols stand for."""

    inputs: list[SymbolicTensor]
    binding: dict[str, int]
    ranked: bool


def abstract(case: Case, rng: random.Random) -> Abstraction:
    binding: dict[str, int] = {}
    inputs: list[SymbolicTensor] = []
    share = rng.random() < 0.5  # one symbol for all dims of a length

    def dim(length: int, name: str) -> Dim:
        if rng.random() < 0.5:
            return length
        name = f"d{length}" if share else name
        binding[name] = length
        return symbol(name)

    ranked = True
    for number, given in enumerate(case.arrays):
        dtype = case.dtypes.get(number, DTYPES[str(given.dtype)])
        is_axis = case.domain == "openvino" and case.operator == "Gather" and number == 2
        how = rng.random()
        if is_axis:
            run_time = bool(case.attributes.get("run_time_axis", 0))
            values = None if run_time else make_values(given.tolist()).reshape(given.shape)
            inputs.append(SymbolicTensor(dtype, given.shape, values))
        elif how < 0.4 and dtype in (DType.INT64, DType.INT32, DType.BOOL, DType.UINT8) and not case.dtypes:
            values = make_values(given.reshape(-1).tolist(), given.shape)
            span = None
            if rng.random() < 0.3 and values.size:
                hidden = np.random.default_rng(rng.randrange(2**32)).random(values.shape) < 0.3
                values[hidden] = None
                if dtype is not DType.BOOL:
                    span = ValueRange(int(given.min()), int(given.max()))
            inputs.append(SymbolicTensor(dtype, given.shape, values, span))
        elif how > 0.96:
            ranked = False
            inputs.append(SymbolicTensor(dtype))
        else:
            shape = tuple(dim(length, f"x{number}_{j}") for j, length in enumerate(given.shape))
            span = None
            if dtype is DType.INT64 and given.size and rng.random() < 0.5:
                span = ValueRange(int(given.min()), int(given.max()))
            inputs.append(SymbolicTensor(dtype, shape, None, span))
    return Abstraction(inputs, binding, ranked)


def infer(case: Case, known: Abstraction, rules: RuleSet) -> tuple[SymbolicTensor, OpCall]:
    attributes = {name: value for name, value in case.attributes.items() if name != "run_time_axis"}
    op = OpCall(case.operator, known.inputs, attributes, version=case.version, domain=case.domain)
    rule = rules.find(case.operator, case.version)
    assert rule is not None, case.operator
    (out,) = rule(op)
    assert isinstance(out, SymbolicTensor)
    return out, op


def check(case: Case, known: Abstraction, rules: RuleSet, truth: np.ndarray[Any, Any]) -> str:
    """Errors of the inferred fact, given the true result; empty when it is right and precise."""
    out, op = infer(case, known, rules)
    expected = DTYPES[str(truth.dtype)]
    if out.dtype is not expected:
        return f"dtype {out.dtype}, is {expected}"
    errors = [f for f in op.context.findings if f[3] is not Severity.WARNING]
    if errors:
        return f"reports {errors}"
    for name, value in known.binding.items():
        bounds = op.scope.bounds(symbol(name))
        if (bounds.lo is not None and value < bounds.lo) or (bounds.hi is not None and value > bounds.hi):
            return f"implies {name} in {bounds}, is {value}"
    for constraint in op.context.constraints:
        if not free_symbols(constraint.left) | free_symbols(constraint.right) <= known.binding.keys():
            continue
        left, right = (evaluate(d, known.binding) for d in (constraint.left, constraint.right))
        if not (left == right if constraint.relation == "==" else left <= right):
            return f"constraint {constraint} does not hold"
    if out.shape is None:
        return "" if not known.ranked or _tuples_unknown(case, known) else "the rank is not inferred"
    if len(out.shape) != truth.ndim:
        return f"shape {out.shape}, is {truth.shape}"
    guessed = False
    for dim, length in zip(out.shape, truth.shape, strict=True):
        if not free_symbols(dim) <= known.binding.keys():
            guessed = True
        elif evaluate(dim, known.binding) != length:
            return f"shape {out.shape}, is {truth.shape} at {known.binding}"
    if guessed and known.ranked and not case.attributes.get("run_time_axis"):
        return f"shape {out.shape} has unknown dims"
    return _check_elements(case, known, out, truth)


def _tuples_unknown(case: Case, known: Abstraction) -> bool:
    shape = known.inputs[1].shape
    return case.operator == "GatherND" and shape is not None and isinstance(shape[-1], Expr)


def _check_elements(case: Case, known: Abstraction, out: SymbolicTensor, truth: np.ndarray[Any, Any]) -> str:
    if out.values is not None:
        if out.values.shape != truth.shape:
            return f"values have shape {out.values.shape}"
        for found, true in zip(out.values.flat, truth.reshape(-1).tolist(), strict=True):
            if found is not None and (found != true or type(found) is not type(true)):
                return f"values {out.values.tolist()}, are {truth.tolist()}"
    complete = all(t.values is not None and all(e is not None for e in t.values.flat) for t in known.inputs)
    propagates = case.operator not in ("GatherTree", "GatherBlockQuantized")
    if (
        complete
        and propagates
        and truth.size <= MAX_VALUES
        and (out.values is None or any(e is None for e in out.values.flat))
    ):
        return "values are not propagated"
    span = out.value_range
    if span is not None and truth.size:
        lo, hi = (None if end is None else evaluate(end, known.binding) for end in (span.lo, span.hi))
        if (lo is not None and truth.min() < lo) or (hi is not None and truth.max() > hi):
            return f"span [{lo}, {hi}], elements are in [{truth.min()}, {truth.max()}]"
    data = known.inputs[0]
    if truth.size and truth.dtype == np.int64 and out.values is None and span is None:
        full = data.values is not None and all(e is not None for e in data.values.flat)
        if data.value_range is not None or full:
            return "no span is inferred"
    return ""
