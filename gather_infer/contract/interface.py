"""The inputs and outputs of a model as its file declares them, beside the shapes that the inference derives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gather_infer.symbolic import Dim

DeclaredDim: TypeAlias = "int | str"
"""A size, or the name of a symbolic dim, which is empty for a dim without a name."""


@dataclass(frozen=True, slots=True)
class DeclaredTensor:
    """An input or output as the model file declares it.

    dtype   element type, as `int64`; None when it is unknown or not a tensor type
    dims    the dims by axis; None when the file declares no rank
    """

    name: str
    dtype: str | None
    dims: tuple[DeclaredDim, ...] | None


@dataclass(frozen=True, slots=True)
class ModelInterface:
    """The inputs and outputs of a model, which a runtime reports as the file declares them.

    output_shapes   the derived shape of each output; None when its rank is unknown
    """

    inputs: tuple[DeclaredTensor, ...]
    outputs: tuple[DeclaredTensor, ...]
    output_shapes: Mapping[str, tuple[Dim, ...] | None] = field(default_factory=dict)

    def input_dims(self, name: str, rank: int) -> tuple[DeclaredDim, ...]:
        """The declared dims of an input, which is known to have `rank`; without names if the file declares no rank."""
        dims = next(tensor.dims for tensor in self.inputs if tensor.name == name)
        return ("",) * rank if dims is None else dims
