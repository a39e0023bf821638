"""Parts, slices, pads, and elements the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.openvino.cases_elementwise import table
from tests.openvino.movement import TYPES, WHERES, Array, Layers, given, ramp

CASES = Layers()
add = CASES.add

# parts

for _axis in (0, 1, -1):
    add(
        f"Concat-1 {_axis}",
        1,
        lambda b, a=_axis: [b.param(np.moveaxis(ramp(n, 3, 4), 0, a)) for n in (2, 1, 3)],
        axis=_axis,
    )
add("Concat-1 one", 1, lambda b: [b.param(ramp(2, 3))], axis=0)
add("Concat-1 nothing", 1, lambda b: [b.param(ramp(2, 0)), b.param(ramp(2, 3)), b.const(ramp(2, 2))], axis=1)
for _dtype in TYPES:
    add(
        f"Concat-1 {_dtype}",
        1,
        lambda b, d=_dtype: [b.param(ramp(2, 3, dtype=d)), b.param(ramp(2, 1, dtype=d))],
        axis=1,
    )
for _name, (_shape, _axis, _count) in table(
    {
        "rows": ((4, 3), 0, 2),
        "columns": ((2, 6), 1, 3),
        "negative": ((2, 6), -1, 2),
        "whole": ((2, 6), 1, 1),
        "nothing": ((0, 4), 0, 2),
    }
):
    for _dtype in ("f4", "i8", "u1"):
        add(
            f"Split-1 {_name} {_dtype}",
            1,
            lambda b, s=_shape, a=_axis, d=_dtype: [b.param(ramp(*s, dtype=d)), b.const(np.int64(a))],
            num_splits=_count,
        )
for _name, (_shape, _axis, _lengths) in table(
    {
        "given": ((2, 7), 1, (2, 4, 1)),
        "rest first": ((2, 7), 1, (-1, 3)),
        "rest last": ((2, 7), -1, (2, -1)),
        "rest between": ((7, 2), 0, (1, -1, 2)),
        "none": ((2, 7), 1, (0, 7)),
        "whole": ((2, 7), 1, (7,)),
        "rest alone": ((2, 7), 1, (-1,)),
        "no rest": ((2, 7), 1, (3, -1, 4)),
    }
):
    for _where in WHERES:
        # with computed lengths the plugin needs every length at compile time
        add(
            f"VariadicSplit-1 {_name} {_where}",
            1,
            lambda b, s=_shape, a=_axis, n=_lengths, w=_where: [
                b.param(ramp(*s)),
                b.const(np.int64(a)),
                given(b, w, *n),
            ],
            engine="evaluate" if _where == "param" else "plugin",
            variants=("static",) if _where == "param" else ("static", "dynamic"),
        )

# slices

for _name, (_shape, _start, _stop, _step, _axes) in table(
    {
        "plain": ((5, 6), (1, 2), (4, 5), (1, 1), None),
        "backwards": ((5, 6), (-1,), (-9,), (-1,), (1,)),
        "steps": ((5, 6), (0, 5), (5, 0), (2, -2), (0, 1)),
        "far": ((5, 6), (-100,), (100,), (1,), (0,)),
        "empty": ((5, 6), (3,), (3,), (1,), (0,)),
        "negative axis": ((5, 6), (1,), (2**31 - 1,), (3,), (-1,)),
        "of nothing": ((0, 6), (0,), (3,), (1,), (0,)),
    }
):
    for _where in WHERES:
        add(
            f"Slice-8 {_name} {_where}",
            8,
            lambda b, s=_shape, f=_start, t=_stop, k=_step, a=_axes, w=_where: [
                b.param(ramp(*s)),
                given(b, w, *f),
                given(b, w, *t),
                given(b, w, *k),
                *([] if a is None else [given(b, "const", *a)]),
            ],
        )
for _dtype in TYPES:
    add(
        f"Slice-8 {_dtype}",
        8,
        lambda b, d=_dtype: [b.param(ramp(4, 5, dtype=d)), *(given(b, "const", k, dtype="i4") for k in (1, 4, 2, 1))],
    )
MASKS = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")


def masks(entries: int, given: dict[str, list[int]], names: Sequence[str]) -> dict[str, Any]:
    """All of these masks, zeros where nothing is given."""
    return {name: given.get(name, [0] * entries) for name in names}


for _name, (_shape, _begin, _end, _strides, _masks) in table(
    {
        "plain": ((4, 5, 6), (1, 0, 2), (3, 5, 6), (1, 2, 3), {}),
        "begin mask": ((4, 5, 6), (1, 1, 1), (3, 4, 5), (1, 1, 1), {"begin_mask": [1, 0, 1]}),
        "end mask": ((4, 5, 6), (1, 1, 1), (3, 4, 5), (1, 1, 1), {"end_mask": [0, 1, 1]}),
        "backwards": ((4, 5, 6), (3, 4, -1), (0, 0, -9), (-1, -2, -1), {}),
        "backwards masked": (
            (4, 5, 6),
            (0, 0, 0),
            (0, 0, 0),
            (-1, -2, 1),
            {"begin_mask": [1, 1, 1], "end_mask": [1, 1, 1]},
        ),
        "shrink": ((4, 5, 6), (1, 0, -1), (2, 5, 0), (1, 1, 1), {"shrink_axis_mask": [1, 0, 1]}),
        "shrink masked": (
            (4, 5, 6),
            (1, 0, 0),
            (2, 5, 6),
            (1, 1, 1),
            {"shrink_axis_mask": [1, 0, 0], "begin_mask": [0, 1, 1], "end_mask": [1, 1, 1]},
        ),
        "new": ((4, 5), (0, 1, 2), (0, 3, 5), (1, 1, 1), {"new_axis_mask": [1, 0, 0]}),
        "new last": ((4, 5), (1, 2, 0), (3, 5, 0), (1, 1, 1), {"new_axis_mask": [0, 0, 1]}),
        "ellipsis": ((2, 3, 4, 5), (1, 0, 2), (2, 0, 4), (1, 1, 1), {"ellipsis_mask": [0, 1, 0]}),
        "ellipsis first": ((2, 3, 4, 5), (0, 2), (0, 4), (1, 1), {"ellipsis_mask": [1, 0]}),
        "ellipsis and new": (
            (2, 3, 4),
            (0, 0, 1),
            (1, 0, 3),
            (1, 1, 1),
            {"ellipsis_mask": [0, 1, 0], "new_axis_mask": [1, 0, 0]},
        ),
        "ellipsis and shrink": (
            (2, 3, 4),
            (0, 1),
            (0, 2),
            (1, 1),
            {"ellipsis_mask": [1, 0], "shrink_axis_mask": [0, 1]},
        ),
        "shrink and new": (
            (4, 5),
            (1, 0, 2),
            (2, 0, 4),
            (1, 1, 1),
            {"shrink_axis_mask": [1, 0, 0], "new_axis_mask": [0, 1, 0]},
        ),
        "fewer": ((4, 5, 6), (1,), (3,), (1,), {}),
        "empty": ((4, 5), (3, 0), (1, 5), (1, 1), {}),
        "of nothing": ((0, 5), (0, 1), (2, 3), (1, 1), {}),
    }
):
    for _where in WHERES:
        add(
            f"StridedSlice-1 {_name} {_where}",
            1,
            lambda b, s=_shape, f=_begin, t=_end, k=_strides, w=_where: [
                b.param(ramp(*s)),
                given(b, w, *f),
                given(b, w, *t),
                given(b, w, *k),
            ],
            engine="evaluate" if _name == "ellipsis and shrink" else "plugin",
            **masks(len(_begin), _masks, MASKS[:2] if _name == "fewer" else MASKS),
        )
for _mode in ("constant", "edge", "reflect", "symmetric"):
    for _name, (_begin, _end) in table(
        {
            "around": ((1, 2), (2, 1)),
            "one end": ((0, 3), (0, 0)),
            "none": ((0, 0), (0, 0)),
        }
    ):
        for _opset in (1, 12):
            for _where in WHERES:
                add(
                    f"Pad-{_opset} {_mode} {_name} {_where}",
                    _opset,
                    lambda b, f=_begin, t=_end, w=_where: [b.param(ramp(4, 5)), given(b, w, *f), given(b, w, *t)],
                    pad_mode=_mode,
                )
    for _name, (_begin, _end) in table(
        {
            "crop": ((-1, -2), (-1, 0)),
            "mixed": ((-1, 2), (2, -1)),
            "crop and pad": ((2, -2), (-1, 1)),
        }
    ):
        for _where in WHERES:
            add(
                f"Pad-12 {_mode} {_name} {_where}",
                12,
                lambda b, f=_begin, t=_end, w=_where: [b.param(ramp(4, 5)), given(b, w, *f), given(b, w, *t)],
                pad_mode=_mode,
            )
    for _where in WHERES if _mode != "reflect" else ():  # OpenVINO reflects no axis of size 0
        add(
            f"Pad-12 {_mode} empty {_where}",
            12,
            lambda b, w=_where: [b.param(ramp(0, 5)), given(b, w, 0, 1), given(b, w, 0, -2)],
            pad_mode=_mode,
        )
    for _dtype in TYPES:
        add(
            f"Pad-12 {_mode} {_dtype}",
            12,
            lambda b, d=_dtype: [b.param(ramp(4, 5, dtype=d)), given(b, "const", 1, 0), given(b, "const", 0, 2)],
            pad_mode=_mode,
        )
for _opset in (1, 12):
    for _dtype in ("f4", "i4", "i8", "u1"):
        add(
            f"Pad-{_opset} value {_dtype}",
            _opset,
            lambda b, d=_dtype: [
                b.param(ramp(3, 4, dtype=d)),
                given(b, "const", 1, 2),
                given(b, "const", 0, 1),
                b.const(np.array(7, d)),
            ],
            pad_mode="constant",
        )
    # the plugin takes 0 for a value that is computed
    add(
        f"Pad-{_opset} computed value",
        _opset,
        lambda b: [b.param(ramp(3, 4)), given(b, "const", 1, 2), given(b, "const", 0, 1), b.param(np.float32(7))],
        pad_mode="constant",
        engine="evaluate",
    )
add(
    "Pad-1 nothing",
    1,
    lambda b: [b.param(ramp(0, 3)), given(b, "const", 1, 0), given(b, "const", 1, 2)],
    pad_mode="constant",
)

# the other way round

for _name, (_mode, _axes) in table(
    {
        "one": ("index", (1,)),
        "two": ("index", (0, -1)),
        "none": ("index", ()),
        "mask": ("mask", (True, False, True)),
    }
):
    for _dtype in ("f4", "i4", "u1"):
        add(
            f"Reverse-1 {_name} {_dtype}",
            1,
            lambda b, a=_axes, m=_mode, d=_dtype: [
                b.param(ramp(2, 3, 4, dtype=d)),
                b.const(np.array(a, "bool" if m == "mask" else "i8")),
            ],
            mode=_mode,
        )
for _batch, _seq, _shape in (
    (0, 1, (3, 4, 2)),
    (1, 0, (4, 3, 2)),
    (0, 2, (3, 2, 4)),
    (2, 1, (2, 4, 3)),
    (1, -1, (2, 3, 4)),
    (-3, 1, (3, 4, 2)),
):
    for _dtype in ("f4", "i4"):
        for _lengths in ("i4", "i8"):
            add(
                f"ReverseSequence-1 {_batch} {_seq} {_dtype} {_lengths}",
                1,
                lambda b, s=_shape, d=_dtype, n=_lengths: [b.param(ramp(*s, dtype=d)), b.param(np.array([1, 4, 3], n))],
                batch_axis=_batch,
                seq_axis=_seq,
            )
for _name, (_shifts, _axes) in table(
    {
        "one": ((2,), (1,)),
        "two": ((2, -1), (0, 1)),
        "same axis": ((1, 2), (1, 1)),
        "far": ((-17,), (-1,)),
        "whole": ((4,), (0,)),
    }
):
    for _where in WHERES:
        add(
            f"Roll-7 {_name} {_where}",
            7,
            lambda b, s=_shifts, a=_axes, w=_where: [b.param(ramp(4, 5, 3)), given(b, w, *s), given(b, w, *a)],
        )
for _dtype in TYPES:
    add(
        f"Roll-7 {_dtype}",
        7,
        lambda b, d=_dtype: [b.param(ramp(4, 5, dtype=d)), given(b, "const", 1), given(b, "const", 1)],
    )


def rolled(data: Array, shift: Array | None = None, axes: Array | None = None) -> list[Array]:
    """roll-7, of which OpenVINO runs no scalar shift."""
    return [np.roll(data, 3, (0, 1))]


for _where in WHERES:
    add(
        f"Roll-7 for all {_where}",
        7,
        lambda b, w=_where: [b.param(ramp(4, 5)), getattr(b, w)(np.int64(3)), given(b, w, 0, 1)],
        witness=rolled,
    )
add("Roll-7 nothing", 7, lambda b: [b.param(ramp(0, 5)), given(b, "const", 1), given(b, "const", 0)])
