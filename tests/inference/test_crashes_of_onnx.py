"""Nodes for which onnx's shape inference ends the process, with a segmentation fault or an abort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import onnx
import pytest
from onnx.parser import parse_model

import gather_infer
from gather_infer import GatherInferError, Severity

NODES = {
    "GatherND: negative batch_dims": "y = GatherND <batch_dims = -3> (x, i)",
    "Split: more outputs than num_outputs": "y, p, q = Split <num_outputs = 2> (x)",
}
INPUTS = "(bool c, float[B, N, M] x, int64[C, K, 1] i) => (float[p0, p1, p2] z)"
TYPE = "float[q0, q1, q2]"
OTHER = f"else_branch = e () => ({TYPE} v) {{ v = Neg(x) }}"
PLACES = {
    "main graph": f"g {INPUTS} {{ %s z = Neg(y) }}",
    "branch": f"g {INPUTS} {{ z = If(c) <then_branch = t () => ({TYPE} y) {{ %s }}, {OTHER}> }}",
    "branch that is never taken": (
        f"g {INPUTS} <bool no = {{0}}> {{ z = If(no) <then_branch = t () => ({TYPE} y) {{ %s }}, {OTHER}> }}"
    ),
    "function": f'g {INPUTS} {{ z = my.f(x, i) }} <domain: "my", opset_import: ["": 21]> f (x, i) => (y) {{ %s }}',
}
CALLS: Mapping[str, Callable[[onnx.ModelProto], object]] = {
    "infer": lambda model: gather_infer.infer(model).annotated(),
    "check": gather_infer.check,
    "contract": gather_infer.contract_of,
    "fold": gather_infer.fold,
    "optimize": gather_infer.optimize,
    "freeze": lambda model: gather_infer.freeze(model, dims=["B=2"]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("node", NODES)
def test_the_process_survives(node: str, place: str, call: str) -> None:
    model = parse_model(f'<ir_version: 10, opset_import: ["": 21, "my": 1]> {PLACES[place] % NODES[node]}')
    with suppress(GatherInferError):
        CALLS[call](model)
    if place == "main graph":
        assert any(d.severity is Severity.ERROR for d in gather_infer.infer(model).diagnostics)
