"""Queries of a lowering on a layer: mismatches are reported by name; nothing else counts as a broken file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gather_infer_cli.main import main

from gather_infer import convert
from gather_infer.context import Context
from gather_infer.dialect import LoweringRefused
from gather_infer.errors import ConversionRefused, SpecViolation
from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, numpy_of, range_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.rules import OpCall
from gather_infer.tensor import DType, SymbolicTensor
from tests.documents import REPO
from tests.openvino.ir_made import Layer as Written
from tests.openvino.ir_made import net, parameter, result, save


def layer(constant: Any = None, **attributes: Any) -> LayerView:
    """A layer with one input, a constant or a matrix of floats."""
    held = None if constant is None else np.asarray(constant)
    fact = SymbolicTensor(DType.FLOAT32, (2, 3) if held is None else held.shape)
    call = OpCall("Any", [fact], attributes, (True,), 8, "openvino", Context(), lambda _: held)
    return LayerView(call, ["x"])


BROKEN: dict[str, tuple[LayerView, Callable[[LayerView], object], str]] = {
    # id: layer, what is asked, what is told
    "too few": (layer(a="1"), lambda op: op.integers("a", count=2), "attribute a must have 2 elements, has 1"),
    "none": (layer(a=""), lambda op: op.integers("a", count=1), "attribute a must have 1 elements, has 0"),
    "below": (layer(a="2,0"), lambda op: op.integers("a", lower=1), "attribute a must be 1 or more, is 0"),
    "no list": (layer(a="1,x"), lambda op: op.integers("a"), "attribute a must be a list of numbers, has 'x'"),
    "missing": (layer(), lambda op: op.integers("a"), "attribute a is missing"),
    "an integer below": (layer(a=-1), lambda op: op.integer("a", lower=0), "attribute a must be 0 or more, is -1"),
    "past 64 bits": (layer(a=str(2**63)), lambda op: op.integer("a"), "an integer of 64 bits, is 9223372036854775808"),
    "no integer": (layer(a=float("inf")), lambda op: op.integer("a"), "attribute a must be an integer, is inf"),
    "no number": (layer(a="nan"), lambda op: op.number("a"), "attribute a must be a number, is 'nan'"),
    "infinite": (layer(a="1,inf"), lambda op: op.numbers("a"), "attribute a must be of finite numbers"),
    "numbers below": (layer(a="-0.5"), lambda op: op.numbers("a", lower=0), "attribute a must be 0 or more, is -0.5"),
    "elements": (layer([1, 2]), lambda op: op.ints(0, count=3), "input 0 must have 3 elements, has 2"),
    "an element below": (layer([1, -2]), lambda op: op.ints(0, lower=0), "input 0 must be 0 or more, is -2"),
    "not finite": (layer([np.nan]), lambda op: op.ints(0), "input 0 must be of integers, is of float64"),
    "texts": (layer(["a"]), lambda op: op.known_ints(0), "input 0 must be of integers, is of <U1"),
    "two numbers": (layer([1.0, 2.0]), lambda op: op.known_number(0), "input 0 must have 1 elements, has 2"),
    "no axis": (layer(), lambda op: op.dim(0, 2), "input 0 has 2 axes, there is none 2"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_layer_that_does_not_fit_is_an_error(case: str) -> None:
    op, ask, told = BROKEN[case]
    with pytest.raises(SpecViolation) as found:
        ask(op)
    assert told in str(found.value)


def test_what_fits_is_given() -> None:
    op = layer(a="1,2", b="7", c="1.5,-inf")
    assert (op.integers("a", count=2, lower=1), op.integer("b", lower=7, upper=7)) == ((1, 2), 7)
    assert op.number("d", float("inf")) == float("inf") and op.numbers("b", count=1) == [7.0]
    held = layer(np.array([[3.0]], np.float32))
    assert (held.known_number(0), held.ints(0, count=1), held.known_ints(0, lower=3)) == (3.0, [3], [3])
    assert layer().known_number(0) is None and layer().ints(0, count=5) is None


def test_what_is_not_converted_is_refused() -> None:
    refused: list[Callable[[], object]] = [
        lambda: layer(a=5).integer("a", upper=4),
        lambda: FunctionBuilder(21).scalar(300, DType.UINT8),
        lambda: FunctionBuilder(21).scalar(float("nan"), DType.INT32),
        lambda: FunctionBuilder(21).i64(2**63),
        lambda: numpy_of(DType.STRING),
        lambda: range_of(DType.FLOAT32),
    ]
    for ask in refused:
        with pytest.raises(LoweringRefused):
            ask()


def written(folder: Path, data: str) -> Path:
    swish = Written("1", "Elu", ("0:FP32:2,3",), ("1:FP32:2,3",), data=data)
    return save(folder, net([parameter("0"), swish, result("2")], "0.0>1.0 1.1>2.0"))


def test_a_broken_attribute_is_listed(tmp_path: Path) -> None:
    with pytest.raises(ConversionRefused, match="Elu-1, Elu_1: attribute alpha must be a number, is 'nan'"):
        convert(written(tmp_path, 'alpha="nan"'))


@pytest.mark.parametrize("error", [IndexError("of ours"), KeyError("of ours"), ZeroDivisionError(), ValueError()])
def test_a_fault_of_ours_is_no_refusal(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends the command with the exit code for that, and says so."""
    (entry,) = LOWERINGS.versions("MatMul")

    def faulty(op: LayerView, g: FunctionBuilder) -> str:
        raise error

    monkeypatch.setitem(LOWERINGS._entries, "MatMul", (replace(entry, lowering=faulty),))
    path = REPO / "fixtures" / "openvino" / "half.xml"
    with pytest.raises(type(error)):
        convert(path)
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(path), "--dry-run"])
    assert ended.value.code == 4
    assert f"internal error of gather-infer, report it with this line: {type(error).__name__}" in (
        capsys.readouterr().err
    )
