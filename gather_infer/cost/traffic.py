"""Bytes that a node reads and writes: each input and output once."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.cost.place import Place
from gather_infer.cost.work import Work
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim

PARTIAL = frozenset({"Slice", "StridedSlice"})
"""Operators that read of their first input what they give, and no more; so do those of the gather family."""

TELL_DIMS = frozenset({"ShapeOf"})
"""As the trait `tells_dims`, for layers without a rule."""


def read_bytes(place: Place, node: NodeProto, work: Work, traits: Traits) -> Dim:
    """Bytes that a node reads of its inputs; one that is given twice is read once. Raises Untold.

    What tells dims does not read its first input, and what picks elements reads those that it gives.
    """
    given = dict(zip(node.input, work.inputs, strict=True))
    given.pop("", None)
    picked: Dim = 0
    first = node.input[0] if node.input else ""
    if traits.tells_dims or node.op_type in TELL_DIMS:
        given.pop(first, None)
    elif node.op_type in PARTIAL or (traits.gathers and traits.addresses and _data(traits) == 0):
        given.pop(first, None)
        picked = place.nbytes(work.outputs[:1])
    return picked + place.nbytes(given.values())


def _data(traits: Traits) -> int:
    """The position of the input that indices point into."""
    return next(iter(traits.addresses.values()))


def written_bytes(place: Place, node: NodeProto, work: Work) -> Dim:
    """Bytes of the outputs that somebody may read. Raises Untold."""
    return place.nbytes(value for name, value in zip(node.output, work.outputs, strict=True) if name)
