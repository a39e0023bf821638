"""Rewrites of other optimisers that gather-infer leaves out: for each an input on which the result is another one.

    python benchmarks/other_rewrites.py

Each rewrite is a pair of small models. They are run on drawn inputs, in onnxruntime with its optimiser off and in
onnx's reference evaluator; the first input with other bits is printed, for each of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

TRIALS = 300
SPECIAL = np.array(
    [0x80000000, 0x7FC00000, 0x7FC00001, 0xFFC12345, 0x7F800000, 0xFF800000, 0x7F61B1E6, 0x000116C2], np.uint32
).view(np.float32)
"""-0.0, NaNs of three payloads, infinities, 3e38, 1e-40."""

Feeds = dict[str, Any]


@dataclass(frozen=True)
class Pair:
    """A model, its rewritten form, both as text behind the header; `is_special` draws -0.0, NaN and others too."""

    before: str
    after: str
    opset: int = 13
    is_special: bool = False
    shapes: tuple[dict[str, tuple[int, ...]], ...] = ()


def sizes(**shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return shapes


GEMM = (sizes(x=(1, 5), w=(5, 5), b=(5,)), sizes(x=(5, 5), w=(5, 10), b=(10,)), sizes(x=(3, 300), w=(300, 7), b=(7,)))
CONVS = (
    sizes(x=(1, 1, 5, 5), w=(1, 1, 3, 3), b=(1, 1, 1)),
    sizes(x=(1, 4, 9, 9), w=(4, 4, 3, 3), b=(4, 1, 1)),
    sizes(x=(2, 16, 8, 8), w=(16, 16, 1, 1), b=(16, 1, 1)),
    sizes(x=(1, 160, 6, 6), w=(8, 160, 3, 3), b=(8, 1, 1)),
)
X = (sizes(x=(4,)), sizes(x=(64,)))

PAIRS = {
    "MatMul, Add to Gemm": Pair(
        "(float[M,K] x, float[K,N] w, float[N] b) => (float[M,N] y) { h = MatMul(x, w) y = Add(h, b) }",
        "(float[M,K] x, float[K,N] w, float[N] b) => (float[M,N] y) { y = Gemm(x, w, b) }",
        shapes=GEMM,
    ),
    "Conv, Add of NaN to Conv with a bias": Pair(
        "(float[] x, float[] w, float[] b) => (float[] y) { h = Conv(x, w) y = Add(h, b) }",
        "(float[] x, float[] w, float[] b) => (float[] y) <int64[1] k = {-1}> { c = Reshape(b, k) y = Conv(x, w, c) }",
        is_special=True,
        shapes=CONVS,
    ),
    "x + 0.0 to x": Pair(
        "(float[N] x) => (float[N] y) <float z = {0}> { h = Mul(x, x) g = Neg(h) y = Add(g, z) }",
        "(float[N] x) => (float[N] y) { h = Mul(x, x) y = Neg(h) }",
        is_special=True,
        shapes=X,
    ),
    "(x * y) * 0.5 to (x * 0.5) * y": Pair(
        "(float[N] x, float[N] w) => (float[N] y) <float c = {0.5}> { h = Mul(x, w) y = Mul(h, c) }",
        "(float[N] x, float[N] w) => (float[N] y) <float c = {0.5}> { h = Mul(x, c) y = Mul(h, w) }",
        is_special=True,
        shapes=(sizes(x=(64,), w=(64,)),),
    ),
    "Add of Transposes to Transpose of Add": Pair(
        "(float[M,N] x, float[M,N] w) => (float[N,M] y) { a = Transpose(x) b = Transpose(w) y = Add(a, b) }",
        "(float[M,N] x, float[M,N] w) => (float[N,M] y) { h = Add(x, w) y = Transpose(h) }",
        is_special=True,
        shapes=(sizes(x=(5, 7), w=(5, 7)),),
    ),
    "MatMuls of one operand to one MatMul and a Split": Pair(
        "(float[M,K] x, float[K,N] w, float[K,L] v) => (float[M,N] y) { y = MatMul(x, w) }",
        "(float[M,K] x, float[K,N] w, float[K,L] v) => (float[M,N] y) <int64[2] s = {1, 1}> "
        "{ c = Concat<axis = 1>(w, v) h = MatMul(x, c) y, z = Split<axis = 1>(h, s) }",
        shapes=(sizes(x=(2, 5), w=(5, 1), v=(5, 1)),),
    ),
    "Pad into Conv": Pair(
        "(float[] x, float[] w) => (float[] y) <int64[6] p = {0,0,0,0,0,1}> { h = Pad(x, p) y = Conv(h, w) }",
        "(float[] x, float[] w) => (float[] y) { y = Conv<pads = [0, 1]>(x, w) }",
        shapes=(sizes(x=(1, 1, 4), w=(33, 1, 5)),),
    ),
}
FOLDED = {
    # id: a constant that other tools compute with the runtime they are installed with, and the shapes of its operands
    "Pow of constants": ("(float[N] x) => (float[N] y) <float e = {-0.5}> { h = Abs(x) y = Pow(h, e) }", X[1]),
    "Sin of constants": ("(float[N] x) => (float[N] y) { y = Sin(x) }", X[1]),
    "Cos of constants": ("(float[N] x) => (float[N] y) { y = Cos(x) }", X[1]),
    "LayerNormalization of constants": (
        "(float[M,N] x, float[N] w) => (float[M,N] y) { y = LayerNormalization(x, w) }",
        sizes(x=(8, 16), w=(16,)),
    ),
    "MatMul of constants": (
        "(float[M,K] x, float[K,N] w) => (float[M,N] y) { y = MatMul(x, w) }",
        sizes(x=(10, 50), w=(50, 10)),
    ),
}


def parsed(text: str, opset: int) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {text}')


def runtimes(model: onnx.ModelProto) -> dict[str, Callable[[Feeds], Any]]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    reference = ReferenceEvaluator(model)
    return {
        "onnxruntime": lambda feeds: session.run(None, feeds)[0],
        "onnx.reference": lambda feeds: reference.run(None, feeds)[0],
    }


def drawn(shapes: dict[str, tuple[int, ...]], number: int, *, is_special: bool) -> Feeds:
    numbers = np.random.default_rng(number)
    feeds = {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    for value in feeds.values() if is_special else ():
        places = numbers.integers(0, value.size, max(1, value.size // 8))
        value.flat[places] = numbers.choice(SPECIAL, len(places))
    return feeds


def difference(one: Any, other: Any) -> str:
    """The first element with other bits, in words; empty if there is none."""
    if one.shape != other.shape:
        return f"shape {other.shape}, was {one.shape}"
    apart = np.flatnonzero(one.ravel().view(np.uint32) != other.ravel().view(np.uint32))
    if not len(apart):
        return ""
    was, now = one.ravel()[apart[0]], other.ravel()[apart[0]]
    return f"{now!r} ({now.view(np.uint32):#010x}), was {was!r} ({was.view(np.uint32):#010x})"


def differences(pair: Pair) -> Iterator[str]:
    """For each runtime the first input on which the pair differs."""
    before, after = (runtimes(parsed(text, pair.opset)) for text in (pair.before, pair.after))
    for name in before:
        trials = ((shapes, number) for shapes in pair.shapes for number in range(TRIALS // len(pair.shapes)))
        for shapes, number in trials:
            feeds = drawn(shapes, number, is_special=pair.is_special)
            text = difference(before[name](feeds), after[name](feeds))
            if text:
                yield f"{name}: {', '.join(f'{k} {v.shape}' for k, v in feeds.items())}, draw {number}: {text}"
                break
        else:
            yield f"{name}: the same bits"


def folded(text: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """The first input on which the two runtimes differ: what one has folded is wrong in the other."""
    one, other = runtimes(parsed(text, 17)).values()
    for number in range(TRIALS):
        feeds = drawn(shapes, number, is_special=False)
        found = difference(one(feeds), other(feeds))
        if found:
            return f"draw {number}: onnx.reference {found} in onnxruntime"
    return "the same bits in both"


def main() -> None:
    np.seterr(all="ignore")
    for name, pair in PAIRS.items():
        print(name)
        for line in differences(pair):
            print(f"    {line}", flush=True)
    for name, (text, shapes) in FOLDED.items():
        print(f"{name}\n    {folded(text, shapes)}", flush=True)


if __name__ == "__main__":
    main()
