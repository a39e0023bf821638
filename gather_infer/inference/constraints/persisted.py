"""Dim constraints persisted in `metadata_props`, as objects and as text: `seq=1..512; total=past+seq`.

The types of a file cannot express a bound or a relation given by `--dim`. Inferred types that depend on it hold for
such sizes only, so it is written with them, under `KEY`, and read back as declared. An entry is `DIM=LOW..HIGH`, where
either bound may be left out, or `DIM=DIM`; a dim is a name of the inputs or an expression of them, with unusual names
in quotes. An entry `'2*n'=2*n` declares that the dim name on the left stands for the expression on the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Final

from onnx import ModelProto

from gather_infer.inference.proto.types import expression_of
from gather_infer.symbolic import Dim, DimSyntaxError, Expr, Interval, free_symbols, parse_dim

KEY: Final = "gather_infer.dims"
"""The key of `metadata_props`."""

BOUNDS: Final = re.compile(r"([0-9]{0,40})\s*\.\.\s*([0-9]{0,40})")
"""`LOW..HIGH`."""

_MAX_TEXT = 1 << 16
_BLANKS = re.compile(r"('(?:[^'\\]|\\.)*')|\s+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DimConstraint:
    """A constraint on a dim in every run for which a file is valid: `value` bounds it, or equals it."""

    dim: Expr
    value: Interval | Dim

    def __str__(self) -> str:
        return f"{_compact(str(self.dim))}={_value(self.value)}"


def _value(value: Interval | Dim) -> str:
    if not isinstance(value, Interval):
        return _compact(str(value))
    return f"{value.lo or 0}..{'' if value.hi is None else value.hi}"


def _compact(text: str) -> str:
    """The text of a dim without blanks outside quotes."""
    return _BLANKS.sub(lambda found: found[1] or "", text)


def text_of(constraints: Iterable[DimConstraint]) -> str:
    """The value of `KEY`, independent of the order of the constraints."""
    return "; ".join(sorted(set(map(str, constraints))))


def persisted_texts(model: ModelProto) -> list[str]:
    """The values of `KEY`; at most one, unless another tool writes that key."""
    return [entry.value for entry in model.metadata_props if entry.key == KEY]


def read_persisted(texts: Iterable[str], names: Set[str]) -> tuple[list[DimConstraint], list[str], frozenset[str]]:
    """Parse values of `KEY`: the constraints, relations first; errors of malformed entries; new symbols.

    names   the symbols of the inputs. Other names inside a name that an entry defines as an expression are symbols as
            well
    """
    entries: list[tuple[str, str]] = []
    faults: list[str] = []
    for text in texts:
        if len(text) > _MAX_TEXT:
            faults.append(f"it has {len(text)} characters, the limit is {_MAX_TEXT}")
            continue
        for entry in filter(None, split(text, ";")):
            dim, *values = split(entry, "=")
            if len(values) == 1:
                entries.append((dim, values[0]))
            else:
                faults.append(f"an entry must read DIM=LOW..HIGH or DIM=DIM, found {entry!r}")
    spelt_out = frozenset(name for left, right in entries for name in _expression_symbols(left, right, names))
    constraints: list[DimConstraint] = []
    for left, right in entries:
        try:
            constraints.append(_constraint(left, right, names | spelt_out))
        except DimSyntaxError as error:
            faults.append(f"{left}={right}: {error}")
    return sorted(constraints, key=lambda s: isinstance(s.value, Interval)), faults, spelt_out - names


def _constraint(left: str, right: str, names: Set[str]) -> DimConstraint:
    """Raises DimSyntaxError."""
    dim = parse_dim(left, names=names)
    if isinstance(dim, int):
        raise DimSyntaxError(left, 0, "expected a dim with a name in it")
    bounds = BOUNDS.fullmatch(right)
    if bounds is None:
        return DimConstraint(dim, parse_dim(right, names=names))
    return DimConstraint(dim, Interval(int(bounds[1] or 0), int(bounds[2]) if bounds[2] else None))


def _expression_symbols(left: str, right: str, names: Set[str]) -> Set[str]:
    """The symbols of an entry that defines an input dim's name, on the left, as an expression, on the right."""
    try:
        dim, value = parse_dim(left, names=names), parse_dim(right)
    except DimSyntaxError:
        return frozenset()
    symbols = free_symbols(value)
    is_same = isinstance(dim, Expr) and dim.is_symbol and dim != value and expression_of(dim.name, symbols) == value
    return symbols if is_same else frozenset()


def split(text: str, separator: str) -> list[str]:
    """Split at separators outside parentheses and quotes; the parts have no surrounding blanks."""
    parts, depth, quoted, escaped, start = [], 0, False, False, 0
    for position, char in enumerate(text):
        if escaped or (quoted and char == "\\"):
            escaped = not escaped
        elif char == "'":
            quoted = not quoted
        elif not quoted:
            depth += (char == "(") - (char == ")")
            if char == separator and depth == 0:
                parts.append(text[start:position])
                start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts]
