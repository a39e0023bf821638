"""The soundness oracle: what was inferred once, symbolically, against what a run at some binding really produced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from gather_infer import Inference
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols
from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor
from gather_infer.trail import Assumption

_NAMES = {
    "float": "float32", "double": "float64", "bool": "bool", "string": "string", "float16": "float16",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}  # fmt: skip


def exposed(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every value of its main graph as an output; what a node leaves unnamed stays out."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {o.name for o in copy.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                copy.graph.output.append(onnx.ValueInfoProto(name=name))
    return copy


class Runtime:
    """onnxruntime on the CPU with its graph optimiser off, every intermediate value exposed."""

    def __init__(self, model: onnx.ModelProto) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        full = exposed(model)
        self.names = [o.name for o in full.graph.output]
        self.session = ort.InferenceSession(full.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.types = {o.name: o.type for o in self.session.get_outputs()}

    def run(self, feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
        """Every value by name: arrays, or lists of them for sequences."""
        return dict(zip(self.names, self.session.run(None, dict(feeds)), strict=True))


@dataclass(slots=True)
class Comparison:
    """The result of comparing an inference with one run.

    wrong      each contradiction in words; must stay empty
    dims       dims compared, symbolic ones among them in `symbolic`
    assumption_fails   a listed assumption does not hold in the run, so that nothing is promised of it
    unbound    listed assumptions of which the run does not tell whether they hold
    """

    wrong: list[str] = field(default_factory=list)
    dims: int = 0
    symbolic: int = 0
    values: int = 0
    spans: int = 0
    assumption_fails: bool = False
    unbound: list[Assumption] = field(default_factory=list)


def compare(inference: Inference, actual: Mapping[str, Any], bindings: Mapping[str, int]) -> Comparison:
    """Hold every fact of the main graph against one run at `bindings`.

    A generated symbol takes the size that it is first seen with; everywhere else it must then have the same.
    """
    found = Comparison()
    sizes = bound_symbols(inference, actual, bindings)
    pairs = [(n, inference[n], np.asarray(v)) for n, v in actual.items() if n in inference and not isinstance(v, list)]
    for assumption in inference.assumptions:
        value = value_of(assumption.dim, sizes)
        if value is None:
            found.unbound.append(assumption)
        elif not (
            (assumption.lower is None or value >= assumption.lower)
            and (assumption.upper is None or value <= assumption.upper)
        ):
            found.assumption_fails = True
    for name, fact, array in pairs:
        if isinstance(fact, OptionalType) and fact.present is not False:  # runtimes hand out what is in it
            fact = fact.element or SymbolicTensor()
        if not isinstance(fact, SymbolicTensor):
            found.wrong.append(f"{name}: inferred {fact}, is a tensor")
            continue
        found.wrong += [f"{name}: {text}" for text in _contradictions(fact, array, sizes, found)]
    for name, value in actual.items():
        if isinstance(value, list) and name in inference:
            found.wrong += [f"{name}: {text}" for text in _sequence_contradictions(inference, name, value, sizes)]
    for constraint in inference.constraints:
        left, right = value_of(constraint.left, sizes), value_of(constraint.right, sizes)
        if left is not None and right is not None:
            holds = left == right if constraint.relation == "==" else left <= right
            if not holds:
                found.wrong.append(f"constraint {constraint} of {constraint.node}: {left} and {right}")
    return found


def _sequence_contradictions(
    inference: Inference, name: str, members: Sequence[Any], sizes: Mapping[str, int]
) -> Iterator[str]:
    """Contradictions between the fact of a sequence and its members; a generated dim differs from member to member."""
    fact = inference[name]
    if isinstance(fact, OptionalType) and fact.present is not False:
        fact = fact.element or SymbolicTensor()
    if not isinstance(fact, SequenceType):
        if fact != SymbolicTensor():
            yield f"inferred {fact}, is a sequence"
        return
    length = None if fact.length is None else value_of(fact.length, sizes)
    if length is not None and length != len(members):
        yield f"length inferred {fact.length} = {length}, is {len(members)}"
    element = fact.element
    if not isinstance(element, SymbolicTensor):
        return
    shape = element.shape
    for number, member in enumerate(map(np.asarray, members)):
        dtype = dtype_of(member)
        if element.dtype is not None and dtype is not None and element.dtype != dtype:
            yield f"member {number} inferred {element.dtype}, is {dtype}"
        if shape is None:
            continue
        if len(shape) != member.ndim:
            yield f"member {number} inferred rank {len(shape)}, is {member.shape}"
            continue
        for axis, (dim, size) in enumerate(zip(shape, member.shape, strict=True)):
            value = None if inference.is_generated(dim) else value_of(dim, sizes)
            if value is not None and value != size:
                yield f"member {number}, dim {axis} inferred {dim} = {value}, is {size}"


def bound_symbols(inference: Inference, actual: Mapping[str, Any], bindings: Mapping[str, int]) -> dict[str, int]:
    """The bindings, and what the generated symbols stand for that dims and elements are made of.

    A symbol takes what the first tensor of the walk tells of it: a later one may rest on an assumption of the same
    symbol. It is told by a dim or an element in which it alone is not bound, and that grows with it evenly; more is
    bound so as long as there is more.
    """
    sizes = dict(bindings)
    seen = [(told, number) for told, number in _reported(inference, actual) if isinstance(told, Expr)]
    known = -1
    while known < len(sizes):
        known = len(sizes)
        for told, number in seen:
            sizes |= _solved(told, number, sizes)
    return sizes


def _reported(inference: Inference, actual: Mapping[str, Any]) -> Iterator[tuple[Any, int]]:
    """Each dim and each element of integers with what it is, in the order of the walk, whatever that of `actual` is."""
    for name, fact in inference.items():
        value = actual.get(name)
        if not isinstance(fact, SymbolicTensor) or value is None or isinstance(value, list):
            continue
        array = np.asarray(value)
        if fact.shape is None or len(fact.shape) != array.ndim:
            continue
        yield from zip(fact.shape, array.shape, strict=True)
        if fact.values is not None and fact.values.shape == array.shape and array.dtype.kind in "iu":
            yield from ((told, int(number)) for told, number in zip(fact.values.flat, array.flat, strict=True))


def _solved(dim: Expr, size: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """The one symbol that is not bound in `dim`, bound so that `dim` is `size`; nothing where no number does."""
    unbound = dim.symbols - sizes.keys()
    if len(unbound) != 1:
        return {}
    (name,) = unbound
    tried = (0, 1, 2, 3, 1000)
    start, *others = (value_of(dim, {**sizes, name: number}) for number in tried)
    if start is None or others[0] is None or start == others[0]:
        return {}
    step = others[0] - start
    is_even = others == [start + step * number for number in tried[1:]]
    found, rest = divmod(size - start, step)
    return {name: found} if is_even and rest == 0 and found >= 0 else {}


def value_of(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """A dim at some sizes; None where a symbol of it has none, or it divides by 0."""
    if not free_symbols(dim) <= sizes.keys():
        return None
    try:
        return evaluate(dim, sizes)
    except ZeroDivisionError:
        return None


def _contradictions(
    fact: SymbolicTensor, array: np.ndarray[Any, Any], sizes: Mapping[str, int], found: Comparison
) -> Iterator[str]:
    dtype = dtype_of(array)
    if fact.dtype is not None and dtype is not None and fact.dtype != dtype:
        yield f"inferred {fact.dtype}, is {dtype}"
    if fact.shape is None:
        return
    if len(fact.shape) != array.ndim:
        yield f"inferred rank {len(fact.shape)}, is {array.shape}"
        return
    for axis, (dim, size) in enumerate(zip(fact.shape, array.shape, strict=True)):
        found.dims += 1
        found.symbolic += isinstance(dim, Expr)
        value = value_of(dim, sizes)
        if value is not None and value != size:
            yield f"dim {axis} inferred {dim} = {value}, is {size}"
        elif value is None and isinstance(dim, Expr) and free_symbols(dim) <= sizes.keys():
            yield f"dim {axis} inferred {dim} divides by 0, is {size}"
    if fact.values is not None:
        if fact.values.shape != array.shape:
            yield f"values have shape {fact.values.shape}, are {array.shape}"
            return
        for position, (element, real) in enumerate(zip(fact.values.flat, array.flat, strict=True)):
            if isinstance(element, (int, float, Expr)):
                found.values += 1
                told = element if isinstance(element, float) else value_of(element, sizes)
                if told is not None and told != real and not (told != told and real != real):
                    yield f"element {position} inferred {element} = {told}, is {real}"
    if fact.value_range is not None and array.size and array.dtype.kind in "iub":
        found.spans += 1
        low = None if fact.value_range.lo is None else value_of(fact.value_range.lo, sizes)
        high = None if fact.value_range.hi is None else value_of(fact.value_range.hi, sizes)
        if (low is not None and array.min() < low) or (high is not None and array.max() > high):
            inferred = f"[{fact.value_range.lo}, {fact.value_range.hi}]"
            yield f"value range inferred {inferred}, elements are in [{array.min()}, {array.max()}]"


def dtype_of(array: np.ndarray[Any, Any]) -> DType | None:
    """The DType of a runtime's array; None where numpy cannot tell (objects hold strings)."""
    if array.dtype.kind in "OUS":
        return DType.STRING
    name = array.dtype.name
    return next((d for d in DType if str(d) == name), None)


def open_dims(inference: Inference, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Dims that came out as generated symbols although runs with other data all give them the same size.

    A dim is data-dependent if runs with equal bindings and different data give it different sizes; every other dim
    must be an expression in the symbols of the inputs.
    """
    found = []
    for name, fact in inference.items():
        if name not in runs[0] or not isinstance(fact, SymbolicTensor) or isinstance(runs[0][name], list):
            continue
        shapes = [np.shape(run[name]) for run in runs]
        if fact.shape is None:
            found.append(f"{name}: rank not known, is {shapes[0]}")
            continue
        for axis, dim in enumerate(fact.shape):
            if inference.is_generated(dim) and len({shape[axis] for shape in shapes}) == 1:
                causes = sorted(free_symbols(dim) & inference.causes.keys())
                why = "; ".join(f"{c}: {inference.causes[c].reason} ({inference.causes[c].node})" for c in causes)
                found.append(f"{name}: dim {axis} is {dim}: {why}")
    return found
