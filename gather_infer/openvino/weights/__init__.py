"""Compressed weights: integers or small floats, a zero point and a scale, which a model multiplies out when it runs."""

from gather_infer.openvino.weights.reshaped import with_reshaped_constants
from gather_infer.openvino.weights.rewritten import Compression, Form, with_weights

__all__ = ["Compression", "Form", "with_reshaped_constants", "with_weights"]
