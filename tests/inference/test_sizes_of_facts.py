"""Expressions that are too long are given up: a dim becomes a symbol, an element or an end of a span is not known."""

from __future__ import annotations

import numpy as np
import onnx

from gather_infer import infer
from gather_infer.tensor import SymbolicTensor
from tests.inference.models import model, untyped
from tests.oracle.soundness import Runtime, compare

NAMES = "ABCDEFGH"


def long_product(nodes: str, result: str) -> onnx.ModelProto:
    """`p` is the product of one more than each of the sizes, a sum of 256 terms; `q` of the first three."""
    inputs = ", ".join(f"float[{n}] {n.lower()}" for n in NAMES)
    sizes = " ".join(f"s{n} = Shape({n.lower()}) n{n} = Squeeze(s{n}) m{n} = Add(n{n}, one)" for n in NAMES)
    factors = [f"m{n}" for n in NAMES]
    products = " ".join(
        f"p{i} = Mul({factors[0] if i == 1 else f'p{i - 1}'}, {factors[i]})" for i in range(1, len(factors))
    )
    return untyped(
        model(f"""({inputs}, int64[1] k) => ({result}) {{ zero = Constant<value_int = 0>() one = Constant<value_int = 1>()
            w1 = Constant<value_ints = [1]>() all = Constant<value_ints = [-1]>() {sizes} {products}
            v = Concat<axis = 0>(sA, sB, sC, sD, sE, sF, sG, sH) t = Add(v, w1) p = Identity(p7) q = Identity(p2) {nodes} }}""")
    )


def checked(nodes: str, result: str = "y") -> SymbolicTensor:
    proto = long_product(nodes, result)
    inference, runtime = infer(proto), Runtime(proto)
    assert inference.errors == ()
    for sizes in ((0,) * 8, (1,) * 8, (2, 0, 1, 0, 3, 0, 0, 1), (0, 1, 0, 1, 0, 1, 2, 0)):
        feeds = {n.lower(): np.zeros(size, np.float32) for n, size in zip(NAMES, sizes, strict=True)}
        values = runtime.run({**feeds, "k": np.array([3])})
        assert compare(inference, values, dict(zip(NAMES, sizes, strict=True))).wrong == [], sizes
    fact = inference[result]
    assert isinstance(fact, SymbolicTensor)
    return fact


def test_an_element_that_is_too_long_is_not_known() -> None:
    fact = checked("w = Reshape(p, all) u = Reshape(q, all) y = Concat<axis = 0>(u, w, w1)")
    assert fact.values is not None
    assert [element is None for element in fact.values.flat] == [False, True, False]


def test_a_dim_that_is_too_long_is_a_symbol() -> None:
    assert str(checked("z = ConstantOfShape(t) flat = Reshape(z, all) y = Unsqueeze(flat, w1)")) == "float32[dim_0, 1]"


def test_the_same_dim_is_the_same_symbol() -> None:
    nodes = "z = ConstantOfShape(t) flat = Reshape(z, all) x2 = Neg(z) again = Reshape(x2, all) y = Add(flat, again)"
    assert str(checked(nodes)) == "float32[dim_0]"


def test_an_end_that_is_too_long_is_open() -> None:
    fact = checked(
        "z = ConstantOfShape(t) flat = Reshape(z, all) m = Unsqueeze(flat, w1) y = ArgMax<axis = 0, keepdims = 0>(m)"
    )
    assert fact.value_range is not None and fact.value_range.lo == 0
