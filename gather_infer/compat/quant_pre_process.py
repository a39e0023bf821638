"""Drop-in for `onnxruntime.quantization.quant_pre_process`, and for its command `onnxruntime.quantization.preprocess`.

    >>> from gather_infer.compat.quant_pre_process import quant_pre_process
    >>> quant_pre_process("model.onnx", "prepared.onnx")

This package infers the shapes. The optimization is that of onnxruntime, because the quantizer expects its fusions.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from onnx import GraphProto, ModelProto, version_converter

from gather_infer.compat.command import add_data_options, add_inference_options, parser_of, run
from gather_infer.compat.saving import DataFiles, write
from gather_infer.compat.symbolic_shape_infer import (
    INT_MAX,
    Options,
    with_inferred_types,
    with_named_dims,
    with_shapes,
)
from gather_infer.domains import plain_domain
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.inference import infer
from gather_infer.model import ModelFile, open_model
from gather_infer.model.model_loading import ModelLike, to_onnx_file
from gather_infer.model.paths import bodies

KEY: Final = "onnx.quant.pre_process"
"""Metadata key by which onnxruntime's quantizer recognises a prepared model; the value is `onnxruntime.quant`."""

_NEEDED_OPSET: Final = 11
"""The quantizer raises older models to this opset, which has no Upsample."""

_FALSE: Final = frozenset({"", "0", "false", "no", "off"})

logger = logging.getLogger(__name__)


def quant_pre_process(
    input_model: ModelLike | None = None,
    output_model_path: str | os.PathLike[str] | None = None,
    skip_optimization: bool = False,
    skip_onnx_shape: bool = False,
    skip_symbolic_shape: bool = False,
    auto_merge: bool = False,
    int_max: int = INT_MAX,
    guess_output_rank: bool = False,
    verbose: int = 0,
    save_as_external_data: bool = False,
    all_tensors_to_one_file: bool = False,
    external_data_location: str | None = None,
    external_data_size_threshold: int = 1024,
    **deprecated_kwargs: Any,
) -> None:
    """Write a model prepared for quantization: optimized by onnxruntime, with types for every tensor.

    input_model           a path or a ModelProto; `input_model_path` is its old name
    skip_optimization     do not run onnxruntime's basic optimization, which needs onnxruntime
    skip_onnx_shape       do not infer types after the optimization
    skip_symbolic_shape   do not infer types before it, so that unknown operators are no error
    auto_merge, int_max, guess_output_rank, verbose   as for `SymbolicShapeInference.infer_shapes`
    save_as_external_data, all_tensors_to_one_file, external_data_location, external_data_size_threshold
                          as for `onnx.save_model`

    A failure of the optimization is logged, and the model stays as it was before, as in the original.

    Raises IncompleteInference and InvalidModel as `infer_shapes`, ModelReadError and ModelWriteError for files that
    cannot be read or written, UsageError if onnxruntime is missing, ConversionRefused if onnx cannot convert a model
    of an opset before 11.
    """
    input_model = deprecated_kwargs.pop("input_model_path", None) if input_model is None else input_model
    if input_model is None or output_model_path is None:
        raise UsageError("quant_pre_process needs input_model and output_model_path")
    options = Options(int_max, auto_merge, guess_output_rank, verbose)
    data = DataFiles(all_tensors_to_one_file, external_data_location, external_data_size_threshold)
    file = to_onnx_file(input_model)
    file.require_data()
    if not skip_optimization and importlib.util.find_spec("onnxruntime") is None:
        raise UsageError(
            "the optimization runs onnxruntime, which is not installed: "
            "pip install 'gather-infer[onnxruntime]', or skip it with --skip_optimization True"
        )
    with TemporaryDirectory(prefix="gather-infer-") as folder:
        file = _with_opset(file)
        is_inferred = not skip_symbolic_shape
        if not skip_symbolic_shape:
            source, proto = with_shapes(file, options)
            file = replace(source, proto=proto)
        if not skip_optimization:
            optimized = _optimized(file, Path(folder))
            if optimized is not None:
                file, is_inferred = optimized, False
        if not skip_onnx_shape and not is_inferred:
            file = with_named_dims(file)
            file = replace(file, proto=with_inferred_types(file, infer(file)))
        write(file, _marked(file.proto), output_model_path, data if save_as_external_data else None)


def _with_opset(file: ModelFile) -> ModelFile:
    """`file`, converted to opset 11 by onnx if its opset is older.

    Upsample, and Resize before opset 11, have the coordinates `asymmetric` and the rounding `floor`. The converter
    leaves both at the defaults of Resize-11, which differ.
    """
    opset = max((e.version for e in file.proto.opset_import if not plain_domain(e.domain)), default=0)
    if not 0 < opset < _NEEDED_OPSET:
        return file
    try:
        proto = version_converter.convert_version(file.with_weights(), _NEEDED_OPSET)
    except (RuntimeError, version_converter.ConvertError) as error:
        reason = " ".join(str(error).split())
        raise ConversionRefused(
            f"{file.name}: opset {opset} cannot be converted to {_NEEDED_OPSET}: {reason}"
        ) from error
    for _, body in bodies(proto):
        for node in body.node if isinstance(body, GraphProto) else ():
            if node.op_type == "Resize" and not plain_domain(node.domain):
                given = {attribute.name for attribute in node.attribute}
                for name, value in (("coordinate_transformation_mode", b"asymmetric"), ("nearest_mode", b"floor")):
                    if name not in given:
                        node.attribute.add(name=name, type=3, s=value)
    return replace(ModelFile.from_proto(proto, file.base_dir), label=file.name)


def _optimized(file: ModelFile, folder: Path) -> ModelFile | None:
    """The model as onnxruntime optimizes it at level `basic`; None, and a logged reason, if that fails.

    onnxruntime runs in a child process, since it may crash. It writes into `folder`.
    """
    given, made = folder / "given.onnx", folder / "optimized.onnx"
    write(file, file.proto, given)
    command = [sys.executable, "-m", "gather_infer.compat.basic_optimization", str(given), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode or not made.is_file():
        last = done.stderr.strip().splitlines()[-1:] or [f"the process ended with {done.returncode}"]
        logger.error("onnxruntime does not optimize %s, --skip_optimization True skips it: %s", file.name, last[0])
        return None
    return replace(open_model(made), label=file.name)


def _marked(proto: ModelProto) -> ModelProto:
    """A copy of `proto` with the mark of a prepared model, unless there is one."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    if all(entry.key != KEY for entry in copy.metadata_props):
        copy.metadata_props.add(key=KEY, value="onnxruntime.quant")
    return copy


def main(arguments: Sequence[str]) -> int:
    """The command: reads --input, writes --output. Returns the exit code."""
    parser = parser_of(
        "quant_pre_process",
        "Prepare a model for quantization: infer symbolic types, optimize it with onnxruntime, infer types again.",
        "--input fixtures/vit-torchscript.onnx --output prepared.onnx",
    )
    parser.add_argument("--input", required=True, help="the model to read")
    parser.add_argument("--output", required=True, help="the model to write")
    parser.add_argument("--skip_optimization", type=_flag, default=False, help="skip the optimization if true")
    parser.add_argument("--skip_onnx_shape", type=_flag, default=False, help="skip the second inference if true")
    parser.add_argument("--skip_symbolic_shape", type=_flag, default=False, help="skip the first inference if true")
    add_inference_options(parser)
    add_data_options(parser, None)
    given: argparse.Namespace = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    if given.skip_optimization and given.skip_onnx_shape and given.skip_symbolic_shape:
        logger.error("error: all three steps are skipped, nothing to do")
        return 0  # as the script
    quant_pre_process(
        given.input, given.output, **{k: v for k, v in vars(given).items() if k not in ("input", "output")}
    )
    return 0


def _flag(text: str) -> bool:
    return text.strip().lower() not in _FALSE


if __name__ == "__main__":
    run(main)
