"""Embedding bags, and what decodes sequences of labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case, Variant

CASES: dict[str, Case] = {}


def variants_of(given: dict[str, Any]) -> tuple[Variant, ...]:
    """The CPU plugin does not compile a bag with weights when its table has sizes that are not known."""
    return ("static",) if given.get("weights") else ("static", "dynamic")


def bag_offsets(
    b: Build,
    opset: int,
    *,
    default: int | None = None,
    weights: bool = False,
    reduction: str | None = None,
    offsets: tuple[int, ...] = (0, 2, 2, 5),
    row: tuple[int, ...] = (3,),
    dtype: str = "f4",
    index: str = "i8",
    constant: bool = True,
    size: int = 6,
) -> Any:
    table = b.param(np.arange(1, 1 + 7 * int(np.prod(row))).reshape(7, *row).astype(dtype))
    given = [table, b.param(b.integers(size, low=0, high=7, dtype=index)), b.param(np.array(offsets, index))]
    if default is not None or weights:
        row_number = np.array(-1 if default is None else default, index)
        given.append(b.const(row_number) if constant else b.param(row_number))
    if weights:
        given.append(b.param(b.integers(size, low=1, high=4).astype(dtype)))
    name = "EmbeddingBagOffsetsSum" if opset < 15 else "EmbeddingBagOffsets"
    return b.op(opset, name, given, **({"reduction": reduction} if reduction else {}))


def bag_packed(b: Build, opset: int, *, weights: bool = False, reduction: str | None = None, **more: Any) -> Any:
    dtype, index, row = more.get("dtype", "f4"), more.get("index", "i8"), more.get("row", (3,))
    table = b.param(np.arange(1, 1 + 7 * int(np.prod(row))).reshape(7, *row).astype(dtype))
    shape = more.get("shape", (2, 3))
    given = [table, b.param(b.integers(*shape, low=0, high=7, dtype=index))]
    if weights:
        given.append(b.param(b.integers(*shape, low=1, high=4).astype(dtype)))
    name = "EmbeddingBagPackedSum" if opset < 15 else "EmbeddingBagPacked"
    return b.op(opset, name, given, **({"reduction": reduction} if reduction else {}))


def segments(b: Build, *, default: int | None = None, weights: bool = False, **more: Any) -> Any:
    dtype, index, row = more.get("dtype", "f4"), more.get("index", "i8"), more.get("row", (3,))
    table = b.param(np.arange(1, 1 + 7 * int(np.prod(row))).reshape(7, *row).astype(dtype))
    put = b.const if more.get("constant", True) else b.param
    given = [table, b.param(b.integers(6, low=0, high=7, dtype=index))]
    given += [b.param(np.array(more.get("ids", (0, 0, 2, 2, 2, 3)), index)), put(np.array(5, index))]
    if default is not None or weights:
        given.append(put(np.array(-1 if default is None else default, index)))
    if weights:
        given.append(b.param(b.integers(6, low=1, high=4).astype(dtype)))
    return b.op(3, "EmbeddingSegmentsSum", given)


for opset in (3, 15):
    offsets: dict[str, dict[str, Any]] = {
        "plain": {},
        "default row": {"default": 4},
        "default row 0, weights": {"default": 0, "weights": True},
        "weights": {"default": 2, "weights": True, "row": (2, 2)},
        "one dimension": {"row": ()},
        "two more dimensions": {"row": (2, 3), "default": 1},
        "an empty bag first": {"offsets": (0, 0, 3, 5), "default": 1},
        "i32 indices": {"index": "i4", "default": 1},
        "f16": {"dtype": "f2", "default": 1},
        "i32 table": {"dtype": "i4"},
        "u8 table": {"dtype": "u1"},
        "no bags": {"offsets": ()},
        "offsets past the beginning": {"offsets": (2, 4)},
    }
    if opset == 15:
        offsets |= {
            "mean": {"reduction": "mean", "default": 4},
            "sum": {"reduction": "sum"},
            "default row -1": {"default": -1, "weights": True},
            "mean without default": {"reduction": "mean"},
        }
    for label, given in offsets.items():
        CASES[f"EmbeddingBagOffsets opset {opset}: {label}"] = Case(
            partial(bag_offsets, opset=opset, **given), variants_of(given)
        )
    packed: dict[str, dict[str, Any]] = {
        "plain": {},
        "weights": {"weights": True},
        "weights, more dimensions": {"weights": True, "row": (2, 2)},
        "i32 indices": {"index": "i4"},
        "f16": {"dtype": "f2"},
        "i32 table": {"dtype": "i4"},
        "one a bag": {"shape": (4, 1)},
        "no bags": {"shape": (0, 2)},
    }
    if opset == 15:
        packed |= {"mean": {"reduction": "mean"}, "sum": {"reduction": "sum", "weights": True}}
    for label, given in packed.items():
        CASES[f"EmbeddingBagPacked opset {opset}: {label}"] = Case(
            partial(bag_packed, opset=opset, **given), variants_of(given)
        )

SEGMENTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "default row": {"default": 4},
    "weights": {"default": 0, "weights": True},
    "more dimensions": {"default": 1, "row": (2, 2), "weights": True},
    "run-time number and default": {"default": 1, "constant": False},
    "f16": {"dtype": "f2"},
    "i32 table": {"dtype": "i4"},
    "i32 indices": {"index": "i4"},
    "first segment empty": {"ids": (1, 1, 2, 3, 4, 4), "default": 2},
}
for label, more in SEGMENTS.items():
    CASES[f"EmbeddingSegmentsSum: {label}"] = Case(partial(segments, **more), variants_of(more))


def decoder(b: Build, *, length: bool, merge: bool | None, blank: int | None = None, **more: Any) -> Any:
    steps, batch, classes = more.get("shape", (7, 3, 4))
    dtype = more.get("dtype", "f4")
    data = b.floats(steps, batch, classes, dtype=dtype)
    attributes: dict[str, Any] = {} if merge is None else {"merge_repeated": merge}
    if not length:
        mask = np.ones((steps, batch), dtype)
        mask[steps // 2 :, 0] = 0
        if batch > 1 and steps > 3:
            mask[2, 1] = 0
        name = "merge_repeated"
        attributes = {} if merge is None else {name: merge}
        return b.op(1, "CTCGreedyDecoder", [b.param(data), b.param(mask)], **attributes)
    index = more.get("index", "i4")
    lengths = np.array([steps, steps // 2, 0][:batch], index)
    given = [b.param(data.transpose(1, 0, 2).copy()), b.param(lengths)]
    if blank is not None:
        given.append(b.const(np.array(blank, index)))
    attributes |= {key: more[key] for key in ("classes_index_type", "sequence_length_type") if key in more}
    return b.op(6, "CTCGreedyDecoderSeqLen", given, **attributes)


DECODED: dict[str, dict[str, Any]] = {
    "plain": {},
    "f16": {"dtype": "f2"},
    "two classes, long": {"shape": (40, 2, 2)},
    "one step": {"shape": (1, 1, 3)},
    "one sequence": {"shape": (5, 1, 6)},
}
for merge in (True, False, None):
    for length in (False, True):
        name = "CTCGreedyDecoderSeqLen" if length else "CTCGreedyDecoder"
        for label, more in DECODED.items():
            CASES[f"{name}: {label}, merge={merge}"] = Case(partial(decoder, length=length, merge=merge, **more))
BLANKS: dict[str, dict[str, Any]] = {
    "blank 0": {"blank": 0},
    "blank 2, i64": {"blank": 2, "index": "i8"},
    "i64 labels": {"classes_index_type": "i64"},
    "i64 both": {"classes_index_type": "i64", "sequence_length_type": "i64", "shape": (20, 3, 3)},
}
for label, more in BLANKS.items():
    CASES[f"CTCGreedyDecoderSeqLen: {label}"] = Case(partial(decoder, length=True, merge=True, **more))


def ctc_loss(b: Build, **more: Any) -> Any:
    batch, steps, classes = more.pop("shape", (3, 6, 4))
    dtype, index, blank = more.pop("dtype", "f4"), more.pop("index", "i4"), more.pop("blank", None)
    logits = b.floats(batch, steps, classes, dtype=dtype)
    low = 1 if blank == 0 else 0
    labels = b.integers(batch, steps, low=low, high=classes if blank == 0 else classes - 1, dtype=index)
    # a label twice in a row takes a step more: half of the steps is always enough
    size = np.maximum(b.integers(batch, low=1, high=max(steps // 2, 1) + 1, dtype=index), 1)
    length = np.full(batch, steps, index)
    length[0] = max(steps - 1, 1)
    given = [b.param(logits), b.param(length), b.param(labels), b.param(size)]
    if blank is not None:
        given.append(b.const(np.array(blank, index)))
    return b.op(4, "CTCLoss", given, **more)


LOST: dict[str, dict[str, Any]] = {
    "plain": {},
    "blank 0, i64": {"blank": 0, "index": "i8"},
    "three classes, long": {"shape": (2, 12, 3)},
}
for collapse in (False, True):
    for merge in (False, True):
        for unique in (False, True):
            kinds: dict[str, Any] = {
                "preprocess_collapse_repeated": collapse,
                "ctc_merge_repeated": merge,
                "unique": unique,
            }
            for label, more in LOST.items():
                CASES[f"CTCLoss: {label} {collapse=} {merge=} {unique=}"] = Case(
                    partial(ctc_loss, **kinds, **more), rtol=1e-4
                )
LOSSES: dict[str, dict[str, Any]] = {"default": {}, "f16": {"dtype": "f2"}, "one step": {"shape": (2, 1, 3)}}
for label, more in LOSSES.items():
    CASES[f"CTCLoss: {label}"] = Case(partial(ctc_loss, **more), rtol=2e-3 if label == "f16" else 1e-4)
