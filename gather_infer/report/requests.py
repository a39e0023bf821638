"""Contracts as a JSON Schema (2020-12) of requests: an object with a nested array for each input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gather_infer.contract import Contract, ContractInput, DimsLine, ElementsLine, InputCondition, Line, Relation
from gather_infer.contract.checking import RANGES, equated_axes, solvings
from gather_infer.symbolic import Dim, Expr, Interval, Scope, is_total, symbol


def request_schema(contract: Contract, *, strict: bool = False) -> dict[str, Any]:
    """The JSON Schema of requests for a contract; it accepts every request that `Contract.check` accepts.

    Descriptions in the schema list the lines that it cannot express.

    strict   whether the schema enforces lines that are sufficient but not necessary
    """
    return _SchemaBuilder(contract, strict).schema()


class _SchemaBuilder:
    def __init__(self, contract: Contract, strict: bool) -> None:
        self.contract = contract
        self.lines = [line for line, needed in contract.enforced if needed or strict]
        self.sufficient_only = [line for line, needed in contract.enforced if not (needed or strict)]
        self.covered_sizes = equated_axes(contract.all_lines)
        self.scope = self._scope()

    def schema(self) -> dict[str, Any]:
        contract = self.contract
        notes = []
        if unchecked := [*self._unchecked(), *self._rows()]:
            notes.append("not checked by this schema: " + "; ".join(unchecked))
        if self.sufficient_only:
            notes.append("known to work only for: " + "; ".join(line.text for line in self.sufficient_only))
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"inputs of {contract.model}",
            **({"description": ". ".join(notes)} if notes else {}),
            **({"$defs": self._of_any_depth()} if self._of_any_depth() else {}),
            "type": "object",
            "properties": {spec.name: self._property(spec) for spec in contract.inputs},
            "required": [spec.name for spec in contract.inputs if not spec.optional],
            "additionalProperties": False,
            **({"allOf": conditional} if (conditional := list(self._conditional())) else {}),
        }

    def _scope(self) -> Scope:
        """A scope with the facts from those lines whose sizes every request determines."""
        required = tuple(spec for spec in self.contract.inputs if not spec.optional)
        known_sizes = {solving.name for solving in solvings(required)}
        for spec in required:
            known_sizes.update(_names(spec))
        scope = Scope()
        for line in self.lines:
            if isinstance(line, DimsLine) and line.single_relation is not None and line.symbols <= known_sizes:
                relation = line.single_relation
                if is_total(relation.left) and is_total(
                    relation.right
                ):  # a line that divides by 0 for some sizes does not constrain these
                    relation.add_to(scope)
        return scope

    def _dim(self, spec: ContractInput, axis: int) -> Dim:
        """The size of an axis; for an expression that a line of the contract constrains, a symbol named as the axis."""
        dim = (spec.shape or ())[axis]
        name = spec.axis_name(axis)
        return symbol(name) if isinstance(dim, Expr) and not dim.is_symbol and name in self.covered_sizes else dim

    def _unchecked(self) -> Iterator[str]:
        """Texts of the lines and shapes that a schema cannot express, because they relate several inputs or axes."""
        names: dict[str, str] = {}
        for spec in self.contract.inputs:
            for axis in range(len(spec.shape or ())):
                dim, name = self._dim(spec, axis), spec.axis_name(axis)
                if isinstance(dim, Expr):
                    first = names.setdefault(str(dim), name) if dim.is_symbol else str(dim)
                    if first != name and str(dim) != name:
                        yield f"{name} == {first}"
        unranked = {spec.name for spec in self.contract.inputs if spec.shape is None}
        for line in self.lines:
            is_of_depth = isinstance(line, ElementsLine) and line.column is not None and line.input in unranked
            if is_of_depth or not (
                self._is_expressible_where(line) if _is_conditional(line) else _is_expressible(line)
            ):
                yield line.text

    # conditional lines

    def _is_expressible_where(self, line: Line) -> bool:
        """Whether a conditional line bounds a size that each request determines and reads ranked inputs only."""
        specs = {spec.name: spec for spec in self.contract.inputs if spec.shape is not None}
        known_sizes = {name for spec in specs.values() if not spec.optional for name in _names(spec)}
        assert isinstance(line, DimsLine), "no other line has a condition"
        return _is_expressible(line) and line.symbols <= known_sizes and all(when.input in specs for when in line.where)

    def _conditional(self) -> Iterator[dict[str, Any]]:
        """An if/then schema for each expressible conditional line, such as `samples >= 192 where sr == 16000`."""
        specs = {spec.name: spec for spec in self.contract.inputs}
        for line in self.lines:
            if not (isinstance(line, DimsLine) and line.where and self._is_expressible_where(line)):
                continue
            (relation,) = line.relations
            scope = Scope()
            relation.add_to(scope)
            conditions = {
                when.input: _of_one(len(specs[when.input].shape or ()), _element(when)) for when in line.where
            }
            lengths = {
                spec.name: found for spec in self.contract.inputs if (found := self._lengths_of(spec, relation, scope))
            }
            yield {
                "description": line.text,
                "if": {"properties": conditions, "required": list(conditions)},
                "then": {"properties": lengths},
            }

    def _lengths_of(self, spec: ContractInput, relation: Relation, scope: Scope) -> dict[str, Any]:
        """The schema of the axes of `spec` that `relation` bounds; empty if it bounds none.

        scope   holds `relation` as a fact
        """
        found: dict[str, Any] = {}
        for axis in reversed(range(len(spec.shape or ()))):
            bounds = self._bounds(scope.bounds(relation.left)) if self._name(spec, axis) == str(relation.left) else {}
            found = {**({"items": found} if found else {}), **bounds}
        return found

    def _name(self, spec: ContractInput, axis: int) -> str:
        dim = (spec.shape or ())[axis]
        return "" if isinstance(dim, int) else str(dim) if dim.is_symbol else str(symbol(spec.axis_name(axis)))

    def _bounds(self, bounds: Interval) -> dict[str, int]:
        return {
            **({"minItems": bounds.lo} if bounds.lo else {}),
            **({"maxItems": bounds.hi} if bounds.hi is not None else {}),
        }

    # unconditional constraints

    def _rows(self) -> Iterator[str]:
        """Yield the note that nested arrays have the same length, if the schema does not fix their lengths."""
        inner = (self._dim(spec, axis) for spec in self.contract.inputs for axis in range(1, len(spec.shape or ())))
        if not all(isinstance(dim, int) for dim in inner) or self._of_any_depth():
            yield "the rows of an array have the same length"

    def _property(self, spec: ContractInput) -> dict[str, Any]:
        if spec.dtype is None:
            return {"description": "of any type", **({} if spec.optional else {"not": {"type": "null"}})}
        if spec.shape is None:
            return {"description": f"{spec.dtype}, nested arrays of any depth", "$ref": self._depths(spec)}
        items = self._items(spec, None)
        columns = [
            line.column for line in self.lines
            if isinstance(line, ElementsLine) and line.input == spec.name and line.column is not None
        ]  # fmt: skip
        rank = len(spec.shape)
        for axis in reversed(range(rank)):
            array: dict[str, Any] = {"type": "array"}
            if axis == rank - 1 and columns:
                array["prefixItems"] = [self._items(spec, column) for column in range(max(columns) + 1)]
            # an outer array must not be empty: it would leave the inner lengths undetermined
            items = {**array, "items": items, **self._lengths(self._dim(spec, axis), min_length=int(axis < rank - 1))}
        return {"description": f"{spec.dtype}[{', '.join(map(str, spec.shape))}]", **items}

    def _depths(self, spec: ContractInput) -> str:
        return f"#/$defs/input-{self.contract.inputs.index(spec)}"

    def _of_any_depth(self) -> dict[str, Any]:
        """Definitions for inputs of unknown rank: an element, or an array of the same definition."""
        unranked = [spec for spec in self.contract.inputs if spec.dtype is not None and spec.shape is None]
        return {
            self._depths(spec).rpartition("/")[2]: {
                "anyOf": [self._items(spec, None), {"type": "array", "items": {"$ref": self._depths(spec)}}]
            }
            for spec in unranked
        }

    def _lengths(self, dim: Dim, min_length: int) -> dict[str, int]:
        bounds = (
            Interval(None, None)
            if not is_total(dim)
            else Interval(dim, dim)
            if isinstance(dim, int)
            else self.scope.bounds(dim)
        )
        return self._bounds(Interval(max(min_length, bounds.lo or 0), bounds.hi))

    def _items(self, spec: ContractInput, column: int | None) -> dict[str, Any]:
        """The schema of the elements in `column` of the last axis; None means all columns without their own lines."""
        dtype = spec.dtype
        assert dtype is not None, "_property handles an unknown element type"
        lines = [
            line for line in self.lines
            if isinstance(line, ElementsLine) and line.input == spec.name and line.column in (None, column)
        ]  # fmt: skip
        low, high = (0, 1) if dtype == "bool" else RANGES.get(dtype, (0, 0))
        low = max([low, *(line.lower for line in lines if isinstance(line.lower, int) and not line.symbols)])
        high = min([high, *(line.upper for line in lines if isinstance(line.upper, int) and not line.symbols)])
        notes = "; ".join(line.text for line in lines if line.symbols)
        if dtype == "bool":
            legal = [value for value in (False, True) if low <= value <= high]
            return {"type": "boolean", **({"enum": legal} if lines else {})}
        if dtype == "string":
            return {"type": "string"}
        if dtype not in RANGES:
            return {"type": "array", "items": {"type": "number"}} if "complex" in dtype else {"type": "number"}
        found: dict[str, Any] = {"type": "integer", "minimum": low, "maximum": high}
        return {**found, "description": notes} if notes else found


def _is_conditional(line: Line) -> bool:
    return isinstance(line, DimsLine) and bool(line.where)


def _element(when: InputCondition) -> dict[str, Any]:
    """The JSON Schema of an element that satisfies the condition `when`."""
    if when.is_bool:
        return {"const": bool(when.number)}
    match when.relation:
        case "<":
            return {"type": "number", "exclusiveMaximum": when.number}
        case ">=":
            return {"type": "number", "minimum": when.number}
        case "==":
            return {"const": when.number}
        case _:
            return {"type": "number", "not": {"const": when.number}}


def _of_one(rank: int, element: dict[str, Any]) -> dict[str, Any]:
    """The schema of an array of rank `rank` with a single element; `element` is the schema of the element."""
    found = element
    for _ in range(rank):
        found = {"type": "array", "minItems": 1, "maxItems": 1, "items": found}
    return found


def _names(spec: ContractInput) -> Iterator[str]:
    """The names of the symbolic sizes of an input."""
    for axis, dim in enumerate(spec.shape or ()):
        if isinstance(dim, Expr):
            yield dim.name if dim.is_symbol else spec.axis_name(axis)


def _is_expressible(line: Line) -> bool:
    """Whether a schema can express a line: constant bounds of one symbol, or of elements of one input."""
    if isinstance(line, ElementsLine):
        return not line.symbols
    only = line.relations[0] if len(line.relations) == 1 else None
    return only is not None and isinstance(only.right, int) and isinstance(only.left, Expr) and only.left.is_symbol
