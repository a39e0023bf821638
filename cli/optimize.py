"""`gather-infer optimize`."""

from __future__ import annotations

import functools

import click

from .options import Command, option
from .rewriting import Rewriting, rewriting_options
from .rule_files import load_sets


@click.command("optimize", cls=Command, example="gather-infer optimize fixtures/gpt2-kv-torchscript.onnx -o small.onnx")
@rewriting_options(
    "optimize",
    option("--rewrites", section="Rewriting", multiple=True, metavar="FILE.py",
           help="Run this file and apply its rewrite sets first."),
    becomes="optimized",
    verbose="Print each rewrite with its law, and notes on nodes left alone.",
)  # fmt: skip
def command(rewriting: Rewriting, rewrites: tuple[str, ...]) -> int:
    """Make a model smaller and faster with the same results.

    Results are the same bit for bit, except with --fold-floats. MODEL is an ONNX file; - is standard input.
    """
    from gather_infer.passes import RewriteSet, optimize

    return rewriting.run(functools.partial(optimize, rewrites=load_sets(rewrites, RewriteSet, "--rewrites")))
