"""docs/api.md has what is public, as the docstrings tell it; its examples run with those of the other pages."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from inspect import cleandoc
from types import ModuleType

import pytest

import gather_infer
from tests.documents import REPO


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = spec_from_file_location("make_api", REPO / "docs" / "make_api.py")
    assert spec is not None and spec.loader is not None, "the script is there"
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(maker: ModuleType) -> None:
    assert maker.PAGE.read_text() == maker.page(), "run python docs/make_api.py"


def test_every_public_name_is_in_one_group(maker: ModuleType) -> None:
    names = [name for names in maker.GROUPS.values() for name in names]
    modules = {name for name in dir(gather_infer) if isinstance(getattr(gather_infer, name), ModuleType)}
    assert sorted(names) == sorted(set(dir(gather_infer)) - modules)


def test_what_a_user_calls_has_an_example() -> None:
    for name in ("infer", "explain", "check", "check_many", "contract_of", "fold", "optimize", "freeze", "convert"):
        assert ">>> " in (getattr(gather_infer, name).__doc__ or ""), name


def test_docstrings_become_markdown(maker: ModuleType) -> None:
    docstring = """Does it.

    first, second   what they are,
                    on two lines
    third           another

        >>> for i in range(2):
        ...     print(i)
        0
        1
        >>> print("x")
        x

    A sentence
    at the end.
    """
    assert "\n".join(maker.markdown(cleandoc(docstring))).splitlines() == [
        "Does it.",
        "",
        "* `first`, `second`: what they are, on two lines",
        "* `third`: another",
        "",
        "```python",
        "for i in range(2):",
        "    print(i)",
        "# 0",
        "# 1",
        'print("x")',
        "# x",
        "```",
        "",
        "A sentence at the end.",
    ]
