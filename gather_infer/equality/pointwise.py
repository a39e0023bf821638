"""Pointwise operators: which there are, and what an operator applied to elements simplifies to.

An element of the result is a function of the elements at the same position. An operator is *exact* if IEEE 754 and the
specification determine the result to the last bit, so that it is the same function at each position. Others are rounded
as a runtime pleases: onnxruntime computes Log, Sin or Softplus of an element in another way at the end of a row.

NaN is NaN: the payload and the sign of a NaN are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import helper

from gather_infer.equality.arrays import constant_axes, grid_of
from gather_infer.equality.frames import Frame
from gather_infer.equality.pool import MAX_GRID, TermPool
from gather_infer.equality.terms import Apply, Attributes, Integer, Literal, Operator, Term
from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.passes.evaluate import Evaluation, evaluator_of
from gather_infer.symbolic import Dim, known_eq, known_le, known_lt, mod, truncdiv
from gather_infer.tensor import INTEGER_RANGE, DType

Simplifier: TypeAlias = "Callable[[Application], Term | None]"


@dataclass(slots=True, eq=False)
class Application:
    """An operator applied to elements, in a frame. Not `frozen`, as terms are not."""

    pool: TermPool
    operator: Operator
    attributes: Attributes
    dtype: DType | None
    operands: tuple[Term, ...]
    frame: Frame

    def attr(self, name: str, default: Any = None) -> Any:
        return dict(self.attributes).get(name, default)

    def integers(self) -> tuple[Dim, ...] | None:
        """The operands as integers that do not wrap around; None if one is not known."""
        found = tuple(self.pool.exact_integer(operand, self.frame) for operand in self.operands)
        held = tuple(dim for dim in found if dim is not None)
        return held if len(held) == len(found) else None

    def integer(self, dim: Dim) -> Term | None:
        """The result `dim`, in the integer type of the result."""
        if self.dtype is None or not self.dtype.is_integer:
            return None
        return self.pool.integer(self.dtype, dim)

    def truth(self, value: bool | None) -> Term | None:
        return None if value is None else self.pool.literal(DType.BOOL, int(value))


@dataclass(frozen=True, slots=True)
class PointwiseOperator:
    """A pointwise operator.

    is_exact        see above
    is_commutative  whether the order of the operands does not matter
    mixes_zeros     whether a float result may be 0.0 or -0.0, as the runtime pleases; it is exact for integers only
    simplify        the law by which a term becomes simpler; None if there is none
    """

    is_exact: bool
    is_commutative: bool = False
    is_idempotent: bool = False
    is_involutive: bool = False
    mixes_zeros: bool = False
    simplify: Simplifier | None = None

    def is_exact_for(self, dtype: DType | None) -> bool:
        """Whether the operator is exact for results of a type."""
        return self.is_exact and not (self.mixes_zeros and (dtype is None or not dtype.is_integer))


POINTWISE: Final[dict[tuple[str, str], PointwiseOperator]] = {}


def _register(names: str, *, exact: bool, domain: str = "", **traits: Any) -> None:
    for name in names.split():
        POINTWISE[domain, name] = PointwiseOperator(exact, **traits)


def _simplifies(names: str, **traits: Any) -> Callable[[Simplifier], Simplifier]:
    def add(function: Simplifier) -> Simplifier:
        _register(names, exact=True, simplify=function, **traits)
        return function

    return add


_register("Abs Ceil Floor Round Relu Sign", exact=True, is_idempotent=True)
_register("BitwiseNot", exact=True, is_involutive=True)
_register("Sqrt Reciprocal IsNaN IsInf PRelu LeakyRelu ThresholdedRelu BitShift Clip", exact=True)
_register("BitwiseAnd BitwiseOr BitwiseXor", exact=True, is_commutative=True)
_register(
    "Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish Log Mish Pow Selu Sigmoid"
    " Sin Sinh Softplus Softsign Swish Tan Tanh",
    exact=False,
)
_register("Gelu QuickGelu", exact=False, domain="com.microsoft")


def applied(
    pool: TermPool,
    operator: Operator,
    attributes: Attributes,
    dtype: DType | None,
    operands: tuple[Term, ...],
    frame: Frame,
) -> Term:
    """A pointwise operator applied to elements, in normal form."""
    if frame.is_empty:
        return pool.nothing
    entry = POINTWISE[operator[:2]]
    if entry.simplify is not None:
        found = entry.simplify(Application(pool, operator, attributes, dtype, operands, frame))
        if found is not None:
            return found
    if entry.is_exact:
        found = _evaluated(pool, operator, attributes, dtype, operands, frame)
        if found is not None:
            return found
    first = operands[0]
    if (
        len(operands) == 1
        and isinstance(first, Apply)
        and first.operator == operator
        and first.attributes == attributes
    ):
        if entry.is_idempotent:
            return first
        if entry.is_involutive:
            return first.operands[0]
    if entry.is_idempotent and len(operands) > 1 and all(operand is first for operand in operands):
        return first  # Max(x, z, x) is not Max(x, z): it may end with another zero
    if entry.is_commutative or (entry.mixes_zeros and dtype is not None and dtype.is_integer):
        operands = tuple(sorted(operands, key=lambda term: term.serial))
    return pool.apply(operator, attributes, dtype, operands)


def applied_again(pool: TermPool, term: Apply, operands: tuple[Term, ...], frame: Frame) -> Term:
    """The operator of `term` applied to other operands, in normal form."""
    return applied(pool, term.operator, term.attributes, term.dtype, operands, frame)


def renamed(pool: TermPool, term: Apply, operands: tuple[Term, ...], _: Frame) -> Term:
    """The operator of `term` applied to its operands with other names of index variables: no law makes it simpler."""
    if POINTWISE[term.operator[:2]].is_commutative:
        operands = tuple(sorted(operands, key=lambda operand: operand.serial))
    return pool.apply(term.operator, term.attributes, term.dtype, operands)


def _evaluated(
    pool: TermPool,
    operator: Operator,
    attributes: Attributes,
    dtype: DType | None,
    operands: tuple[Term, ...],
    frame: Frame,
) -> Term | None:
    """The operator evaluated on constants; None if an operand is not constant, or the result is not exact."""
    held: set[int] = set()
    for operand in operands:
        found = constant_axes(operand, frame)
        if found is None:
            return None
        held.update(found)
    axes = sorted(held)
    sizes = [extent for extent in (frame.extents[axis] for axis in axes) if isinstance(extent, int)]
    domain, name, version = operator
    evaluator = evaluator_of(domain, name, version)
    if evaluator is None or dtype is None or prod(sizes) > MAX_GRID:
        return None
    constants = []
    for operand in operands:
        grid = grid_of(operand, axes, frame)
        if grid is None or operand.dtype is None:
            return None
        constants.append(Constant(operand.dtype, grid))
    node = helper.make_node(name, ["x"] * len(constants), ["y"], domain=domain, **_values(attributes))
    try:
        outputs = evaluator(Evaluation(node, constants, version))
    except SpecViolation:
        return None
    return None if outputs is None else pool.from_grid(dtype, np.broadcast_to(outputs[0].plain, sizes), axes)


def _values(attributes: Attributes) -> dict[str, Any]:
    return {name: _value(value) for name, value in attributes}


def _value(value: Any) -> Any:
    if isinstance(value, tuple):
        return float.fromhex(value[1]) if value[:1] == ("float",) else [_value(each) for each in value]
    return value


def is_number(term: Term | None, number: float, *, negative: bool = False) -> bool:
    """Whether an element is a float constant; zeros are told apart by their sign."""
    if not isinstance(term, Literal) or not term.dtype.is_float or not isinstance(term.bits, int):
        return False
    if not term.dtype.has_dtype:
        return False
    wanted = np.array([-number if negative else number], dtype=term.dtype.dtype)
    return term.bits == int(wanted.view(f"<u{wanted.itemsize}")[0])


def _is_integer(term: Term, number: int) -> bool:
    """Whether an element is an integer constant."""
    return isinstance(term, Integer) and isinstance(term.dim, int) and term.dim == number


def _polynomial(call: Application, combine: Callable[[Dim, Dim], Dim]) -> Term | None:
    """The sum, difference or product of integers; right modulo the width of the type."""
    a, b = call.operands
    if isinstance(a, Integer) and isinstance(b, Integer):
        return call.integer(combine(a.dim, b.dim))
    return None


@_simplifies("Add", is_commutative=True)
def _add(call: Application) -> Term | None:
    a, b = call.operands
    for one, other in ((a, b), (b, a)):
        if is_number(one, 0.0, negative=True) or _is_integer(one, 0):
            return other
    return _polynomial(call, lambda x, y: x + y)


@_simplifies("Sub")
def _sub(call: Application) -> Term | None:
    a, b = call.operands
    if is_number(b, 0.0) or _is_integer(b, 0):
        return a
    return _polynomial(call, lambda x, y: x - y)


@_simplifies("Mul", is_commutative=True)
def _mul(call: Application) -> Term | None:
    a, b = call.operands
    for one, other in ((a, b), (b, a)):
        if is_number(one, 1.0) or _is_integer(one, 1):
            return other
    return _polynomial(call, lambda x, y: x * y)


@_simplifies("Div")
def _div(call: Application) -> Term | None:
    a, b = call.operands
    if is_number(b, 1.0) or _is_integer(b, 1):
        return a
    numbers = call.integers()
    if numbers is None or known_lt(0, numbers[1], call.frame.scope) is not True:
        return None
    quotient = truncdiv(numbers[0], numbers[1], call.frame.scope)
    return None if quotient is None else call.integer(call.frame.simplify(quotient))


@_simplifies("Mod")
def _mod(call: Application) -> Term | None:
    numbers = call.integers()
    if numbers is None or call.attr("fmod") or known_lt(0, numbers[1], call.frame.scope) is not True:
        return None
    return call.integer(call.frame.simplify(mod(numbers[0], numbers[1])))


@_simplifies("Neg", is_involutive=True)
def _neg(call: Application) -> Term | None:
    operand = call.operands[0]
    return call.integer(-operand.dim) if isinstance(operand, Integer) else None


@_simplifies("Not", is_involutive=True)
def _not(call: Application) -> Term | None:
    """Of integers, not a < b is b <= a; of floats, a NaN is in no order."""
    operand = call.operands[0]
    if isinstance(operand, Literal):
        return call.truth(not operand.bits)
    if isinstance(operand, Apply) and operand.operator[1] in _COMPARISONS and not operand.attributes:
        a, b = operand.operands
        if a.dtype is not None and a.dtype.is_integer:
            other = "Less" if operand.operator[1] == "LessOrEqual" else "LessOrEqual"
            return applied(call.pool, ("", other, _COMPARISONS[other]), (), call.dtype, (b, a), call.frame)
    return None


@_simplifies("And", is_commutative=True, is_idempotent=True)
def _and(call: Application) -> Term | None:
    return _connective(call, absorbing=0)


@_simplifies("Or", is_commutative=True, is_idempotent=True)
def _or(call: Application) -> Term | None:
    return _connective(call, absorbing=1)


@_simplifies("Xor", is_commutative=True)
def _xor(call: Application) -> Term | None:
    for one, other in (call.operands, call.operands[::-1]):
        if isinstance(one, Literal):
            return applied(call.pool, ("", "Not", 1), (), call.dtype, (other,), call.frame) if one.bits else other
    return None


def _connective(call: Application, absorbing: int) -> Term | None:
    for one, other in (call.operands, call.operands[::-1]):
        if isinstance(one, Literal):
            return one if one.bits == absorbing else other
    return None


# Of floats not commutative: a maximum of 0.0 and -0.0 is one of them; in onnxruntime another one at the end of a row.
@_simplifies("Min Max", is_idempotent=True, mixes_zeros=True)
def _extremum(call: Application) -> Term | None:
    numbers = call.integers()
    if numbers is None or len(numbers) != 2:
        return None
    a, b = numbers
    if known_le(a, b, call.frame.scope) is True:
        return call.operands[call.operator[1] == "Max"]
    return call.operands[call.operator[1] == "Min"] if known_le(b, a, call.frame.scope) is True else None


@_simplifies("Equal", is_commutative=True)
def _equal(call: Application) -> Term | None:
    return _compared(call, known_eq)


@_simplifies("Less")
def _less(call: Application) -> Term | None:
    return _compared(call, known_lt)


@_simplifies("LessOrEqual")
def _less_or_equal(call: Application) -> Term | None:
    return _compared(call, known_le)


@_simplifies("Greater")
def _greater(call: Application) -> Term | None:
    return _turned(call, "Less")


@_simplifies("GreaterOrEqual")
def _greater_or_equal(call: Application) -> Term | None:
    return _turned(call, "LessOrEqual")


def _turned(call: Application, name: str) -> Term | None:
    """a > b as b < a."""
    if call.attributes:  # the axis of opset 1 is of the second operand
        return None
    return applied(call.pool, ("", name, _COMPARISONS[name]), (), call.dtype, call.operands[::-1], call.frame)


_COMPARISONS: Final = {"Less": 7, "LessOrEqual": 12}
"""Comparisons by the version since which they have been as they are."""


def _compared(call: Application, relation: Callable[..., bool | None]) -> Term | None:
    numbers = call.integers()
    return None if numbers is None else call.truth(relation(numbers[0], numbers[1], call.frame.scope))


@_simplifies("Where")
def _where(call: Application) -> Term | None:
    """The operand that the condition selects; onnxruntime drops the sign of a zero of the second operand."""
    condition, a, b = call.operands
    if isinstance(condition, Literal) and not condition.bits:
        return b
    if not _has_exact_sign(call, a):
        return None
    if isinstance(condition, Literal) or a is b:
        return a
    if isinstance(condition, Apply) and condition.operator[1] == "Not" and _has_exact_sign(call, b):
        held = (condition.operands[0], b, a)
        return applied(call.pool, call.operator, call.attributes, call.dtype, held, call.frame)
    return None


def _has_exact_sign(call: Application, term: Term) -> bool:
    """Whether an element is no -0.0, or the sign of a zero does not matter."""
    if call.pool.takes_zeros or (term.dtype is not None and not term.dtype.is_float):
        return True
    if isinstance(term, Literal):
        return term.dtype.has_dtype and not is_number(term, 0.0, negative=True)
    return isinstance(term, Apply) and term.operator[:2] == ("", "Abs")


@_simplifies("Cast")
def _cast(call: Application) -> Term | None:
    operand = call.operands[0]
    if operand.dtype is not None and operand.dtype is call.dtype:
        return operand
    number = call.pool.exact_integer(operand, call.frame)
    if number is not None and call.dtype is not None and call.dtype.is_integer:
        assert isinstance(operand, Integer), "other elements are no known integers"
        (least, most), (lo, hi), scope = INTEGER_RANGE[operand.dtype], INTEGER_RANGE[call.dtype], call.frame.scope
        if (least >= lo or known_le(lo, number, scope) is True) and (most <= hi or known_le(number, hi, scope) is True):
            return call.integer(number)
    if isinstance(operand, Apply) and operand.operator[1] == "Cast":
        inner = operand.operands[0]
        if inner.dtype is None or operand.dtype is None or call.dtype is None or not _holds(operand.dtype, inner.dtype):
            return None
        if inner.dtype is call.dtype:
            return inner
        if call.dtype is DType.BOOL or _holds(call.dtype, inner.dtype):
            return applied(call.pool, call.operator, call.attributes, call.dtype, (inner,), call.frame)
    return None


def _contains(wide: DType, narrow: DType) -> bool:
    """Whether an integer type holds all numbers of another."""
    return INTEGER_RANGE[wide][0] <= INTEGER_RANGE[narrow][0] and INTEGER_RANGE[narrow][1] <= INTEGER_RANGE[wide][1]


_MANTISSA: Final = {DType.FLOAT16: (11, 5), DType.BFLOAT16: (8, 8), DType.FLOAT32: (24, 8), DType.FLOAT64: (53, 11)}


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether a cast to `wide` and back gives each element of type `narrow` again."""
    if wide.is_integer and narrow.is_integer:
        return _contains(wide, narrow)
    if narrow is DType.BOOL:
        return wide.is_integer or wide in _MANTISSA
    if wide in _MANTISSA and narrow in _MANTISSA:
        return all(a >= b for a, b in zip(_MANTISSA[wide], _MANTISSA[narrow], strict=True))
    if wide in _MANTISSA and narrow.is_integer:
        lo, hi = INTEGER_RANGE[narrow]
        return max(-lo, hi) <= 1 << _MANTISSA[wide][0]
    return False


def operands_broadcast(
    shapes: tuple[tuple[Dim, ...], ...], result: tuple[Dim, ...], frame: Frame
) -> Sequence[tuple[Dim, ...]] | None:
    """For each operand the index that is read at a position of the result; None if a size is undecided."""
    known = frame.broadcasts.get(shapes)
    if known is not None:
        return known
    found: list[tuple[Dim, ...]] = []
    for shape in shapes:
        index: list[Dim] = []
        for dim, extent, variable in zip(
            shape, result[len(result) - len(shape) :], frame.variables[len(result) - len(shape) :], strict=True
        ):
            if isinstance(dim, int) and dim == 1:
                index.append(0)
            elif dim == extent or known_eq(dim, extent, frame.scope) is True:
                index.append(variable)
            else:
                return None
        found.append(tuple(index))
    frame.broadcasts[shapes] = found
    return found
