"""A contract as Python: a module that checks feeds by itself, with numpy alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gather_infer.contract import Contract, DimsLine, ElementsLine, Line, Relation
from gather_infer.contract.checking import NATIVE, compound_axes, covered, nodes_text, solvings
from gather_infer.symbolic import Dim, symbol
from gather_infer.symbolic.dim import Atom, Expr, Extremum, FloorDiv, Min, Symbol

_HEAD: Final = '''"""Checks the inputs of {model} before a run.

Written by `gather-infer contract --python`; needs numpy only. `check(feeds)` names every violation of the contract,
`require(feeds)` raises ValueError when there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

Sizes = Mapping[str, int]
Size = Callable[[Sizes], int]
End = Size | None
'''

# The module stands alone, so what `contract.checking` does is here once more, over numbers and plain functions; tests
# hold what both of them find against each other.
_BODY: Final = '''

def check(feeds: Mapping[str, Any]) -> list[str]:
    """Every way in which `feeds`, arrays by the names of inputs, break the contract; empty when they keep to it."""
    found = [f"{name} is no input of the model" for name in feeds if name not in INPUTS]
    arrays: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for name, (dtype, shape, optional) in INPUTS.items():
        value = feeds.get(name)
        if value is None:
            if not optional:
                found.append(f"{name} is missing")
        elif dtype is not None:
            array = np.asarray(value)
            if not _is_of(array, dtype):
                found.append(f"{name} must be {dtype}, is {array.dtype.name}")
            if shape is None:
                arrays[name] = array
            elif len(array.shape) != len(shape):
                found.append(f"{name} must be of rank {len(shape)}, is of rank {len(array.shape)}")
            else:
                arrays[name] = array
                found.extend(_sizes(name, array.shape, shape, sizes, arrays))
    found.extend(_solved(sizes))
    for names, axis, dim, text in EQUAL:
        if axis in sizes and all(name in sizes for name in names):
            wanted = _value(dim, sizes)
            if wanted is not None and wanted != sizes[axis]:
                found.append(f"{axis} = {sizes[axis]}: must be {text}{_at(names, sizes)}")
    for names, holds, text in DIMS:
        if all(name in sizes for name in names) and not _holds(holds, sizes):
            bound = ", ".join(f"{_shown(name)} = {sizes[name]}" for name in names)
            found.append(f"{bound}: must be {text}")
    for name, column, names, low, high, text, nodes in ELEMENTS:
        if name in arrays and all(other in sizes for other in names):
            found.extend(_elements(name, arrays[name], column, names, low, high, text, nodes, sizes))
    return found


def require(feeds: Mapping[str, Any]) -> None:
    """Raises ValueError, which says all that is wrong, unless `feeds` keep to the contract."""
    found = check(feeds)
    if found:
        raise ValueError("; ".join(found))


def _is_of(array: Any, dtype: str) -> bool:
    if dtype == "string":
        return array.dtype.kind in "OSU"
    if dtype in NATIVE:
        return bool(array.dtype == np.dtype(dtype))
    return bool(array.dtype.name.replace("_", "") == dtype)


def _sizes(
    name: str,
    sizes_found: tuple[int, ...],
    shape: tuple[int | str, ...],
    sizes: dict[str, int],
    arrays: Mapping[str, Any],
) -> Iterator[str]:
    """Binds the names of dims; a name has one size in all inputs."""
    for axis, (size, wanted) in enumerate(zip(sizes_found, shape)):
        if isinstance(wanted, str):
            known = sizes.setdefault(wanted, size)
            if known != size:
                first = next(
                    f"{other}.{position}"
                    for other, (_, dims, _) in INPUTS.items()
                    if other in arrays
                    for position, dim in enumerate(dims or ())
                    if dim == wanted
                )
                yield f"{name}.{axis} = {size}: must be {_shown(wanted)}, which is {known} by {first}"
        elif wanted != size:
            yield f"{name}.{axis} = {size}: must be {wanted}"


def _solved(sizes: dict[str, int]) -> Iterator[str]:
    """Binds the names that stand in sums only."""
    for names, axis, symbol, factor, rest, text in SOLVED:
        if axis in sizes and all(name in sizes for name in names):
            others = _value(rest, sizes)
            if others is None:
                continue
            quotient, remainder = divmod(sizes[axis] - others, factor)
            if remainder or quotient < 0:
                yield f"{axis} = {sizes[axis]}: must be {text}"
            else:
                sizes.setdefault(symbol, quotient)


def _elements(
    name: str,
    array: Any,
    column: int | None,
    names: tuple[str, ...],
    low: End,
    high: End,
    text: str,
    nodes: str,
    sizes: Sizes,
) -> Iterator[str]:
    """The first element that is furthest outside; one minimum and one maximum, no loop over elements."""
    if array.dtype.kind not in "iub":
        return
    if column is not None:
        if not array.ndim or array.shape[-1] <= column:
            return
        array = array[..., column]
    if not array.size:
        return
    first = None if low is None else _value(low, sizes)
    last = None if high is None else _value(high, sizes)
    if (low is not None and first is None) or (high is not None and last is None):
        return
    value = None
    if first is not None and (least := int(array.min())) < first:
        value = least
    elif last is not None and (most := int(array.max())) > last:
        value = most
    if value is not None:
        index = [int(i) for i in np.unravel_index(int(np.argmax(array == value)), array.shape)]
        if column is not None:
            index.append(column)
        where = f"[{', '.join(map(str, index))}]" if index else ""
        shown = str(bool(value)).lower() if array.dtype.kind == "b" else str(value)
        yield f"{name}{where} = {shown}: must be {text}{_at(names, sizes)}{nodes}"


def _value(size: Size, sizes: Sizes) -> int | None:
    """None where a divisor is 0."""
    try:
        return size(sizes)
    except ZeroDivisionError:
        return None


def _holds(holds: Callable[[Sizes], bool], sizes: Sizes) -> bool:
    try:
        return holds(sizes)
    except ZeroDivisionError:
        return True  # it says nothing at these sizes


def _at(names: tuple[str, ...], sizes: Sizes) -> str:
    return "".join(f", {_shown(name)} = {sizes[name]}" for name in names)


def _shown(name: str) -> str:
    return SHOWN.get(name, name)
'''


def guard_source(contract: Contract) -> str:
    """The source of the module, which finds what `Contract.check` finds, in the same words."""
    return "\n".join([_head(contract), *_tables(contract)]) + "\n" + _BODY


def _head(contract: Contract) -> str:
    shown = "".join(c if c.isprintable() and c not in '"\\' else "?" for c in contract.model)
    return _HEAD.replace("{model}", shown)


def _tables(contract: Contract) -> Iterator[str]:
    inputs = {spec.name: spec for spec in contract.inputs}
    yield "NATIVE = {"
    yield from (f"    {_text(name)}," for name in sorted(NATIVE))
    yield "}"
    yield "# name: (element type, dims by axis, whether it may be left out)"
    yield "INPUTS: dict[str, tuple[str | None, tuple[int | str, ...] | None, bool]] = {"
    for name, spec in inputs.items():
        dims = None
        if spec.shape is not None:
            dims = tuple(
                d if isinstance(d, int) else d.name if d.is_symbol else spec.axis(a) for a, d in enumerate(spec.shape)
            )
        yield f"    {_text(name)}: ({_text(spec.dtype)}, {_tuple(dims)}, {spec.optional}),"
    yield "}"
    used = {n for line in contract.demands for n in line.symbols}
    used |= {d.name for s in contract.inputs for d in s.shape or () if isinstance(d, Expr) and d.is_symbol}
    used |= {n for _, _, dim in compound_axes(contract.inputs) for n in dim.symbols}
    odd = {name: str(symbol(name)) for name in sorted(used) if str(symbol(name)) != name}
    yield f"SHOWN: dict[str, str] = {{{', '.join(f'{_text(n)}: {_text(t)}' for n, t in odd.items())}}}"
    yield from _solved_table(contract)
    yield "# (names in it, whether it holds, text)"
    yield "DIMS: tuple[tuple[tuple[str, ...], Callable[[Sizes], bool], str], ...] = ("
    for line in contract.demands:
        if isinstance(line, DimsLine):
            holds = " or ".join(map(_relation, line.relations))
            yield "    ("
            yield f"        {_names(line)},"
            yield f"        lambda s: {holds},"
            yield f"        {_text(line.text + nodes_text(line))},"
            yield "    ),"
    yield ")"
    yield "# (input, column, names in it, first, last, text, nodes)"
    yield "ELEMENTS: tuple[tuple[str, int | None, tuple[str, ...], End, End, str, str], ...] = ("
    elements = [line for line in contract.demands if isinstance(line, ElementsLine)]
    groups = list(dict.fromkeys((line.input, line.column) for line in elements))
    for line in sorted(elements, key=lambda line: groups.index((line.input, line.column))):
        yield "    ("
        yield f"        {_text(line.input)},"
        yield f"        {line.column},"
        yield f"        {_names(line)},"
        yield f"        {_end(line.low)},"
        yield f"        {_end(line.high)},"
        yield f"        {_text(line.text)},"
        yield f"        {_text(nodes_text(line))},"
        yield "    ),"
    yield ")"


def _solved_table(contract: Contract) -> Iterator[str]:
    yield "# (names in the rest, size, name, factor, rest, text): size == factor*name + rest"
    yield "SOLVED: tuple[tuple[tuple[str, ...], str, str, int, Size, str], ...] = ("
    found = list(solvings(contract.inputs))
    for s in found:
        names = _tuple(tuple(sorted(s.dim.symbols - {s.name})))
        rest = f"lambda s: {python(s.rest)}"
        yield f"    ({names}, {_text(s.size)}, {_text(s.name)}, {s.factor}, {rest}, {_text(str(s.dim))}),"
    yield ")"
    told = covered(contract.demands) | {s.size for s in found}
    yield "# (names in it, size, what it has to be, text)"
    yield "EQUAL: tuple[tuple[tuple[str, ...], str, Size, str], ...] = ("
    for spec, axis, dim in compound_axes(contract.inputs):
        if spec.axis(axis) not in told:
            names = _tuple(tuple(sorted(dim.symbols)))
            yield f"    ({names}, {_text(spec.axis(axis))}, lambda s: {python(dim)}, {_text(str(dim))}),"
    yield ")"


def _names(line: Line) -> str:
    return _tuple(tuple(sorted(line.symbols)))


def _tuple(items: tuple[object, ...] | None) -> str:
    if items is None:
        return "None"
    inner = ", ".join(_text(item) for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _text(item: object) -> str:
    """A literal, texts in double quotes."""
    if not isinstance(item, str):
        return repr(item)
    inner = ascii(item)[1:-1].replace("\\'", "'")
    return '"' + inner.replace('"', '\\"') + '"'


def _relation(relation: Relation) -> str:
    return f"{python(relation.left)} {relation.relation} {python(relation.right)}"


def _end(end: Dim | None) -> str:
    return "None" if end is None else f"lambda s: {python(end)}"


def python(dim: Dim) -> str:
    """The dim as an expression of Python, with the sizes in `s`."""
    if isinstance(dim, int):
        return str(dim)
    text = ""
    for monomial, coefficient in dim.terms:
        factors = [_atom(atom) for atom in monomial]
        size = abs(coefficient)
        term = " * ".join(([str(size)] if size != 1 or not factors else []) + factors)
        sign = "-" if coefficient < 0 else "+"
        text = f"{text} {sign} {term}" if text else (f"-{term}" if coefficient < 0 else term)
    return text


def _atom(atom: Atom) -> str:
    if isinstance(atom, Symbol):
        return f"s[{_text(atom.name)}]"
    if isinstance(atom, FloorDiv):
        return f"(({python(atom.num)}) // ({python(atom.den)}))"
    assert isinstance(atom, Extremum), "an atom is a symbol, a quotient, a min or a max"
    return f"{'min' if isinstance(atom, Min) else 'max'}({', '.join(map(python, atom.args))})"
