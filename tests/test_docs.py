"""Every command and every Python block of the pages in docs/ works and prints what the page says."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import gather_infer
from tests.documents import REPO, blocks, matches, run_page

PAGES = sorted((REPO / "docs").rglob("*.md"))
SITE = REPO / "docs" / "index.md"
_LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_the_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", [*PAGES, *sorted(REPO.glob("*.md"))], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_site_has_every_page() -> None:
    listed = re.findall(r"^(\S+)$", "".join(block.text for block in blocks(SITE, "{toctree}")), re.MULTILINE)
    pages = {(SITE.parent / f"{name}.md").resolve() for name in listed if not name.startswith(":")}
    assert pages == {*PAGES, *(REPO / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))} - {SITE}


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="needs '.[docs]'")
    recipe = (REPO / "Makefile").read_text().split("\ndocs:\n\t")[1].splitlines()[0]
    words = [word.replace("build/docs", str(tmp_path)) for word in recipe.split()]
    assert words[0] == "python"
    done = subprocess.run([sys.executable, *words[1:]], cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "batch dynamic" in (tmp_path / "docs" / "questions" / "make-my-batch-dynamic.html").read_text()


def test_the_page_of_commands_is_up_to_date() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_commands.py"))
    assert (REPO / "docs" / "commands.md").read_text() == made["page"](), "python docs/make_commands.py writes it again"


TYPED = {"inference.py": "docs/inference.md", "readme.py": "README.md"}
"""Pages whose Python is one program each; those about rules have files of their own."""


def test_python_of_pages_is_typed(tmp_path: Path) -> None:
    """Users who copy it have no fault from mypy --strict."""
    programs = [tmp_path / name for name in TYPED]
    for program, page in zip(programs, TYPED.values(), strict=True):
        program.write_text("".join(block.text for block in blocks(REPO / page, "python")))
    mypy = [
        "mypy",
        "--strict",
        "--config-file",
        "",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path),
        *map(str, programs),
    ]
    environment = {**os.environ, "MYPYPATH": str(REPO)}
    done = subprocess.run([sys.executable, "-m", *mypy], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if line.startswith(tuple(TYPED))] == []
    assert done.returncode == 0, done.stdout + done.stderr


def in_the_table_of(page: str, heading: str) -> set[str]:
    """The names in the first column of the table below a heading of a page of docs."""
    section = (REPO / "docs" / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_design_has_every_package() -> None:
    package = Path(gather_infer.__file__).parent
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    assert in_the_table_of("design.md", "Packages") == files | {
        path.parent.name for path in package.glob("*/__init__.py")
    }


def test_the_design_has_every_module_of_the_inference() -> None:
    inference = Path(gather_infer.__file__).parent / "inference"
    there = {path.stem for path in inference.glob("*.py")} | {path.parent.name for path in inference.glob("*/*.py")}
    assert in_the_table_of("design-inference.md", "Inside `inference`") == there - {"__init__"}


def test_dots_stand_for_any_lines() -> None:
    output = ["a   0.41 s", "b", "c"]
    assert matches(["a   0.99 s", "b", "c"], output)
    assert matches(["..."], output)
    assert matches(["...", "b", "..."], output)
    assert matches(["a   0.99 s", "...", "b", "c"], output)
    assert not matches(["a   0.99 s", "..."], ["x", *output])
    assert not matches(["a   0.99 s", "b"], output)
    assert not matches(["...", "d", "..."], output)


def questions() -> list[tuple[str, str]]:
    """The table of the tutorial: a question, and the command that answers it."""
    rows = re.findall(r"^\| (What|Why|Is|Which|How)(.*?\?) \| `(gather-infer [^`]*)` \| `", TUTORIAL.read_text(), re.M)
    return [(f"{first}{rest}", command) for first, rest, command in rows]


TUTORIAL = REPO / "docs" / "tutorial.md"
FIXTURE = REPO / "fixtures" / "moe-nonzero-dynamo.onnx"


@pytest.mark.parametrize(("question", "command"), questions())
def test_each_question_is_answered_by_one_command(question: str, command: str, tmp_path: Path) -> None:
    values = {"MODEL": str(FIXTURE), "TENSOR": "val_23", "OUT": str(tmp_path / "out.onnx")}
    arguments = [values.get(word, word) for word in command.split()[1:]]
    done = subprocess.run([sys.executable, "-m", "gather_infer", *arguments], capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout


def test_there_are_ten_questions() -> None:
    assert len(questions()) == 10


@pytest.mark.parametrize("word", ["legal run", "opset", "value range", "verdict", "witness", "tight"])
def test_the_glossary_has_a_word(word: str) -> None:
    assert re.search(rf"^\W*{word}\W", (REPO / "docs" / "glossary.md").read_text(), re.M | re.I), word


DESIGN = sorted((REPO / "docs").glob("design*.md"))


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_a_page_of_the_design_can_be_read_at_once(page: Path) -> None:
    assert len(DESIGN) == 4
    assert len(page.read_text().splitlines()) <= 200


@pytest.mark.parametrize("page", [*PAGES, *sorted(REPO.glob("*.md"))], ids=lambda page: page.name)
def test_links_to_sections_lead_to_headings(page: Path) -> None:
    for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        other = page.parent / target if target else page
        headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", other.read_text(), flags=re.M | re.S), re.M)
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert section in slugs, f"{target}#{section}"
