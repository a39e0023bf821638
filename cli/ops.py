"""`gather-infer ops`."""

from __future__ import annotations

import click

from .console import Console
from .options import Command, common


@click.command("ops", cls=Command, example="gather-infer ops Gather")
@click.argument("op", required=False)
@common(verbose="Print each behaviour of every operator.")
def command(op: str | None, console: Console) -> int:
    """Print the operators that are known, or one in detail.

    OP is a name, with its domain where there are several: Gather, com.microsoft.Gelu.
    """
    from gather_infer.catalog.operators import operator_named, operators
    from gather_infer.report import operator_text, operators_json, operators_text

    found = operators() if op is None else operator_named(op)
    if console.json:
        console.result_json(operators_json(found))
    elif op is None and not console.verbose:
        console.result(operators_text(found, width=console.width))
    else:
        console.result(operator_text(found))
    return 0
