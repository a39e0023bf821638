"""Where a finding is that the walk has not made."""

from __future__ import annotations

from onnx import ModelProto, defs

from gather_infer.diagnostic import Location
from gather_infer.domains import plain_domain
from gather_infer.model.paths import graph_at, joined, label_of, node_labels
from gather_infer.places import GraphPath, NodePath


class Places:
    """The nodes of a model by position, with what they are called: worked out once for each graph."""

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self._labels: dict[GraphPath, list[str]] = {}
        self._imported: dict[str, int] = {}
        for entry in model.opset_import:
            self._imported.setdefault(plain_domain(entry.domain), entry.version)

    def node(self, path: GraphPath, position: int, value: str = "") -> Location:
        """The place of a node; `value` is the tensor that the finding is about, `input x` or `output y`."""
        body = graph_at(self._model, path)
        if path not in self._labels:
            label = label_of(self._model, path)
            self._labels[path] = [joined(label, each) for each in node_labels(body.node)]
        node = body.node[position]
        domain = plain_domain(node.domain)
        version = _since(node.op_type, domain, self._imported.get(domain, 0))
        return Location(NodePath(path, position, self._labels[path][position]), node.op_type, domain, version, value)


def _since(op_type: str, domain: str, imported: int) -> int:
    """The version of the operator, or of its domain where onnx does not know it."""
    if not defs.has(op_type, domain) or imported < 1:
        return imported
    try:
        since: int = defs.get_schema(op_type, imported, domain).since_version
    except defs.SchemaError:  # younger than what is imported
        return imported
    return since
