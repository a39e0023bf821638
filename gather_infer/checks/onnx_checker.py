"""The verdict of onnx.checker, for models without other errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import onnx
from onnx import ModelProto, TensorProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference.proto.releases import INSTALLED_OPSET, NEWEST_IR_VERSION, NEWEST_OPSET
from gather_infer.inference.proto.schema import newer_domains
from gather_infer.model import ModelFile
from gather_infer.model.external import is_external
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors

LARGE: Final = 1 << 10
"""Size in bytes above which a payload is removed from the model for the checker, which would copy it."""

_MEANINGS: Final = (
    # pattern of the checker's message -> code; the group is the value that the message names
    (re.compile(r"single static assignment.*?however '(.*?)' has been used"), "GI101"),
    (re.compile(r"topologically sorted, however input '(.*?)' of node"), "GI103"),
    (re.compile(r"(\S+) in initializer but not in graph input"), "GI113"),
    (re.compile(r"(?i)opset import for domain|opset_import"), "GI113"),
    (re.compile(r"(?i)unrecognized attribute: (\S+)|attribute"), "GI106"),
)
_NODE = re.compile(r"Bad node spec for node\. Name: (.*?) OpType: (\S+)")
_NO_SHAPE = "Field 'shape' of 'type' is required but missing"
_TOLERATED: Final = (
    _NO_SHAPE,
    "Field 'name' of 'graph' is required to be non-empty",
    "Field 'type' of 'value_info' is required but missing",
    "Field 'elem_type' of 'type' is required but missing",
)
"""Errors of the checker that become warnings, because onnxruntime loads such a model."""

_REFUSALS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError)


def checker_findings(file: ModelFile, locations: NodeLocations) -> Iterator[Diagnostic]:
    """The first error of onnx.checker as a finding; none if the checker accepts the model.

    A note if the installed onnx is too old to check the model.
    """
    newer = _newer_than_onnx(file.proto)
    if newer:
        message = f"onnx.checker was not run: onnx {onnx.__version__} does not know {newer}"
        yield diagnostic("GI115", message, Location(), severity=Severity.NOTE)
        return
    text = _refusal(_without_payloads(file.proto))
    if text is None:
        return
    code, value = "GI115", ""
    for pattern, meaning in _MEANINGS:
        match = pattern.search(text)
        if match is not None:
            code, value = meaning, (match[1] or "" if match.re.groups else "")
            break
    first, *rest = [line.strip() for line in text.split("\n") if line.strip()]
    detail = rest[:4]
    if _NO_SHAPE in text and not value:
        value, detail = _without_shape(file.proto)
    is_forgiven = code == "GI115" and any(reason in text for reason in _TOLERATED)
    where, severity = _location(file.proto, text, value, locations), Severity.WARNING if is_forgiven else None
    yield diagnostic(code, f"onnx.checker: {first}", where, detail=tuple(detail), severity=severity)


def _newer_than_onnx(model: ModelProto) -> str:
    """The versions in the file that are newer than the installed onnx, though this package knows them; "" if none."""
    if onnx.IR_VERSION < model.ir_version <= NEWEST_IR_VERSION:
        return f"IR version {model.ir_version}"
    imports = [entry for holder in (model, *model.functions) for entry in holder.opset_import]
    newest = max((entry.version for entry in imports if not plain_domain(entry.domain)), default=0)
    if INSTALLED_OPSET < newest <= NEWEST_OPSET:
        return f"opset {newest} of ai.onnx"
    unknown = sorted({entry.domain for entry in imports if plain_domain(entry.domain) in newer_domains()})
    return f"domain {unknown[0]}" if unknown else ""


def _without_shape(model: ModelProto) -> tuple[str, list[str]]:
    """The name of the first input or output without a shape, and detail lines that list all of them.

    The checker's message omits the name. It is "" if every input and output has a shape.
    """
    names = [
        [v.name for v in values if v.type.HasField("tensor_type") and not v.type.tensor_type.HasField("shape")]
        for values in (model.graph.input, model.graph.output)
    ]
    remedies = ("--input 'NAME=[...]' with infer -o declares it", "infer -o declares the inferred shape")
    details = [
        f"{kind}s without a shape: {', '.join(found)}; {remedy}"
        for kind, found, remedy in zip(("input", "output"), names, remedies, strict=True)
        if found
    ]
    return next(iter(names[0] + names[1]), ""), details


def _refusal(model: ModelProto) -> str | None:
    try:
        onnx.checker.check_model(model)
    except _REFUSALS as error:
        return str(error)
    except ValueError as error:  # the serialized model exceeds protobuf's limit of 2 GiB
        return None if "2GiB" in str(error) or "too large" in str(error).lower() else str(error)
    return None


def _without_payloads(model: ModelProto) -> ModelProto:
    """A copy of the model in which large and external tensors are empty; other checks cover their data."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in iter_tensors(copy):
        if is_external(tensor) or len(tensor.raw_data) > LARGE:
            empty = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=[0])
            tensor.CopyFrom(empty)
    return copy


def _location(model: ModelProto, text: str, value: str, locations: NodeLocations) -> Location:
    """The location of the node that the checker's message `text` names.

    If the message names no node, or several nodes have the name and operator, the location of `value`.
    """
    match = _NODE.search(text)
    if match is None:
        return Location(value=value)
    name, op_type = match[1].strip(), match[2]
    found = [
        (path, position)
        for path, body in bodies(model)
        for position, node in enumerate(body.node)
        if node.name == name and node.op_type == op_type
    ]
    if len(found) != 1:
        return Location(value=value)
    return locations.location(*found[0], value)
