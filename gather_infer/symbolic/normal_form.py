"""Polynomial normal form of dims: integers and polynomials over named sizes.

A `Dim` is an `int` or an `Expr`. An `Expr` is a polynomial with integer coefficients over *atoms*:

    Symbol(name)          an integer >= 0, the size of an axis
    FloorDiv(num, den)    num // den, rounded toward minus infinity
    Min(args), Max(args)  the minimum and the maximum of two or more dims

`n % d` is not an atom: it is represented as `n - d*(n//d)` and printed as `n % d`.

A divisor carries its side condition: an Expr is undefined where a divisor in it is 0, and no identity removes a divisor
from a single quotient unless the divisor is known to be nonzero. (A sum may lose one: `n//d - n//d` is 0.)

Expressions are hash-consed: equal expressions are the same object. They are interned in weak tables, one per class,
which are written under a lock. The results of `+` and `*` are memoised in plain dicts that are cleared when full.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar, NoReturn, TypeAlias
from weakref import WeakValueDictionary

__all__ = [
    "MAX_BITS",
    "MAX_DEGREE",
    "MAX_DEPTH",
    "MAX_SIZE",
    "MAX_TERMS",
    "Atom",
    "Dim",
    "DimTooLarge",
    "Expr",
    "Extremum",
    "FloorDiv",
    "Max",
    "Min",
    "Monomial",
    "Polynomial",
    "Symbol",
    "Term",
    "bounded_memo",
    "constant_term",
    "from_terms",
    "symbol",
    "terms_of",
]

MAX_TERMS = 512  # of one polynomial
MAX_SIZE = 4096  # nodes of one expression
MAX_DEGREE = 64  # factors of one monomial
MAX_DEPTH = 48  # atoms inside atoms: recursion over an expression stays far from the interpreter's limit
MAX_BITS = 4096  # of one coefficient: less than the interpreter's own limit on int -> str
_MAX_INT = 1 << MAX_BITS
_MEMO_CAPACITY = 1 << 16
_PAIR = 2


class DimTooLarge(ArithmeticError):
    """An expression would exceed a hard cap; the caller uses a fresh symbol in its place."""


class Expr:
    """A polynomial that is not a constant. Immutable; equal expressions are the same object.

    terms    ((monomial, coefficient), ...): higher degree first, then by name, the constant `()` last
    size     number of nodes of the expression tree
    depth    nesting depth of atoms; 1 for a symbol
    symbols  names of all symbols, including those inside atoms
    """

    __slots__ = ("__weakref__", "_text", "depth", "size", "symbols", "terms")

    terms: tuple[Term, ...]
    size: int
    depth: int
    symbols: frozenset[str]
    _text: str | None

    is_symbol: ClassVar[bool] = False

    @property
    def name(self) -> str:
        raise AttributeError(f"{self} is not a lone symbol")

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Expr)):
            try:
                other = operator.index(other)
            except TypeError:
                return NotImplemented
        key = (self, other)
        result = _SUMS.get(key)
        if result is None:
            result = bounded_memo(_SUMS, key, _add(self, other))
        return result

    __radd__ = __add__

    def __mul__(self, other: Dim) -> Dim:  # written out like the sum: these two are the hottest calls
        if not isinstance(other, (int, Expr)):
            try:
                other = operator.index(other)
            except TypeError:
                return NotImplemented
        key = (self, other)
        result = _PRODUCTS.get(key)
        if result is None:
            result = bounded_memo(_PRODUCTS, key, _multiply(self, other))
        return result

    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return self * -1

    def __pos__(self) -> Dim:
        return self

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: Dim) -> Dim:
        return self * -1 + other

    # Imported late: the division module imports this one.
    def __floordiv__(self, other: Dim) -> Dim:
        from gather_infer.symbolic.division import floordiv

        return floordiv(self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        from gather_infer.symbolic.division import floordiv

        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        from gather_infer.symbolic.division import mod

        return mod(self, other)

    def __rmod__(self, other: Dim) -> Dim:
        from gather_infer.symbolic.division import mod

        return mod(other, self)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"truth of the symbolic dim {self} is not known; use known_eq(dim, 0)")

    def _no_order(self, other: object) -> NoReturn:
        raise TypeError(f"order of the symbolic dim {self} is not known; use known_le or known_lt")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __str__(self) -> str:
        if self._text is None:
            from gather_infer.symbolic.printing import to_text

            self._text = to_text(self)
        return self._text

    def __repr__(self) -> str:
        return f"<dim {self}>"

    def __reduce__(self) -> tuple[object, ...]:
        # Parsing the text returns the interned object, so a copy is the expression itself.
        from gather_infer.symbolic.parse import parse_dim

        return parse_dim, (str(self),)


class Atom(Expr):
    """A factor of a monomial: a symbol, a floor division, a minimum or a maximum."""

    __slots__ = ("_order",)

    _order: tuple[int, str] | None

    @property
    def order(self) -> tuple[int, str]:
        """Sort key: symbols by name, then the other atoms by their text."""
        if self._order is None:
            self._order = (1, str(self))
        return self._order


class Symbol(Atom):
    """A named size, an integer >= 0."""

    __slots__ = ("name",)

    name: str
    is_symbol = True


class FloorDiv(Atom):
    """num // den; undefined where den is 0. Built by `division.floordiv` only, which applies the identities."""

    __slots__ = ("den", "num")

    num: Dim
    den: Dim


class Extremum(Atom):
    """A minimum or maximum of two or more dims."""

    __slots__ = ("args",)

    args: tuple[Dim, ...]


class Min(Extremum):
    """A minimum of two or more dims. Built by `min_max.minimum` only, which applies the identities."""

    __slots__ = ()


class Max(Extremum):
    """A maximum of two or more dims. Built by `min_max.maximum` only, which applies the identities."""

    __slots__ = ()


class Polynomial(Expr):
    """An expression that is neither an atom nor a constant. Built by `from_terms` only."""

    __slots__ = ()


Dim: TypeAlias = "int | Expr"
Monomial: TypeAlias = "tuple[Atom, ...]"
Term: TypeAlias = "tuple[Monomial, int]"

_LOCK = threading.Lock()
_SYMBOLS: WeakValueDictionary[str, Symbol] = WeakValueDictionary()
_QUOTIENTS: WeakValueDictionary[tuple[Dim, Dim], FloorDiv] = WeakValueDictionary()
_MINIMA: WeakValueDictionary[tuple[Dim, ...], Min] = WeakValueDictionary()
_MAXIMA: WeakValueDictionary[tuple[Dim, ...], Max] = WeakValueDictionary()
_POLYNOMIALS: WeakValueDictionary[tuple[Term, ...], Polynomial] = WeakValueDictionary()
_SUMS: dict[tuple[Expr, Dim], Dim] = {}
_PRODUCTS: dict[tuple[Expr, Dim], Dim] = {}


def bounded_memo(memo: dict[tuple[Expr, Dim], Dim], key: tuple[Expr, Dim], value: Dim) -> Dim:
    """Store `value` in a memo, which is cleared first when it is full, and return the value."""
    if len(memo) >= _MEMO_CAPACITY:
        memo.clear()
    memo[key] = value
    return value


def symbol(name: str) -> Symbol:
    """The symbol `name`, an integer >= 0. Any text may be a name.

    >>> seq = gather_infer.symbol("seq")
    >>> print((6 * seq + 3) // 3)
    2*seq + 1
    """
    found = _SYMBOLS.get(name)
    if found is not None:
        return found
    with _LOCK:
        found = _SYMBOLS.get(name)
        if found is None:
            found = Symbol()
            found.name = name
            found._order = (0, name)
            found._text = None
            found.terms = (((found,), 1),)
            found.size = found.depth = 1
            found.symbols = frozenset((name,))
            _SYMBOLS[name] = found
        return found


def _initialize_atom(atom: Atom, args: tuple[Dim, ...]) -> None:
    """Set the derived fields of a new atom. Raises DimTooLarge when the atom exceeds a cap."""
    atom._order = atom._text = None
    atom.terms = (((atom,), 1),)
    atom.size = 1 + sum(1 if isinstance(arg, int) else arg.size for arg in args)
    inner = [arg for arg in args if not isinstance(arg, int)]
    atom.depth = 1 + max(arg.depth for arg in inner)
    atom.symbols = frozenset().union(*(arg.symbols for arg in inner))
    if atom.size > MAX_SIZE:
        raise DimTooLarge(f"a dim of {atom.size} nodes, the cap is {MAX_SIZE}")
    if atom.depth > MAX_DEPTH:
        raise DimTooLarge(f"a dim nested {atom.depth} deep, the cap is {MAX_DEPTH}")
    for arg in args:
        if isinstance(arg, int) and not -_MAX_INT < arg < _MAX_INT:
            raise DimTooLarge(f"a constant of {arg.bit_length()} bits, the cap is {MAX_BITS}")


def floordiv_atom(num: Dim, den: Dim) -> FloorDiv:
    with _LOCK:
        found = _QUOTIENTS.get((num, den))
        if found is None:
            found = FloorDiv()
            found.num, found.den = num, den
            _initialize_atom(found, (num, den))
            _QUOTIENTS[num, den] = found
        return found


def min_atom(args: tuple[Dim, ...]) -> Min:
    with _LOCK:
        found = _MINIMA.get(args)
        if found is None:
            found = Min()
            found.args = args
            _initialize_atom(found, args)
            _MINIMA[args] = found
        return found


def max_atom(args: tuple[Dim, ...]) -> Max:
    with _LOCK:
        found = _MAXIMA.get(args)
        if found is None:
            found = Max()
            found.args = args
            _initialize_atom(found, args)
            _MAXIMA[args] = found
        return found


def _atom_order(atom: Atom) -> tuple[int, str]:
    return atom._order or atom.order


def _term_order(term: Term) -> tuple[int, tuple[tuple[int, str], ...]]:
    monomial = term[0]
    return -len(monomial), tuple([atom._order or atom.order for atom in monomial])


def from_terms(coefficients: Mapping[Monomial, int]) -> Dim:
    """The dim with the given coefficient of each monomial; zero coefficients are dropped.

    Each monomial must be sorted by `Atom.order`. Raises DimTooLarge when the dim exceeds a cap.
    """
    terms = [term for term in coefficients.items() if term[1]]
    if not terms:
        return 0
    if len(terms) == 1:
        monomial, coefficient = terms[0]
        if not monomial:
            return coefficient
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    else:
        if len(terms) > MAX_TERMS:
            raise DimTooLarge(f"a dim of {len(terms)} terms, the cap is {MAX_TERMS}")
        terms.sort(key=_term_order)
    key = tuple(terms)
    found = _POLYNOMIALS.get(key)
    if found is not None:
        return found
    minima = [term for term in terms if len(term[0]) == 1 and type(term[0][0]) is Min]
    return _without_pairs(key, minima) if minima else _new_polynomial(key)


def _without_pairs(terms: tuple[Term, ...], minima: Sequence[Term]) -> Dim:
    """The dim by min(a, b) + max(c, d) == t where a + c == b + d == t: both parts of an axis that is rolled."""
    maxima = [term for term in terms if len(term[0]) == 1 and type(term[0][0]) is Max]
    for (low, count), (high, coefficient) in product(minima, maxima):
        minimum, maximum = low[0], high[0]
        assert isinstance(minimum, Min) and isinstance(maximum, Max), "the terms are extrema"
        if count != coefficient or len(minimum.args) != len(maximum.args) or len(minimum.args) != _PAIR:
            continue
        for order in (maximum.args, maximum.args[::-1]):
            first, second = (a + b for a, b in zip(minimum.args, order, strict=True))
            if first == second:
                rest = from_terms({monomial: k for monomial, k in terms if monomial not in (low, high)})
                return rest + first * count
    return _new_polynomial(terms)


def _new_polynomial(terms: tuple[Term, ...]) -> Polynomial:
    size = len(terms) - 1
    depth = 0
    symbols: set[str] = set()
    for monomial, coefficient in terms:
        if len(monomial) > MAX_DEGREE:
            raise DimTooLarge(f"a product of {len(monomial)} factors, the cap is {MAX_DEGREE}")
        if coefficient not in (1, -1) or not monomial:
            size += 1
            if not -_MAX_INT < coefficient < _MAX_INT:
                raise DimTooLarge(f"a coefficient of {coefficient.bit_length()} bits, the cap is {MAX_BITS}")
        for atom in monomial:
            size += atom.size
            if atom.depth > depth:
                depth = atom.depth
            symbols.update(atom.symbols)
    if size > MAX_SIZE:
        raise DimTooLarge(f"a dim of {size} nodes, the cap is {MAX_SIZE}")
    with _LOCK:
        found = _POLYNOMIALS.get(terms)
        if found is None:
            found = Polynomial()
            found.terms, found.size, found.depth, found.symbols = terms, size, depth, frozenset(symbols)
            found._text = None
            _POLYNOMIALS[terms] = found
        return found


def terms_of(dim: Dim) -> tuple[Term, ...]:
    """The terms of any dim: a constant k has the single term ((), k), and 0 has no terms."""
    if isinstance(dim, int):
        return (((), dim),) if dim else ()
    return dim.terms


def constant_term(dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    monomial, coefficient = dim.terms[-1]
    return 0 if monomial else coefficient


def _add(a: Expr, b: Dim) -> Dim:
    if isinstance(b, int) and not b:
        return a
    result = dict(a.terms)
    for monomial, coefficient in terms_of(b):
        result[monomial] = result.get(monomial, 0) + coefficient
    return from_terms(result)


def _multiply(a: Expr, b: Dim) -> Dim:
    if isinstance(b, int):
        if b == 1:
            return a
        return from_terms({monomial: coefficient * b for monomial, coefficient in a.terms})
    if len(a.terms) * len(b.terms) > 16 * MAX_TERMS:
        raise DimTooLarge(f"a product of {len(a.terms)} by {len(b.terms)} terms")
    result: dict[Monomial, int] = {}
    for left, k in a.terms:
        for right, m in b.terms:
            if not left:
                monomial = right
            elif not right:
                monomial = left
            else:
                monomial = tuple(sorted(left + right, key=_atom_order))
            result[monomial] = result.get(monomial, 0) + k * m
    return from_terms(result)
