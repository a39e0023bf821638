"""The measured tables of the pages are those of the one file that a benchmark has written."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.documents import REPO

FIXTURES = {path.stem for path in (REPO / "fixtures").glob("*.onnx")}
MADE = runpy.run_path(str(REPO / "docs" / "make_figures.py"))
FIGURES = json.loads(MADE["FIGURES"].read_text())


@pytest.mark.parametrize("path", MADE["PAGES"], ids=lambda path: path.name)
def test_the_tables_are_those_of_the_file(path: Path) -> None:
    text = path.read_text()
    assert text == MADE["page"](text, FIGURES), "python docs/make_figures.py writes them again"


def test_each_table_stands_on_a_page() -> None:
    names = [name for path in MADE["PAGES"] for name in re.findall(r"<!-- figures: ([\w-]+) -->", path.read_text())]
    assert sorted(set(names)) == sorted(MADE["TABLES"])


def test_what_was_measured_are_the_fixtures() -> None:
    assert set(FIGURES["first"]) == set(FIGURES["measured"]["nodes"]) == FIXTURES
    assert set(FIGURES["whole"]) == set(MADE["TOOLS"])
