"""Formats with one shape for each input: OpenVINO reads the shapes, onnxruntime the overrides, Python the Dims."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer import Contract, EmissionRefused
from gather_infer.contract import DimsLine
from gather_infer.serving.targets import emit
from gather_infer.symbolic import evaluate
from tests.contract.contracts import dims, elements, spec
from tests.serving.emitted import symbols_of
from tests.serving.test_profiles import contract_with

onnxruntime.set_default_logger_severity(4)

# OpenVINO


def bounds_in_openvino(path: str, text: str) -> dict[str, list[list[int]]]:
    words = shlex.split(text, comments=True)
    assert words[:3] == ["ovc", Path(path).name, "--input"]
    worker = Path(__file__).with_name("openvino_worker.py")
    done = subprocess.run([sys.executable, str(worker), path, words[3]], capture_output=True, text=True, check=True)
    found: dict[str, list[list[int]]] = json.loads(done.stdout)
    return found


BERT = [[1, 8], [1, 64]]
BOUNDS: dict[str, tuple[list[str], dict[str, list[list[int]]]]] = {
    "bert-dynamo": (["batch=1..8"], dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), BERT)),
    "swin-dynamo": (["width=8..64"], {"pixel_values": [[0, -1], [3, 3], [4, -1], [8, 64]]}),
    "whisper-decoder-torchscript": (
        ["past=5", "batch=..2"],
        {"input_ids": [[1, 2], [1, 43]], "past_key_values.0.decoder.key": [[1, 2], [4, 4], [5, 5], [4, 4]]},
    ),
    "gpt2-kv-torchscript": (
        [],
        {"past_key_values.0.key": [[1, -1], [4, 4], [0, 47], [8, 8]], "attention_mask": [[1, -1], [1, 48]]},
    ),
    "gpt2-kv-dynamo": (["past=1..8", "seq=2..3", "batch=1"], {"attention_mask": [[1, 1], [3, 11]]}),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_openvino_reads_the_bounds(name: str) -> None:
    sizes, expected = BOUNDS[name]
    path = f"fixtures/{name}.onnx"
    result = gather_infer.contract_of(path, dims=sizes)
    found = bounds_in_openvino(path, emit(result.contract, "openvino", interface=result.interface).text)
    assert {spec.name for spec in result.contract.inputs} == set(found)
    assert {name: found[name] for name in expected} == expected


def test_an_ir_is_for_programs_that_read_one() -> None:
    contract = Contract("m.xml", (spec("x", "float32", "n", "3"),), (dims("n <= 4"),))
    assert emit(contract, "openvino").text.splitlines()[-1] == "benchmark_app -m m.xml -shape 'x[..4,3]'"
    for target in ("trtexec", "ort-trt", "ort"):
        with pytest.raises(EmissionRefused, match=f"{target} is for ONNX models, m.xml is an OpenVINO IR"):
            emit(contract, target)


def test_openvino_needs_plain_names() -> None:
    contract = Contract("m.onnx", (spec("x[0]", "float32", "n"),), ())
    with pytest.raises(EmissionRefused, match="ovc cannot read the name of input"):
        emit(contract, "openvino")
    assert emit(Contract("a b.onnx", (spec("s", "float32"),), ()), "openvino").text.endswith(
        "'a b.onnx' --input 's[]'\n"
    )


# torch.export


class FakeDim:
    """A Dim of torch.export: only increasing linear operations with integers derive another one from it."""

    made: dict[str, FakeDim]

    def __init__(self, name: str, *, min: int = 0, max: int | None = None) -> None:
        assert name.isidentifier() and name not in self.made
        assert max is None or min < max
        self.made[name] = self
        self.root, self.factor, self.rest = name, 1, 0
        self.min, self.max = min, max

    def _derived(self, factor: int, rest: int) -> FakeDim:
        other = object.__new__(FakeDim)
        other.root, other.factor, other.rest = self.root, self.factor * factor, self.rest * factor + rest
        return other

    def __rmul__(self, factor: int) -> FakeDim:
        assert isinstance(factor, int) and factor > 0
        return self._derived(factor, 0)

    def __add__(self, number: int) -> FakeDim:
        assert isinstance(number, int)
        return self._derived(1, number)

    def __sub__(self, number: int) -> FakeDim:
        return self + -number


@pytest.fixture
def torch_export(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeDim]]:
    """Takes the place of torch, which is not installed for the tests."""
    FakeDim.made = {}
    export = ModuleType("torch.export")
    export.Dim = FakeDim  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    monkeypatch.setitem(sys.modules, "torch.export", export)
    yield FakeDim


def dynamic_shapes(contract: Contract) -> dict[str, dict[int, FakeDim | int]]:
    names: dict[str, Any] = {}
    exec(compile(emit(contract, "torch").text, "dims.py", "exec"), names)
    shapes: dict[str, dict[int, FakeDim | int]] = names["dynamic_shapes"]
    return shapes


TORCH = {
    # lines and dims of the inputs: shapes of the inputs as (root, factor, rest), the ranges of the roots
    "ranges": (
        ("a >= 2", "a <= 9"), ("a b",), [{0: ("a", 1, 0), 1: ("b", 1, 0)}], {"a": (2, 9), "b": (0, None)}, ()),
    "a multiple": (
        ("a % 32 == 0", "a <= 100", "a >= 20"), ("a",), [{0: ("_a", 32, 0)}], {"_a": (1, 3)}, ()),
    "a multiple with a remainder": (
        ("(a + 3) % 8 == 0", "a <= 100"), ("a",), [{0: ("_a", 8, 5)}], {"_a": (0, 11)}, ()),
    "another remainder": (("a % 4 == 3", "a <= 11"), ("a",), [{0: ("_a", 4, 3)}], {"_a": (0, 2)}, ()),
    "a remainder in a range": (("a % 4 <= 1", "a <= 9"), ("a",), [{0: ("a", 1, 0)}], {"a": (0, 9)}, ("a % 4 < 2",)),
    "a sum with a number": (("a <= 9",), ("a", "2*a+1"), [{0: ("a", 1, 0)}, {0: ("a", 2, 1)}], {"a": (0, 9)}, ()),
    "equal sizes": (("a == b", "b <= 9"), ("a b",), [{0: ("b", 1, 0), 1: ("b", 1, 0)}], {"b": (0, 9)}, ()),
    "a fixed size": (("a == 3", "b <= 9"), ("a b",), [{0: 3, 1: ("b", 1, 0)}], {"b": (0, 9)}, ()),
    "a sum": (
        ("a <= 9", "b <= 9"), ("a b", "a+b"),
        [{0: ("a", 1, 0), 1: ("b", 1, 0)}, {0: ("x1_0", 1, 0)}], {"a": (0, 9), "b": (0, 9), "x1_0": (0, 18)},
        ("x1.0 == a + b",)),
    "odd names": (("class <= 9",), ("class 'a.b'",), [{0: ("d_class", 1, 0), 1: ("a_b", 1, 0)}],
                  {"d_class": (0, 9), "a_b": (0, None)}, ()),
}  # fmt: skip


@pytest.mark.parametrize("case", TORCH)
def test_dims_of_torch(case: str, torch_export: type[FakeDim]) -> None:
    lines, inputs, shapes, ranges, missing = TORCH[case]
    contract = contract_with(*lines, inputs=inputs)
    found = dynamic_shapes(contract)
    assert list(found) == [spec.name for spec in contract.inputs]
    assert [
        {axis: dim if isinstance(dim, int) else (dim.root, dim.factor, dim.rest) for axis, dim in shape.items()}
        for shape in found.values()
    ] == shapes
    assert {name: (dim.min, dim.max) for name, dim in torch_export.made.items()} == ranges
    assert emit(contract, "torch").inexpressible == missing


@pytest.mark.parametrize("name", ["bert-dynamo", "gpt2-kv-dynamo", "swin-dynamo", "gnn-dynamo", "t5-decoder-dynamo"])
def test_legal_sizes_are_sizes_of_the_dims(name: str, torch_export: type[FakeDim]) -> None:
    contract = gather_infer.contract_of(f"fixtures/{name}.onnx").contract
    found = dynamic_shapes(contract)
    numbers = np.random.default_rng(0)
    lines = [line for line in contract.all_lines if isinstance(line, DimsLine)]
    compound = {s.axis_name(n): d for s in contract.inputs for n, d in enumerate(s.shape or ())}
    legal = 0
    for _ in range(3000):
        sizes = {name: int(numbers.integers(0, 70)) for name in symbols_of(contract)}
        sizes |= {axis: evaluate(dim, sizes) for axis, dim in compound.items() if axis not in sizes}
        if not all(line.holds(sizes) for line in lines):
            continue
        legal += 1
        roots: dict[str, int] = {}
        for input_spec in contract.inputs:
            for axis, dim in found[input_spec.name].items():
                size = evaluate((input_spec.shape or ())[axis], sizes)
                assert not isinstance(dim, int) or dim == size
                if isinstance(dim, FakeDim):
                    value, left = divmod(size - dim.rest, dim.factor)
                    assert left == 0 and roots.setdefault(dim.root, value) == value
        for root, value in roots.items():
            made = torch_export.made[root]
            assert made.min <= value and (made.max is None or value <= made.max)
    assert legal > 50


# onnxruntime


def overridden(path: str, *sizes: str) -> tuple[dict[str, list[Any]], Any]:
    result = gather_infer.contract_of(path, dims=sizes)
    emission = emit(result.contract, "ort", interface=result.interface)
    names: dict[str, Any] = {}
    exec(compile(emission.text, "options.py", "exec"), names)
    session = onnxruntime.InferenceSession(path, names["session_options"](), providers=["CPUExecutionProvider"])
    return {value.name: value.shape for value in session.get_inputs()}, emission


def test_onnxruntime_takes_the_overrides() -> None:
    shapes, emission = overridden("fixtures/gpt2-kv-dynamo.onnx", "past=8", "seq=1")
    assert shapes["input_ids"] == ["batch", 1]
    assert shapes["attention_mask"] == ["batch", 9]
    assert shapes["past_key_values.0.key"] == ["batch", 4, 8, 8]
    assert emission.remarks == ("free: batch",)
    shapes, emission = overridden("fixtures/gpt2-kv-torchscript.onnx", "batch=2")
    assert shapes["attention_mask"] == [2, "past + seq"]
    assert "past + seq <= 48" in emission.inexpressible


def test_dims_without_a_name_have_no_override() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N,M] x) => (float[N,M] y) { y = Abs (x) }'
    )
    model.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_param")
    result = gather_infer.contract_of(model, inputs=["x=float[N, 3]"], dims=["N=2"])
    emission = emit(result.contract, "ort", interface=result.interface)
    assert emission.inexpressible == ("x.1 == 3: the file does not name the dim",)
    assert '"N": 2' in emission.text
    result = gather_infer.contract_of(model)
    with pytest.raises(EmissionRefused, match="no dim with a name has a fixed size; fix some, as with --dim N=1"):
        emit(result.contract, "ort", interface=result.interface)


# what a format cannot express

CONTRACT = Contract(
    "m.onnx",
    (spec("x", "float32", "a", "b"), spec("y", "int64", "a", "a+b")),
    (
        elements("y", "0", "9", "Gather"),
        dims("a + b <= 48", "Add"),
        dims("b % 3 == 1", "Reshape"),
        dims("b <= 30", "Pad", tight=False),
        dims("a <= 2147483647", "Size"),
    ),
    (),
    (),
    (gather_infer.contract.Open("TopK", "k depends on data"),),
)
SUM, EQUATION, IDS, OPEN = "a + b <= 48", "y.1 == a + b", "0 <= y < 10", "open: TopK: k depends on data"
MISSING = {
    "openvino": [SUM, "b % 3 == 1", "x.0 == y.0", EQUATION, IDS, OPEN],
    "torch": [SUM, EQUATION, IDS, OPEN],
    "trtexec": [IDS, OPEN],
    "polygraphy": [IDS, OPEN],
    "ort-trt": [IDS, OPEN],
    "pydantic": ["b <= 30 (not tight), a warning", OPEN],
}


@pytest.mark.parametrize("target", MISSING)
def test_a_relation_that_a_format_cannot_express_is_reported(target: str) -> None:
    emission = emit(CONTRACT, target)
    assert sorted(emission.inexpressible) == sorted(MISSING[target])
    for text in MISSING[target]:
        assert f"# not expressed: {text}\n" in emission.text


def test_what_triton_and_overrides_cannot_express() -> None:
    result = gather_infer.contract_of("fixtures/gpt2-kv-dynamo.onnx", dims=["batch=1..4"])
    found = emit(result.contract, "triton", interface=result.interface)
    assert {"past + seq <= 48", "attention_mask.1 == past + seq", "-131 <= input_ids < 131"} <= set(found.inexpressible)
    assert not any("batch" in text for text in found.inexpressible)
    result = gather_infer.contract_of("fixtures/gpt2-kv-dynamo.onnx", dims=["batch=1"])
    found = emit(result.contract, "ort", interface=result.interface)
    assert {"past + seq <= 48", "-131 <= input_ids < 131"} <= set(found.inexpressible)


def test_a_name_stays_in_its_comment() -> None:
    contract = Contract("m\nimport os.onnx", (spec("x", "float32", "'a\nb'"),), (dims("'a\nb' % 3 == 1"),))
    for target in ("openvino", "trtexec"):
        head = emit(contract, target).text.splitlines()
        assert head[0] == f"# contract of m?import os.onnx, written by gather-infer contract --emit {target}"
