"""The JSON of `infer` against the file: nodes, producers, verdicts; elements of floats when asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.conftest import Run
from tests.passes.folding_models import model


def of(run: Run, path: str, *more: str) -> Any:
    return json.loads(run("infer", path, "--format", "json", *more).stdout)


@pytest.mark.parametrize("name", ["bert-torchscript", "gnn-dynamo", "lstm-tagger-torchscript", "openvino-gather"])
def test_nodes_and_producers_are_those_of_the_file(name: str, run: Run) -> None:
    path = f"fixtures/{name}.onnx"
    found = of(run, path)
    graph = onnx.load(path).graph
    main = [node for node in found["nodes"] if not node["scope"]]
    assert [(n["op_type"], n["domain"], n["inputs"], n["outputs"]) for n in main] == [
        (n.op_type, n.domain, [*n.input], [*n.output]) for n in graph.node
    ]
    made = {output: node.name for node in graph.node for output in node.output if output}
    assert all(node.name for node in graph.node)
    assert {name: value["producer"] for name, value in found["tensors"][""].items()} == {
        name: made.get(name) for name in found["tensors"][""]
    }
    assert {node["scope"] for node in found["nodes"]} == found["tensors"].keys()


def test_nodes_of_branches_and_functions(run: Run) -> None:
    proto = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["": 18, "f": 1]>
        g (float[K] a, bool c) => (u) {
            x = f.twice (a)
            u = If (c) <then_branch = t () => (p) { p = Neg (x) }, else_branch = e () => (r) { r = Abs (x) }>
        }
        <domain: "f", opset_import: ["": 18]> twice (v) => (w) { w = Add (v, v) }"""
    )
    onnx.save(proto, "nested.onnx")
    found = of(run, "nested.onnx")
    assert {(n["node"], n["scope"], n["op_type"], n["domain"]) for n in found["nodes"]} == {
        ("twice#0", "", "twice", "f"),
        ("If#1", "", "If", ""),
        ("twice#0/Add#0", "twice#0", "Add", ""),
        ("If#1/then_branch/Neg#0", "If#1/then_branch", "Neg", ""),
        ("If#1/else_branch/Abs#0", "If#1/else_branch", "Abs", ""),
    }
    tensors = found["tensors"]
    assert (tensors["twice#0"]["w"]["producer"], tensors["twice#0"]["v"]["producer"]) == ("twice#0/Add#0", None)
    assert (tensors[""]["u"]["producer"], tensors[""]["a"]["producer"]) == ("If#1", None)


def values(found: object) -> Iterator[Any]:
    """All types in an object."""
    if isinstance(found, dict):
        if found.get("kind") == "tensor":
            yield found
        for each in found.values():
            yield from values(each)
    elif isinstance(found, list):
        for each in found:
            yield from values(each)


def test_elements_of_floats_on_request(run: Run) -> None:
    nodes = [helper.make_node("Gather", ["halves", "i"], ["y"], "pick")]
    held = {"halves": np.array([0.5, -0.5, np.inf], np.float32), "i": np.array([2, 0])}
    types: Any = {}
    onnx.save(model(nodes, types, {"y": (TensorProto.FLOAT, [2])}, held), "floats.onnx")
    found, asked = of(run, "floats.onnx"), of(run, "floats.onnx", "--floats")
    assert all(t["values"] is None for t in values(found) if t["dtype"] == "float32")
    assert found["tensors"][""]["i"]["values"] == [2, 0]
    assert asked["tensors"][""]["halves"]["values"] == [0.5, -0.5, {"float": "inf"}]
    assert asked["outputs"][0]["values"] == [{"float": "inf"}, 0.5]
    assert asked["accesses"][0]["data"]["values"] == [0.5, -0.5, {"float": "inf"}]


def test_verdicts(run: Run) -> None:
    proved, word, place, size = (
        {a["node"]: a["verdict"] for a in of(run, "embedding.onnx")["accesses"]}[node]
        for node in ("/Gather_len", "/word/Gather", "/place/Gather", "/Gather_width")
    )
    assert proved == size
    assert (proved["kind"], proved["condition"], proved["tight"], proved["witness"]) == ("proved", None, None, {})
    assert (word["kind"], word["condition"], word["tight"]) == ("conditional", "-100 <= ids < 100", True)
    assert (place["condition"], place["witness"], place["outside"]) == ("seq <= 16", {"seq": 17}, "the node fails")
    (bad,) = of(run, "bad.onnx")["accesses"]
    assert (bad["verdict"]["kind"], bad["verdict"]["condition"]) == ("violated", None)


def test_nothing_is_wrong(run: Run) -> None:
    assert of(run, "embedding.onnx")["root_causes"] is None
    assert of(run, "bad.onnx")["root_causes"] == {"diagnostics": [], "unknown_tensors": 0, "symbols": []}


def test_the_size_of_an_ir_is_null(run: Run) -> None:
    told = json.loads(run("infer", "fixtures/openvino/cnn.xml", "--format", "json").stdout)
    assert told["model"]["bytes"] is None
    (inspected,) = json.loads(run("inspect", "fixtures/openvino/cnn.xml", "--format", "json").stdout)["models"]
    assert inspected["bytes"] is None
