"""Compressed weights: integers or small floats with a zero point and a scale, dequantized by the model at run time."""

from gather_infer.openvino.weights.lowering import WeightConversion, WeightFormat, lower_weights
from gather_infer.openvino.weights.reshape_folding import fold_constant_reshapes

__all__ = ["WeightConversion", "WeightFormat", "fold_constant_reshapes", "lower_weights"]
