# ruff: noqa: E501
"""Nodes that give what they read."""

from __future__ import annotations

import onnx
import pytest

from gather_infer.passes import optimize
from tests.rewrites.table import Case, assert_same_runs, judge, model, rewritten, run


def noop(
    rule: str, node: str, *, near: dict[str, str] | None = None, opset: int = 21, inputs: str = "float[N, 4] x",
    result: str = "float[N, 4]", consts: str = "", fails: bool = False,
) -> Case:  # fmt: skip
    """A node between two others, once with it and once without; the same for the near misses."""

    def text(inner: str, given: str = inputs, out: str = result, more: str = consts) -> str:
        constants = f"<{more}>" if more else ""
        return f"g ({given}) => ({out} y) {constants} {{ {inner} }}"

    return Case(
        rule,
        text(f"a = Identity(x) {node.format(x='a', y='b')} y = Identity(b)"),
        text("a = Identity(x) y = Identity(a)", more=""),
        near={key: value if value.startswith("g (") else text(value) for key, value in (near or {}).items()},
        opset=opset,
        fails=fails,
    )


CASES = {
    "identity": Case(
        "identity",
        "g (float[N] x) => (float[N] y) { a = Relu(x) b = Identity(a) y = Neg(b) }",
        "g (float[N] x) => (float[N] y) { a = Relu(x) y = Neg(a) }",
        near={"an output that is the input": "g (float[N] x) => (float[N] y) { y = Identity(x) }"},
    ),
    "identity that is an output": Case(
        "identity",
        "g (float[N] x) => (float[N] y, float[N] z) { a = Relu(x) y = Identity(a) z = Neg(a) }",
        "g (float[N] x) => (float[N] y, float[N] z) { y = Relu(x) z = Neg(y) }",
        near={"both are outputs": "g (float[N] x) => (float[N] a, float[N] y) { a = Relu(x) y = Identity(a) }"},
    ),
    "reshape": noop(
        "same-shape", "{y} = Reshape({x}, t)", consts="int64[2] t = {-1, 4}",
        near={
            "another shape": "g (float[N, 4] x) => (float[M, 2] y) <int64[2] t = {-1, 2}> { y = Reshape(x, t) }",
            "another rank": "g (float[N, 4] x) => (float[N, 4, 1] y) <int64[3] t = {0, 4, 1}> { y = Reshape(x, t) }",
            "a symbol that may differ": "g (float[N, M] x) => (float[A, B] y) <int64[2] t = {-1, 4}> { y = Reshape(x, t) }",
        },
    ),
    "reshape to zeros": noop("same-shape", "{y} = Reshape({x}, t)", consts="int64[2] t = {0, 0}"),
    "reshape by computed sizes": noop(
        "same-shape", "s = Shape({x}) {y} = Reshape({x}, s)",
        near={"swapped": """g (float[N, M] x) => (float[A, B] y) <int64[2] o = {1, 0}> {
            s = Shape(x) t = Gather(s, o) y = Reshape(x, t) }"""},
    ),
    "reshape, old": noop("same-shape", "{y} = Reshape({x}, t)", consts="int64[2] t = {-1, 4}", opset=7),
    "flatten": noop(
        "same-shape", "{y} = Flatten<axis = 1>({x})",
        near={"another axis": "g (float[N, 4] x) => (float[1, M] y) { y = Flatten<axis = 0>(x) }"},
    ),
    "expand": noop(
        "same-shape", "{y} = Expand({x}, t)", consts="int64[2] t = {1, 4}",
        near={"a size that may be another": "g (float[1, 4] x, int64[2] t) => (float[N, M] y) { y = Expand(x, t) }"},
    ),
    "tile": noop(
        "same-shape", "{y} = Tile({x}, t)", consts="int64[2] t = {1, 1}",
        near={"twice": "g (float[N, 4] x) => (float[N, 8] y) <int64[2] t = {1, 2}> { y = Tile(x, t) }"},
    ),
    "transpose in order": noop(
        "transpose-in-order", "{y} = Transpose<perm = [0, 1]>({x})",
        near={"turned": "g (float[N, N] x) => (float[N, N] y) { y = Transpose(x) }"},
    ),
    "transpose of an axis of size 1": Case(
        "transpose-in-order",
        "g (float[1, 1, N] x) => (float[1, 1, N] y) { a = Relu(x) b = Transpose<perm = [1, 0, 2]>(a) y = Neg(b) }",
        "g (float[1, 1, N] x) => (float[1, 1, N] y) { a = Relu(x) y = Neg(a) }",
        near={
            "another shape": "g (float[1, 2, N] x) => (float[2, 1, N] y) { y = Transpose<perm = [1, 0, 2]>(x) }",
            "sizes not known": "g (float[M, M, N] x) => (float[M, M, N] y) { y = Transpose<perm = [1, 0, 2]>(x) }",
        },
    ),
    "slice of all": noop(
        "slice-of-all", "{y} = Slice({x}, f, t, o)", consts="int64[1] f = {0}, int64[1] t = {9223372036854775807}, int64[1] o = {0}",
        near={
            "backwards": """g (float[N, 4] x) => (float[N, 4] y)
                <int64[1] f = {-1}, int64[1] t = {-9223372036854775807}, int64[1] o = {1}, int64[1] s = {-1}> {
                y = Slice(x, f, t, o, s) }""",
            "not the first": """g (float[N, 4] x) => (float[M, 4] y)
                <int64[1] f = {1}, int64[1] t = {9223372036854775807}, int64[1] o = {0}> { y = Slice(x, f, t, o) }""",
            "up to a number": """g (float[N, 4] x) => (float[M, 4] y)
                <int64[1] f = {0}, int64[1] t = {5}, int64[1] o = {0}> { y = Slice(x, f, t, o) }""",
        },
    ),
    "slice of all, old": noop("slice-of-all", "{y} = Slice<starts = [0], ends = [4], axes = [1]>({x})", opset=9),
    "pad of nothing": noop(
        "pad-of-nothing", "{y} = Pad({x}, p)", consts="int64[4] p = {0, 0, 0, 0}",
        near={"moved": "g (float[N, 4] x) => (float[N, 4] y) <int64[4] p = {0, 1, 0, -1}> { y = Pad(x, p) }"},
    ),
    "pad of nothing, old": noop("pad-of-nothing", "{y} = Pad<pads = [0, 0, 0, 0]>({x})", opset=10),
    "cast to its type": noop(
        "cast-to-own-type", "{y} = Cast<to = 1>({x})",
        near={"another": "g (float[N, 4] x) => (double[N, 4] y) { y = Cast<to = 11>(x) }"},
    ),
    "cast like its type": Case(
        "cast-like-own-type",
        "g (float[N] x, float z) => (float[N] y) { a = Relu(x) b = CastLike(a, z) y = Neg(b) }",
        "g (float[N] x, float z) => (float[N] y) { a = Relu(x) y = Neg(a) }",
        near={"another": "g (float[N] x, double z) => (double[N] y) { y = CastLike(x, z) }"},
    ),
    "concat of one": noop(
        "concat-without-empty-parts", "{y} = Concat<axis = 0>({x})",
        near={"two": "g (float[N, 4] x) => (float[M, 4] y) { y = Concat<axis = 0>(x, x) }"},
    ),
    "concat with an empty part": Case(
        "concat-without-empty-parts",
        """g (float[N, 4] x, float[0, 4] e, float[N, 4] z) => (float[M, 4] y) {
             a = Relu(x) b = Relu(e) c = Relu(z) y = Concat<axis = -2>(a, b, c) }""",
        "g (float[N, 4] x, float[0, 4] e, float[N, 4] z) => (float[M, 4] y) { a = Relu(x) c = Relu(z) y = Concat<axis = -2>(a, c) }",
        near={
            "ranks that are not known": "g (float[N] v, int64[R] r) => (float[K] y) { x = Expand(v, r) e = Expand(v, r) y = Concat<axis = 0>(x, e) }",
            "a negative axis of ranks that are not known": "g (float[N] v, int64[R] r) => (float[K] y) { x = Expand(v, r) e = Expand(v, r) y = Concat<axis = -1>(x, e) }",
            "empty elsewhere": "g (float[0, 4] x, float[0, 2] e) => (float[0, 6] y) { y = Concat<axis = 1>(x, e) }",
            "a size that may be 0": "g (float[N, 4] x, float[M, 4] e) => (float[K, 4] y) { y = Concat<axis = 0>(x, e) }",
        },
    ),
    "concat with one part left": noop(
        "concat-without-empty-parts", "{y} = Concat<axis = 0>({x}, e)", consts="float[0, 4] e = {}",
    ),
    "split in one": noop(
        "split-in-one", "{y} = Split<num_outputs = 1>({x})", fails=True,  # onnxruntime wants a size of 1 at least
        near={"two": "g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) { y, z = Split<axis = 1, num_outputs = 2>(x) }"},
    ),
    "split in one, old": noop("split-in-one", "{y} = Split<axis = 1, split = [4]>({x})", opset=11),
    "dropout": noop(
        "dropout-in-inference", "{y} = Dropout({x})",
        near={
            "the mask is read": "g (float[N, 4] x) => (float[N, 4] y, bool[N, 4] m) { y, m = Dropout(x) }",
            "training": """g (float[N, 4] x) => (float[N, 4] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }""",
            "perhaps training": """g (float[N, 4] x, bool t) => (float[N, 4] y) <float r = {0.5}> { y = Dropout(x, r, t) }""",
        },
    ),
    "dropout with a ratio and no training": noop(
        "dropout-in-inference", "{y} = Dropout({x}, r, t)", consts="float r = {0.5}, bool t = {0}"
    ),
    "dropout with a mask that nobody reads": noop("dropout-in-inference", "{y}, m = Dropout({x})"),
    "dropout, old": noop("dropout-in-inference", "{y} = Dropout<ratio = 0.75>({x})", opset=10),
    "dropout, oldest": noop("dropout-in-inference", "{y} = Dropout<ratio = 0.75>({x})", opset=7),
    "where of true": noop(
        "where-of-one-side", "{y} = Where(c, {x}, z)", consts="bool[1, 4] c = {1, 1, 1, 1}, int64 z = {7}",
        inputs="int64[N, 4] x", result="int64[N, 4]",
        near={
            "floats, where -0.0 becomes 0.0": "g (float[N] x, float[N] z) => (float[N] y) <bool c = {1}> { y = Where(c, x, z) }",
            "partly": "g (int64[N, 4] x) => (int64[N, 4] y) <bool[4] c = {1, 1, 0, 1}, int64 z = {7}> { y = Where(c, x, z) }",
            "broadcast": "g (int64[1, 4] x, int64[N, 4] z) => (int64[N, 4] y) <bool c = {1}> { y = Where(c, x, z) }",
            "broadcast by the condition": """g (int64[4] x) => (int64[3, 4] y)
                <bool[3, 1] c = {1, 1, 1}, int64 z = {7}> { y = Where(c, x, z) }""",
        },
    ),
    "where of false": noop("where-of-one-side", "{y} = Where(c, z, {x})", consts="bool c = {0}, int64 z = {7}",
        inputs="int64[N, 4] x", result="int64[N, 4]",
    ),
    "where of the same": noop(
        "where-of-one-side", "{y} = Where(c, {x}, {x})", inputs="int64[N, 4] x, bool[N, 4] c", result="int64[N, 4]"
    ),
    "clip of integers": noop(
        "clip-within-limits", "{y} = Clip({x})", inputs="int64[N, 4] x", result="int64[N, 4]",
        near={
            "floats, where Inf is past the default": "g (float[N, 4] x) => (float[N, 4] y) { y = Clip(x) }",
            "a limit": "g (int64[N] x) => (int64[N] y) <int64 lo = {0}> { y = Clip(x, lo) }",
        },
    ),
    "clip of a size": Case(
        "clip-within-limits",
        "g (float[N] x) => (int64[1] y) <int64 lo = {0}> { s = Shape(x) b = Clip(s, lo) y = Neg(b) }",
        "g (float[N] x) => (int64[1] y) { s = Shape(x) y = Neg(s) }",
        near={
            "sizes may be below": "g (float[N] x) => (int64[1] y) <int64 lo = {1}> { s = Shape(x) y = Clip(s, lo) }",
            "sizes may be above": "g (float[N] x) => (int64[1] y) <int64 hi = {9}> { s = Shape(x) y = Clip(s, \"\", hi) }",
            "a limit that is not known": "g (float[N] x, int64 lo) => (int64[1] y) { s = Shape(x) y = Clip(s, lo) }",
        },
    ),
    "sum of one": noop("of-one", "{y} = Sum({x})", near={"two": "y = Sum(x, x)", "mean": "y = Mean(x)"}),
    "max of one": noop("of-one", "{y} = Max({x})"),
    "min of one": noop("of-one", "{y} = Min({x})"),
    "max of one, old": noop("of-one", "{y} = Max({x})", opset=7),
    "plus zero": noop(
        "neutral-element", "{y} = Add({x}, z)", inputs="int64[N, 4] x", result="int64[N, 4]", consts="int64[1] z = {0}",
        near={
            "floats, where -0.0 becomes 0.0": "g (float[N] x) => (float[N] y) <float z = {0}> { y = Add(x, z) }",
            "floats, where a signalling NaN becomes quiet": "g (float[N] x) => (float[N] y) <float o = {1}> { y = Mul(x, o) }",
            "broadcast": "g (int64[1] x) => (int64[3] y) <int64[3] z = {0, 0, 0}> { y = Add(x, z) }",
            "zero minus": "g (int64[N] x) => (int64[N] y) <int64 z = {0}> { y = Sub(z, x) }",
            "one over": "g (int64[N] x) => (int64[N] y) <int64 z = {1}> { y = Div(z, x) }",
        },
    ),
    "zero plus": noop(
        "neutral-element", "{y} = Add(z, {x})", inputs="int32[N, 4] x", result="int32[N, 4]", consts="int32 z = {0}"
    ),
    "minus zero": noop(
        "neutral-element", "{y} = Sub({x}, z)", inputs="int64[N, 4] x", result="int64[N, 4]", consts="int64 z = {0}"
    ),
    "times one": noop(
        "neutral-element", "{y} = Mul({x}, z)", inputs="int64[N, 4] x", result="int64[N, 4]", consts="int64 z = {1}"
    ),
    "over one": noop(
        "neutral-element", "{y} = Div({x}, z)", inputs="int64[N, 4] x", result="int64[N, 4]", consts="int64 z = {1}"
    ),
    "and true": noop(
        "neutral-element", "{y} = And({x}, z)", inputs="bool[N, 4] x", result="bool[N, 4]", consts="bool z = {1}",
        near={"and false": "g (bool[N, 4] x) => (bool[N, 4] y) <bool z = {0}> { y = And(x, z) }"},
    ),
    "or false": noop(
        "neutral-element", "{y} = Or(z, {x})", inputs="bool[N, 4] x", result="bool[N, 4]", consts="bool z = {0}",
        near={"or true": "g (bool[N, 4] x) => (bool[N, 4] y) <bool z = {1}> { y = Or(x, z) }"},
    ),
}  # fmt: skip


REDUCTIONS = {
    "mean of one place": Case(
        "reduction-of-one",
        "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) <int64[2] a = {-1, -2}> { c = Mul(x, x) m = ReduceMean(c, a) y = Neg(m) }",
        "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) { c = Mul(x, x) y = Neg(c) }",
        near={
            "two places": "g (float[N, 3, 1, 2] x) => (float[N, 3, 1, 1] y) <int64[2] a = {-1, -2}> { c = Mul(x, x) y = ReduceMean(c, a) }",
            "a size that may be another": "g (float[N, M] x) => (float[N, 1] y) <int64[1] a = {1}> { c = Mul(x, x) y = ReduceMean(c, a) }",
            "what is not computed may have a signalling NaN": "g (float[N, 1] x) => (float[N, 1] y) <int64[1] a = {1}> { y = ReduceMean(x, a) }",
            "another axis comes after": "g (float[1, N] x) => (float[1, N] y) <int64[1] a = {0}> { c = Mul(x, x) y = ReduceMean(c, a) }",
            "float16": "g (float16[N, 1] x) => (float16[N, 1] y) <int64[1] a = {1}> { c = Mul(x, x) y = ReduceMean(c, a) }",
            "no axis is reduced": "g (float[N, 1] x, int64[0] a) => (float[N, 1] y) { c = Mul(x, x) y = ReduceMean<noop_with_empty_axes = 1>(c, a) }",
            "a product": "g (float[N, 1] x) => (float[N, 1] y) <int64[1] a = {1}> { c = Mul(x, x) y = ReduceProd(c, a) }",
        },
    ),
    "sum of one place, moved": Case(
        "reduction-of-one",
        "g (float[N, 1, 1] x) => (float[N] y) { c = Add(x, x) r = Relu(c) t = Transpose<perm = [0, 2, 1]>(r) y = ReduceSum<keepdims = 0>(t, a) } ".replace(
            "(float[N] y) {", "(float[N] y) <int64[2] a = {1, 2}> {"
        ),
        "g (float[N, 1, 1] x) => (float[N] y) <int64[2] a = {1, 2}> { c = Add(x, x) r = Relu(c) t = Transpose<perm = [0, 2, 1]>(r) y = Squeeze(t, a) }",
        near={
            "an empty tensor along a negative axis": "g (float[N, 5, 1] x) => (float[N, 5] y) <int64[1] a = {-1}> { c = Add(x, x) y = ReduceSum<keepdims = 0>(c, a) }",
            "unknown axes": "g (float[1, 1] x, int64[1] a) => (float[1] y) { c = Add(x, x) y = ReduceSum<keepdims = 0>(c, a) }",
        },
    ),
    "sum of one place among constants": Case(
        "reduction-of-one",
        "g (int64[N] i) => (float[N, 2] y) <int64[1] u = {1}, int64[1] a = {1}, float[3, 2] t = {1, 2, 3, 0, -5, 6}> {"
        " c = Gather(t, i) d = Unsqueeze(c, u) y = ReduceSum<keepdims = 0>(d, a) }",
        "g (int64[N] i) => (float[N, 2] y) <int64[1] u = {1}, float[3, 2] t = {1, 2, 3, 0, -5, 6}> {"
        " c = Gather(t, i) d = Unsqueeze(c, u) y = Squeeze(d, u) }",
        near={
            "-0.0 among them": "g (int64[N] i) => (float[N, 2] y) <int64[1] u = {1}, int64[1] a = {1}, float[3, 2] t = {1, 2, 3, -0.0, -5, 6}> {"
            " c = Gather(t, i) d = Unsqueeze(c, u) y = ReduceSum<keepdims = 0>(d, a) }",
        },
        ranges={"i": (0, 3)},
    ),
    "sum of one place among constants, old": Case(
        "reduction-of-one",
        "g (int64[N] i) => (float[N, 2] y) <int64[3] s = {-1, 1, 2}, float[3, 2] t = {1, 2, 3, 0, -5, 6}> {"
        " c = Gather(t, i) d = Reshape(c, s) y = ReduceSum<axes = [1], keepdims = 0>(d) }",
        "g (int64[N] i) => (float[N, 2] y) <int64[3] s = {-1, 1, 2}, float[3, 2] t = {1, 2, 3, 0, -5, 6}> {"
        " c = Gather(t, i) d = Reshape(c, s) y = Squeeze<axes = [1]>(d) }",
        ranges={"i": (0, 3)},
        opset=10,
    ),
    "mean of one place behind HardSwish": Case(
        "reduction-of-one",
        "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) <int64[2] a = {2, 3}> { h = HardSwish(x) m = ReduceMean(h, a) y = Neg(m) }",
        "g (float[N, 3, 1, 1] x) => (float[N, 3, 1, 1] y) { h = HardSwish(x) y = Neg(h) }",
    ),
    "maximum of one place": Case(
        "reduction-of-one",
        "g (float[1, N] x) => (float[1, N] y) { m = ReduceMax<axes = [0]>(x) y = Neg(m) }",
        "g (float[1, N] x) => (float[1, N] y) { y = Neg(x) }",
        near={"another axis": "g (float[1, N] x) => (float[1, 1] y) { m = ReduceMax<axes = [1]>(x) y = Neg(m) }"},
        opset=13,
    ),
    "sum of integers, all axes": Case(
        "reduction-of-one",
        "g (int64[1, 1] x) => (int64 y) { y = ReduceSum<keepdims = 0>(x) }",
        "g (int64[1, 1] x) => (int64 y) <int64[2] a = {0, 1}> { y = Squeeze(x, a) }",
        opset=13,
    ),
    "sum of a scalar": Case(
        "reduction-of-one",
        "g (int64 x) => (int64 y) { s = ReduceSum<keepdims = 0>(x) y = Neg(s) }",
        "g (int64 x) => (int64 y) { y = Neg(x) }",
        near={"an axis that a scalar lacks": "g (int64 x) => (int64 y) { s = ReduceSum<axes = [0]>(x) y = Neg(s) }"},
        opset=11,
    ),
    "sum of a scalar float": Case(
        "reduction-of-one",
        "g (float x) => (float y) { c = Abs(x) d = Sqrt(c) e = Add(d, c) s = ReduceSum(e) y = Neg(s) }",
        "g (float x) => (float y) { c = Abs(x) d = Sqrt(c) e = Add(d, c) y = Neg(e) }",
        near={"-0.0": "g (float x) => (float y) { c = Mul(x, x) d = Mul(c, x) s = ReduceSum(d) y = Neg(s) }"},
        opset=13,
    ),
    "maximum of a scalar": Case(
        "reduction-of-one",
        "g (int64 x) => (int64 y) { m = ReduceMax<keepdims = 0>(x) y = Neg(m) }",
        "g (int64 x) => (int64 y) { y = Neg(x) }",
    ),
}

RESIZES = {
    "nearest": Case(
        "resize-to-own-size",
        """g (float[N, 1, 4] x) => (float[N, 1, 4] y) <float[3] s = {1.0, 1.0, 1.0}> {
             a = Neg(x) b = Resize<mode = "nearest">(a, , s) y = Neg(b) }""",
        "g (float[N, 1, 4] x) => (float[N, 1, 4] y) { a = Neg(x) y = Neg(a) }",
        near={
            "another size": """g (float[1, 1, 4] x) => (float[1, 1, 8] y) <int64[3] s = {1, 1, 8}> {
                y = Resize<mode = "nearest">(x, , , s) }""",
            "a factor that leaves the size": """g (float[1, 1, 4] x) => (float[1, 1, 4] y) <float[3] s = {1.0, 1.0, 1.2}> {
                y = Resize<mode = "nearest">(x, , s) }""",
            "unknown factors": """g (float[1, 1, 4] x, float[3] s) => (float[1, 1, 4] y) { y = Resize<mode = "nearest">(x, , s) }""",
            "between places, of what may be infinite": """g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <int64[4] s = {1, 1, 4, 4}> {
                y = Resize<mode = "linear">(x, , , s) }""",
            "a part of it": """g (float[1, 4] x) => (float[1, 4] y) <float[4] r = {0.0, 0.0, 1.0, 0.5}, int64[2] s = {1, 4}> {
                y = Resize<mode = "nearest", coordinate_transformation_mode = "tf_crop_and_resize">(x, r, , s) }""",
            "with antialias": """g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <int64[4] s = {1, 1, 4, 4}> {
                y = Resize<mode = "linear", antialias = 1>(x, , , s) }""",
            "a size that is a limit": """g (float[1, 1, 4, 4] x) => (float[A, B, C, D] y) <int64[2] s = {4, 4}> {
                y = Resize<mode = "nearest", axes = [2, 3], keep_aspect_ratio_policy = "not_larger">(x, , , s) }""",
        },
    ),
    "cubic, of a constant": Case(
        "resize-to-own-size",
        """g (float[N, 1, 2, 2] x) => (float[N, 1, 2, 2] y) <float[1, 1, 2, 2] c = {1.0, 2.0, -3.0, 0.0}, int64[4] s = {1, 1, 2, 2}> {
             b = Resize<mode = "cubic">(c, , , s) y = Add(x, b) }""",
        """g (float[N, 1, 2, 2] x) => (float[N, 1, 2, 2] y) <float[1, 1, 2, 2] c = {1.0, 2.0, -3.0, 0.0}> { y = Add(x, c) }""",
        near={
            "it has -0.0": """g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 2, 2] c = {1.0, 2.0, -3.0, -0.0}, int64[4] s = {1, 1, 2, 2}> {
                b = Resize<mode = "cubic">(c, , , s) y = Add(x, b) }""",
        },
    ),
}
CASES |= REDUCTIONS | RESIZES


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])


OPSETS = {
    # node between two others: the opsets at which it is tried
    "{y} = Reshape({x}, t)": (7, 9, 13, 14, 15, 18, 19, 21, 23),
    "{y} = Dropout({x})": (7, 9, 10, 11, 13, 14, 15, 18, 21, 23),
    "{y} = Cast<to = 1>({x})": (7, 9, 10, 11, 13, 15, 18, 19, 21, 23),
    "{y} = Transpose<perm = [0, 1]>({x})": (7, 9, 13, 15, 18, 21, 23),
    "{y} = Concat<axis = 0>({x})": (7, 9, 11, 13, 15, 18, 21),
    "{y} = Sum({x})": (7, 8, 13, 18, 21),
}


@pytest.mark.parametrize(("node", "opset"), [(node, opset) for node, opsets in OPSETS.items() for opset in opsets])
def test_at_every_opset(node: str, opset: int) -> None:
    constants = "<int64[2] t = {-1, 4}>" if "t)" in node else ""
    inner = node.format(x="a", y="b")
    before = model(f"g (float[N, 4] x) => (float[N, 4] y) {constants} {{ a = Relu(x) {inner} y = Neg(b) }}", opset)
    after = rewritten(before)
    assert [n.op_type for n in after.graph.node] == ["Relu", "Neg"]
    if opset <= 22:
        assert_same_runs(before, after, Case("", "", ""), 20)


def test_a_signalling_nan_is_why_mean_and_float_arithmetic_stay() -> None:
    """The runtime's treatment of one: arithmetic changes its bits, data movement does not."""
    import numpy as np

    signalling = np.array([0x7F800001], "<u4").view("<f4")
    for node, is_kept in (
        ("Sum(x)", True),
        ("Max(x)", True),
        ("Min(x)", True),
        ("Add(x, z)", False),
        ("Mul(x, o)", False),
    ):
        made = model(f"g (float[1] x) => (float[1] y) <float z = {{-0.0}}, float o = {{1}}> {{ y = {node} }}")
        found = run(made, {"x": signalling})
        assert found is not None
        assert (found[0].tobytes() == signalling.tobytes()) is is_kept, node


def test_an_attribute_of_the_function_around_decides_nothing() -> None:
    """`axis` differs from call to call."""
    text = """<ir_version: 10, opset_import: ["": 21, "own": 1]>
        g (float[N, 4] x) => (float[M, K] y) { y = own.f<to = 11>(x) z = own.f<to = 1>(x) }
        <domain: "own", opset_import: ["": 21]>
        f <to>(x) => (y) { y = Cast<to: int = @to>(x) }"""
    before = onnx.parser.parse_model(text)
    after = optimize(before).proto
    assert [n.op_type for n in after.functions[0].node] == ["Cast"]
