"""Columns of index tuples that a Gather picks, side by side or with their rows: each has bounds of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from gather_infer import contract_of, infer
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import model
from tests.validate.contract_runs import Runtime, judge

NETWORK = Path(__file__).parents[2] / "fixtures" / "openvino" / "detector-nms.xml"

PICKED = {
    # id: (what is made of int64[K, 3] i, the lines)
    "two of three": (
        "c = Constant <value_ints = [2, 0]> () p = Gather <axis = 1> (i, c)",
        ["-6 <= i[..., 0] < 6", "-5 <= i[..., 2] < 5"],
    ),
    "from the end": (
        "c = Constant <value_ints = [-1, -3]> () p = Gather <axis = -1> (i, c)",
        ["-6 <= i[..., 0] < 6", "-5 <= i[..., 2] < 5"],
    ),
    "one of them twice": (
        "c = Constant <value_ints = [1, 1]> () p = Gather <axis = 1> (i, c)",
        ["-5 <= i[..., 1] < 5"],
    ),
    "the rows in another order": (
        "c = Constant <value_ints = [2, 0]> () q = Gather <axis = 1> (i, c) f = Cast <to = 1> (v) "
        "k = Shape (v) t, o = TopK (f, k) p = Gather <axis = 0> (q, o)",
        ["-6 <= i[..., 0] < 6", "-5 <= i[..., 2] < 5"],
    ),
}


def picking(body: str) -> onnx.ModelProto:
    text = f"(int64[K, 3] i, int64[K] v, float[5, 6] table) => (float[K] y) {{ {body} y = GatherND (table, p) }}"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> agraph {text}')


@pytest.mark.parametrize("name", PICKED)
def test_columns_of_an_input(name: str) -> None:
    body, lines = PICKED[name]
    contract = contract_of(picking(body)).contract
    assert sorted(line.text for line in contract.lines) == sorted(lines) and not contract.open
    inside, outside = judge(contract, Runtime(picking(body)), draws=12)
    is_ordered = "TopK" in body
    assert inside and (outside or is_ordered)


BOXES = {
    # the columns of image, class and box that are picked -> the verdicts on both axes of boxes
    (0, 2): (VerdictKind.PROVED, VerdictKind.PROVED),
    (2, 0): (VerdictKind.CONDITIONAL, VerdictKind.CONDITIONAL),
    (0, 1): (VerdictKind.PROVED, VerdictKind.CONDITIONAL),
}


@pytest.mark.parametrize("columns", BOXES)
def test_boxes_that_were_selected(columns: tuple[int, int]) -> None:
    text = (
        "(float[n, s, 4] boxes, float[n, c, s] scores) => (float[k, 4] y) { m = Constant <value_ints = [9]> () "
        f"found = NonMaxSuppression (boxes, scores, m) i = Constant <value_ints = [{columns[0]}, {columns[1]}]> () "
        "p = Gather <axis = 1> (found, i) y = GatherND (boxes, p) }"
    )
    proto = model(text, opset=18)
    found = [v for v in verdicts(infer(proto)) if v.access.op_type == "GatherND"]
    assert tuple(v.kind for v in found) == BOXES[columns]
    corners = np.array([[0, 0, 1, 1], [5, 5, 6, 6], [9, 9, 10, 10]], np.float32)
    feeds = {"boxes": corners[None], "scores": np.ones((1, 4, 3), np.float32)}
    is_proved = all(v.kind is VerdictKind.PROVED for v in found)
    assert bool(Runtime(proto).error(feeds)) is not is_proved


def test_a_network_of_openvino() -> None:
    """That ONNX's Conv refuses empty axes is no requirement of OpenVINO's layer."""
    contract = contract_of(NETWORK).contract
    assert (contract.lines, contract.open) == ((), ())
    assert [(line.text, line.tight) for line in contract.nonempty] == [("image.2 >= 1", False), ("image.3 >= 1", False)]


@pytest.mark.parametrize(("index", "kind"), [("0, 2", VerdictKind.PROVED), ("0, 3", VerdictKind.CONDITIONAL)])
def test_an_index_out_of_bounds_gives_zero_in_openvino(index: str, kind: VerdictKind) -> None:
    """The component is then no element of the tuples, whose first axis has 2 rows and whose last has 0 or more."""
    text = (
        '<ir_version: 8, opset_import: ["": 18, "openvino.opset8": 1]> agraph (float[2, N] x) => (y) { '
        f"z = NonZero (x) t = Transpose (z) c = Constant <value_ints = [{index.replace('2', '1')}]> () "
        "a = Constant <value_int = 1> () p = openvino.opset8.Gather (t, c, a) y = GatherND (x, p) }"
    )
    found = [v for v in verdicts(infer(onnx.parser.parse_model(text))) if v.access.op_type == "GatherND"]
    assert found[0].kind is VerdictKind.PROVED or kind is not VerdictKind.PROVED
    assert (found[1].kind is VerdictKind.PROVED) == (kind is VerdictKind.PROVED)
