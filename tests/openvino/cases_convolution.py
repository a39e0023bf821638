"""Cases of neural networks: convolution."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.openvino.cases import Build, Case, Engine

CASES: dict[str, Case] = {}

WINDOWS: dict[str, dict[str, Any]] = {
    # of two spatial axes
    "plain": {},
    "strides": {"strides": [2, 3]},
    "dilations": {"dilations": [2, 1]},
    "pads": {"pads_begin": [1, 0], "pads_end": [2, 1]},
    "all": {"strides": [2, 1], "dilations": [1, 2], "pads_begin": [0, 2], "pads_end": [1, 1]},
    "same_upper": {"auto_pad": "same_upper", "strides": [2, 3]},
    "same_lower": {"auto_pad": "same_lower", "strides": [3, 2]},
    "same_upper dilated": {"auto_pad": "same_upper", "dilations": [2, 1]},
    "valid": {"auto_pad": "valid", "strides": [2, 2]},
}


def attributes(given: dict[str, Any], rank: int = 2, **more: Any) -> dict[str, Any]:
    """Strides, dilations and pads as OpenVINO wants them, with what a case says of them."""
    plain = {"strides": [1] * rank, "dilations": [1] * rank, "pads_begin": [0] * rank, "pads_end": [0] * rank}
    return {**plain, **given, **more}


def conv(
    type_name: str,
    data: tuple[int, ...],
    filters: tuple[int, ...],
    given: dict[str, Any],
    dtype: str = "f4",
    *more: list[int],
    weights: str = "const",
    engine: Engine = "plugin",
    **extra: Any,
) -> Case:
    """Filters are a constant, or an input where `weights` says so; `more` are constants."""
    rank = len(data) - 2

    def build(b: Build) -> Any:
        x = b.param(b.floats(*data, dtype=dtype))
        w = getattr(b, weights)(b.floats(*filters, dtype=dtype))
        rest = [b.const(one) for one in more]
        return b.op(1, type_name, [x, w, *rest], **attributes(given, rank, **extra))

    return Case(build, engine=engine, rtol=1e-4 if dtype == "f4" else 2e-3)


for _name, _given in WINDOWS.items():
    CASES[f"Convolution-1 {_name}"] = conv("Convolution", (2, 3, 9, 10), (4, 3, 3, 2), _given)
    CASES[f"GroupConvolution-1 {_name}"] = conv("GroupConvolution", (2, 4, 9, 10), (2, 3, 2, 3, 2), _given)
CASES |= {
    "Convolution-1 of one axis": conv(
        "Convolution", (2, 3, 9), (4, 3, 4), {"strides": [2], "pads_begin": [1], "pads_end": [2]}
    ),
    "Convolution-1 of three axes": conv(
        "Convolution", (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"strides": [1, 2, 1], "pads_end": [1, 0, 1]}
    ),
    "Convolution-1 f16": conv("Convolution", (1, 3, 6, 6), (4, 3, 3, 3), {}, "f2"),
    "Convolution-1 f64": conv("Convolution", (1, 3, 6, 6), (4, 3, 3, 3), {}, "f8"),
    "Convolution-1 filters are an input": conv(
        "Convolution", (1, 3, 6, 6), (4, 3, 3, 3), {}, weights="param", engine="reshaped"
    ),
    "Convolution-1 no batch": conv("Convolution", (0, 3, 6, 6), (4, 3, 3, 3), {}),
    "Convolution-1 same_upper, dilations and strides": conv(
        "Convolution", (2, 3, 9, 10), (4, 3, 3, 2), {"auto_pad": "same_upper", "dilations": [2, 1], "strides": [2, 2]}
    ),
    "Convolution-1 same_lower, dilations and strides": conv(
        "Convolution", (2, 3, 8, 11), (4, 3, 3, 2), {"auto_pad": "same_lower", "dilations": [2, 2], "strides": [3, 2]}
    ),
    "GroupConvolution-1 no batch": conv("GroupConvolution", (0, 4, 9, 10), (2, 3, 2, 3, 2), {}),
    "GroupConvolution-1 depthwise": conv("GroupConvolution", (1, 4, 6, 6), (4, 1, 1, 3, 3), {}),
    "GroupConvolution-1 of one axis": conv("GroupConvolution", (1, 4, 6), (2, 1, 2, 3), {}),
    "GroupConvolution-1 f16": conv("GroupConvolution", (1, 4, 6, 6), (2, 1, 2, 3, 3), {}, "f2"),
}

TRANSPOSED: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"strides": [2, 3]},
    "dilations": {"dilations": [2, 1]},
    "pads": {"strides": [2, 2], "pads_begin": [1, 0], "pads_end": [2, 1]},
    "output_padding": {"strides": [2, 3], "output_padding": [1, 2], "pads_begin": [1, 0], "pads_end": [1, 1]},
    "same_upper": {"auto_pad": "same_upper", "strides": [2, 3]},
    "same_lower": {"auto_pad": "same_lower", "strides": [2, 3]},
    "valid": {"auto_pad": "valid", "strides": [2, 3]},
}
SHAPED: dict[str, tuple[dict[str, Any], list[int]]] = {
    "explicit": ({"strides": [2, 2], "pads_begin": [1, 0]}, [8, 9]),
    "explicit, smaller": ({"strides": [2, 2], "pads_begin": [1, 1]}, [7, 5]),
    "same_upper": ({"strides": [2, 2], "auto_pad": "same_upper"}, [8, 8]),
    "same_lower": ({"strides": [2, 2], "auto_pad": "same_lower"}, [8, 8]),
    "same_upper, odd": ({"strides": [2, 3], "auto_pad": "same_upper"}, [7, 8]),
    "same_lower, odd": ({"strides": [2, 3], "auto_pad": "same_lower"}, [7, 8]),
    "same_upper with output_padding": (
        {"strides": [2, 2], "auto_pad": "same_upper", "output_padding": [1, 1]},
        [8, 7],
    ),
    "valid": ({"strides": [2, 2], "auto_pad": "valid"}, [9, 10]),
    "same_upper, larger": ({"strides": [2, 2], "auto_pad": "same_upper"}, [10, 11]),
}
for (_type, _filters), (_name, _given) in product(
    {"ConvolutionBackpropData": (4, 3, 3, 3), "GroupConvolutionBackpropData": (2, 2, 3, 3, 3)}.items(),
    TRANSPOSED.items(),
):
    CASES[f"{_type}-1 {_name}"] = conv(_type, (2, 4, 4, 5), _filters, _given)
for (_type, _filters), (_name, (_given, _shape)) in product(
    {"ConvolutionBackpropData": (4, 3, 3, 3), "GroupConvolutionBackpropData": (2, 2, 3, 3, 3)}.items(),
    SHAPED.items(),
):
    CASES[f"{_type}-1 output_shape, {_name}"] = conv(_type, (2, 4, 4, 4), _filters, _given, "f4", _shape)
CASES |= {
    "ConvolutionBackpropData-1 of one axis": conv("ConvolutionBackpropData", (1, 2, 5), (2, 3, 3), {"strides": [2]}),
    "ConvolutionBackpropData-1 of three axes": conv(
        "ConvolutionBackpropData", (1, 2, 3, 4, 3), (2, 3, 2, 2, 2), {"strides": [2, 1, 2]}
    ),
    "ConvolutionBackpropData-1 no batch": conv("ConvolutionBackpropData", (0, 4, 4, 5), (4, 3, 3, 3), {}),
    "ConvolutionBackpropData-1 f16": conv("ConvolutionBackpropData", (1, 2, 5, 5), (2, 3, 3, 3), {}, "f2"),
}
