"""Right rewrites of elements: neutral elements, casts there and back, operands in another order, unfolded constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, numpy_helper

from gather_infer.tensor import SymbolicTensor
from tests.oracle.changed_model import Chain, ChangedModel, Changes, Site

ARITHMETIC: Final = Changes()

_FLOATS: Final = (TensorProto.FLOAT, TensorProto.DOUBLE)
_INTEGERS: Final = (TensorProto.INT64, TensorProto.INT32)
_LONGEST: Final = 4096
"""Most elements of a constant that is unfolded."""


@ARITHMETIC.inserts("a neutral element")
def _neutral(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    """x * 1, x / 1, x - 0.0, x + -0.0: not x + 0.0, which is 0.0 for -0.0."""
    dtype, rng = int(fact.dtype or 0), chain.draft.rng
    if dtype not in (*_FLOATS, *_INTEGERS):
        return None
    operator, number = rng.choice((("Mul", 1.0), ("Div", 1.0), ("Sub", 0.0), ("Add", -0.0)))
    neutral = chain.typed(number, dtype)
    is_first = operator in ("Mul", "Add") and rng.random() < 0.5
    return chain.one(operator, *((neutral, name) if is_first else (name, neutral)))


@ARITHMETIC.inserts("twice")
def _twice(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    dtype = int(fact.dtype or 0)
    if dtype not in (*_FLOATS, *_INTEGERS, TensorProto.BOOL):
        return None
    operator = "Not" if dtype == TensorProto.BOOL else "Neg"
    return chain.one(operator, chain.one(operator, name))


@ARITHMETIC.inserts("a Cast there and back")
def _cast(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    types: dict[int, tuple[int, ...]] = {
        TensorProto.FLOAT: (TensorProto.DOUBLE,),
        TensorProto.FLOAT16: (TensorProto.FLOAT, TensorProto.DOUBLE),
        TensorProto.INT32: (TensorProto.INT64, TensorProto.DOUBLE),
        TensorProto.BOOL: (TensorProto.INT64, TensorProto.FLOAT, TensorProto.UINT8),
        TensorProto.UINT8: (TensorProto.INT32, TensorProto.FLOAT),
    }
    wider = types.get(int(fact.dtype or 0))
    if wider is None:
        return None
    return chain.one("Cast", chain.one("Cast", name, to=chain.draft.rng.choice(wider)), to=int(fact.dtype or 0))


@ARITHMETIC.inserts("a Where of equal values")
def _where_same(chain: Chain, name: str, fact: SymbolicTensor) -> str | None:
    """Where(c, x, x) for a condition that compares sizes; Where(true, x, 0), Where(false, 0, x).

    Of floats only the last: onnxruntime returns 0.0 for a -0.0 of the second operand.
    """
    dtype, rng = int(fact.dtype or 0), chain.draft.rng
    if dtype not in (*_FLOATS, *_INTEGERS):
        return None
    roll, other = rng.random(), chain.typed(0, dtype)
    if dtype in _FLOATS or roll < 0.25:
        return chain.one("Where", chain.constant(False, np.bool_), other, name)
    if roll < 0.5:
        return chain.one("Where", chain.constant(True, np.bool_), name, other)
    condition = chain.one("Less", chain.one("Size", name), chain.constant(rng.randint(0, 9)))
    return chain.one("Where", condition, name, name)


@ARITHMETIC.replaces("an operator twice", "Relu Abs Floor Ceil Round Sign")
def _idempotent(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    return [chain.like(node, {0: chain.like(node, {})})]


@ARITHMETIC.replaces(
    "operands in another order", "Add Mul And Or Xor Equal BitwiseAnd BitwiseOr BitwiseXor Min Max Sum"
)
def _commuted(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """Of floats, Min and Max may return the other zero, and a Sum of three is rounded differently."""
    if len(node.input) != 2:
        return None
    if node.op_type in ("Min", "Max") and chain.site.dtype(node.input[0]) not in _INTEGERS:
        return None
    return [chain.like(node, {0: node.input[1], 1: node.input[0]})]


@ARITHMETIC.replaces("a comparison from the other side", "Less Greater LessOrEqual GreaterOrEqual")
def _turned(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """a < b = b > a; of integers also not a >= b."""
    operands = list(node.input)
    other = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual", "GreaterOrEqual": "LessOrEqual"}
    if chain.site.dtype(operands[0]) in _INTEGERS and chain.draft.opset >= 12 and chain.draft.rng.random() < 0.4:
        negated = {
            "Less": "GreaterOrEqual",
            "Greater": "LessOrEqual",
            "LessOrEqual": "Greater",
            "GreaterOrEqual": "Less",
        }
        return [chain.one("Not", chain.one(negated[node.op_type], *operands))]
    return [chain.one(other[node.op_type], *reversed(operands))]


@ARITHMETIC.replaces("a Where of the negated condition", "Where")
def _negated(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """Not of floats: onnxruntime returns 0.0 for a -0.0 of the second operand."""
    condition, one, other = node.input
    if chain.site.dtype(one) not in (*_INTEGERS, TensorProto.BOOL):
        return None
    return [chain.one("Where", chain.one("Not", condition), other, one)]


@ARITHMETIC.replaces("an Expand before an operator that broadcasts", "Add Sub Mul Div Less Greater Equal And Or Where")
def _expanded(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """f(x, y) = f(Expand(x, shape of y), y)."""
    at = chain.draft.rng.randrange(len(node.input))
    others = [name for slot, name in enumerate(node.input) if slot != at]
    name = node.input[at]
    if not chain.site.dtype(name) or not all(chain.site.dtype(other) for other in others):
        return None
    return [chain.like(node, {at: chain.one("Expand", name, chain.one("Shape", chain.draft.rng.choice(others)))})]


@ARITHMETIC.replaces("a reduction without keepdims", "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL2")
def _reduced(chain: Chain, node: NodeProto) -> Sequence[str] | None:
    """With `keepdims` from one without, or the reverse."""
    held = {attribute.name: attribute for attribute in node.attribute}
    rank = chain.site.rank(node.input[0])
    axes: list[int] | None = None
    if "axes" in held:
        axes = list(held["axes"].ints)
    elif len(node.input) > 1 and node.input[1]:
        array = chain.site.array(node.input[1])
        axes = None if array is None else [int(axis) for axis in array.reshape(-1)]
    if not axes or rank is None or "noop_with_empty_axes" in held:
        return None
    keeps = held["keepdims"].i if "keepdims" in held else 1
    if keeps not in (0, 1):
        return None
    chain.like(node, {})
    copy = chain.nodes[-1]
    kept = [attribute for attribute in node.attribute if attribute.name != "keepdims"]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    flag = copy.attribute.add(name="keepdims", i=1 - keeps)
    flag.type = flag.INT
    operator = "Unsqueeze" if keeps else "Squeeze"
    return [chain.one(operator, copy.output[0], chain.constant([axis % rank for axis in axes]))]


# constants


def _unfolded(draft: ChangedModel) -> str:
    """A constant that is read, computed by nodes instead."""
    readers = [
        (path, graph, node, slot)
        for path, graph in draft.graphs
        for node in graph.node
        for slot, name in enumerate(node.input)
        if name
    ]
    draft.rng.shuffle(readers)

    def build(chain: Chain, name: str, array: NDArray[Any]) -> str | None:
        ways = [_by_layout, _by_layout, _by_parts, _by_arithmetic, _by_repetition]
        chain.draft.rng.shuffle(ways)
        return next((found for way in ways if (found := way(chain, array)) is not None), None)

    for path, graph, node, slot in readers[:400]:
        site = Site(draft, path, graph)
        array = site.array(node.input[slot])
        if (
            array is None
            or not 0 < array.size <= _LONGEST
            or array.dtype.kind not in "fib"
            or array.dtype.itemsize == 2
        ):
            continue
        chain = Chain(site)
        found = build(chain, node.input[slot], array)
        if found is None:
            continue
        text = f"input {slot} of {node.op_type}"
        at = list(graph.node).index(node)
        node.input[slot] = found
        site.put(at, chain.nodes)
        chain.store()
        return text
    return ""


ARITHMETIC["an unfolded constant"] = _unfolded


def _by_layout(chain: Chain, array: NDArray[Any]) -> str | None:
    """A Transpose, Reshape or Unsqueeze of another constant."""
    if array.ndim >= 2 and chain.draft.rng.random() < 0.6:
        perm = chain.draft.rng.sample(range(array.ndim), array.ndim)
        other = np.ascontiguousarray(array.transpose([perm.index(axis) for axis in range(array.ndim)]))
        return chain.one("Transpose", chain.constant(other, array.dtype), perm=perm)
    if array.ndim >= 1 and array.shape[0] == 1 and chain.draft.rng.random() < 0.5:
        return chain.one("Unsqueeze", chain.constant(array[0], array.dtype), chain.constant([0]))
    return chain.one("Reshape", chain.constant(array.reshape(-1), array.dtype), chain.constant(list(array.shape)))


def _by_parts(chain: Chain, array: NDArray[Any]) -> str | None:
    """A Concat, a Slice, or a Gather of other constants."""
    if array.ndim == 0:
        return None
    axis, roll = chain.draft.rng.randrange(array.ndim), chain.draft.rng.random()
    size = array.shape[axis]
    if roll < 0.4 and size >= 2:
        cut = chain.draft.rng.randint(1, size - 1)
        parts = np.split(array, [cut], axis)
        return chain.one("Concat", *(chain.constant(part, array.dtype) for part in parts), axis=axis)
    if roll < 0.7:
        longer = np.concatenate([array.take([0], axis), array, array.take([size - 1], axis)], axis)
        ends = [chain.constant([number]) for number in (1, -1, axis)]
        return chain.one("Slice", chain.constant(longer, array.dtype), *ends)
    order = chain.draft.rng.sample(range(size), size)
    mixed = array.take([order.index(at) for at in range(size)], axis)
    return chain.one("Gather", chain.constant(mixed, array.dtype), chain.constant(order), axis=axis)


def _by_arithmetic(chain: Chain, array: NDArray[Any]) -> str | None:
    """A negated constant, a sum of integers, a Cast of a wider type, an inverted mask."""
    if array.dtype == np.bool_:
        return chain.one("Not", chain.constant(~array, np.bool_))
    if array.dtype.kind == "f":
        if array.dtype == np.float32 and chain.draft.rng.random() < 0.4:
            return chain.one("Cast", chain.constant(array, np.float64), to=TensorProto.FLOAT)
        return chain.one("Neg", chain.constant(-array, array.dtype))
    if array.dtype not in (np.int64, np.int32):
        return None
    if array.dtype == np.int64 and abs(array).max() < 1 << 30 and chain.draft.rng.random() < 0.4:
        return chain.one("Cast", chain.constant(array, np.int32), to=TensorProto.INT64)
    with np.errstate(over="ignore"):
        shift = array.dtype.type(chain.draft.rng.randint(1, 9))
        return chain.one("Add", chain.constant(array - shift, array.dtype), chain.constant(shift, array.dtype))


def _by_repetition(chain: Chain, array: NDArray[Any]) -> str | None:
    """A Range, an Expand, or a ConstantOfShape."""
    flat = array.reshape(-1)
    if array.dtype == np.int64 and array.ndim == 1 and array.size >= 2 and (np.diff(array) == flat[1] - flat[0]).all():
        step = int(flat[1] - flat[0])
        if step and abs(flat).max() < 1 << 40:
            ends = (int(flat[0]), int(flat[0]) + step * array.size, step)
            return chain.one("Range", *(chain.constant(end) for end in ends))
    if array.ndim and flat.tobytes() == flat[:1].tobytes() * flat.size:
        shape = chain.constant(list(array.shape))
        if chain.draft.rng.random() < 0.5:
            return chain.one("Expand", chain.constant(flat[0], array.dtype), shape)
        value = TensorProto()
        value.CopyFrom(numpy_helper.from_array(flat[:1].copy()))
        return chain.one("ConstantOfShape", shape, value=value)
    return None
