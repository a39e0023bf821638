"""Entries of the menu for edge cases: NaN and infinities, bodies that never run, empty operands, random nodes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.oracle.graph_builder import Builder, Entry, axis_of, is_bool, is_float, is_int, type_of
from tests.oracle.graph_sizes import size, size1

SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.76, -1.5, 2.0)

Half = np.float16


def special(b: Builder) -> str:
    """A constant with NaN, infinities and both zeros among its elements."""
    shape = b.rng.choice(((), (1,), (2,), (3,), (2, 2), (1, 3), (0,)))
    return b.constant(
        np.array([b.rng.choice(SPECIAL) for _ in range(int(np.prod(shape)))]).reshape(shape), dtype=np.float32
    )


def special_values(b: Builder) -> object:
    """Constants with special elements, ordered, compared, summed, moved."""
    x = special(b)
    rank = b.first(x).ndim
    roll = b.rng.random()
    if roll < 0.3 and rank:
        at = axis_of(b, rank)
        k = b.constant([b.rng.randint(0, max(1, b.first(x).shape[at]))])
        return b.add("TopK", [x, k], 2, axis=at, largest=b.rng.randint(0, 1), sorted=1)
    if roll < 0.45 and rank:
        kind = b.rng.choice(("ArgMax", "ArgMin"))
        at = b.rng.randrange(rank)
        return b.one(kind, x, axis=at, keepdims=b.rng.randint(0, 1), select_last_index=b.rng.randint(0, 1))
    if roll < 0.6:
        return b.one(b.rng.choice(("Max", "Min", "Add", "Mul", "Sub", "Less", "Equal", "Greater")), x, special(b))
    if roll < 0.75:
        kind = b.rng.choice(("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"))
        return b.one(kind, x, keepdims=b.rng.randint(0, 1))
    if roll < 0.85:
        low, high = (b.constant(b.rng.choice(SPECIAL), np.float32) for _ in range(2))
        return b.one("Clip", x, low, high)
    return b.one(b.rng.choice(("Relu", "Neg", "Abs", "Sign", "IsNaN", "Floor", "Round", "Identity")), x)


def large_integers(b: Builder) -> object:
    """Sums and products of integers that a double does not hold."""
    row = [
        b.rng.choice((2**53 + 1, -(2**53) - 1, 2**62, 1, 3, -7, 2**31, 2**32 + 1)) for _ in range(b.rng.randint(1, 4))
    ]
    x = b.constant(row)
    if b.rng.random() < 0.5:
        kind = b.rng.choice(("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1"))
        return b.one(kind, x, keepdims=b.rng.randint(0, 1))
    kind = b.rng.choice(("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Less"))
    return b.one(kind, x, b.constant(b.rng.choice(row)))


def allowzero(b: Builder) -> str | None:
    """A Reshape with allowzero by a target with zeros, constant or computed."""
    x = b.floats(1, 4)
    if x is None:
        return None
    shape = b.first(x).shape
    target: list[int] = [0 if b.rng.random() < 0.4 else d for d in shape]
    if b.rng.random() < 0.6:
        target[b.rng.randrange(len(target))] = -1
    if b.rng.random() < 0.3:
        target.insert(b.rng.randint(0, len(target)), 1)
    if b.rng.random() < 0.5:
        return b.one("Reshape", x, b.constant(target), allowzero=1)
    parts = [b.constant([d]) if d <= 0 or b.rng.random() < 0.5 else size1(b) for d in target]
    return b.one("Reshape", x, b.one("Concat", *parts, axis=0), allowzero=1)


# bodies that never run


def failing(b: Builder) -> tuple[list[NodeProto], list[TensorProto], str] | None:
    """Nodes that were never run, and their float result: the last one fails at the first example, if it is reached."""
    x = b.floats(1, 4)
    if x is None:
        return None
    shape = b.first(x).shape
    at = b.rng.randrange(len(shape))
    nodes: list[NodeProto] = []
    tensors: list[TensorProto] = []

    def constant(value: Any, dtype: Any = np.int64) -> str:
        tensors.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), b.world.name("c")))
        return tensors[-1].name

    def node(op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        made = [b.world.name("v") for _ in range(outputs)]
        nodes.append(helper.make_node(op_type, inputs, made, **attributes))
        return made[0]

    if b.rng.random() < 0.3:
        x = node(b.rng.choice(("Relu", "Neg", "Identity")), x)
    if b.rng.random() < 0.3:  # what is known of sizes reaches the node by a computed target
        x = node("Reshape", x, node("Shape", x))
    wrong = shape[at] + b.rng.randint(1, 3)
    match b.rng.randint(0, 9):
        case 0:
            made = node("Squeeze", x, constant([at]))
        case 1:
            made = node("Reshape", x, constant([7, 11]))
        case 2:
            made = node("MatMul", x, constant(np.ones((shape[-1] + 1, 2)), np.float32))
        case 3:
            other = [d if k == at else d + 1 for k, d in enumerate(shape)]
            made = node("Concat", x, constant(np.ones(other), np.float32), axis=at)
        case 4:
            made = node("Gather", x, constant(b.rng.choice((wrong, -wrong - 1))), axis=at)
        case 5:
            made = node("Add", x, constant(np.ones(shape[-1] + 2), np.float32))
        case 6:
            made = node("Split", x, constant([1, wrong]), outputs=2, axis=at)
        case 7:
            made = node("TopK", x, constant([wrong]), outputs=2, axis=at)
        case 8:
            made = node("Reshape", x, constant([0, -1]), allowzero=1)
        case _:
            made = node("GatherND", x, constant([[wrong] * len(shape)]))
    if b.rng.random() < 0.4:
        made = node("Relu", made)
    return nodes, tensors, made


def never(b: Builder) -> str | None:
    """A condition that no run of a generated graph fulfils; the inference knows that of some."""
    roll = b.rng.random()
    if roll < 0.5:
        return b.pick(lambda a: is_bool(a) and a.shape == () and not a) if "never" not in b.visible() else "never"
    if roll < 0.7:
        return b.one("Greater", size(b), b.constant(b.rng.choice((2**20, 2**40))))
    if roll < 0.8:
        return b.one("Less", size(b), b.constant(-(2**20)))
    if roll < 0.9:
        return b.constant(False, np.bool_)
    known = b.pick(lambda a: is_float(a))
    total = b.one("ReduceMax", b.one("Abs", known), keepdims=0) if known is not None else None
    return b.one("Greater", total, b.constant(1e30, np.float32)) if total is not None else None


def untaken_branch(b: Builder) -> object:
    """An If of which one branch fails when it is taken, and never is."""
    chosen, wrong = never(b), failing(b)
    x = b.floats(0, 4)
    if chosen is None or wrong is None or x is None:
        return None
    nodes, tensors, made = wrong
    other = b.world.name("v")
    output = ValueInfoProto()
    output.CopyFrom(type_of(made, b.first(x)))
    bad = helper.make_graph(nodes, b.world.name("g"), [], [output], tensors)
    node = helper.make_node(b.rng.choice(("Relu", "Identity", "Neg")), [x], [other])
    good = helper.make_graph([node], b.world.name("g"), [], [type_of(other, b.first(x))])
    if b.rng.random() < 0.5:
        return b.add("If", [b.one("Not", chosen)], then_branch=good, else_branch=bad)
    return b.add("If", [chosen], then_branch=bad, else_branch=good)


def idle_loop(b: Builder) -> object:
    """A Loop without iterations whose body fails when it runs."""
    wrong = failing(b)
    x = b.floats(0, 3)
    if wrong is None or x is None:
        return None
    nodes, tensors, made = wrong
    limit, start = b.constant(3), ""
    roll = b.rng.random()
    if roll < 0.4 and "zero" in b.visible():
        limit = "zero"
    elif roll < 0.6:
        limit = b.constant(0)
    else:
        start = never(b) or ""
        if not start:
            return None
    i, keep, state, goes_on, after = (b.world.name("s") for _ in range(5))
    nodes = [
        *nodes,
        helper.make_node("Identity", [keep], [goes_on]),
        helper.make_node("Add", [state, state], [after]),
    ]
    inputs = [
        helper.make_tensor_value_info(i, TensorProto.INT64, []),
        helper.make_tensor_value_info(keep, TensorProto.BOOL, []),
        type_of(state, b.first(x)),
    ]
    outputs = [helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []), type_of(after, b.first(x))]
    if b.rng.random() < 0.5:
        outputs.append(type_of(made, b.first(x)))
    body = helper.make_graph(nodes, b.world.name("g"), inputs, outputs, tensors)
    return b.add("Loop", [limit, start, x], len(outputs) - 1, body=body)


# other edges


def empty_operand(b: Builder) -> str | None:
    """A Concat with an operand without elements, whose other dims the runtime does not compare."""
    x = b.floats(1, 3)
    if x is None:
        return None
    shape = list(b.first(x).shape)
    at = b.rng.randrange(len(shape))
    shape[at] = 0
    if len(shape) > 1 and b.rng.random() < 0.2:
        shape[at - 1] += 1
    parts = [x, b.constant(np.zeros(shape), np.float32)]
    b.rng.shuffle(parts)
    return b.one("Concat", *parts, axis=at)


def is_half(value: Any) -> bool:
    return not isinstance(value, list) and bool(value.dtype == Half)


def half(b: Builder) -> str | None:
    """A step of a computation in float16; the elements are few and short, so that most results are exact."""
    known = b.pick(is_half)
    if known is None or b.rng.random() < 0.3:
        return b.one("Cast", b.floats(), to=TensorProto.FLOAT16)
    shape = b.first(known).shape
    roll = b.rng.random()
    if roll < 0.3:
        return b.one("Cast", known, to=TensorProto.FLOAT)
    if roll < 0.5:
        return b.one(b.rng.choice(("Identity", "Relu", "Neg", "Abs", "Floor", "Sigmoid")), known)
    if roll < 0.7:
        number = b.constant(b.rng.choice((0.5, 2.0, 0.1, 1.0, 0.0)), Half)
        return b.one(b.rng.choice(("Add", "Mul", "Sub", "Max", "Min")), known, number)
    if roll < 0.8:
        return b.one("Reshape", known, b.constant([-1]))
    if roll < 0.9 and shape:
        return b.one("Gather", known, b.constant(axis_of(b, max(shape[0], 1)) if shape[0] else 0))
    return b.one("Add", known, b.pick(lambda a: is_half(a) and a.shape == shape))


def random_node(b: Builder) -> object:
    """Elements that no two runs share, of a size that all do."""
    x = b.floats(0, 3)
    if x is None:
        return None
    roll = b.rng.random()
    if roll < 0.5:
        return b.one(b.rng.choice(("RandomUniformLike", "RandomNormalLike")), x)
    if roll < 0.7:
        return b.one("Bernoulli", b.one("Sigmoid", x))
    if roll < 0.9:
        return b.add("Dropout", [x, b.constant(0.5, np.float32), b.constant(True, np.bool_)], b.rng.randint(1, 2))
    shape = [b.rng.randint(1, 3) for _ in range(b.rng.randint(0, 2))]
    return b.one("RandomUniform", shape=shape) if shape else None


def if_to_the_end(b: Builder) -> object:
    """An If that writes a size, an output of the graph, beside something that is read."""
    chosen = b.pick(lambda a: is_bool(a) and a.size == 1)
    x = b.floats(1, 3)
    if chosen is None or x is None or b.depth:
        return None
    graphs = {}
    for name in ("then_branch", "else_branch"):
        inner = b.inner()
        written = inner.one("Identity", size(inner))
        kept = inner.one(b.rng.choice(("Relu", "Neg", "Abs")), x)
        if written is None or kept is None:
            return None
        graphs[name] = inner.graph((), [written, kept])
    made = b.add("If", [chosen], 2, **graphs)
    if made is None:
        return None
    b.world.ends.update(made[:1] if b.rng.random() < 0.7 else made)
    return b.one("Expand", made[1], b.one("Shape", x)) if b.rng.random() < 0.5 else b.one("Neg", made[0])


def view_of_view(b: Builder) -> str | None:
    """A Reshape of a Reshape by the Shape of what both view."""
    x = b.pick(lambda a: (is_float(a) or is_int(a)) and 1 <= a.ndim <= 3)
    flat = b.one("Reshape", x, b.constant([-1]))
    return b.one("Reshape", flat, b.one("Shape", x))


EDGES: dict[Entry, int] = {
    special_values: 4, large_integers: 2, allowzero: 4, untaken_branch: 5, idle_loop: 4, empty_operand: 2, half: 6,
    random_node: 2, if_to_the_end: 3, view_of_view: 2,
}  # fmt: skip


RANDOM = frozenset({"Bernoulli", "Dropout", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})
"""The operators of `random_node` and `unary`."""


def random_values(model: ModelProto) -> set[str]:
    """Names of the main graph's values that rest on a random node, in a body or a function too: runs differ in them."""
    drawing = {f.name for f in model.functions if _draws(f.node, set())}
    found: set[str] = set()
    for node in model.graph.node:
        if _draws([node], drawing) or not found.isdisjoint(_all_reads(node)):
            found |= set(node.output)
    return found


def _draws(nodes: Iterable[NodeProto], drawing: AbstractSet[str]) -> bool:
    return any(
        n.op_type in RANDOM | drawing or any(_draws(a.g.node, drawing) for a in n.attribute if a.HasField("g"))
        for n in nodes
    )


def _all_reads(node: NodeProto) -> set[str]:
    bodies = [a.g for a in node.attribute if a.HasField("g")]
    inner = [n for body in bodies for n in body.node]
    return set(node.input).union((o.name for body in bodies for o in body.output), *map(_all_reads, inner))
