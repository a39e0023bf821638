"""How the program begins and ends as a process: interrupts at any time, and streams that are closed.

Nothing is imported here that takes time: what comes before `main` nobody can answer for.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # that of `typing` takes longer to import than the rest
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

INTERRUPTED, BROKEN_PIPE = 130, 141
"""Exit codes, as shells have them for the two signals."""

_interrupts: list[int] = []


def main() -> NoReturn:
    """The program, as a process: its exit codes are those of `main.Program`."""
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller wants none of them
            _handle_interrupts()
        _open_closed_streams()
        from .main import main as program

        program()
        raise AssertionError("the program ends with an exit code")
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends already
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)  # as it is when the interpreter ends, it would kill


def was_interrupted() -> bool:
    return bool(_interrupts)


def stop_if_interrupted() -> None:
    """Raise the interrupt that came while a module was imported: what is done next cannot be taken back."""
    if _interrupts:
        raise KeyboardInterrupt


def _handle_interrupts() -> None:
    signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _in_a_callback


def _interrupt(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    if _is_importing(frame) and hasattr(signal, "setitimer"):
        _come_again()
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported: code in C crashes when that is interrupted."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _in_a_callback(unraisable: sys.UnraisableHookArgs) -> None:
    """An interrupt that came where Python cannot raise one, in a weak reference's callback say, comes again."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _come_again()
    else:
        sys.__unraisablehook__(unraisable)


def _come_again() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.02)


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
