"""Transpose, Concat, Split, Slice, Pad, Resize, DepthToSpace and the other operators that move data."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import concat, movement, pad, resize
from gather_infer.ops.onnx import slice as slicing
from gather_infer.symbolic import Dim, evaluate, maximum, minimum, symbol
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, from_values, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import elements, ints

B, S, N, H, P = map(symbol, ["B", "S", "N", "H", "P"])
END, FRONT = 2**63 - 1, -(2**63)


def floats(*elements: float) -> SymbolicTensor:
    return from_values(DType.FLOAT32, make_values(list(elements)))


def bools(*elements: bool) -> SymbolicTensor:
    return from_values(DType.BOOL, make_values(list(elements)))


def learnt(context: Context) -> set[str]:
    return {str(fact) for fact in context.scope.facts}


MOVES = {
    # id:                       (rules,    op,               inputs,                               attributes,                      result)
    "transpose":                (movement, "Transpose",      [(B, S, 3)],                          {"perm": (0, 2, 1)},             (B, 3, S)),
    "transpose reversed":       (movement, "Transpose",      [(B, S, 3)],                          {},                              (3, S, B)),
    "transpose scalar":         (movement, "Transpose",      [()],                                 {},                              ()),
    "transpose unranked":       (movement, "Transpose",      [UNRANKED],                           {},                              None),
    "depth to space":           (movement, "DepthToSpace",   [(B, 12, H, 3)],                      {"blocksize": 2},                (B, 3, 2 * H, 6)),
    "space to depth":           (movement, "SpaceToDepth",   [(B, 3, 2 * H, 6)],                   {"blocksize": 2},                (B, 12, H, 3)),
    "reverse sequence":         (movement, "ReverseSequence", [(S, B, 4), SymbolicTensor(DType.INT64, (B,))], {},                   (S, B, 4)),
    "compress":                 (movement, "Compress",       [(3, S), bools(True, False, True)],   {"axis": 0},                     (2, S)),
    "compress flattened":       (movement, "Compress",       [(2, 2), bools(True, False, True)],   {},                              (2,)),
    "concat":                   (concat,   "Concat",         [(B, P, 4), (B, S, 4)],               {"axis": 1},                     (B, P + S, 4)),
    "concat negative":          (concat,   "Concat",         [(B, 2), (B, 0)],                     {"axis": -1},                    (B, 2)),
    "concat takes numbers":     (concat,   "Concat",         [(N, 2), (3, 2)],                     {"axis": 1},                     (3, 4)),
    "concat unranked":          (concat,   "Concat",         [UNRANKED, UNRANKED],                 {"axis": 0},                     None),
    "pad":                      (pad,      "Pad",            [(B, S), ints(0, 1, 0, 2)],           {},                              (B, S + 3)),
    "pad cuts":                 (pad,      "Pad",            [(4, 5), ints(0, -1, 0, -2)],         {},                              (4, 2)),
    "pad unranked":             (pad,      "Pad",            [UNRANKED, SymbolicTensor(DType.INT64, (N,))], {},                     None),
    "center crop pad":          (pad,      "CenterCropPad",  [(B, S, 3), ints(4, N)],              {"axes": (-2, 0)},               (N, 4, 3)),
    "col2im":                   (pad,      "Col2Im",         [(B, 12, S), ints(H, 5), ints(2, 2)], {},                              (B, 3, H, 5)),
    "grid sample":              (pad,      "GridSample",     [(B, 3, H, H), (B, S, 7, 2)],         {},                              (B, 3, S, 7)),
    "affine grid":              (pad,      "AffineGrid",     [(B, 2, 3), ints(B, 3, H, 7)],        {},                              (B, H, 7, 2)),
    "resize sizes":             (resize,   "Resize",         [(B, 3, H, 8), None, None, ints(B, 3, N, 16)], {},                     (B, 3, N, 16)),
    "resize scales":            (resize,   "Resize",         [(B, 3, H, 8), None, floats(1, 1, 2, 0.5)], {},                        (B, 3, 2 * H, 4)),
    "resize halves":            (resize,   "Resize",         [(B, 3, H, 7), None, floats(1, 1, 0.5, 0.5)], {},                      (B, 3, H // 2, 3)),
    "resize empty scales":      (resize,   "Resize",         [(1, 3, 4, 4), None, floats(), ints(1, 3, N, 8)], {},                  (1, 3, N, 8)),
    "resize axes":              (resize,   "Resize",         [(B, 3, H, 8), None, floats(3)],      {"axes": (2,)},                  (B, 3, 3 * H, 8)),
    "resize rounds in float32": (resize,   "Resize",         [(1, 1, 10, 10), None, floats(1, 1, 0.6000000238418579, 1.2999999523162842)], {}, (1, 1, 6, 13)),
    "resize not larger":        (resize,   "Resize",         [(1, 1, 4, 8), None, None, ints(8, 8)], {"axes": (2, 3), "keep_aspect_ratio_policy": "not_larger"}, (1, 1, 4, 8)),
    "resize unranked":          (resize,   "Resize",         [UNRANKED, None, floats(1, 2)],       {},                              None),
}  # fmt: skip


@pytest.mark.parametrize("module, name, inputs, attributes, result", MOVES.values(), ids=MOVES)
def test_shapes(module: Any, name: str, inputs: Any, attributes: Any, result: Any) -> None:
    (found,) = call(module.rules, name, inputs, version=20, **attributes)
    assert found.shape == result


OLD = {
    # id:              (rules,   op,         version, inputs,                    attributes,                            result)
    "concat 1":        (concat,  "Concat",   1,       [(B, 2), (B, 3)],          {},                                    (B, 5)),
    "pad 1":           (pad,     "Pad",      1,       [(B, 2)],                  {"paddings": (0, 1, 0, 1)},            (B, 4)),
    "pad 2":           (pad,     "Pad",      2,       [(B, 2)],                  {"pads": (0, 1, 0, 1)},                (B, 4)),
    "upsample 1":      (resize,  "Upsample", 1,       [(B, 3, H, 5)],            {"height_scale": 2.0, "width_scale": 1.5}, (B, 3, 2 * H, 7)),
    "upsample 7":      (resize,  "Upsample", 7,       [(B, 3, H, 5)],            {"scales": (1.0, 1.0, 2.0, 2.0)},      (B, 3, 2 * H, 10)),
    "upsample 9":      (resize,  "Upsample", 9,       [(B, H), floats(1, 3)],    {},                                    (B, 3 * H)),
    "resize 10":       (resize,  "Resize",   10,      [(B, H), floats(1, 0.5)],  {},                                    (B, H // 2)),
    "slice 1":         (slicing, "Slice",    1,       [(B, S, 5)],               {"starts": (0, 1), "ends": (-1, 9), "axes": (1, 2)}, (B, maximum(0, S - 1), 4)),
}  # fmt: skip


@pytest.mark.parametrize("module, name, version, inputs, attributes, result", OLD.values(), ids=OLD)
def test_shapes_in_older_opsets(
    module: Any, name: str, version: int, inputs: Any, attributes: Any, result: Any
) -> None:
    (found,) = call(module.rules, name, inputs, version=version, **attributes)
    assert found.shape == result


SLICES = {
    # id:                       (dim,   start,   end,     step,  length)
    "static":                   (10,    2,       7,       2,     3),
    "x[-3:]":                   (S,     -3,      END,     1,     minimum(S, 3)),
    "x[:5]":                    (S,     0,       5,       1,     minimum(S, 5)),
    "x[:-1]":                   (S,     0,       -1,      1,     maximum(0, S - 1)),
    "x[1:]":                    (S,     1,       END,     1,     maximum(0, S - 1)),
    "x[-3:-1]":                 (S,     -3,      -1,      1,     maximum(0, minimum(2, S - 1))),
    "x[::2]":                   (S,     0,       END,     2,     (S + 1) // 2),
    "x[1::2]":                  (S,     1,       2**31 - 1, 2,   S // 2),
    "x[::-1]":                  (S,     -1,      FRONT,   -1,    S),
    "x[::-2]":                  (S,     -1,      FRONT,   -2,    (S + 1) // 2),
    "x[2::-1]":                 (S,     2,       FRONT,   -1,    minimum(S, 3)),
    "x[:n] of n":               (S,     0,       S,       1,     S),
    "x[:seq]":                  (N,     0,       S,       1,     minimum(N, S)),
    "x[past:past + seq]":       (N,     P,       P + S,   1,     maximum(0, minimum(S, N - P))),
    "x[past:] of past + seq":   (P + S, P,       END,     1,     S),
    "x[total - seq:total]":     (P + S, P,       P + S,   1,     S),
    "past the end":             (4,     9,       END,     1,     0),
    "zero dim":                 (0,     0,       5,       1,     0),
    "zero dim backward":        (0,     -1,      FRONT,   -1,    0),
    "before the front":         (5,     -9,      FRONT,   -1,    1),
}  # fmt: skip


@pytest.mark.parametrize("dim, start, end, step, length", SLICES.values(), ids=SLICES)
def test_slice(dim: Dim, start: Dim, end: Dim, step: int, length: Dim) -> None:
    (found,) = call(slicing.rules, "Slice", [(3, dim), ints(start), ints(end), ints(1), ints(step)])
    assert found.shape == (3, length)


def test_a_start_of_minus_n_assumes_that_n_is_not_zero() -> None:
    context = Context()
    (found,) = call(slicing.rules, "Slice", [(N,), ints(-S), ints(END)], context=context)
    assert found.shape == (minimum(N, S),)
    assert [str(a.dim) for a in context.assumptions] == ["S"]


def test_a_part_between_unknown_ends_is_not_longer_than_the_whole() -> None:
    context = Context()
    (found,) = call(slicing.rules, "Slice", [(N,), ints(None), ints(5)], context=context)
    (dim,) = found.shape
    assert dim.is_symbol and str(N - dim) in learnt(context) and context.scope.bounds(dim).hi == 5


def test_slice_with_unknown_axes_preserves_the_rank() -> None:
    unknown = SymbolicTensor(DType.INT64, (1,))
    (found,) = call(slicing.rules, "Slice", [(B, S), ints(0), ints(1), unknown])
    assert found.rank == 2
    (found,) = call(slicing.rules, "Slice", [(S,), ints(0), ints(1), unknown])
    assert found.shape == (minimum(S, 1),)


SPLITS = {
    # id:                       (version, dim,   split,          attributes,            lengths)
    "equal":                    (13,      6,     None,           {},                    [3, 3]),
    "equal symbolic":           (13,      2 * S, None,           {},                    [S, S]),
    "lengths":                  (13,      6,     ints(2, 4),     {},                    [2, 4]),
    "attribute":                (11,      S,     None,           {"split": (2, 4)},     [2, 4]),
    "symbolic lengths":         (13,      P + S, ints(P, S),     {},                    [P, S]),
    "one unknown":              (13,      S,     ints(2, None),  {},                    [2, S - 2]),
    "uneven":                   (18,      7,     None,           {"num_outputs": 2},    [4, 3]),
    "uneven symbolic":          (18,      S,     None,           {"num_outputs": 2},    [(S + 1) // 2, S // 2]),
}  # fmt: skip


@pytest.mark.parametrize("version, dim, given, attributes, lengths", SPLITS.values(), ids=SPLITS)
def test_split(version: int, dim: Dim, given: Any, attributes: Any, lengths: list[Dim]) -> None:
    inputs = [(3, dim)] if given is None else [(3, dim), given]
    found = call(concat.rules, "Split", inputs, version=version, outputs=len(lengths), axis=1, **attributes)
    assert [part.shape for part in found] == [(3, length) for length in lengths]


VALUES = {
    # id:                (rules,    op,          inputs,                                     attributes,      values)
    "concat":            (concat,   "Concat",    [ints(B), ints(3, None), ints()],           {"axis": 0},     [B, 3, None]),
    "slice":             (slicing,  "Slice",     [ints(B, S, 3), ints(-2), ints(END)],       {},              [S, 3]),
    "slice backward":    (slicing,  "Slice",     [ints(B, S, 3), ints(-1), ints(FRONT), ints(0), ints(-2)], {}, [3, B]),
    "pad":               (pad,      "Pad",       [ints(B, S, 3), ints(1, -1)],               {},              [0, B, S]),
    "pad value":         (pad,      "Pad",       [ints(B), ints(0, 1), ints(7)],             {},              [B, 7]),
    "compress":          (movement, "Compress",  [ints(B, S, 3), bools(False, True)],        {},              [S]),
}  # fmt: skip


@pytest.mark.parametrize("module, name, inputs, attributes, values", VALUES.values(), ids=VALUES)
def test_values_move(module: Any, name: str, inputs: Any, attributes: Any, values: Any) -> None:
    (found,) = call(module.rules, name, inputs, **attributes)
    assert elements(found) == values


def test_a_padded_scalar_is_the_scalar() -> None:
    scalar = ints(5).with_(shape=(), values=make_values(5))
    (found,) = call(pad.rules, "Pad", [scalar, ints()])
    element = found.values[()]
    assert isinstance(element, int) and element == 5


def test_values_of_a_matrix_move() -> None:
    matrix = SymbolicTensor(DType.INT64, (2, 2), make_values([B, 1, 2, S], (2, 2)))
    (found,) = call(movement.rules, "Transpose", [matrix])
    assert elements(found) == [[B, 2], [1, S]]
    (found,) = call(movement.rules, "Trilu", [matrix], version=14, upper=0)
    assert elements(found) == [[B, 0], [2, S]]
    left, right = call(concat.rules, "Split", [matrix], outputs=2, axis=1)
    assert (elements(left), elements(right)) == ([[B], [2]], [[1], [S]])


def test_spans_move() -> None:
    indices = SymbolicTensor(DType.INT64, (N, 2), None, ValueRange(3, S))
    (found,) = call(movement.rules, "Transpose", [indices])
    assert found.value_range == ValueRange(3, S)
    (found,) = call(movement.rules, "Trilu", [indices], version=14)
    assert found.value_range == ValueRange(0, S)
    (found,) = call(pad.rules, "Pad", [indices, ints(0, 0, 1, 1)])
    assert found.value_range == ValueRange(0, S)
    (found,) = call(
        concat.rules, "Concat", [indices, SymbolicTensor(DType.INT64, (N, 1), None, ValueRange(7, 7))], axis=1
    )
    assert found.value_range is not None and found.value_range.lo == 3 and found.value_range.hi == maximum(S, 7)


def test_compress_of_an_unknown_condition_is_not_longer_than_the_axis() -> None:
    context = Context()
    condition = SymbolicTensor(DType.BOOL, (S,))
    (found,) = call(movement.rules, "Compress", [(N, 3), condition], axis=0, context=context)
    assert found.shape[1] == 3 and {str(N - found.shape[0]), str(S - found.shape[0])} <= learnt(context)


def test_inexact_scales_of_a_symbol_give_one_symbol() -> None:
    context = Context()
    scales = floats(1, 0.1234560012817383)
    first, again = (call(resize.rules, "Resize", [(B, H), None, scales], context=context)[0] for _ in range(2))
    assert first.shape == again.shape and first.shape[1].is_symbol and first.shape[1] != H


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [3e38, 1e300])
def test_a_scale_past_every_size_is_no_ratio(scale: float) -> None:
    (y,) = call(resize.rules, "Resize", [(H,), None, floats(scale)], context=Context())
    assert y.shape[0].is_symbol and y.shape[0] != H


@pytest.mark.parametrize("scale", [0.7, 4 / 3, 2 / 3, 0.3, 2.2, 0.1, 16 / 9, 1 / 7, 0.9])
def test_a_scale_that_acts_as_a_ratio(scale: float) -> None:
    """The spec takes floor(size * scale); the product is one of float32."""
    context = Context()
    (y,) = call(resize.rules, "Resize", [(H,), None, floats(float(np.float32(scale)))], context=context)
    for size in range(1, 3000):
        assert evaluate(y.shape[0], {"H": size}) == int(np.float32(scale) * np.float32(size)), size
    assert [(a.dim, a.upper) for a in context.assumptions] == [(H, 65536)]


VIOLATIONS = {
    "perm":               (movement, "Transpose",     [(2, 3)],                      {"perm": (0, 0)},     "perm must be a permutation of 0 to 1, is [0, 0]"),
    "perm too short":     (movement, "Transpose",     [(2, 3, 4)],                   {"perm": (1, 0)},     "perm must have 3 elements, one per axis of data, has 2"),
    "depth":              (movement, "DepthToSpace",  [(1, 6, 2, 2)],                {"blocksize": 2},     "the channels of the input must be a multiple of 4, is 6"),
    "depth rank":         (movement, "DepthToSpace",  [(1, 4, 2)],                   {"blocksize": 2},     "the input must have rank 4, has rank 3: [1, 4, 2]"),
    "space":              (movement, "SpaceToDepth",  [(1, 1, 3, 2)],                {"blocksize": 2},     "the height of the input must be a multiple of 2, is 3"),
    "blocksize":          (movement, "SpaceToDepth",  [(1, 1, 3, 2)],                {"blocksize": 0},     "blocksize must be >= 1, is 0"),
    "reverse axes":       (movement, "ReverseSequence", [(2, 3), (3,)],              {"batch_axis": 0},    "batch_axis and time_axis must be 0 and 1 or 1 and 0, are 0 and 0"),
    "reverse lengths":    (movement, "ReverseSequence", [(2, 3), (4,)],              {},                   "the batch dim and the length of sequence_lens must be equal, are 3 and 4"),
    "trilu vector":       (movement, "Trilu",         [(3,)],                        {},                   "the input must have rank 2 or more, has rank 1: [3]"),
    "compress axis":      (movement, "Compress",      [(3,), bools(True)],           {"axis": 1},          "axis = 1 is outside [-1, 0], data has rank 1"),
    "concat axis":        (concat,   "Concat",        [(3,), (3,)],                  {"axis": 1},          "axis = 1 is outside [-1, 0], data has rank 1"),
    "concat scalars":     (concat,   "Concat",        [(), ()],                      {"axis": 0},          "axis = 0 is outside [0, -1], data has rank 0"),
    "concat ranks":       (concat,   "Concat",        [(3,), (3, 1)],                {"axis": 0},          "the inputs must have one rank, have shapes [3] and [3, 1]"),
    "concat dims":        (concat,   "Concat",        [(3, 2), (3, 4)],              {"axis": 0},          "dims of axis 1, other than the concat axis 0, must be equal, are 2 and 4"),
    "split sum":          (concat,   "Split",         [(5,), ints(2)],               {},                   "split adds up to 2, dim of axis 0 is 5"),
    "split both":         (concat,   "Split",         [(5,), ints(5)],               {"num_outputs": 1},   "either input split or attribute num_outputs may be given, found both"),
    "split outputs":      (concat,   "Split",         [(5,)],                        {"num_outputs": 3},   "num_outputs is 3, the node has 1 outputs"),
    "split count":        (concat,   "Split",         [(5,), ints(2, 3)],            {},                   "split has 2 lengths, the node has 1 outputs"),
    "slice step":         (slicing,  "Slice",         [(5,), ints(0), ints(1), ints(0), ints(0)], {},      "a step must not be 0"),
    "slice axis":         (slicing,  "Slice",         [(5,), ints(0), ints(1), ints(1)], {},               "axes = 1 is outside [-1, 0], data has rank 1"),
    "slice axis twice":   (slicing,  "Slice",         [(5, 5), ints(0, 0), ints(1, 1), ints(0, -2)], {},   "axes must be different axes, are [0, -2] of rank 2"),
    "slice starts":       (slicing,  "Slice",         [(5,), SymbolicTensor(DType.INT64, ()), ints(1)], {}, "starts must have rank 1, has rank 0: []"),
    "slice steps":        (slicing,  "Slice",         [(5,), ints(0), ints(1), ints(0), SymbolicTensor(DType.INT64, ())], {}, "steps must have rank 1, has rank 0: []"),
    "slice lengths":      (slicing,  "Slice",         [(5, 5), ints(0, 0), ints(1)], {},                   "starts, ends, axes and steps must have one length, have 2 and 1"),
    "pads length":        (pad,      "Pad",           [(5, 5), ints(0, 1)],          {},                   "pads must have 4 elements, two per padded axis, has 2"),
    "pads overflow":      (pad,      "Pad",           [(N,), ints(2**63 - 1, 1)],    {},                   "pads 9223372036854775807 and 1 of axis 0 overflow int64"),
    "pads cut":           (pad,      "Pad",           [(3,), ints(-2, -2)],          {},                   "pads -2 and -2 cut more than the dim 3 of axis 0"),
    "resize both":        (resize,   "Resize",        [(3,), None, floats(1), ints(3)], {},                "exactly one of scales and sizes must be given, found both"),
    "resize none":        (resize,   "Resize",        [(3,)],                        {},                   "exactly one of scales and sizes must be given, found none"),
    "resize scale":       (resize,   "Resize",        [(3,), None, floats(0)],       {},                   "a scale must be > 0, is 0"),
    "resize length":      (resize,   "Resize",        [(3, 3), None, floats(1)],     {},                   "scales must have 2 elements, one per axis of [3, 3], has 1"),
    "grid":               (pad,      "GridSample",    [(1, 1, 3, 3), (1, 2, 2, 3)],  {},                   "the last dim of grid and the number of spatial axes must be equal, are 3 and 2"),
    "col2im":             (pad,      "Col2Im",        [(1, 5, 4), ints(3, 3), ints(2, 2)], {},             "dim 1 of the input must be a multiple of 4, is 5"),
}  # fmt: skip


@pytest.mark.parametrize("module, name, inputs, attributes, message", VIOLATIONS.values(), ids=VIOLATIONS)
def test_violations(module: Any, name: str, inputs: Any, attributes: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        call(module.rules, name, inputs, version=20, **attributes)
    assert raised.value.message == message


def test_an_uneven_split_needs_an_even_dim_before_18() -> None:
    with pytest.raises(SpecViolation, match="dim 5 of axis 0 cannot be split into 2 equal parts"):
        call(concat.rules, "Split", [(5,)], outputs=2)
    context = Context()
    call(concat.rules, "Split", [(S,)], outputs=2, context=context)
    assert [str(c) for c in context.constraints] == ["S % 2 == 0"]
