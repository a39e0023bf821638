"""Rules of neural-network operators against runtimes, on generated cases.

Each case is concrete. Some of its dims become symbols, equal ones sometimes the same; the rule runs once, its answer is
evaluated at the case's own sizes and compared with what the runtime returned. Facts that the rule declared implied and
constraints that it recorded must hold at those sizes too: the run was legal.
"""

from __future__ import annotations

import random

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import attention, conv, einsum, loss, matmul, norm, pool, recurrent, signal, vision
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, evaluate, free_symbols, symbol
from gather_infer.tensor import DType, SymbolicTensor, from_values, make_values
from tests.onnx_versions import require_onnx
from tests.oracle.nn_cases import GENERATORS, REFERENCE, Array, Case

RULES = RuleSet("")
for _module in (attention, conv, einsum, loss, matmul, norm, pool, recurrent, signal, vision):
    RULES.update(_module.rules)


def model_of(case: Case) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The case as a model of one node; input dims are left open, so that only the run decides."""
    feeds = {f"x{i}": array for i, array in enumerate(case.inputs) if array is not None}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(case.inputs)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim)
        for n, a in feeds.items()
    ]
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op_type, names, outputs, **case.attributes)
    graph = helper.make_graph([node], "case", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])
    opset = helper.make_opsetid("", case.version)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10), feeds


def run(case: Case, *, reference: bool) -> list[Array] | None:
    """The outputs of the runtime, None when it rejects the case."""
    model, feeds = model_of(case)
    if reference:
        return [np.asarray(array) for array in ReferenceEvaluator(model).run(None, feeds)]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [np.asarray(array) for array in session.run(None, feeds)]
    except (
        ort.capi.onnxruntime_pybind11_state.Fail,
        ort.capi.onnxruntime_pybind11_state.InvalidArgument,
        ort.capi.onnxruntime_pybind11_state.RuntimeException,
    ):
        return None


def abstract(r: random.Random, case: Case, share: float) -> tuple[list[SymbolicTensor | None], dict[str, int]]:
    """The inputs as facts, with about `share` of the dims replaced by symbols, and what the symbols stand for."""
    bindings: dict[str, int] = {}

    def name(size: int) -> Dim:
        if r.random() >= share:
            return size
        same = [known for known, value in bindings.items() if value == size]
        chosen = r.choice(same) if same and r.random() < 0.5 else f"d{len(bindings)}"
        bindings[chosen] = size
        return symbol(chosen)

    facts: list[SymbolicTensor | None] = []
    for index, array in enumerate(case.inputs):
        if array is None:
            facts.append(None)
            continue
        dtype = DType(helper.np_dtype_to_tensor_dtype(array.dtype))
        if index in case.known:
            is_axis = case.op_type == "DFT" and index == 2
            facts.append(from_values(dtype, make_values(int(array) if is_axis else name(int(array)))))
        else:
            facts.append(SymbolicTensor(dtype, tuple(name(size) for size in array.shape)))
    return facts, bindings


def holds(dim: Dim, bindings: dict[str, int]) -> bool:
    return not free_symbols(dim) <= bindings.keys() or evaluate(dim, bindings) >= 0


def compare(r: random.Random, case: Case, expected: list[Array], share: float) -> tuple[int, int] | None:
    """(dims compared, dims left open), None when an assumption excludes the case."""
    facts, bindings = abstract(r, case, share)
    context = Context()
    attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in case.attributes.items()}
    rule = RULES.find(case.op_type, case.version)
    assert rule is not None
    op = OpCall(case.op_type, facts, attributes, (True,) * case.outputs, case.version, context=context)
    about = f"{case.op_type}-{case.version} {[str(f) for f in facts]} {case.attributes} at {bindings}"
    try:
        found = rule(op)
    except SpecViolation as violation:
        pytest.fail(f"{about}: {violation.message}, but the runtime takes it")
    if not all(a.lower is None or holds(a.dim - a.lower, bindings) for a in context.assumptions):
        return None
    for name, size in bindings.items():
        interval = context.scope.bounds(symbol(name))
        assert interval.lo is None or interval.lo <= size, f"{about}: implied {name} >= {interval.lo}"
        assert interval.hi is None or size <= interval.hi, f"{about}: implied {name} <= {interval.hi}"
    for c in context.constraints:
        if free_symbols(c.left) | free_symbols(c.right) <= bindings.keys():
            left, right = evaluate(c.left, bindings), evaluate(c.right, bindings)
            assert left == right if c.relation == "==" else left <= right, f"{about}: requires {c}"
    compared = unknown = 0
    for fact, array in zip(found, expected, strict=True):
        assert isinstance(fact, SymbolicTensor)
        assert fact.dtype == helper.np_dtype_to_tensor_dtype(array.dtype), f"{about}: {fact}, not {array.dtype}"
        assert fact.rank == array.ndim, f"{about}: {fact}, not {array.shape}"
        for dim, size in zip(fact.shape or (), array.shape, strict=True):
            if free_symbols(dim) <= bindings.keys():
                compared += 1
                assert evaluate(dim, bindings) == size, f"{about}: {fact}, not {array.shape}"
            else:
                unknown += 1
        if fact.value_range is not None and array.size and fact.value_range.hi is not None:
            assert array.max() <= evaluate(fact.value_range.hi, bindings), f"{about}: {fact.value_range}"
    return compared, unknown


@pytest.mark.parametrize("family", GENERATORS)
def test_generated(family: str) -> None:
    if family in REFERENCE:
        require_onnx("1.23", "layout = 1 in the reference evaluator")
    generate, count = GENERATORS[family]
    r = random.Random(f"nn {family}")
    legal = excluded = compared = unknown = 0
    for _ in range(count):
        case = generate(r)
        expected = run(case, reference=family in REFERENCE)
        if expected is None:
            continue
        legal += 1
        for share in (0.0, 0.4, 0.9):
            result = compare(r, case, expected, share)
            if result is None:
                excluded += 1
            else:
                compared, unknown = compared + result[0], unknown + result[1]
    print(
        f"{family}: {legal} of {count} cases are legal, {compared} dims agree, {unknown} are open, {excluded} assumed"
    )
    assert legal * 3 >= count, "most of the generated cases should run"
    assert unknown * 8 <= compared, "few dims should be left open"
