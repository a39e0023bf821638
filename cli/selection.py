"""Which tensors of a model are meant, beside their names."""

from __future__ import annotations

from .completing import operators_of_model
from .options import Function, option


def op_option(function: Function) -> Function:
    """--op, as `op`."""
    return option(
        "--op",
        section="Tensors",
        metavar="OP",
        shell_complete=operators_of_model,
        help="Only outputs of this operator: Reshape, com.microsoft.Gelu.",
    )(function)


def unknown_option(function: Function) -> Function:
    """--unknown, as `unknown`."""
    return option(
        "--unknown", section="Tensors", is_flag=True, help="Only what has a type, a rank or a dim that is not known."
    )(function)
