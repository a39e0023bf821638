"""Whole networks: IRs that OpenVINO makes of the fixtures, converted, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.feeds import NAMES
from gather_infer import check
from tests.openvino.networks import (
    NOT_READ,
    differences,
    differences_back,
    ir_of,
    made,
    open_dims,
    read_back,
    wrong_facts,
)

HALVED = ("bert-torchscript", "llama-kv-dynamo", "lstm-tagger-torchscript", "swin-dynamo")
"""Networks whose weights are compressed to f16 as well."""

ALL = (*(name for name in NAMES if name not in NOT_READ), *(f"{name}:f16" for name in HALVED))

IN_CI = (
    "convnet-torchscript", "detector-dynamo", "gpt2-kv-dynamo", "lstm-tagger-torchscript", "moe-nonzero-dynamo",
    "vit-any-size-dynamo", "bert-torchscript:f16",
)  # fmt: skip
"""Convolutions, NonMaxSuppression, a cache, a recurrence, sizes that depend on data, a cubic resize, f16."""


def judge(names: Sequence[str], folder: Path) -> None:
    """Each network as an IR, converted: equal in onnxruntime, equal in OpenVINO, typed, without findings."""
    reasons = made(names, folder)
    assert reasons == dict.fromkeys(names, "")
    faults = {name: differences(name, folder) for name in names}
    assert not {name: found for name, found in faults.items() if found}

    assert read_back(names, folder) == dict.fromkeys(names, "")
    faults = {name: differences_back(name, folder) for name in names}
    assert not {name: found for name, found in faults.items() if found}

    facts = {name: wrong_facts(name, folder) + open_dims(name, folder) for name in names}
    assert not {name: found for name, found in facts.items() if found}

    errors = {name: check(ir_of(name, folder).with_suffix(".onnx")).errors for name in names}
    assert not {name: found for name, found in errors.items() if found}


def test_some_networks(tmp_path: Path) -> None:
    judge(IN_CI, tmp_path)


@pytest.mark.oracle
def test_all_networks(tmp_path: Path) -> None:
    assert len(ALL) == 48
    judge(ALL, tmp_path)


@pytest.mark.oracle
def test_what_openvino_makes_no_ir_of(tmp_path: Path) -> None:
    reasons = made(tuple(NOT_READ), tmp_path)
    assert set(reasons) == set(NOT_READ) and all(reasons.values())
