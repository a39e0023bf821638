"""Functions of the user (rules, rewrites, cost formulas): guarded calls, and errors about the functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from gather_infer.errors import GatherInferError, UsageError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def guarded(
    function: Callable[_P, _T],
    title: Callable[_P, str],
    fault: Callable[Concatenate[_T, _P], str],
    passing: tuple[type[Exception], ...],
) -> Callable[_P, _T]:
    """A function of the user, wrapped to raise UsageError for an unexpected exception or an incorrect result.

    title    names the function and the node of a call, for messages: `the rule of Gather at node pick`
    fault    the fault of a result, which continues the sentence: `must return ..., returns 3`; "" for a correct result
    passing  exceptions that the function may raise, in addition to errors about the model; see `user_code`
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with user_code(file_of(function), lambda: title(*args, **kwargs), passing):
            result = function(*args, **kwargs)
            found = fault(result, *args, **kwargs)
        if found:
            raise extension_error(function, title(*args, **kwargs), found)
        return result

    return call


def extension_error(function: Callable[..., object], title: str, fault: str) -> UsageError:
    """The error for a function of the user that has returned or done something incorrect; see `guarded`."""
    file = file_of(function)
    return UsageError(f"{file}: {title} {fault}" if file else f"{title} {fault}")


@contextmanager
def user_code(file: str, title: Callable[[], str] = str, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Context manager that turns an exception of user code into a UsageError `FILE:LINE: title: KeyError: 'x'`.

    The original exception becomes the `__cause__`. Errors about the model, GatherInferErrors other than UsageError, and
    those in `passing` pass through unchanged.

    file   file of the user code; LINE is the innermost traceback line in this file
    title  describes the code; called when an exception is raised
    """
    try:
        yield
    # User code may raise anything. Its author needs the line, not a traceback through this package.
    except (Exception, SystemExit) as error:
        if isinstance(error, passing) or (isinstance(error, GatherInferError) and not isinstance(error, UsageError)):
            raise
        import traceback

        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        if isinstance(error, SystemExit):
            text = "exits the program, which rules must not do"
        place = f"{file}:{lines[-1]}" if lines else file
        raise UsageError(" ".join(": ".join(filter(None, (place, title(), text))).split())) from error


def file_of(function: Callable[..., object]) -> str:
    """The source file of a callable, whatever wraps it; "" if it is not written in Python."""
    plain: Any = inspect.unwrap(function.func if isinstance(function, partial) else function)
    code = getattr(plain, "__code__", None) or getattr(plain.__call__, "__code__", None)
    return "" if code is None else str(code.co_filename)
