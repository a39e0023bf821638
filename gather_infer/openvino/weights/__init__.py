"""Compressed weights: integers or small floats with a zero point and a scale, dequantized by the model at run time."""

from gather_infer.openvino.weights.reshaped import with_reshaped_constants
from gather_infer.openvino.weights.rewritten import Compression, Form, with_weights

__all__ = ["Compression", "Form", "with_reshaped_constants", "with_weights"]
