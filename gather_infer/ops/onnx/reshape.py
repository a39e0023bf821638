"""Rules of operators that change only the shape: Reshape, Flatten, Squeeze, Unsqueeze."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import (
    all_ints,
    elements_of,
    elements_of_vector,
    moved,
    static_shape,
    unique_axes,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import (
    Dim,
    Expr,
    Scope,
    floordiv,
    free_symbols,
    known_eq,
    known_le,
    maximum,
    mod,
    product,
    substitute,
    symbol,
)
from gather_infer.tensor import Shape, SymbolicTensor, format_shape, holds_values, make_values

rules = RuleSet("")

_OF_ENTRIES = "an entry of the target must be >= -1"


@rules.rule("Reshape", since=1, moves=0, permutes=True)
def onnx_reshape_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Reshape.html (version 1: the target is attribute `shape`)"""
    return [reshape(op, op.tensor(0), list(op.attr("shape", ())))]


@rules.rule(
    "Reshape", since=5, moves=0, permutes=True, operands={1: "sizes with as many elements as the data"}, dims=(1,)
)
def onnx_reshape(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Reshape.html (version 5: the target is an input; 14 adds allowzero)"""
    target = elements_of_vector(op, op.tensor(1), "shape")
    return [reshape(op, op.tensor(0), target, allowzero=op.attr("allowzero", 0) != 0)]


def reshape(
    op: OpCall, data: SymbolicTensor, target: Sequence[Dim | None] | None, *, allowzero: bool = False
) -> SymbolicTensor:
    """`data` reshaped to `target`.

    target  the dims of the result, None for an unknown one; `target` is None when the rank is unknown. An entry of 0
            copies the dim of data on the same axis, or is 0 with `allowzero`. One entry may be -1: its dim is inferred
            from the number of elements
    result  as many elements as data

    Raises SpecViolation when `target` is malformed or the numbers of elements can never be equal.
    Spec: https://onnx.ai/onnx/operators/onnx__Reshape.html
    """
    if target is None:
        return moved(op, data, None)
    shape = reshaped(op, data.shape, target, allowzero=allowzero)
    static = static_shape(shape)
    if data.values is None or static is None or not holds_values(static) or product(static) != data.values.size:
        return moved(op, data, shape)
    return moved(op, data, shape, data.values.reshape(static))


def reshaped(op: OpCall, shape: Shape | None, target: Sequence[Dim | None], *, allowzero: bool = False) -> Shape:
    """The result shape of `reshape` for data of shape `shape`, None for an unknown rank, and a `target` as there."""
    _check_target(target, shape, allowzero)
    entries = _Entries(op, shape, target, allowzero)
    dims = [entries.dim(i) for i in range(len(target))]
    others = [d for d in dims if d is not None]
    if len(others) == len(dims):
        if shape is not None:
            _require_same_count(op, shape, target, tuple(others), entries.assumed)
        return tuple(others)

    # One dim remains: an entry of -1, or the only unknown entry.
    wanted = dims.index(None)
    total = None if shape is None else product(shape)
    rest = product(others)
    is_inferred = isinstance(target[wanted], int)
    inferred_from = _unrepeated(shape, dims, op.scope) if is_inferred and allowzero else None
    if is_inferred:
        for other in others if inferred_from is None else ():
            if not allowzero:
                # Runtimes divide by the other dims and fail on a 0, also on a copied 0. No fact follows for an entry
                # that is assumed to be >= 1: if it is 0, the dim that it copies may be >= 1.
                if other not in entries.assumed:
                    op.add_implied_fact(other - 1)
            elif isinstance(other, Expr) and op.assume(other, 1, "with allowzero, -1 next to a 0 is not defined"):
                entries.assumed.append(other)  # no fact: a runtime may define the other case
        if any(known_eq(other, 0, op.scope) is True for other in others):
            raise SpecViolation(f"an entry of -1 cannot be inferred when another dim is 0, target is {_text(target)}")
    scope = entries.scope()
    divides = (is_inferred and not allowzero) or inferred_from is not None or known_le(1, rest, scope) is True
    if not is_inferred and shape is not None and total is not None:
        _constrain_count(op, shape, total, target)
    elif total is None or not divides:
        op.add_unchecked(f"whether the target {_text(target)} fits is not known")
    if total is None or not divides:
        determined_by = (allowzero, len(shape), *shape, *dims) if is_inferred and shape is not None else ()
        dims[wanted] = op.fresh(f"entry {wanted} of the target is not known", determined_by=determined_by)
        return tuple(d for d in dims if d is not None)
    dividend, divisor = inferred_from or (total, rest)
    if known_eq(mod(dividend, divisor, scope), 0, op.scope) is False and not entries.assumed:
        raise SpecViolation(
            f"the input {format_shape(shape)} has {total} elements, which {rest} does not divide, "
            f"target is {_text(target)}"
        )
    dims[wanted] = dim = floordiv(dividend, divisor, scope)
    if total != dim * rest:
        op.add_constraint(total, "==", dim * rest)
    return tuple(d for d in dims if d is not None)


def _constrain_count(op: OpCall, shape: Shape, total: Dim, target: Sequence[Dim | None]) -> None:
    """Require that `target`, with one unknown entry, fits a tensor of `shape` with `total` elements.

    The entry may be a size, -1, or a 0 that copies a dim. Unless both `shape` and `target` have length 1, only record
    that the requirement is unchecked.
    """
    (entry,) = target if len(target) == 1 else (None,)
    if len(shape) == 1 and entry is not None:
        message = f"the target {_text(target)} does not fit {total} elements"
        op.require((entry, "==", total), (entry, "==", -1), (entry, "==", 0), otherwise=message)
    else:
        op.add_unchecked(f"whether the target {_text(target)} fits {format_shape(shape)} is not known")


def _unrepeated(shape: Shape | None, dims: Sequence[Dim | None], scope: Scope) -> tuple[Dim, Dim] | None:
    """The dividend and divisor that infer an entry of -1 with allowzero; None when they are unknown or may be 0.

    The dividend is the product of the input dims `shape`, the divisor the product of the known result `dims`. Both omit
    every axis on which the two dims are known to be equal. The specification does not define a 0 in a target with -1,
    but runtimes cancel a 0 that is on the same axis of both shapes. If another dim may be 0, runtimes differ.
    """
    if shape is None:
        return None
    repeated = {
        i for i, (d, e) in enumerate(zip(shape, dims, strict=False)) if e is not None and known_eq(d, e, scope) is True
    }
    left = product([d for i, d in enumerate(shape) if i not in repeated])
    right = product([e for i, e in enumerate(dims) if i not in repeated and e is not None])
    return (left, right) if known_le(1, left, scope) is True and known_le(1, right, scope) is True else None


def _check_target(target: Sequence[Dim | None], shape: Shape | None, allowzero: bool) -> None:
    numbers = [t for t in target if isinstance(t, int)]
    if any(t < -1 for t in numbers):
        raise SpecViolation(f"{_OF_ENTRIES}, target is {_text(target)}")
    if numbers.count(-1) > 1:
        raise SpecViolation(f"only one entry of the target may be -1, target is {_text(target)}")
    if allowzero and -1 in numbers and 0 in numbers:
        raise SpecViolation(f"with allowzero a target may not hold both 0 and -1, target is {_text(target)}")
    if not allowzero and shape is not None and any(t == 0 for t in target[len(shape) :] if isinstance(t, int)):
        raise SpecViolation(f"an entry of 0 copies a dim, {format_shape(shape)} has no such axis in {_text(target)}")


class _Entries:
    """Resolves the entries of a reshape target to dims; `assumed` lists the entries that are assumed to be >= 1."""

    def __init__(self, op: OpCall, shape: Shape | None, target: Sequence[Dim | None], allowzero: bool) -> None:
        self.op, self.shape, self.target, self.allowzero = op, shape, target, allowzero
        self.has_minus_one = any(isinstance(t, int) and t == -1 for t in target)
        self.unknown = [i for i, t in enumerate(target) if not self.is_known(t)]
        self.assumed: list[Expr] = []

    def is_known(self, entry: Dim | None) -> bool:
        """Whether `entry` is a number or a symbolic size; False when it is None or a symbol that may be -1."""
        if isinstance(entry, Expr) and self.has_minus_one:
            self.op.add_implied_fact(entry)  # a second -1 fails, and so does any other negative entry
        return isinstance(entry, int) or (entry is not None and self.is_not_minus_one(entry))

    def is_not_minus_one(self, entry: Expr) -> bool:
        """Whether `entry` is known to differ from -1 in every legal run.

        A target with both -1 and a dim of 0 fails in every run, because runtimes divide by the other dims.
        """
        if known_le(0, entry, self.op.scope) is True:
            return True
        if known_eq(entry, -1, self.op.scope) is False:  # such as a multiple of 4
            self.op.require((0, "<=", entry), otherwise=f"{_OF_ENTRIES}, target is {_text(self.target)}")
            return True
        if self.shape is None or self.allowzero:
            return False
        scope = self.op.scope.child()
        scope.add_fact(-1 - entry)
        copied = zip(self.target, self.shape, strict=False)
        if not any(t is not None and known_eq(t, 0, scope) is known_eq(d, 0, scope) is True for t, d in copied):
            return False
        self.op.add_implied_fact(entry)
        return True

    def scope(self) -> Scope:
        """The scope of the node, extended by the facts that the entries in `assumed` are >= 1."""
        scope = self.op.scope.child() if self.assumed else self.op.scope
        for entry in self.assumed:
            scope.add_fact(entry - 1)
        return scope

    def dim(self, i: int) -> Dim | None:
        """The result dim on axis `i`; None when it must be inferred from the other dims."""
        entry = self.target[i]
        if i in self.unknown:
            is_alone = self.unknown == [i] and not self.has_minus_one
            if not is_alone and entry is not None:
                self.op.add_unchecked(f"whether {entry} in the target {_text(self.target)} is a size is not known")
            return None if is_alone else self.op.fresh(f"entry {i} of the target is not known")
        if isinstance(entry, int):
            return None if entry == -1 else self.copied(i) if entry == 0 and not self.allowzero else entry
        assert entry is not None, "entries that are not in `unknown` are known"
        return entry if self.allowzero else self.computed(i, entry)

    def copied(self, i: int) -> Dim:
        if self.shape is None:
            return self.op.fresh("the rank of the input is not known")
        return self.shape[i]

    def computed(self, i: int, entry: Expr) -> Dim:
        """The result dim on axis `i` for a symbolic `entry` >= 0, which copies the input's dim when it is 0."""
        if known_le(1, entry, self.op.scope) is True:
            return entry
        if self.shape is not None:
            if i >= len(self.shape):
                self.op.add_implied_fact(entry - 1)  # there is no dim to copy
                return entry
            if known_eq(entry, self.shape[i], self.op.scope) is True or self.copies_only_zero(i, entry):
                return entry
        if self.op.assume(entry, 1, "a computed target entry of 0 would copy the input's dim"):
            self.assumed.append(entry)
            return entry
        if self.shape is None:
            return self.op.fresh("the rank of the input is not known")
        dim = self.shape[i]
        reason = f"entry {i} of the target, {entry}, copies {dim} where it is 0"
        equals = entry + dim * maximum(0, 1 - entry)
        return self.op.derived("reshape", entry, dim, reason=reason, equals=equals)

    def copies_only_zero(self, i: int, entry: Expr) -> bool:
        """Whether the input's dim on axis `i` is proved to be 0 in every legal run in which `entry` is 0.

        The proof needs an `entry` that is a product of sizes, and treats each size that may be 0. Either the input's
        dim is 0 too, or the input is empty while all other dims of the result are >= 1, and the node fails. The latter
        is recorded: the size is at least 1, or the input's dim is 0.
        """
        assert self.shape is not None
        dim, total = self.shape[i], product(self.shape)
        others = [t for j, t in enumerate(self.target) if j != i]
        sizes = _sizes(entry, self.op.scope)
        if sizes is None:
            return False
        required: list[tuple[Dim, Dim]] = []
        for name in sizes:
            try:
                copied, count = substitute(dim, {name: 0}), substitute(total, {name: 0})
                beside = [None if t is None else substitute(t, {name: 0}) for t in others]
            except ZeroDivisionError:
                return False  # a dim is undefined there
            if copied == 0:
                continue
            scope = self.op.scope.child()
            scope.add_fact(copied - 1)
            if count != 0 or not all(t is not None and known_le(1, t, scope) is True for t in beside):
                return False
            required.append((symbol(name), copied))
        for size, copied in required:
            self.op.add_implied_constraint((1, "<=", size), (copied, "==", 0))
        return True


def _sizes(dim: Expr, scope: Scope) -> list[str] | None:
    """The names of the symbols in `dim`, sorted, when it is a product of symbols and a number >= 1; else None."""
    rest: Dim = dim
    names = sorted(free_symbols(dim))
    for name in names:
        while name in free_symbols(rest):
            nonzero = scope.child()
            nonzero.add_fact(symbol(name) - 1)
            quotient = floordiv(rest, symbol(name), nonzero)
            if quotient * symbol(name) != rest:
                return None
            rest = quotient
    return names if isinstance(rest, int) and rest >= 1 else None


def _require_same_count(
    op: OpCall, shape: Shape, target: Sequence[Dim | None], result: Shape, assumed: Sequence[Expr]
) -> None:
    total, count = product(shape), product(result)
    if total == count:
        return
    message = f"the input {format_shape(shape)} has {total} elements, the target {_text(target)} has {count}"
    copied = ((entry, "==", 0) for entry in assumed)  # an entry of 0 copies a dim, so `result` is not the shape
    op.require((total, "==", count), *copied, otherwise=message)


def _text(target: Sequence[Dim | None]) -> str:
    return "[" + ", ".join("?" if t is None else str(t) for t in target) + "]"


@rules.rule("Flatten", since=1, moves=0, permutes=True)
def onnx_flatten_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Flatten.html (versions 1 and 9: axis is in [0, rank])"""
    return [flatten(op, op.tensor(0), axis=op.attr("axis", 1), lower=0)]


@rules.rule("Flatten", since=11, moves=0, permutes=True)
def onnx_flatten(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Flatten.html (version 11: axis is in [-rank, rank])"""
    return [flatten(op, op.tensor(0), axis=op.attr("axis", 1))]


def flatten(op: OpCall, data: SymbolicTensor, *, axis: int, lower: int | None = None) -> SymbolicTensor:
    """`data` as a matrix: the axes before `axis` become the rows, the others the columns.

    data    [d0, ..., dr-1]
    result  [d0 * ... * d(axis-1), d(axis) * ... * d(r-1)]

    Raises SpecViolation when `axis` is outside [lower, r]; a `lower` of None means -r.
    """
    if data.shape is None:
        rows = 1 if axis == 0 else op.fresh("the rank of the input is not known")
        return moved(op, data, (rows, op.fresh("the rank of the input is not known")))
    rank = len(data.shape)
    lowest = -rank if lower is None else lower
    if not lowest <= axis <= rank:
        raise SpecViolation(f"axis = {axis} is outside [{lowest}, {rank}], data has rank {rank}", "GI304")
    axis += rank if axis < 0 else 0
    return _with_shape(op, data, (product(data.shape[:axis]), product(data.shape[axis:])))


@rules.rule("Squeeze", since=1, moves=0, permutes=True)
def onnx_squeeze_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Squeeze.html

    Version 1: axes is an attribute. From version 11 on, its elements may be negative.
    """
    axes = op.attr("axes")
    return [squeeze(op, op.tensor(0), None if axes is None else list(axes))]


@rules.rule("Squeeze", since=13, moves=0, permutes=True, operands={1: "axes of length 1"})
def onnx_squeeze(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Squeeze.html (version 13: axes is an input)"""
    data, axes = op.tensor(0), op.optional_tensor(1)
    if axes is None:
        return [squeeze(op, data, None)]
    elements = elements_of_vector(op, axes, "axes")
    if elements is None:
        return [moved(op, data, None)]
    known = all_ints(elements)
    if known is not None:
        return [squeeze(op, data, known)]
    if data.shape is None:
        return [moved(op, data, None)]
    if len(elements) != 1:
        return [moved(op, data, None)]  # an axis may be repeated
    if not data.shape:
        raise SpecViolation("axes must be empty, data is a scalar")
    return [moved(op, data, tuple(op.fresh("axes are not known") for _ in data.shape[1:]))]


def squeeze(op: OpCall, data: SymbolicTensor, axes: Sequence[int] | None) -> SymbolicTensor:
    """`data` without its axes of length 1: those in `axes`, or all of them when `axes` is None.

    data    [d0, ..., dr-1]
    result  the dims of data without the removed axes; of unknown rank when which axes are removed is unknown

    An empty `axes` removes no axis in numpy, and every axis of length 1 in onnxruntime; the removed axes are unknown
    unless every dim is known not to be 1.

    Raises SpecViolation when an element of `axes` is outside [-r, r-1] or its dim is not 1.
    """
    if data.shape is None:
        return moved(op, data, None)
    # An empty list removes no axis in numpy and every 1 in onnxruntime: known only when they agree.
    if not axes:
        is_one = [known_eq(dim, 1, op.scope) for dim in data.shape]
        if None in is_one or (axes is not None and True in is_one):
            return moved(op, data, None)
        return _with_shape(op, data, tuple(d for d, one in zip(data.shape, is_one, strict=True) if not one))
    rank = len(data.shape)
    removed = set(unique_axes(list(dict.fromkeys(a % rank if -rank <= a < rank else a for a in axes)), rank))
    for axis in sorted(removed):
        op.require_equal(data.shape[axis], 1, f"the squeezed dim of axis {axis} and 1", code="GI210")
    return _with_shape(op, data, tuple(d for i, d in enumerate(data.shape) if i not in removed))


@rules.rule("Unsqueeze", since=1, moves=0, permutes=True)
def onnx_unsqueeze_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Unsqueeze.html

    Version 1: axes is an attribute. From version 11 on, its elements may be negative.
    """
    return [unsqueeze(op, op.tensor(0), list(op.attr("axes", ())))]


@rules.rule("Unsqueeze", since=13, moves=0, permutes=True, operands={1: "different axes of the result"})
def onnx_unsqueeze(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Unsqueeze.html (version 13: axes is an input)"""
    data = op.tensor(0)
    elements = elements_of(op.tensor(1), "axes")
    known = all_ints(elements)
    if known is not None:
        return [unsqueeze(op, data, known)]
    if elements is None or data.shape is None:
        return [moved(op, data, None)]
    rank = len(data.shape) + len(elements)
    return [moved(op, data, tuple(op.fresh("axes are not known") if data.shape else 1 for _ in range(rank)))]


def unsqueeze(op: OpCall, data: SymbolicTensor, axes: Sequence[int]) -> SymbolicTensor:
    """`data` with axes of length 1 inserted at positions `axes` of the result.

    data    [d0, ..., dr-1]
    result  rank r + len(axes)

    Raises SpecViolation when an element of `axes` is not an axis of the result or occurs twice.
    """
    if data.shape is None:
        return moved(op, data, None)
    rank = len(data.shape) + len(axes)
    inserted = set(unique_axes(axes, rank))
    dims = iter(data.shape)
    return _with_shape(op, data, tuple(1 if i in inserted else next(dims) for i in range(rank)))


def _with_shape(op: OpCall, data: SymbolicTensor, shape: Shape) -> SymbolicTensor:
    """`data` reshaped to `shape`, which has the same number of elements."""
    static = static_shape(shape)
    if data.values is None or static is None or not holds_values(static):
        return moved(op, data, shape)
    return moved(op, data, shape, make_values(data.values, static))
