"""`check`: what it says of one model, and what travels between processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import gather_infer
from gather_infer import CheckResult, ModelReadError, Severity, UsageError, check, infer
from gather_infer.checks.check_model import check_file
from gather_infer.checks.locations import NodeLocations
from gather_infer.checks.result import fingerprint, key_of
from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.ir import Model
from gather_infer.node_ids import MAIN
from tests.checks.plants import FIXTURES
from tests.checks.small_models import lookup
from tests.onnx_versions import needs_onnx

BERT = FIXTURES / "bert-torchscript.onnx"
HEAD = '<ir_version: 8, opset_import: ["": 17]>'


def codes(result: CheckResult, least: Severity = Severity.WARNING) -> list[str]:
    return [d.code for d in result.at_least(least)]


def parsed(body: str, head: str = HEAD) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{head} {body}")


def test_conditional_accesses_are_notes_and_lines_of_the_contract() -> None:
    result = check(BERT)
    assert (result.accesses, codes(result)) == ({"proved": 16, "conditional": 2}, [])
    assert [d.code for d in result.notes] == ["GI302", "GI302"]
    assert [text for text, _ in result.contract] == ["-151 <= input_ids < 151", "-2 <= token_type_ids < 2", "seq <= 64"]
    assert (result.exit_code(), result.exit_code(Severity.NOTE)) == (0, 1)


def test_a_range_that_meets_a_condition_proves_the_access() -> None:
    result = check(BERT, ranges=["input_ids=0..150", "token_type_ids=0..1"], dims=["seq=1..64"])
    assert (result.accesses, result.diagnostics, result.contract) == ({"proved": 18}, (), ())


@pytest.mark.parametrize("ranges", [["ids=0..1"], ["input_ids"], ["input_ids=0..x"], ["input_ids=3..1"]])
def test_malformed_ranges(ranges: list[str]) -> None:
    with pytest.raises(UsageError):
        check(BERT, ranges=ranges)


def test_the_model_is_not_changed() -> None:
    model = lookup(index=9)
    before = model.SerializeToString(deterministic=True)
    assert codes(check(model)) == ["GI301"]
    assert model.SerializeToString(deterministic=True) == before


def test_an_index_out_of_bounds_is_reported_once() -> None:
    model = parsed("g (float[4] x, int64[2] i) => (float[1] y) { j = Shape (x) k = Add (j, j) y = Gather (x, k) }")
    assert codes(check(model)) == ["GI301"]


def test_openvino_reads_zeros_which_is_a_warning() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "openvino.opset8": 1]> g (float[4] x) => (float[1] y)'
        " <int64[1] i = {4}, int64 a = {0}> { [pick] y = openvino.opset8.Gather (x, i, a) }"
    )
    result = check(model)
    assert codes(result) == ["GI301"]
    assert result.errors == () and result.warnings[0].location.node is not None


def test_results_are_small_and_travel() -> None:
    result = check(FIXTURES / "gpt2-kv-torchscript.onnx")
    data = pickle.dumps(result)
    assert pickle.loads(data) == result
    assert len(data) < 20_000


def test_paths_keep_their_identity_on_the_way() -> None:
    """The hash of a text is another in another process, so a path must not bring its own along."""
    code = (
        "import pickle, sys; from gather_infer import check; sys.stdout.buffer.write(pickle.dumps(check(sys.argv[1])))"
    )
    told = subprocess.run([sys.executable, "-c", code, str(BERT)], capture_output=True, check=True).stdout
    there = [d.location.node for d in pickle.loads(told).diagnostics]
    here = [d.location.node for d in check(BERT).diagnostics]
    assert there == here and set(there) == set(here)


def test_a_number_that_the_whole_file_is_meant_for_is_a_note() -> None:
    text = "g (float[N, 6] x) => (float[{}, 6] y) <float[5, 6] r> {{ r = Relu (x) y = Relu (r) }}"
    assert codes(check(parsed(text.format("N")))) == ["GI201"]
    found = check(parsed(text.format("5")))
    assert codes(found) == [] and {d.code for d in found.notes} == {"GI201", "GI203"}


def test_value_info_of_nothing_is_a_note() -> None:
    found = check(parsed("g (float[N] x) => (float[N] y) <float[M] q> { y = Relu (x) }"))
    assert [(d.code, d.location.value) for d in found.diagnostics] == [("GI201", "q")]


def test_value_info_of_an_input_that_contradicts_it() -> None:
    model = parsed("g (float[4] x) => (float[4] y) { y = Relu (x) }")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5]))
    assert codes(check(model)) == ["GI201"]


CHECKER = {
    # what only onnx's checker refuses: (model, code)
    "a graph without a name": ("(float[N] x) => (float[N] y) { y = Relu (x) }", HEAD, "GI115"),
    "no input for an initializer": (
        "g (float[N] x) => (float[N] y) <float[1] w = {1}> { y = Add (x, w) }",
        '<ir_version: 3, opset_import: ["": 7]>',
        "GI113",
    ),
}


@pytest.mark.parametrize("name", CHECKER)
def test_what_the_checker_refuses(name: str) -> None:
    body, head, code = CHECKER[name]
    model = parsed(body if body.startswith("g") else f"g {body}", head)
    if not body.startswith("g"):
        model.graph.ClearField("name")
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model)
    found = [d for d in check(model).diagnostics if d.code == code]
    assert len(found) == 1 and found[0].message.startswith("onnx.checker: ")


def test_inputs_and_outputs_without_a_shape_are_named() -> None:
    """The checker says only that a shape is missing; what `infer -o` writes passes it."""
    model = parsed("g (float[N] x) => (float[N] y, float[N] z) { y = Relu (x) z = Neg (x) }")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model)
    result = check(model)
    (found,) = result.warnings
    assert (found.code, found.location.value, result.errors) == ("GI115", "y", ())
    assert found.detail == ("outputs without a shape: y, z; infer -o declares the inferred shape",)
    onnx.checker.check_model(gather_infer.infer(model).annotated())

    model.graph.input[0].type.tensor_type.ClearField("shape")
    (found,) = check(model).warnings
    assert found.location.value == "x" and len(found.detail) == 2
    onnx.checker.check_model(gather_infer.infer(model, inputs=["x=[N]"]).annotated())


def test_the_checker_is_not_shown_weights() -> None:
    """Weights that it would copy, and external ones, are checked beforehand."""
    model = onnx.load(BERT)
    assert check(model).errors == ()


def test_many_nodes_of_an_operator_are_one_finding() -> None:
    model = parsed("g (float[N] x) => (float[N] y) { a = Nope (x) y = Nope (a) }")
    (found,) = check(model).errors
    assert (found.code, found.detail) == ("GI116", ("and 1 more node",))


def test_what_wraps_nowhere_near_an_index_is_left_alone() -> None:
    cast = "g (int64[N] x) => (int8[N] y) { y = Cast <to = 3> (x) }"
    assert check(parsed(cast)).diagnostics == ()


def test_a_cast_that_fits_is_fine() -> None:
    body = (
        "g (float[9] t, int64[N] x) => (float[N] y) <int64 lo = {0}, int64 hi = {8}>"
        "{ c = Clip (x, lo, hi) n = Cast <to = 3> (c) w = Cast <to = 7> (n) y = Gather (t, w) }"
    )
    assert check(parsed(body)).diagnostics == ()


def test_a_cast_of_what_nobody_knows_is_a_note_where_every_row_can_be_named() -> None:
    body = (
        "g (float[{}] t, int64[N] x) => (float[N] y){{ n = Cast <to = 3> (x) w = Cast <to = 7> (n) y = Gather (t, w) }}"
    )
    small, large = check(parsed(body.format(9))), check(parsed(body.format(129)))
    assert "GI321" in {d.code for d in small.notes} and codes(small) == []
    assert codes(large) == ["GI321"]


def test_shared_constraints_apply_where_the_names_exist(tmp_path: Path) -> None:
    path = tmp_path / "lookup.onnx"
    path.write_bytes(lookup().SerializeToString())
    fits = check_file(str(path), SharedConstraints(dims=("N=1..4", "seq=1..9"), ranges=("ids=0..3",)))
    assert (fits.errors, fits.unused) == ((), ("seq", "ids"))
    wrong = check_file(str(path), SharedConstraints(inputs=("x=int64[N, 4]",)))
    assert [d.code for d in wrong.errors] == ["GI003"] and wrong.exit_code() == 2
    with pytest.raises(UsageError, match="no input dim 'seq'"):
        check_file(str(path), SharedConstraints(dims=("seq=1..9",)), is_alone=True)
    assert check_file(str(path), SharedConstraints(), SharedConstraints(dims=("seq=1..9",)), is_alone=True).errors == ()


def test_no_model(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("no model")
    with pytest.raises(ModelReadError):
        check(path)
    found = check_file(str(path), SharedConstraints())
    assert ([d.code for d in found.errors], found.exit_code(), found.was_checked) == (["GI001"], 3, False)


def test_keys_of_findings_survive_small_edits() -> None:
    def findings(model: onnx.ModelProto) -> set[tuple[str, ...]]:
        return {key_of(d, "m.onnx") for d in check(model).diagnostics}

    body = "g (float[{}] x) => (float[1] y) <int64[1] i = {{{}}}> {{ {} r = Relu (x) y = Gather (r, i) }}"
    plain = parsed(body.format(4, 4, ""))
    edited = parsed(body.format(5, 7, "q = Neg (x) "))
    assert findings(plain) == findings(edited) == {("m.onnx", "GI301", "Gather", "Gather", "")}
    (finding,) = check(plain).errors
    assert fingerprint(finding, "m.onnx") != fingerprint(finding, "n.onnx")


def test_facts_stay_when_data_is_missing(tmp_path: Path) -> None:
    model = lookup(index=9)
    table = model.graph.initializer[0]
    table.ClearField("float_data")
    table.ClearField("raw_data")
    table.data_location = onnx.TensorProto.EXTERNAL
    table.external_data.add(key="location", value="gone.bin")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    result = check(path)
    assert codes(result) == ["GI112", "GI301"]
    assert result.errors[0].detail == ("read by pick (Gather)",)
    # `infer` makes nothing of it: shapes need no weights
    assert [(f.code, f.severity) for f in infer(path).diagnostics] == [
        ("GI112", Severity.WARNING),
        ("GI301", Severity.ERROR),
    ]


@needs_onnx("1.22", "FlexAttention")
def test_what_the_body_of_an_operator_of_the_specification_demands() -> None:
    """FlexAttention has no rule: its body is walked, which the file does not have. The inner sizes of MatMul agree."""
    model = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 26, "ai.onnx.preview": 1]>'
        "g (float[2,3,4,8] q, float[2,3,S,M] k, float[2,3,S,8] v) => (float[A,B,C,D] y) {"
        "[attend] y = ai.onnx.preview.FlexAttention(q, k, v) }"
    )
    found = {d.code: d for d in check(model, dims=["M=1..16"]).diagnostics}
    assert found["GI322"].message == "M is dynamic in the inputs, but the node requires M = 8"
    assert found["GI501"].location == found["GI322"].location
    assert str(found["GI501"].location).startswith("node attend/MatMul#")
    assert found["GI501"].location.version == 13


def test_a_location_in_a_function_has_the_version_of_its_own_opset() -> None:
    """The function imports opset 12, whose Neg came with 6; the model imports 17, whose Neg came with 13."""
    model = parsed(
        "g (float[3] x) => (float[3] y) { y = c.f(x) }"
        ' <domain: "c", opset_import: ["": 12]> f (a) => (d) { d = Neg(e) e = Neg(a) }',
        '<ir_version: 8, opset_import: ["": 17, "c": 1]>',
    )
    found = [d.location for d in check(model).diagnostics if d.code == "GI114"]
    assert [(str(where.node), where.version) for where in found] == [("f/Neg#0", 6)]
    assert onnx.defs.get_schema("Neg", 12).since_version == 6


def test_the_ir_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`infer` builds none; verdicts, contract, checks and cost share one."""
    built = []
    build = Model.__init__

    def counted(self: Model, proto: onnx.ModelProto) -> None:
        built.append(proto)
        build(self, proto)

    monkeypatch.setattr(Model, "__init__", counted)
    inference = infer(BERT)
    assert built == []
    inference.cost()
    assert len(inference.tensors()) > 100 and len(built) == 1
    built.clear()
    check(BERT)
    assert len(built) == 1


def test_locations_after_the_graphs_are_released() -> None:
    """The graphs of a function body and of the file are built again, with the same locations."""
    inference = gather_infer.infer("fixtures/bert-torchscript.onnx")
    locations = NodeLocations(inference)
    before = [locations.location(MAIN, position) for position in range(5)]
    held = inference.ir
    locations.release()
    assert not held.main.nodes and [locations.location(MAIN, position) for position in range(5)] == before
    assert inference.ir is not held and len(inference.ir.main.nodes) == len(inference.model.proto.graph.node)


def test_a_finding_about_the_lowering_of_a_layer_is_at_the_layer() -> None:
    made = parsed(
        """g (float[N,C] x, float[3] s) => (float[N,C] y) {
        y = openvino.opset5.BatchNormInference<epsilon = 0.01>(x, s, s, s, s) }""",
        '<ir_version: 10, opset_import: ["": 21, "openvino.opset5": 5]>',
    )
    (found,) = check(made).diagnostics
    assert (found.code, str(found.location.node)) == ("GI322", "BatchNormInference#0")
    assert found.message == "C is dynamic in the inputs, but the node requires C = 3"
