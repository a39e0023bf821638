"""How the tests of the rules call one: inputs as facts or as bare shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gather_infer.context import Context
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, SymbolicTensor

UNRANKED = SymbolicTensor(DType.FLOAT32)


def call(
    rules: RuleSet,
    op_type: str,
    inputs: Sequence[Any],
    *,
    version: int = 13,
    outputs: int | Sequence[bool] = 1,
    context: Context | None = None,
    **attributes: Any,
) -> list[Any]:
    """The facts that the rule in force at `version` gives.

    inputs   facts, None for one that is left out; a bare shape stands for a float32 tensor
    """
    rule = rules.find(op_type, version)
    assert rule is not None, f"no rule for {op_type}-{version}"
    facts = [SymbolicTensor(DType.FLOAT32, given) if isinstance(given, tuple) else given for given in inputs]
    used = (True,) * outputs if isinstance(outputs, int) else tuple(outputs)
    found = rule(OpCall(op_type, facts, attributes, used, version, context=context or Context()))
    assert len(found) == len(used), "a rule returns one fact per output"
    return list(found)
