"""MatMul, Gemm, Det and Einsum against their specifications."""

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import einsum, matmul
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call

B, K, L, M, N = map(symbol, "BKLMN")
U8, I8 = DType.UINT8, DType.INT8

MATMUL = {
    # id:                       (A,            B,            result)
    "matrices":                 ((2, 3),       (3, 4),       (2, 4)),
    "vectors":                  ((3,),         (3,),         ()),
    "matrix and vector":        ((2, 3),       (3,),         (2,)),
    "vector and stack":         ((3,),         (5, 3, 4),    (5, 4)),
    "batch dims broadcast":     ((2, 1, 3, 4), (5, 4, 6),    (2, 5, 3, 6)),
    "one batched operand":      ((B, M, K),    (K, N),       (B, M, N)),
    "equal symbolic batch":     ((B, M, K),    (B, K, N),    (B, M, N)),
    "no rows":                  ((0, 3),       (3, 2),       (0, 2)),
    "nothing to contract":      ((2, 0),       (0, 2),       (2, 2)),
    "empty batch and one":      ((0, 2, 3),    (1, 3, 2),    (0, 2, 2)),
    "unknown rank":             (None,         (3, 4),       None),
}  # fmt: skip


@pytest.mark.parametrize("a, b, result", MATMUL.values(), ids=MATMUL)
def test_matmul(a: object, b: object, result: object) -> None:
    (found,) = call(matmul.rules, "MatMul", [UNRANKED if a is None else a, b])
    assert (found.dtype, found.shape) == (DType.FLOAT32, result)


def test_unequal_symbols_of_a_contraction_become_a_constraint() -> None:
    context = Context()
    (found,) = call(matmul.rules, "MatMul", [(M, K), (L, 4)], context=context)
    assert found.shape == (M, 4)
    assert [str(c) for c in context.constraints] == ["K == L"]


MATMUL_BAD = {
    "scalar":             ((), (3,), "A must have rank 1 or more, has rank 0: []"),
    "contraction":        ((2, 3), (4, 5), "the contracted dims of A and B must be equal, are 3 and 4"),
    "contraction, empty": ((0, 2, 3), (1, 4, 2), "the contracted dims of A and B must be equal, are 3 and 4"),
    "batch":              ((2, 3, 4), (3, 4, 5), "do not broadcast"),
    "symbolic":           ((2, K + 1), (K, 5), "must be equal"),
}  # fmt: skip


@pytest.mark.parametrize("a, b, message", MATMUL_BAD.values(), ids=MATMUL_BAD)
def test_matmul_violations(a: object, b: object, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(matmul.rules, "MatMul", [a, b])
    assert message in caught.value.message


def test_matmul_integer() -> None:
    inputs = [SymbolicTensor(U8, (M, 3)), SymbolicTensor(I8, (3, 4)), SymbolicTensor(U8, ())]
    (found,) = call(matmul.rules, "MatMulInteger", inputs, version=10)
    assert found == SymbolicTensor(DType.INT32, (M, 4))
    with pytest.raises(SpecViolation, match="B and b_zero_point must have one element type"):
        call(matmul.rules, "MatMulInteger", [*inputs, SymbolicTensor(U8, ())], version=10)


def test_qlinear_matmul_takes_the_type_of_y_zero_point() -> None:
    scale = SymbolicTensor(DType.FLOAT32, ())
    a, b = [SymbolicTensor(U8, (M, 3)), scale, SymbolicTensor(U8, ())], [SymbolicTensor(I8, (3, 4)), scale]
    inputs = [*a, *b, SymbolicTensor(I8, ()), scale, SymbolicTensor(I8, ())]
    assert call(matmul.rules, "QLinearMatMul", inputs) == [SymbolicTensor(I8, (M, 4))]


GEMM = {
    # id:             (inputs,                     attributes,                 result)
    "plain":          ([(2, 3), (3, 4)],           {},                         (2, 4)),
    "transposed":     ([(3, 2), (4, 3), (4,)],     {"transA": 1, "transB": 1}, (2, 4)),
    "scalar C":       ([(2, 3), (3, 4), ()],       {},                         (2, 4)),
    "column C":       ([(2, 3), (3, 4), (2, 1)],   {},                         (2, 4)),
    "symbolic":       ([(B, K), (K, 4), (4,)],     {},                         (B, 4)),
    "C tells N":      ([(B, K), (K, N), (4,)],     {},                         (B, 4)),
    "C of length 1":  ([(B, K), (K, N), (1,)],     {},                         (B, N)),
    "no rows":        ([(0, 3), (3, 4)],           {},                         (0, 4)),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, result", GEMM.values(), ids=GEMM)
def test_gemm(inputs: list[object], attributes: dict[str, Any], result: object) -> None:
    assert call(matmul.rules, "Gemm", inputs, **attributes)[0].shape == result


def test_gemm_with_an_unranked_operand() -> None:
    (found,) = call(matmul.rules, "Gemm", [UNRANKED, (3, 4)])
    assert found.rank == 2 and found.shape[1] == 4


GEMM_BAD = {
    "rank":             ([(2, 3, 1), (3, 4)],       13, "A must have rank 2, has rank 3: [2, 3, 1]"),
    "contraction":      ([(2, 3), (4, 3)],          13, "the contracted dims of A and B must be equal, are 3 and 4"),
    "C does not fit":   ([(2, 3), (3, 4), (2,)],    13, "C [2] must broadcast to [2, 4]: dim 2 and dim 4"),
    "C has more axes":  ([(2, 3), (3, 4), (1, 2, 4)], 13, "has more axes"),
    "C would extend A": ([(1, 3), (3, 4), (2, 4)],  13, "C [2, 4] must broadcast to [1, 4]"),
    "no flag":          ([(2, 3), (3, 4), (4,)],    6,  "C must have rank 2"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, version, message", GEMM_BAD.values(), ids=GEMM_BAD)
def test_gemm_violations(inputs: list[object], version: int, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(matmul.rules, "Gemm", inputs, version=version)
    assert message in caught.value.message


def test_gemm_6_broadcasts_with_its_flag() -> None:
    (found,) = call(matmul.rules, "Gemm", [(2, 3), (3, 4), (4,)], version=6, broadcast=1)
    assert found.shape == (2, 4)


def test_det() -> None:
    assert call(matmul.rules, "Det", [(B, 3, 3)])[0].shape == (B,)
    assert call(matmul.rules, "Det", [(3, 3)])[0].shape == ()
    assert call(matmul.rules, "Det", [UNRANKED])[0].shape is None
    with pytest.raises(SpecViolation, match="the last two dims of X must be equal, are 2 and 3"):
        call(matmul.rules, "Det", [(2, 3)])
    with pytest.raises(SpecViolation, match="X must have rank 2 or more"):
        call(matmul.rules, "Det", [(3,)])


EINSUM = {
    # id:                    (equation,                  inputs,                         result)
    "product":               ("ij,jk->ik",               [(2, 3), (3, 4)],               (2, 4)),
    "implicit":              ("ij,jk",                   [(2, 3), (3, 4)],               (2, 4)),
    "implicit, sorted":      ("ba",                      [(2, 3)],                       (3, 2)),
    "upper case first":      ("aB",                      [(2, 3)],                       (3, 2)),
    "diagonal":              ("ii->i",                   [(3, 3)],                       (3,)),
    "trace":                 ("ii",                      [(3, 3)],                       ()),
    "sum":                   ("ij->",                    [(2, 3)],                       ()),
    "length 1 broadcasts":   ("ij,ij->ij",               [(1, 3), (2, 1)],               (2, 3)),
    "ellipsis first":        ("...i->...",               [(2, 3, 4)],                    (2, 3)),
    "ellipsis last":         ("i...->...",               [(2, 3, 4)],                    (3, 4)),
    "implicit ellipsis":     ("...ij,...jk",             [(5, 2, 3), (5, 3, 4)],         (5, 2, 4)),
    "ellipses broadcast":    ("b...ij,b...jk->...ik",    [(1, 5, 2, 3), (1, 1, 3, 4)],   (5, 2, 4)),
    "empty ellipsis":        ("...i,...i->...",          [(3,), (3,)],                   ()),
    "scalar operand":        ("i,->i",                   [(2,), ()],                     (2,)),
    "spaces":                (" i j , j k -> i k ",      [(2, 3), (3, 4)],               (2, 4)),
    "attention scores":      ("bhqd,bhkd->bhqk",         [(B, 12, N, 64), (B, 12, M, 64)], (B, 12, N, M)),
    "nothing to sum":        ("ij,jk->ik",               [(2, 0), (0, 4)],               (2, 4)),
    "number settles symbol": ("bi,bj->bij",              [(4, N), (B, M)],               (4, N, M)),
    "unranked, told":        ("ij,jk->ij",               [(2, 3), None],                 (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("equation, inputs, result", EINSUM.values(), ids=EINSUM)
def test_einsum(equation: str, inputs: list[object], result: object) -> None:
    given = [UNRANKED if shape is None else shape for shape in inputs]
    assert call(einsum.rules, "Einsum", given, equation=equation)[0].shape == result


def test_einsum_of_an_unranked_operand_has_a_rank() -> None:
    (found,) = call(einsum.rules, "Einsum", [UNRANKED, (3, N)], equation="ij,jk->ik")
    assert found.rank == 2
    assert call(einsum.rules, "Einsum", [UNRANKED], equation="...i->...")[0].shape is None


EINSUM_BAD = {
    "terms":              ("ij->i",     [(2, 3), (2, 3)],        "must have a term per input, has 1 for 2"),
    "rank":               ("ij->i",     [(2, 3, 4)],             "input 0 must have rank 2 for term 'ij'"),
    "label differs":      ("ij,jk->ik", [(2, 3), (4, 5)],        "the dims of label j must agree, are 3 and 4"),
    "diagonal":           ("ii->i",     [(1, 3)],                "the dims of input 0 at label i must be equal"),
    "twice on the right": ("ij->ii",    [(2, 3)],                "i occurs twice on the right"),
    "right only":         ("ij->k",     [(2, 3)],                "k occurs on the right only"),
    "ellipsis dropped":   ("...i->i",   [(2, 3)],                "the ellipsis of the left is missing"),
    "digits":             ("i1->i",     [(2, 3)],                "is not of letters and at most one ellipsis"),
    "ellipses differ":    ("...i,...i", [(2, 3), (3,)],          "must cover the same number of axes"),
}  # fmt: skip


@pytest.mark.parametrize("equation, inputs, message", EINSUM_BAD.values(), ids=EINSUM_BAD)
def test_einsum_violations(equation: str, inputs: list[object], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(einsum.rules, "Einsum", inputs, equation=equation)
    assert message in caught.value.message
