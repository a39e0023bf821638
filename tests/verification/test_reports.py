"""Texts of a verification, and `fold --verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from gather_infer.report.output_formats import VERIFICATION, OutputFormat, View
from gather_infer.report.verification import verified_lines
from gather_infer.verification import Mismatch, Verification, VerificationRun
from tests.cli.conftest import Run as Command
from tests.cli.conftest import run
from tests.verification.models import fake_runtime

__all__ = ["run"]

RUNS = tuple(VerificationRun((("batch", n), ("seq", n + 1)), "finite") for n in (2, 5))
GOOD: dict[str, Any] = {
    "requested_runs": 2,
    "runs": RUNS,
    "compared_outputs": ("y", "z"),
    "runtime": "onnxruntime",
    "version": "1.31.1",
}
BITS = "  onnxruntime 1.31.1: same kernels, optimizer and weight packing disabled"
BINDINGS = "batch=2 seq=3 | batch=5 seq=6"
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "verified": ({}, [f"verified   2 bindings, 2 outputs, bit-identical    {BINDINGS}", BITS]),
    "within a tolerance": (
        {"rtol": 1e-6, "atol": 0.0, "max_error": 3e-7, "compared_outputs": ("y",)},
        [f"verified   2 bindings, 1 output, within 1e-06 * |original|, largest error 3e-07    {BINDINGS}"],
    ),
    "within two": (
        {"rtol": 1e-6, "atol": 1e-4},
        [f"verified   2 bindings, 2 outputs, within 0.0001 + 1e-06 * |original|    {BINDINGS}"],
    ),
    "sums in any order": (
        {
            "summation_error": 2e-6,
            "max_error": 0.0,
            "runtime": "onnx's reference evaluator",
            "notes": ("onnxruntime is not there",),
        },
        [
            "verified   2 bindings, 2 outputs, within 2e-06 of the largest element, the summation error of onnx's "
            f"reference evaluator, largest error 0    {BINDINGS}",
            "  onnxruntime is not there",
            "  run by onnx's reference evaluator 1.31.1",
        ],
    ),
    "a run without elements": (
        {"runs": (RUNS[0], VerificationRun(RUNS[1].binding, "finite", has_elements=False))},
        [
            f"verified   2 bindings, 2 outputs, bit-identical    {BINDINGS}",
            "  runs with non-empty outputs: 1 of 2",
            BITS,
        ],
    ),
    "steps": (
        {"runs": tuple(VerificationRun(run.binding, "finite", steps=3) for run in RUNS)},
        [f"verified   2 bindings of 3 steps, 2 outputs, bit-identical    {BINDINGS}", BITS],
    ),
    "all random": (
        {"compared_outputs": (), "skipped": (("r", "it depends on random numbers: RandomNormal"),)},
        [
            "nothing to verify: every output depends on random numbers (2 bindings)",
            "  not compared: r, it depends on random numbers: RandomNormal",
        ],
    ),
    "the same sizes twice": (
        {"requested_runs": 3, "runs": (*RUNS, RUNS[0])},
        [f"verified   3 runs at 2 bindings, 2 outputs, bit-identical    {BINDINGS}", BITS],
    ),
    "the same sizes twice, and fewer than wanted": (
        {"requested_runs": 4, "runs": (RUNS[0], RUNS[0])},
        ["verified   2 of 4 runs at 1 binding, 2 outputs, bit-identical    batch=2 seq=3", BITS],
    ),
    "no symbols": (
        {"runs": (VerificationRun((), "finite"),) * 2},
        ["verified   2 runs, 2 outputs, bit-identical", BITS],
    ),
    "fewer than wanted": (
        {"requested_runs": 4, "redraws": 9, "redraw_reason": "no luck"},
        [
            f"verified   2 of 4 bindings, 2 outputs, bit-identical    {BINDINGS}",
            "  repeated draws: 9, last reason: no luck",
            BITS,
        ],
    ),
    "random": (
        {"skipped": (("r", "two runs of the original differ"),)},
        [
            f"verified   2 bindings, 2 outputs, bit-identical    {BINDINGS}",
            "  not compared: r, two runs of the original differ",
            BITS,
        ],
    ),
    "a difference": (
        {"mismatches": (Mismatch("y", "", RUNS[0].binding, (0, 1), "1.0", "2.0"), Mismatch("", "it fails", ()))},
        [
            "verification failed: 2 differences",
            "  output y at batch=2 seq=3: element [0, 1] is 2.0, was 1.0",
            "  it fails",
        ],
    ),
    "many": (
        {"mismatches": (Mismatch("", "no"),) * 6},
        ["verification failed: 6 differences", *["  no"] * 4, "  ... 2 more: --verbose"],
    ),
    "nothing to compare": (
        {"runs": (), "compared_outputs": (), "failure": "it never runs", "runtime": ""},
        ["verification failed: it never runs"],
    ),
    "another runtime": (
        {"runtime": "onnx's reference evaluator", "version": "1.23"},
        [
            f"verified   2 bindings, 2 outputs, bit-identical    {BINDINGS}",
            "  run by onnx's reference evaluator 1.23",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    changes, lines = CASES[name]
    assert VERIFICATION.lines(OutputFormat.TEXT, Verification(**{**GOOD, **changes})) == lines


def test_all_of_it() -> None:
    found = Verification(**{**GOOD, "mismatches": (Mismatch("", "no"),) * 6, "redraws": 1, "redraw_reason": "no luck"})
    lines = VERIFICATION.lines(OutputFormat.TEXT, found, View(verbose=True))
    assert lines.count("  no") == 6
    assert lines[-2:] == [
        "  repeated draws: 1, last reason: no luck",
        "  run by onnxruntime 1.31.1",
    ]


def test_json() -> None:
    changes = CASES["a difference"][0]
    found = json.loads("\n".join(VERIFICATION.lines(OutputFormat.JSON, Verification(**{**GOOD, **changes}))))
    assert found["ok"] is False and found["failure"] is None and found["schema"] == 2
    assert found["runs"][0] == {
        "binding": {"batch": 2, "seq": 3},
        "float_inputs": "finite",
        "has_elements": True,
        "steps": 1,
    }
    assert found["mismatches"][0] == {
        "output": "y",
        "reason": None,
        "binding": {"batch": 2, "seq": 3},
        "index": [0, 1],
        "original": "1.0",
        "rewritten": "2.0",
    }


def test_fold_verifies(run: Command) -> None:
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--verify", "2", "--dim", "seq=1..9")
    assert result.exit_code == 0, result.stderr
    assert "  verified   2 bindings, 1 output, bit-identical    batch=" in result.stdout
    found = json.loads(run("fold", "embedding.onnx", "--dry-run", "--verify", "1", "--format", "json").stdout)
    assert found["verification"]["ok"] is True


def test_fold_writes_nothing_that_is_not_verified(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outputs = len(onnx.load("embedding.onnx").graph.output)
    fake_runtime(monkeypatch, tmp_path / "site", f"return [np.array(self.is_rewritten)] * {outputs}")
    result = run("fold", "embedding.onnx", "-o", "out.onnx", "--verify", "1")
    assert (result.exit_code, result.stderr) == (1, "nothing written\n")
    assert "  verification failed: " in result.stdout and "is True, was False" in result.stdout
    assert not Path("out.onnx").exists()


def test_a_part_of_a_report_is_as_wide_as_the_rest() -> None:
    """In a pipe 120 columns, with the sizes of a run on one line."""
    runs = tuple(VerificationRun(tuple((f"some_dimension_{k}", n) for k in range(3)), "finite") for n in (2, 5, 7))
    found = Verification(**{**GOOD, "runs": runs, "requested_runs": 3})
    for width in (None, 90):
        lines = verified_lines(found, View(width=width))
        assert len(lines) > 2 and max(map(len, lines)) <= (width or 120)
        assert any(line.strip().startswith(f"{runs[1]}") for line in lines)
        assert "\N{NO-BREAK SPACE}" not in "".join(lines)
    text = VERIFICATION.lines(OutputFormat.TEXT, found)
    assert " ".join(" ".join(verified_lines(found, View())).split()) == " ".join(" ".join(text).split())


@pytest.mark.parametrize("command", ["fold", "freeze --dim seq=7", "optimize"])
def test_what_goes_into_a_pipe_is_wrapped(run: Command, command: str) -> None:
    model = onnx.load("embedding.onnx")
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = dim.dim_param + "_of_a_name_that_is_rather_long" * (dim.dim_param != "seq")
    onnx.save(model, "long.onnx")
    arguments = command.split()
    result = run(arguments[0], "long.onnx", "--dry-run", "--verify", "8", *arguments[1:])
    lines = result.stdout[result.stdout.index("  verified ") :].splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 120
