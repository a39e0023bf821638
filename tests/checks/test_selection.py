"""Which findings are told: selected, ignored, accepted by a baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gather_infer import CheckResult, Diagnostic, Severity, UsageError
from gather_infer import diagnostic as codes_table
from gather_infer.checks.baseline import Baseline, write_baseline
from gather_infer.checks.selection import Selection, read_codes
from gather_infer.diagnostic import Location, diagnostic, ranges_of

CODES = ("GI101", "GI201", "GI301", "GI302", "GI310")


def result(*codes: str, model: str = "m.onnx") -> CheckResult:
    return CheckResult(model, tuple(diagnostic(code, "said", Location(value=code)) for code in codes))


def codes(found: CheckResult) -> str:
    return " ".join(d.code for d in found.diagnostics)


SELECTED = {
    # id: (select, ignore, what is left)
    "everything": ("", "", "GI101 GI201 GI301 GI302 GI310"),
    "one": ("GI301", "", "GI301"),
    "a group": ("GI3", "", "GI301 GI302 GI310"),
    "a smaller group": ("GI30", "", "GI301 GI302"),
    "two": ("GI1,GI310", "", "GI101 GI310"),
    "without": ("", "GI3", "GI101 GI201"),
    "without one of a group": ("GI3", "GI302", "GI301 GI310"),
    "the longer decides": ("GI301", "GI3", "GI301"),
    "the same both ways": ("GI301", "GI301", ""),
    "small letters": ("gi2", "", "GI201"),
}


@pytest.mark.parametrize("name", SELECTED)
def test_selection(name: str) -> None:
    select, ignore, left = SELECTED[name]
    texts = [(text,) if text else () for text in (select, ignore)]
    selection = Selection(read_codes(texts[0], "--select"), read_codes(texts[1], "--ignore"))
    assert codes(selection.of(result(*CODES))) == left


ALL = ranges_of(codes_table.CODES)
WRONG = {
    # text: what is said of it
    "GI999": f"no code begins with 'GI999'; there are {ALL}",
    "foo": f"no code begins with 'foo'; there are {ALL}",
    "E5": f"no code begins with 'E5'; there are {ALL}",
    "GI333": "no code begins with 'GI333'; there are GI301 to GI310, GI321 to GI324",
    "GI3x": "no code begins with 'GI3x'; there are GI301 to GI310, GI321 to GI324",
    "GI503": "no code begins with 'GI503'; there are GI501, GI502",
    "301": "no code begins with '301'; did you mean 'GI301'?",
    "GI3O1": "no code begins with 'GI3O1'; did you mean 'GI301'?",
    "gi-0301": "no code begins with 'gi-0301'; did you mean 'GI301'?",
    "GI301 gi302": "no code begins with 'GI301 gi302'; codes are joined by commas: GI301,gi302",
    "GI301 foo": "no code begins with 'GI301 foo'; there are GI301 to GI310, GI321 to GI324",
}


@pytest.mark.parametrize("text", WRONG)
def test_codes_that_there_are_not(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_codes(["GI301", f"GI302,{text}"], "--ignore")
    assert str(caught.value) == f"--ignore: {WRONG[text]}"


@pytest.mark.parametrize("text", ["", "GI301,", ",", " "])
def test_codes_that_are_left_out(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_codes([text], "--select")
    assert str(caught.value) == f"--select must read CODE,CODE, found {text!r}"


def test_ranges_of_codes() -> None:
    """Each code that there is, and no other, is in what a wrong one is answered with."""
    named: list[str] = []
    for part in ALL.split(", "):
        first, _, last = part.partition(" to ")
        named += [f"GI{number:03}" for number in range(int(first[2:]), int((last or first)[2:]) + 1)]
    assert named == list(codes_table.CODES)


def test_an_unchecked_file_is_always_reported() -> None:
    assert codes(Selection(("GI3",), ("GI0",)).of(result("GI001"))) == "GI001"


def test_a_baseline_accepts_as_many_as_there_were(tmp_path: Path) -> None:
    file = tmp_path / "accepted.json"
    models = [str(tmp_path / name) for name in ("a.onnx", "b.onnx")]
    before = [result("GI101", "GI301", "GI301", "GI302", model=models[0]), result("GI301", model=models[1])]
    assert write_baseline(file, before, Severity.WARNING) == 4
    stated = json.loads(file.read_text())
    assert [(e["model"], e["code"], e.get("count", 1)) for e in stated["findings"]] == [
        ("a.onnx", "GI101", 1), ("a.onnx", "GI301", 2), ("b.onnx", "GI301", 1)
    ]  # fmt: skip
    baseline = Baseline.read(file)
    after = [result("GI301", "GI301", "GI301", "GI302", model=models[0]), result("GI201", "GI301", model=models[1])]
    assert [codes(baseline.without_accepted(each)) for each in after] == ["GI301 GI302", "GI201"]
    assert (baseline.accepted, baseline.unused(after), baseline.unused(after[1:])) == (3, 1, 0)


def test_a_baseline_moves_with_its_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    write_baseline(tmp_path / "one/accepted.json", [result("GI301", model=str(tmp_path / "one/m.onnx"))], Severity.NOTE)
    (tmp_path / "one/accepted.json").rename(tmp_path / "two/accepted.json")
    baseline = Baseline.read(tmp_path / "two/accepted.json")
    assert codes(baseline.without_accepted(result("GI301", model=str(tmp_path / "two/m.onnx")))) == ""
    assert codes(baseline.without_accepted(result("GI301", model=str(tmp_path / "one/m.onnx")))) == "GI301"


BROKEN = {
    "no JSON": "findings",
    "no object": "[]",
    "another version": '{"version": 2, "findings": []}',
    "no findings": '{"schema": 2}',
    "a member missing": '{"schema": 2, "findings": [{"code": "GI301"}]}',
    "no objects": '{"schema": 2, "findings": [3]}',
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_baselines(name: str, tmp_path: Path) -> None:
    file = tmp_path / "accepted.json"
    file.write_text(BROKEN[name])
    with pytest.raises(UsageError, match=r"^baseline .*accepted\.json: "):
        Baseline.read(file)


def test_a_baseline_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        Baseline.read(tmp_path / "none.json")


def test_the_heaviest_findings_of_equal_keys_are_different_findings() -> None:
    one: Diagnostic = diagnostic("GI301", "said", Location(value="x"))
    assert CheckResult("m", (one,)).at_least(Severity.ERROR) == (one,)
    assert CheckResult("m", (one,)).of(Severity.NOTE) == ()
