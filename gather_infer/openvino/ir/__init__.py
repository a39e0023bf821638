"""Frontend for OpenVINO IR: reads an `.xml` and its `.bin` as a model in OpenVINO's dialect."""

from gather_infer.openvino.ir.graph_builder import PortType
from gather_infer.openvino.ir.reader import IR, read_ir, read_model

__all__ = ["IR", "PortType", "read_ir", "read_model"]
