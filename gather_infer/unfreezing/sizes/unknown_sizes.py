"""Sizes of a Resize that nothing before it tells: a symbol takes their place until a later node equates it with a size.

A mask that is resized to the size of the features, say, meets them many nodes later, in an Add. The walk ends there and
begins again, with the size of the features. No other one is possible: the network runs at no other size than the old
one unless both are equal. If the symbol meets no size, the model is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.factors.axis_factors import Factors, is_free
from gather_infer.unfreezing.result import Blocked
from gather_infer.unfreezing.sizes.computed_sizes import Site

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk


class SizesFound(Exception):
    """The sizes that symbols stand for; ends a walk, which begins again with them."""

    def __init__(self, sizes: Mapping[Site, Dim]) -> None:
        super().__init__(str(sizes))
        self.sizes = sizes


class UnknownSizes:
    """The symbols of a walk.

    found   axis of a result of Resize -> its size, from earlier walks
    sites   symbol -> the axis that it is the size of
    fault   of the first Resize with such an axis
    """

    def __init__(self, walk: UnfreezingWalk, found: Mapping[Site, Dim]) -> None:
        self.walk, self.found = walk, found
        self.sites: dict[str, Site] = {}
        self.fault: Blocked | None = None

    def size_of(self, node: NodeProto, axis: int, old: int, problem: str) -> Dim:
        """The size of an axis of the result: from an earlier walk, or a symbol."""
        if self.walk.path.steps:
            raise Blocked(self.walk.label(node), problem)
        site = Site(node.output[0], axis)
        if site in self.found:
            return self.found[site]
        name = self.walk.fresh("size")
        self.sites[name] = site
        self.walk.freed[name] = old
        self.walk.samples.add_length(name, old)
        self.fault = self.fault or Blocked(self.walk.label(node), problem)
        return symbol(name)

    def vector(self, dims: Sequence[Dim]) -> str:
        """A value with sizes, which a walk can read; the result of such a walk is not used."""
        name = self.walk.fresh("sizes")
        elements = np.empty(len(dims), object)
        elements[:] = dims
        self.walk.environment.values[name] = SymbolicTensor(DType.INT64, (len(dims),), values=elements)
        return name

    def has(self, dims: Sequence[Dim]) -> bool:
        return any(isinstance(dim, Expr) and not dim.symbols.isdisjoint(self.sites) for dim in dims)

    def resolve(self, node: NodeProto) -> None:
        """Raise SizesFound if the operands of a node equate symbols with sizes."""
        sizes: dict[Site, Dim] = {}
        for mine, its in self._equated(node):
            if len(mine) != len(its):
                continue
            for factor, size in zip(mine, its, strict=True):
                if str(factor) in self.sites and is_free(size, self.walk.freed):
                    sizes.setdefault(self.sites[str(factor)], size)
        if sizes:
            raise SizesFound(sizes)

    def _equated(self, node: NodeProto) -> Iterator[tuple[Factors, Factors]]:
        """The factors of axes that a node requires to be equal: of one with a symbol, and of one without."""
        joined = next((a.i for a in node.attribute if a.name == "axis"), None) if node.op_type == "Concat" else None
        if node.op_type not in BROADCASTING and joined is None:
            return
        operands = [self.walk.factors[name] for name in node.input if name in self.walk.factors]
        for axis in range(1, max(map(len, operands), default=0) + 1):
            held = [axes[-axis] for axes in operands if axis <= len(axes)]
            if joined is not None and joined % len(operands[0]) == len(operands[0]) - axis:
                continue
            for mine in held:
                if self.has(mine):
                    yield from ((mine, its) for its in held if not self.has(its))
