"""Models on disk: opening without reading weights, indexing, editing by journal, saving whole or not at all."""

from gather_infer.model.file import ModelFile, open_model

__all__ = ["ModelFile", "open_model"]
