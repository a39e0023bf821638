"""Every JSON object that a command prints, a file or model stores, or `to_json` returns has its schema number."""

from __future__ import annotations

import ast
import json
from importlib import import_module
from pathlib import Path

import click
import gather_infer_cli
import onnx
import pytest
from gather_infer_cli.main import COMMANDS

import gather_infer
from gather_infer.checks import baseline
from gather_infer.contract import contract
from gather_infer.equality import certificate
from gather_infer.report import json as report_json
from gather_infer.report import output_formats
from gather_infer.report.output_formats import OutputFormat, ResultKind
from tests.cli.conftest import Run
from tests.documents import REPO

SCHEMA = 2
"""The number that docs/json.md describes. It changes only in a release that docs/versioning.md allows to break."""

PRINTED = {
    # test: (arguments, exit code)
    "check": ("check embedding.onnx bad.onnx", 1),
    "check, nothing readable": ("check missing.onnx", 3),
    "check, counts": ("check embedding.onnx --statistics", 0),
    "contract": ("contract embedding.onnx", 0),
    "contract, of an IR": ("contract fixtures/openvino/decoder.xml", 0),
    "convert": ("convert exported.onnx -o out.onnx", 0),
    "convert, edits": ("convert exported.onnx --dry-run", 0),
    "cost": ("cost embedding.onnx", 0),
    "cost, in numbers": ("cost embedding.onnx --at batch=2,seq=3", 0),
    "diff": ("diff embedding.onnx embedding.onnx", 0),
    "diff, not comparable": ("diff embedding.onnx bad.onnx", 1),
    "explain, a tensor": ("explain embedding.onnx hidden", 0),
    "explain, a symbol": ("explain embedding.onnx seq", 0),
    "explain, several": ("explain embedding.onnx * --all", 0),
    "explain, none": ("explain embedding.onnx --unknown", 0),
    "explain, a code": ("explain GI301", 0),
    "extract": ("extract embedding.onnx --outputs sum -o out.onnx", 0),
    "outputs": ("outputs embedding.onnx --add sum -o out.onnx --prove", 0),
    "fold": ("fold embedding.onnx -o out.onnx", 0),
    "fold, verified": ("fold embedding.onnx -o out.onnx --verify 1", 0),
    "freeze": ("freeze embedding.onnx --dim seq=4 -o out.onnx", 0),
    "unfreeze": ("unfreeze embedding.onnx --dim scale.1=width --dry-run", 1),
    "infer": ("infer embedding.onnx", 0),
    "infer, with errors": ("infer bad.onnx", 1),
    "infer, several": ("infer embedding.onnx missing.onnx", 3),
    "inspect": ("inspect embedding.onnx", 0),
    "inspect, several": ("inspect embedding.onnx missing.onnx", 3),
    "ops": ("ops", 0),
    "ops, one": ("ops Gather", 0),
    "optimize": ("optimize embedding.onnx -o out.onnx", 0),
    "optimize, edits": ("optimize embedding.onnx --dry-run", 0),
    "rename": ("rename embedding.onnx --input ids=tokens -o out.onnx", 0),
    "compose": ("compose embedding.onnx embedding.onnx --map ids=ids -o out.onnx", 0),
    "tensors": ("tensors embedding.onnx", 0),
    "tensors, none": ("tensors embedding.onnx --unknown", 0),
}


def formats(command: str) -> set[str]:
    """The values of `--format` of a command; empty if it has no such option."""
    found: click.Command = import_module(f"{gather_infer_cli.__name__}.{command}").command
    choices = [p.type.choices for p in found.params if "--format" in p.opts and isinstance(p.type, click.Choice)]
    return {str(choice) for each in choices for choice in each}


def test_every_command_with_json_is_tested() -> None:
    assert {arguments.split()[0] for arguments, _ in PRINTED.values()} == {c for c in COMMANDS if "json" in formats(c)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", PRINTED)
def test_printed_json_has_the_number(case: str, run: Run) -> None:
    arguments, code = PRINTED[case]
    result = run(*arguments.split(), "--format", "json")
    assert result.exit_code == code, result.output
    assert json.loads(result.stdout)["schema"] == SCHEMA


@pytest.mark.parametrize("case", [case for case in PRINTED if "jsonl" in formats(PRINTED[case][0].split()[0])])
def test_every_printed_line_has_the_number(case: str, run: Run) -> None:
    lines = run(*PRINTED[case][0].split(), "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["schema"] for line in lines if line] == [SCHEMA] * len(lines)


@pytest.mark.parametrize("kind", [n for n, kind in vars(output_formats).items() if isinstance(kind, ResultKind)])
def test_every_kind_of_result_with_json_lists_the_number_first(kind: str) -> None:
    """Its function returns a dict whose first member is `schema`, or the object of another function that does."""
    place = vars(output_formats)[kind].formats.get(OutputFormat.JSON)
    if place is not None:
        assert _begins_with_schema(*place.split(":")), place


def _begins_with_schema(module: str, function: str) -> bool:
    source = Path(str(import_module(f"gather_infer.report.{module}").__file__)).read_text(encoding="utf-8")
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    outer = [statement for statement in functions[function].body if not isinstance(statement, ast.FunctionDef)]
    returned = [node.value for each in outer for node in ast.walk(each) if isinstance(node, ast.Return)]
    objects = [value for value in returned if isinstance(value, ast.Dict)]
    firsts = [ast.unparse(each.keys[0] or each.values[0]) for each in objects]
    return bool(firsts) and all(first in ("'schema'", "report.contract.to_json()") for first in firsts)


def test_stored_json_has_the_number(run: Run) -> None:
    assert run("check", "embedding.onnx", "--baseline", "accepted.json", "--write-baseline").exit_code == 0
    assert json.loads(Path("accepted.json").read_text())["schema"] == SCHEMA
    assert run("contract", "embedding.onnx", "--embed", "-o", "embedded.onnx").exit_code == 0
    (entry,) = (p for p in onnx.load("embedded.onnx").metadata_props if p.key == "gather_infer.contract")
    assert json.loads(entry.value)["schema"] == SCHEMA


def test_json_of_the_api_has_the_number(tmp_path: Path) -> None:
    names = [name for name in gather_infer.__all__ if hasattr(getattr(gather_infer, name), "to_json")]
    assert names == ["Certificate", "Contract"]
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu (x) }'
    )
    assert gather_infer.contract_of(model).contract.to_json()["schema"] == SCHEMA
    onnx.save(model, tmp_path / "m.onnx")
    found = gather_infer.diff(model, model)
    assert gather_infer.Certificate.of(found, *[tmp_path / "m.onnx"] * 2).to_json()["schema"] == SCHEMA


def test_there_is_one_number() -> None:
    assert {report_json.SCHEMA, certificate.SCHEMA, contract.SCHEMA, baseline.SCHEMA} == {SCHEMA}
    assert f"This page describes schema {SCHEMA}." in " ".join((REPO / "docs/json.md").read_text().split())
