"""Functions of the user (rules, rewrites, cost formulas): guarded calls, and errors about the functions."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ParamSpec, TypeVar

from gather_infer.errors import GatherInferError, UsageError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def call_extension(
    function: Callable[_P, _T],
    title: Callable[[], str],
    fault: Callable[[_T], str],
    passing: tuple[type[Exception], ...],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> _T:
    """The result of a function of the user.

    title    names the function and its node, for messages: `the rule of Gather at node pick`
    fault    the fault of a result, which continues the sentence: `must return ..., returns 3`; "" for a correct result
    passing  exceptions that the function may raise, in addition to errors about the model

    Raises UsageError if the function raises another exception, as `user_code`, or returns an incorrect result.
    """
    with user_code(file_of(function), title, passing):
        result = function(*args, **kwargs)
        found = fault(result)
    if found:
        raise extension_error(function, title(), found)
    return result


def extension_error(function: object, title: str, fault: str) -> UsageError:
    """The error for a function of the user that has returned or done something incorrect; see `call_extension`."""
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
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        if isinstance(error, SyntaxError) and error.filename == file:
            lines, text = [error.lineno], error.msg
        if isinstance(error, SystemExit):
            text = "exits the program, which rules must not do"
        place = f"{file}:{lines[-1]}" if lines else file
        raise UsageError(" ".join(": ".join(filter(None, (place, title(), text))).split())) from error


def file_of(function: object) -> str:
    """The source file of a callable, whatever wraps it; "" if it is not written in Python."""
    while isinstance(function, partial):
        function = function.func
    if not callable(function):
        return ""
    plain: Any = inspect.unwrap(function)
    code = getattr(plain, "__code__", None) or getattr(plain.__call__, "__code__", None)
    return "" if code is None else str(code.co_filename)
