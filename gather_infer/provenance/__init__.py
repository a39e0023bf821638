"""Provenance of axes, and independence of rows: which axis of an input the index of each axis comes from.

Names are resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.provenance.axes import axis_provenance
    from gather_infer.provenance.result import (
        AxisFactor,
        AxisOrigin,
        AxisProvenance,
        Independence,
        IndependenceVerdict,
        OutputIndependence,
    )
    from gather_infer.provenance.row_independence import independence

_HOME = {
    "axes": ("axis_provenance",),
    "row_independence": ("independence",),
    "result": (
        "AxisFactor",
        "AxisOrigin",
        "AxisProvenance",
        "Independence",
        "IndependenceVerdict",
        "OutputIndependence",
    ),
}

__all__ = [
    "AxisFactor",
    "AxisOrigin",
    "AxisProvenance",
    "Independence",
    "IndependenceVerdict",
    "OutputIndependence",
    "axis_provenance",
    "independence",
]

__getattr__ = lazy(__name__, _HOME)
