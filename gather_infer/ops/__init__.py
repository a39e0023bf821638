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
        ml,
        movement,
        ms_attention,
        ms_cache,
        ms_conv,
        ms_data,
        ms_elementwise,
        ms_generation,
        ms_matmul,
        ms_norm,
        ms_position,
        ms_quantized,
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
        training,
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
    onnx_rules.update(ms_norm.default_rules)
    microsoft_rules = RuleSet("com.microsoft")
    for contrib in (
        ms_attention,
        ms_cache,
        ms_conv,
        ms_data,
        ms_elementwise,
        ms_generation,
        ms_matmul,
        ms_norm,
        ms_position,
        ms_quantized,
    ):
        microsoft_rules.update(contrib.rules)
    microsoft_rules.update(gather_contrib.microsoft)
    ml_rules = RuleSet("ai.onnx.ml")
    ml_rules.update(gather_contrib.ml)
    ml_rules.update(ml.rules)
    domains = (ml_rules, microsoft_rules, training.rules, gather_openvino.rules)
    sets = {rules.domain: rules for rules in domains}
    sets[""] = onnx_rules
    return sets
