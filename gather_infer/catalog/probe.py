"""Probe rules with small inputs: do they propagate known elements, and value ranges?

One result with known elements, or with a value range, is enough for a yes. The calls combine a few small tensors, up to
a limit. A rule that rejects every call counts as propagating nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Final

from onnx import AttributeProto

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.proto.schema import Schema
from gather_infer.rules import OpCall, Rule
from gather_infer.symbolic import DimTooLarge, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, SequenceType, SymbolicTensor, Value, ValueRange, make_values

MAX_CALLS: Final = 81
"""Maximum number of calls for each choice of element types and attributes."""

N: Final = symbol("N")

SHAPES: Final[tuple[tuple[object, tuple[int, ...]], ...]] = (
    # elements, shape
    (1, ()),
    ([1, 2], (2,)),
    ([0], (1,)),
    ([1, 2], (2, 1)),
    ([0, 0, 0, 1], (4,)),
)

PREFERRED: Final = (DType.INT64, DType.FLOAT32, DType.BOOL, DType.INT32, DType.UINT8)

REQUIRED: Final[Mapping[str, object]] = {
    # required attribute: a legal value. For any other attribute the result of `_value` is legal: 1, 1.0, (1,) or ""
    "axis": 0,
    "to": int(DType.INT64),
    "equation": "i->i",
    "blocksize": 1,
}

UNFIT: Final = frozenset({"GI106", "GI107", "GI211"})
"""Codes of errors about attributes, arity or element types.

Other shapes cannot avoid such an error, so the probe abandons the group of calls.
"""

ATTRIBUTES: Final[Mapping[str, Mapping[str, object]]] = {
    # operators that need an attribute which their schema does not require
    "Constant": {"value_ints": (1, 2)},
}


def propagates(rule: Rule, op_type: str, domain: str, version: int, schema: Schema | None) -> tuple[bool, bool]:
    """Whether a rule propagates known elements, and whether it propagates value ranges."""
    values = ranges = False
    for group in groups(op_type, domain, schema):
        for inputs in group.inputs:
            if values and ranges:
                return values, ranges
            used = (True,) * group.outputs
            call = OpCall(op_type, list(inputs), group.attributes, used, version, domain, Context())
            try:
                results = rule(call)
            except SpecViolation as violation:
                if violation.code in UNFIT:
                    break
                continue
            except DimTooLarge:
                continue
            for result in results:
                if isinstance(result, SymbolicTensor):
                    values = values or _has_elements(result)
                    ranges = ranges or _has_bounds(result)
    return values, ranges


@dataclass(frozen=True, slots=True)
class Group:
    """Calls that differ only in the shapes and elements of their inputs.

    inputs   for each call, its list of inputs
    outputs  number of outputs of each call
    """

    inputs: Iterable[Sequence[Value]]
    attributes: Mapping[str, object]
    outputs: int


def _has_elements(result: SymbolicTensor) -> bool:
    return result.values is not None and any(element is not None for element in result.values.flat)


def _has_bounds(result: SymbolicTensor) -> bool:
    """Whether a result has a value range that is narrower than the range of its element type."""
    span = result.value_range
    if span is None or result.dtype is None:
        return False
    anyway = INTEGER_RANGE.get(result.dtype, (None, None))
    return (span.lo is not None and span.lo != anyway[0]) or (span.hi is not None and span.hi != anyway[1])


def groups(op_type: str, domain: str, schema: Schema | None) -> Iterator[Group]:
    """Yield groups of calls with arities, attributes and element types that `schema` allows; guesses if it is None."""
    for attributes in _attributes(op_type, schema):
        for count, outputs in _arities(schema):
            for dtypes in _dtypes(schema, count):
                choices = [[*_known(dtype), *_bounded(dtype)] for dtype in dtypes]
                yield Group(islice(_combinations(choices), MAX_CALLS), attributes, outputs)
    if not domain and op_type in INPUTS:
        base = {"axis": 0} if schema is not None and "axis" in schema.required else {}
        yield Group([INPUTS[op_type]], base, 1)


def _int64(elements: list[int]) -> SymbolicTensor:
    return SymbolicTensor(DType.INT64, (len(elements),), make_values(elements))


_TWO = SequenceType(_int64([1]), 2)
INPUTS: Final[Mapping[str, Sequence[Value]]] = {
    # operators of ai.onnx whose inputs depend on each other, or are not tensors
    "Slice": (_int64([1, 2]), _int64([0]), _int64([1])),
    "SequenceLength": (_TWO,),
    "SequenceAt": (_TWO, SymbolicTensor(DType.INT64, (), make_values(0))),
    "ConcatFromSequence": (_TWO,),
}


def _combinations(choices: list[list[SymbolicTensor]]) -> Iterator[tuple[SymbolicTensor, ...]]:
    """Yield combinations of one choice per input, likely ones first, some of them twice.

    At first, all inputs after the first take their choice at one common position. Then follows the product of all
    choices.
    """
    if len(choices) <= 2:
        yield from product(*choices)
        return
    sizes = range(min(map(len, choices)))
    for first, rest in product(sizes, sizes):
        yield choices[0][first], *(choice[rest] for choice in choices[1:])
    yield from product(*choices)


def _known(dtype: DType) -> list[SymbolicTensor]:
    def typed(element: Any) -> object:
        return bool(element) if dtype is DType.BOOL else float(element) if dtype.is_float else element

    found = []
    for elements, shape in SHAPES:
        flat = elements if isinstance(elements, list) else [elements]
        if dtype.is_integer or dtype.is_float or dtype is DType.BOOL:
            found.append(SymbolicTensor(dtype, shape, make_values([typed(e) for e in flat], shape)))
        else:
            found.append(SymbolicTensor(dtype, shape))
    return found


def _bounded(dtype: DType) -> list[SymbolicTensor]:
    """Tensors of several shapes with unknown elements; integer tensors have a value range."""
    span = ValueRange(0, 1) if dtype.is_integer else None
    return [SymbolicTensor(dtype, shape, value_range=span) for shape in ((), (N,), (N, 3), (1, 3, 8, 8))]


def _attributes(op_type: str, schema: Schema | None) -> Iterator[Mapping[str, object]]:
    if schema is None:
        yield from ({}, {"axis": 0}, dict(REQUIRED))
        return
    base: dict[str, object] = dict(ATTRIBUTES.get(op_type, {}))
    for name in schema.required:
        base[name] = REQUIRED.get(name, _value(schema.attributes[name]))
    yield base
    if "axes" in schema.attributes and "axes" not in base:
        yield {**base, "axes": (0,)}
    if "kernel_shape" in schema.attributes:
        yield {**base, "kernel_shape": (2, 2)}


def _value(kind: int) -> object:
    simple: dict[int, object] = {
        AttributeProto.INT: 1,
        AttributeProto.FLOAT: 1.0,
        AttributeProto.STRING: "",
        AttributeProto.INTS: (1,),
        AttributeProto.FLOATS: (1.0,),
        AttributeProto.STRINGS: ("",),
        AttributeProto.TENSOR: SymbolicTensor(DType.INT64, (1,), make_values([1])),
    }
    return simple.get(kind, 1)


def _arities(schema: Schema | None) -> Iterator[tuple[int, int]]:
    """Yield pairs of a number of inputs and a number of outputs to probe."""
    if schema is None:
        yield from ((1, 1), (2, 1), (3, 1))
        return
    outputs = max(1, schema.min_outputs, schema.max_outputs if schema.max_outputs <= 4 else 0)
    yield schema.min_inputs, outputs
    if schema.min_inputs < schema.max_inputs:
        yield schema.min_inputs + 1, outputs


def _dtypes(schema: Schema | None, count: int) -> Iterator[list[DType]]:
    """Yield lists of element types, one for each of `count` inputs.

    Each list uses one preferred type wherever the schema allows it, and other allowed types elsewhere.
    """
    if schema is None or not schema.types:
        yield from ([dtype] * count for dtype in PREFERRED[:2])
        if count > 1:
            yield [DType.FLOAT32, *[DType.INT64] * (count - 1)]
        return
    seen: set[tuple[DType, ...]] = set()
    for preferred in PREFERRED[:3]:
        order = (preferred, *PREFERRED)
        formals = [schema.types[min(i, len(schema.types) - 1)][1] for i in range(count)]
        chosen = tuple(next((d for d in order if d in allowed), DType.STRING) for allowed in formals)
        if chosen not in seen:
            seen.add(chosen)
            yield list(chosen)
