"""Files that are no ONNX models are named as what they are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gather_infer import ModelReadError, open_model
from gather_infer.model import ModelFile

FIXTURES = Path(__file__).parents[2] / "fixtures"


def zipped(member: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(member, b"x" * 100)
    return made.getvalue()


def arrays() -> bytes:
    made = io.BytesIO()
    np.savez(made, a=np.arange(3))
    return made.getvalue()


MODEL = (FIXTURES / "convnet-dynamo.onnx").read_bytes()
FORMATS = {
    # name: (content, what it is)
    "model.zip": (zipped("m/model.onnx"), "a zip archive"),
    "empty.zip": (b"PK\x05\x06" + b"\0" * 18, "a zip archive"),
    "model.pt": (zipped("model/data.pkl"), r"a model of PyTorch \(.pt\), not ONNX; torch.onnx.export"),
    "old.pt": (pickle.dumps({"a": [1]}, 2), "a pickle, as PyTorch"),
    "model.tflite": (b"\x1c\0\0\0TFL3" + b"\0" * 200, r"a model of TensorFlow Lite \(.tflite\)"),
    "model.onnx.gz": (gzip.compress(MODEL), "compressed with gzip"),
    "model.onnx.bz2": (bz2.compress(MODEL), "compressed with bzip2"),
    "model.onnx.xz": (lzma.compress(MODEL), "compressed with xz"),
    "page.onnx": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "an HTML page"),
    "page.html": (b"<HTML lang='en'>" + b" " * 2000, "an HTML page"),
    "ir.onnx": (b'<?xml version="1.0"?>\n<net name="x" version="11">', "an OpenVINO IR, not ONNX; .* in .xml"),
    "other.onnx": (b'<?xml version="1.0"?>\n<svg/>', "XML, not a model"),
    "weights.npz": (arrays(), "arrays of numpy"),
    "array.npy": (b"\x93NUMPY\x01\0" + b"\0" * 100, "an array of numpy"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + b"\0" * 100, "an HDF5 file"),
    "model.safetensors": (b"\x14" + b"\0" * 7 + b'{"a":{"dtype":"F32"}}', "weights alone"),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("padding", [0, 2 << 20], ids=["small", "large"])
def test_what_a_file_is(name: str, padding: int, tmp_path: Path) -> None:
    content, what = FORMATS[name]
    (tmp_path / name).write_bytes(content + b"\0" * padding)
    with pytest.raises(ModelReadError, match=rf"{name}: {what}"):
        open_model(tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_stream_is(name: str) -> None:
    content, what = FORMATS[name]
    with pytest.raises(ModelReadError, match=f"<bytes>: {what}"):
        ModelFile.from_bytes(content)


def test_the_weights_of_an_ir() -> None:
    with pytest.raises(ModelReadError, match=r"cnn.bin: the weights of an OpenVINO IR, whose model is .*cnn.xml"):
        open_model(FIXTURES / "openvino" / "cnn.bin")


def test_what_is_a_model_is_none_of_them(tmp_path: Path) -> None:
    for size in (1, 7, 100, len(MODEL) - 1):
        (tmp_path / "part.onnx").write_bytes(MODEL[:size])
        with pytest.raises(ModelReadError, match=r"truncated or not ONNX protobuf|not an ONNX model"):
            open_model(tmp_path / "part.onnx")
