"""Suggestions that would make a generated symbol or a type known. Bounds are suggested only if a run confirms them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from gather_infer.errors import as_option
from gather_infer.explanation.chain import Definition, Facet, Link
from gather_infer.explanation.search import Search, names_in
from gather_infer.explanation.what_if import SIZES, WhatIf, is_less_unknown, is_ranked
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, InferredNode
from gather_infer.inference.result import Inference
from gather_infer.inference.tensor_table import is_typed
from gather_infer.model.tensors import initializers_of
from gather_infer.symbolic import Expr, Interval, free_symbols
from gather_infer.tensor import SymbolicTensor, Value, format_shape
from gather_infer.trail import Assumption, Cause

MAX_DEPTH: Final = 60
"""Maximum nesting of the search for the sources of an unknown."""

ONLY_AT_RUN_TIME: Final = "only known at run time"
ASSUMPTION: Final = "the assumption: without --no-assume"
CONSTANTS: Final = "--initializers-as-constants"

_LOWER = re.compile(r"--dim (.+)=(\d+)\.\.", re.DOTALL)
_SIZE = re.compile(r"--dim (.+)=SIZE", re.DOTALL)


class Suggestions:
    """Finds suggestions that would make a generated symbol, or a type, known; the most effective ones first.

    explained     the tensor to explain: its graph and its name
    what_if       infers again under bounds
    assuming_run  the run with assumptions allowed; None if the explained run allows them
    constant_run  returns the run that treats initializers as constants
    assume        whether the explained run allows assumptions
    """

    def __init__(
        self,
        inference: Inference,
        bodies: InferredGraphs,
        explained: tuple[InferredGraph, str],
        what_if: WhatIf,
        assuming_run: Inference | None,
        constant_run: Callable[[], Inference],
        assume: bool,
    ) -> None:
        self.inference = inference
        self.bodies = bodies
        self.body, self.name = explained
        self.what_if = what_if
        self.assuming_run = assuming_run
        self.constant_run = constant_run
        self.defaults = initializers_of(inference.model.proto.graph).intersection(inference.inputs)
        self.would_assume: tuple[Assumption, ...] = () if assuming_run is None else assuming_run.assumptions
        self.assume = assume
        self.without_rule = {d.location.node for d in inference.diagnostics if d.code == "GI105"}
        self.effect = _effects(inference)

    def of(self, name: str) -> tuple[str, ...]:
        is_known = is_less_unknown(self.body.path, self.name, self.inference, name)
        named = list(dict.fromkeys(self._candidates(name, set())))
        found = [text for text in named if self._is_confirmed(text, is_known)]
        if all(
            map(_is_fallback, found)
        ):  # no better suggestion: search for bounds of nearby symbols that a run confirms
            suggestion = self.what_if.suggestion(self._nearby_symbols(self.inference.causes[name]), is_known)
            if suggestion and not (suggestion.endswith("=SIZE") and any(text.endswith("=SIZE") for text in found)):
                found = [suggestion, *(text for text in found if not text.startswith(ONLY_AT_RUN_TIME))]
        if named and not found:
            found = [f"{ONLY_AT_RUN_TIME}, as far as tested"]
        return tuple(map(self._with_search_limit, dict.fromkeys(found)))

    def _is_confirmed(self, suggestion: str, is_known: Callable[[Inference], bool]) -> bool:
        """False if a run shows that `suggestion` does not help, which `is_known` decides; else True.

        Runs test sizes, bounds, assumptions and constant initializers. Any other suggestion is accepted untested.
        """
        if suggestion == ASSUMPTION:
            return self.assuming_run is None or is_known(self.assuming_run)
        if suggestion == CONSTANTS:
            return is_known(self.constant_run())
        size = _SIZE.fullmatch(suggestion)
        if size is not None:
            return any(self.what_if.holds({size[1]: point}, is_known) for point in SIZES)
        bound = _LOWER.fullmatch(suggestion)
        return bound is None or self.what_if.holds({bound[1]: Interval(int(bound[2]), None)}, is_known)

    def _with_search_limit(self, suggestion: str) -> str:
        if (
            self.what_if.runs_left > 0
            or not suggestion.startswith(ONLY_AT_RUN_TIME)
            or "as far as tested" in suggestion
        ):
            return suggestion
        return f"{ONLY_AT_RUN_TIME}, as far as tested{suggestion.removeprefix(ONLY_AT_RUN_TIME)}"

    def of_type(self, body: InferredGraph, name: str, unknown_at: InferredNode | None) -> tuple[str, ...]:
        """Suggestions that would make the element type and the rank of a tensor known; empty if both are known.

        unknown_at   the node at which the rank became unknown; None if there is none
        """
        if is_typed(body.values[name]):
            return ()
        found = list(self._from_leaves(body, name))
        if unknown_at is not None and not found:
            suggestion = self.what_if.suggestion(self._upstream_symbols(unknown_at), is_ranked(body.path, name))
            found = [suggestion or self._with_search_limit(_only_at_run_time(unknown_at))]
        return tuple(dict.fromkeys(found))

    def first_unknown(self, body: InferredGraph, name: str) -> InferredNode | None:
        """The node furthest upstream of a tensor at which the types of all inputs are known.

        The type of the tensor (element type and rank) becomes unknown at this node or downstream of it. None if the
        type is known or no such node is found. Nodes without a rule are skipped.
        """
        if is_typed(body.values[name]):
            return None
        search = Search(self.inference, self.bodies, depth=MAX_DEPTH, every=True)
        search.chain(body, name)
        for place in reversed(search.visited):
            if place.path not in self.without_rule and all(map(is_typed, self._operand_values(place))):
                return place
        return None

    def _operand_values(self, place: InferredNode) -> Iterator[Value]:
        """Yield the types of a node's inputs and of the outputs of its bodies."""
        for name in place.node.input:
            if name and (fact := place.graph.fact(name)) is not None:
                yield fact
        for _, inner in self.bodies.bodies(place):
            yield from (fact for name in inner.outputs if (fact := inner.fact(name)) is not None)

    def _upstream_symbols(self, place: InferredNode) -> list[str]:
        """The symbols in the operands of a node, then those further upstream."""
        found = sorted(name for fact in self._operand_values(place) for name in names_in(fact))
        search = Search(self.inference, self.bodies, depth=MAX_DEPTH, every=True)
        for name in filter(None, place.node.input):
            for step in _steps(search.chain(place.graph, name)):
                found += sorted(names_in(step.value))
        return list(dict.fromkeys(found))

    def _nearby_symbols(self, cause: Cause) -> list[str]:
        """The symbols on which a generated symbol with this cause may depend, the nearest first."""
        place = self.bodies.node(cause.node)
        return [*sorted(cause.operands), *([] if place is None else self._upstream_symbols(place))]

    def _candidates(self, name: str, seen: set[str]) -> Iterator[str]:
        cause = self.inference.causes[name]
        seen.add(name)
        for operand in sorted(cause.operands - seen, key=lambda o: (-self.effect[o], o)):
            if operand in self.inference.causes:
                yield from self._candidates(operand, seen)
            else:
                yield f"--dim {operand}=SIZE"
        if cause.operands:
            return
        place = self.bodies.node(cause.node)
        assumed = [a for a in self.would_assume if a.node == cause.node]
        nearby = set() if place is None else _operand_symbols(place)
        for assumption in assumed or [a for a in self.would_assume if free_symbols(a.dim) & nearby]:
            if isinstance(assumption.dim, Expr) and assumption.dim.is_symbol and assumption.lower is not None:
                yield f"--dim {assumption.dim.name}={assumption.lower}.."
            if not self.assume:
                yield ASSUMPTION
        if place is None or assumed:
            return
        if place.op.rule is None and "no rule" in cause.reason:
            yield self._rule_for(place)
        found = list(self._from_node(place, name))
        yield from found
        if not found and cause.data_dependent:
            yield _only_at_run_time(place)

    def _from_node(self, place: InferredNode, symbol: str) -> Iterator[str]:
        for output in place.node.output:
            value = place.graph.values.get(output)
            if output and value is not None and (symbol in names_in(value) or len(place.node.output) == 1):
                yield from self._from_leaves(place.graph, output)
                return

    def _from_leaves(self, body: InferredGraph, name: str) -> Iterator[str]:
        search = Search(self.inference, self.bodies, depth=MAX_DEPTH, every=True)
        for leaf in _leaves(search.chain(body, name)):
            value = leaf.value
            if leaf.origin is Definition.INPUT and isinstance(value, SymbolicTensor):
                if value.shape is None or value.dtype is None:
                    shape = "[...]" if value.shape is None else format_shape(value.shape)
                    yield as_option("--input", f"{leaf.name}={value.dtype or 'float32'}{shape}")
                elif leaf.facet is Facet.VALUES and leaf.name in self.defaults:
                    yield CONSTANTS
                elif leaf.facet is Facet.VALUES and value.dtype.is_integer and value.values is None:
                    yield f"a constant in place of the input {leaf.name}, {value}"
            elif leaf.node is not None and leaf.node in self.without_rule:
                place = self.bodies.node(leaf.node)
                assert place is not None, "a node of the chain is in a graph that was walked"
                yield self._rule_for(place)

    def _rule_for(self, place: InferredNode) -> str:
        domain = place.op.domain
        return f"a rule for {domain + '.' if domain else ''}{place.node.op_type}: --rules FILE.py"


def _effects(inference: Inference) -> Counter[str]:
    """For each symbol of the inputs, the number of generated symbols that depend on it, transitively."""
    dependencies: dict[str, frozenset[str]] = {}
    for name, cause in inference.causes.items():  # in order of creation: operands come first
        dependencies[name] = frozenset().union(*(dependencies.get(o, frozenset((o,))) for o in cause.operands))
    return Counter(symbol for symbols in dependencies.values() for symbol in symbols)


def _operand_symbols(place: InferredNode) -> set[str]:
    facts = (place.graph.fact(name) for name in place.node.input if name)
    return {name for fact in facts if fact is not None for name in names_in(fact)}


def _deciding_input(place: InferredNode) -> str:
    """The name of the input whose elements determine a size; "" without inputs.

    The first integer vector or scalar with unknown elements, or else the first input.
    """
    names: list[str] = [name for name in place.node.input if name]
    for name in names:
        fact = place.graph.fact(name)
        if not isinstance(fact, SymbolicTensor) or fact.dtype is None or fact.shape is None:
            continue
        if fact.dtype.is_integer and fact.values is None and len(fact.shape) <= 1:
            return name
    return names[0] if names else ""


def _is_fallback(suggestion: str) -> bool:
    """Whether a suggestion is only a fallback: a size to fix, or the note that no option helps."""
    return suggestion.startswith(ONLY_AT_RUN_TIME) or suggestion.endswith("=SIZE")


def _steps(step: Link) -> Iterator[Link]:
    yield step
    for source in step.sources:
        yield from _steps(source)


def _only_at_run_time(place: InferredNode) -> str:
    data = _deciding_input(place)
    return f"{ONLY_AT_RUN_TIME}: it depends on the elements of {data}" if data else ONLY_AT_RUN_TIME


def _leaves(step: Link) -> Iterator[Link]:
    """Yield the steps without sources, and all steps of nodes, because their operators may lack a rule."""
    if not step.sources or step.op_type:
        yield step
    for source in step.sources:
        yield from _leaves(source)
