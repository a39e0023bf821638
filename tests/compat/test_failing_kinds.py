"""Kinds of models on which onnxruntime's symbolic_shape_infer fails or failed: the drop-in finds their shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from gather_infer.compat.symbolic_shape_infer import SymbolicShapeInference
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.symbolic import Dim, evaluate, known_eq, parse_dim
from tests.compat.failing_kinds import KINDS, Kind
from tests.oracle.script_shapes import script_ends

SIZES = {"batch": 2, "seq": 5, "n": 2, "h": 5, "w": 6, "k": 1}


def expected(kind: Kind, output: str) -> list[Dim | None]:
    return [None if dim is None else parse_dim(str(dim)) for dim in kind.outputs[output]]


@pytest.mark.parametrize("name", KINDS)
def test_the_drop_in_finds_the_shapes(name: str) -> None:
    kind = KINDS[name]
    found = SymbolicShapeInference.infer_shapes(kind.model(), auto_merge=kind.merge)
    inputs = {dim.dim_param for value in found.graph.input for dim in dims_of(value.type)}
    for output in found.graph.output:
        dims = [parse_dim(dim.dim_param or str(dim.dim_value)) for dim in dims_of(output.type)]
        for dim, wanted in zip(dims, expected(kind, output.name), strict=True):
            if wanted is None:
                assert not isinstance(dim, int) and dim.symbols.isdisjoint(inputs), f"{output.name}: {dim}"
            else:
                assert known_eq(dim, wanted) is True, f"{output.name}: {dim}, not {wanted}"
    onnx.checker.check_model(found)
    ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", KINDS)
def test_the_expected_shapes_are_those_of_a_run(name: str) -> None:
    kind = KINDS[name]
    model = kind.model()
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {}
    for value in model.graph.input:
        shape = [SIZES[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims_of(value.type)]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = np.asarray(kind.feeds.get(value.name, np.zeros(shape)), dtype)
    for output, array in zip(session.get_outputs(), session.run(None, feeds), strict=True):
        wanted = expected(kind, output.name)
        assert len(wanted) == array.ndim
        assert [None if dim is None else evaluate(dim, SIZES) for dim in wanted] == [
            None if dim is None else size for dim, size in zip(wanted, array.shape, strict=True)
        ]


def test_how_the_script_ends(tmp_path: Path) -> None:
    """A newer onnxruntime may do better: then the table of docs/drop-ins.md changes too."""
    cases = [
        (tmp_path / f"{number}.onnx", tmp_path / "out.onnx", kind.merge) for number, kind in enumerate(KINDS.values())
    ]
    for (path, _, _), kind in zip(cases, KINDS.values(), strict=True):
        onnx.save(kind.model(), path)
    ends = dict(zip(KINDS, script_ends(cases), strict=True))
    assert ends == {name: kind.script for name, kind in KINDS.items()}
