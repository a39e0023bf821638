"""Optimization profiles: a smallest, a preferred and a largest shape of each input, inside the contract.

A builder such as TensorRT accepts every combination of sizes between the smallest and the largest shape, where axes of
the same name have the same size. So the sizes of a profile are a box that is proved to lie inside the contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gather_infer.contract import Contract, ContractInput, DimsLine, ModelInterface
from gather_infer.errors import EmissionRefused, UnknownName
from gather_infer.serving.boxes import grows, hull, inner_boxes, is_constant, unproved
from gather_infer.serving.emission import Notes, element_texts, listed, open_texts, size_texts, unique
from gather_infer.serving.sizes import Axis, Box, SizeSystem
from gather_infer.symbolic import Dim, Expr, Interval, evaluate, free_symbols

DEFAULT_BATCH: Final = 8
"""Largest size of a first axis, if neither the caller nor the contract bounds it."""

DEFAULT_SIZE: Final = 256
"""Largest size of other axes, if neither the caller nor the contract bounds it."""

_PRACTICAL: Final = 16384
"""Largest bound of the contract that is taken as the largest size of a profile; larger ones guard against overflow."""


@dataclass(frozen=True, slots=True)
class ShapeRange:
    """The smallest, the preferred and the largest shape of an input in one profile."""

    least: tuple[int, ...]
    preferred: tuple[int, ...]
    most: tuple[int, ...]

    @property
    def ends(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        return self.least, self.preferred, self.most


@dataclass(frozen=True, slots=True)
class OptimizationProfile:
    """The shapes of the inputs with dynamic dims, all of whose combinations are inside the contract.

    sizes    the interval of each size, by name; axes that follow from other sizes included
    shapes   the shapes by input
    """

    sizes: Box
    shapes: Mapping[str, ShapeRange]


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """Options of profiles.

    interface        the inputs as the file declares them; those without a dynamic dim there have no shapes in a profile
    preferred        the sizes to optimize for, by name; others are chosen
    limit            the largest number of profiles
    dependent_axes   whether an axis such as `past + seq` gets the range of its size, so that a profile also has
                     combinations of sizes that its equation excludes; the notes list these equations
    """

    interface: ModelInterface | None = None
    preferred: Mapping[str, int] = field(default_factory=dict)
    limit: int = 4
    dependent_axes: bool = False


def profiles_of(contract: Contract, request: ProfileRequest) -> tuple[list[OptimizationProfile], Notes]:
    """Profiles inside the contract, and the notes on them. Raises EmissionRefused if there is none."""
    preferred = request.preferred
    for spec in contract.inputs:
        if spec.shape is None:
            raise EmissionRefused(f"the rank of input {spec.name} is unknown")
    system = SizeSystem(contract, request.interface)
    for name in preferred:
        require_size(name, system)
    root, chosen = root_box(contract, system)
    for name, size in preferred.items():
        if size not in root[name]:
            ends = f"{root[name].lo}..{root[name].hi}"
            raise EmissionRefused(f"{name}={size} is outside {ends}, the sizes that the contract and --dim give")
    varying = [axis for axis in system.followers if request.dependent_axes and not is_constant(axis.size, root)]
    for axis in varying:
        if not grows(axis.size, root):
            raise EmissionRefused(f"{axis.name} == {axis.declared} has no range: it may fall when a size grows")
    boxes = inner_boxes(system, root, preferred, request.limit, followers_vary=request.dependent_axes)
    dynamic = _dynamic_inputs(contract, request.interface)
    profiles = [_profile(dynamic, system, box, preferred) for box in boxes]
    if not all(name in preferred or root[name].is_point for name in root):
        chosen = (*chosen, f"opt sizes: {'; '.join(_preferred_text(system, box, preferred) for box in boxes)}")
    equations = [f"{axis.name} == {axis.declared}" for axis in varying]
    fixed = [axis for axis in system.followers if axis not in varying and not is_constant(axis.size, root)]
    remarks = tuple(_remarks(system, root, boxes, fixed))
    return profiles, Notes(unique((*equations, *element_texts(contract), *open_texts(contract))), chosen, remarks)


def require_size(name: str, system: SizeSystem) -> None:
    """Raise UnknownName if no free size of the contract has the name."""
    if name not in system.free:
        raise UnknownName("free size", name, system.free)


def root_box(contract: Contract, system: SizeSystem) -> tuple[dict[str, Interval], tuple[str, ...]]:
    """The largest sizes that profiles may have, and texts on those of its bounds that neither the caller nor the
    contract gives.

    Profiles leave out sizes of 0, unless the caller declares them.
    """
    bounds = hull(system.conditions, system.free)
    declared = {
        name
        for line in contract.declared
        if isinstance(line, DimsLine)
        for relation in line.relations
        if isinstance(relation.left, Expr)
        for name in free_symbols(system.resolved(relation.left))
        if relation.left.is_symbol
    }
    first = {axis.size for axis in system.axes if axis.number == 0}
    root: dict[str, Interval] = {}
    chosen: list[str] = []
    for name, interval in bounds.items():
        low, high = interval.lo or 0, interval.hi
        is_first = any(isinstance(size, Expr) and size.is_symbol and size.name == name for size in first)
        if name not in declared and low == 0 and high != 0:
            low = 1
            chosen.append(f"{name} >= 1")
        if high is None or (high > _PRACTICAL and name not in declared):
            high = max(DEFAULT_BATCH if is_first else DEFAULT_SIZE, 2 * low)
            chosen.append(f"{name} <= {high}")
        root[name] = Interval(low, high)
    return root, tuple(chosen)


def _dynamic_inputs(contract: Contract, interface: ModelInterface | None) -> list[ContractInput]:
    """The inputs with a dim that the file, or without it the contract, does not fix."""
    if interface is None:
        return [spec for spec in contract.inputs if any(not isinstance(dim, int) for dim in spec.shape or ())]
    dims = {spec.name: interface.input_dims(spec.name, len(spec.shape or ())) for spec in contract.inputs}
    return [spec for spec in contract.inputs if any(not isinstance(dim, int) for dim in dims[spec.name])]


def _profile(
    inputs: list[ContractInput], system: SizeSystem, box: Box, preferred: Mapping[str, int]
) -> OptimizationProfile:
    axes = {(axis.input, axis.number): axis.size for axis in system.axes}
    least = {name: interval.lo or 0 for name, interval in box.items()}
    most = {name: interval.hi or 0 for name, interval in box.items()}
    middle = preferred_sizes(box, preferred)

    def shape(spec: ContractInput, sizes: Mapping[str, int]) -> tuple[int, ...]:
        dims: list[Dim] = [axes.get((spec.name, number), dim) for number, dim in enumerate(spec.shape or ())]
        return tuple(evaluate(dim, sizes) for dim in dims)

    return OptimizationProfile(
        {**box, **{a.name: Interval(evaluate(a.size, least), evaluate(a.size, most)) for a in system.followers}},
        {spec.name: ShapeRange(shape(spec, least), shape(spec, middle), shape(spec, most)) for spec in inputs},
    )


def preferred_sizes(box: Box, preferred: Mapping[str, int]) -> dict[str, int]:
    """The preferred size of each interval: that of the caller if it is inside, else the middle."""
    return {
        name: preferred[name]
        if name in preferred and preferred[name] in interval
        else ((interval.lo or 0) + (interval.hi or 0)) // 2
        for name, interval in box.items()
    }


def _preferred_text(system: SizeSystem, box: Box, preferred: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in preferred_sizes(box, preferred).items())


def _remarks(system: SizeSystem, root: Box, boxes: list[Box], fixed: list[Axis]) -> Iterator[str]:
    """Yield why there are several profiles, and that they leave out legal sizes.

    fixed   the axes whose equations allow only one size in each profile
    """
    if boxes == [root]:
        return
    equations = [f"{axis.name} == {axis.declared}" for axis in fixed]
    reasons = unique((*size_texts(unproved(system.conditions, root)), *equations))
    many = f"{len(boxes)} profile{'s' * (len(boxes) != 1)}"
    yield f"no single profile has all legal sizes, because of {listed(reasons)}"
    yield f"{many} of legal sizes; the engine refuses other sizes, though the contract may allow them"
    if fixed:
        yield f"--dependent-axes gives {listed([axis.name for axis in fixed])} a range"


__all__ = ["OptimizationProfile", "ProfileRequest", "ShapeRange", "profiles_of"]
