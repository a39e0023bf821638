"""Bodies of a dialect: what a walk through one leaves behind, and what it is remembered by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import onnx
import pytest

from gather_infer import Inference, ModelFile, SymbolicTensor, infer
from gather_infer.dialect import Builder, DialectOp, LoweredBody
from gather_infer.node_ids import MAIN
from gather_infer.rules import OpCall
from gather_infer.validate.contract_builder import contract
from gather_infer.versioned import VersionedTable

FIRST = "f (x) => (y) { i = Constant<value_int = 0>() t = Gather(x, i) y = Identity(x) }"
COLUMN = "f (x) => (y, z) { y, z = Split<axis = 1, num_outputs = 2>(x) }"


@dataclass(frozen=True)
class Own:
    """A dialect with one operator."""

    text: str
    is_alike: bool = False
    domain: str = "own"

    def find(self, op_type: str, version: int) -> Builder | None:
        return self.body if op_type == "F" else None

    def addresses(self, op_type: str, version: int) -> dict[int, int]:
        return {}

    def operators(self) -> VersionedTable[DialectOp]:
        return VersionedTable(self.domain, "bodies", [("F", DialectOp("F", 1, self.body))])

    def body(self, call: OpCall) -> LoweredBody:
        made = onnx.parser.parse_function(f'<domain: "own", opset_import: ["" : 21]> {self.text}')
        return LoweredBody(made, self.is_alike)


def inferred(dialect: Own, graph: str) -> Inference:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21, "own" : 1]> {graph}')
    return infer(replace(ModelFile.from_proto(model), dialects=(dialect,)))


@pytest.mark.parametrize(("is_alike", "size"), [(False, "min(1, N)"), (True, "1")])
def test_what_a_body_implies_stays_inside_unless_the_node_fails_too(is_alike: bool, size: str) -> None:
    """A Gather of row 0 fails without rows; of no rows a Slice of the first has none."""
    graph = """g (float[N] x) => (s) <int64[1] a = {0}, int64[1] b = {1}>
        { y = own.F(x) s = Slice(x, a, b) }"""
    found = inferred(Own(FIRST, is_alike), graph)["s"]
    assert isinstance(found, SymbolicTensor) and found.shape is not None
    assert [str(dim) for dim in found.shape] == [size]


def test_constraints_of_a_body_are_sufficient_for_a_node_that_may_fail_otherwise() -> None:
    graph = "g (float[N] x, float[M] z) => (y) { y = own.F(x, z) }"
    text = "F (x, z) => (y) { y = Add(x, z) }"
    same, other = (contract(inferred(Own(text, is_alike), graph)).contract for is_alike in (True, False))
    assert [(line.text, line.tight) for line in same.lines] == [("N == M or N == 1 or M == 1", True)]
    assert [(line.text, line.tight) for line in other.lines] == [("N == M or N == 1 or M == 1", False)]


def test_nodes_of_equal_facts_and_other_lineage_are_not_the_same() -> None:
    """Both tensors are [N, 2] with elements in [0, 8]; their first columns end at 3 and at 8."""
    graph = """g (int64[N, 1] i) => (p, q) <int64 zero = {0}, int64 three = {3}, int64 eight = {8}>
        { a = Clip(i, zero, three) b = Clip(i, zero, eight) v = Concat<axis = 1>(a, b) w = Concat<axis = 1>(b, a)
          p, o = own.F(v) q, r = own.F(w) }"""
    inference = inferred(Own(COLUMN), graph)
    ends = [str(inference[name].value_range) for name in ("p", "q")]
    assert ends[1] != ends[0], ends


def test_an_input_that_is_left_out_is_absent_in_the_body() -> None:
    """A Clip without its least and with its most; no finding says that something is not defined."""
    text = "f (x, low, high) => (y) { y = Clip(x, low, high) }"
    graph = """g (int64[N] x) => (y) <int64 eight = {8}> { y = own.F(x, , eight) }"""
    for is_alike in (False, True):
        inference = inferred(Own(text, is_alike), graph)
        assert inference.diagnostics == ()
        found = inference["y"]
        assert isinstance(found, SymbolicTensor) and found.value_range is not None and found.value_range.hi == 8


@pytest.mark.parametrize("is_alike", [False, True])
def test_what_the_nodes_of_a_body_say(is_alike: bool) -> None:
    """A body that fails where its node does preserves the implied constraints; its accesses are not reported."""
    text = "f (x, w, t, i) => (y) { a = Gather(t, i) s = Concat<axis = 1>(x, w) y = Neg(s) }"
    graph = "g (float[N, 2] x, float[M, 3] w, float[9] t, int64[K] i) => (y) { y = own.F(x, w, t, i) }"
    found = inferred(Own(text, is_alike), graph)
    assert [str(c) for c in found.constraints] == (["N == M"] if is_alike else [])
    assert found.accesses == () and found.diagnostics == ()
    y = found["y"]
    assert isinstance(y, SymbolicTensor) and y.shape is not None and y.shape[1] == 5


@pytest.mark.parametrize("is_alike", [False, True])
def test_the_graphs_of_a_body_are_not_those_of_the_model(is_alike: bool) -> None:
    text = """f (x, c) => (y) { y = If(c) <
        then_branch = t () => (float[a] o) { o = Neg(x) }, else_branch = e () => (float[a] p) { p = Abs(x) }> }"""
    found = inferred(Own(text, is_alike), "g (float[N] x, bool c) => (y) { y = own.F(x, c) }")
    assert list(found.scopes) == list(found.labels) == [MAIN]
    assert found["y"] == found["x"]
