"""The gather family of OpenVINO: tables of every kind, indices in and out of bounds, drawn by a seed.

OpenVINO is wrong, or ends, where a case says so: `numpy` is the witness there, the page of the operator put in words.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine, Variant
from tests.oracle.gather_generated import gather_elements, gather_nd, openvino_tree

Array = npt.NDArray[Any]

DRAWN = 1200
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
    """gather-8: zeros for what is out of bounds; of gather-1 and -7 a negative index is that too, for OpenVINO."""
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


def case_of(call: Call, variant: Variant) -> Case:
    """How a call is judged.

    The plugin has no run-time axis, which `evaluate` runs for some element types. `numpy` is asked where the plugin
    gives garbage or ends: a table without elements; integers in one dim with an index far below; of static shape also
    an index without elements, and batch dims that are all 1; and for what `evaluate` does not do.
    """
    engine: Engine = "evaluate" if call.is_run_time else "plugin"
    ends = 0 in call.shape or (len(call.shape) == 1 and call.outside)
    if variant == "static":
        ones = call.batch_dims > 0 and set(call.shape[: call.batch_dims]) == {1}
        ends = ends or 0 in call.picked or ones
    lacks = call.index not in ("i4", "i8") or call.table not in ("f4", "i4", "i8") or call.version != 8
    if ends or (call.is_run_time and lacks):
        expected = gathered(call.version, call.data(), call.indices(), call.axis, call.batch_dims)
        return Case(build(call), (variant,), witness=lambda *_: [expected])
    return Case(build(call), (variant,), engine=engine)


def drawn(count: int, seed: int) -> dict[str, Case]:
    rng = random.Random(seed)
    cases: dict[str, Case] = {}
    number = 0
    while number < count:
        call = draw(rng, number)
        if call is None:
            continue
        number += 1
        other: Variant = "bounded" if number % 4 == 0 else "dynamic"
        for variant in ("static", other):
            cases[f"Gather-{call.version} #{number} {describe(call)} {variant}"] = case_of(call, variant)
    return cases


def describe(call: Call) -> str:
    held = "".join(map(str, sorted(call.held)))
    return (
        f"{call.table}{list(call.shape)} by {call.index}{list(call.picked)} axis {call.axis} batch {call.said} "
        f"const {held}{' outside' if call.outside else ''}"
    )


def others(count: int, seed: int) -> dict[str, Case]:
    """GatherElements, GatherND and GatherTree; of these OpenVINO defines no index out of bounds."""
    rng = random.Random(seed)
    cases: dict[str, Case] = {}
    while len(cases) < count:
        version = rng.choice((5, 8))
        kind, drawn_case = rng.choice((
            ("GatherElements", gather_elements(rng, 6, same_dims=True, negative=False)),
            ("GatherND", gather_nd(rng, version, negative=version == 8)),
            ("GatherND", gather_nd(rng, version, negative=version == 8)),
            ("GatherTree", openvino_tree(rng)),
        ))  # fmt: skip
        if drawn_case is None or any(0 in array.shape for array in drawn_case.arrays):  # the plugin ends
            continue
        name = f"{kind} #{len(cases)} {[list(a.shape) for a in drawn_case.arrays]} {drawn_case.attributes}"
        negative = (drawn_case.arrays[1] < 0).any()
        signed = [index for index in INDICES if not negative or np.dtype(index).kind == "i"]
        index = rng.choice(signed if kind == "GatherND" else ("i4", "i8"))
        cases[name] = Case(build_other(kind, version, drawn_case, rng.choice(TABLES), index))
    return cases


def build_other(kind: str, version: int, drawn_case: Any, table: str, index: str) -> Callable[[Build], Any]:
    def make(b: Build) -> Any:
        arrays = drawn_case.arrays
        if kind == "GatherTree":
            dtype = table if table in ("f4", "f2", "i4", "i8") else arrays[0].dtype
            return b.op(1, kind, [b.param(np.array(array).astype(dtype)) for array in arrays])
        data = arrays[0] % 2 == 0 if table == "?" else (arrays[0].astype("i8") % 100).astype(table)
        opset = 6 if kind == "GatherElements" else version
        fixed = (-1,) if kind == "GatherND" else ()  # the plugin wants to know the rank of the result
        inputs = [b.param(data), b.param(arrays[1].astype(index), fixed=fixed)]
        return b.op(opset, kind, inputs, **drawn_case.attributes)

    return make


def edges() -> dict[str, Case]:
    """Cases that draws do not reach: known axes that are not constant, tables of strings, no rank, sizes of 0."""
    table, at = np.arange(1, 25, dtype="f4").reshape(2, 3, 4), np.array([[0, 5], [-3, 2]], "i8")

    def of(
        axis: Callable[[Build], Any], data: Array = table, *, index: Array = at, **said: int
    ) -> Callable[[Build], Any]:
        return lambda b: b.op(8, "Gather", [b.param(data), b.param(index), axis(b)], **{"batch_dims": 0, **said})

    def numpy_of(axis: int, data: Array = table, batch_dims: int = 0) -> Callable[..., list[Array]]:
        return lambda *_: [gathered(8, data, at, axis, batch_dims)]

    def after(b: Build) -> Any:
        return b.op(1, "Add", [b.const(np.array(1, "i8")), b.const(np.array(1, "i8"))], auto_broadcast="numpy")

    empty = np.zeros((2, 0, 4), "f4")
    unranked: tuple[Variant, ...] = ("unranked",)
    return {
        "axis is a sum of constants": Case(of(after)),
        "no rank": Case(of(lambda b: b.const(np.array(1, "i8"))), unranked, witness=numpy_of(1)),
        "no rank, axis from the end": Case(of(lambda b: b.const(np.array(-1, "i8"))), unranked, witness=numpy_of(-1)),
        "no rank, axis at run time": Case(of(lambda b: b.param(np.array([2], "i8"))), unranked, witness=numpy_of(2)),
        "no rank, batch dims": Case(
            of(lambda b: b.const(np.array(1, "i8")), batch_dims=1), unranked, witness=numpy_of(1, batch_dims=1)
        ),
        "no rank, batch dims from the end": Case(
            of(lambda b: b.const(np.array(1, "i8")), batch_dims=-1), unranked, witness=numpy_of(1, batch_dims=1)
        ),
        "no rows": Case(of(lambda b: b.const(np.array(1, "i8")), empty), witness=numpy_of(1, empty)),
        "no rows, axis at run time": Case(of(lambda b: b.param(np.array(1, "i8")), empty), witness=numpy_of(1, empty)),
        # the plugin computes indices in 32 bits, so that a larger one comes back in bounds; `evaluate` does not
        "an index past 32 bits": Case(
            of(lambda b: b.const(np.array(0, "i8")), index=np.array([2**32, 2**63 - 1, -(2**63), 1])), engine="evaluate"
        ),
        "strings": Case(
            lambda b: b.op(8, "Gather", [b.texts("a", "bc", "d"), b.param(np.array([2, 0])), b.const(np.array(0))]),
            ("static", "dynamic"),
        ),
    }  # fmt: skip


CASES: dict[str, Case] = {**drawn(DRAWN, 1), **others(300, 2), **edges()}
FEW: dict[str, Case] = {**drawn(120, 3), **others(40, 4), **edges()}
"""Those that every run of the tests has."""
