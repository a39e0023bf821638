"""Explanations of symbols: origin, bounds and uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from gather_infer.contract import Contract, DimsLine, Relation
from gather_infer.errors import UnknownName, as_option
from gather_infer.explanation.chain import Facet, InterfaceDim, SymbolExplanation
from gather_infer.explanation.search import facet_dims
from gather_infer.inference.constraints.given import shaped_dims
from gather_infer.inference.result import Inference
from gather_infer.symbolic import Dim, Expr, Interval, Scope, free_symbols
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate.contract_builder import contract

_SHOWN: Final = 4
"""Maximum number of example tensors in an explanation."""


def explained_symbol(inference: Inference, name: str, suggest: Callable[[str], tuple[str, ...]]) -> SymbolExplanation:
    """The explanation of the symbol `name`.

    suggest   returns, for the name of a generated symbol, suggestions that would make it known

    Raises UnknownName if the run has no symbol `name`.
    """
    if name not in known_symbols(inference):
        raise UnknownName("symbol", name, known_symbols(inference))
    derived = contract(inference, rules=inference.rules).contract
    uses = _uses(inference, {name}).get(name, _Uses())
    return _explanation(inference, name, derived, uses, suggest(name) if name in inference.causes else ())


def explained_symbols(inference: Inference, derived: Contract) -> Iterator[SymbolExplanation]:
    """Yield the explanation of every symbol, without suggestions; `derived` is the contract of the model."""
    names = known_symbols(inference)
    uses = _uses(inference, set(names))
    for name in names:
        yield _explanation(inference, name, derived, uses.get(name, _Uses()), ())


def _explanation(
    inference: Inference, name: str, derived: Contract, uses: _Uses, suggestions: tuple[str, ...]
) -> SymbolExplanation:
    cause = inference.causes.get(name)
    resolved, interface_dims = _resolved_dim(inference, list(_interface_dims(inference, name)))
    equals = None if resolved is None or name in free_symbols(resolved) else resolved
    contract_lines = tuple(line for line in (*derived.lines, *_independent_nonempty(derived)) if name in line.symbols)
    return SymbolExplanation(
        model=inference.model.name,
        symbol=name,
        interface_dims=interface_dims,
        cause=cause,
        equals=equals,
        bounds=_bounds(inference, name),
        declared=inference.declared.symbol_bounds(name),
        contract_lines=contract_lines,
        assumptions=tuple(a for a in inference.assumptions if name in free_symbols(a.dim)),
        shapes=uses.shapes,
        elements=uses.elements,
        examples=tuple(uses.examples),
        suggestions=suggestions,
        rename="" if cause is not None or equals is not None else _rename(inference, interface_dims),
    )


def _independent_nonempty(contract: Contract) -> Iterator[DimsLine]:
    """Yield the conditions of `contract.nonempty` that its lines do not imply: `batch >= 3` implies `batch >= 1`."""
    scope = Scope()
    for line in contract.lines:
        if isinstance(line, DimsLine) and line.single_relation is not None:
            line.single_relation.add_to(scope)
    for line in contract.nonempty:
        if not any(relation.known(scope) is True for relation in line.relations):
            yield line


def known_symbols(inference: Inference) -> list[str]:
    """The names of all symbols: those of the inputs, the generated ones, and those in the declared outputs."""
    given = inference.input_constraints
    of_inputs = sorted(given.known) if given is not None else []
    of_outputs = (d.dim_param for o in inference.model.proto.graph.output for d in shaped_dims(o) if d.dim_param)
    return list(dict.fromkeys((*of_inputs, *inference.causes, *of_outputs)))


def _interface_dims(inference: Inference, name: str) -> Iterator[InterfaceDim]:
    """Yield the input and output dims declared as `name`, and unnamed input dims that inference named `name`."""
    graph = inference.model.proto.graph
    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            for axis, dim in enumerate(shaped_dims(value)):
                if dim.dim_param == name or (kind == "input" and _has(inference, value.name, axis, name)):
                    yield InterfaceDim(kind, value.name, axis)


def _has(inference: Inference, value: str, axis: int, name: str) -> bool:
    """Whether the inferred dim of tensor `value` at `axis` is the symbol `name` itself."""
    dim = _dim(inference, value, axis)
    return isinstance(dim, Expr) and dim.is_symbol and dim.name == name


def _dim(inference: Inference, value: str, axis: int) -> Dim | None:
    """The inferred dim at `axis` of `value`, a tensor of the main graph; None if it is unknown."""
    found = inference.get(value)
    shape = found.shape if isinstance(found, SymbolicTensor) else None
    return None if shape is None or axis >= len(shape) else shape[axis]


def _resolved_dim(
    inference: Inference, interface_dims: list[InterfaceDim]
) -> tuple[Dim | None, tuple[InterfaceDim, ...]]:
    """The dim to which the symbol of `interface_dims` resolves, and the interface dims that have this dim.

    The dim is None if it is unknown. Input dims define the symbol and are always kept. An output dim may be declared
    with the symbol and yet be inferred as another dim; such an output dim is left out.
    """
    dims = [_dim(inference, place.value, place.axis) for place in interface_dims]
    standing = next((dim for dim in dims if dim is not None), None)

    def may_have(dim: Dim | None) -> bool:
        return dim is None or dim == standing or inference.is_generated(dim)

    return standing, tuple(
        place for place, dim in zip(interface_dims, dims, strict=True) if place.kind == "input" or may_have(dim)
    )


def _bounds(inference: Inference, name: str) -> Interval:
    """The bounds of a symbol in every run that does not fail.

    They follow from the constraints of the run. The lines of the contract are weaker, because some hold only where no
    tensor is empty.
    """
    scope = inference.known.child()
    for constraint in inference.constraints:
        if name in free_symbols(constraint.left) | free_symbols(constraint.right):
            Relation(constraint.left, constraint.relation, constraint.right).add_to(scope)
    return scope.symbol_bounds(name)


@dataclass(slots=True)
class _Uses:
    """Numbers of tensors that have a symbol in their dims, and in their elements; titles of the first ones."""

    shapes: int = 0
    elements: int = 0
    examples: list[str] = field(default_factory=list)


def _uses(inference: Inference, names: set[str]) -> dict[str, _Uses]:
    """The uses of each symbol in `names` that a tensor has; a tensor has the title `graph/name`."""
    found: dict[str, _Uses] = {}
    for path, values in inference.scopes.items():
        label = inference.labels[path]
        for known, value in values.items():
            in_shape, in_elements = (
                {name for dim in facet_dims(value, facet) for name in free_symbols(dim)} & names for facet in Facet
            )
            for name in in_shape | in_elements:
                uses = found.setdefault(name, _Uses())
                uses.shapes += name in in_shape
                uses.elements += name in in_elements
                if len(uses.examples) < _SHOWN:
                    uses.examples.append(f"{label}/{known}" if label else known)
    return found


def _rename(inference: Inference, interface_dims: tuple[InterfaceDim, ...]) -> str:
    """The `--input` option that renames the symbol of `interface_dims`; empty if none of them is an input dim.

    Renaming a symbol in one input renames it everywhere.
    """
    for place in interface_dims:
        value = inference.get(place.value)
        if place.kind == "input" and isinstance(value, SymbolicTensor) and value.shape is not None:
            dims = ["NAME" if axis == place.axis else str(dim) for axis, dim in enumerate(value.shape)]
            return as_option("--input", f"{place.value}=[{', '.join(dims)}]")
    return ""
