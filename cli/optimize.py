"""`gather-infer optimize`."""

from __future__ import annotations

from typing import Any

import click

from .options import Command, FileName, option
from .rewriting import rewriting_options, run_rewriting


@click.command(
    "optimize",
    cls=Command,
    example="gather-infer optimize fixtures/gpt2-kv-torchscript.onnx -o small.onnx",
)
@rewriting_options(
    "optimize",
    option("--rewrites", section="Rewriting", multiple=True, type=FileName(), metavar="FILE.py",
           help="Run this file and apply its rewrite sets first."),
    becomes="optimized",
    verbose="Print each rewrite with its law, and notes on nodes left alone.",
)  # fmt: skip
def command(**options: Any) -> int:
    """Make a model smaller and faster with the same results.

    Results are the same bit for bit, except with --fold-floats. MODELS are ONNX files (- is standard input), or
    folders. Several models are written to the folder OUT.
    """
    return run_rewriting("optimize", **options)
