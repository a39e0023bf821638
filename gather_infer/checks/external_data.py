"""External data that is missing or incomplete, or whose keys the format does not define."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from onnx import ModelProto, TensorProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.model import ModelFile
from gather_infer.model.external import is_external
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors

KEYS: Final = frozenset({"location", "offset", "length", "checksum"})
"""The keys of the format: https://github.com/onnx/onnx/blob/main/docs/ExternalData.md"""

ONNX_KEY, ONNXRUNTIME_PREFIX = "basepath", "prepacked"
"""A key that onnx's Python package writes and onnxruntime refuses, and the prefix of keys that onnxruntime writes."""

SHOWN: Final = 5


def external_data_findings(file: ModelFile) -> Iterator[Diagnostic]:
    """A finding for each problem of each data file, at the first tensor that has the problem; no data is read.

    Missing data of a model in memory is not reported, because the folder of the data is unknown.
    """
    yield from _missing(file)
    yield from _keys(file)


def _missing(file: ModelFile) -> Iterator[Diagnostic]:
    missing_files: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for tensor in iter_tensors(file.proto):
        missing = file.missing_reason(tensor)
        if missing is not None:
            alike = (_location(tensor), re.sub(r"\d+", "#", missing.replace(f"{tensor.name!r}", "")))
            missing_files.setdefault(alike, []).append((tensor.name, missing))
    readers = _readers(file.proto) if missing_files else {}
    for (name, message), *others in missing_files.values():
        reader = readers.get(name)
        read = () if reader is None else (f"read by {reader}",)
        yield diagnostic("GI112", message, Location(value=name), detail=(*read, *_and_others([n for n, _ in others])))


def _keys(file: ModelFile) -> Iterator[Diagnostic]:
    """A finding for each key that the format does not define, at the first tensor with this key.

    onnxruntime refuses the file; onnx before 1.21 sets an attribute with the name of the key on a Python object:
    CVE-2026-34445, https://github.com/onnx/onnx/pull/7751
    """
    found: dict[str, list[str]] = {}
    for tensor in iter_tensors(file.proto):
        if is_external(tensor) and file.payload(tensor) is None:
            for entry in tensor.external_data:
                if entry.key not in KEYS and not entry.key.startswith(ONNXRUNTIME_PREFIX):
                    found.setdefault(entry.key, []).append(tensor.name)
    for key, (name, *others) in found.items():
        if key == ONNX_KEY:
            message, severity = (
                f"external data has the key {key!r}, for which onnxruntime refuses the file",
                Severity.WARNING,
            )
        else:
            message = f"external data has the unknown key {key!r}: onnx before 1.21 sets an attribute of that name"
            severity = Severity.ERROR
        detail = ("onnxruntime refuses the file",) * (severity is Severity.ERROR)
        where = Location(value=name)
        yield diagnostic("GI112", message, where, severity=severity, detail=(*detail, *_and_others(others)))


def _and_others(names: list[str]) -> tuple[str, ...]:
    """A detail line that lists further tensors with the same problem; empty if there are none."""
    if not names:
        return ()
    shown = ", ".join(name or "an unnamed one" for name in names[:SHOWN])
    rest = ", ..." if len(names) > SHOWN else ""
    return (f"also {len(names)} more tensor{'s' * (len(names) > 1)}: {shown}{rest}",)


def _location(tensor: TensorProto) -> str:
    return next((entry.value for entry in tensor.external_data if entry.key == "location"), "")


def _readers(model: ModelProto) -> dict[str, str]:
    """For each name, the first node that reads it, as text: node name and operator."""
    found: dict[str, str] = {}
    for _, body in bodies(model):
        for node in body.node:
            for name in node.input:
                found.setdefault(name, f"{node.name or 'a node without a name'} ({node.op_type})")
    return found
