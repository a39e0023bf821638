"""`onnx.shape_inference` on top of this package: the same functions, options and errors.

    >>> from gather_infer import shape_inference
    >>> model = shape_inference.infer_shapes(model)

Differences from onnx: a dim that onnx gives a generated name is an expression of the inputs' symbols (`past + seq`) if
possible. Known elements are always propagated, with or without `data_prop`. An unknown dim is named `unk__0`, `unk__1`,
..., as in onnx; equal names mean equal sizes. `strict_mode` raises for every error of the model, including errors that
onnx does not check, such as a constant index that is out of bounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError
from onnx import (
    IR_VERSION,
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)
from onnx.checker import ValidationError
from onnx.shape_inference import InferenceError

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.errors import GatherInferError, ModelReadError
from gather_infer.inference import Inference
from gather_infer.inference.annotate import completed
from gather_infer.inference.fallback import node_outputs
from gather_infer.inference.inference_driver import infer_like_onnx
from gather_infer.inference.proto.schema import schema_of
from gather_infer.inference.proto.types import to_dim_param, to_type
from gather_infer.model import ModelFile, open_model, save
from gather_infer.symbolic import Expr

if TYPE_CHECKING:
    from onnx.defs import OpSchema

__all__ = ["InferenceError", "infer_function_output_types", "infer_node_outputs", "infer_shapes", "infer_shapes_path"]

_TYPES = {"GI107", "GI211", "GI308"}
"""Codes of errors that `check_type` raises: input counts and element types that the operator does not allow."""

_ERRORS = "[ShapeInferenceError] Inference error(s): "

_CONTRADICTIONS = {"GI201", "GI202"}
"""Codes for declared types that contradict inferred types, which strict mode does not raise.

For these, onnx compares only dims that are numbers, since exporters use dim names freely.
"""


def infer_shapes(
    model: ModelProto | bytes,
    check_type: bool = False,
    strict_mode: bool = False,
    data_prop: bool = False,
) -> ModelProto:
    """A copy of `model` with inferred types in `value_info` and in the graph outputs.

    check_type    raise for an element type or an input count that the operator does not allow
    strict_mode   raise for any error; otherwise the outputs of a failing node stay unknown
    data_prop     ignored: known elements are always propagated

    Raises InferenceError for the errors that the options select, onnx.checker.ValidationError for a function that calls
    itself, ValueError for bytes that do not hold a model, TypeError for a `model` of another type.
    """
    if isinstance(model, (str, os.PathLike)):
        raise TypeError(
            "infer_shapes only accepts ModelProto or bytes,"
            " For Model paths (str or os.PathLike), use infer_shapes_path()."
        )
    if not isinstance(model, (ModelProto, bytes)):
        raise TypeError(f"infer_shapes only accepts ModelProto or bytes, incorrect type: {type(model)}")
    try:
        proto = ModelProto.FromString(model) if isinstance(model, bytes) else model
        inference = infer_like_onnx(ModelFile.from_proto(proto), check_types=check_type)
    except (DecodeError, ModelReadError) as error:
        raise ValueError(f"Unable to parse proto from the given bytes: {error}") from error
    return _annotated(inference, check_type, strict_mode)


def infer_shapes_path(
    model_path: str | os.PathLike[str],
    output_path: str | os.PathLike[str] = "",
    check_type: bool = False,
    strict_mode: bool = False,
    data_prop: bool = False,
) -> None:
    """As `infer_shapes`, for files: reads `model_path` and writes `output_path`, by default the same file.

    Weights are copied without being loaded. Raises InferenceError for the errors that the options select,
    onnx.checker.ValidationError for files that cannot be read or written, TypeError for a path of another type.
    """
    if isinstance(model_path, ModelProto):
        raise TypeError(
            "infer_shapes_path only accepts model Path (String),you can use infer_shapes for the ModelProto."
        )
    model_path, output_path = _path("model", model_path), _path("output", output_path)
    try:
        file = open_model(model_path)
        inference = infer_like_onnx(file, check_types=check_type)
        save(file, _annotated(inference, check_type, strict_mode), output_path or model_path, in_place=True)
    except GatherInferError as error:
        raise ValidationError(str(error)) from error


def infer_node_outputs(
    schema: OpSchema,
    node: NodeProto,
    input_types: Mapping[str, TypeProto],
    input_data: Mapping[str, TensorProto] | None = None,
    input_sparse_data: Mapping[str, SparseTensorProto] | None = None,
    opset_imports: Iterable[OperatorSetIdProto] | None = None,
    ir_version: int = IR_VERSION,
) -> dict[str, TypeProto]:
    """The output types of one node, by name; outputs of unknown type are left out.

    schema             schema of the node's operator; onnx infers the node if the schema is registered by the caller
    input_types        types of the inputs, and of outer values that subgraphs of the node read, by name
    input_data         elements of constant inputs, by name
    input_sparse_data  elements of constant sparse inputs, by name
    opset_imports      opset imports; by default the domain of `schema` at its since_version

    Raises InferenceError for any error of the node, onnx.checker.ValidationError for a wrong number or type of inputs,
    KeyError for an input without a type.
    """
    imports = list(opset_imports or [onnx.helper.make_opsetid(schema.domain, schema.since_version)])
    version = max((e.version for e in imports if _same_domain(e.domain, schema.domain)), default=0)
    known = schema_of(schema.name, version, schema.domain) if version else None
    if known is None or known.since != schema.since_version:
        return node_outputs(
            schema, node, input_types, input_data, input_sparse_data,
            opset_imports=None if opset_imports is None else imports, ir_version=ir_version,
        )  # fmt: skip
    for name in filter(None, node.input):
        input_types[name]  # KeyError
    dense = {name: tensor for name, tensor in (input_data or {}).items() if name in node.input}
    sparse = {name: tensor for name, tensor in (input_sparse_data or {}).items() if name in node.input}
    given = {name: proto for name, proto in input_types.items() if name not in dense and name not in sparse}
    graph = GraphProto(name="node", node=[node], input=[_value(*entry) for entry in given.items()])
    for name, tensor in dense.items():
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = name
    for name, values in sparse.items():
        graph.sparse_initializer.add().CopyFrom(values)
        graph.sparse_initializer[-1].values.name = name
    model = ModelProto(ir_version=ir_version, graph=graph, opset_import=imports)
    inference = infer_like_onnx(ModelFile.from_proto(model), check_types=True)
    misused = [d.message for d in inference.diagnostics if d.code in _TYPES]
    if misused:
        raise ValidationError("; ".join(misused))
    _raise_errors(inference, check_type=True, strict_mode=True)
    return {name: stated for name, stated in _known_types(inference, node.output).items() if stated is not None}


def infer_function_output_types(
    function: FunctionProto, input_types: Sequence[TypeProto], attributes: Sequence[AttributeProto]
) -> list[TypeProto]:
    """The output types of a call of `function`; an empty TypeProto for an unknown type.

    input_types   a type for each input, an empty TypeProto for an omitted input

    Raises InferenceError for any error in the call or the function body, onnx.checker.ValidationError for a function
    that calls itself.
    """
    inputs = [f"input_{i}" if proto.WhichOneof("value") else "" for i, proto in enumerate(input_types)]
    node = NodeProto(
        op_type=function.name,
        domain=function.domain,
        overload=function.overload,
        input=inputs,
        output=[f"output_{i}" for i in range(len(function.output))],
        attribute=attributes,
    )
    given = [_value(name, proto) for name, proto in zip(inputs, input_types, strict=True) if name]
    model = ModelProto(
        ir_version=IR_VERSION,
        graph=GraphProto(name="call", node=[node], input=given),
        opset_import=[onnx.helper.make_opsetid(function.domain, 1)],
        functions=[function],
    )
    inference = infer_like_onnx(ModelFile.from_proto(model), check_types=True)
    _raise_errors(inference, check_type=True, strict_mode=True)
    return [stated or TypeProto() for stated in _known_types(inference, node.output).values()]


def _annotated(inference: Inference, check_type: bool, strict_mode: bool) -> ModelProto:
    """The model of `inference` with inferred types in `value_info` and in the graph outputs.

    Raises InferenceError for the errors that the options select, ValidationError for a function that calls itself.
    """
    _raise_errors(inference, check_type, strict_mode)
    model, misfits = completed(inference.model, inference.scopes, inference.causes)
    if strict_mode and misfits:
        raise InferenceError(f"{_ERRORS}{'; '.join(misfits)}")
    return model


def _raise_errors(inference: Inference, check_type: bool, strict_mode: bool) -> None:
    cycles = [d.message for d in inference.diagnostics if d.code == "GI108"]
    if cycles:
        raise ValidationError("; ".join(cycles))
    raised = [d for d in inference.diagnostics if _is_raised(d, check_type, strict_mode)]
    if raised:
        raise InferenceError(_ERRORS + "\n".join(f"({d.location}): [{d.code}] {d.message}" for d in raised))


def _is_raised(finding: Diagnostic, check_type: bool, strict_mode: bool) -> bool:
    if finding.code == "GI104" or (finding.code == "GI204" and finding.message.startswith("the default")):
        return True  # onnx, too, raises for these under all options
    if check_type and finding.code in _TYPES:
        return True
    return strict_mode and finding.severity is Severity.ERROR and finding.code not in _CONTRADICTIONS


def _known_types(inference: Inference, names: Iterable[str]) -> dict[str, TypeProto | None]:
    """The types of the values `names`, None for an unknown type.

    A dim is left open unless it is a number or an expression of symbols that the inputs declare.
    """
    declared = {d.dim_param for i in inference.model.proto.graph.input for d in i.type.tensor_type.shape.dim}

    def spell(dim: Expr) -> str:
        return to_dim_param(dim) if dim.symbols <= declared else ""

    return {name: to_type(inference[name], spell) for name in names if name}


def _value(name: str, proto: TypeProto) -> ValueInfoProto:
    return ValueInfoProto(name=name, type=proto)


def _same_domain(a: str, b: str) -> bool:
    return a == b or {a, b} == {"", "ai.onnx"}


def _path(what: str, path: str | os.PathLike[str]) -> str:
    try:
        return os.fspath(path)
    except TypeError as error:
        raise TypeError(
            f"infer_shapes_path only accepts {what} path as a string or PathLike,"
            f" incorrect {what} path type: {type(path)}"
        ) from error
