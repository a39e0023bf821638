"""Handling of interrupts from the start of the program to its end: when to raise them, and when to defer them.

This module imports only modules that load fast, because no handler is installed until its imports are done.
"""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # importing `typing` would take longer than all other imports here
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes by the convention of shells for SIGINT and SIGTERM."""


class _State:
    """The number of interrupts so far, and whether to defer them: True before the program starts and after it ends.

    was_terminated   one of them was SIGTERM
    """

    __slots__ = ("count", "is_deferred", "was_terminated")

    def __init__(self) -> None:
        self.count = 0
        self.is_deferred = True
        self.was_terminated = False


STATE = _State()


def handle_interrupts() -> None:
    """Install the handler of SIGINT and SIGTERM, for those that have none and that the process does not ignore."""
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    handled = [number for number, default in defaults.items() if signal.getsignal(number) is default]
    for number in handled:
        signal.signal(number, _interrupt)
    if handled and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _in_a_callback


def was_interrupted() -> bool:
    return STATE.count > 0


def interruption() -> tuple[str, int]:
    """The message and the exit code of a program that ends because of a signal."""
    return ("error: terminated", TERMINATED) if STATE.was_terminated else ("error: interrupted", INTERRUPTED)


def stop_if_interrupted() -> None:
    """Raise a deferred interrupt, or one that arrived during an import, before a step that cannot be undone."""
    if was_interrupted():
        raise KeyboardInterrupt


def defer_interrupts() -> None:
    """Raise no more interrupts, also not one that `_raise_later` has scheduled."""
    STATE.is_deferred = True


def ignore_interrupts() -> None:
    """Ignore interrupts while the interpreter exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "setitimer"):
        signal.signal(
            signal.SIGALRM, signal.SIG_IGN
        )  # the interpreter restores the default, which would kill the process


def _interrupt(number: int, frame: FrameType | None) -> None:
    STATE.count += 1
    STATE.was_terminated |= number == signal.SIGTERM
    if STATE.is_deferred:
        return
    if _is_importing(frame) and hasattr(signal, "setitimer"):
        _raise_later()
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Whether an import is in progress: some C extensions crash if it is interrupted."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _in_a_callback(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise a KeyboardInterrupt again if Python could not propagate it, as in the callback of a weak reference.

    Other exceptions are reported by the default hook.
    """
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _raise_later()
    else:
        sys.__unraisablehook__(unraisable)


def _raise_later() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.02)
