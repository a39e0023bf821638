"""Operators by what they compute: the version since which they have been so, and attributes without defaults."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, Final

import onnx
from onnx import AttributeProto

from gather_infer.equality.operator_versions import FIRST_VERSIONS, meaning_since
from gather_infer.equality.terms import Attributes, Operator
from gather_infer.ir.graph import Node
from gather_infer.model.attributes import decoded


@lru_cache(maxsize=1024)
def _schema(domain: str, op_type: str, version: int) -> tuple[int, Mapping[str, Any]]:
    """The version since which an operator is as it is, and the defaults of its attributes; 1 if onnx has no schema."""
    try:
        schema = onnx.defs.get_schema(op_type, version or 1, domain)
    except onnx.defs.SchemaError:
        return 1, {}
    defaults = {
        name: decoded(attribute.default_value)
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type != AttributeProto.UNDEFINED
    }
    return schema.since_version, defaults


def operator_of(node: Node) -> Operator:
    """The operator of a node, with the first version that computes the same."""
    since = _schema(node.domain, node.op_type, node.version)[0]
    if not node.domain and node.op_type in FIRST_VERSIONS:
        given = {attribute.name: attribute.i for attribute in node.proto.attribute if attribute.name == "ceil_mode"}
        since = meaning_since(node.op_type, since, given)
    return node.domain, node.op_type, since


@lru_cache(maxsize=1024)
def is_deprecated(domain: str, op_type: str, version: int) -> bool:
    """Whether onnx has deprecated an operator, so that runtimes refuse models with it."""
    try:
        return bool(onnx.defs.get_schema(op_type, version or 1, domain).deprecated)
    except onnx.defs.SchemaError:
        return False


@lru_cache(maxsize=1024)
def _implied(domain: str, op_type: str, version: int) -> Mapping[str, Hashable]:
    """The defaults of the attributes of an operator, as keys: -0.0 is not 0.0, and 1 not 1.0."""
    return dict(normalized(_schema(domain, op_type, version)[1]))


def without_defaults(node: Node, attributes: Mapping[str, Any]) -> Attributes:
    """The attributes as a key, without those that have their default."""
    held, implied = normalized(attributes), _implied(node.domain, node.op_type, node.version)
    return tuple((name, value) for name, value in held if name not in implied or implied[name] != value)


def attributes_of_node(node: Node) -> dict[str, Any]:
    """The attributes of a node with the defaults of the operator, without graphs."""
    defaults = _schema(node.domain, node.op_type, node.version)[1]
    given = {
        attribute.name: decoded(attribute)
        for attribute in node.proto.attribute
        if attribute.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS)
    }
    return {**defaults, **given}


AXIS_OF_FIRST: Final = frozenset(
    (
        "Compress", "DequantizeLinear", "Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization",
        "QuantizeLinear", "RMSNormalization", "Scatter", "ScatterElements", "Softmax", "Split", "SplitToSequence",
        "TopK", "Unique",
    )
)  # fmt: skip
"""Operators whose attribute `axis` counts the axes of the first input."""


def with_positive_axis(operator: Operator, attributes: Mapping[str, Any], rank: int | None) -> Mapping[str, Any]:
    """The attributes with an axis that counts from the front.

    rank  of the first input; None if it is not known
    """
    axis = attributes.get("axis")
    if operator[0] or operator[1] not in AXIS_OF_FIRST or not isinstance(axis, int) or rank is None or axis >= 0:
        return attributes
    return {**attributes, "axis": axis + rank}


def normalized(attributes: Mapping[str, Any]) -> Attributes:
    """Attributes as a key, sorted by name; messages by their bytes."""
    return tuple((name, _hashable(value)) for name, value in sorted(attributes.items()))


def _hashable(value: Any) -> Hashable:
    if hasattr(value, "SerializeToString"):
        copy = type(value)()
        copy.CopyFrom(value)
        if hasattr(copy, "doc_string"):
            copy.ClearField("doc_string")
        found: bytes = copy.SerializeToString(deterministic=True)
        return found
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return ("float", value.hex()) if isinstance(value, float) else value


def saturation(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a Cast that matter for 8-bit floats."""
    return {name: value for name, value in attributes.items() if name in ("saturate", "round_mode")}
