"""Affine, Crop and ImageScaler, which onnx had up to opset 9, against its old page and onnxruntime, which runs them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gather_infer
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import early
from gather_infer.tensor import SymbolicTensor
from tests.ops.call import UNRANKED, call
from tests.ops.facts import F32, M, N, within
from tests.validate.contract_runs import Runtime

BORDER = [1, 2, 3, 4]
SHAPES: dict[str, Any] = {
    # id:              (op,            shape,        attributes,                         result)
    "affine":          ("Affine",      (N, 3),       {"alpha": 2.0, "beta": 1.0},        (N, 3)),
    "affine scalar":   ("Affine",      (),           {},                                 ()),
    "affine no rank":  ("Affine",      None,         {},                                 None),
    "scaler":          ("ImageScaler", (N, 3, M, 0), {"bias": [1.0, 2.0, 3.0]},          (N, 3, M, 0)),
    "scaler channels": ("ImageScaler", (1, N, M, 5), {"bias": [1.0], "scale": 2.0},      (1, 1, M, 5)),
    "scaler no rank":  ("ImageScaler", None,         {"bias": [1.0]},                    None),
    "crop":            ("Crop",        (N, 3, 9, M), {"border": BORDER},                 (N, 3, 3, M - 4)),
    "crop all":        ("Crop",        (1, 3, 6, 4), {"border": BORDER},                 (1, 3, 0, 0)),
    "crop to a size":  ("Crop",        (N, 3, M, 9), {"border": BORDER, "scale": [2, 3]}, (N, 3, 2, 3)),
    "crop no rank":    ("Crop",        None,         {"border": BORDER},                 None),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPES)
def test_shapes(case: str) -> None:
    op_type, shape, attributes, result = SHAPES[case]
    x = UNRANKED if shape is None else SymbolicTensor(F32, shape)
    (found,) = call(early.rules, op_type, [x], version=6, **attributes)
    assert (found.dtype, found.shape) == (F32, result)


WRONG: dict[str, Any] = {
    # id: (operator, shape, attributes, message)
    "three dims": ("ImageScaler", (3, 4, 5), {"bias": [1.0]}, "must have rank 4"),
    "no bias": ("ImageScaler", (1, 3, 4, 5), {}, "bias is missing"),
    "another bias": ("ImageScaler", (1, 3, 4, 5), {"bias": [1.0]}, "must be equal"),
    "crop of three dims": ("Crop", (3, 4, 5), {"border": BORDER}, "must have rank 4"),
    "no border": ("Crop", (1, 3, 9, 9), {}, "border must be 4 numbers"),
    "a negative border": ("Crop", (1, 3, 9, 9), {"border": [-1, 0, 0, 0]}, "border must be 4 numbers"),
    "too low": ("Crop", (1, 3, 5, 9), {"border": BORDER}, "height must be 6 or more"),
    "too narrow": ("Crop", (1, 3, 9, 3), {"border": BORDER}, "width must be 4 or more"),
    "one size": ("Crop", (1, 3, 9, 9), {"border": BORDER, "scale": [3]}, "scale must be 2 numbers"),
    "too low for a size": ("Crop", (1, 3, 9, 9), {"border": BORDER, "scale": [8, 3]}, "height must be 10 or more"),
    "two inputs' worth": ("Affine", (1,), {"gamma": 1.0}, "gamma is not an attribute"),
}


def early_model(op_type: str, rank: int, attributes: dict[str, Any], opset: int = 6) -> onnx.ModelProto:
    dims = ["abcd"[axis] for axis in range(rank)]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)


@pytest.mark.parametrize("case", WRONG)
def test_what_the_page_does_not_allow(case: str) -> None:
    op_type, shape, attributes, message = WRONG[case]
    with pytest.raises(SpecViolation) as caught:
        call(early.rules, op_type, [SymbolicTensor(F32, shape)], version=6, **attributes)
    assert message in str(caught.value)
    if op_type == "Crop":
        assert Runtime(early_model(op_type, len(shape), attributes)).error({"x": np.ones(shape, np.float32)})


def test_other_types() -> None:
    with pytest.raises(SpecViolation, match="the input must be float16, float32 or float64, is int64"):
        call(early.rules, "Affine", [within(0, 3)], version=6)


RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "affine": ("Affine", {"alpha": 2.0}),
    "scaler": ("ImageScaler", {"bias": [1.0, 2.0]}),
    "crop": ("Crop", {"border": [0, 1, 1, 0]}),
    "crop to a size": ("Crop", {"border": [1, 0, 2, 2], "scale": [2, 1]}),
}


@pytest.mark.parametrize("case", RUNS)
def test_onnxruntime_gives_these_shapes_and_fails_outside_the_contract(case: str) -> None:
    op_type, attributes = RUNS[case]
    model = early_model(op_type, 4, attributes)
    inference, runtime = gather_infer.infer(model), Runtime(model)
    contract = gather_infer.contract_of(model).contract
    assert not inference.diagnostics and not contract.open
    for sizes in itertools.product((0, 1, 2), (1, 2), (0, 1, 2, 3), (0, 1, 2, 3)):
        feeds = {"x": np.ones(sizes, np.float32)}
        assert bool(contract.check(feeds)) == bool(runtime.error(feeds)), sizes
        if not contract.check(feeds):
            (y,) = runtime.session.run(None, feeds)
            found = inference.at(dict(zip("abcd", sizes, strict=True)))["y"]
            assert found.shape == y.shape


def test_opset_10_has_none_of_them() -> None:
    found = gather_infer.infer(early_model("Affine", 2, {}, opset=10))
    assert [(d.code, d.message) for d in found.diagnostics] == [
        ("GI105", "operator Affine is not known in opset 10, 9 is the last that has it")
    ]
    assert any(d.code == "GI116" for d in gather_infer.check(early_model("Affine", 2, {}, opset=10)).errors)
