"""Reshapes of one row that stand for a Transpose and a Reshape.

With one row, moving its axis of 1 does not change the order of the elements, so that simplifiers merge the Transpose of
`[5, 2, 1, 12]` to `[1, 5, 2, 12]` and the Reshape to `[1, 5, 24]`. More rows have to be moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import evaluate
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, dim_of, is_free, placements

if TYPE_CHECKING:
    from gather_infer.unfreezing.factors.factored_values import FactoredValues

Pattern: TypeAlias = "tuple[AxisFactors, tuple[int, ...]]"
"""The axes that are reshaped, and the old sizes of the result: Reshapes with equal ones are read in the same way."""


def after_transpose(
    walk: FactoredValues, axes: AxisFactors, target: Sequence[int], found: Sequence[AxisFactors], node: NodeProto
) -> list[AxisFactors] | None:
    """The axis factors of a Reshape after a Transpose, if its rows are merged with other sizes without one.

    found   the axis factors without a Transpose: they are the second choice where rows are moved to the first axis
    """
    if node.input[0] in walk.transposed:
        return list(found[:1])
    name, pattern = node.output[0], (axes, tuple(target))
    walk.perms.pop(name, None)
    has_own_axis = any(len(held) == 1 and is_free(held[0], walk.freed) for axes in found[:1] for held in axes)
    if node.op_type != "Reshape" or has_own_axis or walk.counterpart is not None:
        return None
    moved = transposed_rows(axes, target, walk.row_symbols, walk.samples.old)
    if moved is None:
        return None
    if found:
        walk.ambiguous.pop(pattern, None)  # the last choice is the last that was met
        walk.ambiguous[pattern] = 2
        is_first = moved.axes[0] == moved.rows  # else rows are flattened, as tokens of experts are
        if bool(walk.placements.get(pattern)) == is_first:
            return None
    walk.perms[name] = moved.perm
    return [moved.axes]


class TransposedRows(NamedTuple):
    """The order of axes before a Reshape, the axis factors of its result, and those of the rows among them."""

    perm: tuple[int, ...]
    axes: AxisFactors
    rows: Factors


def transposed_rows(
    axes: AxisFactors, target: Sequence[int], rows: Set[str], old: Mapping[str, int]
) -> TransposedRows | None:
    """The Transpose after which rows have an axis of their own in the result; None if there is none.

    axes    of the input
    target  the old sizes of the output
    rows    the symbols that count rows
    old     a number for each symbol; for the rows the old size
    """
    at = next((axis for axis, held in enumerate(axes) if len(held) == 1 and str(held[0]) in rows), None)
    if at is None or evaluate(dim_of(axes[at]), old) != 1:
        return None
    others = [axis for axis in range(len(axes)) if axis != at]
    free = {str(axes[at][0]): 1}
    for place in (axis for axis, size in enumerate(target) if size == 1):
        if np.prod(target[place + 1 :]) <= 1:
            break  # a batch is not the innermost size
        for count in (count for count in range(len(axes)) if count != at):
            perm = (*others[:count], at, *others[count:])
            for found in placements(tuple(axes[a] for a in perm), target, lambda dim: is_free(dim, free), old):
                if found[place] == axes[at]:
                    return TransposedRows(perm, found, axes[at])
    return None


def has_merged_rows(walk: FactoredValues, names: Iterable[str]) -> bool:
    """Whether a value has rows in one axis with other sizes."""
    return any(
        len(held) > 1 and any(str(factor) in walk.row_symbols for factor in held)
        for name in names
        for held in walk.factors.get(name, ())
    )


def has_rows_in_two_axes(walk: FactoredValues, names: Iterable[str]) -> bool:
    """Whether an output has the same rows in two axes, so that its elements depend on two rows."""
    return any(
        sum(any(is_free(each, {symbol: 0}) for each in factors) for factors in walk.factors.get(name, ())) > 1
        for name in names
        for symbol in walk.row_symbols
    )


def ambiguous_rows(walk: FactoredValues, names: Iterable[str]) -> str:
    """A value with its one row in an axis with other sizes, and an axis of 1 that may be its; "" if there is none."""
    one = {name for name in walk.row_symbols if walk.freed[name] == 1}
    for name in names:
        axes = walk.factors.get(name, ())
        is_merged = any(len(held) > 1 and any(str(factor) in one for factor in held) for held in axes)
        if is_merged and any(not held for held in axes):
            return name
    return ""
