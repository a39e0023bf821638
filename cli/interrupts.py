"""Interrupts, from the first line of the program to its last: when they are raised, and when they wait.

Nothing is imported here that takes time: what comes before nobody can answer for.
"""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # that of `typing` takes longer to import than the rest
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""Exit code, as shells have it for the signal."""


class _State:
    """How many interrupts came, and whether they wait: nobody catches one before the program begins or after it."""

    __slots__ = ("came", "wait")

    def __init__(self) -> None:
        self.came = 0
        self.wait = True


STATE = _State()


def handle_interrupts() -> None:
    """Have interrupts wait, unless the caller of the program ignores them, or handles them in its own way."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    signal.signal(signal.SIGINT, _interrupt)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _in_a_callback


def was_interrupted() -> bool:
    return STATE.came > 0


def stop_if_interrupted() -> None:
    """Raise the interrupt that has waited, or came while a module was imported: what is next cannot be taken back."""
    if was_interrupted():
        raise KeyboardInterrupt


def ignore_interrupts() -> None:
    """Have none do anything while the interpreter ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # as it is when the interpreter ends, it would kill


def _interrupt(number: int, frame: FrameType | None) -> None:
    STATE.came += 1
    if STATE.wait:
        return
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
