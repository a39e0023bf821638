"""Failures that not every run comes to: warnings of the branch, judged by runs of onnxruntime with and without it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from click.testing import CliRunner
from gather_infer_cli.main import main

from gather_infer import check, contract_of, fold, infer, optimize
from gather_infer.diagnostic import Severity
from tests.inference.models import model, untyped

FAILURES = (ort.capi.onnxruntime_pybind11_state.Fail, ort.capi.onnxruntime_pybind11_state.InvalidArgument,
            ort.capi.onnxruntime_pybind11_state.RuntimeException,
            ort.capi.onnxruntime_pybind11_state.InvalidGraph)  # fmt: skip

X = np.ones((1, 1, 5), np.float32)
W8, W4 = np.ones((1, 1, 8), np.float32), np.ones((1, 1, 4), np.float32)
LONG, SHORT = "a = Conv(x, w)", "b = Conv(x, v)"
BRANCHES = "<then_branch = t () => (float[A, B, C] a) { %s }, else_branch = e () => (float[D, E, F] b) { %s }>"
IF = f"If(c) {BRANCHES % (LONG, SHORT)}"
"""The kernel of the first branch is longer than x."""
TENSORS = "float[1, 1, 5] x, float[1, 1, 8] w, float[1, 1, 4] v"
FED = {"x": X, "w": W8, "v": W4}
PICK = "float[1, 3, 5] d, int64[1] k"
"""Index 9 of an axis with 3 rows: what no loader looks at."""


def truth(value: bool) -> Any:
    return np.array(value)


def number(value: int) -> Any:
    return np.array(value, np.int64)


def rows(count: int) -> Any:
    return np.ones((count, 2), np.float32)


@dataclass(frozen=True)
class Case:
    """A model with runs.

    runs, fails  what some runs are fed that end well, and some that fail
    when         the condition that the finding names; None for an error
    lines, open  of the contract
    functions    of the model
    """

    body: str
    runs: tuple[dict[str, Any], ...]
    fails: tuple[dict[str, Any], ...]
    when: str | None = ""
    lines: tuple[str, ...] = ()
    open: int = 0
    codes: tuple[str, ...] = ("GI210",)
    functions: str = ""


TRIPS = "body = b (int64 i, bool q, float[P, Q, R] s) => (bool q2, float[S, T, U] s2) { q2 = Identity(q) s2 = %s }"
SCANNED = "body = b (float[2] r) => (float[P, Q, R] s) { s = Conv(x, w) }"
MAPPED = "body = b (float[P] r) => (float[S, T, U] s) { s = Conv(x, w) }"

CASES = {
    "a bool": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = {IF} }}",
        ({"c": truth(False), **FED},), ({"c": truth(True), **FED},), "c is true", ("c is false",),
    ),
    "not a bool": Case(
        f"(bool d, {TENSORS}) => (float y) {{ c = Not(d) y = {IF} }}",
        ({"d": truth(True), **FED},), ({"d": truth(False), **FED},), "d is false", ("d is true",),
    ),
    "and true": Case(
        f"(bool d, {TENSORS}) => (float y) {{ t = Constant <value = bool {{1}}> () c = And(t, d) y = {IF} }}",
        ({"d": truth(False), **FED},), ({"d": truth(True), **FED},), "d is true", ("d is false",),
    ),
    "two Ifs of one condition": Case(
        f"(bool d, {TENSORS}) => (float y, float z) {{ c = Not(d) y = {IF} z = {IF.replace('(c)', '(d)')} }}",
        (), tuple({"d": truth(d), **FED} for d in (False, True)), None, codes=("GI210", "GI210"),
    ),
    "the same condition inside": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = If(c) {BRANCHES % (f'a = {IF}', LONG.replace('a', 'b', 1))} }}",
        (), tuple({"c": truth(c), **FED} for c in (False, True)), None, codes=("GI210", "GI210"),
    ),
    "of sizes": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y, float z) {{ s = Shape <end = 1> (q) k = Constant <value = int64[1] {{4}}> () "
        f"c = Greater(s, k) y = {IF} d = LessOrEqual(s, k) z = {IF.replace('(c)', '(d)')} }}",
        (), tuple({"q": rows(n), **FED} for n in (4, 5)), None, codes=("GI210", "GI210"),
    ),
    "a size": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y) {{ s = Shape <end = 1> (q) k = Constant <value = int64[1] {{4}}> () "
        f"c = Greater(s, k) y = {IF} }}",
        tuple({"q": rows(n), **FED} for n in (0, 1, 4)), tuple({"q": rows(n), **FED} for n in (5, 9)),
        "N >= 5", ("N <= 4",),
    ),
    "an element": Case(
        f"(int64 k, {TENSORS}) => (float y) {{ l = Constant <value = int64 {{3}}> () c = LessOrEqual(l, k) y = {IF} }}",
        tuple({"k": number(n), **FED} for n in (-1, 2)), tuple({"k": number(n), **FED} for n in (3, 9)),
        "k >= 3", ("k < 3",),
    ),
    "an element on the left": Case(
        f"(int64 k, {TENSORS}) => (float y) {{ l = Constant <value = int64 {{3}}> () c = Less(k, l) y = {IF} }}",
        ({"k": number(3), **FED},), ({"k": number(2), **FED},), "k < 3", ("k >= 3",),
    ),
    "one element of many": Case(
        f"(int64 k, {TENSORS}) => (float y) {{ l = Constant <value = int64 {{3}}> () c = Equal(k, l) y = {IF} }}",
        ({"k": number(4), **FED},), ({"k": number(3), **FED},), "k == 3", (), open=1,
    ),
    "all elements but one": Case(
        f"(int64 k, {TENSORS}) => (float y) {{ l = Constant <value = int64 {{3}}> () e = Equal(k, l) c = Not(e) "
        f"y = {IF} }}",
        ({"k": number(3), **FED},), ({"k": number(4), **FED},), "k != 3", ("3 <= k < 4",),
    ),
    "data": Case(
        f"({TENSORS}) => (float y) {{ f = ReduceMax <keepdims = 0> (x) z = Constant <value = float {{5.0}}> () "
        f"c = Greater(f, z) y = {IF} }}",
        (FED,), ({**FED, "x": X * 9},), "", (), open=1,
    ),
    "two branches inside each other": Case(
        f"(float[N, 2] q, float[M, 2] p, {TENSORS}) => (float y) {{ s = Shape <end = 1> (q) r = Shape <end = 1> (p) "
        "k = Constant <value = int64[1] {4}> () c = Greater(s, k) d = Greater(r, k) y = If(c) "
        + BRANCHES % (f"a = If(d) {BRANCHES % (LONG, SHORT)}".replace("then_branch = t", "then_branch = u"), SHORT)
        + " }",
        ({"q": rows(5), "p": rows(4), **FED}, {"q": rows(4), "p": rows(5), **FED}),
        ({"q": rows(5), "p": rows(5), **FED},), "M >= 5", ("N <= 4 or M <= 4",),
    ),
    "a branch that cannot be taken in another": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y) {{ s = Shape <end = 1> (q) k = Constant <value = int64[1] {{4}}> () "
        "l = Constant <value = int64[1] {3}> () c = Greater(s, k) d = Less(s, l) y = If(c) "
        + BRANCHES % (f"a = If(d) {BRANCHES % (LONG, SHORT)}", SHORT) + " }",
        tuple({"q": rows(n), **FED} for n in (0, 2, 5)), (), "", (), codes=(),
    ),
    "a branch that is always taken": Case(
        f"({TENSORS}) => (float y) {{ c = Constant <value = bool {{1}}> () y = {IF} }}", (), (FED,), None,
    ),
    "a branch that is never taken": Case(
        f"({TENSORS}) => (float y) {{ c = Constant <value = bool {{0}}> () y = {IF} }}", (FED,), (), "", codes=(),
    ),
    "both branches": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = If(c) {BRANCHES % (LONG, 'b = Conv(x, w)')} }}",
        (), ({"c": truth(True), **FED}, {"c": truth(False), **FED}), None, codes=("GI210", "GI210"),
    ),
    "both branches of a branch": Case(
        f"(bool c, bool d, {TENSORS}) => (float y) {{ y = If(c) "
        + BRANCHES % (f"a = If(d) {BRANCHES % (LONG, 'b = Conv(x, w)')}", SHORT) + " }",
        ({"c": truth(False), "d": truth(True), **FED},),
        tuple({"c": truth(True), "d": truth(d), **FED} for d in (True, False)),
        "c is true", ("c is false",), codes=("GI210", "GI210"),
    ),
    "an index in one branch and a kernel in the other": Case(
        f"(bool c, {PICK}, {TENSORS}) => (float y) {{ nine = Constant <value = int64[1] {{9}}> () "
        f"y = If(c) {BRANCHES % ('a = Gather <axis = 1> (d, nine)', 'b = Conv(x, w)')} }}",
        (), tuple({"c": truth(c), "d": np.ones((1, 3, 5), np.float32), "k": np.ones(1, np.int64), **FED}
                  for c in (True, False)), None, codes=("GI210", "GI301"),
    ),
    "an index that is computed": Case(
        f"(bool c, {PICK}, {TENSORS}) => (float y) {{ nine = Constant <value_ints = [9]> () m = Max(k, nine) "
        f"y = If(c) {BRANCHES % ('a = Gather <axis = 1> (d, m)', SHORT)} }}",
        ({"c": truth(False), "d": np.ones((1, 3, 5), np.float32), "k": np.ones(1, np.int64), **FED},),
        ({"c": truth(True), "d": np.ones((1, 3, 5), np.float32), "k": np.ones(1, np.int64), **FED},),
        "c is true", ("c is false",), codes=("GI301",),
    ),
    "a function that is called in a branch only": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = If(c) {BRANCHES % ('a = local.long(x, w)', SHORT)} }}",
        ({"c": truth(False), **FED},), ({"c": truth(True), **FED},), "c is true", ("c is false",),
        functions='<domain: "local", opset_import: ["" : 17]> long (p, q) => (r) { r = Conv(p, q) }',
    ),
    "a function that is called in a branch and before it": Case(
        f"(bool c, {TENSORS}) => (float y, float z) {{ z = local.long(x, w) "
        f"y = If(c) {BRANCHES % ('a = local.long(x, w)', SHORT)} }}",
        (), tuple({"c": truth(c), **FED} for c in (True, False)), None, ("c is false",), codes=("GI210", "GI210"),
        functions='<domain: "local", opset_import: ["" : 17]> long (p, q) => (r) { r = Conv(p, q) }',
    ),
    "a branch in a function that is called twice": Case(
        f"(bool c, {PICK}, {TENSORS}) => (float y, float z) {{ nine = Constant <value_ints = [9]> () m = Max(k, nine) "
        "y = local.pick(c, x, d, m) z = local.pick(c, x, d, m) }",
        ({"c": truth(False), "d": np.ones((1, 3, 5), np.float32), "k": np.ones(1, np.int64), **FED},),
        ({"c": truth(True), "d": np.ones((1, 3, 5), np.float32), "k": np.ones(1, np.int64), **FED},),
        "c is true", ("c is false",), codes=("GI301", "GI301"),
        functions='<domain: "local", opset_import: ["" : 17]> pick (c, x, d, m) => (r) { r = If(c) <then_branch = t () => '
        "(a) { a = Gather <axis = 1> (d, m) }, else_branch = e () => (b) { b = Relu(x) }> }",
    ),
    "a size and the other branch": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y) {{ s = Shape <end = 1> (q) k = Constant <value = int64[1] {{4}}> () "
        f"c = LessOrEqual(s, k) y = If(c) {BRANCHES % ('a = Conv(x, v)', 'b = Conv(x, w)')} }}",
        ({"q": rows(4), **FED},), ({"q": rows(5), **FED},), "N >= 5", ("N <= 4",),
    ),
    "a condition that a function is given": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = local.choose(c, x, w, v) }}",
        ({"c": truth(False), **FED},), ({"c": truth(True), **FED},), "c is true", ("c is false",),
        functions=f'<domain: "local", opset_import: ["" : 17]> choose (c, x, w, v) => (r) {{ r = {IF} }}',
    ),
    "a loop": Case(
        f"(int64 m, {TENSORS}) => (float y) {{ go = Constant <value = bool {{1}}> () "
        f"y = Loop(m, go, x) <{TRIPS % 'Conv(x, w)'}> }}",
        ({"m": number(0), **FED},), ({"m": number(1), **FED},), "m >= 1", ("m < 1",),
    ),
    "a loop over a size": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y) {{ s = Shape <end = 1> (q) e = Constant <value_ints = [0]> () "
        f"m = Squeeze(s, e) go = Constant <value = bool {{1}}> () y = Loop(m, go, x) <{TRIPS % 'Conv(x, w)'}> }}",
        ({"q": rows(0), **FED},), ({"q": rows(1), **FED},), "N >= 1", ("N <= 0",),
    ),
    "a loop that runs": Case(
        f"({TENSORS}) => (float y) {{ m = Constant <value = int64 {{2}}> () go = Constant <value = bool {{1}}> () "
        f"y = Loop(m, go, x) <{TRIPS % 'Conv(x, w)'}> }}",
        (), (FED,), None,
    ),
    "a loop that runs until": Case(
        f"({TENSORS}) => (float y) {{ go = Constant <value = bool {{1}}> () y = Loop(, go, x) <body = b (int64 i, bool q, "
        "float[P, Q, R] s) => (bool q2, float[S, T, U] s2) { h = ReduceMax <keepdims = 0> (s) five = Constant <value = "
        "float {5.0}> () q2 = Less(h, five) s2 = Conv(x, w) }> }",
        (), (FED,), None,
    ),
    "a loop that a bool begins": Case(
        f"(bool c, {TENSORS}) => (float y) {{ y = Loop(, c, x) <body = b (int64 i, bool q, float[P, Q, R] s) => "
        "(bool q2, float[S, T, U] s2) { q2 = Not(q) s2 = Conv(x, w) }> }",
        ({"c": truth(False), **FED},), ({"c": truth(True), **FED},), "c is true", ("c is false",),
    ),
    "a loop that never runs": Case(
        f"({TENSORS}) => (float y) {{ m = Constant <value = int64 {{0}}> () go = Constant <value = bool {{1}}> () "
        f"y = Loop(m, go, x) <{TRIPS % 'Conv(x, w)'}> }}",
        (FED,), (), "", codes=(),
    ),
    "a scan": Case(
        f"(float[N, 2] q, {TENSORS}) => (float y) {{ y = Scan <num_scan_inputs = 1, {SCANNED}> (q) }}",
        (), ({"q": rows(1), **FED},), "N >= 1", ("N <= 0",),
    ),
    "a scan of what is not empty": Case(
        f"(float[3, 2] q, {TENSORS}) => (float y) {{ y = Scan <num_scan_inputs = 1, {SCANNED}> (q) }}",
        (), ({"q": rows(3), **FED},), None,
    ),
    "a sequence": Case(
        f"(seq(float[P]) q, {TENSORS}) => (seq(float) y) {{ y = SequenceMap <{MAPPED}> (q) }}",
        ({"q": [], **FED},), ({"q": [np.ones(2, np.float32)], **FED},), "", (), open=1,
    ),
}  # fmt: skip


def session(proto: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def declared(proto: onnx.ModelProto, rank: int = 3) -> onnx.ModelProto:
    """The model with outputs of a rank, and of no size."""
    for output in proto.graph.output:
        if output.type.HasField("sequence_type"):
            output.type.sequence_type.elem_type.tensor_type.ClearField("shape")
            continue
        output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        del output.type.tensor_type.shape.dim[:]
        for axis in range(rank):
            output.type.tensor_type.shape.dim.add(dim_param=f"{output.name}_{axis}")
    return proto


def made(case: Case) -> onnx.ModelProto:
    domains = ', "local": 1' if case.functions else ""
    return declared(model(case.body, functions=case.functions, domains=domains), 4 if "Scan <" in case.body else 3)


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_one_of_the_runs_that_come_to_it(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    proto = made(case)
    running = session(proto)
    for feeds in case.runs:
        running.run(None, feeds)
    for feeds in case.fails:
        with pytest.raises(FAILURES):
            running.run(None, feeds)

    inference = infer(proto)
    checked = check(proto)
    contract = contract_of(proto).contract
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    failures = [d for d in checked.diagnostics if d.severity is not Severity.NOTE and d.code in ("GI210", "GI301")]
    assert sorted(d.code for d in failures) == sorted(case.codes)
    is_error = case.when is None
    assert bool(inference.errors) is bool(checked.errors) is is_error
    assert checked.exit_code() == CliRunner().invoke(main, ["infer", str(path)]).exit_code == is_error
    assert inference.cost().errors == inference.errors
    if case.when is not None:
        for finding in failures:
            assert finding.severity is Severity.WARNING and finding.conditional_bodies
            assert finding.message.startswith(("fails when taken: ", "fails when it runs: "))
            assert any(line.endswith(f"only where {case.when}" if case.when else "in some runs only")
                       for line in finding.detail), finding.detail  # fmt: skip
    elements = [line.text for line in contract.lines]
    assert tuple(elements) == case.lines
    assert len(contract.open) == case.open
    tensors = [feeds for feeds in (*case.runs, *case.fails) if not any(isinstance(v, list) for v in feeds.values())]
    if case.lines and not is_error:
        for feeds in tensors:
            broken = [violation for violation in contract.check(feeds) if violation.line is not None]
            assert bool(broken) is any(feeds is each for each in case.fails)


def test_two_conditions_leave_a_way() -> None:
    proto = declared(
        model(f"(bool c, bool d, {TENSORS}) => (float y, float z) {{ y = {IF} z = {IF.replace('(c)', '(d)')} }}")
    )
    session(proto).run(None, {"c": truth(False), "d": truth(False), **FED})
    inference = infer(proto)
    assert not inference.errors
    assert [line.text for line in contract_of(proto).contract.lines] == ["c is false", "d is false"]


REFUSED = {
    # what a branch computes -> the code; onnxruntime refuses the file, whichever branch is taken
    "element types": ("k = Cast <to = 7> (x) a = Add(x, k)", "GI211"),
    "a name that is not there": ("a = Relu(nothing)", "GI103"),
    "an operator that is not there": ("a = Nothing(x)", "GI116"),
    "an attribute": ("a = Relu <foo = 3> (x)", "GI106"),
    "an input too many": ("a = Relu(x, x)", "GI107"),
    "an axis": ("a = Softmax <axis = 9> (x)", "GI304"),
    "a rank": ("a = Concat <axis = 0> (x, m)", "GI212"),
    "dims that differ": ("a = MatMul(x, m)", "GI212"),
    "a dim that is not 1": ("i = Constant <value_ints = [2]> () a = Squeeze(x, i)", "GI210"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("taken", ["c", "False"])
def test_what_a_loader_refuses_is_an_error_of_the_file(name: str, taken: str) -> None:
    then, code = REFUSED[name]
    constant = "c2 = Constant <value = bool {0}> ()" if taken == "False" else "c2 = Identity(c)"
    proto = untyped(
        model(f"(bool c, float[1, 1, 5] x, float[3, 4] m) => (float y) {{ {constant} y = If(c2) "
              f"<then_branch = t () => (a) {{ {then} }}, else_branch = e () => (float[D, E, F] b) {{ b = Relu(x) }}> }}")
    )  # fmt: skip
    with pytest.raises(FAILURES):
        session(proto)
    found = [d for d in check(proto).diagnostics if d.severity is Severity.ERROR]
    assert code in {d.code for d in found} or (taken == "False" and found)


RUN_TIME = {
    # what a branch computes -> what onnxruntime finds out only when it runs it
    "a kernel": "a = MaxPool <kernel_shape = [8]> (x)",
    "elements": "i = Constant <value_ints = [2, 3, 1]> () a = Reshape(x, i)",
    "channels": "a = Conv(x, w)",
    "an index": "i = Constant <value_ints = [9]> () a = Gather <axis = 2> (x, i)",
}


@pytest.mark.parametrize("name", RUN_TIME)
def test_what_fails_only_when_it_runs_is_a_warning(name: str) -> None:
    proto = untyped(
        model(f"(bool c, float[1, 1, 5] x, float[1, 2, 2] w) => (float y) {{ y = If(c) <then_branch = t () => (a) "
              f"{{ {RUN_TIME[name]} }}, else_branch = e () => (float[D, E, F] b) {{ b = Relu(x) }}> }}")
    )  # fmt: skip
    running = session(proto)
    feeds = {"x": X, "w": np.ones((1, 2, 2), np.float32)}
    running.run(None, {"c": truth(False), **feeds})
    with pytest.raises(FAILURES):
        running.run(None, {"c": truth(True), **feeds})
    assert not infer(proto).errors
    assert [d.severity for d in infer(proto).diagnostics] == [Severity.WARNING]


def test_a_loader_knows_less_than_a_run() -> None:
    """Nothing of the shape of r stands in the file, so it loads; the run of the branch fails."""
    proto = untyped(
        model("""(bool c, float[N, 12] x) => (float y) {
          s = Shape <end = 1> (x) k = Constant <value_ints = [3, 4]> () t = Concat <axis = 0> (s, k) r = Reshape(x, t)
          one = Constant <value_ints = [1]> ()
          y = If(c) <then_branch = t () => (a) { a = Squeeze(r, one) }, else_branch = e () => (b) { b = Relu(r) }> }""")
    )  # fmt: skip
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    running = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.ones((2, 12), np.float32)
    running.run(None, {"c": truth(False), "x": x})
    with pytest.raises(FAILURES):
        running.run(None, {"c": truth(True), "x": x})
    inference = infer(proto)
    assert not inference.errors
    assert [(d.severity, d.code) for d in inference.diagnostics] == [(Severity.WARNING, "GI210")]


def test_an_index_that_a_loop_may_leave_empty() -> None:
    """The stack of a loop that does not run is an index without elements, and the run is legal."""
    proto = declared(
        model("""(int64 m, float[3] d) => (float y) {
          go = Constant <value = bool {1}> () nine = Constant <value = int64 {9}> ()
          k = Loop(m, go) <body = b (int64 i, bool q) => (bool q2, int64 s) { q2 = Identity(q) s = Identity(nine) }>
          y = Gather(d, k) }"""),
        rank=1,
    )
    running = session(proto)
    d = np.ones(3, np.float32)
    running.run(None, {"m": number(0), "d": d})
    with pytest.raises(FAILURES):
        running.run(None, {"m": number(1), "d": d})
    checked = check(proto)
    assert not checked.errors and not infer(proto).errors
    (finding,) = [f for f in checked.diagnostics if f.code == "GI301"]
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("fails when indices is not empty: ")
    assert len(contract_of(proto).contract.open) == 1


def test_an_index_that_an_empty_input_leaves_empty_is_an_error() -> None:
    """Who gives the model anything sees it fail."""
    proto = untyped(
        model("(float[N] x, float[3] d) => (float y) { s = Shape(x) nine = Constant <value = int64[1] {9}> () "
              "k = Expand(nine, s) y = Gather(d, k) }")
    )  # fmt: skip
    running = session(proto)
    running.run(None, {"x": np.ones(0, np.float32), "d": np.ones(3, np.float32)})
    with pytest.raises(FAILURES):
        running.run(None, {"x": np.ones(1, np.float32), "d": np.ones(3, np.float32)})
    assert [d.code for d in infer(proto).errors] == ["GI301"]


@pytest.mark.parametrize("rewrite", [fold, optimize])
@pytest.mark.parametrize("name", CASES)
def test_a_rewritten_model_runs_and_fails_as_before(name: str, rewrite: Callable[..., Any]) -> None:
    case = CASES[name]
    proto = made(case)
    before, after = session(proto), session(rewrite(proto).proto)
    for feeds in case.runs:
        for one, other in zip(before.run(None, feeds), after.run(None, feeds), strict=True):
            np.testing.assert_array_equal(one, other)
    for feeds in case.fails:
        with pytest.raises(FAILURES):
            after.run(None, feeds)


def test_a_call_that_is_remembered_has_the_conditions_of_its_bodies() -> None:
    proto = declared(
        model(
            "(bool c, float[1, 3, 5] x) => (float y, float z) { y = local.pick(c, x) z = local.pick(c, y) }",
            domains=', "local": 1',
            functions='<domain: "local", opset_import: ["" : 17]> pick (c, x) => (r) { r = If(c) <then_branch = t () => (a) '
            "{ a = Neg(x) }, else_branch = e () => (b) { b = Relu(x) }> }",
        )
    )
    found = infer(proto).conditions
    assert {(str(each.node), each.name, str(each.input_predicate)) for each in found.values()} == {
        (f"pick#{call}/If#0", branch, f"c is {truth}")
        for call in (0, 1)
        for branch, truth in (("then_branch", "true"), ("else_branch", "false"))
    }
    assert all(path == each.body and each.other_branch in found for path, each in found.items())
