"""State and results of the interpreter in one iteration over a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import FunctionProto, NodeProto, TensorProto

from gather_infer.context import Context
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic, is_structural
from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation
from gather_infer.inference.environment import Environment
from gather_infer.inference.limits import WorkBudget
from gather_infer.inference.op_resolution import Opsets
from gather_infer.inference.proto.types import DimReader
from gather_infer.inference.result import Access, TrustedAnnotation
from gather_infer.inference.rule_cache import RuleCache
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Scope, known_eq, known_le
from gather_infer.tensor import MAX_VALUES_RANK, Value, holds_values
from gather_infer.trail import Checkpoint, Constraint, ImpliedConstraint, PathCondition, Unchecked

if TYPE_CHECKING:
    from gather_infer.model import ModelFile

MAX_CONSTANT_BYTES: Final = 64 << 20
"""Maximal size in bytes of a constant that is read from the file to check every index in it."""


class VisitedGraph(NamedTuple):
    """A graph that has been interpreted: its path, label and facts."""

    path: GraphPath
    label: str
    values: dict[str, Value]


class UnreachableFinding(NamedTuple):
    """An error at a node that no run reaches, and which is therefore not a diagnostic of the model."""

    finding: Diagnostic


class InterpreterState:
    """State of one iteration over a model.

    constants        facts of small Constants; shared by the iterations of a run
    scopes           facts of each interpreted graph, by path
    labels           labels of the interpreted graphs, by path
    calls            functions that are being interpreted, outermost first
    until            called after each node of the main graph; returns True to end the iteration
    budget           limits the interpretation of bodies
    retries          how often a loop body was interpreted again under a weaker hypothesis
    undefined_names  number of uses of undefined names so far
    is_in_order      whether every graph so far lists its nodes in topological order
    visited          the graphs in the order in which they were interpreted, with repetitions
    conditions       conditions of bodies that some runs skip, by path of the body
    """

    def __init__(
        self,
        model: ModelFile,
        context: Context,
        reader: DimReader,
        rule_sets: Sequence[Mapping[str, RuleSet]],
        *,
        constants: dict[tuple[int, bytes], Value | None],
        check_types: bool = True,
        until: Callable[[], bool] | None = None,
    ) -> None:
        self.model = model
        self.context = context
        self.trail = context.trail
        self.reader = reader
        self.rule_sets = rule_sets
        self.constants = constants
        self.checks_types = check_types
        self.until = until
        self.functions: dict[tuple[str, str, str], FunctionProto] = {}
        for proto in model.proto.functions:
            self.functions.setdefault((plain_domain(proto.domain), proto.name, proto.overload), proto)
        self.scopes: dict[GraphPath, dict[str, Value]] = {}
        self.labels: dict[GraphPath, str] = {}
        self.cache = RuleCache(context)
        self.calls: list[tuple[str, str, str]] = []
        self.budget = WorkBudget(model.proto)
        self.retries = 0
        self.undefined_names = 0
        self.is_in_order = True
        self._opsets: dict[tuple[tuple[str, int], ...], Opsets] = {}
        self.visited: list[VisitedGraph] = []
        self.conditions: dict[GraphPath, PathCondition] = {}

    def opsets(self, imports: Iterable[onnx.OperatorSetIdProto]) -> Opsets:
        key = tuple((entry.domain, entry.version) for entry in imports)
        found = self._opsets.get(key)
        if found is None:
            pairs = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in key]
            found = self._opsets[key] = Opsets(pairs, self.rule_sets, self.functions, self.model.dialects)
        return found

    def enter(self, environment: Environment) -> None:
        """Register a graph that is about to be interpreted, with the dict that will hold its facts."""
        self.record_graph(VisitedGraph(environment.path, environment.label, environment.values))

    def record_graph(self, graph: VisitedGraph) -> None:
        self.scopes[graph.path] = graph.values
        self.labels[graph.path] = graph.label
        self.visited.append(graph)

    def spend(self, path: GraphPath, nodes: Sequence[NodeProto], names: int = 0) -> None:
        """Charge the interpretation of a body to the budget; see `WorkBudget.spend`.

        Raises SpecViolation when the budget is spent. Facts from an earlier pass over the body at `path` and the bodies
        inside it are then dropped, since they depend on an unconfirmed hypothesis.
        """
        try:
            self.budget.spend(nodes, names)
        except SpecViolation:
            if path in self.scopes:
                for inner in [known for known in self.scopes if path.contains(known)]:
                    self.scopes.pop(inner).clear()  # cleared in place: other listings share the dict
            raise

    # findings

    def location(self, node: NodeProto, index: int, environment: Environment, value: str = "") -> Location:
        return self.location_at(NodePath(environment.path, index, environment.labels[index]), node, environment, value)

    def location_at(self, path: NodePath, node: NodeProto, environment: Environment, value: str = "") -> Location:
        op = environment.opsets.resolve(node.domain, node.op_type, node.overload)
        version = op.version if op.schema is None else op.schema.since
        return Location(path, node.op_type, plain_domain(node.domain), version, value)

    def report(self, code: str, message: str, location: Location, *detail: str) -> None:
        self.trail.add(diagnostic(code, message, location, detail=detail))

    def take_findings(self, where: Location) -> None:
        """Turn findings of rules into diagnostics at `where`."""
        for code, message, detail, severity in self.context.findings:
            self.trail.add(diagnostic(code, message, where, detail=detail, severity=severity))
        self.context.findings.clear()

    # constants

    def is_missing(self, tensor: TensorProto, where: Location) -> bool:
        """Return whether the data of a constant is unavailable, and report it; its type and shape remain known."""
        missing = self.model.missing_reason(tensor)
        if missing is not None:
            self.trail.add(diagnostic("GI112", missing, where, severity=Severity.WARNING))
        return missing is not None

    def load_constant(self, name: str, environment: Environment) -> np.ndarray[Any, Any] | None:
        """All elements of the constant `name`, read from the file.

        None for other names, and for tensors that are larger than MAX_CONSTANT_BYTES or whose data is missing.
        """
        tensor = environment.constant(name)
        if tensor is None or len(tensor.dims) > MAX_VALUES_RANK or self.model.nbytes(tensor) > MAX_CONSTANT_BYTES:
            return None
        if self.model.has_no_directory(tensor) or self.model.missing_reason(tensor) is not None:
            return None
        if 0 in tensor.dims and not holds_values(tensor.dims):
            return None
        return self.model.tensor(tensor)

    # trial runs

    def checkpoint(self) -> Checkpoint:
        """A checkpoint of the trail; see `rollback`."""
        return self.trail.checkpoint()

    def rollback(self, checkpoint: Checkpoint) -> None:
        """Drop trail entries since the checkpoint, and cached results that may depend on them."""
        self.cache.clear()
        self.trail.rollback(checkpoint)

    def drop_conditional(self, checkpoint: Checkpoint, *, is_dead: bool, where: Scope | None) -> None:
        """Turn constraints of an optional body, recorded since `checkpoint`, into unchecked clauses.

        is_dead   no run reaches the body: only its structural findings stay, its other errors become UnreachableFinding
        where     facts before the body in runs that enter it; clauses that they imply are dropped. None if a runtime
                  may run another body instead
        """

        def is_kept(entry: object) -> bool:
            if isinstance(entry, (Constraint, ImpliedConstraint)):
                return False
            if not is_dead:
                return True
            if isinstance(entry, Diagnostic):
                return is_structural(entry)
            return not isinstance(entry, (Access, TrustedAnnotation, Unchecked))

        # Both lists read entries that `filter_since` is about to drop.
        found = list(self.trail.since(checkpoint, Diagnostic)) if is_dead else []
        unchecked_entries = [] if is_dead else list(self._unchecked(checkpoint, where))
        self.trail.filter_since(checkpoint, is_kept)
        for unchecked in unchecked_entries:
            self.trail.add_unchecked(unchecked)
        if where is None:
            self.trail.revise_since(checkpoint, Unchecked, lambda unchecked: replace(unchecked, tight=False))
        for finding in found:
            if finding.severity is Severity.ERROR and not is_structural(finding):
                self.trail.add(UnreachableFinding(finding))

    def _unchecked(self, checkpoint: Checkpoint, where: Scope | None) -> Iterator[Unchecked]:
        """An unchecked clause for each constraint recorded since `checkpoint` that the facts `where` do not imply."""
        for constraint in self.trail.since(checkpoint, Constraint):
            relation = (constraint.left, constraint.relation, constraint.right)
            if where is None or not _is_known_to_hold((relation,), where):
                yield Unchecked(
                    str(constraint), constraint.node, (relation,), where is not None and constraint.is_enforced
                )
        for implied in self.trail.since(checkpoint, ImpliedConstraint):
            if where is None or not _is_known_to_hold(implied.any_of, where):
                yield Unchecked(
                    str(implied),
                    implied.node,
                    implied.any_of,
                    where is not None and implied.is_enforced and not implied.runtime,
                )


def _is_known_to_hold(any_of: Iterable[tuple[Dim, str, Dim]], where: Scope) -> bool:
    """Whether the facts `where` prove a relation of `any_of`."""
    return any(
        (known_eq if relation == "==" else known_le)(left, right, where) is True for left, relation, right in any_of
    )
