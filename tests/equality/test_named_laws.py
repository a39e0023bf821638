"""Named laws: equations that a proof uses only if the caller names them."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner, Result
from gather_infer_cli.main import main

from gather_infer import DiffVerdict, UsageError, diff
from gather_infer.equality import ProofClass
from tests.verification.models import model

HEAD = "(float[b, s, 8] x, float[8, 3] w, float[3, 8] v, float[3] c)"
ROWS = "sh = Shape<end = 2>(x) t = Concat<axis = 0>(sh, three) y = Reshape(g, t)"
CUT = "<int64[2] h = {2, 2}, int64[1] i = {1}, int64[1] j = {3}, int64[1] two = {2}, int64[1] end = {4}>"
CONSTANTS = "<int64[2] f = {-1, 8}, int64[1] three = {3}, int64[2] turned = {8, -1}>"
PRODUCT = f"{HEAD} => (y) {{ m = MatMul(x, w) y = Add(m, c) }}"


def flat(body: str) -> str:
    return f"{HEAD} => (y) {CONSTANTS} {{ r = Reshape(x, f) {body} {ROWS} }}"


EQUAL: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # first, second, the laws that are needed
    "a MatMul of rows": (PRODUCT, flat("n = MatMul(r, w) g = Add(n, c)"), ("rows",)),
    "a Gemm of rows": (PRODUCT, flat("g = Gemm(r, w, c)"), ("rows", "gemm-bias")),
    "a Gemm without a bias": (flat("g = MatMul(r, w)"), flat("g = Gemm(r, w)"), ("gemm-bias",)),
    "a Gemm of transposed weights": (
        flat("u = Transpose(v) n = MatMul(r, u) g = Add(c, n)"),
        flat("g = Gemm<transB = 1>(r, v, c)"),
        ("gemm-bias",),
    ),
    "a Gemm of transposed data": (
        flat("n = MatMul(r, w) g = Add(n, c)"),
        flat("q = Transpose(r) g = Gemm<transA = 1>(q, w, c)"),
        ("gemm-bias",),
    ),
}
MERGED = f"(float[s, 8] x, float[8, 2] v, float[8, 2] w) => (y, z) {CUT} {{ u = Concat<axis = 1>(v, w) m = MatMul(x, u)"
EQUAL["products with matrices side by side"] = (
    f"(float[s, 8] x, float[8, 2] v, float[8, 2] w) => (y, z) {CUT} {{ y = MatMul(x, v) z = MatMul(x, w) }}",
    f"{MERGED} y, z = Split<axis = 1>(m, h) }}",
    ("columns",),
)
EQUAL["columns that are left out"] = (
    f"(float[s, 8] x, float[8, 6] w) => (y) {CUT} {{ m = MatMul(x, w) y = Slice(m, i, j, i) }}",
    f"(float[s, 8] x, float[8, 6] w) => (y) {CUT} {{ v = Slice(w, i, j, i) y = MatMul(x, v) }}",
    ("columns",),
)
HEADS = (
    "(float[s, 8] x, float[8, 6] v, float[8, 2] w, float[8, 2] z) => (y) <int64[3] heads = {{-1, 4, 2}}>"
    " {{ u = Concat<axis = 1>(v, {last}) m = MatMul(x, u) y = Reshape(m, heads) }}"
)
DIFFERENT: dict[str, tuple[str, str]] = {
    "the columns of the last head": (HEADS.format(last="w"), HEADS.format(last="z")),
    "other columns": (
        f"(float[s, 8] x, float[8, 6] w) => (y) {CUT} {{ m = MatMul(x, w) y = Slice(m, i, j, i) }}",
        f"(float[s, 8] x, float[8, 6] w) => (y) {CUT} {{ v = Slice(w, two, end, i) y = MatMul(x, v) }}",
    ),
    "matrices side by side in the other order": (
        f"(float[s, 8] x, float[8, 2] v, float[8, 2] w) => (y, z) {CUT} {{ z = MatMul(x, v) y = MatMul(x, w) }}",
        f"{MERGED} y, z = Split<axis = 1>(m, h) }}",
    ),
    "alpha": (flat("n = MatMul(r, w) g = Add(n, c)"), flat("g = Gemm<alpha = 2.0>(r, w, c)")),
    "beta": (flat("n = MatMul(r, w) g = Add(n, c)"), flat("g = Gemm<beta = 0.5>(r, w, c)")),
    "alpha of 0": (flat("n = MatMul(r, w) g = Add(n, c)"), flat("g = Gemm<alpha = 0.0>(r, w, c)")),
    "beta of 0": (flat("n = MatMul(r, w) g = Add(n, c)"), flat("g = Gemm<beta = 0.0>(r, w, c)")),
    "rows in another order": (
        PRODUCT,
        flat("q = Transpose<perm = [1, 0, 2]>(x) z = Reshape(q, f) g = Gemm(z, w, c)"),
    ),
    "columns instead of rows": (
        flat("g = MatMul(r, w)"),
        flat("q = Reshape(x, turned) z = Transpose(q) g = MatMul(z, w)"),
    ),
    "other weights": (flat("u = Transpose(v) g = MatMul(r, u)"), flat("g = Gemm(r, w)")),
    "no bias": (flat("n = MatMul(r, w) g = Add(n, c)"), flat("g = Gemm(r, w)")),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_by_laws(name: str) -> None:
    first, second, needed = EQUAL[name]
    one, two = model(first), model(second)
    sizes = ["s=1.."]  # with s = 0, the Reshape to [b, s, 3] copies the 3
    found = diff(one, two, dims=sizes, laws=needed, runs=0)
    assert found.is_proved, found
    assert {each.proof_class for each in found.outputs} == {ProofClass.LAWS}
    for law in needed:
        fewer = [each for each in needed if each != law]
        assert diff(one, two, dims=sizes, laws=fewer, runs=0).verdict is DiffVerdict.UNKNOWN


@pytest.mark.parametrize("name", DIFFERENT)
def test_not_equal_by_laws(name: str) -> None:
    first, second = map(model, DIFFERENT[name])
    found = diff(first, second, dims=["s=1.."], laws=["rows", "columns", "gemm-bias"], runs=0)
    assert {each.proof_class for each in found.outputs} == {None}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DIFFERENT)
def test_a_witness_where_laws_do_not_hold(name: str) -> None:
    first, second = map(model, DIFFERENT[name])
    assert diff(first, second, dims=["s=1.."], laws=["rows", "columns", "gemm-bias"]).verdict is DiffVerdict.DIFFERENT


def test_laws_are_not_used_where_none_is_needed() -> None:
    same = diff(model(PRODUCT), model(PRODUCT), laws=["rows", "columns", "gemm-bias"], runs=0)
    assert [each.proof_class for each in same.outputs] == [ProofClass.SAME_CALLS]


def test_an_unknown_law() -> None:
    with pytest.raises(UsageError, match=r"no law 'row'; did you mean 'rows'\?; the laws are rows, columns, gemm-bias"):
        diff(model(PRODUCT), model(PRODUCT), laws=["row"])


def test_on_the_command_line(tmp_path: Path) -> None:
    first, second, _ = EQUAL["a Gemm without a bias"]
    files = [str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]
    for text, file in zip((first, second), files, strict=True):
        onnx.save(model(text), file)

    def run(*options: str) -> Result:
        return CliRunner().invoke(main, ["diff", *files, "--prove", "--dim", "s=1..", *options])

    assert run().exit_code == 1
    shown = run("--law", "gemm-bias")
    assert shown.exit_code == 0 and "1 output (named laws: gemm-bias)" in shown.output, shown.output
    data = json.loads(run("--law", "gemm-bias", "--format", "json").output)
    assert data["laws"] == ["gemm-bias"] and data["outputs"][0]["class"] == "named laws"
    assert run("--law", "fold").exit_code == 2


def test_a_single_column_is_multiplied_in_another_way() -> None:
    """onnxruntime rounds a product with one column differently."""
    head = "(float[b, 8] x, float[8, 3] w) => (y) <int64[1] i = {1}>"
    first = model(f"{head} {{ m = MatMul(x, w) y = Gather<axis = 1>(m, i) }}")
    second = model(f"{head} {{ v = Gather<axis = 1>(w, i) y = MatMul(x, v) }}")
    assert diff(first, second, laws=["columns"], runs=0).verdict is DiffVerdict.UNKNOWN
