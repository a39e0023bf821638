"""Nodes of OpenVINO's dialect in protobuf form."""

from __future__ import annotations

from typing import Any

from onnx import NodeProto, helper

from gather_infer.domains import canonical_domain, is_extension


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Name -> value of the attributes of `node`; strings are decoded to `str`."""
    decoded: dict[str, Any] = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "backslashreplace")
        elif isinstance(value, list) and value and isinstance(value[0], bytes):
            value = [item.decode("utf-8", "backslashreplace") for item in value]
        decoded[attribute.name] = value
    return decoded


def is_openvino(node: NodeProto) -> bool:
    """Whether `node` is of OpenVINO's domains, or a Gather of the default domain with the axis as third input."""
    domain = canonical_domain(node.domain)
    return domain == "openvino" or (domain == "" and node.op_type == "Gather" and len(node.input) == 3)


def is_opaque(node: NodeProto) -> bool:
    """Whether `node` is of OpenVINO's domains or extension sets, so that its side effects are unknown."""
    return is_openvino(node) or is_extension(node.domain)
