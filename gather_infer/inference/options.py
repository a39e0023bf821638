"""What a caller says about the inputs: `seq=1..512`, `total=past+seq`, `ids=int64[batch, seq]`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from gather_infer.errors import UsageError
from gather_infer.symbolic import Dim, DimSyntaxError, Interval, free_symbols, parse_dim, substitute
from gather_infer.tensor import DType, Shape

MAX_SIZE: Final = 2**63 - 1
"""The largest size that a model file can state."""

_RANGE = re.compile(r"(\d*)\s*\.\.\s*(\d*)")
_TENSOR = re.compile(r"([A-Za-z][A-Za-z0-9]*)?\s*\[(.*)\]", re.DOTALL)
_ALIASES = {"float": DType.FLOAT32, "double": DType.FLOAT64}
_DTYPES = {str(d): d for d in DType} | _ALIASES


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What `--input` states of one input; None where it leaves the declaration as it is."""

    dtype: DType | None
    shape: Shape


@dataclass(slots=True)
class DimSpecs:
    """Bindings (`seq = 128`, `total = past + seq`) and bounds (`seq` in 1..512) of input symbols, by name."""

    bound: dict[str, Dim] = field(default_factory=dict)
    bounds: dict[str, Interval] = field(default_factory=dict)


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` when some known name is close, else the known names in their order, else nothing."""
    known = sorted(known) if isinstance(known, Set) else list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(known[:12])}" + (", ..." if len(known) > 12 else "") if known else ""


def read_dims(specs: Mapping[str, object] | Iterable[str], known: Iterable[str]) -> DimSpecs:
    """Parse `dims=`: strings as on the command line, or a mapping of names to a size, a text or a pair of bounds.

    known   the symbols of the model's inputs
    Raises UsageError for an unknown name, a malformed entry, a binding that contradicts another.
    """
    names = set(known)
    found = DimSpecs()
    for name, text in _entries(specs):
        if name not in names:
            raise UsageError(f"no input dim {name!r}{suggestion(name, names)}")
        if name in found.bound or name in found.bounds:
            raise UsageError(f"dim {name!r} is given twice")
        interval = _interval(name, text, names)
        if interval is None:
            bind(found, name, _dim(name, text, names))
        elif interval.lo is not None and interval.lo == interval.hi:
            bind(found, name, interval.lo)
        else:
            found.bounds[name] = interval
    return found


def _entries(specs: Mapping[str, object] | Iterable[str]) -> Iterable[tuple[str, str]]:
    if isinstance(specs, str):
        raise UsageError(f"dims must be a list of texts or a mapping, is the text {specs!r}")
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
            raise UsageError(f"a dim must read NAME=SIZE, NAME=LOW..HIGH or NAME=EXPRESSION, found {text!r}")
        yield name.strip(), value.strip()


def _interval(name: str, text: str, names: set[str]) -> Interval | None:
    """The bounds `LOW..HIGH`, None when the text is of another form."""
    if ".." not in text or text in names:
        return None
    match = _RANGE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"dim {name!r}: bounds must read LOW..HIGH, numbers >= 0 of which either may be left out, found {text!r}"
        )
    low = _size(name, int(match[1])) if match[1] else 0
    high = _size(name, int(match[2])) if match[2] else None
    if high is not None and low > high:
        raise UsageError(f"dim {name!r}: no size is in the bounds {text}")
    return Interval(low, high)


def _dim(name: str, text: str, names: set[str]) -> Dim:
    try:
        dim = parse_dim(text)
    except DimSyntaxError as error:
        raise UsageError(
            f"dim {name!r} must be a size, bounds LOW..HIGH or an expression in other dims: {error}"
        ) from error
    for other in free_symbols(dim):
        if other not in names:
            raise UsageError(f"dim {name!r}: no input dim {other!r}{suggestion(other, names)}")
    return _size(name, dim) if isinstance(dim, int) else dim


def _size(name: str, size: int) -> int:
    if not 0 <= size <= MAX_SIZE:
        raise UsageError(f"dim {name!r} must be in [0, 2^63 - 1], is {size}")
    return size


def bind(specs: DimSpecs, name: str, dim: Dim) -> None:
    """Add `name = dim`. Raises UsageError when the dim contains the name or divides by 0."""
    dim = bound_dim(dim, specs.bound)
    if name in free_symbols(dim):
        raise UsageError(f"dim {name!r} is bound to {dim}, which contains it")
    specs.bound = {other: bound_dim(value, {name: dim}) for other, value in specs.bound.items()}
    specs.bound[name] = dim


def bound_dim(dim: Dim, bound: Mapping[str, Dim]) -> Dim:
    """The dim with what its symbols are bound to. Raises UsageError when a divisor becomes 0."""
    try:
        return substitute(dim, bound)
    except ZeroDivisionError as error:
        sizes = ", ".join(f"{name} = {bound[name]}" for name in sorted(free_symbols(dim) & bound.keys()))
        raise UsageError(f"{dim} divides by 0 where {sizes}") from error


def read_inputs(specs: Mapping[str, str] | Iterable[str], known: Iterable[str]) -> dict[str, InputSpec]:
    """Parse `inputs=`: `ids=int64[batch, seq]`, `ids=[batch, 128]`.

    known   names of the model's inputs
    Raises UsageError for an unknown name or a malformed entry.
    """
    names = set(known)
    pairs = specs.items() if isinstance(specs, Mapping) else (_split(text) for text in specs)
    found: dict[str, InputSpec] = {}
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
        found[name] = InputSpec(_DTYPES[match[1]] if match[1] else None, _shape(name, match[2]))
    return found


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"an input must read NAME=TYPE[DIM, ...], found {text!r}")
    return name.strip(), value


def _shape(name: str, text: str) -> Shape:
    dims: list[Dim] = []
    for part in _top_level(text):
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


def _top_level(text: str) -> list[str]:
    """The parts between commas that are not inside parentheses or quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for position, char in enumerate(text):
        if char == "'" and (position == 0 or text[position - 1] != "\\"):
            quoted = not quoted
        elif not quoted:
            depth += (char == "(") - (char == ")")
            if char == "," and depth == 0:
                parts.append(text[start:position])
                start = position + 1
    parts.append(text[start:])
    return [] if parts == [""] or (len(parts) == 1 and not parts[0].strip()) else [p.strip() for p in parts]
