"""Single nodes of com.microsoft: run by onnxruntime, and inferred with some of their numbers hidden behind symbols."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, evaluate, free_symbols, symbol
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, make_values

ort.set_default_logger_severity(4)

Array = np.ndarray[Any, Any]


@dataclass
class Case:
    """One node.

    known     inputs whose elements the rule sees, as numbers or as symbols
    declared  inputs whose dims the model declares, because the runtime wants to know them beforehand
    shared    output -> the input whose buffer it is written to
    used      for each output whether it has a name; all of them when empty
    """

    op_type: str
    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    known: tuple[int, ...] = ()
    domain: str = "com.microsoft"
    declared: tuple[int, ...] = ()
    used: tuple[bool, ...] = ()
    shared: dict[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = [
            None if a is None else a.tolist() if i in self.known else f"{a.dtype}{list(a.shape)}"
            for i, a in enumerate(self.inputs)
        ]
        return f"{self.op_type} {shown} {self.attributes}"


_REFUSALS = tuple(
    getattr(ort.capi.onnxruntime_pybind11_state, name)
    for name in ("Fail", "InvalidArgument", "RuntimeException", "NotImplemented", "InvalidGraph")
)


def run(case: Case) -> list[Array] | str:
    """The outputs of onnxruntime, or why it refuses the case. Input dims are left open: only the run decides."""
    feeds = {f"x{i}": array for i, array in enumerate(case.inputs) if array is not None}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(case.inputs)]
    inputs = []
    for name, array in feeds.items():
        shape = list(array.shape) if int(name[1:]) in case.declared else [None] * array.ndim
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
    used = case.used or (True,) * case.outputs
    outputs = [f"y{i}" if is_used else "" for i, is_used in enumerate(used)]
    node = helper.make_node(case.op_type, names, outputs, domain=case.domain, **case.attributes)
    values = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "case", inputs, values)
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        if case.shared:
            return _run_in_place(session, feeds, outputs, case.shared)
        return [np.asarray(array) for array in session.run(None, feeds)]
    except _REFUSALS as refusal:
        return str(refusal)


def _run_in_place(
    session: ort.InferenceSession, feeds: dict[str, Array], outputs: list[str], shared: dict[int, int]
) -> list[Array]:
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in feeds.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for index, name in enumerate(outputs):
        if index in shared:
            binding.bind_ortvalue_output(name, values[f"x{shared[index]}"])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [np.asarray(array) for array in binding.copy_outputs_to_cpu()]


class Hidden:
    """Facts about the inputs of a case, and the numbers that their symbols stand for."""

    def __init__(self, r: random.Random, case: Case, share: float, forget: float = 0.0) -> None:
        self._r, self._share = r, share
        self.bindings: dict[str, int] = {}
        self.facts = [
            None if array is None else self._fact(array, index in case.known) for index, array in enumerate(case.inputs)
        ]
        self.facts = [fact if fact is None or r.random() >= forget else self._less(fact) for fact in self.facts]

    def _fact(self, array: Array, is_known: bool) -> SymbolicTensor:
        dtype = DType(helper.np_dtype_to_tensor_dtype(array.dtype))
        if not is_known:
            return SymbolicTensor(dtype, tuple(self._dim(size) for size in array.shape))
        elements = array.reshape(-1).tolist()
        if dtype in INTEGER_RANGE:
            elements = [self._dim(e) if e >= 0 else e for e in elements]
        return SymbolicTensor(dtype, array.shape, make_values(elements, array.shape))

    def _less(self, fact: SymbolicTensor) -> SymbolicTensor:
        less = [SymbolicTensor(), SymbolicTensor(fact.dtype), SymbolicTensor(None, fact.shape)]
        return self._r.choice(less)

    def _dim(self, size: int) -> Dim:
        if self._r.random() >= self._share:
            return size
        same = [name for name, value in self.bindings.items() if value == size]
        chosen = self._r.choice(same) if same and self._r.random() < 0.6 else f"d{len(self.bindings)}"
        self.bindings[chosen] = size
        return symbol(chosen)


def compare(
    r: random.Random, case: Case, expected: list[Array], share: float, counts: Counter[str], *, forget: float = 0.0
) -> None:
    """Infer `case` with `share` of its numbers hidden and compare; AssertionError where a fact does not hold.

    forget   the share of inputs whose shape or element type is not known at all
    """
    hidden = Hidden(r, case, share, forget)
    context = Context(reserved=hidden.bindings)
    context.op_type = case.op_type
    attributes = {name: tuple(v) if isinstance(v, list) else v for name, v in case.attributes.items()}
    rule = standard_rules()[case.domain].find(case.op_type, 1)
    assert rule is not None, case.op_type
    used = case.used or (True,) * case.outputs
    call = OpCall(case.op_type, hidden.facts, attributes, used, 1, case.domain, context)
    about = f"{case} as {[str(f) for f in hidden.facts]} at {hidden.bindings}"
    try:
        found = rule(call)
    except SpecViolation as violation:
        raise AssertionError(f"{about}: {violation.message}, but the runtime takes it") from violation
    assert not context.findings, f"{about}: {context.findings}"
    for assumption in context.assumptions:
        if assumption.lower is not None and evaluate(assumption.dim, hidden.bindings) < assumption.lower:
            counts["assumed"] += 1
            return
    bindings = dict(hidden.bindings)
    shown = f"{about}: {[str(f) for f in found]} for {[a.shape for a in expected]}"
    facts = [fact for fact, is_used in zip(found, used, strict=True) if is_used]
    for fact, array in zip(facts, expected, strict=True):
        assert isinstance(fact, SymbolicTensor)
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        assert fact.dtype == dtype or (forget and fact.dtype is None), f"{shown}: {array.dtype}"
        assert fact.rank == array.ndim or (forget and fact.shape is None), shown
        for dim, size in zip(fact.shape or (), array.shape if fact.shape is not None else (), strict=True):
            if free_symbols(dim) <= hidden.bindings.keys():
                counts["dims"] += 1
                assert evaluate(dim, hidden.bindings) == size, shown
            else:
                counts["open"] += 1
                if not isinstance(dim, int) and dim.is_symbol:
                    assert bindings.setdefault(str(dim), size) == size, f"{shown}: {dim} has two sizes"
    for fact, array in zip(facts, expected, strict=True):
        if isinstance(fact, SymbolicTensor) and fact.value_range is not None and array.size:
            for end, holds in ((fact.value_range.lo, np.min), (fact.value_range.hi, np.max)):
                if end is not None and free_symbols(end) <= bindings.keys():
                    bound, number = evaluate(end, bindings), int(holds(array))
                    assert number >= bound if holds is np.min else number <= bound, f"{shown}: {fact.value_range}"
    for name, size in bindings.items():
        interval = context.scope.bounds(symbol(name))
        assert interval.lo is None or interval.lo <= size, f"{shown}: implied {name} >= {interval.lo}"
        assert interval.hi is None or size <= interval.hi, f"{shown}: implied {name} <= {interval.hi}"
    for c in context.constraints:
        if free_symbols(c.left) | free_symbols(c.right) <= bindings.keys():
            left, right = evaluate(c.left, bindings), evaluate(c.right, bindings)
            assert left == right if c.relation == "==" else left <= right, f"{shown}: requires {c}"
    counts["compared"] += 1
