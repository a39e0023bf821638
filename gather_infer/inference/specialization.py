"""Specialization: an inference repeated with fixed sizes for its symbols."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from gather_infer.errors import UnknownName, UsageError
from gather_infer.inference.constraints.parse import DimSpecs, bind, dim_size, equate
from gather_infer.inference.inference_driver import infer_with_constraints
from gather_infer.inference.result import Inference


def specialize(inference: Inference, sizes: Mapping[str, int]) -> Inference:
    """The model of `inference` inferred again with `sizes` for its symbols; see Inference.at."""
    given = inference.input_constraints
    assert given is not None, "`infer` keeps its input constraints"
    specs = DimSpecs(dict(given.dims.bound), dict(given.dims.bounds), list(given.dims.constraints))
    found: dict[str, int] = {}
    # bound symbols come last: `total = past + seq` may leave a single symbol open, which `equate` solves for
    for name, size in sorted(sizes.items(), key=lambda entry: entry[0] in specs.bound):
        if name not in given.known:
            raise UnknownName("input dim", name, given.known)
        found[name] = _size(name, size)
        if name in specs.bound:
            equate(specs, specs.bound[name], found[name], f"{name} = {size}")
        else:
            bind(specs, name, found[name])
    return infer_with_constraints(
        inference, given._replace(is_given=True, dims=specs, substitutions={**given.substitutions, **found})
    )


def _size(name: str, size: object) -> int:
    """`size` as an int. Raises UsageError unless it is an integer in the range of a dim."""
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise UsageError(f"dim {name!r} must be a number, is {size!r}")
    return dim_size(name, operator.index(size))
