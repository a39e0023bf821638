"""`gather_infer.explain`: the chain behind a tensor, and what would make the unknown parts of it known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import UsageError
from gather_infer.explanation.chain import Explanation, Facet, Link, Origin, Unknown
from gather_infer.explanation.places import Bodies, Body, Place
from gather_infer.explanation.provenance import Search, names_in
from gather_infer.explanation.tries import Bounds, Tries, is_ranked, is_without
from gather_infer.inference.options import suggestion
from gather_infer.inference.result import Inference
from gather_infer.inference.run import infer
from gather_infer.model.given import GivenModel, to_model_file
from gather_infer.model.paths import joined
from gather_infer.places import MAIN, NodePath
from gather_infer.record import Assumption, Cause, Constraint
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Expr, Interval, free_symbols
from gather_infer.tensor import SymbolicTensor, Value, format_shape

DEPTH: Final = 8
"""Steps below each other, unless said otherwise."""

DEEPEST: Final = 60
"""Steps below each other in search of what an unknown comes from."""

ONLY_A_RUN: Final = "only a run tells"
ASSUMPTION: Final = "the assumption: without --no-assume"

_LOWER = re.compile(r"--dim (.+)=(\d+)\.\.", re.DOTALL)
_BOUNDS = re.compile(r"\s*(\d*)\s*\.\.\s*(\d*)\s*")
_FROM_ZERO = re.compile(r"[^=]*=\s*0*\.\..*")


def explain(
    model: GivenModel,
    tensor: str,
    *,
    dims: Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    depth: int = DEPTH,
    every: bool = False,
) -> Explanation:
    """Why a tensor of a model has its shape and values.

    model, dims, inputs, rules, assume   as for `infer`
    tensor   its name; in a subgraph or function call below the path of that, `If_3/then_branch/y`
    depth    steps below each other at most
    every    list also the nodes that only hand the dims on

    Raises UsageError when there is no such tensor, and what `infer` raises.
    """
    file = to_model_file(model)
    specs = list(dims)
    inference = infer(file, dims=specs, inputs=inputs, rules=rules, assume=assume)
    bodies = Bodies(inference)
    body, name = _resolve(inference, bodies, tensor)
    strict = not assume or any(map(_FROM_ZERO.fullmatch, specs))

    def relaxed() -> Inference:
        kept = [spec for spec in specs if not _FROM_ZERO.fullmatch(spec)]
        return infer(file, dims=kept, inputs=inputs, rules=rules)

    value = body.values[name]
    search = Search(inference, bodies, depth=depth, every=every)
    step = search.chain(body, name)
    unknown = _generated(inference, names_in(value))
    relaxed_run = relaxed() if strict and unknown else None

    def again(bounds: Bounds) -> Inference | None:
        try:
            return infer(file, dims=_bounded(specs, bounds), inputs=inputs, rules=rules, assume=assume)
        except UsageError:  # there are no such sizes with what the caller says of other dims
            return None

    remedies = _Remedies(inference, bodies, (body, name), Tries(inference, again), relaxed_run, assume)
    lost = remedies.lost(body, name)
    concerned = names_in(value) | {o for s in unknown for o in inference.causes[s].operands}
    visited = {place.path for place in search.visited}
    return Explanation(
        scope=body.label,
        name=name,
        value=value,
        step=step,
        unknowns=tuple(Unknown(s, inference.causes[s], remedies.of(s)) for s in unknown),
        remedies=remedies.of_type(body, name, lost),
        lost=None if lost is None else _lost(lost),
        assumptions=tuple(a for a in inference.assumptions if free_symbols(a.dim) & concerned),
        constraints=tuple(c for c in inference.constraints if _concerns(c, concerned, inference)),
        findings=tuple(d for d in inference.diagnostics if _is_about(d, visited, bool(unknown) or lost is not None)),
        believed=tuple(b for b in inference.believed if b.node in visited),
    )


def _is_about(finding: Diagnostic, visited: Collection[NodePath], is_open: bool) -> bool:
    """Whether a finding is about a node of the chain; where something is not known, missing data may be why."""
    if finding.code == "GI112":
        return is_open or finding.location.node in visited
    return finding.location.node in visited and finding.code != "GI203"


def _bounded(specs: list[str], bounds: Bounds) -> list[str]:
    """What the caller says of dims, with bounds for those of which the caller has not said otherwise."""
    kept: list[str] = []
    added = dict(bounds)
    for spec in specs:
        name, _, text = spec.partition("=")
        wanted = added.pop(name.strip(), None)
        said = _BOUNDS.fullmatch(text)
        if wanted is not None and said is not None:
            both = wanted & Interval(int(said[1] or 0), int(said[2]) if said[2] else None)
            spec = spec if both.is_empty else _spec(name, both)
        kept.append(spec)
    return kept + [_spec(name, interval) for name, interval in added.items()]


def _spec(name: str, bounds: Interval) -> str:
    return f"{name}={bounds.lo}..{'' if bounds.hi is None else bounds.hi}"


def _lost(place: Place) -> Cause:
    """Why a node with inputs of known rank has an output of unknown rank."""
    op_type = place.node.op_type if place.entry.domain == "" else ""
    values = [place.body.fact(name) for name in place.node.input if name]
    reason = "the rank of its result depends on what is not known of its inputs"
    first = values[0] if values else None
    if op_type == "Squeeze" and len(values) == 1 and isinstance(first, SymbolicTensor):
        open_dims = " and ".join(str(d) for d in first.shape or () if not isinstance(d, int))
        reason = f"without axes it removes the dims that are 1, which {open_dims} may be"
    elif op_type == "If":
        reason = "its branches may give different ranks"
    elif op_type in ("Loop", "Scan"):
        reason = "the rank may change from iteration to iteration"
    return Cause(place.path, place.node.op_type, reason, False)


def _resolve(inference: Inference, bodies: Bodies, tensor: str) -> tuple[Body, str]:
    """The graph and the name that `scope/name` means; the main graph comes first.

    Raises UsageError.
    """
    if tensor in inference.scopes[MAIN]:
        return bodies.main, tensor
    for path, values in inference.scopes.items():
        label = inference.labels[path]
        name = tensor[len(label) + 1 :]
        if label and tensor.startswith(f"{label}/") and name in values and (body := bodies.at(path)) is not None:
            return body, name
    place = bodies.called(tensor)
    if place is not None and any(place.node.output):
        made = " and ".join(repr(joined(place.body.label, n)) for n in place.node.output if n)
        raise UsageError(f"no tensor {tensor!r}; the node of that name makes {made}")
    known = [joined(inference.labels[path], name) for path, values in inference.scopes.items() for name in values]
    # People ask for outputs first.
    ordered = dict.fromkeys((*inference.outputs, *inference.inputs, *known))
    raise UsageError(f"no tensor {tensor!r}{suggestion(tensor, ordered)}")


def _concerns(constraint: Constraint, names: set[str], inference: Inference) -> bool:
    """Whether a constraint says something of the names, and nothing of other generated symbols."""
    symbols = free_symbols(constraint.left) | free_symbols(constraint.right)
    return bool(symbols & names) and not (symbols - names) & inference.causes.keys()


def _generated(inference: Inference, names: set[str]) -> list[str]:
    """The generated symbols among the names, in the order in which they were made."""
    return [name for name in inference.causes if name in names]


class _Remedies:
    """What would make a generated symbol, or a type, known; the most effective ways first.

    asked          the tensor that is explained
    tries          infers again under bounds
    relaxed        the run that may assume; None when the one that is explained may
    """

    def __init__(
        self,
        inference: Inference,
        bodies: Bodies,
        asked: tuple[Body, str],
        tries: Tries,
        relaxed: Inference | None,
        assume: bool,
    ) -> None:
        self.inference = inference
        self.bodies = bodies
        self.body, self.name = asked
        self.tries = tries
        self.relaxed = relaxed
        self.would_assume: tuple[Assumption, ...] = () if relaxed is None else relaxed.assumptions
        self.assume = assume
        self.without_rule = {d.location.node for d in inference.diagnostics if d.code == "GI105"}
        self.effect = _effects(inference)

    def of(self, name: str) -> tuple[str, ...]:
        is_known = is_without(self.body.path, self.name, self.inference, name)
        found = [text for text in self._of(name, set()) if self._is_true(text, is_known)]
        if all(map(_is_last, found)):  # bounds of sizes near the unknown, if a run with them shows that they do
            remedy = self.tries.remedy(self._near(self.inference.causes[name]), is_known)
            if remedy and not (remedy.endswith("=SIZE") and any(text.endswith("=SIZE") for text in found)):
                found = [remedy, *(text for text in found if not text.startswith(ONLY_A_RUN))]
        return tuple(map(self._as_far_as_tried, dict.fromkeys(found)))

    def _is_true(self, remedy: str, is_known: Callable[[Inference], bool]) -> bool:
        """False for a bound or an assumption with which a run does not know more."""
        if remedy == ASSUMPTION:
            return self.relaxed is None or is_known(self.relaxed)
        bound = _LOWER.fullmatch(remedy)
        return bound is None or self.tries.holds({bound[1]: Interval(int(bound[2]), None)}, is_known)

    def _as_far_as_tried(self, remedy: str) -> str:
        if self.tries.left > 0 or not remedy.startswith(ONLY_A_RUN):
            return remedy
        return f"{ONLY_A_RUN}, as far as was tried{remedy.removeprefix(ONLY_A_RUN)}"

    def of_type(self, body: Body, name: str, lost: Place | None) -> tuple[str, ...]:
        """What would make the element type and the rank of a tensor known; nothing where they are.

        lost   the node at which the rank was lost
        """
        if _is_typed(body.values[name]):
            return ()
        found = list(self._from_leaves(body, name))
        if lost is not None and not found:
            remedy = self.tries.remedy(self._symbols_behind(lost), is_ranked(body.path, name))
            found = [remedy or self._as_far_as_tried(_only_a_run(lost))]
        return tuple(dict.fromkeys(found))

    def lost(self, body: Body, name: str) -> Place | None:
        """The first node whose output has an unknown rank or type while those of its inputs are known."""
        if _is_typed(body.values[name]):
            return None
        search = Search(self.inference, self.bodies, depth=DEEPEST, every=True)
        search.chain(body, name)
        for place in reversed(search.visited):
            if place.path not in self.without_rule and all(map(_is_typed, self._given(place))):
                return place
        return None

    def _given(self, place: Place) -> Iterator[Value]:
        """What a node works on: its inputs, and the outputs of its bodies."""
        for name in place.node.input:
            if name and (fact := place.body.fact(name)) is not None:
                yield fact
        for _, inner in self.bodies.inner(place):
            yield from (fact for name in inner.outputs if (fact := inner.fact(name)) is not None)

    def _symbols_behind(self, place: Place) -> list[str]:
        """The symbols in what the node works on, then those in what its inputs come from."""
        found = sorted(name for fact in self._given(place) for name in names_in(fact))
        search = Search(self.inference, self.bodies, depth=DEEPEST, every=True)
        for name in filter(None, place.node.input):
            for step in _steps(search.chain(place.body, name)):
                found += sorted(names_in(step.value))
        return list(dict.fromkeys(found))

    def _near(self, cause: Cause) -> list[str]:
        """The symbols that a generated symbol may depend on, the nearest first."""
        place = self.bodies.place(cause.node)
        return [*sorted(cause.operands), *([] if place is None else self._symbols_behind(place))]

    def _of(self, name: str, seen: set[str]) -> Iterator[str]:
        cause = self.inference.causes[name]
        seen.add(name)
        for operand in sorted(cause.operands - seen, key=lambda o: (-self.effect[o], o)):
            if operand in self.inference.causes:
                yield from self._of(operand, seen)
            else:
                yield f"--dim {operand}=SIZE"
        if cause.operands:
            return
        place = self.bodies.place(cause.node)
        assumed = [a for a in self.would_assume if a.node == cause.node]
        nearby = set() if place is None else _symbols_near(place)
        for assumption in assumed or [a for a in self.would_assume if free_symbols(a.dim) & nearby]:
            if isinstance(assumption.dim, Expr) and assumption.dim.is_symbol and assumption.least is not None:
                yield f"--dim {assumption.dim.name}={assumption.least}.."
            if not self.assume:
                yield ASSUMPTION
        if place is None or assumed:
            return
        if place.entry.rule is None and "no rule" in cause.reason:
            yield self._rule_for(place)
        found = list(self._from_node(place, name))
        yield from found
        if not found and cause.data_dependent:
            yield _only_a_run(place)

    def _from_node(self, place: Place, symbol: str) -> Iterator[str]:
        for output in place.node.output:
            value = place.body.values.get(output)
            if output and value is not None and (symbol in names_in(value) or len(place.node.output) == 1):
                yield from self._from_leaves(place.body, output)
                return

    def _from_leaves(self, body: Body, name: str) -> Iterator[str]:
        search = Search(self.inference, self.bodies, depth=DEEPEST, every=True)
        for leaf in _leaves(search.chain(body, name)):
            value = leaf.value
            if leaf.origin is Origin.INPUT and isinstance(value, SymbolicTensor):
                if value.shape is None or value.dtype is None:
                    shape = "[...]" if value.shape is None else format_shape(value.shape)
                    yield f"--input '{leaf.name}={value.dtype or 'float32'}{shape}'"
                elif leaf.facet is Facet.VALUES and value.dtype.is_integer and value.values is None:
                    yield f"a constant in place of the input {leaf.name}, {value}"
            elif leaf.node is not None and leaf.node in self.without_rule:
                place = self.bodies.place(leaf.node)
                assert place is not None, "a node of the chain is in a graph that was walked"
                yield self._rule_for(place)

    def _rule_for(self, place: Place) -> str:
        domain = place.entry.domain
        return f"a rule for {domain + '.' if domain else ''}{place.node.op_type}: --rules FILE.py"


def _effects(inference: Inference) -> Counter[str]:
    """How many generated symbols are a function of each symbol of the inputs, be it through others."""
    behind: dict[str, frozenset[str]] = {}
    for name, cause in inference.causes.items():  # in the order in which they were made
        behind[name] = frozenset().union(*(behind.get(o, frozenset((o,))) for o in cause.operands))
    return Counter(symbol for symbols in behind.values() for symbol in symbols)


def _symbols_near(place: Place) -> set[str]:
    facts = (place.body.fact(name) for name in place.node.input if name)
    return {name for fact in facts if fact is not None for name in names_in(fact)}


def _deciding_input(place: Place) -> str:
    """The input whose elements decide a size: one of integers that looks like sizes or a count, else the first."""
    names: list[str] = [name for name in place.node.input if name]
    for name in names:
        fact = place.body.fact(name)
        if not isinstance(fact, SymbolicTensor) or fact.dtype is None or fact.shape is None:
            continue
        if fact.dtype.is_integer and fact.values is None and len(fact.shape) <= 1:
            return name
    return names[0] if names else ""


def _is_typed(value: Value) -> bool:
    """True when the element type and the rank of a tensor are known; of what is no tensor they are."""
    return not isinstance(value, SymbolicTensor) or (value.shape is not None and value.dtype is not None)


def _is_last(remedy: str) -> bool:
    """True for what is said when nothing better is known."""
    return remedy.startswith(ONLY_A_RUN) or remedy.endswith("=SIZE")


def _steps(step: Link) -> Iterator[Link]:
    yield step
    for source in step.sources:
        yield from _steps(source)


def _only_a_run(place: Place) -> str:
    data = _deciding_input(place)
    return f"{ONLY_A_RUN}: it depends on the elements of {data}" if data else ONLY_A_RUN


def _leaves(step: Link) -> Iterator[Link]:
    """The steps without sources, and those whose operators have no rule."""
    if not step.sources or step.op_type:
        yield step
    for source in step.sources:
        yield from _leaves(source)
