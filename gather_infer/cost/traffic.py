"""Memory traffic of a node: bytes read and written, each input and output counted once."""

from __future__ import annotations

from onnx import NodeProto

from gather_infer.cost.graph_instance import GraphInstance
from gather_infer.cost.work import Work
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim

PARTIAL = frozenset({"Slice", "StridedSlice"})
"""Operators that, like the gather family, read only those elements of their first input that they output."""

OUTPUT_DIMS = frozenset({"ShapeOf"})
"""OpenVINO layers that have no rule and output dims of their input, as rules with the trait `outputs_dims` do."""


def read_bytes(instance: GraphInstance, node: NodeProto, work: Work, traits: Traits) -> Dim:
    """The number of bytes that a node reads; a tensor used as several inputs counts once.

    An operator that outputs dims does not read its first input. An operator that selects elements of its first input
    reads as many elements of it as it outputs. Raises CostUnknown if the size of an input is unknown.
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
    """Index of the input that the index inputs address."""
    return next(iter(traits.addresses.values()))


def written_bytes(instance: GraphInstance, node: NodeProto, work: Work) -> Dim:
    """The number of bytes of the outputs that have a name. Raises CostUnknown if one of the sizes is unknown."""
    return instance.nbytes(value for name, value in zip(node.output, work.outputs, strict=True) if name)
