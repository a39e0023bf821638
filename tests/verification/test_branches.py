# ruff: noqa: E501  (models as text)
"""The runs of a verification come to every branch that inputs can lead to, and the report has those that none took."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import onnx
import pytest
from onnx import ModelProto

from gather_infer.inference import infer
from gather_infer.report.output_formats import VERIFICATION, OutputFormat, View
from gather_infer.verification import Verification, VerificationRun, body_coverage
from tests.verification.models import absent_runtime, model, verified

RATES = """(float[B, T] x, float[2, S, 4] state, int64 rate) => (float[B, K] y, float[2, S, 4] next) <int64 sixteen = {16000}> {
  is_wide = Equal(rate, sixteen)
  y, next = If (is_wide) <
    then_branch = a () => (float[C, D] o, float[2, E, 4] p) {
      from = Constant <value_ints = [64]> ()
      to = Constant <value_ints = [9223372036854775807]> ()
      axes = Constant <value_ints = [1]> ()
      rest = Slice(x, from, to, axes)
      turned = Transpose <perm = [1, 0, 2]> (state)
      first = Flatten(turned)
      columns = Transpose(rest)
      o = MatMul(columns, first)
      p = Neg(state)
    },
    else_branch = b () => (float[F, G] q, float[2, H, 4] r) {
      eight = Constant <value_int = 8000> ()
      is_narrow = Equal(rate, eight)
      turned2 = Transpose <perm = [1, 0, 2]> (state)
      first2 = Flatten(turned2)
      columns2 = Transpose(x)
      joined = MatMul(columns2, first2)
      q = If (is_narrow) <
        then_branch = c () => (float[L, M] t) { t = Neg(joined) },
        else_branch = d () => (float[P, Q] u) { u = Abs(joined) }
      >
      r = Identity(state)
    }
  >
}"""

REACHED = {
    "a number": RATES,
    "a flag": "(float[N] x, bool c) => (float[N] y) { y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = Abs(x) }> }",
    "a number from somewhere on": "(float[N] x, int64[1] k) => (float[N] y) <int64 a = {900000}> { s = Squeeze(k) c = GreaterOrEqual(s, a) n = Not(c) y = If (n) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = Abs(x) }> }",
    "two numbers": "(float[N] x, int64 k) => (float[N] y) <int64 a = {12345}, int64 b = {54321}> { c = Equal(k, a) y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { d = Equal(k, b) q = If (d) <then_branch = f () => (float[N] r) { r = Exp(x) }, else_branch = g () => (float[N] s) { s = Abs(x) }> }> }",
    "a size": "(float[N, M] x) => (float[N, M] y) <int64 a = {700}, int64 one = {1}> { h = Shape(x) s = Gather(h, one) c = Less(s, a) y = If (c) <then_branch = t () => (float[N, M] p) { p = Neg(x) }, else_branch = e () => (float[N, M] q) { q = Abs(x) }> }",
    "a size that another one has to have": "(float[N] x, float[M] z) => (float[N] y) <int64[1] a = {333}> { b = Add(x, z) h = Shape(b) c = Greater(h, a) y = If (c) <then_branch = t () => (float[N] p) { p = Neg(b) }, else_branch = e () => (float[N] q) { q = Abs(b) }> }",
    "a size and a number": "(float[N] x, int64 k) => (float[N] y) <int64 a = {4321}> { c = Equal(k, a) y = If (c) <then_branch = t () => (float[N] p) { h = Shape(x) b = Constant<value_ints = [500]>() d = Less(h, b) p = If (d) <then_branch = f () => (float[N] r) { r = Exp(x) }, else_branch = g () => (float[N] s) { s = Abs(x) }> }, else_branch = e () => (float[N] q) { q = Neg(x) }> }",
    "how often a loop runs": "(float[N] x, int64 m) => (float[N] y) <bool c = {1}> { y = Loop (m, c, x) <body = b (int64 i, bool g, float[N] s) => (bool h, float[N] o) { h = Identity(g) o = Neg(s) }> }",
}  # fmt: skip


@pytest.mark.parametrize("name", REACHED)
def test_each_branch_is_come_to(name: str) -> None:
    proto = model(REACHED[name], opset=21)
    found = verified(proto, proto, 8)
    assert (found.ok, found.uncovered, len(found.runs)) == (True, (), 8), (found.failure, found.redraw_reason)


def test_a_branch_in_a_function() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]> g (float[N] x, int64 k) => (float[N] y) { y = local.f(x, k) }
        <domain: "local", opset_import: ["" : 21]> f (v, k) => (w) {
          a = Constant <value_int = 77777> () c = Equal(k, a)
          w = If (c) <then_branch = t () => (float[M] p) { p = Neg(v) }, else_branch = e () => (float[M] q) { q = Abs(v) }>
        }"""
    proto = onnx.parser.parse_model(text)
    found = verified(proto, proto, 8)
    assert found.ok and found.uncovered == ()


WRONG = {
    "the outer then_branch": ("p = Neg(state)", "p = Identity(state)"),
    "its other output": ("from = Constant <value_ints = [64]> ()", "from = Constant <value_ints = [63]> ()"),
    "the inner then_branch": ("t = Neg(joined)", "t = Identity(joined)"),
    "the inner else_branch": ("u = Abs(joined)", "u = Identity(joined)"),
    "the outer else_branch": ("r = Identity(state)", "r = Neg(state)"),
}


@pytest.mark.parametrize("where", WRONG)
def test_a_wrong_rewrite_in_a_branch_is_found(where: str) -> None:
    right, wrong = WRONG[where]
    assert right in RATES
    found = verified(model(RATES, opset=21), model(RATES.replace(right, wrong), opset=21), 8)
    assert found.mismatches and not found.ok


def test_sizes_are_not_the_same_in_most_runs() -> None:
    """Nothing says that B is S before a run fails."""
    proto = model(RATES, opset=21)
    assert not infer(proto).constraints
    found = verified(proto, proto, 8)
    assert found.ok and found.bindings >= 6
    assert all(dict(run.binding)["B"] == dict(run.binding)["S"] for run in found.runs)


RARE = "(float[N] x) => (float[N] y) <float a = {12345.678}> { s = ReduceSum<keepdims = 0>(x) c = Equal(s, a) y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = Abs(x) }> }"


def test_a_branch_that_no_run_takes_is_reported() -> None:
    proto = model(RARE)
    found = verified(proto, model(RARE.replace("p = Neg(x)", "p = Abs(x)")), 8)
    assert found.ok and found.uncovered == ("If#2/then_branch",)
    assert "  no run took then_branch of If#2" in VERIFICATION.lines(OutputFormat.TEXT, found)
    assert json.loads("\n".join(VERIFICATION.lines(OutputFormat.JSON, found)))["uncovered"] == ["If#2/then_branch"]
    assert verified(proto, proto, 2).uncovered == ("If#2/then_branch",)


def test_a_branch_that_cannot_be_taken_is_not_reported() -> None:
    text = "(float[N] x) => (float[N] y) <bool c = {0}> { y = If (c) <then_branch = t () => (float[N] p) { p = Neg(x) }, else_branch = e () => (float[N] q) { q = Abs(x) }> }"
    found = verified(model(text), model(text), 2)
    assert found.ok and found.uncovered == ()


def test_unknowns_are_reported() -> None:
    text = "(seq(float[N]) s) => (seq(float[N]) y) { y = SequenceMap (s) <body = b (float[N] e) => (float[N] o) { o = Neg(e) }> }"
    proto = model(text)
    found = verified(proto, proto, 2)
    note = "which branches and loop bodies the runs entered is not known: SequenceMap#0/body cannot be instrumented"
    assert found.ok and note in found.notes and found.uncovered == ()


def test_many_are_counted() -> None:
    labels = ("If_0/then_branch", *(f"Loop_{k}/body" for k in range(5)))
    found = Verification(1, (VerificationRun((), "finite"),), compared_outputs=("y",), uncovered=labels)
    lines = VERIFICATION.lines(OutputFormat.TEXT, found)
    assert "  no run took then_branch of If_0" in lines and "  no run entered body of Loop_2" in lines
    assert "  ... 2 more that no run reached: --verbose" in lines
    assert "  no run entered body of Loop_4" in VERIFICATION.lines(OutputFormat.TEXT, found, View(verbose=True))


FLOAT16 = RATES.replace("float[", "float16[")


def test_half_precision_has_branches_too() -> None:
    proto = model(FLOAT16, opset=21)
    found = verified(proto, proto, 8)
    assert found.ok and found.uncovered == () and any("half precision" in note for note in found.notes)


def wrong_constant(self: body_coverage._Instrumentation, name: str, position: int | None) -> onnx.NodeProto:
    """Each body enters itself as the one after it."""
    return CONSTANT(self, name, None if position is None else (position + 1) % len(self.positions))


def forgetful(self: body_coverage._Instrumentation, body: object, seen: list[str]) -> str:
    """Of several vectors the last one alone counts."""
    return seen[-1]


CONSTANT = body_coverage._Instrumentation.constant
FAULTS = {"constant": wrong_constant, "any_of": forgetful}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_bookkeeping_is_noticed(fault: str) -> None:
    """The report then differs from the path of onnx's evaluator."""
    from tests.verification.test_body_coverage import CASES, test_what_a_run_enters

    missed = []
    with mock.patch.object(body_coverage._Instrumentation, fault, FAULTS[fault]):
        for name in CASES:
            try:
                test_what_a_run_enters(name)
            except AssertionError:
                continue
            missed.append(name)
    assert set(missed) < set(CASES) - {"then, then", "then, else"}


def test_a_run_that_is_not_counted_is_noticed() -> None:
    proto: ModelProto = model(REACHED["a flag"])
    with mock.patch.object(body_coverage.BodyCoverage, "count", lambda self: None):
        assert len(verified(proto, proto, 4).uncovered) == 2
    assert verified(proto, proto, 4).uncovered == ()


def test_onnxruntime_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The copy that tells which branches runs take is the first to be loaded, by a process that ends then."""
    absent_runtime(monkeypatch, tmp_path / "site")
    found = verified(model(RATES), model(RATES), 2)
    assert found.ok and found.runtime == "onnx's reference evaluator"
    assert "onnxruntime is not installed" in found.notes
