"""Stateful decoders in all forms of weights: three steps, each going on from the state of the one before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from gather_infer import convert
from gather_infer.openvino.weights import WeightFormat
from tests.openvino.decoders import differences, differences_back

ROOT = Path(__file__).parents[2]
WEIGHTS = ("f32", "f16", "int8", "int4", "nf4")
DECODERS = ("gpt2-kv-dynamo", "llama-kv-dynamo", "whisper-decoder-dynamo", "t5-decoder-dynamo", "gru", "window")
"""Of the exports by TorchScript OpenVINO's plugin takes the state for of another shape, and fails."""
IN_CI = ("gpt2-kv-dynamo:int4", "llama-kv-dynamo:int8", "whisper-decoder-dynamo:f16", "gru:nf4", "window:f32")


def made(names: tuple[str, ...], folder: Path) -> None:
    _worked("make", names, folder)


def _worked(task: str, names: tuple[str, ...], folder: Path) -> None:
    """Run the task of the process with OpenVINO for every name."""
    command = [sys.executable, "-m", "tests.openvino.decoders_worker", task, str(folder), *names]
    subprocess.run(command, check=True, cwd=ROOT, timeout=900)
    entries = [json.loads(line) for line in (folder / f"{task}.jsonl").read_text().splitlines()]
    assert [e["name"] for e in entries if e["stage"] == "done"] == list(names), entries


def forms(name: str) -> tuple[WeightFormat, ...]:
    """Of weights, those that differ for a decoder."""
    return get_args(WeightFormat) if name.split(":")[1] not in ("f32", "f16") else ("dequantize",)


def faults(names: tuple[str, ...], folder: Path) -> dict[str, list[str]]:
    found = {f"{name} {form}": differences(name, folder, form) for name in names for form in forms(name)}
    return {name: wrong for name, wrong in found.items() if wrong}


def faults_back(names: tuple[str, ...], folder: Path) -> dict[str, list[str]]:
    """How OpenVINO with what was converted differs from OpenVINO with the IR."""
    every = {f"{name.replace(':', '-')}-{form}": (name, form) for name in names for form in forms(name)}
    _worked("back", tuple(every), folder)
    found = {stem: differences_back(name, folder, form) for stem, (name, form) in every.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_decoders(tmp_path: Path) -> None:
    made(IN_CI, tmp_path)
    assert not faults(IN_CI, tmp_path)
    kinds = {name: {v.initial for v in convert(tmp_path / f"{name}.xml").variables} for name in
             ("gpt2-kv-dynamo-int4", "gru-nf4", "window-f32")}  # fmt: skip
    assert kinds == {"gpt2-kv-dynamo-int4": {"empty"}, "gru-nf4": {"computed"}, "window-f32": {"constant"}}
    int4 = tmp_path / "gpt2-kv-dynamo-int4.xml"
    operators = {
        "dequantize": "DequantizeLinear",
        "contrib": "MatMulNBits",
    }
    for form in get_args(WeightFormat):
        result = convert(int4, weights=form)
        types = [node.op_type for node in result.proto.graph.node]
        for name, op_type in operators.items():
            assert (op_type in types) == (name == form), (form, op_type)
        assert {each.format for each in result.weights} == {form}
    names = {v.name: (v.past, v.present) for v in convert(int4).variables}
    assert names["past_key_values.0.keypresent.0.key"] == ("past_key_values.0.key", "present.0.key")


@pytest.mark.oracle
def test_decoders_of_every_kind(tmp_path: Path) -> None:
    names = tuple(f"{decoder}:{weights}" for decoder in DECODERS for weights in WEIGHTS)
    made(names, tmp_path)
    assert not faults(names, tmp_path)
    assert not faults_back(names, tmp_path)
