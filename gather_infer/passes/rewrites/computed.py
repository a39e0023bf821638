"""Facts about float values that follow from the operators that compute them."""

from __future__ import annotations

from typing import Final

from gather_infer.passes.site import Site

_COMPUTES: Final = (
    "Add", "Conv", "Div", "Erf", "Exp", "HardSigmoid", "HardSwish", "MatMul", "Mul", "Sigmoid", "Sqrt", "Sub",
    "Tanh",
)  # fmt: skip
"""Operators that compute floats and never return a signalling NaN. (Gemm copies C where the inner dim is 0.)"""

_MAX_NODES: Final = 8


def is_computed(site: Site, name: str) -> bool:
    """Whether arithmetic has computed the floats of a value, so that none of them is a signalling NaN."""
    for _ in range(_MAX_NODES):
        if site.writer(name, *_COMPUTES) is not None:
            return True
        made_by = site.writer(name, "Relu") or _mover(site, name)
        if made_by is None:
            return False
        name = made_by.input(0)
    return False


def is_zero(site: Site, name: str) -> bool:
    """Whether all elements are 0.0, none -0.0: a constant, a ConstantOfShape, or elements moved from one."""
    for _ in range(_MAX_NODES):
        constant = site.constant_of(name)
        if constant is not None:
            return not constant.bits.dtype.hasobject and not constant.plain.any()
        filled = site.writer(name, "ConstantOfShape")
        if filled is not None:
            given = filled.attribute("value")
            value = None if given is None else site.engine.draft.subject.read(given.t)
            return given is None or (value is not None and not value.plain.any())
        made_by = _mover(site, name)
        if made_by is None:
            return False
        name = made_by.input(0)
    return False


def _mover(site: Site, name: str) -> Site | None:
    """The producer of a value that consists of elements of its first input only."""
    found = site.writer(name)
    traits = None if found is None else found.traits
    if found is None or found.domain or traits is None or traits.moves != 0:
        return None
    return found if found.op_type == "Split" or found.position_of(name) == 0 else None
