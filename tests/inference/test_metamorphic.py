"""The same model said differently has the same facts: renamed, shuffled, wrapped, inlined, bound before or after."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, helper, numpy_helper

from gather_infer import Inference, infer
from gather_infer.symbolic import substitute, symbol
from gather_infer.tensor import SymbolicTensor, Value
from tests.inference.models import model

FIXTURES = Path(__file__).parents[2] / "fixtures"
SMALL = ("bert-dynamo", "bert-torchscript", "convnet-torchscript", "dlrm-dynamo", "embedding-bag-torchscript",
         "gpt2-kv-torchscript", "lstm-tagger-torchscript", "vit-any-size-dynamo", "detector-nonzero-dynamo")  # fmt: skip
HAND = {
    "chain": """(float[N, S] x) => (float[a, b] y) { s = Shape(x) i = Constant<value = int64[2] {1, 0}>() t = Gather(s, i)
      r = Reshape(x, t) m1 = Constant<value = int64[1] {-1}>() f = Reshape(r, m1) c = Concat<axis=0>(r, r) y = Abs(c) }""",
    "slices": """(float[N, S] x) => (float[a, b] y) { one = Constant<value = int64[1] {1}>() n = Shape(x) h = Div(n, two)
      two = Constant<value = int64[1] {2}>() st = Constant<value = int64[2] {0, 0}>() y = Slice(x, st, h) z = NonZero(y)
      q = ReduceSum<keepdims=0>(x, one) w = Concat<axis=0>(q, q) }""",
}


def load(name: str) -> ModelProto:
    if name in HAND:
        return model(HAND[name])
    return onnx.load(FIXTURES / f"{name}.onnx", load_external_data=False)


NAMES = [*SMALL, *HAND]


def facts(inference: Inference, names: Iterable[str]) -> dict[str, str]:
    """name -> fact; generated symbols are numbered in order of appearance, since their order of making may change."""
    numbers: dict[str, str] = {}
    found = {}
    for name in names:
        value = inference[name]
        if isinstance(value, SymbolicTensor) and value.shape is not None:
            for dim in value.shape:
                for generated in sorted(dim.symbols & inference.causes.keys()) if not isinstance(dim, int) else ():
                    numbers.setdefault(generated, f"generated.{len(numbers)}")
        found[name] = _renamed(value, numbers)
    return found


def _renamed(value: Value, numbers: dict[str, str]) -> str:
    if not isinstance(value, SymbolicTensor) or value.shape is None:
        return str(value)
    to = {old: symbol(new) for old, new in numbers.items()}
    return str(SymbolicTensor(value.dtype, tuple(substitute(d, to) for d in value.shape)))


def values_of(proto: ModelProto) -> list[str]:
    return [name for node in proto.graph.node for name in node.output if name]


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_nodes_does_not_matter(name: str) -> None:
    proto = load(name)
    nodes = list(proto.graph.node)
    names = values_of(proto)
    expected = facts(infer(proto), names)
    for seed in range(2):
        shuffled = ModelProto()
        shuffled.CopyFrom(proto)
        del shuffled.graph.node[:]
        shuffled.graph.node.extend(random.Random(seed).sample(nodes, len(nodes)))
        assert facts(infer(shuffled), names) == expected


@pytest.mark.parametrize("name", NAMES)
def test_names_do_not_matter(name: str) -> None:
    proto = load(name)
    names = values_of(proto)
    expected = facts(infer(proto), names)
    renamed = ModelProto()
    renamed.CopyFrom(proto)
    _rename(renamed.graph, {n for n in names if n not in {o.name for o in proto.graph.output}})
    inference = infer(renamed)
    to = {n if n in inference else f"£{n}": n for n in names}
    assert {to[n]: f for n, f in facts(inference, to).items()} == expected


def _rename(graph: GraphProto, names: set[str]) -> None:
    def new(name: str) -> str:
        return f"£{name}" if name in names else name

    for index, node in enumerate(graph.node):
        node.name = f"renamed/{index}"
        node.input[:] = map(new, node.input)
        node.output[:] = map(new, node.output)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _rename(attribute.g, names)
    for value in (*graph.output, *graph.value_info):
        value.name = new(value.name)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_node_is_an_initializer(name: str) -> None:
    proto = load(name)
    names = values_of(proto)
    expected = facts(infer(proto), names)
    moved = ModelProto()
    moved.CopyFrom(proto)
    kept = []
    for node in proto.graph.node:
        values = [a.t for a in node.attribute if node.op_type == "Constant" and a.name == "value"]
        if values:
            moved.graph.initializer.add().CopyFrom(values[0])
            moved.graph.initializer[-1].name = node.output[0]
        else:
            kept.append(node)
    del moved.graph.node[:]
    moved.graph.node.extend(kept)
    assert facts(infer(moved), names) == expected


def _into_if(graph: GraphProto, outputs: list[str]) -> GraphProto:
    body = _body(graph, outputs)
    node = helper.make_node("If", ["always"], outputs, then_branch=body, else_branch=body)
    constant = numpy_helper.from_array(np.array(True), "always")
    return helper.make_graph([node], "g", graph.input, [], [*graph.initializer, constant])


def _into_loop(graph: GraphProto, outputs: list[str]) -> GraphProto:
    body = _body(graph, [f"{o}.again" for o in outputs])
    for out in outputs:
        body.node.append(helper.make_node("Identity", [out], [f"{out}.again"]))
    body.node.append(helper.make_node("Identity", ["going"], ["goes"]))
    body.output.insert(0, onnx.ValueInfoProto(name="goes"))
    body.input.extend(onnx.ValueInfoProto(name=n) for n in ("iteration", "going"))
    body.input.extend(onnx.ValueInfoProto(name=f"{o}.state") for o in outputs)
    starts = [f"{o}.start" for o in outputs]
    node = helper.make_node("Loop", ["once", "", *starts], outputs, body=body)
    constants = [numpy_helper.from_array(np.array(1), "once")]
    # the states begin as what they are after an iteration
    begin = [
        *_body(graph, outputs).node,
        *(helper.make_node("Identity", [o], [s]) for o, s in zip(outputs, starts, strict=True)),
    ]
    for inner in begin[: -len(outputs)] if outputs else begin:
        inner.output[:] = [f"{n}.before" if n else n for n in inner.output]
    defined = {n.removesuffix(".before") for inner in begin for n in inner.output}
    for inner in begin:
        inner.input[:] = [f"{n}.before" if n in defined else n for n in inner.input]
    return helper.make_graph([*begin, node], "g", graph.input, [], [*graph.initializer, *constants])


def _into_scan_output(graph: GraphProto, outputs: list[str]) -> GraphProto:
    body = _body(graph, outputs)
    body.node.append(helper.make_node("Identity", ["going"], ["goes"]))
    body.output.insert(0, onnx.ValueInfoProto(name="goes"))
    body.input.extend(onnx.ValueInfoProto(name=n) for n in ("iteration", "going"))
    stacked = [f"{o}.stacked" for o in outputs]
    loop = helper.make_node("Loop", ["once", ""], stacked, body=body)
    squeeze = [helper.make_node("Gather", [s, "zero"], [o]) for s, o in zip(stacked, outputs, strict=True)]
    constants = [numpy_helper.from_array(np.array(1), "once"), numpy_helper.from_array(np.array(0), "zero")]
    return helper.make_graph([loop, *squeeze], "g", graph.input, [], [*graph.initializer, *constants])


def _body(graph: GraphProto, outputs: list[str]) -> GraphProto:
    return helper.make_graph(list(graph.node), "b", [], [onnx.ValueInfoProto(name=o) for o in outputs])


@pytest.mark.parametrize("wrap", [_into_if, _into_loop, _into_scan_output], ids=["If", "Loop", "stacked"])
@pytest.mark.parametrize("name", ["bert-torchscript", "convnet-torchscript", *HAND])
def test_a_body_that_runs_once_is_the_graph(name: str, wrap: Callable[[GraphProto, list[str]], GraphProto]) -> None:
    proto = load(name)
    outputs = [o.name for o in proto.graph.output]
    expected = facts(infer(proto), outputs)
    wrapped = helper.make_model(wrap(proto.graph, outputs), opset_imports=list(proto.opset_import), ir_version=8)
    wrapped.graph.output.extend(onnx.ValueInfoProto(name=o) for o in outputs)
    inference = infer(wrapped)
    assert inference.errors == ()
    assert facts(inference, outputs) == expected


@pytest.mark.parametrize("name", [n for n in SMALL if "dynamo" in n])
def test_functions_are_what_they_inline_to(name: str) -> None:
    proto = load(name)
    if not proto.functions:
        proto = _outlined(proto)
    inlined = onnx.inliner.inline_local_functions(proto)
    outputs = [o.name for o in proto.graph.output]
    assert facts(infer(proto), outputs) == facts(infer(inlined), outputs)


def _outlined(proto: ModelProto) -> ModelProto:
    """The whole graph as the body of one function."""
    found = ModelProto()
    found.CopyFrom(proto)
    inputs = [v.name for v in (*proto.graph.input, *proto.graph.initializer)]
    outputs = [o.name for o in proto.graph.output]
    function = helper.make_function("local", "whole", inputs, outputs, list(proto.graph.node), list(proto.opset_import))
    found.functions.append(function)
    del found.graph.node[:]
    del found.graph.value_info[:]
    found.graph.node.append(helper.make_node("whole", inputs, outputs, domain="local"))
    found.opset_import.add(domain="local", version=1)
    return found


BOUND = {
    "bert-torchscript": "batch",
    "gpt2-kv-torchscript": "batch",
    "vit-any-size-dynamo": "",
    "chain": "N",
    "slices": "S",
}


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("name", BOUND)
def test_binding_before_is_binding_after(name: str, size: int) -> None:
    """A dim that is bound before the inference is never less exact, and never another one."""
    proto = load(name)
    free = infer(proto)
    params = sorted({d.dim_param for i in proto.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param})
    dim = BOUND[name] if BOUND[name] in params else params[0]
    bound = infer(proto, dims=[f"{dim}={size}"])
    at = {dim: size}
    for value in values_of(proto):
        before, after = bound[value], free[value]
        if not isinstance(before, SymbolicTensor) or not isinstance(after, SymbolicTensor) or after.shape is None:
            continue
        assert before.dtype == after.dtype
        assert before.shape is not None and len(before.shape) == len(after.shape), value
        for left, right in zip(before.shape, after.shape, strict=True):
            if not free.is_generated(right):
                assert str(left) == str(substitute(right, at)), value


@pytest.mark.parametrize("name", NAMES)
def test_our_own_annotations_change_nothing(name: str) -> None:
    proto = load(name)
    once = infer(proto)
    annotated = once.annotated()
    twice = infer(annotated)
    assert {n: str(v) for n, v in twice.items()} == {n: str(v) for n, v in once.items()}
    assert [d for d in twice.diagnostics if d.code == "GI201"] == []
    assert twice.annotated() == annotated
