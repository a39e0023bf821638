"""Runs that refute the independence of rows: what is evidence, and what is noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from onnx.parser import parse_model

from gather_infer import IndependenceVerdict, independence
from gather_infer.provenance import confirmation
from tests.provenance.test_rows import model_of

RANDOM = {
    "RandomNormalLike": "r = RandomNormalLike(x) y = Add(x, r)",
    "a seed": "r = RandomUniformLike <seed = 1.0> (x) y = Add(x, r)",
    "Bernoulli": "(float[B, 4] x) => b = Bernoulli(x) y = Add(x, b)",
    "Dropout in training": "m, k = Dropout(x, r, t) <float r = {0.5}, bool t = {1}>",
}


@pytest.mark.parametrize("text", RANDOM.values(), ids=RANDOM)
def test_random_numbers_refute_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator tells, and mostly another run on the same inputs; without both checks they would."""
    result = independence(model_of(text))
    assert result.verdict is IndependenceVerdict.OPEN and "depends on random numbers" in result.unconfirmed
    assert result.cause is not None and "it draws random numbers" in result.cause.reason
    with monkeypatch.context() as patch:
        patch.setattr(confirmation, "nondeterministic_outputs", lambda inference: {})
        if "Bernoulli" not in text:  # a number of 0 or 1 is often the same
            assert independence(model_of(text)).verdict is IndependenceVerdict.OPEN
        patch.setattr(confirmation._Runs, "_unstable_outputs", lambda *_: set())
        assert independence(model_of(text)).verdict is IndependenceVerdict.REFUTED


def test_noise_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of all rows is added, and subtracted again."""
    text = "m = ReduceSum <keepdims = 0> (x) a = Add(x, m) y = Sub(a, m)"
    result = independence(model_of(text))
    assert result.verdict is IndependenceVerdict.OPEN
    assert result.cause is not None and result.cause.mixes and not result.unconfirmed
    monkeypatch.setattr(confirmation, "TOLERANCE", None)
    assert independence(model_of(text)).verdict is IndependenceVerdict.REFUTED


def test_noise_that_a_model_enlarges_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A multiple of the number of rows is added, and subtracted again; then the last digits are made the first."""
    text = (
        "h = Shape(x) b = Gather(h, i) f = Cast <to = 1> (b) g = Mul(f, c) a = Add(x, g) d = Sub(a, g) k = Mul(d, e) "
        "y = Sin(k) <int64 i = {0}, float c = {0.3}, float e = {10000000}>"
    )
    assert independence(model_of(text)).verdict is IndependenceVerdict.OPEN
    monkeypatch.setattr(confirmation._Runs, "_sensitive_outputs", lambda *_: set())
    assert independence(model_of(text)).verdict is IndependenceVerdict.REFUTED


EVIDENCE = {
    # the graph, and how a run begins that refutes it
    "later rows": (
        "y = Softmax <axis = 0> (x)",
        "at B=3 other rows after row 0 change it: element [0, ",
    ),
    "earlier rows": (
        "(int64[B] x) => u, f, y, c = Unique <sorted = 0, axis = 0> (x)",
        "at B=3 other rows before row 2 change it: element [2] was 0, is 1",
    ),
    "copies of a row before it": (
        "(float[B, 4] x) => u, f, y, c = Unique <sorted = 0, axis = 0> (x)",
        "at B=5 copies of row 4 before it change it: element [4] was 4, is 0",
    ),
    "the number of the row": (
        "h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Cast <to = 1> (r) u = Unsqueeze(f, a) y = Add(x, u)"
        " <int64 o = {0}, int64 one = {1}, int64[2] a = {1, 2}>",
        "at B=5 row 0 is another one as row 1: element [0, 0, 0] was ",
    ),
    "the number of rows": (
        "h = Shape(x) n = Gather(h, i) f = Cast <to = 1> (n) y = Div(x, f) <int64 i = {0}>",
        "at B=5 row 1 is another one alone: element [1, 0, 0] was ",
    ),
}


@pytest.mark.parametrize(("text", "run"), EVIDENCE.values(), ids=EVIDENCE)
def test_a_run_names_what_changes_a_row_and_its_element(text: str, run: str) -> None:
    result = independence(model_of(text))
    assert result.verdict is IndependenceVerdict.REFUTED
    assert any(output.run.startswith(run) for output in result.outputs), [output.run for output in result.outputs]


def test_a_difference_that_may_be_noise_has_to_show_for_two_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[list[tuple[str, bool, str]]] = []

    def differences(*_: Any) -> Iterator[tuple[str, bool, str]]:
        yield from found.pop() if found else ()

    monkeypatch.setattr(confirmation._Runs, "_differences", differences)
    model = model_of("y = Softmax <axis = 0> (x)")
    for drawn, is_refuted in (
        ([[("y", True, "run")]], True),
        ([[("y", False, "run")]], False),
        ([[("y", False, "run"), ("y", False, "another")]], False),
        ([[("y", False, "run")], [], [("y", False, "another")]], True),
        ([[("y", False, "run")], *[[]] * 8, [("y", False, "another")]], True),
        ([[("y", False, "run")], *[[]] * 8], False),  # it is looked for longer only if it showed once
    ):
        found[:] = drawn
        assert (independence(model).verdict is IndependenceVerdict.REFUTED) == is_refuted, drawn


@pytest.mark.parametrize(
    ("text", "is_exact"),
    [
        ("y = Softmax <axis = 0> (x)", True),
        ("n = NonZero(x) s = Softmax <axis = 0> (x) k = Shape(n) z = ConstantOfShape(k) y = Identity(s)", False),
    ],
)
def test_other_rows_are_evidence_at_once_if_no_size_depends_on_elements(
    text: str, is_exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []
    original = confirmation._Runs._differences

    def differences(*arguments: Any) -> Iterator[tuple[str, bool, str]]:
        for each in original(*arguments):
            found.append(each[1])
            yield each

    monkeypatch.setattr(confirmation._Runs, "_differences", differences)
    assert independence(model_of(text)).verdict is IndependenceVerdict.REFUTED
    assert found[0] is is_exact and False in found


FIXED = {
    # graphs of 2 rows: whether a run can refute it
    "no other axis that 2 divides": ("(float[2, 3] x) => y = Softmax <axis = 0> (x)", True),
    "another axis of 2": ("(float[2, 2, 3] x) => y = Softmax <axis = 0> (x)", True),
    "rows on axis 1": ("(float[2, 2, 3] x) => t = Transpose <perm = [1, 0, 2]> (x) y = Softmax <axis = 1> (t)", False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "is_refuted"), FIXED.values(), ids=FIXED)
def test_a_fixed_number_of_rows_is_compared_where_its_axis_is_known(text: str, is_refuted: bool) -> None:
    result = independence(model_of(text), rows=["x.0"])
    assert (result.verdict is IndependenceVerdict.REFUTED) == is_refuted, result


def test_rows_that_a_transpose_moved_are_not_refuted_by_their_places() -> None:
    """Axis 0 of the output has as many indices as there are rows, but they are columns."""
    model = parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2] x, bool[2] c) => (float[2, 2] y)'
        " <int64[2] s = {2, 2}, int64[1] a = {0}, int64[1] e = {2}> { t = Transpose(x)"
        " k = Compress <axis = 0> (t, c) h = Concat <axis = 0> (k, t) f = Slice(h, a, e) y = Reshape(f, s) }"
    )
    assert independence(model, rows=["x.0"]).verdict is IndependenceVerdict.OPEN
