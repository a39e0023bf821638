"""The steps of adding an operator, as in CONTRIBUTING.md: a missing step fails here, or is named.

Traits are in test_traits.py, the table of operators in tests/inference/test_operators.py, and a
rule that is missing from its list is found by comparing folders with lists.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import onnxruntime.capi.onnxruntime_pybind11_state as runtime
import pytest

import gather_infer.ops
from gather_infer.ops import MODULES, standard_rules
from gather_infer.rules import Rule, RuleSet
from tests.conformance.backend import cases
from tests.documents import REPO
from tests.onnx_versions import needs_onnx

PACKAGE = Path(gather_infer.ops.__file__).parent
FOLDERS = sorted({name.partition(".")[0] for names in MODULES.values() for name in names})
RULES = [(domain, op, since, rule) for domain, rules in standard_rules().items() for op, since, rule in rules.entries()]

BY_SIGNATURE = {
    "AttnLSTM", "BiasAdd", "BiasSoftmax", "BitmaskBiasDropout", "ComplexMulConj", "DecoderMaskedSelfAttention",
    "DequantizeBFP", "DequantizeWithOrder", "FusedMatMulActivation", "GemmFastGelu", "GemmaRotaryEmbedding",
    "IsAllFinite", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight", "MatMulNBitsMlp",
    "MatMulNBitsQkv", "MaxpoolWithMask", "NhwcConv", "PackedMultiHeadAttention", "PagedAttention", "QMoE",
    "QOrderedAttention", "QOrderedGelu", "QOrderedLayerNormalization", "QOrderedLongformerAttention",
    "QOrderedMatMul", "QuantizeBFP", "QuantizeWithOrder", "SparseToDenseMatMul", "WhisperBeamSearch",
}  # fmt: skip
"""Operators of com.microsoft that test_ms_robustness.py alone calls, as it does all that have a signature."""

UNJUDGED: Mapping[str, Mapping[str, str]] = {
    # domain: operators without a node model that onnxruntime has and no generated case compares, and why
    "": {
        **dict.fromkeys(("Multinomial", "RandomNormal"), "draws numbers"),
        **dict.fromkeys(("Affine", "Crop", "ImageScaler"), "test_early.py compares them"),
    },
    "ai.onnx.ml": dict.fromkeys(
        (
            "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer", "Imputer", "LinearClassifier",
            "LinearRegressor", "Normalizer", "OneHotEncoder", "SVMClassifier", "SVMRegressor", "Scaler",
            "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap",
        ),
        "no generator yet",
    ),
    "com.microsoft": dict.fromkeys(
        ("AttnLSTM", "MatMulFpQ4", "MaxpoolWithMask", "QMoE", "SparseToDenseMatMul", "WhisperBeamSearch"),
        "no generator yet",
    ),
}  # fmt: skip


def modules(folder: str) -> Iterator[tuple[str, list[RuleSet]]]:
    """The modules of a folder of rules, each with its rule sets."""
    for path in sorted((PACKAGE / folder).glob("*.py")):
        if path.stem != "__init__":
            names = vars(import_module(f"gather_infer.ops.{folder}.{path.stem}"))
            yield f"{folder}.{path.stem}", [v for v in names.values() if isinstance(v, RuleSet)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_with_rules_is_listed(folder: str) -> None:
    for name, rule_sets in modules(folder):
        for rules in rule_sets:
            assert name in MODULES.get(rules.domain, ()), (
                f"nobody reads the rules of {name} for {rules.domain or 'ai.onnx'}: "
                "list the module in MODULES of gather_infer/ops/__init__.py"
            )


@pytest.mark.parametrize("domain", MODULES)
def test_every_rule_names_its_page(domain: str) -> None:
    for _, op_type, since, rule in (entry for entry in RULES if entry[0] == domain):
        doc = inspect.getdoc(rule) or ""
        assert re.search(r"https?://\S+|onnx_\S+\.html", doc), (
            f"{domain}.{op_type}-{since}: begin the docstring of {_name(rule)} with the address of the operator's page"
        )


FAILURES_ALONE = ("operator_sweep.py", "sweep_nodes.py", "test_operator_sweep.py")
"""What asks a runtime which runs fail, and compares no result."""


@cache
def words_of_tests(folder: str) -> frozenset[str]:
    """The words in strings of the tests that call rules, `ops`, or of those that make models for runtimes, `oracle`."""
    files = [
        path
        for path in (REPO / "tests" / folder).glob("*.py")
        if path.name not in (Path(__file__).name, "test_traits.py", *FAILURES_ALONE)
    ]
    strings = (
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return frozenset(word for text in strings for word in re.findall(r"\w+", text))


@cache
def modelled() -> frozenset[tuple[str, str]]:
    """The operators of which onnx has node models: tests/conformance/ judges all of them."""
    return frozenset((case.node.domain, case.node.op_type) for case in cases())


@needs_onnx("1.23", "node models of all operators")
@pytest.mark.parametrize("domain", MODULES)
def test_every_operator_is_called_by_a_test(domain: str) -> None:
    for op_type in {op for d, op, _, _ in RULES if d == domain}:
        is_called = op_type in words_of_tests("ops") | words_of_tests("oracle") or (domain, op_type) in modelled()
        if domain == "com.microsoft" and op_type in BY_SIGNATURE:
            assert not is_called, f"{op_type} has a test of its own: take it out of BY_SIGNATURE"
        else:
            assert is_called, f"no test calls {domain or 'ai.onnx'}.{op_type}: give it a row in a table in tests/ops/"


@cache
def with_kernel() -> frozenset[tuple[str, str]]:
    """The operators that onnxruntime runs on a CPU."""
    kernels = runtime.get_all_opkernel_def()
    return frozenset((k.domain, k.op_name) for k in kernels if k.provider == "CPUExecutionProvider")


@needs_onnx("1.23", "node models of all operators")
@pytest.mark.parametrize("domain", MODULES)
def test_every_operator_is_judged_by_a_runtime(domain: str) -> None:
    for op_type in {op for d, op, _, _ in RULES if d == domain}:
        is_judged = op_type in words_of_tests("oracle") or (domain, op_type) in modelled()
        if op_type in UNJUDGED.get(domain, {}):
            assert not is_judged, f"{op_type} is judged by a runtime: take it out of UNJUDGED"
        else:
            assert is_judged or (domain, op_type) not in with_kernel(), (
                f"onnxruntime has {domain or 'ai.onnx'}.{op_type}, and no test compares the rule with it: "
                "add it to the generated cases in tests/oracle/, or say in UNJUDGED why not"
            )


def _name(rule: Rule) -> str:
    return getattr(inspect.unwrap(rule), "__name__", "the rule")
