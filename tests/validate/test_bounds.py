"""The verdict of every access by index: tables of cases by class, and the fixtures."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import gather_infer
from gather_infer.symbolic import Scope, symbol
from gather_infer.validate import Condition, Elements, Kind, Outside, Verdict, verdict, verdicts
from gather_infer.validate.condition import minimal
from tests.validate.access_models import by_node

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))
DOMAINS = '"": 17, "ai.onnx.ml": 3, "com.microsoft": 1, "openvino.opset8": 1, "openvino.opset7": 1'


def judged(inputs: str, body: str, given: str = "", *, opset: int = 17, dims: tuple[str, ...] = ()) -> list[Verdict]:
    """The verdicts of a model in onnx's text form; every node's result is called `y`, or is not used."""
    domains = DOMAINS.replace('"": 17', f'"": {opset}')
    text = f"<ir_version: 8, opset_import: [{domains}]> g ({inputs}) => (y) <{given}> {{ {body} }}"
    model = onnx.parser.parse_model(text)
    return by_node(verdicts(gather_infer.infer(model, dims=dims)))


def last(*arguments: str, opset: int = 17, dims: tuple[str, ...] = ()) -> Verdict:
    return judged(*arguments, opset=opset, dims=dims)[-1]


ZERO, ONE, MINUS = "int64 zero = {0}", "int64 one = {1}", "int64 minus = {-1}"
BUCKETS = (  # of relative positions, as in T5
    "p = Max (d, zero) t = Less (p, few) f = Cast <to = 1> (p) q = Div (f, c) g = Log (q) r = Div (g, e) "
    "m = Mul (r, c) j = Cast <to = 7> (m) s = Add (j, c16) b = Min (s, most) i = Where (t, p, b) y = Gather (x, i)"
)
SIXTEEN = f"{ZERO}, float c = {{16}}, float e = {{2.0794415}}, int64 c16 = {{16}}, int64 most = {{31}}"

PROVED = {
    # id: (inputs, body, constants)
    "constant": ("float[6, 4] x", "y = Gather (x, i)", "int64[3] i = {0, -6, 5}"),
    "empty index": ("float[0, 4] x", "y = Gather (x, i)", "int64[0] i = {}"),
    "ArgMax of the axis": (
        "float[N, V] s, float[V, 4] t",
        "i = ArgMax <axis = 1, keepdims = 0> (s) y = Gather (t, i)",
    ),
    "ArgMin of the axis": ("float[V] s, float[V] t", "i = ArgMin <axis = 0> (s) y = Gather (t, i)"),
    "TopK of the axis": (
        "float[N, V] s, float[V, 4] t",
        "v, i = TopK <axis = 1> (s, k) y = Gather (t, i)",
        "int64[1] k = {2}",
    ),
    "Range of the axis": (
        "float[N] x",
        "n = Shape (x) s = Squeeze (n) i = Range (zero, s, one) y = Gather (x, i)",
        f"{ZERO}, {ONE}",
    ),
    "Clip": ("float[9] x, int64[N] i", "c = Clip (i, zero, m) y = Gather (x, c)", f"{ZERO}, int64 m = {{8}}"),
    "Mod": ("float[9] x, int64[N] i", "c = Mod (i, m) y = Gather (x, c)", "int64 m = {9}"),
    "fmod": ("float[9] x, int64[N] i", "c = Mod <fmod = 1> (i, m) y = Gather (x, c)", "int64 m = {9}"),
    "Min and Max": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) b = Min (a, m) y = Gather (x, b)",
        f"{ZERO}, int64 m = {{8}}",
    ),
    "a logarithm of what is large enough": ("float[32] x, int64[N] d", BUCKETS, f"{SIXTEEN}, int64 few = {{16}}"),
    "a negative logarithm": ("float[32] x, int64[N] d", BUCKETS, f"{SIXTEEN}, int64 few = {{1}}"),
    "uint8": ("float[256] x, uint8[N] i", "c = Cast <to = 7> (i) y = Gather (x, c)"),
    "int8, from the end": ("float[128] x, int8[N] i", "c = Cast <to = 6> (i) y = Gather (x, c)"),
    "bool": ("float[2] x, bool[N] i", "c = Cast <to = 7> (i) y = Gather (x, c)"),
    "negative made positive": (
        "float[V] t, float[V] s",
        "a = ArgMax <axis = 0> (s) n = Shape (t) b = Sub (a, n) c = Less (b, zero) d = Add (b, n) "
        "i = Where (c, d, b) y = Gather (t, i)",
        ZERO,
    ),
    "negative made positive, not less": (
        "float[9] t, int8[N] j",
        "b = Cast <to = 7> (j) e = Mod <fmod = 1> (b, n) c = GreaterOrEqual (e, zero) d = Add (n, e) "
        "i = Where (c, e, d) y = ai.onnx.ml.ArrayFeatureExtractor (t, i)",
        f"{ZERO}, int64 n = {{9}}",
    ),
    "a quotient of floats, rounded down": (
        "float[200] s, float[40] t",
        "i = ArgMax <axis = 0> (s) f = Cast <to = 1> (i) q = Div (f, five) r = Floor (q) j = Cast <to = 7> (r) "
        "y = Gather (t, j)",
        "float five = {5.0}",
    ),
    "a quotient of floats, rounded down, of a size": (
        "float[N, B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) v, i = TopK <axis = 1> (f, three) g = Cast <to = 1> (i) q = Div (g, vocab) "
        "r = Floor (q) j = Cast <to = 7> (r) y = Gather (t, j)",
        "int64[2] flat = {0, -1}, int64[1] three = {3}, float vocab = {29.0}",
    ),
    "a quotient of floats, truncated": (
        "float[B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) i = ArgMax <axis = 0> (f) g = Cast <to = 1> (i) q = Div (g, vocab) "
        "j = Cast <to = 7> (q) y = Gather (t, j)",
        "int64[1] flat = {-1}, float vocab = {29.0}",
    ),
    "limited to the axis, and as long": (
        "float[N] x, int64[N] i",
        "n = Size (x) m = Sub (n, one) c = Clip (i, zero, m) y = Gather (x, c)",
        f"{ZERO}, {ONE}",
    ),
    "a slot of a group, if there are slots": (
        "float[N, E] s, float[P] x, int64[N] i",
        "k = Shape <start = 0, end = 1> (s) m = Sub (k, one) e = ArgMax <axis = 1, keepdims = 0> (s) a = Mul (e, k) "
        "c = Clip (i, zero, m) b = Add (a, c) t = Reshape (s, flat) y = Gather (t, b)",
        "int64 zero = {0}, int64 one = {1}, int64[1] flat = {-1}",
    ),
    "a slot of a group, or the one behind them": (
        "float[C, E] s, float[P] x, int64[N] i",
        "k = Shape <start = 0, end = 1> (s) e = ArgMax <axis = 1, keepdims = 0> (s) a = Mul (e, k) "
        "j = Max (i, zero) b = Add (j, a) n = Size (s) p = Less (j, k) w = Where (p, b, n) "
        "f = Reshape (s, flat) t = Concat <axis = 0> (f, rest) y = Gather (t, w)",
        "int64 zero = {0}, int64[1] flat = {-1}, float[1] rest = {0.0}",
    ),
    "the places before, counted from the end": (
        "float[N] x, int64[N] i",
        "k = Shape (x) r = Range (zero, m, one) j = Max (i, zero) d = Sub (k, j) p = Greater (j, k) "
        "w = Where (p, zero, d) t = Concat <axis = 0> (x, rest) y = Gather (t, w)",
        "int64 zero = {0}, int64 one = {1}, int64 m = {3}, float[1] rest = {0.0}",
    ),
    "NonZero of the tensor": (
        "float[A, B] x",
        "n = NonZero (x) i = Transpose <perm = [1, 0]> (n) y = GatherND (x, i)",
    ),
    "a row of NonZero": (
        "float[A, B] x, float[B] t",
        "n = NonZero (x) i = Gather (n, one) y = Gather (t, i)",
        ONE,
    ),
    "rows of NonZero, split": (
        "float[A, B] x, float[B] t",
        "n = NonZero (x) a, b = Split <axis = 0> (n) i = Squeeze (b, z) y = Gather (t, i)",
        "int64[1] z = {0}",
    ),
    "boxes of NonMaxSuppression": (
        "float[B, S, 4] boxes, float[B, C, S] scores, float[S, 9] t",
        "n = NonMaxSuppression (boxes, scores, k) i = Gather <axis = 1> (n, two) y = Gather (t, i)",
        "int64[1] k = {3}, int64 two = {2}",
    ),
    "inverse of Unique": (
        "int64[N] x",
        "u, f, i, c = Unique (x) y = Gather (u, i)",
    ),
    "first occurrences of Unique": ("int64[N] x", "u, i, v, c = Unique (x) y = Gather (x, i)"),
    "columns of a tuple": (
        "float[A, B] x, float[A] s, float[B] t",
        "a = ArgMax <axis = 0> (s) b = ArgMax <axis = 0> (t) i = Concat <axis = 0> (a, b) y = GatherND (x, i)",
    ),
    "a Gather before has the same index": (
        "float[N] x, float[N] z",
        "a = Gather (x, i) b = Gather (z, i) y = Add (a, b)",
        "int64 i = {5}",
    ),
    "counter of a loop": (
        "float[9] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) "
        "{ d = Identity (c) r = Gather (x, i) w = Add (v, r) }>",
        "int64 n = {9}",
    ),
    "GatherBlockQuantized": (
        "uint8[9, 16] x, float[9, 1] s",
        "y = com.microsoft.GatherBlockQuantized <block_size = 32> (x, i, s)",
        "int64[1] i = {-9}",
    ),
    "through a branch": (
        "bool c, float[V] s, float[V] t",
        "i = ArgMax <axis = 0> (s) y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, "
        "else_branch = b () => (v) { v = Identity (s) }>",
    ),
}


@pytest.mark.parametrize("case", PROVED)
def test_proved(case: str) -> None:
    found = last(*PROVED[case])
    assert (found.kind, found.conditions, found.diagnostic()) == (Kind.PROVED, (), None), found


VIOLATED = {
    # id: (inputs, body, constants, reason, witness)
    "constant": ("float[6] x", "y = Gather (x, i)", "int64[2] i = {0, 6}", "index 6 is outside [-6, 5]", "index = 6"),
    "far negative": ("float[6] x", "y = Gather (x, i)", "int64 i = {-7}", "index -7 is outside [-6, 5]", "index = -7"),
    "no rows": (
        "float[0] x, int64[3] i",
        "y = Gather (x, i)",
        "",
        "indices is not empty, the axis it addresses has length 0",
        "",
    ),
    "one past the end": (
        "float[N] x",
        "i = Shape (x) y = Gather (x, i)",
        "",
        "index N is outside [-N, N - 1]",
        "index = N",
    ),
    "span past the end": (
        "float[6] x, int64[N] j",
        "i = Clip (j, m) y = Gather (x, i)",
        "int64 m = {6}",
        "indices in [6, ...] are outside [-6, 5]",
        "",
    ),
    "a column of a tuple": (
        "float[6, 2] x",
        "y = GatherND (x, i)",
        "int64[1, 2] i = {5, 2}",
        "index 2 is outside [-2, 1]",
        "index = 2",
    ),
    "negative, from the front only": (
        "float[2, 6] x",
        "y = ai.onnx.ml.ArrayFeatureExtractor (x, i)",
        "int64[1] i = {-1}",
        "index -1 is outside [0, 5]",
        "index = -1",
    ),
    "in a branch": (
        "bool c, float[4] t",
        "y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, else_branch = b () => (v) { v = Identity (t) }>",
        "int64[4] i = {0, 1, 2, 4}",
        "index 4 is outside [-4, 3]",
        "index = 4",
    ),
}


@pytest.mark.parametrize("case", VIOLATED)
def test_violated(case: str) -> None:
    *model, reason, witness = VIOLATED[case]
    found = last(*model)
    assert (found.kind, found.reason, found.example) == (Kind.VIOLATED, reason, witness)
    assert found.outside is Outside.FAILS


CONDITIONAL = {
    # id: (inputs, body, constants, condition, witness)
    "an input": ("float[9] x, int64[N] i", "y = Gather (x, i)", "", "-9 <= i < 9", "i = 9"),
    "symbolic rows": ("float[V] x, int64[N] i", "y = Gather (x, i)", "", "-V <= i < V", "i = V"),
    "moved input": (
        "float[9] x, int32[N, 2] i",
        "a = Transpose (i) b = Cast <to = 7> (a) c = Reshape (b, s) y = Gather (x, c)",
        "int64[1] s = {-1}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "some of an input": (
        "float[9] x, int64[N] i",
        "a = Slice (i, s, e) y = Gather (x, a)",
        "int64[1] s = {1}, int64[1] e = {3}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "an input where it is not padding": (
        "float[9] x, int64[N] i",
        "p = Equal (i, minus) a = Where (p, zero, i) y = Gather (x, a)",
        f"{ZERO}, {MINUS}",
        "-9 <= i < 9",
        "i = 9",
    ),
    "an input where it is not negative": (
        "float[9] x, int64[N] i",
        "p = Less (i, zero) a = Where (p, zero, i) y = Gather (x, a)",
        ZERO,
        "i < 9",
        "i = 9",
    ),
    "two inputs": (
        "float[9] x, int64[2] i, int64[3] j",
        "a = Concat <axis = 0> (i, j, k) y = Gather (x, a)",
        "int64[1] k = {8}",
        "-9 <= i < 9 and -9 <= j < 9",
        "i = 9",
    ),
    "shifted input": (
        "float[9] x, int64[N] i",
        "a = Sub (i, one) y = Gather (x, a)",
        ONE,
        "-8 <= i < 10",
        "i = 10",
    ),
    "input from 0 on": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) y = Gather (x, a)",
        ZERO,
        "i < 9",
        "i = 9",
    ),
    "uint8 input": ("float[9] x, uint8[N] i", "a = Cast <to = 7> (i) y = Gather (x, a)", "", "i < 9", "i = 9"),
    "negative made positive": (
        "float[9] x, int64[N] i",
        "c = Less (i, zero) d = Add (i, n) j = Where (c, d, i) y = Gather (x, j)",
        f"{ZERO}, int64 n = {{9}}",
        "-18 <= i < 9",
        "i = 9",
    ),
    "through a function's branch": (
        "bool c, float[9] t, int64[9] i",
        "y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, else_branch = b () => (v) { v = Identity (t) }>",
        "",
        "-9 <= i < 9",
        "i = 9",
    ),
    "columns of an input": (
        "float[3, 4] x, int64[N, 2] i",
        "y = GatherND (x, i)",
        "",
        "-3 <= i[..., 0] < 3 and -4 <= i[..., 1] < 4",
        "i[..., 0] = 3",
    ),
    "GatherElements": (
        "float[3, 4] x, int64[3, N] i",
        "y = GatherElements <axis = 1> (x, i)",
        "",
        "-4 <= i < 4",
        "i = 4",
    ),
    "positions": (
        "float[512, 8] t, int64[N, S] ids",
        "n = Shape <start = 1, end = 2> (ids) s = Squeeze (n) i = Range (zero, s, one) y = Gather (t, i)",
        f"{ZERO}, {ONE}",
        "S <= 512",
        "S = 513",
    ),
    "positions after a past": (
        "float[48, 8] t, int64[S] ids, float[P] past",
        "a = Shape (ids) b = Shape (past) c = Add (a, b) s = Squeeze (b) e = Squeeze (c) "
        "i = Range (s, e, one) j = Unsqueeze (i, z) y = Gather (t, j)",
        f"{ONE}, int64[1] z = {{0}}",
        "P + S <= 48",
        "P = 48, S = 1",
    ),
    "constant on a symbolic axis": ("float[N] x", "y = Gather (x, i)", "int64 i = {5}", "N >= 6", "N = 5"),
    "the last": ("float[N] x", "y = Gather (x, minus)", MINUS, "N >= 1", "N = 0"),
    "the same index twice: the first": (
        "float[N] x",
        "a = Gather (x, i) b = Gather (x, i) y = Add (a, b)",
        "int64 i = {5}",
        "N >= 6",
        "N = 5",
    ),
    "a later slice that is as long": (
        "float[N] x",
        "s = Slice (x, a, b) y = Gather (s, i)",
        "int64[1] a = {0}, int64[1] b = {6}, int64 i = {5}",
        "N >= 6",
        "N = 5",
    ),
}


@pytest.mark.parametrize("case", CONDITIONAL)
def test_conditional(case: str) -> None:
    *model, condition, witness = CONDITIONAL[case]
    found = judged(*model)[0]
    assert found.kind is Kind.CONDITIONAL, found
    assert (found.condition, found.example) == (condition, witness)


def test_an_access_does_not_prove_itself_in_a_second_pass() -> None:
    """What a node implies simplifies sizes before it: of `min(N, 6)` only 6 is left."""
    inputs, body = "float[N] x, float[M] z", "s = Slice (x, a, b) r = Gather (s, i) q = Reshape (z, t) y = Mul (q, r)"
    given = "int64[1] a = {0}, int64[1] b = {6}, int64 i = {5}, int64[2] t = {0, -1}"
    (found,) = judged(inputs, body, given)
    assert found.kind is Kind.CONDITIONAL
    assert found.example == "N = 5"


def test_a_declared_bound_proves() -> None:
    inputs, body = "float[512, 8] t, int64[N, S] ids", (
        "n = Shape <start = 1, end = 2> (ids) s = Squeeze (n) i = Range (zero, s, one) y = Gather (t, i)"
    )  # fmt: skip
    given = f"{ZERO}, {ONE}"
    assert last(inputs, body, given, dims=("S=0..512",)).kind is Kind.PROVED
    assert last(inputs, body, given, dims=("S=0..513",)).kind is Kind.CONDITIONAL
    assert last(inputs, body, given, dims=("S=513..600",)).kind is Kind.VIOLATED


UNDECIDED = {
    "a logarithm of 0": (
        "float[32] x, int64[N] d",
        BUCKETS,
        f"{SIXTEEN}, int64 few = {{0}}",
        "indices are computed from data; indices in [..., 31], the axis has 32 rows",
    ),
    "a logarithm beside a test of another tensor": (
        "float[32] x, int64[N] d, int64[N] o",
        BUCKETS.replace("Less (p, few)", "Less (o, few)"),
        f"{SIXTEEN}, int64 few = {{16}}",
        "indices are computed from data; indices in [..., 31], the axis has 32 rows",
    ),
    # id: (inputs, body, constants, reason)
    "floats as integers of a type that is too short": (
        "float[200] s, float[100] t",
        "i = ArgMax <axis = 0> (s) f = Cast <to = 1> (i) a = Cast <to = 3> (f) j = Cast <to = 7> (a) y = Gather (t, j)",
        "",
        "indices are computed from data; indices in [-128, 127], the axis has 100 rows",
    ),
    "a quotient of floats, rounded up": (
        "float[B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) i = ArgMax <axis = 0> (f) g = Cast <to = 1> (i) q = Div (g, vocab) r = Ceil (q) "
        "j = Cast <to = 7> (r) y = Gather (t, j)",
        "int64[1] flat = {-1}, float vocab = {29.0}",
        "indices are computed from data; indices in [..., ...], the axis has B rows",
    ),
    "computed from data": (
        "float[9] x, int64[N] i",
        "j = Mul (i, i) y = Gather (x, j)",
        "",
        "indices are computed from data; indices in [..., ...], the axis has 9 rows",
    ),
    "float data": (
        "float[9] x, float[N] i",
        "j = Cast <to = 7> (i) y = Gather (x, j)",
        "",
        "indices are computed from data; indices in [..., ...], the axis has 9 rows",
    ),
    "as many as are not 0": (
        "float[N] x, float[9] t",
        "n = NonZero (x) s = Shape <start = 1> (n) y = Gather (t, s)",
        "",
        "it depends on sizes that are not known: the number of elements that are not 0 depends on the data "
        "(node NonZero#0); index nonzero_0, the axis has 9 rows",
    ),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_undecided(case: str) -> None:
    *model, reason = UNDECIDED[case]
    found = last(*model)
    assert (found.kind, found.reason) == (Kind.UNDECIDED, reason)


GUESSED = {
    # id: (inputs, body, constants, condition)
    "limited after it may have wrapped": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) b = Cast <to = 6> (a) c = Min (b, m) y = Gather (x, c)",
        f"{ZERO}, int32 m = {{8}}",
        "0 <= i < 9",
    ),
    "limited after a sum that may have wrapped": (
        "float[9] x, int64[N] i",
        "a = Add (i, one) c = Min (a, m) y = Gather (x, c)",
        f"{ONE}, int64 m = {{8}}",
        "0 <= i < 9",
    ),
    "uint64 that may have wrapped": (
        "float[9] x, uint64[N] i",
        "a = Cast <to = 7> (i) c = Min (a, m) y = Gather (x, c)",
        "int64 m = {8}",
        "0 <= i < 9",
    ),
}


@pytest.mark.parametrize("case", GUESSED)
def test_what_is_guessed(case: str) -> None:
    *model, condition = GUESSED[case]
    found = last(*model)
    assert (found.kind, found.condition, found.tight) == (Kind.CONDITIONAL, condition, False)


@pytest.mark.parametrize("body", ["k = Add (i, j)", "k = Add (i, i)", "k = Mul (i, j)", "k = Mul (i, i)"])
def test_what_has_no_natural_range_stays_open(body: str) -> None:
    """Which of two inputs that count alike has which share of the axis would be made up."""
    assert last("float[9] x, int64[N] i, int64[N] j", f"{body} y = Gather (x, k)").kind is Kind.UNDECIDED


def test_what_is_enough_is_a_condition_that_is_not_tight() -> None:
    found = last("float[W] s, float[9] t", "i = ArgMax <axis = 0> (s) y = Gather (t, i)")
    assert (found.kind, found.condition, found.tight) == (Kind.CONDITIONAL, "W <= 9", False)
    assert found.reason == "indices are computed from data; indices in [0, W - 1], the axis has 9 rows"


POSITIONS_OF_N = "s = Shape (n) d = Gather (s, zero) r = Range (zero, d, one) y = Gather (x, r)"
REDUCED = {
    # id: (inputs, body, condition, dims)
    "the nearer end": ("float[9] x, float[5] t, int64[N] i", "y = Gather (x, i) z = Gather (t, i)", "-5 <= i < 5", ()),
    "what is declared": ("float[9] x, float[N] n", POSITIONS_OF_N, "", ("N=0..9",)),
    "of sizes": ("float[9] x, float[N] n", POSITIONS_OF_N, "N <= 9", ("N=0..10",)),
}  # fmt: skip


@pytest.mark.parametrize("case", REDUCED)
def test_conditions_are_reduced(case: str) -> None:
    inputs, body, condition, dims = REDUCED[case]
    found = last(inputs, body, f"{ZERO}, {ONE}", dims=dims)
    assert found.condition == condition


def test_conditions_of_two_parts_are_reduced() -> None:
    """Two clamps of one table: `seq <= 191 and seq <= 64` is `seq <= 64`."""
    scope = Scope()
    n = symbol("n")
    wide, narrow, loose = Condition(n, "<=", 191), Condition(n, "<=", 64), Condition(n, "<=", 32, tight=False)
    assert minimal([wide, narrow], scope) == (narrow,)
    assert minimal([wide, narrow, loose], scope) == (narrow, loose)
    assert minimal([loose, Condition(n, "<=", 64, tight=False)], scope) == (loose,)
    some = Elements("ids", whole=False)
    rows = [Condition(some, "<", 5), Condition(Elements("ids"), "<", 5), Condition(Elements("ids", 1), "<", 9)]
    assert minimal(rows, scope) == (rows[1],)


def test_before_opset_11_a_negative_index_is_not_defined() -> None:
    assert last("float[9] x, int64[N] i", "y = Gather (x, i)", opset=10).condition == "0 <= i < 9"
    found = last("float[9] x", "y = Gather (x, i)", "int64 i = {-1}", opset=10)
    assert (found.kind, found.reason) == (
        Kind.UNDECIDED,
        "index -1 is negative, which Gather defines from opset 11 on",
    )
    assert last("float[9] x", "y = Gather (x, i)", "int64 i = {-10}", opset=10).kind is Kind.VIOLATED


DIALECTS = {
    # id: (body, index, kind, what an index out of bounds does)
    "Gather-8 in bounds": ("y = openvino.opset8.Gather (x, i, a)", -9, Kind.PROVED, Outside.ZERO),
    "Gather-8 outside": ("y = openvino.opset8.Gather (x, i, a)", 9, Kind.VIOLATED, Outside.ZERO),
    "Gather-7 negative": ("y = openvino.opset7.Gather (x, i, a)", -1, Kind.UNDECIDED, Outside.UNDEFINED),
    "Gather-7 outside": ("y = openvino.opset7.Gather (x, i, a)", 9, Kind.VIOLATED, Outside.UNDEFINED),
    "Gather-13": ("y = Gather (x, i)", 9, Kind.VIOLATED, Outside.FAILS),
    "com.microsoft GatherND": ("y = com.microsoft.GatherND (x, i)", 9, Kind.VIOLATED, Outside.FAILS),
}


@pytest.mark.parametrize("case", DIALECTS)
def test_what_an_index_out_of_bounds_does(case: str) -> None:
    body, index, kind, outside = DIALECTS[case]
    found = last("float[9, 4] x", body, f"int64[1] i = {{{index}}}, int64 a = {{0}}")
    assert (found.kind, found.outside) == (kind, outside)
    finding = found.diagnostic()
    if kind is Kind.VIOLATED:
        assert finding is not None
        assert (finding.severity == "error") == (outside is Outside.FAILS)
        assert (str(outside) in finding.detail) == (outside is not Outside.FAILS)


def test_zero_fill_of_quantized_blocks() -> None:
    found = last(
        "uint8[9, 16] x, float[9, 1] s, int64[N] i",
        "y = com.microsoft.GatherBlockQuantized <block_size = 32> (x, i, s)",
    )
    assert (found.kind, found.condition, found.outside) == (Kind.CONDITIONAL, "-9 <= i < 9", Outside.ZERO)


def test_negative_indices_can_be_ruled_out() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[9] x) => (y) <int64 i = {-1}> { y = Gather (x, i) }'
    )
    (access,) = gather_infer.infer(model).accesses
    assert verdict(access).kind is Kind.PROVED
    assert verdict(access, allow_negative=False).kind is Kind.VIOLATED


def test_a_size_that_floats_have_to_hold_is_assumed() -> None:
    inputs, body, given = PROVED["a quotient of floats, rounded down, of a size"]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    assert "B <= 578524 (node Cast#5)" in map(str, gather_infer.infer(model).assumptions)
    assert verdicts(gather_infer.infer(model, assume=False))[-1].kind is Kind.UNDECIDED


def test_conditions_are_structured() -> None:
    low, high = last("float[V] x, int64[N] i", "y = Gather (x, i)").conditions
    assert (low.left, low.relation, str(low.right)) == (Elements("i"), ">=", "-V")
    assert (high.left, high.relation, str(high.right)) == (Elements("i"), "<", "V")


def test_a_function_is_followed() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "f": 1]>
        g (float[9] x, int64[N] i) => (y) { a = f.move (i) y = f.pick (x, a) }
        <domain: "f", opset_import: ["": 17]> move (i) => (o) { o = Identity (i) }
        <domain: "f", opset_import: ["": 17]> pick (x, i) => (o) { o = Gather (x, i) }
    """)
    (found,) = verdicts(gather_infer.infer(model))
    assert (str(found.access.node), found.condition) == ("pick#1/Gather#0", "-9 <= i < 9")


def test_texts() -> None:
    found = last("float[50257, 768] wte", "y = Gather (wte, i)", "int64[1] i = {50257}")
    assert found.text("gpt2.onnx").splitlines() == [
        "error[GI301]: index 50257 is outside [-50257, 50256]",
        "  --> gpt2.onnx: node Gather#0 (Gather-17)",
        "   |  data wte: float32[50257, 768], axis 0",
    ]
    found = last(*CONDITIONAL["positions"][:3])
    assert found.text("gpt2.onnx").splitlines() == [
        "note[GI302]: in bounds only for S <= 512: indices in [0, S - 1], the axis has 512 rows",
        "  --> gpt2.onnx: node Gather#3 (Gather-17)",
        "   |  data t: float32[512, 8], axis 0",
        "   |  S = 513 is past the end",
    ]
    assert last(*PROVED["uint8"]).text() == "proved: every index of Gather#1 is in bounds"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_fixtures(path: Path) -> None:
    found = verdicts(gather_infer.infer(path))
    assert {v.kind for v in found} <= {Kind.PROVED, Kind.CONDITIONAL}
    for each in found:
        assert (each.kind is Kind.CONDITIONAL) == bool(each.conditions)
