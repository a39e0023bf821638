"""Guess-and-check ranges: sufficient conditions on input elements for an index that is computed from them.

An origin tracks one input element. It cannot express `arange(batch)*seq + last`, `i*b + j` or the running sum of a
mask. So ranges are guessed for the inputs of such an index, and the model is inferred once more under them. A guessed
range is used only after inference under it proves the access. The resulting conditions are sufficient and may not be
necessary.

Guesses follow a mixed radix: in `i*b + j` below `a*b`, i and j are digits of bases a and b. Splits that nothing
justifies (two addends of one index) are not tried. Where an input has no digit, as in the difference of two columns of
boxes, its guess is the range of nonnegative indices that other accesses require of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gather_infer import ir
from gather_infer.inference import Access, Inference
from gather_infer.inference.inference_driver import infer_with_shapes
from gather_infer.node_ids import GraphPath
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Scope, floordiv, free_symbols, known_le, minimum, symbol
from gather_infer.tensor import SymbolicTensor, Value, ValueRange
from gather_infer.trail import Assumption
from gather_infer.validate.bounds import verdict
from gather_infer.validate.condition import Condition, Elements, counterexample, minimal
from gather_infer.validate.verdict import Verdict, VerdictKind

MAX_TRIALS: Final = 6
"""Maximum number of inferences of one model under guessed ranges."""

MAX_OPEN: Final = 32
"""Maximum number of accesses of one model for which ranges are guessed."""

MAX_STEPS: Final = 400
"""Maximum number of tensors that are visited to find the inputs from which an index is computed."""

MAX_INPUTS: Final = 4
"""Maximum number of inputs from which an index is computed; for more no ranges are guessed."""

COUNTING: Final = frozenset({"CumSum", "ReduceSum"})
"""Operators that count the elements of a mask."""

# operators whose result has elements of the first input
MOVING: Final = frozenset(
    {"Cast", "Expand", "Flatten", "Gather", "GatherElements", "Identity", "Reshape", "Slice", "Squeeze", "Tile"}
    | {"Transpose", "Unsqueeze"}
)
LINEAR: Final = frozenset({"Add", "Clip", "Concat", "Max", "Min", "Where"})
"""Operators through which elements of every input keep their coefficients.

The table only guides guesses: a missing operator costs a guess, never soundness.
"""

FORMULA: Final = frozenset({"Add", "Sub", "Mul", "Div", "Floor", "Ceil", "Cast"})
"""Float operators of formulas that convert integers to floats and back."""

Ranges: TypeAlias = Mapping[str, ValueRange]


def verdicts(inference: Inference, *, rules: Sequence[RuleSet] = ()) -> tuple[Verdict, ...]:
    """A verdict for every access by index, in the order of `inference.accesses`.

    The verdicts hold under the assumptions that the inference lists.

    rules   the rules that the inference was given: the model may be inferred again if an index is computed from data

        >>> inference = gather_infer.infer("fixtures/bert-torchscript.onnx")
        >>> for verdict in gather_infer.verdicts(inference):
        ...     if verdict.condition:
        ...         print(verdict.access.node, verdict.kind, verdict.condition)
        /bert/embeddings/word_embeddings/Gather conditional -151 <= input_ids < 151
        /bert/embeddings/token_type_embeddings/Gather conditional -2 <= token_type_ids < 2
    """
    found = [verdict(access) for access in inference.accesses]
    waiting = [v for v in found if v.kind is VerdictKind.UNDECIDED and _may_be_guessed(v.access)][:MAX_OPEN]
    if not waiting:
        return tuple(found)
    trials = _Trials(inference, rules, _element_limits(found))
    better = {id(v): each for v in waiting if (each := trials.check(v)) is not None}
    return tuple(better.get(id(v), v) for v in found)


def _element_limits(found: Iterable[Verdict]) -> dict[str, Dim]:
    """For each input whose elements are indices unchanged, the exclusive upper bound that the accesses require."""
    limits: dict[str, set[Dim]] = {}
    for condition in (c for v in found if v.kind is VerdictKind.CONDITIONAL for c in v.conditions):
        if isinstance(condition.left, Elements) and condition.relation == "<":
            limits.setdefault(condition.left.input, set()).add(condition.right)
    orders = {name: _sorted(ends, Scope()) for name, ends in limits.items()}
    return {name: order[0] for name, order in orders.items() if order}


def _may_be_guessed(access: Access) -> bool:
    """Whether ranges are guessed for the inputs of an access: never in a function, because calls rename its inputs."""
    is_called = any(step.attribute is None for step in access.node.graph.steps)
    return access.facts_before is not None and access.addressing is not None and not is_called


@dataclass(slots=True)
class _IndexTerms:
    """The inputs and constants from which an index is computed.

    coefficients           integer input -> coefficients of its elements in the index; None for an unknown coefficient
    counted                inputs whose elements are summed, such as masks
    constant_coefficients  coefficients of terms that do not come from inputs
    """

    coefficients: dict[str, set[Dim | None]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    constant_coefficients: set[Dim] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Trial:
    """The accesses of a model under guessed ranges, by key, and the assumptions that only this inference needs."""

    accesses: Mapping[object, Access]
    assumed: tuple[Condition, ...]


def _assumption_conditions(assumption: Assumption) -> Iterator[Condition]:
    if assumption.lower is not None:
        yield Condition(assumption.dim, ">=", assumption.lower, tight=False)
    if assumption.upper is not None:
        yield Condition(assumption.dim, "<=", assumption.upper, tight=False)


class _Trials:
    def __init__(self, inference: Inference, rules: Sequence[RuleSet], element_limits: Mapping[str, Dim]) -> None:
        self.inference = inference
        self.rules = rules
        self.element_limits = element_limits
        self.declared = set(inference.input_constraints.ranges) if inference.input_constraints is not None else set()
        self.symbols = frozenset() if inference.input_constraints is None else inference.input_constraints.known
        self.trials: dict[tuple[tuple[str, Dim | None, Dim | None], ...], _Trial] = {}

    def check(self, undecided: Verdict) -> Verdict | None:
        """A conditional verdict that replaces `undecided`; None if the access is in bounds under no guessed range."""
        for ranges in self.candidate_ranges(undecided.access):
            trial = self.trial(ranges)
            access = trial.accesses.get(undecided.access.key)
            if access is None or access.facts_before is None or access.facts_before.scope.is_contradictory:
                continue
            again = verdict(access)
            if again.kind in (VerdictKind.PROVED, VerdictKind.CONDITIONAL):
                scope = access.facts_before.scope
                return _as_conditions(ranges, trial.assumed, undecided, again, scope)
        return None

    def trial(self, ranges: Ranges) -> _Trial:
        """The accesses of the model under the ranges; no accesses after `MAX_TRIALS` trials."""
        key = tuple(sorted((name, span.lo, span.hi) for name, span in ranges.items()))
        if key not in self.trials:
            if len(self.trials) == MAX_TRIALS:
                return _Trial({}, ())
            again = infer_with_shapes(self.inference, {}, self.rules, ranges=ranges)
            more = [a for a in again.assumptions if a not in self.inference.assumptions]
            is_told = all(free_symbols(a.dim) <= self.symbols for a in more)
            accesses: dict[object, Access] = {access.key: access for access in again.accesses} if is_told else {}
            self.trials[key] = _Trial(accesses, tuple(c for a in more for c in _assumption_conditions(a)))
        return self.trials[key]

    def candidate_ranges(self, access: Access) -> Iterator[Ranges]:
        """Candidate ranges for the elements of the inputs from which the index of `access` is computed."""
        origin = self.index_terms(access.indices, access.node.graph)
        names = [name for name in origin.coefficients if name not in self.declared]
        if not names or len(origin.coefficients) > MAX_INPUTS:
            return
        assert access.addressing is not None and access.facts_before is not None, "_may_be_guessed checks this"
        shares = _mixed_radix_ranges(origin, access.addressing.size, access.facts_before.scope)
        found = {name: ValueRange(0, n - 1) for name, n in shares.items() if free_symbols(n) <= self.symbols}
        found |= dict.fromkeys(origin.counted, ValueRange(0, 1))
        if found.keys() >= set(names):
            yield {name: found[name] for name in names}
        rows = {name: n for name, n in self.element_limits.items() if free_symbols(n) <= self.symbols}
        if not found.keys() >= set(names) and found.keys() | rows.keys() >= set(names):
            yield {name: found[name] if name in found else ValueRange(0, rows[name] - 1) for name in names}

    def index_terms(self, indices: str, graph: GraphPath) -> _IndexTerms:
        """The terms of an index that is read in a graph, found by a backward search in that graph and those around it.

        Values that a loop passes from iteration to iteration are not followed.
        """
        origin = _IndexTerms()
        pending: list[tuple[ir.Value | None, Dim | None, bool]] = [(self.inference.ir[graph].value(indices), 1, False)]
        seen: set[tuple[ir.Value, Dim | None, bool]] = set()
        while pending and len(seen) < MAX_STEPS:
            value, times, is_counted = pending.pop()
            fact = self.fact(value)
            if value is None or not isinstance(fact, SymbolicTensor) or fact.dtype is None:
                continue
            if (value, times, is_counted) in seen:
                continue
            seen.add((value, times, is_counted))
            if value.graph is self.inference.ir.main and value.name in self.inference.inputs:
                if fact.dtype.is_integer:
                    origin.coefficients.setdefault(value.name, set()).add(times)
                    origin.counted |= {value.name} if is_counted else set()
                continue
            node = value.producer
            if node is None or _number(fact) is not None or _is_known(fact):
                continue
            if not fact.dtype.is_integer and (node.op_type not in FORMULA or not fact.dtype.is_float):
                continue
            more = [(node.graph.value(operand), count) for operand, count in self.operands(node, times)]
            is_counted = is_counted or node.op_type in COUNTING
            pending += [(operand, count, is_counted) for operand, count in more]
            if not any(self.is_unknown(operand) for operand, _ in more) and times is not None:
                origin.constant_coefficients.add(times)
        return origin

    def fact(self, value: ir.Value | None) -> Value | None:
        return None if value is None else self.inference.scopes.get(value.graph.path, {}).get(value.name)

    def is_unknown(self, value: ir.Value | None) -> bool:
        fact = self.fact(value)
        return isinstance(fact, SymbolicTensor) and not _is_known(fact)

    def operands(self, node: ir.Node, coefficient: Dim | None) -> Iterator[tuple[str, Dim | None]]:
        """The inputs of a node, each with its coefficient in the index, where the output of the node has `coefficient`.

        None is an unknown coefficient.
        """
        if node.op_type == "Mul" and len(node.inputs) == 2:
            numbers = [_number(self.fact(node.graph.value(name))) for name in node.inputs]
            for name, other in zip(node.inputs, reversed(numbers), strict=True):
                yield name, None if coefficient is None or other is None else coefficient * other
        elif node.op_type == "Sub" and len(node.inputs) == 2:
            yield node.inputs[0], coefficient
            yield node.inputs[1], None
        elif node.op_type in MOVING:
            yield node.inputs[0], coefficient
        else:
            for name in node.inputs:
                yield name, coefficient if node.op_type in LINEAR else None


def _is_known(fact: SymbolicTensor) -> bool:
    return fact.values is not None and None not in fact.values.flat


def _number(fact: object) -> Dim | None:
    """The only element of a tensor as a dim; None if there are several, or the element is unknown."""
    element = fact.only_element if isinstance(fact, SymbolicTensor) else None
    return element if isinstance(element, (int, Expr)) and not isinstance(element, bool) else None


def _mixed_radix_ranges(terms: _IndexTerms, size: Dim, scope: Scope) -> dict[str, Dim]:
    """By input, the base of its digit in a mixed-radix index; empty where the index has no such form.

    For `i*b + j` below `a*b` the bases are a and b. An input with an unknown coefficient has no digit.
    """
    try:
        return _mixed_radix_digits(terms, size, scope)
    except DimTooLarge:
        return {}


def _mixed_radix_digits(terms: _IndexTerms, size: Dim, scope: Scope) -> dict[str, Dim]:
    """As `_mixed_radix_ranges`. Raises DimTooLarge when a base exceeds a cap."""
    known = {
        name: {n for n in times if n is not None} for name, times in terms.coefficients.items() if None not in times
    }
    counts = [count for times in known.values() for count in times]
    scope = scope.child()
    for name in {name for dim in (*counts, *terms.constant_coefficients, size) for name in free_symbols(dim)}:
        scope.add_fact(symbol(name) - 1)  # only orders the guesses, so no assumption is recorded
    order = _sorted({*counts, *terms.constant_coefficients, size}, scope)
    is_alike = any(counts.count(count) > 1 and count != size for count in counts)
    if order is None or is_alike or any(known_le(1, count, scope) is not True for count in counts):
        return {}
    digits = {count: floordiv(more, count, scope) for count, more in itertools.pairwise(order)}
    digits[size] = 1
    if any(count not in digits for count in counts):
        return {}
    return {name: minimum(*(digits[count] for count in times)) for name, times in known.items()}


def _sorted(dims: Iterable[Dim], scope: Scope) -> list[Dim] | None:
    """The dims in ascending order; None where the order is unknown."""
    order: list[Dim] = []
    for dim in dims:
        at = next((i for i, other in enumerate(order) if known_le(dim, other, scope) is True), len(order))
        if not all(known_le(other, dim, scope) is True for other in order[:at]):
            return None
        order.insert(at, dim)
    return order


def _as_conditions(
    ranges: Ranges, assumed: Sequence[Condition], undecided: Verdict, again: Verdict, scope: Scope
) -> Verdict:
    """The undecided verdict with the guessed ranges as conditions: sufficient, but not known to be necessary."""
    conditions = [*(replace(condition, tight=False) for condition in again.conditions), *assumed]
    for name, span in ranges.items():
        assert span.lo is not None and span.hi is not None, "guessed ranges are closed"
        conditions.append(Condition(Elements(name), ">=", span.lo, tight=False))
        conditions.append(Condition(Elements(name), "<", span.hi + 1, tight=False))
    stated = minimal(conditions, scope)
    return replace(
        undecided, kind=VerdictKind.CONDITIONAL, conditions=stated, witness=counterexample(stated, scope),
        reason=again.reason if again.conditions else undecided.reason,
    )  # fmt: skip
