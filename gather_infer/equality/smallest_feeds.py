"""Inputs at the smallest sizes that a model takes: there a Reshape to -1 may have another result than elsewhere."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.equality.transported_bounds import facts_of
from gather_infer.inference import Inference
from gather_infer.symbolic import evaluate, free_symbols, symbol
from gather_infer.tensor import SymbolicTensor

MAX_ZEROS: Final = 1 << 20
"""Largest number of elements of an input at the smallest sizes."""


def smallest_feeds(inference: Inference) -> dict[str, npt.NDArray[Any]] | None:
    """Inputs of zeros at the smallest sizes in runs in which the model succeeds; None if no size is 0 there."""
    facts = facts_of(inference)
    found = {}
    for name in inference.inputs:
        value = inference[name]
        if not isinstance(value, SymbolicTensor) or value.shape is None or value.dtype is None:
            return None
        names = {name for dim in value.shape for name in free_symbols(dim)}
        sizes = {name: max(0, facts.bounds(symbol(name)).lo or 0) for name in names}
        try:
            shape = [evaluate(dim, sizes) for dim in value.shape]
        except ZeroDivisionError:
            return None
        if not value.dtype.has_dtype or min(shape, default=0) < 0 or prod(shape) > MAX_ZEROS:
            return None
        found[name] = np.zeros(shape, value.dtype.dtype)
    return found if any(0 in each.shape for each in found.values()) else None
