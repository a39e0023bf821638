"""What every operator of OpenVINO is in operators of ONNX: a lowering each, listed by family."""

from gather_infer.openvino.lowerings.dialect import DIALECT, LOWERINGS, OpenVino, lower

__all__ = ["DIALECT", "LOWERINGS", "OpenVino", "lower"]
