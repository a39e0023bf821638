"""Operators of constants, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from gather_infer.equality.arrays import constant_axes, grid_of
from gather_infer.equality.pool import MAX_GRID, TermPool
from gather_infer.equality.terms import Operand, Source, Tensor
from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Node
from gather_infer.passes.evaluate import Evaluation, evaluator_of
from gather_infer.tensor import DType, SymbolicTensor, static_dims


def folded(
    pool: TermPool, node: Node, operands: Sequence[Operand], raws: Sequence[SymbolicTensor]
) -> Sequence[Tensor] | None:
    """The outputs of an operator of constants; None if they differ between runtimes, or there is no kernel."""
    evaluator = evaluator_of(node.domain, node.op_type, node.version)
    results = [static_dims(raw.shape) for raw in raws]
    if evaluator is None or not any(operands):
        return None
    if any(dims is None or prod(dims) > MAX_GRID for dims in results):
        return None
    constants: list[Constant | None] = []
    for operand in operands:
        constant = None if operand is None else _elements(pool, operand)
        if constant is None and operand is not None:
            return None
        constants.append(constant)
    try:
        outputs = evaluator(Evaluation(node.proto, constants, node.version))
    except SpecViolation:
        return None
    return None if outputs is None else [constant_tensor(pool, each) for each in outputs]


def constant_tensor(pool: TermPool, constant: Constant) -> Tensor:
    """A constant as a tensor of terms."""
    return pool.interned(("elements", constant), lambda _: _tensor_of(pool, constant))


def _tensor_of(pool: TermPool, constant: Constant) -> Tensor:
    dtype, bits = DType(constant.data_type), constant.plain
    axes = [axis for axis, size in enumerate(bits.shape) if size != 1]
    grid = bits if len(axes) == bits.ndim else bits.reshape([bits.shape[axis] for axis in axes])
    return pool.tensor(dtype, bits.shape, pool.from_grid(dtype, grid, axes) if bits.size else pool.nothing)


def _elements(pool: TermPool, operand: Tensor | Source) -> Constant | None:
    """The elements of a constant tensor of one piece."""
    if not isinstance(operand, Tensor) or operand.term is None or operand.dtype is None:
        return None
    dims, frame = static_dims(operand.shape), pool.frame(operand.shape)
    if dims is None or not 0 < prod(dims) <= MAX_GRID or constant_axes(operand.term, frame) is None:
        return None
    grid = grid_of(operand.term, range(len(dims)), frame)
    return None if grid is None else Constant(operand.dtype, np.broadcast_to(grid, dims))
