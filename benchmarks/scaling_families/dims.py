"""Chains of nodes on dims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from scaling_families.build import INT64, chain, constant, family, model, value


def _dims(n: int, *nodes: tuple[Any, ...], constants: Iterable[TensorProto] = ()) -> ModelProto:
    """A chain on the first dim of an input."""
    model = chain(n, *nodes, of=[value("data", ["N", "M"])], constants=constants, result=value("y", [], INT64))
    before = [helper.make_node("Shape", ["data"], ["s"]), helper.make_node("Gather", ["s", "at0"], ["x"], axis=0),
              helper.make_node("Gather", ["s", "at1"], ["m"], axis=0)]  # fmt: skip
    nodes_after = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*before, *nodes_after])
    model.graph.initializer.extend([constant("at0", 0), constant("at1", 1)])
    return model


@family("dims: Div by 2")
def _(n: int) -> ModelProto:
    return _dims(n, ("Div", [".", "two"]), constants=[constant("two", 2)])


@family("dims: Add 1")
def _(n: int) -> ModelProto:
    return _dims(n, ("Add", [".", "one"]), constants=[constant("one", 1)])


@family("dims: Add M, Sub N")
def _(n: int) -> ModelProto:
    return _dims(n, ("Add", [".", "m"]), ("Sub", [".", "x"]))


@family("dims: Mul by M")
def _(n: int) -> ModelProto:
    return _dims(n, ("Mul", [".", "m"]))


@family("dims: Mul by 2, Add 1, Div by 2")
def _(n: int) -> ModelProto:
    constants = [constant("one", 1), constant("two", 2)]
    return _dims(n, ("Mul", [".", "two"]), ("Add", [".", "one"]), ("Div", [".", "two"]), constants=constants)


@family("dims: Add 1, Div by 2")
def _(n: int) -> ModelProto:
    constants = [constant("one", 1), constant("two", 2)]
    return _dims(n, ("Add", [".", "one"]), ("Div", [".", "two"]), constants=constants)


@family("dims: Max and Min")
def _(n: int) -> ModelProto:
    return _dims(n, ("Max", [".", "m"]), ("Min", [".", "five"]), constants=[constant("five", 5)])


@family("dims: Max, Add 1")
def _(n: int) -> ModelProto:
    return _dims(n, ("Max", [".", "m"]), ("Add", [".", "one"]), constants=[constant("one", 1)])


@family("dims: Mod and Add")
def _(n: int) -> ModelProto:
    return _dims(n, ("Mod", [".", "m"]), ("Add", [".", "x"]))


@family("dims: Cast, Mul 0.5, Cast")
def _(n: int) -> ModelProto:
    return _dims(n, ("Cast", ["."], {"to": TensorProto.FLOAT}), ("Mul", [".", "h"]), ("Floor", ["."]),
                 ("Cast", ["."], {"to": INT64}), constants=[constant("h", 0.5, np.float32)])  # fmt: skip


@family("dims: Where")
def _(n: int) -> ModelProto:
    nodes, last = [], "d0"
    for i in range(n // 2):
        nodes.append(helper.make_node("Equal", [last, "one"], [f"c{i}"]))
        nodes.append(helper.make_node("Where", [f"c{i}", "d1", last], [f"h{i}"]))
        last = f"h{i}"
    before = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Split", ["s"], ["d0", "d1"], num_outputs=2)]
    return model([*before, *nodes], [value("x", ["N", "M"])], [value(last, [1], INT64)], [constant("one", [1])])


@family("Shape, Gather, Concat, Reshape of one value")
def _(n: int) -> ModelProto:
    nodes, outputs = [], []
    for i in range(n // 6):
        nodes += [
            helper.make_node("Shape", ["x"], [f"s{i}"]),
            helper.make_node("Gather", [f"s{i}", "at"], [f"d{i}"], axis=0),
            helper.make_node("Unsqueeze", [f"d{i}", "axis"], [f"u{i}"]),
            helper.make_node("Concat", [f"u{i}", "rest"], [f"t{i}"], axis=0),
            helper.make_node("LeakyRelu", ["x"], [f"r{i}"], alpha=i / n),
            helper.make_node("Reshape", [f"r{i}", f"t{i}"], [f"y{i}"]),
        ]
        outputs.append(value(f"y{i}", ["N", "K"]))
    constants = [constant("at", 0), constant("axis", [0]), constant("rest", [-1])]
    return model(nodes, [value("x", ["N", "M", 4])], outputs, constants)


@family("Shape, Gather, Add of many inputs")
def _(n: int) -> ModelProto:
    nodes, last = [], "zero"
    for i in range(n // 3):
        nodes += [
            helper.make_node("Shape", [f"x{i}"], [f"s{i}"]),
            helper.make_node("Gather", [f"s{i}", "zero"], [f"d{i}"], axis=0),
            helper.make_node("Max", [last, f"d{i}"], [f"h{i}"]),
        ]
        last = f"h{i}"
    inputs = [value(f"x{i}", [f"N{i}"]) for i in range(n // 3)]
    return model(nodes, inputs, [value(last, [], INT64)], [constant("zero", 0)])


@family("Range of many dims")
def _(n: int) -> ModelProto:
    nodes, outputs = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Squeeze", ["s"], ["d"])], []
    for i in range(n // 3):
        nodes += [
            helper.make_node("Add", ["d", f"c{i}"], [f"e{i}"]),
            helper.make_node("Range", ["zero", f"e{i}", "one"], [f"r{i}"]),
            helper.make_node("Expand", ["w", f"v{i}"], [f"y{i}"]),
            helper.make_node("Unsqueeze", [f"e{i}", "axis"], [f"v{i}"]),
        ]
        nodes[-2], nodes[-1] = nodes[-1], nodes[-2]
        outputs += [value(f"y{i}", ["K"]), value(f"r{i}", ["K"], INT64)]
    constants = [constant("zero", 0), constant("one", 1), constant("axis", [0]), constant("w", [1.0], np.float32)]
    constants += [constant(f"c{i}", i) for i in range(n // 3)]
    return model(nodes, [value("x")], outputs, constants)
