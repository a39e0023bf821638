"""`gather_infer.check`: all checks of one model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gather_infer.checks.checker import checker_findings
from gather_infer.checks.declared import declared_findings
from gather_infer.checks.dim_names import shared_name_findings
from gather_infer.checks.divisors import divisor_findings
from gather_infer.checks.element_types import element_type_findings
from gather_infer.checks.names import name_findings
from gather_infer.checks.numbers import number_findings
from gather_infer.checks.operators import is_of_onnx, operator_findings
from gather_infer.checks.order import order_findings
from gather_infer.checks.pinned import pinned_findings
from gather_infer.checks.places import Places
from gather_infer.checks.result import UNFIT, UNREADABLE, CheckResult, ordered
from gather_infer.checks.sizes import size_findings
from gather_infer.checks.versions import version_findings
from gather_infer.checks.weights import weight_findings
from gather_infer.checks.wrapping import wrapping_findings
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.constraints.shared import NO_CONSTRAINTS, SharedConstraints, applicable
from gather_infer.inference.failures import refused_unreachable
from gather_infer.model.file import STDIN
from gather_infer.model.model_loading import to_model_file, with_constants
from gather_infer.rules import RuleSet
from gather_infer.validate import verdict_diagnostics, verdicts
from gather_infer.validate.contract_builder import contract

if TYPE_CHECKING:
    from gather_infer.model.model_loading import ModelLike


def check(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
) -> CheckResult:
    """Check a model statically for problems that would break deployment; `gather_infer.check`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     constraints on the dims of the inputs, as for `infer`
    inputs   types of inputs that the model does not declare fully, as for `infer`
    ranges   bounds of the elements of integer inputs, as for `infer`: `["input_ids=0..30521"]`
    rules    rule sets of the caller
    initializers_as_constants   as for `infer`

    Raises ModelReadError if the model cannot be read, and UsageError as `infer` does.

        >>> result = gather_infer.check("fixtures/bert-torchscript.onnx", dims=["seq=1..512"])
        >>> print(result.errors[0].code, result.errors[0].message)
        GI501 seq=1..512 is declared, which reaches outside seq <= 64: the model fails there
    """
    started = time.monotonic()
    file = to_model_file(model)
    if initializers_as_constants:
        file = with_constants(file)
    weights = [*weight_findings(file), *number_findings(file)]
    inference = infer(file, dims=dims, inputs=inputs, ranges=ranges, rules=rules)
    judged = verdicts(inference, rules=rules)
    agreed = contract(inference, found=judged, rules=rules)
    places = Places(inference)
    found = [
        *weights,
        *_inferred(inference),
        *verdict_diagnostics(judged, inference),
        *_breaches(agreed.diagnostics, inference, places),
        *pinned_findings(inference, places),
        *version_findings(file.proto),
        *operator_findings(file.proto, inference.diagnostics, places),
        *declared_findings(inference, places),
        *shared_name_findings(inference, places),
        *wrapping_findings(inference, places),
        *size_findings(inference, places),
    ]
    if not file.foreign_format:
        found += name_findings(file.proto, places)
        found += element_type_findings(file.proto, places)
        found += divisor_findings(inference, places)
        found += refused_unreachable(inference)
    if not any(d.code == "GI102" for d in found):
        found += order_findings(file.proto, places)
    if not file.foreign_format and not any(d.severity is Severity.ERROR or d.code == "GI116" for d in found):
        found += _new(checker_findings(file, places), found)
    return CheckResult(
        file.name,
        ordered(found),
        Counter(str(verdict.kind) for verdict in judged),
        tuple((line.text, ", ".join(line.nodes)) for line in agreed.contract.ordinary_lines),
        seconds=time.monotonic() - started,
    )


def check_file(
    path: str, said: SharedConstraints, usual: SharedConstraints = NO_CONSTRAINTS, *, is_alone: bool = False
) -> CheckResult:
    """Check a file; one that cannot be read gets a finding instead of an exception.

    constraints   given by the caller for all files: each file uses those whose names it has, and a contradiction is a
                  finding
    defaults      constraints of the configuration; each file uses those whose names it has
    is_alone      this is the only file: unknown names and contradictions in `constraints` raise UsageError
    """
    started = time.monotonic()
    unused: tuple[str, ...] = ()
    name = "<stdin>" if path == STDIN else path
    try:
        file = to_model_file(path)
        if said.constants:
            file = with_constants(file)
        if not is_alone:
            said, unused = applicable(file, said)
        said += applicable(file, usual)[0]
        result = check(file, dims=said.dims, inputs=said.inputs, ranges=said.ranges, rules=said.rules)
    except ModelReadError as error:
        text = str(error).removeprefix(f"{name}: ").removeprefix(f"{Path(path)}: ")  # a Path drops a final slash
        return CheckResult(name, (diagnostic(UNREADABLE, text),), seconds=time.monotonic() - started)
    except UsageError as error:
        if is_alone:
            raise
        return CheckResult(name, (diagnostic(UNFIT, str(error)),), seconds=time.monotonic() - started)
    return replace(result, model=name, unused=unused, seconds=time.monotonic() - started)


def _inferred(inference: Inference) -> Iterator[Diagnostic]:
    """The findings of the inference, with severities for deployment.

    No runtime relies on the output shapes that a body declares, so GI202 in a body is a note. `operator_findings`
    and `external_data_findings` report unknown standard operators and missing data in more detail.
    """
    for finding in inference.diagnostics:
        where = finding.location
        if finding.code == "GI202" and where.graph and finding.severity is Severity.WARNING:
            yield replace(finding, severity=Severity.NOTE)
        elif finding.code != "GI112" and not is_of_onnx(finding):
            yield finding


def _breaches(diagnostics: Iterable[Diagnostic], inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """GI501 findings of the contract, each at the node that requires the line."""
    at = [access.node for access in inference.accesses]
    at += [constraint.node for constraint in inference.constraints]
    at += [demand.node for demand in inference.implied_constraints]
    nodes = {f"node {place}": place for place in at}
    for finding in diagnostics:
        if finding.code == "GI501":
            node = nodes.get(finding.location.graph)
            where = None if node is None else places.node(node.graph, node.position)
            yield finding if where is None else replace(finding, location=where)


def _new(findings: Iterable[Diagnostic], told: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """The checker's findings without duplicates: for onnx.checker, nodes out of order read undefined names (GI103)."""
    codes = {d.code for d in told}
    for finding in findings:
        if not (finding.code == "GI103" and "GI114" in codes) and not (finding.code == "GI113" and "GI113" in codes):
            yield finding
