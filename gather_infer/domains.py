"""Operator domains: `ai.onnx` has two names, OpenVINO one per opset, and more for its extension sets."""

from __future__ import annotations

import re
from typing import Final

EXTENSION_SETS: Final = ("experimental", "extension", "ie_internal_opset")
"""Sets besides the numbered opsets that a layer of an OpenVINO IR may belong to; the author of the file defines their
operators.
"""

_EXTENSION_DOMAINS: Final = frozenset(f"openvino.{name}" for name in EXTENSION_SETS)
_OPENVINO: Final = re.compile(r"openvino(?:\.opset(\d+))?|org\.openvinotoolkit")
NEWEST_OPENVINO: Final = 17
"""The newest known opset of OpenVINO, used for a domain without a number."""


def plain_domain(domain: str) -> str:
    """The domain as written, with "" for `ai.onnx`."""
    return "" if domain == "ai.onnx" else domain


def canonical_domain(domain: str) -> str:
    """The domain used to look up rules and schemas: as `plain_domain`, and "openvino" for every opset of OpenVINO."""
    if not domain or domain == "ai.onnx":
        return ""
    return "openvino" if domain[0] == "o" and _OPENVINO.fullmatch(domain) else domain


def is_extension(domain: str) -> bool:
    """Whether a domain is one of OpenVINO's extension sets, whose operators have no rules, whatever their names are."""
    return domain in _EXTENSION_DOMAINS


def openvino_opset(domain: str) -> int | None:
    """The opset number in the name of an OpenVINO domain, 0 when it has none; None for any other domain."""
    match = _OPENVINO.fullmatch(domain)
    return None if match is None else int(match[1] or 0)


def qualified(domain: str, op_type: str) -> str:
    """`Gather`, `com.microsoft.Gelu`: an operator as printed in messages."""
    return f"{domain}.{op_type}" if plain_domain(domain) else op_type
