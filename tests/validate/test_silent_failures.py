"""A run that fails inside a contract has an open entry: models whose runs of all small sizes onnxruntime judges."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
import pytest

from gather_infer import Contract, contract_of
from tests.validate.contract_runs import Runtime

SIZES = range(5)
PAIR = "a = Shape(x) b = Shape(y)"

CASES: dict[str, tuple[str, list[str], list[str]]] = {
    # id: (inputs and body, lines, open entries)
    "Reshape to [A, -1]": (
        "(float[N] w, float[A] x) => (float[P, Q] z) "
        "{ a = Shape(x) m = Constant <value_ints = [-1]> () t = Concat <axis = 0> (a, m) z = Reshape (w, t) }",
        ["A >= 1 enough", "N % A == 0 tight"],
        [],
    ),
    "Reshape to [-1, A]": (
        "(float[N] w, float[A] x) => (float[P, Q] z) "
        "{ a = Shape(x) m = Constant <value_ints = [-1]> () t = Concat <axis = 0> (m, a) z = Reshape (w, t) }",
        ["A >= 1 tight", "N % A == 0 tight"],
        [],
    ),
    "Reshape of N to N - 3": (
        "(float[N] x) => (float[P] z) "
        "{ a = Shape(x) m = Constant <value_ints = [3]> () t = Sub (a, m) z = Reshape (x, t) }",
        ["N == 2 or N == 3 tight"],
        [],
    ),
    "Div by a quotient": (
        f"(float[A] x, float[B] y, int64[N] i) => (int64[N] z) {{ {PAIR} q = Div (a, b) z = Div (i, q) }}",
        ["B >= 1 tight", "A//B >= 1 tight"],
        [],
    ),
    "index by a quotient": (
        f"(float[A] x, float[B] y, float[N] v) => (float[1] z) {{ {PAIR} q = Div (a, b) z = Gather (v, q) }}",
        ["B >= 1 tight", "A//B <= N - 1 tight"],
        [],
    ),
    "Div by sizes": (
        f"(float[A] x, float[B] y, int64[N, 2] i) => (int64[N, 2] z) "
        f"{{ {PAIR} s = Concat <axis = 0> (a, b) z = Div (i, s) }}",
        ["A >= 1 tight", "B >= 1 tight"],
        [],
    ),
    "reflect Pad": (
        '(float[T] x) => (float[P] z) { p = Constant <value_ints = [2, 2]> () z = Pad <mode = "reflect"> (x, p) }',
        ["T >= 3 tight"],
        [],
    ),
    "more elements than addresses": (
        "(float[N] x) => (int64[2] z) { s = Constant <value_ints = [1099511627776, 1099511627776]> () "
        "c = ConstantOfShape (s) z = Shape (c) }",
        [],
        ["a tensor has fewer than 2^62 elements, [1099511627776, 1099511627776] has 1208925819614629174706176"],
    ),
    "edge Pad": (
        '(float[T] x) => (float[P] z) { p = Constant <value_ints = [2, 2]> () z = Pad <mode = "edge"> (x, p) }',
        ["T >= 1 tight"],
        [],
    ),
    "ArgMax": (
        "(float[A, B] x) => (int64[P, Q] z) { z = ArgMax <axis = 1> (x) }",
        ["B >= 1 tight"],
        [],
    ),
    "PRelu": (
        "(float[A, B] x, float[C] y) => (float[A, B] z) { z = PRelu (x, y) }",
        ["C == 1 or C == B enough", "C == 1 or C == B or B == 1 tight"],
        [],
    ),
    "Einsum": (
        '(float[A] x, float[B] y) => (float z) { z = Einsum <equation = "i,i->"> (x, y) }',
        ["A >= 1 enough", "B >= 1 enough", "A == B or A == 1 or B == 1 tight"],
        [],
    ),
    "DequantizeLinear": (
        "(uint8[A, B] x, float[C] y, uint8[D] v) => (float[A, B] z) { z = DequantizeLinear (x, y, v) }",
        ["C == D tight", "C == 1 or C == B tight"],
        [],
    ),
    "Slice": (
        "(float[A] x, int64[S] s, int64[E] e) => (float[P] z) { z = Slice (x, s, e) }",
        ["S == E tight", "S <= 1 tight"],
        [],
    ),
    "a branch": (
        "(bool c, float[A] x, float[B] y) => (float[P] z) { z = If (c) <"
        "then_branch = t () => (float[Q] u) { u = Add (x, y) }, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> }",
        ["A == B or A == 1 or B == 1 where c is true tight"],
        [],
    ),
    "a branch that an element takes": (
        "(int64 k, float[A] x, float[B] y) => (float[P] z) { one = Constant <value_int = 1> () c = Equal (k, one) "
        "z = If (c) <then_branch = t () => (float[Q] u) { u = Add (x, y) }, else_branch = e () => (float[R] v) { "
        'p = Constant <value_ints = [2, 2]> () q = Constant <value_ints = [1, 1]> () w = Pad <mode = "reflect"> (x, q) '
        'v = Pad <mode = "reflect"> (x, p) }> }',
        ["A == B or A == 1 or B == 1 where k == 1 tight", "A >= 3 where k != 1 tight"],
        [],
    ),
    "a branch in a branch": (
        "(bool c, bool d, float[A] x, float[B] y) => (float[P] z) { z = If (c) <then_branch = t () => (float[Q] u) { "
        "u = If (d) <then_branch = g () => (float[S] r) { r = Add (x, y) }, "
        "else_branch = h () => (float[T] s) { s = Identity (y) }> }, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> }",
        ["A == B or A == 1 or B == 1 where c is true and d is true tight"],
        [],
    ),
    "a branch that sizes take": (
        "(float[A] x, float[B] y) => (float[P] z) { a = Shape(x) three = Constant <value_ints = [3]> () "
        "c = Equal (a, three) z = If (c) <then_branch = t () => (float[Q] u) { u = Add (x, y) }, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> }",
        ["A <= 2 or A >= 4 or B == 1 or B == A tight"],
        [],
    ),
    "a branch that decides the rank": (
        "(float[A, B] x) => (float[P, Q] z) { b = Shape <start = 1> (x) one = Constant <value_ints = [1]> () "
        "c = Equal (b, one) y = If (c) <then_branch = t () => (u) { u = Squeeze (x, one) }, "
        "else_branch = e () => (v) { v = Identity (x) }> z = Gemm (y, y) }",
        [],
        ["an input has unknown rank, so not all requirements on it are known"],
    ),
    "a body that may run 0 times": (
        "(int64 m, float[A] x, float[B] y) => (float[A] z) { z = Loop (m, , x) <body = b "
        "(int64 i, bool c, float[A] s) => (bool d, float[A] t) { d = Identity (c) u = Add (x, y) "
        "v = ReduceSum <keepdims = 0> (u) t = Add (s, v) }> }",
        ["A == B or A == 1 or B == 1 where m >= 1 tight"],
        [],
    ),
    "a size of data, cut": (
        "(int64[N] x) => (int64[P] z) { u = Unique (x) p = Constant <value_ints = [0, -1]> () z = Pad (u, p) }",
        [],
        ["1 <= unique_0 depends on data, or on what is not known"],
    ),
    "a Range whose step is a size": (
        "(float[A] x) => (int64[P] y) { zero = Constant <value_int = 0> () two = Constant <value_int = 2> () "
        "a = Shape (x) q = Squeeze (a) d = Sub (q, two) y = Range (zero, q, d) }",
        ["A >= 3 or A <= 1 tight"],
        [],
    ),
    "a depth of data": (
        "(int64[N] x) => (float[N, P] z) { u = Unique (x) s = Shape (u) o = Constant <value_ints = [1]> () "
        "d = Sub (s, o) v = Constant <value_floats = [0.0, 1.0]> () z = OneHot (x, d, v) }",
        [],
        ["2 <= unique_0 depends on data, or on what is not known"],
    ),
}


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> agraph {text}')


def lines(contract: Contract) -> list[str]:
    stated = (*contract.nonempty, *contract.lines)
    return [f"{line.text} {'tight' if line.tight else 'enough'}" for line in stated]


@pytest.mark.parametrize("name", CASES)
def test_no_failing_run_is_silent(name: str) -> None:
    text, said, opened = CASES[name]
    model = parsed(text)
    contract = contract_of(model).contract
    assert (lines(contract), [entry.reason for entry in contract.open]) == (said, opened)
    runtime, numbers = Runtime(model), np.random.default_rng(1)
    names = sorted({dim.dim_param for i in model.graph.input for dim in i.type.tensor_type.shape.dim if dim.dim_param})
    failing = 0
    for drawn in itertools.product(SIZES, repeat=len(names)):
        feeds = arrays(model, dict(zip(names, drawn, strict=True)), numbers)
        error, broken = runtime.error(feeds), contract.check(feeds, strict=True)
        failing += bool(error)
        assert broken or contract.open or not error, (drawn, error)
        is_broken = any(v.line is not None and v.line.tight for v in broken) and 0 not in drawn
        assert error or not is_broken, (drawn, broken)
    assert failing, "something has to fail"


def arrays(model: onnx.ModelProto, sizes: dict[str, int], numbers: np.random.Generator) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for proto in model.graph.input:
        dims = proto.type.tensor_type.shape.dim
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(proto.type.tensor_type.elem_type)
        made[proto.name] = numbers.integers(0, 2, shape).astype(dtype)
    return made


OPERANDS = {
    # operator: inputs and body in which an operand is known only at run time
    "Split": "(float[N] x, int64[2] s) => (float[P] z, float[Q] w) { z, w = Split <axis = 0> (x, s) }",
    "Slice steps": "(float[N] x, int64[1] s) => (float[P] z) { o = Constant <value_ints = [0]> () "
    "e = Constant <value_ints = [9]> () a = Constant <value_ints = [0]> () z = Slice (x, o, e, a, s) }",
    "Slice axes": "(float[N, M] x, int64[2] s) => (float[P, Q] z) { o = Constant <value_ints = [0, 0]> () "
    "z = Slice (x, o, o, s) }",
    "Squeeze": "(float[N, 1] x, int64[1] s) => (float[P] z) { z = Squeeze (x, s) }",
    "Unsqueeze": "(float[N] x, int64[1] s) => (float[P, Q] z) { z = Unsqueeze (x, s) }",
    "CumSum": "(float[N] x, int64 s) => (float[N] z) { z = CumSum (x, s) }",
    "OneHot": "(int64[N] x, int64 s, float[2] v) => (float[N, P] z) { z = OneHot (x, s, v) }",
    "Tile": "(float[N] x, int64[1] s) => (float[P] z) { z = Tile (x, s) }",
    "ConstantOfShape": "(int64[1] s) => (float[P] z) { z = ConstantOfShape (s) }",
    "Resize sizes": "(float[N] x, int64[1] s) => (float[P] z) { z = Resize (x, , , s) }",
    "Resize scales": "(float[N] x, float[1] s) => (float[P] z) { z = Resize (x, , s) }",
    "DFT": "(float[1, N, 1] x, int64 s) => (float[1, P, 2] z) { z = DFT <axis = 1> (x, s) }",
    "NonMaxSuppression": "(float[1, N, 4] b, float[1, 1, N] x, float[1] s) => (int64[P, 3] z) "
    "{ m = Constant <value_ints = [3]> () z = NonMaxSuppression (b, x, m, s) }",
    "Div": "(int64[N] x, int64[N] s) => (int64[N] z) { z = Div (x, s) }",
    "Mod": "(int64[N] x, int64[N] s) => (int64[N] z) { z = Mod (x, s) }",
    "Range": "(int64 a, int64 b, int64 s) => (int64[P] z) { z = Range (a, b, s) }",
    "Reshape": "(float[N] x, int64[2] s) => (float[P, Q] z) { z = Reshape (x, s) }",
    "Expand": "(float[N] x, int64[1] s) => (float[P] z) { z = Expand (x, s) }",
    "Pad": "(float[N] x, int64[2] s) => (float[P] z) { z = Pad (x, s) }",
    "TopK": "(float[N] x, int64[1] s) => (float[P] z, int64[P] w) { z, w = TopK (x, s) }",
    "ReduceSum": "(float[N] x, int64[1] s) => (float z) { z = ReduceSum <keepdims = 0> (x, s) }",
}


@pytest.mark.parametrize("name", OPERANDS)
def test_what_a_run_only_knows_is_open(name: str) -> None:
    model = parsed(OPERANDS[name])
    assert contract_of(model).contract.open


@pytest.mark.parametrize(
    "text",
    [
        "(float[N] x) => (float[P] z) { s = Constant <value_ints = [2]> () z = Tile (x, s) }",
        "(float[N] x) => (float[P] z) { s = Shape (x) z = Tile (x, s) }",
        "(int64[N] x) => (int64[N] z) { s = Constant <value_ints = [2]> () z = Div (x, s) }",
        "(float[N, M] x) => (float[P, Q] z) { s = Shape (x) z = Reshape (x, s) }",
    ],
)
def test_what_is_known_is_not_open(text: str) -> None:
    contract = contract_of(parsed(text)).contract
    assert (contract.open, lines(contract)) == ((), [])


def test_a_branch_that_is_never_taken_leaves_nothing_open() -> None:
    contract = contract_of(parsed(
        "(float[A] x, float[B] y) => (float[P] z) { c = Constant <value = bool {0}> () z = If (c) <"
        "then_branch = t () => (float[Q] u) { u = Add (x, y) }, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> }"
    )).contract  # fmt: skip
    assert (contract.open, lines(contract)) == ((), [])


def test_what_holds_anyway_is_not_open_in_a_branch() -> None:
    contract = contract_of(parsed(
        "(bool c, float[A] x, float[B] y) => (float[P] z) { w = Add (x, y) z = If (c) <"
        "then_branch = t () => (float[Q] u) { u = Mul (x, y) }, "
        "else_branch = e () => (float[R] v) { v = Identity (w) }> }"
    )).contract  # fmt: skip
    assert contract.open == ()


def test_what_the_condition_of_a_branch_says_is_no_demand_of_it() -> None:
    contract = contract_of(parsed(
        "(float[A, B] x) => (float[P] z) { b = Shape <start = 1> (x) one = Constant <value_ints = [1]> () "
        "c = Equal (b, one) z = If (c) <then_branch = t () => (float[Q] u) { u = Squeeze (x, one) }, "
        "else_branch = e () => (float[R] v) { v = ReduceSum <keepdims = 0> (x, one) }> }"
    )).contract  # fmt: skip
    assert (contract.open, lines(contract)) == ((), [])


def test_a_condition_that_is_not_known_leaves_open_what_is_not_weaker() -> None:
    """No input decides: whether the sum of x is positive only a run tells."""
    pads = "".join(
        f'p{k} = Constant <value_ints = [{k}, 0]> () u{k} = Pad <mode = "reflect"> (x, p{k}) ' for k in (2, 5, 3)
    )
    contract = contract_of(parsed(
        "(float[A] x) => (float[P] z) { zero = Constant <value_float = 0.0> () s = ReduceSum <keepdims = 0> (x) "
        f"c = Greater (s, zero) z = If (c) <then_branch = t () => (float[Q] u) {{ {pads} u = Identity (u3) }}, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> }"
    )).contract  # fmt: skip
    assert [str(entry) for entry in contract.open] == ["If#3/then_branch/Pad#3: A >= 6; in then_branch of If#3"]


def test_the_operators_that_take_any_shape_leave_nothing_open() -> None:
    contract = contract_of(parsed(
        "(float[A, B] x) => (int64[P] z, float w) { b = Shape <start = 1> (x) one = Constant <value_ints = [1]> () "
        "c = Equal (b, one) y = If (c) <then_branch = t () => (u) { u = Squeeze (x, one) }, "
        "else_branch = e () => (v) { v = Identity (x) }> r = Relu (y) z = Shape (r) w = ReduceSum <keepdims = 0> (r) }"
    )).contract  # fmt: skip
    assert (contract.open, lines(contract)) == ((), [])
