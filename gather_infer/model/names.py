"""Names in use in a model, and generation of fresh names."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import FunctionProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.domains import qualified
from gather_infer.model.paths import bodies, joined_label, label_of
from gather_infer.node_ids import Root


class Names:
    """The names in use in a model, of values, nodes and symbols in all graphs and functions; generates new names."""

    def __init__(self, model: ModelProto) -> None:
        self._taken: set[str] = set(names_of(model))
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def fresh(self, base: str) -> str:
        """The first of `base`, `base_1`, `base_2`, ... that is not in use and was not returned before; never empty."""
        base = base or "value"
        name = base
        count = self._next.get(base, 0)
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._next[base] = count
        self._taken.add(name)
        return name


def tensor_names(model: ModelProto) -> Iterator[str]:
    """Names of the values in the main graph, and in its subgraphs with a prefix, such as `If_3/then_branch/y`."""
    for path, graph in bodies(model):
        if path.root is not Root.GRAPH or isinstance(graph, FunctionProto):
            continue
        label = label_of(model, path)
        made = (output for node in graph.node for output in node.output if output)
        for name in (*(v.name for v in graph.input), *(t.name for t in graph.initializer), *made):
            yield joined_label(label, name)


def operator_names(model: ModelProto) -> Iterator[str]:
    """The operator of each node, such as `Gather` or `com.microsoft.Gelu`; with repetitions."""
    for _, body in bodies(model):
        yield from (qualified(node.domain, node.op_type) for node in body.node)


def names_of(model: ModelProto) -> Iterator[str]:
    """The names of all values, nodes, symbols and function attributes of `model`; some are repeated, some are empty."""
    for _, body in bodies(model):
        for node in body.node:
            yield node.name
            yield from node.input
            yield from node.output
        for value in body.value_info:
            yield from _value_names(value)
        if isinstance(body, FunctionProto):
            yield from (*body.input, *body.output, *body.attribute)
            yield from (attribute.name for attribute in body.attribute_proto)
            continue
        for value in (*body.input, *body.output):
            yield from _value_names(value)
        for tensor in (*body.initializer, *(t for s in body.sparse_initializer for t in (s.values, s.indices))):
            yield tensor.name
        for annotation in body.quantization_annotation:
            yield annotation.tensor_name
            yield from (entry.value for entry in annotation.quant_parameter_tensor_names)


def _value_names(value: ValueInfoProto) -> Iterator[str]:
    yield value.name
    pending: list[TypeProto] = [value.type]
    while pending:
        held = pending.pop()
        match held.WhichOneof("value"):
            case "tensor_type":
                yield from (dim.dim_param for dim in held.tensor_type.shape.dim)
            case "sparse_tensor_type":
                yield from (dim.dim_param for dim in held.sparse_tensor_type.shape.dim)
            case "sequence_type":
                pending.append(held.sequence_type.elem_type)
            case "optional_type":
                pending.append(held.optional_type.elem_type)
            case "map_type":
                pending.append(held.map_type.value_type)
