"""`--cache DIR`: the second run prints the same, and notices whatever has changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import onnx
import pytest

from tests.checks.small_models import called, lookup
from tests.cli.conftest import Run

FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github", "html")
RULES = """
from gather_infer import RuleSet
rules = RuleSet("com.example")
@rules.rule("Op")
def op(call): return [call.tensor(0)]
"""


def untimed(text: str) -> str:
    text = re.sub(r" in \d+\.\d\d s", "", text)
    return re.sub(r'("?(seconds|time|timestamp)"?[:=] ?)("[^"]*"|[\d.e-]+)', r"\1", text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("verbose", [(), ("-v",)], ids=["plain", "verbose"])
def test_a_second_run_prints_the_same(form: str, verbose: tuple[str, ...], run: Run) -> None:
    Path("text.onnx").write_bytes(b"\x08\x08no model")
    models = ["bad.onnx", "embedding.onnx", "many.onnx", "exported.onnx", "missing.onnx", "text.onnx"]
    models += ["fixtures/openvino/cnn.xml", "fixtures/lstm-tagger-torchscript.onnx"]
    command = ["check", *models, "--format", form, *verbose, "--jobs", "1"]
    plain, first, second = run(*command), run(*command, "--cache", "c"), run(*command, "--cache", "c")
    assert untimed(plain.output) == untimed(first.output) == untimed(second.output)
    assert plain.exit_code == first.exit_code == second.exit_code == 3
    assert len(list(Path("c").glob("??/*"))) == len(models) - 1, "the missing file has no entry"


def test_a_single_model_and_standard_input(run: Run) -> None:
    for _ in range(2):
        result = run("check", "bad.onnx", "--cache", "c")
        assert result.exit_code == 1 and "error[GI301]" in result.stdout
        assert run("check", "-", "--cache", "c", input=Path("bad.onnx").read_bytes()).exit_code == 1
    assert len(list(Path("c").glob("??/*"))) == 1


def test_a_model_alone_is_another_task(run: Run) -> None:
    """Its unknown names are usage errors; among others they may belong to another model."""
    run("check", "embedding.onnx", "many.onnx", "--dim", "n=1..", "--cache", "c")
    assert run("check", "embedding.onnx", "--dim", "n=1..", "--cache", "c").exit_code == 2


def test_a_changed_baseline_counts(run: Run) -> None:
    command = ["check", "bad.onnx", "--baseline", "b.json", "--cache", "c"]
    assert run(*command, "--write-baseline").exit_code == 0
    assert run(*command).exit_code == 0
    Path("b.json").write_text('{"schema": 2, "findings": []}')
    assert run(*command).exit_code == 1


def test_a_changed_configuration_counts(run: Run) -> None:
    command = ["check", "embedding.onnx", "--cache", "c"]
    table = Path("pyproject.toml")
    codes = []
    for keys in ("", 'dim = ["seq=1..17"]', 'dim = ["seq=1..16"]', 'fail-on = "note"', 'range = ["ids=0..100"]', ""):
        table.write_text(f"[tool.gather-infer]\n{keys}\n")
        codes.append((run(*command).exit_code, run(*command).exit_code))
    assert codes == [(0, 0), (1, 1), (0, 0), (1, 1), (1, 1), (0, 0)]


def test_rules_disable_the_cache(run: Run) -> None:
    onnx.save(called("Op"), "op.onnx")
    for name, returned, code in (("a.py", "[call.tensor(0)]", 0), ("b.py", "[]", 2)):
        Path(name).write_text(RULES.replace("[call.tensor(0)]", returned))
        result = run("check", "op.onnx", "--rules", name, "--cache", "c")
        assert result.exit_code == code, result.output
        assert result.stderr.startswith("--cache is not used: the results depend on rules or extensions")
    assert not Path("c").exists()


def test_a_replaced_model_counts(run: Run) -> None:
    onnx.save(lookup(), "m.onnx")
    assert run("check", "m.onnx", "--cache", "c").exit_code == 0
    onnx.save(lookup(index=9), "m.onnx")
    assert run("check", "m.onnx", "--cache", "c").exit_code == 1
    shutil.rmtree("c")  # as the documentation says
    assert run("check", "m.onnx", "--cache", "c").exit_code == 1


def test_a_folder_that_cannot_be_written(run: Run) -> None:
    result = run("check", "bad.onnx", "--cache", "embedding.onnx")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "error: cache embedding.onnx: File exists\n"
    result = run("check", "bad.onnx", "--cache", "")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        "error: --cache needs the name of a folder, found ''",
    )
