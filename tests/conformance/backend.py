"""The node models of the onnx project's backend tests with their recorded inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from gather_infer import Inference
from gather_infer.symbolic import evaluate, free_symbols
from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor, Value


@dataclass(frozen=True)
class Case:
    """One model with the values that its inputs and outputs have in the recorded run."""

    name: str
    model: onnx.ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@cache
def cases() -> tuple[Case, ...]:
    """Every node model, in the order of their names. Making them takes some seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    made = []
    for case in found:
        if case.model is None or not case.data_sets:
            continue
        inputs, outputs = case.data_sets[0]
        made.append(Case(case.name, case.model, tuple(inputs), tuple(outputs)))
    return tuple(sorted(made, key=lambda c: c.name))


def static(case: Case) -> onnx.ModelProto:
    """The model with its outputs' types removed, so that nothing can be copied from them."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for output in model.graph.output:
        output.ClearField("type")
    del model.graph.value_info[:]
    return model


def symbolic(case: Case) -> tuple[onnx.ModelProto, dict[str, int]]:
    """The same with every dim of every tensor input a symbol of its own, and the sizes of the recorded run."""
    model = static(case)
    sizes: dict[str, int] = {}
    for number, (proto, value) in enumerate(zip(model.graph.input, case.inputs, strict=False)):
        if not proto.type.HasField("tensor_type") or not proto.type.tensor_type.HasField("shape"):
            continue
        shape = np.shape(_array(value))
        dims = proto.type.tensor_type.shape.dim
        for axis, dim in enumerate(dims):
            if axis >= len(shape):
                break
            name = f"i{number}_{axis}"
            dim.Clear()
            dim.dim_param = name
            sizes[name] = int(shape[axis])
    return model, sizes


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return value


def verdicts(case: Case, inference: Inference, sizes: dict[str, int]) -> Iterator[tuple[str, str]]:
    """(`exact` | `open` | `wrong`, why) for each output of the recorded run."""
    for proto, value in zip(case.model.graph.output, case.outputs, strict=False):
        fact = inference.get(proto.name)
        if fact is None:
            yield "wrong", f"{proto.name}: not in the result"
        else:
            yield _verdict(proto, fact, value, sizes, inference)


def _verdict(
    proto: onnx.ValueInfoProto, fact: Value, value: Any, sizes: dict[str, int], inference: Inference
) -> tuple[str, str]:
    value = _array(value)
    kind = proto.type.WhichOneof("value")
    if kind == "sequence_type" or isinstance(value, list):
        if isinstance(fact, SequenceType):
            return "exact", ""
        return ("open", f"{proto.name}: {fact}") if fact == SymbolicTensor() else ("wrong", f"{proto.name}: {fact}")
    if kind == "optional_type":
        return ("exact", "") if isinstance(fact, OptionalType) else ("open", f"{proto.name}: {fact}")
    if not isinstance(fact, SymbolicTensor):
        return "wrong", f"{proto.name}: {fact}, is a tensor"
    shape = np.shape(value)
    declared = proto.type.tensor_type.elem_type
    if fact.dtype is not None and declared and fact.dtype != declared:
        return "wrong", f"{proto.name}: {fact.dtype}, is {DType(declared)}"
    if fact.shape is None:
        return "open", f"{proto.name}: rank unknown, is {shape}"
    if len(fact.shape) != len(shape):
        return "wrong", f"{proto.name}: {fact}, is {shape}"
    unknown = fact.dtype is None
    for axis, (dim, size) in enumerate(zip(fact.shape, shape, strict=True)):
        if not free_symbols(dim) <= sizes.keys():
            unknown = True
        elif evaluate(dim, sizes) != size:
            return "wrong", f"{proto.name}: dim {axis} is {dim} = {evaluate(dim, sizes)}, is {size}"
    if fact.values is not None and fact.values.shape == shape and np.asarray(value).dtype.kind in "iub":
        for element, real in zip(fact.values.flat, np.asarray(value).flat, strict=True):
            if element is not None and free_symbols_of(element) <= sizes.keys() and _number(element, sizes) != real:
                return "wrong", f"{proto.name}: element {element}, is {real}"
    return ("open", f"{proto.name}: {fact}, is {shape}") if unknown else ("exact", "")


def free_symbols_of(element: Any) -> frozenset[str]:
    return frozenset() if isinstance(element, (bool, float)) else free_symbols(element)


def _number(element: Any, sizes: dict[str, int]) -> Any:
    return element if isinstance(element, (bool, float)) else evaluate(element, sizes)
