"""Nodes whose bodies read what stands behind them, functions that are called like operators, loops that are given up."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import infer
from gather_infer.inference.bodies import induction
from gather_infer.inference.incremental import IncrementalInference
from gather_infer.inference.proto.releases import NEWEST_IR_VERSION
from gather_infer.inference.provenance import transfer_context
from gather_infer.inference.topology import captures
from gather_infer.symbolic import evaluate
from gather_infer.tensor import UNKNOWN, DType, SequenceType, SymbolicTensor
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import model
from tests.oracle.graph_builder import REFUSALS
from tests.oracle.soundness import Runtime, compare

INNER = "If(c) <then_branch = t2 () => (float[e] o2) {{ o2 = {0} }}, else_branch = e2 () => (float[e] p2) {{ p2 = Neg(x) }}>"
READS = {
    # id: (the then_branch of an If, what it reads from outside)
    "at once": ("o = Neg(late)", {"late"}),
    "two graphs below": (f"o = {INNER.format('Neg(late)')}", {"c", "late", "x"}),
    "two graphs below, what the middle one has": (f"late2 = Neg(x) o = {INNER.format('Neg(late2)')}", {"c", "x"}),
    "as an output": ("", {"late"}),
}


def reading(nodes: str) -> onnx.ModelProto:
    out = "o" if nodes else "late"
    return model(
        f"""(float[N] x, bool c) => (y) {{
        y = If(c) <then_branch = t () => (float[d] {out}) {{ {nodes} }}, else_branch = e () => (float[d] p) {{ p = Neg(x) }}>
        late = Concat<axis = 0>(x, x) }}""",
        opset=18,
    )


@pytest.mark.parametrize("name", READS)
def test_a_body_that_reads_what_stands_behind_its_node(name: str) -> None:
    nodes, names = READS[name]
    proto = reading(nodes)
    assert captures(proto.graph.node[0].attribute[0].g) == names
    found = infer(proto)
    assert found.diagnostics == ()
    right = model("(float[N] x, bool c) => (y) { y = Neg(x) }", opset=18)
    del right.graph.node[:]
    right.graph.node.extend(reversed(proto.graph.node))
    assert found["y"] == infer(right)["y"] != UNKNOWN


@pytest.mark.parametrize(("kind", "dtype"), [("float", DType.FLOAT32), ("int64", None)])
def test_a_function_with_other_inputs_than_the_operator_of_its_name(kind: str, dtype: DType | None) -> None:
    """The inputs of the operator are not counted: both results share the element type, if it is the same."""
    text = f"""<ir_version: 8, opset_import: ["" : 18]> g (float[N] x, {kind}[N, 3] w) => (y) {{ y = Relu(x, w) }}
        <domain: "", opset_import: ["" : 18]> Relu (a, b) => (c) {{ c = Neg(b) }}"""
    found = infer(onnx.parser.parse_model(text))
    assert [d.code for d in found.diagnostics] == ["GI109"]
    assert found["y"] == SymbolicTensor(dtype)


GROWING = """(float[N] x, int64 m) => (y) { go = Constant<value = bool {1}>()
    y = Loop(m, go, x) <body = b (int64 i, bool k, float[A] s) => (bool k2, float[B] s2) {
        s2 = Concat<axis = 0>(s, x) k2 = Identity(k) }> }"""


@pytest.mark.parametrize(
    ("limit", "value", "rank", "dtype"),
    [
        ("MAX_RETRIES", 0, None, None),
        ("MAX_RETRIES", 1, None, None),
        ("MAX_RETRIES", 2, 1, DType.FLOAT32),
        ("MAX_TRIALS", 1, None, DType.FLOAT32),
        ("MAX_TRIALS", 2, 1, DType.FLOAT32),
    ],
)
def test_a_loop_that_is_given_up(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, rank: int | None, dtype: DType | None
) -> None:
    """Of its state nothing is said that does not hold in every run: its length is (m + 1)*N."""
    proto = model(GROWING, opset=18)
    monkeypatch.setattr(induction, limit, value)
    found = infer(proto)["y"]
    assert isinstance(found, SymbolicTensor) and (found.rank, found.dtype) == (rank, dtype)
    runtime = Runtime(proto)
    for n, m in ((0, 1), (3, 0), (3, 2)):
        ran = runtime.run({"x": np.ones(n, np.float32), "m": np.array(m)})
        assert ran["y"].shape == ((m + 1) * n,)
        assert compare(infer(proto), ran, {"N": n}).wrong == []


def test_a_function_is_not_followed_as_the_operator_of_its_name() -> None:
    """An Identity that negates: it is sufficient that x and -x are in bounds; the necessary condition is unknown."""
    text = """<ir_version: 8, opset_import: ["" : 18]> g (int64[N] x, float[9] table) => (z) { y = Identity(x) z = Gather(table, y) }
        <domain: "", opset_import: ["" : 18]> Identity (a) => (b) { b = Neg(a) }"""
    (found,) = verdicts(infer(onnx.parser.parse_model(text)))
    assert (found.kind, found.condition, found.tight) == (VerdictKind.CONDITIONAL, "0 <= x < 9", False)


def test_a_function_that_is_called_like_an_operator_that_addresses() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[9] table, int64[N] i) => (y, z) { y = Gather(table, i) z = Neg(y) }
        <domain: "", opset_import: ["" : 18]> Gather (a, b) => (c) { c = Expand(a, b) }"""
    found = infer(onnx.parser.parse_model(text))
    assert [d.code for d in found.diagnostics] == ["GI109"]
    assert found["z"] == SymbolicTensor(DType.FLOAT32)


@pytest.mark.parametrize(
    ("body", "rank"),
    [("r = NonZero(s2) f = Squeeze(r, v0) t = Cast<to = 1>(f)", 1), ("t = Concat<axis = 0>(s2, x)", 1)],
)
def test_a_state_of_one_rank_preserves_it(body: str, rank: int) -> None:
    """Its size differs in each iteration, unknown or growing."""
    proto = model(
        f"""(float[N] x, int64 m) => (y) {{ v0 = Constant<value_ints = [0]>() go = Constant<value = bool {{1}}>()
        y = Loop(m, go, x) <body = b (int64 i, bool k, float[A] s2) => (bool k2, float[B] t) {{ {body} k2 = Identity(k) }}> }}""",
        opset=18,
    )
    inference = infer(proto)
    found = inference["y"]
    assert isinstance(found, SymbolicTensor) and (found.rank, found.dtype) == (rank, DType.FLOAT32)
    runtime = Runtime(proto)
    for n, m in ((0, 1), (3, 0), (3, 2)):
        x = np.arange(n, dtype=np.float32)
        assert compare(inference, runtime.run({"x": x, "m": np.array(m)}), {"N": n}).wrong == []


@pytest.mark.parametrize(("before", "after"), [("s", "t"), ("s", "s"), ("r", "s"), ("s", "r")])
def test_members_of_no_known_type_stay_so(before: str, after: str) -> None:
    """Nothing is known of the members of `s`, and so of nothing that may be one."""
    proto = model(
        f"""(float[N] x, int64 m, bool c, float[1] s) => (y) {{ r = SequenceConstruct(x)
        y = Loop(m, c, {before}) <body = b (int64 i, bool k, seq(float[A]) t) => (bool k2, seq(float[A]) u) {{
            u = Identity({after}) k2 = Identity(k) }}> }}""",
        opset=18,
    )
    proto.graph.input[3].type.sequence_type.SetInParent()
    proto.graph.node[1].attribute[0].g.input[2].type.sequence_type.elem_type.Clear()
    found = infer(proto)["y"]
    assert isinstance(found, SequenceType) and found.element is None


LATER = """(float[N] x) => (y, z, w) { i = Constant<value_ints = [5]>() j = Constant<value_ints = [8]>() nine = Constant<value_int = 9>()
    z = Gather(x, i) s = Shape(x) q = Squeeze(s) c = Less(q, nine)
    y = If(c) <
        then_branch = t () => (float[a] o) { o = Constant<value_floats = [1.0]>() },
        else_branch = e () => (float[a] p) { p = Constant<value_floats = [1.0, 2.0]>() }>
    w = Gather(x, j) }"""


def test_what_a_later_node_implies_answers_an_earlier_one_and_proves_nothing_of_it() -> None:
    """There are 9 rows where the model runs at all; that index 5 is in bounds does not follow for a run that fails."""
    inference = infer(model(LATER, opset=18))
    y = inference["y"]
    assert isinstance(y, SymbolicTensor) and y.shape == (2,)
    assert [v.condition for v in verdicts(inference)] == ["N >= 6", "N >= 9"]


@pytest.mark.parametrize(
    ("inner", "codes"),
    [(("local", "F", "b"), []), (("other", "F", "a"), []), (("local", "G", "a"), []), (("local", "F", "a"), ["GI108"])],
)
def test_functions_that_are_called_alike(inner: tuple[str, str, str], codes: list[str]) -> None:
    """A function calls itself when domain, name and overload are the same."""
    domain, name, overload = inner
    proto = model("(float[N] x) => (y) { y = local.F(x) }", opset=18, domains=', "local" : 1, "other" : 1')
    proto.ir_version = 10
    proto.graph.node[0].overload = "a"
    call = onnx.helper.make_node(name, ["u"], ["v"], domain=domain, overload=overload)
    imports = [onnx.helper.make_opsetid(d, v) for d, v in (("", 18), ("local", 1), ("other", 1))]
    proto.functions.append(onnx.helper.make_function("local", "F", ["u"], ["v"], [call], imports, overload="a"))
    if not codes:
        last = onnx.helper.make_node("Neg", ["u"], ["v"])
        proto.functions.append(
            onnx.helper.make_function(domain, name, ["u"], ["v"], [last], imports, overload=overload)
        )
    found = infer(proto)
    assert [d.code for d in found.diagnostics] == codes
    assert codes or found["y"] == found["x"]


@pytest.mark.parametrize(
    ("version", "is_known"), [(0, False), (1, True), (NEWEST_IR_VERSION, True), (NEWEST_IR_VERSION + 1, False)]
)
def test_versions_of_the_format(version: int, is_known: bool) -> None:
    proto = model("(float[N] x) => (y) { y = Neg(x) }", opset=1)
    proto.ir_version = version
    assert [d.code for d in infer(proto).diagnostics] == ([] if is_known else ["GI109"])


@pytest.mark.parametrize(("limit", "end"), [(12, "min(12, N) - 1"), (11, "11")])
def test_how_large_a_table_is_looked_at(limit: int, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice of twelve positions ends where it is cut off, if they are looked at."""
    monkeypatch.setattr(transfer_context, "TABLE_LIMIT", limit)
    text = """(float[N] x) => (y) { c = Constant<value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>()
        v0 = Constant<value_ints = [0]>() e = Shape(x) y = Slice(c, v0, e) }"""
    y = infer(model(text, opset=18))["y"]
    assert isinstance(y, SymbolicTensor) and y.value_range is not None and str(y.value_range.hi) == end


@pytest.mark.parametrize(("sequence", "size"), [("SequenceConstruct(x, x)", "6"), ("Identity(s)", "min(6, N)")])
def test_what_the_body_of_a_map_implies_holds_where_it_runs(sequence: str, size: str) -> None:
    """A sequence that may have no members runs nothing."""
    text = f"""(float[N] x, seq(float[M]) s) => (q, y) {{
        i = Constant<value_ints = [5]>() v0 = Constant<value_ints = [0]>() v6 = Constant<value_ints = [6]>() l = {sequence}
        q = SequenceMap(l) <body = b (float[K] e) => (float[J] o) {{ g = Gather(x, i) o = Neg(e) }}> y = Slice(x, v0, v6) }}"""
    y = infer(model(text, opset=18))["y"]
    assert isinstance(y, SymbolicTensor) and y.shape is not None and [str(d) for d in y.shape] == [size]


@pytest.mark.parametrize(("rows", "kind"), [("x", VerdictKind.PROVED), ("less", VerdictKind.UNDECIDED)])
def test_the_last_iteration_of_a_scan(rows: str, kind: VerdictKind) -> None:
    """A counter reaches the last row of what is scanned; of a table with one row less that is past the end."""
    text = f"""(float[T] x) => (n, z) {{ v0 = Constant<value_ints = [0]>() m1 = Constant<value_ints = [-1]>()
        zero = Constant<value_int = 0>() less = Slice(x, v0, m1)
        n, z = Scan<num_scan_inputs = 1, body = b (int64 i, float e) => (int64 j, float g) {{
            one = Constant<value_int = 1>() j = Add(i, one) g = Gather({rows}, i) }}>(zero, x) }}"""
    proto = model(text, opset=18)
    (found,) = verdicts(infer(proto))
    assert (found.kind is VerdictKind.PROVED) is (kind is VerdictKind.PROVED), found
    runtime, feeds = Runtime(proto), {"x": np.arange(3, dtype=np.float32)}
    if kind is VerdictKind.PROVED:
        assert runtime.run(feeds)["z"].tolist() == [0, 1, 2]
    else:
        with pytest.raises(REFUSALS):
            runtime.run(feeds)


def test_a_node_that_a_pass_adds_assumes_nothing() -> None:
    """`Slice(x, [-N], [1])` has one element where N >= 1, and none else."""
    text = "(float[N] x) => (y) { s = Shape(x) m = Neg(s) e = Constant<value_ints = [1]>() y = Neg(x) }"
    inference = infer(model(text, opset=18))
    node = onnx.helper.make_node("Slice", ["x", "m", "e"], ["z"])
    (found,) = IncrementalInference(inference).facts(node, [inference["x"], inference["m"], inference["e"]], {"": 18})
    assert isinstance(found, SymbolicTensor) and found.rank == 1 and found.shape != (1,)
    (found,) = IncrementalInference(inference).facts(node, [inference["x"], None, inference["e"]], {"": 18})
    assert found == UNKNOWN


KNOWS = {
    # id: (what is asked in the branch where N < 5, and in the other one; what each says)
    "at the end": ("Less(n, five)", "True", "False"),
    "before the end": ("Less(n, four)", "", "False"),
    "past the end": ("LessOrEqual(n, five)", "True", ""),
}


@pytest.mark.parametrize("name", KNOWS)
def test_what_a_branch_knows_of_its_condition(name: str) -> None:
    asked, then, other = KNOWS[name]
    text = f"""(float[N] x) => (y) {{ five = Constant<value_int = 5>() four = Constant<value_int = 4>()
        s = Shape(x) n = Squeeze(s) c = Less(n, five)
        y = If(c) <then_branch = t () => (bool a) {{ a = {asked} }}, else_branch = e () => (bool b) {{ b = {asked} }}> }}"""
    inference = infer(model(text, opset=18))
    facts = {name: value for values in inference.scopes.values() for name, value in values.items()}
    for output, expected in (("a", then), ("b", other)):
        fact = facts[output]
        assert isinstance(fact, SymbolicTensor)
        assert ("" if fact.values is None or fact.only_element is None else str(fact.only_element)) == expected


@pytest.mark.parametrize(("version", "inputs"), [(3, ("x",)), (4, ("x", "k")), (5, ("x", "k"))])
def test_an_initializer_may_be_overridden_since_version_4(version: int, inputs: tuple[str, ...]) -> None:
    """Before, every initializer had to be an input as well (onnx's IR.md)."""
    proto = model("(float[N] x, float[1] k) => (y) { y = Add(x, k) }", opset=7)
    proto.ir_version = version
    proto.graph.initializer.add(name="k", data_type=onnx.TensorProto.FLOAT, dims=[1], float_data=[1.0])
    assert infer(proto).inputs == inputs


def test_a_node_that_a_pass_adds_may_hold_a_body_that_reads_what_it_reads() -> None:
    text = """(float[N] x) => (y) { m = Constant<value_int = 3>() c = Constant<value = bool {1}>()
        y = Loop(m, c, x) <body = b (int64 i, bool k, float[p] a) => (bool k2, float[q] a2) { k2 = Identity(k) a2 = Concat<axis = 0>(a, x) }> }"""
    proto = model(text, opset=18)
    inference, runtime = infer(proto), Runtime(proto)
    (found,) = IncrementalInference(inference).facts(proto.graph.node[2], [inference[name] for name in "mcx"], {"": 18})
    assert isinstance(found, SymbolicTensor) and found.shape is not None
    for n in (0, 1, 5):
        assert runtime.run({"x": np.ones(n, np.float32)})["y"].shape == tuple(
            evaluate(d, {"N": n}) for d in found.shape
        )
