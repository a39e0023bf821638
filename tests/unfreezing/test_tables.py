"""Tables and masks of positions whose rows depend on how many there are: no part of them is right at a smaller size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from gather_infer import unfreeze
from tests.verification.models import model

Array = np.ndarray[Any, Any]
SIZE = 7
SEQ = ("x.1=seq",)


def _refusal(table: Array, text: str) -> str:
    proto = model(text)
    proto.graph.initializer.append(numpy_helper.from_array(table, "t"))
    return unfreeze(proto, SEQ, verify=False).why_refused


def _of_positions(table: Array) -> str:
    kind = "bool" if table.dtype == np.bool_ else "float"
    text = {"float": "y = Mul(x, t)", "bool": "y = Where(t, x, z)"}[kind]
    return _refusal(table, f"(float[2,{len(table)}] x) => (y) <float z = {{0}}> {{ {text} }}")


def _of_pairs(table: Array) -> str:
    return _refusal(table, "(float[2,7,4] x) => (y) { u = Transpose<perm=[0,2,1]>(x) s = MatMul(x, u) y = Mul(s, t) }")


POSITIONS = np.arange(SIZE)
J = POSITIONS[:, None]
ONES = np.eye(SIZE)
ROWS: dict[str, Array] = {
    "the last position": POSITIONS == SIZE - 1,
    "all positions but the last one": SIZE - 1 > POSITIONS,
    "half of the positions": SIZE // 2 > POSITIONS,
    "from 0 to 10": np.linspace(0, 10, SIZE),
    "from 0.1 to 0.9": np.linspace(0.1, 0.9, SIZE),
    "parts of a circle": POSITIONS / SIZE * 2 * np.pi,
    "three times a fraction": 3 * POSITIONS / SIZE,
    "weights of a mean": np.exp(POSITIONS) / np.exp(POSITIONS).sum(),
    "positions times their number": POSITIONS * SIZE,
    "weights of norm 1": 0.9**POSITIONS / np.linalg.norm(0.9**POSITIONS),
    "exponentials of fractions": np.exp(-POSITIONS / SIZE),
    "exponentials of eighths": np.exp(-np.arange(8) / 8),
    "from 1 to 0.001": np.logspace(0, -3, SIZE),
    "roots of fractions": np.sqrt(POSITIONS / SIZE),
    "squares of fractions": (POSITIONS / SIZE) ** 2,
    "logarithms to the base of the length": np.log(1 + POSITIONS) / np.log(SIZE),
    "a cosine from 1 to 0": (1 + np.cos(np.pi * POSITIONS / (SIZE - 1))) / 2,
}
SINES = {
    # the largest frequency
    "a circle from its second position": 2 * np.pi / SIZE,
    "a circle whose last position is the first one": 2 * np.pi / (SIZE - 1),
    "half a circle": np.pi / SIZE,
    "a fraction of the length": 1 / SIZE,
}
PAIRS: dict[str, Array] = {
    "a centering matrix": ONES - 1 / SIZE,
    "a mean of the others": (1 - ONES) / (SIZE - 1),
    "the reverse order": ONES[::-1],
    "the next position, around the end": np.roll(ONES, 1, 1),
    "distances around the end": np.minimum(abs(J - POSITIONS), SIZE - abs(J - POSITIONS)),
    "a chain with two ends": np.diag(np.r_[1, [2] * (SIZE - 2), 1]) - np.eye(SIZE, k=1) - np.eye(SIZE, k=-1),
    "a mask with the last position": (J >= POSITIONS) | (SIZE - 1 == POSITIONS),
    "two halves": (SIZE // 2 > J) == (SIZE // 2 > POSITIONS),
    "distances as fractions": abs(J - POSITIONS) / SIZE,
    "the length less the distance": SIZE - abs(J - POSITIONS),
    "numbers of pairs": J * SIZE + POSITIONS,
    "distances that are not negative": J - POSITIONS + SIZE - 1,
}
CUT: dict[str, tuple[Callable[[Array], str], Array]] = {
    "powers": (_of_positions, 0.9**POSITIONS),
    "powers from the first one on": (_of_positions, 0.9 ** (1 + POSITIONS)),
    "exponentials": (_of_positions, np.exp(-0.3 * POSITIONS)),
    "means up to a position": (_of_positions, 1 / (1 + POSITIONS)),
    "logarithms": (_of_positions, np.log(1 + POSITIONS)),
    "cosines of positions": (_of_positions, np.cos(POSITIONS)),
    "sines of positions from the third one on": (_of_positions, np.sin(2 + POSITIONS)),
    "roots": (_of_positions, np.sqrt(1 + POSITIONS)),
    "numbers of pairs of positions": (_of_positions, POSITIONS // 2),
    "the first position": (_of_positions, POSITIONS == 0),
    "means up to each position": (_of_pairs, np.tril(np.ones((SIZE, SIZE))) / (J + 1)),
    "powers of distances": (_of_pairs, 0.9 ** abs(J - POSITIONS)),
    "an identity": (_of_pairs, ONES),
    "whole distances": (_of_pairs, abs(J - POSITIONS)),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_table_of_positions_is_refused(name: str) -> None:
    assert _of_positions(ROWS[name].astype(np.float32))


@pytest.mark.parametrize("name", [name for name, table in ROWS.items() if table.dtype == np.bool_])
def test_a_mask_of_positions_is_refused(name: str) -> None:
    assert _of_positions(ROWS[name])


@pytest.mark.parametrize("frequency", [*SINES.values(), 1.0, 0.1], ids=[*SINES, "1", "a tenth"])
def test_sines_whose_largest_frequency_follows_the_length_are_refused(frequency: float) -> None:
    angles = (1 + POSITIONS)[:, None] * frequency * 0.1 ** np.arange(2)
    table = np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)
    refusal = _refusal(table, "(float[2,7,4] x) => (y) { y = Add(x, t) }")
    assert ("its sines" in refusal) == (frequency in SINES.values())


@pytest.mark.parametrize("name", PAIRS)
def test_a_table_of_two_positions_is_refused(name: str) -> None:
    assert _of_pairs(PAIRS[name].astype(np.float32))


@pytest.mark.parametrize("name", CUT)
def test_a_table_from_the_first_position_is_not(name: str) -> None:
    check, table = CUT[name]
    assert not check(table.astype(np.float32))


def test_windows_in_another_order_are_refused() -> None:
    """Windows of three positions, the first of which is the second one: not the axis of windows counts by 1."""
    text = (
        "(float[2,3,6] x) => (y) <int64[6] p = {0,1,0,0,1,0}, int64[3,3] i = {1,2,3,2,3,4,0,1,2}> "
        "{ q = Pad(x, p) y = Gather<axis=1>(q, i) }"
    )
    assert "reads at [1, 2, 3, 2]" in unfreeze(model(text), SEQ, verify=False).why_refused
