"""Dim constraints persisted in `metadata_props`, as objects and as text: `seq=1..512; total=past+seq`.

The types of a file cannot express a bound or a relation given by `--dim`. Inferred types that depend on such a
constraint are valid only under it. So the constraint is written with the types, under `KEY`, and read back as declared.

An entry is `DIM=LOW..HIGH`, where either bound may be left out, or `DIM=DIM`. A dim is a dim name of the inputs or an
expression of such names, with unusual names in quotes. An entry `'2*n'=2*n` declares that the dim name on the left
stands for the expression on the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import Final, NamedTuple

from onnx import ModelProto

from gather_infer.inference.proto.dim_texts import expression_of
from gather_infer.symbolic import Dim, DimSyntaxError, Expr, Interval, free_symbols, parse_dim

KEY: Final = "gather_infer.dims"
"""Key of the entry of `metadata_props` that holds the constraints."""

BOUNDS: Final = re.compile(r"([0-9]{0,40})\s*\.\.\s*([0-9]{0,40})")
"""Pattern of `LOW..HIGH`, where either number may be missing."""

_MAX_TEXT = 1 << 16
_BLANKS = re.compile(r"('(?:[^'\\]|\\.)*')|\s+", re.DOTALL)


class DimConstraint(NamedTuple):
    """A constraint on `dim` that limits the runs for which a file is valid: bounds, or a dim that it equals."""

    dim: Expr
    value: Interval | Dim

    def __str__(self) -> str:
        return f"{_compact(str(self.dim))}={_value(self.value)}"


def _value(value: Interval | Dim) -> str:
    if not isinstance(value, Interval):
        return _compact(str(value))
    return f"{value.lo or 0}..{'' if value.hi is None else value.hi}"


def _compact(text: str) -> str:
    """`text` without blanks, except inside quotes."""
    return _BLANKS.sub(lambda found: found[1] or "", text)


def text_of(constraints: Iterable[DimConstraint]) -> str:
    """The text to store under `KEY`, independent of the order of the constraints."""
    return "; ".join(sorted(set(map(str, constraints))))


def persisted_texts(model: ModelProto) -> list[str]:
    """The texts stored under `KEY` in a model; at most one, unless another tool writes the key too."""
    return [entry.value for entry in model.metadata_props if entry.key == KEY]


def read_persisted(texts: Iterable[str], names: Set[str]) -> tuple[list[DimConstraint], list[str], frozenset[str]]:
    """Parse texts stored under `KEY` into constraints, relations first, error messages, and new symbols.

    names   symbols of the inputs

    New symbols come from entries that define a dim name as an expression, `'2*n'=2*n`, in which n is new.
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
    """The constraint of the entry `left=right`.

    Raises DimSyntaxError when a side is malformed or `left` is a number.
    """
    dim = parse_dim(left, names=names)
    if isinstance(dim, int):
        raise DimSyntaxError(left, 0, "expected a dim with a name in it")
    bounds = BOUNDS.fullmatch(right)
    if bounds is None:
        return DimConstraint(dim, parse_dim(right, names=names))
    return DimConstraint(dim, Interval(int(bounds[1] or 0), int(bounds[2]) if bounds[2] else None))


def _expression_symbols(left: str, right: str, names: Set[str]) -> Set[str]:
    """The symbols in `right` if `left` is a dim name whose text is that expression; else none."""
    try:
        dim, value = parse_dim(left, names=names), parse_dim(right)
    except DimSyntaxError:
        return frozenset()
    symbols = free_symbols(value)
    is_same = isinstance(dim, Expr) and dim.is_symbol and dim != value and expression_of(dim.name, symbols) == value
    return symbols if is_same else frozenset()


def split(text: str, separator: str) -> list[str]:
    """The parts of `text` between separators that are outside parentheses and quotes, without surrounding blanks."""
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
