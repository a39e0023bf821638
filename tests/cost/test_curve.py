"""The cost along a symbol: numbers, refusals, drawings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest
from click.testing import CliRunner
from gather_infer_cli.main import main

import gather_infer
from gather_infer import Cost, UnknownName, UsageError, infer

BERT = "fixtures/bert-torchscript.onnx"
HOSTILE = "$x_{1}$ </text><script>alert(1)</script> & \u202e"


@pytest.fixture(scope="module")
def bert() -> Cost:
    return infer(BERT).cost().at(batch=3)


def test_numbers_are_those_of_the_formulas(bert: Cost) -> None:
    curve = bert.along("seq", 1, 64, points=8)
    assert curve.sizes == (1, 10, 19, 28, 37, 46, 55, 64)
    for at, seq in enumerate(curve.sizes):
        there = bert.at(seq=seq)
        assert (curve.macs[at], curve.reads[at], curve.writes[at]) == (there.macs, there.reads, there.writes)
        assert curve.peak[at] == there.peak
    assert (curve.at, curve.parameters, curve.is_exact) == ({"batch": 3}, bert.parameter_bytes, True)


@pytest.mark.parametrize("low, high, points, sizes", [(5, 5, 100, (5,)), (1, 3, 100, (1, 2, 3)), (2, 9, 1, (2,))])
def test_sizes(bert: Cost, low: int, high: int, points: int, sizes: tuple[int, ...]) -> None:
    assert bert.along("seq", low, high, points=points).sizes == sizes


REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "descending": (("seq", 4, 3), "the range of dim 'seq' must be two sizes in ascending order, is 4..3"),
    "negative": (("seq", -1, 3), "the range of dim 'seq' must be two sizes in ascending order, is -1..3"),
    "sizes without a run": (("seq", 1, 65), "no run has seq = 65: 1 <= seq <= 64"),
}


@pytest.mark.parametrize("given, message", REFUSED.values(), ids=REFUSED)
def test_refusals(bert: Cost, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        bert.along(*given)


def test_other_symbols_need_sizes(bert: Cost) -> None:
    with pytest.raises(UsageError, match="the cost also depends on batch"):
        infer(BERT).cost().along("seq", 1, 4)
    with pytest.raises(UnknownName, match="no dim 'sequ'"):
        bert.along("sequ", 1, 4)
    with pytest.raises(UsageError, match="1 to 1000 points"):
        bert.along("seq", 1, 4, points=0)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["cost", BERT, *arguments])
    return done.exit_code, done.output


def test_the_command_prints_rows_and_json() -> None:
    code, text = run("--plot", "seq=1..64", "--at", "batch=3")
    assert code == 0
    assert len([line for line in text.splitlines() if line.endswith("█")]) == 12
    code, text = run("--plot", "seq=1..64", "--at", "batch=3", "--format", "json")
    found = json.loads(text)
    assert (code, found["symbol"], found["at"]) == (0, "seq", {"batch": 3})
    assert found["macs"][-1] == infer(BERT).cost().at(batch=3, seq=64).macs
    assert len(found["sizes"]) == len(found["peak"]) == 64


USAGE = {
    "no range": (("--plot", "seq"), "--plot must read NAME=LOW..HIGH, found 'seq'"),
    "no drawing": (("-o", "cost.svg"), "-o is for the drawing of --plot"),
    "another suffix": (
        ("--plot", "seq=1..2", "--at", "batch=1", "-o", "cost.gif"),
        "a plot is written to a file that ends in .svg, .pdf, .png, not 'cost.gif'",
    ),
    "several models": ((BERT, "--plot", "seq=1..2"), "--plot takes one model"),
}


@pytest.mark.parametrize("arguments, message", USAGE.values(), ids=USAGE)
def test_usage(arguments: tuple[str, ...], message: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert message in text


def test_without_matplotlib(bert: Cost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"plots need matplotlib: pip install 'gather-infer\[plot\]'"):
        bert.along("seq", 1, 4).save(tmp_path / "cost.svg")
    assert list(tmp_path.iterdir()) == []


def test_drawings(bert: Cost, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs '.[plot]'")
    curve = bert.along("seq", 0 + 1, 64)
    for suffix, start in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        path = tmp_path / f"cost.{suffix}"
        curve.save(path)
        first = path.read_bytes()
        curve.save(path)
        assert first.startswith(start)
        assert path.read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cost.pdf", "cost.png", "cost.svg"]
    assert curve._repr_html_().startswith("<svg")


def test_names_are_text_in_drawings(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs '.[plot]'")
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[n] x) => (float[n] y) { y = Relu(x) }'
    )
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = HOSTILE
    curve = gather_infer.infer(model).cost().along(HOSTILE, 0, 3)
    drawing = ElementTree.fromstring(curve._repr_html_())
    texts = ["".join(element.itertext()) for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert any("<script>alert(1)</script>" in text for text in texts)
    assert not [element for element in drawing.iter() if element.tag.endswith("script")]
