"""Verdicts in the order in which they are told."""

from typing import Final

VERDICTS: Final = ("proved", "conditional", "violated", "undecided")
