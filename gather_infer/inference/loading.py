"""What the shape inference of a loader refuses: onnx's own, which onnxruntime runs on every graph that it loads.

It goes through all bodies, those that no run comes to among them. It knows less than the facts of a run do, so what it
does not reject with these it never rejects.
"""

from __future__ import annotations

from typing import Final

import onnx
from onnx import ModelProto

from gather_infer.inference.bodies.function import resolved
from gather_infer.inference.fallback import REJECTIONS, rejection
from gather_infer.inference.frame import Frame
from gather_infer.inference.walked import Place
from gather_infer.model import ModelFile
from gather_infer.model.external import is_external
from gather_infer.model.tensors import iter_tensors

SMALL: Final = 1 << 12
"""Bytes of a tensor up to which it is shown to the loader: sizes and axes are smaller."""


def may_be_refused(place: Place) -> bool:
    """Whether onnx rejects a node that is given all that is known of its inputs."""
    schema = place.entry.schema
    if schema is None:
        return False
    if place.entry.control:
        return True  # its bodies see names around them, which a node by itself does not have
    frame = Frame(place.body.opsets, attributes=place.body.attributes)
    inputs = [place.body.fact(name) if name else None for name in place.node.input]
    node = resolved(place.node, frame)
    return rejection(schema, node, list(place.node.input), inputs, frame.opsets.versions) is not None


def refuses(model: ModelFile) -> bool:
    """Whether onnx's inference rejects a file as it is: its checker does then, with `full_check`, and onnxruntime."""
    try:
        onnx.shape_inference.infer_shapes(_light(model), strict_mode=True)
    except REJECTIONS:
        return True
    except ValueError:  # larger than protobuf's limit
        return False
    return False


def _light(model: ModelFile) -> ModelProto:
    """The model with the data of small tensors only, wherever it is."""
    copy = ModelProto()
    copy.CopyFrom(model.proto)
    for tensor in iter_tensors(copy):
        if not is_external(tensor):
            if len(tensor.raw_data) > SMALL:
                tensor.ClearField("raw_data")
        elif model.nbytes(tensor) <= SMALL and not model.is_out_of_reach(tensor) and model.missing(tensor) is None:
            name = tensor.name
            tensor.CopyFrom(onnx.numpy_helper.from_array(model.tensor(tensor), name))
    return copy
