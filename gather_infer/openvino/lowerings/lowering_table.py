"""Lowering table: lookup of a lowering by operator and opset of OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gather_infer.dialect import InputPrecondition
from gather_infer.domains import EXTENSION_SETS, is_extension
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.versioned import VersionedTable

Lowering: TypeAlias = Callable[[LayerView, FunctionBuilder], "str | Sequence[str]"]
"""Adds the nodes for a layer to the builder and returns the names of the layer's outputs, "" for an unread one.

A pure function of the layer. Raises LoweringRefused, with the reason, for a layer that it cannot lower.
"""

LOWEST_OPSET = 18
"""The lowest ai.onnx opset that a lowering supports, unless its entry sets another."""


@dataclass(frozen=True, slots=True)
class LoweringEntry:
    """A lowering and its properties.

    since               the first opset of OpenVINO with this version of the operator
    preserves_failures  the built function fails exactly where OpenVINO fails; see `LoweredBody`
    opset               the lowest ai.onnx opset that the lowering supports
    preconditions       conditions on input elements without which OpenVINO defines no result, by input position
    """

    since: int
    lowering: Lowering
    preserves_failures: bool
    opset: int
    preconditions: Mapping[int, InputPrecondition] = field(default_factory=dict)


class LoweringTable(VersionedTable[LoweringEntry]):
    """Lowerings by layer type, spelled as in OpenVINO's IR files, and opset of OpenVINO.

    domain   "openvino" for the layers of all opsets; `openvino.extension`, or another of OpenVINO's extension sets, for
             layers with the version `extension`, whose version is 1 here
    """

    def __init__(self, domain: str = "openvino") -> None:
        if domain != "openvino" and not is_extension(domain):
            sets = ", ".join(f"openvino.{name}" for name in EXTENSION_SETS)
            raise ValueError(f"the domain of lowerings is openvino, {sets}, not {domain!r}")
        super().__init__(domain, "lowerings")

    def lowers(
        self,
        *types: str,
        since: int = 1,
        preserves_failures: bool = False,
        opset: int = LOWEST_OPSET,
        preconditions: Mapping[int, InputPrecondition] | None = None,
    ) -> Callable[[Lowering], Lowering]:
        """Decorator that registers a lowering of the layer types `types` from OpenVINO opset `since` on.

        `LoweringEntry` explains the other parameters. Raises ValueError when the table already has a lowering with the
        same layer type and `since`.
        """

        def add(function: Lowering) -> Lowering:
            for type_name in types:
                self._add(type_name, LoweringEntry(since, function, preserves_failures, opset, preconditions or {}))
            return function

        return add

    @staticmethod
    def merged(tables: Iterable[LoweringTable]) -> LoweringTable:
        """One table with the entries of `tables`, which have one domain.

        Raises ValueError when two have the same layer type and `since`.
        """
        whole: LoweringTable | None = None
        for table in tables:
            whole = whole or LoweringTable(table.domain)
            whole._merge(table)
        return LoweringTable() if whole is None else whole
