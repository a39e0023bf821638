"""The contracts of both models in `diff`: the property, the exit code, text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from gather_infer_cli.main import main

from gather_infer import DiffVerdict, diff
from gather_infer.contract import ContractChange
from tests.verification.models import model

PLAIN = "(float[n] x) => (y) { y = Neg(x) }"
LIMITED = (
    f"(float[n] x) => (y) <int64[1] zero = {{0}}, float[48] w = {{{', '.join('0' * 48)}}}> "
    "{ y = Neg(x) s = Shape(x) p = Slice(w, zero, s, zero) z = Add(x, p) }"
)
"""The same output, besides a sum that no output reads: it fails for n > 48."""


def test_equal_in_runs_and_narrower() -> None:
    found = diff(model(PLAIN), model(LIMITED), runs=4)
    assert (found.verdict, found.contract, found.is_equal) == (DiffVerdict.RUNS, ContractChange.NARROWER, False)
    assert found.contracts is not None
    assert [(each.text, each.example) for each in found.contracts.narrowing] == [("n <= 48", "x.0 = 49")]
    feeds = [{"x": np.zeros(49, np.float32)}]
    assert diff(model(PLAIN), model(LIMITED), runs=0, feeds=feeds).verdict is DiffVerdict.DIFFERENT


def test_equal_and_wider() -> None:
    found = diff(model(LIMITED), model(PLAIN))
    assert found.is_proved and found.contract is ContractChange.WIDER
    assert diff(model(LIMITED), model(PLAIN), details=False).contract is ContractChange.HOLDS
    assert diff(model(PLAIN), model(PLAIN)).contract is ContractChange.EQUAL


def test_inputs_that_differ_have_no_common_contract() -> None:
    found = diff(model(PLAIN), model("(float[n] x, float[n] z) => (y) { y = Add(x, z) }"))
    assert (found.contract, found.contracts) == (ContractChange.UNKNOWN, None)


def test_a_proof_outweighs_a_contract_that_is_not_decided() -> None:
    """Both models have the same open point under other names: that the second runs where the first does is proved."""
    first = "(float[n] x, int64[1] k) => (y) { a = Abs(k) y = Gather(x, a) }"
    second = "(float[n] x, int64[1] k) => (y) { b = Identity(k) a = Abs(b) y = Gather(x, a) }"
    found = diff(model(first), model(second))
    assert found.contracts is not None and found.contracts.narrowing and found.contracts.widening
    assert found.contract is ContractChange.HOLDS


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")]
    for text, path in zip((PLAIN, LIMITED), paths, strict=True):
        onnx.save(model(text), path)
    return paths


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", "--runs", "4", *arguments])


def test_exit_codes_and_text(files: list[str]) -> None:
    narrower = run(*files)
    assert narrower.exit_code == 1 and "the second requires n <= 48 (Add#3); x.0 = 49 is fine in the first" in (
        narrower.output
    )
    assert run(*files, "--dim", "n=1..48").exit_code == 0
    wider = run(*files[::-1])
    assert wider.exit_code == 0 and "contract   wider" in wider.output


def test_json(files: list[str]) -> None:
    data = json.loads(run(*files, "--format", "json").output)
    assert (data["verdict"], data["contract"]) == ("runs", "narrower")
    assert data["contracts"] == {
        "narrowing": [{"text": "n <= 48", "nodes": ["Add#3"], "witness": {"x.0": 49}}],
        "widening": [],
    }


def test_costs_that_differ() -> None:
    """By hand, 4 bytes an element: two products of [n, 4] and [4, 3], and their sum; or one product."""
    first = "(float[n, 4] x, float[4, 3] w) => (y) { a = MatMul(x, w) b = MatMul(x, w) y = Add(a, b) }"
    second = "(float[m, 4] x, float[4, 3] w) => (y) { a = MatMul(x, w) y = Add(a, a) }"
    found = diff(model(first), model(second), runs=0)
    costs = {each.quantity: (str(each.first), str(each.second)) for each in found.costs}
    assert costs == {
        "macs": ("24*n", "12*n"),
        "reads": ("56*n + 96", "28*n + 48"),  # [n, 4] and [4, 3] for each product, then [n, 3] twice, or once
        "writes": ("36*n", "24*n"),
        "peak": ("40*n + 48", "28*n + 48"),  # both inputs and two products, or one
    }
    assert diff(model(first), model(first), runs=0).costs == ()
    assert diff(model(first), model(second), runs=0, details=False).costs == ()


def test_an_assumption_of_the_second_model_is_a_condition() -> None:
    """A Reshape to [-1, n] with allowzero is not defined for n = 0; the first model has no such size."""
    first = "(float[m, n] x) => (y) { y = Neg(x) }"
    second = (
        "(float[m, n] x) => (y) <int64[1] minus = {-1}> { s = Shape<start = 1>(x) t = Concat<axis = 0>(minus, s) "
        "r = Reshape<allowzero = 1>(x, t) y = Neg(x) }"
    )
    found = diff(model(first), model(second), runs=0)
    assert found.contracts is not None
    assert [each.text for each in found.contracts.narrowing if "n" in each.text] == ["n >= 1"]
    assert found.contract in (ContractChange.UNKNOWN, ContractChange.NARROWER)
