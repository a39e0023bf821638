"""ReduceLogSumExp: the logarithm of a sum of powers of e whose largest exponent is 0 becomes one operator.

OpenVINO has no such operator, and its readers write m + Log(ReduceSum(Exp(x - m))) with the maximum m. ReduceLogSumExp
of x would give -inf where all elements are -inf, and the formula gives NaN; of x - m both give NaN.
"""

from __future__ import annotations

from typing import Final

from gather_infer.ir import Graph, Node
from gather_infer.model.attributes import integer_attribute
from gather_infer.openvino.fusion.fused_nodes import Fusion, constant_axes, fuse_into_one, new_producer, sole_use
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import DType, SymbolicTensor

_WHY: Final = "the logarithm of a sum of exponentials is one operator"


def fuse_log_sum_exp(model: MutableModel, node: Node, made: list[Fusion]) -> None:
    """Log(ReduceSum(Exp(x - m))) becomes ReduceLogSumExp(x - m); m is the maximum of x over the same axes.

    `node` is the Log. In float32: onnxruntime has no kernel for float16.
    """
    graph = node.graph
    total = new_producer(graph, node.inputs[0], "ReduceSum")
    powers = None if total is None else new_producer(graph, total.inputs[0], "Exp")
    if total is None or powers is None or sole_use(total, "Log") is None or sole_use(powers, "ReduceSum") is None:
        return
    axes = _axes(model, graph, total, powers.outputs[0])
    less = new_producer(graph, powers.inputs[0], "Sub")
    most = None if less is None else new_producer(graph, less.inputs[1], "ReduceMax")
    if axes is None or less is None or most is None or most.inputs[0] != less.inputs[0]:
        return
    if integer_attribute(most.proto, "keepdims", 1) != 1 or _axes(model, graph, most, most.inputs[0]) != axes:
        return
    kept = {"keepdims": integer_attribute(total.proto, "keepdims", 1)}
    inputs = [powers.inputs[0], total.inputs[1]]
    fused = fuse_into_one(model, node, node, [powers, total], "ReduceLogSumExp", inputs, kept, _WHY)
    made.append(Fusion(node, (powers, total), fused))


def _axes(model: MutableModel, graph: Graph, reduction: Node, data: str) -> list[int] | None:
    """The constant axes of a reduction of the float32 value `data`; None for another type or rank."""
    fact = graph.fact(data)
    if not isinstance(fact, SymbolicTensor) or fact.rank is None or fact.dtype is not DType.FLOAT32:
        return None
    return constant_axes(model, reduction, fact.rank)
