"""Detection: priors, proposals, the last layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case
from tests.openvino.cases_suppression import ranked, rectangles

CASES: dict[str, Case] = {}


def priors(b: Build, opset: int, name: str, *, how: str = "const", index: str = "i8", **attributes: Any) -> Any:
    grid, image = np.array([2, 3], index), np.array([20, 33], index)
    if how == "shape":
        maps = [b.op(3, "ShapeOf", [b.param(b.floats(1, 2, *size))], output_type="i64") for size in (grid, image)]
        ends = [b.const(np.array([one])) for one in (2, 4, 1)]
        return b.op(opset, name, [b.op(8, "Slice", [one, *ends]) for one in maps], **attributes)
    put = b.const if how == "const" else b.param
    return b.op(opset, name, [put(grid), put(image)], **attributes)


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
        for how in ("const", "param", "shape"):
            whole = {"offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2], **attributes}
            CASES[f"PriorBox opset {opset}: {label}, {how}"] = Case(
                partial(priors, opset=opset, name="PriorBox", how=how, **whole)
            )
for last in (True, False):
    both: dict[str, Any] = {
        "min_size": [8.0, 5.0],
        "max_size": [10.0, 9.0],
        "aspect_ratio": [2.0],
        "flip": True,
        "offset": 0.3,
    }
    CASES[f"PriorBox opset 8: min_max_aspect_ratios_order={last}"] = Case(
        partial(priors, opset=8, name="PriorBox", min_max_aspect_ratios_order=last, index="i4", step=4.0, **both)
    )

CLUSTERED: dict[str, dict[str, Any]] = {
    "plain": {"step": 16.0, "variance": [0.1, 0.1, 0.2, 0.2]},
    "two steps": {"step_w": 16.0, "step_h": 8.0, "variance": [0.1]},
    "step of columns": {"step_w": 16.0, "step": 7.0},
    "no step": {"clip": True},
    "clip": {"clip": True, "step": 16.0},
}
for label, attributes in CLUSTERED.items():
    for how in ("const", "param", "shape"):
        whole = {"offset": 0.5, "width": [8.0, 4.0, 30.0], "height": [6.0, 9.0, 40.0], **attributes}
        CASES[f"PriorBoxClustered: {label}, {how}"] = Case(
            partial(priors, opset=1, name="PriorBoxClustered", how=how, **whole)
        )


# h and w other than the size of the feature map: OpenVINO writes that many boxes into an output of the map's size
def prior_grid(b: Build, **attributes: Any) -> Any:
    given = [b.param(b.floats(3, 4)), b.param(b.floats(1, 2, 4, 5)), b.param(b.floats(1, 3, 32, 50))]
    return b.op(6, "ExperimentalDetectronPriorGridGenerator", given, **attributes)


GRIDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "flat, strides": {"flatten": True, "stride_x": 4.0, "stride_y": 8.0},
    "not flat": {"flatten": False, "stride_x": 4.0, "stride_y": 8.0},
    "sizes": {"flatten": False, "h": 4, "w": 5},
    "sizes and strides": {"flatten": True, "h": 4, "w": 5, "stride_x": 2.5, "stride_y": 3.5},
}
for label, attributes in GRIDS.items():
    CASES[f"PriorGridGenerator: {label}"] = Case(partial(prior_grid, **attributes))


def top_rois(b: Build, rois: int, most: int) -> Any:
    given = [b.param(b.floats(rois, 4)), b.param(b.floats(rois))]
    return b.op(6, "ExperimentalDetectronTopKROIs", given, max_rois=most)


for rois, most in ((6, 4), (6, 6), (5, 1)):
    CASES[f"TopKROIs: {most} of {rois}"] = Case(partial(top_rois, rois=rois, most=most))


def detection(b: Build, opset: int, *, more: bool = False, **attributes: Any) -> Any:
    batch, classes, number, own = attributes.pop("shape", (2, 4, 12, 1))
    dtype = attributes.pop("dtype", "f4")
    shared, normalized = attributes.get("share_location", True), attributes.get("normalized", False)
    encoded = attributes.get("variance_encoded_in_target", False)
    boxes = rectangles(b, own, number, size=1.0)
    if not normalized:
        extent = np.array([attributes.get("input_width", 1), attributes.get("input_height", 1)] * 2)
        boxes = np.concatenate([np.zeros((own, number, 1)), boxes * extent], -1)
        if attributes.pop("ended", False):
            boxes[:, number // 2, 0] = -1
    rows = [boxes.reshape(own, 1, -1)]
    if not encoded:
        variance = np.zeros_like(rows[0])
        variance[..., : number * 4] = b.floats(own, 1, number * 4, low=0.05, high=0.3)
        rows.append(variance)
    locations = number * (1 if shared else classes) * 4
    given = [b.param(b.floats(batch, locations, low=-0.5, high=0.5, dtype=dtype))]
    given.append(b.param(ranked(b, batch, number * classes, dtype=dtype)))
    given.append(b.param(np.concatenate(rows, 1).astype(dtype)))
    if more:
        given.append(b.param(ranked(b, batch, number * 2)))
        given.append(b.param(b.floats(batch, locations, low=-0.3, high=0.3)))
    if opset == 1:
        attributes["num_classes"] = classes
    return b.op(opset, "DetectionOutput", given, **{"nms_threshold": 0.3, **attributes})


CODES = ("caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE")
DETECTIONS: dict[str, dict[str, Any]] = {
    "all": {"keep_top_k": [-1]},
    "keep": {"keep_top_k": [5]},
    "keep more than there are": {"keep_top_k": [60]},
    "top": {"keep_top_k": [-1], "top_k": 4},
    "top and keep": {"keep_top_k": [7], "top_k": 5},
    "confident": {"keep_top_k": [8], "confidence_threshold": 0.6},
    "nothing": {"keep_top_k": [8], "confidence_threshold": 1.5},
    "background 1": {"keep_top_k": [9], "background_label_id": 1},
    "no background": {"keep_top_k": [9], "background_label_id": -1},
    "clip before": {"keep_top_k": [9], "clip_before_nms": True},
    "clip after": {"keep_top_k": [9], "clip_after_nms": True},
    "boxes per class": {"keep_top_k": [9], "share_location": False},
    "proposals per image": {"keep_top_k": [9], "shape": (2, 3, 8, 2)},
    "decrease": {"keep_top_k": [9], "decrease_label_id": True},
    "decrease, top": {"keep_top_k": [4], "decrease_label_id": True, "top_k": 6, "share_location": False},
    "decrease, confident": {"keep_top_k": [-1], "decrease_label_id": True, "confidence_threshold": 0.8},
    "one image": {"keep_top_k": [200], "shape": (1, 2, 5, 1)},
}
TWO_STEPS: dict[str, dict[str, Any]] = {
    "plain": {},
    "boxes per class": {"share_location": False},
    "decrease": {"decrease_label_id": True, "shape": (1, 4, 12, 1)},
}
for opset in (1, 8):
    for label, attributes in DETECTIONS.items():
        for normalized in (True, False):
            for encoded in (True, False):
                for k, code in enumerate(CODES):
                    if label not in ("all", "keep", "boxes per class") and encoded == bool(k):
                        continue
                    whole = {"normalized": normalized, "variance_encoded_in_target": encoded, "code_type": code}
                    whole |= attributes | ({} if normalized else {"input_width": 30, "input_height": 20})
                    CASES[f"DetectionOutput opset {opset}: {label} {normalized=} {encoded=} {code[24:]}"] = Case(
                        partial(detection, opset=opset, **whole)
                    )
    ended: dict[str, Any] = {"keep_top_k": [9], "ended": True, "input_width": 30, "input_height": 20}
    CASES[f"DetectionOutput opset {opset}: ended"] = Case(partial(detection, opset=opset, **ended))
    for code in CODES:
        for label, attributes in TWO_STEPS.items():
            whole = {"keep_top_k": [9], "objectness_score": 0.4, "normalized": True, "code_type": code, **attributes}
            CASES[f"DetectionOutput opset {opset}: two steps, {label} {code[24:]}"] = Case(
                partial(detection, opset=opset, more=True, **whole)
            )
CASES["DetectionOutput opset 8: f16"] = Case(
    partial(detection, opset=8, dtype="f2", keep_top_k=[9], normalized=True), rtol=5e-3
)


def proposal(b: Build, opset: int, **attributes: Any) -> Any:
    batch, rows, columns = attributes.pop("shape", (2, 4, 5))
    image, dtype = attributes.pop("image", (60.0, 80.0, 1.0)), attributes.pop("dtype", "f4")
    anchors = len(attributes["ratio"]) * len(attributes["scale"])
    given = [b.param(ranked(b, batch, 2 * anchors, rows, columns, dtype=dtype), fixed=[1])]
    given.append(b.param(b.floats(batch, 4 * anchors, rows, columns, low=-0.4, high=0.4, dtype=dtype), fixed=[1]))
    given.append(b.param(np.array(image, dtype), fixed=[0]))
    made = b.op(opset, "Proposal", given, **attributes)
    # the plugin leaves the scores behind the last proposal as they are in memory
    return made.output(0) if attributes["nms_thresh"] < 0.1 else made


PROPOSALS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all before": {"pre_nms_topn": 1000, "post_nms_topn": 20},
    "few before": {"pre_nms_topn": 12, "post_nms_topn": 4},
    "fewer found": {"nms_thresh": 0.05, "post_nms_topn": 30},
    "scales of both": {"image": (60.0, 80.0, 1.5, 0.5), "min_size": 12},
    "not clipped before": {"clip_before_nms": False},
    "clipped after": {"clip_before_nms": False, "clip_after_nms": True},
    "normalized": {"normalize": True, "clip_after_nms": True},
    "scaled deltas": {"box_size_scale": 5.0, "box_coordinate_scale": 10.0},
    "tensorflow": {"framework": "tensorflow"},
    "tensorflow, normalized": {"framework": "tensorflow", "normalize": True, "box_size_scale": 5.0},
    "one anchor": {"ratio": [1.0], "scale": [2.0], "shape": (1, 6, 6)},
}
for opset in (1, 4):
    for label, attributes in PROPOSALS.items():
        whole = {"base_size": 16, "pre_nms_topn": 40, "post_nms_topn": 6, "nms_thresh": 0.5, "feat_stride": 12}
        whole |= {"min_size": 2, "ratio": [0.5, 1.0, 2.0], "scale": [1.0, 2.0], **attributes}
        CASES[f"Proposal opset {opset}: {label}"] = Case(partial(proposal, opset=opset, **whole))


def generated(b: Build, opset: int, **attributes: Any) -> Any:
    batch, rows, columns, anchors = attributes.pop("shape", (2, 4, 5, 3))
    image, dtype = attributes.pop("image", (60.0, 80.0, 1.0)), attributes.pop("dtype", "f4")
    boxes = rectangles(b, rows, columns, anchors, size=50.0, dtype=dtype)
    deltas = b.floats(batch, 4 * anchors, rows, columns, low=-0.4, high=0.4, dtype=dtype)
    scores = ranked(b, batch, anchors, rows, columns, dtype=dtype)
    if opset == 6:
        given = [np.array(image, dtype), boxes.reshape(-1, 4), deltas[0], scores[0]]
        name = "ExperimentalDetectronGenerateProposalsSingleImage"
    else:
        given = [np.array([image, image[::-1] if len(image) == 2 else image][:batch], dtype), boxes, deltas, scores]
        given[0][-1, :2] += 5
        name = "GenerateProposals"
    return b.op(
        opset, name, [b.param(one, fixed=[one.ndim - 1] if one.ndim < 3 else []) for one in given], **attributes
    )


GENERATED: dict[str, dict[str, Any]] = {
    "plain": {},
    "few before": {"pre_nms_count": 12, "post_nms_count": 4},
    "fewer found": {"nms_threshold": 0.05, "post_nms_count": 40},
    "large": {"min_size": 18.0},
    # those that are too small have the score 0, where the plugin sorts in any order: not so many are asked for
    "large, many": {"min_size": 18.0, "pre_nms_count": 1000, "post_nms_count": 15},
}
for label, attributes in GENERATED.items():
    whole = {"min_size": 1.0, "nms_threshold": 0.5, "pre_nms_count": 50, "post_nms_count": 8, **attributes}
    CASES[f"GenerateProposalsSingleImage: {label}"] = Case(partial(generated, opset=6, **whole))
    for normalized in (True, False):
        CASES[f"GenerateProposals: {label} {normalized=}"] = Case(
            partial(generated, opset=9, normalized=normalized, **whole)
        )
    CASES[f"GenerateProposals: {label} i32, two scales"] = Case(
        partial(generated, opset=9, roi_num_type="i32", image=(60.0, 80.0, 0.5, 1.5), **whole)
    )


def detectron(b: Build, **attributes: Any) -> Any:
    number, classes = attributes.pop("shape", (15, 4))
    rois = rectangles(b, number, size=50.0)
    rois[3, 2] = rois[3, 0] - 1
    given = [rois, b.floats(number, 4 * classes, low=-1, high=1), ranked(b, number, classes)]
    given.append(np.array([[60.0, 80.0, 1.0]], "f4"))
    return b.op(
        6, "ExperimentalDetectronDetectionOutput", [b.param(one) for one in given], num_classes=classes, **attributes
    )


DETECTRON: dict[str, dict[str, Any]] = {
    "plain": {},
    "few": {"max_detections_per_image": 5},
    "few of a class": {"post_nms_count": 2},
    "few of a class, few": {"post_nms_count": 3, "max_detections_per_image": 4},
    "many": {"max_detections_per_image": 100, "post_nms_count": -1},
    "confident": {"score_threshold": 0.7},
    "nothing": {"score_threshold": 1.5},
    "weights": {"deltas_weights": [10.0, 10.0, 5.0, 5.0]},
    "two classes": {"shape": (9, 2)},
    "short": {"max_delta_log_wh": 0.1},
}
for label, attributes in DETECTRON.items():
    whole = {"score_threshold": 0.1, "nms_threshold": 0.4, "max_delta_log_wh": 2.0, "post_nms_count": 10}
    whole |= {"max_detections_per_image": 20, "class_agnostic_box_regression": False}
    whole |= {"deltas_weights": [1.0, 1.0, 1.0, 1.0], **attributes}
    CASES[f"DetectronDetectionOutput: {label}"] = Case(partial(detectron, **whole))


for opset in (1, 4):
    halves: dict[str, Any] = {"base_size": 16, "pre_nms_topn": 40, "post_nms_topn": 6, "nms_thresh": 0.5}
    halves |= {"feat_stride": 12, "min_size": 2, "ratio": [0.5, 1.0], "scale": [1.0, 2.0], "dtype": "f2"}
    CASES[f"Proposal opset {opset}: f16"] = Case(partial(proposal, opset=opset, **halves), rtol=2e-3)
for opset, name in ((6, "GenerateProposalsSingleImage"), (9, "GenerateProposals")):
    halves = {"min_size": 1.0, "nms_threshold": 0.5, "pre_nms_count": 50, "post_nms_count": 8, "dtype": "f2"}
    CASES[f"{name}: f16"] = Case(partial(generated, opset=opset, **halves), rtol=2e-3)
