"""`compose`: names and metadata of both models, and the contract of the second, judged by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

import gather_infer
from gather_infer import EditRefused, UnknownName, UsageError, compose
from tests.editing.editing_models import HEAD, interface, parsed, run, same_bits

F = np.float32


def table(text: str, head: str = HEAD, **held: Any) -> ModelProto:
    """A model with initializers."""
    model = parsed(text, head)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in held.items())
    return model


W = np.arange(32, dtype=F).reshape(8, 4)
LOOK_UP = table("g (int64[K] ids) => (float[K, 4] z) { z = Gather(w, ids) }", w=W)
"""Needs -8 <= ids < 8."""
POSITIONS = table(
    "g (float[B, S, 4] h) => (float[B, S, 4] z) { s = Shape<start = 1, end = 2>(h) r = Squeeze(s)"
    " i = Range(zero, r, one) p = Gather(w, i) z = Add(h, p) }", w=W, zero=np.array(0), one=np.array(1),
)  # fmt: skip
"""Needs S <= 8."""
PAIR = parsed("g (float[K, 4] u, float[K, 4] v) => (float[K, 4] z) { z = Add(u, v) }")
DENSE = table("g (float[B, M] u) => (float[B, 4] z) { z = MatMul(u, w) }", w=np.ones((3, 4), F))
"""Needs M = 3."""
FIVE = parsed("g (float[K, 5] u) => (float[K, 5] z) { z = Relu(u) }")

MOD = table("g (int64[N] x) => (int64[N] y) { y = Mod(x, k) }", k=np.array(8))
BIG_MOD = table("g (int64[N] x) => (int64[N] y) { y = Mod(x, k) }", k=np.array(9))
COPY = parsed("g (int64[N] x) => (int64[N] y) { y = Identity(x) }")
SQUARE = parsed("g (int64[N] x) => (int64[N] y) { y = Mul(x, x) }")
BOUNDED = table("g (int64[N] x) => (float[N, 2] o, int64[N] y) { o = Gather(t, x) y = Identity(x) }", t=W[:, :2])
"""Needs -8 <= x < 8 itself."""
CHANNELS = parsed("g (float[N, S, 4] x) => (float[N, S, 4] y) { y = Relu(x) }")
PADDED = table("g (float[N, S, 4] x) => (float[N, P, 4] y) { y = Pad(x, p) }", p=np.array([0, 1, 0, 0, 0, 0]))
FEW = table("g (float[N, S, 4] x) => (float[N, P, 4] y) { y = Slice(x, a, b, c) }", a=np.array([0]), b=np.array([8]),
            c=np.array([1]))  # fmt: skip
PLAIN = parsed("g (float[N, M] x) => (float[N, M] y) { y = Relu(x) }")
TWO = parsed("g (float[N, 4] x, float[M, 4] t) => (float[N, 4] y, float[M, 4] s) { y = Relu(x) s = Neg(t) }")

SAME = parsed("g (float[N, 4] x) => (float[N, 4] y, float[N, 4] s) { y = Relu(x) s = Neg(x) }")
THREE = parsed("g (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }")

CASES: dict[str, tuple[ModelProto, ModelProto, list[str], list[str], list[str]]] = {
    # test: (first, second, mapping, statuses of lines, refused)
    "a range is proved":             (MOD, LOOK_UP, ["y=ids"], ["proved"], []),
    "a range is too wide":           (BIG_MOD, LOOK_UP, ["y=ids"], ["open"], []),
    "an input is handed on":         (COPY, LOOK_UP, ["y=ids"], ["fails"], ["-8 <= x < 8 fails: x.0 = 1, x = 8"]),
    "elements are unknown":          (SQUARE, LOOK_UP, ["y=ids"], ["open"], []),
    "the first model's contract":    (BOUNDED, LOOK_UP, ["y=ids"], ["proved"], []),
    "a size has no bound":           (CHANNELS, POSITIONS, ["y=h"], ["fails"], ["S <= 8"]),
    "a size is one larger":          (PADDED, POSITIONS, ["y=h"], ["fails"], ["S <= 7"]),
    "a size is cut off":             (FEW, POSITIONS, ["y=h"], ["proved"], []),
    "equal sizes":                   (SAME, PAIR, ["y=u", "s=v"], [], []),
    "sizes that may differ":         (TWO, PAIR, ["y=u", "s=v"], ["fails", "open"], ["N == M or"]),
    "a declared size":               (PLAIN, FIVE, ["y=u"], ["fails"], ["u.1 == 5"]),
    "an inner dim of a product":     (PLAIN, DENSE, ["y=u"], ["fails"], ["M == 3"]),
    "an input that stays":           (TWO, PAIR, ["y=u"], [], []),
    "a number for a symbol":         (THREE, DENSE, ["y=u"], ["proved"], []),
}  # fmt: skip


def chained(a: ModelProto, b: ModelProto, mapping: list[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of both models, run one after the other: inputs of the second that are not mapped keep their name."""
    first = dict(zip(interface(a)[1], run(a, {n: feeds[n] for n in interface(a)[0]}), strict=True))
    pairs = dict(pair.split("=")[::-1] for pair in mapping)
    second = {n: first[pairs[n]] if pairs.get(n) in first else feeds[pairs.get(n, n)] for n in interface(b)[0]}
    return first | dict(zip(interface(b)[1], run(b, second), strict=True))


def drawn(model: ModelProto, rng: np.random.Generator, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Random feeds of a model at these sizes, of symbols and of axes such as `x.1`."""
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [
            d.dim_value or sizes.get(f"{value.name}.{axis}", sizes.get(d.dim_param, 2))
            for axis, d in enumerate(tensor.shape.dim)
        ]
        is_integer = tensor.elem_type == TensorProto.INT64
        feeds[value.name] = rng.integers(-8, 8, shape) if is_integer else rng.standard_normal(shape).astype(F)
    return feeds


@pytest.mark.parametrize("case", CASES)
def test_the_contract_of_the_second_model(case: str) -> None:
    first, second, mapping, statuses, refused = CASES[case]
    result = compose(first, second, mapping=mapping)
    assert sorted(str(line.status) for line in result.lines if str(line.status) != "input") == sorted(statuses)
    assert len(result.refused) == len(refused)
    assert all(text in found for text, found in zip(refused, result.refused, strict=True))
    onnx.checker.check_model(result.proto, full_check=True)


@pytest.mark.parametrize("case", [case for case, (*_, refused) in CASES.items() if not refused])
def test_a_proof_holds_in_runs(case: str) -> None:
    """Random inputs within the first model's contract run in both models, and in the joined one with the same bits."""
    first, second, mapping, statuses, _ = CASES[case]
    result = compose(first, second, mapping=mapping)
    rng = np.random.default_rng(3)
    contract = gather_infer.contract_of(first).contract
    for _ in range(6):
        size = int(rng.integers(0, 12))
        sizes = dict.fromkeys(("N", "K", "M", "S", "B", "P"), size)
        feeds = drawn(first, rng, sizes) | {
            n: v for n, v in drawn(second, rng, sizes).items() if f"={n}" not in "".join(mapping)
        }
        if contract.check({name: feeds[name] for name in interface(first)[0]}) or "open" in statuses:
            continue
        wanted = chained(first, second, mapping, feeds)
        found = dict(zip(interface(result.proto)[1], run(result.proto, feeds), strict=True))
        assert all(same_bits(value, wanted[name]) for name, value in found.items())


@pytest.mark.parametrize("case", [case for case, (*_, refused) in CASES.items() if refused])
def test_a_witness_makes_the_run_fail(case: str) -> None:
    first, second, mapping, _, _ = CASES[case]
    result = compose(first, second, mapping=mapping)
    (line,) = (line for line in result.lines if str(line.status) == "fails")
    sizes = {name: number for name, number in line.witness if "." in name}
    feeds = drawn(first, np.random.default_rng(0), sizes)
    for name, number in line.witness:
        if name in feeds:
            feeds[name] = np.full_like(feeds[name], number)
        elif name.split(".")[0] in interface(first)[1]:  # a size of an output: that of the input here
            feeds = drawn(first, np.random.default_rng(0), {f"x.{name.split('.')[1]}": number})
    run(first, feeds)
    with pytest.raises(Exception, match=r"(?i)invalid|bounds|dimension|broadcast|mismatch"):
        chained(first, second, mapping, feeds)


def test_failures_are_allowed_on_request() -> None:
    allowed = compose(COPY, LOOK_UP, mapping="y=ids", allow_failures=True)
    assert not allowed.refused
    x = np.array([3, -1])
    assert same_bits(run(allowed.proto, {"x": x})[0], W[x])


def test_open_lines_are_refused_on_request() -> None:
    assert not compose(MOD, LOOK_UP, mapping="y=ids", require_proved=True).refused
    (reason,) = compose(SQUARE, LOOK_UP, mapping="y=ids", require_proved=True).refused
    assert reason.endswith("is not proved")
    with pytest.raises(EditRefused, match="is not proved"):
        compose(SQUARE, LOOK_UP, mapping="y=ids", require_proved=True).save("out.onnx")


TYPES = {
    # message: (first, second, mapping)
    "y of <model> is int64[N], input u of <model> (second) is float32[K, 5]": (MOD, FIVE, "y=u"),
    "y of <model> is int64[N], input u of <model> (second) is float32[K]": (
        MOD, parsed("g (float[K] u) => (float[K] z) { z = Relu(u) }"), "y=u",
    ),
    "y of <model> is float32[N], input u of <model> (second) is float32[K, 5]": (
        parsed("g (float[N] x) => (float[N] y) { y = Relu(x) }"), FIVE, "y=u",
    ),
    "y of <model> is seq(float32[N, 5]), input u of <model> (second) is float32[K, 5]": (
        parsed("g (float[N, 5] x) => (seq(float[N, 5]) y) { y = SequenceConstruct(x) }"), FIVE, "y=u",
    ),
    "y of <model> is float32[N, M], input u of <model> (second) is seq(float32[K, 5])": (
        PLAIN, parsed("g (seq(float[K, 5]) u) => (int64 z) { z = SequenceLength(u) }"), "y=u",
    ),
    "axis 1 is 4, not 5": (TWO, FIVE, "y=u"),
    "y of <model> is float32[N, S, 4], input u of <model> (second) is float32[K, 5]": (CHANNELS, FIVE, "y=u"),
}  # fmt: skip


@pytest.mark.parametrize("message", TYPES)
def test_types_that_do_not_fit(message: str) -> None:
    first, second, mapping = TYPES[message]
    with pytest.raises(EditRefused) as caught:
        compose(first, second, mapping=mapping)
    assert message in str(caught.value)


WRONG: dict[str, tuple[type[Exception], Any]] = {
    # message: (exception, mapping)
    "no output of the first model 'z'": (UnknownName, "z=u"),
    "no input of the second model 'w'": (UnknownName, "y=w"),
    "a mapping is OUTPUT=INPUT, not 'y'": (UsageError, "y"),
    "input 'u' is fed by both 'y' and 's'": (UsageError, ["y=u", "s=u"]),
    "no output of the first model has the name of an input of the second": (UsageError, ()),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_mappings(message: str) -> None:
    exception, mapping = WRONG[message]
    with pytest.raises(exception) as caught:
        compose(TWO, PAIR, mapping=mapping)
    assert message in str(caught.value)


def test_the_interface_is_that_of_both() -> None:
    result = compose(TWO, PAIR, mapping={"v": "s"})
    assert interface(result.proto) == (["x", "t", "u"], ["y", "z"])
    assert dict(result.inputs)["u"] == "float32[M, 4]"
    assert dict(result.outputs)["z"] == "float32[M, 4]"
    assert result.mapping == {"s": ("v",)}


def test_names_that_clash_get_a_prefix() -> None:
    text = "g (float[N] x, float[N] m) => (float[N] y) { a = Relu(x) y = Add(a, m) }"
    model = parsed(text)
    model.graph.name = "decoder"
    result = compose(model, model, mapping="y=x")
    assert interface(result.proto) == (["x", "m", "decoder/m"], ["decoder/y"])
    assert [node.name for node in result.proto.graph.node] == ["Relu_0", "Add_1", "decoder/Relu_0", "decoder/Add_1"]
    assert result.renamed == {"m": "decoder/m", "y": "decoder/y", "a": "decoder/a"}
    assert result.notes == ("renamed in the second model: m to decoder/m, y to decoder/y",)
    feeds = {name: np.random.default_rng(2).standard_normal(3).astype(F) for name in interface(result.proto)[0]}
    (middle,) = run(model, {"x": feeds["x"], "m": feeds["m"]})
    (last,) = run(model, {"x": middle, "m": feeds["decoder/m"]})
    assert same_bits(run(result.proto, feeds)[0], last)
    third = compose(result.proto, model, mapping="decoder/y=x", prefix="b.")
    assert interface(third.proto) == (["x", "m", "decoder/m", "b.m"], ["b.y"])


def test_dims_are_unified_and_others_are_kept_apart() -> None:
    first = parsed("g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }")
    second = parsed("g (float[K, 4] u, float[N, K] v) => (float[N, 4] z) { z = MatMul(v, u) }")
    result = compose(first, second, mapping="y=u", prefix="b_")
    assert result.inputs == (("x", "float32[N, 4]"), ("b_v", "float32[b_N, N]"))
    assert result.outputs == (("b_z", "float32[b_N, 4]"),)


def test_an_input_feeds_both_models() -> None:
    second = parsed("g (float[K, 4] u, float[K, 4] m) => (float[K, 4] z) { z = Mul(u, m) }")
    first = parsed("g (float[N, 4] x, float[N, 4] m) => (float[N, 4] y) { y = Add(x, m) }")
    result = compose(first, second, mapping=["y=u", "m=m"])
    assert interface(result.proto) == (["x", "m"], ["z"])
    assert result.mapping == {"y": ("u",), "m": ("m",)}


def test_an_output_feeds_two_inputs_and_a_fed_input_is_returned() -> None:
    second = parsed("g (float[K, 4] u, float[K, 4] v) => (float[K, 4] u, float[K, 4] z) { z = Mul(u, v) }")
    first = parsed("g (float[N, 4] x) => (float[N, 4] y) { y = Neg(x) }")
    result = compose(first, second, mapping=["y=u", "y=v"])
    assert interface(result.proto) == (["x"], ["u", "z"])
    x = np.ones((2, 4), F)
    assert [same_bits(value, wanted) for value, wanted in zip(run(result.proto, {"x": x}), (-x, x * x), strict=True)]


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_the_default_of_a_fed_input_is_removed(is_sparse: bool) -> None:
    second = parsed("g (float[4] u, float[4] v) => (float[4] z) { z = Add(u, v) }")
    default = numpy_helper.from_array(np.full(4, 7, F), "v")
    if is_sparse:
        indices = numpy_helper.from_array(np.arange(4))
        second.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(default, indices, [4]))
    else:
        second.graph.initializer.append(default)
    first = parsed("g (float[4] x) => (float[4] y) { y = Neg(x) }")
    result = compose(first, second, mapping=["y=u", "y=v"])
    assert not (result.proto.graph.initializer or result.proto.graph.sparse_initializer)
    onnx.checker.check_model(result.proto, full_check=True)
    assert same_bits(run(result.proto, {"x": np.arange(4, dtype=F)})[0], -2 * np.arange(4, dtype=F))


OPSETS = {
    # test: (first, second, message, or None if they are joined)
    "the same meaning": (("Relu", 13), ("Relu", 18), None),
    "the second is lower": (("Relu", 18), ("Exp", 13), None),
    "another meaning": (("Softmax", 11), ("Relu", 18), "imports opset 11 of ai.onnx, the other model 18"),
    "another meaning in the second": (("Relu", 18), ("LogSoftmax", 12), "imports opset 12 of ai.onnx"),
}


@pytest.mark.parametrize("case", OPSETS)
def test_opsets(case: str) -> None:
    (one, a), (other, b), message = OPSETS[case]
    first = parsed(
        f"g (float[N, 4] x) => (float[N, 4] y) {{ y = {one}(x) }}", f'<ir_version: 7, opset_import: ["": {a}]>'
    )
    second = parsed(
        f"g (float[K, 4] u) => (float[K, 4] z) {{ z = {other}(u) }}", f'<ir_version: 8, opset_import: ["": {b}]>'
    )
    if message is not None:
        with pytest.raises(EditRefused, match=message):
            compose(first, second)
        return
    result = compose(first, second)
    assert [(entry.domain, entry.version) for entry in result.proto.opset_import] == [("", 18)]
    assert result.proto.ir_version == 8
    x = np.linspace(-1, 1, 8, dtype=F).reshape(2, 4)
    assert same_bits(run(result.proto, {"x": x})[0], run(second, {"u": run(first, {"x": x})[0]})[0])


def test_functions_of_both() -> None:
    def model(body: str, shared: str = "Abs") -> ModelProto:
        found: ModelProto = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["": 18, "f": 1]>
            g (float[N] x) => (float[N] y) {{ a = f.act(x) y = f.same(a) }}
            <domain: "f", opset_import: ["": 18, "f": 1]> act (x) => (y) {{ h = f.same(x) y = {body}(h) }}
            <domain: "f", opset_import: ["": 18]> same (x) => (y) {{ y = {shared}(x) }}""")
        return found

    result = compose(model("Exp"), model("Neg"), mapping="y=x")
    assert [function.name for function in result.proto.functions] == ["act", "same", "g_act"]
    assert [node.op_type for node in result.proto.graph.node] == ["act", "same", "g_act", "same"]
    x = np.array([-1.0, 2.0], F)
    wanted = run(model("Neg"), {"x": run(model("Exp"), {"x": x})[0]})[0]
    assert same_bits(run(result.proto, {"x": x})[0], wanted)
    deep = compose(model("Exp"), model("Exp", "Neg"), mapping="y=x")  # act calls another function
    assert [function.name for function in deep.proto.functions] == ["act", "same", "g_act", "g_same"]
    wanted = run(model("Exp", "Neg"), {"x": run(model("Exp"), {"x": x})[0]})[0]
    assert same_bits(run(deep.proto, {"x": x})[0], wanted)


def test_metadata_of_both() -> None:
    first, second = (
        parsed("g (float[N] x) => (float[N] y) { y = Relu(x) }"),
        parsed("g (float[K] u, float[N] v) => (float[K] z) { z = Exp(u) w = Neg(v) }"),
    )
    second.graph.name = "b"
    for model, entries in (
        (first, {"author": "me", "license": "MIT", "gather_infer.dims": "N=1..8"}),
        (second, {"author": "you", "license": "MIT", "note": "x", "gather_infer.dims": "K=2..;N=..5"}),
    ):
        for key, value in entries.items():
            model.metadata_props.add(key=key, value=value)
    proto = compose(first, second, mapping="y=u", allow_failures=True).proto
    assert {entry.key: entry.value for entry in proto.metadata_props} == {
        "author": "me", "license": "MIT", "b/author": "you", "note": "x",
        "gather_infer.dims": "N=1..8; N=2..; b_N=0..5",
    }  # fmt: skip


def test_a_stored_contract_is_about_one_model() -> None:
    first, second = (gather_infer.contract_of(model).embedded() for model in (MOD, LOOK_UP))
    for one, other, notes in (
        (first, LOOK_UP, ["first"]),
        (MOD, second, ["second"]),
        (first, second, ["first", "second"]),
    ):
        result = compose(one, other, mapping="y=ids")
        assert not result.proto.metadata_props
        assert [note.split()[-3] for note in result.notes if "gather_infer.contract" in note] == notes


SPLIT = parsed("g (float[N, 3] x) => (float[3, 2] y) <int64[2] s = {3, 2}> { y = Reshape(x, s) }")
ALWAYS_WRONG = {
    # message: the second model, which has no error by itself
    "the input [3, 2] has 6 elements, the target [4, 2] has 8": (
        "g (float[K, M] u) => (float[4, 2] z) <int64[2] t = {4, 2}> { z = Reshape(u, t) }"
    ),
    "shapes [3, 5] and [3, 2] do not broadcast": (
        "g (float[K, M] u) => (float[3, M] z) <float[3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}> {"
        " q = Concat <axis = 1> (u, w) z = Add (q, u) }"
    ),
}


@pytest.mark.parametrize("message", ALWAYS_WRONG)
@pytest.mark.parametrize("allow_failures", [False, True])
def test_what_fails_for_all_inputs_is_refused(message: str, allow_failures: bool) -> None:
    """No line is proved then: that of the node with the error is none of the joined model's contract."""
    result = compose(SPLIT, parsed(ALWAYS_WRONG[message]), mapping="y=u", allow_failures=allow_failures)
    assert len(result.refused) == 1 and message in result.refused[0]
    assert result.lines == ()
    with pytest.raises(Exception, match=r"(?i)reshape|broadcast|dimension"):
        run(result.proto, {"x": np.ones((2, 3), F)})


def test_training_graphs_are_refused() -> None:
    model = ModelProto()
    model.CopyFrom(COPY)
    model.training_info.add()
    for first, second in ((model, LOOK_UP), (MOD, model)):
        with pytest.raises(EditRefused, match="training graphs"):
            compose(first, second, mapping="y=x")


def test_what_feeds_unread_inputs_alone_is_removed() -> None:
    """With its constants, functions and annotations; what other values need stays, and what nothing read before."""
    first: ModelProto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "f": 1]>
        g (float[N, 4] x) => (float[N, 4] y, float[N, 4] s, float[N, 4] kept)
            <float[4] w = {1, 2, 3, 4}, float[4] q = {1, 1, 1, 1}, float[1] unused = {5}> {
            h = Relu(x) y = Neg(h) a = f.scaled(h) t = Add(a, w) s = f.act(t) idle = Mul(x, q) kept = Exp(x) }
        <domain: "f", opset_import: ["": 18]> act (x) => (y) { y = Abs(x) }
        <domain: "f", opset_import: ["": 18]> scaled (x) => (y) { y = Sin(x) }""")
    first.graph.initializer.append(numpy_helper.from_array(np.array(0.5, F), "t_scale"))
    annotation = first.graph.quantization_annotation.add(tensor_name="t")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="t_scale")
    second: ModelProto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "f": 1]>
        g (float[N, 4] u, float[N, 4] v) => (float[N, 4] z) { z = f.act(u) }
        <domain: "f", opset_import: ["": 18]> act (x) => (y) { y = Abs(x) }""")
    result = compose(first, second, mapping=["y=u", "s=v"])
    graph = result.proto.graph
    assert [node.op_type for node in graph.node] == ["Relu", "Neg", "Mul", "Exp", "act"]
    assert [tensor.name for tensor in graph.initializer] == ["q", "unused"] and not graph.quantization_annotation
    assert [function.name for function in result.proto.functions] == ["act"]
    assert interface(result.proto) == (["x"], ["kept", "z"])
    assert "compose: remove output s: the second model does not read it" in result.edits
    assert "compose: remove Add t: nothing reads it any more" in result.edits
    onnx.checker.check_model(result.proto, full_check=True)
    x = np.linspace(-1, 1, 8, dtype=F).reshape(2, 4)
    assert same_bits(run(result.proto, {"x": x}, ["z"])[0], run(first, {"x": x}, ["y"])[0].__abs__())
    whole = compose(first, second, mapping=["y=u", "s=v"], keep_outputs=True)
    assert len(whole.proto.graph.node) == 8 and interface(whole.proto)[1] == ["y", "s", "kept", "z"]


def test_an_unread_input_is_fed_by_what_a_read_one_needs() -> None:
    first = parsed("g (float[N] x) => (float[N] h, float[N] y) { h = Relu(x) y = Neg(h) }")
    second = parsed("g (float[N] u, float[N] v) => (float[N] z) { z = Abs(u) }")
    for mapping, operators in ((["h=u", "y=v"], ["Relu", "Abs"]), (["y=u", "h=v"], ["Relu", "Neg", "Abs"])):
        proto = compose(first, second, mapping=mapping).proto
        assert [node.op_type for node in proto.graph.node] == operators
        assert interface(proto) == (["x"], ["z"])
        onnx.checker.check_model(proto, full_check=True)
    captured = parsed("""g (bool c, float[N] u, float[N] v) => (float[N] z) {
        z = If (c) <then_branch = t () => (float[N] v) { }, else_branch = e () => (float[N] w) { w = Exp(u) }> }""")
    proto = compose(first, captured, mapping=["h=u", "y=v"]).proto
    assert [node.op_type for node in proto.graph.node] == ["Relu", "Neg", "If"]
    proto = compose(first, second, mapping=["y=u", "y=v"]).proto
    assert [node.op_type for node in proto.graph.node] == ["Relu", "Neg", "Abs"]
