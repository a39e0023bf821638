"""Families of generated models of about n nodes: `FAMILIES`. benchmarks/scaling.py times the commands on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from models import transformer
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

INT64: Final = TensorProto.INT64
_BIG: Final = 2**62

FAMILIES: Final[dict[str, Callable[[int], ModelProto]]] = {}


def family(name: str) -> Callable[[Callable[[int], ModelProto]], Callable[[int], ModelProto]]:
    """Enter a generator of models of about n nodes under the name of its family."""

    def enter(generator: Callable[[int], ModelProto]) -> Callable[[int], ModelProto]:
        FAMILIES[name] = generator
        return generator

    return enter


def _value(name: str, shape: Sequence[int | str] | None = ("N",), kind: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _constant(name: str, value: object, dtype: Any = np.int64) -> TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def _model(
    nodes: Iterable[NodeProto],
    inputs: Iterable[ValueInfoProto],
    outputs: Iterable[ValueInfoProto],
    constants: Iterable[TensorProto] = (),
    functions: Iterable[Any] = (),
) -> ModelProto:
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(constants))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=list(functions))


def _chain(
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
    output = _value("y", None) if result is None else result
    made.append(helper.make_node("Neg", [last], ["y"]))
    return _model(made, [_value("x")] if of is None else of, [output], constants)


# equal nodes and constants, many uses


@family("equal nodes")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], [f"a{i}"]) for i in range(n // 2)]
    nodes += [helper.make_node("Add", [f"a{i}", "x"], [f"c{i}"]) for i in range(n // 2)]
    return _model(nodes, [_value("x")], [_value(f"c{i}") for i in range(n // 2)])


@family("two equal chains")
def _(n: int) -> ModelProto:
    nodes, a, b = [], "x", "x"
    for i in range(n // 2):
        nodes += [helper.make_node("Sin", [a], [f"a{i}"]), helper.make_node("Sin", [b], [f"b{i}"])]
        a, b = f"a{i}", f"b{i}"
    return _model([*nodes, helper.make_node("Add", [a, b], ["y"])], [_value("x")], [_value("y")])


@family("equal constants")
def _(n: int) -> ModelProto:
    constants = [_constant(f"w{i}", [1.5, 2, 3], np.float32) for i in range(n)]
    return _chain_of_constants(constants)


@family("different constants")
def _(n: int) -> ModelProto:
    return _chain_of_constants([_constant(f"w{i}", [i, 2, 3], np.float32) for i in range(n)])


def _chain_of_constants(constants: list[TensorProto]) -> ModelProto:
    nodes, last = [], "x"
    for i, constant in enumerate(constants):
        nodes.append(helper.make_node("Mul", [last, constant.name], [f"h{i}"]))
        last = f"h{i}"
    return _model(nodes, [_value("x", ["N", 3])], [_value(last, ["N", 3])], constants)


@family("equal Constant nodes")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Constant", [], [f"w{i}"], value=_constant("", [1.5], np.float32)))
        nodes.append(helper.make_node("Mul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last)])


@family("one value as many outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    nodes += [helper.make_node("Identity", ["a"], [f"y{i}"]) for i in range(n)]
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n)])


@family("an input as many outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Identity", ["x"], [f"y{i}"]) for i in range(n)]
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n)])


@family("equal nodes that are outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], [f"y{i}"]) for i in range(n)]
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n)])


@family("many different readers of one value")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    nodes += [helper.make_node("LeakyRelu", ["a"], [f"y{i}"], alpha=i / n) for i in range(n)]
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n)])


@family("an Identity before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 2):
        nodes.append(helper.make_node("Identity", ["a"], [f"i{i}"]))
        nodes.append(helper.make_node("LeakyRelu", [f"i{i}"], [f"y{i}"], alpha=i / n))
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n // 2)])


@family("a Cast and its inverse before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 3):
        nodes.append(helper.make_node("Cast", ["a"], [f"c{i}"], to=TensorProto.DOUBLE))
        nodes.append(helper.make_node("Cast", [f"c{i}"], [f"i{i}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("LeakyRelu", [f"i{i}"], [f"y{i}"], alpha=i / n))
    return _model(nodes, [_value("x")], [_value(f"y{i}") for i in range(n // 3)])


@family("a Transpose pair before each of many readers")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Neg", ["x"], ["a"])]
    for i in range(n // 3):
        nodes.append(helper.make_node("Transpose", ["a"], [f"t{i}"], perm=[1, 0]))
        nodes.append(helper.make_node("LeakyRelu", [f"t{i}"], [f"r{i}"], alpha=i / n))
        nodes.append(helper.make_node("Transpose", [f"r{i}"], [f"y{i}"], perm=[1, 0]))
    return _model(nodes, [_value("x", ["N", "M"])], [_value(f"y{i}", ["N", "M"]) for i in range(n // 3)])


@family("different rows of one table")
def _(n: int) -> ModelProto:
    constants = [_constant(f"i{i}", i) for i in range(n)]
    nodes = [helper.make_node("Gather", ["x", f"i{i}"], [f"y{i}"], axis=0) for i in range(n)]
    return _model(nodes, [_value("x", ["N", 4])], [_value(f"y{i}", [4]) for i in range(n)], constants)


@family("different Slices of one value into a Concat")
def _(n: int) -> ModelProto:
    constants = [_constant(f"i{i}", [i]) for i in range(n + 1)]
    nodes = [helper.make_node("Slice", ["x", f"i{i}", f"i{i + 1}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return _model(nodes, [_value("x", ["N", 4])], [_value("y", ["M", 4])], constants)


@family("dead nodes")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"d{i}"], alpha=i / n) for i in range(n)]
    return _model([*nodes, helper.make_node("Neg", ["x"], ["y"])], [_value("x")], [_value("y")])


@family("a dead chain")
def _(n: int) -> ModelProto:
    model = _chain(n, ("Sin", ["."]))
    model.graph.node.append(helper.make_node("Neg", ["x"], ["z"]))
    del model.graph.output[:]
    model.graph.output.append(_value("z"))
    return model


# long chains


@family("chain of Identity")
def _(n: int) -> ModelProto:
    return _chain(n, ("Identity", ["."]))


@family("chain of Sin")
def _(n: int) -> ModelProto:
    return _chain(n, ("Sin", ["."]))


@family("chain of Relu and Neg")
def _(n: int) -> ModelProto:
    return _chain(n, ("Relu", ["."]), ("Neg", ["."]))


@family("chain of Neg")
def _(n: int) -> ModelProto:
    return _chain(n, ("Neg", ["."]))


@family("chain of Relu")
def _(n: int) -> ModelProto:
    return _chain(n, ("Relu", ["."]))


@family("chain of Add 0 and Mul 1")
def _(n: int) -> ModelProto:
    constants = [_constant("zero", 0), _constant("one", 1)]
    return _chain(n, ("Add", [".", "zero"]), ("Mul", [".", "one"]), of=[_value("x", ["N"], INT64)],
                  constants=constants, result=_value("y", ["N"], INT64))  # fmt: skip


@family("chain of Add of constants")
def _(n: int) -> ModelProto:
    return _chain(n, ("Add", [".", "two"]), of=[_value("x", ["N"], INT64)], constants=[_constant("two", 2)],
                  result=_value("y", ["N"], INT64))  # fmt: skip


@family("chain of Gather by one run-time index")
def _(n: int) -> ModelProto:
    inputs = [_value("x", ["N"]), _value("i", ["M"], INT64)]
    return _chain(n, ("Gather", [".", "i"], {"axis": 0}), of=inputs)


@family("chain of Gather by many run-time indices")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("Gather", [last, f"i{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    inputs = [_value("x", ["N"]), *(_value(f"i{i}", [f"M{i}"], INT64) for i in range(n))]
    return _model(nodes, inputs, [_value(last, ["K"])])


@family("chain of Gather by a constant")
def _(n: int) -> ModelProto:
    return _chain(n, ("Gather", [".", "i"], {"axis": 0}), of=[_value("x", [4, "N"])],
                  constants=[_constant("i", [1, 0, 3, 2])])  # fmt: skip


@family("chain of GatherElements")
def _(n: int) -> ModelProto:
    inputs = [_value("x", ["N"]), _value("i", ["N"], INT64)]
    return _chain(n, ("GatherElements", [".", "i"], {"axis": 0}), of=inputs)


@family("chain of Slice")
def _(n: int) -> ModelProto:
    constants = [_constant("s", [1]), _constant("e", [_BIG]), _constant("a", [0])]
    return _chain(n, ("Slice", [".", "s", "e", "a"]), constants=constants)


@family("chain of Slice by run-time bounds")
def _(n: int) -> ModelProto:
    inputs = [_value("x"), _value("s", [1], INT64), _value("e", [1], INT64)]
    return _chain(n, ("Slice", [".", "s", "e"]), of=inputs)


@family("chain of Reshape")
def _(n: int) -> ModelProto:
    constants = [_constant("two", [-1, 2]), _constant("one", [-1])]
    return _chain(n, ("Reshape", [".", "two"]), ("Reshape", [".", "one"]), constants=constants)


@family("chain of Reshape and Sin")
def _(n: int) -> ModelProto:
    constants = [_constant("two", [-1, 2]), _constant("one", [-1])]
    return _chain(n, ("Reshape", [".", "two"]), ("Sin", ["."]), ("Reshape", [".", "one"]), ("Sin", ["."]),
                  constants=constants)  # fmt: skip


@family("chain of Transpose")
def _(n: int) -> ModelProto:
    return _chain(n, ("Transpose", ["."], {"perm": [1, 2, 0]}), of=[_value("x", ["N", "M", "K"])])


@family("chain of Transpose and Sin")
def _(n: int) -> ModelProto:
    return _chain(n, ("Transpose", ["."], {"perm": [1, 2, 0]}), ("Sin", ["."]), of=[_value("x", ["N", "M", "K"])])


@family("chain of Unsqueeze and Squeeze")
def _(n: int) -> ModelProto:
    return _chain(n, ("Unsqueeze", [".", "a"]), ("Squeeze", [".", "a"]), constants=[_constant("a", [0])])


@family("chain of Unsqueeze, Sin, Squeeze, Sin")
def _(n: int) -> ModelProto:
    return _chain(n, ("Unsqueeze", [".", "a"]), ("Sin", ["."]), ("Squeeze", [".", "a"]), ("Sin", ["."]),
                  constants=[_constant("a", [0])])  # fmt: skip


@family("chain of Cast")
def _(n: int) -> ModelProto:
    return _chain(n, ("Cast", ["."], {"to": TensorProto.DOUBLE}), ("Cast", ["."], {"to": TensorProto.FLOAT}))


@family("chain of Cast and Sin")
def _(n: int) -> ModelProto:
    double, single = {"to": TensorProto.DOUBLE}, {"to": TensorProto.FLOAT}
    return _chain(n, ("Cast", ["."], double), ("Sin", ["."]), ("Cast", ["."], single), ("Sin", ["."]))


@family("chain of Where")
def _(n: int) -> ModelProto:
    inputs = [_value("x"), _value("c", ["N"], TensorProto.BOOL)]
    return _chain(n, ("Where", ["c", ".", "x"]), of=inputs)


@family("chain of Where by many conditions")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Greater", ["x", f"t{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("Where", [f"c{i}", last, "x"], [f"h{i}"]))
        last = f"h{i}"
    constants = [_constant(f"t{i}", i, np.float32) for i in range(n // 2)]
    return _model(nodes, [_value("x")], [_value(last)], constants)


@family("chain of Not")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Not", [f"h{i}" if i else "x"], [f"h{i + 1}"]) for i in range(n)]
    return _model(nodes, [_value("x", ["N"], TensorProto.BOOL)], [_value(f"h{n}", ["N"], TensorProto.BOOL)])


@family("chain of Concat")
def _(n: int) -> ModelProto:
    return _chain(n, ("Concat", [".", "x"], {"axis": 0}))


@family("chain of Concat of one row")
def _(n: int) -> ModelProto:
    return _chain(n, ("Concat", [".", "w"], {"axis": 0}), of=[_value("x", ["N", 2])],
                  constants=[_constant("w", [[1, 2]], np.float32)])  # fmt: skip


@family("chain of Pad")
def _(n: int) -> ModelProto:
    return _chain(n, ("Pad", [".", "p"]), constants=[_constant("p", [0, 1])])


@family("chain of Split and Concat")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Split", [last], [f"a{i}", f"b{i}"], axis=0, num_outputs=2))
        nodes.append(helper.make_node("Concat", [f"b{i}", f"a{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last)])


@family("chain of Expand")
def _(n: int) -> ModelProto:
    inputs = [_value("x"), _value("t", [1], INT64)]
    return _chain(n, ("Expand", [".", "t"]), of=inputs)


@family("chain of Flatten")
def _(n: int) -> ModelProto:
    return _chain(n, ("Flatten", ["."]), ("Unsqueeze", [".", "a"]), of=[_value("x", ["N", "M"])],
                  constants=[_constant("a", [1])])  # fmt: skip


@family("chain of ScatterND")
def _(n: int) -> ModelProto:
    inputs = [_value("x"), _value("i", ["M", 1], INT64), _value("u", ["M"])]
    return _chain(n, ("ScatterND", [".", "i", "u"]), of=inputs)


@family("chain of ReduceSum and Unsqueeze")
def _(n: int) -> ModelProto:
    return _chain(n, ("ReduceSum", [".", "a"], {"keepdims": 0}), ("Unsqueeze", [".", "a"]),
                  of=[_value("x", ["N", "M"])], constants=[_constant("a", [1])])  # fmt: skip


@family("chain of QuantizeLinear and DequantizeLinear")
def _(n: int) -> ModelProto:
    constants = [_constant("s", 0.5, np.float32), _constant("z", 3, np.uint8)]
    return _chain(n, ("QuantizeLinear", [".", "s", "z"]), ("DequantizeLinear", [".", "s", "z"]), constants=constants)


@family("chain of Dropout")
def _(n: int) -> ModelProto:
    return _chain(n, ("Dropout", ["."]), ("Sin", ["."]))


@family("chain of MatMul and Add")
def _(n: int) -> ModelProto:
    constants = [_constant("w", np.eye(4), np.float32), _constant("b", np.ones(4), np.float32)]
    return _chain(n, ("MatMul", [".", "w"]), ("Add", [".", "b"]), of=[_value("x", ["N", 4])], constants=constants)


@family("chain of Conv and Relu")
def _(n: int) -> ModelProto:
    constants = [_constant("w", np.ones((2, 2, 3, 3)), np.float32)]
    return _chain(n, ("Conv", [".", "w"], {"pads": [1, 1, 1, 1]}), ("Relu", ["."]),
                  of=[_value("x", ["N", 2, "H", "W"])], constants=constants)  # fmt: skip


@family("chain of MaxPool by 2")
def _(n: int) -> ModelProto:
    return _chain(n, ("MaxPool", ["."], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}),
                  of=[_value("x", ["N", 2, "L"])])  # fmt: skip


@family("chain of NonZero and Gather")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("NonZero", [last], [f"z{i}"]))
        nodes.append(helper.make_node("Squeeze", [f"z{i}", "a"], [f"s{i}"]))
        nodes.append(helper.make_node("Gather", [last, f"s{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last, ["K"])], [_constant("a", [0])])


@family("chain of Add of new inputs")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("Add", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    return _model(nodes, [_value("x"), *(_value(f"w{i}") for i in range(n))], [_value(last)])


@family("chain of MatMul that equates dims")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    inputs = [_value(f"w{i}", [f"A{i}", f"B{i}"]) for i in range(n)]
    return _model(nodes, [_value("x", ["N", "K"]), *inputs], [_value(last, ["P", "Q"])])


# dims


def _dims(n: int, *nodes: tuple[Any, ...], constants: Iterable[TensorProto] = ()) -> ModelProto:
    """A chain on the first dim of an input."""
    model = _chain(n, *nodes, of=[_value("data", ["N", "M"])], constants=constants, result=_value("y", [], INT64))
    before = [helper.make_node("Shape", ["data"], ["s"]), helper.make_node("Gather", ["s", "at0"], ["x"], axis=0),
              helper.make_node("Gather", ["s", "at1"], ["m"], axis=0)]  # fmt: skip
    nodes_after = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*before, *nodes_after])
    model.graph.initializer.extend([_constant("at0", 0), _constant("at1", 1)])
    return model


@family("dims: Div by 2")
def _(n: int) -> ModelProto:
    return _dims(n, ("Div", [".", "two"]), constants=[_constant("two", 2)])


@family("dims: Add 1")
def _(n: int) -> ModelProto:
    return _dims(n, ("Add", [".", "one"]), constants=[_constant("one", 1)])


@family("dims: Add M, Sub N")
def _(n: int) -> ModelProto:
    return _dims(n, ("Add", [".", "m"]), ("Sub", [".", "x"]))


@family("dims: Mul by M")
def _(n: int) -> ModelProto:
    return _dims(n, ("Mul", [".", "m"]))


@family("dims: Mul by 2, Add 1, Div by 2")
def _(n: int) -> ModelProto:
    constants = [_constant("one", 1), _constant("two", 2)]
    return _dims(n, ("Mul", [".", "two"]), ("Add", [".", "one"]), ("Div", [".", "two"]), constants=constants)


@family("dims: Add 1, Div by 2")
def _(n: int) -> ModelProto:
    constants = [_constant("one", 1), _constant("two", 2)]
    return _dims(n, ("Add", [".", "one"]), ("Div", [".", "two"]), constants=constants)


@family("dims: Max and Min")
def _(n: int) -> ModelProto:
    return _dims(n, ("Max", [".", "m"]), ("Min", [".", "five"]), constants=[_constant("five", 5)])


@family("dims: Max, Add 1")
def _(n: int) -> ModelProto:
    return _dims(n, ("Max", [".", "m"]), ("Add", [".", "one"]), constants=[_constant("one", 1)])


@family("dims: Mod and Add")
def _(n: int) -> ModelProto:
    return _dims(n, ("Mod", [".", "m"]), ("Add", [".", "x"]))


@family("dims: Cast, Mul 0.5, Cast")
def _(n: int) -> ModelProto:
    return _dims(n, ("Cast", ["."], {"to": TensorProto.FLOAT}), ("Mul", [".", "h"]), ("Floor", ["."]),
                 ("Cast", ["."], {"to": INT64}), constants=[_constant("h", 0.5, np.float32)])  # fmt: skip


@family("dims: Where")
def _(n: int) -> ModelProto:
    nodes, last = [], "d0"
    for i in range(n // 2):
        nodes.append(helper.make_node("Equal", [last, "one"], [f"c{i}"]))
        nodes.append(helper.make_node("Where", [f"c{i}", "d1", last], [f"h{i}"]))
        last = f"h{i}"
    before = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Split", ["s"], ["d0", "d1"], num_outputs=2)]
    return _model([*before, *nodes], [_value("x", ["N", "M"])], [_value(last, [1], INT64)], [_constant("one", [1])])


@family("Shape, Gather, Concat, Reshape of one value")
def _(n: int) -> ModelProto:
    nodes, outputs = [], []
    for i in range(n // 6):
        nodes += [
            helper.make_node("Shape", ["x"], [f"s{i}"]),
            helper.make_node("Gather", [f"s{i}", "at"], [f"d{i}"], axis=0),
            helper.make_node("Unsqueeze", [f"d{i}", "axis"], [f"u{i}"]),
            helper.make_node("Concat", [f"u{i}", "rest"], [f"t{i}"], axis=0),
            helper.make_node("LeakyRelu", ["x"], [f"r{i}"], alpha=i / n),
            helper.make_node("Reshape", [f"r{i}", f"t{i}"], [f"y{i}"]),
        ]
        outputs.append(_value(f"y{i}", ["N", "K"]))
    constants = [_constant("at", 0), _constant("axis", [0]), _constant("rest", [-1])]
    return _model(nodes, [_value("x", ["N", "M", 4])], outputs, constants)


@family("Shape, Gather, Add of many inputs")
def _(n: int) -> ModelProto:
    nodes, last = [], "zero"
    for i in range(n // 3):
        nodes += [
            helper.make_node("Shape", [f"x{i}"], [f"s{i}"]),
            helper.make_node("Gather", [f"s{i}", "zero"], [f"d{i}"], axis=0),
            helper.make_node("Max", [last, f"d{i}"], [f"h{i}"]),
        ]
        last = f"h{i}"
    inputs = [_value(f"x{i}", [f"N{i}"]) for i in range(n // 3)]
    return _model(nodes, inputs, [_value(last, [], INT64)], [_constant("zero", 0)])


@family("Range of many dims")
def _(n: int) -> ModelProto:
    nodes, outputs = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Squeeze", ["s"], ["d"])], []
    for i in range(n // 3):
        nodes += [
            helper.make_node("Add", ["d", f"c{i}"], [f"e{i}"]),
            helper.make_node("Range", ["zero", f"e{i}", "one"], [f"r{i}"]),
            helper.make_node("Expand", ["w", f"v{i}"], [f"y{i}"]),
            helper.make_node("Unsqueeze", [f"e{i}", "axis"], [f"v{i}"]),
        ]
        nodes[-2], nodes[-1] = nodes[-1], nodes[-2]
        outputs += [_value(f"y{i}", ["K"]), _value(f"r{i}", ["K"], INT64)]
    constants = [_constant("zero", 0), _constant("one", 1), _constant("axis", [0]), _constant("w", [1.0], np.float32)]
    constants += [_constant(f"c{i}", i) for i in range(n // 3)]
    return _model(nodes, [_value("x")], outputs, constants)


# wide


@family("one wide Concat")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return _model(nodes, [_value("x")], [_value("y", ["M"])])


@family("one wide Concat of different dims")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return _model(nodes, [_value(f"x{i}", [f"N{i}"]) for i in range(n)], [_value("y", ["M"])])


@family("one wide Concat of dims")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Shape", [f"x{i}"], [f"h{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"h{i}" for i in range(n)], ["y"], axis=0))
    return _model(nodes, [_value(f"x{i}", [f"N{i}"]) for i in range(n)], [_value("y", ["M"], INT64)])


@family("one Split into many")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Split", ["x"], [f"h{i}" for i in range(n)], axis=0, num_outputs=n)]
    nodes += [helper.make_node("Relu", [f"h{i}"], [f"y{i}"]) for i in range(n)]
    return _model(nodes, [_value("x", [2 * n])], [_value(f"y{i}", [2]) for i in range(n)])


@family("Split into many, then Concat")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Split", ["x"], [f"h{i}" for i in range(n)], axis=0, num_outputs=n)]
    nodes += [helper.make_node("Relu", [f"h{i}"], [f"r{i}"]) for i in range(n)]
    nodes.append(helper.make_node("Concat", [f"r{i}" for i in range(n)], ["y"], axis=0))
    return _model(nodes, [_value("x", [2 * n])], [_value("y", [2 * n])])


@family("one wide Sum")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("Sum", [f"h{i}" for i in range(n)], ["y"]))
    return _model(nodes, [_value("x")], [_value("y", ["M"])])


@family("many inputs and outputs")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)]
    return _model(nodes, [_value(f"x{i}", [f"N{i}"]) for i in range(n)], [_value(f"y{i}", [f"N{i}"]) for i in range(n)])


@family("one long sequence")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("LeakyRelu", ["x"], [f"h{i}"], alpha=i / n) for i in range(n)]
    nodes.append(helper.make_node("SequenceConstruct", [f"h{i}" for i in range(n)], ["s"]))
    nodes.append(helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0))
    return _model(nodes, [_value("x")], [_value("y", ["M"])])


@family("chain of SequenceInsert")
def _(n: int) -> ModelProto:
    nodes, last = [helper.make_node("SequenceEmpty", [], ["e"], dtype=TensorProto.FLOAT)], "e"
    for i in range(n):
        nodes.append(helper.make_node("SequenceInsert", [last, "x"], [f"h{i}"]))
        last = f"h{i}"
    nodes.append(helper.make_node("ConcatFromSequence", [last], ["y"], axis=0))
    return _model(nodes, [_value("x")], [_value("y", ["M"])])


@family("random dag of Add")
def _(n: int) -> ModelProto:
    draw = np.random.default_rng(0)
    nodes, names = [], ["x"]
    for i in range(n):
        a, b = (names[int(draw.integers(max(0, len(names) - 50), len(names)))] for _ in range(2))
        names.append(f"h{i}")
        nodes.append(helper.make_node("Add", [a, b], [f"h{i}"]))
    return _model(nodes, [_value("x")], [_value(names[-1])])


@family("constants to fold")
def _(n: int) -> ModelProto:
    model = _chain(n, ("Add", [".", "w"]), of=[], constants=[_constant("x", [1.0], np.float32),
                   _constant("w", [2.0], np.float32)])  # fmt: skip
    model.graph.node.append(helper.make_node("Add", ["in", "y"], ["z"]))
    del model.graph.output[:]
    model.graph.input.append(_value("in"))
    model.graph.output.append(_value("z"))
    return model


@family("layers of a transformer")
def _(n: int) -> ModelProto:
    return transformer(n)


# subgraphs and functions


def _branch(name: str, nodes: Sequence[NodeProto]) -> GraphProto:
    return helper.make_graph(list(nodes), name, [], [_value(nodes[-1].output[0], None)])


@family("chain of If")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("If", ["c"], [f"h{i}"],
            then_branch=_branch(f"t{i}", [helper.make_node("Sin", [last], [f"t{i}"])]),
            else_branch=_branch(f"e{i}", [helper.make_node("Cos", [last], [f"e{i}"])])))  # fmt: skip
        last = f"h{i}"
    return _model(nodes, [_value("x"), _value("c", [], TensorProto.BOOL)], [_value(last)])


@family("chain of If that can be inlined")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("If", ["c"], [f"h{i}"],
            then_branch=_branch(f"t{i}", [helper.make_node("Sin", [last], [f"t{i}"])]),
            else_branch=_branch(f"e{i}", [helper.make_node("Cos", [last], [f"e{i}"])])))  # fmt: skip
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last)], [_constant("c", True, np.bool_)])


@family("If with long branches")
def _(n: int) -> ModelProto:
    branches = []
    for part in "te":
        nodes, last = [], "x"
        for i in range(n // 2):
            nodes.append(helper.make_node("Sin", [last], [f"{part}{i}"]))
            last = f"{part}{i}"
        branches.append(_branch(part, nodes))
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    return _model([node], [_value("x"), _value("c", [], TensorProto.BOOL)], [_value("y")])


@family("towers of 20 nested If")
def _(n: int) -> ModelProto:
    nodes, outputs = [], []
    for i in range(max(1, n // 60)):
        inner = [helper.make_node("LeakyRelu", ["x"], [f"b{i}"], alpha=i / n)]
        for depth in range(20):
            name = f"i{i}_{depth}"
            other = _branch("e", [helper.make_node("Cos", ["x"], [f"{name}e"])])
            inner = [helper.make_node("If", ["c"], [name], then_branch=_branch("t", inner), else_branch=other)]
        nodes += inner
        outputs.append(_value(inner[0].output[0], None))
    return _model(nodes, [_value("x"), _value("c", [], TensorProto.BOOL)], outputs)


@family("many Loops")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 4):
        body = helper.make_graph(
            [helper.make_node("Identity", ["on"], ["more"]), helper.make_node("Sin", ["s"], ["r"]),
             helper.make_node("Add", ["r", last], ["t"])], "body",
            [_value("k", [], INT64), _value("on", [], TensorProto.BOOL), _value("s", None)],
            [_value("more", [], TensorProto.BOOL), _value("t", None)])  # fmt: skip
        nodes.append(helper.make_node("Loop", ["trips", "", last], [f"h{i}"], body=body))
        last = f"h{i}"
    return _model(nodes, [_value("x"), _value("trips", [], INT64)], [_value(last)])


@family("Loop with a long body")
def _(n: int) -> ModelProto:
    nodes, last = [helper.make_node("Identity", ["on"], ["more"])], "s"
    for i in range(n):
        nodes.append(helper.make_node("Sin", [last], [f"r{i}"]))
        last = f"r{i}"
    body = helper.make_graph(
        nodes, "body", [_value("k", [], INT64), _value("on", [], TensorProto.BOOL), _value("s", None)],
        [_value("more", [], TensorProto.BOOL), _value(last, None)])  # fmt: skip
    loop = helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)
    return _model([loop], [_value("x"), _value("trips", [], INT64)], [_value("y")])


def _function(name: str, *nodes: NodeProto) -> Any:
    return helper.make_function("local", name, ["a"], ["b"], list(nodes), [helper.make_opsetid("", 21)])


@family("many functions, each called once")
def _(n: int) -> ModelProto:
    functions, nodes, last = [], [], "x"
    for i in range(n // 3):
        functions.append(
            _function(f"F{i}", helper.make_node("Sin", ["a"], ["c"]), helper.make_node("Cos", ["c"], ["b"]))
        )
        nodes.append(helper.make_node(f"F{i}", [last], [f"h{i}"], domain="local"))
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last)], functions=functions)


@family("one function called many times")
def _(n: int) -> ModelProto:
    function = _function("F", helper.make_node("Sin", ["a"], ["c"]), helper.make_node("Cos", ["c"], ["b"]))
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("F", [last], [f"h{i}"], domain="local"))
        last = f"h{i}"
    return _model(nodes, [_value("x")], [_value(last)], functions=[function])


@family("functions that call the next")
def _(n: int) -> ModelProto:
    count = n // 2
    functions = [
        _function(f"F{i}", helper.make_node("Sin", ["a"], ["c"]),
                  helper.make_node(f"F{i + 1}", ["c"], ["b"], domain="local") if i + 1 < count
                  else helper.make_node("Cos", ["c"], ["b"]))
        for i in range(count)
    ]  # fmt: skip
    for function in functions:
        function.opset_import.append(helper.make_opsetid("local", 1))
    return _model([helper.make_node("F0", ["x"], ["y"], domain="local")], [_value("x")], [_value("y")],
                  functions=functions)  # fmt: skip
