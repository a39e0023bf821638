"""Operators of com.microsoft but for attention against the schemas of ONNX Runtime."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.symbolic import ceildiv, floordiv, symbol
from gather_infer.tensor import DType, from_values, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import known, of

B, C, H, K, L, M, N, S = map(symbol, "BCHKLMNS")
RULES, DEFAULT = standard_rules()["com.microsoft"], standard_rules()[""]
F32, F16, I32, I64, U8, I8 = DType.FLOAT32, DType.FLOAT16, DType.INT32, DType.INT64, DType.UINT8, DType.INT8


ONE, ZERO = (), of(U8)
BITS = {"K": 4096, "N": 1024, "block_size": 32, "bits": 4}
CONV = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}
IMAGE = of(U8, N, 56, 56, 64)
SEARCH = {"decoder": object(), "eos_token_id": 1, "pad_token_id": 0}

CASES = {
    # id:                 (op_type, inputs, attributes, outputs)
    "bias told":          ("BiasGelu", [(B, S, H), (64,)], {}, [(B, S, 64)]),
    "split":              ("BiasSplitGelu", [(B, S, 640), (640,)], {}, [(B, S, 320)]),
    "split, symbolic":    ("BiasSplitGelu", [(B, S, H), (H,)], {}, [(B, S, floordiv(H, 2))]),
    "packed mask":        ("BitmaskDropout", [(4, 17)], {}, [(4, 17), (3,)]),
    "packed mask of N":   ("BitmaskDropout", [(N, 32)], {}, [(N, 32), (N,)]),
    "bias dropout":       ("BiasDropout", [(B, S, 8), (8,), (B, S, 8)], {}, [(B, S, 8), (B, S, 8)]),
    "inverse":            ("Inverse", [(B, M, 3)], {}, [(B, 3, 3)]),
    "complex":            ("ComplexMul", [(B, N, 2), (N, 2)], {}, [(B, N, 2)]),
    "skip":               ("SkipLayerNormalization", [(B, S, 768), (B, S, 768), (768,)], {}, [(B, S, 768), (B, S, 1), (B, S, 1), (B, S, 768)]),
    "skip, no batch":     ("SkipLayerNormalization", [(B, S, 768), (S, 768), (768,)], {}, [(B, S, 768)]),
    "skip of a batch 1":  ("SkipLayerNormalization", [(B, S, 768), (1, S, 768), (768,)], {}, [(B, S, 768)]),
    "skip, tokens":       ("SkipSimplifiedLayerNormalization", [(N, H), (N, H), (64,)], {}, [(N, 64), (N, 1), (N, 1), (N, 64)]),
    "embeddings":         ("EmbedLayerNormalization", [of(I32, B, S), None, (30522, 768), (512, 768), None, (768,), (768,)], {}, [(B, S, 768), (B,), (B, S, 768)]),
    "groups":             ("GroupNorm", [of(F16, N, 8, 8, C), of(F16, 320), of(F16, 320)], {"groups": 32, "activation": 1}, [(N, 8, 8, 320)]),
    "groups and a skip":  ("SkipGroupNorm", [of(F16, N, 8, 8, 32), of(F16, 32), of(F16, 32), of(F16, N, 32)], {"groups": 4, "activation": 0}, [(N, 8, 8, 32), (N, 8, 8, 32)]),
    "transB":             ("FusedMatMul", [(B, 12, S, 64), (B, 12, L, 64)], {"transB": 1}, [(B, 12, S, L)]),
    "transBatchA":        ("FusedMatMul", [(S, B, 12, 64), (B, 12, 64, L)], {"transBatchA": 1}, [(B, 12, S, L)]),
    "gemm":               ("FusedGemm", [(K, M), (K, N), (N,)], {"transA": 1}, [(M, N)]),
    "4 bits":             ("MatMulNBits", [(B, S, 4096), of(U8, 1024, 128, 16), (1024, 128)], BITS, [(B, S, 1024)]),
    "4 bits, flat":       ("MatMulNBits", [(B, S, 4096), of(U8, 1024, 128, 16), (131072,)], BITS, [(B, S, 1024)]),
    "bnb":                ("MatMulBnb4", [(B, S, 64), of(U8, 1024), (64,)], {"K": 64, "N": 32, "block_size": 32, "quant_type": 1}, [(B, S, 32)]),
    "packed to bytes":    ("MatMulFpQ4", [(B, S, 64), of(U8, L), known([64, 32], I64)], {}, [(B, S, 32)]),
    "experts":            ("MoE", [(B, S, 64), (B * S, 8), (8, 256, 64), None, (8, 64, 256)], {"k": 2}, [(B, S, 64)]),
    "channels last":      ("QLinearConv", [IMAGE, ONE, ZERO, of(I8, 128, 64, 3, 3), ONE, of(I8), ONE, ZERO], {**CONV, "channels_last": 1}, [(N, 56, 56, 128)]),
    "nhwc":               ("NhwcFusedConv", [(N, H, 32, 64), (128, 64, 3, 3)], CONV, [(N, H, 32, 128)]),
    "pool, last":         ("NhwcMaxPool", [IMAGE], {"kernel_shape": (2, 2), "strides": (2, 2)}, [(N, 28, 28, 64)]),
    "global pool":        ("QLinearGlobalAveragePool", [of(U8, N, C, 7, 7), ONE, ZERO, ONE, ZERO], {}, [(N, C, 1, 1)]),
    "dynamic pads":       ("ConvTransposeWithDynamicPads", [(N, 8, H, 4), (8, 16, 3, 3), known([1, 1, 1, 1], I64)], {"strides": (2, 2)}, [(N, 16, 2 * H - 1, 7)]),
    "causal":             ("CausalConvWithState", [(N, C, L), (C, 1, 4)], {"activation": "silu"}, [(N, C, L), (N, C, 3)]),
    "causal, in a row":   ("VarlenCausalConvWithState", [(S, C), (C, 1, 4), of(I32, B + 1), None, (B, C, 3), of(I32, B)], {"state_update_capacity": 2}, [(S, C), (B, C, 3), (B, 2, C)]),
    "causal, captured":   ("CausalConvWithState", [(N, L, C), (C, 1, 4), None, (N, 3, C)], {"channels_last": 1, "state_update_capacity": 2}, [(N, L, C), (N, 3, C), (N, 2, C)]),
    "causal, a slice":    ("CausalConvWithState", [(N, L, 24), (8, 1, 4), None, (N, 3, 8)], {"channels_last": 1, "input_channels": 8}, [(N, L, 8), (N, 3, 8)]),
    "gate, projected":    ("GatedAdd", [(N, S, 8), (N, S, 8), (N, S, 5), (5, 1)], {}, [(N, S, 8)]),
    "packed rows":        ("GatherPacked", [of(U8, 30, 34), of(I64, B, S)], {"K": 32, "packed_type": 8, "output_dtype": 1}, [(B, S, 32)]),
    "concat":             ("QLinearConcat", [ONE, ZERO, of(U8, N, C), ONE, ZERO, of(U8, N, 3), ONE, ZERO], {"axis": 1}, [(N, C + 3)]),
    "mean":               ("QLinearReduceMean", [of(U8, N, C, 7, 7), ONE, ZERO, ONE, ZERO], {"axes": (2, 3), "keepdims": 0}, [(N, C)]),
    "lstm":               ("DynamicQuantizeLSTM", [(L, N, 10), of(I8, 1, 10, 80), of(I8, 1, 20, 80), None, None, None, None, None, (1,), of(I8, 1), (1,), of(I8, 1)], {"hidden_size": 20}, [(L, 1, N, 20), (1, N, 20), (1, N, 20)]),
    "rfft":               ("Rfft", [(B, 16)], {"signal_ndim": 1, "onesided": 1}, [(B, 9, 2)]),
    "irfft":              ("Irfft", [(B, N + 1, 2)], {"signal_ndim": 1}, [(B, 2 * N)]),
    "crops":              ("CropAndResize", [(N, 3, H, H), (K, 4), of(I32, K), known([7, 9], I32)], {}, [(K, 3, 7, 9)]),
    "unfold":             ("UnfoldTensor", [(B, 9)], {"size": 3, "step": 2}, [(B, 4, 3)]),
    "torch":              ("TorchEmbedding", [(1000, 64), of(I64, B, S)], {}, [(B, S, 64)]),
    "a new axis":         ("ExpandDims", [(B, S), known(1, I32)], {}, [(B, 1, S)]),
    "a new axis, where?": ("ExpandDims", [(1, 1), of(I32)], {}, [(1, 1, 1)]),
    "pads in a row":      ("Pad", [(B, 3), from_values(I64, make_values([0, 1, 0, 2], (1, 4)))], {}, [(B, 6)]),
    "warping":            ("DynamicTimeWarping", [(M, N)], {}, [None]),
    "beams":              ("BeamSearch", [of(I32, B, S), known([64], I32), None, known([4], I32), known([2], I32)], {**SEARCH, "vocab_size": 50257}, [(B, 2, 64), (B, 2), (64 - S, B, 4, 50257)]),
    "greedy":             ("GreedySearch", [of(I32, B, S), known([64], I32)], SEARCH, [(B, 64)]),
    "position bias":      ("RelativePositionBias", [(32, 8), known([7], I64), known([9], I64)], {"max_distance": 128}, [(1, 8, 7, 9)]),
    "gated bias":         ("GatedRelativePositionBias", [(B, S, 96), (96,), (1, 12, S, S), (8, 8), (8,), (1, 12, 1, 1)], {"num_heads": 12}, [(B, 12, S, S)]),
    "restored":           ("RestorePadding", [(L, H), of(I32, B, S)], {}, [(B, S, H)]),
    "no shape":           ("Gelu", [UNRANKED], {}, [None]),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, expected", CASES.values(), ids=CASES)
def test_shapes(op_type: str, inputs: Any, attributes: dict[str, Any], expected: Any) -> None:
    found = call(RULES, op_type, inputs, version=1, outputs=len(expected), **attributes)
    for fact, shape in zip(found, expected, strict=True):
        assert shape is None or fact.shape == shape


def test_the_mask_of_many_dims_counts_words() -> None:
    (words,) = call(RULES, "BitmaskDropout", [(B, S)], version=1, outputs=2)[1].shape
    assert words == ceildiv(B * S, 32)


def test_removed_padding_depends_on_the_data() -> None:
    packed, offsets, ends, most = call(RULES, "RemovePadding", [(B, S, H), of(I32, B)], version=1, outputs=4)
    assert packed.shape[1] == H and not isinstance(packed.shape[0], int)
    assert (offsets.shape, ends.shape, most.shape) == ((B, S), (B + 1,), (1,))


TYPES = {
    # id:                   (op_type, inputs, attributes, element type)
    "quantized":            ("QuantizeLinear", [(B, 8), ONE, of(DType.INT16)], {}, DType.INT16),
    "quantized to bytes":   ("QuantizeLinear", [(B, 8), ONE], {}, U8),
    "dequantized":          ("DequantizeLinear", [of(DType.UINT16, B, 8), of(F16)], {}, F16),
    "gemm to float":        ("QGemm", [of(U8, M, K), ONE, ZERO, of(I8, K, N), ONE, of(I8)], {}, F32),
    "gemm to bytes":        ("QGemm", [of(U8, M, K), ONE, ZERO, of(I8, K, N), ONE, of(I8), None, ONE, of(U8)], {}, U8),
    "hash":                 ("MurmurHash3", [of(DType.STRING, N)], {}, DType.UINT32),
    "signed hash":          ("MurmurHash3", [of(DType.STRING, N)], {"positive": 0}, I32),
    "sum of int8":          ("ReduceSumInteger", [of(I8, N)], {"axes": (0,), "keepdims": 0}, I32),
    "product of integers":  ("MulInteger", [of(U8, N), None, of(U8, N)], {}, I32),
    "product of 16 bits":   ("MatMulInteger16", [of(DType.INT16, M, K), of(DType.INT16, K, N)], {}, I32),
    "float8":               ("GemmFloat8", [of(DType.FLOAT8E4M3FN, M, K), of(DType.FLOAT8E4M3FN, K, N)], {"dtype": 10}, F16),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, dtype", TYPES.values(), ids=TYPES)
def test_element_types(op_type: str, inputs: Any, attributes: dict[str, Any], dtype: DType) -> None:
    assert call(RULES, op_type, inputs, version=1, **attributes)[0].dtype is dtype


@pytest.mark.parametrize("op_type", ["SimplifiedLayerNormalization", "LayerNormalization"])
def test_normalizations_of_the_default_domain(op_type: str) -> None:
    y, deviation, *_ = call(DEFAULT, op_type, [(B, S, H), of(F16, 64)], version=11, outputs=2, axis=-1)
    assert (y.dtype, y.shape) == (F16, (B, S, 64))
    assert (deviation.dtype, deviation.shape) == (F32, (B, S, 1))


BAD = {
    # id:           (op_type, inputs, attributes, message)
    "bias":         ("BiasGelu", [(B, S, 8), (9,)], {}, "the last dim of the input and the length of bias must be equal, are 8 and 9"),
    "no bias":      ("BiasGelu", [(B, S, 8)], {}, "input 1, B, is missing"),
    "type":         ("BiasGelu", [of(I64, B), of(I64, B)], {}, "A must be bfloat16, float16, float32 or float64, is int64"),
    "odd":          ("BiasSplitGelu", [(B, S, 7), (7,)], {}, "the last dim of X must be a multiple of 2, is 7"),
    "skip":         ("SkipLayerNormalization", [(B, 3, 8), (B, 4, 8), (8,)], {}, "dims -2 of input and skip must be equal, are 3 and 4"),
    "skip rank":    ("SkipLayerNormalization", [(B, 3, 8), (8,), (8,)], {}, "skip must have rank 2 or 3, has rank 1"),
    "groups":       ("GroupNorm", [of(F16, N, 8, 8, 33), of(F16, 33), of(F16, 33)], {"groups": 4, "activation": 0}, "the channels of X must be a multiple of 4, is 33"),
    "K":            ("MatMulNBits", [(B, S, 64), of(U8, 1024, 128, 16), (1024, 128)], BITS, "the last dim of A and K must be equal, are 64 and 4096"),
    "blocks":       ("MatMulNBits", [(B, 4096), of(U8, 1024, 128, 8), (1024, 128)], BITS, "dim 2 of B and that implied by N, K, bits and block_size must be equal, are 8 and 16"),
    "block_size":   ("MatMulNBits", [(B, 4096), of(U8, N), (N,)], {**BITS, "block_size": 24}, "block_size must be a power of 2 and >= 16, is 24"),
    "contraction":  ("FusedMatMul", [(M, 3), (N, 4)], {"transB": 1}, "the contracted dims of A and B must be equal, are 3 and 4"),
    "router":       ("MoE", [(2, 3, 64), (5, 8), (8, 256, 64), None, (8, 64, 256)], {}, "the tokens of input must be equal, are 5 and 6"),
    "threes":       ("QLinearConcat", [ONE, ZERO, of(U8, N), ONE], {"axis": 0}, "inputs must be threes of a tensor, its scale and its zero point, are 2"),
    "scale":        ("QuantizeLinear", [(B, 8), (9,)], {"axis": 1}, "the dim at axis 1 and the length of y_scale must be equal, are 8 and 9"),
    "unfold":       ("UnfoldTensor", [(B, 2)], {"size": 3}, "size must be 2 or less, the dim of axis 1, is 3"),
    "distance":     ("CDist", [(M, 3), (K, 4)], {}, "the last dims of A and B must be equal, are 3 and 4"),
    "length":       ("GreedySearch", [of(I32, B, S), known([0], I32)], SEARCH, "max_length must be 1 or more, is 0"),
    "strings":      ("Tokenizer", [of(DType.STRING, B, S, N)], {"mark": 0, "mincharnum": 1, "pad_value": ""}, "X must have rank 1 or 2, has rank 3"),
    "dtype":        ("GemmFloat8", [(M, K), (K, N)], {"dtype": 99}, "dtype = 99 is no element type"),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, message", BAD.values(), ids=BAD)
def test_violations(op_type: str, inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(RULES, op_type, inputs, version=1, **attributes)
    assert message in caught.value.message
