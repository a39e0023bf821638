"""How the program begins and ends as a process: interrupts, and streams that are closed.

To import it is to begin: an interrupt that comes from here on ends the program in one line. What comes before, while
the interpreter itself starts, nobody can answer for.
"""

try:  # before anything else: also `from __future__ import annotations` is an import, and can be interrupted
    import sys

    from .interrupts import INTERRUPTED, STATE, handle_interrupts, ignore_interrupts, stop_if_interrupted

    handle_interrupts()
    import os
except KeyboardInterrupt:
    sys.stderr.write("error: interrupted\n")
    raise SystemExit(130) from None

TYPE_CHECKING = False  # that of `typing` takes longer to import than the rest
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """The program, as a process: its exit codes are those of `main.Program`."""
    try:
        try:
            STATE.wait = False
            stop_if_interrupted()
            _open_closed_streams()
            from .main import main as program

            program()
            raise AssertionError("the program ends with an exit code")
        finally:
            STATE.wait = True
            ignore_interrupts()
    except KeyboardInterrupt:
        STATE.wait = True
        sys.stderr.write("error: interrupted\n")
        sys.exit(INTERRUPTED)


def _open_closed_streams() -> None:
    """Puts something in the place of standard streams that the caller closed, so that no other file takes their number.

    Input is empty then, messages are lost, and results fail to be written.
    """
    closed = [number for number in range(3) if _is_closed(number)]
    for number in closed:  # the lowest number that is free is taken
        os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if 0 in closed:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 (it stays open)
    if 1 in closed:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if 2 in closed:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _is_closed(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return True
    return False
