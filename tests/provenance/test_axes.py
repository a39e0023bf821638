"""Origins of axes."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

from gather_infer import UnknownName, axis_provenance
from tests.provenance.row_models import model_text

CASES = {
    # name: the graph, and the origins of the axes of its last output
    "elementwise": ("(float[B, T, 6] x) => y = Relu(x)", "x.0, x.1, x.2"),
    "a broadcast constant": ("(float[B, T, 6] x) => y = Add(x, c) <float[6] c = {1,2,3,4,5,6}>", "x.0, x.1, x.2"),
    "another order": ("(float[B, T, 6] x) => y = Transpose <perm = [2, 0, 1]> (x)", "x.2, x.0, x.1"),
    "merged": ("(float[B, T, 6] x) => y = Reshape(x, s) <int64[2] s = {-1, 6}>", "x.0 * x.1, x.2"),
    "merged in another order": (
        "(float[B, T, 6] x) => t = Transpose <perm = [1, 0, 2]> (x) y = Reshape(t, s) <int64[2] s = {-1, 6}>",
        "x.1 * x.0, x.2",
    ),
    "split heads": ("(float[B, T, 8] x) => m = MatMul(x, w) y = Reshape(m, s) <float[8, 6] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3}, int64[4] s = {0, 0, 2, 3}>", "x.0, x.1, 2, 3"),
    "merged with heads": ("(float[B, 4, T] x) => h = ReduceSum(x) y = Reshape(x, s) <int64[2] s = {-1, 2}>", None),
    "a number inside": ("(float[B, T] x) => u = Unsqueeze(x, a) e = Tile(u, r) y = Reshape(e, s) <int64[1] a = {2}, int64[3] r = {1, 1, 3}, int64[2] s = {0, -1}>", "x.0, x.1 * 3"),
    "cut": ("(float[B, T] x) => y = Slice(x, s, e, a) <int64[1] s = {1}, int64[1] e = {9223372036854775807}, int64[1] a = {1}>", "x.0, max(0, T - 1)"),
    "an embedding": ("(int64[B, T] x) => y = Gather(w, x) <float[2, 2] w = {1,2,3,4}>", "x.0, x.1, 2"),
    "reduced": ("(float[B, T] x) => y = ReduceMax <axes = [0]> (x)", "1, x.1"),
    "of one input each": ("(float[B, 1] x, float[1, T] z) => y = Add(x, z)", "x.0, z.1"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (_, wanted) in CASES.items() if wanted is not None])
def test_axes_come_from_the_inputs(name: str) -> None:
    text, wanted = CASES[name]
    axes = axis_provenance(parse_model(model_text(text)))
    assert ", ".join(map(str, axes["y"])) == wanted


def test_an_axis_that_is_cut_through_has_no_origin() -> None:
    text, _ = CASES["merged with heads"]
    axes = axis_provenance(parse_model(model_text(text)))
    assert not any(factor.input == "x" and factor.axis == 2 for origin in axes["y"] for factor in origin.factors)


def test_a_mapping_of_tensors() -> None:
    axes = axis_provenance(parse_model(model_text("y = Relu(x)")))
    assert list(axes) == ["x", "y"] and len(axes) == 2
    assert [(factor.size, factor.input, factor.axis) for factor in axes["y"][1].factors] == [(4, "x", 1)]
    with pytest.raises(UnknownName):
        axes["z"]
