"""The README: its commands and its Python run from a checkout as they stand, and `make` has what is mentioned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import REPO, blocks, run_page

README = REPO / "README.md"


def test_blocks_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(README, tmp_path, skip=("pip install ", "pytest"))


def test_a_checkout_is_set_up_by_one_line() -> None:
    use, test = (block.text.splitlines() for block in blocks(README, "sh")[:2])
    assert use[0] == "pip install ."
    assert test[0] == "pip install '.[test]'"
    assert [command.split()[0] for command in test[1:]] == ["pytest"]
    assert [line for line in README.read_text().splitlines() if line.startswith("pip ")] == [use[0], test[0]]


def test_make_has_the_targets_that_are_mentioned() -> None:
    targets = set(re.findall(r"^([\w-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    mentioned = re.findall(r"\bmake ([\w-]+)", (REPO / "CONTRIBUTING.md").read_text())
    assert mentioned
    assert set(mentioned) <= targets
