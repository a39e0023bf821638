"""Random dims as naive trees, and what they are worth without any algebra."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gather_infer.symbolic import (
    Dim,
    Interval,
    Scope,
    ceildiv,
    floordiv,
    maximum,
    minimum,
    mod,
    symbol,
)

NAMES = ("N", "M", "seq")
VALUES = (0, 1, 2, 3, 5, 7)


@dataclass(frozen=True)
class Tree:
    """An operator and its operands; a leaf is ("symbol", name) or ("number", value)."""

    operator: str
    operands: tuple[Tree, ...] = ()
    name: str = ""
    value: int = 0

    def evaluate(self, bindings: Mapping[str, int]) -> int:
        """Raises ZeroDivisionError where a divisor is 0, also one that the algebra would lose."""
        if self.operator == "symbol":
            return bindings[self.name]
        if self.operator == "number":
            return self.value
        values = [operand.evaluate(bindings) for operand in self.operands]
        match self.operator:
            case "+":
                return values[0] + values[1]
            case "-":
                return values[0] - values[1]
            case "*":
                return values[0] * values[1]
            case "//":
                return values[0] // values[1]
            case "%":
                return values[0] % values[1]
            case "ceil":
                return -(-values[0] // values[1])
            case "min":
                return min(values)
            case "max":
                return max(values)
        raise AssertionError(self.operator)

    def dim(self, scope: Scope | None = None) -> Dim:
        """The same in normal form. Raises ZeroDivisionError when a divisor is the constant 0."""
        if self.operator == "symbol":
            return symbol(self.name)
        if self.operator == "number":
            return self.value
        operands = [operand.dim(scope) for operand in self.operands]
        match self.operator:
            case "+":
                return operands[0] + operands[1]
            case "-":
                return operands[0] - operands[1]
            case "*":
                return operands[0] * operands[1]
            case "//":
                return floordiv(operands[0], operands[1], scope)
            case "%":
                return mod(operands[0], operands[1], scope)
            case "ceil":
                return ceildiv(operands[0], operands[1], scope)
            case "min":
                return minimum(*operands, scope=scope)
            case "max":
                return maximum(*operands, scope=scope)
        raise AssertionError(self.operator)

    def __str__(self) -> str:
        if self.operator == "symbol":
            return self.name
        if self.operator == "number":
            return str(self.value) if self.value >= 0 else f"({self.value})"
        inner = [str(operand) for operand in self.operands]
        if self.operator in ("min", "max"):
            return f"{self.operator}({', '.join(inner)})"
        if self.operator == "ceil":
            return f"-(-{inner[0]}//{inner[1]})"
        return f"({inner[0]} {self.operator} {inner[1]})"


OPERATORS = ("+", "+", "-", "-", "*", "*", "//", "//", "//", "%", "ceil", "min", "max")


def random_tree(rng: random.Random, leaves: int) -> Tree:
    if leaves == 1:
        if rng.random() < 0.6:
            return Tree("symbol", name=rng.choice(NAMES))
        return Tree("number", value=rng.choice((-3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 5, 6)))
    operator = rng.choice(OPERATORS)
    if operator in ("min", "max") and leaves >= 3 and rng.random() < 0.3:
        return Tree(operator, tuple(random_tree(rng, part) for part in _parts(rng, leaves, 3)))
    return Tree(operator, tuple(random_tree(rng, part) for part in _parts(rng, leaves, 2)))


def _parts(rng: random.Random, leaves: int, count: int) -> list[int]:
    cuts = sorted(rng.sample(range(1, leaves), count - 1))
    return [high - low for low, high in itertools.pairwise([0, *cuts, leaves])]


def all_bindings(values: tuple[int, ...] = VALUES) -> list[dict[str, int]]:
    """Every combination of the values, equal ones included."""
    return [dict(zip(NAMES, chosen, strict=True)) for chosen in itertools.product(values, repeat=len(NAMES))]


def random_scope(rng: random.Random, bindings: list[dict[str, int]]) -> tuple[Scope, list[dict[str, int]], list[str]]:
    """A scope, those of the bindings that satisfy it, and its facts in words."""
    scope = Scope()
    words: list[str] = []
    legal = bindings
    for name in NAMES:
        if rng.random() < 0.4:
            lo = rng.choice((0, 1, 1, 2, 3))
            hi = rng.choice((None, None, lo, lo + 1, 5, 7))
            if hi is not None and hi < lo:
                hi = lo
            scope.declare(name, Interval(lo, hi))
            words.append(f"{name} in {Interval(lo, hi)}")
            legal = [b for b in legal if b[name] >= lo and (hi is None or b[name] <= hi)]
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        fact = random_tree(rng, rng.randint(1, 5))
        satisfying = [b for b in legal if is_satisfied(fact, b)]
        if not satisfying:
            continue
        try:
            scope.add_fact(fact.dim())
        except ZeroDivisionError:
            continue
        words.append(f"{fact} >= 0")
        legal = satisfying
    return scope, legal, words


def is_satisfied(fact: Tree, bindings: Mapping[str, int]) -> bool:
    value = value_of(fact, bindings)
    return value is not None and value >= 0


def value_of(tree: Tree, bindings: Mapping[str, int]) -> int | None:
    try:
        return tree.evaluate(bindings)
    except ZeroDivisionError:
        return None


def trees(seed: int, count: int, leaves: int) -> Iterator[Tree]:
    rng = random.Random(seed)
    for _ in range(count):
        yield random_tree(rng, rng.randint(2, leaves))


def truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient
