"""Memory traffic of a node: bytes read and written, each input and output counted once."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.cost.graph_instance import GraphInstance
from gather_infer.cost.work import Work
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim

PARTIAL = frozenset({"Slice", "StridedSlice"})
"""Operators that read only the elements of their first input that they output; the gather family does so too."""

OUTPUT_DIMS = frozenset({"ShapeOf"})
"""Layers without a rule that output dims of their input, like rules with the trait `outputs_dims`."""


def read_bytes(instance: GraphInstance, node: NodeProto, work: Work, traits: Traits) -> Dim:
    """Bytes that a node reads; a tensor that is several inputs is read once. Raises CostUnknown.

    An operator that outputs dims does not read its first input. One that selects elements reads as many as it outputs.
    """
    remaining = dict(zip(node.input, work.inputs, strict=True))
    remaining.pop("", None)
    picked: Dim = 0
    first = node.input[0] if node.input else ""
    if traits.outputs_dims or node.op_type in OUTPUT_DIMS:
        remaining.pop(first, None)
    elif node.op_type in PARTIAL or (traits.gathers and traits.addresses and _data(traits) == 0):
        remaining.pop(first, None)
        picked = instance.nbytes(work.outputs[:1])
    return picked + instance.nbytes(remaining.values())


def _data(traits: Traits) -> int:
    """Position of the input that the indices address."""
    return next(iter(traits.addresses.values()))


def written_bytes(instance: GraphInstance, node: NodeProto, work: Work) -> Dim:
    """Bytes of the outputs that have a name. Raises CostUnknown."""
    return instance.nbytes(value for name, value in zip(node.output, work.outputs, strict=True) if name)
