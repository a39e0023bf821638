"""Recognition of files that are not ONNX by their first bytes, with advice for each format."""

from __future__ import annotations

import os
from typing import Final

HEAD: Final = 512
"""Number of leading bytes of a file that `known_format` examines."""

_PYTORCH = "torch.onnx.export makes ONNX of a model in Python"
_MAGIC_BYTES: Final = (
    # first bytes of a file, and its description
    (b"version https://git-lfs", "a Git LFS pointer, not the model itself; `git lfs pull` fetches it"),
    (b"\x1f\x8b", "compressed with gzip; gunzip it first"),
    (b"BZh", "compressed with bzip2; bunzip2 it first"),
    (b"\xfd7zXZ\0", "compressed with xz; unxz it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd; unzstd it first"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves models, not ONNX; tf2onnx converts them"),
    (b"\x93NUMPY", "an array of numpy, not a model"),
    (b"\x80\x02", f"a pickle, as PyTorch saved models before 1.6, not ONNX; {_PYTORCH}"),
)


def known_format(head: bytes, name: str) -> str:
    """Description of the format of a file that is not ONNX; "" if the format is not recognised.

    head   the first HEAD bytes of the file, or the whole file if it is shorter
    name   path of the file, or the label of a stream in messages
    """
    for start, text in _MAGIC_BYTES:
        if head.startswith(start):
            return text
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(head)
    if head[4:8] == b"TFL3":
        return "a model of TensorFlow Lite (.tflite), not ONNX; tf2onnx converts it"
    if head[8:9] == b"{" and 0 < int.from_bytes(head[:8], "little") < 1 << 32:
        return "weights alone (.safetensors), not a model"
    return _markup(head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()) or _weights(name)


def _zip(head: bytes) -> str:
    """Description of a zip archive, by the name of its first member."""
    if b"/data.pkl" in head or b"constants.pkl" in head or b"/.data/" in head:
        return f"a model of PyTorch (.pt), not ONNX; {_PYTORCH}"
    if b".npy" in head[:128]:
        return "arrays of numpy (.npz), not a model"
    return "a zip archive, not a model; unzip it first"


def _markup(head: bytes) -> str:
    if head.startswith((b"<!doctype html", b"<html")):
        return "an HTML page, not a model: was it downloaded from the right address?"
    if b"<net " in head:
        return "an OpenVINO IR, not ONNX; infer, convert and the like read it by a path that ends in .xml"
    return "XML, not a model" if head.startswith(b"<?xml") else ""


def _weights(name: str) -> str:
    """Description of the .bin of an OpenVINO IR, recognised by an .xml of the same name beside it; else ""."""
    stem, suffix = os.path.splitext(name)
    is_data = suffix.lower() == ".bin" and os.path.isfile(f"{stem}.xml")
    return f"the weights of an OpenVINO IR, whose model is {stem}.xml" if is_data else ""
