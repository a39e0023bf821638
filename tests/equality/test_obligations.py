# ruff: noqa: E501  (models as text)
"""Equal terms are not enough: the second model has to run wherever the first one does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import DiffVerdict, diff
from tests.verification.models import model

NARROWER: dict[str, tuple[str, str, str]] = {
    # first, second, what the obligation says
    "a fixed size": (
        "(float[N] x) => (y) { y = Relu(x) }",
        "(float[4] x) => (y) { y = Relu(x) }",
        "axis 0 of input x is 4 in the second model, and N in the first",
    ),
    "equal sizes": (
        "(float[N] x, float[M] z) => (y, w) { y = Relu(x) w = Relu(z) }",
        "(float[N] x, float[N] z) => (y, w) { y = Relu(x) w = Relu(z) }",
        "axis 0 of input z is N in the second model, and M in the first",
    ),
    "an index out of bounds whose element nothing reads": (
        "(float[N] x, int64[K] i) => (y) { y = Relu(x) }",
        "(float[N] x, int64[K] i) => (y) { g = Gather(x, i) y = Relu(x) }",
        "reads an index that is not proved in bounds",
    ),
    "a Reshape that fails for odd sizes": (
        "(float[N] x) => (y) { y = Relu(x) }",
        "(float[N] x) => (y) <int64[2] t = {-1, 2}, int64[1] f = {-1}> { r = Reshape(x, t) s = Reshape(r, f) y = Relu(s) }",
        "requires",
    ),
    "an Add of two lengths": (
        "(float[N] x, float[M] z) => (y) { y = Relu(x) }",
        "(float[N] x, float[M] z) => (y) { a = Add(x, z) y = Relu(x) }",
        "requires",
    ),
    "a branch that fails": (
        "(float[N] x, bool c) => (y) { y = Relu(x) }",
        "(float[N] x, bool c) => (y) <int64[1] t = {7}> { z = If(c)<then_branch = a () => (u) { u = Reshape(x, t) }, else_branch = b () => (v) { v = Neg(x) }> y = Relu(x) }",
        "then_branch/Reshape#0 of the second model: N == 7",
    ),
    "an index that one more element needs": (
        "(float[N] x) => (y) <int64 i = {3}> { g = Gather(x, i) y = Neg(g) }",
        "(float[N] x) => (y) <int64 i = {3}, int64 k = {4}> { h = Gather(x, k) g = Gather(x, i) y = Neg(g) }",
        "Gather#0",
    ),
}  # fmt: skip


READ_INDICES: dict[str, tuple[str, str, bool]] = {
    # nodes of both models on indices int64[A, B] i of an axis of 5, whether the second reads no other elements
    "as a vector": ("j = Reshape(i, m) g = Gather(x, j)", "g = Gather(x, i)", True),
    "transposed": ("j = Transpose(i) k = Unsqueeze(j, z) g = Gather(x, k)", "g = Gather(x, i)", True),
    "as a vector, negated": ("j = Reshape(i, m) k = Neg(j) g = Gather(x, k)", "k = Neg(i) g = Gather(x, k)", True),
    "negated": ("g = Gather(x, i)", "k = Neg(i) g = Gather(x, k)", False),
    "all of them": ("j = Slice(i, z, o, z) g = Gather(x, j)", "g = Gather(x, i)", False),
    "the others": ("h = Slice(i, z, o, z) s = Shape(i) j = Expand(h, s) g = Gather(x, j)", "g = Gather(x, i)", False),
    "no copies": ("s = Shape(i) t = Concat<axis=0>(c, s) j = Expand(i, t) g = Gather(x, j)", "g = Gather(x, i)", False),
}  # fmt: skip


@pytest.mark.parametrize("name", READ_INDICES)
def test_the_second_model_reads_the_indices_of_the_first(name: str) -> None:
    *nodes, is_same = READ_INDICES[name]
    inputs = "(float[5] x, int64[A, B] i, float[K] w) => (y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] o = {1}>"
    counts = "c = Shape(w) y = Relu(x)"
    first, second = (model(f"{inputs} {{ {counts} {text} }}") for text in nodes)
    found = diff(first, second, runs=0)
    assert found.is_proved == is_same
    assert all("reads an index" in each for each in found.obligations)


def test_models_without_outputs() -> None:
    one = model("(float[N] x) => () { }")
    two = model("(float[N] x) => () <int64[1] t = {7}> { r = Reshape(x, t) }")
    assert diff(one, one, runs=0).is_proved
    assert diff(one, two, runs=0).verdict is DiffVerdict.UNKNOWN


def test_a_loop_that_the_first_model_lacks() -> None:
    first = "(float[N] x, int64 k, bool t) => (y) { y = Relu(x) }"
    second = "(float[N] x, int64 k, bool t) => (y) { n = Loop(k, t, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] u) { d = Identity(c) u = Neg(v) }> y = Relu(x) }"
    found = diff(model(first), model(second), runs=0)
    assert found.verdict is DiffVerdict.UNKNOWN
    assert found.obligations == ("node Loop#0 of the second model has bodies that may fail",)


@pytest.mark.parametrize("name", NARROWER)
def test_a_second_model_that_fails_where_the_first_does_not(name: str) -> None:
    before, after, sentence = NARROWER[name]
    found = diff(model(before), model(after), runs=0)
    assert any(sentence in each for each in found.obligations), found.obligations
    assert found.verdict is DiffVerdict.UNKNOWN
    assert not found.is_proved and str(found.contract) in ("unknown", "narrower")


@pytest.mark.parametrize("name", [*NARROWER][2:])
def test_a_second_model_may_fail_less_often(name: str) -> None:
    """The other way round, everything is proved: the first model fails more often.

    Not of the first two pairs, in which the inputs are narrower, and so are the outputs.
    """
    before, after, _ = NARROWER[name]
    found = diff(model(after), model(before), runs=0)
    assert found.verdict is DiffVerdict.PROVED and not found.obligations


def test_sizes_that_the_caller_gives() -> None:
    first = model("(float[N] x) => (y) { y = Relu(x) }")
    second = model("(float[4] x) => (y) { y = Relu(x) }")
    assert diff(first, second, dims=["N=4"], runs=0).is_proved


def test_a_size_of_zero_that_only_one_model_accepts() -> None:
    """A Reshape to -1 beside a size of 0 has no size; an output that is then empty in both models is still equal."""
    first = model(
        "(float[N, S, 16] x) => (y) <int64 o = {1}, int64[1] z = {0}, int64[1] m = {-1}, int64[1] f = {4}, int64[1] k = {16}> "
        "{ a = Shape<start=0, end=2>(x) t = Concat<axis=0>(a, m, f) r = Reshape(x, t) u = Concat<axis=0>(a, k) y = Reshape(r, u) }"
    )
    second = model("(float[N, S, 16] x) => (y) { y = Identity(x) }")
    assert diff(first, second, runs=0).is_proved


def test_facts_of_a_branch_do_not_hold_outside() -> None:
    """A branch reads an index that is below 5 where it runs; elsewhere the index may be larger."""
    branch = "z = If(c)<then_branch = a () => (u) { u = Gather(x, j) }, else_branch = b () => (v) { v = Gather(x, k) }>"
    inputs = "(float[5] x, float[K, M] w, int64[K] k, bool c, float[K] p, float[K] q)"
    index = "j = ArgMax<axis=1, keepdims=0>(w)"
    first = model(f"{inputs} => (z, y) <int64 n = {{5}}> {{ {index} {branch} l = Less(j, n) y = Where(l, p, q) }}")
    second = model(f"{inputs} => (z, y) {{ {index} {branch} y = Identity(p) }}")
    found = diff(first, second, runs=0)
    assert [str(each.verdict) for each in found.outputs] == ["proved", "unknown"]


@pytest.mark.parametrize(
    ("default", "sentence"),
    [
        ([1.0, 3.0], "input w has another default in the second model"),
        (None, "input w has no default in the second model, as it has in the first"),
        ([1.0, 2.0], ""),
    ],
)
def test_a_default_is_what_a_caller_may_leave_out(default: list[float] | None, sentence: str) -> None:
    first = model("(float[N, 2] x, float[2] w) => (y) { y = Add(x, w) }")
    second = model("(float[N, 2] x, float[2] w) => (y) { y = Add(x, w) }")
    first.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    if default is not None:
        second.graph.initializer.append(onnx.numpy_helper.from_array(np.array(default, np.float32), "w"))
    found = diff(first, second, runs=0)
    assert found.obligations == ((sentence,) if sentence else ())
    assert found.is_proved == (not sentence)
    assert diff(second, first, runs=0).is_proved == (default != [1.0, 3.0])


def test_before_ir_version_4_an_initializer_is_a_constant() -> None:
    """It has to be an input as well, but no caller gives it."""
    first = model("(float[N, 2] x, float[2] w) => (y) { y = Add(x, w) }", ir_version=3)
    first.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    second = model("(float[N, 2] x) => (y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }")
    assert diff(first, second, runs=0).is_proved and diff(second, first, runs=0).is_proved


def test_one_name_for_two_sizes_of_values() -> None:
    """onnxruntime gives both values the same memory, and fails where they differ."""
    text = "(float[N] x, float[M] z) => (y) {{ a = Neg(x) b = Abs(a) c = Concat<axis = 0>(b, z) y = Relu(c) }}"
    first, second = model(text.format()), model(text.format())
    for name, title in (("a", "K"), ("c", "K")):
        second.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [title]))
    found = diff(first, second, runs=0)
    assert found.obligations == ("the second model calls axis 0 of a and axis 0 of c 'K', which may differ",)
    del second.graph.value_info[1]
    assert diff(first, second, runs=0).is_proved


def test_a_name_that_the_first_model_declares_for_one_size() -> None:
    text = "(float[N] x, float[M] z) => (y) { a = Neg(x) b = Abs(a) c = Concat<axis = 0>(b, z) y = Relu(c) }"
    first, second = model(text), model(text)
    for proto, name in ((first, "a"), (second, "a"), (second, "c")):
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["K"]))
    found = diff(first, second, runs=0)
    assert found.obligations == ("the second model calls axis 0 of a and axis 0 of c 'K', which may differ",)
    assert diff(second, first, runs=0).is_proved


CHAIN = "a = Relu(x) b = Concat<axis = 0>(a, a) c = Neg(b) d = Abs(c)"
DECLARED: dict[str, tuple[str, bool]] = {
    # what the second model declares of the values of the chain, and whether onnxruntime reuses the memory of a
    "one number for two sizes": ("<float[4] a, float[4] b, float[4] c, float[4] d>", True),
    "a number for a size that need not be it": ("<float[4] b>", False),
    "one for a size that need not be it": ("<float[1] b>", False),
    "one name for two sizes": ("<float[n] a, float[n] b, float[n] c, float[n] d>", True),
}


@pytest.mark.parametrize("place", ["main graph", "branch"])
@pytest.mark.parametrize("name", DECLARED)
def test_declared_sizes_of_values(name: str, place: str) -> None:
    """onnxruntime gives values with equal declared dims the same memory, and fails where they differ."""
    declared, fails = DECLARED[name]
    main = "(float[n] x, bool p) => (float[k] y) {} {{ {} y = Neg(d) }}"
    branch = (
        "(float[n] x, bool p) => (y) {{ y = If(p)<then_branch = t () => (float[k] z) {} {{ {} z = Neg(d) }},"
        " else_branch = e () => (float[j] w) {{ w = Concat<axis = 0>(x, x) }}> }}"
    )
    text = main if place == "main graph" else branch
    first, second = model(text.format("", CHAIN)), model(text.format(declared, CHAIN))
    found = diff(first, second, runs=0)
    assert found.verdict is DiffVerdict.UNKNOWN and found.obligations
    assert diff(first, first, runs=0).is_proved and diff(second, second, runs=0).is_proved
    if fails:
        feeds = {"x": np.ones(5, np.float32), "p": np.array(True)}
        assert ran(first, feeds) and not ran(second, feeds)


def test_a_declared_size_of_an_output() -> None:
    """docs/diff.md: a dim that the second model declares as a number must be that number."""
    first = model("(float[N] x) => (float[N] y) { y = Neg(x) }")
    second = model("(float[N] x) => (float[4] y) { y = Neg(x) }")
    found = diff(first, second, runs=0)
    assert found.obligations == ("the second model declares axis 0 of y as 4, and it is N",)
    assert diff(first, second, dims=["N=4"], runs=0).is_proved


COMPUTED: dict[str, tuple[str, str, dict[str, int]]] = {
    # a Reshape to a computed size, one that never copies a dim, and sizes at which only the latter runs
    "rows": ("(float[b, s, 4] x)", "t = Concat<axis = 0>(n, four) y = Reshape(x, t)", {"b": 2, "s": 0}),
    "one axis": ("(float[b, s] x)", "y = Reshape(x, n)", {"b": 2, "s": 0}),
    "columns": ("(float[b, s] x)", "t = Concat<axis = 0>(one, n) y = Reshape(x, t)", {"b": 0, "s": 2}),
}
TARGETS = {"rows": "Reshape(x, m)", "one axis": "Reshape(x, one_axis)", "columns": "Flatten<axis = 0>(x)"}


@pytest.mark.parametrize("name", COMPUTED)
def test_a_computed_size_of_zero_copies_a_dim(name: str) -> None:
    """https://onnx.ai/onnx/operators/onnx__Reshape.html: a 0 in the target copies the dim of the input."""
    inputs, body, sizes = COMPUTED[name]
    head = f"{inputs} => (y) <int64[1] four = {{4}}, int64[1] one = {{1}}, int64[2] m = {{-1, 4}}, int64[1] one_axis = {{-1}}>"
    count = "p = Shape<start = 0, end = 1>(x) q = Shape<start = 1, end = 2>(x) n = Mul(p, q)"
    first, second = model(f"{head} {{ y = {TARGETS[name]} }}"), model(f"{head} {{ {count} {body} }}")
    found = diff(first, second, runs=0)
    assert found.verdict is DiffVerdict.UNKNOWN and "of the second model requires 1 <= " in found.obligations[0]
    assert diff(second, first, runs=0).is_proved
    assert diff(first, second, dims=["b=1..", "s=1.."], runs=0).is_proved
    shape = [sizes["b"], sizes["s"], *([4] if name == "rows" else [])]
    feeds = {"x": np.ones(shape, np.float32)}
    assert ran(first, feeds) and not ran(second, feeds)


def ran(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> bool:
    """Whether onnxruntime, without optimizations, runs a model that it has loaded."""
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import Fail

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    try:
        session.run(None, feeds)
    except Fail:
        return False
    return True


UNDEFINED: dict[str, tuple[str, str]] = {
    # the first model, and a second one that computes a size for -1 beside one that is 0 in every run of the first
    "by a node": (
        "(float[c] x) => (y) <int64[1] z = {0}> { y = Squeeze(x, z) }",
        "(float[c] x) => (y) <int64[1] z = {0}, int64[1] two = {2}, int64[1] m = {-1}> { s = Shape(x) h = Div(s, two) t = Concat<axis = 0>(m, h) r = Reshape(x, t) y = Squeeze(x, z) }",
    ),
    "by the type of the input": (
        "(float[1] x) => (y) { y = Relu(x) }",
        "(float[c] x) => (y) <int64[1] two = {2}, int64[1] m = {-1}> { s = Shape(x) h = Div(s, two) t = Concat<axis = 0>(m, h) r = Reshape(x, t) y = Relu(x) }",
    ),
    "with a first model that runs at no size": (
        "(float[c] x) => (y) <int64[1] z = {0}, int64[1] two = {2}, int64[1] m = {-1}> { y = Squeeze(x, z) s = Shape(x) h = Div(s, two) t = Concat<axis = 0>(m, h) r = Reshape(x, t) }",
        "(float[c] x) => (y) <int64[1] z = {0}, int64[1] two = {2}, int64[1] m = {-1}> { s = Shape(x) h = Div(s, two) t = Concat<axis = 0>(m, h) r = Reshape(x, t) y = Squeeze(x, z) }",
    ),
    "in both models": (
        "(float[b, 4] x, float[c] w) => (y) <int64[1] z = {0}, int64[1] m = {-1}> { e = Reshape<allowzero = 1>(w, z) c = Shape(w) t = Concat<axis = 0>(c, m) r = Reshape<allowzero = 1>(x, t) y = Relu(r) }",
        "(float[b, 4] x, float[c] w) => (y) <int64[1] z = {0}, int64[1] m = {-1}> { e = Reshape<allowzero = 1>(w, z) c = Shape(w) t = Concat<axis = 0>(c, m) g = Relu(x) y = Reshape<allowzero = 1>(g, t) }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDEFINED)
def test_a_size_that_no_run_computes(name: str) -> None:
    """No proof, and no internal error."""
    first, second = (model(text) for text in UNDEFINED[name])
    assert diff(first, second, runs=0).verdict is DiffVerdict.UNKNOWN
    diff(second, first, runs=0)


def test_a_deprecated_operator() -> None:
    """https://onnx.ai/onnx/operators/onnx__Upsample.html: deprecated in opset 10; onnxruntime does not load the model."""
    text = "(float[1, 1, N, 4] x) => (float[1, 1, N, 4] y) <float[4] s = {{1.0, 1.0, 1.0, 1.0}}> {{ {} }}"
    up = text.format("u = Upsample(x, s) y = Relu(x)")
    first, second, old = model(text.format("y = Relu(x)"), opset=13), model(up, opset=13), model(up, opset=9)
    for before in (first, old):
        found = diff(before, second, runs=0)
        assert found.obligations == ("node Upsample#0 of the second model: Upsample is deprecated in opset 13",)
    assert diff(first, old, runs=0).is_proved and diff(old, old, runs=0).is_proved


def test_a_target_that_is_no_vector() -> None:
    """onnxruntime refuses a Reshape to a scalar target, which the inference reads as one size."""
    inputs = "(float[1] x) => (y) <int64 t = {1}, int64[1] v = {1}>"
    first = model(f"{inputs} {{ r = Reshape(x, v) y = Relu(x) }}")
    second = model(f"{inputs} {{ r = Reshape(x, t) y = Relu(x) }}")
    found = diff(first, second, runs=0)
    refusal = "onnxruntime runs Reshape only for shape of rank 1, this one has 0"
    assert found.obligations == (f"node Reshape#0 of the second model: {refusal}",)
    assert diff(second, first, runs=0).is_proved


@pytest.mark.parametrize("node", ["Reshape(x, t)", "Tile(x, t)", "Squeeze(x, t)", "ReduceMax(x, t)"])
def test_an_operand_of_unknown_rank_may_be_a_scalar(node: str) -> None:
    inputs = "(float[1] x, int64[] t) => (y)"
    first = model(f"{inputs} {{ y = Relu(x) }}")
    second = model(f"{inputs} {{ r = {node} y = Relu(x) }}")
    (obligation,) = [each for each in diff(first, second, runs=0).obligations if "vector" in each]
    assert obligation == f"node {node.partition('(')[0]}#0 of the second model may have no vector as an operand"


def test_a_node_that_no_runtime_accepts() -> None:
    first = model("(float[N] x) => (y) { y = Relu(x) }")
    second = model("(float[N] x) => (y) { d = Add(x) y = Relu(x) }")
    found = diff(first, second, runs=0)
    assert found.obligations == ("node Add#0 of the second model fails: the operator takes 2 inputs, found 1",)
    assert found.verdict is DiffVerdict.UNKNOWN


BODIES = {
    # what the second model does besides: a node of the first, executed in more runs
    "a dead node of a branch outside of it": (
        "z = If(c)<then_branch = a () => (u) { g = Gather(x, i) u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }> y = Identity(z)",
        "z = If(c)<then_branch = a () => (u) { g = Gather(x, i) u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }> g2 = Gather(x, i) y = Identity(z)",
    ),
    "a dead node of the other branch": (
        "y = If(c)<then_branch = a () => (u) { g = Gather(x, i) u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }>",
        "y = If(c)<then_branch = a () => (u) { u = Neg(x) }, else_branch = b () => (v) { g = Gather(x, i) v = Abs(x) }>",
    ),
    "a dead node of a branch whose result is known": (
        "s = If(c)<then_branch = a () => (u) { u = Shape(x) }, else_branch = b () => (v) { w = Identity(x) v = Shape(w) }> y = Identity(s)",
        "s = If(c)<then_branch = a () => (u) { g = Gather(x, i) u = Shape(x) }, else_branch = b () => (v) { w = Identity(x) v = Shape(w) }> y = Identity(s)",
    ),
    "another dead node of a branch": (
        "y = If(c)<then_branch = a () => (u) { r = Reshape(x, i) u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }>",
        "y = If(c)<then_branch = a () => (u) { r = Reshape(i, i) u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_nodes_in_bodies_that_nothing_reads(name: str) -> None:
    """They have to succeed as well, in each run that executes them."""
    first, second = (model(f"(float[N] x, int64[K] i, bool c) => (y) {{ {text} }}") for text in BODIES[name])
    found = diff(first, second, runs=0)
    assert found.obligations and found.verdict is DiffVerdict.UNKNOWN
    assert [each.proof_class for each in found.outputs] != [None]
    assert diff(first, first, runs=0).is_proved and diff(second, second, runs=0).is_proved


def test_a_name_without_a_producer() -> None:
    first = model("(float[N] x) => (y) { y = Clip(x) }")
    second = model("(float[N] x) => (y) { y = Clip(x, lost) }")
    assert not diff(first, second, runs=0).is_proved


def test_a_name_without_a_producer_that_no_output_needs() -> None:
    first = model("(float[N] x) => (y) { y = Relu(x) }")
    second = model("(float[N] x) => (y) { d = Neg(lost) y = Relu(x) }")
    found = diff(first, second, runs=0)
    assert found.obligations[0].startswith("the second model defines a name twice or not at all")
    assert diff(second, first, runs=0).verdict is DiffVerdict.UNKNOWN


def test_a_first_model_whose_nodes_need_other_sizes() -> None:
    """One node needs one element, another needs four: the first model runs at no size, which proves nothing."""
    head = "(float[N] x) => (y) <int64[1] z = {0}, float[4] w = {1.0, 2.0, 3.0, 4.0}>"
    first = model(f"{head} {{ s = Squeeze(x, z) m = MatMul(x, w) y = Relu(x) }}")
    second = model(f"{head} {{ y = Relu(x) }}")
    assert not any(ran(first, {"x": np.ones(size, np.float32)}) for size in range(6))
    found = diff(first, second, runs=0)
    assert found.verdict is DiffVerdict.UNKNOWN
    assert found.obligations == ("the first model fails in every run: what it requires of sizes is contradictory",)


@pytest.mark.parametrize(
    "body",
    [
        "y = Reshape(x, t)",  # 12 elements do not fit into 7
        "a, b = Split<axis=0, num_outputs=3>(x) y = Neg(x)",
        "n = Size(x) a = Slice(n, t, t) y = Neg(x)",  # a scalar has no axis
        "a = Slice(x, t, t, t) y = Neg(x)",  # axis 7
    ],
)
def test_a_first_model_that_always_fails_is_equal_to_nothing(body: str) -> None:
    """Else all facts would follow from its contradictory ones."""
    first = model(f"(float[3, 4] x, float[N] z) => (y) <int64[1] t = {{7}}> {{ {body} }}")
    second = model("(float[3, 4] x, float[N] z) => (y) { y = Neg(x) }")
    for each in (first, second):
        found = diff(first, each, runs=0)
        assert any("the first model fails" in text for text in found.obligations)
        assert not found.is_proved
