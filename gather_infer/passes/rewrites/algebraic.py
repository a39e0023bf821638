"""Algebraic laws: idempotent and involutive operators, negated conditions, overwritten updates."""

from __future__ import annotations

from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.float_facts import has_no_signalling_nan
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import DType

rewrites = RewriteSet()

# The traits of these operators are tested to agree.
_IDEMPOTENT = ("Abs", "Ceil", "Clip", "Floor", "Relu", "Round", "Sign")
_OF_OPERANDS = ("And", "BitwiseAnd", "BitwiseOr", "Max", "Min", "Or")
_INVOLUTIVE = ("BitwiseNot", "Neg", "Not")
_SCATTERS = ("ScatterElements", "ScatterND")


@rewrites.rewrites(*_IDEMPOTENT)
def idempotent(match: Match) -> Rewrite | None:
    """op(op(x)) == op(x), where op is idempotent: Abs, Ceil, Clip with the same limits, Floor, Relu, Round, Sign"""
    inner = match.producer(0, match.op_type)
    if inner is None or inner.inputs[1:] != match.inputs[1:] or not match.same_attributes(inner):
        return None
    return match.replace_with(f"{match.op_type}({match.op_type}(x)) == {match.op_type}(x)", match.input(0))


@rewrites.rewrites(*_INVOLUTIVE)
def involutive(match: Match) -> Rewrite | None:
    """op(op(x)) == x, where op is involutive: BitwiseNot, Neg, Not"""
    inner = match.producer(0, match.op_type)
    if inner is None:
        return None
    return match.replace_with(f"{match.op_type}({match.op_type}(x)) == x", inner.input(0))


@rewrites.rewrites(*_OF_OPERANDS, since=7)
def equal_operands(match: Match) -> Rewrite | None:
    """op(x, x) == x, op(x, y, x) == op(x, y), where op is And, Or, BitwiseAnd, BitwiseOr, Max or Min

    Max and Min of floats keep an x that another operand follows, because the sign of a zero may depend on the order. A
    float x that equals all operands has to be computed by arithmetic, because Max makes a signalling NaN quiet.
    """
    distinct = list(dict.fromkeys(match.inputs))
    dtype = match.fact(0).dtype
    if len(distinct) == len(match.inputs) or dtype is None:
        return None
    law = f"{match.op_type}(x, x) == x"
    if len(distinct) > 1:
        is_exact = dtype.is_integer or dtype is DType.BOOL
        return match.replace_with(law, *match.copy(match, distinct)) if is_exact else None
    if dtype.is_float and not has_no_signalling_nan(match, distinct[0]):
        return None
    return match.replace_with(law, distinct[0])


@rewrites.rewrites("Where", since=9)
def where_of_not(match: Match) -> Rewrite | None:
    """Where(Not(c), x, y) == Where(c, y, x) of integers, booleans and strings

    Floats are left alone: onnxruntime keeps the sign of a -0.0 that it selects from y, and loses it from x.
    """
    negated, dtype = match.producer(0, "Not"), match.result().dtype
    if negated is None or dtype is None or dtype.is_float:
        return None
    made = match.copy(match, [negated.input(0), match.input(2), match.input(1)])
    return match.replace_with("Where(Not(c), x, y) == Where(c, y, x)", *made)


@rewrites.rewrites(*_SCATTERS, since=11)
def overwritten_scatter(match: Match) -> Rewrite | None:
    """Scatter(Scatter(x, i, u), i, v) == Scatter(x, i, v), where neither has a reduction, and u and v have one shape"""
    inner = match.producer(0, match.op_type)
    if inner is None or inner.input(1) != match.input(1) or not match.same_attributes(inner):
        return None
    if match.text("reduction", "none") != "none" or not match.same_shape(inner.shape(2), match.shape(2)):
        return None
    law = f"{match.op_type}({match.op_type}(x, i, u), i, v) == {match.op_type}(x, i, v)"
    return match.replace_with(law, *match.copy(match, [inner.input(0), match.input(1), match.input(2)]))
