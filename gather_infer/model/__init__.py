"""Models on disk: open without reading weights, edit by journal, save atomically.

Names are imported lazily: opening a model does not load the editing modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy
from gather_infer.model.file import ModelFile, open_model
from gather_infer.model.save import SaveReport, save  # the function hides the module of the same name

if TYPE_CHECKING:
    from gather_infer.model.edits import (
        AddInitializer,
        AddInput,
        AddOutput,
        DeclareType,
        Edit,
        ImportOpset,
        InsertNodes,
        Journal,
        RemoveImport,
        RemoveInitializer,
        RemoveInput,
        RemoveNode,
    )
    from gather_infer.model.names import Names

_HOME = {
    "edits": (
        "AddInitializer",
        "AddInput",
        "AddOutput",
        "DeclareType",
        "Edit",
        "ImportOpset",
        "InsertNodes",
        "Journal",
        "RemoveImport",
        "RemoveInitializer",
        "RemoveInput",
        "RemoveNode",
    ),
    "names": ("Names",),
}

__all__ = [
    "AddInitializer",
    "AddInput",
    "AddOutput",
    "DeclareType",
    "Edit",
    "ImportOpset",
    "InsertNodes",
    "Journal",
    "ModelFile",
    "Names",
    "RemoveImport",
    "RemoveInitializer",
    "RemoveInput",
    "RemoveNode",
    "SaveReport",
    "open_model",
    "save",
]

__getattr__ = lazy(__name__, _HOME)
