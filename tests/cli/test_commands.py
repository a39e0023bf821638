"""Reports of the commands: with -v, with --all, as JSON."""

from __future__ import annotations

import gc
import json
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import gather_infer
from tests.cli.cli_models import in_bounds, unlike_gathers
from tests.cli.conftest import Run
from tests.passes.folding_models import i64, model


def test_errors_exit_1_and_warnings_with_strict(run: Run) -> None:
    warned = onnx.load("embedding.onnx")
    warned.opset_import[0].version = 29
    onnx.save(warned, "warned.onnx")
    codes = {
        (name, *more): run("infer", f"{name}.onnx", *more).exit_code
        for name in ("bad", "warned", "embedding")
        for more in ([], ["--strict"], ["--exit-zero"], ["--strict", "--exit-zero"])
    }
    assert codes == {
        ("bad",): 1, ("bad", "--strict"): 1, ("bad", "--exit-zero"): 0, ("bad", "--strict", "--exit-zero"): 0,
        ("warned",): 0, ("warned", "--strict"): 1, ("warned", "--exit-zero"): 0,
        ("warned", "--strict", "--exit-zero"): 0,
        ("embedding",): 0, ("embedding", "--strict"): 0, ("embedding", "--exit-zero"): 0,
        ("embedding", "--strict", "--exit-zero"): 0,
    }  # fmt: skip


def test_whoever_exits_with_1_has_written_nothing(run: Run) -> None:
    result = run("infer", "bad.onnx", "-o", "out.onnx")
    assert (result.exit_code, result.stderr, Path("out.onnx").exists()) == (1, "nothing written\n", False)
    result = run("infer", "bad.onnx", "-o", "out.onnx", "--exit-zero")
    assert (result.exit_code, result.stderr.startswith("wrote out.onnx"), Path("out.onnx").exists()) == (0, True, True)


@pytest.mark.parametrize("arguments", ["infer embedding.onnx", "infer missing.onnx", "infer --no-such-option"])
def test_the_garbage_collector_of_the_caller_stays_enabled(run: Run, arguments: str) -> None:
    frozen = gc.get_freeze_count()
    run(*arguments.split())
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, frozen)


def test_what_convert_mends_is_no_finding(run: Run) -> None:
    result = run("convert", "fixtures/openvino-gather.onnx", "-o", "out.onnx", "--strict")
    assert (result.exit_code, "GI309" in result.stdout) == (0, False)


MORE = {
    # command: what -v adds
    "infer embedding.onnx": "   int64[3] = [batch, seq, 8]\n",
    "infer many.onnx": "  gather_19 ",
    "infer constrained.onnx": "    A3 <= 8 (node add_3)\n",
    "inspect embedding.onnx": "words float32[100, 8]\n",
    "explain fixtures/bert-torchscript.onnx last_hidden_state": "LayerNorm/Mul ",
    "fold embedding.onnx -o out.onnx": "    /Gather_width: all inputs are constant\n",
    "convert exported.onnx -o out.onnx --gather-oob assume-valid": "  constant   Gather-8   Gather    proved\n",
    "contract embedding.onnx": "      its elements are the indices",
    "ops": "            https://onnx.ai/onnx/operators/onnx__GatherND.html\n",
}


@pytest.fixture
def constrained(run: Run) -> None:
    """`constrained.onnx`: each of five inputs is added to a table of 8 rows, cut to its length."""
    nodes = [
        node
        for i in range(5)
        for node in (
            onnx.helper.make_node("Shape", [f"x{i}"], [f"n{i}"], f"shape_{i}"),
            onnx.helper.make_node("Slice", ["table", "zero", f"n{i}"], [f"t{i}"], f"slice_{i}"),
            onnx.helper.make_node("Add", [f"x{i}", f"t{i}"], [f"y{i}"], f"add_{i}"),
        )
    ]
    types = {f"x{i}": (TensorProto.FLOAT, [f"A{i}"]) for i in range(5)}
    outputs = {f"y{i}": (TensorProto.FLOAT, None) for i in range(5)}
    held = {"table": np.zeros(8, np.float32), "zero": i64(0)}
    onnx.save(model(nodes, types, outputs, held), "constrained.onnx")


@pytest.mark.parametrize("command", MORE)
def test_verbose_prints_more(command: str, run: Run, constrained: None) -> None:
    assert MORE[command] not in run(*shlex.split(command)).stdout
    assert MORE[command] in run(*shlex.split(command), "-v").stdout


def test_input_constraints_are_printed_by_default(run: Run, constrained: None) -> None:
    first, *rest = [f"    A{i} <= 8 (node add_{i})\n" for i in range(5)]
    heading = "\n  holds in every run that does not fail:\n"
    text = run("infer", "constrained.onnx").stdout
    assert text.endswith(f"{heading}{first}{rest[0]}{rest[1]}    ... 2 more: --constraints\n")
    assert run("infer", "constrained.onnx", "--constraints").stdout.endswith(heading + first + "".join(rest))
    assert "does not fail" not in run("infer", "embedding.onnx").stdout


def test_all_rows(run: Run) -> None:
    onnx.save(unlike_gathers(), "unlike.onnx")
    text = run("infer", "unlike.onnx").stdout
    assert "  ... 8 more: --all\n" in text and len(re.findall("  (pick_.*)", text)) == 12
    assert len(re.findall("  (pick_.*)", run("infer", "unlike.onnx", "--all").stdout)) == 20
    text = run("infer", "many.onnx", "--all").stdout
    assert "gather_19" in text
    assert "more: --all" not in text


def test_nodes_left_alone_are_listed(run: Run) -> None:
    onnx.save(in_bounds(), "constant.onnx")
    command = ("fold", "constant.onnx", "-o", "out.onnx", "--max-growth", "8")
    for more in ([], ["-v"]):
        printed = run(*command, *more).stdout
        assert "  left alone   operator   because\n" in printed
        assert " Gather     its result float32[2, 4] is past the budget of 8 bytes\n" in printed


def test_json_of_infer(run: Run) -> None:
    result = run("infer", "embedding.onnx", "--dim", "seq=2..16", "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema"] == 2
    assert found["model"]["opsets"] == {"": 17}
    assert [i["name"] for i in found["inputs"]] == ["ids", "scale"]
    assert found["outputs"][0]["shape"] == ["batch", "seq", 8]
    assert found["tensors"][""]["shape"]["values"] == ["batch", "seq"]
    assert found["tensors"][""]["seq_len"] == {
        "kind": "tensor", "dtype": "int64", "shape": [], "values": "seq", "value_range": None,
        "producer": "/Gather_len",
    }  # fmt: skip
    assert found["tensors"][""]["at"]["value_range"] == [0, "seq - 1"]
    assert next((a["node"], a["axis"]) for a in found["accesses"]) == ("/word/Gather", 0)
    assert found["coverage"]["tensors"] == found["coverage"]["exact"]
    assert [d["code"] for d in found["diagnostics"]] == ["GI203", "GI302"]


def test_json_of_fold_and_convert(run: Run) -> None:
    folded = json.loads(run("fold", "embedding.onnx", "-o", "out.onnx", "--format", "json").stdout)
    assert (folded["before"]["nodes"], folded["after"]["nodes"]) == (11, 8)
    assert [d["name"] for d in folded["applied"]] == ["widths", "width", "last"]
    converted = run("convert", "exported.onnx", "-o", "o.onnx", "--gather-oob", "assume-valid", "--format", "json")
    assert [c["indices"] for c in json.loads(converted.stdout)["converted"]] == ["proved", "assumed"]


def test_json_of_explain(run: Run) -> None:
    found = json.loads(run("explain", "embedding.onnx", "hidden", "--format", "json").stdout)
    assert (found["name"], found["type"]["shape"]) == ("hidden", ["batch", "seq", 8])
    step = found["step"]
    assert (step["op_type"], [o["label"] for o in step["operands"]]) == ("Reshape", ["data", "shape"])
    assert step["sources"][0]["relevant"] == [8, "batch", "seq"]
    assert found["unknowns"] == []
    assert json.loads(run("explain", "GI301", "--format", "json").stdout)["severity"] == "error"


def test_ops(run: Run) -> None:
    lines = run("ops").stdout.splitlines()
    assert lines[0].split() == ["ai.onnx", "since", "facts", "from", "values", "value", "ranges"]
    assert ["Shape", "1,", "15", "built-in", "rule", "yes"] in [line.split() for line in lines]
    assert re.fullmatch(r"\d+ operators: 4 by the interpreter, \d+ by a built-in rule, .*", lines[-1])
    found = json.loads(run("ops", "GatherND", "--format", "json").stdout)
    first = found["operators"][0]
    assert (first["domain"], [b["since"] for b in first["behaviours"]]) == ("", [11, 12, 13])


@pytest.mark.parametrize("dims", [["past=4096"], ["past=4096", "seq=1"], ["past=4"]])
def test_errors_are_the_same_in_every_form(dims: list[str], run: Run) -> None:
    """Of an access that only its verdict tells to be out of bounds, of one that the walk finds, and of none."""
    model = "fixtures/gpt2-kv-torchscript.onnx"
    said = [part for dim in dims for part in ("--dim", dim)]
    text, printed = (run("infer", model, *said, *form) for form in ([], ["--format", "json"]))
    told = [d for d in json.loads(printed.stdout)["diagnostics"] if d["severity"] == "error"]
    errors = gather_infer.infer(model, dims=dims).errors
    assert [(d["code"], d["message"]) for d in told] == [(error.code, error.message) for error in errors]
    assert [line.removeprefix("error[GI301]: ") for line in text.stdout.splitlines() if line.startswith("error")] == [
        error.message for error in errors
    ]
    assert text.exit_code == printed.exit_code == bool(errors) == (dims != ["past=4"])
    tensors = run("tensors", model, *said)
    assert ("the model has an error" in tensors.stderr) == bool(errors)
