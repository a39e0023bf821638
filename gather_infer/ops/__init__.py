"""The rule sets that ship with the package, listed one by one."""

from __future__ import annotations

from functools import cache

from gather_infer.rules import RuleSet


@cache
def standard_rules() -> dict[str, RuleSet]:
    """Domain -> its rules. The domain `openvino` stands for every `openvino.opsetN`."""
    from gather_infer.ops import (
        arithmetic,
        attention,
        cast,
        concat,
        conv,
        einsum,
        expand,
        gather,
        gather_contrib,
        gather_openvino,
        logic,
        loss,
        matmul,
        movement,
        ngram,
        norm,
        pad,
        pool,
        quantize,
        recurrent,
        reduction,
        reshape,
        resize,
        sampling,
        scatter,
        selection,
        sequence,
        shape,
        signal,
        slice,
        strings,
        unary,
        vision,
    )

    onnx_rules = RuleSet("")
    for module in (
        arithmetic,
        attention,
        cast,
        concat,
        conv,
        einsum,
        expand,
        gather,
        logic,
        loss,
        matmul,
        movement,
        ngram,
        norm,
        pad,
        pool,
        quantize,
        recurrent,
        reduction,
        reshape,
        resize,
        sampling,
        scatter,
        selection,
        sequence,
        shape,
        signal,
        slice,
        strings,
        unary,
        vision,
    ):
        onnx_rules.update(module.rules)
    sets = {rules.domain: rules for rules in (*gather_contrib.RULE_SETS, gather_openvino.rules)}
    sets[""] = onnx_rules
    return sets
