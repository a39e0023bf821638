"""Whole models with compressed weights, in each layout of data, scale and zero point."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.openvino.whole_maker import Builder, Maker, Whole, floats, three, under

MODELS: dict[str, Builder] = {}
whole = partial(under, MODELS)


NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
     -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
     0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0], np.float32,
)  # fmt: skip
"""https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/convert-1.html"""


def quantized(
    m: Maker, element: str, shape: Sequence[int], scale: Sequence[int], zero: Sequence[int] | None,
    *, half: bool = False, float_zero: bool = False, reshape: Sequence[int] = (), seed: int = 3, given: str = "",
) -> Any:  # fmt: skip
    """A compressed weight; of a plain maker the float32 that it stands for, computed here.

    given   how data and zero points get their dims from constants without the last axis, or with all in a row
    """
    random = np.random.default_rng(seed)
    low, high = {"u8": (0, 255), "i8": (-128, 127), "u4": (0, 15), "i4": (-8, 7), "nf4": (0, 15)}[element]
    data: Any = random.integers(low, high + 1, shape)
    points = np.zeros(()) if zero is None else random.integers(max(low, -4), 8, zero)
    wide, kind = ("f16", np.float16) if half else ("f32", np.float32)
    data = NF4[data] if element == "nf4" else data
    factor = np.asarray(random.uniform(0.01, 0.2, scale)).astype(kind)
    if m.is_plain:
        held = (data.astype(np.float32) - points.astype(np.float32)) * factor.astype(np.float32)
        return m.const(held.reshape(reshape or held.shape))
    node = m.ops.convert(_dimmed(m, element, data, "Reshape" if given else ""), wide)
    if zero is not None:
        point = m.const(points, kind) if float_zero else m.ops.convert(_dimmed(m, element, points, given), wide)
        node = m.ops.subtract(node, point)
    node = m.ops.multiply(node, m.const(factor))
    if reshape:
        node = m.ops.reshape(node, m.const(list(reshape)), False)
    return m.ops.convert(node, "f32") if half else node


def _dimmed(m: Maker, element: str, values: Any, how: str) -> Any:
    """A constant of these values, whose dims a layer gives it."""
    if how == "Reshape":
        return m.ops.reshape(m.packed(element, values.reshape(-1)), m.const([*values.shape[:-1], -1]), False)
    if how == "Reshape, special":
        return m.ops.reshape(m.packed(element, values[..., 0]), m.const([0, 0, 1]), True)
    if how == "Unsqueeze":
        return m.ops.unsqueeze(m.packed(element, values[..., 0]), m.const([-1]))
    if how == "Squeeze":
        return m.ops.squeeze(m.packed(element, values[None]), m.const([0]))
    return m.packed(element, values)


LAYOUTS: dict[str, dict[str, Any]] = {
    "scalar": {"shape": [8, 32], "scale": [], "zero": []},
    "ones": {"shape": [8, 32], "scale": [1, 1], "zero": [1, 1]},
    "rows": {"shape": [8, 32], "scale": [8, 1], "zero": [8, 1]},
    "columns": {"shape": [8, 32], "scale": [1, 32], "zero": [1, 32]},
    "columns as a vector": {"shape": [8, 32], "scale": [32], "zero": [32]},
    "whole": {"shape": [8, 32], "scale": [8, 32], "zero": [8, 32]},
    "no zero": {"shape": [8, 32], "scale": [8, 1], "zero": None},
    "one zero": {"shape": [8, 32], "scale": [8, 1], "zero": []},
    "zeros of one scale": {"shape": [8, 32], "scale": [1, 1], "zero": [8, 1]},
    "zeros across": {"shape": [8, 32], "scale": [8, 1], "zero": [1, 32]},
    "float zero": {"shape": [8, 32], "scale": [8, 1], "zero": [8, 1], "float_zero": True},
    "blocks": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 32]},
    "blocks, one zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [1, 1, 1], "reshape": [8, 32]},
    "blocks, float zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 32],
                           "float_zero": True},
    "blocks, no zero": {"shape": [8, 2, 16], "scale": [8, 2, 1], "zero": None, "reshape": [8, 32]},
    "blocks of 5": {"shape": [8, 3, 5], "scale": [8, 3, 1], "zero": [8, 3, 1], "reshape": [8, 15]},
    "blocks of 48": {"shape": [8, 2, 48], "scale": [8, 2, 1], "zero": [8, 2, 1], "reshape": [8, 96]},
    "odd": {"shape": [5, 7], "scale": [5, 1], "zero": [5, 1]},
    "one row": {"shape": [1, 32], "scale": [1, 1], "zero": [1, 1]},
    "one column": {"shape": [8, 1], "scale": [8, 1], "zero": [8, 1]},
    "one block": {"shape": [8, 1, 16], "scale": [8, 1, 1], "zero": [8, 1, 1], "reshape": [8, 16]},
    "blocks of columns": {"shape": [2, 4, 32], "scale": [2, 1, 32], "zero": [2, 1, 32], "reshape": [8, 32]},
    "scale of rows of blocks": {"shape": [8, 2, 16], "scale": [8, 1, 1], "zero": [8, 1, 1], "reshape": [8, 32]},
}  # fmt: skip


def _weighted(element: str, layout: Any, half: bool, transpose: bool) -> Builder:
    def build(m: Maker) -> Whole:
        node = quantized(m, element, half=half, **layout)
        n, k = layout.get("reshape") or layout["shape"]
        depth = k if transpose else n
        x = m.input("x", [-1, depth])
        return Whole(m.model([m.ops.matmul(x, node, False, transpose)], [x]), [{"x": floats(3, depth)}])

    return build


for _layout, _given in LAYOUTS.items():
    for _element in ("u8", "i8", "u4", "i4", "nf4"):
        if _element == "nf4" and _given["zero"] is not None:
            continue
        for _in_half in (False, True):
            for _transpose in (True, False):
                _name = f"weights {_element} {_layout} {'f16' if _in_half else 'f32'} {'NK' if _transpose else 'KN'}"
                MODELS[_name] = _weighted(_element, _given, _in_half, _transpose)


for _how in ("Reshape", "Reshape, special", "Unsqueeze", "Squeeze"):
    for _element in ("u4", "i4", "u8"):
        MODELS[f"weights {_element} with dims by {_how}"] = _weighted(
            _element, {**LAYOUTS["blocks"], "given": _how}, True, True
        )


@whole("weights in branches")
def _weights_in_branches(m: Maker) -> Whole:
    """Two that are read transposed, one of which the main graph has too, and one that is not."""
    x, flag = m.input("x", [-1, 32]), m.input("flag", [], np.bool_)
    layouts = [("u4", LAYOUTS["blocks"]), ("i8", LAYOUTS["rows"])]
    branches = []
    for seed, (element, layout) in enumerate(layouts):
        p = m.ops.parameter([-1, 32], np.float32)
        wide = m.ops.matmul(p, quantized(m, element, seed=seed, half=bool(seed), **layout), False, True)
        back = m.ops.matmul(wide, quantized(m, "u8", [8, 32], [1, 32], None, seed=9), False, False)
        out = m.ops.result(back)
        branches.append((m.ov.Model([out], [p], "branch"), p, out))
    node = m.ops.if_op(flag.output(0))
    node.set_then_body(branches[0][0])
    node.set_else_body(branches[1][0])
    node.set_input(x.output(0), branches[0][1], branches[1][1])
    y = node.set_output(branches[0][2], branches[1][2])
    z = m.ops.matmul(y, quantized(m, "u4", seed=0, **LAYOUTS["blocks"]), False, True)
    return Whole(m.model([z, y], [x, flag]), [{"x": floats(3, 32), "flag": np.array(f)} for f in (True, False)])


@whole("weights in a branch in a loop")
def _weights_in_a_loop(m: Maker) -> Whole:
    x = m.input("x", [-1, 16])
    a, i = m.ops.parameter([-1, 16], np.float32), m.ops.parameter([], np.int64)
    square: dict[str, Any] = {"shape": [16, 1, 16], "scale": [16, 1, 1], "zero": [16, 1, 1], "reshape": [16, 16]}
    outer = m.ops.matmul(a, quantized(m, "i4", half=True, **square), False, True)
    branches = []
    for seed in (4, 5):
        p = m.ops.parameter([-1, 16], np.float32)
        out = m.ops.result(m.ops.matmul(p, quantized(m, "u4", seed=seed, **square), False, True))
        branches.append((m.ov.Model([out], [p], "branch"), p, out))
    node = m.ops.if_op(m.ops.equal(i, m.const(np.int64(1))).output(0))
    node.set_then_body(branches[0][0])
    node.set_else_body(branches[1][0])
    node.set_input(m.ops.tanh(outer).output(0), branches[0][1], branches[1][1])
    after = m.ops.tanh(node.set_output(branches[0][2], branches[1][2]))
    results = [m.ops.result(after), m.ops.result(m.const(value=True))]
    loop = m.ops.loop(m.const(np.int64(3)), m.const(value=True))
    loop.set_function(m.ov.Model(results, [a, i], "body"))
    loop.set_special_body_ports([1, 1])
    loop.set_merged_input(a, x.output(0), results[0].output(0))
    return Whole(m.model([loop.get_iter_value(results[0].output(0), -1)], [x]), [{"x": floats(2, 16)}])


@whole("weights of two MatMuls")
def _two_readers(m: Maker) -> Whole:
    node = quantized(m, "u4", [8, 2, 16], [8, 2, 1], [8, 2, 1], reshape=[8, 32], half=True)
    x, z = m.input("x", [-1, 32]), m.input("z", [-1, 8])
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.matmul(z, node, False, False)], [x, z]),
        [{"x": floats(3, 32), "z": floats(3, 8)}],
    )


@whole("weights of two MatMuls, both transposed")
def _two_alike(m: Maker) -> Whole:
    node = quantized(m, "u4", [8, 2, 16], [8, 2, 1], [8, 2, 1], reshape=[8, 32], half=True)
    x, z = m.input("x", [-1, 32]), m.input("z", [2, -1, 32])
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.matmul(z, node, False, True)], [x, z]),
        [{"x": floats(3, 32), "z": floats(2, 3, 32)}],
    )


@whole("weights of a MatMul and a Gather")
def _tied(m: Maker) -> Whole:
    node = quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True)
    ids = m.input("ids", [-1], np.int64)
    embedded = m.ops.gather(node, ids, m.const(0))
    return Whole(m.model([m.ops.matmul(embedded, node, False, True)], [ids]), [{"ids": np.array([0, 7, 3])}])


for _element in ("u8", "i8", "u4", "i4", "nf4"):

    def _table(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 1]
        node = quantized(m, element, [8, 32], [8, 1], zero, half=True)
        ids = m.input("ids", [2, -1], np.int64)
        return Whole(m.model([m.ops.gather(node, ids, m.const(0))], [ids]), [{"ids": np.array([[0, 7], [3, 7]])}])

    def _convolution(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 1, 1, 1]
        node = quantized(m, element, [8, 4, 3, 3], [8, 1, 1, 1], zero, half=True)
        x = m.input("x", [1, 4, 6, 6])
        return Whole(m.model([m.ops.convolution(x, node, [1, 1], [0, 0], [0, 0], [1, 1])], [x]), three(1, 4, 6, 6)[:1])

    def _block_table(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 2, 1]
        node = quantized(m, element, [8, 2, 16], [8, 2, 1], zero, reshape=[8, 32], half=True)
        ids = m.input("ids", [2, -1], np.int64)
        return Whole(m.model([m.ops.gather(node, ids, m.const(0))], [ids]), [{"ids": np.array([[0, 7], [3, 7]])}])

    def _vector(m: Maker, element: str = _element) -> Whole:
        zero = None if element == "nf4" else [8, 2, 1]
        node = quantized(m, element, [8, 2, 16], [8, 2, 1], zero, reshape=[8, 32], half=True)
        x = m.input("x", [32])
        return Whole(m.model([m.ops.matmul(x, node, False, True)], [x]), three(32)[:1])

    MODELS[f"weights {_element} of a Gather"] = _table
    MODELS[f"weights {_element} of a Gather, in blocks"] = _block_table
    MODELS[f"weights {_element} of a Convolution"] = _convolution
    MODELS[f"weights {_element} of a MatMul of a vector"] = _vector


@whole("weights alone")
def _alone(m: Maker) -> Whole:
    x = m.input("x", [2, 3])
    return Whole(m.model([quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True), x], [x]), three(2, 3)[:1])


@whole("weights f16")
def _plain_half(m: Maker) -> Whole:
    x = m.input("x", [-1, 32])
    node = m.ops.convert(m.const(floats(8, 32).astype(np.float16)), "f32")
    ids = m.input("ids", [-1], np.int64)
    return Whole(
        m.model([m.ops.matmul(x, node, False, True), m.ops.gather(node, ids, m.const(0))], [x, ids]),
        [{"x": floats(3, 32), "ids": np.array([0, 7])}],
    )


@whole("weights under a Transpose")
def _transposed(m: Maker) -> Whole:
    node = quantized(m, "u8", [8, 32], [8, 1], [8, 1], half=True)
    x = m.input("x", [-1, 32])
    return Whole(
        m.model([m.ops.matmul(x, m.ops.transpose(node, m.const([1, 0])), False, False)], [x]), three(3, 32)[:1]
    )


@whole("weights whose zero point is a constant minus")
def _reversed(m: Maker) -> Whole:
    """Zero points that are larger than the data."""
    random = np.random.default_rng(4)
    data, zero = random.integers(0, 255, [8, 1]), random.integers(0, 255, [8, 32])
    held = [m.ops.convert(m.packed("u8", one), "f32") for one in (data, zero)]
    node = m.ops.multiply(m.ops.subtract(*held), m.const(np.float32(0.1)))
    if m.is_plain:
        node = m.const((data - zero).astype(np.float32) * np.float32(0.1))
    x = m.input("x", [-1, 32])
    return Whole(m.model([m.ops.matmul(x, node, False, True)], [x]), three(3, 32)[:1])


@whole("weights that share a zero point")
def _shared_zero(m: Maker) -> Whole:
    random = np.random.default_rng(4)
    zero = m.ops.convert(m.packed("u8", random.integers(0, 255, [8, 1])), "f16")
    x, out = m.input("x", [-1, 32]), []
    for _ in range(2):
        data = m.ops.convert(m.packed("u8", random.integers(0, 255, [8, 32])), "f16")
        node = m.ops.multiply(m.ops.subtract(data, zero), m.const(random.uniform(0, 0.1, [8, 1]), np.float16))
        out.append(m.ops.matmul(x, m.ops.convert(node, "f32"), False, True))
    return Whole(m.model(out, [x]), three(3, 32)[:1])
