"""Each edit on odd models: the result loads and computes the same, or there is one refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import GatherInferError, compose, extract, outputs, rename
from gather_infer.editing import EditResult
from tests.editing.editing_models import interface, parsed, run, same_bits

NEXT = parsed("g (float[K, 4] u) => (float[K, 4] v) { v = Abs(u) }")

COMMANDS: dict[str, Callable[[ModelProto], EditResult]] = {
    "extract": lambda model: extract(model, outputs="y"),
    "extract, cut": lambda model: extract(model, inputs="a", outputs="y"),
    "outputs, add": lambda model: outputs(model, add="a"),
    "outputs, keep": lambda model: outputs(model, keep="y"),
    "rename": lambda model: rename(model, inputs="x=data", outputs="y=result", dims="N=rows"),
    "compose, first": lambda model: compose(model, NEXT, mapping="y=u"),
    "compose, second": lambda model: compose(NEXT, model, mapping="v=x"),
    "compose, twice": lambda model: compose(model, model, mapping="y=x"),
}


def plain(body: str = "a = Relu(x) y = Neg(a)", interface: str = "(float[N, 4] x) => (float[N, 4] y)") -> ModelProto:
    return parsed(f"g {interface} {{ {body} }}")


def _initializer(name: str, value: Any) -> TensorProto:
    return numpy_helper.from_array(np.asarray(value, np.float32), name)


def _with(
    model: ModelProto, *held: TensorProto, inputs: tuple[str, ...] = (), results: tuple[str, ...] = ()
) -> ModelProto:
    model.graph.initializer.extend(held)
    model.graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in inputs)
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in results)
    return model


def _unnamed_nodes() -> ModelProto:
    model = plain()
    for node in model.graph.node:
        node.name = ""
    return model


def _equal_names() -> ModelProto:
    model = plain()
    for node in model.graph.node:
        node.name = "same"
    return model


def _empty_names() -> ModelProto:
    model = plain("a = Clip(x) y = Neg(a)")
    model.graph.node[0].input.extend(["", "most"])
    model.graph.initializer.append(_initializer("most", 3.0))
    return model


def _duplicate_initializer() -> ModelProto:
    return _with(plain("a = Add(x, w) y = Neg(a)"), _initializer("w", [1, 2, 3, 4]), _initializer("w", [1, 2, 3, 4]))


def _duplicate_value() -> ModelProto:
    model = plain("a = Relu(x) a2 = Abs(x) y = Neg(a)")
    model.graph.node[1].output[0] = "a"
    return model


def _overload() -> ModelProto:
    model = plain()
    node = model.graph.node[0]
    node.op_type, node.domain, node.overload = "act", "f", "two"
    model.ir_version = 10
    model.opset_import.append(helper.make_opsetid("f", 1))
    for overload, operator in (("one", "Exp"), ("two", "Relu")):
        body = [helper.make_node(operator, ["p"], ["q"])]
        function = helper.make_function(
            "f", "act", ["p"], ["q"], body, [helper.make_opsetid("", 18)], overload=overload
        )
        model.functions.append(function)
    return model


def _function_in_function(in_body: bool = False) -> ModelProto:
    model = plain()
    node = model.graph.node[0]
    node.op_type, node.domain = "outer", "f"
    model.opset_import.append(helper.make_opsetid("f", 1))
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    call = helper.make_node("inner", ["p"], ["q"], domain="f")
    if in_body:
        branch = helper.make_graph(
            [helper.make_node("inner", ["p"], ["r"], domain="f")],
            "t",
            [],
            [helper.make_tensor_value_info("r", 1, None)],
        )
        truth = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True]))
        body = [truth, helper.make_node("If", ["c"], ["q"], then_branch=branch, else_branch=branch)]
    else:
        body = [call]
    model.functions.append(helper.make_function("f", "outer", ["p"], ["q"], body, imports))
    model.functions.append(
        helper.make_function("f", "inner", ["p"], ["q"], [helper.make_node("Relu", ["p"], ["q"])], imports)
    )
    return model


def _sequence() -> ModelProto:
    return plain(
        "a = Relu(x) s = SequenceConstruct(a, x) zero = Constant<value_int = 0>() f = SequenceAt(s, zero) y = Neg(f)"
    )


def _body_of_the_same_names() -> ModelProto:
    """A branch that captures `a`, and whose own value has the name of a value of the other model."""
    model = plain("a = Relu(x) c = Constant<value_int = 1>() t = Cast<to = 9>(c) y = Identity(a)")
    branch = onnx.parser.parse_graph("t () => (float[N, 4] r) { u = Neg(a) r = Abs(u) }")
    model.graph.node[3].CopyFrom(helper.make_node("If", ["t"], ["y"], then_branch=branch, else_branch=branch))
    return model


def _sparse() -> ModelProto:
    model = plain("a = Add(x, w) y = Neg(a)")
    values, indices = numpy_helper.from_array(np.array([2.0], np.float32), "w"), numpy_helper.from_array(np.array([3]))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    return model


def _quantized() -> ModelProto:
    model = _with(plain(), _initializer("scale", 0.5))
    for name in ("x", "a", "y"):
        annotation = model.graph.quantization_annotation.add(tensor_name=name)
        annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    return model


MODELS: dict[str, Callable[[], ModelProto]] = {
    "nodes without names": _unnamed_nodes,
    "nodes of one name": _equal_names,
    "inputs that are left out": _empty_names,
    "an initializer twice": _duplicate_initializer,
    "a value twice": _duplicate_value,
    "a function with overloads": _overload,
    "a function that calls another": _function_in_function,
    "a function with a body that calls another": lambda: _function_in_function(in_body=True),
    "a sequence": _sequence,
    "captured values": _body_of_the_same_names,
    "a sparse initializer": _sparse,
    "annotations": _quantized,
    "a default": lambda: _with(plain("a = Add(x, w) y = Neg(a)"), _initializer("w", [1, 2, 3, 4]), inputs=("w",)),
    "a constant output": lambda: _with(plain("a = Add(x, w) y = Neg(a)"), _initializer("w", [1] * 4), results=("w",)),
    "a default that is an output": lambda: _with(
        plain("a = Add(x, w) y = Neg(a)"), _initializer("w", [1] * 4), inputs=("w",), results=("w",)
    ),
    "an input that is an output": lambda: plain(interface="(float[N, 4] x) => (float[N, 4] y, float[N, 4] x)"),
    "an output twice": lambda: plain(interface="(float[N, 4] x) => (float[N, 4] y, float[N, 4] y)"),
    "dead nodes": lambda: plain("a = Relu(x) d = Exp(a) y = Neg(a)"),
    "no types": lambda: plain(interface="(x) => (y)"),
}
REFUSED = {
    # model, command: message
    **{("an initializer twice", command): "w is defined 2 times" for command in COMMANDS},
    **{("a value twice", command): "a is defined 2 times" for command in COMMANDS},
    ("a sequence", "extract, cut"): "the outputs also need the inputs x",
    ("an input that is an output", "rename"): "'x' is an input and an output",
    ("no types", "extract, cut"): "the element type of a is unknown",
    ("no types", "outputs, add"): "the element type of a is unknown",
    ("no types", "rename"): "no dim 'N'",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", MODELS)
def test_an_edit_of_an_odd_model(name: str, command: str) -> None:
    model = MODELS[name]()
    before = model.SerializeToString()
    feed = np.array([[1, -2, 3, -0.5]], np.float32)
    runs = _runs(model, feed)
    try:
        result = COMMANDS[command](model)
    except GatherInferError as error:
        assert "\n" not in str(error) and REFUSED[name, command] in str(error)
        return
    assert model.SerializeToString() == before
    assert (name, command) not in REFUSED
    if runs is None or result.refused:
        return
    known = runs | {"x": feed, "data": feed, "result": runs["y"]}
    feeds = {
        value: known[value]
        for value in interface(result.proto)[0]
        if value in {"x", "data", "a", "u"} and value in known
    }
    if "compose, first" in command:
        known["v"] = np.abs(runs["y"])
    if command in ("compose, second", "compose, twice"):
        inner = np.abs(feed) if "second" in command else runs["y"]
        feeds = {"u": feed} if "second" in command else {"x": feed}
        later = _runs(model, inner)
        assert later is not None
        own = [value.name for value in result.proto.graph.output]
        known = {each: later[each.split("/")[-1]] for each in own if each.split("/")[-1] in later}
    found = dict(zip(interface(result.proto)[1], run(result.proto, feeds), strict=True))
    compared = [each for each in found if each in known]
    assert compared
    for each in compared:
        if command == "compose, twice" and "/" not in each:
            continue  # an output of the first of both models
        if each.split("/")[-1] != "v":
            assert same_bits(found[each], known[each]), each


def _runs(model: ModelProto, feed: Any) -> dict[str, Any] | None:
    """The values `a` and of outputs in onnxruntime; None if it does not load the model."""
    shown = ModelProto.FromString(model.SerializeToString())
    if "a" not in [value.name for value in shown.graph.output]:
        shown.graph.output.add(name="a")
    try:
        return dict(zip(interface(shown)[1], run(shown, {"x": feed}), strict=True))
    except Exception:  # noqa: BLE001  (the runtime is the judge)
        return None
