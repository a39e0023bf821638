"""Convolutions against their specifications."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.conv import rules
from gather_infer.symbolic import known_le, symbol
from gather_infer.tensor import DType, SymbolicTensor
from tests.ops.call import UNRANKED, call

C, H, L, N, W = map(symbol, "CHLNW")
U8, I8 = DType.UINT8, DType.INT8

CONV = {
    # id:                  (X,               W,               attributes,                             result)
    "plain":               ((1, 1, 5, 5),    (1, 1, 3, 3),    {},                                     (1, 1, 3, 3)),
    "pads and strides":    ((1, 1, 7, 5),    (1, 1, 3, 3),    {"pads": (1,) * 4, "strides": (2, 2)},    (1, 1, 4, 3)),
    "uneven pads":         ((1, 1, 7, 5),    (1, 1, 3, 3),    {"pads": (1, 0, 1, 0), "strides": (2, 2)}, (1, 1, 4, 2)),
    "dilated":             ((1, 1, 9),       (1, 1, 3),       {"dilations": (3,)},                   (1, 1, 3)),
    "groups":              ((1, 4, 9),       (6, 2, 2),       {"group": 2},                          (1, 6, 8)),
    "3-D":                 ((1, 2, 5, 6, 7), (3, 2, 1, 2, 3), {},                                     (1, 3, 5, 5, 5)),
    "SAME":                ((1, 1, 5),       (1, 1, 3),       {"auto_pad": "SAME_UPPER", "strides": (2,)}, (1, 1, 3)),
    "SAME, kernel too long": ((1, 1, 2),     (1, 1, 9),       {"auto_pad": "SAME_LOWER"},            (1, 1, 2)),
    "VALID":               ((1, 1, 7),       (1, 1, 3),       {"auto_pad": "VALID", "strides": (2,)},   (1, 1, 3)),
    "no batch":            ((0, 1, 5),       (1, 1, 3),       {},                                     (0, 1, 3)),
    "no channels":         ((1, 0, 8),       (3, 0, 5),       {},                                     (1, 3, 4)),
    "stem of a ResNet":    ((N, 3, H, W),    (64, 3, 7, 7),   {"pads": (3,) * 4, "strides": (2, 2)},
                            (N, 64, (H + 1)//2, (W + 1)//2)),
    "same size":           ((N, C, L),       (8, 4, 3),       {"pads": (1, 1)},                      (N, 8, L)),
    "symbolic SAME":       ((N, C, L),       (8, 4, 3),       {"auto_pad": "SAME_UPPER", "strides": (2,)}, (N, 8, (L + 1)//2)),
    "symbolic kernel":     ((N, C, L),       (8, 4, W),       {},                                     (N, 8, L - W + 1)),
    "symbolic channels":   ((N, C, 9),       (W, C, 2),       {},                                     (N, W, 8)),
}  # fmt: skip


@pytest.mark.parametrize("x, w, attributes, result", CONV.values(), ids=CONV)
def test_conv(x: Any, w: Any, attributes: dict[str, Any], result: Any) -> None:
    assert call(rules, "Conv", [x, w], **attributes) == [SymbolicTensor(DType.FLOAT32, result)]


def test_conv_implies_that_the_kernel_fits() -> None:
    context = Context()
    call(rules, "Conv", [(N, 1, L), (1, 1, 5)], context=context)
    assert known_le(5, L, context.scope) is True
    context = Context()
    call(rules, "Conv", [(N, 1, L), (1, 1, 5)], context=context, auto_pad="SAME_UPPER")
    assert known_le(1, L, context.scope) is True and known_le(2, L, context.scope) is None


def test_conv_records_what_the_channels_have_to_be() -> None:
    context = Context()
    call(rules, "Conv", [(N, C, L), (8, 2, 3)], context=context, group=4)
    assert [str(c) for c in context.constraints] == ["C == 8"]


def test_conv_with_unknown_inputs() -> None:
    (found,) = call(rules, "Conv", [UNRANKED, (8, 4, 3)])
    assert found.rank == 3 and found.shape[1] == 8
    (found,) = call(rules, "Conv", [(N, 4, 9, 9), UNRANKED])
    assert found.rank == 4 and found.shape[0] is N
    (found,) = call(rules, "Conv", [(N, 4, 9, 9), UNRANKED, (5,)], kernel_shape=(3, 3))
    assert found.shape == (N, 5, 7, 7)
    assert call(rules, "Conv", [UNRANKED, UNRANKED])[0].shape is None


CONV_BAD = {
    "rank of X":        ([(1, 4), (4, 4)], {},                               "X must have rank 3 or more, has rank 2"),
    "ranks differ":     ([(1, 4, 9), (4, 4, 3, 3)], {},                      "the weight tensor W, as X, must have rank 3, has rank 4"),
    "channels":         ([(1, 3, 9), (4, 2, 2)], {},                         "the channels of X and group * W.shape[1] must be equal, are 3 and 2"),
    "group":            ([(1, 4, 9), (3, 2, 2)], {"group": 2},              "the output channels of W must be a multiple of 2, is 3"),
    "no group":         ([(1, 4, 9), (3, 4, 2)], {"group": 0},              "group must be 1 or more, is 0"),
    "bias":             ([(1, 4, 9), (3, 4, 2), (1,)], {},                   "the length of B must be equal, are 3 and 1"),
    "bias rank":        ([(1, 4, 9), (3, 4, 2), (1, 3)], {},                 "B must have rank 1, has rank 2"),
    "kernel_shape":     ([(1, 4, 9), (3, 4, 2)], {"kernel_shape": (3,)},    "kernel_shape and the spatial dims of W must be equal, are 2 and 3"),
    "strides":          ([(1, 4, 9), (3, 4, 2)], {"strides": (1, 1)},       "strides must have 1 elements, has 2: [1, 1]"),
    "stride 0":         ([(1, 4, 9), (3, 4, 2)], {"strides": (0,)},         "strides must be 1 or more, is [0]"),
    "pads":             ([(1, 4, 9), (3, 4, 2)], {"pads": (1,)},            "pads must have 2 elements, has 1: [1]"),
    "negative pads":    ([(1, 4, 9), (3, 4, 2)], {"pads": (-1, 0)},         "pads must be 0 or more, is [-1, 0]"),
    "pads twice":       ([(1, 4, 9), (3, 4, 2)], {"pads": (1, 0), "auto_pad": "VALID"}, "pads must not be given with auto_pad = VALID, is [1, 0]"),
    "auto_pad":         ([(1, 4, 9), (3, 4, 2)], {"auto_pad": "SAME"},      "auto_pad = 'SAME' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID"),
    "too long":         ([(1, 4, 3), (3, 4, 5)], {},                         "the dilated kernel must fit the padded input of length 3 at spatial axis 0, has length 5"),
    "too long, strided": ([(1, 4, 3), (3, 4, 5)], {"strides": (3,)},        "has length 5"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", CONV_BAD.values(), ids=CONV_BAD)
def test_conv_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "Conv", inputs, **attributes)
    assert message in caught.value.message


def test_element_types() -> None:
    with pytest.raises(SpecViolation, match="X, W and B must have one element type, have float32 and float16"):
        call(rules, "Conv", [(1, 1, 9), SymbolicTensor(DType.FLOAT16, (1, 1, 3))])
    x, w = SymbolicTensor(U8, (N, 1, L)), SymbolicTensor(I8, (4, 1, 3))
    assert call(rules, "ConvInteger", [x, w]) == [SymbolicTensor(DType.INT32, (N, 4, L - 2))]
    scale, zero = SymbolicTensor(DType.FLOAT32, ()), SymbolicTensor(U8, ())
    inputs = [x, scale, zero, w, scale, SymbolicTensor(I8, (4,)), scale, zero, SymbolicTensor(DType.INT32, (4,))]
    assert call(rules, "QLinearConv", inputs) == [SymbolicTensor(U8, (N, 4, L - 2))]


TRANSPOSE = {
    # id:                   (X,          W,         attributes,                                        result)
    "plain":                ((1, 4, 4),  (4, 2, 3), {"strides": (2,)},                                (1, 2, 9)),
    "output_padding":       ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "output_padding": (1,)},           (1, 2, 10)),
    "pads":                 ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "pads": (1, 2)},                   (1, 2, 6)),
    "dilated":              ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "dilations": (2,)},                (1, 2, 11)),
    "groups":               ((1, 4, 4),  (4, 2, 3), {"group": 2},                                     (1, 4, 6)),
    "output_shape":         ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "output_shape": (8,)},             (1, 2, 8)),
    "SAME":                 ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "auto_pad": "SAME_UPPER"},         (1, 2, 8)),
    "SAME, output_padding": ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "auto_pad": "SAME_LOWER", "output_padding": (1,)}, (1, 2, 8)),
    "SAME, short kernel":   ((1, 4, 4),  (4, 2, 1), {"strides": (2,), "auto_pad": "SAME_UPPER"},         (1, 2, 7)),
    "VALID":                ((1, 4, 4),  (4, 2, 3), {"strides": (2,), "auto_pad": "VALID"},              (1, 2, 9)),
    "empty axis":           ((1, 1, 0),  (1, 1, 5), {"strides": (3,)},                                (1, 1, 2)),
    "upsampling by two":    ((N, 4, L),  (4, 2, 4), {"strides": (2,), "pads": (1, 1)},                   (N, 2, 2*L)),
    "symbolic SAME":        ((N, C, L),  (4, 2, 4), {"strides": (2,), "auto_pad": "SAME_UPPER"},         (N, 2, 2*L)),
}  # fmt: skip


@pytest.mark.parametrize("x, w, attributes, result", TRANSPOSE.values(), ids=TRANSPOSE)
def test_conv_transpose(x: Any, w: Any, attributes: dict[str, Any], result: Any) -> None:
    assert call(rules, "ConvTranspose", [x, w], **attributes) == [SymbolicTensor(DType.FLOAT32, result)]


def test_conv_transpose_with_unknown_inputs() -> None:
    (found,) = call(rules, "ConvTranspose", [UNRANKED, (8, 4, 3)], group=2)
    assert found.rank == 3 and found.shape[1] == 8
    assert call(rules, "ConvTranspose", [UNRANKED, UNRANKED])[0].shape is None
    (found,) = call(rules, "ConvTranspose", [UNRANKED, (8, 4, 3)], output_shape=(7,))
    assert found.shape[1:] == (4, 7)


TRANSPOSE_BAD = {
    "channels":     ([(1, 3, 4), (4, 2, 3)], {},                        "the channels of X and W.shape[0] must be equal, are 3 and 4"),
    "group":        ([(1, 4, 4), (4, 2, 3)], {"group": 3},             "the channels of X must be a multiple of 3, is 4"),
    "bias":         ([(1, 4, 4), (4, 2, 3), (3,)], {},                  "the length of B must be equal, are 2 and 3"),
    "too short":    ([(1, 4, 1), (4, 2, 3)], {"pads": (2, 2)},         "spatial axis 0 of the output must have length 1 or more, has -1"),
    "pads twice":   ([(1, 4, 4), (4, 2, 3)], {"pads": (0, 1), "auto_pad": "SAME_UPPER"}, "pads must not be given with auto_pad = SAME_UPPER"),
    "output_shape": ([(1, 4, 4), (4, 2, 3)], {"output_shape": (1, 2, 8)}, "output_shape must have 1 elements, has 3"),
}  # fmt: skip


@pytest.mark.parametrize("inputs, attributes, message", TRANSPOSE_BAD.values(), ids=TRANSPOSE_BAD)
def test_conv_transpose_violations(inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(rules, "ConvTranspose", inputs, **attributes)
    assert message in caught.value.message


def test_deform_conv() -> None:
    inputs = [(N, 4, H, W), (6, 4, 2, 2), (N, 8, H - 1, W - 1), (6,), (N, 4, H - 1, W - 1)]
    assert call(rules, "DeformConv", inputs, version=19)[0].shape == (N, 6, H - 1, W - 1)
    with pytest.raises(SpecViolation, match="axis 1 of offset"):
        call(rules, "DeformConv", [(1, 4, 3, 3), (6, 4, 2, 2), (1, 4, 2, 2)], version=19)
    with pytest.raises(SpecViolation, match="axis 1 of mask"):
        call(rules, "DeformConv", [(1, 4, 3, 3), (6, 4, 2, 2), (1, 8, 2, 2), None, (1, 8, 2, 2)], version=19)
    assert call(rules, "DeformConv", [UNRANKED] * 3, version=19)[0].shape is None


def test_causal_conv_with_state() -> None:
    y, state = call(rules, "CausalConvWithState", [(N, 8, L), (8, 1, 4), (8,), (N, 8, 3)], version=27, outputs=2)
    assert (y.shape, state.shape) == ((N, 8, L), (N, 8, 3))
    y, state = call(rules, "CausalConvWithState", [UNRANKED, (8, 1, 4)], version=27, outputs=2)
    assert y.shape[1] == 8 and state.shape[1:] == (8, 3)
    with pytest.raises(SpecViolation, match="past_state"):
        call(rules, "CausalConvWithState", [(2, 8, 5), (8, 1, 4), None, (2, 8, 4)], version=27, outputs=2)
    with pytest.raises(SpecViolation, match="the kernel must have 1 or more elements"):
        call(rules, "CausalConvWithState", [(2, 8, 5), (8, 1, 0)], version=27, outputs=2)
    with pytest.raises(SpecViolation, match="activation = 'gelu' is not one of none, silu, swish"):
        call(rules, "CausalConvWithState", [(2, 8, 5), (8, 1, 4)], version=27, outputs=2, activation="gelu")
