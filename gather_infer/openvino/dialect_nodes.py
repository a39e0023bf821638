"""Nodes of OpenVINO's dialect in protobuf form."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.domains import canonical_domain, is_extension


def is_openvino(node: NodeProto) -> bool:
    """Whether `node` is of OpenVINO's domains, or a Gather of the default domain with the axis as third input."""
    domain = canonical_domain(node.domain)
    return domain == "openvino" or (domain == "" and node.op_type == "Gather" and len(node.input) == 3)


def is_opaque(node: NodeProto) -> bool:
    """Whether `node` is of OpenVINO's domains or extension sets, so that its side effects are unknown."""
    return is_openvino(node) or is_extension(node.domain)
