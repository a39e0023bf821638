"""Wire-format scan: replace tensors in a serialised model without parsing the rest.

The scan enters only messages that can contain a TensorProto and that the caller selects. For every other field, the
scan reads only the length and copies the bytes, so unknown fields and the order of fields survive. The field numbers
come from onnx's own descriptors. Wire format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from onnx import AttributeProto, ModelProto, TensorProto

Buffer: TypeAlias = bytes | memoryview | mmap.mmap

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5
WINDOW_BYTES = 16 << 20
MAX_DEPTH = 100  # protobuf's own limit on nested messages
MAX_MESSAGE_BYTES = 2**31 - 1  # protobuf cannot parse or write a larger message


class WireError(ValueError):
    """The bytes are not a protobuf message: a field or number runs past the end. The text names the position."""


class UnsupportedWire(Exception):
    """The bytes use forms that no exporter writes (groups, a singular message in parts): protobuf must parse them."""


@dataclass(slots=True, eq=False)
class PageWindow:
    """Releases the pages of a mapped file as a scan advances.

    Reading one byte may map 2 MiB of the file, which then count as memory of the process.
    """

    buffer: Buffer
    released: int = 0

    def advance(self, pos: int) -> None:
        """Record that the scan has reached byte `pos`; once every WINDOW_BYTES bytes, release the mapped pages."""
        if pos - self.released > WINDOW_BYTES and isinstance(self.buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED)
            self.released = pos


class ByteSpan(NamedTuple):
    """Bytes [start, stop) of the scanned buffer, to be copied verbatim."""

    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        return self.stop - self.start


class Field(NamedTuple):
    """One field of a message: its bytes [start, stop), including the tag, and its value [value, stop)."""

    number: int
    wire_type: int
    start: int
    value: int
    stop: int


@dataclass(slots=True, eq=False)
class PieceList:
    """The new bytes of a message as a list of pieces; `nbytes` is their total size.

    A piece is a `ByteSpan` of the scanned buffer, new `bytes`, or another object that the caller can write, such as a
    region of another file.
    """

    pieces: list[object] = field(default_factory=list)
    nbytes: int = 0

    def span(self, start: int, stop: int) -> None:
        if stop > start:
            self.pieces.append(ByteSpan(start, stop))
            self.nbytes += stop - start

    def data(self, data: bytes) -> None:
        self.pieces.append(data)
        self.nbytes += len(data)

    def external(self, piece: object, nbytes: int) -> None:
        self.pieces.append(piece)
        self.nbytes += nbytes

    def extend(self, other: PieceList) -> None:
        self.pieces.extend(other.pieces)
        self.nbytes += other.nbytes

    def join(self, buffer: Buffer) -> bytes:
        """The pieces as one byte string; each piece must be a `ByteSpan` of `buffer` or bytes."""
        out = bytearray()
        window = PageWindow(buffer)
        for piece in self.pieces:
            if isinstance(piece, ByteSpan):
                window.advance(piece.start)
                out += buffer[piece.start : piece.stop]
            else:
                assert isinstance(piece, bytes), "a piece of another file cannot be joined in memory"
                out += piece
        return bytes(out)


@dataclass(slots=True, eq=False)
class MessageKind:
    """A message type that can contain a TensorProto at some depth, and the fields that lead to it.

    children   number of such a field -> kind of the message in the field
    singular   the numbers in `children` of fields that are not repeated
    bulk       numbers of the fields that hold lists of numbers or strings; a message with such a field is not scanned,
               since it holds no tensors, and the list of a tree ensemble may have a million wire fields
    """

    name: str
    children: dict[int, MessageKind] = field(default_factory=dict)
    singular: frozenset[int] = frozenset()
    bulk: frozenset[int] = frozenset()


def _message_kinds() -> MessageKind:
    """The kind of ModelProto, linked to the kinds that it contains; the links are cyclic, as nodes contain graphs."""
    target = TensorProto.DESCRIPTOR
    reaches = {target.full_name}
    types = list(target.file.message_types_by_name.values())
    growing = True
    while growing:
        found = {t.full_name for t in types for f in t.fields if f.message_type and f.message_type.full_name in reaches}
        growing = not found <= reaches
        reaches |= found
    kinds = {t.full_name: MessageKind(t.name) for t in types if t.full_name in reaches}
    for t in types:
        if t.full_name not in reaches or t is target:
            continue
        kind = kinds[t.full_name]
        fields = [f for f in t.fields if f.message_type and f.message_type.full_name in reaches]
        kind.children = {f.number: kinds[f.message_type.full_name] for f in fields}
        kind.singular = frozenset(f.number for f in fields if not _is_repeated(f))
        if t.full_name == AttributeProto.DESCRIPTOR.full_name:
            kind.bulk = frozenset(t.fields_by_name[name].number for name in ("floats", "ints", "strings"))
    return kinds[ModelProto.DESCRIPTOR.full_name]


def _is_repeated(descriptor: object) -> bool:
    # protobuf 6.30 has `is_repeated` and deprecates `label`, older releases have only `label`
    repeated = getattr(descriptor, "is_repeated", None)
    return bool(repeated) if repeated is not None else getattr(descriptor, "label", 0) == 3


MODEL = _message_kinds()
TENSOR_FIELDS: dict[str, int] = {f.name: f.number for f in TensorProto.DESCRIPTOR.fields}


def read_varint(buffer: Buffer, pos: int, stop: int) -> tuple[int, int]:
    """The varint at `pos` and the position after it.

    Raises WireError when the varint runs past `stop` or is longer than ten bytes.
    """
    value = shift = 0
    for at in range(pos, min(pos + 10, stop)):
        byte: int = buffer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    raise WireError(f"the number at byte {pos} does not end")


def write_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(number: int, nbytes: int) -> bytes:
    """Tag and length of the length-delimited field `number`, to be followed by its value of `nbytes` bytes."""
    return write_varint(number << 3 | LENGTH_DELIMITED) + write_varint(nbytes)


def scan(buffer: Buffer, start: int, stop: int) -> Iterator[Field]:
    """The fields of the message at [start, stop), one at a time because a hostile message may have a million.

    Raises WireError when a field runs past `stop`, UnsupportedWire for groups and unassigned wire types.
    """
    pos = start
    while pos < stop:
        at = pos
        tag, pos = read_varint(buffer, pos, stop)
        wire_type = tag & 7
        value = pos
        if wire_type == LENGTH_DELIMITED:
            size, value = read_varint(buffer, pos, stop)
            pos = value + size
        elif wire_type == VARINT:
            _, pos = read_varint(buffer, pos, stop)
        elif wire_type in (FIXED32, FIXED64):
            pos += 4 if wire_type == FIXED32 else 8
        else:
            raise UnsupportedWire
        if pos > stop:
            raise WireError(f"the field at byte {at} ends at byte {pos}, its message at byte {stop}")
        yield Field(tag >> 3, wire_type, at, value, pos)


class TensorReplacer(NamedTuple):
    """Replaces TensorProtos in the serialised ModelProto `buffer`.

    min_bytes      messages of fewer bytes are copied unchanged
    should_enter   returns whether to scan the message at [start, stop), which has at least `min_bytes` bytes
    tensor         returns the new bytes of the TensorProto at [start, stop), None to keep it
    """

    buffer: Buffer
    min_bytes: int
    should_enter: Callable[[int, int], bool]
    tensor: Callable[[int, int], PieceList | None]

    def model(self) -> PieceList | None:
        """The new bytes of the whole buffer, None when no tensor was replaced.

        Raises WireError when the bytes are not a protobuf message, UnsupportedWire when only protobuf can parse them.
        """
        return self._message(0, len(self.buffer), MODEL, 0)

    def _message(self, start: int, stop: int, kind: MessageKind, depth: int) -> PieceList | None:
        if depth > MAX_DEPTH:
            raise UnsupportedWire
        buffer, min_bytes, wanted = self.buffer, self.min_bytes, self.should_enter
        children, singular, bulk = kind.children, kind.singular, kind.bulk
        seen: set[int] = set()
        out: PieceList | None = None
        copied = pos = start
        while pos < stop:
            # Hot loop, one iteration per node of a graph: one-byte tags and short lengths are decoded inline.
            at = pos
            tag: int = buffer[pos]
            pos += 1
            if tag > 0x7F:
                tag, pos = read_varint(buffer, at, stop)
            wire_type = tag & 7
            # an attribute of numbers holds no tensor: do not scan its million fields
            if tag >> 3 in bulk and out is None:
                return None
            if wire_type != LENGTH_DELIMITED:
                pos = self._skip(wire_type, pos, stop)
                continue
            if pos >= stop:
                raise WireError(f"the field at byte {at} has no length, its message ends at byte {stop}")
            size: int = buffer[pos]
            pos += 1
            if size > 0x7F:
                size, pos = read_varint(buffer, pos - 1, stop)
            end = pos + size
            if end > stop:
                raise WireError(f"the field at byte {at} ends at byte {end}, its message at byte {stop}")
            number = tag >> 3
            if number in singular:
                if number in seen:
                    raise UnsupportedWire  # protobuf merges the parts
                seen.add(number)
            if size >= min_bytes and number in children and wanted(pos, end):
                child = children[number]
                # Only TensorProto has no children on the way to a TensorProto.
                part = self._message(pos, end, child, depth + 1) if child.children else self.tensor(pos, end)
                if part is not None:
                    if out is None:
                        out = PieceList()
                    out.span(copied, at)
                    out.data(length_delimited(number, part.nbytes))
                    out.extend(part)
                    copied = end
            pos = end
        if out is not None:
            out.span(copied, stop)
        return out

    def _skip(self, wire_type: int, pos: int, stop: int) -> int:
        """The position after the value at `pos` of a field that is not length-delimited."""
        if wire_type == VARINT:
            return read_varint(self.buffer, pos, stop)[1]
        if wire_type not in (FIXED32, FIXED64):
            raise UnsupportedWire
        end = pos + (4 if wire_type == FIXED32 else 8)
        if end > stop:
            raise WireError(f"the number at byte {pos} ends at byte {end}, its message at byte {stop}")
        return end
