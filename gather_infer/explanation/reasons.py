"""`gather_infer.explain`: the chain behind a tensor, and what would make the unknown parts of it known."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gather_infer.errors import UsageError
from gather_infer.explanation.places import Bodies, Body, Place
from gather_infer.explanation.provenance import Search, names_in
from gather_infer.explanation.steps import Explanation, Facet, Origin, Step, Unknown
from gather_infer.inference.options import suggestion
from gather_infer.inference.result import Inference
from gather_infer.inference.run import infer
from gather_infer.model.given import to_model_file
from gather_infer.rules import Assumption, Constraint, RuleSet
from gather_infer.symbolic import Expr, free_symbols
from gather_infer.tensor import SymbolicTensor, format_shape

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs
    from onnx import ModelProto

    from gather_infer.model import ModelFile

DEPTH: Final = 8
"""Steps below each other, unless said otherwise."""

DEEPEST: Final = 60
"""Steps below each other in search of what an unknown comes from."""

_FROM_ZERO = re.compile(r"[^=]*=\s*0*\.\..*")


def explain(
    model: str | os.PathLike[str] | ModelProto | ModelFile | gs.Graph,
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
    would_assume = relaxed().assumptions if strict and unknown else ()
    remedies = _Remedies(inference, bodies, would_assume, assume)
    concerned = names_in(value) | {o for s in unknown for o in inference.causes[s].operands}
    visited = {place.path for place in search.visited}
    return Explanation(
        scope=body.path,
        name=name,
        value=value,
        step=step,
        unknowns=tuple(Unknown(s, inference.causes[s], remedies.of(s)) for s in unknown),
        remedies=remedies.of_type(body, name),
        assumptions=tuple(a for a in inference.assumptions if free_symbols(a.dim) & concerned),
        constraints=tuple(c for c in inference.constraints if _concerns(c, concerned, inference)),
        findings=tuple(
            d for d in inference.diagnostics if d.location.node in visited and d.location.node and d.code != "GI203"
        ),
        believed=tuple(b for b in inference.believed if b.node in visited),
    )


def _resolve(inference: Inference, bodies: Bodies, tensor: str) -> tuple[Body, str]:
    """The graph and the name that `scope/name` means; the main graph comes first.

    Raises UsageError.
    """
    if tensor in inference.scopes[""]:
        return bodies.main, tensor
    for path, values in inference.scopes.items():
        name = tensor[len(path) + 1 :]
        if path and tensor.startswith(f"{path}/") and name in values and (body := bodies.at(path)) is not None:
            return body, name
    place = bodies.place(tensor)
    if place is not None and any(place.node.output):
        made = " and ".join(repr(_address(place.body.path, n)) for n in place.node.output if n)
        raise UsageError(f"no tensor {tensor!r}; the node of that name makes {made}")
    known = [_address(path, name) for path, values in inference.scopes.items() for name in values]
    # People ask for outputs first.
    ordered = dict.fromkeys((*inference.outputs, *inference.inputs, *known))
    raise UsageError(f"no tensor {tensor!r}{suggestion(tensor, ordered)}")


def _address(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _concerns(constraint: Constraint, names: set[str], inference: Inference) -> bool:
    """Whether a constraint says something of the names, and nothing of other generated symbols."""
    symbols = free_symbols(constraint.left) | free_symbols(constraint.right)
    return bool(symbols & names) and not (symbols - names) & inference.causes.keys()


def _generated(inference: Inference, names: set[str]) -> list[str]:
    """The generated symbols among the names, in the order in which they were made."""
    return [name for name in inference.causes if name in names]


class _Remedies:
    """What would make a generated symbol, or a type, known; the most effective ways first.

    would_assume   what is assumed when it may be; empty when it is
    """

    def __init__(
        self, inference: Inference, bodies: Bodies, would_assume: tuple[Assumption, ...], assume: bool
    ) -> None:
        self.inference = inference
        self.bodies = bodies
        self.would_assume = would_assume
        self.assume = assume
        self.without_rule = {d.location.node for d in inference.diagnostics if d.code == "GI105"}
        self.effect = _effects(inference)

    def of(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._of(name, set())))

    def of_type(self, body: Body, name: str) -> tuple[str, ...]:
        """What would make the element type and the rank of a tensor known; nothing where they are."""
        value = body.values[name]
        if not isinstance(value, SymbolicTensor) or (value.shape is not None and value.dtype is not None):
            return ()
        return tuple(dict.fromkeys(self._from_leaves(body, name)))

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
                yield "the assumption: without --no-assume"
        if place is None or assumed:
            return
        if place.entry.rule is None and "no rule" in cause.reason:
            yield self._rule_for(place)
        found = list(self._from_node(place, name))
        yield from found
        if not found and cause.data_dependent:
            data = _deciding_input(place)
            yield f"only a run tells: it depends on the elements of {data}" if data else "only a run tells"

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
            elif leaf.node in self.without_rule and (place := self.bodies.place(leaf.node)) is not None:
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


def _leaves(step: Step) -> Iterator[Step]:
    """The steps without sources, and those whose operators have no rule."""
    if not step.sources or step.op_type:
        yield step
    for source in step.sources:
        yield from _leaves(source)
