"""All checks of one model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gather_infer.checks.checker import checker_findings
from gather_infer.checks.declared import declared_findings
from gather_infer.checks.limits import Limits, read_ranges
from gather_infer.checks.operators import is_of_onnx, operator_findings
from gather_infer.checks.order import order_findings
from gather_infer.checks.places import Places
from gather_infer.checks.result import UNFIT, UNREADABLE, CheckResult, ordered
from gather_infer.checks.said import NOTHING, Said, applicable
from gather_infer.checks.versions import version_findings
from gather_infer.checks.weights import weight_findings
from gather_infer.checks.wrapping import wrapping_findings
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.model.file import STDIN
from gather_infer.model.given import to_model_file
from gather_infer.rules import RuleSet
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import Kind, Verdict, verdicts

if TYPE_CHECKING:
    from gather_infer.model.given import GivenModel


def check(
    model: GivenModel,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, tuple[int | None, int | None]] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> CheckResult:
    """Everything that would hurt when a model is deployed; `gather_infer.check`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     what is known of the inputs' dims, as for `infer`
    inputs   shapes of inputs that the model leaves open, as for `infer`
    ranges   what the elements of integer inputs are between: `["input_ids=0..30521"]`, or a mapping to pairs
    rules    rule sets of the caller

    Raises ModelReadError when it cannot be read as a model, and UsageError as `infer` does.
    """
    started = time.monotonic()
    file = to_model_file(model)
    weights = list(weight_findings(file))
    if weights:
        file = replace(file, base_dir=None)  # what is not there cannot be read; the rest is checked without it
    inference = infer(file, dims=dims, inputs=inputs, rules=rules)
    limits = Limits(inference.declared, read_ranges(ranges, inference.inputs))
    judged = [limits.settled(verdict) for verdict in verdicts(inference)]
    places = Places(file.proto)
    found = [
        *weights,
        *_inferred(inference),
        *_judged(judged, inference.diagnostics),
        *(breach for verdict in judged for breach in limits.broken(verdict)),
        *limits.beyond(inference.constraints, places),
        *limits.pinned(inference.constraints, _symbols(inference), places),
        *version_findings(file.proto),
        *operator_findings(file.proto, inference.diagnostics, places),
        *declared_findings(inference, places),
        *wrapping_findings(inference, places),
    ]
    if not any(d.code == "GI102" for d in found):
        found += order_findings(file.proto, places)
    if not any(d.severity is Severity.ERROR or d.code == "GI116" for d in found):
        found += _new(checker_findings(file, places), found)
    return CheckResult(
        file.name,
        ordered(found),
        Counter(str(verdict.kind) for verdict in judged),
        _contract(judged),
        seconds=time.monotonic() - started,
    )


def check_file(path: str, said: Said, usual: Said = NOTHING, *, is_alone: bool = False) -> CheckResult:
    """The checks of a file; that it is no model is a finding.

    said      by the caller, of all files: it holds of each that has such names, and that it does not fit is a finding
    usual     said once and for all, of whatever has such names
    is_alone  there is no other file, and `said` is about this one

    Raises UsageError for what is said and does not fit a file that is alone.
    """
    started = time.monotonic()
    unused: tuple[str, ...] = ()
    name = "<stdin>" if path == STDIN else path
    try:
        file = to_model_file(path)
        if not is_alone:
            said, unused = applicable(file, said)
        said += applicable(file, usual)[0]
        result = check(file, dims=said.dims, inputs=said.inputs, ranges=said.ranges, rules=said.rules)
    except ModelReadError as error:
        text = str(error).removeprefix(f"{name}: ")
        return CheckResult(name, (diagnostic(UNREADABLE, text),), seconds=time.monotonic() - started)
    except UsageError as error:
        if is_alone:
            raise
        return CheckResult(name, (diagnostic(UNFIT, str(error)),), seconds=time.monotonic() - started)
    return replace(result, model=name, unused=unused, seconds=time.monotonic() - started)


def _inferred(inference: Inference) -> Iterator[Diagnostic]:
    """The findings of the walk, weighed for a deployment.

    What a body declares of its outputs' shapes alone no runtime goes by. Of operators of onnx's own domains more is
    said elsewhere.
    """
    for finding in inference.diagnostics:
        where = finding.location
        if finding.code == "GI202" and where.graph and finding.severity is Severity.WARNING:
            yield replace(finding, severity=Severity.NOTE)
        elif not is_of_onnx(finding):
            yield finding


def _symbols(inference: Inference) -> frozenset[str]:
    """Those in the shapes of the inputs."""
    shapes = (value.shape for name in inference.inputs if isinstance(value := inference[name], SymbolicTensor))
    return frozenset(name for shape in shapes for dim in shape or () for name in free_symbols(dim))


def _judged(judged: Iterable[Verdict], told: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The verdicts as findings, but for indices that the walk has found out of bounds itself."""
    nodes = {d.location.node for d in told if d.code == "GI301"}
    for verdict in judged:
        finding = verdict.diagnostic()
        if finding is not None and not (verdict.kind is Kind.VIOLATED and verdict.access.node in nodes):
            yield finding


def _new(findings: Iterable[Diagnostic], told: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of the checker about what is not told already: an order of nodes that it takes for undefined names."""
    codes = {d.code for d in told}
    for finding in findings:
        if not (finding.code == "GI103" and "GI114" in codes) and not (finding.code == "GI113" and "GI113" in codes):
            yield finding


def _contract(judged: Iterable[Verdict]) -> tuple[tuple[str, str], ...]:
    """What the conditional accesses demand, each line with its nodes."""
    lines: dict[str, dict[str, None]] = {}
    for verdict in judged:
        if verdict.kind is Kind.CONDITIONAL:
            lines.setdefault(verdict.condition, {})[str(verdict.access.node)] = None
    return tuple((text, ", ".join(nodes)) for text, nodes in lines.items())
