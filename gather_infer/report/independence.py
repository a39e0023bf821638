"""Verdicts about the rows of a batch, and origins of axes, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.json import Json, dim_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gather_infer.provenance.result import AxisOrigin, Independence


def independence_json(found: Independence) -> dict[str, Json]:
    return {
        "rows": dim_json(found.rows),
        "axes": list(found.axes),
        "verdict": str(found.verdict),
        "outputs": [
            {
                "name": output.name,
                "verdict": str(output.verdict),
                "axis": output.axis,
                "inner": dim_json(output.inner),
                "mixes": output.mixes,
                "reason": output.reason or None,
                "path": list(output.path),
                "run": output.run or None,
            }
            for output in found.outputs
        ],
    }


def axes_json(origins: Sequence[AxisOrigin]) -> list[Json]:
    """Per axis its factors in row-major order: a size, or the axis of an input."""
    return [
        [
            {"input": factor.input, "axis": factor.axis} if factor.input else dim_json(factor.size)
            for factor in origin.factors
        ]
        for origin in origins
    ]
