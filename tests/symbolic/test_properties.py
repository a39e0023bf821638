"""Generated dims against brute force: the seeds are fixed, so that a failure can be repeated."""

from __future__ import annotations

import random

import pytest
import sympy

from gather_infer.symbolic import (
    DimTooLarge,
    Expr,
    Scope,
    canonical_lower_bound,
    canonical_relation,
    evaluate,
    free_symbols,
    known_eq,
    known_le,
    known_lt,
    parse_dim,
    simplify,
    substitute,
    symbol,
    truncdiv,
)
from tests.symbolic.brute_force import NAMES, all_bindings, random_scope, random_tree, truncating, value_of

BINDINGS = all_bindings()
# All zero, all equal, and the rest drawn anew for each chunk.
CORNERS = [dict.fromkeys(NAMES, value) for value in (0, 1, 2, 7)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("chunk", range(10))
def test_normal_form_has_the_value_of_the_tree(chunk: int) -> None:
    rng = random.Random(f"normal form {chunk}")
    defined = 0
    for _ in range(2000):
        tree = random_tree(rng, rng.randint(2, 8))
        bindings = CORNERS + rng.sample(BINDINGS, 12)
        values = [value_of(tree, binding) for binding in bindings]
        try:
            dim = tree.dim()
        except ZeroDivisionError:
            assert all(value is None for value in values), tree
            continue
        text = str(dim)
        assert parse_dim(text) is dim if not isinstance(dim, int) else parse_dim(text) == dim, (str(tree), text)
        assert free_symbols(dim) <= set(NAMES)
        bounds = Scope().bounds(dim)
        for binding, value in zip(bindings, values, strict=True):
            if value is not None:
                defined += 1
                assert evaluate(dim, binding) == value, (str(tree), text, binding)
                assert value in bounds, (str(tree), text, bounds, binding)
    assert defined > 10_000  # the test would be empty if most trees divided by 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chunk", range(6))
def test_answers_in_a_scope_hold_for_every_legal_binding(chunk: int) -> None:
    rng = random.Random(f"scope {chunk}")
    answers = {True: 0, False: 0, None: 0}
    for _ in range(120):
        tree, other = random_tree(rng, rng.randint(2, 6)), random_tree(rng, rng.randint(1, 5))
        scope, legal, words = random_scope(rng, BINDINGS)
        context = (str(tree), str(other), words)
        values = [value_of(tree, binding) for binding in legal]
        others = [value_of(other, binding) for binding in legal]
        try:
            dim, right = tree.dim(), other.dim()
        except ZeroDivisionError:
            continue
        try:
            forms = [simplify(dim, scope), tree.dim(scope)]
        except ZeroDivisionError:
            assert all(value is None for value in values), context
            continue
        bounds = scope.bounds(dim)
        equal, at_most, less = known_eq(dim, right, scope), known_le(dim, right, scope), known_lt(dim, right, scope)
        answers[equal] += 1
        answers[at_most] += 1
        for form in forms:
            assert parse_dim(str(form)) == form, (context, str(form))
        for binding, a, b in zip(legal, values, others, strict=True):
            if a is None:
                continue
            assert a in bounds, (context, bounds, binding)
            for form in forms:
                assert evaluate(form, binding) == a, (context, str(form), binding)
            if b is not None:
                assert equal is None or equal == (a == b), (context, binding)
                assert at_most is None or at_most == (a <= b), (context, binding)
                assert less is None or less == (a < b), (context, binding)
    assert min(answers.values()) > 10


def test_substitution_is_evaluation_in_two_steps() -> None:
    rng = random.Random("substitution")
    for _ in range(800):
        tree, part = random_tree(rng, rng.randint(2, 6)), random_tree(rng, rng.randint(1, 4))
        try:
            # What replaces a symbol has to be >= 0, as the symbol is.
            inserted = part.dim()
            inserted = inserted * inserted
            dim = tree.dim()
            result = substitute(dim, {"N": inserted})
        except ZeroDivisionError:
            continue
        for binding in rng.sample(BINDINGS, 12):
            value = value_of(part, binding)
            if value is not None:
                bound = {**binding, "N": value * value}
                expected = value_of(tree, bound)
                if expected is not None:
                    assert evaluate(result, binding) == expected, (str(tree), str(part), binding)


def test_reduced_relations_say_the_same() -> None:
    rng = random.Random("reduced")
    changed = 0
    for _ in range(1500):
        left, right = random_tree(rng, rng.randint(1, 5)), random_tree(rng, rng.randint(1, 5))
        try:
            sides = left.dim(), right.dim()
            if rng.random() < 0.5:  # something to cancel
                sides = 6 * sides[0] + sides[1], 3 * sides[1]
        except ZeroDivisionError:
            continue
        for relation, holds in (("==", int.__eq__), ("<=", int.__le__)):
            fewer = canonical_relation(sides[0], relation, sides[1])
            changed += fewer != sides
            assert sum(len(str(d)) for d in fewer) <= sum(len(str(d)) for d in sides)
            assert canonical_relation(fewer[0], relation, fewer[1]) == fewer
            for binding in rng.sample(BINDINGS, 8):
                try:
                    given = [evaluate(d, binding) for d in sides]
                except ZeroDivisionError:
                    continue
                expected = holds(*given)
                assert holds(*[evaluate(d, binding) for d in fewer]) == expected, (sides, relation, fewer, binding)
    assert changed > 500


def test_lower_limits_in_few_words_say_the_same() -> None:
    rng = random.Random("least of")
    changed = 0
    for _ in range(1500):
        try:
            dim = random_tree(rng, rng.randint(1, 6)).dim()
        except ZeroDivisionError:
            continue
        if not isinstance(dim, Expr):
            continue
        least = rng.randint(-9, 9)
        fewer, number = canonical_lower_bound(dim, least)
        changed += fewer != dim
        for binding in rng.sample(BINDINGS, 8):
            try:
                expected = evaluate(dim, binding) >= least
            except ZeroDivisionError:
                continue
            assert (evaluate(fewer, binding) >= number) == expected, (dim, least, fewer, number, binding)
    assert changed > 300


def test_truncating_division() -> None:
    rng = random.Random("truncdiv")
    decided = 0
    for _ in range(500):
        top, bottom = random_tree(rng, rng.randint(1, 4)), random_tree(rng, rng.randint(1, 3))
        try:
            quotient = truncdiv(top.dim(), bottom.dim())
        except ZeroDivisionError:
            continue
        if quotient is None:
            continue
        decided += 1
        for binding in rng.sample(BINDINGS, 20):
            a, b = value_of(top, binding), value_of(bottom, binding)
            if a is not None and b is not None and b != 0:
                assert evaluate(quotient, binding) == truncating(a, b), (str(top), str(bottom), binding)
    assert decided > 200


def test_sympy_agrees() -> None:
    rng = random.Random("sympy")
    names = {name: sympy.Symbol(name, integer=True, nonnegative=True) for name in NAMES}
    functions = {"min": sympy.Min, "max": sympy.Max}
    compared = 0
    for _ in range(300):
        tree = random_tree(rng, rng.randint(2, 5))
        try:
            dim = tree.dim()
        except ZeroDivisionError:
            continue
        # Python reads both texts by its own rules: `//` and `%` on sympy's integers floor.
        code = compile(str(dim), "<dim>", "eval")
        for binding in rng.sample(BINDINGS, 3):
            value = value_of(tree, binding)
            if value is not None:
                bound = {name: sympy.Integer(binding[name]) for name in names}
                assert eval(code, {"__builtins__": {}}, {**functions, **bound}) == value, (str(tree), str(dim))
                compared += 1
    assert compared > 300


def test_sympy_expands_polynomials_alike() -> None:
    rng = random.Random("sympy polynomials")
    for _ in range(200):
        tree = random_tree(rng, rng.randint(2, 7))
        if any(operator in str(tree) for operator in ("//", "%", "min", "max")):
            continue
        theirs = sympy.expand(sympy.sympify(str(tree), locals={name: sympy.Symbol(name) for name in NAMES}))
        ours = sympy.sympify(str(tree.dim()), locals={name: sympy.Symbol(name) for name in NAMES})
        assert theirs - ours == 0, str(tree)


def test_hard_caps_stop_growth() -> None:
    dim = symbol("N") + 1
    with pytest.raises(DimTooLarge):
        for _ in range(20):
            dim = dim * (dim + symbol("M"))
