"""Models whose half precision values are rounded after each node.

onnxruntime has few float16 kernels. It computes in float32 between inserted Casts, and removes a pair of Casts between
neighbours. So the rounding of a value depends on its neighbours, and removing a node changes bits. Two Identity nodes
after each value of half precision keep the Casts apart; onnxruntime would compute a single Identity in float32 too.
"""

from __future__ import annotations

from typing import Final

from onnx import FunctionProto, ModelProto, NodeProto, helper

from gather_infer.inference import Inference, infer
from gather_infer.model import ModelFile
from gather_infer.model.function_inlining import without_functions
from gather_infer.model.paths import bodies
from gather_infer.tensor import DType, SymbolicTensor

HALF: Final = frozenset({DType.FLOAT16, DType.BFLOAT16})


ROUNDED: Final = "half precision is rounded after each node, which onnxruntime by itself does not do"


def has_halves(inference: Inference) -> bool:
    """Whether a value of the model is float16 or bfloat16."""
    return any(_is_half(value) for scope in inference.scopes.values() for value in scope.values())


def rounded(model: ModelFile, inference: Inference) -> ModelProto:
    """The model with half precision rounded after each node; its functions are inlined."""
    if model.proto.functions:
        proto = without_functions(model).proto
        inference = infer(ModelFile.from_proto(proto, model.base_dir))
    else:
        proto = ModelProto()
        proto.CopyFrom(model.proto)
    for path, body in bodies(proto):
        facts = inference.scopes.get(path, {})
        if isinstance(body, FunctionProto) or not any(map(_is_half, facts.values())):
            continue
        nodes: list[NodeProto] = []
        for node in body.node:
            nodes.append(node)
            for position, name in enumerate(node.output):
                if name and _is_half(facts.get(name)):
                    made = [f"{name}/rounded/{step}" for step in range(2)]
                    node.output[position] = made[0]
                    nodes.append(helper.make_node("Identity", made[:1], made[1:]))
                    nodes.append(helper.make_node("Identity", made[1:], [name]))
        del body.node[:]
        body.node.extend(nodes)
    return proto


def _is_half(value: object) -> bool:
    return isinstance(value, SymbolicTensor) and value.dtype in HALF
