"""Size of the iteration space of an Einsum."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.cost.work import CostUnknown
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import Shape


def points(equation: str, shapes: Sequence[Shape]) -> Dim:
    """The number of points in the iteration space: the product of the sizes of all letters and ellipsis axes.

    `bij,bjk->bik` has b*i*j*k points. Raises CostUnknown if the equation does not fit the shapes of the operands.
    """
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    if len(terms) != len(shapes):
        raise CostUnknown(f"the equation has {len(terms)} terms for {len(shapes)} operands")
    sizes: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, dim in zip(_letters(term, len(shape)), shape, strict=True):
            known = sizes.get(letter, 1)
            # axes of one letter are equal, or 1 and broadcast; prefer a number over a symbol
            if known == 1 or (isinstance(dim, int) and dim != 1):
                sizes[letter] = dim
    return product(sizes.values())


def _letters(term: str, rank: int) -> list[str]:
    """A name for each axis of an operand; axes of an ellipsis are numbered from the right, as in broadcasting.

    Raises CostUnknown if `term` does not fit `rank`.
    """
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise CostUnknown(f"the term {term!r} does not fit rank {rank}")
    return [*before, *(f"...{hidden - at}" for at in range(hidden)), *after]
