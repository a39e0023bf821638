"""Values whose shape differs between iterations: where onnxruntime fails, where it runs, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as refusals

from gather_infer import Severity, check
from tests.inference.models import model

ONES, ROWS = np.ones(2, np.float32), np.ones((3, 2), np.float32)
LOOP = "y, z = Loop(m, go, x) <body = b (int64 i, bool c, float[p] s) => (bool c2, float[q] s2, float[r] o) { c2 = Identity(c)"
STACK = "z = Loop(m, go) <body = b (int64 i, bool c) => (bool c2, int64[r] o) { c2 = Identity(c)"
GO = "go = Constant<value = bool {1}>() none = Constant<value_int = 0>() one = Constant<value_int = 1>()"
THREE = f"{GO} m = Constant<value_int = 3>()"


def scan(declared: str, nodes: str = "o = Relu(r)") -> str:
    return f"(float[3, 2] x) => (float[A, B] y) {{ y = Scan<num_scan_inputs = 1, body = b (float[2] r) => (float{declared} o) {{ {nodes} }}>(x) }}"


def state(size: str, declared: str, nodes: str) -> str:
    return (
        f"(float[{size}] a, float[T, 2] x) => (y) {{ zero = Constant<value_ints = [0]>() "
        f"y = Scan<num_scan_inputs = 1, body = b (float[p] s, float[2] r) => (float{declared} o) {{ {nodes} }}>(a, x) }}"
    )


IF = "y = If(c) <then_branch = t () => (float[2] o) { o = Neg(x) }, else_branch = e () => (float[2] p) { p = Abs(x) }>"

MODELS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    # id: (model, feeds, does onnxruntime run it, what is reported)
    "a stack of one shape": (f"(float[2] x) => (y, z) {{ {THREE} {LOOP} s2 = Neg(s) o = Neg(s) }}> }}", {"x": ONES}, "runs", ""),
    "a stacked state that doubles": (f"(float[2] x) => (y, z) {{ {THREE} {LOOP} s2 = Concat<axis = 0>(s, s) o = Identity(s2) }}> }}", {"x": ONES}, "fails", "error"),
    "a stacked state that grows by rows": (f"(float[2] x) => (y, z) {{ {THREE} {LOOP} s2 = Concat<axis = 0>(s, x) o = Identity(s2) }}> }}", {"x": ONES}, "fails", "error"),
    "a state that doubles and is not stacked": (f"(float[2] x) => (y, z) {{ {THREE} {LOOP} s2 = Concat<axis = 0>(s, s) o = Neg(x) }}> }}", {"x": ONES}, "runs", ""),
    "nothing that doubles": (f"(float[0] x) => (y, z) {{ {THREE} {LOOP} s2 = Concat<axis = 0>(s, s) o = Identity(s2) }}> }}", {"x": ONES[:0]}, "runs", ""),
    "a state that doubles, as often as a caller asks, once": (f"(float[2] x, int64 m) => (y, z) {{ {GO} {LOOP} s2 = Concat<axis = 0>(s, s) o = Identity(s2) }}> }}", {"x": ONES, "m": np.array(1)}, "runs", "warning"),
    "a state that doubles, as often as a caller asks, twice": (f"(float[2] x, int64 m) => (y, z) {{ {GO} {LOOP} s2 = Concat<axis = 0>(s, s) o = Identity(s2) }}> }}", {"x": ONES, "m": np.array(2)}, "fails", "warning"),
    "a state that doubles, one iteration": (f"(float[2] x) => (y, z) {{ {GO} m = Constant<value_int = 1>() {LOOP} s2 = Concat<axis = 0>(s, s) o = Identity(s2) }}> }}", {"x": ONES}, "runs", ""),
    "as many as the iteration": (f"() => (z) {{ {THREE} {STACK} o = Range(none, i, one) }}> }}", {}, "fails", "error"),
    "a scan output of its own rank": (scan("[2]"), {"x": ROWS}, "runs", ""),
    "a scan output of another size": (scan("[5]"), {"x": ROWS}, "runs", ""),
    "a scan output declared a scalar": (scan(""), {"x": ROWS}, "fails", "error"),
    "a scan output declared a matrix": (scan("[K, L]"), {"x": ROWS}, "fails", "error"),
    "a scan state declared with another rank": (state("2", "[2, 1]", "o = Add(s, r)"), {"a": ONES, "x": ROWS}, "fails", "error"),
    "a scan state of one shape": (state("2", "[q]", "o = Add(s, r)"), {"a": ONES, "x": ROWS}, "runs", ""),
    "a scan state that grows": (state("N", "[q]", "o = Concat<axis = 0>(s, r)"), {"a": ONES, "x": ROWS}, "fails", "warning"),
    "a scan state that grows, of known size": (state("2", "[q]", "o = Concat<axis = 0>(s, r)"), {"a": ONES, "x": ROWS}, "fails", "error"),
    "a scan state that gains a rank": (state("N", "[1, q]", "o = Unsqueeze(s, zero)"), {"a": ONES, "x": ROWS}, "fails", "error"),
    "a condition": (f"(float[2] x, bool c) => (y) {{ {IF} }}", {"x": ONES, "c": np.array(True)}, "runs", ""),
    "a condition of one element": (f"(float[2] x, bool[1, 1] c) => (y) {{ {IF} }}", {"x": ONES, "c": np.array([[True]])}, "runs", ""),
    "a condition of two elements": (f"(float[2] x, bool[2] c) => (y) {{ {IF} }}", {"x": ONES, "c": np.array([True, True])}, "fails", "error"),
    "a condition without elements": (f"(float[2] x, bool[0] c) => (y) {{ {IF} }}", {"x": ONES, "c": np.zeros(0, bool)}, "fails", "error"),
    "a trip count of one element": (f"(float[2] x, int64[1] m) => (y, z) {{ {GO} {LOOP} s2 = Neg(s) o = Neg(s) }}> }}", {"x": ONES, "m": np.array([2])}, "runs", ""),
    "a trip count of two elements": (f"(float[2] x, int64[2] m) => (y, z) {{ {GO} {LOOP} s2 = Neg(s) o = Neg(s) }}> }}", {"x": ONES, "m": np.array([2, 2])}, "fails", "error"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_shapes_of_iterations(name: str) -> None:
    body, feeds, outcome, severity = MODELS[name]
    proto = model(body)
    for output in proto.graph.output:
        output.ClearField("type")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        ort.InferenceSession(proto.SerializeToString(), options).run(None, feeds)
        ran = "runs"
    except (refusals.Fail, refusals.InvalidGraph, refusals.RuntimeException, refusals.InvalidArgument):
        ran = "fails"
    assert ran == outcome
    for output in proto.graph.output:
        output.type.tensor_type.elem_type = 1
    found = [d for d in check(proto).at_least(Severity.WARNING) if d.code in ("GI212", "GI305")]
    assert [str(d.severity) for d in found] == ([severity] if severity else [])


def test_the_elements_of_a_condition_are_a_line_of_the_contract() -> None:
    result = check(model(f"(float[2] x, bool[n] c) => (float[2] y) {{ {IF} }}"))
    assert [text for text, _ in result.contract] == ["n == 1"]
    assert [d.code for d in result.warnings] == ["GI322"]
