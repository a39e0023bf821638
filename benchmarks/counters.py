"""The counters of multiply-adds that are compared, each as its users call it; a node's own count where they tell it.

python benchmarks/counters.py TOOL MODEL     multiply-adds by operator of a model whose sizes are numbers, as JSON
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any


def _onnx_tool(path: str) -> Counter[str]:
    import numpy as np
    import onnx
    import onnx_tool

    model = onnx_tool.Model(path, {"verbose": False, "constant_folding": False})
    feeds: dict[str, Any] = {}
    for value in onnx.load(path).graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = np.zeros([dim.dim_value for dim in value.type.tensor_type.shape.dim], kind)
    model.graph.shape_infer(feeds)
    model.graph.profile()
    found: Counter[str] = Counter()
    for node in model.graph.nodemap.values():
        found[node.op_type] += int(node.macs[0])
    return found


def _onnx_opcounter(path: str) -> Counter[str]:
    """Its sum over each node alone, with the sizes that onnx infers; it has no other way to tell operators apart."""
    import onnx
    from onnx_opcounter import calculate_macs

    model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True)
    types = {value.name: value for value in (*model.graph.input, *model.graph.value_info, *model.graph.output)}
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    found: Counter[str] = Counter()
    for node in model.graph.node:
        if node.op_type not in ("MatMul", "Gemm", "Conv", "ConvTranspose", "Add", "Relu", "BatchNormalization"):
            continue
        names = list(dict.fromkeys(name for name in node.input if name))
        graph = onnx.helper.make_graph(
            [node],
            "one",
            [types[name] for name in names if name not in weights],
            [types[name] for name in node.output if name],
            [weights[name] for name in names if name in weights],
        )
        alone = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        found[node.op_type] += int(calculate_macs(alone))
    return found


COUNTERS: dict[str, tuple[str, Callable[[str], Counter[str]]]] = {
    "onnx-tool": ("onnx_tool", _onnx_tool),
    "onnx-opcounter": ("onnx_opcounter", _onnx_opcounter),
}


def main() -> None:
    tool, path = sys.argv[1:]
    module, count = COUNTERS[tool]
    if not find_spec(module):
        sys.exit(f"{tool} is not installed")
    with contextlib.redirect_stdout(sys.stderr):
        found = count(path)
    print(json.dumps({op_type: macs for op_type, macs in found.items() if macs}))


if __name__ == "__main__":
    main()
