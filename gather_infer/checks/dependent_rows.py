"""Dependent rows: nodes that combine the rows of a dynamic batch."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.inference import Inference
from gather_infer.provenance.row_verdicts import default_axes, independence_of


def dependent_row_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for the first node that combines rows on the way to an output, or computes with their number.

    Whether the outputs really differ is not run here, and a node that is not understood is no finding.
    """
    axes = default_axes(inference)
    result = independence_of(inference, axes) if axes else None
    cause = None if result is None else next((output for output in result.outputs if output.combines), None)
    if result is None or cause is None or cause.node is None:
        return
    where = locations.location(cause.node.graph, cause.node.position)
    path = (" -> ".join(cause.path),) if len(cause.path) > 1 else ()
    reason = cause.reason.removeprefix(f"{cause.node} ({where.op_type}): ")
    yield diagnostic("GI324", f"rows of {result.rows} depend on each other: {reason}", where, detail=path)
