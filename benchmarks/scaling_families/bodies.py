"""Subgraphs and functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from scaling_families.build import INT64, constant, family, model, value


def _branch(name: str, nodes: Sequence[NodeProto]) -> GraphProto:
    return helper.make_graph(list(nodes), name, [], [value(nodes[-1].output[0], None)])


@family("chain of If")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("If", ["c"], [f"h{i}"],
            then_branch=_branch(f"t{i}", [helper.make_node("Sin", [last], [f"t{i}"])]),
            else_branch=_branch(f"e{i}", [helper.make_node("Cos", [last], [f"e{i}"])])))  # fmt: skip
        last = f"h{i}"
    return model(nodes, [value("x"), value("c", [], TensorProto.BOOL)], [value(last)])


@family("chain of If that can be inlined")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("If", ["c"], [f"h{i}"],
            then_branch=_branch(f"t{i}", [helper.make_node("Sin", [last], [f"t{i}"])]),
            else_branch=_branch(f"e{i}", [helper.make_node("Cos", [last], [f"e{i}"])])))  # fmt: skip
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last)], [constant("c", True, np.bool_)])


@family("If with long branches")
def _(n: int) -> ModelProto:
    branches = []
    for part in "te":
        nodes, last = [], "x"
        for i in range(n // 2):
            nodes.append(helper.make_node("Sin", [last], [f"{part}{i}"]))
            last = f"{part}{i}"
        branches.append(_branch(part, nodes))
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    return model([node], [value("x"), value("c", [], TensorProto.BOOL)], [value("y")])


@family("towers of 20 nested If")
def _(n: int) -> ModelProto:
    nodes, outputs = [], []
    for i in range(max(1, n // 60)):
        inner = [helper.make_node("LeakyRelu", ["x"], [f"b{i}"], alpha=i / n)]
        for depth in range(20):
            name = f"i{i}_{depth}"
            other = _branch("e", [helper.make_node("Cos", ["x"], [f"{name}e"])])
            inner = [helper.make_node("If", ["c"], [name], then_branch=_branch("t", inner), else_branch=other)]
        nodes += inner
        outputs.append(value(inner[0].output[0], None))
    return model(nodes, [value("x"), value("c", [], TensorProto.BOOL)], outputs)


@family("many Loops")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 4):
        body = helper.make_graph(
            [helper.make_node("Identity", ["on"], ["more"]), helper.make_node("Sin", ["s"], ["r"]),
             helper.make_node("Add", ["r", last], ["t"])], "body",
            [value("k", [], INT64), value("on", [], TensorProto.BOOL), value("s", None)],
            [value("more", [], TensorProto.BOOL), value("t", None)])  # fmt: skip
        nodes.append(helper.make_node("Loop", ["trips", "", last], [f"h{i}"], body=body))
        last = f"h{i}"
    return model(nodes, [value("x"), value("trips", [], INT64)], [value(last)])


@family("Loop with a long body")
def _(n: int) -> ModelProto:
    nodes, last = [helper.make_node("Identity", ["on"], ["more"])], "s"
    for i in range(n):
        nodes.append(helper.make_node("Sin", [last], [f"r{i}"]))
        last = f"r{i}"
    body = helper.make_graph(
        nodes, "body", [value("k", [], INT64), value("on", [], TensorProto.BOOL), value("s", None)],
        [value("more", [], TensorProto.BOOL), value(last, None)])  # fmt: skip
    loop = helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)
    return model([loop], [value("x"), value("trips", [], INT64)], [value("y")])


def _function(name: str, *nodes: NodeProto) -> Any:
    return helper.make_function("local", name, ["a"], ["b"], list(nodes), [helper.make_opsetid("", 21)])


@family("many functions, each called once")
def _(n: int) -> ModelProto:
    functions, nodes, last = [], [], "x"
    for i in range(n // 3):
        functions.append(
            _function(f"F{i}", helper.make_node("Sin", ["a"], ["c"]), helper.make_node("Cos", ["c"], ["b"]))
        )
        nodes.append(helper.make_node(f"F{i}", [last], [f"h{i}"], domain="local"))
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last)], functions=functions)


@family("one function called many times")
def _(n: int) -> ModelProto:
    function = _function("F", helper.make_node("Sin", ["a"], ["c"]), helper.make_node("Cos", ["c"], ["b"]))
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("F", [last], [f"h{i}"], domain="local"))
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last)], functions=[function])


@family("functions that call the next")
def _(n: int) -> ModelProto:
    count = n // 2
    functions = [
        _function(f"F{i}", helper.make_node("Sin", ["a"], ["c"]),
                  helper.make_node(f"F{i + 1}", ["c"], ["b"], domain="local") if i + 1 < count
                  else helper.make_node("Cos", ["c"], ["b"]))
        for i in range(count)
    ]  # fmt: skip
    for function in functions:
        function.opset_import.append(helper.make_opsetid("local", 1))
    return model([helper.make_node("F0", ["x"], ["y"], domain="local")], [value("x")], [value("y")],
                  functions=functions)  # fmt: skip
