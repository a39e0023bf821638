"""Small models changed at random at the level of messages: readable still, but wrong in one place or in several."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from tests.inference.models import model

SEEDS: dict[str, Any] = {
    "shape chain": """(float[N, S] x, int64 t) => (float[A, B] y) {
      s = Shape(x) zero = Constant<value = int64 {0}>() ax = Constant<value = int64[1] {0}>() m1 = Constant<value = int64[1] {-1}>()
      n = Gather(s, zero) u = Unsqueeze(n, ax) tt = Concat<axis=0>(u, m1) r = Reshape(x, tt) two = Constant<value = int64[1] {2}>()
      c = Slice(r, ax, two) e = Expand(c, s) w = Where(b, e, r) b = Less(r, f) f = Constant<value = float[1] {0.5}>()
      p = Pad(w, pads) pads = Constant<value = int64[4] {0, 1, 0, 1}>() y = Transpose<perm=[1, 0]>(p) }""",
    "loop": """(float[N] x, int64 t, bool c) => (float[L] y, float[T, N] z) {
      y, z = Loop(t, c, x) <body = b (int64 i, bool k, float[p] a) => (bool k2, float[q] a2, float[r] o) {
        k2 = Identity(k) a2 = Concat<axis=0>(a, x) s = Shape(x) o = Expand(x, s) }> }""",
    "if and scan": """(bool c, float[T, N] x) => (float[a, b] y, float[d, e] z) {
      y = If(c) <then_branch = t () => (float[e, f] p) { p = Transpose(x) }, else_branch = g () => (float[h, i] q) { q = Abs(x) }>
      z = Scan<num_scan_inputs = 1, scan_output_axes = [1], body = b (float[n] r) => (float[m] o) { o = Neg(r) }>(x) }""",
    "sequences": """(float[N, 3] x, int64 i) => (float[k, 3] y, int64 n) {
      s = SplitToSequence<axis=0, keepdims=1>(x) l = SequenceInsert(s, x) y = ConcatFromSequence<axis=0>(l) n = SequenceLength(l)
      a = SequenceAt(l, i) e = SequenceErase(l, i) }""",
    "gathers": """(float[V, D] w, int64[N, S] ids, int64[N, 2] at) => (float[N, S, D] y) {
      y = Gather<axis=0>(w, ids) z = GatherND<batch_dims=0>(w, at) e = GatherElements<axis=1>(w, ids) m = ArgMax<axis=1, keepdims=0>(w)
      k = TopK<axis=1>(w, two) two = Constant<value = int64[1] {2}>() o = OneHot(ids, two, v) v = Constant<value = float[2] {0, 1}>() }""",
    "network": """(float[N, 3, H, W] x, float[4, 3, 3, 3] k) => (float[N, C] y) {
      c = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]>(x, k) r = Relu(c) p = MaxPool<kernel_shape=[2, 2]>(r)
      g = GlobalAveragePool(p) f = Flatten<axis=1>(g) y = Softmax<axis=-1>(f) l = LayerNormalization(x, w) w = Shape(x)
      q = Resize(x, , sc) sc = Constant<value = float[4] {1, 1, 2, 2}>() i = Einsum<equation="nc,nd->cd">(f, f) d = DepthToSpace<blocksize=2>(c) }""",
    "functions": """(float[N, 3] x) => (float[N, 3] y) { y = local.twice <k = 2> (x) z = local.outer(x) }
      <domain: "local", opset_import: ["" : 17, "local" : 1]> twice <k> (a) => (r) { r = Softmax<axis: int = @k>(a) }
      <domain: "local", opset_import: ["" : 17, "local" : 1]> outer (a) => (r) { b = local.twice <k = 1> (a) r = Add(b, a) }""",
}  # fmt: skip

NAMES = ("x", "y", "s", "N", "", "no such name", "loop_0", "a/b", "é", "i", "c")
OPS = (
    "Add", "Gather", "Reshape", "Loop", "If", "Scan", "Concat", "Split", "Slice", "NonZero", "Cast", "Constant", "Nonsense",
    "SequenceAt", "Optional", "Einsum", "MatMul", "Range", "Tile", "Shape", "Size", "Unsqueeze", "Squeeze", "Pad", "TopK",
    "LSTM", "Attention", "QuantizeLinear", "StringSplit", "GroupNormalization", "Resize", "Conv", "twice", "CumSum",
    "ConstantOfShape", "EyeLike", "OneHot", "DFT", "NonMaxSuppression", "RoiAlign", "SequenceMap", "CastLike", "Clip",
)  # fmt: skip
DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "local", "openvino.opset8", "openvino", "nowhere")
NUMBERS = (-(2**63), -2, -1, 0, 1, 2, 3, 17, 2**31, 2**62, 2**63 - 1)
VERSIONS = (-1, 0, 1, 6, 7, 10, 11, 12, 13, 18, 21, 23, 28, 99, 2**40)


def seeds() -> list[ModelProto]:
    found = []
    for body in SEEDS.values():
        main, separator, functions = body.partition("\n      <domain")
        found.append(model(main, functions=separator.strip() + functions, domains=', "local" : 1' if separator else ""))
    return found


def variants(count: int, seed: int) -> Iterator[ModelProto]:
    """Models with one to four changes each."""
    chance = random.Random(seed)
    originals = seeds()
    for number in range(count):
        proto = ModelProto()
        proto.CopyFrom(originals[number % len(originals)])
        for _ in range(chance.choice((1, 1, 2, 4))):
            chance.choice(CHANGES)(proto, chance)
        yield proto


def _bodies(proto: ModelProto) -> list[GraphProto]:
    found = [proto.graph]
    for graph in found:
        found.extend(a.g for node in graph.node for a in node.attribute if a.HasField("g"))
    return found


def _node(proto: ModelProto, chance: random.Random) -> NodeProto:
    nodes = [n for g in _bodies(proto) for n in g.node] + [n for f in proto.functions for n in f.node]
    return chance.choice(nodes) if nodes else proto.graph.node.add(op_type="Relu")


def _rename(proto: ModelProto, chance: random.Random) -> None:
    node = _node(proto, chance)
    names = chance.choice((node.input, node.output))
    if names:
        everything = [n for g in _bodies(proto) for m in g.node for n in (*m.input, *m.output)]
        names[chance.randrange(len(names))] = chance.choice((*NAMES, *everything))


def _arity(proto: ModelProto, chance: random.Random) -> None:
    node = _node(proto, chance)
    names = chance.choice((node.input, node.output))
    if names and chance.random() < 0.5:
        del names[chance.randrange(len(names))]
    else:
        names.append(chance.choice(NAMES))


def _drop(proto: ModelProto, chance: random.Random) -> None:
    graph = chance.choice(_bodies(proto))
    if graph.node:
        del graph.node[chance.randrange(len(graph.node))]


def _operator(proto: ModelProto, chance: random.Random) -> None:
    node = _node(proto, chance)
    node.op_type = chance.choice(OPS)
    if chance.random() < 0.2:
        node.domain = chance.choice(DOMAINS)


def _attribute(proto: ModelProto, chance: random.Random) -> None:
    node = _node(proto, chance)
    if not node.attribute or chance.random() < 0.2:
        node.attribute.add(
            name=chance.choice(("axis", "axes", "value", "to", "body", "perm", "k", "dtype", "nonsense"))
        )
    attribute = chance.choice(list(node.attribute))
    match chance.randrange(8):
        case 0:
            attribute.type = chance.choice(list(AttributeProto.AttributeType.values()))
        case 1:
            attribute.i, attribute.type = chance.choice(NUMBERS), AttributeProto.INT
        case 2:
            attribute.ints[:] = [chance.choice(NUMBERS) for _ in range(chance.randrange(5))]
            attribute.type = AttributeProto.INTS
        case 3:
            attribute.s, attribute.type = chance.choice((b"\xff\xfe", b"", b"abc", b"reflect")), AttributeProto.STRING
        case 4:
            attribute.ref_attr_name = chance.choice(("k", "nonsense"))
        case 5:
            attribute.f, attribute.type = chance.choice((float("nan"), float("inf"), -1.0)), AttributeProto.FLOAT
        case 6:
            _tensor(attribute.t, chance)
            attribute.type = AttributeProto.TENSOR
        case _:
            node.attribute.remove(attribute)


def _tensor(tensor: TensorProto, chance: random.Random) -> None:
    match chance.randrange(4):
        case 0:
            tensor.data_type = chance.choice((0, 1, 7, 8, 9, 16, 22, 27, 99))
        case 1:
            tensor.dims[:] = [chance.choice(NUMBERS) for _ in range(chance.randrange(4))]
        case 2:
            tensor.raw_data = bytes(chance.randrange(20))
        case _:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.array(chance.sample(NUMBERS, 3))))


def _version(proto: ModelProto, chance: random.Random) -> None:
    if proto.opset_import and chance.random() < 0.9:
        chance.choice(list(proto.opset_import)).version = chance.choice(VERSIONS)
    else:
        del proto.opset_import[:]
    proto.ir_version = chance.choice((1, 3, 4, 8, 13, 99))


def _type(proto: ModelProto, chance: random.Random) -> None:
    graph = chance.choice(_bodies(proto))
    outputs = [name for node in graph.node for name in node.output]
    if outputs and chance.random() < 0.3:
        graph.value_info.add(name=chance.choice(outputs)).type.tensor_type.elem_type = 1
    values = [*graph.input, *graph.output, *graph.value_info]
    if not values:
        return
    value = chance.choice(values)
    match chance.randrange(4):
        case 0:
            value.type.tensor_type.elem_type = chance.choice((0, 1, 7, 9, 8, 99))
        case 1:
            value.ClearField("type")
        case 2:
            value.type.sequence_type.elem_type.tensor_type.elem_type = 1
        case _:
            dims = value.type.tensor_type.shape.dim
            entry = chance.choice(list(dims)) if dims and chance.random() < 0.7 else dims.add()
            if chance.random() < 0.5:
                entry.dim_value = chance.choice(NUMBERS)
            else:
                entry.dim_param = chance.choice(
                    ("N", "2*N", "N - 5", "-1", "?", "N)", "7", "0*N", "max(N, S)", "x.0", "N//0")
                )


def _duplicate(proto: ModelProto, chance: random.Random) -> None:
    graph = chance.choice(_bodies(proto))
    for messages in (graph.node, graph.input, graph.output, graph.initializer):
        if messages and chance.random() < 0.4:
            messages.add().CopyFrom(chance.choice(list(messages)))
    if graph.node:
        graph.node.insert(0, graph.node.pop())


def _initializer(proto: ModelProto, chance: random.Random) -> None:
    graph = chance.choice(_bodies(proto))
    names = [n for node in graph.node for n in node.input] + [i.name for i in graph.input] or ["x"]
    tensor = graph.initializer.add(name=chance.choice(names), data_type=7)
    _tensor(tensor, chance)


CHANGES: tuple[Callable[[ModelProto, random.Random], None], ...] = (
    _rename, _arity, _drop, _operator, _attribute, _attribute, _version, _type, _type, _duplicate, _initializer,
)  # fmt: skip
