"""The prover trusts nothing of the rewriting, whose results it proves."""

from __future__ import annotations

import ast
from pathlib import Path

import gather_infer.equality


def test_of_the_passes_only_the_kernels_are_imported() -> None:
    folder = Path(gather_infer.equality.__file__).parent
    modules = {
        node.module
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert {module for module in modules if module.startswith("gather_infer.passes")} == {
        "gather_infer.passes.evaluate"
    }
