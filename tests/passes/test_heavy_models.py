"""Models whose weights are more than a pass may hold in memory: they are rewritten in the memory of their graph."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer.passes import fold, greedy_driver, optimize, pass_input

SIDE, COUNT = 1024, 6
NBYTES = SIDE * SIDE * 4


@pytest.fixture
def layered(tmp_path: Path) -> Path:
    """`COUNT` layers, each a MatMul by the Transpose of external weights of 4 MiB."""
    graph = helper.make_graph(
        [], "g", [helper.make_tensor_value_info("h0", TensorProto.FLOAT, ["N", SIDE])],
        [helper.make_tensor_value_info(f"h{COUNT}", TensorProto.FLOAT, ["N", SIDE])],
    )  # fmt: skip
    with open(tmp_path / "weights.bin", "wb") as file:
        for at in range(COUNT):
            held = graph.initializer.add(name=f"w{at}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE])
            held.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", at * NBYTES), ("length", NBYTES)):
                held.external_data.add(key=key, value=str(value))
            file.write(np.full((SIDE, SIDE), at + 1, np.float32).tobytes())
            graph.node.add(op_type="Transpose", input=[f"w{at}"], output=[f"t{at}"])
            graph.node.add(op_type="MatMul", input=[f"h{at}", f"t{at}"], output=[f"h{at + 1}"])
    path = tmp_path / "layered.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def transposes(model: ModelProto) -> int:
    return sum(node.op_type == "Transpose" for node in model.graph.node)


@pytest.mark.parametrize("rewrite", [fold, optimize])
def test_weights_of_a_heavy_model_are_left_on_disk(
    rewrite: object, layered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(rewrite)
    assert transposes(rewrite(layered).proto) == 0  # as far as they can be held
    monkeypatch.setattr(pass_input, "MAX_CONSTANT_BYTES", COUNT * NBYTES - 1)
    tracemalloc.start()
    try:
        result = rewrite(layered)
        result.save(layered.parent / "out.onnx")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < NBYTES
    assert transposes(result.proto) == COUNT
    left = {d.message for d in result.diagnostics if d.code == "GI401"}
    assert left == {f"not folded: its result float32[{SIDE}, {SIDE}] is past the budget of {1 << 20} bytes"}


def test_no_more_is_made_than_a_message_holds(layered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant over the limit stays a node, and the file is written with the new ones."""
    monkeypatch.setattr(greedy_driver, "MAX_MESSAGE_BYTES", (16 << 20) + 2 * NBYTES + (1 << 16))
    result = optimize(layered)
    assert transposes(result.proto) == COUNT - 2
    assert f"not folded: a model file cannot hold {NBYTES} more bytes of constants" in {
        d.message for d in result.diagnostics
    }
    out = layered.parent / "out.onnx"
    result.save(out)
    onnx.checker.check_model(str(out))


def test_what_is_asked_for_is_made_of_a_heavy_model_too(layered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pass_input, "MAX_CONSTANT_BYTES", 1)
    assert transposes(optimize(layered, max_growth=NBYTES).proto) == 0
