"""Commands on several models: folders, output paths, failures, the order and the formats of the output."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import onnx
import pytest

from gather_infer.contract import Contract
from tests.checks.small_models import called
from tests.cli.conftest import Run
from tests.cli.test_cache import untimed

TREE = ("a/one.onnx", "a/b/two.onnx", "c/one.onnx")


@pytest.fixture
def tree(run: Run) -> Run:
    """Three models in a tree, two of them with the same name."""
    for name in TREE:
        Path("in", name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy("embedding.onnx", Path("in", name))
    return run


def files_below(folder: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()}


def alone(run: Run, *command: str) -> bytes:
    assert run(*command, "-o", "alone.onnx").exit_code == 0
    return Path("alone.onnx").read_bytes()


@pytest.mark.parametrize("command", ["infer", "fold", "optimize"])
def test_the_tree_is_kept(command: str, tree: Run) -> None:
    """Each output has the bytes that the model alone gets."""
    expected = alone(tree, command, "in/a/one.onnx")
    result = tree(command, "in", "-o", "out", "--jobs", "2")
    assert (result.exit_code, files_below("out")) == (0, set(TREE))
    assert all(Path("out", name).read_bytes() == expected for name in TREE)
    order = ["in/a/one.onnx", "in/a/b/two.onnx", "in/c/one.onnx"]
    assert [line.partition(":")[0] for line in result.stdout.splitlines()[:3]] == order
    assert re.fullmatch(r"3 files: no errors, no warnings in \d+\.\d\d s", result.stdout.splitlines()[3])
    assert result.stderr.splitlines() == [f"wrote {os.path.join('out', *name.split('/')[1:])}" for name in order]


def test_the_common_folder_is_that_of_the_arguments(tree: Run) -> None:
    assert tree("fold", "in/a/one.onnx", "in/c/one.onnx", "-o", "out", "-q").exit_code == 0
    assert files_below("out") == {"a/one.onnx", "c/one.onnx"}
    assert tree("fold", "in/a", "-o", "other", "-q").exit_code == 0
    assert files_below("other") == {"one.onnx", "b/two.onnx"}


def test_conversion_renames_irs(run: Run) -> None:
    Path("in").mkdir()
    shutil.copy("exported.onnx", "in/exported.onnx")
    for name in ("cnn.xml", "cnn.bin"):
        shutil.copy(Path("fixtures/openvino", name), Path("in", name))
    result = run("convert", "in", "-o", "out", "--format", "jsonl")
    assert (result.exit_code, files_below("out")) == (0, {"exported.onnx", "cnn.onnx"})
    onnx.checker.check_model("out/cnn.onnx")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["model"]["name"] for each in found] == [str(Path("in/cnn.xml")), str(Path("in/exported.onnx"))]
    assert run("convert", "in/cnn.xml", "-o", "alone.onnx", "--format", "json").exit_code == 0
    assert Path("alone.onnx").read_bytes() == Path("out/cnn.onnx").read_bytes()


def test_an_embedded_contract(run: Run) -> None:
    result = run("contract", "embedding.onnx", "many.onnx", "--embed", "-o", "out")
    assert result.exit_code == 0
    alone(run, "contract", "embedding.onnx", "--embed")
    one, other = Contract.load("out/embedding.onnx"), Contract.load("alone.onnx")
    assert [line.text for line in one.lines] == [line.text for line in other.lines] != []


def refusals(run: Run) -> dict[str, tuple[tuple[str, ...], str]]:
    shutil.copytree("in", "again")
    shutil.copy("fixtures/openvino/cnn.xml", "in/c/one.xml")
    shutil.copy("fixtures/openvino/cnn.bin", "in/c/one.bin")
    Path("link.onnx").symlink_to("in/a/one.onnx")
    return {
        "two models, one output": (("convert", "in/c/one.xml", "in/c/one.onnx"), "would both write this file"),
        "an output is an input": (
            ("fold", "in", "-o", "in"),
            "output of in/a/one.onnx would replace in/a/one.onnx",
        ),
        "by a link": (("fold", "link.onnx", "in/a/one.onnx", "-o", "."), "would replace"),
        "one data file": (
            ("fold", "in/a/one.onnx", "in/a/../a/b/../one.onnx", "--external-data", "w"),
            "would both write this file",
        ),
        "data for two in a folder": (
            ("infer", "embedding.onnx", "many.onnx", "--external-data", "w"),
            "embedding.onnx and many.onnx would both write this file",
        ),
        "data in place of an output": (
            ("infer", "in/a/one.onnx", "in/c/one.onnx", "--external-data", "one.onnx"),
            "would both write this file",
        ),
    }


def test_collisions_are_refused_before_anything_is_written(tree: Run) -> None:
    for name, (command, message) in refusals(tree).items():
        before = {path: Path(path).read_bytes() for path in files_below(".") if os.path.isfile(path)}
        result = tree(*command, *(() if "-o" in command else ("-o", "out")))
        assert (result.exit_code, result.stdout) == (2, ""), name
        assert message in result.stderr and result.stderr.count("\n") == 1, (name, result.stderr)
        assert {path: Path(path).read_bytes() for path in files_below(".") if os.path.isfile(path)} == before, name


def test_a_failure_costs_one_model(tree: Run) -> None:
    """Unreadable, of OpenVINO, refused: the others are written, and the largest code counts."""
    Path("in/a/text.onnx").write_bytes(b"\x08\x08no model")
    shutil.copy("bad.onnx", "in/b.onnx")
    result = tree("infer", "in", "missing.onnx", "-o", "out", "--jobs", "1")
    assert (result.exit_code, files_below("out")) == (3, {f"in/{name}" for name in TREE})
    lines = result.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines[:4]] == [
        "in/b.onnx", "in/a/one.onnx", "in/a/b/two.onnx", "in/c/one.onnx",
    ]  # fmt: skip
    assert lines[4].startswith("4 of 6 files: 1 error in ")
    assert "error: in/a/text.onnx: " in result.stderr and "error: missing.onnx: " in result.stderr
    assert "in/b.onnx: nothing written\n" in result.stderr
    shutil.rmtree("out")
    result = tree("infer", "in/b.onnx", "in/c/one.onnx", "-o", "out")
    assert (result.exit_code, files_below("out")) == (1, {"c/one.onnx"})


def test_a_usage_error_of_one_model(run: Run) -> None:
    """Only one of the models has the dim: the other is processed."""
    result = run("cost", "embedding.onnx", "many.onnx", "--dim", "seq=1..x")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: embedding.onnx: dim 'seq': bounds must read LOW..HIGH")
    assert result.stdout.startswith("many.onnx: macs ")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", [("optimize", "--dry-run"), ("contract",), ("cost",), ("convert", "--dry-run")])
def test_formats(command: tuple[str, ...], run: Run) -> None:
    """The objects are those of each model alone, in the order of the arguments; an error has an object, too."""
    models = ("many.onnx", "missing.onnx", "embedding.onnx")
    objects = [json.loads(run(*command, name, "--format", "json").stdout) for name in (models[0], models[2])]
    missing = {"schema": 2, "model": {"name": "missing.onnx"}, "error": "missing.onnx: No such file or directory"}
    together = run(*command, *models, "--format", "json")
    assert together.exit_code == 3
    assert json.loads(together.stdout) == {"schema": 2, "models": [objects[0], missing, objects[1]]}
    lines = run(*command, *models, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [objects[0], missing, objects[1]]
    (single,) = run(*command, models[0], "--format", "jsonl").stdout.splitlines()
    assert json.loads(single) == objects[0]
    verbose = run(*command, *models, "-v").stdout
    plain = re.compile(r"(\n\n\d+ nodes?)? +\d+\.\d\d s$", re.MULTILINE)
    whole = [plain.sub("", run(*command, name, "-v").stdout).rstrip() for name in (models[0], models[2])]
    assert all(report in verbose for report in whole)


LINES = {
    ("optimize", "--dry-run"): [
        r"embedding\.onnx: \d+ -> \d+ nodes, \d+ rewrites",
        r"bad\.onnx: \d+ -> \d+ nodes?, \d+ rewrites?; 1 error",
    ],
    ("contract",): [
        r"embedding\.onnx: -100 <= ids < 100, seq <= 16",
        r"bad\.onnx: no lines; 1 error",
    ],
    ("cost",): [r"embedding\.onnx: macs .+; parameters .+; peak .+", r"bad\.onnx: macs 0; parameters .+; peak .+"],
}


@pytest.mark.parametrize("command", LINES, ids=lambda command: command[0])
def test_a_line_each(command: tuple[str, ...], run: Run) -> None:
    result = run(*command, "embedding.onnx", "bad.onnx")
    for line, pattern in zip(result.stdout.splitlines(), LINES[command], strict=False):
        assert re.fullmatch(pattern, line), line


def test_sizes_of_several_models(run: Run) -> None:
    result = run("cost", "embedding.onnx", "many.onnx", "--at", "batch=2,seq=16", "--format", "jsonl")
    sizes = [json.loads(line)["sizes"] for line in result.stdout.splitlines()]
    assert sizes[0] == {"batch": 2, "seq": 16} and sizes[1].keys() <= {"batch", "seq"}
    result = run("cost", "embedding.onnx", "many.onnx", "--at", "sec=1")
    assert result.exit_code == 2
    assert result.stderr == "error: no model has an input or an input dim with the name 'sec'\n"


def test_in_place(tree: Run) -> None:
    expected = alone(tree, "fold", "in/a/one.onnx")
    assert tree("fold", "in", "--in-place").exit_code == 0
    assert all(Path("in", name).read_bytes() == expected for name in TREE)


def test_a_model_that_crashes_its_process(run: Run) -> None:
    """The process of one model ends twice; the other model has its report."""
    onnx.save(called("Killer"), "killer.onnx")
    killing = Path(__file__).parents[1] / "checks" / "killing.py"
    result = run("infer", "killer.onnx", "embedding.onnx", "--rules", str(killing), "--format", "jsonl", "--jobs", "1")
    assert result.exit_code == 4
    killed, other = map(json.loads, result.stdout.splitlines())
    assert killed["error"] == "killer.onnx: its process ended by SIGKILL" and other["coverage"]["tensors"] == 19


def test_a_cache_of_written_models(tree: Run) -> None:
    """A result is reused while its files are there as they were written."""
    command = ("optimize", "in", "-o", "out", "--cache", "c", "--jobs", "1")
    first = tree(*command)
    written = {name: Path("out", name).stat().st_mtime_ns for name in TREE}
    second = tree(*command)
    assert (untimed(second.stdout), second.stderr) == (untimed(first.stdout), first.stderr)
    assert {name: Path("out", name).stat().st_mtime_ns for name in TREE} == written, "nothing is written again"
    expected = Path("out/a/one.onnx").read_bytes()
    Path("out/a/one.onnx").write_bytes(b"changed")
    Path("out/c/one.onnx").unlink()
    assert tree(*command).exit_code == 0
    assert Path("out/a/one.onnx").read_bytes() == Path("out/c/one.onnx").read_bytes() == expected
    assert Path("out/a/b/two.onnx").stat().st_mtime_ns == written["a/b/two.onnx"]


def test_a_changed_option_is_another_result(run: Run) -> None:
    command = ("cost", "embedding.onnx", "many.onnx", "--cache", "c", "--jobs", "1", "--format", "jsonl")
    outputs = [run(*command, *more).stdout for more in ((), ("--at", "seq=3"), ("--no-assume",), ("--dim", "seq=3"))]
    assert outputs[0] != outputs[1] and outputs[0] != outputs[3]
    assert [run(*command).stdout, run(*command, "--at", "seq=3").stdout] == outputs[:2]
    text = run(*command[:-2]).stdout
    assert text.startswith("embedding.onnx: macs ")


def test_errors_are_not_stored(run: Run) -> None:
    """A folder is in the place of an output at first."""
    Path("out").mkdir()
    Path("out/embedding.onnx").mkdir()
    command = ("infer", "embedding.onnx", "many.onnx", "-o", "out", "--cache", "c", "--jobs", "1")
    assert run(*command).exit_code == 2
    Path("out/embedding.onnx").rmdir()
    assert run(*command).exit_code == 0
    assert Path("out/embedding.onnx").is_file()
