"""Explanations of shapes, elements and symbols from the facts of a run, with suggestions for the unknown parts.

Names are resolved on first use, so that a report which only prints explanations does not import the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.explanation.chain import Explanation, SymbolExplanation
    from gather_infer.explanation.faults import Aftermath, aftermath
    from gather_infer.explanation.nodes import WalkedNode, walked_nodes
    from gather_infer.explanation.reasons import Explainer, explain

_HOME = {
    "chain": ("Explanation", "SymbolExplanation"),
    "faults": ("Aftermath", "aftermath"),
    "nodes": ("WalkedNode", "walked_nodes"),
    "reasons": ("Explainer", "explain"),
}

__all__ = [
    "Aftermath",
    "Explainer",
    "Explanation",
    "SymbolExplanation",
    "WalkedNode",
    "aftermath",
    "explain",
    "walked_nodes",
]

__getattr__ = lazy(__name__, _HOME)
