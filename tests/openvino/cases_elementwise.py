"""Elementwise operators and linear algebra: types, broadcasting, attributes, special values, no elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine

ODD = [0.0, -0.0, 1.5, -1.5, 2.5, -2.5, 0.5, -0.5, 0.49999997, np.inf, -np.inf, np.nan, 3.4e38, -1e-30, 88.0, -88.0]

SHIFTS = {
    "1": (0, 7, 8, 9, 31, 32, 33, 100), "2": (0, 15, 16, 17, 31, 32, 33, 100), "4": (0, 31, 32, 33, 63, 64, 100),
    "8": (0, 9, 64, 65),
}  # fmt: skip
"""By the bytes of the type; the CPU plugin computes 64 bits in 32, so that it is wrong of shifts between the two."""

CASES: dict[str, Case] = {}


Inputs = Callable[..., list[Any]]
Array = npt.NDArray[Any]
Witness = Callable[..., Sequence[Array]]


def table(rows: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Rows of all shapes."""
    return rows.items()


def add(
    name: str,
    opset: int,
    inputs: Inputs,
    *,
    rtol: float | None = None,
    engine: Engine = "plugin",
    witness: Witness | None = None,
    **attributes: Any,
) -> None:
    """A case of one layer, called `TYPE-OPSET`, then what is special."""
    kind = name.split("-")[0]
    CASES[name] = Case(lambda b: b.op(opset, kind, inputs(b), **attributes), rtol=rtol, engine=engine, witness=witness)


def numbers(b: Build, dtype: str, *shape: int, low: float = -3, high: float = 3) -> Any:
    """Random numbers of any type; unsigned ones from 0 on."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return b.bools(*shape)
    if kind == "f":
        return b.floats(*shape, low=low, high=high, dtype=dtype)
    return b.integers(*shape, low=max(int(low), 0) if kind == "u" else int(low), high=int(high) + 1, dtype=dtype)


def unary(
    kind: str, opset: int, low: float = -3, high: float = 3, types: tuple[str, ...] = ("i4", "i8"), **attributes: Any
) -> None:
    for dtype in ("f4", "f2", *types):
        add(
            f"{kind}-{opset} {dtype}",
            opset,
            lambda b, dtype=dtype: [b.param(numbers(b, dtype, 2, 3, 5, low=low, high=high))],
            rtol=3e-3 if dtype == "f2" else 1e-4,
            **attributes,
        )
    add(f"{kind}-{opset} scalar", opset, lambda b: [b.param(np.float32((low + high) / 2))], rtol=1e-4, **attributes)
    add(f"{kind}-{opset} nothing", opset, lambda b: [b.param(np.zeros((0, 3), "f4"))], **attributes)


for _kind, _opset, _low, _high in (
    ("Cos", 1, -3, 3),
    ("Exp", 1, -3, 3),
    ("Log", 1, 1, 9),
    ("Sigmoid", 1, -3, 3),
    ("Sin", 1, -3, 3),
    ("Sqrt", 1, 0, 9),
    ("Tanh", 1, -3, 3),
    ("Acos", 1, -1, 1),
    ("Acosh", 4, 1, 5),
    ("Asin", 1, -1, 1),
    ("Asinh", 4, -3, 3),
    ("Atan", 1, -3, 3),
    ("Atanh", 4, -0.9, 0.9),
    ("Cosh", 1, -3, 3),
    ("Erf", 1, -3, 3),
    ("Sinh", 1, -3, 3),
    ("Tan", 1, -1, 1),
    ("Abs", 1, -9, 9),
    ("Sign", 1, -2, 2),
    ("Negative", 1, -9, 9),
    ("Ceiling", 1, -9, 9),
    ("Floor", 1, -9, 9),
    ("Relu", 1, -3, 3),
):
    unary(_kind, _opset, _low, _high)
for _kind in ("Abs", "Sign", "Relu", "Negative"):
    for _dtype in ("i1", "u1", "u4"):
        if not (_kind == "Negative" and _dtype[0] == "u"):
            add(f"{_kind}-1 {_dtype}", 1, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 5, low=-9, high=9))])
for _kind, _opset in (("SoftPlus", 4), ("SoftSign", 9), ("Mish", 4), ("HSwish", 4), ("HSigmoid", 5)):
    unary(_kind, _opset, -5, 5, types=())
unary("ErfInv", 17, -0.99, 0.99, types=())
# the plugin has -3.12162 at -0.99999, which is -3.12321
add("ErfInv-17 ends", 17, lambda b: [b.param(np.array([-1, 1, 0, 0.9999, -0.99999, 1e-8], "f4"))], rtol=1e-3)
for _kind in ("Ceiling", "Floor", "Abs", "Sign", "Relu", "Sigmoid", "Tanh", "Exp"):
    add(f"{_kind}-1 odd", 1, lambda b: [b.param(np.array([x for x in ODD if not np.isnan(x)], "f4"))])
for _mode in ("half_to_even", "half_away_from_zero"):
    unary("Round", 5, -9, 9, types=("i4",), mode=_mode)
    # the plugin rounds x + 0.5, which is rounded itself: 0.49999997 becomes 1
    add(
        f"Round-5 {_mode}",
        5,
        engine="evaluate",
        inputs=lambda b: [b.param(np.array([*ODD, 4.5, -3.5, 8388609.0], "f4"))],
        mode=_mode,
    )
for _kind in ("IsNaN", "IsFinite", "IsInf"):
    for _dtype in ("f4", "f2"):
        add(
            f"{_kind}-10 {_dtype}", 10, lambda b, d=_dtype: [b.param(np.array([x for x in ODD if abs(x) != 3.4e38], d))]
        )
for _low, _high in ((True, False), (False, True), (False, False)):
    add(
        f"IsInf-10 {_low} {_high}",
        10,
        lambda b: [b.param(np.array(ODD, "f4"))],
        detect_negative=_low,
        detect_positive=_high,
    )
for _dtype in ("f4", "i4", "bool", "f2"):
    add(f"Identity-16 {_dtype}", 16, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3))])

# two inputs

BINARY = (
    "Add",
    "Subtract",
    "Multiply",
    "Maximum",
    "Minimum",
    "Power",
    "SquaredDifference",
    "Divide",
    "FloorMod",
    "Mod",
)
COMPARED = ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual")
BROADCASTS = {
    "same": ((2, 3, 4), (2, 3, 4)),
    "both": ((2, 1, 4), (3, 1)),
    "scalar": ((2, 3), ()),
    "left": ((4,), (2, 3, 4)),
    "nothing": ((0, 4), (1, 4)),
    "nothing by one": ((0, 1), (1,)),
}


def pair(b: Build, kind: str, dtype: str, first: tuple[int, ...], second: tuple[int, ...]) -> list[Any]:
    """Two inputs of a type that suit an operator."""
    low = 0 if kind == "Power" else -7
    a = numbers(b, dtype, *first, low=low, high=3 if kind == "Power" else 7)
    c = numbers(b, dtype, *second, low=low, high=3)
    if kind in ("Divide", "FloorMod", "Mod"):
        c = np.where(np.abs(c) < 0.5, np.array(2, dtype), c).astype(dtype)
    return [b.param(a), b.param(c)]


WITNESSES: dict[str, Witness] = {
    "Divide": lambda a, b: [np.floor_divide(a, b)],
    "SquaredDifference": lambda a, b: [(a - b) ** 2],
}
"""For bytes, which `evaluate` has no kernels of; the plugin cuts quotients off and has no squares of differences.

Of all integers the plugin cuts quotients off, and it saturates differences of bytes.
"""

for _kind in (*BINARY, *COMPARED):
    for _name, (_first, _second) in table(BROADCASTS):
        add(f"{_kind}-1 {_name}", 1, lambda b, k=_kind, f=_first, s=_second: pair(b, k, "f4", f, s), rtol=1e-4)
    for _dtype in ("f2", "i4", "i8", "i1", "u1", "f8"):
        add(
            f"{_kind}-1 {_dtype}",
            1,
            lambda b, k=_kind, d=_dtype: pair(b, k, d, (2, 3, 4), (3, 1)),
            rtol=3e-3,
            engine="evaluate" if _kind in ("Divide", "Subtract") and _dtype[0] in "iu" else "plugin",
            witness=WITNESSES.get(_kind) if _dtype in ("i1", "u1") else None,
        )
    add(f"{_kind}-1 none", 1, lambda b, k=_kind: pair(b, k, "f4", (2, 3), (2, 3)), auto_broadcast="none", rtol=1e-4)
for _kind in COMPARED:
    add(f"{_kind}-1 boolean", 1, lambda b: [b.param(b.bools(3, 4)), b.param(b.bools(3, 4))])
    # in the plugin everything is greater than NaN
    add(
        f"{_kind}-1 odd",
        1,
        lambda b: [b.param(np.array(ODD, "f4")), b.param(np.array(ODD[::-1], "f4"))],
        engine="evaluate",
    )
for _kind in ("LogicalAnd", "LogicalOr", "LogicalXor", "Xor"):
    for _name, (_first, _second) in table(BROADCASTS):
        add(f"{_kind}-1 {_name}", 1, lambda b, f=_first, s=_second: [b.param(b.bools(*f)), b.param(b.bools(*s))])
add("LogicalNot-1", 1, lambda b: [b.param(b.bools(3, 4))])
for _kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    for _dtype in ("i4", "i8", "u1", "i1", "bool", "u2", "i2"):
        add(
            f"{_kind}-13 {_dtype}",
            13,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, low=-9, high=99)), b.param(numbers(b, d, 3, high=99))],
        )
for _dtype in ("i4", "i8", "u1", "i1", "bool", "u2"):
    add(f"BitwiseNot-13 {_dtype}", 13, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, low=-9, high=99))])
for _kind in ("BitwiseLeftShift", "BitwiseRightShift"):
    for _dtype in ("i4", "i8", "u1", "i1", "u4", "u2", "i2", "u8"):
        add(
            f"{_kind}-15 {_dtype}",
            15,
            lambda b, d=_dtype: [
                b.param(numbers(b, d, 2, 3, low=-9, high=12)),
                b.param(numbers(b, d, 3, low=0, high=3)),
            ],
        )
    for _dtype in ("i4", "i8", "u1", "i1", "u4", "u2", "i2", "u8"):
        for _where in ("param", "const"):
            add(
                f"{_kind}-15 {_dtype} by its width and beyond, {_where}",
                15,
                lambda b, d=_dtype, w=_where: [
                    b.param(np.array([[3], [100], [77 if d[0] == "u" else -100]], d)),
                    getattr(b, w)(np.array(SHIFTS[d[1]], d)),
                ],
            )
for _m in (True, False):
    for _dtype in ("i4", "f4"):
        add(
            f"Divide-1 {_dtype} {_m}",
            1,
            lambda b, d=_dtype: pair(b, "Divide", d, (3, 4), (4,)),
            m_pythondiv=_m,
            rtol=1e-4,
            engine="evaluate",
        )
# the plugin has no Select that broadcasts like PaddlePaddle
PDPD = {
    "same": ((2, 3), (2, 3), 0),
    "first": ((2, 3, 4), (2, 3), 0),
    "middle": ((2, 3, 4), (3,), 1),
    "ones": ((2, 3, 4), (3, 1), 1),
    "last": ((2, 3, 4), (3, 4), -1),
    "scalar": ((2, 3), (), 0),
}
for _kind in ("Add", "Multiply", "Less", "LogicalAnd", "Select"):
    for _name, (_first, _second, _axis) in table(PDPD):
        add(
            f"{_kind}-1 pdpd {_name}",
            1,
            lambda b, k=_kind, s=(_first, _second): (
                [b.param(b.bools(*s[1]))] * (k == "Select")
                + [b.param((b.bools if k == "LogicalAnd" else b.floats)(*shape)) for shape in s]
            ),
            engine="evaluate",
            **{"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": _axis},
        )

# what may be a condition
for _name, (_c, _a, _e) in table(
    {
        "same": ((2, 3), (2, 3), (2, 3)),
        "both": ((3, 1), (1, 4), (2, 1, 1)),
        "scalars": ((), (2, 3), ()),
        "nothing": ((0, 3), (1, 3), (3,)),
    }
):
    for _dtype in ("f4", "f2", "i4", "i8", "u1", "bool", "i1"):
        add(
            f"Select-1 {_name} {_dtype}",
            1,
            lambda b, c=_c, a=_a, e=_e, d=_dtype: [
                b.param(b.bools(*c)),
                b.param(numbers(b, d, *a)),
                b.param(numbers(b, d, *e)),
            ],
        )
add(
    "Select-1 none",
    1,
    lambda b: [b.param(b.bools(2, 3)), b.param(b.floats(2, 3)), b.param(b.floats(2, 3))],
    auto_broadcast="none",
)

# activations


def selu(x: Array, alpha: Array, gamma: Array) -> list[Array]:
    """selu-1; OpenVINO runs it with constants alone."""
    return [(gamma * np.where(x > 0, x, alpha * (np.exp(x) - 1))).astype(x.dtype)]


def hard_sigmoid(x: Array, alpha: Array, beta: Array) -> list[Array]:
    """hard-sigmoid-1; OpenVINO runs it with constants alone."""
    return [np.clip(alpha * x + beta, 0, 1).astype(x.dtype)]


for _low, _high in ((0.0, 6.0), (-1.5, 1.5), (-3.4e38, 3.4e38), (-np.inf, 2.0)):
    for _dtype in ("f4", "f2", "i4", "u1", "i8", "i1"):
        if np.isfinite(_low):
            add(
                f"Clamp-1 {_low} {_high} {_dtype}",
                1,
                lambda b, d=_dtype: [b.param(numbers(b, d, 2, 9, low=-9, high=9))],
                min=_low,
                max=_high,
            )
for _dtype in ("f4", "f2"):
    add(f"Elu-1 {_dtype}", 1, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 9))], alpha=0.7, rtol=2e-3)
    for _where in ("const", "param"):
        add(
            f"Selu-1 {_dtype} {_where}",
            1,
            lambda b, d=_dtype, w=_where: [
                b.param(numbers(b, d, 2, 9)),
                getattr(b, w)(np.array([1.7], d)),
                getattr(b, w)(np.array([1.1], d)),
            ],
            rtol=2e-3,
            witness=selu if _where == "param" else None,
        )
        add(
            f"HardSigmoid-1 {_dtype} {_where}",
            1,
            lambda b, d=_dtype, w=_where: [
                b.param(numbers(b, d, 2, 9)),
                getattr(b, w)(np.array(0.3, d)),
                getattr(b, w)(np.array(0.4, d)),
            ],
            rtol=2e-3,
            witness=hard_sigmoid if _where == "param" else None,
        )
        add(
            f"Swish-4 {_dtype} {_where}",
            4,
            lambda b, d=_dtype, w=_where: [b.param(numbers(b, d, 2, 9)), getattr(b, w)(np.array(0.7, d))],
            rtol=2e-3,
        )
    add(f"Swish-4 {_dtype}", 4, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 9))], rtol=2e-3)
    add(f"Gelu-2 {_dtype}", 2, lambda b, d=_dtype: [b.param(numbers(b, d, 2, 9))], rtol=2e-3)
    for _mode in ("ERF", "TANH"):
        add(
            f"Gelu-7 {_dtype} {_mode}",
            7,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 9))],
            approximation_mode=_mode,
            rtol=2e-3,
        )
    for _axis in (0, 1, 2):
        add(
            f"Softmax-1 {_dtype} {_axis}",
            1,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, 5))],
            axis=_axis,
            rtol=2e-3,
        )
    for _axis in (-1, -2, 1):
        add(
            f"Softmax-8 {_dtype} {_axis}",
            8,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, 5))],
            axis=_axis,
            rtol=2e-3,
        )
        add(
            f"LogSoftmax-5 {_dtype} {_axis}",
            5,
            lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3, 5))],
            axis=_axis,
            rtol=2e-3,
        )
for _name, (_data, _slope) in table(
    {
        "channels": ((2, 3, 4, 5), (3,)),
        "one": ((2, 3, 4), (1,)),
        "last": ((2, 3, 4), (4,)),
        "matrix": ((2, 3), (3,)),
        "full": ((2, 3, 4), (2, 3, 4)),
        "numpy": ((2, 3, 4), (3, 1)),
        "vector": ((5,), (5,)),
        "square": ((2, 3, 3), (3,)),
        "scalar": ((2, 3), ()),
        "nothing": ((0, 3, 4), (3,)),
    }
):
    for _where in ("const", "param"):
        # the plugin takes every vector for one of channels when dims are not known
        add(
            f"PRelu-1 {_name} {_where}",
            1,
            lambda b, d=_data, s=_slope, w=_where: [b.param(b.floats(*d)), getattr(b, w)(b.floats(*s))],
            engine="evaluate" if _name == "last" else "plugin",
        )
add("PRelu-1 f2", 1, lambda b: [b.param(b.floats(2, 3, 4, dtype="f2")), b.const(b.floats(3, dtype="f2"))])

# linear algebra

for _name, (_a, _b, _ta, _tb) in table(
    {
        "matrices": ((3, 4), (4, 5), False, False),
        "both turned": ((4, 3), (5, 4), True, True),
        "batched": ((2, 3, 4), (2, 4, 5), False, False),
        "batch of one": ((2, 1, 3, 4), (7, 4, 5), False, False),
        "vectors": ((4,), (4,), False, False),
        "vector left": ((4,), (2, 4, 3), True, False),
        "vector right": ((2, 3, 4), (4,), False, True),
        "right turned": ((2, 3, 4), (5, 4), False, True),
        "no inner": ((3, 0), (0, 5), False, False),
        "no rows": ((0, 4), (4, 5), False, False),
        "left turned": ((1, 4, 3), (4, 2), True, False),
    }
):
    add(
        f"MatMul-1 {_name}",
        1,
        lambda b, x=_a, y=_b: [b.param(b.floats(*x)), b.param(b.floats(*y))],
        transpose_a=_ta,
        transpose_b=_tb,
        rtol=1e-4,
    )
for _dtype in ("f2", "i4", "i8", "i1", "u1", "f8"):
    add(
        f"MatMul-1 {_dtype}",
        1,
        lambda b, d=_dtype: [b.param(numbers(b, d, 2, 3)), b.param(numbers(b, d, 3, 2))],
        transpose_a=False,
        transpose_b=False,
        rtol=3e-3,
    )
for _equation, _shapes in table(
    {
        "ij,jk->ik": ((2, 3), (3, 4)),
        "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
        "i,j->ij": ((3,), (4,)),
        "ii->i": ((3, 3),),
        "ij->ji": ((2, 3),),
        "...ij,jk->...ik": ((2, 5, 3, 4), (4, 2)),
        "ab,cd": ((2, 3), (4, 5)),
        "ij,j->": ((2, 3), (3,)),
        "abc->ca": ((2, 3, 4),),
        "Ab,bc,cA->A": ((2, 3), (3, 4), (4, 2)),
        "ij,ij->i": ((2, 3), (2, 3)),
        "ii->": ((4, 4),),
    }
):
    add(
        f"Einsum-7 {_equation}",
        7,
        lambda b, s=_shapes: [b.param(b.floats(*shape)) for shape in s],
        equation=_equation,
        rtol=1e-4,
    )
add(
    "Einsum-7 i4",
    7,
    lambda b: [b.param(b.integers(2, 3, dtype="i4")), b.param(b.integers(3, 4, dtype="i4"))],
    equation="ij,jk->ik",
)
for _shape in ((3, 3), (2, 4, 4), (2, 3, 2, 2), (1, 1), (5, 7, 7)):
    for _adjoint in (False, True):
        for _dtype in ("f4", "f2"):
            add(
                f"Inverse-14 {_shape} {_adjoint} {_dtype}",
                14,
                lambda b, s=_shape, d=_dtype: [b.param(b.floats(*s, dtype=d))],
                adjoint=_adjoint,
                rtol=2e-3 if _dtype == "f4" else 5e-2,
            )


def grouped(a: Array, b: Array, ends: Array | None = None) -> list[Array]:
    """grouped-matmul-17, which OpenVINO's CPU does not run."""
    if ends is None:
        return [a @ b.transpose(0, 2, 1)]
    sizes = np.diff(ends, prepend=0)
    return [np.concatenate([a[end - size : end] @ w.T for w, end, size in zip(b, ends, sizes, strict=True)])]


add(
    "GroupedMatMul-17 batched",
    17,
    lambda b: [b.param(b.floats(3, 2, 4)), b.param(b.floats(3, 5, 4))],
    rtol=1e-4,
    witness=grouped,
)
for _ends in ((2, 5, 7), (0, 7, 7), (7, 7, 7), (3, 3, 7)):
    add(
        f"GroupedMatMul-17 {_ends}",
        17,
        lambda b, e=_ends: [b.param(b.floats(7, 4)), b.param(b.floats(3, 5, 4)), b.param(np.array(e, "i4"))],
        rtol=1e-4,
        witness=grouped,
    )

# bfloat16, which onnxruntime has no arithmetic of

for _kind, _opset, _arity in (
    ("Add", 1, 2),
    ("Multiply", 1, 2),
    ("Maximum", 1, 2),
    ("Less", 1, 2),
    ("Divide", 1, 2),
    ("FloorMod", 1, 2),
    ("Relu", 1, 1),
    ("Exp", 1, 1),
    ("Sigmoid", 1, 1),
    ("Negative", 1, 1),
    ("Floor", 1, 1),
    ("Erf", 1, 1),
):

    def _half(b: Build, k: str = _kind, o: int = _opset, n: int = _arity) -> Any:
        halves = [b.op(1, "Convert", [b.param(b.floats(2, 3, low=0.5))], destination_type="bf16") for _ in range(n)]
        made = b.op(o, k, halves)
        return made if k == "Less" else b.op(1, "Convert", [made], destination_type="f32")

    CASES[f"{_kind}-{_opset} bf16"] = Case(_half, rtol=1e-2, engine="evaluate")
