"""How far long work is, for whoever shows it: the work says what to ask, and does not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[Callable[[], str]], None]
"""It is given a function that tells what is being done, whenever it is asked, from any thread."""


def unseen(tell: Callable[[], str]) -> None:
    """The Progress that nobody sees."""
