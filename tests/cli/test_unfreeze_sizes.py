"""`unfreeze --like` and `--partial`: what is printed, written, and the exit code."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.cli.conftest import Run
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
    assert done.stdout.count("proved") == 2 and "seq=6 as 6.onnx" in done.stdout


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
