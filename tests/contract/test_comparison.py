"""Contracts side by side: which lines do not follow, and inputs that onnxruntime takes with one model alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import gather_infer
from gather_infer.contract import (
    Contract,
    ContractChange,
    ContractInput,
    DimsLine,
    ElementsLine,
    InputCondition,
    Open,
    Relation,
    implication,
    new_requirements,
)
from gather_infer.symbolic import Expr, symbol
from tests.validate.bound_runs import session
from tests.verification.models import model

W10, W7 = (f"<float[{rows}, 2] w = {{{', '.join('0' * rows * 2)}}}>" for rows in (10, 7))
POSITIONS = (
    "(float[n, 2] x) => (y) <int64[1] zero = {0}, %s> "
    "{ s = Shape<end = 1>(x) p = Slice(w, zero, s, zero) y = Add(x, p) }"
)
"""The table of positions is cut to n rows, which are added: n is at most the rows of the table, or these are one."""

CASES: Mapping[str, tuple[str, str, ContractChange, list[str], list[str]]] = {
    # id: (first, second, change, what the second requires, what the first requires)
    "equal": (
        f"(int64[n] i) => (y) {W10} {{ y = Gather(w, i) }}",
        f"(int64[m] i) => (y) {W10} {{ j = Identity(i) y = Gather(w, j) }}",
        ContractChange.EQUAL, [], [],
    ),
    "a smaller vocabulary": (
        f"(int64[n] i) => (y) {W10} {{ y = Gather(w, i) }}",
        f"(int64[n] i) => (y) {W7} {{ y = Gather(w, i) }}",
        ContractChange.NARROWER, ["-7 <= i < 7"], [],
    ),
    "a larger vocabulary": (
        f"(int64[n] i) => (y) {W7} {{ y = Gather(w, i) }}",
        f"(int64[n] i) => (y) {W10} {{ y = Gather(w, i) }}",
        ContractChange.WIDER, [], ["-7 <= i < 7"],
    ),
    "fewer positions": (
        POSITIONS % W10[1:-1], POSITIONS % W7[1:-1],
        ContractChange.NARROWER, ["n <= 7"], [],
    ),
    "sizes that have to be equal": (
        "(float[n] x, float[m] z) => (y) { y = Concat<axis = 0>(x, z) }",
        "(float[n] x, float[m] z) => (y) { a = Unsqueeze(x, one) b = Unsqueeze(z, one) "
        "c = Concat<axis = 1>(a, b) y = Concat<axis = 0>(x, z) } <int64[1] one = {1}>",
        ContractChange.NARROWER, ["n == m"], [],
    ),
    "rows of an input": (
        "(float[n, 2] x, int64[k] i) => (y) { y = Gather(x, i) }",
        "(float[n, 2] x, int64[k] i) => (y) <int64 two = {2}> { j = Add(i, two) z = Gather(x, j) y = Gather(x, i) }",
        ContractChange.NARROWER, ["-n <= i < n - 2"], [],
    ),
    "a disjunction": (
        "(float[n] x, float[m] z) => (y) { y = Add(x, z) }",
        "(float[n] x, float[m] z) => (y) { y = Mul(x, z) }",
        ContractChange.EQUAL, [], [],
    ),
    "one of a disjunction": (
        "(float[n] x, float[m] z) => (y) { y = Add(x, z) }",
        "(float[n] x, float[m] z) => (y) { y = Add(x, z) s = Shape(x) w = Expand(z, s) v = Add(w, x) "
        "a = Unsqueeze(x, one) b = Unsqueeze(z, one) c = Concat<axis = 1>(a, b) } <int64[1] one = {1}>",
        ContractChange.NARROWER, ["n == m"], [],
    ),
}  # fmt: skip


def contract_of(text: str) -> Contract:
    return gather_infer.contract_of(parsed(text)).contract


def parsed(text: str) -> onnx.ModelProto:
    head, brace, tail = text.rpartition("} <")  # initializers may follow, where a line would be too long
    if brace:
        signature, _, body = head.partition("{")
        text = f"{signature}<{tail} {{{body}}}"
    return model(text)


@pytest.mark.parametrize("name", CASES)
def test_a_change(name: str) -> None:
    first, second, change, narrowing, widening = CASES[name]
    one, two = contract_of(first), contract_of(second)
    forward, backward = new_requirements(one, two), new_requirements(two, one)
    assert ContractChange.of(implication(forward), implication(backward)) is change, (forward, backward)
    assert [each.text for each in forward] == narrowing
    assert [each.text for each in backward] == widening


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] or case[4]])
def test_a_witness_runs_in_one_model_alone(name: str) -> None:
    first, second, _, narrowing, _ = CASES[name]
    if not narrowing:
        first, second = second, first
    one = contract_of(first)
    for each in new_requirements(one, contract_of(second)):
        assert each.witness
        given = feeds(one, each.witness)
        session(parsed(first)).run(None, given)
        with pytest.raises(Exception, match=r"(?i)out of|dimension|broadcast|mismatch|incompatible"):
            session(parsed(second)).run(None, given)


def feeds(contract: Contract, witness: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Zeros of the sizes of a witness, and of 1 elsewhere; the last element of an input is the one of the witness."""
    sizes: dict[str, int] = {}
    for spec in contract.inputs:
        for axis, dim in enumerate(spec.shape or ()):
            if isinstance(dim, Expr) and f"{spec.name}.{axis}" in witness:
                sizes[str(dim)] = witness[f"{spec.name}.{axis}"]
    made = {}
    for spec in contract.inputs:
        shape = [dim if isinstance(dim, int) else sizes.get(str(dim), 1) for dim in spec.shape or ()]
        made[spec.name] = np.zeros(shape, spec.dtype)
        if spec.name in witness:
            made[spec.name].reshape(-1)[-1] = witness[spec.name]
    return made


def test_declared_sizes_count() -> None:
    """A narrowed `--dim` narrows the contract."""
    text = f"(int64[n] i) => (y) {W10} {{ y = Gather(w, i) }}"
    wide, narrow = (gather_infer.contract_of(model(text), dims=[dims]).contract for dims in ("n=1..9", "n=1..8"))
    (found,) = new_requirements(wide, narrow)
    assert (found.text, found.witness, new_requirements(narrow, wide)) == ("n <= 8", {"i.0": 9}, ())


def test_inputs_by_another_name_and_type() -> None:
    text = f"(int64[n] i) => (y) {W10} {{ y = Gather(w, i) }}"
    one, two = contract_of(text), contract_of(text.replace("] i)", "] j)").replace(", i)", ", j)"))
    assert new_requirements(one, two, {"i": "j"}) == ()
    assert [(each.text, each.witness) for each in new_requirements(one, two, {})] == [("input j must be given", {})]
    other = contract_of(text.replace("int64[n]", "int32[n]"))
    assert [each.text for each in new_requirements(one, other)] == ["input i is int32, not int64"]


def test_open_points_are_compared_by_node_and_reason() -> None:
    sure = contract_of("(float[5] x, int64[1] k) => (y) { y = Neg(x) }")
    loose = contract_of("(float[5] x, int64[1] k) => (y) { a = Abs(k) y = Gather(x, a) }")
    (found,) = new_requirements(sure, loose)
    assert found.witness is None and found.text.startswith("Gather#1: indices are computed from data")
    assert implication([found]) is None and new_requirements(loose, loose) == ()


@pytest.mark.parametrize("forward", [True, False, None])
def test_the_change_of_both_directions(forward: bool | None) -> None:
    found = [str(ContractChange.of(forward, backward)) for backward in (True, False, None)]
    expected = {True: ["equal", "wider", "holds"], False: ["narrower"] * 3, None: ["unknown"] * 3}
    assert found == expected[forward]


@pytest.mark.parametrize("name", ["bert", "dlrm", "t5-encoder", "vit", "whisper-encoder"])
def test_exports_of_one_architecture(name: str) -> None:
    """Inputs that one contract excludes fail in onnxruntime in that model alone."""
    folder = Path(__file__).parents[2] / "fixtures"
    script, dynamo = (str(folder / f"{name}-{exporter}.onnx") for exporter in ("torchscript", "dynamo"))
    one, two = (gather_infer.contract_of(path).contract for path in (script, dynamo))
    assert new_requirements(one, one) == new_requirements(two, two) == new_requirements(one, two) == ()
    found = new_requirements(two, one)
    assert found
    for each in found:
        assert each.witness
        given = feeds(two, each.witness)
        session(onnx.load(dynamo)).run(None, given)
        with pytest.raises(Exception, match=r"(?i)reshape|dimension"):
            session(onnx.load(script)).run(None, given)


def test_elements_of_a_column_are_no_witness_for_all_elements() -> None:
    """Each column of the first contract has bounds of its own, and 5 fits none of them."""
    inputs = (ContractInput("i", "int64", (symbol("n"), 2)),)
    columns = tuple(ElementsLine("i", column, 0, 4) for column in (0, 1))
    found = new_requirements(Contract("a", inputs, columns), Contract("b", inputs, (ElementsLine("i", None, 0, 4),)))
    assert [each.witness for each in found] == [None]


def test_conditions_on_inputs_have_the_names_of_the_first_contract() -> None:
    """Inputs are paired by position: `b` of the second model is `a` of the first."""
    relation = Relation(symbol("n"), ">=", 2)

    def contract(one: str, two: str) -> Contract:
        scalars = (ContractInput(one, "int64", ()), ContractInput(two, "int64", ()))
        inputs = (*scalars, ContractInput("x", "float32", (symbol("n"),)))
        return Contract("m", inputs, (DimsLine((relation,), where=(InputCondition("b", "==", 1),)),))

    pairs = {"a": "b", "b": "c", "x": "x"}
    found = new_requirements(contract("a", "b"), contract("b", "c"), pairs)
    assert [each.text for each in found] == ["n >= 2 where b == 1"]


SIZES = (ContractInput("x", "int64", (symbol("n"),)),)
EMPTY = (ContractInput("z", "float32", (0, symbol("m"))), *SIZES)
PADDED = (*SIZES, ContractInput("z", "float32", (symbol("n") - 3,)))
HARD = Relation((symbol("n") - 2) * (symbol("n") - 3) * (symbol("n") - 4), ">=", 0)
"""It holds from 2 on, but no bound of a factor shows that."""
AT_LEAST = Relation(symbol("n"), ">=", 2)
AT_MOST = Relation(symbol("n"), "<=", 7)


@pytest.mark.parametrize(
    ("first", "line"),
    [
        (Contract("a", SIZES, ()), DimsLine((AT_MOST,), tight=False)),
        (Contract("a", SIZES, ()), ElementsLine("x", None, 0, 7, tight=False)),
        (Contract("a", SIZES, (), open=(Open("Gather", "data"),)), DimsLine((AT_MOST,))),
        (Contract("a", EMPTY, (DimsLine((Relation(symbol("m"), "==", 0),)),)), DimsLine((AT_MOST,))),
        (Contract("a", EMPTY, (DimsLine((Relation(symbol("m"), "==", 0),)),)), ElementsLine("x", None, 0, symbol("m"))),
        (Contract("a", SIZES, (ElementsLine("x", None, 0, symbol("n") - 3),)), DimsLine((AT_LEAST,))),
        (Contract("a", SIZES, ()), DimsLine((Relation(symbol("u"), "<=", 7),))),
        (Contract("a", SIZES, ()), ElementsLine("x", None, 0, symbol("u"))),
        (Contract("a", SIZES, ()), DimsLine((Relation(symbol("u"), ">=", 0),))),
        (Contract("a", SIZES, (ElementsLine("x", None, 0, 0),)), ElementsLine("x", None, -symbol("u"), symbol("u"))),
        (Contract("a", PADDED, ()), DimsLine((HARD,))),
    ],
    ids=[
        "sizes that are not necessary",
        "elements that are not necessary",
        "a first model with an open point",
        "sizes beside an empty tensor",
        "elements beside an empty tensor",
        "sizes at which no element is legal",
        "a symbol that no axis has, in sizes",
        "a symbol that no axis has, in elements",
        "a symbol that no axis has, which may be negative, in sizes",
        "a symbol that no axis has, which may be negative, in elements",
        "sizes at which another would be negative",
    ],
)
def test_what_is_no_witness(first: Contract, line: DimsLine | ElementsLine) -> None:
    second = Contract("b", first.inputs, (*first.all_lines, line))
    assert [each.witness for each in new_requirements(first, second)] == [None]


def test_an_input_that_must_be_given() -> None:
    optional, required = (
        ContractInput("x", "int64", (symbol("n"),), optional=is_optional) for is_optional in (True, False)
    )
    found = new_requirements(Contract("a", (optional,), ()), Contract("b", (required,), ()))
    assert [(each.text, each.witness) for each in found] == [("input x must be given", {})]
    assert new_requirements(Contract("b", (required,), ()), Contract("a", (optional,), ())) == ()
