"""`unfreeze` of coordinates that span an image, such as 0 to 1: computed anew at each size, where the file tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from gather_infer import contract_of, diff, unfreeze
from tests.unfreezing.cases import run
from tests.unfreezing.networks import IMAGE, Network, Size, ints

Array = np.ndarray[Any, Any]
WEIGHT = np.arange(1, 2 * 2 * 3 * 3 + 1, dtype=np.float32).reshape(2, 2, 3, 3) / 16


def steps(size: int, begin: float, end: float, *, dtype: Any = np.float32, divides: bool = False) -> Array:
    """Coordinates from one number to another, with the step as a number or dividing last."""
    numbers, distance, last = np.arange(size).astype(dtype), dtype(end - begin), dtype(size - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = numbers * distance / last if divides else numbers * (distance / last)
    return np.asarray((scaled + dtype(begin)).astype(np.float32))


def parts(size: int, first: float) -> Array:
    """The begins or the centres of equal parts of 1."""
    return ((np.arange(size) + np.float32(first)) / np.float32(size)).astype(np.float32)


def network(
    height: int,
    width: int,
    *,
    begin: float = 0,
    end: float = 1,
    dtype: Any = np.float32,
    divides: bool = False,
    first: float | None = None,
    halves: int = 0,
    doubles: bool = False,
    adds: float = 0,
) -> ModelProto:
    """Features behind a stride, times coordinates along both axes.

    first    the coordinates are parts of 1, which begin there
    halves   the number of times that the image is halved beside that
    doubles  the coordinates are of 64 bits
    adds     is added to the coordinates but the last ones
    """
    net = Network(height, width)
    value = net("Conv", "x", WEIGHT, strides=[2, 2], pads=[1] * 4)
    smaller = value
    for _ in range(halves):
        smaller = net("Conv", smaller, WEIGHT, strides=[2, 2], pads=[1] * 4)
    tables = [
        (steps(size, begin, end, dtype=dtype, divides=divides) if first is None else parts(size, first))
        for size in ((height + 1) // 2, (width + 1) // 2)
    ]
    for table in tables:
        table[1:-1] += np.float32(adds)
    if doubles:
        tables = [each.astype(np.float64) for each in tables]
        value = net("Cast", value, to=11)
    value = net("Mul", net("Mul", value, tables[0][:, None]), tables[1])
    value = net("Cast", value, to=1) if doubles else value
    net("Add", value, net("ReduceMax", smaller, ints(1, 2, 3)))
    return net.model()


SIZES = ((24, 20), (20, 24), (13, 11), (9, 9), (7, 30), (3, 4), (3, 3), (64, 47))
NARROW = ((2, 20), (20, 2), (1, 20), (1, 1))
"""One position, of which the network has no number."""
CASES: dict[str, dict[str, Any]] = {
    "from 0 to 1": {},
    "from -1 to 1": {"begin": -1},
    "from 1 to 0": {"begin": 1, "end": 0},
    "from 0 to -1": {"end": -1},
    "dividing last": {"divides": True},
    "from -1 to 1, dividing last": {"begin": -1, "divides": True},
    "from -1 to 1, computed in 64 bits": {"begin": -1, "dtype": np.float64},
    "beside halves": {"halves": 1},
}
REFUSED: dict[str, tuple[dict[str, Any], Size]] = {
    "an equal height and width": ({}, (24, 24)),
    "from 0 to 10": ({"end": 10}, (24, 20)),
    "from 0.5 to 1": ({"begin": 0.5}, (24, 20)),
    "steps of 1/32": ({}, (65, 20)),
    "steps of 0.1": ({}, (21, 24)),
    "four positions": ({}, (7, 24)),
    "begins of parts": ({"first": 0}, (24, 20)),
    "centres of parts": ({"first": 0.5}, (24, 20)),
    "an axis of two positions": ({"halves": 3}, (24, 30)),
    "other numbers between the ends": ({"adds": 0.001}, (24, 20)),
}


@pytest.mark.parametrize("name", CASES)
def test_coordinates_span_each_size(name: str) -> None:
    options = CASES[name]
    file = network(24, 20, **options)
    result = unfreeze(file, IMAGE)
    assert not result.refused, result.why_refused
    contract = contract_of(result.proto).contract
    for size in (*SIZES, *NARROW):
        feeds = {"x": np.random.default_rng(size).standard_normal((1, 2, *size)).astype(np.float32)}
        assert bool(contract.check(feeds)) == (size in NARROW), size
        if size in NARROW:
            with pytest.raises(Exception, match="Gather"):  # each error of onnxruntime has a class of its own
                run(result.proto, feeds)
            continue
        (wanted,), (found,) = run(network(*size, **options), feeds), run(result.proto, feeds)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert str(diff(file, result.proto, dims=result.freed, details=False).verdict) in ("proved", "runs")


@pytest.mark.parametrize("name", REFUSED)
def test_other_tables_are_refused(name: str) -> None:
    options, size = REFUSED[name]
    result = unfreeze(network(*size, **options), IMAGE)
    assert result.refused and "(Mul): requires" in result.why_refused, result.why_refused


def test_positions_of_a_length_are_no_coordinates() -> None:
    """They may be parts of the largest length, at which the file was made."""
    net = Network(24, 20)
    net("Mul", net("ReduceMax", "x", ints(3), keepdims=0), steps(24, 0, 1))
    assert "fractions of the length" in unfreeze(net.model(), IMAGE[:1]).why_refused
