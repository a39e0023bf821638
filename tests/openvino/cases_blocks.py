"""Blocks and patches, strings of bytes, and what a loop gives of all iterations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case
from tests.openvino.cases_elementwise import table
from tests.openvino.movement import TYPES, Layers, given, ramp

CASES = Layers()
add = CASES.add

IMAGES = {
    "DepthToSpace-1": {
        "images": ((2, 8, 2, 3), 2),
        "volumes": ((1, 16, 2, 1, 3), 2),
        "rows": ((2, 6, 5), 3),
        "one": ((2, 3, 4, 5), 1),
        "none": ((0, 4, 2, 2), 2),
    },
    "SpaceToDepth-1": {
        "images": ((2, 3, 4, 6), 2),
        "volumes": ((1, 2, 2, 4, 2), 2),
        "rows": ((2, 2, 9), 3),
        "one": ((2, 3, 4, 5), 1),
        "none": ((0, 4, 2, 2), 2),
    },
}
"""by layer and id: (shape, block_size)"""
BATCHES = {
    "BatchToSpace-2": {
        "images": ((8, 2, 3, 3), (1, 1, 2, 2), (0, 0, 0, 0), (0, 0, 0, 0)),
        "cropped": ((8, 2, 3, 3), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 2)),
        "channels": ((12, 2, 1, 4), (1, 3, 2, 2), (0, 1, 0, 1), (0, 0, 1, 0)),
        "volumes": ((4, 1, 2, 3, 2), (1, 1, 2, 1, 2), (0, 0, 0, 0, 0), (0, 0, 1, 1, 0)),
    },
    "SpaceToBatch-2": {
        "images": ((2, 2, 4, 6), (1, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 0)),
        "padded": ((2, 2, 3, 5), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 1)),
        "channels": ((1, 3, 2, 2), (1, 2, 1, 2), (0, 1, 0, 0), (0, 0, 0, 2)),
        "volumes": ((1, 1, 4, 3, 2), (1, 1, 2, 1, 2), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0)),
    },
}
"""by layer and id: (shape, block, cropped or padded before, and behind)"""

for _mode in ("blocks_first", "depth_first"):
    for _layer, _rows in IMAGES.items():
        for _name, (_shape, _block) in table(_rows):
            add(f"{_layer} {_mode} {_name}", 1, lambda b, s=_shape: [b.param(ramp(*s))], mode=_mode, block_size=_block)
        _shape = (1, 4, 2, 3) if _layer == "DepthToSpace-1" else (1, 2, 4, 2)
        for _dtype in TYPES:
            add(
                f"{_layer} {_mode} {_dtype}",
                1,
                lambda b, s=_shape, d=_dtype: [b.param(ramp(*s, dtype=d))],
                mode=_mode,
                block_size=2,
            )
for _layer, _cut in BATCHES.items():
    for _name, (_shape, *_sizes) in table(_cut):
        for _dtype, _kind in (("f4", "const"), ("i4", "const"), ("u1", "const"), ("f4", "param")):
            add(
                f"{_layer} {_name} {_dtype if _kind == 'const' else 'computed'}",
                2,
                lambda b, s=_shape, n=_sizes, d=_dtype, k=_kind: [
                    b.param(ramp(*s, dtype=d)),
                    *(given(b, k, *one) for one in n),
                ],
            )
for _axis, _group, _dims in ((1, 3, (2, 6, 2, 2)), (-1, 2, (2, 3, 4, 6)), (0, 2, (4, 3, 2, 1)), (1, 1, (1, 5, 2, 2))):
    for _dtype in ("f4", "i4", "u1"):
        add(
            f"ShuffleChannels-1 {_axis} {_group} {_dtype}",
            1,
            lambda b, s=_dims, d=_dtype: [b.param(ramp(*s, dtype=d))],
            axis=_axis,
            group=_group,
        )
for _pad in ("valid", "same_upper", "same_lower"):
    for _sizes, _strides, _rates in (
        ((3, 3), (5, 5), (1, 1)),
        ((2, 3), (2, 1), (1, 2)),
        ((4, 4), (8, 8), (2, 2)),
        ((1, 1), (1, 2), (1, 1)),
    ):
        for _dtype in ("f4", "i4", "i8"):
            add(
                f"ExtractImagePatches-3 {_pad} {_sizes} {_dtype}",
                3,
                lambda b, d=_dtype: [b.param(ramp(2, 3, 10, 11, dtype=d))],
                sizes=list(_sizes),
                strides=list(_strides),
                rates=list(_rates),
                auto_pad=_pad,
            )
for _name, (_shape, _size, _kernel, _attributes) in table(
    {
        "apart": ((1, 12, 4), (4, 4), (2, 2), {"strides": [2, 2]}),
        "overlapping": ((2, 12, 9), (4, 4), (2, 2), {}),
        "padded": ((1, 4, 25), (4, 4), (2, 2), {"pads_begin": [1, 1], "pads_end": [1, 1]}),
        "dilated": ((1, 8, 6), (4, 5), (2, 2), {"dilations": [2, 2]}),
        "no batch": ((12, 9), (4, 4), (2, 2), {}),
    }
):
    for _dtype in ("f4", "f2", "i4"):
        add(
            f"Col2Im-15 {_name} {_dtype}",
            15,
            lambda b, s=_shape, z=_size, k=_kernel, d=_dtype: [
                b.param(ramp(*s, dtype=d)),
                given(b, "const", *z),
                given(b, "const", *k),
            ],
            **({"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]} | _attributes),
        )
for _name, (_text, _shape) in table(
    {
        "words": (["Intel", "", "é", "OpenVINO"], (2, 2)),
        "one": (["日本"], (1,)),
        "none": ([], (0,)),
        "empty": (["", ""], (2,)),
    }
):

    def _packed(b: Build, text: list[str] = _text, shape: tuple[int, ...] = _shape) -> list[Any]:
        sizes = [len(word.encode()) for word in text]
        ends = np.cumsum(np.array(sizes, "i4")).astype("i4")
        symbols = np.frombuffer("".join(text).encode(), np.uint8).copy()
        return [b.param((ends - np.array(sizes, "i4")).reshape(shape)), b.param(ends.reshape(shape)), b.param(symbols)]

    add(f"StringTensorPack-15 {_name}", 15, _packed)

# what a loop gives of all iterations


def _joined(b: Build, axis: int, stride: int) -> Any:
    body_input = b.ov.opset16.parameter([2, 1, 3] if axis == 1 else [1, 4, 3] if axis == 0 else [2, 4, 1], np.float32)
    result = b.ov.opset16.result(b.op(1, "Add", [body_input, b.const(np.float32(1))]))
    data = b.param(ramp(2, 4, 3))
    loop = b.ov.opset16.tensor_iterator()
    loop.set_body(b.ov.Model([result], [body_input], "body"))
    loop.set_sliced_input(body_input, data.output(0), 0, 1, 1, -1, axis)
    begin, end = (0, -1) if stride > 0 else (-1, 0)
    return loop.get_concatenated_slices(result.output(0), begin, stride, 1, end, axis)


for _axis in (0, 1, 2):
    for _stride in (1, -1):
        CASES[f"ConcatParts-1 {_axis} {_stride}"] = Case(
            partial(_joined, axis=_axis, stride=_stride), variants=("static",)
        )
