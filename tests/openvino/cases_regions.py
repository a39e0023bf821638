"""Regions of feature maps, colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}


def planes(b: Build, opset: int, name: str, shapes: list[tuple[int, ...]], dtype: str, **more: Any) -> Any:
    given = [b.param(b.integers(*shape, low=0, high=256, dtype="i8").astype(dtype)) for shape in shapes]
    return b.op(opset, name, given, **more)


COLOURS: dict[str, list[tuple[int, ...]]] = {
    "two planes": [(2, 4, 6, 1), (2, 2, 3, 2)],
    "one plane": [(1, 6, 4, 1)],
    "one plane, batch 2": [(2, 9, 4, 1)],
}
for source in ("NV12", "I420"):
    for target in ("RGB", "BGR"):
        for label, shapes in COLOURS.items():
            split = [*shapes[:1], (2, 2, 3, 1), (2, 2, 3, 1)] if len(shapes) == 2 and source == "I420" else shapes
            for dtype in ("u1", "f4", "f2"):
                CASES[f"{source}to{target} {label} {dtype}"] = Case(
                    lambda b, n=f"{source}to{target}", s=split, d=dtype: planes(b, 8, n, s, d)
                )
for source in ("RGB", "BGR"):
    for single in (True, False, None):
        for dtype in ("u1", "f4", "f2"):
            for shape in ((1, 4, 6, 3), (2, 2, 4, 3)):
                CASES[f"{source}toNV12 {dtype} single_plane={single} {shape}"] = Case(
                    lambda b, n=f"{source}toNV12", s=shape, d=dtype, single=single: planes(
                        b, 17, n, [s], d, **({} if single is None else {"single_plane": single})
                    )
                )


def region_yolo(b: Build, *, dtype: str = "f4", shape: tuple[int, ...] = (2, 3, 4), **attributes: Any) -> Any:
    count = attributes["num"] if attributes["do_softmax"] else len(attributes["mask"])
    batch, height, width = shape
    channels = count * (attributes["classes"] + attributes["coords"] + 1)
    return b.op(1, "RegionYolo", [b.param(b.floats(batch, channels, height, width, dtype=dtype))], **attributes)


YOLO: dict[str, dict[str, Any]] = {
    "v2, axis 1 to 3": {"do_softmax": True, "axis": 1, "end_axis": 3, "num": 3, "classes": 5, "coords": 4},
    "v2, axis 2 to 3": {"do_softmax": True, "axis": 2, "end_axis": 3, "num": 2, "classes": 3, "coords": 4},
    "v2, axis 0 to 3": {"do_softmax": True, "axis": 0, "end_axis": 3, "num": 2, "classes": 3, "coords": 4},
    "v2, axis 1 to -1": {"do_softmax": True, "axis": 1, "end_axis": -1, "num": 2, "classes": 3, "coords": 4},
    "v3": {"do_softmax": False, "axis": 1, "end_axis": 3, "num": 6, "classes": 4, "coords": 4, "mask": [0, 1, 2]},
    "v3, one": {"do_softmax": False, "axis": 1, "end_axis": 3, "num": 3, "classes": 2, "coords": 4, "mask": [2]},
}
for label, given in YOLO.items():
    for dtype in ("f4", "f2"):
        CASES[f"RegionYolo: {label} {dtype}"] = Case(
            lambda b, given=given, dtype=dtype: region_yolo(b, dtype=dtype, **given, anchors=[1.0, 2.0]),
            rtol=2e-3 if dtype == "f2" else None,
        )
for shape, stride in (((1, 8, 4, 6), 2), ((2, 4, 2, 2), 2), ((1, 18, 6, 3), 3), ((2, 3, 4, 5), 1)):
    for dtype in ("f4", "f2", "i4", "u1"):
        CASES[f"ReorgYolo: {shape} by {stride} {dtype}"] = Case(
            lambda b, shape=shape, stride=stride, dtype=dtype: b.op(
                2, "ReorgYolo", [b.param(b.integers(*shape, low=0, high=99).astype(dtype))], stride=[stride]
            )
        )
