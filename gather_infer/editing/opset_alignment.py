"""Common opset versions of two models that are joined."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto, NodeProto

from gather_infer.domains import plain_domain, qualified, versions_of
from gather_infer.equality.operator_versions import meaning_since
from gather_infer.errors import EditRefused
from gather_infer.inference.proto.schema import schema_of
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root

_SHOWN = 4
"""Nodes that a message names."""


def common_versions(first: ModelProto, second: ModelProto, names: tuple[str, str]) -> dict[str, int]:
    """Domain -> the version that both models can import, for the domains of both: the higher one of the two.

    Raises EditRefused if a node of the model with the lower version computes something else in the higher one.
    """
    found = {}
    mine, its = versions_of(first.opset_import), versions_of(second.opset_import)
    for domain in mine.keys() & its.keys():
        low, high = sorted((mine[domain], its[domain]))
        found[domain] = high
        if low == high:
            continue
        model, name = (first, names[0]) if mine[domain] == low else (second, names[1])
        changed = list(dict.fromkeys(_changed(model, domain, low, high)))
        if changed:
            listed = ", ".join(changed[:_SHOWN]) + (
                f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            )
            raise EditRefused(
                f"{name} imports opset {low} of {domain or 'ai.onnx'}, the other model {high}, "
                f"and these operators may differ between them: {listed}"
            )
    return found


def _changed(model: ModelProto, domain: str, low: int, high: int) -> Iterator[str]:
    """The operators of nodes whose meaning may differ between two versions."""
    for path, body in bodies(model):
        for node in body.node:
            is_in_domain = plain_domain(node.domain) == domain and path.root is not Root.FUNCTION
            if is_in_domain and not _is_alike(node, domain, low, high):
                yield qualified(domain, node.op_type)


def _is_alike(node: NodeProto, domain: str, low: int, high: int) -> bool:
    """Whether a node is valid in both versions of its domain, and computes the same."""
    one, other = (schema_of(node.op_type, version, domain) for version in (low, high))
    if one is None or other is None or other.deprecated:
        return False
    if one.since == other.since:
        return True
    attributes = {attribute.name: attribute.i for attribute in node.attribute}
    is_first_output_only = len([name for name in node.output if name]) == 1
    return (
        not domain
        and is_first_output_only
        and attributes.keys() <= other.attributes.keys()
        and meaning_since(node.op_type, one.since, attributes) == meaning_since(node.op_type, other.since, attributes)
    )
