"""Why a tensor has its shape and elements, and what would make the unknown parts known: read off the facts of a run.

Names are resolved on first use: a report knows the results alone.
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
