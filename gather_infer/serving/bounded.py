"""Bounds of each size, for formats that take one shape per input, and the relations that such bounds do not imply."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.contract import Contract
from gather_infer.errors import EmissionRefused
from gather_infer.serving.boxes import implied_sizes, unproved
from gather_infer.serving.emission import element_texts, open_texts, size_texts, unique
from gather_infer.serving.sizes import Axis, Box, SizeSystem
from gather_infer.symbolic import Interval, free_symbols, symbol


class BoundedSizes:
    """The interval of each free size that the contract implies. Not every point of it is legal.

    system   the sizes of the contract
    bounds   the interval by free size
    """

    def __init__(self, contract: Contract) -> None:
        """Raise EmissionRefused if the rank of an input is unknown."""
        for spec in contract.inputs:
            if spec.shape is None:
                raise EmissionRefused(f"the rank of input {spec.name} is unknown")
        self.contract = contract
        self.system = SizeSystem(contract)
        self._scope = implied_sizes(self.system.conditions)
        self.bounds = {name: self._scope.bounds(symbol(name)) for name in self.system.free}

    def of_axis(self, axis: Axis) -> Interval:
        """The interval of the size of an axis."""
        return self._scope.bounds(axis.size) & Interval(0, None)

    def inexpressible(self, kept: Box, *, ties: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The texts of everything that the contract requires and a format does not express.

        kept   the bounds that the format expresses
        ties   the names of sizes that the format has equal on all axes
        """
        box = {name: kept.get(name, Interval(0, None)) for name in self.system.free}
        return unique(
            (
                *size_texts(unproved(self.system.conditions, box)),
                *self.equations(ties),
                *element_texts(self.contract),
                *open_texts(self.contract),
            )
        )

    def equations(self, ties: frozenset[str] = frozenset()) -> Iterator[str]:
        """Yield the equations between axes: `ids.0 == mask.0` of a size outside `ties`, `mask.1 == past + seq`."""
        followers = set(self.system.followers)
        for name in self.system.free:
            same = [
                axis.name for axis in self.system.axes if axis not in followers and free_symbols(axis.size) == {name}
            ]  # fmt: skip
            if len(same) > 1 and name not in ties:
                yield " == ".join(same)
        yield from (f"{axis.name} == {axis.declared}" for axis in self.system.followers)


__all__ = ["BoundedSizes"]
