# ruff: noqa: E501  (models as text)
"""Which rewrites of a caller's rule are made: those that add no node, no bytes to a run, and few to the constants.

Each model is one with which a cost would come out right if it were counted wrongly in one way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from gather_infer.ir.constant import Constant
from gather_infer.passes import optimize
from gather_infer.passes.loadability import ProtectedValues
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet


@dataclass(frozen=True)
class Asked:
    """A rule that is asked about one node: the graph, the operator, and what takes the place of the first output."""

    text: str
    op_type: str
    make: Callable[[Match], str]
    max_growth: int = 1 << 20

    def is_made(self) -> bool:
        """Whether `optimize` makes the rewrite."""
        rules = RewriteSet(self.op_type.rpartition(".")[0])

        @rules.rewrites(self.op_type.rpartition(".")[2], name="asked")
        def asked(site: Match) -> Rewrite | None:
            if site.output() != "b" or site.node.origin is None:
                return None  # what it has made is called b as well
            return site.replace_with("law", self.make(site), *[""] * (len(site.outputs) - 1))

        with mock.patch.object(
            ProtectedValues, "extend_for", return_value=False
        ):  # not every law here is true of the dims
            result = optimize(parsed(self.text), rewrites=[rules], passes=["asked"], max_growth=self.max_growth)
        return bool(result.applied)


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "own": 1]> {text}')


def two_nodes(value: str) -> Callable[[Match], str]:
    """Two nodes, the first of which reads a value."""
    return lambda site: site.new("Neg", [site.new("Neg", [value])])


def one_node(op_type: str, *inputs: str) -> Callable[[Match], str]:
    return lambda site: site.new(op_type, inputs)


def zeros(count: int) -> Callable[[Match], str]:
    """A constant of float32."""
    return lambda site: site.add_constant(Constant(TensorProto.FLOAT, np.zeros(count, "<u4")))


def in_a_sequence(site: Match) -> str:
    return site.new("SequenceAt", [site.new("SequenceConstruct", ["x", "x"]), "i"])


REFUSED = {
    "another output of what it reads is read elsewhere": Asked(
        "g (float[2] x, float[1] k) => (float[1] y, float[1] z) { s, t = Split<num_outputs = 2>(x) b = Neg(s) y = Abs(b) z = Exp(t) }",
        "Neg", two_nodes("k"),
    ),
    "another output of its own is read": Asked(
        "g (float[2] x) => (float[1] y, float[1] z) { b, t = Split<num_outputs = 2>(x) y = Abs(b) z = Exp(t) }",
        "Split", one_node("Neg", "x"),
    ),
    "what it reads may do something else": Asked(
        "g (float[2] x, float[1] k) => (float[2] y) { f = own.F(x) b = Neg(f) y = Abs(b) }"
        '<domain: "own", opset_import: ["": 21, "other": 1]> F (p) => (q) { q = other.F(p) }', "Neg", two_nodes("k")
    ),
    "what it reads is read by the new ones": Asked(
        "g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }", "Neg", two_nodes("a")
    ),
    "what it reads is an output": Asked(
        "g (float[2] x, float[1] k) => (float[2] y, float[2] a) { a = Relu(x) b = Neg(a) y = Abs(b) }", "Neg", two_nodes("k")
    ),
    "a constant that goes is no node": Asked(
        "g (float[2] x) => (float[2] y) { a = Constant<value_floats = [1.0, 2.0]>() b = Mul(x, a) y = Abs(b) }",
        "Mul", two_nodes("x"),
    ),
    "an operator of another domain is called Constant": Asked(
        "g (float[8] x, float[1] k) => (float[8] y) { b = Neg(x) y = Abs(b) }",
        "Neg", lambda site: site.new("Constant", [site.new("Neg", ["k"])], domain="own"),
    ),
    "it reads a large constant": Asked(
        "g (float[1] x) => (float[K] y, float[70] v) <float[70] w = {" + ", ".join("1" * 70) + "}> { b = Neg(x) y = Abs(b) v = Neg(w) }", "Neg", one_node("Min", "x", "w")
    ),
    "a Shape that goes has read nothing": Asked(
        "g (float[900] x, int64[9] z) => (int64[A] y, float[900] v) { s = Shape(x) b = Neg(s) y = Abs(b) v = Neg(x) }",
        "Neg", one_node("Neg", "z"),
    ),
    "it makes a sequence": Asked(
        "g (float[2] x, int64 i) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }", "Neg", in_a_sequence
    ),
    "what it makes is of an unknown size": Asked(
        "g (float[2] x) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }",
        "Neg", lambda site: site.new("Neg", [site.new("F", ["x"], domain="own")]),
    ),
    "a constant that others may give does not go": Asked(
        "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { b = Mul(x, w) y = Abs(b) }", "Mul", zeros(2), max_growth=7
    ),
    "one byte more than the constants may grow": Asked(
        "g (float[2] x) => (float[2] y) { b = Neg(x) y = Abs(b) }", "Neg", zeros(2), max_growth=7
    ),
}  # fmt: skip

MADE = {
    "one node for one": Asked("g (float[2] x) => (float[2] y) { b = Neg(x) y = Abs(b) }", "Neg", one_node("Relu", "x")),
    "what it reads goes": Asked(
        "g (float[2] x, float[1] k) => (float[2] y) { a = Relu(x) b = Neg(a) y = Abs(b) }", "Neg", two_nodes("k")
    ),
    "what it reads goes, which has two outputs": Asked(
        "g (float[2] x, float[1] k) => (float[1] y) { s, t = Split<num_outputs = 2>(x) b = Neg(s) y = Abs(b) }", "Neg", two_nodes("k")
    ),
    "it reads a small constant": Asked(
        "g (float[1] x) => (float[K] y, float[64] v) <float[64] w = {" + ", ".join("1" * 64) + "}> { b = Neg(x) y = Abs(b) v = Neg(w) }",
        "Neg", lambda site: site.new("ReduceMax", ["w"], keepdims=0),
    ),
    "its result is of an unknown size before and after": Asked(
        "g (float[2] x) => (float[K] y) { b = own.F(x) y = Abs(b) }", "own.F", lambda site: site.new("H", ["x"], domain="own")
    ),
    "a constant in the place of one": Asked(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { b = Mul(x, w) y = Abs(b) }", "Mul", zeros(2), max_growth=0
    ),
    "a constant in the place of a node of one": Asked(
        "g (float[2] x) => (float[2] y) { w = Constant<value_floats = [1.0, 2.0]>() b = Mul(x, w) y = Abs(b) }", "Mul", zeros(2), max_growth=0
    ),
    "as many bytes as the constants may grow": Asked(
        "g (float[2] x) => (float[2] y) { b = Neg(x) y = Abs(b) }", "Neg", zeros(2), max_growth=8
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str) -> None:
    assert not REFUSED[what].is_made()


@pytest.mark.parametrize("what", MADE)
def test_made(what: str) -> None:
    assert MADE[what].is_made()
