"""`unfreeze`: nodes that the result does not need are removed, others stay; and the journal leads to the result."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
import pytest

from gather_infer import infer, unfreeze
from gather_infer.model.apply import apply
from gather_infer.model.model_loading import to_onnx_file
from gather_infer.unfreezing.needless_nodes import without_needless_nodes
from tests.unfreezing.cases import BATCH, Case, check_dynamic, run
from tests.verification.models import model


class Smaller(NamedTuple):
    """A static model, the dynamic one that it stands for, and the operators of the result."""

    static: str
    dynamic: str
    operators: list[str]


EVERY = "int64[2,3,1] i = {0,1,2,3,4,5}"
"""An index of all positions of two merged rows, one after the other."""

CASES = {
    "an Expand to the sizes of its data": Smaller(
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> { e = Expand(x, s) y = Neg(e) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Neg(x) }",
        ["Neg"],
    ),
    "an Expand that is an output": Smaller(
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> { n = Neg(x) y = Expand(n, s) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Neg(x) }",
        ["Neg"],
    ),
    "an Expand of an input that is an output": Smaller(
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> { y = Expand(x, s) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Identity(x) }",
        ["Expand"],
    ),
    "an Expand that repeats": Smaller(
        "(float[2,1] x) => (float[2,3] y) <int64[2] s = {2,3}> { e = Expand(x, s) y = Neg(e) }",
        "(float[batch,1] x) => (float[batch,3] y) <int64[2] s = {1,3}> { e = Expand(x, s) y = Neg(e) }",
        ["Expand", "Neg"],
    ),
    "an index of each position of each row": Smaller(
        f"(float[2,3] x) => (float[2,3,1] y) <int64[1] s = {{6}}, {EVERY}> "
        "{ r = Reshape(x, s) g = Gather(r, i) y = Neg(g) }",
        "(float[batch,3] x) => (float[batch,3,1] y) <int64[3] s = {-1,3,1}> { r = Reshape(x, s) y = Neg(r) }",
        ["Unsqueeze", "Neg"],
    ),
    "a Reshape of what such an index reads": Smaller(
        f"(float[2,3] x) => (float[2,1,3] y) <int64[1] s = {{6}}, int64[3] t = {{2,1,3}}, {EVERY}> "
        "{ f = Flatten<axis=2>(x) g = Gather(f, i) r = Reshape(g, t) y = Neg(r) }",
        "(float[batch,3] x) => (float[batch,1,3] y) <int64[3] s = {-1,1,3}> { r = Reshape(x, s) y = Neg(r) }",
        ["Reshape", "Neg"],
    ),
    "old size 1: an index of each position": Smaller(
        "(float[1,3] x) => (float[1,3,1] y) <int64[1] s = {3}, int64[1,3,1] i = {0,1,2}> "
        "{ r = Reshape(x, s) g = Gather(r, i) y = Neg(g) }",
        "(float[batch,3] x) => (float[batch,3,1] y) <int64[3] s = {-1,3,1}> { r = Reshape(x, s) y = Neg(r) }",
        ["Unsqueeze", "Neg"],
    ),
    "an index of each position, but backwards": Smaller(
        "(float[2,3] x) => (float[2,3] y) <int64[1] s = {6}, int64[2,3] i = {2,1,0,5,4,3}> "
        "{ r = Reshape(x, s) g = Gather(r, i) y = Neg(g) }",
        "(float[batch,3] x) => (float[batch,3] y) <int64[3] i = {2,1,0}> { g = Gather<axis=1>(x, i) y = Neg(g) }",
        ["Reshape", "Shape", "Reshape", "Range", "Reshape", "Mul", "Add", "Gather", "Neg"],
    ),
    "a Reshape that cuts an axis, and one that joins it": Smaller(
        "(float[2,6] x) => (float[2,6] y) <int64[3] s = {2,2,3}, int64[2] t = {2,6}> "
        "{ r = Reshape(x, s) j = Reshape(r, t) y = Neg(j) }",
        "(float[batch,6] x) => (float[batch,6] y) { y = Neg(x) }",
        ["Neg"],
    ),
    "sizes that nodes of the file compute, beside an edit": Smaller(
        "(float[1,6] x) => (float[1,2,3] y, float[1,3,2] z) "
        "<int64 i = {0}, int64[1] a = {0}, int64[2] k = {2,3}, int64[3] f = {1,3,2}> "
        "{ s = Shape(x) g = Gather(s, i) u = Unsqueeze(g, a) t = Concat<axis=0>(u, k) y = Reshape(x, t) "
        "z = Reshape(x, f) }",
        "(float[batch,6] x) => (float[batch,2,3] y, float[batch,3,2] z) <int64[3] s = {-1,2,3}, int64[3] f = {-1,3,2}> "
        "{ y = Reshape(x, s) z = Reshape(x, f) }",
        ["Reshape", "Reshape"],
    ),
    "a Reshape whose axis of 1 a Transpose moves": Smaller(
        "(float[2,6] x) => (float[2,1,6] y) <int64[3] s = {2,6,1}> "
        "{ n = Neg(x) r = Reshape(n, s) t = Transpose<perm=[0,2,1]>(r) y = Abs(t) }",
        "(float[batch,6] x) => (float[batch,1,6] y) <int64[1] a = {1}> { u = Unsqueeze(x, a) y = Abs(u) }",
        ["Neg", "Reshape", "Abs"],
    ),
    "an Identity of a Reshape that is edited": Smaller(
        "(float[2,6] x) => (float[2,2,3] y) <int64[3] s = {2,2,3}> { r = Reshape(x, s) a = Identity(r) y = Neg(a) }",
        "(float[batch,6] x) => (float[batch,2,3] y) <int64[3] s = {-1,2,3}> { r = Reshape(x, s) y = Neg(r) }",
        ["Reshape", "Identity", "Neg"],
    ),
    "nodes that are not edited": Smaller(
        "(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> "
        "{ t = Transpose(x) u = Transpose(t) a = Identity(u) e = Expand(a, s) n = Neg(e) y = Neg(n) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Identity(x) }",
        ["Transpose", "Transpose", "Identity", "Neg", "Neg"],
    ),
    "a branch that reads what an Expand gave": Smaller(
        "(float[2,3] x, bool c) => (float[2,3] y) <int64[2] s = {2,3}> { n = Neg(x) e = Expand(n, s) "
        "y = If(c) <then_branch = t () => (p) { p = Abs(e) }, else_branch = f () => (q) { q = Exp(e) }> }",
        "(float[batch,3] x, bool c) => (float[batch,3] y) { n = Neg(x) "
        "y = If(c) <then_branch = t () => (p) { p = Abs(n) }, else_branch = f () => (q) { q = Exp(n) }> }",
        ["Neg", "If"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_result_has_these_nodes(name: str) -> None:
    static, dynamic, operators = CASES[name]
    if "bool c" in static:
        result = unfreeze(model(static), BATCH)
        assert not result.refused, result.why_refused
        for size in (1, 2, 3, 5):
            x = np.random.default_rng(size).standard_normal((size, 3)).astype(np.float32)
            for c in (False, True):
                feeds = {"x": x, "c": np.array(c)}
                np.testing.assert_array_equal(run(model(dynamic), feeds)[0], run(result.proto, feeds)[0])
        assert [node.op_type for node in result.proto.graph.node] == operators
        return
    assert [node.op_type for node in check_dynamic(Case(static, dynamic)).graph.node] == operators


@pytest.mark.parametrize("name", CASES)
def test_the_journal_leads_to_the_result(name: str) -> None:
    result = unfreeze(model(CASES[name].static), BATCH)
    found = apply(result.journal, result.source.proto)
    assert list(found.graph.node) == list(result.proto.graph.node)
    assert {t.name for t in found.graph.initializer} == {t.name for t in result.proto.graph.initializer}
    assert len(result.edits) and not any("#" in line for line in result.edits)


def test_the_journal_tells_why_a_node_is_gone() -> None:
    result = unfreeze(model(CASES["an Expand to the sizes of its data"].static), BATCH)
    assert result.edits == [
        "unfreezing: let Neg y read x instead of e: Expand(x) == x, the shape of x is the result's",
        "unfreezing: remove Expand e: Expand(x) == x, the shape of x is the result's",
        "unfreezing: remove s: nothing reads it any more",
    ]


def test_nodes_stay_if_none_is_edited() -> None:
    static = model(
        "(float[1,6] x) => (float[1,2,3] y) <int64 i = {0}, int64[1] a = {0}, int64[2] k = {2,3}> "
        "{ s = Shape(x) g = Gather(s, i) u = Unsqueeze(g, a) t = Concat<axis=0>(u, k) y = Reshape(x, t) }"
    )
    result = unfreeze(static, BATCH)
    assert not result.refused and list(result.proto.graph.node) == list(static.graph.node)


def test_what_failed_before_fails_still() -> None:
    """A Reshape into groups of 4 fails at a length of 6, although a later one joins the groups again."""
    text = "(float[{0},length] x) => (float[{0},length] y) <int64[3] {1} = {{{2},-1,{3}}}, int64[2] {4} = {{{2},-1}}> "
    text += "{{ r = Reshape(x, {1}) j = Reshape(r, {4}) y = Neg(j) }}"
    file = to_onnx_file(model(text.format(2, "s", 2, 4, "t")))
    for width, operators in ((4, None), (1, ["Neg"])):
        edited = model(text.format("batch", "u", 0, width, "v"))
        found = without_needless_nodes(file, edited, infer(edited), ())
        assert (found if found is None else [node.op_type for node in found.proto.graph.node]) == operators


def test_all_nodes_stay_if_a_length_is_free() -> None:
    static = model("(float[2,3] x) => (float[2,3] y) <int64[2] s = {2,3}> { e = Expand(x, s) y = Neg(e) }")
    for dims in (["x.1=seq"], ["x.0=batch", "x.1=seq"]):
        result = unfreeze(static, dims)
        assert [node.op_type for node in result.proto.graph.node] == ["Expand", "Neg"]


def test_a_call_of_a_function_stays() -> None:
    """It would be inlined if a node of it read another value."""
    text = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]> g (float[2,3] x) => (float[2,3] y) '
    text += "<int64[2] s = {2,3}> { n = Neg(x) e = Expand(n, s) y = local.twice(e) }"
    static = onnx.parser.parse_model(text)
    local = '<domain: "local", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }'
    static.functions.append(onnx.parser.parse_function(local))
    result = unfreeze(static, BATCH)
    assert [node.op_type for node in result.proto.graph.node] == ["Neg", "Expand", "twice"]
