"""Ranks that pages allow and onnxruntime refuses: something is open in the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from gather_infer import contract_of

FLOAT = np.float32

BYTE = np.uint8
_X = [np.zeros((1, 2, 3, 3), BYTE), np.ones((), FLOAT), np.zeros((), BYTE)]
_W, _Y = np.zeros((3, 2, 1, 1), BYTE), [np.ones((), FLOAT), np.zeros((), BYTE)]
_A, _B = [np.zeros((2, 4), BYTE), np.ones((), FLOAT), np.zeros((), BYTE)], np.zeros((4, 3), BYTE)

CASES: dict[str, tuple[str, dict[str, Any], dict[str, list[Any]], list[Any]]] = {
    # id: (operator, attributes, inputs of refused ranks, those of a rank that runs); a shape, or a constant
    "LRN": ("LRN", {"size": 3}, {"3": [(2, 3, 4)], "5": [(1, 3, 2, 2, 2)]}, [(1, 3, 2, 2)]),
    "GlobalAveragePool": ("GlobalAveragePool", {}, {"2": [(2, 3)], "6": [(1, 1, 2, 2, 2, 2)]}, []),
    "MaxPool": ("MaxPool", {"kernel_shape": [1] * 4}, {"6": [(1, 1, 2, 2, 2, 2)]}, []),
    "GridSample": ("GridSample", {}, {"3": [(1, 1, 4), (1, 3, 1)]}, []),
    "GridSample by cubes": ("GridSample", {"mode": "cubic"}, {"5": [(1, 1, 2, 2, 2), (1, 1, 1, 1, 3)]}, []),
    "Resize": ("Resize", {"mode": "linear"}, {
        "1": [(4,), None, np.array([2], FLOAT)],
        "6": [(1, 1, 2, 2, 2, 2), None, np.array([1, 1, 2, 2, 2, 2], FLOAT)],
        "5, channels last": [(1, 2, 2, 2, 1), None, np.array([1, 2, 2, 2, 1], FLOAT)],
    }, [(1, 1, 2, 2, 2), None, np.array([1, 1, 2, 2, 2], FLOAT)]),
    "Resize by cubes": ("Resize", {"mode": "cubic"}, {"3": [(1, 2, 2), None, np.array([1, 2, 2], FLOAT)]},
                        [(1, 1, 2, 2), None, np.array([1, 1, 2, 2], FLOAT)]),
    "Pad": ("Pad", {}, {"0": [(), np.zeros(0, np.int64)]}, [(2,), np.array([1, 1])]),
    "Slice": ("Slice", {}, {"0": [(), np.zeros(0, np.int64), np.zeros(0, np.int64)]},
              [(2,), np.array([0]), np.array([1])]),
    "QLinearConv": ("QLinearConv", {}, {
        "one element": [*_X, _W, np.ones((1, 1), FLOAT), np.zeros((), BYTE), *_Y],
        "one per output channel": [*_X, _W, np.ones((3, 1, 1, 1), FLOAT), np.zeros((), BYTE), *_Y],
    }, [*_X, _W, np.ones(3, FLOAT), np.zeros((), BYTE), *_Y]),
    "QLinearMatMul": ("QLinearMatMul", {}, {
        "scale of a": [_A[0], np.ones((1, 1), FLOAT), _A[2], _B, np.ones(3, FLOAT), np.zeros(3, BYTE), *_Y],
    }, [*_A, _B, np.ones(3, FLOAT), np.zeros(3, BYTE), *_Y]),
    "QuantizeLinear": ("QuantizeLinear", {}, {"1": [(3,), np.ones(3, FLOAT)]}, [(2, 3), np.ones(3, FLOAT)]),
}  # fmt: skip


def model_of(operator: str, attributes: dict[str, Any], inputs: list[Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A node whose inputs have a symbol for each dim, and zeros to run it with."""
    names = ["" if given is None else f"x{n}" for n, given in enumerate(inputs)]
    node = helper.make_node(operator, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", [], [onnx.ValueInfoProto(name="y")])
    feeds: dict[str, Any] = {}
    for name, given in zip(names, inputs, strict=True):
        if isinstance(given, np.ndarray):
            graph.initializer.append(numpy_helper.from_array(given, name))
        elif given is not None:
            dims = [f"{name}_{axis}" for axis in range(len(given))]
            graph.input.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims))
            feeds[name] = np.zeros(given, FLOAT)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), feeds


def runs(model: onnx.ModelProto, feeds: dict[str, Any]) -> bool:
    try:
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    except Exception:  # noqa: BLE001 - each failure of the runtime has a class of its own
        return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_ranks_that_onnxruntime_refuses_are_open(name: str) -> None:
    operator, attributes, refused, taken = CASES[name]
    for inputs in refused.values():
        model, feeds = model_of(operator, attributes, inputs)
        contract = contract_of(model).contract
        assert not runs(model, feeds), inputs
        assert not contract.check(feeds)
        assert [entry.reason for entry in contract.open if entry.reason.startswith("onnxruntime ")], inputs
    if taken:
        model, feeds = model_of(operator, attributes, taken)
        contract = contract_of(model).contract
        assert runs(model, feeds)
        assert (contract.check(feeds), contract.open) == ([], ())
