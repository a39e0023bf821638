"""Normalizations against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.norm import rules
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call

C, H, L, N = map(symbol, "CHLN")
F16, F32, F64 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64

BATCH: dict[str, Any] = {
    # id:               (X,            vectors,  version, attributes,            outputs, result,       statistics)
    "inference":        ((2, 3, 4),    (3,),     15,      {},                    1,       (2, 3, 4),    None),
    "training":         ((2, 3, 4),    (3,),     15,      {"training_mode": 1},  3,       (2, 3, 4),    (3,)),
    "9, five outputs":  ((2, 3, 4),    (3,),     9,       {},                    5,       (2, 3, 4),    (3,)),
    "7, not spatial":   ((2, 3, 4),    (3, 4),   7,       {"spatial": 0},        1,       (2, 3, 4),    None),
    "1":                ((2, 3, 4, 5), (3,),     1,       {"consumed_inputs": (0,)}, 5,   (2, 3, 4, 5), (3,)),
    "one axis":         ((5,),         (1,),     15,      {},                    1,       (5,),         None),
    "no batch":         ((0, 3, 4),    (3,),     15,      {},                    1,       (0, 3, 4),    None),
    "scale tells C":    ((N, C, L),    (64,),    15,      {},                    1,       (N, 64, L),   None),
    "unknown rank":     (None,         (64,),    15,      {"training_mode": 1},  3,       None,         (64,)),
}  # fmt: skip


@pytest.mark.parametrize("x, vectors, version, attributes, outputs, result, statistics", BATCH.values(), ids=BATCH)
def test_batch_normalization(
    x: Any, vectors: Any, version: int, attributes: dict[str, Any], outputs: int, result: Any, statistics: Any
) -> None:
    inputs = [UNRANKED if x is None else x, *[vectors] * 4]
    y, *others = call(rules, "BatchNormalization", inputs, version=version, outputs=outputs, **attributes)
    assert y == SymbolicTensor(F32, result)
    assert others == [SymbolicTensor(F32, statistics)] * (outputs - 1)


def test_batch_normalization_statistics_have_their_own_type() -> None:
    x, scale, mean = SymbolicTensor(F16, (N, 4, L)), SymbolicTensor(F32, (4,)), SymbolicTensor(F64, (4,))
    y, running, _ = call(
        rules, "BatchNormalization", [x, scale, scale, mean, mean], version=15, outputs=3, training_mode=1
    )
    assert (y.dtype, running.dtype) == (F16, F64)
    with pytest.raises(SpecViolation, match="must have one element type"):
        call(rules, "BatchNormalization", [x, scale, scale, mean, mean], version=9)


BATCH_BAD: dict[str, Any] = {
    "length":    ([(2, 3, 4), (3,), (3,), (3,), (4,)], 15, 1, "the length of var must be equal, are 3 and 4"),
    "rank":      ([(2, 3, 4), (3, 1), (3,), (3,), (3,)], 15, 1, "scale must have rank 1, has rank 2"),
    "outputs":   ([(2, 3, 4), *[(3,)] * 4], 15, 3, "training_mode = 0 has 1 output, the node has 3"),
    "scalar":    ([(), *[(3,)] * 4], 15, 1, "X must have rank 1 or more, has rank 0"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, version, outputs, message", BATCH_BAD.values(), ids=BATCH_BAD)
def test_batch_normalization_violations(inputs: Any, version: int, outputs: int, message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "BatchNormalization", inputs, version=version, outputs=outputs)
    assert message in caught.value.message


LAYER: dict[str, Any] = {
    # id:                (X,          Scale,     axis, Y,          Mean)
    "last axis":         ((2, 3, 4),  (4,),      -1,   (2, 3, 4),  (2, 3, 1)),
    "two axes":          ((2, 3, 4),  (3, 4),    1,    (2, 3, 4),  (2, 1, 1)),
    "scalar scale":      ((2, 3, 4),  (),        1,    (2, 3, 4),  (2, 1, 1)),
    "wide scale":        ((2, 3, 4),  (2, 3, 4), -1,   (2, 3, 4),  (2, 3, 1)),
    "no rows":           ((0, 4),     (4,),      -1,   (0, 4),     (0, 1)),
    "symbolic":          ((N, L, 8),  (8,),      -1,   (N, L, 8),  (N, L, 1)),
    "scale tells H":     ((N, L, H),  (8,),      2,    (N, L, 8),  (N, L, 1)),
    "scale of length 1": ((N, L, H),  (1,),      2,    (N, L, H),  (N, L, 1)),
    "unknown rank":      (None,       (8,),      -1,   None,       None),
}  # fmt: skip


@pytest.mark.parametrize("x, scale, axis, y, mean", LAYER.values(), ids=LAYER)
def test_layer_normalization(x: Any, scale: Any, axis: int, y: Any, mean: Any) -> None:
    inputs = [UNRANKED if x is None else x, scale, scale]
    expected = [SymbolicTensor(F32, y), SymbolicTensor(F32, mean), SymbolicTensor(F32, mean)]
    assert call(rules, "LayerNormalization", inputs, version=17, outputs=3, axis=axis) == expected
    assert call(rules, "RMSNormalization", inputs[:2], version=23, axis=axis) == expected[:1]


def test_layer_normalization_statistics_are_of_the_stash_type() -> None:
    x = SymbolicTensor(F16, (2, 4))
    y, mean, _ = call(rules, "LayerNormalization", [x, x], version=17, outputs=3)
    assert (y.dtype, mean.dtype) == (F16, F32)
    _, mean, _ = call(rules, "LayerNormalization", [x, x], version=17, outputs=3, stash_type=16)
    assert mean.dtype is DType.BFLOAT16


LAYER_BAD: dict[str, Any] = {
    "axis":       ([(2, 3, 4), (4,)], {"axis": 3}, "axis = 3 is outside [-3, 2], data has rank 3"),
    "scale":      ([(2, 3, 4), (5,)], {}, "Scale [5] must broadcast to [2, 3, 4]: dim 5 and dim 4 at axis -1"),
    "more axes":  ([(2, 3, 4), (5, 2, 3, 4)], {}, "must broadcast to [2, 3, 4], has more axes"),
    "bias":       ([(2, 3, 4), (4,), (3,)], {}, "B [3] must broadcast to [2, 3, 4]"),
    "scalar":     ([(), ()], {}, "X must have rank 1 or more, has rank 0"),
    "stash_type": ([(2, 4), (4,)], {"stash_type": 11}, "stash_type = 11 is not 1 (float32) or 16 (bfloat16)"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", LAYER_BAD.values(), ids=LAYER_BAD)
def test_layer_normalization_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "LayerNormalization", inputs, version=17, **attributes)
    assert message in caught.value.message


def test_rms_normalization_has_the_type_of_scale() -> None:
    x, scale = SymbolicTensor(F16, (N, 4)), SymbolicTensor(F32, (4,))
    assert call(rules, "RMSNormalization", [x, scale], version=23) == [SymbolicTensor(F32, (N, 4))]


def test_group_normalization() -> None:
    assert call(rules, "GroupNormalization", [(N, 4, L), (2,), (2,)], version=18, num_groups=2)[0].shape == (N, 4, L)
    assert call(rules, "GroupNormalization", [(N, C, L), (4,), (4,)], version=21, num_groups=2)[0].shape == (N, 4, L)
    with pytest.raises(SpecViolation, match="the length of scale and num_groups must be equal, are 4 and 2"):
        call(rules, "GroupNormalization", [(N, 4, L), (4,), (4,)], version=18, num_groups=2)
    with pytest.raises(SpecViolation, match="the length of scale must be equal, are 4 and 2"):
        call(rules, "GroupNormalization", [(N, 4, L), (2,), (2,)], version=21, num_groups=2)
    with pytest.raises(SpecViolation, match="the channels of X must be a multiple of 3, is 4"):
        call(rules, "GroupNormalization", [(N, 4, L), (4,), (4,)], version=21, num_groups=3)


def test_symbolic_channels_must_be_a_multiple_of_the_groups() -> None:
    context = Context()
    call(rules, "GroupNormalization", [(N, C, L), (C,), (C,)], version=21, num_groups=2, context=context)
    assert [str(c) for c in context.constraints] == ["C % 2 == 0"]


def test_instance_normalization() -> None:
    assert call(rules, "InstanceNormalization", [(N, C, L), (3,), (3,)])[0].shape == (N, 3, L)
    assert call(rules, "InstanceNormalization", [UNRANKED, (3,), (3,)])[0].shape is None
    with pytest.raises(SpecViolation, match="input must have rank 3 or more"):
        call(rules, "InstanceNormalization", [(2, 3), (3,), (3,)])
    with pytest.raises(SpecViolation, match="the length of scale must be equal, are 3 and 4"):
        call(rules, "InstanceNormalization", [(2, 3, 4), (4,), (3,)])


SAME_SHAPE: dict[str, Any] = {
    # op_type:                 (X,            attributes,        violating attributes, message)
    "LpNormalization":         ((N, 3),       {"axis": 1},       {"axis": 2},          "axis = 2 is outside [-2, 1]"),
    "MeanVarianceNormalization": ((N, 3, 4),  {"axes": (0, -1)}, {},                   "axes element = 3 is outside [-3, 2]"),
    "LRN":                     ((N, C, H, L), {"size": 3},       None,                 ""),
}  # fmt: skip


@pytest.mark.parametrize("op_type", SAME_SHAPE)
def test_same_shape(op_type: str) -> None:
    x, attributes, violating, message = SAME_SHAPE[op_type]
    assert call(rules, op_type, [x], **attributes)[0].shape == x
    assert call(rules, op_type, [UNRANKED], **attributes)[0].shape is None
    if violating is not None:
        with pytest.raises(SpecViolation) as caught:
            call(rules, op_type, [x], **violating)
        assert message in caught.value.message
