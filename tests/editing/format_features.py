"""The table of the parts of a model's format: each is added to a model, and found again by a probe.

The model is that of `BASE`, whose main graph is x -> a -> b -> y, and z beside it. Most parts hang on a node of an
unknown operator, `Op`, whose result is added to `a`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

Probe = Callable[[ModelProto], Any]
"""A function of the edited model, whose result is to be that for the original."""
Feature = Callable[[ModelProto], Probe]
"""Adds a part to a model and returns its probe."""

HEAD = '<ir_version: 10, opset_import: ["": 21, "f": 1], producer_name: "tool", producer_version: "3", domain: "d",' \
    ' model_version: 7, doc_string: "about">'  # fmt: skip
BASE = """g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) <float[4] w = {1, 2, 3, 4}, float[N, 4] a> {
    a = Relu(x) b = Add(a, w) y = Neg(b) z = Abs(b) }"""


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
        helper.make_node("SequenceConstruct", ["a"], ["held"]),
        helper.make_node("Constant", [], ["first"], value_int=0),
        helper.make_node("SequenceAt", ["held", "first"], ["picked"]),
    ]
    return _declared(model, nodes, helper.make_sequence_type_proto)


def _optionals(model: ModelProto) -> Probe:
    nodes = [
        helper.make_node("Optional", ["a"], ["held"]),
        helper.make_node("OptionalGetElement", ["held"], ["picked"]),
    ]
    return _declared(model, nodes, helper.make_optional_type_proto)


def _declared(model: ModelProto, nodes: list[NodeProto], kind: Callable[[TypeProto], TypeProto]) -> Probe:
    """Nodes before the Add, which put its input into the value `held` and take it out again; the type of `held`."""
    _node(model, "Add").input[0] = "picked"
    _insert(model, 1, nodes)
    held = kind(helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 4]))
    model.graph.value_info.append(helper.make_value_info("held", held))
    return lambda found: [v.SerializeToString() for v in found.graph.value_info if v.name == "held"]


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


# parts of a node beside the main path


def _with_op(model: ModelProto, *reads: str, **attributes: Any) -> onnx.NodeProto:
    """A node of an unknown operator that reads `w` and others; its result has a declared type and is added to `a`."""
    node = helper.make_node("Op", ["w", *reads], ["loose"], name="op", domain="my", **attributes)
    model.graph.initializer.append(numpy_helper.from_array(np.array([4]), "four"))
    _node(model, "Add").input[1] = "wide"
    _insert(model, 0, [node, helper.make_node("Reshape", ["loose", "four"], ["wide"])])
    model.opset_import.add(domain="my", version=1)
    model.graph.value_info.append(helper.make_tensor_value_info("wide", TensorProto.FLOAT, [4]))
    return model.graph.node[0]


def _message_of_op(found: ModelProto) -> bytes:
    message: bytes = _node(found, "Op").SerializeToString()
    return message


def _attribute(value: AttributeProto) -> Feature:
    def add(model: ModelProto) -> Probe:
        _with_op(model).attribute.append(value)
        return _message_of_op

    return add


def _constant(tensor: TensorProto) -> Feature:
    """An initializer `t` that the node reads."""

    def add(model: ModelProto) -> Probe:
        _with_op(model, "t")
        model.graph.initializer.append(tensor)
        model.graph.initializer[-1].name = "t"
        return lambda found: _tensor(found, "t")

    return add


def _of_type(data_type: int) -> Feature:
    if data_type == TensorProto.STRING:
        return _constant(TensorProto(data_type=data_type, dims=[2], string_data=[b"a", b"\xff"]))
    name = TensorProto.DataType.Name(data_type)
    bits = next((int(n) for n in "246" if name in (f"UINT{n}", f"INT{n}") or name.startswith(f"FLOAT{n}E")), 0)
    bits = bits or 8 * helper.tensor_dtype_to_np_dtype(data_type).itemsize
    return _constant(TensorProto(data_type=data_type, dims=[8], raw_data=bytes(n % 2 for n in range(bits))))


def _type(value: TypeProto) -> Feature:
    """A declared type of another result of the node, which nothing reads."""

    def add(model: ModelProto) -> Probe:
        _with_op(model).output.append("typed")
        model.graph.value_info.append(helper.make_value_info("typed", value))
        return lambda found: [v.SerializeToString() for v in found.graph.value_info if v.name == "typed"]

    return add


def _value(edit: Callable[[Any], object], name: str = "a") -> Feature:
    """A part of the declaration of a value, wherever it is declared."""

    def add(model: ModelProto) -> Probe:
        _with_op(model)
        graph = model.graph
        edit(next(v for v in (*graph.value_info, *graph.input, *graph.output) if v.name == name))

        def probe(found: ModelProto) -> Any:
            values = (*found.graph.value_info, *found.graph.input, *found.graph.output)
            held = [v for v in values if v.name in (name, {"x": "data", "y": "result"}.get(name))]
            return [(v.doc_string, _entries(v), v.type.denotation, _dim_denotations(v)) for v in held]

        return probe

    return add


def _dim_denotations(value: Any) -> list[str]:
    return [dim.denotation for dim in value.type.tensor_type.shape.dim]


def _op(edit: Callable[[Any], object]) -> Feature:
    """A part of the node itself."""

    def add(model: ModelProto) -> Probe:
        edit(_with_op(model))
        return _message_of_op

    return add


def _inputs_of_op(*reads: str) -> Feature:
    def add(model: ModelProto) -> Probe:
        _with_op(model, *reads)
        return lambda found: list(_node(found, "Op").input)

    return add


def _model(edit: Callable[[Any], object], part: Callable[[Any], Any]) -> Feature:
    def add(model: ModelProto) -> Probe:
        edit(model)
        return part

    return add


def _function(edit: Callable[[Any], object], *, calls: str = "plus") -> Feature:
    """A part of a function that a node calls, perhaps in another function."""

    def add(model: ModelProto) -> Probe:
        node = _node(model, "Add")
        node.op_type, node.domain = calls, "f"
        for name, op, domain in (("plus", "Add", ""), ("outer", "plus", "f")):
            body = [helper.make_node(op, ["p", "q"], ["r"], domain=domain)]
            imports = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
            model.functions.append(helper.make_function("f", name, ["p", "q"], ["r"], body, imports))
            if name == calls:
                break
        edit(model.functions[0])
        return lambda found: [function.SerializeToString() for function in found.functions]

    return add


def _body(edit: Callable[[Any], object]) -> Feature:
    """A part of the branches of an If."""

    def add(model: ModelProto) -> Probe:
        body = onnx.parser.parse_graph("t () => (float[4] u) { h = Abs(w) u = Neg(h) }")
        edit(body)
        condition = helper.make_tensor("v", TensorProto.BOOL, [], [True])
        nodes = [
            helper.make_node("Constant", [], ["c"], value=condition),
            helper.make_node("If", ["c"], ["wide"], name="if", then_branch=body, else_branch=body),
        ]
        _node(model, "Add").input[1] = "wide"
        _insert(model, 0, nodes)
        return lambda found: [_parts_of_body(attribute.g) for attribute in _node(found, "If").attribute]

    return add


def _parts_of_body(body: Any) -> Any:
    """All parts of the body but the sizes that it declares."""
    return (
        body.doc_string,
        _entries(body),
        [(node.op_type, *node.input, *node.output) for node in body.node],
        [tensor.SerializeToString() for tensor in body.initializer],
        [annotation.SerializeToString() for annotation in body.quantization_annotation],
        [(value.name, value.type.tensor_type.elem_type) for value in (*body.input, *body.output, *body.value_info)],
    )


def _loop(model: ModelProto) -> Probe:
    """A Loop that reads a value of the main graph."""
    body = onnx.parser.parse_graph(
        "t (int64 i, bool c, float[4] h) => (bool d, float[4] k) { d = Identity(c) k = Add(h, w) }"
    )
    trips = helper.make_tensor("v", TensorProto.INT64, [], [2])
    nodes = [
        helper.make_node("Constant", [], ["n"], value=trips),
        helper.make_node("Loop", ["n", "", "w"], ["wide"], name="loop", body=body),
    ]
    _node(model, "Add").input[1] = "wide"
    _insert(model, 0, nodes)
    return lambda found: _parts_of_body(_node(found, "Loop").attribute[0].g)


def _scan(model: ModelProto) -> Probe:
    body = onnx.parser.parse_graph("t (float h, float e) => (float k, float s) { k = Add(h, e) s = Identity(k) }")
    nodes = [
        helper.make_node("Constant", [], ["zero"], value=helper.make_tensor("v", TensorProto.FLOAT, [], [0.0])),
        helper.make_node("Scan", ["zero", "w"], ["last", "wide"], name="scan", body=body, num_scan_inputs=1),
    ]
    _node(model, "Add").input[1] = "wide"
    _insert(model, 0, nodes)
    return lambda found: [_parts_of_body(a.g) for a in _node(found, "Scan").attribute if a.name == "body"]


def _annotations(model: ModelProto) -> Probe:
    """A scale and a zero point of a constant, and of a value."""
    for name in ("w", "b"):
        annotation = model.graph.quantization_annotation.add(tensor_name=name)
        for key in ("SCALE_TENSOR", "ZERO_POINT_TENSOR"):
            model.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), f"{name}_{key}"))
            annotation.quant_parameter_tensor_names.add(key=key, value=f"{name}_{key}")
    return lambda found: (
        [a.SerializeToString() for a in found.graph.quantization_annotation],
        [t.name for t in found.graph.initializer if "TENSOR" in t.name],
    )


def _same_names(model: ModelProto) -> Probe:
    """Two nodes of one name, and one without a name."""
    _with_op(model)
    names = {"Op": "same", "Reshape": "", "Add": "same"}
    for op_type, name in names.items():
        _node(model, op_type).name = name
    return lambda found: [node.name for node in found.graph.node if node.op_type in names]


def _unknown_field(message: Any) -> None:
    message.MergeFromString(bytes([0xFA, 0x3F, 2]) + b"ab")  # field 1023


def _with_unknown_field(tensor: TensorProto) -> TensorProto:
    copy = TensorProto.FromString(tensor.SerializeToString())
    _unknown_field(copy)
    return copy


FLOATS: Final = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
KINDS: Final[dict[str, TypeProto]] = {
    "of a tensor without a shape": TypeProto(tensor_type=TypeProto.Tensor(elem_type=TensorProto.FLOAT)),
    "of a scalar": helper.make_tensor_type_proto(TensorProto.FLOAT, []),
    "of an empty tensor": helper.make_tensor_type_proto(TensorProto.FLOAT, [0, 2]),
    "with an unnamed dim": helper.make_tensor_type_proto(TensorProto.FLOAT, [None, 2]),
    "with a symbol": helper.make_tensor_type_proto(TensorProto.FLOAT, ["Q", 2]),
    "with an expression": helper.make_tensor_type_proto(TensorProto.FLOAT, ["Q + 1", 2]),
    "of a sequence": helper.make_sequence_type_proto(FLOATS),
    "of a sequence of sequences": helper.make_sequence_type_proto(helper.make_sequence_type_proto(FLOATS)),
    "of an optional": helper.make_optional_type_proto(FLOATS),
    "of an optional sequence": helper.make_optional_type_proto(helper.make_sequence_type_proto(FLOATS)),
    "of a map": helper.make_map_type_proto(TensorProto.INT64, FLOATS),
    "of a sparse tensor": helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [4, 4]),
}
TENSOR: Final = helper.make_tensor("v", TensorProto.FLOAT, [2], [1.0, float("nan")])
SPARSE: Final = helper.make_sparse_tensor(
    numpy_helper.from_array(np.array([2.0], np.float32), "v"), numpy_helper.from_array(np.array([3])), [4]
)
GRAPH: Final = onnx.parser.parse_graph("t () => (float[1] u) <float[1] k = {1}> { u = Neg(k) }")
ATTRIBUTES: Final[dict[str, Any]] = {
    "float": -0.0, "int": -(2**63), "string": b"\xff", "tensor": TENSOR, "graph": GRAPH, "sparse tensor": SPARSE,
    "type": FLOATS, "floats": [0.5, -0.0], "ints": [1, -1], "strings": ["a", "b"], "tensors": [TENSOR, TENSOR],
    "graphs": [GRAPH, GRAPH], "sparse tensors": [SPARSE, SPARSE], "types": [FLOATS, FLOATS],
}  # fmt: skip
TYPED_DATA: Final = {
    "float data": TensorProto(data_type=TensorProto.FLOAT, dims=[2], float_data=[1.5, -0.0]),
    "int32 data": TensorProto(data_type=TensorProto.BFLOAT16, dims=[2], int32_data=[0x3F80, 0x7FC1]),
    "int64 data": TensorProto(data_type=TensorProto.INT64, dims=[2], int64_data=[1, -1]),
    "double data": TensorProto(data_type=TensorProto.DOUBLE, dims=[2], double_data=[1.5, -0.0]),
    "uint64 data": TensorProto(data_type=TensorProto.UINT64, dims=[2], uint64_data=[1, 2**64 - 1]),
    "no elements": TensorProto(data_type=TensorProto.FLOAT, dims=[0, 3]),
    "doc string": TensorProto(data_type=TensorProto.FLOAT, dims=[1], float_data=[1], doc_string="weights"),
    "metadata": TensorProto(
        data_type=TensorProto.FLOAT, dims=[1], float_data=[1],
        metadata_props=[onnx.StringStringEntryProto(key="source", value="w.pt")],
    ),
}  # fmt: skip


FEATURES: Final[dict[str, Feature]] = {
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
    "version of the producer": _model(lambda m: None, lambda m: m.producer_version),
    "domain of the model": _model(lambda m: None, lambda m: m.domain),
    "version of the model": _model(lambda m: None, lambda m: m.model_version),
    "doc string of the model": _model(lambda m: None, lambda m: m.doc_string),
    "doc string of the graph": _model(lambda m: setattr(m.graph, "doc_string", "net"), lambda m: m.graph.doc_string),
    "name of the graph": _model(lambda m: setattr(m.graph, "name", "net"), lambda m: m.graph.name),
    "unread import": _model(
        lambda m: m.opset_import.add(domain="unread", version=3),
        lambda m: [entry.version for entry in m.opset_import if entry.domain == "unread"],
    ),
    "quantization of several values": _annotations,
    "equal and empty names of nodes": _same_names,
    "loop": _loop,
    "scan": _scan,
    "lacking operand": _inputs_of_op("", "w"),
    "lacking operand at the end": _inputs_of_op("w", ""),
    "operand that is read twice": _inputs_of_op("w"),
    "lacking result": _op(lambda node: node.output.insert(0, "") or node.output.append("")),
    "reference to an overload": _op(lambda node: setattr(node, "overload", "two")),
    "devices of a node": _op(lambda node: node.device_configurations.add(configuration_id="c", pipeline_stage=1)),
    "unknown field of a node": _op(_unknown_field),
    "unknown field of an attribute": _op(lambda node: _unknown_field(node.attribute.add(name="k", type=2, i=3))),
    "doc string of an attribute": _op(lambda node: node.attribute.add(name="k", type=2, i=3, doc_string="why")),
    "unknown field of a tensor": _constant(_with_unknown_field(TYPED_DATA["float data"])),
    "doc string of a value": _value(lambda value: setattr(value, "doc_string", "activation")),
    "doc string of an input": _value(lambda value: setattr(value, "doc_string", "pixels"), "x"),
    "doc string of an output": _value(lambda value: setattr(value, "doc_string", "logits"), "y"),
    "metadata of an input": _value(lambda value: value.metadata_props.add(key="unit", value="m"), "x"),
    "metadata of an output": _value(lambda value: value.metadata_props.add(key="unit", value="m"), "y"),
    "denotation of a value": _value(lambda value: setattr(value.type, "denotation", "TENSOR")),
    "denotation of an input": _value(lambda value: setattr(value.type, "denotation", "IMAGE"), "x"),
    "denotation of an output": _value(lambda value: setattr(value.type, "denotation", "TENSOR"), "y"),
    "denotation of a dim": _value(
        lambda value: setattr(value.type.tensor_type.shape.dim[1], "denotation", "DATA_CHANNEL"), "x"
    ),
    "doc string of a function": _function(lambda function: setattr(function, "doc_string", "adds")),
    "metadata of a function": _function(lambda function: function.metadata_props.add(key="k", value="v")),
    "attribute of a function": _function(lambda function: function.attribute.append("alpha")),
    "default in a function": _function(
        lambda function: function.attribute_proto.append(helper.make_attribute("beta", 2.0))
    ),
    "types in a function": _function(
        lambda function: function.value_info.append(helper.make_value_info("r", KINDS["with a symbol"]))
    ),
    "reference to an attribute of a function": _function(
        lambda function: (
            function.attribute.append("alpha"),
            function.node[0].attribute.add(name="k", type=1, ref_attr_name="alpha"),
        )
    ),
    "function that another calls": _function(lambda function: None, calls="outer"),
    "unknown field of a function": _function(_unknown_field),
    "doc string in a branch": _body(lambda body: setattr(body, "doc_string", "then")),
    "constant in a branch": _body(lambda body: body.initializer.append(TENSOR)),
    "types in a branch": _body(lambda body: body.value_info.append(helper.make_value_info("h", FLOATS))),
    "metadata in a branch": _body(lambda body: body.metadata_props.add(key="k", value="v")),
    "quantization in a branch": _body(lambda body: body.quantization_annotation.add(tensor_name="h")),
    **{f"attribute, {kind}": _attribute(helper.make_attribute("k", value)) for kind, value in ATTRIBUTES.items()},
    **{f"tensor, {kind}": _constant(tensor) for kind, tensor in TYPED_DATA.items()},
    **{f"elements, {name.lower()}": _of_type(number) for name, number in TensorProto.DataType.items() if number},
    **{f"type {kind}": _type(value) for kind, value in KINDS.items()},
}
