"""Lowerings of OpenVINO's operators to functions of ONNX operators, one per operator version, grouped by family."""

from gather_infer.openvino.lowerings.dialect import DIALECT, LOWERINGS, OpenVino, lower

__all__ = ["DIALECT", "LOWERINGS", "OpenVino", "lower"]
