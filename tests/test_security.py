"""The promises of SECURITY.md about hostile files, tested from the outside."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import Result
from gather_infer_cli.main import main
from onnx import ModelProto, TensorProto, helper

from tests import onnx_text
from tests.documents import cli_runner

ROWS = 4096

LOCATIONS = {
    # name: (location of the external data, reason in the message)
    "above": ("../outside.bin", "leaves the directory of the model"),
    "above, inside": ("inner/../../outside.bin", "leaves the directory of the model"),
    "above, as on Windows": ("..\\outside.bin", "leaves the directory of the model"),
    "absolute": (f"{os.sep}etc{os.sep}passwd", "is not relative to the model"),
    "a link": ("link.bin", "leads out of the directory of the model"),
    "a folder of a link": ("linked/outside.bin", "leads out of the directory of the model"),
    **({"a pipe": ("pipe", "not a regular file")} if hasattr(os, "mkfifo") else {}),  # Windows has none
    "a folder": ("inner", "not a regular file"),
    "too short": ("short.bin", "needs 16384 bytes"),
}


def model(location: str, name: str = "x", nbytes: int | None = None) -> ModelProto:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[ROWS], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "length": nbytes}.items():
        if value is not None:
            weight.external_data.add(key=key, value=str(value))
    types = [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["N", ROWS]) for each in (name, "y")]
    graph = helper.make_graph([helper.make_node("Add", [name, "w"], ["y"])], "g", types[:1], types[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: `models` with a pipe and links out of it, and an empty folder `out`."""
    models = tmp_path / "models"
    (models / "inner").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "outside.bin").write_bytes(b"secret" * ROWS)
    (models / "short.bin").write_bytes(b"short")
    (models / "link.bin").symlink_to("../outside.bin")
    (models / "linked").symlink_to("..")
    if hasattr(os, "mkfifo"):
        os.mkfifo(models / "pipe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = cli_runner().invoke(main, list(arguments))
    assert "Traceback" not in result.stdout + result.stderr
    return result


@pytest.mark.parametrize("name", LOCATIONS)
def test_external_data_stays_inside_the_folder(name: str, folder: Path) -> None:
    location, reason = LOCATIONS[name]
    onnx.save(model(location, nbytes=16384 if name == "too short" else None), folder / "models/m.onnx")
    written = run("optimize", "models/m.onnx", "-o", "out/m.onnx")
    assert (written.exit_code, written.stdout) == (3, "")
    assert (reason in written.stderr) or (name == "too short" and "outside" in written.stderr), written.stderr
    assert list((folder / "out").iterdir()) == []
    checked = run("check", "models/m.onnx")
    assert checked.exit_code == 1 and "error[GI112]" in checked.stdout


def test_a_data_file_replaces_no_other_file(folder: Path) -> None:
    onnx.save(model("conftest.py"), folder / "models/m.onnx")
    (folder / "models/conftest.py").write_bytes(b"\0" * 4 * ROWS)
    (folder / "out/conftest.py").write_text("precious")
    found = run("optimize", "models/m.onnx", "-o", "out/m.onnx")
    assert (found.exit_code, found.stdout) == (2, "")
    assert [(path.name, path.read_text()) for path in (folder / "out").iterdir()] == [("conftest.py", "precious")]


class Trap:
    """Creates the file `sprung` when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, ("sprung", "w")


def test_nothing_is_unpickled(folder: Path) -> None:
    text = '<ir_version: 9, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { a = Neg (x) y = Neg (a) }'
    onnx.save(onnx.parser.parse_model(text), folder / "m.onnx")
    np.savez(folder / "trap.npz", x=np.array([Trap()], dtype=object))
    (folder / "trap.onnx").write_bytes(pickle.dumps(Trap()))
    for arguments in (["optimize", "m.onnx", "-o", "o.onnx", "--feeds", "trap.npz"], ["infer", "trap.onnx"]):
        found = run(*arguments)
        assert found.exit_code in (2, 3), found.output
    assert not (folder / "sprung").exists() and not (folder / "o.onnx").exists()


def test_rules_of_a_configuration_do_not_run(folder: Path) -> None:
    onnx.save(model("short.bin"), folder / "models/m.onnx")
    (folder / "rules.py").write_text("open('sprung', 'w')\n")
    (folder / "pyproject.toml").write_text('[tool.gather-infer]\nrules = ["rules.py"]\n')
    assert "--trust-config" in run("check", "models/m.onnx").stderr
    assert not (folder / "sprung").exists()


NAME = "x\x1b]0;title\x07\n::error::\"'''\\<b>"


@pytest.mark.parametrize("command", ["infer", "inspect", "contract", "tensors", "cost", "check"])
def test_names_do_not_control_a_terminal(command: str, folder: Path) -> None:
    onnx.save(model("short.bin", NAME), folder / "models/m.onnx")
    found = run(command, "models/m.onnx", "-v")
    assert not any(c in found.stdout + found.stderr for c in "\x1b\x07")
    assert not any(line.startswith("::error::") for line in found.stdout.splitlines())


def test_a_broken_file_leaves_the_output_as_it_was(folder: Path) -> None:
    onnx.save(model("short.bin"), folder / "models/m.onnx")
    (folder / "out/m.onnx").write_text("precious")
    assert run("fold", "models/m.onnx", "-o", "out/m.onnx").exit_code == 3
    assert [(path.name, path.read_text()) for path in (folder / "out").iterdir()] == [("m.onnx", "precious")]


PRODUCERS = "n = Constant <value = int64[1] {1000000000000}> () v = ConstantOfShape (n)"
READERS = "w = Cast <to = 6> (v) y = Add (w, w)"
HEAD = '<ir_version: 9, opset_import: ["": 17, "d": 1]> g'
LARGE = {
    # name: a model in which an operator, whose elements onnx propagates, reads a vector of 10^12 elements or more
    "constant": f"{HEAD} () => (int32[M] y) {{ {PRODUCERS} {READERS} }}",
    "input": f"{HEAD} (int64[1000000000000] v) => (int32[M] y) {{ {READERS} }}",
    "function": f"""{HEAD} (float[1000000000000] x) => (int32[M] y) {{ y = d.F (x) }}
        <domain: "d", opset_import: ["": 17]> F (x) => (y) {{ n = Shape (x) v = ConstantOfShape (n) {READERS} }}""",
    "branch": f"""{HEAD} (bool c, int32[M] x) => (int32[K] z) {{
        z = If (c) <then_branch = t () => (int32[M] y) {{ {PRODUCERS} {READERS} }},
                    else_branch = e () => (int32[M] o) {{ o = Identity (x) }}> }}""",
    "doubled": f"{HEAD} (int64[2] v) => (int32[M] y) {{ w0 = Cast <to = 6> (v) "
    + " ".join(f"w{i + 1} = Concat <axis = 0> (w{i}, w{i})" for i in range(39))
    + " y = Neg (w39) }",
}
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
from gather_infer_cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("command", ["optimize", "infer"])
@pytest.mark.parametrize("name", LARGE)
def test_a_declared_size_takes_no_memory(name: str, command: str, folder: Path) -> None:
    onnx.save(onnx_text.parse_model(LARGE[name]), folder / "m.onnx")
    arguments = [sys.executable, "-c", LIMITED, command, "m.onnx", "-o", "out/m.onnx"]
    found = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert (folder / "out/m.onnx").exists()
