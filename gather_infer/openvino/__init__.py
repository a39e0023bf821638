"""Conversion of models in OpenVINO's dialect to plain ONNX."""

from gather_infer.openvino.conversion import ConversionResult, convert
from gather_infer.openvino.layer_conversion import Converted, Refused
from gather_infer.openvino.lowerings import with_lowerings

__all__ = ["ConversionResult", "Converted", "Refused", "convert", "with_lowerings"]
