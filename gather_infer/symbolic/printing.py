"""Printing: dims as text, the inverse of `parse_dim`."""

from __future__ import annotations

import re

from gather_infer.symbolic.normal_form import Dim, Expr, Extremum, FloorDiv, Min, Monomial, Symbol, from_terms, terms_of

__all__ = ["is_plain_name", "quoted", "to_text"]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_plain_name(name: str) -> bool:
    """Whether the name can be written without quotes in an expression."""
    return _PLAIN_NAME.match(name) is not None


def quoted(name: str) -> str:
    """The name in single quotes: `'batch-size'`."""
    return "'" + "".join(_ESCAPES.get(character, character) for character in name) + "'"


def to_text(dim: Dim) -> str:
    """The text of a dim, as written to `dim_param`: `2*N + 1`, `(N + 1)//2`, `N % 2`, `max(0, N - 1)`.

    Terms are ordered by descending degree, then by name, the constant last. A positive term leads if there is one.
    """
    if isinstance(dim, int):
        return str(dim)
    if isinstance(dim, Symbol):
        return dim.name if is_plain_name(dim.name) else quoted(dim.name)
    if isinstance(dim, FloorDiv):
        return f"{_numerator(dim.num)}//{_operand(dim.den)}"
    if isinstance(dim, Extremum):
        return ("min(" if isinstance(dim, Min) else "max(") + ", ".join(str(arg) for arg in dim.args) + ")"
    return _sum(dim)


def _is_tight(dim: Dim) -> bool:
    """Whether the text binds tighter than any operator: a name, a call, an unsigned number."""
    if isinstance(dim, int):
        return dim >= 0
    return isinstance(dim, (Symbol, Extremum))


def _operand(dim: Dim) -> str:
    return str(dim) if _is_tight(dim) else f"({dim})"


def _numerator(dim: Dim) -> str:
    # `2*N//3` is `(2*N)//3`. `-N//3` means `(-N)//3` too, but few readers know that: it gets parentheses.
    if isinstance(dim, Expr) and len(dim.terms) == 1 and not isinstance(dim, FloorDiv) and dim.terms[0][1] > 0:
        return str(dim)
    return _operand(dim)


def _sum(dim: Expr) -> str:
    pieces, rest = _remainders(dim)
    pieces += [(coefficient, _product(monomial, abs(coefficient))) for monomial, coefficient in terms_of(rest)]
    if len(pieces) == 1:
        coefficient, text = pieces[0]
        if coefficient > 0:
            return text
        # `-N//2` would parse as `(-N)//2`.
        return f"-({text})" if "//" in text or "%" in text else f"-{text}"
    lead = next((index for index, piece in enumerate(pieces) if piece[0] > 0), None)
    if lead is None:
        coefficient, text = pieces.pop(0)
        head = f"-({text})" if "//" in text or "%" in text else f"-{text}"
    else:
        head = pieces.pop(lead)[1]
    return head + "".join((" - " if coefficient < 0 else " + ") + text for coefficient, text in pieces)


def _product(monomial: Monomial, coefficient: int) -> str:
    if len(monomial) == 1 and coefficient == 1:
        return str(monomial[0])
    factors = [_operand(atom) for atom in monomial]
    if coefficient != 1 or not monomial:
        factors.insert(0, str(coefficient))
    return "*".join(factors)


def _remainders(dim: Expr) -> tuple[list[tuple[int, str]], Dim]:
    """Split off each k*(n - d*(n//d)), printed as `k*(n % d)`, whose removal leaves no new symbolic term.

    Returns the signed pieces as (coefficient, text), and the rest of the dim.
    """
    pieces: list[tuple[int, str]] = []
    rest: Dim = dim
    if len(dim.terms) == 1:
        return pieces, rest  # a remainder would print one factor as a sum of two terms
    for monomial, _ in dim.terms:
        if isinstance(rest, int):
            break
        if len(monomial) == 0 or not isinstance(monomial[-1], FloorDiv):
            continue
        for atom in dict.fromkeys(monomial):
            if not isinstance(atom, FloorDiv) or isinstance(rest, int):
                continue
            subtrahend = atom * atom.den
            if isinstance(subtrahend, int):
                continue
            present = dict(rest.terms)
            lead, factor = subtrahend.terms[0]
            times, left_over = divmod(-present.get(lead, 0), factor)
            if times == 0 or left_over:
                continue
            remaining = dict(present)
            for whole, sign in ((subtrahend, times), (atom.num, -times)):
                for piece, coefficient in terms_of(whole):
                    remaining[piece] = remaining.get(piece, 0) + sign * coefficient
            if any(coefficient and piece and piece not in present for piece, coefficient in remaining.items()):
                continue
            if any(atom in piece for piece, coefficient in remaining.items() if coefficient):
                continue
            text = f"{_numerator(atom.num)} % {_operand(atom.den)}"
            pieces.append((times, text if abs(times) == 1 else f"{abs(times)}*({text})"))
            rest = from_terms(remaining)
    return pieces, rest
