"""Edits of the operands of a node: other targets, shapes and sizes, and values that follow the freed size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import NodeProto

from gather_infer.inference.topology import captured
from gather_infer.symbolic import Dim
from gather_infer.symbolic.normal_form import constant_term
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.factors.axis_factors import Factors, dim_of, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.images.windows import resized
from gather_infer.unfreezing.indices.cuts import holds_rows
from gather_infer.unfreezing.indices.row_numbers import with_row_numbers
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_MAX_TRIALS: Final = 40
_WEIGHTS: Final = {"Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (1,), "LSTM": (1, 2, 3), "GRU": (1, 2, 3),
                   "RNN": (1, 2, 3), "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8), "ConvInteger": (1, 2, 3)}  # fmt: skip
"""Operands that are never edited."""


def edited(walk: UnfreezingWalk, node: NodeProto, problem: str) -> NodeProto:
    """The node with other inputs, so that it fits. Raises Blocked if no edit makes it fit."""
    walk.rows.why_refused = ""
    if walk.unknown.sites:
        walk.unknown.resolve(node)
    for edit in (
        _with_reshape_target,
        _with_whole_target,
        _with_expand_target,
        _with_split_sizes,
        _with_trip_count,
        _with_other_axes,
        _with_whole_axis,
        _with_rows,
    ):
        changed = edit(walk, node)
        if changed is not None and not walk.attempt(changed):
            again = with_row_numbers(walk, changed)
            if again is changed:
                return changed
            walk.unbind(changed)
            if not walk.attempt(again):
                return again
    changed = _with_sizes(walk, node, problem)
    if changed is not None and not walk.attempt(changed):
        return changed
    operands = _operands(walk, node) if problem.startswith("requires") else ""
    raise Blocked(walk.label(node), "; ".join(filter(None, (problem + operands, walk.rows.why_refused))))


def _operands(walk: UnfreezingWalk, node: NodeProto) -> str:
    """The names and shapes of the operands of a node, which tell a reader which one kept the old size."""
    facts = [(name, walk.environment.values.get(name)) for name in dict.fromkeys(node.input) if name]
    shown = [
        f"{name} [{', '.join(map(str, fact.shape))}]"
        for name, fact in facts
        if isinstance(fact, SymbolicTensor) and fact.shape is not None
    ]
    return f", of {' and '.join(shown)}" if 1 < len(shown) < 4 else ""


def _with_whole_target(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    return _with_reshape_target(walk, node, infers=False)


def _with_reshape_target(walk: UnfreezingWalk, node: NodeProto, *, infers: bool = True) -> NodeProto | None:
    if node.op_type != "Reshape" or len(node.input) < 2:
        return None
    was = walk.static.get(node.output[0])
    if not isinstance(was, SymbolicTensor) or was.shape is None:
        return None
    for axes in (walk.regrouped(node, was.shape) or [])[:1]:
        perm = walk.perms.get(node.output[0])
        if perm is not None:
            given = walk.emit("Transpose", [node.input[0]], perm=perm)
            walk.transposed.add(given)
            node = walk.with_inputs(node, {0: given})
        data = walk.environment.values.get(node.input[0])
        dims = [dim_of(factors) for factors in axes]
        return walk.with_inputs(node, {1: _target(walk, dims, data, node, infers)})
    return None


def _target(walk: UnfreezingWalk, dims: Sequence[Dim], data: Value | None, node: NodeProto, infers: bool) -> str:
    """A target for Reshape: 0 for a size that is kept in place, -1 for one other that is no number.

    Where an axis is cut into windows, what is left for a -1 is another expression than the size that it has to be.
    """
    shape = (data.shape or ()) if isinstance(data, SymbolicTensor) else ()
    keeps = not any(a.name == "allowzero" and a.i for a in node.attribute)
    return walk.sizes.reshape_target(dims, shape, keeps=keeps, infers=infers)


def _with_expand_target(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """An entry of 1 keeps a size of the data."""
    if node.op_type != "Expand":
        return None
    data, was = walk.environment.values.get(node.input[0]), walk.static.get(node.output[0])
    if not isinstance(data, SymbolicTensor) or not isinstance(was, SymbolicTensor):
        return None
    if data.shape is None or was.shape is None:
        return None
    entries: list[Dim] = list(was.shape)
    for axis in range(1, len(data.shape) + 1):
        if is_free(data.shape[-axis], walk.freed):
            entries[-axis] = 1
    if not all(isinstance(entry, int) for entry in entries):
        return None
    return walk.with_inputs(node, {1: walk.sizes.of_shape(entries)})


def _with_split_sizes(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """The parts of an axis that a Concat joined, or of `seq + k` positions, of which all but one have k."""
    axes = walk.factors.get(node.input[0]) if node.op_type == "Split" and len(node.input) > 1 else None
    sizes = walk.array(node.input[1]) if axes is not None else None
    if axes is None or sizes is None:
        return None
    axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
    dim = dim_of(axes[axis])
    joined = walk.parts.sizes(node.input[0], axis % len(axes), sizes.tolist())
    if joined is not None:
        return walk.with_inputs(node, {1: walk.sizes.of_shape(joined)})
    old, more = next(values_of([dim], walk.samples.old)), constant_term(dim)
    if isinstance(dim, int) or old is None or more < 1 or holds_rows(walk, dim) or sizes.sum() != old:
        return None
    places = np.flatnonzero(sizes == old - more)
    if len(places) != 1:
        return None
    parts: list[Dim] = [*sizes.tolist()]
    parts[places[0]] = dim - more
    return walk.with_inputs(node, {1: walk.sizes.of_shape(parts)})


def _with_other_axes(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """A Squeeze that removes another axis of 1 than the freed one: the order of the elements is the same."""
    fact = walk.environment.values.get(node.input[0])
    if node.op_type != "Squeeze" or not isinstance(fact, SymbolicTensor) or fact.shape is None:
        return None
    attribute = next((a for a in node.attribute if a.name == "axes"), None)
    given = walk.array(node.input[1]) if len(node.input) > 1 and node.input[1] else None
    numbers = given.tolist() if given is not None else list(attribute.ints) if attribute is not None else []
    axes = [axis % len(fact.shape) for axis in numbers]
    freed = [axis for axis in axes if str(fact.shape[axis]) in walk.row_symbols]
    if not freed:
        return None  # also without axes, when all of 1 are removed
    ones = [axis for axis, dim in enumerate(fact.shape) if dim == 1 and axis not in axes]
    for others in combinations(ones, len(freed)):
        kept = sorted({*axes, *others}.difference(freed))
        changed = NodeProto()
        changed.CopyFrom(node)
        if given is None:
            next(a for a in changed.attribute if a.name == "axes").ints[:] = kept
        else:
            changed.input[1] = walk.constant(np.array(kept, np.int64))
        if not walk.attempt(changed):
            walk.unbind(changed)
            return changed
    return None


def _with_whole_axis(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """A TopK of all elements of an axis, such as a sort: it takes all of a shorter one. Of a longer one it may not."""
    axes = walk.factors.get(node.input[0]) if node.op_type == "TopK" and len(node.input) > 1 else None
    count = walk.array(node.input[1]) if axes is not None else None
    if axes is None or count is None:
        return None
    factors = axes[next((a.i for a in node.attribute if a.name == "axis"), -1)]
    dim = dim_of(factors)
    if isinstance(dim, int) or not dim.symbols.isdisjoint(walk.row_symbols):
        return None
    if not is_free(dim, walk.freed) or count.ravel().tolist() != [*values_of([dim], walk.samples.old)]:
        return None
    walk.limit_lengths()
    return walk.with_inputs(node, {1: walk.sizes.of_dim(dim)})


def _with_trip_count(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """A trip count that follows the axis that a Loop reads by the number of its iteration."""
    found = walk.bodies.iterations.trip_count(node)
    return None if found is None else walk.with_inputs(node, {0: found})


def _with_sizes(walk: UnfreezingWalk, node: NodeProto, problem: str) -> NodeProto | None:
    """The sizes of Resize: those of the data where they did not change, and of a value that fits the result."""
    if node.op_type != "Resize" or len(node.input) < 4 or not node.input[3]:
        return None
    dims = resized(walk, node, problem)
    if dims is None:
        return None
    sizes = walk.unknown.vector(dims) if walk.unknown.has(dims) else walk.sizes.of_shape(dims)
    return walk.with_inputs(node, {3: sizes})


def _with_rows(walk: UnfreezingWalk, node: NodeProto) -> NodeProto | None:
    """Operands of the old size, made to follow the size of the others."""
    dims = _free_dims(walk, node)
    places: list[tuple[int, int, Factors]] = []
    for position, name in enumerate(node.input):
        if position in _WEIGHTS.get(node.op_type, ()) and not node.domain:
            continue
        if _is_matched(walk, node, position):
            continue  # it is not the size
        fact = walk.environment.values.get(name) if name else None
        if not isinstance(fact, SymbolicTensor) or fact.shape is None:
            continue
        for axis, size in enumerate(fact.shape):
            if node.op_type == "MatMul" and axis >= len(fact.shape) - 2 and walk.is_constant(name):
                continue  # a weight
            for factors, old in dims.items():
                if isinstance(size, int) and size == old:
                    places.append((position, axis, factors))
    places.sort(key=lambda place: not walk.is_constant(node.input[place[0]]))
    tried = 0
    together = [tuple(p for p in places if p[1:] == kind) for kind in dict.fromkeys(p[1:] for p in places)]
    for choices in (combinations(places, 1), combinations(places, 2), together):
        for chosen in choices:
            if len({(position, axis) for position, axis, _ in chosen}) < len(chosen):
                continue
            tried += 1
            if tried > _MAX_TRIALS:
                return None
            if _fits_with(walk, node, chosen):
                inputs: dict[int, str] = {}
                for position, axis, factors in chosen:
                    name = inputs.get(position, node.input[position])
                    others = {at: held for where, at, held in chosen if where == position and at != axis}
                    broadcasts = node.op_type in BROADCASTING
                    found = walk.rows.with_rows(name, axis, factors, others=others, broadcasts=broadcasts)
                    if found is None:
                        break
                    inputs[position] = found
                else:
                    return walk.with_inputs(node, inputs)
    return None


def _is_matched(walk: UnfreezingWalk, node: NodeProto, position: int) -> bool:
    """Whether an operand is a constant that is the same in a second model."""
    if walk.counterpart is None:
        return False
    if walk.path.steps:
        return walk.is_constant(node.input[position])
    return (node.output[0], position) in walk.counterpart.equal


def _free_dims(walk: UnfreezingWalk, node: NodeProto) -> dict[Factors, int]:
    """The factors of freed axes of the operands, and of values that bodies read, with their old size."""
    found: dict[Factors, int] = {}
    for name in (*node.input, *sorted(captured(node))):
        for factors in walk.factors.get(name, ()):
            if any(is_free(factor, walk.freed) for factor in factors):
                size = next(values_of([dim_of(factors)], walk.samples.old))
                if size is not None:
                    found[factors] = size
    return found


def _fits_with(walk: UnfreezingWalk, node: NodeProto, chosen: Sequence[tuple[int, int, Factors]]) -> bool:
    """Whether the node fits with other sizes of some axes of its operands."""
    trial, names = NodeProto(), []
    trial.CopyFrom(node)
    for position, axis, factors in chosen:
        fact = walk.environment.values[trial.input[position]]
        assert isinstance(fact, SymbolicTensor) and fact.shape is not None, "the operand has a shape"
        shape = tuple(dim_of(factors) if at == axis else size for at, size in enumerate(fact.shape))
        name = walk.fresh("trial")
        names.append(name)
        walk.environment.values[name] = SymbolicTensor(fact.dtype, shape)
        walk.record(name, walk.environment.values[name], ())
        if name in walk.factors:
            walk.factors[name] = tuple(factors if at == axis else held for at, held in enumerate(walk.factors[name]))
        trial.input[position] = name
    fits = not walk.attempt(trial)
    if fits:
        walk.unbind(trial)
    for name in names:
        walk.environment.values.pop(name, None)
        walk.factors.pop(name, None)
    return fits
