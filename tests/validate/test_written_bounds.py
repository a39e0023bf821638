"""Conditions on sizes that stand for expressions, as what two dims broadcast to: exact, in those of the inputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.symbolic import evaluate, free_symbols, known_le, symbol
from gather_infer.validate import VerdictKind, verdicts
from gather_infer.validate.bounds import verdict
from gather_infer.validate.condition import Elements, difference
from tests.inference.models import model
from tests.oracle.graph_builder import REFUSALS
from tests.oracle.soundness import Runtime

SIZES = (0, 1, 2, 5, 6, 7)
MODELS = {
    # id: (nodes, the condition)
    "the axis": ("i = Constant<value_ints = [5]>() s = Add(x, y) z = Gather(s, i)", "A*B >= 6 and max(A, B) >= 6"),
    "from the end": ("i = Constant<value_ints = [-6]>() s = Add(x, y) z = Gather(s, i)", "A*B >= 6 and max(A, B) >= 6"),
    "the index": (
        """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() s = Add(x, y) e = Shape(s) n = Squeeze(e)
        i = Range(zero, n, one) z = Gather(table, i)""",
        None,
    ),
    "twice": ("i = Constant<value_ints = [5]>() s = Add(x, y) t = Mul(s, x) z = Gather(t, i)", None),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_condition_on_what_dims_broadcast_to(name: str) -> None:
    nodes, text = MODELS[name]
    proto = model(f"(float[A] x, float[B] y, float[6] table) => (z) {{ {nodes} }}", opset=18)
    inference = infer(proto)
    (found,) = verdicts(inference)
    assert found.kind is VerdictKind.CONDITIONAL and found.tight
    assert text is None or str(found.condition) == text
    conditions = [c for c in found.conditions if not isinstance(c.left, Elements)]
    assert len(conditions) == len(found.conditions)
    assert all(free_symbols(difference(c)) <= {"A", "B"} for c in conditions)
    runtime = Runtime(proto)
    for a, b in itertools.product(SIZES, repeat=2):
        if a != b and 1 not in (a, b):
            continue  # an Add of these fails
        feeds = {n: np.ones(size, np.float32) for n, size in (("x", a), ("y", b), ("table", 6))}
        holds = all(evaluate(difference(c), {"A": a, "B": b}) >= 0 for c in conditions)
        if holds:
            runtime.run(feeds)
        else:
            with pytest.raises(REFUSALS):
                runtime.run(feeds)


@pytest.mark.parametrize("table", ["float[0, 2]", "float[9, 2]", "float[R, 2]"])
def test_a_verdict_teaches_nothing(table: str) -> None:
    """That an index has an element is supposed while it is judged, and forgotten."""
    inference = infer(model(f"({table} t, int64[N] i) => (z) {{ z = Gather(t, i) }}", opset=18))
    (access,) = inference.accesses
    assert access.facts_before is not None
    first = verdict(access)
    assert known_le(1, symbol("N"), access.facts_before.scope) is None
    assert verdict(access) == first
