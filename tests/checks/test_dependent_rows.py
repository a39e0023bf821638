"""The note on a node that combines the rows of a dynamic batch."""

from __future__ import annotations

import pytest
from onnx import parser

from gather_infer import check
from tests.checks.small_models import HEAD

NOTED = {
    # body: the node that combines rows, and the path to the output
    "[mean] m = ReduceMean <axes = [0]> (x) y = Sub (x, m)": ("mean", ("mean -> Sub_0",)),
    "[soft] y = Softmax <axis = 0> (x)": ("soft", ()),
    "t = Transpose <perm = [1, 0]> (x) [product] y = MatMul (t, x)": ("product", ()),
}
CLEAN = (
    "y = Softmax <axis = 1> (x)",
    "y = Relu (x)",
    "[own] y = com.example.Own (x)",  # not understood
    "y = Add (x, w)",  # a constant of each row: no row depends on another
)


def notes(body: str) -> list[tuple[str, str, tuple[str, ...]]]:
    text = f"{HEAD} g (float[N, 4] x) => (float[M, K] y) <float[3, 4] w = {{{', '.join('1' * 12)}}}> {{ {body} }}"
    found = check(parser.parse_model(text)).diagnostics
    return [(d.code, str(d.location.node), d.detail) for d in found if d.code == "GI324"]


@pytest.mark.parametrize("body", NOTED)
def test_a_node_that_combines_rows_is_noted(body: str) -> None:
    ((_, node, detail),) = notes(body)
    label, path = NOTED[body]
    assert node == label and len(detail) == len(path)
    assert all(each.startswith(label) for each in detail)


@pytest.mark.parametrize("body", CLEAN)
def test_other_nodes_are_not(body: str) -> None:
    assert notes(body) == []
