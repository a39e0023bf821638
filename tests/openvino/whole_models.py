"""Whole models for what holds layers together: names, outputs and bodies here, state and weights beside."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.openvino import whole_state, whole_weights
from tests.openvino.whole_maker import Builder, Maker, Whole, floats, three, under

MODELS: dict[str, Builder] = {**whole_state.MODELS, **whole_weights.MODELS}
whole = partial(under, MODELS)


@whole("an output that is an input")
def _passed(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    y = m.named(m.ops.relu(x), "y")
    return Whole(m.model([x, y], [x]), three(2, 3)[:1])


@whole("an output that is a constant")
def _constant_output(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    y = m.named(m.ops.relu(x), "y")
    return Whole(m.model([m.named(m.weights(2, 3), "k"), y], [x]), three(2, 3)[:1])


@whole("an output that is given twice")
def _twice_given(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    y = m.named(m.ops.relu(x), "y")
    return Whole(m.model([y, y, m.ops.tanh(y)], [x]), three(2, 3)[:1])


@whole("names of fragments")
def _names(m: Maker) -> Whole:
    x = m.input("x0", [2, 3])
    other = m.input("const_0", [2, 3])
    node: Any = m.ops.add(x, other)
    for k, name in enumerate(("x1", "const_1", "x0", "Gather_1", "", "a/b", "a/b", "größe ß", "reset_state", "const")):
        node = m.ops.swish(m.ops.hswish(node), m.const(np.float32(0.5 + k)))
        node.set_friendly_name(name)
    node = m.named(m.ops.gather(node, m.const([1, -1, 5]), m.const(1)), "Where_1")
    return Whole(m.model([node], [x, other]), [{"x0": floats(2, 3), "const_0": floats(2, 3, seed=9)}])


@whole("levels")
def _levels(m: Maker) -> Whole:
    x = m.input("x", [-1])
    node = m.ops.floor(m.ops.multiply(m.ops.sigmoid(x), m.const(np.float32(1024))))
    return Whole(m.model([node], [x]), [{"x": floats(5)}])


@whole("squares of integers")
def _squares(m: Maker) -> Whole:
    x = m.input("x", [-1], np.int64)
    return Whole(m.model([m.ops.multiply(x, x)], [x]), [{"x": np.arange(5)}])


@whole("an unread output")
def _unread(m: Maker) -> Whole:
    x = m.input("x", [2, 6])
    parts = m.ops.split(x, m.const(1), 3)
    best = m.ops.topk(x, m.const(2), 1, "max", "value")
    return Whole(m.model([parts.output(1), best.output(1)], [x]), three(2, 6)[:1])


@whole("layers in a loop")
def _loop(m: Maker) -> Whole:
    """Lowerings with constants, a guard, and a Loop of their own, in a body that captures."""
    x = m.input("x", [-1, 4])
    index = m.input("i", [-1], np.int64)
    trips = m.const(np.int64(3))
    a, i = m.ops.parameter([-1, 4], np.float32), m.ops.parameter([-1], np.int64)
    picked = m.ops.gather(a, i, m.const(1))
    pad = m.ops.reduce_sum(picked, m.const([1]), True)
    step = m.ops.mvn(m.ops.add(a, pad), m.const([1]), True, 1e-5, "inside_sqrt")
    results = [m.ops.result(one) for one in (step, picked, m.const(value=True))]
    loop = m.ops.loop(trips, m.const(True))
    loop.set_function(m.ov.Model(results, [a, i], "body"))
    loop.set_special_body_ports([-1, 2])
    loop.set_merged_input(a, x.output(0), results[0].output(0))
    loop.set_invariant_input(i, index.output(0))
    last = loop.get_iter_value(results[0].output(0), -1)
    all_picked = loop.get_concatenated_slices(results[1].output(0), 0, 1, 1, -1, 0)
    return Whole(
        m.model([last, all_picked], [x, index]),
        [{"x": floats(1, 4), "i": np.array([0, 7, -1])}],
    )


def _counted(m: Maker, sizes: list[int], trips: Any, flag: Any) -> Whole:
    """Results of a Loop of so many iterations: a state, and all of them joined along either axis."""
    x = m.input("x", sizes)
    s = m.ops.parameter(sizes, np.float32)
    step = m.ops.add(s, m.const(np.float32(1)))
    column = m.ops.reshape(m.ops.relu(step), m.const([-1, 1]), False)
    results = [m.ops.result(one) for one in (step, column, m.const(value=True))]
    loop = m.ops.loop(trips, flag)
    loop.set_function(m.ov.Model(results, [s], "body"))
    loop.set_special_body_ports([-1, 2])
    loop.set_merged_input(s, x.output(0), results[0].output(0))
    outputs = [
        loop.get_iter_value(results[0].output(0), -1),
        loop.get_concatenated_slices(results[0].output(0), 0, 1, 1, -1, 0),
        loop.get_concatenated_slices(results[1].output(0), 0, 1, 1, -1, 1),
    ]
    if flag.get_type_name() == "Parameter":  # of parts that were not made OpenVINO counts as many as there might be
        del outputs[2]
    inputs = [x, *(one for one in (trips, flag) if one.get_type_name() == "Parameter")]
    feeds = {"trips": [np.array(n) for n in (0, 2)], "flag": [np.array(f) for f in (False, True)]}
    steps = [{"x": floats(1, 3)} for _ in range(2)]
    for one in inputs[1:]:
        name = one.output(0).get_any_name()
        for feed, value in zip(steps, feeds[name], strict=True):
            feed[name] = value
    return Whole(m.model(outputs, inputs), steps)


@whole("a loop without iterations")
def _no_iterations(m: Maker) -> Whole:
    return _counted(m, [1, 3], m.input("trips", [], np.int64), m.const(value=True))


@whole("a loop without iterations, of sizes that are not known")
def _no_iterations_unsized(m: Maker) -> Whole:
    return _counted(m, [-1, -1], m.input("trips", [], np.int64), m.const(value=True))


@whole("a loop whose condition is false at once")
def _false_at_once(m: Maker) -> Whole:
    return _counted(m, [-1, -1], m.const(np.int64(2)), m.input("flag", [], np.bool_))


@whole("a loop of 0 iterations, a constant")
def _never(m: Maker) -> Whole:
    return _counted(m, [-1, -1], m.const(np.int64(0)), m.const(value=True))


@whole("a branch that is a constant")
def _constant_branch(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    flag = m.input("flag", [], np.bool_)
    p, q = m.ops.parameter([2, 3], np.float32), m.ops.parameter([2, 3], np.float32)
    shape = m.ops.shape_of(p)
    one = m.ops.result(m.ops.broadcast(m.const(np.float32(4)), shape))
    two = m.ops.result(m.ops.gather(q, m.const([0, 9]), m.const(0)))
    node = m.ops.if_op(flag.output(0))
    node.set_then_body(m.ov.Model([one], [p], "then"))
    node.set_else_body(m.ov.Model([two], [q], "else"))
    node.set_input(x.output(0), p, q)
    y = node.set_output(one, two)
    return Whole(m.model([y], [x, flag]), [{"x": floats(2, 3), "flag": np.array(f)} for f in (True, False)])


@whole("strings")
def _strings(m: Maker) -> Whole:
    texts = m.ops.parameter([-1], m.ov.Type.string, name="t")
    texts.output(0).set_names({"t"})
    x = m.input("x", [0, 3])
    picked = m.ops.gather(texts, m.const([0, -1]), m.const(0))
    y = m.named(m.ops.reduce_sum(x, m.const([0]), False), "y")
    return Whole(m.model([picked, y], [texts, x]), [{"t": np.array(["a", "größe", ""]), "x": floats(0, 3)}])
