"""Frontend for OpenVINO IR: reads an `.xml` and its `.bin` as a model in OpenVINO's dialect."""

from gather_infer.openvino.ir.dialect import IR, read_ir, read_model
from gather_infer.openvino.ir.graph import PortType

__all__ = ["IR", "PortType", "read_ir", "read_model"]
