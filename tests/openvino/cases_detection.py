"""Detection: priors, proposals, suppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}


def priors(b: Build, opset: int, name: str, *, how: str = "const", index: str = "i8", **attributes: Any) -> Any:
    grid, image = np.array([2, 3], index), np.array([20, 33], index)
    put = b.const if how == "const" else b.param
    given = [put(grid), put(image)]
    return b.op(opset, name, given, **attributes)


PRIORS: dict[str, dict[str, Any]] = {
    "example": {"aspect_ratio": [2.0], "flip": True, "max_size": [38.46], "min_size": [16.0], "step": 16.0},
    "no step": {"aspect_ratio": [2.0, 3.0], "flip": True, "min_size": [8.0]},
    "ratios twice": {"aspect_ratio": [2.0, 2.0, 1.0, 0.5], "flip": True, "min_size": [8.0, 4.0]},
    "without flip": {"aspect_ratio": [2.0], "flip": False, "min_size": [8.0, 4.0], "max_size": [10.0, 6.0]},
    "clip": {"aspect_ratio": [2.0], "flip": True, "min_size": [30.0], "clip": True},
    "one variance": {"min_size": [8.0], "variance": [0.3]},
    "no variance": {"min_size": [8.0], "variance": []},
    "not all scaled": {"aspect_ratio": [2.0], "min_size": [0.3, 0.5], "scale_all_sizes": False, "step": 0.2},
    "not all scaled, step -1": {"aspect_ratio": [2.0], "min_size": [0.3], "scale_all_sizes": False, "step": -1.0},
    "not all scaled, no step": {"aspect_ratio": [2.0, 3.0], "min_size": [0.3, 0.4], "scale_all_sizes": False},
    "fixed": {"fixed_size": [8.0, 5.5], "density": [2.0, 1.0], "fixed_ratio": [2.0], "step": 6.0},
    "fixed, ratios": {"fixed_size": [9.0], "density": [2.0], "aspect_ratio": [2.0], "flip": True},
    "fixed, dense": {"fixed_size": [7.0], "density": [3.0]},
}
for opset in (1, 8):
    for label, attributes in PRIORS.items():
        for how in ("const", "param"):
            whole = {"offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2], **attributes}
            CASES[f"PriorBox opset {opset}: {label}, {how}"] = Case(
                lambda b, opset=opset, how=how, whole=whole: priors(b, opset, "PriorBox", how=how, **whole)
            )
for last in (True, False):
    both = {"min_size": [8.0, 5.0], "max_size": [10.0, 9.0], "aspect_ratio": [2.0], "flip": True, "offset": 0.3}
    CASES[f"PriorBox opset 8: min_max_aspect_ratios_order={last}"] = Case(
        lambda b, last=last, both=both: priors(
            b, 8, "PriorBox", min_max_aspect_ratios_order=last, index="i4", step=4.0, **both
        )
    )

CLUSTERED: dict[str, dict[str, Any]] = {
    "plain": {"step": 16.0, "variance": [0.1, 0.1, 0.2, 0.2]},
    "two steps": {"step_w": 16.0, "step_h": 8.0, "variance": [0.1]},
    "step of columns": {"step_w": 16.0, "step": 7.0},
    "no step": {"clip": True},
    "clip": {"clip": True, "step": 16.0},
}
for label, attributes in CLUSTERED.items():
    for how in ("const", "param"):
        whole = {"offset": 0.5, "width": [8.0, 4.0, 30.0], "height": [6.0, 9.0, 40.0], **attributes}
        CASES[f"PriorBoxClustered: {label}, {how}"] = Case(
            lambda b, how=how, whole=whole: priors(b, 1, "PriorBoxClustered", how=how, **whole)
        )


# h and w other than the size of the feature map: OpenVINO writes that many boxes into an output of the map's size
def prior_grid(b: Build, **attributes: Any) -> Any:
    given = [b.param(b.floats(3, 4)), b.param(b.floats(1, 2, 4, 5)), b.param(b.floats(1, 3, 32, 50))]
    return b.op(6, "ExperimentalDetectronPriorGridGenerator", given, **attributes)


for label, attributes in {
    "plain": {},
    "flat, strides": {"flatten": True, "stride_x": 4.0, "stride_y": 8.0},
    "not flat": {"flatten": False, "stride_x": 4.0, "stride_y": 8.0},
    "sizes": {"flatten": False, "h": 4, "w": 5},
    "sizes and strides": {"flatten": True, "h": 4, "w": 5, "stride_x": 2.5, "stride_y": 3.5},
}.items():
    CASES[f"PriorGridGenerator: {label}"] = Case(lambda b, attributes=attributes: prior_grid(b, **attributes))
for rois, most in ((6, 4), (6, 6), (5, 1)):
    CASES[f"TopKROIs: {most} of {rois}"] = Case(
        lambda b, rois=rois, most=most: b.op(
            6, "ExperimentalDetectronTopKROIs", [b.param(b.floats(rois, 4)), b.param(b.floats(rois))], max_rois=most
        )
    )
