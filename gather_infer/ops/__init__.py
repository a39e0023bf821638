"""Built-in rule sets by domain; the rule modules of a domain are imported on first access to its rule set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Final

from gather_infer.rules import RegisteredRule, RuleSet

_ONNX: Final = (
    "arithmetic", "attention", "cast", "concat", "conv", "early", "einsum", "expand", "gather", "logic",
    "loss", "matmul", "movement", "ngram", "norm", "pad", "pool", "quantize", "recurrent", "reduction",
    "reshape", "resize", "sampling", "scatter", "selection", "sequence", "shape", "signal", "slice",
    "strings", "unary", "vision",
)  # fmt: skip
_MICROSOFT: Final = (
    "attention", "cache", "conv", "data", "elementwise", "gather", "generation", "matmul", "norm", "position",
    "quantized",
)  # fmt: skip
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    # domain: its rule modules; microsoft.norm also has rules for operators that onnxruntime adds to the default domain
    "": (*(f"onnx.{name}" for name in _ONNX), "microsoft.norm"),
    "ai.onnx.ml": ("onnx.ml",),
    "ai.onnx.preview.training": ("onnx.training",),
    "com.microsoft": tuple(f"microsoft.{name}" for name in _MICROSOFT),
    "openvino": ("openvino.constants", "openvino.gather", "openvino.state"),
}


@cache
def _rules_of(domain: str) -> RuleSet:
    rules = RuleSet(domain)
    for name in MODULES[domain]:
        for found in vars(import_module(f"gather_infer.ops.{name}")).values():
            if isinstance(found, RuleSet) and found.domain == domain:
                rules.update(found)
    return rules


class _StandardRules(Mapping[str, RuleSet]):
    def __getitem__(self, domain: str) -> RuleSet:
        if domain not in MODULES:
            raise KeyError(domain)
        return _rules_of(domain)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


@cache
def standard_rules() -> Mapping[str, RuleSet]:
    """Mapping from domain to rule set; the rule set of `openvino` serves every domain `openvino.opsetN`."""
    return _StandardRules()


@lru_cache(maxsize=1024)
def standard_rule(domain: str, op_type: str, version: int) -> RegisteredRule | None:
    """The built-in rule of an operator at opset `version` of a domain, with its traits; None if there is none."""
    return _rules_of(domain).lookup(op_type, version) if domain in MODULES else None
