"""Each rule of the tables has a case, and says what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gather_infer.passes.rewrites import ALL

RULES = sorted({listed.name for each in ALL for listed in each.listed()})
TESTS = "\n".join(
    path.read_text()
    for folder in ("rewrites", "passes")
    for path in (Path(__file__).parents[1] / folder).glob("test_*.py")
)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_case(name: str) -> None:
    if not name.startswith("fold-"):  # whose tests are those of `fold`
        assert f'"{name}"' in TESTS, f"write a Case for {name} in tests/rewrites, see CONTRIBUTING.md, A new rewrite"


def test_a_rule_states_its_law() -> None:
    silent = {
        listed.name for each in ALL for listed in each.listed() if hasattr(listed, "rule") and not listed.rule.__doc__
    }
    assert not silent, f"begin the docstring of {', '.join(sorted(silent))} with the equation"
