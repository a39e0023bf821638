"""Failures at given sizes: accesses that are out of bounds in every run with the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.symbolic import Dim, free_symbols, substitute
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.validate.bounds import verdict
from gather_infer.validate.condition import Condition, Elements, difference
from gather_infer.validate.minimal_constraints import is_always_reached
from gather_infer.validate.verdict import Verdict, verdict_diagnostics


def bounds_violations(inference: Inference) -> Iterator[Diagnostic]:
    """Errors that inference itself did not report: accesses that are out of bounds in every run that reaches them."""
    for finding in verdict_diagnostics(map(verdict, inference.accesses), inference):
        if finding.severity is Severity.ERROR:
            yield finding


def failing_accesses(inference: Inference, sizes: Mapping[str, int]) -> Iterator[tuple[Verdict, Condition]]:
    """The accesses that fail in every run with these sizes, each with a violated necessary condition.

    Empty tensors need no bounds: an access counts only when all dims of its indices and of its result are known to be
    at least 1. A condition with a symbol that `sizes` lacks is not evaluated.
    """
    for access in inference.accesses:
        found = verdict(access)
        if not found.conditions or not is_always_reached(found):
            continue
        broken = next((c for c in found.conditions if _is_broken(c, sizes)), None)
        if broken is not None and all(_has_elements(v, sizes) for v in (access.indices_type, access.result_type)):
            yield found, broken


def failures_at_sizes(inference: Inference, sizes: Mapping[str, int]) -> Iterator[Diagnostic]:
    """The errors of the model, then the `failing_accesses` at these sizes, each as an error with its reason."""
    yield from inference.errors
    for found, broken in failing_accesses(inference, sizes):
        access = found.access
        assert not isinstance(broken.left, Elements), "only conditions on sizes are evaluated"
        names = sorted((free_symbols(broken.left) | free_symbols(broken.right)) & sizes.keys())
        said = ", ".join(f"{name} = {sizes[name]}" for name in names)
        where = Location(access.node, access.op_type, access.domain, access.version)
        yield diagnostic("GI301", f"every run with {said} fails: {broken}", where)


def _is_broken(condition: Condition, sizes: Mapping[str, int]) -> bool:
    """Whether a condition is on sizes, necessary, and violated at `sizes`; False if it cannot be evaluated."""
    if isinstance(condition.left, Elements) or not condition.tight:
        return False
    gap = _size_of(difference(condition), sizes)
    return gap is not None and gap < 0


def _has_elements(value: Value, sizes: Mapping[str, int]) -> bool:
    """Whether all dims of a tensor are known to be at least 1 at `sizes`."""
    if not isinstance(value, SymbolicTensor) or value.shape is None:
        return False
    told = [_size_of(dim, sizes) for dim in value.shape]
    return all(dim is not None and dim > 0 for dim in told)


def _size_of(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """The value of a dim at `sizes`; None if it is undefined there, or contains other symbols."""
    try:
        found = substitute(dim, sizes)
    except ZeroDivisionError:
        return None
    return found if isinstance(found, int) else None
