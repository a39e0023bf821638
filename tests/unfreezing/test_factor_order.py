"""Sizes that are freed beside others that were dynamic before."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import gather_infer
from fixtures.feeds import model_path
from gather_infer import diff, freeze, unfreeze
from gather_infer.symbolic import Dim
from gather_infer.unfreezing.factors import factored_values
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors
from gather_infer.unfreezing.factors.factor_order import has_order_of, with_symbols
from tests.unfreezing.cases import run
from tests.verification.models import model

BATCH, SEQ = gather_infer.symbol("batch"), gather_infer.symbol("seq")
OLD = {"batch": 2, "seq": 101}

NAMED: dict[str, tuple[Factors, Dim, Factors]] = {
    # id:                     (factors, static dim, result)
    "inside of the rows": ((BATCH, 101), 2 * SEQ, (BATCH, SEQ)),
    "around the rows": ((101, BATCH), 2 * SEQ, (SEQ, BATCH)),
    "with a number": ((BATCH, 404), 8 * SEQ, (BATCH, 4 * SEQ)),
    "a number": ((BATCH, 101), 202, (BATCH, 101)),
    "two numbers": ((4, BATCH, 101), 8 * SEQ, (4, BATCH, 101)),
    "another size": ((BATCH, 100), 2 * SEQ, (BATCH, 100)),
    "a sum": ((BATCH, 102), 2 * SEQ + 2, (BATCH, SEQ + 1)),
    "not whole": ((BATCH, 101), 2 * SEQ + 1, (BATCH, 101)),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_number_next_to_rows_is_a_dynamic_size(name: str) -> None:
    factors, dim, wanted = NAMED[name]
    assert with_symbols(factors, dim, OLD) == wanted


ORDERS: dict[str, tuple[AxisFactors, AxisFactors, bool]] = {
    "merged": (((BATCH,), (SEQ,), (8,)), ((BATCH, SEQ), (8,)), True),
    "other parts": (((BATCH,), (SEQ,), (8,)), ((BATCH, 4 * SEQ), (2,)), True),
    "turned": (((SEQ,), (BATCH,)), ((BATCH, SEQ),), False),
    "a size that was the number": (((101,), (BATCH,), (SEQ,)), ((SEQ, BATCH), (101,)), False),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_holds_at_all_sizes(name: str) -> None:
    before, after, holds = ORDERS[name]
    assert has_order_of(before, after, {"batch": 2}) is holds


COINCIDENCE = (
    "(float[2,101,seq] x) => (float[n,101] y) <int64[2] s = {-1,101}> "
    "{ t = Transpose<perm=[1,0,2]>(x) y = Reshape(t, s) }"
)
"""The number that stands for `seq` is one of the model. The rows of y are rows of x for 101 positions alone."""


def test_a_number_that_is_the_sample_of_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unfreeze(model(COINCIDENCE), ["x.0=batch"], verify=False).refused
    monkeypatch.setattr(factored_values, "has_order_of", lambda *_: True)
    assert not unfreeze(model(COINCIDENCE), ["x.0=batch"], verify=False).refused


TEXTS = {
    "a Flatten": "(float[2,seq,3] x) => (float[n,m] y) { y = Flatten<axis=2>(x) }",
    "merged behind the length": (
        "(float[2,seq,3] x) => (float[n,m] y) <int64[2] s = {-1,3}> "
        "{ t = Transpose<perm=[1,0,2]>(x) y = Reshape(t, s) }"
    ),
    "a target with the rows": (
        "(float[2,seq,4] x) => (float[n,m,k,l] y) <int64[4] s = {2,-1,2,2}> { y = Reshape(x, s) }"
    ),
    "parted rows": (
        "(float[2,seq,4] x) => (float[n,m,k] y) <int64[2] a = {-1,4}, int64[3] s = {2,-1,4}> "
        "{ f = Reshape(x, a) r = Relu(f) y = Reshape(r, s) }"
    ),
    "merged heads": "(float[2,seq,4] x) => (float[n,m,k] y) <int64[3] s = {4,2,-1}> "
    "{ t = Transpose<perm=[0,2,1]>(x) y = Reshape(t, s) }",
    "a table for each position": (
        "(float[2,seq,4] x) => (float[2,m,4] y) <float[2,1,4] c = {1,2,3,4,1,2,3,4}> "
        "{ y = Add(x, c) }"
    ),
}  # fmt: skip


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_rows_are_freed_where_a_length_is_dynamic(name: str, verify: bool) -> None:
    """The result at 2 rows is the file; at others it is the file with the constants of as many rows."""
    text = TEXTS[name]
    result = unfreeze(model(text), ["x.0=batch"], verify=verify)
    assert not result.refused, result.why_refused
    width = 4 if "seq,4]" in text else 3
    for rows in (1, 2, 3, 5):
        other = text.replace("[2,seq", f"[{rows},seq").replace("{2,-1", f"{{{rows},-1")
        other = other.replace("{4,2,-1}", f"{{{2 * rows},2,-1}}").replace("(float[2,m,4]", f"(float[{rows},m,4]")
        other = other.replace("[2,1,4] c = {1,2,3,4,1,2,3,4}", f"[{rows},1,4] c = {{{','.join(['1,2,3,4'] * rows)}}}")
        for seq in (0, 1, 2, 3, 7, 101):
            x = np.arange(rows * seq * width, dtype=np.float32).reshape(rows, seq, width)
            (wanted,), (found,) = run(model(other), {"x": x}), run(result.proto, {"x": x})
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["bert-torchscript", "gpt2-kv-torchscript", "beam-step-dynamo"])
def test_an_export_with_rows_alone_fixed(name: str) -> None:
    path = model_path(name)
    static: onnx.ModelProto = freeze(path, dims=["batch=2"]).proto
    result = unfreeze(static, ["*.0=batch"], verify=False)
    assert not result.refused, result.why_refused
    assert diff(path, result.proto, details=False, runs=0).is_proved


def test_several_sizes_next_to_rows_are_refused() -> None:
    """Without the order, a target with the sample of `seq` would be written, which fails at each other length."""
    text = "(float[seq,2,4] x) => (float[n] y) <int64[1] s = {-1}> { y = Reshape(x, s) }"
    result = unfreeze(model(text), ["x.1=batch"], rows=["batch"], verify=False)
    assert "no axis is known to hold batch" in result.why_refused and "101" not in result.why_refused
