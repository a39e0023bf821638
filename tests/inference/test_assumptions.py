"""Which assumptions are listed: those that the nodes do not prove, on their own, wherever in the file they stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from gather_infer import infer
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

FAILURES = (ort_errors.Fail, ort_errors.InvalidArgument, ort_errors.RuntimeException)

SIZE = """s = Shape(x) k = Constant<value = int64 {1}>() n = Gather(s, k) ax = Constant<value = int64[1] {0}>()
  u = Unsqueeze(n, ax) m = Constant<value = int64[1] {-1}>() t = Concat<axis=0>(u, m)"""
COPIES = "y = Reshape(x, t)"  # to [S, -1]; where S is 0 the entry copies N
PROOF = "z = Gather<axis=1>(x, ax)"  # column 0 of x, which has S of them
AS_MANY_AS_AXES = "w = Shape(y) r = Shape(w) i = ConstantOfShape<value = int64[1] {0}>(r)"  # zeros, one an axis of y
SIZES = "q = Shape(y)"
CIRCLE = "f = Gather(q, ax) v = Concat<axis=0>(f, m) z = Reshape(y, v)"  # to [the first dim of y, -1]
FUNCTION = f"""<domain: "local", opset_import: ["" : 17]> copied (x) => (y) {{ {SIZE} {COPIES} }}"""


class Case(NamedTuple):
    """nodes from x: float[N, S] to z, whether S >= 1 is listed, whether a run with S = 0 and N = 2 is legal."""

    nodes: str
    is_listed: bool
    runs_without: bool
    function: str = ""


CASES = {
    "not proved": Case(f"{SIZE} {COPIES} z = Neg(y)", True, True),
    "proved after": Case(f"{SIZE} {COPIES} {PROOF}", False, False),
    "proved before": Case(f"{SIZE} {PROOF} {COPIES}", False, False),
    "proved by what reads the result": Case(
        f"{SIZE} {COPIES} {AS_MANY_AS_AXES} z = Gather<axis=1>(x, i)", False, False
    ),
    "proved by what rests on it": Case(f"{SIZE} {COPIES} {SIZES} {CIRCLE}", True, True),
    "proved by what rests on it, in another order": Case(
        f"{SIZES} {SIZE} {COPIES} b = ConstantOfShape(q) z = Gather(b, ax)", True, True
    ),
    "in a function, proved after": Case(
        f"y = local.copied(x) ax = Constant<value = int64[1] {{0}}>() {PROOF}", False, False, FUNCTION
    ),
    "in a branch, proved after": Case(
        f"""c = Cast<to = 9>(k0) column = Constant<value = int64[1] {{0}}>()
        b = If(c) <then_branch = a () => (y) {{ {SIZE} {COPIES} }}, else_branch = o () => (y2) {{ y2 = Identity(x) }}>
        {PROOF.replace("ax)", "column)")}""",
        False, False,
    ),
}  # fmt: skip


def built(case: Case) -> ModelProto:
    body = f"(float[N, S] x, float[1] k0) => (float[a, b] z) {{ {case.nodes} }}"
    return model(body, functions=case.function, domains=', "local": 1' if case.function else "")


@pytest.mark.parametrize("name", CASES)
def test_assumptions_are_those_that_no_node_proves(name: str) -> None:
    case = CASES[name]
    proto = built(case)
    inference = infer(proto)
    assert inference.errors == ()
    assert ("S >= 1" in {f"{a.dim} >= {a.lower}" for a in inference.assumptions}) is case.is_listed
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": np.zeros((2, 0), np.float32), "k0": np.zeros(1, np.float32)}
    if case.runs_without:
        session.run(None, feeds)
    else:
        with pytest.raises(FAILURES):
            session.run(None, feeds)


def test_what_the_file_says_of_an_operator_proves_nothing() -> None:
    """A Gather of row 0 needs a row, and only the value_info says that `b` has S of them."""
    proto = model(
        f"(float[N, S] x) => (float[c, d] z) {{ b = local.unknown(x) {SIZE} {COPIES} z = Gather(b, ax) }}",
        domains=', "local": 1',
    )
    proto.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, ["S", 4]))
    inference = infer(proto)
    assert str(inference["z"]) == "float32[1, 4]", "it is believed where nothing else is known"
    assert [f"{a.dim} >= {a.lower}" for a in inference.assumptions] == ["S >= 1"]


@pytest.mark.parametrize("order", ["before", "after"])
def test_what_the_file_says_of_a_value_proves_nothing_of_another(order: str) -> None:
    """Only the value_info says that `b` has S - 3 elements, and so that S is not 0."""
    stated, copied = "b = Reshape(x, h)", f"{SIZE} {COPIES}"
    nodes = f"{stated} {copied}" if order == "before" else f"{copied} {stated}"
    proto = untyped(model(f"(float[N, S] x, int64[r] h) => (y) {{ {nodes} }}"))
    proto.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, ["S-3"]))
    exact, runtime = infer(proto, assume=False), Runtime(proto)
    for n, s in ((2, 0), (2, 1), (1, 1), (3, 5)):
        actual = runtime.run({"x": np.zeros((n, s), np.float32), "h": np.array([0, 0])})
        assert compare(exact, actual, {"N": n, "S": s}).wrong == []
    if order == "after":
        assert [f"{a.dim} >= {a.lower}" for a in infer(proto).assumptions] == ["S >= 1"]
