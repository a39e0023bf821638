"""Agreement with the values that ONNX tools give their own dims, `fixtures/dims/conformance.json`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gather_infer.inference.proto.dim_texts import read_dim_text
from gather_infer.symbolic import evaluate, parse_dim
from gather_infer.symbolic.notations import NOTATIONS, InexpressibleDim
from gather_infer.symbolic.printing import to_text

FILE = Path(__file__).parents[2] / "fixtures" / "dims" / "conformance.json"
HELD: dict[str, Any] = json.loads(FILE.read_text())
EXPRESSIONS: list[dict[str, Any]] = HELD["expressions"]
IDS = [f"{entry['dialect']} {entry['text']}" for entry in EXPRESSIONS]


def test_the_file_has_200_expressions_of_five_dialects_at_20_sizes() -> None:
    assert HELD["schema"] == 1
    assert len(HELD["sizes"]) == 20 and all(len(sizes) == 3 for sizes in HELD["sizes"])
    assert Counter(entry["dialect"] for entry in EXPRESSIONS) == dict.fromkeys(set(NOTATIONS) - {"gather-infer"}, 40)
    assert all(len(entry["values"]) == 20 for entry in EXPRESSIONS)
    assert sum(value is not None for entry in EXPRESSIONS for value in entry["values"]) > 3900


def differences(text: str, entry: dict[str, Any]) -> list[tuple[dict[str, int], int, int]]:
    """The sizes at which the text has another value than the tool gave, with both values."""
    dim = parse_dim(text, names=entry["names"])
    found = []
    for sizes, value in zip(HELD["sizes"], entry["values"], strict=True):
        if value is not None:
            binding = dict(zip(entry["names"], sizes, strict=False))
            ours = evaluate(dim, binding)
            if ours != value:
                found.append((binding, value, ours))
    return found


@pytest.mark.parametrize("entry", EXPRESSIONS, ids=IDS)
def test_the_values_of_an_expression(entry: dict[str, Any]) -> None:
    assert differences(entry["text"], entry) == []


@pytest.mark.parametrize("entry", EXPRESSIONS, ids=IDS)
def test_an_expression_is_taken_as_one(entry: dict[str, Any]) -> None:
    names = frozenset(entry["names"])
    meaning = read_dim_text(entry["text"], names)
    assert (meaning.expression, meaning.note) == (parse_dim(entry["text"]), None)


@pytest.mark.parametrize("entry", EXPRESSIONS, ids=IDS)
def test_the_values_in_every_dialect(entry: dict[str, Any]) -> None:
    dim = parse_dim(entry["text"])
    for name, notation in NOTATIONS.items():
        try:
            written = to_text(dim, notation)
        except InexpressibleDim:
            assert "." in entry["text"] and name in ("rfc0009", "torch")
            continue
        assert parse_dim(written) == dim, name
        assert differences(written, entry) == [], name
