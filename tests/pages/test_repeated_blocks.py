"""Repeated runs of operators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gather_infer.pages.repeated_blocks import Block, repeated_blocks

CASES = {
    # id: (operators, blocks)
    "none": ("abcdefgh", [Block(0, 8)]),
    "all": ("abcabcabc", [Block(0, 3, 3)]),
    "in between": ("xyabcdabcdabcdz", [Block(0, 2), Block(2, 4, 3), Block(14, 1)]),
    "one operator": ("xaaaaaaaay", [Block(0, 1), Block(1, 1, 8), Block(9, 1)]),
    "two of them": ("abcdabcdxyzefghefgh", [Block(0, 19)]),  # each hides 4 nodes, fewer than 6
    "two longer ones": (
        "abcdefabcdef" + "xyz" + "ghijklghijkl",
        [Block(0, 6, 2), Block(12, 3), Block(15, 6, 2)],
    ),
    "the shortest period": ("abababababab", [Block(0, 2, 6)]),
    "an incomplete last one": ("abcdabcdabcdab", [Block(0, 4, 3), Block(12, 2)]),
    "empty": ("", []),
}


@pytest.mark.parametrize("case", CASES)
def test_blocks(case: str) -> None:
    operators, expected = CASES[case]
    assert repeated_blocks(operators, [""] * len(operators)) == expected


def test_a_block_begins_where_the_numbers_of_labels_change() -> None:
    operators = "cabcabcabca"  # a run may begin at c, a or b
    labels = ["/in", *(f"/layer.{i // 3}/{i % 3}" for i in range(9)), "/out"]
    assert repeated_blocks(operators, labels) == [Block(0, 1), Block(1, 3, 3), Block(10, 1)]


@given(st.text("abc", max_size=60))
def test_blocks_are_the_nodes_in_order(operators: str) -> None:
    blocks = repeated_blocks(operators, [""] * len(operators))
    text = "".join(operators[b.start : b.start + b.period] * b.count for b in blocks)
    assert text == operators
    assert [b.start for b in blocks] == [0, *(b.end for b in blocks)][: len(blocks)]
