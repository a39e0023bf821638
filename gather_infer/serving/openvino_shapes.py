"""Bounded shapes in the notation of OpenVINO: `ids[1..8,..64]`."""

from __future__ import annotations

import shlex

from gather_infer.contract import Contract
from gather_infer.errors import EmissionRefused
from gather_infer.serving.bounded import BoundedSizes
from gather_infer.serving.emission import Emission, Notes
from gather_infer.symbolic import Interval


def openvino_shapes(contract: Contract) -> Emission:
    """A command of OpenVINO's `ovc` with the bounded shape of each input, or of `benchmark_app` for an OpenVINO IR.

    A dim is a number, bounds `1..8`, `1..` or `..8`, or `?`; `openvino.PartialShape` reads the shapes.
    https://docs.openvino.ai/2025/openvino-workflow/model-preparation/setting-input-shapes.html
    """
    sizes = BoundedSizes(contract)
    axes = {(axis.input, axis.number): axis for axis in sizes.system.axes}
    texts = []
    for spec in contract.inputs:
        if not set(spec.name).isdisjoint("[]()<,"):
            raise EmissionRefused(f"ovc cannot read the name of input {spec.name!r}, which contains one of []()<,")
        dims = (
            Interval(dim, dim) if isinstance(dim, int) else sizes.of_axis(axes[spec.name, number])
            for number, dim in enumerate(spec.shape or ())
        )
        texts.append(f"{spec.name}[{','.join(map(partial_dim, dims))}]")
    program = "benchmark_app -m {} -shape {}" if contract.model.endswith(".xml") else "ovc {} --input {}"
    body = f"{program.format(shlex.quote(contract.model), shlex.quote(','.join(texts)))}\n"
    return Notes(sizes.inexpressible(sizes.bounds)).emission("openvino", contract, body)


def partial_dim(bounds: Interval) -> str:
    """An interval as a dim of a PartialShape: `3`, `1..8`, `1..`, `..8` or `?`."""
    low, high = bounds.lo or 0, bounds.hi
    if low == high:
        return str(low)
    if high is None:
        return f"{low}.." if low else "?"
    return f"{low or ''}..{high}"
