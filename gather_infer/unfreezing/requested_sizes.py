"""The sizes that a caller makes dynamic: the axes of inputs that each symbol names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from gather_infer.errors import UsageError, close_match
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.symbolic import Expr, evaluate, parse_dim, substitute
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.unfreezing.computed_sizes import Site


class Request(NamedTuple):
    """Sizes to be made dynamic.

    sites   symbol, or expression of symbols -> the input axes that have this size
    freed   symbol -> the old size
    """

    sites: dict[str, list[Site]]
    freed: dict[str, int]

    def only(self, names: Iterable[str]) -> Request:
        """The request for some of the symbols; in expressions the others are numbers."""
        freed = {name: self.freed[name] for name in names}
        numbers = {name: size for name, size in self.freed.items() if name not in freed}
        sites: dict[str, list[Site]] = {}
        for text, found in self.sites.items():
            dim = substitute(parse_dim(text), numbers)
            if not isinstance(dim, int):
                sites.setdefault(str(dim), []).extend(found)
        return Request(sites, freed)

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(f"{site.input}.{site.axis}" for site in found) for name, found in self.sites.items()}


def requested(source: ModelFile, dims: Mapping[str, str] | Iterable[str], *, has_counterpart: bool) -> Request:
    """The input axes that each symbol names, and the old sizes. Raises UsageError."""
    pairs = list(dims.items()) if isinstance(dims, Mapping) else [_split(text) for text in dims]
    if not pairs:
        raise UsageError("nothing to make dynamic: an entry such as 'ids.0=batch' is missing")
    values = {value.name: value for value in fed_inputs(source.proto)}
    sites: dict[str, list[Site]] = {}
    freed: dict[str, int] = {}
    expressions: list[tuple[str, str, str, int, int]] = []
    for place, symbol in pairs:
        pattern, _, number = place.rpartition(".")
        if not pattern or not number.lstrip("-").isdecimal():
            raise UsageError(f"dim {place!r}: expected input.axis, such as ids.0")
        is_name = is_plain_name(symbol)
        matched = [name for name in values if name == pattern] or [n for n in values if fnmatchcase(n, pattern)]
        if not matched:
            raise UsageError(f"no input {pattern!r}{close_match(pattern, values)}")
        for name in matched:
            shape = values[name].type.tensor_type.shape.dim
            axis = int(number)
            if not -len(shape) <= axis < len(shape):
                if len(matched) > 1 or pattern != name:
                    continue
                raise UsageError(f"dim {place!r}: input {name} has {len(shape)} axes")
            site = Site(name, axis % len(shape))
            dim = shape[site.axis]
            if dim.dim_param == symbol:
                continue  # added below
            if not dim.HasField("dim_value"):
                raise UsageError(f"dim {place!r} is {dim.dim_param or 'unknown'}, not a number")
            if dim.dim_value < 1:
                raise UsageError(f"dim {place!r} is {dim.dim_value}; a size of at least 1 can be made dynamic")
            if not is_name:
                expressions.append((place, symbol, name, site.axis, dim.dim_value))
                continue
            size = freed.setdefault(symbol, dim.dim_value)
            if size != dim.dim_value:
                raise UsageError(f"dim {place!r} is {dim.dim_value}, but {symbol} is {size} at {_shown(sites[symbol])}")
            sites.setdefault(symbol, []).append(site)
    for name, value in values.items():  # axes that have the name already
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param in sites:
                sites[dim.dim_param].append(Site(name, axis))
    for place, text, name, axis, size in expressions:
        dim = _expression(place, text, freed)
        if evaluate(dim, freed) != size:
            raise UsageError(f"dim {place!r} is {size}, but {text} is {evaluate(dim, freed)}")
        sites.setdefault(str(dim), []).append(Site(name, axis))
    for symbol, size in freed.items():
        if size == 1 and not is_of_rows(sites[symbol]) and not has_counterpart:
            raise UsageError(
                f"dim {_shown(sites[symbol][:1])!r} is 1; a length of at least 2 can be made dynamic, since constants"
                " of one position do not tell what another one gets, and --like OTHER, a second export, is missing"
            )
    if not sites:
        raise UsageError(f"no input has a number at {', '.join(place for place, _ in pairs)}")
    return Request(sites, freed)


def is_of_rows(sites: Iterable[Site]) -> bool:
    """Whether a symbol counts rows, which are computed alone: it is axis 0 wherever it occurs. Else it is a length."""
    return all(site.axis == 0 for site in sites)


def _expression(place: str, text: str, freed: Mapping[str, int]) -> Expr:
    """An expression of freed symbols. Raises UsageError."""
    try:
        dim = parse_dim(text)
    except ValueError as fault:
        raise UsageError(f"dim {place!r}: {text!r} is neither a name nor an expression: {fault}") from fault
    if isinstance(dim, int) or not dim.symbols <= freed.keys():
        raise UsageError(f"dim {place!r}: {text!r} is not an expression of {', '.join(freed) or 'other new names'}")
    return dim


def _split(text: str) -> tuple[str, str]:
    place, equals, symbol = text.partition("=")
    if not equals:
        raise UsageError(f"dim {text!r}: expected input.axis=name, such as ids.0=batch")
    return place.strip(), symbol.strip()


def _shown(sites: Iterable[Site]) -> str:
    return ", ".join(f"{site.input}.{site.axis}" for site in sites)
