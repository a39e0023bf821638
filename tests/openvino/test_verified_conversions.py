"""Verification of conversions: state over three steps, and what the plugin computes otherwise than specified."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper

from gather_infer import convert
from gather_infer.openvino import ConversionResult
from gather_infer.verification import Verification, verify
from tests.documents import REPO

FIXTURES = REPO / "fixtures" / "openvino"


def verified(
    result: ConversionResult, proto: ModelProto | None = None, runs: int = 2, **options: object
) -> Verification:
    found: Verification = verify(
        result.source,
        result.proto if proto is None else proto,
        runs,
        inference=result.inference,
        rtol=1e-4,
        atol=1e-4,
        **options,  # type: ignore[arg-type] # by name, of several types
    )
    return found


def test_state_that_is_read_wrongly_is_found() -> None:
    """Twice the past is still nothing in the first step, where there is no past."""
    result = convert(FIXTURES / "decoder.xml")
    found = verified(result)
    assert found.ok and [run.steps for run in found.runs] == [3, 3] and not found.notes
    past = result.variables[0].past
    wrong = ModelProto()
    wrong.CopyFrom(result.proto)
    for node in wrong.graph.node:
        node.input[:] = ["twice" if name == past else name for name in node.input]
    wrong.graph.node.insert(0, helper.make_node("Add", [past, past], ["twice"]))
    found = verified(result, wrong)
    assert not found.ok and all(("step", 2) in (mismatch.binding or ()) for mismatch in found.mismatches)


SCRIPT = """
import numpy as np, openvino as ov
from pathlib import Path
ops, folder = ov.opset13, Path(%r)

def save(name, inputs, outputs):
    results = [ops.result(one, name=f"r{k}") for k, one in enumerate(outputs)]
    ov.save_model(ov.Model(results, inputs, name), folder / f"{name}.xml", False)

x = ops.parameter([-1], np.int64, name="x")
save("divide", [x], [ops.divide(x, ops.constant(np.array(3)))])
a = ops.parameter([-1], np.int64, name="a")
save("product", [a], [ops.multiply(a, ops.constant(np.array(100)))])
x = ops.parameter([-1, 4], np.float32, name="x")
equal = ops.multiply(x, ops.constant(np.float32(0)))
found = ops.topk(ops.concat([equal, equal, equal, x, equal], 1), ops.constant(np.array(5)), 1, "max", "value")
save("topk", [x], [found.output(0), found.output(1)])
cond, x = ops.parameter([], bool, name="c"), ops.parameter([-1], np.int64, name="x")
branches = []
for number in (3, 5):
    inner = ops.parameter([-1], np.int64, name="i")
    result = ops.result(ops.divide(inner, ops.constant(np.array(number))))
    branches.append((ov.Model([result], [inner], "b"), inner, result))
choice = ops.if_op(cond)
choice.set_then_body(branches[0][0])
choice.set_else_body(branches[1][0])
choice.set_input(x.output(0), branches[0][1], branches[1][1])
save("branch", [cond, x], [choice.set_output(branches[0][2], branches[1][2])])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks")
    subprocess.run([sys.executable, "-c", SCRIPT % str(path)], check=True, capture_output=True)
    return path


@pytest.mark.parametrize("name", ["divide", "topk", "branch", "product"])
def test_what_the_plugin_computes_otherwise_is_no_difference(name: str, folder: Path) -> None:
    """Quotients that it truncates, ties that it sorts in any order, int64 in 32 bits."""
    found = verified(convert(folder / f"{name}.xml"), runs=8)
    assert found.ok and len(found.runs) == 8, found


@pytest.mark.parametrize("name", ["divide", "topk", "branch"])
def test_what_is_wrong_of_these_is_found(name: str, folder: Path) -> None:
    result = convert(folder / f"{name}.xml")
    wrong = ModelProto()
    wrong.CopyFrom(result.proto)
    last = wrong.graph.output[-1].name
    for node in wrong.graph.node:
        node.output[:] = ["before" if name == last else name for name in node.output]
    wrong.graph.node.append(helper.make_node("Neg", ["before"], [last]))
    assert not verified(result, wrong).ok


def test_integers_of_an_ir_may_be_given_as_they_are(folder: Path) -> None:
    """Only what is drawn keeps away from numbers that OpenVINO does not hold."""
    result = convert(folder / "divide.xml")
    assert verified(result, runs=0, feeds=[{"x": np.arange(-9, 9)}]).ok
    assert not verified(result, runs=0, feeds=[{"x": np.array([2**40])}]).ok
