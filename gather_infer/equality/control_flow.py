"""Conditions and numbers of iterations that are known."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.equality.pool import TermPool
from gather_infer.equality.terms import Integer, Literal, Operand, Tensor, Term
from gather_infer.ir.graph import Graph, Node


def is_single(operand: Operand) -> bool:
    """Whether a tensor is known to have one element."""
    return isinstance(operand, Tensor) and all(size == 1 for size in operand.shape)


def truth_of(pool: TermPool, operand: Operand) -> bool | None:
    """The only element of a tensor of truth values, if it is known."""
    term = first_element(pool, operand)
    return bool(term.bits) if isinstance(term, Literal) else None


def first_element(pool: TermPool, operand: Operand) -> Term | None:
    """The first element of a tensor that is not empty."""
    if not isinstance(operand, Tensor):
        return None
    return pool.at(operand, (0,) * operand.rank, pool.frame(()))


def is_skipped(pool: TermPool, operands: Sequence[Operand]) -> bool:
    """Whether a Loop has no iteration in any run: its carried values are then the initial ones.

    https://onnx.ai/onnx/operators/onnx__Loop.html
    """
    trips = first_element(pool, operands[0]) if operands else None
    if isinstance(trips, Integer) and isinstance(trips.dim, int) and -(1 << 63) <= trips.dim <= 0:
        return True
    return len(operands) > 1 and truth_of(pool, operands[1]) is False


def taken_branch(pool: TermPool, node: Node, condition: Operand) -> Graph | None:
    """The branch of an If that every run takes, if the condition is known."""
    truth = truth_of(pool, condition)
    if truth is None:
        return None
    wanted = "then_branch" if truth else "else_branch"
    return next((body for body in node.bodies if attribute_name(node, body) == wanted), None)


def attribute_name(node: Node, body: Graph) -> str:
    """The attribute that holds a body; "" for that of a function. Files list the attributes in any order."""
    attribute = body.path.steps[-1].attribute
    return "" if attribute is None else node.proto.attribute[attribute].name
