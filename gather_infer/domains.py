"""Operator domains: `ai.onnx` has two names, OpenVINO one for every opset, and some for what is not its own."""

from __future__ import annotations

import re
from typing import Final

UNNUMBERED: Final = ("experimental", "extension", "ie_internal_opset")
"""Sets that a layer of an IR may be of beside the opsets: their operators are those of whoever wrote the file."""

_FOREIGN: Final = frozenset(f"openvino.{name}" for name in UNNUMBERED)
_OPENVINO: Final = re.compile(r"openvino(?:\.opset(\d+))?|org\.openvinotoolkit")
NEWEST_OPENVINO: Final = 17
"""The newest opset of OpenVINO that is known; what a domain without a number means."""


def plain_domain(domain: str) -> str:
    """The domain as it is written, "" for `ai.onnx`."""
    return "" if domain == "ai.onnx" else domain


def canonical_domain(domain: str) -> str:
    """The domain whose rules and schemas are meant: as `plain_domain`, and "openvino" for every opset of OpenVINO."""
    if not domain or domain == "ai.onnx":
        return ""
    return "openvino" if domain[0] == "o" and _OPENVINO.fullmatch(domain) else domain


def is_extension(domain: str) -> bool:
    """Whether a domain is that of a set beside OpenVINO's opsets: it knows no operator there, whatever it is called."""
    return domain in _FOREIGN


def openvino_opset(domain: str) -> int | None:
    """The opset in the name of one of OpenVINO's domains, 0 when it has none; None for another domain."""
    match = _OPENVINO.fullmatch(domain)
    return None if match is None else int(match[1] or 0)


def qualified(domain: str, op_type: str) -> str:
    """`Gather`, `com.microsoft.Gelu`: an operator as messages name it."""
    return f"{domain}.{op_type}" if plain_domain(domain) else op_type
