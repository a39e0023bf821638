"""`gather-infer check`: options, exit codes, and what a project says once and for all."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

from gather_infer.checks.result import CheckResult
from gather_infer.pool.executors import in_order
from tests.checks.small_models import called, lookup
from tests.cli.cli_models import embedding
from tests.cli.conftest import PROGRAM, Run

EXITS = {
    # arguments: exit code
    "embedding.onnx": 0,
    "bad.onnx": 1,
    "bad.onnx --exit-zero": 0,
    "bad.onnx --ignore GI301": 0,
    "bad.onnx --ignore GI3": 0,
    "bad.onnx --select GI1,GI2": 0,
    "bad.onnx --select GI301 --ignore GI3": 1,
    "embedding.onnx --fail-on warning": 0,
    "embedding.onnx --fail-on note": 1,
    "embedding.onnx --strict": 0,
    "embedding.onnx --strict --fail-on note": 2,
    "embedding.onnx --fail-on note --dim seq=1..16 --range ids=0..99 --ignore GI203": 0,
    "embedding.onnx --dim seq=1..17": 1,
    "embedding.onnx --range ids=0..100": 1,
    "embedding.onnx bad.onnx": 1,
    "embedding.onnx missing.onnx": 3,
    "bad.onnx missing.onnx --exit-zero": 3,
    "missing.onnx --ignore GI0": 3,
    "embedding.onnx --dim sequence=4": 2,
    "embedding.onnx --range words=0..4": 2,
    "embedding.onnx bad.onnx --dim sequence=4": 2,
    "embedding.onnx bad.onnx --dim seq=4": 0 + 1,
    "bad.onnx --select GI9": 2,
    "bad.onnx --fail-on never": 2,
    "bad.onnx --baseline missing.json": 2,
    "bad.onnx --write-baseline": 2,
    "bad.onnx --jobs 0": 2,
    "bad.onnx --statistics": 1,
    "bad.onnx --statistics --format sarif": 2,
    ".": 1,
    "- -": 2,
    "": 2,
}


@pytest.mark.parametrize("arguments", EXITS)
def test_exit_codes(arguments: str, run: Run) -> None:
    result = run("check", *shlex.split(arguments))
    assert result.exit_code == EXITS[arguments], result.output


def test_a_folder_stands_for_every_model_below_it(run: Run) -> None:
    for folder in ("models/b", "models/a", "models/.hidden"):
        Path(folder).mkdir(parents=True)
        for name in ("net.onnx", "net.xml", "alone.xml", "net.bin", "notes.txt"):
            Path(folder, name).write_bytes(Path("bad.onnx").read_bytes())
    found = json.loads(run("check", "models", "embedding.onnx", "--format", "json").stdout)
    names = [m["name"] for m in found["models"]]
    below = [f"models/{folder}/net.{suffix}" for folder in "ab" for suffix in ("onnx", "xml")]
    assert names == [*below, "embedding.onnx"]


def test_a_folder_without_models_is_a_mistake(run: Run) -> None:
    Path("empty").mkdir()
    told = run("check", "empty")
    assert told.stderr == "error: empty: no models below this folder: no .onnx, no .xml with its .bin\n"


def test_statistics_count_findings_by_code(run: Run) -> None:
    Path("worse.onnx").write_bytes(Path("bad.onnx").read_bytes())
    told = run("check", "bad.onnx", "worse.onnx", "embedding.onnx", "--statistics")
    assert told.exit_code == 1
    lines = told.stdout.splitlines()
    assert lines[0] == "2  error    GI301  in 2 files  a constant index is out of bounds"
    assert lines[-1].startswith("3 files: 2 errors in ") and "-->" not in told.stdout
    found = json.loads(run("check", "bad.onnx", "--statistics", "--format", "json").stdout)
    assert found["statistics"] == [{"code": "GI301", "severity": "error", "findings": 1, "files": 1}]
    assert json.loads(run("check", "bad.onnx", "--format", "json").stdout)["statistics"] is None


def test_what_no_model_has_is_a_mistake(run: Run) -> None:
    result = run("check", "embedding.onnx", "bad.onnx", "--dim", "seq=4", "--dim", "past=2")
    assert result.stderr == "error: no model has an input or an input dim with the name 'past'\n"


def test_standard_input(run: Run) -> None:
    result = run("check", "-", "embedding.onnx", input=lookup(index=9).SerializeToString())
    assert result.exit_code == 1
    assert "  --> <stdin>: node pick (Gather-13)\n" in result.stdout
    assert "<stdin>: 1 error; 1 access: 1 violated\n" in result.stdout
    alone = run("check", "-", input=b"no model")
    assert (alone.exit_code, "error[GI001]: " in alone.stdout) == (3, True)


def test_forms_for_other_programs_list_files_as_they_were_named(run: Run) -> None:
    models = ["missing.onnx", "embedding.onnx", "bad.onnx"]
    found = json.loads(run("check", *models, "--format", "json").stdout)
    assert [m["name"] for m in found["models"]] == models
    assert [m["fails"] for m in found["models"]] == [True, False, True]
    sarif = json.loads(run("check", *models, "--format", "sarif").stdout)
    assert {each["ruleId"] for each in sarif["runs"][0]["results"] if each["level"] == "error"} == {"GI001", "GI301"}
    assert run("check", *models, "--format", "junit").stdout.count("<testsuite ") == 3
    told = run("check", *models, "--format", "github").stdout.splitlines()
    assert sorted(line.split("title=")[1][:5] for line in told) == ["GI001", "GI301"]


def test_the_same_file_twice_is_checked_once(run: Run) -> None:
    result = run("check", "bad.onnx", "bad.onnx", "--format", "json")
    assert [m["name"] for m in json.loads(result.stdout)["models"]] == ["bad.onnx"]


def test_baselines(run: Run) -> None:
    written = run("check", "bad.onnx", "embedding.onnx", "--baseline", "accepted.json", "--write-baseline")
    assert (written.exit_code, written.stderr) == (0, "wrote accepted.json: 1 accepted\n")
    accepted = run("check", "bad.onnx", "--baseline", "accepted.json")
    assert accepted.exit_code == 0
    assert accepted.stdout.splitlines()[-1].startswith("no errors, no warnings, 1 accepted by the baseline in ")
    Path("bad.onnx").write_bytes(embedding().SerializeToString())
    mended = run("check", "bad.onnx", "--baseline", "accepted.json")
    assert "the baseline has 1 finding that no longer occurs: --write-baseline removes it\n" in mended.stdout


def test_rules_in_other_processes(run: Run) -> None:
    Path("rules.py").write_text(
        "from gather_infer import RuleSet\n"
        'rules = RuleSet("com.example")\n'
        '@rules.rule("Twice")\n'
        "def twice(op):\n    return [op.tensor(0)]\n"
    )
    for name in ("one.onnx", "two.onnx"):
        Path(name).write_bytes(called("Twice").SerializeToString())
    assert run("check", "one.onnx", "two.onnx", "--fail-on", "warning").exit_code == 1
    assert run("check", "one.onnx", "two.onnx", "--strict").exit_code == 1
    assert run("check", "one.onnx", "two.onnx", "--fail-on", "warning", "--rules", "rules.py").exit_code == 0
    Path("rules.py").write_text("rules = 1\n")
    told = run("check", "one.onnx", "two.onnx", "--rules", "rules.py")
    assert told.stderr == "error: --rules rules.py: defines no RuleSet at module level\n"


# what a project says once and for all


def project(text: str, folder: str = ".") -> None:
    Path(folder, "pyproject.toml").write_text(f"[project]\nname = 'models'\n{text}")


CONFIGURED = {
    # keys: (arguments, exit code)
    "": ("bad.onnx", 1),
    "ignore = ['GI301']": ("bad.onnx", 0),
    "ignore = 'GI301'": ("bad.onnx", 0),
    "ignore = ['GI301'] ": ("bad.onnx --ignore GI1", 1),
    "select = ['GI1']": ("bad.onnx", 0),
    "fail-on = 'note'": ("embedding.onnx", 1),
    "fail-on = 'note' ": ("embedding.onnx --fail-on error", 0),
    "exit-zero = true": ("bad.onnx", 0),
    "dim = ['seq=1..17']": ("embedding.onnx", 1),
    "dim = ['seq=1..17'] ": ("embedding.onnx --dim seq=1..16", 0),
    "dim = ['past=1..17']": ("embedding.onnx", 0),
    "range = ['ids=0..100']": ("embedding.onnx", 1),
    "input = ['ids=[4, 17]']": ("embedding.onnx", 1),
    "jobs = 1": ("embedding.onnx bad.onnx", 1),
    "baseline = 'gone.json'": ("bad.onnx", 2),
}


@pytest.mark.parametrize("keys", CONFIGURED)
def test_a_project_says_it_once(keys: str, run: Run) -> None:
    arguments, code = CONFIGURED[keys]
    project(f"[tool.gather-infer]\n{keys}\n")
    result = run("check", *shlex.split(arguments))
    assert result.exit_code == code, result.output


FAULTS = {
    # keys: what is said of them
    "selct = ['GI1']": "[tool.gather-infer] has no key 'selct'; did you mean 'select'?",
    "colour = true": "[tool.gather-infer] has no key 'colour'; there are select, ignore, fail-on, baseline, exit-",
    "select = 3": "[tool.gather-infer] select must be a list of codes, is 3",
    "fail-on = 'never'": "[tool.gather-infer] fail-on must be error, warning or note, is 'never'",
    "jobs = 0": "[tool.gather-infer] jobs must be a number of 1 or more, is 0",
    "exit-zero = 1": "[tool.gather-infer] exit-zero must be true or false, is 1",
    "select = ": "Invalid value",
}


@pytest.mark.parametrize("keys", FAULTS)
def test_what_a_project_cannot_say(keys: str, run: Run) -> None:
    project(f"[tool.gather-infer]\n{keys}\n")
    result = run("check", "embedding.onnx")
    assert result.exit_code == 2
    assert FAULTS[keys] in result.stderr and "pyproject.toml: " in result.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_project_file_in_utf_16_is_an_error(encoding: str, run: Run) -> None:
    Path("pyproject.toml").write_bytes("[tool.gather-infer]\nignore = ['GI301']\n".encode(encoding))
    told = run("check", "bad.onnx")
    assert (told.exit_code, told.stderr.endswith("pyproject.toml: must be UTF-8, as all TOML, is UTF-16\n")) == (
        2,
        True,
    )
    Path("pyproject.toml").write_bytes("[project]\nname = 'other'\n".encode(encoding))
    assert run("check", "bad.onnx").exit_code == 1


def test_a_mark_of_the_byte_order_in_utf_8_is_passed_over(run: Run) -> None:
    Path("pyproject.toml").write_bytes("[tool.gather-infer]\nignore = ['GI301']\n".encode("utf-8-sig"))
    assert run("check", "bad.onnx").exit_code == 0


def test_rules_of_a_project_are_code_and_run_only_when_it_is_trusted(run: Run) -> None:
    Path("rules.py").write_text(
        "from pathlib import Path\nfrom gather_infer import RuleSet\n"
        "Path('ran').touch()\n"
        'rules = RuleSet("com.example")\n@rules.rule("Twice")\ndef twice(op):\n    return [op.tensor(0)]\n'
    )
    Path("one.onnx").write_bytes(called("Twice").SerializeToString())
    project("[tool.gather-infer]\nrules = ['rules.py']\n")
    told = run("check", "one.onnx", "--strict")
    assert (told.exit_code, Path("ran").exists()) == (1, False)
    assert "pyproject.toml are not loaded: --trust-config runs " in told.stderr
    trusted = run("check", "one.onnx", "--strict", "--trust-config")
    assert (trusted.exit_code, trusted.stderr, Path("ran").exists()) == (0, "", True)
    assert run("check", "one.onnx", "--strict", "--rules", "rules.py").stderr == ""


def test_the_nearest_table_counts_and_paths_are_meant_from_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("check", "bad.onnx", "--baseline", "accepted.json", "--write-baseline")
    project("[tool.gather-infer]\nbaseline = 'accepted.json'\n")
    Path("below/inner").mkdir(parents=True)
    project("", "below")  # has no table
    monkeypatch.chdir("below/inner")
    assert run("check", "../../bad.onnx").exit_code == 0


def test_nothing_is_written_when_a_process_is_asked(tmp_path: Path) -> None:
    """As a program of its own, with another directory for the models: the way that hooks and actions call it."""
    (tmp_path / "models").mkdir()
    onnx.save(lookup(), tmp_path / "models/good.onnx")
    onnx.save(lookup(index=9), tmp_path / "models/bad.onnx")
    told = subprocess.run(
        [*PROGRAM, "check", "models/good.onnx", "models/bad.onnx"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (told.returncode, told.stderr) == (1, "")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["bad.onnx", "good.onnx", "models"]


SLOW = """
import time
from gather_infer import OpCall, RuleSet, SymbolicTensor

rules = RuleSet("com.example")


@rules.rule("Wait")
def wait(op: OpCall) -> list[SymbolicTensor]:
    time.sleep(1.0)
    return [op.tensor(0)]
"""


@pytest.fixture
def slow(run: Run) -> list[str]:
    """Arguments that check a slow file, a quick one and one that is none, two at a time."""
    Path("slow.py").write_text(SLOW)
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18, "com.example": 1]> g (float[N] x) => (float[N] y)'
        " { y = com.example.Wait (x) }"
    )
    onnx.save(made, "slow.onnx")
    return ["slow.onnx", "embedding.onnx", "missing.onnx", "--jobs", "2", "--rules", "slow.py"]


def test_files_are_reported_in_the_order_of_the_arguments(slow: list[str], run: Run) -> None:
    """Whichever is done first."""
    names = slow[:3]
    lines = run("check", *slow).stdout.splitlines()
    told = [name for line in lines[:-1] for name in names if line.startswith(f"{name}:") or f"> {name}" in line]
    assert list(dict.fromkeys(told)) == names
    github = run("check", *slow, "--format", "github", "--fail-on", "note").stdout
    assert [name for name in names if f"file={name}" in github][-1] == "missing.onnx"


def test_lines_of_json_are_those_of_json(slow: list[str], run: Run) -> None:
    def untimed(result: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in result.items() if key != "seconds"}

    whole = run("check", *slow, "--format", "json")
    lines = run("check", *slow, "--format", "jsonl")
    assert whole.exit_code == lines.exit_code == 3
    found = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [each["name"] for each in found] == slow[:3]
    assert [untimed(each) for each in found] == [
        {"schema": 2, **untimed(each)} for each in json.loads(whole.stdout)["models"]
    ]


def test_a_file_is_reported_as_soon_as_those_before_it_are() -> None:
    """Of c, a, d, b as they arrive: a with the second, b, c and d with the last."""
    seen: list[str] = []

    def arriving() -> Iterator[CheckResult]:
        for name in "cadb":
            seen.append(name)
            yield CheckResult(name)

    told = [(result.model, "".join(seen)) for result in in_order("abcd", arriving(), _name)]
    assert told == [("a", "ca"), ("b", "cadb"), ("c", "cadb"), ("d", "cadb")]


def _name(result: CheckResult) -> str:
    return result.model
