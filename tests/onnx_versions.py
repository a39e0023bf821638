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
"""The oldest onnxruntime by which the tests judge. Python 3.10 has none above 1.23."""

_SIZE_0 = "sizes of 0, of which older ones end the process or give another result"
_LOADS = "what is refused while the file is loaded"
_FAILS = "runs that fail, where older ones succeed or end the process"
_KERNELS = "kernels that older ones lack"
NOT_JUDGED_BY_OLDER_ONNXRUNTIME = {
    # beginnings of test ids, and what an onnxruntime before JUDGING_ONNXRUNTIME does otherwise
    "checks/test_loaders.py::test_what_is_refused_is_an_error[division": _LOADS,
    "checks/test_loaders.py::test_what_is_refused_is_an_error[modulo": _LOADS,
    "checks/test_loaders.py::test_what_is_refused_is_an_error[more elements than": _LOADS,
    "checks/test_loaders.py::test_what_is_refused_is_an_error[a size past": _LOADS,
    "checks/test_loaders.py::test_what_is_refused_is_an_error[a product past": _LOADS,
    "checks/test_weights.py::test_keys_of_external_data": _LOADS,
    "compat/test_failing_kinds.py::test_how_the_script_ends": "its script for symbolic shapes",
    "compat/test_shapes_found.py::test_some_fixtures": "its script for symbolic shapes",
    "contract/test_where.py::test_a_line_of_a_branch_is_judged_by_onnxruntime": _FAILS,
    "cost/test_generated.py::test_the_peak_of_a_sample_of_graphs": _FAILS,
    "cost/test_peak.py::test_the_peak_is_that_of_a_replay[detector-dynamo": _SIZE_0,
    "fixtures/test_reproducible.py::test_runs_at_every_binding[beam-step": _SIZE_0,
    "inference/test_identity.py::test_every_index_input_is_an_access": _FAILS,
    "inference/test_shapes_of_iterations.py::test_shapes_of_iterations[a scan": _FAILS,
    "openvino/test_converted_files.py::test_checkers_take_the_result[24": "opset 24",
    "openvino/test_lowered_constants.py::test_equal_to_openvino": _KERNELS,
    "openvino/test_lowered_detection.py::test_equal_to_openvino": _SIZE_0,
    "oracle/test_operator_sweep.py::test_no_failing_run_of_a_sample_is_silent": _FAILS,
    "oracle/test_operator_sweep.py::test_a_clause_that_is_only_checked_is_noticed": _FAILS,
    "oracle/test_planted_faults.py::test_a_fault_is_seen": _SIZE_0,
    "oracle/test_regressions.py::test_nothing_is_wrong[Reshape with allowzero": _SIZE_0,
    "passes/test_evaluate_axes.py::test_a_sum_that_float64_does_not_hold": "sums of int64, which are exact before",
    "passes/test_evaluate_axes.py::test_one_hot": _SIZE_0,
    "passes/test_evaluate_axes.py::test_reductions": _SIZE_0,
    "passes/test_evaluate_axes.py::test_top_k": _SIZE_0,
    "passes/test_evaluate_movement.py::test_every_element_type_is_moved_alike[reverse sequence": _KERNELS,
    "passes/test_evaluate_movement.py::test_special_floats_are_moved_as_bits[reverse sequence": _KERNELS,
    "passes/test_freeze.py::test_what_would_have_to_be_assumed_is_no_number": _SIZE_0,
    "passes/test_loadability.py::test_sizes_that_onnxruntime_propagates": _LOADS,
    "passes/test_loadability.py::test_what_only_the_runtime_gets_wrong_is_seen[a target": _LOADS,
    "passes/test_optimize_random.py::test_a_sample_of_graphs_computes_the_same": "Pad by reflection",
    "rewrites/test_arithmetic.py::test_case[negative axes": _SIZE_0,
    "rewrites/test_arithmetic.py::test_case[the logarithm of a sum": _SIZE_0,
    "rewrites/test_arithmetic.py::test_case[a sum of squares": _SIZE_0,
    "rewrites/test_every_rule.py::test_a_rule_at_every_opset[unsqueeze-of-reduction": _SIZE_0,
    "validate/test_accesses.py::test_required_bounds_are_those_of_onnxruntime": _FAILS,
}
