"""Fusion: nodes of several lowered layers become one operator of ONNX that computes the same.

OpenVINO's readers split an operator into layers, and have a layer of its own for each scale and bias. A fused operator
may round differently, as OpenVINO's own fusions do, so this is a part of the conversion and not a rewrite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gather_infer.ir import Node
from gather_infer.openvino.fusion.affine import AFFINE
from gather_infer.openvino.fusion.fused_nodes import Fusion
from gather_infer.openvino.fusion.grouped_heads import fuse_grouped_heads
from gather_infer.openvino.fusion.log_sum_exp import fuse_log_sum_exp
from gather_infer.openvino.fusion.rms_normalization import fuse_rms_normalization
from gather_infer.passes.mutable_model import MutableModel

__all__ = ["Fusion", "fuse_nodes"]

_RMS_SINCE: Final = 23
"""First ai.onnx opset with RMSNormalization."""


def fuse_nodes(model: MutableModel, opset: int) -> list[Fusion]:
    """Fuse the new nodes of a model of ai.onnx `opset`; nodes of the file are not changed."""
    fusions: dict[str, Callable[[MutableModel, Node, list[Fusion]], None]] = {
        **AFFINE, "Attention": fuse_grouped_heads, "Log": fuse_log_sum_exp,
    }  # fmt: skip
    if opset >= _RMS_SINCE:
        fusions["ReduceMean"] = fuse_rms_normalization
    made: list[Fusion] = []
    for graph in list(model.graphs.values()):
        for node in list(graph.nodes):
            fuse = fusions.get(node.op_type)
            if fuse is not None and node.source is None and not node.domain and not node.is_removed:
                fuse(model, node, made)
    return made
