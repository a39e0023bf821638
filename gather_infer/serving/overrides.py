"""Free dimension overrides of onnxruntime: fixed sizes for the dims that the file names."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gather_infer.contract import Contract, ModelInterface
from gather_infer.errors import EmissionRefused, UsageError
from gather_infer.serving.bounded import BoundedSizes
from gather_infer.serving.emission import Emission, Notes, unique
from gather_infer.symbolic import Dim, substitute


def free_dimension_overrides(contract: Contract, interface: ModelInterface | None) -> Emission:
    """A Python module with the overrides of each dim that has one legal size, as after `--dim batch=1`.

    https://onnxruntime.ai/docs/api/c/struct_ort_api.html, AddFreeDimensionOverrideByName; the dict is also the
    `freeDimensionOverrides` of onnxruntime-web. Raises EmissionRefused if no dim has a fixed size.
    """
    if interface is None:
        raise UsageError("free dimension overrides need the interface of the model, ContractResult.interface")
    sizes = BoundedSizes(contract)
    fixed = {name: interval for name, interval in sizes.bounds.items() if interval.is_point}
    points = {name: interval.lo for name, interval in fixed.items() if interval.lo is not None}
    overrides: dict[str, int] = {}
    nameless = []
    free: dict[str, None] = {}
    for name, number, declared, size in _axes(contract, interface, sizes):
        value = size if isinstance(size, int) else _number(size, points)
        if value is None:
            free[declared or f"{name}.{number}"] = None
        elif declared:
            overrides[declared] = value
        else:
            nameless.append(f"{name}.{number} == {value}: the file does not name the dim")
    if not overrides:
        example = next(iter(free), "batch")
        raise EmissionRefused(f"no dim with a name has a fixed size; fix some, as with --dim {example}=1")
    remarks = (f"free: {', '.join(free)}",) if free else ()
    body = f"""
import onnxruntime

FREE_DIMENSION_OVERRIDES = {json.dumps(overrides, indent=4, ensure_ascii=False)}


def session_options() -> onnxruntime.SessionOptions:
    \"\"\"Options for a session in which the dims have these sizes.\"\"\"
    options = onnxruntime.SessionOptions()
    for name, size in FREE_DIMENSION_OVERRIDES.items():
        options.add_free_dimension_override_by_name(name, size)
    return options
"""
    ties = frozenset(sizes.system.free)
    notes = Notes(unique((*nameless, *sizes.inexpressible(fixed, ties=ties))), (), remarks)
    return notes.emission("ort", contract, body)


def _axes(contract: Contract, interface: ModelInterface, sizes: BoundedSizes) -> Iterator[tuple[str, int, str, Dim]]:
    """Yield the axes that the file leaves free: input, number, declared name and size."""
    solved = {(axis.input, axis.number): axis.size for axis in sizes.system.axes}
    for spec in contract.inputs:
        dims = spec.shape or ()
        names = interface.input_dims(spec.name, len(dims))
        for number, (dim, name) in enumerate(zip(dims, names, strict=True)):
            if isinstance(name, str):
                yield spec.name, number, name, solved.get((spec.name, number), dim)


def _number(size: Dim, points: dict[str, int]) -> int | None:
    found = substitute(size, points)
    return found if isinstance(found, int) else None
