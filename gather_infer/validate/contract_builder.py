"""Contract of a model: conditional accesses and constraints on shapes that not every binding satisfies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from onnx import ModelProto

from gather_infer.contract import (
    KEY,
    Contract,
    ContractInput,
    DimsLine,
    ElementsLine,
    Line,
    ModelInterface,
    Open,
    Relation,
)
from gather_infer.contract.checking import compound_axes, solvings
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic, severity_counts
from gather_infer.inference import Inference, infer
from gather_infer.inference.dim_dialects import save_translated
from gather_infer.inference.inference_driver import infer_with_shapes
from gather_infer.model import ModelFile, SaveReport
from gather_infer.model.model_loading import ModelLike, to_onnx_file
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Expr, Interval, Scope, free_symbols, known_lt, symbol
from gather_infer.tensor import OptionalType, SymbolicTensor, ValueRange
from gather_infer.trail import InputPredicate
from gather_infer.validate.condition import Condition, Elements, minimal
from gather_infer.validate.conditional_constraints import ConditionalConstraints, bodies_of
from gather_infer.validate.default_elements import open_defaults
from gather_infer.validate.guess_and_check import verdicts
from gather_infer.validate.minimal_constraints import (
    SizeConstraint,
    avoidable_failures,
    is_always_reached,
    minimal_constraint_set,
    only_excludes_empty,
    scope_with,
    scopes_without_assumptions,
    size_constraints_of,
)
from gather_infer.validate.model_interface import model_interface
from gather_infer.validate.verdict import Outside, Verdict, VerdictKind, verdict_diagnostics


@dataclass(frozen=True, slots=True, eq=False)
class ContractResult:
    """A contract and the diagnostics of its derivation.

    diagnostics  errors of the model, accesses that are always out of bounds, and declarations that the model does not
                 accept
    inference    the inference from which the contract is derived
    """

    contract: Contract
    diagnostics: tuple[Diagnostic, ...]
    source: ModelFile
    inference: Inference

    def __repr__(self) -> str:
        found = severity_counts(self.diagnostics)
        number = len(self.contract.lines)
        return f"<ContractResult of {self.source.name}: {number} line{'s' * (number != 1)}{found and f', {found}'}>"

    @property
    def undischarged(self) -> tuple[Diagnostic, ...]:
        """The lines and the open points of the contract as errors, because the declarations do not prove them."""
        stated = (*self.contract.nonempty, *self.contract.lines)
        lines = (
            diagnostic("GI502", f"not proved: {line.text}", _place(line.nodes), detail=_detail(line)) for line in stated
        )
        rest = (
            diagnostic("GI502", f"not proved: {o.reason}", Location(value=o.node), detail=tuple(map(str, o.bodies)))
            for o in self.contract.open
        )
        return (*lines, *rest)

    @property
    def interface(self) -> ModelInterface:
        """The inputs and outputs as onnxruntime reports them, for `gather_infer.emit`."""
        return model_interface(self.inference)

    def embedded(self) -> ModelProto:
        """The model with the contract in its metadata, otherwise unchanged.

        Raises ModelReadError for a model that is not ONNX.
        """
        proto = ModelProto()
        proto.CopyFrom(to_onnx_file(self.source).proto)
        text = json.dumps(self.contract.to_json())
        for position in reversed([i for i, entry in enumerate(proto.metadata_props) if entry.key == KEY]):
            del proto.metadata_props[position]
        proto.metadata_props.add(key=KEY, value=text)
        return proto

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        dim_dialect: str | None = None,
    ) -> SaveReport:
        """Write the model with the contract in its metadata, whole or not at all; see `gather_infer.model.save`."""
        self.source.require_data()
        return save_translated(
            self.source,
            self.embedded(),
            path,
            dim_dialect=dim_dialect,
            external_data=external_data,
            in_place=in_place,
        )


def contract_of(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> ContractResult:
    """The conditions on the inputs of a model under which it does not fail; `gather_infer.contract_of`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims, inputs, ranges, rules   as for `infer`: lines that they prove are left out
    initializers_as_constants, progress   as for `infer`

    Raises ModelReadError when the model cannot be read, and UsageError for arguments that `infer` rejects.

        >>> contract = gather_infer.contract_of("fixtures/bert-torchscript.onnx").contract
        >>> print([line.text for line in contract.lines])
        ['-151 <= input_ids < 151', '-2 <= token_type_ids < 2', 'seq <= 64']
    """
    inference = infer(
        model,
        dims=dims,
        inputs=inputs,
        ranges=ranges,
        rules=rules,
        initializers_as_constants=initializers_as_constants,
        progress=progress,
    )
    progress(lambda: "judging")
    return contract(inference, rules=rules)


def contract(
    inference: Inference, *, found: Sequence[Verdict] | None = None, rules: Sequence[RuleSet] = ()
) -> ContractResult:
    """The contract of an inferred model.

    found   the verdicts on its accesses; None to compute them
    rules   the rules that the inference was given; the model may be inferred once more
    """
    return _ContractBuilder(inference, verdicts(inference, rules=rules) if found is None else found, rules).result()


def with_assumptions(found: ContractResult) -> Contract:
    """The contract with the assumptions of its inference as lines that are not necessary."""
    lines = [
        DimsLine((Relation(each.dim, relation, bound),), False, (each.node.label,), each.reason)
        for each in found.inference.assumptions
        for relation, bound in ((">=", each.lower), ("<=", each.upper))
        if bound is not None
    ]
    return replace(found.contract, lines=(*found.contract.lines, *lines))


class _ContractBuilder:
    """Derives a contract from an inference and its verdicts."""

    def __init__(self, inference: Inference, verdicts: Sequence[Verdict], rules: Sequence[RuleSet]) -> None:
        self.inference = inference
        self.verdicts = verdicts
        self.rules = rules
        self.avoidable = tuple(avoidable_failures(inference, verdicts))
        self.inputs = _without_ambiguity(tuple(_inputs(inference)))
        self.declared = inference.declared
        self.symbols = frozenset(name for spec in self.inputs for dim in spec.shape or () for name in free_symbols(dim))

    def result(self) -> ContractResult:
        stated, spelt = self._compound()
        bodies = ConditionalConstraints(self.inference, self.inputs, self.symbols)
        demanded = size_constraints_of(self.inference, self.verdicts, self.symbols, bodies.constraints)
        claims = minimal_constraint_set([*demanded, *stated], self.declared)
        surely = scope_with(self.declared, [claim for claim in claims if claim.tight])
        scope = scope_with(self.declared, claims)
        elements = [*self._elements(scope, surely), *self._input_predicate_lines()]
        defaults = open_defaults(self.inference.model, elements, scope)
        dims = [DimsLine(c.relations, c.tight, c.nodes, c.reason) for c in claims if not only_excludes_empty(c)]
        nonempty = [DimsLine(c.relations, c.tight, c.nodes, c.reason) for c in claims if only_excludes_empty(c)]
        made = Contract(
            Path(self.inference.model.name).name,
            self.inputs,
            (*elements, *dims, *bodies.lines(claims)),
            tuple(nonempty),
            (*self._declared(), *spelt),
            tuple(dict.fromkeys((*self._open(), *defaults, *bodies.open(claims)))),
        )
        return ContractResult(made, tuple(self._diagnostics(made)), self.inference.model, self.inference)

    # elements

    def _elements(self, scope: Scope, tight_scope: Scope) -> Iterator[ElementsLine]:
        """The lines on elements, except those that other lines imply.

        scope         the facts that hold if all lines on dims do
        tight_scope   the facts that hold if the tight lines on dims do
        """
        demands = [
            (replace(condition, tight=condition.tight and self._is_always_needed(condition, verdict)), verdict)
            for verdict in self.verdicts
            if verdict.kind is VerdictKind.CONDITIONAL
            for condition in verdict.conditions
            if isinstance(condition.left, Elements)
        ]
        kept = minimal([condition for condition, _ in demands], scope, tight_scope)
        positions: dict[Condition | None, list[int]] = {}
        for at, (condition, _) in enumerate(demands):
            positions.setdefault(condition, []).append(at)
        groups: dict[tuple[Elements, bool], list[Condition]] = {}
        for condition in kept:
            assert isinstance(condition.left, Elements), "filtered above"
            groups.setdefault((condition.left, condition.tight and condition.left.whole), []).append(condition)
        order = {name: position for position, name in enumerate(self.inference.inputs)}
        for (elements, tight), conditions in sorted(groups.items(), key=lambda item: order[item[0][0].input]):
            lows = [c for c in conditions if c.relation == ">="]
            highs = [c for c in conditions if c.relation != ">="]
            for low, high in zip_longest(lows, highs):
                makers = [demands[at][1] for at in sorted({*positions.get(low, ()), *positions.get(high, ())})]
                yield ElementsLine(
                    elements.input,
                    elements.column,
                    None if low is None else low.right,
                    None if high is None else high.right - (high.relation == "<"),
                    elements.whole,
                    tight,
                    tuple(dict.fromkeys(str(v.access.node) for v in makers)),
                    _reason(makers[0]),
                )

    def _input_predicate_lines(self) -> Iterator[ElementsLine]:
        """Lines that exclude the input elements for which a run enters a body that fails."""
        found: dict[InputPredicate, list[Diagnostic]] = {}
        for finding in self.avoidable:
            choice = self._input_predicate(finding)
            if choice is not None:
                found.setdefault(choice, []).append(finding)
        for choice, findings in found.items():
            low, high = _allowed_elements(choice)
            nodes = tuple(dict.fromkeys(str(d.location.node) for d in findings))
            yield ElementsLine(
                choice.input, None, low, high, nodes=nodes, reason=findings[0].message, is_bool=choice.is_bool
            )

    def _input_predicate(self, finding: Diagnostic) -> InputPredicate | None:
        """The predicate on input elements that alone leads to a failure; None unless its negation is a range."""
        choices = [self.inference.conditions[body].input_predicate for body in finding.conditional_bodies]
        choice = choices[0] if len(choices) == 1 else None
        if choice is None or (choice.relation == "==" and not choice.is_bool):
            return None
        return choice if choice.input in self.inference.inputs else None

    def _is_always_needed(self, condition: Condition, verdict: Verdict) -> bool:
        """Whether every run reaches the access of `verdict`, and the condition does not depend on an assumption."""
        rests = any(True for _ in scopes_without_assumptions(self.inference, free_symbols(condition.right)))
        return is_always_reached(verdict) and not rests

    # dims that are declared as expressions

    def _compound(self) -> tuple[list[SizeConstraint], list[DimsLine]]:
        """Equations such as `mask.1 == past + seq`: constraints for those that the file declares, lines for those of
        the caller.

        Where the nodes do not require an equation for all sizes, the constraints that they do require are added.
        """
        solved = {solving.size for solving in solvings(self.inputs)}
        axes = [
            (spec, axis, dim) for spec, axis, dim in compound_axes(self.inputs) if spec.axis_name(axis) not in solved
        ]
        stated = [each for each in axes if not self._is_of_caller(each[0].name, each[1])]
        said = [
            DimsLine((Relation(symbol(spec.axis_name(axis)), "==", dim),), False, (), "declared")
            for spec, axis, dim in axes
            if self._is_of_caller(spec.name, axis)
        ]
        if not stated:
            return [], said
        shapes: dict[str, list[Dim]] = {}
        for spec, axis, _ in stated:
            shapes.setdefault(spec.name, list(spec.shape or ()))[axis] = symbol(spec.axis_name(axis))
        freed = infer_with_shapes(self.inference, {name: tuple(shape) for name, shape in shapes.items()}, self.rules)
        names = frozenset(spec.axis_name(axis) for spec, axis, _ in stated)
        demands = size_constraints_of(freed, verdicts(freed, rules=self.rules), self.symbols | names)
        where = scope_with(freed.declared, [claim.where_nonempty for claim in demands if claim.tight])
        equal = [_declared_equation(spec, axis, dim, demands, where) for spec, axis, dim in stated]
        unsure = frozenset(
            spec.axis_name(axis) for (spec, axis, _), claim in zip(stated, equal, strict=True) if not claim.tight
        )
        return [*equal, *(c for c in demands if c.tight and not unsure.isdisjoint(c.symbols))], said

    def _is_of_caller(self, name: str, axis: int) -> bool:
        """Whether the caller declares the dim of an input as an expression."""
        given = self.inference.input_constraints
        assert given is not None, "a run has input constraints"
        if name in given.inputs:
            return True
        text = next(v for v in self.inference.model.proto.graph.input if v.name == name)
        return text.type.tensor_type.shape.dim[axis].dim_param in (*given.dims.bound, "")

    # declarations, and open points

    def _declared(self) -> Iterator[Line]:
        given = self.inference.input_constraints
        assert given is not None, "a run has input constraints"
        for name in given.ranges:
            value = self.inference[name]
            if isinstance(value, SymbolicTensor) and value.value_range is not None:
                yield ElementsLine(name, None, value.value_range.lo, value.value_range.hi, True, False, (), "declared")
        dims = given.dims
        for name, bounds in dims.bounds.items():
            yield from _bounds(dims.bound.get(name, symbol(name)), bounds)
        for statement in dims.constraints:
            if isinstance(statement.value, Interval):
                yield from _bounds(statement.dim, statement.value)
            else:
                yield DimsLine((Relation(statement.dim, "==", statement.value),), False, (), "declared")

    def _open(self) -> Iterator[Open]:
        for name in self.inference.inputs:
            value = self.inference[name]
            if isinstance(value, SymbolicTensor) and value.shape is None:
                yield Open(name, "the rank of this input is not known, so constraints on its sizes may be missing")
        for verdict in self.verdicts:
            if verdict.kind is VerdictKind.UNDECIDED:
                yield Open(str(verdict.access.node), verdict.reason)
            elif verdict.kind is VerdictKind.VIOLATED and verdict.empty_reason and verdict.outside is Outside.FAILS:
                yield Open(str(verdict.access.node), f"{verdict.reason}, where there is one: {verdict.empty_reason}")
        for finding in self.avoidable:
            conditions = [self.inference.conditions[body] for body in finding.conditional_bodies]
            dims = [c.sign_predicate for c in conditions if c.sign_predicate is not None and c.input_predicate is None]
            is_told = len(dims) == len(conditions) and all(free_symbols(dim) <= self.symbols for dim in dims)
            if not is_told and self._input_predicate(finding) is None:
                bodies = bodies_of(self.inference, finding.conditional_bodies)
                yield Open(str(finding.location.node), finding.message, bodies)
        for constraint in self.inference.constraints:
            if not free_symbols(constraint.left) | free_symbols(constraint.right) <= self.symbols:
                yield Open(str(constraint.node), f"{constraint} depends on data, or on what is not known")
        for demand in self.inference.implied_constraints:
            if not demand.symbols <= self.symbols:
                yield Open(str(demand.node), f"{demand} depends on data, or on what is not known")

    # diagnostics

    def _diagnostics(self, made: Contract) -> Iterator[Diagnostic]:
        yield from (d for d in self.inference.diagnostics if d.severity is Severity.ERROR or d.code == "GI112")
        violated = [verdict for verdict in self.verdicts if verdict.kind is VerdictKind.VIOLATED]
        yield from (d for d in verdict_diagnostics(violated, self.inference) if not d.conditional_bodies)
        for line in (*made.nonempty, *made.lines):
            for said in self._contradictions(line):
                how = "the model fails there" if line.tight else "whether the model fails there is not known"
                severity = Severity.ERROR if line.tight else Severity.WARNING
                message = f"{said} is declared, which reaches outside {line.text}: {how}"
                yield diagnostic("GI501", message, _place(line.nodes), detail=_detail(line), severity=severity)

    def _contradictions(self, line: Line) -> Iterator[str]:
        """The texts of the caller's declarations that allow values which the line excludes."""
        given = self.inference.input_constraints
        assert given is not None, "a run has input constraints"
        if isinstance(line, ElementsLine):
            span = given.ranges.get(line.input)
            value = self.inference[line.input]
            if span is None or not isinstance(value, SymbolicTensor) or value.value_range is None:
                return
            low, high = (
                value.value_range.lo if span.lo is not None else None,
                value.value_range.hi if span.hi is not None else None,
            )
            is_below = low is not None and line.lower is not None and known_lt(low, line.lower, self.declared) is True
            is_above = high is not None and line.upper is not None and known_lt(line.upper, high, self.declared) is True
            if is_below or is_above:
                yield f"{line.input}={_range(span)}"
            return
        only = line.single_relation
        for name in sorted(line.symbols) if only is not None else ():
            bounds = given.dims.bounds.get(name)
            for end in () if bounds is None else (bounds.lo or None, bounds.hi):
                where = self.declared.child()
                if end is not None:
                    where.declare(name, Interval(end, end))
                    if only is not None and bounds is not None and only.known(where) is False:
                        yield f"{name}={bounds.lo or 0}..{'' if bounds.hi is None else bounds.hi}"
                        break


def _inputs(inference: Inference) -> Iterator[ContractInput]:
    """The inputs of the model with their declared types."""
    defaults = {tensor.name for tensor in inference.model.proto.graph.initializer}
    for name in inference.inputs:
        value = inference[name]
        if isinstance(value, SymbolicTensor):
            yield ContractInput(name, None if value.dtype is None else str(value.dtype), value.shape, name in defaults)
        else:
            yield ContractInput(name, None, None, isinstance(value, OptionalType) or name in defaults)


def _without_ambiguity(inputs: tuple[ContractInput, ...]) -> tuple[ContractInput, ...]:
    """The inputs, where an input loses its shape if the name of one of its axes, such as `mask.1`, is also a symbol."""
    names = {name for spec in inputs for dim in spec.shape or () for name in free_symbols(dim)}
    unclear = {spec.name for spec, axis, _ in compound_axes(inputs) if spec.axis_name(axis) in names}
    return tuple(replace(spec, shape=None) if spec.name in unclear else spec for spec in inputs)


def _allowed_elements(predicate: InputPredicate) -> tuple[int | None, int | None]:
    """The lower and the upper bound of the elements for which a predicate does not hold; None for no bound."""
    match predicate.relation:
        case "<":
            return predicate.number, None
        case ">=":
            return None, predicate.number - 1
        case "!=":
            return predicate.number, predicate.number
        case _:
            assert predicate.is_bool, "the elements that differ from a number are no range"
            return (None, 0) if predicate.number else (1, None)


def _declared_equation(
    spec: ContractInput, axis: int, dim: Expr, demands: Sequence[SizeConstraint], where: Scope
) -> SizeConstraint:
    """The constraint that an axis has its declared size; tight where the model fails for every other size."""
    relation = Relation(symbol(spec.axis_name(axis)), "==", dim)
    makers = [c for c in demands if spec.axis_name(axis) in c.symbols]
    nodes = tuple(dict.fromkeys(node for c in makers for node in c.nodes))
    tight = relation.known(where) is True
    if tight:
        unless = dict.fromkeys(empty for claim in makers for empty in claim.unless)
        return SizeConstraint((relation, *unless), True, nodes, "the file declares it, and the nodes require it")
    least = "; ".join(dict.fromkeys(str(claim.where_nonempty) for claim in makers))
    return SizeConstraint((relation,), False, nodes, f"the file declares it; the nodes require {least or 'nothing'}")


def _bounds(dim: Dim, bounds: Interval) -> Iterator[DimsLine]:
    """The contract lines for the declared interval of a dim."""
    if isinstance(dim, int):
        return
    if bounds.lo is not None and bounds.lo > 0:
        yield DimsLine((Relation(dim, ">=", bounds.lo),), False, (), "declared")
    if bounds.hi is not None:
        yield DimsLine((Relation(dim, "<=", bounds.hi),), False, (), "declared")


def _range(value_range: ValueRange) -> str:
    return f"{'' if value_range.lo is None else value_range.lo}..{'' if value_range.hi is None else value_range.hi}"


def _reason(verdict: Verdict) -> str:
    return verdict.reason if verdict.outside is Outside.FAILS else f"{verdict.reason}; outside {verdict.outside}"


def _place(nodes: Sequence[str]) -> Location:
    return Location(value="", graph=f"node {nodes[0]}" if nodes else "")


def _detail(line: Line) -> tuple[str, ...]:
    return (line.reason,) if line.reason else ()


__all__ = ["ContractResult", "contract", "contract_of"]
