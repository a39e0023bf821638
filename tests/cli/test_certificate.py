"""`--certificate` of the commands that rewrite a model, and of `diff`, which checks it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.cli.conftest import Run
from tests.cli.test_prove import SUM
from tests.cli.test_rewriting import FLOATS
from tests.verification.models import model

REWRITES = {
    # id: (arguments of the command, fixture, options that the check prints)
    "optimize": (("optimize",), "gpt2-kv-torchscript", ""),
    "fold": (("fold", "--dim", "seq=1..64"), "bert-torchscript", "--dim seq=1..64"),
    "freeze": (("freeze", "--dim", "batch=1"), "dlrm-torchscript", "--dim batch=1"),
    "freeze, external data": (
        ("freeze", "--dim", "batch=1", "--external-data", "w.bin"), "bert-torchscript", "--dim batch=1",
    ),
    "optimize, external data": (("optimize", "--external-data", "w.bin"), "bert-torchscript", ""),
    "optimize, dialect": (("optimize", "--dim-dialect", "torch"), "convnet-dynamo", ""),
    "rename": (
        ("rename", "--input", "input_ids=ids", "--output", "pooler_output=pooled", "--dim", "seq=n"),
        "bert-torchscript", "--map pooler_output=pooled",
    ),
    "rename, external data": (
        ("rename", "--input", "s/ids/tokens/", "--external-data", "w.bin"), "bert-torchscript", "",
    ),
    "outputs": (
        ("outputs", "--add", "*/Softmax_output_0", "--drop", "pooler_output"), "bert-torchscript",
        "--map pooler_output=",
    ),
    "outputs, external data": (
        ("outputs", "--add", "*/Softmax_output_0", "--dim", "batch=2", "--external-data", "w.bin"), "bert-torchscript",
        "--dim batch=2",
    ),
}  # fmt: skip


def made(run: Run, name: str = "optimize", *options: str) -> None:
    """Write a.onnx, out.onnx and c.json."""
    arguments, fixture, _ = REWRITES[name]
    shutil.copy(f"fixtures/{fixture}.onnx", "a.onnx")
    done = run(*arguments, "a.onnx", "-o", "out.onnx", "--certificate", "c.json", *options)
    assert done.exit_code == 0, done.stderr
    assert "wrote out.onnx" in done.stderr and "wrote c.json" in done.stderr


def made_of_sum(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "a.onnx")
    assert run("optimize", "a.onnx", "-o", "out.onnx", "--certificate", "c.json").exit_code == 0


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


def flip(path: str, at: int) -> None:
    content = bytearray(Path(path).read_bytes())
    content[at] ^= 1
    Path(path).write_bytes(content)


def sha256(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@pytest.mark.parametrize("name", REWRITES)
def test_a_certificate_is_written_and_holds(run: Run, name: str) -> None:
    made(run, name)
    data = json.loads(Path("c.json").read_text())
    assert data["first"] == {"name": "a.onnx", "sha256": sha256("a.onnx"), "data": []}
    assert (data["second"]["name"], data["second"]["sha256"]) == ("out.onnx", sha256("out.onnx"))
    weights = [{"name": "w.bin", "sha256": sha256("w.bin")}] if "external data" in name else []
    assert data["second"]["data"] == weights
    assert data["is_proved"] and {each["verdict"] for each in data["outputs"]} == {"proved"}
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("a.onnx and out.onnx   equal, proved for all sizes\n")
    given = REWRITES[name][2]
    assert done.stderr == (f"given by the certificate: {given}\n" if given else "") + "c.json holds\n"


def test_the_report_as_json(run: Run) -> None:
    made_of_sum(run)
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx", "--format", "json")
    assert done.exit_code == 0 and json.loads(done.stdout)["verdict"] == "proved"


@pytest.mark.parametrize("changed", ["a.onnx", "out.onnx"])
def test_one_changed_byte_of_a_model_is_refused(run: Run, changed: str) -> None:
    made_of_sum(run)
    before = sha256(changed)
    flip(changed, 1)  # the version of the IR
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert (done.exit_code, done.stdout) == (1, "")
    expected = f"not the file of the certificate: expected sha256 {before}, found {sha256(changed)}"
    assert done.stderr == f"error: {changed}: {expected}\n"


@pytest.mark.parametrize("command", ["freeze", "optimize"])
def test_one_changed_byte_of_external_data_is_refused(run: Run, command: str) -> None:
    made(run, f"{command}, external data")
    before = sha256("w.bin")
    flip("w.bin", 100)
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert (done.exit_code, done.stdout) == (1, "")
    expected = f"not the file of the certificate: expected sha256 {before}, found {sha256('w.bin')}"
    assert done.stderr.endswith(f"error: out.onnx: its external data w.bin: {expected}\n")
    assert done.stderr.count("\n") == (2 if command == "freeze" else 1)


def with_data(folder: Path) -> Path:
    """A model in the folder with external data of more than a kilobyte, and an Identity."""
    folder.mkdir(exist_ok=True)
    proto = model("(float[N, 512] x) => (float[N, 512] y) { i = Identity(x) y = Add(i, w) }")
    proto.graph.initializer.append(numpy_helper.from_array(np.arange(512, dtype=np.float32), "w"))
    onnx.save(proto, folder / "e.onnx", save_as_external_data=True, location="e.bin", size_threshold=0)
    return folder / "e.onnx"


@pytest.mark.parametrize("out", ["in/out.onnx", "out.onnx"], ids=["data stays", "data is copied"])
def test_external_data_of_the_original(run: Run, out: str) -> None:
    source = str(with_data(Path("in")))
    done = run("optimize", source, "-o", out, "--certificate", "c.json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(Path("c.json").read_text())
    assert data["first"]["data"] == data["second"]["data"] == [{"name": "e.bin", "sha256": sha256("in/e.bin")}]
    assert run("diff", "--certificate", "c.json", source, out).exit_code == 0
    flip("in/e.bin", 5)
    assert run("diff", "--certificate", "c.json", source, out).exit_code == 1


def test_in_place(run: Run) -> None:
    """The certificate has the hash that the file had before."""
    onnx.save(onnx.parser.parse_model(SUM), "a.onnx")
    shutil.copy("a.onnx", "before.onnx")
    assert run("optimize", "a.onnx", "--in-place", "--certificate", "c.json").exit_code == 0
    assert sha256("a.onnx") != sha256("before.onnx")
    assert run("diff", "--certificate", "c.json", "before.onnx", "a.onnx").exit_code == 0
    again = run("optimize", "a.onnx", "--in-place", "--certificate", "c.json")
    assert again.exit_code == 0 and "nothing to change" in again.stderr
    assert run("diff", "--certificate", "c.json", "a.onnx", "a.onnx").exit_code == 0
    assert run("diff", "--certificate", "c.json", "before.onnx", "a.onnx").exit_code == 1


def test_the_original_from_standard_input(run: Run) -> None:
    content = onnx.parser.parse_model(SUM).SerializeToString()
    assert run("optimize", "-", "-o", "out.onnx", "--certificate", "c.json", input=content).exit_code == 0
    assert json.loads(Path("c.json").read_text())["first"]["name"] == "<stdin>"
    Path("a.onnx").write_bytes(content)
    assert run("diff", "--certificate", "c.json", "a.onnx", "out.onnx").exit_code == 0
    assert run("diff", "--certificate", "c.json", "-", "out.onnx", input=content).exit_code == 0
    assert run("diff", "--certificate", "c.json", "-", "out.onnx", input=content + b"\x12\x00").exit_code == 1


def test_initializers_as_constants(run: Run) -> None:
    text = "(float[N] x, float[1] w) => (float[N] y) <float[1] w = {2.0}> { i = Identity(w) y = Mul(x, i) }"
    onnx.save(model(text), "a.onnx")
    options = ("--initializers-as-constants", "--certificate", "c.json")
    assert run("optimize", "a.onnx", "-o", "out.onnx", *options).exit_code == 0
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert (done.exit_code, done.stderr) == (
        0,
        "given by the certificate: --initializers-as-constants\nc.json holds\n",
    )


def test_nothing_is_written_without_a_proof(run: Run) -> None:
    onnx.save(onnx.parser.parse_model(FLOATS), "floats.onnx")
    before = names()
    done = run("optimize", "floats.onnx", "-o", "out.onnx", "--fold-floats", "--certificate", "c.json")
    assert done.exit_code == 1 and "not proved: 1 of 1 output" in done.stdout
    assert names() == before


PLACES = {
    # certificate, output: exit code
    ("missing/c.json", "out.onnx"): 3,
    (".", "out.onnx"): 2,
    ("out.onnx", "out.onnx"): 3,
    ("a.onnx", "out.onnx"): 2,
    ("c.json", "missing/out.onnx"): 3,
}


@pytest.mark.parametrize(("certificate", "out"), PLACES)
def test_both_files_or_none(run: Run, certificate: str, out: str) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "a.onnx")
    before, content = names(), Path("a.onnx").read_bytes()
    done = run("optimize", "a.onnx", "-o", out, "--certificate", certificate)
    assert done.exit_code == PLACES[certificate, out], done.stderr
    assert done.stderr.count("error:") == 1
    assert names() == before and Path("a.onnx").read_bytes() == content


def test_a_data_file_is_not_overwritten(run: Run) -> None:
    source = with_data(Path("in"))
    before = sha256("in/e.bin")
    for out in ("in/out.onnx", "out.onnx"):
        done = run("optimize", str(source), "-o", out, "--certificate", "in/e.bin")
        assert done.exit_code == 2 and "in/e.bin: is a file of the input" in done.stderr
    done = run("optimize", str(source), "-o", "out.onnx", "--certificate", "e.bin")
    assert done.exit_code == 3 and not {"out.onnx", "e.bin"} & names()
    assert sha256("in/e.bin") == before and {path.name for path in Path("in").iterdir()} == {"e.onnx", "e.bin"}


USAGE = {
    # arguments: message
    ("optimize", "a.onnx", "--dry-run"): "--certificate and --dry-run exclude each other",
    ("freeze", "a.onnx", "--dim", "N=3", "--dry-run"): "--certificate and --dry-run exclude each other",
    ("optimize", "a.onnx", "a.onnx", "-o", "out"): "--certificate is for one model",
    ("fold", "folder", "-o", "out"): "--certificate is for one model",
    ("fold", "a.onnx", "-o", "-"): "--certificate needs -o with a file",
    ("freeze", "a.onnx", "--dim", "N=3", "-o", "-"): "--certificate needs -o with a file",
    ("optimize", "a.onnx"): "-o OUT is missing",
}


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_where_a_certificate_is_not_possible(run: Run, arguments: tuple[str, ...]) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "a.onnx")
    Path("folder").mkdir()
    before = names()
    done = run(*arguments, "--certificate", "c.json")
    assert done.exit_code == 2 and USAGE[arguments] in done.stderr
    assert names() == before


@pytest.mark.parametrize("file", ["", "-"])
def test_a_certificate_needs_a_name(run: Run, file: str) -> None:
    onnx.save(onnx.parser.parse_model(SUM), "a.onnx")
    done = run("optimize", "a.onnx", "-o", "out.onnx", "--certificate", file)
    assert done.exit_code == 2 and f"--certificate needs the name of a file, found {file!r}" in done.stderr


FACTS = ("--dim N=3", "--input x=[3,4]", "--range x=0..1", "--map y=y", "--initializers-as-constants")


@pytest.mark.parametrize("text", FACTS)
def test_what_was_given_is_not_given_again(run: Run, text: str) -> None:
    made_of_sum(run)
    options = text.split()
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx", *options)
    assert done.exit_code == 2
    assert f"{options[0]} is part of the certificate, and cannot be given with --certificate" in done.stderr


@pytest.mark.parametrize(
    "option",
    ["--witness w.npz", "--runs 3", "--feeds w.npz", "--rtol 1e-3", "--atol 0"],
    ids=lambda text: text.split()[0],
)
def test_a_certificate_is_not_checked_by_runs(option: str, run: Run) -> None:
    made_of_sum(run)
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx", *option.split())
    assert done.exit_code == 2 and f"{option.split()[0]} is for runs" in done.stderr


Change = Callable[[dict[str, Any]], object]
TAMPERED: dict[str, tuple[Change, int, str]] = {
    # id: (change, exit code, message)
    "class raised": (
        lambda d: d["outputs"][0].update({"class": "same calls"}), 1,
        "error: c.json: output 'logits' is proved by class pointwise, the certificate claims same calls",
    ),
    "output added": (
        lambda d: d["outputs"].append({"name": "v", "other": "v", "verdict": "proved", "class": "pointwise"}), 1,
        "error: c.json: there is no output 'v'",
    ),
    "outputs removed": (
        lambda d: d.update(outputs=[]), 1, "error: c.json: the certificate lacks output 'logits'",
    ),
    "verdict flipped": (lambda d: d["outputs"][0].update(verdict="unknown"), 2, "but the outputs say False"),
    "claim withdrawn": (
        lambda d: d.update(is_proved=False, outputs=[{**each, "verdict": "runs"} for each in d["outputs"]]), 1,
        "error: c.json: the certificate claims no proof of logits",
    ),
    "unknown dim": (lambda d: d["given"].update(dims=["K=3"]), 2, "error: no input dim 'K'"),
    "malformed dim": (lambda d: d["given"].update(dims=["K"]), 2, "error: a dim must read"),
    "unknown output": (lambda d: d["given"].update(outputs={"y": "y"}), 2, "'y' is no output of the first model"),
    "outputs mapped": (
        lambda d: d["given"].update(outputs={"present.0.key": "present.0.value", "present.0.value": "present.0.key"}),
        1, "error: c.json: there is no output 'present.0.key'",
    ),
    "hashes swapped": (
        lambda d: d.update(first=d["second"], second=d["first"]), 1, "error: a.onnx: not the file of the certificate",
    ),
    "other schema": (lambda d: d.update(schema=1), 2, "error: c.json: not a certificate of schema 2: its schema is 1"),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_certificate_is_refused(run: Run, name: str) -> None:
    change, code, message = TAMPERED[name]
    made(run)
    data = json.loads(Path("c.json").read_text())
    change(data)
    Path("c.json").write_text(json.dumps(data))
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert (done.exit_code, message in done.stderr) == (code, True), done.stderr
    assert "holds" not in done.stderr


@pytest.mark.parametrize("content", [b"", b"no JSON", b"[]", b"{}", b'{"schema": 2, "model": {}}', b"\xff"])
def test_a_file_that_is_no_certificate(run: Run, content: bytes) -> None:
    made_of_sum(run)
    Path("c.json").write_bytes(content)
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: c.json: not a certificate")


@pytest.mark.parametrize("file", ["missing.json", "fixtures"])
def test_a_certificate_that_cannot_be_read(run: Run, file: str) -> None:
    made_of_sum(run)
    done = run("diff", "--certificate", file, "a.onnx", "out.onnx")
    assert done.exit_code == 2 and done.stderr.startswith(f"error: {file}: ")


def test_a_contract_is_no_certificate(run: Run) -> None:
    made_of_sum(run)
    Path("c.json").write_text(run("contract", "a.onnx", "--format", "json").stdout)
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert done.exit_code == 2 and "not a certificate of schema 2: there is no member 'first'" in done.stderr


def test_a_forged_proof_of_models_that_differ(run: Run) -> None:
    """Its hashes are right, and its claims are those of an honest certificate."""
    made_of_sum(run)
    proto = onnx.load("out.onnx")
    next(node for node in proto.graph.node if node.op_type == "Add").op_type = "Mul"
    onnx.save(proto, "out.onnx")
    data = json.loads(Path("c.json").read_text())
    data["second"]["sha256"] = sha256("out.onnx")
    Path("c.json").write_text(json.dumps(data))
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert done.exit_code == 1 and "equal, proved" not in done.stdout
    assert "error: c.json: output 'y' is not proved: the terms differ" in done.stderr


def test_many_reasons(run: Run) -> None:
    made_of_sum(run)
    data = json.loads(Path("c.json").read_text())
    data["outputs"] += [{**data["outputs"][0], "name": f"v{number}"} for number in range(20)]
    Path("c.json").write_text(json.dumps(data))
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert done.exit_code == 1 and done.stderr.count("\n") == 7
    assert done.stderr.endswith("error: c.json: 14 more: --verbose\n")
    assert run("diff", "--certificate", "c.json", "a.onnx", "out.onnx", "-v").stderr.count("\n") == 20


def test_another_version_of_the_tool(run: Run) -> None:
    made_of_sum(run)
    data = json.loads(Path("c.json").read_text())
    data["versions"]["gather-infer"] = "0.0.7"
    Path("c.json").write_text(json.dumps(data))
    done = run("diff", "--certificate", "c.json", "a.onnx", "out.onnx")
    assert done.exit_code == 0 and done.stderr.startswith("the certificate is from gather-infer 0.0.7, this is ")


def test_an_unreadable_model(run: Run) -> None:
    made_of_sum(run)
    assert run("diff", "--certificate", "c.json", "missing.onnx", "out.onnx").exit_code == 3


def test_a_model_with_rules(run: Run) -> None:
    """A certificate holds no code: who checks gives it, or does without."""
    Path("rules.py").write_text(
        "from gather_infer import RuleSet\nacme = RuleSet('acme')\n\n\n@acme.rule('Twice')\ndef twice(op):\n"
        "    return [op.inputs[0]]\n"
    )
    proto = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18, "acme": 1]> g (float[N, 4] x) => (float[N, 4] y)'
        "{ i = Identity(x) t = acme.Twice(i) y = Neg(t) }"
    )
    onnx.save(proto, "a.onnx")
    done = run("optimize", "a.onnx", "-o", "out.onnx", "--rules", "rules.py", "--certificate", "c.json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(Path("c.json").read_text())["given"]["rules"] == ["acme"]
    assert run("diff", "--certificate", "c.json", "a.onnx", "out.onnx", "--rules", "rules.py").exit_code == 0
