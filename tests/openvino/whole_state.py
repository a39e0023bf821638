"""Whole models with state: variables, and searches over beams, whose rows of state an input reorders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tests.openvino.whole_maker import Builder, Maker, Whole, floats, three, under

MODELS: dict[str, Builder] = {}
whole = partial(under, MODELS)


@whole("two variables that change places")
def _swap(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a, b = m.variable("a", [2, 3]), m.variable("b", [2, 3])
    first = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a)
    second = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(3))), b)
    out = m.named(m.ops.add(first, m.ops.multiply(second, m.const(np.float32(10)))), "y")
    return Whole(m.model([out], [x], [m.ops.assign(second, a), m.ops.assign(first, b)]), three(2, 3))


def _read_often(m: Maker, start: Callable[[Any], Any]) -> Whole:
    """OpenVINO's plugin does not run a model with two ReadValues of a variable."""
    models = []
    for times in (2, 1):
        x = m.input("x", [2, 3])
        a = m.variable("a", [2, 3])
        first = start(x)
        reads = [m.ops.read_value(first, a) for _ in range(times)]
        out = m.named(m.ops.subtract(m.ops.multiply(reads[0], m.const(np.float32(3))), reads[-1]), "y")
        models.append(m.model([out], [x], [m.ops.assign(m.ops.add(reads[0], x), a)]))
    return Whole(models[0], three(2, 3), models[1])


@whole("a variable that is read twice, from a computed value")
def _twice(m: Maker) -> Whole:
    return _read_often(m, lambda x: m.ops.multiply(x, m.const(np.float32(2))))


@whole("a variable that is read twice, from a constant")
def _twice_constant(m: Maker) -> Whole:
    return _read_often(m, lambda _: m.weights(2, 3))


@whole("a computed variable that is an output")
def _shown(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.named(m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a), "held")
    return Whole(m.model([read], [x], [m.ops.assign(m.ops.add(read, x), a)]), three(2, 3))


@whole("a constant variable that is an output")
def _shown_constant(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.named(m.ops.read_value(m.weights(2, 3), a), "held")
    y = m.named(m.ops.add(read, x), "y")
    return Whole(m.model([y, read], [x], [m.ops.assign(y, a)]), three(2, 3))


@whole("a variable that is assigned an input")
def _input_kept(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("x", [2, 3])
    read = m.ops.read_value(m.weights(2, 3), a)
    kept = m.ops.multiply(x, m.const(np.float32(2)))  # the plugin forgets to keep an input itself
    return Whole(m.model([m.named(m.ops.subtract(read, x), "y")], [x], [m.ops.assign(kept, a)]), three(2, 3))


@whole("a variable that is assigned what it holds")
def _kept(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a)
    return Whole(m.model([m.named(m.ops.subtract(read, x), "y")], [x], [m.ops.assign(read, a)]), three(2, 3))


@whole("variables whose names are numbers")
def _numbers(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    sinks, out = [], x
    for k, name in enumerate(("0", "1,2", "3,4", "007", "-1", "1.5")):
        read = m.ops.read_value(m.weights(2, 3, seed=k), m.variable(name, [2, 3]))
        out = m.ops.add(m.ops.multiply(out, m.const(np.float32(0.5))), read)
        sinks.append(m.ops.assign(m.ops.multiply(out, m.const(np.float32(k))), m.variable(name, [2, 3])))
    return Whole(m.model([m.named(out, "y")], [x], sinks), three(2, 3))


@whole("a scalar variable")
def _scalar(m: Maker) -> Whole:
    x = m.input("x", [])
    a = m.variable("a", [])
    read = m.ops.read_value(m.const(np.float32(3)), a)
    y = m.named(m.ops.add(read, x), "y")
    return Whole(m.model([y], [x], [m.ops.assign(y, a)]), [{"x": np.array(k, np.float32)} for k in (1, 2, 5)])


@whole("a variable that begins with f16 converted")
def _half(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    start = m.ops.convert(m.const(floats(2, 3).astype(np.float16)), "f32")
    read = m.ops.read_value(start, a)
    y = m.named(m.ops.add(read, x), "y")
    return Whole(m.model([y], [x], [m.ops.assign(y, a)]), three(2, 3))


@whole("an input called reset_state")
def _reset_taken(m: Maker) -> Whole:
    x = m.input("reset_state", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a)
    y = m.named(m.ops.add(read, x), "y")
    return Whole(m.model([y], [x], [m.ops.assign(y, a)]), three(2, 3, name="reset_state"))


@whole("a variable that begins with another one")
def _chained(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a, b = m.variable("a", [2, 3]), m.variable("b", [2, 3])
    first = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a)
    second = m.ops.read_value(first, b)
    y = m.named(m.ops.add(m.ops.multiply(first, m.const(np.float32(10))), second), "y")
    sinks = [m.ops.assign(m.ops.add(first, x), a), m.ops.assign(m.ops.subtract(second, x), b)]
    return Whole(m.model([y], [x], sinks), three(2, 3))


@whole("a variable without a first value")
def _uninitialised(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.ops.read_value(a)
    y = m.named(m.ops.add(read, x), "y")
    return Whole(m.model([y], [x], [m.ops.assign(y, a)]), three(2, 3))


@whole("a variable that a condition reads")
def _in_condition(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    a = m.variable("a", [2, 3])
    read = m.ops.read_value(m.ops.multiply(x, m.const(np.float32(2))), a)
    flag = m.ops.greater(m.ops.reduce_sum(read, m.const([0, 1]), False), m.const(np.float32(0)))
    flag = m.ops.reshape(flag, m.const([1]), False)
    branches = []
    for sign in (1, -1):
        p = m.ops.parameter([2, 3], np.float32)
        out = m.ops.result(m.ops.multiply(p, m.const(np.float32(sign))))
        branches.append((m.ov.Model([out], [p], "branch"), p, out))
    node = m.ops.if_op(flag.output(0))
    node.set_then_body(branches[0][0])
    node.set_else_body(branches[1][0])
    node.set_input(read.output(0), branches[0][1], branches[1][1])
    y = m.ops.add(node.set_output(branches[0][2], branches[1][2]), x)
    return Whole(m.model([m.named(y, "y")], [x], [m.ops.assign(y, a)]), three(2, 3))


def _decoder(m: Maker, kind: str) -> Whole:
    """Attention over what is past, whose rows `beam_idx` reorders."""
    x = m.input("x", [-1, -1, 4])
    beams = m.input("beam_idx", [-1], np.int32)
    batch = m.ops.gather(m.ops.shape_of(x), m.const([0]), m.const(0))
    nothing = m.ops.subtract(batch, batch)  # of a size that is known to be 0 the plugin believes that it stays
    start = m.ops.broadcast(m.const(np.float32(0)), m.ops.concat([batch, nothing, m.const([4])], 0))
    a = m.variable("past", [-1, -1, 4])
    read = m.named(m.ops.read_value(start, a), "past")
    moved = m.ops.transpose(read, m.const([0, 2, 1])) if kind == "moved" else read
    index = m.ops.convert(beams, "i64") if kind == "converted" else beams
    rows = m.ops.gather(moved, index, m.const(1 if kind == "columns" else 0))
    rows = m.ops.transpose(rows, m.const([0, 2, 1])) if kind == "moved" else rows
    left = m.ops.concat([rows, m.ops.relu(x)], 1)
    scores = m.ops.softmax(m.ops.matmul(x, left, False, True), -1)
    y = m.named(m.ops.matmul(scores, left, False, False), "y")
    if kind == "read besides":
        y = m.ops.add(y, m.ops.convert(m.ops.reduce_sum(beams, m.const([0]), False), "f32"))
    steps = [
        {"x": floats(2, n, 4, seed=n + k), "beam_idx": np.array(order, np.int32)}
        for k, (n, order) in enumerate(
            ((3, (0, 1)), (1, (0, 1) if kind == "in order" else (1, 0)), (2, (0, kind == "in order")))
        )
    ]
    return Whole(m.model([y], [x, beams], [m.ops.assign(left, a)]), steps)


def _searching(kind: str) -> Builder:
    return lambda m: _decoder(m, kind)


for _kind in ("plain", "moved", "converted", "read besides", "in order"):
    MODELS[f"beams, {_kind}"] = _searching(_kind)
