"""The journal: each edit does what it says, the interface stays, everything else is equal as a message."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from gather_infer.ir import Model, structural_findings
from gather_infer.model.apply import apply
from gather_infer.model.edits import (
    AddInitializer,
    AddInput,
    AddOutput,
    DeclareType,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveImport,
    RemoveInitializer,
    RemoveInput,
    RemoveNode,
)
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
    last = InsertNodes(nodes=(N("Abs", ["y"], ["z"]),), before=4, **WHY)
    result = edited(model_of(chain()), InsertNodes(nodes=new, before=2, **WHY), last)
    assert ops(result) == "Neg(x)=a Identity(a)=b Neg(a)=p Neg(p)=q Abs(b)=c Add(b,c)=y Abs(y)=z"


# Outputs of the graph keep their names


def folded() -> list[NodeProto]:
    two = helper.make_node("Constant", [], ["two"], value=constant("", 2.0))
    return [two, N("Neg", ["two"], ["y"]), N("Add", ["x", "y"], ["z"])]


def test_constant_of_the_same_name_as_the_node_that_goes() -> None:
    edits: list[Edit] = [AddInitializer(tensor=constant("y", -2.0), **WHY), RemoveNode(node=1, **WHY)]
    edits.append(RemoveNode(node=0, **WHY))
    result = edited(model_of(folded(), outputs="y z"), *edits)
    assert ops(result) == "Add(x,y)=z"


# The interface


@pytest.mark.parametrize("default", [True, False], ids=["default", "required"])
def test_input_in_place_of_a_node(default: bool) -> None:
    """A new input takes the name of a value whose node goes; its default is an initializer of the same name."""
    model = model_of(chain())
    held = constant("b", 1.0) if default else None
    edits: list[Edit] = [RemoveNode(node=1, **WHY), AddInput(value=value("b"), default=held, **WHY)]
    result = apply(Journal(edits), model)
    onnx.checker.check_model(result, full_check=True)
    assert [v.name for v in result.graph.input] == ["x", "b"] and ops(result) == "Neg(x)=a Abs(b)=c Add(b,c)=y"
    assert [t.name for t in result.graph.initializer] == ["b"] * default
    feeds = {"x": np.ones(1, np.float32)} | ({} if default else {"b": np.ones(1, np.float32)})
    (y,) = ReferenceEvaluator(result).run(None, feeds)
    assert y.tolist() == [2.0]


def test_outputs_and_inputs_added_and_removed() -> None:
    model = model_of(chain(), inputs="x unread")
    result = apply(Journal([AddOutput(value=value("c"), **WHY), RemoveInput(name="unread", **WHY)]), model)
    onnx.checker.check_model(result, full_check=True)
    assert [v.name for v in result.graph.input] == ["x"] and [v.name for v in result.graph.output] == ["y", "c"]
    assert result.graph.node == model.graph.node


def test_declared_types() -> None:
    """An input or output is declared in place; another value gets a `value_info`, or has its own changed."""
    model = model_of(chain())
    model.graph.value_info.append(value("b"))
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    result = apply(Journal([DeclareType(name=n, type=number, **WHY) for n in ("x", "y", "b", "a")]), model)
    onnx.checker.check_model(result, full_check=True)
    graph = result.graph
    assert [v.name for v in graph.value_info] == ["b", "a"]
    assert all(v.type == number for v in (*graph.input, *graph.output, *graph.value_info))


@pytest.mark.parametrize(("opset", "ir_version"), [(22, 9), (23, 11), (24, 12), (26, 13)])
def test_an_opset_raises_the_ir_version_that_it_needs(opset: int, ir_version: int) -> None:
    """https://onnx.ai/onnx/repo-docs/Versioning.html: released versions of ONNX and their IR versions."""
    result = apply(Journal([ImportOpset(domain="", version=opset, **WHY)]), model_of(chain()))
    assert result.ir_version == ir_version
    if ir_version <= onnx.IR_VERSION:
        onnx.checker.check_model(result)


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


def test_edits_in_a_subgraph_and_around_it() -> None:
    """Positions are those before any edit, also of the node that carries the subgraph."""
    result = edited(
        branches(),
        RemoveNode(node=1, **WHY),
        InsertNodes(nodes=(N("Abs", ["x"], ["p"]), N("Identity", ["x"], ["a"])), before=0, **WHY),
        InsertNodes(path=THEN, nodes=(N("Identity", ["a"], ["t"]),), before=1, **WHY),
        RemoveNode(path=THEN, node=0, **WHY), RemoveNode(path=THEN, node=1, **WHY),
        AddInitializer(path=ELSE, tensor=constant("k", 1.0), **WHY),
    )  # fmt: skip
    graphs = {a.name: a.g for a in result.graph.node[3].attribute}
    assert [str(n.input[0]) + n.output[0] for n in graphs["then_branch"].node] == ["at"]
    assert [t.name for t in graphs["else_branch"].initializer] == ["k"]


def test_function_bodies() -> None:
    function = helper.make_function("test", "F", ["p"], ["q"], [N("Identity", ["p"], ["r"]), N("Neg", ["r"], ["q"])],
                                    [helper.make_opsetid("", 20)])  # fmt: skip
    model = model_of([N("F", ["x"], ["y"], domain="test")])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("test", 1))
    path = GraphPath(Root.FUNCTION)
    journal = Journal([
        RemoveNode(path=path, node=0, **WHY), RemoveNode(path=path, node=1, **WHY),
        InsertNodes(path=path, nodes=(N("Neg", ["p"], ["q"]),), before=2, **WHY),
        AddInitializer(path=path, tensor=constant("k", 1.0), **WHY),
        ImportOpset(path=path, domain="test", version=1, **WHY), ImportOpset(domain="ai.onnx", version=21, **WHY),
        ImportOpset(domain="unused", version=1, **WHY), RemoveImport(domain="unused", **WHY),
    ])  # fmt: skip
    result = apply(journal, model)
    assert [(n.op_type, *n.input) for n in result.functions[0].node] == [("Constant",), ("Neg", "p")]
    assert [(o.domain, o.version) for o in result.functions[0].opset_import] == [("", 20), ("test", 1)]
    assert [(o.domain, o.version) for o in result.opset_import] == [("", 21), ("test", 1)]
    assert run(result) == run(model)
    assert journal.describe(model)[0] == "test: remove Identity r in F: because"


def test_description() -> None:
    journal = Journal()
    journal.add(
        AddInitializer(tensor=constant("k", 1.0, 2.0), by="fold", reason="all inputs are constant", cost=8),
        RemoveNode(node=1, by="fold", reason="nobody reads it", cost=-20),
        InsertNodes(nodes=(N("Neg", ["x"], ["n"]),), before=0, by="lower", reason="needed"),
        RemoveInitializer(name="w", by="dead", reason="unused", cost=-4),
        ImportOpset(domain="", version=21, by="lower", reason="needed"),
        RemoveImport(domain="mine", by="lower", reason="unused"),
        AddInput(value=value("past"), by="state", reason="ReadValue"),
        RemoveInput(name="x", by="beams", reason="reorders rows only"),
        AddOutput(value=value("c"), by="state", reason="Assign"),
        DeclareType(name="c", type=value("c").type, by="state", reason="inferred"),
    )
    assert journal.describe(model_of(chain())) == [
        "fold: add k float[2]: all inputs are constant (+8 bytes)",
        "fold: remove Identity b: nobody reads it (-20 bytes)",
        "lower: insert Neg -> n: needed",
        "dead: remove w: unused (-4 bytes)",
        "lower: import opset 21 of ai.onnx: needed",
        "lower: remove the import of mine: unused",
        "state: add input past: ReadValue",
        "beams: remove input x: reorders rows only",
        "state: add output c: Assign",
        "state: declare the type of c: inferred",
    ]
    assert journal.cost == -16 and len(journal) == 10


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
        edits += [RemoveNode(node=i, **WHY), RemoveNode(node=i + 1, **WHY)]
        edits.append(InsertNodes(nodes=(N("Identity", [f"v{i}"], [f"v{i + 2}"]),), before=i + 1, **WHY))
    start = time.process_time()
    result = apply(Journal(edits), model)
    assert time.process_time() - start < 5
    assert len(result.graph.node) == count // 2 and not list(structural_findings(Model(result)))
