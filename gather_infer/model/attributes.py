"""Attributes of nodes as Python values."""

from __future__ import annotations

from typing import Any, Final

from onnx import AttributeProto, NodeProto

_FIELDS: Final[dict[int, str]] = {
    AttributeProto.INT: "i", AttributeProto.INTS: "ints", AttributeProto.FLOAT: "f", AttributeProto.FLOATS: "floats",
    AttributeProto.STRING: "s", AttributeProto.STRINGS: "strings", AttributeProto.TENSOR: "t",
    AttributeProto.TENSORS: "tensors", AttributeProto.GRAPH: "g", AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor", AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTO: "tp", AttributeProto.TYPE_PROTOS: "type_protos",
}  # fmt: skip
_TYPES: Final = {field: number for number, field in _FIELDS.items()}
_LISTS: Final = frozenset(number for number, field in _FIELDS.items() if field.endswith("s") and field != "s")


def attribute_of(node: NodeProto, name: str, default: Any = None) -> Any:
    """The value of the attribute `name` of a node, as from `decoded`; `default` if it is absent."""
    for attribute in node.attribute:
        if attribute.name == name:
            return decoded(attribute)
    return default


def integer_attribute(node: NodeProto, name: str, default: int = 0) -> int:
    """The integer attribute `name` of a node; `default` if it is absent or of another type."""
    value = attribute_of(node, name)
    return value if isinstance(value, int) else default


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Name -> value of the attributes of a node, as from `decoded`."""
    return {attribute.name: decoded(attribute) for attribute in node.attribute}


def decoded(attribute: AttributeProto, type_: int = 0) -> Any:
    """The value of an attribute: an int, a float, a str, a message, or a tuple of these.

    type_   number of the type in AttributeProto.AttributeType; 0 for the type that the attribute has

    Bytes that are not UTF-8 are escaped. Files of IR version 1 omit the type: then the field that is set determines it.
    Returns None for an unknown type, and if neither type nor field is set.
    """
    type_ = type_ or attribute.type or next((_TYPES[f.name] for f, _ in attribute.ListFields() if f.name in _TYPES), 0)
    if type_ not in _FIELDS:
        return None
    value = getattr(attribute, _FIELDS[type_])
    if type_ == AttributeProto.STRING:
        return _text(value)
    if type_ == AttributeProto.STRINGS:
        return tuple(map(_text, value))
    return tuple(value) if type_ in _LISTS else value


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "backslashreplace")
