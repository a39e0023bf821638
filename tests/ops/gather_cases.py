"""Facts for the tests of the gather family, and a call that also hands back what was reported and learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gather_infer.context import Context
from gather_infer.ops.microsoft import gather as gather_contrib
from gather_infer.ops.onnx import gather, ml
from gather_infer.ops.openvino import gather as gather_openvino
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, symbol
from gather_infer.tensor import DType, SymbolicTensor

N, S, P = symbol("N"), symbol("S"), symbol("P")
ML, MICROSOFT = ml.rules, gather_contrib.rules
RULES: dict[str, RuleSet] = {r.domain: r for r in (gather.rules, ML, MICROSOFT, gather_openvino.rules)}


def f32(*shape: Dim) -> SymbolicTensor:
    return SymbolicTensor(DType.FLOAT32, shape)


def i64(*shape: Dim) -> SymbolicTensor:
    return SymbolicTensor(DType.INT64, shape)


UNRANKED = SymbolicTensor(DType.FLOAT32)
UNRANKED_INDICES = SymbolicTensor(DType.INT64)


@dataclass
class Outcome:
    """The one output of a rule, and the context of the call."""

    fact: SymbolicTensor
    context: Context

    @property
    def findings(self) -> list[tuple[str, str]]:
        return [(code, message) for code, message, _, _ in self.context.findings]

    @property
    def constraints(self) -> list[str]:
        return list(map(str, self.context.constraints))


def run(
    operator: str,
    *inputs: Any,
    version: int = 13,
    domain: str = "",
    constants: dict[int, Any] | None = None,
    **attributes: Any,
) -> Outcome:
    """`constants` are numbers of inputs that are too large for `values`."""
    rule = RULES[domain].find(operator, version)
    assert rule is not None, f"no rule for {domain} {operator}-{version}"
    context = Context()
    load = (lambda index: constants.get(index)) if constants else None
    (fact,) = rule(OpCall(operator, inputs, attributes, (True,), version, domain, context, load))
    assert isinstance(fact, SymbolicTensor)
    return Outcome(fact, context)
