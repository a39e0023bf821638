"""Multiply-adds by operator: against products that are really counted, and against the pages of the operators."""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from itertools import product as every
from typing import Any

import numpy as np
import pytest

from gather_infer.cost.formulas import tables
from gather_infer.cost.work import CostUnknown, Work
from gather_infer.openvino.lowerings.openvino_dialect import LOWERINGS
from gather_infer.ops import standard_rules
from gather_infer.symbolic import Dim, evaluate, symbol
from gather_infer.tensor import DType, SymbolicTensor, make_values
from tests.documents import REPO

Shapes = Sequence["tuple[Dim, ...] | None"]

N, S, P = (symbol(name) for name in "NSP")


def tensor(shape: tuple[Dim, ...] | None) -> SymbolicTensor | None:
    return None if shape is None else SymbolicTensor(DType.FLOAT32, shape)


def macs(
    op_type: str,
    inputs: Shapes,
    outputs: Shapes,
    attributes: Mapping[str, Any] | None = None,
    *,
    domain: str = "",
    version: int = 21,
    values: Mapping[int, int] | None = None,
    vectors: Mapping[int, list[int]] | None = None,
) -> Dim:
    given = [tensor(shape) for shape in inputs]
    for index, value in (values or {}).items():
        given[index] = SymbolicTensor(DType.INT64, (), make_values(value))
    for index, vector in (vectors or {}).items():
        given[index] = SymbolicTensor(DType.INT64, (len(vector),), make_values(vector))
    formula = tables()[domain].find(op_type)
    assert formula is not None
    return formula.macs(Work(op_type, given, [tensor(shape) for shape in outputs], attributes or {}, version))


class Number:
    """A number that counts the products that are made of it."""

    made = 0

    def __mul__(self, other: object) -> Number:
        Number.made += 1
        return self

    def __add__(self, other: object) -> Number:
        return self

    __rmul__, __radd__ = __mul__, __add__


def numbers(shape: Sequence[int]) -> np.ndarray[Any, Any]:
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = Number()
    return found


def products(run: Any, *shapes: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """How many products numpy makes, and the shape of the result."""
    Number.made = 0
    result = run(*map(numbers, shapes))
    return Number.made, np.shape(result)


MATMULS = {
    # id: (A, B)
    "matrices": ((2, 3), (3, 5)),
    "a batch": ((4, 2, 3), (4, 3, 5)),
    "broadcast": ((4, 1, 2, 3), (7, 3, 5)),
    "a vector on the left": ((3,), (3, 5)),
    "a vector on the right": ((4, 2, 3), (3,)),
    "two vectors": ((3,), (3,)),
    "one element": ((1, 1), (1, 1)),
    "no rows": ((0, 3), (3, 5)),
    "no columns": ((2, 3), (3, 0)),
    "nothing to sum": ((2, 0), (0, 5)),
}


@pytest.mark.parametrize("name", MATMULS)
def test_matmul_makes_as_many_products_as_numpy(name: str) -> None:
    a, b = MATMULS[name]
    made, shape = products(np.matmul, a, b)
    assert macs("MatMul", [a, b], [shape]) == made
    assert macs("MatMulInteger", [a, b], [shape]) == made
    assert macs("QLinearMatMul", [a, (), (), b, (), (), (), ()], [shape]) == made
    if len(b) > 1:
        assert macs("MatMul", [None if len(a) > 2 else a, b], [shape]) == made
        turned = (*b[:-2], b[-1], b[-2])
        flags = {"transpose_a": "false", "transpose_b": "true"}
        assert macs("MatMul", [a, turned], [shape], flags, domain="openvino") == made


@pytest.mark.parametrize(("left", "right"), list(every((0, 1), repeat=2)))
def test_gemm_of_turned_matrices(left: int, right: int) -> None:
    made, shape = products(np.matmul, (2, 3), (3, 5))
    given = [(3, 2) if left else (2, 3), (5, 3) if right else (3, 5), (5,)]
    assert macs("Gemm", given, [shape], {"transA": left, "transB": right}) == made
    assert macs("FusedGemm", given, [shape], {"transA": left, "transB": right}, domain="com.microsoft") == made
    assert macs("FusedMatMul", given[:2], [shape], {"transA": left, "transB": right}, domain="com.microsoft") == made


EINSUMS = {
    "matmul": ("ij,jk->ik", (2, 3), (3, 5)),
    "a batch": ("bhsd,bhtd->bhst", (2, 3, 4, 5), (2, 3, 7, 5)),
    "an outer product": ("i,j->ij", (2,), (3,)),
    "a trace of a product": ("ij,ji", (2, 3), (3, 2)),
    "an ellipsis": ("...ij,jk->...ik", (4, 2, 3), (3, 5)),
    "ellipses that broadcast": ("...i,...i->...", (4, 1, 3), (5, 3)),
    "one letter twice": ("ii,ij->j", (3, 3), (3, 5)),
}


@pytest.mark.parametrize("name", EINSUMS)
def test_einsum_of_two_operands_makes_as_many_products_as_numpy(name: str) -> None:
    equation, *shapes = EINSUMS[name]
    made, shape = products(lambda a, b: np.einsum(equation, a, b), *shapes)
    assert macs("Einsum", shapes, [shape], {"equation": equation}) == made


def test_einsum_of_other_numbers_of_operands() -> None:
    assert macs("Einsum", [(2, 3)], [(3, 2)], {"equation": "ij->ji"}) == 0
    assert macs("Einsum", [(2, 3), (3, 5), (5, 7)], [(2, 7)], {"equation": "ij, jk, kl -> il"}) == 2 * 2 * 3 * 5 * 7


def windows(x: Sequence[int], w: Sequence[int], y: Sequence[int], group: int) -> int:
    """The products of a convolution, one by one: each element of the output meets its channels of a filter."""
    made = 0
    for _ in np.ndindex(*y):
        for _ in np.ndindex(x[1] // group, *w[2:]):
            made += 1
    return made


CONVS = {
    # id: (X, W, Y, group)
    "one axis": ((2, 3, 10), (4, 3, 3), (2, 4, 8), 1),
    "stride 2": ((1, 3, 9, 9), (4, 3, 3, 3), (1, 4, 4, 4), 1),
    "groups": ((1, 6, 5, 5), (4, 3, 3, 3), (1, 4, 3, 3), 2),
    "depthwise": ((1, 6, 5, 5), (6, 1, 3, 3), (1, 6, 3, 3), 6),
    "no batch": ((0, 3, 5, 5), (4, 3, 3, 3), (0, 4, 3, 3), 1),
}


@pytest.mark.parametrize("name", CONVS)
def test_convolutions(name: str) -> None:
    x, w, y, group = CONVS[name]
    made = windows(x, w, y, group)
    attributes = {"group": group}
    assert macs("Conv", [x, w], [y], attributes) == made
    assert macs("ConvInteger", [x, w, (), ()], [y], attributes) == made
    assert macs("QLinearConv", [x, (), (), w, (), (), (), ()], [y], attributes) == made
    assert macs("FusedConv", [x, w], [y], attributes, domain="com.microsoft") == made
    # turned around, the input of the one is the output of the other, and filters are [C, M/group, ...]
    assert macs("ConvTranspose", [y, w], [x], attributes) == made
    if group == 1:
        assert macs("Convolution", [x, w], [y], domain="openvino") == made
        assert macs("ConvolutionBackpropData", [y, w], [x], domain="openvino") == made
    grouped = (group, w[0] // group, *w[1:])
    assert macs("GroupConvolution", [x, grouped], [y], domain="openvino") == made
    assert macs("GroupConvolutionBackpropData", [y, grouped], [x], domain="openvino") == made


RECURRENT = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize("op_type", RECURRENT)
def test_recurrent_networks(op_type: str) -> None:
    """Each gate of each step and direction: W [H, I] times the input, R [H, H] times the state."""
    gates = RECURRENT[op_type]
    step, _ = products(np.matmul, (5, 3), (3, 2))  # H = 5, I = 3, a batch of 2
    state, _ = products(np.matmul, (5, 5), (5, 2))
    expected = 7 * 2 * gates * (step + state)  # T = 7, 2 directions
    x, w, r = (7, 2, 3), (2, gates * 5, 3), (2, gates * 5, 5)
    assert macs(op_type, [x, w, r], [(7, 2, 2, 5)]) == expected
    assert macs(op_type, [(2, 7, 3), w, r], [(2, 7, 2, 5)], {"layout": 1}) == expected
    more = [(2, 2, 5)] * (2 if op_type == "LSTM" else 1)
    assert macs(f"{op_type}Sequence", [(2, 7, 3), *more, (2,), w, r], [(2, 2, 7, 5)], domain="openvino") == expected
    cell = [(2, 3), *[(2, 5)] * len(more), w[1:], r[1:]]
    assert macs(f"{op_type}Cell", cell, [(2, 5)], domain="openvino") == gates * (step + state)


def test_attention_is_two_products_for_each_head() -> None:
    b, hq, hk, s, t, p, e, ev = 2, 6, 3, 5, 7, 4, 8, 10
    scores, shape = products(np.matmul, (b, hq, s, e), (b, hq, e, p + t))
    values, _ = products(np.matmul, shape, (b, hq, p + t, ev))
    four = [(b, hq, s, e), (b, hk, t, e), (b, hk, t, ev), None, (b, hk, p, e), (b, hk, p, ev)]
    assert macs("Attention", four, [(b, hq, s, ev)]) == scores + values
    three = [(b, s, hq * e), (b, t, hk * e), (b, t, hk * ev), None, (b, hk, p, e), (b, hk, p, ev)]
    heads = {"q_num_heads": hq, "kv_num_heads": hk}
    assert macs("Attention", three, [(b, s, hq * ev)], heads) == scores + values
    multi = [(b, s, hq * e), (b, p + t, hq * e), (b, p + t, hq * ev)]
    assert macs("MultiHeadAttention", multi, [(b, s, hq * ev)], domain="com.microsoft") == scores + values
    flex = [(b, hq, s, e), (b, hk, p + t, e), (b, hk, p + t, ev)]
    assert macs("FlexAttention", flex, [(b, hq, s, ev)], domain="ai.onnx.preview") == scores + values
    scaled = [(b, hq, s, e), (b, hq, p + t, e), (b, hq, p + t, ev)]
    assert macs("ScaledDotProductAttention", scaled, [(b, hq, s, ev)], domain="openvino") == scores + values


def test_attention_with_merged_projections() -> None:
    b, s, p, i, d, dv, heads = 2, 5, 4, 6, 8, 12, 2
    projected, _ = products(np.matmul, (b, s, i), (i, 2 * d + dv))
    scores, shape = products(np.matmul, (b, heads, s, d // heads), (b, heads, d // heads, p + s))
    values, _ = products(np.matmul, shape, (b, heads, p + s, dv // heads))
    given = [(b, s, i), (i, 2 * d + dv), (2 * d + dv,), None, (2, b, heads, p, d // heads)]
    assert macs("Attention", given, [(b, s, dv)], domain="com.microsoft") == projected + scores + values


def test_group_query_attention_of_a_known_cache() -> None:
    made, shape = products(np.matmul, (2, 6, 5, 8), (2, 6, 8, 9))
    more, _ = products(np.matmul, shape, (2, 6, 9, 8))
    outputs = [(2, 5, 48), (2, 3, 9, 8), (2, 3, 9, 8)]
    assert macs("GroupQueryAttention", [(2, 5, 48)], outputs, domain="com.microsoft") == made + more


def test_transforms_by_their_definition() -> None:
    bins, _ = products(np.matmul, (7, 10), (10, 2))  # two parts of 7 bins, 10 points each
    assert macs("DFT", [(3, 10, 1), None, None], [(3, 7, 2)], {"axis": 1}, version=17) == 3 * bins
    assert macs("DFT", [(3, 10, 2), None, (1,)], [(3, 10, 2)], values={2: 1}) == 3 * 10 * 10 * 4
    assert macs("DFT", [(3, 10, 1), (), ()], [(3, 9, 2)], values={1: 16, 2: 1}) == 3 * 9 * 16 * 2
    assert macs("STFT", [(3, 100, 1), (), (16,)], [(3, 22, 9, 2)]) == 3 * 22 * 9 * 2 * 16
    assert macs("STFT", [(3, 100), (), None, ()], [(3, 22, 9, 2)], values={3: 16}) == 3 * 22 * 9 * 2 * 16


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 0), (2, 1), (3, 5), (4, 14)])
def test_det_by_elimination(n: int, expected: int) -> None:
    assert expected == sum((n - k) ** 2 for k in range(1, n))
    assert macs("Det", [(3, n, n)], [(3,)]) == 3 * expected


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 0), (2, 2), (3, 12), (4, 36)])
@pytest.mark.parametrize("domain", ["com.microsoft", "openvino"])
def test_inverse_by_elimination_in_place(domain: str, n: int, expected: int) -> None:
    """Counted where it is done: each row but that of the pivot changes in each column but that of the pivot."""
    a, made = np.random.default_rng(n).random((n, n)) + n * np.eye(n), 0
    whole = a.copy()
    for pivot in range(n):
        scale = 1 / a[pivot, pivot]
        a[pivot, pivot] = 1
        a[pivot] *= scale
        for row in set(range(n)) - {pivot}:
            factor = a[row, pivot]
            for column in set(range(n)) - {pivot}:
                a[row, column] -= factor * a[pivot, column]
                made += 1
            a[row, pivot] = -factor * a[pivot, pivot]
    assert np.allclose(a @ whole, np.eye(n))
    assert made == expected
    assert macs("Inverse", [(3, n, n)], [(3, n, n)], domain=domain) == 3 * expected


COMPLEX = 4
"""Products of two real numbers in one of two complex numbers."""


def transformed(*lengths: int) -> int:
    """Products of real numbers in a transform of complex numbers along all axes, one after the other."""
    return sum(int(np.prod(lengths)) * length * COMPLEX for length in lengths)


def test_transforms_of_openvino_by_their_definition() -> None:
    """Of 3 arrays; along axes from either end, with sizes that cut or fill."""
    whole = macs("DFT", [(3, 10, 6, 2), (2,)], [(3, 10, 6, 2)], domain="openvino", vectors={1: [1, 2]})
    assert whole == 3 * transformed(10, 6)
    cut = macs("IDFT", [(3, 10, 2), (1,), (1,)], [(3, 7, 2)], domain="openvino", vectors={1: [-1], 2: [7]})
    assert cut == 3 * transformed(7)
    real, _ = products(np.matmul, (6, 10), (10, 2))
    assert macs("RDFT", [(3, 10), (1,)], [(3, 6, 2)], domain="openvino", vectors={1: [-1]}) == 3 * real
    filled, _ = products(np.matmul, (9, 16), (16, 2))
    sizes = {1: [1], 2: [16]}
    assert macs("RDFT", [(3, 10), (1,), (1,)], [(3, 9, 2)], domain="openvino", vectors=sizes) == 3 * filled
    both = macs("RDFT", [(3, 4, 10), (2,)], [(3, 4, 6, 2)], domain="openvino", vectors={1: [1, 2]})
    assert both == 3 * (4 * real + 6 * transformed(4))
    back, _ = products(np.matmul, (10, 2 * 6), (2 * 6, 1))
    assert macs("IRDFT", [(3, 6, 2), (1,)], [(3, 10)], domain="openvino", vectors={1: [1]}) == 3 * back
    back_both = macs("IRDFT", [(3, 4, 6, 2), (2,)], [(3, 4, 10)], domain="openvino", vectors={1: [1, 2]})
    assert back_both == 3 * (4 * back + 6 * transformed(4))
    frames = macs("STFT", [(3, 100), (16,), ()], [(3, 22, 9, 2)], domain="openvino", values={2: 16})
    assert frames == 3 * 22 * products(np.matmul, (9, 16), (16, 2))[0]
    added = macs("ISTFT", [(3, 9, 22, 2), (16,), ()], [(3, 180)], domain="openvino", values={2: 16})
    assert added == 3 * 22 * products(np.matmul, (16, 2 * 9), (2 * 9, 1))[0]


def test_transforms_of_microsoft_by_their_definition() -> None:
    real, _ = products(np.matmul, (6, 10), (10, 2))
    assert macs("Rfft", [(3, 10)], [(3, 6, 2)], {"signal_ndim": 1}, domain="com.microsoft") == 3 * real
    back, _ = products(np.matmul, (10, 2 * 6), (2 * 6, 1))
    assert macs("Irfft", [(3, 6, 2)], [(3, 10)], {"signal_ndim": 1}, domain="com.microsoft") == 3 * back


def test_masked_attention_of_one_step() -> None:
    """The known part of the cache is an input; the buffer of the cache is longer."""
    b, heads, e, ev, past, buffer = 2, 4, 3, 5, 7, 16
    scores, shape = products(np.matmul, (b, heads, 1, e), (b, heads, e, past + 1))
    values, _ = products(np.matmul, shape, (b, heads, past + 1, ev))
    new = [(b, 1, heads * e), (b, 1, heads * e), (b, 1, heads * ev), None, None]
    caches = [(b, heads, past, e), (b, heads, past, ev)]
    op_type, domain = "DecoderMaskedMultiHeadAttention", "com.microsoft"
    result: Shapes = [(b, 1, heads * ev)]
    assert macs(op_type, [*new, *caches], result, domain=domain) == scores + values
    shared = [*new, (b, heads, buffer, e), (b, heads, buffer, ev), ()]
    flag = {"past_present_share_buffer": 1}
    assert macs(op_type, shared, result, flag, domain=domain, values={7: past}) == scores + values
    with pytest.raises(CostUnknown, match="the number in input 7 is not known"):
        macs(op_type, shared, result, flag, domain=domain)
    other = [(b, 1, heads * e), (b, heads, past + 1, e), (b, heads, past + 1, ev)]
    assert macs(op_type, other, result, domain=domain) == scores + values
    square, shape = products(np.matmul, (b, heads, 1, e), (b, heads, e, 1))
    more, _ = products(np.matmul, shape, (b, heads, 1, e))
    assert macs(op_type, [(b, 1, 3 * heads * e)], [(b, 1, heads * e)], domain=domain) == square + more
    projected, _ = products(np.matmul, (b, 1, 6), (6, heads * (2 * e + ev)))
    merged = [(b, 1, 6), (6, heads * (2 * e + ev)), None, None, (2, b, heads, buffer, e), None, ()]
    found = macs("DecoderMaskedSelfAttention", merged, result, domain=domain, values={6: past})
    assert found == projected + scores + values


def test_ordered_attention_with_its_projections() -> None:
    b, s, p, i, d, dv, heads = 2, 5, 4, 6, 8, 12, 2
    projected = sum(products(np.matmul, (b, s, i), (i, width))[0] for width in (d, d, dv))
    scores, shape = products(np.matmul, (b, heads, s, d // heads), (b, heads, d // heads, p + s))
    values, _ = products(np.matmul, shape, (b, heads, p + s, dv // heads))
    given: list[tuple[Dim, ...] | None] = [(b, s, i), *[None] * 4, (i, d), (i, d), (i, dv), *[None] * 10]
    given.append((2, b, heads, p, d // heads))
    found = macs("QOrderedAttention", given, [(b, s, dv)], domain="com.microsoft")
    assert found == projected + scores + values


OTHERS: dict[str, tuple[str, str, Shapes, Shapes, dict[str, Any], int]] = {
    # id: (domain, operator, inputs, outputs, attributes, expected)
    "AffineGrid": ("", "AffineGrid", [(2, 2, 3), (4,)], [(2, 5, 7, 2)], {}, 2 * 5 * 7 * 2 * 3),
    "CausalConvWithState": ("", "CausalConvWithState", [(2, 3, 9), (3, 1, 4)], [(2, 3, 9), None], {}, 2 * 3 * 9 * 4),
    "DeformConv": ("", "DeformConv", [(1, 4, 6, 6), (8, 2, 3, 3)], [(1, 8, 4, 4)], {"group": 2}, 8 * 16 * 2 * 9),
    "LinearAttention": (
        "", "LinearAttention", [(2, 5, 12), (2, 5, 6), (2, 5, 8)], [(2, 5, 16), None],
        {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "gated"}, 2 * 5 * 3 * 4 * (4 + 2),
    ),
    "LinearAttention, delta": (
        "", "LinearAttention", [(2, 5, 12), (2, 5, 6), (2, 5, 8)], [(2, 5, 16), None],
        {"q_num_heads": 4, "kv_num_heads": 2}, 2 * 5 * 3 * 4 * (4 + 2 + 2),
    ),
    "LinearRegressor": ("ai.onnx.ml", "LinearRegressor", [(5, 3)], [(5, 2)], {"coefficients": [0.0] * 6}, 30),
    "SVMRegressor": (
        "ai.onnx.ml", "SVMRegressor", [(5, 3)], [(5, 1)],
        {"coefficients": [0.0] * 4, "support_vectors": [0.0] * 12}, 5 * (12 + 4),
    ),
    "MatMulNBits": ("com.microsoft", "MatMulNBits", [(2, 5, 32), (7, 1, 16), (7,)], [(2, 5, 7)], {"K": 32}, 2240),
    "MatMulNBitsMlp": ("com.microsoft", "MatMulNBitsMlp", [(5, 32)], [(5, 7)], {"K": 32, "N": 7}, 5 * 32 * 7 * 2),
    "MatMulNBitsQkv": (
        "com.microsoft", "MatMulNBitsQkv", [(5, 32)], [(5, 8), (5, 4), (5, 4)], {"K": 32, "Nq": 8, "Nkv": 4},
        5 * 32 * 16,
    ),
    "FusedMatMul by batches": (
        "com.microsoft", "FusedMatMul", [(3, 4, 2), (4, 3, 5)], [(4, 2, 5)], {"transA": 1, "transBatchA": 1},
        4 * 2 * 5 * 3,
    ),
    "MoE": (
        "com.microsoft", "MoE", [(2, 5, 8), (10, 4), (4, 8, 16), None, (4, 16, 8)], [(2, 5, 8)], {"k": 2},
        10 * 2 * (8 * 16 + 16 * 8),
    ),
    "QMoE of 4 bits": (
        "com.microsoft", "QMoE",
        [(2, 5, 8), (10, 4), (4, 32, 4), None, None, (4, 8, 8)], [(2, 5, 8)], {"k": 2}, 10 * 2 * (32 * 8 + 8 * 16),
    ),
    "QMoE of 8 bits": (
        "com.microsoft", "QMoE", [(10, 8), (10, 4), (4, 16, 8), None, None, (4, 8, 16)], [(10, 8)],
        {"expert_weight_bits": 8}, 10 * (16 * 8 + 8 * 16),
    ),
    "LinearAttention of microsoft": (
        "com.microsoft", "LinearAttention", [(2, 5, 12), (2, 5, 6), (2, 5, 8)], [(2, 5, 16), None],
        {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "gated"}, 2 * 5 * 3 * 4 * (4 + 2),
    ),
    "LinearAttention of microsoft, fewer heads of the query": (
        "com.microsoft", "LinearAttention", [(2, 5, 6), (2, 5, 12), (2, 5, 16)], [(2, 5, 16), None],
        {"q_num_heads": 2, "kv_num_heads": 4}, 2 * 5 * 3 * 4 * (4 + 2 * 4),
    ),
    "VarlenCausalConvWithState": (
        "com.microsoft", "VarlenCausalConvWithState", [(9, 3), (3, 1, 4), (3,)], [(9, 3), None], {}, 9 * 3 * 4,
    ),
    "GatedRelativePositionBias": (
        "com.microsoft", "GatedRelativePositionBias", [(2, 5, 12), (12,), (1, 4, 5, 5), (3, 8)], [(2, 4, 5, 5)],
        {"num_heads": 4}, 2 * 5 * 4 * 3 * 8,
    ),
    "GroupedMatMul of rows": ("openvino", "GroupedMatMul", [(9, 3), (4, 5, 3), (4,)], [(9, 5)], {}, 9 * 5 * 3),
    "GroupedMatMul of groups": ("openvino", "GroupedMatMul", [(4, 7, 3), (4, 5, 3)], [(4, 7, 5)], {}, 4 * 7 * 5 * 3),
    "CDist": ("com.microsoft", "CDist", [(5, 3), (7, 3)], [(5, 7)], {}, 5 * 7 * 3),
    "DynamicQuantizeLSTM": (
        "com.microsoft", "DynamicQuantizeLSTM", [(7, 2, 3), (1, 3, 20), (1, 5, 20)], [(7, 1, 2, 5)], {},
        7 * 2 * 4 * 5 * (3 + 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_page_says(name: str) -> None:
    domain, op_type, inputs, outputs, attributes, expected = OTHERS[name]
    assert macs(op_type, inputs, outputs, attributes, domain=domain) == expected


def test_formulas_are_in_symbols() -> None:
    found = macs("MatMul", [(N, 4, S, 8), (N, 4, 8, P + S)], [(N, 4, S, P + S)])
    assert found == 32 * N * S * (P + S)
    for sizes in ({"N": 0, "S": 3, "P": 5}, {"N": 1, "S": 1, "P": 0}, {"N": 7, "S": 7, "P": 7}):
        n, s, p = sizes["N"], sizes["S"], sizes["P"]
        made, _ = products(np.matmul, (n, 4, s, 8), (n, 4, 8, p + s))
        assert evaluate(found, sizes) == made


def test_a_number_is_taken_where_a_symbol_equals_it() -> None:
    assert macs("MatMul", [(N, S), (64, 8)], [(N, 8)]) == 512 * N
    assert macs("Gemm", [(N, S), (8, 64)], [(N, 8)], {"transB": 1}) == 512 * N


UNTOLD_ELSEWHERE: dict[str, tuple[str, str, Shapes, Shapes, dict[str, Any], str]] = {
    "axes that are not known": ("openvino", "DFT", [(3, 10, 2), (1,)], [(3, 10, 2)], {}, "the numbers in input 1"),
    "two axes": ("com.microsoft", "Rfft", [(3, 10)], [(3, 6, 2)], {"signal_ndim": 2}, "more than one axis"),
    "floats of 4 bits": (
        "com.microsoft", "QMoE", [(10, 8), None, (4, 16, 4)], [(10, 8)], {"quant_type": "fp4"}, "share a byte",
    ),
    "bits of one matrix": (
        "com.microsoft", "QMoE", [(10, 8), None, (4, 16, 4)], [(10, 8)], {"fc1_expert_weight_bits": 8}, "share a byte",
    ),
    "heads": ("com.microsoft", "LinearAttention", [(2, 5, 6)] * 3, [(2, 5, 6)], {}, "the heads are not known"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNTOLD_ELSEWHERE)
def test_unknown_costs_in_other_domains_have_a_reason(name: str) -> None:
    domain, op_type, inputs, outputs, attributes, why = UNTOLD_ELSEWHERE[name]
    with pytest.raises(CostUnknown, match=why):
        macs(op_type, inputs, outputs, attributes, domain=domain)


UNTOLD_CALLS: dict[str, tuple[str, Shapes, Shapes, dict[str, Any]]] = {
    "no rank": ("Conv", [(1, 3, 5, 5), None], [(1, 4, 3, 3)], {}),
    "no result": ("MatMul", [(2, 3), (3, 5)], [None], {}),
    "no operand": ("MatMul", [None, None], [(2, 5)], {}),
    "heads of rank 3": ("Attention", [(2, 5, 8), (2, 7, 8), (2, 7, 8)], [(2, 5, 8)], {}),
    "an equation for others": ("Einsum", [(2, 3)], [(2,)], {"equation": "ij,jk->ik"}),
    "an equation of another rank": ("Einsum", [(2, 3), (3,)], [(2,)], {"equation": "ij,jk->ik"}),
    "a length that is not known": ("DFT", [(3, 10, 1), (), None], [(3, 9, 2)], {}),
}


@pytest.mark.parametrize("name", UNTOLD_CALLS)
def test_unknown_costs_have_a_reason(name: str) -> None:
    op_type, inputs, outputs, attributes = UNTOLD_CALLS[name]
    with pytest.raises(CostUnknown, match=r"."):
        macs(op_type, inputs, outputs, attributes)


NO_FORMULA = {
    "com.microsoft": {
        "AttnLSTM", "BeamSearch", "DecoderAttention", "GreedySearch", "LongformerAttention", "PackedAttention",
        "PackedMultiHeadAttention", "PagedAttention", "QOrderedLongformerAttention", "Sampling", "SparseAttention",
        "SparseToDenseMatMul", "WhisperBeamSearch", "WordConvEmbedding",
    },
}  # fmt: skip
"""Operators that multiply and add, and are counted as nodes whose cost is not known."""


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft", "openvino"])
def test_every_operator_is_counted_takes_nothing_or_is_known_to_be_left_out(domain: str) -> None:
    known = {op_type for op_type, _, _ in standard_rules()[domain].entries()}
    if domain == "openvino":
        known |= set(LOWERINGS.op_types)
    table = tables()[domain]
    counted = {*table.op_types}
    left_out = NO_FORMULA.get(domain, set())
    assert known == counted | table.zero_cost | left_out
    assert not (counted & left_out or table.zero_cost & left_out or counted & table.zero_cost)


def test_every_formula_has_its_source() -> None:
    for table in tables().values():
        for op_type in table.op_types:
            formula = table.find(op_type)
            assert formula is not None
            assert formula.text
            assert op_type in formula.source
            assert formula.source.startswith("https://")


def test_the_page_is_what_the_tables_say() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_costs.py"))
    assert made["page"]() == (REPO / "docs" / "cost-formulas.md").read_text(), (
        "python docs/make_costs.py writes it again"
    )
