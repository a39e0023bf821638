"""Tensors with too many elements for 32-bit offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.inference import Inference
from gather_infer.symbolic import known_le, product
from gather_infer.tensor import SymbolicTensor

MIN_ELEMENTS: Final = 1 << 31


def large_tensor_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each indexed tensor that has 2^31 elements or more in every run.

    https://github.com/microsoft/onnxruntime/issues/28107: the CUDA kernel computed offsets in 32 bits.
    """
    reported: set[tuple[object, str]] = set()
    for access in inference.accesses:
        data = access.data_type
        if not isinstance(data, SymbolicTensor) or not data.shape or (access.node.graph, access.data) in reported:
            continue
        elements = product(data.shape)
        if known_le(MIN_ELEMENTS, elements, inference.known):
            reported.add((access.node.graph, access.data))
            message = f"{access.data} has {elements} elements: kernels with 32-bit offsets misread those past 2^31"
            where = locations.location(access.node.graph, access.node.position, f"input {access.data}")
            detail = (f"{access.data} is {data}", "onnxruntime's CUDA Gather did so: onnxruntime#28107")
            yield diagnostic("GI323", message, where, detail=detail)
