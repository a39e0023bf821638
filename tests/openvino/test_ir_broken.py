"""Broken and hostile IRs: one clear error each, with the file and the layer, and never much memory."""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
from pathlib import Path

import onnx
import pytest

from gather_infer import infer
from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir import read_ir
from gather_infer.openvino.ir.document import MAX_DEPTH
from tests.openvino.ir_made import Layer, body, chain, const, net, parameter, relu, result, save


def error(folder: Path, xml: str | bytes, weights: bytes | None = None) -> str:
    with pytest.raises(ModelReadError) as raised:
        read_ir(save(folder, xml, weights))
    text = str(raised.value)
    assert text.startswith(f"{folder / 'm.xml'}: ") and "\n" not in text
    return re.sub(r"(line|column) [0-9]+", r"\1 #", text.removeprefix(f"{folder / 'm.xml'}: "))


ENTITIES = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
DOCUMENTS = {
    "empty": ("", "not XML: no element found: line #, column #"),
    "no XML": ("\x08\x01", "not XML: not well-formed (invalid token): line #, column #"),
    "cut": (chain()[:-20], "not XML: unclosed token: line #, column #"),
    "two roots": (chain() + "<net/>", "not XML: junk after document element: line #, column #"),
    "another root": ("<model version='11'/>", "the root element of an IR is <net>, found <model>"),
    "no version": ("<net/>", "line #: <net> has no attribute 'version'"),
    "an old version": (chain(version=9), "the IR version must be 10 or 11, found '9'"),
    "a new version": (chain(version=12), "the IR version must be 10 or 11, found '12'"),
    "no layers": ('<net version="11"/>', "line #: <net> has no <layers>"),
    "entities": (
        f'<!DOCTYPE net [<!ENTITY e0 "x">{ENTITIES}]><net version="11">&e11;</net>',
        "line #: a DTD, which is not allowed in an IR",
    ),
    "an external entity": (
        '<!DOCTYPE net [<!ENTITY e SYSTEM "file:///etc/passwd">]><net version="11">&e;</net>',
        "line #: a DTD, which is not allowed in an IR",
    ),
    "an external DTD": (
        '<!DOCTYPE net SYSTEM "http://localhost/x.dtd"><net version="11"/>',
        "line #: a DTD, which is not allowed in an IR",
    ),
    "an encoding that nobody has": ('<?xml version="1.0" encoding="no-such"?><net/>', "not XML: unknown encoding"),
    "nested": ("<net>" * 100_000, f"line #: elements nest deeper than {MAX_DEPTH}"),
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents(case: str, tmp_path: Path) -> None:
    xml, expected = DOCUMENTS[case]
    assert error(tmp_path, xml).startswith(expected)


BYTES = {
    "no UTF-8": (b'<net version="11" name="\xff"/>', "not XML: not well-formed"),
    "a surrogate": (b'<net version="11" name="\xed\xa0\x80"/>', "not XML: not well-formed"),
    "a NUL": (b'<net version="11" name="\0"/>', "not XML: not well-formed"),
    "a reference to a surrogate": (b'<net version="11" name="&#xD800;"/>', "not XML: reference to invalid"),
    "half a surrogate in UTF-16": (
        b"\xff\xfe" + '<net version="11" name="'.encode("utf-16-le") + b"\x00\xd8\x41\x00",
        "not XML",
    ),
}


@pytest.mark.parametrize("case", BYTES)
def test_texts_that_are_none(case: str, tmp_path: Path) -> None:
    data, expected = BYTES[case]
    assert error(tmp_path, data).startswith(expected)


def test_another_encoding_is_read(tmp_path: Path) -> None:
    xml = chain().replace('version="1.0"', 'version="1.0" encoding="utf-16"').replace("ReLU_1", "ReLU_é")
    (node,) = read_ir(save(tmp_path, xml.encode("utf-16"))).model.proto.graph.node
    assert node.name == "ReLU_é"


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelReadError, match=r"m\.xml: No such file or directory"):
        read_ir(tmp_path / "m.xml")
    with pytest.raises(ModelReadError, match="a directory, not a model file"):
        read_ir(tmp_path)
    with pytest.raises(ModelReadError, match="NUL"):
        read_ir("a\0b.xml")


def replaced(old: str, new: str, count: int = -1) -> str:
    xml = chain()
    assert old in xml
    return xml.replace(old, new, count)


AT_0, AT_1 = "layer 'Parameter_0' (id 0): ", "layer 'ReLU_1' (id 1): "
EDGE = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
GRAPHS = {
    "no opset": (replaced(' version="opset1"', "", 1), AT_0 + "the opset must be"),
    "an unknown opset": (replaced("opset1", "opset18", 2), AT_0 + "the opset must be"),
    "opset 0": (replaced("opset1", "opset0"), AT_0 + "the opset must be"),
    "no opset at all": (replaced("opset1", "mine"), AT_0 + "the opset must be"),
    "no id": (replaced('<layer id="1"', "<layer"), "line #: <layer> has no attribute 'id'"),
    "no name": (replaced(' name="ReLU_1"', ""), "line #: <layer> has no attribute 'name'"),
    "no type": (replaced(' type="ReLU"', ""), "line #: <layer> has no attribute 'type'"),
    "an empty type": (replaced('type="ReLU"', 'type=""'), AT_1 + "the type is empty"),
    "an id twice": (replaced('<layer id="1"', '<layer id="0"'), "layer 'ReLU_1' (id 0): layer 'Parameter_0"),
    "a port twice": (
        net([parameter("0"), Layer("1", "Add", ("0:FP32:", "0:FP32:"), ("1:FP32:",))], "0.0>1.0"),
        "layer 'Add_1' (id 1): two ports of <input> have the same id",
    ),
    "a port without id": (replaced('<port id="1" ', "<port "), AT_1 + "line #: <port> has no attribute 'id'"),
    "a dim that is none": (replaced("<dim>3</dim>", "<dim>x</dim>", 1), AT_1 + "<dim> must be a number in"),
    "a negative dim": (replaced("<dim>3</dim>", "<dim>-2</dim>", 1), AT_1 + "<dim> must be a number in"),
    "a dim of many digits": (replaced("<dim>3</dim>", f"<dim>{'9' * 100}</dim>", 1), AT_1 + "<dim> must be a number"),
    "an empty dim": (replaced("<dim>3</dim>", "<dim/>", 1), AT_1 + "<dim> must be a number in"),
    "no source": (replaced('from-layer="0"', 'from-layer="7"'), "an edge from layer 7 port 0 to layer 1 port 0: no"),
    "no target": (replaced('to-layer="1"', 'to-layer="7"'), "an edge from layer 0 port 0 to layer 7 port 0: no"),
    "no source port": (replaced('from-port="0"', 'from-port="5"'), AT_0 + "an edge leads to"),
    "no target port": (replaced(EDGE, EDGE.replace('to-port="0"', 'to-port="5"')), AT_1 + "an edge leads to"),
    "an input as a source": (replaced('from-port="1"', 'from-port="0"'), AT_1 + "an edge leads to"),
    "half an edge": (replaced('from-port="0" ', ""), "line #: <edge> has no attribute 'from-port'"),
    "two edges": (replaced(EDGE, EDGE * 2), AT_1 + "two edges lead to input port 0"),
    "no edge": (replaced(EDGE, ""), AT_1 + "no edge leads to input port 0"),
    "no edges": (net([parameter("0"), relu("1")], ""), AT_1 + "no edge leads to input port 0"),
    "a cycle of one": (
        net([relu("1"), result("2")], "1.1>1.0 1.1>2.0"), AT_1 + "its input depends on its output",
    ),
    "a cycle": (
        net([relu("1"), relu("2"), relu("3"), result("4")], "3.1>1.0 1.1>2.0 2.1>3.0 3.1>4.0"),
        AT_1 + "its input depends on its output",
    ),
    "a Parameter with an input": (
        net([parameter("1"), Layer("0", "Parameter", ("0:FP32:",), ("1:FP32:",), data='shape="" element_type="f32"')],
            "1.0>0.0"),
        AT_0 + "a Parameter has no inputs",
    ),
    "a Parameter that reads itself": (
        net([Layer("0", "Parameter", ("0:FP32:",), ("1:FP32:",), data='shape="1" element_type="f32"')], "0.1>0.0"),
        AT_0 + "its input depends on its output",
    ),
    "a Const with an input": (
        net([parameter("0"), const("1", "0", 0, 0, outs=("1:FP32:",), ins=("0:FP32:",))], "0.0>1.0"),
        "layer 'Const_1' (id 1): a Const has no inputs",
    ),
    "a Result with an output": (
        net([parameter("0"), result("1", outs=("1:FP32:",)), relu("2")], "0.0>1.0 1.1>2.0"),
        "layer 'Result_1' (id 1): a Result has no outputs",
    ),
    "a Parameter without outputs": (
        net([parameter("0", outs=())], ""), AT_0 + "Parameter must have one output, has 0",
    ),
    "a Parameter without data": (
        net([Layer("0", "Parameter", (), ("0:FP32:",))], ""),
        AT_0 + "Parameter has no attribute 'element_type'",
    ),
    "a Parameter without shape": (
        net([parameter("0", None)], ""), AT_0 + "Parameter has no attribute 'shape'",
    ),
    "an unknown type": (
        net([parameter("0", "1", "f12")], ""), AT_0 + "element type 'f12' is not known",
    ),
    "an unknown precision": (replaced("FP32", "FP31", 1), AT_0 + "element type 'FP31' is not known"),
    "a Result without input": (net([Layer("0", "Result")], ""), "layer 'Result_0' (id 0): Result must have one input"),
    "an If without condition": (net([Layer("0", "If")], ""), "layer 'If_0' (id 0): an If needs a condition"),
    "an If without bodies": (
        net([parameter("0"), Layer("1", "If", ("0:BOOL:",))], "0.0>1.0"), "layer 'If_1' (id 1): If has no <then_body>",
    ),
    "a Loop without body": (
        net([parameter("0"), Layer("1", "Loop", ("0:I64:",))], "0.0>1.0"), "layer 'Loop_1' (id 1): Loop has no <body>",
    ),
    "a Loop without condition": (
        net([parameter("0"), Layer("1", "Loop", ("0:I64:",), extra=f"<body>{body([], '')}</body>")], "0.0>1.0"),
        "layer 'Loop_1' (id 1): a Loop needs a trip count and a condition",
    ),
    "a body with a cycle": (
        net([Layer("1", "TensorIterator", extra=f"<body>{body([relu('7')], '7.1>7.0')}</body>")], ""),
        "layer 'ReLU_7' (id 7): its input depends on its output",
    ),
    "an attribute of ours": (
        net([parameter("0", "1", "u1"), relu("1", data='input_types="x"')], "0.0>1.0"),
        AT_1 + "attributes 'input_types' and 'output_types' are reserved for the reader",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GRAPHS)
def test_graphs(case: str, tmp_path: Path) -> None:
    xml, expected = GRAPHS[case]
    assert error(tmp_path, xml).startswith(expected)


@pytest.mark.parametrize(
    "shape",
    ["x", "1,", ",1", "1,,2", "-2", "1..x", "5..2", "1..2..3", "...,1", "1,...", "9223372036854775808", "1e3", "²",
     "1..9223372036854775808", "9" * 5000, "1 2", "0x1", "[1,2]"],
)  # fmt: skip
def test_shapes_that_are_none(shape: str, tmp_path: Path) -> None:
    text = error(tmp_path, net([parameter("0", shape)], ""))
    assert text.startswith(AT_0) and len(text) < 400


CONSTANTS = {
    # (shape, offset, size, element type): the error
    ("2", -4, 8, "f32"): "offset must be a number in [0, 9223372036854775807], found '-4'",
    ("2", 0, -8, "f32"): "size must be a number",
    ("2", "x", 8, "f32"): "offset must be a number",
    ("2", "", 8, "f32"): "offset must be a number",
    ("2", 0, "8.0", "f32"): "size must be a number",
    ("2", 0, "9" * 5000, "f32"): "size must be a number",
    ("2", 0, 7, "f32"): "2 elements of f32 take 8 bytes, size is 7",
    ("2,-1", 0, 8, "f32"): "a dim of shape '2,-1' must be a number",
    ("?", 0, 8, "f32"): "a dim of shape '?' must be a number",
    ("2,x", 0, 8, "f32"): "a dim of shape '2,x' must be a number",
    ("4294967296,4294967296", 0, 8, "f32"): "a shape of more than 9223372036854775807 elements",
    ("9223372036854775807", 0, 8, "f32"): "9223372036854775807 elements of f32 take 36893488147419103228 bytes",
    ("18446744073709551616", 0, 8, "f32"): "a dim of shape '18446744073709551616' must be a number",
    ("2", 9, 8, "f32"): "bytes [9, 17) are outside",
    ("2", 0, 17, "f32"): "bytes [0, 17) are outside",
    ("2", 9223372036854775807, 8, "f32"): "bytes [9223372036854775807, 9223372036854775815) are outside",
    ("2", 0, 8, "f33"): "element type 'f33' is not known",
    ("2", 0, 8, "dynamic"): "the element type of a constant must be known",
    ("2", 0, 8, "string"): "2 strings take 16 bytes at least, size is 8",
    ("1", 0, 16, "string"): "the bytes are not those of 1 strings",
}


@pytest.mark.parametrize("case", CONSTANTS)
def test_broken_constants(case: tuple[str, object, object, str], tmp_path: Path) -> None:
    shape, offset, size, element = case
    xml = net([const("0", shape, offset, size, element, outs=("0:FP32:",)), result("1")], "0.0>1.0")
    found = error(tmp_path, xml, bytes(16))
    assert found.startswith(f"layer 'Const_0' (id 0): {CONSTANTS[case]}") and len(found) < 400


@pytest.mark.parametrize("missing", ["element_type", "shape", "offset", "size"])
def test_constants_say_all_of_it(missing: str, tmp_path: Path) -> None:
    xml = net([const("0", "2", 0, 8), result("1")], "0.0>1.0").replace(f" {missing}=", " other=")
    xml = xml.replace(f"<data {missing}=", "<data other=")
    assert error(tmp_path, xml, bytes(8)) == f"layer 'Const_0' (id 0): Const has no attribute '{missing}'"


STRINGS: dict[tuple[int, ...], str] = {
    # two strings: (number, ends, characters): the error
    (3, 0, 1, 2): "the bytes are not those of 2 strings",
    (2, -1, 1, 2): "the bytes are not those of 2 strings",
    (2, 2, 1, 2): "the bytes are not those of 2 strings",
    (2, 0, 1, 5): "the strings end at byte 21, size is 20",
    (2, 0, 1, 2**31 - 1): "the strings end at byte 2147483663, size is 20",
}


@pytest.mark.parametrize("case", STRINGS)
def test_broken_strings(case: tuple[int, ...], tmp_path: Path) -> None:
    data = b"".join(n.to_bytes(4, "little", signed=True) for n in case) + b"abcd"
    xml = net([const("0", "2", 0, 20, "string"), result("1")], "0.0>1.0")
    assert error(tmp_path, xml, data) == f"layer 'Const_0' (id 0): {STRINGS[case]}"


def test_weights_that_are_missing(tmp_path: Path) -> None:
    xml = net([const("0", "2", 0, 8), result("1")], "0.0>1.0")
    weights = tmp_path / "m.bin"
    assert error(tmp_path, xml) == f"layer 'Const_0' (id 0): {weights} is missing, which holds its 8 bytes"
    weights.mkdir()
    assert "is missing" in error(tmp_path, xml)


def test_a_truncated_bin(tmp_path: Path) -> None:
    xml = net([const("0", "1000", 0, 4000), result("1")], "0.0>1.0")
    expected = f"layer 'Const_0' (id 0): bytes [0, 4000) are outside {tmp_path / 'm.bin'}, which has bytes [0, 3999)"
    assert error(tmp_path, xml, bytes(3999)) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="names are texts there")
def test_a_bin_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path)))
    path = folder / os.fsdecode(b"\xff.xml")
    path.write_text(net([const("0", "1000", 0, 4000), result("1")], "0.0>1.0"))
    path.with_suffix(".bin").write_bytes(bytes(4000))
    with pytest.raises(ModelReadError, match="is not UTF-8, so that no tensor can refer to it"):
        read_ir(path)


def bodies(depth: int) -> str:
    """TensorIterators in each other, the innermost with nothing in it."""
    layers = f"<body>{body([], '')}</body>"
    for _ in range(depth):
        layers = f"<body><layers>{Layer('0', 'TensorIterator', extra=layers)}</layers></body>"
    return f'<net version="11">{layers.removeprefix("<body>").removesuffix("</body>")}</net>'


def test_bodies_in_bodies(tmp_path: Path) -> None:
    """As deep as is read, the model can be written, read again, and inferred."""
    for depth in range(1, 30):
        try:
            proto = read_ir(save(tmp_path, bodies(depth))).model.proto
        except ModelReadError as refused:
            assert depth > 15 and "nest deeper" in str(refused)
            return
        assert onnx.ModelProto.FromString(proto.SerializeToString()) == proto
        infer(proto)
    raise AssertionError("any depth is read")


def test_a_long_chain_takes_no_stack(tmp_path: Path) -> None:
    count = 3000
    layers = [parameter("0"), *(relu(str(i)) for i in range(count, 0, -1)), result("r")]
    edges = [f"{i - 1}.{min(1, i - 1)}>{i}.0" for i in range(1, count + 1)]
    proto = read_ir(save(tmp_path, net(layers, " ".join([*edges, f"{count}.1>r.0"])))).model.proto
    assert [n.name for n in proto.graph.node] == [f"ReLU_{i}" for i in range(1, count + 1)]


def test_little_memory_for_constants_that_share_their_bytes(tmp_path: Path) -> None:
    """3 000 constants of 64 KiB each would be 190 MB."""
    layers, edges = [], []
    for i in range(3000):
        layers += [const(f"c{i}", "8192", 0, 65536, "i64"), Layer(f"r{i}", "Result", ("0:I64:",))]
        edges.append(f"c{i}.0>r{i}.0")
    path = save(tmp_path, net(layers, " ".join(edges)), bytes(65536))
    proto = read_ir(path).model.proto
    assert sum(len(t.raw_data) for t in proto.graph.initializer) == 64 << 20
    strings = net([const(f"c{i}", "16000", 0, 65536, "string") for i in range(3000)], "")
    data = (16000).to_bytes(4, "little") + bytes(65532)
    assert "strings of the file" in error(tmp_path, strings, data)


def test_no_memory_for_sizes_that_are_only_declared(tmp_path: Path) -> None:
    xml = net([const("0", "1000000000000", 0, 4000000000000), result("1")], "0.0>1.0")
    tracemalloc.start()
    try:
        error(tmp_path, xml, bytes(8))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
