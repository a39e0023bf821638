"""The node models of onnx's backend tests, what the tool is told of each, and the verdict on what it answers.

The tool is told of a model what an exporter writes into one:

* the element type and the rank of every input, its dims as numbers (`static`) or each as a symbol of its own
  (`symbolic`);
* the value of an input that is a shape, an axis, a count or a limit (`SHAPE_DATA`), as an initializer: that is how
  such a node occurs in real models;
* the dims of an input that decide a rank (`RANK_DIMS`), as numbers in both modes.

It is not told the types of the outputs, nor the sizes of the members of a sequence input. An answer is `exact` when
element type and rank are right and every dim is an expression in the input symbols that has the recorded size; an axis
in `DATA_DEPENDENT` may have any symbol. It is `open` when something is left unsaid, and `wrong` when anything said is
false.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from gather_infer import Inference
from gather_infer.symbolic import Dim, evaluate, free_symbols
from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor, Value
from tests.onnx_versions import has_sound_models

REDUCTIONS = tuple(
    f"Reduce{name}"
    for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
)  # fmt: skip

SHAPE_DATA: Mapping[str, tuple[int, ...]] = {
    # operator: inputs that decide sizes and are constants in real models
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1, 2),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **dict.fromkeys(REDUCTIONS, (1,)),
}

RANK_DIMS: Mapping[tuple[str, int], int] = {
    # (operator, input): the axis whose size decides the rank of the result
    ("GatherND", 1): -1,
}

DATA_DEPENDENT: Mapping[tuple[str, int], tuple[tuple[int | str, ...], str]] = {
    # (operator, output): the axes ("axis": the one that the attribute names, 0 without it) and why nobody can know
    ("Compress", 0): (("axis",), "as many as the condition has true elements"),
    ("ImageDecoder", 0): ((0, 1, 2), "the image is in the bytes"),
    ("NonMaxSuppression", 0): ((0,), "as many boxes as are selected"),
    ("NonZero", 0): ((1,), "as many as there are elements other than 0"),
    ("StringNormalizer", 0): ((-1,), "as many words as are no stopwords"),
    ("StringSplit", 0): ((-1,), "as many parts as the longest split has"),
    ("Unique", 0): (("axis",), "as many as there are different ones"),
    ("Unique", 1): ((0,), "as many as there are different ones"),
    ("Unique", 3): ((0,), "as many as there are different ones"),
}


@dataclass(frozen=True)
class Case:
    """One model with the values that its inputs and outputs have in the recorded run.

    node   the operator under test, also when the model is its function body (`..._expanded`)
    """

    name: str
    model: onnx.ModelProto
    node: onnx.NodeProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@cache
def cases() -> tuple[Case, ...]:
    """Every sound node model, in the order of their names. Making them takes some seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [c for c in collect_testcases(None) if c.model is not None and c.data_sets and has_sound_models(c.name)]
    nodes = {case.name: case.model.graph.node[0] for case in found}
    made = []
    for case in found:
        assert case.model is not None and case.data_sets
        inputs, outputs = case.data_sets[0]
        node = nodes[case.name.partition("_expanded")[0]]
        made.append(Case(case.name, case.model, node, tuple(inputs), tuple(outputs)))
    return tuple(sorted(made, key=lambda c: c.name))


# what the tool is told


def static(case: Case) -> tuple[onnx.ModelProto, dict[str, int]]:
    """The model without the types of its outputs, shape data as initializers; no symbols."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.ClearField("type")
    shape_data = {case.node.input[i] for i in SHAPE_DATA.get(case.node.op_type, ()) if i < len(case.node.input)}
    del model.graph.input[:]
    for proto, value in zip(case.model.graph.input, case.inputs, strict=False):
        if proto.name in shape_data and proto.type.HasField("tensor_type"):
            model.graph.initializer.append(_tensor(proto.name, value))
        else:
            model.graph.input.append(proto)
    return model, {}


def symbolic(case: Case) -> tuple[onnx.ModelProto, dict[str, int]]:
    """As `static`, with every dim of every tensor input a symbol of its own, and the sizes of the recorded run."""
    model, sizes = static(case)
    values = dict(zip((i.name for i in case.model.graph.input), case.inputs, strict=False))
    kept = {
        case.node.input[i]: axis
        for (op_type, i), axis in RANK_DIMS.items()
        if op_type == case.node.op_type and i < len(case.node.input)
    }
    for number, proto in enumerate(model.graph.input):
        if not proto.type.HasField("tensor_type") or not proto.type.tensor_type.HasField("shape"):
            continue
        dims = proto.type.tensor_type.shape.dim
        for axis, (dim, size) in enumerate(zip(dims, np.shape(_array(values[proto.name])), strict=True)):
            if proto.name in kept and axis == kept[proto.name] % len(dims):
                continue
            dim.Clear()
            dim.dim_param = f"i{number}_{axis}"
            sizes[dim.dim_param] = int(size)
    return model, sizes


def _tensor(name: str, value: Any) -> onnx.TensorProto:
    tensor = onnx.TensorProto()
    tensor.CopyFrom(value if isinstance(value, onnx.TensorProto) else onnx.numpy_helper.from_array(np.asarray(value)))
    tensor.name = name
    return tensor


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


# the verdict


def verdicts(case: Case, inference: Inference, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """(`exact` | `open` | `wrong`, why) for each output of the recorded run."""
    for proto, value in zip(case.model.graph.output, case.outputs, strict=False):
        fact = inference.get(proto.name)
        if fact is None:
            yield "wrong", f"{proto.name}: not in the result"
            continue
        verdict, why = judge(fact, proto.type, value, sizes, data_dependent_axes(case, proto.name, value))
        if verdict == "open" and is_of_unknown_members(case, fact):
            verdict = "exact"
        yield verdict, f"{proto.name}: {why}" if why else ""


def data_dependent_axes(case: Case, output: str, value: Any) -> frozenset[int]:
    """The axes of an output whose sizes depend on data, from 0."""
    found: set[int] = set()
    rank = np.ndim(_array(value)) if not isinstance(value, list) else 0
    for (op_type, position), (axes, _) in DATA_DEPENDENT.items():
        if op_type != case.node.op_type or list(case.node.output)[position : position + 1] != [output]:
            continue
        named = next((a.i for a in case.node.attribute if a.name == "axis"), 0)
        found |= {(named if axis == "axis" else int(axis)) % rank for axis in axes}
    return frozenset(found)


def is_of_unknown_members(case: Case, fact: Value) -> bool:
    """True for a sequence of known element type in a model whose sequence input says nothing of its members' sizes."""
    while isinstance(fact, OptionalType) and fact.element is not None:
        fact = fact.element
    is_told = all(proto.type.HasField("tensor_type") for proto in case.model.graph.input)
    element = fact.element if isinstance(fact, SequenceType) else None
    return not is_told and isinstance(element, SymbolicTensor) and element.dtype is not None


def judge(
    fact: Value, declared: onnx.TypeProto, value: Any, sizes: Mapping[str, int], open_axes: frozenset[int]
) -> tuple[str, str]:
    """The verdict on one fact about a recorded value, and why it is not `exact`.

    open_axes   whose sizes depend on data
    """
    if fact == SymbolicTensor():
        return "open", "nothing is known"
    kind = declared.WhichOneof("value")
    if kind == "optional_type":
        if not isinstance(fact, OptionalType):
            return "wrong", f"{fact}, is an optional"
        if fact.present is not None and fact.present is not (value is not None):
            return "wrong", f"present is {fact.present}, the value is {value}"
        if value is None:
            return "exact", ""
        if fact.element is None:
            return "open", str(fact)
        return judge(fact.element, declared.optional_type.elem_type, value, sizes, open_axes)
    if kind == "sequence_type" or isinstance(value, list):
        return _judge_sequence(fact, declared, value, sizes)
    return _judge_tensor(fact, declared, _array(value), sizes, open_axes)


def _judge_sequence(
    fact: Value, declared: onnx.TypeProto, value: Iterable[Any], sizes: Mapping[str, int]
) -> tuple[str, str]:
    """Facts of the members must hold for each; a size in which they differ belongs to none."""
    members = [_array(member) for member in value]
    if not isinstance(fact, SequenceType):
        return "wrong", f"{fact}, is a sequence"
    if fact.length is not None and free_symbols(fact.length) <= sizes.keys():
        length = evaluate(fact.length, sizes)
        if length != len(members):
            return "wrong", f"length {fact.length} = {length}, is {len(members)}"
    if fact.element is None:
        return ("open", str(fact)) if members else ("exact", "")
    shapes = {np.shape(member) for member in members}
    differ = frozenset(
        axis for axis, column in enumerate(zip(*shapes, strict=False)) if len(set(column)) > 1
    )  # fmt: skip
    found = [judge(fact.element, declared.sequence_type.elem_type, m, sizes, differ) for m in members]
    return max(found, key=lambda f: ("exact", "open", "wrong").index(f[0]), default=("exact", ""))


def _judge_tensor(
    fact: Value, declared: onnx.TypeProto, value: Any, sizes: Mapping[str, int], open_axes: frozenset[int]
) -> tuple[str, str]:
    if not isinstance(fact, SymbolicTensor):
        return "wrong", f"{fact}, is a tensor"
    shape = np.shape(value)
    elem_type = declared.tensor_type.elem_type
    if fact.dtype is not None and elem_type and fact.dtype != elem_type:
        return "wrong", f"{fact.dtype}, is {DType(elem_type)}"
    if fact.shape is None:
        return "open", f"rank unknown, is {shape}"
    if len(fact.shape) != len(shape):
        return "wrong", f"{fact}, is {shape}"
    is_open = fact.dtype is None
    for axis, (dim, size) in enumerate(zip(fact.shape, shape, strict=True)):
        known = _evaluated(dim, sizes)
        if known is None:
            is_open = is_open or axis not in open_axes
        elif known != size:
            return "wrong", f"dim {axis} is {dim} = {known}, is {size}"
    if fact.values is not None and fact.values.shape == shape and np.asarray(value).dtype.kind in "iub":
        for element, real in zip(fact.values.flat, np.asarray(value).flat, strict=True):
            told = element if isinstance(element, (bool, float)) or element is None else _evaluated(element, sizes)
            if told is not None and told != real:
                return "wrong", f"element {element} = {told}, is {real}"
    return ("open", f"{fact}, is {shape}") if is_open else ("exact", "")


def _evaluated(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """The number that a dim has in the recorded run; None when a symbol in it is not one of the inputs."""
    return evaluate(dim, sizes) if free_symbols(dim) <= sizes.keys() else None
