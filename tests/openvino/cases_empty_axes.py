"""Layers that OpenVINO runs on an axis without elements, where onnxruntime does not: its Conv takes none."""

from __future__ import annotations

from tests.openvino.cases import Case
from tests.openvino.cases_convolution import conv

SAME = {"pads_begin": [1, 0], "pads_end": [1, 0]}

CASES: dict[str, Case] = {
    name: Case(case.build, variants=("dynamic",))
    for name, case in {
        "Convolution-1 of one element": conv("Convolution", (1, 2, 0, 7), (4, 2, 1, 1), {}),
        "Convolution-1 of three, padded": conv("Convolution", (1, 2, 0, 7), (4, 2, 3, 1), SAME),
        "GroupConvolution-1 of one element": conv("GroupConvolution", (1, 4, 0, 7), (2, 3, 2, 1, 1), {}),
        "ConvolutionBackpropData-1 of one element": conv("ConvolutionBackpropData", (1, 2, 0, 7), (2, 4, 1, 1), {}),
        "GroupConvolutionBackpropData-1 of three, padded": conv(
            "GroupConvolutionBackpropData", (1, 4, 0, 7), (2, 2, 3, 3, 1), SAME
        ),
    }.items()
}
