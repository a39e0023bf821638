"""One node with constant inputs, evaluated by a runtime: float arithmetic that is not correctly rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, helper

from gather_infer.domains import plain_domain
from gather_infer.ops import standard_rules
from gather_infer.passes.evaluate.constant import Constant, bits_dtype
from gather_infer.passes.evaluate.numbers import is_float, is_integer, is_number

TOLERANCE: Final = "float results may differ by a few units in the last place from those of other runtimes"
"""What is true of a result of `evaluate_by_runtime`, in words for a report."""

_UNDEFINED: Final = frozenset({"Cast", "CastLike"})
"""What they leave open is undefined, not inexact."""


def evaluate_by_runtime(
    node: NodeProto, inputs: Sequence[Constant | None], versions: Mapping[str, int], ir_version: int
) -> list[Constant] | None:
    """The results of a node by onnxruntime, its optimiser off, on one thread; by onnx's reference evaluator without it.

    inputs     a constant per input; None for one that is left out
    versions   domain -> opset version, as the model imports them

    Returns None for an operator that is not known to be deterministic, that has no float among its inputs (exact
    evaluation decides on those: a runtime may crash where an integer has no quotient) or has a body, and when the
    runtime fails. The tolerance of the results is TOLERANCE.
    """
    domain = plain_domain(node.domain)
    rules = standard_rules().get(domain)
    rule = None if rules is None else rules.lookup(node.op_type, versions.get(domain, 0))
    if rule is None or not rule.traits.deterministic or node.op_type in _UNDEFINED:
        return None
    if not any(c is not None and is_float(c.data_type) for c in inputs):
        return None
    if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
        return None
    found = _run(_model(node, inputs, versions, ir_version))
    results = None if found is None else [_constant(value) for value in found]
    return None if results is None or any(r is None for r in results) else [r for r in results if r is not None]


def _model(
    node: NodeProto, inputs: Sequence[Constant | None], versions: Mapping[str, int], ir_version: int
) -> onnx.ModelProto:
    alone = NodeProto()
    alone.CopyFrom(node)
    names = ["" if c is None else f"i{position}" for position, c in enumerate(inputs)]
    del alone.input[:], alone.output[:]
    alone.input.extend(names)
    alone.output.extend(f"o{position}" if name else "" for position, name in enumerate(node.output))
    initializers = [c.to_tensor(name) for c, name in zip(inputs, names, strict=True) if c is not None]
    outputs = [onnx.ValueInfoProto(name=name) for name in alone.output if name]
    graph = helper.make_graph([alone], "node", [], outputs, initializers)
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def _run(model: onnx.ModelProto) -> list[object] | None:
    try:
        import onnxruntime
    except ImportError:
        return _run_reference(model)
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found: list[object] = session.run(None, {})
    except (
        state.Fail, state.InvalidArgument, state.InvalidGraph, state.NotImplemented, state.RuntimeException,
        state.InvalidProtobuf, RuntimeError, ValueError,
    ):  # fmt: skip
        return None
    return found


def _run_reference(model: onnx.ModelProto) -> list[object] | None:
    from onnx.reference import ReferenceEvaluator

    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, {})
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None
    return list(found)


def _constant(value: object) -> Constant | None:
    """A result as a constant; None for text, a sequence, and a type that constants are not held in as numpy does."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind in "OUS":
        return None
    array = np.asarray(value)
    data_type = int(helper.np_dtype_to_tensor_dtype(array.dtype))
    held = bits_dtype(data_type)
    if held is None or (is_integer(data_type) and not is_number(data_type)):
        return None
    return Constant(data_type, np.array(array).view(held))
