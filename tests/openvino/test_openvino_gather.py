"""OpenVINO-style Gathers in ONNX files: what is converted, and what is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, checker, helper

from gather_infer.domains import NEWEST_OPENVINO
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.inference import infer
from gather_infer.openvino import convert
from gather_infer.validate import VerdictKind, verdicts
from tests.passes.folding_models import assert_same_outputs, body, i64, model, ops, run, tensor
from tests.passes.test_fold import everything

F, I64 = TensorProto.FLOAT, TensorProto.INT64
DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
FIRST_AND_LAST = i64(0, -1)


def gather_model(
    indices: np.ndarray | int = FIRST_AND_LAST,
    axis: Any = 1,
    *,
    domain: str = "openvino.opset8",
    version: int = 1,
    data: np.ndarray = DATA,
    opset: int | None = 17,
    **attributes: Any,
) -> ModelProto:
    """Gather of a constant table; `indices` as an element type makes them an input of the model."""
    node = helper.make_node("Gather", ["data", "indices", "axis"], ["out"], "g", domain=domain, **attributes)
    inputs = {} if isinstance(indices, np.ndarray) else {"indices": (indices, ["N"])}
    held = {"data": data, "axis": np.asarray(axis, np.int64)}
    if isinstance(indices, np.ndarray):
        held["indices"] = indices
    made = model([node], inputs, {"out": (helper.np_dtype_to_tensor_dtype(data.dtype), None)}, held)
    del made.opset_import[:]
    if opset is not None:
        made.opset_import.append(helper.make_opsetid("", opset))
    if domain:
        made.opset_import.append(helper.make_opsetid(domain, version))
    return made


@pytest.mark.parametrize("domain", ["openvino.opset8", "openvino.opset15", "openvino", "org.openvinotoolkit", ""])
def test_a_constant_gather_of_every_domain(domain: str) -> None:
    version = 15 if domain == "openvino.opset15" else 8 if domain else NEWEST_OPENVINO
    result = convert(gather_model(i64(0, 2), domain=domain, version=8))
    (node,) = result.proto.graph.node
    assert (node.domain, node.op_type, list(node.input)) == ("", "Gather", ["data", "indices"])
    assert [(a.name, a.i) for a in node.attribute] == [("axis", 1)]
    assert [o.domain for o in result.proto.opset_import] == [""]
    assert [t.name for t in result.proto.graph.initializer] == ["data", "indices"]
    assert [(str(c.node), c.version, c.operators, c.indices) for c in result.converted] == [
        ("g", version, ("Gather",), "proved")
    ]
    assert (run(result.proto, {})[0] == DATA[:, [0, 2]]).all()


@pytest.mark.parametrize("axis", [-1, [2], 2, [-1]])
def test_forms_of_the_axis(axis: Any) -> None:
    result = convert(gather_model(i64(3, -4), axis))
    assert [(a.name, a.i) for a in result.proto.graph.node[0].attribute] == [("axis", 2)]
    assert (run(result.proto, {})[0] == DATA[..., [3, -4]]).all()


def test_the_axis_may_be_a_constant_node_that_others_read() -> None:
    axis = helper.make_node("Constant", [], ["axis"], value=tensor("", i64(0)))
    first = helper.make_node("Gather", ["data", "indices", "axis"], ["a"], "first", domain="openvino.opset8")
    second = helper.make_node("Gather", ["data", "indices", "axis"], ["b"], "second", domain="openvino.opset8")
    held = {"data": DATA, "indices": i64(1)}
    shared = model([axis, first, second], {}, {"a": (F, None), "b": (F, None)}, held, domains={"openvino.opset8": 1})
    assert ops(convert(shared).proto.graph) == ["Gather", "Gather"]
    read = model([axis, first], {}, {"a": (F, None), "axis": (I64, [1])}, held, domains={"openvino.opset8": 1})
    assert ops(convert(read).proto.graph) == ["Constant", "Gather"]


def test_an_axis_constant_is_removed_with_its_gather() -> None:
    made = gather_model()
    held = {t.name: t for t in made.graph.initializer}
    held["axis"].CopyFrom(tensor("one", np.zeros(1, np.float32)))
    made.graph.node.insert(0, helper.make_node("Size", ["one"], ["axis"], "size"))
    after = convert(made).proto
    assert ops(after.graph) == ["Gather"]
    assert {t.name for t in after.graph.initializer} == {"data", "indices"}
    assert (run(after, {})[0] == DATA[:, [0, -1]]).all()


def test_an_axis_that_is_an_input_too_goes_where_nobody_can_feed_it() -> None:
    """Before IR version 4 every initializer is an input; onnxruntime takes it for a constant."""
    made = gather_model(i64(0, 2), opset=8)
    made.ir_version = 3
    for t in made.graph.initializer:
        made.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
    after = convert(made).proto
    assert [v.name for v in after.graph.input] == [t.name for t in after.graph.initializer] == ["data", "indices"]
    assert (run(after, {})[0] == DATA[:, [0, 2]]).all()
    made.ir_version = 8
    after = convert(made, initializers_as_constants=True).proto
    assert not after.graph.input and (run(after, {})[0] == DATA[:, [0, 2]]).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64])
def test_other_index_types_are_cast(dtype: type) -> None:
    result = convert(gather_model(np.array([0, 2], dtype)))
    assert ops(result.proto.graph) == ["Cast", "Gather"]
    assert result.converted[0].operators == ("Cast", "Gather")
    assert (run(result.proto, {})[0] == DATA[:, [0, 2]]).all()


def test_a_model_without_onnx_opset_gets_one() -> None:
    result = convert(gather_model(i64(0, 2), opset=None))
    assert [(o.domain, o.version) for o in result.proto.opset_import] == [("", 21)]
    assert (run(result.proto, {})[0] == DATA[:, [0, 2]]).all()


REFUSED: dict[str, Any] = {
    # id: (arguments of gather_model, reason under "refuse")
    "axis out of range": ({"axis": 3}, r"axis = 3 is outside \[-3, 2\]"),
    "two axes": ({"axis": [0, 1]}, "axis must have one element, has 2"),
    "out of bounds": ({"indices": i64(3)}, r"index 3 is outside \[-3, 2\]: OpenVINO gives zeros, ONNX fails"),
    "far negative": ({"indices": i64(-4)}, r"index -4 is outside \[-3, 2\]"),
    "negative, Gather-1": (
        {"indices": i64(-1), "domain": "openvino.opset1"},
        "indices are not known to be in bounds: index -1 is negative, which Gather defines from version 8 on",
    ),
    "negative, Gather-7": (
        {"indices": i64(-1), "domain": "openvino.opset7"},
        "indices are not known to be in bounds: index -1 is negative, which Gather defines from version 8 on",
    ),
    "not proved": ({"indices": I64}, "indices are in bounds only for -3 <= indices < 3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_on_request(case: str) -> None:
    arguments, reason = REFUSED[case]
    with pytest.raises(ConversionRefused, match=rf"Gather-\d+, g: {reason}"):
        convert(gather_model(**arguments), gather_oob="refuse")


def test_declared_dims_prove() -> None:
    """By the length of an input, which declared bounds keep within the axis."""
    made = gather_model(I64)
    made.graph.node.insert(0, helper.make_node("Shape", ["indices"], ["length"]))
    made.graph.node[-1].input[1] = "length"
    with pytest.raises(ConversionRefused, match="only for N <= 2: index N, the axis has 3 rows"):
        convert(made, gather_oob="refuse")
    (converted,) = convert(made, dims={"N": (0, 2)}, gather_oob="refuse").converted
    assert converted.indices == "proved"


def test_a_refusal_states_what_is_known() -> None:
    made = gather_model(I64)
    made.graph.node.insert(0, helper.make_node("NonZero", ["indices"], ["found"]))
    made.graph.node[-1].input[1] = "found"
    with pytest.raises(ConversionRefused, match="indices are in bounds for N <= 3: "):
        convert(made, gather_oob="refuse")


@pytest.mark.parametrize("case", ["out of bounds", "far negative"])
def test_what_is_known_to_be_wrong_is_not_assumed_valid(case: str) -> None:
    with pytest.raises(ConversionRefused):
        convert(gather_model(**REFUSED[case][0]), gather_oob="assume-valid")


GUARDED: dict[str, Any] = {
    # id: (dims of data, of indices, axis, attributes)
    "an axis with rows": ([10, 4], ["N"], 0, {}),
    "an axis that may have none": (["V", 4], ["N"], 0, {}),
    "the last axis": (["V", 4], ["N"], -1, {}),
    "batch dims": ([2, 5, 4], [2, "N"], 1, {"batch_dims": 1}),
    "batch dims, no rows": ([2, "V", 4], [2, "N"], 1, {"batch_dims": -1}),
    "an axis behind the batch dims": (["B", 3, 5, 4], ["B", "N"], 2, {"batch_dims": 1}),
}


@pytest.mark.parametrize("case", GUARDED)
def test_a_guard_is_proved_to_hold(case: str) -> None:
    """The gathers that stand for a guarded one are in bounds for whatever indices."""
    dims, picked, axis, attributes = GUARDED[case]
    node = helper.make_node("Gather", ["data", "indices", "axis"], ["y"], "g", domain="openvino.opset8", **attributes)
    types = {"data": (F, dims), "indices": (I64, picked)}
    made = model([node], types, {"y": (F, None)}, {"axis": np.array(axis)}, domains={"openvino.opset8": 8})
    result = convert(made)
    assert [c.indices for c in result.converted] == ["guarded"]
    assert {verdict.kind for verdict in verdicts(infer(result.proto))} == {VerdictKind.PROVED}


OLD = [(opset, domain) for opset in (9, 10, 11, 12, 13, 15, 17) for domain in ("openvino.opset1", "openvino.opset8")]


@pytest.mark.parametrize(("opset", "domain"), OLD)
def test_a_guard_at_every_opset(opset: int, domain: str) -> None:
    """Zeros for an index out of bounds; a negative one counts from the end in Gather-8 and is out of bounds before."""
    indices = i64(0, 2, 3, -1, -3, -4)
    expected = DATA[:, [0, 2, 0, 2, 0, 0]]
    expected[:, [2, 5] if domain.endswith("8") else [2, 3, 4, 5]] = 0
    made = gather_model(I64, domain=domain, opset=opset)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("out", F, [2, None, 4]))
    result = convert(made)
    assert [c.indices for c in result.converted] == ["guarded"]
    assert [o.version for o in result.proto.opset_import] == [opset]
    checker.check_model(result.proto, full_check=True)
    assert (run(result.proto, {"indices": indices})[0] == expected).all()


@pytest.mark.parametrize("opset", [9, 10, 11, 13])
def test_negative_indices_that_are_in_bounds_at_every_opset(opset: int) -> None:
    result = convert(gather_model(i64(0, -1, -3), opset=opset))
    assert [c.indices for c in result.converted] == ["proved"]
    assert (run(result.proto, {})[0] == DATA[:, [0, -1, -3]]).all()


@pytest.mark.parametrize("opset", [12, 13, 17])
def test_batch_dims(opset: int) -> None:
    indices = np.array([[0, 2, 5], [-1, 1, -9]])
    made = gather_model(indices, batch_dims=1, opset=opset)
    expected = np.stack([DATA[0][[0, 2, 0]], DATA[1][[-1, 1, 0]]])
    expected[[0, 1], [2, 2]] = 0
    assert (run(convert(made).proto, {})[0] == expected).all()


NEEDS: dict[str, Any] = {
    # id: (arguments of gather_model, what is needed)
    "a guard": ({"indices": I64, "opset": 8}, "an index that may be out of bounds needs opset 9, the result has 8"),
    "batch dims": ({"batch_dims": 1, "opset": 11, "indices": np.array([[0], [1]])}, "batch_dims = 1 needs opset 12"),
}


@pytest.mark.parametrize("case", NEEDS)
def test_what_an_old_opset_cannot_say(case: str) -> None:
    arguments, reason = NEEDS[case]
    with pytest.raises(ConversionRefused, match=reason):
        convert(gather_model(**arguments))


def test_an_onnx_file_preserves_its_opset() -> None:
    with pytest.raises(UsageError, match="opset = 21: <model> is ONNX of opset 17, which convert does not change"):
        convert(gather_model(), opset=21)


def test_bfloat16_needs_its_opset() -> None:
    made = gather_model(i64(0), opset=12)
    made.graph.initializer[0].CopyFrom(helper.make_tensor("data", TensorProto.BFLOAT16, [2, 3, 1], [1.0] * 6))
    with pytest.raises(ConversionRefused, match="bfloat16 needs opset 13, the result has 12"):
        convert(made)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_an_axis_that_is_an_input(axis: int) -> None:
    made = gather_model(I64)
    del made.graph.initializer[1]
    made.graph.input.append(helper.make_tensor_value_info("axis", I64, []))
    found = run(convert(made).proto, {"indices": i64(0, -1, 9), "axis": np.array(axis)})[0]
    expected = np.take(DATA, [0, -1, 0], axis)
    np.moveaxis(expected, axis, 0)[2] = 0
    assert (found == expected).all()


def test_everything_refused_is_named_at_once() -> None:
    made = gather_model(I64)
    for name in ("first", "second"):
        made.graph.node.append(helper.make_node("Unheard", ["data"], [name], name, domain="openvino.opset8"))
    made.graph.node.append(
        helper.make_node("Gather", ["data", "indices", "axis"], ["t"], "h", domain="openvino.opset8", batch_dims=3)
    )
    with pytest.raises(ConversionRefused) as error:
        convert(made, gather_oob="refuse")
    lines = str(error.value).split("\n")
    assert "4 nodes cannot be converted; --gather-oob guard converts 1 of them" in lines[0]
    assert [line.split(": ")[0].strip() for line in lines[1:]] == [
        "Gather-8, g", "Unheard-8, 2 nodes, first first", "Gather-8, h"
    ]  # fmt: skip


def test_what_has_no_counterpart_is_kept_on_request() -> None:
    made = gather_model(i64(0))
    made.graph.node.append(helper.make_node("Unheard", ["data"], ["s"], "strange", domain="openvino.opset8"))
    result = convert(made, keep_unsupported=True)
    assert ops(result.proto.graph) == ["Gather", "Unheard"]
    assert [(str(k.node), k.op_type, k.version, k.reason) for k in result.kept] == [
        ("strange", "Unheard", 8, "it has no lowering")
    ]
    assert {o.domain for o in result.proto.opset_import} == {"", "openvino.opset8"}


def test_assume_valid_lists_what_it_assumed() -> None:
    result = convert(gather_model(I64), gather_oob="assume-valid")
    assert [c.indices for c in result.converted] == ["assumed"]
    assert ops(result.proto.graph) == ["Gather"]
    indices = i64(2, -3)
    assert (run(result.proto, {"indices": indices})[0] == DATA[:, indices]).all()


def test_indices_proved_by_their_span_are_converted() -> None:
    # ArgMax over an axis of length V gathers from an axis of length V, V unknown
    nodes = [
        helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        helper.make_node("Gather", ["x", "best", "axis"], ["out"], "g", domain="openvino.opset7"),
    ]
    types = {"x": (F, ["N", "V"])}
    made = model(nodes, types, {"out": (F, None)}, {"axis": i64(1)}, domains={"openvino.opset7": 1})
    result = convert(made)
    assert [c.indices for c in result.converted] == ["proved"]
    x = np.random.default_rng(0).random((3, 5), np.float32)
    assert (run(result.proto, {"x": x})[0] == x[:, x.argmax(1)]).all()


def test_in_a_subgraph() -> None:
    inner = helper.make_node("Gather", ["data", "indices", "axis"], ["y"], "g", domain="openvino.opset8")
    then = body([inner], {}, {"y": (F, None)}, {"axis": i64(1)}, "then")
    other = body([helper.make_node("Identity", ["rest"], ["z"])], {}, {"z": (F, None)}, {}, "else")
    node = helper.make_node("If", ["flag"], ["out"], "branch", then_branch=then, else_branch=other)
    held = {"data": DATA, "indices": i64(0, 2), "rest": DATA[:, :2]}
    made = model([node], {"flag": (TensorProto.BOOL, [])}, {"out": (F, None)}, held, domains={"openvino.opset8": 1})
    result = convert(made)
    assert [str(c.node) for c in result.converted] == ["branch/then_branch/g"]
    assert (run(result.proto, {"flag": np.array(True)})[0] == DATA[:, [0, 2]]).all()


def test_a_node_in_a_function_is_refused() -> None:
    made = gather_model(i64(0))
    node = helper.make_node("Gather", ["a", "b", "c"], ["d"], "inside", domain="openvino.opset8")
    made.functions.append(
        helper.make_function("local", "F", ["a", "b", "c"], ["d"], [node], [helper.make_opsetid("openvino.opset8", 1)])
    )
    with pytest.raises(ConversionRefused, match=r"Gather-8, F/inside: it is in a function"):
        convert(made)


def test_a_local_function_that_is_called_gather_is_not_openvino_s() -> None:
    made = gather_model(i64(0), domain="openvino")
    inner, imports = helper.make_node("Identity", ["a"], ["d"]), [helper.make_opsetid("", 17)]
    made.functions.append(helper.make_function("openvino", "Gather", ["a", "b", "c"], ["d"], [inner], imports))
    result = convert(made)
    assert not result.converted
    assert result.proto == made


def test_everything_else_stays() -> None:
    made = everything()
    node = made.graph.node[0]
    node.domain, node.doc_string = "openvino.opset8", "kept"
    node.input.append("axis")
    made.graph.initializer.append(tensor("axis", i64(0)[0]))
    made.opset_import.add(domain="openvino.opset8", version=1)
    before = made.SerializeToString()
    result = convert(made)
    assert made.SerializeToString() == before, "the argument is not changed"
    expected = everything()
    expected.graph.node[0].doc_string = "kept"
    expected.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
    assert result.proto.SerializeToString() == expected.SerializeToString()
    feeds = {"x": np.ones((2, 3), np.float32), "unused_input": np.ones(1, np.float32)}
    assert_same_outputs(everything(), result.proto, feeds)


def test_a_model_without_openvino_nodes_stays_as_it_is() -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (F, ["N"])}, {"y": (F, ["N"])})
    result = convert(made)
    assert result.proto == made
    assert not len(result.journal)


def test_an_unknown_choice_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="gather_oob is one of guard, assume-valid, refuse, not 'maybe'"):
        convert(gather_model(), gather_oob="maybe")  # type: ignore[arg-type]  # what callers without types may say
