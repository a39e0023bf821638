"""Types that are taken from the file as they are declared: each is listed, once, and only where it is taken."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import infer
from gather_infer.catalog.family import is_gather
from gather_infer.explanation import explain
from gather_infer.report import (
    ExplanationReport,
    InferenceReport,
    explanation_text,
    inference_json,
    inference_text,
    summarize,
)
from gather_infer.report.explain import explanation_json
from tests.inference.models import model

DOMAINS = ', "local" : 1'
UNKNOWN = model("(float[n] x) => (y) { z = local.Mystery (x) y = Relu (z) }", domains=DOMAINS)


def stating(proto: onnx.ModelProto, *infos: onnx.ValueInfoProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    copy.graph.value_info.extend(infos)
    return copy


Z = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["k", 3])
BELIEVING = stating(UNKNOWN, Z)


def believed(proto: onnx.ModelProto) -> list[str]:
    return list(map(str, infer(proto).trusted_annotations))


def test_an_operator_that_is_not_known() -> None:
    (belief,) = infer(BELIEVING).trusted_annotations
    assert (belief.value, belief.graph, str(belief.node), str(belief.type)) == ("z", "", "Mystery#0", "float32[k, 3]")
    assert believed(UNKNOWN) == []


def test_what_is_inferred_is_not_believed() -> None:
    """Neither what agrees, nor what contradicts, nor what says less."""
    proto = model("(float[n] x) => (y) { z = Neg (x) y = Relu (z) }")
    stated: tuple[list[Any] | None, ...] = (["n"], ["k"], [3], ["n", 2], None)
    for dims in stated:
        assert believed(stating(proto, helper.make_tensor_value_info("z", TensorProto.FLOAT, dims))) == []


def test_a_node_that_breaks_its_specification() -> None:
    proto = model("(float[2, 3] x) => (y) { z = MatMul (x, x) y = Relu (z) }")
    assert believed(stating(proto, Z)) == ["z is float32[k, 3] (node MatMul#0)"]


def test_a_declared_output_and_the_rank_alone() -> None:
    proto = model("(float[n] x) => (float[k] z) { z = local.Mystery (x) }", domains=DOMAINS)
    assert believed(proto) == ["z is float32[k] (node Mystery#0)"]
    proto = model("(float x) => (y) { z = Relu (x) y = Neg (z) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert believed(stating(proto, Z)) == ["z is float32[k, 3] (node Relu#0)"]


BODIES: dict[str, Any] = {
    "If": """(float[n] x, bool c) => (y) { [at] y = If (c) <
        then_branch = a () => (float[k] t) { t = local.Mystery (x) },
        else_branch = b () => (float[n] e) { e = Neg (x) }> }""",
    "Loop": """(float[n] x, int64 trips) => (y) { [at] y = Loop (trips, , x) <
        body = l (int64 i, bool more, float[p] s) => (bool again, float[q] next) {
            again = Identity (more) t = Concat <axis = 0> (s, s) next = local.Mystery (t) }> }""",
    "Scan": """(float[n] x, float[m, 3] w) => (y) { [at] y = Scan <num_scan_inputs = 1,
        body = l (float[p] s, float[3] r) => (float[q] next) { t = Concat <axis = 0> (s, r) next = local.Mystery (t) }> (x, w) }""",
    "dead": """(float[n] x) => (y) <bool c = {0}> { [at] y = If (c) <
        then_branch = a () => (float[k] t) { t = local.Mystery (x) },
        else_branch = b () => (float[n] e) { e = Neg (x) }> }""",
}  # fmt: skip
WHERE: dict[str, Any] = {"If": ["at/then_branch"], "Loop": ["at/body"], "Scan": ["at/body"], "dead": []}


@pytest.mark.parametrize("kind", BODIES)
def test_bodies_interpreted_more_than_once_list_it_once(kind: str) -> None:
    inference = infer(model(BODIES[kind], domains=DOMAINS))
    assert [b.graph for b in inference.trusted_annotations] == WHERE[kind]


def test_reports() -> None:
    inference = infer(BELIEVING)
    summary = summarize(BELIEVING, name="m.onnx", nbytes=0, is_gather=is_gather)
    assert "  1 type trusted as the file declares it: --constraints" in inference_text(
        InferenceReport(inference, summary)
    )
    listed = inference_text(InferenceReport(inference, summary, constraints=True))
    assert listed[listed.index("  1 type trusted as the file declares it:") + 1] == (
        "    z is float32[k, 3] (node Mystery#0)"
    )
    written: Any = inference_json(InferenceReport(inference, summary))
    (found,) = written["trusted_annotations"]
    assert (found["name"], found["scope"], found["node"], found["shape"]) == ("z", "", "Mystery#0", ["k", 3])
    why = explain(BELIEVING, "y")
    assert [b.value for b in why.trusted_annotations] == ["z"]
    assert "    z is float32[k, 3] (node Mystery#0)" in explanation_text(ExplanationReport(why, "m.onnx"))
    explained: Any = explanation_json(ExplanationReport(why, "m.onnx"))
    assert len(explained["trusted_annotations"]) == 1
    assert explain(UNKNOWN, "y").trusted_annotations == ()


def test_trusted_annotations_include_facts_that_later_nodes_imply() -> None:
    text = """(float[N] x) => (y, w) { z = local.Mystery (x) y = Relu (z) i = Constant<value_ints = [8]>() w = Gather(x, i) }"""
    proto = model(text, domains=DOMAINS)
    assert believed(stating(proto, helper.make_tensor_value_info("z", TensorProto.FLOAT, ["min(N, 9)", 3]))) == [
        "z is float32[9, 3] (node Mystery#0)"
    ]
