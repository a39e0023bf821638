"""The parts of onnx's operator schemas that the interpreter uses, read once per operator and version.

The schemas of an onnx that is older than the newest known release are completed from the table `newer_schemas.json`,
which `tools/make_schemas.py` writes from that release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

import onnx.defs
from onnx import AttributeProto
from onnx.defs import SchemaError

from gather_infer.inference.proto.releases import INSTALLED_OPSET, NEWEST_OPSET
from gather_infer.tensor import DType

TABLE: Final = "newer_schemas.json"

_ATTRIBUTE_NAMES = {number: name.lower() for name, number in AttributeProto.AttributeType.items()}
_BY_NAME = {str(d): d for d in DType}
_TENSOR_TYPES = {f"tensor({d.onnx_name})": d for d in DType}


def attribute_type_name(number: int) -> str:
    """Name of an AttributeProto.AttributeType: `int`, `ints`, `tensor`, ..."""
    return str(_ATTRIBUTE_NAMES.get(number, f"type {number}"))


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The signature of one operator version.

    raw           onnx's schema; None if the installed onnx does not know this version of the operator
    attributes    name -> AttributeProto.AttributeType
    required      names of required attributes
    inputs        names of the formal inputs
    types         per formal input: its type variable, and the allowed element types of dense tensors
    output_types  per formal output: the allowed element types of dense tensors
    letters       type variables whose inputs must all have the same type
    variadic      whether the last formal input repeats
    optional      per formal input: whether it may be omitted
    """

    op_type: str
    domain: str
    since: int
    raw: Any  # onnx.defs.OpSchema, whose stubs lack members used here
    attributes: dict[str, int]
    required: tuple[str, ...]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    inputs: tuple[str, ...]
    types: tuple[tuple[str, frozenset[DType]], ...]
    output_types: tuple[frozenset[DType], ...]
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
        return self.inputs[formal]


def _names(dtypes: frozenset[DType]) -> str:
    return ", ".join(str(d) for d in sorted(dtypes))


_BUILT_IN: dict[tuple[str, int, str], Schema] = {}


def schema_of(op_type: str, version: int, domain: str) -> Schema | None:
    """The schema in force at `version` of `domain`; None when there is no such operator."""
    key = (op_type, version, domain)
    known = _BUILT_IN.get(key)
    if known is not None:
        return known
    try:
        raw: Any = onnx.defs.get_schema(op_type, version, domain)
    except SchemaError:
        raw = None
    if raw is not None and not raw.file.endswith(".cc"):  # registered from Python, and may be registered again
        return _schema(entry_of(raw), raw)
    installed = 0 if raw is None else raw.since_version
    newer = [entry for entry in _newer().get((domain, op_type), ()) if installed <= entry["since"] <= version]
    if raw is None and not newer:
        return None
    entry = max(newer, key=_since) if newer else entry_of(raw)
    schema = _BUILT_IN[key] = _schema(entry, raw if entry["since"] == installed else None)
    return schema


def versions_of_operators() -> Mapping[tuple[str, str], frozenset[int]]:
    """(domain, operator) -> the opset versions that introduced a version of it, of all operators with a schema."""
    found: dict[tuple[str, str], set[int]] = {}
    for raw in onnx.defs.get_all_schemas_with_history():
        found.setdefault((raw.domain, raw.name), set()).add(raw.since_version)
    for name, entries in _newer().items():
        found.setdefault(name, set()).update(map(_since, entries))
    return {name: frozenset(versions) for name, versions in found.items()}


@cache
def newer_domains() -> frozenset[str]:
    """The domains of the table of which the installed onnx knows no operator."""
    known = {raw.domain for raw in onnx.defs.get_all_schemas()}
    return frozenset(domain for domain, _ in _newer() if domain not in known)


def has_operator(op_type: str, domain: str) -> bool:
    """Whether any opset of `domain` has an operator `op_type`."""
    return bool(onnx.defs.has(op_type, domain)) or (domain, op_type) in _newer()


def _since(entry: Mapping[str, Any]) -> int:
    return int(entry["since"])


@cache
def _newer() -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """(domain, operator) -> its entries of the table; none if onnx is as new as the table."""
    return {} if INSTALLED_OPSET >= NEWEST_OPSET else read_table()


def read_table() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(domain, operator) -> its entries in the table of newer schemas, each in the form that `entry_of` returns."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    table = json.loads(text)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in table["schemas"]:
        for formal in (*entry["inputs"], *entry["outputs"]):
            formal["types"] = table["types"][formal["types"]]
        found.setdefault((entry["domain"], entry["op_type"]), []).append(entry)
    return found


def entry_of(raw: Any) -> dict[str, Any]:
    """The contents of a schema of onnx (an OpSchema), as in the table of newer schemas."""
    attributes, inputs = raw.attributes, raw.inputs  # each access copies them
    return {
        "domain": raw.domain,
        "op_type": raw.name,
        "since": raw.since_version,
        "deprecated": raw.deprecated,
        "attributes": {name: a.type.name for name, a in sorted(attributes.items())},
        "required": sorted(name for name, a in attributes.items() if a.required),
        "counts": [raw.min_input, raw.max_input, raw.min_output, raw.max_output],
        "inputs": [_formal(p) for p in inputs],
        "outputs": [_formal(p) for p in raw.outputs],
        "letters": sorted(
            {c.type_param_str for c in raw.type_constraints} - {p.type_str for p in inputs if not p.is_homogeneous}
        ),
    }


def _formal(parameter: Any) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "type": parameter.type_str,
        "option": parameter.option.name,
        "types": list(_names_of_types(frozenset(parameter.types))),
    }


@lru_cache(maxsize=1024)
def _names_of_types(types: frozenset[str]) -> tuple[str, ...]:
    """The element types of tensor types as onnx writes them, such as `tensor(float)`, sorted."""
    return tuple(sorted(str(_TENSOR_TYPES[text]) for text in types if text in _TENSOR_TYPES))


def _schema(entry: Mapping[str, Any], raw: Any) -> Schema:
    min_inputs, max_inputs, min_outputs, max_outputs = entry["counts"]
    inputs = entry["inputs"]
    return Schema(
        op_type=entry["op_type"],
        domain=entry["domain"],
        since=entry["since"],
        raw=raw,
        # onnx's enumerations are not ints; AttributeProto's are
        attributes={name: int(getattr(AttributeProto, kind)) for name, kind in entry["attributes"].items()},
        required=tuple(entry["required"]),
        min_inputs=min_inputs,
        max_inputs=max_inputs,
        min_outputs=min_outputs,
        max_outputs=max_outputs,
        inputs=tuple(p["name"] for p in inputs),
        types=tuple((p["type"], _dtypes(p)) for p in inputs),
        output_types=tuple(map(_dtypes, entry["outputs"])),
        letters=frozenset(entry["letters"]),
        variadic=bool(inputs) and inputs[-1]["option"] == "Variadic",
        optional=tuple(p["option"] == "Optional" for p in inputs),
        deprecated=entry["deprecated"],
    )


def _dtypes(formal: Mapping[str, Any]) -> frozenset[DType]:
    return _types_of_names(tuple(formal["types"]))


@lru_cache(maxsize=1024)
def _types_of_names(names: tuple[str, ...]) -> frozenset[DType]:
    return frozenset(_BY_NAME[name] for name in names)
