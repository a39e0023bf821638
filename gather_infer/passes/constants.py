"""The constants of a draft: their bits, and one name for small ones that are the same."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import numpy.typing as npt
from onnx import TensorProto, numpy_helper

from gather_infer.inference.proto.tensors import constant_fact
from gather_infer.passes.draft import Draft, Graph
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.rewrite import Unavailable
from gather_infer.tensor import DType, SymbolicTensor

SMALL: Final = 64
"""Elements of a constant that costs nothing to read in a run."""


class Constants:
    """What graphs hold as constants, read when it is asked for, and where a new one gets its name."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self._loaded: dict[int, tuple[object, Constant | None]] = {}
        self._pools: dict[Graph, dict[tuple[object, ...], list[str]]] = {}

    def load(self, graph: Graph, name: str) -> Constant | None:
        """The bits of a constant; None when the name stands for none."""
        held = graph.held(name)
        if held is None or isinstance(held, Constant):
            return held
        found = self._loaded.get(id(held))
        if found is None:
            found = self._loaded[id(held)] = held, self.draft.subject.read(held)
        return found[1]

    def shared(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a constant of the graph that is the same bit for bit, or of a new one, added to `made`.

        Raises Unavailable where the graph may get none of its type.
        """
        key = key_of(constant)
        if key is not None:
            for name in self._pool(graph).get(key, ()):
                if name in graph.constants:
                    return name
            for name, other in made.items():
                if key_of(other) == key:
                    return name
        return self.own(graph, constant, base, made)

    def own(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a new constant, added to `made`. Raises Unavailable as `shared`."""
        if not self.draft.may_add_constant(graph, constant):
            raise Unavailable
        name = self.draft.subject.index.fresh(f"{base}_constant")
        made[name] = constant
        return name

    def share(self, graph: Graph, name: str) -> Hashable:
        """Let a constant of a graph be found that is no node; what tells it apart, None for a large one."""
        held = graph.constants.get(name)
        if not isinstance(held, Constant) or name in graph.producers:
            return None
        key = key_of(held)
        if key is not None:
            self._pool(graph).setdefault(key, []).append(name)
        return key

    def _pool(self, graph: Graph) -> dict[tuple[object, ...], list[str]]:
        """The small initializers of a graph, and those that were there once, by what tells them apart."""
        pool = self._pools.get(graph)
        if pool is None:
            pool = self._pools[graph] = {}
            for name, held in graph.initializers.items():
                if _elements(held) <= SMALL:
                    found = self.load(graph, name)  # of one that can be overridden, none
                    key = None if found is None else key_of(found)
                    if key is not None:
                        pool.setdefault(key, []).append(name)
        return pool


def fact_of(constant: Constant) -> SymbolicTensor:
    """What is known of a constant."""

    def read() -> npt.NDArray[Any]:
        numbers = constant.to_indices()
        return numpy_helper.to_array(constant.to_tensor("")) if numbers is None else numbers

    return constant_fact(DType(constant.data_type), constant.shape, read)


def _elements(held: object) -> int:
    if not isinstance(held, TensorProto):
        return SMALL + 1
    count = 1
    for dim in held.dims:
        count *= dim
    return count


def key_of(constant: Constant) -> tuple[object, ...] | None:
    """What tells small constants apart: type, shape and bits."""
    if constant.bits.size > SMALL:
        return None
    bits = tuple(constant.bits.ravel().tolist()) if constant.bits.dtype.hasobject else constant.bits.tobytes()
    return constant.data_type, constant.bits.shape, bits
