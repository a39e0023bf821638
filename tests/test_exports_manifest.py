"""The manifest of `benchmarks/exports.py` describes inputs so that they can be drawn without torch."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fixtures.feeds import SPECS, Spec, draw_feeds

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def manifest(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that writes and reads entries."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return import_module("exported.manifest")


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_inputs_come_back_from_an_entry(manifest: Any, spec: Spec) -> None:
    entry = {
        "inputs": {name: manifest.described(given) for name, given in spec.inputs.items()},
        "constraints": spec.constraints,
        "bindings": spec.bindings,
    }
    read = manifest.spec_of(json.loads(json.dumps(entry)))
    assert read == spec
    drawn, again = (draw_feeds(each, spec.bindings[0], seed=3) for each in (spec, read))
    assert all(np.array_equal(drawn[name], again[name]) for name in spec.inputs)
