"""Overspecialized dims: dynamic in the inputs, but a node accepts one size only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.symbolic import Expr, free_symbols
from gather_infer.tensor import SymbolicTensor

MAX_DIM: Final = (1 << 63) - 1
"""The largest size that the file format and runtimes can represent."""


def overspecialized_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each constraint that equates a symbol of the input shapes with a number.

    A constraint that equates any dim with a number above MAX_DIM gets an error.
    """
    known = _input_symbols(inference)
    for constraint in inference.constraints:
        pair = (constraint.left, constraint.right)
        sizes = [dim for dim in pair if isinstance(dim, int)]
        dims = [dim for dim in pair if isinstance(dim, Expr)]
        if constraint.relation != "==" or not sizes or not dims:
            continue
        (dim,), (size,) = dims, sizes
        where = locations.location(constraint.node.graph, constraint.node.position)
        message = f"{dim} is dynamic in the inputs, but the node requires {dim} = {size}"
        if size > MAX_DIM:
            yield diagnostic("GI322", f"{message}, which has more than 64 bits", where, severity=Severity.ERROR)
        elif dim.is_symbol and dim.name in known:
            yield diagnostic("GI322", message, where)


def _input_symbols(inference: Inference) -> frozenset[str]:
    """The symbols in the shapes of the inputs."""
    shapes = (value.shape for name in inference.inputs if isinstance(value := inference[name], SymbolicTensor))
    return frozenset(name for shape in shapes for dim in shape or () for name in free_symbols(dim))
