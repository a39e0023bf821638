"""Graphs of the IR: scopes, def-use chains through subgraphs, labels, fresh names, topological order, cost."""

from __future__ import annotations

import random
import time

import pytest
from onnx import ModelProto, helper

from gather_infer.ir import Model, Use, Value, structural_findings
from gather_infer.ir.write_back import to_proto
from gather_infer.model.names import Names, names_of
from gather_infer.model.paths import bodies, graph_at, label_of, node_at
from gather_infer.node_ids import MAIN, GraphPath, Root, Step
from tests.ir.samples import BODY, THEN, N, graph_of, nested
from tests.model.model_samples import INFO, everywhere


def messages(model: ModelProto) -> list[str]:
    return [finding.message for finding in structural_findings(Model(model))]


def test_paths_and_labels() -> None:
    proto = nested()
    model = Model(proto)
    assert [model.graph_label(path) for path in model.graphs] == [
        "", "branch/else_branch", "branch/then_branch", "branch/then_branch/L/body",
    ]  # fmt: skip
    for path, body in bodies(proto):
        assert graph_at(proto, path) == body == model[path].proto
        assert label_of(proto, path) == model.graph_label(path)
        for position, node in enumerate(model[path].file_nodes):
            assert str(node_at(proto, path, position)) == str(model.label(node)) == str(model.node_path(path, position))
            assert node.source == (path, position)
    assert str(model.node_path(BODY, 1)) == "branch/then_branch/L/body/Identity#1"
    assert MAIN.contains(BODY) and THEN.contains(BODY) and not BODY.contains(THEN)
    assert not messages(proto)


def test_label_of_the_deepest_node_first() -> None:
    """The labels of the outer graphs have not been computed yet."""
    assert str(Model(nested()).node_path(BODY, 0)) == "branch/then_branch/L/body/Add#0"


def test_definitions_and_reads() -> None:
    model = Model(nested())
    main, then, body = model.main, model[THEN], model[BODY]
    assert {name: (node.origin, at) for name, (node, at) in main.producers.items()} == {
        "y": (0, 0), "k": (1, 0), "z": (2, 0),
    }  # fmt: skip
    assert body.captures() == ("x",) and then.captures() == ("n", "c", "x")
    branch, _, add = main.file_nodes
    assert then.users("x") == set(then.file_nodes)  # the Loop, and its body reads x too
    assert main.users("x") == set(main.file_nodes) and main.users("k") == {branch} and main.users("y") == set()
    x = Value(main, "x")
    assert {(use.node.graph.path, use.node.origin, use.index) for use in x.uses()} == {
        (MAIN, 1, 0), (MAIN, 2, 0), (MAIN, 2, 1), (THEN, 0, 2), (BODY, 0, 0),
    }  # fmt: skip
    assert [use for use in x.uses() if use.node is add] == [Use(add, 0), Use(add, 1)]
    assert len(x.readers) == 4 and set(model.readers(body, "x")) == set(x.readers)
    assert list(Value(body, "c").uses()) == [Use(body.file_nodes[1], 0)]  # its own `c`, not that of the main graph
    assert body.value("x") == x and body.value("c") == Value(body, "c") and then.value("c") == Value(main, "c")
    assert body.defining_graph("x") is main and body.defining_graph("nothing") is None
    assert body.value("nothing") is None and body.value("") is None
    assert Value(main, "z").is_output and not Value(main, "k").is_output
    assert Value(main, "k").producer is main.file_nodes[1] and x.producer is None
    assert main.node_around(body.file_nodes[0]) is branch and then.node_around(body.file_nodes[0]).op_type == "Loop"
    assert set(branch.nested_nodes()) == {*then.nodes, *body.nodes, *model[MAIN.below(Step(0, 0))].nodes}


def test_a_subgraph_may_return_an_outer_value_without_a_node() -> None:
    other = graph_of([N("Neg", ["x"], ["a"])], "", "a")
    nodes = [N("If", ["x"], ["y"], then_branch=graph_of([], "", "k"), else_branch=other), N("Neg", ["x"], ["k"])]
    model = Model(helper.make_model(graph_of(nodes)))
    main, branch = model.main, model.main.file_nodes[0]
    value = Value(main, "k")
    assert value.is_output and not value.readers and main.users("k") == {branch} and main.is_fixed("k")
    assert [node.origin for node in main.nodes] == [1, 0]
    model.remove(branch, "test")
    assert not value.is_output and not main.users("k")


def test_captures_by_first_use() -> None:
    """The names inside of a node follow its inputs, and precede those of later nodes; outputs come last."""
    branch = N("If", ["d"], ["p"], then_branch=graph_of([], "", "e"), else_branch=graph_of([], "", "f"))
    inner = graph_of([branch], "", "p")
    body = graph_of(
        [N("Neg", ["a"], ["m"]), N("Loop", ["b", "m"], ["n"], body=inner), N("Add", ["c", "a"], ["y"])], "", "y z"
    )
    model = Model(helper.make_model(graph_of([N("Loop", ["x"], ["y"], body=body)], "x a b c d e f z")))
    assert model[MAIN.below(Step(0, 0))].captures() == ("a", "b", "d", "f", "e", "c", "z")  # attributes are sorted


def test_a_captured_value_counts_in_the_order() -> None:
    assert [node.origin for node in Model(nested()).main.nodes] == [1, 0, 2]


@pytest.mark.parametrize("seed", range(5))
def test_order_of_shuffled_nodes(seed: int) -> None:
    nodes = [N("Add", [f"v{i}", f"v{i // 2}"], [f"v{i + 1}"]) for i in range(200)]
    main = Model(helper.make_model(graph_of(nodes, "v0", "v200"))).main
    assert [node.origin for node in main.nodes] == list(range(200))
    random.Random(seed).shuffle(nodes)
    main = Model(helper.make_model(graph_of(nodes, "v0", "v200"))).main
    assert [node.outputs for node in main.nodes] == [[f"v{i + 1}"] for i in range(200)]
    assert main.sorted_nodes == list(main.nodes) and not main.cyclic


def test_nodes_on_or_behind_a_cycle_come_last() -> None:
    nodes = [N("Add", ["x", "b"], ["y"]), N("Neg", ["y"], ["b"]), N("Neg", ["y"], ["c"]), N("Neg", ["x"], ["d"])]
    main = Model(helper.make_model(graph_of(nodes))).main
    assert [node.origin for node in main.sorted_nodes] == [3]
    assert {node.origin for node in main.cyclic} == {0, 1, 2}


def test_functions_and_training_graphs() -> None:
    proto = everywhere()
    proto.training_info[0].algorithm.node.append(N("Neg", ["raw.FLOAT"], ["g"]))  # of the main graph
    assert messages(proto) == []
    model = Model(proto)
    function, step = model[GraphPath(Root.FUNCTION)], model[GraphPath(Root.ALGORITHM)]
    assert model.graph_label(function.path) == "F" and function.inputs == ("a",) and function.outer is None
    assert model.called_function(model.main.file_nodes[3]) is function
    assert model.called_function(model.main.file_nodes[0]) is None
    assert step.outer is model.main and step.owner is None
    assert Value(model.main, "raw.FLOAT").readers == (step.file_nodes[0],)
    assert model.main.users("raw.FLOAT") == set()
    proto.functions[0].node.append(N("Neg", ["x"], ["g"]))  # a function does not see the main graph
    assert messages(proto) == ["input x is not defined"]


def test_the_order_of_the_main_graph_with_a_training_graph_that_reads_it() -> None:
    """A training graph is not below a node of the main graph, so it has no position there."""
    proto = helper.make_model(graph_of([N("Neg", ["a"], ["y"]), N("Abs", ["x"], ["a"])]))
    proto.training_info.add().algorithm.CopyFrom(graph_of([N("Neg", ["a"], ["g"])], "", "g"))
    model = Model(proto)
    assert [node.origin for node in model.main.nodes] == [1, 0] and not messages(proto)
    reader = model[GraphPath(Root.ALGORITHM)].file_nodes[0]
    model.set_input(reader, 0, "y", "test")
    assert [node.op_type for node in to_proto(model).graph.node] == ["Abs", "Neg"]
    assert to_proto(model).training_info[0].algorithm.node[0].input == ["y"]


def test_the_roots_select_the_graphs() -> None:
    model = Model(everywhere(), (Root.FUNCTION,))
    assert [path.root for path in model.graphs] == [Root.FUNCTION]
    assert {path.root for path in Model(everywhere()).graphs} == set(Root)


def test_versions_of_the_first_import_of_a_domain() -> None:
    imports = [helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("", 14), helper.make_opsetid("d", 2)]
    branch = N("If", ["x"], ["y"], then_branch=graph_of([N("F", ["x"], ["a"], domain="d")], "", "a"))
    model = Model(helper.make_model(graph_of([branch, N("G", ["x"], ["z"], domain="e")]), opset_imports=imports))
    assert [(node.op_type, node.version) for node in model.nodes] == [("If", 13), ("G", 0), ("F", 2)]


def test_overloads_of_a_function() -> None:
    proto = helper.make_model(graph_of([N("F", ["x"], ["y"], domain="d", overload="b")]))
    for overload in ("a", "b", "b"):
        body = [N("Neg", ["p"], ["q"])]
        function = helper.make_function("d", "F", ["p"], ["q"], body, [helper.make_opsetid("", 20)], overload=overload)
        proto.functions.append(function)
    model = Model(proto)
    assert model.called_function(model.main.file_nodes[0]) is model[GraphPath(Root.FUNCTION, 1)]  # the first of two


def test_fresh_names() -> None:
    proto = nested()
    proto.graph.input[0].type.tensor_type.shape.dim.add(dim_param="batch")
    proto.graph.value_info.add(name="s").type.sequence_type.elem_type.tensor_type.shape.dim.add(dim_param="inner")
    model = Model(proto)
    for taken in ("x", "v2", "L", "branch", "batch", "inner"):
        assert model.fresh(taken) == f"{taken}_1"
        assert model.fresh(taken) == f"{taken}_2"
    assert model.fresh("new") == "new" and model.fresh("new") == "new_1" and model.fresh("") == "value"
    names = Names(proto)
    made = [names.fresh(base) for base in ("x", "x_1", "x", "x_1", "x_1_1")]
    assert len({*made, *names_of(proto)}) == len(made) + len(set(names_of(proto)))
    assert "x" in names and "never" not in names


def test_cost_is_linear() -> None:
    count = 20_000
    nodes = [N("Add", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    proto = helper.make_model(graph_of(nodes[::-1], "v0", f"v{count}"))
    start = time.process_time()
    model = Model(proto)
    assert [node.origin for node in model.main.nodes] == list(range(count - 1, -1, -1))
    assert time.process_time() - start < 5


def test_deep_nesting() -> None:
    graph = graph_of([N("Neg", ["x"], ["y"])], "", "y")
    for _ in range(30):
        graph = graph_of([N("If", ["c"], ["y"], then_branch=graph, else_branch=graph_of([], "", "x"))], "", "y")
    graph.input.extend([INFO("x", 1, None), INFO("c", 9, None)])
    proto = helper.make_model(graph)
    model = Model(proto)
    assert not messages(proto) and len(model.graphs) == 61
    labels = [model.graph_label(path) for path in model.graphs]
    assert max(label.count("/then_branch") for label in labels) == 30
    assert model.main.users("x") == {model.main.file_nodes[0]} and len(list(model.nodes)) == 31
