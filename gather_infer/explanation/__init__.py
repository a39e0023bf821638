"""Why a tensor has its shape and elements, and what would make the unknown parts known: read off the facts of a run.

Names are resolved on first use: a report knows the results alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.explanation.chain import Explanation
    from gather_infer.explanation.reasons import explain

_HOME = {"reasons": ("explain",), "chain": ("Explanation",)}

__all__ = ["Explanation", "explain"]

__getattr__ = lazy(__name__, _HOME)
