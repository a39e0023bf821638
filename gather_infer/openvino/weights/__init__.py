"""Compressed weights: integers or small floats, a zero point and a scale, which a model multiplies out when it runs."""

from gather_infer.openvino.weights.rewritten import Compression, Form, with_weights

__all__ = ["Compression", "Form", "with_weights"]
