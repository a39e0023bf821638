# ruff: noqa: E501
"""Guarantees of `optimize`, on small models made to provoke a violation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer.errors import ModelReadError
from gather_infer.passes import optimize
from tests.rewrites.table import Case, assert_same_runs, feeds_of, model, run

KEPT = {
    # what would be wrong -> a model that has to come back as the very message that it was
    "an input that is an output": "g (float[N] x) => (float[N] x) {}",
    "a passed on input": "g (float[N] x) => (float[N] y) { y = Identity(x) }",
    "an initializer that is an output": "g (float[N] x) => (float[N] y, float[2] w) <float[2] w = {1, 2}> { y = Relu(x) }",
    "an overridable initializer in arithmetic": "g (int64[N] x, int64 z) => (int64[N] y) <int64 z = {0}> { y = Add(x, z) }",
    "an overridable shape": "g (float[N, 4] x, int64[2] t) => (float[A, B] y) <int64[2] t = {-1, 4}> { y = Reshape(x, t) }",
    "overridable pads": "g (float[N] x, int64[2] p) => (float[A] y) <int64[2] p = {0, 0}> { y = Pad(x, p) }",
    "overridable axes": "g (float[N, 1] x, int64[1] a) => (float[A, B] z) <int64[1] a = {1}> { y = Unsqueeze(x, a) z = Squeeze(y, a) }",
    "an overridable condition": "g (int64[N] x, int64[N] z, bool c) => (int64[N] y) <bool c = {1}> { y = Where(c, x, z) }",
    "overridable trips": """g (float[N] x, int64 m, bool c) => (float[N] y) <int64 m = {0}> {
        y = Loop (m, "", x) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) { e = Not(c) q = Neg(p) }> }""",
    "overridable training mode": "g (float[N] x, bool t) => (float[N] y) <float r = {0.5}, bool t = {0}> { y = Dropout(x, r, t) }",
    "equal constants of which one is overridable": "g (float[N] x, float d) => (float[N] y) <float c = {1}, float d = {1}> { e = Add(x, c) y = Mul(e, d) }",
    "random numbers twice": "g (float[N] x) => (float[N] y) { a = RandomNormalLike(x) b = RandomNormalLike(x) y = Add(a, b) }",
    "random numbers of one seed": "g (float[N] x) => (float[N] y) { a = RandomUniformLike<seed = 1.0>(x) b = RandomUniformLike<seed = 1.0>(x) y = Add(a, b) }",
    "random numbers of no input": "g (float[3] x) => (float[3] y) { a = RandomNormal<shape = [3]>() b = RandomNormal<shape = [3]>() c = Add(a, b) y = Add(x, c) }",
    "draws by a table": "g (float[N, 3] x) => (int32[N, 1] y) { a = Multinomial(x) b = Multinomial(x) y = Add(a, b) }",
    "coins": "g (float[N] x) => (float[N] y) { a = Bernoulli(x) b = Bernoulli(x) y = Add(a, b) }",
    "random numbers of constants": "g (float[N] x) => (float[N] y) <float[2] w = {0.5, 0.5}> { a = Bernoulli(w) b = ReduceSum<keepdims = 0>(a) y = Add(x, b) }",
    "plus 0.0": "g (float[N] x) => (float[N] y) <float z = {0}> { y = Add(x, z) }",
    "times 1.0": "g (float[N] x) => (float[N] y) <float z = {1}> { y = Mul(x, z) }",
    "clip of Inf": "g (float[N] x) => (float[N] y) { y = Clip(x) }",
    "where of -0.0": "g (float[N] x, float[N] z) => (float[N] y) <bool c = {1}> { y = Where(c, x, z) }",
    "a sum of -0.0": "g (float[N] x) => (float[N] y) <float[1] z = {0}> { y = Sum(x, z) }",
    "a sign of zero": "g (float[N] x) => (float[N] y) <float c = {0}, float d = {-0.0}> { e = Add(x, c) y = Mul(e, d) }",
    "a dim that is 0": "g (float[0, 4] x) => (float[1, 0] y) { y = Flatten<axis = 0>(x) }",
    "a sum over nothing": "g (float[N, 0] x) => (float[N, 1] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 1, noop_with_empty_axes = 0>(x, a) }",
    "a size of 1 that could be 0": "g (float[N, M] x) => (float[A, B] y) <int64[2] t = {-1, 1}> { y = Reshape(x, t) }",
    "an index out of range": "g (float[3, 2] x) => (float[2] y) <int64 i = {3}> { y = Gather(x, i) }",
    "an index out of range, of a constant": "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64 i = {-3}> { g0 = Gather(w, i) y = Add(x, g0) }",
    "an index out of range in a branch": """g (float[3] x, bool c) => (float y) <int64 i = {7}> {
        y = If (c) <then_branch = t () => (float a) { a = Gather(x, i) }, else_branch = e () => (float b) { b = ReduceMax<keepdims = 0>(x) }> }""",
    "an index out of range in a loop that may not run": """g (float x, float[3] w, int64 m, bool c) => (float y) <int64 i7 = {7}> {
        y = Loop (m, "", x) <body = b (int64 i, bool d, float p) => (bool e, float q) { e = Not(c) r = Gather(w, i7) q = Add(p, r) }> }""",
    "quantized weights": """g (float[N, 2] x) => (float[N, 2] y) <int8[2, 2] w = {1, 2, 3, 4}, float s = {0.5}, int8 z = {0}> {
        d = DequantizeLinear(w, s, z) y = MatMul(x, d) }""",
    "quantize and dequantize": """g (float[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {3}> {
        q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }""",
    "a transpose on either side of a quantization": """g (float[A, B] x) => (float[A, B] y) <float s = {0.5}, uint8 z = {3}> {
        t = Transpose(x) q = QuantizeLinear(t, s, z) d = DequantizeLinear(q, s, z) y = Transpose(d) }""",
    "two quantizations with equal scales": """g (float[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}, float r = {0.5}, uint8 v = {0}> {
        q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, r, v) }""",
    "outputs nobody reads": "g (float[N, 4] x, int64[1] k) => (float[N, A] y) { y, i = TopK(x, k) }",
    "a condition of sizes": """g (float[N] x) => (float[N] y) <int64[1] four = {4}> {
        s = Shape(x) c = Less(s, four)
        y = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }""",
}  # fmt: skip


@pytest.mark.parametrize("what", KEPT)
def test_kept(what: str) -> None:
    made = model(KEPT[what])
    assert optimize(made).proto == made
    for feeds in (
        feeds_of(made, np.random.default_rng(seed), Case("", "", "", ranges={"k": (0, 3), "m": (0, 3)}))
        for seed in range(3)
    ):
        run(made, feeds)  # it loads


CHANGED = {
    # what could go wrong -> a model in which something is to be done
    "names and order of inputs and outputs": """g (float[N] x, float[M] unused, float[N] z) => (float[N] c, float[N] a, float[N] b) {
        r = Relu(x) a = Identity(r) s = Relu(x) b = Identity(s) q = Identity(z) c = Add(q, r) }""",
    "one value, three outputs": "g (float[N] x) => (float[N] a, float[N] b, float[N] c) { r = Relu(x) a = Identity(r) b = Identity(r) c = Identity(b) }",
    "an output that others read": "g (float[N] x) => (float[N] a, float[N] y) { a = Relu(x) b = Identity(a) y = Neg(b) }",
    "an unread initializer": "g (float[N] x) => (float[N] y) <float[9] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Relu(x) }",
    "nodes that nobody reads": "g (float[N] x) => (float[N] y) { y = Relu(x) a = Neg(x) b = Abs(a) }",
    "a branch that nobody reads": """g (float[N] x, bool c) => (float[N] y) {
        y = Relu(x)
        z = If (c) <then_branch = t () => (float[N] a) { a = Relu(x) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }""",
    "an overridable initializer that nobody reads": "g (float[N] x, float[2] w) => (float[N] y) <float[2] w = {1, 2}> { a = Identity(x) y = Relu(a) }",
    "a dead node in a branch": """g (float[N] x, bool c) => (float[N] y) {
        y = If (c) <then_branch = t () => (float[N] a) { d = Exp(x) a = Relu(x) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }""",
    "a value that is read in a body alone": """g (float[N] x, bool c) => (float[N] y) {
        k = Relu(x) l = Identity(k)
        y = If (c) <then_branch = t () => (float[N] a) { a = Neg(l) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }""",
    "states that are passed round": """g (float[N] x, float[N] z, int64 m) => (float[N] y, float[N] w) {
        y, w = Loop (m, "", x, z) <body = b (int64 i, bool d, float[N] p, float[N] q) => (bool e, float[N] r, float[N] s) {
            e = Identity(d) r = Identity(q) s = Identity(p) }> }""",
    "a scan": """g (float[N, 4] x, float[4] z) => (float[4] y, float[N, 4] w) {
        y, w = Scan<num_scan_inputs = 1, body = b (float[4] p, float[4] q) => (float[4] r, float[4] s) {
            t = Identity(q) r = Add(p, t) s = Identity(r) }>(z, x) }""",
    "symbolic dims of an output": "g (float[N, M] x) => (float[some, other] y) { a = Transpose(x) b = Transpose(a) y = Relu(b) }",
    "an index out of range beside something to do": "g (float[3] x) => (float y) <int64 i = {3}> { a = Identity(x) y = Gather(a, i) }",
    "a dim of 0": "g (float[0, N] x, float[M, N] z) => (float[A, N] y) { a = Identity(x) c = Concat<axis = 0>(a, z) y = Relu(c) }",
    "an empty concat": "g (float[0, 2] x) => (float[0, 2] y) { a = Concat<axis = 0>(x, x) y = Relu(a) }",
    "strings": """g (string[N] x) => (string[N] y) { a = Identity(x) y = Concat<axis = 0>(a) }""",
    "complex shapes": "g (float[N, 1, 3] x) => (float[N, 3, 1] y) <int64[1] a = {1}, int64[1] b = {-1}> { s = Squeeze(x, a) t = Unsqueeze(s, b) y = Identity(t) }",
}  # fmt: skip


@pytest.mark.parametrize("opset", (11, 13, 15, 18, 21))
@pytest.mark.parametrize("what", CHANGED)
def test_interface(what: str, opset: int) -> None:
    """Names, order, types and symbolic dims of inputs and outputs stay, and so does what is computed."""
    text = CHANGED[what]
    if opset < 13:
        text = text.replace("Squeeze(x, a)", "Squeeze<axes = [1]>(x)").replace(
            "Unsqueeze(s, b)", "Unsqueeze<axes = [-1]>(s)"
        )
    before = model(text, opset)
    result = optimize(before)
    assert result.applied or result.proto != before
    assert result.proto.graph.input == before.graph.input
    assert result.proto.graph.output == before.graph.output
    assert (result.proto.ir_version, result.proto.opset_import) == (before.ir_version, before.opset_import)
    onnx.checker.check_model(result.proto, full_check="out of range" not in what)
    again = optimize(result.proto)
    assert not again.applied and again.proto == result.proto
    if "out of range" not in what:
        case = Case("", "", "", ranges={"m": (0, 4)}, sizes={"N": (1, 2, 5)} if what == "a scan" else {})
        assert_same_runs(before, result.proto, case, 12)


def _message(text: str, opset: int = 21) -> ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": {opset}, "own": 1, "com.microsoft": 1]> {text}'
    )


def test_an_operator_of_another_domain_is_another_operator() -> None:
    made = _message("""g (float[N] x) => (float[N] y) <int64[1] t = {-1}> {
        a = own.Identity(x) b = own.Reshape(a, t) c = own.Transpose(b) d = own.Transpose(c)
        e = own.Relu(d) f = own.Relu(d) h = own.Not(e) i = own.Not(h) k = own.Concat(i) y = own.Dropout(k) }""")
    assert optimize(made).proto == made


@pytest.mark.parametrize(
    "name", ("Transpose", "Not", "Squeeze", "Unsqueeze", "Reshape", "Cast", "Gather", "Slice", "Concat", "Shape")
)
def test_equal_op_types_of_two_domains_are_different_operators(name: str) -> None:
    made = _message(f"""g (bool[2, 3] x, int64[2] s) => (y, z, w, v, u) <int64[1] o = {{0}}, int64[1] e = {{1}}> {{
        a = own.{name}(x) y = Transpose(a) c = Not(a) z = Xor(c, x) b = own.{name}(s) w = Gather(b, o) v = Squeeze(a, o) u = Slice(b, o, e) }}""")
    assert optimize(made).proto == made


def test_functions_are_distinguished_by_overload() -> None:
    made = _message("""g (float[N, M] x) => (float[N, M] y) { a = Transpose(x) y = Transpose(a) }
        <domain: "", opset_import: ["": 21], overload: "own"> Transpose (p) => (q) { q = Neg(p) }""")
    made.graph.node[0].overload = "own"
    assert optimize(made).proto == made


def test_a_node_of_a_function_whose_attribute_the_call_gives() -> None:
    made = _message("""g (float[N, M] x) => (float[A, B] y) { y = own.F<order = [0, 1]>(x) }
        <domain: "own", opset_import: ["": 21]> F <order> (p) => (q) { a = Transpose<perm: ints = @order>(p) q = Transpose<perm = [1, 0]>(a) }""")
    assert optimize(made).proto == made


def test_a_node_of_another_domain_that_nobody_reads_stays() -> None:
    made = _message("g (float[N] x, bool c) => (float[N] y) { a = own.Print(x) y = Relu(x) }")
    assert optimize(made).proto == made


def test_a_graph_with_a_node_of_another_domain_stays_although_nobody_reads_it() -> None:
    made = _message("""g (float[N] x, bool c) => (float[N] y) {
        y = Relu(x)
        z = If (c) <then_branch = t () => (float[N] a) { a = own.Print(x) }, else_branch = e () => (float[N] b) { b = Neg(x) }> }""")
    assert optimize(made).proto == made


def test_a_random_node_that_nobody_reads_goes() -> None:
    made = model("g (float[N] x) => (float[N] y) { a = RandomNormalLike(x) y = Relu(x) }")
    assert [n.op_type for n in optimize(made).proto.graph.node] == ["Relu"]


@pytest.mark.parametrize("name", ("Identity", "Relu", "Transpose", "Dropout", "Not"))
def test_a_function_of_the_model_that_is_called_like_an_operator(name: str) -> None:
    """It may do what it likes."""
    made = _message(f"""g (float[N] x) => (float[N] y) {{ a = own.{name}(x) b = own.{name}(x) c = own.{name}(a) y = Add(b, c) }}
        <domain: "own", opset_import: ["": 21]> {name} (p) => (q) {{ q = Neg(p) }}""")
    assert optimize(made).proto == made
    standard = ModelProto()
    standard.CopyFrom(made)
    for node in standard.graph.node:
        node.domain = ""
    standard.functions[0].domain = ""
    assert optimize(standard).proto == standard


def test_stale_value_info_is_not_believed() -> None:
    """The file says that the result has the shape of the input; it does not."""
    made = model(
        "g (float[N, 6] x) => (float[A, B] y) <int64[2] t = {-1, 3}> { a = Relu(x) b = Reshape(a, t) y = Neg(b) }"
    )
    made.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, ["N", 6]))
    after = optimize(made).proto
    assert [n.op_type for n in after.graph.node] == ["Relu", "Reshape", "Neg"]
    assert_same_runs(made, after, Case("", "", ""), 10)


def test_a_stale_type_is_not_believed() -> None:
    made = model("g (float[N] x) => (float[N] y) { a = Cast<to = 7>(x) y = Cast<to = 1>(a) }")
    made.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N"]))
    assert [n.op_type for n in optimize(made).proto.graph.node] == ["Cast", "Cast"]


@pytest.mark.parametrize("dim", (-1, None))
def test_dims_of_minus_one_are_unknown(dim: int | None) -> None:
    made = model(
        "g (float[N, M] x) => (float[A, B] y) <int64[2] t = {-1, 4}> { a = Relu(x) b = Reshape(a, t) y = Neg(b) }"
    )
    for entry in made.graph.input[0].type.tensor_type.shape.dim:
        entry.Clear()
        if dim is not None:
            entry.dim_value = dim
    after = optimize(made).proto
    assert [n.op_type for n in after.graph.node] == ["Relu", "Reshape", "Neg"]


def _with_ir_3(text: str, opset: int) -> ModelProto:
    made = model(text, opset)
    made.ir_version = 3
    names = {value.name for value in made.graph.input}
    for tensor in made.graph.initializer:
        if tensor.name not in names:
            made.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return made


@pytest.mark.parametrize("opset", (7, 8))
@pytest.mark.parametrize(
    "text",
    [
        "g (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { y = Relu(x) }",
        "g (float[N] x) => (float[N] y) <float[2] w = {1, 2}, float[2] v = {1, 2}> { a = Mul(w, v) b = Identity(a) c = ReduceSum<keepdims = 0>(b) y = Add(x, c) }",
        "g (float[N, 4] x) => (float[N, 4] y) <int64[2] t = {-1, 4}, int64[2] u = {-1, 4}> { a = Reshape(x, t) y = Reshape(a, u) }",
        "g (float[N, 4] x) => (float[A, B] y) <int64[2] t = {-1, 2}> { a = Reshape(x, t) y = Flatten(a) }",
        "g (float[N, 4] x) => (int64[1] y) <int64[1] t = {1}> { s = Shape(x) y = Gather(s, t) }",
    ],
)
def test_below_ir_4_initializers_are_not_added_and_go_with_their_inputs(text: str, opset: int) -> None:
    before = _with_ir_3(text, opset)
    after = optimize(before).proto
    read = {name for node in after.graph.node for name in node.input}
    assert list(after.graph.initializer) == [t for t in before.graph.initializer if t.name in read]
    assert list(after.graph.input) == [v for v in before.graph.input if v.name == "x" or v.name in read]
    onnx.checker.check_model(after, full_check=True)
    inputs = [value for value in before.graph.input if value.name == "x"]
    shown = ModelProto()
    shown.CopyFrom(before)
    del shown.graph.input[:]
    shown.graph.input.extend(inputs)
    random = np.random.default_rng(0)
    for _ in range(5):
        feeds = feeds_of(shown, random, Case("", "", ""))
        expected, found = run(before, feeds), run(after, feeds)
        assert expected is None or (
            found is not None and all(a.tobytes() == b.tobytes() for a, b in zip(expected, found, strict=True))
        )


@pytest.mark.parametrize("opset", (7, 9, 10, 11, 13, 14, 15, 18, 21))
def test_every_opset_gives_a_model_that_is_checked_in_full(opset: int) -> None:
    squeeze = "Squeeze<axes = [1]>({})" if opset < 13 else "Squeeze({}, one)"
    unsqueeze = "Unsqueeze<axes = [1]>({})" if opset < 13 else "Unsqueeze({}, one)"
    constants = "<int64[2] t = {-1, 4}, int64[1] one = {1}>" if opset >= 13 else "<int64[2] t = {-1, 4}>"
    before = model(
        f"""g (float[N, 4] x) => (float[N, 4] y, float[4, N] z) {constants} {{
          a = Identity(x) b = Reshape(a, t) c = {unsqueeze.format("b")} d = {squeeze.format("c")} e = Transpose(d)
          f = Transpose(e) h = Relu(f) i = Relu(f) j = Sum(h) y = Sub(j, i) z = Transpose(x) }}""", opset)  # fmt: skip
    if opset < 9:
        before = _with_ir_3(onnx.printer.to_text(before.graph), opset)
    after = optimize(before).proto
    onnx.checker.check_model(after, full_check=True)
    assert [n.op_type for n in after.graph.node] == ["Relu", "Sub", "Transpose"]
    if opset >= 9:
        assert_same_runs(before, after, Case("", "", ""), 10)


def test_what_is_not_edited_stays_as_it_is() -> None:
    """Doc strings, metadata, names and fields that this version of onnx does not know."""
    made = model(
        "g (float[N] x) => (float[N] y) <float[2] w = {1, 2}> { a = Identity(x) b = Relu(a) c = ReduceSum<keepdims = 0>(w) d = Add(b, c) y = Neg(d) }"
    )
    made.producer_name, made.doc_string, made.domain, made.model_version = "p", "a model", "own", 7
    made.metadata_props.add(key="k", value="v")
    made.graph.doc_string = "a graph"
    made.graph.metadata_props.add(key="k", value="v")
    for node in made.graph.node:
        node.name, node.doc_string = f"node {node.output[0]}", "words"
        node.metadata_props.add(key="k", value=node.output[0])
    made.graph.initializer[0].doc_string = "weights"
    made.graph.input[0].doc_string = "input"
    unknown = NodeProto()
    unknown.ParseFromString(made.graph.node[4].SerializeToString() + b"\xda\x3e\x03abc")  # field 1003
    made.graph.node[4].CopyFrom(unknown)
    made = ModelProto.FromString(made.SerializeToString() + b"\xda\x3e\x03abc")
    result = optimize(made)
    after = result.proto
    expected = ModelProto()
    expected.CopyFrom(made)
    del expected.graph.node[0]
    expected.graph.node[0].input[0] = "x"
    assert after.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)


def test_names_that_a_quantization_annotation_mentions_stay() -> None:
    made = model(
        "g (float[N] x) => (float[N] y) <float s = {0.5}, float s2 = {0.5}> { a = Relu(x) b = Identity(a) c = Mul(b, s) y = Mul(c, s2) }"
    )
    annotation = made.graph.quantization_annotation.add(tensor_name="b")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s2")
    assert optimize(made).proto == made


def test_constants_that_training_changes_stay() -> None:
    made = model("g (float[N] x) => (float[N] y) <float w = {2}, float v = {2}> { a = Mul(x, w) y = Mul(a, v) }")
    info = made.training_info.add()
    info.algorithm.name = "a"
    info.update_binding.add(key="w", value="w_new")
    assert optimize(made).proto == made


def test_external_data_stays_where_it_is(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((40, 40)).astype("f4")
    made = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Identity", ["x"], ["a"]),
                helper.make_node("MatMul", ["a", "w"], ["b"]),
                helper.make_node("Identity", ["b"], ["c"]),
                helper.make_node("Add", ["c", "v"], ["y"]),
            ],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 40])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 40])],
            [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "v")],
        ),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )  # fmt: skip
    stored = ModelProto()
    stored.CopyFrom(made)
    onnx.save_model(stored, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    before = (tmp_path / "w.bin").read_bytes()
    result = optimize(tmp_path / "m.onnx")
    result.save(tmp_path / "out.onnx", external_data="out.bin")
    assert (tmp_path / "w.bin").read_bytes() == before
    after = onnx.load(tmp_path / "out.onnx")
    assert [n.op_type for n in after.graph.node] == ["MatMul", "Add"]
    assert_same_runs(made, after, Case("", "", ""), 5)


def test_missing_external_data_is_an_error(tmp_path: Path) -> None:
    made = model("g (float[N, 2] x) => (float[N, 90] y) <float[1] w = {1}> { a = Identity(x) y = MatMul(a, w) }")
    made.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((2, 90), "f4"), "w"))
    onnx.save_model(made, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelReadError, match=r"w\.bin"):
        optimize(tmp_path / "m.onnx")


def test_the_model_that_is_given_is_not_changed() -> None:
    made = model("g (float[N] x) => (float[N] y) { a = Identity(x) b = Relu(a) c = Relu(a) y = Add(b, c) }")
    before = made.SerializeToString(deterministic=True)
    optimize(made)
    assert made.SerializeToString(deterministic=True) == before


def test_a_shape_that_only_the_file_says_is_not_believed() -> None:
    """Nothing is known of an operator of another domain but what value_info says, which may be stale."""
    made = _message(
        "g (float[N, 4] x) => (float[A, B] y) <int64[2] t = {-1, 4}> { a = own.F(x) b = Reshape(a, t) y = Neg(b) }"
    )
    made.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", 4]))
    assert optimize(made).proto == made


def test_nodes_that_are_out_of_order_stay_so_where_nothing_is_done() -> None:
    made = model("g (float[N] x) => (float[N] y) { a = Relu(x) y = Neg(a) }")
    nodes = list(made.graph.node)[::-1]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    result = optimize(made)
    assert result.proto == made and not result.edits


def test_attributes_that_a_call_gives_to_a_function_are_not_read() -> None:
    """The references `@to`, `@start`, `@shape` and `@axis` in the body are no values."""
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "own": 1]>
        g (float[N, 2] x, int64[2] i) => (float[2] a, int64[1] b, float[2, 2] c, float[1, 2] d) {
            a, b, c, d = own.f <to = 1, start = 1, end = 2, axis = 1, perm = [1, 0]> (x, i)
        }
        <domain: "own", opset_import: ["": 21]>
        f <to, start, end, axis, perm> (x, i) => (a, b, c, d) {
            k = Constant <value_ints: ints = [7, 9]> ()
            k2 = Cast <to: int = @to> (k)
            a = Add (k2, k2)
            zero = Constant <value_ints: ints = [0]> ()
            i3 = Unsqueeze (i, zero)
            i2 = Concat <axis: int = @axis> (i3, i3)
            b = Shape <start: int = @start, end: int = @end> (i2)
            t = Transpose <perm: ints = @perm> (x)
            u = Transpose <perm: ints = @perm> (t)
            c = Gather <axis: int = @axis> (t, i)
            e = Gather <axis: int = 0> (u, i)
            d = ReduceSum (e, zero)
        }""")
    result = optimize(made)
    kept = [n.op_type for n in result.proto.functions[0].node]
    assert {"Cast", "Shape", "Transpose", "Gather"} <= set(kept), kept
    feeds = {"x": np.arange(6, dtype="f4").reshape(3, 2), "i": np.array([2, 0])}
    expected, found = run(made, feeds), run(result.proto, feeds)
    assert expected is not None and found is not None
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


FAULTY = {
    "an index out of range": "y = Gather <axis = 0> (t, far)",
    "indices out of range": "y = Gather <axis = 0> (t, run)",
    "a permutation of another rank": "y = Transpose <perm = [0, 1, 2]> (t)",
    "an axis that there is not": "y = Concat <axis = 7> (t)",
    "a size that does not fit": "y = Reshape (t, three)",
    "an axis that is not 1": "y = Squeeze (t, zero)",
    "inputs of two types": "y = Add (t, run)",
    "an identity of too many": "y = Identity (t, t)",
}


@pytest.mark.parametrize("what", FAULTY)
def test_a_node_that_breaks_its_specification_stays(what: str) -> None:
    made = _message(
        f"""g (float[4, 3] x) => (y) <int64 far = {{9}}, int64[3] run = {{2, 3, 4}}, int64[1] three = {{5}},
            int64[1] zero = {{0}}> {{ t = Neg(x) {FAULTY[what]} }}"""
    )
    result = optimize(made)
    assert [n.op_type for n in result.proto.graph.node] == [n.op_type for n in made.graph.node]
    assert result.proto.graph.node[1] == made.graph.node[1]
    assert any(d.severity.value == "error" for d in result.diagnostics), result.diagnostics
