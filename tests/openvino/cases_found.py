"""Reductions, sums, selection and scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine, Variant
from tests.openvino.cases_elementwise import numbers, table
from tests.openvino.movement import given, ramp

CASES: dict[str, Case] = {}
Inputs = Callable[..., list[Any]]
Array = npt.NDArray[Any]
Witness = Callable[..., Sequence[Array]]
WHERES = ("const", "param")
TYPES = ("f4", "f2", "i4", "i8", "u1", "i1")


def add(
    name: str,
    opset: int,
    inputs: Inputs,
    *,
    engine: Engine = "plugin",
    witness: Witness | None = None,
    variants: Sequence[Variant] = ("static", "dynamic"),
    rtol: float | None = None,
    **attributes: Any,
) -> None:
    """A case of one layer, called `TYPE-OPSET`, then what is special."""
    kind = name.split("-")[0]
    CASES[name] = Case(
        lambda b: b.op(opset, kind, inputs(b), **attributes),
        engine=engine,
        witness=witness,
        variants=variants,
        rtol=rtol,
    )


# reductions


def infinite(kind: str) -> Witness:
    return lambda data: [np.full((2, 1, 4), -np.inf if kind == "ReduceMax" else np.inf, "f4")]


AXES = {"one": (1,), "two": (0, 2), "negative": (-1,), "all": (0, 1, 2)}
for _kind, _opset in (
    ("ReduceSum", 1),
    ("ReduceMean", 1),
    ("ReduceProd", 1),
    ("ReduceMax", 1),
    ("ReduceMin", 1),
    ("ReduceL1", 4),
    ("ReduceL2", 4),
):
    for _name, _axes in AXES.items():
        for _keeps in (True, False):
            for _where in WHERES if _keeps else ("const",):
                add(
                    f"{_kind}-{_opset} {_name} {_keeps} {_where}",
                    _opset,
                    lambda b, a=_axes, w=_where: [b.param(b.floats(2, 3, 4)), given(b, w, *a)],
                    keep_dims=_keeps,
                    rtol=1e-4,
                    engine="evaluate" if _where == "param" else "plugin",
                )
    for _dtype in TYPES:
        add(
            f"{_kind}-{_opset} {_dtype}",
            _opset,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, 4, low=-3, high=3)), given(b, "const", 1, dtype="i4")],
            keep_dims=False,
            rtol=4e-3,
        )
    add(
        f"{_kind}-{_opset} scalar axis",
        _opset,
        lambda b: [b.param(b.floats(2, 3)), b.const(np.int64(1))],
        keep_dims=False,
        rtol=1e-4,
    )
    add(
        f"{_kind}-{_opset} no axes",
        _opset,
        lambda b: [b.param(b.floats(2, 3)), b.param(np.zeros(0, "i8"))],
        keep_dims=False,
        engine="evaluate",
        variants=("static",),
    )
    # of nothing the plugin has the lowest number as the largest, not minus infinity
    add(
        f"{_kind}-{_opset} nothing",
        _opset,
        lambda b: [b.param(b.floats(2, 0, 4)), given(b, "const", 1)],
        keep_dims=True,
        witness=infinite(_kind) if _kind in ("ReduceMax", "ReduceMin") else None,
    )
    add(
        f"{_kind}-{_opset} beside nothing",
        _opset,
        lambda b: [b.param(b.floats(2, 0, 4)), given(b, "const", 0)],
        keep_dims=False,
    )
for _kind in ("ReduceLogicalAnd", "ReduceLogicalOr"):
    for _name, _axes in AXES.items():
        for _keeps in (True, False):
            add(
                f"{_kind}-1 {_name} {_keeps}",
                1,
                lambda b, a=_axes: [b.param(b.bools(2, 3, 4)), given(b, "const", *a)],
                keep_dims=_keeps,
            )
    add(f"{_kind}-1 nothing", 1, lambda b: [b.param(b.bools(2, 0)), given(b, "const", 1)], keep_dims=True)
for _exclusive in (False, True):
    for _reverse in (False, True):
        for _axis in (0, 1, -1):
            add(
                f"CumSum-3 {_exclusive} {_reverse} {_axis}",
                3,
                lambda b, a=_axis: [b.param(b.floats(2, 3, 4)), b.const(np.int64(a))],
                exclusive=_exclusive,
                reverse=_reverse,
                rtol=1e-4,
            )
for _dtype in TYPES:
    add(f"CumSum-3 {_dtype}", 3, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 5)), b.const(np.int32(1))], rtol=3e-3)
add("CumSum-3 computed axis", 3, lambda b: [b.param(b.floats(2, 5)), b.param(np.int64(1))], rtol=1e-4)
add("CumSum-3 nothing", 3, lambda b: [b.param(b.floats(2, 0)), b.const(np.int64(1))])

# the largest


def shuffled(b: Build, dtype: str, *shape: int) -> Array:
    """All different, in a random order."""
    count = int(np.prod(shape))
    return np.random.default_rng(b.seed).permutation(count).reshape(shape).astype(dtype)


for _mode in ("max", "min"):
    for _sort in ("value", "index"):
        for _axis in (0, 1, -1):
            for _opset in (1, 3, 11):
                if _opset == 11 or _axis >= 0:
                    add(
                        f"TopK-{_opset} {_mode} {_sort} {_axis}",
                        _opset,
                        lambda b: [b.param(shuffled(b, "f4", 4, 5, 6)), b.const(np.int64(3))],
                        mode=_mode,
                        sort=_sort,
                        axis=_axis,
                    )
    for _dtype in TYPES:
        add(
            f"TopK-3 {_mode} {_dtype}",
            3,
            lambda b, d=_dtype: [b.param(shuffled(b, d, 4, 9)), b.const(np.int64(4))],
            mode=_mode,
            sort="value",
            axis=1,
        )
    for _sort in ("value", "index"):
        add(
            f"TopK-11 {_mode} {_sort} stable",
            11,
            lambda b: [b.param(b.integers(3, 20, low=0, high=5, dtype="i4")), b.const(np.int64(7))],
            mode=_mode,
            sort=_sort,
            axis=1,
            stable=True,
            engine="evaluate",
        )
for _opset in (3, 11):
    for _type in ("i32", "i64"):
        add(
            f"TopK-{_opset} {_type}",
            _opset,
            lambda b: [b.param(shuffled(b, "f4", 4, 5)), b.const(np.int64(2))],
            mode="max",
            sort="value",
            axis=1,
            index_element_type=_type,
        )
for _opset in (1, 3, 11):
    for _name, _dims, _count, _kind, _sort, _axis in (
        ("computed", (4, 5), np.int64(2), "param", "value", 0),
        ("whole", (4, 5), np.int32(5), "const", "value", 1),
        ("one", (4, 5), np.int64(1), "const", "none", 1),
        ("nothing", (0, 5), np.int64(2), "const", "value", 1),
    ):
        add(
            f"TopK-{_opset} {_name}",
            _opset,
            lambda b, s=_dims, n=_count, k=_kind: [b.param(shuffled(b, "f4", *s)), getattr(b, k)(n)],
            mode="max",
            sort=_sort,
            axis=_axis,
        )

# those that are not zero, those that differ

for _dtype in (*TYPES, "bool"):
    for _type in ("i32", "i64"):
        add(
            f"NonZero-3 {_dtype} {_type}",
            3,
            lambda b, d=_dtype: [b.param(numbers(b, d, 3, 4, low=-1, high=1).round().astype(d))],
            output_type=_type,
        )
for _shape in ((7,), (0, 3), (2, 3, 2)):
    add(f"NonZero-3 {_shape}", 3, lambda b, s=_shape: [b.param(b.bools(*s))], output_type="i64")
for _sorted in (True, False):
    for _dtype in ("f4", "i4", "i8", "u1", "i1", "f2"):
        add(
            f"Unique-10 {_sorted} {_dtype}",
            10,
            lambda b, d=_dtype: [b.param(b.integers(3, 5, low=0, high=6, dtype="i8").astype(d))],
            sorted=_sorted,
        )
    for _axis in (0, 1, -1):
        add(
            f"Unique-10 {_sorted} axis {_axis}",
            10,
            lambda b, a=_axis: [b.param(b.integers(4, 5, 2, low=0, high=2).astype("f4")), b.const(np.int64(a))],
            sorted=_sorted,
        )
for _index, _count in (("i32", "i64"), ("i64", "i32")):
    add(
        f"Unique-10 {_index} {_count}",
        10,
        lambda b: [b.param(b.integers(9, low=0, high=4, dtype="i4"))],
        index_element_type=_index,
        count_element_type=_count,
    )
for _opset in (1, 16):
    for _axis in (0, 1, -1):
        for _dtype in ("f4", "i4", "i8", "bool", "u1", "f2"):
            for _of in ("i4", "i8"):
                add(
                    f"OneHot-{_opset} {_axis} {_dtype} {_of}",
                    _opset,
                    lambda b, d=_dtype, i=_of: [
                        b.param(np.array([[0, 3, 1], [2, 5, 7]], i)),
                        b.const(np.int64(5)),
                        b.const(np.array(3, d)),
                        b.const(np.array(0, d)),
                    ],
                    axis=_axis,
                )
    add(
        f"OneHot-{_opset} computed",
        _opset,
        lambda b: [
            b.param(np.array([1, 0], "i4")),
            b.param(np.int32(3)),
            b.param(np.float32(2)),
            b.param(np.float32(-1)),
        ],
        axis=-1,
    )
    add(
        f"OneHot-{_opset} scalar",
        _opset,
        lambda b: [b.param(np.int32(1)), b.const(np.int32(3)), b.const(np.float32(2)), b.const(np.float32(-1))],
        axis=0,
    )
    add(
        f"OneHot-{_opset} nothing",
        _opset,
        lambda b: [b.param(np.zeros(0, "i4")), b.const(np.int32(3)), b.const(np.float32(2)), b.const(np.float32(-1))],
        axis=0,
    )
for _of, _dtype, _axis in product(("u4",), ("f4", "i8"), (0, -1)):
    add(
        f"OneHot-1 of {_of}, {_dtype}, {_axis}",
        1,
        lambda b, d=_dtype, i=_of: [
            b.param(np.array([[0, 3, 1], [2, 5, 7]], i)),
            b.const(np.int64(5)),
            b.const(np.array(3, d)),
            b.const(np.array(-2, d)),
        ],
        axis=_axis,
    )
for _opset, _mode in ((16, "ignore_negative"), (16, "normalize")):
    add(
        f"OneHot-16 {_mode}",
        16,
        lambda b: [
            b.param(np.array([-1, 2, -3, -9], "i4")),
            b.const(np.int32(3)),
            b.const(np.float32(1)),
            b.const(np.float32(0)),
        ],
        axis=-1,
        negative_indices_mode=_mode,
    )
add(
    "OneHot-1 negative",
    1,
    lambda b: [
        b.param(np.array([-1, 2, -3], "i4")),
        b.const(np.int32(3)),
        b.const(np.float32(1)),
        b.const(np.float32(0)),
    ],
    axis=-1,
)
for _right in (True, False):
    for _data, _ends in (("f4", "f4"), ("i4", "f4"), ("i8", "i4"), ("f4", "i8"), ("f2", "f4"), ("u1", "i4")):
        for _type in ("i32", "i64"):
            add(
                f"Bucketize-3 {_right} {_data} {_ends} {_type}",
                3,
                lambda b, d=_data, e=_ends: [
                    b.param(numbers(b, d, 3, 4, low=-9, high=9).round().astype(d)),
                    b.const(np.array([-4, 0, 3, 6], e)),
                ],
                output_type=_type,
                with_right_bound=_right,
            )
    add(
        f"Bucketize-3 {_right} no ends",
        3,
        lambda b: [b.param(b.floats(3)), b.param(np.zeros(0, "f4"))],
        output_type="i32",
        with_right_bound=_right,
    )
    for _name, (_ordered, _values) in table(
        {
            "rows": ((2, 5), (2, 3)),
            "vector": ((5,), (2, 3)),
            "deep": ((2, 2, 5), (2, 2, 1)),
            "of scalar": ((5,), ()),
        }
    ):
        for _dtype in ("f4", "i4", "i8"):
            add(
                f"SearchSorted-15 {_right} {_name} {_dtype}",
                15,
                lambda b, o=_ordered, v=_values, d=_dtype: [
                    b.param(np.sort(b.integers(*o).astype(d))),
                    b.param(b.integers(*v).astype(d)),
                ],
                right_mode=_right,
            )
# without indices of unknown sizes the plugin fails
for _name, (_rows, _indices) in table(
    {
        "some": (5, [[0, 1], [0, 3], [2, 0], [3, 1]]),
        "none": (3, [[0, 0], [1, 1], [2, 0]]),
        "all": (3, []),
        "last": (4, [[0, 2]]),
    }
):
    for _dtype in ("f4", "i4"):
        for _of in ("i4", "i8"):
            add(
                f"SparseFillEmptyRows-16 {_name} {_dtype} {_of}",
                16,
                lambda b, r=_rows, i=_indices, d=_dtype, o=_of: [
                    b.param(ramp(len(i), dtype=d)),
                    b.param(np.array([r, 4], o)),
                    b.param(np.array(i, o).reshape(-1, 2)),
                    b.param(np.array(42, d)),
                ],
                variants=("static",) if _name == "all" else ("static", "dynamic"),
            )

# written; the plugin has no scalar indices of ScatterUpdate, and SliceScatter with computed limits writes out of bounds


def written(data: Array, updates: Array, *limits: Array) -> list[Array]:
    """slice-scatter-15, which OpenVINO does not run right with computed limits."""
    axes = limits[3] if len(limits) == 4 else range(len(limits[0]))
    place = [slice(None)] * data.ndim
    for axis, start, stop, step in zip(axes, *limits[:3], strict=True):
        place[axis] = slice(start, stop, step)
    made = data.copy()
    made[tuple(place)] = updates
    return [made]


REDUCTIONS = ("none", "sum", "prod", "min", "max", "mean")
for _opset in (3, 12):
    for _axis in (0, 1, -1):
        for _dtype in TYPES:
            add(
                f"ScatterElementsUpdate-{_opset} {_axis} {_dtype}",
                _opset,
                lambda b, a=_axis, d=_dtype: [
                    b.param(ramp(3, 4, dtype=d)),
                    b.param(np.array([[0, 2], [1, 0]], "i4")),
                    b.param(np.array([[90, 91], [92, 93]], d)),
                    b.const(np.int64(a)),
                ],
            )
for _reduction in REDUCTIONS:
    for _initial in (True, False):
        for _dtype in ("f4", "i4", "i8", "f2", "u1", "i1"):
            add(
                f"ScatterElementsUpdate-12 {_reduction} {_initial} {_dtype}",
                12,
                lambda b, d=_dtype: [
                    b.param(numbers(b, d, 3, 4)),
                    b.param(np.array([[0, 2, 0, 1], [1, 0, 0, 1], [0, 2, 0, 1]], "i8")),
                    b.param(numbers(b, d, 3, 4)),
                    b.const(np.int64(0)),
                ],
                reduction=_reduction,
                use_init_val=_initial,
                rtol=3e-3,
            )
add(
    "ScatterElementsUpdate-12 negative",
    12,
    lambda b: [
        b.param(ramp(4)),
        b.param(np.array([-1, 0], "i4")),
        b.param(np.array([7, 8], "f4")),
        b.const(np.int64(0)),
    ],
)
add(
    "ScatterElementsUpdate-12 nothing",
    12,
    lambda b: [b.param(ramp(4)), b.param(np.zeros(0, "i4")), b.param(np.zeros(0, "f4")), b.const(np.int64(0))],
    reduction="sum",
)
for _opset in (4, 15):
    for _name, (_shape, _indices) in table(
        {
            "rows": ((4, 3), [[0], [2]]),
            "elements": ((4, 3), [[0, 1], [3, 2]]),
            "blocks": ((2, 3, 4), [[[1], [0]]]),
        }
    ):
        for _dtype in TYPES:
            for _of in ("i4", "i8"):

                def _written(
                    b: Build, s: tuple[int, ...] = _shape, i: Any = _indices, d: str = _dtype, o: str = _of
                ) -> list[Any]:
                    at = np.array(i, o)
                    return [
                        b.param(ramp(*s, dtype=d)),
                        b.param(at),
                        b.param(numbers(b, d, *at.shape[:-1], *s[at.shape[-1] :])),
                    ]

                add(f"ScatterNDUpdate-{_opset} {_name} {_dtype} {_of}", _opset, _written)
for _reduction in ("none", "sum", "sub", "prod", "min", "max"):
    for _dtype in ("f4", "i4", "i8", "u1", "f2"):
        add(
            f"ScatterNDUpdate-15 {_reduction} {_dtype}",
            15,
            lambda b, d=_dtype: [
                b.param(numbers(b, d, 4, 3, low=3, high=9)),
                b.param(np.array([[0], [2], [3]], "i4")),
                b.param(numbers(b, d, 3, 3)),
            ],
            reduction=_reduction,
            rtol=3e-3,
        )
    add(
        f"ScatterNDUpdate-15 {_reduction} twice",
        15,
        lambda b: [b.param(b.floats(5)), b.param(np.array([[1], [1], [4]], "i8")), b.param(b.floats(3))],
        reduction=_reduction,
        rtol=1e-4,
    )
for _name, (_shape, _at, _axis) in table(
    {
        "first": ((4, 3), (2,), 0),
        "second": ((4, 5, 2), (3,), 1),
        "last": ((4, 5), (2,), -1),
        "matrix": ((4, 5), (1, 2), 1),
        "scalar": ((4, 3), (), 0),
        "none": ((4, 3), (0,), 0),
    }
):
    for _dtype in TYPES:

        def _updated(
            b: Build, s: tuple[int, ...] = _shape, q: tuple[int, ...] = _at, a: int = _axis, d: str = _dtype
        ) -> list[Any]:
            axis = a % len(s)
            at = np.arange(int(np.prod(q)), dtype="i4").reshape(q)
            return [
                b.param(ramp(*s, dtype=d)),
                b.param(at),
                b.param(numbers(b, d, *s[:axis], *q, *s[axis + 1 :])),
                b.const(np.int64(a)),
            ]

        add(f"ScatterUpdate-3 {_name} {_dtype}", 3, _updated, engine="evaluate" if _name == "scalar" else "plugin")
for _name, (_shape, _start, _stop, _step, _axes, _size) in table(
    {
        "rows": ((5, 4), (1,), (3,), (1,), (0,), (2, 4)),
        "steps": ((5, 4), (0, 1), (5, 4), (2, 2), (0, 1), (3, 2)),
        "backwards": ((5, 4), (4,), (0,), (-2,), (0,), (2, 4)),
        "no axes": ((5, 4), (1, 1), (3, 3), (1, 1), None, (2, 2)),
        "negative axis": ((5, 4), (-2,), (100,), (1,), (-1,), (5, 2)),
        "none": ((5, 4), (2,), (2,), (1,), (0,), (0, 4)),
    }
):
    for _dtype in ("f4", "i4", "u1"):
        for _where in WHERES:
            add(
                f"SliceScatter-15 {_name} {_dtype} {_where}",
                15,
                lambda b, s=_shape, f=_start, t=_stop, k=_step, a=_axes, z=_size, d=_dtype, w=_where: [
                    b.param(ramp(*s, dtype=d)),
                    b.param(numbers(b, d, *z)),
                    given(b, w, *f),
                    given(b, w, *t),
                    given(b, w, *k),
                    *([] if a is None else [given(b, w, *a)]),
                ],
                witness=written if _where == "param" else None,
            )


def largest(ids: Sequence[int], segments: int | None) -> Witness:
    """segment-max-16 with "LOWEST", of which the plugin computes int64 in int32 and float16 in float32."""

    def of(data: Array, *_: Array) -> list[Array]:
        count = max(ids) + 1 if segments is None else segments
        low = np.finfo(data.dtype).min if data.dtype.kind == "f" else np.iinfo(data.dtype).min
        made = np.full((count, *data.shape[1:]), low, data.dtype)
        for row, segment in zip(data, ids, strict=True):
            if segment < count:
                made[segment] = np.maximum(made[segment], row)
        return [made]

    return of


for _fill in ("ZERO", "LOWEST"):
    for _dtype in ("f4", "i4", "i8", "f2", "u1", "i1"):
        for _name, (_ids, _segments) in table(
            {
                "own": ((0, 0, 1, 3), None),
                "more": ((0, 0, 1, 3), 6),
                "fewer": ((0, 1, 1, 3), 2),
            }
        ):
            for _where in WHERES:
                add(
                    f"SegmentMax-16 {_fill} {_dtype} {_name} {_where}",
                    16,
                    lambda b, i=_ids, n=_segments, d=_dtype, w=_where: [
                        b.param(numbers(b, d, 4, 3)),
                        given(b, w, *i, dtype="i4"),
                        *([] if n is None else [getattr(b, w)(np.int32(n))]),
                    ],
                    fill_mode=_fill,
                    witness=largest(_ids, _segments) if _fill == "LOWEST" and _dtype in ("i8", "f2") else None,
                )
    add(
        f"SegmentMax-16 {_fill} vector",
        16,
        lambda b: [b.param(b.floats(4)), given(b, "const", 0, 0, 2, 2)],
        fill_mode=_fill,
    )
    add(
        f"SegmentMax-16 {_fill} deep",
        16,
        lambda b: [b.param(b.floats(4, 2, 3)), given(b, "const", 0, 0, 2, 2)],
        fill_mode=_fill,
    )
