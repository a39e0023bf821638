"""Rules of ai.onnx.ml and of the optimizers in ai.onnx.preview.training."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import onnx.defs
import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops import standard_rules
from gather_infer.ops.onnx import ml, training
from gather_infer.symbolic import symbol
from gather_infer.tensor import DType, MapType, SequenceType, Shape, SymbolicTensor
from tests.ops.call import call

N, C = map(symbol, "NC")
F32, F64, I64, STRING = DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.STRING
WORDS = SymbolicTensor(STRING, (N,))
ENTRIES = MapType(STRING, SymbolicTensor(F64, ()))

CASES: dict[str, tuple[str, int, list[Any], dict[str, Any], list[tuple[DType, Shape | None]]]] = {
    "Binarizer":             ("Binarizer", 1, [SymbolicTensor(I64, (N, C))], {}, [(I64, (N, C))]),
    "Imputer":               ("Imputer", 1, [SymbolicTensor(F64, (N, C))], {}, [(F64, (N, C))]),
    "Normalizer":            ("Normalizer", 1, [SymbolicTensor(I64, (N, C))], {}, [(F32, (N, C))]),
    "Scaler, unranked":      ("Scaler", 1, [SymbolicTensor(I64)], {}, [(F32, None)]),
    "CategoryMapper":        ("CategoryMapper", 1, [WORDS], {"cats_int64s": (1, 2), "cats_strings": ("a", "b")}, [(I64, (N,))]),
    "LabelEncoder-1":        ("LabelEncoder", 1, [SymbolicTensor(I64, (N,))], {}, [(STRING, (N,))]),
    "LabelEncoder-2":        ("LabelEncoder", 2, [WORDS], {"values_floats": (1.0,)}, [(F32, (N,))]),
    "LabelEncoder-4":        ("LabelEncoder", 4, [WORDS], {"values_tensor": SymbolicTensor(DType.INT16, (3,))},
                              [(DType.INT16, (N,))]),
    "OneHotEncoder":         ("OneHotEncoder", 1, [(N, C)], {"cats_int64s": (1, 2, 3)}, [(F32, (N, C, 3))]),
    "LinearRegressor":       ("LinearRegressor", 1, [(N, C)], {"targets": 2}, [(F32, (N, 2))]),
    "LinearRegressor, row":  ("LinearRegressor", 1, [(C,)], {}, [(F32, (1, 1))]),
    "SVMRegressor":          ("SVMRegressor", 1, [(N, C)], {}, [(F32, (N, 1))]),
    "TreeEnsembleRegressor": ("TreeEnsembleRegressor", 3, [(N, C)], {"n_targets": 4}, [(F32, (N, 4))]),
    "TreeEnsemble":          ("TreeEnsemble", 5, [SymbolicTensor(F64, (N, C))], {"n_targets": 4}, [(F64, (N, 4))]),
    "classifier, integers":  ("TreeEnsembleClassifier", 1, [(N, C)], {"classlabels_int64s": (0, 1, 2)},
                              [(I64, (N,)), (F32, (N, 3))]),
    "classifier, strings":   ("TreeEnsembleClassifier", 3, [(N, C)], {"classlabels_strings": ("a", "b")},
                              [(STRING, (N,)), (F32, (N, 2))]),
    "CastMap, sparse":       ("CastMap", 1, [ENTRIES], {"map_form": "SPARSE", "max_map": 7}, [(F32, (1, 7))]),
    "DictVectorizer":        ("DictVectorizer", 1, [ENTRIES], {"string_vocabulary": ("a", "b")}, [(F64, (1, 2))]),
    "FeatureVectorizer":     ("FeatureVectorizer", 1, [(N, 2), (N, C)], {}, [(F32, (N, C + 2))]),
    "FeatureVectorizer, inputdimensions":
                             ("FeatureVectorizer", 1, [(N, 2), (N, C)], {"inputdimensions": (2, 3)}, [(F32, (N, 5))]),
}  # fmt: skip


@pytest.mark.parametrize("op_type, version, inputs, attributes, results", CASES.values(), ids=CASES)
def test_ml(
    op_type: str,
    version: int,
    inputs: list[Any],
    attributes: dict[str, Any],
    results: list[tuple[DType, Shape | None]],
) -> None:
    found = call(ml.rules, op_type, inputs, version=version, outputs=len(results), **attributes)
    assert [(fact.dtype, fact.shape) for fact in found] == results


# (operator, attributes, columns of the scores that onnxruntime 1.31 gives)
SCORES = {
    "one row, two labels": ("LinearClassifier", {"intercepts": (0.1,), "classlabels_ints": (0, 1)}, 2),
    "one row, no label": ("LinearClassifier", {"intercepts": (0.1,)}, 1),
    "two rows, three labels": ("LinearClassifier", {"intercepts": (0.1,) * 2, "classlabels_ints": (0, 1, 2)}, 2),
    "three rows": ("LinearClassifier", {"intercepts": (0.1,) * 3, "classlabels_strings": ("a", "b", "c")}, 3),
    "two classes": ("SVMClassifier", {"vectors_per_class": (2, 2)}, 2),
    "pairs of three": ("SVMClassifier", {"vectors_per_class": (2,) * 3}, 3),
    "pairs of four": ("SVMClassifier", {"vectors_per_class": (2,) * 4}, 6),
    "four with probabilities": ("SVMClassifier", {"vectors_per_class": (2,) * 4, "prob_a": (-1.0,) * 6}, 4),
}


@pytest.mark.parametrize("op_type, attributes, columns", SCORES.values(), ids=SCORES)
def test_the_scores_of_a_classifier(op_type: str, attributes: dict[str, Any], columns: int) -> None:
    _, scores = call(ml.rules, op_type, [(N, C)], version=1, outputs=2, **attributes)
    assert scores.shape == (N, columns)


@pytest.mark.parametrize("op_type", ["LinearClassifier", "SVMClassifier"])
def test_a_classifier_may_score_other_than_its_labels(op_type: str) -> None:
    labels, scores = call(ml.rules, op_type, [(N, C)], version=1, outputs=2, classlabels_ints=(0, 1))
    assert (labels.dtype, labels.shape) == (I64, (N,))
    assert scores.rank == 2
    assert scores.shape[0] == N


def test_zip_map() -> None:
    (found,) = call(ml.rules, "ZipMap", [(N, 2)], version=1, classlabels_strings=("a", "b"))
    assert found == SequenceType(MapType(STRING, SymbolicTensor(F32, ())), N)


VIOLATIONS: dict[str, tuple[str, list[Any], dict[str, Any], str]] = {
    "no categories": ("OneHotEncoder", [(N,)], {}, "exactly one of cats_int64s and cats_strings must be given, found none"),
    "labels":        ("ZipMap", [(N, 3)], {"classlabels_int64s": (1, 2)}, "there must be 3 class labels, as many as scores in a row, found 2"),
    "no map":        ("CastMap", [(N,)], {}, "input 0 must be a map, is float32[N]"),
    "cast":          ("CastMap", [ENTRIES], {"cast_to": "TO_INT8"}, "cast_to must be one of TO_FLOAT, TO_STRING, TO_INT64, is 'TO_INT8'"),
    "widths":        ("FeatureVectorizer", [(N, 2)], {"inputdimensions": (2, 3)}, "inputdimensions must have 1 elements, has 2"),
    "categories":    ("CategoryMapper", [WORDS], {"cats_int64s": (1, 2), "cats_strings": ("a",)},
                      "cats_int64s and cats_strings must be pairs, have 2 and 1 elements"),
    "default":       ("LabelEncoder", [WORDS], {"values_tensor": SymbolicTensor(I64, (3,)),
                      "default_tensor": SymbolicTensor(F32, (1,))},
                      "default_tensor must be int64 like the values, is float32"),
    "defaults":      ("LabelEncoder", [WORDS], {"values_strings": ("a",), "default_tensor": SymbolicTensor(STRING, (1, 2))},
                      "default_tensor must have one element, has shape [1, 2]"),
    "lengths":       ("TreeEnsemble", [SymbolicTensor(F64, (N, C))],
                      {"nodes_splits": SymbolicTensor(F64, (3,)), "nodes_featureids": (0, 0)},
                      "the attributes must have one length, have nodes_splits 3, nodes_featureids 2"),
    "splits":        ("TreeEnsemble", [SymbolicTensor(F64, (N, C))], {"nodes_splits": SymbolicTensor(F32, (3,))},
                      "nodes_splits must be float64 like X, is float32"),
    "values":        ("LabelEncoder", [WORDS], {}, "exactly one values attribute must be given, found none"),
}  # fmt: skip


@pytest.mark.parametrize("op_type, inputs, attributes, message", VIOLATIONS.values(), ids=VIOLATIONS)
def test_ml_violations(op_type: str, inputs: list[Any], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        call(ml.rules, op_type, inputs, version=5, **attributes)
    assert raised.value.message == message


OPTIMIZERS = {"Adagrad": (3, 2), "Adam": (4, 3), "Momentum": (3, 2)}


@pytest.mark.parametrize("op_type, groups", OPTIMIZERS.items(), ids=OPTIMIZERS)
def test_an_optimizer_returns_what_it_updates(op_type: str, groups: tuple[int, int]) -> None:
    given, returned = groups
    inputs = [(), SymbolicTensor(I64, ()), *[(N, 3), (C,)] * given]
    found = call(training.rules, op_type, inputs, version=1, outputs=2 * returned)
    assert [fact.shape for fact in found] == [(N, 3), (C,)] * returned
    with pytest.raises(SpecViolation):
        call(training.rules, op_type, inputs[:-1], version=1, outputs=2 * returned)


def test_every_operator_of_the_installed_onnx_has_a_rule() -> None:
    for domain, without in (("ai.onnx.ml", set()), ("ai.onnx.preview.training", {"Gradient"})):
        rules = standard_rules()[domain]
        named = {(s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history() if s.domain == domain}
        assert {name for name, since in named if rules.find(name, since) is None} == without
