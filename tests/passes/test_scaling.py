"""Twice the nodes take about twice the work: Python calls are counted, since times depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from onnx import ModelProto

import gather_infer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

NODES = 300
MOST = 2.2

COMMANDS: dict[str, Callable[[ModelProto], object]] = {"optimize": gather_infer.optimize, "infer": gather_infer.infer,
            "check": gather_infer.check}  # fmt: skip

OPTIMIZED = [
    "equal nodes",
    "equal nodes that are outputs",
    "equal constants",
    "one value as many outputs",
    "an input as many outputs",
    "many different readers of one value",
    "an Identity before each of many readers",
    "chain of Identity",
    "chain of Gather by one run-time index",
    "chain of Slice",
    "chain of Transpose",
    "chain of Reshape and Sin",
    "chain of If",
    "one wide Concat",
    "one wide Concat of dims",
    "dims: Div by 2",
    "Shape, Gather, Concat, Reshape of one value",
    "many functions, each called once",
]
INFERRED = ["equal nodes", "chain of Slice", "layers of a transformer", "chain of MatMul that equates dims"]
CHECKED = ["chain of Gather by many run-time indices", "one value as many outputs"]


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[int], ModelProto]]:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    found: dict[str, Callable[[int], ModelProto]] = import_module("scaling_families").FAMILIES
    return found


def count_calls(command: Callable[[ModelProto], object], model: ModelProto) -> int:
    count = 0

    def profile(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        command(model)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("optimize", name) for name in OPTIMIZED),
        *(("infer", name) for name in INFERRED),
        *(("check", name) for name in CHECKED),
    ],
)
def test_work_grows_with_the_nodes(command: str, name: str, families: dict[str, Callable[[int], ModelProto]]) -> None:
    run, generate = COMMANDS[command], families[name]
    run(generate(NODES // 2))  # fills the caches
    small, large = (count_calls(run, generate(nodes)) for nodes in (NODES, 2 * NODES))
    assert large <= MOST * small, f"{small} calls for {NODES} nodes, {large} for twice as many"
