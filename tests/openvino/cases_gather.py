"""The gather family of OpenVINO: tables of every kind, indices in and out of bounds, drawn by a seed.

OpenVINO is wrong, or ends, where a case says so: `numpy` is the witness there, the page of the operator put in words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine, Variant

Array = npt.NDArray[Any]

DRAWN = 900
"""Gathers that are drawn, each static and dynamic."""

TABLES = ("f4", "f4", "f2", "i4", "i8", "u1", "i1", "?")
INDICES = ("i4", "i8", "i8", "u1", "i1", "u2", "i2", "u4", "u8")


@dataclass(frozen=True, slots=True)
class Call:
    """A Gather.

    shape, picked   of data and indices
    axis            as it is given
    batch_dims      counted from the front
    held            inputs that are constants
    outside         some indices are out of bounds
    """

    version: int
    shape: tuple[int, ...]
    picked: tuple[int, ...]
    axis: int
    batch_dims: int
    said: int
    table: str
    index: str
    axis_shape: tuple[int, ...]
    held: frozenset[int]
    outside: bool
    seed: int

    @property
    def rows(self) -> int:
        return self.shape[self.axis]

    @property
    def is_run_time(self) -> bool:
        return 2 not in self.held

    def data(self) -> Array:
        numbers = np.random.default_rng(self.seed).permutation(int(np.prod(self.shape))).reshape(self.shape) + 1
        return numbers % 2 == 0 if self.table == "?" else (numbers % 100).astype(self.table)

    def indices(self) -> Array:
        draw = np.random.default_rng(self.seed + 1)
        signed = np.dtype(self.index).kind == "i"
        low = -self.rows if signed and self.version == 8 else 0
        past = 3 if self.outside else 0
        low -= past if signed else 0
        return draw.integers(low, max(self.rows + past, low + 1), self.picked).astype(self.index)


def gathered(version: int, data: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    """gather-8: zeros for what is out of bounds; of gather-1 and -7 a negative index is that too, as OpenVINO has it."""
    axis %= data.ndim
    rows, at = data.shape[axis], indices.astype(object).astype(np.int64) if indices.size else indices.astype(np.int64)
    if version == 8 and indices.dtype.kind == "i":
        at = np.where(at < 0, at + rows, at)
    inside = (at >= 0) & (at < rows)
    table = np.concatenate([data, np.zeros((*data.shape[:axis], 1, *data.shape[axis + 1 :]), data.dtype)], axis)
    at = np.where(inside, at, rows)
    batch = data.shape[:batch_dims]
    shape = (*data.shape[:axis], *indices.shape[batch_dims:], *data.shape[axis + 1 :])
    found = np.zeros(shape, data.dtype)
    for place in np.ndindex(*batch):
        found[place] = np.take(table[place], at[place], axis - batch_dims)
    return found


def build(call: Call) -> Callable[[Build], Any]:
    def make(b: Build) -> Any:
        given = [call.data(), call.indices(), np.full(call.axis_shape, call.axis, np.int64)]
        inputs = [b.const(a) if k in call.held else b.param(a) for k, a in enumerate(given)]
        attributes = {} if call.version == 1 else {"batch_dims": call.said}
        return b.op(call.version, "Gather", inputs, **attributes)

    return make


def draw(rng: random.Random, seed: int) -> Call | None:
    """A legal call."""
    version = rng.choice((1, 7, 8, 8, 8))
    rank = rng.randint(1, 4)
    shape = tuple(rng.choice((0, 1, 1, 2, 3, 4, 5)) if rng.random() < 0.3 else rng.randint(1, 5) for _ in range(rank))
    axis = rng.randrange(rank)
    b = rng.randint(0, axis) if version >= 7 else 0
    picked = (*shape[:b], *(rng.choice((0, 1, 2, 3, 4)) for _ in range(rng.randint(0, 3))))
    outside = rng.random() < 0.5
    if shape[axis] == 0 and not outside and 0 not in picked:
        return None
    said = b - len(picked) if b < len(picked) and rng.random() < 0.4 else b
    held = {2} if rng.random() < 0.85 or version == 1 else set()
    held |= {rng.choice((0, 1))} if rng.random() < 0.4 else set()
    return Call(
        version, shape, picked, axis - (rank if rng.random() < 0.4 else 0), b, said, rng.choice(TABLES),
        rng.choice(INDICES), rng.choice(((), (1,))), frozenset(held), outside, seed,
    )  # fmt: skip


def case_of(call: Call) -> Case:
    """How a call is judged.

    The plugin has no run-time axis, which `evaluate` runs for indices of 32 and 64 bits. `numpy` is asked where the
    plugin gives garbage or ends: an axis of no rows, indices or a table without elements, batch dims that are all 1,
    integers in one dim with an index far below; and for what `evaluate` does not do.
    """
    engine: Engine = "evaluate" if call.is_run_time else "plugin"
    lacking = call.index not in ("i4", "i8") or call.table not in ("f4", "i4", "i8")
    garbage = (
        0 in (*call.shape, *call.picked)
        or (call.batch_dims > 0 and set(call.shape[: call.batch_dims]) == {1})
        or (len(call.shape) == 1 and call.outside)
    )
    if garbage or (call.is_run_time and (lacking or call.version != 8)):
        data = call.data(), call.indices()
        expected = gathered(call.version, *data, call.axis, call.batch_dims)
        return Case(build(call), witness=lambda _: [expected])
    return Case(build(call), engine=engine)


def drawn(count: int, seed: int) -> dict[str, Case]:
    rng = random.Random(seed)
    cases: dict[str, Case] = {}
    while len(cases) < count:
        call = draw(rng, len(cases))
        if call is not None:
            cases[f"Gather-{call.version} #{len(cases)} {describe(call)}"] = case_of(call)
    return cases


def describe(call: Call) -> str:
    held = "".join(map(str, sorted(call.held)))
    return (
        f"{call.table}{list(call.shape)} by {call.index}{list(call.picked)} axis {call.axis} batch {call.said} "
        f"const {held}{' outside' if call.outside else ''}"
    )


CASES: dict[str, Case] = drawn(DRAWN, 1)
