"""Chains behind tensors, and remedies: what is said to make an unknown known does so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from gather_infer import RuleSet, UsageError, infer
from gather_infer.explanation import explain
from gather_infer.explanation.chain import Definition, Explanation, Facet, Link
from gather_infer.tensor import DType, SymbolicTensor
from tests.documents import REPO
from tests.inference.models import model

RESHAPE = model(
    """(float[batch, seq, 64] x) => (y) <int64[1] four = {4}, int64[1] rest = {16}, int64 i = {0}, int64 j = {1},
        int64[1] axis = {0}>
    {
        [shape] s = Shape (x)
        [n] n = Gather (s, i)
        [m] m = Gather (s, j)
        [n1] n1 = Unsqueeze (n, axis)
        [m1] m1 = Unsqueeze (m, axis)
        [target] t = Concat <axis = 0> (n1, m1, four, rest)
        [relu] r = Relu (x)
        [neg] g = Neg (r)
        [reshape] y = Reshape (g, t)
    }"""
)


def steps(step: Link) -> Iterator[Link]:
    yield step
    for source in step.sources:
        yield from steps(source)


def nodes(explanation: Explanation) -> list[str]:
    return [str(s.node or s.name) for s in steps(explanation.step)]


def test_sizes_are_followed_through_elements_and_not_through_data() -> None:
    found = explain(RESHAPE, "y")
    assert str(found.value) == "float32[batch, seq, 4, 16]"
    assert nodes(found) == ["reshape", "target", "n1", "n", "shape", "x", "m1", "m", "shape"]
    assert [(o.label, o.name, o.expanded) for o in found.step.operands] == [("data", "g", False), ("shape", "t", True)]
    shape = next(s for s in steps(found.step) if s.op_type == "Shape")
    assert (shape.facet, shape.sources[0].facet, shape.sources[0].origin) == (
        Facet.VALUES,
        Facet.SHAPE,
        Definition.INPUT,
    )
    assert [s.repeated for s in steps(found.step) if s.op_type == "Shape"] == [False, True]


def test_nodes_that_only_hand_dims_on_are_left_out_and_counted() -> None:
    found = explain(RESHAPE, "g")
    assert nodes(found) == ["neg", "relu", "x"]
    longer = model("(float[n] x) => (y) { a = Relu (x) b = Neg (a) c = Abs (b) y = Exp (c) }")
    assert [(s.op_type, s.skipped_nodes) for s in steps(explain(longer, "y").step)] == [("Exp", 0), ("", 3)]
    assert len(nodes(explain(longer, "y", every=True))) == 5


def test_the_depth_is_bounded() -> None:
    found = explain(RESHAPE, "y", depth=2)
    assert nodes(found) == ["reshape", "target", "n1", "m1"]
    assert [s.truncated for s in steps(found.step)] == [False, False, True, True]
    assert explain(RESHAPE, "y", depth=0).step.truncated


def test_ten_thousand_nodes_in_a_row() -> None:
    body = "\n".join(f"x{i + 1} = Relu (x{i})" for i in range(10_000))
    long = model(f"(float[n, 3] x0) => (x10000) {{ {body} }}")
    found = explain(long, "x10000")
    assert [(s.op_type, s.skipped_nodes) for s in steps(found.step)] == [("Relu", 0), ("", 9999)]
    assert len(list(steps(explain(long, "x10000", every=True, depth=500).step))) == 401  # MAX_STEPS and the cut


def test_layers_that_share_everything_stay_small() -> None:
    """Each sum has two ways up; the second is only mentioned."""
    body = "\n".join(f"x{i + 1} = Concat <axis = 0> (x{i}, x{i})" for i in range(40))
    doubled = model(f"(float[n] x0) => (x40) {{ {body} }}")
    assert len(list(steps(explain(doubled, "x40", depth=100).step))) <= 82


CONTROL = model(
    """(float[n, 3] x, bool c, int64 trips) => (y, z) <float one = {1}>
    {
        [branch] y = If (c) <
            then_branch = a () => (float[p, q] t) { [flip] t = Transpose (x) },
            else_branch = b () => (float[p, q] e) { [keep] e = Transpose (x) }
        >
        [loop] z = Loop (trips, , x) <
            body = l (int64 i, bool more, float[p, q] state) => (bool again, float[p, q] next) {
                again = Identity (more)
                [step] next = Add (state, one)
            }
        >
        w = Identity (y)
    }"""
)


def test_branches_and_loops() -> None:
    assert nodes(explain(CONTROL, "w")) == ["Identity#2", "branch", "branch/then_branch/flip", "x",
                                            "branch/else_branch/keep", "x"]  # fmt: skip
    loop = explain(CONTROL, "z")
    assert nodes(loop) == ["loop", "x", "loop/body/step", "loop", "x"]
    inner = explain(CONTROL, "loop/body/next").step
    assert [(s.scope, s.origin) for s in steps(inner)] == [
        ("loop/body", Definition.NODE), ("loop/body", Definition.BODY_INPUT), ("", Definition.INPUT),
    ]  # fmt: skip


def test_functions() -> None:
    called = model(
        "(float[n, 3] x) => (y) { [call] y = local.Twice (x) z = LayerNormalization (y, y) [e] v = Celu (x) }",
        functions='<opset_import: ["" : 17], domain: "local"> Twice (a) => (c) { [in] b = Neg (a) [out] c = Neg (b) }',
        domains=', "local" : 1',
    )
    assert nodes(explain(called, "y", every=True)) == ["call", "call/out", "call/in", "call", "x"]
    assert explain(called, "call/b").scope == "call"
    inference = infer(called)
    for path, values in inference.scopes.items():
        label = inference.labels[path]
        for name in values:
            assert explain(called, f"{label}/{name}" if label else name).scope == label


def test_outputs_come_first_among_the_names_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"no tensor 'qqqqqqqq'; there are y, x, "):
        explain(RESHAPE, "qqqqqqqq")


UNKNOWN_NAMES = {
    # name: message
    "yy": "did you mean 'y'?",
    "reshape": "no tensor 'reshape'; the node of that name produces 'y'",
    "loop/body/nxt": "did you mean 'loop/body/next'?",
    "branch/then_branch/flip": "the node of that name produces 'branch/then_branch/t'",
}


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_unknown_names(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(UNKNOWN_NAMES[name])):
        explain(RESHAPE if name in ("yy", "reshape") else CONTROL, name)


# remedies

UNRANKED = model("(float x) => (y) { y = Relu (x) }")
UNRANKED.graph.input[0].type.tensor_type.ClearField("shape")
TARGET = model("(float[n] x, int64[2] t) => (y) { y = Reshape (x, t) }")
DERIVED = model(
    """(float[n, 3] x) => (y) {
      scales = Constant <value = float[2] {0.123456, 1.0}> () y = Resize (x, , scales) z = NonZero (y) }"""
)
MYSTERY = model("(float[n] x) => (z) { y = local.Mystery (x) z = Relu (y) }", domains=', "local" : 1')
DYNAMO = onnx.load(REPO / "fixtures" / "gpt2-kv-dynamo.onnx")


def test_a_constant_makes_a_target_known() -> None:
    (first, second) = explain(TARGET, "y").unknowns
    assert first.suggestions == second.suggestions == ("a constant in place of the input t, int64[2]",)
    held = onnx.ModelProto()
    held.CopyFrom(TARGET)
    held.graph.input.pop()
    held.graph.initializer.append(onnx.helper.make_tensor("t", 7, [2], [1, -1]))
    assert explain(held, "y").unknowns == ()


def test_a_type_makes_an_unranked_input_known() -> None:
    found = explain(UNRANKED, "y")
    assert found.suggestions == ("--input 'x=float32[...]'",)
    assert explain(UNRANKED, "y", inputs=["x=float32[a, 3]"]).suggestions == ()


def test_sizes_make_a_function_of_dims_known() -> None:
    (unknown,) = explain(DERIVED, "y").unknowns
    assert unknown.suggestions == ("--dim n=SIZE",)
    assert explain(DERIVED, "y", dims=["n=7"]).unknowns == ()


RESIZED = model(
    """(float[a, b] x, float[b, c] w) => (y, z) <int64[2] sizes = {7, 9}> {
      y = Resize <keep_aspect_ratio_policy = "not_larger", nearest_mode = "floor"> (x, , , sizes)
      z = Resize <keep_aspect_ratio_policy = "not_larger", nearest_mode = "floor"> (w, , , sizes) }""",
    opset=18,
)


def test_sizes_that_are_needed_together() -> None:
    """Each size is a function of two dims: neither alone makes it known."""
    for name, first, second in (("y", "a", "b"), ("z", "b", "c")):
        unknowns = explain(RESIZED, name).unknowns
        assert [u.suggestions for u in unknowns] == [(f"--dim {first}=SIZE --dim {second}=SIZE",)] * 2
        assert explain(RESIZED, name, dims=[f"{first}=4"]).unknowns[0].suggestions == (f"--dim {second}=SIZE",)
        assert explain(RESIZED, name, dims=[f"{first}=4", f"{second}=5"]).unknowns == ()


def test_what_only_a_run_tells() -> None:
    (unknown,) = (u for u in explain(DERIVED, "z").unknowns if u.symbol == "nonzero_0")
    assert unknown.suggestions == ("only known at run time: it depends on the elements of y",)


def test_a_run_tells_the_elements_that_are_a_shape() -> None:
    proto = model("(float x, bool[n] mask) => (y) { m = Cast <to = 7> (mask) k = ReduceSum (m) y = Expand (x, k) }")
    (unknown,) = explain(proto, "y").unknowns
    assert unknown.suggestions == ("only known at run time: it depends on the elements of k",)


SHIFT = """(float[batch, 4, seq, 8] q) => (y)
      <int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, int64 i3 = {3}, int64 unit = {1}, int64[1] one = {1},
       int64[1] big = {9223372036854775807}, int64[1] axis = {0}, int64[1] rows = {2}>
    {
        k = Concat <axis = 2> (q, q)
        kt = Transpose <perm = [0, 1, 3, 2]> (k)
        x = MatMul (q, kt)
        s = Shape (x)
        b = Gather (s, i0) b1 = Unsqueeze (b, axis)
        n = Gather (s, i1) n1 = Unsqueeze (n, axis)
        qlen = Gather (s, i2) qlen1 = Unsqueeze (qlen, axis)
        klen = Gather (s, i3) klen1 = Unsqueeze (klen, axis)
        turned = Concat <axis = 0> (b1, n1, klen1, qlen1)
        r = Reshape (x, turned)
        cut = Slice (r, one, big, rows)
        less = Sub (klen, unit) less1 = Unsqueeze (less, axis)
        back = Concat <axis = 0> (b1, n1, qlen1, less1)
        [back] z = Reshape (cut, back)
        range = Range (i0, qlen, unit)
        y = Gather <axis = 3> (z, range)
    }"""
"""The rel_shift of transformers' XLNet."""

OPEN_SHIFT = model(SHIFT.replace("[back] z = Reshape", "[back] z = Reshape <allowzero = 1>"))
"""The same where it is left open what -1 beside a 0 is."""


@pytest.mark.parametrize("dims", [[], ["seq=0.."], ["seq=..64", "batch=2"]])
def test_a_bound_that_a_run_has_shown_to_help(dims: list[str]) -> None:
    """Of no rows all but the first are none too, so 2*seq - 1 of them are there only for seq >= 1."""
    (unknown,) = explain(OPEN_SHIFT, "z", dims=dims).unknowns
    assert unknown.suggestions == ("--dim seq=1..",)
    assert explain(OPEN_SHIFT, "z", dims=[d for d in dims if "seq" not in d] + ["seq=1.."]).unknowns == ()


def test_a_shift_that_fails_where_there_are_no_rows_is_known() -> None:
    assert explain(model(SHIFT), "z").unknowns == ()


def test_suggestions_respect_the_constraints_of_the_caller() -> None:
    for dims in (["seq=0"], ["seq=0..0"]):
        assert all("seq" not in r for u in explain(OPEN_SHIFT, "z", dims=dims).unknowns for r in u.suggestions)


SQUEEZED = model(
    "(float[nodes, heads, 3] x, float[one, 2] w) => (y) { [all] s = Squeeze (x) y = Relu (s) z = Squeeze (w) }"
)


def test_an_unknown_rank_has_a_cause_and_a_remedy() -> None:
    found = explain(SQUEEZED, "y")
    assert found.unknown_because is not None and (str(found.unknown_because.node), found.unknown_because.op_type) == (
        "all",
        "Squeeze",
    )
    assert found.unknown_because.reason == "without axes it removes the dims that are 1, which nodes and heads may be"
    assert found.suggestions == ("--dim heads=2.. --dim nodes=2..",)
    settled = explain(SQUEEZED, "y", dims=["heads=2..", "nodes=2.."])
    assert (str(settled.value), settled.suggestions, settled.unknown_because) == ("float32[nodes, heads, 3]", (), None)
    (remedy,) = explain(SQUEEZED, "z").suggestions
    assert remedy == "--dim one=2.."
    assert explain(SQUEEZED, "y", dims=["heads=4"]).suggestions == ("--dim nodes=2..",)


def test_bounds_under_which_no_run_is_legal_are_no_remedy() -> None:
    """The Squeeze along axis 1 fails unless its length is 1."""
    proto = model("(float[n, one] x) => (y, r) <int64[1] axis = {1}> { r = Squeeze (x, axis) y = Squeeze (x) }")
    assert explain(proto, "y").suggestions == ("--dim n=2.. --dim one=1",)
    assert str(explain(proto, "y", dims=["n=2..", "one=1"]).value) == "float32[n]"


def test_a_constraint_of_one_dim_leaves_suggestions_for_the_others() -> None:
    assert explain(SQUEEZED, "z", dims=["nodes=0..1"]).suggestions == ("--dim one=2..",)
    assert explain(SQUEEZED, "y", dims=["nodes=0..1"]).suggestions == ("--dim heads=SIZE --dim nodes=SIZE",)
    assert str(explain(SQUEEZED, "y", dims=["nodes=0", "heads=7"]).value) == "float32[0, 7, 3]"
    assert explain(SQUEEZED, "y", dims=["nodes=1..1"]).suggestions == ("--dim heads=2..",)


def test_names_that_no_option_can_express_are_not_suggested() -> None:
    proto = model("(float[n, m] x) => (y) { y = Squeeze (x) }")
    for axis, text in enumerate(("a=b", "n ")):
        proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = text
    assert explain(proto, "y").suggestions == ("only known at run time: it depends on the elements of x",)


def test_a_rank_that_only_a_run_tells() -> None:
    proto = model("(float[n] x) => (y) { s = NonZero (x) t = Squeeze (s) y = Identity (t) }")
    found = explain(proto, "y")
    assert found.unknown_because is not None and found.unknown_because.op_type == "Squeeze"
    assert found.suggestions == ("only known at run time: it depends on the elements of s",)


def test_a_branch_of_a_fixture() -> None:
    found = explain(REPO / "fixtures" / "gnn-torchscript.onnx", "/If_1/then_branch//Squeeze_2_output_0")
    assert found.suggestions == ("--dim graphs=2..",)


def test_a_rule_makes_an_operator_known() -> None:
    found = explain(MYSTERY, "z")
    assert found.suggestions == ("a rule for local.Mystery: --rules FILE.py",)
    assert [d.code for d in found.findings] == ["GI105"]
    rules = RuleSet("local")
    rules.rule("Mystery")(lambda op: [SymbolicTensor(DType.FLOAT32, op.tensor(0).shape)])
    assert explain(MYSTERY, "z", rules=[rules]).suggestions == ()


SUM = model("""(float[a, b] x) => (float[P] y) <int64[1] one = {1}, int64[1] zero = {0}, int64[1] minus = {-1}> {
    nz = NonZero (x) s1 = Shape (nz) n1 = Gather (s1, one)
    sx = Shape (x) ax = Gather (sx, zero) target = Concat <axis = 0> (ax, minus)
    r = Reshape <allowzero = 1> (x, target) s2 = Shape (r) n2 = Gather (s2, one)
    size = Add (n1, n2) y = ConstantOfShape (size)
}""")
"""A size that is a sum of two unknown ones."""


def test_that_another_summand_is_known_is_no_remedy() -> None:
    data, target = explain(SUM, "y", assume=False).unknowns
    assert data.suggestions == ("only known at run time: it depends on the elements of x",)
    assert target.suggestions == ("--dim a=1..", "the assumption: without --no-assume")
    (left,) = explain(SUM, "y", assume=False, dims=["a=1.."]).unknowns
    assert (data.symbol, left.symbol) == ("nonzero_0", "nonzero_0")


PROMISING = {
    "a sum": (SUM, "y", False),
    "a shift": (OPEN_SHIFT, "z", True),
    "resized": (RESIZED, "y", True),
    "derived": (DERIVED, "y", True),
    "exported": (DYNAMO, "view_1", False),
}


@pytest.mark.parametrize("case", PROMISING)
def test_every_promise_holds(case: str) -> None:
    """Under the options that are named the node makes up fewer symbols."""
    proto, name, assume = PROMISING[case]
    unknowns = explain(proto, name, assume=assume).unknowns
    kept = 0
    for unknown in unknowns:
        for options in map(shlex.split, unknown.suggestions):
            if set(options[::2]) == {"--dim"}:
                dims = [text.replace("SIZE", "4") for text in options[1::2]]
                after = explain(proto, name, assume=assume, dims=dims).unknowns
                node = unknown.cause.node
                assert sum(u.cause.node == node for u in after) < sum(u.cause.node == node for u in unknowns)
                kept += 1
    assert kept


def test_what_an_assumption_would_tell() -> None:
    (unknown,) = explain(DYNAMO, "view_1", assume=False).unknowns
    assert unknown.suggestions == ("--dim batch=1..", "the assumption: without --no-assume")
    assert explain(DYNAMO, "view_1", assume=False, dims=["batch=1.."]).unknowns == ()
    assert explain(DYNAMO, "view_1").unknowns == ()
    (zero,) = explain(DYNAMO, "view_1", dims=["batch=0..8"]).unknowns
    assert zero.suggestions == ("--dim batch=1..",)


def test_assumptions_and_constraints_of_its_symbols_are_listed() -> None:
    found = explain(DYNAMO, "logits")
    assert [str(a.dim) for a in found.assumptions] == ["seq", "batch"]
    found = explain(onnx.load(REPO / "fixtures" / "bert-dynamo.onnx"), "last_hidden_state")
    assert [str(c) for c in found.constraints] == ["seq <= 64"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", sorted((REPO / "fixtures").glob("*.onnx")), ids=lambda p: p.stem)
def test_every_output_of_the_fixtures(path: Path) -> None:
    proto = onnx.load(path)
    for name in infer(proto).outputs:
        found = explain(proto, name)
        assert all(u.suggestions for u in found.unknowns)
        assert len(list(steps(found.step))) < 60


def test_unknowns_behind_an_error_do_not_depend_on_a_run() -> None:
    """Every run fails at the MatMul, whatever x holds."""
    broken = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N,4] x, float[3,5] w) => (z) { a = MatMul(x, w) z = Relu(a) }'
    )
    found = explain(broken, "z")
    assert (found.unknown_because, found.suggestions, [d.code for d in found.findings]) == (None, (), ["GI212"])
    assert "only known at run time" not in str(found) and "error[GI212]" in str(found)
