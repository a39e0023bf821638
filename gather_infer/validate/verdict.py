"""Verdict on one access by index, and its diagnostic."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.inference import Access, Inference
from gather_infer.inference.failures import conditional, conditional_bodies, hoisted
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor, format_shape
from gather_infer.validate.condition import Condition, joined


class VerdictKind(str, enum.Enum):
    """The answer to: is every index in bounds?"""

    PROVED = "proved"
    VIOLATED = "violated"
    CONDITIONAL = "conditional"
    UNDECIDED = "undecided"

    def __str__(self) -> str:
        return self.value


class Outside(str, enum.Enum):
    """Effect of an index out of bounds: ONNX operators fail, some operators of other dialects continue."""

    FAILS = "the node fails"
    ZERO = "the result there is 0"
    UNDEFINED = "the result there is not defined"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the indices of an access stay in bounds.

    kind          proved: in every run that reaches the node, for all input elements;
                  violated: in no run that reaches the node with a nonempty index;
                  conditional: if all conditions hold; if a tight one does not hold, an index is out of bounds, unless
                  a tensor is empty;
                  undecided: it depends on data, or on unknown sizes
    conditions    of a conditional access, a minimal set
    witness       sizes or an element for which a conditional access is out of bounds; the index of a violated one
    reason        of a violated or an undecided access; the source of the conditions of a conditional one
    outside       effect of an index out of bounds
    empty_reason  why the index of a violated access may be empty although no input is empty: such a run is legal; ""
                  if it cannot be
    """

    access: Access
    kind: VerdictKind
    conditions: tuple[Condition, ...] = ()
    witness: tuple[tuple[str, Dim], ...] = ()
    reason: str = ""
    outside: Outside = Outside.FAILS
    empty_reason: str = ""

    def __str__(self) -> str:
        return self.text()

    @property
    def tight(self) -> bool:
        """Whether the conditions are necessary and sufficient: an index is out of bounds wherever one of them does not
        hold.
        """
        return all(condition.tight for condition in self.conditions)

    @property
    def condition(self) -> str:
        """The conditions in one line: `-30522 <= input_ids < 30522`, `past + seq <= 512`."""
        return joined(self.conditions)

    @property
    def example(self) -> str:
        """The witness in one line: `seq = 513`."""
        return ", ".join(f"{name} = {size}" for name, size in self.witness)

    def diagnostic(self) -> Diagnostic | None:
        """The verdict as a diagnostic; None for a proved access."""
        access = self.access
        where = Location(access.node, access.op_type, access.domain, access.version)
        place = _place(access)
        goes_on = () if self.outside is Outside.FAILS else (str(self.outside),)
        match self.kind:
            case VerdictKind.PROVED:
                return None
            case VerdictKind.VIOLATED:
                severity = (
                    Severity.WARNING if self.empty_reason or self.outside is not Outside.FAILS else Severity.ERROR
                )
                message = f"fails when indices is not empty: {self.reason}" if self.empty_reason else self.reason
                empty = (f"indices may be empty: {self.empty_reason}",) if self.empty_reason else ()
                return diagnostic("GI301", message, where, detail=(place, *empty, *goes_on), severity=severity)
            case VerdictKind.CONDITIONAL:
                past = (f"{self.example} is past the end",) if self.witness and self.tight else ()
                how = "in bounds only" if self.tight else "always in bounds"
                message = f"{how} for {self.condition}: {self.reason}"
                return diagnostic("GI302", message, where, detail=(place, *past, *goes_on))
            case VerdictKind.UNDECIDED:
                message = f"it is not known whether every index is in bounds: {self.reason}"
                return diagnostic("GI310", message, where, detail=(place, *goes_on))

    def text(self, file: str = "") -> str:
        """The verdict as text, as `Diagnostic.text`; `file` is the name of the file that it shows."""
        found = self.diagnostic()
        return f"proved: every index of {self.access.node} is in bounds" if found is None else found.text(file)


def verdict_diagnostics(verdicts: Iterable[Verdict], inference: Inference) -> Iterator[Diagnostic]:
    """The diagnostics of the verdicts, except violations that `inference` has already reported.

    A failure that not every run reaches is a warning, like the failures that inference reports.
    """
    told, conditions = inference.diagnostics, inference.conditions
    nodes = {d.location.node for d in told if d.code == "GI301"}
    found = [(verdict.access, finding) for verdict in verdicts if (finding := verdict.diagnostic()) is not None
             and not (verdict.kind is VerdictKind.VIOLATED and verdict.access.node in nodes)]  # fmt: skip
    bodies = {a.node: conditional_bodies(a.node.graph, conditions) for a, f in found if f.severity is Severity.ERROR}
    certain = hoisted((*(d.conditional_bodies for d in told if d.conditional_bodies), *bodies.values()), conditions)
    for access, finding in found:
        around = certain[bodies[access.node]] if finding.severity is Severity.ERROR else ()
        yield conditional(finding, around, conditions) if around else finding


def _place(access: Access) -> str:
    data = access.data_type
    shown = f"{data.dtype or '?'}{format_shape(data.shape)}" if isinstance(data, SymbolicTensor) else str(data)
    axis = "" if access.axis is None else f", axis {access.axis}"
    return f"data {access.data}: {shown}{axis}"
