"""`--initializers-as-constants`, of every command that is told of the inputs."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import click
import onnx
import pytest
from gather_infer_cli.main import COMMANDS

import gather_infer
from gather_infer.inference.defaults import ADVICE
from gather_infer.testing import assert_model_ok
from tests.cli.conftest import Run
from tests.inference.test_defaults import ALL, parsed

OPTION = "--initializers-as-constants"
OUTPUT = ["-o", "out.onnx"]

TOLD = {
    # command: (further arguments, what is said without the option, what with it)
    "infer": ([], "float32[N, topk_0]", "float32[N, 2]"),
    "check": ([], "GI119", "1 warning in"),
    "contract": ([], "topk_0 <= 12 depends on data", "no line: for all inputs"),
    "cost": ([], "topk_0", "in N\n"),
    "explain": (["z"], f"known with {OPTION}", "float32[N, 2]"),
    "tensors": (["z"], "float32[N, topk_0]", "float32[N, 2]"),
    "fold": (OUTPUT, "nothing to do", "fold-constants 1"),
    "optimize": (OUTPUT, "nothing to do", "fold-constants 1"),
    "freeze": ([*OUTPUT, "--dim", "N=2"], "GI119", "out  z   [...] -> [2, 2]"),
    "extract": ([*OUTPUT, "--outputs", "z"], "k   int64[1]", "float32[N, 12]\n  out"),
    "outputs": ([*OUTPUT, "--keep", "z"], "k   int64[1]", "float32[N, 12]\n  out"),
    "convert": (OUTPUT, "4 inputs and 3 outputs", "1 input and 3 outputs"),
}


def options_of(command: str) -> set[str]:
    found: click.Command = import_module(f"gather_infer_cli.{command}").command
    return {name for parameter in found.params for name in parameter.opts}


def test_every_command_that_takes_input_constraints() -> None:
    """No command can print an advice that it does not take itself."""
    assert ADVICE.startswith(OPTION)
    takes = {command for command in COMMANDS if "--dim" in options_of(command)} - {
        "rename",
        "unfreeze",
    }  # which name dims
    assert takes == TOLD.keys() | {"compose", "diff", "page"}  # which give no such advice
    assert all(OPTION in options_of(command) for command in takes)


@pytest.mark.parametrize("command", TOLD)
def test_what_it_makes_of_them(command: str, run: Run) -> None:
    more, before, after = TOLD[command]
    onnx.save(parsed(ALL), "m.onnx")
    told = run(command, "m.onnx", *more)
    assert before in told.output and after not in told.output
    told = run(command, "m.onnx", *more, OPTION)
    assert before not in told.output and after in told.output
    if OUTPUT[0] in more:
        written = onnx.load("out.onnx")
        assert [value.name for value in written.graph.input] == ["x"]


def test_the_option_of_codes(run: Run) -> None:
    assert "--initializers-as-constants needs MODEL TENSOR" in run("explain", "GI301", OPTION).stderr


def test_many_files_and_the_project(run: Run) -> None:
    for name in ("a.onnx", "b.onnx"):
        onnx.save(parsed(ALL), name)

    def warned(*more: str) -> list[bool]:
        told = run("check", "a.onnx", "b.onnx", "--jobs", "2", "--format", "jsonl", *more)
        return ["GI119" in line for line in told.stdout.splitlines()][:2]

    assert warned() == [True, True]
    assert warned(OPTION) == [False, False]
    Path("pyproject.toml").write_text("[tool.gather-infer]\ninitializers-as-constants = true\n")
    assert warned() == [False, False]


def test_constraints_of_such_an_input_are_refused(run: Run) -> None:
    onnx.save(parsed(ALL), "m.onnx")
    told = run("check", "m.onnx", "--range", "k=1..2", OPTION)
    assert (told.exit_code, "no input 'k'" in told.stderr) == (2, True), told.stderr


def test_in_python() -> None:
    model = parsed(ALL)

    def codes(is_constant: bool) -> set[str]:
        return {d.code for d in gather_infer.check(model, initializers_as_constants=is_constant).diagnostics}

    assert "GI119" in codes(False) and "GI119" not in codes(True)
    assert_model_ok(model, initializers_as_constants=True, fail_on="warning", ignore=["GI115", "GI322"])
    assert str(gather_infer.explain(model, "z", initializers_as_constants=True).value) == "float32[N, 2]"
    contract = gather_infer.contract_of(model, initializers_as_constants=True)
    assert not contract.contract.open and json.loads(contract.embedded().metadata_props[0].value)
    assert [i.name for i in gather_infer.convert(model, initializers_as_constants=True).proto.graph.input] == ["x"]
