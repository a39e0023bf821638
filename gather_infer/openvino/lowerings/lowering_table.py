"""Lowering table: lookup of a lowering by operator and opset of OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gather_infer.dialect import InputPrecondition
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView

Lowering: TypeAlias = Callable[[LayerView, FunctionBuilder], "str | Sequence[str]"]
"""Builds a function for a layer and returns the names of its outputs, "" for an unread one.

A pure function of the layer. Raises LoweringRefused, with the reason, for a layer that it cannot lower.
"""

LOWEST_OPSET = 18
"""The opset of ai.onnx that lowerings are written for by default."""


@dataclass(frozen=True, slots=True)
class LoweringEntry:
    """A lowering and its properties.

    since               the first opset of OpenVINO with this version of the operator
    preserves_failures  the function fails exactly where OpenVINO fails; see `LoweredBody`
    opset               the lowest opset of ai.onnx that it writes for
    preconditions       elements for which alone OpenVINO defines a result, by position of an input
    """

    since: int
    lowering: Lowering
    preserves_failures: bool
    opset: int
    preconditions: Mapping[int, InputPrecondition] = field(default_factory=dict)


class LoweringTable:
    """Lowerings by layer type, as spelled in IRs, the newest version first."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[LoweringEntry, ...]] = {}

    def lowers(
        self,
        *types: str,
        since: int = 1,
        preserves_failures: bool = False,
        opset: int = LOWEST_OPSET,
        preconditions: Mapping[int, InputPrecondition] | None = None,
    ) -> Callable[[Lowering], Lowering]:
        """Decorator: register a lowering of layer types from an opset of OpenVINO on; see `LoweringEntry` for the rest.

        Raises ValueError when the table has one for the same type and opset.
        """

        def add(function: Lowering) -> Lowering:
            for type_name in types:
                self._add(type_name, LoweringEntry(since, function, preserves_failures, opset, preconditions or {}))
            return function

        return add

    def _add(self, type_name: str, entry: LoweringEntry) -> None:
        known = self._entries.get(type_name, ())
        if any(other.since == entry.since for other in known):
            raise ValueError(f"{type_name} has two lowerings since opset {entry.since}")
        self._entries[type_name] = tuple(sorted((*known, entry), key=lambda one: -one.since))

    def find(self, type_name: str, version: int) -> LoweringEntry | None:
        """The lowering that applies at an opset of OpenVINO, or None."""
        return next((entry for entry in self._entries.get(type_name, ()) if entry.since <= version), None)

    @property
    def types(self) -> Iterable[str]:
        return self._entries.keys()

    def versions(self, type_name: str) -> tuple[LoweringEntry, ...]:
        """Every lowering of a type, the newest first."""
        return self._entries.get(type_name, ())

    @staticmethod
    def merged(tables: Iterable[LoweringTable]) -> LoweringTable:
        """One table from several. Raises ValueError for a version that two of them have."""
        whole = LoweringTable()
        for table in tables:
            for type_name, entries in table._entries.items():
                for entry in entries:
                    whole._add(type_name, entry)
        return whole
