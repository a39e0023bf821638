"""Shapes, parts, slices, padding, blocks: what moves elements and computes nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine, Variant
from tests.openvino.cases_elementwise import table

CASES: dict[str, Case] = {}
Inputs = Callable[..., list[Any]]
Array = npt.NDArray[Any]
Witness = Callable[..., Sequence[Array]]
WHERES = ("const", "param")
TYPES = ("f4", "f2", "i4", "i8", "u1", "i1", "bool")


def add(
    name: str,
    opset: int,
    inputs: Inputs,
    *,
    engine: Engine = "plugin",
    witness: Witness | None = None,
    variants: Sequence[Variant] = ("static", "dynamic"),
    **attributes: Any,
) -> None:
    """A case of one layer, called `TYPE-OPSET`, then what is special."""
    kind = name.split("-")[0]
    CASES[name] = Case(
        lambda b: b.op(opset, kind, inputs(b), **attributes), engine=engine, witness=witness, variants=variants
    )


def ramp(*shape: int, dtype: str = "f4") -> Array:
    """All different, as far as the type has it."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64).reshape(shape).astype(dtype)


def given(b: Build, where: str, *numbers: Any, dtype: str = "i8") -> Any:
    """Integers as a constant or as an input, of which it is known how many there are."""
    array = np.array(numbers, dtype)
    return b.const(array) if where == "const" else b.param(array, fixed=range(array.ndim))


# shapes

for _shape in ((2, 3, 4), (), (0, 3), (1,)):
    add(f"ShapeOf-1 {_shape}", 1, lambda b, s=_shape: [b.param(ramp(*s))])
    for _type in ("i32", "i64"):
        add(f"ShapeOf-3 {_shape} {_type}", 3, lambda b, s=_shape: [b.param(ramp(*s))], output_type=_type)
for _name, (_shape, _pattern, _special) in table(
    {
        "plain": ((2, 3, 4), (4, 6), False),
        "rest": ((2, 3, 4), (2, -1), False),
        "copied": ((2, 3, 4), (0, -1), True),
        "two copied": ((2, 3, 4), (0, 0, -1), True),
        "copied and split": ((2, 3, 4), (0, 3, 2, 2), True),
        "rest and size": ((2, 6, 4), (0, -1, 8), True),
        "no elements": ((0, 3, 4), (0, -1), True),
        "no elements, divided": ((0, 6, 4), (0, 3, -1), True),
        "rest of nothing": ((0, 3), (-1, 3), False),
        "zero": ((0, 3), (0, 7), False),
        "zero and rest": ((0, 3), (0, -1), False),
        "to scalar": ((1, 1), (), False),
        "scalar": ((), (1, 1), False),
        "all": ((2, 3, 4), (-1,), True),
        "inner nothing": ((2, 0, 3), (0, 0, -1), True),
        "ones": ((2, 3), (1, 2, 1, 3), False),
    }
):
    for _where in WHERES:
        if _where == "const" or 0 not in _shape:
            add(
                f"Reshape-1 {_name} {_where}",
                1,
                lambda b, s=_shape, p=_pattern, w=_where: [b.param(ramp(*s)), given(b, w, *p)],
                special_zero=_special,
                variants=("static",) if _name == "zero and rest" else ("static", "dynamic"),
            )
add(
    "Reshape-1 i4 pattern",
    1,
    lambda b: [b.param(ramp(2, 3, 4)), given(b, "const", 0, -1, dtype="i4")],
    special_zero=True,
)
for _name, (_shape, _axes) in table(
    {
        "one": ((1, 3, 1, 4), (0,)),
        "two": ((1, 3, 1, 4), (0, 2)),
        "negative": ((1, 3, 1, 4), (-2,)),
        "twice": ((1, 3, 1, 4), (0, 0)),
        "to scalar": ((1,), (0,)),
        "nothing": ((0, 1, 3), (1,)),
    }
):
    for _where in WHERES:
        # the plugin runs nothing of unknown rank
        for _opset in (1, 15):
            add(
                f"Squeeze-{_opset} {_name} {_where}",
                _opset,
                lambda b, s=_shape, a=_axes, w=_where: [b.param(ramp(*s)), given(b, w, *a)],
                engine="evaluate" if _where == "param" else "plugin",
            )
add("Squeeze-1 all", 1, lambda b: [b.param(ramp(1, 3, 1))], engine="evaluate")
add("Squeeze-15 all", 15, lambda b: [b.param(ramp(1, 3, 1))], engine="evaluate")
add("Squeeze-1 scalar axis", 1, lambda b: [b.param(ramp(1, 3, 1)), b.const(np.int64(2))])
for _skip in (True, False):
    add(
        f"Squeeze-15 skip {_skip}",
        15,
        lambda b: [b.param(ramp(1, 3, 1, 4)), given(b, "const", 0, 2)],
        allow_axis_skip=_skip,
        engine="evaluate",
    )
add(
    "Squeeze-15 skipped",
    15,
    lambda b: [b.param(ramp(1, 3, 1, 4)), given(b, "const", 0, 1)],
    allow_axis_skip=True,
    engine="evaluate",
)
for _name, (_shape, _axes) in table(
    {
        "first": ((2, 3), (0,)),
        "two": ((2, 3), (0, 3)),
        "negative": ((2, 3), (-1,)),
        "scalar": ((), (0,)),
        "nothing": ((0,), (1,)),
        "mixed": ((2, 3), (1, -1)),
    }
):
    for _where in WHERES:
        add(
            f"Unsqueeze-1 {_name} {_where}",
            1,
            lambda b, s=_shape, a=_axes, w=_where: [b.param(ramp(*s)), given(b, w, *a)],
            engine="evaluate" if _where == "param" else "plugin",
        )
for _name, (_shape, _order) in table(
    {
        "cycle": ((2, 3, 4), (1, 2, 0)),
        "swap": ((2, 3, 4), (0, 2, 1)),
        "four": ((2, 3, 4, 5), (3, 1, 0, 2)),
        "nothing": ((0, 3, 2), (2, 0, 1)),
        "vector": ((3,), (0,)),
        "empty": ((2, 3, 4), ()),
    }
):
    for _where in WHERES:
        if _order or _where == "const":
            add(
                f"Transpose-1 {_name} {_where}",
                1,
                lambda b, s=_shape, o=_order, w=_where: [b.param(ramp(*s)), given(b, w, *o)],
            )
for _dtype in TYPES:
    add(f"Transpose-1 {_dtype}", 1, lambda b, d=_dtype: [b.param(ramp(2, 3, 4, dtype=d)), given(b, "const", 2, 0, 1)])

# broadcasting and filling


def broadcast(data: Array, target: Array | None = None) -> list[Array]:
    return [np.broadcast_to(data, (2, 0) if target is None else target)]


def tiled(data: Array, repeats: Array) -> list[Array]:
    return [np.tile(data, repeats)]


# a constant target without elements ends OpenVINO's process
for _name, (_shape, _target) in table(
    {
        "longer": ((3, 1), (2, 3, 4)),
        "scalar": ((), (2, 3)),
        "same": ((2, 3), (2, 3)),
        "nothing": ((1, 3), (0, 3)),
        "of nothing": ((0,), (2, 0)),
    }
):
    for _where in WHERES:
        for _opset in (1, 3):
            add(
                f"Broadcast-{_opset} {_name} {_where}",
                _opset,
                lambda b, s=_shape, t=_target, w=_where: [b.param(ramp(*s)), given(b, w, *t)],
                witness=broadcast if _name == "of nothing" else None,
            )
for _name, (_shape, _target, _axes) in table(
    {
        "middle": ((3,), (2, 3, 4), (1,)),
        "two": ((2, 4), (2, 3, 4), (0, 2)),
        "with one": ((1, 4), (2, 3, 4), (1, 2)),
    }
):
    for _where in WHERES:
        for _opset in (1, 3):
            add(
                f"Broadcast-{_opset} explicit {_name} {_where}",
                _opset,
                lambda b, s=_shape, t=_target, a=_axes, w=_where: [
                    b.param(ramp(*s)),
                    given(b, w, *t),
                    given(b, "const", *a),
                ],
                mode="explicit",
            )
for _name, (_shape, _target) in table(
    {
        "both": ((3, 1), (2, 1, 4)),
        "longer": ((2, 3, 4), (3, 1)),
        "one": ((2, 3), (1,)),
    }
):
    for _where in WHERES:
        add(
            f"Broadcast-3 bidirectional {_name} {_where}",
            3,
            lambda b, s=_shape, t=_target, w=_where: [b.param(ramp(*s)), given(b, w, *t)],
            mode="bidirectional",
        )
for _opset in (1, 3):
    more = [] if _opset == 3 else [0]
    add(
        f"Broadcast-{_opset} pdpd",
        _opset,
        lambda b, m=more: [b.param(ramp(2, 1, 4)), given(b, "const", 2, 3, 4), *(given(b, "const", k) for k in m)],
        mode="pdpd",
        engine="evaluate",
    )
for _dtype in TYPES:
    add(
        f"Broadcast-3 {_dtype}",
        3,
        lambda b, d=_dtype: [b.param(ramp(3, 1, dtype=d)), given(b, "const", 2, 3, 4, dtype="i4")],
    )
for _name, (_shape, _repeats) in table(
    {
        "same": ((2, 3), (2, 2)),
        "fewer": ((2, 3, 4), (2, 1)),
        "more": ((2,), (3, 1, 2)),
        "none": ((2, 3), (0, 1)),
        "nothing": ((0, 2), (2, 2)),
        "scalar": ((), (3,)),
    }
):
    for _where in WHERES:
        # with computed repeats the plugin gives garbage, and `evaluate` of nothing ends the process
        add(
            f"Tile-1 {_name} {_where}",
            1,
            lambda b, s=_shape, r=_repeats, w=_where: [b.param(ramp(*s)), given(b, w, *r)],
            witness=tiled if _where == "param" else None,
        )
for _dtype in TYPES:
    add(f"Tile-1 {_dtype}", 1, lambda b, d=_dtype: [b.param(ramp(2, 3, dtype=d)), given(b, "const", 2, 2)])
# the plugin has two elements of computed limits that lead away from each other
for _name, _limits in table(
    {
        "up": (1, 9, 2),
        "down": (9, 1, -3),
        "none": (3, 3, 1),
        "away": (3, 1, 1),
        "rest": (0, 10, 3),
    }
):
    for _dtype in ("i4", "i8", "f4"):
        for _where in WHERES:
            add(
                f"Range-1 {_name} {_dtype} {_where}",
                1,
                lambda b, n=_limits, d=_dtype, w=_where: [getattr(b, w)(np.array(k, d)) for k in n],
                engine="evaluate" if _name == "away" else "plugin",
            )
            for _to in ("i32", "i64", "f32"):
                add(
                    f"Range-4 {_name} {_dtype} {_to} {_where}",
                    4,
                    lambda b, n=_limits, d=_dtype, w=_where: [getattr(b, w)(np.array(k, d)) for k in n],
                    output_type=_to,
                    engine="evaluate" if _name == "away" else "plugin",
                )
add(
    "Range-4 fractions",
    4,
    lambda b: [b.param(np.float32(0.5)), b.param(np.float32(3.1)), b.param(np.float32(0.25))],
    output_type="f32",
)
add(
    "Range-4 cut off",
    4,
    lambda b: [b.const(np.float32(1.7)), b.const(np.float32(9.9)), b.const(np.float32(2.9))],
    output_type="i32",
)
add(
    "Range-4 f16",
    4,
    lambda b: [b.const(np.float32(1)), b.const(np.float32(9)), b.const(np.float32(2))],
    output_type="f16",
)
add("Range-4 mixed", 4, lambda b: [b.param(np.int64(1)), b.param(np.int32(9)), b.param(np.int64(2))], output_type="i64")
for _name, _numbers in table(
    {
        "square": (3, 3, 0),
        "above": (3, 4, 1),
        "below": (4, 3, -2),
        "outside": (2, 3, 5),
        "none": (0, 3, 0),
    }
):
    for _type in ("f32", "i32", "i64", "u8", "boolean", "f16"):
        for _where in WHERES:
            add(
                f"Eye-9 {_name} {_type} {_where}",
                9,
                lambda b, n=_numbers, w=_where: [getattr(b, w)(np.array(k, "i4")) for k in n],
                output_type=_type,
            )
for _where in WHERES:
    add(
        f"Eye-9 batch {_where}",
        9,
        lambda b, w=_where: [
            b.const(np.int32(2)),
            b.const(np.int32(3)),
            b.const(np.int32(0)),
            given(b, w, 2, 4, dtype="i4"),
        ],
        output_type="f32",
    )
for _first, _second in (
    ("f4", "f2"),
    ("i4", "f4"),
    ("i8", "i4"),
    ("u1", "i1"),
    ("bool", "i4"),
    ("f4", "f4"),
    ("i8", "f2"),
    ("u4", "i2"),
):
    for _scalar in (False, True):
        for _unsafe in (True, False):
            if _unsafe or (_first, _second) in (("f4", "f2"), ("i8", "i4"), ("f4", "f4")):
                add(
                    f"ConvertPromoteTypes-14 {_first} {_second} {_scalar} {_unsafe}",
                    14,
                    lambda b, f=_first, s=_second, k=_scalar: [
                        b.param(ramp(2, 3, dtype=f)),
                        b.param(np.array(5, s) if k else ramp(3, dtype=s)),
                    ],
                    promote_unsafe=_unsafe,
                    pytorch_scalar_promotion=_scalar,
                )
add(
    "ConvertPromoteTypes-14 u8 i4",
    14,
    lambda b: [b.param(ramp(2, dtype="u8")), b.param(ramp(2, dtype="i4"))],
    promote_unsafe=True,
    u64_integer_promotion_target="i64",
)

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

# blocks

for _mode in ("blocks_first", "depth_first"):
    for _name, (_shape, _block) in table(
        {
            "images": ((2, 8, 2, 3), 2),
            "volumes": ((1, 16, 2, 1, 3), 2),
            "rows": ((2, 6, 5), 3),
            "one": ((2, 3, 4, 5), 1),
            "none": ((0, 4, 2, 2), 2),
        }
    ):
        add(
            f"DepthToSpace-1 {_mode} {_name}", 1, lambda b, s=_shape: [b.param(ramp(*s))], mode=_mode, block_size=_block
        )
    for _name, (_shape, _block) in table(
        {
            "images": ((2, 3, 4, 6), 2),
            "volumes": ((1, 2, 2, 4, 2), 2),
            "rows": ((2, 2, 9), 3),
            "one": ((2, 3, 4, 5), 1),
            "none": ((0, 4, 2, 2), 2),
        }
    ):
        add(
            f"SpaceToDepth-1 {_mode} {_name}", 1, lambda b, s=_shape: [b.param(ramp(*s))], mode=_mode, block_size=_block
        )
    for _dtype in TYPES:
        add(
            f"DepthToSpace-1 {_mode} {_dtype}",
            1,
            lambda b, d=_dtype: [b.param(ramp(1, 4, 2, 3, dtype=d))],
            mode=_mode,
            block_size=2,
        )
        add(
            f"SpaceToDepth-1 {_mode} {_dtype}",
            1,
            lambda b, d=_dtype: [b.param(ramp(1, 2, 4, 2, dtype=d))],
            mode=_mode,
            block_size=2,
        )
for _name, (_shape, _block, _low, _high) in table(
    {
        "images": ((8, 2, 3, 3), (1, 1, 2, 2), (0, 0, 0, 0), (0, 0, 0, 0)),
        "cropped": ((8, 2, 3, 3), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 2)),
        "channels": ((12, 2, 1, 4), (1, 3, 2, 2), (0, 1, 0, 1), (0, 0, 1, 0)),
        "volumes": ((4, 1, 2, 3, 2), (1, 1, 2, 1, 2), (0, 0, 0, 0, 0), (0, 0, 1, 1, 0)),
    }
):
    for _dtype in ("f4", "i4", "u1"):
        add(
            f"BatchToSpace-2 {_name} {_dtype}",
            2,
            lambda b, s=_shape, k=_block, f=_low, t=_high, d=_dtype: [
                b.param(ramp(*s, dtype=d)),
                given(b, "const", *k),
                given(b, "const", *f),
                given(b, "const", *t),
            ],
        )
for _name, (_shape, _block, _low, _high) in table(
    {
        "images": ((2, 2, 4, 6), (1, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 0)),
        "padded": ((2, 2, 3, 5), (1, 1, 2, 2), (0, 0, 1, 0), (0, 0, 0, 1)),
        "channels": ((1, 3, 2, 2), (1, 2, 1, 2), (0, 1, 0, 0), (0, 0, 0, 2)),
        "volumes": ((1, 1, 4, 3, 2), (1, 1, 2, 1, 2), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0)),
    }
):
    for _dtype in ("f4", "i4", "u1"):
        add(
            f"SpaceToBatch-2 {_name} {_dtype}",
            2,
            lambda b, s=_shape, k=_block, f=_low, t=_high, d=_dtype: [
                b.param(ramp(*s, dtype=d)),
                given(b, "const", *k),
                given(b, "const", *f),
                given(b, "const", *t),
            ],
        )
for _axis, _group, _sizes in ((1, 3, (2, 6, 2, 2)), (-1, 2, (2, 3, 4, 6)), (0, 2, (4, 3, 2, 1)), (1, 1, (1, 5, 2, 2))):
    for _dtype in ("f4", "i4", "u1"):
        add(
            f"ShuffleChannels-1 {_axis} {_group} {_dtype}",
            1,
            lambda b, s=_sizes, d=_dtype: [b.param(ramp(*s, dtype=d))],
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

# of no known rank

UNRANKED: dict[str, tuple[int, Callable[..., list[Any]], dict[str, Any]]] = {
    "Relu": (1, lambda b: [b.param(ramp(2, 3))], {}),
    "Add": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(3))], {}),
    "Concat": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(2, 1))], {"axis": -1}),
    "Softmax": (8, lambda b: [b.param(ramp(2, 3))], {"axis": -1}),
    "Reshape": (1, lambda b: [b.param(ramp(2, 6)), given(b, "const", 3, -1)], {"special_zero": False}),
    "Unsqueeze": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", 0, -1)], {}),
    "Squeeze": (15, lambda b: [b.param(ramp(1, 3))], {}),
    "Transpose": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", 1, 0)], {}),
    "ShapeOf": (3, lambda b: [b.param(ramp(2, 3))], {"output_type": "i64"}),
    "Split": (1, lambda b: [b.param(ramp(2, 4)), b.const(np.int64(-1))], {"num_splits": 2}),
    "VariadicSplit": (1, lambda b: [b.param(ramp(2, 4)), b.const(np.int64(-1)), given(b, "const", -1, 1)], {}),
    "Slice": (8, lambda b: [b.param(ramp(2, 4)), *(given(b, "const", k) for k in (0, 3, 2, -1))], {}),
    "Broadcast": (3, lambda b: [b.param(ramp(1, 3)), given(b, "const", 2, 2, 3)], {}),
    "ReduceSum": (1, lambda b: [b.param(ramp(2, 3)), given(b, "const", -1)], {"keep_dims": False}),
    "TopK": (11, lambda b: [b.param(ramp(2, 3)), b.const(np.int64(2))], {"axis": -1, "mode": "max", "sort": "value"}),
    "CumSum": (3, lambda b: [b.param(ramp(2, 3)), b.const(np.int64(-1))], {}),
    "MatMul": (1, lambda b: [b.param(ramp(2, 3)), b.param(ramp(3, 2))], {"transpose_a": False, "transpose_b": False}),
    "NonZero": (3, lambda b: [b.param(ramp(2, 3))], {"output_type": "i64"}),
    "ScatterElementsUpdate": (
        12,
        lambda b: [b.param(ramp(3)), b.param(np.array([2])), b.param(ramp(1)), b.const(np.int64(0))],
        {"reduction": "sum"},
    ),
}
for _kind, (_opset, _inputs, _given) in UNRANKED.items():
    add(f"{_kind}-{_opset} unranked", _opset, _inputs, engine="reshaped", variants=("unranked",), **_given)
