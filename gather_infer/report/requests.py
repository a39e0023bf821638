"""A contract as a JSON Schema (2020-12) of requests: an object with a nested array for each input."""

from __future__ import annotations

from typing import Any, Final

from gather_infer.contract import Contract, DimsLine, ElementsLine, InputSpec
from gather_infer.symbolic import Dim, Interval, Scope

_RANGES: Final = {
    f"{sign}int{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if not sign else (0, (1 << bits) - 1)
    for sign in ("", "u")
    for bits in (2, 4, 8, 16, 32, 64)
}


def request_schema(contract: Contract) -> dict[str, Any]:
    """The schema; what it cannot say stands in descriptions."""
    scope = _scope(contract)
    rest = _unsaid(contract)
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"inputs of {contract.model}",
    }
    if rest:
        schema["description"] = "not checked by this schema: " + "; ".join(rest)
    return {
        **schema,
        "type": "object",
        "properties": {spec.name: _property(contract, spec, scope) for spec in contract.inputs},
        "required": [spec.name for spec in contract.inputs if not spec.optional],
        "additionalProperties": False,
    }


def _scope(contract: Contract) -> Scope:
    """What the lines say of the sizes."""
    scope = Scope()
    for line in contract.demands:
        if isinstance(line, DimsLine) and len(line.relations) == 1:
            line.relations[0].teach(scope)
    return scope


def _unsaid(contract: Contract) -> list[str]:
    """Lines and shapes that relate one thing with another."""
    names: dict[str, str] = {}
    said: list[str] = []
    for spec in contract.inputs:
        for axis, dim in enumerate(spec.shape or ()):
            if not isinstance(dim, int) and dim.is_symbol:
                first = names.setdefault(str(dim), spec.axis(axis))
                if first != spec.axis(axis):
                    said.append(f"{spec.axis(axis)} == {first}")
    for line in contract.demands:
        is_said = isinstance(line, DimsLine) and len(line.relations) == 1 and _is_of_one(line)
        if isinstance(line, ElementsLine):
            is_said = line.column is None and not line.symbols
        if not is_said:
            said.append(line.text)
    return said


def _is_of_one(line: DimsLine) -> bool:
    """Whether a line bounds one symbol by a number."""
    (relation,) = line.relations
    return isinstance(relation.right, int) and not isinstance(relation.left, int) and relation.left.is_symbol


def _property(contract: Contract, spec: InputSpec, scope: Scope) -> dict[str, Any]:
    if spec.dtype is None:
        return {"description": "of any type"}
    items = _items(contract, spec)
    if spec.shape is None:
        return {"description": f"{spec.dtype}, nested arrays of any depth"}
    for axis in reversed(range(len(spec.shape))):
        items = {"type": "array", "items": items, **_lengths(spec.shape[axis], scope)}
    return {"description": _described(spec), **items}


def _described(spec: InputSpec) -> str:
    return f"{spec.dtype}[{', '.join(map(str, spec.shape or ()))}]"


def _lengths(dim: Dim, scope: Scope) -> dict[str, int]:
    bounds = Interval(dim, dim) if isinstance(dim, int) else scope.bounds(dim)
    found = {}
    if bounds.lo is not None and bounds.lo > 0:
        found["minItems"] = bounds.lo
    if bounds.hi is not None:
        found["maxItems"] = bounds.hi
    return found


def _items(contract: Contract, spec: InputSpec) -> dict[str, Any]:
    assert spec.dtype is not None, "asked before"
    if spec.dtype == "bool":
        stated = [line.low is not None for line in contract.demands
                  if isinstance(line, ElementsLine) and line.input == spec.name]  # fmt: skip
        legal = [value for value in (False, True) if all(value is each for each in stated)]
        return {"type": "boolean", "enum": legal} if stated else {"type": "boolean"}
    if spec.dtype == "string":
        return {"type": "string"}
    if spec.dtype not in _RANGES:
        return {"type": "array", "items": {"type": "number"}} if "complex" in spec.dtype else {"type": "number"}
    low, high = _RANGES[spec.dtype]
    notes: list[str] = []
    for line in contract.demands:
        if isinstance(line, ElementsLine) and line.input == spec.name:
            if line.column is None and isinstance(line.low, int):
                low = max(low, line.low)
            if line.column is None and isinstance(line.high, int):
                high = min(high, line.high)
            if line.column is not None or line.symbols:
                notes.append(line.text)
    found: dict[str, Any] = {"type": "integer", "minimum": low, "maximum": high}
    return {**found, "description": "; ".join(notes)} if notes else found
