"""Options that select tensors of a model by properties."""

from __future__ import annotations

from .completers import operators_of_model
from .options import Function, option


def op_option(function: Function) -> Function:
    """Add --op to a command, which receives it as `op`."""
    return option(
        "--op",
        section="Tensors",
        metavar="OP",
        shell_complete=operators_of_model,
        help="Select outputs of this operator: Reshape, com.microsoft.Gelu.",
    )(function)


def unknown_option(function: Function) -> Function:
    """Add --unknown to a command, which receives it as `unknown`."""
    return option(
        "--unknown", section="Tensors", is_flag=True, help="Select tensors with an unknown type, rank or dim."
    )(function)
