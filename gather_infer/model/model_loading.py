"""Model loading: turn a path, ModelProto, ModelFile or graphsurgeon Graph into a ModelFile."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from onnx import ModelProto

from gather_infer.dialect import Dialect
from gather_infer.domains import canonical_domain
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.model.file import ModelFile, open_model
from gather_infer.model.tensors import initializers_of

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

ModelLike: TypeAlias = "str | os.PathLike[str] | ModelProto | ModelFile | gs.Graph"

READERS: Final = {".xml": ("gather_infer.openvino.ir", "read_model")}
"""File suffix of a format other than ONNX -> module and function of the reader."""

DIALECTS: Final = {"openvino": ("gather_infer.openvino.lowerings", "DIALECT")}
"""Domain -> module and attribute of the dialect that infers the nodes of the domain, instead of a rule set.

Readers and dialects are imported when a model needs them, because their packages depend on this one.
"""


def to_model_file(model: object) -> ModelFile:
    """The ModelFile for `model`, of any type that the API accepts.

    Raises ModelReadError when the model cannot be read, UsageError for an object that is not a model.
    """
    file = _to_file(model)
    if file.dialects:
        return file
    domains = {canonical_domain(entry.domain) for entry in file.proto.opset_import} & DIALECTS.keys()
    return (
        replace(file, dialects=tuple(_import_attribute(DIALECTS[domain]) for domain in sorted(domains)))
        if domains
        else file
    )


def to_onnx_file(model: object) -> ModelFile:
    """As `to_model_file`, for callers that write the model.

    Raises ModelReadError for a model that is not ONNX; the message names the command that converts it.
    """
    file = to_model_file(model)
    if file.foreign_format:
        raise ModelReadError(
            f"{file.name}: an {file.foreign_format}, which is read but not rewritten; "
            f"`gather-infer convert {file.name} -o OUT.onnx` makes it ONNX"
        )
    return file


def with_constants(file: ModelFile) -> ModelFile:
    """`file` without the graph inputs that have an initializer, so that callers cannot override an initializer.

    Unchanged before IR version 4, where every initializer has to be an input.
    """
    graph = file.proto.graph
    held = initializers_of(graph)
    if file.proto.ir_version < 4 or held.isdisjoint(value.name for value in graph.input):
        return file  # before IR version 4 every initializer has to be an input, and is a constant anyway
    proto = ModelProto()
    proto.CopyFrom(file.proto)
    kept = [value for value in file.proto.graph.input if value.name not in held]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    return replace(file, proto=proto)


def known_dialects() -> list[Dialect]:
    """Every supported dialect."""
    return [_import_attribute(home) for home in DIALECTS.values()]


def _import_attribute(target: tuple[str, str]) -> Any:
    module, attribute = target
    return getattr(import_module(module), attribute)


def _to_file(model: object) -> ModelFile:
    if isinstance(model, ModelFile):
        return model
    if isinstance(model, ModelProto):
        return ModelFile.from_proto(model)
    if isinstance(model, (str, os.PathLike)):
        reader = READERS.get(os.path.splitext(os.fspath(model))[1].lower())
        file: ModelFile = open_model(model) if reader is None else _import_attribute(reader)(model)
        return file
    if type(model).__module__.startswith("onnx_graphsurgeon"):
        import onnx_graphsurgeon

        return ModelFile.from_proto(onnx_graphsurgeon.export_onnx(model))
    raise UsageError(
        f"a model is a path, a ModelProto, a ModelFile or a graphsurgeon Graph, not {type(model).__name__}"
    )


def to_caller_type(model: object, proto: ModelProto) -> Any:
    """`proto`, as a graphsurgeon Graph if `model`, the caller's argument, is one."""
    if type(model).__module__.startswith("onnx_graphsurgeon"):
        import onnx_graphsurgeon

        return onnx_graphsurgeon.import_onnx(proto)
    return proto
