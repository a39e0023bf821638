"""Generated cases of neural-network operators, each with concrete inputs and attributes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROUNDS = 30

Array = np.ndarray[Any, Any]


@dataclass
class Case:
    op_type: str
    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    version: int = 17
    outputs: int = 1
    known: tuple[int, ...] = ()  # inputs whose elements the rule sees


def floats(*shape: int) -> Array:
    return np.full(shape, 0.5, np.float32)


def small(r: random.Random, *, zero: float = 0.1) -> int:
    return 0 if r.random() < zero else r.choice([1, 1, 2, 3, 4, 5, 7])


def matmul_case(r: random.Random) -> Case:
    batch = [small(r) for _ in range(r.randrange(3))]
    m, k, n = (
        small(r),
        small(r, zero=0 if batch else 0.1),
        small(r),
    )  # the runtime drops the batch of [1, 2, 0] x [4, 0, 3]
    a = [1 if r.random() < 0.3 else d for d in batch][r.randrange(len(batch) + 1) :]
    b = [1 if r.random() < 0.3 else d for d in batch][r.randrange(len(batch) + 1) :]
    left, right = [*a, m, k], [*b, k, n]
    if r.random() < 0.15:
        left = [k]
    if r.random() < 0.15:
        right = [k]
    if r.random() < 0.2:
        return Case("MatMulInteger", [np.ones(left, np.uint8), np.ones(right, np.int8)])
    return Case("MatMul", [floats(*left), floats(*right)], version=r.choice([7, 9, 13]))


def gemm_case(r: random.Random) -> Case:
    m, k, n = small(r), small(r), small(r)
    ta, tb = r.randrange(2), r.randrange(2)
    inputs: list[Array | None] = [floats(*((k, m) if ta else (m, k))), floats(*((n, k) if tb else (k, n)))]
    c = r.choice([None, (), (1,), (n,), (m, 1), (1, n), (m, n)])
    if c is not None:
        inputs.append(floats(*c))
    return Case("Gemm", inputs, {"transA": ta, "transB": tb}, r.choice([11, 13]))


def einsum_case(r: random.Random) -> Case:
    sizes = {label: small(r, zero=0) for label in "abcd"}  # an empty operand ends the process of the runtime
    dots = [small(r, zero=0) for _ in range(r.randrange(3))]
    dotted = bool(dots) and r.random() < 0.6
    terms, inputs = [], []
    for _ in range(r.randint(1, 3)):
        labels = r.sample("abcd", r.randint(1, 3))
        shape = [sizes[label] for label in labels]
        text = "".join(labels)
        if dotted:
            text, shape = "..." + text, [1 if r.random() < 0.2 else d for d in dots] + shape
        terms.append(text)
        inputs.append(floats(*shape))
    equation = ",".join(terms)
    if r.random() < 0.7:
        seen = sorted(set(equation) - set(",."))
        result = "".join(r.sample(seen, r.randint(0, len(seen))))
        equation += "->" + ("..." if dotted else "") + result
    return Case("Einsum", list(inputs), {"equation": equation})


def window_attributes(r: random.Random, n: int, kernel: list[int], *, pool: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if r.random() < 0.7:
        attributes["strides"] = [r.choice([1, 2, 2, 3]) for _ in range(n)]
    if r.random() < 0.3:
        attributes["dilations"] = [r.choice([1, 2]) for _ in range(n)]
    padding = r.random()
    if padding < 0.5:
        attributes["pads"] = [r.randrange(kernel[i % n] if pool else 3) for i in range(2 * n)]
    elif padding < 0.8:
        attributes["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    return attributes


def conv_case(r: random.Random) -> Case:
    n, group = r.randint(1, 3), r.choice([1, 1, 2])
    c, m = group * r.randint(1, 3), group * r.randint(1, 3)
    kernel = [r.randint(1, 3) for _ in range(n)]
    x = [small(r), c, *(r.randint(0, 9) for _ in range(n))]
    attributes = {**window_attributes(r, n, kernel, pool=False), "group": group}
    inputs: list[Array | None] = [floats(*x), floats(m, c // group, *kernel)]
    if r.random() < 0.3:
        attributes["kernel_shape"] = kernel
    if r.random() < 0.4:
        inputs.append(floats(m))
    return Case("Conv", inputs, attributes, r.choice([1, 11, 22]))


def conv_transpose_case(r: random.Random) -> Case:
    case = conv_case(r)
    x, w = case.inputs[:2]
    assert x is not None and w is not None
    group, n = case.attributes["group"], x.ndim - 2
    x = floats(*x.shape[:2], *(max(1, d) for d in x.shape[2:]))  # an empty axis may end the process of the runtime
    weights = floats(x.shape[1], w.shape[1], *w.shape[2:])
    bias = [floats(w.shape[1] * group)] if len(case.inputs) > 2 else []
    attributes = dict(case.attributes)
    if r.random() < 0.3:
        most = [max(s, d) for s, d in zip(
            attributes.get("strides", [1] * n), attributes.get("dilations", [1] * n), strict=True)]  # fmt: skip
        attributes["output_padding"] = [r.randrange(m) for m in most]
    return Case("ConvTranspose", [x, weights, *bias], attributes, r.choice([1, 11, 22]))


def integer_conv_case(r: random.Random) -> Case:
    case = conv_case(r)
    x, w = case.inputs[:2]
    assert x is not None and w is not None
    return Case("ConvInteger", [np.ones(x.shape, np.uint8), np.ones(w.shape, np.uint8)], case.attributes)


def pool_case(r: random.Random) -> Case:
    n = r.randint(1, 3)
    kernel = [r.randint(1, 4) for _ in range(n)]
    op_type = r.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool"])
    attributes = {**window_attributes(r, n, kernel, pool=True), "kernel_shape": kernel, "ceil_mode": r.randrange(2)}
    if "auto_pad" in attributes:
        attributes.pop("dilations", None)  # the runtime leaves them out of the padding for SAME
    x = floats(small(r), r.randint(1, 3), *(r.randint(0, 9) for _ in range(n)))
    version = {"MaxPool": [10, 11, 12, 22], "AveragePool": [19, 22], "LpPool": [18, 22]}[op_type]
    return Case(op_type, [x], attributes, r.choice(version), 1 + (op_type == "MaxPool" and r.random() < 0.5))


def unpool_case(r: random.Random) -> Case:
    shape = (1, r.randint(1, 2), r.randint(1, 4), r.randint(1, 4))
    indices = np.zeros(shape, np.int64)
    attributes = {"kernel_shape": [2, 3], "strides": [r.randint(1, 3), 2]}
    if r.random() < 0.5:
        attributes["pads"] = [0, 1, 0, r.randrange(2)]
    return Case("MaxUnpool", [floats(*shape), indices], attributes, 11)


def global_pool_case(r: random.Random) -> Case:
    x = floats(small(r), r.randint(1, 3), *(r.randint(1, 5) for _ in range(r.randint(1, 3))))
    return Case(r.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]), [x], {}, 11)


def batch_norm_case(r: random.Random) -> Case:
    c = r.randint(1, 4)
    x = floats(small(r), c, *(small(r) for _ in range(r.randrange(3))))
    training = bool(x.size) and r.random() < 0.3
    return Case("BatchNormalization", [x, *[floats(c)] * 4], {"training_mode": 1} if training else {},
                15, 3 if training else 1)  # fmt: skip


def layer_norm_case(r: random.Random) -> Case:
    shape = [small(r), *(r.randint(1, 5) for _ in range(r.randint(1, 3)))]
    axis = r.randint(1, len(shape) - 1)
    scale = [1 if r.random() < 0.2 else d for d in shape[axis:]]
    attributes = {"axis": axis - r.choice([0, len(shape)])}
    if r.random() < 0.3:
        return Case("RMSNormalization", [floats(*shape), floats(*scale)], attributes, 23)
    bias = [floats(*scale)] if r.random() < 0.5 else []
    return Case("LayerNormalization", [floats(*shape), floats(*scale), *bias], attributes, 17, r.choice([1, 3]))


def norm_case(r: random.Random) -> Case:
    groups = r.randint(1, 3)
    c = groups * r.randint(1, 3)
    x = floats(r.randint(1, 3), c, r.randint(1, 5), r.randint(1, 5))
    return r.choice([
        Case("GroupNormalization", [x, floats(c), floats(c)], {"num_groups": groups}, 21),
        Case("GroupNormalization", [x, floats(groups), floats(groups)], {"num_groups": groups}, 18),
        Case("InstanceNormalization", [x, floats(c), floats(c)]),
        Case("LpNormalization", [x], {"axis": r.randint(-4, 3)}),
        Case("MeanVarianceNormalization", [x]),
        Case("LRN", [x], {"size": 3}),
    ])  # fmt: skip


def recurrent_case(r: random.Random) -> Case:
    op_type = r.choice(["RNN", "GRU", "LSTM"])
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op_type]
    length, n, i, h = (r.randint(1, 5) for _ in range(4))
    direction = r.choice(["forward", "reverse", "bidirectional"])
    d = 1 + (direction == "bidirectional")
    inputs: list[Array | None] = [floats(length, n, i), floats(d, gates * h, i), floats(d, gates * h, h)]
    inputs.append(floats(d, 2 * gates * h) if r.random() < 0.5 else None)
    inputs.append(np.full(n, length, np.int32) if r.random() < 0.3 else None)
    inputs.append(floats(d, n, h) if r.random() < 0.5 else None)
    if op_type == "LSTM":
        inputs.append(floats(d, n, h) if r.random() < 0.5 else None)
    while inputs[-1] is None:
        inputs.pop()
    return Case(op_type, inputs, {"hidden_size": h, "direction": direction}, 14, 3 if op_type == "LSTM" else 2)


def batch_first_case(r: random.Random) -> Case:
    case = recurrent_case(r)
    x, w, hidden = case.inputs[:3]
    assert x is not None and w is not None and hidden is not None
    one = [floats(x.shape[1], x.shape[0], x.shape[2]), floats(1, *w.shape[1:]), floats(1, *hidden.shape[1:])]
    return Case(case.op_type, list(one), {"hidden_size": case.attributes["hidden_size"], "layout": 1}, 14, 2)


def attention_case(r: random.Random) -> Case:
    b, s, t, p, e, ev = (r.randint(1, 4) for _ in range(6))
    hk = r.randint(1, 3)
    hq = hk * r.randint(1, 2)
    flat = r.random() < 0.5
    inputs: list[Array | None] = [
        floats(b, length, heads * size) if flat else floats(b, heads, length, size)
        for heads, length, size in ((hq, s, e), (hk, t, e), (hk, t, ev))
    ]
    past = r.random() < 0.5
    total = t + p if past else t
    inputs.append(floats(*r.choice([(s, total), (1, s, total), (b, 1, s, total)])) if r.random() < 0.5 else None)
    if past:
        inputs += [floats(b, hk, p, e), floats(b, hk, p, ev)]
    while inputs[-1] is None:
        inputs.pop()
    return Case("Attention", inputs, {"q_num_heads": hq, "kv_num_heads": hk} if flat else {}, 23, r.choice([1, 3, 4]))


def rotary_case(r: random.Random) -> Case:
    b, heads, s, half = (r.randint(1, 4) for _ in range(4))
    flat = r.random() < 0.5
    x = floats(b, s, heads * 2 * half) if flat else floats(b, heads, s, 2 * half)
    with_ids: list[Array | None] = [floats(9, half), floats(9, half), np.zeros((b, s), np.int64)]
    without: list[Array | None] = [floats(b, s, half), floats(b, s, half)]
    return Case("RotaryEmbedding", [x, *r.choice([with_ids, without])], {"num_heads": heads} if flat else {}, 23)


def dft_case(r: random.Random) -> Case:
    onesided, inverse = r.randrange(2), r.randrange(2)
    rank = r.randint(2, 3)
    shape = [r.randint(2, 6) for _ in range(rank)]
    x = floats(*shape, 2 if inverse else 1)
    n = np.array(r.randint(2, 8), np.int64) if r.random() < 0.5 else None
    attributes: dict[str, Any] = {"onesided": onesided, "inverse": inverse}
    if r.random() < 0.5:
        return Case("DFT", [x] if n is None else [x, n], {**attributes, "axis": r.randrange(rank)}, 17, known=(1,))
    axis = np.array(r.randrange(rank) - r.choice([0, rank + 1]), np.int64)
    return Case("DFT", [x, n, axis], attributes, 20, known=(1, 2))


def stft_case(r: random.Random) -> Case:
    frame = r.randint(2, 6)
    onesided = r.randrange(2)
    inputs: list[Array | None] = [floats(r.randint(1, 3), frame + r.randint(0, 9), 1)]
    inputs += [np.array(r.randint(1, 4), np.int64), floats(frame)]
    return Case("STFT", inputs, {"onesided": onesided}, 17, known=(1,))


def vision_case(r: random.Random) -> Case:
    n, c, rois = (r.randint(1, 3) for _ in range(3))
    x = floats(n, c, 5, 6)
    if r.random() < 0.5:
        return Case("MaxRoiPool", [x, np.zeros((rois, 5), np.float32)], {"pooled_shape": [2, 3]})
    attributes = {"output_height": r.randint(1, 3), "output_width": r.randint(1, 3)}
    return Case("RoiAlign", [x, floats(rois, 4), np.zeros(rois, np.int64)], attributes, r.choice([10, 16]))


def loss_case(r: random.Random) -> Case:
    n, c = r.randint(1, 3), r.randint(1, 4)
    rest = [r.randint(1, 3) for _ in range(r.randrange(3))]
    inputs: list[Array | None] = [floats(n, c, *rest), np.zeros((n, *rest), np.int64)]
    if r.random() < 0.5:
        inputs.append(floats(c))
    attributes = {"reduction": r.choice(["none", "sum", "mean"])}
    if r.random() < 0.5:
        return Case("NegativeLogLikelihoodLoss", inputs, attributes, 13)
    return Case("SoftmaxCrossEntropyLoss", inputs, attributes, 13, r.choice([1, 2]))


def window_function_case(r: random.Random) -> Case:
    size = np.array(r.randrange(9), np.int64)
    op_type = r.choice(["HannWindow", "HammingWindow", "BlackmanWindow"])
    return Case(op_type, [size], {"output_datatype": r.choice([1, 11])}, 17, known=(0,))


GENERATORS: dict[str, tuple[Callable[[random.Random], Case], int]] = {
    # id: (generator, cases)
    "MatMul": (matmul_case, 3 * ROUNDS),
    "Gemm": (gemm_case, 2 * ROUNDS),
    "Einsum": (einsum_case, 3 * ROUNDS),
    "Conv": (conv_case, 4 * ROUNDS),
    "ConvInteger": (integer_conv_case, ROUNDS),
    "ConvTranspose": (conv_transpose_case, 4 * ROUNDS),
    "pools": (pool_case, 6 * ROUNDS),
    "MaxUnpool": (unpool_case, ROUNDS),
    "global pools": (global_pool_case, ROUNDS),
    "BatchNormalization": (batch_norm_case, ROUNDS),
    "LayerNormalization": (layer_norm_case, 2 * ROUNDS),
    "other norms": (norm_case, 2 * ROUNDS),
    "recurrent": (recurrent_case, 3 * ROUNDS),
    "recurrent, batch first": (batch_first_case, ROUNDS),
    "Attention": (attention_case, 3 * ROUNDS),
    "RotaryEmbedding": (rotary_case, ROUNDS),
    "DFT": (dft_case, 2 * ROUNDS),
    "STFT": (stft_case, ROUNDS),
    "RoI": (vision_case, ROUNDS),
    "losses": (loss_case, 2 * ROUNDS),
    "window functions": (window_function_case, ROUNDS),
}
REFERENCE = {"recurrent, batch first"}  # the runtime has no layout = 1
