"""The model that the reader builds from an IR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, numpy_helper

from gather_infer import Inference, infer
from gather_infer.domains import canonical_domain
from gather_infer.openvino.ir import IR, PortType, read_ir
from gather_infer.openvino.ir.ir_element_types import onnx_type
from gather_infer.openvino.ir.layers import split_names
from gather_infer.tensor import DType
from tests.onnx_versions import has_type
from tests.openvino.ir_made import Layer, chain, computed, const, net, parameter, relu, result, save, written


def dims(value: onnx.ValueInfoProto) -> list[int | str] | None:
    shape = value.type.tensor_type
    return [d.dim_param or d.dim_value for d in shape.shape.dim] if shape.HasField("shape") else None


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def held(read: IR) -> dict[str, TensorProto]:
    return {t.name: t for t in read.model.proto.graph.initializer}


@pytest.mark.parametrize("version", [10, 11])
def test_a_chain(version: int, tmp_path: Path) -> None:
    rest = "<meta_data><cli_parameters/></meta_data><statistics/>" if version == 10 else "<rt_info/>"
    read = read_ir(save(tmp_path, chain(version=version, rest=rest)))
    graph = read.model.proto.graph
    assert [(n.op_type, n.domain, n.name, list(n.input), list(n.output)) for n in graph.node] == [
        ("ReLU", "openvino.opset1", "ReLU_1", ["Parameter_0"], ["Result_2"])
    ]
    assert [(v.name, dims(v), v.type.tensor_type.elem_type) for v in graph.input] == [("Parameter_0", [2, 3], 1)]
    assert [(v.name, dims(v), v.type.tensor_type.elem_type) for v in graph.output] == [("Result_2", None, 1)]
    assert {o.domain: o.version for o in read.model.proto.opset_import} == {"": 21, "openvino.opset1": 1}
    assert read.version == version
    assert read.layers == {("Parameter", "opset1"): 1, ("ReLU", "opset1"): 1, ("Result", "opset1"): 1}
    assert read.bin is None and read.sinks == ()
    assert read.ports == {"Parameter_0": PortType("f32", None), "Result_2": PortType("f32", (2, 3))}
    assert read.model.name == str(tmp_path / "m.xml") and read.model.path is None
    assert read.model.base_dir == tmp_path


def test_the_model_can_be_inferred_and_written(tmp_path: Path) -> None:
    for name in ("mlp", "shapes", "nested"):
        proto = read_ir(written(name)).model.proto
        assert onnx.ModelProto.FromString(proto.SerializeToString()) == proto
        infer(read_ir(written(name)).model)


SHAPES = {
    # text: (dims, what the metadata records)
    "": ([], ""),
    "2,3": ([2, 3], ""),
    "2, 3 ,4": ([2, 3, 4], ""),
    "0": ([0], ""),
    "?": (["x.0"], ""),
    "-1,3": (["x.0", 3], ""),
    "...": (None, ""),
    " ... ": (None, ""),
    "1..10,?": (["x.0", "x.1"], "x.0=1..10"),
    "2..": (["x.0"], "x.0=2.."),
    "..7,3..4": (["x.0", "x.1"], "x.0=0..7; x.1=3..4"),
    "4..4": ([4], ""),
    "0..": (["x.0"], ""),
    "0..9223372036854775807": (["x.0"], ""),
    "9223372036854775807": ([9223372036854775807], ""),
}


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_of_parameters(text: str, tmp_path: Path) -> None:
    expected, recorded = SHAPES[text]
    read = read_ir(save(tmp_path, net([parameter("0", text, name="x"), result("1")], "0.0>1.0")))
    proto = read.model.proto
    assert dims(proto.graph.input[0]) == expected
    assert {p.key: p.value for p in proto.metadata_props} == ({"gather_infer.dims": recorded} if recorded else {})


def first_dims(inference: Inference, read: IR) -> list[Any]:
    """The first dim of each input."""
    shapes = [inference[value.name].shape for value in read.model.proto.graph.input]
    return [shape[0] for shape in shapes if shape is not None]


ODD_NAMES = ["x", "a b", "it's", "'n'", "a;b=1", "2*n", "n.0+m", "1", "a\\b", "é", "min(n, n)", ".", "a/b", "x" * 300]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_bounds_are_declared_to_the_next_run(name: str, tmp_path: Path) -> None:
    layers = [parameter("0", "1..10,?", name=name), parameter("1", "2..", name="n"), result("2"), result("3")]
    read = read_ir(save(tmp_path, net(layers, "0.0>2.0 1.0>3.0")))
    first = infer(read.model)
    x, n = first_dims(first, read)
    bounds = first.input_constraints.dims.bounds
    assert {name: (b.lo, b.hi) for name, b in bounds.items()} == {x.name: (1, 10), n.name: (2, None)}
    assert x.is_symbol and n.name == "n.0" and not first.diagnostics


def test_symbols_are_of_one_dim_each(tmp_path: Path) -> None:
    layers = [parameter(str(i), "?", name=name) for i, name in enumerate(("2*n", "2_n", "2+n", "n"))]
    read = read_ir(save(tmp_path, net(layers, "")))
    found = first_dims(infer(read.model), read)
    assert len({dim.name for dim in found}) == 4 and all(dim.is_symbol for dim in found)


def test_shapes_that_openvino_writes() -> None:
    proto = read_ir(written("shapes")).model.proto
    assert [(v.name, dims(v)) for v in proto.graph.input] == [
        ("first,second", ["first,second.0", "first,second.1", "first,second.2", "first,second.3", 5, 0]),
        ("b", None),
        ("c", []),
    ]
    recorded = {p.key: p.value for p in proto.metadata_props}["gather_infer.dims"]
    assert recorded == "'first,second.0'=2..7; 'first,second.2'=3..; 'first,second.3'=0..9"


NAMES = {
    # what a port says: the names
    "": (),
    "a": ("a",),
    "a,b": ("a", "b"),
    r"a\,b,c": ("a,b", "c"),
    r"a\,b\,c": ("a,b,c",),
    "a,,b": ("a", "b"),
    r"a\b": (r"a\b",),
    "é:0/x": ("é:0/x",),
    "a\\": ("a\\",),
}


@pytest.mark.parametrize("text", NAMES)
def test_names_of_ports(text: str) -> None:
    assert split_names(text) == NAMES[text]


def test_a_long_list_of_names_takes_no_time() -> None:
    assert len(split_names("a\\," * 200_000)) == 1
    assert len(split_names("a," * 200_000 + "\\" * 200_000)) == 200_001


def test_names_of_inputs_and_outputs(tmp_path: Path) -> None:
    xml = net(
        [
            parameter("0", outs=("0:FP32::a,layer",), name="layer"),
            parameter("1", outs=(r"0:FP32::b\,c,d",), name="other"),
            relu("2"),
            Layer("3", "ReLU", ("0:FP32:",), ("1:FP32::r,s",)),
            result("4"),
            Layer("5", "Result", ("0:FP32:",), name="five"),
            Layer("6", "Result", ("0:FP32:",), name="six"),
            Layer("7", "Result", ("0:FP32:",), name="seven"),
        ],
        "0.0>2.0 1.0>3.0 2.1>4.0 3.1>5.0 3.1>6.0 0.0>7.0",
    ).replace('name="six"', r'name="six" output_names="s\,t,u"')
    graph = read_ir(save(tmp_path, xml)).model.proto.graph
    assert [v.name for v in graph.input] == ["layer", "b,c"]
    assert [v.name for v in graph.output] == ["Result_4", "r", "s,t", "a"]
    assert [(n.op_type, list(n.input), list(n.output)) for n in graph.node] == [
        ("ReLU", ["layer"], ["Result_4"]),
        ("ReLU", ["b,c"], ["r"]),
        ("Identity", ["r"], ["s,t"]),
        ("Identity", ["layer"], ["a"]),
    ]


def test_layers_may_have_the_same_name(tmp_path: Path) -> None:
    xml = net(
        [
            parameter("0", name="n"),
            relu("1", name="n"),
            relu("2", name="n"),
            result("3", name="n"),
            result("4", name="n"),
        ],
        "0.0>1.0 1.1>2.0 1.1>3.0 2.1>4.0",
    )
    graph = read_ir(save(tmp_path, xml)).model.proto.graph
    assert [n.name for n in graph.node] == ["n", "n"]
    assert [list(n.input) for n in graph.node] == [["n"], ["n_1"]]
    assert [v.name for v in graph.output] == ["n_1", "n_2"]


def test_ports_are_known_by_id_and_layers_stand_in_any_order(tmp_path: Path) -> None:
    two = ("5:FP32:", "3:FP32:")
    xml = net(
        [
            result("9"),
            Layer("8", "Subtract", two, ("7:FP32:",)),
            Layer("s", "Split", ("0:FP32:",), ("2:FP32:", "1:FP32:")),
            parameter("1", name="second"),
            parameter("0", name="first"),
        ],
        "8.7>9.0 1.0>8.3 s.1>8.5 0.0>s.0",
    )
    graph = read_ir(save(tmp_path, xml)).model.proto.graph
    assert [v.name for v in graph.input] == ["second", "first"]
    assert [(n.op_type, list(n.input), list(n.output)) for n in graph.node] == [
        ("Split", ["first"], ["Split_s.0", "Split_s.1"]),
        ("Subtract", ["Split_s.1", "second"], ["Result_9"]),
    ]


def test_attributes_keep_their_text(tmp_path: Path) -> None:
    texts = {
        "a": ("1", AttributeProto.INT), "b": ("-7", AttributeProto.INT), "c": ("01", AttributeProto.STRING),
        "d": ("1,2,-3", AttributeProto.INTS), "e": ("1, 2", AttributeProto.STRING), "f": ("", AttributeProto.STRING),
        "g": ("1.0", AttributeProto.STRING), "h": ("true", AttributeProto.STRING), "i": ("+1", AttributeProto.STRING),
        "j": ("9223372036854775807", AttributeProto.INT), "k": ("9223372036854775808", AttributeProto.STRING),
        "l": ("-9223372036854775808", AttributeProto.INT), "m": ("-0", AttributeProto.STRING),
        "n": ("1,9223372036854775808", AttributeProto.STRING), "o": ("1,", AttributeProto.STRING),
        "p": ("\u0661", AttributeProto.STRING), "q": ("9" * 5000, AttributeProto.STRING),
        "r": ("0", AttributeProto.INT),
    }  # fmt: skip
    data = " ".join(f'{name}="{text}"' for name, (text, _) in texts.items())
    xml = net([parameter("0"), relu("1", data=data), result("2")], "0.0>1.0 1.1>2.0")
    (node,) = read_ir(save(tmp_path, xml)).model.proto.graph.node
    assert {a.name: a.type for a in node.attribute} == {name: kind for name, (_, kind) in texts.items()}
    for name, value in attributes(node).items():
        text = value.decode() if isinstance(value, bytes) else ",".join(map(str, np.atleast_1d(value)))
        assert text == texts[name][0]


VERSIONS = {
    "opset1": ("openvino.opset1", 1),
    "opset17": ("openvino.opset17", 17),
    "extension": ("openvino.extension", 1),
    "experimental": ("openvino.experimental", 1),
    "ie_internal_opset": ("openvino.ie_internal_opset", 1),
}


@pytest.mark.parametrize("version", VERSIONS)
def test_domains(version: str, tmp_path: Path) -> None:
    xml = net([parameter("0"), relu("1", version=version), result("2")], "0.0>1.0 1.1>2.0")
    proto = read_ir(save(tmp_path, xml)).model.proto
    domain, number = VERSIONS[version]
    assert proto.graph.node[0].domain == domain
    assert canonical_domain(domain) == ("openvino" if version.startswith("opset") else domain)
    assert {o.domain: o.version for o in proto.opset_import} == {"": 21, domain: number}


def test_rt_info(tmp_path: Path) -> None:
    entries = '<attribute name="fused_names" version="0" value="a,b"/><attribute name="off" version="0"/>'
    rest = '<rt_info><a><b value="1"/><c value="2" x="y"/></a><layer value="z"/><info name="0 k" value="v"/></rt_info>'
    xml = net(
        [parameter("0"), relu("1", extra=f"<rt_info>{entries}</rt_info>"), result("2")], "0.0>1.0 1.1>2.0", rest=rest
    )
    xml = xml.replace("<dim>2</dim>", '<rt_info><attribute name="layout" value="[N]"/></rt_info><dim>2</dim>', 1)
    proto = read_ir(save(tmp_path, xml)).model.proto
    assert {p.key: p.value for p in proto.metadata_props} == {
        "openvino.rt_info.a.b": "1",
        "openvino.rt_info.a.c": "2",
        "openvino.rt_info.a.c.x": "y",
        "openvino.rt_info.layer": "z",
        "openvino.rt_info.0 k": "v",
    }
    assert {p.key: p.value for p in proto.graph.node[0].metadata_props} == {
        "openvino.rt_info.fused_names": "a,b",
        "openvino.rt_info.off": "",
        "openvino.rt_info.input.0.layout": "[N]",
    }


def test_assign_stays(tmp_path: Path) -> None:
    read = read_ir(written("shapes"))
    (name,) = read.sinks
    (assign,) = [n for n in read.model.proto.graph.node if n.op_type == "Assign"]
    (state,) = [n for n in read.model.proto.graph.node if n.op_type == "ReadValue"]
    assert list(assign.output) == [name] and list(assign.input) == list(state.output)
    assert attributes(assign) == {"variable_id": b"v"}
    assert (assign.domain, state.domain) == ("openvino.opset6", "openvino.opset6")
    without = Layer("3", "Assign", ("0:FP32:",), version="opset6", name="keep", data='variable_id="v"')
    xml = net([parameter("0"), relu("1"), result("2"), without], "0.0>1.0 1.1>2.0 1.1>3.0")
    assert read_ir(save(tmp_path, xml)).sinks == ("keep",)


# constants

ELEMENTS: dict[str, tuple[int, list[Any], bytes]] = {
    # element type: (ONNX's type, elements, what they are packed in)
    "f32": (TensorProto.FLOAT, [1.5, -2.0], np.array([1.5, -2], "<f4").tobytes()),
    "f64": (TensorProto.DOUBLE, [1.5, -2.0], np.array([1.5, -2], "<f8").tobytes()),
    "f16": (TensorProto.FLOAT16, [1.5, -2.0], np.array([1.5, -2], "<f2").tobytes()),
    "bf16": (TensorProto.BFLOAT16, [1.5, -2.0], bytes.fromhex("c03f00c0")),
    "i8": (TensorProto.INT8, [1, -2], bytes.fromhex("01fe")),
    "i16": (TensorProto.INT16, [1, -2], np.array([1, -2], "<i2").tobytes()),
    "i32": (TensorProto.INT32, [1, -2], np.array([1, -2], "<i4").tobytes()),
    "i64": (TensorProto.INT64, [1, -2], np.array([1, -2], "<i8").tobytes()),
    "u8": (TensorProto.UINT8, [1, 254], bytes.fromhex("01fe")),
    "u16": (TensorProto.UINT16, [1, 2], np.array([1, 2], "<u2").tobytes()),
    "u32": (TensorProto.UINT32, [1, 2], np.array([1, 2], "<u4").tobytes()),
    "u64": (TensorProto.UINT64, [1, 2], np.array([1, 2], "<u8").tobytes()),
    "boolean": (TensorProto.BOOL, [True, False], b"\1\0"),
    "f8e4m3": (TensorProto.FLOAT8E4M3FN, [1.5, -2.0], bytes.fromhex("3cc0")),
    "f8e5m2": (TensorProto.FLOAT8E5M2, [1.5, -2.0], bytes.fromhex("3ec0")),
    # the first element in the low bits
    "u4": (TensorProto.UINT4, [1, 2, 15], bytes.fromhex("210f")),
    "i4": (TensorProto.INT4, [1, -2, 7], bytes.fromhex("e107")),
}


@pytest.mark.parametrize("element", ELEMENTS)
def test_constants(element: str, tmp_path: Path) -> None:
    """Each of the bytes is what the format of ONNX, and of its element type, says."""
    number, elements, packed = ELEMENTS[element]
    layers = [const("0", str(len(elements)), 3, len(packed) + 2, element), result("1")]
    read = read_ir(save(tmp_path, net(layers, "0.0>1.0"), b"___" + packed + b"__"))
    (tensor,) = read.model.proto.graph.initializer
    assert tensor.data_type == number
    assert tensor.raw_data == packed
    if has_type(DType(number)):
        assert numpy_helper.to_array(tensor).tolist() == elements
    assert [n.op_type for n in read.model.proto.graph.node] == ["Identity"]


LOW_BITS = ["u4", "i4", "f8e4m3", "f8e5m2", "bf16", "f16", "u8", "i8"]


def test_openvino_has_the_elements_in_the_same_bits(tmp_path: Path) -> None:
    """24 bytes, read as elements of each type."""
    data = bytes.fromhex("00017f38213cfe40b1a0c3d57b3f4455667e0f1e2d3c4b5a")
    layers: list[Layer] = []
    edges = []
    for element in LOW_BITS:
        count = {"u4": 48, "i4": 48, "bf16": 12, "f16": 12}.get(element, 24)
        port = f"0:{'FP16' if element == 'f16' else element.upper()}:{count}"
        layers += [
            const(f"{len(layers)}", str(count), 0, 24, element, outs=(port,)),
            Layer(f"{len(layers) + 1}", "Convert", (port,), (f"1:FP32:{count}",), data='destination_type="f32"'),
            Layer(f"{len(layers) + 2}", "Result", (f"0:FP32:{count}",)),
        ]
        edges.append("{0}.0>{1}.0 {1}.1>{2}.0".format(*(layer.id for layer in layers[-3:])))
    path = save(tmp_path, net(layers, " ".join(edges)), data)
    read = read_ir(path).model
    tensors = {t.data_type: t for t in read.proto.graph.initializer}
    for element, theirs in zip(LOW_BITS, computed(path), strict=True):
        ours = read.tensor(tensors[onnx_type(element)]).astype(np.float32)
        ours[abs(ours) < np.finfo(np.float32).tiny] = 0  # OpenVINO runs without subnormals
        assert np.array_equal(ours, theirs, equal_nan=True), element


FOREIGN = {
    # element type: (elements, bytes that they take)
    "u1": (9, 2), "u2": (5, 2), "u3": (9, 6), "u6": (5, 6), "nf4": (3, 2), "f4e2m1": (3, 2), "f8e8m0": (2, 2),
}  # fmt: skip


@pytest.mark.parametrize("element", FOREIGN)
def test_constants_of_types_that_onnx_lacks(element: str, tmp_path: Path) -> None:
    """The sizes are those of `ov.Tensor(type, shape).byte_size`."""
    count, size = FOREIGN[element]
    convert = Layer("1", "Convert", (f"0:{element.upper()}:",), ("1:FP32:",), data='destination_type="f32"')
    xml = net([const("0", f"1,{count}", 1, size, element), convert, result("2")], "0.0>1.0 1.1>2.0")
    read = read_ir(save(tmp_path, xml, bytes(range(1 + size))))
    (tensor,) = read.model.proto.graph.initializer
    constant, converted = read.model.proto.graph.node
    assert (tensor.data_type, list(tensor.dims), tensor.raw_data) == (
        TensorProto.UINT8,
        [size],
        bytes(range(1, 1 + size)),
    )
    assert (constant.op_type, constant.domain, list(constant.input)) == ("Const", "openvino.opset1", [tensor.name])
    typed = {"element_type": element.encode(), "shape": [1, count], "output_types": [element.encode()]}
    assert attributes(constant) == typed
    assert list(converted.input) == list(constant.output)
    assert attributes(converted) == {
        "destination_type": b"f32",
        "input_types": [element.encode()],
        "output_types": [b"f32"],
    }
    assert read.ports[constant.output[0]] == PortType(element, None)
    short = xml.replace(f'size="{size}"', f'size="{size - 1}"')
    with pytest.raises(Exception, match=f"{count} elements of {element} take {size} bytes, size is {size - 1}"):
        read_ir(save(tmp_path, short, bytes(range(1 + size))))


def test_large_constants_stay_where_they_are(tmp_path: Path) -> None:
    """1 KiB is the limit, for integers 64 KiB; two may share their bytes."""
    sizes = {"f32": 256, "f16": 513, "i64": 8192, "i32": 16385, "u4": 2049, "nf4": 2048, "u1": 9000}
    layers, edges = [], []
    for number, (element, count) in enumerate(sizes.items()):
        layers += [const(f"c{number}", str(count), 5, 70_000, element), Layer(f"r{number}", "Result", ("0:FP32:",))]
        edges.append(f"c{number}.0>r{number}.0")
    read = read_ir(save(tmp_path, net(layers, " ".join(edges)), bytes(70_005)))
    found = {t.dims[0]: t for t in read.model.proto.graph.initializer}
    assert read.bin == tmp_path / "m.bin"
    external = {n: {e.key: e.value for e in t.external_data} for n, t in found.items() if t.external_data}
    assert external == {
        513: {"location": "m.bin", "offset": "5", "length": "1026"},
        16385: {"location": "m.bin", "offset": "5", "length": "65540"},
        2049: {"location": "m.bin", "offset": "5", "length": "1025"},
        1125: {"location": "m.bin", "offset": "5", "length": "1125"},
    }
    assert {n: len(t.raw_data) for n, t in found.items() if n not in external} == {256: 1024, 8192: 65536, 1024: 1024}
    assert read.model.tensor(found[16385]).shape == (16385,)


def test_weights_of_openvino() -> None:
    read = read_ir(written("mlp"))
    arrays = [read.model.tensor(t) for t in held(read).values()]
    shapes = {a.shape for a in arrays if a.nbytes > 512}
    assert shapes == {(16, 64), (64, 8), (512,)}
    external = {tuple(t.dims) for t in held(read).values() if t.external_data}
    assert external == {(16, 64)}
    large = next(a for a in arrays if a.shape == (16, 64))
    assert large.dtype == np.float32 and set(np.unique(large)) <= set(range(-4, 5))
    (table,) = [t for t in held(read).values() if list(t.dims) == [512]]
    assert table.raw_data == np.arange(512, dtype="<i8").tobytes()


@pytest.mark.parametrize("size", [0, 1, 8])
def test_constants_without_elements(size: int, tmp_path: Path) -> None:
    for element in ("i64", "f32", "string", "nf4"):
        read = read_ir(save(tmp_path, net([const("0", "0,3", 0, size, element), result("1")], "0.0>1.0")))
        (tensor,) = read.model.proto.graph.initializer
        assert not tensor.raw_data and not tensor.external_data and not tensor.string_data
        assert list(tensor.dims) == ([0] if element == "nf4" else [0, 3])


def test_strings() -> None:
    tensors = held(read_ir(written("shapes"))).values()
    assert [list(t.string_data) for t in tensors if t.data_type == TensorProto.STRING] == [[b"ab", b"", b"xyz"]]
