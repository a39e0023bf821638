"""The steps that explanations share, against the explanation of each tensor."""

from __future__ import annotations

import pytest

import gather_infer
from gather_infer.explanation import step_rows, step_table
from gather_infer.explanation.chain import Link
from tests.documents import REPO

FIXTURES = ("gpt2-kv-dynamo", "detector-nonzero-torchscript", "lstm-tagger-torchscript", "moe-nonzero-torchscript")


def key(link: Link) -> tuple[str, str, str, tuple[str, ...]]:
    return link.scope, link.name, link.facet.value, tuple(map(str, link.relevant))


@pytest.mark.parametrize("name", FIXTURES)
def test_the_sources_of_every_tensor_are_those_of_its_explanation(name: str) -> None:
    explainer = gather_infer.Explainer(str(REPO / "fixtures" / f"{name}.onnx"))
    inference = explainer.inference
    rows = step_table(inference)
    tensors = inference.tensors()
    assert [(inference.labels[row.graph], row.name) for row in rows[: len(tensors)]] == [
        (tensor.scope, tensor.name) for tensor in tensors
    ]
    with_sources = 0
    for tensor, row in zip(tensors, rows, strict=False):
        found = [
            (inference.labels[rows[at].graph], rows[at].name, rows[at].facet.value,
             tuple(sorted(map(str, rows[at].relevant or ()))))
            for at in row.sources
        ]  # fmt: skip
        expected = [key(link) for link in explainer.tensor(tensor.title, depth=1, every=True).step.sources]
        assert found == expected, tensor.title
        with_sources += bool(found)
    assert with_sources > len(tensors) / 3


def test_a_full_table_leaves_further_sources_out(monkeypatch: pytest.MonkeyPatch) -> None:
    inference = gather_infer.infer(str(REPO / "fixtures/gpt2-kv-dynamo.onnx"))
    number = sum(map(len, inference.scopes.values()))
    monkeypatch.setattr(step_rows, "MAX_ROWS", number)
    rows = step_table(inference)
    assert len(rows) == number
    assert all(at < number for row in rows for at in row.sources)


def test_a_forwarding_step_has_one_source_with_its_dims() -> None:
    rows = step_table(gather_infer.infer(str(REPO / "fixtures/bert-torchscript.onnx")))
    forwarding = [row for row in rows if row.is_forwarded]
    assert len(forwarding) > 100
    for row in forwarding:
        (source,) = row.sources
        assert row.relevant
        assert row.relevant <= (rows[source].relevant or frozenset())
