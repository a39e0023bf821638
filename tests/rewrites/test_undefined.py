# ruff: noqa: E501
"""Models that read what nothing defines: no rewrite rests on such a node, and none ends in an exception."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from onnx import ModelProto

from gather_infer.passes import optimize
from tests.rewrites.table import model, tables


def lacking(made: ModelProto) -> Iterator[ModelProto]:
    """The model with one input of a node of the main graph replaced by a name that nothing defines, each in turn."""
    for position, node in enumerate(made.graph.node):
        for at, name in enumerate(node.input):
            if name:
                again = ModelProto()
                again.CopyFrom(made)
                again.graph.node[position].input[at] = "missing"
                yield again


@pytest.mark.parametrize("table", tables())
def test_a_name_that_nothing_defines(table: str) -> None:
    for name, case in tables()[table].items():
        for made in lacking(model(case.before, case.opset)):
            codes = [d.code for d in optimize(made).diagnostics]
            assert "GI103" in codes, name


BEHIND = {
    # a rule -> a graph to which it applies where `missing` is an input
    "gather-of-transpose": "g (float[N, 4] x) => (float[A] y) <int64 z = {0}> { t = Transpose<perm = [1, 0]>(missing) y = Gather(t, z) }",
    "transpose-of-transpose": "g (float[N, 4] x) => (float[A, B] y) { t = Transpose<perm = [1, 0]>(missing) y = Transpose<perm = [1, 0]>(t) }",
}  # fmt: skip


@pytest.mark.parametrize("rule", BEHIND)
def test_what_reads_it_is_left_alone(rule: str) -> None:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {BEHIND[rule]}')
    result = optimize(made)
    assert (result.applied, result.proto) == ((), made)
    assert [str(d.location) for d in result.diagnostics if d.code == "GI103"] == [
        "node Transpose#0 (Transpose-13), input missing"
    ]
    del made.graph.input[:]
    made.graph.input.append(onnx.helper.make_tensor_value_info("missing", onnx.TensorProto.FLOAT, ["N", 4]))
    assert rule in [done.rule for done in optimize(made).applied]
