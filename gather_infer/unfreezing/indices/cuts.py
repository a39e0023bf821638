"""Slices of an axis that holds a freed size: an end that is the old size; others are explained or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import NodeProto

from gather_infer.symbolic import Dim, Expr, product, symbol
from gather_infer.unfreezing.factors.axis_factors import Factors, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.images.rolled_images import rolled
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_INT64_MAX: Final = 2**63 - 1
_TWO: Final = 2  # positions, of which the second may be meant


def opened_slice(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """An end that is the old size means the end; another one is refused."""
    axes = walk.factors[node.input[0]]
    if len(node.input) < 3:
        return _slice_by_attributes(walk, node)
    starts, ends = walk.array(node.input[1]), walk.array(node.input[2])
    given = walk.array(node.input[3]) if len(node.input) > 3 and node.input[3] else np.arange(len(axes))
    steps = walk.array(node.input[4]) if len(node.input) > 4 and node.input[4] else None
    if starts is None or ends is None or given is None:
        return node
    begins, changed = starts.copy(), ends.copy()
    computed: dict[tuple[int, int], Dim] = {}
    for at, axis in enumerate(given.ravel()[: starts.size].tolist()):
        factors = axes[axis % len(axes)]
        if not any(is_free(factor, walk.freed) for factor in factors):
            continue
        old = next(values_of([product(factors)], walk.samples.old))
        start, end, step = starts.flat[at], ends.flat[at], 1 if steps is None else steps.flat[at]
        is_last = end >= 2**31 - 1
        if step == 1 and old and start in (0, -old) and (end == old or is_last):
            begins.flat[at] = 0
            changed.flat[at] = end if is_last else _INT64_MAX if ends.dtype == np.int64 else 2**31 - 1
        elif old and _is_of_an_image(walk, factors) and (roll := rolled(walk, node, axis % len(axes), old)):
            begins.flat[at], changed.flat[at] = roll
        elif (start, step) == (0, 1) and ends.dtype == np.int64 and _is_image_in(walk, product(factors), int(end)):
            computed[2, at] = walk.filled[product(factors)][0]
        elif step == 1 and (bounds := walk.parts.bounds(node.input[0], axis % len(axes), int(start), int(end))):
            for operand, found, bound in zip((1, 2), (begins, changed), bounds, strict=True):
                if isinstance(bound, int):
                    found.flat[at] = bound
                elif ends.dtype == np.int64:
                    computed[operand, at] = bound
                else:
                    raise Blocked(walk.label(node), f"cuts at {bound}, which is no number of 32 bits")
        elif step == 1 and (part := _part_of_length(walk, product(factors), int(start), int(end))) is not None:
            begins.flat[at], changed.flat[at] = part
        elif not holds_rows(walk, product(factors)) and (
            _cuts_near_an_end(start, end, step) or _is_between(walk, product(factors), start, end, step)
        ):
            pass
        elif not holds_rows(walk, product(factors)) and (start, end, step) == (1, old, 1) and end > _TWO:
            changed.flat[at] = _INT64_MAX if ends.dtype == np.int64 else 2**31 - 1
        elif is_last and 0 <= start < step and _is_of_an_image(walk, factors):
            pass  # each position of a kind: every second row or column
        elif not (step in (1, -1) and (end >= 2**31 - 1 or end <= -(2**31) + 1) and start in (0, -1)):
            cut = f"[{start}:{'' if end >= 2**31 - 1 else end}{'' if step == 1 else f':{step}'}]"
            raise Blocked(walk.label(node), f"cuts {cut} out of an axis of {product(factors)}")
    edits = {1: (starts, begins), 2: (ends, changed)}
    inputs = {at: walk.constant(new) for at, (old, new) in edits.items() if not np.array_equal(old, new)}
    for operand in sorted({operand for operand, _ in computed}):
        numbers = (begins if operand == 1 else changed).tolist()
        inputs[operand] = walk.sizes.of_shape([computed.get((operand, at), each) for at, each in enumerate(numbers)])
    return walk.with_inputs(node, inputs) if inputs else node


def _is_image_in(walk: UnfreezingWalk, filled: Dim, end: int) -> bool:
    """Whether a cut up to a position takes the image out of an axis that a padding fills up."""
    found = walk.filled.get(filled)
    return found is not None and next(values_of([found[0]], walk.samples.old)) == end


def _is_between(walk: UnfreezingWalk, dim: Dim, start: int, end: int, step: int) -> bool:
    """Whether a cut of a length between both ends, such as `[2:-2]`, leaves as many positions as another value has."""
    return start > 0 > end and step == 1 and dim - int(start - end) in walk.sizes.held()


def _part_of_length(walk: UnfreezingWalk, dim: Dim, start: int, end: int) -> tuple[int, int] | None:
    """A cut of `seq + k` positions at the length: all but the last k, all but the first k, or the last k."""
    for name in sorted(dim.symbols & walk.freed.keys() - walk.row_symbols) if isinstance(dim, Expr) else ():
        rest, size = dim - symbol(name), walk.freed[name]
        if not isinstance(rest, int) or rest < 1 or rest == size:
            continue
        whole_size = size + rest
        begin, stop = (start + whole_size if start < 0 else start), (end + whole_size if end < 0 else end)
        if (begin, stop) == (0, size):
            return 0, -rest
        if begin == rest and stop >= whole_size:
            return rest, end if end >= 2**31 - 1 else 2**31 - 1
        if begin == size and stop >= whole_size:
            return -rest, end if end >= 2**31 - 1 else 2**31 - 1
    return None


def _slice_by_attributes(walk: UnfreezingWalk, node: NodeProto) -> NodeProto:
    """The node, if it cuts no freed axis; before opset 10 the positions are attributes, which are not edited."""
    axes, held = walk.factors[node.input[0]], {a.name: list(a.ints) for a in node.attribute}
    starts, ends = held.get("starts", []), held.get("ends", [])
    for start, end, axis in zip(starts, ends, held.get("axes", range(len(starts))), strict=False):
        factors = axes[axis % len(axes)]
        if any(is_free(factor, walk.freed) for factor in factors) and not (start == 0 and end >= 2**31 - 1):
            raise Blocked(walk.label(node), f"cuts [{start}:{end}] out of an axis of {product(factors)}")
    return node


def holds_rows(walk: UnfreezingWalk, dim: Dim) -> bool:
    """Whether an axis holds rows, also beside other sizes."""
    return isinstance(dim, Expr) and not dim.symbols.isdisjoint(walk.row_symbols)


def _cuts_near_an_end(start: int, end: int, step: int) -> bool:
    """Whether a cut of a length is the same for any length: one position at an end, or all but that one."""
    return step == 1 and (int(start), int(end)) in {(0, 1), (0, -1), (-1, _INT64_MAX), (-1, 2**31 - 1), (1, _INT64_MAX)}


def _is_of_an_image(walk: UnfreezingWalk, factors: Factors) -> bool:
    return all(isinstance(each, Expr) and each.symbols <= walk.image_symbols for each in factors)
