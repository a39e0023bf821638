"""Operator domains: their names, of which OpenVINO has one for each opset and extension set, and imported versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from onnx import OperatorSetIdProto

EXTENSION_SETS: Final = ("experimental", "extension", "ie_internal_opset")
"""Extension sets: operator sets without a number to which a layer of an OpenVINO IR may belong.

The author of a file may define operators in these sets.
"""

_EXTENSION_DOMAINS: Final = frozenset(f"openvino.{name}" for name in EXTENSION_SETS)
_OPENVINO: Final = re.compile(r"openvino(?:\.opset(\d+))?|org\.openvinotoolkit")
NEWEST_OPENVINO: Final = 17
"""The newest known opset of OpenVINO, assumed for an OpenVINO domain without an opset number."""


def plain_domain(domain: str) -> str:
    """`domain`, with `ai.onnx` replaced by ""."""
    return "" if domain == "ai.onnx" else domain


def versions_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Opset versions by domain, with "" for ai.onnx; the first import of a domain counts."""
    found: dict[str, int] = {}
    for entry in imports:
        found.setdefault(plain_domain(entry.domain), entry.version)
    return found


def canonical_domain(domain: str) -> str:
    """The domain by which rules and schemas are found: "" for ai.onnx, "openvino" for every opset of OpenVINO."""
    if not domain or domain == "ai.onnx":
        return ""
    return "openvino" if domain[0] == "o" and _OPENVINO.fullmatch(domain) else domain


def is_extension(domain: str) -> bool:
    """Whether `domain` is one of OpenVINO's extension sets; their operators have no rules."""
    return domain in _EXTENSION_DOMAINS


def openvino_opset(domain: str) -> int | None:
    """The opset number in the name of an OpenVINO domain, 0 if the name has none; None for any other domain."""
    match = _OPENVINO.fullmatch(domain)
    return None if match is None else int(match[1] or 0)


def version_in(versions: Mapping[str, int], domain: str) -> int:
    """The version in force for a domain as written in a node, given `versions_of`; 0 if it is not imported."""
    opset = openvino_opset(domain)
    if opset is None:
        return versions.get(plain_domain(domain), 0)
    # the name of the domain holds the opset version; an IR has no other number for it
    return opset or versions.get(domain) or NEWEST_OPENVINO


def qualified(domain: str, op_type: str) -> str:
    """An operator as printed in messages, such as `Gather` or `com.microsoft.Gelu`."""
    return f"{domain}.{op_type}" if plain_domain(domain) else op_type
