"""Cases of scales and biases that follow convolutions, matrix products and normalizations; of dims and their proofs.

`OPERATORS` has the operators of each converted model that must be there, and those that must not be.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}
OPERATORS: dict[str, tuple[set[str], set[str]]] = {}

_CONV: dict[str, Any] = {
    "strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1], "auto_pad": "explicit",
}  # fmt: skip


def add(name: str, build: Any, has: str, lacks: str = "", *variants: Any) -> None:
    CASES[name] = Case(build, variants or ("static", "dynamic"), rtol=2e-5)
    OPERATORS[name] = set(has.split()), set(lacks.split())


def add_inexact(name: str, rtol: float, build: Any, has: str, lacks: str = "", *variants: Any) -> None:
    """A case in which OpenVINO's own rounding needs a wider tolerance."""
    add(name, build, has, lacks, *variants)
    CASES[name] = replace(CASES[name], rtol=rtol)


def conv(b: Build, kind: str = "Convolution", filters: tuple[int, ...] = (4, 3, 3, 3), **fixed: Any) -> Any:
    x = b.param(b.floats(2, 3, 5, 4), **fixed)
    return b.op(1, kind, [x, b.const(b.floats(*filters))], **_CONV)


def plus(b: Build, x: Any, *shape: int, swapped: bool = False) -> Any:
    operands = [x, b.const(b.floats(*shape))]
    return b.op(1, "Add", operands[::-1] if swapped else operands, auto_broadcast="numpy")


def times(b: Build, x: Any, *shape: int) -> Any:
    return b.op(1, "Multiply", [x, b.const(b.floats(*shape))], auto_broadcast="numpy")


add("Conv [1, C, 1, 1]", lambda b: plus(b, conv(b), 1, 4, 1, 1), "Conv", "Add")
add("Conv [C, 1, 1]", lambda b: plus(b, conv(b), 4, 1, 1, swapped=True), "Conv", "Add")
add("Conv scalar", lambda b: plus(b, conv(b)), "Conv", "Add")
add("Conv one element", lambda b: plus(b, conv(b), 1, 1, 1, 1), "Conv", "Add")
add("Conv along another axis", lambda b: plus(b, conv(b), 1, 1, 5, 1), "Conv Add")
add("Conv each element", lambda b: plus(b, conv(b), 1, 4, 5, 4), "Conv Add")
add("Conv higher rank", lambda b: plus(b, conv(b), 1, 1, 4, 1, 1), "Conv Add")
add("Conv scaled", lambda b: times(b, conv(b), 1, 4, 1, 1), "Conv Mul")
add("Conv twice", lambda b: plus(b, plus(b, conv(b), 1, 4, 1, 1), 1, 4, 1, 1), "Conv Add")
add("Conv one channel, several biases", lambda b: plus(b, conv(b, filters=(1, 3, 3, 3)), 1, 4, 1, 1), "Conv Add")
add(
    "GroupConvolution",
    lambda b: plus(b, conv(b, "GroupConvolution", (3, 2, 1, 3, 3)), 1, 6, 1, 1),
    "Conv",
    "Add",
)
add(
    "ConvTranspose",
    lambda b: plus(b, conv(b, "ConvolutionBackpropData", (3, 4, 3, 3)), 1, 4, 1, 1),
    "ConvTranspose",
    "Add",
)


def _read_twice(b: Build) -> Any:
    x = conv(b)
    return b.op(1, "Multiply", [plus(b, x, 1, 4, 1, 1), x], auto_broadcast="numpy")


def _returned(b: Build) -> Any:
    x = conv(b)
    return [x, plus(b, x, 1, 4, 1, 1)]


def _computed(b: Build) -> Any:
    return b.op(1, "Add", [conv(b), b.param(b.floats(1, 4, 1, 1))], auto_broadcast="numpy")


add("Conv read twice", _read_twice, "Conv Add")
add("Conv returned too", _returned, "Conv Add")
add("Conv computed bias", _computed, "Conv Add")


def product(
    b: Build, rows: int = 3, inner: int = 5, columns: int = 4, rank: int = 2, a: bool = False, w: bool = False
) -> Any:
    """A MatMul by constant weights, of transposed inputs where a or w."""
    left, right = (inner, rows) if a else (rows, inner), (columns, inner) if w else (inner, columns)
    x = b.param(b.floats(*[2] * (rank - 2), *left))
    return b.op(1, "MatMul", [x, b.const(b.floats(*right))], transpose_a=a, transpose_b=w)


add("Gemm [N]", lambda b: plus(b, product(b), 4), "Gemm", "Add MatMul")
add("Gemm [1, N]", lambda b: plus(b, product(b), 1, 4, swapped=True), "Gemm", "Add MatMul")
add("Gemm scalar", lambda b: plus(b, product(b)), "Gemm", "Add MatMul")
add("Gemm transposed weights", lambda b: plus(b, product(b, w=True), 4), "Gemm", "Add MatMul Transpose")
add("Gemm transposed both", lambda b: plus(b, product(b, a=True, w=True), 1, 4), "Gemm", "Add MatMul Transpose")
add("Gemm long sums", lambda b: plus(b, product(b, 7, 301, 19), 19), "Gemm", "Add MatMul")
add("Gemm no rows", lambda b: plus(b, product(b, rows=0), 4), "Gemm", "Add MatMul", "dynamic")
add("Gemm one row", lambda b: plus(b, product(b, rows=1), 4), "Gemm", "Add MatMul")
add("MatMul [M, 1]", lambda b: plus(b, product(b), 3, 1), "MatMul Add", "Gemm")
add("MatMul one column, several biases", lambda b: plus(b, product(b, columns=1), 4), "MatMul Add", "Gemm")
add("MatMul one row, several biases", lambda b: plus(b, product(b, rows=1), 5, 4), "MatMul Add", "Gemm")
add("MatMul rank 3", lambda b: plus(b, product(b, rank=3), 4), "MatMul Add", "Gemm")
# of unknown dims OpenVINO gives a result of rank 2
add("MatMul higher rank", lambda b: plus(b, product(b), 1, 1, 4), "MatMul Add", "Gemm", "static")


def _empty_sums(b: Build) -> Any:
    return b.op(1, "Add", [product(b, inner=0), b.const(np.arange(4, dtype=np.float32))], auto_broadcast="numpy")


add("MatMul without inner dim", _empty_sums, "Add", "Gemm", "dynamic")
CASES["MatMul without inner dim"] = replace(  # OpenVINO does not write the product
    CASES["MatMul without inner dim"], witness=lambda x: [np.tile(np.arange(4, dtype=np.float32), (3, 1))]
)


def mvn(b: Build, shape: tuple[int, ...], axes: list[int], *, mean: float = 0, fixed: Any = (), **more: Any) -> Any:
    x = b.param((b.floats(*shape) + mean).astype(np.float32), fixed=fixed)
    plain = {"normalize_variance": True, "eps": 1e-5, "eps_mode": "inside_sqrt"}
    return b.op(6, "MVN", [x, b.const(np.array(axes, np.int64))], **{**plain, **more})


LAYER, BOTH, PLAIN = "LayerNormalization", "Mul Add", "ReduceMean Pow"
for _name, _fixed in {"": (-1,), " all dims": (0, 1, 2)}.items():
    add(
        f"LayerNorm{_name}",
        lambda b, f=_fixed: plus(b, times(b, mvn(b, (2, 3, 7), [-1], fixed=f), 7), 7),
        LAYER,
        BOTH,
    )
add("LayerNorm [1, 1, D]", lambda b: plus(b, times(b, mvn(b, (2, 3, 7), [2]), 1, 1, 7), 1, 1, 7), LAYER, BOTH, "static")
add("LayerNorm scalars", lambda b: plus(b, times(b, mvn(b, (2, 3, 7), [2])), 1), LAYER, BOTH, "static")
add("LayerNorm scale alone", lambda b: times(b, mvn(b, (2, 3, 7), [2]), 7), LAYER, BOTH, "static")
add("LayerNorm bias alone", lambda b: plus(b, mvn(b, (2, 3, 7), [2]), 7), LAYER, BOTH, "static")
add("LayerNorm bias first", lambda b: times(b, plus(b, mvn(b, (2, 3, 7), [2]), 7), 7), f"{LAYER} Mul", "Add", "static")
# Elements of 300 are rounded by up to 1.5e-5; without AVX-512 OpenVINO differs from exact sums by 2.1e-5.
add_inexact("LayerNorm of a mean", 5e-5, lambda b: mvn(b, (2, 3, 64), [2], mean=300), LAYER, "", "static")
add("LayerNorm of equal elements", lambda b: mvn(b, (2, 3, 1), [2], mean=300), PLAIN, LAYER, "static")
add("LayerNorm of two axes", lambda b: plus(b, mvn(b, (2, 3, 7), [1, 2]), 3, 7), LAYER, "Add", "static")
add(
    "LayerNorm of two axes, another bias",
    lambda b: plus(b, mvn(b, (2, 3, 7), [1, 2]), 3, 1),
    f"{LAYER} Add",
    "",
    "static",
)
add("LayerNorm along another axis", lambda b: times(b, mvn(b, (2, 3, 7), [2]), 3, 1), f"{LAYER} Mul", "", "static")
add("LayerNorm no rows", lambda b: times(b, mvn(b, (0, 3, 7), [-1], fixed=(-1,)), 7), LAYER, BOTH, "dynamic")
add("LayerNorm of unknown size", lambda b: mvn(b, (2, 3, 7), [-1]), PLAIN, LAYER, "dynamic")
add("LayerNorm eps outside", lambda b: mvn(b, (2, 3, 7), [-1], eps_mode="outside_sqrt"), PLAIN, LAYER)
add("LayerNorm no variance", lambda b: mvn(b, (2, 3, 7), [-1], normalize_variance=False), "ReduceMean", f"{LAYER} Pow")
add("MVN of a middle axis", lambda b: mvn(b, (2, 3, 7), [1]), PLAIN, LAYER)
INSTANCE = "InstanceNormalization"
for _rank in (3, 4, 5):
    add(
        f"InstanceNorm rank {_rank}",
        lambda b, r=_rank: plus(
            b,
            times(b, mvn(b, (2, 3, 5, 4, 2)[:r], [*range(2, r)], fixed=(1,)), 3, *[1] * (r - 2)),
            1,
            3,
            *[1] * (r - 2),
        ),
        INSTANCE,
        BOTH,
        "dynamic",
    )
add("InstanceNorm static", lambda b: plus(b, mvn(b, (2, 3, 5, 4), [-1, -2]), 3, 1, 1), INSTANCE, "Add", "static")
add("InstanceNorm one element", lambda b: mvn(b, (2, 3, 1, 1), [2, 3], mean=300), INSTANCE, "", "static")
add("InstanceNorm no batch", lambda b: mvn(b, (0, 3, 5, 4), [2, 3], fixed=(1,)), INSTANCE, "", "dynamic")
add("InstanceNorm unknown channels", lambda b: mvn(b, (2, 3, 5, 4), [2, 3]), PLAIN, INSTANCE, "dynamic")


def _quotient(b: Build, shift: int) -> Any:
    """The length of an axis, less `shift`, divided by 2."""
    ops, x = b.ov.opset16, b.param(b.floats(5, 3))
    length = ops.gather(ops.shape_of(x), np.array([0], np.int64), np.int64(0))
    moved = ops.subtract(length, np.array([shift], np.int64)) if shift else length
    return ops.divide(moved, np.array([2], np.int64))


add("Divide a length", lambda b: _quotient(b, 0), "Div", "Mod", "dynamic")


def _merged(b: Build, shape: tuple[int, ...], pattern: list[int]) -> Any:
    x = b.param(b.floats(*shape), fixed=(1, 2, 4))
    return b.op(1, "Reshape", [x, b.const(np.array(pattern, np.int64))], special_zero=True)


for _batch, _length in ((2, 3), (0, 3), (1, 0), (1, 1), (0, 0)):
    add(
        f"Reshape a dim that moves, {_batch} and {_length}",
        lambda b, n=_batch, s=_length: _merged(b, (n, 2, 2, s, 4), [0, 4, -1, 4]),
        "Reshape Shape Concat",
        "Mul Div",
        "dynamic",
    )


def _flattened(b: Build, batch: int, special: bool) -> Any:
    """The pattern has the batch from the data, and -1, which is determined for an empty batch too."""
    ops, x = b.ov.opset16, b.param(b.floats(batch, 2, 5), fixed=(1, 2))
    first = ops.gather(ops.shape_of(x), np.array([0], np.int64), np.int64(0))
    return ops.reshape(x, ops.concat([first, np.array([-1], np.int64)], 0), special)


for _batch, _special in ((3, False), (1, True), (0, False), (0, True)):
    add(
        f"Reshape to rows, {_batch}, special zero {_special}",
        lambda b, n=_batch, s=_special: _flattened(b, n, s),
        "Reshape",
        "Concat Shape",
        "dynamic",
    )


def _one_hot(b: Build, opset: int, **mode: str) -> Any:
    indices = b.param(np.array([-1, 2, -3, -9, 3], np.int32))
    return b.op(
        opset, "OneHot", [indices, *(b.const(x) for x in (np.int32(3), np.float32(1), np.float32(0)))], axis=-1, **mode
    )


add("OneHot from the end", lambda b: _one_hot(b, 16, negative_indices_mode="normalize"), "OneHot", "Where")
add("OneHot", lambda b: _one_hot(b, 1), "Where", "OneHot")
