"""Models as callers have them: paths, protos, files and graphsurgeon Graphs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeAlias

from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.model.file import ModelFile, open_model

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

GivenModel: TypeAlias = "str | os.PathLike[str] | ModelProto | ModelFile | gs.Graph"


def to_model_file(model: object) -> ModelFile:
    """Any model that the API accepts as a ModelFile. Raises ModelReadError, UsageError for another kind of object."""
    if isinstance(model, ModelFile):
        return model
    if isinstance(model, ModelProto):
        return ModelFile.from_proto(model)
    if isinstance(model, (str, os.PathLike)):
        return open_model(model)
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
