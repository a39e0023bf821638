"""Models as callers have them: paths, protos, files and graphsurgeon Graphs."""

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

GivenModel: TypeAlias = "str | os.PathLike[str] | ModelProto | ModelFile | gs.Graph"

READERS: Final = {".xml": ("gather_infer.openvino.ir", "read_model")}
"""What reads a file that is no ONNX, by its suffix: a module and a function of it."""

DIALECTS: Final = {"openvino": ("gather_infer.openvino.lowerings", "DIALECT")}
"""How nodes of a domain are inferred that have no rules: a module and a name in it.

Both are looked up when a model needs them: the rooms that have them stand above all that read models.
"""


def to_model_file(model: object) -> ModelFile:
    """Any model that the API accepts as a ModelFile. Raises ModelReadError, UsageError for another kind of object."""
    file = _to_file(model)
    if file.dialects:
        return file
    domains = {canonical_domain(entry.domain) for entry in file.proto.opset_import} & DIALECTS.keys()
    return replace(file, dialects=tuple(_found(DIALECTS[domain]) for domain in sorted(domains))) if domains else file


def to_onnx_file(model: object) -> ModelFile:
    """As `to_model_file`, for those who write what they were given.

    Raises ModelReadError for a model that is no ONNX, with how to make it one.
    """
    file = to_model_file(model)
    if file.foreign:
        raise ModelReadError(
            f"{file.name}: an {file.foreign}, which is read but not rewritten; "
            f"`gather-infer convert {file.name} -o OUT.onnx` makes it ONNX"
        )
    return file


def with_constants(file: ModelFile) -> ModelFile:
    """The model in which no caller overrides an initializer: one that is an input too is no input any more."""
    graph = file.proto.graph
    held = initializers_of(graph)
    if file.proto.ir_version < 4 or held.isdisjoint(value.name for value in graph.input):
        return file  # before IR version 4 every initializer had to be an input, and is a constant
    proto = ModelProto()
    proto.CopyFrom(file.proto)
    kept = [value for value in file.proto.graph.input if value.name not in held]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    return replace(file, proto=proto)


def known_dialects() -> list[Dialect]:
    """Every dialect that a model may be of."""
    return [_found(home) for home in DIALECTS.values()]


def _found(home: tuple[str, str]) -> Any:
    module, name = home
    return getattr(import_module(module), name)


def _to_file(model: object) -> ModelFile:
    if isinstance(model, ModelFile):
        return model
    if isinstance(model, ModelProto):
        return ModelFile.from_proto(model)
    if isinstance(model, (str, os.PathLike)):
        reader = READERS.get(os.path.splitext(os.fspath(model))[1].lower())
        file: ModelFile = open_model(model) if reader is None else _found(reader)(model)
        return file
    if type(model).__module__.startswith("onnx_graphsurgeon"):
        import onnx_graphsurgeon

        return ModelFile.from_proto(onnx_graphsurgeon.export_onnx(model))
    raise UsageError(
        f"a model is a path, a ModelProto, a ModelFile or a graphsurgeon Graph, not {type(model).__name__}"
    )


def as_given(given: object, proto: ModelProto) -> Any:
    """`proto` as a graphsurgeon Graph when `given` is one."""
    if type(given).__module__.startswith("onnx_graphsurgeon"):
        import onnx_graphsurgeon

        return onnx_graphsurgeon.import_onnx(proto)
    return proto
