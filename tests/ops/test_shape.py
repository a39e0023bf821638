"""Shape, Size, Constant, ConstantOfShape, EyeLike, Identity, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile, Range."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import expand, reshape, shape
from gather_infer.symbolic import Dim, known_le, maximum, symbol
from gather_infer.tensor import DType, SequenceType, SparseTensor, SymbolicTensor, ValueRange, from_values, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import elements, ints, known

B, S, N, H = map(symbol, ["B", "S", "N", "H"])


def unknown(length: Dim) -> SymbolicTensor:
    return SymbolicTensor(DType.INT64, (length,))


SHAPE: dict[str, Any] = {
    # id:                     (data,        start, end,   values)
    "symbolic":               ((B, S, 3),   None,  None,  [B, S, 3]),
    "scalar":                 ((),          None,  None,  []),
    "zero dim":               ((0, 4),      None,  None,  [0, 4]),
    "start":                  ((B, S, 3),   1,     None,  [S, 3]),
    "negative start":         ((B, S, 3),   -1,    None,  [3]),
    "negative end":           ((B, S, 3),   0,     -1,    [B, S]),
    "clamped":                ((B, S, 3),   -9,    9,     [B, S, 3]),
    "start past the end":     ((B, S, 3),   2,     1,     []),
}  # fmt: skip


@pytest.mark.parametrize("data, start, end, values", SHAPE.values(), ids=SHAPE)
def test_shape(data: Any, start: int | None, end: int | None, values: Any) -> None:
    given: dict[str, Any] = {k: v for k, v in {"start": start, "end": end}.items() if v is not None}
    (found,) = call(shape.rules, "Shape", [data], version=15, **given)
    assert (found.dtype, found.shape, elements(found)) == (DType.INT64, (len(values),), values)


def test_shape_before_15_has_no_start() -> None:
    (found,) = call(shape.rules, "Shape", [(B, S)], version=13, start=1)
    assert elements(found) == [B, S]


def test_shape_of_an_unknown_rank_is_a_vector_of_sizes() -> None:
    (found,) = call(shape.rules, "Shape", [UNRANKED])
    assert (found.rank, found.value_range) == (1, ValueRange(0, None))


def test_size() -> None:
    (found,) = call(shape.rules, "Size", [(B, S, 3)])
    assert (found.shape, elements(found)) == ((), 3 * B * S)
    (found,) = call(shape.rules, "Size", [()])
    assert elements(found) == 1


CONSTANTS: dict[str, Any] = {
    # id:            (attribute,       value,               dtype,          shape, values)
    "value_int":     ("value_int",     3,                   DType.INT64,    (),    3),
    "value_ints":    ("value_ints",    (1, 2),              DType.INT64,    (2,),  [1, 2]),
    "no value_ints": ("value_ints",    (),                  DType.INT64,    (0,),  []),
    "value_float":   ("value_float",   0.5,                 DType.FLOAT32,  (),    0.5),
    "value_floats":  ("value_floats",  (0.5, 2.0),          DType.FLOAT32,  (2,),  [0.5, 2.0]),
    "value_string":  ("value_string",  "a",                 DType.STRING,   (),    None),
    "value_strings": ("value_strings", ("a", "b"),          DType.STRING,   (2,),  None),
    "value":         ("value",         ints(4),             DType.INT64,    (1,),  [4]),
    "sparse_value":  ("sparse_value",  SparseTensor(DType.FLOAT32, (2, 3)), DType.FLOAT32, (2, 3), None),
}  # fmt: skip


@pytest.mark.parametrize("name, value, dtype, dims, values", CONSTANTS.values(), ids=CONSTANTS)
def test_constant(name: str, value: Any, dtype: DType, dims: Any, values: Any) -> None:
    (found,) = call(shape.rules, "Constant", [], **{name: value})
    assert (found.dtype, found.shape, elements(found)) == (dtype, dims, values)


@pytest.mark.parametrize("attributes", [{}, {"value_int": 1, "value_ints": (1,)}], ids=["none", "two"])
def test_a_constant_has_one_value(attributes: Any) -> None:
    with pytest.raises(SpecViolation, match="exactly one attribute must give the value"):
        call(shape.rules, "Constant", [], **attributes)


FILLED: dict[str, Any] = {
    # id:                  (input,               value,                       dtype,          shape,      values)
    "zeros":               (ints(2),             None,                        DType.FLOAT32,  (2,),       [0.0, 0.0]),
    "scalar":              (ints(),              known(7),                   DType.INT64,    (),         7),
    "symbolic":            (ints(B, 2),          ints(-1),                    DType.INT64,    (B, 2),     None),
    "no elements":         (ints(0, 2),          ints(1),                     DType.INT64,    (0, 2),     []),
    "bool":                (ints(2),             known(True, DType.BOOL),    DType.BOOL,     (2,),       [True, True]),
    "unknown rank":        (unknown(N),          ints(1),                     DType.INT64,    None,       None),
}  # fmt: skip


@pytest.mark.parametrize("given, value, dtype, dims, values", FILLED.values(), ids=FILLED)
def test_constant_of_shape(given: Any, value: Any, dtype: DType, dims: Any, values: Any) -> None:
    (found,) = call(shape.rules, "ConstantOfShape", [given], **({} if value is None else {"value": value}))
    assert (found.dtype, found.shape, elements(found)) == (dtype, dims, values)


def test_a_filled_tensor_has_one_number() -> None:
    (found,) = call(shape.rules, "ConstantOfShape", [ints(B)], value=ints(-3))
    assert found.value_range == ValueRange(-3, -3)


def test_an_unknown_size_is_a_new_symbol() -> None:
    (found,) = call(shape.rules, "ConstantOfShape", [ints(None, 2)])
    assert found.rank == 2 and found.shape[1] == 2 and found.shape[0].is_symbol


def test_identity_preserves_any_kind_of_value() -> None:
    value = SequenceType(SymbolicTensor(DType.INT64, (N,)), 2)
    assert call(shape.rules, "Identity", [value], version=14) == [value]


def test_eye_like() -> None:
    (found,) = call(shape.rules, "EyeLike", [(2, 3)], k=1, dtype=7)
    assert (found.dtype, elements(found)) == (DType.INT64, [[0, 1, 0], [0, 0, 1]])
    (found,) = call(shape.rules, "EyeLike", [(N, 3)], dtype=7)
    assert (found.shape, found.value_range) == ((N, 3), ValueRange(0, 1))


RESHAPE: dict[str, Any] = {
    # id:                             (data,              target,                     result,                 assumptions)
    "static":                         ((2, 3),            ints(3, 2),                 (3, 2),                 []),
    "to a scalar":                    ((1,),              ints(),                     (),                     []),
    "from a scalar":                  ((),                ints(-1),                   (1,),                   []),
    "minus one":                      ((2, 3, 4),         ints(2, -1),                (2, 12),                []),
    "zero copies":                    ((B, S, 768),       ints(0, 0, 12, 64),         (B, S, 12, 64),         []),
    "minus one cancels copies":       ((B, S, 768),       ints(0, 0, 12, -1),         (B, S, 12, 64),         []),
    "minus one cancels":              ((B, S, 64),        ints(B, S, 4, -1),          (B, S, 4, 16),          []),
    "minus one is symbolic":          ((B, S, 64),        ints(-1, 64),               (B * S, 64),            []),
    "zero elements":                  ((0, 3),            ints(3, -1),                (3, 0),                 []),
    "entry equals the dim":           ((B, S, 64),        ints(B, S, 4, 16),          (B, S, 4, 16),          []),
    "multiple of the dim":            ((B, 4, S, 16),     ints(4 * B, -1, 16),        (4 * B, S, 16),         []),
    "merged, all others >= 1":        ((B, S, 64),        ints(B * S, 64),            (B * S, 64),            []),
    "merged, another may be 0":       ((B, S, 64),        ints(B * S, -1),            (B * S, 64),            ["B*S >= 1"]),
    "transposed":                     ((S, B, 64),        ints(B, S, 64),             (B, S, 64),             []),
    "computed":                       ((N, 64),           ints(B, S, 64),             (B, S, 64),             ["B >= 1", "S >= 1"]),
    "one unknown entry":              ((B, S, 64),        ints(None, 64),             (B * S, 64),            []),
    "one unknown entry, rest static": ((4, 6),            ints(3, None),              (3, 8),                 []),
    "maybe minus one":                ((B, 64),           ints(N - 5, 64),            (B, 64),                []),
    "a multiple of 2 is not minus one": ((N, 64),         ints(2 * N - 2 * B, -1),    (2 * N - 2 * B, (64 * N) // (2 * N - 2 * B)), ["N - B >= 1"]),
    "minus one beside 0 fails":       ((maximum(0, 2 * S - 1), S), ints(S, 2 * S - 1), (S, 2 * S - 1),        []),
}  # fmt: skip


@pytest.mark.parametrize("data, target, result, assumptions", RESHAPE.values(), ids=RESHAPE)
def test_reshape(data: Any, target: SymbolicTensor, result: Any, assumptions: list[str]) -> None:
    context = Context()
    (found,) = call(reshape.rules, "Reshape", [data, target], context=context)
    assert found.shape == result
    assert [f"{a.dim} >= {a.lower}" for a in context.assumptions] == assumptions


def test_reshape_1_reads_the_attribute() -> None:
    (found,) = call(reshape.rules, "Reshape", [(2, 3)], version=1, shape=(0, -1))
    assert found.shape == (2, 3)


def test_allowzero_makes_zero_a_size() -> None:
    (found,) = call(reshape.rules, "Reshape", [(0, 3), ints(5, 0)], version=14, allowzero=1)
    assert found.shape == (5, 0)
    (found,) = call(reshape.rules, "Reshape", [(N, 64), ints(B, S, 64)], version=14, allowzero=1)
    assert found.shape == (B, S, 64)


def test_without_assumptions_a_computed_entry_is_a_symbol_of_its_own() -> None:
    context = Context(may_assume=False)
    (found,) = call(reshape.rules, "Reshape", [(N, 64), ints(B, S, 64)], context=context)
    assert found.shape[0] not in (B, N) and found.shape[0].is_symbol and not context.assumptions
    (again,) = call(reshape.rules, "Reshape", [(N, 64), ints(B, S, 64)], context=context)
    assert again.shape == found.shape


def test_minus_one_implies_that_the_others_are_not_zero() -> None:
    context = Context()
    call(reshape.rules, "Reshape", [(B, S, 64), ints(0, -1)], context=context)
    assert context.scope.bounds(B).lo == 1 and context.scope.bounds(S).lo == 0


BESIDE_ZERO: dict[str, Any] = {
    # id:                   (data,             target,                allowzero)
    "0 copies 7":           ((7, 4 * S),       ints(S, 2 * S - 1),    0),
    "0 copies who knows":   ((N, S),           ints(S, 2 * S - 1),    0),
    "no 0":                 ((N, S),           ints(S + 1, 2 * S - 1), 0),
    "unknown rank":         (None,             ints(S, 2 * S - 1),    0),
    "allowzero":            ((maximum(0, 2 * S - 1), S), ints(S, 2 * S - 1), 1),
}  # fmt: skip


@pytest.mark.parametrize("data, target, allowzero", BESIDE_ZERO.values(), ids=BESIDE_ZERO)
def test_an_entry_that_may_be_minus_one_in_a_legal_run_is_not_known(data: Any, target: Any, allowzero: int) -> None:
    context = Context()
    given = SymbolicTensor(DType.FLOAT32) if data is None else data
    (found,) = call(reshape.rules, "Reshape", [given, target], version=14, context=context, allowzero=allowzero)
    assert 2 * S - 1 not in found.shape
    assert known_le(1, S, context.scope) is None


def test_equal_counts_become_a_constraint() -> None:
    context = Context()
    call(reshape.rules, "Reshape", [(N, 6), ints(4, 3)], context=context)
    assert [str(c) for c in context.constraints] == ["N == 2"]


def test_an_unknown_target_of_known_length_has_a_rank() -> None:
    (found,) = call(reshape.rules, "Reshape", [(B, S), unknown(3)])
    assert found.rank == 3
    (found,) = call(reshape.rules, "Reshape", [(B, S), unknown(N)])
    assert found.shape is None


def test_values_and_spans_take_the_new_shape() -> None:
    (found,) = call(reshape.rules, "Reshape", [ints(B, S, 3, 4), ints(2, -1)])
    assert elements(found) == [[B, S], [3, 4]]
    (found,) = call(reshape.rules, "Reshape", [SymbolicTensor(DType.INT64, (N,), None, ValueRange(0, S)), ints(-1, 1)])
    assert (found.shape, found.value_range) == ((N, 1), ValueRange(0, S))


RESHAPE_VIOLATIONS: dict[str, Any] = {
    "counts differ":       ((2, 3),    ints(4, 2),      "the input [2, 3] has 6 elements, the target [4, 2] has 8"),
    "counts never equal":  ((N, 6),    ints(5, 5),      "the input [N, 6] has 6*N elements, the target [5, 5] has 25"),
    "not divisible":       ((2, 3),    ints(4, -1),     "the input [2, 3] has 6 elements, which 4 does not divide"),
    "two minus ones":      ((2, 3),    ints(-1, -1),    "only one entry of the target may be -1, target is [-1, -1]"),
    "below minus one":     ((2, 3),    ints(-2, 3),     "an entry of the target must be >= -1, target is [-2, 3]"),
    "always below":        ((N, 64),   ints(-2 * N - 2, 64), "an entry of the target must be >= -1, target is [-2*N - 2, 64]"),
    "nothing to copy":     ((2, 3),    ints(2, 3, 0),   "an entry of 0 copies a dim, [2, 3] has no such axis in [2, 3, 0]"),
    "-1 beside 0":         ((0, 3),    ints(0, -1),     "an entry of -1 cannot be inferred when another dim is 0"),
    "matrix as target":    ((2, 3),    SymbolicTensor(DType.INT64, (1, 2)), "shape must have rank 1, has rank 2: [1, 2]"),
}  # fmt: skip


@pytest.mark.parametrize("data, target, message", RESHAPE_VIOLATIONS.values(), ids=RESHAPE_VIOLATIONS)
def test_reshape_violations(data: Any, target: SymbolicTensor, message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        call(reshape.rules, "Reshape", [data, target])
    assert raised.value.message.startswith(message)


def test_allowzero_forbids_zero_with_minus_one() -> None:
    with pytest.raises(SpecViolation, match="may not hold both 0 and -1"):
        call(reshape.rules, "Reshape", [(0, 3), ints(0, -1)], version=14, allowzero=1)


ALLOWZERO_AND_MINUS_ONE: dict[str, Any] = {
    # id:                (data,         target,             result,             assumptions, constraints)
    "split heads":       ((B, S, 64),   ints(B, S, -1, 8),  (B, S, 8, 8),       [],          []),
    "merge heads":       ((B, 4, 8),    ints(B, -1),        (B, 32),            [],          []),
    "after the -1":      ((2, 3, S),    ints(-1, 3, S),     (2, 3, S),          [],          []),
    "not divisible":     ((B, N + 1),   ints(B, -1, 2),     (B, (N + 1)//2, 2), [],          ["B*N + B == 2*B*((N + 1)//2)"]),
    # at B = S = 0 onnxruntime gives 1 for -1, as if each were 1; see tests/oracle/test_regressions.py for the others
    "a 0 may be left":   ((B, S),       ints(B, -1),        (B, S),             ["B >= 1"],  []),
    "on another axis":   ((2, B, S),    ints(B, 2, -1),     (B, 2, S),          ["B >= 1"],  []),
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWZERO_AND_MINUS_ONE.values(), ids=ALLOWZERO_AND_MINUS_ONE)
def test_allowzero_and_minus_one(case: Any) -> None:
    data, target, result, assumptions, constraints = case
    context = Context()
    (found,) = call(reshape.rules, "Reshape", [data, target], version=14, allowzero=1, context=context)
    assert found.shape == result
    assert [f"{a.dim} >= {a.lower}" for a in context.assumptions] == assumptions
    assert [str(c) for c in context.constraints] == constraints
    assert context.scope.bounds(B).lo == 0


def test_equal_targets_of_equal_dims_give_equal_dims() -> None:
    """With B = 0 the size of -1 is not defined, but a runtime gives the same size each time."""
    context = Context(may_assume=False)

    def shape(data: Any, target: Any) -> Any:
        (found,) = call(reshape.rules, "Reshape", [data, target], version=14, allowzero=1, context=context)
        return found.shape

    first = shape((N, S, 32), ints(B, S, -1, 8))
    assert first[2].is_symbol and first == shape((N, S, 32), ints(B, S, -1, 8))
    others = [
        shape((N, S, 16), ints(B, S, -1, 8)),
        shape((N, 2 * S, 16), ints(B, S, -1, 8)),
        shape((N, S, 32), ints(B, S, -1, 4)),
        shape((N, S, 32), ints(B, S, 8, -1)),
        shape((S, N, 32), ints(B, S, -1, 8)),
        shape((N, S, 4, 8), ints(B, S, -1, 8)),
    ]
    sizes = [first[2], *(next(dim for dim in found if dim not in (B, S, 4, 8)) for found in others)]
    assert len(set(sizes)) == len(sizes)
    assert shape((N,), ints(S, B, -1))[2] != shape((N, S), ints(B, -1))[1]
    (unknown_one,) = call(reshape.rules, "Reshape", [(N, S), ints(None, S)], version=14, allowzero=1, context=context)
    (another,) = call(reshape.rules, "Reshape", [(N, S), ints(None, S)], version=14, allowzero=1, context=context)
    assert unknown_one.shape[0] != another.shape[0]


MOVES: dict[str, Any] = {
    # id:                       (op,          version, inputs,               attributes,        result)
    "flatten":                  ("Flatten",   13, [(B, S, 4)],               {},                (B, 4 * S)),
    "flatten axis 0":           ("Flatten",   13, [(B, 4)],                  {"axis": 0},       (1, 4 * B)),
    "flatten axis r":           ("Flatten",   13, [(B, 4)],                  {"axis": 2},       (4 * B, 1)),
    "flatten negative":         ("Flatten",   11, [(B, S, 4)],               {"axis": -1},      (B * S, 4)),
    "flatten scalar":           ("Flatten",   13, [()],                      {"axis": 0},       (1, 1)),
    "squeeze attribute":        ("Squeeze",   11, [(1, B, 1)],               {"axes": (0,)},    (B, 1)),
    "squeeze input":            ("Squeeze",   13, [(1, B, 1), ints(-1)],     {},                (1, B)),
    "squeeze all static":       ("Squeeze",   13, [(1, 3, 1)],               {},                (3,)),
    "squeeze all, not 1":       ("Squeeze",   13, [(1, B + 2)],              {},                (B + 2,)),
    "squeeze all, symbolic":    ("Squeeze",   13, [(1, B)],                  {},                None),
    "squeeze a symbol":         ("Squeeze",   13, [(N, B), ints(0)],         {},                (B,)),
    "squeeze nothing":          ("Squeeze",   13, [(2, 3), ints()],          {},                (2, 3)),
    "squeeze unranked":         ("Squeeze",   13, [UNRANKED, ints(0)],       {},                None),
    "unsqueeze attribute":      ("Unsqueeze", 11, [(B,)],                    {"axes": (0, 2)},  (1, B, 1)),
    "unsqueeze input":          ("Unsqueeze", 13, [(B, S), ints(-1, 0)],     {},                (1, B, S, 1)),
    "unsqueeze scalar":         ("Unsqueeze", 13, [(), ints(0)],             {},                (1,)),
    "unsqueeze unranked":       ("Unsqueeze", 13, [UNRANKED, ints(0)],       {},                None),
}  # fmt: skip


@pytest.mark.parametrize("name, version, inputs, attributes, result", MOVES.values(), ids=MOVES)
def test_flatten_squeeze_unsqueeze(name: str, version: int, inputs: Any, attributes: Any, result: Any) -> None:
    (found,) = call(reshape.rules, name, inputs, version=version, **attributes)
    assert found.shape == result


def test_ranks_follow_from_the_number_of_axes() -> None:
    (found,) = call(reshape.rules, "Squeeze", [(1, B, 1), unknown(1)])
    assert found.rank == 2
    (found,) = call(reshape.rules, "Squeeze", [(1, B, 1), unknown(2)])
    assert found.rank is None  # both may name the same axis
    (found,) = call(reshape.rules, "Unsqueeze", [(B,), unknown(2)])
    assert found.rank == 3


def test_a_squeezed_symbol_must_be_one() -> None:
    context = Context()
    call(reshape.rules, "Squeeze", [(N, 3), ints(0)], context=context)
    assert [str(c) for c in context.constraints] == ["N == 1"]


MOVE_VIOLATIONS: dict[str, Any] = {
    "flatten axis":          ("Flatten",   13, [(2, 3)],              {"axis": 3},     "axis = 3 is outside [-2, 2], data has rank 2"),
    "flatten 9 negative":    ("Flatten",   9,  [(2, 3)],              {"axis": -1},    "axis = -1 is outside [0, 2], data has rank 2"),
    "squeeze axis":          ("Squeeze",   13, [(1, 3), ints(2)],     {},              "axes = 2 is outside [-2, 1], data has rank 2"),
    "squeeze dim 3":         ("Squeeze",   13, [(1, 3), ints(1)],     {},              "the squeezed dim of axis 1 and 1 must be equal, are 3 and 1"),
    "unsqueeze axis":        ("Unsqueeze", 13, [(3,), ints(2)],       {},              "axes = 2 is outside [-2, 1], data has rank 2"),
    "unsqueeze twice":       ("Unsqueeze", 13, [(3,), ints(0, -3)],   {},              "axes must be different axes, are [0, -3] of rank 3"),
}  # fmt: skip


@pytest.mark.parametrize("name, version, inputs, attributes, message", MOVE_VIOLATIONS.values(), ids=MOVE_VIOLATIONS)
def test_move_violations(name: str, version: int, inputs: Any, attributes: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        call(reshape.rules, name, inputs, version=version, **attributes)
    assert raised.value.message == message


EXPAND: dict[str, Any] = {
    # id:                        (op,       inputs,                                   result)
    "expand":                    ("Expand", [(3, 1), ints(2, 1, 6)],                  (2, 3, 6)),
    "expand symbolic":           ("Expand", [(1, 1, S), ints(B, 1, S)],               (B, 1, S)),
    "expand bidirectional":      ("Expand", [(B, 4), ints(1, 1)],                     (B, 4)),
    "expand to zero":            ("Expand", [(1,), ints(0)],                          (0,)),
    "expand unknown entry":      ("Expand", [(3, 4), ints(None, 1)],                  (3, 4)),
    "expand to no axes":         ("Expand", [(B,), ints()],                           (B,)),
    "expand unranked":           ("Expand", [UNRANKED, ints(1)],                      None),
    "expand unknown rank":       ("Expand", [(3,), unknown(N)],                       None),
    "tile":                      ("Tile",   [(B, 2), ints(1, 3)],                     (B, 6)),
    "tile symbolic":             ("Tile",   [(B, 2), ints(S, 0)],                     (B * S, 0)),
    "tile scalar":               ("Tile",   [(), ints()],                             ()),
}  # fmt: skip


@pytest.mark.parametrize("name, inputs, result", EXPAND.values(), ids=EXPAND)
def test_expand_and_tile(name: str, inputs: Any, result: Any) -> None:
    (found,) = call(expand.rules, name, inputs)
    assert found.shape == result


def test_expand_and_tile_repeat_values() -> None:
    (found,) = call(expand.rules, "Expand", [ints(N), ints(2, 2)])
    assert elements(found) == [[N, N], [N, N]]
    (found,) = call(expand.rules, "Tile", [ints(N, 2), ints(2)])
    assert elements(found) == [N, 2, N, 2]
    (found,) = call(expand.rules, "Tile", [(B, 2), known(3), known(1)], version=1)
    assert found.shape == (B, 6)


RANGE: dict[str, Any] = {
    # id:                  (start,      limit,      delta,      dim,               values,      span)
    "spec example 1":      (3,          9,          3,          2,                 [3, 6],      ValueRange(3, 8)),
    "spec example 2":      (10,         4,          -2,         3,                 [10, 8, 6],  ValueRange(5, 10)),
    "nothing":             (5,          5,          1,          0,                 [],          None),
    "n elements":          (0,          N,          1,          N,                 None,        ValueRange(0, N - 1)),
    "from a symbol":       (B,          B + S,      1,          S,                 None,        ValueRange(B, B + S - 1)),
    "symbolic values":     (B,          B + 2,      1,          2,                 [B, B + 1],  ValueRange(B, B + 1)),
    "maybe nothing":       (2,          N,          1,          maximum(0, N - 2), None,        ValueRange(2, N - 1)),
    "step 2":              (0,          N,          2,          (N + 1) // 2,      None,        ValueRange(0, N - 1)),
    "backward":            (N - 1,      -1,         -1,         N,                 None,        ValueRange(0, N - 1)),
}  # fmt: skip


@pytest.mark.parametrize("start, limit, delta, dim, values, span", RANGE.values(), ids=RANGE)
def test_range(start: Dim, limit: Dim, delta: int, dim: Dim, values: Any, span: ValueRange | None) -> None:
    (found,) = call(expand.rules, "Range", [known(start), known(limit), known(delta)])
    assert (found.dtype, found.shape, elements(found), found.value_range) == (DType.INT64, (dim,), values, span)


def test_range_of_an_unknown_limit_has_a_value_range() -> None:
    limit = SymbolicTensor(DType.INT64, (), None, ValueRange(0, N))
    (found,) = call(expand.rules, "Range", [known(0), limit, known(1)])
    assert found.shape[0].is_symbol and found.value_range == ValueRange(0, N - 1)


def test_range_of_floats_is_counted_as_the_runtime_does() -> None:
    floats = [known(x, DType.FLOAT32) for x in (0.0, 1.0, 0.10000000149011612)]
    (found,) = call(expand.rules, "Range", floats)
    assert found.shape == (10,)
    whole = [known(x, DType.FLOAT32) for x in (0.0, N, 1.0)]
    (found,) = call(expand.rules, "Range", whole)
    assert found.shape == (N,)


def test_range_of_whole_floats_is_known_where_the_type_holds_the_difference() -> None:
    def count(start: Dim | float, limit: Dim | float, delta: float, context: Context | None = None) -> Dim:
        scalars = [known(x, DType.FLOAT32) for x in (start, limit, delta)]
        (found,) = call(expand.rules, "Range", scalars, context=context or Context())
        return found.shape[0]

    assert count(B, B + 3, 1.0) == 3
    assert count(0.0, N - 2, 1.0) == maximum(0, N - 2)
    assert count(N, 0.0, -1.0) == N
    assert not isinstance(count(N, 0.0, -2.0), int)
    context = Context()
    assert count(N - 1, -1.0, -1.0, context) == N  # at N = 2^24 + 1 onnxruntime counts one less
    assert [str(a) for a in context.assumptions] == ["N <= 16777216 (node )"]
    assert count(N - 1, -1.0, -1.0, Context(may_assume=False)) != N


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16], ids=str)
def test_range_of_a_short_float_is_known_where_no_rounding_matters(dtype: DType) -> None:
    def length(*numbers: float) -> Dim:
        scalars = [from_values(dtype, make_values(number)) for number in numbers]
        (found,) = call(expand.rules, "Range", scalars, version=27)
        return found.shape[0]

    assert length(1.0, 5.0, 2.0) == 2
    assert length(5.0, 1.0, -0.5) == 8
    assert length(1.0, 0.0, 1.0) == 0
    assert not isinstance(length(0.0, 1.0, 3.0), int)  # a third is rounded
    assert not isinstance(length(-1.0, 4096.0, 1.0), int)  # 4097 is rounded


VIOLATIONS: dict[str, Any] = {
    "int32 shape":       (shape.rules,  "ConstantOfShape", [SymbolicTensor(DType.INT32, (2,))],  "the input must be int64, is int32"),
    "negative size":     (shape.rules,  "ConstantOfShape", [ints(2, -1)],                "element 1 of the input must be >= 0, is -1"),
    "eye of a vector":   (shape.rules,  "EyeLike",         [(3,)],                       "the input must have rank 2, has rank 1: [3]"),
    "negative expand":   (expand.rules, "Expand",          [(3,), ints(-1)],             "entry 0 of shape must be >= 0, is -1"),
    "no broadcast":      (expand.rules, "Expand",          [(3,), ints(2)],              "shapes [3] and [2] do not broadcast: dim 3 and dim 2 at axis -1"),
    "negative repeats":  (expand.rules, "Tile",            [(3,), ints(-1)],             "element 0 of repeats must be >= 0, is -1"),
    "number of repeats": (expand.rules, "Tile",            [(3,), ints(1, 1)],           "repeats must have 1 elements, one per axis of data, has 2"),
    "delta 0":           (expand.rules, "Range",           [known(0), known(3), known(0)], "delta must not be 0"),
    "vector as start":   (expand.rules, "Range",           [ints(0, 1), known(3), known(1)], "start must be a scalar, has shape [2]"),
}  # fmt: skip


@pytest.mark.parametrize("rules, name, inputs, message", VIOLATIONS.values(), ids=VIOLATIONS)
def test_violations(rules: Any, name: str, inputs: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        call(rules, name, inputs)
    assert raised.value.message == message
