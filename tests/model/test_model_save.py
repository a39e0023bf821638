"""Saving: what was not edited comes back to the byte, an output is there whole or not at all, inputs stay intact."""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.errors import GatherInferError, ModelReadError, ModelWriteError, UsageError
from gather_infer.model import ModelFile, file, open_model, save
from gather_infer.model.tensors import iter_tensors
from tests.model.model_samples import (
    assert_same_tensors,
    assert_same_values,
    everywhere,
    floats,
    load,
    loaded,
    raw,
    refer,
    typed,
    with_external_data,
    with_unknown_fields,
    write,
)

save_module = sys.modules["gather_infer.model.save"]


@pytest.fixture(autouse=True)
def small_files_are_scanned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "WHOLE_BYTES", 0)


def model_with(*tensors: TensorProto) -> ModelProto:
    return helper.make_model(helper.make_graph([], "g", [], [], list(tensors)))


def edited(model: ModelFile) -> ModelProto:
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    proto.producer_version = "edited"
    return proto


def files(directory: Path) -> set[str]:
    return {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}


# Round trips


@pytest.mark.parametrize("build", [everywhere, lambda: with_unknown_fields(everywhere())], ids=["known", "unknown"])
def test_edited_model_equals_the_original_but_for_the_edit(build: Callable[[], ModelProto], tmp_path: Path) -> None:
    proto = build()
    model = open_model(write(proto, tmp_path / "in.onnx"))
    report = save(model, edited(model), tmp_path / "out.onnx")
    proto.producer_version = "edited"
    assert load(tmp_path / "out.onnx") == proto
    assert report.nbytes == (tmp_path / "out.onnx").stat().st_size
    assert not report.verbatim and report.external_data is None
    assert files(tmp_path) == {"in.onnx", "out.onnx"}


def test_one_tensor_of_each_type_comes_back(tmp_path: Path) -> None:
    for tensor in iter_tensors(everywhere()):
        model = open_model(write(model_with(tensor), tmp_path / "in.onnx"))
        save(model, edited(model), tmp_path / "out.onnx")
        assert load(tmp_path / "out.onnx").graph.initializer[0] == tensor, tensor.name


def test_nothing_edited_is_copied_to_the_byte(tmp_path: Path) -> None:
    # a field order that protobuf would not write, and an unknown field in the middle
    parts = everywhere()
    graph = ModelProto(graph=parts.graph).SerializeToString()
    parts.ClearField("graph")
    data = graph + b"\xc2\x3e\x05hello" + parts.SerializeToString()
    (tmp_path / "in.onnx").write_bytes(data)
    model = open_model(tmp_path / "in.onnx")
    copy = ModelProto()
    copy.CopyFrom(model.proto)
    report = save(model, copy, tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == data and report.verbatim
    model.proto.graph.name = "edited where it must not be"
    save(model, model.proto, tmp_path / "out.onnx")
    assert load(tmp_path / "out.onnx").graph.name == "edited where it must not be"


def test_model_in_memory(tmp_path: Path) -> None:
    proto = everywhere()
    before = proto.SerializeToString()
    save(ModelFile.from_proto(proto), proto, tmp_path / "out.onnx")
    assert load(tmp_path / "out.onnx") == proto and proto.SerializeToString() == before


def test_standard_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = everywhere()
    model = open_model(write(with_external_data(proto, tmp_path), tmp_path / "in.onnx"))
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    report = save(model, edited(model), "-")
    data = out.buffer.getvalue()
    assert report.path is None and report.nbytes == len(data)
    assert_same_tensors(proto, ModelProto.FromString(data))
    assert not any(t.external_data for t in iter_tensors(ModelProto.FromString(data)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data + b"\xc2\x3e\x00")))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    again = open_model("-")
    assert save(again, again.proto, "-").verbatim
    assert sys.stdout.buffer.getvalue() == data + b"\xc2\x3e\x00"


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="a device of Unix")
def test_a_device_is_written_to_not_replaced(tmp_path: Path) -> None:
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    save(model, edited(model), "/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_tensor_that_was_copied_and_renamed_preserves_its_bytes(tmp_path: Path) -> None:
    model = open_model(write(model_with(floats("w")), tmp_path / "in.onnx"))
    proto = edited(model)
    proto.graph.initializer.append(proto.graph.initializer[0])
    proto.graph.initializer[1].name = "again"
    save(model, proto, tmp_path / "out.onnx")
    first, second = load(tmp_path / "out.onnx").graph.initializer
    assert first.raw_data == second.raw_data and len(first.raw_data) == 6000


# In place


def test_in_place(tmp_path: Path) -> None:
    proto = everywhere()
    path = write(proto, tmp_path / "m.onnx")
    model = open_model(path)
    for same in (path, tmp_path / "." / "m.onnx"):
        with pytest.raises(UsageError, match="is the input"):
            save(model, edited(model), same)
    assert load(path) == proto
    save(model, edited(model), path, in_place=True)
    proto.producer_version = "edited"
    assert load(path) == proto and files(tmp_path) == {"m.onnx"}
    with pytest.raises(ModelReadError, match="has changed"):
        save(model, edited(model), tmp_path / "late.onnx")
    assert files(tmp_path) == {"m.onnx"}


def test_in_place_with_nothing_edited_does_not_touch_the_file(tmp_path: Path) -> None:
    path = write(everywhere(), tmp_path / "m.onnx")
    before = path.stat()
    model = open_model(path)
    assert save(model, model.proto, path, in_place=True).verbatim
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.skipif(os.name == "nt", reason="modes of Unix")
def test_modes(tmp_path: Path) -> None:
    path = write(everywhere(), tmp_path / "m.onnx")
    model = open_model(path)
    old = os.umask(0o027)
    try:
        save(model, edited(model), tmp_path / "new.onnx")
    finally:
        os.umask(old)
    assert (tmp_path / "new.onnx").stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    save(model, edited(model), path, in_place=True)
    assert path.stat().st_mode & 0o777 == 0o600


# Links


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A link `model.onnx` to `store/real.onnx`, a model of mode 640."""
    (tmp_path / "store").mkdir()
    write(everywhere(), tmp_path / "store" / "real.onnx").chmod(0o640)
    try:
        (tmp_path / "model.onnx").symlink_to(Path("store", "real.onnx"))
    except OSError:
        pytest.skip("the file system has no symbolic links")
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("in_place", [True, False])
def test_a_link_is_written_through(in_place: bool, linked: Path, tmp_path: Path) -> None:
    model = open_model(linked if in_place else write(everywhere(), tmp_path / "in.onnx"))
    report = save(model, edited(model), linked, in_place=in_place)
    assert report.path == linked and linked.readlink() == Path("store", "real.onnx")
    assert load(tmp_path / "store" / "real.onnx").producer_version == "edited"
    assert (tmp_path / "store" / "real.onnx").stat().st_mode & 0o777 == 0o640
    assert files(tmp_path) - {"in.onnx"} == {"model.onnx", "store/real.onnx"}


def test_a_chain_of_links_and_one_to_no_file_yet(linked: Path, tmp_path: Path) -> None:
    (tmp_path / "chain.onnx").symlink_to("model.onnx")
    (tmp_path / "new.onnx").symlink_to("store/new.onnx")
    for name in ("chain.onnx", "new.onnx"):
        model = open_model(linked)
        save(model, edited(model), tmp_path / name, in_place=True)
    assert load(tmp_path / "store" / "real.onnx").producer_version == "edited"
    assert load(tmp_path / "store" / "new.onnx").producer_version == "edited"
    assert all((tmp_path / name).is_symlink() for name in ("model.onnx", "chain.onnx", "new.onnx"))


def test_links_in_the_places_of_data_files(linked: Path, tmp_path: Path) -> None:
    """The layout of download caches: both model and data are links into one directory."""
    (tmp_path / "model.data").symlink_to("store/real.data")
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    save(model, model.proto, linked, external_data="model.data")
    first = (tmp_path / "store" / "real.data").read_bytes()
    again = open_model(linked)
    save(again, edited(again), linked, external_data="model.data", in_place=True)
    assert (tmp_path / "model.data").is_symlink() and (tmp_path / "store" / "real.data").read_bytes() == first
    after = open_model(linked)
    assert after.proto.producer_version == "edited"
    for was, now in zip(iter_tensors(load(tmp_path / "in.onnx")), iter_tensors(after.proto), strict=True):
        assert_same_values(numpy_helper.to_array(was), after.tensor(now))


def test_copied_data_goes_through_links(linked: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    model = open_model(write(with_external_data(everywhere(), tmp_path / "a"), tmp_path / "a" / "in.onnx"))
    (tmp_path / "weights.bin").symlink_to("store/weights.bin")
    save(model, edited(model), linked)
    assert (tmp_path / "weights.bin").is_symlink()
    assert (tmp_path / "store" / "weights.bin").read_bytes() == (tmp_path / "a" / "weights.bin").read_bytes()


def test_links_that_lead_nowhere_good(linked: Path, tmp_path: Path) -> None:
    out = tmp_path / "b"
    out.mkdir()
    (out / "loop.onnx").symlink_to("loop.onnx")
    (out / "far.data").symlink_to("../store/far.data")
    (out / "nowhere.onnx").symlink_to("none/x.onnx")
    (out / "same.data").symlink_to("m.onnx")
    model = open_model(linked)
    for name, external_data, message in [
        ("loop.onnx", None, "loop.onnx: Too many levels of symbolic links"),
        ("nowhere.onnx", None, "none/x.onnx: No such file"),
        ("m.onnx", "far.data", "far.data: leads out of the directory of m.onnx"),
        ("m.onnx", "same.data", "m.onnx: two files of the output would be this one"),
    ]:
        with pytest.raises(ModelWriteError, match=message):
            save(model, edited(model), out / name, external_data=external_data)
    with pytest.raises(UsageError, match="is the input, which only --in-place"):
        save(model, edited(model), tmp_path / "store" / "real.onnx")
    assert files(out) == set() and files(tmp_path / "store") == {"real.onnx"}


# External data


def test_external_data_is_shared_in_the_same_directory(tmp_path: Path) -> None:
    proto = with_external_data(everywhere(), tmp_path)
    model = open_model(write(proto, tmp_path / "in.onnx"))
    report = save(model, edited(model), tmp_path / "out.onnx")
    proto.producer_version = "edited"
    assert load(tmp_path / "out.onnx") == proto and report.copied == ()
    assert files(tmp_path) == {"in.onnx", "out.onnx", "weights.bin"}


@pytest.mark.parametrize("edit", [True, False], ids=["edited", "verbatim"])
def test_external_data_goes_along_to_another_directory(edit: bool, tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    proto = with_external_data(everywhere(), source, "sub/weights.bin")
    model = open_model(write(proto, source / "in.onnx"))
    for _ in range(2):  # the second time it is there already
        save(model, edited(model) if edit else model.proto, target / "out.onnx")
        assert files(target) == {"out.onnx", "sub/weights.bin"}
    copied = target / "sub" / "weights.bin"
    assert copied.read_bytes() == (source / "sub" / "weights.bin").read_bytes() and not copied.is_symlink()
    assert os.stat(copied).st_nlink == 1
    onnx.load(target / "out.onnx")
    # the weights change, and the same command runs again: its own output may be replaced
    weights = source / "sub" / "weights.bin"
    weights.write_bytes(weights.read_bytes()[::-1])
    model = open_model(source / "in.onnx")
    assert save(model, edited(model), target / "out.onnx").copied == (copied,)
    assert copied.read_bytes() == weights.read_bytes()


def test_a_data_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    model = open_model(write(with_external_data(everywhere(), source), source / "in.onnx"))
    (target / "weights.bin").write_bytes(b"of another model")
    with pytest.raises(UsageError, match=r"weights.bin: exists, and differs"):
        save(model, edited(model), target / "out.onnx")
    assert files(target) == {"weights.bin"} and (target / "weights.bin").read_bytes() == b"of another model"


def test_outputs_that_would_hit_data_files(tmp_path: Path) -> None:
    model = open_model(write(with_external_data(everywhere(), tmp_path), tmp_path / "in.onnx"))
    before = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "b").mkdir()
    for out, external_data, message in [
        (tmp_path / "weights.bin", None, "is a data file"),
        (tmp_path / "b" / "weights.bin", None, "the name of a data file"),
        (tmp_path / "out.onnx", "weights.bin", "is a data file"),
        (tmp_path / "out.onnx", "out.onnx", "cannot be the external data file"),
        (tmp_path / "out.onnx", "in.onnx", "is the input"),
        (tmp_path / "out.onnx", "../up.data", "leaves the directory"),
        (tmp_path / "out.onnx", "sub/x.data", "not a plain file name"),
        (tmp_path / "out.onnx", "", "has no name"),
        (tmp_path, None, "a directory"),
    ]:
        with pytest.raises(UsageError, match=message):
            save(model, edited(model), out, external_data=external_data)
    assert files(tmp_path) == {"in.onnx", "weights.bin"} and (tmp_path / "weights.bin").read_bytes() == before


def test_missing_external_data(tmp_path: Path) -> None:
    model = open_model(write(with_external_data(everywhere(), tmp_path), tmp_path / "in.onnx"))
    (tmp_path / "weights.bin").unlink()
    for proto in (model.proto, edited(model)):
        with pytest.raises(ModelReadError, match=r"weights.bin: No such file"):
            save(model, proto, tmp_path / "out.onnx")
    assert files(tmp_path) == {"in.onnx"}


@pytest.mark.parametrize("kind", ["inline", "external", "memory"])
def test_external_data_on_request(kind: str, tmp_path: Path) -> None:
    proto = everywhere()
    if kind == "memory":
        model = ModelFile.from_proto(proto)
        change = proto
    else:
        model = open_model(write(with_external_data(proto, tmp_path) if kind == "external" else proto, tmp_path / "in"))
        change = model.proto
    report = save(model, change, tmp_path / "out.onnx", external_data="all.bin")
    assert report.external_data == tmp_path / "all.bin"
    assert_same_tensors(proto, loaded(tmp_path / "out.onnx"))
    written = load(tmp_path / "out.onnx").graph.initializer
    assert {t.name for t in written if t.external_data} >= {t.name for t in proto.graph.initializer if t.raw_data}
    assert report.nbytes < 200_000


def test_data_file_replaced_in_place(tmp_path: Path) -> None:
    proto = everywhere()
    path = write(with_external_data(proto, tmp_path), tmp_path / "m.onnx")
    model = open_model(path)
    save(model, model.proto, path, external_data="weights.bin", in_place=True)
    assert_same_tensors(proto, loaded(path))
    assert files(tmp_path) == {"m.onnx", "weights.bin"}


def test_output_past_the_limit_goes_to_external_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered; the true one is tested below."""
    proto = with_external_data(everywhere(), tmp_path)
    proto.graph.initializer.append(floats("inline"))
    model = open_model(write(proto, tmp_path / "in.onnx"))
    monkeypatch.setattr(save_module, "MAX_MESSAGE_BYTES", 170_000)
    report = save(model, edited(model), tmp_path / "out.onnx")
    assert report.external_data == tmp_path / "out.onnx.data"
    assert files(tmp_path) == {"in.onnx", "out.onnx", "out.onnx.data", "weights.bin"}
    assert_same_tensors(loaded(tmp_path / "in.onnx"), loaded(tmp_path / "out.onnx"))
    monkeypatch.setattr(save_module, "MAX_MESSAGE_BYTES", 1000)
    with pytest.raises(ModelWriteError, match="past 1000 bytes"):
        save(model, edited(model), tmp_path / "never.onnx")
    with pytest.raises(ModelWriteError, match="needs a file"):
        save(model, edited(model), "-")
    assert "never.onnx" not in files(tmp_path) and not any("tmp" in name for name in files(tmp_path))


@pytest.mark.oracle
def test_2_3_gigabytes(tmp_path: Path) -> None:
    """A model past 2 GB, all of it a hole: read, edited and written to external data with little memory."""
    if shutil.disk_usage(tmp_path).free < 6 << 30:
        pytest.skip("less than 6 GB free")
    resource = pytest.importorskip("resource")
    nbytes = 2_300_000_000
    head = TensorProto(name="w", data_type=2, dims=[nbytes]).SerializeToString() + b"\x4a" + varint(nbytes)
    tensor = b"\x2a" + varint(len(head) + nbytes) + head
    path = tmp_path / "in.onnx"
    with open(path, "wb") as stream:
        stream.write(b"\x08\x0a\x3a" + varint(len(tensor) + nbytes) + tensor)
        stream.seek(nbytes - 1, 1)
        stream.write(b"\x07")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = open_model(path)
    report = save(model, edited(model), tmp_path / "out.onnx")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    assert report.external_data == tmp_path / "out.onnx.data" and report.nbytes < 1000 and grown < 64 << 20
    assert report.external_data.stat().st_size == nbytes
    with open(report.external_data, "rb") as stream:
        stream.seek(-2, 2)
        assert stream.read() == b"\x00\x07"
    again = open_model(report.path or "")
    region = again.region(again.proto.graph.initializer[0])
    assert region is not None and region.nbytes == nbytes


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


# Failures leave nothing behind


class _FullDisk(io.BytesIO):
    def write(self, data: Any) -> int:
        raise OSError(28, "No space left on device")


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    (tmp_path / "out.onnx").write_bytes(b"precious")

    def fdopen(descriptor: int, mode: str) -> io.BytesIO:
        os.close(descriptor)
        return _FullDisk()

    monkeypatch.setattr(os, "fdopen", fdopen)
    with pytest.raises(ModelWriteError, match="No space left on device"):
        save(model, edited(model), tmp_path / "out.onnx")
    assert files(tmp_path) == {"in.onnx", "out.onnx"} and (tmp_path / "out.onnx").read_bytes() == b"precious"


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    model = open_model(write(with_external_data(everywhere(), source), source / "in.onnx"))
    calls = 0

    def replace(old: Any, new: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        shutil.move(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        save(model, edited(model), target / "out.onnx")
    assert files(target) <= {"weights.bin"}


def test_failed_rename_takes_the_new_data_file_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))

    def replace(old: Path, new: Path) -> None:
        if new.name == "out.onnx":
            raise PermissionError(13, "Permission denied")
        shutil.move(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(ModelWriteError, match=r"out.onnx: Permission denied"):
        save(model, edited(model), tmp_path / "out.onnx", external_data="w.bin")
    assert files(tmp_path) == {"in.onnx"}


@pytest.mark.parametrize(("name", "call"), [("out.onnx", 1), ("w.bin", 1), ("out.onnx", 2)])
def test_failed_rename_restores_the_old_data_file(
    name: str, call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    save(model, edited(model), tmp_path / "out.onnx", external_data="w.bin")
    with (tmp_path / "w.bin").open("ab") as file:
        file.write(b"old")
    before = [(tmp_path / name).read_bytes() for name in ("out.onnx", "w.bin")]
    calls = 0

    def replace(old: Path, new: Path) -> None:
        nonlocal calls
        calls += new.name == name
        if new.name == name and calls == call:
            raise PermissionError(13, "Permission denied")
        shutil.move(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(ModelWriteError, match=rf"{name}: Permission denied"):
        save(model, edited(model), tmp_path / "out.onnx", external_data="w.bin")
    assert files(tmp_path) == {"in.onnx", "out.onnx", "w.bin"}
    assert [(tmp_path / name).read_bytes() for name in ("out.onnx", "w.bin")] == before


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = everywhere()
    model = open_model(write(proto, tmp_path / "in.onnx"))
    save(model, edited(model), tmp_path / "out.onnx", external_data="w.bin")

    def link(old: Path, new: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    (tmp_path / "w.bin").write_bytes(b"")
    save(model, edited(model), tmp_path / "out.onnx", external_data="w.bin")
    assert files(tmp_path) == {"in.onnx", "out.onnx", "w.bin"}
    assert_same_tensors(proto, loaded(tmp_path / "out.onnx"))


def test_no_directory(tmp_path: Path) -> None:
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    with pytest.raises(ModelWriteError, match="no such directory"):
        save(model, edited(model), tmp_path / "none" / "out.onnx")


def test_hostile_references_are_not_followed(tmp_path: Path) -> None:
    """A tensor that claims to be in the model's own file, or above it."""
    (tmp_path / "m").mkdir()
    (tmp_path / "secret").write_bytes(bytes(4000))
    own = TensorProto(name="own", data_type=1, dims=[2])
    refer(own, "in.onnx", 0, 8)
    model = open_model(write(model_with(floats("w"), own), tmp_path / "m" / "in.onnx"))
    save(model, edited(model), tmp_path / "m" / "out.onnx")
    assert load(tmp_path / "m" / "out.onnx").graph.initializer[1] == own
    outside = TensorProto(name="outside", data_type=1, dims=[1000])
    refer(outside, "../secret", 0, 4000)
    model = open_model(write(model_with(outside), tmp_path / "m" / "in2.onnx"))
    (tmp_path / "x").mkdir()
    with pytest.raises(ModelReadError, match="leaves the directory"):
        save(model, edited(model), tmp_path / "x" / "out.onnx")
    assert files(tmp_path / "x") == set()


def test_no_error_is_a_traceback_of_another_kind(tmp_path: Path) -> None:
    """Values too short for their type still save, and come back as they were."""
    bad = TensorProto(name="bad", data_type=1, dims=[9], raw_data=bytes(3000))
    model = open_model(write(model_with(bad, typed("INT64", "t"), raw("INT4", "r")), tmp_path / "in.onnx"))
    save(model, edited(model), tmp_path / "out.onnx")
    assert load(tmp_path / "out.onnx").graph.initializer[0] == bad
    with pytest.raises(GatherInferError, match="needs 36 bytes"):
        model.tensor(model.proto.graph.initializer[0])


def test_open_files_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing keeps a file open after the call: an open file cannot be replaced on Windows."""
    opened: list[io.IOBase] = []
    plain = builtins.open

    def spy(*args: Any, **kwargs: Any) -> Any:
        stream = plain(*args, **kwargs)
        opened.append(stream)
        return stream

    monkeypatch.setattr(builtins, "open", spy)
    path = write(everywhere(), tmp_path / "m.onnx")
    model = open_model(path)
    save(model, model.proto, tmp_path / "copy.onnx")
    save(model, edited(model), path, in_place=True)
    assert opened and all(stream.closed for stream in opened)


def test_the_data_file_of_another_model_is_not_overwritten(tmp_path: Path) -> None:
    other = tmp_path / "other.data"
    other.write_bytes(b"weights of another model")
    model = open_model(write(everywhere(), tmp_path / "in.onnx"))
    with pytest.raises(UsageError, match=r"other\.data: exists and is no data file of"):
        save(model, edited(model), tmp_path / "out.onnx", external_data="other.data")
    assert other.read_bytes() == b"weights of another model"
    save(model, edited(model), tmp_path / "out.onnx", external_data="own.data")
    save(model, edited(model), tmp_path / "out.onnx", external_data="own.data")
