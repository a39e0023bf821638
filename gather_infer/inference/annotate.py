"""Annotation: writes inferred types into the `value_info` of a model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from itertools import count

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.inference.backward_slice import undeclarable_values
from gather_infer.inference.dim_rendering import INNER, TENSORS, Scopes, dim_renderer, is_sized, names_of_dims
from gather_infer.inference.interface_types import InferenceView, Interface, declare
from gather_infer.inference.proto.types import shown, to_dim_param, to_type
from gather_infer.model import ModelFile
from gather_infer.model.paths import subgraphs
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.symbolic import Dim, Expr, substitute, symbol
from gather_infer.tensor import Value


@dataclass(frozen=True, slots=True)
class _Style:
    """Options of an annotation.

    render          renders a symbolic dim as text
    omitted         values whose declarations stay unchanged
    complete        add the missing parts of declarations instead of replacing them, also in the types of graph outputs
    contradictions  receives a message for each declaration that contradicts the inferred type
    """

    render: Callable[[Expr], str]
    omitted: Collection[tuple[GraphPath, str]] = frozenset()
    complete: bool = False
    contradictions: list[str] = field(default_factory=list)

    def merge(self, declared: ValueInfoProto, value: Value) -> None:
        """Complete a declaration with the inferred type, unless the two contradict."""
        inferred = to_type(value, self.render)
        if inferred is None:
            return
        if fits(declared.type, inferred):
            complete(declared.type, inferred)
        else:
            self.contradictions.append(f"{declared.name} is declared {shown(declared.type)}, the inputs imply {value}")


def annotated(
    source: ModelFile, inference: InferenceView, *, weights: bool = False, outputs: bool = False
) -> tuple[ModelProto, Interface]:
    """The annotated model, see Inference.annotated, and the differences between its types and those of `source`."""
    given, interface = declare(
        source.with_weights() if weights else source.proto, inference, is_relied_on=True, outputs=outputs
    )
    style = _Style(dim_renderer(given, inference.scopes, inference.inputs))
    model = _copy(given)
    _annotate_graph(model.graph, MAIN, inference.scopes, style)
    left = undeclarable_values(source, model, inference.scopes, inference.diagnostics)
    if left:
        model.CopyFrom(given)
        _annotate_graph(model.graph, MAIN, inference.scopes, replace(style, omitted=left))
    return model, interface


def completed(source: ModelFile, scopes: Scopes, generated: Collection[str]) -> tuple[ModelProto, list[str]]:
    """The model as `onnx.shape_inference` would complete it, and a message for each declaration that contradicts the
    facts.

    Declarations are completed, not replaced, and the `generated` symbols are named `unk__0`, `unk__1`, ...
    """
    model = _copy(source.proto)
    style = _Style(_unknowns(model, generated), complete=True)
    _annotate_graph(model.graph, MAIN, scopes, style)
    return model, style.contradictions


def _copy(proto: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(proto)
    return copy


def _unknowns(model: ModelProto, generated: Collection[str]) -> Callable[[Expr], str]:
    """A renderer of dims that names generated symbols as onnx does, with names that the model does not use."""
    taken = names_of_dims(model)
    free = (name for name in map("unk__{}".format, count()) if name not in taken)
    names: dict[str, Dim] = {}

    def spell(dim: Expr) -> str:
        for name in sorted(dim.symbols):
            if name in generated and name not in names:
                names[name] = symbol(next(free))
        renamed = substitute(dim, names)
        return str(renamed) if isinstance(renamed, int) else to_dim_param(renamed)

    return spell


def _annotate_graph(
    graph: GraphProto,
    path: GraphPath,
    scopes: Scopes,
    style: _Style,
    is_branch: bool = False,
) -> None:
    values = scopes.get(path)
    if values is None:
        return
    interface = {v.name for v in (*graph.input, *graph.output)} | {t.name for t in graph.initializer}
    interface |= {t.values.name for t in graph.sparse_initializer}
    declared = {v.name: v for v in graph.value_info}
    entries: list[ValueInfoProto] = []
    for position, node in enumerate(graph.node):
        for name in node.output:
            if not name or name in interface:
                continue
            interface.add(name)
            entry = declared.pop(name, None)
            is_written = name in values and (path, name) not in style.omitted
            inferred = to_type(values[name], style.render) if is_written else None
            if inferred is not None:
                kept = ValueInfoProto()
                if entry is not None:
                    kept.CopyFrom(entry)  # keeps doc string and metadata
                kept.name = name
                if style.complete:
                    style.merge(kept, values[name])
                else:
                    replace_type(kept.type, inferred)
                entry = kept
            if entry is not None:
                entries.append(entry)
        for step, inner in subgraphs(node, position):
            _annotate_graph(inner, path.below(step), scopes, style, node.op_type == "If")
    entries += [v for v in graph.value_info if v.name in declared]  # of inputs, initializers, or of undefined names
    rebuilt = [ValueInfoProto.FromString(v.SerializeToString()) for v in entries]
    del graph.value_info[:]
    graph.value_info.extend(rebuilt)
    for output in graph.output:
        value = values.get(output.name)
        if value is None or (path, output.name) in style.omitted:
            continue
        if style.complete:
            style.merge(output, value)
            continue
        inferred = to_type(value, style.render)
        if inferred is None:
            continue
        # onnx's checker would reject a wrong output of a branch next to the inferred types. Outputs of loops stay:
        # runtimes use their declared types when a body never runs.
        proto = output.type
        if proto.WhichOneof("value") is None or (is_branch and not fits(proto, inferred)):
            proto.CopyFrom(inferred)
        elif proto.HasField("tensor_type") and not proto.tensor_type.HasField("shape") and fits(proto, inferred):
            complete(proto, inferred)


def replace_type(declared: TypeProto, inferred: TypeProto) -> None:
    """Put an inferred type in place of a declared one, and keep the denotations of the type and of its dims."""
    before = TypeProto.FromString(declared.SerializeToString())
    declared.CopyFrom(inferred)
    if before.denotation:
        declared.denotation = before.denotation
    dims = [each.tensor_type.shape.dim for each in (before, declared)]
    if len(dims[0]) == len(dims[1]):
        for old, new in zip(*dims, strict=True):
            if old.denotation:
                new.denotation = old.denotation


def fits(declared: TypeProto, inferred: TypeProto) -> bool:
    """True when the two types agree in kind, element type, rank and sizes, wherever both give them."""
    kind = declared.WhichOneof("value")
    if kind is None or inferred.WhichOneof("value") is None:
        return True
    if kind != inferred.WhichOneof("value"):
        return False
    ours, theirs = getattr(declared, kind), getattr(inferred, kind)
    if kind in INNER:
        inner = INNER[kind]
        if kind == "map_type" and ours.key_type and ours.key_type != theirs.key_type:
            return False
        return fits(getattr(ours, inner), getattr(theirs, inner))
    if kind not in TENSORS:
        return False
    if ours.elem_type and ours.elem_type != theirs.elem_type:
        return False
    if not (ours.HasField("shape") and theirs.HasField("shape")):
        return True
    if len(ours.shape.dim) != len(theirs.shape.dim):
        return False
    sizes = [(a, b) for a, b in zip(ours.shape.dim, theirs.shape.dim, strict=True) if is_sized(a) and is_sized(b)]
    return all(a.dim_value == b.dim_value for a, b in sizes)


def complete(declared: TypeProto, inferred: TypeProto) -> None:
    """Add the known parts of `inferred` to a declared type that it fits: missing parts, and sizes in place of names."""
    kind = inferred.WhichOneof("value")
    if kind is None:
        return
    ours, theirs = getattr(declared, kind), getattr(inferred, kind)
    ours.SetInParent()
    if kind in INNER:
        if kind == "map_type":
            ours.key_type = theirs.key_type
        complete(getattr(ours, INNER[kind]), getattr(theirs, INNER[kind]))
        return
    ours.elem_type = theirs.elem_type
    if not theirs.HasField("shape"):
        return
    if not ours.HasField("shape"):
        ours.shape.CopyFrom(theirs.shape)
        return
    for dim, known in zip(ours.shape.dim, theirs.shape.dim, strict=True):
        if is_sized(known):
            dim.dim_value = known.dim_value
        elif known.dim_param and not dim.dim_param and not is_sized(dim):
            dim.dim_param = known.dim_param
