"""Fixtures: `run` runs a command, `browser` drives a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import run
from tests.pages.browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("pages"))
    yield found
    found.driver.quit()


__all__ = ["browser", "run"]
