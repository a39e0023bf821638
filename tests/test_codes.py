"""The table of diagnostic codes: its page is up to date, every code in the code is in it, and every entry is used."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import gather_infer_cli

import gather_infer
from gather_infer.diagnostic import ADVICE, CODES, group_of
from tests.documents import REPO

CODE = re.compile(r"\bGI(?!\d00)\d{3}\b")  # GI200 is where a group begins
NOT_YET: set[str] = set()


def strings() -> list[str]:
    """The strings of each module that has a code, docstrings included, but for the table itself."""
    files = [
        file
        for package in (gather_infer, gather_infer_cli)
        for file in Path(str(package.__file__)).parent.rglob("*.py")
    ]
    texts = [file.read_text() for file in files if file.name != "diagnostic.py"]
    trees = [ast.parse(text) for text in texts if CODE.search(text)]
    return [n.value for t in trees for n in ast.walk(t) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_codes.py"))
    text = made["page"]()
    assert (REPO / "docs" / "codes.md").read_text() == text, "python docs/make_codes.py writes it again"
    assert re.findall(r"^\| `(GI\d{3})`", text, re.MULTILINE) == list(CODES)


def test_the_code_and_the_table_have_the_same_codes() -> None:
    found = strings()
    mentioned = {code for text in found for code in CODE.findall(text)}
    given = {text for text in found if CODE.fullmatch(text)}
    assert mentioned <= CODES.keys()
    assert CODES.keys() - given == NOT_YET


def test_meanings_are_plain_sentences() -> None:
    for code, (_, meaning) in CODES.items():
        assert not meaning.endswith("."), code
        assert meaning[0].islower() or not meaning[0].isalpha() or meaning.startswith("OpenVINO"), code


def test_every_code_has_advice_and_a_group() -> None:
    assert list(ADVICE) == list(CODES)
    for code, advice in ADVICE.items():
        assert advice.endswith("."), code
        assert group_of(code)
