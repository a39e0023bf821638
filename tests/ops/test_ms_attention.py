"""Attention of com.microsoft against the schemas of ONNX Runtime."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.symbolic import maximum, symbol
from gather_infer.tensor import DType, SymbolicTensor, from_values, make_values
from tests.ops.call import UNRANKED, call

B, P, S, L, C = map(symbol, "BPSLC")
RULES = standard_rules()["com.microsoft"]
F32, I32 = DType.FLOAT32, DType.INT32


def lens(*shape: Any) -> SymbolicTensor:
    return SymbolicTensor(I32, shape)


def number(value: Any) -> SymbolicTensor:
    return from_values(I32, make_values(value))


HEADS = {"num_heads": 12}
GROUPS = {"num_heads": 32, "kv_num_heads": 8}
Q, KV = (B, S, 4096), (B, S, 1024)
CACHE = (B, 8, P, 128)

CASES = {
    # id:                 (op_type, inputs, attributes, outputs)
    "BERT":               ("Attention", [(B, S, 768), (768, 2304), (2304,), lens(B, S)], HEADS, [(B, S, 768)]),
    "GPT-2":              ("Attention", [(B, S, 768), (768, 2304), (2304,), None, (2, B, 12, P, 64)], HEADS, [(B, S, 768), (2, B, 12, P + S, 64)]),
    "no past, a present": ("Attention", [(B, S, 768), (768, 2304), (2304,)], HEADS, [(B, S, 768), (2, B, 12, S, 64)]),
    "shared buffer":      ("Attention", [(B, S, 768), (768, 2304), (2304,), None, (2, B, 12, C, 64), None, lens(1)], {**HEADS, "past_present_share_buffer": 1}, [(B, S, 768), (2, B, 12, C, 64)]),
    "three hidden sizes": ("Attention", [(B, S, 768), (768, 1920)], {**HEADS, "qkv_hidden_sizes": (768, 768, 384)}, [(B, S, 384)]),
    "only bias known":    ("Attention", [(B, S, 768), UNRANKED, (2304,)], HEADS, [(B, S, 768)]),
    "self":               ("MultiHeadAttention", [(B, S, 768), (B, S, 768), (B, S, 768)], HEADS, [(B, S, 768), (B, 12, S, 64), (B, 12, S, 64)]),
    "with a past":        ("MultiHeadAttention", [(B, S, 768), (B, L, 768), (B, L, 768), None, None, None, (B, 12, P, 64), (B, 12, P, 64)], HEADS, [(B, S, 768), (B, 12, P + L, 64), (B, 12, P + L, 64), (B, 12, S, P + L)]),
    "cross":              ("MultiHeadAttention", [(B, S, 768), (B, 12, L, 64), (B, 12, L, 64)], HEADS, [(B, S, 768)]),
    "packed":             ("MultiHeadAttention", [(B, S, 12, 3, 64)], HEADS, [(B, S, 768)]),
    "packed key":         ("MultiHeadAttention", [(B, S, 768), (B, L, 12, 2, 64)], HEADS, [(B, S, 768), (B, 12, L, 64), (B, 12, L, 64)]),
    "one step":           ("DecoderMaskedMultiHeadAttention", [(B, 1, 2304), None, None, None, None, (B, 12, C, 64), (B, 12, C, 64), lens(1)], {**HEADS, "past_present_share_buffer": 1}, [(B, 1, 768), (B, 12, C, 64), (B, 12, C, 64)]),
    "grouped":            ("GroupQueryAttention", [Q, KV, KV, CACHE, CACHE, lens(B), number(P + S)], GROUPS, [Q, (B, 8, P + S, 128), (B, 8, P + S, 128)]),
    "grouped, packed":    ("GroupQueryAttention", [(B, S, 6144), None, None, CACHE, CACHE, lens(B), number(P + S)], GROUPS, [Q, (B, 8, P + S, 128), (B, 8, P + S, 128)]),
    "grouped, no past":   ("GroupQueryAttention", [Q, KV, KV, None, None, lens(B), number(S)], GROUPS, [Q, (B, 8, S, 128), (B, 8, S, 128)]),
    "grouped, a buffer":  ("GroupQueryAttention", [Q, KV, KV, (B, 8, C, 128), (B, 8, C, 128), lens(B), number(L)], GROUPS, [Q, (B, 8, maximum(C, L), 128), (B, 8, maximum(C, L), 128)]),
    "sliding window":     ("GroupQueryAttention", [Q, KV, KV, (B, 8, C, 128), (B, 8, C, 128), lens(B), number(L)], {**GROUPS, "sliding_window_cache": 1}, [Q, (B, 8, C, 128), (B, 8, C, 128)]),
    "batch told by past": ("GroupQueryAttention", [UNRANKED, UNRANKED, UNRANKED, CACHE, CACHE, lens(B), number(P + S)], GROUPS, [None, (B, 8, P + S, 128), (B, 8, P + S, 128)]),
    "sparse":             ("SparseAttention", [Q, KV, KV, (B, 8, C, 128), (B, 8, C, 128), lens(1, 9), lens(1, 20), number(S), lens(B)], {**GROUPS, "sparse_block_size": 64}, [Q, (B, 8, C, 128), (B, 8, C, 128)]),
    "packed tokens":      ("PackedAttention", [(L, 768), (768, 2304), (2304,), lens(B, S), lens(B + 1)], HEADS, [(L, 768)]),
    "longformer":         ("LongformerAttention", [(B, 512, 768), (768, 2304), (2304,), (B, 512), (768, 2304), (2304,), lens(B, 512)], {**HEADS, "window": 128}, [(B, 512, 768)]),
    "linear":             ("LinearAttention", [(B, S, 256), (B, S, 128), (B, S, 64), (B, 2, 64, 32)], {"q_num_heads": 4, "kv_num_heads": 2}, [(B, S, 128), (B, 2, 64, 32)]),
    "rotary":             ("RotaryEmbedding", [(B, S, 4096), SymbolicTensor(DType.INT64, (B, S)), (512, 64), (512, 64)], {}, [(B, S, 4096)]),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, expected", CASES.values(), ids=CASES)
def test_shapes(op_type: str, inputs: Any, attributes: dict[str, Any], expected: Any) -> None:
    found = call(RULES, op_type, inputs, version=1, outputs=len(expected), **attributes)
    for fact, shape in zip(found, expected, strict=True):
        assert fact.dtype is F32
        assert shape is None or fact.shape == shape


def test_decoder_attention_by_its_flags() -> None:
    def flag(value: bool) -> SymbolicTensor:
        return from_values(DType.BOOL, make_values(value))

    def lengths(static: bool, use_past: bool) -> Any:
        cache = (B, 12, P, 64)
        inputs = [(S, B, 768), (L, B, 768), (768, 768), (768, 1536), (2304,), None, cache, cache,
                  flag(static), flag(use_past), flag(True), flag(False)]  # fmt: skip
        output, keys, _ = call(RULES, "DecoderAttention", inputs, version=1, outputs=3, num_heads=12)
        assert output.shape == (S, B, 768)
        return keys.shape[2]

    assert [lengths(False, True), lengths(True, True), lengths(False, False), lengths(True, False)] == [P + S, P, S, L]


def test_the_total_length_may_be_unknown() -> None:
    inputs = [Q, KV, KV, CACHE, CACHE, lens(B), SymbolicTensor(I32, ())]
    context = Context()
    _, key, value = call(RULES, "GroupQueryAttention", inputs, version=1, outputs=3, context=context, **GROUPS)
    assert key.shape == value.shape and key.shape[:2] == (B, 8)
    assert next(iter(context.causes.values())).reason == "total_sequence_length is not known"


def test_the_tables_of_the_rotation_limit_the_length() -> None:
    context, table = Context(), (2048, 64)
    inputs = [Q, KV, KV, CACHE, CACHE, lens(B), number(P + S), table, table]
    call(RULES, "GroupQueryAttention", inputs, version=1, outputs=3, context=context, do_rotary=1, **GROUPS)
    positions = SymbolicTensor(DType.INT64, (1,))
    call(RULES, "RotaryEmbedding", [(B, S, 4096), positions, table, table], version=1, context=context)
    assert [str(c) for c in context.constraints] == ["P + S <= 2048", "S <= 2048"]


BAD = {
    # id:            (op_type, inputs, attributes, message)
    "rank":          ("Attention", [(B, S), (768, 2304)], HEADS, "input must have rank 3, has rank 2"),
    "heads":         ("Attention", [(B, S, 768), (768, 2304)], {"num_heads": 0}, "num_heads must be 1 or more, is 0"),
    "no heads":      ("Attention", [(B, S, 768), (768, 2304)], {}, "attribute num_heads is missing"),
    "uneven heads":  ("Attention", [(B, S, 768), (768, 2304)], {"num_heads": 7}, "the hidden size of query and key must be a multiple of 7, is 768"),
    "weights":       ("Attention", [(B, S, 768), (512, 2304)], HEADS, "the rows of weights must be equal, are 768 and 512"),
    "bias":          ("Attention", [(B, S, 768), (768, 2304), (768,)], HEADS, "the length of bias must be equal, are 2304 and 768"),
    "past":          ("Attention", [(B, S, 768), (768, 2304), (2304,), None, (2, B, 12, P, 32)], HEADS, "axis 4 of past and its expected dim must be equal, are 64 and 32"),
    "one past":      ("MultiHeadAttention", [(B, S, 8), (B, S, 8), (B, S, 8), None, None, None, (B, 2, P, 4)], {"num_heads": 2}, "past_key and past_value must be given together"),
    "no value":      ("MultiHeadAttention", [(B, S, 8), (B, S, 8)], {"num_heads": 2}, "value must be given with a key of rank 3"),
    "two values":    ("MultiHeadAttention", [(B, S, 8), (B, S, 2, 2, 4), (B, S, 8)], {"num_heads": 2}, "value must not be given with a key of rank 5"),
    "batch":         ("MultiHeadAttention", [(2, S, 8), (3, S, 8), (3, S, 8)], {"num_heads": 2}, "the batch of query and key must be equal, are 2 and 3"),
    "type":          ("MultiHeadAttention", [SymbolicTensor(DType.INT64, (B, S, 8))], {"num_heads": 2}, "query must be bfloat16, float16 or float32, is int64"),
    "types":         ("MultiHeadAttention", [(B, S, 8), SymbolicTensor(DType.FLOAT16, (B, S, 8))], {"num_heads": 2}, "query and key must have one element type, have float32 and float16"),
    "attribute":     ("MultiHeadAttention", [(B, S, 8)], {"num_heads": "2"}, "attribute num_heads must be an integer, is '2'"),
    "groups":        ("GroupQueryAttention", [Q, KV, KV, None, None, lens(B), number(S)], {"num_heads": 3, "kv_num_heads": 2}, "num_heads must be a multiple of 2, is 3"),
    "too long":      ("GroupQueryAttention", [Q, KV, KV, None, None, lens(B), number(9), (8, 64), (8, 64)], GROUPS, "total_sequence_length, for the rows of cos_cache, must be 8 or less, is 9"),
    "missing":       ("GroupQueryAttention", [Q, KV, KV, None, None, lens(B)], GROUPS, "input 6, total_sequence_length, is missing"),
    "blocks":        ("SparseAttention", [Q, KV, KV, CACHE, CACHE, lens(1, 9), lens(1, 20), number(S), lens(B)], {**GROUPS, "sparse_block_size": 7}, "sparse_block_size = 7 is not one of 16, 32, 64, 128"),
    "window":        ("LongformerAttention", [(B, 500, 768), (768, 2304), (2304,), (B, 500), (768, 2304), (2304,), lens(B, 500)], {**HEADS, "window": 128}, "the length of input must be a multiple of 256, is 500"),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, message", BAD.values(), ids=BAD)
def test_violations(op_type: str, inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        call(RULES, op_type, inputs, version=1, **attributes)
    assert message in caught.value.message


def test_what_a_later_release_adds_is_a_warning() -> None:
    context = Context()
    found = call(RULES, "Gelu", [(B, S)], version=1, outputs=2, context=context, alpha=1.0)
    assert [fact.shape for fact in found] == [(B, S), None]
    assert [(code, str(severity)) for code, _, _, severity in context.findings] == [
        ("GI106", "warning"),
        ("GI107", "warning"),
    ]
