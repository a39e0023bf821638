"""Cases of attention whose heads of keys and values are repeated, and of what is nearly that.

`OPERATORS` has the operators of each model that is converted to opset 23 which must be there, and those that must not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case, Variant

CASES: dict[str, Case] = {}
OPERATORS: dict[str, tuple[set[str], set[str]]] = {}

COPIES = "Expand Tile Unsqueeze"
BATCH, GROUPS, KEYS, WIDTH = 2, 2, 6, 4


def integers(b: Build, *numbers: int) -> Any:
    return b.const(np.array(numbers, np.int64))


def lengths(b: Build, x: Any) -> Any:
    """The length of axis 2 at run time."""
    shape = b.op(3, "ShapeOf", [x], output_type="i64")
    return b.op(8, "Gather", [shape, integers(b, 2), b.const(np.int64(0))], batch_dims=0)


def repeated(
    b: Build,
    x: Any,
    times: int,
    groups: int = GROUPS,
    *,
    tiles: bool = False,
    axis: int = 2,
    parts: list[Any] | None = None,
) -> Any:
    """Each head of `x` `times` times; with another axis all heads one after the other. `parts` gets the layers."""
    one = b.op(1, "Unsqueeze", [x, integers(b, axis)])
    dims = [integers(b, BATCH), *(integers(b, n) for n in (groups, times)[:: 1 if axis == 2 else -1])]
    target = b.op(1, "Concat", [*dims, lengths(b, x), integers(b, WIDTH)], axis=0)
    counts = [1] * 5
    counts[axis] = times
    copies = (
        b.op(1, "Tile", [one, integers(b, *counts)]) if tiles else b.op(3, "Broadcast", [one, target], mode="numpy")
    )
    merged = b.op(1, "Concat", [integers(b, BATCH, groups * times), lengths(b, x), integers(b, WIDTH)], axis=0)
    whole = b.op(1, "Reshape", [copies, merged], special_zero=False)
    if parts is not None:
        parts += [one, copies, whole]
    return whole


def keys_and_values(b: Build, groups: int = GROUPS, keys: int = KEYS) -> tuple[Any, Any]:
    key = b.param(b.floats(BATCH, groups, keys, WIDTH), fixed=(0, 1, 3))
    return key, b.op(1, "Sigmoid", [key])


def attention(
    b: Build, key: Any, value: Any, heads: int, *, queries: int = 5, mask: Any = None, scale: float | None = None
) -> Any:
    query = b.param(b.floats(BATCH, heads, queries, WIDTH), fixed=(0, 1, 3))
    given = [query, key, value]
    if mask is not None:
        given.append(b.const(mask))
    if scale is not None:
        given.append(b.const(np.float32(scale)))
    return b.op(13, "ScaledDotProductAttention", given, causal=False)


def add(
    name: str, build: Callable[[Build], Any], lacks: str = COPIES, has: str = "Attention", *variants: Variant
) -> None:
    CASES[name] = Case(build, variants or ("static", "dynamic"), rtol=3e-5)
    OPERATORS[name] = set(has.split()), set(lacks.split())


def near(name: str, build: Callable[[Build], Any], has: str = "Expand Unsqueeze", *variants: Variant) -> None:
    """A case in which the copies stay."""
    add(name, build, "", f"Attention {has}", *variants)


def both(times: int = 3, *, groups: int = GROUPS, keys: int = KEYS, **how: Any) -> Callable[[Build], Any]:
    def build(b: Build) -> Any:
        masked = how.get("mask")
        layout = {name: how[name] for name in ("tiles", "axis") if name in how}
        key, value = (repeated(b, x, times, groups, **layout) for x in keys_and_values(b, groups, keys))
        return attention(b, key, value, groups * times, mask=masked, scale=how.get("scale"))

    return build


_ALLOWED = np.random.default_rng(5).integers(0, 2, (BATCH, 1, 5, KEYS)).astype(np.bool_)
_ALLOWED[..., 0] = True
_ADDED = np.random.default_rng(6).uniform(-2, 2, (1, 6, 5, KEYS)).astype(np.float32)

add("groups", both())
add("groups by Tile", both(tiles=True))
add("groups of one", both(1))
add("one group", both(4, groups=1))
add("three groups", both(2, groups=3))
add("one key", both(keys=1))
add("groups, scale", both(mask=np.float32(0), scale=0.3))
add("groups, allowed", both(mask=_ALLOWED), COPIES, "Attention", "static")
add("groups, added", both(mask=_ADDED), COPIES, "Attention", "static")


def _mixed(b: Build) -> Any:
    """Copies by a Broadcast of keys, and by a Tile of values."""
    key, value = keys_and_values(b)
    return attention(b, repeated(b, key, 3), repeated(b, value, 3, tiles=True), 6)


add("groups by Broadcast and Tile", _mixed)


def _only(which: str) -> Callable[[Build], Any]:
    """Only keys, or only values, are repeated; the others have all heads."""

    def build(b: Build) -> Any:
        key, value = keys_and_values(b, 6)
        small = b.op(
            1, "StridedSlice", [key, integers(b, 0, 0), integers(b, 0, 2)], begin_mask=[1, 0], end_mask=[1, 0]
        )  # fmt: skip
        whole = repeated(b, small, 3)
        return attention(b, whole if which == "keys" else key, value if which == "keys" else whole, 6)

    return build


def _other_groups(b: Build) -> Any:
    """Keys of 2 heads, values of 3."""
    key, value = keys_and_values(b, 6)
    cut = [
        b.op(1, "StridedSlice", [x, integers(b, 0, 0), integers(b, 0, n)], begin_mask=[1, 0], end_mask=[1, 0])
        for x, n in ((key, 2), (value, 3))
    ]
    return attention(b, repeated(b, cut[0], 3, 2), repeated(b, cut[1], 2, 3), 6)


def _read_besides(part: int) -> Callable[[Build], Any]:
    def build(b: Build) -> Any:
        parts: list[Any] = []
        key, value = keys_and_values(b)
        made = attention(b, repeated(b, key, 3, parts=parts), repeated(b, value, 3), 6)
        return [b.op(1, "Tanh", [parts[part]]), made]

    return build


def _shared(b: Build) -> Any:
    """Keys that are the values too."""
    whole = repeated(b, keys_and_values(b)[0], 3)
    return attention(b, whole, whole, 6)


def _more_keys(b: Build) -> Any:
    """The copies of each head are further keys of it."""
    heads: list[Any] = []
    for x in keys_and_values(b):
        one = b.op(1, "Unsqueeze", [x, integers(b, 2)])
        copies = b.op(1, "Tile", [one, integers(b, 1, 1, 3, 1, 1)])
        heads.append(b.op(1, "Reshape", [copies, integers(b, BATCH, GROUPS, -1, WIDTH)], special_zero=False))
    return attention(b, heads[0], heads[1], GROUPS)


def _wide(b: Build) -> Any:
    """The axis that is repeated is behind the only key."""
    heads = []
    for x in keys_and_values(b, keys=1):
        one = b.op(1, "Unsqueeze", [x, integers(b, 2)])
        copies = b.op(1, "Tile", [one, integers(b, 1, 1, 1, 3, 1)])
        heads.append(b.op(1, "Reshape", [copies, integers(b, BATCH, 6, 1, WIDTH)], special_zero=False))
    return attention(b, heads[0], heads[1], 6)


near("heads one after the other", both(2, axis=1))
near("only keys", _only("keys"))
near("only values", _only("values"))
near("keys of fewer groups", _other_groups)
for _part, _name in enumerate(("axis", "copies", "heads")):
    near(f"{_name} read twice", _read_besides(_part))
near("keys as values", _shared)
near("more keys", _more_keys, "Tile Unsqueeze", "static")
near("wide keys", _wide, "Tile Unsqueeze", "static")
