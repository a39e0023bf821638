"""Cases of RMS normalizations and of logarithms of sums of exponentials, as layers, and of what is nearly one.

`OPERATORS` has the operators of each model that is converted to opset 23 which must be there, and those that must not.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Variant

CASES: dict[str, Case] = {}
OPERATORS: dict[str, tuple[set[str], set[str]]] = {}

RMS, PARTS = "RMSNormalization", "Pow ReduceMean Sqrt Div"


def add(name: str, build: Any, has: str, lacks: str = "", *variants: Variant, rtol: float = 2e-5) -> None:
    CASES[name] = Case(build, variants or ("static", "dynamic"), rtol=rtol)
    OPERATORS[name] = set(has.split()), set(lacks.split())


def near(name: str, build: Any, *variants: Variant, parts: str = PARTS) -> None:
    """A case that must stay as it is."""
    add(name, build, parts, RMS, *variants)


def two(b: Build, kind: str, x: Any, y: Any) -> Any:
    return b.op(1, kind, [x, y], auto_broadcast="numpy")


def number(b: Build, value: npt.ArrayLike, dtype: str = "f4") -> Any:
    return b.const(np.array(value, dtype))


def mean(b: Build, x: Any, axes: list[int], keeps: bool = True) -> Any:
    return b.op(1, "ReduceMean", [x, b.const(np.array(axes, np.int64))], keep_dims=keeps)


def squared(b: Build, x: Any, dtype: str = "f4") -> Any:
    return two(b, "Power", x, number(b, 2, dtype))


def shifted(b: Build, x: Any, axes: list[int], eps: Any = 1e-4, dtype: str = "f4") -> Any:
    return two(b, "Add", mean(b, squared(b, x, dtype), axes), number(b, eps, dtype))


def rooted(b: Build, x: Any, axes: list[int], eps: Any = 1e-4, dtype: str = "f4") -> Any:
    return b.op(1, "Sqrt", [shifted(b, x, axes, eps, dtype)])


def normal(b: Build, x: Any, axes: list[int], eps: Any = 1e-4, dtype: str = "f4") -> Any:
    """x / Sqrt(ReduceMean(x^2) + eps), as OpenVINO's reader of ONNX writes it."""
    return two(b, "Divide", x, rooted(b, x, axes, eps, dtype))


def given(b: Build, *shape: int, fixed: Any = (-1,), dtype: str = "f4") -> Any:
    return b.param(b.floats(*shape, dtype=dtype), fixed=fixed)


def scaled(b: Build, x: Any, *shape: int, dtype: str = "f4", swapped: bool = False) -> Any:
    operands = [x, b.const(b.floats(*shape, dtype=dtype))]
    return two(b, "Multiply", *(operands[::-1] if swapped else operands))


SHAPE = (2, 3, 7)
for _scale in ((7,), (1, 7), (1, 1, 7), (1,), ()):
    add(
        f"scale {list(_scale)}",
        lambda b, s=_scale: scaled(b, normal(b, given(b, *SHAPE), [-1]), *s),
        RMS,
        f"{PARTS} Mul",
    )
add("scale first", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2]), 7, swapped=True), RMS, f"{PARTS} Mul")
add("no scale", lambda b: normal(b, given(b, *SHAPE), [2]), RMS, PARTS)
add("two scales", lambda b: scaled(b, scaled(b, normal(b, given(b, *SHAPE), [2]), 7), 7), f"{RMS} Mul", PARTS)
add(
    "two axes",
    lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=(1, 2)), [-1, 1]), 3, 7),
    RMS,
    f"{PARTS} Mul",
)
add("all axes", lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=(0, 1, 2)), [0, 1, 2]), *SHAPE), RMS, "Mul")
add("one dim", lambda b: scaled(b, normal(b, given(b, 7), [0]), 7), RMS, f"{PARTS} Mul")
add("one element", lambda b: scaled(b, normal(b, given(b, 2, 3, 1), [2]), 1), RMS, f"{PARTS} Mul")
add("no rows", lambda b: scaled(b, normal(b, given(b, 0, 3, 7), [2]), 7), RMS, f"{PARTS} Mul")
add("one row", lambda b: scaled(b, normal(b, given(b, 1, 1, 7), [2]), 7), RMS, f"{PARTS} Mul")
add("epsilon [1, 1, 1]", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], [[[1e-3]]]), 7), RMS, f"{PARTS} Mul")
add("a large epsilon", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], 7), 7), RMS, f"{PARTS} Mul")


def _large(b: Build) -> Any:
    """Squares that overflow to infinity, as the quotient 0, in one row; small elements in another."""
    data = np.array([[3e19, -1e25, 2.0], [1e-20, -1e-25, 0.0], [0.0, 0.0, 0.0]], np.float32)
    return scaled(b, normal(b, b.param(data, fixed=(-1,)), [1]), 3)


add("squares that overflow", _large, RMS, f"{PARTS} Mul")


def _product(b: Build) -> Any:
    x = given(b, *SHAPE)
    spread = b.op(1, "Sqrt", [two(b, "Add", number(b, 1e-4), mean(b, two(b, "Multiply", x, x), [2]))])
    return scaled(b, two(b, "Divide", x, spread), 7)


def _inverse(form: str) -> Any:
    def build(b: Build) -> Any:
        x = given(b, *SHAPE)
        if form == "Power -0.5":
            factor = two(b, "Power", shifted(b, x, [2]), number(b, -0.5))
        elif form == "Power -1":
            factor = two(b, "Power", rooted(b, x, [2]), number(b, -1))
        else:
            factor = two(b, "Divide", number(b, 1), rooted(b, x, [2]))
        return scaled(b, two(b, "Multiply", factor, x) if form == "1 / Sqrt" else two(b, "Multiply", x, factor), 7)

    return build


add("x * x", _product, RMS, f"{PARTS} Mul")
for _form in ("Power -0.5", "Power -1", "1 / Sqrt"):
    add(f"times {_form}", _inverse(_form), RMS, f"{PARTS} Mul")
add("scale of another axis", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2]), 3, 1), f"{RMS} Mul", PARTS)
add("scale of every element", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2]), 2, 3, 7), f"{RMS} Mul", PARTS)
add("scale of a higher rank", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2]), 1, 1, 1, 7), f"{RMS} Mul", PARTS)
add("scale of more elements", lambda b: scaled(b, normal(b, given(b, 2, 3, 1), [2]), 7), f"{RMS} Mul", PARTS)
add(
    "computed scale",
    lambda b: two(b, "Multiply", normal(b, given(b, *SHAPE), [2]), given(b, 7)),
    f"{RMS} Mul",
    PARTS,
)
add("two axes, a scale of one", lambda b: scaled(b, normal(b, given(b, *SHAPE), [1, 2]), 7), f"{RMS} Mul", "", "static")


def _quotient_read_twice(b: Build) -> Any:
    quotient = normal(b, given(b, *SHAPE), [2])
    return [scaled(b, quotient, 7), b.op(1, "Sigmoid", [quotient])]


add("quotient read twice", _quotient_read_twice, f"{RMS} Mul", PARTS)


# near misses


def _read_besides(part: str, how: str) -> Any:
    """A part of the quotient is read by another layer, before or after those of the quotient, or is an output."""

    def build(b: Build) -> Any:
        x = given(b, *SHAPE)
        parts = {"squares": squared(b, x)}
        parts["mean"] = mean(b, parts["squares"], [2])
        parts["sum"] = two(b, "Add", parts["mean"], number(b, 1e-4))
        parts["root"] = b.op(1, "Sqrt", [parts["sum"]])
        whole = scaled(b, two(b, "Divide", x, parts["root"]), 7)
        if how == "returned":
            return [whole, parts[part]]
        other = b.op(1, "Sigmoid", [parts[part]])
        return [other, whole] if how == "read before" else [whole, other]

    return build


for _part, _how in product(("squares", "mean", "sum", "root"), ("read before", "read after", "returned")):
    near(f"{_part} {_how}", _read_besides(_part, _how), "static")


def _inverse_read_twice(b: Build) -> Any:
    x = given(b, *SHAPE)
    factor = two(b, "Divide", number(b, 1), rooted(b, x, [2]))
    return [scaled(b, two(b, "Multiply", x, factor), 7), b.op(1, "Sigmoid", [factor])]


near("reciprocal read twice", _inverse_read_twice)
near("first axis", lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=(0, 1, 2)), [0]), 7))
near("middle axis", lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=(0, 1, 2)), [1]), 7))
near("first and last axis", lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=(0, 1, 2)), [0, 2]), 7))
near("unknown size", lambda b: scaled(b, normal(b, given(b, *SHAPE, fixed=()), [2]), 7), "dynamic")
near("empty axis", lambda b: scaled(b, normal(b, given(b, 2, 3, 0), [2]), 1), "dynamic")
near("epsilon 0", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], 0), 7))
near("negative epsilon", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], -1e-3), 7))
near("epsilon of each row", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], [[1e-3], [0.1], [1]]), 7))
near("epsilon of a higher rank", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], [[[[1e-3]]]]), 7))
near("infinite epsilon", lambda b: scaled(b, normal(b, given(b, *SHAPE), [2], np.inf), 7))


def _computed_epsilon(b: Build) -> Any:
    x = given(b, *SHAPE)
    total = two(b, "Add", mean(b, squared(b, x), [2]), b.param(np.array([0.3], np.float32)))
    return scaled(b, two(b, "Divide", x, b.op(1, "Sqrt", [total])), 7)


def _epsilon_outside(b: Build) -> Any:
    x = given(b, *SHAPE)
    root = b.op(1, "Sqrt", [mean(b, squared(b, x), [2])])
    return scaled(b, two(b, "Divide", x, two(b, "Add", root, number(b, 0.3))), 7)


def _power(exponent: float, root: float | None = None) -> Any:
    def build(b: Build) -> Any:
        x = given(b, *SHAPE)
        total = two(b, "Add", mean(b, two(b, "Power", x, number(b, exponent)), [2]), number(b, 5))
        if root is None:
            return scaled(b, two(b, "Divide", x, b.op(1, "Sqrt", [total])), 7)
        return scaled(b, two(b, "Multiply", x, two(b, "Power", total, number(b, root))), 7)

    return build


def _of_another(b: Build) -> Any:
    return scaled(b, two(b, "Divide", given(b, *SHAPE), rooted(b, given(b, *SHAPE), [2])), 7)


def _upside_down(b: Build) -> Any:
    x = given(b, *SHAPE)
    return scaled(b, two(b, "Divide", rooted(b, x, [2]), x), 7)


def _product_of_two(b: Build) -> Any:
    x, y = given(b, *SHAPE), given(b, *SHAPE)
    total = two(b, "Add", mean(b, two(b, "Multiply", x, y), [2]), number(b, 9))
    return scaled(b, two(b, "Divide", x, b.op(1, "Sqrt", [total])), 7)


def _without_axis(b: Build) -> Any:
    """Of equal sizes, the root of a row divides a column."""
    x = given(b, 5, 5, fixed=(0, 1))
    total = two(b, "Add", mean(b, squared(b, x), [1], keeps=False), number(b, 1e-4))
    return scaled(b, two(b, "Divide", x, b.op(1, "Sqrt", [total])), 5)


def _reciprocal_of_another(b: Build) -> Any:
    factor = two(b, "Divide", number(b, 1), rooted(b, given(b, *SHAPE), [2]))
    return scaled(b, two(b, "Multiply", given(b, *SHAPE), factor), 7)


def _other_reciprocal(b: Build) -> Any:
    x = given(b, *SHAPE)
    return scaled(b, two(b, "Multiply", x, two(b, "Divide", number(b, 2), rooted(b, x, [2]))), 7)


near("computed epsilon", _computed_epsilon)
near("epsilon outside the root", _epsilon_outside)
near("cubes", _power(4))
near("another root", _power(2, -0.25), parts="Pow ReduceMean")
near("root of another tensor", _of_another)
near("upside down", _upside_down)
near("product of two", _product_of_two, parts="ReduceMean Sqrt Div")
near("a mean without its axis", _without_axis)
near("another reciprocal", _other_reciprocal)
near("reciprocal of another tensor", _reciprocal_of_another)
near("variance", lambda b: _variance(b))


def _variance(b: Build) -> Any:
    """The root of x - mean divides x."""
    x = given(b, *SHAPE)
    centred = two(b, "Subtract", x, mean(b, x, [2]))
    return scaled(b, two(b, "Divide", x, rooted(b, centred, [2])), 7)


# float16


def half(b: Build, *, there: bool = True, back: bool = True, besides: bool = False) -> Any:
    """float16 normalized in float32, where `there`; `back` in float16 before the scale."""
    x = given(b, *SHAPE, dtype="f2")
    wide = b.op(1, "Convert", [x], destination_type="f32") if there else x
    quotient = normal(b, wide, [2], dtype="f4" if there else "f2")
    if there and back:
        quotient = b.op(1, "Convert", [quotient], destination_type="f16")
    made = scaled(b, quotient, 7, dtype="f4" if there and not back else "f2")
    return [made, b.op(1, "Sigmoid", [wide])] if besides else made


add("f16", half, RMS, f"{PARTS} Mul Cast", rtol=3e-3)
add("f16, float32 read twice", lambda b: half(b, besides=True), f"{RMS} Cast", f"{PARTS} Mul", rtol=3e-3)
add("f16 to f32", lambda b: half(b, back=False), f"{RMS} Cast", f"{PARTS} Mul", rtol=3e-3)


def _converted(b: Build, before: str, after: str) -> Any:
    """float32 normalized between two types, at least one of which is not float16."""
    x = given(b, *SHAPE, dtype=before.replace("f64", "f8").replace("f32", "f4").replace("f16", "f2"))
    wide = b.op(1, "Convert", [x], destination_type="f32")
    return b.op(1, "Convert", [normal(b, wide, [2])], destination_type=after)


for _before, _after in (("f64", "f64"), ("f64", "f16"), ("f16", "f64")):
    add(f"{_before} to {_after}", lambda b, t=_before, u=_after: _converted(b, t, u), f"{RMS} Cast", PARTS, rtol=3e-3)
add("f16 computed in f16", lambda b: half(b, there=False), PARTS, RMS, rtol=5e-3)
near("f64", lambda b: scaled(b, normal(b, given(b, *SHAPE, dtype="f8"), [2], dtype="f8"), 7, dtype="f8"))


# constants in float16, as OpenVINO saves them by default


def stored(b: Build, value: npt.ArrayLike) -> Any:
    return b.op(1, "Convert", [b.const(np.array(value, np.float16))], destination_type="f32")


def compressed(
    b: Build, scale: tuple[int, ...] = (7,), *, exponent: float = 2, eps: Any = 1e-3, besides: bool = False
) -> Any:
    x, shift = given(b, *SHAPE), stored(b, eps)
    squares = two(b, "Power", x, stored(b, exponent))
    root = b.op(1, "Sqrt", [two(b, "Add", mean(b, squares, [2]), shift)])
    made = two(b, "Multiply", two(b, "Divide", x, root), stored(b, b.floats(*scale)))
    return [made, b.op(1, "Sigmoid", [shift])] if besides else made


for _scale in ((7,), (1, 1, 7), (1,)):
    add(f"f16 constants, scale {list(_scale)}", lambda b, s=_scale: compressed(b, s), RMS, f"{PARTS} Mul")
add("f16 constants, scale of another axis", lambda b: compressed(b, (3, 1)), f"{RMS} Mul Cast", PARTS)
add("f16 epsilon read twice", lambda b: compressed(b, besides=True), f"{RMS} Cast", f"{PARTS} Mul")
near("f16 constants, cubes", lambda b: compressed(b, exponent=4))
near("f16 constants, epsilon of each row", lambda b: compressed(b, eps=[[1e-3], [0.1], [1]]))
near("f16 constants, epsilon 0", lambda b: compressed(b, eps=0))


# the logarithm of a sum of exponentials

LSE, POWERS = "ReduceLogSumExp", "Exp ReduceSum Log"


def lse(
    b: Build,
    axes: list[int],
    *,
    most: list[int] | None = None,
    keeps: bool = True,
    besides: str = "",
    before: bool = False,
    shape: tuple[int, ...] = SHAPE,
    data: npt.NDArray[Any] | None = None,
    dtype: str = "f4",
) -> Any:
    """m + Log(ReduceSum(Exp(x - m))) with the maximum m over the axes `most`."""
    x = b.param(b.floats(*shape, dtype=dtype) if data is None else data)

    def over(kind: str, y: Any, listed: list[int], keep: bool) -> Any:
        return b.op(1, kind, [y, b.const(np.array(listed, np.int64))], keep_dims=keep)

    largest = over("ReduceMax", x, axes if most is None else most, True)
    less = two(b, "Subtract", x, largest)
    powers = b.op(1, "Exp", [less])
    total = over("ReduceSum", powers, axes, keeps)
    made = b.op(1, "Log", [total])
    parts = {"largest": largest, "less": less, "powers": powers, "total": total}
    result = two(b, "Add", largest, made) if keeps else made
    if not besides:
        return result
    other = b.op(1, "Sigmoid", [parts[besides]])
    return [other, result] if before else [result, other]


def _exponentials(b: Build, other: bool) -> Any:
    """Powers that are not of the differences to the maximum, and overflow."""
    x = b.param(np.array([[1, 2, 200], [0, 1, 2]], np.float32))
    axes = b.const(np.array([1], np.int64))
    most = b.op(1, "ReduceMax", [b.param(b.floats(2, 3)) if other else x, axes], keep_dims=True)
    powers = b.op(1, "Exp", [two(b, "Subtract", x, most) if other else x])
    made = b.op(1, "Log", [b.op(1, "ReduceSum", [powers, axes], keep_dims=True)])
    return two(b, "Add", most, made)


for _axes in ([2], [1], [0, 2], [0, 1, 2]):
    add(f"LogSumExp {_axes}", lambda b, a=_axes: lse(b, a), LSE, POWERS)
add("LogSumExp from the end", lambda b: lse(b, [-1], most=[2]), LSE, POWERS)
add("LogSumExp without its axis", lambda b: lse(b, [2], keeps=False), LSE, POWERS)
add("LogSumExp no rows", lambda b: lse(b, [2], shape=(0, 3, 7)), LSE, POWERS)
add("LogSumExp one element", lambda b: lse(b, [2], shape=(2, 3, 1)), LSE, POWERS)
add("LogSumExp differences read twice", lambda b: lse(b, [2], besides="less"), LSE, POWERS)
_FAR = np.array([[3e38, -3e38, 1], [-np.inf, 0, 1], [1e8, 1e8, 1], [-90, -100, -200]], np.float32)
add("LogSumExp of far elements", lambda b: lse(b, [1], data=_FAR), LSE, POWERS)
_ENDLESS = np.array([[-np.inf, -np.inf, -np.inf], [np.inf, 0, 1], [np.nan, 0, 1], [0, 1, 2]], np.float32)
add("LogSumExp of infinities", lambda b: lse(b, [1], data=_ENDLESS), LSE, POWERS)
for _part, _first in product(("powers", "total"), (False, True)):
    add(
        f"LogSumExp {_part} read {'before' if _first else 'after'}",
        lambda b, p=_part, f=_first: lse(b, [2], besides=p, before=f),
        POWERS,
        LSE,
    )
add("LogSumExp maximum of other axes", lambda b: lse(b, [2], most=[1]), POWERS, LSE)
add("LogSumExp maximum of more axes", lambda b: lse(b, [2], most=[1, 2]), POWERS, LSE)
add("LogSumExp of f16", lambda b: lse(b, [2], dtype="f2"), POWERS, LSE, rtol=5e-3)
add("LogSumExp maximum of another tensor", lambda b: _exponentials(b, True), POWERS, LSE)


def _transposed_maximum(b: Build) -> Any:
    """Of equal sizes, the maximum of a row is subtracted from a column."""
    x, axes = b.param(b.floats(5, 5)), b.const(np.array([1], np.int64))
    less = two(b, "Subtract", x, b.op(1, "ReduceMax", [x, axes], keep_dims=False))
    return b.op(1, "Log", [b.op(1, "ReduceSum", [b.op(1, "Exp", [less]), axes], keep_dims=True)])


add("LogSumExp maximum without its axis", _transposed_maximum, POWERS, LSE)
add("LogSumExp of the elements", lambda b: _exponentials(b, False), POWERS, LSE)

# OpenVINO's CPU plugin normalizes these too, and gives other sizes or elements; it does not compile the empty axis
for _name in (
    "scale of a higher rank",
    "scale of more elements",
    "epsilon of each row",
    "f16 constants, epsilon of each row",
    "epsilon of a higher rank",
    "a mean without its axis",
    "empty axis",
):
    CASES[_name] = replace(CASES[_name], engine="evaluate")


def _formula(x: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
    with np.errstate(invalid="ignore"):
        most = x.max(1, keepdims=True)
        return [most + np.log(np.exp(x - most).sum(1, keepdims=True))]


# OpenVINO's maximum of infinities is finite
CASES["LogSumExp of infinities"] = replace(CASES["LogSumExp of infinities"], witness=_formula)
