"""Load refusals: nodes that a runtime refuses while it loads the file, whether or not a run reaches them.

Runtimes infer shapes with onnx's own functions, in every branch and body, before any node runs. The functions use
declared dims, dims that follow from them, and the elements of small constants. This module passes them everything that
a runtime may know: the inferred facts besides the declarations, and in each graph the constants of outer graphs. It
also calls them without these additions, since onnx alone may infer wrong types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final, TypeAlias

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto
from onnx.helper import make_attribute, make_tensor, make_tensor_type_proto, make_tensor_value_info
from onnx.shape_inference import infer_shapes

from gather_infer import ir
from gather_infer.domains import plain_domain, version_in, versions_of
from gather_infer.errors import ModelReadError
from gather_infer.inference.fallback import REJECTIONS
from gather_infer.inference.proto.releases import NEWEST_OPSET
from gather_infer.inference.proto.schema import schema_of
from gather_infer.inference.proto.types import to_type
from gather_infer.inference.runtime_quirks import (
    constant_tensor,
    fold_sizes,
    fuse_reshape_targets,
    has_quirks,
    misinferred_slices,
    refused_without_crash,
)
from gather_infer.ir import Model
from gather_infer.model import ModelFile
from gather_infer.model.elements import from_array
from gather_infer.model.function_inlining import with_functions_inlined
from gather_infer.model.paths import GraphOrFunction, bodies, graph_at
from gather_infer.node_ids import GraphPath, NodeId, Root
from gather_infer.tensor import SymbolicTensor, Value

Facts: TypeAlias = Callable[[GraphPath, str], "Value | None"]
"""Returns the inferred fact of a value of a graph."""

MAX_READ_ELEMENTS: Final = 1024
"""Maximal number of elements of a tensor that onnx's shape inference may read; of a larger one it uses the dims."""

_SPARSE_CONSTANTS: Final = 11
"""The first opset with sparse Constants. onnx asks for elements of an external tensor, but not of a sparse one."""

_MAX_DEPTH: Final = 30
"""Maximal nesting of graphs; protobuf reads no deeper ones, so no runtime loads them."""

_MAX_EXPANDED: Final = 1 << 16
"""Maximal number of nodes of inlined functions; with more, functions are ignored, since onnx infers each call again."""

_MAX_VECTORS: Final = 1 << 20
"""Maximal number of elements of all vectors for which onnx may propagate elements; it takes 210 bytes for each."""

_MAX_CORRECTIONS: Final = 8
"""Maximal number of inferences that look for wrong declarations; one may hide others."""

_MAX_CALLS: Final = 64
"""Maximal call depth; functions of models with deeper calls are ignored."""

# onnx's error texts contain node names, here `#number`; inlining a function appends `__k` for each call.
_NODE: Final = re.compile(r"node name: #(\d+)(?:__\d+)*\): (?=(.*))")
_REFUSALS: Final = (*REJECTIONS, ValueError, RuntimeError)
"""Exceptions of onnx for a refused model; the last two do not name a node."""

_IN_SUBGRAPH: Final = "Inference error(s):"
_CONTRADICTS: Final = "existing"
_CONTRADICTS_DIMS: Final = "Inferred shape and existing shape differ"
"""Markers in error texts: an error inside a subgraph of the node; a declaration that contradicts the inferred type, or
its dims alone.
"""


def no_facts(path: GraphPath, name: str) -> Value | None:
    """Facts that are all unknown: onnx's shape inference then runs without additions."""
    return None


def can_propagate_elements(scopes: Mapping[GraphPath, Mapping[str, Value]]) -> bool:
    """Whether the memory that onnx takes to propagate elements is bounded.

    onnx stores a message per element of each vector of known size that an operator such as Cast or Concat reads. A
    file of 800 bytes may have a vector of 10^12 elements.

    scopes  inferred facts of all values, by graph; function calls have graphs of their own
    """
    sizes = (
        fact.shape[0]
        for scope in scopes.values()
        for fact in scope.values()
        if isinstance(fact, SymbolicTensor) and fact.shape is not None and len(fact.shape) == 1
    )
    return sum(size for size in sizes if isinstance(size, int)) <= _MAX_VECTORS


def refused_nodes(
    source: ModelFile, proto: ModelProto, facts: Facts, *, declarations: bool = True, data_prop: bool = True
) -> frozenset[NodeId]:
    """The nodes that onnx's shape inference refuses, in all graphs; none if the model is nested too deeply to infer.

    source        file that holds the weights of `proto`
    facts         inferred facts to declare where the model declares no dims
    declarations  include nodes that only contradict a declaration, for which onnxruntime just warns
    data_prop     propagate elements of small tensors; onnxruntime propagates fewer of them than onnx does
    """
    skeleton, node_ids = _skeleton(source, proto)
    if skeleton is None:
        return frozenset()
    is_plain = not has_quirks(skeleton) and len(skeleton.graphs) == 1
    if is_plain:
        skeleton.release()
    _add_known_dims(skeleton.proto, node_ids, facts)
    try:
        if is_plain:
            infer_shapes(skeleton.proto, check_type=True, strict_mode=True, data_prop=data_prop)
            return frozenset()
        if skeleton.functions:  # runtimes inline functions, and then find constants in their branches
            skeleton = Model(with_functions_inlined(skeleton.proto))
        fuse_reshape_targets(skeleton)
        skeleton = _with_propagated_constants(skeleton)
        inferred = infer_shapes(skeleton.proto, check_type=True, strict_mode=True, data_prop=data_prop)
        if data_prop and fold_sizes(skeleton, inferred):
            skeleton = _with_propagated_constants(Model(skeleton.proto))
            inferred = infer_shapes(skeleton.proto, check_type=True, strict_mode=True, data_prop=True)
    except _REFUSALS as error:
        found = {
            node_ids[int(number)]
            for number, why in _NODE.findall(str(error))
            if declarations or not (_IN_SUBGRAPH in why or _CONTRADICTS in why)
        }
        found = {place for place in found if is_known_to_onnx(proto, place)}
        return frozenset(place for place in found if not any(_is_inside(other, place) for other in found))
    return frozenset(node_ids[_node_number(node.proto)] for node in misinferred_slices(skeleton, inferred))


def refused_alone(source: ModelFile, proto: ModelProto, *, data_prop: bool) -> frozenset[NodeId]:
    """The nodes that onnx's shape inference refuses without added facts, with or without propagated elements.

    data_prop  also try with propagated elements

    The result type of a refused node is unknown, which hides refusals of later nodes. A second run without propagated
    elements may accept the node and so find the later ones.
    """
    found = refused_nodes(source, proto, no_facts, data_prop=data_prop)
    return found | refused_nodes(source, proto, no_facts, data_prop=False) if found and data_prop else found


def refused_as_is(source: ModelFile) -> frozenset[NodeId]:
    """The nodes of the unmodified file that onnx's shape inference refuses, as onnx.checker runs it."""
    skeleton, node_ids = _skeleton(source, source.proto)
    if skeleton is None:
        return frozenset()
    skeleton.release()
    try:
        infer_shapes(skeleton.proto, check_type=True, strict_mode=True)
    except _REFUSALS as error:
        found = {node_ids[int(number)] for number, _ in _NODE.findall(str(error))}
        return frozenset(place for place in found if is_known_to_onnx(source.proto, place))
    return frozenset()


def wrongly_declared(
    source: ModelFile, facts: Facts, *, data_prop: bool = True
) -> Mapping[GraphPath, Mapping[str, TypeProto]]:
    """The values whose declared dims contradict those that onnx infers, each with its type without dims.

    onnx refuses such a file. onnxruntime loads it, and keeps of the two shapes what they have in common. Without these
    dims a loader sees more, so the dict is empty unless no node of the model is refused then. Outputs of the model
    stay as they are declared. For `facts` and `data_prop` see `refused_nodes`.
    """
    proto = ModelProto()
    proto.CopyFrom(source.proto)
    found: dict[GraphPath, dict[str, TypeProto]] = {}
    graphs = {path: body for path, body in bodies(proto) if isinstance(body, GraphProto)}
    for _ in range(_MAX_CORRECTIONS):
        skeleton, node_ids = _skeleton(source, proto)
        if skeleton is None:
            break
        skeleton.release()
        try:
            infer_shapes(skeleton.proto, check_type=True, strict_mode=True)
            refused = refused_alone(source, proto, data_prop=data_prop)
            return {} if refused or refused_nodes(source, proto, facts, data_prop=data_prop) else found
        except _REFUSALS as error:
            before = sum(map(len, found.values()))
            for number, why in _NODE.findall(str(error)):
                path, position = node_ids[int(number)]
                if path in graphs and _CONTRADICTS_DIMS in why and _IN_SUBGRAPH not in why:
                    dropped = _drop_declared_dims(graphs[path], position, is_main=not path.steps)
                    found.setdefault(path, {}).update(dropped)
            if sum(map(len, found.values())) == before:
                break
    return {}


def _drop_declared_dims(body: GraphProto, position: int, *, is_main: bool) -> dict[str, TypeProto]:
    """Remove the declared dims of the outputs of a node in place. Returns the types that are left."""
    names = set(body.node[position].output)
    left = {}
    for value in (*body.value_info, *(() if is_main else body.output)):
        if value.name in names and value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.ClearField("shape")
            left[value.name] = value.type
    return left


def is_known_to_onnx(proto: ModelProto, place: NodeId) -> bool:
    """Whether the installed onnx knows the operator of a node in the version that the model imports.

    An older one takes the operator's version before that, whose refusals mean nothing.
    """
    path, position = place
    node = graph_at(proto, path).node[position]
    holder = proto.functions[path.position] if path.root is Root.FUNCTION else proto
    domain = plain_domain(node.domain)
    version = version_in(versions_of(holder.opset_import), domain)
    schema = schema_of(node.op_type, min(version, NEWEST_OPSET) if not domain else version, domain) if version else None
    return schema is None or schema.raw is not None


def visible_types(source: ModelFile, proto: ModelProto) -> dict[GraphPath, dict[str, TypeProto]]:
    """The types that every loader can infer, by graph and name: the results of onnx's shape inference alone."""
    skeleton, node_ids = _skeleton(source, proto)
    if skeleton is None:
        return {}
    skeleton.release()
    try:
        inferred = infer_shapes(skeleton.proto)
    except _REFUSALS:
        return {}
    return {
        path: {v.name: v.type for v in (*body.value_info, *body.input, *body.output)}
        for path, body in _bodies(inferred, node_ids)
        if isinstance(body, GraphProto)
    }


def _is_inside(inner: NodeId, outer: NodeId) -> bool:
    """Whether the node `inner` is in a subgraph of the node `outer`, at any depth."""
    depth = len(outer[0].steps)
    return len(inner[0].steps) > depth and outer[0].contains(inner[0]) and inner[0].steps[depth].node == outer[1]


def _skeleton(source: ModelFile, proto: ModelProto) -> tuple[Model | None, list[NodeId]]:
    """A copy of the model without large payloads, with numbers as node names, and the node identities by number.

    The nodes are in topological order. The model is None when it is nested deeper than _MAX_DEPTH.
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
        lean = None if prod(tensor.dims) > MAX_READ_ELEMENTS else _with_payload(source, tensor)
        if lean is not None:
            graph.initializer.append(lean)
        elif tensor.name not in given:
            graph.input.append(make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for sparse in proto.graph.sparse_initializer:  # onnx's shape inference ignores them
        values = sparse.values
        graph.value_info.append(make_tensor_value_info(values.name, values.data_type, sparse.dims))
    version = next((one.version for one in proto.opset_import if not plain_domain(one.domain)), 0)
    for node in proto.graph.node:
        _copy(source, node, graph.node.add(), version)
    node_ids: list[NodeId] = []
    for path, body in bodies(found):
        for position, node in enumerate(body.node):
            node.name = f"#{len(node_ids)}"
            node_ids.append((path, position))
            refused = refused_without_crash(node)
            if refused is not node:
                node.CopyFrom(refused)
            if node.op_type == "Constant" and not plain_domain(node.domain) and len(node.attribute) == 1:
                _as_tensor(node.attribute[0])
        if isinstance(body, GraphProto):
            _declare_constants(body)
        if isinstance(body, GraphProto) and path.steps:
            _drop_empty_declarations(body)
    return _sorted(Model(found)), node_ids


def _declare_constants(body: GraphProto) -> None:
    """Declare the dims of graph outputs that are initializers: onnx uses the declaration, other tools the tensor."""
    given = {value.name for value in body.input}
    held = {t.name: t for t in body.initializer if t.name not in given}
    for value in body.output:
        declared, tensor = value.type.tensor_type, held.get(value.name)
        if tensor is None or declared.elem_type not in (0, tensor.data_type):
            continue
        if not declared.HasField("shape") or len(declared.shape.dim) == len(tensor.dims):
            value.type.CopyFrom(make_tensor_type_proto(tensor.data_type, tensor.dims))


def _drop_empty_declarations(body: GraphProto) -> None:
    """Remove value_info without a type from a subgraph: it would hide values of outer graphs from onnx, though not from
    runtimes.
    """
    declared = [value for value in body.value_info if value.type.WhichOneof("value")]
    if len(declared) < len(body.value_info):
        del body.value_info[:]
        body.value_info.extend(declared)


def _sorted(model: Model) -> Model:
    """The model with the nodes of all graphs in topological order, as runtimes sort them.

    onnx's shape inference visits nodes in file order. The messages are sorted in place.
    """
    unsorted = [graph for graph in model.graphs.values() if list(graph.nodes) != graph.file_nodes]
    for graph in reversed(unsorted):  # inner graphs first, since a node is copied with its graphs
        nodes = [node.proto for node in graph.nodes]
        del graph.proto.node[:]
        graph.proto.node.extend(nodes)
    return Model(model.proto) if unsorted else model


def _bodies(skeleton: ModelProto, node_ids: Sequence[NodeId]) -> Iterator[tuple[GraphPath, GraphOrFunction]]:
    """The graphs and functions of a skeleton, each with its path in the original file, whose node order may differ."""
    found: dict[GraphPath, tuple[GraphPath, GraphOrFunction]] = {}
    for path, body in bodies(skeleton):
        origin = path
        if path.steps:
            step = path.steps[-1]
            above, outer = found[path.above]
            origin = above.below(replace(step, node=node_ids[int(outer.node[step.node].name[1:])][1]))
        found[path] = origin, body
        yield origin, body


def _expanded(proto: ModelProto) -> int:
    """Number of nodes in the functions of a model after inlining, at most _MAX_EXPANDED.

    Nodes in subgraphs count too. Also _MAX_EXPANDED when calls nest deeper than _MAX_CALLS.
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


def _with_payload(source: ModelFile, tensor: TensorProto) -> TensorProto | None:
    """The tensor with its elements; None when they are missing."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    try:
        return from_array(source.tensor(tensor), tensor.name)
    except ModelReadError:
        return None


def _copy(source: ModelFile, node: NodeProto, copy: NodeProto, version: int) -> None:
    """Copy a node of the opset `version`, a large Constant with its type and dims only."""
    tensor = constant_tensor(node)
    is_large = tensor is not None and prod(tensor.dims) > MAX_READ_ELEMENTS
    lean = None if tensor is None or is_large else _with_payload(source, tensor)
    if tensor is None or (lean is None and not is_large):
        copy.CopyFrom(node)
        return
    copy.op_type = node.op_type
    copy.output.extend(node.output)
    if is_large and version >= _SPARSE_CONSTANTS:
        sparse = copy.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR).sparse_tensor
        sparse.dims.extend(tensor.dims)
        sparse.values.CopyFrom(TensorProto(dims=[0], data_type=tensor.data_type))
        sparse.indices.CopyFrom(TensorProto(dims=[0], data_type=TensorProto.INT64))
    else:
        lean = lean or TensorProto(dims=tensor.dims, data_type=tensor.data_type, data_location=TensorProto.EXTERNAL)
        copy.attribute.add(name=node.attribute[0].name, type=node.attribute[0].type).t.CopyFrom(lean)


def _as_tensor(attribute: AttributeProto) -> None:
    """Rewrite the integers of a Constant as a tensor, which `_propagate_constants` can copy into bodies."""
    if attribute.ref_attr_name or attribute.name not in ("value_int", "value_ints"):
        return
    is_one = attribute.name == "value_int"
    numbers = [attribute.i] if is_one else list(attribute.ints)
    tensor = make_tensor("", TensorProto.INT64, [] if is_one else [len(numbers)], numbers)
    attribute.CopyFrom(make_attribute("value", tensor))


def _with_propagated_constants(model: Model) -> Model:
    """The model with small constants of outer graphs in the graphs that read them, as runtimes propagate them.

    They are added to the messages in place.
    """
    is_changed = False
    for graph in model.graphs.values():
        if graph.outer is None or not isinstance(graph.proto, GraphProto):
            continue
        for name in sorted({name for node in graph.nodes for name in node.inputs if name}):
            value = graph.value(name)
            tensor = None if value is None or value.graph is graph else _constant_of(value)
            if tensor is not None and prod(tensor.dims) <= MAX_READ_ELEMENTS:
                graph.proto.initializer.append(tensor)
                graph.proto.initializer[-1].name = name
                is_changed = True
    return Model(model.proto) if is_changed else model


def _constant_of(value: ir.Value) -> TensorProto | None:
    """The tensor of a Constant, or of an initializer that callers cannot override; None for any other value."""
    if value.producer is not None:
        return constant_tensor(value.producer.proto)
    return None if value.name in value.graph.input_set else value.initializer


def _node_number(node: NodeProto) -> int:
    """The number in the name of a skeleton's node, without the suffix that inlining a function appends."""
    return int(node.name[1:].partition("__")[0])


def _add_known_dims(proto: ModelProto, node_ids: Sequence[NodeId], facts: Facts) -> None:
    """Add declarations with the inferred dims that are numbers, for values whose dims the model does not declare."""
    for path, body in _bodies(proto, node_ids):
        if not isinstance(body, GraphProto):
            continue
        for output in body.output:
            known = _static_type(facts(path, output.name))
            if known is not None and _leaves_dims_open(output.type, known.tensor_type.elem_type):
                output.type.CopyFrom(known)
        declared = {v.name for v in (*body.input, *body.output, *body.value_info)} | {t.name for t in body.initializer}
        for name in [name for node in body.node for name in node.output if name and name not in declared]:
            known = _static_type(facts(path, name))
            if known is not None:
                body.value_info.add(name=name, type=known)


def _leaves_dims_open(declared: TypeProto, data_type: int) -> bool:
    """Whether a declaration admits a tensor of element type `data_type` and gives no dims."""
    tensor = declared.tensor_type
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        return False
    return tensor.elem_type in (TensorProto.UNDEFINED, data_type) and not tensor.HasField("shape")


def _static_type(fact: Value | None) -> TypeProto | None:
    """The type of a tensor of known rank, with its static dims only."""
    return to_type(fact, lambda _: "") if isinstance(fact, SymbolicTensor) and fact.shape is not None else None
