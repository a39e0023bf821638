"""The constants of a mutable model: their elements, and a pool in which equal small constants share one name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import numpy.typing as npt
from onnx import TensorProto

from gather_infer.inference.proto.tensors import constant_fact
from gather_infer.ir.constant import Constant
from gather_infer.model.elements import to_array
from gather_infer.passes.mutable_model import Graph, MutableModel
from gather_infer.passes.rewrite import Unavailable
from gather_infer.tensor import DType, SymbolicTensor

SMALL: Final = 64
"""Maximum number of elements of a constant whose reading counts as free, and which equal constants share."""


class Constants:
    """The constants of all graphs: loads their elements on demand, and names new constants."""

    def __init__(self, model: MutableModel) -> None:
        self.model = model
        self._loaded: dict[int, tuple[object, Constant | None]] = {}
        self._pools: dict[Graph, dict[tuple[object, ...], list[str]]] = {}

    def load(self, graph: Graph, name: str) -> Constant | None:
        """The elements of a constant; None if `name` is not a constant."""
        payload = graph.constant_payload(name)
        if payload is None or isinstance(payload, Constant):
            return payload
        found = self._loaded.get(id(payload))
        if found is None:
            found = self._loaded[id(payload)] = payload, self.model.pass_input.read(payload)
        return found[1]

    def get_or_add(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a constant of the graph with the same bits, or of a new one, which is added to `made`.

        base   the start of the name of a new constant

        Raises Unavailable if the graph cannot hold a new constant of its type.
        """
        key = key_of(constant)
        if key is not None:
            for name in self._pool(graph).get(key, ()):
                if name in graph.constants:
                    return name
            for name, other in made.items():
                if key_of(other) == key:
                    return name
        return self.add_new(graph, constant, base, made)

    def add_new(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a new constant, which is added to `made`. Raises Unavailable as `get_or_add`."""
        if not self.model.may_add_constant(graph, constant):
            raise Unavailable
        name = self.model.fresh(f"{base}_constant")
        made[name] = constant
        return name

    def register(self, graph: Graph, name: str) -> Hashable:
        """Add a new initializer to the pool of shared constants. Returns its key there; None if it is too large."""
        payload = graph.constants.get(name)
        if not isinstance(payload, Constant) or name in graph.producers:
            return None
        key = key_of(payload)
        if key is not None:
            self._pool(graph).setdefault(key, []).append(name)
        return key

    def _pool(self, graph: Graph) -> dict[tuple[object, ...], list[str]]:
        """The names of the small initializers of a graph, including removed ones, by key."""
        pool = self._pools.get(graph)
        if pool is None:
            pool = self._pools[graph] = {}
            for name, payload in graph.initializers.items():
                if _elements(payload) <= SMALL:
                    found = self.load(graph, name)  # None for one that a caller may override
                    key = None if found is None else key_of(found)
                    if key is not None:
                        pool.setdefault(key, []).append(name)
        return pool


def fact_of(constant: Constant) -> SymbolicTensor:
    """The type, shape and elements of a constant as a fact."""

    def read() -> npt.NDArray[Any]:
        numbers = constant.to_indices()
        return to_array(constant.to_tensor("")) if numbers is None else numbers

    return constant_fact(DType(constant.data_type), constant.shape, read)


def _elements(payload: object) -> int:
    if not isinstance(payload, TensorProto):
        return SMALL + 1
    count = 1
    for dim in payload.dims:
        count *= dim
    return count


def key_of(constant: Constant) -> tuple[object, ...] | None:
    """The type, shape and bits of a small constant, as a key; None for a larger one."""
    if constant.bits.size > SMALL:
        return None
    bits = tuple(constant.bits.ravel().tolist()) if constant.bits.dtype.hasobject else constant.bits.tobytes()
    return constant.data_type, constant.bits.shape, bits
