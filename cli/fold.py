"""`gather-infer fold`."""

from __future__ import annotations

import click

from .options import Command
from .rewriting import Rewriting, rewriting_options


def _rules() -> list[str]:
    from gather_infer.passes.rewrites import FOLDING
    from gather_infer.passes.run import rule_names

    return rule_names(FOLDING)


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@rewriting_options(_rules, becomes="folded", verbose="Print each folded node, and why others were left alone.")
def command(rewriting: Rewriting) -> int:
    """Replace nodes whose results are known by constants.

    MODEL is an ONNX file; - is standard input.
    """
    from gather_infer.passes import fold

    return rewriting.run(fold)
