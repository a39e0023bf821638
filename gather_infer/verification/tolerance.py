"""Tolerance: the allowed difference of floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.tensor import DType

EPSILON: Final = {
    DType.FLOAT64: 2.0**-52,
    DType.FLOAT32: 2.0**-23,
    DType.FLOAT16: 2.0**-10,
    DType.BFLOAT16: 2.0**-7,
    DType.COMPLEX64: 2.0**-23,
    DType.COMPLEX128: 2.0**-52,
}
"""Distance from 1 to the next number, by element type."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Allows `|rewritten - original| <= atol + rtol * |original|`, as numpy.allclose does.

    rtol, atol   relative and absolute tolerance
    noise        tolerance relative to the largest finite element of the tensor: the effect of another summation order
    units        tolerance in units in the last place of each element, for results that were rounded to their type
    """

    rtol: float = 0.0
    atol: float = 0.0
    noise: float = 0.0
    units: int = 0

    def allowed(self, magnitude: npt.NDArray[Any], dtype: DType) -> Any:
        """The allowed difference of each element, of type `dtype`; `magnitude` is |original| of each element."""
        with np.errstate(all="ignore"):
            found = self.atol + self.rtol * magnitude
            if self.noise:
                finite = magnitude[np.isfinite(magnitude)]
                found = np.maximum(found, self.noise * (finite.max() if finite.size else 0.0))
            if self.units:
                found = np.maximum(found, self.units * EPSILON.get(dtype, 0.0) * magnitude)
        return found
