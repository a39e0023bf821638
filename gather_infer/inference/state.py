"""What the walk of one pass has at hand, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import onnx
from onnx import FunctionProto, NodeProto, TensorProto

from gather_infer.context import Context
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic, is_structural
from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation
from gather_infer.inference.cache import RuleCache
from gather_infer.inference.dispatch import Opsets
from gather_infer.inference.frame import Frame
from gather_infer.inference.limits import Budget
from gather_infer.inference.proto.types import DimReader
from gather_infer.inference.result import Access, Belief
from gather_infer.places import GraphPath, NodePath
from gather_infer.record import Constraint, Demand, Mark, PathCondition, Unchecked
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Scope, known_eq, known_le
from gather_infer.tensor import MAX_VALUES_RANK, Value, holds_values

if TYPE_CHECKING:
    from gather_infer.model import ModelFile

MAX_CONSTANT_BYTES: Final = 64 << 20
"""Bytes of a constant index that are read to check every element."""


class Opened(NamedTuple):
    """A graph that was walked: its path, what it is called, its facts."""

    path: GraphPath
    label: str
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Unreached:
    """What would be wrong with a node if a run came to it; none does."""

    finding: Diagnostic


class State:
    """One pass over a model.

    constants   what small Constants stand for; the passes of a run share it
    scopes      the facts of each graph that was walked
    labels      what these graphs are called
    calls       functions that are being walked, outermost first
    until       ends the walk of the model's graph early, where only what nodes imply is asked for
    budget      for the walks of bodies
    retries     of bodies of loops, under a weaker hypothesis
    misnamed    names that nothing defines
    is_in_order whether the nodes of each graph could be visited in the order in which they stand
    opened      the graphs in the order in which they were walked, each as often as it was
    conditions  by path, when the bodies run that not every run comes to
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
        self.record = context.record
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
        self.budget = Budget(model.proto)
        self.retries = 0
        self.misnamed = 0
        self.is_in_order = True
        self._opsets: dict[tuple[tuple[str, int], ...], Opsets] = {}
        self.opened: list[Opened] = []
        self.conditions: dict[GraphPath, PathCondition] = {}

    def opsets(self, imports: Iterable[onnx.OperatorSetIdProto]) -> Opsets:
        key = tuple((entry.domain, entry.version) for entry in imports)
        found = self._opsets.get(key)
        if found is None:
            pairs = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in key]
            found = self._opsets[key] = Opsets(pairs, self.rule_sets, self.functions, self.model.dialects)
        return found

    def enter(self, frame: Frame) -> None:
        """Keep the facts of a graph that is about to be walked."""
        self.list_scope(Opened(frame.path, frame.label, frame.values))

    def list_scope(self, opened: Opened) -> None:
        self.scopes[opened.path] = opened.values
        self.labels[opened.path] = opened.label
        self.opened.append(opened)

    def spend(self, path: GraphPath, nodes: Sequence[NodeProto], names: int = 0) -> None:
        """Account for a walk of a body; see `Budget.spend`.

        Raises SpecViolation when the budget is spent: then nothing is known of the body, nor of those in it. What an
        earlier walk has found rests on a hypothesis that nobody has confirmed.
        """
        try:
            self.budget.spend(nodes, names)
        except SpecViolation:
            if path in self.scopes:
                for inner in [known for known in self.scopes if path.contains(known)]:
                    self.scopes.pop(inner).clear()  # those who list it again have the same dict
            raise

    # findings

    def location(self, node: NodeProto, index: int, frame: Frame, value: str = "") -> Location:
        return self.location_at(NodePath(frame.path, index, frame.labels[index]), node, frame, value)

    def location_at(self, place: NodePath, node: NodeProto, frame: Frame, value: str = "") -> Location:
        entry = frame.opsets.entry(node.domain, node.op_type, node.overload)
        version = entry.version if entry.schema is None else entry.schema.since
        return Location(place, node.op_type, plain_domain(node.domain), version, value)

    def report(self, code: str, message: str, location: Location, *detail: str) -> None:
        self.record.add(diagnostic(code, message, location, detail=detail))

    def take_findings(self, where: Location) -> None:
        """Turn what rules have reported into diagnostics at `where`."""
        for code, message, detail, severity in self.context.findings:
            self.record.add(diagnostic(code, message, where, detail=detail, severity=severity))
        self.context.findings.clear()

    # constants

    def is_missing(self, tensor: TensorProto, where: Location) -> bool:
        """Whether the data of a constant is not to be had, which is reported; its type and shape are known anyway."""
        missing = self.model.missing(tensor)
        if missing is not None:
            self.record.add(diagnostic("GI112", missing, where, severity=Severity.WARNING))
        return missing is not None

    def load_constant(self, name: str, frame: Frame) -> np.ndarray[Any, Any] | None:
        """All elements of a constant, read from the file; None when it is none, or too large to be an index."""
        tensor = frame.constant(name)
        if tensor is None or len(tensor.dims) > MAX_VALUES_RANK or self.model.nbytes(tensor) > MAX_CONSTANT_BYTES:
            return None
        if self.model.is_out_of_reach(tensor) or self.model.missing(tensor) is not None:
            return None
        if 0 in tensor.dims and not holds_values(tensor.dims):
            return None
        return self.model.tensor(tensor)

    # trial runs

    def mark(self) -> Mark:
        """What has been recorded so far; see `rollback`."""
        return self.record.mark()

    def rollback(self, mark: Mark) -> None:
        """Forget what was recorded since `mark`, and results that rest on what was learnt since."""
        self.cache.clear()
        self.record.rollback(mark)

    def forget_conditional(self, mark: Mark, *, is_dead: bool, where: Scope | None) -> None:
        """Forget the constraints and demands since `mark`, of nodes that not every run reaches; they stay unchecked.

        Of nodes that no run reaches (`is_dead`) only what is wrong with the model itself stays; errors beside it are
        noted as `Unreached`.

        where   what holds in the runs that reach them, before they do: what follows from it is left out. None where
                it may be others that run
        """

        def is_kept(entry: object) -> bool:
            if isinstance(entry, (Constraint, Demand)):
                return False
            if not is_dead:
                return True
            if isinstance(entry, Diagnostic):
                return is_structural(entry)
            return not isinstance(entry, (Access, Belief, Unchecked))

        found = list(self.record.since(mark, Diagnostic)) if is_dead else []
        stated = [] if is_dead else list(self._unchecked(mark, where))
        self.record.keep_since(mark, is_kept)
        for unchecked in stated:
            self.record.leave_open(unchecked)
        if where is None:
            self.record.revise_since(mark, Unchecked, lambda unchecked: replace(unchecked, tight=False))
        for finding in found:
            if finding.severity is Severity.ERROR and not is_structural(finding):
                self.record.add(Unreached(finding))

    def _unchecked(self, mark: Mark, where: Scope | None) -> Iterator[Unchecked]:
        """The constraints and demands since `mark` that do not hold anyway."""
        for constraint in self.record.since(mark, Constraint):
            said = (constraint.left, constraint.relation, constraint.right)
            if where is None or not _holds_anyway((said,), where):
                yield Unchecked(str(constraint), constraint.node, (said,), where is not None and constraint.is_enforced)
        for demand in self.record.since(mark, Demand):
            if where is None or not _holds_anyway(demand.any_of, where):
                yield Unchecked(
                    str(demand),
                    demand.node,
                    demand.any_of,
                    where is not None and demand.is_enforced and not demand.refusal,
                )


def _holds_anyway(any_of: Iterable[tuple[Dim, str, Dim]], where: Scope) -> bool:
    """Whether one of the relations is known to hold."""
    return any(
        (known_eq if relation == "==" else known_le)(left, right, where) is True for left, relation, right in any_of
    )
