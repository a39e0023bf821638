"""Shape syntax of the IR: partial shapes of a Parameter (`?,1..10,3`), static shapes of a Const (`3, 224`), `<dim>`."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from gather_infer.errors import ModelReadError
from gather_infer.symbolic import Interval

MAX_SIZE: Final = 2**63 - 1

Size: TypeAlias = "int | Interval"

_NUMBER = re.compile(r"[0-9]{1,19}")
_RANGE = re.compile(r"([0-9]{0,19})\s*\.\.\s*([0-9]{0,19})")
_ANY: Final = Interval(0, None)


def parse_number(text: str, label: str) -> int:
    """The number in `text`, a size or an offset: only digits, at most MAX_SIZE.

    Raises ModelReadError for any other text, with `label` as the name of the number.
    """
    digits = text.strip()
    value = int(digits) if _NUMBER.fullmatch(digits) else -1
    if not 0 <= value <= MAX_SIZE:
        raise ModelReadError(f"{label} must be a number in [0, {MAX_SIZE}], found {_quoted(text)}")
    return value


def partial_shape(text: str) -> tuple[Size, ...] | None:
    """The shape of a Parameter: a number or an interval per dim; None for `...`, an unknown rank.

    Raises ModelReadError for invalid syntax.
    """
    text = text.strip()
    if text == "...":
        return None
    return tuple(_size(part.strip(), text) for part in text.split(",")) if text else ()


def _size(part: str, shape: str) -> Size:
    if part in ("?", "-1"):
        return _ANY
    bounds = _RANGE.fullmatch(part)
    if bounds is None:
        return parse_number(part, f"a dim of shape {_quoted(shape)}")
    low, high = int(bounds[1] or 0), int(bounds[2] or MAX_SIZE)
    if not low <= high <= MAX_SIZE:
        raise ModelReadError(f"the bounds {part} in shape {_quoted(shape)} are not in order, or above {MAX_SIZE}")
    if low == high:
        return low
    return Interval(low, None if high == MAX_SIZE else high)


def static_shape(text: str) -> tuple[int, ...]:
    """The shape of a Const, a number per dim. Raises ModelReadError for invalid syntax."""
    parts = text.split(",") if text.strip() else []
    return tuple(parse_number(part, f"a dim of shape {_quoted(text)}") for part in parts)


def port_dim(text: str) -> int | None:
    """The size in a `<dim>`; None for -1, an unknown size. Raises ModelReadError for invalid syntax."""
    return None if text.strip() == "-1" else parse_number(text, "<dim>")


def element_count(shape: tuple[int, ...]) -> int:
    """The number of elements of a tensor of `shape`. Raises ModelReadError when it is above MAX_SIZE."""
    count = 1
    for size in shape:
        if size == 0:
            return 0
    for size in shape:
        count *= size
        if count > MAX_SIZE:
            raise ModelReadError(f"a shape of more than {MAX_SIZE} elements")
    return count


def _quoted(text: str) -> str:
    return repr(text) if len(text) <= 80 else f"{text[:80]!r}..."
