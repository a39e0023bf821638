"""Edits of a model: each keeps the def-use chains, and is written back."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from gather_infer.errors import UsageError
from gather_infer.ir import Model, Use, Value
from gather_infer.ir.constant import Constant, from_integers
from gather_infer.ir.inlining import Inlining
from gather_infer.ir.toposort import cycle
from gather_infer.ir.write_back import journal_of, to_proto
from gather_infer.model.edits import InsertNodes
from gather_infer.node_ids import MAIN, Step
from gather_infer.tensor import UNKNOWN
from tests.ir.recount import held, recounted
from tests.ir.samples import BODY, N, graph_of, nested

WHY = "a reason"


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')


def chain() -> Model:
    """`a` is read twice by one node, `b` once and by a subgraph, `w` is an initializer."""
    return Model(
        parsed("""g (float[N] x, bool c) => (float[N] y) <float[1] w = {1}> {
            a = Neg(x) b = Add(a, a) d = Abs(b)
            y = If (c) <then_branch = t () => (float[N] p) { p = Mul(b, w) },
                        else_branch = e () => (float[N] d) { }> }""")
    )


def shown(model: Model) -> list[str]:
    """The nodes of the main graph as written."""
    nodes = to_proto(model).graph.node
    return [f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)})" for node in nodes]


def check(model: Model) -> None:
    assert held(model) == recounted(model)


CHAIN = ["a = Neg(x)", "b = Add(a, a)", "d = Abs(b)", "y = If(c)"]


def test_add() -> None:
    model = chain()
    before = model.main.file_nodes[1]
    first = model.add(model.main, N("Abs", ["a", ""], ["n", "", "m"]), before, WHY, [UNKNOWN])
    second = model.add(model.main, N("Abs", ["n"], ["o"]), before, WHY, [])
    check(model)
    assert first.origin is None and first.source is None and first.is_edited and first.why == WHY
    assert str(model.label(first)) == "n" and model.main.producers["m"] == (first, 2)
    assert model.readers(model.main, "n") == (second,) and first.version == 21
    assert shown(model) == [CHAIN[0], "n, , m = Abs(a, )", "o = Abs(n)", *CHAIN[1:]]


def test_a_new_node_is_written_after_the_nodes_that_it_reads() -> None:
    model = chain()
    model.add(model.main, N("Abs", ["d"], ["n"]), model.main.file_nodes[0], WHY, [])
    assert shown(model) == [*CHAIN[:3], "n = Abs(d)", CHAIN[3]]


def test_set_input_of_one_of_two_equal_inputs() -> None:
    model = chain()
    add = model.main.file_nodes[1]
    assert model.set_input(add, 1, "x", WHY) == "a"
    check(model)
    assert list(Value(model.main, "a").uses()) == [Use(add, 0)] and add.is_edited
    assert model.set_input(add, 0, "x", WHY) == "a"
    check(model)
    assert Value(model.main, "a").readers == () and len(list(Value(model.main, "x").uses())) == 3
    assert shown(model) == [CHAIN[0], "b = Add(x, x)", *CHAIN[2:]]


def test_set_input_in_a_subgraph_to_an_outer_value_and_to_none() -> None:
    model = chain()
    mul = next(node for node in model.nodes if node.op_type == "Mul")
    model.set_input(mul, 1, "a", WHY)
    check(model)
    assert mul in Value(model.main, "a").readers and not Value(model.main, "w").readers
    assert model.main.users("a") == {model.main.file_nodes[1], model.main.file_nodes[3]}
    assert model.set_input(mul, 1, "", WHY) == "a" and model.set_input(mul, 1, "w", WHY) == ""
    check(model)
    assert not model.is_needed(model.main, "nothing") and model.is_needed(model.main, "w")


def test_an_undefined_read_is_repaired() -> None:
    model = Model(helper.make_model(graph_of([N("Add", ["gone", "lost"], ["y"]), N("Neg", ["gone"], ["z"])])))
    add, neg = model.main.file_nodes
    assert model.dangling == {add, neg}
    model.set_input(add, 0, "x", WHY)
    check(model)
    assert model.dangling == {add, neg}  # `lost` is still undefined
    model.set_input(add, 1, "x", WHY)
    check(model)
    model.remove(neg, WHY)
    check(model)
    assert model.dangling == set()


def test_replace_all_uses_in_subgraphs_too() -> None:
    model = chain()
    add, mul = model.main.file_nodes[1], next(node for node in model.nodes if node.op_type == "Mul")
    assert model.replace_all_uses(model.main, "b", "a", WHY) == [model.main.file_nodes[2], mul]
    check(model)
    assert mul.inputs == ["a", "w"] and mul.why == WHY and not add.is_edited
    assert not Value(model.main, "b").readers and not model.is_needed(model.main, "b")
    assert Value(model.main, "d").is_output  # returned by the other branch


def test_rename_a_node_output_and_a_constant() -> None:
    model = chain()
    model.rename(model.main, "b", "b2", WHY)
    check(model)
    assert shown(model) == [CHAIN[0], "b2 = Add(a, a)", "d = Abs(b2)", CHAIN[3]]
    model.add_constant(model.main, "k", from_integers(TensorProto.INT64, np.array([5], dtype=object)), UNKNOWN, WHY)
    model.set_input(model.main.file_nodes[2], 0, "k", WHY)
    model.rename(model.main, "k", "k2", WHY)
    check(model)
    assert model.main.file_nodes[2].inputs == ["k2"] and model.main.constant_payload("k2") is not None
    assert [tensor.name for tensor in to_proto(model).graph.initializer] == ["w", "k2"]
    assert model.new_constants == [(model.main, "k"), (model.main, "k2")]


def test_a_new_value_takes_over_the_name_of_an_output() -> None:
    model = chain()
    branch = model.main.file_nodes[3]
    model.add(model.main, N("Sqrt", ["d"], ["new"]), branch, WHY, [])
    model.detach(branch, 0, "unused", WHY)
    model.rename(model.main, "new", "y", WHY)
    check(model)
    assert model.main.producers["y"][0].op_type == "Sqrt" and Value(model.main, "y").is_output
    model.remove(branch, WHY)
    check(model)
    assert shown(model) == [*CHAIN[:3], "y = Sqrt(d)"]


def test_remove_a_node_with_subgraphs() -> None:
    model = Model(nested())
    branch, body = model.main.file_nodes[0], model[BODY]
    inner = list(branch.nested_nodes())
    assert set(model.remove(branch, WHY)) == {"c", "n", "x", "k", "v"}
    check(model)
    assert branch.is_removed and all(node.is_removed for node in inner) and list(model.graphs) == [MAIN]
    assert (BODY, 1) in model.removed_sources and len(model.removed_sources) == 5 and not body.nodes
    assert not Value(model.main, "k").readers


def test_remove_a_graph_that_returns_an_outer_value() -> None:
    model = chain()
    value = Value(model.main, "d")
    assert value.is_output and model.main.users("d") == {model.main.file_nodes[3]}
    model.remove(model.main.file_nodes[3], WHY)
    check(model)
    assert not value.is_output and model.main.users("d") == set()


def test_drop_initializers() -> None:
    model = chain()
    model.add_constant(model.main, "k", from_integers(TensorProto.INT64, np.array([5], dtype=object)), UNKNOWN, WHY)
    model.replace_all_uses(model.main, "w", "x", WHY)
    assert Value(model.main, "w").initializer is not None
    model.drop(model.main, "w", WHY)
    model.drop(model.main, "k", WHY)
    check(model)
    assert Value(model.main, "w").initializer is None and model.main.defining_graph("w") is None
    assert model.main.defining_graph("k") is None and not to_proto(model).graph.initializer
    assert "k" not in model.main.constants


def test_drop_an_initializer_that_is_an_input_before_ir_version_4() -> None:
    graph = graph_of([N("Add", ["x", "w"], ["y"])], "x w")
    graph.initializer.add(name="w", data_type=1, dims=[1], float_data=[1])
    model = Model(helper.make_model(graph, ir_version=3))
    model.set_input(model.main.file_nodes[0], 1, "x", WHY)
    model.drop(model.main, "w", WHY)
    check(model)
    assert model.main.defining_graph("w") is None
    written = to_proto(model).graph
    assert [value.name for value in written.input] == ["x"] and not written.initializer


def branching(inner: str, result: str) -> NodeProto:
    """An If whose first branch computes from `inner`, and whose second returns `a`."""
    then = graph_of([N("Abs", [inner], ["t0"]), N("Neg", ["t0"], ["t"])], "", "t")
    return N("If", ["c"], [result], then_branch=then, else_branch=graph_of([], "", "a"))


def test_add_a_node_with_subgraphs() -> None:
    """The reads of a new subgraph are in the def-use chains, and edits in it are written."""
    model = chain()
    added = model.add(model.main, branching("b", "n"), None, WHY)
    check(model)
    then, other = sorted(added.bodies, key=lambda body: -len(body.nodes))
    inner = next(iter(then.nodes))
    assert then.is_new and inner.source is None and inner in model.readers(model.main, "b")
    assert other in model.main.returned["a"] and then.outer is model.main and model[then.path] is then
    model.set_input(inner, 0, "x", WHY)
    model.replace_all_uses(model.main, "d", "b", WHY)
    check(model)
    assert shown(model) == [*CHAIN, "n = If(c)"]
    bodies = {a.name: a.g for a in to_proto(model).graph.node[-1].attribute}
    assert [list(node.input) for node in bodies["then_branch"].node] == [["x"], ["t0"]]
    assert [value.name for value in bodies["else_branch"].output] == ["a"]
    model.remove(added, WHY)
    check(model)
    assert shown(model) == CHAIN and then.path not in model.graphs


def test_replace_a_node() -> None:
    model = chain()
    node = model.main.file_nodes[1]
    first, last = model.replace(node, [N("Exp", ["a"], ["n"]), N("Mul", ["n", "n"], ["b"])], WHY)
    check(model)
    assert node.is_removed and model.main.producers["b"] == (last, 0) and model.readers(model.main, "n") == (last,)
    assert shown(model) == [CHAIN[0], "n = Exp(a)", "b = Mul(n, n)", *CHAIN[2:]] and first.why == WHY


def test_the_interface() -> None:
    """An input takes the place of a node, a value becomes an output, an unread input goes."""
    model = Model(parsed("g (float[N] x, float[N] z) => (float[N] y) { a = Neg(z) b = Abs(a) y = Add(b, x) }"))
    main = model.main
    model.remove(main.file_nodes[0], WHY)
    a, state = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "as")
    model.add_input(main, a, None, WHY)
    model.add_input(main, state, helper.make_tensor("s", TensorProto.FLOAT, [1], [2.0]), WHY)
    model.remove_input(main, "z", WHY)
    model.add_output(main, helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N"]), WHY)
    check(model)
    assert main.inputs == ("x", "a", "s") and main.outputs == ("y", "b") and Value(main, "b").is_output
    written = to_proto(model)
    onnx.checker.check_model(written, full_check=True)
    graph = written.graph
    assert [v.name for v in graph.input] == ["x", "a", "s"] and [v.name for v in graph.output] == ["y", "b"]
    assert [tensor.name for tensor in graph.initializer] == ["s"] and shown(model) == ["b = Abs(a)", "y = Add(b, x)"]
    assert main.declared_types().keys() == {"x", "z", "a", "s", "y", "b"}


def test_declared_types() -> None:
    model = chain()
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    branch = next(body for body in model.main.file_nodes[3].bodies if body.nodes)
    for graph, name in ((model.main, "x"), (model.main, "a"), (branch, "p")):
        model.declare_type(graph, name, number, WHY)
        assert graph.declared_types()[name] == number
    written = Model(to_proto(model))
    assert held(written) == held(model)
    assert written.main.declared_types()["x"] == written.main.declared_types()["a"] == number
    assert written[branch.path].declared_types()["p"] == number
    assert written.main.declared_types()["y"] == model.main.declared_types()["y"]


def test_a_declared_type_follows_its_value() -> None:
    model = chain()
    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    model.declare_type(model.main, "a", number, WHY)
    model.rename(model.main, "a", "renamed", WHY)
    assert [(v.name, v.type) for v in to_proto(model).graph.value_info] == [("renamed", number)]
    last = model.add(model.main, N("Abs", ["b"], ["n"]), None, WHY)
    model.declare_type(model.main, "n", number, WHY)
    model.remove(last, WHY)
    assert [v.name for v in to_proto(model).graph.value_info] == ["renamed"]


def test_rename_nodes() -> None:
    model = chain()
    node = model.main.file_nodes[1]
    model.rename_node(node, "renamed", WHY)
    written = to_proto(model).graph.node
    assert [each.name for each in written] == ["", "renamed", "", ""] and shown(model) == CHAIN
    (edit,) = (edit for edit in journal_of(model, "test").edits if isinstance(edit, InsertNodes))
    assert edit.origin == 1


def test_remove_imports() -> None:
    model = Model(nested())
    model.import_opset("com.microsoft", 1)
    assert model.imported_opsets().keys() == {"", "com.microsoft"}
    model.remove_import("com.microsoft")
    assert model.imported_opsets() == model.main.versions
    assert to_proto(model) == model.proto


def test_import_opsets() -> None:
    model = Model(nested())
    version = model.proto.opset_import[0].version
    model.import_opset("ai.onnx", version + 1)
    model.import_opset("com.microsoft", 1)
    assert [(entry.domain, entry.version) for entry in to_proto(model).opset_import] == [
        ("", version + 1), ("com.microsoft", 1),
    ]  # fmt: skip
    assert {node.version for node in model.nodes} == {version}


def test_inline_a_branch() -> None:
    """The nodes keep their messages; their values get new names where another graph defines the same names."""
    text = """g (float[N] x, bool c) => (float[N] y) {
        a = Neg(x)
        y = If (c) <then_branch = t () => (float[N] p) <float[1] w = {1}> { q = Add(a, w) s = If (c) <
                        then_branch = i () => (float[N] q) { }, else_branch = j () => (float[N] w) { }> p = Mul(s, q) },
                    else_branch = e () => (float[N] p) { p = Abs(x) }> }"""
    proto = parsed(text)
    then = proto.graph.node[1].attribute[0].g
    then.node[0].MergeFromString(b"\xc2\x3e\x05hello")
    model = Model(proto)
    branch, body = model.main.file_nodes[1], model[MAIN.below(Step(1, 0))]
    inlining = Inlining(model, branch, body, {})
    weight = Constant(TensorProto.FLOAT, np.array([0x3F800000], "<u4"))
    assert inlining.name("p") == "p_1" and inlining.name("q") == "q" and inlining.name("a") == "a"
    assert inlining.is_possible(lambda *_: weight, lambda *_: True, 100)
    assert not inlining.is_possible(lambda *_: weight, lambda *_: True, 3)
    assert not inlining.is_possible(lambda *_: weight, lambda *_: False, 100)
    assert not inlining.is_possible(lambda *_: None, lambda *_: True, 100)
    moved = inlining.move(lambda *_: weight, WHY)
    assert [node.op_type for node in moved] == ["Add", "If", "Mul"]
    assert [node.source for node in moved] == [(body.path, 0), (body.path, 1), (body.path, 2)]
    assert model.main.users("q") == {moved[1], moved[2]} and Value(model.main, "w").is_output
    model.detach(branch, 0, "unused", WHY)
    model.rename(model.main, "p_1", "y", WHY)
    model.remove(branch, WHY)
    check(model)
    assert shown(model) == ["a = Neg(x)", "q = Add(a, w)", "s = If(c)", "y = Mul(s, q)"]
    written = to_proto(model).graph
    assert written.node[1] == then.node[0] and written.node[2] == then.node[1]
    assert written.node[1].SerializeToString() == then.node[0].SerializeToString()
    assert written.initializer[0].name == "w" and written.initializer[0].raw_data == b"\x00\x00\x80\x3f"


@pytest.mark.parametrize(("bound", "expected"), [("x", False), ("a", True)], ids=["hidden by a subgraph", "visible"])
def test_a_name_that_a_subgraph_hides_prevents_inlining(bound: str, expected: bool) -> None:
    """A subgraph of the body defines `x`, so that its read of the body's input `v` cannot become a read of `x`."""
    branch, other = graph_of([N("Neg", ["v"], ["x"])], "", "x"), graph_of([N("Exp", ["v"], ["p"])], "", "p")
    body = graph_of([N("If", ["v"], ["q"], then_branch=branch, else_branch=other)], "v", "q")
    nodes = [N("Abs", ["x"], ["a"]), N("Loop", ["x"], ["y"], body=body)]
    model = Model(helper.make_model(graph_of(nodes)))
    loop = model.main.file_nodes[1]
    inlining = Inlining(model, loop, loop.bodies[0], {"v": bound})
    assert inlining.is_possible(lambda *_: None, lambda *_: True, 0) == expected


def test_a_cycle_is_refused_with_the_reasons_of_its_edits() -> None:
    model = chain()
    model.set_input(model.main.file_nodes[0], 0, "b", WHY)
    assert [node.outputs for node in cycle(model.main)] in ([["a"], ["b"]], [["b"], ["a"]])
    with pytest.raises(UsageError, match="the rewrites lead to a cycle of nodes: a reason"):
        to_proto(model)


def test_an_edit_of_a_graph_with_two_definitions_leaves_its_order() -> None:
    """A name that a node and an input define refers to the input."""
    model = Model(helper.make_model(graph_of([N("Neg", ["x"], ["x"]), N("Abs", ["x"], ["y"])])))
    model.add(model.main, N("Exp", ["x"], ["z"]), model.main.file_nodes[0], WHY, [])
    assert shown(model) == ["z = Exp(x)", "x = Neg(x)", "y = Abs(x)"]


def test_names_of_new_nodes_are_unique_within_their_graph() -> None:
    proto = helper.make_model(graph_of([N("Neg", ["x"], ["y"], name="n")]))
    model = Model(proto)
    for at in range(3):
        model.add(model.main, N("Abs", ["x"], [f"a{at}"], name="n"), model.main.file_nodes[0], WHY, [])
    assert [node.name for node in to_proto(model).graph.node] == ["n_1", "n_2", "n_3", "n"]


def test_journal_names_the_pass_and_the_reasons() -> None:
    model = chain()
    mul = next(node for node in model.nodes if node.op_type == "Mul")
    model.set_input(mul, 0, "a", WHY)
    model.drop(model.main, "w", "another reason")
    assert [(type(edit).__name__, edit.by, edit.reason, edit.path) for edit in journal_of(model, "test").edits] == [
        ("RemoveInitializer", "test", "another reason", MAIN),
        ("RemoveNode", "test", WHY, mul.graph.path),
        ("InsertNodes", "test", WHY, mul.graph.path),
    ]


def test_a_graph_out_of_order_is_sorted_with_its_first_edit() -> None:
    model = Model(nested())
    model.set_input(model[BODY].file_nodes[0], 0, "v", WHY)
    edits = journal_of(model, "test").edits
    assert {(edit.path, edit.reason) for edit in edits} == {(MAIN, "moved after its inputs")}  # `k` before the If
    written = Model(to_proto(model))
    assert [node.op_type for node in written.main.file_nodes] == ["Neg", "If", "Add"]
    assert written[MAIN.below(Step(1, 1)).below(Step(0, 0))].file_nodes[0].inputs == ["v", "v"]
