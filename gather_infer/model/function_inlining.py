"""Inlining of the functions of a model, by onnx's inliner."""

from __future__ import annotations

from dataclasses import replace

from onnx import FunctionProto, GraphProto, ModelProto, helper
from onnx.checker import ValidationError
from onnx.inliner import inline_local_functions

from gather_infer.errors import ModelStructureError
from gather_infer.model.file import ModelFile
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root


def without_functions(file: ModelFile) -> ModelFile:
    """The model with its functions inlined; the model itself if it has none.

    Raises ModelStructureError for functions that cannot be inlined, such as one that calls itself.
    """
    if not file.proto.functions:
        return file
    try:
        return replace(file, proto=with_functions_inlined(file.proto))
    except ValidationError as error:
        raise ModelStructureError(f"{file.name}: {str(error).strip()}") from error


def with_functions_inlined(model: ModelProto) -> ModelProto:
    """A copy of the model in which the body of each function replaces its calls.

    onnx's inliner (1.23) renames a subgraph output that is an initializer of the subgraph twice, and the result then
    refers to an undefined value. Such outputs pass through an Identity first.

    Raises onnx.checker.ValidationError for functions that cannot be inlined.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    names: Names | None = None
    for path, graph in bodies(copy):
        if path.root is not Root.FUNCTION or isinstance(graph, FunctionProto):
            continue
        initializers = {tensor.name for tensor in graph.initializer}
        initializers |= {tensor.values.name for tensor in graph.sparse_initializer}
        for output in graph.output:
            if output.name in initializers:
                names = names or Names(copy)
                _add_identity(graph, output.name, names.fresh(f"{output.name}_output"))
    inlined: ModelProto = inline_local_functions(copy)
    return inlined


def _add_identity(graph: GraphProto, initializer: str, output: str) -> None:
    """Return a copy of an initializer under the name `output` instead of the initializer itself."""
    graph.node.append(helper.make_node("Identity", [initializer], [output]))
    for value in graph.output:
        if value.name == initializer:
            value.name = output
            return
