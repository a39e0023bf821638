"""The pydantic model of a contract accepts and rejects requests as `Contract.check` does."""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pydantic
import pytest

import gather_infer
from gather_infer import Contract
from gather_infer.serving.pydantic_model import _TAKEN
from gather_infer.serving.targets import emit
from tests.contract.agreement import Agreement
from tests.contract.contracts import BERT, MIXED, elements, good, spec

FIXTURES = ("bert-torchscript", "gpt2-kv-dynamo", "lstm-tagger-torchscript", "dlrm-dynamo", "gnn-dynamo")


def request_class(contract: Contract, folder: Path, *, strict: bool = False) -> Any:
    path = folder / f"request{strict}.py"
    path.write_text(emit(contract, "pydantic", strict=strict).text)
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    assert module_spec is not None and module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    return module.Request


def accepts(model: Any, request: dict[str, Any]) -> bool:
    try:
        model(**request)
    except pydantic.ValidationError:
        return False
    return True


def agreement(contract: Contract, folder: Path, requests: int) -> dict[tuple[bool, bool], int]:
    """How many requests were accepted and rejected, strict or not. Fails where the model and the contract differ."""
    models = {strict: request_class(contract, folder, strict=strict) for strict in (False, True)}
    drawn = Agreement(contract, 0)
    counts: dict[tuple[bool, bool], int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(requests // 2):
            feeds = drawn.request()
            for request in (feeds, drawn.spoilt(feeds)[0]):
                for strict, model in models.items():
                    found = contract.check(request, strict=strict)
                    assert accepts(model, request) is (found == []), (strict, request, found)
                    counts[strict, not found] = counts.get((strict, not found), 0) + 1
    return counts


@pytest.mark.parametrize("contract", [BERT, MIXED], ids=["bert", "mixed"])
def test_1000_requests(contract: Contract, tmp_path: Path) -> None:
    counts = agreement(contract, tmp_path, 1000)
    assert sum(counts.values()) == 2000
    assert min(counts[False, True], counts[False, False]) > 100


@pytest.mark.parametrize("name", FIXTURES)
def test_1000_requests_of_a_fixture(name: str, tmp_path: Path) -> None:
    counts = agreement(gather_infer.contract_of(f"fixtures/{name}.onnx").contract, tmp_path, 1000)
    assert sum(counts.values()) == 2000
    assert min(counts[False, True], counts[False, False]) > 100


def test_a_difference_is_seen(tmp_path: Path) -> None:
    """A fault planted in the contract: the model enforces one token id more."""
    model = request_class(BERT, tmp_path)
    other = Contract(BERT.model, BERT.inputs, (elements("ids", "-30522", "30520"), *BERT.lines[1:]), BERT.nonempty)
    request = good_bert(np.full((1, 2), 30521))
    assert accepts(model, request) is (BERT.check(request) == [])
    assert accepts(model, request) is not (other.check(request) == [])


def test_the_message_and_the_feeds(tmp_path: Path) -> None:
    model = request_class(BERT, tmp_path)
    ids = np.full((1, 2), 30522)
    with pytest.raises(pydantic.ValidationError) as caught:
        model(ids=ids, mask=np.ones_like(ids), types=np.zeros_like(ids))
    (error,) = caught.value.errors()
    assert error["msg"] == (
        "Value error, ids[0, 0] = 30522: must be -30522 <= ids < 30522 (/emb/word/Gather)"
    )  # fmt: skip
    text = json.dumps({"ids": [[3]], "mask": [[1]], "types": [[0]]})
    assert model.model_validate_json(text).feeds() == {"ids": [[3]], "mask": [[1]], "types": [[0]]}
    assert model(**good_bert(ids=ids - 1)).feeds()["ids"].max() == 30521


def good_bert(ids: Any) -> dict[str, Any]:
    return {"ids": ids, "mask": np.ones_like(ids), "types": np.zeros_like(ids)}


def test_lines_that_are_sufficient_only_warn(tmp_path: Path) -> None:
    feeds = {**good(), "one": np.array(1)}
    model = request_class(MIXED, tmp_path)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model(**feeds)
        assert [str(w.message) for w in found] == [str(v) for v in MIXED.warnings(feeds)]


def test_odd_names(tmp_path: Path) -> None:
    names = ("x.key", "copy", "Any", "class", "_x", "model_x", "input_0", "é", "a\nb")
    contract = Contract("m.onnx", tuple(spec(name, "int64", "n") for name in names), ())
    model = request_class(contract, tmp_path)
    request = {name: [1, 2] for name in names}
    assert model(**request).feeds() == request
    assert not accepts(model, {**request, "copy": [1]})
    assert not accepts(model, {**request, "input_1": [1, 2]})


def test_the_schema_of_the_model(tmp_path: Path) -> None:
    schema = request_class(BERT, tmp_path).model_json_schema()
    assert schema["properties"]["ids"]["items"]["items"]["maximum"] == 30521
    assert (schema["required"], schema["additionalProperties"]) == (["ids", "mask", "types"], False)


def test_no_field_hides_a_name_of_pydantic() -> None:
    own = {name for name in dir(pydantic.BaseModel) if not name.startswith(("_", "model_"))}
    assert own <= _TAKEN
