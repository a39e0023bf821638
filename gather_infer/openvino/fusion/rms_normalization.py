"""RMSNormalization: the mean of squares, a root, a quotient and a scale become one operator of opset 23.

OpenVINO has no such operator in its opsets, and its readers of ONNX and PyTorch write the formula. In onnxruntime 1.32
the operator computes the same for every input, infinities, NaN and squares that overflow included, but fails for a
normalized axis of length 0.
"""

from __future__ import annotations

from math import isfinite, prod
from typing import Final, NamedTuple

import numpy as np
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from gather_infer.ir import Graph, Node
from gather_infer.model.attributes import integer_attribute
from gather_infer.openvino.fusion.affine import ConstantOperand, as_vector, constant_operand
from gather_infer.openvino.fusion.fused_nodes import (
    Fusion,
    constant_axes,
    float_constant,
    fuse_into_one,
    is_type,
    new_producer,
    scalar_operand,
    sole_use,
    widened_constant,
)
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import DType, SymbolicTensor, static_dims

_WHY: Final = "an RMS normalization is one operator"
_MAX_SCALE: Final = 1 << 16
"""Maximum number of elements of a scale of ones."""


class _Quotient(NamedTuple):
    """x / Sqrt(ReduceMean(x^2) + epsilon) in float32.

    nodes   in order; the last one has the quotient as its output
    sizes   of the normalized axes, the last ones
    """

    x: str
    nodes: list[Node]
    epsilon: float
    sizes: tuple[int, ...]


def fuse_rms_normalization(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Fuse the new nodes around `node`, a ReduceMean, into RMSNormalization(x, scale), in float32 or float16.

    In float16 the quotient is computed in float32 and multiplied by the scale in float16, as the operator does. Without
    a constant scale of the normalized axes the scale is 1.
    """
    found = _quotient(model, node)
    if found is None:
        return
    x, nodes, count, kind = found.x, found.nodes, len(found.sizes), TensorProto.FLOAT
    head, tail = new_producer(node.graph, x, "Cast"), sole_use(nodes[-1], "Cast")
    if head is not None and tail is not None and _is_float16(node.graph, head, tail.node):
        x, nodes, kind = head.inputs[0], [*nodes, tail.node], TensorProto.FLOAT16
    operand = constant_operand(nodes[-1], "Mul") or _widened_scale(model, nodes[-1])
    scale = None if operand is None else as_vector(model, nodes[-1], operand, -count, count)
    if operand is not None and scale is not None:
        nodes = [*nodes, operand.reader]
    elif prod(found.sizes) <= _MAX_SCALE:
        scale = _ones(model, found.sizes, kind)
    else:
        return
    attributes = {"axis": -count, "epsilon": found.epsilon}
    last, others = nodes[-1], nodes[:-1]
    casts = [widened_constant(node.graph, name) for each in nodes for name in each.inputs]
    fused = fuse_into_one(model, last, last, others, "RMSNormalization", [x, scale], attributes, _WHY)
    casts += [head] if x != found.x else []
    unread = {cast: None for cast in casts if cast is not None and not model.is_needed(cast.graph, cast.outputs[0])}
    for cast in unread:
        model.remove(cast, _WHY)
    made.append(Fusion(last, tuple(others), fused, tuple(unread)))


def _widened_scale(model: MutableModel, node: Node) -> ConstantOperand | None:
    """The operand of the Mul that alone reads the output of `node`, if it is a Cast of a float16 constant."""
    use = sole_use(node, "Mul")
    name = "" if use is None else use.node.inputs[1 - use.index]
    if use is None or widened_constant(node.graph, name) is None:
        return None
    payload = float_constant(model, node.graph, name, _MAX_SCALE)
    return None if payload is None else ConstantOperand(use.node, name, payload)


def _quotient(model: MutableModel, mean: Node) -> _Quotient | None:
    """The quotient whose mean of squares is `mean`; None if anything but it reads a part of it.

    None too if the normalized axes are not the last ones with sizes that are numbers and not 0, or if epsilon is not a
    positive float32.
    """
    graph = mean.graph
    squares = new_producer(graph, mean.inputs[0], "Pow") or new_producer(graph, mean.inputs[0], "Mul")
    if squares is None or sole_use(squares, "ReduceMean") is None or integer_attribute(mean.proto, "keepdims", 1) != 1:
        return None
    x = squares.inputs[0]
    fact = graph.fact(x)
    if not isinstance(fact, SymbolicTensor) or fact.shape is None:
        return None
    rank = len(fact.shape)
    is_squared = squares.inputs[1] == x if squares.op_type == "Mul" else _is(model, graph, squares.inputs[1], 2, rank)
    axes = constant_axes(model, mean, rank)
    if not is_squared or not axes or axes != [*range(axes[0], rank)]:
        return None
    sizes = static_dims(fact.shape[axes[0] :])
    shifted = sole_use(mean, "Add")
    if sizes is None or 0 in sizes or shifted is None:
        return None
    epsilon = scalar_operand(model, graph, shifted.node.inputs[1 - shifted.index], rank)
    if epsilon is None or not epsilon > 0 or not isfinite(epsilon):
        return None
    rest = _divided(model, shifted.node, x, rank)
    return None if rest is None else _Quotient(x, [squares, mean, shifted.node, *rest], epsilon, sizes)


def _divided(model: MutableModel, shifted: Node, x: str, rank: int) -> list[Node] | None:
    """The nodes that divide `x` by the root of the output of `shifted`: Div(x, Sqrt), or Mul of x and the reciprocal.

    The reciprocal is Div(1, Sqrt), Reciprocal(Sqrt), Pow(Sqrt, -1) or Pow(shifted, -0.5).
    """
    graph, nodes = shifted.graph, []
    root, power = sole_use(shifted, "Sqrt"), sole_use(shifted, "Pow")
    if root is not None:
        nodes.append(root.node)
        quotient, inverse = sole_use(root.node, "Div"), sole_use(root.node, "Reciprocal")
        power = sole_use(root.node, "Pow")
        if quotient is not None and quotient.index == 1 and quotient.node.inputs[0] == x:
            return [*nodes, quotient.node]
        if quotient is not None and quotient.index == 1 and _is(model, graph, quotient.node.inputs[0], 1, rank):
            nodes.append(quotient.node)
        elif inverse is not None:
            nodes.append(inverse.node)
        elif power is not None and power.index == 0 and _is(model, graph, power.node.inputs[1], -1, rank):
            nodes.append(power.node)
        else:
            return None
    elif power is not None and power.index == 0 and _is(model, graph, power.node.inputs[1], -0.5, rank):
        nodes.append(power.node)
    else:
        return None
    product = sole_use(nodes[-1], "Mul")
    if product is None or product.node.inputs[1 - product.index] != x:
        return None
    return [*nodes, product.node]


def _is(model: MutableModel, graph: Graph, name: str, number: float, rank: int) -> bool:
    """Whether a value is the constant `number`, of any shape that keeps the shape of an operand of rank `rank`."""
    return scalar_operand(model, graph, name, rank) == number


def _is_float16(graph: Graph, head: Node, tail: Node) -> bool:
    """Whether `head` casts from float16 and `tail` casts back to it."""
    is_back = integer_attribute(tail.proto, "to") == TensorProto.FLOAT16
    return is_back and is_type(graph, head.inputs[0], DType.FLOAT16)


def _ones(model: MutableModel, sizes: tuple[int, ...], kind: int) -> str:
    """The name of a new constant of ones; `kind` is the number of FLOAT or FLOAT16."""
    ones = from_array(np.ones(sizes, helper.tensor_dtype_to_np_dtype(kind)), model.fresh("ones"))
    model.add_constant(model.main, ones.name, ones, None, _WHY)
    return ones.name
