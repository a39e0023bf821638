"""`unfreeze`: the axis of a reshaped tensor that gets the size, and sizes that the file declares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gather_infer import symbol, unfreeze
from gather_infer.symbolic import evaluate
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, dim_of, placements
from tests.unfreezing.cases import BATCH, Case, check_dynamic
from tests.verification.models import model

CASES = {
    "old size 1: the second place, as a node contradicts the first": Case(
        "(float[1,3,4] x) => (float[1,3,4] y) <int64[4] s = {1,1,3,4}, int64 i = {0}> "
        "{ r = Reshape(x, s) q = Gather<axis=0>(r, i) y = Neg(q) }",
        "(float[batch,3,4] x) => (float[batch,3,4] y) { y = Neg(x) }",
    ),
    "rows that are repeated, one after the other": Case(
        "(float[2,3] x) => (float[4,3] y, float[3,4] z) <int64[2] r = {2,1}> { y = Tile(x, r) z = Transpose(y) }",
        "(float[batch,3] x) => (float[n,3] y, float[3,n] z) <int64[2] r = {2,1}> { y = Tile(x, r) z = Transpose(y) }",
    ),
    "rows that are repeated, and reshaped": Case(
        "(float[2,4] x) => (float[2,2,4] y) <int64[2] r = {2,1}, int64[3] s = {2,2,4}> "
        "{ t = Tile(x, r) y = Reshape(t, s) }",
        "(float[batch,4] x) => (float[2,batch,4] y) <int64[2] r = {2,1}, int64[3] s = {2,-1,4}> "
        "{ t = Tile(x, r) y = Reshape(t, s) }",
    ),
    "a 0 in a target that allows zeros": Case(
        "(float[2,3,4] x) => (float[2,12] y) <int64[2] s = {2,12}> { y = Reshape<allowzero=1>(x, s) }",
        "(float[batch,3,4] x) => (float[batch,12] y) <int64[2] s = {-1,12}> { y = Reshape(x, s) }",
    ),
    "sizes that the file declares for inner values": Case(
        "(float[2,3] x) => (float[3,2] y) <float[2,3] t> { t = Neg(x) y = Transpose(t) }",
        "(float[batch,3] x) => (float[3,batch] y) { t = Neg(x) y = Transpose(t) }",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


def test_a_second_model_decides_between_more_places_than_walks() -> None:
    names = [f"y{number}" for number in range(9)]

    def text(size: int) -> str:
        outputs = ", ".join(f"float[1,{size},4] {name}" for name in names)
        nodes = " ".join(f"{name} = Reshape(x, s)" for name in names)
        return f"(float[{size},4] x) => ({outputs}) <int64[3] s = {{1,{size},4}}> {{ {nodes} }}"

    result = unfreeze(model(text(1)), BATCH, like=model(text(3)))
    assert not result.refused, result.why_refused
    shapes = [[d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim] for o in result.proto.graph.output]
    assert shapes == [[1, "batch", 4]] * len(names)


def _elements(axes: AxisFactors, sizes: dict[str, int], rows: dict[str, int]) -> list[int]:
    """The numbers, in row-major order, of the elements at given positions of the freed sizes."""
    flat = [factor for axis in axes for factor in axis]
    numbers = np.arange(int(np.prod([evaluate(factor, sizes) for factor in flat], dtype=int)))
    array = numbers.reshape([evaluate(factor, sizes) for factor in flat])
    for at in reversed(range(len(flat))):
        if str(flat[at]) in rows:
            array = np.take(array, rows[str(flat[at])], at)
    return list(array.ravel())


def test_each_place_has_the_sizes_of_the_target_and_the_order_of_the_elements() -> None:
    """All Reshapes of small tensors with two freed sizes: the rows of a place are those of the input."""
    a, b = symbol("a"), symbol("b")
    pieces: list[Factors] = [(a,), (b,), (2,), (3,), (a, 2), (2, a), (a, b), (b, 2, a)]
    shapes = [s for rank in (1, 2, 3) for s in itertools.product((1, 2, 3, 4, 6, 12), repeat=rank)]
    found = 0
    for old in ({"a": 2, "b": 3}, {"a": 2, "b": 2}):
        for axes in itertools.permutations(pieces, 2):
            free = [str(f) for axis in axes for f in axis if not isinstance(f, int)]
            if len(set(free)) < len(free):
                continue
            total = math.prod(evaluate(dim_of(axis), old) for axis in axes)
            for target in (shape for shape in shapes if math.prod(shape) == total):
                for place in placements(axes, target, lambda dim: not isinstance(dim, int), old):
                    found += 1
                    assert [evaluate(dim_of(factors), old) for factors in place] == list(target)
                    for sizes in (old, {"a": 5, "b": 7}):
                        for rows in (dict.fromkeys(free, 0), {name: sizes[name] - 1 for name in free}):
                            assert _elements(axes, sizes, rows) == _elements(place, sizes, rows)
    assert found > 500


def test_a_declared_size_of_an_unknown_operator_is_not_believed() -> None:
    proto = model(
        "(float[2,3] x) => (float[2,1,3] y) <float[2,3] t, int64[3] s = {2,1,3}> "
        "{ t = org.example.Unknown(x) y = Reshape(t, s) }"
    )
    proto.opset_import.add(domain="org.example", version=1)
    result = unfreeze(proto, BATCH, verify=False)
    assert result.why_refused == "node Reshape#1 (Reshape): reads t, whose shape is not known, and the number 2"
