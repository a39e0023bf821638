"""The tools that are compared, each as its users call it; what is imported depends on the tool alone.

python benchmarks/tools.py TOOL MODEL             load a file and infer
python benchmarks/tools.py TOOL MODEL --types     the same, and print what became known, as JSON
python benchmarks/tools.py TOOL --first MODEL ... of each model the processor seconds of the first inference and of the
                                                  second, as JSON; each in a fresh process, a fork of one in which the
                                                  tool has inferred another small model
"""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto

_NAME = re.compile(r"[A-Za-z_][\w.]*(?!\w*\()")
"""A symbol in the text of a dim, not the name of a function that is applied to one."""


@dataclass(frozen=True)
class Tool:
    """One way to infer shapes.

    needs       packages besides onnx
    run         from a file, as a script that has nothing else to do
    infer       in process, of a model in memory
    annotated   the model with the types filled in
    is_python   the tool is written in Python
    """

    needs: tuple[str, ...]
    run: Callable[[str], object]
    infer: Callable[[ModelProto], Any]
    annotated: Callable[[Any], ModelProto]
    is_python: bool = False

    @property
    def is_installed(self) -> bool:
        return all(find_spec(name) for name in self.needs)


def _gather_infer(model: str | ModelProto) -> Any:
    import gather_infer

    return gather_infer.infer(model)


def _onnx(model: ModelProto) -> ModelProto:
    import onnx

    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def _onnx_file(path: str) -> ModelProto:
    import onnx

    return _onnx(onnx.load(path))


def _onnx_path(path: str) -> None:
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        onnx.shape_inference.infer_shapes_path(path, str(Path(folder) / "out.onnx"), data_prop=True)


def _onnxruntime(model: ModelProto) -> ModelProto:
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    return SymbolicShapeInference.infer_shapes(model, auto_merge=True)


def _onnxruntime_file(path: str) -> ModelProto:
    import onnx

    return _onnxruntime(onnx.load(path))


def _onnx_shape_inference(model: ModelProto) -> Any:
    import onnx_ir
    import onnx_shape_inference

    return onnx_shape_inference.infer_symbolic_shapes(onnx_ir.from_proto(model))


def _onnx_shape_inference_file(path: str) -> Any:
    import onnx_ir
    import onnx_shape_inference

    return onnx_shape_inference.infer_symbolic_shapes(onnx_ir.load(path))


def _onnx_ir_proto(model: Any) -> ModelProto:
    import onnx_ir

    return onnx_ir.to_proto(model)


TOOLS = {
    "gather-infer": Tool((), _gather_infer, _gather_infer, lambda inference: inference.annotated()),
    "onnx (C++)": Tool((), _onnx_file, _onnx, lambda model: model),
    "onnxruntime": Tool(("onnxruntime", "sympy"), _onnxruntime_file, _onnxruntime, lambda model: model, is_python=True),
    "onnx-shape-inf.": Tool(
        ("onnx_shape_inference",), _onnx_shape_inference_file, _onnx_shape_inference, _onnx_ir_proto, is_python=True
    ),
}

FILE_COMMANDS = {"onnx, to a file": _onnx_path}
"""Other ways to do it that make a difference for large files only."""


def known_types(name: str, path: str) -> dict[str, list[bool] | None]:
    """Types that a tool infers for the outputs of the nodes of the main graph: per dim whether it is exact.

    None for a value whose element type or rank is not known. A dim is exact when it is a number, or an expression with
    no other names than those that dims of the inputs have; whether it is right is not asked here. The `value_info` in
    the file is removed before: only what the tool infers counts.
    """
    import onnx

    model = onnx.load(path)
    del model.graph.value_info[:]
    symbols = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim}
    names = [output for node in model.graph.node for output in node.output if output]
    tool = TOOLS[name]
    graph = tool.annotated(tool.infer(model)).graph
    types = {v.name: v.type for v in (*graph.value_info, *graph.output)}
    return {n: _exact_dims(types[n], symbols) if n in types else None for n in names}


def _exact_dims(proto: TypeProto, symbols: set[str]) -> list[bool] | None:
    kind = proto.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return None if kind is None else []  # a sequence or the like has no dims of its own
    tensor = getattr(proto, kind)
    if not tensor.elem_type or not tensor.HasField("shape"):
        return None
    return [
        d.HasField("dim_value") or (bool(d.dim_param) and (d.dim_param in symbols or _uses_only(d.dim_param, symbols)))
        for d in tensor.shape.dim
    ]


def _uses_only(text: str, symbols: set[str]) -> bool:
    return set(_NAME.findall(text)) <= symbols


WARM_UP = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 4] x) => (float[batch, 4] y) <float[4, 4] w = {0,0,0,0, 0,0,0,0, 0,0,0,0, 0,0,0,0}>
{ s = Shape(x) a = MatMul(x, w) r = Relu(a) y = Reshape(r, s) }"""


LIMIT = 30
"""Seconds for two inferences of a fixture; what takes more counts as failed."""


def first_inferences(name: str, paths: list[str]) -> dict[str, list[float] | None]:
    """Per model the processor seconds of the first inference and of the second; None where the tool fails."""
    import onnx

    tool = TOOLS[name]
    tool.infer(onnx.parser.parse_model(WARM_UP))
    found: dict[str, list[float] | None] = {}
    for path in paths:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                signal.alarm(LIMIT)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                os.write(writer, json.dumps(_twice(tool, path)).encode())
            finally:
                os._exit(0)  # also where the tool fails: nothing is written then
        os.close(writer)
        with os.fdopen(reader) as answer:
            text = answer.read()
        os.waitpid(child, 0)
        found[path] = json.loads(text) if text else None
    return found


def _twice(tool: Tool, path: str) -> list[float]:
    """The processor seconds of two inferences of a model."""
    import onnx

    model = onnx.load(path)
    times = []
    for _ in range(2):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        gc.collect()
        start = time.process_time()
        tool.infer(copy)
        times.append(time.process_time() - start)
    return times


if __name__ == "__main__":
    tool, model, *rest = sys.argv[1:]
    if model == "--first":
        json.dump(first_inferences(tool, rest), sys.stdout)
    elif rest:
        json.dump(known_types(tool, model), sys.stdout)
    else:
        (FILE_COMMANDS.get(tool) or TOOLS[tool].run)(model)
