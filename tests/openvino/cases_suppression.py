"""Suppression of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}


def rectangles(b: Build, *shape: int, size: float = 10, dtype: str = "f4") -> Any:
    """Boxes x0 y0 x1 y1 that overlap often."""
    starts, sides = b.floats(*shape, 2, low=0, high=size), b.floats(*shape, 2, low=size / 5, high=size / 1.5)
    return np.concatenate([starts, starts + sides], -1).astype(dtype)


def ranked(b: Build, *shape: int, dtype: str = "f4") -> Any:
    """Scores of which no two are equal, in (0, 1)."""
    total = int(np.prod(shape))
    places = b._random().permutation(total)
    return ((places + 1) / (total + 1)).astype(dtype).reshape(shape)


def nms(b: Build, opset: int, numbers: Sequence[float], **more: Any) -> Any:
    batch, classes, count = more.pop("shape", (2, 3, 12))
    dtype, centred = more.pop("dtype", "f4"), more.get("box_encoding") == "center"
    put = b.param if more.pop("fed", False) else b.const
    boxes = rectangles(b, batch, count, dtype=dtype)
    if centred:
        boxes = np.concatenate([boxes[..., :2] + boxes[..., 2:], 2 * (boxes[..., 2:] - boxes[..., :2])], -1) / 2
    if more.pop("swapped", False):
        boxes = boxes[..., [2, 1, 0, 3]]
    given = [b.param(boxes.astype(dtype), fixed=[2]), b.param(ranked(b, batch, classes, count, dtype=dtype))]
    given += [put(np.array(n, "i8" if k == 0 else dtype)) for k, n in enumerate(numbers)]
    made = b.op(opset, "NonMaxSuppression", given, **more)
    return made


NMS: dict[str, tuple[list[float], dict[str, Any]]] = {
    "plain": ([5, 0.4, 0.2], {}),
    "unsorted": ([5, 0.4, 0.2], {"sort_result_descending": False}),
    "centre": ([5, 0.4, 0.2], {"box_encoding": "center"}),
    "all": ([100, 1.0, -1.0], {}),
    "exchanged corners": ([5, 0.4, 0.2], {"swapped": True}),
    "without score threshold": ([5, 0.4], {}),
    "one box": ([3, 0.5, 0.1], {"shape": (1, 1, 1)}),
    "none above": ([3, 0.5, 5.0], {}),
    "iou 0": ([5, 0.0, 0.2], {}),
    "f16": ([5, 0.4, 0.2], {"dtype": "f2"}),
}
for opset in (1, 3, 4, 5, 9):
    for label, (numbers, more) in NMS.items():
        given: dict[str, Any] = {} if opset == 1 else {"output_type": "i32" if label == "unsorted" else "i64"}
        CASES[f"NonMaxSuppression opset {opset}: {label}"] = Case(
            partial(nms, opset=opset, numbers=numbers, **more, **given)
        )
    CASES[f"NonMaxSuppression opset {opset}: fed"] = Case(
        partial(nms, opset=opset, numbers=[5, 0.4, 0.2], fed=True), ("dynamic",)
    )
    if opset >= 5:
        for sigma in (0.0, 0.5, 0.1):
            for label, (numbers, more) in NMS.items():
                if len(numbers) == 3 and label != "f16":
                    CASES[f"NonMaxSuppression opset {opset}: sigma {sigma}, {label}"] = Case(
                        partial(nms, opset=opset, numbers=[*numbers, sigma], **more)
                    )


def nms_rotated(b: Build, numbers: list[float], **more: Any) -> Any:
    batch, classes, count = more.pop("shape", (2, 2, 12))
    corners = rectangles(b, batch, count)
    sides, angles = corners[..., 2:] - corners[..., :2], b.floats(batch, count, 1, low=-3, high=3)
    if more.pop("upright", False):
        angles *= 0
    boxes = np.concatenate([corners[..., :2] + sides / 2, sides, angles], -1)
    boxes[:, -1] = boxes[:, 0]
    given = [b.param(boxes, fixed=[2]), b.param(ranked(b, batch, classes, count))]
    given += [b.const(np.array(n, "f4" if k else "i8")) for k, n in enumerate(numbers)]
    return b.op(13, "NMSRotated", given, **more)


ROTATED: dict[str, tuple[list[float], dict[str, Any]]] = {
    "plain": ([5, 0.3, 0.2], {}),
    "clockwise": ([5, 0.3, 0.2], {"clockwise": True}),
    "counterclockwise": ([5, 0.3, 0.2], {"clockwise": False}),
    "unsorted": ([5, 0.3, 0.2], {"sort_result_descending": False, "output_type": "i32"}),
    "all": ([100, 0.9, -1.0], {}),
    "upright": ([100, 0.3, 0.0], {"upright": True}),
    "many": ([100, 0.5, 0.0], {"shape": (1, 1, 60)}),
    "many, loose": ([100, 0.1, 0.0], {"shape": (2, 1, 50), "clockwise": False}),
}
for label, (numbers, more) in ROTATED.items():
    CASES[f"NMSRotated: {label}"] = Case(partial(nms_rotated, numbers=numbers, **more))


def classes_nms(b: Build, opset: int, name: str, *, rois: list[int] | None = None, **more: Any) -> Any:
    batch, classes, number = more.pop("shape", (2, 3, 12))
    size = 1.0 if more.get("normalized", True) else 10.0
    dtype = more.pop("dtype", "f4")
    if rois is None:
        given = [b.param(rectangles(b, batch, number, size=size, dtype=dtype), fixed=[2])]
        given.append(b.param(ranked(b, batch, classes, number, dtype=dtype)))
    else:
        given = [b.param(rectangles(b, classes, number, size=size, dtype=dtype), fixed=[2])]
        given += [b.param(ranked(b, classes, number, dtype=dtype)), b.param(np.array(rois, more.pop("index", "i4")))]
    return b.op(opset, name, given, **more)


ORDERS: list[dict[str, Any]] = [
    {"sort_result_type": how, "sort_result_across_batch": across}
    for how in ("none", "score", "classid")
    for across in (True, False)
]
BOTH_NMS: dict[str, dict[str, Any]] = {
    "plain": {"score_threshold": 0.1},
    "top 4": {"nms_top_k": 4, "keep_top_k": 5, "score_threshold": 0.2},
    "keep 3": {"keep_top_k": 3},
    "pixels": {"normalized": False, "score_threshold": 0.2},
    "background 0": {"background_class": 0},
    "background 2, i32": {"background_class": 2, "output_type": "i32"},
    "one box": {"shape": (1, 1, 1)},
    "none above": {"score_threshold": 2.0},
}
for label, attributes in BOTH_NMS.items():
    for kind in ORDERS if label in ("plain", "top 4") else ORDERS[2:4]:
        text = f"{label} {kind['sort_result_type']} across={kind['sort_result_across_batch']}"
        for decay in ("linear", "gaussian") if label != "none above" else ():  # the plugin fails on nothing
            CASES[f"MatrixNms: {text} {decay}"] = Case(
                partial(classes_nms, opset=8, name="MatrixNms", decay_function=decay, **kind, **attributes)
            )
        for opset in (8, 9):
            for eta in (1.0, 0.9):
                limits: dict[str, Any] = {"iou_threshold": 0.7 if eta < 1 else 0.3, "nms_eta": eta}
                CASES[f"MulticlassNms opset {opset}: {text} eta {eta}"] = Case(
                    partial(classes_nms, opset=opset, name="MulticlassNms", **limits, **kind, **attributes)
                )
        if label != "one box":
            for index in ("i4", "i8"):
                CASES[f"MulticlassNms opset 9: roisnum {index}, {text}"] = Case(
                    partial(
                        classes_nms,
                        opset=9,
                        name="MulticlassNms",
                        rois=[5, 0, 7],
                        index=index,
                        iou_threshold=0.3,
                        **kind,
                        **attributes,
                    )
                )
for post, sigma in ((0.3, 2.0), (0.1, 0.5)):
    CASES[f"MatrixNms: post_threshold {post}, gaussian_sigma {sigma}"] = Case(
        partial(
            classes_nms, opset=8, name="MatrixNms", decay_function="gaussian", post_threshold=post, gaussian_sigma=sigma
        )
    )


def touching(b: Build, opset: int) -> Any:
    """Two boxes of which one is half of the other, at a threshold of one half."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 2], [5, 5, 6, 6]]], "f4")
    given = [b.param(boxes, fixed=[2]), b.param(np.array([[[0.9, 0.8, 0.7]]], "f4"))]
    given += [b.const(np.array(5, "i8")), b.const(np.array(0.5, "f4")), b.const(np.array(0.1, "f4"))]
    return b.op(opset, "NonMaxSuppression", given)


for opset in (3, 5, 9):
    CASES[f"NonMaxSuppression opset {opset}: just at the threshold"] = Case(partial(touching, opset=opset))
for opset in (5, 9):
    CASES[f"NonMaxSuppression opset {opset}: no boxes"] = Case(
        partial(nms, opset=opset, numbers=[5, 0.4, 0.2], shape=(2, 3, 0)), ("dynamic",)
    )
    CASES[f"NonMaxSuppression opset {opset}: no boxes, soft"] = Case(
        partial(nms, opset=opset, numbers=[5, 0.4, 0.2, 0.5], shape=(2, 3, 0)), ("dynamic",)
    )
CASES["NMSRotated: no images"] = Case(partial(nms_rotated, numbers=[5, 0.3, 0.2], shape=(0, 3, 4)), ("dynamic",))


def nothing(boxes: Any, scores: Any) -> list[Any]:
    """The specified result for no boxes or classes: nothing for each image. OpenVINO returns no image at all then."""
    return [np.zeros((0, 6), "f4"), np.zeros((0, 1), "i8"), np.zeros(len(boxes), "i8")]


for shape in ((2, 3, 0), (0, 3, 4), (2, 0, 4)):
    for opset, name in ((9, "MulticlassNms"), (8, "MatrixNms")):
        CASES[f"{name} opset {opset}: nothing of {shape}"] = Case(
            partial(classes_nms, opset=opset, name=name, shape=shape),
            ("dynamic",),
            witness=None if shape[0] == 0 else nothing,
        )

for opset, name in ((8, "MulticlassNms"), (9, "MulticlassNms"), (8, "MatrixNms")):
    CASES[f"{name} opset {opset}: f16"] = Case(
        partial(classes_nms, opset=opset, name=name, dtype="f2", score_threshold=0.1), rtol=2e-3
    )
