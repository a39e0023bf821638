"""The parts of onnx's operator schemas that the interpreter uses, read once per operator and version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import onnx.defs
from onnx import AttributeProto
from onnx.defs import OpSchema, SchemaError

from gather_infer.tensor import DType

NEWEST_OPSET = onnx.defs.onnx_opset_version()

_ATTRIBUTE_NAMES = {number: name.lower() for name, number in AttributeProto.AttributeType.items()}
_TENSOR_TYPES = {f"tensor({str(d).replace('float32', 'float').replace('float64', 'double')})": d for d in DType}


def attribute_type_name(number: int) -> str:
    """Name of an AttributeProto.AttributeType: `int`, `ints`, `tensor`, ..."""
    return str(_ATTRIBUTE_NAMES.get(number, f"type {number}"))


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The signature of one operator version.

    attributes   name -> AttributeProto.AttributeType
    required     names of required attributes
    types        per formal input: its type variable, and the allowed element types of dense tensors
    letters      type variables whose inputs must all have the same type
    variadic     whether the last formal input repeats
    optional     per formal input: whether it may be omitted
    """

    op_type: str
    since: int
    raw: Any  # onnx.defs.OpSchema, whose stubs lack members used here
    attributes: dict[str, int]
    required: tuple[str, ...]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    types: tuple[tuple[str, frozenset[DType]], ...]
    letters: frozenset[str]
    variadic: bool
    optional: tuple[bool, ...]
    deprecated: bool

    def type_fault(self, dtypes: tuple[DType | None, ...]) -> str | None:
        """Message for an element type that an input must not have; None when all are allowed or unknown."""
        bound: dict[str, tuple[DType, int]] = {}
        for index, dtype in enumerate(dtypes):
            if dtype is None or (index >= len(self.types) and not self.variadic):
                continue
            formal = min(index, len(self.types) - 1)
            letter, allowed = self.types[formal]
            if allowed and dtype not in allowed:
                found = f"{dtype} for {self._name(formal)}"
                return f"{self.op_type}-{self.since} allows no {found}, allowed are {_names(allowed)}"
            if letter in self.letters:
                first, other = bound.setdefault(letter, (dtype, formal))
                if first is not dtype:
                    found = f"{self._name(formal)} is {dtype} and {self._name(other)} is {first}"
                    return f"{found}, they must have the same element type"
        return None

    def may_be_left_out(self, index: int) -> bool:
        """Whether the name of input `index` may be empty, so that the input is omitted."""
        return not self.optional or self.optional[min(index, len(self.optional) - 1)]

    def _name(self, formal: int) -> str:
        return str(self.raw.inputs[formal].name)


def _names(dtypes: frozenset[DType]) -> str:
    return ", ".join(str(d) for d in sorted(dtypes))


_BUILT_IN: dict[tuple[str, int, str], Schema] = {}


def schema_of(op_type: str, version: int, domain: str) -> Schema | None:
    """The schema in force at `version` of `domain`; None when onnx has no such operator."""
    key = (op_type, version, domain)
    known = _BUILT_IN.get(key)
    if known is not None:
        return known
    try:
        raw: Any = onnx.defs.get_schema(op_type, version, domain)
    except SchemaError:
        return None
    schema = _read(raw)
    if raw.file.endswith(".cc"):  # others were registered from Python and may be registered again
        _BUILT_IN[key] = schema
    return schema


def _read(raw: Any) -> Schema:
    # onnx's enumerations are not ints; AttributeProto's are
    types = {name: int(getattr(AttributeProto, a.type.name)) for name, a in raw.attributes.items()}
    return Schema(
        op_type=raw.name,
        since=raw.since_version,
        raw=raw,
        attributes=types,
        required=tuple(name for name, a in raw.attributes.items() if a.required),
        min_inputs=raw.min_input,
        max_inputs=raw.max_input,
        min_outputs=raw.min_output,
        max_outputs=raw.max_output,
        types=tuple(
            (p.type_str, frozenset(_TENSOR_TYPES[t] for t in p.types if t in _TENSOR_TYPES)) for p in raw.inputs
        ),
        letters=frozenset(c.type_param_str for c in raw.type_constraints)
        - {p.type_str for p in raw.inputs if not p.is_homogeneous},
        variadic=bool(raw.inputs) and raw.inputs[-1].option == OpSchema.FormalParameterOption.Variadic,
        optional=tuple(p.option == OpSchema.FormalParameterOption.Optional for p in raw.inputs),
        deprecated=raw.deprecated,
    )
