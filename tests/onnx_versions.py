"""The versions of onnx and onnxruntime that tests need, and the marks that state it."""

from __future__ import annotations

import onnx
import onnxruntime
import pytest

from gather_infer.tensor import DType


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def has_onnx(version: str) -> bool:
    """Whether the installed onnx is of `version`, such as "1.20", or newer."""
    return _numbers(onnx.__version__) >= _numbers(version)


def has_onnxruntime(version: str) -> bool:
    """Whether the installed onnxruntime is of `version`, such as "1.31", or newer."""
    return _numbers(onnxruntime.__version__) >= _numbers(version)


def needs_onnx(version: str, subject: str) -> pytest.MarkDecorator:
    """The mark of a test about `subject`, which came with `version` of onnx: skipped with an older one."""
    return pytest.mark.skipif(not has_onnx(version), reason=f"needs onnx {version}: {subject}")


def require_onnx(version: str, subject: str) -> None:
    """Skip the running test if onnx is older than `version`, with which `subject` came."""
    if not has_onnx(version):
        pytest.skip(f"needs onnx {version}: {subject}")


_ROTARY = ("no_position_ids_rotary_dim", "with_interleaved_rotary_dim", "with_rotary_dim")


def has_sound_models(name: str) -> bool:
    """Whether the node models `name` of the installed onnx follow the operator's specification."""
    is_rotary = any(name.startswith(f"test_rotary_embedding_{each}") for each in _ROTARY)
    return not is_rotary or has_onnx("1.20")  # the caches were as wide as half of all dims, not of the rotated ones


_TYPES = {
    # element type: the first onnx that reads and writes it as numpy and ml_dtypes have it
    **{d: "1.16" for d in DType if d.is_numpy},
    **dict.fromkeys((DType.COMPLEX64, DType.COMPLEX128), "1.19"),
    **{d: "1.19" for d in DType if not d.is_numpy},
    **dict.fromkeys((DType.INT2, DType.UINT2), "1.20"),
    **dict.fromkeys((DType.FLOAT6E2M3, DType.FLOAT6E3M2), "1.23"),
}


def has_type(dtype: DType) -> bool:
    """Whether onnx reads and writes elements of `dtype` as numpy and ml_dtypes have them."""
    return has_onnx(_TYPES[dtype])


def has_types_of(model: onnx.ModelProto) -> bool:
    """Whether onnx reads elements of all inputs and outputs of `model`, a backend test, as it did to record them."""
    declared = (value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output))
    return all(has_type(DType(data_type)) for data_type in declared if data_type)


def require_type(dtype: DType) -> None:
    """Skip the running test if onnx does not read and write elements of `dtype` as numpy and ml_dtypes have them."""
    require_onnx(_TYPES[dtype], f"reading and writing {dtype}")


JUDGING_ONNXRUNTIME = "1.31"
"""The oldest onnxruntime that judges in the tests.

Python 3.10 has none above 1.23, which ends the process on sizes of 0, and loads and refuses other models.
"""

_SCRIPT = "its script for symbolic shapes"
_REFUSALS = "what it refuses, or the process that it ends"
NOT_JUDGED_BY_OLDER_ONNXRUNTIME = {
    # beginnings of ids of tests that run onnxruntime in a process of its own, and what an older one does otherwise
    "compat/test_failing_kinds.py::test_how_the_script_ends": _SCRIPT,
    "compat/test_shapes_found.py::test_some_fixtures": _SCRIPT,
    "cost/test_generated.py::test_the_peak_of_a_sample_of_graphs": _REFUSALS,
    "openvino/test_lowered_constants.py::test_equal_to_openvino": _REFUSALS,
    "openvino/test_lowered_detection.py::test_equal_to_openvino": _REFUSALS,
    "oracle/test_generated_graphs.py::test_no_fact_of_a_sample_of_graphs_is_wrong": _REFUSALS,
    "oracle/test_microsoft_generated.py::test_generated": _REFUSALS,
    "oracle/test_microsoft_generated.py::test_signature_is_that_of_the_schema": "operators and types that it lacks",
    "oracle/test_operator_sweep.py::test_no_failing_run_of_a_sample_is_silent": _REFUSALS,
    "oracle/test_operator_sweep.py::test_a_clause_that_is_only_checked_is_noticed": _REFUSALS,
    "oracle/test_operator_sweep.py::test_a_line_that_is_too_strict_is_noticed": _REFUSALS,
    "oracle/test_planted_faults.py::test_a_fault_is_seen": _REFUSALS,
    "oracle/test_regressions.py::test_nothing_is_wrong": _REFUSALS,
    "passes/test_optimize_random.py::test_a_sample_of_graphs_computes_the_same": _REFUSALS,
}
