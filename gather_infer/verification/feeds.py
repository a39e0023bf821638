"""Reading and checking of the feeds that the caller gives."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gather_infer.errors import UsageError
from gather_infer.inference import Inference
from gather_infer.tensor import DType, SymbolicTensor, dtype_of_array

_NO_ARCHIVE: Final = "no .npz, as np.savez(FILE, **feeds) writes it"
_BROKEN: Final = (ValueError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""Exceptions of numpy and zipfile for a file that is damaged, or of another kind."""


def read_feeds(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a NumPy file, written by `np.savez(FILE, **feeds)`, by name.

    Raises UsageError if the file cannot be read.
    """
    file = os.fspath(path)
    try:
        held = np.load(path, allow_pickle=False)
        if isinstance(held, np.ndarray):
            raise UsageError(f"{file}: one array; feeds are a .npz with an array for each input")
        with held:
            return {name: _held(file, held, name) for name in held.files}
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or _NO_ARCHIVE}") from error
    except _BROKEN as error:  # a NUL in the name of the file is a ValueError, too
        raise UsageError(f"{file}: {_NO_ARCHIVE}") from error


def _held(file: str, held: Any, name: str) -> Any:
    """The array `name` of the open archive `held`. Raises UsageError for damaged data, and for Python objects."""
    try:
        return held[name]
    except _BROKEN as error:
        raise UsageError(f"{file}: {name} cannot be read as an array of numbers or texts") from error
    except MemoryError as error:
        raise UsageError(f"{file}: {name} takes more memory than there is") from error


def checked_feeds(inference: Inference, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays in `feeds` for inputs of the model, by name; arrays with names of outputs are left out.

    Raises UsageError for a name that is neither, for a missing input, and for another element type, rank or size than
    the model declares.
    """
    unknown = [name for name in feeds if name not in inference.inputs and name not in inference.outputs]
    if unknown:
        raise UsageError(f"feeds have {unknown[0]!r}, the inputs are {', '.join(inference.inputs) or 'none'}")
    proto = inference.model.proto
    constants = {t.name for t in proto.graph.initializer} | {t.values.name for t in proto.graph.sparse_initializer}
    missing = [name for name in inference.inputs if name not in feeds and name not in constants]
    if missing:
        raise UsageError(f"feeds have no input {missing[0]!r}: {', '.join(feeds) or 'nothing'}")
    return {name: _checked(inference, name, value) for name, value in feeds.items() if name in inference.inputs}


def _checked(inference: Inference, name: str, value: Any) -> Any:
    fact = inference[name]
    if not isinstance(fact, SymbolicTensor):
        return value
    array = np.asarray(value)
    if fact.dtype is not None:
        array = _typed(array, fact.dtype)
        found = dtype_of_array(array.dtype)
        if found is not fact.dtype:
            raise UsageError(f"feeds: input {name} is {fact.dtype}, not {array.dtype}")
    if fact.shape is None:
        return array
    fits = len(fact.shape) == array.ndim and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(fact.shape, array.shape, strict=True)
    )
    if not fits:
        raise UsageError(f"feeds: input {name} is {fact}, not of shape {list(array.shape)}")
    return array


def _typed(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    """The array with strings as objects, and raw bytes of a type that numpy lacks as elements of `dtype`."""
    if dtype is DType.STRING and array.dtype.kind in "US":
        return array.astype(object)
    if not dtype.has_dtype:
        return array
    kind = dtype.dtype
    if array.dtype.kind == "V" and array.dtype.itemsize == kind.itemsize:
        return array.view(kind)
    return array
