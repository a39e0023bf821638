"""Models whose graph is put into a branch, a loop body or a function: they compute the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

CONDITION = "chosen"


def _body(proto: ModelProto, suffix: str, *, moves: bool) -> GraphProto:
    """The graph as a body, with names of its own but for the inputs of the model; `moves` moves the constants, too."""
    graph = GraphProto()
    graph.CopyFrom(proto.graph)
    inputs = {value.name for value in graph.input}
    kept = set() if moves else {tensor.name for tensor in graph.initializer}
    del graph.input[:]
    del graph.value_info[:]
    if not moves:
        del graph.initializer[:]
    _rename(graph, inputs | kept, suffix)
    graph.name = f"body{suffix}"
    return graph


def _rename(graph: GraphProto, kept: set[str], suffix: str) -> None:
    own = {name for node in graph.node for name in node.output if name}
    own |= {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}

    def new(name: str) -> str:
        return f"{name}{suffix}" if name and name not in kept else name

    for each in (*graph.input, *graph.initializer, *graph.output, *graph.value_info):
        each.name = new(each.name)
    for node in graph.node:
        node.input[:] = map(new, node.input)
        node.output[:] = map(new, node.output)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, kept, suffix)


def _around(proto: ModelProto, *, moves: bool) -> ModelProto:
    found = ModelProto()
    found.CopyFrom(proto)
    del found.graph.node[:]
    del found.graph.value_info[:]
    if moves:
        del found.graph.initializer[:]
    return found


def in_branch(proto: ModelProto, *, moves: bool = False, tag: str = "") -> ModelProto:
    """Both branches of an If, by a new input, are the graph."""
    found = _around(proto, moves=moves)
    condition = f"{CONDITION}{tag}"
    found.graph.input.append(helper.make_tensor_value_info(condition, TensorProto.BOOL, []))
    bodies = [_body(proto, f"_{tag}{each}", moves=moves) for each in ("t", "e")]
    outputs = [value.name for value in proto.graph.output]
    found.graph.node.append(helper.make_node("If", [condition], outputs, then_branch=bodies[0], else_branch=bodies[1]))
    return found


def in_loop(proto: ModelProto, *, moves: bool = False, tag: str = "", count: int = 1) -> ModelProto:
    """The graph is the body of a Loop; the results of the first iteration are those of the model."""
    found = _around(proto, moves=moves)
    body = _body(proto, f"_{tag}l", moves=moves)
    names = [f"number{tag}", f"goes_on{tag}"]
    body.input.append(helper.make_tensor_value_info(names[0], TensorProto.INT64, []))
    body.input.append(helper.make_tensor_value_info(names[1], TensorProto.BOOL, []))
    body.node.append(helper.make_node("Identity", [names[1]], [f"{names[1]}_too"]))
    outputs = [helper.make_tensor_value_info(f"{names[1]}_too", TensorProto.BOOL, []), *body.output]
    copies = [type(each).FromString(each.SerializeToString()) for each in outputs]
    del body.output[:]
    body.output.extend(copies)
    for name, array in ((f"count{tag}", np.array([count])), (f"first{tag}", np.array(0))):
        found.graph.initializer.append(numpy_helper.from_array(array.astype(np.int64), name))
    results = [value.name for value in proto.graph.output]
    stacked = [f"{name}{tag}_stacked" for name in results]
    found.graph.node.append(helper.make_node("Loop", [f"count{tag}", ""], stacked, body=body))
    for one, other in zip(stacked, results, strict=True):
        found.graph.node.append(helper.make_node("Gather", [one, f"first{tag}"], [other], axis=0))
    return found


def in_function(proto: ModelProto) -> ModelProto:
    """The graph is a function; constants are operands of its call."""
    found = _around(proto, moves=False)
    inputs = [value.name for value in proto.graph.input] + [tensor.name for tensor in proto.graph.initializer]
    outputs = [value.name for value in proto.graph.output]
    imports = [*found.opset_import, helper.make_opsetid("wrapped", 1)]
    function = helper.make_function("wrapped", "whole", inputs, outputs, list(proto.graph.node), imports)
    found.functions.append(function)
    found.opset_import.append(helper.make_opsetid("wrapped", 1))
    found.graph.node.append(helper.make_node("whole", inputs, outputs, domain="wrapped"))
    return found


WRAPPERS: dict[str, Callable[[ModelProto], ModelProto]] = {
    "a branch": in_branch,
    "a branch with its constants": lambda proto: in_branch(proto, moves=True),
    "a loop": in_loop,
    "a loop of eleven iterations": lambda proto: in_loop(proto, count=11),
    "a function": in_function,
    "a branch in a loop": lambda proto: in_loop(in_branch(proto, moves=True), tag="o"),
    "a loop in a branch": lambda proto: in_branch(in_loop(proto), moves=True, tag="o"),
    "a branch in a function": lambda proto: in_function(in_branch(proto, moves=True)),
}
