"""Drop-in for `onnxruntime.tools.make_dynamic_shape_fixed`, with the functions of `onnxruntime.tools.onnx_model_utils`.

    >>> from gather_infer.compat.make_dynamic_shape_fixed import fix_output_shapes, make_dim_param_fixed
    >>> make_dim_param_fixed(model.graph, "batch", 1)
    >>> fix_output_shapes(model)

As in the originals, the functions change their argument.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from onnx import GraphProto, ModelProto, ValueInfoProto

from gather_infer.compat.command import parser_of, run
from gather_infer.compat.saving import write
from gather_infer.errors import UsageError
from gather_infer.inference import infer
from gather_infer.inference.annotate import annotated
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import to_onnx_file
from gather_infer.model.paths import subgraphs
from gather_infer.model.tensors import fed_inputs
from gather_infer.passes import freeze

_WRONG_USAGE: Final = 255
"""Exit code of the script for options that do not fit together: -1, in 8 bits."""


class ShapeMismatch(UsageError, ValueError):
    """The model has no such input, or the given shape contradicts its declaration."""


def make_dim_param_fixed(graph: GraphProto, param_name: str, value: int) -> None:
    """Replace the dim `param_name` by `value` in the types of `graph` and its subgraphs, in place."""
    for info in _infos(graph):
        for dim in dims_of(info.type):
            if dim.dim_param == param_name:
                dim.dim_value = value


def make_input_shape_fixed(graph: GraphProto, input_name: str, fixed_shape: Sequence[int]) -> None:
    """Set the shape of an input, in place; a named dim gets its size in all types of the graph and its subgraphs.

    Sizes below 1 that the model declares count as unknown, as in the original. Raises ShapeMismatch, a
    ValueError, when there is no such tensor input, or the shape contradicts its declaration.
    """
    _clear_sizes_below_1(graph)
    for dim, size in zip(_fixable_dims(graph, input_name, fixed_shape), fixed_shape, strict=True):
        if dim.dim_param:
            make_dim_param_fixed(graph, dim.dim_param, size)
        else:
            dim.dim_value = size


def fix_output_shapes(model: ModelProto) -> None:
    """Write the sizes of the outputs that follow from the sizes of the inputs, in place."""
    source = ModelFile.from_proto(model)
    found, _ = annotated(source, infer(source), outputs=True)
    for output, known in zip(model.graph.output, found.graph.output, strict=True):
        dims, sizes = dims_of(output.type), dims_of(known.type)
        if not dims:
            output.type.CopyFrom(known.type)
        for dim, size in zip(dims, sizes, strict=True):
            if size.HasField("dim_value"):
                dim.dim_value = size.dim_value


def _fixable_dims(graph: GraphProto, input_name: str, fixed_shape: Sequence[int]) -> list[Any]:
    """The dims of the input `input_name`. Raises ShapeMismatch when `fixed_shape` does not fit them."""
    value = next((value for value in graph.input if value.name == input_name), None)
    if value is None:
        raise ShapeMismatch(f"no input {input_name!r}; there are {', '.join(value.name for value in graph.input)}")
    if not value.type.HasField("tensor_type"):
        raise ShapeMismatch(f"input {input_name!r} is not a tensor")
    dims = list(value.type.tensor_type.shape.dim)
    if len(dims) != len(fixed_shape):
        raise ShapeMismatch(f"input {input_name!r} has rank {len(dims)}, the shape has {len(fixed_shape)} sizes")
    for axis, (dim, size) in enumerate(zip(dims, fixed_shape, strict=True)):
        if dim.HasField("dim_value") and dim.dim_value != size:
            raise ShapeMismatch(f"input {input_name!r} has size {dim.dim_value} on axis {axis}, the shape has {size}")
    return dims


def _clear_sizes_below_1(graph: GraphProto) -> None:
    """Make the sizes below 1 in the types of `graph` and its subgraphs unknown: converters write -1 or 0 for a dim."""
    for info in _infos(graph):
        for dim in dims_of(info.type):
            if dim.HasField("dim_value") and dim.dim_value < 1:
                dim.ClearField("dim_value")


def _infos(graph: GraphProto) -> Iterator[ValueInfoProto]:
    """The declared values of `graph` and its subgraphs."""
    pending = [graph]
    while pending:
        body = pending.pop()
        yield from (*body.input, *body.output, *body.value_info)
        pending += [inner for at, node in enumerate(body.node) for _, inner in subgraphs(node, at)]


def with_fixed_dim(file: ModelFile, name: str, size: int) -> ModelProto:
    """The model of `file` with `size` in place of the dim `name`, and the sizes that follow.

    Raises UsageError when the size contradicts the model.
    """
    named = {dim.dim_param for value in fed_inputs(file.proto) for dim in dims_of(value.type)}
    proto = _frozen(file, dims={name: size}) if name in named else _copy(file.proto)
    make_dim_param_fixed(proto.graph, name, size)  # in types that no input has a part in
    if name not in named:
        fix_output_shapes(proto)
    return proto


def with_fixed_shape(file: ModelFile, name: str, shape: Sequence[int]) -> ModelProto:
    """The model of `file` with `shape` for the input `name`, and the sizes that follow.

    Raises UsageError when there is no such tensor input, or the shape contradicts its declaration or the model.
    """
    proto = _copy(file.proto)
    _clear_sizes_below_1(proto.graph)
    sizes = list(zip(_fixable_dims(proto.graph, name, shape), shape, strict=True))
    proto = _frozen(replace(file, proto=proto), inputs={name: f"[{', '.join(map(str, shape))}]"})
    for dim, size in sizes:
        if dim.dim_param:
            make_dim_param_fixed(proto.graph, dim.dim_param, size)
    return proto


def _frozen(
    file: ModelFile, *, dims: Mapping[str, int] | None = None, inputs: Mapping[str, str] | None = None
) -> ModelProto:
    result = freeze(file, dims=dims or {}, inputs=inputs or {})
    if result.refused:
        raise UsageError(f"{file.name}: {result.why_refused}: {result.refused[0].message}")
    return _copy(result.proto)


def _copy(proto: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(proto)
    return copy


def main(arguments: Sequence[str]) -> int:
    """The command: reads and writes a model. Returns the exit code, 255 for options that do not fit together."""
    parser = parser_of(
        "make_dynamic_shape_fixed",
        "Set a dim of the inputs, or the shape of an input, to fixed sizes. Give either a dim or an input.",
        "--dim_param batch --dim_value 1 fixtures/bert-torchscript.onnx fixed.onnx",
    )
    parser.add_argument("--dim_param", help="name of the dim; needs --dim_value")
    parser.add_argument("--dim_value", type=int, help="its size, 1 or more")
    parser.add_argument("--input_name", help="name of the input; needs --input_shape")
    parser.add_argument("--input_shape", type=_sizes, help="its sizes, each 1 or more: 1,3,256,256")
    parser.add_argument("input_model", help="the model to read")
    parser.add_argument("output_model", help="the model to write")
    given: Any = parser.parse_args(arguments)
    if not _is_complete(given):
        print("Invalid usage.")
        parser.print_help()
        return _WRONG_USAGE
    file = to_onnx_file(given.input_model)
    file.require_data()
    if given.dim_param:
        proto = with_fixed_dim(file, given.dim_param, given.dim_value)
    else:
        proto = with_fixed_shape(file, given.input_name, given.input_shape)
    write(file, proto, given.output_model)
    return 0


def _is_complete(given: Any) -> bool:
    """Whether the options give either a dim with its size, or an input with its shape, and sizes of 1 or more."""
    if bool(given.dim_param) is bool(given.input_name):
        return False
    if given.dim_param:
        return given.dim_value is not None and given.dim_value >= 1
    return bool(given.input_shape) and min(given.input_shape) >= 1


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"sizes read 1,3,256,256, found {text!r}") from error


if __name__ == "__main__":
    run(main)
