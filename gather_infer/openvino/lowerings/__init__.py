"""Lowerings of OpenVINO's operators to functions of ONNX operators, one per operator version, grouped by family."""

from gather_infer.openvino.lowerings.openvino_dialect import (
    DIALECT,
    LOWERINGS,
    OpenVINODialect,
    lower,
    with_lowerings,
)

__all__ = ["DIALECT", "LOWERINGS", "OpenVINODialect", "lower", "with_lowerings"]
