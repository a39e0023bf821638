"""Comparison with onnxruntime's symbolic_shape_infer: the drop-in finds every dim that it finds, and none is wrong."""

from __future__ import annotations

import pytest

from fixtures import feeds
from tests.oracle import script_shapes
from tests.oracle.script_shapes import rows

SOME = (
    "bert-torchscript",
    "convnet-dynamo",
    "detector-nonzero-torchscript",
    "embedding-bag-torchscript",
    "gpt2-kv-torchscript",
    "lstm-tagger-dynamo",
    "moe-nonzero-dynamo",
    "swin-dynamo",
    "vit-any-size-torchscript",
    "whisper-decoder-dynamo",
)
"""Fixtures for a plain run: of each kind one, those with which the script has trouble first."""


def check(names: tuple[str, ...], bindings: int) -> None:
    found = rows(names, bindings=bindings)
    assert [(row.name, row.wrong) for row in found if row.wrong] == []
    assert [(row.name, row.missed) for row in found if row.missed] == []
    assert sum(row.script_found for row in found) > 100 * len(names)


def test_some_fixtures() -> None:
    check(SOME, 3)


@pytest.mark.oracle
def test_all_fixtures() -> None:
    check(tuple(feeds.NAMES), 100)


def test_a_wrong_dim_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = script_shapes._shapes

    def planted(model: script_shapes.ModelProto) -> script_shapes.Shapes:
        shapes = right(model)
        name = next(name for name, dims in shapes.items() if dims and isinstance(dims[-1], int))
        shapes[name][-1] = 12345
        return shapes

    monkeypatch.setattr(script_shapes, "_shapes", planted)
    (row,) = rows(["dlrm-dynamo"], [False], bindings=2)
    assert len(row.wrong) == 1 and "12345" in row.wrong[0]
    assert len(row.script_wrong) == 1


def test_a_missed_dim_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = script_shapes._shapes
    calls: list[None] = []

    def planted(model: script_shapes.ModelProto) -> script_shapes.Shapes:
        calls.append(None)
        shapes = right(model)
        if len(calls) == 1:  # of the drop-in
            next(dims for dims in shapes.values() if dims)[-1] = None
        return shapes

    monkeypatch.setattr(script_shapes, "_shapes", planted)
    (row,) = rows(["dlrm-dynamo"], [False], bindings=2)
    assert len(row.missed) == 1 and row.missed[0].endswith("found None")
    assert row.found == row.dims - 1
