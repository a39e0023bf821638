"""Prior boxes on a grid; networks encode detections relative to prior boxes.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Final

import numpy as np

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import (
    as_int64,
    axis_element,
    axis_slice,
    dims,
    iota,
    reshape,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

MIN_RATIO: Final = 1e-9
"""Smallest accepted ratio of the sides of a box."""
_MAX_DENSITY: Final = 64
"""Maximum number of boxes of a fixed size along a side of a cell."""
_FLOAT = DType.FLOAT32


@dataclass(slots=True)
class _CellBoxes:
    """Boxes of a grid cell.

    corners   x0 y0 x1 y1 of each box, relative to the centre of the cell
    cut       whether each box is clipped to the image
    """

    corners: list[tuple[float, float, float, float]] = field(default_factory=list)
    cut: list[bool] = field(default_factory=list)

    def add(self, half_width: float, half_height: float, x: float = 0, y: float = 0, *, cut: bool = False) -> None:
        self.corners.append((x - half_width, y - half_height, x + half_width, y + half_height))
        self.cut.append(cut)


@lowers("PriorBox", since=1)
@lowers("PriorBox", since=8)
def prior_box(op: LayerView, g: FunctionBuilder) -> str:
    """detection/prior-box-1, prior-box-8: constant boxes shifted over a grid.

    output_size  [2], height and width of the grid
    image_size   [2], height and width of the image
    result       [2, 4 * height * width * priors], a row of the boxes as x0 y0 x1 y1, and a row of their variances

    Version 8 adds the attribute min_max_aspect_ratios_order.
    """
    grid, image = as_int64(op, g, 0), g.Cast(as_int64(op, g, 1), to=int(_FLOAT))
    step, relative = op.number("step", 0), not op.flag("scale_all_sizes", True)
    height = axis_slice(g, image, 0, 1, 0)  # of the image; the unit of sizes and steps if not all sizes are scaled
    across = g.Div(image, g.Cast(grid, to=int(_FLOAT)))
    if relative and step == -1:
        steps = axis_slice(g, across, 0, 1, 0)
    elif step == 0:
        steps = across
    else:
        steps = g.Mul(height, g.const([step], "f4")) if relative else g.const([step], "f4")
    offset = 0.5 if step == 0 else op.number("offset")
    shapes = _cell_boxes(op, folded=op.ints(0) is not None and op.ints(1) is not None)
    corners = g.const(np.array(shapes.corners, "f4").reshape(-1, 4))
    if relative:
        corners = g.Mul(corners, height)
    centres = _centres(g, grid, g.Expand(steps, g.i64(2)), offset)
    boxes = g.Mul(g.Add(centres, corners), _twice(g, g.Div(g.scalar(1, _FLOAT), image)))
    if any(shapes.cut):
        cut, infinite = np.array(shapes.cut)[:, None], np.float32(np.inf)
        boxes = g.Max(boxes, g.const(np.where(cut & (np.arange(4) < 2), np.float32(0), -infinite)))
        boxes = g.Min(boxes, g.const(np.where(cut & (np.arange(4) >= 2), np.float32(1), infinite)))
    return _with_variances(op, g, boxes)


def _cell_boxes(op: LayerView, *, folded: bool) -> _CellBoxes:
    """The boxes of a cell of PriorBox, in the order of OpenVINO's reference implementation.

    folded   OpenVINO constant-folds the layer, because its inputs are constants

    Raises LoweringRefused when the number of boxes differs from that of the shape that OpenVINO infers.
    """
    shapes, ratios = _CellBoxes(), _ratios(op)
    fixed = op.numbers("fixed_size", [], lower=0)
    smallest, largest = op.numbers("min_size", [], lower=0), op.numbers("max_size", [], lower=0)
    densities, fixed_ratios = _densities(op, len(fixed)), op.numbers("fixed_ratio", [], lower=MIN_RATIO)
    for k, size in enumerate(fixed):
        whole = int(size)
        shift = int(size / densities[k])
        # OpenVINO halves integers when it constant-folds a layer, and real numbers when it runs the layer
        back = whole // 2 if folded else whole / 2
        for ratio in fixed_ratios or [1.0, *ratios]:
            is_square = not fixed_ratios and ratio == 1.0
            width, height = (whole / 2, whole / 2) if is_square else (size / 2 * sqrt(ratio), size / 2 / sqrt(ratio))
            for row in range(densities[k]):
                for column in range(densities[k]):
                    x, y = (shift / 2 - back + one * shift for one in (column, row))
                    shapes.add(width, height, x, y, cut=True)
    scaled, largest_last = op.flag("scale_all_sizes", True), not op.flag("min_max_aspect_ratios_order", True)
    for k, size in enumerate(smallest):
        shapes.add(size / 2, size / 2)
        between = [sqrt(size * largest[k]) / 2] if k < len(largest) else []
        for half in [] if largest_last else between:
            shapes.add(half, half)
        if scaled or k == len(smallest) - 1:
            half = (size if scaled else smallest[0]) / 2
            for ratio in ratios:
                shapes.add(half * sqrt(ratio), half / sqrt(ratio))
        for half in between if largest_last else []:
            shapes.add(half, half)
    declared = _number(op, len(ratios) + 1)
    if len(shapes.corners) != declared:
        raise LoweringRefused(f"its attributes define {len(shapes.corners)} boxes per cell, its shape has {declared}")
    return shapes


def _number(op: LayerView, ratios: int) -> int:
    """Number of boxes of a cell in the shape that OpenVINO infers; `ratios` counts the aspect ratios, 1 included."""
    smallest, fixed = len(op.numbers("min_size", [])), len(op.numbers("fixed_size", []))
    if not op.flag("scale_all_sizes", True):
        return ratios + smallest - 1
    number = ratios * (fixed or smallest) + len(op.numbers("max_size", []))
    for density in _densities(op, fixed):
        number += (len(op.numbers("fixed_ratio", [])) or ratios) * (density**2 - 1)
    return number


def _densities(op: LayerView, fixed: int) -> list[int]:
    """The attribute `density`: for each of `fixed` fixed sizes, the number of boxes along a side of a cell.

    Raises LoweringRefused for a number above _MAX_DENSITY.
    """
    found = [int(one) for one in op.numbers("density", [], count=fixed or None, lower=1)]
    if max(found, default=1) > _MAX_DENSITY:
        raise LoweringRefused(f"density = {found}, more than {_MAX_DENSITY} boxes along a side are not converted")
    return found


def _ratios(op: LayerView) -> list[float]:
    """The distinct aspect ratios other than 1, each followed by its inverse with `flip`."""
    found = [1.0]
    for ratio in op.numbers("aspect_ratio", [], lower=MIN_RATIO):
        if all(abs(ratio - one) >= 1e-6 for one in found):
            found += [ratio, 1 / ratio] if op.flag("flip", False) else [ratio]
    return [ratio for ratio in found if abs(ratio - 1) >= 1e-6]


@lowers("PriorBoxClustered")
def prior_box_clustered(op: LayerView, g: FunctionBuilder) -> str:
    """detection/prior-box-clustered-1: constant boxes shifted over a grid, as PriorBox, but of given sides."""
    grid, image = as_int64(op, g, 0), g.Cast(as_int64(op, g, 1), to=int(_FLOAT))
    step = op.number("step", 0)
    across, down = op.number("step_w", 0) or step, op.number("step_h", 0) or step
    steps = g.const([down, across], "f4") if across or down else g.Div(image, g.Cast(grid, to=int(_FLOAT)))
    shapes = _CellBoxes()
    widths = op.numbers("width")
    for width, height in zip(widths, op.numbers("height", count=len(widths)), strict=True):
        shapes.add(width / 2, height / 2)
    centres = _centres(g, grid, steps, op.number("offset"))
    boxes = g.Div(g.Add(centres, g.const(np.array(shapes.corners, "f4"))), _twice(g, image))
    return _with_variances(op, g, boxes)


def _centres(g: FunctionBuilder, grid: str, steps: str, offset: float) -> str:
    """Centres of the cells as x y x y, [height, width, 1, 4].

    grid     [2], number of rows and of columns
    steps    [2], distance between rows and between columns
    offset   position of the centre in a cell, as a fraction of the distance
    """
    places = []
    for k in (0, 1):
        cells = g.Cast(iota(g, axis_slice(g, grid, k, k + 1, 0)), to=int(_FLOAT))
        places.append(g.Mul(g.Add(cells, g.scalar(offset, _FLOAT)), axis_element(g, steps, k, 0)))
    shape = shape_vector(g, grid, 1, 1)
    y = g.Expand(g.unsqueeze(places[0], 1, 2, 3), shape)
    x = g.Expand(g.unsqueeze(places[1], 0, 2, 3), shape)
    return g.Concat(x, y, x, y, axis=3)


def _twice(g: FunctionBuilder, pair: str) -> str:
    """`pair` [2], a y value and an x value, rearranged to x y x y: [4]."""
    return g.Gather(pair, g.i64(1, 0, 1, 0), axis=0)


def _with_variances(op: LayerView, g: FunctionBuilder, boxes: str) -> str:
    """The result [2, ...]: a row of `boxes` [height, width, priors, 4], flattened, and a row of their variances.

    With the attribute `clip`, boxes are clipped to [0, 1].
    """
    if op.flag("clip", False):
        boxes = g.Clip(boxes, g.scalar(0, _FLOAT), g.scalar(1, _FLOAT))
    variance = op.numbers("variance", []) or [0.1]
    variances = g.Expand(g.const(variance, "f4"), g.Shape(boxes))
    return g.Concat(*(g.Reshape(one, g.i64(1, -1)) for one in (boxes, variances)), axis=0)


@lowers("ExperimentalDetectronPriorGridGenerator", since=6)
def prior_grid(op: LayerView, g: FunctionBuilder) -> str:
    """detection/experimental-detectron-prior-grid-generator-6: the priors shifted to the centre of each cell by Add.

    priors       [p, 4] as x0 y0 x1 y1
    feature_map  [1, c, fh, fw], and im_data [1, c, ih, iw]; only the shapes of the two matter
    result       [h * w * p, 4], or [h, w, p, 4] with `flatten` false
    """
    kind = op.dtype(0)
    grid = [op.integer(name, 0) or dim for name, dim in zip("hw", dims(op, g, 1, 2, 3), strict=True)]
    places = []
    for k, name in ((0, "stride_y"), (1, "stride_x")):
        size = shape_vector(g, grid[k])
        stride = op.number(name, 0)
        if stride:
            step = g.const([stride], "f4")
        else:
            (image,) = dims(op, g, 2, 2 + k)
            step = g.Div(g.Cast(shape_vector(g, image), to=int(_FLOAT)), g.Cast(size, to=int(_FLOAT)))
        cells = g.Cast(iota(g, size), to=int(_FLOAT))
        places.append(g.Mul(g.Add(cells, g.scalar(0.5, _FLOAT)), step))
    shape = shape_vector(g, *grid, 1, 1)
    y, x = g.Expand(g.unsqueeze(places[0], 1, 2, 3), shape), g.Expand(g.unsqueeze(places[1], 0, 2, 3), shape)
    made = g.Add(g.Concat(x, y, x, y, axis=3), g.cast(op.x(0), kind, _FLOAT))
    return g.cast(reshape(g, made, -1, 4) if op.flag("flatten", True) else made, _FLOAT, kind)


@lowers("ExperimentalDetectronTopKROIs", since=6)
def top_rois(op: LayerView, g: FunctionBuilder) -> str:
    """sort/experimental-detectron-top-krois-6: TopK of the probabilities and Gather.

    input_rois   [n, 4]
    rois_probs   [n]
    result       [max_rois, 4], the regions with the highest probabilities, padded with zeros
    """
    most, known = op.integer("max_rois"), op.size(1, 0)
    given = g.i64(min(most, known)) if known is not None else g.Min(g.i64(most), g.dim(op.x(1), 0))
    probabilities = g.cast(op.x(1), op.dtype(1), _FLOAT)
    best = g.Gather(op.x(0), g.node("TopK", (probabilities, given), 2, axis=0)[1], axis=0)
    rest = g.Expand(g.scalar(0, op.dtype(0)), shape_vector(g, g.Sub(g.i64(most), given), 4))
    return best if known is not None and known >= most else g.Concat(best, rest, axis=0)
