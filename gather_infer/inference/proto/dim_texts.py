"""The meaning of a dim_param: a name, or an expression of the input symbols.

ONNX defines a dim_param as a name, and runtimes compare it literally; exporters also write expressions into it. These
rules decide, in this order (`docs/dims.md` has examples):

1. An identifier, also one in blanks or quotes, and a number are names.
2. A text that only joins words with `-` or `/` is a name: `batch-size`, `a-b`, `batch/2`.
3. A text that parses as an expression of input symbols alone is that expression, unless it also parses with an input
   symbol that is no identifier, as another one.
4. Any other text is a name.

Where the text could be taken for the other kind, or has no exact value, there is a note.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Set
from itertools import chain, combinations
from typing import Final, NamedTuple

from gather_infer.symbolic import (
    AmbiguousDim,
    Dim,
    DimSyntaxError,
    Expr,
    InexactDim,
    free_symbols,
    parse_dim,
)
from gather_infer.symbolic.printing import is_plain_name

_WORD: Final = r"[A-Za-z0-9_.]+"
_PADDED_NAME: Final = re.compile(r"\s*(?:[A-Za-z_][A-Za-z0-9_.]*|'(?:[^'\\]|\\.)*')\s*", re.DOTALL)
_NUMBER: Final = re.compile(r"\s*-?[0-9]+\s*\Z")
_JOINED_WORDS: Final = re.compile(rf"{_WORD}(?:[-/]{_WORD})+\Z")
_OPERAND: Final = re.compile(r"(?<![A-Za-z0-9_.])[A-Za-z_][A-Za-z0-9_.]*(?!\s*\()")
"""An identifier that is not the name of a function."""

_MAX_ODD: Final = 4
"""Names of one text that are no identifiers, of which every combination is tried."""


class NoteKind(enum.Enum):
    """Why a text is noted.

    NAME     it reads like an expression, and is taken as a name
    INEXACT  it is an expression without an exact form, and its size is unknown
    """

    NAME = "name"
    INEXACT = "inexact"


class DimText(NamedTuple):
    """The meaning of a dim_param.

    expression  the expression that it denotes; None for a name
    note        the kind of the note about it, if there is one
    why         the reason for the note
    """

    text: str
    expression: Expr | None = None
    note: NoteKind | None = None
    why: str = ""


def read_dim_text(text: str, names: Set[str]) -> DimText:
    """The meaning of a dim_param, where `names` are the input symbols."""
    if is_plain_name(text):
        return DimText(text)
    if _PADDED_NAME.fullmatch(text):
        inner = text.strip()
        bare = inner[1:-1] if inner.startswith("'") else inner
        return _name(text, f"blanks or quotes make it another name than {bare!r}" if bare in names else "")
    if _NUMBER.match(text):
        return _name(text, f"it is a name, not the number {text.strip()}")
    if _JOINED_WORDS.match(text):
        known = [word for word in re.findall(_WORD, text) if word in names]
        fraction = _parsed(text, ())
        if known and isinstance(fraction, InexactDim):
            return DimText(text, note=NoteKind.INEXACT, why=fraction.problem)
        return _name(text, f"it may be a word or an expression of {_listed(known)}" if known else "")
    own = names - {text}
    odd = {name for name in own if name and not is_plain_name(name) and name in text}
    found = [_parsed(text, chosen) for chosen in _subsets(odd)]
    readings = {r for r in found if isinstance(r, (int, Expr)) and free_symbols(r) <= own}
    if len(readings) > 1:
        return _name(text, f"it can be read with the name {_listed(sorted(odd))}, and without it")
    if readings:
        (dim,) = readings
        # runtimes give a constant as text any size, like a name
        return DimText(text, dim) if isinstance(dim, Expr) else _name(text, f"it is a name, not the number {dim}")
    return _unread(text, found[0], own)


def _unread(text: str, found: Dim | DimSyntaxError, names: Set[str]) -> DimText:
    """The meaning of a text that is no expression of input symbols: a name."""
    if isinstance(found, (int, Expr)):
        unknown = sorted(free_symbols(found) - names)
        return _name(text, f"no input has {'the dim' if len(unknown) == 1 else 'the dims'} {_listed(unknown)}")
    if not isinstance(found, (AmbiguousDim, InexactDim)) or names.isdisjoint(_OPERAND.findall(text)):
        return DimText(text)
    return DimText(text, note=NoteKind.NAME if isinstance(found, AmbiguousDim) else NoteKind.INEXACT, why=found.problem)


def _name(text: str, why: str) -> DimText:
    return DimText(text, note=NoteKind.NAME if why else None, why=why)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def _subsets(names: Set[str]) -> Iterator[tuple[str, ...]]:
    """The subsets of the names, the empty one first; of more than _MAX_ODD names the empty one and all."""
    sizes = range(len(names) + 1) if len(names) <= _MAX_ODD else (0, len(names))
    return chain.from_iterable(combinations(sorted(names), size) for size in sizes)


def _parsed(text: str, odd: Iterable[str]) -> Dim | DimSyntaxError:
    try:
        return parse_dim(text, unquoted=tuple(odd))
    except DimSyntaxError as problem:
        return problem


def expression_of(text: str, names: Set[str]) -> Expr | None:
    """The expression of input symbols that a dim_param denotes; None if it is a name."""
    return None if is_plain_name(text) else read_dim_text(text, names).expression
