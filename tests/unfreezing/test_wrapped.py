"""`unfreeze` of the models of the other tests, put into branches, loop bodies and functions: as without these."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import unfreeze
from tests.unfreezing import test_images, test_unfreeze
from tests.unfreezing.cases import Case, feeds_of, run
from tests.unfreezing.wrapping import CONDITION, WRAPPERS
from tests.verification.models import model

CASES: dict[str, Case] = {**test_unfreeze.CASES, **test_images.CASES}
REFUSED = {
    "tokens of an image that is 1 high behind a stride": "more than one of its axes can hold a size of 1",
    "a mask resized to the features that it meets later, as tokens": "axis 2 of its sizes is 2",
}
"""Models that are followed in the main graph alone: a later node tells where the size is."""


PAIRS = [(name, [*WRAPPERS][(at + turn) % len(WRAPPERS)]) for at, name in enumerate(CASES) for turn in (0, 3)]
"""Each model in two of the wrappers."""


@pytest.mark.parametrize("wrapper", ["a branch", "a loop"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_later_nodes_tell_is_refused_in_bodies(name: str, wrapper: str) -> None:
    case = CASES[name]
    wrapped = WRAPPERS[wrapper](model(case.static, opset=case.opset))
    assert REFUSED[name] in unfreeze(wrapped, case.dims).why_refused


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "wrapper"), [pair for pair in PAIRS if pair[0] not in REFUSED])
def test_wrapped_models(name: str, wrapper: str) -> None:
    case = CASES[name]
    static, dynamic = (model(text, opset=case.opset) for text in (case.static, case.dynamic))
    result = unfreeze(WRAPPERS[wrapper](static), case.dims)
    assert not result.refused, result.why_refused
    onnx.checker.check_model(result.proto, full_check=True)
    symbol = next(iter(result.freed))
    assert result.most.get(symbol, 1 << 30) == case.most
    conditions = [value.name for value in result.proto.graph.input if value.name.startswith(CONDITION)]
    for size in (each for each in case.sizes if each <= case.most):
        feeds = feeds_of(dynamic, size, symbol)
        wanted = run(dynamic, feeds)
        for taken in (True, False) if conditions else (True,):
            found = run(result.proto, {**feeds, **dict.fromkeys(conditions, np.array(taken))})
            for one, other in zip(wanted, found, strict=True):
                np.testing.assert_array_equal(one, other)
