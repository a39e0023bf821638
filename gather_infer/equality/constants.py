"""The constants of both models, each read once for all proofs, and the weights that differ.

A weight that both models have under one name, with equal elements, is one object, so that no proof compares it again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from gather_infer.equality.result import WeightDifference
from gather_infer.inference import Inference
from gather_infer.ir.constant import Constant, read_attribute, read_tensor
from gather_infer.ir.graph import Graph, Node
from gather_infer.tensor import DType

MAX_KEYED: Final = 256
"""Largest number of bytes of an attribute that is a key: Constant nodes with equal ones are read once."""


class ModelConstants:
    """The constants of a model by their exact bits."""

    def __init__(self, inference: Inference) -> None:
        self.main = inference.ir.main
        self._model = inference.model
        self._initializers: dict[tuple[Graph, str], Constant | None] = {}
        self._values: dict[Hashable, Constant | None] = {}

    def initializer(self, graph: Graph, name: str) -> Constant | None:
        """The elements of an initializer of a graph; None if there is none, or it cannot be read."""
        key = graph, name
        if key not in self._initializers:
            held = graph.initializers.get(name)
            self._initializers[key] = None if held is None else read_tensor(self._model, held)
        return self._initializers[key]

    def of_node(self, node: Node) -> Constant | None:
        """The elements of a Constant node; None for another node, and if they cannot be read."""
        if not node.is_constant or not node.proto.attribute:
            return None
        attribute = node.proto.attribute[0]
        key = attribute.SerializeToString() if attribute.ByteSize() <= MAX_KEYED else node
        if key not in self._values:
            self._values[key] = read_attribute(self._model, attribute)
        return self._values[key]

    def share(self, name: str, elements: Constant) -> None:
        """Replace a weight of the main graph by the equal elements of the other model."""
        self._initializers[self.main, name] = elements


def changed_weights(one: ModelConstants, two: ModelConstants) -> Iterator[WeightDifference]:
    """The initializers that both main graphs have, with other elements; those with equal elements are shared."""
    for name in one.main.initializers:
        if name not in two.main.initializers:
            continue
        mine, its = one.initializer(one.main, name), two.initializer(two.main, name)
        if mine is None or its is None:
            continue
        if mine.data_type != its.data_type or mine.shape != its.shape:
            reason = f"{_type_of(its)} in the second model, and {_type_of(mine)} in the first"
            yield WeightDifference(name, reason=reason)
        elif np.array_equal(mine.plain, its.plain):
            two.share(name, mine)
        else:
            yield _element_difference(name, mine, its)


def _type_of(constant: Constant) -> str:
    return f"{DType(constant.data_type)}{list(constant.shape)}"


def _element_difference(name: str, mine: Constant, its: Constant) -> WeightDifference:
    differing = int((mine.plain != its.plain).sum())
    dtype = DType(mine.data_type)
    largest = None
    if (dtype.is_float or dtype.is_integer) and dtype.has_dtype and dtype.dtype.itemsize == mine.plain.dtype.itemsize:
        a, b = (np.asarray(each.plain).view(dtype.dtype).astype(np.float64) for each in (mine, its))
        with np.errstate(invalid="ignore"):
            gap = np.abs(a - b)
        largest = float(np.nanmax(gap)) if not np.isnan(gap).all() else float("nan")
    return WeightDifference(name, (differing, mine.plain.size), largest)
