"""Models on disk: opening without reading weights, indexing, editing by journal, saving whole or not at all."""

from gather_infer.model.edits import (
    AddInitializer,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveInitializer,
    RemoveNode,
    ReplaceUses,
)
from gather_infer.model.file import ModelFile, open_model
from gather_infer.model.index import GraphIndex, Scope, Use
from gather_infer.model.journal import apply
from gather_infer.model.names import Names
from gather_infer.model.paths import MAIN, GraphPath, Root, Step
from gather_infer.model.save import SaveReport, save

__all__ = [
    "MAIN",
    "AddInitializer",
    "Edit",
    "GraphIndex",
    "GraphPath",
    "ImportOpset",
    "InsertNodes",
    "Journal",
    "ModelFile",
    "Names",
    "RemoveInitializer",
    "RemoveNode",
    "ReplaceUses",
    "Root",
    "SaveReport",
    "Scope",
    "Step",
    "Use",
    "apply",
    "open_model",
    "save",
]
