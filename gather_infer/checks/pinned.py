"""Dims that the inputs leave open, and that may be of one size only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gather_infer.checks.places import Places
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.symbolic import Expr, free_symbols
from gather_infer.tensor import SymbolicTensor

MOST: Final = (1 << 63) - 1
"""The largest number that a file and a runtime have for a dim."""


def pinned_findings(inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """A finding for each symbol of the inputs of which a node demands that it is a number."""
    known = _symbols(inference)
    for constraint in inference.constraints:
        pair = (constraint.left, constraint.right)
        names = [dim for dim in pair if isinstance(dim, Expr) and dim.is_symbol and dim.name in known]
        sizes = [dim for dim in pair if isinstance(dim, int)]
        if constraint.relation == "==" and names and sizes:
            where = places.node(constraint.node.graph, constraint.node.position)
            message = f"the inputs leave {names[0]} open, the node works with {names[0]} = {sizes[0]} only"
            if sizes[0] > MOST:
                message, severity = f"{message}, which no dim can be: it has 64 bits", Severity.ERROR
            else:
                severity = Severity.WARNING
            yield diagnostic("GI322", message, where, severity=severity)


def _symbols(inference: Inference) -> frozenset[str]:
    """Those in the shapes of the inputs."""
    shapes = (value.shape for name in inference.inputs if isinstance(value := inference[name], SymbolicTensor))
    return frozenset(name for shape in shapes for dim in shape or () for name in free_symbols(dim))
