"""Exit codes, streams, files: a command never prints a traceback and never leaves half an output."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from gather_infer_cli.main import main
from onnx import TensorProto

from gather_infer.errors import ModelWriteError
from gather_infer.model import staging
from tests.cli.conftest import Run
from tests.passes.folding_models import i64, model

COMMANDS = ("infer", "inspect", "explain", "fold", "convert")
EVERY_COMMAND = (*COMMANDS, "ops")
PROGRAM = [sys.executable, "-c", "from gather_infer_cli.main import main; main()"]


def arguments(command: str, model: str) -> list[str]:
    more = {"fold": ["-o", "out.onnx"], "convert": ["-o", "out.onnx"], "explain": ["hidden"]}
    return [command, model, *more.get(command, [])]


BAD_FILES = {
    # name: (content, None for a directory; message)
    "missing.onnx": (None, "No such file or directory"),
    "empty.onnx": (b"", "empty file"),
    "text.onnx": (b"hello, this is not a model", "text.onnx: "),
    "folder.onnx": ("folder", "a directory, not a model file"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", BAD_FILES)
def test_what_cannot_be_read_is_one_line_and_exit_3(command: str, name: str, run: Run) -> None:
    content, message = BAD_FILES[name]
    if isinstance(content, bytes):
        Path(name).write_bytes(content)
    elif content == "folder":
        Path(name).mkdir()
    Path("out.onnx").write_bytes(b"precious")
    result = run(*arguments(command, name))
    assert (result.exit_code, result.stdout) == (3, "")
    assert re.fullmatch(rf"error: .*{re.escape(message)}.*\n", result.stderr)
    assert Path("out.onnx").read_bytes() == b"precious"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_truncated_file(command: str, run: Run) -> None:
    whole = Path("embedding.onnx").read_bytes()
    before = sorted(Path().iterdir())
    for size in (1, 10, len(whole) // 2, len(whole) - 1):
        Path("embedding.onnx").write_bytes(whole[:size])
        assert run(*arguments(command, "embedding.onnx")).exit_code == 3
    assert sorted(Path().iterdir()) == before


USAGE = {
    "infer": "missing argument 'MODEL'",
    "infer embedding.onnx --dim sec=3": "did you mean 'seq'",
    "infer embedding.onnx --dim seq": "a dim must read NAME=SIZE, NAME=LOW..HIGH or NAME=EXPRESSION, found 'seq'",
    "infer embedding.onnx --dim seq=": "found 'seq='",
    "infer embedding.onnx --dim seq=1..x": "dim 'seq': bounds must read LOW..HIGH, numbers .* found '1..x'",
    "infer embedding.onnx --dim seq=-1..4": "bounds must read LOW..HIGH, numbers >= 0 .* found '-1..4'",
    "infer embedding.onnx --dim seq=batch..4": "found 'batch..4'",
    "infer embedding.onnx --dim seq=1...4": "found '1...4'",
    "infer embedding.onnx --dim seq=5..1": "no size is in the bounds 5..1",
    "infer embedding.onnx --dim seq=1-4": r"dim 'seq' must be in \[0, 2\^63 - 1\], is -3",
    "infer embedding.onnx --dim seq=9223372036854775808": "is 9223372036854775808",
    "infer embedding.onnx --dim seq=4.5": "a size, bounds LOW..HIGH or an expression in other dims: expected .*'4.5'",
    "infer embedding.onnx --dim seq=2*": "an expression in other dims: expected .* at position 2 of '2\\*'",
    "infer embedding.onnx --dim seq=bach": "no input dim 'bach'; did you mean 'batch'",
    "infer embedding.onnx --dim seq=1 --dim seq=2": "dim 'seq' is given twice",
    "infer embedding.onnx --input ids": r"an input must read NAME=TYPE\[DIM, ...\], found 'ids'",
    "infer embedding.onnx --input ids=int64": r"must read NAME=TYPE\[DIM, ...\] or NAME=\[DIM, ...\], found 'int64'",
    "infer embedding.onnx --input 'ids=int65[1, 2]'": "no element type 'int65'; did you mean 'int64'",
    "infer embedding.onnx --input 'ids=float[1, 2]'": "input 'ids' is declared int64, not float32",
    "infer embedding.onnx --input 'ids=[1, ?]'": r"a dim must be a size, a name or an expression, found '\?': expected",
    "infer embedding.onnx --input 'ids=[1, -2]'": "is -2",
    "infer embedding.onnx --input 'ids=[1]'": r"is declared int64\[batch, seq\], which int64\[1\] contradicts",
    "infer embedding.onnx --input idz=int64[3]": "ids",
    "infer embedding.onnx --in-place -o out.onnx": "--in-place and -o exclude each other",
    "infer embedding.onnx --external-data w": "--external-data needs -o",
    "infer embedding.onnx -o embedding.onnx": "embedding.onnx: is the input, which only --in-place",
    "infer embedding.onnx -o ''": "-o needs the name of a file",
    "infer embedding.onnx --format xml": "'xml' is not one of",
    "infer embedding.onnx --rules none.py": "none.py: no such file",
    "infer embedding.onnx --rules .": "--rules .: not a file",
    "infer - --in-place": "--in-place needs a file",
    "fold embedding.onnx": "-o OUT is missing",
    "fold embedding.onnx -o out.onnx --max-bytes -1": "-1 is not in the range",
    "fold embedding.onnx -o embedding.onnx": "embedding.onnx",
    "fold embedding.onnx --in-place -o out.onnx": "--in-place and -o exclude each other",
    "fold embedding.onnx -o out.onnx --dim sec=3": "did you mean 'seq'",
    "convert exported.onnx": "-o OUT is missing",
    "convert exported.onnx -o out.onnx --dim M=3": "no input dim 'M'",
    "inspect - embedding.onnx -": "standard input can be read only once",
    "convert exported.onnx -o o --gather-oob maybe": "'maybe' is not one of",
    "inspect": "missing argument",
    "explain": "missing argument",
    "explain embedding.onnx": "missing argument 'TENSOR': which tensor of embedding.onnx",
    "explain embedding.onnx hiden": "did you mean 'hidden'",
    "explain embedding.onnx /Reshape": "the node of that name makes 'hidden'",
    "explain embedding.onnx hidden --depth -1": "-1 is not in the range",
    "explain GI333": "no code 'GI333'; did you mean 'GI303'",
    "explain Gather": "no code 'Gather'; there are GI101",
    "ops Gahter": "no operator 'Gahter'; did you mean 'Gather'",
    "ops Gather Concat": "unexpected extra argument",
    "explain GI301 --dim seq=3": "--dim needs MODEL TENSOR",
    "folt": "did you mean 'fold'",
    "xyz": "there are convert, explain, fold, infer, inspect, ops",
}


@pytest.mark.parametrize("command", USAGE)
def test_usage_errors_are_exit_2(command: str, run: Run) -> None:
    model = Path("embedding.onnx").read_bytes()
    result = run(*shlex.split(command))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert re.search(USAGE[command], result.stderr)
    assert Path("embedding.onnx").read_bytes() == model


@pytest.mark.parametrize(
    "command",
    [
        "fold EVIL -o out.onnx -v",
        "fold EVIL --dry-run",
        "infer EVIL -v",
        "infer EVIL --input k=int64[1]",
        "convert EVIL -o o",
    ],
)
def test_no_name_can_steer_the_terminal(command: str, run: Run) -> None:
    model = onnx.load("embedding.onnx")
    steering = "\x1b[2J\r"
    for node in model.graph.node:
        node.name += steering
    model.graph.node.add(op_type="Gather", name=f"ov{steering}", domain="openvino", input=["words", "ids", "zero"])
    model.graph.node[-1].output.append(f"extra{steering}")
    model.graph.input[0].name = f"ids{steering}"
    for node in model.graph.node:
        node.input[:] = [f"ids{steering}" if name == "ids" else name for name in node.input]
    onnx.save(model, "evil.onnx")
    result = run(*shlex.split(command.replace("EVIL", "evil.onnx")))
    assert "\\x1b[2J" in result.output
    assert not {"\x1b", "\r"} & set(result.output)


def test_strict_exits_1_with_findings(run: Run) -> None:
    assert run("infer", "bad.onnx").exit_code == 0
    assert run("infer", "bad.onnx", "--strict").exit_code == 1
    assert run("infer", "embedding.onnx", "--strict").exit_code == 0


def test_infer_writes_value_info(run: Run) -> None:
    result = run("infer", "embedding.onnx", "-o", "out.onnx")
    assert (result.exit_code, result.stderr) == (0, "wrote out.onnx\n")
    annotated = onnx.load("out.onnx")
    assert {v.name for v in annotated.graph.value_info} >= {"word", "place", "sum"}
    before = onnx.load("embedding.onnx")
    before.graph.ClearField("value_info")
    annotated.graph.ClearField("value_info")
    assert annotated == before
    result = run("infer", "embedding.onnx", "-o", "out.onnx", "--dim", "seq=1..16", "--dim", "batch=2")
    said = "its value_info holds for seq=1..16, batch=2 only; the inputs are declared as before"
    assert result.stderr == f"wrote out.onnx\n{said}\n"


def test_in_place(run: Run) -> None:
    assert run("infer", "embedding.onnx", "--in-place").exit_code == 0
    assert onnx.load("embedding.onnx").graph.value_info
    assert run("fold", "embedding.onnx", "--in-place").exit_code == 0
    assert len(onnx.load("embedding.onnx").graph.node) == 9
    assert run("convert", "exported.onnx", "--in-place", "--gather-oob", "assume-valid").exit_code == 0
    assert {node.domain for node in onnx.load("exported.onnx").graph.node} == {""}


@pytest.mark.parametrize("command", ["infer", "fold"])
def test_links_are_written_through(command: str, run: Run) -> None:
    Path("link.onnx").symlink_to("embedding.onnx")
    before = Path("embedding.onnx").read_bytes()
    assert run(command, "link.onnx", "--in-place").stderr.startswith("wrote link.onnx")
    assert Path("link.onnx").is_symlink() and Path("embedding.onnx").read_bytes() != before


def test_fold_takes_what_is_known_of_the_inputs(run: Run) -> None:
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--dim", "seq=4")
    assert "folded 2 nodes" in result.stdout
    assert "what was folded holds for seq=4 only; the inputs are declared as before\n" in result.stderr
    known = {t.name: onnx.numpy_helper.to_array(t).tolist() for t in onnx.load("out.onnx").graph.initializer}
    assert known["seq_len"] == 4
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--input", "ids=int64[2, n]")
    assert "holds for ids=int64[2, n] only" in result.stderr


def test_fold_and_convert_tell_what_is_wrong_and_are_strict_on_request(run: Run) -> None:
    model = onnx.load("exported.onnx")
    model.graph.value_info.add(name="a", type=onnx.helper.make_tensor_type_proto(TensorProto.FLOAT, [3, 4]))
    onnx.save(model, "stale.onnx")
    for command, more in (("fold", []), ("convert", ["--gather-oob", "assume-valid"])):
        result = run(command, "stale.onnx", "-o", "out.onnx", *more)
        assert (result.exit_code, Path("out.onnx").exists()) == (0, True)
        assert "warning[GI201]: value_info of a says float32[3, 4]" in result.stdout
        Path("out.onnx").unlink()
        strict = run(command, "stale.onnx", "-o", "out.onnx", "--strict", *more)
        assert (strict.exit_code, strict.stderr, Path("out.onnx").exists()) == (1, "nothing written\n", False)
        assert strict.stdout == result.stdout
    assert run("fold", "stale.onnx", "--dry-run", "--strict").exit_code == 1
    assert run("fold", "embedding.onnx", "-o", "out.onnx", "--strict").exit_code == 0


def test_what_convert_mends_is_no_finding(run: Run) -> None:
    result = run("convert", "fixtures/openvino-gather.onnx", "-o", "out.onnx", "--strict")
    assert (result.exit_code, "GI309" in result.stdout) == (0, False)


MORE = {
    # command: what -v adds
    "infer embedding.onnx": "   int64[3] = [batch, seq, 8]\n",
    "infer many.onnx": "  gather_19 ",
    "infer demands.onnx": "    A3 <= 8 (node add_3)\n",
    "inspect embedding.onnx": "words float32[100, 8]\n",
    "explain fixtures/bert-torchscript.onnx last_hidden_state": "LayerNorm/Mul ",
    "fold embedding.onnx -o out.onnx": "    /Gather_width: stands for int64[] = 8\n",
    "convert exported.onnx -o out.onnx --gather-oob assume-valid": "    constant, axis 0, indices proved in bounds\n",
    "ops": "            https://onnx.ai/onnx/operators/onnx__GatherND.html\n",
}


@pytest.fixture
def demands(run: Run) -> None:
    """`demands.onnx`: each of five inputs is added to a table of 8 rows, cut to its length."""
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
    onnx.save(model(nodes, types, outputs, held), "demands.onnx")


@pytest.mark.parametrize("command", MORE)
def test_verbose_prints_more(command: str, run: Run, demands: None) -> None:
    assert MORE[command] not in run(*shlex.split(command)).stdout
    assert MORE[command] in run(*shlex.split(command), "-v").stdout


def test_demands_on_the_inputs_are_told_without_being_asked(run: Run, demands: None) -> None:
    first, *rest = [f"    A{i} <= 8 (node add_{i})\n" for i in range(5)]
    heading = "\n  holds in every run that does not fail:\n"
    text = run("infer", "demands.onnx").stdout
    assert text.endswith(f"{heading}{first}{rest[0]}{rest[1]}    ... 2 more: --constraints\n")
    assert run("infer", "demands.onnx", "--constraints").stdout.endswith(heading + first + "".join(rest))
    assert "does not fail" not in run("infer", "embedding.onnx").stdout


def test_external_data(run: Run) -> None:
    assert run("infer", "embedding.onnx", "-o", "out.onnx", "--external-data", "weights").exit_code == 0
    light = onnx.load("out.onnx", load_external_data=False)
    words = next(t for t in light.graph.initializer if t.name == "words")
    assert words.data_location == TensorProto.EXTERNAL
    text = run("inspect", "out.onnx").stdout
    assert "weights 3.12 KiB, 1 tensor" in text
    Path("weights").unlink()
    assert "weights missing, 1 tensor" in run("inspect", "out.onnx").stdout
    assert run("fold", "out.onnx", "-o", "folded.onnx").exit_code == 3
    assert not Path("folded.onnx").exists()


def test_quiet_prints_results_and_errors_only(run: Run) -> None:
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "-q")
    assert result.stderr == ""
    assert "folded 1 node" in result.stdout
    assert run("infer", "missing.onnx", "-q").stderr.startswith("error: ")


def test_all_rows(run: Run) -> None:
    assert "... 8 more: --all" in run("infer", "many.onnx").stdout
    text = run("infer", "many.onnx", "--all").stdout
    assert "gather_19" in text
    assert "more: --all" not in text


def test_nodes_left_alone_are_counted_and_listed_on_request(run: Run) -> None:
    onnx.save(_constant_gather(), "constant.onnx")
    command = ("fold", "constant.onnx", "-o", "out.onnx", "--max-bytes", "8")
    assert "left alone: 1, --verbose lists them" in run(*command).stdout
    assert "note[GI401]: not folded: its result float32[2, 4] is past" in run(*command, "-v").stdout


def _constant_gather() -> onnx.ModelProto:
    model = onnx.load("bad.onnx")
    index = next(t for t in model.graph.initializer if t.name == "index")
    index.CopyFrom(onnx.helper.make_tensor("index", TensorProto.INT64, [2], [0, 8]))
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 2
    return model


def test_several_files_of_which_one_is_unreadable(run: Run) -> None:
    result = run("inspect", "embedding.onnx", "missing.onnx")
    assert result.exit_code == 3
    assert "embedding.onnx" in result.stdout
    assert result.stderr == "error: missing.onnx: No such file or directory\n"


def test_a_refused_conversion_writes_nothing(run: Run) -> None:
    Path("out.onnx").write_bytes(b"precious")
    assert run("convert", "exported.onnx", "-o", "out.onnx").exit_code == 1
    assert Path("out.onnx").read_bytes() == b"precious"


@pytest.mark.parametrize("command", ["infer", "fold", "convert"])
def test_an_output_that_cannot_be_written(command: str, run: Run) -> None:
    extra = ["--gather-oob", "assume-valid"] if command == "convert" else []
    result = run(command, "exported.onnx", "-o", "no/such/folder/out.onnx", *extra)
    assert result.exit_code == ModelWriteError.exit_code
    assert re.fullmatch(r"error: .*no/such/folder.*\n", result.stderr)


def test_a_full_disk_leaves_the_old_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out.onnx").write_bytes(b"precious")
    before = sorted(Path().iterdir())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(staging.os, "fsync", full)
    monkeypatch.setattr(staging.os, "replace", full)
    result = run("fold", "embedding.onnx", "-o", "out.onnx")
    assert result.exit_code == 3
    assert "No space left on device" in result.stderr
    assert Path("out.onnx").read_bytes() == b"precious"
    assert sorted(Path().iterdir()) == before


RULES = """
from gather_infer import RuleSet, SymbolicTensor
rules = RuleSet("com.example")

@rules.rule("Twice")
def twice(op):
    return [op.tensor(0)]
"""


def test_rules_from_a_file(run: Run) -> None:
    model = onnx.load("embedding.onnx")
    model.graph.node[5].op_type, model.graph.node[5].domain = "Twice", "com.example"
    del model.graph.node[5].input[1:]
    model.opset_import.add(domain="com.example", version=1)
    onnx.save(model, "custom.onnx")
    Path("mine.py").write_text(RULES)
    assert "GI105" in run("infer", "custom.onnx").stdout
    assert "GI105" not in run("infer", "custom.onnx", "--rules", "mine.py").stdout


FAULTY = {
    "syntax": ("def (:\n", r"error: mine.py:1: .*\n"),
    "raises": ("\nx = 1 / 0\n", r"error: mine.py:2: ZeroDivisionError: division by zero\n"),
    "exit": ("import sys\nsys.exit(0)\n", r"error: mine.py:2: ends the program, which rules must not do\n"),
    "exit in a rule": (
        """
from gather_infer import RuleSet
rules = RuleSet("")

@rules.rule("Gather")
def gather(op):
    raise SystemExit
""",
        r"error: mine.py:7: ends the program, which rules must not do\n",
    ),
    "no list": (
        """
from gather_infer import RuleSet
rules = RuleSet("")
rules.rule("Gather")(lambda op: 3)
""",
        r"error: the rule of ai.onnx.Gather must return a list of facts, returns int\n",
    ),
    "nothing": ("x = 1\n", r"error: --rules mine.py: defines no RuleSet at module level\n"),
}


@pytest.mark.parametrize("case", FAULTY)
def test_a_rules_file_that_fails_is_not_our_fault(case: str, run: Run) -> None:
    source, message = FAULTY[case]
    Path("mine.py").write_text(source)
    result = run("infer", "embedding.onnx", "--rules", "mine.py")
    assert result.exit_code == 2
    assert re.fullmatch(message, result.stderr)


def test_our_own_fault_is_exit_4_with_a_line_to_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("an invariant\nin words")

    monkeypatch.setattr("gather_infer.model.open_model", broken)
    result = run("inspect", "embedding.onnx")
    assert (result.exit_code, result.stdout) == (4, "")
    assert re.fullmatch(r"error: .*: AssertionError: an invariant in words \[.*:\d+\]\n", result.stderr)
    assert "Traceback" in run("inspect", "embedding.onnx", "--debug").stderr


def test_an_interrupt_is_exit_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gather_infer.model.open_model", interrupt)
    result = run("inspect", "embedding.onnx")
    assert result.exit_code == 130
    assert result.stderr.strip() == "error: interrupted"


def test_colours_only_where_they_are_wanted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in run("infer", "bad.onnx", color=True).stdout
    assert "\x1b[" not in run("infer", "bad.onnx", "--no-color", color=True).stdout
    assert "\x1b[" not in run("infer", "bad.onnx").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("infer", "bad.onnx", color=True).stdout
    assert "\x1b[" not in run("infer", "missing.onnx", color=True).stderr


def test_json_of_infer(run: Run) -> None:
    result = run("infer", "embedding.onnx", "--dim", "seq=2..16", "--format", "json")
    found = json.loads(result.stdout)
    assert found["schema"] == 1
    assert found["model"]["opsets"] == {"": 17}
    assert [i["name"] for i in found["inputs"]] == ["ids", "scale"]
    assert found["outputs"][0]["shape"] == ["batch", "seq", 8]
    assert found["tensors"][""]["shape"]["values"] == ["batch", "seq"]
    assert found["tensors"][""]["seq_len"] == {
        "kind": "tensor", "dtype": "int64", "shape": [], "values": "seq", "span": None,
    }  # fmt: skip
    assert found["tensors"][""]["at"]["span"] == [0, "seq - 1"]
    assert next((a["node"], a["axis"]) for a in found["accesses"]) == ("/word/Gather", 0)
    assert found["coverage"]["tensors"] == found["coverage"]["exact"]
    assert [d["code"] for d in found["diagnostics"]] == ["GI203"]


def test_json_of_fold_and_convert(run: Run) -> None:
    folded = json.loads(run("fold", "embedding.onnx", "-o", "out.onnx", "--format", "json").stdout)
    assert (folded["before"]["nodes"], folded["after"]["nodes"]) == (11, 9)
    assert [f["name"] for f in folded["folded"]] == ["width"]
    converted = run("convert", "exported.onnx", "-o", "o.onnx", "--gather-oob", "assume-valid", "--format", "json")
    assert [c["indices"] for c in json.loads(converted.stdout)["converted"]] == ["proved", "assumed"]


def test_json_of_explain(run: Run) -> None:
    found = json.loads(run("explain", "embedding.onnx", "hidden", "--format", "json").stdout)
    assert (found["name"], found["type"]["shape"]) == ("hidden", ["batch", "seq", 8])
    step = found["step"]
    assert (step["op_type"], [o["label"] for o in step["operands"]]) == ("Reshape", ["data", "shape"])
    assert step["sources"][0]["asked"] == [8, "batch", "seq"]
    assert found["unknowns"] == []
    assert json.loads(run("explain", "GI301", "--format", "json").stdout)["severity"] == "error"


def test_ops(run: Run) -> None:
    lines = run("ops").stdout.splitlines()
    assert lines[0].split() == ["ai.onnx", "since", "facts", "from", "values", "spans"]
    assert ["Shape", "1,", "15", "ours", "yes"] in [line.split() for line in lines]
    assert re.fullmatch(r"\d+ operators: 4 by the walk, \d+ by a rule of ours, .*", lines[-1])
    found = json.loads(run("ops", "GatherND", "--format", "json").stdout)
    first = found["operators"][0]
    assert (first["domain"], [b["since"] for b in first["behaviours"]]) == ("", [11, 12, 13])


def test_explain_takes_what_infer_takes(run: Run) -> None:
    model = onnx.load("embedding.onnx")
    model.graph.node[5].op_type, model.graph.node[5].domain = "Twice", "com.example"
    del model.graph.node[5].input[1:]
    model.opset_import.add(domain="com.example", version=1)
    onnx.save(model, "custom.onnx")
    Path("mine.py").write_text(RULES)
    assert "known with a rule for com.example.Twice" in run("explain", "custom.onnx", "sum").stdout
    result = run("explain", "custom.onnx", "sum", "--rules", "mine.py", "--dim", "seq=4")
    assert result.stdout.startswith("sum   float32[batch, 4, 8]\n")


def test_standard_streams(run: Run) -> None:
    data = Path("embedding.onnx").read_bytes()
    assert run("inspect", "-", input=data).stdout.startswith("<stdin>")
    assert run("infer", "-", input=b"").exit_code == 3
    done = subprocess.run([*PROGRAM, "fold", "-", "-o", "-"], input=data, capture_output=True, check=True)
    assert len(onnx.ModelProto.FromString(done.stdout).graph.node) == 9
    assert b"folded 1 node" in done.stderr


def test_the_help_tells_of_standard_streams(run: Run) -> None:
    for command in COMMANDS:
        assert "- is standard input" in run(command, "--help").stdout
    for command in ("infer", "fold", "convert"):
        assert "- is standard output" in " ".join(run(command, "--help").stdout.split())


def test_explain_and_convert_read_standard_input(run: Run) -> None:
    data = Path("embedding.onnx").read_bytes()
    assert run("explain", "-", "hidden", input=data).stdout.startswith("hidden   float32[batch, seq, 8]\n")
    assert run("inspect", "embedding.onnx", "-", input=data).stdout.split()[:2] == ["embedding.onnx", "<stdin>"]
    command = ["convert", "-", "-o", "-", "--gather-oob", "assume-valid"]
    exported = Path("exported.onnx").read_bytes()
    done = subprocess.run([*PROGRAM, *command], input=exported, capture_output=True, check=True)
    assert {node.domain for node in onnx.ModelProto.FromString(done.stdout).graph.node} == {""}
    assert done.stderr.startswith(b"<stdin>   2 OpenVINO-style Gathers")


def test_shell_completion_still_works() -> None:
    environment = {
        **os.environ,
        "_GATHER_INFER_COMPLETE": "bash_complete",
        "COMP_WORDS": "gather-infer ex",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain,explain\n", "")


def test_nobody_reads_on(run: Run) -> None:
    model = Path("many.onnx").resolve()
    command = f"{shlex.join(PROGRAM)} infer {model} --all --format json | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{\n", "")
    assert done.returncode in (0, 141)  # 0 when everything fitted into the pipe


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_results_that_cannot_be_written(run: Run) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, "inspect", "many.onnx"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3
    assert done.stderr == "error: standard output: No space left on device\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from gather_infer_cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'onnx', 'numpy', 'google.protobuf', 'onnx_graphsurgeon'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    for page in (["--help"], *([command, "--help"] for command in EVERY_COMMAND)):
        subprocess.run([sys.executable, "-c", code, *page], check=True, capture_output=True)


def test_each_example_of_the_help_works(run: Run) -> None:
    for command in EVERY_COMMAND:
        example = main.commands[command].example
        assert example in run(command, "--help").stdout
        result = run(*shlex.split(example)[1:])
        assert result.exit_code == 0, result.output


def test_without_arguments_the_help_is_shown(run: Run) -> None:
    assert run().stdout == run("--help").stdout


def test_the_console_script_is_this_program() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="gather-infer")
    assert script.load() is main
    assert CliRunner().invoke(main, ["--version"]).stdout == f"gather-infer {metadata.version('gather-infer')}\n"
