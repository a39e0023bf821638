"""Cases of attention."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}

FOUR = (2, 3, 5, 4)
"""Batch, heads, queries and the width of each."""


def sdpa(
    query: tuple[int, ...] = FOUR,
    keys: int = 6,
    *,
    key: tuple[int, ...] | None = None,
    mask: npt.NDArray[Any] | None = None,
    scale: float | None = None,
    sink: tuple[int, ...] | None = None,
    causal: bool = False,
    dtype: str = "f4",
    run_time: bool = True,
) -> Case:
    key = key or (*query[:-2], keys, query[-1])

    def build(b: Build) -> Any:
        given = [b.param(b.floats(*shape, dtype=dtype)) for shape in (query, key, (*key[:-1], 7))]
        if mask is not None or scale is not None or sink is not None:
            held = np.zeros((), dtype) if mask is None else mask if mask.dtype == np.bool_ else mask.astype(dtype)
            given.append((b.param if mask is not None and run_time else b.const)(held))
        if scale is not None or sink is not None:
            given.append(b.const(np.array(0.4 if scale is None else scale, dtype)))
        if sink is not None:
            given.append(b.param(b.floats(*sink, dtype=dtype)))
        return b.op(13, "ScaledDotProductAttention", given, causal=causal)

    return Case(build, rtol=5e-3 if dtype == "f2" else 3e-5)


_RANDOM = np.random.default_rng(4)


def added(*shape: int) -> npt.NDArray[np.float32]:
    return _RANDOM.uniform(-2, 2, shape).astype(np.float32)


def allowed(*shape: int) -> npt.NDArray[np.bool_]:
    """Every row has an element that is allowed."""
    made = _RANDOM.integers(0, 2, shape).astype(np.bool_)
    made[..., 0] = True
    return made


_NOTHING = allowed(5, 6)
_NOTHING[2] = False
MASKS: dict[str, npt.NDArray[Any] | None] = {
    "no mask": None,
    "mask": added(2, 3, 5, 6),
    "mask of one head": added(2, 1, 5, 6),
    "mask of rank 2": added(5, 6),
    "mask of keys": added(2, 1, 1, 6),
    "allowed": allowed(2, 1, 5, 6),
    "allowed, rank 2": allowed(5, 6),
    "a row of nothing": _NOTHING,
}
for (_name, _mask), _scale in product(MASKS.items(), (None, 0.3)):
    CASES[f"ScaledDotProductAttention-13 {_name}, scale {_scale}"] = sdpa(mask=_mask, scale=_scale)
CASES |= {
    "ScaledDotProductAttention-13 causal": sdpa(causal=True),
    "ScaledDotProductAttention-13 causal, as many keys": sdpa(keys=5, causal=True),
    "ScaledDotProductAttention-13 causal with scale": sdpa(keys=5, causal=True, scale=0.5),
    "ScaledDotProductAttention-13 rank 3": sdpa((2, 5, 4)),
    "ScaledDotProductAttention-13 rank 5": sdpa((2, 1, 3, 5, 4)),
    "ScaledDotProductAttention-13 one key head": sdpa(key=(2, 1, 6, 4)),
    "ScaledDotProductAttention-13 f16": sdpa(mask=added(5, 6), dtype="f2"),
    "ScaledDotProductAttention-13 constant mask": sdpa(mask=added(5, 6), run_time=False),
    "ScaledDotProductAttention-13 sink": sdpa(sink=(1, 3, 1, 1)),
    "ScaledDotProductAttention-13 sink and mask": sdpa(mask=added(5, 6), sink=(1, 3, 1, 1)),
}
