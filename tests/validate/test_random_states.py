"""Seeded random loops that hand on an index which begins at an input: verdicts hold in runs of onnxruntime."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.validate import Elements, VerdictKind, verdicts
from tests.validate.access_models import by_node
from tests.validate.bound_runs import session
from tests.validate.pattern_models import holds

onnxruntime.set_default_logger_severity(4)
MODELS = 240
CHUNKS = 4
FIRST = (-(2**63), -(2**63) + 1, -9, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 8, 2**62, 2**63 - 2, 2**63 - 1)

ENDS = ("d = Identity (c)", "d = Identity (c)", "d = Identity (c)", "d = Less (i, k)", "d = Identity (p)")
STATES = (
    "w = Add (v, k)",
    "w = Add (v, one)",
    "w = Sub (v, k)",
    "w = Sub (v, one)",
    "w = Sub (k, v)",
    "w = Neg (v)",
    "w = Mul (v, two)",
    "w = Div (v, two)",
    "w = Identity (v)",
    "w = Identity (i)",
    "w = Identity (first)",
    "w = Add (v, i)",
    "w = Add (first, i)",
    "w = Min (v, k)",
    "w = Max (v, k)",
    "a = Add (v, one) w = Mod (a, m)",
    "a = Add (v, one) g = Less (a, m) w = Where (g, a, zero)",
    "a = Add (v, one) w = If (p) <then_branch = g () => (u) { u = Identity (a) }, "
    "else_branch = h () => (q) { q = Identity (v) }>",
)
INDICES = (
    "j = Identity (v)",
    "j = Identity (v)",
    "j = Add (v, k)",
    "j = Sub (k, v)",
    "j = Div (v, two)",
    "j = Mul (v, two)",
    "j = Add (v, i)",
    "j = Sub (v, i)",
    "j = Clip (v, k, m)",
    "l = Less (v, zero) n0 = Add (v, m) j = Where (l, n0, v)",
    "e0 = Add (v, m) j = Range (v, e0, one)",
    "e0 = Add (v, i) j = Range (v, e0, one)",
    "j = Range (zero, i, one)",
)


def loop_model(seed: int) -> onnx.ModelProto:
    """The model of a seed."""
    choice = random.Random(seed)
    rows = choice.choice(["N", "N", 2, 5])
    trips = choice.choice(["t = Shape (z) n = Squeeze (t)", "n = Identity (trips)", "n = Identity (two)"])
    step = f"{choice.choice(STATES)} {choice.choice(ENDS)}"
    index = choice.choice(INDICES)
    sides = "(int64 i, bool c, int64 v, float s) => (bool d, int64 w, float o)"
    match choice.choice(["inside", "inside", "inside", "branch", "behind"]):
        case "inside":
            body = f"{step} {index} r = Gather (x, j) b = ReduceSum <keepdims = 0> (r) o = Add (s, b)"
        case "branch":
            body = (
                f"{step} {index} o = If (p) <then_branch = a0 () => (u0) {{ r = Gather (x, j) "
                "b = ReduceSum <keepdims = 0> (r) u0 = Add (s, b) }, else_branch = e () => (q0) { q0 = Identity (s) }>"
            )
        case _:
            body = f"{step} o = Identity (s)"
    text = f"f, y = Loop (n, , first, f0) <body = b {sides} {{ {body} }}>"
    if "Gather" not in text:
        text = f"{text.replace('f, y', 'f, y0')} y = Gather (x, f)"
    numbers = {"k": choice.randint(-3, 4), "m": choice.randint(1, 4), "zero": 0, "one": 1, "two": 2}
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[{rows}] x, float[M] z, int64 first, int64 trips, bool p) '
        f"=> (y) <float f0 = {{0.0}}, {', '.join(f'int64 {name} = {{{number}}}' for name, number in numbers.items())}> "
        f"{{ {trips} {text} }}"
    )
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model


def runs(runtime: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> bool:
    try:
        runtime.run(None, {i.name: feeds[i.name] for i in runtime.get_inputs()})
    except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
        assert "out of" in str(error).lower() or "invalid" in str(error).lower(), error
        return False
    return True


def check_seed(seed: int) -> VerdictKind | None:
    """The class of the access of a seed."""
    model = loop_model(seed)
    found = by_node(verdicts(gather_infer.infer(model, assume=False)))
    if not found:
        return None
    verdict = found[-1]
    (rows,) = (d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim)
    runtime = session(model)
    is_whole = all(c.left.whole for c in verdict.conditions if isinstance(c.left, Elements))
    # what may not come to the access, or come to it with nothing to read, is no reason to fail
    is_read = "If" not in str(model) and "Range" not in str(model) and is_whole
    sizes = itertools.product((rows,) if rows else (0, 1, 2, 5), (0, 1, 3), (-1, 0, 1, 4), FIRST, (True, False))
    for size, m, trips, first, flag in sizes:
        feeds: dict[str, np.ndarray] = {
            "x": np.zeros(size, np.float32), "z": np.zeros(m, np.float32), "first": np.array(first),
            "trips": np.array(trips), "p": np.array(flag),
        }  # fmt: skip
        binding = {"N": size, "M": m}
        met = all(holds(c, binding, feeds) for c in verdict.conditions)
        case = (seed, binding, trips, first, flag, verdict.text())
        if verdict.kind is VerdictKind.PROVED or (verdict.kind is VerdictKind.CONDITIONAL and met):
            assert runs(runtime, feeds), case
        elif is_read and m > 0 and trips > 0:
            is_out = verdict.kind is VerdictKind.VIOLATED or not all(
                holds(c, binding, feeds) for c in verdict.conditions if c.tight
            )
            assert not is_out or not runs(runtime, feeds), case
    return verdict.kind


@pytest.mark.sampled(4)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_of_random_states_hold(chunk: int) -> None:
    seen = Counter(check_seed(seed) for seed in range(chunk, MODELS, CHUNKS))
    assert {VerdictKind.CONDITIONAL, VerdictKind.PROVED, VerdictKind.UNDECIDED} <= seen.keys(), seen
