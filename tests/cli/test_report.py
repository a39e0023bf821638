"""Reports as functions of results: layout, odd values, terminals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from onnx import helper

from gather_infer.catalog.family import is_gather
from gather_infer.diagnostic import Location, diagnostic
from gather_infer.inference.result import Inference
from gather_infer.model import ModelFile
from gather_infer.node_ids import MAIN, NodePath
from gather_infer.report import (
    ExternalFile,
    InferenceReport,
    View,
    inference_json,
    inference_text,
    summaries_text,
    summarize,
)
from gather_infer.report.json import type_json
from gather_infer.report.layout import GLUE, Column, count, fitted, printable, shorten, size, table, wrapped
from gather_infer.symbolic import symbol
from gather_infer.tensor import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    make_values,
)
from gather_infer.trail import Assumption, Cause, Constraint

N = symbol("N")
MODEL = ModelFile.from_proto(helper.make_model(helper.make_graph([], "g", [], [])))


def inference(values: Mapping[str, Value], **found: Any) -> Inference:
    given: dict[str, Any] = {
        "inputs": (), "outputs": tuple(values), "diagnostics": (), "constraints": (), "assumptions": (), "causes": {},
        "accesses": (),
    }  # fmt: skip
    return Inference(MODEL, {MAIN: dict(values)}, {MAIN: ""}, **{**given, **found})


SIZES = {0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 909312: "888 KiB", 1457520: "1.39 MiB", 1 << 40: "1.00 TiB"}


@pytest.mark.parametrize("nbytes", SIZES)
def test_sizes(nbytes: int) -> None:
    assert size(nbytes) == SIZES[nbytes]


def test_counts() -> None:
    assert [count(1, "node"), count(0, "node"), count(2, "entry")] == ["1 node", "0 nodes", "2 entries"]


@pytest.mark.parametrize("room", range(1, 12))
def test_shortened_texts_keep_both_ends(room: int) -> None:
    short = shorten("abcdefghij", room)
    assert len(short) == min(room, 10)
    assert room >= 10 or "…" in short
    assert room < 3 or (short[0], short[-1]) == ("a", "j")


ROWS = [("/layer.0/self/Gather", "x" * 20, "1"), ("/layer.1/self/Gather", "y" * 8, ""), ("other", "z", "12")]
COLUMNS = (Column("name"), Column("type"), Column("n", right=True))


def test_a_table_that_fits() -> None:
    assert (
        table(COLUMNS, ROWS, width=51)
        == table(COLUMNS, ROWS)
        == [
            "  name                   type                    n",
            "  /layer.0/self/Gather   xxxxxxxxxxxxxxxxxxxx    1",
            "  /layer.1/self/Gather   yyyyyyyy",
            "  other                  z                      12",
        ]
    )


def test_names_are_shortened_while_they_differ() -> None:
    lines = table(COLUMNS, ROWS, width=49)
    assert lines[1] == "  /layer.0/…lf/Gather   xxxxxxxxxxxxxxxxxxxx    1"
    assert lines[2] == "  /layer.1/…lf/Gather   yyyyyyyy"


def test_rows_are_stacked_when_there_is_no_room_for_names() -> None:
    assert table(COLUMNS, ROWS, width=45) == [
        "  /layer.0/self/Gather",
        "    type xxxxxxxxxxxxxxxxxxxx   n 1",
        "  /layer.1/self/Gather",
        "    type yyyyyyyy",
        "  other",
        "    type z   n 12",
    ]
    assert table(COLUMNS, ROWS, width=32)[:3] == [
        "  /layer.0/self/Gather",
        "    type xxxxxxxxxxxxxxxxxxxx",
        "    n 1",
    ]


def test_rows_are_stacked_when_short_names_would_look_alike() -> None:
    rows = [(f"/encoder/layer.{i}/attention/Gather", "float32[N]", "0") for i in range(2)]
    assert table(COLUMNS, rows, width=51)[-1] == "  /encoder/layer.1…ttention/Gather   float32[N]   0"
    assert table(COLUMNS, rows, width=49)[-2:] == ["  /encoder/layer.1/attention/Gather", "    type float32[N]   n 0"]


@pytest.mark.parametrize(
    ("line", "expected"),
    {
        "a size": ("  cost of m.onnx   at batch = 1", ["  cost of m.onnx   at", "    batch = 1"]),
        "a unit": ("  4*batch*sequence + 16*batch B", ["  4*batch*sequence +", "    16*batch B"]),
        "glued": (f"  first-of-rules 3, second{GLUE}2", ["  first-of-rules 3,", "    second 2"]),
        "glued, and fits": (f"  second{GLUE}2", ["  second 2"]),
        "an equation": ("  batch*seq == 2*(batch*seq//2)", ["  batch*seq ==", "    2*(batch*seq//2)"]),
    }.values(),
)
def test_where_lines_end(line: str, expected: list[str]) -> None:
    assert fitted(line, 25, "    ") == expected


@pytest.mark.parametrize("width", [40, 60, 100])
def test_columns_side_by_side_wrap(width: int) -> None:
    rows = [("short", "a b" * 16, "c" * 50), ("  a longer label", "y" * 20, "12")]
    lines = wrapped((Column(""), Column("first/model.onnx"), Column("second.onnx")), rows, width=width)
    assert max(map(len, lines)) <= max(width, 3 * 16 + 6)
    text = re.sub(r"\s", "", "".join(lines))
    assert all(text.count(letter) >= rows[0][1].count(letter) for letter in "ab")
    assert text.count("c") >= 50 and text.count("y") == 20


def test_names_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc") == "a\\x1b[31mb\\nc"
    found = inference({"evil\x1b[2J": SymbolicTensor()})
    summary = summarize(MODEL.proto, name="m\r", nbytes=0, is_gather=is_gather)
    text = "\n".join(inference_text(InferenceReport(found, summary)))
    assert "\x1b" not in text
    assert "\r" not in text


TYPES: dict[str, tuple[Value | None, Any]] = {
    "unknown": (None, {"kind": "unknown"}),
    "nothing known": (
        SymbolicTensor(), {"kind": "tensor", "dtype": None, "shape": None, "values": None, "value_range": None},
    ),
    "scalar": (
        SymbolicTensor(DType.INT64, (), make_values(N - 1)),
        {"kind": "tensor", "dtype": "int64", "shape": [], "values": "N - 1", "value_range": None},
    ),
    "span": (
        SymbolicTensor(DType.INT64, (N,), value_range=ValueRange(0, N - 1)),
        {"kind": "tensor", "dtype": "int64", "shape": ["N"], "values": None, "value_range": [0, "N - 1"]},
    ),
    "open span": (
        SymbolicTensor(DType.INT64, (2,), value_range=ValueRange(None, 5)),
        {"kind": "tensor", "dtype": "int64", "shape": [2], "values": None, "value_range": [None, 5]},
    ),
    "floats": (
        SymbolicTensor(DType.FLOAT32, (2, 2), make_values([float("nan"), float("-inf"), -0.0, None], (2, 2))),
        {"kind": "tensor", "dtype": "float32", "shape": [2, 2], "value_range": None,
         "values": [[{"float": "nan"}, {"float": "-inf"}], [-0.0, None]]},
    ),
    "booleans": (
        SymbolicTensor(DType.BOOL, (2,), make_values([True, None])),
        {"kind": "tensor", "dtype": "bool", "shape": [2], "values": [True, None], "value_range": None},
    ),
    "no elements": (
        SymbolicTensor(DType.INT64, (0, 2), np.empty((0, 2), dtype=object)),
        {"kind": "tensor", "dtype": "int64", "shape": [0, 2], "values": [], "value_range": None},
    ),
    "sequence": (
        SequenceType(SparseTensor(DType.INT8, (N,)), 3),
        {"kind": "sequence", "element": {"kind": "sparse", "dtype": "int8", "shape": ["N"]}, "length": 3},
    ),
    "optional map": (
        OptionalType(MapType(DType.STRING, None), True),
        {"kind": "optional", "present": True,
         "element": {"kind": "map", "key": "string", "value": {"kind": "unknown"}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_types_as_json(name: str) -> None:
    value, expected = TYPES[name]
    found = type_json(value)
    assert found == expected
    json.dumps(found, allow_nan=False)


def place(label: str) -> NodePath:
    return NodePath(MAIN, 0, label)


def test_what_a_run_may_hold() -> None:
    found = inference(
        {"y": SymbolicTensor(DType.INT64, (N, symbol("nonzero_0")))},
        diagnostics=(
            diagnostic("GI401", "a note", Location(place("n"), "Gather", "", 17)),
            diagnostic("GI301", "an error", Location(place("n"), "Gather", "", 17), detail=("a fact",)),
        ),
        constraints=(Constraint(N, "<=", 512, place("/Add")),),
        assumptions=(Assumption(N, 1, place("/Reshape"), "an entry of 0 copies"),),
        causes={"nonzero_0": Cause(place("/NonZero"), "NonZero", "depends on the data", True)},
    )
    summary = summarize(MODEL.proto, name="m.onnx", nbytes=2048, is_gather=is_gather)
    report = InferenceReport(found, summary, constraints=True)
    text = "\n".join(inference_text(report, View(seconds=1.0)))
    assert text.index("error[GI301]: an error") < text.index("note[GI401]: a note")
    assert text.endswith("\n1 error")
    assert "1 tensor: 1 with a type, 1 ranked, 0 with every dim known   1.00 s" in text
    assert "N >= 1 (node /Reshape): an entry of 0 copies" in text
    assert "\n  holds in every run that does not fail:\n    N <= 512 (node /Add)\n" in text
    held: Any = inference_json(report)
    assert held["assumptions"] == [
        {"dim": "N", "lower": 1, "upper": None, "node": "/Reshape", "reason": "an entry of 0 copies"}
    ]
    assert held["constraints"] == [{"left": "N", "relation": "<=", "right": 512, "node": "/Add"}]
    assert list(held["causes"]) == ["nonzero_0"]
    assert held["coverage"] == {"tensors": 1, "typed": 1, "ranked": 1, "exact": 0}


def test_missing_data_files_are_named() -> None:
    external = (ExternalFile("weights.bin", None, 3), ExternalFile("more.bin", 2048, 1))
    summary = summarize(MODEL.proto, name="m", nbytes=1, is_gather=is_gather, external=external)
    text = "\n".join(summaries_text([summary]))
    assert "weights.bin missing, 3 tensors" in text
    assert "more.bin 2.00 KiB, 1 tensor" in text
