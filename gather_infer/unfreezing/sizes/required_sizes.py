"""Sizes that a file declares as dynamic although its nodes require one number.

An exporter that is told of a dynamic axis, or a script that overwrites the declaration, names the size of an input;
targets of Reshape and constants keep the number. What nodes require tells the old size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.passes.freezing import freeze
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Expr, evaluate, free_symbols, parse_dim, substitute
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.result import Required
from gather_infer.unfreezing.sizes.computed_sizes import Site
from gather_infer.unfreezing.sizes.requested_sizes import named_axes


@dataclass(frozen=True)
class FixedSource:
    """A model in which each axis that is to be made dynamic has a number.

    pairs     the axes and their new sizes: those of the caller, and others that the file declares with the same symbol
    numbers   symbols that the file declares -> their numbers
    required  new names of these symbols -> the number that a node requires, and its label
    """

    source: ModelFile
    pairs: Sequence[tuple[str, str]]
    numbers: Mapping[str, int] = field(default_factory=dict)
    required: Mapping[str, Required] = field(default_factory=dict)


def with_required_sizes(source: ModelFile, pairs: Sequence[tuple[str, str]], rules: Sequence[RuleSet]) -> FixedSource:
    """The model with numbers in place of the named sizes that it declares as dynamic already.

    The number is that of another axis with the same name, or the one that a node requires. Raises UsageError if there
    is none.
    """
    values = {value.name: value for value in fed_inputs(source.proto)}
    fixed: dict[str, int] = {}
    dynamic: dict[Site, str] = {}
    for _, name, site in named_axes(pairs, values):
        dim = values[site.input].type.tensor_type.shape.dim[site.axis]
        if dim.HasField("dim_value"):
            fixed.setdefault(name, dim.dim_value)
        elif is_plain_name(name):
            dynamic[site] = name
    if not dynamic:
        return FixedSource(source, pairs)
    inference = infer(source, rules=rules, assume=False)
    numbers: dict[str, int] = {}
    names: dict[str, str] = {}
    required: dict[str, Required] = {}
    for site, name in dynamic.items():
        symbol = _symbol(inference, site)
        if names.setdefault(symbol, name) != name:
            raise UsageError(f"dim '{site}' is {symbol}, which cannot be {names[symbol]} and {name}")
        if name not in fixed and name not in required:
            found = required_size(inference, symbol)
            if found is None:
                raise UsageError(
                    f"dim '{site}' is dynamic already, and the nodes do not require one number of it; if it stands for"
                    f" one, freeze --dim {symbol}=NUMBER first"
                )
            required[name] = found
        numbers[symbol] = fixed[name] if name in fixed else required[name].size
    frozen = freeze(source, dims=numbers, rules=rules)
    if frozen.refusal is not None:
        raise frozen.refusal
    return FixedSource(replace(source, proto=frozen.proto), [*pairs, *_others(inference, names)], numbers, required)


def required_size(inference: Inference, symbol: str) -> Required | None:
    """The largest number that a node equates a symbol with, and that satisfies what nodes require of it alone."""
    required: list[tuple[tuple[tuple[Dim, str, Dim], ...], str]] = [
        *((((c.left, c.relation, c.right),), str(c.node)) for c in inference.constraints),
        *((demand.any_of, str(demand.node)) for demand in inference.implied_constraints),
    ]
    numbers: dict[int, str] = {}
    for any_of, node in required:
        for alternative in any_of:
            number = _equated(alternative, symbol)
            if number is not None and number >= 1:
                numbers.setdefault(number, node)
    alone = [any_of for any_of, _ in required if _symbols(any_of) == {symbol}]
    for number in sorted(numbers, reverse=True):
        if all(any(_holds(each, {symbol: number}) for each in any_of) for any_of in alone):
            return Required(number, numbers[number])
    return None


def _symbol(inference: Inference, site: Site) -> str:
    """The symbol of an axis of an input. Raises UsageError for an expression."""
    fact = inference[site.input]
    dim = fact.shape[site.axis] if isinstance(fact, SymbolicTensor) and fact.shape is not None else None
    if not isinstance(dim, Expr) or not dim.is_symbol:
        raise UsageError(f"dim '{site}' is {dim}, not a number; name the axes of its symbols")
    return dim.name


def _others(inference: Inference, names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The axes of inputs that have the symbols, each with its new size. Raises UsageError for one with others, too."""
    renamed: dict[str, Dim] = {symbol: parse_dim(name) for symbol, name in names.items()}
    for name in inference.inputs:
        fact = inference[name]
        for axis, dim in enumerate((fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()):
            used = free_symbols(dim)
            if not used.isdisjoint(names):
                if not used <= names.keys():
                    raise UsageError(f"dim '{name}.{axis}' is {dim}; name the axes of all its symbols")
                yield f"{name}.{axis}", str(substitute(dim, renamed))


def _equated(alternative: tuple[Dim, str, Dim], symbol: str) -> int | None:
    """The number that `symbol == number` or `number == symbol` names."""
    left, relation, right = alternative
    for dim, number in ((left, right), (right, left)):
        if relation == "==" and isinstance(dim, Expr) and dim.is_symbol and dim.name == symbol:
            return number if isinstance(number, int) else None
    return None


def _symbols(any_of: Iterable[tuple[Dim, str, Dim]]) -> frozenset[str]:
    return frozenset(name for left, _, right in any_of for dim in (left, right) for name in free_symbols(dim))


def _holds(alternative: tuple[Dim, str, Dim], sizes: Mapping[str, int]) -> bool:
    left, right = evaluate(alternative[0], sizes), evaluate(alternative[2], sizes)
    return left == right if alternative[1] == "==" else left <= right
