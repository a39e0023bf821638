"""The configuration for Triton, read by protobuf's text format and held against onnxruntime as Triton does it.

The messages are built here with the names and types of Triton's `model_config.proto`; its text format has no numbers.
What the backend requires of the shapes: `CompareDimsSupported` in `onnxruntime_utils.cc` of its sources.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

import gather_infer
from gather_infer import Contract, EmissionRefused
from gather_infer.contract import ContractInput, DeclaredDim, DeclaredTensor, ModelInterface
from gather_infer.serving.targets import emit
from gather_infer.symbolic import Dim, parse_dim
from tests.contract.contracts import dims, spec
from tests.serving.emitted import FIXTURES

onnxruntime.set_default_logger_severity(4)

_FIELD = descriptor_pb2.FieldDescriptorProto
_STRING, _INT32, _INT64, _BOOL = _FIELD.TYPE_STRING, _FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_BOOL
DATA_TYPES = [
    "TYPE_INVALID", "TYPE_BOOL", "TYPE_UINT8", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64", "TYPE_INT8", "TYPE_INT16",
    "TYPE_INT32", "TYPE_INT64", "TYPE_FP16", "TYPE_FP32", "TYPE_FP64", "TYPE_STRING", "TYPE_BF16",
]  # fmt: skip
_TENSOR: dict[str, tuple[int | str, bool]] = {
    "name": (_STRING, False), "data_type": ("DataType", False), "dims": (_INT64, True),
    "reshape": ("ModelTensorReshape", False),
}  # fmt: skip
MESSAGES: dict[str, dict[str, tuple[int | str, bool]]] = {
    # message: field: type or name of a message, and whether it is repeated
    "ModelTensorReshape": {"shape": (_INT64, True)},
    "ModelInput": {**_TENSOR, "optional": (_BOOL, False)},
    "ModelOutput": _TENSOR,
    "ModelConfig": {
        "name": (_STRING, False), "platform": (_STRING, False), "backend": (_STRING, False),
        "default_model_filename": (_STRING, False), "max_batch_size": (_INT32, False),
        "input": ("ModelInput", True), "output": ("ModelOutput", True),
    },
}  # fmt: skip
ORT_TYPES = {
    "tensor(bool)": "TYPE_BOOL", "tensor(int64)": "TYPE_INT64", "tensor(int32)": "TYPE_INT32",
    "tensor(float)": "TYPE_FP32", "tensor(float16)": "TYPE_FP16", "tensor(uint8)": "TYPE_UINT8",
}  # fmt: skip


@cache
def config_class() -> Any:
    """The message ModelConfig."""
    file = descriptor_pb2.FileDescriptorProto(name="config.proto", package="t", syntax="proto3")
    enum = file.enum_type.add(name="DataType")
    for number, name in enumerate(DATA_TYPES):
        enum.value.add(name=name, number=number)
    for message, fields in MESSAGES.items():
        described = file.message_type.add(name=message)
        for number, (name, (kind, repeated)) in enumerate(fields.items(), 1):
            label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if isinstance(kind, int):
                described.field.add(name=name, number=number, label=label, type=kind)
            else:
                kind_of = _FIELD.TYPE_ENUM if kind == "DataType" else _FIELD.TYPE_MESSAGE
                described.field.add(name=name, number=number, label=label, type=kind_of, type_name=f".t.{kind}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.ModelConfig"))


def parsed(text: str) -> Any:
    return text_format.Parse(text, config_class()())


def type_name(number: int) -> str:
    return DATA_TYPES[number]


def config_of(path: str, *sizes: str) -> Any:
    result = gather_infer.contract_of(path, dims=sizes)
    return parsed(emit(result.contract, "triton", interface=result.interface).text)


def model_shape(shape: list[Any]) -> list[int]:
    return [dim if isinstance(dim, int) else -1 for dim in shape]


def differences(config: Any, session: onnxruntime.InferenceSession) -> list[str]:
    """Why Triton's onnxruntime backend would refuse the configuration for the model of a session."""
    found = []
    for kind, listed, actual in (
        ("input", config.input, session.get_inputs()),
        ("output", config.output, session.get_outputs()),
    ):
        if [entry.name for entry in listed] != [value.name for value in actual]:
            found.append(f"{kind}s are {[value.name for value in actual]}")
        for entry, value in zip(listed, actual, strict=False):
            shape = model_shape(value.shape)
            if type_name(entry.data_type) != ORT_TYPES[value.type]:
                found.append(f"{entry.name} is {value.type}")
            if any(dim < 1 and dim != -1 for dim in entry.dims) or not entry.dims:
                found.append(f"{entry.name} has dims {list(entry.dims)}")
            inner = list(entry.reshape.shape) if entry.HasField("reshape") else list(entry.dims)
            if config.max_batch_size and (not shape or shape[0] != -1):
                found.append(f"{entry.name} has no batch")
            if not config.max_batch_size and entry.HasField("reshape") and not entry.reshape.shape:
                found.append(f"{entry.name} has an empty reshape without a batch")
            if not shape:  # a scalar of a model without a batch
                found += [] if list(entry.dims) == [1] else [f"{entry.name} is a scalar"]
                continue
            full = [-1, *inner] if config.max_batch_size else inner
            fits = [a == b or (kind == "input" and a == -1) for a, b in zip(shape, full, strict=False)]
            if len(shape) != len(full) or not all(fits):
                found.append(f"{entry.name} is {shape}, not {full}")
    return found


LOADABLE = [path for path in FIXTURES if path.stem != "openvino-gather"]
NO_BATCH = {
    # fixture: why it has no batch
    "clip-dynamo": "the first axis of input pixel_values is images, not texts",
    "detector-nonzero-dynamo": "the first axis of output boxes is ",
    "embedding-bag-dynamo": "the first axis of input offsets is bags, not values",
    "gnn-torchscript": "the first axis of input edge_index is no free size",
    "moe-torchscript": "the first axis of output load is no free size",
}
BATCH = ("bert-dynamo", "gpt2-kv-torchscript", "detr-torchscript", "dlrm-dynamo", "swin-dynamo", "vit-torchscript")


def loads(path: Path) -> None:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    config = config_of(str(path))
    assert differences(config, session) == []
    assert (config.platform, config.backend) == ("onnxruntime_onnx", "onnxruntime")
    assert (config.name, config.default_model_filename) == (path.stem, path.name)


@pytest.mark.parametrize("name", [*NO_BATCH, *BATCH, "lstm-tagger-dynamo", "vit-any-size-torchscript"])
def test_triton_accepts_it(name: str) -> None:
    loads(Path("fixtures") / f"{name}.onnx")


@pytest.mark.oracle
@pytest.mark.parametrize("path", LOADABLE, ids=lambda path: path.stem)
def test_triton_accepts_it_for_every_fixture(path: Path) -> None:
    loads(path)


def test_a_wrong_configuration_is_seen() -> None:
    session = onnxruntime.InferenceSession("fixtures/bert-dynamo.onnx", providers=["CPUExecutionProvider"])
    config = config_of("fixtures/bert-dynamo.onnx")
    config.output[0].dims[1] = 31
    config.input[0].data_type = DATA_TYPES.index("TYPE_FP32")
    config.input[1].dims.append(3)
    found = differences(config, session)
    assert [text.split(" ")[0] for text in found] == ["input_ids", "attention_mask", "last_hidden_state"]
    config = config_of("fixtures/moe-torchscript.onnx")
    config.max_batch_size = 4
    session = onnxruntime.InferenceSession("fixtures/moe-torchscript.onnx", providers=["CPUExecutionProvider"])
    assert "load has no batch" in differences(config, session)


@pytest.mark.parametrize("name", NO_BATCH)
def test_no_batch(name: str) -> None:
    result = gather_infer.contract_of(f"fixtures/{name}.onnx")
    emission = emit(result.contract, "triton", interface=result.interface)
    assert parsed(emission.text).max_batch_size == 0
    assert any(remark.startswith(f"max_batch_size is 0: {NO_BATCH[name]}") for remark in emission.remarks)


@pytest.mark.parametrize(
    ("sizes", "most", "chosen"),
    [([], 8, ("max_batch_size 8",)), (["batch=1..32"], 32, ()), (["batch=5"], 0, ())],
    ids=str,
)
def test_the_largest_batch(sizes: list[str], most: int, chosen: tuple[str, ...]) -> None:
    result = gather_infer.contract_of("fixtures/bert-dynamo.onnx", dims=sizes)
    emission = emit(result.contract, "triton", interface=result.interface)
    config = parsed(emission.text)
    assert (config.max_batch_size, emission.chosen) == (most, chosen)
    assert list(config.input[0].dims) == ([5, -1] if most == 0 else [-1])


def tensor(name: str, dtype: str, *shape: DeclaredDim) -> DeclaredTensor:
    return DeclaredTensor(name, dtype, shape)


def made(
    inputs: dict[str, str], outputs: dict[str, str], *lines: str, dtype: str = "float32"
) -> tuple[Contract, ModelInterface]:
    """A contract of inputs with dims such as `b 3`, and the interface of a file that declares the same dims."""

    def declared(text: str) -> tuple[DeclaredDim, ...]:
        return tuple(int(dim) if dim.isdecimal() else dim for dim in text.split())

    def shape(text: str) -> tuple[Dim, ...]:
        return tuple(parse_dim(dim) for dim in text.split())

    contract = Contract("m.onnx", tuple(spec(n, dtype, *t.split()) for n, t in inputs.items()), tuple(map(dims, lines)))
    return contract, ModelInterface(
        tuple(tensor(name, dtype, *declared(text)) for name, text in inputs.items()),
        tuple(tensor(name, dtype, *declared(text)) for name, text in outputs.items()),
        {name: shape(text) for name, text in outputs.items()},
    )


BATCHES = {
    # inputs, outputs, lines: max_batch_size
    "one axis": ({"x": "b"}, {"y": "b 3"}, (), 8),
    "a proved bound": ({"x": "b 4"}, {"y": "b 3"}, ("b <= 6",), 6),
    "a scalar input": ({"x": "b", "s": ""}, {"y": "b"}, (), 0),
    "a scalar output": ({"x": "b"}, {"y": ""}, (), 0),
    "another axis of an input": ({"x": "b b"}, {"y": "b"}, (), 0),
    "another axis of an output": ({"x": "b 2"}, {"y": "b b*2"}, (), 0),
    "a sum first": ({"x": "b 2"}, {"y": "b+1"}, (), 0),
    "a fixed size": ({"x": "4 2"}, {"y": "4"}, (), 0),
    "an equation": ({"x": "b 2"}, {"y": "b"}, ("b == 4",), 0),
}


@pytest.mark.parametrize("case", BATCHES)
def test_batches(case: str) -> None:
    inputs, outputs, lines, most = BATCHES[case]
    contract, interface = made(inputs, outputs, *lines)
    config = parsed(emit(contract, "triton", interface=interface).text)
    assert config.max_batch_size == most
    for entry in (*config.input, *config.output):
        empty = entry.HasField("reshape")
        assert empty is (most > 0 and {**inputs, **outputs}[entry.name].split()[1:] == [])
        assert not empty or (list(entry.dims), list(entry.reshape.shape)) == ([1], [])


def test_a_size_that_the_file_fixes_wrongly_is_reported() -> None:
    """Triton compares the outputs with the file, not with what the model computes."""
    result = gather_infer.contract_of("fixtures/lstm-tagger-dynamo.onnx")
    emission = emit(result.contract, "triton", interface=result.interface)
    assert "output tags.1: the file declares 5, the model has seq" in emission.remarks
    assert list(parsed(emission.text).output[0].dims) == [5, 9]


def test_names_and_optional_inputs() -> None:
    name = 'é "quoted"\\\n'
    contract = Contract("m.onnx", (ContractInput(name, "int64", (parse_dim("n"),), True),), ())
    interface = ModelInterface((tensor(name, "int64", "n"),), (tensor("y", "int64", "n"),), {"y": (parse_dim("n"),)})
    config = parsed(emit(contract, "triton", interface=interface).text)
    assert (config.input[0].name, config.input[0].optional) == (name, True)


REFUSED = {
    "element type": (made({"x": "b"}, {"y": "b"}, dtype="int4"), "Triton has no element type for input x, of int4"),
    "size 0": (made({"x": "b 0"}, {"y": "b"}), "input x has a dim of 0, which Triton does not accept"),
    "batch 0": (made({"x": "b 2"}, {"y": "b"}, "b <= 0"), "b is 0, which Triton does not accept"),
    "IR": (
        (Contract("m.xml", (), ()), ModelInterface((), ())),
        "triton is for ONNX models, m.xml is an OpenVINO IR; convert it first",
    ),
    "rank of an output": (
        (Contract("m.onnx", (), ()), ModelInterface((), (DeclaredTensor("y", "int8", None),))),
        "the file declares no shape of output y",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    (contract, interface), message = REFUSED[case]
    with pytest.raises(EmissionRefused) as caught:
        emit(contract, "triton", interface=interface)
    assert str(caught.value).startswith(message)


def test_the_interface_is_that_of_the_file() -> None:
    """But for the size of an output that the file only names; onnxruntime reports what onnx's inference finds."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N,4] x, float t) => (float[N,M] y) { y = Mul (x, t) }'
    )
    interface = gather_infer.contract_of(model, dims=["N=3"]).interface
    assert interface.inputs == (tensor("x", "float32", "N", 4), tensor("t", "float32"))
    assert interface.outputs == (tensor("y", "float32", "N", 4),)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.get_outputs()[0].shape == ["N", 4]
    assert interface.output_shapes == {"y": (3, 4)}
