"""`gather_infer.infer` as a caller meets it: what it takes, what it leaves alone, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import (
    DType,
    ModelReadError,
    OpCall,
    RuleSet,
    SpecViolation,
    SymbolicTensor,
    UsageError,
    infer,
    open_model,
    symbol,
)
from gather_infer.model import ModelFile
from tests.inference.models import check, model, shapes

FIXTURES = Path(__file__).parents[2] / "fixtures"
CACHE = "(float[batch, seq] x, float[batch, past] k) => (float[a, b] y) { y = Concat<axis=1>(k, x) }"


def with_weights() -> ModelProto:
    """A model whose weights are large enough to stay on disk, and whose file is."""
    proto = model("(float[N, 512] x) => (float[N, 600] y) { y = MatMul(x, w) }")
    weights = np.random.default_rng(0).standard_normal((512, 600)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return proto


FORMS: dict[str, Callable[[ModelProto, Path], Any]] = {
    "a path": lambda proto, path: path,
    "a text": lambda proto, path: str(path),
    "a ModelProto": lambda proto, path: proto,
    "a ModelFile": lambda proto, path: open_model(path),
    "a ModelFile in memory": lambda proto, path: ModelFile.from_proto(proto),
    "a graphsurgeon Graph": lambda proto, path: gs.import_onnx(proto),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_model_has_the_same_facts_and_stays_as_it_is(form: str, tmp_path: Path) -> None:
    proto = with_weights()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    before, file = proto.SerializeToString(), path.read_bytes()
    given = FORMS[form](proto, path)
    exported = gs.export_onnx(given).SerializeToString() if isinstance(given, gs.Graph) else None
    inference = infer(given)
    assert str(inference["y"]) == "float32[N, 600]"
    inference.annotated()
    inference.annotated(weights=True)
    assert proto.SerializeToString() == before
    assert path.read_bytes() == file
    assert exported is None or gs.export_onnx(given).SerializeToString() == exported


@pytest.mark.parametrize("other", [None, 3, b"bytes", object()])
def test_other_objects_are_no_models(other: object) -> None:
    with pytest.raises(UsageError, match="a model is a path, a ModelProto, a ModelFile or a graphsurgeon Graph"):
        infer(other)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelReadError):
        infer(tmp_path / "gone.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(ModelReadError):
        infer(tmp_path / "text.onnx")


DIMS: dict[str, tuple[Any, str]] = {
    # id: (dims, fact of y = [k, x] over [batch, past] and [batch, seq])
    "nothing": ((), "float32[batch, past + seq]"),
    "a size": (["batch=4"], "float32[4, past + seq]"),
    "a size of 0": (["past=0"], "float32[batch, seq]"),
    "the greatest size": ([f"batch={2**63 - 1}"], f"float32[{2**63 - 1}, past + seq]"),
    "a mapping": ({"batch": 4, "seq": "2*past"}, "float32[4, 3*past]"),
    "bounds": ({"seq": (1, 512)}, "float32[batch, past + seq]"),
    "open bounds": ({"seq": (1, None), "past": (None, 7)}, "float32[batch, past + seq]"),
    "a chain": (["seq=past + 1", "past=4"], "float32[batch, 9]"),
    "a chain the other way": (["past=4", "seq=past + 1"], "float32[batch, 9]"),
    "one name for two": (["seq=past"], "float32[batch, 2*past]"),
    "bounds with one size": (["seq=3..3", "batch=past"], "float32[past, past + 3]"),
    "spaces": ([" seq = 3 ", "batch = past"], "float32[past, past + 3]"),
}


@pytest.mark.parametrize("name", DIMS)
def test_dims(name: str) -> None:
    dims, fact = DIMS[name]
    assert shapes(model(CACHE), dims=dims)["y"] == fact


REFUSED_DIMS: dict[str, tuple[Any, str]] = {
    "an unknown name": (["sec=4"], "no input dim 'sec'; did you mean 'seq'?"),
    "an unknown name without a neighbour": (["zzz=4"], "no input dim 'zzz'; there are batch, past, seq"),
    "an axis": (["x.1=4"], "no input dim 'x.1'; this axis is seq: --dim seq=4"),
    "an axis that is not there": (["x.2=4"], "no input dim 'x.2'; there are batch, past, seq"),
    "an upper bound": (["seq<=4"], "no input dim 'seq<'; did you mean --dim seq=..4?"),
    "a lower bound": (["seq>=4"], "no input dim 'seq>'; did you mean --dim seq=4..?"),
    "an unknown name in an expression": (["seq=pasd + 1"], "dim 'seq': no input dim 'pasd'; did you mean 'past'?"),
    "twice": (["seq=1", "seq=2"], "dim 'seq' is given twice"),
    "itself": (["seq=seq + 1"], "dim 'seq' is bound to seq + 1, which contains it"),
    "a circle": (["seq=past", "past=seq"], "which contains it"),
    "a negative size": (["seq=-1"], "dim 'seq' must be in [0, 2^63 - 1], is -1"),
    "a size that comes out negative": (["seq=past - 5", "past=2"], "dim 'seq' is -3, which is negative"),
    "empty bounds": (["seq=5..2"], "dim 'seq': no size is in the bounds 5..2"),
    "no value": (["seq="], "a dim must read NAME=SIZE, NAME=LOW..HIGH or NAME=EXPRESSION, found 'seq='"),
    "no name": (["=4"], "must read"),
    "half an expression": (["seq=past +"], "dim 'seq'"),
    "a division by 0": (["seq=6//past", "past=0"], "6//past divides by 0 where past = 0"),
    "a division by 0 the other way": (["past=0..0", "seq=6//past"], "6//past divides by 0 where past = 0"),
    "a fraction": ({"seq": 1.5}, "dim 'seq'"),
    "a string instead of a list": ("seq=4", "dims must be a list of strings or a mapping"),
}


@pytest.mark.parametrize("name", REFUSED_DIMS)
def test_dims_that_are_refused(name: str) -> None:
    dims, message = REFUSED_DIMS[name]
    with pytest.raises(UsageError) as error:
        infer(model(CACHE), dims=dims)
    assert message in str(error.value)


def test_an_anonymous_dim_has_an_address() -> None:
    proto = model("(float[1, 2] ids) => (float[a] y) { y = Abs(ids) }")
    for dim in proto.graph.input[0].type.tensor_type.shape.dim:
        dim.ClearField("value")
    assert shapes(proto)["y"] == "float32[ids.0, ids.1]"
    assert shapes(proto, dims=["ids.1=5"])["y"] == "float32[ids.0, 5]"
    assert shapes(proto, dims=["ids.1=2*ids.0"])["y"] == "float32[ids.0, 2*ids.0]"


def test_a_number_has_no_address() -> None:
    """0 is a size like any other."""
    proto = model("(float[0, 3] x, float[M] y) => (z) { z = Neg(x) }")
    for axis in (0, 1):
        with pytest.raises(UsageError, match=f"x.{axis}"):
            infer(proto, dims=[f"x.{axis}=5"])


def test_a_symbol_inside_a_declared_expression() -> None:
    proto = model("(float[past, seq] x, float[N] z) => (float[b] y) { y = Abs(z) }")
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "past + seq"
    assert shapes(proto)["y"] == "float32[past + seq]"
    assert shapes(proto, dims=["past=3"])["y"] == "float32[seq + 3]"
    assert shapes(proto, dims=["past=0", "seq=8"])["y"] == "float32[8]"
    with pytest.raises(UsageError, match="no input dim 'past \\+ seq'"):
        infer(proto, dims=["past + seq=4"])


def test_a_declared_expression_that_divides_by_0() -> None:
    """Nothing is declared where M = 0, which the caller says, or a node implies: TopK takes 2*M of 1."""
    proto = model(
        """(float[N, M] x, float[K] z, float[1] t) => (float[a] y, float[b] v) {
          m = Shape<start = 1, end = 2>(x) k = Add(m, m) v, i = TopK(t, k) y = Abs(z) }"""
    )
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "N//M"
    assert shapes(proto)["y"] == "float32[N//M]"
    assert shapes(proto, dims=["M=0"])["y"] == "float32['N//M']"
    with pytest.raises(UsageError, match="5//M divides by 0 where M = 0"):
        infer(proto, dims=["M=0"], inputs=["z=[5//M]"])


def test_bounds_are_facts() -> None:
    text = """(float[N] x) => (float[b] y) { s = Constant<value = int64[1] {3}>() e = Constant<value = int64[1] {99999}>()
      y = Slice(x, s, e) }"""
    assert shapes(model(text), dims=["N=3..512"])["y"] == "float32[N - 3]"
    assert shapes(model(text), dims=["N=0..512"])["y"] == "float32[max(0, N - 3)]"
    assert shapes(model(text), dims=["N=0..3"])["y"] == "float32[0]"


INPUTS: dict[str, tuple[Any, str]] = {
    "names": (["x=float[n, m]"], "float32[n, m]"),
    "sizes": (["x=[2, 3]"], "float32[2, 3]"),
    "the least and the greatest size": ([f"x=[0, {2**63 - 1}]"], f"float32[0, {2**63 - 1}]"),
    "an expression": (["x=float32[n, 2*n]"], "float32[n, 2*n]"),
    "a scalar": (["x=float32[]"], "float32[]"),
    "a comma in a name": (["x=['a, b', n]"], "float32['a, b', n]"),
    "a quote in a name": (["x=['it\\'s, so', n]"], "float32['it\\'s, so', n]"),
    "a bracket in a name": (["x=['a]', n]"], "float32['a]', n]"),
    "a mapping": ({"x": "[n, n]"}, "float32[n, n]"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs_of_unknown_rank(name: str) -> None:
    proto = model("(float[1] x) => (float[1] y) { y = Abs(x) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    given, fact = INPUTS[name]
    assert shapes(proto, inputs=given)["y"] == fact


REFUSED_INPUTS: dict[str, tuple[Any, str]] = {
    "an unknown name": (["z=float[1]"], "no input 'z'; there are k, x"),
    "twice": (["x=[1, 2]", "x=[1, 2]"], "input 'x' is given twice"),
    "no shape": (["x=float"], "input 'x' must read NAME=TYPE[DIM, ...] or NAME=[DIM, ...], found 'float'"),
    "no element type": (["x=flaot[1, 2]"], "no element type 'flaot'; did you mean 'float'?"),
    "a negative size": (["x=[-1, 2]"], "input 'x': a dim must be in [0, 2^63 - 1], is -1"),
    "a size that no file can say": ([f"x=[{2**63}, 2]"], f"input 'x': a dim must be in [0, 2^63 - 1], is {2**63}"),
    "another rank": (["x=[1]"], "input 'x' is declared float32[batch, seq], which float32[1] contradicts"),
    "another element type": (["x=int64[1, 2]"], "input 'x' is declared float32, not int64"),
    "half an expression": (["x=[n +, 2]"], "input 'x'"),
}


@pytest.mark.parametrize("name", REFUSED_INPUTS)
def test_inputs_that_are_refused(name: str) -> None:
    given, message = REFUSED_INPUTS[name]
    with pytest.raises(UsageError) as error:
        infer(model(CACHE), inputs=given)
    assert message in str(error.value)


def test_the_size_of_an_input_sizes_its_symbol_everywhere() -> None:
    assert shapes(model(CACHE), inputs=["x=[2, seq]"])["y"] == "float32[2, past + seq]"
    assert shapes(model(CACHE), inputs=["x=[batch, 5]"], dims=["past=3"])["y"] == "float32[batch, 8]"


def test_a_size_outside_the_bounds_of_its_symbol() -> None:
    with pytest.raises(UsageError, match="dim 'seq' is 600, which is outside \\[1, 512\\]"):
        infer(model(CACHE), inputs=["x=[batch, 600]"], dims=["seq=1..512"])


COPIES = """(float[N, S] x) => (float[a, b] y) { s = Shape(x) k = Constant<value = int64 {1}>() n = Gather(s, k)
  ax = Constant<value = int64[1] {0}>() u = Unsqueeze(n, ax) m = Constant<value = int64[1] {-1}>() t = Concat<axis=0>(u, m) y = Reshape(x, t) }"""


def test_without_assumptions_the_answer_is_exact_or_unknown() -> None:
    """A target entry of 0 copies the dim of x: S is right unless S is 0, when it is N; and then -1 has no meaning."""
    relaxed, strict = infer(model(COPIES)), infer(model(COPIES), assume=False)
    assert strict.assumptions == ()
    for inference in (relaxed, strict):
        check_runs(inference)
    declared = infer(model(COPIES), dims=["S=0..5"])
    assert declared.assumptions == ()


def check_runs(inference: Any) -> None:
    strict = len(inference.assumptions) == 0
    sizes = [(n, s) for n in (1, 2, 5) for s in (1, 3)]
    check(model(COPIES), [({"N": n, "S": s}, {"x": (n, s)}) for n, s in sizes], assume=not strict)


@pytest.mark.parametrize(
    "name", ["bert-torchscript", "gpt2-kv-dynamo", "detector-nonzero-torchscript", "lstm-tagger-dynamo"]
)
def test_annotated_models_are_valid(name: str) -> None:
    path = FIXTURES / f"{name}.onnx"
    for given, weights in ((path, True), (path, False), (onnx.load(path), False)):
        annotated = infer(given).annotated(weights=weights)
        if weights or not isinstance(given, Path):
            onnx.checker.check_model(annotated, full_check=False)
            options = ort.SessionOptions()
            options.log_severity_level = 4
            ort.InferenceSession(annotated.SerializeToString(), options, providers=["CPUExecutionProvider"])
        stated = {v.name for v in annotated.graph.value_info}
        named = {n for node in annotated.graph.node for n in node.output if n} - {
            o.name for o in annotated.graph.output
        }
        assert stated >= named


def test_annotating_returns_the_type_of_the_caller(tmp_path: Path) -> None:
    proto = with_weights()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    inside = infer(proto).annotated().graph.initializer[0]
    assert inside == proto.graph.initializer[0]
    elided = infer(path).annotated().graph.initializer[0]
    assert not elided.raw_data and elided.data_location == onnx.TensorProto.EXTERNAL
    loaded = infer(path).annotated(weights=True).graph.initializer[0]
    assert loaded == proto.graph.initializer[0]


def test_annotating_preserves_other_declarations() -> None:
    proto = model("(float[N] x) => (float[N] y) { t = Abs(x) y = Neg(t) }")
    info = helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, None, doc_string="kept")
    proto.graph.value_info.append(info)
    proto.graph.value_info.append(helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N"]))
    (t, x) = infer(proto).annotated().graph.value_info
    assert (t.name, t.doc_string, x.name) == ("t", "kept", "x")
    assert t.type.tensor_type.shape.dim[0].dim_param == "N"


def test_annotating_preserves_denotations() -> None:
    proto = model("(float[N, 4] x) => (float[N, 4] y) { t = Abs(x) u = Neg(t) y = Exp(u) }")
    shapes: dict[str, list[str | int]] = {"t": ["M", 4], "u": ["N"]}  # the rank of u is wrong
    for name, shape in shapes.items():
        info = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        info.type.denotation = "IMAGE"
        info.type.tensor_type.shape.dim[-1].denotation = "DATA_FEATURE"
        proto.graph.value_info.append(info)
    t, u = infer(proto).annotated().graph.value_info
    assert (t.type.denotation, u.type.denotation) == ("IMAGE", "IMAGE")
    dims = [[(dim.dim_param, dim.dim_value, dim.denotation) for dim in v.type.tensor_type.shape.dim] for v in (t, u)]
    assert dims == [[("N", 0, ""), ("", 4, "DATA_FEATURE")], [("N", 0, ""), ("", 4, "")]]


def custom_rules() -> RuleSet:
    rules = RuleSet("my.domain")

    @rules.rule("Twice")
    def twice(op: OpCall) -> list[SymbolicTensor]:
        (x,) = op.inputs
        assert isinstance(x, SymbolicTensor)
        if x.shape is None:
            return [SymbolicTensor(x.dtype)]
        if x.shape == ():
            raise SpecViolation("Twice needs rank >= 1, found a scalar")
        return [SymbolicTensor(x.dtype, (2 * x.shape[0], *x.shape[1:]))]

    @rules.rule("Twice", since=2)
    def twice_2(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor(DType.INT64, (symbol("N"),))]

    return rules


def test_rules_of_the_caller() -> None:
    text = "(float[N, 3] x, float z) => (float y, float w) { y = my.domain.Twice(x) w = my.domain.Twice(z) }"
    proto = model(text, domains=', "my.domain" : 1')
    inference = infer(proto, rules=[custom_rules()])
    assert str(inference["y"]) == "float32[2*N, 3]"
    assert [d.message for d in inference.diagnostics if d.code == "GI210"] == ["Twice needs rank >= 1, found a scalar"]
    newer = model(text, domains=', "my.domain" : 2')
    assert shapes(newer, rules=[custom_rules()])["y"] == "int64[N]"
    assert [d.code for d in infer(proto).diagnostics][:2] == ["GI105", "GI105"]
    with pytest.raises(ValueError, match="two rules since 1"):
        custom_rules().rule("Twice")(lambda op: [])


def test_rules_of_the_caller_come_before_ours() -> None:
    rules = RuleSet("")
    rules.rule("Abs")(lambda op: [SymbolicTensor(DType.BOOL, ())])
    proto = model("(float[N] x) => (float[N] y) { t = Abs(x) y = Neg(x) }")
    facts = shapes(proto, rules=[rules])
    assert (facts["t"], facts["y"]) == ("bool[]", "float32[N]")


def test_the_result_is_a_mapping() -> None:
    inference = infer(model(CACHE))
    assert list(inference) == ["x", "k", "y"]
    assert len(inference) == 3
    assert "gone" not in inference
    assert inference.inputs == ("x", "k")
    assert inference.outputs == ("y",)
    assert inference.coverage().exact == inference.coverage().tensors == 3
    assert inference.scope("") is not None


def test_a_rule_sees_attributes_of_every_kind() -> None:
    k = numpy_helper.from_array(np.array([3, 4]), "k")
    body = onnx.GraphProto(name="b")
    sparse = helper.make_sparse_tensor(k, numpy_helper.from_array(np.array([0, 2])), [5])
    given: dict[str, Any] = {
        "i": 7, "f": 0.5, "s": "text", "ints": [1, 2], "floats": [0.5, 1.5], "strings": ["a", "b"],
        "t": k, "tensors": [k, k], "g": body, "graphs": [body, body], "sp": sparse,
        "tp": helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 3]),
    }  # fmt: skip
    seen: dict[str, Any] = {}
    rules = RuleSet("my")

    @rules.rule("Op")
    def op_rule(op: OpCall) -> list[SymbolicTensor]:
        seen.update(op.attributes)
        return [SymbolicTensor()]

    proto = model("(float[N, 3] x) => (y) { y = my.Op(x) }", domains=', "my": 1')
    proto.graph.node[0].CopyFrom(helper.make_node("Op", ["x"], ["y"], domain="my", **given))
    assert infer(proto, rules=[rules]).errors == ()
    scalars = {name: seen.pop(name) for name in ("i", "f", "s", "ints", "floats", "strings")}
    assert scalars == {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if name in scalars}
    assert (seen.pop("g"), seen.pop("graphs")) == (body, (body, body))
    assert {name: str(v) if not isinstance(v, tuple) else [*map(str, v)] for name, v in seen.items()} == {
        "t": "int64[2] = [3, 4]", "tensors": ["int64[2] = [3, 4]"] * 2, "sp": "sparse int64[5]", "tp": "float32[N, 3]",
    }  # fmt: skip
