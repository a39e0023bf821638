"""Whole models for what holds layers together: state, names, weights, bodies; made where OpenVINO is.

A builder gets a `Maker` and gives a model and the inputs of each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Feeds: TypeAlias = "dict[str, npt.NDArray[Any]]"


@dataclass(frozen=True, slots=True)
class Whole:
    """A model of OpenVINO and the inputs of its steps, each of which goes on from the state of the one before.

    instead   a model that computes the same, where OpenVINO does not run this one
    """

    model: Any
    steps: Sequence[Feeds]
    instead: Any = None


@dataclass(frozen=True, slots=True)
class Maker:
    """What builders build with; only the process that has OpenVINO makes one.

    is_plain   weights are not compressed: for OpenVINO to be asked about, whose plugin does not run all their layouts
    """

    ov: Any
    is_plain: bool = False

    @property
    def ops(self) -> Any:
        return self.ov.opset16

    def input(self, name: str, shape: Sequence[int], dtype: Any = np.float32) -> Any:
        """A Parameter of this name; a size of -1 is not known."""
        made = self.ops.parameter(list(shape), dtype, name=name)
        made.output(0).set_names({name})
        return made

    def const(self, value: Any, dtype: Any = None) -> Any:
        return self.ops.constant(np.asarray(value, dtype))

    def weights(self, *shape: int, seed: int = 5) -> Any:
        return self.const(np.random.default_rng(seed).uniform(-1, 1, shape), np.float32)

    def packed(self, element: str, values: npt.NDArray[Any]) -> Any:
        """A constant of an element type that numpy lacks."""
        kind = getattr(self.ov.Type, element)
        return self.ov.op.Constant(kind, self.ov.Shape(list(values.shape)), values.ravel().tolist())

    def variable(self, name: str, shape: Sequence[int], element: str = "f32") -> Any:
        info = self.ov.op.util.VariableInfo()
        info.data_shape, info.variable_id = self.ov.PartialShape(list(shape)), name
        info.data_type = getattr(self.ov.Type, element)
        return self.ov.op.util.Variable(info)

    def named(self, node: Any, name: str) -> Any:
        node.output(0).set_names({name})
        return node

    def model(self, outputs: Sequence[Any], inputs: Sequence[Any], sinks: Sequence[Any] = ()) -> Any:
        return self.ov.Model([self.ops.result(one) for one in outputs], list(sinks), list(inputs), "whole")


Builder: TypeAlias = Callable[[Maker], Whole]
MODELS: dict[str, Builder] = {}


def floats(*shape: int, seed: int = 1) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


def whole(name: str) -> Callable[[Builder], Builder]:
    """Decorator: a model under a name."""

    def add(builder: Builder) -> Builder:
        assert name not in MODELS, name
        MODELS[name] = builder
        return builder

    return add


def three(*shape: int, name: str = "x") -> list[Feeds]:
    return [{name: floats(*shape, seed=k)} for k in range(3)]


# state


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


# names and outputs


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


# weights


NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32,
)  # fmt: skip
"""https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/convert-1.html"""


def quantized(
    m: Maker, element: str, shape: Sequence[int], scale: Sequence[int], zero: Sequence[int] | None,
    *, half: bool = False, float_zero: bool = False, reshape: Sequence[int] = (), seed: int = 3,
) -> Any:  # fmt: skip
    """A compressed weight; of a plain maker the float32 that it stands for, computed here."""
    random = np.random.default_rng(seed)
    low, high = {"u8": (0, 255), "i8": (-128, 127), "u4": (0, 15), "i4": (-8, 7), "nf4": (0, 15)}[element]
    data: Any = random.integers(low, high + 1, shape)
    points = np.zeros(()) if zero is None else random.integers(max(low, -4), 8, zero)
    wide, kind = ("f16", np.float16) if half else ("f32", np.float32)
    data = NF4[data] if element == "nf4" else data
    factor = np.asarray(random.uniform(0.01, 0.2, scale)).astype(kind)
    if m.is_plain:
        held = (data.astype(np.float32) - points.astype(np.float32)) * factor.astype(np.float32)
        return m.const(held.reshape(reshape or held.shape))
    node = m.ops.convert(m.packed(element, data), wide)
    if zero is not None:
        point = m.const(points, kind) if float_zero else m.ops.convert(m.packed(element, points), wide)
        node = m.ops.subtract(node, point)
    node = m.ops.multiply(node, m.const(factor))
    if reshape:
        node = m.ops.reshape(node, m.const(list(reshape)), False)
    return m.ops.convert(node, "f32") if half else node


LAYOUTS: dict[str, dict[str, Any]] = {
    "scalar": {"shape": [8, 32], "scale": [], "zero": []},
    "ones": {"shape": [8, 32], "scale": [1, 1], "zero": [1, 1]},
    "rows": {"shape": [8, 32], "scale": [8, 1], "zero": [8, 1]},
    "columns": {"shape": [8, 32], "scale": [1, 32], "zero": [1, 32]},
    "columns as a vector": {"shape": [8, 32], "scale": [32], "zero": [32]},
    "whole": {"shape": [8, 32], "scale": [8, 32], "zero": [8, 32]},
    "no zero": {"shape": [8, 32], "scale": [8, 1], "zero": None},
    "one zero": {"shape": [8, 32], "scale": [8, 1], "zero": []},
    "zeros of one scale": {"shape": [8, 32], "scale": [1, 1], "zero": [8, 1]},
    "zeros across": {"shape": [8, 32], "scale": [8, 1], "zero": [1, 32]},
    "float zero": {"shape": [8, 32], "scale": [8, 1], "zero": [8, 1], "float_zero": True},
    "blocks": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 32]},
    "blocks, one zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [1, 1, 1], "reshape": [8, 32]},
    "blocks, float zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 32],
                           "float_zero": True},
    "blocks, no zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": None, "reshape": [8, 32]},
    "blocks of 5": {"shape": [8, 3, 5], "scale": [8, 3, 1], "zero": [8, 3, 1], "reshape": [8, 15]},
    "blocks of 48": {"shape": [8, 2, 48], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 96]},
    "odd": {"shape": [5, 7], "scale": [5, 1], "zero": [5, 1]},
    "one row": {"shape": [1, 32], "scale": [1, 1], "zero": [1, 1]},
    "one column": {"shape": [8, 1], "scale": [8, 1], "zero": [8, 1]},
    "one block": {"shape": [8, 1, 16], "scale": [8, 1, 1], "zero": [8, 1, 1], "reshape": [8, 16]},
    "blocks of columns": {"shape": [2, 4, 32], "scale": [2, 1, 32], "zero": [2, 1, 32], "reshape": [8, 32]},
    "scale of rows of blocks": {"shape": [8, 2, 16], "scale": [8, 1, 1], "zero": [8, 1, 1], "reshape": [8, 32]},
}  # fmt: skip


def _weighted(element: str, layout: Any, half: bool, transpose: bool) -> Builder:
    def build(m: Maker) -> Whole:
        node = quantized(m, element, half=half, **layout)
        n, k = layout.get("reshape") or layout["shape"]
        depth = k if transpose else n
        x = m.input("x", [-1, depth])
        return Whole(m.model([m.ops.matmul(x, node, False, transpose)], [x]), [{"x": floats(3, depth)}])

    return build


for _layout, _given in LAYOUTS.items():
    for _element in ("u8", "i8", "u4", "i4", "nf4"):
        if _element == "nf4" and _given["zero"] is not None:
            continue
        for _in_half in (False, True):
            for _transpose in (True, False):
                _name = f"weights {_element} {_layout} {'f16' if _in_half else 'f32'} {'NK' if _transpose else 'KN'}"
                MODELS[_name] = _weighted(_element, _given, _in_half, _transpose)


@whole("weights in branches")
def _weights_in_branches(m: Maker) -> Whole:
    """Two that are read transposed, one of which the main graph has too, and one that is not."""
    x, flag = m.input("x", [-1, 32]), m.input("flag", [], np.bool_)
    layouts = [("u4", LAYOUTS["blocks"]), ("i8", LAYOUTS["rows"])]
    branches = []
    for seed, (element, layout) in enumerate(layouts):
        p = m.ops.parameter([-1, 32], np.float32)
        wide = m.ops.matmul(p, quantized(m, element, seed=seed, half=bool(seed), **layout), False, True)
        back = m.ops.matmul(wide, quantized(m, "u8", [8, 32], [1, 32], None, seed=9), False, False)
        out = m.ops.result(back)
        branches.append((m.ov.Model([out], [p], "branch"), p, out))
    node = m.ops.if_op(flag.output(0))
    node.set_then_body(branches[0][0])
    node.set_else_body(branches[1][0])
    node.set_input(x.output(0), branches[0][1], branches[1][1])
    y = node.set_output(branches[0][2], branches[1][2])
    z = m.ops.matmul(y, quantized(m, "u4", seed=0, **LAYOUTS["blocks"]), False, True)
    return Whole(m.model([z, y], [x, flag]), [{"x": floats(3, 32), "flag": np.array(f)} for f in (True, False)])


@whole("weights in a branch in a loop")
def _weights_in_a_loop(m: Maker) -> Whole:
    x = m.input("x", [-1, 16])
    a, i = m.ops.parameter([-1, 16], np.float32), m.ops.parameter([], np.int64)
    square: dict[str, Any] = {"shape": [16, 1, 16], "scale": [16, 1, 1], "zero": [16, 1, 1], "reshape": [16, 16]}
    outer = m.ops.matmul(a, quantized(m, "i4", half=True, **square), False, True)
    branches = []
    for seed in (4, 5):
        p = m.ops.parameter([-1, 16], np.float32)
        out = m.ops.result(m.ops.matmul(p, quantized(m, "u4", seed=seed, **square), False, True))
        branches.append((m.ov.Model([out], [p], "branch"), p, out))
    node = m.ops.if_op(m.ops.equal(i, m.const(np.int64(1))).output(0))
    node.set_then_body(branches[0][0])
    node.set_else_body(branches[1][0])
    node.set_input(m.ops.tanh(outer).output(0), branches[0][1], branches[1][1])
    after = m.ops.tanh(node.set_output(branches[0][2], branches[1][2]))
    results = [m.ops.result(after), m.ops.result(m.const(value=True))]
    loop = m.ops.loop(m.const(np.int64(3)), m.const(value=True))
    loop.set_function(m.ov.Model(results, [a, i], "body"))
    loop.set_special_body_ports([1, 1])
    loop.set_merged_input(a, x.output(0), results[0].output(0))
    return Whole(m.model([loop.get_iter_value(results[0].output(0), -1)], [x]), [{"x": floats(2, 16)}])


@whole("weights of two MatMuls")
def _two_readers(m: Maker) -> Whole:
    node = quantized(m, "u4", [8, 2, 16], [8, 2, 1], [8, 2, 1], reshape=[8, 32], half=True)
    x, z = m.input("x", [-1, 32]), m.input("z", [-1, 8])
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.matmul(z, node, False, False)], [x, z]),
        [{"x": floats(3, 32), "z": floats(3, 8)}],
    )


@whole("weights of two MatMuls, both transposed")
def _two_alike(m: Maker) -> Whole:
    node = quantized(m, "u4", [8, 2, 16], [8, 2, 1], [8, 2, 1], reshape=[8, 32], half=True)
    x, z = m.input("x", [-1, 32]), m.input("z", [2, -1, 32])
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.matmul(z, node, False, True)], [x, z]),
        [{"x": floats(3, 32), "z": floats(2, 3, 32)}],
    )


@whole("weights of a MatMul and a Gather")
def _tied(m: Maker) -> Whole:
    node = quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True)
    ids = m.input("ids", [-1], np.int64)
    embedded = m.ops.gather(node, ids, m.const(0))
    return Whole(m.model([m.ops.matmul(embedded, node, False, True)], [ids]), [{"ids": np.array([0, 7, 3])}])


for _element in ("u8", "i8", "u4", "i4", "nf4"):

    def _table(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 1]
        node = quantized(m, element, [8, 32], [8, 1], zero, half=True)
        ids = m.input("ids", [2, -1], np.int64)
        return Whole(m.model([m.ops.gather(node, ids, m.const(0))], [ids]), [{"ids": np.array([[0, 7], [3, 7]])}])

    def _convolution(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 1, 1, 1]
        node = quantized(m, element, [8, 4, 3, 3], [8, 1, 1, 1], zero, half=True)
        x = m.input("x", [1, 4, 6, 6])
        return Whole(m.model([m.ops.convolution(x, node, [1, 1], [0, 0], [0, 0], [1, 1])], [x]), three(1, 4, 6, 6)[:1])

    def _block_table(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 2, 1]
        node = quantized(m, element, [8, 2, 16], [8, 2, 1], zero, reshape=[8, 32], half=True)
        ids = m.input("ids", [2, -1], np.int64)
        return Whole(m.model([m.ops.gather(node, ids, m.const(0))], [ids]), [{"ids": np.array([[0, 7], [3, 7]])}])

    def _vector(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 2, 1]
        node = quantized(m, element, [8, 2, 16], [8, 2, 1], zero, reshape=[8, 32], half=True)
        x = m.input("x", [32])
        return Whole(m.model([m.ops.matmul(x, node, False, True)], [x]), three(32)[:1])

    MODELS[f"weights {_element} of a Gather"] = _table
    MODELS[f"weights {_element} of a Gather, in blocks"] = _block_table
    MODELS[f"weights {_element} of a Convolution"] = _convolution
    MODELS[f"weights {_element} of a MatMul of a vector"] = _vector


@whole("weights alone")
def _alone(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    return Whole(m.model([quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True), x], [x]), three(2, 3)[:1])


@whole("weights f16")
def _plain_half(m: Maker) -> Whole:
    x = m.input("x", [-1, 32])
    node = m.ops.convert(m.const(floats(8, 32).astype(np.float16)), "f32")
    ids = m.input("ids", [-1], np.int64)
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.gather(node, ids, m.const(0))], [x, ids]),
        [{"x": floats(3, 32), "ids": np.array([0, 7])}],
    )


@whole("weights under a Transpose")
def _transposed(m: Maker) -> Whole:
    node = quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True)
    x = m.input("x", [-1, 32])
    return Whole(
        m.model([m.ops.matmul(x, m.ops.transpose(node, m.const([1, 0])), False, False)], [x]), three(3, 32)[:1]
    )


@whole("weights whose zero point is a constant minus")
def _reversed(m: Maker) -> Whole:
    """Zero points that are larger than the data."""
    random = np.random.default_rng(4)
    data, zero = random.integers(0, 255, [8, 1]), random.integers(0, 255, [8, 32])
    held = [m.ops.convert(m.packed("u8", one), "f32") for one in (data, zero)]
    node = m.ops.multiply(m.ops.subtract(*held), m.const(np.float32(0.1)))
    if m.is_plain:
        node = m.const((data - zero).astype(np.float32) * np.float32(0.1))
    x = m.input("x", [-1, 32])
    return Whole(m.model([m.ops.matmul(x, node, False, True)], [x]), three(3, 32)[:1])


@whole("weights that share a zero point")
def _shared_zero(m: Maker) -> Whole:
    random = np.random.default_rng(4)
    zero = m.ops.convert(m.packed("u8", random.integers(0, 255, [8, 1])), "f16")
    x, out = m.input("x", [-1, 32]), []
    for _ in range(2):
        data = m.ops.convert(m.packed("u8", random.integers(0, 255, [8, 32])), "f16")
        node = m.ops.multiply(m.ops.subtract(data, zero), m.const(random.uniform(0, 0.1, [8, 1]), np.float16))
        out.append(m.ops.matmul(x, m.ops.convert(node, "f32"), False, True))
    return Whole(m.model(out, [x]), three(3, 32)[:1])


# a search over beams


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
