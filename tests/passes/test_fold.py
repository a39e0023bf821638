"""The folding pass: what becomes a constant, what stays, and that outputs keep their bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer.errors import ModelStructureError, UsageError
from gather_infer.passes import fold
from tests.passes.folding_models import assert_same_outputs, body, i64, model, ops, run, tensor

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def gather(data: str, indices: str, out: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Gather", [data, indices], [out], name or f"make_{out}", **attributes)


def names(proto: ModelProto) -> list[str]:
    return [t.name for t in proto.graph.initializer]


def test_constant_inputs() -> None:
    nodes = [gather("table", "index", "row"), helper.make_node("Add", ["x", "row"], ["y"])]
    made = model(nodes, {"x": (F, [3])}, {"y": (F, [3])}, {"table": TABLE, "index": i64(2)[0]})
    result = fold(made)
    assert ops(result.proto.graph) == ["Add"]
    assert names(result.proto) == ["row"]
    assert [(str(f.node), f.name, f.law) for f in result.applied] == [("make_row", "row", "all inputs are constant")]
    assert_same_outputs(made, result.proto, {"x": np.ones(3, np.float32)})


def test_an_attribute_without_a_type() -> None:
    """Files of IR version 1 omit the types of attributes; the elements are those of numpy."""
    columns = gather("table", "index", "columns", axis=1)
    columns.attribute[0].ClearField("type")
    nodes = [columns, helper.make_node("Add", ["x", "columns"], ["y"])]
    made = model(nodes, {"x": (F, [4, 1])}, {"y": (F, [4, 1])}, {"table": TABLE, "index": i64(2)})
    (found,) = fold(made).proto.graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(found), TABLE[:, [2]])


def test_constant_nodes() -> None:
    nodes = [
        helper.make_node("Constant", [], ["table"], value=tensor("", TABLE)),
        helper.make_node("Constant", [], ["index"], value_ints=[3, 0]),
        gather("table", "index", "rows"),
        helper.make_node("Relu", ["rows"], ["y"]),
    ]
    made = model(nodes, {}, {"y": (F, None)})
    result = fold(made)
    assert ops(result.proto.graph) == ["Relu"]
    assert_same_outputs(made, result.proto, {})


def test_a_dim_that_is_static() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        gather("shape", "one", "width"),
        helper.make_node("Expand", ["x", "width"], ["y"]),
    ]
    made = model(nodes, {"x": (F, ["N", 7])}, {"y": (F, ["N", 7])}, {"one": i64(1)})
    result = fold(made)
    assert ops(result.proto.graph) == ["Expand"]
    assert [f.law for f in result.applied] == ["evaluates to int64[1] = [7]"]
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 7), np.float32)})


def test_rules_are_chosen_by_name() -> None:
    nodes = [gather("table", "index", "row"), helper.make_node("Shape", ["x"], ["n"])]
    made = model(nodes, {"x": (F, [3])}, {"row": (F, [3]), "n": (I64, [1])}, {"table": TABLE, "index": i64(2)[0]})
    assert [f.rule for f in fold(made).applied] == ["fold-constants", "fold-known"]
    assert [f.rule for f in fold(made, passes=["fold-known"]).applied] == ["fold-known"]
    assert [f.rule for f in fold(made, skip=["fold-known"]).applied] == ["fold-constants"]
    with pytest.raises(UsageError, match="no rewrite 'gather-of-all'"):
        fold(made, passes=["gather-of-all"])


def test_a_symbolic_dim_stays() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["shape"]), gather("shape", "zero", "y")]
    made = model(nodes, {"x": (F, ["N", 7])}, {"y": (I64, [1])}, {"zero": i64(0)})
    result = fold(made)
    assert not result.applied
    assert result.proto == made


def test_a_symbolic_dim_that_is_declared_folds() -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "one"], ["n"], "g")]
    made = model(nodes, {"x": (F, ["N", "M"])}, {"n": (I64, [])}, {"one": np.array(1)})
    for given in ({"dims": ["M=3"]}, {"dims": {"M": (3, 3)}}, {"inputs": ["x=[N, 3]"]}):
        result = fold(made, **given)
        assert [f.law for f in result.applied] == ["evaluates to int64[] = 3"]
        dims = result.proto.graph.input[0].type.tensor_type.shape.dim
        assert [d.dim_value or d.dim_param for d in dims] == ["N", 3]
        assert_same_outputs(made, result.proto, {"x": np.zeros((2, 3), np.float32)})
    assert not fold(made, dims=["M=3..4"]).applied


def test_an_assumed_answer_is_not_folded_under() -> None:
    # Reshape to [N, 7] of [N, 7]: an entry of 0 would copy, so the shape is right unless N is 0
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        gather("shape", "zero", "n"),
        helper.make_node("Concat", ["n", "seven"], ["target"], axis=0),
        helper.make_node("Reshape", ["v", "target"], ["r"]),
        helper.make_node("Shape", ["r"], ["rshape"]),
        gather("rshape", "zero", "y"),
    ]
    held = {"zero": i64(0), "seven": i64(7)}
    made = model(nodes, {"x": (F, ["N", 7]), "v": (F, ["M", 7])}, {"y": (I64, [1])}, held)
    assert not fold(made).applied


def test_a_chain_leaves_only_its_end() -> None:
    nodes = [gather("table", "index", "a"), gather("a", "second", "b"), helper.make_node("Relu", ["b"], ["y"])]
    made = model(nodes, {}, {"y": (F, None)}, {"table": TABLE, "index": i64(3, 1), "second": i64(-1)})
    result = fold(made)
    assert names(result.proto) == ["b"]
    assert len(result.applied) == 2
    assert_same_outputs(made, result.proto, {})


def test_nodes_may_come_in_any_order() -> None:
    nodes = [helper.make_node("Relu", ["b"], ["y"]), gather("a", "second", "b"), gather("table", "index", "a")]
    made = model(nodes, {}, {"y": (F, None)}, {"table": TABLE, "index": i64(3, 1), "second": i64(-1)})
    assert names(fold(made).proto) == ["b"]


def test_an_output_preserves_its_name() -> None:
    made = model([gather("table", "index", "y")], {}, {"y": (F, [1, 3])}, {"table": TABLE, "index": i64(2)})
    result = fold(made)
    assert not result.proto.graph.node
    assert names(result.proto) == ["y"]
    assert_same_outputs(made, result.proto, {})


def test_an_initializer_that_is_an_input_is_no_constant() -> None:
    held = {"table": TABLE, "index": i64(2)}
    made = model([gather("table", "index", "y")], {"index": (I64, [1])}, {"y": (F, None)}, held)
    assert not fold(made).applied
    assert run(made, {"index": i64(1)})[0].tolist() == [TABLE[1].tolist()]


def test_before_ir_4_a_constant_node_is_made() -> None:
    held = {"table": TABLE, "index": i64(2)}
    types = {"table": (F, [4, 3]), "index": (I64, [1])}
    made = model([gather("table", "index", "y")], types, {"y": (F, [1, 3])}, held, ir_version=3, opset=8)
    result = fold(made)
    assert ops(result.proto.graph) == ["Constant"]
    assert not result.proto.graph.input and not names(result.proto), "nobody feeds them, and nothing reads them"
    onnx.checker.check_model(result.proto)


def test_what_others_read_stays() -> None:
    nodes = [gather("table", "index", "row"), helper.make_node("Pow", ["table", "row"], ["y"])]
    held = {"table": TABLE, "index": i64(2), "unused": i64(9)}
    made = model(nodes, {}, {"y": (F, [4, 3])}, held)
    assert names(fold(made).proto) == ["table", "unused", "row"]


def test_an_index_out_of_bounds_is_reported_and_left_alone() -> None:
    made = model([gather("table", "index", "y")], {}, {"y": (F, None)}, {"table": TABLE, "index": i64(4)})
    result = fold(made)
    assert [d.code for d in result.diagnostics] == ["GI301"]
    assert result.proto == made


def test_past_the_budget_a_node_is_left_alone() -> None:
    made = model([gather("table", "index", "y")], {}, {"y": (F, None)}, {"table": TABLE, "index": i64(0, 1)})
    made.graph.output.add().CopyFrom(helper.make_tensor_value_info("table", TensorProto.FLOAT, TABLE.shape))
    result = fold(made, max_growth=7)  # the index goes: 24 bytes more and 16 less
    assert [d.code for d in result.diagnostics] == ["GI401"]
    assert "is past the budget of 7 bytes" in result.diagnostics[0].message
    assert len(fold(made, max_growth=8).applied) == 1


def test_what_is_constant_in_every_call_of_a_function() -> None:
    inner = [
        helper.make_node("Constant", [], ["t"], value=tensor("", TABLE)),
        helper.make_node("Constant", [], ["i"], value_ints=[1]),
        helper.make_node("Gather", ["t", "i"], ["g"], "inside"),
        helper.make_node("Add", ["a", "g"], ["out"]),
    ]
    made = model([helper.make_node("F", ["x"], ["y"], domain="local")], {"x": (F, [3])}, {"y": (F, None)}, {},
                 domains={"local": 1})  # fmt: skip
    made.functions.append(helper.make_function("local", "F", ["a"], ["out"], inner, [helper.make_opsetid("", 17)]))
    result = fold(made)
    assert [str(f.node) for f in result.applied] == ["F/inside"]
    assert [node.op_type for node in result.proto.functions[0].node] == ["Constant", "Add"]
    assert_same_outputs(made, result.proto, {"x": np.ones(3, np.float32)})


def test_an_attribute_of_the_call_is_no_constant() -> None:
    inner = [
        helper.make_node("Constant", [], ["t"], value=tensor("", TABLE)),
        helper.make_node("Constant", [], ["i"]),
        helper.make_node("Gather", ["t", "i"], ["out"], "inside"),
    ]
    inner[1].attribute.add(name="value_int", ref_attr_name="which", type=onnx.AttributeProto.INT)
    calls = [helper.make_node("F", [], [out], domain="local", which=i) for i, out in enumerate("yz")]
    made = model(calls, {}, {"y": (F, [3]), "z": (F, [3])}, {}, domains={"local": 1})
    opsets = [helper.make_opsetid("", 17)]
    made.functions.append(helper.make_function("local", "F", [], ["out"], inner, opsets, attributes=["which"]))
    result = fold(made)
    assert not result.applied
    assert_same_outputs(made, result.proto, {})


@pytest.mark.parametrize("flag", [True, False])
def test_in_the_branches_of_an_if(flag: bool) -> None:
    # the first branch reads a table from outside and its result is the branch's output; the second has its own
    then = body([gather("table", "index", "a")], {}, {"a": (F, [1, 3])}, {}, "then")
    other = body(
        [gather("own", "index", "b"), helper.make_node("Exp", ["b"], ["c"])], {}, {"c": (F, [1, 3])},
        {"own": -TABLE}, "else",
    )  # fmt: skip
    node = helper.make_node("If", ["flag"], ["y"], "branch", then_branch=then, else_branch=other)
    made = model([node], {"flag": (BOOL, [])}, {"y": (F, [1, 3])}, {"table": TABLE, "index": i64(2)})
    result = fold(made)
    assert {str(f.node) for f in result.applied} == {"branch/then_branch/make_a", "branch/else_branch/make_b"}
    branches = [a.g for a in result.proto.graph.node[0].attribute]
    assert sorted((ops(g), [t.name for t in g.initializer]) for g in branches) == [([], ["a"]), (["Exp"], ["b"])]
    assert names(result.proto) == []
    assert_same_outputs(made, result.proto, {"flag": np.array(flag)})


def test_in_the_body_of_a_loop() -> None:
    inner = body(
        [
            gather("table", "index", "row"),
            helper.make_node("Add", ["state", "row"], ["next"]),
            helper.make_node("Identity", ["cond"], ["go"]),
        ],
        {"i": (I64, []), "cond": (BOOL, []), "state": (F, [3])},
        {"go": (BOOL, []), "next": (F, [3])},
        {"index": i64(1)[0]},
        "body",
    )
    node = helper.make_node("Loop", ["trips", "", "x"], ["y"], "loop", body=inner)
    made = model([node], {"trips": (I64, []), "x": (F, [3])}, {"y": (F, [3])}, {"table": TABLE})
    result = fold(made)
    assert [str(f.node) for f in result.applied] == ["loop/body/make_row", "loop/body/Identity#2"]
    assert_same_outputs(made, result.proto, {"trips": np.array(3), "x": np.ones(3, np.float32)})


def test_an_output_of_a_loop_body() -> None:
    inner = body(
        [gather("table", "index", "row"), helper.make_node("Identity", ["cond"], ["go"])],
        {"i": (I64, []), "cond": (BOOL, [])},
        {"go": (BOOL, []), "row": (F, [3])},
        {"index": i64(1)[0]},
        "body",
    )
    node = helper.make_node("Loop", ["trips", "yes"], ["y"], "loop", body=inner)
    made = model([node], {"trips": (I64, [])}, {"y": (F, ["n", 3])}, {"table": TABLE, "yes": np.array(True)})
    result = fold(made)
    assert ops(result.proto.graph.node[0].attribute[0].g) == []
    assert_same_outputs(made, result.proto, {"trips": np.array(3)})


def test_an_inner_name_hides_an_outer_constant() -> None:
    then = body([gather("table", "pick", "a")], {}, {"a": (F, None)}, {}, "then")
    then.node.insert(0, helper.make_node("Identity", ["dynamic"], ["pick"]))
    other = body([gather("table", "outer", "b")], {}, {"b": (F, None)}, {}, "else")
    node = helper.make_node("If", ["flag"], ["y"], "branch", then_branch=then, else_branch=other)
    types: Any = {"flag": (BOOL, []), "dynamic": (I64, [1])}
    made = model([node], types, {"y": (F, None)}, {"table": TABLE, "outer": i64(2)})
    assert [str(f.node) for f in fold(made).applied] == ["branch/else_branch/make_b"]


def test_two_subgraphs_of_one_path_share_no_facts() -> None:
    # two nodes called `same`: what is known of one's body says nothing of the other's
    def branch(shape_of: str, name: str) -> onnx.GraphProto:
        nodes = [helper.make_node("Shape", [shape_of], ["s"]), gather("s", "zero", "d")]
        return body(nodes, {}, {"d": (I64, [1])}, {}, name)

    def node(shape_of: str, out: str) -> onnx.NodeProto:
        then, other = branch(shape_of, "then"), branch(shape_of, "else")
        return helper.make_node("If", ["flag"], [out], "same", then_branch=then, else_branch=other)

    types: Any = {"flag": (BOOL, []), "five": (F, [5]), "open": (F, ["N"])}
    made = model([node("open", "a"), node("five", "b")], types, {"a": (I64, [1]), "b": (I64, [1])}, {"zero": i64(0)})
    result = fold(made)
    feeds = {"flag": np.array(True), "five": np.ones(5, np.float32), "open": np.ones(2, np.float32)}
    assert [str(f.node) for f in result.applied] == ["same#1"]  # both of its branches give 5
    made.graph.node[1].name = "other"  # onnxruntime refuses what the format allows
    assert_same_outputs(made, result.proto, feeds)


def everything() -> ModelProto:
    """A model with whatever a rewrite could lose."""
    nodes = [
        gather("table", "index", "row", "folds"),
        helper.make_node("Add", ["x", "row"], ["sum"], "stays", doc_string="of a node"),
        helper.make_node("Twice", ["sum"], ["y"], domain="local"),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "over"], ["z"], "dynamic"),
    ]
    made = model(
        nodes,
        {"x": (F, ["batch", 3]), "unused_input": (F, ["anything"]), "over": (I64, [1])},
        {"y": (F, ["batch", 3]), "z": (I64, [1])},
        {
            "table": TABLE,
            "index": i64(2)[0],
            "over": i64(1),
            "unused": i64(5),
            "scale": np.ones(1, np.float32),
            "zero": i64(0),
        },
        domains={"local": 1, "com.example.unused": 3},
    )
    twice = helper.make_node("Add", ["a", "a"], ["b"])
    made.functions.append(helper.make_function("local", "Twice", ["a"], ["b"], [twice], [helper.make_opsetid("", 17)]))
    made.metadata_props.add(key="author", value="somebody")
    made.graph.metadata_props.add(key="of the graph", value="1")
    made.doc_string, made.graph.doc_string = "of the model", "of the graph"
    made.graph.input[0].doc_string = "of an input"
    made.producer_name, made.producer_version, made.model_version = "p", "1", 4
    made.graph.value_info.append(helper.make_tensor_value_info("sum", F, ["batch", 3]))
    made.graph.node[1].metadata_props.add(key="of a node", value="1")
    annotation = made.graph.quantization_annotation.add(tensor_name="sum")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="zero")
    made.MergeFromString(b"\xfa\x3f\x03abc")  # field 1023, of a later version of ONNX
    return made


def test_everything_else_stays() -> None:
    made = everything()
    before = made.SerializeToString()
    result = fold(made)
    assert made.SerializeToString() == before, "the argument is not changed"
    expected = ModelProto.FromString(before)
    del expected.graph.node[0]
    kept = [t for t in expected.graph.initializer if t.name not in ("table", "index")]
    del expected.graph.initializer[:]
    expected.graph.initializer.extend([*kept, tensor("row", TABLE[2])])
    assert result.proto.SerializeToString() == expected.SerializeToString()
    feeds = {"x": np.ones((2, 3), np.float32), "unused_input": np.ones(1, np.float32), "over": i64(0)}
    assert_same_outputs(made, result.proto, feeds)


def test_an_annotated_initializer_stays() -> None:
    made = everything()
    made.graph.quantization_annotation[0].quant_parameter_tensor_names[0].value = "table"
    assert "table" in names(fold(made).proto)


def test_what_training_writes_is_no_constant() -> None:
    made = everything()
    info = made.training_info.add()
    info.algorithm.CopyFrom(body([helper.make_node("Neg", ["table"], ["step"])], {}, {"step": (F, None)}))
    info.update_binding.add(key="table", value="step")
    result = fold(made)
    assert not result.applied
    assert result.proto == made


def test_integers_that_training_writes_are_no_constant() -> None:
    made = model([gather("steps", "zero", "y")], {}, {"y": (I64, [1])}, {"steps": i64(5, 6), "zero": i64(0)})
    info = made.training_info.add()
    info.algorithm.CopyFrom(body([helper.make_node("Neg", ["steps"], ["next"])], {}, {"next": (I64, None)}))
    info.update_binding.add(key="steps", value="next")
    assert not fold(made).applied


def test_nothing_to_fold_copies_the_file(tmp_path: Path) -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (F, ["N"])}, {"y": (F, ["N"])})
    path = tmp_path / "in.onnx"
    path.write_bytes(made.SerializeToString())
    report = fold(path).save(tmp_path / "out.onnx")
    assert report.verbatim
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def test_large_weights_are_mapped_and_come_out_again(tmp_path: Path) -> None:
    table = np.random.default_rng(0).random((1000, 100), np.float32)
    nodes = [gather("table", "index", "rows"), helper.make_node("Pow", ["rows", "big"], ["y"])]
    held = {"table": table, "index": i64(999, 0), "big": table[:2] * 2}
    made = model(nodes, {}, {"y": (F, None)}, held)
    made.graph.initializer.append(tensor("other", table))
    path = tmp_path / "in.onnx"
    path.write_bytes(made.SerializeToString())
    fold(path).save(tmp_path / "out.onnx")
    after = onnx.load(tmp_path / "out.onnx")
    assert names(after) == ["big", "other", "rows"]
    assert after.graph.initializer[1].raw_data == table.tobytes()
    assert_same_outputs(made, after, {})


def test_a_graphsurgeon_graph_in_and_out() -> None:
    nodes = [gather("table", "index", "row"), helper.make_node("Add", ["x", "row"], ["y"])]
    made = model(nodes, {"x": (F, [3])}, {"y": (F, [3])}, {"table": TABLE, "index": i64(2)[0]})
    given = gs.import_onnx(made)
    result = fold(given)
    assert isinstance(result.model, gs.Graph)
    assert [n.op for n in result.model.nodes] == ["Add"]
    assert [n.op for n in given.nodes] == ["Gather", "Add"]


def test_a_name_defined_twice_is_refused() -> None:
    nodes = [gather("table", "index", "y"), helper.make_node("Relu", ["table"], ["y"])]
    made = model(nodes, {}, {"y": (F, None)}, {"table": TABLE, "index": i64(2)})
    with pytest.raises(ModelStructureError, match="y is defined 2 times"):
        fold(made)


def test_a_cycle_is_refused() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    made = model(nodes, {"x": (F, [1])}, {"b": (F, None)})
    with pytest.raises(ModelStructureError, match="cycle"):
        fold(made)


def test_a_negative_budget_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="max_growth must be >= 0, is -1"):
        fold(model([], {}, {}), max_growth=-1)


def test_the_bytes_of_all_constants_are_counted() -> None:
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]> g (float[N] x, bool b) => (float[K] y) <float[3] w = {1, 2, 3}> {
            c = Constant<value = float[2] {1, 2}>()
            y = If (b) <
                then_branch = t () => (float[A] p) <float[4] d = {1, 2, 3, 4}> { p = Concat<axis = 0>(x, d) },
                else_branch = e () => (float[D] q) { q = Concat<axis = 0>(x, w, c) }> }"""
    )
    assert fold(made).before.weight_bytes == 4 * (3 + 2 + 4)
