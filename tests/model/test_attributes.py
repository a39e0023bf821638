"""Attributes of nodes as Python values, compared with `onnx.helper`."""

from __future__ import annotations

import pytest
from onnx import AttributeProto, TensorProto, helper

from gather_infer.model.attributes import attribute_of, attributes_of, decoded, integer_attribute

VALUES = {
    "int": -3,
    "ints": [1, -2],
    "float": 0.5,
    "floats": [0.5, 2.0],
    "string": "left",
    "strings": ["a", "b"],
    "tensor": TensorProto(data_type=7, dims=[1], int64_data=[4]),
    "graph": helper.make_graph([], "body", [], []),
}


@pytest.mark.parametrize("is_typed", [True, False], ids=["typed", "without a type"])
@pytest.mark.parametrize("name", VALUES)
def test_each_type(name: str, is_typed: bool) -> None:
    attribute = helper.make_attribute(name, VALUES[name])
    expected = helper.get_attribute_value(attribute)
    if not is_typed:
        attribute.ClearField("type")
    found = decoded(attribute)
    if isinstance(expected, bytes):
        expected = expected.decode()
    if isinstance(expected, list):
        expected = tuple(item.decode() if isinstance(item, bytes) else item for item in expected)
    assert found == expected
    assert type(found) is type(expected)


def test_absent_and_unset_attributes() -> None:
    node = helper.make_node("Any", [], [], axis=1, mode="linear")
    assert attributes_of(node) == {"axis": 1, "mode": "linear"}
    assert (attribute_of(node, "axis"), attribute_of(node, "to"), attribute_of(node, "to", 7)) == (1, None, 7)
    assert (integer_attribute(node, "axis"), integer_attribute(node, "mode", 2), integer_attribute(node, "to")) == (
        1,
        2,
        0,
    )
    assert decoded(AttributeProto(name="axis")) is None
    assert decoded(AttributeProto(name="axis", ints=[], type=AttributeProto.INTS)) == ()


def test_bytes_that_are_not_utf8_are_escaped() -> None:
    assert decoded(AttributeProto(name="mode", s=b"a\xff", type=AttributeProto.STRING)) == "a\\xff"
