"""Constraints of the columns of an index, each of which addresses its own axis."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from gather_infer import infer
from gather_infer.validate import Elements, VerdictKind, bounds, verdicts
from tests.inference.models import model
from tests.inference.provenance_runs import holds
from tests.oracle.soundness import Runtime


def test_a_column_of_an_index_is_an_input_of_its_own() -> None:
    """Both have one column, so neither has a column 1 of which something could be demanded."""
    proto = model(
        "(float[9, 7] table, int64[N, 1] u, int64[N, 1] v) => (y) { i = Concat<axis = -1>(u, v) y = GatherND(table, i) }"
    )
    assert [found.condition for found in verdicts(infer(proto))] == ["-9 <= u < 9", "-7 <= v < 7"]
    runtime, table = Runtime(proto), np.zeros((9, 7), np.float32)
    for u, v, passes in ((8, 6, True), (-9, -7, True), (9, 0, False), (0, 7, False), (-10, 0, False), (0, -8, False)):
        feeds = {"table": table, "u": np.array([[u]]), "v": np.array([[v]])}
        if passes:
            runtime.run(feeds)
        else:
            with pytest.raises(InvalidArgument, match="invalid index found"):
                runtime.run(feeds)


def test_a_column_that_an_input_does_not_have_is_not_spoken_of() -> None:
    """Where repeats the one column of u, so that it is both the row and the column of an index."""
    proto = model(
        "(float[9, 7] table, bool[N, 1] t, int64[N, 1] u, int64[N, 2] v) => (y) { i = Where(t, u, v) y = GatherND(table, i) }"
    )
    runtime = Runtime(proto)
    feeds = {"table": np.zeros((9, 7), np.float32), "t": np.array([[True]]), "v": np.array([[0, 0]])}
    runtime.run({**feeds, "u": np.array([[6]])})
    with pytest.raises(InvalidArgument, match="invalid index found"):
        runtime.run({**feeds, "u": np.array([[8]])})
    for verdict in verdicts(infer(proto)):
        assert verdict.kind in (VerdictKind.UNDECIDED, VerdictKind.CONDITIONAL)
        assert all(c.left.input == "v" for c in verdict.conditions if isinstance(c.left, Elements) and c.left.column)


@pytest.mark.parametrize("pick", ["Gather<axis = 1>(v, j)", "GatherElements<axis = 1>(v, j2)"])
def test_gathered_columns_are_not_distinguished(pick: str) -> None:
    """The index (8, 8) is made of the one column 0, whose 8 is in bounds of the rows alone."""
    proto = model(
        f"(float[9, 7] table, int64[N, 2] v, int64[2] j) => (y) {{ v0 = Constant<value_ints = [0]>() j2 = Unsqueeze(j, v0) i = {pick} y = GatherND(table, i) }}"
    )
    feeds = {"table": np.zeros((9, 7), np.float32), "v": np.array([[8, 6]])}
    Runtime(proto).run({**feeds, "j": np.array([0, 1])})
    with pytest.raises(InvalidArgument, match="invalid index found"):
        Runtime(proto).run({**feeds, "j": np.array([0, 0])})
    for access in infer(proto).accesses[-2:]:
        assert bounds.verdict(access).kind is VerdictKind.UNDECIDED


COLUMNS = {
    # id: (nodes that make the index i of (row, column) from v, what is said of either)
    "as it is": ("i = Identity(v)", "-9 <= v[..., 0] < 9; -7 <= v[..., 1] < 7"),
    "turned": ("i = Transpose(v)", "undecided; undecided"),
    "turned by name": ("i = Transpose<perm = [1, 0]>(v)", "undecided; undecided"),
    "turned twice": ("t = Transpose(v) i = Transpose(t)", "undecided; undecided"),
    "rows in another order": ("i = Slice(v, last, far, v0, last)", "undecided; undecided"),
    "columns in another order": ("i = Slice(v, last, far, v1, last)", "undecided; undecided"),
    "the first row": ("i = Slice(v, v0, v1, v0)", "undecided; undecided"),
    "the last row": ("i = Gather(v, last)", "undecided; undecided"),
    "the first column twice": ("c = Slice(v, v0, v1, v1) i = Concat<axis = 1>(c, c)", "-9 <= v[..., 0] < 9; -7 <= v[..., 0] < 7"),
    "the columns apart": ("c = Slice(v, v0, v1, v1) d = Slice(v, v1, v2, v1) i = Concat<axis = 1>(d, c)", "-9 <= v[..., 1] < 9; -7 <= v[..., 0] < 7"),
    "the columns apart, by Gather": ("c = Gather<axis = -1>(v, v0) d = Gather<axis = 1>(v, last) i = Concat<axis = 1>(d, c)", "-9 <= v[..., 1] < 9; -7 <= v[..., 0] < 7"),
    "a column of rows turned": ("t = Slice(v, last, far, v0, last) c = Gather<axis = 1>(t, v0) i = Concat<axis = 1>(c, c)", "-9 <= v < 9; -7 <= v < 7"),
    "a row as a column": ("c = Gather<axis = 0>(v, zero) u = Unsqueeze(c, v1) i = Concat<axis = 1>(u, u)", "-9 <= v < 9; -7 <= v < 7"),
    "twice": ("i = Concat<axis = 0>(v, v)", "undecided; undecided"),
    "reshaped": ("s = Concat<axis = 0>(v2, v2) i = Reshape(v, s)", "undecided; undecided"),
    "flat and back": ("f = Reshape(v, last) s = Concat<axis = 0>(v2, v2) i = Reshape(f, s)", "undecided; undecided"),
    "repeated": ("s = Concat<axis = 0>(v2, v1) i = Tile(v, s)", "undecided; undecided"),
    "repeated nowhere": ("s = Concat<axis = 0>(v2, v2) i = Expand(v, s)", "undecided; undecided"),
    "split": ("i, r = Split<axis = 0>(v)", "undecided; undecided"),
    "split in columns": ("c, d = Split<axis = 1>(v) i = Concat<axis = 1>(d, c)", "-9 <= v[..., 1] < 9; -7 <= v[..., 0] < 7"),
    "limited": ("i = Clip(v, zero, six)", "proved; proved"),
    "limited below": ("i = Clip(v, zero)", "v[..., 0] < 9; v[..., 1] < 7"),
    "plus": ("i = Add(v, one)", "-10 <= v[..., 0] < 8; -8 <= v[..., 1] < 6"),
    "plus a number for each": ("n = Constant<value_ints = [4, -5]>() i = Add(v, n)", "-13 <= v[..., 0] < 5; -2 <= v[..., 1] < 12"),
    "a number for each plus": ("n = Constant<value_ints = [4, -5]>() m = Unsqueeze(n, v0) i = Add(m, v)", "-13 <= v[..., 0] < 5; -2 <= v[..., 1] < 12"),
    "minus a number for each": ("n = Constant<value_ints = [4, -5]>() i = Sub(v, n)", "-5 <= v[..., 0] < 13; -12 <= v[..., 1] < 2"),
    "a number for each, minus": ("n = Constant<value_ints = [4, -5]>() i = Sub(n, v)", "undecided; undecided"),
    "plus two numbers for each": ("n = Constant<value_ints = [1, 2]>() p = Add(v, n) i = Add(p, n)", "-11 <= v[..., 0] < 7; -11 <= v[..., 1] < 3"),
    "limited, plus a number for each": ("n = Constant<value_ints = [2, -3]>() c = Clip(v, zero, six) i = Add(c, n)", "proved; proved"),
    "limited, plus too much for one": ("n = Constant<value_ints = [2, 1]>() c = Clip(v, zero, six) i = Add(c, n)", "proved; v[..., 1] < 6"),
    "plus a number for each row": ("n = Constant<value_ints = [4, -5]>() m = Unsqueeze(n, v1) i = Add(v, m)", "undecided; undecided"),
    "plus a number for each, of a copy": ("t = Transpose(v) n = Constant<value_ints = [1, -1]>() i = Add(t, n)", "-10 <= v < 8; -6 <= v < 8"),
    "plus a number for each of others": ("t = Slice(v, last, far, v1, last) n = Constant<value_ints = [1, -1]>() i = Add(t, n)", "-10 <= v < 8; -6 <= v < 8"),
    "plus, rows turned": ("p = Add(v, one) i = Slice(p, last, far, v0, last)", "undecided; undecided"),
    "wrapped": ("t = Less(v, zero) p = Add(v, six) i = Where(t, p, v)", "-15 <= v[..., 0] < 9; -13 <= v[..., 1] < 7"),
    "chosen": ("t = Less(v, one) i = Where(t, v, v)", "undecided; undecided"),
    "reversed along": ("n = Concat<axis = 0>(v2, v2) i = ReverseSequence<batch_axis = 0, time_axis = 1>(v, n)", "undecided; undecided"),
    "one more axis": ("i = Unsqueeze(v, v0)", "undecided; undecided"),
}  # fmt: skip
COLUMNS_HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() six = Constant<value_int = 6>() v0 = Constant<value_ints = [0]>()
    v1 = Constant<value_ints = [1]>() v2 = Constant<value_ints = [2]>() last = Constant<value_ints = [-1]>() far = Constant<value_ints = [-99]>()"""


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_demanded_of_a_column(name: str) -> None:
    """All of it is met wherever onnxruntime passes; where no access is undecided it passes wherever all is met."""
    nodes, said = COLUMNS[name]
    proto = model(f"(float[9, 7] table, int64[2, 2] v) => (y) {{ {COLUMNS_HEAD} {nodes} y = GatherND(table, i) }}")
    found = [bounds.verdict(access) for access in infer(proto).accesses[-2:]]
    assert "; ".join(verdict.condition or str(verdict.kind) for verdict in found) == said
    assert [verdict.access.axis for verdict in found] == [0, 1]
    runtime, seen = Runtime(proto), set()
    for numbers in itertools.product((-14, -8, 6, 8), repeat=4):
        v = np.array(numbers).reshape(2, 2)
        feeds = {"table": np.zeros((9, 7), np.float32), "v": v}
        met = all(holds(c, {}, feeds) for verdict in found for c in verdict.conditions)
        exact = all(c.left.whole for verdict in found for c in verdict.conditions if isinstance(c.left, Elements))
        try:
            runtime.run(feeds)
        except InvalidArgument:
            assert not met or VerdictKind.UNDECIDED in {verdict.kind for verdict in found}, v
        else:
            assert met or not exact, v
            seen.add(met)
    assert True in seen
