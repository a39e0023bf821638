"""Imports that every export needs, made by small exports; the process that forks the children imports this once."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
import torch
from tqdm import tqdm
from transformers import AlbertConfig, AlbertModel

from exported import worker
from fixtures.export import run_exporter_on
from fixtures.feeds import Input, Spec

worker.quiet()
tqdm.monitor_interval = 0  # no thread, so that forks are safe
_SPEC = Spec({"ids": Input("int64", ("batch", 3), (0, 9))}, (), ({"batch": 2},))


class _Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        options = {"embedding_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4}
        self.albert = AlbertModel(AlbertConfig(vocab_size=9, hidden_size=4, max_position_embeddings=8, **options))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.albert(input_ids=ids).last_hidden_state


with redirect_stdout(io.StringIO()):
    for _exporter in ("torchscript", "dynamo"):
        run_exporter_on(
            _Small().eval(), {"ids": np.zeros((2, 3), np.int64)}, _SPEC, {"output": ("batch", 3, 4)},
            exporter=_exporter, opset=18, dims={},
        )  # fmt: skip
