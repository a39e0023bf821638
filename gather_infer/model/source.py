"""Files that tensor bytes are read from, when a pass needs them or when a model is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from gather_infer.errors import ModelReadError
from gather_infer.model.wire import MAX_MESSAGE_BYTES

STREAM_BYTES = 1 << 16
CHUNK_BYTES = 256 << 10  # fits the processor cache; the allocator reuses the memory without clearing it


def streamed(path: Path) -> Iterator[bytes]:
    """The bytes of a file or pipe in chunks, read sequentially.

    Raises ModelReadError for a directory, a device, a socket, and a pipe without a writer, because reading them may
    block or never end. Raises OSError when the file cannot be opened or read.
    """
    mode = os.stat(path).st_mode
    is_pipe = stat.S_ISFIFO(mode)
    if not is_pipe and not stat.S_ISREG(mode):
        raise ModelReadError(f"{_kind(mode)}, not a model file")
    flags = os.O_RDONLY | (os.O_NONBLOCK if is_pipe else getattr(os, "O_BINARY", 0))
    with os.fdopen(os.open(path, flags), "rb", buffering=0) as file:
        chunk = file.read(STREAM_BYTES)  # None for a pipe whose writer has not written yet
        if is_pipe:
            if chunk == b"":
                raise ModelReadError("a pipe without a writer")
            os.set_blocking(file.fileno(), True)
        while chunk is None or chunk:
            if chunk:
                yield chunk
            chunk = file.read(STREAM_BYTES)


def joined_chunks(chunks: Iterable[bytes]) -> bytes:
    """The chunks of a stream as one byte string.

    Raises ModelReadError when they exceed protobuf's size limit, or the first byte is 0.
    """
    found: list[bytes] = []
    nbytes = 0
    for chunk in chunks:
        if not found and chunk.startswith(b"\0"):
            raise ModelReadError("not ONNX protobuf, whose first byte is never 0")
        found.append(chunk)
        nbytes += len(chunk)
        if nbytes > MAX_MESSAGE_BYTES:
            raise ModelReadError(f"more than {MAX_MESSAGE_BYTES} bytes, which protobuf does not read")
    return b"".join(found)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


@dataclass(slots=True, eq=False)
class ReadCounter:
    """Counts the bytes of tensors that this process has read from files, to show progress while a model is written."""

    nbytes: int = 0


READ_COUNTER: Final = ReadCounter()


class SourceFile(NamedTuple):
    """A file as it was when the model was opened. Each read opens the file anew, so that it is never locked.

    stamp   inode, size in bytes and modification time in ns; a read fails when the file no longer has this stamp
    """

    path: Path
    stamp: tuple[int, int, int]

    @property
    def nbytes(self) -> int:
        return self.stamp[1]

    @staticmethod
    def of(path: Path) -> SourceFile:
        """The file at `path`. Raises OSError when there is no such file."""
        return SourceFile(path, _stamp(os.stat(path)))

    def open(self) -> BinaryIO:
        """The file, opened for reading. Raises ModelReadError when it is missing or has changed."""
        try:
            file = open(self.path, "rb")  # noqa: SIM115 (returned to a with statement)
        except OSError as error:
            raise ModelReadError(f"{self.path}: {error.strerror}") from error
        if _stamp(os.fstat(file.fileno())) != self.stamp:
            file.close()
            raise ModelReadError(f"{self.path}: the file has changed since the model was opened")
        return file


class Region(NamedTuple):
    """Bytes [offset, offset + nbytes) of the file `source`."""

    source: SourceFile
    offset: int
    nbytes: int

    def read(self) -> bytes:
        """The bytes of the region. Raises ModelReadError when the file has changed or ends before the region does."""
        with self.source.open() as file:
            return b"".join(self._chunks(file, self.nbytes))

    def chunks(self, file: BinaryIO | None = None) -> Iterator[bytes]:
        """The bytes of the region in chunks of at most CHUNK_BYTES.

        file   the opened source; None to open it here

        Raises ModelReadError when the file has changed or ends before the region does.
        """
        if file is not None:
            yield from self._chunks(file, CHUNK_BYTES)
        else:
            with self.source.open() as opened:
                yield from self._chunks(opened, CHUNK_BYTES)

    def _chunks(self, file: BinaryIO, max_bytes: int) -> Iterator[bytes]:
        file.seek(self.offset)
        left = self.nbytes
        while left > 0:
            try:
                chunk = file.read(min(left, max_bytes))
            except OSError as error:
                raise ModelReadError(f"{self.source.path}: {error.strerror}") from error
            if not chunk:
                end = self.offset + self.nbytes
                raise ModelReadError(f"{self.source.path}: ends at byte {end - left}, a tensor needs {end} bytes")
            left -= len(chunk)
            READ_COUNTER.nbytes += len(chunk)
            yield chunk


def _stamp(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
