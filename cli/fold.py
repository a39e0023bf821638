"""`gather-infer fold`."""

from __future__ import annotations

import click

from .options import Command
from .rewriting import Rewriting, rewriting_options


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@rewriting_options("fold", becomes="folded", verbose="Print each folded node, and notes on nodes left alone.")
def command(rewriting: Rewriting) -> int:
    """Fold nodes with known results into constants.

    MODEL is an ONNX file; - is standard input.
    """
    from gather_infer.passes import fold

    return rewriting.run(fold)
