# ruff: noqa: E501  (models as text)
"""Rewrites and conversions that are right: none of them may be called wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, ModelProto, TensorProto, numpy_helper

from fixtures.feeds import FOLDER, NAMES
from gather_infer import convert, infer, optimize
from gather_infer.errors import GatherInferError
from gather_infer.inference import Inference
from gather_infer.model import ModelFile
from gather_infer.verification import Verification, verify
from tests.openvino.whole import made
from tests.openvino.whole_models import MODELS
from tests.oracle.generated_graphs import generate
from tests.oracle.graph_builder import REFUSALS, session
from tests.oracle.optimized_graphs import REWRITES, odd, ordered
from tests.verification.models import model

PAIRS: dict[str, tuple[str, str]] = {
    "float16 and an Identity": (
        "(float16[N] x, float16[N] z) => (float16[N] y) { a = Mul(x, z) i = Identity(a) y = Add(i, x) }",
        "(float16[N] x, float16[N] z) => (float16[N] y) { a = Mul(x, z) y = Add(a, x) }",
    ),
    "float16 and a Transpose there and back": (
        "(float16[N, M] x) => (float16[N, M] y) { a = Mul(x, x) t = Transpose(a) u = Transpose(t) y = Add(u, x) }",
        "(float16[N, M] x) => (float16[N, M] y) { a = Mul(x, x) y = Add(a, x) }",
    ),
    "float16 and a Reshape": (
        "(float16[N] x) => (float16[N] y) <int64[1] s = {-1}> { a = Sigmoid(x) r = Reshape(a, s) b = Mul(r, x) y = Add(b, r) }",
        "(float16[N] x) => (float16[N] y) { a = Sigmoid(x) b = Mul(a, x) y = Add(b, a) }",
    ),
    "float16 in a Loop": (
        "(float16[N] x, int64 n) => (float16[N] y) <bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool t, float16[N] s) => (bool t2, float16[N] s2) { t2 = Identity(t) m = Mul(s, x) j = Identity(m) s2 = Add(j, x) }> }",
        "(float16[N] x, int64 n) => (float16[N] y) <bool c = {1}> { y = Loop(n, c, x) <body = b (int64 i, bool t, float16[N] s) => (bool t2, float16[N] s2) { t2 = Identity(t) m = Mul(s, x) s2 = Add(m, x) }> }",
    ),
    "float16 twice": (
        "(float16[N] x) => (float16[N] y) { a = Exp(x) b = Exp(x) c = Add(a, b) y = Mul(c, x) }",
        "(float16[N] x) => (float16[N] y) { a = Exp(x) c = Add(a, a) y = Mul(c, x) }",
    ),
    "bfloat16 and an Identity": (
        "(bfloat16[N] x) => (bfloat16[N] y) { f = Cast<to=1>(x) a = Mul(f, f) b = Cast<to=16>(a) i = Identity(b) c = Cast<to=1>(i) d = Add(c, f) y = Cast<to=16>(d) }",
        "(bfloat16[N] x) => (bfloat16[N] y) { f = Cast<to=1>(x) a = Mul(f, f) b = Cast<to=16>(a) c = Cast<to=1>(b) d = Add(c, f) y = Cast<to=16>(d) }",
    ),
    "bfloat16 that onnxruntime refuses": (
        "(bfloat16[N] x) => (bfloat16[N] y) { a = Mul(x, x) i = Identity(a) y = Add(i, x) }",
        "(bfloat16[N] x) => (bfloat16[N] y) { a = Mul(x, x) y = Add(a, x) }",
    ),
    "float16 and a Cast that does nothing": (
        "(float16[N] x) => (float16[N] y) { a = Sqrt(x) c = Cast<to=10>(a) y = Sub(c, x) }",
        "(float16[N] x) => (float16[N] y) { a = Sqrt(x) y = Sub(a, x) }",
    ),
    "random numbers": (
        "(float[N] x) => (float[N] r, float[N] y) { i = Identity(x) r = RandomNormalLike(i) y = Neg(i) }",
        "(float[N] x) => (float[N] r, float[N] y) { r = RandomNormalLike(x) y = Neg(x) }",
    ),
    "random numbers alone": (
        "(float[N] x) => (float[N] r) { i = Identity(x) r = RandomUniformLike(i) }",
        "(float[N] x) => (float[N] r) { r = RandomUniformLike(x) }",
    ),
    "random numbers with a seed": (
        "(float[N] x) => (float[N] y, float[N] z) { i = Identity(x) r = RandomUniformLike<seed=1.0>(i) y = Add(r, i) z = Abs(i) }",
        "(float[N] x) => (float[N] y, float[N] z) { r = RandomUniformLike<seed=1.0>(x) y = Add(r, x) z = Abs(x) }",
    ),
    "Dropout in training": (
        "(float[N] x) => (float[N] y, bool[N] m, float[N] z) <float p = {0.1}, bool t = {1}> { i = Identity(x) y, m = Dropout(i, p, t) z = Neg(i) }",
        "(float[N] x) => (float[N] y, bool[N] m, float[N] z) <float p = {0.1}, bool t = {1}> { y, m = Dropout(x, p, t) z = Neg(x) }",
    ),
    "Dropout in training alone": (
        "(float[N] x) => (float[N] y) <float p = {0.1}, bool t = {1}> { i = Identity(x) y = Dropout(i, p, t) }",
        "(float[N] x) => (float[N] y) <float p = {0.1}, bool t = {1}> { y = Dropout(x, p, t) }",
    ),
    "Dropout that may be of training": (
        "(float[N] x, bool t) => (float[N] y, float[N] z) <float p = {0.5}> { i = Identity(x) y = Dropout(i, p, t) z = Neg(i) }",
        "(float[N] x, bool t) => (float[N] y, float[N] z) <float p = {0.5}> { y = Dropout(x, p, t) z = Neg(x) }",
    ),
    "Dropout of inference": (
        "(float[N] x) => (float[N] y) { d = Dropout(x) y = Neg(d) }",
        "(float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "Bernoulli and its size": (
        "(float[N] x) => (float[N] b, int64[1] s) { p = Sigmoid(x) b = Bernoulli(p) s = Shape(b) }",
        "(float[N] x) => (float[N] b, int64[1] s) { p = Sigmoid(x) b = Bernoulli(p) s = Shape(x) }",
    ),
    "random numbers in a branch": (
        "(float[N] x, bool c) => (float[N] y, float[N] z) { i = Identity(x) y = If (c) <then_branch = t () => (float[N] o) { o = RandomNormalLike(i) }, else_branch = e () => (float[N] p) { p = Neg(i) }> z = Abs(i) }",
        "(float[N] x, bool c) => (float[N] y, float[N] z) { y = If (c) <then_branch = t () => (float[N] o) { o = RandomNormalLike(x) }, else_branch = e () => (float[N] p) { p = Neg(x) }> z = Abs(x) }",
    ),
    "a Slice past the end": (
        "(float[N] x) => (float[N] y) <int64[1] s = {0}, int64[1] e = {9223372036854775807}> { c = Slice(x, s, e) y = Neg(c) }",
        "(float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "x * 1": (
        "(float[N] x) => (float[N] y) <float o = {1.0}> { m = Mul(x, o) y = Neg(m) }",
        "(float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "Neg twice": (
        "(float[N] x) => (float[N] y) { n = Neg(x) m = Neg(n) y = Exp(m) }",
        "(float[N] x) => (float[N] y) { y = Exp(x) }",
    ),
    "wraps there and back": (
        "(int64[N] x) => (int64[N] y) <int64 c = {9223372036854775807}> { a = Add(x, c) y = Sub(a, c) }",
        "(int64[N] x) => (int64[N] y) { y = Identity(x) }",
    ),
    "a model without elements": (
        "(float[N, 0] x) => (float[N, 0] y) { n = Neg(x) y = Neg(n) }",
        "(float[N, 0] x) => (float[N, 0] y) { y = Identity(x) }",
    ),
    "a product by a weight that is turned": (
        "(float[N, 3] x, float[4, 3] w) => (float[N, 4] y) { t = Transpose(w) y = MatMul(x, t) }",
        "(float[N, 3] x, float[4, 3] w) => (float[N, 4] y) { i = Identity(w) t = Transpose(i) y = MatMul(x, t) }",
    ),
    "a float to int8 and back": (
        "(float[N] x) => (float[N] y) <float s = {0.1}, int8 z = {3}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) i = Identity(d) y = Neg(i) }",
        "(float[N] x) => (float[N] y) <float s = {0.1}, int8 z = {3}> { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Neg(d) }",
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A model and what was made of it, rightly."""

    name: str
    original: ModelFile | ModelProto
    rewritten: ModelProto
    inference: Inference
    tolerance: float | None = None

    def verify(self, runs: int) -> Verification:
        return verify(
            self.original, self.rewritten, runs, inference=self.inference, rtol=self.tolerance, atol=self.tolerance
        )


def by_hand() -> Iterator[Case]:
    for name, texts in PAIRS.items():
        before, after = map(model, texts)
        yield Case(name, before, after, infer(before))


def exports(names: Sequence[str] = NAMES, *, half: bool = False) -> Iterator[Case]:
    """The fixtures and what `optimize` makes of them; with `half` all that is float is float16 before."""
    for name in names:
        path = FOLDER / f"{name}.onnx"
        try:
            result = optimize(halved(onnx.load(path)) if half else path)
        except GatherInferError:  # of which no model of float16 can be made like this
            continue
        yield Case(name, result.source, result.proto, result.inference)


def graphs(seeds: range) -> Iterator[Case]:
    """Random graphs and what `optimize` makes of them, of those that load."""
    for seed in seeds:
        graph = generate(seed)
        before = ordered(odd(graph, random.Random(seed)))
        try:
            session(before)
        except REFUSALS:
            continue
        options = {name: value for name, value in graph.options.items() if name == "dims"}
        result = optimize(before, rewrites=(REWRITES,), **options)
        yield Case(f"seed {seed}", result.source, result.proto, result.inference)


def layers(names: Sequence[str], folder: Path) -> Iterator[Case]:
    """Small models that OpenVINO makes, converted."""
    for name, path in made(names, folder).items():
        yield from converted([path], name)


def converted(paths: Sequence[Path], name: str = "") -> Iterator[Case]:
    """IRs, converted; those that are refused are left out."""
    for path in paths:
        try:
            result = convert(path)
        except GatherInferError:
            continue
        yield Case(name or path.stem, result.source, result.proto, result.inference, 1e-4)


def families(graphs_wanted: int, layers_wanted: int, networks: Sequence[Path]) -> Iterator[tuple[str, Iterator[Case]]]:
    """All of them by what they are."""
    yield "by hand", by_hand()
    yield "fixtures", exports()
    yield "fixtures in float16", exports(half=True)
    yield "random graphs", graphs(range(3_000_000, 3_000_000 + graphs_wanted))
    step = max(1, len(MODELS) // max(layers_wanted, 1))
    with TemporaryDirectory() as folder:
        yield "conversions of small models", layers(list(MODELS)[::step][:layers_wanted], Path(folder))
        yield "conversions of networks", converted([*sorted((FOLDER / "openvino").glob("*.xml")), *networks])


def halved(proto: ModelProto) -> ModelProto:
    """The model with float16 in the place of float."""
    pending: list[GraphProto | FunctionProto] = [proto.graph, *proto.functions]
    while pending:
        body = pending.pop()
        if isinstance(body, GraphProto):
            for tensor in body.initializer:
                _halve(tensor)
            for value in (*body.input, *body.output):
                if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                    value.type.tensor_type.elem_type = TensorProto.FLOAT16
        del body.value_info[:]
        for node in body.node:
            for attribute in node.attribute:
                if attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT:
                    attribute.i = TensorProto.FLOAT16
                if attribute.HasField("t"):
                    _halve(attribute.t)
                if attribute.HasField("g"):
                    pending.append(attribute.g)
    return proto


def _halve(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        array: Any = numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), tensor.name))
