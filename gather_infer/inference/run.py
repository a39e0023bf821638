"""Driver of the inference: input facts, iterations of the interpreter to a fixed point, output checks, the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Final, NamedTuple

from onnx import ValueInfoProto

from gather_infer.context import Context
from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.inference.declared import contradicted_hints, declared_outputs
from gather_infer.inference.defaults import overridable_finding, with_defaults_named
from gather_infer.inference.failures import weighed
from gather_infer.inference.frame import Frame
from gather_infer.inference.join import contradiction
from gather_infer.inference.limits import effort_of, spent_on_proofs
from gather_infer.inference.lineage.trace import of_input
from gather_infer.inference.naming import kept_names, mentions_generated, names_in, names_of_dims
from gather_infer.inference.options import InputSpec, bound_dim, scope_of
from gather_infer.inference.proto.types import DimReader, from_type
from gather_infer.inference.questions import has_open_sizes, is_open, unproved
from gather_infer.inference.result import Access, Belief, Inference
from gather_infer.inference.said import Given, read_given, shaped_dims
from gather_infer.inference.settle import Settling, causes_of
from gather_infer.inference.state import Unreached
from gather_infer.inference.structure import default_finding, imports_of, require_text, structural_findings
from gather_infer.inference.walk import Walker
from gather_infer.model import ModelFile
from gather_infer.model.given import GivenModel, to_model_file, with_constants
from gather_infer.model.tensors import fed_inputs, initializers_of
from gather_infer.ops import standard_rules
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.places import MAIN, Source
from gather_infer.progress import Progress, unseen
from gather_infer.record import Assumption, Choice, Constraint, Demand, Iterations, Unchecked
from gather_infer.rules import RuleSet
from gather_infer.spans import type_span
from gather_infer.symbolic import (
    Dim,
    Expr,
    Scope,
    free_symbols,
    substitute,
    symbol,
)
from gather_infer.tensor import UNKNOWN, DType, Shape, Span, SymbolicTensor, Value

MAX_PASSES: Final = 3
"""Maximal number of iterations: a fact that a late node implies may decide a question that an early node left open."""


def infer(
    model: GivenModel,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    progress: Progress = unseen,
) -> Inference:
    """Infer symbolic types and shapes of every tensor of a model; public as `gather_infer.infer`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     constraints on the inputs' dims: `["seq=1..512", "batch=4", "total=past+seq"]`, or a mapping of a name to a
             size, a text or a pair of bounds. An input dim without a name is called `input.axis`, as in `ids.1`
    inputs   shapes of inputs that the model leaves open: `["ids=int64[batch, seq]"]`, or a mapping
    ranges   bounds of the elements of integer inputs, both inclusive: `["ids=0..30521", "last=0..seq-1"]`, or a mapping
             of a name to a text or a pair
    rules    the caller's rule sets, searched before the built-in ones
    assume   False never assumes that a dim is at least 1: the answer is exact or unknown
    initializers_as_constants   treat initializers that are also inputs as constants, and remove them from the inputs
    progress   receives a function that returns the progress as text; it may be called at any time, from any thread

    Problems inside the model are in `Inference.diagnostics`. Raises ModelReadError when the file cannot be read as a
    model, and UsageError for unknown names and malformed entries in `dims`, `inputs` and `ranges`.

        >>> inference = gather_infer.infer("fixtures/gpt2-kv-torchscript.onnx", dims=["seq=1..64"])
        >>> print(inference["logits"])
        float32[batch, seq, 131]
    """
    file = _readable(model)
    if initializers_as_constants:
        file = with_constants(file)
    return _Run(file, dims, inputs, rules, assume, ranges=ranges, progress=progress).run()


def infer_again(
    inference: Inference,
    shapes: Mapping[str, Shape],
    rules: Sequence[RuleSet],
    *,
    ranges: Mapping[str, Span] | None = None,
) -> Inference:
    """Infer the model of an inference again, with the same constraints but other shapes or ranges for some inputs.

    A name in the shapes that the inputs do not have is a new symbol. `rules` are those that the inference was given.
    """
    run = _Run(inference.model, (), (), rules, inference.assume)
    given = inference.given if inference.given is not None else run.given
    names = frozenset(name for shape in shapes.values() for dim in shape for name in free_symbols(dim))
    specs = {name: InputSpec(None, shape) for name, shape in shapes.items()}
    spans = {**given.ranges, **(ranges or {})}
    run.adopt(replace(given, known=given.known | names, inputs={**given.inputs, **specs}, ranges=spans))
    return run.run()


def infer_given(inference: Inference, given: Given) -> Inference:
    """Infer the model of an inference again, with other input constraints."""
    run = _Run(inference.model, (), (), inference.rules, inference.assume)
    run.adopt(given)
    return run.run()


def infer_like_onnx(model: ModelFile, *, check_types: bool) -> Inference:
    """As `infer`, under the conventions of onnx's own inference.

    An input with an initializer is a constant, so the results hold for runs that use its default. Element types that an
    operator does not allow are an error only with `check_types`.
    """
    return _Run(_readable(model), (), (), (), True, fixed_defaults=True, check_types=check_types).run()


def _readable(model: object) -> ModelFile:
    file = to_model_file(model)
    if file.size == 0:
        require_text(file.proto)
    return file


class _Walk(NamedTuple):
    """One iteration over the model: the environment of the main graph, the scope, and the facts of the outputs."""

    walker: Walker
    frame: Frame
    scope: Scope
    outputs: list[Value]


class _Run:
    def __init__(
        self,
        model: ModelFile,
        dims: Mapping[str, object] | Iterable[str],
        inputs: Mapping[str, str] | Iterable[str],
        rules: Sequence[RuleSet],
        assume: bool,
        *,
        fixed_defaults: bool = False,
        check_types: bool = True,
        ranges: Mapping[str, object] | Iterable[str] = (),
        progress: Progress = unseen,
    ) -> None:
        self.model = model
        self.progress = progress
        self.graph = model.proto.graph
        self.assume = assume
        self.check_types = check_types
        self.rules = tuple(rules)
        self.fixed_defaults = fixed_defaults
        self.early: list[Diagnostic] = []
        self.constants: dict[tuple[int, bytes], Value | None] = {}
        self.taken: frozenset[str] = frozenset()  # dim names of the file that generated symbols must avoid
        self.rule_sets: list[Mapping[str, RuleSet]] = [*({r.domain: r} for r in rules), standard_rules()]
        constants = initializers_of(self.graph) if fixed_defaults else set()
        self.inputs = [value for value in fed_inputs(model.proto) if value.name not in constants]
        given, self.doubts = read_given(model.proto, self.inputs, dims, inputs, ranges)
        self.adopt(given)

    def adopt(self, given: Given) -> None:
        """Set the input constraints of the run."""
        self.given = given
        self.known, self.dim_specs, self.input_specs = given.known, given.dims, given.inputs

    def run(self) -> Inference:
        proto = self.model.proto
        result = self._attempt()
        # Names of the file are reserved only after a collision: a second run generates symbols that avoid them.
        if result is not None and mentions_generated(proto, result.scopes, result.causes):
            self.taken = kept_names(proto, result.scopes)
            result = self._attempt()
        if result is None:
            self.taken = names_of_dims(proto)
            result = self._attempt()
            assert result is not None, "generated symbols avoid all reserved names"
        result.diagnostics = weighed(result)
        return result

    def _attempt(self) -> Inference | None:
        """Interpret the model until nothing more can be learned; None when a declared dim shares a generated name."""
        declared = start = scope_of(self.dim_specs)
        assumed: dict[Assumption, None] = {}
        demanded: dict[Demand, None] = {}
        implied: dict[Expr, dict[Source | None, None]] = {}
        for number in range(MAX_PASSES):
            scope = start.about(self.known)
            walk = self._walk(scope, assume=self.assume)
            walker, outputs = walk.walker, walk.outputs
            if number == 0:
                first = walk
                met = {a.key: a for a in walker.record.all(Access)}
            context = walker.context
            if context.is_ambiguous:
                return None
            assumed |= dict.fromkeys(context.assumptions)
            for fact, sources in context.implied.items():
                if fact.symbols <= self.known:  # another iteration may reuse generated names for other dims
                    implied.setdefault(fact, {}).update(sources)
            settled = Settling(context)
            demands = dict.fromkeys(map(settled.demand, walker.record.all(Demand)))
            # assumptions are no reason to iterate: `_unproved_assumptions` checks whether they were needed
            open_questions = (
                scope.is_contradictory
                or any(is_open(constraint, scope) for constraint in context.constraints)
                or has_open_sizes(walker)
            )
            # Facts about generated symbols are dropped: the next iteration may reuse the names for other dims. So no
            # fact may be carried over that relies on an assumption about one.
            if not all(free_symbols(a.dim) <= self.known for a in assumed):
                break
            # the next iteration knows these as facts and does not record them again
            demanded |= dict.fromkeys(d for d in demands if d.symbols <= self.known)
            start, previous = scope.about(self.known), start
            # The fixed point: no new fact about the input symbols, or no open question that one could decide.
            if start.says_the_same_as(previous) or not open_questions or number == MAX_PASSES - 1:
                break
            if scope.is_exhausted or walker.budget.is_spent:
                break  # another iteration would spend as much again
        for fact, sources in context.implied.items():
            implied.setdefault(fact, {}).update(sources)
        accesses = list(walker.record.all(Access))
        if number:
            accesses = [_as_met(access, met.get(access.key)) for access in accesses]
        independent = self._independent(assumed, declared, scope, first)
        return self._result(walker, outputs, accesses, independent, declared, tuple(demanded | demands), implied)

    def _independent(
        self, assumed: Collection[Assumption], declared: Scope, learnt: Scope, first: _Walk
    ) -> tuple[Assumption, ...]:
        """The assumptions that neither nodes nor earlier assumptions prove.

        A fact that a node implied after an assumption was made may itself depend on it. So an assumption that the run
        seems to have proved counts as proved only if an iteration without assumptions proves it too. That iteration may
        use the names of generated symbols for other dims, so facts about those are dropped.

        Example: `Slice(x, [-N], [1])` has 1 element if N >= 1. Under this assumption, a Gather from the slice seems to
        prove N >= 1, but at N = 0 the slice has one element too.
        """
        known = declared.about(self.known)
        doubtful = [assumption for assumption in assumed if assumption.is_known(learnt)]
        if doubtful:
            scope = self._unassumed(first) or known
            until = partial(_are_known, doubtful, scope)
            if scope is known:
                self._walk(known, assume=False, until=until)
            else:
                self._go_on(first, scope, until)
            known = scope.about(self.known)
        kept: list[Assumption] = []
        for assumption in assumed:
            if assumption.is_known(known):
                continue
            kept.append(assumption)
            if assumption.least is not None:
                known.require(assumption.dim - assumption.least)
            if assumption.most is not None:
                known.require(assumption.most - assumption.dim)
        return tuple(kept)

    def _unassumed(self, first: _Walk) -> Scope | None:
        """The scope before the first assumption; None when it was made outside the plain order of the main graph."""
        standing = first.walker.context.unassumed
        if standing is None or standing.graph != MAIN or standing.scope is not first.scope:
            return None
        return standing.known.child() if first.walker.is_in_order else None

    def _go_on(self, first: _Walk, scope: Scope, until: Callable[[], bool]) -> None:
        """Interpret the nodes from the first assumption on, without assumptions."""
        standing = first.walker.context.unassumed
        assert standing is not None, "the run resumes there"
        scope.efforts = (effort_of(self.model.proto),)
        context = first.walker.context.resumed(standing, scope)
        walker = self._walker(context, DimReader(self.known, self.dim_specs.bound, context.adopt), until)
        nodes = self.graph.node
        frame = first.frame.before(islice(nodes, standing.position, None), walker.opsets(imports_of(self.model.proto)))
        walker.enter(frame)
        walker.walk_nodes(nodes, frame, standing.position)

    def _walker(self, context: Context, reader: DimReader, until: Callable[[], bool] | None) -> Walker:
        return Walker(
            self.model,
            context,
            reader,
            self.rule_sets,
            constants=self.constants,
            check_types=self.check_types,
            until=until,
        )

    def _walk(self, scope: Scope, *, assume: bool, until: Callable[[], bool] | None = None) -> _Walk:
        scope.efforts = (effort_of(self.model.proto),)
        zero = {name for name, interval in self.dim_specs.bounds.items() if interval.lo == 0}
        context = Context(scope, reserved=names_in(self.known) | self.taken, may_assume=assume, zero_dims=zero)
        reader = DimReader(self.known, self.dim_specs.bound, context.adopt)
        walker = self._walker(context, reader, until)
        frame = Frame(walker.opsets(imports_of(self.model.proto)), hints=self.model.hints)
        self.early = list(structural_findings(self.model, (i.name for i in self.inputs)))
        self.early += overridable_finding(self.graph, self.inputs)
        for value in self.inputs:
            if value.name not in frame.values:
                fact = frame.values[value.name] = self._input_fact(value, reader, context)
                if isinstance(fact, SymbolicTensor) and fact.dtype is not None and fact.dtype.is_integer:
                    frame.traces[value.name] = of_input(value.name, fact, scope)
                if isinstance(fact, SymbolicTensor) and fact.dtype is DType.BOOL:
                    frame.choices[value.name] = Choice(value.name, "==", 1, is_bool=True)
        for tensor in self.graph.initializer:
            if tensor.name in frame.values and (fault := default_finding(tensor, frame.values[tensor.name])):
                self.early.append(fault)
        self.early += self._fixed_findings(walker)
        self.progress(partial(self._how_far, frame))
        return _Walk(walker, frame, scope, walker.walk_graph(self.graph, frame))

    def _how_far(self, frame: Frame) -> str:
        """`inferring, 42 %`: the share of values of the main graph that have a fact."""
        return f"inferring, {100 * len(frame.values) // max(1, self._values, len(frame.values))} %"

    @cached_property
    def _values(self) -> int:
        """Number of values of the main graph; computed on demand."""
        constants = len(self.graph.initializer) + len(self.graph.sparse_initializer)
        return len(self.graph.input) + constants + sum(len(node.output) for node in self.graph.node)

    def _fixed_findings(self, walker: Walker) -> Iterable[Diagnostic]:
        """Findings for defaults that contradict the inputs that are treated as constants."""
        fixed = {v.name: v for v in self.graph.input} if self.fixed_defaults else {}
        for tensor in self.graph.initializer:
            if tensor.name not in fixed:
                continue
            declared = from_type(fixed[tensor.name].type, walker.reader, lambda axis: symbol(f"{axis}"))
            if declared is not None and (fault := default_finding(tensor, declared)):
                yield fault

    def _input_fact(self, value: ValueInfoProto, reader: DimReader, context: Context) -> Value:
        spec = self.input_specs.get(value.name)

        def unnamed(axis: int) -> Dim:
            if not value.type.HasField("tensor_type"):
                return context.fresh(DIFFERS)  # for example in the members of a sequence
            name = self.given.unnamed.get((value.name, axis), f"{value.name}.{axis}")
            return substitute(symbol(name), self.dim_specs.bound)

        for dim in shaped_dims(value):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value < -1:
                message = f"a dim of {value.name} must be >= 0, is {dim.dim_value}; it is treated as unknown"
                self.early.append(diagnostic("GI109", message, Location(value=value.name)))
        declared = from_type(value.type, reader, unnamed)
        if declared is None:
            declared = UNKNOWN
        if spec is not None:
            declared = _refined(value.name, declared, spec, self.dim_specs.bound)
        span = self.given.ranges.get(value.name)
        if span is not None and isinstance(declared, SymbolicTensor):
            declared = declared.with_(span=self._bounded(value.name, declared, span))
        if isinstance(declared, SymbolicTensor):
            for size in declared.shape or ():
                context.imply(size)  # a dim `N - 5` implies N >= 5
        return declared

    def _bounded(self, name: str, declared: SymbolicTensor, span: Span) -> Span:
        """The value range given by `--range`, with bound symbols replaced. Raises UsageError for other dtypes."""
        if declared.dtype is None or not declared.dtype.is_integer:
            raise UsageError(f"range of {name!r}: only integers have one, the input is {declared}")
        lo, hi = (None if end is None else bound_dim(end, self.dim_specs.bound) for end in (span.lo, span.hi))
        natural = type_span(declared.dtype)
        return Span(natural.lo if lo is None else lo, natural.hi if hi is None else hi)

    def _result(
        self,
        walker: Walker,
        outputs: list[Value],
        accesses: Iterable[Access],
        assumptions: Iterable[Assumption],
        declared: Scope,
        demands: tuple[Demand, ...],
        implied: Mapping[Expr, Iterable[Source | None]],
    ) -> Inference:
        context = walker.context
        settled = Settling(context)
        for values in {id(values): values for values in walker.scopes.values()}.values():
            for name, value in values.items():
                values[name] = settled.value(value)
        reader = DimReader(self.known, self.dim_specs.bound)
        notes = declared_outputs(walker, self.graph.output, [settled.value(v) for v in outputs], reader)
        notes += contradicted_hints(walker, reader)
        told = [demand for demand in demands if demand.symbols <= self.known]
        constraints = tuple(dict.fromkeys(map(settled.constraint, unproved(context, declared, told))))
        assumptions = tuple(map(settled.assumption, assumptions))
        beliefs = {(b.node.graph, b.value): b for b in walker.record.all(Belief)}.values()
        iterations = {i.body: replace(i, trips=settled.dim(i.trips)) for i in walker.record.all(Iterations)}
        facts = (v for values in {id(v): v for v in walker.scopes.values()}.values() for v in values.values())
        trips = (i.trips for i in iterations.values())
        causes = causes_of(facts, constraints, assumptions, trips, context.causes)
        return Inference(
            self.model,
            walker.scopes,
            walker.labels,
            inputs=tuple(i.name for i in self.inputs),
            outputs=tuple(o.name for o in self.graph.output),
            diagnostics=(
                *self.doubts,
                *self.early,
                *walker.record.all(Diagnostic),
                *notes,
                *spent_on_proofs(context.scope),
            ),
            constraints=constraints,
            assumptions=assumptions,
            causes=with_defaults_named(causes, self.model.proto, self.inputs, walker.scopes[MAIN]),
            accesses=tuple(map(settled.access, accesses)),
            believed=tuple(replace(b, type=settled.value(b.type)) for b in beliefs),
            known=context.scope,
            declared=declared,
            given=self.given,
            demands=demands,
            implied={fact: frozenset(sources) for fact, sources in implied.items()},
            equated=_equated(constraints, context, settled),
            assume=self.assume,
            rules=self.rules,
            iterations=iterations,
            conditions={path: settled.condition(found) for path, found in walker.conditions.items()},
            unchecked=tuple(dict.fromkeys(map(settled.unchecked, walker.record.all(Unchecked)))),
            unreached=tuple({u.finding: None for u in walker.record.all(Unreached)}),
        )


def _equated(
    constraints: Iterable[Constraint], context: Context, settled: Settling
) -> dict[tuple[Dim, Dim], frozenset[Source | None]]:
    """The pairs of dims that have to be equal, each with all nodes that imply it."""
    sources: dict[tuple[Dim, Dim], set[Source | None]] = {}
    for (left, right), nodes in context.equated.items():
        sources.setdefault((settled.written(left), settled.written(right)), set()).update(nodes)
    pairs = {(c.left, c.right): (c.node.graph, c.node.position) for c in constraints if c.relation == "=="}
    return {pair: frozenset(sources.get(pair, {node})) for pair, node in pairs.items()}


def _as_met(access: Access, first: Access | None) -> Access:
    """An access with the facts and the addressed axis of the first iteration.

    A later iteration knows from the start everything that nodes imply, including that each access is in bounds: `min(N,
    5)` is 5 where an index of 4 requires it.
    """
    if first is None:
        return replace(access, evidence=None)
    return replace(access, evidence=first.evidence, addressing=first.addressing or access.addressing)


def _are_known(assumptions: Iterable[Assumption], scope: Scope) -> bool:
    return all(assumption.is_known(scope) for assumption in assumptions)


def _refined(name: str, declared: Value, spec: InputSpec, bound: Mapping[str, Dim]) -> Value:
    """The declared input refined by `--input`. Raises UsageError when the two contradict."""
    if not isinstance(declared, SymbolicTensor):
        raise UsageError(f"input {name!r} is {declared}, only a tensor can be given a shape")
    shape: Shape = tuple(bound_dim(d, bound) for d in spec.shape)
    if declared.rank == len(shape):  # a declared number is kept where a name is given
        shape = tuple(
            old if isinstance(old, int) and isinstance(new, Expr) else new
            for old, new in zip(declared.shape or (), shape, strict=True)
        )
    if spec.dtype is not None and declared.dtype not in (None, spec.dtype):
        raise UsageError(f"input {name!r} is declared {declared.dtype}, not {spec.dtype}")
    given = SymbolicTensor(spec.dtype or declared.dtype, shape)
    if contradiction(declared, given, Scope()):
        raise UsageError(f"input {name!r} is declared {declared}, which {given} contradicts")
    return given
