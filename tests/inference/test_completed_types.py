"""Declared types are completed as onnx completes them: the same for a type of any kind, judged by `onnx.shape_inference`."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto, helper

from gather_infer import infer
from gather_infer.shape_inference import infer_shapes

F, I64 = TensorProto.FLOAT, TensorProto.INT64
tensor = helper.make_tensor_type_proto
sequence = helper.make_sequence_type_proto


def sparse(element: int, shape: list[str | int | None] | None) -> TypeProto:
    made, dense = TypeProto(), tensor(element, shape).tensor_type
    made.sparse_tensor_type.elem_type = element
    if dense.HasField("shape"):
        made.sparse_tensor_type.shape.CopyFrom(dense.shape)
    return made


def of_map(value: TypeProto, key: int = I64) -> TypeProto:
    made = TypeProto()
    made.map_type.key_type = key
    made.map_type.value_type.CopyFrom(value)
    return made


KINDS: dict[str, Callable[[int, list[str | int | None] | None], TypeProto]] = {
    "a tensor": tensor,
    "a sparse tensor": sparse,
    "a sequence": lambda *a: sequence(tensor(*a)),
    "an optional tensor": lambda *a: helper.make_optional_type_proto(tensor(*a)),
    "an optional sequence": lambda *a: helper.make_optional_type_proto(sequence(tensor(*a))),
    "a map": lambda *a: of_map(tensor(*a)),
    "a sequence of maps": lambda *a: sequence(of_map(tensor(*a))),
}
DECLARED: dict[str, tuple[int, list[str | int | None] | None]] = {
    # id:                    (element type, dims)
    "nothing":               (0, None),
    "an element type":       (F, None),
    "a rank":                (F, [None, None]),
    "a name":                (F, ["K", None]),
    "a name and a size":     (F, ["K", 3]),
    "a size for a name":     (F, [5, 3]),
    "a name for a size":     (F, ["K", "L"]),
    "a wrong size":          (F, ["K", 4]),
    "a wrong rank":          (F, ["N"]),
    "a wrong element type":  (I64, ["N", 3]),
    "a rank alone":          (0, [None, None]),
}  # fmt: skip
OTHERS: dict[str, tuple[TypeProto, TypeProto]] = {
    # id:                        (what the input is, what its copies are declared)
    "a tensor as a sequence":    (tensor(F, ["N", 3]), sequence(tensor(F, ["N", 3]))),
    "a sequence as a tensor":    (sequence(tensor(F, ["N", 3])), tensor(F, ["N", 3])),
    "an optional as a sequence": (helper.make_optional_type_proto(tensor(F, ["N", 3])), sequence(tensor(F, None))),
    "a map with other keys":     (of_map(tensor(F, ["N", 3])), of_map(tensor(F, None), TensorProto.STRING)),
    "a sparse tensor as dense":  (sparse(F, ["N", 3]), tensor(F, None)),
}  # fmt: skip


def copied(given: TypeProto, declared: TypeProto) -> ModelProto:
    """Two copies in a row of an input, the first one in value_info."""
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["h"]), helper.make_node("Identity", ["h"], ["y"])],
        "g",
        [ValueInfoProto(name="x", type=given)],
        [ValueInfoProto(name="y", type=declared)],
        value_info=[ValueInfoProto(name="h", type=declared)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def types(proto: ModelProto) -> dict[str, TypeProto]:
    return {info.name: info.type for info in (*proto.graph.value_info, *proto.graph.output)}


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_declaration_is_completed_as_onnx_does(kind: str, declared: str) -> None:
    made = KINDS[kind]
    proto = copied(made(F, ["N", 3]), made(*DECLARED[declared]))
    expected = types(onnx.shape_inference.infer_shapes(proto))
    assert types(infer_shapes(proto)) == expected
    if declared.startswith("a wrong"):
        assert expected["h"] == made(*DECLARED[declared]), "what contradicts stays as it is"
        assert infer(proto).diagnostics
    else:
        assert not infer(proto).errors


@pytest.mark.parametrize("name", OTHERS)
def test_a_declaration_of_another_kind_stays(name: str) -> None:
    given, declared = OTHERS[name]
    proto = copied(given, declared)
    assert types(infer_shapes(proto)) == {"h": declared, "y": declared}
    assert {found.code for found in infer(proto).diagnostics} == {"GI201", "GI202"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_inferred_takes_the_place_of_what_is_declared_inside(kind: str) -> None:
    """`annotated` writes what every run has; of an output only the shape of a tensor, when it has none."""
    made = KINDS[kind]
    for element, dims in DECLARED.values():
        declared = made(element, dims)
        found = types(infer(copied(made(F, ["N", 3]), declared)).annotated())
        assert found["h"] == made(F, ["N", 3])
        if kind != "a tensor" or dims is not None:
            assert found["y"] == declared
        else:
            assert found["y"] == made(F, ["N", 3])
