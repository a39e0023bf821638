"""Cases of adaptive pooling, pools of regions, and convolution at computed places and of signs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine

CASES: dict[str, Case] = {}


def adaptive(
    type_name: str,
    data: tuple[int, ...],
    out: list[int],
    dtype: str = "f4",
    run_time: bool = False,
    element: str = "",
) -> Case:
    """With positions of type `element`. The plugin has none of i64: it is asked for i32, which are converted."""

    def build(b: Build, element: str = element) -> Any:
        given = [b.param(b.floats(*data, dtype=dtype)), (b.param if run_time else b.const)(np.array(out, np.int64))]
        return b.op(8, type_name, given, **({"index_element_type": element} if element else {}))

    def instead(b: Build) -> Any:
        largest, where = build(b, "i32").outputs()
        return [largest, b.op(1, "Convert", [where], destination_type="i64")]

    rtol = 2e-3 if dtype == "f2" else 1e-5
    return Case(build, instead=instead if element == "i64" else None, rtol=rtol)


SIZES: dict[str, tuple[tuple[int, ...], list[int]]] = {
    "one axis": ((2, 3, 7), [3]),
    "two axes": ((2, 3, 7, 5), [3, 2]),
    "a divisor": ((1, 2, 8, 6), [4, 3]),
    "one element": ((1, 2, 8, 6), [1, 1]),
    "as large": ((1, 2, 3, 4), [3, 4]),
    "larger": ((1, 2, 3, 4), [5, 6]),
    "three axes": ((1, 2, 4, 5, 6), [2, 3, 4]),
}
for _name, (_data, _out) in SIZES.items():
    CASES[f"AdaptiveAvgPool-8 {_name}"] = adaptive("AdaptiveAvgPool", _data, _out)
    for _element in ("i32", "i64"):
        CASES[f"AdaptiveMaxPool-8 {_name}, {_element}"] = adaptive("AdaptiveMaxPool", _data, _out, element=_element)
CASES |= {
    "AdaptiveAvgPool-8 f16": adaptive("AdaptiveAvgPool", (2, 3, 7, 5), [3, 2], "f2"),
    "AdaptiveMaxPool-8 f16": adaptive("AdaptiveMaxPool", (2, 3, 7, 5), [3, 2], "f2", element="i32"),
    "AdaptiveAvgPool-8 run-time shape": adaptive("AdaptiveAvgPool", (2, 3, 7, 5), [3, 2], run_time=True),
    "AdaptiveMaxPool-8 run-time shape": adaptive("AdaptiveMaxPool", (2, 3, 7, 5), [3, 2], run_time=True, element="i32"),
}


PLAIN: dict[str, Any] = {
    "strides": [1, 1],
    "dilations": [1, 1],
    "pads_begin": [0, 0],
    "pads_end": [0, 0],
    "auto_pad": "explicit",
}


def deformable(
    opset: int,
    given: dict[str, Any],
    *,
    group: int = 1,
    deformed: int = 1,
    mask: bool = False,
    engine: Engine = "plugin",
    **attributes: Any,
) -> Case:
    plain: dict[str, Any] = dict(PLAIN)
    plain |= {**given, "group": group, "deformable_group": deformed}
    size, kernel = (8, 9), (3, 2)
    spatial = []
    for i in range(2):
        reach = plain["dilations"][i] * (kernel[i] - 1) + 1
        whole = size[i] + plain["pads_begin"][i] + plain["pads_end"][i] - reach
        same = plain["auto_pad"].startswith("same")
        spatial.append(-(-size[i] // plain["strides"][i]) if same else whole // plain["strides"][i] + 1)

    def build(b: Build) -> Any:
        count = deformed * kernel[0] * kernel[1]
        made = [b.param(b.floats(2, 4, *size)), b.param(b.floats(2, 2 * count, *spatial))]
        made.append(b.const(b.floats(6, 4 // group, *kernel)))
        if mask:
            made.append(b.param(b.floats(2, count, *spatial, low=0, high=1)))
        return b.op(opset, "DeformableConvolution", made, **plain, **attributes)

    return Case(build, engine=engine, rtol=1e-4)


DEFORMED: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 1]},
    "dilations": {"dilations": [2, 2]},
    "pads": {"pads_begin": [1, 2], "pads_end": [2, 1]},
    "same_upper": {"auto_pad": "same_upper"},
    "same_lower": {"auto_pad": "same_lower"},
}
for _name, _given in DEFORMED.items():
    CASES |= {
        f"DeformableConvolution-1 {_name}": deformable(1, _given),
        f"DeformableConvolution-8 {_name}": deformable(8, _given, mask=True),
        f"DeformableConvolution-8 {_name}, faded": deformable(8, _given, mask=True, bilinear_interpolation_pad=True),
    }
CASES |= {
    "DeformableConvolution-1 groups": deformable(1, {}, group=2),
    "DeformableConvolution-1 deformable groups": deformable(1, {}, deformed=2),
    "DeformableConvolution-8 all": deformable(
        8, {"strides": [2, 1], "pads_begin": [1, 0]}, group=2, deformed=2, mask=True, bilinear_interpolation_pad=True
    ),
    "DeformableConvolution-8 without a mask": deformable(8, {}, bilinear_interpolation_pad=True),
}

# the plugin has no pools of regions of unknown dims
BOXES = np.array(
    [[0, 1, 1, 6, 5], [1, 0, 2, 9, 7], [0, 3, 3, 3, 3], [1, 2.4, 1.6, 7.3, 6.5], [0, 0, 0, 9, 7]], np.float32
)


def roi(method: str, out: tuple[int, int], scale: float = 1.0, dtype: str = "f4") -> Case:
    def build(b: Build) -> Any:
        boxes = BOXES.copy()
        if method == "bilinear":
            boxes[:, 1:] /= np.array([10, 8, 10, 8])
        else:
            boxes[:, 1:] /= scale
        given = [b.param(b.floats(2, 3, 8, 10, dtype=dtype)), b.param(boxes.astype(dtype))]
        attributes = {"output_size": list(out), "spatial_scale": scale, "method": method}
        return b.op(2, "ROIPooling", given, **attributes)

    return Case(build, engine="reshaped", rtol=2e-3 if dtype == "f2" else 1e-4)


for _method, _pooled in product(("max", "bilinear"), ((3, 3), (2, 4), (1, 1))):
    CASES[f"ROIPooling-1 {_method}, {_pooled}"] = roi(_method, _pooled)
CASES["ROIPooling-1 max, scaled"] = roi("max", (2, 3), 0.5)


def psroi(mode: str, group: int, depth: int, scale: float, bins: tuple[int, int] = (2, 3)) -> Case:
    channels = depth * (group * group if mode == "average" else bins[0] * bins[1])

    def build(b: Build) -> Any:
        boxes = BOXES.copy()
        boxes[:, 1:] /= np.array([10, 8, 10, 8]) if mode == "bilinear" else np.float32(scale)
        given = [b.param(b.floats(2, channels, 8, 10)), b.param(boxes)]
        return b.op(
            1, "PSROIPooling", given, output_dim=depth, spatial_scale=scale, group_size=group,
            spatial_bins_x=bins[0], spatial_bins_y=bins[1], mode=mode,
        )  # fmt: skip

    return Case(build, engine="reshaped", rtol=1e-4)


for _mode, _group, _depth, _scale in product(("average", "bilinear"), (1, 2, 3), (1, 2), (1.0, 0.5)):
    CASES[f"PSROIPooling-1 {_mode} of {_group}, {_depth} deep, scale {_scale}"] = psroi(_mode, _group, _depth, _scale)


def binary(given: dict[str, Any], pad_value: float = 0.0, filters: tuple[int, ...] = (3, 8, 3, 3)) -> Case:
    """The highest bit of a byte is the first, as in all constants of OpenVINO.

    Its plugin takes the lowest of filters of one element, and of larger ones makes sums that no order of the bits has.
    """
    plain: dict[str, Any] = dict(PLAIN)
    attributes = {**plain, **given, "mode": "xnor-popcount", "pad_value": pad_value}
    bits = np.random.default_rng(sum(filters)).integers(0, 2, filters).astype(np.uint8)

    def build(b: Build) -> Any:
        data = b.floats(2, filters[1], 6, 7)
        weights = b.packed("u1", filters, np.packbits(bits).tobytes())
        return b.op(1, "BinaryConvolution", [b.param(data), weights], **attributes)

    def witness(x: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        stride, dilations = attributes["strides"], attributes["dilations"]
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, filters[2:], strict=True)]
        begin, end = list(attributes["pads_begin"]), list(attributes["pads_end"])
        if attributes["auto_pad"].startswith("same"):
            for i, size in enumerate(x.shape[2:]):
                total = max((-(-size // stride[i]) - 1) * stride[i] + reach[i] - size, 0)
                begin[i], end[i] = total // 2, total - total // 2
            if attributes["auto_pad"] == "same_lower":
                begin, end = end, begin
        pads = [(0, 0), (0, 0), *zip(begin, end, strict=True)]
        signs = np.pad(np.where(x > 0, 1.0, -1.0), pads, constant_values=pad_value)
        views = np.lib.stride_tricks.sliding_window_view(signs, reach, (2, 3))
        windows = views[:, :, :: stride[0], :: stride[1], :: dilations[0], :: dilations[1]]
        return [np.einsum("nchwij,ocij->nohw", windows, bits * 2.0 - 1.0).astype(np.float32)]

    return Case(build, witness=witness)


for _name, _given in (*DEFORMED.items(), ("valid", {"auto_pad": "valid"})):
    CASES[f"BinaryConvolution-1 {_name}"] = binary(_given)
for _value in (-1.0, 1.0):
    CASES[f"BinaryConvolution-1 pads of {_value}"] = binary(DEFORMED["pads"], _value)
CASES["BinaryConvolution-1 40 channels"] = binary({}, filters=(2, 40, 3, 2))


def deformable_psroi(
    group: int, depth: int, scale: float, classes: int = 0, parts: int = 1, bins: tuple[int, int] = (2, 3)
) -> Case:
    """With offsets where there are classes."""

    def build(b: Build) -> Any:
        boxes = BOXES.copy()
        boxes[:, 1:] = np.round(boxes[:, 1:] / scale)
        given = [b.param(b.floats(2, depth * group * group, 8, 10)), b.param(boxes)]
        if classes:
            given.append(b.param(b.floats(len(boxes), 2 * classes, parts, parts), fixed=[1]))
        return b.op(
            1, "DeformablePSROIPooling", given, output_dim=depth, spatial_scale=scale, group_size=group,
            spatial_bins_x=bins[0], spatial_bins_y=bins[1], mode="bilinear_deformable", trans_std=0.2, part_size=parts,
        )  # fmt: skip

    return Case(build, engine="reshaped", rtol=1e-4)


CASES |= {
    "DeformablePSROIPooling-1": deformable_psroi(2, 3, 1.0),
    "DeformablePSROIPooling-1 scaled": deformable_psroi(3, 2, 0.5),
    "DeformablePSROIPooling-1 offsets": deformable_psroi(2, 3, 1.0, 1, 2),
    "DeformablePSROIPooling-1 offsets of classes": deformable_psroi(3, 4, 1.0, 2, 3),
    "DeformablePSROIPooling-1 fewer parts": deformable_psroi(4, 2, 1.0, 2, 2, (1, 1)),
}
