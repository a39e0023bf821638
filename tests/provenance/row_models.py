"""Small models in ONNX's text form, with the expected verdict on their rows and whether a node is known to mix them.

Each name is `family: what is special`. A near miss differs from a proved model in one thing.
"""

from __future__ import annotations

import re
from typing import Final

HEAD: Final = '<ir_version: 8, opset_import: ["" : 17]>\n'

# name: the graph; x is float[B, 4, 6] unless the text declares inputs with `(...) =>`
PROVED: Final = {
    "elementwise: constants broadcast": "y = Add(x, c) <float[6] c = {1,2,3,4,5,6}>",
    "elementwise: two inputs": "(float[B, 4] x, float[B, 1] z) => y = Mul(x, z)",
    "elementwise: a shared input without rows": "(float[B, 4] x, float[4] z) => y = Mul(x, z)",
    "elementwise: Clip": "y = Clip(x, a, b) <float a = {-0.5}, float b = {0.5}>",
    "Where: a condition for each row": "(bool[B, 1] z, float[B, 4] x) => n = Neg(x) y = Where(z, x, n)",
    "Transpose: time first": "y = Transpose <perm = [1, 0, 2]> (x)",
    "Reshape: heads": "y = Reshape(x, s) <int64[4] s = {0, 4, 2, 3}>",
    "Reshape: merged rows": "y = Reshape(x, s) <int64[2] s = {-1, 6}>",
    "Reshape: rows inside of a merged axis": "t = Transpose <perm = [1, 0, 2]> (x) y = Reshape(t, s) <int64[2] s = {-1, 6}>",
    "Reshape: merged and split again": "m = Reshape(x, s) r = Relu(m) y = Reshape(r, t) <int64[2] s = {-1, 6}, int64[3] t = {-1, 4, 6}>",
    "Reshape: by Shape": "h = Shape(x) y = Reshape(x, h)",
    "Flatten": "y = Flatten(x)",
    "Squeeze and Unsqueeze": "u = Unsqueeze(x, a) y = Squeeze(u, a) <int64[1] a = {1}>",
    "Slice: another axis": "y = Slice(x, s, e, a) <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {1}>",
    "Slice: all rows": "y = Slice(x, s, e, a) <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {0}>",
    "Slice: times of a merged axis": "t = Transpose <perm = [1, 0, 2]> (x) m = Reshape(t, s) h = Shape(x) b = Gather(h, z) e = Mul(b, two) y = Slice(m, b, e, z) <int64[2] s = {-1, 6}, int64[1] z = {0}, int64[1] two = {2}>",
    "Split: another axis": "y, w = Split <axis = 1> (x)",
    "Split: times of a merged axis": "t = Transpose <perm = [1, 0, 2]> (x) m = Reshape(t, s) y, w = Split <axis = 0> (m) <int64[2] s = {-1, 6}>",
    "Concat: another axis": "y = Concat <axis = 1> (x, x)",
    "Concat: times of a merged axis": "t = Transpose <perm = [1, 0, 2]> (x) m = Reshape(t, s) y = Concat <axis = 0> (m, m) <int64[2] s = {-1, 6}>",
    "Concat: all rows twice": "n = Neg(x) y = Concat <axis = 0> (x, n)",
    "Concat: a class token": "h = Shape(x) b = Gather(h, z) s = Concat <axis = 0> (b, o, d) e = Expand(c, s) y = Concat <axis = 1> (e, x) <float[1, 1, 6] c = {1,2,3,4,5,6}, int64[1] z = {0}, int64[1] o = {1}, int64[1] d = {6}>",
    "Expand: a new axis": "y = Expand(x, s) <int64[4] s = {3, 1, 1, 1}>",
    "Tile: another axis": "y = Tile(x, r) <int64[3] r = {1, 2, 1}>",
    "Tile: rows repeated": "y = Tile(x, r) <int64[3] r = {2, 1, 1}>",
    "Pad: another axis": "y = Pad(x, p) <int64[6] p = {0, 1, 0, 0, 0, 2}>",
    "reduction: other axes": "y = ReduceMean <axes = [1, 2]> (x)",
    "reduction: without keepdims": "t = Transpose <perm = [1, 0, 2]> (x) y = ReduceMax <axes = [0], keepdims = 0> (t)",
    "ArgMax: another axis": "y = ArgMax <axis = 2> (x)",
    "Softmax: another axis": "y = Softmax <axis = 1> (x)",
    "LayerNormalization": "y = LayerNormalization <axis = -1> (x, c, c) <float[6] c = {1,2,3,4,5,6}>",
    "InstanceNormalization": "y = InstanceNormalization(x, c, c) <float[4] c = {1,2,3,4}>",
    "BatchNormalization: inference": "y = BatchNormalization(x, c, c, c, c) <float[4] c = {1,2,3,4}>",
    "CumSum: another axis": "y = CumSum(x, a) <int64 a = {1}>",
    "MatMul: weights": "y = MatMul(x, w) <float[6, 2] w = {1,2,3,4,5,6,7,8,9,1,2,3}>",
    "MatMul: batches": "t = Transpose <perm = [0, 2, 1]> (x) y = MatMul(x, t)",
    "MatMul: rows of a matrix": "(float[B, 4] x) => y = MatMul(x, w) <float[4, 2] w = {1,2,3,4,5,6,7,8}>",
    "MatMul: columns": "(float[B, 4] x) => t = Transpose <perm = [1, 0]> (x) y = MatMul(w, t) <float[2, 4] w = {1,2,3,4,5,6,7,8}>",
    "Gemm": "(float[B, 4] x) => y = Gemm <transB = 1> (x, w, c) <float[2, 4] w = {1,2,3,4,5,6,7,8}, float[2] c = {1, 2}>",
    "Gemm: transposed rows": "(float[B, 4] x) => t = Transpose <perm = [1, 0]> (x) y = Gemm <transA = 1> (t, w) <float[4, 2] w = {1,2,3,4,5,6,7,8}>",
    "Einsum": 'y = Einsum <equation = "bij,bkj->bik"> (x, x)',
    "Einsum: dots": 'y = Einsum <equation = "...ij,...kj->...ik"> (x, x)',
    "Conv": "y = Conv(x, w) <float[2, 4, 1] w = {1,2,3,4,5,6,7,8}>",
    "pool": "y = MaxPool <kernel_shape = [2]> (x)",
    "GlobalAveragePool": "y = GlobalAveragePool(x)",
    "TopK: another axis": "y, i = TopK <axis = 1> (x, k) <int64[1] k = {2}>",
    "OneHot": "(int64[B, 4] x) => y = OneHot(x, d, v) <int64 d = {3}, float[2] v = {0, 1}>",
    "Trilu": "y = Trilu(x)",
    "LSTM": "t = Transpose <perm = [1, 0, 2]> (x) y, h, c = LSTM <hidden_size = 1> (t, w, r) <float[1, 4, 6] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}, float[1, 4, 1] r = {1,2,3,4}>",
    "LSTM: state from rows": "t = Transpose <perm = [1, 0, 2]> (x) m = ReduceMean <axes = [0, 2]> (t) k = Mul(m, m) y, h = GRU <hidden_size = 1> (t, w, r, , , m) <float[1, 3, 6] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}, float[1, 3, 1] r = {1,2,3}>",
    "Gather: an embedding": "(int64[B, 4] x) => y = Gather(w, x) <float[3, 2] w = {1,2,3,4,5,6}>",
    "Gather: another axis": "y = Gather <axis = 1> (x, i) <int64[2] i = {3, 0}>",
    "Gather: own row of merged rows": "(float[B, 4, 6] x, float[B, 4] z) => i = ArgMax <axis = 1, keepdims = 0> (z) h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Mul(r, four) g = Add(f, i) m = Reshape(x, s) y = Gather(m, g) <int64 o = {0}, int64 one = {1}, int64 four = {4}, int64[2] s = {-1, 6}>",
    "Gather: rows by Range": "h = Shape(x) b = Gather(h, o) r = Range(o, b, one) y = Gather(x, r) <int64 o = {0}, int64 one = {1}>",
    "GatherElements": "(float[B, 4] x, int64[B, 2] z) => y = GatherElements <axis = 1> (x, z)",
    "GatherND: batch_dims": "(float[B, 4] x, int64[B, 2, 1] z) => y = GatherND <batch_dims = 1> (x, z)",
    "GatherND: row and position": "(float[B, 4, 6] x, int64[B] z) => h = Shape(x) b = Gather(h, o) r = Range(o, b, one) u = Unsqueeze(r, a) v = Unsqueeze(z, a) i = Concat <axis = 1> (u, v) y = GatherND(x, i) <int64 o = {0}, int64 one = {1}, int64[1] a = {1}>",
    "ScatterElements": "(float[B, 4] x, int64[B, 2] z, float[B, 2] u) => y = ScatterElements <axis = 1> (x, z, u)",
    "ScatterND: row and position": "(float[B, 4] x, int64[B] z, float[B] w) => h = Shape(x) b = Gather(h, o) r = Range(o, b, one) u = Unsqueeze(r, a) v = Unsqueeze(z, a) i = Concat <axis = 1> (u, v) y = ScatterND(x, i, w) <int64 o = {0}, int64 one = {1}, int64[1] a = {1}>",
    "Shape: of another axis": "h = Shape(x) n = Gather(h, i) f = Cast <to = 1> (n) y = Div(x, f) <int64 i = {1}>",
    "ConstantOfShape": "h = Shape(x) z = ConstantOfShape(h) y = Add(x, z)",
    "If: a constant condition": "y = If (k) <then_branch = t () => (float[N, M, P] r) { r = Relu(x) }, else_branch = e () => (float[N, M, P] r) { r = Neg(x) }> <bool k = {1}>",
    "Loop": "y = Loop (n, k, x) <body = b (int64 i, bool c, float[N, M, P] v) => (bool d, float[N, M, P] w) { d = Identity(c) w = Sin(v) }> <int64 n = {3}, bool k = {1}>",
    "Scan: over another axis": "t = Transpose <perm = [1, 0, 2]> (x) y = Scan <num_scan_inputs = 1, body = b (float[N, P] v) => (float[N, P] w) { w = Sin(v) }> (t)",
    "quantization: a constant scale": "q = QuantizeLinear(x, s) y = DequantizeLinear(q, s) <float s = {0.5}>",
    "Resize: other axes": "y = Resize(x, , s) <float[3] s = {1, 2, 1}>",
    "ReverseSequence": "(float[4, B, 6] x, int64[B] z) => y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, z)",
    "Dropout: inference": "y = Dropout(x)",
    "no rows at all": "h = Shape(x) n = Gather(h, i) y = Cast <to = 1> (n) <int64 i = {1}>",
    "DepthToSpace": "(float[B, 4, 2, 2] x) => y = DepthToSpace <blocksize = 2> (x)",
    "number of a row: quotient and remainder": "(float[B, 4] x) => h = Shape(x) s = ReduceProd(h) r = Range(o, s, one) p = Mod(r, four) f = Reshape(x, m) k = Div(r, four) t = Mul(k, four) g = Add(t, p) q = Gather(f, g) n = Unsqueeze(q, a) y = Reshape(n, e) <int64 o = {0}, int64 one = {1}, int64 four = {4}, int64[1] m = {-1}, int64[1] a = {1}, int64[2] e = {-1, 4}>",
}  # fmt: skip

MIXED: Final = {
    "Range: compared": "h = Shape(x) b = Gather(h, o) r = Range(o, b, one) k = Less(r, one) f = Cast <to = 1> (k) u = Unsqueeze(f, a) y = Mul(x, u) <int64 o = {0}, int64 one = {1}, int64[2] a = {1, 2}>",
    "ScatterElements: the first row": "(float[B, 4] x) => y = ScatterElements <axis = 0> (x, i, c) <int64[1, 4] i = {0, 0, 0, 0}, float[1, 4] c = {1, 2, 3, 4}>",
    "MaxPool: indices": "y, i = MaxPool <kernel_shape = [2]> (x)",
    "Slice: up to an input": "(float[B, 4] x, int64[B] z) => m = ReduceMax(z) e = Reshape(m, o) s = Slice(x, n, e, o) y = Relu(s) <int64[1] n = {0}, int64[1] o = {1}>",
    "elementwise: rows with each other row": "(float[B, 1] x) => t = Transpose <perm = [1, 0]> (x) y = Add(x, t)",
    "elementwise: batch and time exchanged": "(float[B, B2, 6] x) => y = Relu(x) u = ReduceMean <axes = [0]> (x) w = Add(y, u)",
    "Slice: some rows": "y = Slice(x, s, e, a) <int64[1] s = {1}, int64[1] e = {9223372036854775807}, int64[1] a = {0}>",
    "Slice: rows in reverse": "y = Slice(x, s, e, a, t) <int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, int64[1] a = {0}, int64[1] t = {-1}>",
    "Concat: a row more": "y = Concat <axis = 0> (x, c) <float[1, 4, 6] c = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}>",
    "Pad: rows": "y = Pad(x, p) <int64[6] p = {1, 0, 0, 0, 0, 0}>",
    "Pad: rows moved by one": "y = Pad(x, p) <int64[6] p = {1, 0, 0, -1, 0, 0}>",
    "reduction: rows": "m = ReduceMean <axes = [0]> (x) y = Sub(x, m)",
    "reduction: all axes": "m = ReduceMax(x) y = Sub(x, m)",
    "reduction: rows inside of a merged axis": "s = Reshape(x, t) m = ReduceSum(s, a) y = Sub(s, m) <int64[2] t = {-1, 6}, int64[1] a = {0}>",
    "Softmax: rows": "y = Softmax <axis = 0> (x)",
    "Softmax: merged rows": "m = Reshape(x, s) y = Softmax <axis = 0> (m) <int64[2] s = {-1, 6}>",
    "BatchNormalization: training": "y, m, v = BatchNormalization <training_mode = 1> (x, c, c, c, c) <float[4] c = {1,2,3,4}>",
    "InstanceNormalization: rows as time": "t = Transpose <perm = [2, 1, 0]> (x) y = InstanceNormalization(t, c, c) <float[4] c = {1,2,3,4}>",
    "MeanVarianceNormalization": "(float[B, 4, 2, 2] x) => y = MeanVarianceNormalization(x)",
    "CumSum: rows": "y = CumSum(x, a) <int64 a = {0}>",
    "MatMul: contracts rows": "(float[B, 4] x) => t = Transpose <perm = [1, 0]> (x) m = MatMul(t, x) y = MatMul(x, m)",
    "MatMul: rows with rows": "(float[B, 4] x) => t = Transpose <perm = [1, 0]> (x) y = MatMul(x, t)",
    "Gemm: contracts rows": "(float[B, 4] x) => m = Gemm <transA = 1> (x, x) y = Gemm(x, m)",
    "Einsum: contracts rows": 'm = Einsum <equation = "bij,bik->jk"> (x, x) y = MatMul(x, m)',
    "Conv: rows as time": "t = Transpose <perm = [1, 2, 0]> (x) y = Conv <pads = [1, 1]> (t, w) <float[2, 6, 3] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}>",
    "pool: rows as time": "t = Transpose <perm = [1, 2, 0]> (x) y = MaxPool <kernel_shape = [2], pads = [0, 1]> (t)",
    "TopK: rows": "y, i = TopK <axis = 0> (x, k) <int64[1] k = {1}>",
    "Trilu: rows": "(float[B, 4] x) => y = Trilu(x)",
    "LSTM: rows as time": "y, h, c = LSTM <hidden_size = 1> (x, w, r) <float[1, 4, 6] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}, float[1, 4, 1] r = {1,2,3,4}>",
    "Gather: the first row": "r = Gather(x, i) y = Add(x, r) <int64 i = {0}>",
    "Gather: a row from the input": "(float[B, 4] x, int64[B] z) => y = Gather(x, z)",
    "Gather: merged rows without the row": "(float[B, 4, 6] x, float[B, 4] z) => i = ArgMax <axis = 1, keepdims = 0> (z) m = Reshape(x, s) y = Gather(m, i) <int64[2] s = {-1, 6}>",
    "Gather: merged rows, another stride": "(float[B, 4, 6] x, float[B, 4] z) => i = ArgMax <axis = 1, keepdims = 0> (z) h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Mul(r, four) g = Add(f, i) m = Reshape(x, s) y = Gather(m, g) <int64 o = {0}, int64 one = {1}, int64 four = {3}, int64[2] s = {-1, 6}>",
    "Gather: an offset out of the row": "(float[B, 4, 6] x) => h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Mul(r, four) g = Sub(f, one) m = Reshape(x, s) y = Gather(m, g) <int64 o = {0}, int64 one = {1}, int64 four = {4}, int64[2] s = {-1, 6}>",
    "Gather: an offset that is not bounded": "(float[B, 4, 6] x, int64[B] z) => h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Mul(r, four) g = Add(f, z) m = Reshape(x, s) y = Gather(m, g) <int64 o = {0}, int64 one = {1}, int64 four = {4}, int64[2] s = {-1, 6}>",
    "Gather: columns exchanged": "(float[B, 4, 6] x, int64[B] z) => h = Shape(x) b = Gather(h, o) r = Range(o, b, one) u = Unsqueeze(r, a) v = Unsqueeze(z, a) i = Concat <axis = 1> (v, u) y = GatherND(x, i) <int64 o = {0}, int64 one = {1}, int64[1] a = {1}>",
    "GatherElements: rows": "(float[B, 4] x, int64[B, 4] z) => y = GatherElements <axis = 0> (x, z)",
    "GatherND: rows from the input": "(float[B, 4] x, int64[B, 1] z) => y = GatherND(x, z)",
    "ScatterElements: rows": "(float[B, 4] x, int64[B, 4] z, float[B, 4] u) => y = ScatterElements <axis = 0> (x, z, u)",
    "ScatterND: rows from the input": "(float[B, 4] x, int64[B, 1] z, float[B, 4] u) => y = ScatterND(x, z, u)",
    "Shape: divided by the number of rows": "h = Shape(x) n = Gather(h, i) f = Cast <to = 1> (n) y = Div(x, f) <int64 i = {0}>",
    "Shape: the number of rows": "h = Shape(x) y = Gather(h, i) z = Relu(x) <int64 i = {0}>",
    "Range: the number of the row": "h = Shape(x) b = Gather(h, o) r = Range(o, b, one) f = Cast <to = 1> (r) u = Unsqueeze(f, a) y = Add(x, u) <int64 o = {0}, int64 one = {1}, int64[2] a = {1, 2}>",
    "Range: an output": "h = Shape(x) b = Gather(h, o) y = Range(o, b, one) z = Relu(x) <int64 o = {0}, int64 one = {1}>",
    "ones summed over rows": "h = Shape(x) u = ConstantOfShape <value = float[1] {1}> (h) s = ReduceSum(u, a) y = Div(x, s) <int64[1] a = {0}>",
    "If: a condition of all rows": "m = ReduceMax <keepdims = 0> (x) k = Greater(m, o) y = If (k) <then_branch = t () => (float[N, M, P] r) { r = Relu(x) }, else_branch = e () => (float[N, M, P] r) { r = Neg(x) }> <float o = {0}>",
    "If: a branch that mixes": "y = If (q) <then_branch = t () => (float[N, M, P] r) { r = Relu(x) }, else_branch = e () => (float[N, M, P] r) { r = Softmax <axis = 0> (x) }>",
    "Loop: the body mixes": "y = Loop (n, k, x) <body = b (int64 i, bool c, float[N, M, P] v) => (bool d, float[N, M, P] w) { d = Identity(c) w = Softmax <axis = 0> (v) }> <int64 n = {3}, bool k = {1}>",
    "Loop: until all rows are done": "y = Loop (n, k, x) <body = b (int64 i, bool c, float[N, M, P] v) => (bool d, float[N, M, P] w) { w = Sin(v) m = ReduceMax <keepdims = 0> (w) d = Greater(m, h) h = Constant <value_float = 0.5> () }> <int64 n = {3}, bool k = {1}>",
    "Scan: over the rows": "(float[B, 4] x) => y, z = Scan <num_scan_inputs = 1, body = b (float[4] v, float[4] u) => (float[4] w, float[4] r) { w = Add(v, u) r = Identity(w) }> (c, x) <float[4] c = {1,2,3,4}>",
    "dynamic quantization": "q, s, p = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, p)",
    "Resize: rows": "y = Resize(x, , s) <float[3] s = {2, 1, 1}>",
    "Tile: rows repeated, then added to others": "(float[B, 4] x) => t = Tile(x, r) u = Reshape(t, s) v = Transpose <perm = [1, 0, 2]> (u) w = Reshape(v, f) e = Reshape(t, f) y = Add(w, e) <int64[2] r = {2, 1}, int64[3] s = {2, -1, 4}, int64[2] f = {-1, 4}>",
    "merged axes in another order": "t = Transpose <perm = [1, 0, 2]> (x) a = Reshape(t, s) b = Reshape(x, s) y = Add(a, b) <int64[2] s = {-1, 6}>",
    "Reshape: split after merging in another order": "t = Transpose <perm = [1, 0, 2]> (x) a = Reshape(t, s) y = Reshape(a, q) m = ReduceMean <axes = [1]> (y) <int64[2] s = {-1, 6}, int64[3] q = {-1, 4, 6}>",
}  # fmt: skip

OPEN: Final = {
    "ConstantOfShape: a size from elements": "(float[B, 4] x, int64[B] z) => m = ReduceMax(z) y = ConstantOfShape(m) w = Relu(x)",
    "RandomUniform": "r = RandomUniform <shape = [4, 6]> () y = Add(x, r)",
    "softmax of a constant over rows": "h = Shape(x) u = ConstantOfShape(h) s = Softmax <axis = 0> (u) y = Mul(x, s)",
    "NonZero": "y = NonZero(x)",
    "Unique": "y = Unique(x)",
    "random numbers": "r = RandomUniformLike(x) y = Add(x, r)",
    "Compress: rows": "(float[B, 4] x, bool[B] z) => y = Compress <axis = 0> (x, z)",
    "Dropout: training": "y = Dropout(x, r, t) <float r = {0.5}, bool t = {1}>",
    "Reshape: by an input": "(float[B, 4] x, int64[2] z) => y = Reshape(x, z)",
    "two axes of rows": "(float[B, B] x) => y = Relu(x)",
}  # fmt: skip


def model_text(text: str) -> str:
    """The whole model of a case; each value that no node reads is an output, `q` an input without rows."""
    signature, arrow, body = text.partition(" => ") if text.startswith("(") else ("", "", text)
    inputs = signature.strip("() ") if arrow else "float[B, 4, 6] x"
    nodes, constants = body, ""
    found = re.search(r" <((?:(?:float|int64|bool)(?:\[[^\]]*\])? \w+ = \{[^}]*\}(?:, )?)+)>$", body)
    if found is not None:
        nodes, constants = body[: found.start()], found[1]
    if re.search(r"\(q\)", nodes):
        inputs += ", bool q"
    flat = re.sub(r"\{[^{}]*\}", "", nodes)
    made = [name for group in re.findall(r"(?:^| )(\w+(?:, \w+)*) = [A-Z]", flat) for name in group.split(", ")]
    read = set(re.findall(r"\w+", " ".join(re.findall(r"\(([^()]*)\)", nodes))))
    outputs = [name for name in made if name not in read]
    nodes = re.sub(r"(?<=[)>]) (?=\w+(?:, \w+)* = [A-Z])", "\n  ", nodes)
    weights = f" <{constants}>" if constants else ""
    return f"{HEAD}g ({inputs}) => ({', '.join(outputs)}){weights} {{\n  {nodes}\n}}"
