"""OpenVINO's dialect as plain ONNX."""

from gather_infer.openvino.conversion import ConversionResult, convert
from gather_infer.openvino.plan import Converted

__all__ = ["ConversionResult", "Converted", "convert"]
