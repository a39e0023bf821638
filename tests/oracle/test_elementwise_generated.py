"""Random calls of the element-by-element, reducing and selecting operators: what the rules say against what comes out.

Every call is inferred three times: with all facts known, with dims and elements replaced by symbols, and with elements
known by their bounds only. Evaluated at the numbers of the run, every dim, element and bound has to be the runtime's.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
import pytest
from onnx import helper

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols, symbol
from gather_infer.tensor import DType, Ratio, SymbolicTensor, ValueRange, make_values
from tests.oracle.elementwise_cases import Array, Case, cases

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

COUNT = 1000
LEAST = 950
"""Calls of a family that have to be compared; the runtimes refuse some types."""


def run(case: Case) -> list[Array] | None:
    """The outputs of onnxruntime, or where it lacks the operator of the reference evaluator; None when both refuse."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(case.inputs)]
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op_type, names, outputs, **case.attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, case.inputs, strict=True)
        if x is not None
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.version)], ir_version=10)
    feeds = {name: x for name, x in zip(names, case.inputs, strict=True) if x is not None}
    try:
        session = ort.InferenceSession(model.SerializeToString(), _options(), providers=["CPUExecutionProvider"])
        return list(session.run(None, feeds))
    except ort.capi.onnxruntime_pybind11_state.NotImplemented:
        return list(onnx.reference.ReferenceEvaluator(model).run(None, feeds))


@cache
def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def dtype_of(x: Array) -> DType:
    return DType(helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype.str)))


class Checked(Context):
    """A context that knows the numbers of the run: whatever a rule learns must be true of them."""

    def __init__(self, bindings: dict[str, int]) -> None:
        super().__init__()
        self.bindings = bindings
        self.broken = False

    def add_implied_fact(self, dim: Dim) -> None:
        if free_symbols(dim) <= set(self.bindings):
            assert evaluate(dim, self.bindings) >= 0, f"implied {dim} >= 0 at {self.bindings}"
        super().add_implied_fact(dim)

    def add_constraint(self, left: Dim, relation: str, right: Dim) -> None:
        if free_symbols(left) | free_symbols(right) <= set(self.bindings):
            a, b = evaluate(left, self.bindings), evaluate(right, self.bindings)
            assert a == b if relation == "==" else a <= b, f"constrained {left} {relation} {right} at {self.bindings}"
        super().add_constraint(left, relation, right)

    def assume_at_most(self, dim: Dim, most: int, reason: str) -> bool:
        taken = super().assume_at_most(dim, most, reason)
        if taken and evaluate(dim, self.bindings) > most:
            self.broken = True  # a listed assumption does not hold here
        return taken


class Abstraction:
    """Replaces numbers by symbols, and remembers which."""

    def __init__(self, r: random.Random, mode: str) -> None:
        self.r = r
        self.mode = mode
        self.bindings: dict[str, int] = {}

    def dim(self, size: int) -> Dim:
        return size if self.mode == "known" or self.r.random() < 0.4 else self.number(size)

    def number(self, value: int) -> Dim:
        """An expression that has `value`."""
        shift = self.r.choice((0, 0, 1, -2)) if value >= 2 else 0
        name = f"s{abs(value - shift)}"
        self.bindings[name] = abs(value - shift)
        return (symbol(name) if value >= 0 else -symbol(name)) + shift

    def element(self, value: Any) -> Any:
        if self.mode == "known":
            return value
        draw = self.r.random()
        if draw < 0.15:
            return None
        is_integer = not isinstance(value, (bool, float)) or (isinstance(value, float) and _is_integer(value))
        return self.number(int(value)) if draw < 0.65 and is_integer and abs(value) < 2**53 else value

    def tensor(self, x: Array) -> SymbolicTensor:
        dtype = dtype_of(x)
        if self.mode == "span":
            shape = tuple(self.dim(d) for d in x.shape)
            if x.dtype.kind not in "iu" or not x.size or self.r.random() < 0.1:
                return SymbolicTensor(dtype, shape)
            return SymbolicTensor(dtype, shape, None, ValueRange(self.end(int(x.min()), -1), self.end(int(x.max()), 1)))
        values = make_values([self.element(value) for value in x.reshape(-1).tolist()], x.shape)
        return SymbolicTensor(dtype, x.shape, values)

    def end(self, value: int, side: int) -> Dim | None:
        if abs(value) > 2**31 or self.r.random() < 0.1:
            return None
        value += side * self.r.choice((0, 0, 1, 3))
        return self.number(value) if self.r.random() < 0.5 else value


def _is_integer(value: float) -> bool:
    return math.isfinite(value) and int(value) == value and (value != 0 or math.copysign(1, value) > 0)


KEPT_KNOWN = {"Reduce": (1,), "CumSum": (1,), "TopK": (1,), "Scatter": (1,), "OneHot": (1,)}
"""Inputs that say where, not what: half of the time they stay known."""


def infer(case: Case, abstraction: Abstraction, context: Context) -> list[SymbolicTensor]:
    kept: tuple[int, ...] = ()
    for prefix, positions in KEPT_KNOWN.items():
        if case.op_type.startswith(prefix) and abstraction.r.random() < 0.7:
            kept = positions
    exact = Abstraction(abstraction.r, "known")
    facts = [None if x is None else (exact if i in kept else abstraction).tensor(x) for i, x in enumerate(case.inputs)]
    rule = standard_rules()[""].find(case.op_type, case.version)
    assert rule is not None
    attributes = {k: tuple(v) if isinstance(v, list) else v for k, v in case.attributes.items()}
    found = rule(OpCall(case.op_type, facts, attributes, (True,) * case.outputs, case.version, context=context))
    return [fact for fact in found if isinstance(fact, SymbolicTensor)]


def check(case: Case, fact: SymbolicTensor, result: Array, bindings: dict[str, int], tally: Counter[str]) -> None:
    """`fact`, evaluated, is true of `result`; symbols that are not bound are new ones, anything is true of them."""
    assert fact.dtype is dtype_of(result), f"{fact.dtype} is {result.dtype}"
    if fact.shape is not None:
        assert len(fact.shape) == result.ndim, f"{fact} has rank {result.ndim}"
        for dim, size in zip(fact.shape, result.shape, strict=True):
            known = free_symbols(dim) <= set(bindings)
            tally["dims" if known else "new dims"] += 1
            assert not known or evaluate(dim, bindings) == size, f"{fact} is {result.shape}"
    if fact.values is not None:
        assert fact.values.shape == result.shape, f"values {fact.values.shape} of {result.shape}"
        for element, number in zip(fact.values.flat, result.reshape(-1).tolist(), strict=True):
            tally["elements" if element is not None else "unknown elements"] += 1
            # onnxruntime's Where makes 0.0 of -0.0.
            _check_element(element, number, result, bindings, case.op_type != "Where")
    if fact.value_range is not None and result.size:
        for end, sign in ((fact.value_range.lo, 1), (fact.value_range.hi, -1)):
            if end is not None and free_symbols(end) <= set(bindings):
                tally["ends"] += 1
                extreme = int(result.min() if sign > 0 else result.max())
                assert sign * evaluate(end, bindings) <= sign * extreme, f"{fact.value_range} of {result.tolist()}"


def _check_element(element: Any, number: Any, result: Array, bindings: dict[str, int], signed_zero: bool) -> None:
    if element is None:
        return
    if isinstance(element, Ratio):
        wanted: Any = result.dtype.type(evaluate(element.num, bindings)) / result.dtype.type(element.den)
    elif isinstance(element, Expr):
        if not free_symbols(element) <= set(bindings):
            return
        wanted = evaluate(element, bindings)
    else:
        wanted = element
        assert isinstance(wanted, bool) == isinstance(number, bool), f"{wanted} is no {type(number)}"
        if isinstance(wanted, float) and wanted == 0 == number and signed_zero:
            assert math.copysign(1, wanted) == math.copysign(1, number), "the sign of zero"
    assert wanted == number or (wanted != wanted and number != number), f"{element} = {wanted} is {number}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("family", ["arithmetic", "logic", "cast", "unary", "reduction", "selection"])
def test_rules_agree_with_the_runtime(family: str) -> None:
    tally: Counter[str] = Counter()
    for number, case in enumerate(cases(family, COUNT, seed=1)):
        try:
            results = run(case)
        except (RuntimeError, ValueError, TypeError, ort.capi.onnxruntime_pybind11_state.Fail) as refusal:
            tally[f"refused {case.op_type}: {str(refusal)[-90:]}"] += 1
            tally["refused"] += 1
            continue
        assert results is not None
        tally["compared"] += 1
        for mode in ("known", "symbols", "span"):
            abstraction = Abstraction(random.Random(f"{family} {number} {mode}"), mode)
            context = Checked(abstraction.bindings)
            try:
                facts = infer(case, abstraction, context)
                assert len(facts) == case.outputs
                if context.broken:
                    tally["assumption broken"] += 1
                    continue
                for fact, result in zip(facts, results, strict=True):
                    check(case, fact, np.asarray(result), abstraction.bindings, tally)
            except (AssertionError, SpecViolation) as problem:
                raise AssertionError(f"{mode}: {case} -> {[r.tolist() for r in results]}: {problem!r}") from problem
    print(family, dict(tally))
    assert tally["compared"] >= LEAST, tally
