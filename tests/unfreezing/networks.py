"""Networks over one image, built node by node at a size."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

Size = tuple[int, int]
IMAGE = ("x.2=height", "x.3=width")


class Network:
    """A model with one input x of an image, built node by node; constants are arrays."""

    def __init__(self, height: int, width: int, channels: int = 2) -> None:
        self.size = (height, width)
        self.channels = channels
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, op: str, *inputs: Any, **attributes: Any) -> str:
        names = [each if isinstance(each, str) else self.constant(np.asarray(each)) for each in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], name, **attributes))
        return name

    def constant(self, array: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def model(self) -> ModelProto:
        self.nodes[-1].output[0] = "y"
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, self.channels, *self.size))
        result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", [given], [result], self.constants)
        found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(found)
        del inferred.graph.value_info[:]
        return inferred


def ints(*numbers: int) -> Any:
    return np.array(numbers, np.int64)
