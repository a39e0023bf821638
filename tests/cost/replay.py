"""A run of a model replayed in the order of the file, with the sizes that its tensors really have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto


def peak(model: ModelProto, arrays: Mapping[str, Any]) -> int:
    """The most bytes that are there at once, when each tensor goes after its last reader and outputs stay.

    arrays   every input and every output of a node, by name. Constants are not counted.
    """
    constants = {t.name for t in model.graph.initializer} | {
        name for node in model.graph.node if node.op_type == "Constant" for name in node.output
    }
    held = {i.name for i in model.graph.input} - constants
    most = sum(_nbytes(arrays[name]) for name in held)
    outputs = {o.name for o in model.graph.output}
    nodes = [node for node in model.graph.node if node.op_type != "Constant"]
    readers = [set(_reads(node)) for node in nodes]
    later = [set[str]() for _ in nodes]  # what nodes behind each one read
    for position in range(len(nodes) - 1, 0, -1):
        later[position - 1] = later[position] | readers[position]
    held &= outputs | set().union(*readers)
    for position, node in enumerate(nodes):
        held |= {name for name in node.output if name}
        most = max(most, sum(_nbytes(arrays[name]) for name in held))
        held &= outputs | later[position]
    return most


def _nbytes(value: Any) -> int:
    """Bytes of an array, or of all members of a sequence."""
    return sum(map(_nbytes, value)) if isinstance(value, list) else int(np.asarray(value).nbytes)


def _reads(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, the graphs in it too."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from _reads_of(attribute.g)


def _reads_of(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from _reads(node)
    yield from (output.name for output in graph.output)


def bound(facts: Mapping[str, Any], arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes of all symbols that are a dim of some tensor alone, those that nodes made too."""
    found = dict(sizes)
    for name, array in arrays.items():
        if isinstance(array, list):
            continue
        for dim, size in zip(getattr(facts.get(name), "shape", None) or (), np.shape(array), strict=False):
            if not isinstance(dim, int) and dim.is_symbol:
                found.setdefault(dim.name, size)
    return found
