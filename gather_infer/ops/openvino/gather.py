"""Rules of OpenVINO's gather family.

Unlike in ONNX, axis is an input, batch_dims may be negative, and some versions define indices out of bounds.

Behaviour where the specification is silent was measured on the CPU plugin.
"""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.gather import agreed_batch, gather, gather_elements, gather_nd
from gather_infer.ops.semantics.indices import (
    INDEX_TYPES,
    check_bounds,
    check_call,
    describe,
    integer,
    known_numbers,
    picked_range,
    require_type,
)
from gather_infer.ops.semantics.preconditions import normalize_axis, require_min_rank, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import product
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, format_shape
from gather_infer.value_ranges import hull, range_of

rules = RuleSet("openvino")

SINCE_8 = "which Gather defines from version 8 on"
GATHER_1 = Indexing(strict=False, from_end=False, negative_note=SINCE_8)
GATHER_8 = Indexing(strict=False, fill=0)
ELEMENTS_6 = Indexing(negative_note="GatherElements-6 allows indices from 0 on; OpenVINO counts from the end")
ND_5 = Indexing(negative_note="which GatherND defines from version 8 on")
ND_8 = Indexing()

TYPES = ("input_types", "output_types")
"""Attributes in which the IR reader stores element types that ONNX lacks."""
NUMERIC = frozenset(d for d in DType if d.is_integer or d.is_float)


@rules.rule("Gather", since=1, addresses={1: 0}, checks_types=True, gathers=True)
def gather_1(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-1.html

    A negative index, or one past the end, has no defined result.
    """
    if integer(op, "batch_dims", 0):
        raise SpecViolation("batch_dims is an attribute of Gather from version 7 on", "GI106")
    return [_gather(op, GATHER_1)]


@rules.rule("Gather", since=7, addresses={1: 0}, checks_types=True, gathers=True)
def gather_7(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-7.html

    This version adds batch_dims.
    """
    return [_gather(op, GATHER_1)]


@rules.rule("Gather", since=8, addresses={1: 0}, checks_types=True, gathers=True)
def gather_8(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-8.html

    A negative index counts from the end; an index out of bounds selects zeros.
    """
    return [_gather(op, GATHER_8)]


def _gather(op: OpCall, indexing: Indexing) -> SymbolicTensor:
    check_call(op, inputs=3, attributes=("batch_dims",), noted=TYPES)
    data, indices, axis_input = op.tensor(0), op.tensor(1), op.tensor(2)
    require_type(indices, INTEGER_RANGE, "indices", code="GI308")
    require_type(axis_input, INTEGER_RANGE, "axis", code="GI308")
    _require_one_element(axis_input)
    require_min_rank(data.shape, 1, "data")
    span = picked_range(op, data, (), filled=True)
    axes = [] if data.rank is None else _possible_axes(op, axis_input, data.rank)
    b = _batch_dims(op, data.rank, indices.rank)
    if len(axes) == 1 and indices.shape is not None and b is not None:
        return gather(op, data, indices, axis=axes[0], batch_dims=b, indexing=indexing)
    legal = [a for a in axes if b is None or a >= b]
    if axes and not legal:
        raise SpecViolation(f"batch_dims = {b} is outside [0, {axes[-1]}], axis is at most {axes[-1]}", "GI306")
    if data.shape is None or indices.shape is None or b is None:
        return SymbolicTensor(data.dtype, None, None, span)
    batch = agreed_batch(op, data.shape, indices.shape, b)
    rest = [(*data.shape[b:a], *indices.shape[b:], *data.shape[a + 1 :]) for a in legal]
    dims = [ds[0] if len(set(ds)) == 1 else op.fresh("the axis is not known") for ds in zip(*rest, strict=True)]
    return SymbolicTensor(data.dtype, (*batch, *dims), None, span)


def _require_one_element(axis: SymbolicTensor) -> None:
    shape = axis.shape
    if shape is not None and (len(shape) > 1 or (len(shape) == 1 and isinstance(shape[0], int) and shape[0] != 1)):
        raise SpecViolation(f"axis must be a scalar or have one element, has shape {format_shape(shape)}", "GI305")


def _possible_axes(op: OpCall, axis: SymbolicTensor, rank: int) -> list[int]:
    """The possible values of input `axis`, non-negative and ascending; 0 to rank - 1 when it is unknown.

    Raises SpecViolation (GI304) when all values are outside [-rank, rank - 1].
    """
    numbers = known_numbers(op, 2)
    if numbers is not None and numbers.size == 1 and isinstance(number := numbers.reshape(-1).tolist()[0], int):
        return [normalize_axis(number, rank)]
    span = range_of(axis, op.scope)
    lo = None if span.lo is None else op.scope.bounds(span.lo).lo
    hi = None if span.hi is None else op.scope.bounds(span.hi).hi
    least = -rank if lo is None else max(lo, -rank)
    most = rank - 1 if hi is None else min(hi, rank - 1)
    if least > most:
        found = f"axis is in [{'...' if lo is None else lo}, {'...' if hi is None else hi}]"
        raise SpecViolation(f"{found}, outside [{-rank}, {rank - 1}], data has rank {rank}", "GI304")
    return sorted({a % rank for a in range(least, most + 1)})


def _batch_dims(op: OpCall, r: int | None, q: int | None) -> int | None:
    """Attribute batch_dims in non-negative form; None when it is negative and `q` is unknown.

    r, q   ranks of data and of indices, None when unknown

    Raises SpecViolation when batch_dims is outside [-q, min(r, q)]. The lower limit of the page is -min(r, q), but
    OpenVINO accepts -q.
    """
    b = integer(op, "batch_dims", 0)
    most = min((rank for rank in (r, q) if rank is not None), default=b)
    if b > most or (q is not None and b < -q):
        ranks = [f"{name} has rank {rank}" for name, rank in (("data", r), ("indices", q)) if rank is not None]
        allowed = f"[{'...' if q is None else -q}, {most if b > most or None not in (r, q) else '...'}]"
        raise SpecViolation(f"batch_dims = {b} is outside {allowed}, {' and '.join(ranks)}", "GI306")
    if b >= 0:
        return b
    return None if q is None else b + q  # relative to the rank of indices, not of data


@rules.rule("GatherElements", since=6, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_elements_6(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-elements-6.html

    Off the axis the dims of data and indices are equal.
    """
    check_call(op, inputs=2, attributes=("axis",), noted=TYPES)
    data, indices = op.tensor(0), op.tensor(1)
    require_type(indices, INDEX_TYPES, "indices", code="GI308")
    if "axis" not in op.attributes:
        raise SpecViolation("attribute axis is missing", "GI106")
    axis = integer(op, "axis", 0)
    return [gather_elements(op, data, indices, axis=axis, indexing=ELEMENTS_6, same_dims=True)]


@rules.rule("GatherND", since=5, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_5(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-5.html

    With batch_dims > 1 the batch dims of the result are merged into one dim, their product.
    """
    b = integer(op, "batch_dims", 0)
    out = _gather_nd(op, b, ND_5)
    if b <= 1 or out.shape is None:
        return [out]
    shape = (product(out.shape[:b]), *out.shape[b:])
    values = None if out.values is None else out.values.reshape([d for d in shape if isinstance(d, int)])
    return [out.with_(shape=shape, values=values)]


@rules.rule("GatherND", since=8, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_8(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-nd-8.html

    The same as GatherND of ONNX. The page lets batch dims broadcast; OpenVINO rejects batch dims that differ.
    """
    return [_gather_nd(op, integer(op, "batch_dims", 0), ND_8)]


def _gather_nd(op: OpCall, batch_dims: int, indexing: Indexing) -> SymbolicTensor:
    check_call(op, inputs=2, attributes=("batch_dims",), noted=TYPES)
    data, indices = op.tensor(0), op.tensor(1)
    require_type(indices, INTEGER_RANGE, "indices", code="GI308")
    return gather_nd(op, data, indices, batch_dims=batch_dims, indexing=indexing)


@rules.rule("GatherTree", since=1, addresses={1: 0}, checks_types=True, gathers=True)
def gather_tree(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/gather-tree-1.html

    step_ids     [time, batch, beam], of any numeric type; all inputs have the same type
    parent_ids   [time, batch, beam], beam indices: OpenVINO fails when it reads one out of bounds
    max_seq_len  [batch]
    end_token    a scalar
    result       [time, batch, beam]: step ids and end tokens
    """
    check_call(op, inputs=4, attributes=(), noted=TYPES)
    names = ("step_ids", "parent_ids", "max_seq_len", "end_token")
    inputs = [op.tensor(i) for i in range(4)]
    dtype = next((t.dtype for t in inputs if t.dtype is not None), None)
    for name, rank, tensor in zip(names, (3, 3, 1, 0), inputs, strict=True):
        require_type(tensor, NUMERIC, name)
        if dtype is not None:
            require_type(tensor, (dtype,), name)
        require_rank(tensor.shape, rank, name)
    steps, parents, lengths, end = inputs
    span = None
    if dtype in INTEGER_RANGE:
        span = hull(range_of(steps, op.scope), range_of(end, op.scope), scope=op.scope)
    shape = steps.shape if steps.shape is not None else parents.shape
    if shape is None:
        reason = "the ranks of step_ids and parent_ids are not known"
        batch = op.fresh(reason) if lengths.shape is None else lengths.shape[0]
        return [SymbolicTensor(dtype, (op.fresh(reason), batch, op.fresh(reason)), None, span)]
    if parents.shape is not None:
        pairs = zip(("time", "batch", "beam"), shape, parents.shape, strict=True)
        shape = tuple(op.require_equal(a, b, f"{name} of step_ids and parent_ids") for name, a, b in pairs)
    check_bounds(
        op, parents, known_numbers(op, 1), shape[2], Indexing(from_end=False),
        axis=2, data=describe(steps, "step_ids"), may_skip=True,
    )  # fmt: skip
    if lengths.shape is not None:
        batch = op.require_equal(shape[1], lengths.shape[0], "batch of step_ids and max_seq_len")
        shape = (shape[0], batch, shape[2])
    return [SymbolicTensor(dtype, shape, None, span)]
