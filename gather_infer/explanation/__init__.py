"""Explanations of shapes, elements and symbols from the facts of a run, with suggestions for the unknown parts.

Names are imported on first use, so that a report which only prints explanations does not import the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.explanation.chain import Explanation, SymbolExplanation
    from gather_infer.explanation.explainer import Explainer, explain
    from gather_infer.explanation.nodes import NodeRecord, inferred_nodes, inferred_producers
    from gather_infer.explanation.root_cause import RootCauses, root_causes
    from gather_infer.explanation.step_rows import StepRow, step_table
    from gather_infer.explanation.symbols import explained_symbols

_HOME = {
    "chain": ("Explanation", "SymbolExplanation"),
    "root_cause": ("RootCauses", "root_causes"),
    "nodes": ("NodeRecord", "inferred_nodes", "inferred_producers"),
    "explainer": ("Explainer", "explain"),
    "step_rows": ("StepRow", "step_table"),
    "symbols": ("explained_symbols",),
}

__all__ = [
    "Explainer",
    "Explanation",
    "NodeRecord",
    "RootCauses",
    "StepRow",
    "SymbolExplanation",
    "explain",
    "explained_symbols",
    "inferred_nodes",
    "inferred_producers",
    "root_causes",
    "step_table",
]

__getattr__ = lazy(__name__, _HOME)
