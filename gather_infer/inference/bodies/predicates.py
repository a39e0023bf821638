"""Branch predicates: bools of the model as conditions on dims or input elements, and values selected by them.

The sign predicate of a bool is a dim that is negative exactly when the bool is true. Its input predicate compares one
element of a graph input with a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.environment import Environment
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    free_symbols,
    is_total,
    known_eq,
    known_lt,
    maximum,
    minimum,
    symbol,
)
from gather_infer.tensor import SymbolicTensor, Value, make_values
from gather_infer.trail import InputPredicate

COMPARISONS: Final[Mapping[str, Callable[[Dim, Dim], Dim]]] = {
    "Less": lambda a, b: a - b,
    "LessOrEqual": lambda a, b: a - b - 1,
    "Greater": lambda a, b: b - a,
    "GreaterOrEqual": lambda a, b: b - a - 1,
    "Equal": lambda a, b: maximum(a - b, b - a) - 1,
}
CONNECTIVES: Final[Mapping[str, Callable[..., Dim]]] = {
    "Not": lambda a: -a - 1,
    "And": maximum,
    "Or": minimum,
    "Identity": lambda a: a,
    "Cast": lambda a: a,
    "Reshape": lambda a: a,
    "Squeeze": lambda a: a,
}
OPERATORS: Final = COMPARISONS.keys() | CONNECTIVES.keys()


def scalar(value: Value | None) -> object:
    """The element of a one-element tensor; None for any other value, or when the element is unknown."""
    return value.only_element if isinstance(value, SymbolicTensor) else None


def require_single(value: Value | None, name: str, context: Context) -> None:
    """Require that a tensor, of any rank, has exactly one element; `name` describes it in the message.

    Raises SpecViolation when it never has exactly one.
    """
    for dim in (value.shape or ()) if isinstance(value, SymbolicTensor) else ():
        if known_eq(dim, 1, context.scope) is False:
            raise SpecViolation(f"{name} must have one element, is {value}", "GI305")
        context.add_constraint(dim, "==", 1)


def sign_predicate_of(
    op_type: str, names: Sequence[str], inputs: Sequence[Value | None], environment: Environment
) -> Dim | None:
    """The sign predicate of the single bool that a node computes; None when there is none, or when it is too large."""
    try:
        return _sign_predicate_of(op_type, names, inputs, environment)
    except DimTooLarge:
        return None


def _sign_predicate_of(
    op_type: str, names: Sequence[str], inputs: Sequence[Value | None], environment: Environment
) -> Dim | None:
    if op_type in COMPARISONS:
        sides = [value.only_integer for value in inputs if isinstance(value, SymbolicTensor)]
        known = [side for side in sides if side is not None]
        return COMPARISONS[op_type](*known) if len(known) == len(inputs) == 2 else None
    parts: list[Dim] = []
    taken = 2 if op_type in ("And", "Or") else 1  # the second input of Reshape and Squeeze is a shape or axes
    for name, value in zip(names[:taken], inputs, strict=False):
        element = scalar(value)
        part = (-1 if element else 0) if isinstance(element, bool) else environment.sign_predicate(name)
        if part is None:
            return None
        parts.append(part)
    return CONNECTIVES[op_type](*parts) if len(parts) == taken else None


def input_predicate_of(
    op_type: str, names: Sequence[str], inputs: Sequence[Value | None], environment: Environment
) -> InputPredicate | None:
    """The input predicate of the single bool that a node computes; None when no single element decides it."""
    if op_type in ("And", "Or"):
        deciding = [name for name, value in zip(names, inputs, strict=False) if scalar(value) is not (op_type == "And")]
        return environment.input_predicate(deciding[0]) if len(deciding) == 1 else None
    if op_type in CONNECTIVES:
        known = environment.input_predicate(names[0])
        return known.negated if known is not None and op_type == "Not" else known
    if len(names) != 2:
        return None
    for x, number, is_left in ((0, 1, True), (1, 0, False)):
        name, limit = deciding_input(names[x], environment), inputs[number]
        least = limit.only_integer if isinstance(limit, SymbolicTensor) else None
        if name is None or not isinstance(least, int):
            continue
        if op_type == "Equal":
            return InputPredicate(name, "==", least)
        # x < n and x >= n + 1 keep their form; n < x is x >= n + 1
        is_below = op_type.startswith("Less") is is_left
        includes = op_type.endswith("OrEqual")
        return (
            InputPredicate(name, "<", least + includes)
            if is_below
            else InputPredicate(name, ">=", least + (not includes))
        )
    return None


def deciding_input(name: str, environment: Environment) -> str | None:
    """The graph input of which a tensor is an exact copy, element by element; None when there is none."""
    trace = environment.provenance_of(name)
    if trace is None or len(trace.origins) != 1:
        return None
    part = trace.origins[0]
    is_all = part.whole and part.column is None and part.direct
    return part.input if part.input and is_all and not part.is_changed else None


def assumed_value(sign_predicate: Dim, context: Context) -> bool | None:
    """Whether a sign predicate holds under the assumption, which is listed, that all symbols in it are >= 1.

    None when the assumption is not allowed or does not decide the predicate.
    """
    trial = context.scope.child()
    names = sorted(free_symbols(sign_predicate))
    for name in names:
        trial.add_fact(symbol(name) - 1)
    holds = known_lt(sign_predicate, 0, trial)
    reason = "which branch of an If is taken depends on it"
    if holds is None or not all(context.assume(symbol(name), 1, reason) for name in names):
        return None
    return holds


def select_by_predicate(
    sign_predicate: Dim, taken: Value, other: Value, local: set[str], context: Context
) -> tuple[Value, Value]:
    """Both values, with differing dims and elements replaced in both by one expression that selects between them.

    taken, other  the value if `sign_predicate` is negative, and the value if it is not
    local         names of symbols that have no meaning outside a branch; dims with them are not replaced
    """
    if not (isinstance(taken, SymbolicTensor) and isinstance(other, SymbolicTensor)) or taken.rank != other.rank:
        return taken, other

    def pick(x: object, y: object) -> tuple[object, object]:
        if x == y or not isinstance(x, (int, Expr)) or not isinstance(y, (int, Expr)):
            return x, y
        if isinstance(x, bool) or isinstance(y, bool) or not local.isdisjoint(free_symbols(x) | free_symbols(y)):
            return x, y
        try:
            found = _select(sign_predicate, x, y, context)
        except DimTooLarge:
            return x, y
        return (x, y) if found is None else (found, found)

    shapes = [pick(x, y) for x, y in zip(taken.shape or (), other.shape or (), strict=True)]
    values: list[list[object]] = [[], []]
    if taken.values is not None and other.values is not None and taken.shape == other.shape:
        for pair in zip(taken.values.flat, other.values.flat, strict=True):
            for side, element in zip(values, pick(*pair), strict=True):
                side.append(element)
    found = []
    for k, value in enumerate((taken, other)):
        if value.shape is not None:
            value = value.with_(shape=tuple(pair[k] for pair in shapes))
        if values[k] and value.values is not None:
            value = value.with_(values=make_values(values[k], value.values.shape))
        found.append(value)
    return found[0], found[1]


def _select(sign_predicate: Dim, x: Dim, y: Dim, context: Context) -> Dim | None:
    """x if `sign_predicate` < 0, else y, as one expression.

    None when x, y or the predicate may be undefined in some run, as by a division by zero.
    """
    if not (is_total(x) and is_total(y) and is_total(sign_predicate)):
        return None
    gain, scope = x - y, context.scope
    # y + max(0, gain): gain > 0 only where x is taken, and >= 0 there; y + min(0, gain) likewise
    if gain + sign_predicate in (0, -1):
        return y + maximum(0, gain, scope=scope)
    if gain - sign_predicate in (0, 1):
        return y + minimum(0, gain, scope=scope)
    return y + minimum(1, maximum(0, -sign_predicate, scope=scope), scope=scope) * gain
