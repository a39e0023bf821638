"""The rule sets that ship with the package, module by module; those of a domain are loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from gather_infer.rules import RuleSet


@cache
def _onnx() -> RuleSet:
    from gather_infer.ops import (
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
        ms_norm,
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

    rules = RuleSet("")
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
        rules.update(module.rules)
    rules.update(ms_norm.default_rules)  # what onnxruntime adds to the default domain
    return rules


@cache
def _microsoft() -> RuleSet:
    from gather_infer.ops import (
        gather_contrib,
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
    )

    rules = RuleSet("com.microsoft")
    for module in (
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
        rules.update(module.rules)
    rules.update(gather_contrib.microsoft)
    return rules


@cache
def _ml() -> RuleSet:
    from gather_infer.ops import gather_contrib, ml

    rules = RuleSet("ai.onnx.ml")
    rules.update(ml.rules)
    rules.update(gather_contrib.ml)
    return rules


def _training() -> RuleSet:
    from gather_infer.ops import training

    return training.rules


def _openvino() -> RuleSet:
    from gather_infer.ops import gather_openvino

    return gather_openvino.rules


_DOMAINS: dict[str, Callable[[], RuleSet]] = {
    "": _onnx,
    "ai.onnx.ml": _ml,
    "ai.onnx.preview.training": _training,
    "com.microsoft": _microsoft,
    "openvino": _openvino,
}


class _StandardRules(Mapping[str, RuleSet]):
    def __getitem__(self, domain: str) -> RuleSet:
        return _DOMAINS[domain]()

    def __iter__(self) -> Iterator[str]:
        return iter(_DOMAINS)

    def __len__(self) -> int:
        return len(_DOMAINS)


@cache
def standard_rules() -> Mapping[str, RuleSet]:
    """Domain -> its rules. The domain `openvino` stands for every `openvino.opsetN`."""
    return _StandardRules()
