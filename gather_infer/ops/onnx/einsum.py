"""Rule of Einsum: parse the equation and infer the shape of the result."""

from __future__ import annotations

from functools import lru_cache

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast_dim, broadcast_shapes, require_broadcast
from gather_infer.ops.semantics.preconditions import refuse_empty, require_same_dtype, unknown_dims
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import Shape, SymbolicTensor, format_shape

rules = RuleSet("")

ELLIPSIS = "..."
Term = tuple[str, ...]  # letters, and ELLIPSIS at most once


@lru_cache(maxsize=256)
def parse_equation(equation: str) -> tuple[tuple[Term, ...], Term]:
    """The terms of the operands and of the result; "ij,jk" means "ij,jk->ik".

    Without "->" the result is the ellipsis, if any, then the letters that occur once, upper case first.
    Raises SpecViolation when `equation` is malformed.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = tuple(_parse_term(term, equation) for term in left.split(","))
    letters = [label for term in terms for label in term if label != ELLIPSIS]
    dotted = any(ELLIPSIS in term for term in terms)
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return terms, ((ELLIPSIS,) if dotted else ()) + tuple(once)
    result = _parse_term(right, equation)
    for label in result:
        if result.count(label) > 1:
            raise SpecViolation(f"equation {equation!r}: {label} occurs twice on the right")
        if label != ELLIPSIS and label not in letters:
            raise SpecViolation(f"equation {equation!r}: {label} occurs on the right only")
    if dotted and ELLIPSIS not in result:
        raise SpecViolation(f"equation {equation!r}: the ellipsis of the left is missing on the right")
    return terms, result


def _parse_term(term: str, equation: str) -> Term:
    head, dots, tail = term.partition(ELLIPSIS)
    letters = head + tail
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        raise SpecViolation(f"equation {equation!r}: term {term!r} is not of letters and at most one ellipsis")
    return (*head, ELLIPSIS, *tail) if dots else tuple(letters)


def einsum_shape(op: OpCall, equation: str, shapes: list[Shape | None]) -> Shape | None:
    """Shape of the result of an einsum over operands of `shapes`; None when its rank is unknown.

    The result has one dim per label of the right term of `equation`; dims of 1 broadcast.

    Raises SpecViolation when the rank of an operand does not fit its term, the ellipses cover different numbers of
    axes, or the dims of a label do not broadcast (GI212).
    """
    terms, result = parse_equation(equation)
    if len(terms) != len(shapes):
        raise SpecViolation(f"equation {equation!r} must have a term per input, has {len(terms)} for {len(shapes)}")
    dims: dict[str, list[Dim]] = {}
    dotted: list[Shape] = []
    unranked: set[str] = set()
    for number, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        if shape is None:
            unranked.update(term)
            continue
        axes = len(shape) - len(term)  # the ellipsis counts as one label
        if (ELLIPSIS not in term and axes != 0) or axes < -1:
            raise SpecViolation(
                f"input {number} must have rank {len(term)} for term {''.join(term)!r}, has {format_shape(shape)}",
                "GI305",
            )
        refuse_empty(op, *shape)
        position = 0
        diagonal: dict[str, Dim] = {}
        for label in term:
            if label == ELLIPSIS:
                dotted.append(shape[position : position + axes + 1])
                position += axes + 1
                continue
            dim = shape[position]
            position += 1
            if label in diagonal:  # a diagonal does not broadcast
                dim = op.require_equal(diagonal[label], dim, f"the dims of input {number} at label {label}")
            diagonal[label] = dim
        for label, dim in diagonal.items():
            dims.setdefault(label, []).append(dim)
    if any(len(covered) != len(dotted[0]) for covered in dotted):
        raise SpecViolation(f"every ellipsis must cover the same number of axes, covers {[*map(len, dotted)]}")
    agreed = {
        label: _agree(op, label, known, is_in_result=label in result and label not in unranked)
        for label, known in dims.items()
    }
    shape_of_result: list[Dim] = []
    for label in result:
        if label == ELLIPSIS:
            if not dotted:
                return None
            if ELLIPSIS in unranked:
                shape_of_result += unknown_dims(op, len(dotted[0]), "the rank of an input is not known")
            else:
                shape_of_result += broadcast_shapes(op, dotted)
        elif label in unranked and not (isinstance(found := agreed.get(label), int) and found != 1):
            shape_of_result += unknown_dims(op, 1, "the rank of an input is not known")
        else:
            shape_of_result.append(agreed[label])
    return tuple(shape_of_result)


def _agree(op: OpCall, label: str, dims: list[Dim], *, is_in_result: bool) -> Dim:
    """The broadcast of `dims`, the dims of the operands at `label`; the dims must broadcast.

    If not `is_in_result` and all dims are symbolic, the first one is returned instead of the broadcast.
    """
    distinct = sorted(dict.fromkeys(dims), key=lambda dim: isinstance(dim, Expr))
    result = distinct[0]
    for other in distinct[1:]:
        message = f"the dims of label {label} must agree, are {result} and {other}"
        if is_in_result or isinstance(result, int):
            result = broadcast_dim(op, result, other, otherwise=message)
        else:
            require_broadcast(op, result, other, otherwise=message)
    return result


@rules.rule("Einsum", since=12)
def einsum(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Einsum.html (version 28 adds element types)"""
    tensors = [op.tensor(i) for i in range(len(op.inputs))]
    dtype = require_same_dtype("the inputs", *tensors)
    return [SymbolicTensor(dtype, einsum_shape(op, op.attr("equation"), [tensor.shape for tensor in tensors]))]
