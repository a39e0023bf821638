"""Generated nodes of com.microsoft, but for attention and generation: concrete inputs, mostly legal."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle.ms_run import Array, Case

SIZES = (1, 1, 2, 3, 4, 5, 7)


def floats(*shape: int) -> Array:
    return np.full(shape, 0.5, np.float32)


def ints(*shape: int, dtype: type = np.uint8) -> Array:
    return np.ones(shape, dtype)


def size(r: random.Random, *, zero: float = 0.1) -> int:
    return 0 if r.random() < zero else r.choice(SIZES)


def dims(r: random.Random, least: int = 0, most: int = 4, *, zero: float = 0.1) -> list[int]:
    return [size(r, zero=zero) for _ in range(r.randint(least, most))]


def scalar(value: float = 0.5, dtype: type = np.float32) -> Array:
    return np.asarray(value, dtype)


def unary(r: random.Random) -> Case:
    op_type = r.choice(["Gelu", "QuickGelu", "ScaledSiLU", "SampleOp", "FastGelu"])
    inputs: list[Array | None] = [floats(*dims(r, 1))]
    if op_type == "ScaledSiLU" and r.random() < 0.5:
        inputs.append(scalar())
    return Case(op_type, inputs)


def biased(r: random.Random) -> Case:
    shape = dims(r, 1, zero=0)
    return Case(r.choice(["FastGelu", "BiasGelu"]), [floats(*shape), floats(shape[-1])])


def gates(r: random.Random) -> Case:
    shape = dims(r, 1)
    if r.random() < 0.5:
        return Case("GatedAdd", [floats(*shape), floats(*shape), floats(*shape[:-1], 1)])
    shape = dims(r, 3, 3, zero=0)
    heads = floats(shape[2])
    if r.random() < 0.5:
        return Case("LinearAttentionGate", [floats(*shape), heads, heads])
    return Case("LinearAttentionGate", [floats(*shape), heads, heads, floats(*shape)], outputs=2)


def same(r: random.Random) -> Case:
    match r.randrange(3):
        case 0:
            dtype = r.choice([np.float32, np.int64, np.float64])
            inputs: list[Array | None] = [np.ones(dims(r, 2), dtype)]
            if r.random() < 0.5:
                inputs.append(scalar(r.randrange(-3, 4), np.int64))
            return Case("Trilu", inputs, {"upper": r.randrange(2)})
        case 1:
            m = size(r, zero=0)
            return Case(
                "Inverse", [np.broadcast_to(np.eye(m, dtype=np.float32), [*dims(r, 0, 2, zero=0), m, m]).copy()]
            )
        case _:
            dtype = r.choice([np.int32, np.uint32, np.float32, np.int64])
            return Case("MurmurHash3", [np.ones(dims(r), dtype)], r.choice([{}, {"positive": 0}, {"positive": 1}]))


def layer_norm(r: random.Random) -> Case:
    shape = dims(r, 1, zero=0)
    axis = r.randrange(-len(shape), len(shape))
    scale = floats(*shape[axis:])
    attributes = {"axis": axis, "epsilon": 1e-5}
    if r.random() < 0.5:
        return Case("SimplifiedLayerNormalization", [floats(*shape), scale], attributes, r.choice([1, 2]), domain="")
    inputs: list[Array | None] = [floats(*shape), scale, *[scale][: r.choice([0, 1])]]
    return Case("LayerNormalization", inputs, attributes, r.choice([1, 2, 3]), domain="")


def skip_norm(r: random.Random) -> Case:
    b, s, h = size(r, zero=0), size(r, zero=0.05), size(r, zero=0)
    x = [b, s, h] if r.random() < 0.7 else [b * s, h]
    skip = r.choice([x, [1, s, h], [s, h]]) if len(x) == 3 else x
    vectors: list[Array | None] = [floats(h) if r.random() < 0.7 else None for _ in range(2)]
    used = r.choice([(True,), (True, False, False, True)])
    if r.random() < 0.5:
        return Case("SkipLayerNormalization", [floats(*x), floats(*skip), floats(h), *vectors], {"epsilon": 1e-5},
                    len(used), used=used)  # fmt: skip
    inputs = [floats(*x), floats(*skip), floats(h), vectors[0]]
    return Case("SkipSimplifiedLayerNormalization", inputs, {"epsilon": 1e-5}, len(used), used=used)


def other_norm(r: random.Random) -> Case:
    c, groups = size(r, zero=0), r.choice([1, 2, 3])
    lead = dims(r, 0, 3, zero=0)
    if r.random() < 0.5:
        return Case("GatedRMSNorm", [floats(*lead, c * groups), floats(c), floats(*lead, c * groups)])
    return Case("BranchwiseRMSNorm", [floats(*lead, groups, c), r.choice([None, floats(c)])])


def embed_norm(r: random.Random) -> Case:
    b, s, h, positions = size(r, zero=0), size(r, zero=0), size(r, zero=0), 9
    ids = ints(b, s, dtype=np.int32)
    has_segments = r.random() < 0.5
    inputs: list[Array | None] = [ids, ids if has_segments else None, floats(4, h), floats(positions, h),
              floats(2, h) if has_segments else None, floats(h), floats(h)]  # fmt: skip
    inputs.append(ids if r.random() < 0.5 else None)
    if r.random() < 0.3:
        inputs.append(ints(r.choice([1, b]), s, dtype=np.int32))
    return Case("EmbedLayerNormalization", inputs, {"epsilon": 1e-5}, r.choice([2, 3]), declared=(2, 3, 4, 5, 6))


def quantized_embed_norm(r: random.Random) -> Case:
    b, s, h = size(r, zero=0), size(r, zero=0), size(r, zero=0)
    ids, table, vector, one, zero = ints(b, s, dtype=np.int32), ints(9, h), ints(h), scalar(), scalar(0, np.uint8)
    inputs: list[Array | None] = [ids, ids, table, table, table, vector, vector, r.choice([None, ids])]
    return Case("QEmbedLayerNormalization", [*inputs, *[one] * 5, *[zero] * 5], {"epsilon": 1e-5}, 2,
                declared=(2, 3, 4, 5, 6))  # fmt: skip


def fused_matmul(r: random.Random) -> Case:
    batch = dims(r, 0, 2)
    m, k, n = size(r), size(r, zero=0), size(r)
    attributes: dict[str, Any] = {f"trans{x}": r.randrange(2) for x in "AB"}
    op_type = r.choice(["FusedMatMul", "FusedMatMul", "TransposeMatMul"])
    swaps = op_type == "FusedMatMul" and batch and r.random() < 0.3
    shapes = []
    for name, rows, columns in (("A", m, k), ("B", k, n)):
        lead = batch if swaps else [1 if r.random() < 0.2 else d for d in batch][r.randrange(len(batch) + 1) :]
        matrix = [columns, rows] if attributes[f"trans{name}"] else [rows, columns]
        if swaps and r.random() < 0.5 and all(d > 0 for d in lead):
            attributes[f"transBatch{name}"] = 1
            shapes.append([matrix[0], *lead, matrix[1]])
        else:
            shapes.append([*lead, *matrix])
    if r.random() < 0.1:
        shapes[0] = [k]
    return Case(op_type, [floats(*shape) for shape in shapes], attributes)


def fused_gemm(r: random.Random) -> Case:
    m, k, n = size(r), size(r, zero=0), size(r)
    ta, tb = r.randrange(2), r.randrange(2)
    a, b = (k, m) if ta else (m, k), (n, k) if tb else (k, n)
    c = r.choice([None, (), (1,), (n,), (m, 1), (1, n), (m, n)])
    if r.random() < 0.6:
        inputs: list[Array | None] = [floats(*a), floats(*b)]
        if c is not None:
            inputs.append(floats(*c))
        return Case("FusedGemm", inputs, {"transA": ta, "transB": tb, "activation": "Relu"})
    zero, one = scalar(0, np.uint8), scalar()
    inputs = [ints(*a), one, zero, ints(*b), one, zero, None if c is None else ints(*c, dtype=np.int32)]
    if r.random() < 0.5:
        inputs += [one, zero]
    return Case("QGemm", inputs, {"transA": ta, "transB": tb})


def n_bits(r: random.Random) -> Case:
    lead, k, n = dims(r, 0, 3), r.choice([1, 16, 17, 32, 40]), r.choice([1, 2, 3, 8])
    blocks = -(-k // 16)
    bias: list[Array | None] = [None, None, floats(n)] if r.random() < 0.4 else []
    inputs: list[Array | None] = [floats(*lead, k), ints(n, blocks, 8), floats(n, blocks)]
    return Case("MatMulNBits", inputs + bias, {"K": k, "N": n, "bits": 4, "block_size": 16}, declared=(5,))


def bnb4(r: random.Random) -> Case:
    lead, k, n = dims(r, 0, 3), r.choice([16, 32]), r.choice([1, 2, 3, 8])
    blob = ints((n * k + 1) // 2)
    attributes = {"K": k, "N": n, "block_size": 16, "quant_type": r.randrange(2)}
    if r.random() < 0.3:
        return Case("MatMulBnb4", [floats(*lead, n), blob, floats(-(-n * k // 16))], {**attributes, "transB": 0})
    return Case("MatMulBnb4", [floats(*lead, k), blob, floats(-(-n * k // 16))], attributes)


def integer_matmul(r: random.Random) -> Case:
    batch = dims(r, 0, 2, zero=0)
    m, k, n = size(r), size(r, zero=0), size(r, zero=0)
    a, b = [*batch, m, k], [*(batch if r.random() < 0.5 else []), k, n]
    match r.randrange(3):
        case 0:
            return Case("MatMulInteger16", [ints(*a, dtype=np.int16), ints(*b, dtype=np.int16)])
        case 1:
            inputs: list[Array | None] = [ints(*a), ints(*b), scalar(), scalar(), None, None]
            return Case("MatMulIntegerToFloat", [*inputs, floats(n)] if r.random() < 0.4 else inputs[:4])
        case _:
            inputs = [floats(*a), ints(*b), scalar(), None]
            return Case("DynamicQuantizeMatMul", [*inputs, floats(n)] if r.random() < 0.4 else inputs[:3])


def experts(r: random.Random) -> Case:
    e, hidden, inter = r.choice([2, 3]), r.choice([2, 4]), r.choice([3, 4])
    lead = r.choice([[size(r)], [size(r), size(r, zero=0)]])
    tokens = int(np.prod(lead))
    inputs: list[Array | None] = [floats(*lead, hidden), floats(tokens, e), floats(e, inter, hidden), None,
                                  floats(e, hidden, inter)]  # fmt: skip
    return Case("MoE", inputs, {"k": 1, "activation_type": "relu"})


def windows(r: random.Random, n: int, kernel: list[int], *, pool: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {"kernel_shape": kernel} if pool or r.random() < 0.4 else {}
    if r.random() < 0.6:
        attributes["strides"] = [r.choice([1, 2, 3]) for _ in range(n)]
    if r.random() < 0.4:
        attributes["pads"] = [r.randrange(kernel[i % n]) if pool else r.randrange(3) for i in range(2 * n)]
    elif r.random() < 0.3:
        attributes["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    return attributes


def conv(r: random.Random) -> Case:
    n, group = r.choice([1, 2]), r.choice([1, 2])
    c, m = group * r.randint(1, 3), group * r.randint(1, 3)
    kernel = [r.randint(1, 3) for _ in range(n)]
    spatial = [r.randint(3, 9) for _ in range(n)]
    attributes = {**windows(r, n, kernel, pool=False), "group": group}
    if r.random() < 0.5:
        inputs: list[Array | None] = [floats(size(r), c, *spatial), floats(m, c // group, *kernel)]
        if r.random() < 0.4:
            inputs.append(floats(m))
        return Case("FusedConv", inputs, {**attributes, "activation": "Relu"})
    last, batch = r.randrange(2), size(r, zero=0)
    x = [batch, *spatial, c] if last else [batch, c, *spatial]
    zero, one = scalar(0, np.uint8), scalar()
    inputs = [ints(*x), one, zero, ints(m, c // group, *kernel), one, zero, one, zero]
    if r.random() < 0.4:
        inputs.append(ints(m, dtype=np.int32))
    return Case("QLinearConv", inputs, {**attributes, "channels_last": last})


def pool(r: random.Random) -> Case:
    n = 2
    kernel = [r.randint(1, 3) for _ in range(n)]
    b, c, spatial = size(r, zero=0), r.randint(1, 3), [r.randint(3, 9) for _ in range(n)]
    attributes = windows(r, n, kernel, pool=True)
    zero, one = scalar(0, np.uint8), scalar()
    match r.randrange(3):
        case 0:
            return Case("NhwcMaxPool", [ints(b, *spatial, c)], attributes)
        case 1:
            last = r.randrange(2)
            x = [b, *spatial, c] if last else [b, c, *spatial]
            return Case("QLinearAveragePool", [ints(*x), one, zero, one, zero], {**attributes, "channels_last": last})
        case _:
            last = r.randrange(2)
            x = [b, *spatial, c] if last else [b, c, *spatial]
            return Case("QLinearGlobalAveragePool", [ints(*x), one, zero, one, zero], {"channels_last": last})


def transposed_conv(r: random.Random) -> Case:
    n, c, m = r.choice([1, 2]), r.randint(1, 3), r.randint(1, 3)
    kernel = [r.randint(1, 3) for _ in range(n)]
    attributes: dict[str, Any] = {"strides": [r.choice([1, 2]) for _ in range(n)]} if r.random() < 0.6 else {}
    pads = np.array([r.randrange(2) for _ in range(2 * n)], np.int64)
    x = floats(size(r, zero=0), c, *(r.randint(2, 6) for _ in range(n)))
    return Case("ConvTransposeWithDynamicPads", [x, floats(c, m, *kernel), pads], attributes, known=(2,))


def causal_conv(r: random.Random) -> Case:
    b, c, length, k = size(r, zero=0), size(r, zero=0), size(r, zero=0), r.randint(2, 4)
    dilation = r.choice([1, 1, 2])
    past = floats(b, c, (k - 1) * dilation) if r.random() < 0.5 else None
    bias = floats(c) if r.random() < 0.5 else None
    return Case("CausalConvWithState", [floats(b, c, length), floats(c, 1, k), bias, past], {"dilation": dilation}, 2)


def packed_conv(r: random.Random) -> Case:
    lengths = [r.randint(1, 3) for _ in range(r.randint(1, 3))]
    c, k, dilation = r.randint(1, 3), r.randint(2, 4), r.choice([1, 1, 2])
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    bias = floats(c) if r.random() < 0.5 else None
    attributes = {"dilation": dilation}
    inputs = [floats(sum(lengths), c), floats(c, 1, k), ends, bias, floats(len(lengths), c, (k - 1) * dilation)]
    if r.random() < 0.5:
        attributes["state_update_capacity"] = r.randint(1, 3)
        inputs.append(np.ones(len(lengths), np.int32))
    return Case("VarlenCausalConvWithState", inputs, attributes, 3 if len(inputs) > 5 else 2)


def gather_packed(r: random.Random) -> Case:
    """Format 8: blocks of 32 numbers of a byte each behind a scale of 16 bits."""
    rows, blocks = r.randint(1, 3), r.randint(1, 2)
    at = np.asarray(np.random.default_rng(r.randrange(2**32)).integers(-1, rows + 1, size=dims(r)))
    attributes = {"K": 32 * blocks, "packed_type": 8, "output_dtype": r.choice([1, 10])}
    return Case("GatherPacked", [ints(rows, 34 * blocks), at.astype(r.choice([np.int32, np.int64]))], attributes)


def quantize(r: random.Random) -> Case:
    shape = dims(r, 1)
    axis = r.randrange(len(shape))
    scale = scalar() if r.random() < 0.5 else floats(shape[axis])
    dtype = r.choice([np.int8, np.uint8, np.int16])
    zero = None if dtype is np.uint8 and r.random() < 0.5 else np.zeros(scale.shape, dtype)
    if r.random() < 0.5:
        return Case("QuantizeLinear", [floats(*shape), scale, zero], {"axis": axis})
    return Case("DequantizeLinear", [ints(*shape, dtype=dtype), scale, zero], {"axis": axis})


def qlinear(r: random.Random) -> Case:
    zero, one = scalar(0, np.uint8), scalar()
    shape = dims(r, 1)
    other = [1 if r.random() < 0.3 else d for d in shape][r.randrange(len(shape)) :]
    x = ints(*shape)
    match r.randrange(5):
        case 0:
            return Case(r.choice(["QLinearAdd", "QLinearMul"]), [x, one, zero, ints(*other), one, zero, one, zero])
        case 1:
            return Case(r.choice(["QLinearSigmoid", "QLinearLeakyRelu"]), [x, one, zero, one, zero])
        case 2:
            x = ints(*(max(1, d) for d in shape))  # the runtime forgets to make an empty result
            return Case("QLinearSoftmax", [x, one, zero, one, zero], {"opset": 13, "axis": r.randrange(len(shape))})
        case 3:
            condition = np.ones(shape, bool)
            return Case("QLinearWhere", [condition, ints(*other), one, zero, x, one, zero, one, zero])
        case _:
            axis = r.randrange(len(shape))
            parts: list[Array | None] = []
            for _ in range(r.randint(1, 3)):
                parts += [ints(*shape[:axis], size(r), *shape[axis + 1 :]), one, zero]
            return Case("QLinearConcat", [one, zero, *parts], {"axis": r.choice([axis, axis - len(shape)])})


def quantized_lstm(r: random.Random) -> Case:
    length, n, i, h, d = (size(r, zero=0) for _ in range(5))
    d = r.choice([1, 2])
    zero, one = np.zeros(d, np.uint8), floats(d)
    inputs: list[Array | None] = [floats(length, n, i), ints(d, i, 4 * h), ints(d, h, 4 * h)]
    inputs += [r.choice([None, floats(d, 8 * h)]), None, None, None, None, one, zero, one, zero]
    return Case(
        "DynamicQuantizeLSTM", inputs, {"hidden_size": h, "direction": "bidirectional" if d == 2 else "forward"}, 3
    )


def data(r: random.Random) -> Case:
    match r.randrange(9):
        case 0:
            x, crops = floats(size(r, zero=0), size(r, zero=0), 5, 6), size(r, zero=0)
            crop = np.array([r.randint(1, 4), r.randint(1, 4)], np.int32)
            rois, indices = np.tile(np.array([0, 0, 1, 1], np.float32), (crops, 1)), np.zeros(crops, np.int32)
            return Case("CropAndResize", [x, rois, indices, crop], known=(3,))
        case 1:
            n, c, h, w, oh, ow = size(r, zero=0), size(r, zero=0), 3, 4, size(r, zero=0), size(r, zero=0)
            return Case("GridSample", [floats(n, c, h, w), floats(n, oh, ow, 2)])
        case 2:
            m, n, k = size(r, zero=0), size(r, zero=0), size(r, zero=0)
            return Case("CDist", [floats(m, n), floats(k, n)], {"metric": r.choice(["euclidean", "sqeuclidean"])})
        case 3:
            m, n = size(r, zero=0), size(r, zero=0)
            cost = np.random.default_rng(r.randrange(99)).random((m, n), np.float32)
            return Case("DynamicTimeWarping", [cost if r.random() < 0.5 else cost[None]])
        case 4:
            shape = dims(r, 1, zero=0)
            axis = r.randrange(len(shape))
            attributes = {"dim": r.choice([axis, axis - len(shape)]), "size": r.randint(1, shape[axis])}
            return Case("UnfoldTensor", [floats(*shape)], {**attributes, "step": r.randint(1, 3)})
        case 5:
            shape = dims(r)
            at = np.asarray(r.randint(-len(shape) - 1, len(shape)), np.int32)
            return Case("ExpandDims", [floats(*shape), at], known=(1,) if at < 0 or r.random() < 0.5 else ())
        case 6:
            start, limit, delta = r.randint(0, 3), r.randint(0, 9), r.randint(1, 3)
            arrays: list[Array | None] = [np.asarray(v, np.int64) for v in (start, limit, delta)]
            count = r.choice([2, 3])
            return Case("Range", arrays[:count], known=(0, 1, 2)[:count])
        case 7:
            x = np.array([r.randrange(4) for _ in range(size(r))], np.float32)
            return Case("Unique", [x], outputs=3)
        case _:
            words, alphabet, width, filters = dims(r, 1, 1, zero=0), 9, r.randint(1, 3), r.randint(1, 4)
            window = r.randint(1, 2)
            sequence = ints(*words, 5, dtype=np.int32)
            inputs: list[Array | None] = [
                sequence,
                floats(filters, 1, window, width),
                floats(filters),
                floats(alphabet, width),
            ]
            return Case("WordConvEmbedding", inputs)


def padded(r: random.Random) -> Case:
    shape = dims(r, 1, 3, zero=0)
    pads = np.array([r.randrange(3) for _ in range(2 * len(shape))], np.int64)
    return Case("Pad", [floats(*shape), pads if r.random() < 0.6 else pads[None]], known=(1,))


def tokens(r: random.Random) -> Case:
    shape = dims(r, 1, 2, zero=0)
    x = np.array(["a b c"] * int(np.prod(shape)), object).reshape(shape)
    attributes = {"mark": r.randrange(2), "mincharnum": 1, "pad_value": "#", "separators": [" "]}
    return Case("Tokenizer", [x], attributes)


GENERATORS: dict[str, Callable[[random.Random], Case]] = {
    function.__name__: function
    for function in (
        unary, biased, gates, same, layer_norm, skip_norm, other_norm, embed_norm, quantized_embed_norm, fused_matmul,
        fused_gemm, n_bits, bnb4, integer_matmul, experts, conv, pool, transposed_conv, causal_conv, packed_conv,
        quantize, qlinear, quantized_lstm, data, padded, tokens, gather_packed,
    )
}  # fmt: skip
