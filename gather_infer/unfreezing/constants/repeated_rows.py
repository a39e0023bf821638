"""Constants that are rows of the old size, found behind a node that does not fit.

Queries of a detector are a constant, repeated for each image, and pass a few layers before they meet the image. No node
of these layers contradicts another batch: all of them are computed from constants. The node at which they meet does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from onnx import NodeProto

from gather_infer.tensor import SymbolicTensor

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_REPEATING: Final = frozenset({"Tile", "Expand", "ConstantOfShape"})
MAX_REPEATED: Final = 8


class RepeatedRow(NamedTuple):
    """A value without the freed size, and an axis that may count its rows; `symbol` is that size."""

    value: str
    axis: int
    symbol: str


def repeated_rows(walk: UnfreezingWalk, node: NodeProto) -> Iterator[RepeatedRow]:
    """The constants with equal rows, and values that repeat one, behind operands that no freed input reaches.

    Nearest first. A row that is repeated once tells nothing: sizes of 1 are left out, and so are lengths.
    """
    sizes = {name: size for name, size in walk.freed.items() if name in walk.row_symbols and size > 1}
    pending = [name for name in node.input if name and name not in walk.dependent]
    seen = set(pending)
    while pending:
        name = pending.pop(0)
        producer = walk.producer(name)
        if producer is None or producer.op_type in _REPEATING:
            yield from (RepeatedRow(name, axis, symbol) for symbol, size in sizes.items()
                        for axis in _repeated(walk, name, producer, size))  # fmt: skip
        for given in () if producer is None else producer.input:
            if given and given not in seen:
                seen.add(given)
                pending.append(given)


def _repeated(walk: UnfreezingWalk, name: str, producer: NodeProto | None, size: int) -> Iterator[int]:
    """The axes of the old size along which the rows of a value are equal."""
    fact = walk.environment.values.get(name)
    shape = fact.shape if isinstance(fact, SymbolicTensor) and fact.shape is not None else ()
    for axis in (axis for axis, dim in enumerate(shape) if dim == size):
        if producer is not None:
            yield axis  # the rule of the operator decides
            continue
        array = walk.array(name)
        if array is not None and np.array_equal(array, np.broadcast_to(np.take(array, [0], axis), array.shape)):
            yield axis
