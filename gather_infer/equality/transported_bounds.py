"""Bounds of input sizes in the runs in which the first model succeeds, as constraints for inferring the second one.

A proof is about these runs alone. Without the bounds, the inference of the second model has to allow for sizes that the
first one refuses: a Reshape of [n, 4] to [-1, seq, 4] has another result where seq is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from onnx import ModelProto

from gather_infer.equality.implied_relations import relations_of
from gather_infer.inference import Inference
from gather_infer.inference.constraints.given import shaped_dims, symbols_of_inputs
from gather_infer.inference.constraints.parse import read_inputs
from gather_infer.inference.dim_rendering import is_sized
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Interval, Scope, simplify
from gather_infer.tensor import SymbolicTensor

_LARGEST: Final = 2**31 - 1
"""The largest bound that is handed on."""


def facts_of(inference: Inference) -> Scope:
    """The facts about input sizes in every run in which a model succeeds."""
    facts = inference.known.snapshot().child()
    for left, relation, right in relations_of(inference):
        facts.add_fact(right - left)
        if relation == "==":
            facts.add_fact(left - right)
    for implied in inference.implied_constraints:  # as sizes are now known, which may be simpler than it was
        if len(implied.any_of) == 1 and not implied.runtime and implied.node.graph == MAIN:
            ((left, relation, right),) = implied.any_of
            if relation == "<=" and (simple := simplify(right - left, facts)) != right - left:
                facts.add_fact(simple)
    return facts


def with_bounds_of(
    first: Inference,
    second: ModelProto,
    pairs: Mapping[str, str],
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
) -> Mapping[str, object] | list[str]:
    """The constraints `dims` on the second model, and bounds of its other input sizes that the first one implies.

    pairs    input of the first model -> input of the second
    inputs   types of inputs that the caller gives; their sizes get no bounds
    """
    values = fed_inputs(second)
    retyped = read_inputs(inputs, (value.name for value in values))
    declared = {value.name: shaped_dims(value) for value in values if value.name not in retyped}
    names, unnamed = symbols_of_inputs(values, retyped)
    facts = facts_of(first)
    found: dict[str, Interval] = {}
    for name, other in pairs.items():
        fact = first[name]
        shape = fact.shape if isinstance(fact, SymbolicTensor) and fact.shape is not None else ()
        for axis, (dim, given) in enumerate(zip(shape, declared.get(other, ()), strict=False)):
            symbol = given.dim_param or unnamed.get((other, axis), "")
            if symbol in names and not is_sized(given):
                bounds = facts.bounds(dim)
                found[symbol] = found[symbol] & bounds if symbol in found else bounds
    texts = {
        name: f"{bounds.lo}..{'' if bounds.hi is None or bounds.hi > _LARGEST else bounds.hi}"
        for name, bounds in found.items()
        if bounds.lo is not None and 0 <= bounds.lo <= _LARGEST and bounds.lo != bounds.hi and not bounds.is_empty
    }
    if isinstance(dims, Mapping):
        return {**texts, **dims}
    given_texts = list(dims)
    taken = {text.partition("=")[0].strip() for text in given_texts}
    return [*given_texts, *(f"{name}={text}" for name, text in texts.items() if name not in taken and "=" not in name)]
