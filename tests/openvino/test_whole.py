"""Whole models of OpenVINO, converted: state, names, bodies, weights, opsets; and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto

from gather_infer import convert, infer
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.model.paths import bodies
from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringEntry
from gather_infer.openvino.weights import WeightFormat
from gather_infer.symbolic import Expr
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.verification import Verification, verify
from tests.openvino.whole import differences, made
from tests.openvino.whole_models import MODELS
from tests.verification.models import absent_runtime

WEIGHTS = [name for name in MODELS if name.startswith("weights")]
OTHERS = [name for name in MODELS if not name.startswith("weights")]
FEW_WEIGHTS = [
    "weights u8 zeros of one scale f32 NK",
    "weights i8 zeros across f16 NK",
    "weights u4 one zero f16 KN",
    "weights u4 blocks f16 NK",
    "weights i4 blocks, float zero f16 NK",
    "weights u8 blocks of 5 f16 NK",
    "weights nf4 blocks, no zero f16 NK",
    "weights u8 columns as a vector f32 NK",
    "weights of two MatMuls",
    "weights in branches",
    "weights in a branch in a loop",
    "weights of a MatMul and a Gather",
    "weights whose zero point is a constant minus",
    "weights that share a zero point",
    "weights u4 of a Convolution",
    "weights i4 of a Gather, in blocks",
    "weights u4 of a MatMul of a vector",
    "weights u4 with dims by Reshape",
    "weights i4 with dims by Reshape, special",
    "weights u4 with dims by Unsqueeze",
    "weights u8 with dims by Squeeze",
]


def faults(names: Sequence[str], folder: Path) -> dict[str, list[str]]:
    found = {}
    for name, path in made(names, folder).items():
        for form in get_args(WeightFormat) if name.startswith("weights") else ("dequantize",):
            found[f"{name}, {form}"] = differences(path, form)
    return {name: wrong for name, wrong in found.items() if wrong}


def test_whole_models(tmp_path: Path) -> None:
    assert not faults([*OTHERS, *FEW_WEIGHTS], tmp_path)


@pytest.mark.oracle
def test_all_layouts_of_weights(tmp_path: Path) -> None:
    assert not faults(WEIGHTS, tmp_path)


def test_an_input_that_only_reorders_state_is_dropped(tmp_path: Path) -> None:
    paths = made(["beams, in order", "beams, moved", "beams, converted", "beams, read besides"], tmp_path)
    for name, path in paths.items():
        bounds = {one.indices for one in convert(path).converted} - {""}
        assert bounds == ({"proved", "guarded"} if "besides" in name else {"proved", "assumed"}), name
    in_order = paths["beams, in order"]
    assert not differences(in_order, beam_idx="drop")
    result = convert(in_order, beam_idx="drop")
    assert result.dropped_inputs == ("beam_idx",) and [value.name for value in result.proto.graph.input] == [
        "x",
        "past",
    ]
    assert not any(node.op_type == "Gather" and "beam_idx" in node.input for node in result.proto.graph.node)
    with pytest.raises(ConversionRefused, match="no input only reorders"):
        convert(paths["beams, read besides"], beam_idx="drop")
    with pytest.raises(ConversionRefused, match="not known to be in bounds"):
        convert(in_order, gather_oob="refuse")
    with pytest.raises(UsageError, match="beam_idx is one of keep, drop"):
        convert(in_order, beam_idx="none")  # type: ignore[arg-type] # what callers without types may say


def test_sizes_of_state_are_named_by_what_stays(tmp_path: Path) -> None:
    """Rows that are reordered may be others than the batch; where they stay what is assigned says that they are it."""
    path = made(["beams, in order"], tmp_path)["beams, in order"]
    names = {}
    for kept in ("keep", "drop"):
        past = convert(path, beam_idx=kept).proto.graph.input[-1]
        names[kept] = [dim.dim_param or dim.dim_value for dim in past.type.tensor_type.shape.dim]
    assert names == {"keep": ["past.0", "past.1", 4], "drop": ["x.0", "past.1", 4]}


IN_BODIES = {
    # the model: what stands for its weights with MatMulNBits
    "weights in branches": {"MatMulNBits": 2, "DequantizeLinear": 3},
    "weights in a branch in a loop": {"MatMulNBits": 3},
}


def test_weights_in_bodies_are_compressed_there(tmp_path: Path) -> None:
    """Each of them has the form that is asked for, and nothing of it is multiplied out."""
    for name, path in made(list(IN_BODIES), tmp_path).items():
        result = convert(path, weights="contrib")
        types = Counter(node.op_type for _, body in bodies(result.proto) for node in body.node)
        assert {kind: types[kind] for kind in ("MatMulNBits", "DequantizeLinear") if types[kind]} == IN_BODIES[name]
        assert not types["Mul"] + types["Sub"] + types["Cast"], types
        assert len(result.weights) == sum(IN_BODIES[name].values())


# opsets


def test_opsets_of_an_ir(tmp_path: Path) -> None:
    names = ["weights u8 rows f32 NK", "weights u4 blocks f16 NK", "two variables that change places"]
    rows, blocks, state = made(names, tmp_path).values()
    for opset in (18, 19, 20, 21, 23):
        assert not differences(rows, opset=opset) and not differences(state, opset=opset)
        result = convert(rows, opset=opset)
        assert [each.version for each in result.proto.opset_import if each.domain == ""] == [opset]
    assert not differences(blocks, "contrib", opset=18)
    with pytest.raises(ConversionRefused, match="a Convert of u4 to f32 needs opset 21, the result has 20"):
        convert(blocks, opset=20)
    for opset in (-1, 0, 17, 1000):
        with pytest.raises(UsageError, match=r"opset must be in \[18, 26\], is "):
            convert(rows, opset=opset)


def parsed(opsets: str, text: str) -> ModelProto:
    return onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]> g {text}")


GATHERED = "(float[N, 3] x, int64[K] i) => (float[K, 3] y) <int64 a = {0}> { t = openvino.Gather(x, i, a) y = %s }"


def test_opset_of_a_file() -> None:
    model = parsed('"": 13, "openvino": 8', GATHERED % "Neg(t)")
    for opset in (None, 13):
        result = convert(model, opset=opset)
        assert [each.version for each in result.proto.opset_import if each.domain == ""] == [13]
        onnx.checker.check_model(result.proto, full_check=True)
        ort.InferenceSession(result.proto.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(UsageError, match="is ONNX of opset 13, which convert does not change"):
        convert(model, opset=18)


# state that is refused

STATE = '"": 21, "openvino.opset6": 6'
READ = 'openvino.opset6.ReadValue <variable_id = "%s", variable_type = "f32", variable_shape = "2,3">'
ASSIGN = 'openvino.opset6.Assign <variable_id = "%s">'
REFUSED = {
    "assigned twice": (
        "(float[2, 3] x) => (float[2, 3] y) { r = " + READ % "v" + "(x) a = " + ASSIGN % "v" + "(x) b = "
        + ASSIGN % "v" + "(r) y = Neg(r) }",
        "variable 'v' is assigned twice",
    ),
    "two initial values": (
        "(float[2, 3] x) => (float[2, 3] y) { n = Neg(x) r = " + READ % "v" + "(x) s = " + READ % "v" + "(n) a = "
        + ASSIGN % "v" + "(x) y = Add(r, s) }",
        "variable 'v' is read with different initial values",
    ),
    "in a branch": (
        "(float[2, 3] x, bool c) => (float[2, 3] y) { y = If (c) <then_branch = t () => (float[2, 3] o) { o = "
        + READ % "v" + "(x) }, else_branch = e () => (float[2, 3] p) { p = Neg(x) }> a = " + ASSIGN % "v" + "(x) }",
        "in the body of a node or in a function",
    ),
    "no input": (
        "(float[2, 3] x) => (float[2, 3] y) { r = " + READ % "v" + "(x) a = " + ASSIGN % "v" + "() y = Neg(r) }",
        "must have one input and one output",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_state_that_is_refused(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(ConversionRefused, match=reason):
        convert(parsed(STATE, text))


def test_state_of_a_training_graph_is_refused() -> None:
    model = parsed(STATE, "(float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }")
    read = parsed(STATE, "(float[2, 3] x) => (float[2, 3] r) { r = " + READ % "v" + "(x) }")
    model.training_info.add().algorithm.CopyFrom(read.graph)
    for keep_unsupported in (False, True):
        with pytest.raises(ConversionRefused, match="in a training graph"):
            convert(model, keep_unsupported=keep_unsupported)


def test_state_with_a_default_that_callers_could_not_override_is_refused() -> None:
    """Before IR version 4 callers do not feed inputs that have an initializer, so the state would never change."""
    text = "(float[2, 3] x%s) => (float[2, 3] y) <float[2, 3] k = {1, 2, 3, 4, 5, 6}> { r = " + READ % "v"
    text += "(k) a = " + ASSIGN % "v" + "(y) y = Add(r, x) }"
    made = parsed(STATE, text.replace("%s", ", float[2, 3] k"))
    made.ir_version = 3
    with pytest.raises(ConversionRefused, match=r"variable 'v' has an initial value, .* since IR version 4"):
        convert(made)
    made = parsed(STATE, text.replace("%s", ""))
    proto = convert(made).proto
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    assert "r" in [value.name for value in session.get_overridable_initializers()]


def test_an_initial_value_that_callers_may_override_is_not_a_constant() -> None:
    text = "(float[2, 3] x, float[2, 3] k) => (float[2, 3] y) <float[2, 3] k = {1, 2, 3, 4, 5, 6}> { r = " + READ % "v"
    text += "(k) a = " + ASSIGN % "v" + "(y) y = Add(r, x) }"
    proto = convert(parsed(STATE, text)).proto
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    zeros, sevens = np.zeros((2, 3), np.float32), np.full((2, 3), 7, np.float32)
    fed = {"x": zeros, "k": sevens, "r": zeros, "reset_state": np.array(True)}
    assert (session.run(["y"], fed)[0] == sevens).all()


def test_the_result_of_an_assign_is_read() -> None:
    text = "(float[2, 3] x) => (float[2, 3] y) { r = " + READ % "v" + "(x) a = " + ASSIGN % "v" + "(r) y = Neg(a) }"
    proto = convert(parsed(STATE, text)).proto
    onnx.checker.check_model(proto, full_check=True)
    ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


# verification

PLANTED = {
    # the model: the layer that is lowered wrongly, and the one that is named
    "names of fragments": ("HSwish", "HSwish"),
    "two variables that change places": ("Add", "Add"),
    "a variable that begins with another one": ("Subtract", "Subtract"),  # which is assigned, and no output
    "a branch that is a constant": ("Gather", "If"),
    "beams, plain": ("SoftMax", "SoftMax"),
    "weights u4 blocks f16 NK": ("MatMul", "MatMul"),
}


def verified(path: Path) -> Verification:
    result = convert(path)
    return verify(result.source, result.proto, 3, inference=result.inference, rtol=1e-4, atol=1e-4)


def off_by_one(entry: LoweringEntry) -> LoweringEntry:
    def lowering(op: LayerView, g: FunctionBuilder) -> str:
        written = entry.lowering(op, g)
        assert isinstance(written, str), "the operators have one output"
        return g.Add(written, g.scalar(1, DType.FLOAT32))

    return replace(entry, lowering=lowering)


@pytest.mark.oracle
def test_a_wrong_lowering_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, path in made(list(PLANTED), tmp_path).items():
        assert verified(path).ok, name
        kind, named = PLANTED[name]
        with monkeypatch.context() as planted:
            entries = tuple(map(off_by_one, LOWERINGS.versions(kind)))
            planted.setitem(LOWERINGS._entries, kind, entries)
            found = verified(path)
        assert not found.ok and f"({named})" in found.first_difference, (name, found.first_difference)


@pytest.mark.parametrize("planted", ["", "Floor", "Sigmoid"])
def test_a_layer_that_decides_by_rounded_numbers(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many numbers some are next to a level in one runtime and on it in the other."""
    path = made(["levels"], tmp_path)["levels"]
    if planted:
        entries = tuple(map(off_by_one, LOWERINGS.versions(planted)))
        monkeypatch.setitem(LOWERINGS._entries, planted, entries)
    result = convert(path)
    feeds = {"x": np.random.default_rng(1).normal(size=400_000).astype(np.float32)}
    found = verify(result.source, result.proto, 1, inference=result.inference, feeds=[feeds], rtol=1e-4, atol=1e-4)
    assert found.ok == (not planted) and f"({planted})" in (found.first_difference or "()")
    assert any("(Floor) decides by numbers that differ by rounding" in note for note in found.notes) == (not planted)


def test_integers_that_the_plugin_does_not_hold(tmp_path: Path) -> None:
    """OpenVINO's CPU plugin computes int64 in int32, and wraps around."""
    result = convert(made(["squares of integers"], tmp_path)["squares of integers"])
    for x, is_held in ((3, True), (2**20, False)):
        feeds = {"x": np.array([x])}
        found = verify(result.source, result.proto, 1, inference=result.inference, feeds=[feeds], rtol=1e-4, atol=1e-4)
        assert found.ok and any("overflows int32" in note for note in found.notes) == (not is_held)


def test_a_wrong_lowering_of_large_integers_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That its numbers pass int32 is no excuse: they are not what wraps around to OpenVINO's."""

    def wrong(entry: LoweringEntry) -> LoweringEntry:
        return replace(entry, lowering=lambda op, g: g.Add(g.Mul(op.x(0), op.x(1)), g.scalar(2**40 + 1, DType.INT64)))

    path = made(["squares of integers"], tmp_path)["squares of integers"]
    monkeypatch.setitem(LOWERINGS._entries, "Multiply", tuple(map(wrong, LOWERINGS.versions("Multiply"))))
    result = convert(path)
    feeds = {"x": np.array([3])}
    found = verify(result.source, result.proto, 1, inference=result.inference, feeds=[feeds], rtol=1e-4, atol=1e-4)
    assert not found.ok and "(Multiply)" in found.first_difference


def test_openvino_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(["an output that is given twice"], tmp_path)["an output that is given twice"]
    (tmp_path / "openvino.py").write_text("raise ImportError('no OpenVINO here')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="verified by OpenVINO, which is not installed"):
        verified(path)


def test_onnxruntime_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is no difference. onnx's reference evaluator would find some: it ignores the lengths of sequences."""
    path = made(["an output that is given twice"], tmp_path)["an output that is given twice"]
    absent_runtime(monkeypatch, tmp_path / "site")
    with pytest.raises(UsageError, match="run by onnxruntime, which is not installed"):
        verified(path)


def test_a_variable_that_states_no_shape_may_have_other_sizes_later() -> None:
    """Version 3 has the rank and the sizes of the value that it begins with, which a later run need not have."""
    text = (
        "(float[N, 0, 4] x) => (float[A, B, 4] y) "
        '{ r = openvino.opset3.ReadValue <variable_id = "v"> (x) a = openvino.opset3.Assign <variable_id = "v"> (r) '
        "y = Neg(r) }"
    )
    fact = infer(parsed('"": 21, "openvino.opset3": 3', text))["r"]
    assert isinstance(fact, SymbolicTensor) and fact.shape is not None
    rows, past, wide = fact.shape
    assert wide == 4 and isinstance(rows, Expr) and isinstance(past, Expr) and str(rows) != "N"


def test_the_shape_of_a_variable_that_begins_with_another() -> None:
    """The readers of the first variable read an If; the second one still has the sizes of its initial value."""
    text = "(float[N, 3] x) => (float[N, 3] y) { n = Neg(x) ra = " + READ % "a" + "(n) rb = " + READ % "b" + "(ra) "
    text += "y = Add(ra, rb) m = Neg(ra) p = " + ASSIGN % "a" + "(m) q = " + ASSIGN % "b" + "(rb) }"
    result = convert(parsed(STATE, text))
    assert [(v.past, v.initial, v.shape) for v in result.variables] == [
        ("ra", "computed", "[N, 3]"), ("rb", "computed", "[2, 3]"),
    ]  # fmt: skip
    session = ort.InferenceSession(result.proto.SerializeToString(), providers=["CPUExecutionProvider"])
    x, state = np.full((2, 3), 2, np.float32), np.full((2, 3), 5, np.float32)
    for reset, expected in ((True, -4), (False, 10)):
        feeds = {"x": x, "ra": state, "rb": state, "reset_state": np.array(reset)}
        assert (session.run(["y"], feeds)[0] == expected).all()


def test_names_of_layers_that_are_gone_are_free() -> None:
    """The reset input has its usual name, even if a layer had it that several nodes have replaced."""
    text = "(float[N, 3] x) => (float[N, 3] y) { n = openvino.opset4.Swish(x) r = " + READ % "v" + "(n) y = Neg(r) a = "
    model = parsed(STATE + ', "openvino.opset4": 4', text + ASSIGN % "v" + "(y) }")
    model.graph.node[0].name = "reset_state"
    result = convert(model)
    assert result.variables[0].reset == "reset_state" and not any(
        n.name == "reset_state" for n in result.proto.graph.node
    )


def test_a_variable_without_a_value_is_refused() -> None:
    model = parsed(STATE, "(float[2, 3] x) => (float[2, 3] y) { r = " + READ % "v" + "(x) y = Neg(x) }")
    model.graph.node[0].output[0] = ""
    with pytest.raises(ConversionRefused, match="must have one input and one output"):
        convert(model)
