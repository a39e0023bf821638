"""Structural findings about a model before any node is visited: imports, versions and duplicate names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import onnx
from onnx import FunctionProto, GraphProto, ModelProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import ModelReadError
from gather_infer.inference.proto.releases import NEWEST_IR_VERSION, NEWEST_ML_OPSET, NEWEST_OPSET
from gather_infer.inference.proto.tensors import payload_fault
from gather_infer.inference.proto.types import dtype_of
from gather_infer.model import ModelFile
from gather_infer.model.file import texts_are_utf8
from gather_infer.model.names import names_of
from gather_infer.model.paths import bodies
from gather_infer.tensor import SymbolicTensor, Value

MAX_SERIALIZED: Final = 64 << 20
"""Maximal size in bytes of a model in memory that is serialized to check that its texts are UTF-8."""

MAX_ELEMENTS_PER_NODE: Final = 1000
"""Mean number of weights per node up to which serializing a model is the faster way to check its texts."""

NEWEST: Final[Mapping[str, int]] = {
    "ai.onnx": NEWEST_OPSET,
    "ai.onnx.ml": NEWEST_ML_OPSET,
    "ai.onnx.training": 1,
    "ai.onnx.preview.training": 1,
    "com.microsoft": 1,
}
"""The newest opset of the domains that runtimes know."""

AHEAD: Final = 10
"""Number of opsets beyond the newest that are accepted, since later onnx releases add two or three a year."""


def structural_findings(model: ModelFile, inputs: Iterable[str]) -> Iterator[Diagnostic]:
    """Findings about the model as a whole.

    inputs   the names that a caller feeds, including inputs with an initializer as default
    """
    proto = model.proto
    yield from _versions(proto)
    yield from _duplicate_findings("function", (_signature(f) for f in proto.functions))
    names = list(inputs)
    yield from _duplicate_findings("input", names)
    yield from _duplicate_findings("initializer", _constants(proto.graph))
    for name in _duplicates(o.name for o in proto.graph.output):  # every runtime returns it as often
        message = f"output {name} is listed more than once"
        yield diagnostic("GI101", message, Location(value=name), severity=Severity.WARNING)
    overridable = set(names)
    for tensor in proto.graph.initializer:
        if tensor.name in overridable and (fault := payload_fault(tensor, model)) is not None:
            yield diagnostic("GI204", fault, Location(value=tensor.name))


def require_text(proto: ModelProto) -> None:
    """Raise ModelReadError for a text of a model in memory that is not UTF-8; files are checked when they are read.

    Protobuf returns a text that is not UTF-8 as bytes. A model with large weights is checked text by text instead of
    being serialized with them.
    """
    is_small = not _has_large_weights(proto.graph) and proto.ByteSize() <= MAX_SERIALIZED
    if is_small and texts_are_utf8(proto.SerializeToString()):
        return
    for _, body in bodies(proto):
        for node in body.node:
            texts = (node.op_type, node.domain, node.overload, *(a.name for a in node.attribute))
            if any(isinstance(text, bytes) for text in texts):
                raise ModelReadError(f"a text of node {node.name!r} is not UTF-8")
    for name in names_of(proto):
        if isinstance(name, bytes):
            raise ModelReadError(f"the name {name!r} is not UTF-8")


def _has_large_weights(graph: GraphProto) -> bool:
    """Whether serializing the initializers takes longer than reading the texts of the nodes."""
    elements: int = sum(math.prod(tensor.dims) for tensor in graph.initializer)
    return elements > MAX_ELEMENTS_PER_NODE * len(graph.node)


def default_finding(tensor: onnx.TensorProto, declared: Value) -> Diagnostic | None:
    """The finding for an initializer that contradicts the declared type of the input of its name; None if it fits."""
    if not isinstance(declared, SymbolicTensor):
        return diagnostic("GI204", f"the default is a tensor, the input is {declared}", Location(value=tensor.name))
    actual = SymbolicTensor(dtype_of(tensor.data_type), tuple(tensor.dims))
    differs = declared.dtype is not None and actual.dtype != declared.dtype
    if declared.shape is not None:
        dims = list(tensor.dims)
        fits = len(dims) == len(declared.shape) and all(
            not isinstance(d, int) or d == size for d, size in zip(declared.shape, dims, strict=True)
        )
        differs = differs or not fits
    if not differs:
        return None
    return diagnostic("GI204", f"the default is {actual}, the input is {declared}", Location(value=tensor.name))


def imports_of(proto: ModelProto) -> list[onnx.OperatorSetIdProto]:
    """The opset imports; models of IR version 1 and 2 have none and use the first opset."""
    if not proto.opset_import and proto.ir_version < 3:
        return [onnx.helper.make_opsetid("", 1)]
    return list(proto.opset_import)


def _versions(proto: ModelProto) -> Iterator[Diagnostic]:
    if not 1 <= proto.ir_version <= NEWEST_IR_VERSION:
        yield diagnostic("GI109", f"IR version {proto.ir_version} is outside [1, {NEWEST_IR_VERSION}]")
    seen: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = entry.domain or "ai.onnx"
        first = seen.setdefault(domain, entry.version)
        if first != entry.version:
            yield diagnostic("GI109", f"domain {domain} is imported as {first} and as {entry.version}; {first} is used")
        if entry.version < 1:
            yield diagnostic("GI104", f"opset {entry.version} of domain {domain} is not known, the first is 1")
    for domain, version in dict.fromkeys((plain_domain(e.domain) or "ai.onnx", e.version) for e in _all_imports(proto)):
        newest = NEWEST.get(domain)
        if newest is not None and version > newest + AHEAD:
            yield diagnostic("GI104", f"opset {version} of domain {domain} is not known, the newest is {newest}")
        elif newest is not None and version > newest:
            message = f"opset {version} of domain {domain} is newer than {newest}, whose rules are used"
            yield diagnostic("GI109", message)


def _all_imports(proto: ModelProto) -> Iterator[onnx.OperatorSetIdProto]:
    """Imports of the model and of all its functions, called or not: loaders check them all."""
    yield from proto.opset_import
    for function in proto.functions:
        yield from function.opset_import


def _signature(function: FunctionProto) -> str:
    overload = f":{function.overload}" if function.overload else ""
    return f"{function.domain or 'ai.onnx'}.{function.name}{overload}"


def _constants(graph: GraphProto) -> Iterator[str]:
    yield from (t.name for t in graph.initializer)
    yield from (t.values.name for t in graph.sparse_initializer)


def _duplicate_findings(what: str, names: Iterable[str]) -> Iterator[Diagnostic]:
    for name in _duplicates(names):
        yield diagnostic("GI101", f"{what} {name} is defined more than once", Location(value=name))


def _duplicates(names: Iterable[str]) -> Iterator[str]:
    """The names that repeat an earlier one, once per repetition."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
