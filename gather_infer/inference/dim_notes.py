"""Notes about dim names that could be taken for expressions, and about expressions without an exact form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import GraphProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.inference.proto.dim_texts import DimText, NoteKind

_CODES = {
    NoteKind.NAME: ("GI120", "is taken as a name"),
    NoteKind.INEXACT: ("GI121", "has no exact size, so it is taken as a name"),
}


def dim_text_findings(noted: Mapping[str, DimText], graph: GraphProto) -> Iterator[Diagnostic]:
    """One note for each kind: its first dim_param in the message and the others in the detail."""
    for kind, (code, what) in _CODES.items():
        lines = [
            f"dim {text!r} {what}: {meaning.why}" for text, meaning in sorted(noted.items()) if meaning.note is kind
        ]
        if lines:
            first = min(text for text, meaning in noted.items() if meaning.note is kind)
            yield diagnostic(code, lines[0], Location(value=_declaring(graph, first)), detail=tuple(lines[1:]))


def _declaring(graph: GraphProto, text: str) -> str:
    """The first value of the main graph that declares the dim; "" if only bodies do."""
    values = (*graph.input, *graph.value_info, *graph.output)
    return next((str(v.name) for v in values if any(dim.dim_param == text for dim in dims_of(v.type))), "")
