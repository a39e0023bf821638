"""Freezing to bounds and relations: they are recorded in the model, and hold when it is read again."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from gather_infer import UsageError, convert, fold, freeze, infer
from gather_infer.inference.constraints.persisted import KEY
from tests.passes.folding_models import assert_same_outputs, i64, model, run
from tests.passes.freezing_models import declared, recorded, shaped, simple, three

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def test_bounds_and_relations_are_recorded_and_read_back() -> None:
    made = model(
        [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)],
        {"x": (F, ["past", 3]), "w": (F, ["seq", 3]), "mask": (F, ["total"])},
        {"y": (F, ["all", 3])},
    )
    made.metadata_props.add(key="author", value="somebody")
    result = freeze(made, dims=["seq=1..512", "total=past+seq"])
    assert recorded(result.proto) == [("author", "somebody"), (KEY, "seq=1..512; total=past+seq")]
    assert declared(result.proto) == declared(made)
    again = infer(result.proto)
    assert [str(s) for s in again.persisted_constraints] == ["total=past+seq", "seq=1..512"]
    assert str(again["mask"]) == "float32[past + seq]"
    # said again, nothing changes; said otherwise, both hold, in one entry
    assert freeze(result.proto, dims=["total=past+seq", "seq=1..512"]).proto == result.proto
    narrower = freeze(result.proto, dims=["seq=0..64"])
    assert recorded(narrower.proto)[1] == (KEY, "seq=1..64; total=past+seq")
    sized = freeze(result.proto, dims=["seq=4"])
    assert recorded(sized.proto)[1] == (KEY, "total=past+4")
    assert declared(sized.proto)["mask"] == ["total"]
    static = freeze(sized.proto, dims=["past=2"])
    assert recorded(static.proto) == [("author", "somebody")]
    assert declared(static.proto) == {"x": [2, 3], "w": [4, 3], "mask": [6], "y": [6, 3]}
    for dims in (["seq=600"], ["seq=513.."], ["total=0"]):
        with pytest.raises(UsageError):
            freeze(result.proto, dims=dims)


def test_a_relation_of_a_dim_that_gets_a_size_goes_on_holding() -> None:
    made = model(
        [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)],
        {"x": (F, ["past", 3]), "w": (F, ["seq", 3]), "mask": (F, ["total"])},
        {"y": (F, ["all", 3])},
    )
    related = freeze(made, dims=["total=past+seq"]).proto
    result = freeze(related, dims=["total=8"])
    assert recorded(result.proto) == [(KEY, "past+seq=8")]
    assert declared(result.proto)["mask"] == [8]
    with pytest.raises(UsageError):
        infer(result.proto, dims=["past=9"])
    assert declared(freeze(result.proto, dims=["past=3"]).proto) == {"x": [3, 3], "w": [5, 3], "mask": [8], "y": [8, 3]}


def test_names_in_an_expression_that_no_input_has_alone() -> None:
    made = shaped(simple(), ["N", "M"], ["N", "M"])
    result = freeze(made, inputs=["x=[2*k, 3]"])
    assert declared(result.proto)["x"] == ["2*k", 3]
    assert recorded(result.proto) == [(KEY, "'2*k'=2*k")]
    assert str(infer(result.proto)["y"]) == "float32[2*k, 3]"
    assert infer(result.proto).diagnostics == ()
    assert declared(freeze(result.proto, dims=["k=2"]).proto)["x"] == [4, 3]


def test_bounds_are_recorded_with_relations() -> None:
    once = freeze(three(), dims={"N": "max(T,M)"}).proto
    both = freeze(once, dims=["M=4..7", "N=1..9"]).proto
    assert recorded(both) == [(KEY, "M=4..7; N=1..9; N=max(M,T)")]
    assert freeze(both, dims=["M=4..7", "N=1..9"]).proto == both
    with pytest.raises(UsageError):
        infer(both, dims=["T=10"])


def test_a_relation_and_a_shape_of_one_dim_both_hold() -> None:
    result = freeze(three(), dims=["T=N+1"], inputs=["m=[2*a]", "w=[a]"])
    assert declared(result.proto) == {"x": ["N"], "w": ["a"], "m": ["2*a"], "y": ["Y"]}
    assert recorded(result.proto) == [(KEY, "N+1=2*a")]
    assert declared(freeze(result.proto, dims=["a=2"]).proto) == {"x": [3], "w": [2], "m": [4], "y": [3]}


def test_what_a_file_cannot_say_is_refused() -> None:
    related = freeze(three(), dims=["M=T%2"]).proto
    with pytest.raises(UsageError, match=r"a file cannot express the given constraints: .* unknown name 'a'"):
        freeze(related, inputs=["w=[2*a]"], dims=["N=M+T"])


def test_odd_names() -> None:
    made = shaped(simple(), ["batch; size", "a=b"], None)
    result = freeze(made, dims={"batch; size": (1, 8), "a=b": "2..9"})
    assert recorded(result.proto) == [(KEY, "'a=b'=2..9; 'batch; size'=1..8")]
    assert {str(s) for s in infer(result.proto).persisted_constraints} == {"'a=b'=2..9", "'batch; size'=1..8"}
    with pytest.raises(UsageError):
        infer(result.proto, dims={"a=b": 1})


DOUBTS = {
    # value: what the finding says
    "seq": "an entry must read DIM=LOW..HIGH or DIM=DIM, found 'seq'",
    "N=": "expected a number, a name",
    "N=1..2..3": "expected",
    "N=x": "unknown name 'x'",
    "L=1..4": "unknown name 'L'",
    "3=N": "expected a dim with a name in it",
    "N=5..1": "no size is in the bounds N=5..1",
    "N=1..4; N=5..9": "none of it in the bounds",
    "N=M; N=M+1": "holds for no sizes",
    "{" * 70000: "the limit is",
}


@pytest.mark.parametrize("value", DOUBTS, ids=lambda value: value[:20])
def test_what_cannot_be_used_of_the_record_is_a_warning(value: str) -> None:
    made = simple()
    made.metadata_props.add(key=KEY, value=value)
    inference = infer(made)
    assert {(d.code, str(d.severity)) for d in inference.diagnostics} == {("GI111", "warning")}
    assert any(DOUBTS[value] in d.message for d in inference.diagnostics)
    assert str(inference["y"]) == "float32[N, M]"
    assert freeze(made).proto == made


def test_a_usable_entry_next_to_an_unusable_one() -> None:
    made = simple()
    made.metadata_props.add(key=KEY, value="L=1..4;N=2..9")
    assert [str(s) for s in infer(made).persisted_constraints] == ["N=2..9"]
    assert recorded(freeze(made, dims=["M=3"]).proto) == [(KEY, "L=1..4;N=2..9")]
    assert recorded(freeze(made, dims=["N=3"]).proto) == []


def test_a_range_is_recorded_only_where_something_rests_on_it() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Min", ["s", "four"], ["m"]),
        helper.make_node("Gather", ["m", "zero"], ["y"], "pick"),
    ]
    held = {"four": i64(4), "zero": i64(0)}
    made = model(nodes, {"x": (F, ["N", 7])}, {"y": (I64, [1])}, held)
    assert fold(made, dims=["N=1..9"]).proto == made
    result = fold(made, dims=["N=4..9"])
    assert "y" in [f.name for f in result.applied]
    assert recorded(result.proto) == [(KEY, "N=4..9")]
    assert_same_outputs(made, result.proto, {"x": np.zeros((5, 7), np.float32)})
    annotated = infer(made, dims=["N=4..9"]).annotated()
    assert recorded(annotated) == [(KEY, "N=4..9")]
    assert infer(annotated).annotated() == annotated


def test_a_conversion_declares_what_its_proof_rests_on() -> None:
    nodes = [helper.make_node("Gather", ["x", "i", "axis"], ["y"], "pick", domain="openvino.opset8")]
    held = {"i": np.array([3], np.int32), "axis": np.array(0)}
    made = model(nodes, {"x": (F, ["N"])}, {"y": (F, [1])}, held, domains={"openvino.opset8": 1})
    result = convert(made, dims=["N=4..9"])
    assert recorded(result.proto) == [(KEY, "N=4..9")]
    result = convert(made, dims=["N=4"])
    assert declared(result.proto)["x"] == [4]
    (y,) = run(result.proto, {"x": np.arange(4, dtype=np.float32)})
    assert y.tolist() == [3.0]
