"""Static models and the dynamic ones that they stand for, and what `unfreeze` has to make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto

from gather_infer import UsageError, diff, unfreeze
from tests.verification.models import model

SIZES = (1, 2, 3, 5)
BATCH = ("x.0=batch",)


@dataclass(frozen=True)
class Case:
    """A static model and the dynamic one that it stands for; `most` is the largest size that the file has rows for."""

    static: str
    dynamic: str
    dims: tuple[str, ...] = BATCH
    most: int = 1 << 30
    sizes: tuple[int, ...] = SIZES
    opset: int = 18


def run(proto: ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def feeds_of(proto: ModelProto, size: int, symbol: str) -> dict[str, Any]:
    rng = np.random.default_rng(size)
    found = {}
    for value in proto.graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = [d.dim_value or (size if d.dim_param == symbol else 5 if d.dim_param == "width" else 3) for d in dims]
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            found[value.name] = rng.integers(0, 3, shape)
        else:
            found[value.name] = rng.standard_normal(shape).astype(np.float32)
    return found


def once(proto: ModelProto, size: int, symbol: str) -> Iterator[dict[str, Any]]:
    yield feeds_of(proto, size, symbol)


def check_dynamic(
    case: Case, feeds_at: Callable[[ModelProto, int, str], Iterable[dict[str, Any]]] = once
) -> ModelProto:
    """The result has the outputs of the dynamic model at each size, and is equal to the static one at the old."""
    static, dynamic = (model(text, opset=case.opset) for text in (case.static, case.dynamic))
    result = unfreeze(static, case.dims)
    assert not result.refused, result.why_refused
    assert result.rows is not None and result.rows.runs
    onnx.checker.check_model(result.proto, full_check=True)
    symbol = next(iter(result.freed))
    assert result.most.get(symbol, 1 << 30) == case.most
    for size in case.sizes:
        if size <= case.most:
            for feeds in feeds_at(dynamic, size, symbol):
                for wanted, found in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
                    np.testing.assert_array_equal(wanted, found)
    old = diff(static, result.proto, dims=result.freed, details=False)
    assert str(old.verdict) in ("proved", "runs")
    return result.proto


def check_refused(text: str, dims: tuple[str, ...], reason: str, folder: Path) -> None:
    """The model is refused for a reason, stays as it is, and nothing is written."""
    result = unfreeze(model(text), dims)
    assert result.refused and reason in result.why_refused
    assert result.proto.SerializeToString() == result.source.proto.SerializeToString() or result.blocked is None
    with pytest.raises(UsageError):
        result.save(folder / "out.onnx")
    assert not list(folder.iterdir())
