"""`gather-infer fold`."""

from __future__ import annotations

from typing import Any

import click

from .options import Command
from .rewriting import rewriting_options, run_rewriting


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@rewriting_options("fold", becomes="folded", verbose="Print each folded node, and notes on nodes left alone.")
def command(**options: Any) -> int:
    """Fold nodes with known results into constants.

    MODELS are ONNX files (- is standard input), or folders.
    """
    return run_rewriting("fold", **options)
