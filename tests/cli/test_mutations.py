"""Damaged files: whatever the bytes say, a command ends in an orderly way and leaves nothing behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gather_infer.catalog.family import is_gather
from gather_infer.errors import GatherInferError
from gather_infer.inference import infer
from gather_infer.inference.result import Inference
from gather_infer.model import ModelFile, open_model
from gather_infer.passes import fold
from gather_infer.report import (
    InferenceReport,
    View,
    inference_json,
    inference_text,
    summaries_json,
    summaries_text,
    summarize,
)
from tests.cli.cli_models import embedding, openvino
from tests.passes.test_fold import everything

FIXTURES = Path(__file__).parents[2] / "fixtures"
SOURCES: dict[str, Callable[[], bytes]] = {
    "embedding": lambda: embedding().SerializeToString(),
    "openvino": lambda: openvino().SerializeToString(),
    "functions": lambda: everything().SerializeToString(),
    "exported": lambda: (FIXTURES / "embedding-bag-torchscript.onnx").read_bytes(),
}
ROUNDS = 150


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, dropped, repeated or swapped."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out))
        match rng.randrange(5):
            case 0:
                out[at] = rng.randrange(256)
            case 1:
                out[at] ^= 1 << rng.randrange(8)
            case 2:
                del out[at : at + rng.randint(1, 8)]
            case 3:
                out[at:at] = out[at : at + rng.randint(1, 16)]
            case _:
                out[at] = rng.choice((0, 1, 127, 128, 255))
        if not out:
            return bytes(data)
    return bytes(out)


def report(inference: Inference, file: ModelFile) -> None:
    summary = summarize(file.proto, name="mutated.onnx", nbytes=file.size, is_gather=is_gather)
    told = InferenceReport(inference, summary)
    inference_text(told, View(verbose=True, width=80))
    inference_json(told)
    summaries_text([summary])
    summaries_json([summary])


@pytest.mark.parametrize("name", SOURCES)
def test_no_mutation_gets_past_our_errors(name: str, tmp_path: Path) -> None:
    data = SOURCES[name]()
    rng = random.Random(name)
    path, out = tmp_path / "mutated.onnx", tmp_path / "out.onnx"
    read = 0
    for _ in range(ROUNDS):
        path.write_bytes(mutated(data, rng))
        try:
            file = open_model(path)
            inference = infer(file)
            read += 1
            report(inference, file)
            inference.annotated()
            result = fold(path)
            assert result.before.nodes >= result.after.nodes
            result.save(out)
        except GatherInferError as error:
            assert str(error)
            assert sorted(p.name for p in tmp_path.iterdir()) == ["mutated.onnx"]
        out.unlink(missing_ok=True)
    assert read > ROUNDS // 20, "the mutations are too coarse to reach the inference"
