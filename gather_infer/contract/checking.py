"""Check feeds against a contract: compile its lines once into tables, on which `standalone` runs the check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from gather_infer.contract.lines import ContractInput, DimsLine, ElementsLine, Line
from gather_infer.contract.standalone import Equal, Input, OfElements, OfSizes, Size, Sizes, Solved, Tables, violations
from gather_infer.symbolic import Dim, Expr, evaluate, substitute, symbol

RANGES: Final = {
    f"{sign}int{bits}": (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if not sign else (0, (1 << bits) - 1)
    for sign in ("", "u")
    for bits in (2, 4, 8, 16, 32, 64)
}
"""Smallest and largest number of each integer type."""

_SHOWN_NODES: Final = 2


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a contract by feeds.

    text    as `input_ids[3, 17] = 30522: must be -30522 <= input_ids < 30522 (/emb/word/Gather)`
    input   name of the offending input; empty when sizes of several inputs conflict
    line    the violated line; None when the feeds do not fit the types of the inputs
    needed  the line is necessary or was declared; False when it is only sufficient, so that a run may still succeed
    """

    text: str
    input: str = ""
    line: Line | None = None
    needed: bool = True

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Solving:
    """An equation `size == factor*name + rest`, which determines a symbol that occurs only in compound input dims.

    name    the symbol
    size    name of the axis, as `mask.1`
    dim     the dim of that axis, factor*name + rest
    factor  not 0
    """

    name: str
    size: str
    dim: Expr
    factor: int
    rest: Dim


def compound_axes(inputs: Iterable[ContractInput]) -> Iterator[tuple[ContractInput, int, Expr]]:
    """Yield the input dims that are neither numbers nor symbols, like `past + seq`, each as (input, axis, dim)."""
    for spec in inputs:
        for axis, dim in enumerate(spec.shape or ()):
            if isinstance(dim, Expr) and not dim.is_symbol:
                yield spec, axis, dim


def solvings(inputs: Iterable[ContractInput]) -> Iterator[Solving]:
    """Yield equations for the symbols that occur only in compound dims, in an order in which each has one unknown."""
    inputs = tuple(inputs)
    known = {dim.name for spec in inputs for dim in spec.shape or () if isinstance(dim, Expr) and dim.is_symbol}
    waiting = list(compound_axes(inputs))
    # Each round solves one dim with a single unknown symbol; a dim with several waits for the others.
    while waiting:
        for position, (spec, axis, dim) in enumerate(waiting):
            unknown = sorted(dim.symbols - known)
            solving = _solving(unknown[0], spec.axis_name(axis), dim) if len(unknown) == 1 else None
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


def equated_axes(lines: Iterable[Line]) -> frozenset[str]:
    """The names of axes, like `mask.1`, that a line equates with another dim."""
    return frozenset(
        relation.left.name
        for line in lines
        if isinstance(line, DimsLine) and line.single_relation is not None
        for relation in line.relations
        if relation.relation == "==" and isinstance(relation.left, Expr) and relation.left.is_symbol
    )


class Checker:
    """The check of feeds against inputs and lines, compiled once."""

    def __init__(self, inputs: tuple[ContractInput, ...], lines: tuple[tuple[Line, bool], ...]) -> None:
        """Compile the tables; each of `lines` is a line and whether it is enforced."""
        self.lines = [line for line, _ in lines]
        self.tables = _tables(inputs, lines)

    def run(self, feeds: Mapping[str, object]) -> Iterator[Violation]:
        for text, name, line, needed in violations(self.tables, feeds):
            yield Violation(text, name, None if line is None else self.lines[line], needed)


def by_part(lines: Iterable[tuple[Line, bool]]) -> Iterator[tuple[int, ElementsLine, bool]]:
    """Yield each line on elements with its position in `lines` and whether it is enforced.

    Lines on the same input and column follow each other.
    """
    groups: dict[tuple[str, int | None], list[tuple[int, ElementsLine, bool]]] = {}
    for position, (line, needed) in enumerate(lines):
        if isinstance(line, ElementsLine):
            groups.setdefault((line.input, line.column), []).append((position, line, needed))
    for group in groups.values():
        yield from group


def dims_of(spec: ContractInput) -> tuple[int | str, ...] | None:
    """For each axis its size, its symbol, or for a compound dim the name of the axis; None for an unknown rank."""
    if spec.shape is None:
        return None
    return tuple(
        dim if isinstance(dim, int) else dim.name if dim.is_symbol else spec.axis_name(axis)
        for axis, dim in enumerate(spec.shape)
    )


def quoted_names(inputs: Iterable[ContractInput], lines: Iterable[Line]) -> dict[str, str]:
    """The names of symbols that need quotes, each with its quoted form: `'a b'`."""
    used = {name for line in lines for name in line.symbols}
    used |= {name for spec in inputs for dim in spec.shape or () if isinstance(dim, Expr) for name in dim.symbols}
    return {name: str(symbol(name)) for name in sorted(used) if str(symbol(name)) != name}


def unsolved(inputs: tuple[ContractInput, ...], lines: Iterable[Line]) -> Iterator[tuple[ContractInput, int, Expr]]:
    """Yield the compound dims, as (input, axis, dim), that no line equates and that `solvings` does not use.

    The check compares each of them with the size of its axis.
    """
    determined = equated_axes(lines) | {solving.size for solving in solvings(inputs)}
    return (each for each in compound_axes(inputs) if each[0].axis_name(each[1]) not in determined)


def _tables(inputs: tuple[ContractInput, ...], lines: tuple[tuple[Line, bool], ...]) -> Tables:
    plain = [line for line, _ in lines]
    return Tables(
        {spec.name: Input(spec.dtype, dims_of(spec), spec.optional) for spec in inputs},
        tuple(
            Solved(symbol_names(s.dim.symbols - {s.name}), s.size, s.name, s.factor, _size(s.rest), str(s.dim))
            for s in solvings(inputs)
        ),
        tuple(
            Equal(symbol_names(dim.symbols), spec.axis_name(axis), _size(dim), str(dim))
            for spec, axis, dim in unsolved(inputs, plain)
        ),
        tuple(
            OfSizes(
                position,
                symbol_names(line.symbols),
                input_conditions(line),
                line.holds,
                line.text,
                nodes_text(line),
                needed,
            )
            for position, (line, needed) in enumerate(lines)
            if isinstance(line, DimsLine)
        ),
        tuple(
            OfElements(
                position,
                line.input,
                line.column,
                symbol_names(line.symbols),
                None if line.lower is None else _size(line.lower),
                None if line.upper is None else _size(line.upper),
                line.text,
                nodes_text(line),
                needed,
            )
            for position, line, needed in by_part(lines)
        ),
        quoted_names(inputs, plain),
        RANGES,
    )


def symbol_names(names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def input_conditions(line: DimsLine) -> tuple[tuple[str, str, int], ...]:
    """The conditions under which a line applies, as tuples of input name, relation and number."""
    return tuple((when.input, when.relation, when.number) for when in line.where)


def _size(dim: Dim) -> Size:
    def size(sizes: Sizes) -> int:
        return evaluate(dim, sizes)

    return size


def nodes_text(line: Line) -> str:
    """The suffix that names the nodes of a line: ` (/emb/word/Gather)`, ` (a, b and 3 more)`; empty without nodes."""
    if not line.nodes:
        return ""
    more = f" and {len(line.nodes) - _SHOWN_NODES} more" if len(line.nodes) > _SHOWN_NODES else ""
    return f" ({', '.join(line.nodes[:_SHOWN_NODES])}{more})"


__all__ = [
    "RANGES",
    "Checker",
    "Solving",
    "Violation",
    "by_part",
    "compound_axes",
    "dims_of",
    "equated_axes",
    "input_conditions",
    "nodes_text",
    "quoted_names",
    "solvings",
    "symbol_names",
    "unsolved",
]
