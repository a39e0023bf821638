"""Small models of the kinds on which onnxruntime's symbolic_shape_infer fails or failed, by issue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final

import numpy as np
from onnx import ModelProto, numpy_helper, parser


@dataclass(frozen=True, slots=True)
class Kind:
    """A model in onnx's text form, and the shapes of its outputs according to the operators' specifications.

    issue     where users report the kind
    outputs   output -> its dims, as in a dim_param; None for a dim that depends on data
    script    how the script of onnxruntime 1.32 ends: the beginning of its exception, "" if it writes a model
    merge     --auto_merge is given, to the script and to the drop-in
    weights   initializers: name -> element type and shape
    feeds     elements of inputs that decide about sizes
    """

    issue: str
    text: str
    outputs: dict[str, tuple[int | str | None, ...]]
    script: str = ""
    merge: bool = False
    opset: int = 17
    domains: str = ""
    weights: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    feeds: Mapping[str, object] = field(default_factory=dict)

    def model(self) -> ModelProto:
        header = f'<ir_version: 8, opset_import: ["" : {self.opset}{self.domains}]>'
        model = parser.parse_model(f"{header} g {self.text}")
        for name, (dtype, shape) in self.weights.items():
            elements = np.arange(prod(shape)) % 7 if dtype.startswith("uint") else np.arange(prod(shape)) % shape[-1]
            model.graph.initializer.append(numpy_helper.from_array(elements.astype(dtype).reshape(shape), name))
        return model


_MICROSOFT = ', "com.microsoft" : 1'

KINDS: Final = {
    "position embeddings": Kind(
        "onnxruntime#10484",
        """(int64[batch, seq] ids) => (float[a, b, 4] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64 at = {1}>
        {
            sizes = Shape (ids)
            length = Gather <axis = 0> (sizes, at)
            end = Unsqueeze (length, zero)
            used = Slice (numbers, zero, end, one, one)
            place = Gather <axis = 0> (places, used)
            word = Gather <axis = 0> (words, ids)
            y = Add (word, place)
        }""",
        {"y": ("batch", "seq", 4)},
        "Exception: Incomplete symbolic shape inference",
        weights={"words": ("float32", (100, 4)), "places": ("float32", (32, 4)), "numbers": ("int64", (1, 32))},
    ),
    "patches of a padded image": Kind(
        "onnxruntime#21120",
        """(float[n, 3, h, w] x) => (float[a, 12, b, c] y)
        <int64 two = {2}, int64[4] zeros = {0, 0, 0, 0}, int64[2] none = {0, 0}, int64[1] a2 = {2}, int64[1] a3 = {3},
         int64[1] from0 = {0}, int64[1] from1 = {1}, int64[1] end = {9223372036854775807}, int64[1] step = {2},
         int64 at2 = {2}, int64 at3 = {3}, int64[1] front = {0}>
        {
            sizes = Shape (x)
            height = Gather <axis = 0> (sizes, at2)
            width = Gather <axis = 0> (sizes, at3)
            odd_h = Mod (height, two)
            odd_w = Mod (width, two)
            below = Unsqueeze (odd_h, front)
            right = Unsqueeze (odd_w, front)
            pads = Concat <axis = 0> (zeros, none, below, right)
            padded = Pad (x, pads)
            even_h = Slice (padded, from0, end, a2, step)
            odd_rows = Slice (padded, from1, end, a2, step)
            p00 = Slice (even_h, from0, end, a3, step)
            p01 = Slice (even_h, from1, end, a3, step)
            p10 = Slice (odd_rows, from0, end, a3, step)
            p11 = Slice (odd_rows, from1, end, a3, step)
            y = Concat <axis = 1> (p00, p10, p01, p11)
        }""",
        {"y": ("n", 12, "(h + 1)//2", "(w + 1)//2")},
        "Exception: Incomplete symbolic shape inference",
    ),
    "a reduction with its axes as an input": Kind(
        "onnxruntime#22662",
        """(float[batch, seq] x) => (float[a, b] y) <int64[1] axes = {-1}>
        {
            top = ReduceMax (x, axes)
            y = Sub (x, top)
        }""",
        {"y": ("batch", "seq")},
        "TypeError: object of type 'NoneType' has no len()",
        opset=18,
    ),
    "a target of Expand from data, merged": Kind(
        "onnxruntime#15898",
        """(float[batch, 1] x, int64[2] target) => (float[a, b] y) { y = Expand (x, target) }""",
        {"y": (None, None)},
        "AssertionError",
        merge=True,
        feeds={"target": [2, 5]},
    ),
    "MatMulNBits": Kind(
        "onnxruntime#21194",
        """(float[batch, seq, 64] x) => (float[a, b, 32] y)
        {
            y = com.microsoft.MatMulNBits <K = 64, N = 32, bits = 4, block_size = 32> (x, w, scales)
        }""",
        {"y": ("batch", "seq", 32)},
        domains=_MICROSOFT,
        weights={"w": ("uint8", (32, 2, 16)), "scales": ("float32", (64,))},
    ),
    "MatMulBnb4": Kind(
        "onnxruntime#21194",
        """(float[batch, seq, 64] x) => (float[a, b, 32] y)
        {
            y = com.microsoft.MatMulBnb4 <K = 64, N = 32, block_size = 64, quant_type = 1> (x, w, absmax)
        }""",
        {"y": ("batch", "seq", 32)},
        "Exception: Incomplete symbolic shape inference",
        domains=_MICROSOFT,
        weights={"w": ("uint8", (1024,)), "absmax": ("float32", (32,))},
    ),
    "DynamicQuantizeMatMul": Kind(
        "onnxruntime#21194",
        """(float[batch, seq, 64] x) => (float[a, b, 32] y)
        {
            y = com.microsoft.DynamicQuantizeMatMul (x, w, scale)
        }""",
        {"y": ("batch", "seq", 32)},
        "Exception: Incomplete symbolic shape inference",
        domains=_MICROSOFT,
        weights={"w": ("uint8", (64, 32)), "scale": ("float32", (1,))},
    ),
    "boxes that NonMaxSuppression selects": Kind(
        "onnxruntime#21476",
        """(float[1, 1000, 4] boxes, float[1, 1, 1000] scores, float[300] weights) => (float[a] y)
        <int64 most = {300}, float limit = {0.5}, int64[1] column = {2}, int64 c = {2}>
        {
            selected = NonMaxSuppression (boxes, scores, most, limit)
            index = Gather <axis = 1> (selected, c)
            values = Cast <to = 1> (index)
            kept = Greater (values, weights)
            y = Where (kept, values, weights)
        }""",
        {"y": (300,)},
    ),
    "a loop that fills a sequence": Kind(
        "onnxruntime#8755",
        """(float[batch, 4] x, int64 count) => (float[a, 4] y)
        {
            empty = SequenceEmpty <dtype = 1> ()
            all = Loop (count, "", empty) <body = body (int64 i, bool go, seq(float[?, 4]) before)
                => (bool again, seq(float[?, 4]) after)
                { again = Identity (go) doubled = Add (x, x) after = SequenceInsert (before, doubled) }>
            y = ConcatFromSequence <axis = 0> (all)
        }""",
        {"y": (None, 4)},
        "KeyError: ''",
        feeds={"count": 2},
    ),
    "a loop that lengthens a sentence": Kind(
        "onnxruntime#8314",
        """(int64[batch, seq] ids, int64 steps) => (int64[a, b] y)
        {
            y = Loop (steps, "", ids) <body = body (int64 i, bool go, int64[batch, length] before)
                => (bool again, int64[batch, longer] after)
                {
                    again = Identity (go)
                    end = Constant <value = int64[1] {-1}> ()
                    last = Gather <axis = 1> (before, end)
                    after = Concat <axis = 1> (before, last)
                }>
        }""",
        {"y": ("batch", None)},
        "KeyError: ''",
        feeds={"steps": 3},
    ),
    "columns of sizes": Kind(
        "onnx/models#562",
        """(float[h, w] x) => (int64[1, 2] y)
        <int64[1] zero = {0}, int64 at0 = {0}, int64 at1 = {1}, int64[2] both = {0, 1}>
        {
            sizes = Shape (x)
            height = Gather <axis = 0> (sizes, at0)
            width = Gather <axis = 0> (sizes, at1)
            first = Unsqueeze (height, both)
            second = Unsqueeze (width, both)
            y = Concat <axis = 1> (first, second)
        }""",
        {"y": (1, 2)},
        "AssertionError",
    ),
    "QLinearConcat": Kind(
        "onnx/models#562",
        """(uint8[n, 4, h, w] x, uint8[n, 6, h, w] z) => (uint8[a, 10, b, c] y) <float s = {1}, uint8 p = {0}>
        {
            y = com.microsoft.QLinearConcat <axis = 1> (s, p, x, s, p, z, s, p)
        }""",
        {"y": ("n", 10, "h", "w")},
        "Exception: Incomplete symbolic shape inference",
        domains=_MICROSOFT,
    ),
    "QLinearAdd": Kind(
        "onnxruntime#24028",
        """(uint8[n, 4] x, uint8[n, 4] z) => (uint8[a, 4] y) <float s = {1}, uint8 p = {0}>
        {
            y = com.microsoft.QLinearAdd (x, s, p, z, s, p, s, p)
        }""",
        {"y": ("n", 4)},
        domains=_MICROSOFT,
    ),
    "negative axes": Kind(
        "onnxruntime#23868",
        """(float[n, 1024, 7, 7] x) => (float[a, 1024] y) <int64[2] axes = {-1, -2}, int64[2] shape = {0, -1}>
        {
            mean = ReduceMean (x, axes)
            y = Reshape (mean, shape)
        }""",
        {"y": ("n", 1024)},
        opset=20,
    ),
    "a loop over the elements of an input": Kind(
        "onnxruntime#24495",
        """(int32[5] x) => (int32[] y)
        {
            count = Size (x)
            yes = Constant <value = bool {1}> ()
            zero = Constant <value = int32 {0}> ()
            y = Loop (count, yes, zero) <body = body (int64 i, bool go, int32 before) => (bool again, int32 after)
                { again = Identity (go) element = Gather <axis = 0> (x, i) after = Add (before, element) }>
        }""",
        {"y": ()},
    ),
    "Range of one-element tensors": Kind(
        "onnxruntime#29762",
        """(float[batch, seq] x) => (int64[a] y) <int64[1] zero = {0}, int64[1] one = {1}>
        {
            end = Shape <start = 1, end = 2> (x)
            y = Range (zero, end, one)
        }""",
        {"y": ("seq",)},
    ),
    "a part of a shape": Kind(
        "onnxruntime#28075",
        """(float[batch, seq, 8] x, float[k, 8] z) => (float[a, b, 8] y) <int64[1] eight = {8}>
        {
            start = Shape <start = 0, end = 2> (x)
            target = Concat <axis = 0> (start, eight)
            flat = Reshape (x, target)
            y = Add (flat, x)
        }""",
        {"y": ("batch", "seq", 8)},
    ),
    "a slice without a known end": Kind(
        "onnxruntime#15210",
        """(float[batch, seq] x, int64[1] end) => (float[a, b] y, int64[1] sizes)
        <int64[1] zero = {0}, int64[1] one = {1}>
        {
            s = Shape (x)
            part = Slice (s, zero, end, zero)
            y = Slice (x, zero, end, one)
            sizes = Slice (s, one, end, zero)
        }""",
        {"y": ("batch", None), "sizes": (None,)},
        feeds={"end": [2]},
    ),
}
