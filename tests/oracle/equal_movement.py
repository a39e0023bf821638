"""Right rewrites of operators that move elements: the reverse of the rules of `optimize`, and laws of movement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from onnx import NodeProto, TensorProto

from gather_infer.symbolic import Dim
from gather_infer.symbolic.normal_form import Symbol
from gather_infer.tensor import SymbolicTensor
from tests.oracle.changed_model import (
    TRIES,
    Chain,
    ChangedModel,
    Changes,
    Site,
    without_unread,
)

MOVEMENT: Final = Changes()

_LARGEST: Final = np.iinfo(np.int64).max
_UNARY: Final = frozenset(
    ("Abs", "Ceil", "Floor", "Neg", "Not", "Relu", "Round", "Sign", "Sqrt", "Reciprocal", "LeakyRelu", "Erf", "IsNaN")
)
"""Operators on elements whose bits do not depend on the position."""
_BINARY: Final = frozenset(("Add", "Sub", "Mul", "Div", "And", "Or", "Less", "Greater", "Equal"))
_MOVES: Final = frozenset(
    ("Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Gather", "Expand", "Tile", "Identity")
)


def _attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    for attribute in node.attribute:
        if attribute.name == name:
            return attribute.i if attribute.type == attribute.INT else list(attribute.ints)
    return default


# inserted


@MOVEMENT.inserts("two Transposes")
def _transposes(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    if fact.shape is None or len(fact.shape) < 2:
        return None
    perm = chain.draft.rng.sample(range(len(fact.shape)), len(fact.shape))
    inverse = [perm.index(axis) for axis in range(len(perm))]
    return chain.one("Transpose", chain.one("Transpose", name, perm=perm), perm=inverse)


@MOVEMENT.inserts("Unsqueeze and Squeeze")
def _unsqueeze(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    if fact.shape is None:
        return None
    rank = len(fact.shape)
    axes = chain.draft.rng.sample(range(rank + 1), 1)
    if chain.draft.rng.random() < 0.3:
        axes = [axes[0] - rank - 1]
    return chain.one("Squeeze", chain.one("Unsqueeze", name, chain.constant(axes)), chain.constant(axes))


@MOVEMENT.inserts("Reshape there and back")
def _reshape(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    """To a vector and back, to the shape that a Shape computes; sizes of 0 are sizes."""
    if chain.draft.opset < 14:
        return None
    flat = chain.one("Reshape", name, chain.constant([-1]))
    return chain.one("Reshape", flat, chain.one("Shape", name), allowzero=1)


@MOVEMENT.inserts("an Expand to the own shape")
def _expand(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    if fact.dtype not in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL):
        return None
    return chain.one("Expand", name, chain.one("Shape", name))


@MOVEMENT.inserts("Slices and a Concat")
def _halves(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    """x = Concat(x[:k], x[k:]) for each k."""
    if not fact.shape or int(fact.dtype or 0) == TensorProto.STRING:
        return None
    axis = chain.draft.rng.randrange(len(fact.shape))
    cut = chain.constant([chain.draft.rng.choice((-2, -1, 1, 1, 2, 3))])
    where = chain.constant([axis])
    first = chain.one("Slice", name, chain.constant([0]), cut, where)
    second = chain.one("Slice", name, cut, chain.constant([_LARGEST]), where)
    return chain.one("Concat", first, second, axis=axis)


@MOVEMENT.inserts("a Split and a Concat")
def _split_and_concat(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    sizes = [(axis, dim) for axis, dim in enumerate(fact.shape or ()) if isinstance(dim, int) and dim >= 2]
    if not sizes or int(fact.dtype or 0) == TensorProto.STRING:
        return None
    axis, size = chain.draft.rng.choice(sizes)
    first = chain.draft.rng.randint(1, size - 1)
    parts = chain.several("Split", [name, chain.constant([first, size - first])], 2, axis=axis)
    return chain.one("Concat", *parts, axis=axis)


@MOVEMENT.inserts("a Gather of all positions")
def _gather_all(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    """By a constant where the size is known, else by a Range up to it."""
    if not fact.shape:
        return None
    axis = chain.draft.rng.randrange(len(fact.shape))
    size = fact.shape[axis]
    if isinstance(size, int) and size <= 64:
        return chain.one("Gather", name, chain.constant(range(size)), axis=axis)
    count = chain.one("Gather", chain.one("Shape", name), chain.constant(axis))
    return chain.one("Gather", name, chain.one("Range", chain.constant(0), count, chain.constant(1)), axis=axis)


@MOVEMENT.inserts("a Pad by 0")
def _pad(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    if not fact.shape or fact.dtype != TensorProto.FLOAT:
        return None
    return chain.one("Pad", name, chain.constant([0] * 2 * len(fact.shape)))


# replaced


@MOVEMENT.replaces("a Gather as two", "Gather")
def _gathers(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """x[i] = x[i in another order][the inverse order]; x[j[k]] = x[j][k]; x[i] with i in two parts, or unsqueezed."""
    data, indices, rng = node.input[0], chain.site.array(node.input[1]), chain.draft.rng
    axis, rank = _attribute(node, "axis", 0), chain.site.rank(data)
    if rank is None:
        return None
    axis %= rank
    if indices is None:
        if chain.site.rank(node.input[1]) != 0:
            return None
        found = chain.one("Gather", data, chain.one("Unsqueeze", node.input[1], chain.constant([0])), axis=axis)
        return [chain.one("Squeeze", found, chain.constant([axis]))]
    if indices.ndim == 0:
        found = chain.one("Gather", data, chain.constant(indices.reshape(1)), axis=axis)
        return [chain.one("Squeeze", found, chain.constant([axis]))]
    if indices.ndim > 1 or not 2 <= indices.size <= 256:
        return None
    order = rng.sample(range(indices.size), indices.size)
    mixed, back = indices[order], [order.index(at) for at in range(indices.size)]
    roll = rng.random()
    if roll < 0.4:
        return [
            chain.one(
                "Gather", chain.one("Gather", data, chain.constant(mixed), axis=axis), chain.constant(back), axis=axis
            )
        ]
    if roll < 0.7:
        found = chain.one("Gather", chain.constant(mixed), chain.constant(back))
        return [chain.one("Gather", data, found, axis=axis)]
    cut = rng.randint(1, indices.size - 1)
    parts = [chain.one("Gather", data, chain.constant(part), axis=axis) for part in (indices[:cut], indices[cut:])]
    return [chain.one("Concat", *parts, axis=axis)]


@MOVEMENT.replaces("indices from the other end", "Gather")
def _negative(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    indices, shape = chain.site.array(node.input[1]), chain.site.shape(node.input[0])
    size = None if not shape else shape[_attribute(node, "axis", 0)]
    if indices is None or not isinstance(size, int) or not indices.size or abs(indices).max() >= size:
        return None
    turned = np.where(indices < 0, indices + size, indices - size)
    return [chain.like(node, {1: chain.constant(turned)})]


@MOVEMENT.replaces("a Slice for a Gather", "Gather")
def _sliced(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    indices, shape = chain.site.array(node.input[1]), chain.site.shape(node.input[0])
    axis = _attribute(node, "axis", 0)
    if indices is None or not shape or indices.ndim > 1 or not indices.size or indices.min() < 0:
        return None
    flat = indices.reshape(-1)
    if (np.diff(flat) != 1).any():
        return None
    axis %= len(shape)
    ends = [chain.constant([number]) for number in (int(flat[0]), int(flat[-1]) + 1, axis)]
    found = chain.one("Slice", node.input[0], *ends)
    return [found if indices.ndim else chain.one("Squeeze", found, chain.constant([axis]))]


@MOVEMENT.replaces("a Gather for a Slice", "Slice")
def _gathered(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    shape = chain.site.shape(node.input[0])
    given = _slice_of(chain, node, shape)
    if given is None or shape is None or len(given) != 1:
        return None
    axis, start, end, step = given[0]
    size = shape[axis]
    if not isinstance(size, int):
        return None
    positions = range(size)[start:end:step] if step > 0 else None
    if not positions or len(positions) > 64:
        return None
    return [chain.one("Gather", node.input[0], chain.constant(list(positions)), axis=axis)]


def _slice_of(chain: Chain, node: NodeProto, shape: tuple[Dim, ...] | None) -> list[tuple[int, int, int, int]] | None:
    """Axis, start, end and step of a Slice by constants."""
    if shape is None or len(node.input) < 3:
        return None
    arrays = [chain.site.array(name) if name else None for name in node.input[1:]]
    if (
        arrays[0] is None
        or arrays[1] is None
        or any(a is None for a, n in zip(arrays, node.input[1:], strict=True) if n)
    ):
        return None
    starts, ends = arrays[0].tolist(), arrays[1].tolist()
    axes = arrays[2].tolist() if len(arrays) > 2 and arrays[2] is not None else list(range(len(starts)))
    steps = arrays[3].tolist() if len(arrays) > 3 and arrays[3] is not None else [1] * len(starts)
    return [(axis % len(shape), *rest) for axis, *rest in zip(axes, starts, ends, steps, strict=True)]


@MOVEMENT.replaces("a Slice as two", "Slice")
def _slices(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """One Slice for each axis; x[a:b] = x[a:][:b-a] for 0 <= a <= b."""
    shape = chain.site.shape(node.input[0])
    given = _slice_of(chain, node, shape)
    if not given:
        return None
    found = node.input[0]
    if len(given) > 1:
        chain.draft.rng.shuffle(given)
        for axis, start, end, step in given:
            found = chain.one("Slice", found, *(chain.constant([number]) for number in (start, end, axis, step)))
        return [found]
    axis, start, end, step = given[0]
    if step != 1 or not 0 <= start <= end:
        return None
    where = chain.constant([axis])
    rest = chain.one("Slice", found, chain.constant([start]), chain.constant([_LARGEST]), where)
    count = min(end - start, _LARGEST)
    return [chain.one("Slice", rest, chain.constant([0]), chain.constant([count]), where)]


@MOVEMENT.replaces("a Concat of a Concat", "Concat")
def _concats(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    names, axis = list(node.input), _attribute(node, "axis")
    if len(names) < 3 or axis is None:
        return None
    begin = chain.draft.rng.randrange(len(names) - 1)
    end = chain.draft.rng.randint(begin + 2, len(names))
    if end - begin == len(names):
        end -= 1
    inner = chain.one("Concat", *names[begin:end], axis=axis)
    return [chain.one("Concat", *names[:begin], inner, *names[end:], axis=axis)]


@MOVEMENT.replaces("Slices for a Split", "Split")
def _split(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """Sizes are those of the results where they are known."""
    rank = chain.site.rank(node.input[0])
    if rank is None or not all(node.output):
        return None
    axis = _attribute(node, "axis", 0) % rank
    sizes = [(chain.site.shape(name) or {axis: None})[axis] for name in node.output]
    if not all(isinstance(size, int) for size in sizes):
        return None
    found, begin = [], 0
    where = chain.constant([axis])
    for size in sizes:
        assert isinstance(size, int)
        found.append(chain.one("Slice", node.input[0], chain.constant([begin]), chain.constant([begin + size]), where))
        begin += size
    return found


@MOVEMENT.replaces("a Transpose as two", "Transpose")
def _two_transposes(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    rank = chain.site.rank(node.input[0])
    if rank is None:
        return None
    perm = _attribute(node, "perm", list(reversed(range(rank))))
    first = chain.draft.rng.sample(range(rank), rank)
    second = [first.index(axis) for axis in perm]
    return [chain.one("Transpose", chain.one("Transpose", node.input[0], perm=first), perm=second)]


@MOVEMENT.replaces("a Reshape for a view", "Squeeze Unsqueeze Flatten")
def _view(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    shape = _shape_vector(chain, chain.site.shape(node.output[0]))
    return None if shape is None else [chain.one("Reshape", node.input[0], shape, allowzero=1)]


@MOVEMENT.replaces("a computed shape", "Reshape Expand Tile ConstantOfShape")
def _computed(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """A target that is put together from sizes of inputs."""
    if node.op_type == "Tile":
        return None
    shape = _shape_vector(chain, chain.site.shape(node.output[0]))
    if shape is None:
        return None
    if node.op_type == "Reshape":
        return [chain.one("Reshape", node.input[0], shape, allowzero=1)]
    return [chain.like(node, {len(node.input) - 1: shape})]


def _shape_vector(chain: Chain, shape: tuple[Dim, ...] | None) -> str | None:
    """A vector of sizes: constants, and elements of shapes of inputs of the model."""
    if shape is None or not shape or chain.draft.opset < 14:
        return None
    sizes: dict[Dim, tuple[str, int]] = {}
    main = chain.draft.graphs[0][0]
    for value in chain.draft.model.graph.input:
        fact = chain.draft.fact(main, value.name)
        for axis, dim in enumerate(() if fact is None or fact.shape is None else fact.shape):
            sizes.setdefault(dim, (value.name, axis))
    parts: list[str] = []
    for dim in shape:
        if isinstance(dim, int):
            parts.append(chain.constant([dim]))
            continue
        if dim not in sizes or not isinstance(dim, Symbol):
            return None
        name, axis = sizes[dim]
        parts.append(chain.one("Gather", chain.one("Shape", name), chain.constant([axis])))
    return parts[0] if len(parts) == 1 else chain.one("Concat", *parts, axis=0)


# moved past others


def _swapped(draft: ChangedModel) -> str:
    """m(f(x)) = f(m(x)) for f on elements; the bits of f do not depend on the position."""
    places = []
    for path, graph in draft.graphs:
        makers = {name: node for node in graph.node for name in node.output}
        for at, node in enumerate(graph.node):
            before = makers.get(node.input[0]) if node.input else None
            if before is None or node.domain or before.domain:
                continue
            pair = (before.op_type in _UNARY, node.op_type in _MOVES)
            other = (before.op_type in _MOVES, node.op_type in _UNARY)
            if all(pair) or all(other):
                places.append((path, graph, at, before))
    if not places:
        return ""
    path, graph, at, before = draft.rng.choice(places)
    return _exchange(draft, path, graph, at, before)


def _exchange(draft: ChangedModel, path: Any, graph: Any, at: int, before: NodeProto) -> str:
    site, node = Site(draft, path, graph), graph.node[at]
    text, gone = f"{before.op_type} and {node.op_type}", before.output[0]
    chain = Chain(site)
    inner = chain.like(node, {0: before.input[0]})
    found = chain.like(before, {0: inner})
    site.put(at, chain.named({found: node.output[0]}), instead=1)
    without_unread(site, gone)
    return text


MOVEMENT["a movement past an operator"] = _swapped


def _spread(draft: ChangedModel) -> str:
    """Transpose(f(x, y)) = f(Transpose(x), Transpose(y)), for operands of equal rank or of rank 0."""
    for _ in range(TRIES):
        site = draft.any_graph()
        nodes = [at for at, node in enumerate(site.graph.node) if node.op_type == "Transpose"]
        if not nodes:
            continue
        at = draft.rng.choice(nodes)
        node = site.graph.node[at]
        before = site.producer(node.input[0])
        if before is None or before.op_type not in _BINARY or before.domain:
            continue
        rank = site.rank(node.input[0])
        ranks = [site.rank(name) for name in before.input]
        if rank is None or any(each not in (rank, 0) for each in ranks):
            continue
        chain, gone = Chain(site), before.output[0]
        moved = {slot: chain.like(node, {0: name}) for slot, name in enumerate(before.input) if ranks[slot] == rank}
        found = chain.like(before, moved)
        text = f"Transpose of {before.op_type}"
        site.put(at, chain.named({found: node.output[0]}), instead=1)
        without_unread(Site(draft, site.path, site.graph), gone)
        return text
    return ""


MOVEMENT["a Transpose of both operands"] = _spread
