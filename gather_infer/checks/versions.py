"""IR version and opset versions of a file that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto

from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.domains import versions_of
from gather_infer.inference.proto.releases import RELEASES

FUNCTIONS_SINCE = 8
OVERLOADS_SINCE = 10
"""The IR versions that introduced model functions and overloads of functions."""


def version_findings(model: ModelProto) -> Iterator[Diagnostic]:
    """A finding for each opset, and for functions and overloads, that are newer than the IR version of the file."""
    ir_version = model.ir_version
    for domain, version in versions_of(model.opset_import).items():
        needed = _ir_version_of(domain, version)
        if needed is not None and ir_version < needed:
            called = domain or "ai.onnx"
            yield diagnostic(
                "GI113",
                f"opset {version} of {called} came with IR version {needed}, the file has IR version {ir_version}",
            )
    if model.functions and ir_version < FUNCTIONS_SINCE:
        message = f"functions came with IR version {FUNCTIONS_SINCE}, the file has IR version {ir_version}"
        yield diagnostic("GI113", message)
    if ir_version < OVERLOADS_SINCE and any(f.overload for f in model.functions):
        message = f"overloads came with IR version {OVERLOADS_SINCE}, the file has IR version {ir_version}"
        yield diagnostic("GI113", message)


def _ir_version_of(domain: str, version: int) -> int | None:
    """The IR version of the release that introduced an opset; None if onnx's table lacks the domain or the version."""
    column = {"": "onnx", "ai.onnx.ml": "ml", "ai.onnx.preview.training": "training", "ai.onnx.training": "training"}
    name = column.get(domain)
    if name is None:
        return None
    return min((release.ir_version for release in RELEASES if getattr(release, name) >= version), default=None)
