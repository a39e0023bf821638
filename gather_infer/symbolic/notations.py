"""Notations: how the tools that read and write ONNX files spell the same dim."""

from __future__ import annotations

import keyword
import re
from typing import Final, NamedTuple

__all__ = ["DEFAULT", "NOTATIONS", "InexpressibleDim", "Notation"]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOTTED: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")


class InexpressibleDim(ValueError):
    """A dim that a notation has no text for."""


class Notation(NamedTuple):
    """How a dim is spelt. The patterns have a place for each operand.

    name         the name of the dialect
    quotient     pattern of n // d
    remainder    pattern of n % d
    minimum      pattern of a minimum of two dims, or the name of the function
    maximum      likewise
    names        the names that an expression may contain
    quotes       whether another name is put in quotes
    reserved     names that an expression cannot contain although `names` matches them
    max_number   the largest number; None for no limit
    """

    name: str
    quotient: str
    remainder: str
    minimum: str
    maximum: str
    names: re.Pattern[str]
    quotes: bool = False
    reserved: frozenset[str] = frozenset()
    max_number: int | None = None

    @property
    def calls(self) -> bool:
        """Whether quotients bind tighter than any operator: a call, or parentheses around them."""
        return self.quotient.endswith(")")

    @property
    def calls_remainder(self) -> bool:
        """Whether remainders are calls."""
        return self.remainder.endswith(")")

    def spelt(self, name: str) -> str:
        """The name as it occurs in an expression. Raises InexpressibleDim if it cannot."""
        if self.names.match(name) is not None and name not in self.reserved:
            return name
        if not self.quotes:
            raise InexpressibleDim(f"the dialect {self.name} has no expressions with the name {name!r}")
        return "'" + "".join(_ESCAPES.get(character, character) for character in name) + "'"

    def number(self, value: int) -> str:
        """The digits of a number. Raises InexpressibleDim if it is too large."""
        if self.max_number is not None and abs(value) > self.max_number:
            raise InexpressibleDim(f"the dialect {self.name} has no number {value}")
        return str(value)


_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_KEYWORDS: Final = frozenset(keyword.kwlist)

DEFAULT: Final = Notation("gather-infer", "{}//{}", "{} % {}", "min", "max", _DOTTED, quotes=True)
"""The notation of `str` and of files written without a dialect; onnx-ir reads it too."""

_SYMPY: Final = ("floor({}/{})", "Mod({}, {})", "Min", "Max", _DOTTED)

NOTATIONS: Final = {
    notation.name: notation
    for notation in (
        DEFAULT,
        # `Max` is in the grammar, but the evaluation of expressions knows the operators alone
        Notation("rfc0009", "{}//{}", "{} % {}", "({} & {})", "({} ^ {})", _IDENTIFIER, max_number=2**63 - 1),
        Notation("torch", "({}//{})", "PythonMod({}, {})", "Min", "Max", _IDENTIFIER, reserved=_KEYWORDS),
        Notation("onnxruntime", *_SYMPY, reserved=_KEYWORDS),
        Notation("onnx-ir", *_SYMPY),
        # a Paddle model gets its expressions from sympy, by onnxruntime's script
        Notation("paddle", *_SYMPY, reserved=_KEYWORDS),
    )
}
"""The notations by name."""
