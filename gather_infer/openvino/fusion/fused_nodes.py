"""Nodes that a fusion reads and replaces: producers, sole readers and numbers, all of lowered layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper

from gather_infer.ir import Graph, Node, Value
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Use
from gather_infer.model.attributes import integer_attribute
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import DType, SymbolicTensor


@dataclass(frozen=True, slots=True)
class Fusion:
    """Nodes of several layers that became one node.

    first    the removed node whose layer is listed with the fused operator
    others   the other nodes that it computes
    fused    the new node
    unread   new nodes that were removed with them, because only they read them
    """

    first: Node
    others: tuple[Node, ...]
    fused: Node
    unread: tuple[Node, ...] = ()


def is_new(node: Node, op_type: str) -> bool:
    """Whether a node comes from a layer and is an `op_type` of ai.onnx."""
    return node.op_type == op_type and not node.domain and node.source is None


def sole_use(node: Node, op_type: str) -> Use | None:
    """The read of the output of `node` by a new `op_type` of the same graph; None if anything else reads it too."""
    graph, value = node.graph, Value(node.graph, node.outputs[0])
    uses = list(value.uses())
    if len(uses) != 1 or graph.is_fixed(value.name):
        return None
    return uses[0] if is_new(uses[0].node, op_type) and uses[0].node.graph is graph else None


def new_producer(graph: Graph, name: str, op_type: str) -> Node | None:
    """The new `op_type` of `graph` that writes the value `name`; None for any other value."""
    found = graph.producers.get(name)
    return found[0] if found is not None and is_new(found[0], op_type) else None


def is_type(graph: Graph, name: str, dtype: DType) -> bool:
    fact = graph.fact(name)
    return isinstance(fact, SymbolicTensor) and fact.dtype is dtype


def widened_constant(graph: Graph, name: str) -> Node | None:
    """The new Cast of a float16 constant that writes the float32 value `name`; None for any other value."""
    cast = new_producer(graph, name, "Cast")
    payload = None if cast is None else graph.constant_payload(cast.inputs[0])
    if cast is None or integer_attribute(cast.proto, "to") != TensorProto.FLOAT:
        return None
    is_half = isinstance(payload, (Constant, TensorProto)) and payload.data_type == TensorProto.FLOAT16
    return cast if is_half else None


def float_constant(model: MutableModel, graph: Graph, name: str, most: int) -> Constant | TensorProto | None:
    """The float32 constant `name`; a Cast of a float16 constant, as IRs have them, is one if it has at most `most`
    elements.
    """
    cast = widened_constant(graph, name)
    payload = graph.constant_payload(name if cast is None else cast.inputs[0])
    if not isinstance(payload, (Constant, TensorProto)):
        return None
    if cast is None:
        return payload if payload.data_type == TensorProto.FLOAT else None
    held = model.pass_input.read(payload) if prod(dims_of(payload)) <= most else None
    return None if held is None else Constant(TensorProto.FLOAT, _widened(held.plain).view(np.uint32))


def _widened(bits: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    return np.asarray(np.ascontiguousarray(bits).view(np.float16).astype(np.float32).reshape(bits.shape))


def dims_of(payload: Constant | TensorProto) -> tuple[int, ...]:
    return tuple(payload.dims) if isinstance(payload, TensorProto) else payload.shape


def scalar_operand(model: MutableModel, graph: Graph, name: str, rank: int) -> float | None:
    """The only element of the float32 constant `name`, if an operand of rank `rank` keeps its shape beside it."""
    payload = float_constant(model, graph, name, 1)
    dims = None if payload is None else dims_of(payload)
    if payload is None or dims is None or len(dims) > rank or any(size != 1 for size in dims):
        return None
    held = model.pass_input.read(payload)
    return None if held is None else float(held.plain.view(np.float32).reshape(()))


def constant_axes(model: MutableModel, node: Node, rank: int) -> list[int] | None:
    """The axes that input 1 of a reduction lists, sorted; None unless they are a constant with at least one axis."""
    payload = node.graph.constant_payload(node.inputs[1]) if len(node.inputs) == 2 else None
    held = None if payload is None else model.pass_input.read(payload)
    listed = None if held is None else held.to_indices()
    if listed is None or not listed.size or not ((-rank <= listed) & (listed < rank)).all():
        return None
    return sorted({int(axis) % rank for axis in listed.flat})


def fuse_into_one(
    model: MutableModel,
    like: Node,
    last: Node,
    others: Sequence[Node],
    op_type: str,
    inputs: Sequence[str],
    attributes: Mapping[str, int | float],
    why: str,
) -> Node:
    """Replace `last`, and the nodes `others` that only it needs, by one node in the place of `last`.

    like        the new node has the name and metadata of this one, and its attributes if it is an `op_type` too
    attributes  added to these
    """
    proto = NodeProto()
    proto.CopyFrom(like.proto)
    if like.op_type != op_type:
        proto.op_type = op_type
        proto.ClearField("attribute")
    del proto.input[:], proto.output[:]
    proto.input.extend(inputs)
    proto.output.extend(last.outputs)
    proto.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    for node in others:
        model.remove(node, why)
    (fused,) = model.replace(last, [proto], why)
    return fused
