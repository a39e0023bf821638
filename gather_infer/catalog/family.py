"""Membership in the gather family. Imports only rule modules that gather, because a file summary needs no others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from gather_infer.domains import canonical_domain
from gather_infer.rules import RuleSet

MODULES: Final[Mapping[str, str]] = {
    # domain: the module with its gathering rules; loading all modules would take longer than reading a file
    "": "onnx.gather",
    "ai.onnx.ml": "onnx.ml",
    "com.microsoft": "microsoft.gather",
    "openvino": "openvino.gather",
}


@cache
def is_gather(domain: str, op_type: str) -> bool:
    """Whether output 0 of any version of the operator holds elements that an index input addresses."""
    module = MODULES.get(canonical_domain(domain))
    if module is None:
        return False
    rules: RuleSet = import_module(f"gather_infer.ops.{module}").rules
    return any(entry.traits.gathers for entry in rules.versions(op_type))
