"""Structural errors: the findings, their codes and messages."""

from __future__ import annotations

import pytest
from onnx import GraphProto, helper

from gather_infer.ir import Model, structural_findings
from tests.ir.samples import N, graph_of
from tests.model.model_samples import sparse


def findings_of(graph: GraphProto) -> list[tuple[str, str]]:
    return [(found.code, found.message) for found in structural_findings(Model(helper.make_model(graph)))]


def with_sparse(graph: GraphProto, *names: str) -> GraphProto:
    graph.sparse_initializer.extend(sparse(name) for name in names)
    return graph


_CHAIN = [N("Neg", [f"v{(i + 1) % 8}"], [f"v{i}"], name=f"N{i}") for i in range(8)]

FINDINGS = {
    # id:                    (graph, findings)
    "self loop":             (graph_of([N("Add", ["x", "y"], ["y"], name="A")]), [("GI102", "A -> A is a cycle")]),
    "cycle":                 (graph_of([N("Add", ["x", "b"], ["y"], name="A"), N("Neg", ["y"], ["b"], name="B"),
                                        N("Neg", ["y"], ["c"], name="C")]), [("GI102", "B -> A -> B is a cycle")]),
    "cycle by a subgraph":   (graph_of([N("If", ["x"], ["y"], name="A", then_branch=graph_of([], "", "b"),
                                          else_branch=graph_of([], "", "b")), N("Neg", ["y"], ["b"], name="B")]),
                              [("GI102", "B -> A -> B is a cycle")]),
    "long cycle":            (graph_of(_CHAIN, outputs="v0"),
                              [("GI102", "N7 -> N6 -> N5 -> N4 -> N3 -> N2 -> ... -> N7 is a cycle")]),
    "defined by two nodes":  (graph_of([N("Neg", ["x"], ["y"]), N("Abs", ["x"], ["y"])]),
                              [("GI101", "y is defined 2 times")]),
    "node writes an input":  (graph_of([N("Neg", ["x"], ["x"])], outputs="x"), [("GI101", "x is defined 2 times")]),
    "input declared twice":  (graph_of([N("Neg", ["x"], ["y"])], "x x"), [("GI101", "x is defined 2 times")]),
    "twice by one node":     (graph_of([N("Split", ["x"], ["y", "y"])]), [("GI101", "y is defined 2 times")]),
    "sparse, in file order": (with_sparse(graph_of([N("Split", ["x"], list("ydcba"))]), *"dbca"),
                              [("GI101", f"{name} is defined 2 times") for name in "dbca"]),
    "sparse and dense twice": (with_sparse(graph_of([N("Neg", ["s"], ["y"])]), "s", "s"), []),
    "missing input":         (graph_of([N("Add", ["x", "gone"], ["y"])]), [("GI103", "input gone is not defined")]),
    "missing twice":         (graph_of([N("Add", ["gone", "gone"], ["y"])]),
                              [("GI103", "input gone is not defined")] * 2),
    "missing output":        (graph_of([]), [("GI103", "graph output y is not defined")]),
    "missing in a subgraph": (graph_of([N("If", ["x"], ["y"], else_branch=graph_of([], "", "x"),
                                          then_branch=graph_of([N("Neg", ["gone"], ["a"])], "", "a"))]),
                              [("GI103", "input gone is not defined")]),
    "inner name outside":    (graph_of([N("If", ["x"], ["z"], else_branch=graph_of([], "", "x"),
                                          then_branch=graph_of([N("Neg", ["x"], ["a"])], "", "a")),
                                        N("Neg", ["a"], ["y"])]), [("GI103", "input a is not defined")]),
    "shadowed name":         (graph_of([N("If", ["x"], ["y"], else_branch=graph_of([], "", "x"),
                                          then_branch=graph_of([N("Neg", ["x"], ["y"])], "", "y"))]), []),
    "optional input":        (graph_of([N("Clip", ["x", "", "x"], ["y"])]), []),
    "optional outputs":      (graph_of([N("Split", ["x"], ["", "y", ""])]), []),
}  # fmt: skip


@pytest.mark.parametrize(("graph", "expected"), FINDINGS.values(), ids=FINDINGS)
def test_findings(graph: GraphProto, expected: list[tuple[str, str]]) -> None:
    assert findings_of(graph) == expected


def test_initializer_of_an_input_is_its_default_and_twice_is_a_fault() -> None:
    graph = graph_of([N("Neg", ["x"], ["y"])])
    graph.initializer.append(helper.make_tensor("x", 1, [1], [1]))
    assert not findings_of(graph)
    graph.initializer.append(helper.make_tensor("x", 1, [1], [1]))
    assert findings_of(graph) == [("GI101", "x is defined 2 times")]


def test_locations() -> None:
    branch = graph_of([N("Neg", ["gone"], ["a"], name="neg"), N("Abs", ["x"], ["a"])], "", "a lost")
    graph = graph_of([N("If", ["x"], ["y"], name="I", then_branch=branch), N("Neg", ["z"], ["z"], name="Z")])
    located = [
        (found.code, str(found.location.node or ""), found.location.graph, found.location.value)
        for found in structural_findings(Model(helper.make_model(graph)))
    ]
    assert located == [
        ("GI102", "Z", "", ""),
        ("GI103", "I/then_branch/neg", "", "gone"),
        ("GI103", "", "I/then_branch", "lost"),
        ("GI101", "", "I/then_branch", "a"),
    ]
