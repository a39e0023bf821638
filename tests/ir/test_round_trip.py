"""Write-back: a model without edits is written as it was read, and an edit changes nothing elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto, helper

from gather_infer.ir import Graph, Model
from gather_infer.ir.constant import from_integers
from gather_infer.ir.write_back import journal_of, to_proto
from gather_infer.model.paths import graph_at
from gather_infer.node_ids import MAIN, GraphPath, Root
from gather_infer.tensor import UNKNOWN
from tests.ir.random_models import random_model
from tests.ir.samples import N, graph_of, nested
from tests.model.model_samples import everywhere, with_unknown_fields
from tests.onnx_versions import has_onnx, needs_onnx

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))
UNKNOWN_FIELD = b"\xc2\x3e\x05hello"
"""Field 1000 of a message: written by a newer ONNX."""

_DEEPEST = {"g": 6, "graphs": 6, "t": 9, "sparse_tensor": 9, "tensors": 9, "sparse_tensors": 9}
"""Recursive fields, and fields that would make the sample large -> the depth from which they are empty."""


def fill(message: Message, serial: Iterator[int], turns: Counter[str], depth: int = 0) -> None:
    """Set all fields of a message, with distinct names, and one that this version of onnx does not know.

    turns   name of a oneof -> the number of messages with it so far, which set its fields in turn
    """
    chosen = {}
    for oneof in message.DESCRIPTOR.oneofs:
        chosen[oneof.name] = oneof.fields[turns[oneof.full_name] % len(oneof.fields)].name
        turns[oneof.full_name] += 1
    for field in message.DESCRIPTOR.fields:
        if field.containing_oneof is not None and field.name != chosen[field.containing_oneof.name]:
            continue
        if field.message_type is not None:
            if depth < _DEEPEST.get(field.name, 12):
                value = getattr(message, field.name)
                for _ in range(2 if field.name in ("value_info", "dim", "sharded_dim") else 1):
                    fill(value.add() if field.is_repeated else value, serial, turns, depth + 1)
            continue
        value = _scalar(field, next(serial))
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    message.MergeFromString(UNKNOWN_FIELD)


def _scalar(field: Any, number: int) -> object:
    match field.type:
        case FieldDescriptor.TYPE_STRING:
            return f"{field.name}{number}"
        case FieldDescriptor.TYPE_BYTES:
            return bytes([0xFF, number % 256])
        case FieldDescriptor.TYPE_FLOAT | FieldDescriptor.TYPE_DOUBLE:
            return number / 2
        case FieldDescriptor.TYPE_ENUM:
            return field.enum_type.values[number % len(field.enum_type.values)].number
    return number % 3  # a zero, too, is set


def all_fields() -> ModelProto:
    """A model in which all fields of all messages are set; no name is used twice."""
    model = ModelProto()
    fill(model, count(), Counter())
    return model


def annotated() -> ModelProto:
    """A valid model with overloads, metadata, doc strings, sparse, string and 4-bit tensors, and annotations."""
    nodes = [N("F", ["x"], ["f"], domain="d", overload=name, doc_string=f"calls {name}") for name in ("a", "b")]
    nodes[1].output[0] = "y"
    nodes[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['']")
    graph = graph_of(nodes)
    graph.doc_string = "the main graph"
    graph.metadata_props.add(key="key", value="value")
    graph.initializer.extend(
        [
            TensorProto(name="text", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"\xff"]),
            TensorProto(name="raw4", data_type=TensorProto.INT4, dims=[3], raw_data=b"\x21\x03"),
            TensorProto(name="typed4", data_type=TensorProto.UINT4, dims=[3], int32_data=[0x21, 0x03]),
            TensorProto(name="nan", data_type=TensorProto.FLOAT, dims=[1], raw_data=b"\x01\x00\xa0\x7f"),
            TensorProto(name="described", data_type=1, dims=[0], doc_string="empty"),
        ]
    )
    values, indices = helper.make_tensor("sparse", 1, [1], [1]), helper.make_tensor("at", 7, [1], [3])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    graph.value_info.add(name="f", doc_string="an intermediate value")
    annotation = graph.quantization_annotation.add(tensor_name="f")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="nan")
    model = helper.make_model(graph, ir_version=11, producer_name="test", doc_string="a model")
    for overload in ("a", "b"):
        body = [N("Elu", ["p"], ["q"])]
        body[0].attribute.add(name="alpha", type=1, ref_attr_name="alpha")
        model.functions.append(
            helper.make_function(
                "d", "F", ["p"], ["q"], body, [helper.make_opsetid("", 20)], attributes=["alpha"], overload=overload,
                doc_string="a function",
            )
        )  # fmt: skip
    if has_onnx("1.18"):
        model.configuration.add(name="devices", num_devices=2, device=["a", "b"])
        model.graph.node[0].device_configurations.add(configuration_id="devices", pipeline_stage=1)
    return model


SAMPLES: dict[str, Callable[[], ModelProto]] = {
    "empty": ModelProto,
    "nested subgraphs": nested,
    "large tensors everywhere": everywhere,
    "unknown fields": lambda: with_unknown_fields(everywhere()),
    "annotated": annotated,
    "all fields of the format": all_fields,
    "random": lambda: random_model(3),
}
EDITED = ["large tensors everywhere", "unknown fields", "annotated", "all fields of the format"]
"""Samples whose graphs are in topological order, so that an edit moves no node."""


def text(message: Message) -> bytes:
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def copy_of(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    return copy


def insert_node(model: ModelProto, path: GraphPath, node: onnx.NodeProto) -> None:
    """Insert a node at the start of a graph."""
    nodes = graph_at(model, path).node
    nodes.add().CopyFrom(node)
    kept = list(nodes)
    order = [copy_node(each) for each in (kept[-1], *kept[:-1])]
    del nodes[:]
    nodes.extend(order)


def copy_node(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


@needs_onnx("1.18", "device configurations")
def test_the_filled_sample_has_every_field() -> None:
    """Guards `fill`: each message type of the format occurs, with each of its fields set in some message."""
    set_fields: set[str] = set()
    types: dict[str, Any] = {}
    pending: list[Any] = [all_fields()]
    while pending:
        message = pending.pop()
        types[message.DESCRIPTOR.full_name] = message.DESCRIPTOR
        for field, value in message.ListFields():
            set_fields.add(field.full_name)
            if field.message_type is not None:
                pending += value if field.is_repeated else [value]
    expected = {field.full_name for descriptor in types.values() for field in descriptor.fields}
    assert expected - set_fields == set() and len(types) > 25


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_model_without_edits_is_written_as_it_was_read(sample: str) -> None:
    proto = SAMPLES[sample]()
    before = proto.SerializeToString()
    model = Model(proto)
    assert proto.SerializeToString() == before
    written = to_proto(model)
    assert written is not proto and written.SerializeToString() == before == proto.SerializeToString()
    assert not journal_of(model, "test").edits


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_file_without_edits_is_written_as_it_was_read(path: Path) -> None:
    proto = onnx.load(path, load_external_data=False)
    before = proto.SerializeToString()
    assert to_proto(Model(proto)).SerializeToString() == before == proto.SerializeToString()


@pytest.mark.parametrize("sample", EDITED)
def test_a_new_node_in_any_graph_changes_nothing_else(sample: str) -> None:
    proto = SAMPLES[sample]()
    before = text(proto)
    paths = [path for path, graph in Model(proto).graphs.items() if graph.nodes]
    assert paths
    for path in paths:
        model, new = Model(proto), N("Identity", [""], ["brand_new"])
        model.add(model[path], new, model[path].file_nodes[0], "test", [])
        expected = copy_of(proto)
        insert_node(expected, path, new)
        assert text(to_proto(model)) == text(expected), model.graph_label(path)
        assert text(proto) == before


@pytest.mark.parametrize("sample", EDITED)
def test_a_changed_input_in_any_graph_changes_nothing_else(sample: str) -> None:
    """Nor does it change other parts of the node, such as its attributes and fields that onnx does not know."""
    proto = SAMPLES[sample]()
    before = text(proto)
    nodes = [node for node in Model(proto).nodes if node.inputs]
    assert nodes
    for node in nodes:
        assert node.origin is not None
        path, position = node.graph.path, node.origin
        model = Model(proto)
        model.set_input(model[path].file_nodes[position], 0, "", "test")
        expected = copy_of(proto)
        graph_at(expected, path).node[position].input[0] = ""
        assert text(to_proto(model)) == text(expected), str(model.label(node))
        assert text(proto) == before


def _add_constant(graph: Graph, model: Model) -> None:
    model.add_constant(graph, "brand_new", from_integers(7, np.array([3], dtype=object)), UNKNOWN, "test")


def _appended(expected: ModelProto) -> None:
    expected.graph.initializer.add(name="brand_new", data_type=7, dims=[1], raw_data=b"\x03" + bytes(7))


def _rename(graph: Graph, model: Model) -> None:
    model.rename(graph, graph.file_nodes[0].outputs[0], "renamed", "test")


def _renamed(expected: ModelProto) -> None:
    expected.graph.node[0].output[0] = "renamed"
    del expected.graph.value_info[:]  # of `f`, which the model does not have any more


def _dropped(expected: ModelProto) -> None:
    kept = [t for t in expected.graph.initializer if t.name != "raw4"]
    del expected.graph.initializer[:]
    expected.graph.initializer.extend(kept)


def _removed(expected: ModelProto) -> None:
    del expected.graph.node[0], expected.graph.value_info[:]


def _imported(expected: ModelProto) -> None:
    expected.opset_import[0].version = 99
    expected.functions[1].opset_import.add(domain="new", version=1)


def _import(graph: Graph, model: Model) -> None:
    model.import_opset("ai.onnx", 99)
    model.import_opset("new", 1, GraphPath(Root.FUNCTION, 1))


EDITS: dict[str, tuple[Callable[[Graph, Model], object], Callable[[ModelProto], None]]] = {
    "constant": (_add_constant, _appended),
    "rename": (_rename, _renamed),
    "drop": (lambda graph, model: model.drop(graph, "raw4", "test"), _dropped),
    "remove": (lambda graph, model: model.remove(graph.file_nodes[0], "test"), _removed),
    "import opsets": (_import, _imported),
}


@pytest.mark.parametrize(("edit", "by_hand"), EDITS.values(), ids=EDITS)
def test_an_edit_of_an_annotated_model(
    edit: Callable[[Graph, Model], object], by_hand: Callable[[ModelProto], None]
) -> None:
    proto = annotated()
    before = text(proto)
    model, expected = Model(proto), copy_of(proto)
    edit(model.main, model)
    by_hand(expected)
    assert text(to_proto(model)) == text(expected)
    assert text(proto) == before


def test_an_edit_in_a_function_and_in_a_training_graph() -> None:
    proto = everywhere()
    proto.training_info[0].algorithm.node.append(N("Neg", ["k"], ["g"]))  # of the main graph
    model, expected = Model(proto), copy_of(proto)
    function, step = GraphPath(Root.FUNCTION), GraphPath(Root.ALGORITHM)
    _add_constant(model[function], model)
    model.set_input(model[function].file_nodes[1], 1, "brand_new", "test")
    model.set_input(model[step].file_nodes[0], 0, "momentum", "test")
    constant = TensorProto(name="", data_type=7, dims=[1], raw_data=b"\x03" + bytes(7))
    with_constant = N("Constant", [], ["renamed"], value=constant)  # a function has no initializers
    expected.training_info[0].algorithm.node[0].input[0] = "momentum"
    model.rename(model[function], "brand_new", "renamed", "test")
    insert_node(expected, function, with_constant)
    expected.functions[0].node[2].input[1] = "renamed"
    assert text(to_proto(model)) == text(expected)


def test_untouched_nodes_keep_unknown_fields_where_the_order_changes() -> None:
    """The file is not in topological order, so that nodes move; each is still the message of the file."""
    proto = nested()
    for node in proto.graph.node:
        node.MergeFromString(UNKNOWN_FIELD)
    model = Model(proto)
    model.add(model.main, N("Neg", ["x"], ["new"]), model.main.file_nodes[2], "test", [])
    written = to_proto(model).graph.node
    assert [node.op_type for node in written] == ["Neg", "If", "Neg", "Add"]
    branch, neg, add = proto.graph.node
    assert [text(node) for node in (written[0], written[1], written[3])] == [text(neg), text(branch), text(add)]


def test_paths_of_the_sample_reach_every_root() -> None:
    """Guards the tests above: they edit graphs of all kinds."""
    roots = {path.root for sample in EDITED for path, graph in Model(SAMPLES[sample]()).graphs.items() if graph.nodes}
    assert roots == set(Root) and MAIN in Model(all_fields()).graphs
