"""Layers that draw random numbers: refused, or converted to the generators of ONNX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from gather_infer import convert
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.verification import verify
from tests.cli.conftest import Run, run
from tests.openvino.ir_made import Layer, computed, const, net, parameter, relu, result, save

__all__ = ["run"]

PORTS = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "i32": "I32", "i64": "I64", "bf16": "BF16"}
FLOAT = ("0:FP32:",)
NUMPY = {"f32": "<f4", "f16": "<f2", "f64": "<f8", "i32": "<i4", "i64": "<i8"}
PROBABILITIES = np.tile(np.array([0.1, 0.5, 0.4, 0.0], np.float32), (2000, 1))


def uniform(folder: Path, element: str, low: float, high: float, dims: tuple[int, ...] = (40, 50)) -> Path:
    """An IR that draws numbers, without inputs; bf16 comes out as f32."""
    ends = np.array([low, high], NUMPY.get(element, "<f4"))
    packed = ends.view("<u2")[1::2] if element == "bf16" else ends
    size, first = packed.itemsize, 8 * len(dims)
    port = f"3:{PORTS[element]}:{','.join(map(str, dims))}"
    drawn = Layer("3", "RandomUniform", ("0:I64:", "1:FP32:", "2:FP32:"), (port,), "draw", "opset8",
                  f'output_type="{element}" global_seed="7" op_seed="3"')  # fmt: skip
    edges, last = "0.0>3.0 1.0>3.1 2.0>3.2", "3.3>5.0"
    layers = [
        const("0", str(len(dims)), 0, first, "i64"),
        const("1", "", first, size, element, outs=(f"0:{PORTS[element]}:",)),
        const("2", "", first + size, size, element, outs=(f"0:{PORTS[element]}:",)),
        drawn,
        result("5", name="y"),
    ]
    if element == "bf16":
        layers.append(Layer("4", "Convert", ("0:BF16:",), ("1:FP32:40,50",), data='destination_type="f32"'))
        last = "3.3>4.0 4.1>5.0"
    weights = np.array(dims, "<i8").tobytes() + packed.tobytes()
    return save(folder, net(layers, f"{edges} {last}"), weights)


def ran(proto: ModelProto, **feeds: npt.NDArray[Any]) -> Any:
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def apart(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], steps: int = 10) -> float:
    """The largest distance of two distributions, of the elements of two arrays."""
    points = np.quantile(theirs.astype(np.float64), np.linspace(0, 1, steps + 1))
    pairs = [[(array.astype(np.float64) <= point).mean() for array in (ours, theirs)] for point in points]
    return float(max(abs(a - b) for a, b in pairs))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize(
    ("element", "low", "high"),
    [("f32", -1, 2), ("f16", 0, 1), ("bf16", 0, 1), ("f64", 0, 3), ("i32", -3, 4), ("i64", 5, 9)],
)
def test_uniform_is_distributed_as_in_openvino(
    element: str, low: float, high: float, opset: int, tmp_path: Path
) -> None:
    path = uniform(tmp_path, element, low, high)
    ours, (theirs,) = ran(convert(path, random="onnx", opset=opset).proto), computed(path)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert low <= ours.min() and ours.max() < high
    assert apart(ours, theirs) < 0.06  # of 2000 draws
    if element.startswith("i"):
        assert set(ours.ravel()) == set(range(int(low), int(high)))


def test_sizes_that_are_fed_and_no_elements(tmp_path: Path) -> None:
    assert ran(convert(uniform(tmp_path, "f32", 0, 1, (0, 3)), random="onnx").proto).shape == (0, 3)
    ends = np.array([0, 1], "<f4").tobytes()
    drawn = Layer("3", "RandomUniform", ("0:I64:", "1:FP32:", "2:FP32:"), ("3:FP32:-1,-1",), "draw", "opset8",
                  'output_type="f32" global_seed="0" op_seed="0"')  # fmt: skip
    layers = [parameter("0", "2", "i64", name="dims", outs=("0:I64:2",)), const("1", "", 0, 4, outs=FLOAT),
              const("2", "", 4, 4, outs=FLOAT), drawn, result("4")]  # fmt: skip
    made = convert(save(tmp_path, net(layers, "0.0>3.0 1.0>3.1 2.0>3.2 3.3>4.0"), ends), random="onnx").proto
    found = ran(made, dims=np.array([30, 20]))
    assert found.shape == (30, 20) and len(np.unique(found)) > 500


def multinomial(folder: Path, *, log: bool, again: bool, samples: int | None) -> Path:
    data = f'convert_type="i32" with_replacement="{again}" log_probs="{log}" global_seed="5" op_seed="6"'.lower()
    layers = [
        parameter("0", "?,4", name="p", outs=("0:FP32:-1,4",)),
        parameter("1", "1", "i64", name="n", outs=("0:I64:1",)) if samples is None else const("1", "1", 0, 8, "i64"),
        Layer("2", "Multinomial", ("0:FP32:-1,4", "1:I64:1"), ("2:I32:-1,-1",), "draw", "opset13", data),
        result("3"),
    ]
    return save(folder, net(layers, "0.0>2.0 1.0>2.1 2.2>3.0"), np.array([samples or 0], "<i8").tobytes())


@pytest.mark.parametrize("samples", [2, None])
@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("log", [True, False])
def test_multinomial_draws_by_the_probabilities(log: bool, again: bool, samples: int | None, tmp_path: Path) -> None:
    """The second draw without replacement is of the rest: by the page, each of it by its part of what is left."""
    proto = convert(multinomial(tmp_path, log=log, again=again, samples=samples), random="onnx").proto
    with np.errstate(divide="ignore"):
        given = np.log(PROBABILITIES) if log else PROBABILITIES
    feeds = {"p": given} | ({} if samples else {"n": np.array([2])})
    found = ran(proto, **feeds)
    assert (found.dtype, found.shape) == (np.int32, (2000, 2))
    first, second = (np.bincount(found[:, k], minlength=4) / 2000 for k in range(2))
    p = PROBABILITIES[0].astype(np.float64)
    rest = p if again else np.array([sum(p[j] * p[i] / (1 - p[j]) for j in range(3) if j != i) for i in range(4)])
    assert np.abs(first - p).max() < 0.05 and np.abs(second - rest).max() < 0.05
    assert again or (found[:, 0] != found[:, 1]).all()


def test_refused_unless_asked_for(tmp_path: Path) -> None:
    path = uniform(tmp_path, "f32", 0, 1)
    with pytest.raises(ConversionRefused, match=r"RandomUniform-8, draw: .*; --random onnx draws others"):
        convert(path)
    with pytest.raises(ConversionRefused, match="draws random numbers up to opset 21, the result has 22"):
        convert(path, random="onnx", opset=22)
    with pytest.raises(UsageError, match="random is one of refuse, onnx, not 'numpy'"):
        convert(path, random="numpy")  # type: ignore[arg-type]
    with pytest.raises(ConversionRefused, match=r"Multinomial-13, draw: .*; --random onnx"):
        convert(multinomial(tmp_path, log=True, again=True, samples=2))


def test_a_seed_makes_another_session_draw_the_same(tmp_path: Path) -> None:
    made = convert(uniform(tmp_path, "f32", 0, 1), random="onnx").proto
    assert (ran(made) == ran(made)).all()


def noisy(folder: Path, *, plain: bool) -> Path:
    """y = x + noise, and relu(x) where `plain`."""
    weights = np.array([3], "<i8").tobytes() + np.array([0, 1], "<f4").tobytes()
    drawn = Layer("3", "RandomUniform", ("0:I64:", "1:FP32:", "2:FP32:"), ("3:FP32:3",), "draw", "opset8",
                  'output_type="f32" global_seed="7" op_seed="3"')  # fmt: skip
    layers = [const("0", "1", 0, 8, "i64"), const("1", "", 8, 4, outs=FLOAT), const("2", "", 12, 4, outs=FLOAT), drawn,
              parameter("4", "?,3", name="x", outs=("0:FP32:-1,3",)),
              Layer("5", "Add", ("0:FP32:-1,3", "1:FP32:3"), ("2:FP32:-1,3",)), result("6", name="noisy")]  # fmt: skip
    edges = "0.0>3.0 1.0>3.1 2.0>3.2 4.0>5.0 3.3>5.1 5.2>6.0"
    if plain:
        layers += [relu("7"), result("8", name="plain")]
        edges += " 4.0>7.0 7.1>8.0"
    return save(folder, net(layers, edges), weights)


def test_verify_compares_what_no_draw_reaches(tmp_path: Path) -> None:
    result_ = convert(noisy(tmp_path, plain=True), random="onnx")
    found = verify(result_.source, result_.proto, 2, inference=result_.inference, rtol=1e-4, atol=1e-4)
    assert found.ok and found.compared_outputs == ("plain",)
    assert [name for name, _ in found.skipped] == ["noisy"]
    assert "random numbers" in found.skipped[0][1]


def test_verify_of_nothing_but_draws_does_not_fail(tmp_path: Path) -> None:
    result_ = convert(noisy(tmp_path, plain=False), random="onnx")
    found = verify(result_.source, result_.proto, 1, inference=result_.inference, rtol=1e-4, atol=1e-4)
    assert found.ok and found.compared_outputs == ()


def test_verify_still_finds_differences_next_to_a_random_node(tmp_path: Path) -> None:
    """A fault is planted into the output that no draw reaches."""
    result_ = convert(noisy(tmp_path, plain=True), random="onnx")
    broken = ModelProto()
    broken.CopyFrom(result_.proto)
    (wrong,) = (node for node in broken.graph.node if node.op_type == "Relu")
    wrong.op_type = "Neg"
    found = verify(result_.source, broken, 1, inference=result_.inference, rtol=1e-4, atol=1e-4)
    assert not found.ok and [one.output for one in found.mismatches] == ["plain"]


def test_the_report_names_the_nodes(tmp_path: Path, run: Run) -> None:
    path = noisy(tmp_path, plain=True)
    out = ["-o", str(tmp_path / "m.onnx"), "--random", "onnx"]
    told = run("convert", str(path), *out)
    assert "random numbers from ONNX's generators, which differ from OpenVINO's: 1 (draw)" in told.stdout
    found = json.loads(run("convert", str(path), *out, "--format", "json").stdout)
    assert [one["node"] for one in found["converted"] if one["draws"]] == ["draw"]
    assert [str(one.node) for one in convert(path, random="onnx").converted if one.draws] == ["draw"]
