"""A page: the data of a report on a model, and its HTML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gather_infer.inference.result import Inference
from gather_infer.model.staging import Staging
from gather_infer.pages.document import PAGE, document
from gather_infer.report.json import Json
from gather_infer.validate.verdict import Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """An interactive report on a model, as one HTML file that loads nothing.

    data        everything that the page shows
    inference   the inference that the page shows
    verdicts    the verdicts on its accesses
    """

    data: Mapping[str, Json]
    inference: Inference
    verdicts: tuple[Verdict, ...]

    def html(self) -> str:
        """The text of the file; equal for equal models and constraints."""
        return document(self.data, Path(self.inference.model.name).name, PAGE)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file whole or not at all. Raises ModelWriteError."""
        with Staging() as staging:
            with staging.create(Path(path)) as file:
                file.write(self.html().encode())
            staging.commit()

    def __repr__(self) -> str:
        return f"<Page of {self.inference.model.name}: {self.inference.coverage().tensors} tensors>"
