"""Poolings against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.pool import rules
from gather_infer.symbolic import known_le, symbol
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, from_values, make_values
from tests.ops.call import UNRANKED, call

C, H, L, N, W = map(symbol, "CHLNW")

POOL: dict[str, Any] = {
    # id:                     (X,            attributes,                                                        result)
    "stride 1":               ((1, 1, 5),    {"kernel_shape": (2,)},                                           (1, 1, 4)),
    "floor":                  ((1, 1, 6),    {"kernel_shape": (3,), "strides": (2,)},                             (1, 1, 2)),
    "ceil":                   ((1, 1, 6),    {"kernel_shape": (3,), "strides": (2,), "ceil_mode": 1},                (1, 1, 3)),
    "ceil, exact":            ((1, 1, 7),    {"kernel_shape": (3,), "strides": (2,), "ceil_mode": 1},                (1, 1, 3)),
    "ceil, starts in padding": ((1, 1, 2),   {"kernel_shape": (2,), "strides": (3,), "pads": (1, 1), "ceil_mode": 1},   (1, 1, 1)),
    "ceil, starts inside":    ((1, 1, 3),    {"kernel_shape": (2,), "strides": (3,), "pads": (1, 1), "ceil_mode": 1},   (1, 1, 2)),
    "ceil, partial only":     ((1, 1, 3),    {"kernel_shape": (5,), "strides": (3,), "ceil_mode": 1},                (1, 1, 1)),
    "dilated":                ((1, 1, 9),    {"kernel_shape": (3,), "dilations": (3,)},                           (1, 1, 3)),
    "SAME":                   ((1, 1, 5),    {"kernel_shape": (3,), "strides": (2,), "auto_pad": "SAME_LOWER"},      (1, 1, 3)),
    "SAME and ceil":          ((1, 1, 5),    {"kernel_shape": (3,), "strides": (2,), "auto_pad": "SAME_UPPER", "ceil_mode": 1}, (1, 1, 3)),
    "VALID":                  ((1, 1, 6),    {"kernel_shape": (5,), "strides": (3,), "auto_pad": "VALID"},           (1, 1, 1)),
    "VALID and ceil":         ((1, 1, 6),    {"kernel_shape": (5,), "strides": (3,), "auto_pad": "VALID", "ceil_mode": 1}, (1, 1, 2)),
    "no window":              ((1, 1, 4),    {"kernel_shape": (5,)},                                           (1, 1, 0)),
    "no batch":               ((0, 1, 8),    {"kernel_shape": (5,)},                                           (0, 1, 4)),
    "halved":                 ((N, C, H, W), {"kernel_shape": (2, 2), "strides": (2, 2)},                         (N, C, H//2, W//2)),
    "ResNet":                 ((N, C, L),    {"kernel_shape": (3,), "strides": (2,), "pads": (1, 1)},                (N, C, (L + 1)//2)),
    "symbolic, stride 1":     ((N, C, L),    {"kernel_shape": (3,)},                                           (N, C, L - 2)),
    "symbolic ceil":          ((N, C, L),    {"kernel_shape": (3,), "strides": (2,), "ceil_mode": 1},                (N, C, L//2)),
    "symbolic SAME":          ((N, C, L),    {"kernel_shape": (3,), "strides": (2,), "auto_pad": "SAME_UPPER"},      (N, C, (L + 1)//2)),
}  # fmt: skip


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("x, attributes, result", POOL.values(), ids=POOL)
def test_pool(op_type: str, x: Any, attributes: dict[str, Any], result: Any) -> None:
    assert call(rules, op_type, [x], version=22, **attributes) == [SymbolicTensor(DType.FLOAT32, result)]


def test_a_pool_with_stride_assumes_that_the_window_fits() -> None:
    attributes: dict[str, Any] = {"kernel_shape": (2,), "strides": (2,)}
    context = Context()
    (found,) = call(rules, "MaxPool", [(N, C, L)], context=context, **attributes)
    assert found.shape[2] == L // 2
    assert [str(a) for a in context.assumptions] == ["L >= 2 (node )"]
    for context in (Context(may_assume=False), Context(zero_dims=["L"])):
        (found,) = call(rules, "MaxPool", [(N, C, L)], context=context, **attributes)
        assert found.shape[2].is_symbol and not context.assumptions
        assert call(rules, "AveragePool", [(2, 3, L)], context=context, **attributes)[0].shape[2] is found.shape[2]


def test_runtimes_and_text_disagree_on_a_window_that_does_not_fit() -> None:
    # floor((1 - 2)/2 + 1) is 0, runtimes truncate and give 1
    (found,) = call(rules, "MaxPool", [(1, 1, 1)], kernel_shape=(2,), strides=(2,))
    assert not isinstance(found.shape[2], int)
    for length in (1, 2):  # floor((1 - 5)/3 + 1) is -1, runtimes give 0
        (found,) = call(rules, "MaxPool", [(1, 1, length)], kernel_shape=(5,), strides=(3,))
        assert found.shape[2] == 0


def test_a_pool_of_stride_1_implies_that_the_window_all_but_fits() -> None:
    context = Context()
    call(rules, "MaxPool", [(N, C, L)], context=context, kernel_shape=(3,))
    assert known_le(2, L, context.scope) is True and known_le(3, L, context.scope) is None


def test_indices_are_positions_in_the_flattened_input() -> None:
    y, indices = call(rules, "MaxPool", [(N, C, L)], outputs=2, kernel_shape=(1,))
    assert indices == SymbolicTensor(DType.INT64, y.shape, value_range=ValueRange(0, N * C * L - 1))
    assert call(rules, "MaxPool", [UNRANKED], outputs=2, kernel_shape=(1,))[1].value_range == ValueRange(0, None)


def test_pool_of_an_unranked_input_has_the_rank_of_the_kernel() -> None:
    assert call(rules, "MaxPool", [UNRANKED], kernel_shape=(2, 2))[0].rank == 4


POOL_BAD: dict[str, Any] = {
    "rank":         ((1, 4), {"kernel_shape": (2,)},                    "X must have rank 3 or more, has rank 2"),
    "kernel rank":  ((1, 4, 5), {"kernel_shape": (2, 2)},               "X, by kernel_shape, must have rank 4, has rank 3"),
    "kernel":       ((1, 4, 5), {"kernel_shape": (0,)},                 "kernel_shape must be 1 or more, is [0]"),
    "no kernel":    ((1, 4, 5), {},                                      "attribute kernel_shape is missing"),
    "pads":         ((1, 4, 5), {"kernel_shape": (2,), "pads": (-1, 0)},   "pads must be 0 or more, is [-1, 0]"),
    "dilations":    ((1, 4, 5), {"kernel_shape": (2,), "dilations": (0,)}, "dilations must be 1 or more, is [0]"),
    "too long":     ((1, 4, 3), {"kernel_shape": (5,)},                 "the dilated kernel must fit the padded input of length 3"),
    "too long, strided": ((1, 4, 1), {"kernel_shape": (5,), "strides": (2,)}, "the dilated kernel must fit"),
    "too long, ceil": ((1, 4, 1), {"kernel_shape": (7,), "strides": (2,), "ceil_mode": 1}, "the dilated kernel must fit"),
}  # fmt: skip


@pytest.mark.parametrize("x, attributes, message", POOL_BAD.values(), ids=POOL_BAD)
def test_pool_violations(x: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "MaxPool", [x], **attributes)
    assert message in caught.value.message


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pool(op_type: str) -> None:
    assert call(rules, op_type, [(N, C, H, W)])[0].shape == (N, C, 1, 1)
    assert call(rules, op_type, [(N, C, 0)])[0].shape == (N, C, 1)
    assert call(rules, op_type, [UNRANKED])[0].shape is None
    with pytest.raises(SpecViolation, match="X must have rank 2 or more"):
        call(rules, op_type, [(4,)])


def test_lp_pool_1_may_lack_its_kernel() -> None:
    (found,) = call(rules, "LpPool", [(N, C, L)], version=1)
    assert found.rank == 3 and found.shape[:2] == (N, C)


def test_max_unpool() -> None:
    def indices(*shape: Any) -> SymbolicTensor:
        return SymbolicTensor(DType.INT64, shape)

    def unpool(*inputs: Any, **attributes: Any) -> Any:
        return call(rules, "MaxUnpool", inputs, kernel_shape=(2, 2), strides=(2, 2), **attributes)[0].shape

    assert unpool((1, 1, 2, 2), indices(1, 1, 2, 2)) == (1, 1, 4, 4)
    assert unpool((N, C, H, W), indices(N, C, H, W)) == (N, C, 2 * H, 2 * W)
    wanted = from_values(DType.INT64, make_values([1, 1, 5, L]))
    assert unpool((1, 1, 2, 2), indices(1, 1, 2, 2), wanted) == (1, 1, 5, L)
    shape = unpool((N, 1, 2, 2), indices(N, 1, 2, 2), SymbolicTensor(DType.INT64, (4,)))
    assert len(shape) == 4 and shape[:2] == (N, 1)
    assert len(unpool(UNRANKED, SymbolicTensor(DType.INT64))) == 4
    with pytest.raises(SpecViolation, match="axis 2 of I"):
        unpool((1, 1, 2, 2), indices(1, 1, 3, 2))
