"""Input and output types of a converted model: element types and ranks, which ONNX requires, and known dims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onnx import ModelProto, TensorProto, TypeProto

from gather_infer.errors import ConversionRefused, shortened
from gather_infer.inference import Inference
from gather_infer.inference.proto.types import to_type
from gather_infer.ir import Model
from gather_infer.model import ModelFile
from gather_infer.model.attributes import attribute_of, integer_attribute
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors
from gather_infer.openvino.dialect_nodes import is_opaque
from gather_infer.tensor import DType, SymbolicTensor

_TYPES_SINCE: Final[dict[int, int]] = {
    TensorProto.FLOAT8E4M3FN: 19, TensorProto.FLOAT8E5M2: 19, TensorProto.UINT4: 21, TensorProto.INT4: 21,
    DType.FLOAT4E2M1: 23, DType.FLOAT8E8M0: 24,
}  # fmt: skip
"""Element type -> first opset of ai.onnx whose Cast accepts the type, for types that not every opset has."""
_CODED: Final = frozenset({"nf4", "f4e2m1", "f8e8m0"})
"""Element types that the converted model holds as codes in uint8; callers could not interpret an output of codes."""
_SHOWN: Final = 4
"""Largest number of inputs or outputs that a message lists."""


def declare_scan_outputs(model: Model, inference: Inference) -> None:
    """Declare the inferred types of the scan outputs of Loop bodies of the file; only numeric dims are declared.

    Runtimes need such dims for a Loop that runs no iteration.
    """
    for node in model.nodes:
        if node.op_type != "Loop" or node.domain or node.source is None:
            continue
        for body in node.bodies:
            declared, facts = body.declared_types(), inference.scopes.get(body.path, {})
            for name in body.outputs[1 + len(node.inputs) - 2 :]:
                known = to_type(facts[name], lambda _: "") if name in facts else None
                if known is not None and not _has_shape(declared[name]):
                    model.declare_type(body, name, known, "a Loop may run no iteration")


def declare_outputs(model: Model, source: ModelFile, inference: Inference) -> None:
    """Declare the inferred types of graph outputs that have no shape; known dims are numbers or symbols of the inputs.

    If only the hint of `source` has a rank, that rank is declared, unless the caller gave other input types.
    """
    main, declared = model.main, model.main.declared_types()
    dims = (dim for name in main.inputs for dim in declared[name].tensor_type.shape.dim)
    names = {dim.dim_param for dim in dims if dim.dim_param}
    is_as_written = inference.input_constraints is None or not inference.input_constraints.inputs
    for name in main.outputs:
        if _has_shape(declared[name]):
            continue
        fact = inference.get(name)
        known = None if fact is None else to_type(fact, lambda dim: str(dim) if str(dim) in names else "")
        found = TypeProto()
        found.CopyFrom(declared[name] if known is None else known)
        hint = source.hints.get(name)
        if not _has_shape(found) and hint is not None and is_as_written:
            for _ in hint.tensor_type.shape.dim:
                found.tensor_type.shape.dim.add()
        if found != declared[name]:
            model.declare_type(main, name, found, "inferred")


def declare_kept_outputs(model: Model, inference: Inference) -> None:
    """Declare the trusted types of outputs of unconverted nodes, that is, types that inference used without proof.

    The nodes that read these outputs were converted for the trusted types.
    """
    trusted = {belief.value: to_type(belief.type, lambda _: "") for belief in inference.trusted_annotations}
    for graph in model.graphs.values() if trusted else ():
        declared = graph.declared_types()
        for node in graph.nodes:
            for name in node.outputs if is_opaque(node.proto) else ():
                known = trusted.get(name)
                if known is not None and name not in declared:
                    model.declare_type(graph, name, known, "trusted by the inference")


def _has_shape(declared: TypeProto) -> bool:
    return bool(declared.tensor_type.HasField("shape"))


def check_interface(proto: ModelProto, source: ModelFile, inference: Inference, opset: int) -> None:
    """Raise ConversionRefused for an interface that ONNX cannot express.

    That is a model without outputs, an input or output without a rank, or an element type that ONNX or `opset` lacks.
    """
    if not proto.graph.output:
        raise ConversionRefused(f"{source.name}: it has no outputs: no layer is a Result")
    _check_types(proto, source.name, opset)
    for output in source.proto.graph.output:
        element = "" if output.type.tensor_type.elem_type else _element_of(source.proto, output.name)
        if element in _CODED:
            raise ConversionRefused(
                f"{source.name}: output {shortened(output.name)} is of {element}, which ONNX cannot return"
            )
    lines = list(_missing_ranks(proto, source.proto, inference))
    if lines:
        rest = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        head = f"{source.name}: ONNX needs the rank of every input and output"
        raise ConversionRefused("\n  ".join([head, *lines[:_SHOWN], *rest]))


def _check_types(proto: ModelProto, name: str, opset: int) -> None:
    """Raise ConversionRefused for a value whose element type ONNX, or `opset` of ai.onnx, does not have."""
    for kind, values in (("input", proto.graph.input), ("output", proto.graph.output)):
        for value in values:
            if not value.type.tensor_type.elem_type:
                raise ConversionRefused(f"{name}: {kind} {shortened(value.name)} is of no element type that ONNX has")
    wanted: dict[int, str] = {}
    for tensor in iter_tensors(proto):
        wanted.setdefault(tensor.data_type, tensor.name)
    for value in (*proto.graph.input, *proto.graph.output):
        wanted.setdefault(value.type.tensor_type.elem_type, value.name)
    for _, body in bodies(proto):
        for node in body.node:
            if node.op_type == "Cast":
                wanted.setdefault(integer_attribute(node, "to"), node.output[0])
    for number, value in wanted.items():
        since = _TYPES_SINCE.get(number, 1)
        if opset < since:
            text = DType(number).onnx_name
            raise ConversionRefused(
                f"{name}: {shortened(value)} is {text}, which needs opset {since}, the result has {opset}"
            )


def _element_of(proto: ModelProto, name: str) -> str:
    """OpenVINO's name for the element type of the value `name` in the main graph; "" if it is not recorded."""
    for node in proto.graph.node:
        if name in node.output:
            types = attribute_of(node, "output_types", ())
            return types[list(node.output).index(name)] if types else ""
    return ""


def _missing_ranks(proto: ModelProto, source: ModelProto, inference: Inference) -> Iterator[str]:
    """A message for each input of unknown rank; if there is none, for each output of unknown rank.

    The message names input types that would determine the rank.
    """
    unranked = [value.name for value in proto.graph.input if not value.type.tensor_type.HasField("shape")]
    for name in unranked:
        is_state = name not in inference.inputs
        how = (
            "it is state, whose rank no --input sets"
            if is_state
            else f"give it, as in {_input_options(inference, name)}"
        )
        yield f"input {shortened(name)}: {how}"
    for output in proto.graph.output:
        if unranked or output.type.tensor_type.HasField("shape"):
            continue
        sized = [name for name in _inputs_of(source, output.name) if not _is_static(inference, name)]
        label = f"output {shortened(output.name)}"
        if not sized:
            yield f"{label}: its rank depends on elements, not on sizes, so no --input determines it"
        else:
            options = _input_options(inference, *sized)
            yield f"{label}: its rank depends on sizes; give those that it reads, as in {options}"


def _input_options(inference: Inference, *names: str) -> str:
    """`--input` options with complete types for the inputs `names`, as examples for messages.

    An unknown dim is 1; an unknown rank becomes 2, with dims `a` and `b`.
    """
    found = []
    for name in names[:_SHOWN]:
        fact = inference[name]
        assert isinstance(fact, SymbolicTensor), "inputs of an IR are tensors"
        sizes = ("a", "b") if fact.shape is None else (str(dim) if isinstance(dim, int) else "1" for dim in fact.shape)
        found.append(f"--input '{shortened(name)}={fact.dtype}[{', '.join(sizes)}]'")
    return " ".join(found)


def _is_static(inference: Inference, name: str) -> bool:
    fact = inference[name]
    return isinstance(fact, SymbolicTensor) and fact.shape is not None and all(isinstance(d, int) for d in fact.shape)


def _inputs_of(source: ModelProto, output: str) -> list[str]:
    """The inputs of the main graph that its value `output` is computed from, in graph order."""
    main = Model(source).main
    found: set[str] = set()
    seen = {main.value(output)}
    pending = list(seen)
    while pending:
        value = pending.pop()
        if value is None:
            continue
        if value.graph is main and value.name in main.input_set:
            found.add(value.name)
        node = value.producer or value.graph.owner  # an input of a body depends on the inputs of its node
        if node is None:
            continue
        for name in (*node.inputs, *(name for body in node.bodies for name in body.captures())):
            read = node.graph.value(name)
            if read not in seen:
                seen.add(read)
                pending.append(read)
    return [name for name in main.inputs if name in found]
