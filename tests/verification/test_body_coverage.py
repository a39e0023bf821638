# ruff: noqa: E501  (models as text)
"""Which branches and bodies of loops runs have entered, held against what onnx's evaluator goes through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from gather_infer.inference import infer
from gather_infer.model.paths import bodies
from gather_infer.openvino import convert
from gather_infer.verification.body_coverage import BodyCoverage, body_coverage_of, location_in_file
from gather_infer.verification.goals import Goals
from gather_infer.verification.output_comparison import difference
from tests.onnx_versions import has_onnx
from tests.oracle.generated_graphs import bindings_of, generate
from tests.oracle.graph_builder import REFUSALS
from tests.oracle.right_rewrites import FOLDER
from tests.verification.models import model


def named(proto: ModelProto, watch: BodyCoverage) -> ModelProto:
    """The model with bodies that are called as the watch calls them."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for path, body in bodies(copy):
        body.name = watch.labels.get(path, f"not watched: {path}" if path.steps else body.name)
    return copy


def entered_in(proto: ModelProto, feeds: Mapping[str, Any]) -> set[str]:
    """The names of the bodies that onnx's evaluator runs."""
    entered: set[str] = set()
    evaluator = ReferenceEvaluator(proto)
    run = ReferenceEvaluator.run

    def noted(self: ReferenceEvaluator, *arguments: Any, **options: Any) -> Any:
        entered.add(getattr(self.proto_, "name", ""))
        return run(self, *arguments, **options)

    with mock.patch.object(ReferenceEvaluator, "run", noted):
        evaluator.run(None, dict(feeds))
    return entered - {"", proto.graph.name}


def session(proto: ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(proto.SerializeToString(), options)


BRANCHES = """(float[N] x, int64 k, bool c) => (float[N] y) <int64 two = {2}, int64 seven = {7}> {
  is_two = Equal(k, two)
  y = If (is_two) <
    then_branch = a () => (float[N] o) {
      o = If (c) <then_branch = b () => (float[N] p) { p = Neg(x) }, else_branch = d () => (float[N] q) { q = Abs(x) }>
    },
    else_branch = e () => (float[N] r) {
      is_seven = Equal(k, seven)
      r = If (is_seven) <then_branch = f () => (float[N] s) { s = Identity(x) }, else_branch = h () => (float[N] t) { t = Exp(x) }>
    }
  >
}"""
LOOPS = """(float[N] x, int64 m, bool c) => (float[N] y, float[K, N] z) {
  y, z = Loop (m, c, x) <body = b (int64 i, bool g, float[N] s) => (bool h, float[N] o, float[N] p) {
    zero = Constant <value_int = 3> ()
    h = Less(i, zero)
    is_odd = Equal(i, zero)
    o = If (is_odd) <then_branch = t () => (float[N] u) { u = Neg(s) }, else_branch = e () => (float[N] v) { v = Abs(s) }>
    p = Identity(o)
  }>
}"""
WHILE = """(float[N] x, bool c) => (float[N] y) {
  y = Loop ("", c, x) <body = b (int64 i, bool g, float[N] s) => (bool h, float[N] o) {
    o = Neg(s) h = Not(g)
  }>
}"""
SCANS = """(float[N, 2] x, float[2] z, bool c) => (float[2] y, float[N, 2] w) {
  y, w = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] o, float[2] p) {
    o = If (c) <then_branch = t () => (float[2] u) { u = Add(s, e) }, else_branch = f () => (float[2] v) { v = Sub(s, e) }>
    p = Identity(o)
  }> (z, x)
}"""
CASES: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "then, then": (BRANCHES, {"k": 2, "c": True}, {"If#1/then_branch", "If#1/then_branch/If#0/then_branch"}),
    "then, else": (BRANCHES, {"k": 2, "c": False}, {"If#1/then_branch", "If#1/then_branch/If#0/else_branch"}),
    "else, then": (BRANCHES, {"k": 7, "c": True}, {"If#1/else_branch", "If#1/else_branch/If#1/then_branch"}),
    "no step": (LOOPS, {"m": 0, "c": True}, set()),
    "a condition that is false at first": (LOOPS, {"m": 3, "c": False}, set()),
    "two steps": (LOOPS, {"m": 2, "c": True}, {"Loop#0/body", "Loop#0/body/If#3/else_branch"}),
    "as many as it makes": (
        LOOPS, {"m": 9, "c": True},
        {"Loop#0/body", "Loop#0/body/If#3/else_branch", "Loop#0/body/If#3/then_branch"},
    ),
    "while": (WHILE, {"c": True}, {"Loop#0/body"}),
    "while not": (WHILE, {"c": False}, set()),
    "a Scan": (SCANS, {"x": (3, 2), "c": True}, {"Scan#0/body", "Scan#0/body/If#0/then_branch"}),
}  # fmt: skip


def feeds_of(proto: ModelProto, given: Mapping[str, Any]) -> dict[str, Any]:
    """Elements for the inputs: a shape is one of floats, 5 numbers or 2 where none is given."""
    found: dict[str, Any] = {}
    for value in proto.graph.input:
        size = given.get(value.name, 5 if value.type.tensor_type.shape.dim[:1] and value.name == "x" else 2)
        is_float = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        found[value.name] = np.ones(size, np.float32) if is_float else np.array(size)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_a_run_enters(name: str) -> None:
    text, given, entered = CASES[name]
    proto = model(text, opset=21)
    watch = body_coverage_of(infer(proto))
    assert watch.proto is not None and not watch.unknown_reason and set(watch.positions) == set(watch.bodies)
    onnx.checker.check_model(watch.proto)
    watch.is_enabled, feeds = True, feeds_of(proto, given)
    outputs = watch.outputs(session(watch.proto).run(None, feeds))
    assert {watch.labels[path] for path in watch.last_entered} == entered
    for one, other in zip(session(proto).run(None, feeds), outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    is_run = name != "a Scan" or has_onnx("1.22")  # earlier evaluators lack the outer values of the body
    if is_run and name not in ("a condition that is false at first", "while not", "no step"):
        assert entered_in(named(proto, watch), feeds) == entered  # the evaluator stacks no outputs of no steps


def test_what_the_evaluator_tells_is_the_same() -> None:
    proto = model(BRANCHES, opset=21)
    watch = body_coverage_of(infer(proto))
    assert watch.proto is not None
    watch.is_enabled = True
    watch.outputs(list(ReferenceEvaluator(watch.proto).run(None, feeds_of(proto, {"k": 7, "c": True}))))
    assert {watch.labels[path] for path in watch.last_entered} == {
        "If#1/else_branch",
        "If#1/else_branch/If#1/then_branch",
    }


FUNCTIONS = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[N] x, bool a, bool b) => (float[N] z) {
  y = local.outer(x, a)
  z = local.inner(y, b)
}
<domain: "local", opset_import: ["" : 21]>
inner (v, c) => (w) {
  w = If (c) <then_branch = t () => (float[M] p) { p = Neg(v) }, else_branch = e () => (float[M] q) { q = Abs(v) }>
}
<domain: "local", opset_import: ["local" : 1]>
outer (v, c) => (w) {
  w = local.inner(v, c)
}
<domain: "local", opset_import: ["" : 21]>
idle (v, c) => (w) {
  w = If (c) <then_branch = t () => (float[M] p) { p = Neg(v) }, else_branch = e () => (float[M] q) { q = Abs(v) }>
}"""


@pytest.mark.parametrize(("a", "b"), [(True, True), (True, False), (False, False)])
def test_a_branch_of_a_function_is_one_for_all_calls(a: bool, b: bool) -> None:
    proto = onnx.parser.parse_model(FUNCTIONS)
    watch = body_coverage_of(infer(proto))
    assert watch.proto is not None and len(watch.bodies) == 2  # nobody calls `idle`
    watch.is_enabled = True
    watch.outputs(session(watch.proto).run(None, {"x": np.ones(3, np.float32), "a": np.array(a), "b": np.array(b)}))
    expected = {f"inner/If#0/{'then' if taken else 'else'}_branch" for taken in (a, b)}
    assert {watch.labels[path] for path in watch.last_entered} == expected


def test_a_branch_that_is_known_not_to_be_taken() -> None:
    text = "(float[N] x) => (float[N] y) <int64 k = {1}, int64 z = {0}> { s = Shape(x) a = Squeeze(s) c = Less(a, z) y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = Abs(x) }> }"
    watch = body_coverage_of(infer(model(text)))
    assert [watch.labels[path] for path in watch.bodies] == ["If#3/else_branch"]


MAPPED = """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
g (seq(float[N]) s, bool c) => (seq(float[N]) y) {
  y = SequenceMap (s) <body = b (float[N] e) => (float[N] o) { o = local.turned(e, c) }>
}
<domain: "local", opset_import: ["" : 18]>
turned (v, c) => (w) {
  w = If (c) <then_branch = t () => (float[M] p) { p = Neg(v) }, else_branch = e () => (float[M] q) { q = Abs(v) }>
}"""


def test_what_nothing_tells_is_not_called_untaken() -> None:
    """The branches of the function are entered from a body that cannot give what it entered."""
    watch = body_coverage_of(infer(onnx.parser.parse_model(MAPPED)))
    assert watch.unknown_reason.startswith("SequenceMap#0/body") and not watch.positions and len(watch.bodies) == 3
    assert not watch.uncovered()


def test_a_part_that_nothing_tells() -> None:
    text = MAPPED.replace(
        "(seq(float[N]) s, bool c) => (seq(float[N]) y)",
        "(seq(float[N]) s, float[N] x, bool c) => (seq(float[N]) y, float[N] z)",
    )
    text = text.replace(
        "local.turned(e, c) }>\n",
        "local.turned(e, c) }>\n z = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = local.turned(x, c) }>\n",
    )
    watch = body_coverage_of(infer(onnx.parser.parse_model(text)))
    assert {watch.labels[path] for path in watch.positions} == {"If#1/then_branch", "If#1/else_branch"}
    assert "SequenceMap#0/body" in watch.unknown_reason and "turned/If#0/then_branch" in watch.unknown_reason


def test_names_that_are_taken() -> None:
    proto = model(BRANCHES.replace("is_two", "entered").replace("is_seven", "entered_1"), opset=21)
    watch = body_coverage_of(infer(proto))
    assert watch.proto is not None
    watch.is_enabled = True
    watch.outputs(session(watch.proto).run(None, feeds_of(proto, {"k": 2, "c": True})))
    assert len(watch.last_entered) == 2


@pytest.mark.parametrize("seed", [102, 116, 135, 157, 195, 267, 345, 351])
def test_random_graphs_compute_the_same(seed: int) -> None:
    graph = generate(seed)
    watch = body_coverage_of(infer(graph.runnable))
    assert watch.proto is not None
    watch.is_enabled, ran = True, 0
    before, after = session(graph.runnable), session(watch.proto)
    for number, sizes in enumerate(bindings_of(graph, 6)):
        feeds = graph.feeds(sizes, number)
        outcomes: list[list[Any] | str] = []
        for one in (before, after):
            try:
                outcomes.append(one.run(None, feeds))
            except REFUSALS:
                outcomes.append("refused")
        first, second = outcomes
        if isinstance(first, str) or isinstance(second, str):
            assert first == second
            continue
        ran += 1
        assert [difference(*pair) for pair in zip(first, watch.outputs(second), strict=True)] == [None] * len(first)
    assert ran


def test_what_an_operator_is_made_of_is_no_place_in_the_file() -> None:
    """The walk of an IR goes into what the lowering of a layer has written, which the file does not hold."""
    inference = convert(FOLDER / "openvino" / "detector-ssd.xml").inference
    inner = [path for path in inference.conditions if location_in_file(inference.ir, path) is None]
    assert inner and not Goals(inference, body_coverage_of(inference), ()).all


def test_a_branch_that_a_constant_of_an_outer_graph_excludes_is_not_observed() -> None:
    """No run enters the else-branch of the inner If, whose condition is a Constant of the main graph."""
    proto = model(
        "(float[N] x, bool b) => (float[N] y) { c = Constant<value = bool {1}>() [outer] y = If (b) <"
        "then_branch = t () => (float[N] p) { [inner] p = If (c) <then_branch = u () => (float[N] r) { r = Neg(x) }, else_branch = v () => (float[N] s) { s = Abs(x) }> },"
        "else_branch = e () => (float[N] q) { q = Abs(x) }> }"
    )
    watch = body_coverage_of(infer(proto))
    runs = [entered_in(named(proto, watch), {"x": np.ones(2, np.float32), "b": np.array(b)}) for b in (False, True)]
    assert set(watch.labels.values()) == set().union(*runs)
