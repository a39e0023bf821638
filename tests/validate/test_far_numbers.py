"""Indices that pass the ends of int64 and come back: the contract agrees with onnxruntime, which wraps around."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest

import gather_infer
from gather_infer import contract_of
from gather_infer.tensor import SymbolicTensor
from tests.validate.contract_runs import Runtime

LEAST, MOST = -(2**63), 2**63 - 1
FAR = "int64 far = {9007199254740992}"


def chain(node: str, count: int, first: str = "x", last: str = "i") -> str:
    """`node` applied again and again, from the tensor `first` to `last`: `{}` is its input."""
    names = [first, *(f"{first}{step}" for step in range(1, count)), last]
    return " ".join(f"{to} = {node.format(at)}" for at, to in itertools.pairwise(names))


GROWING = (
    "i = Loop (trips, yes, x) <body = b (int64 k, bool c, int64[M] s) => (bool d, int64[M] t) "
    "{ d = Identity (c) t = Add (s, far) }>"
)

ALTERNATING = " ".join(f"p{n} = Sub (far, {f'q{n - 1}' if n else 'x'}) q{n} = Sub (p{n}, far)" for n in range(30))

CASES: dict[str, tuple[str, str, int, list[int]]] = {
    # id: (body that makes i of x, constants, rows, elements of x)
    "2^64 added in steps": (chain("Add ({}, far)", 2048), FAR, 3, [0, 2, 3, -3, -4]),
    "2^64 taken off in steps": (chain("Sub ({}, far)", 2048), FAR, 3, [0, 2, 3, -3, -4]),
    "2^63 added in steps": (chain("Add ({}, far)", 1024), FAR, 3, [0, 2, LEAST, LEAST + 2, LEAST + 3, MOST]),
    "2^64 added between changes of sign": (
        f"{ALTERNATING} {chain('Add ({}, far)', 2048, 'q29')}", FAR, 3, [0, 2, 3, -2, -3, -4],
    ),
    "2^64 added by a Loop": (GROWING, f"{FAR}, int64 trips = {{2048}}, bool yes = {{1}}", 3, [0, 2, 3, -3, -4]),
    "the least number, negated and limited": (
        "n = Neg (x) i = Max (n, zero)", "int64 zero = {0}", 10, [LEAST, LEAST + 1, 3, -9, -10],
    ),
    "past the end, then divided": (
        "p = Add (x, five) i = Div (p, large)",
        "int64 five = {5}, int64 large = {1152921504606846976}", 8, [MOST, MOST - 5, LEAST, 0],
    ),
    "a number less an input, twice": (
        "p = Sub (five, x) i = Sub (five, p)", "int64 five = {5}", 8, [MOST, MOST - 5, LEAST, 0, 7, 8, -8, -9],
    ),
    "limits that cross": (
        "m = Min (x, five) c = Clip (m, seven, five) i = Sub (c, seven)",
        "int64 five = {5}, int64 seven = {7}", 1, [0, 9],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_tight_lines_are_needed_and_no_failure_is_silent(name: str) -> None:
    body, constants, rows, elements = CASES[name]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g (int64[M] x, float[N] data) => (float[M] y) '
        f"<{constants}> {{ {body} y = Gather (data, i) }}"
    )
    contract, runtime = contract_of(model).contract, Runtime(model)
    for element in elements:
        feeds = {"x": np.array([element]), "data": np.zeros(rows, np.float32)}
        broken = contract.check(feeds, strict=True)
        if runtime.error(feeds):
            assert broken or contract.open, element
        else:
            assert not [v for v in broken if v.line is not None and v.line.tight], (element, broken)


@pytest.mark.parametrize("node", ["Add ({}, far)", "Sub ({}, far)", "Mul ({}, far)"])
@pytest.mark.parametrize("count", [1, 2, 1024, 2048])
def test_sizes_with_far_numbers(node: str, count: int) -> None:
    """Values computed from a size have no fact that int64 cannot represent."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] data) => (int64[1] i) '
        f"<{FAR}> {{ n = Shape (data) {chain(node, count, 'n')} }}"
    )
    fact = gather_infer.infer(model)["i"]
    assert isinstance(fact, SymbolicTensor)
    for size in (0, 1, 2048):
        (element,) = Runtime(model).session.run(None, {"data": np.zeros(size, np.float32)})[0]
        known = None if fact.values is None else fact.values.reshape(-1)[0]
        assert known is None or gather_infer.symbolic.evaluate(known, {"N": size}) == element
