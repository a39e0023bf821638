"""Constraints of `--input`, declared in the types of the written file."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TypeProto, helper

from gather_infer import infer
from gather_infer.inference.interface_types import declare, declared_dims
from tests.inference.models import model

Tensor = helper.make_tensor_type_proto


def untyped() -> TypeProto:
    found = TypeProto()
    found.tensor_type.shape.dim.add(dim_param="N")
    found.tensor_type.shape.dim.add()
    return found


FLOAT, HALF = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
STATED: dict[str, tuple[TypeProto, str, int | None, tuple[Any, ...] | None]] = {
    # id: (the type in the file, what is said, the element type that is written, its dims)
    "nothing, and a shape": (TypeProto(), "x=[2, b]", None, None),
    "nothing, and a type": (TypeProto(), "x=float16[2, b]", HALF, (2, "b")),
    "a shape without a type": (untyped(), "x=[2, 3]", 0, (2, 3)),
    "a shape without a type, and a type": (untyped(), "x=float16[2, 3]", HALF, (2, 3)),
    "a type": (Tensor(FLOAT, None), "x=[2, b]", FLOAT, (2, "b")),
    "a type, and a scalar": (Tensor(FLOAT, None), "x=[]", FLOAT, ()),
    "all of it": (Tensor(FLOAT, ["N", 3]), "x=float32[5, 3]", FLOAT, (5, 3)),
    "a name in place of nothing": (Tensor(FLOAT, [None, "N"]), "x=[b, N]", FLOAT, ("b", "N")),
}


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("rests", [False, True])
def test_input_constraints_are_declared(name: str, rests: bool) -> None:
    declared, said, dtype, dims = STATED[name]
    proto = model("(float[K] x) => (y) { y = Identity(x) }", opset=18)
    proto.graph.input[0].type.CopyFrom(declared)
    before = proto.SerializeToString(deterministic=True)
    found, interface = declare(proto, infer(proto, inputs=[said]), is_relied_on=rests)
    written = found.graph.input[0].type
    assert proto.SerializeToString(deterministic=True) == before
    assert declared_dims(written) == dims
    assert written.WhichOneof("value") == (None if dtype is None else "tensor_type")
    assert written.tensor_type.elem_type == (dtype or 0)
    changed = [(c.name, c.kind, c.graph, c.before, c.after) for c in interface.changed if c.kind == "input"]
    old = declared_dims(declared)
    assert changed == ([] if dims is None else [("x", "input", "", old, dims)])
    if dims is None:
        assert written == declared
        assert [(o.name, o.axis) for o in interface.dynamic_dims if o.kind == "input"] == [("x", None)]
    else:
        open_axes = [axis for axis, dim in enumerate(dims) if not isinstance(dim, int)]
        assert [(o.name, o.axis) for o in interface.dynamic_dims if o.kind == "input"] == [
            ("x", axis) for axis in open_axes
        ]
