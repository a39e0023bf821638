"""Parsing: text to `Dim`, the inverse of `str`.

The grammar is that of ONNX `dim_param` expressions as onnx-ir reads them:

    sum      = product (("+" | "-") product)*
    product  = power (("*" | "/" | "//" | "%") power)*
    power    = "-"* primary ("**" NUMBER)?
    primary  = NUMBER | NAME | QUOTED | "(" sum ")" | FUNCTION "(" sum ("," sum)* ")"

FUNCTION is max, min, mod, floor or ceil (Max, Min, Mod and ceiling are accepted too). `a / b` is exact: it must be an
integer for all bindings, or be the argument of floor or ceil. A name that is not an identifier is quoted: `'batch-size'
+ 1`. `-a ** 2` is rejected, because languages disagree about its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NoReturn

from gather_infer.symbolic.division import ceildiv, floordiv, mod
from gather_infer.symbolic.min_max import maximum, minimum
from gather_infer.symbolic.normal_form import MAX_BITS, Dim, DimTooLarge, symbol, terms_of

__all__ = ["DimSyntaxError", "parse_dim"]

MAX_TEXT = 1 << 17
_MAX_DIGITS = 1300
_MAX_EXPONENT = 64
_MAX_NESTING = 4096

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<number>[0-9]+)(?![A-Za-z0-9_.])
      | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
      | (?P<quoted>'(?:[^'\\]|\\.)*')
      | (?P<operator>//|\*\*|[-+*/%(),])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t"}

# function: (least, most) number of arguments
_FUNCTIONS = {"max": (1, None), "min": (1, None), "mod": (2, 2), "floor": (1, 1), "ceil": (1, 1)}
_ALIASES = {"Max": "max", "Min": "min", "Mod": "mod", "ceiling": "ceil"}


class DimSyntaxError(ValueError):
    """The text is not a dim. `position` is the offset of the problem, in characters from 0."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        shown = text if len(text) <= 80 else text[:77] + "..."
        super().__init__(f"{problem} at position {position} of {shown!r}")
        self.text = text
        self.position = position
        self.problem = problem


def parse_dim(text: str, names: Collection[str] | None = None) -> Dim:
    """The dim that a text denotes. If `names` is given, every symbol must be among them.

    Raises DimSyntaxError when the text is malformed, too long or too large, divides by 0 or has an unknown name.

        >>> print(gather_infer.parse_dim("2*seq + seq - 1"))
        3*seq - 1
    """
    if len(text) > MAX_TEXT:
        raise DimSyntaxError(text, MAX_TEXT, f"text of {len(text)} characters, the limit is {MAX_TEXT}")
    return _Parser(text, names).parse()


@dataclass(slots=True)
class _Ratio:
    """The value num / den, which need not be an integer before floor or ceil is applied."""

    num: Dim
    den: Dim


@dataclass(slots=True)
class _Open:
    """An open parenthesis, of a group or of a call, and the operands and operators read since."""

    position: int
    function: str | None
    values: list[_Ratio]
    operators: list[tuple[str, int]]
    arguments: list[_Ratio]


_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "neg": 3}


class _Parser:
    """Operator-precedence parser with an explicit stack, so nesting costs no recursion."""

    def __init__(self, text: str, names: Collection[str] | None) -> None:
        self.text = text
        self.names = names
        self.position = 0

    def fail(self, problem: str, position: int | None = None) -> NoReturn:
        raise DimSyntaxError(self.text, self.position if position is None else position, problem)

    def tokens(self) -> Iterator[tuple[str, str]]:
        at = 0
        while True:
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
        want_value = True
        pending: str | None = None  # a name that may turn out to be a function
        pending_at = 0
        tokens = self.tokens()
        for kind, token in tokens:
            level = levels[-1]
            if pending is not None:
                if token == "(" and kind == "operator":
                    function = _ALIASES.get(pending, pending)
                    if function not in _FUNCTIONS:
                        known = ", ".join(sorted(_FUNCTIONS))
                        self.fail(f"unknown function {pending}, expected one of {known}", pending_at)
                    self.open(levels, function, pending_at)
                    pending = None
                    want_value = True
                    continue
                level.values.append(self.name(pending, pending_at))
                pending = None
            if want_value:
                if kind == "number":
                    level.values.append(_Ratio(self.number(token), 1))
                elif kind == "name":
                    pending, pending_at = token, self.position
                elif kind == "quoted":
                    unquoted = _ESCAPE.sub(lambda found: _UNESCAPED.get(found[1], found[1]), token[1:-1])
                    level.values.append(self.name(unquoted, self.position))
                elif token == "-":
                    level.operators.append(("neg", self.position))
                    continue
                elif token == "(":
                    self.open(levels, None, self.position)
                    continue
                else:
                    self.fail("expected a number, a name or an opening parenthesis")
                want_value = False
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
                want_value = True
            elif token == "**":
                self.power(level, tokens)
            else:
                self.apply_down_to(level, _PRECEDENCE[token])
                level.operators.append((token, self.position))
                want_value = True
        raise AssertionError("the tokens end with the end of the text")

    def open(self, levels: list[_Open], function: str | None, position: int) -> None:
        if len(levels) > _MAX_NESTING:
            self.fail(f"parentheses nested deeper than {_MAX_NESTING}")
        levels.append(_Open(position, function, [], [], []))

    def number(self, digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            self.fail(f"a number of {len(digits)} digits, the limit is {_MAX_DIGITS}")
        return int(digits)

    def name(self, name: str, position: int) -> _Ratio:
        if self.names is not None and name not in self.names:
            self.fail(f"unknown name {name!r}", position)
        return _Ratio(symbol(name), 1)

    def power(self, level: _Open, tokens: Iterator[tuple[str, str]]) -> None:
        at = self.position
        if level.operators and level.operators[-1][0] == "neg":
            self.fail("a minus before ** is ambiguous, write parentheses", level.operators[-1][1])
        kind, token = next(tokens)
        if kind != "number":
            self.fail("expected a number as exponent")
        if len(token) > 4 or int(token) > _MAX_EXPONENT:
            self.fail(f"exponent {token[:8]} is outside [0, {_MAX_EXPONENT}]")
        base = level.values.pop()
        result = _Ratio(1, 1)
        for _ in range(int(token)):
            result = self.combined("*", result, base, at)
        level.values.append(result)

    def reduced(self, level: _Open) -> _Ratio:
        self.apply_down_to(level, 0)
        return level.values.pop()

    def apply_down_to(self, level: _Open, precedence: int) -> None:
        while level.operators and _PRECEDENCE[level.operators[-1][0]] >= precedence:
            operator, position = level.operators.pop()
            right = level.values.pop()
            if operator == "neg":
                level.values.append(_Ratio(-right.num, right.den))
            else:
                level.values.append(self.combined(operator, level.values.pop(), right, position))

    def combined(self, operator: str, a: _Ratio, b: _Ratio, position: int) -> _Ratio:
        try:
            result = _OPERATIONS[operator](a, b)
        except ZeroDivisionError:
            self.fail("division by 0", position)
        except DimTooLarge as problem:
            self.fail(str(problem), position)
        for part in (result.num, result.den):
            if isinstance(part, int) and part.bit_length() > MAX_BITS:
                self.fail(f"a number of more than {MAX_BITS} bits", position)
        return result

    def call(self, function: str, arguments: list[_Ratio], position: int) -> _Ratio:
        least, most = _FUNCTIONS[function]
        if len(arguments) < least or (most is not None and len(arguments) > most):
            self.fail(f"{function} takes {least} argument{'s' if least > 1 else ''}, {len(arguments)} given", position)
        try:
            if function == "floor":
                return _Ratio(floordiv(arguments[0].num, arguments[0].den), 1)
            if function == "ceil":
                return _Ratio(ceildiv(arguments[0].num, arguments[0].den), 1)
            if function == "mod":
                return self.combined("%", arguments[0], arguments[1], position)
            dims = [self.whole(argument) for argument in arguments]
            return _Ratio(minimum(*dims) if function == "min" else maximum(*dims), 1)
        except ZeroDivisionError:
            self.fail("division by 0", position)
        except DimTooLarge as problem:
            self.fail(str(problem), position)

    def whole(self, value: _Ratio) -> Dim:
        """The quotient, if the denominator divides the numerator for all bindings; else raises DimSyntaxError."""
        if isinstance(value.den, int) and value.den != 0:
            if value.den == 1:
                return value.num
            if all(coefficient % value.den == 0 for _, coefficient in terms_of(value.num)):
                return floordiv(value.num, value.den)
        self.fail("'/' may leave a fraction, expected floor(...), ceil(...) or '//' around it")


def _plus(a: _Ratio, b: _Ratio) -> _Ratio:
    if a.den == 1 == b.den:
        return _Ratio(a.num + b.num, 1)
    return _Ratio(a.num * b.den + b.num * a.den, a.den * b.den)


def _minus(a: _Ratio, b: _Ratio) -> _Ratio:
    return _plus(a, _Ratio(-b.num, b.den))


def _times(a: _Ratio, b: _Ratio) -> _Ratio:
    return _Ratio(a.num * b.num, a.den * b.den)


def _over(a: _Ratio, b: _Ratio) -> _Ratio:
    if isinstance(b.num, int) and b.num == 0:
        raise ZeroDivisionError
    return _Ratio(a.num * b.den, a.den * b.num)


def _floor(a: _Ratio, b: _Ratio) -> _Ratio:
    ratio = _over(a, b)
    return _Ratio(floordiv(ratio.num, ratio.den), 1)


def _mod(a: _Ratio, b: _Ratio) -> _Ratio:
    if a.den == 1 == b.den:
        return _Ratio(mod(a.num, b.num), 1)
    return _minus(a, _times(b, _floor(a, b)))


_OPERATIONS = {"+": _plus, "-": _minus, "*": _times, "/": _over, "//": _floor, "%": _mod}
