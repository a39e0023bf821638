"""Dim names that a file uses for two sizes: onnxruntime assumes that they are equal when it reuses buffers.

https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/framework/allocation_planner.cc
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Final

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.inference import Inference
from gather_infer.inference.constraints.given import shaped_dims
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Dim, evaluate, free_symbols, known_eq
from gather_infer.tensor import SymbolicTensor

_SAMPLE_SIZES: Final = (1, 2, 3, 5, 16, 31, 64, 100, 224)
"""Sizes at which two dims are compared; all symbols get the same size."""

_COMPARE: Final = {"==": operator.eq, "<=": operator.le}


def shared_name_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each dim name of the main graph that names two dims whose sizes differ in some run."""
    graph = inference.model.proto.graph
    first: dict[str, tuple[str, Dim]] = {}
    found: set[str] = set()
    for value in (*graph.input, *graph.value_info):
        fact = inference.get(value.name)
        dims = shaped_dims(value)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None or len(dims) != len(fact.shape):
            continue
        for proto, dim in zip(dims, fact.shape, strict=True):
            name = proto.dim_param
            if not name or name in found or inference.is_generated(dim):
                continue
            other, before = first.setdefault(name, (value.name, dim))
            sizes = _distinguishing_sizes(before, dim, inference)
            if sizes is not None:
                found.add(name)
                at = ", ".join(f"{symbol} = {size}" for symbol, size in sizes.items())
                message = (
                    f"value_info uses {name} for two sizes: {before} (of {other}) and {dim} (of {value.name}), "
                    f"which differ at {at}; onnxruntime may reuse the buffer of one for the other and fail"
                )
                yield diagnostic("GI201", message, locations.location_of_value(MAIN, value.name))


def _distinguishing_sizes(a: Dim, b: Dim, inference: Inference) -> Mapping[str, int] | None:
    """Sizes of the symbols in `a` and `b` at which the dims differ and that no known fact excludes.

    None if the dims are proved equal or no sample size distinguishes them.
    """
    if known_eq(a, b, inference.known) is True:
        return None
    symbols = sorted(free_symbols(a) | free_symbols(b))
    for size in _SAMPLE_SIZES:
        sizes = dict.fromkeys(symbols, size)
        try:
            if evaluate(a, sizes) != evaluate(b, sizes) and _is_legal(sizes, inference):
                return sizes
        except ZeroDivisionError:
            continue
    return None


def _is_legal(sizes: Mapping[str, int], inference: Inference) -> bool:
    """Whether `sizes`, by symbol, satisfy every bound, fact and constraint whose symbols all have a size.

    Raises ZeroDivisionError if a divisor in one of them is 0.
    """
    known = inference.known
    if any(size not in known.symbol_bounds(name) for name, size in sizes.items()):
        return False
    if any(fact.symbols <= sizes.keys() and evaluate(fact, sizes) < 0 for fact in known.facts):
        return False
    needs = [
        *(((c.left, c.relation, c.right),) for c in inference.constraints),
        *(d.any_of for d in inference.implied_constraints),
    ]
    return all(
        any(_COMPARE[how](evaluate(a, sizes), evaluate(b, sizes)) for a, how, b in any_of)
        for any_of in needs
        if all(free_symbols(a) | free_symbols(b) <= sizes.keys() for a, _, b in any_of)
    )
