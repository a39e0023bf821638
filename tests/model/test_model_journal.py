"""The journal: each edit does what it says, the interface stays, everything else is equal as a message."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from gather_infer.errors import ModelStructureError
from gather_infer.ir import Model, structural_findings
from gather_infer.model.apply import apply
from gather_infer.model.edits import (
    AddInitializer,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveInitializer,
    RemoveNode,
    ReplaceUses,
)
from gather_infer.model.paths import graph_at
from gather_infer.node_ids import MAIN, GraphPath, Root, Step
from tests.model.model_samples import everywhere, with_unknown_fields

N = helper.make_node
WHY: Any = {"by": "test", "reason": "because"}


def value(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"])


def graph_of(nodes: list[NodeProto], inputs: str = "x", outputs: str = "y") -> GraphProto:
    return helper.make_graph(nodes, "g", [value(n) for n in inputs.split()], [value(n) for n in outputs.split()])


def model_of(nodes: list[NodeProto], inputs: str = "x", outputs: str = "y", ir_version: int = 9) -> ModelProto:
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph_of(nodes, inputs, outputs), ir_version=ir_version, opset_imports=opsets)


def constant(name: str, *values: float) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.float32), name)


def run(model: ModelProto, x: float = 3.0) -> list[list[float]]:
    feeds = {v.name: np.array([x, -x], np.float32) for v in model.graph.input}
    return [r.tolist() for r in ReferenceEvaluator(model).run(None, feeds)]


def edited(model: ModelProto, *edits: Edit) -> ModelProto:
    """The edited model, checked: the argument is untouched, the interface kept, the graph sound, the meaning equal."""
    before = model.SerializeToString()
    result = apply(Journal(list(edits)), model)
    assert model.SerializeToString() == before
    assert result.graph.input == model.graph.input and result.graph.output == model.graph.output
    graphs = Model(result)
    assert not list(structural_findings(graphs))
    for graph in graphs.graphs.values():
        assert list(graph.nodes) == graph.file_nodes, "nodes stay in order"
    onnx.checker.check_model(result)
    assert run(result) == run(model)
    return result


def ops(model: ModelProto) -> str:
    return " ".join(f"{node.op_type}({','.join(node.input)})={','.join(node.output)}" for node in model.graph.node)


def chain() -> list[NodeProto]:
    return [N("Neg", ["x"], ["a"]), N("Identity", ["a"], ["b"]), N("Abs", ["b"], ["c"]), N("Add", ["b", "c"], ["y"])]


def test_no_edit_is_an_equal_copy() -> None:
    model = with_unknown_fields(everywhere())
    assert apply(Journal(), model) == model
    assert apply(Journal(), model) is not model


def test_replace_uses_and_remove() -> None:
    result = edited(model_of(chain()), ReplaceUses(old="b", new="a", **WHY), RemoveNode(node=1, **WHY))
    assert ops(result) == "Neg(x)=a Abs(a)=c Add(a,c)=y"


def test_the_rest_stays_equal() -> None:
    """Only the edited node and list change; unknown fields and everything else survive."""
    model = with_unknown_fields(everywhere())
    model.graph.node.append(N("Neg", ["f"], ["h"], name="last", doc_string="kept"))
    result = apply(Journal([RemoveNode(node=1, **WHY), AddInitializer(tensor=constant("new", 1.0), **WHY)]), model)
    model.graph.initializer.append(constant("new", 1.0))
    del model.graph.node[1]
    assert result == model


def test_insert_before_and_after() -> None:
    new = (N("Neg", ["a"], ["p"]), N("Neg", ["p"], ["q"]))
    result = edited(model_of(chain()), InsertNodes(nodes=new, before=2, **WHY), ReplaceUses(old="b", new="q", **WHY),
                    RemoveNode(node=1, **WHY))  # fmt: skip
    assert ops(result) == "Neg(x)=a Neg(a)=p Neg(p)=q Abs(q)=c Add(q,c)=y"


def test_inserted_nodes_may_compute_the_new_value_from_the_old() -> None:
    new = InsertNodes(nodes=(N("Identity", ["a"], ["a2"]),), before=1, **WHY)
    result = edited(model_of(chain()), new, ReplaceUses(old="a", new="a2", **WHY))
    assert ops(result) == "Neg(x)=a Identity(a)=a2 Identity(a2)=b Abs(b)=c Add(b,c)=y"


def test_inserted_nodes_follow_a_value_that_goes() -> None:
    new = InsertNodes(nodes=(N("Abs", ["b"], ["c2"]),), before=2, **WHY)
    result = edited(model_of(chain()), new, ReplaceUses(old="b", new="a", **WHY), RemoveNode(node=1, **WHY),
                    ReplaceUses(old="c", new="c2", **WHY), RemoveNode(node=2, **WHY))  # fmt: skip
    assert ops(result) == "Neg(x)=a Abs(a)=c2 Add(a,c2)=y"


def test_chains_of_replacements() -> None:
    nodes = [N("Identity", ["x"], ["a"]), N("Identity", ["a"], ["b"]), N("Neg", ["b"], ["y"])]
    edits: list[Edit] = [ReplaceUses(old="b", new="a", **WHY), ReplaceUses(old="a", new="x", **WHY)]
    edits += [RemoveNode(node=0, **WHY), RemoveNode(node=1, **WHY)]
    assert ops(edited(model_of(nodes), *edits)) == "Neg(x)=y"


# Outputs of the graph keep their names


def folded() -> list[NodeProto]:
    two = helper.make_node("Constant", [], ["two"], value=constant("", 2.0))
    return [two, N("Neg", ["two"], ["y"]), N("Add", ["x", "y"], ["z"])]


@pytest.mark.parametrize("remove", [True, False], ids=["removed", "kept"])
def test_new_constant_takes_the_name_of_an_output(remove: bool) -> None:
    edits: list[Edit] = [AddInitializer(tensor=constant("k", -2.0), **WHY), ReplaceUses(old="y", new="k", **WHY)]
    result = edited(model_of(folded(), outputs="y z"), *edits, *([RemoveNode(node=1, **WHY)] if remove else []))
    assert [t.name for t in result.graph.initializer] == ["y"]
    assert ops(result).endswith("Add(x,y)=z")
    assert ("Neg(two)=y_unused" in ops(result)) is not remove


def test_constant_of_the_same_name_as_the_node_that_goes() -> None:
    edits: list[Edit] = [AddInitializer(tensor=constant("y", -2.0), **WHY), RemoveNode(node=1, **WHY)]
    edits.append(RemoveNode(node=0, **WHY))
    result = edited(model_of(folded(), outputs="y z"), *edits)
    assert ops(result) == "Add(x,y)=z"


def test_new_node_takes_the_name_of_an_output() -> None:
    nodes = [N("Neg", ["x"], ["a"]), N("Neg", ["a"], ["y"]), N("Neg", ["y"], ["z"])]
    new = InsertNodes(nodes=(N("Identity", ["x"], ["i"]), N("Abs", ["i"], ["unused"])), before=1, **WHY)
    model = model_of(nodes, outputs="y z")
    result = edited(model, new, ReplaceUses(old="y", new="i", **WHY), RemoveNode(node=1, **WHY))
    assert ops(result) == "Neg(x)=a Identity(x)=y Abs(y)=unused Neg(y)=z"


def test_new_node_computes_an_output_from_the_value_that_had_its_name() -> None:
    new = InsertNodes(nodes=(N("Identity", ["y"], ["y2"]),), before=4, **WHY)
    result = edited(model_of(chain()), new, ReplaceUses(old="y", new="y2", **WHY))
    assert ops(result).endswith("Add(b,c)=y_unused Identity(y_unused)=y")


def test_existing_value_is_passed_on_to_an_output() -> None:
    nodes = [N("Neg", ["x"], ["a"]), N("Neg", ["x"], ["y"]), N("Abs", ["y"], ["z"])]
    result = edited(model_of(nodes, outputs="y z"), ReplaceUses(old="y", new="a", **WHY), RemoveNode(node=1, **WHY))
    assert ops(result) == "Neg(x)=a Abs(a)=z Identity(a)=y"
    result = edited(model_of(nodes, outputs="y z"), ReplaceUses(old="y", new="a", **WHY))
    assert ops(result) == "Neg(x)=a Neg(x)=y Abs(a)=z"


def test_two_outputs_of_one_value() -> None:
    nodes = [N("Neg", ["x"], ["y"]), N("Neg", ["x"], ["z"])]
    result = edited(
        model_of(nodes, outputs="y z"), InsertNodes(nodes=(N("Neg", ["x"], ["n"]),), before=0, **WHY),
        ReplaceUses(old="y", new="n", **WHY), ReplaceUses(old="z", new="n", **WHY),
        RemoveNode(node=0, **WHY), RemoveNode(node=1, **WHY),
    )  # fmt: skip
    assert ops(result) == "Neg(x)=y Identity(y)=z"


def test_output_that_is_an_input_goes_on_naming_it() -> None:
    new = InsertNodes(nodes=(N("Identity", ["x"], ["i"]),), before=0, **WHY)
    result = edited(model_of([N("Neg", ["x"], ["y"])], outputs="x y"), new, ReplaceUses(old="x", new="i", **WHY))
    assert ops(result) == "Identity(x)=i Neg(i)=y"


# Initializers


@pytest.mark.parametrize(("ir_version", "kind"), [(3, "Constant"), (4, "initializer"), (10, "initializer")])
def test_added_initializer_never_changes_the_interface(ir_version: int, kind: str) -> None:
    """Before IR version 4 an initializer must be an input too."""
    model = model_of([N("Neg", ["x"], ["y"])], ir_version=ir_version)
    result = apply(Journal([AddInitializer(tensor=constant("k", 1.0), **WHY)]), model)
    assert result.graph.input == model.graph.input
    assert [t.name for t in result.graph.initializer] == ([] if kind == "Constant" else ["k"])
    assert ops(result) == ("Constant()=k Neg(x)=y" if kind == "Constant" else "Neg(x)=y")
    onnx.checker.check_model(result)


def test_remove_initializer() -> None:
    model = model_of([N("Add", ["x", "k"], ["y"])])
    model.graph.initializer.extend([constant("k", 1.0), constant("unused", 1.0)])
    model.graph.value_info.extend([value("unused"), value("k")])
    result = edited(model, RemoveInitializer(name="unused", **WHY))
    assert [t.name for t in result.graph.initializer] == ["k"] and [v.name for v in result.graph.value_info] == ["k"]
    replaced = edited(model, RemoveInitializer(name="k", **WHY), AddInitializer(tensor=constant("k", 1.0), **WHY))
    assert sorted(t.name for t in replaced.graph.initializer) == ["k", "unused"]


def test_initializer_that_callers_may_override_is_not_removed() -> None:
    model = model_of([N("Neg", ["x"], ["y"])])
    model.graph.initializer.append(constant("x", 1.0))
    with pytest.raises(AssertionError, match="a caller may override stays"):
        apply(Journal([RemoveInitializer(name="x", **WHY)]), model)


def test_initializer_goes_with_its_input_before_ir_4() -> None:
    model = model_of([N("Neg", ["x"], ["y"])])
    model.graph.initializer.append(constant("w", 1.0))
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, []))
    model.ir_version = 3
    after = apply(Journal([RemoveInitializer(name="w", **WHY)]), model).graph
    assert ([value.name for value in after.input], list(after.initializer)) == (["x"], [])


def test_names_that_clash_are_our_fault() -> None:
    again = InsertNodes(nodes=(N("Neg", ["x"], ["x"]),), before=0, **WHY)
    for edit in (AddInitializer(tensor=constant("a", 1.0), **WHY), again):
        with pytest.raises(AssertionError, match="a new name"):
            apply(Journal([edit]), model_of(chain()))
    with pytest.raises(AssertionError, match="output of the graph"):
        apply(Journal([RemoveNode(node=3, **WHY)]), model_of(chain()))


# Subgraphs and functions


def branches() -> ModelProto:
    then = graph_of([N("Neg", ["a"], ["t0"]), N("Neg", ["t0"], ["t"])], "", "t")
    other = graph_of([N("Abs", ["a"], ["e0"]), N("Neg", ["e0"], ["e"])], "", "e")
    cond = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True)))
    return model_of([cond, N("Identity", ["x"], ["a"]), N("If", ["c"], ["y"], name="if", then_branch=then,
                                                         else_branch=other)])  # fmt: skip


THEN, ELSE = (MAIN.below(Step(2, attribute)) for attribute in (1, 0))


def test_reads_in_subgraphs_follow() -> None:
    result = edited(branches(), ReplaceUses(old="a", new="x", **WHY), RemoveNode(node=1, **WHY))
    graphs = {a.name: a.g for a in result.graph.node[1].attribute}
    assert [g.node[0].input[0] for g in graphs.values()] == ["x", "x"]


def test_edits_in_a_subgraph_and_around_it() -> None:
    """Positions are those before any edit, also of the node that carries the subgraph."""
    result = edited(
        branches(),
        RemoveNode(node=1, **WHY), ReplaceUses(old="a", new="x", **WHY),
        InsertNodes(path=THEN, nodes=(N("Identity", ["a"], ["t1"]),), before=1, **WHY),
        ReplaceUses(path=THEN, old="t", new="t1", **WHY), RemoveNode(path=THEN, node=0, **WHY),
        RemoveNode(path=THEN, node=1, **WHY),
        AddInitializer(path=ELSE, tensor=constant("k", 1.0), **WHY),
    )  # fmt: skip
    graphs = {a.name: a.g for a in result.graph.node[1].attribute}
    assert [str(n.input[0]) + n.output[0] for n in graphs["then_branch"].node] == ["xt"]
    assert [t.name for t in graphs["else_branch"].initializer] == ["k"]


def test_a_name_that_an_inner_graph_defines_is_its_own() -> None:
    body = graph_of([N("Neg", ["a"], ["o"]), N("Identity", ["cond"], ["cond_out"])], "i cond a", "cond_out o")
    for info, data_type in ((body.input[0], 7), (body.input[1], 9), (body.output[0], 9)):
        info.CopyFrom(helper.make_tensor_value_info(info.name, data_type, []))
    n = helper.make_node("Constant", [], ["n"], value=numpy_helper.from_array(np.array(2)))
    nodes = [n, N("Identity", ["x"], ["a"]), N("Loop", ["n", "", "a"], ["y"], body=body)]
    result = edited(model_of(nodes), ReplaceUses(old="a", new="x", **WHY), RemoveNode(node=1, **WHY))
    assert result.graph.node[1].attribute[0].g == body
    assert list(result.graph.node[1].input) == ["n", "", "x"]


def test_a_name_with_two_meanings_is_refused() -> None:
    model = branches()
    graph_at(model, THEN).node.append(N("Neg", ["a"], ["x"]))  # hides the input x of the main graph
    with pytest.raises(ModelStructureError, match="x means one value in a subgraph and another outside"):
        apply(Journal([ReplaceUses(old="a", new="x", **WHY)]), model)


def test_function_bodies() -> None:
    function = helper.make_function("test", "F", ["p"], ["q"], [N("Identity", ["p"], ["r"]), N("Neg", ["r"], ["q"])],
                                    [helper.make_opsetid("", 20)])  # fmt: skip
    model = model_of([N("F", ["x"], ["y"], domain="test")])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("test", 1))
    path = GraphPath(Root.FUNCTION)
    journal = Journal([
        ReplaceUses(path=path, old="r", new="p", **WHY), RemoveNode(path=path, node=0, **WHY),
        AddInitializer(path=path, tensor=constant("k", 1.0), **WHY),
        ImportOpset(path=path, domain="test", version=1, **WHY), ImportOpset(domain="ai.onnx", version=21, **WHY),
    ])  # fmt: skip
    result = apply(journal, model)
    assert [(n.op_type, *n.input) for n in result.functions[0].node] == [("Constant",), ("Neg", "p")]
    assert [(o.domain, o.version) for o in result.functions[0].opset_import] == [("", 20), ("test", 1)]
    assert [(o.domain, o.version) for o in result.opset_import] == [("", 21), ("test", 1)]
    assert run(result) == run(model)
    assert journal.describe(model)[1] == "test: remove Identity r in F: because"


def test_description() -> None:
    journal = Journal()
    journal.add(
        AddInitializer(tensor=constant("k", 1.0, 2.0), by="fold", reason="all inputs are constant", cost=8),
        RemoveNode(node=1, by="fold", reason="nobody reads it", cost=-20),
        ReplaceUses(old="b", new="a", by="cse", reason="equal"),
        InsertNodes(nodes=(N("Neg", ["x"], ["n"]),), before=0, by="lower", reason="needed"),
        RemoveInitializer(name="w", by="dead", reason="unused", cost=-4),
        ImportOpset(domain="", version=21, by="lower", reason="needed"),
    )
    assert journal.describe(model_of(chain())) == [
        "fold: add k float[2]: all inputs are constant (+8 bytes)",
        "fold: remove Identity b: nobody reads it (-20 bytes)",
        "cse: read a instead of b: equal",
        "lower: insert Neg -> n: needed",
        "dead: remove w: unused (-4 bytes)",
        "lower: import opset 21 of ai.onnx: needed",
    ]
    assert journal.cost == -16 and len(journal) == 6


OTHER = {
    # id: (the node in the place of Abs b -> c, whether it is the same node, the line)
    "another name": (N("Abs", ["b"], ["d"]), True, "rename c to d, of Abs c"),
    "another input": (N("Abs", ["x"], ["c"]), True, "let Abs c read x instead of b"),
    "both": (N("Abs", ["x"], ["d"]), True, "let Abs c read x instead of b and write d instead of c"),
    "one input more": (N("Abs", ["b", "x"], ["c"]), True, "let Abs c read x instead of nothing"),
    "another place": (N("Abs", ["b"], ["c"]), True, "move Abs c"),
    "another attribute": (N("Abs", ["b"], ["c"], axis=1), True, "change Abs c"),
    "a new node of the same kind": (N("Abs", ["x"], ["c"]), False, "let Abs c read x instead of b"),
    "a new node of another kind": (N("Neg", ["x"], ["c"]), False, "replace Abs c by Neg -> c"),
}


@pytest.mark.parametrize("case", OTHER)
def test_a_node_in_the_place_of_another_is_one_line(case: str) -> None:
    node, is_same, line = OTHER[case]
    insert = InsertNodes(nodes=(node,), before=2, origin=2 if is_same else None, **WHY)
    journal = Journal([RemoveNode(node=2, by="test", reason="unread"), insert])
    assert journal.describe(model_of(chain())) == [f"test: {line}: because"]


def test_a_node_that_takes_no_place_is_inserted() -> None:
    nodes = N("Neg", ["x"], ["n"]), N("Exp", ["n"], ["c"])
    journal = Journal([RemoveNode(node=2, **WHY), InsertNodes(nodes=nodes, before=2, **WHY)])
    lines = ["test: replace Abs c by Exp -> c: because", "test: insert Neg -> n: because"]
    assert journal.describe(model_of(chain())) == lines


def test_cost_is_linear() -> None:
    count = 20_000
    model = model_of([N("Identity", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)], "v0", f"v{count}")
    edits: list[Edit] = []
    for i in range(0, count - 1, 2):
        edits += [ReplaceUses(old=f"v{i + 1}", new=f"v{i}", **WHY), RemoveNode(node=i, **WHY)]
    start = time.perf_counter()
    result = apply(Journal(edits), model)
    assert time.perf_counter() - start < 5
    assert len(result.graph.node) == count // 2 and not list(structural_findings(Model(result)))
