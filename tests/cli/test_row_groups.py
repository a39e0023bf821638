"""Rows that repeat with a number are one row."""

from __future__ import annotations

import pytest

from gather_infer.report.row_groups import RowGroup, group_rows, merge_groups, numbers_text

Row = tuple[str, ...]

CASES: dict[str, tuple[list[Row], list[tuple[Row, int]]]] = {
    # id: (rows, cells and how many rows they stand for)
    "none": ([], []),
    "a number in the name": (
        [("k_0", "f[8]"), ("k_1", "f[8]"), ("k_2", "f[8]")],
        [(("k_{0..2}", "f[8]"), 3)],
    ),
    "two stay two": ([("k_0", "f[8]"), ("k_1", "f[8]")], [(("k_0", "f[8]"), 1), (("k_1", "f[8]"), 1)]),
    "interleaved, where the first stands": (
        [("x", "f"), ("k_0", "f"), ("v_0", "f"), ("k_1", "f"), ("v_1", "f"), ("k_2", "f"), ("v_2", "f"), ("y", "f")],
        [(("x", "f"), 1), (("k_{0..2}", "f"), 3), (("v_{0..2}", "f"), 3), (("y", "f"), 1)],
    ),
    "the number in other cells too": (
        [(f"k_{i}", f"f[k_{i}.2, 2]", f"rows_{i} = 2") for i in range(4)],
        [(("k_{0..3}", "f[k_{0..3}.2, 2]", "rows_{0..3} = 2"), 4)],
    ),
    "a size that happens to be the number": (
        [(f"k_{i}", "f[1, 2]") for i in range(4)],
        [(("k_{0..3}", "f[1, 2]"), 4)],
    ),
    "another size in between": (
        [("k_0", "f[8]"), ("k_1", "f[8]"), ("k_2", "f[9]"), ("k_3", "f[8]")],
        [(("k_{0, 1, 3}", "f[8]"), 3), (("k_2", "f[9]"), 1)],
    ),
    "a size that grows with it stays apart": (
        [(f"k_{i}", f"f[{8 * i}]") for i in range(1, 4)],
        [((f"k_{i}", f"f[{8 * i}]"), 1) for i in range(1, 4)],
    ),
    "the number that leaves the fewest rows": (
        [(f"/l.{i}/Gather_{j}", "f") for i in range(5) for j in range(3)],
        [((f"/l.{{0..4}}/Gather_{j}", "f"), 5) for j in range(3)],
    ),
    "only a number of the first cell counts": (
        [("x", f"f[{i}]") for i in range(4)],
        [(("x", f"f[{i}]"), 1) for i in range(4)],
    ),
    "equal rows": ([("k_1", "f")] * 4, [(("k_1", "f"), 1)] * 4),
    "an equal row among others": (
        [("k_1", "f"), ("k_1", "f"), ("k_2", "f"), ("k_3", "f")],
        [(("k_1", "f"), 1), (("k_1", "f"), 1), (("k_2", "f"), 1), (("k_3", "f"), 1)],
    ),
    "a number that begins with 0 is a text": (
        [(f"k_0{i}", "f") for i in range(1, 4)],
        [((f"k_0{i}", "f"), 1) for i in range(1, 4)],
    ),
    "a number of too many digits is a text": (
        [(f"k_{'9' * 5000}{i}", "f") for i in range(3)],
        [((f"k_{'9' * 5000}{i}", "f"), 1) for i in range(3)],
    ),
    "no name": ([("", "f"), ("", "f"), ("", "f")], [(("", "f"), 1)] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rows(name: str) -> None:
    rows, expected = CASES[name]
    found = group_rows(rows)
    assert [(repeat.cells, repeat.count) for repeat in found] == expected
    assert sum(repeat.count for repeat in found) == len(rows)


NUMBERS = {(0, 1, 2): "{0..2}", (0, 2, 4): "{0, 2, 4}", (3, 4, 7, 9, 10, 11): "{3, 4, 7, 9..11}", (5,): "{5}"}


@pytest.mark.parametrize("numbers", NUMBERS)
def test_numbers(numbers: tuple[int, ...]) -> None:
    assert numbers_text(numbers) == NUMBERS[numbers]


def test_names_of_one_type_share_a_row() -> None:
    rows = [row for i in range(3) for row in ((f"k_{i}", "f"), (f"v_{i}", "f"), (f"w_{i}", "g"))]
    alone = [("a", "f"), ("b", "f")]
    assert merge_groups(group_rows([*rows, *alone])) == [
        (("k_{0..2}", "v_{0..2}"), RowGroup(("k_{0..2}", "f"), (0, 1, 2))),
        (("w_{0..2}",), RowGroup(("w_{0..2}", "g"), (0, 1, 2))),
        (("a",), RowGroup(("a", "f"))),
        (("b",), RowGroup(("b", "f"))),
    ]
