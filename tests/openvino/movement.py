"""Builders of the cases of layers that move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine, Variant

Inputs = Callable[..., list[Any]]
Array = npt.NDArray[Any]
Witness = Callable[..., Sequence[Array]]
WHERES = ("const", "param")
TYPES = ("f4", "f2", "i4", "i8", "u1", "i1", "bool")


class Layers(dict[str, Case]):
    """Cases by name."""

    def add(
        self,
        name: str,
        opset: int,
        inputs: Inputs,
        *,
        engine: Engine = "plugin",
        witness: Witness | None = None,
        variants: Sequence[Variant] = ("static", "dynamic"),
        **attributes: Any,
    ) -> None:
        """A case of one layer, called `TYPE-OPSET`, then what is special."""
        kind = name.split("-")[0]
        self[name] = Case(
            lambda b: b.op(opset, kind, inputs(b), **attributes), engine=engine, witness=witness, variants=variants
        )


def ramp(*shape: int, dtype: str = "f4") -> Array:
    """All different, as far as the type has it."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.int64).reshape(shape).astype(dtype)


def given(b: Build, where: str, *numbers: Any, dtype: str = "i8") -> Any:
    """Integers as a constant or as an input, of which it is known how many there are."""
    array = np.array(numbers, dtype)
    return b.const(array) if where == "const" else b.param(array, fixed=range(array.ndim))
