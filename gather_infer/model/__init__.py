"""Models on disk: opening without reading weights, indexing, editing by journal, saving whole or not at all."""

from gather_infer.model.file import ModelFile, open_model
from gather_infer.model.save import SaveReport, save

__all__ = ["ModelFile", "SaveReport", "open_model", "save"]
