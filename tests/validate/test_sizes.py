"""Accesses that fail at given sizes: onnxruntime says which sizes fail."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import gather_infer
from gather_infer.diagnostic import Severity
from gather_infer.validate import failing_accesses

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


def plain_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def runs(session: onnxruntime.InferenceSession, batch: int, size: int) -> bool:
    try:
        session.run(None, {"x": np.zeros((batch, size), np.float32)})
    except InvalidArgument as error:
        assert "indices element out of data bounds" in str(error)
        return False
    return True


def test_exactly_the_sizes_fail_that_fail_in_onnxruntime() -> None:
    model = positions(2)
    session = plain_session(model)
    inference = gather_infer.infer(model)
    told = {}
    for batch, size in itertools.product(SIZES, SIZES):
        told[batch, size] = not list(failing_accesses(inference, {"B": batch, "N": size}))
        assert told[batch, size] == runs(session, batch, size), (batch, size)
    assert set(told.values()) == {False, True}


@pytest.mark.parametrize("sizes", [{}, {"B": 1}, {"N": 5}])
def test_what_sizes_do_not_tell_is_not_judged(sizes: dict[str, int]) -> None:
    """With N = 5 alone B may be 0: then no index is looked up."""
    assert list(failing_accesses(gather_infer.infer(positions(2)), sizes)) == []


def test_rows_without_elements_are_not_judged() -> None:
    assert list(failing_accesses(gather_infer.infer(positions(0)), {"B": 1, "N": 5})) == []


def test_the_node_and_the_condition_are_reported() -> None:
    model = positions(2)
    model.graph.node[-1].name = "lookup"
    ((verdict, condition),) = failing_accesses(gather_infer.infer(model), {"B": 1, "N": 5})
    assert (str(verdict.access.node), str(condition)) == ("lookup", "N <= 4")


def beyond() -> onnx.ModelProto:
    """Rows 4 to N + 3 of a table with four: whatever N is, none of them is there."""
    head = HEAD.replace("float[B, N] x", "float[N] x").replace("float[P, Q, R] y", "float[P, Q] y")
    return onnx.parser.parse_model(
        head.format(CONSTANTS.format(rows=ROWS, columns=2, elements="0, 1, 2, 3, 4, 5, 6, 7") + ", int64 four = {4}")
        + """{
            s = Shape (x)
            n = Squeeze (s)
            end = Add (n, four)
            i = Range (four, end, one)
            [lookup] y = Gather (table, i)
        }"""
    )


def test_what_only_a_verdict_tells_is_an_error() -> None:
    """The walk knows no element of the index; no run with an element of it ends well."""
    model = beyond()
    session = plain_session(model)
    for size in (1, 2, 5):
        with pytest.raises(InvalidArgument, match="indices element out of data bounds"):
            session.run(None, {"x": np.zeros(size, np.float32)})
    inference = gather_infer.infer(model)
    assert not [d for d in inference.diagnostics if d.severity is Severity.ERROR]
    ((code, node),) = [(error.code, str(error.location.node)) for error in inference.errors]
    assert (code, node) == ("GI301", "lookup")
    assert inference.errors is inference.errors
    assert repr(inference).endswith(", 1 error>")
    assert "error[GI301]" in inference._repr_html_()


def test_an_error_is_reported_once() -> None:
    """The walk finds the index itself when N is known."""
    inference = gather_infer.infer(beyond(), dims=["N=1"])
    ((error,), found) = inference.errors, [d for d in inference.diagnostics if d.code == "GI301"]
    assert [error] == found
    assert gather_infer.infer(positions(2), dims=["N=4", "B=1"]).errors == ()


def test_sizes_with_which_every_run_fails_are_not_frozen() -> None:
    """The error is among what is told."""
    result = gather_infer.freeze("fixtures/gpt2-kv-torchscript.onnx", dims=["past=4096"])
    assert [finding.code for finding in result.refused] == ["GI301"]
    assert set(result.refused) <= set(result.diagnostics)
    assert not gather_infer.freeze("fixtures/gpt2-kv-torchscript.onnx", dims=["past=40"]).refused
    assert not gather_infer.freeze(beyond(), dims=["N=1"]).refused, "it fails at every size"
