"""The rule sets that ship with the package, listed one by one."""

from __future__ import annotations

from functools import cache

from gather_infer.rules import RuleSet


@cache
def standard_rules() -> dict[str, RuleSet]:
    """Domain -> its rules. The domain `openvino` stands for every `openvino.opsetN`."""
    from . import control, elementwise, gather, gather_contrib, gather_openvino, movement, reduction, selection
    from . import sequence, shape
    from . import attention, conv, einsum, loss, matmul, ngram, norm, pool, recurrent, signal, vision

    sets: dict[str, RuleSet] = {}
    neural = (attention, conv, einsum, loss, matmul, ngram, norm, pool, recurrent, signal, vision)
    for module in (shape, movement, gather, elementwise, reduction, selection, sequence, *neural):
        sets.setdefault("", RuleSet("")).update(module.rules)
    for rules in (*gather_contrib.RULE_SETS, gather_openvino.rules):
        sets[rules.domain] = rules
    return sets
