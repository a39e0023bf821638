"""Regions of feature maps, colours."""

from __future__ import annotations

from functools import partial
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
                    partial(planes, opset=8, name=f"{source}to{target}", shapes=split, dtype=dtype)
                )


def nv12_of(pixels: Any, *, is_rgb: bool, single: bool) -> list[Any]:
    """image/rgb-to-nv12-17 word for word; OpenVINO 2026.4 has the operator, but neither plugin nor evaluate run it."""
    red, green, blue = np.moveaxis(pixels.astype("f4"), 3, 0)[:: 1 if is_rgb else -1]
    planes = [
        0.257 * red + 0.504 * green + 0.098 * blue + 16,
        -0.148 * red - 0.291 * green + 0.439 * blue + 128,
        0.439 * red - 0.368 * green - 0.071 * blue + 128,
    ]

    def stored(x: Any) -> Any:
        return (np.floor(x + np.float32(0.5)) if pixels.dtype == np.uint8 else x).astype(pixels.dtype)

    luma, u, v = (stored(plane.clip(0, 255)) for plane in planes)
    batch, height, width = luma.shape
    squares = np.stack([u, v], 3).astype("f4").reshape(batch, height // 2, 2, width // 2, 2, 2)
    chroma = stored(squares.mean((2, 4), dtype="f4"))
    if not single:
        return [luma[..., None], chroma]
    return [np.concatenate([luma, chroma.reshape(batch, height // 2, width)], 1)[..., None]]


def planes_of(single: bool | None) -> dict[str, Any]:
    """The attribute, which may be left out."""
    return {} if single is None else {"single_plane": single}


for source in ("RGB", "BGR"):
    for single in (True, False, None):
        for dtype in ("u1", "f4", "f2"):
            for shape in ((1, 4, 6, 3), (2, 2, 4, 3)):
                CASES[f"{source}toNV12 {dtype} single_plane={single} {shape}"] = Case(
                    partial(
                        planes,
                        opset=17,
                        name=f"{source}toNV12",
                        shapes=[shape],
                        dtype=dtype,
                        **planes_of(single),
                    ),
                    witness=partial(nv12_of, is_rgb=source == "RGB", single=single is not False),
                    rtol=2e-3 if dtype == "f2" else None,
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
            partial(region_yolo, dtype=dtype, **given, anchors=[1.0, 2.0]),
            rtol=2e-3 if dtype == "f2" else None,
        )


def reorg_yolo(b: Build, shape: tuple[int, ...], stride: int, dtype: str) -> Any:
    return b.op(2, "ReorgYolo", [b.param(b.integers(*shape, low=0, high=99).astype(dtype))], stride=[stride])


for shape, stride in (((1, 8, 4, 6), 2), ((2, 4, 2, 2), 2), ((1, 18, 6, 3), 3), ((2, 3, 4, 5), 1)):
    for dtype in ("f4", "f2", "i4", "u1"):
        CASES[f"ReorgYolo: {shape} by {stride} {dtype}"] = Case(
            partial(reorg_yolo, shape=shape, stride=stride, dtype=dtype)
        )


def roi_align(
    b: Build, opset: int, *, dtype: str = "f4", index: str = "i4", rois: Any = None, **attributes: Any
) -> Any:
    boxes = [[0, 0, 5, 6], [1.3, 2.6, 11.7, 9.2], [-3, -4, 2, 3], [6, 5, 30, 40], [2, 3, 2.2, 3.1]]
    boxes = boxes if rois is None else rois
    given = [b.param(b.floats(2, 3, 8, 10, dtype=dtype)), b.param(np.array(boxes, dtype).reshape(-1, 4), fixed=[1])]
    given.append(b.param(np.array([0, 1, 0, 1, 1][: len(boxes)], index)))
    return b.op(opset, "ROIAlign", given, **attributes)


for opset in (3, 9):
    for mode in ("avg", "max"):
        for samples in (0, 1, 2, 3):
            for aligned in ("asymmetric", "half_pixel_for_nn", "half_pixel") if opset == 9 else ("",):
                attributes: dict[str, Any] = {
                    "pooled_h": 3,
                    "pooled_w": 2,
                    "sampling_ratio": samples,
                    "spatial_scale": 0.7,
                }
                attributes |= {"mode": mode} | ({"aligned_mode": aligned} if aligned else {})
                CASES[f"ROIAlign opset {opset}: {mode} {samples} {aligned}"] = Case(
                    partial(roi_align, opset=opset, **attributes)
                )
    plain: dict[str, Any] = {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 0.5, "mode": "avg"}
    CASES[f"ROIAlign opset {opset}: i64 indices"] = Case(partial(roi_align, opset=opset, index="i8", **plain))
    CASES[f"ROIAlign opset {opset}: f16"] = Case(partial(roi_align, opset=opset, dtype="f2", **plain), rtol=5e-3)
    CASES[f"ROIAlign opset {opset}: no rois"] = Case(partial(roi_align, opset=opset, rois=[], **plain))


def roi_rotated(b: Build, *, index: str = "i4", rois: int = 5, dtype: str = "f4", **attributes: Any) -> Any:
    boxes = [
        [4, 3, 5, 6, 0.0],
        [5.3, 2.6, 4.7, 9.2, 0.7],
        [0, 0, 3, 3, -1.2],
        [9, 7, 8, 20, 3.0],
        [2, 3, 0.2, 0.3, 1.0],
    ]
    given = [
        b.param(b.floats(2, 3, 8, 10, dtype=dtype)),
        b.param(np.array(boxes, dtype)[:rois]),
        b.param(np.array([0, 1, 0, 1, 1], index)[:rois]),
    ]
    return b.op(15, "ROIAlignRotated", given, **attributes)


for samples in (0, 1, 2):
    for clockwise in (True, False):
        for scale in (1.0, 0.6):
            turned: dict[str, Any] = {"pooled_h": 3, "pooled_w": 2, "sampling_ratio": samples, "spatial_scale": scale}
            CASES[f"ROIAlignRotated: {samples} {clockwise=} {scale}"] = Case(
                partial(roi_rotated, clockwise_mode=clockwise, **turned)
            )
CASES["ROIAlignRotated: i64 indices"] = Case(
    partial(roi_rotated, index="i8", pooled_h=2, pooled_w=2, sampling_ratio=2, spatial_scale=1.0)
)


def roi_features(b: Build, levels: int, **attributes: Any) -> Any:
    boxes = [[0, 0, 50, 60], [10, 20, 300, 200], [5, 5, 5, 9], [0, 0, 600, 700], [30, 40, 31, 42], [-20, -9, 90, 80]]
    scales = [4, 8, 16, 32][:levels]
    given = [b.param(np.array(boxes, "f4")), *(b.param(b.floats(1, 2, 256 // s, 320 // s)) for s in scales)]
    return b.op(6, "ExperimentalDetectronROIFeatureExtractor", given, pyramid_scales=scales, **attributes)


for levels in (1, 3, 4):
    for samples in (0, 2):
        for is_aligned in (True, False):
            CASES[f"ROIFeatureExtractor: {levels} {samples} aligned={is_aligned}"] = Case(
                partial(roi_features, levels=levels, output_size=3, sampling_ratio=samples, aligned=is_aligned)
            )

CASES["ROIAlignRotated: f16"] = Case(
    partial(roi_rotated, dtype="f2", pooled_h=2, pooled_w=2, sampling_ratio=2, spatial_scale=1.0), rtol=2e-2
)
CASES["ROIAlignRotated: no rois"] = Case(
    partial(roi_rotated, rois=0, pooled_h=2, pooled_w=2, sampling_ratio=0, spatial_scale=1.0)
)
CASES["ROIAlign opset 9: no rois, maximum of all samples"] = Case(
    partial(
        roi_align,
        opset=9,
        rois=[],
        pooled_h=2,
        pooled_w=2,
        sampling_ratio=0,
        spatial_scale=1.0,
        mode="max",
        aligned_mode="asymmetric",
    )
)
