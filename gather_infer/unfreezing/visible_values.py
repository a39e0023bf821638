"""The values that the present graph of a walk can read: its own, and those of the graphs around it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping
from typing import cast

from onnx import TensorProto

from gather_infer.inference.environment import Environment
from gather_infer.inference.provenance.origin import Provenance
from gather_infer.tensor import Value


def stacked(inner: Mapping[str, Value], outer: Mapping[str, Value]) -> Mapping[str, Value]:
    """The facts of a graph and of those around it, without a copy."""
    return ChainMap(cast(MutableMapping[str, Value], inner), cast(MutableMapping[str, Value], outer))


class VisibleValues:
    """Facts by name. New entries belong to the present graph.

    values      facts of the values, nearest graph first
    constants   constants that no caller can override
    provenance  of the values of the present graph
    """

    def __init__(self, environment: Environment) -> None:
        around: list[Environment] = []
        each: Environment | None = environment
        while each is not None:
            around.append(each)
            each = each.parent
        self.values: MutableMapping[str, Value] = ChainMap(*(one.values for one in around))
        self.constants: MutableMapping[str, TensorProto] = ChainMap(*(one.constants for one in around))
        self.provenance: dict[str, Provenance] = environment.provenance
        self._environment = environment

    def constant(self, name: str) -> TensorProto | None:
        """The tensor of a constant; None for any other name."""
        return self._environment.constant(name)
