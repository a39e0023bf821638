"""The fixture that runs a command."""

from tests.cli.conftest import run

__all__ = ["run"]
