"""Small models in ONNX's text form, and runtimes that misbehave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto

from gather_infer.inference import infer
from gather_infer.verification import Verification, verify


def model(text: str, *, opset: int = 18, ir_version: int = 10) -> ModelProto:
    """`(float[N] x) => (float[N] y) { y = Relu(x) }` as a model."""
    return onnx.parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> g {text}')


def untyped(proto: ModelProto) -> ModelProto:
    """The model with outputs that declare no type."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for output in copy.graph.output:
        output.ClearField("type")
    return copy


def verified(before: Any, after: Any, runs: int = 8, *, dims: tuple[str, ...] = (), **options: Any) -> Verification:
    return verify(before, after, runs, inference=infer(before, dims=dims), **options)


RUNTIME = """
import os, sys, time
from pathlib import Path
import numpy as np

__version__ = "0.0"

class SessionOptions:
    def add_session_config_entry(self, key, value):
        pass

class GraphOptimizationLevel:
    ORT_DISABLE_ALL = 0

class InferenceSession:
    def __init__(self, path, options, providers):
        self.is_rewritten = Path(path).parent.name == "rewritten"
        self.count = 0
        {load}

    def get_outputs(self):
        return []

    def run(self, names, feeds):
        self.count += 1
        {run}
"""


def fake_runtime(monkeypatch: pytest.MonkeyPatch, folder: Path, run: str, load: str = "pass") -> None:
    """Put an onnxruntime that does `load` and `run` before the one that is installed."""
    folder.mkdir()
    (folder / "onnxruntime.py").write_text(RUNTIME.format(load=load, run=run))
    monkeypatch.syspath_prepend(str(folder))


def absent_runtime(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make it look as if onnxruntime were not installed."""
    folder.mkdir()
    (folder / "onnxruntime.py").write_text('raise ImportError("there is none")\n')
    monkeypatch.syspath_prepend(str(folder))
