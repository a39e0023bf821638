"""Single layers of OpenVINO as test cases: what a case is, and what builds one where OpenVINO is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Variant = Literal["static", "dynamic"]
Engine = Literal["plugin", "evaluate"]


@dataclass(frozen=True, slots=True)
class Case:
    """A small model.

    build      makes it of a `Build`, in a process that has OpenVINO, and gives its outputs
    variants   with the shapes as they are, or with every dim of every input `?`
    engine     who says what is right: the CPU plugin, or `Model.evaluate` where the plugin is known to be wrong
    rtol       of floats, relative to the largest element; integers and what only moves are equal
    unordered  the elements of the last axis may come in any order
    witness    what is right, of the feeds, where OpenVINO does not run the layer at all
    """

    build: Callable[[Any], Any]
    variants: Sequence[Variant] = ("static", "dynamic")
    engine: Engine = "plugin"
    rtol: float | None = None
    witness: Callable[..., Sequence[npt.NDArray[Any]]] | None = None


@dataclass(slots=True)
class Build:
    """What a case builds with; only the process that has OpenVINO makes one."""

    variant: Variant
    ov: Any
    seed: int
    parameters: list[Any] = field(default_factory=list)
    feeds: list[npt.NDArray[Any]] = field(default_factory=list)

    def param(self, data: npt.ArrayLike, element: str = "", *, fixed: Sequence[int] = ()) -> Any:
        """An input that is fed with these elements; `element` for a type that numpy lacks (bf16).

        fixed   axes that are a number in the dynamic variant too
        """
        array = np.asarray(data)
        is_free = [self.variant == "dynamic" and axis not in fixed for axis in range(array.ndim)]
        shape = self.ov.PartialShape([-1 if free else d for free, d in zip(is_free, array.shape, strict=True)])
        made = self.ov.opset16.parameter(shape, element or array.dtype, name=f"in{len(self.parameters)}")
        self.parameters.append(made)
        self.feeds.append(array)
        return made

    def const(self, data: npt.ArrayLike, element: str = "") -> Any:
        """A constant; `element` for a type that numpy lacks: the elements are converted to it."""
        array = np.asarray(data)
        if not element:
            return self.ov.opset16.constant(array)
        return self.ov.op.Constant(self.ov.Type(element), self.ov.Shape(list(array.shape)), array.ravel().tolist())

    def op(self, opset: int, type_name: str, inputs: Sequence[Any], **attributes: Any) -> Any:
        """A layer of an opset of OpenVINO."""
        from openvino.utils.node_factory import NodeFactory

        given = [one.output(0) if hasattr(one, "output") and not hasattr(one, "get_node") else one for one in inputs]
        return NodeFactory(f"opset{opset}").create(type_name, given, attributes)

    def floats(self, *shape: int, low: float = -2.0, high: float = 2.0, dtype: str = "f4") -> npt.NDArray[Any]:
        """Random numbers, the same for the same seed."""
        return self._random().uniform(low, high, shape).astype(dtype)

    def integers(self, *shape: int, low: int = -8, high: int = 8, dtype: str = "i8") -> npt.NDArray[Any]:
        """Random integers in [low, high)."""
        return self._random().integers(low, high, shape).astype(dtype)

    def bools(self, *shape: int) -> npt.NDArray[np.bool_]:
        return self._random().integers(0, 2, shape).astype(np.bool_)

    def _random(self) -> np.random.Generator:
        self.seed += 1
        return np.random.default_rng(self.seed)
