"""The cost of a model along one symbol: multiply-adds and bytes at a series of sizes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gather_infer.lazy import resolve
from gather_infer.model.staging import Staging


@dataclass(frozen=True, slots=True)
class CostCurve:
    """The cost of one run at each of `sizes` of the symbol `symbol`.

    model       name of the model
    at          sizes of the other symbols
    sizes       ascending sizes of the symbol
    macs        multiply-adds
    reads       bytes that nodes read, constants included
    writes      bytes that nodes write
    peak        most bytes of activations that are live at once
    parameters  bytes of all constants
    is_exact    whether every contribution is known; otherwise the numbers are lower bounds
    """

    model: str
    symbol: str
    at: Mapping[str, int]
    sizes: tuple[int, ...]
    macs: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    peak: tuple[int, ...]
    parameters: int
    is_exact: bool

    def save(self, path: str | os.PathLike[str]) -> None:
        """Draw the curves into a file: .svg, .pdf or .png.

        Raises UsageError for another suffix and without matplotlib, and ModelWriteError if the file cannot be written.
        """
        content = resolve("report.cost_plot:drawing_for")(self, os.fspath(path))
        with Staging() as staging:
            with staging.create(Path(path)) as file:
                file.write(content)
            staging.commit()

    def _repr_html_(self) -> str:
        svg: str = resolve("report.cost_plot:svg_of")(self)
        return svg
