"""Opening: values equal onnx's, nothing large is parsed, and whatever is no model is one clear ModelReadError."""

from __future__ import annotations

import io
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.errors import ModelReadError
from gather_infer.model import ModelFile, file, open_model
from gather_infer.model.lazy_tensors import externalize_payloads
from gather_infer.model.tensors import iter_tensors
from gather_infer.tensor import DType
from tests.model.model_samples import (
    INFO,
    RAW_TYPES,
    TYPED_TYPES,
    assert_same_values,
    constant,
    everywhere,
    floats,
    raw,
    refer,
    typed,
    with_external_data,
    with_unknown_fields,
    write,
)
from tests.onnx_versions import require_type


@pytest.fixture(autouse=True)
def small_files_are_scanned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "WHOLE_BYTES", 0)


def model_with(*tensors: TensorProto) -> ModelProto:
    return helper.make_model(helper.make_graph([], "g", [], [], list(tensors)))


# Values


OF_EVERY_TYPE = [raw(t, f"raw {t}") for t in RAW_TYPES] + [typed(t, f"typed {t}") for t in TYPED_TYPES]


@pytest.mark.parametrize("tensor", OF_EVERY_TYPE, ids=lambda t: t.name)
def test_values_of_every_type_equal_onnx(tensor: TensorProto, tmp_path: Path) -> None:
    require_type(DType(tensor.data_type))
    expected = numpy_helper.to_array(tensor)
    model = open_model(write(model_with(tensor), tmp_path / "m.onnx"))
    elided = model.proto.graph.initializer[0]
    assert_same_values(model.tensor(elided), expected)
    assert_same_values(ModelFile.from_proto(model_with(tensor)).tensor(tensor), expected)
    if tensor.HasField("raw_data"):
        assert model.nbytes(elided) == len(tensor.raw_data)
        outside = with_external_data(model_with(tensor), tmp_path)
        opened = open_model(write(outside, tmp_path / "outside.onnx"))
        assert_same_values(opened.tensor(opened.proto.graph.initializer[0]), expected)


def test_raw_and_packed_floats_are_elided_and_integers_stay(tmp_path: Path) -> None:
    tensors = [floats("raw"), typed("FLOAT", "packed"), typed("INT64", "ints"), typed("STRING", "texts")]
    model = open_model(write(model_with(*tensors), tmp_path / "m.onnx"))
    elided = [model.payload(t) is not None for t in model.proto.graph.initializer]
    assert elided == [True, True, False, False]


def test_every_place_is_elided_and_readable(tmp_path: Path) -> None:
    proto = everywhere()
    model = open_model(write(proto, tmp_path / "m.onnx"))
    for was, now in zip(iter_tensors(proto), iter_tensors(model.proto), strict=True):
        assert_same_values(model.tensor(now), numpy_helper.to_array(was))
        assert not now.HasField("raw_data") or len(now.raw_data) <= 1024
    places = {t.name for t in iter_tensors(model.proto) if model.payload(t) is not None}
    assert {"k.value", "inner_w", "branch_w", "deep.value", "many1", "sp", "sp1.indices", "sparse_w", "i.value",
            "momentum", "raw.FLOAT16"} <= places  # fmt: skip


def test_elided_tensor_is_legal_external_data(tmp_path: Path) -> None:
    path = write(model_with(floats("w"), raw("INT8", "b")), tmp_path / "m.onnx")
    (tmp_path / "elided.onnx").write_bytes(open_model(path).proto.SerializeToString())
    loaded = onnx.load(tmp_path / "elided.onnx")
    for was, now in zip(onnx.load(path).graph.initializer, loaded.graph.initializer, strict=True):
        assert was.raw_data == now.raw_data


def test_with_weights_is_the_whole_model(tmp_path: Path) -> None:
    proto = with_external_data(with_unknown_fields(everywhere()), tmp_path)
    model = open_model(write(proto, tmp_path / "m.onnx"))
    elided = model.proto.SerializeToString()
    assert model.with_weights() == proto and model.proto.SerializeToString() == elided


def test_scalar_and_empty_tensors() -> None:
    model = ModelFile.from_proto(ModelProto())
    assert model.tensor(TensorProto(data_type=7, raw_data=(5).to_bytes(8, "little"))).shape == ()
    assert model.tensor(TensorProto(data_type=7, dims=[0, 3])).shape == (0, 3)
    assert model.nbytes(TensorProto(data_type=TensorProto.INT4, dims=[3])) == 2
    assert model.nbytes(TensorProto(data_type=TensorProto.STRING, dims=[2], string_data=[b"ab", b"c"])) == 3


def test_argument_of_from_proto_is_not_touched() -> None:
    proto = everywhere()
    before = proto.SerializeToString()
    model = ModelFile.from_proto(proto)
    for tensor in iter_tensors(proto):
        model.tensor(tensor)
    assert model.proto is proto and proto.SerializeToString() == before


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model_with(floats("w"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(proto.SerializeToString())))
    model = open_model("-")
    assert model.proto == proto and model.path is None


def test_file_changed_since_it_was_opened(tmp_path: Path) -> None:
    path = write(model_with(floats("w")), tmp_path / "m.onnx")
    model = open_model(path)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ModelReadError, match="has changed since"):
        model.tensor(model.proto.graph.initializer[0])


# What is no model


NOT_MODELS: dict[str, Any] = {
    # id:                 (bytes, message)
    "empty":              (b"", "empty file"),
    "no graph":           (ModelProto(ir_version=9).SerializeToString(), "it has no graph"),
    "no version":         (b"\x3a\x00", "neither ir_version nor opset_import"),
    "text":               (b"hello world, this is no model", "not an ONNX|not ONNX"),
    "git lfs pointer":    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "length past 2**63":  (b"\x3a" + b"\xff" * 9 + b"\x01", "truncated or not ONNX protobuf"),
    "length never ends":  (b"\x3a" + b"\xff" * 40, "truncated or not ONNX protobuf"),
    "graph of 4 GB":      (b"\x08\x09\x3a\xff\xff\xff\xff\x0fabc", "truncated or not ONNX protobuf"),
    "tag at the end":     (b"\x08\x09\x3a", "truncated or not ONNX protobuf"),
    "half a fixed32":     (b"\x08\x09\x3a\x00\x0d\x00", "truncated or not ONNX protobuf"),
    "group":              (b"\x08\x09\x0b", "truncated or not ONNX protobuf"),
    "wire type 7":        (b"\x08\x09\x0f", "truncated or not ONNX protobuf"),
    "text is not UTF-8":  (b"\x08\x09\x3a\x04\x12\x02\xff\xfe", "not UTF-8"),
    "zip archive":        (b"PK\x03\x04" + bytes(60), "a zip archive, not a model"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), NOT_MODELS.values(), ids=NOT_MODELS)
def test_not_a_model(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelReadError, match=message) as caught:
        open_model(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    paths: list[tuple[Path | str, str]]
    paths = [(tmp_path, "a directory"), (tmp_path / "none.onnx", "No such file"), ("a\0b", "null")]
    for path, message in paths:
        with pytest.raises(ModelReadError, match=message):
            open_model(path)


def test_text_form_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "m.onnxtxt").write_text('<ir_version: 7, opset_import: ["" : 10]> g (float[N] x) => (float[N] y) {}')
    with pytest.raises(ModelReadError, match=r"onnx\.load"):
        open_model(tmp_path / "m.onnxtxt")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = write(model_with(), tmp_path / "m.onnx")
    path.chmod(0)
    with pytest.raises(ModelReadError, match="Permission denied"):
        open_model(path)


def test_nesting_deeper_than_protobuf_allows(tmp_path: Path) -> None:
    data = floats("w").SerializeToString()
    data = b"\x2a" + onnx_varint(len(data)) + data
    for _ in range(80):  # graph.node.attribute.g, 80 times
        for number in (6, 5, 1):
            data = bytes([number << 3 | 2]) + onnx_varint(len(data)) + data
    path = tmp_path / "deep.onnx"
    path.write_bytes(b"\x08\x09\x3a" + onnx_varint(len(data)) + data)
    with pytest.raises(ModelReadError):
        open_model(path)


def onnx_varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def test_singular_messages_in_two_parts_are_merged_as_protobuf_does(tmp_path: Path) -> None:
    first = model_with(floats("a"))
    second = ModelProto(graph=helper.make_graph([constant("k")], "", [], [], [floats("b")]))
    path = tmp_path / "m.onnx"
    path.write_bytes(first.SerializeToString() + second.SerializeToString())
    assert open_model(path).proto == onnx.load(path)


def test_hostile_tensor_fields_are_left_to_protobuf(tmp_path: Path) -> None:
    twice = floats("w").SerializeToString() + TensorProto(raw_data=bytes(3000)).SerializeToString()
    mixed = floats("w").SerializeToString() + TensorProto(float_data=[1.0] * 900).SerializeToString()
    for data in (twice, mixed):
        graph = b"\x2a" + onnx_varint(len(data)) + data
        path = tmp_path / "m.onnx"
        path.write_bytes(b"\x08\x09\x3a" + onnx_varint(len(graph)) + graph)
        assert open_model(path).proto == onnx.load(path)


def test_mutated_and_truncated_files(tmp_path: Path) -> None:
    """A ModelFile or a ModelReadError, never another exception; and what onnx cannot load is never a model."""
    random_ = random.Random(1)
    branch = helper.make_graph([constant("deep")], "b", [], [INFO("deep", 1, [1500])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([node, constant("k")], "g", [INFO("x", 1, ["N", 3])], [INFO("y", 1, None)], [floats("w")])
    good = helper.make_model(graph).SerializeToString()
    structure = [i for i in range(len(good)) if good[i] < 128 or i < 300]
    path = tmp_path / "m.onnx"
    opened = 0
    for _ in range(800):
        data = bytearray(good)
        for _ in range(random_.randint(1, 4)):
            data[random_.choice((random_.randrange(len(data)), random_.choice(structure), random_.randrange(200)))] = (
                random_.randrange(256)
            )
        if random_.random() < 0.3:
            del data[random_.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            model = open_model(path)
        except ModelReadError as error:
            assert "\n" not in str(error)
            continue
        opened += 1
        try:
            whole = ModelProto.FromString(bytes(data))
        except DecodeError:
            pytest.fail("opened what protobuf refuses")
        assert len(whole.graph.node) == len(model.proto.graph.node)
        str(model.proto)  # all text decodes
        for tensor in iter_tensors(model.proto):
            try:
                model.tensor(tensor)
            except ModelReadError as error:
                assert "\n" not in str(error)
    assert opened > 100


def test_data_that_does_not_fit() -> None:
    model = ModelFile.from_proto(ModelProto())
    cases = {
        "needs 16 bytes of data, found 12": TensorProto(name="t", data_type=1, dims=[4], raw_data=bytes(12)),
        "does not fit": TensorProto(name="t", data_type=7, dims=[4], int64_data=[1, 2]),
        "must be >= 0": TensorProto(name="t", data_type=7, dims=[-1], int64_data=[1, 2]),
        "no raw form": TensorProto(name="t", data_type=99, dims=[1]),
        "tensor 't'": TensorProto(name="t", data_type=1, dims=[1 << 50], raw_data=b"1234"),
    }
    for message, tensor in cases.items():
        with pytest.raises(ModelReadError, match=message):
            model.tensor(tensor)


def test_negative_dim_of_strings() -> None:
    with pytest.raises(ModelReadError, match="must be >= 0"):
        ModelFile.from_proto(ModelProto()).tensor(TensorProto(data_type=8, dims=[-1], string_data=[b"a"]))


# External data


def external_model(directory: Path, location: str, offset: Any = None, length: Any = None) -> ModelFile:
    tensor = TensorProto(name="w", data_type=1, dims=[10])
    refer(tensor, location, offset, length)
    return open_model(write(model_with(tensor), directory / "m.onnx"))


REFUSED: dict[str, Any] = {
    # id:               (location, offset, length, message)
    "parent":           ("../secret.bin", 0, 40, "leaves the directory"),
    "hidden parent":    ("sub/../../secret.bin", 0, 40, "leaves the directory"),
    "absolute":         ("/etc/passwd", 0, 40, "is not relative"),
    "link out":         ("link.bin", 0, 40, "leads out of the directory"),
    "link to parent":   ("up/secret.bin", 0, 40, "leads out of the directory"),
    "directory":        ("sub", 0, 40, "not a regular file"),
    "missing":          ("none.bin", 0, 40, "none.bin: No such file"),
    "no location":      ("", 0, 40, "without a location"),
    "NUL":              ("a\0b", 0, 40, "NUL"),
    "past the end":     ("w.bin", 8, 40, r"bytes \[8, 48\) are outside .*w.bin, which has bytes \[0, 40\)"),
    "huge offset":      ("w.bin", 2**62, 40, "are outside"),
    "negative offset":  ("w.bin", -4, 40, "must be a number of bytes, found '-4'"),
    "offset no number": ("w.bin", "1e3", 40, "must be a number of bytes, found '1e3'"),
    "huge number":      ("w.bin", "9" * 5000, 40, "must be a number of bytes"),
    "length too short": ("w.bin", 0, 36, r"float\[10\] needs 40 bytes, external data length is 36"),
}  # fmt: skip


@pytest.mark.parametrize(("location", "offset", "length", "message"), REFUSED.values(), ids=REFUSED)
def test_external_data_is_refused(location: str, offset: Any, length: Any, message: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(bytes(40))
    (home / "w.bin").write_bytes(bytes(40))
    try:
        (home / "link.bin").symlink_to(tmp_path / "secret.bin")
        (home / "up").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("the file system has no symbolic links")
    model = external_model(home, location, offset, length)
    with pytest.raises(ModelReadError, match=message) as caught:
        model.tensor(model.proto.graph.initializer[0])
    assert "m.onnx: tensor 'w': " in str(caught.value) and "\n" not in str(caught.value)


def test_external_data_without_offset_and_length(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.arange(12, dtype=np.float32).tobytes())
    model = external_model(tmp_path, "w.bin")
    assert model.tensor(model.proto.graph.initializer[0]).tolist() == list(range(10))


def test_an_empty_name_is_no_directory() -> None:
    with pytest.raises(ModelReadError, match="'': not the name of a file"):
        open_model("")


def test_a_linked_model_finds_its_data_next_to_the_real_file(tmp_path: Path) -> None:
    """The layout of download caches: both model and data are links into one directory of blobs."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "blobs" / "b").write_bytes(bytes(40))
    tensor = TensorProto(name="w", data_type=1, dims=[10])
    refer(tensor, "w.bin")
    write(model_with(tensor), tmp_path / "blobs" / "a")
    (tmp_path / "snapshot" / "m.onnx").symlink_to("../blobs/a")
    (tmp_path / "snapshot" / "w.bin").symlink_to("../blobs/b")
    model = open_model(tmp_path / "snapshot" / "m.onnx")
    assert model.tensor(model.proto.graph.initializer[0]).shape == (10,)


def test_model_without_directory() -> None:
    tensor = TensorProto(name="w", data_type=1, dims=[10])
    refer(tensor, "w.bin")
    with pytest.raises(ModelReadError, match="that has no directory"):
        ModelFile.from_proto(model_with(tensor)).tensor(tensor)


def test_locations_on_windows() -> None:
    from gather_infer.model.external import location_error

    for location in ("C:\\w.bin", "C:w.bin", "\\w.bin", "\\\\host\\share\\w.bin", "sub\\w.bin", "/w.bin", "..\\w.bin"):
        assert location_error(location, windows=True) is not None, location
    for location in ("w.bin", "sub/w.bin", "dense/kernel_0"):
        assert location_error(location, windows=True) is None, location
        assert location_error(location, windows=False) is None, location
    assert location_error("dense/kernel:0", windows=False) is None
    assert location_error("..\\w.bin", windows=False) is not None


# Cost


def test_attributes_with_a_million_numbers_are_not_scanned(tmp_path: Path) -> None:
    """Tree ensembles: each number is a wire field of its own."""
    trees = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", ids=range(1_000_000), t=floats("t"))
    path = write(helper.make_model(helper.make_graph([trees], "g", [], [])), tmp_path / "m.onnx")
    reads = 0

    class Counting(bytes):
        def __getitem__(self, at: Any) -> Any:
            nonlocal reads
            reads += 1
            return super().__getitem__(at)

    small, ledger = externalize_payloads(Counting(path.read_bytes()), "m.onnx")
    assert reads < 1000 and small is not None and len(ledger) == 1
    assert open_model(path).with_weights() == onnx.load(path)


def test_weights_are_not_read(tmp_path: Path) -> None:
    """A model of 4 GB, all of it a hole: opened without a large allocation, and one tensor of it read."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "sparse.onnx"
    count, nbytes = 40, 100 << 20
    with open(path, "wb") as file_:
        tensors = []
        for i in range(count):
            head = TensorProto(name=f"w{i}", data_type=2, dims=[nbytes]).SerializeToString()
            head += b"\x4a" + onnx_varint(nbytes)
            tensors.append(b"\x2a" + onnx_varint(len(head) + nbytes) + head)
        total = sum(map(len, tensors)) + count * nbytes
        file_.write(b"\x08\x09\x3a" + onnx_varint(total))
        for head in tensors:
            file_.write(head)
            file_.seek(nbytes, 1)
        file_.truncate()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = open_model(path)
    assert len(model.proto.graph.initializer) == count
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 64 << 20
    assert model.nbytes(model.proto.graph.initializer[3]) == nbytes
    assert not model.tensor(model.proto.graph.initializer[3]).any()
