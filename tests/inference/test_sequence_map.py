"""SequenceMap in a table, held against onnxruntime: what each member becomes, and what is known of all."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.symbolic import symbol
from gather_infer.tensor import SequenceType
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

NAMES = r"\b({})\b"
HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() v0 = Constant<value_ints = [0]>() w1 = Constant<value_ints = [1]>()
    d = Concat<axis = 0>(x, x) two = SequenceConstruct(x, x) mixed = SequenceConstruct(x, d) empty = SequenceEmpty<dtype = 1>()
    parts = SplitToSequence<axis = 1, keepdims = 0>(x) """
MAPS = {
    # id:                    (nodes, the members of y)
    "the same":              ("y = SequenceMap(two) <body = b (float[a, 3] m) => (float[a2, 3] r) { r = Neg(m) }>", "2 of float32[N, 3]"),
    "other sizes":           ("y = SequenceMap(mixed) <body = b (float[a, 3] m) => (float[a2, 3] r) { r = Neg(m) }>", "2 of float32[?, 3]"),
    "with a tensor":         ("y = SequenceMap(two, d) <body = b (float[a, 3] m, float[c, 3] t) => (float[a2, 3] r) { r = Concat<axis = 0>(m, t) }>", "2 of float32[3*N, 3]"),
    "with a sequence":       ("y = SequenceMap(two, mixed) <body = b (float[a, 3] m, float[c, 3] t) => (float[a2, 3] r) { r = Concat<axis = 0>(m, t) }>", "2 of float32[?, 3]"),
    "with what is outside":  ("y = SequenceMap(two) <body = b (float[a, 3] m) => (float[a2, 3] r) { r = Concat<axis = 0>(m, d) }>", "2 of float32[3*N, 3]"),
    "another rank":          ("y = SequenceMap(two) <body = b (float[a, 3] m) => (float[a2] r) { r = ReduceSum<keepdims = 0>(m, w1) }>", "2 of float32[N]"),
    "sizes":                 ("y = SequenceMap(mixed) <body = b (float[a, 3] m) => (int64[2] r) { r = Shape(m) }>", "2 of int64[2] = [?, 3]"),
    "none":                  ("y = SequenceMap(empty) <body = b (float[a, 3] m) => (float[a2, 3] r) { r = Neg(m) }>", "0 of float32[...]"),
    "three from a split":    ("y = SequenceMap(parts) <body = b (float[a] m) => (float[a2, 1] r) { r = Unsqueeze(m, w1) }>", "3 of float32[N, 1]"),
    "by data":               ("y = SequenceMap(two) <body = b (float[a, 3] m) => (int64[2, k] r) { r = NonZero(m) }>", "2 of int64[2, ?]"),
    "two results":           ("z, y = SequenceMap(two) <body = b (float[a, 3] m) => (float[a2, 3] r, float[b2, 3] s) { r = Neg(m) s = Concat<axis = 0>(m, m) }>", "2 of float32[2*N, 3]"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_members(name: str) -> None:
    nodes, expected = MAPS[name]
    proto = untyped(model(f"(float[N, 3] x) => (y) {{ {HEAD} {nodes} }}"))
    inference, runtime = infer(proto), Runtime(proto)
    assert inference.errors == ()
    for n in (1, 2, 5, 0):
        x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
        assert compare(inference, runtime.run({"x": x}), {"N": n}).wrong == [], n
    y = inference["y"]
    assert isinstance(y, SequenceType)
    assert f"{y.length} of {re.sub(NAMES.format('|'.join(inference.causes) or '-'), '?', str(y.element))}" == expected


def test_an_access_in_the_body_is_recorded_once() -> None:
    proto = untyped(
        model(f"""(float[N, 3] x, int64[K] ids) => (y) {{ {HEAD}
            y = SequenceMap(two, ids) <body = b (float[a, 3] m, int64[k] t) => (float[k, 3] r) {{ r = Gather(m, t) }}> }}""")
    )
    assert [(a.op_type, a.indices) for a in infer(proto).accesses] == [("Gather", "t")]


@pytest.mark.parametrize(
    ("members", "least"), [("SequenceConstruct(x, x)", 6), ("Split", None), ("SequenceEmpty<dtype = 1>()", None)]
)
def test_what_a_member_implies_holds_where_there_is_one(members: str, least: int | None) -> None:
    """The body reads row 5 of w: there are six, unless no member is there to ask for it."""
    made = "SplitToSequence<axis = 0>(x, one)" if members == "Split" else members
    proto = model(f"""(float[N, 3] x, float[M] w) => (y) {{ {HEAD} five = Constant<value_int = 5>() q = {made}
        y = SequenceMap(q) <body = b (float[a, 3] m) => (float r) {{ r = Gather(w, five) }}> }}""")
    assert infer(proto).known.bounds(symbol("M")).lo == (least or 0)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_members_that_are_known_are_mapped_one_by_one(count: int) -> None:
    body = "<body = b (int64[2] m) => (int64[2] r) { r = Neg(m) }>"
    members = ", ".join(["s"] * count)
    nodes = f"s = Shape(x) q = SequenceConstruct({members}) p = SequenceMap(q) {body} y = SequenceAt(p, zero)"
    proto = untyped(model(f"(float[N, 3] x) => (y) {{ {HEAD} {nodes} }}"))
    inference, runtime = infer(proto), Runtime(proto)
    assert str(inference["y"]) == "int64[2] = [-N, -3]"
    for n in (0, 1, 5):
        assert compare(inference, runtime.run({"x": np.ones((n, 3), np.float32)}), {"N": n}).wrong == [], n
