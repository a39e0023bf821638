"""How many products of elements an Einsum takes."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.cost.work import Untold
from gather_infer.symbolic import Dim, product
from gather_infer.tensor import Shape


def points(equation: str, shapes: Sequence[Shape]) -> Dim:
    """The product of the sizes of all letters, those that an ellipsis stands for too.

    `bij,bjk->bik` takes b*i*j*k products. Raises Untold for an equation that does not fit the shapes.
    """
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    if len(terms) != len(shapes):
        raise Untold(f"the equation has {len(terms)} terms for {len(shapes)} operands")
    sizes: dict[str, Dim] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, dim in zip(_letters(term, len(shape)), shape, strict=True):
            known = sizes.get(letter, 1)
            # axes that one letter names are equal, or 1 and repeated; a number tells more than a symbol
            if known == 1 or (isinstance(dim, int) and dim != 1):
                sizes[letter] = dim
    return product(sizes.values())


def _letters(term: str, rank: int) -> list[str]:
    """A name per axis; those of an ellipsis are counted from the right."""
    before, dots, after = term.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise Untold(f"the term {term!r} does not fit rank {rank}")
    return [*before, *(f"...{hidden - at}" for at in range(hidden)), *after]
