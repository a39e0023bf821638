"""The nodes of a model that a runtime refuses while it loads the file, whether a run comes to them or not.

Runtimes infer shapes with onnx's own functions, in every branch and body, before anything runs. These see the dims that
a file declares or that follow from it, and the elements of small constants. Here they are given all that a runtime may
find by itself: the facts of our own inference beside what is declared, and in each graph the constants of outer ones.
They are also asked with nothing beside, for what they find by themselves is not always right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto
from onnx.helper import make_attribute, make_tensor, make_tensor_type_proto, make_tensor_value_info
from onnx.inliner import inline_local_functions
from onnx.numpy_helper import from_array
from onnx.shape_inference import infer_shapes

from gather_infer.domains import plain_domain
from gather_infer.errors import ModelReadError
from gather_infer.inference.fallback import REJECTIONS
from gather_infer.inference.habits import fuse_targets, is_constant, mistaken_slices
from gather_infer.inference.proto.types import to_type
from gather_infer.model import ModelFile
from gather_infer.model.index import GraphIndex
from gather_infer.model.paths import Body, bodies, subgraphs
from gather_infer.places import GraphPath, Root
from gather_infer.tensor import SymbolicTensor, Value

Place: TypeAlias = tuple[GraphPath, int]
"""A node: its graph and its position."""

Facts: TypeAlias = Callable[[GraphPath, str], "Value | None"]
"""What is known of a value of a graph."""

READ: Final = 1024
"""Elements of a tensor that shape inference may read one by one; of a larger one it reads the dims."""

_MAX_DEPTH: Final = 30
"""Graphs in graphs; protobuf reads no deeper ones, so that no runtime loads them."""

_MAX_EXPANDED: Final = 1 << 16
"""Nodes of functions, those that they call counted at each call: onnx infers them anew each time."""

_MAX_CALLS: Final = 64
"""Calls in calls; of models with deeper ones the functions are left out."""

_NODE: Final = re.compile(r"node name: #(\d+)(?:__\d+)*\): (?=(.*))")
_REFUSALS: Final = (*REJECTIONS, ValueError, RuntimeError)
"""What onnx raises of a model; the last two of one that is broken otherwise, of which it then says nothing."""

_OF_INNER: Final = "Inference error(s):"
_CONTRADICTS: Final = "existing"
"""Of which an error tells: one that is of a graph in the node; a declaration that is not what is inferred."""


def unseen(path: GraphPath, name: str) -> Value | None:
    """The facts of one who knows nothing but what onnx's shape inference finds by itself, which is not always right."""
    return None


def refused(source: ModelFile, proto: ModelProto, facts: Facts, *, declarations: bool = True) -> frozenset[Place]:
    """The nodes that onnx's shape inference refuses, those in branches and bodies too; none where it cannot say.

    source        where the weights are to which `proto` refers
    declarations  those as well that only contradict a declaration, of which onnxruntime just warns
    """
    skeleton, places = _skeleton(source, proto)
    if skeleton is None:
        return frozenset()
    _complete(skeleton, places, facts)
    try:
        if skeleton.functions:  # runtimes put them in the place of the calls, and then see constants in their branches
            skeleton = inline_local_functions(skeleton)
        fuse_targets(skeleton)
        _hand_down(skeleton.graph)
        inferred = infer_shapes(skeleton, check_type=True, strict_mode=True, data_prop=True)
    except _REFUSALS as error:
        found = {
            places[int(number)]
            for number, why in _NODE.findall(str(error))
            if declarations or not (_OF_INNER in why or _CONTRADICTS in why)
        }
        return frozenset(place for place in found if not any(_is_inside(other, place) for other in found))
    return frozenset(places[_number(node)] for node in mistaken_slices(inferred))


def refused_as_it_is(source: ModelFile) -> frozenset[Place]:
    """The nodes that onnx's shape inference refuses by itself in the file that was given, as onnx.checker asks it."""
    skeleton, places = _skeleton(source, source.proto)
    try:
        infer_shapes(skeleton or ModelProto(), check_type=True, strict_mode=True)
    except _REFUSALS as error:
        return frozenset(places[int(number)] for number, _ in _NODE.findall(str(error)))
    return frozenset()


def visible(source: ModelFile, proto: ModelProto) -> dict[GraphPath, dict[str, TypeProto]]:
    """The types that all who load the model find: those of onnx's shape inference as it is by itself."""
    skeleton, places = _skeleton(source, proto)
    if skeleton is None:
        return {}
    try:
        inferred = infer_shapes(skeleton)
    except _REFUSALS:
        return {}
    return {
        path: {v.name: v.type for v in (*body.value_info, *body.input, *body.output)}
        for path, body in _bodies(inferred, places)
        if isinstance(body, GraphProto)
    }


def _is_inside(inner: Place, outer: Place) -> bool:
    """Whether a node stands in a graph that another one holds."""
    depth = len(outer[0].steps)
    return len(inner[0].steps) > depth and outer[0].contains(inner[0]) and inner[0].steps[depth].node == outer[1]


def _skeleton(source: ModelFile, proto: ModelProto) -> tuple[ModelProto | None, list[Place]]:
    """The model without large payloads, its nodes called by their numbers, and where these stand.

    None for one that is nested too deeply.
    """
    if any(len(path.steps) > _MAX_DEPTH for path, _ in bodies(proto)):
        return None, []
    found = ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import)
    if _expanded(proto) < _MAX_EXPANDED:
        found.functions.extend(proto.functions)
    graph = found.graph
    graph.name = proto.graph.name
    graph.input.extend(proto.graph.input)
    graph.output.extend(proto.graph.output)
    graph.value_info.extend(proto.graph.value_info)
    given = {value.name for value in graph.input}
    for tensor in proto.graph.initializer:
        lean = _lean(source, tensor)
        if lean is not None:
            graph.initializer.append(lean)
        elif tensor.name not in given:
            graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for sparse in proto.graph.sparse_initializer:  # onnx's shape inference does not look at them
        values = sparse.values
        graph.value_info.append(make_tensor_value_info(values.name, values.data_type, sparse.dims))
    for node in proto.graph.node:
        _copy(source, node, graph.node.add())
    places: list[Place] = []
    for path, body in bodies(found):
        for position, node in enumerate(body.node):
            node.name = f"#{len(places)}"
            places.append((path, position))
            if node.op_type == "Constant" and not plain_domain(node.domain) and len(node.attribute) == 1:
                _as_tensor(node.attribute[0])
        if isinstance(body, GraphProto) and path.steps:
            _declare_constants(body)
    if not _is_sorted(graph, set()):
        _sort(found)
    return found, places


def _declare_constants(body: GraphProto) -> None:
    """Let outputs that are initializers be declared with their dims: onnx goes by what is declared, others by these."""
    held = {t.name: t for t in body.initializer}
    for value in body.output:
        declared, tensor = value.type.tensor_type, held.get(value.name)
        if tensor is None or declared.elem_type not in (0, tensor.data_type):
            continue
        if not declared.HasField("shape") or len(declared.shape.dim) == len(tensor.dims):
            value.type.CopyFrom(make_tensor_type_proto(tensor.data_type, tensor.dims))


def _is_sorted(graph: GraphProto, known: set[str]) -> bool:
    """Whether each node stands behind those that it reads; `known` is what outer graphs have at this place."""
    known = known | {v.name for v in graph.input} | {t.name for t in graph.initializer} | {""}
    for at, node in enumerate(graph.node):
        if not known.issuperset(node.input) or not all(_is_sorted(inner, known) for _, inner in subgraphs(node, at)):
            return False
        known.update(node.output)
    return True


def _sort(proto: ModelProto) -> None:
    """Put each node behind those that it reads, as runtimes do; onnx's shape inference takes nodes as they stand."""
    scopes = GraphIndex(proto).scopes
    for path, body in reversed(list(bodies(proto))):  # inner graphs first: a node is copied with them
        nodes, scope = list(body.node), scopes[path]
        del body.node[:]
        body.node.extend(nodes[at] for at in (*scope.order, *scope.cyclic))


def _bodies(skeleton: ModelProto, places: Sequence[Place]) -> Iterator[tuple[GraphPath, Body]]:
    """The graphs and functions of a skeleton by their paths in the file, where nodes may stand otherwise."""
    found: dict[GraphPath, tuple[GraphPath, Body]] = {}
    for path, body in bodies(skeleton):
        origin = path
        if path.steps:
            step = path.steps[-1]
            above, outer = found[path.above]
            origin = above.below(replace(step, node=places[int(outer.node[step.node].name[1:])][1]))
        found[path] = origin, body
        yield origin, body


def _expanded(proto: ModelProto) -> int:
    """The nodes of the functions of a model, those of functions that they call at each call; at most the limit.

    Nodes in the graphs that nodes hold count too.
    """
    nodes: dict[int, list[NodeProto]] = {}
    for path, body in bodies(proto):
        if path.root is Root.FUNCTION:
            nodes.setdefault(path.position, []).extend(body.node)
    calls = {
        (plain_domain(f.domain), f.name, f.overload): (
            len(nodes[at]),
            [(plain_domain(n.domain), n.op_type, n.overload) for n in nodes[at]],
        )
        for at, f in enumerate(proto.functions)
    }
    sizes = {key: own for key, (own, _) in calls.items()}
    for _ in range(_MAX_CALLS):
        grown = {
            key: min(_MAX_EXPANDED, own + sum(sizes.get(inner, 0) for inner in called))
            for key, (own, called) in calls.items()
        }
        if grown == sizes:
            return min(_MAX_EXPANDED, sum(sizes.values()))
        sizes = grown
    return _MAX_EXPANDED


def _lean(source: ModelFile, tensor: TensorProto) -> TensorProto | None:
    """The tensor with its elements; of a large one the type and the dims. None when its elements are not there."""
    if prod(tensor.dims) > READ:
        return TensorProto(
            name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, data_location=TensorProto.EXTERNAL
        )
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    try:
        return from_array(source.tensor(tensor), tensor.name)
    except ModelReadError:
        return None


def _copy(source: ModelFile, node: NodeProto, copy: NodeProto) -> None:
    lean = _lean(source, node.attribute[0].t) if is_constant(node) else None
    if lean is None:
        copy.CopyFrom(node)
    else:
        copy.op_type = node.op_type
        copy.output.extend(node.output)
        copy.attribute.add(name=node.attribute[0].name, type=node.attribute[0].type).t.CopyFrom(lean)


def _as_tensor(attribute: AttributeProto) -> None:
    """Write the integers of a Constant as a tensor, which bodies are handed down."""
    if attribute.ref_attr_name or attribute.name not in ("value_int", "value_ints"):
        return
    is_one = attribute.name == "value_int"
    numbers = [attribute.i] if is_one else list(attribute.ints)
    tensor = make_tensor("", TensorProto.INT64, [] if is_one else [len(numbers)], numbers)
    attribute.CopyFrom(make_attribute("value", tensor))


def _hand_down(graph: GraphProto) -> None:
    """Let graphs in nodes have the small constants of outer graphs that they read: runtimes see them there."""
    pending: list[tuple[GraphProto, Mapping[str, TensorProto]]] = [(graph, {})]
    while pending:
        body, outer = pending.pop()
        given = {v.name for v in body.input}
        own = given | {name for node in body.node for name in node.output}
        held = {t.name: t for t in body.initializer}
        wanted = {name for node in body.node for name in node.input} & outer.keys()
        below = [inner for at, node in enumerate(body.node) for _, inner in subgraphs(node, at)]
        if below:
            known = {name: tensor for name, tensor in outer.items() if name not in own}
            known |= {name: tensor for name, tensor in held.items() if name not in given}
            known |= {node.output[0]: node.attribute[0].t for node in body.node if is_constant(node)}
            small = {name: tensor for name, tensor in known.items() if prod(tensor.dims) <= READ}
            pending += [(inner, small) for inner in below]
        for name in sorted(wanted - own - held.keys()):
            body.initializer.append(outer[name])
            body.initializer[-1].name = name


def _number(node: NodeProto) -> int:
    """Where the place of a node is, which has a second number once its function has been put in the place of a call."""
    return int(node.name[1:].partition("__")[0])


def _complete(proto: ModelProto, places: Sequence[Place], facts: Facts) -> None:
    """Write the dims that are known as numbers where the model declares nothing."""
    for path, body in _bodies(proto, places):
        if not isinstance(body, GraphProto):
            continue
        for output in body.output:
            known = _stated(facts(path, output.name))
            if known is not None and _is_silent(output.type, known.tensor_type.elem_type):
                output.type.CopyFrom(known)
        said = {v.name for v in (*body.input, *body.output, *body.value_info)} | {t.name for t in body.initializer}
        for name in [name for node in body.node for name in node.output if name and name not in said]:
            known = _stated(facts(path, name))
            if known is not None:
                body.value_info.add(name=name, type=known)


def _is_silent(declared: TypeProto, data_type: int) -> bool:
    """Whether a declaration leaves the dims of a tensor of this element type open."""
    tensor = declared.tensor_type
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        return False
    return tensor.elem_type in (TensorProto.UNDEFINED, data_type) and not tensor.HasField("shape")


def _stated(fact: Value | None) -> TypeProto | None:
    """The type of a tensor whose rank is known, with the dims that are numbers."""
    return to_type(fact, lambda _: "") if isinstance(fact, SymbolicTensor) and fact.shape is not None else None
