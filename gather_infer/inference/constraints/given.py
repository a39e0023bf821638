"""Input constraints of one model, given by the caller or recorded in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from onnx import ModelProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError, as_option
from gather_infer.inference.constraints.parse import (
    DimSpecs,
    GivenType,
    add_constraint,
    bind,
    bound_dim,
    equate,
    read_dims,
    read_inputs,
    read_ranges,
    scope_of,
)
from gather_infer.inference.constraints.persisted import KEY, DimConstraint, persisted_texts, read_persisted
from gather_infer.inference.dim_rendering import is_sized
from gather_infer.inference.proto.dim_texts import expression_of
from gather_infer.inference.proto.types import DimReader
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq
from gather_infer.tensor import Shape, ValueRange


class InputConstraints(NamedTuple):
    """Constraints on the inputs, besides their declared types.

    is_given       whether the caller gave any constraint on dims or types
    persisted      dim constraints that the file records, without malformed or contradictory ones
    known          names of the symbols of the inputs
    unnamed        symbol names for dims without a name, by input name and axis
    dims           constraints on the symbols, from the caller and the file
    inputs         types given by `--input`, by input name
    substitutions  name in a declared type -> the number given for it, or the dim that `--input` gives in its place
    ranges         bounds of the elements given by `--range`, by input name
    """

    is_given: bool
    persisted: tuple[DimConstraint, ...]
    known: frozenset[str]
    unnamed: Mapping[tuple[str, int], str]
    dims: DimSpecs
    inputs: Mapping[str, GivenType]
    substitutions: Mapping[str, Dim]
    ranges: Mapping[str, ValueRange]


def read_constraints(
    model: ModelProto,
    values: Sequence[ValueInfoProto],
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    ranges: Mapping[str, object] | Iterable[str] = (),
) -> tuple[InputConstraints, list[Diagnostic]]:
    """The constraints on the inputs `values` of a model, and findings about recorded constraints that cannot be used.

    Raises UsageError for an unknown name, a malformed entry, or a contradiction.
    """
    specs = read_inputs(inputs, (v.name for v in values))
    names, unnamed = symbols_of_inputs(values, specs)
    recorded, spelt_out, warnings = _persisted(model, values)
    known = names | spelt_out
    found = read_dims(
        dims,
        known,
        lambda name, new: _renaming(values, unnamed, name, new),
        lambda name: _dim_of_axis(values, unnamed, name),
    )
    is_given = bool(found.bound or found.bounds or specs)
    by_input = {name for v in values if v.name in specs for name in _bind(found, v, specs[v.name].shape, known)}
    replacements = _replacements(values, specs, known) if recorded else {}
    for constraint in recorded:
        add_constraint(found, constraint, replacements)
    changed = {name: dim for name, dim in found.bound.items() if isinstance(dim, int) or name in by_input}
    value_ranges = read_ranges(ranges, [v.name for v in values], known)
    return InputConstraints(is_given, tuple(recorded), known, unnamed, found, specs, changed, value_ranges), warnings


Unnamed: TypeAlias = Mapping[tuple[str, int], str]


def _texts(value: ValueInfoProto, unnamed: Unnamed) -> list[str]:
    """The dims of the declared type of an input as texts, generated names for those without one."""
    return [
        dim.dim_param or (str(dim.dim_value) if is_sized(dim) else unnamed.get((value.name, axis), ""))
        for axis, dim in enumerate(shaped_dims(value))
    ]


def _dim_of_axis(values: Sequence[ValueInfoProto], unnamed: Unnamed, name: str) -> str:
    """The dim that `name` stands for if it names an axis, `ids.1`, as options of other commands do; else empty."""
    found, _, axis = name.rpartition(".")
    for value in values:
        dims = _texts(value, unnamed)
        if value.name == found and axis.isascii() and axis.isdecimal() and int(axis) < len(dims):
            return dims[int(axis)]
    return ""


def _renaming(values: Sequence[ValueInfoProto], unnamed: Unnamed, name: str, new: str) -> str:
    """The option that renames symbol `name` to `new`: `--input 'ids=[batch, seq]'`; empty if no input has `name`."""
    for value in values:
        dims = _texts(value, unnamed)
        if name in dims:
            return as_option("--input", f"{value.name}=[{', '.join(new if dim == name else dim for dim in dims)}]")
    return ""


def _persisted(
    model: ModelProto, values: Sequence[ValueInfoProto]
) -> tuple[list[DimConstraint], frozenset[str], list[Diagnostic]]:
    """The dim constraints that the file records, the symbols that they introduce, and findings about unusable ones.

    A recorded constraint introduces symbols when it defines a dim name of the file as an expression.
    """
    texts = persisted_texts(model)
    if not texts:
        return [], frozenset(), []
    names, _ = symbols_of_inputs(values, {})
    constraints, faults, spelt_out = read_persisted(texts, names)
    alone = DimSpecs()
    try:
        for constraint in constraints:
            add_constraint(alone, constraint, {})
        scope_of(alone)
    except UsageError as error:
        constraints, faults = [], [*faults, str(error)]
    message = "the dim constraints that the file records are not used: {}"
    return constraints, spelt_out, [diagnostic("GI111", message.format(f), Location(value=KEY)) for f in faults]


def _replacements(
    values: Sequence[ValueInfoProto], specs: Mapping[str, GivenType], known: frozenset[str]
) -> dict[str, Dim]:
    """For each name of the file that `--input` replaces in the types of the inputs, the dim that replaces it."""
    names, unnamed = symbols_of_inputs(values, {})
    reader = DimReader(known)
    found = {name: reader.param(name) for name in names - known - set(unnamed.values())}
    for (value, axis), name in unnamed.items():
        if value in specs and axis < len(specs[value].shape):
            found[name] = specs[value].shape[axis]
    return found


def _bind(specs: DimSpecs, value: ValueInfoProto, given: Shape, known: frozenset[str]) -> Iterator[str]:
    """Bind each dim name of the declared type to the dim that `--input` gives on its axis; yield the newly bound names.

    Raises UsageError when a name is bound to another size already, or a number in the model is replaced by a symbol.
    """
    declared_dims = shaped_dims(value)
    if len(declared_dims) != len(given):
        return  # a contradiction, or an undeclared rank; reported later
    for axis, (declared, dim) in enumerate(zip(declared_dims, given, strict=True)):
        name = declared.dim_param
        if is_sized(declared) and isinstance(bound_dim(dim, specs.bound), Expr):
            raise UsageError(
                f"input {value.name!r}: the model fixes axis {axis} at {declared.dim_value}, found {str(dim)!r}; "
                f"give {declared.dim_value}, or export the model with this dim dynamic"
            )
        if name not in known or name in free_symbols(dim):
            continue
        if name not in specs.bound:
            bind(specs, name, dim)
            yield name
        elif known_eq(specs.bound[name], bound_dim(dim, specs.bound), Scope()) is False:
            raise UsageError(f"input {value.name!r}: dim {name!r} is {specs.bound[name]}, not {dim}")
        else:
            equate(specs, specs.bound[name], bound_dim(dim, specs.bound), f"{name} = {dim}")


def symbols_of_inputs(
    inputs: Iterable[ValueInfoProto], specs: Mapping[str, GivenType]
) -> tuple[frozenset[str], dict[tuple[str, int], str]]:
    """The symbols of the inputs: dim_params that are names, and `input.axis` for each undeclared dim.

    specs   types given by `--input`, by input name; their dims replace undeclared dims

    The second result maps the input name and axis of each undeclared dim to its symbol name.
    """
    texts: set[str] = set()
    names: set[str] = set()
    for value in inputs:
        if value.name in specs:
            for dim in specs[value.name].shape:
                names |= free_symbols(dim)
        texts.update(_dim_params(value))
    for text in sorted(texts, key=len):  # an expression is longer than the names in it
        if expression_of(text, names) is None:
            names.add(text)
    unnamed: dict[tuple[str, int], str] = {}
    for value in inputs:
        for axis in _open_axes(value) if value.name not in specs else ():
            name = f"{value.name}.{axis}"
            while name in names:  # the model has this name for another dim
                name += "_"
            unnamed[value.name, axis] = name
    return frozenset(names) | set(unnamed.values()), unnamed


def shaped_dims(value: ValueInfoProto) -> Sequence[Any]:
    """The declared dims of a dense or sparse tensor; empty for any other value."""
    kind = value.type.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return list(getattr(value.type, kind).shape.dim)
    return []


def _dim_params(value: ValueInfoProto) -> list[str]:
    return [d.dim_param for d in shaped_dims(value) if d.dim_param]


def _open_axes(value: ValueInfoProto) -> list[int]:
    return [axis for axis, d in enumerate(shaped_dims(value)) if not d.dim_param and not is_sized(d)]
