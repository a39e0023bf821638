"""Labels of a loss: each is from 0 to C - 1 or the one that is ignored, as the operator's page says.

onnxruntime takes a negative one that is not below -C as well: of these nothing is known to fail.
"""

from __future__ import annotations

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from gather_infer import infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Elements, Outside, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.inference.models import model
from tests.oracle.soundness import Runtime

CLASSES = 4
CASES: dict[str, tuple[str, int, int, str]] = {
    # id: (nodes that make labels l of x, the ends between which they limit it, the verdict or the condition)
    "none ignored": ("", -99, 99, "enough: 0 <= x < 4"),
    "none ignored, from 0": ("", 0, 99, "x < 4"),
    "none ignored, negative": ("", -9, -1, "undecided"),
    "none ignored, before the last from the end": ("", -9, -5, "violated"),
    "none ignored, in bounds": ("", 0, 3, "proved"),
    "none ignored, out of bounds": ("", 5, 8, "violated"),
    "before the first": ("ignore_index = -1", -99, 99, "enough: 0 <= x < 4"),
    "before the first, in bounds": ("ignore_index = -1", 0, 3, "proved"),
    "before the first, past it": ("ignore_index = -1", 0, 9, "x < 4"),
    "before the first, from it": ("ignore_index = -1", -1, 9, "enough: 0 <= x < 4"),
    "before the first, up to it": ("ignore_index = -1", -9, -1, "undecided"),
    "before the first, before it": ("ignore_index = -1", -9, -2, "undecided"),
    "before the first, far before it": ("ignore_index = -1", -9, -5, "violated"),
    "past the last": ("ignore_index = 9", -99, 99, "enough: 0 <= x < 4"),
    "past the last, out of bounds": ("ignore_index = 9", 5, 8, "violated"),
    "past the last, up to it": ("ignore_index = 9", 5, 9, "undecided"),
    "past the last, from it": ("ignore_index = 9", 9, 12, "undecided"),
    "past the last, behind it": ("ignore_index = 9", 10, 12, "violated"),
    "past the last, not reached": ("ignore_index = 9", 1, 8, "x < 4"),
    "past the last, reached": ("ignore_index = 9", 1, 9, "enough: x < 4"),
    "one past the last": ("ignore_index = 4", 1, 4, "enough: x < 4"),
    "one past the last, alone": ("ignore_index = 4", 4, 5, "undecided"),
    "the last": ("ignore_index = 3", 1, 5, "x < 4"),
    "the first": ("ignore_index = 0", 0, 5, "x < 4"),
    "the first, out of bounds": ("ignore_index = 0", 5, 8, "violated"),
    "the last, out of bounds": ("ignore_index = 3", 5, 8, "violated"),
}


def holds(verdict: Verdict, x: int) -> bool:
    for condition in verdict.conditions:
        if isinstance(condition.left, Elements):
            limit = evaluate(condition.right, {})
            if not (x >= limit if condition.relation == ">=" else x < limit):
                return False
        elif evaluate(difference(condition), {}) < 0:
            return False
    return True


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("name", CASES)
def test_labels(name: str, op: str) -> None:
    attribute, least, most, said = CASES[name]
    ignored = int(attribute.split("= ")[1]) if attribute else None
    proto = model(
        f"""(float[N, {CLASSES}] scores, int64[N] x) => (y) {{
        low = Constant<value_int = {least}>() high = Constant<value_int = {most}>() l = Clip(x, low, high)
        y = {op} <{attribute or 'reduction = "sum"'}> (scores, l) }}"""
    )
    found = verdicts(infer(proto))[-1]
    text = (found.condition if found.tight else f"enough: {found.condition}") or str(found.kind)
    assert text == said
    legal = {}
    for x in range(-100, 101):
        label = min(max(x, least), most)
        legal[x] = 0 <= label < CLASSES or label == ignored
    if found.kind is VerdictKind.PROVED:
        assert all(legal.values())
    elif found.kind is VerdictKind.VIOLATED:
        assert not any(legal.values())
        runtime = Runtime(proto)
        for x in (-50, -6, -5, -2, -1, 0, 3, 4, 6, 50):
            with pytest.raises(Fail):
                runtime.run({"scores": np.zeros((1, CLASSES), np.float32), "x": np.array([x])})
    elif found.kind is VerdictKind.CONDITIONAL:
        for x, is_legal in legal.items():
            met = holds(found, x)
            assert met == is_legal if found.tight else met <= is_legal, x


OUTSIDE = {
    # id: (inputs, body, the kind): OpenVINO's Gather gives 0 for an index out of bounds, whatever is known of it
    "an empty index": ("float[9] x, int64[0] i", "proved"),
    "a rank that is not known": ("float x, int64[N] i", "undecided"),
    "in bounds": ("float[9] x, uint8[0] i", "proved"),
    "any": ("float[9] x, int64[N] i", "conditional"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_every_verdict_describes_the_out_of_bounds_result(name: str) -> None:
    inputs, kind = OUTSIDE[name]
    proto = model(
        f"({inputs}) => (y) {{ a = Constant<value_int = 0>() y = openvino.opset8.Gather (x, i, a) }}",
        domains=', "openvino.opset8": 1',
    )
    if name == "a rank that is not known":
        proto.graph.input[0].type.tensor_type.ClearField("shape")
    (found,) = verdicts(infer(proto))
    assert str(found.kind) == kind
    assert found.outside is (Outside.FAILS if found.access.addressing is None else Outside.ZERO)
