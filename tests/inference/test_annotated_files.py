"""Annotated files pass onnx's full check wherever the original does; wrong outputs of bodies are found."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from gather_infer import Severity, infer
from tests.documents import REPO
from tests.inference.models import model

FIXTURES = sorted((REPO / "fixtures").glob("*.onnx"))


def test_there_are_fixtures() -> None:
    assert len(FIXTURES) >= 47


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.stem)
def test_the_full_check(path: Path, tmp_path: Path) -> None:
    onnx.checker.check_model(path, full_check=True)
    written = tmp_path / "annotated.onnx"
    onnx.save(infer(path).annotated(weights=True), written)
    onnx.checker.check_model(written, full_check=True)


WRONG = """(float[n, 3] x, bool c) => (y, z) {{
    [branch] y, z = If (c) <
        then_branch = a () => ({0} t, {1} u) {{ t = Neg (x) u = Abs (x) }},
        else_branch = b () => (float[p, q] e, float[p, q] f) {{ e = Neg (x) f = Abs (x) }}
    > }}"""

BODIES = {
    # id: (declared outputs of the branch, severity, lines of detail; None: nothing is wrong)
    "right": ("float[n, 3]", "float[k, m]", None, 0),
    "a rank": ("float[n]", "float[k, m]", Severity.WARNING, 0),
    "two of them": ("float[n]", "float[n, 4]", Severity.WARNING, 1),
    "a size": ("float[k, 4]", "float[k, m]", Severity.WARNING, 0),
    "an element type": ("int64[n, 3]", "float[k, m]", Severity.ERROR, 0),
    "a scalar": ("float", "float[k, m]", Severity.WARNING, 0),
}


@pytest.mark.parametrize("name", BODIES)
def test_declared_outputs_of_a_branch(name: str) -> None:
    first, second, severity, more = BODIES[name]
    inference = infer(model(WRONG.format(first, second)))
    found = [(d.code, d.severity, d.location.graph, len(d.detail)) for d in inference.diagnostics]
    assert found == ([] if severity is None else [("GI202", severity, "branch/then_branch", more)])
    branch = inference.annotated().graph.node[0].attribute[0].g
    assert [str(v.type.tensor_type.elem_type) for v in branch.output] == ["1", "1"]
    assert [len(v.type.tensor_type.shape.dim) for v in branch.output] == [2, 2]


def test_a_body_interpreted_many_times_has_one_finding() -> None:
    proto = model(
        """(float[n, 3] x, int64 trips) => (y) {
            [loop] y = Loop (trips, , x) <
                body = l (int64 i, bool more, float[p, q] s) => (bool again, float[p] next) {
                    again = Identity (more) next = Concat <axis = 0> (s, x) }
            > }"""
    )
    (finding,) = infer(proto).diagnostics
    assert (finding.code, finding.severity, finding.location.graph) == ("GI202", Severity.WARNING, "loop/body")
    body = infer(proto).annotated().graph.node[0].attribute[0].g
    assert body.output[1] == proto.graph.node[0].attribute[0].g.output[1], "runtimes go by it when the loop never runs"


def test_an_unknown_rank_is_written_with_its_element_type() -> None:
    proto = model("(float x) => (z) { y = Relu (x) z = Cast <to = 7> (y) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    annotated = infer(proto).annotated()
    for info, number in ((annotated.graph.value_info[0], 1), (annotated.graph.output[0], 7)):
        assert info.type.tensor_type.elem_type == number and not info.type.tensor_type.HasField("shape")
