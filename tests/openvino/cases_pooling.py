"""Cases of pooling."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}

WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "pads": {"pads_begin": [1, 0], "pads_end": [1, 2], "strides": [2, 2]},
    "uneven pads": {"pads_begin": [0, 1], "pads_end": [2, 0], "strides": [3, 2]},
    "same_upper": {"auto_pad": "same_upper", "strides": [2, 3]},
    "same_lower": {"auto_pad": "same_lower", "strides": [3, 2]},
    "valid": {"auto_pad": "valid", "strides": [2, 2]},
}
SIZES = {"9 x 10": (2, 3, 9, 10), "8 x 7": (1, 2, 8, 7)}


def pool(
    type_name: str,
    opset: int,
    data: tuple[int, ...],
    given: dict[str, Any],
    dtype: str = "f4",
    engine: Any = "plugin",
    **more: Any,
) -> Case:
    rank = len(data) - 2
    plain: dict[str, Any] = {
        "strides": [1] * rank,
        "pads_begin": [0] * rank,
        "pads_end": [0] * rank,
        "kernel": [3, 4, 2][:rank],
    }
    if type_name == "AvgPool":
        plain |= {"exclude-pad": True}
    if opset >= (16 if type_name == "AvgPool" else 8):
        plain |= {"dilations": [1] * rank}
    attributes = {**plain, **given, **more}

    def build(b: Build) -> Any:
        kind = dtype[0]
        x = (
            b.floats(*data, dtype=dtype)
            if kind == "f"
            else b.integers(*data, low=0 if kind == "u" else -8, dtype=dtype)
        )
        return b.op(opset, type_name, [b.param(x)], **attributes)

    return Case(build, engine=engine)


ROUNDINGS = {
    1: ("floor", "ceil"),
    8: ("floor", "ceil"),
    14: ("floor", "ceil", "ceil_torch"),
    16: ("ceil", "ceil_torch"),
}
RESHAPED = {"engine": "reshaped"}
"""MaxPool-8 and -14 with positions and same_upper or same_lower, of unknown dims: OpenVINO forgets the pads."""
for (_size, _data), (_name, _given) in product(SIZES.items(), WINDOWS.items()):
    for _opset in (1, 8, 14):
        for _rounding in ROUNDINGS[_opset]:
            _id = f"MaxPool-{_opset} {_size}, {_name}, {_rounding}"
            CASES[_id] = pool(
                "MaxPool", _opset, _data, _given, rounding_type=_rounding, **(RESHAPED if "same" in _name else {})
            )
    for _opset, _exclude in product((1, 14, 16), (True, False)):
        for _rounding in ROUNDINGS[_opset]:
            if (_name, _rounding, _exclude) == ("uneven pads", "ceil", True):
                continue  # a window that has pads alone: OpenVINO gives 0 or NaN, depending on the sizes
            _counting: dict[str, Any] = {"exclude-pad": _exclude}
            _id = f"AvgPool-{_opset} {_size}, {_name}, {_rounding}, pads {'excluded' if _exclude else 'counted'}"
            CASES[_id] = pool("AvgPool", _opset, _data, _given, rounding_type=_rounding, **_counting)
DILATED: dict[str, dict[str, Any]] = {
    "dilations": {"dilations": [2, 1]},
    "dilations, strides and pads": {"dilations": [2, 2], "strides": [2, 1], "pads_begin": [1, 2], "pads_end": [2, 1]},
    "dilations, same_upper": {"dilations": [2, 2], "strides": [2, 1], "auto_pad": "same_upper"},
    "dilations, ceil": {"dilations": [2, 1], "strides": [3, 3], "rounding_type": "ceil"},
}
for _name, _given in DILATED.items():
    CASES[f"MaxPool-8 {_name}"] = pool("MaxPool", 8, (2, 3, 11, 12), _given, **RESHAPED)
    CASES[f"MaxPool-14 {_name}"] = pool("MaxPool", 14, (2, 3, 11, 12), _given, **RESHAPED)
    CASES[f"AvgPool-16 {_name}"] = pool("AvgPool", 16, (2, 3, 11, 12), _given)
for _axis, _element in product((0, 1, 2, -1, -2), ("i32", "i64")):
    CASES[f"MaxPool-8 axis {_axis}, {_element}"] = pool(
        "MaxPool", 8, (2, 3, 7, 6), {"axis": _axis, "index_element_type": _element, "pads_begin": [1, 1]}
    )
for _dtype in ("f2", "f8", "i4", "i8", "u1", "i1"):
    CASES[f"MaxPool-8 {_dtype}"] = pool("MaxPool", 8, (2, 3, 7, 6), {}, _dtype)
    CASES[f"MaxPool-1 {_dtype}"] = pool("MaxPool", 1, (2, 3, 7, 6), {}, _dtype)
for _dtype in ("f2", "f8"):
    CASES[f"AvgPool-14 {_dtype}"] = pool("AvgPool", 14, (2, 3, 7, 6), {}, _dtype)
for _type, _data in product(("AvgPool", "MaxPool"), ((2, 3, 9), (1, 2, 6, 7, 5))):
    CASES[f"{_type}-14 {_data}"] = pool(_type, 14, _data, {"rounding_type": "ceil"})
    CASES[f"{_type}-1 {_data}"] = pool(_type, 1, _data, {"rounding_type": "floor"})
