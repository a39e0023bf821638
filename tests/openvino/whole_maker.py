"""Builders of whole models, where OpenVINO is installed: a builder takes a `Maker` and returns a `Whole`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Feeds: TypeAlias = "dict[str, npt.NDArray[Any]]"


@dataclass(frozen=True, slots=True)
class Whole:
    """A model of OpenVINO and the inputs of its steps, each of which goes on from the state of the one before.

    instead   a model that computes the same, where OpenVINO does not run this one
    """

    model: Any
    steps: Sequence[Feeds]
    instead: Any = None


@dataclass(frozen=True, slots=True)
class Maker:
    """The graph under construction; only the process that has OpenVINO makes one.

    is_plain   weights are not compressed: for OpenVINO to be asked about, whose plugin does not run all their layouts
    """

    ov: Any
    is_plain: bool = False

    @property
    def ops(self) -> Any:
        return self.ov.opset16

    def input(self, name: str, shape: Sequence[int], dtype: Any = np.float32) -> Any:
        """A Parameter of this name; a size of -1 is not known."""
        made = self.ops.parameter(list(shape), dtype, name=name)
        made.output(0).set_names({name})
        return made

    def const(self, value: Any, dtype: Any = None) -> Any:
        return self.ops.constant(np.asarray(value, dtype))

    def weights(self, *shape: int, seed: int = 5) -> Any:
        return self.const(np.random.default_rng(seed).uniform(-1, 1, shape), np.float32)

    def packed(self, element: str, values: npt.NDArray[Any]) -> Any:
        """A constant of an element type that numpy lacks."""
        kind = getattr(self.ov.Type, element)
        return self.ov.op.Constant(kind, self.ov.Shape(list(values.shape)), values.ravel().tolist())

    def variable(self, name: str, shape: Sequence[int], element: str = "f32") -> Any:
        info = self.ov.op.util.VariableInfo()
        info.data_shape, info.variable_id = self.ov.PartialShape(list(shape)), name
        info.data_type = getattr(self.ov.Type, element)
        return self.ov.op.util.Variable(info)

    def named(self, node: Any, name: str) -> Any:
        node.output(0).set_names({name})
        return node

    def model(self, outputs: Sequence[Any], inputs: Sequence[Any], sinks: Sequence[Any] = ()) -> Any:
        return self.ov.Model([self.ops.result(one) for one in outputs], list(sinks), list(inputs), "whole")


Builder: TypeAlias = Callable[[Maker], Whole]


def floats(*shape: int, seed: int = 1) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


def under(models: dict[str, Builder], name: str) -> Callable[[Builder], Builder]:
    """Decorator: a builder among others, under a name."""

    def add(builder: Builder) -> Builder:
        assert name not in models, name
        models[name] = builder
        return builder

    return add


def three(*shape: int, name: str = "x") -> list[Feeds]:
    return [{name: floats(*shape, seed=k)} for k in range(3)]
