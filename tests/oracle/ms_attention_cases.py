"""Generated nodes of com.microsoft for attention, positions and generation: concrete inputs, mostly legal."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.oracle.ms_cases import floats, ints, scalar, size
from tests.oracle.ms_run import Array, Case


def attention(r: random.Random) -> Case:
    b, s, i = size(r, zero=0), size(r, zero=0), size(r, zero=0)
    heads, e = r.choice([1, 2, 3]), r.choice([1, 2, 4])
    d = dv = heads * e
    attributes: dict[str, Any] = {"num_heads": heads}
    past, outputs = None, r.choice([1, 2])
    if r.random() < 0.3:
        dv = heads * r.choice([1, 3])
        attributes["qkv_hidden_sizes"] = [d, d, dv]
        outputs = 1 if dv != d else outputs
    if dv == d and r.random() < 0.5:
        past, outputs = floats(2, b, heads, size(r, zero=0.3), e), 2
    if r.random() < 0.2 and past is None:
        attributes["unidirectional"] = 1
    total = s + (0 if past is None else past.shape[3])
    mask = r.choice([None, ints(b, total, dtype=np.int32), ints(b, dtype=np.int32), ints(b, s, total, dtype=np.int32)])
    inputs: list[Array | None] = [floats(b, s, i), floats(i, 2 * d + dv), floats(2 * d + dv), mask, past]
    if past is None:
        inputs = inputs[: r.choice([3, 4])]
    return Case("Attention", inputs, attributes, outputs)


def quantized_attention(r: random.Random) -> Case:
    b, s, i = size(r, zero=0), size(r, zero=0), size(r, zero=0)
    heads, e = r.choice([1, 2, 3]), r.choice([1, 2, 4])
    d = heads * e
    past = floats(2, b, heads, size(r, zero=0.3), e) if r.random() < 0.5 else None
    zero, one = scalar(0, np.uint8), scalar()
    inputs: list[Array | None] = [ints(b, s, i), ints(i, 3 * d), floats(3 * d), one, one, None, zero, zero, past]
    # without a past the runtime wants no present
    return Case(
        "QAttention", inputs, {"num_heads": heads, "unidirectional": int(past is not None)}, 1 + (past is not None)
    )


def multi_head(r: random.Random) -> Case:
    b, s, length = size(r, zero=0), size(r, zero=0), size(r, zero=0)
    heads, e, ev = r.choice([1, 2, 3]), r.choice([1, 2, 4]), r.choice([2, 4])
    d, dv = heads * e, heads * ev
    bias = floats(2 * d + dv) if r.random() < 0.3 else None
    outputs = r.choice([1, 3])
    match r.randrange(3):
        case 0 | 1:  # query, key and value
            has_past = r.random() < 0.5
            ev, dv = (e, d) if has_past else (ev, dv)
            bias = None if bias is None else floats(2 * d + dv)
            inputs: list[Array | None] = [floats(b, s, d), floats(b, length, d), floats(b, length, dv), bias]
            if has_past:
                p = size(r, zero=0.3)
                inputs += [None, None, floats(b, heads, p, e), floats(b, heads, p, ev)]
                outputs = 3
        case _:  # cross attention
            inputs = [floats(b, s, d), floats(b, heads, length, e), floats(b, heads, length, e)]
            outputs = 1
    return Case("MultiHeadAttention", inputs, {"num_heads": heads}, outputs)


def one_step(r: random.Random) -> Case:
    b, p = size(r, zero=0), size(r, zero=0.2)
    heads, e = r.choice([1, 2, 3]), r.choice([1, 2, 4])
    d = heads * e
    x = floats(b, 1, d)
    op_type = "DecoderMaskedMultiHeadAttention"
    if r.random() < 0.5:
        cross = floats(b, heads, max(1, p), e)
        return Case(op_type, [x, cross, cross], {"num_heads": heads})
    past = floats(b, heads, p + 2, e)
    inputs: list[Array | None] = [x, x, x, None, None, past, past, np.asarray([p], np.int32)]
    return Case(op_type, inputs, {"num_heads": heads, "past_present_share_buffer": 1}, 3)


def grouped_query(r: random.Random) -> Case:
    hk, e = r.choice([1, 2]), 8
    hq = hk * r.choice([1, 2, 3])
    b, s = size(r, zero=0), size(r, zero=0)
    p = 0 if r.random() < 0.4 else r.choice([1, 2, 5])
    if p and s > 1:
        b = 1
    buffer = p + r.choice([0, 0, s, s + 3])  # room for what comes
    total = p + s
    past: list[Array | None] = [floats(b, hk, buffer, e), floats(b, hk, buffer, e)]
    if p == 0 and r.random() < 0.5:
        past = [None, None]
    inputs: list[Array | None]
    if r.random() < 0.5:
        inputs = [floats(b, s, (hq + 2 * hk) * e), None, None]
    else:
        inputs = [floats(b, s, hq * e), floats(b, s, hk * e), floats(b, s, hk * e)]
    inputs += [*past, np.full(b, total - 1, np.int32), np.asarray(total, np.int32)]
    attributes: dict[str, Any] = {"num_heads": hq, "kv_num_heads": hk}
    if r.random() < 0.3 and e % 16 == 0:
        table = floats(total + r.randrange(3), e // 2)
        inputs += [table, table]
        attributes["do_rotary"] = 1
    return Case("GroupQueryAttention", inputs, attributes, 3, known=(6,) if r.random() < 0.7 else ())


def rotary_grouped_query(r: random.Random) -> Case:
    hk, e = r.choice([1, 2]), 16
    hq, b, s = hk * 2, size(r, zero=0), size(r, zero=0)
    table = floats(s + r.randrange(3), e // 2)
    inputs: list[Array | None] = [floats(b, s, hq * e), floats(b, s, hk * e), floats(b, s, hk * e), None, None,
                                  np.full(b, s - 1, np.int32), np.asarray([s], np.int32), table, table]  # fmt: skip
    return Case("GroupQueryAttention", inputs, {"num_heads": hq, "kv_num_heads": hk, "do_rotary": 1}, 3, known=(6,))


def sparse(r: random.Random) -> Case:
    hk, e, b = r.choice([1, 2]), 16, size(r, zero=0)
    hq, most = hk * r.choice([1, 2]), 32
    s = r.choice([1, 3, 16])
    past = [floats(b, hk, most, e), floats(b, hk, most, e)]
    rows, columns = np.array([[0, 1, 3]], np.int32), np.array([[0, 0, 1]], np.int32)
    query: list[Array | None] = [floats(b, s, hq * e), floats(b, s, hk * e), floats(b, s, hk * e)]
    if r.random() < 0.4:
        query = [floats(b, s, (hq + 2 * hk) * e), None, None]
    inputs = [*query, *past, rows, columns, np.asarray([s], np.int32), np.full(b, s, np.int32)]
    attributes = {"num_heads": hq, "kv_num_heads": hk, "sparse_block_size": 16}
    return Case("SparseAttention", inputs, attributes, 3, shared={1: 3, 2: 4})


def rotary(r: random.Random) -> Case:
    b, s, heads, e = size(r, zero=0), size(r, zero=0), r.choice([1, 2, 3]), r.choice([4, 8])
    rows = s + r.randrange(4)
    attributes: dict[str, Any] = {"interleaved": r.randrange(2)}
    width = e
    if r.random() < 0.3:
        width = attributes["rotary_embedding_dim"] = e // 2
        attributes["num_heads"] = heads
    x = floats(b, heads, s, e) if r.random() < 0.5 else floats(b, s, heads * e)
    first, table = np.zeros((b, s) if r.random() < 0.5 else 1, np.int64), floats(rows, width // 2)
    if r.random() < 0.2:
        attributes = {"num_heads": heads, "mrope_section": [width // 2, 0, 0], **attributes}
        return Case("MRotaryEmbedding", [x, np.zeros((3, b, s), np.int64), table, table], attributes)
    return Case("RotaryEmbedding", [x, first, table, table], attributes)


def state_space(r: random.Random) -> Case:
    b, s, hk, e, ev = size(r, zero=0), size(r, zero=0), r.choice([1, 2]), r.choice([2, 4]), r.choice([2, 3])
    hq = hk * r.choice([1, 2])
    past = floats(b, hk, e, ev) if r.random() < 0.5 else None
    inputs: list[Array | None] = [floats(b, s, hq * e), floats(b, s, hk * e), floats(b, s, hk * ev), past]
    return Case("LinearAttention", inputs, {"q_num_heads": hq, "kv_num_heads": hk, "update_rule": "linear"}, 2)


def generation_parts(r: random.Random) -> Case:
    b, s, vocabulary = size(r, zero=0), r.randint(3, 6), r.randint(4, 6)
    if r.random() < 0.4:
        return Case(
            "NGramRepeatBlock", [ints(b, s, dtype=np.int64), floats(b, vocabulary)], {"ngram_size": r.choice([1, 2])}
        )
    if r.random() < 0.5:
        ids = ints(b, s, dtype=np.int64)
        n, heads = r.choice([2, 3]), r.choice([1, 2])
        inputs: list[Array | None] = [ids, ints(n, dtype=np.int64), np.full((n - 1) * heads, 7, np.int64)]
        attributes = {"max_ngram_size": n, "n_head_per_ngram": heads, "pad_id": 0}
        return Case("NGramHashMapping", inputs, attributes, 2)
    source, current = (np.arange(size(r, zero=0), dtype=np.int64) for _ in range(2))
    inputs = [source, current, np.asarray(0, np.int64)]
    if r.random() < 0.6:
        inputs.append(np.arange(len(source) + 1, dtype=np.int64))
    return Case("BifurcationDetector", inputs, {}, 2)


def decoder(vocabulary: int, heads: int, e: int) -> Any:
    """A decoder without memory: the logits are made of the token ids."""
    names = ["input_ids", "position_ids", "attention_mask"]
    given = [helper.make_tensor_value_info(name, TensorProto.INT32, ["b", "s"]) for name in names]
    given.append(helper.make_tensor_value_info("past_0", TensorProto.FLOAT, [2, "b", heads, "p", e]))
    results = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "s", vocabulary]),
        helper.make_tensor_value_info("present_0", TensorProto.FLOAT, [2, "b", heads, "t", e]),
    ]
    table = helper.make_tensor("table", TensorProto.FLOAT, [vocabulary, vocabulary], np.eye(vocabulary).reshape(-1))
    zeros = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
    head = helper.make_tensor("head", TensorProto.INT64, [1], [2])
    tail = helper.make_tensor("tail", TensorProto.INT64, [2], [heads, e])
    last = helper.make_tensor("last", TensorProto.INT64, [1], [1])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["logits"]),
        helper.make_node("Shape", ["input_ids"], ["shape"]),
        helper.make_node("Slice", ["shape", "start", "last"], ["batch"]),
        helper.make_node("Slice", ["shape", "last", "head"], ["length"]),
        helper.make_node("Slice", ["tail", "start", "last"], ["n"]),
        helper.make_node("Slice", ["tail", "last", "head"], ["e"]),
        helper.make_node("Concat", ["head", "batch", "n", "length", "e"], ["wanted"], axis=0),
        helper.make_node("Expand", ["zero", "wanted"], ["new"]),
        helper.make_node("Concat", ["past_0", "new"], ["present_0"], axis=3),
    ]
    start = helper.make_tensor("start", TensorProto.INT64, [1], [0])
    return helper.make_graph(nodes, "decoder", given, results, [table, zeros, head, tail, last, start])


def search(r: random.Random) -> Case:
    b, s, vocabulary = r.choice([1, 2]), r.choice([1, 2]), 7
    most = s + r.choice([1, 3])
    ids = np.array([[2 + (i + j) % 4 for j in range(s)] for i in range(b)], np.int32)
    attributes = {"decoder": decoder(vocabulary, 1, 2), "eos_token_id": 6, "pad_token_id": 0, "model_type": 0}
    number = [np.array([n], np.int32) for n in (most, 1, 2, r.choice([1, 2]))]
    match r.randrange(3):
        case 0:
            return Case("GreedySearch", [ids, number[0], number[1], floats(1)], attributes, known=(1,))
        case 1:
            return Case("Sampling", [ids, number[0], number[1], floats(1)], attributes, known=(1,))
        case _:
            inputs: list[Array | None] = [ids, *number, floats(1), floats(1) * 2]
            outputs = r.choice([1, 2, 3])
            return Case("BeamSearch", inputs, {**attributes, "vocab_size": vocabulary}, outputs, known=(1, 3, 4))


GENERATORS: dict[str, Callable[[random.Random], Case]] = {
    function.__name__: function
    for function in (
        attention, quantized_attention, multi_head, one_step, grouped_query, rotary_grouped_query, sparse, rotary,
        state_space, generation_parts, search,
    )
}  # fmt: skip
