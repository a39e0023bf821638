"""`gather-infer ops`."""

from __future__ import annotations

import click

from gather_infer.report.output_formats import OPERATOR, OPERATORS

from .completers import operators
from .console import Console
from .options import Command, common_options


@click.command("ops", cls=Command, example="gather-infer ops Gather")
@click.argument("op", required=False, shell_complete=operators)
@common_options(OPERATORS, OPERATOR, verbose="Print each behaviour of every operator.")
def command(op: str | None, console: Console) -> int:
    """List supported operators.

    With OP, print each behaviour of one operator. OP is a name, with a domain if it is ambiguous: Gather,
    com.microsoft.Gelu.
    """
    from gather_infer.catalog.operators import operator_named, operators

    if op is None:
        console.result(OPERATORS, operators())
    else:
        console.result(OPERATOR, operator_named(op))
    return 0
