"""Clauses that were once got wrong: of every fact, that it holds in each legal run."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer import infer
from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft import gather as gather_contrib
from gather_infer.ops.onnx import pad, reshape, resize
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor, from_values, make_values
from tests.inference.models import check, model
from tests.ops.call import call

N, H = symbol("N"), symbol("H")


def test_squeeze_by_unknown_axes_may_name_one_axis_twice() -> None:
    proto = model("(float[1, N] x, int64[2] axes) => (float y) { y = Squeeze(x, axes) }")
    proto.graph.output[0].ClearField("type")
    check(proto, [({"N": 4}, {"x": (1, 4), "axes": np.array([0, -2])})])
    assert infer(proto)["y"].shape is None


def test_squeeze_by_one_unknown_axis_removes_one() -> None:
    (y,) = call(reshape.rules, "Squeeze", [(1, N), SymbolicTensor(DType.INT64, (1,))])
    assert y.rank == 1
    with pytest.raises(SpecViolation, match="data is a scalar"):
        call(reshape.rules, "Squeeze", [(), SymbolicTensor(DType.INT64, (1,))])


def test_resize_by_a_symbolic_scale_needs_it_to_be_positive() -> None:
    context = Context()
    scales = from_values(DType.FLOAT32, make_values([N - 2]))
    (y,) = call(resize.rules, "Resize", [(H,), None, scales], context=context)
    assert y.shape == (H * N - 2 * H,)
    assert context.scope.bounds(N).lo == 3  # the node fails for a scale <= 0


def test_pad_with_an_empty_constant_value() -> None:
    data, pads = from_values(DType.INT64, make_values([1, 2])), from_values(DType.INT64, make_values([1, 1]))
    with pytest.raises(SpecViolation, match=r"constant_value must be a scalar, has shape \[0\]"):
        call(pad.rules, "Pad", [data, pads, from_values(DType.INT64, make_values([]))])


def test_packed_dims_of_two_unknown_types_are_two_symbols() -> None:
    """uint8 data are packed, int4 data are not: the last dim is no function of the other dims."""
    context = Context()
    inputs = [SymbolicTensor(None, (4, 32)), SymbolicTensor(DType.INT64, (2,)), SymbolicTensor(DType.FLOAT32, (4, 1))]
    first, second = (
        call(gather_contrib.rules, "GatherBlockQuantized", inputs, version=1, context=context, block_size=64)[0]
        for _ in range(2)
    )
    assert first.shape[1] != second.shape[1]
