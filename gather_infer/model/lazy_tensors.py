"""Lazy external tensors: large payloads stay in the file when a model is opened, and are copied when it is written.

Only `raw_data`, and packed `float_data` / `double_data`, whose bytes equal those of `raw_data`, can be lazy. Packed
integers (`int32_data`, `int64_data`, `uint64_data`) are varints, and `string_data` is one field per string: they stay
inline, because no external tensor could refer to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from onnx import TensorProto

from gather_infer.model.wire import (
    LENGTH_DELIMITED,
    MAX_MESSAGE_BYTES,
    TENSOR_FIELDS,
    VARINT,
    Buffer,
    Field,
    PageWindow,
    PieceList,
    TensorReplacer,
    WireError,
    length_delimited,
    read_varint,
    scan,
)

LARGE_BYTES = 1024  # payloads up to this size are parsed

_RAW = TENSOR_FIELDS["raw_data"]
_PACKED_LIKE_RAW: dict[int, int] = {
    # data type -> typed field whose packed form has the same bytes as raw_data
    TensorProto.FLOAT: TENSOR_FIELDS["float_data"],
    TensorProto.COMPLEX64: TENSOR_FIELDS["float_data"],
    TensorProto.DOUBLE: TENSOR_FIELDS["double_data"],
    TensorProto.COMPLEX128: TENSOR_FIELDS["double_data"],
}
_PACKED_BYTES = {TENSOR_FIELDS["float_data"]: 4, TENSOR_FIELDS["double_data"]: 8}
_TYPED = frozenset(number for name, number in TENSOR_FIELDS.items() if name.endswith("_data") and name != "raw_data")
_LOCATION = TENSOR_FIELDS["data_location"]
_EXTERNAL = TENSOR_FIELDS["external_data"]
_DATA_TYPE = TENSOR_FIELDS["data_type"]
_SEGMENT = TENSOR_FIELDS["segment"]


class Payload(NamedTuple):
    """A payload left in the model's file: bytes [offset, offset + nbytes).

    field              number of the TensorProto field that holds the payload
    explicit_location  whether the tensor in the file sets `data_location: DEFAULT` explicitly

    """

    offset: int
    nbytes: int
    field: int
    explicit_location: bool


PayloadTable: TypeAlias = Mapping[tuple[int, int], Payload]


def externalize_payloads(buffer: Buffer, location: str) -> tuple[bytes | None, PayloadTable]:
    """The serialised model with each large payload replaced by a reference to its bytes; and the payloads.

    buffer     the bytes of the model's file; `location` is the name of the file

    The first result is None if no payload is large. The second maps (offset, size), in bytes, to payloads.
    Raises WireError when the bytes are not a protobuf message, UnsupportedWire when they have forms that the scan does
    not handle, so that only protobuf can parse them.
    """
    ledger: dict[tuple[int, int], Payload] = {}
    window = PageWindow(buffer)

    def tensor(start: int, stop: int) -> PieceList | None:
        window.advance(start)
        found = _large_payload(buffer, start, stop)
        if found is None:
            return None
        payload, replaced = found
        ledger[payload.offset, payload.nbytes] = payload
        out = PieceList()
        pos = start
        for field in replaced:
            out.span(pos, field.start)
            pos = field.stop
        out.span(pos, stop)
        out.data(reference(location, payload.offset, payload.nbytes))
        return out

    splice = TensorReplacer(buffer, LARGE_BYTES, lambda start, stop: True, tensor).model()
    if splice is None:
        return None, ledger
    if splice.nbytes > MAX_MESSAGE_BYTES:
        raise WireError(f"the model without its weights has {splice.nbytes} bytes, protobuf reads {MAX_MESSAGE_BYTES}")
    return splice.join(buffer), ledger


def reference(location: str, offset: int, nbytes: int) -> bytes:
    """Serialised fields; appended to a serialised TensorProto, they make it refer to external data.

    The data are bytes [offset, offset + nbytes) of the file `location`.
    """
    tensor = TensorProto(data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(nbytes))):
        tensor.external_data.add(key=key, value=value)
    fields: bytes = tensor.SerializeToString()
    return fields


def restored(tensor: bytes, payload: Payload, region: object) -> PieceList:
    """The serialised lazy `tensor` as an inline tensor: the bytes of `region` become field `payload.field`.

    payload   position of the tensor's data in the model's file
    region    reference to the bytes of the data; the result contains this object as a piece
    """
    out = PieceList()
    for field in scan(tensor, 0, len(tensor)):
        if field.number not in (_LOCATION, _EXTERNAL):
            out.data(tensor[field.start : field.stop])
    prefix = TensorProto(data_location=TensorProto.DEFAULT).SerializeToString() if payload.explicit_location else b""
    out.data(prefix + length_delimited(payload.field, payload.nbytes))
    out.external(region, payload.nbytes)
    return out


def _large_payload(buffer: Buffer, start: int, stop: int) -> tuple[Payload, list[Field]] | None:
    """The payload of the TensorProto at [start, stop), and the fields to be replaced by a reference, in file order.

    None if the tensor stays inline: because it is small, external, in segments, or encoded in an unusual way.
    """
    data: Field | None = None
    location: Field | None = None
    data_type = 0
    for field in scan(buffer, start, stop):
        number = field.number
        if number == _DATA_TYPE and field.wire_type == VARINT:
            data_type = read_varint(buffer, field.value, field.stop)[0]
        elif number == _RAW or number in _TYPED:
            if data is not None or field.wire_type != LENGTH_DELIMITED:
                return None
            data = field
        elif number == _LOCATION:
            if location is not None or field.wire_type != VARINT or read_varint(buffer, field.value, field.stop)[0]:
                return None
            location = field
        elif number in (_EXTERNAL, _SEGMENT, _DATA_TYPE):
            return None
    if data is None or data.stop - data.value <= LARGE_BYTES:
        return None
    if data.number == _RAW:
        if data_type in (TensorProto.UNDEFINED, TensorProto.STRING):
            return None
    elif _PACKED_LIKE_RAW.get(data_type) != data.number or (data.stop - data.value) % _PACKED_BYTES[data.number]:
        return None
    payload = Payload(data.value, data.stop - data.value, data.number, location is not None)
    replaced = [data] if location is None else sorted((data, location), key=lambda f: f.start)
    return payload, replaced
