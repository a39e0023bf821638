"""Entry point of the process: handles interrupts, and replaces closed standard streams.

Importing this module installs the interrupt handler: from then on, an interrupt ends the program with one line. The
program cannot handle an interrupt while the interpreter itself starts.
"""

try:  # before anything else: also `from __future__ import annotations` is an import, and can be interrupted
    import sys

    from .interrupts import (
        STATE,
        defer_interrupts,
        handle_interrupts,
        ignore_interrupts,
        interruption,
        stop_if_interrupted,
    )

    handle_interrupts()
    import os
except KeyboardInterrupt:
    sys.stderr.write("error: interrupted\n")
    raise SystemExit(130) from None

TYPE_CHECKING = False  # importing `typing` would take longer than all other imports here
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the program and exit with a code of `main.Program`."""
    try:
        try:
            STATE.is_deferred = False
            stop_if_interrupted()
            _open_closed_streams()
            _escape_what_streams_lack()
            from .main import main as program

            program()
            raise AssertionError("the program ends with an exit code")
        finally:
            defer_interrupts()
            ignore_interrupts()
    except KeyboardInterrupt:
        defer_interrupts()
        message, code = interruption()
        sys.stderr.write(f"{message}\n")
        sys.exit(code)


def _open_closed_streams() -> None:
    """Replace standard streams that the caller closed, so that no other file gets their descriptor.

    Standard input is then empty, messages are lost, and writing results fails.
    """
    closed = [number for number in range(3) if _is_closed(number)]
    for number in closed:  # `open` returns the lowest free descriptor
        os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if 0 in closed:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 (it stays open)
    if 1 in closed:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if 2 in closed:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _escape_what_streams_lack() -> None:
    """Let standard output escape characters that its encoding lacks, as standard error does: `\\u2265` in cp1252."""
    if sys.stdout.encoding.lower().replace("-", "") != "utf8" and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # it is a TextIOWrapper


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False
