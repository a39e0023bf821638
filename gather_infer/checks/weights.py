"""External data that is missing, or not all there."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.model import ModelFile
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors


def weight_findings(file: ModelFile) -> Iterator[Diagnostic]:
    """A finding per tensor whose bytes are not where the model says; none is read.

    Of a model in memory nothing is known: nobody says where its data is.
    """
    readers: dict[str, str] | None = None
    for tensor in iter_tensors(file.proto):
        missing = file.missing(tensor)
        if missing is not None:
            if readers is None:
                readers = _readers(file.proto)
            reader = readers.get(tensor.name)
            detail = () if reader is None else (f"read by {reader}",)
            yield diagnostic("GI112", missing, Location(value=tensor.name), detail=detail)


def _readers(model: ModelProto) -> dict[str, str]:
    """The first node that reads a name, for people: name and operator."""
    found: dict[str, str] = {}
    for _, body in bodies(model):
        for node in body.node:
            for name in node.input:
                found.setdefault(name, f"{node.name or 'a node without a name'} ({node.op_type})")
    return found
