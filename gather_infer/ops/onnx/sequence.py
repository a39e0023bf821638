"""Rules of operators on sequences and optionals."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.access import Addressing, Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.concat import concat, split_lengths
from gather_infer.ops.semantics.operands import element_type, elements_of, moved, replaced
from gather_infer.ops.semantics.preconditions import known_value, normalize_axis
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, ceildiv, known_eq, known_le, known_lt, mod
from gather_infer.tensor import (
    DType,
    OptionalType,
    SequenceType,
    Shape,
    SymbolicTensor,
    Value,
    ValueRange,
    from_values,
    make_values,
)
from gather_infer.value_ranges import explicit_range, hull

rules = RuleSet("")

DIFFERS = "the members of the sequence differ here"
"""Cause of a symbol whose value differs between members; the type of an extracted member has a new symbol instead."""


# Unlike in the join of two control-flow paths, a dim here has a different value for each member. Its symbol is reused
# when further members join.
def join(op: OpCall, a: Value | None, b: Value | None) -> Value | None:
    """Lattice join of types `a` and `b`: the facts that hold for both; None when their kinds differ or one is None."""
    if a is b or a == b:
        return a
    match a, b:
        case SymbolicTensor(), SymbolicTensor():
            return _join_tensors(op, a, b)
        case SequenceType(), SequenceType():
            length = a.length if a.length == b.length else None
            return SequenceType(join(op, a.element, b.element), length)
        case OptionalType(), OptionalType():
            present = a.present if a.present == b.present else None
            return OptionalType(join(op, a.element, b.element), present)
    return None


def _join_tensors(op: OpCall, a: SymbolicTensor, b: SymbolicTensor) -> SymbolicTensor:
    dtype = a.dtype if a.dtype == b.dtype else None
    spans = [explicit_range(tensor, op.scope) for tensor in (a, b)]
    known = [span for span in spans if span is not None]
    span = hull(*known, scope=op.scope) if len(known) == len(spans) else None
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return SymbolicTensor(dtype, None, None, span)
    return SymbolicTensor(dtype, tuple(_join_dims(op, d, e) for d, e in zip(a.shape, b.shape, strict=True)), None, span)


def _join_dims(op: OpCall, a: Dim, b: Dim) -> Dim:
    if a == b or known_eq(a, b, op.scope) is True:
        return a
    for dim in (a, b):
        if differs(op, dim):
            return dim
    return op.fresh(DIFFERS)


def differs(op: OpCall, dim: Dim) -> bool:
    """Whether `dim` has a symbol with cause DIFFERS, so that its value may differ between members of a sequence."""
    return isinstance(dim, Expr) and any(
        (cause := op.cause(name)) is not None and cause.reason == DIFFERS for name in dim.symbols
    )


def member(op: OpCall, element: Value | None, reason: str) -> Value:
    """The type of one member of a sequence whose element type is `element`.

    A dim that differs between members becomes a new symbol with cause `reason`.
    """
    if not isinstance(element, SymbolicTensor):
        return SymbolicTensor() if element is None else element
    if element.shape is None or not any(differs(op, dim) for dim in element.shape):
        return element
    return element.with_(shape=tuple(op.fresh(reason) if differs(op, dim) else dim for dim in element.shape))


MAX_MEMBERS = 64
"""Largest number of members of a sequence that are tracked one by one."""


def sequence_of(element: Value | None, length: Dim | None, members: Sequence[SymbolicTensor] | None) -> SequenceType:
    """A sequence type of `length` members of type `element`; drops `members` if they are more than MAX_MEMBERS."""
    kept = None if members is None or len(members) > MAX_MEMBERS else tuple(members)
    return SequenceType(element, length, kept)


def sequence(op: OpCall, index: int) -> SequenceType:
    """Input `index` as a sequence type.

    Raises SpecViolation when the input is missing or is known not to be a sequence.
    """
    value = op.value(index)
    if value is None:
        raise SpecViolation(f"input {index} is missing", "GI107")
    if isinstance(value, SymbolicTensor) and value.dtype is None and value.shape is None:
        return SequenceType()  # the kind of the input is unknown
    if not isinstance(value, SequenceType):
        raise SpecViolation(f"input {index} must be a sequence, is {value}", "GI211")
    return value


@rules.rule("SequenceConstruct", since=11)
def onnx_sequence_construct(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html

    n tensors of one element type -> a sequence of n members
    """
    members = [op.tensor(i) for i in range(len(op.inputs))]
    if not members:
        raise SpecViolation("at least one input is needed", "GI107")
    element: Value | None = members[0]
    for other in members[1:]:
        _require_same_type(element, other)
        element = join(op, element, other)
    return [sequence_of(element, len(members), members)]


def _require_same_type(element: Value | None, tensor: SymbolicTensor) -> None:
    found = element.dtype if isinstance(element, SymbolicTensor) else None
    if None not in (found, tensor.dtype) and found != tensor.dtype:
        raise SpecViolation(f"all members must have one element type, have {found} and {tensor.dtype}", "GI211")


@rules.rule("SequenceEmpty", since=11)
def onnx_sequence_empty(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceEmpty.html

    no input -> an empty sequence of tensors of attribute dtype
    """
    return [SequenceType(SymbolicTensor(element_type(op.attr("dtype", int(DType.FLOAT32)))), 0)]


@rules.rule("SequenceAt", since=11, addresses={1: 0})
def onnx_sequence_at(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceAt.html (the position is in [-n, n - 1] for n members)"""
    found = sequence(op, 0)
    if found.length is not None:
        _require_position(op, 1, found.length)
        op.add_implied_fact(found.length - 1)
    at = known_value(op.tensor(1))
    if found.members is not None and isinstance(at, int):
        return [found.members[at]]
    return [member(op, found.element, "which member is taken is not known")]


def _require_position(op: OpCall, index: int, length: Dim, *, inserts: bool = False) -> None:
    """Check that input `index` is a position in [-length, length - 1], or with `inserts` in [-length, length].

    Raises SpecViolation when the position is known to be outside.
    """
    indexing, places = Indexing(inserts=inserts), length + 1 if inserts else length
    at = known_value(op.tensor(index))
    known = (at,) if at is not None else ()
    op.address(Addressing(index, None, places, indexing, None, 1, known, is_complete=at is not None))
    if at is None:
        return
    least = indexing.first_defined(places)
    if known_lt(at, least, op.scope) is True or known_le(places, at, op.scope) is True:
        raise SpecViolation(f"position {at} is outside [{least}, {places - 1}], there are {length} members")


@rules.rule("SequenceInsert", since=11, addresses={2: 0})
def onnx_sequence_insert(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceInsert.html

    The position is in [-n, n] for n members; if it is absent, the tensor is appended.
    """
    found, tensor = sequence(op, 0), op.tensor(1)
    if found.length is not None and op.has(2):
        _require_position(op, 2, found.length, inserts=True)
    _require_same_type(found.element, tensor)
    is_empty = isinstance(found.length, int) and found.length == 0
    element = tensor if is_empty else None if found.element is None else join(op, found.element, tensor)
    members = [] if is_empty else None if found.members is None else list(found.members)
    if members is not None:
        at = known_value(op.tensor(2)) if op.has(2) else len(members)
        if isinstance(at, int):
            members.insert(at, tensor)
        else:
            members = None
    return [sequence_of(element, None if found.length is None else found.length + 1, members)]


@rules.rule("SequenceErase", since=11, addresses={1: 0})
def onnx_sequence_erase(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceErase.html

    The position is in [-n, n - 1] for n members; if it is absent, the last member is erased.
    """
    found = sequence(op, 0)
    if found.length is None:
        return [found]
    op.require((1, "<=", found.length), otherwise="nothing can be erased, the sequence is empty")
    if op.has(1):
        _require_position(op, 1, found.length)
    members = None if found.members is None else list(found.members)
    if members is not None:
        at = known_value(op.tensor(1)) if op.has(1) else -1
        if isinstance(at, int):
            del members[at]
        else:
            members = None
    return [sequence_of(found.element, found.length - 1, members)]


@rules.rule("SequenceLength", since=11)
def onnx_sequence_length(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__SequenceLength.html

    a sequence of n members -> n, an int64 scalar
    """
    length = sequence(op, 0).length
    if length is None:
        return [SymbolicTensor(DType.INT64, (), None, ValueRange(0, None))]
    return [from_values(DType.INT64, make_values(length))]


@rules.rule("ConcatFromSequence", since=11)
def onnx_concat_from_sequence(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html

    a sequence of tensors -> their concatenation along attribute axis, a new axis if new_axis is set
    """
    axis = op.attr("axis")
    if axis is None:
        raise SpecViolation("attribute axis is missing", "GI106")
    members = sequence(op, 0)
    if members.length is not None:
        op.add_implied_fact(members.length - 1)  # a Concat has an input
    return [concat_from_sequence(op, members, axis=axis, is_new_axis=op.attr("new_axis", 0) != 0)]


def concat_from_sequence(op: OpCall, members: SequenceType, *, axis: int, is_new_axis: bool) -> SymbolicTensor:
    """Concatenation of the members along `axis`, or along a new axis inserted at `axis` if `is_new_axis`.

    members  n tensors [d0, ..., dr-1]
    result   the dims of a member with n * d(axis) at axis; with a new axis, n inserted at axis

    Raises SpecViolation when `axis` is outside [-r, r-1]; with a new axis, outside [-r-1, r].
    """
    element, length = members.element, members.length
    if members.members:
        return _concat_listed(op, members.members, axis, is_new_axis=is_new_axis)
    if not isinstance(element, SymbolicTensor):
        return SymbolicTensor()
    if element.shape is None:
        return moved(op, element, None)
    # Off the axis all members have equal dims, or the node fails.
    shape: Shape = tuple(
        op.fresh("the size of the members is not known") if differs(op, d) else d for d in element.shape
    )
    count = op.fresh("the number of members is not known") if length is None else length
    if is_new_axis:
        axis = normalize_axis(axis, len(shape) + 1)
        return moved(op, element, (*shape[:axis], count, *shape[axis:]))
    axis = normalize_axis(axis, len(shape))
    if differs(op, element.shape[axis]):
        return moved(op, element, replaced(shape, axis, op.fresh("the members have different lengths")))
    return moved(op, element, replaced(shape, axis, count * shape[axis]))


def _concat_listed(op: OpCall, members: Sequence[SymbolicTensor], axis: int, *, is_new_axis: bool) -> SymbolicTensor:
    if not is_new_axis:
        return concat(op, members, axis=axis)
    parts: list[SymbolicTensor] = []
    for tensor in members:
        shape = tensor.shape
        if shape is not None:
            at = normalize_axis(axis, len(shape) + 1)
            shape = (*shape[:at], 1, *shape[at:])
        parts.append(moved(op, tensor, shape))
    return concat(op, parts, axis=axis)


@rules.rule("SplitToSequence", since=11, operands={1: "lengths that add up to the dim"}, dims=(1,))
def onnx_split_to_sequence(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__SplitToSequence.html

    With a scalar split of 1 and keepdims = 0 the axis is removed from each part. By the page keepdims is ignored when
    split is given, but onnxruntime applies it in this case, and PyTorch exports `unbind` in this form.
    """
    data, axis = op.tensor(0), op.attr("axis", 0)
    if data.shape is None:
        return [SequenceType(moved(op, data, None))]
    axis = normalize_axis(axis, len(data.shape))
    dim = data.shape[axis]
    keeps_axis = op.attr("keepdims", 1) != 0
    if not op.has(1) or (not keeps_axis and _is_scalar_one(op.tensor(1))):
        kept = (1,) if keeps_axis else ()
        return [SequenceType(moved(op, data, replaced(data.shape, axis, *kept)), dim)]
    part, count = _part(op, dim, op.tensor(1), axis)
    lengths = _lengths(op.tensor(1), dim)
    members = None
    if lengths is not None and len(lengths) == count:
        members = [moved(op, data, replaced(data.shape, axis, length)) for length in lengths]
    return [sequence_of(moved(op, data, replaced(data.shape, axis, part)), count, members)]


def _is_scalar_one(split: SymbolicTensor) -> bool:
    return split.rank == 0 and known_value(split) == 1


def _part(op: OpCall, dim: Dim, split: SymbolicTensor, axis: int) -> tuple[Dim, Dim | None]:
    """The length of each part along `axis`, and the number of parts, None if unknown.

    dim     length of `axis`
    split   a scalar, the length of all parts but the last; or 1-D, the length of each

    If lengths may differ, the first result is a symbol with cause DIFFERS.

    Raises SpecViolation when `split` does not add up to `dim`, or a scalar `split` is below 1.
    """
    if split.rank == 1:
        lengths = elements_of(split, "split")
        if lengths is None:
            assert split.shape is not None
            return op.fresh(DIFFERS), split.shape[0]
        known = split_lengths(op, lengths, dim, axis)
        return _common(op, known), len(known)
    size = known_value(split)
    if split.rank is None or size is None:
        return op.fresh(DIFFERS), None
    op.require((1, "<=", size), otherwise=f"split must be greater than zero, is {size}")
    is_even = known_eq(mod(dim, size, op.scope), 0, op.scope) is True
    return size if is_even else op.fresh(DIFFERS), ceildiv(dim, size, op.scope)


def _lengths(split: SymbolicTensor, dim: Dim) -> Sequence[Dim] | None:
    """The known lengths of the parts, in order; None when `split` or `dim` is unknown or the parts are too many."""
    if split.rank == 1:
        lengths = elements_of(split, "split")
        return None if lengths is None else [length for length in lengths if length is not None]
    size = known_value(split)
    if not isinstance(size, int) or not isinstance(dim, int) or size < 1 or dim > size * MAX_MEMBERS:
        return None
    return [min(size, dim - start) for start in range(0, dim, size)]


def _common(op: OpCall, lengths: Sequence[Dim]) -> Dim:
    if not lengths:
        return 0
    same = all(known_eq(lengths[0], other, op.scope) is True for other in lengths[1:])
    return lengths[0] if same else op.fresh(DIFFERS)


@rules.rule("Optional", since=15)
def onnx_optional(op: OpCall) -> list[Value]:
    """https://onnx.ai/onnx/operators/onnx__Optional.html

    a tensor or sequence -> an optional that holds it; without an input, an empty optional of attribute type
    """
    value = op.value(0)
    if value is not None:
        return [OptionalType(value, True)]
    declared = op.attr("type")
    if declared is None:
        raise SpecViolation("attribute type is needed when there is no input", "GI106")
    element = declared if isinstance(declared, (SymbolicTensor, SequenceType)) else None
    return [OptionalType(element, False)]


@rules.rule("OptionalHasElement", since=15)
def onnx_optional_has_element(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html

    From version 18 on, the input may also be absent, a tensor or a sequence.
    """
    value = op.value(0)
    present = value.present if isinstance(value, OptionalType) else value is not None
    if isinstance(value, SymbolicTensor) and value.dtype is None and value.shape is None:
        present = None  # the input may be an optional
    return [SymbolicTensor(DType.BOOL, ()) if present is None else from_values(DType.BOOL, make_values(present))]


@rules.rule("OptionalGetElement", since=15, moves=0, permutes=True)
def onnx_optional_get_element(op: OpCall) -> list[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html

    From version 18 on, an input that is a tensor or a sequence is returned unchanged.
    """
    value = op.value(0)
    if value is None:
        raise SpecViolation("input 0 is missing", "GI107")
    if not isinstance(value, OptionalType):
        return [value]
    if value.present is False:
        raise SpecViolation("the optional has no element")
    return [value.element]
