"""Accesses that fail at given sizes: onnxruntime says which sizes fail."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import gather_infer
from gather_infer.validate import failing

onnxruntime.set_default_logger_severity(4)
SIZES = (0, 1, 4, 5, 7)

HEAD = '<ir_version: 9, opset_import: ["": 18]> g (float[B, N] x) => (float[P, Q, R] y) <{}> '
CONSTANTS = (
    "float[{rows}, {columns}] table = {{{elements}}}, int64 zero = {{0}}, int64 one = {{1}}, int64[1] axis = {{1}}"
)
ROWS = 4


def positions(columns: int) -> onnx.ModelProto:
    """Rows 0 to N - 1 of a table with four, for each of the B rows of the input."""
    elements = ", ".join(str(number) for number in range(ROWS * columns))
    head = HEAD.format(CONSTANTS.format(rows=ROWS, columns=columns, elements=elements))
    return onnx.parser.parse_model(
        head
        + """{
            s = Shape (x)
            last = Gather (s, axis)
            n = Squeeze (last)
            i = Range (zero, n, one)
            each = Expand (i, s)
            y = Gather (table, each)
        }"""
    )


def runs(session: onnxruntime.InferenceSession, batch: int, size: int) -> bool:
    try:
        session.run(None, {"x": np.zeros((batch, size), np.float32)})
    except InvalidArgument as error:
        assert "indices element out of data bounds" in str(error)
        return False
    return True


def test_exactly_the_sizes_fail_that_fail_in_onnxruntime() -> None:
    model = positions(2)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    inference = gather_infer.infer(model)
    told = {}
    for batch, size in itertools.product(SIZES, SIZES):
        told[batch, size] = not list(failing(inference, {"B": batch, "N": size}))
        assert told[batch, size] == runs(session, batch, size), (batch, size)
    assert set(told.values()) == {False, True}


@pytest.mark.parametrize("sizes", [{}, {"B": 1}, {"N": 5}])
def test_what_sizes_do_not_tell_is_not_judged(sizes: dict[str, int]) -> None:
    """With N = 5 alone B may be 0: then no index is looked up."""
    assert list(failing(gather_infer.infer(positions(2)), sizes)) == []


def test_rows_without_elements_are_not_judged() -> None:
    assert list(failing(gather_infer.infer(positions(0)), {"B": 1, "N": 5})) == []


def test_the_node_and_the_condition_are_told() -> None:
    model = positions(2)
    model.graph.node[-1].name = "lookup"
    ((verdict, condition),) = failing(gather_infer.infer(model), {"B": 1, "N": 5})
    assert (str(verdict.access.node), str(condition)) == ("lookup", "N <= 4")
