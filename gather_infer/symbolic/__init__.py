"""Symbolic integers for dims: a normal form, value ranges and proofs. Independent of ONNX.

How to read the package, bottom up. The indented lines are examples: N and M are symbols, which are integers >= 0, and s
and t are new scopes.

Representation (`normal_form`, `division`, `min_max`). A `Dim` is an int or an `Expr` in polynomial normal form:
integer coefficients and monomials over atoms. An atom is a symbol, a floor division `num // den`, a `min` or a `max`.
`from_terms` sorts and merges monomials, so two expressions with the same terms are the same object. `division` and
`min_max` apply the identities of their atoms when they build one: they pull common factors out, merge constants and
drop dominated arguments. Each identity is a comment with its side condition.

    2*(N + M) - N           is 2*M + N
    (6*N + 3) // 3          is 2*N + 1
    N - 2*(N//2)            is printed as N % 2: a remainder is not an atom
    maximum(N + 1, N + 3)   is N + 3
    maximum(0, N - 1)       stays: neither argument dominates the other

Scope (`scope`). A `Scope` holds an interval for each symbol (`declare`) and facts `dim >= 0` (`add_fact`). A child
scope also uses the facts of its parent, which does not see those added to the child. `simplify` (`substitution`)
rebuilds a dim with the facts of a scope.

    s.declare("N", Interval(1, 512)); s.add_fact(M - N)     1 <= N <= 512 and N <= M
    simplify(maximum(0, N - 1), s)                          is N - 1

Interval arithmetic (`interval`). The first bound of a dim adds and multiplies the intervals of its parts. It is exact
where no symbol occurs twice.

    s.bounds(2*N - 1)       is [1, 1023]
    s.bounds(N // 64)       is [0, 8]

Linear relaxation and Fourier-Motzkin elimination (`linear_relaxation`, `fourier_motzkin`). Where terms share symbols,
or facts bear on them, each monomial becomes a variable. Rows tie the variables together: quotients to their numerators,
extrema to their arguments, products to their factors (McCormick envelopes), and the facts. Eliminating every variable
except the one that equals the dim leaves the range of the dim. Rows are divided by the gcd of their coefficients and
rounded, which is sound because all variables are integers.

    t.add_fact(N + M - 10); t.add_fact(N - M)               N + M >= 10 and N >= M
    t.bounds(N)             is [5, inf): the sum of both facts is 2*N - 10 >= 0
    s.bounds(M - N)         is [0, inf); interval arithmetic alone gives [-511, inf)

Proofs (`prove`). `known_le`, `known_lt` and `known_eq` return True when the relation holds for every binding in scope,
False when it holds for none, else None. They try the cheapest argument first: a sample binding that refutes the claim
(`sampling`), the bounds, then a case split over each argument of a min or max, innermost first.

    known_le(N, M, s)       is True
    known_le(M, N, s)       is None: it holds for some bindings only
    known_lt(N, 0, s)       is False
    known_eq(maximum(N - M, 0) + minimum(N, M), N)          is True, by a case split on N - M

Budget. Expressions have hard caps (`normal_form.MAX_TERMS`, `MAX_SIZE`, ...); beyond them `DimTooLarge` is raised and
callers take a fresh symbol. `prove` limits the cases of one proof and its eliminations (`Fuel`). A spent budget gives
None or a wider range, never a wrong one. All limits are counts, not clocks, so results are reproducible.

Text (`parse`, `ratios`, `dim_functions`, `printing`, `notations`, `factored_printing`, `canonical_relations`).
`parse_dim` and `str` are inverse to each other. `parse_dim` reads `dim_param` expressions as ONNX tools write them,
with exact rational arithmetic between the operators; `to_text` writes them in the notation of one of these tools.
`factored` and `canonical_relation` choose the form that people read.

    parse_dim("2*N + N - 1")                prints as 3*N - 1
    parse_dim("floor(N/2 - 1/2) + 1")       prints as (N + 1)//2
    factored(128*N*N*M + 64*N*M)            is 64*M*N*(2*N + 1)
    canonical_relation(6*N, "==", 12*(N//2))                is N % 2 and 0

    evaluate(N//2 + 1, {"N": 10})           is 6; `substitute` puts dims in place of symbols
"""

from __future__ import annotations

from gather_infer.symbolic.canonical_relations import canonical_lower_bound, canonical_relation
from gather_infer.symbolic.division import ceildiv, floordiv, mod, truncdiv
from gather_infer.symbolic.evaluate import divisors, evaluate, free_symbols, is_total, product, total
from gather_infer.symbolic.factored_printing import factored
from gather_infer.symbolic.interval import Interval
from gather_infer.symbolic.min_max import maximum, minimum
from gather_infer.symbolic.normal_form import Dim, DimTooLarge, Expr, symbol
from gather_infer.symbolic.parse import AmbiguousDim, DimSyntaxError, InexactDim, parse_dim
from gather_infer.symbolic.prove import known_eq, known_le, known_lt
from gather_infer.symbolic.scope import Fuel, Scope
from gather_infer.symbolic.substitution import simplify, substitute

__all__ = [
    "AmbiguousDim",
    "Dim",
    "DimSyntaxError",
    "DimTooLarge",
    "Expr",
    "Fuel",
    "InexactDim",
    "Interval",
    "Scope",
    "canonical_lower_bound",
    "canonical_relation",
    "ceildiv",
    "divisors",
    "evaluate",
    "factored",
    "floordiv",
    "free_symbols",
    "is_total",
    "known_eq",
    "known_le",
    "known_lt",
    "maximum",
    "minimum",
    "mod",
    "parse_dim",
    "product",
    "simplify",
    "substitute",
    "symbol",
    "total",
    "truncdiv",
]
