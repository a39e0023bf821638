"""Rules of matrix products: MatMul and its quantized forms, Gemm; and of Det."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast_shapes
from gather_infer.ops.semantics.preconditions import (
    PartialShape,
    fill,
    refuse_other_ranks,
    require_broadcast_to,
    require_min_rank,
    require_one_or,
    require_rank,
    require_same_dtype,
    require_shape,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, Shape, SymbolicTensor, format_shape

rules = RuleSet("")


def matmul_shape(op: OpCall, a: Shape | None, b: Shape | None) -> Shape | None:
    """Shape of the matrix product of tensors of shapes `a` and `b`, as by `@` in numpy; None when either is None.

    a       [..., M, K], or [K]: a row vector
    b       [..., K, N], or [K]: a column vector
    result  broadcast(a[:-2], b[:-2]) + [M, N], without M or N where the operand is a vector

    Raises SpecViolation when an operand is a scalar, the two K differ, or the batch dims do not broadcast.
    """
    require_min_rank(a, 1, "A")
    require_min_rank(b, 1, "B")
    if a is None or b is None:
        return None
    k = b[-2] if len(b) > 1 else b[0]
    if a[-1] is not k:
        try:
            op.require_equal(a[-1], k, "the contracted dims of A and B")
        except SpecViolation as violation:
            raise SpecViolation(
                violation.message, violation.code, detail=(f"A {format_shape(a)}, B {format_shape(b)}",)
            ) from None
    batch, other = a[:-2], b[:-2]
    if other and batch != other:
        batch = other if not batch else broadcast_shapes(op, [batch, other])
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


@rules.rule("MatMul", since=1)
def matmul(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MatMul.html (versions 9 and 13 add element types)"""
    a, b = op.tensor(0), op.tensor(1)
    return [SymbolicTensor(require_same_dtype("A and B", a, b), matmul_shape(op, a.shape, b.shape))]


@rules.rule("MatMulInteger", since=10)
def matmul_integer(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MatMulInteger.html

    A, B, a_zero_point, b_zero_point -> Y int32, with the shape of the product of A and B
    """
    a, b = op.tensor(0), op.tensor(1)
    require_same_dtype("A and a_zero_point", a, op.optional_tensor(2))
    require_same_dtype("B and b_zero_point", b, op.optional_tensor(3))
    _check_parameters(op, op.optional_tensor(2), None, "a_zero_point")
    _check_parameters(op, op.optional_tensor(3), b, "b_zero_point")
    return [SymbolicTensor(DType.INT32, matmul_shape(op, a.shape, b.shape))]


def _check_parameters(op: OpCall, tensor: SymbolicTensor | None, matrix: SymbolicTensor | None, name: str) -> None:
    """Require that `tensor`, the scale or zero point `name`, has one element, or one per column of `matrix` if given.

    Other shapes are recorded as unchecked, or as constraints of onnxruntime.
    """
    if tensor is None or tensor.shape is None:
        return
    columns = None if matrix is None or not matrix.shape else matrix.shape[-1]
    if len(tensor.shape) > 1 and columns is not None:
        op.add_unchecked(f"{name} of {format_shape(tensor.shape)} has to fit the second operand")
    elif matrix is None:
        refuse_other_ranks(op, tensor.shape, (0, 1), name)
        for dim in tensor.shape:
            op.add_runtime_constraint((dim, "==", 1))
    else:
        require_one_or(op, tensor, columns, name)
        if matrix is not None and len(matrix.shape or ()) > 2:  # onnxruntime accepts no vector for a batch of matrices
            for dim in tensor.shape:
                op.add_runtime_constraint((dim, "==", 1))


@rules.rule("QLinearMatMul", since=10)
def qlinear_matmul(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html (version 21 adds element types)

    a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point -> y, of the type of y_zero_point
    """
    a, b = op.tensor(0), op.tensor(3)
    require_same_dtype("a and a_zero_point", a, op.tensor(2))
    require_same_dtype("b and b_zero_point", b, op.tensor(5))
    for index, name in ((1, "a_scale"), (2, "a_zero_point"), (6, "y_scale"), (7, "y_zero_point")):
        _check_parameters(op, op.tensor(index), None, name)
    scale, zero_point = op.tensor(4), op.tensor(5)
    for tensor, name in ((scale, "b_scale"), (zero_point, "b_zero_point")):
        _check_parameters(op, tensor, b, name)
    if scale.shape is not None and zero_point.shape is not None and len(scale.shape) == len(zero_point.shape):
        for one, other in zip(scale.shape, zero_point.shape, strict=True):
            op.add_runtime_constraint((one, "==", other))
    return [SymbolicTensor(op.tensor(7).dtype, matmul_shape(op, a.shape, b.shape))]


def gemm_shape(op: OpCall, a: Shape | None, b: Shape | None) -> PartialShape:
    """The shape [M, N] of the product A' B', from the shapes `a` and `b` of A and B.

    A' [M, K] is the transpose of A if attribute transA is set, else A; likewise B' [K, N] with transB. M is None when
    `a` is None, and N when `b` is None.

    Raises SpecViolation when A or B does not have rank 2 or the two K differ.
    """
    require_rank(a, 2, "A")
    require_rank(b, 2, "B")
    m, k = (None, None) if a is None else (a[1], a[0]) if op.attr("transA", 0) else a
    k_of_b, n = (None, None) if b is None else (b[1], b[0]) if op.attr("transB", 0) else b
    if k is not None and k_of_b is not None and k is not k_of_b:
        op.require_equal(k, k_of_b, "the contracted dims of A and B")
    return m, n


def _gemm(op: OpCall, *, broadcast: bool) -> list[SymbolicTensor]:
    a, b, c = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = require_same_dtype("A, B and C", a, b, c)
    partial = gemm_shape(op, a.shape, b.shape)
    shape = fill(op, partial, "the shape of A or B is not known")
    if c is not None and None not in partial:
        shape = (require_broadcast_to if broadcast else require_shape)(op, c.shape, shape, "C")
    return [SymbolicTensor(dtype, shape)]


@rules.rule("Gemm", since=1)
def gemm_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Gemm.html (versions 1 to 6: C broadcasts only with attribute broadcast)"""
    return _gemm(op, broadcast=bool(op.attr("broadcast", 0)))


@rules.rule("Gemm", since=7)
def gemm(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Gemm.html (version 7: C broadcasts to [M, N]; 11: C is optional)"""
    return _gemm(op, broadcast=True)


@rules.rule("Det", since=11)
def det(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Det.html

    X [..., M, M] -> [...]
    """
    x = op.tensor(0)
    shape = require_min_rank(x.shape, 2, "X")
    if shape is None:
        return [SymbolicTensor(x.dtype)]
    op.require_equal(shape[-2], shape[-1], "the last two dims of X")
    return [SymbolicTensor(x.dtype, shape[:-2])]
