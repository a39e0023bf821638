"""`gather-infer inspect`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import click

from gather_infer.errors import ModelReadError
from gather_infer.report.output_formats import SUMMARIES

from .console import Console
from .options import Command, common_options, model_argument

if TYPE_CHECKING:
    from gather_infer.model import ModelFile
    from gather_infer.report import ExternalFile, ModelSummary
    from gather_infer.report.summary import Unreadable


@click.command("inspect", cls=Command, example="gather-infer inspect fixtures/bert-torchscript.onnx")
@model_argument("models", nargs=-1, required=True)
@common_options(SUMMARIES, verbose="Print every initializer, input and output, and the values of the metadata.")
def command(models: tuple[str, ...], console: Console) -> int:
    """Summarize files.

    MODELS are ONNX files (- is standard input) or .xml files of OpenVINO IRs. The summaries of several models are
    printed side by side.
    """
    if models.count("-") > 1:
        raise click.UsageError("standard input can be read only once")

    from gather_infer.report.summary import Unreadable

    found: list[ModelSummary | Unreadable] = []
    unreadable = 0
    with console.progress() as progress:
        for position, model in enumerate(models):
            progress(partial("reading, file {} of {}".format, position + 1, len(models)))
            try:
                found.append(_summary(model))
            except ModelReadError as error:
                with progress.aside():
                    console.error(error)
                found.append(Unreadable("<stdin>" if model == "-" else model, str(error)))
                unreadable = error.exit_code
    console.result(SUMMARIES, found)
    return unreadable


def _summary(path: str) -> ModelSummary:
    """The summary of the model at `path`. Raises ModelReadError if the model cannot be read."""
    from gather_infer.catalog.family import is_gather
    from gather_infer.model.model_loading import to_model_file
    from gather_infer.report import summarize

    file = to_model_file(path)
    return summarize(
        file.proto,
        name=file.name,
        nbytes=file.size,
        is_gather=is_gather,
        external=_external_files(file),
        file_format=file.foreign_format,
    )


def _external_files(file: ModelFile) -> tuple[ExternalFile, ...]:
    from gather_infer.model.external import is_external, reference_of
    from gather_infer.model.tensors import iter_tensors
    from gather_infer.report import ExternalFile

    tensors: Counter[str] = Counter()
    for tensor in iter_tensors(file.proto):
        if is_external(tensor) and file.payload(tensor) is None:
            tensors[reference_of(tensor).location] += 1
    return tuple(ExternalFile(location, _bytes_of(file, location), n) for location, n in tensors.items())


def _bytes_of(file: ModelFile, location: str) -> int | None:
    """Size in bytes of the data file `location`; None if it is missing or outside the model's directory."""
    from gather_infer.model.external import data_file

    if file.base_dir is None:
        return None
    try:
        return data_file(location, file.base_dir, file.path).stat().st_size
    except ModelReadError:  # the report shows the file as missing
        return None
