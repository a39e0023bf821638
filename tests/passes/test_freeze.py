"""Freezing: the model runs at the frozen size as before, declares it, and is the same otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto, helper

from fixtures.feeds import NAMES, bindings, make_feeds, model_path
from gather_infer import UsageError, fold, freeze, infer
from gather_infer.diagnostic import Severity
from gather_infer.errors import ModelStructureError
from gather_infer.inference.dim_rendering import dims_of
from tests.inference.models import model as text_model
from tests.passes.folding_models import assert_same_outputs, body, model, run
from tests.passes.freezing_models import constraints, declared, recorded, shaped, simple, three, without_types

STATE = onnxruntime.capi.onnxruntime_pybind11_state
FAILURES = (STATE.Fail, STATE.InvalidArgument, STATE.RuntimeException)
F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


# exported networks


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_exported_networks(name: str) -> None:
    before = onnx.load(model_path(name))
    for seed, sizes in enumerate(bindings(name)[:2]):
        result = freeze(model_path(name), dims=dict(sizes))
        assert not result.refused
        assert all(type(dim) is int for value in result.proto.graph.input for dim in constraints(value))
        onnx.checker.check_model(result.proto, full_check=True)
        assert_same_outputs(before, result.proto, make_feeds(name, sizes, seed))
        assert without_types(result.proto) == without_types(before)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_the_dims_of_exported_networks(name: str) -> None:
    sizes = dict(bindings(name)[0])
    first = next(iter(sizes))
    result = freeze(model_path(name), dims={first: sizes[first]})
    onnx.checker.check_model(result.proto, full_check=True)
    assert_same_outputs(onnx.load(model_path(name)), result.proto, make_feeds(name, sizes, 3))
    given = infer(model_path(name), dims={first: sizes[first]}, assume=False)
    again = infer(result.proto, assume=False)
    for value in (*given.inputs, *given.outputs):
        assert str(again[value]) == str(given[value])


@pytest.mark.parametrize("name", ["bert-torchscript", "gpt2-kv-dynamo", "moe-nonzero-torchscript", "beam-step-dynamo"])
def test_other_commands_declare_what_they_were_given(name: str, tmp_path: Path) -> None:
    before = onnx.load(model_path(name))
    sizes = dict(bindings(name)[0])
    feeds = make_feeds(name, sizes, 1)
    annotated = infer(model_path(name), dims=sizes).annotated(weights=True)
    folded = fold(model_path(name), dims=sizes).proto
    for proto in (annotated, folded):
        onnx.checker.check_model(proto, full_check=True)
        assert all(type(dim) is int for value in proto.graph.input for dim in constraints(value))
        assert_same_outputs(before, proto, feeds)


# what becomes a number


CASES: dict[str, Any] = {
    # id: (dims of x, of y, what is given, dims of x and y afterwards, shape of a run)
    "a size": (["N", "M"], ["N", "M"], {"dims": ["N=2"]}, [2, "M"], [2, "M"], (2, 3)),
    "all sizes": (["N", "M"], ["N", "M"], {"dims": {"N": 2, "M": 3}}, [2, 3], [2, 3], (2, 3)),
    "a size of 0": (["N", "M"], ["N", "M"], {"dims": ["N=0"]}, [0, "M"], [0, "M"], (0, 3)),
    "bounds of one size": (["N", "M"], ["N", "M"], {"dims": ["N=2..2"]}, [2, "M"], [2, "M"], (2, 3)),
    "a shape": (["N", "M"], ["N", "M"], {"inputs": ["x=[2, 3]"]}, [2, 3], [2, 3], (2, 3)),
    "a shape with its type": (["N", "M"], ["N", "M"], {"inputs": ["x=float[2, 3]"]}, [2, 3], [2, 3], (2, 3)),
    "a part of a shape": (["N", "M"], ["N", "M"], {"inputs": ["x=[2, M]"]}, [2, "M"], [2, "M"], (2, 3)),
    "another name": (["N", "M"], ["N", "M"], {"inputs": ["x=[rows, 3]"]}, ["rows", 3], ["rows", 3], (2, 3)),
    "an unknown rank": (None, ["A", "B"], {"inputs": ["x=[rows, 3]"]}, ["rows", 3], ["A", 3], (2, 3)),
    "dims without a name": ([None, None], [None, "B"], {"dims": ["x.0=2"]}, [2, None], [2, "B"], (2, 3)),
    "one gets a name": ([None, "M"], [None, "M"], {"inputs": ["x=[rows, M]"]}, ["rows", "M"], [None, "M"], (2, 3)),
    "-1": ([-1, "M"], [-1, "M"], {"dims": ["x.0=2"]}, [2, "M"], [2, "M"], (2, 3)),
    "-1 stays": ([-1, "M"], [-1, "M"], {"dims": ["M=3"]}, [-1, 3], [-1, 3], (2, 3)),
    "an output name of its own": (["N", "M"], ["A", "B"], {"dims": ["N=2"]}, [2, "M"], [2, "B"], (2, 3)),
    "an output of a traced size": (["N", "M"], [5, "M"], {"dims": ["N=2"]}, [2, "M"], [2, "M"], (2, 3)),
    "an expression": (["N", "N + 1"], ["N", "N + 1"], {"dims": ["N=2"]}, [2, 3], [2, 3], (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_dims(name: str) -> None:
    x, y, given, new_x, new_y, shape = CASES[name]
    made = shaped(simple(), x, y)
    before = made.SerializeToString()
    result = freeze(made, **given)
    assert declared(result.proto)["x"] == new_x
    assert declared(result.proto)["y"] == new_y
    assert recorded(result.proto) == []
    assert made.SerializeToString() == before
    assert without_types(result.proto) == without_types(made)
    onnx.checker.check_model(result.proto, full_check=True)
    assert_same_outputs(made, result.proto, {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)})
    again = freeze(result.proto, **given) if "inputs" in given else None
    assert again is None or again.proto == result.proto


def test_value_info_is_refined_and_none_is_added() -> None:
    made = text_model("(float[N, M] x) => (float[N, M] y) { a = Neg (x) b = Abs (a) c = Neg (b) y = Abs (c) }")
    made.graph.value_info.append(helper.make_tensor_value_info("a", F, ["N", "M"]))
    made.graph.value_info.append(helper.make_tensor_value_info("b", F, None))
    result = freeze(made, dims=["N=2"])
    assert declared(result.proto) == {"x": [2, "M"], "y": [2, "M"], "a": [2, "M"], "b": []}
    assert [v.name for v in result.proto.graph.value_info] == ["a", "b"]
    assert not result.proto.graph.value_info[1].type.tensor_type.HasField("shape")
    changed = [(c.name, c.kind, c.before, c.after) for c in result.interface.changed]
    assert changed == [
        ("x", "input", ("N", "M"), (2, "M")),
        ("y", "output", ("N", "M"), (2, "M")),
        ("a", "value_info", ("N", "M"), (2, "M")),
    ]


UNSHAPED = {
    # id: (output y of x [N, M] and i [K] with N = 2, what is declared of it then)
    "numbers and names": ("y = Transpose (x)", ["M", 2]),
    "numbers alone": ("n = Shape (x) y = Gather <axis = 0> (n, zero)", [1]),
    "a scalar": ("y = ReduceSum <keepdims = 0> (x)", []),
    "an expression": ("y = Concat <axis = 1> (x, x)", [2, "2*M"]),
    "a size that a run decides": ("y = NonZero (x)", [2, None]),
    "a size of 0": ("y = Slice (x, zero, zero)", [0, "M"]),
}


@pytest.mark.parametrize("name", UNSHAPED)
def test_an_output_without_a_shape_gets_what_is_known(name: str) -> None:
    """Its rank is that of runs, and its numbers are their sizes."""
    nodes, expected = UNSHAPED[name]
    made = text_model(f"(float[N, M] x) => (y) <int64[1] zero = {{0}}> {{ {nodes} }}")
    dtype = infer(made).tensor("y").dtype
    assert dtype is not None
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", dtype, None))
    result = freeze(made, dims=["N=2"])
    assert constraints(result.proto.graph.output[0]) == expected
    assert result.proto.graph.output[0].type.tensor_type.HasField("shape")
    onnx.checker.check_model(result.proto, full_check=True)
    assert without_types(result.proto) == without_types(made)
    assert result.interface.changed[-1].before is None
    for columns in (0, 1, 2, 5):
        feeds = {"x": np.ones((2, columns), np.float32)}
        (found,) = run(result.proto, feeds)
        assert found.tobytes() == run(made, feeds)[0].tobytes()
        sizes = [{"M": columns, "2*M": 2 * columns}.get(d, d) if isinstance(d, str) else d for d in expected]
        assert all(size in (None, real) for size, real in zip(sizes, found.shape, strict=True))


def test_an_output_without_a_shape_stays_where_nothing_is_given_or_known() -> None:
    made = text_model("(float[N, M] x, int64[K] t) => (float[N, M] y, float[N] z) { y = Abs (x) z = Reshape (x, t) }")
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    bounds = freeze(made, dims=["N=1..4"])
    assert not bounds.proto.graph.output[0].type.tensor_type.HasField("shape")
    result = freeze(made, dims=["N=2"])
    assert constraints(result.proto.graph.output[0]) == [2, "M"]
    assert not result.proto.graph.output[1].type.tensor_type.HasField("shape")
    told = [(o.name, o.axis, o.reason) for o in result.interface.dynamic_dims if o.kind == "output"]
    assert told == [("y", 1, "M is not given"), ("z", None, "its rank is not declared")]


def test_an_output_does_not_name_what_the_inputs_do_not() -> None:
    made = text_model("(float[N, ?] x) => (float[N, ?] y) { y = Abs (x) }")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    assert constraints(freeze(made, dims=["N=2"]).proto.graph.output[0]) == [2, None]


def test_an_output_of_another_type_gets_no_shape() -> None:
    made = text_model("(float[N, M] x) => (int64[N, M] y) { y = Abs (x) }")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    result = freeze(made, dims=["N=2"])
    assert not result.proto.graph.output[0].type.tensor_type.HasField("shape")


def test_dims_that_stay_symbolic_have_a_reason() -> None:
    made = text_model(
        """(float[N, M] x, int64[K] i) => (float[N, M] y, float[N, P] g, int64[2, Z] z) {
            y = Abs (x) g = Gather <axis = 1> (x, i) z = NonZero (x) }"""
    )
    result = freeze(made, dims=["N=2"])
    told = [(o.kind, o.name, o.axis, o.dim, o.reason) for o in result.interface.dynamic_dims]
    assert told == [
        ("input", "x", 1, "M", "M is not given"),
        ("input", "i", 0, "K", "K is not given"),
        ("output", "y", 1, "M", "M is not given"),
        ("output", "g", 1, "P", "it is K"),
        ("output", "z", 1, "Z", "the number of elements that are not 0 depends on the data (node NonZero#2)"),
    ]


def test_a_dim_given_as_an_expression_is_the_reason() -> None:
    related = freeze(three(), dims=["N=M+1"])
    reasons = {(o.name, o.axis): o.reason for o in related.interface.dynamic_dims if o.kind == "input"}
    assert reasons == {("x", 0): "it is M + 1", ("w", 0): "M is not given", ("m", 0): "T is not given"}


def test_nothing_given_is_nothing_written() -> None:
    made = simple()
    for result in (freeze(made), fold(made), freeze(made, dims=[])):
        assert result.proto == made
        assert (result.interface.changed, result.interface.persisted_constraints) == ((), ())


# sizes that contradict the model


REFUSED = {
    # id: (model, what is given)
    "a Concat": ("(float[N, M] x) => (y) { c = Constant <value_floats = [1.0, 2.0]> () y = Add (x, c) }", ["M=3"]),
    "a Reshape": ("(float[N, M] x) => (y) { t = Constant <value_ints = [2, 3]> () y = Reshape (x, t) }", ["N=4"]),
    "a table": (
        "(float[N] x) => (y) { s = Shape (x) z = Constant <value_ints = [4, 5, 6]> () y = Gather (z, s) }", ["N=3"],
    ),
    "two inputs": ("(float[N] x, float[M] w) => (y) { y = Add (x, w) }", ["N=3", "M=2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_size_that_contradicts_the_model(name: str, tmp_path: Path) -> None:
    text, dims = REFUSED[name]
    made = text_model(text)
    for output in made.graph.output:
        output.type.tensor_type.elem_type = F if name != "a table" else I64
    feeds = {v.name: np.zeros([int(dict(d.split("=") for d in dims).get(n, 5)) for n in constraints(v)], np.float32)
             for v in made.graph.input}  # fmt: skip
    with pytest.raises(FAILURES):
        run(made, feeds)
    result = freeze(made, dims=dims)
    assert result.refused
    assert result.proto == made
    with pytest.raises(UsageError, match="the sizes contradict the model"):
        result.save(tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()


KERNELS = "float[1, 1, 8] w, float[1, 1, 4] v"
SHORT = "<then_branch = t () => (a) { a = Conv(x, w) }, else_branch = e () => (float[D, E, G] b) { b = Conv(x, v) }>"
SQUEEZED = "<then_branch = t () => (a) { a = Squeeze(x, i) }, else_branch = e () => (b) { b = Relu(x) }>"
SIZED = (
    "s = Shape <end = 1> (x) one = Constant <value_ints = [1]> () i = Constant <value_ints = [0]> () c = Equal(s, one)"
)
BRANCHES = {
    # id: (model, what is given, whether the frozen file loads)
    "a kernel": (f"(bool c, float[1, 1, T] x, {KERNELS}) => (y) {{ y = If(c) {SHORT} }}", {"T": 5}, True),
    "a kernel in a branch that is not taken": (
        f"(bool d, float[1, 1, T] x, {KERNELS}) => (y) {{ s = Shape <start = 2> (x) k = Constant <value_ints = [5]> () "
        f"c = Greater(s, k) y = If(c) {SHORT} }}", {"T": 5}, True,
    ),
    "a loop": (
        f"(int64 m, bool c, float[1, 1, T] x, {KERNELS}) => (y) {{ n = Constant <value = int64 {{0}}> () k = Min(m, n) "
        "y = Loop(k, c, x) <body = b (int64 i, bool p, float[A, B, H] z) => (bool q, float[D, E, G] u) "
        "{ q = Identity(p) u = Conv(x, w) }> }", {"T": 5}, True,
    ),
    "a Squeeze": (
        "(bool c, float[N, 3] x) => (y) { i = Constant <value_ints = [0]> () y = If(c) " + SQUEEZED + " }", {"N": 2},
        False,
    ),
    "a Squeeze in a branch that is not taken": (
        "(bool d, float[N, 3] x) => (y) { " + SIZED + " y = If(c) " + SQUEEZED + " }", {"N": 2}, False,
    ),
    "a Squeeze in a branch that is taken": (
        "(bool d, float[N, 3] x) => (y) { " + SIZED + " y = If(c) " + SQUEEZED + " }", {"N": 1}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_what_fails_in_a_branch_alone_is_frozen_where_it_loads(name: str, tmp_path: Path) -> None:
    text, sizes, loads = BRANCHES[name]
    made = text_model(text)
    for output in made.graph.output:
        output.ClearField("type")
        output.type.tensor_type.elem_type = F
    feeds: dict[str, Any] = {
        v.name: np.zeros((), bool) if v.type.tensor_type.elem_type == BOOL
        else np.zeros((), np.int64) if v.type.tensor_type.elem_type == I64
        else np.ones([sizes.get(n, n) for n in constraints(v)], np.float32) for v in made.graph.input}  # fmt: skip
    before = run(made, feeds)
    stated = ModelProto()
    stated.CopyFrom(made)
    for value in stated.graph.input:
        for dim in dims_of(value.type):
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
    result = freeze(made, dims=[f"{k}={v}" for k, v in sizes.items()])
    assert bool(result.refused) is not loads
    assert result.loads is loads
    if loads:
        for one, other in zip(before, run(result.proto, feeds), strict=True):
            np.testing.assert_array_equal(one, other)
        assert not any(d.severity is Severity.ERROR for d in result.diagnostics)
        return
    with pytest.raises(FAILURES):
        run(stated, feeds)
    assert result.proto == made
    assert [d.severity for d in result.diagnostics] == [Severity.ERROR]
    assert any("then_branch of node If#" in line for line in result.refused[0].detail)
    with pytest.raises(UsageError, match="the file may not load with these sizes"):
        result.save(tmp_path / "out.onnx")


def test_a_branch_that_fails_at_every_size_refuses_none() -> None:
    made = text_model(
        f"(bool c, float[1, 1, 5] x, float[N] z, {KERNELS}) => (y, o) {{ y = If(c) {SHORT} o = Relu(z) }}"
    )
    for output in made.graph.output:
        output.ClearField("type")
        output.type.tensor_type.elem_type = F
    result = freeze(made, dims=["N=2"])
    assert not result.refused and declared(result.proto)["z"] == [2]
    assert [d.code for d in result.diagnostics if d.severity is Severity.WARNING] == ["GI210"]


def test_what_would_have_to_be_assumed_is_no_number() -> None:
    """There are two rows where S is not 0; where it is, onnxruntime makes four."""
    made = text_model(
        """(float[S, 4] x, float[B] z) => (y) {
            s = Shape <end = 1> (x) d = Add (s, s) m = Constant <value_ints = [-1]> () t = Concat <axis = 0> (m, d)
            y = Reshape <allowzero = 1> (x, t) }"""
    )
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F, ["C", "D"]))
    frozen = freeze(made, dims=["B=3"]).proto
    assert declared(frozen)["z"] == [3]
    for size, rows in ((1, 2), (0, 4)):
        (found,) = run(frozen, {"x": np.zeros((size, 4), "f4"), "z": np.zeros(3, "f4")})
        assert len(found) == rows
    assert declared(frozen)["y"][0] == "C"


def test_an_error_of_the_original_is_reported_and_refuses_nothing() -> None:
    made = simple()
    made.graph.node.append(helper.make_node("Gather", ["zero", "nine"], ["w"], "bad"))
    made.graph.initializer.append(helper.make_tensor("nine", I64, [1], [9]))
    result = freeze(made, dims=["N=2"])
    assert [d.code for d in result.diagnostics] == ["GI301"]
    assert not result.refused
    assert declared(result.proto)["x"] == [2, "M"]


def test_usage() -> None:
    wrong: list[tuple[Any, str]] = [
        ({"dims": ["L=2"]}, "no input dim 'L'; there are M, N"),
        ({"dims": ["N=-2"]}, "is -2"),
        ({"inputs": ["x=[2]"]}, "contradicts"),
        ({"inputs": ["w=[2]"]}, "no input 'w'"),
    ]
    for given, message in wrong:
        with pytest.raises(UsageError, match=message):
            freeze(simple(), **given)
    two = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, ["N"]), "w": (F, ["N"])}, {"y": (F, None)})
    with pytest.raises(UsageError, match="dim 'N' is 2, not 3"):
        freeze(two, inputs=["x=[2]", "w=[3]"])
    twice = simple()
    twice.graph.node[1].output[0] = "y"
    with pytest.raises(ModelStructureError):
        freeze(twice, dims=["N=2"])


# what else is in models


def test_names_of_a_body_are_its_own_unless_they_are_proved() -> None:
    """The branches run on other sizes than the `N` of the model: a name there says nothing of it."""
    made = text_model(
        """(float[N, 3] x, bool c) => (float[R, 3] y) {
            y = If (c) <
                then_branch = a () => (float[N, 3] t) { t = Concat <axis = 0> (x, x) },
                else_branch = b () => (float[N, 3] e) { e = Abs (x) }
            > }"""
    )
    result = freeze(made, dims=["N=2"])
    then, other = (a.g for a in result.proto.graph.node[0].attribute)
    assert (constraints(then.output[0]), constraints(other.output[0])) == ([4, 3], [2, 3])
    assert declared(result.proto)["y"] == ["R", 3]
    assert [(c.graph.partition("/")[2], c.name) for c in result.interface.changed] == [
        ("", "x"), ("then_branch", "t"), ("else_branch", "e"),
    ]  # fmt: skip
    onnx.checker.check_model(result.proto, full_check=True)
    for flag in (True, False):
        feeds = {"x": np.ones((2, 3), np.float32), "c": np.array(flag)}
        assert_same_outputs(made, result.proto, feeds)


def test_a_branch_of_an_unknown_size_preserves_its_name() -> None:
    made = text_model(
        """(float[N] x, bool c) => (int64[1, R] y) {
            y = If (c) <
                then_branch = a () => (int64[1, N] t) { t = NonZero (x) },
                else_branch = b () => (int64[1, N] e) { e = NonZero (x) }
            > }"""
    )
    result = freeze(made, dims=["N=2"])
    assert [constraints(a.g.output[0]) for a in result.proto.graph.node[0].attribute] == [[1, "N"], [1, "N"]]
    assert_same_outputs(made, result.proto, {"x": np.array([0, 5], np.float32), "c": np.array(True)})


@pytest.mark.parametrize("trips", [0, 3])
def test_a_loop_gives_the_same_also_when_it_never_runs(trips: int) -> None:
    made = text_model(
        """(float[N, 3] x, int64 trips) => (float[N, 3] last, float[T, A, B] all) {
            last, all = Loop (trips, , x) <
                body = l (int64 i, bool more, float[N, M] s) => (bool again, float[N, M] next, float[N, M] out) {
                    again = Identity (more) next = Add (s, x) out = Abs (s) }
            > }"""
    )
    result = freeze(made, dims=["N=2"])
    inner = result.proto.graph.node[0].attribute[0].g
    assert constraints(inner.input[2]) == ["N", "M"], (
        "a number here gives [0, 2, 3] in onnxruntime, in place of [0, 0, 0]"
    )
    assert [constraints(v) for v in inner.output] == [[], ["N", "M"], ["N", "M"]]
    onnx.checker.check_model(result.proto, full_check=True)
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), np.float32), "trips": np.array(trips)})


def test_a_loop_that_grows_its_state_has_no_number_there() -> None:
    made = text_model(
        """(float[N, 3] x, int64 trips) => (float[G, 3] last) {
            last = Loop (trips, , x) <
                body = l (int64 i, bool more, float[N, 3] s) => (bool again, float[P, 3] next) {
                    again = Identity (more) next = Concat <axis = 0> (s, x) }
            > }"""
    )
    result = freeze(made, dims=["N=2"])
    inner = result.proto.graph.node[0].attribute[0].g
    assert constraints(inner.input[2]) == ["N", 3]
    assert declared(result.proto)["last"] == ["G", 3]
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), np.float32), "trips": np.array(2)})


def test_functions_stay_as_they_are() -> None:
    made = text_model(
        """(float[N] x, float[M] w) => (float[A] y, float[B] z) { y = custom.twice (x) z = custom.twice (w) }
        <domain: "custom", opset_import: ["" : 17]>
        twice (a) => (b) { c = Neg (a) b = Neg (c) }"""
    )
    made.functions[0].value_info.append(helper.make_tensor_value_info("c", F, ["N"]))
    made.opset_import.add(domain="custom", version=1)
    result = freeze(made, dims=["N=2"])
    assert result.proto.functions == made.functions
    assert declared(result.proto) == {"x": [2], "w": ["M"], "y": [2], "z": ["B"]}
    assert_same_outputs(made, result.proto, {"x": np.ones(2, np.float32), "w": np.ones(5, np.float32)})


def nested(kind: str, dims: list[Any]) -> TypeProto:
    tensor = helper.make_tensor_type_proto(F, dims)
    return helper.make_sequence_type_proto(tensor) if kind == "sequence" else helper.make_optional_type_proto(tensor)


def test_sequences_and_optionals() -> None:
    made = model(
        [helper.make_node("ConcatFromSequence", ["xs"], ["y"], axis=1), helper.make_node("Neg", ["w"], ["z"])],
        {"w": (F, ["N", 4])},
        {"y": (F, ["N", "S"]), "z": (F, ["N", 4])},
    )
    made.graph.input.append(ValueInfoProto(name="xs", type=nested("sequence", ["N", "M"])))
    result = freeze(made, dims=["N=2"])
    assert constraints(result.proto.graph.input[1]) == [2, "M"]
    assert declared(result.proto)["y"] == [2, "S"]
    onnx.checker.check_model(result.proto, full_check=True)
    feeds: Any = {"w": np.ones((2, 4), np.float32), "xs": [np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)]}
    assert_same_outputs(made, result.proto, feeds)
    has = model([helper.make_node("OptionalHasElement", ["o"], ["y"])], {"w": (F, ["N"])}, {"y": (BOOL, [])}, opset=18)
    has.graph.input.append(ValueInfoProto(name="o", type=nested("optional", ["N", None])))
    assert constraints(freeze(has, dims=["N=2"]).proto.graph.input[1]) == [2, None]


def test_an_input_with_a_default() -> None:
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, ["N", 3]), "w": (F, ["N", 3])},
                 {"y": (F, ["N", 3])}, {"w": np.ones((2, 3), np.float32)})  # fmt: skip
    result = freeze(made, dims=["N=2"])
    assert declared(result.proto) == {"x": [2, 3], "w": [2, 3], "y": [2, 3]}
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), np.float32)})
    assert freeze(made, dims=["N=3"]).refused, "the default has two rows"


def test_before_ir_version_4_an_input_with_an_initializer_is_a_constant() -> None:
    made = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": (F, ["N", 3]), "w": (F, ["K", 3])},
                 {"y": (F, ["N", 3])}, {"w": np.ones((1, 3), np.float32)}, opset=8, ir_version=3)  # fmt: skip
    result = freeze(made, dims=["N=2"])
    assert declared(result.proto) == {"x": [2, 3], "w": ["K", 3], "y": [2, 3]}
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), np.float32)})
    with pytest.raises(UsageError, match="no input dim 'K'"):
        freeze(made, dims=["K=1"])


def test_unknown_fields_and_weights_stay_byte_for_byte(tmp_path: Path) -> None:
    made = simple()
    big = np.arange(4096, dtype=np.float32)
    made.graph.initializer.append(helper.make_tensor("big", F, [4096], big.tobytes(), raw=True))
    made.graph.node.append(helper.make_node("Identity", ["big"], ["kept"]))
    data = made.SerializeToString() + b"\xc2\x3e\x03abc"  # field 1000
    path, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    path.write_bytes(data)
    freeze(path, dims=["N=2"]).save(out)
    written = out.read_bytes()
    assert b"\xc2\x3e\x03abc" in written
    assert without_types(onnx.load(out)) == without_types(onnx.load(path))
    freeze(path, dims=["N=2"]).save(tmp_path / "light.onnx", external_data="weights")
    light = onnx.load(tmp_path / "light.onnx")
    assert light.graph.initializer[1].raw_data == big.tobytes()
    freeze(tmp_path / "light.onnx", dims=["M=3"]).save(tmp_path / "both.onnx")
    assert declared(onnx.load(tmp_path / "both.onnx"))["x"] == [2, 3]
    assert onnx.load(tmp_path / "both.onnx").graph.initializer[1].raw_data == big.tobytes()


def test_a_graph_of_graphsurgeon() -> None:
    import onnx_graphsurgeon as gs

    result = freeze(gs.import_onnx(simple()), dims=["N=2"])
    assert isinstance(result.model, gs.Graph)
    assert result.model.inputs[0].shape == [2, "M"]


def test_a_body_that_hides_a_frozen_value() -> None:
    """The branch has a value of its own that is called like one of the model."""
    inner = body([helper.make_node("Concat", ["x", "x"], ["s"], axis=0), helper.make_node("Abs", ["s"], ["t"])],
                 {}, {"t": (F, ["N", 3])})  # fmt: skip
    inner.value_info.append(helper.make_tensor_value_info("s", F, ["N", 3]))
    other = body([helper.make_node("Abs", ["x"], ["e"])], {}, {"e": (F, ["N", 3])})
    nodes = [helper.make_node("If", ["c"], ["y"], "branch", then_branch=inner, else_branch=other)]
    made = model(nodes, {"x": (F, ["N", 3]), "c": (BOOL, [])}, {"y": (F, ["R", 3])})
    result = freeze(made, dims=["N=2"])
    then = next(a.g for a in result.proto.graph.node[0].attribute if a.name == "then_branch")
    assert constraints(then.value_info[0]) == [4, 3]
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), np.float32), "c": np.array(True)})
