"""Why a tensor has its shape and elements, and what would make the unknown parts known: read off the facts of a run.

Names are resolved on first use: a report knows the results alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.explanation.chain import Explanation, SymbolExplanation
    from gather_infer.explanation.reasons import Explainer, explain

_HOME = {"reasons": ("Explainer", "explain"), "chain": ("Explanation", "SymbolExplanation")}

__all__ = ["Explainer", "Explanation", "SymbolExplanation", "explain"]

__getattr__ = lazy(__name__, _HOME)
