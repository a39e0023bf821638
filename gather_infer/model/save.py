"""Write a model: stream lazy tensors back inline, and copy or embed external data."""

from __future__ import annotations

import filecmp
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeAlias

from google.protobuf.message import EncodeError
from onnx import ModelProto, TensorProto

from gather_infer.errors import ModelReadError, ModelWriteError, UsageError
from gather_infer.model.external import is_external, reference_of
from gather_infer.model.file import ModelFile, PathLike, open_model
from gather_infer.model.lazy_tensors import LARGE_BYTES, Payload, restored
from gather_infer.model.source import Region, SourceFile
from gather_infer.model.staging import Staging
from gather_infer.model.targets import (
    check_data_directory,
    check_data_name,
    check_data_target,
    check_target,
    is_data_file,
    is_same_file,
    locations_of,
)
from gather_infer.model.tensors import externalizable_tensors, iter_tensors
from gather_infer.model.wire import (
    MAX_MESSAGE_BYTES,
    TENSOR_FIELDS,
    ByteSpan,
    PieceList,
    TensorReplacer,
    UnsupportedWire,
)

if TYPE_CHECKING:
    from gather_infer.model.hashes import ModelHashes

Companions: TypeAlias = "Callable[[ModelHashes], Mapping[Path, bytes]]"
"""A function from the hashes of a written model to the files that are written together with it."""

STDOUT = "-"
_RAW = TENSOR_FIELDS["raw_data"]
_MARK = b"location"  # key in `external_data` of every external tensor


class SaveReport(NamedTuple):
    """Result of a save.

    path           the model's file, None for a stream
    nbytes         size of the serialised model
    external_data  the data file that was written, None if there is none
    copied         existing data files that were copied to the directory of the output
    verbatim       the output has exactly the bytes that the model was read from
    notes          printed notes about what the file could not express
    companions     files that were written together with the model
    """

    path: Path | None
    nbytes: int
    external_data: Path | None = None
    copied: tuple[Path, ...] = ()
    verbatim: bool = False
    notes: tuple[str, ...] = ()
    companions: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _WritePlan:
    """The bytes of a model to write, with its lazy tensors inline.

    serialized  the message with lazy tensors as references
    content     the bytes to write: pieces of `serialized`, and regions of files for the lazy tensors
    regions     location -> one region of the file there, for each external data file that the model refers to
    """

    serialized: bytes
    content: PieceList
    regions: dict[str, Region] = field(default_factory=dict)

    def write(self, file: BinaryIO) -> None:
        opened: dict[SourceFile, BinaryIO] = {}
        try:
            for piece in self.content.pieces:
                if isinstance(piece, Region):
                    if piece.source not in opened:
                        opened[piece.source] = piece.source.open()
                    for chunk in piece.chunks(opened[piece.source]):
                        file.write(chunk)
                elif isinstance(piece, ByteSpan):
                    file.write(memoryview(self.serialized)[piece.start : piece.stop])
                else:
                    assert isinstance(piece, bytes), "a piece is a span, a region or bytes"
                    file.write(piece)
        finally:
            for source in opened.values():
                source.close()


def save(
    model: ModelFile,
    proto: ModelProto,
    out_path: PathLike,
    *,
    external_data: str | None = None,
    in_place: bool = False,
    embed: bool = False,
    companions: Companions | None = None,
) -> SaveReport:
    """Write `proto`, an edited form of `model.proto`, to `out_path`; `-` is standard output.

    Files appear complete or not at all.

    external_data  name of a data file in the directory of the output, for all payloads above 1 KiB; by default, only an
                   output past 2 GB gets a data file, `OUT.data`
    in_place       the output may overwrite the input
    embed          write existing external data inline; implied for standard output, pipes and devices
    companions     returns the files that appear together with the output, from the hashes of what is written

    An unedited model is copied byte for byte. Data files that the model already refers to stay where they are if the
    output is in the directory of the model; otherwise they are copied to the directory of the output. If `out_path` is
    a link, the file that it points to is written. `model` and `proto` are not modified.

    Raises UsageError when the output would overwrite a data file in use, or the input without `in_place`;
    ModelReadError when payloads cannot be read any more; ModelWriteError when the output cannot be written.
    """
    if external_data is not None:
        check_data_name(external_data)
    out = Path(out_path)
    if out_path == STDOUT or (out.exists() and not out.is_file() and not out.is_dir()):
        if external_data is not None:
            raise UsageError(f"{out_path}: a stream has no place for the external data file {external_data!r}")
        if companions is not None:
            raise UsageError(f"{out_path}: a stream cannot be written together with another file")
        return _save_stream(model, proto, out_path)
    check_target(model, out, in_place)
    original = None if external_data is not None else _unedited_bytes(model, proto)
    if original is not None and in_place and is_same_file(out, model.path):
        with Staging() as staging:
            written = _stage_companions(model, proto, out, companions, staging)
            staging.commit()
        return SaveReport(out, model.size, verbatim=True, companions=written)
    plan = _plan(model, proto, embed=embed)
    with Staging() as staging:
        data: Path | None = None
        moved: ModelProto | None = None
        if external_data is not None or (
            original is None and (plan is None or plan.content.nbytes > MAX_MESSAGE_BYTES)
        ):
            data = out.parent / (external_data or f"{out.name}.data")
            check_data_target(model, proto, out, data, in_place)
            check_data_directory(data, out)
            moved = _move_payloads(model, proto, data, staging, move_external=embed or external_data is not None)
            if moved is None:
                data = None
            else:
                plan = _plan(model, moved, staged=[data.name])
        if plan is None or (original is None and plan.content.nbytes > MAX_MESSAGE_BYTES):
            raise ModelWriteError(f"{out}: past {MAX_MESSAGE_BYTES} bytes even with external data")
        copied = () if embed else _stage_data_files(model, plan, out, data, staging)
        _stage_interim(
            model, proto if moved is None else moved, out, copied if data is None else (data, *copied), staging
        )
        with staging.create(out) as file:
            if original is None:
                plan.write(file)
            else:
                for chunk in original:
                    file.write(chunk)
            nbytes = file.tell()
        written = _stage_companions(model, proto, out, companions, staging)
        staging.commit()
    return SaveReport(out, nbytes, data, copied, verbatim=original is not None, companions=written)


def _stage_companions(
    model: ModelFile, proto: ModelProto, out: Path, companions: Companions | None, staging: Staging
) -> tuple[Path, ...]:
    """Stage the files that are written together with the model at `out`, which is staged or stays as it is.

    Raises UsageError when a file would overwrite the input or a data file.
    """
    if companions is None:
        return ()
    from gather_infer.model.hashes import staged_hashes  # hashlib takes long to load

    hashes = staged_hashes(open_model(staging.place_of(out) or out), out, staging.place_of)
    files = companions(hashes)
    for path, content in files.items():
        if is_same_file(path, model.path) or is_data_file(model, model.proto, path):
            raise UsageError(f"{path}: is a file of the input {model.name}")
        if path.is_dir() or is_same_file(path, out) or is_data_file(model, proto, path):
            raise UsageError(f"{path}: cannot be written together with {out.name}")
        with staging.create(path) as file:
            file.write(content)
        staging.commit_first()
    return tuple(files)


def _save_stream(model: ModelFile, proto: ModelProto, out_path: PathLike) -> SaveReport:
    """Write to standard output, a pipe or a device, with all external data inline."""
    name = "<stdout>" if out_path == STDOUT else str(out_path)
    plan = _plan(model, proto, embed=True)
    if plan is None or plan.content.nbytes > MAX_MESSAGE_BYTES:
        raise ModelWriteError(f"{name}: a model past {MAX_MESSAGE_BYTES} bytes needs a file, and external data")
    original = None if plan.regions else _unedited_bytes(model, proto)
    try:
        if out_path == STDOUT:
            _write_stream(sys.stdout.buffer, plan, original)
            sys.stdout.buffer.flush()
        else:
            with open(out_path, "wb") as file:
                _write_stream(file, plan, original)
    except OSError as error:
        raise ModelWriteError(f"{name}: {error.strerror}") from error
    return SaveReport(None, plan.content.nbytes if original is None else model.size, verbatim=original is not None)


def _write_stream(file: BinaryIO, plan: _WritePlan, original: Iterator[bytes] | None) -> None:
    if original is None:
        plan.write(file)
    else:
        for chunk in original:
            file.write(chunk)


def _unedited_bytes(model: ModelFile, proto: ModelProto) -> Iterator[bytes] | None:
    """The bytes that `model` was read from if they still parse to `proto`.

    None if `proto` was edited, or the bytes are not available.

    The file is parsed again for the comparison, because a caller may have edited `model.proto` in place.
    """
    if model.original is not None:
        same = ModelProto.FromString(model.original).SerializeToString() == _serialized(proto)
        return iter([model.original]) if same else None
    if model.path is None:
        return None
    try:
        again = open_model(model.path)
    except ModelReadError:  # the file is gone; the model in memory can still be written
        return None
    if again.size != model.size or again.proto.SerializeToString() != _serialized(proto):
        return None
    return Region(SourceFile.of(model.path), 0, model.size).chunks()


def _serialized(proto: ModelProto) -> bytes | None:
    """`proto` serialised; None when it exceeds protobuf's size limit."""
    try:
        data: bytes = proto.SerializeToString()
    except (EncodeError, ValueError, MemoryError):
        return None
    return data


def _plan(
    model: ModelFile, proto: ModelProto, *, embed: bool = False, staged: Collection[str] = ()
) -> _WritePlan | None:
    """The pieces to write for `proto`; None when it exceeds protobuf's size limit.

    embed    write external data inline
    staged   locations of data files that this save writes, which do not exist under these names yet

    Raises ModelReadError when external data is missing.
    """
    serialized = _serialized(proto)
    if serialized is None:
        return None
    regions: dict[str, Region] = {}

    def tensor(start: int, stop: int) -> PieceList | None:
        message = serialized[start:stop]
        found = TensorProto.FromString(message)
        if not is_external(found):
            return None
        payload = model.payload(found)
        if payload is not None:
            return restored(message, payload, model.payload_region(found))
        location = reference_of(found).location
        if location in staged:
            return None
        region = model.region(found)
        assert region is not None, "external data has a region"
        regions[location] = region
        if embed:
            return restored(message, Payload(region.offset, region.nbytes, _RAW, False), region)
        return None

    # The scan enters only messages that contain the key of external tensors.
    marks = _positions(serialized, _MARK)

    def has_mark(start: int, stop: int) -> bool:
        at = bisect_left(marks, start)
        return at < len(marks) and marks[at] < stop

    whole = PieceList()
    whole.span(0, len(serialized))
    if not marks:
        return _WritePlan(serialized, whole)
    try:
        splice = TensorReplacer(serialized, len(_MARK), has_mark, tensor).model()
    except UnsupportedWire:
        if model.has_lazy_tensors or embed:
            raise ModelWriteError(f"{model.name}: too unusual (groups, nesting) to write with large tensors") from None
        for external in filter(is_external, iter_tensors(proto)):
            location = reference_of(external).location
            region = model.region(external) if location not in staged else None
            if region is not None:
                regions[location] = region
        splice = None
    return _WritePlan(serialized, whole if splice is None else splice, regions)


def _positions(data: bytes, mark: bytes) -> list[int]:
    found = []
    at = data.find(mark)
    while at >= 0:
        found.append(at)
        at = data.find(mark, at + 1)
    return found


def _move_payloads(
    model: ModelFile, proto: ModelProto, data: Path, staging: Staging, *, move_external: bool
) -> ModelProto | None:
    """A copy of `proto` with its payloads above 1 KiB moved to the staged file `data`; None if it has no such payloads.

    move_external   move the payloads of external tensors too
    """
    copy = ModelProto()
    copy.CopyFrom(proto)
    moved = [t for t in externalizable_tensors(copy) if _is_movable(model, t, move_external)]
    if not moved:
        return None
    with staging.create(data) as file:
        for tensor in moved:
            payload = model.payload(tensor)
            region = model.region(tensor) if payload is None else model.payload_region(tensor)
            nbytes = len(tensor.raw_data) if region is None else region.nbytes
            # Page alignment lets runtimes memory-map large tensors.
            alignment = 4096 if nbytes >= 1 << 20 else 64
            file.write(bytes(-file.tell() % alignment))
            offset = file.tell()
            for chunk in [tensor.raw_data] if region is None else region.chunks():
                file.write(chunk)
            tensor.ClearField("raw_data")
            tensor.ClearField("external_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", data.name), ("offset", str(offset)), ("length", str(nbytes))):
                tensor.external_data.add(key=key, value=value)
    return copy


def _is_movable(model: ModelFile, tensor: TensorProto, move_external: bool) -> bool:
    if is_external(tensor):
        return move_external or model.payload(tensor) is not None
    return tensor.HasField("raw_data") and len(tensor.raw_data) > LARGE_BYTES


def _stage_data_files(
    model: ModelFile, plan: _WritePlan, out: Path, data: Path | None, staging: Staging
) -> tuple[Path, ...]:
    """Stage copies of the data files that the model refers to, unless `out` is in the directory of the model.

    data   the new data file of this save

    Returns the paths of the copies. Raises UsageError when a copy would overwrite the output, or a file with other
    content that is not a data file of the model now at `out`.
    """
    if not plan.regions or (model.base_dir is not None and is_same_file(out.parent, model.base_dir)):
        return ()
    mine: set[str] | None = None
    copied = []
    for location, region in plan.regions.items():
        source = region.source
        target = out.parent / location
        if target in (out, data):
            raise UsageError(f"{target}: the name of a data file of {model.name}; choose another output")
        if is_same_file(target, source.path):
            continue
        if target.exists():
            if target.is_file() and filecmp.cmp(target, source.path, shallow=False):
                continue
            if mine is None:
                mine = locations_of(out)
            if location not in mine:
                raise UsageError(f"{target}: exists, and differs from the data file of {model.name}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelWriteError(f"{target.parent}: {error.strerror}") from error
        check_data_directory(target, out)
        with staging.create(target) as file:
            for chunk in Region(source, 0, source.nbytes).chunks():
                file.write(chunk)
        copied.append(target)
    return tuple(copied)


def _stage_interim(model: ModelFile, proto: ModelProto, out: Path, files: Sequence[Path], staging: Staging) -> None:
    """Stage an interim model for `out` if one of the staged data `files` replaces another, which the old model has."""
    if not any(file.exists() for file in files):
        return
    names = {}
    for file in files:
        location = file.relative_to(out.parent).as_posix()
        names[location] = PurePosixPath(location).with_name(staging.second_name(file)).as_posix()
    interim = ModelProto()
    interim.CopyFrom(proto)
    for tensor in filter(is_external, iter_tensors(interim)):
        for entry in tensor.external_data:
            if entry.key == "location" and model.payload(tensor) is None:
                location = PurePosixPath(entry.value).as_posix()
                entry.value = names.get(location, entry.value)
    plan = _plan(model, interim, staged=[*names.values(), *names])
    assert plan is not None, "the model itself has a plan"
    with staging.create(out) as output:
        plan.write(output)
    staging.make_interim()
