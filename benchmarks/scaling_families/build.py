"""Makers of generated models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

INT64: Final = TensorProto.INT64
BIG: Final = 2**62

FAMILIES: Final[dict[str, Callable[[int], ModelProto]]] = {}


def family(name: str) -> Callable[[Callable[[int], ModelProto]], Callable[[int], ModelProto]]:
    """Enter a generator of models of about n nodes under the name of its family."""

    def enter(generator: Callable[[int], ModelProto]) -> Callable[[int], ModelProto]:
        FAMILIES[name] = generator
        return generator

    return enter


def value(name: str, shape: Sequence[int | str] | None = ("N",), kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name: str, value: object, dtype: Any = np.int64) -> TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def model(
    nodes: Iterable[NodeProto],
    inputs: Iterable[ValueInfoProto],
    outputs: Iterable[ValueInfoProto],
    constants: Iterable[TensorProto] = (),
    functions: Iterable[Any] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(constants))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def chain(
    n: int,
    *nodes: tuple[Any, ...],
    of: Sequence[ValueInfoProto] | None = None,
    constants: Iterable[TensorProto] = (),
    result: ValueInfoProto | None = None,
) -> ModelProto:
    """The nodes in turn, n in all, each on the output of the last.

    nodes   operator, inputs ("." is the output of the last node), and maybe a dict of attributes
    """
    made, last = [], "x"
    for i in range(n):
        op_type, inputs, *attributes = nodes[i % len(nodes)]
        names = [last if name == "." else name for name in inputs]
        last = f"h{i}"
        made.append(helper.make_node(op_type, names, [last], **(attributes[0] if attributes else {})))
    output = value("y", None) if result is None else result
    made.append(helper.make_node("Neg", [last], ["y"]))
    return model(made, [value("x")] if of is None else of, [output], constants)
