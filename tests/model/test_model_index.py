"""The index: definitions, reads through subgraphs, order, and what is structurally wrong, as findings."""

from __future__ import annotations

import random
import time

import pytest
from onnx import GraphProto, ModelProto, NodeProto, helper

from gather_infer.model.index import GraphIndex, Use
from gather_infer.model.names import Names, names_of
from gather_infer.model.paths import bodies, graph_at, label_of, node_at
from gather_infer.node_ids import MAIN, GraphPath, Root, Step
from tests.model.model_samples import INFO, everywhere

N = helper.make_node


def graph_of(nodes: list[NodeProto], inputs: str = "x", outputs: str = "y", name: str = "g") -> GraphProto:
    return helper.make_graph(
        nodes, name, [INFO(n, 1, None) for n in inputs.split()], [INFO(n, 1, None) for n in outputs.split()]
    )


def nested() -> ModelProto:
    """`x` is read in the main graph, in both branches of an If, and in a Loop inside one of them."""
    body = graph_of([N("Add", ["x", "v"], ["v2"]), N("Identity", ["c"], ["c2"])], "i c v", "c2 v2", "body")
    then = graph_of([N("Loop", ["n", "c", "x"], ["t"], name="L", body=body)], "", "t", "then")
    other = graph_of([N("Relu", ["k"], ["x2"])], "", "x2", "other")  # reads a later node of the main graph
    nodes = [
        N("If", ["c"], ["y"], name="branch", then_branch=then, else_branch=other),
        N("Neg", ["x"], ["k"]),
        N("Add", ["x", "x"], ["z"]),
    ]
    return helper.make_model(graph_of(nodes, "x c n", "y z"))


THEN = MAIN.below(Step(0, 1))  # attributes are sorted by name
BODY = THEN.below(Step(0, 0))


def test_paths_and_labels() -> None:
    model = nested()
    index = GraphIndex(model)
    assert {scope.label for scope in index.scopes.values()} == {
        "", "branch/then_branch", "branch/else_branch", "branch/then_branch/L/body",
    }  # fmt: skip
    for path, body in bodies(model):
        assert graph_at(model, path) is body or graph_at(model, path) == body
        assert label_of(model, path) == index[path].label
    assert str(node_at(model, BODY, 1)) == "branch/then_branch/L/body/Identity#1"
    assert MAIN.contains(BODY) and THEN.contains(BODY) and not BODY.contains(THEN)
    assert not index.findings


def test_definitions_and_reads() -> None:
    index = GraphIndex(nested())
    assert index.main.producers == {"y": 0, "k": 1, "z": 2}
    assert index[BODY].captures == ("x",) and index[THEN].captures == ("n", "c", "x")
    assert index.uses(MAIN)["x"] == [Use(0, None), Use(1, 0), Use(2, 0), Use(2, 1)]
    readers = set(index.readers(MAIN, "x"))
    assert readers == {(MAIN, Use(1, 0)), (MAIN, Use(2, 0)), (MAIN, Use(2, 1)), (THEN, Use(0, 2)), (BODY, Use(0, 0))}
    assert set(index.readers(BODY, "c")) == {(BODY, Use(1, 0))}  # its own `c`, not that of the main graph
    home = index.defining_scope(BODY, "x")
    assert home is not None and home.path == MAIN
    assert index.defining_scope(BODY, "nothing") is None
    assert index.is_output(MAIN, "z") and not index.is_output(MAIN, "k")


def test_captured_value_counts_in_the_order() -> None:
    assert GraphIndex(nested()).main.order == (1, 0, 2)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_shuffled_nodes(seed: int) -> None:
    nodes = [N("Add", [f"v{i}", f"v{i // 2}"], [f"v{i + 1}"]) for i in range(200)]
    assert GraphIndex(helper.make_model(graph_of(nodes, "v0", "v200"))).main.order == tuple(range(200))
    random.Random(seed).shuffle(nodes)
    scope = GraphIndex(helper.make_model(graph_of(nodes, "v0", "v200"))).main
    assert [nodes[p].output[0] for p in scope.order] == [f"v{i + 1}" for i in range(200)]


FINDINGS = {
    # id:                    (graph, findings)
    "self loop":             (graph_of([N("Add", ["x", "y"], ["y"], name="A")]), [("GI102", "A -> A is a cycle")]),
    "cycle":                 (graph_of([N("Add", ["x", "b"], ["y"], name="A"), N("Neg", ["y"], ["b"], name="B"),
                                        N("Neg", ["y"], ["c"], name="C")]), [("GI102", "B -> A -> B is a cycle")]),
    "cycle by a subgraph":   (graph_of([N("If", ["x"], ["y"], name="A", then_branch=graph_of([], "", "b"),
                                          else_branch=graph_of([], "", "b")), N("Neg", ["y"], ["b"], name="B")]),
                              [("GI102", "B -> A -> B is a cycle")]),
    "defined by two nodes":  (graph_of([N("Neg", ["x"], ["y"]), N("Abs", ["x"], ["y"])]),
                              [("GI101", "y is defined 2 times")]),
    "node writes an input":  (graph_of([N("Neg", ["x"], ["x"])], outputs="x"), [("GI101", "x is defined 2 times")]),
    "input declared twice":  (graph_of([N("Neg", ["x"], ["y"])], "x x"), [("GI101", "x is defined 2 times")]),
    "missing input":         (graph_of([N("Add", ["x", "gone"], ["y"])]), [("GI103", "input gone is not defined")]),
    "missing output":        (graph_of([]), [("GI103", "graph output y is not defined")]),
    "missing in a subgraph": (graph_of([N("If", ["x"], ["y"], else_branch=graph_of([], "", "x"),
                                          then_branch=graph_of([N("Neg", ["gone"], ["a"])], "", "a"))]),
                              [("GI103", "input gone is not defined")]),
    "optional input":        (graph_of([N("Clip", ["x", "", "x"], ["y"])]), []),
}  # fmt: skip


@pytest.mark.parametrize(("graph", "expected"), FINDINGS.values(), ids=FINDINGS)
def test_findings(graph: GraphProto, expected: list[tuple[str, str]]) -> None:
    assert [(f.code, f.message) for f in GraphIndex(helper.make_model(graph)).findings] == expected


def test_initializer_of_an_input_is_its_default_and_twice_is_a_fault() -> None:
    graph = graph_of([N("Neg", ["x"], ["y"])])
    graph.initializer.append(helper.make_tensor("x", 1, [1], [1]))
    assert not GraphIndex(helper.make_model(graph)).findings
    graph.initializer.append(helper.make_tensor("x", 1, [1], [1]))
    assert [f.code for f in GraphIndex(helper.make_model(graph)).findings] == ["GI101"]


def test_functions_and_training_graphs() -> None:
    model = everywhere()
    model.training_info[0].algorithm.node.append(N("Neg", ["raw.FLOAT"], ["g"]))  # of the main graph
    index = GraphIndex(model)
    assert [f.message for f in index.findings] == []
    assert index[GraphPath(Root.FUNCTION)].label == "F" and index[GraphPath(Root.FUNCTION)].inputs == ("a",)
    model.functions[0].node.append(N("Neg", ["x"], ["g"]))  # a function does not see the main graph
    assert [f.code for f in GraphIndex(model).findings] == ["GI103"]


def test_fresh_names() -> None:
    model = nested()
    model.graph.input[0].type.tensor_type.shape.dim.add(dim_param="batch")
    model.graph.value_info.add(name="s").type.sequence_type.elem_type.tensor_type.shape.dim.add(dim_param="inner")
    index = GraphIndex(model)
    for taken in ("x", "v2", "L", "branch", "batch", "inner"):
        assert index.fresh(taken) == f"{taken}_1"
        assert index.fresh(taken) == f"{taken}_2"
    assert index.fresh("new") == "new" and index.fresh("new") == "new_1" and index.fresh("") == "value"
    names = Names(model)
    made = [names.fresh(base) for base in ("x", "x_1", "x", "x_1", "x_1_1")]
    assert len({*made, *names_of(model)}) == len(made) + len(set(names_of(model)))
    assert "x" in names and "never" not in names


def test_cost_is_linear() -> None:
    count = 20_000
    nodes = [N("Add", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    model = helper.make_model(graph_of(nodes[::-1], "v0", f"v{count}"))
    start = time.perf_counter()
    index = GraphIndex(model)
    assert index.main.order == tuple(range(count - 1, -1, -1))
    assert time.perf_counter() - start < 5


def test_deep_nesting() -> None:
    graph = graph_of([N("Neg", ["x"], ["y"])], "", "y")
    for _ in range(30):
        graph = graph_of([N("If", ["c"], ["y"], then_branch=graph, else_branch=graph_of([], "", "x"))], "", "y")
    graph.input.extend([INFO("x", 1, None), INFO("c", 9, None)])
    index = GraphIndex(helper.make_model(graph))
    assert not index.findings and len(index.scopes) == 61
