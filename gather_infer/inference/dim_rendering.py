"""Dim-name rendering: texts for dims in a written file, and the dim names of the original file that it keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.inference.join import symbols_of
from gather_infer.inference.proto.types import has_type, to_dim_param
from gather_infer.model.paths import bodies, subgraphs
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.symbolic import Dim, Expr, free_symbols
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.tensor import SparseTensor, SymbolicTensor, Value

INNER = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}
"""Kinds of types that contain another type, and the field that holds it."""

TENSORS = ("tensor_type", "sparse_tensor_type")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")

Scopes: TypeAlias = Mapping[GraphPath, Mapping[str, Value]]


def dims_of(proto: TypeProto) -> list[Any]:
    """The dims of a tensor type; for a sequence, optional or map, the dims of its elements."""
    while (kind := proto.WhichOneof("value")) in INNER:
        proto = getattr(getattr(proto, kind), INNER[kind])
    return list(getattr(proto, kind).shape.dim) if kind in TENSORS else []


def is_sized(dim: Any) -> bool:
    """Whether a dim of a type is a number; a negative one counts as unknown."""
    return dim.WhichOneof("value") == "dim_value" and int(dim.dim_value) >= 0


def names_of_dims(model: ModelProto) -> frozenset[str]:
    """Every name that occurs in a dim declared in any graph or function of the model."""
    return names_in({d.dim_param for _, body in bodies(model) for v in _infos(body) for d in dims_of(v.type)} - {""})


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """The texts themselves, since a text may be one name, and the identifiers inside them."""
    return frozenset(name for text in texts for name in (text, *_NAME.findall(text)))


def dim_renderer(model: ModelProto, scopes: Scopes, inputs: Iterable[str]) -> Callable[[Expr], str]:
    """A function that renders dims for the file, with different texts for different dims.

    A reader of the file takes an expression with a symbol that no input has for a new name. If the file uses the same
    text for another dim, the text gets parentheses.
    """
    known = {n for name in inputs for n in symbols_of(scopes[MAIN].get(name, SymbolicTensor()))}
    symbols = {n for values in scopes.values() for value in values.values() for n in symbols_of(value)}
    odd = {text for text in symbols | foreign_names(model, scopes) if not is_plain_name(text)}
    if not odd:
        return to_dim_param

    def spell(dim: Expr) -> str:
        text = to_dim_param(dim)
        if dim.is_symbol or (free_symbols(dim) <= known and text not in known):
            return text
        while text in odd:
            text = f"({text})"
        return text

    return spell


def mentions_generated(model: ModelProto, scopes: Scopes, generated: Collection[str]) -> bool:
    """True when a dim that writing keeps in the file has the name of a generated symbol but is another size."""
    names = names_of_dims(model).intersection(generated) if generated else ()  # usually empty
    return bool(names) and not names_in(foreign_names(model, scopes)).isdisjoint(names)


def foreign_names(model: ModelProto, scopes: Scopes) -> set[str]:
    """The dim_params that writing facts leaves in the file, except where the inferred dim is rendered the same."""
    return {text for text, is_ours in _kept(model, scopes) if not is_ours}


def kept_names(model: ModelProto, scopes: Scopes) -> frozenset[str]:
    """Every name in the dim_params that writing facts leaves in the file."""
    return names_in({text for text, _ in _kept(model, scopes)})


def _kept(model: ModelProto, scopes: Scopes) -> Iterator[tuple[str, bool]]:
    """The dim_params that writing facts leaves in the file, each with whether the inferred dim is rendered the same."""
    inside = (d.dim_param for body in model.functions for v in body.value_info for d in dims_of(v.type))
    for text, is_ours in (*((text, False) for text in inside), *_kept_below(model.graph, scopes)):
        if text:
            yield text, is_ours


def _kept_below(graph: GraphProto, scopes: Scopes) -> Iterator[tuple[str, bool]]:
    pending: list[tuple[GraphPath, GraphProto]] = [(MAIN, graph)]
    while pending:
        path, graph = pending.pop()
        yield from _kept_in(graph, scopes.get(path, {}))
        for position, node in enumerate(graph.node):
            pending += [(path.below(step), inner) for step, inner in subgraphs(node, position)]


def _kept_in(graph: GraphProto, values: Mapping[str, Value]) -> Iterator[tuple[str, bool]]:
    made = {name for node in graph.node for name in node.output} - {v.name for v in graph.output}
    written = {name for name in made if name in values and has_type(values[name])}
    for info in (*graph.input, *graph.output, *(v for v in graph.value_info if v.name not in written)):
        value = values.get(info.name)
        facts: tuple[Dim | None, ...] = ()
        if isinstance(value, (SymbolicTensor, SparseTensor)):
            facts = value.shape or ()
        dims = dims_of(info.type)
        for axis, dim in enumerate(dims):
            fact = facts[axis] if len(facts) == len(dims) else None
            yield dim.dim_param, isinstance(fact, Expr) and to_dim_param(fact) == dim.dim_param


def _infos(body: Any) -> list[ValueInfoProto]:
    graph = isinstance(body, GraphProto)
    return [*body.value_info, *(body.input if graph else ()), *(body.output if graph else ())]
