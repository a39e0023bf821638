"""Caches of a run: a node that equals an earlier one but for one component gets its own result.

Each pair of nodes differs in one component of what is remembered. The later node has to have the facts that it has
alone, and both are held against onnxruntime.
"""

from __future__ import annotations

import copy
import gc
import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx.parser import parse_model

from gather_infer import RuleSet, infer
from gather_infer.context import Context
from gather_infer.inference.rule_cache import RuleCache
from gather_infer.rules import OpCall
from gather_infer.symbolic import Scope, symbol
from gather_infer.tensor import DType, SequenceType, SymbolicTensor, Value, ValueRange, make_values
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

HEAD = """s = Shape(x) n = Squeeze(s) zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>()
    four = Constant<value_int = 4>() five = Constant<value_int = 5>() v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>()
    f0 = Constant<value_float = 0.0>() c = Greater(m, f0) d = Less(m, f0)
    half = Constant<value_floats = [0.5]>() third = Constant<value_floats = [0.34]>()"""
PAIRS: dict[str, Any] = {
    # what differs:                     (earlier nodes, later nodes, the later result)
    "operator":                         ("a = Add(n, n)", "b = Mul(n, n)", "b"),
    "input":                            ("a = Add(n, one)", "b = Add(n, two)", "b"),
    "order of inputs":                  ("a = Sub(n, one)", "b = Sub(one, n)", "b"),
    "an input that is left out":        ("a = Clip(n, four)", "b = Clip(n, , four)", "b"),
    "attribute":                        ("a = Flatten<axis = 0>(m)", "b = Flatten<axis = 1>(m)", "b"),
    "name of the attribute":            ("a = Shape<start = 1>(m)", "b = Shape<end = 1>(m)", "b"),
    "number of outputs":                ("a, a1 = Split(six)", "b, b1, b2 = Split(six)", "b"),
    "outputs that are used":            ("a, a1 = Dropout(m)", "b = Dropout(m)", "b"),
    "what has been learnt":             ("a = Less(n, five) g = Gather(x, four)", "b = Less(n, five)", "b"),
    "elements of a constant":           ("a = Constant<value_ints = [3]>()", "b = Constant<value_ints = [2]>()", "b"),
    "type of a constant":               ("a = Constant<value = int32[1] {1}>()", "b = Constant<value = int64[1] {1}>()", "b"),
    "rank of a constant":               ("a = Constant<value_int = 3>()", "b = Constant<value_ints = [3]>()", "b"),
    "element type of a known input":    ("e = Constant<value = int32[1] {1}>() a = Add(e, e)", "f = Constant<value = int64[1] {1}>() b = Add(f, f)", "b"),
    "rank of a known input":            ("a = Identity(one)", "b = Identity(v1)", "b"),
    "bounds of a known input":          ("k = Min(any, v1) e = Concat<axis = 0>(k, v0) a = Neg(e)", "l = Min(any, v0) f = Concat<axis = 0>(l, v0) b = Neg(f)", "b"),
    "what decides the size":            ("a = NonZero(c)", "b = NonZero(d)", "b"),
    "the axis of a size by data":       ("t = Squeeze(row) a = Compress<axis = 0>(square, t)", "b = Compress<axis = 1>(square, t)", "b"),
    "outputs of a size by data":        ("a = Unique(x)", "b, b1, b2, b3 = Unique(x)", "b2"),
    "operator of a size by data":       ("t = Squeeze(row) a = Compress(x, t)", "b = NonZero(t)", "b"),
    "operands of a broadcast":          ("a = Add(x, y)", "b = Add(x, z)", "b"),
    "second operand of a broadcast":    ("a = Add(z, y)", "b = Add(z, x)", "b"),
    "number of operands":               ("a = Add(x, y)", "b = Sum(x, y, z)", "b"),
    "scale of a resize":                ("a = Resize(x, , half)", "b = Resize(x, , third)", "b"),
    "size of a convolution":            ("a = MaxPool<kernel_shape = [2], strides = [2]>(image)", "b = MaxPool<kernel_shape = [2], strides = [3]>(image)", "b"),
}  # fmt: skip


def proto_of(nodes: str) -> ModelProto:
    body = f"""(float[N] x, float[M] y, float[K] z, float[A, B] m, float[6] six, bool[1, R] row, float[R, R] square, float[1, 1, L] image, int64[1] any) => (end) {{
        {HEAD} {nodes} end = Identity(x) }}"""
    return model(body)


def renumbered(fact: object) -> str:
    """The fact as text, its generated symbols numbered from 0."""
    numbers: dict[str, int] = {}
    return re.sub(r"(?<=_)\d+", lambda found: str(numbers.setdefault(found[0], len(numbers))), str(fact))


@pytest.mark.parametrize("name", PAIRS)
def test_a_later_node_is_answered_for_itself(name: str) -> None:
    earlier, later, result = PAIRS[name]
    proto = proto_of(f"{earlier} {later}")
    both, alone = infer(proto), infer(proto_of(later))
    assert both.errors == ()
    if name != "what has been learnt":
        assert renumbered(both[result]) == renumbered(alone[result])
    runtime, rng = Runtime(proto), np.random.default_rng(3)
    for n, m, k, a, b, r, length in (
        (5, 1, 5, 2, 3, 3, 7),
        (6, 6, 1, 4, 4, 4, 8),
        (7, 7, 7, 1, 6, 2, 9),
        (5, 5, 1, 3, 1, 5, 6),
    ):
        shapes = {"x": (n,), "y": (m,), "z": (k,), "m": (a, b), "six": (6,), "square": (r, r), "image": (1, 1, length)}
        feeds: dict[str, Any] = {name: rng.integers(-2, 3, shape).astype(np.float32) for name, shape in shapes.items()}
        feeds["any"] = rng.integers(-9, 9, 1)
        feeds["row"] = rng.integers(0, 2, (1, r)).astype(bool)
        sizes = {"N": n, "M": m, "K": k, "A": a, "B": b, "R": r, "L": length}
        assert compare(both, runtime.run(feeds), sizes).wrong == [], sizes


def test_what_has_been_learnt_answers_a_question_that_was_asked_before() -> None:
    """A Gather with the index 4 fails where N < 5, so whatever runs after it knows."""
    inference = infer(proto_of("a = Less(n, five) g = Gather(x, four) b = Less(n, five)"))
    assert str(inference["b"]) == "bool[] = false"
    later = infer(
        model("""(int64[M] ids, float[N] x) => (z) {
            s = Shape(x) n = Squeeze(s) first = Constant<value_int = 0>() a = Mod(ids, n) g = Gather(x, first)
            b = Mod(ids, n) z = Gather(x, b) }""")
    )
    assert verdicts(later)[-1].kind is VerdictKind.PROVED


BRANCHES = """(float[N] x) => (y, z) {
    s = Shape(x) n = Squeeze(s) five = Constant<value_int = 5>() seven = Constant<value_int = 7>() t = Less(n, five)
    y, z = If (t) <
        then_branch = g () => (y1, z1) { l = Less(n, seven) y1 = Cast<to = 7>(l) z1 = Identity(s) },
        else_branch = h () => (y2, z2) { l = Less(n, seven) y2 = Cast<to = 7>(l) z2 = Identity(s) }> }"""


def test_what_a_branch_knows_stays_there() -> None:
    """`N < 7` is true where N < 5, and open elsewhere."""
    proto = model(BRANCHES)
    inference = infer(untyped(proto))
    runtime = Runtime(proto)
    for n in (0, 4, 5, 6, 7, 9):
        assert compare(inference, runtime.run({"x": np.zeros(n, np.float32)}), {"N": n}).wrong == [], n


def test_what_a_branch_knows_of_a_call_stays_there() -> None:
    """The same function on the same size: where N < 5 its result is N, elsewhere 5."""
    proto = parse_model(
        """<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[N] x) => (y) {
        s = Shape(x) n = Squeeze(s) five = Constant<value_int = 5>() t = Less(n, five)
        y = If (t) <then_branch = a () => (int64 y1) { y1 = local.F(n) }, else_branch = b () => (int64 y2) { y2 = local.F(n) }> }
        <domain: "local", opset_import: ["" : 18]> F (m) => (k) { five = Constant<value_int = 5>() k = Min(m, five) }"""
    )
    inference, runtime = infer(proto), Runtime(proto)
    first = next(v for path, v in inference.scopes.items() if len(path.steps) == 1 and "y1" in v)["y1"]
    other = next(v for path, v in inference.scopes.items() if len(path.steps) == 1 and "y2" in v)["y2"]
    assert (str(first), str(other)) == ("int64[] = N", "int64[] = 5")
    for n in (0, 4, 5, 6, 9):
        assert compare(inference, runtime.run({"x": np.zeros(n, np.float32)}), {"N": n}).wrong == [], n


def test_a_repeated_access_is_judged_like_the_first() -> None:
    inference = infer(model("(float[9] t, int64[N] ids) => (a, b) { a = Gather(t, ids) b = Gather(t, ids) }"))
    first, second = verdicts(inference)
    assert first.condition == second.condition == "-9 <= ids < 9"


def test_a_function_has_constants_of_its_own_version() -> None:
    """Constant has no attribute value_ints before opset 12."""
    proto = model(
        "(float[N] x) => (a, b) { a = Constant<value_ints = [3]>() b = local.three() }",
        domains=', "local": 1',
        functions='<domain: "local", opset_import: ["" : 9]> three () => (c) { c = Constant<value_ints = [3]>() }',
    )
    inference = infer(proto)
    assert str(inference["a"]) == "int64[1] = [3]"
    assert inference["b"] == SymbolicTensor()
    assert {d.code for d in inference.errors} == {"GI106"}


TRIALS = """(float[N, 2] x) => (y) {
    most = Constant<value_int = 5>() go = Constant<value = bool {1}>()
    y = Loop(most, go, x) <body = b (int64 i, bool c, float[p, q] s) => (bool c2, float[r, t] s2) {
        c2 = Identity(c) k = Shape(s) l = local.Count(s) m = f.same(l) s2 = Concat<axis = 0>(m, s) }> }"""
SAME = '<domain: "f", opset_import: ["" : 17]> same (v) => (w) { w = Identity(v) }'


def test_what_was_found_in_a_trial_is_let_go() -> None:
    """A body is walked again under weaker hypotheses; nothing keeps what was known under the stronger ones."""
    alive: list[int] = []
    rules = RuleSet("local")

    @rules.rule("Count")
    def count(op: OpCall) -> list[SymbolicTensor]:
        gc.collect()
        alive.append(sum(isinstance(found, Scope) for found in gc.get_objects()))
        op.fresh("each call is made anew")
        return [op.tensor(0)]

    infer(model(TRIALS, domains=', "local": 1, "f": 1', functions=SAME), rules=[rules])
    assert len(alive) > 2
    assert max(alive) == alive[0]


FACTS = {
    # what the inputs have in common:    (their type, nodes that make the argument `b` of an input `a`)
    "a shape":                           ("float[N, 3]", "b = Identity(a)"),
    "elements":                          ("float[N, 3]", "b = Shape(a)"),
    "bounds":                            ("float[N, 3]", "b = ArgMax<axis = 1>(a)"),
    "the kind of a sequence":            ("float[N, 3]", "b = SequenceConstruct(a, a)"),
}  # fmt: skip


@pytest.mark.parametrize("through", ["a node", "a function"])
@pytest.mark.parametrize("name", FACTS)
def test_a_layer_that_repeats_is_worked_out_once(name: str, through: str) -> None:
    """Its rule is not asked again, whatever its tensors are called; the facts are those of a rule that is."""
    kind, nodes = FACTS[name]
    calls: list[object] = []
    rules = RuleSet("local")
    layers = 4

    @rules.rule("Count")
    def count(op: OpCall) -> list[Value | None]:
        calls.append(op)
        return [op.inputs[0]]

    text = ""
    for k in range(layers):
        made = re.sub(r"\b([ab])\b", rf"\g<1>{k}", nodes)
        text += f" {made} y{k} = {'local.Count' if through == 'a node' else 'f.layer'}(b{k})"
    function = '<domain: "f", opset_import: ["" : 17, "local" : 1]> layer (v) => (w) { w = local.Count(v) }'
    inputs = ", ".join(f"{kind} a{k}" for k in range(layers))
    proto = model(f"({inputs}) => (y0) {{ {text} }}", domains=', "local": 1, "f": 1', functions=function)
    inference = infer(proto, rules=[rules])
    assert inference.errors == ()
    assert len(calls) == 1
    assert all(inference[f"y{k}"] == inference[f"b{k}"] for k in range(layers))


def test_a_constant_of_the_callers_is_what_its_rule_says_each_time() -> None:
    rules = RuleSet("")
    rules.rule("Constant")(lambda op: [SymbolicTensor(None, (op.fresh("nobody knows"),))])
    inference = infer(
        model("(float x) => (a) { a = Constant<value_int = 3>() b = Constant<value_int = 3>() }"), rules=[rules]
    )
    assert inference["a"] != inference["b"]


def test_what_another_domain_calls_alike_is_another_operator() -> None:
    """The size of NonZero depends on data and is kept for the next NonZero of x; `local.NonZero` is what its rule says."""
    rules = RuleSet("local")
    rules.rule("NonZero")(lambda op: [SymbolicTensor(DType.FLOAT32, op.tensor(0).shape)])
    body = "(float[N] x) => (c) { a = NonZero(x) b = local.NonZero(x) c = NonZero(x) }"
    inference = infer(model(body, domains=', "local": 1'), rules=[rules])
    assert str(inference["b"]) == "float32[N]"
    assert inference["a"] == inference["c"]


def test_numbers_that_are_equal_and_different_are_kept_apart() -> None:
    """An attribute of an operator that no schema knows may be 1 or 1.0."""
    rules = RuleSet("local")
    rules.rule("Kind")(
        lambda op: [SymbolicTensor(DType.INT64 if type(op.attributes["k"]) is int else DType.FLOAT32, ())]
    )
    proto = model("(float x) => (a) { a = local.Kind<k = 1>(x) b = local.Kind<k = 1.0>(x) }", domains=', "local": 1')
    inference = infer(proto, rules=[rules])
    assert [str(inference[name]) for name in "ab"] == ["int64[]", "float32[]"]


def test_a_node_that_repeats_with_its_attributes_is_worked_out_once() -> None:
    calls: list[OpCall] = []
    rules = RuleSet("")

    @rules.rule("Softmax")
    def softmax(op: OpCall) -> list[SymbolicTensor]:
        calls.append(op)
        return [op.tensor(0)]

    body = "(float[N, 3] x) => (d) { a = Softmax<axis = 0>(x) b = Softmax<axis = 0>(a) c = Softmax<axis = 1>(b) d = Softmax<axis = 1>(c) }"
    assert str(infer(model(body), rules=[rules])["d"]) == "float32[N, 3]"
    assert [op.attributes["axis"] for op in calls] == [0, 1]


N = symbol("N")
ALIKE: dict[str, tuple[Value, bool]] = {
    # id: (a fact, whether it stands for all that are equal)
    "a tensor": (SymbolicTensor(DType.INT64, (N,)), True),
    "another element type": (SymbolicTensor(DType.INT32, (N,)), True),
    "no element type": (SymbolicTensor(None, (N,)), True),
    "another shape": (SymbolicTensor(DType.INT64, (N + 1,)), True),
    "a span": (SymbolicTensor(DType.INT64, (N,), None, ValueRange(0, N)), True),
    "another span": (SymbolicTensor(DType.INT64, (N,), None, ValueRange(0, 8)), True),
    "elements": (SymbolicTensor(DType.INT64, (2,), make_values([1, None])), True),
    "other elements": (SymbolicTensor(DType.INT64, (2,), make_values([2, None])), True),
    "elements of another type": (SymbolicTensor(DType.INT32, (2,), make_values([1, None])), True),
    "elements in another shape": (SymbolicTensor(DType.INT64, (1, 2), make_values([1, None], (1, 2))), True),
    "elements in a span": (SymbolicTensor(DType.INT64, (2,), make_values([1, None]), ValueRange(0, 4)), True),
    "elements in another span": (SymbolicTensor(DType.INT64, (2,), make_values([1, None]), ValueRange(0, 5)), True),
    "as many elements as are compared": (SymbolicTensor(DType.INT64, (16,), make_values([1] * 16)), True),
    "more elements": (SymbolicTensor(DType.INT64, (17,), make_values([1] * 17)), False),
    "floats": (SymbolicTensor(DType.FLOAT32, (1,), make_values([0.0])), False),
    "bools": (SymbolicTensor(DType.BOOL, (1,), make_values([True])), False),
    "elements of no type": (SymbolicTensor(None, (1,), make_values([1])), False),
    "a sequence": (SequenceType(SymbolicTensor(DType.INT64, (N,))), False),
}


@pytest.mark.parametrize("name", ALIKE)
def test_which_facts_are_one(name: str) -> None:
    fact, is_shared = ALIKE[name]
    cache = RuleCache(Context(Scope()))
    others = [cache.canonical(other) for other, _ in ALIKE.values() if other != fact]
    equal = copy.copy(fact)
    assert equal is not fact and equal == fact
    assert cache.canonical(fact) is cache.canonical(fact) is fact
    assert (cache.canonical(equal) is fact) is is_shared
    assert all(other is not fact for other in others)
