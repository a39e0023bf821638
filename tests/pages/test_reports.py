"""`--format html` of the commands: structure, policy, names, size, and the data against `--format json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from gather_infer.checks.result import CheckResult
from gather_infer.diagnostic import diagnostic
from gather_infer.pages import change_report, check_report, command_report
from gather_infer.report.output_formats import CHECKS, CheckReport, OutputFormat
from tests.cli.conftest import Run
from tests.documents import REPO
from tests.pages.page_models import HOSTILE, LONG, Structure, assert_only_own_scripts, chain, hostile

BERT = "fixtures/bert-torchscript.onnx"
GPT2 = "fixtures/gpt2-kv-torchscript.onnx"
COMMANDS = {
    # command: on the model with hostile names, on a plain one
    "check": ("check hostile.onnx", f"check {BERT} --dim seq=1..512 --exit-zero"),
    "diff": ("diff hostile.onnx embedding.onnx --runs 0", "diff embedding.onnx bad.onnx --runs 0"),
    "diff of hostile names": ("diff hostile.onnx renamed.onnx --runs 0", f"diff {BERT} {BERT} --prove"),
    "optimize": ("optimize hostile.onnx --dry-run", f"optimize {GPT2} --dry-run --prove"),
    "optimize two": ("optimize hostile.onnx renamed.onnx --dry-run --jobs 1",
                     "optimize bad.onnx embedding.onnx --dry-run --jobs 1"),
    "fold": ("fold hostile.onnx --dry-run", "fold embedding.onnx --dry-run --verify 1"),
    "convert": ("convert hostile-layer.onnx --dry-run", "convert fixtures/openvino/decoder.xml --dry-run"),
    "check of two": ("check hostile.onnx embedding.onnx --jobs 1", "check bad.onnx embedding.onnx --jobs 1"),
}  # fmt: skip


def save_hostile() -> None:
    """A model with hostile names, and one with another operator."""
    model = hostile()
    onnx.save(model, "hostile.onnx")
    model.graph.node[3].op_type = "Neg"
    onnx.save(model, "renamed.onnx")
    lookup = model.graph.node[0]
    lookup.domain, lookup.op_type = "openvino.opset8", "Gather"
    lookup.input.append("axis<b>")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.int64(0), "axis<b>"))
    del model.graph.node[1:], model.graph.output[:]
    model.graph.output.append(onnx.helper.make_tensor_value_info(lookup.output[0], onnx.TensorProto.FLOAT, None))
    model.opset_import.append(onnx.helper.make_opsetid("openvino.opset8", 8))
    onnx.save(model, "hostile-layer.onnx")


def printed(arguments: str, run: Run) -> Structure:
    result = run(*arguments.split(), "--format", "html")
    assert "Traceback" not in result.stderr and result.exit_code in (0, 1), result.stderr
    return Structure(result.stdout)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("at", [0, 1], ids=["hostile names", "plain"])
def test_structure_and_policy(name: str, at: int, run: Run) -> None:
    save_hostile()
    page = printed(COMMANDS[name][at], run)
    assert_only_own_scripts(page)


@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_names_stay_data(name: str, run: Run) -> None:
    save_hostile()
    text = run(*COMMANDS[name][0].split(), "--format", "html").stdout
    assert text.isascii() or not any(c in text for c in "\u202e\u2066\u2028\u2029\x01")
    assert text.lower().count("</script") == text.lower().count("<script") == 2
    data = json.dumps(Structure(text).data, ensure_ascii=False)
    assert any(name in data for name in ("</title>", "<script>1</script>", *HOSTILE[:2], "ids<b>"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_equal_models_give_equal_pages(name: str, run: Run) -> None:
    arguments = (*COMMANDS[name][1].split(), "--format", "html")
    assert run(*arguments).stdout == run(*arguments).stdout


def test_check_has_the_findings_of_json(run: Run) -> None:
    arguments = ("check", BERT, "--dim", "seq=1..512")
    expected = json.loads(run(*arguments, "--format", "json").stdout)
    result = run(*arguments, "--format", "html")
    data = Structure(result.stdout).data
    assert (result.exit_code, data["exit_code"]) == (1, 1)
    (model,), (wanted,) = data["models"], expected["models"]
    for member in ("diagnostics", "accesses", "checked", "fails"):
        assert model[member] == wanted[member]
    assert [line["text"] for line in model["sentences"]][:1] == [
        "Every element of input_ids is at least -151 and less than 151."
    ]
    assert data["codes"].keys() == {finding["code"] for finding in wanted["diagnostics"]}
    assert data["title"] == "Check of bert-torchscript.onnx"


def test_the_way_from_the_input_to_the_failing_node_is_drawn(run: Run) -> None:
    """seq <= 64 at an Add: its operand has been sliced out of 64 positions to a size read off the input."""
    data = printed(f"check {BERT} --dim seq=1..512", run).data
    drawing = data["models"][0]["drawings"]["/bert/embeddings/Add_1"]
    by_kind: dict[str, list[str]] = {}
    for kind, first, second, *_ in drawing["boxes"]:
        by_kind.setdefault(kind, []).append(first if kind in ("input", "constant") else second)
    assert by_kind["center"] == ["/bert/embeddings/Add_1"]
    assert "input_ids" in by_kind["input"]
    assert {"/bert/embeddings/Shape", "/bert/embeddings/Slice"} <= set(by_kind["node"])
    assert "float32[1, min(64, seq), 32]" in [text for _, _, text, _ in drawing["edges"]]
    assert drawing["boxes"][drawing["focus"]][2] == "/bert/embeddings/Add_1"


def test_several_models_have_their_sections_and_no_folders(run: Run, tmp_path: Path) -> None:
    tmp_path /= "zoo"
    for name in ("a/one.onnx", "b/one.onnx"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(Path("embedding.onnx").read_bytes())
    (tmp_path / "b/no.onnx").write_bytes(b"\x08\x08no model")
    result = run("check", str(tmp_path), "--format", "html", "--jobs", "1")
    data = Structure(result.stdout).data
    assert result.exit_code == 3
    assert [model["names"] for model in data["models"]] == [["a/one.onnx"], ["b/no.onnx"], ["b/one.onnx"]]
    assert [model["checked"] for model in data["models"]] == [True, False, True]
    assert str(tmp_path) not in result.stdout


NAMES = {
    # paths: the ends that tell them apart
    ("/a/b/m.onnx",): ["m.onnx"],
    ("m.onnx", "n.onnx"): ["m.onnx", "n.onnx"],
    ("a/m.onnx", "/x/n.onnx"): ["m.onnx", "n.onnx"],
    ("a/m.onnx", "b/m.onnx", "b/n.onnx"): ["a/m.onnx", "b/m.onnx", "b/n.onnx"],
    ("/x/a/m.onnx", "m.onnx"): ["a/m.onnx", "m.onnx"],
    ("a/m.onnx", "a/m.onnx"): ["m.onnx", "m.onnx"],
    ("<stdin>", "a/"): ["<stdin>", "a"],
}


@pytest.mark.parametrize("paths", NAMES)
def test_names_do_not_tell_where_the_files_were(paths: tuple[str, ...]) -> None:
    assert command_report.shortest_names(paths) == NAMES[paths]


def test_filters_of_the_command_hold_for_the_page(run: Run) -> None:
    data = printed(f"check {BERT} --dim seq=1..512 --ignore GI302", run).data
    assert [finding["code"] for finding in data["models"][0]["diagnostics"]] == ["GI501"]


def test_a_model_that_was_not_checked() -> None:
    results = [CheckResult("m.onnx", (diagnostic("GI001", "truncated"),))]
    (text,) = CHECKS.lines(OutputFormat.HTML, CheckReport(results, exit_code=3))
    (model,) = Structure(text).data["models"]
    assert (model["checked"], model["sentences"], model["drawings"]) == (False, [], {})


def test_drawings_and_size_are_bounded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_report, "MAX_DRAWINGS", 3)
    model = chain(1000)
    for node in model.graph.node:
        node.domain = "" if node.op_type == "Gather" else "unknown.domain"
    onnx.save(model, "chain.onnx")
    plain = run("check", "chain.onnx", "--format", "json").stdout
    result = run("check", "chain.onnx", "--format", "html").stdout
    (found,) = Structure(result).data["models"]
    assert len(found["diagnostics"]) >= 900
    assert len(found["drawings"]) == 3
    assert len(result) <= len(plain) + 80_000


def test_statistics_and_a_baseline(run: Run) -> None:
    refused = run("check", "embedding.onnx", "--statistics", "--format", "html")
    assert (refused.exit_code, "--statistics needs the format text or json" in refused.stderr) == (2, True)
    run("check", "bad.onnx", "--baseline", "b.json", "--write-baseline")
    data: Any = printed("check bad.onnx --baseline b.json", run).data
    assert (data["exit_code"], data["accepted"] > 0) == (0, True)


def test_names_in_drawings_are_bounded(run: Run) -> None:
    save_hostile()
    (model,) = printed("check hostile.onnx", run).data["models"]
    assert model["drawings"]
    for drawing in model["drawings"].values():
        assert all(len(text) <= 200 for box in drawing["boxes"] for text in box[1:3])
    assert len(LONG) > 200


def test_assets_are_listed() -> None:
    from gather_infer.pages.document import PAGE, REPORT

    found = {path.stem for path in (REPO / "gather_infer/pages/assets").glob("*.js")}
    if not found:
        pytest.skip("the sources are not beside the tests")
    assert found == {*PAGE, *REPORT}


def changed_bert() -> None:
    """BERT with another axis of its first Softmax, in changed.onnx."""
    model = onnx.load(str(REPO / BERT))
    softmax = next(node for node in model.graph.node if node.op_type == "Softmax")
    softmax.attribute[0].i = 1
    onnx.save(model, "changed.onnx")


def test_diff_draws_the_first_difference_in_both_models(run: Run) -> None:
    changed_bert()
    result = run("diff", BERT, "changed.onnx", "--runs", "1", "--format", "html")
    expected = json.loads(run("diff", BERT, "changed.onnx", "--runs", "1", "--format", "json").stdout)
    (model,) = Structure(result.stdout).data["models"]
    assert result.exit_code == 1
    for member in ("verdict", "outputs", "first_difference", "weights", "operators", "contracts", "interface"):
        assert model[member] == expected[member]
    label = "/bert/encoder/layer.0/attention/self/Softmax"
    assert (model["first_difference"]["second"], model["names"]) == (
        f"Softmax {label}", ["bert-torchscript.onnx", "changed.onnx"],
    )  # fmt: skip
    for drawing in model["drawings"]:
        assert [box[2] for box in drawing["boxes"] if box[0] == "center"] == [label]
        assert len(drawing["boxes"]) >= 3
    names = [name for name, _, _ in model["witness"]]
    assert names and set(names) <= {"input_ids", "attention_mask", "token_type_ids"}
    assert model["witness"][0][1].startswith("int64[")


def test_diff_of_a_node_without_counterpart_draws_the_surroundings(run: Run) -> None:
    for name, body in (("one", "a = Relu (x) y = Exp (a)"), ("two", "a = Relu (x) b = Neg (a) y = Exp (b)")):
        model = onnx.parser.parse_model(
            f'<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (float[N] y) {{ {body} }}'
        )
        onnx.save(model, f"{name}.onnx")
    (model,) = printed("diff one.onnx two.onnx --runs 0", run).data["models"]
    one, two = model["drawings"]
    assert model["first_difference"]["second"].startswith("Neg")
    assert [box[1] for box in two["boxes"] if box[0] == "center"] == ["Neg"]
    assert [box[1] for box in one["boxes"] if box[0] == "center"] == ["Exp"]


def test_diff_that_is_proved(run: Run) -> None:
    (model,) = printed(f"diff {BERT} {BERT} --prove", run).data["models"]
    assert (model["equal"], model["drawings"], model["witness"]) == (True, [None, None], None)
    assert {output["verdict"] for output in model["outputs"]} == {"proved"}


def kinds(drawing: Any) -> dict[str, list[str]]:
    """The second lines of the boxes by kind; the first lines of inputs and constants."""
    found: dict[str, list[str]] = {}
    for kind, first, second, *_ in drawing["boxes"]:
        found.setdefault(kind, []).append(first if kind in ("input", "constant") else second)
    return found


def test_optimize_has_the_rewrites_of_json(run: Run) -> None:
    arguments = ("optimize", GPT2, "--dry-run", "--prove")
    expected = json.loads(run(*arguments, "--format", "json").stdout)
    (model,) = printed(" ".join(arguments), run).data["models"]
    for member in ("before", "after", "proof", "interface", "diagnostics"):
        assert model[member] == expected[member]
    for change, applied in zip(model["changes"], expected["applied"], strict=True):
        assert {key: change[key] for key in ("node", "op_type", "rule", "law", "bytes")} == {
            key: applied[key] for key in ("node", "op_type", "rule", "law", "bytes")
        }
    assert sum(change["nodes"] for change in model["changes"]) >= model["after"]["nodes"] - model["before"]["nodes"]
    original = {node.name for node in onnx.load(str(REPO / GPT2)).graph.node}
    for change in model["changes"]:
        total, *titles = change["removed"]
        assert total >= len(titles)
        assert {title.partition(" ")[2] for title in titles} <= original


def test_a_rewrite_is_drawn_before_and_after(run: Run) -> None:
    """Unsqueeze(Gather(Shape)) for a target of Reshape: the Reshape stays, what computed its target goes."""
    (model,) = printed(f"optimize {GPT2} --dry-run", run).data["models"]
    name = "/gpt2/transformer/h.1/mlp/c_proj/Unsqueeze_2"
    (change,) = [each for each in model["changes"] if each["node"] == name and each["rule"] == "unsqueeze-of-gather"]
    before, after = map(kinds, change["pair"])
    reshape = "/gpt2/transformer/h.1/mlp/c_proj/Reshape_1"
    assert name in before["removed"] and reshape in before["node"]
    assert reshape in after["node"] and "added" not in before and "removed" not in after
    drawn = [each for each in model["changes"] if each["pair"] is not None]
    assert 20 < len(drawn) <= change_report.MAX_PAIRS
    laws = {each["law"] for each in drawn}
    assert len(laws) > 0.6 * len({each["law"] for each in model["changes"]})
    names = {node.name for node in onnx.load(str(REPO / GPT2)).graph.node}
    for each in drawn:
        for kind, labels in kinds(each["pair"][0]).items() if each["pair"][0] else ():
            assert kind in ("input", "constant") or set(labels) <= names


def test_only_removed_nodes_are_marked(run: Run) -> None:
    """The marks against the two files: operator and outputs of each node."""
    run("optimize", GPT2, "-o", "small.onnx")
    (model,) = printed(f"optimize {GPT2} --dry-run", run).data["models"]
    small = {(node.op_type, *node.output) for node in onnx.load("small.onnx").graph.node}
    by_name = {node.name: (node.op_type, *node.output) for node in onnx.load(str(REPO / GPT2)).graph.node}
    marked = 0
    for change in model["changes"]:
        found = kinds(change["pair"][0]) if change["pair"] and change["pair"][0] else {}
        assert all(by_name[label] not in small for label in found.get("removed", ()))
        assert all(by_name[label] in small for label in found.get("node", ()))
        marked += len(found.get("removed", ()))
    assert marked > 20


def test_convert_draws_a_guard(run: Run) -> None:
    result = run("convert", "fixtures/openvino/decoder.xml", "-o", "out.onnx", "--format", "html")
    expected = json.loads(run("convert", "fixtures/openvino/decoder.xml", "--dry-run", "--format", "json").stdout)
    assert (result.exit_code, Path("out.onnx").exists()) == (0, True)
    (model,) = Structure(result.stdout).data["models"]
    assert model["variables"] == expected["variables"]
    for change, converted in zip(model["changes"], expected["converted"], strict=True):
        assert {key: value for key, value in change.items() if key != "pair"} == converted
    (guarded,) = [change for change in model["changes"] if change["indices"] == "guarded"]
    before, after = map(kinds, guarded["pair"])
    assert "Gather_7" in before["removed"]
    assert {"Gather_7/Clip", "Gather_7/Gather", "Gather_7/Where"} <= set(after["added"])
    assert "input_ids" in before["input"] and "input_ids" in after["input"]


def test_several_models_of_which_one_is_unreadable(run: Run) -> None:
    Path("text.onnx").write_bytes(b"\x08\x08no model")
    result = run("optimize", "embedding.onnx", "text.onnx", "-o", "out", "--jobs", "1", "--format", "html")
    data = Structure(result.stdout).data
    assert (result.exit_code, data["command"], data["title"]) == (3, "optimize", "Optimization of 2 models")
    assert Path("out/embedding.onnx").exists()
    first, second = data["models"]
    assert first["changes"] and second["names"] == ["text.onnx"]
    assert "truncated or not ONNX protobuf" in second["error"] and "text.onnx" not in second["error"]


def test_a_refused_model_has_its_report_and_no_file(run: Run) -> None:
    result = run("optimize", "bad.onnx", "-o", "out.onnx", "--strict", "--format", "html")
    assert (result.exit_code, Path("out.onnx").exists()) == (1, False)
    assert Structure(result.stdout).data["models"][0]["diagnostics"]


def test_the_model_on_standard_output_and_the_report_on_standard_error(run: Run) -> None:
    result = run("optimize", "embedding.onnx", "-o", "-", "--format", "html")
    assert result.exit_code == 0
    assert onnx.load_model_from_string(result.stdout_bytes).graph.node
    assert "<!DOCTYPE html>" in result.stderr


def test_a_large_model_has_bounded_drawings(run: Run) -> None:
    model = chain(1500)
    for node in model.graph.node[1::3]:
        node.op_type = "Identity"
    onnx.save(model, "chain.onnx")
    plain = run("optimize", "chain.onnx", "--dry-run", "--format", "json").stdout
    result = run("optimize", "chain.onnx", "--dry-run", "--format", "html").stdout
    (found,) = Structure(result).data["models"]
    assert len(found["changes"]) > 300
    assert sum(change["pair"] is not None for change in found["changes"]) <= change_report.MAX_PAIRS
    assert len(result) <= 2 * len(plain) + 250_000
