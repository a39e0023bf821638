"""Elementwise nodes between two views, or two Transposes, that are inverse to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np

from gather_infer.ir.constant import Constant
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rewrites.gather_elementwise import POSITION_FREE, is_position_free
from gather_infer.passes.rewrites.pair_fusion import VIEWS
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.tensor import static_dims

rewrites = RewriteSet()

_ELEMENTWISE: Final = (
    "Abs", "Add", "Cast", "Ceil", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Log", "Mish", "Mul", "Neg", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
    "Softplus", "Softsign", "Sqrt", "Sub", "Tanh",
)  # fmt: skip

_MAX_NODES: Final = 24
_MAX_ELEMENTS: Final = 1 << 16
"""Maximum number of elements of a constant that is transposed."""

BROADCASTING: Final = 7
"""The opset version since which operands are broadcast by their last axes."""


@rewrites.rewrites(*VIEWS)
def view_around_elementwise(match: Match) -> Rewrite | None:
    """view(f(view(x))) == f(x), where f is elementwise, and the result has the shape of x

    Each element keeps its position in memory, so that operators whose rounding depends on the position give the same
    bits. f may be several nodes. All of them have the shape of the inner view, and read no other values but constants
    of rank 0.
    """
    found = _region(match, _ELEMENTWISE, VIEWS, lambda name: _is_number(match, name))
    if found is None:
        return None
    region, inner = found
    (view, *others) = inner.values()
    if others or not match.same_shape(view.shape(0), match.result().shape):
        return None
    return match.replace_with("view(f(view(x))) == f(x), f is elementwise", _rebuilt(match, region, inner))


@rewrites.rewrites("Transpose")
def transpose_around_elementwise(match: Match) -> Rewrite | None:
    """Transpose(f(Transpose(x, p), Transpose(y, p)), q) == Transpose(f(x, y), [p[a] for a in q])

    It is f(x, y) where q undoes p. f is elementwise and gives an element the same bits at every position. It may be
    several nodes. All of them have the shape of the inner Transposes, and read no other values but small constants,
    which are transposed as f's operands are.
    """
    found = _region(match, POSITION_FREE, ("Transpose",), lambda name: _is_small(match, name))
    if found is None:
        return None
    region, inner = found
    rank = match.rank(0)
    if rank is None or not all(is_position_free(node) for node in region):
        return None
    backwards = tuple(reversed(range(rank)))
    first, second = ({node.integers("perm") or backwards for node in nodes} for nodes in (inner.values(), [match]))
    if len(first) > 1 or not all(sorted(perm) == list(range(rank)) for perm in (*first, *second)):
        return None
    before = next(iter(first))
    perm = [before[axis] for axis in next(iter(second))]
    constants = {name for node in region for name in node.inputs if name and _is_small(match, name)}
    moved = {name: _moved(match, name, before) for name in constants if not _is_one_element(match, name)}
    if moved and not all(node.version >= BROADCASTING for node in region):
        return None
    made = _rebuilt(match, region, inner, moved)
    if perm == list(range(rank)):
        return match.replace_with("Transpose(f(Transpose(x, p)), q) == f(x), q undoes p", made)
    law = "Transpose(f(Transpose(x, p)), q) == Transpose(f(x), [p[a] for a in q])"
    return match.replace_with(law, match.new("Transpose", [made], perm=perm))


@rewrites.rewrites(*POSITION_FREE)
def elementwise_of_transposes(match: Match) -> Rewrite | None:
    """f(Transpose(x, p), Transpose(y, p)) == Transpose(f(x, y), p), where nothing else reads the Transposes

    f is elementwise and gives an element the same bits at every position. Its other operands are constants of one
    element, and both Transposes have one shape.
    """
    producers = {
        name: match.producer(at, "Transpose") for at, name in enumerate(match.inputs) if match.is_only_reader(at)
    }
    inner = {name: moved for name, moved in producers.items() if moved is not None}
    if len(inner) < 2 or not is_position_free(match):
        return None
    if not all(name in inner or _is_one_element(match, name) for name in match.inputs):
        return None
    (first, *others), shape = inner.values(), match.result().shape
    perm = first.integers("perm")
    if any(other.integers("perm") != perm for other in others):
        return None
    if not all(match.same_shape(moved.result().shape, shape) for moved in inner.values()):
        return None
    (made,) = match.copy(match, [inner[name].input(0) if name in inner else name for name in match.inputs])
    law = "f(Transpose(x, p), Transpose(y, p)) == Transpose(f(x, y), p), f is elementwise"
    return match.replace_with(law, match.new("Transpose", [made], perm=None if perm is None else list(perm)))


def _region(
    match: Match, elementwise: Sequence[str], views: Sequence[str], is_number: Callable[[str], bool]
) -> tuple[list[Match], dict[str, Match]] | None:
    """The elementwise nodes between the outer node `match` and inner nodes, and the inner nodes by their outputs.

    A node comes before the nodes that it reads. None if the nodes read anything else, or have another shape.

    elementwise  operators of the nodes between
    views        operators of the inner nodes
    is_number    whether a value is a constant that no node between has to read in another shape
    """
    region: dict[str, Match] = {}
    inner: dict[str, Match] = {}
    pending = [match.input(0)]
    while pending:
        name = pending.pop()
        node = match.producer_of(name, *elementwise)
        if node is None:
            view = match.producer_of(name, *views)
            if view is None:
                return None
            inner[name] = view
            continue
        region.pop(name, None)  # a node comes before its inputs, even if it is read several times
        region[name] = node
        if len(region) > _MAX_NODES:
            return None
        pending += [read for read in node.inputs if read and not is_number(read)]
    if not inner or not region:
        return None
    shape = next(iter(inner.values())).result().shape
    if not all(match.same_shape(each.result().shape, shape) for each in (*region.values(), *inner.values())):
        return None
    return list(region.values()), inner


def _rebuilt(
    match: Match, region: Sequence[Match], inner: Mapping[str, Match], constants: Mapping[str, str] | None = None
) -> str:
    """Copies of the nodes between, which read the inputs of the inner nodes. Returns the last value.

    constants  constant that a node reads -> the one that its copy reads
    """
    made = {**(constants or {}), **{name: node.input(0) for name, node in inner.items()}}
    for node in reversed(region):
        (made[node.output()],) = match.copy(node, [made.get(name, name) for name in node.inputs])
    return made[match.input(0)]


def _is_number(match: Match, name: str) -> bool:
    """Whether a value is a constant of rank 0, which adds no axis when it is broadcast."""
    constant = match.constant_of(name)
    return constant is not None and constant.bits.shape == ()


def _is_one_element(match: Match, name: str) -> bool:
    """Whether a value is a constant of one element."""
    constant = match.constant_of(name)
    return constant is not None and constant.bits.size == 1


def _is_small(match: Match, name: str) -> bool:
    """Whether a value is a constant that may be transposed."""
    dims = static_dims(match.fact_of(name).shape)
    return dims is not None and prod(dims) <= _MAX_ELEMENTS and match.constant_of(name) is not None


def _moved(match: Match, name: str, perm: Sequence[int]) -> str:
    """The constant that is broadcast with the operand of a Transpose as the constant `name` is with its result."""
    constant = match.constant_of(name)
    assert constant is not None, "the caller has looked"
    bits = constant.bits
    full = bits.reshape((1,) * (len(perm) - bits.ndim) + bits.shape).transpose(np.argsort(perm))
    first = next((axis for axis, size in enumerate(full.shape) if size != 1), full.ndim)
    return match.add_constant(Constant(constant.data_type, np.ascontiguousarray(full.reshape(full.shape[first:]))))
