"""Guards: a contract as a Python module that checks feeds and needs numpy only."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Final

from gather_infer.contract import Contract, DimsLine, Relation, standalone
from gather_infer.contract.checking import (
    RANGES,
    by_part,
    dims_of,
    input_conditions,
    nodes_text,
    quoted_names,
    solvings,
    symbol_names,
    unsolved,
)
from gather_infer.symbolic import Dim
from gather_infer.symbolic.normal_form import Atom, Extremum, FloorDiv, Min, Symbol

_HEAD: Final = '''"""Checks the inputs of {model} before a run.

Written by `gather-infer contract --python`; needs numpy only. `check(feeds)` lists every violation of the contract,
`require(feeds)` raises ValueError for them, `warnings(feeds)` lists violations with which a run may still succeed.
"""

'''

_FUNCTIONS: Final = '''

def check(feeds: Mapping[str, Any], *, strict: bool = STRICT) -> list[str]:
    """The violations of the contract by `feeds`, arrays by the names of inputs; empty if there are none.

    strict   enforce lines that are sufficient only, too: a run outside them may still succeed
    """
    return [found.text for found in violations(TABLES, feeds) if found.needed or strict]


def warnings(feeds: Mapping[str, Any]) -> list[str]:
    """The violations by `feeds` of lines that are sufficient only."""
    return [found.text for found in violations(TABLES, feeds) if not found.needed]


def require(feeds: Mapping[str, Any], *, strict: bool = STRICT) -> None:
    """Raises ValueError with all violations of the contract by `feeds`, if there are any.

    strict   as for `check`; without it, violations of lines that are sufficient only give a UserWarning
    """
    found = refusals(TABLES, feeds, strict=strict)
    if found:
        raise ValueError("; ".join(found))
'''


def guard_source(contract: Contract, *, strict: bool = False) -> str:
    """The source of a guard module, which reports the same violations as `Contract.check`.

    strict   default of the module's `strict`: whether to enforce lines that are sufficient but not necessary
    """
    return f"{_head(contract)}{checker_source(contract, strict=strict)}{_FUNCTIONS}"


def checker_source(contract: Contract, *, strict: bool = False) -> str:
    """The source that defines `violations` and `refusals`, the `TABLES` of the contract and `STRICT`."""
    return f"{_module()}\n\n{chr(10).join(_tables(contract))}\nSTRICT = {strict}\n"


def _module() -> str:
    """The source of `contract.standalone` without its docstring."""
    source = inspect.getsource(standalone)
    docstring = ast.parse(source).body[0].end_lineno
    return "".join(source.splitlines(keepends=True)[docstring:]).strip()


def _head(contract: Contract) -> str:
    shown = "".join(c if c.isprintable() and c not in '"\\' else "?" for c in contract.model)
    return _HEAD.replace("{model}", shown)


def _tables(contract: Contract) -> Iterator[str]:
    """The lines of Python source that define the tables of `contract.checking` for `contract`."""
    yield "TABLES = Tables("
    yield "    inputs={"
    for spec in contract.inputs:
        yield f"        {_text(spec.name)}: Input({_text(spec.dtype)}, {_tuple(dims_of(spec))}, {spec.optional}),"
    yield "    },"
    yield "    solved=("
    for s in solvings(contract.inputs):
        names = _tuple(symbol_names(s.dim.symbols - {s.name}))
        size, text = _text(s.size), _text(str(s.dim))
        yield f"        Solved({names}, {size}, {_text(s.name)}, {s.factor}, lambda s: {python(s.rest)}, {text}),"
    yield "    ),"
    yield "    equal=("
    for spec, axis, dim in unsolved(contract.inputs, contract.all_lines):
        size, names = _text(spec.axis_name(axis)), _tuple(symbol_names(dim.symbols))
        yield f"        Equal({names}, {size}, lambda s: {python(dim)}, {_text(str(dim))}),"
    yield "    ),"
    yield "    sizes=("
    for position, (line, needed) in enumerate(contract.enforced):
        if isinstance(line, DimsLine):
            yield "        OfSizes("
            yield f"            line={position},"
            yield f"            needs={_tuple(symbol_names(line.symbols))},"
            yield f"            where={_tuple(input_conditions(line))},"
            yield f"            holds=lambda s: {' or '.join(map(_relation, line.relations))},"
            yield f"            text={_text(line.text)},"
            yield f"            nodes={_text(nodes_text(line))},"
            yield f"            needed={needed},"
            yield "        ),"
    yield "    ),"
    yield "    elements=("
    for position, of_elements, needed in by_part(contract.enforced):
        yield "        OfElements("
        yield f"            line={position},"
        yield f"            input={_text(of_elements.input)},"
        yield f"            column={of_elements.column},"
        yield f"            needs={_tuple(symbol_names(of_elements.symbols))},"
        yield f"            low={_end(of_elements.lower)},"
        yield f"            high={_end(of_elements.upper)},"
        yield f"            text={_text(of_elements.text)},"
        yield f"            nodes={_text(nodes_text(of_elements))},"
        yield f"            needed={needed},"
        yield "        ),"
    yield "    ),"
    odd = ", ".join(f"{_text(n)}: {_text(t)}" for n, t in quoted_names(contract.inputs, contract.all_lines).items())
    yield f"    shown={{{odd}}},"
    yield "    ranges={"
    yield from (f"        {_text(name)}: {bounds}," for name, bounds in RANGES.items())
    yield "    },"
    yield ")"


def _tuple(items: tuple[object, ...] | None) -> str:
    if items is None:
        return "None"
    inner = ", ".join(_text(item) for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _text(item: object) -> str:
    """`item` as a Python literal, with strings in double quotes."""
    if isinstance(item, tuple):
        return _tuple(item)
    if not isinstance(item, str):
        return repr(item)
    inner = ascii(item)[1:-1].replace("\\'", "'")
    return '"' + inner.replace('"', '\\"') + '"'


def _relation(relation: Relation) -> str:
    return f"{python(relation.left)} {relation.relation} {python(relation.right)}"


def _end(end: Dim | None) -> str:
    return "None" if end is None else f"lambda s: {python(end)}"


def python(dim: Dim) -> str:
    """`dim` as a Python expression that reads the size of each symbol from the mapping `s`."""
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
