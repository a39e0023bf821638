"""Rules of neural-network operators against the node tests that ship with ONNX: one node, static, outputs recorded."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.backend.test.case import node as node_cases

from gather_infer.ops.onnx import attention, conv, einsum, loss, matmul, ngram, norm, pool, recurrent, signal, vision
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, SymbolicTensor, from_values, make_values
from tests.onnx_versions import has_sound_models

RULES = RuleSet("")
for _module in (attention, conv, einsum, loss, matmul, ngram, norm, pool, recurrent, signal, vision):
    RULES.update(_module.rules)
OPERATORS = {op_type for op_type, _, _ in RULES.entries()}

# module of the generators: node tests in it, at least
MODULES = {
    "attention": 60, "batch_normalization": 4, "blackmanwindow": 1, "causal_conv_with_state": 4, "conv": 5,
    "convinteger": 2, "convtranspose": 8, "deformconv": 3, "det": 2, "dft": 6, "einsum": 5, "gemm": 10,
    "globalaveragepool": 2, "globalmaxpool": 2, "groupnormalization": 2, "gru": 4, "hammingwindow": 1, "hannwindow": 1,
    "instance_normalization": 2, "layernormalization": 12, "linear_attention": 4, "lpnormalization": 4, "lrn": 2,
    "lstm": 4, "matmul": 3, "matmulinteger": 1, "maxunpool": 2, "meanvariancenormalization": 1, "melweightmatrix": 1,
    "negativeloglikelihoodloss": 12, "qlinearconv": 1, "qlinearmatmul": 4, "rmsnormalization": 12, "rnn": 4,
    "roialign": 2, "rotaryembedding": 6, "softmax_cross_entropy_loss": 20, "stft": 2, "tensorscatter": 2,
    "tfidfvectorizer": 6,
}  # fmt: skip
SLOW = {"averagepool": 15, "lppool": 8, "maxpool": 15}  # their expected outputs are computed in Python loops


@cache
def recorded(module: str) -> tuple[Any, ...]:
    """The single-node tests that importing `module` records."""
    try:
        importlib.import_module(f"{node_cases.__name__}.{module}")
    except ModuleNotFoundError:
        pytest.skip(f"the installed onnx has no node tests for {module}")
    return tuple(
        case
        for case in node_cases._NodeTestCases
        if len(case.model.graph.node) == 1
        and case.model.graph.node[0].op_type in OPERATORS
        and not case.model.graph.node[0].domain
    )


def fact(array: Any) -> SymbolicTensor:
    if array.dtype == object:
        return SymbolicTensor(DType.STRING, array.shape)
    dtype = DType(helper.np_dtype_to_tensor_dtype(array.dtype))
    if dtype.is_integer and array.size <= 16:
        return from_values(dtype, make_values([int(v) for v in array.flat], array.shape))
    return SymbolicTensor(dtype, array.shape)


def attribute(proto: Any) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, list):
        return tuple(v.decode() if isinstance(v, bytes) else v for v in value)
    return value.decode() if isinstance(value, bytes) else value


def check(case: Any) -> None:
    node = case.model.graph.node[0]
    inputs, outputs = case.data_sets[0]
    given = dict(zip([i.name for i in case.model.graph.input], inputs, strict=True))
    expected = dict(zip([o.name for o in case.model.graph.output], outputs, strict=True))
    version = case.model.opset_import[0].version
    rule = RULES.find(node.op_type, version)
    assert rule is not None, f"no rule for {node.op_type}-{version}"
    facts = [fact(np.asarray(given[name])) if name else None for name in node.input]
    attributes = {a.name: attribute(a) for a in node.attribute}
    op = OpCall(node.op_type, facts, attributes, tuple(map(bool, node.output)), version)
    for name, found in zip(node.output, rule(op), strict=True):
        if name:
            wanted = np.asarray(expected[name])
            dtype = helper.np_dtype_to_tensor_dtype(wanted.dtype)
            assert found == SymbolicTensor(DType(dtype), wanted.shape, value_range=found.value_range), (
                f"{case.name}: {name}"
            )


@pytest.mark.parametrize(
    "module, least",
    [*MODULES.items(), *(pytest.param(*entry, marks=pytest.mark.oracle) for entry in SLOW.items())],
    ids=[*MODULES, *SLOW],
)
def test_node_tests_of_onnx(module: str, least: int) -> None:
    before = {case.name for case in node_cases._NodeTestCases}
    cases = [case for case in recorded(module) if case.name not in before] or list(recorded(module))
    assert len(cases) >= least
    for case in cases:
        if has_sound_models(case.name):
            check(case)
