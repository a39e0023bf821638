"""Standard streams in another encoding than UTF-8: a console of Windows has cp1252, for example."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import onnx
import pytest

from tests.cli.conftest import PROGRAM

NAME = "层→≥😀é"
"""A name with characters that cp1252 lacks, one beyond the 16-bit planes, and one that cp1252 has."""

ESCAPED = "\\u5c42\\u2192\\u2265\\U0001f600é"

COMMANDS = {
    # command: its arguments, with MODEL for the file
    "infer": ["infer", "MODEL", "-v"],
    "check": ["check", "MODEL", "-v"],
    "contract": ["contract", "MODEL", "-v"],
    "cost": ["cost", "MODEL", "-v"],
    "inspect": ["inspect", "MODEL"],
    "tensors": ["tensors", "MODEL"],
    "explain": ["explain", "MODEL", f"y{NAME}"],
    "fold": ["fold", "MODEL", "-o", f"{NAME}-out.onnx"],
    "freeze": ["freeze", "MODEL", "--dim", f"'{NAME}'=2", "-o", "out.onnx"],
    "optimize": ["optimize", "MODEL", "-o", "out.onnx", "-v"],
    "convert": ["convert", "MODEL", "-o", "out.onnx", "-v"],
    "a file that is missing": ["infer", f"missing{NAME}.onnx"],
    "ops": ["ops", NAME],
}


def folder_with_model(folder: Path) -> Path:
    """A folder with a model whose file, nodes, values and dims have `NAME` in their names."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "mine": 1]> g (float[N, 3] x, int64[M] i) => (float[M, 3] y) {'
        " h = Neg(x) z = mine.Foo(h) y = Gather(h, i) }"
    )
    for node in model.graph.node:
        node.name = f"{node.op_type}{NAME}"
        node.input[:] = [f"{name}{NAME}" for name in node.input]
        node.output[:] = [f"{name}{NAME}" for name in node.output]
    for value in (*model.graph.input, *model.graph.output):
        value.name += NAME
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = NAME
    (folder / f"{NAME}.onnx").write_bytes(model.SerializeToString())
    return folder


def run(arguments: list[str], folder: Path, encoding: str) -> subprocess.CompletedProcess[bytes]:
    program, *rest = PROGRAM
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [program, "-X", "utf8=0", *rest, *(a.replace("MODEL", f"{NAME}.onnx") for a in arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, env=environment, timeout=300)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
def test_characters_that_the_encoding_lacks_are_escaped(command: str, tmp_path: Path) -> None:
    done = run(COMMANDS[command], folder_with_model(tmp_path), "cp1252")
    printed = (done.stdout + done.stderr).decode("cp1252")
    assert done.returncode in (0, 2, 3), printed
    assert "UnicodeEncodeError" not in printed and "internal error" not in printed
    assert ESCAPED in printed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("output_format", ["github", "html", "json", "jsonl", "junit", "sarif"])
def test_formats_for_programs_are_utf_8(output_format: str, tmp_path: Path) -> None:
    folder = folder_with_model(tmp_path)
    arguments = ["check", "MODEL", "--format", output_format]
    done, wanted = run(arguments, folder, "cp1252"), run(arguments, folder, "utf-8")
    if output_format == "junit":
        texts = [text for element in ElementTree.fromstring(done.stdout).iter() for text in element.attrib.values()]
        assert any(NAME in text for text in texts)
    elif output_format in ("github", "html"):
        assert done.stdout.decode("utf-8") == wanted.stdout.decode("utf-8")
        assert NAME in done.stdout.decode("utf-8")
    else:
        assert done.stdout.isascii()
    assert done.returncode == wanted.returncode


def test_an_encoding_of_utf_8_is_left_alone(tmp_path: Path) -> None:
    done = run(["inspect", "MODEL"], folder_with_model(tmp_path), "utf-8")
    assert NAME in done.stdout.decode("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such names")
def test_a_file_name_that_is_not_utf_8(tmp_path: Path) -> None:
    name = b"caf\xe9.onnx"
    source = next(folder_with_model(tmp_path).glob("*.onnx"))
    os.rename(source, os.fsencode(tmp_path) + b"/" + name)
    for encoding in ("cp1252", "utf-8"):
        for output_format in ("github", "junit", "json", "html"):
            done = run(["check", os.fsdecode(name), "--format", output_format], tmp_path, encoding)
            assert done.returncode == 0, done.stderr


def test_jobs_without_fork(tmp_path: Path) -> None:
    """Worker processes start from a new interpreter, as Windows has no fork."""
    folder = folder_with_model(tmp_path)
    program = "import os; del os.fork; from gather_infer_cli.start import main; main()"
    command = [sys.executable, "-c", program, "check", "--jobs", "2", *[f"{NAME}.onnx"] * 3]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
