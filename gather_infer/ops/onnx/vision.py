"""Rules of pooling over regions of interest."""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_bounds, describe, known_numbers
from gather_infer.ops.semantics.preconditions import (
    refuse_empty,
    require_rank,
    require_same_dtype,
    require_shape,
    unknown_dims,
)
from gather_infer.ops.semantics.windows import spatial_attribute
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import SymbolicTensor

rules = RuleSet("")


def check_images(op: OpCall, x: SymbolicTensor, position: int) -> None:
    """Check that input `position`, an image index per region, has elements in [0, N - 1] for `x` [N, ...]."""
    if x.shape:
        check_bounds(
            op, op.tensor(position), known_numbers(op, position), x.shape[0], Indexing(from_end=False),
            axis=0, data=describe(x, "X"), position=position,
        )  # fmt: skip


@rules.rule("MaxRoiPool", since=1)
def max_roi_pool(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__MaxRoiPool.html

    X [N, C, H, W]; rois [R, 5] -> [R, C, *pooled_shape]
    """
    x, rois = op.tensor(0), op.tensor(1)
    require_rank(x.shape, 4, "X")
    require_rank(rois.shape, 2, "rois")
    (r,) = unknown_dims(op, 1, "the shape of rois is not known") if rois.shape is None else rois.shape[:1]
    require_shape(op, rois.shape, (r, 5), "rois")
    op.add_unchecked("the image of each region in rois is known only at run time")
    (c,) = unknown_dims(op, 1, "the shape of X is not known") if x.shape is None else x.shape[1:2]
    pooled = spatial_attribute(op, "pooled_shape", 2, 1, lower=1)
    return [SymbolicTensor(require_same_dtype("X and rois", x, rois), (r, c, *pooled))]


@rules.rule("RoiAlign", since=10, addresses={2: 0})
def roi_align(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__RoiAlign.html (version 16 adds coordinate_transformation_mode)

    X [N, C, H, W]; rois [R, 4]; batch_indices [R], from 0 to N - 1 -> [R, C, output_height, output_width]
    """
    x, rois, batch = op.tensor(0), op.tensor(1), op.tensor(2)
    require_rank(x.shape, 4, "X")
    refuse_empty(op, *(() if x.shape is None else x.shape[2:]))
    require_rank(batch.shape, 1, "batch_indices")
    require_rank(rois.shape, 2, "rois")
    if batch.shape is not None:
        r = batch.shape[0]
    elif rois.shape is not None:
        r = rois.shape[0]
    else:
        (r,) = unknown_dims(op, 1, "the shapes of rois and batch_indices are not known")
    r = require_shape(op, rois.shape, (r, 4), "rois")[0]
    (c,) = unknown_dims(op, 1, "the shape of X is not known") if x.shape is None else x.shape[1:2]
    check_images(op, x, 2)
    height, width = op.attr("output_height", 1), op.attr("output_width", 1)
    if height < 1 or width < 1:
        raise SpecViolation(f"output_height and output_width must be 1 or more, are {height} and {width}")
    return [SymbolicTensor(require_same_dtype("X and rois", x, rois), (r, c, height, width))]
