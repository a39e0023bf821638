"""Functions in the text of dims, by the names that ONNX tools write them with.

One name has one meaning in all dialects that have it; `docs/dims.md` lists which tool writes which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, NamedTuple, TypeAlias

from gather_infer.symbolic import ratios
from gather_infer.symbolic.ratios import ExactRatio, InexactValue

__all__ = ["FUNCTIONS", "Function"]

Apply: TypeAlias = Callable[[Sequence[ExactRatio]], ExactRatio]


class Function(NamedTuple):
    """A function of dims with its least and greatest number of arguments; `most` is None for no limit."""

    least: int
    most: int | None
    apply: Apply


def _unary(apply: Callable[[ExactRatio], ExactRatio]) -> Function:
    return Function(1, 1, lambda arguments: apply(arguments[0]))


def _binary(apply: Callable[[ExactRatio, ExactRatio], ExactRatio]) -> Function:
    return Function(2, 2, lambda arguments: apply(arguments[0], arguments[1]))


def _variadic(apply: Apply) -> Function:
    return Function(1, None, apply)


def _folded(apply: Callable[[ExactRatio, ExactRatio], ExactRatio]) -> Function:
    return _variadic(lambda arguments: reduce(apply, arguments))


def _ceil_to_int(arguments: Sequence[ExactRatio]) -> ExactRatio:
    """`CeilToInt(n, d)` of RFC 0009 is ceil(n/d), `CeilToInt(x)` of torch is ceil(x)."""
    return ratios.ceiling(ratios.quotient(*arguments) if len(arguments) == 2 else arguments[0])


def _ceil_quotient(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    return ratios.ceiling(ratios.quotient(a, b))


def _trunc_quotient(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    return ratios.truncated(ratios.quotient(a, b))


def _trunc_remainder(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    return ratios.difference(a, ratios.product_of(b, _trunc_quotient(a, b)))


def _modular_index(arguments: Sequence[ExactRatio]) -> ExactRatio:
    base, divisor, modulus = arguments
    return ratios.remainder(ratios.floor_quotient(base, divisor), modulus)


def _power(base: ExactRatio, exponent: ExactRatio) -> ExactRatio:
    if exponent.den != 1 or not isinstance(exponent.num, int) or not 0 <= exponent.num <= 64:
        raise InexactValue("an exponent that is not a number in [0, 64]")
    return reduce(ratios.product_of, [base] * exponent.num, ExactRatio(1))


def _non_negative(value: ExactRatio) -> ExactRatio:
    return ratios.largest([value, ExactRatio(0)])


_MAX: Final = _variadic(ratios.largest)
_MIN: Final = _variadic(ratios.smallest)
_FLOOR: Final = _unary(ratios.floor)
_CEIL: Final = _unary(ratios.ceiling)
_TRUNC: Final = _unary(ratios.truncated)
_ROUND: Final = _unary(ratios.nearest)
_MOD: Final = _binary(ratios.remainder)
_FLOOR_DIV: Final = _binary(ratios.floor_quotient)
_CEIL_DIV: Final = _binary(_ceil_quotient)
_TRUNC_DIV: Final = _binary(_trunc_quotient)
_FLOAT_DIV: Final = _binary(ratios.float_quotient)
_ABS: Final = _unary(ratios.absolute)
_SAME: Final = _unary(lambda value: value)
_BROADCAST: Final = _folded(ratios.broadcast)

FUNCTIONS: Final[Mapping[str, Function]] = {
    "max": _MAX,
    "min": _MIN,
    "mod": _MOD,
    "floor": _FLOOR,
    "ceil": _CEIL,
    # sympy, and with it onnxruntime and onnx-ir
    "Max": _MAX,
    "Min": _MIN,
    "Mod": _MOD,
    "ceiling": _CEIL,
    "sqrt": _unary(ratios.square_root),
    "Abs": _ABS,
    "sign": _unary(ratios.sign),
    # torch: its sympy functions, and Python
    "FloorDiv": _FLOOR_DIV,
    "CleanDiv": _FLOOR_DIV,
    "CeilDiv": _CEIL_DIV,
    "PythonMod": _MOD,
    "ModularIndexing": Function(3, 3, _modular_index),
    "FloorToInt": _FLOOR,
    "CeilToInt": Function(1, 2, _ceil_to_int),
    "TruncToInt": _TRUNC,
    "TruncToFloat": _TRUNC,
    "RoundToInt": _ROUND,
    "ToFloat": _SAME,
    "Identity": _SAME,
    "IntTrueDiv": _FLOAT_DIV,
    "FloatTrueDiv": _FLOAT_DIV,
    "PowByNatural": _binary(_power),
    "abs": _ABS,
    "round": _ROUND,
    "trunc": _TRUNC,
    "math.floor": _FLOOR,
    "math.ceil": _CEIL,
    "math.trunc": _TRUNC,
    # RFC 0009 and Paddle
    "broadcast": _BROADCAST,
    "Broadcast": _BROADCAST,
    "Add": _folded(ratios.sum_of),
    "Mul": _folded(ratios.product_of),
    "Div": _TRUNC_DIV,  # as its C++, also at size 0: a convolution of an empty axis has Div(Add(S0, -1), 2) == 0
    # JAX and TVM
    "floordiv": _FLOOR_DIV,
    "ceildiv": _CEIL_DIV,
    "truncdiv": _TRUNC_DIV,
    "floormod": _MOD,
    "truncmod": _binary(_trunc_remainder),
    "non_negative": _unary(_non_negative),
}
