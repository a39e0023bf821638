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
        AppendModel,
        DeclareType,
        Edit,
        ImportOpset,
        InsertNodes,
        Journal,
        RemoveAnnotation,
        RemoveFunction,
        RemoveImport,
        RemoveInitializer,
        RemoveInput,
        RemoveNode,
        RemoveOutput,
        RenameDim,
        RenameNode,
        RenameValue,
        SetMetadata,
    )
    from gather_infer.model.names import Names

_HOME = {
    "edits": (
        "AddInitializer",
        "AddInput",
        "AddOutput",
        "AppendModel",
        "DeclareType",
        "Edit",
        "ImportOpset",
        "InsertNodes",
        "Journal",
        "RemoveAnnotation",
        "RemoveFunction",
        "RemoveImport",
        "RemoveInitializer",
        "RemoveInput",
        "RemoveNode",
        "RemoveOutput",
        "RenameDim",
        "RenameNode",
        "RenameValue",
        "SetMetadata",
    ),
    "names": ("Names",),
}

__all__ = [
    "AddInitializer",
    "AddInput",
    "AddOutput",
    "AppendModel",
    "DeclareType",
    "Edit",
    "ImportOpset",
    "InsertNodes",
    "Journal",
    "ModelFile",
    "Names",
    "RemoveAnnotation",
    "RemoveFunction",
    "RemoveImport",
    "RemoveInitializer",
    "RemoveInput",
    "RemoveNode",
    "RemoveOutput",
    "RenameDim",
    "RenameNode",
    "RenameValue",
    "SaveReport",
    "SetMetadata",
    "open_model",
    "save",
]

__getattr__ = lazy(__name__, _HOME)
