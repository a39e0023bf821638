"""`unfreeze`: a model that is static in one size runs as the dynamic model of the same network, at any size."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

import gather_infer
from fixtures.feeds import bindings, make_feeds, model_path
from gather_infer import UsageError, freeze, infer, optimize, unfreeze
from gather_infer.model.edits import RemoveInitializer
from gather_infer.unfreezing import RowCheck, driver
from gather_infer.unfreezing.factors import factored_values
from gather_infer.unfreezing.factors.axis_factors import placements
from tests.unfreezing.cases import BATCH, SIZES, Case, check_dynamic, check_refused, run
from tests.verification.models import model

DYNAMIC_GATHER = (
    "(float[batch,3,2] x) => (float[batch,2] y) <int64[1] one = {1}, int64[1] t = {2}> "
    "{ m = ReduceSum<keepdims=0>(x, t) i = ArgMax<axis=1, keepdims=0>(m) k = Unsqueeze(i, one) "
    "y = GatherND<batch_dims=1>(x, k) }"
)

CASES = {
    "the -1 of a target absorbs the batch": Case(
        "(float[2,7,8] x) => (float[2,7,2,4] y) <int64[4] s = {2,7,2,-1}> { y = Reshape(x, s) }",
        "(float[batch,7,8] x) => (float[batch,7,2,4] y) <int64[4] s = {-1,7,2,4}> { y = Reshape(x, s) }",
    ),
    "an index without elements": Case(
        "(float[2,3] x) => (float[2,3] y, float[2,0] z) <int64[0] i = {}> "
        "{ e = Gather<axis=0>(x, i) y = Concat<axis=0>(x, e) z = Gather<axis=1>(x, i) }",
        "(float[batch,3] x) => (float[batch,3] y, float[batch,0] z) <int64[0] i = {}> "
        "{ y = Identity(x) z = Gather<axis=1>(x, i) }",
    ),
    "as many heads as rows": Case(
        "(float[2,7,4] x) => (float[2,2,7,2] y) <int64[4] s = {2,7,2,2}> "
        "{ r = Reshape(x, s) y = Transpose<perm=[0,2,1,3]>(r) }",
        "(float[batch,7,4] x) => (float[batch,2,7,2] y) <int64[4] s = {-1,7,2,2}> "
        "{ r = Reshape(x, s) y = Transpose<perm=[0,2,1,3]>(r) }",
    ),
    "time first, merged and split again": Case(
        "(float[2,3,4] x) => (float[2,3,4] y) <int64[2] s = {6,4}, int64[3] u = {3,2,4}> "
        "{ t = Transpose<perm=[1,0,2]>(x) r = Reshape(t, s) n = Neg(r) v = Reshape(n, u) "
        "y = Transpose<perm=[1,0,2]>(v) }",
        "(float[batch,3,4] x) => (float[batch,3,4] y) { y = Neg(x) }",
    ),
    "rows and positions in one axis": Case(
        "(float[2,3,4] x) => (float[2,12] y) <int64[2] s = {6,4}, int64[2] u = {2,12}> "
        "{ r = Reshape(x, s) n = Neg(r) y = Reshape(n, u) }",
        "(float[batch,3,4] x) => (float[batch,12] y) <int64[2] u = {-1,12}> { n = Neg(x) y = Reshape(n, u) }",
    ),
    "a token for each row, as a constant": Case(
        "(float[2,2,2] x) => (float[2,3,2] y) <float[2,1,2] c = {1,2,1,2}> { y = Concat<axis=1>(c, x) }",
        "(float[batch,2,2] x) => (float[batch,3,2] y) <float[1,1,2] c = {1,2}, int64[2] o = {1,2}> "
        "{ n = Shape<end=1>(x) s = Concat<axis=0>(n, o) e = Expand(c, s) y = Concat<axis=1>(e, x) }",
    ),
    "a token for each row, expanded": Case(
        "(float[2,2,2] x) => (float[2,3,2] y) <float[1,1,2] c = {1,2}, int64[3] s = {2,1,2}> "
        "{ e = Expand(c, s) y = Concat<axis=1>(e, x) }",
        "(float[batch,2,2] x) => (float[batch,3,2] y) <float[1,1,2] c = {1,2}, int64[2] o = {1,2}> "
        "{ n = Shape<end=1>(x) s = Concat<axis=0>(n, o) e = Expand(c, s) y = Concat<axis=1>(e, x) }",
    ),
    "an Expand keeps the rows of its data": Case(
        "(float[2,1,2] x) => (float[2,3,2] y) <int64[3] s = {2,3,2}> { y = Expand(x, s) }",
        "(float[batch,1,2] x) => (float[batch,3,2] y) <int64[3] s = {1,3,2}> { y = Expand(x, s) }",
    ),
    "an operand with equal rows": Case(
        "(float[2,2] x) => (float[2,2] y) <float[2,2] c = {1,5,1,5}> { y = Add(x, c) }",
        "(float[batch,2] x) => (float[batch,2] y) <float[1,2] c = {1,5}> { y = Add(x, c) }",
    ),
    "row numbers in a Gather of merged rows": Case(
        "(float[2,3,2] x) => (float[2,2] y) <int64[2] s = {6,2}, int64[2] r = {0,3}, int64[1] t = {2}> "
        "{ m = ReduceSum<keepdims=0>(x, t) i = ArgMax<axis=1, keepdims=0>(m) d = Reshape(x, s) j = Add(i, r) "
        "y = Gather<axis=0>(d, j) }",
        DYNAMIC_GATHER,
    ),
    "old size 1: an index into merged rows gets the row": Case(
        "(float[1,3,2] x) => (float[1,2] y) <int64[2] s = {3,2}, int64[1] t = {2}> "
        "{ m = ReduceSum<keepdims=0>(x, t) i = ArgMax<axis=1, keepdims=0>(m) d = Reshape(x, s) "
        "y = Gather<axis=0>(d, i) }",
        DYNAMIC_GATHER,
    ),
    "an index of all merged rows": Case(
        "(float[2,3,2] x) => (float[12,2] y) <int64[2] s = {6,2}, int64[12] i = {0,0,1,1,2,2,3,3,4,4,5,5}> "
        "{ d = Reshape(x, s) y = Gather<axis=0>(d, i) }",
        "(float[batch,3,2] x) => (float[n,2] y) <int64[2] s = {-1,2}, int64[6] i = {0,0,1,1,2,2}> "
        "{ e = Gather<axis=1>(x, i) y = Reshape(e, s) }",
    ),
    "old size 1: a constant index names row 0": Case(
        "(float[1,3] x) => (float[1,2] y) <int64[1,2,2] i = {0,2,0,1}> { y = GatherND(x, i) }",
        "(float[batch,3] x) => (float[batch,2] y) <int64[2] i = {2,1}> { y = Gather<axis=1>(x, i) }",
    ),
    "a constant index with the number of each row": Case(
        "(float[2,3] x) => (float[2,2] y) <int64[2,2,2] i = {0,2,0,1,1,2,1,1}> { y = GatherND(x, i) }",
        "(float[batch,3] x) => (float[batch,2] y) <int64[2] i = {2,1}> { y = Gather<axis=1>(x, i) }",
    ),
    "a Slice to the old size is one to the end": Case(
        "(float[2,3] x) => (float[2,3] y) <int64[1] b = {0}, int64[1] e = {2}, int64[1] a = {0}> "
        "{ s = Slice(x, b, e, a) y = Neg(s) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Neg(x) }",
    ),
    "sizes of a Resize": Case(
        "(float[2,1,2,2] x) => (float[2,1,4,4] y) <int64[4] s = {2,1,4,4}> { y = Resize<mode=\"nearest\">(x, , , s) }",
        "(float[batch,1,2,2] x) => (float[batch,1,4,4] y) <float[4] s = {1,1,2,2}> "
        "{ y = Resize<mode=\"nearest\">(x, , s) }",
    ),
    "initial states of an LSTM": Case(
        "(float[3,2,1] x) => (float[3,1,2,1] y) <float[1,4,1] w = {1,2,3,4}, float[1,4,1] r = {1,1,1,1}, "
        "float[1,2,1] h = {0,0}, float[1,2,1] c = {0,0}> { y = LSTM<hidden_size=1>(x, w, r, , , h, c) }",
        "(float[3,batch,1] x) => (float[3,1,batch,1] y) <float[1,4,1] w = {1,2,3,4}, float[1,4,1] r = {1,1,1,1}> "
        "{ y = LSTM<hidden_size=1>(x, w, r) }",
        ("x.1=batch",),
    ),
    "before opset 15": Case(
        "(float[2,2,2] x) => (float[2,3,2] y) <float[2,1,2] c = {1,2,1,2}> { y = Concat<axis=1>(c, x) }",
        "(float[batch,2,2] x) => (float[batch,3,2] y) <float[1,1,2] c = {1,2}, int64[2] o = {1,2}, int64[1] z = {0}> "
        "{ t = Shape(x) n = Gather<axis=0>(t, z) s = Concat<axis=0>(n, o) e = Expand(c, s) y = Concat<axis=1>(e, x) }",
        opset=13,
    ),
    "two sizes": Case(
        "(float[2,3,4] x) => (float[6,4] y) <int64[2] s = {6,4}> { y = Reshape(x, s) }",
        "(float[batch,seq,4] x) => (float[n,4] y) <int64[2] s = {-1,4}> { y = Reshape(x, s) }",
        ("x.0=batch", "x.1=seq"),
    ),
    "a causal mask": Case(
        "(float[1,3,3] x) => (float[1,3,3] y) <bool[1,3,3] m = {1,0,0,1,1,0,1,1,1}, float z = {-9}> "
        "{ y = Where(m, x, z) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <float z = {-9}> "
        "{ o = Shape(x) e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=0>(e) m = Cast<to=9>(l) "
        "y = Where(m, x, z) }",
        ("x.1=seq", "x.2=seq"),
        sizes=(1, 2, 3, 7),
    ),
    "a table that is cut at the old length": Case(
        "(float[1,3,2] x) => (float[1,3,2] y) <float[1,3,2] p = {1,2,3,4,5,9}> { y = Add(x, p) }",
        "(float[1,seq,2] x) => (float[1,seq,2] y) <float[1,3,2] p = {1,2,3,4,5,9}, int64[1] z = {0}, int64[1] o = {1}> "
        "{ n = Shape<start=1, end=2>(x) q = Slice(p, z, n, o) y = Add(x, q) }",
        ("x.1=seq",),
        most=3,
    ),
    "an index whose stride is the length": Case(
        "(float[2,3,2] x) => (float[2,2] y) <int64[2] s = {6,2}, int64[2] i = {0,3}> "
        "{ d = Reshape(x, s) y = Gather<axis=0>(d, i) }",
        "(float[2,seq,2] x) => (float[2,2] y) <int64 i = {0}> { y = Gather<axis=1>(x, i) }",
        ("x.1=seq",),
    ),
    "an index of each row and position": Case(
        "(float[2,3] x) => (float[2,1,3] y) <int64[2,1,3,2] i = {0,0,0,1,0,2,1,0,1,1,1,2}> { y = GatherND(x, i) }",
        "(float[2,seq] x) => (float[2,1,seq] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
        ("x.1=seq",),
        sizes=(1, 2, 3, 7),
    ),
    "an index of windows that slide over a padded axis": Case(
        "(float[1,4] x) => (float[1,3,4] y) <int64[4] p = {0,1,0,1}, int64[3,4] i = {0,1,2,3,1,2,3,4,2,3,4,5}> "
        "{ q = Pad(x, p) y = Gather<axis=1>(q, i) }",
        "(float[1,seq] x) => (float[1,3,seq] y) <int64[4] a = {0,1,0,-1}, int64[4] c = {0,-1,0,1}, int64[1] o = {1}> "
        "{ l = Pad(x, a) r = Pad(x, c) d = Unsqueeze(l, o) e = Unsqueeze(x, o) f = Unsqueeze(r, o) "
        "y = Concat<axis=1>(d, e, f) }",
        ("x.1=seq",),
        sizes=(2, 3, 7),
    ),
    "a Slice of as many from the end as there are": Case(
        "(float[1,3] x) => (float[1,3] y) <int64[1] b = {-3}, int64[1] e = {9223372036854775807}, int64[1] a = {1}> "
        "{ s = Slice(x, b, e, a) y = Neg(s) }",
        "(float[1,seq] x) => (float[1,seq] y) { y = Neg(x) }",
        ("x.1=seq",),
        sizes=(1, 2, 3, 7),
    ),
    "rows beside an axis that a scatter addresses": Case(
        "(float[3,2] x) => (float[3,2] y) <float[3,2] d = {0,0,0,0,0,0}, float[3,1] u = {1,1,1}> "
        "{ i = ArgMax<axis=1>(x) s = ScatterElements<axis=1>(d, i, u) y = Add(s, x) }",
        "(float[seq,2] x) => (float[seq,2] y) <float[2] v = {0,1}, int64 n = {2}, int64[1] a = {1}> "
        "{ i = ArgMax<axis=1, keepdims=0>(x) s = OneHot(i, n, v) y = Add(s, x) }",
        ("x.0=seq",),
    ),
    "a length in numbers of rows that shapes are multiplied with": Case(
        "(float[2,3] x) => (float[2,3] y) <int64[1] s = {6}, int64[2,1] r = {0,1}, int64[1,3] c = {0,1,2}, "
        "int64 w = {1}> "
        "{ f = Reshape(x, s) n = Shape(x) k = Gather(n, w) m = Mul(r, k) i = Add(m, c) y = Gather(f, i) }",
        "(float[batch,3] x) => (float[batch,3] y) { y = Identity(x) }",
    ),
    "position numbers": Case(
        "(float[1,3,1] x) => (float[1,3,1] y) <int64[1,3,1] p = {0,1,2}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,seq,1] x) => (float[1,seq,1] y) <int64 z = {0}, int64 o = {1}, int64[3] t = {1,-1,1}> "
        "{ n = Shape<start=1, end=2>(x) l = Squeeze(n) r = Range(z, l, o) p = Reshape(r, t) q = Cast<to=1>(p) "
        "y = Add(x, q) }",
        ("x.1=seq",),
        sizes=(1, 2, 3, 7),
    ),
    "a padding to a size that the network has": Case(
        "(float[1,4,1] x) => (float[1,4,1] y) <int64[1] o = {1}, int64[1] e = {9223372036854775807}, "
        "int64[6] p = {0,0,0,0,1,0}> { s = Slice(x, o, e, o) y = Pad(s, p) }",
        "(float[1,seq,1] x) => (float[1,seq,1] y) <int64[1] o = {1}, int64[1] e = {9223372036854775807}, "
        "int64[6] p = {0,0,0,0,1,0}> { s = Slice(x, o, e, o) y = Pad(s, p) }",
        ("x.1=seq",),
    ),
}  # fmt: skip
REFUSED = {
    "a mean over a length as a product with a constant": (
        "(float[1,4] x) => (float[1,1] y) <float[1,4] w = {0.25,0.25,0.25,0.25}, int64[1] a = {1}> "
        "{ m = Mul(x, w) y = ReduceSum(m, a) }",
        ("x.1=seq",),
        "node Mul#0 (Mul): requires",
    ),
    "a sum that a branch has a constant for": (
        "(float[2,3] x, bool c) => (float[2,3] y) <float[2,3] k = {1,2,3,4,5,6}> { y = If(c) <"
        "then_branch = t () => (float[2,3] a) { a = Add(x, k) }, "
        "else_branch = e () => (float[2,3] b) { b = Neg(x) }> }",
        BATCH,
        "node If#0 (If)",
    ),
    "rows are reduced to a number that the file has": (
        "(float[2,3] x) => (float[4,2] y) <int64[2] s = {3,2}, float[1,2] c = {1,2}> "
        "{ r = Reshape(x, s) y = Concat<axis=0>(r, c) }",
        BATCH,
        "requires batch == 2",
    ),
    "one row is read": (
        "(float[2,3] x) => (float[3] y) <int64 i = {1}> { y = Gather<axis=0>(x, i) }",
        BATCH,
        "reads at [1] in an axis of batch",
    ),
    "rows are cut": (
        "(float[3,2] x) => (float[2,2] y) <int64[1] b = {0}, int64[1] e = {2}, int64[1] a = {0}> "
        "{ y = Slice(x, b, e, a) }",
        BATCH,
        "cuts [0:2] out of an axis of batch",
    ),
    "weights of each row": (
        "(float[2,3] x) => (float[2,3] y) <float[2,3] c = {1,2,3,4,5,6}> { y = Add(x, c) }",
        BATCH,
        "batch",
    ),
    "the rows are mixed": (
        "(float[2,3] x) => (float[2,3] y) <int64[1] a = {0}> { s = ReduceSum<keepdims=1>(x, a) y = Add(x, s) }",
        BATCH,
        "row",
    ),
    "a position in the middle of a length": (
        "(float[1,5,2] x) => (float[1,2] y) <int64 i = {2}> { y = Gather<axis=1>(x, i) }",
        ("x.1=seq",),
        "reads at [2] in an axis of seq",
    ),
    "as many windows as positions": (
        "(float[1,3] x) => (float[1,3,3] y) <int64[4] p = {0,1,0,1}, int64[3,3] i = {0,1,2,1,2,3,2,3,4}> "
        "{ q = Pad(x, p) y = Gather<axis=1>(q, i) }",
        ("x.1=seq",),
        "reads at [0, 1, 2, 1]... in an axis of seq + 2",
    ),
    "a model that never runs": (
        "(float[2,3] x) => (float[2,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = MatMul(x, w) }",
        BATCH,
        "node MatMul#0 (MatMul): the contracted dims",
    ),
    "a weight": (
        "(float[1,3] x) => (float[1,2] y) <float[3,2] w = {1,2,3,4,5,6}> { y = MatMul(x, w) }",
        ("x.1=width",),
        "requires width == 3",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)


def test_rows_are_not_compared_on_request() -> None:
    text = "(float[2,3] x) => (float[2,3] y) <int64[1] a = {0}> { s = ReduceSum<keepdims=1>(x, a) y = Add(x, s) }"
    result = unfreeze(model(text), BATCH, verify=False)
    assert result.rows is None and not result.refused


# exported networks


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    "name", ["bert-torchscript", "gpt2-kv-dynamo", "vit-dynamo", "t5-decoder-torchscript", "beam-step-torchscript"]
)
def test_exported_networks(name: str, size: int, tmp_path: Path) -> None:
    sizes = {**bindings(name)[0], "batch": size}
    path = model_path(name)
    axes = [
        f"{value.name}.{axis}=batch"
        for value in onnx.load(path).graph.input
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if dim.dim_param == "batch"
    ]
    frozen = freeze(path, dims=sizes)
    frozen.save(tmp_path / "frozen.onnx")
    static = optimize(tmp_path / "frozen.onnx").proto
    result = unfreeze(static, axes)
    assert not result.refused, result.why_refused
    assert result.after.nodes <= result.before.nodes + 20
    original = onnx.load(path)
    for batch in SIZES:
        feeds = make_feeds(name, {**sizes, "batch": batch}, seed=batch)
        for wanted, found in zip(run(original, feeds), run(result.proto, feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    dims = {dim for value in result.proto.graph.output for dim in map(str, infer(result.proto)[value.name].shape or ())}
    assert "batch" in dims


# the parts


def test_placements_of_a_merged_axis() -> None:
    batch = gather_infer.symbol("batch")
    time_first = ((7, batch), (64,))
    found = list(placements(time_first, [7, 2, 64], lambda dim: not isinstance(dim, int), {"batch": 2}))
    assert found == [((7,), (batch,), (64,))]
    assert not list(placements(time_first, [2, 7, 64], lambda dim: not isinstance(dim, int), {"batch": 2}))


def test_placements_of_a_size_of_1_are_several() -> None:
    batch = gather_infer.symbol("batch")
    found = list(placements(((7,), (batch,), (64,)), [7, 64], lambda dim: not isinstance(dim, int), {"batch": 1}))
    assert found == [((7, batch), (64,)), ((7,), (batch, 64))]


def test_rows_find_a_wrong_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault planted into the walk: the shapes agree, the values do not."""
    static = model(
        "(float[2,2,4] x) => (float[2,2,4] y) <int64[3] s = {2,4,2}, int64[3] u = {2,2,4}, float[2,2] w = {1,2,3,4}> "
        "{ r = Reshape(x, s) m = MatMul(r, w) y = Reshape(m, u) }"
    )
    assert not unfreeze(static, BATCH).refused
    monkeypatch.setattr(
        factored_values, "placements", lambda *_: iter([((2,), (2,), (gather_infer.symbol("batch"), 2))])
    )
    wrong = unfreeze(static, BATCH)
    assert wrong.refused


def test_the_dims_have_to_fit() -> None:
    static = model("(float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Add(x, z) }")
    for dims, message in {
        (): "nothing to make dynamic",
        ("x.0",): "expected input.axis=name",
        ("x=batch",): "expected input.axis, such as x.0",
        ("x.0=",): "the new name is missing, such as x.0=batch",
        ("x.0=3",): "expected a name, such as batch, found the number 3",
        ("w.0=batch",): "no input 'w'; there are x, z",
        ("w*.0=batch",): "no input 'w*'; there are x, z",
        ("x.5=batch",): "input x has 2 axes, 0 to 1",
        ("x.-3=batch",): "input x has 2 axes, 0 to 1",
        ("*.2=batch",): "none of the 2 inputs has this axis; the largest rank is 2",
        ("x.0=n", "z.1=n"): "dim 'z.1' is 3, but n is 2 at x.0",
        ("x.0=n", "z.*=n"): "expected input.axis",
        ("x.0=n", "[z].1=n"): "dim 'z.1' is 3, but n is 2 at x.0",
        ("x.0=n", "z.1=n+2"): "dim 'z.1' is 3, but n+2 is 4",
        ("x.0=2*k",): "'2*k' is not an expression of new names: no --dim gives an axis the name k",
        ("x.0=1n",): "neither a name nor an expression",
    }.items():
        with pytest.raises(UsageError, match=re.escape(message)):
            unfreeze(static, dims)


def test_a_size_of_0_says_nothing() -> None:
    with pytest.raises(UsageError, match="is 0; a size of at least 1"):
        unfreeze(model("(float[0,3] x) => (float[0,3] y) { y = Neg(x) }"), BATCH)


def test_a_length_of_1_tells_too_little() -> None:
    """The position table of one row fits any length by broadcasting, and would give each position the same row."""
    static = model("(float[1,1,2] x) => (float[1,1,2] y) <float[1,1,2] p = {1,2}> { y = Add(x, p) }")
    with pytest.raises(UsageError, match="a length of at least 2 can be made dynamic"):
        unfreeze(static, ["x.1=seq"])


def test_rows_that_cannot_be_run_refuse_the_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    static = model("(float[2,3] x) => (float[2,3] y) { y = Neg(x) }")
    monkeypatch.setattr(driver, "check_rows", lambda *_: RowCheck(skipped="the original does not load"))
    result = unfreeze(static, BATCH)
    assert result.why_refused == "rows not compared: the original does not load"
    with pytest.raises(UsageError, match="rows not compared"):
        result.save(tmp_path / "out.onnx")
    assert not unfreeze(static, BATCH, verify=False).refused


def test_random_outputs_are_not_compared() -> None:
    """Each run draws other numbers, also of the same model."""
    static = model("(float[2,3] x) => (float[2,3] y) { r = RandomUniform<shape=[1,3]>() y = Add(x, r) }")
    result = unfreeze(static, BATCH)
    assert result.why_refused == "rows not compared: output y depends on random numbers, of RandomUniform"
    result = unfreeze(static, BATCH, verify=False)
    assert not result.refused and str(result.independence["batch"].verdict) == "proved"


def test_a_slice_by_attributes() -> None:
    text = "(float[3,2] x) => (float[2,2] y) { y = Slice<starts=[0], ends=[2], axes=[0]>(x) }"
    assert "cuts [0:2] out of an axis of batch" in unfreeze(model(text, opset=9), BATCH).why_refused


def test_the_journal_lists_what_nothing_reads_any_more() -> None:
    text = (
        "(float[2,3] x) => (float[2,3] y) <int64[1] a = {2}, int64[1] b = {3}> "
        "{ s = Concat<axis=0>(a, b) e = Expand(x, s) y = Neg(e) }"
    )
    static = model(text.replace("float[2,3] x", "float[2,1] x"))
    result = unfreeze(static, BATCH)
    dead = [edit for edit in result.journal.edits if edit.reason == "nothing reads it any more"]
    assert [edit.name for edit in dead if isinstance(edit, RemoveInitializer)] == ["a", "b"] and len(dead) == 3
    assert [node.op_type for node in result.proto.graph.node] == ["Expand", "Neg"]
    assert any("Concat" in line for line in result.edits)


def test_initializers_stay_that_were_not_read_or_that_something_else_names() -> None:
    static = model(
        "(float[2,3] x, bool c) => (float[2,3] y) "
        "<int64[2] s = {2, 3}, int64[2] unread = {2, 3}, int64[2] noted = {2, 3}, float bias = {1}> "
        "{ p = Reshape(x, noted) r = Reshape(p, s) y = If (c) "
        "<then_branch = t () => (float[2,3] v) { v = Add(r, bias) }, "
        "else_branch = e () => (float[2,3] w) { w = Neg(r) }> }"
    )
    annotation = static.graph.quantization_annotation.add(tensor_name="r")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="noted")
    result = unfreeze(static, BATCH)
    assert not result.refused
    names = {tensor.name for tensor in result.proto.graph.initializer}
    assert names >= {"unread", "noted", "bias"} and "s" not in names


def test_an_initializer_that_is_an_input_stays() -> None:
    """Before IR version 4 each is one; without the initializer a caller would have to feed it."""
    static = model("(float[2,6] x, int64[3] s) => (float[2,3,2] y) <int64[3] s = {2, 3, 2}> { y = Reshape(x, s) }")
    static.ir_version = 3
    result = unfreeze(static, BATCH, verify=False)
    assert not result.refused
    assert [value.name for value in result.proto.graph.input] == ["x", "s"]
    assert "s" in {tensor.name for tensor in result.proto.graph.initializer}


def test_a_pattern_names_an_axis_of_all_inputs() -> None:
    static = model("(float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Add(x, z) }")
    result = unfreeze(static, ["*.0=batch"])
    assert result.sites == {"batch": ("x.0", "z.0")}
    assert str(infer(result.proto)["y"]) == "float32[batch, 3]"


def test_an_input_that_was_not_named_is_part_of_the_reason() -> None:
    static = model("(float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Add(x, z) }")
    assert "batch" in unfreeze(static, ["x.0=batch"]).why_refused


def test_outputs_that_no_size_reaches_are_listed() -> None:
    """A simplifier folds what is computed from shapes alone: positions, and the length itself."""
    text = (
        "(float[2, 7] x) => (float[2, 7] y, float[7] z, int64[1] n, float[3] w)"
        " <float[7] z = {0, 1, 2, 3, 4, 5, 6}, int64[1] n = {7}, float[3] v = {1, 2, 3}> { y = Relu(x) w = Neg(v) }"
    )
    assert unfreeze(model(text), ["x.1=seq"]).fixed == ("z", "n")
