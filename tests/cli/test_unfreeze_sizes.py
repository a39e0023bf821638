"""`unfreeze --like` and `--partial`: what is printed, written, and the exit code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx

from tests.cli.conftest import Run
from tests.documents import REPO
from tests.verification.models import model

MEAN = (
    "(float[1,{0}] x) => (float[1] y) <int64[1] a = {{1}}, float n = {{{0}}}> "
    "{{ s = ReduceSum<keepdims=0>(x, a) y = Div(s, n) }}"
)


def test_some_of_several_sizes(run: Run) -> None:
    text = "(float[2,3] x) => (float[2,2] y) <float[3,2] c = {1,2,3,4,5,6}> { a = Neg(x) y = MatMul(a, c) }"
    onnx.save(model(text), "m.onnx")
    words = ["unfreeze", "m.onnx", "--dim", "x.0=batch", "--dim", "x.1=width", "-o", "out.onnx"]
    assert run(*words).exit_code == 1
    assert not Path("out.onnx").exists()
    done = run(*words, "--partial")
    assert done.exit_code == 0 and "not freed: width: node" in done.stdout
    assert Path("out.onnx").exists()
    none = run("unfreeze", "m.onnx", "--dim", "x.1=width", "--partial", "-o", "none.onnx")
    assert none.exit_code == 1 and not Path("none.onnx").exists()


def test_a_second_model(run: Run) -> None:
    for size in (5, 6):
        onnx.save(model(MEAN.format(size)), f"{size}.onnx")
    done = run("unfreeze", "5.onnx", "--like", "6.onnx", "--dim", "x.1=seq", "-o", "out.onnx", "--prove")
    assert done.exit_code == 0, done.output
    assert "outputs equal those of the original: seq=5\n" in done.stdout
    assert "outputs equal those of 6.onnx: seq=6\n" in done.stdout
    proofs = re.findall(r"compared with (.*):\n  proved     1 output", done.stdout)
    assert proofs == ["5.onnx at seq=5", "6.onnx at seq=6"]


def test_another_model(run: Run) -> None:
    onnx.save(model(MEAN.format(5)), "5.onnx")
    onnx.save(model("(float[1,6] x) => (float[1] y) <int64[1] a = {1}> { y = ReduceSum<keepdims=0>(x, a) }"), "6.onnx")
    done = run("unfreeze", "5.onnx", "--like", "6.onnx", "--dim", "x.1=seq", "-o", "out.onnx")
    assert done.exit_code == 2 and "6.onnx is not the same graph at another size" in done.stderr
    assert not Path("out.onnx").exists()
    assert run("unfreeze", "5.onnx", "--like", "no.onnx", "--dim", "x.1=seq", "-o", "out.onnx").exit_code == 3


def test_a_size_that_follows_from_another(run: Run) -> None:
    onnx.save(model("(float[2,5] x, float[2,8] m) => (float[2,13] y) { y = Concat<axis=1>(x, m) }"), "m.onnx")
    done = run("unfreeze", "m.onnx", "--dim", "x.1=past", "--dim", "m.1=past+3", "-o", "out.onnx")
    assert done.exit_code == 0, done.output
    assert "m.onnx   past, was 5: x.1" in done.stdout and "m.onnx   past + 3, was 8: m.1" in done.stdout
    (out,) = onnx.load("out.onnx").graph.output
    assert out.type.tensor_type.shape.dim[1].dim_param == "2*past + 3"


def test_a_pattern_that_names_no_axis(run: Run) -> None:
    onnx.save(model("(float[2,3] x) => (float[2,3] y) { y = Neg(x) }"), "m.onnx")
    for size in ("*.2=batch", "x.0="):
        done = run("unfreeze", "m.onnx", "--dim", size, "-o", "out.onnx")
        assert done.exit_code == 2 and done.stderr.startswith(f"error: dim '{size.partition('=')[0]}': ")
    assert not Path("out.onnx").exists()


def test_inputs_that_were_not_named(run: Run) -> None:
    """The refusal lists the same axis of other inputs, not other axes of the old size."""
    onnx.save(model("(float[2,2] x, float[2,2] z, float[3,2] w) => (float[2,2] y) { y = Add(x, z) }"), "m.onnx")
    done = run("unfreeze", "m.onnx", "--dim", "x.0=batch", "-o", "out.onnx")
    assert done.exit_code == 1 and "--like" not in done.stdout
    assert "  also 2, without a name: z.0; if such an axis is batch, too: --dim z.0=batch\n" in done.stdout
    named = run("unfreeze", "m.onnx", "--dim", "x.0=batch", "--dim", "z.0=batch", "-o", "out.onnx")
    assert named.exit_code == 0 and "without a name" not in named.stdout


def test_a_model_with_errors(run: Run) -> None:
    text = "(float[2,3] x, float[2,4] z) => (float[2,3] y) <float[2,1] c = {1,2}> { a = Add(x, z) y = Mul(a, c) }"
    onnx.save(model(text), "m.onnx")
    done = run("unfreeze", "m.onnx", "--dim", "x.0=batch", "-o", "out.onnx")
    assert done.exit_code == 1 and "the model has errors at its old sizes already" in done.stdout
    assert "--like" not in done.stdout and "error[GI212]" in done.stdout


def test_the_members_in_json_are_documented(run: Run) -> None:
    page = (REPO / "docs" / "json.md").read_text()
    section = re.search(r"## `unfreeze`\n(.*?)\n## ", page, re.DOTALL)
    assert section is not None
    documented = re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE)
    onnx.save(model("(float[2,3] x) => (float[2,3] y) { y = Neg(x) }"), "m.onnx")
    found = json.loads(run("unfreeze", "m.onnx", "--dim", "*.0=batch", "--dry-run", "--format", "json").stdout)
    assert set(found) == set(documented)
    rows = re.search(r"^\| `rows` \| (.*) \|$", section[1], re.MULTILINE)
    assert rows is not None and all(f"`{member}`" in rows[1] for member in found["rows"])
