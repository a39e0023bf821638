"""Contract, guard and schema agree on requests; `make oracle` draws 10 000 of them."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

import gather_infer
from gather_infer.contract import Contract
from tests.contract.agreement import FIXTURES, Agreement, agreed, contracts
from tests.contract.contracts import BERT, MIXED, spec

SOME = FIXTURES[2::6]


@pytest.mark.parametrize("contract", [BERT, MIXED], ids=["bert", "mixed"])
def test_they_agree(contract: Contract) -> None:
    counts = agreed("", contract, requests=200)
    assert min(sum(n for kind, n in counts.items() if kind.endswith(end)) for end in ("refused", "taken")) > 10


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_they_agree_on_fixtures(path: Path) -> None:
    agreed(path.stem, gather_infer.contract_of(path).contract, requests=20)


@pytest.mark.oracle
def test_they_agree_on_10_000_requests() -> None:
    made = list(contracts())
    for name, contract in made:
        agreed(name, contract, requests=-(-10_000 // len(made)))


def test_a_difference_is_seen() -> None:
    """Faults planted in the schema and the guard."""
    agreement = Agreement(BERT, 0)
    types = agreement.schemas[False]["properties"]["types"]["items"]
    types["items"]["maximum"] -= 1
    assert "the schema refuses" in _first_difference(agreement)
    types["items"]["maximum"] += 500
    assert "the schema takes" in _first_difference(agreement)
    types["items"]["maximum"] -= 499
    assert _first_difference(agreement) == ""
    agreement.guards[False] = lambda feeds: []
    assert "guard []" in _first_difference(agreement)


def _first_difference(agreement: Agreement) -> str:
    for strict, schema in agreement.schemas.items():
        agreement.validators[strict] = jsonschema.Draft202012Validator(schema)
    drawn = (agreement.spoilt(agreement.request())[0] for _ in range(400))
    return next(filter(None, map(agreement.disagreement, drawn)), "")


def test_an_array_without_rows_does_not_tell_their_length() -> None:
    """Of such a list onnxruntime makes an array of rank 1, and refuses it."""
    contract = Contract("m", (spec("x", "int64", "n", "m"),), ())
    agreement = Agreement(contract, 0)
    assert [violation.text for violation in contract.check({"x": []})] == ["x must be of rank 2, is of rank 1"]
    assert not agreement.validators[False].is_valid({"x": []})
    assert agreement.validators[False].is_valid({"x": [[]]}) and contract.check({"x": [[]]}) == []
