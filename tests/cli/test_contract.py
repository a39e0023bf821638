"""`gather-infer contract`: the model that it writes, the guard, the schema, and what is refused."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from gather_infer_cli.contract import command

import gather_infer
from gather_infer import Contract
from gather_infer.contract import KEY
from gather_infer.report import ContractReport, View, contract_text
from gather_infer.serving import TARGETS
from tests.cli.cli_models import MODELS
from tests.cli.conftest import Run
from tests.contract.contracts import BERT, MIXED


def without_contract(model: onnx.ModelProto) -> bytes:
    kept = [entry for entry in model.metadata_props if entry.key != KEY]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    return model.SerializeToString(deterministic=True)


def test_embedding_changes_nothing_else(run: Run) -> None:
    model = MODELS["embedding.onnx"]()
    onnx.helper.set_model_props(model, {"author": "me"})
    onnx.save(model, "mine.onnx")
    assert run("contract", "mine.onnx", "--embed", "-o", "out.onnx", "--dim", "batch=2").exit_code == 0
    written = onnx.load("out.onnx")
    contract = Contract.load("out.onnx")
    assert contract == gather_infer.contract_of("mine.onnx", dims=["batch=2"]).contract
    assert contract.inputs[0].shape is not None
    assert contract.inputs[0].shape[0] == 2
    assert without_contract(written) == model.SerializeToString(deterministic=True)


def test_embedding_again_takes_the_place_of_the_old_one(run: Run) -> None:
    run("contract", "embedding.onnx", "--embed", "-o", "out.onnx")
    assert run("contract", "out.onnx", "--range", "ids=0..9", "--embed", "--in-place").exit_code == 0
    assert [entry.key for entry in onnx.load("out.onnx").metadata_props].count(KEY) == 1
    assert [line.text for line in Contract.load("out.onnx").lines] == ["seq <= 16"]


def test_external_data_stays_where_it_is(run: Run) -> None:
    onnx.save(
        MODELS["embedding.onnx"](), "far.onnx", save_as_external_data=True, location="far.data", size_threshold=0,
        convert_attribute=False,
    )  # fmt: skip
    data = Path("far.data").read_bytes()
    result = run("contract", "far.onnx", "--embed", "-o", "out.onnx")
    assert (result.exit_code, Path("far.data").read_bytes()) == (0, data)
    assert not list(Path().glob("out.onnx.data"))
    assert len(Contract.load("out.onnx").lines) == 2
    assert onnx.load("out.onnx").SerializeToString() != b""


def test_the_json_is_read_back(run: Run) -> None:
    Path("c.json").write_text(run("contract", "embedding.onnx", "--format", "json").stdout)
    assert Contract.load("c.json") == gather_infer.contract_of("embedding.onnx").contract


def test_standard_streams(run: Run) -> None:
    model = Path("embedding.onnx").read_bytes()
    result = run("contract", "-", "--embed", "-o", "-", input=model)
    assert result.exit_code == 0
    Path("out.onnx").write_bytes(result.stdout_bytes)
    assert len(Contract.load("out.onnx").lines) == 2


def test_the_guard_and_the_schema_that_are_written(run: Run) -> None:
    run("contract", "embedding.onnx", "--python", "guard.py", "--json-schema", "request.json", "-q")
    check = runpy.run_path("guard.py")["check"]
    ids = np.full((1, 17), 100)
    assert check({"ids": ids, "scale": np.ones((1, 8), np.float32)}) == [
        "seq = 17: must be seq <= 16 (/place/Gather)",
        "ids[0, 0] = 100: must be -100 <= ids < 100 (/word/Gather)",
    ]
    assert json.loads(Path("request.json").read_text())["properties"]["ids"]["items"]["maxItems"] == 16


def test_strict_enforces_lines_that_are_sufficient_only(run: Run) -> None:
    """Row k of a table is read where k < W; the table may be longer than what the model reads of it."""
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["": 18]> g (float[W] s, float[5] t) => (float y)'
            " { i = ArgMax <axis = 0, keepdims = 0> (s) y = Gather (t, i) }"
        ),
        "unsure.onnx",
    )
    feeds = {"s": np.zeros(6, np.float32), "t": np.zeros(5, np.float32)}
    text = "W = 6: is known to work only for W <= 5 (Gather#1)"
    for more, found in (([], []), (["--strict"], [text])):
        run("contract", "unsure.onnx", "--python", "guard.py", "--json-schema", "request.json", "-q", *more)
        guard = runpy.run_path("guard.py")
        assert (guard["check"](feeds), guard["warnings"](feeds)) == (found, [text])
        assert guard["check"](feeds, strict=True) == [text]
        schema = json.loads(Path("request.json").read_text())
        assert schema["properties"]["s"].get("maxItems") == (5 if more else None)
        assert ("known to work only for: W <= 5" in schema.get("description", "")) is not bool(more)
    result = run("contract", "unsure.onnx", "--strict")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        "error: --strict needs --python, --json-schema or --emit pydantic",
    )


def test_a_guard_and_a_schema_go_to_standard_output(run: Run) -> None:
    before = {path.name for path in Path().iterdir()}
    result = run("contract", "embedding.onnx", "--json-schema", "-")
    assert json.loads(result.stdout)["title"] == "inputs of embedding.onnx"
    assert result.stderr.startswith("contract of embedding.onnx\n")
    result = run("contract", "embedding.onnx", "--python", "-", "-q")
    compile(result.stdout, "guard.py", "exec")
    assert result.stdout.startswith('"""Checks the inputs of embedding.onnx before a run.')
    assert {path.name for path in Path().iterdir()} == before
    for more in (["--python", "-"], ["--embed", "-o", "-"]):
        result = run("contract", "embedding.onnx", "--json-schema", "-", *more)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "only one of --python, --json-schema, --emit and -o can go to standard output" in result.stderr
    result = run("contract", "embedding.onnx", "--range", "ids=0..100", "--json-schema", "-")
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.parametrize(
    "more", ["--range ids=0..100", "--dim seq=17", "--require-proved", "--dim seq=1..17"], ids=lambda text: text[2:]
)
def test_what_is_refused_writes_nothing(more: str, run: Run) -> None:
    before = {path.name for path in Path().iterdir()}
    written = "--embed -o out.onnx --python guard.py --json-schema request.json"
    assert run("contract", "embedding.onnx", *more.split(), *written.split()).exit_code == 1
    assert {path.name for path in Path().iterdir()} == before


def test_a_file_that_cannot_be_written(run: Run) -> None:
    result = run("contract", "embedding.onnx", "--python", "nowhere/guard.py")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "nowhere/guard.py: No such file or directory" in result.stderr


def test_the_formats_of_the_option() -> None:
    (option,) = (parameter for parameter in command.params if parameter.name == "emit")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == TARGETS


@pytest.mark.parametrize("target", [target for target in TARGETS if target != "ort"])
def test_an_emission_goes_to_standard_output_or_to_a_file(target: str, run: Run) -> None:
    result = run("contract", "embedding.onnx", "--emit", target)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"# contract of embedding.onnx, written by gather-infer contract --emit {target}\n")
    assert "contract of embedding.onnx\n  ids < 100" in result.stderr.replace("-100 <= ids", "ids")
    assert run("contract", "embedding.onnx", "--emit", target, "-o", "emitted").stdout.startswith("contract of")
    assert Path("emitted").read_text() == result.stdout
    notes = [line for line in result.stdout.splitlines() if line.startswith("# ")][1:]
    notes = [line for line in notes if not line.startswith("# by input of the model")]
    assert [line.replace("note: ", "# ") for line in result.stderr.splitlines() if line.startswith("note: ")] == notes
    quiet = run("contract", "embedding.onnx", "--emit", target, "-q", "-o", "emitted")
    assert quiet.stderr.count("note: ") == len(notes), "that a format widens the contract is no chatter"


def test_a_refused_emission_writes_nothing(run: Run) -> None:
    before = {path.name for path in Path().iterdir()}
    for more, message in (
        (["--emit", "ort"], "no dim with a name has a fixed size"),
        (["--emit", "trtexec", "--opt", "seq=17"], "seq=17 is outside 1..16"),
        (["--emit", "triton", "--range", "ids=0..100"], "error[GI501]"),
    ):
        result = run("contract", "embedding.onnx", "-o", "emitted", "--python", "guard.py", *more)
        assert result.exit_code == 1
        assert message in result.stdout + result.stderr
    assert {path.name for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--emit nothing", "'nothing' is not one of 'triton', 'trtexec'"),
        ("--emit triton --embed -o out", "--embed and --emit exclude each other"),
        ("--emit triton --in-place", "--in-place and --external-data need --embed"),
        ("--emit triton --opt seq=3", "sizes to optimize for need profiles, triton has none"),
        ("--emit trtexec --opt seq", "--opt must read NAME=SIZE, found 'seq'"),
        ("--emit trtexec --opt seq=0x3", "--opt must read NAME=SIZE, found 'seq=0x3'"),
        ("--emit trtexec --profiles 0", "0 is not in the range x>=1"),
        ("--emit trtexec --strict", "--strict needs --python, --json-schema or --emit pydantic"),
        ("--emit trtexec --python -", "only one of --python, --json-schema, --emit and -o can go to standard output"),
        ("--opt seq=3", "--opt needs --emit"),
        ("--dependent-axes", "--dependent-axes needs --emit"),
        ("-o out", "a model is written with --embed only, and a text with --emit"),
    ],
)
def test_options_of_an_emission(options: str, message: str, run: Run) -> None:
    result = run("contract", "embedding.onnx", *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("contract", [BERT, MIXED], ids=["bert", "mixed"])
def test_lines_keep_to_the_width(contract: Contract, width: int) -> None:
    lines = contract_text(ContractReport(contract, ()), View(width=width))
    rows = [line for line in lines if line.endswith((")", "Gather", "Add_1", "more nodes"))]
    longest = max(len(line.text) for line in contract.lines) + 2
    assert all(len(line) <= max(width, longest) for line in rows)
    assert sum("tight" in line for line in lines) >= len(contract.lines)


def test_a_model_that_fails_is_not_reported_as_safe(run: Run) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["": 18]>'
            "g (float[N,4] x, float[3,5] w) => (float[A,B] y) { y = MatMul(x, w) }"
        ),
        "clash.onnx",
    )
    result = run("contract", "clash.onnx")
    assert result.exit_code == 1
    assert "no line: every run fails" in result.stdout
    assert "no shapes clash" not in result.stdout and "error[GI212]" in result.stdout


def test_an_index_out_of_bounds_is_reported_once(run: Run) -> None:
    result = run("contract", "bad.onnx")
    assert (result.exit_code, result.stdout.count("error[GI301]")) == (1, 1)
    assert result.stdout.endswith("\n1 error\n")


def test_the_title_names_the_file_and_the_contract_the_model_alone(run: Run) -> None:
    """A contract travels; what is printed is about a file here."""
    Path("folder").mkdir()
    Path("embedding.onnx").rename("folder/mine.onnx")
    lines = run("contract", "folder/mine.onnx").stdout.splitlines()
    assert lines[0] == "contract of folder/mine.onnx"
    assert json.loads(run("contract", "folder/mine.onnx", "--format", "json").stdout)["model"]["name"] == "mine.onnx"
    failing = run("contract", "folder/mine.onnx", "--range", "ids=0..500")
    assert "--> folder/mine.onnx: " in failing.stdout
