"""The scoring of public models notices what it is there for: faults are planted into what the commands make."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, helper, parser

import gather_infer

pytest.importorskip("onnxruntime")

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3] x) => (float[M, 3] y) { two = Concat<axis = 0>(x, x)  a = Identity(two)  y = Relu(a) }"""

Steps = dict[str, dict[str, Any]]


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the scores."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return import_module("public_score")


def steps_of(scores: Any, model: ModelProto, folder: Path) -> Steps:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return {step["step"]: step for step in scores.Score(path, folder, 2, 30.0).steps()}


def kinds(steps: Steps) -> set[tuple[str, str]]:
    return {(name, kind) for name, step in steps.items() for kind, _ in step["findings"]}


def planted(scores: Any, name: str, change: Callable[[ModelProto], None]) -> Callable[..., Any]:
    """The commands, of which one changes the file that it has written."""
    honest = scores.command

    def command(*words: str) -> Any:
        done = honest(*words)
        if words[0] == name and "-o" in words:
            path = words[words.index("-o") + 1]
            model = onnx.load(path)
            change(model)
            onnx.save(model, path)
        return done

    return command


def test_a_model_without_faults_has_no_findings(scores: Any, tmp_path: Path) -> None:
    steps = steps_of(scores, parser.parse_model(MODEL), tmp_path)
    assert not kinds(steps)
    assert list(steps) == ["load", "infer", "contract", "check", "optimize", "fold", "freeze"]
    assert steps["infer"]["runs"] == 2 and steps["infer"]["dims"] == 2 * 8
    assert all(steps[name]["compared"] for name in ("optimize", "fold", "freeze"))


def other_operator(model: ModelProto) -> None:
    model.graph.node[-1].op_type = "Neg"


def no_operator(model: ModelProto) -> None:
    model.graph.node[-1].op_type = "NoSuchOperator"


FAULTS: dict[str, tuple[Callable[[ModelProto], None], set[str]]] = {
    "another operator": (other_operator, {"other bits"}),
    "no operator": (no_operator, {"does not load", "not passed"}),
}


@pytest.mark.parametrize("step", ["optimize", "fold", "freeze"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_result_is_found(
    scores: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: str
) -> None:
    change, expected = FAULTS[fault]
    monkeypatch.setattr(scores, "command", planted(scores, step, change))
    assert kinds(steps_of(scores, parser.parse_model(MODEL), tmp_path)) == {(step, kind) for kind in expected}


def test_a_wrong_dim_is_found(scores: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = parser.parse_model(MODEL)
    other.graph.node[0].input.append("x")
    inference = gather_infer.infer(other)
    monkeypatch.setattr(scores.gather_infer, "infer", lambda path: inference)
    steps = steps_of(scores, parser.parse_model(MODEL), tmp_path)
    assert ("infer", "wrong") in kinds(steps)
    assert "dim 0 inferred 3*N" in steps["infer"]["findings"][0][1]


def test_a_false_error_is_found(scores: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = parser.parse_model(MODEL)
    fails.graph.initializer.append(helper.make_tensor("w", onnx.TensorProto.FLOAT, [2, 2], [1.0] * 4))
    fails.graph.node[1].op_type = "Add"
    fails.graph.node[1].input.append("w")
    check, command = gather_infer.check, scores.command
    monkeypatch.setattr(scores.gather_infer, "check", lambda path: check(fails))
    monkeypatch.setattr(
        scores, "command", lambda *words: scores.Done(1, "", "") if words[0] == "check" else command(*words)
    )
    assert ("check", "false error") in kinds(steps_of(scores, parser.parse_model(MODEL), tmp_path))


def test_an_exception_is_found(scores: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "command", lambda *words: scores.Done(4, "", "error: internal error of gather-infer"))
    steps = steps_of(scores, parser.parse_model(MODEL), tmp_path)
    assert kinds(steps) == {(name, "exception") for name in ("infer", "contract", "check", "optimize", "fold")}
