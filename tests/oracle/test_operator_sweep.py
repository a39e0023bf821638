"""The sweep of operators at sizes 0 to 3: a sample of it, all of it on request, and what it notices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gather_infer.context import Context, Relation
from gather_infer.rules import OpCall, Traits
from tests.onnx_versions import require_onnx
from tests.oracle.operator_sweep import Subject, judge, one_line, shown, subjects
from tests.oracle.sweep_worker import Worker

SAMPLE = {
    # one subject of each clause that was silent once, by a part of its name
    "test_prelu_broadcast", "test_einsum_inner_prod", "test_dequantizelinear", "test_reflect_pad, constant pads",
    "test_edge_pad, constant pads", "test_argmax_keepdims_example", "test_stft",
    "test_ai_onnx_ml_tree_ensemble_single_tree", "test_range_int32_type_negative_delta", "test_reshape_extended_dims",
    "test_split_variable_parts_1d_opset13", "test_slice", "test_squeeze", "test_unsqueeze_axis_0", "test_cumsum_1d",
    "test_onehot_with_axis", "test_tile", "test_constantofshape_int_zeros", "test_resize_upsample_sizes_nearest",
    "test_dft", "test_div_int32_trunc", "test_mod_broadcast", "test_averagepool_1d_default", "test_matmulinteger",
    "test_layer_normalization_2d_axis0", "test_qlinearmatmul_3D_int8_float32", "attention 0", "skip_norm 1",
}  # fmt: skip


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as one:
        yield one


@pytest.fixture(scope="module")
def known() -> dict[str, Subject]:
    """The subjects by name; those with constants first, if there are two of a name."""
    return {subject.name: subject for subject in subjects()}


def faults(worker: Worker, subject: Subject, *, runs: int) -> list[str]:
    """The runs that fail inside the contract, and the tight lines that are broken by runs that go well."""
    verdict = judge(subject, worker, runs=runs)
    silent = [f"{subject.name}: silent: {shown(feeds)}: {one_line(error)}" for feeds, error in verdict.silent]
    return silent + [f"{subject.name}: not tight: {line}: {shown(feeds)}" for line, feeds in verdict.strict]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_no_failing_run_of_a_sample_is_silent(name: str, worker: Worker, known: dict[str, Subject]) -> None:
    if name == "test_div_int32_trunc":
        require_onnx("1.21", "its node model")
    found = [subject for subject in known.values() if subject.name == name or subject.name.startswith(f"{name},")]
    assert found, "there is no such subject"
    assert [fault for subject in found for fault in faults(worker, subject, runs=64)] == []


@pytest.mark.oracle
def test_no_failing_run_is_silent(worker: Worker) -> None:
    assert [fault for subject in subjects() for fault in faults(worker, subject, runs=256)] == []


def test_a_clause_that_is_only_checked_is_noticed(
    worker: Worker, known: dict[str, Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    def demand(self: Context, *any_of: Relation, refusal: str = "") -> None:
        """The fault: nothing is demanded of sizes that are not known."""

    subject = known["test_reflect_pad, constant pads"]
    assert faults(worker, subject, runs=64) == []
    monkeypatch.setattr(Context, "add_implied_constraint", demand)
    assert any("silent" in fault for fault in faults(worker, subject, runs=64))


def test_an_operand_that_nobody_speaks_of_is_noticed(
    worker: Worker, known: dict[str, Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_operands(self: OpCall, traits: Traits) -> None:
        """The fault: what a run only knows is not left open."""

    monkeypatch.setattr(OpCall, "check_operands", check_operands)
    assert any("silent" in fault for fault in faults(worker, known["test_tile"], runs=64))


def test_a_line_that_is_too_strict_is_noticed(
    worker: Worker, known: dict[str, Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Context.add_implied_constraint

    def demand(self: Context, *any_of: Relation, refusal: str = "") -> None:
        """The fault: one more than is needed."""
        plain(self, *((left, relation, right - (relation == "<=")) for left, relation, right in any_of))

    monkeypatch.setattr(Context, "add_implied_constraint", demand)
    subject = known["test_reflect_pad, constant pads"]
    assert any("not tight" in fault for fault in faults(worker, subject, runs=64))
