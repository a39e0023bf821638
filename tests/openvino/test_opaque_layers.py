"""Layers that nothing is known of, and those that read what they give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from gather_infer import convert, infer
from gather_infer.errors import ConversionRefused, GatherInferError
from gather_infer.openvino.ir import read_ir
from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.tensor import DType, SymbolicTensor
from tests.openvino.ir_made import Layer, net, parameter, relu, result, save
from tests.openvino.judge import Recorded, onnxruntime_of, recorded, unequal

OPAQUE = ("dropout", "ranked", "indices")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    return recorded("tests.openvino.cases_opaque", tmp_path_factory.mktemp("opaque"))


def test_only_the_layer_itself_is_refused(drawn: list[Recorded]) -> None:
    assert {(one.name, one.variant) for one in drawn} == {(n, v) for n in OPAQUE for v in ("static", "dynamic")}
    for one in drawn:
        assert one.reason == ""
        with pytest.raises(ConversionRefused, match=r"1 node cannot be converted\n  RandomUniform-8, "):
            convert(one.path.with_suffix(".xml"))


def test_what_reads_it_does_what_openvino_does(drawn: list[Recorded]) -> None:
    """The numbers that OpenVINO drew are fed in the place of the layer that is kept."""
    for one in drawn:
        made = convert(one.path.with_suffix(".xml"), keep_unsupported=True)
        assert [kept.op_type for kept in made.kept] == ["RandomUniform"]
        assert made.inference.trusted_annotations == ()  # what type a random layer has follows from its inputs
        random, *others = one.arrays("o")
        proto = _fed(made.proto, helper.np_dtype_to_tensor_dtype(random.dtype))
        feeds = dict(zip((i.name for i in proto.graph.input), [*one.arrays("i"), random], strict=True))
        found = onnxruntime_of(proto, one.path.with_suffix(".onnx")).run(None, feeds)
        assert [unequal(ours, theirs, None) for ours, theirs in zip(found, others, strict=True)] == [""] * len(others)


def _fed(proto: ModelProto, element: int) -> ModelProto:
    """The model with an input in the place of the node that OpenVINO's domain has; it is the first output as well."""
    made = ModelProto()
    made.CopyFrom(proto)
    (kept,) = [node for node in made.graph.node if node.domain.startswith("openvino")]
    made.graph.input.append(helper.make_tensor_value_info(kept.output[0], element, None))
    made.graph.node.remove(kept)
    assert made.graph.output[0].name == kept.output[0]
    del made.graph.output[0]
    return made


def opaque(**given: Any) -> Layer:
    return Layer("1", "Rowwise", ("0:FP32:2,3",), given.pop("outs", ("1:FP32:2,7",)), version="extension", **given)


def read(*layers: Layer, folder: Path, edges: str = "0.0>1.0 1.1>2.0 2.1>3.0") -> Path:
    return save(folder, net([parameter("0"), *layers, result("3", ins=("0:FP32:2,7",))], edges))


def softmax() -> Layer:
    return Layer("2", "SoftMax", ("0:FP32:2,7",), ("1:FP32:2,7",), data='axis="1"')


def test_element_type_and_rank_are_believed_and_declared(tmp_path: Path) -> None:
    path = read(opaque(), softmax(), folder=tmp_path)
    made = convert(path, keep_unsupported=True)
    (kept,) = made.kept
    assert kept.operator == "Rowwise"
    assert kept.reason == "OpenVINO has no such operator in the set extension"
    (belief,) = made.inference.trusted_annotations
    fact = belief.type
    assert isinstance(fact, SymbolicTensor) and fact.dtype is DType.FLOAT32 and fact.shape is not None
    assert len(fact.shape) == 2 and not any(isinstance(dim, int) for dim in fact.shape)
    (info,) = made.proto.graph.value_info
    dims = info.type.tensor_type.shape.dim
    assert info.name == belief.value and info.type.tensor_type.elem_type == TensorProto.FLOAT
    assert len(dims) == 2 and not any(dim.HasField("dim_value") or dim.HasField("dim_param") for dim in dims)
    (node,) = [node for node in made.proto.graph.node if node.domain]
    assert (node.domain, node.op_type) == ("openvino.extension", "Rowwise")


def test_sizes_are_believed_as_an_assumption_alone(tmp_path: Path) -> None:
    """`infer` takes them as it takes value_info; a wrong one would go unnoticed, so the conversion does without."""
    path = read(opaque(), softmax(), folder=tmp_path)
    (name,) = infer(path).outputs
    fact = infer(path)[name]
    assert isinstance(fact, SymbolicTensor) and fact.shape == (2, 7)
    assert [str(belief.type) for belief in infer(path).trusted_annotations] == ["float32[2, 7]"]
    exact = infer(path, assume=False)[name]
    assert isinstance(exact, SymbolicTensor) and exact.shape is not None and 7 not in exact.shape


def test_a_size_of_the_port_is_no_constant(tmp_path: Path) -> None:
    """A port that is wrong of a size changes nothing: the sizes are read when the model runs."""
    shape_of = Layer("2", "ShapeOf", ("0:FP32:2,7",), ("1:I64:2",), version="opset3", data='output_type="i64"')
    made = convert(read(opaque(), shape_of, folder=tmp_path), keep_unsupported=True)
    assert [node.op_type for node in made.proto.graph.node] == ["Rowwise", "Shape"]


def test_a_port_without_dims_has_no_rank(tmp_path: Path) -> None:
    made = convert(read(opaque(outs=("1:FP32:",)), relu("2"), folder=tmp_path), keep_unsupported=True)
    (belief,) = made.inference.trusted_annotations
    assert belief.type == SymbolicTensor(DType.FLOAT32)


def test_what_is_inferred_counts_more_than_a_port(tmp_path: Path) -> None:
    wrong = Layer("1", "ReLU", ("0:FP32:2,3",), ("1:FP16:9",))
    known = infer(read(wrong, relu("2"), folder=tmp_path), assume=False)
    assert not known.trusted_annotations
    assert [d.code for d in known.diagnostics] == ["GI201"]
    fact = known[known.outputs[0]]
    assert isinstance(fact, SymbolicTensor) and (fact.dtype, fact.shape) == (DType.FLOAT32, (2, 3))


# sets beside the opsets

SETS = ("extension", "experimental", "ie_internal_opset")
STRUCTURAL = ("Parameter", "Const", "Result", "If", "Loop", "TensorIterator")
READERS = """
import json, sys
sys.modules["openvino_telemetry"] = None
import openvino as ov
core = ov.Core()
taken = {}
for kind, version, xml in json.load(sys.stdin):
    try:
        core.read_model(xml.encode(), b"")
        taken[kind + " " + version] = True
    except RuntimeError as error:
        taken[kind + " " + version] = "from unsupported opset" not in str(error)
    except IndexError:
        taken[kind + " " + version] = True
print(json.dumps(taken))
"""
TYPES = tuple(sorted({*LOWERINGS.op_types, "ReadValue", "Assign"} - {"ConcatParts", *STRUCTURAL}))


def of_set(kind: str, version: str) -> str:
    layer = Layer("1", kind, ("0:FP32:2,3",), ("1:FP32:2,3",), version=version)
    return net([parameter("0", outs=("0:FP32:2,3",)), layer, result("2")], "0.0>1.0 1.1>2.0")


def test_only_what_openvino_reads_of_these_sets_is_one_of_its_operators(tmp_path: Path) -> None:
    asked = [(kind, version, of_set(kind, version)) for kind in TYPES for version in SETS]
    done = subprocess.run(
        [sys.executable, "-c", READERS],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    theirs = {key for key, is_taken in json.loads(done.stdout.splitlines()[-1]).items() if is_taken}
    assert len(theirs) == 16
    ours = set()
    for kind, version, xml in asked:
        node = _only_node(read_ir(save(tmp_path, xml)).model.proto)
        if node.domain == "openvino.opset6":
            ours.add(f"{kind} {version}")
        else:
            assert node.domain == f"openvino.{version}"
    assert ours == theirs


def _only_node(proto: ModelProto) -> NodeProto:
    (node,) = [node for node in proto.graph.node if node.domain]
    return node


@pytest.mark.parametrize("version", SETS)
@pytest.mark.parametrize("kind", ["Gather", "ReLU", "Convert", "ReadValue", "Assign", "ShapeOf"])
def test_a_layer_of_these_sets_is_refused(kind: str, version: str, tmp_path: Path) -> None:
    path = save(tmp_path, of_set(kind, version))
    reason = f"1 node cannot be converted\n  {kind}, {kind}_1: OpenVINO has no such operator in the set {version}"
    with pytest.raises(ConversionRefused, match=reason):
        convert(path)
    made = convert(path, keep_unsupported=True)
    assert _only_node(made.proto).domain == f"openvino.{version}"
    assert not made.variables
    assert "GI105" in [diagnostic.code for diagnostic in infer(path).diagnostics]


@pytest.mark.parametrize("kind", STRUCTURAL)
def test_what_a_graph_is_made_of_is_of_an_opset(kind: str, tmp_path: Path) -> None:
    with pytest.raises(GatherInferError, match=f"{kind} is of an opset, found version 'extension'"):
        convert(save(tmp_path, of_set(kind, "extension")))
