"""Conversion of models in OpenVINO's dialect to plain ONNX."""

from gather_infer.openvino.conversion import ConversionResult, convert
from gather_infer.openvino.layer_conversion import Converted, Refused

__all__ = ["ConversionResult", "Converted", "Refused", "convert"]
