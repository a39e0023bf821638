"""Single layers of OpenVINO as test cases: what a case is, and what builds one where OpenVINO is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Variant = Literal["static", "dynamic", "bounded", "unranked"]
Engine = Literal["plugin", "evaluate", "reshaped"]


@dataclass(frozen=True, slots=True)
class Case:
    """A small model.

    build      makes it of a `Build`, in a process that has OpenVINO, and gives its outputs
    variants   with the shapes as they are, with every dim of every input `?` or between bounds, or with no rank: inputs
               come from a Reshape by a pattern that is fed
    engine     who says what is right: the CPU plugin, or `Model.evaluate` where the plugin is known to be wrong, or the
               plugin on the model reshaped to the sizes of the feeds where it is wrong of unknown ones alone
    rtol       of floats, relative to the largest element; integers and what only moves are equal
    witness    gives the outputs of the feeds by the formula of the operator's page, where OpenVINO is wrong throughout
    unordered  the elements of the last axis may come in any order
    instead    makes a model of the same inputs that OpenVINO is asked about, where it is wrong about this one
    """

    build: Callable[[Any], Any]
    variants: Sequence[Variant] = ("static", "dynamic")
    engine: Engine = "plugin"
    rtol: float | None = None
    instead: Callable[[Any], Any] | None = None
    witness: Callable[..., Sequence[npt.NDArray[Any]]] | None = None


@dataclass(slots=True)
class Build:
    """Builder of a case; only the process that has OpenVINO makes one."""

    variant: Variant
    ov: Any
    seed: int
    parameters: list[Any] = field(default_factory=list)
    feeds: list[npt.NDArray[Any]] = field(default_factory=list)

    def param(self, data: npt.ArrayLike, element: str = "", *, fixed: Sequence[int] = ()) -> Any:
        """An input that is fed with these elements.

        element   for a type that numpy lacks (bf16)
        fixed     axes whose sizes are known in every variant
        """
        array = np.asarray(data)
        shape = self._shape(array.shape)
        for axis in fixed if shape.rank.is_static else ():
            shape[axis % array.ndim] = self.ov.Dimension(array.shape[axis])
        made = self.ov.opset16.parameter(shape, element or array.dtype, name=f"in{len(self.parameters)}")
        self.parameters.append(made)
        self.feeds.append(array)
        return self._unranked(made, array.shape) if self.variant == "unranked" else made

    def _unranked(self, made: Any, shape: Sequence[int]) -> Any:
        """A value of unknown rank, as an input of ONNX has to have one."""
        ops = self.ov.opset16
        pattern = ops.parameter(self.ov.PartialShape([-1]), np.int64, name=f"in{len(self.parameters)}")
        self.parameters.append(pattern)
        self.feeds.append(np.array(shape, np.int64))
        return ops.reshape(made, pattern, False)

    def texts(self, *texts: str) -> Any:
        """An input of strings, in one dim."""
        made = self.ov.opset16.parameter(self._shape((len(texts),)), self.ov.Type.string, name="texts")
        self.parameters.append(made)
        self.feeds.append(np.array(texts))
        return made

    def _shape(self, sizes: Sequence[int]) -> Any:
        match self.variant:
            case "static":
                return self.ov.PartialShape(list(sizes))
            case "dynamic":
                return self.ov.PartialShape([-1] * len(sizes))
            case "bounded":
                return self.ov.PartialShape([self.ov.Dimension(n // 2, n + 3) for n in sizes])
            case "unranked":
                return self.ov.PartialShape([-1] * len(sizes))

    def const(self, data: npt.ArrayLike, element: str = "") -> Any:
        """A constant; `element` for a type that numpy lacks: the elements are converted to it."""
        array = np.asarray(data)
        if not element:
            return self.ov.opset16.constant(array)
        return self.ov.op.Constant(
            getattr(self.ov.Type, element), self.ov.Shape(list(array.shape)), array.ravel().tolist()
        )

    def packed(self, element: str, shape: Sequence[int], data: bytes) -> Any:
        """A constant by the bytes that a file has of it."""
        tensor = self.ov.Tensor(getattr(self.ov.Type, element), self.ov.Shape(list(shape)))
        held = np.frombuffer(data, np.uint8)[: tensor.byte_size]
        tensor.data.view(np.uint8).reshape(-1)[...] = held
        return self.ov.op.Constant(tensor)

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
