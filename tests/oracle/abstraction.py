"""Generated cases of one operator each: infer with some of the numbers hidden behind symbols, compare with the runtime.

A case is legal when the runtime runs it. Then every fact has to hold under the binding: element types, dims, values,
spans, and also what was learnt, recorded and implied on the way. A case that fails in the runtime tells nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols, symbol
from gather_infer.tensor import INTEGER_RANGE, MAX_VALUES, DType, SymbolicTensor, ValueRange, make_values

ort.set_default_logger_severity(4)


@dataclass
class Case:
    """`operands` are the positions of inputs that are read as sizes, axes or indices."""

    op_type: str
    inputs: list[np.ndarray | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    version: int = 18
    outputs: int = 1
    operands: tuple[int, ...] = ()

    def __str__(self) -> str:
        shown = [
            None if a is None else a.tolist() if i in self.operands else a.shape for i, a in enumerate(self.inputs)
        ]
        return f"{self.op_type}-{self.version} {shown} {self.attributes}"


@cache
def _session(
    op_type: str, version: int, inputs: tuple[int, ...], outputs: int, attributes: bytes
) -> ort.InferenceSession:
    node = onnx.NodeProto.FromString(attributes)
    node.op_type = op_type
    node.input.extend(f"i{k}" if kind else "" for k, kind in enumerate(inputs))
    node.output.extend(f"o{k}" for k in range(outputs))
    given = [helper.make_tensor_value_info(f"i{k}", kind, None) for k, kind in enumerate(inputs) if kind]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=f"o{k}") for k in range(outputs)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(case: Case) -> list[np.ndarray] | None:
    """The outputs of onnxruntime, None where it refuses the case."""
    node = onnx.NodeProto(attribute=[helper.make_attribute(k, v) for k, v in sorted(case.attributes.items())])
    kinds = tuple(0 if a is None else helper.np_dtype_to_tensor_dtype(a.dtype) for a in case.inputs)
    feeds = {f"i{k}": a for k, a in enumerate(case.inputs) if a is not None}
    try:
        session = _session(case.op_type, case.version, kinds, case.outputs, node.SerializeToString())
        return session.run(None, feeds)
    except _REFUSALS:
        return None


_REFUSALS = tuple(
    getattr(ort.capi.onnxruntime_pybind11_state, name)
    for name in ("Fail", "InvalidArgument", "RuntimeException", "NotImplemented", "InvalidGraph")
)


class Abstraction:
    """Hides numbers behind symbols, or altogether, and keeps the binding."""

    def __init__(self, rng: random.Random, *, hide: float = 0.5, forget: float = 0.1) -> None:
        self.rng, self.hide, self.forget = rng, hide, forget
        self.bindings: dict[str, int] = {}

    def size(self, number: int) -> Dim:
        if self.rng.random() >= self.hide:
            return number
        shared = self.rng.random() < 0.6
        name = f"n{number}" if shared else f"m{len(self.bindings)}"
        self.bindings[name] = number
        return symbol(name)

    def element(self, number: int) -> Dim | None:
        if self.rng.random() < self.forget:
            return None
        if abs(number) > 1000 or self.rng.random() >= self.hide:
            return number
        offset = self.rng.choice([0, 0, 0, 1, 3]) if number >= 0 else -number + self.rng.choice([0, 1, 2])
        result = self.size(number + offset) - offset
        if self.rng.random() < 0.15 and number % 2 == 0 and number >= 0:
            result = self.size(number // 2) * 2
        return result

    def tensor(self, array: np.ndarray, *, is_operand: bool) -> SymbolicTensor:
        dtype = DType(helper.np_dtype_to_tensor_dtype(array.dtype))
        if not is_operand and self.rng.random() < 0.05:
            return SymbolicTensor(dtype)
        keeps_values = array.size <= MAX_VALUES and (is_operand or self.rng.random() < 0.5) and dtype in _TRACKED
        if not keeps_values:
            span = None
            if dtype in INTEGER_RANGE and array.size and self.rng.random() < 0.5:
                span = ValueRange(self.element(int(array.min())), self.element(int(array.max())))
            return SymbolicTensor(dtype, tuple(self.size(n) for n in array.shape), None, span)
        if dtype in INTEGER_RANGE:
            return SymbolicTensor(
                dtype, array.shape, make_values([self.element(int(e)) for e in array.flat], array.shape)
            )
        return SymbolicTensor(dtype, array.shape, make_values([e.item() for e in array.flat], array.shape))


_TRACKED = {DType.INT64, DType.INT32, DType.BOOL, DType.FLOAT32}


class Mismatch(AssertionError):
    pass


def check(case: Case, rng: random.Random, counts: Counter[str]) -> None:
    """Infer an abstraction of `case` and compare; counts what came out."""
    abstraction = Abstraction(rng)
    facts = [
        None if array is None else abstraction.tensor(array, is_operand=k in case.operands)
        for k, array in enumerate(case.inputs)
    ]
    context = Context(reserved=abstraction.bindings, may_assume=rng.random() < 0.7)
    context.op_type = case.op_type
    rule = standard_rules()[""].find(case.op_type, case.version)
    assert rule is not None, case.op_type
    call = OpCall(case.op_type, facts, case.attributes, (True,) * case.outputs, case.version, context=context)
    shown = f"{case} as {[str(f) for f in facts]} at {abstraction.bindings}"
    try:
        found = rule(call)
    except SpecViolation as violation:
        counts["rejected"] += 1
        if run(case) is not None:
            raise Mismatch(f"{shown}: rejected ({violation}), the runtime accepts it") from violation
        return
    result = run(case)
    if result is None:
        counts["refused by the runtime"] += 1
        return
    compare(shown, found, result, context, abstraction.bindings, counts)


def compare(
    shown: str,
    found: Sequence[Any],
    result: Sequence[np.ndarray],
    context: Context,
    known: Mapping[str, int],
    counts: Counter[str],
) -> None:
    bindings = dict(known)
    for fact, array in zip(found, result, strict=True):
        bind(fact, array.shape, bindings)
    for assumption in context.assumptions:
        value = value_of(assumption.dim, bindings)
        if value is not None and assumption.lower is not None and value < assumption.lower:
            counts["assumption does not hold"] += 1
            return
    shown = f"{shown}: {[str(f) for f in found]} for {[a.shape for a in result]}"
    for fact, array in zip(found, result, strict=True):
        compare_tensor(shown, fact, array, bindings, counts)
    for learnt in context.scope.facts:
        value = value_of(learnt, bindings)
        if value is not None and value < 0:
            raise Mismatch(f"{shown}: learnt {learnt} >= 0, is {value}")
    for name, value in bindings.items():
        if value not in context.scope.bounds(symbol(name)):
            raise Mismatch(f"{shown}: learnt that {name} is in {context.scope.bounds(symbol(name))}, is {value}")
    for constraint in context.constraints:
        left, right = value_of(constraint.left, bindings), value_of(constraint.right, bindings)
        if left is None or right is None:
            continue
        if not (left == right if constraint.relation == "==" else left <= right):
            raise Mismatch(f"{shown}: {constraint} does not hold")
    counts["compared"] += 1


def bind(fact: SymbolicTensor, shape: tuple[int, ...], bindings: dict[str, int]) -> None:
    """Symbols that the rule made stand for what the runtime found, once and for all."""
    for dim, size in zip(fact.shape or (), shape, strict=False):
        if isinstance(dim, Expr) and dim.is_symbol:
            bindings.setdefault(dim.name, size)


def value_of(dim: Dim, bindings: Mapping[str, int]) -> int | None:
    """None when the dim holds a symbol that no output has bound."""
    return None if free_symbols(dim) - bindings.keys() else evaluate(dim, bindings)


def compare_tensor(
    shown: str, fact: SymbolicTensor, array: np.ndarray, bindings: Mapping[str, int], counts: Counter[str]
) -> None:
    if (
        fact.dtype is not None
        and array.dtype.kind not in "OU"
        and fact.dtype != helper.np_dtype_to_tensor_dtype(array.dtype)
    ):
        raise Mismatch(f"{shown}: element type {array.dtype}")
    if fact.shape is None:
        counts["unknown rank"] += 1
        return
    if len(fact.shape) != array.ndim:
        raise Mismatch(f"{shown}: rank {array.ndim}")
    for dim, size in zip(fact.shape, array.shape, strict=True):
        value = value_of(dim, bindings)
        if value is not None and value != size:
            raise Mismatch(f"{shown}: {dim} is {value}, not {size}")
        counts["dims"] += 1
    if fact.values is not None:
        counts["with values"] += 1
        for element, actual in zip(fact.values.flat, array.flat, strict=True):
            expected = value_of(element, bindings) if isinstance(element, (int, Expr)) else element
            if expected is not None and expected != actual:
                raise Mismatch(f"{shown}: element {element} is {expected}, not {actual}")
    if fact.value_range is not None and array.size:
        counts["with a span"] += 1
        for end, actual, sign in ((fact.value_range.lo, array.min(), 1), (fact.value_range.hi, array.max(), -1)):
            bound = None if end is None else value_of(end, bindings)
            if bound is not None and sign * (int(actual) - bound) < 0:
                raise Mismatch(f"{shown}: element {actual} is outside {fact.value_range}")
