"""Random edits of random models: the def-use chains equal a recount, and survive a round trip through a message."""

from __future__ import annotations

from collections import Counter

import pytest

from gather_infer.ir import Model, structural_findings
from gather_infer.ir.write_back import to_proto
from tests.ir.random_edits import RandomEdits
from tests.ir.random_models import random_model
from tests.ir.recount import by_name, held, recounted

EDITS = 30


@pytest.mark.parametrize("seed", range(24))
def test_random_edits(seed: int) -> None:
    proto = random_model(seed)
    before = proto.SerializeToString(deterministic=True)
    model = Model(proto)
    assert held(model) == recounted(model)
    edits = RandomEdits(model, seed)
    for step in range(EDITS):
        kind = edits.edit()
        assert held(model) == recounted(model), f"edit {step}: {kind}"
    written = Model(to_proto(model))
    assert list(structural_findings(written)) == []
    assert by_name(written) == by_name(model)
    assert held(written) == recounted(written)
    assert proto.SerializeToString(deterministic=True) == before


def test_every_kind_of_edit_occurs() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(10):
        edits = RandomEdits(Model(random_model(seed)), seed)
        kinds.update(edits.edit() for _ in range(EDITS))
        assert kinds.keys() <= edits.kinds.keys()
    assert kinds.keys() == edits.kinds.keys() and min(kinds.values()) >= 3
