"""Attributes of nodes as Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from onnx import AttributeProto, NodeProto


def _text(encoded: bytes) -> str:
    return encoded.decode("utf-8", "backslashreplace")


def _texts(encoded: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(map(_text, encoded))


def _message(message: Any) -> Any:
    return message


_A = AttributeProto
_DECODERS: Final[dict[int, tuple[str, Callable[[Any], Any]]]] = {
    # type: (field, function that converts its value)
    _A.INT: ("i", int), _A.FLOAT: ("f", float), _A.STRING: ("s", _text), _A.TENSOR: ("t", _message),
    _A.GRAPH: ("g", _message), _A.SPARSE_TENSOR: ("sparse_tensor", _message), _A.TYPE_PROTO: ("tp", _message),
    _A.INTS: ("ints", tuple), _A.FLOATS: ("floats", tuple), _A.STRINGS: ("strings", _texts),
    _A.TENSORS: ("tensors", tuple), _A.GRAPHS: ("graphs", tuple), _A.SPARSE_TENSORS: ("sparse_tensors", tuple),
    _A.TYPE_PROTOS: ("type_protos", tuple),
}  # fmt: skip
_TYPES: Final = {field: number for number, (field, _) in _DECODERS.items()}


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


def attribute_text(node: NodeProto, name: str, default: str = "") -> str:
    """The attribute `name` of an OpenVINO node as IR files have it: the reader stores `1,2` as a list of integers."""
    value = attribute_of(node, name, default)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def attributes_of(node: NodeProto) -> dict[str, Any]:
    """Name -> value of the attributes of a node, as from `decoded`."""
    return {attribute.name: decoded(attribute) for attribute in node.attribute}


def decoded(attribute: AttributeProto, type_: int = 0) -> Any:
    """The value of an attribute: an int, a float, a str, a message, or a tuple of these.

    type_   number of the type in AttributeProto.AttributeType; 0 for the type that the attribute has

    Bytes that are not UTF-8 are escaped. Files of IR version 1 omit the type: then the field that is set determines it.
    Returns None if no field is set.
    """
    decoder = _DECODERS.get(type_ or attribute.type)
    if decoder is None:
        types = [_TYPES[field.name] for field, _ in attribute.ListFields() if field.name in _TYPES]
        return decoded(attribute, types[0]) if types else None
    field, convert = decoder
    return convert(getattr(attribute, field))
