"""The sizes that a caller names: dynamic in the file although nodes require a number, and rows on any axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from gather_infer import UsageError, diff, unfreeze
from gather_infer.unfreezing.result import Required
from tests.unfreezing.cases import SIZES, feeds_of, run
from tests.verification.models import model

WEIGHTS = "<float[3, 4] w = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}>"
CLASSES = "<float[1, 4] q = {1, -2, 3, -4}, int64[3] r = {4, 1, 1}>"
CUBE = "<float[4, 1, 4] q = {1, -2, 3, -4, 1, -2, 3, -4, 1, -2, 3, -4, 1, -2, 3, -4}>"

DECLARED = {
    # name: what the file says, with B as its name of the size; the axes; the model that it stands for; required by
    "the target of a Reshape, as in a head of YOLO": (
        "(float[B, 6, 4] x) => (y) <int64[4] s = {4, 2, 3, 4}> { a = Relu(x) y = Reshape(a, s) }",
        "(float[batch, 6, 4] x) => (y) <int64[4] s = {0, 2, 3, 4}> { a = Relu(x) y = Reshape(a, s) }",
        "Reshape#1",
    ),
    "class queries that are tiled, as in a detector with a transformer": (
        f"(float[B, 3, 4] x) => (y) {CLASSES.replace('[1, 4]', '[1, 1, 4]')} {{ t = Tile(q, r)"
        " u = Transpose<perm = [0, 2, 1]>(x) a = MatMul(t, u) y = MatMul(a, x) }",
        f"(float[batch, 3, 4] x) => (y) {CLASSES.replace('[1, 4]', '[1, 1, 4]').replace('{4, 1, 1}', '{1, 1, 1}')} {{"
        " t = Tile(q, r) u = Transpose<perm = [0, 2, 1]>(x) a = MatMul(t, u) y = MatMul(a, x) }",
        "MatMul#2",
    ),
    "queries that an exporter folded": (
        f"(float[B, 3, 4] x) => (y) {CUBE} {{ y = Add(x, q) }}",
        "(float[batch, 3, 4] x) => (y) <float[1, 1, 4] q = {1, -2, 3, -4}> { y = Add(x, q) }",
        "Add#0",
    ),
    "two nodes, of which one can broadcast": (
        f"(float[B, 3, 4] x) => (y) {CUBE[:-1]}, int64[2] s = {{4, 12}}> {{ a = Add(x, q) y = Reshape(a, s) }}",
        "(float[batch, 3, 4] x) => (y) <float[1, 1, 4] q = {1, -2, 3, -4}, int64[2] s = {0, 12}> { a = Add(x, q)"
        " y = Reshape(a, s) }",
        "Add#0",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("declared", ["batch", "unk__6", ""])
@pytest.mark.parametrize("name", DECLARED)
def test_a_size_that_is_dynamic_in_the_file_alone(name: str, declared: str) -> None:
    """The old size is the number that nodes require, under whatever name the file has for it."""
    text, wanted, node = DECLARED[name]
    source, dynamic = model(text.replace("[B", "[batch")), model(wanted)
    dim = source.graph.input[0].type.tensor_type.shape.dim[0]
    dim.Clear()
    if declared:
        dim.dim_param = declared
    result = unfreeze(source, ["x.0=batch"])
    assert not result.refused, result.why_refused
    assert result.freed == {"batch": 4} and result.required == {"batch": Required(4, node)}
    for size in SIZES:
        feeds = feeds_of(dynamic, size, "batch")
        for one, two in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
            np.testing.assert_array_equal(one, two)
    assert diff(source, result.proto, dims=result.old_sizes, details=False).is_proved


def test_all_axes_of_the_same_name_are_freed() -> None:
    text = "(float[B, 3] x, float[B, 3] z) => (y) <int64[2] s = {4, 3}> { a = Add(x, z) y = Reshape(a, s) }"
    result = unfreeze(model(text), ["x.0=batch"])
    assert not result.refused and result.sites == {"batch": ("x.0", "z.0")}
    assert [value.type.tensor_type.shape.dim[0].dim_param for value in result.proto.graph.input] == ["batch"] * 2


def test_an_expression_of_the_name_stays_one() -> None:
    text = "(float[3, N] x, float[3, N + 2] z) => (y) <int64[2] s = {3, 5}> { a = Pad(x, p) y = Reshape(x, s) }"
    text = text.replace("<", "<int64[4] p = {0, 0, 0, 2}, ").replace("y = R", "b = Add(a, z) y = R")
    source = model(text.replace("N + 2", "M"))
    source.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "N + 2"
    result = unfreeze(source, ["x.1=length"], verify=False)
    assert result.freed == {"length": 5}
    assert result.sites == {"length": ("x.1",), "length + 2": ("z.1",)}


@pytest.mark.parametrize(
    ("text", "dims", "reason"),
    [
        ("(float[B, 3] x) => (y) { y = Relu(x) }", ["x.0=batch"], "do not require one number of it"),
        ("(float[B, 3] x) => (y) { y = Relu(x) }", ["x.0=a", "x.0=b"], "cannot be a and b"),
        ("(float[4, 3] x) => (y) { y = Relu(x) }", ["*.0=a", "?.0=b"], "cannot be a and b"),
        (
            "(float[B, 3] x, float[B, 3] z) => (y) <int64[2] s = {4, 3}> { a = Add(x, z) y = Reshape(a, s) }",
            ["x.0=a", "z.0=b"],
            "B, which cannot be a and b",
        ),
        (
            "(float[B, 3] x) => (y) <int64[2] s = {4, 3}, int64[2] r = {5, 3}> { y = Reshape(x, s) z = Reshape(x, r) }",
            ["x.0=batch"],
            "do not require one number of it",
        ),
        ("(float[4, 3] x) => (y) { y = Relu(x) }", ["x.0=batch"], "no size is made dynamic as 'rows'"),
    ],
)
def test_refused_names(text: str, dims: list[str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        unfreeze(model(text), dims, rows=["rows"] if "rows" in reason else ())


def test_a_size_that_a_node_cannot_have() -> None:
    """Of the numbers that nodes name, the largest that all nodes allow: 4 is no size here."""
    text = (
        "(float[B, 3] x, float[4, 3] z) => (y) <float[2, 3] c = {1, 2, 3, 1, 2, 3}, int64[2] s = {2, 3}>"
        " { a = Add(x, c) b = Reshape(a, s) d = Add(a, x) y = Add(b, d) }"
    )
    assert unfreeze(model(text), ["x.0=batch"]).freed == {"batch": 2}


def test_an_entry_with_the_name_of_an_input_goes_before_patterns() -> None:
    source = model("(float[4, 3] x, float[4, 3] z) => (y, u) { y = Relu(x) u = Relu(z) }")
    for dims in (["*.0=batch", "z.0=tags"], ["z.0=tags", "*.0=batch"]):
        assert unfreeze(source, dims).sites == {"batch": ("x.0",), "tags": ("z.0",)}


# rows on any axis


def _states(rows: int | str) -> str:
    return (
        f"(float[{rows}, 5, 3] x, float[1, {rows}, 3] h) => (y, last) <float[1, 9, 3] w = {{{_numbers(27)}}},"
        f" float[1, 9, 3] r = {{{_numbers(27)}}}, int64[3] s = {{{0 if isinstance(rows, str) else rows}, 5, 3}}> {{"
        " t = Transpose<perm = [1, 0, 2]>(x) o, last = GRU<hidden_size = 3>(t, w, r, , , h)"
        " p = Transpose<perm = [2, 0, 1, 3]>(o) y = Reshape(p, s) }"
    )


def _numbers(count: int) -> str:
    return ", ".join(str((7 * at % 11 - 5) / 8) for at in range(count))


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_on_axis_1(rows: int) -> None:
    """States of a recurrent network have the batch on axis 1."""
    result = unfreeze(model(_states(rows)), ["x.0=batch", "h.1=batch"], rows=["batch"])
    assert not result.refused and result.rows is not None and len(result.rows.runs) == 4
    assert str(result.independence["batch"].verdict) == "proved"
    dynamic = model(_states("batch"))
    for size in SIZES:
        feeds: dict[str, Any] = feeds_of(dynamic, size, "batch")
        for one, two in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
            np.testing.assert_array_equal(one, two)


def test_rows_on_axis_1_that_depend_on_each_other() -> None:
    text = "(float[5, 2, 3] x) => (y) { m = ReduceMean<axes = [1]>(x) y = Sub(x, m) }"
    refused = unfreeze(model(text, opset=17), ["x.1=batch"], rows=["batch"])
    assert refused.refused and "row" in refused.why_refused
    assert not unfreeze(model(text, opset=17), ["x.1=length"]).refused


def test_a_length_on_axis_0() -> None:
    """Nodes of a graph are on axis 0, and depend on each other."""
    text = (
        "(float[3, 6] nodes, int64[4] edges) => (y) <int64[2] s = {3, 6}> { m = Gather(nodes, edges)"
        " t = ReduceSum(nodes) n = Add(nodes, t) y = Reshape(n, s) z = Neg(m) }"
    )
    rows = unfreeze(model(text), ["nodes.0=n"])
    assert rows.refused and "without a row" in rows.why_refused
    length = unfreeze(model(text), ["nodes.0=n"], lengths=["n"])
    assert not length.refused and not length.independence
    session = onnxruntime.InferenceSession(length.proto.SerializeToString(), providers=["CPUExecutionProvider"])
    nodes = np.arange(30, dtype=np.float32).reshape(5, 6)
    (found,) = session.run(None, {"nodes": nodes, "edges": np.array([0, 4, 2, 2])})
    np.testing.assert_array_equal(found, nodes + nodes.sum())


def test_rows_and_a_length() -> None:
    with pytest.raises(UsageError, match="not both"):
        unfreeze(model("(float[4, 3] x) => (y) { y = Relu(x) }"), ["x.0=n"], rows=["n"], lengths=["n"])
    with pytest.raises(UsageError, match=r"and n is the size of x\.0, x\.1"):
        unfreeze(model("(float[3, 3] x) => (y) { y = Relu(x) }"), ["x.0=n", "x.1=n"], rows=["n"])
    with pytest.raises(UsageError, match="--rows n if it counts"):
        unfreeze(model("(float[3, 1] x) => (y) { y = Relu(x) }"), ["x.1=n"])
