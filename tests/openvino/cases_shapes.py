"""Shapes, broadcasting and filling: what moves elements and computes nothing of them."""

from __future__ import annotations

import numpy as np

from tests.openvino.cases_elementwise import table
from tests.openvino.movement import TYPES, WHERES, Array, Layers, given, ramp

CASES = Layers()
add = CASES.add

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
for _name, _ends in table(
    {
        "below one": (0.0, 5.0, 0.5),
        "halves": (0.0, 5.0, 1.5),
        "from a fraction": (0.6, 5.7, 1.0),
        "down": (3.9, 0.1, -1.2),
        "down to below zero": (-0.6, -5.7, -1.0),
    }
):
    for _to in ("i32", "i64"):
        for _dtype in ("f4", "f2", "f8"):
            add(
                f"Range-4 {_name} {_dtype} to {_to} at run time",
                4,
                lambda b, n=_ends, d=_dtype: [
                    b.const(np.array(n[0], d)),
                    b.param(np.array(n[1], d)),
                    b.const(np.array(n[2], d)),
                ],
                output_type=_to,
                variants=("static",),
            )
        add(
            f"Range-4 {_name} to {_to}, all constant",
            4,
            lambda b, n=_ends: [b.const(np.float32(k)) for k in n],
            output_type=_to,
            variants=("static",),
        )
    add(
        f"Range-4 {_name} to integers of integers and a step",
        4,
        lambda b, n=_ends: [b.param(np.int64(n[0])), b.param(np.int64(n[1])), b.param(np.float32(n[2]))],
        output_type="i32",
        variants=("static",),
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
