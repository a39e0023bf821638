"""Parts of the format that each edit keeps: one cell for each part and command.

The main graph is x -> a -> b -> y, and z beside it. Each part is found again by a probe, a function of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import compose, extract, open_model, outputs, rename
from gather_infer.editing import EditResult
from tests.editing.editing_models import parsed

Probe = Callable[[ModelProto], Any]

HEAD = '<ir_version: 10, opset_import: ["": 21, "f": 1], producer_name: "tool", producer_version: "3", domain: "d",' \
    ' model_version: 7, doc_string: "about">'  # fmt: skip
BASE = """g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}, float[N, 4] a> {
    a = Relu(x) b = Add(a, w) y = Neg(b) z = Abs(b) }"""
OTHER = parsed("g (float[K, 4] in) => (float[K, 4] out) { out = Exp(in) }", '<ir_version: 10, opset_import: ["": 21]>')

COMMANDS: dict[str, Callable[[Any], EditResult]] = {
    "extract": lambda model: extract(model, outputs="y"),
    "outputs": lambda model: outputs(model, add="a", drop="z"),
    "rename": lambda model: rename(model, inputs="x=data", outputs="y=result", dims="N=rows", nodes="Relu_0=act"),
    "compose, first": lambda model: compose(model, OTHER, mapping="z=in"),
    "compose, second": lambda model: compose(OTHER, model, mapping="out=x"),
}


def _node(model: ModelProto, op_type: str) -> Any:
    return next(node for node in model.graph.node if node.op_type == op_type)


def _entries(holder: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in holder.metadata_props}


def _tensor(model: ModelProto, name: str) -> Any:
    return next((t.SerializeToString() for t in model.graph.initializer if t.name == name), None)


def _metadata_of_the_model(model: ModelProto) -> Probe:
    model.metadata_props.add(key="author", value="me")
    return _entries


def _metadata_of_the_graph(model: ModelProto) -> Probe:
    model.graph.metadata_props.add(key="stage", value="late")
    return lambda found: _entries(found.graph)


def _metadata_of_a_node(model: ModelProto) -> Probe:
    _node(model, "Add").metadata_props.add(key="source", value="model.py:7")
    return lambda found: _entries(_node(found, "Add"))


def _metadata_of_a_value(model: ModelProto) -> Probe:
    model.graph.value_info[0].metadata_props.add(key="scale", value="1")

    def probe(found: ModelProto) -> Any:
        values = (*found.graph.value_info, *found.graph.output)
        return next(_entries(value) for value in values if value.name == "a")

    return probe


def _doc_strings(model: ModelProto) -> Probe:
    _node(model, "Add").doc_string = "adds a bias"
    model.graph.value_info[0].doc_string = "activation"
    return lambda found: (
        _node(found, "Add").doc_string,
        [v.doc_string for v in (*found.graph.value_info, *found.graph.output) if v.name == "a"],
    )


def _unknown_fields(model: ModelProto) -> Probe:
    node = _node(model, "Add")
    node.MergeFromString(bytes([0xFA, 0x3F, 2]) + b"ab")  # field 1023
    return lambda found: b"\xfa\x3f\x02ab" in _node(found, "Add").SerializeToString()


def _functions(model: ModelProto) -> Probe:
    node = _node(model, "Add")
    node.op_type, node.domain, node.overload = "plus", "f", "two"
    for overload in ("one", "two"):
        function = helper.make_function(
            "f", "plus", ["p", "q"], ["r"], [helper.make_node("Add", ["p", "q"], ["r"], doc_string=overload)],
            [helper.make_opsetid("", 21)], overload=overload,
        )  # fmt: skip
        model.functions.append(function)
    return lambda found: [f.SerializeToString() for f in found.functions if f.overload == "two"]


def _quantization(model: ModelProto) -> Probe:
    model.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "a_scale"))
    annotation = model.graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="a_scale")
    return lambda found: (
        [a.SerializeToString() for a in found.graph.quantization_annotation], _tensor(found, "a_scale"),
    )  # fmt: skip


def _overridable_input(model: ModelProto) -> Probe:
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4]))
    return lambda found: ([v.SerializeToString() for v in found.graph.input if v.name == "w"], _tensor(found, "w"))


def _sparse_initializer(model: ModelProto) -> Probe:
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([2.0], np.float32), "w"),
        numpy_helper.from_array(np.array([3])), [4],
    )  # fmt: skip
    del model.graph.initializer[:]
    model.graph.sparse_initializer.append(sparse)
    return lambda found: [s.SerializeToString() for s in found.graph.sparse_initializer]


def _typed_data(model: ModelProto) -> Probe:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.float_data.extend([4, 3, 2, 1])
    tensor.doc_string = "weights"
    return lambda found: _tensor(found, "w")


def _four_bit_tensor(model: ModelProto) -> Probe:
    held = helper.make_tensor("q", TensorProto.INT4, [4], [1, -2, 3, -4])
    model.graph.initializer.append(held)
    nodes = [helper.make_node("Cast", ["q"], ["qf"], to=1), helper.make_node("Add", ["a", "qf"], ["aq"])]
    _node(model, "Add").input[0] = "aq"
    _insert(model, 1, nodes)
    return lambda found: _tensor(found, "q")


def _string_tensor(model: ModelProto) -> Probe:
    nodes = [
        helper.make_node(
            "Constant",
            [],
            ["names"],
            value=TensorProto(name="v", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"\xff"]),
        ),
        helper.make_node("Shape", ["names"], ["count"]),
        helper.make_node("Cast", ["count"], ["countf"], to=1),
        helper.make_node("Add", ["a", "countf"], ["ac"]),
    ]
    _node(model, "Add").input[0] = "ac"
    _insert(model, 1, nodes)
    return lambda found: _node(found, "Constant").attribute[0].SerializeToString()


def _captured_values(model: ModelProto) -> Probe:
    body = onnx.parser.parse_graph("t () => (float[N, 4] u) { h = Mul(a, w) u = Add(h, a) }")
    nodes = [
        helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["c"], ["picked"], then_branch=body, else_branch=body),
    ]
    _node(model, "Add").input[0] = "picked"
    _insert(model, 1, nodes)
    return lambda found: [list(node.input) for node in _node(found, "If").attribute[0].g.node]


def _sequences(model: ModelProto) -> Probe:
    nodes = [
        helper.make_node("SequenceConstruct", ["a"], ["s"]),
        helper.make_node("Constant", [], ["first"], value_int=0),
        helper.make_node("SequenceAt", ["s", "first"], ["picked"]),
    ]
    _node(model, "Add").input[0] = "picked"
    _insert(model, 1, nodes)
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 4]))
    model.graph.value_info.append(helper.make_value_info("s", kind))
    return lambda found: [v.SerializeToString() for v in found.graph.value_info if v.name == "s"]


def _optionals(model: ModelProto) -> Probe:
    nodes = [helper.make_node("Optional", ["a"], ["o"]), helper.make_node("OptionalGetElement", ["o"], ["picked"])]
    _node(model, "Add").input[0] = "picked"
    _insert(model, 1, nodes)
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 4]))
    model.graph.value_info.append(helper.make_value_info("o", kind))
    return lambda found: [v.SerializeToString() for v in found.graph.value_info if v.name == "o"]


def _imports(model: ModelProto) -> Probe:
    return lambda found: sorted((entry.domain, entry.version) for entry in found.opset_import)


def _producer(model: ModelProto) -> Probe:
    return lambda found: (
        found.producer_name, found.producer_version, found.domain, found.model_version, found.doc_string,
    )  # fmt: skip


def _ir_version(model: ModelProto) -> Probe:
    return lambda found: found.ir_version


def _names_of_nodes(model: ModelProto) -> Probe:
    return lambda found: [node.name for node in found.graph.node if node.op_type in ("Add", "Neg")]


def _insert(model: ModelProto, at: int, nodes: list[Any]) -> None:
    rest = [*model.graph.node[:at], *nodes, *model.graph.node[at:]]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in rest]
    del model.graph.node[:]
    model.graph.node.extend(copies)


FEATURES: dict[str, Callable[[ModelProto], Probe]] = {
    "metadata of the model": _metadata_of_the_model,
    "metadata of the graph": _metadata_of_the_graph,
    "metadata of a node": _metadata_of_a_node,
    "metadata of a value": _metadata_of_a_value,
    "doc strings": _doc_strings,
    "unknown fields": _unknown_fields,
    "functions": _functions,
    "quantization": _quantization,
    "overridable input": _overridable_input,
    "sparse initializer": _sparse_initializer,
    "typed data": _typed_data,
    "four bit tensor": _four_bit_tensor,
    "string tensor": _string_tensor,
    "captured values": _captured_values,
    "sequences": _sequences,
    "optionals": _optionals,
    "imports": _imports,
    "producer": _producer,
    "ir version": _ir_version,
    "names of nodes": _names_of_nodes,
}

OF_THE_FIRST_MODEL = {"producer"}
"""Parts of which a joined model has those of the first one."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("feature", FEATURES)
def test_a_part_of_the_format_stays(feature: str, command: str) -> None:
    model = parsed(BASE, HEAD)
    model.ir_version = 10
    probe = FEATURES[feature](model)
    wanted = probe(model)
    assert wanted not in (None, [], {}, False)
    result = COMMANDS[command](model)
    if feature in OF_THE_FIRST_MODEL and command == "compose, second":
        wanted = probe(OTHER)
    if command == "compose, second" and feature == "imports":
        wanted = sorted({*wanted, *probe(OTHER)})
    assert probe(result.proto) == wanted
    onnx.checker.check_model(result.proto)


@pytest.mark.parametrize("command", COMMANDS)
def test_large_and_external_tensors_keep_their_bytes(command: str, tmp_path: Path) -> None:
    """A file above the size from which payloads stay on disk, with an inline tensor and an external one."""
    model = parsed(BASE.replace("b = Add(a, w)", "k = MatMul(a, big) l = MatMul(k, far) b = Add(l, w)"), HEAD)
    rng = np.random.default_rng(4)
    big, far = rng.standard_normal((4, 90_000)).astype(np.float32), rng.standard_normal((90_000, 4)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(big, "big"))
    held = numpy_helper.from_array(far, "far")
    (tmp_path / "far.bin").write_bytes(held.raw_data)
    held.ClearField("raw_data")
    held.data_location = TensorProto.EXTERNAL
    held.external_data.add(key="location", value="far.bin")
    model.graph.initializer.append(held)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    source = open_model(tmp_path / "m.onnx")
    assert source.payloads
    result = COMMANDS[command](source)
    for name, folder in (("same", tmp_path), ("other", tmp_path / "other")):
        folder.mkdir(exist_ok=True)
        result.save(folder / "out.onnx")
        found = onnx.load(folder / "out.onnx")
        arrays = {t.name: numpy_helper.to_array(t) for t in found.graph.initializer}
        assert arrays["big"].tobytes() == big.tobytes(), name
        assert arrays["far"].tobytes() == far.tobytes(), name
    result.save(tmp_path / "data.onnx", external_data="data.bin")
    again = onnx.load(tmp_path / "data.onnx")
    assert {t.name: numpy_helper.to_array(t).tobytes() for t in again.graph.initializer}["far"] == far.tobytes()


def test_both_models_have_large_tensors(tmp_path: Path) -> None:
    """Files of the same name in two folders, each with tensors on disk."""
    arrays = []
    for number, folder in enumerate((tmp_path / "one", tmp_path / "two")):
        folder.mkdir()
        model = parsed("g (float[N, 4] x) => (float[N, 4] y) { a = MatMul(x, big) y = MatMul(a, far) }")
        big = np.full((4, 90_000), number + 1, np.float32)
        far = np.full((90_000, 4), number + 3, np.float32)
        arrays += [big, far]
        model.graph.initializer.append(numpy_helper.from_array(big, "big"))
        held = numpy_helper.from_array(far, "far")
        (folder / "far.bin").write_bytes(held.raw_data)
        held.ClearField("raw_data")
        held.data_location = TensorProto.EXTERNAL
        held.external_data.add(key="location", value="far.bin")
        model.graph.initializer.append(held)
        (folder / "m.onnx").write_bytes(model.SerializeToString())
    result = compose(tmp_path / "one" / "m.onnx", tmp_path / "two" / "m.onnx", mapping="y=x")
    for folder in (tmp_path / "one", tmp_path):
        result.save(folder / "out.onnx")
        found = {t.name: numpy_helper.to_array(t) for t in onnx.load(folder / "out.onnx").graph.initializer}
        assert [found[name].tobytes() for name in ("big", "far", "m/big", "m/far")] == [a.tobytes() for a in arrays]
    third = compose(tmp_path / "out.onnx", result.file, mapping="m/y=x", allow_failures=True)
    third.save(tmp_path / "third.onnx")
    assert len(onnx.load(tmp_path / "third.onnx").graph.initializer) == 8
