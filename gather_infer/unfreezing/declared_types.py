"""The types that the result declares: those of the file, with the freed sizes as inference tells them.

A declared type keeps its denotations. Where inference tells no type, behind an operator that it does not know, the
element type and the rank stay, and a number that may depend on a freed size becomes unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from gather_infer.inference import Inference
from gather_infer.inference.annotate import replace_type
from gather_infer.inference.interface_types import Interface, Redeclared
from gather_infer.inference.proto.types import to_type
from gather_infer.model.paths import bodies, subgraphs
from gather_infer.node_ids import MAIN, Root
from gather_infer.symbolic import Expr
from gather_infer.tensor import Value


def open_sizes(proto: ModelProto) -> None:
    """Remove the declared numbers of all values but the inputs, so that inference does not read them."""
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        _clear_numbers(value.type)
    for graph in _bodies(proto):
        for value in (*graph.input, *graph.output, *graph.value_info):
            _clear_numbers(value.type)


def without_sizes(node: NodeProto) -> NodeProto:
    """A node whose subgraphs declare no numbers as sizes."""
    if not _has_subgraphs(node):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    pending = [graph for _, graph in subgraphs(copy, 0)]
    while pending:
        graph = pending.pop()
        for value in (*graph.input, *graph.output, *graph.value_info):
            _clear_numbers(value.type)
        pending += [inner for holder in graph.node for _, inner in subgraphs(holder, 0)]
    return copy


def with_declared_types(node: NodeProto, original: NodeProto) -> NodeProto:
    """A node with subgraphs whose values declare the types that they do in the file.

    original  the node of the file, with the same subgraphs; nodes may have been edited, added and renamed in them
    """
    if not _has_subgraphs(node):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    pending = [(copy, original)]
    while pending:
        mine, its = pending.pop()
        for (_, graph), (_, declared) in zip(subgraphs(mine, 0), subgraphs(its, 0), strict=True):
            for values, old in ((graph.input, declared.input), (graph.output, declared.output)):
                for one, other in zip(values, old, strict=True):
                    one.type.CopyFrom(other.type)
            types = {value.name: value.type for value in declared.value_info}
            for value in graph.value_info:
                value.type.CopyFrom(types[value.name])
            holders = {tuple(inner.output): inner for inner in declared.node if _has_subgraphs(inner)}
            pending += [(inner, holders[tuple(inner.output)]) for inner in graph.node if _has_subgraphs(inner)]
    return copy


def _has_subgraphs(node: NodeProto) -> bool:
    return next(subgraphs(node, 0), None) is not None


def declare(before: ModelProto, proto: ModelProto, after: Inference, dependent: Set[str]) -> Interface:
    """Declare the inferred types of the values that the file declares; what changed for callers.

    before     the model of the file
    proto      the result, with the types of the file in its bodies
    after      the inference of the result
    dependent  values of the main graph that are computed from an input with a freed size
    """
    generated = after.causes

    def render(dim: Expr) -> str:
        return "" if not dim.symbols.isdisjoint(generated) else str(dim)

    facts = after.scopes[MAIN]
    symbols = {dim.dim_param for value in proto.graph.input for dim in value.type.tensor_type.shape.dim}
    for value, old in zip(proto.graph.output, before.graph.output, strict=True):
        value.type.CopyFrom(old.type)
        _redeclare(value.type, facts.get(value.name), render, value.name in dependent, symbols)
    del proto.graph.value_info[:]
    for old in before.graph.value_info:
        if old.name in facts:
            entry = proto.graph.value_info.add()
            entry.CopyFrom(old)
            _redeclare(entry.type, facts.get(old.name), render, old.name in dependent, symbols)
    for path, graph in bodies(proto):
        if path == MAIN or path.root is not Root.GRAPH or isinstance(graph, FunctionProto):
            continue
        if dependent.isdisjoint(proto.graph.node[path.steps[0].node].output):
            continue
        values = after.scopes.get(path, {})
        for value in (*graph.input, *graph.output, *graph.value_info):
            if _is_tensor(value.type):
                _redeclare(value.type, values.get(value.name), render, True, symbols)
    changed = [
        Redeclared(new.name, kind, "", _dims(old), _dims(new) or ())
        for kind, olds, news in (
            ("input", before.graph.input, proto.graph.input),
            ("output", before.graph.output, proto.graph.output),
        )
        for old, new in zip(olds, news, strict=True)
        if _dims(old) != _dims(new)
    ]
    return Interface(changed=tuple(changed))


def _redeclare(
    declared: TypeProto, fact: Value | None, render: Callable[[Expr], str], depends: bool, symbols: Set[str]
) -> None:
    """Put the inferred type in place of a declared one, as far as it is known.

    depends  whether it may depend on a freed size
    symbols  those of the inputs
    """
    inferred = None if fact is None else to_type(fact, render)
    if inferred is None or (_is_tensor(declared) and not inferred.tensor_type.HasField("shape")):
        if depends:
            _clear_numbers(declared)
        return
    kept = TypeProto.FromString(declared.SerializeToString())
    replace_type(declared, inferred)
    for old, new in zip(kept.tensor_type.shape.dim, declared.tensor_type.shape.dim, strict=False):
        if new.WhichOneof("value") is None and old.HasField("dim_value") and not depends:
            new.dim_value = old.dim_value
        if new.WhichOneof("value") is None and old.dim_param and old.dim_param not in symbols:
            new.dim_param = old.dim_param  # a name for a size that depends on data


def _is_tensor(declared: TypeProto) -> bool:
    return bool(declared.HasField("tensor_type") and declared.tensor_type.HasField("shape"))


def _clear_numbers(declared: TypeProto) -> None:
    """Leave the declared numbers of a tensor open; their denotations stay."""
    if _is_tensor(declared):
        for dim in declared.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.ClearField("dim_value")


def _bodies(proto: ModelProto) -> Iterator[GraphProto]:
    for path, graph in bodies(proto):
        if path != MAIN and isinstance(graph, GraphProto):
            yield graph


def _dims(value: ValueInfoProto) -> tuple[int | str | None, ...] | None:
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in value.type.tensor_type.shape.dim
    )
