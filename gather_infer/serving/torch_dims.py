"""`dynamic_shapes` for torch.export: dims with ranges, and derived dims such as `32 * h`."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gather_infer.contract import Contract
from gather_infer.contract.lines import is_remainder
from gather_infer.serving.bounded import BoundedSizes
from gather_infer.serving.boxes import unproved
from gather_infer.serving.emission import Emission, Notes, element_texts, literal, open_texts, size_texts, unique
from gather_infer.serving.sizes import SizeCondition
from gather_infer.symbolic import Dim, Expr, Interval, free_symbols, substitute, symbol
from gather_infer.symbolic.normal_form import FloorDiv


@dataclass(frozen=True, slots=True)
class RootDim:
    """A free size as `factor*root + rest`, where `root` ranges over an interval; factor 1 and rest 0 in most cases."""

    root: str
    factor: int
    rest: int
    bounds: Interval

    @property
    def size(self) -> Dim:
        return symbol(self.root) * self.factor + self.rest


def torch_dims(contract: Contract) -> Emission:
    """A Python module with `dynamic_shapes`, for the export of the model with these ranges.

    torch derives a dim from one other dim, by a multiple and a sum with numbers; all else is reported.
    https://docs.pytorch.org/docs/stable/export.html
    """
    sizes = BoundedSizes(contract)
    roots = {name: _root(name, sizes.bounds[name], sizes.system.conditions) for name in sizes.system.free}
    names = _Identifiers()
    dims: dict[str, str] = {}
    texts: dict[tuple[str, int], str] = {}
    alone: list[str] = []
    for axis in sizes.system.axes:
        size = substitute(axis.size, {name: root.size for name, root in roots.items()})
        if isinstance(size, int):
            texts[axis.input, axis.number] = str(size)
            continue
        root = _linear_root(size)
        if root is None:
            first = next(other for other in sizes.system.axes if other.declared == axis.declared)
            name = names.of(first.name)
            dims.setdefault(name, _dim(name, sizes.of_axis(axis)))
            alone.append(f"{axis.name} == {axis.declared}")
            texts[axis.input, axis.number] = name
            continue
        bounds = next(each.bounds for each in roots.values() if each.root == root)
        if bounds.is_point:
            texts[axis.input, axis.number] = str(substitute(size, {root: bounds.lo or 0}))
            continue
        name = names.of(root)
        dims.setdefault(name, _dim(name, bounds))
        texts[axis.input, axis.number] = _derived(name, root, size)
    box = {root.root: root.bounds for root in roots.values()}
    at_roots = (c.at({name: root.size for name, root in roots.items()}) for c in sizes.system.conditions)
    left = unproved([condition for condition in at_roots if condition is not None], box)
    shapes = "".join(f"    {literal(spec.name)}: {_shape(spec.name, texts)},\n" for spec in contract.inputs)
    body = f"""
from torch.export import Dim

{"".join(dims.values())}
# by input of the model; `forward` may call its arguments otherwise: tuple(dynamic_shapes.values()) is in their order
dynamic_shapes = {{
{shapes}}}
"""
    notes = Notes(unique((*size_texts(left), *alone, *element_texts(contract), *open_texts(contract))))
    return notes.emission("torch", contract, body)


def _root(name: str, bounds: Interval, conditions: tuple[SizeCondition, ...]) -> RootDim:
    """The root of a size: another size if a condition `size % factor == rest` requires a multiple."""
    for condition in conditions:
        found = _divisor(condition, name)
        if found is not None:
            factor, rest = found
            low = max(0, -((rest - (bounds.lo or 0)) // factor))
            high = None if bounds.hi is None else (bounds.hi - rest) // factor
            return RootDim(f"_{name}", factor, rest, Interval(low, high))
    return RootDim(name, 1, 0, bounds)


def _divisor(condition: SizeCondition, name: str) -> tuple[int, int] | None:
    """Factor and rest of a condition such as `name % factor == rest` or `(name + 3) % factor == 1`; None for others."""
    relation = condition.relations[0]
    left, right = relation.left, relation.right
    is_alone = len(condition.relations) == 1 and relation.relation == "==" and is_remainder(left)
    if not is_alone or not isinstance(left, Expr) or not isinstance(right, int):
        return None
    atoms = [atom for monomial, _ in left.terms for atom in monomial if isinstance(atom, FloorDiv)]
    shift = atoms[0].num - symbol(name) if len(atoms) == 1 else None
    factor = atoms[0].den if atoms else None
    if not isinstance(factor, int) or not isinstance(shift, int) or not 0 <= right < factor:
        return None
    return factor, (right - shift) % factor


def _linear_root(size: Expr) -> str | None:
    """The symbol of a size `factor*root + rest` with a factor >= 1; None for any other size."""
    names = sorted(free_symbols(size))
    if len(names) != 1:
        return None
    rest = substitute(size, {names[0]: 0}) if not _divides(size) else None
    if not isinstance(rest, int):
        return None
    factor = substitute(size, {names[0]: 1})
    is_linear = isinstance(factor, int) and size == symbol(names[0]) * (factor - rest) + rest
    return names[0] if is_linear and isinstance(factor, int) and factor - rest >= 1 else None


def _divides(size: Expr) -> bool:
    return any(isinstance(atom, FloorDiv) for monomial, _ in size.terms for atom in monomial)


def _derived(name: str, root: str, size: Expr) -> str:
    """Python text of a size that is linear in `root`, whose Dim is called `name`."""
    rest, at_one = substitute(size, {root: 0}), substitute(size, {root: 1})
    assert isinstance(rest, int) and isinstance(at_one, int), "a linear size"
    text = name if at_one - rest == 1 else f"{at_one - rest} * {name}"
    return text if rest == 0 else f"{text} {'+' if rest > 0 else '-'} {abs(rest)}"


def _dim(name: str, bounds: Interval) -> str:
    ends = [f"min={bounds.lo}"] * bool(bounds.lo) + [f"max={bounds.hi}"] * (bounds.hi is not None)
    return f"{name} = Dim({', '.join([literal(name), *ends])})\n"


def _shape(name: str, texts: dict[tuple[str, int], str]) -> str:
    return f"{{{', '.join(f'{number}: {text}' for (owner, number), text in texts.items() if owner == name)}}}"


class _Identifiers:
    """Python identifiers for names, each for one name."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, name: str) -> str:
        if name not in self._of:
            base = re.sub(r"\W", "_", name, flags=re.ASCII)
            base = f"d_{base}" if not base.isidentifier() or keyword.iskeyword(base) or base == "Dim" else base
            taken = set(self._of.values()) | {"dynamic_shapes"}
            self._of[name] = next(c for c in _numbered(base) if c not in taken)
        return self._of[name]


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}_{number}"
        number += 1


__all__ = ["torch_dims"]
