"""Edits of a graph as a whole: cut out a subgraph, add and remove outputs, rename, join two models.

Files are edited without their weights: an edit reads the graph, and large tensors are copied when the model is saved.
Names are resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.editing.composition import ComposeResult, compose
    from gather_infer.editing.extraction import extract
    from gather_infer.editing.output_selection import outputs
    from gather_infer.editing.renaming import RenameResult, rename
    from gather_infer.editing.result import EditResult, JoinedLine, LineStatus

_HOME = {
    "composition": ("ComposeResult", "compose"),
    "extraction": ("extract",),
    "output_selection": ("outputs",),
    "renaming": ("RenameResult", "rename"),
    "result": ("EditResult", "JoinedLine", "LineStatus"),
}

__all__ = [
    "ComposeResult",
    "EditResult",
    "JoinedLine",
    "LineStatus",
    "RenameResult",
    "compose",
    "extract",
    "outputs",
    "rename",
]

__getattr__ = lazy(__name__, _HOME)
