"""Parsing: text to `Dim`, the inverse of `str`.

The grammar is the union of those in which ONNX tools write `dim_param`: RFC 0009, torch, onnxruntime, onnx-ir, Paddle.
A text that two of them read differently is rejected as ambiguous.

    maximum  = minimum ("^" minimum)*                                    RFC 0009: the larger one
    minimum  = sum ("&" sum)*                                            RFC 0009: the smaller one
    sum      = product (("+" | "-") product)*
    product  = power (("*" | "/" | "//" | "/:" | "%") power)*
    power    = ("-" | "+")* primary ("**" NUMBER)?
    primary  = NUMBER | DECIMAL | NAME | QUOTED | "(" maximum ")" | FUNCTION "(" maximum ("," maximum)* ")"

The functions are those of `dim_functions.FUNCTIONS`. `a / b` is exact: it must be an integer for all bindings, or be
rounded by a function such as floor or ceil. `a /: b` is an exact quotient too, and its writer asserts that it is an
integer. A DECIMAL is an exact binary fraction such as 0.5. A name that is not an identifier is quoted:
`'batch-size' + 1`. `-a ** 2`, `a ** 2 ** 2` and `a ^ 2` are rejected, because languages disagree about their meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NoReturn

from gather_infer.symbolic import ratios
from gather_infer.symbolic.dim_functions import FUNCTIONS
from gather_infer.symbolic.normal_form import MAX_BITS, Dim, DimTooLarge, symbol
from gather_infer.symbolic.ratios import ExactRatio, InexactValue

__all__ = ["AmbiguousDim", "DimSyntaxError", "InexactDim", "parse_dim"]

MAX_TEXT = 1 << 17
_MAX_DIGITS = 1300
_MAX_EXPONENT = 64
_MAX_NESTING = 4096
_MAX_DECIMAL_BITS = 24

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<number>[0-9]+)(?![A-Za-z0-9_.])
      | (?P<decimal>[0-9]+\.[0-9]+)(?![A-Za-z0-9_.])
      | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
      | (?P<quoted>'(?:[^'\\]|\\.)*')
      | (?P<operator>//|/:|\*\*|[-+*/%(),^&])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class DimSyntaxError(ValueError):
    """The text is not a dim. `position` is the offset of the problem, in characters from 0."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        super().__init__(f"{problem} at position {position} of {shown!r}")
        self.text = text
        self.position = position
        self.problem = problem


class InexactDim(DimSyntaxError):
    """The text is an expression that no dim equals: a fraction, a root, a rounded float, or an unknown function."""


class AmbiguousDim(DimSyntaxError):
    """The text is an expression that the tools which write such texts read differently."""


def parse_dim(text: str, names: Collection[str] | None = None, *, unquoted: Collection[str] = ()) -> Dim:
    """The dim that a text denotes. If `names` is given, every symbol must be among them.

    unquoted   names that are not identifiers and yet may occur without quotes, as sympy prints them:
               `2*batch-size` is twice `batch-size` if this is among them, which the longest match decides

    Raises DimSyntaxError when the text is malformed, too long or too large, divides by 0 or has an unknown name;
    InexactDim when the value has no exact form, AmbiguousDim when tools disagree about it.

        >>> print(gather_infer.parse_dim("2*seq + seq - 1"))
        3*seq - 1
    """
    if len(text) > MAX_TEXT:
        raise DimSyntaxError(text, MAX_TEXT, f"text of {len(text)} characters, the limit is {MAX_TEXT}")
    return _Parser(text, names, unquoted).parse()


@dataclass(slots=True, eq=False)
class _Open:
    """An open parenthesis, of a group or of a call, and the operands and operators read since."""

    position: int
    function: str | None
    values: list[ExactRatio]
    operators: list[tuple[str, int]]
    arguments: list[ExactRatio]


_PRECEDENCE = {"^": 1, "&": 2, "+": 3, "-": 3, "*": 4, "/": 4, "//": 4, "/:": 4, "%": 4, "neg": 5, "pos": 5, "**": 6}
_UNARY = {"-": "neg", "+": "pos"}
_IDENTITIES = ("pos", "**")


def _any_of(names: Collection[str]) -> re.Pattern[str]:
    """A pattern for blanks and the longest of the names that no further letter continues."""
    choices = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    return re.compile(rf"[ \t\r\n]*(?P<raw>{choices or '(?!)'})(?![A-Za-z0-9_.])")


class _Parser:
    """Operator-precedence parser with an explicit stack, so nesting costs no recursion."""

    def __init__(self, text: str, names: Collection[str] | None, unquoted: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.unquoted = _any_of(unquoted) if unquoted else None
        self.position = 0
        self.wants_value = True

    def fail(self, problem: str, position: int | None = None, kind: type[DimSyntaxError] = DimSyntaxError) -> NoReturn:
        raise kind(self.text, self.position if position is None else position, problem)

    def tokens(self) -> Iterator[tuple[str, str]]:
        """The kinds and texts of the tokens; `raw` is the kind of a name without the quotes that it needs."""
        at = 0
        while True:
            match = self.unquoted.match(self.text, at) if self.unquoted is not None and self.wants_value else None
            if match is None:
                match = _TOKEN.match(self.text, at)
            if match is None:
                self.position = len(self.text) - len(self.text[at:].lstrip(" \t\r\n"))
                self.fail("expected a number, a name, a quoted name, an operator or a parenthesis")
            kind = match.lastgroup
            assert kind is not None
            self.position = match.start(kind)
            yield kind, match.group(kind)
            at = match.end()

    def parse(self) -> Dim:
        levels = [_Open(0, None, [], [], [])]
        pending: str | None = None  # a name that may turn out to be a function
        pending_at = 0
        tokens = self.tokens()
        for kind, token in tokens:
            level = levels[-1]
            if pending is not None:
                if token == "(" and kind == "operator":
                    if pending not in FUNCTIONS:
                        self.fail(f"unknown function {pending}", pending_at, InexactDim)
                    self.open(levels, pending, pending_at)
                    pending = None
                    self.wants_value = True
                    continue
                level.values.append(self.name(pending, pending_at))
                pending = None
            if self.wants_value:
                if kind == "number":
                    level.values.append(ExactRatio(self.number(token, level)))
                elif kind == "decimal":
                    level.values.append(self.decimal(token))
                elif kind == "name":
                    pending, pending_at = token, self.position
                elif kind == "raw":
                    level.values.append(self.name(token, self.position))
                elif kind == "quoted":
                    unquoted = _ESCAPE.sub(lambda found: _UNESCAPED.get(found[1], found[1]), token[1:-1])
                    level.values.append(self.name(unquoted, self.position))
                elif token in _UNARY:
                    level.operators.append((_UNARY[token], self.position))
                    continue
                elif token == "(":
                    self.open(levels, None, self.position)
                    continue
                else:
                    self.fail("expected a number, a name or an opening parenthesis")
                self.wants_value = False
            elif kind == "end":
                if len(levels) > 1:
                    self.fail(f"expected ) to close the one at position {level.position}")
                return self.whole(self.reduced(level))
            elif kind != "operator" or token == "(":
                self.fail("expected an operator")
            elif token == ")":
                if len(levels) == 1:
                    self.fail("expected an operator or the end, there is no open parenthesis")
                levels.pop()
                value = self.reduced(level)
                if level.function is not None:
                    value = self.call(level.function, [*level.arguments, value], level.position)
                levels[-1].values.append(value)
            elif token == ",":
                if level.function is None:
                    self.fail("expected an operator or the end, a comma belongs to a function")
                level.arguments.append(self.reduced(level))
                self.wants_value = True
            elif token == "**":
                self.power(level, tokens)
            else:
                self.apply_down_to(level, _PRECEDENCE[token])
                level.operators.append((token, self.position))
                self.wants_value = True
        raise AssertionError("the tokens end with the end of the text")

    def open(self, levels: list[_Open], function: str | None, position: int) -> None:
        if len(levels) > _MAX_NESTING:
            self.fail(f"parentheses nested deeper than {_MAX_NESTING}")
        levels.append(_Open(position, function, [], [], []))

    def number(self, digits: str, level: _Open) -> int:
        if len(digits) > _MAX_DIGITS:
            self.fail(f"a number of {len(digits)} digits, the limit is {_MAX_DIGITS}")
        if level.operators and level.operators[-1][0] == "^" and int(digits) > 1:
            at = level.operators[-1][1]
            self.fail(f"^{digits[:8]} is a maximum in RFC 0009 and a power in JAX", at, AmbiguousDim)
        return int(digits)

    def decimal(self, digits: str) -> ExactRatio:
        if len(digits) <= _MAX_DECIMAL_BITS:
            value = Fraction(digits)
            if value.denominator & (value.denominator - 1) == 0:
                return ExactRatio(value.numerator, value.denominator)
        self.fail(f"{digits[:24]} is a float that was rounded", kind=InexactDim)

    def name(self, name: str, position: int) -> ExactRatio:
        if self.names is not None and name not in self.names:
            self.fail(f"unknown name {name!r}", position)
        return ExactRatio(symbol(name), 1)

    def power(self, level: _Open, tokens: Iterator[tuple[str, str]]) -> None:
        at = self.position
        if level.operators and level.operators[-1][0] in ("neg", "**"):
            sign, where = level.operators[-1]
            what = "a minus before **" if sign == "neg" else "a second **"
            self.fail(f"{what} is ambiguous, write parentheses", where, AmbiguousDim)
        kind, token = next(tokens)
        if kind != "number":
            self.fail("expected a number as exponent", kind=InexactDim)
        if len(token) > 4 or int(token) > _MAX_EXPONENT:
            self.fail(f"exponent {token[:8]} is outside [0, {_MAX_EXPONENT}]")
        base = level.values.pop()
        result = ExactRatio(1)
        for _ in range(int(token)):
            result = self.combined("*", result, base, at)
        level.values.append(result)
        level.operators.append(("**", at))  # applied already; only a second ** looks for it

    def reduced(self, level: _Open) -> ExactRatio:
        self.apply_down_to(level, 0)
        return level.values.pop()

    def apply_down_to(self, level: _Open, precedence: int) -> None:
        while level.operators and _PRECEDENCE[level.operators[-1][0]] >= precedence:
            operator, position = level.operators.pop()
            right = level.values.pop()
            if operator in _IDENTITIES:
                level.values.append(right)
            elif operator == "neg":
                level.values.append(ratios.negative(right))
            else:
                level.values.append(self.combined(operator, level.values.pop(), right, position))

    def combined(self, operator: str, a: ExactRatio, b: ExactRatio, position: int) -> ExactRatio:
        return self.checked(lambda: _OPERATIONS[operator](a, b), position)

    def call(self, name: str, arguments: Sequence[ExactRatio], position: int) -> ExactRatio:
        function = FUNCTIONS[name]
        least, most = function.least, function.most
        if len(arguments) < least or (most is not None and len(arguments) > most):
            self.fail(f"{name} takes {least} argument{'s' if least > 1 else ''}, {len(arguments)} given", position)
        return self.checked(lambda: function.apply(arguments), position)

    def whole(self, value: ExactRatio) -> Dim:
        """The value as a dim. Raises InexactDim unless it is an integer for all bindings."""
        return self.checked(lambda: ExactRatio(ratios.dim_of(value)), self.position).num

    def checked(self, operation: Callable[[], ExactRatio], position: int) -> ExactRatio:
        """The result of an operation on dims, whose errors become those of the text at `position`."""
        try:
            result = operation()
        except ZeroDivisionError:
            self.fail("division by 0", position)
        except DimTooLarge as problem:
            self.fail(str(problem), position)
        except InexactValue as problem:
            self.fail(str(problem), position, InexactDim)
        for part in (result.num, result.den):
            if isinstance(part, int) and part.bit_length() > MAX_BITS:
                self.fail(f"a number of more than {MAX_BITS} bits", position)
        return result


_OPERATIONS: Final[Mapping[str, Callable[[ExactRatio, ExactRatio], ExactRatio]]] = {
    "+": ratios.sum_of,
    "-": ratios.difference,
    "*": ratios.product_of,
    "/": ratios.quotient,
    "//": ratios.floor_quotient,
    "/:": ratios.floor_quotient,  # exact where the assertion of the writer holds
    "%": ratios.remainder,
    "^": lambda a, b: ratios.largest([a, b]),
    "&": lambda a, b: ratios.smallest([a, b]),
}
