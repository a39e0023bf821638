"""Workarounds for layers that OpenVINO's CPU plugin computes incorrectly, or with a result that may vary.

The plugin of 2026.4 truncates integer quotients, although `m_pythondiv` requires rounding down. A TopK that is not
stable takes equal elements in any order. Products with compressed weights of some layouts are incorrect or do not
compile. The replacement layers follow the specification; among equal elements, TopK takes the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, Final

MAX_WEIGHTS: Final = 1 << 28
"""Largest number of elements, over all compressed weights of a model, for which weights are converted to floats."""

_SIGNED = ("i8", "i16", "i32", "i64")
_COMPRESSED = ("u2", "u4", "i4", "nf4", "u8", "i8", "f4e2m1", "f8e4m3", "f8e5m2")


def conform(openvino: Any, model: Any) -> None:
    """Replace in place the layers of `model` and its bodies that the CPU plugin computes incorrectly.

    Also replaces a TopK that is not stable, since it takes equal elements in any order.

    openvino   the imported module `openvino`
    model      an `openvino.Model`
    """
    opset = openvino.opset11
    _decompress(openvino, model)
    for body in _bodies(model):
        for op in body.get_ops():
            made: list[Any] = []
            if op.get_type_name() == "Divide" and _rounds_down(op):
                a, b = op.input_value(0), op.input_value(1)
                down = opset.subtract(a, opset.floor_mod(a, b))
                made = [openvino.opset1.divide(down, b).output(0)]
            if op.get_type_name() == "TopK" and _is_unstable(op):
                told = op.get_attributes()
                stable = opset.topk(
                    op.input_value(0), op.input_value(1), int(told["axis"]), told["mode"], told["sort"],
                    told.get("index_element_type", "i32"), stable=True,
                )  # fmt: skip
                made = [stable.output(0), stable.output(1)]
            if made:
                made[0].get_node().set_friendly_name(op.get_friendly_name())
            for output, other in zip(op.outputs(), made, strict=False):
                other.add_names(output.get_names())
                output.replace(other)


def _decompress(openvino: Any, model: Any) -> None:
    """Convert the compressed constants of `model` to floats, if together they have at most MAX_WEIGHTS elements."""
    found = []
    for body in _bodies(model):
        for op in body.get_ops():
            held = op.input_value(0).get_node() if op.get_type_name() == "Convert" else None
            if held is not None and held.get_type_name() == "Constant" and _is_compressed(held, op):
                found.append((held, op))
    if sum(prod(held.get_output_shape(0)) for held, _ in found) > MAX_WEIGHTS:
        return
    for held, op in found:
        kind = op.get_output_element_type(0).to_dtype()
        made = openvino.opset1.constant(held.get_data(dtype=kind))
        made.set_friendly_name(op.get_friendly_name())
        op.output(0).replace(made.output(0))


def _is_compressed(held: Any, op: Any) -> bool:
    is_small = held.get_output_element_type(0).get_type_name() in _COMPRESSED
    return is_small and op.get_output_element_type(0).get_type_name() in ("f16", "f32")


def _bodies(model: Any) -> Iterator[Any]:
    """`model`, and the bodies of its layers at any depth."""
    pending = [model]
    while pending:
        found = pending.pop()
        yield found
        for op in found.get_ops():
            kind = op.get_type_name()
            if kind in ("Loop", "TensorIterator"):
                pending.append(op.get_function())
            elif kind == "If":
                pending += [op.get_function(0), op.get_function(1)]


def _rounds_down(op: Any) -> bool:
    is_signed = op.get_output_element_type(0).get_type_name() in _SIGNED
    return is_signed and bool(op.get_attributes().get("m_pythondiv", True))


def _is_unstable(op: Any) -> bool:
    told = op.get_attributes()
    return not told.get("stable", False) and told.get("sort") in ("value", "index")
