"""Interrupts at any time, and standard streams that are closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.conftest import PROGRAM, Run
from tests.onnx_versions import require_onnx

MODULES = (
    "click", "gather_infer_cli.console", "numpy", "numpy.linalg", "onnx", "onnx.onnx_cpp2py_export", "ml_dtypes",
    "google.protobuf.message", "gather_infer.symbolic", "gather_infer.inference.interpreter",
    "gather_infer.catalog.family",
)  # fmt: skip
"""Modules that are imported by a statement, which Python tells its audit hooks."""

AT_IMPORT = """
import os, signal, sys
from gather_infer_cli.start import main

def look(event, details):
    if event == "import" and details[0] == name and not sent:
        sent.append(1)
        os.kill(os.getpid(), signal.SIGINT)

name, sent = sys.argv.pop(1), []
sys.addaudithook(look)
main()
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("module", MODULES)
def test_an_interrupt_while_a_module_is_imported(module: str, run: Run) -> None:
    if module == "ml_dtypes":
        require_onnx("1.19", "onnx imports ml_dtypes")
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT, module, "infer", "embedding.onnx", "-o", "out.onnx"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")
    assert not Path("out.onnx").exists()


WHILE_REPORTING = """
import os, signal, sys, time
import click
from gather_infer_cli import start
import gather_infer_cli.main
main = sys.modules["gather_infer_cli.main"]

def announce(text, colour):
    first(text, colour=colour)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)

def stop():
    raise click.Abort

first, main.announce = main.announce, announce
main.stop_if_interrupted = stop
start.main()
"""


def test_an_interrupt_while_another_is_reported(run: Run) -> None:
    done = subprocess.run([sys.executable, "-c", WHILE_REPORTING, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


AT_START = """
import posix, sys  # which are there in any case

def look(event, details):
    if event == "import" and details[0] == name and not sent:
        sent.append(1)
        posix.kill(posix.getpid(), 2)

name, sent = sys.argv.pop(1), []
for module in ("signal", "enum"):  # site may have had them
    sys.modules.pop(module, None)
sys.addaudithook(look)
from gather_infer_cli.start import main
main()
"""
EARLY = ("gather_infer_cli.interrupts", "signal", "enum", "gather_infer_cli.main", "click")
"""What is imported first, from the first line of the program on."""


@pytest.mark.parametrize("module", EARLY)
def test_an_interrupt_while_the_program_begins(module: str, run: Run) -> None:
    done = subprocess.run([sys.executable, "-c", AT_START, module, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


AT_END = {
    # id: (what sends the interrupt, the exit code)
    "as the program ends": (
        "import gather_infer_cli.start as start\n"
        "ignore = start.ignore_interrupts\n"
        "start.ignore_interrupts = lambda: (os.kill(os.getpid(), signal.SIGINT), ignore())",
        0,
    ),
    "after it has ended": ("import atexit; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))", 0),
    "in the finaliser of a global": (
        "class Last:\n    def __del__(self, kill=os.kill, own=os.getpid()): kill(own, 2)\nlast = Last()",
        0,
    ),
}


@pytest.mark.parametrize("case", AT_END)
def test_an_interrupt_when_the_program_ends(case: str, run: Run) -> None:
    """The results are there: nothing more is said, and the exit code stays."""
    sends, code = AT_END[case]
    program = f"import os, signal\n{sends}\nfrom gather_infer_cli.start import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith("gather-infer ")


AT_CALL = """
import os, signal, sys
from gather_infer_cli.start import main
import {module} as module

def interrupted(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    raise {error}

module.{name} = interrupted
main()
"""
PLACES = {
    # id: (module, name, what code in C makes of the interrupt)
    "as the model is read": ("gather_infer.model.model_loading", "to_model_file", "SystemError('returned a result')"),
    "as it is inferred": ("gather_infer.inference.inference_driver", "scope_of", "ImportError('failed to import')"),
    "as it is written": ("gather_infer.model", "save", "KeyboardInterrupt"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_at_work(place: str, run: Run) -> None:
    module, name, error = PLACES[place]
    code = AT_CALL.format(module=module, name=name, error=error)
    done = subprocess.run(
        [sys.executable, "-c", code, "infer", "embedding.onnx", "-o", "out.onnx"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")
    assert "Traceback" not in done.stderr and not Path("out.onnx").exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_termination_at_work(place: str, run: Run) -> None:
    """SIGTERM ends the command as an interrupt does, with its own line and exit code, and leaves no temporary file."""
    module, name, error = PLACES[place]
    code = AT_CALL.format(module=module, name=name, error=error).replace("SIGINT", "SIGTERM")
    before = {path.name for path in Path().iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", code, "infer", "embedding.onnx", "-o", "out.onnx"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.strip()) == (143, "error: terminated")
    assert {path.name for path in Path().iterdir()} == before


BETWEEN_RENAMES = """
import os, signal, sys
from gather_infer_cli.start import main

replace = os.replace
def interrupted(*paths):
    replace(*paths)
    os.kill(os.getpid(), signal.{name})

os.replace = interrupted
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_model_and_its_data_file_do_not_part(name: str, code: int, run: Run) -> None:
    """A signal between the two renames takes effect after both."""
    arguments = ["infer", "big.onnx", "-o", "out.onnx", "--external-data", "out.bin"]
    for value, expected in ((0, 0), (1, code)):
        table = onnx.numpy_helper.from_array(np.full((64, 64), value, np.float32), "w")
        model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 18]> g (float[N, 64] x) => (float[N, 64] y)'
                                        " { y = MatMul(x, w) }")  # fmt: skip
        model.graph.initializer.append(table)
        onnx.save(model, "big.onnx")
        program = BETWEEN_RENAMES.format(name=name) if value else "from gather_infer_cli.start import main; main()"
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
        assert done.returncode == expected, done.stderr
        stored = onnx.load("out.onnx").graph.initializer[0]
        assert (onnx.numpy_helper.to_array(stored) == value).all()
    assert not [path for path in Path().iterdir() if path.name.endswith(".tmp")]


def test_an_interrupt_in_a_callback_is_not_lost(run: Run) -> None:
    code = """
import os, signal, time
from gather_infer_cli.start import main
import gather_infer.model.model_loading as given

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)

def slow(path):
    Dying()
    time.sleep(20)

given.to_model_file = slow
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "infer", "x"], capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


def test_who_ignores_interrupts_is_not_interrupted(run: Run) -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + AT_IMPORT
    done = subprocess.run(
        [sys.executable, "-c", code, "onnx", "infer", "embedding.onnx"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def closed(number: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command one of whose standard streams is closed."""
    redirection = {0: "0<&-", 1: "1>&-", 2: "2>&-"}[number]
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", *PROGRAM, *arguments], capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "command", ["infer embedding.onnx", "check embedding.onnx", "--help", "inspect embedding.onnx"]
)
def test_a_closed_standard_output(command: str, run: Run) -> None:
    done = closed(1, *command.split())
    assert (done.returncode, done.stderr) == (3, "error: standard output: Bad file descriptor\n")


def test_a_model_is_never_written_into_another_file(run: Run) -> None:
    """A file that is opened while a stream is closed must not get the number of the stream."""
    before = Path("embedding.onnx").read_bytes()
    assert closed(1, "fold", "embedding.onnx", "-o", "-").returncode == 3
    assert closed(2, "fold", "embedding.onnx", "-o", "out.onnx").returncode == 0
    assert Path("embedding.onnx").read_bytes() == before
    onnx.checker.check_model("out.onnx")


def test_a_closed_standard_input_and_error(run: Run) -> None:
    done = closed(0, "infer", "-")
    assert (done.returncode, done.stderr) == (3, "error: <stdin>: empty\n")
    done = closed(2, "infer", "missing.onnx")
    assert (done.returncode, done.stdout) == (3, "")
    assert closed(2, "infer", "embedding.onnx").stdout.startswith("embedding.onnx ")


def test_an_interrupt_is_sent_by_the_keyboard_to_all(run: Run) -> None:
    """Workers of `check` die with it, and only the command says so."""
    code = "import os; from gather_infer_cli.start import main; os.write(1, b'up'); main()"
    arguments = ["check", "embedding.onnx", "many.onnx", "fixtures/bert-dynamo.onnx", "--jobs", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.read(2)
    process.stdout.read(1)  # the result of the first file
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 1, 130)
    assert "Traceback" not in errors.decode()
