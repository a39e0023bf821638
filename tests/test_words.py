"""The vocabulary of the code: names and docstrings use the terms of the field, not words of our own."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import gather_infer_cli
import pytest

import gather_infer

REPO = Path(__file__).parents[1]
PACKAGE = Path(gather_infer.__file__).parent  # the installed wheel, when the sources are not beside the tests
CLI = Path(gather_infer_cli.__file__).parent
FOLDERS = {
    "gather_infer": PACKAGE,
    "cli": CLI,
    **{name: REPO / name for name in ("tests", "benchmarks", "fixtures", "docs", "tools") if (REPO / name).is_dir()},
}

Definition: TypeAlias = "ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef"

PRIVATE = {
    "astray", "beside", "front", "keeps", "said", "settle", "stated", "supposed", "told", "tried", "twins", "wake",
    "walked",
}  # fmt: skip
"""Words that name no concept of compilers or shape inference; docs/glossary.md has those in use."""
PRIVATE_MODULES = {"nothing", "own"}

CONCEPTS = [
    # (module, the term that its docstring uses)
    ("inference/__init__.py", "abstract interpretation"),
    ("inference/__init__.py", "dataflow analysis"),
    ("inference/interpreter.py", "abstract interpret"),
    ("inference/fixed_point.py", "fixed point"),
    ("inference/inference_driver.py", "fixed point"),
    ("inference/provenance/__init__.py", "provenance"),
    ("inference/provenance/transfer.py", "transfer function"),
    ("inference/provenance/monotonicity.py", "monoton"),
    ("value_ranges.py", "value range"),
    ("passes/worklist.py", "worklist"),
    ("passes/greedy_driver.py", "greedy"),
    ("ir/dead_code.py", "dead code elimination"),
    ("passes/duplicates.py", "common subexpression elimination"),
    ("passes/rewrites/common_subexpressions.py", "common subexpression elimination"),
    ("passes/rewrites/shape_computations.py", "canonicalize"),
    ("passes/profitability.py", "profitab"),
    ("symbolic/__init__.py", "polynomial normal form"),
    ("symbolic/__init__.py", "interval arithmetic"),
    ("symbolic/__init__.py", "Fourier-Motzkin"),
    ("symbolic/__init__.py", "case split"),
    ("symbolic/__init__.py", "budget"),
]


def sources(folder: str) -> list[Path]:
    return sorted(FOLDERS[folder].rglob("*.py"))


def words_of(identifier: str) -> set[str]:
    """The words of a snake_case or CamelCase name, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", identifier)}


def private_names(path: Path, root: Path) -> Iterator[str]:
    """The module, classes and functions of a file that are named with a private word."""
    shown = path.relative_to(root.parent)
    for part in shown.with_suffix("").parts:
        if part in PRIVATE_MODULES or words_of(part) & PRIVATE:
            yield f"{shown}"
    for node in _definitions(path):
        if not isinstance(node, ast.Module) and words_of(node.name) & PRIVATE:
            yield f"{shown}:{node.lineno}: {node.name}"


def private_docstrings(path: Path, root: Path) -> Iterator[str]:
    """Docstrings that begin with "What", or whose actor is a pronoun that names none."""
    shown = path.relative_to(root.parent)
    for node in _definitions(path):
        text = ast.get_docstring(node) or ""
        if re.match(r"What\b", text) or re.search(r"\b(nobody|somebody)\b", text, re.IGNORECASE):
            yield f"{shown}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"


@functools.lru_cache(maxsize=1)
def _definitions(path: Path) -> tuple[Definition, ...]:
    """A module, and its classes and functions."""
    found: list[Definition] = []
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(node)
        pending += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
    return tuple(found)


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_and_docstrings_use_the_terms_of_the_field(folder: str) -> None:
    names: list[str] = []
    texts: list[str] = []
    for path in sources(folder):
        names += private_names(path, FOLDERS[folder])
        texts += private_docstrings(path, FOLDERS[folder])
    assert (names, texts) == ([], [])


@pytest.mark.parametrize(("module", "term"), CONCEPTS)
def test_a_concept_has_its_term_where_it_is_implemented(module: str, term: str) -> None:
    text = ast.get_docstring(ast.parse((PACKAGE / module).read_text(encoding="utf-8"))) or ""
    assert term.lower() in " ".join(text.lower().split())


def test_a_private_name_is_found(tmp_path: Path) -> None:
    path = tmp_path / "package" / "own.py"
    path.parent.mkdir()
    path.write_text(
        '"""What it is."""\n\ndef is_Said() -> None:\n    """Return what nobody reads."""\n\nclass Window: ...\n'
    )
    assert list(private_names(path, path.parent)) == ["package/own.py", "package/own.py:3: is_Said"]
    assert [text.split(": ")[1] for text in private_docstrings(path, path.parent)] == [
        "What it is.",
        "Return what nobody reads.",
    ]
