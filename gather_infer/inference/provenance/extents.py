"""Extents that a runtime scalar determines: the length of a Range, the trip count of a Loop, a dim of ConstantOfShape.

A scalar that two nodes use as a size would give two symbols, which are equal in every run. So the first symbol is
recorded under the name of the scalar and reused, also when other nodes have put the scalar into a shape. If the scalar
is an element of an input, a bounds check result in terms of the symbol becomes a condition on that element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.context import Context
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import DType, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment

MAX_ELEMENTS: Final = 8
"""Maximal number of elements of a shape tensor for which `shape_scalars` are recorded."""

OPERATORS: Final = frozenset({"Cast", "Concat", "ConstantOfShape", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators of ai.onnx that put a scalar into a shape, or make a tensor from one."""


def shared_extent(name: str, start: Dim, size: Dim, environment: Environment) -> Dim:
    """The number of integers from `start` up to the scalar `name`: a recorded symbol, else `size`.

    Records `size` for later calls if it is a symbol and nothing is recorded yet.
    """
    same = environment.shape_scalars_of(name)
    name = name if same is None else same[0] or name
    known = environment.extent(name, start)
    if known is not None or not isinstance(size, Expr) or not size.is_symbol:
        return size if known is None or isinstance(size, int) else known
    environment.extents[name, start] = size
    trace = environment.provenance_of(name)
    part = trace.origins[0] if trace is not None and len(trace.origins) == 1 else None
    if (
        part is not None
        and part.input
        and part.negative_offset is None
        and value_ranges.cannot_wrap(part.offset - start)
    ):
        limits = tuple(limit._replace(bound=limit.bound - start) for limit in part.clamps)
        environment.symbol_origins[size.name] = part._replace(offset=part.offset - start, clamps=limits)
    return size


def transfer_scalars(
    node: NodeProto,
    op_type: str,
    inputs: Sequence[Value | None],
    result: SymbolicTensor,
    environment: Environment,
    context: Context,
) -> None:
    """Record `shape_scalars` of the output, and give dims of ConstantOfShape the symbols recorded for their scalars.

    op_type   the operator, one of `OPERATORS`
    """
    out = node.output[0]
    if op_type == "ConstantOfShape":
        environment.values[out] = _with_known_dims(node, result, environment, context)
        return
    if result.dtype is not DType.INT64 or result.shape not in _SMALL:
        return
    if result.values is not None and None not in result.values.flat:
        return
    scalars: list[str] = []
    for name, value in zip(node.input, inputs if op_type == "Concat" else inputs[:1], strict=False):
        count = None if not isinstance(value, SymbolicTensor) else 1 if value.shape == () else _length(value)
        if not isinstance(value, SymbolicTensor) or value.dtype is not DType.INT64 or count is None:
            return
        known = environment.shape_scalars_of(name)
        scalars += known if known is not None else (name,) if count == 1 else ("",) * count
    environment.shape_scalars[out] = tuple(scalars)


_SMALL: Final = frozenset({(), *((count,) for count in range(1, MAX_ELEMENTS + 1))})


def _length(value: SymbolicTensor) -> int | None:
    length = value.shape[0] if value.shape is not None and len(value.shape) == 1 else None
    return length if isinstance(length, int) else None


def _with_known_dims(
    node: NodeProto, result: SymbolicTensor, environment: Environment, context: Context
) -> SymbolicTensor:
    """The output of ConstantOfShape with recorded symbols for its dims.

    The symbols are valid sizes, since the node fails in runs where a scalar is negative.
    """
    scalars = environment.shape_scalars_of(node.input[0])
    if scalars is None or result.shape is None or len(scalars) != len(result.shape):
        return result
    dims = list(result.shape)
    for axis, (name, dim) in enumerate(zip(scalars, dims, strict=True)):
        cause = context.causes.get(dim.name) if name and isinstance(dim, Expr) and dim.is_symbol else None
        if cause is not None and cause.node == context.node:  # else the dim comes from a known element
            dims[axis] = shared_extent(name, 0, dim, environment)
    return result.with_(shape=tuple(dims))
