"""Feeds held against a contract: one minimum and one maximum per array, no element is looked at in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.contract.lines import DimsLine, ElementsLine, InputSpec, Line
from gather_infer.symbolic import Dim, Expr, evaluate, substitute, symbol

Array = npt.NDArray[Any]

NATIVE: Final = frozenset(
    [
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
        "complex64",
        "complex128",
    ]
)
_SHOWN_NODES: Final = 2


@dataclass(frozen=True, slots=True)
class Violation:
    """A way in which feeds break a contract.

    text   `input_ids[3, 17] = 30522: must be -30522 <= input_ids < 30522 (/emb/word/Gather)`
    input  the input to blame; empty when it is the sizes of several
    line   the line that is broken; None when the feeds do not fit the types of the inputs
    """

    text: str
    input: str = ""
    line: Line | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Solving:
    """A symbol that is told only by a dim which is more than its name: `size == factor*symbol + rest`."""

    name: str
    size: str
    dim: Expr
    factor: int
    rest: Dim


def compound_axes(inputs: Iterable[InputSpec]) -> Iterator[tuple[InputSpec, int, Expr]]:
    """The dims of inputs that are neither numbers nor names, like `past + seq`."""
    for spec in inputs:
        for axis, dim in enumerate(spec.shape or ()):
            if isinstance(dim, Expr) and not dim.is_symbol:
                yield spec, axis, dim


def solvings(inputs: Iterable[InputSpec]) -> Iterator[Solving]:
    """How the symbols that are no dim of an input are found from the dims that have them, in this order."""
    inputs = tuple(inputs)
    known = {dim.name for spec in inputs for dim in spec.shape or () if isinstance(dim, Expr) and dim.is_symbol}
    waiting = list(compound_axes(inputs))
    while waiting:
        for position, (spec, axis, dim) in enumerate(waiting):
            unknown = sorted(dim.symbols - known)
            solving = _solving(unknown[0], spec.axis(axis), dim) if len(unknown) == 1 else None
            if solving is not None:
                known.add(solving.name)
                yield solving
                del waiting[position]
                break
        else:
            return


def _solving(name: str, size: str, dim: Expr) -> Solving | None:
    try:
        rest = substitute(dim, {name: 0})
    except ZeroDivisionError:
        return None
    factor = substitute(dim, {name: 1}) - rest
    is_linear = isinstance(factor, int) and factor != 0 and dim == factor * symbol(name) + rest
    return Solving(name, size, dim, factor, rest) if isinstance(factor, int) and is_linear else None


def covered(lines: Iterable[Line]) -> frozenset[str]:
    """The axes, like `mask.1`, that a line says equal to something."""
    return frozenset(
        relation.left.name
        for line in lines
        if isinstance(line, DimsLine) and len(line.relations) == 1
        for relation in line.relations
        if relation.relation == "==" and isinstance(relation.left, Expr) and relation.left.is_symbol
    )


class Checker:
    """Holds feeds against inputs and lines; what does not depend on the feeds is prepared once."""

    def __init__(self, inputs: tuple[InputSpec, ...], lines: tuple[Line, ...]) -> None:
        self.inputs = inputs
        self.names = frozenset(spec.name for spec in inputs)
        self.dims_lines = [line for line in lines if isinstance(line, DimsLine)]
        self.elements: dict[tuple[str, int | None], list[ElementsLine]] = {}
        for line in lines:
            if isinstance(line, ElementsLine):
                self.elements.setdefault((line.input, line.column), []).append(line)
        self.solvings = tuple(solvings(inputs))
        told = covered(lines) | {solving.size for solving in self.solvings}
        self.compound = [(spec.name, axis, spec.axis(axis)) for spec, axis, _ in compound_axes(inputs)]
        self.equal = [
            (spec, axis, dim) for spec, axis, dim in compound_axes(inputs) if spec.axis(axis) not in told
        ]  # fmt: skip
        self.dtypes = {s.name: np.dtype(s.dtype) for s in inputs if s.dtype in NATIVE}
        self.plans = [(spec, _plan(spec)) for spec in inputs]

    def run(self, feeds: Mapping[str, object]) -> list[Violation]:
        found: list[Violation] = []
        for name in feeds:
            if name not in self.names:
                found.append(Violation(f"{name} is no input of the model", name))
        arrays: dict[str, Array] = {}
        sizes: dict[str, int] = {}
        for spec, plan in self.plans:
            value = feeds.get(spec.name)
            if value is None:
                if not spec.optional:
                    found.append(Violation(f"{spec.name} is missing", spec.name))
            elif spec.dtype is not None:
                array = value if isinstance(value, np.ndarray) else np.asarray(value)
                found.extend(self._typed(spec, array))
                if plan is None or len(array.shape) == len(plan):
                    arrays[spec.name] = array
                if plan is not None:
                    found.extend(self._shaped(spec, plan, array, sizes, arrays))
        found.extend(self._solved(arrays, sizes))
        for line in self.dims_lines:
            found.extend(_of_dims(line, sizes))
        for (name, column), lines in self.elements.items():
            array_of_lines = arrays.get(name)
            if array_of_lines is not None and array_of_lines.size and array_of_lines.dtype.kind in "iub":
                found.extend(_of_elements(array_of_lines, column, lines, sizes))
        return found

    def _typed(self, spec: InputSpec, array: Array) -> Iterator[Violation]:
        expected = self.dtypes.get(spec.name)
        if expected is not None:
            fits = array.dtype == expected
        elif spec.dtype == "string":
            fits = array.dtype.kind in "OSU"
        else:  # what numpy knows by ml_dtypes only
            fits = array.dtype.name.replace("_", "") == spec.dtype
        if not fits:
            yield Violation(f"{spec.name} must be {spec.dtype}, is {array.dtype.name}", spec.name)

    def _shaped(
        self, spec: InputSpec, plan: list[int | str], array: Array, sizes: dict[str, int], arrays: Mapping[str, Array]
    ) -> Iterator[Violation]:
        shape = array.shape
        if len(shape) != len(plan):
            yield Violation(f"{spec.name} must be of rank {len(plan)}, is of rank {len(shape)}", spec.name)
            return
        for axis, (size, wanted) in enumerate(zip(shape, plan, strict=True)):
            if isinstance(wanted, str):
                known = sizes.setdefault(wanted, size)
                if known != size:
                    where = self._first(wanted, arrays)
                    text = f"{spec.axis(axis)} = {size}: must be {symbol(wanted)}, which is {known} by {where}"
                    yield Violation(text, spec.name)
            elif wanted != size:
                yield Violation(f"{spec.axis(axis)} = {size}: must be {wanted}", spec.name)

    def _first(self, name: str, arrays: Mapping[str, Array]) -> str:
        """Where the size of a symbol was met first."""
        return next(
            spec.axis(axis)
            for spec, plan in self.plans
            if spec.name in arrays
            for axis, wanted in enumerate(plan or ())
            if wanted == name
        )

    def _solved(self, arrays: Mapping[str, Array], sizes: dict[str, int]) -> Iterator[Violation]:
        """Sizes of what the dims are besides names."""
        for name, axis, _ in self.compound:
            if name in arrays:
                sizes[f"{name}.{axis}"] = arrays[name].shape[axis]
        for solving in self.solvings:
            try:
                size, rest = sizes[solving.size], evaluate(solving.rest, sizes)
            except (KeyError, ZeroDivisionError):
                continue
            quotient, remainder = divmod(size - rest, solving.factor)
            if remainder or quotient < 0:
                yield Violation(f"{solving.size} = {size}: must be {solving.dim}", solving.size.rpartition(".")[0])
            else:
                sizes.setdefault(solving.name, quotient)
        for spec, axis, dim in self.equal:
            try:
                size, wanted_size = sizes[spec.axis(axis)], evaluate(dim, sizes)
            except (KeyError, ZeroDivisionError):
                continue
            if size != wanted_size:
                yield Violation(f"{spec.axis(axis)} = {size}: must be {dim}{_at(dim.symbols, sizes)}", spec.name)


def _plan(spec: InputSpec) -> list[int | str] | None:
    """For each axis the number or the name that it has to be; of other dims the name of the axis itself."""
    if spec.shape is None:
        return None
    return [
        dim if isinstance(dim, int) else dim.name if dim.is_symbol else spec.axis(axis)
        for axis, dim in enumerate(spec.shape)
    ]


def _of_dims(line: DimsLine, sizes: Mapping[str, int]) -> Iterator[Violation]:
    try:
        if any(relation.holds(sizes) for relation in line.relations):
            return
    except (KeyError, ZeroDivisionError):
        return  # an input was left out, or it says nothing at these sizes
    bound = ", ".join(f"{symbol(name)} = {sizes[name]}" for name in sorted(line.symbols))
    yield Violation(f"{bound}: must be {line.text}{nodes_text(line)}", "", line)


def _of_elements(
    array: Array, column: int | None, lines: Iterable[ElementsLine], sizes: Mapping[str, int]
) -> Iterator[Violation]:
    if column is not None:
        if not array.ndim or array.shape[-1] <= column:
            return
        array = array[..., column]
        if not array.size:
            return
    least = most = None
    for line in lines:
        try:
            low = None if line.low is None else evaluate(line.low, sizes)
            high = None if line.high is None else evaluate(line.high, sizes)
        except (KeyError, ZeroDivisionError):
            continue
        if low is not None:
            if least is None:
                least = int(np.minimum.reduce(array, axis=None))
            if least < low:
                yield _element(array, least, line, sizes)
                continue
        if high is not None:
            if most is None:
                most = int(np.maximum.reduce(array, axis=None))
            if most > high:
                yield _element(array, most, line, sizes)


def _element(array: Array, value: int, line: ElementsLine, sizes: Mapping[str, int]) -> Violation:
    """Names the first element that has the value."""
    index = [int(i) for i in np.unravel_index(int(np.argmax(array == value)), array.shape)]
    if line.column is not None:
        index.append(line.column)
    where = f"[{', '.join(map(str, index))}]" if index else ""
    shown = str(bool(value)).lower() if array.dtype.kind == "b" else str(value)
    text = f"{line.input}{where} = {shown}: must be {line.text}{_at(line.symbols, sizes)}{nodes_text(line)}"
    return Violation(text, line.input, line)


def _at(names: frozenset[str], sizes: Mapping[str, int]) -> str:
    """`, seq = 5`."""
    return "".join(f", {symbol(name)} = {sizes[name]}" for name in sorted(names))


def nodes_text(line: Line) -> str:
    """` (/emb/word/Gather)`."""
    if not line.nodes:
        return ""
    more = f" and {len(line.nodes) - _SHOWN_NODES} more" if len(line.nodes) > _SHOWN_NODES else ""
    return f" ({', '.join(line.nodes[:_SHOWN_NODES])}{more})"


__all__ = ["Checker", "Solving", "Violation", "compound_axes", "covered", "nodes_text", "solvings"]
