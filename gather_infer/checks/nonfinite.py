"""Weights that contain NaN or infinity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import ModelReadError
from gather_infer.model import ModelFile
from gather_infer.model.tensors import iter_tensors

FLOATS: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16})

MAX_BYTES: Final = 64 << 20
"""Bytes of weights to read per model, smallest tensors first: diverged training leaves NaN in every tensor."""


def nonfinite_findings(file: ModelFile) -> Iterator[Diagnostic]:
    """A finding for NaN and one for infinity, each at the smallest of the tensors read that contain it.

    Infinities that are probably intended are ignored: in tensors of one element, and in masks, whose finite elements
    are all 0 or 1.
    """
    nans: list[tuple[str, str]] = []
    infinities: list[tuple[str, str]] = []
    for tensor in _readable(file):
        try:
            elements = file.tensor(tensor)
        except ModelReadError:
            continue  # malformed or missing data: other checks report it
        finite = np.isfinite(elements)
        if finite.all():
            continue
        nan = int(np.isnan(elements).sum())
        infinite = int(elements.size - finite.sum()) - nan
        if nan:
            nans.append((tensor.name, f"{nan} of {elements.size}"))
        if infinite and not _is_mask(elements[finite], elements.size):
            infinities.append((tensor.name, f"{infinite} of {elements.size}"))
    for kind, found in (("NaN", nans), ("infinite", infinities)):
        if found:
            (name, share), *others = found
            more = f", and some of {len(others)} more tensor{'s' * (len(others) > 1)}" if others else ""
            yield diagnostic(
                "GI118", f"{share} elements of {name or 'a constant'} are {kind}{more}", Location(value=name)
            )


def _readable(file: ModelFile) -> list[TensorProto]:
    """The float tensors to read, smallest first, up to MAX_BYTES in total."""
    sized: list[tuple[int, int, TensorProto]] = []
    for number, tensor in enumerate(iter_tensors(file.proto)):
        if tensor.data_type in FLOATS and not file.has_no_directory(tensor) and all(dim > 0 for dim in tensor.dims):
            sized.append((file.nbytes(tensor), number, tensor))
    total, kept = 0, []
    for nbytes, _, tensor in sorted(sized, key=lambda entry: entry[:2]):
        total += nbytes
        if total > MAX_BYTES:
            break
        kept.append(tensor)
    return kept


def _is_mask(finite: npt.NDArray[Any], size: int) -> bool:
    return bool(size == 1 or finite.size == 0 or ((finite == 0) | (finite == 1)).all())
