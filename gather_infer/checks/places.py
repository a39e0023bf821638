"""Where a finding is that the walk has not made."""

from __future__ import annotations

from onnx import ModelProto, defs

from gather_infer.diagnostic import Location
from gather_infer.domains import plain_domain
from gather_infer.model.paths import graph_at, node_at
from gather_infer.places import GraphPath


def node_location(model: ModelProto, path: GraphPath, position: int, value: str = "") -> Location:
    """The place of a node; `value` is the tensor that the finding is about, `input x` or `output y`."""
    node = graph_at(model, path).node[position]
    domain = plain_domain(node.domain)
    imported = next((o.version for o in model.opset_import if plain_domain(o.domain) == domain), 0)
    return Location(node_at(model, path, position), node.op_type, domain, _since(node.op_type, domain, imported), value)


def _since(op_type: str, domain: str, imported: int) -> int:
    """The version of the operator, or of its domain where onnx does not know it."""
    if not defs.has(op_type, domain) or imported < 1:
        return imported
    try:
        since: int = defs.get_schema(op_type, imported, domain).since_version
    except defs.SchemaError:  # younger than what is imported
        return imported
    return since
