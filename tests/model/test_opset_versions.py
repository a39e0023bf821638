"""Opset versions that no reader holds: the field has 64 bits, onnx and the runtimes read 32."""

from __future__ import annotations

from pathlib import Path

import pytest

from gather_infer.errors import ModelReadError
from gather_infer.inference import infer
from tests.checks.small_models import lookup


@pytest.mark.parametrize("version", [1 << 31, (1 << 63) - 1, -(1 << 63)])
@pytest.mark.parametrize("domain", ["", "com.example"])
def test_versions_out_of_range(domain: str, version: int, tmp_path: Path) -> None:
    model = lookup()
    next(entry for entry in model.opset_import if entry.domain == domain).version = version
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    message = f"an opset version has 32 bits, that of {domain or 'ai.onnx'} is {version}"
    for given, name in ((path, str(path)), (model, "<model>")):
        with pytest.raises(ModelReadError) as raised:
            infer(given)
        assert str(raised.value) == f"{name}: {message}"


def test_the_imports_of_a_function_count() -> None:
    model = lookup()
    model.functions.add(name="f", domain="com.example").opset_import.add(domain="", version=1 << 31)
    with pytest.raises(ModelReadError, match="an opset version has 32 bits"):
        infer(model)


def test_the_largest_one_is_read() -> None:
    model = lookup()
    model.opset_import[0].version = (1 << 31) - 1
    assert infer(model).outputs == ("y",)
