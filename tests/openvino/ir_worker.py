"""Writes IRs with OpenVINO, and what OpenVINO computes with them, for a parent that never imports openvino.

`python ir_worker.py FOLDER NAME...`: NAME.xml and NAME.bin, and NAME.pickle with a list of runs, (inputs, outputs) by
name. With names alone it prints what there is.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as op

Built = tuple[list[Any], list[Any], list[dict[str, Any]]]
MODELS: dict[str, Callable[[], Built]] = {}
RNG = np.random.default_rng(7)


def model(build: Callable[[], Built]) -> Callable[[], Built]:
    """`build` gives the outputs, the parameters, and inputs of runs."""
    MODELS[build.__name__] = build
    return build


def floats(*shape: int) -> Any:
    return RNG.integers(-4, 5, shape).astype(np.float32)


def parameter(shape: Any, name: str, dtype: Any = np.float32) -> Any:
    return op.parameter(shape, dtype, name=name)


@model
def mlp() -> Built:
    """Weights of 4 KiB, small ones, compressed ones, integers of 4 KiB."""
    x = parameter([-1, 16], "x")
    large = op.constant(floats(16, 64))
    half = op.constant(floats(64, 8).astype(np.float16))
    hidden = op.relu(op.add(op.matmul(x, large, False, False), op.constant(floats(64))))
    out = op.matmul(hidden, op.convert(half, "f32"), False, False)
    table = op.constant(np.arange(512, dtype=np.int64))
    rows = op.gather(table, op.constant(np.array([3, 5], np.int32)), op.constant(0))
    return [out, rows], [x], [{"x": floats(2, 16)}]


@model
def branches() -> Built:
    """An If one branch of which gives its input as it is."""
    c, a, b = parameter([], "c", np.bool_), parameter([-1, 3], "a"), parameter([-1, 3], "b")
    then_a, then_b, else_a = parameter([-1, 3], "ta"), parameter([-1, 3], "tb"), parameter([-1, 3], "ea")
    sum_ = op.result(op.add(then_a, then_b))
    first = op.result(then_a)
    same, doubled = op.result(else_a), op.result(op.add(else_a, else_a))
    node = op.if_op(c.output(0))
    node.set_then_body(ov.Model([sum_, first], [then_a, then_b], "then"))
    node.set_else_body(ov.Model([same, doubled], [else_a], "else"))
    node.set_input(a.output(0), then_a, else_a)
    node.set_input(b.output(0), then_b, None)
    outputs = [node.set_output(sum_, same), node.set_output(first, doubled)]
    feeds = {"a": floats(2, 3), "b": floats(2, 3)}
    return outputs, [c, a, b], [{"c": np.array(value), **feeds} for value in (True, False)]


def loop(trip: Any, start: Any, body: Any, ports: list[int]) -> Any:
    node = op.loop(trip, start)
    node.set_function(body)
    node.set_special_body_ports(ports)
    return node


@model
def counted() -> Built:
    """A Loop of so many trips as an input says: a state, its last value and all of them, the counter as i32 vector."""
    trips, x, y = parameter([1], "trips", np.int32), parameter([1, 3], "x"), parameter([1, 3], "y")
    i, s, other = op.parameter([1], np.int32, name="i"), parameter([1, 3], "s"), parameter([1, 3], "o")
    after = op.add(s, op.multiply(other, op.convert(i, "f32")))
    results = [
        op.result(after),
        op.result(op.constant(True)),
        op.result(other),
        op.result(op.reshape(s, op.constant(np.array([-1, 1])), special_zero=True)),
    ]
    node = loop(trips, op.constant(True), ov.Model(results, [i, s, other], "body"), [0, 1])
    node.set_merged_input(s, x.output(0), results[0].output(0))
    node.set_invariant_input(other, y.output(0))
    outputs = [
        node.get_iter_value(results[0].output(0), -1),
        node.get_concatenated_slices(results[0].output(0), 0, 1, 1, -1, 0),
        node.get_concatenated_slices(results[3].output(0), 0, 1, 1, -1, 1),
        node.get_iter_value(results[2].output(0), -1),
        node.get_iter_value(results[3].output(0), -1),
    ]
    feeds = {"x": floats(1, 3), "y": floats(1, 3)}
    return outputs, [trips, x, y], [{"trips": np.array([n], np.int32), **feeds} for n in (1, 4)]


@model
def until() -> Built:
    """A Loop without a limit, which a condition ends."""
    x, bound = parameter([1], "x"), parameter([1], "bound")
    s, most = parameter([1], "s"), parameter([1], "most")
    after = op.add(s, s)
    results = [op.result(after), op.result(op.less(after, most))]
    node = loop(op.constant(-1), op.constant(True), ov.Model(results, [s, most], "body"), [-1, 1])
    node.set_merged_input(s, x.output(0), results[0].output(0))
    node.set_invariant_input(most, bound.output(0))
    runs = [{"x": np.array([1], np.float32), "bound": np.array([n], np.float32)} for n in (1, 9, 100)]
    return [node.get_iter_value(results[0].output(0), -1)], [x, bound], runs


def iterator(axis: int, start: int, end: int, stride: int, part: int, length: int) -> Built:
    x, h = parameter([-1, length, 4] if axis == 1 else [-1, 4, length], "x"), parameter([-1, 1, 4], "h")
    inner_x, inner_h = parameter([-1, part, 4] if axis == 1 else [-1, 4, part], "xi"), parameter([-1, 1, 4], "hi")
    sums = op.reduce_sum(inner_x, op.constant(np.array([axis])), keep_dims=True)
    state = op.add(inner_h, op.reshape(sums, op.constant(np.array([0, 1, -1])), special_zero=True))
    whole = op.add(inner_x, op.reduce_sum(inner_h, op.constant(np.array([1, 2])), keep_dims=True))
    flat = op.reshape(state, op.constant(np.array([0, -1, 1])), special_zero=True)
    results = [op.result(state), op.result(whole), op.result(flat)]
    body = ov.Model(results, [inner_x, inner_h], "body")
    ends = [result.output(0) for result in results]
    node = op.tensor_iterator()
    node.set_function(body)
    node.set_sliced_input(inner_x, x.output(0), start, stride, part, end, axis)
    node.set_merged_input(inner_h, h.output(0), ends[0])

    def joined(end: Any, along: int, size: int) -> Any:
        way = (0, size, size, -1) if stride > 0 else (-1, -size, size, 0)
        return node.get_concatenated_slices(end, *way, along)

    outputs = [
        node.get_iter_value(ends[0], -1),
        joined(ends[0], 1, 1),
        joined(ends[2], 2, 1),
        joined(ends[1], axis, part),
    ]
    return outputs, [x, h], [{"x": floats(2, *([length, 4] if axis == 1 else [4, length])), "h": floats(2, 1, 4)}]


@model
def forward() -> Built:
    return iterator(1, 0, -1, 1, 1, 5)


@model
def backward() -> Built:
    return iterator(1, -1, 0, -1, 1, 5)


@model
def pairs() -> Built:
    return iterator(2, 0, -1, 2, 2, 6)


@model
def pairs_backward() -> Built:
    return iterator(1, -1, 0, -2, 2, 6)


@model
def nested() -> Built:
    """An If in a Loop, a Loop in it."""
    x = parameter([2], "x")
    i, s = op.parameter([], np.int64, name="i"), parameter([2], "s")
    then_s, else_s = parameter([2], "ts"), parameter([2], "es")
    deep = parameter([2], "ds")
    grown = [op.result(op.add(deep, deep)), op.result(op.constant(True))]
    inner = loop(op.constant(2), op.constant(True), ov.Model(grown, [deep], "deep"), [-1, 1])
    inner.set_merged_input(deep, then_s.output(0), grown[0].output(0))
    then_out = op.result(inner.get_iter_value(grown[0].output(0), -1))
    else_out = op.result(op.relu(else_s))
    choice = op.if_op(op.less(i, op.constant(2)).output(0))
    choice.set_then_body(ov.Model([then_out], [then_s], "then"))
    choice.set_else_body(ov.Model([else_out], [else_s], "else"))
    choice.set_input(s.output(0), then_s, else_s)
    results = [op.result(choice.set_output(then_out, else_out)), op.result(op.constant(True))]
    node = loop(op.constant(3), op.constant(True), ov.Model(results, [i, s], "body"), [0, 1])
    node.set_merged_input(s, x.output(0), results[0].output(0))
    return [node.get_iter_value(results[0].output(0), -1)], [x], [{"x": np.array([-1, 2], np.float32)}]


@model
def shapes() -> Built:
    """Every form of a shape, escaped names, a state, strings, constants without elements."""
    d = ov.Dimension
    a = parameter([d(2, 7), -1, d(3, -1), d(0, 9), 5, 0], "a")
    b, c = parameter(ov.PartialShape.dynamic(), "b"), parameter([], "c")
    a.output(0).get_tensor().set_names({"first,second", "x"})
    state = op.read_value(op.constant(np.ones(2, np.float32)), "v")
    keep = op.assign(state, "v")
    MODELS["shapes.sinks"] = lambda: ([keep], [], [])
    words = op.constant(ov.Tensor(np.array(["ab", "", "xyz"])))
    return [op.relu(a), op.relu(b), op.relu(c), state, words, op.constant(np.zeros((0, 3), np.int64))], [a, b, c], []


@model
def scattered() -> Built:
    """Updates of rows, of elements and by index tuples; row numbers are not negative, the others may be."""
    data, rows, new = parameter([-1, 3], "data"), parameter([-1], "rows", np.int64), parameter([-1, 3], "new")
    places, tuples = parameter([-1, 3], "places", np.int64), parameter([-1, 2], "tuples", np.int64)
    single = parameter([-1], "single")
    a = op.scatter_update(data, rows, new, op.constant(0))
    b = op.scatter_elements_update(data, places, new, op.constant(0))
    c = op.scatter_nd_update(data, tuples, single)
    feeds = {
        "data": floats(4, 3), "rows": np.array([3, 0]), "new": floats(2, 3),
        "places": np.array([[0, 1, -1], [1, 0, 2]]), "tuples": np.array([[3, 2], [0, -3], [1, 1]]), "single": floats(3),
    }  # fmt: skip
    return [a, b, c], [data, rows, new, places, tuples, single], [feeds]


@model
def bags() -> Built:
    table = op.constant(floats(5, 3))
    ids, packed = parameter([-1], "ids", np.int64), parameter([-1, 2], "packed", np.int64)
    offsets, default = parameter([-1], "offsets", np.int64), parameter([], "default", np.int64)
    segments = parameter([-1], "segments", np.int64)
    a = op.embedding_bag_offsets_sum(table, ids, offsets, default)
    b = op.embedding_bag_packed_sum(table, packed)
    c = op.embedding_segments_sum(table, ids, segments, op.constant(np.int64(4)))
    feeds = {
        "ids": np.array([4, 0, 2, 2]), "packed": np.array([[1, 2], [0, 4]]), "offsets": np.array([0, 1, 1]),
        "default": np.int64(3), "segments": np.array([0, 1, 1, 3]),
    }  # fmt: skip
    return [a, b, c], [ids, packed, offsets, default, segments], [feeds]


@model
def reversed_rows() -> Built:
    x, lengths = parameter([-1, -1, 2], "x"), parameter([-1], "lengths", np.int64)
    feeds = {"x": floats(2, 3, 2), "lengths": np.array([3, 2])}
    return [op.reverse_sequence(x, lengths, 0, 1)], [x, lengths], [feeds]


@model
def blocks() -> Built:
    """Layers whose sizes have to fit: space to depth, a strided convolution, a pooling, a reshape, a split."""
    x, y = parameter([-1, 2, -1, -1], "x"), parameter([-1, -1], "y")
    deep = op.space_to_depth(x, "blocks_first", 2)
    conv = op.convolution(x, op.constant(floats(3, 2, 3, 3)), [2, 2], [0, 0], [0, 0], [1, 1])
    rows = op.reshape(y, op.constant(np.array([-1, 6], np.int64)), False)
    feeds = {"x": floats(1, 2, 4, 6), "y": floats(2, 3)}
    return [deep, conv, rows], [x, y], [feeds]


def write(folder: Path, name: str) -> None:
    outputs, parameters, runs = MODELS[name]()
    sinks = MODELS[f"{name}.sinks"]()[0] if f"{name}.sinks" in MODELS else []
    made = ov.Model([op.result(out) for out in outputs], sinks, parameters, name)
    for number, output in enumerate(made.outputs):
        output.get_tensor().set_names({f"out{number}"})
    ov.serialize(made, folder / f"{name}.xml", folder / f"{name}.bin")
    done = []
    compiled = ov.Core().compile_model(made, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}) if runs else None
    for feeds in runs:
        assert compiled is not None, "there are runs"
        results = compiled([np.array(feeds[p.friendly_name]) for p in parameters])
        done.append((feeds, [results[k].copy() for k in range(len(outputs))]))
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    for wanted in sys.argv[2:]:
        write(Path(sys.argv[1]), wanted)
