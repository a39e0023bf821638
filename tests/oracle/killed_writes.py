"""Commands that replace a file, ended by a signal at random moments: the old file is whole, or the new one is.

    python -m tests.oracle.killed_writes [--command NAME ...] [--kills 200] [--seed 0]

Half of the signals are sent at a random moment of the whole run, the others after the command has begun to write. The
model has to be the old or the new one, with its data, in whichever file it refers to. After SIGINT and SIGTERM no
temporary file is left.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

PROGRAM: Final = (sys.executable, "-c", "from gather_infer_cli.start import main; main()")
SIGNALS: Final = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
ROWS: Final = 6_000_000
"""Of the inline table: 24 MB."""
PAIR: Final = ("-o", "out.onnx", "--external-data", "out.bin")

COMMANDS: Final = {
    # name: arguments; each replaces m.onnx, or out.onnx with out.bin
    "infer": ("infer", "m.onnx", "--in-place"),
    "fold": ("fold", "m.onnx", "--in-place"),
    "optimize": ("optimize", "m.onnx", "--in-place"),
    "freeze": ("freeze", "m.onnx", "--dim", "N=2", "--in-place"),
    "unfreeze": ("unfreeze", "m.onnx", "--dim", "fixed.0=rows", "--no-verify", "--in-place"),
    "extract": ("extract", "m.onnx", "--outputs", "y,t", "--in-place"),
    "outputs": ("outputs", "m.onnx", "--add", "a", "--in-place"),
    "rename": ("rename", "m.onnx", "--dim", "N=rows", "--in-place"),
    "compose": ("compose", "m.onnx", "small.onnx", "--map", "y=u", "--in-place"),
    "rename, data": ("rename", "m.onnx", "--dim", "N=rows", *PAIR),
    "extract, data": ("extract", "m.onnx", "--outputs", "y,t", *PAIR),
    "outputs, data": ("outputs", "m.onnx", "--add", "a", *PAIR),
    "compose, data": ("compose", "m.onnx", "small.onnx", "--map", "y=u", *PAIR),
    "unfreeze, data": ("unfreeze", "m.onnx", "--dim", "fixed.0=rows", "--no-verify", *PAIR),
}


@dataclass(slots=True)
class Tally:
    """The results of the kills of a command.

    kills     all of them
    writing   those that found a temporary file
    codes     exit codes
    faults    texts about files that are not whole, and temporary files that are left
    """

    kills: int = 0
    writing: int = 0
    states: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def model() -> ModelProto:
    """A model that every command changes, with a large table."""
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[N, 4] x, float[2, 4] fixed, int64[1] i)
        => (float[N, 4] y, float[2, 4] z, float[1, 4] t) {
        one = Constant<value_int = 1>() two = Add(one, one) f = Cast<to = 1>(two)
        a = Relu(x) b = Mul(a, f) y = Neg(b) z = Abs(fixed) t = Gather(table, i) }"""
    made: ModelProto = onnx.parser.parse_model(text)
    table = np.arange(ROWS, dtype=np.float32).reshape(-1, 4)
    made.graph.initializer.append(numpy_helper.from_array(table, "table"))
    return made


def prepare(folder: Path) -> None:
    """Write m.onnx, small.onnx, and an older pair of out.onnx and out.bin."""
    made = model()
    onnx.save(made, folder / "m.onnx")
    small = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["": 18]> h (float[K, 4] u) => (float[K, 4] v) { v = Exp(u) }"""
    )
    onnx.save(small, folder / "small.onnx")
    old = ModelProto.FromString(made.SerializeToString())
    table = numpy_helper.from_array(np.zeros((ROWS // 4, 4), np.float32), "table")
    old.graph.initializer[0].CopyFrom(table)
    onnx.save(old, folder / "out.onnx", save_as_external_data=True, location="out.bin", size_threshold=1024)


def state_of(path: Path) -> str:
    """A hash of a model and of the bytes of its tensors; "" if a data file lacks or is too short."""
    loaded = onnx.load(path, load_external_data=False)
    for tensor in loaded.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            file = path.parent / entries["location"]
            begin, length = int(entries["offset"]), int(entries["length"])
            data = file.read_bytes()[begin : begin + length] if file.exists() else b""
            if len(data) < length:
                return ""
            tensor.raw_data = data
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return hashlib.sha256(loaded.SerializeToString()).hexdigest()


def kill_often(arguments: Sequence[str], kills: int, rng: random.Random) -> Tally:
    """Run a command `kills` times, and end it with a signal; each begins with the old files."""
    found = Tally()
    names = ("out.onnx", "out.bin") if "out.bin" in arguments else ("m.onnx",)
    with tempfile.TemporaryDirectory(prefix="killed-writes-") as name:
        origin, folder = Path(name, "origin"), Path(name, "run")
        origin.mkdir()
        prepare(origin)
        shutil.copytree(origin, folder)
        begin = time.monotonic()
        done = subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        whole = time.monotonic() - begin
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        states = {state_of(origin / names[0]): "old", state_of(folder / names[0]): "new"}
        if len(states) < 2:
            raise RuntimeError(f"{' '.join(arguments)}: changes nothing")
        expected = {path.name for path in origin.iterdir()}
        is_old = False
        for number in range(kills):
            if not is_old:
                for each in names:
                    shutil.copyfile(origin / each, folder / each)
            sent = SIGNALS[number % len(SIGNALS)]
            code, was_writing = _killed(folder, arguments, sent, rng, whole, after_begin=bool(number // 3 % 2))
            found.kills += 1
            found.writing += was_writing
            found.codes[code] += 1
            state = states.get(state_of(folder / names[0]), "neither")
            is_old = state == "old"
            found.states[state] += 1
            left = sorted({path.name for path in folder.iterdir()} - expected)
            what = f"kill {number} with {sent.name}, exit code {code}"
            if state == "neither":
                found.faults.append(f"{what}: neither the old nor the new model")
            if left and (sent is not signal.SIGKILL or not all(".gather-infer-" in each for each in left)):
                found.faults.append(f"{what}: left {', '.join(left)}")
            for each in left:
                (folder / each).unlink()
    return found


def _killed(
    folder: Path, arguments: Sequence[str], sent: signal.Signals, rng: random.Random, whole: float, *, after_begin: bool
) -> tuple[int, bool]:
    """The exit code of a run that is ended by a signal, and whether it was writing then."""
    process = subprocess.Popen([*PROGRAM, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if after_begin:
        while process.poll() is None and not _is_writing(folder):
            time.sleep(0.0002)
        time.sleep(rng.uniform(0, 0.03))
    else:
        time.sleep(rng.uniform(0, whole))
    was_writing = _is_writing(folder)
    process.send_signal(sent)
    return process.wait(), was_writing


def _is_writing(folder: Path) -> bool:
    return any(path.name.startswith(".gather-infer-") for path in folder.iterdir())


def main() -> int:
    parser = argparse.ArgumentParser(description="End commands that replace a file at random moments.")
    parser.add_argument("--command", nargs="+", choices=COMMANDS, default=list(COMMANDS), help="the commands")
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="how often each is ended")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the moments")
    options = parser.parse_args()
    faults = 0
    for name in options.command:
        found = kill_often(COMMANDS[name], options.kills, random.Random(options.seed))
        print(
            f"{name}: {found.kills} kills, {found.writing} while writing; files {dict(found.states)}; "
            f"exit codes {dict(sorted(found.codes.items()))}; {len(found.faults)} faults",
            flush=True,
        )
        for text in found.faults[:5]:
            print(f"  {text}", flush=True)
        faults += len(found.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
