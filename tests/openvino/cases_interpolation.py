"""Cases of resizing and sampling."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case, Engine

CASES: dict[str, Case] = {}

MODES = ("nearest", "linear", "linear_onnx", "cubic")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
DATA = (1, 2, 5, 6)
TARGETS: dict[str, tuple[list[int], list[float]]] = {
    "up": ([10, 9], [2.0, 1.5]),
    "down": ([3, 4], [0.6, 0.67]),
    "both": ([8, 3], [1.6, 0.5]),
}


def interpolate(
    opset: int,
    mode: str,
    target: tuple[list[int], list[float]],
    *,
    by: str = "sizes",
    data: tuple[int, ...] = DATA,
    axes: list[int] | None = None,
    dtype: str = "f4",
    run_time: bool = False,
    engine: Engine = "plugin",
    **attributes: Any,
) -> Case:
    axes = [2, 3] if axes is None else axes
    plain = {"mode": mode, "shape_calculation_mode": by, "pads_begin": [0], "pads_end": [0], "antialias": False}

    def build(b: Build) -> Any:
        floats = dtype[0] == "f"
        x = b.floats(*data, dtype=dtype) if floats else b.integers(*data, low=0, high=100, dtype=dtype)
        held = b.param if run_time else b.const
        sizes, scales = np.array(target[0], np.int64), np.array(target[1], np.float32)
        if opset < 11:
            given = [b.param(x), held(sizes), held(scales)]
        else:
            given = [b.param(x), held(sizes if by == "sizes" else scales)]
        given.append(b.const(np.array(axes, np.int64)))
        return b.op(opset, "Interpolate", given, **{**plain, **attributes})

    return Case(build, engine=engine, rtol=5e-3 if dtype == "f2" else 5e-5)


for _opset, (_name, _target), _by, _coordinate in product((4, 11), TARGETS.items(), ("sizes", "scales"), COORDINATES):
    for _mode in MODES[1:]:
        CASES[f"Interpolate-{_opset} {_mode}, {_name} by {_by}, {_coordinate}"] = interpolate(
            _opset, _mode, _target, by=_by, coordinate_transformation_mode=_coordinate, cube_coeff=-0.75
        )
    for _rounding in ROUNDINGS:
        CASES[f"Interpolate-{_opset} nearest, {_name} by {_by}, {_coordinate}, {_rounding}"] = interpolate(
            _opset, "nearest", _target, by=_by, coordinate_transformation_mode=_coordinate, nearest_mode=_rounding
        )
for _mode, _opset in product(MODES, (4, 11)):
    _target = TARGETS["both"]
    CASES |= {
        f"Interpolate-{_opset} {_mode}, pads": interpolate(
            _opset, _mode, _target, pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 2, 1]
        ),
        f"Interpolate-{_opset} {_mode}, f16": interpolate(_opset, _mode, _target, dtype="f2"),
        f"Interpolate-{_opset} {_mode}, axes in another order": interpolate(
            _opset, _mode, ([7, 9], [1.4, 1.5]), axes=[3, 2]
        ),
        f"Interpolate-{_opset} {_mode}, one axis": interpolate(_opset, _mode, ([9], [1.8]), axes=[2]),
        f"Interpolate-{_opset} {_mode}, all axes": interpolate(
            _opset, _mode, ([1, 2, 8, 3], [1.0, 1.0, 1.6, 0.5]), axes=[0, 1, 2, 3]
        ),
        f"Interpolate-{_opset} {_mode}, rank 3": interpolate(_opset, _mode, ([8], [1.6]), data=(1, 3, 5), axes=[2]),
        f"Interpolate-{_opset} {_mode}, run-time sizes": interpolate(_opset, _mode, _target, run_time=True),
    }


def kept(mode: str, coordinates: str, by: str) -> Case:
    """All axes are listed, as for a Resize of ONNX; batch and channels keep their sizes."""

    def build(b: Build) -> Any:
        x = b.param(b.floats(*DATA))
        if by == "scales":
            target = b.const(np.array([1, 1, 1.6, 0.5], np.float32))
        else:
            ops = b.ov.opset16
            outer = ops.gather(ops.shape_of(x), np.array([0, 1], np.int64), np.int64(0))
            target = ops.concat([outer, b.const(np.array([8, 3], np.int64))], 0)
        given = [x, target, b.const(np.arange(4))]
        more = {"coordinate_transformation_mode": coordinates, "shape_calculation_mode": by, "nearest_mode": "floor"}
        return b.op(11, "Interpolate", given, mode=mode, pads_begin=[0], pads_end=[0], antialias=False, **more)

    return Case(build, rtol=5e-5)


for _mode, _coordinate in product(MODES, COORDINATES):
    CASES[f"Interpolate-11 {_mode}, one axis of two kept at run time, {_coordinate}"] = interpolate(
        11, _mode, ([5, 9], [1.0, 1.5]), run_time=True, coordinate_transformation_mode=_coordinate
    )
for _mode, _coordinate, _by in product(MODES, COORDINATES, ("sizes", "scales")):
    CASES[f"Interpolate-11 {_mode}, outer axes kept by {_by}, {_coordinate}"] = kept(_mode, _coordinate, _by)
for _mode, _name in product(MODES, ("up", "down")):
    CASES[f"Interpolate-4 {_mode}, {_name}, no batch"] = interpolate(4, _mode, TARGETS[_name], data=(0, 2, 5, 6))
for _mode, _opset in product(MODES[:3], (4, 11)):
    CASES[f"Interpolate-{_opset} {_mode}, rank 5"] = interpolate(
        _opset, _mode, ([6, 3, 7], [1.5, 0.6, 7 / 6]), data=(1, 2, 4, 5, 6), axes=[2, 3, 4]
    )
for _coefficient, _opset in product((-0.5, -1.0), (4, 11)):
    CASES[f"Interpolate-{_opset} cubic of {_coefficient}"] = interpolate(
        _opset, "cubic", TARGETS["both"], cube_coeff=_coefficient
    )
for (_name, _target), _opset, _coordinate in product(TARGETS.items(), (4, 11), ("half_pixel", "asymmetric")):
    # the plugin does not filter
    CASES[f"Interpolate-{_opset} linear, {_name}, antialias, {_coordinate}"] = interpolate(
        _opset, "linear", _target, engine="evaluate", antialias=True, coordinate_transformation_mode=_coordinate
    )
for (_name, _target), _mode, _by in product(
    TARGETS.items(), ("bilinear_pillow", "bicubic_pillow"), ("sizes", "scales")
):
    CASES[f"Interpolate-11 {_mode}, {_name} by {_by}"] = interpolate(11, _mode, _target, by=_by, cube_coeff=-0.5)
    CASES[f"Interpolate-11 {_mode}, {_name} by {_by}, channels last"] = interpolate(
        11, _mode, _target, by=_by, cube_coeff=-0.5, data=(1, 5, 6, 2), axes=[1, 2]
    )
for _dtype in ("u1", "i1", "i4"):
    CASES[f"Interpolate-4 nearest, {_dtype}"] = interpolate(4, "nearest", TARGETS["both"], dtype=_dtype)
for _mode in ("linear_onnx", "linear", "cubic"):
    CASES[f"Interpolate-4 {_mode}, u8"] = interpolate(4, _mode, TARGETS["both"], dtype="u1")


def interpolate_1(mode: str, sizes: list[int], data: tuple[int, ...] = DATA, **attributes: Any) -> Case:
    plain = {"axes": list(range(2, len(data))), "antialias": False, "pads_begin": [0], "pads_end": [0]}

    def build(b: Build) -> Any:
        given = [b.param(b.floats(*data)), b.const(np.array(sizes, np.int64))]
        return b.op(1, "Interpolate", given, mode=mode, **{**plain, **attributes})

    return Case(build, rtol=5e-5)


for (_name, _target), _mode, _align in product(TARGETS.items(), ("nearest", "linear", "cubic"), (True, False)):
    CASES[f"Interpolate-1 {_mode}, {_name}, align_corners {_align}"] = interpolate_1(
        _mode, _target[0], align_corners=_align
    )
CASES |= {
    "Interpolate-1 pads": interpolate_1(
        "linear", [9, 9], align_corners=False, pads_begin=[0, 0, 1, 1], pads_end=[0, 0, 0, 2]
    ),
    "Interpolate-1 rank 5": interpolate_1("linear", [3, 8, 9], (1, 2, 4, 5, 6), align_corners=False),
    "Interpolate-1 rank 3": interpolate_1("linear", [9], (1, 2, 4), align_corners=False),
}


def grid_sample(mode: str, padding: str, align: bool, dtype: str = "f4", spread: float = 1.4) -> Case:
    def build(b: Build) -> Any:
        grid = b.floats(2, 4, 3, 2, low=-spread, high=spread)
        given = [b.param(b.floats(2, 3, 5, 6, dtype=dtype)), b.param(grid)]
        return b.op(9, "GridSample", given, mode=mode, padding_mode=padding, align_corners=align)

    return Case(build, rtol=5e-3 if dtype == "f2" else 1e-4)


for _mode, _padding, _align in product(
    ("bilinear", "bicubic", "nearest"), ("zeros", "border", "reflection"), (True, False)
):
    CASES[f"GridSample-9 {_mode}, {_padding}, align_corners {_align}"] = grid_sample(_mode, _padding, _align)
CASES["GridSample-9 f16"] = grid_sample("bilinear", "zeros", False, "f2")
CASES["GridSample-9 far outside"] = grid_sample("bilinear", "reflection", False, spread=5)
