"""The sizes that a caller makes dynamic: the axes of inputs that each symbol names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from onnx import ValueInfoProto

from gather_infer.errors import UsageError, close_match, suggestion
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.symbolic import Expr, evaluate, parse_dim, substitute
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.unfreezing.sizes.computed_sizes import Site


class Request(NamedTuple):
    """Sizes to be made dynamic.

    sites   symbol, or expression of symbols -> the input axes that have this size
    freed   symbol -> the old size
    rows    symbols that count rows, which are computed alone; others are lengths
    """

    sites: dict[str, list[Site]]
    freed: dict[str, int]
    rows: frozenset[str]

    def only(self, names: Iterable[str]) -> Request:
        """The request for some of the symbols; in expressions the others are numbers."""
        freed = {name: self.freed[name] for name in names}
        numbers = {name: size for name, size in self.freed.items() if name not in freed}
        sites: dict[str, list[Site]] = {}
        for text, found in self.sites.items():
            dim = substitute(parse_dim(text), numbers)
            if not isinstance(dim, int):
                sites.setdefault(str(dim), []).extend(found)
        return Request(sites, freed, self.rows & freed.keys())

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(map(str, found)) for name, found in self.sites.items()}


def parse_sizes(dims: Mapping[str, str] | Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of an axis and its size from `["ids.0=batch"]` or `{"ids.0": "batch"}`. Raises UsageError."""
    pairs = list(dims.items()) if isinstance(dims, Mapping) else [_split(text) for text in dims]
    if not pairs:
        raise UsageError("nothing to make dynamic: an entry such as 'ids.0=batch' is missing")
    return pairs


def requested(
    source: ModelFile,
    pairs: Iterable[tuple[str, str]],
    rows: Collection[str],
    lengths: Collection[str],
    *,
    has_counterpart: bool,
) -> Request:
    """The input axes that each symbol names, and the old sizes. Raises UsageError.

    A symbol counts rows if it is in `rows`, or if it is axis 0 wherever it occurs and not in `lengths`.
    """
    values = {value.name: value for value in fed_inputs(source.proto)}
    sites: dict[str, list[Site]] = {}
    freed: dict[str, int] = {}
    expressions: list[tuple[str, str, Site, int]] = []
    for place, symbol, site in named_axes(pairs, values):
        dim = values[site.input].type.tensor_type.shape.dim[site.axis]
        if dim.dim_param == symbol:
            continue  # added below
        if not dim.HasField("dim_value"):  # of an expression, as names have numbers
            raise UsageError(f"dim '{site}' is {dim.dim_param or 'unknown'}, not a number")
        if dim.dim_value < 1:
            raise UsageError(f"dim '{site}' is {dim.dim_value}; a size of at least 1 can be made dynamic")
        if not is_plain_name(symbol):
            expressions.append((place, symbol, site, dim.dim_value))
            continue
        size = freed.setdefault(symbol, dim.dim_value)
        if size != dim.dim_value:
            raise UsageError(f"dim '{site}' is {dim.dim_value}, but {symbol} is {size} at {_shown(sites[symbol])}")
        sites.setdefault(symbol, []).append(site)
    for name, value in values.items():  # axes that have the name already
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param in sites:
                sites[dim.dim_param].append(Site(name, axis))
    for place, text, site, size in expressions:
        wanted = _expression(place, text, freed)
        if evaluate(wanted, freed) != size:
            raise UsageError(f"dim '{site}' is {size}, but {text} is {evaluate(wanted, freed)}")
        sites.setdefault(str(wanted), []).append(site)
    for name in (*rows, *lengths):
        if name not in freed:
            raise UsageError(f"no size is made dynamic as {name!r}{close_match(name, freed)}")
        if name in rows and name in lengths:
            raise UsageError(f"{name} counts rows or is a length, not both")
    for name in rows:
        inputs = [site.input for site in sites[name]]
        if len(set(inputs)) < len(inputs):
            raise UsageError(f"rows are along one axis of an input, and {name} is the size of {_shown(sites[name])}")
    of_rows = {name for name in freed if name in rows or all(site.axis == 0 for site in sites[name])}
    request = Request(sites, freed, frozenset(of_rows.difference(lengths)))
    for symbol, size in freed.items():
        if size == 1 and symbol not in request.rows and not has_counterpart:
            raise UsageError(
                f"dim {_shown(sites[symbol][:1])!r} is 1; a length of at least 2 can be made dynamic, since constants"
                " of one position do not tell what another one gets, and --like OTHER, a second export, is missing;"
                f" --rows {symbol} if it counts independent rows, as a batch does"
            )
    return request


def named_axes(
    pairs: Iterable[tuple[str, str]], values: Mapping[str, ValueInfoProto]
) -> Iterator[tuple[str, str, Site]]:
    """The axes that entries such as `ids.0` or `*.0` name, each with its entry. Raises UsageError.

    An entry with the name of an input goes before patterns.
    """
    found: dict[Site, tuple[str, str, bool]] = {}
    for place, symbol in pairs:
        pattern, _, number = place.rpartition(".")
        if not pattern or not number.lstrip("-").isdecimal():
            raise UsageError(f"dim {place!r}: expected input.axis, such as {_example(values)}")
        if not symbol:
            raise UsageError(f"dim {place!r}: the new name is missing, such as {place}=batch")
        matched = [pattern] if pattern in values else [name for name in values if fnmatchcase(name, pattern)]
        if not matched:
            raise UsageError(f"no input {pattern!r}{suggestion(pattern, values)}")
        axis, ranks = int(number), {name: len(values[name].type.tensor_type.shape.dim) for name in matched}
        if not any(-rank <= axis < rank for rank in ranks.values()):
            raise UsageError(f"dim {place!r}: {_axes(ranks)}")
        for name, rank in ranks.items():
            if not -rank <= axis < rank:
                continue
            site = Site(name, axis % rank)
            _, other, is_exact = found.get(site, ("", symbol, False))
            if other != symbol and is_exact == (pattern == name):
                raise UsageError(f"dim '{site}' cannot be {other} and {symbol}")
            if not is_exact:
                found[site] = (place, symbol, pattern == name)
    for site, (place, symbol, _) in found.items():
        yield place, symbol, site


def _expression(place: str, text: str, freed: Mapping[str, int]) -> Expr:
    """An expression of freed symbols. Raises UsageError."""
    try:
        dim = parse_dim(text)
    except ValueError as fault:
        raise UsageError(f"dim {place!r}: {text!r} is neither a name nor an expression: {fault}") from fault
    if isinstance(dim, int):
        raise UsageError(f"dim {place!r}: expected a name, such as batch, found the number {text}")
    unknown = [symbol for symbol in sorted(dim.symbols) if symbol not in freed]
    if unknown:
        raise UsageError(
            f"dim {place!r}: {text!r} is not an expression of new names: no --dim gives an axis the name {unknown[0]}"
        )
    return dim


def _split(text: str) -> tuple[str, str]:
    place, equals, symbol = text.partition("=")
    if not equals:
        raise UsageError(f"dim {text!r}: expected input.axis=name, such as ids.0=batch")
    return place.strip(), symbol.strip()


def _example(values: Iterable[str]) -> str:
    return next((f"{name}.0" for name in values), "ids.0")


def _axes(ranks: Mapping[str, int]) -> str:
    """How many axes inputs have, counted from 0: `input x has 2 axes, 0 to 1`."""
    (name, rank), *others = ranks.items()
    if others:
        return f"none of the {len(ranks)} inputs has this axis; the largest rank is {max(ranks.values())}"
    return f"input {name} has " + {0: "no axes", 1: "1 axis, 0"}.get(rank, f"{rank} axes, 0 to {rank - 1}")


def _shown(sites: Iterable[Site]) -> str:
    return ", ".join(map(str, sites))
