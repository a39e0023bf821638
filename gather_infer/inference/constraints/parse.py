"""Parser of input constraints given by the caller: `seq=1..512`, `total=past+seq`, `ids=int64[batch, seq]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gather_infer.errors import UsageError, as_option, suggestion
from gather_infer.inference.constraints.persisted import BOUNDS, DimConstraint, split
from gather_infer.symbolic import (
    Dim,
    DimSyntaxError,
    DimTooLarge,
    Expr,
    Interval,
    Scope,
    free_symbols,
    parse_dim,
    substitute,
    symbol,
)
from gather_infer.tensor import DType, Shape, ValueRange

MAX_SIZE: Final = 2**63 - 1
"""The largest size that a model file can hold."""

_TENSOR = re.compile(r"([A-Za-z][A-Za-z0-9]*)?\s*\[(.*)\]", re.DOTALL)
_BOUNDS_OF_OTHERS = re.compile(r"\s*([0-9]{1,40})\s*(?:-|:|,|\.\.\.|–|to)\s*([0-9]{1,40})\s*")
_UNITS = re.compile(r"(?:.*\.\.)?\s*[0-9]+\s*[KMGT](?:i?B)?", re.IGNORECASE | re.DOTALL)
_SEVERAL = re.compile(r"[^,=()]+(?:,\s*[^,=()]+=[^,=()]+)+")
_ALIASES = {"float": DType.FLOAT32, "double": DType.FLOAT64}
_DTYPES = {str(d): d for d in DType} | _ALIASES


class GivenType(NamedTuple):
    """Element type and shape given by `--input`; a dtype of None keeps the declared element type."""

    dtype: DType | None
    shape: Shape


@dataclass(slots=True, eq=False)
class DimSpecs:
    """Bindings (`seq = 128`, `total = past + seq`) and bounds (`seq` in 1..512) of input symbols, by name.

    bound         symbol -> the dim that it equals
    bounds        symbol -> its bounds
    constraints   constraints on expressions that cannot be turned into bindings or bounds of one symbol
    """

    bound: dict[str, Dim] = field(default_factory=dict)
    bounds: dict[str, Interval] = field(default_factory=dict)
    constraints: list[DimConstraint] = field(default_factory=list)


def read_dims(
    specs: Mapping[str, object] | Iterable[str],
    known: Iterable[str],
    renaming: Callable[[str, str], str] = lambda name, new: "",
    dim_of_axis: Callable[[str], str] = lambda name: "",
) -> DimSpecs:
    """Parse `dims=`: strings as on the command line, or a mapping of names to a size, a text or a pair of bounds.

    known        the symbols of the model's inputs
    renaming     returns the option that renames its first argument to its second, for messages; empty if there is none
    dim_of_axis  returns the dim of an axis `ids.1`, for messages; empty if there is no such axis

    Raises UsageError for an unknown name, a malformed entry, or a binding that contradicts another one.
    """
    names = set(known)
    found = DimSpecs()
    for name, text in _entries(specs, "dims", "a dim must read NAME=SIZE, NAME=LOW..HIGH or NAME=EXPRESSION"):
        if name not in names:
            raise UsageError(f"no input dim {name!r}{_meant(name, text, names, dim_of_axis(name))}")
        _require_one("dim", name, text)
        if name in found.bound or name in found.bounds:
            raise UsageError(f"dim {name!r} is given twice")
        interval = _interval(name, text, names)
        if interval is None:
            bind(found, name, _dim(name, text, names, renaming))
        elif interval.lo is not None and interval.lo == interval.hi:
            bind(found, name, interval.lo)
        else:
            found.bounds[name] = interval
    return found


def _meant(name: str, text: str, names: Set[str], dim: str) -> str:
    """The end of the message about an unknown name, for `ids.1=7` and `seq<=7` with the option that is meant."""
    if dim in names:
        return f"; this axis is {dim}: {as_option('--dim', f'{dim}={text}')}"
    if name[-1] in "<>" and name[:-1].rstrip() in names:
        bounds = f"..{text}" if name[-1] == "<" else f"{text}.."
        return f"; did you mean {as_option('--dim', f'{name[:-1].rstrip()}={bounds}')}?"
    return suggestion(name, names)


def _entries(specs: Mapping[str, object] | Iterable[str], what: str, form: str) -> Iterable[tuple[str, str]]:
    """Name and text of each entry that the caller gives; a pair of bounds becomes `LOW..HIGH`.

    what   name of the argument, for messages
    form   the expected form, for messages

    Raises UsageError for a malformed entry.
    """
    if isinstance(specs, str):
        raise UsageError(f"{what} must be a list of strings or a mapping, is the string {specs!r}")
    if isinstance(specs, Mapping):
        for name, value in specs.items():
            if isinstance(value, (tuple, list)) and len(value) == 2:
                low, high = ("" if v is None else str(v) for v in value)
                yield name, f"{low}..{high}"
            else:
                yield name, str(value)
        return
    for text in specs:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{form}, found {text!r}")
        yield name.strip(), value.strip()


def _require_one(what: str, name: str, text: str) -> None:
    """Raise UsageError for `batch=1,seq=3`, which is more than one entry."""
    if _SEVERAL.fullmatch(text):
        each = " ".join(as_option(f"--{what}", part.strip()) for part in f"{name}={text}".split(","))
        raise UsageError(f"{what} {name!r}: each needs its own option, found {text!r}; did you mean {each}?")


def _interval(name: str, text: str, names: set[str]) -> Interval | None:
    """The bounds in a text `LOW..HIGH`; None when it has no `..` or is itself a dim name.

    Raises UsageError for malformed or empty bounds.
    """
    if ".." not in text or text in names:
        return None
    match = BOUNDS.fullmatch(text)
    if match is None:
        _require_no_unit(name, text)
        raise UsageError(
            f"dim {name!r}: bounds must read LOW..HIGH, numbers >= 0 of which either may be left out, found {text!r}"
            + _did_you_mean(text)
        )
    low = dim_size(name, int(match[1])) if match[1] else 0
    high = dim_size(name, int(match[2])) if match[2] else None
    if high is not None and low > high:
        raise UsageError(f"dim {name!r}: no size is in the bounds {text}")
    return Interval(low, high)


def _dim(name: str, text: str, names: set[str], renaming: Callable[[str, str], str]) -> Dim:
    meant = _did_you_mean(text)
    try:
        dim = parse_dim(text)
    except DimSyntaxError as error:
        if meant:
            raise UsageError(f"dim {name!r}: bounds must read LOW..HIGH, found {text!r}{meant}") from error
        _require_no_unit(name, text)
        raise UsageError(
            f"dim {name!r} must be a size, bounds LOW..HIGH or an expression in other dims: {error}"
        ) from error
    for other in free_symbols(dim):
        if other not in names:
            rename = renaming(name, other) if isinstance(dim, Expr) and dim.is_symbol else ""
            hint = f" ({rename} gives {name!r} that name)" if rename else ""
            raise UsageError(f"dim {name!r}: no input dim {other!r}{suggestion(other, names)}{hint}")
    if isinstance(dim, int) and dim < 0 and meant:
        raise UsageError(f"dim {name!r}: bounds must read LOW..HIGH, found {text!r}{meant}")
    return dim_size(name, dim) if isinstance(dim, int) else dim


def _require_no_unit(name: str, text: str) -> None:
    """Raise UsageError for `4K`, which other options accept as a number of bytes."""
    if _UNITS.fullmatch(text):
        raise UsageError(
            f"dim {name!r} counts elements, not bytes, and has no unit, found {text!r}; it is a size ({name}=4096), "
            f"bounds ({name}=1..4096) or an expression in other dims"
        )


def _did_you_mean(text: str) -> str:
    """`; did you mean 1..512?` for bounds in the notation of other tools, `1-512` or `1:512`."""
    match = _BOUNDS_OF_OTHERS.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        return ""
    return f"; did you mean {match[1]}..{match[2]}?"


def dim_size(name: str, size: int) -> int:
    if not 0 <= size <= MAX_SIZE:
        raise UsageError(f"dim {name!r} must be in [0, 2^63 - 1], is {size}")
    return size


def bind(specs: DimSpecs, name: str, dim: Dim) -> None:
    """Add the binding `name = dim` to `specs`. Raises UsageError when `dim` contains the name or divides by 0."""
    dim = bound_dim(dim, specs.bound)
    if name in free_symbols(dim):
        raise UsageError(f"dim {name!r} is bound to {dim}, which contains it")
    specs.bound = {other: bound_dim(value, {name: dim}) for other, value in specs.bound.items()}
    specs.bound[name] = dim


def bound_dim(dim: Dim, bound: Mapping[str, Dim]) -> Dim:
    """`dim` with `bound` substituted. Raises UsageError if a divisor becomes 0 or the dim grows too large."""
    try:
        return substitute(dim, bound)
    except ZeroDivisionError as error:
        sizes = ", ".join(f"{name} = {bound[name]}" for name in sorted(free_symbols(dim) & bound.keys()))
        raise UsageError(f"{dim} divides by 0 where {sizes}") from error
    except DimTooLarge as error:
        raise UsageError(f"with the given sizes, {dim} is too large: {error}") from error


def add_constraint(specs: DimSpecs, constraint: DimConstraint, replacements: Mapping[str, Dim]) -> None:
    """Add a dim constraint that the file records to `specs`.

    replacements   dims by which `--input` replaces names of the file

    Raises UsageError when the constraint contradicts others in `specs`.
    """
    named = bound_dim(constraint.dim, replacements)
    dim = bound_dim(named, specs.bound)
    if isinstance(constraint.value, Interval):
        # a name that is bound to an expression keeps its bounds
        is_name = isinstance(named, Expr) and named.is_symbol and isinstance(dim, Expr)
        _add_bounds(specs, named if is_name else dim, constraint.value, constraint)
        return
    value = bound_dim(bound_dim(constraint.value, replacements), specs.bound)
    equate(specs, dim, value, f"{constraint}, which the file records,")


def equate(specs: DimSpecs, dim: Dim, value: Dim, what: str) -> None:
    """Add `dim == value` to `specs`, as a binding if one side can be solved for a symbol.

    dim, value   dims without bound symbols
    what         text of the equality, for the message

    Raises UsageError when the two cannot be equal.
    """
    if dim == value:
        return
    for left, right in ((dim, value), (value, dim)):
        if isinstance(left, Expr) and left.is_symbol and left.name not in free_symbols(right):
            bind(specs, left.name, right)
            return
    try:
        only = _only_solution(dim - value, what)
    except DimTooLarge:
        only = None
    if only is not None:
        bind(specs, *only)
        return
    left, right = (dim, value) if isinstance(dim, Expr) else (value, dim)
    if not isinstance(left, Expr):
        raise UsageError(f"{what} holds for no sizes: {left} and {right} differ")
    specs.constraints.append(DimConstraint(left, right))


def _only_solution(zero: Dim, what: str) -> tuple[str, int] | None:
    """The symbol of `zero` and the size at which `zero` is 0; None unless `zero` is linear in a single symbol.

    Raises UsageError when no size >= 0 solves the equality `what`.
    """
    names = free_symbols(zero)
    if len(names) != 1:
        return None
    (name,) = names
    try:
        # a candidate for `factor * symbol + constant` from two samples, verified against `zero` below
        constant, one = substitute(zero, {name: 0}), substitute(zero, {name: 1})
    except ZeroDivisionError:
        return None
    assert isinstance(constant, int) and isinstance(one, int), "no other symbol is in it"
    factor = one - constant
    if factor == 0 or zero != factor * symbol(name) + constant:
        return None
    size, rest = divmod(-constant, factor)
    if rest or size < 0:
        raise UsageError(f"{what} holds for no size of {name!r}")
    return name, size


def _add_bounds(specs: DimSpecs, dim: Dim, bounds: Interval, constraint: DimConstraint) -> None:
    if isinstance(dim, int):
        if dim not in bounds:
            raise UsageError(f"dim {str(constraint.dim)!r} is {dim}, the file records {constraint}")
    elif dim.is_symbol:
        present = specs.bounds.get(dim.name)
        narrowed = bounds if present is None else bounds & present
        if narrowed.is_empty:
            problem = "no size is" if present is None else f"dim {dim.name!r} is in {present}, none of it"
            raise UsageError(f"{problem} in the bounds {constraint}, which the file records")
        specs.bounds[dim.name] = narrowed
    else:
        specs.constraints.append(DimConstraint(dim, bounds))


def scope_of(specs: DimSpecs) -> Scope:
    """A scope with the constraints in `specs`. Raises UsageError when they contradict each other."""
    scope = Scope()
    for name, interval in specs.bounds.items():
        scope.declare(name, interval)
        bound = specs.bound.get(name)
        if bound is not None:
            _add_facts(scope, bound, interval)
            if scope.is_contradictory:
                raise UsageError(f"dim {name!r} is {bound}, which is outside {interval}")
    for name, bound in specs.bound.items():
        scope.add_fact(bound)
        if scope.is_contradictory:
            raise UsageError(f"dim {name!r} is {bound}, which is negative for all sizes allowed")
    for constraint in specs.constraints:
        value = constraint.value if isinstance(constraint.value, Interval) else bound_dim(constraint.value, specs.bound)
        _add_facts(scope, bound_dim(constraint.dim, specs.bound), value)
        if scope.is_contradictory:
            raise UsageError(f"{constraint} holds for no sizes that are allowed")
    return scope


def _add_facts(scope: Scope, dim: Dim, value: Interval | Dim) -> None:
    low, high = (value.lo, value.hi) if isinstance(value, Interval) else (value, value)
    try:
        if low is not None:
            scope.add_fact(dim - low)
        if high is not None:
            scope.add_fact(high - dim)
    except DimTooLarge:
        return  # sound: a fact is dropped


def read_inputs(specs: Mapping[str, str] | Iterable[str], known: Iterable[str]) -> dict[str, GivenType]:
    """Parse `inputs=`: texts `ids=int64[batch, seq]`, `ids=[batch, 128]`, or a mapping of an input to a type.

    known   names of the model's inputs

    Raises UsageError for an unknown name or a malformed entry.
    """
    names = set(known)
    pairs = specs.items() if isinstance(specs, Mapping) else (_split(text) for text in specs)
    found: dict[str, GivenType] = {}
    for name, text in pairs:
        if name not in names:
            raise UsageError(f"no input {name!r}{suggestion(name, names)}")
        if name in found:
            raise UsageError(f"input {name!r} is given twice")
        match = _TENSOR.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"input {name!r} must read NAME=TYPE[DIM, ...] or NAME=[DIM, ...], found {text!r}")
        if match[1] and match[1] not in _DTYPES:
            raise UsageError(f"input {name!r}: no element type {match[1]!r}{suggestion(match[1], _DTYPES)}")
        found[name] = GivenType(_DTYPES[match[1]] if match[1] else None, _shape(name, match[2]))
    return found


def read_ranges(
    specs: Mapping[str, object] | Iterable[str], inputs: Iterable[str], known: Iterable[str]
) -> dict[str, ValueRange]:
    """Parse `ranges=`: texts `ids=0..30521` or `last=0..seq-1`, or a mapping of an input to a text or a pair of bounds.

    Bounds are inclusive.

    inputs   names of the model's inputs
    known    symbols of the inputs

    Raises UsageError for an unknown name, a malformed entry, or an empty range.
    """
    names, symbols = list(inputs), set(known)
    found: dict[str, ValueRange] = {}
    for name, text in _entries(specs, "ranges", "a range must read NAME=LOW..HIGH"):
        if name not in names:
            raise UsageError(f"no input {name!r}{suggestion(name, names)}")
        if name in found:
            raise UsageError(f"the range of {name!r} is given twice")
        _require_one("range", name, text)
        low, dots, high = (part.strip() for part in text.partition(".."))
        if not dots or not (low or high):
            found_text = f"found {text!r}{_did_you_mean(text)}"
            raise UsageError(f"range of {name!r} must read LOW..HIGH, of which one may be left out, {found_text}")
        lo, hi = (_range_end(name, end, symbols) if end else None for end in (low, high))
        if isinstance(lo, int) and isinstance(hi, int) and lo > hi:
            raise UsageError(f"range of {name!r}: no number is in {text}")
        found[name] = ValueRange(lo, hi)
    return found


def _range_end(name: str, text: str, symbols: set[str]) -> Dim:
    try:
        end = parse_dim(text)
    except DimSyntaxError as error:
        raise UsageError(f"range of {name!r}: an end must be a number or an expression in dims: {error}") from error
    for other in free_symbols(end):
        if other not in symbols:
            raise UsageError(f"range of {name!r}: no input dim {other!r}{suggestion(other, symbols)}")
    return end


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"an input must read NAME=TYPE[DIM, ...], found {text!r}")
    return name.strip(), value


def _shape(name: str, text: str) -> Shape:
    dims: list[Dim] = []
    for part in split(text, ",") if text.strip() else ():
        try:
            dim = parse_dim(part)
        except DimSyntaxError as error:
            raise UsageError(
                f"input {name!r}: a dim must be a size, a name or an expression, found {part!r}: {error}"
            ) from error
        if isinstance(dim, int) and not 0 <= dim <= MAX_SIZE:
            raise UsageError(f"input {name!r}: a dim must be in [0, 2^63 - 1], is {dim}")
        dims.append(dim)
    return tuple(dims)
