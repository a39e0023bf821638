"""Seeded random loops with an access by their counter, or by what they leave: verdicts hold in runs of onnxruntime."""

from __future__ import annotations

import itertools
import random

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.validate.access_models import by_node
from tests.validate.bound_runs import passes, session

onnxruntime.set_default_logger_severity(4)
MODELS = 120
CHUNKS = 4

ENDS = ("d = Identity (c)", "d = Identity (c)", "d = Less (i, k)", "d = Identity (p)")
INDICES = (
    "j = Identity (i)",
    "j = Add (i, k)",
    "j = Sub (i, k)",
    "j = Sub (k, i)",
    "j = Mul (i, k)",
    "j = Min (i, k)",
    "j = Mod (i, m)",
    "a = Mul (i, k) j = Add (a, m)",
)
STATES = ("w = Identity (j)", "w = Add (v, k)", "w = Add (v, m)")


def loop_model(seed: int) -> tuple[onnx.ModelProto, bool]:
    """The model of a seed, and whether its access is reached whenever the loop runs, or is behind it."""
    choice = random.Random(seed)
    rows = choice.choice(["N", "N", 2, 3])
    trips = choice.choice(["t = Shape (z) n = Squeeze (t)", f"n = Identity (c{choice.randint(0, 3)})"])
    step = f"{choice.choice(ENDS)} {choice.choice(INDICES)}"
    kind = choice.choice(["inside", "inside", "branch", "behind", "state"])
    match kind:
        case "inside":
            body = f"(int64 i, bool c, float v) => (bool d, float w) {{ {step} r = Gather (x, j) w = Add (v, r) }}"
            text = f"y = Loop (n, , s) <body = b {body}>"
        case "branch":
            taken = "w = If (p) <then_branch = a () => (u) { u = Gather (x, j) }, "
            body = f"{step} {taken} else_branch = e () => (q) {{ q = Identity (v) }}>"
            text = f"y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) {{ {body} }}>"
        case "behind":
            body = f"(int64 i, bool c, int64 v) => (bool d, int64 w) {{ {step} w = Identity (j) }}"
            text = f"q = Loop (n, , first) <body = b {body}> y = Gather (x, q)"
        case _:
            body = f"{step} {choice.choice(STATES)} r = Gather (x, v)"
            body = f"(int64 i, bool c, int64 v) => (bool d, int64 w, float r) {{ {body} }}"
            text = f"q, y = Loop (n, , first) <body = b {body}>"
    numbers = {"k": choice.randint(-3, 4), "m": choice.randint(1, 4), "first": choice.randint(-1, 3)}
    given = {**numbers, **{f"c{n}": n for n in range(4)}}
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (float[{rows}] x, float[M] z, float s, bool p) => (y) '
        f"<{', '.join(f'int64 {name} = {{{number}}}' for name, number in given.items())}> {{ {trips} {text} }}"
    )
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return model, kind != "branch"


def check_seed(seed: int) -> VerdictKind | None:
    """The class of the access of a seed, None when it is never reached."""
    model, is_reached = loop_model(seed)
    found = by_node(verdicts(gather_infer.infer(model, assume=False)))
    if not found:
        return None
    verdict = found[-1]
    (rows,) = (d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim)
    runtime = session(model)
    runs_always = is_reached and "c0" not in [n for node in model.graph.node for n in node.input]
    for size, trips, flag in itertools.product((rows,) if rows else (0, 1, 2, 3, 6), (1, 2, 4), (True, False)):
        feeds = {"x": np.zeros(size), "z": np.zeros(trips), "p": flag}
        sizes = {"N": size, "M": trips}
        holds = all(evaluate(difference(c), sizes) >= 0 for c in verdict.conditions)
        needed = all(evaluate(difference(c), sizes) >= 0 for c in verdict.conditions if c.tight)
        if verdict.kind is VerdictKind.PROVED or (verdict.kind is VerdictKind.CONDITIONAL and holds):
            assert passes(model, feeds, runtime), (seed, size, trips, flag)
        elif (verdict.kind is VerdictKind.VIOLATED or not needed) and runs_always:
            assert not passes(model, feeds, runtime), (seed, size, trips, flag)
    return verdict.kind


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_of_random_loops_hold(chunk: int) -> None:
    seen = {check_seed(seed) for seed in range(chunk, MODELS, CHUNKS)}
    assert {VerdictKind.CONDITIONAL, VerdictKind.VIOLATED} <= seen
