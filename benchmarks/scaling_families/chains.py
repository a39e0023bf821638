"""Long chains of nodes."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto, helper

from scaling_families.build import BIG, INT64, chain, constant, family, model, value


@family("chain of Identity")
def _(n: int) -> ModelProto:
    return chain(n, ("Identity", ["."]))


@family("chain of Sin")
def _(n: int) -> ModelProto:
    return chain(n, ("Sin", ["."]))


@family("chain of Relu and Neg")
def _(n: int) -> ModelProto:
    return chain(n, ("Relu", ["."]), ("Neg", ["."]))


@family("chain of Neg")
def _(n: int) -> ModelProto:
    return chain(n, ("Neg", ["."]))


@family("chain of Relu")
def _(n: int) -> ModelProto:
    return chain(n, ("Relu", ["."]))


@family("chain of Add 0 and Mul 1")
def _(n: int) -> ModelProto:
    constants = [constant("zero", 0), constant("one", 1)]
    return chain(n, ("Add", [".", "zero"]), ("Mul", [".", "one"]), of=[value("x", ["N"], INT64)],
                  constants=constants, result=value("y", ["N"], INT64))  # fmt: skip


@family("chain of Add of constants")
def _(n: int) -> ModelProto:
    return chain(n, ("Add", [".", "two"]), of=[value("x", ["N"], INT64)], constants=[constant("two", 2)],
                  result=value("y", ["N"], INT64))  # fmt: skip


@family("chain of Gather by one run-time index")
def _(n: int) -> ModelProto:
    inputs = [value("x", ["N"]), value("i", ["M"], INT64)]
    return chain(n, ("Gather", [".", "i"], {"axis": 0}), of=inputs)


@family("chain of Gather by many run-time indices")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("Gather", [last, f"i{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    inputs = [value("x", ["N"]), *(value(f"i{i}", [f"M{i}"], INT64) for i in range(n))]
    return model(nodes, inputs, [value(last, ["K"])])


@family("chain of Gather by a constant")
def _(n: int) -> ModelProto:
    return chain(n, ("Gather", [".", "i"], {"axis": 0}), of=[value("x", [4, "N"])],
                  constants=[constant("i", [1, 0, 3, 2])])  # fmt: skip


@family("chain of GatherElements")
def _(n: int) -> ModelProto:
    inputs = [value("x", ["N"]), value("i", ["N"], INT64)]
    return chain(n, ("GatherElements", [".", "i"], {"axis": 0}), of=inputs)


@family("chain of Slice")
def _(n: int) -> ModelProto:
    constants = [constant("s", [1]), constant("e", [BIG]), constant("a", [0])]
    return chain(n, ("Slice", [".", "s", "e", "a"]), constants=constants)


@family("chain of Slice by run-time bounds")
def _(n: int) -> ModelProto:
    inputs = [value("x"), value("s", [1], INT64), value("e", [1], INT64)]
    return chain(n, ("Slice", [".", "s", "e"]), of=inputs)


@family("chain of Reshape")
def _(n: int) -> ModelProto:
    constants = [constant("two", [-1, 2]), constant("one", [-1])]
    return chain(n, ("Reshape", [".", "two"]), ("Reshape", [".", "one"]), constants=constants)


@family("chain of Reshape and Sin")
def _(n: int) -> ModelProto:
    constants = [constant("two", [-1, 2]), constant("one", [-1])]
    return chain(n, ("Reshape", [".", "two"]), ("Sin", ["."]), ("Reshape", [".", "one"]), ("Sin", ["."]),
                  constants=constants)  # fmt: skip


@family("chain of Transpose")
def _(n: int) -> ModelProto:
    return chain(n, ("Transpose", ["."], {"perm": [1, 2, 0]}), of=[value("x", ["N", "M", "K"])])


@family("chain of Transpose and Sin")
def _(n: int) -> ModelProto:
    return chain(n, ("Transpose", ["."], {"perm": [1, 2, 0]}), ("Sin", ["."]), of=[value("x", ["N", "M", "K"])])


@family("chain of Unsqueeze and Squeeze")
def _(n: int) -> ModelProto:
    return chain(n, ("Unsqueeze", [".", "a"]), ("Squeeze", [".", "a"]), constants=[constant("a", [0])])


@family("chain of Unsqueeze, Sin, Squeeze, Sin")
def _(n: int) -> ModelProto:
    return chain(n, ("Unsqueeze", [".", "a"]), ("Sin", ["."]), ("Squeeze", [".", "a"]), ("Sin", ["."]),
                  constants=[constant("a", [0])])  # fmt: skip


@family("chain of Cast")
def _(n: int) -> ModelProto:
    return chain(n, ("Cast", ["."], {"to": TensorProto.DOUBLE}), ("Cast", ["."], {"to": TensorProto.FLOAT}))


@family("chain of Cast and Sin")
def _(n: int) -> ModelProto:
    double, single = {"to": TensorProto.DOUBLE}, {"to": TensorProto.FLOAT}
    return chain(n, ("Cast", ["."], double), ("Sin", ["."]), ("Cast", ["."], single), ("Sin", ["."]))


@family("chain of Where")
def _(n: int) -> ModelProto:
    inputs = [value("x"), value("c", ["N"], TensorProto.BOOL)]
    return chain(n, ("Where", ["c", ".", "x"]), of=inputs)


@family("chain of Where by many conditions")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Greater", ["x", f"t{i}"], [f"c{i}"]))
        nodes.append(helper.make_node("Where", [f"c{i}", last, "x"], [f"h{i}"]))
        last = f"h{i}"
    constants = [constant(f"t{i}", i, np.float32) for i in range(n // 2)]
    return model(nodes, [value("x")], [value(last)], constants)


@family("chain of Not")
def _(n: int) -> ModelProto:
    nodes = [helper.make_node("Not", [f"h{i}" if i else "x"], [f"h{i + 1}"]) for i in range(n)]
    return model(nodes, [value("x", ["N"], TensorProto.BOOL)], [value(f"h{n}", ["N"], TensorProto.BOOL)])


@family("chain of Concat")
def _(n: int) -> ModelProto:
    return chain(n, ("Concat", [".", "x"], {"axis": 0}))


@family("chain of Concat of one row")
def _(n: int) -> ModelProto:
    return chain(n, ("Concat", [".", "w"], {"axis": 0}), of=[value("x", ["N", 2])],
                  constants=[constant("w", [[1, 2]], np.float32)])  # fmt: skip


@family("chain of Pad")
def _(n: int) -> ModelProto:
    return chain(n, ("Pad", [".", "p"]), constants=[constant("p", [0, 1])])


@family("chain of Split and Concat")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 2):
        nodes.append(helper.make_node("Split", [last], [f"a{i}", f"b{i}"], axis=0, num_outputs=2))
        nodes.append(helper.make_node("Concat", [f"b{i}", f"a{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last)])


@family("chain of Expand")
def _(n: int) -> ModelProto:
    inputs = [value("x"), value("t", [1], INT64)]
    return chain(n, ("Expand", [".", "t"]), of=inputs)


@family("chain of Flatten")
def _(n: int) -> ModelProto:
    return chain(n, ("Flatten", ["."]), ("Unsqueeze", [".", "a"]), of=[value("x", ["N", "M"])],
                  constants=[constant("a", [1])])  # fmt: skip


@family("chain of ScatterND")
def _(n: int) -> ModelProto:
    inputs = [value("x"), value("i", ["M", 1], INT64), value("u", ["M"])]
    return chain(n, ("ScatterND", [".", "i", "u"]), of=inputs)


@family("chain of ReduceSum and Unsqueeze")
def _(n: int) -> ModelProto:
    return chain(n, ("ReduceSum", [".", "a"], {"keepdims": 0}), ("Unsqueeze", [".", "a"]),
                  of=[value("x", ["N", "M"])], constants=[constant("a", [1])])  # fmt: skip


@family("chain of QuantizeLinear and DequantizeLinear")
def _(n: int) -> ModelProto:
    constants = [constant("s", 0.5, np.float32), constant("z", 3, np.uint8)]
    return chain(n, ("QuantizeLinear", [".", "s", "z"]), ("DequantizeLinear", [".", "s", "z"]), constants=constants)


@family("chain of Dropout")
def _(n: int) -> ModelProto:
    return chain(n, ("Dropout", ["."]), ("Sin", ["."]))


@family("chain of MatMul and Add")
def _(n: int) -> ModelProto:
    constants = [constant("w", np.eye(4), np.float32), constant("b", np.ones(4), np.float32)]
    return chain(n, ("MatMul", [".", "w"]), ("Add", [".", "b"]), of=[value("x", ["N", 4])], constants=constants)


@family("chain of Conv and Relu")
def _(n: int) -> ModelProto:
    constants = [constant("w", np.ones((2, 2, 3, 3)), np.float32)]
    return chain(n, ("Conv", [".", "w"], {"pads": [1, 1, 1, 1]}), ("Relu", ["."]),
                  of=[value("x", ["N", 2, "H", "W"])], constants=constants)  # fmt: skip


@family("chain of MaxPool by 2")
def _(n: int) -> ModelProto:
    return chain(n, ("MaxPool", ["."], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}),
                  of=[value("x", ["N", 2, "L"])])  # fmt: skip


@family("chain of NonZero and Gather")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n // 3):
        nodes.append(helper.make_node("NonZero", [last], [f"z{i}"]))
        nodes.append(helper.make_node("Squeeze", [f"z{i}", "a"], [f"s{i}"]))
        nodes.append(helper.make_node("Gather", [last, f"s{i}"], [f"h{i}"], axis=0))
        last = f"h{i}"
    return model(nodes, [value("x")], [value(last, ["K"])], [constant("a", [0])])


@family("chain of Add of new inputs")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("Add", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    return model(nodes, [value("x"), *(value(f"w{i}") for i in range(n))], [value(last)])


@family("chain of MatMul that equates dims")
def _(n: int) -> ModelProto:
    nodes, last = [], "x"
    for i in range(n):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    inputs = [value(f"w{i}", [f"A{i}", f"B{i}"]) for i in range(n)]
    return model(nodes, [value("x", ["N", "K"]), *inputs], [value(last, ["P", "Q"])])
