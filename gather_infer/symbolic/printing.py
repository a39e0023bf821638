"""Printing: dims as text, the inverse of `parse_dim`."""

from __future__ import annotations

from functools import reduce

from gather_infer.symbolic.normal_form import Dim, Expr, Extremum, FloorDiv, Min, Monomial, Symbol, from_terms, terms_of
from gather_infer.symbolic.notations import DEFAULT, Notation

__all__ = ["is_plain_name", "to_text"]


def is_plain_name(name: str) -> bool:
    """Whether the name can be written without quotes in an expression."""
    return DEFAULT.names.match(name) is not None


def to_text(dim: Dim, notation: Notation = DEFAULT) -> str:
    """The text of a dim, as written to `dim_param`: `2*N + 1`, `(N + 1)//2`, `N % 2`, `max(0, N - 1)`.

    Terms are ordered by descending degree, then by name, the constant last. A positive term leads if there is one.

    Raises InexpressibleDim when the notation has no text for the dim; DEFAULT has one for every dim.
    """
    return _Printer(notation).printed(dim)


class _Printer:
    def __init__(self, notation: Notation) -> None:
        self.notation = notation

    def text(self, dim: Dim) -> str:
        return str(dim) if self.notation is DEFAULT else self.printed(dim)  # `str` keeps the text

    def printed(self, dim: Dim) -> str:
        if isinstance(dim, int):
            return self.notation.number(dim)
        if isinstance(dim, Symbol):
            return self.notation.spelt(dim.name)
        if isinstance(dim, FloorDiv):
            return self.notation.quotient.format(self.numerator(dim.num), self.operand(dim.den))
        if isinstance(dim, Extremum):
            pattern = self.notation.minimum if isinstance(dim, Min) else self.notation.maximum
            if "{}" in pattern:
                return reduce(pattern.format, [self.operand(arg) for arg in dim.args])
            return f"{pattern}({', '.join(self.text(arg) for arg in dim.args)})"
        return self.sum(dim)

    def operand(self, dim: Dim) -> str:
        """The text, in parentheses unless it binds tighter than any operator: a name, a call, an unsigned number."""
        is_tight = dim >= 0 if isinstance(dim, int) else isinstance(dim, (Symbol, Extremum)) or self.is_call(dim)
        return self.text(dim) if is_tight else f"({self.text(dim)})"

    def is_call(self, dim: Dim) -> bool:
        return isinstance(dim, FloorDiv) and self.notation.calls

    def numerator(self, dim: Dim) -> str:
        # `2*N//3` is `(2*N)//3`. `-N//3` means `(-N)//3` too, but few readers know that: it gets parentheses.
        if isinstance(dim, Expr) and len(dim.terms) == 1 and not isinstance(dim, FloorDiv) and dim.terms[0][1] > 0:
            return self.text(dim)
        return self.operand(dim)

    def negated(self, text: str) -> str:
        # `-N//2` would parse as `(-N)//2`.
        return f"-({text})" if not self.notation.calls and ("//" in text or "%" in text) else f"-{text}"

    def sum(self, dim: Expr) -> str:
        pieces, rest = self.remainders(dim)
        pieces += [(coefficient, self.product(monomial, abs(coefficient))) for monomial, coefficient in terms_of(rest)]
        if len(pieces) == 1:
            coefficient, text = pieces[0]
            return text if coefficient > 0 else self.negated(text)
        lead = next((index for index, piece in enumerate(pieces) if piece[0] > 0), None)
        head = self.negated(pieces.pop(0)[1]) if lead is None else pieces.pop(lead)[1]
        return head + "".join((" - " if coefficient < 0 else " + ") + text for coefficient, text in pieces)

    def product(self, monomial: Monomial, coefficient: int) -> str:
        if len(monomial) == 1 and coefficient == 1:
            return self.text(monomial[0])
        factors = [self.operand(atom) for atom in monomial]
        if coefficient != 1 or not monomial:
            factors.insert(0, self.notation.number(coefficient))
        return "*".join(factors)

    def remainders(self, dim: Expr) -> tuple[list[tuple[int, str]], Dim]:
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
                pieces.append((times, self.remainder(atom, abs(times))))
                rest = from_terms(remaining)
        return pieces, rest

    def remainder(self, atom: FloorDiv, times: int) -> str:
        """The text of times*(n % d), where the atom is n // d."""
        pattern = self.notation.remainder
        if self.notation.calls_remainder:
            text = pattern.format(self.text(atom.num), self.text(atom.den))
            return text if times == 1 else f"{self.notation.number(times)}*{text}"
        text = pattern.format(self.numerator(atom.num), self.operand(atom.den))
        return text if times == 1 else f"{self.notation.number(times)}*({text})"
