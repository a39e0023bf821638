"""`--verify` and `--prove` of `extract` and `compose`: right results pass, and planted faults are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper

from gather_infer import compose, extract, infer
from gather_infer.editing import ComposeResult, EditResult
from gather_infer.editing.comparison import ExtractComparison, chain_of
from gather_infer.verification import Verification, verify
from tests.editing.editing_models import parsed
from tests.editing.test_compose import CASES, COPY, LOOK_UP, MOD, PLAIN
from tests.editing.test_extract import BRANCH, CHAIN, CUTS, SPLIT


def compared(result: EditResult, runs: int = 2) -> Verification:
    comparison = ExtractComparison(result)
    return verify(comparison.whole, comparison.chain, runs, inference=comparison.inference)


def joined(result: ComposeResult, runs: int = 2) -> Verification:
    model, chain = chain_of(result)
    return verify(model, chain, runs, inference=infer(model), rewritten_name="the chain of both models")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CUTS)
def test_a_subgraph_computes_what_the_whole_does(case: str) -> None:
    model, arguments, _, _ = CUTS[case]
    result = extract(model, **arguments)
    found = compared(result)
    assert found.ok, (found.failure, found.mismatches)
    assert [*found.compared_outputs] == [value.name for value in result.proto.graph.output]
    assert ExtractComparison(result).proof().is_proved


def test_a_subgraph_without_inputs() -> None:
    model = parsed(
        "g (float[N] x) => (float[N] y) { one = Constant<value_float = 1.0>() two = Add(one, one) y = Mul(x, two) }"
    )
    result = extract(model, outputs="two")
    assert not result.inputs and compared(result).ok and ExtractComparison(result).proof().is_proved


def test_given_sizes_are_those_of_the_comparison() -> None:
    given: dict[str, Any] = {"dims": ["N=3"]}
    comparison = ExtractComparison(extract(CHAIN, inputs="b", outputs="z", dims=["N=3"]), **given)
    assert comparison.proof().is_proved
    found = verify(comparison.whole, comparison.chain, 2, inference=comparison.inference)
    assert found.ok and not any(run.binding for run in found.runs)


FAULTS: dict[str, tuple[ModelProto, dict[str, Any], int, str]] = {
    # fault: (model, arguments of extract, position of the node, its new operator)
    "another operator": (CHAIN, {"inputs": "b", "outputs": "z"}, 0, "ReduceMax"),
    "behind a constant": (CHAIN, {"inputs": "a", "outputs": "b"}, 0, "Sub"),
    "without a cut": (SPLIT, {"outputs": "n"}, 1, "Abs"),
    "captured values": (BRANCH, {"outputs": "k"}, 0, "Abs"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_subgraph_is_found(fault: str) -> None:
    model, arguments, position, operator = FAULTS[fault]
    result = extract(model, **arguments)
    wrong = ModelProto.FromString(result.proto.SerializeToString())
    wrong.graph.node[position].op_type = operator
    result = replace(result, proto=wrong)
    found = compared(result)
    assert not found.ok and found.mismatches
    assert not ExtractComparison(result).proof().is_proved


def test_a_declared_size_that_is_wrong_is_found() -> None:
    """The subgraph runs as it is, with its own declarations."""
    result = extract(CHAIN, inputs="b", outputs="z")
    wrong = ModelProto.FromString(result.proto.SerializeToString())
    wrong.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5
    found = compared(replace(result, proto=wrong))
    assert not found.ok and "the rewritten model fails" in str(found.mismatches[0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case, (*_, refused) in CASES.items() if not refused])
def test_a_joined_model_computes_what_both_do(case: str) -> None:
    first, second, mapping, statuses, _ = CASES[case]
    result = compose(first, second, mapping=mapping)
    found = joined(result)
    if "open" not in statuses:  # random elements are hardly ever in range of another model
        assert found.ok, (found.failure, found.mismatches)
        assert [*found.compared_outputs] == [value.name for value in result.proto.graph.output]
    assert not found.mismatches


def test_both_models_have_the_same_names() -> None:
    model = parsed("g (float[N] x, float[N] m) => (float[N] y, float[N] a) { a = Relu(x) y = Sub(a, m) }")
    found = joined(compose(model, model, mapping="y=x", keep_outputs=True))
    assert found.ok and len(found.compared_outputs) == 4


def test_a_wrong_joined_model_is_found() -> None:
    result = compose(PLAIN, PLAIN, mapping="y=x")
    for operator in ("Neg", "Abs"):
        wrong = ModelProto.FromString(result.proto.SerializeToString())
        wrong.graph.node[0].op_type = operator
        found = joined(replace(result, proto=wrong))
        assert not found.ok and found.mismatches, operator
    outer = ModelProto.FromString(result.proto.SerializeToString())
    outer.graph.node[1].input[0] = "x"
    outer.graph.node[0].op_type = "Neg"
    assert not joined(replace(compose(PLAIN, COPY_OF_NEG, mapping="y=u"), proto=outer)).ok


COPY_OF_NEG = parsed("g (float[N, M] u) => (float[N, M] v) { v = Neg(u) }")


def test_a_joined_model_that_fails_where_both_run_is_found() -> None:
    """A table with fewer rows than that of the second model."""
    result = compose(MOD, LOOK_UP, mapping="y=ids")
    wrong = ModelProto.FromString(result.proto.SerializeToString())
    table = next(tensor for tensor in wrong.graph.initializer if tensor.name == "w")
    table.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(table)[:1], "w"))
    model, chain = chain_of(replace(result, proto=wrong))
    feeds = [{"x": np.array([1, 5])}]
    found = verify(model, chain, 2, inference=infer(model), rewritten_name="the chain of both models")
    assert any("only the chain of both models runs" in str(each) for each in found.mismatches)
    given = verify(model, chain, 1, inference=infer(model), feeds=feeds)
    assert not given.ok


def test_failures_of_the_second_model_do_not_count() -> None:
    """Random ids are rarely within the table: runs in which both fail are drawn again."""
    found = joined(compose(COPY, LOOK_UP, mapping="y=ids", allow_failures=True), 4)
    assert not found.mismatches


def test_large_files_are_compared(tmp_path: Path) -> None:
    """Weights that stay on disk, inline and external."""
    folder = tmp_path
    model = parsed(
        "g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) { a = MatMul(x, big) y = MatMul(a, far) z = Relu(x) }"
    )
    rng = np.random.default_rng(4)
    for name, shape in (("big", (4, 90_000)), ("far", (90_000, 4))):
        model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name))
    onnx.save(model, folder / "inline.onnx")
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="m.bin")
    for name in ("inline.onnx", "m.onnx"):
        before = sorted(folder.iterdir())
        assert compared(extract(folder / name, inputs="a", outputs="y")).ok
        assert joined(compose(folder / name, COPY_OF_NEG, mapping="y=u")).ok
        assert joined(compose(folder / name, folder / name, mapping="y=x")).ok
        assert sorted(folder.iterdir()) == before
