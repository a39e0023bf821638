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
from gather_infer.inference.constraints.given import InputConstraints, read_constraints, shaped_dims
from gather_infer.inference.constraints.parse import GivenType, bound_dim, scope_of
from gather_infer.inference.declarations import contradicted_hints, declared_outputs
from gather_infer.inference.defaults import overridable_finding, with_defaults_named
from gather_infer.inference.dim_notes import dim_text_findings
from gather_infer.inference.dim_rendering import kept_names, mentions_generated, names_in, names_of_dims
from gather_infer.inference.environment import Environment
from gather_infer.inference.failures import with_conditional_severity
from gather_infer.inference.fixed_point import has_improvable_sizes, is_undecided, unproved
from gather_infer.inference.interpreter import Interpreter
from gather_infer.inference.interpreter_state import UnreachableFinding
from gather_infer.inference.join import contradiction
from gather_infer.inference.limits import proof_fuel, proof_fuel_findings
from gather_infer.inference.proto.dim_texts import DimText
from gather_infer.inference.proto.types import DimReader, from_type
from gather_infer.inference.provenance.origin import provenance_of_input
from gather_infer.inference.result import Access, Inference, TrustedAnnotation
from gather_infer.inference.result_simplifier import ResultSimplifier, causes_of
from gather_infer.inference.structure import default_finding, imports_of, require_text, structural_findings
from gather_infer.ir.collection import rare_collections
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import ModelLike, to_model_file, with_constants
from gather_infer.model.tensors import fed_inputs, initializers_of
from gather_infer.node_ids import MAIN, NodeId
from gather_infer.ops import standard_rules
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import (
    Dim,
    Expr,
    Scope,
    free_symbols,
    substitute,
    symbol,
)
from gather_infer.tensor import UNKNOWN, DType, Shape, SymbolicTensor, Value, ValueRange
from gather_infer.trail import Assumption, Constraint, ImpliedConstraint, InputPredicate, Iterations, Unchecked
from gather_infer.value_ranges import type_range

MAX_ITERATIONS: Final = 3
"""Maximal number of iterations: a fact that a late node implies may decide a question that an early node left open."""


def infer(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> Inference:
    """Infer symbolic types and shapes of every tensor of a model; public as `gather_infer.infer`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     constraints on the inputs' dims: `["seq=1..512", "batch=4", "total=past+seq"]`, or a mapping of a name to a
             size, a text or a pair of inclusive bounds. An input dim without a name is called `input.axis`: `ids.1`
    inputs   shapes of inputs that the model leaves open: `["ids=int64[batch, seq]"]`, or a mapping of a name to a type
    ranges   inclusive bounds of the elements of integer inputs: `["ids=0..30521", "last=0..seq-1"]`, or a mapping of a
             name to a text or a pair of bounds
    rules    the caller's rule sets, searched before the built-in ones
    assume   whether to assume that dims are at least 1 where a result depends on it; if False, such results are unknown
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


def infer_with_shapes(
    inference: Inference,
    shapes: Mapping[str, Shape],
    rules: Sequence[RuleSet],
    *,
    ranges: Mapping[str, ValueRange] | None = None,
) -> Inference:
    """Infer the model of an inference again, with the same constraints but other shapes or ranges for some inputs.

    shapes   by input name; a symbol in it that the inputs do not have is added to the known symbols
    rules    the rule sets given to the original inference
    ranges   by input name; they replace the ranges given to the original inference
    """
    run = _Run(inference.model, (), (), rules, inference.assume)
    given = inference.input_constraints if inference.input_constraints is not None else run.input_constraints
    names = frozenset(name for shape in shapes.values() for dim in shape for name in free_symbols(dim))
    specs = {name: GivenType(None, shape) for name, shape in shapes.items()}
    value_ranges = {**given.ranges, **(ranges or {})}
    run.set_constraints(
        given._replace(known=given.known | names, inputs={**given.inputs, **specs}, ranges=value_ranges)
    )
    return run.run()


def infer_with_constraints(inference: Inference, constraints: InputConstraints) -> Inference:
    """Infer the model of `inference` again, with `constraints` in place of its input constraints."""
    run = _Run(inference.model, (), (), inference.rules, inference.assume)
    run.set_constraints(constraints)
    return run.run()


def interpret_once(
    model: ModelFile,
    interpreter_type: type[Interpreter],
    prepare: Callable[[Interpreter], None],
    *,
    dims: Iterable[str],
    rules: Sequence[RuleSet] = (),
) -> Interpreter:
    """One iteration over a model by an interpreter of another type; the interpreter, after the iteration.

    prepare   called with the interpreter before the first node
    dims, rules   as for `infer`
    """
    run = _Run(_readable(model), dims, (), rules, True, interpreter_type=interpreter_type, prepare=prepare)
    return run.interpret_once()


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


class _Iteration(NamedTuple):
    """A finished iteration: the environment and scope of the main graph, and the facts of its outputs."""

    interpreter: Interpreter
    environment: Environment
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
        progress: Progress = no_progress,
        interpreter_type: type[Interpreter] = Interpreter,
        prepare: Callable[[Interpreter], None] | None = None,
    ) -> None:
        self.model = model
        self.interpreter_type = interpreter_type
        self.prepare = prepare
        self.progress = progress
        self.graph = model.proto.graph
        self.assume = assume
        self.check_types = check_types
        self.rules = tuple(rules)
        self.fixed_defaults = fixed_defaults
        self.early_findings: list[Diagnostic] = []
        self.noted: dict[str, DimText] = {}
        self.constants: dict[tuple[int, bytes], Value | None] = {}
        self.reserved_names: frozenset[str] = frozenset()  # dim names of the file that generated symbols must avoid
        self.rule_sets: list[Mapping[str, RuleSet]] = [*({r.domain: r} for r in rules), standard_rules()]
        constants = initializers_of(self.graph) if fixed_defaults else set()
        self.inputs = [value for value in fed_inputs(model.proto) if value.name not in constants]
        given, self.warnings = read_constraints(model.proto, self.inputs, dims, inputs, ranges)
        self.set_constraints(given)

    def set_constraints(self, constraints: InputConstraints) -> None:
        """Set the input constraints of the run."""
        self.input_constraints = constraints
        self.known, self.dim_specs, self.input_specs = constraints.known, constraints.dims, constraints.inputs

    @rare_collections()
    def run(self) -> Inference:
        proto = self.model.proto
        result = self._iterate_to_fixed_point()
        # Names of the file are reserved only after a collision: a second run generates symbols that avoid them.
        if result is not None and mentions_generated(proto, result.scopes, result.causes):
            self.reserved_names = kept_names(proto, result.scopes)
            result = self._iterate_to_fixed_point()
        if result is None:
            self.reserved_names = names_of_dims(proto)
            result = self._iterate_to_fixed_point()
            assert result is not None, "generated symbols avoid all reserved names"
        result.diagnostics = with_conditional_severity(result)
        return result

    def interpret_once(self) -> Interpreter:
        """The interpreter after one iteration."""
        return self._interpret(scope_of(self.dim_specs).restricted_to(self.known), assume=True).interpreter

    def _iterate_to_fixed_point(self) -> Inference | None:
        """Interpret the model until a fixed point or MAX_ITERATIONS.

        None when a dim name that a body declares equals the name of a generated symbol, so that names must be reserved.
        """
        declared = start = scope_of(self.dim_specs)
        assumed: dict[Assumption, None] = {}
        persistent_constraints: dict[ImpliedConstraint, None] = {}
        implied_facts: dict[Expr, dict[NodeId | None, None]] = {}
        for number in range(MAX_ITERATIONS):
            scope = start.restricted_to(self.known)
            iteration = self._interpret(scope, assume=self.assume)
            interpreter, outputs = iteration.interpreter, iteration.outputs
            if number == 0:
                first = iteration
                first_accesses = {a.key: a for a in interpreter.trail.all(Access)}
            context = interpreter.context
            if context.is_ambiguous:
                return None
            assumed |= dict.fromkeys(context.assumptions)
            for fact, sources in context.implied_facts.items():
                if fact.symbols <= self.known:  # another iteration may reuse generated names for other dims
                    implied_facts.setdefault(fact, {}).update(sources)
            simplifier = ResultSimplifier(context)
            implied_constraints = dict.fromkeys(
                map(simplifier.implied_constraint, interpreter.trail.all(ImpliedConstraint))
            )
            # assumptions are no reason to iterate: `_unproved_assumptions` checks whether they were needed
            is_improvable = (
                scope.is_contradictory
                or any(is_undecided(constraint, scope) for constraint in context.constraints)
                or has_improvable_sizes(interpreter)
            )
            # Facts about generated symbols are dropped: the next iteration may reuse the names for other dims. So no
            # fact may be carried over that relies on an assumption about one.
            if not all(free_symbols(a.dim) <= self.known for a in assumed):
                break
            # the next iteration knows these as facts and does not record them again
            persistent_constraints |= dict.fromkeys(d for d in implied_constraints if d.symbols <= self.known)
            start, previous = scope.restricted_to(self.known), start
            # The fixed point: no new fact about the input symbols, or no open question that one could decide.
            if start.has_same_facts_as(previous) or not is_improvable or number == MAX_ITERATIONS - 1:
                break
            if scope.is_exhausted or interpreter.budget.is_spent:
                break  # another iteration would spend as much again
        for fact, sources in context.implied_facts.items():
            implied_facts.setdefault(fact, {}).update(sources)
        accesses = list(interpreter.trail.all(Access))
        if number:
            accesses = [_with_first_facts(access, first_accesses.get(access.key)) for access in accesses]
        unproved = self._unproved_assumptions(assumed, declared, scope, first)
        return self._result(
            interpreter,
            outputs,
            accesses,
            unproved,
            declared,
            tuple(persistent_constraints | implied_constraints),
            implied_facts,
        )

    def _unproved_assumptions(
        self, assumed: Collection[Assumption], declared: Scope, final: Scope, first: _Iteration
    ) -> tuple[Assumption, ...]:
        """The assumptions that neither facts implied by nodes nor earlier assumptions prove.

        A fact that a node implies after an assumption may itself depend on the assumption. So an assumption that the
        final scope proves counts as proved only if an iteration without assumptions proves it too. That iteration may
        give names of generated symbols to other dims, so facts about generated symbols are dropped.

        Example: `Slice(x, [-N], [1])` has 1 element if N >= 1. Under this assumption, a Gather from the slice seems to
        prove N >= 1, but at N = 0 the slice has one element too.
        """
        known = declared.restricted_to(self.known)
        learnt = [assumption for assumption in assumed if assumption.is_known(final)]
        if learnt:
            scope = self._scope_before_taint(first) or known
            until = partial(_are_known, learnt, scope)
            if scope is known:
                self._interpret(known, assume=False, until=until)
            else:
                self._continue_untainted(first, scope, until)
            known = scope.restricted_to(self.known)
        unproved: list[Assumption] = []
        for assumption in assumed:
            if assumption.is_known(known):
                continue
            unproved.append(assumption)
            if assumption.lower is not None:
                known.add_fact(assumption.dim - assumption.lower)
            if assumption.upper is not None:
                known.add_fact(assumption.upper - assumption.dim)
        return tuple(unproved)

    def _scope_before_taint(self, first: _Iteration) -> Scope | None:
        """A scope with the facts before the first assumption; None unless the run can resume there.

        It can when the assumption was made in the main graph and its nodes were visited in the order of the file.
        """
        point = first.interpreter.context.taint_point
        if point is None or point.graph != MAIN or point.scope is not first.scope:
            return None
        return point.known.child() if first.interpreter.is_in_order else None

    def _continue_untainted(self, first: _Iteration, scope: Scope, until: Callable[[], bool]) -> None:
        """Interpret the main graph without assumptions, from the node that made the first assumption on.

        The facts are added to `scope`; interpretation stops early when `until` returns True.
        """
        point = first.interpreter.context.taint_point
        assert point is not None, "the run resumes there"
        scope.fuels = (proof_fuel(self.model.proto),)
        context = first.interpreter.context.resume_from(point, scope)
        interpreter = self._interpreter(
            context, DimReader(self.known, self.dim_specs.bound, context.declared_symbol), until
        )
        nodes = self.graph.node
        environment = first.environment.before(
            islice(nodes, point.position, None), interpreter.opsets(imports_of(self.model.proto))
        )
        interpreter.enter(environment)
        interpreter.interpret_nodes(nodes, environment, point.position)

    def _interpreter(self, context: Context, reader: DimReader, until: Callable[[], bool] | None) -> Interpreter:
        return self.interpreter_type(
            self.model,
            context,
            reader,
            self.rule_sets,
            constants=self.constants,
            check_types=self.check_types,
            until=until,
        )

    def _interpret(self, scope: Scope, *, assume: bool, until: Callable[[], bool] | None = None) -> _Iteration:
        scope.fuels = (proof_fuel(self.model.proto),)
        zero = {name for name, interval in self.dim_specs.bounds.items() if interval.lo == 0}
        context = Context(scope, reserved=names_in(self.known) | self.reserved_names, may_assume=assume, zero_dims=zero)
        self.noted = {}
        reader = DimReader(self.known, self.dim_specs.bound, context.declared_symbol, self.noted)
        interpreter = self._interpreter(context, reader, until)
        environment = Environment(interpreter.opsets(imports_of(self.model.proto)), hints=self.model.hints)
        self.early_findings = list(structural_findings(self.model, (i.name for i in self.inputs)))
        self.early_findings += overridable_finding(self.graph, self.inputs)
        for value in self.inputs:
            if value.name not in environment.values:
                fact = environment.values[value.name] = self._input_fact(value, reader, context)
                if isinstance(fact, SymbolicTensor) and fact.dtype is not None and fact.dtype.is_integer:
                    environment.provenance[value.name] = provenance_of_input(value.name, fact, scope)
                if isinstance(fact, SymbolicTensor) and fact.dtype is DType.BOOL:
                    environment.input_predicates[value.name] = InputPredicate(value.name, "==", 1, is_bool=True)
        for tensor in self.graph.initializer:
            if tensor.name in environment.values and (
                fault := default_finding(tensor, environment.values[tensor.name])
            ):
                self.early_findings.append(fault)
        self.early_findings += self._fixed_default_findings(interpreter)
        self.progress(partial(self._progress_text, environment))
        if self.prepare is not None:
            self.prepare(interpreter)
        return _Iteration(interpreter, environment, scope, interpreter.interpret_graph(self.graph, environment))

    def _progress_text(self, environment: Environment) -> str:
        """`inferring, 42 %`: the share of values of the main graph that have a fact."""
        return f"inferring, {100 * len(environment.values) // max(1, self._values, len(environment.values))} %"

    @cached_property
    def _values(self) -> int:
        """Number of values of the main graph: inputs, constants and node outputs."""
        constants = len(self.graph.initializer) + len(self.graph.sparse_initializer)
        return len(self.graph.input) + constants + sum(len(node.output) for node in self.graph.node)

    def _fixed_default_findings(self, interpreter: Interpreter) -> Iterable[Diagnostic]:
        """Findings for initializers, treated as constants, that contradict the declared type of their input."""
        fixed = {v.name: v for v in self.graph.input} if self.fixed_defaults else {}
        for tensor in self.graph.initializer:
            if tensor.name not in fixed:
                continue
            declared = from_type(fixed[tensor.name].type, interpreter.reader, lambda axis: symbol(f"{axis}"))
            if declared is not None and (fault := default_finding(tensor, declared)):
                yield fault

    def _input_fact(self, value: ValueInfoProto, reader: DimReader, context: Context) -> Value:
        spec = self.input_specs.get(value.name)

        def unnamed(axis: int) -> Dim:
            if not value.type.HasField("tensor_type"):
                return context.fresh(DIFFERS)  # for example in the members of a sequence
            name = self.input_constraints.unnamed.get((value.name, axis), f"{value.name}.{axis}")
            return substitute(symbol(name), self.dim_specs.bound)

        for dim in shaped_dims(value):
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value < -1:
                message = f"a dim of {value.name} must be >= 0, is {dim.dim_value}; it is treated as unknown"
                self.early_findings.append(diagnostic("GI109", message, Location(value=value.name)))
        declared = from_type(value.type, reader, unnamed)
        if declared is None:
            declared = UNKNOWN
        if spec is not None:
            declared = _refined(value.name, declared, spec, self.dim_specs.bound)
        value_range = self.input_constraints.ranges.get(value.name)
        if value_range is not None and isinstance(declared, SymbolicTensor):
            declared = declared.with_(value_range=self._bounded_range(value.name, declared, value_range))
        if isinstance(declared, SymbolicTensor):
            for size in declared.shape or ():
                context.add_implied_fact(size)  # a dim `N - 5` implies N >= 5
        return declared

    def _bounded_range(self, name: str, declared: SymbolicTensor, value_range: ValueRange) -> ValueRange:
        """The given value range with dims substituted, where a missing bound is that of the element type.

        Raises UsageError unless the input has an integer element type.
        """
        if declared.dtype is None or not declared.dtype.is_integer:
            raise UsageError(f"range of {name!r}: only integers have one, the input is {declared}")
        lo, hi = (
            None if end is None else bound_dim(end, self.dim_specs.bound) for end in (value_range.lo, value_range.hi)
        )
        natural = type_range(declared.dtype)
        return ValueRange(natural.lo if lo is None else lo, natural.hi if hi is None else hi)

    def _result(
        self,
        interpreter: Interpreter,
        outputs: list[Value],
        accesses: Iterable[Access],
        assumptions: Iterable[Assumption],
        declared: Scope,
        implied_constraints: tuple[ImpliedConstraint, ...],
        implied_facts: Mapping[Expr, Iterable[NodeId | None]],
    ) -> Inference:
        context = interpreter.context
        simplifier = ResultSimplifier(context)
        for values in {id(values): values for values in interpreter.scopes.values()}.values():
            for name, value in values.items():
                values[name] = simplifier.value(value)
        reader = DimReader(self.known, self.dim_specs.bound, noted=self.noted)
        notes = declared_outputs(interpreter, self.graph.output, [simplifier.value(v) for v in outputs], reader)
        notes += contradicted_hints(interpreter, reader)
        input_only = [one for one in implied_constraints if one.symbols <= self.known and not one.runtime]
        constraints = tuple(dict.fromkeys(map(simplifier.constraint, unproved(context, declared, input_only))))
        assumptions = tuple(map(simplifier.assumption, assumptions))
        annotations = {(b.node.graph, b.value): b for b in interpreter.trail.all(TrustedAnnotation)}.values()
        iterations = {
            i.body: i._replace(trip_count=simplifier.dim(i.trip_count)) for i in interpreter.trail.all(Iterations)
        }
        facts = (v for values in {id(v): v for v in interpreter.scopes.values()}.values() for v in values.values())
        trip_counts = (i.trip_count for i in iterations.values())
        causes = causes_of(facts, constraints, assumptions, trip_counts, context.causes)
        return Inference(
            self.model,
            interpreter.scopes,
            interpreter.labels,
            inputs=tuple(i.name for i in self.inputs),
            outputs=tuple(o.name for o in self.graph.output),
            diagnostics=(
                *self.warnings,
                *self.early_findings,
                *interpreter.trail.all(Diagnostic),
                *notes,
                *(() if self.model.foreign_format else dim_text_findings(self.noted, self.graph)),
                *proof_fuel_findings(context.scope),
            ),
            constraints=constraints,
            assumptions=assumptions,
            causes=with_defaults_named(causes, self.model.proto, self.inputs, interpreter.scopes[MAIN]),
            accesses=tuple(map(simplifier.access, accesses)),
            trusted_annotations=tuple(b._replace(type=simplifier.value(b.type)) for b in annotations),
            known=context.scope,
            declared=declared,
            input_constraints=self.input_constraints,
            implied_constraints=implied_constraints,
            implied_facts={fact: frozenset(sources) for fact, sources in implied_facts.items()},
            equated=_equated(constraints, context, simplifier),
            assume=self.assume,
            rules=self.rules,
            iterations=iterations,
            conditions={path: simplifier.condition(found) for path, found in interpreter.conditions.items()},
            unchecked=tuple(dict.fromkeys(map(simplifier.unchecked, interpreter.trail.all(Unchecked)))),
            unreachable=tuple({u.finding: None for u in interpreter.trail.all(UnreachableFinding)}),
        )


def _equated(
    constraints: Iterable[Constraint], context: Context, simplifier: ResultSimplifier
) -> dict[tuple[Dim, Dim], frozenset[NodeId | None]]:
    """The pairs of dims that `constraints` equate, each with all nodes that imply the equality."""
    sources: dict[tuple[Dim, Dim], set[NodeId | None]] = {}
    for (left, right), nodes in context.equated.items():
        sources.setdefault((simplifier.expanded(left), simplifier.expanded(right)), set()).update(nodes)
    pairs = {(c.left, c.right): (c.node.graph, c.node.position) for c in constraints if c.relation == "=="}
    return {pair: frozenset(sources.get(pair, {node})) for pair, node in pairs.items()}


def _with_first_facts(access: Access, first: Access | None) -> Access:
    """`access` with the facts and the addressed axis of the first iteration; without facts if it has no such access.

    A later iteration starts with all facts that nodes imply, including that each access is in bounds: `min(N, 5)` is 5
    if an index of 4 requires it. Such facts would make each bounds check succeed.
    """
    if first is None:
        return replace(access, facts_before=None)
    return replace(access, facts_before=first.facts_before, addressing=first.addressing or access.addressing)


def _are_known(assumptions: Iterable[Assumption], scope: Scope) -> bool:
    return all(assumption.is_known(scope) for assumption in assumptions)


def _refined(name: str, declared: Value, spec: GivenType, bound: Mapping[str, Dim]) -> Value:
    """The declared type of an input refined by `spec`, given by `--input`.

    Raises UsageError when they contradict or the input is not a tensor.
    """
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
