"""Cases of positions that are counted up to a size, and of sizes that are known."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}

SIZES = (5, 3)


def number(b: Build, value: int, element: str) -> Any:
    return b.const(np.array(value, element))


def gathered(b: Build, shape: Any, element: str) -> Any:
    return b.op(8, "Gather", [shape, b.const(np.int64(1)), b.const(np.int64(0))])


def squeezed(b: Build, shape: Any, element: str) -> Any:
    one = b.op(8, "Slice", [shape, *(b.const(np.array([k])) for k in (1, 2, 1, 0))])
    return b.op(1, "Squeeze", [one, b.const(np.array([0]))])


def computed(b: Build, shape: Any, element: str) -> Any:
    twice = b.op(1, "Multiply", [gathered(b, shape, element), number(b, 2, element)])
    return b.op(1, "Subtract", [twice, number(b, 1, element)])


ENDS = {"gathered": gathered, "squeezed": squeezed, "computed": computed}


def counted(end: str, element: str, to: str, *, fixed: tuple[int, ...]) -> Case:
    def build(b: Build) -> Any:
        x = b.param(b.floats(*SIZES), fixed=fixed)
        shape = b.op(3, "ShapeOf", [x], output_type={"i4": "i32", "i8": "i64"}[element])
        limits = [number(b, 0, element), ENDS[end](b, shape, element), number(b, 1, element)]
        return b.op(4, "Range", limits, output_type=to)

    return Case(build)


for _end, _element, _to in product(ENDS, ("i4", "i8"), ("i32", "i64", "f32")):
    for _fixed in ((), (1,)):
        CASES[f"Range-4 up to a size {_end}, {_element} to {_to}, fixed {_fixed}"] = counted(
            _end, _element, _to, fixed=_fixed
        )


def shape_of_branches(b: Build) -> Any:
    """An If that gives the sizes of what it is given, or of its transpose."""
    condition, x = b.param(np.array(True)), b.param(b.floats(*SIZES), fixed=(0, 1))
    bodies = []
    for turns in (False, True):
        inner = b.ov.opset16.parameter(b.ov.PartialShape(list(SIZES)), np.float32)
        of = b.op(1, "Transpose", [inner, b.const(np.array([1, 0]))]) if turns else inner
        shape = b.op(3, "ShapeOf", [of], output_type="i32")
        bodies.append(b.ov.Model([b.ov.opset16.result(shape.output(0))], [inner], "branch"))
    made = b.ov.opset16.if_op(condition)
    made.set_then_body(bodies[0])
    made.set_else_body(bodies[1])
    made.set_input(x.output(0), bodies[0].get_parameters()[0], bodies[1].get_parameters()[0])
    return made.set_output(bodies[0].get_results()[0], bodies[1].get_results()[0])


CASES["ShapeOf-3 that is what a branch gives"] = Case(shape_of_branches)
CASES["ShapeOf-3 twice"] = Case(
    lambda b: [b.op(3, "ShapeOf", [x], output_type="i32") for x in [b.param(b.floats(*SIZES))] for _ in range(2)]
)
CASES["ShapeOf-1 of a scalar"] = Case(lambda b: b.op(1, "ShapeOf", [b.param(np.float32(1))]))
