"""All checks of one model."""

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
from gather_infer.checks.said import NOTHING, Said, applicable
from gather_infer.checks.sizes import size_findings
from gather_infer.checks.versions import version_findings
from gather_infer.checks.weights import weight_findings
from gather_infer.checks.wrapping import wrapping_findings
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.failures import refused_unreached
from gather_infer.model.file import STDIN
from gather_infer.model.given import to_model_file, with_constants
from gather_infer.rules import RuleSet
from gather_infer.validate import judged_findings, verdicts
from gather_infer.validate.contract import contract

if TYPE_CHECKING:
    from gather_infer.model.given import GivenModel


def check(
    model: GivenModel,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
) -> CheckResult:
    """What hurts when a model is deployed, as far as it is known without a run; `gather_infer.check`.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     what is known of the inputs' dims, as for `infer`
    inputs   shapes of inputs that the model leaves open, as for `infer`
    ranges   bounds of the elements of integer inputs, as for `infer`: `["input_ids=0..30521"]`
    rules    rule sets of the caller
    initializers_as_constants   as for `infer`

    Raises ModelReadError when it cannot be read as a model, and UsageError as `infer` does.

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
        *judged_findings(judged, inference),
        *_breaches(agreed.diagnostics, inference, places),
        *pinned_findings(inference, places),
        *version_findings(file.proto),
        *operator_findings(file.proto, inference.diagnostics, places),
        *declared_findings(inference, places),
        *shared_name_findings(inference, places),
        *wrapping_findings(inference, places),
        *size_findings(inference, places),
    ]
    if not file.foreign:
        found += name_findings(file.proto, places)
        found += element_type_findings(file.proto, places)
        found += divisor_findings(inference, places)
        found += refused_unreached(inference)
    if not any(d.code == "GI102" for d in found):
        found += order_findings(file.proto, places)
    if not file.foreign and not any(d.severity is Severity.ERROR or d.code == "GI116" for d in found):
        found += _new(checker_findings(file, places), found)
    return CheckResult(
        file.name,
        ordered(found),
        Counter(str(verdict.kind) for verdict in judged),
        tuple((line.text, ", ".join(line.nodes)) for line in agreed.contract.near),
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
        if said.constants:
            file = with_constants(file)
        if not is_alone:
            said, unused = applicable(file, said)
        said += applicable(file, usual)[0]
        result = check(file, dims=said.dims, inputs=said.inputs, ranges=said.ranges, rules=said.rules)
    except ModelReadError as error:
        text = str(error).removeprefix(f"{name}: ").removeprefix(f"{Path(path)}: ")  # `folder/` is read as `folder`
        return CheckResult(name, (diagnostic(UNREADABLE, text),), seconds=time.monotonic() - started)
    except UsageError as error:
        if is_alone:
            raise
        return CheckResult(name, (diagnostic(UNFIT, str(error)),), seconds=time.monotonic() - started)
    return replace(result, model=name, unused=unused, seconds=time.monotonic() - started)


def _inferred(inference: Inference) -> Iterator[Diagnostic]:
    """The findings of the walk, weighed for a deployment.

    What a body declares of its outputs' shapes alone no runtime goes by. Of operators of onnx's own domains more is
    said elsewhere, as of data that is missing: to deploy a model takes it.
    """
    for finding in inference.diagnostics:
        where = finding.location
        if finding.code == "GI202" and where.graph and finding.severity is Severity.WARNING:
            yield replace(finding, severity=Severity.NOTE)
        elif finding.code != "GI112" and not is_of_onnx(finding):
            yield finding


def _breaches(diagnostics: Iterable[Diagnostic], inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """What is declared and reaches outside the contract, at the node that demands the line."""
    at = [access.node for access in inference.accesses]
    at += [constraint.node for constraint in inference.constraints]
    at += [demand.node for demand in inference.demands]
    nodes = {f"node {place}": place for place in at}
    for finding in diagnostics:
        if finding.code == "GI501":
            node = nodes.get(finding.location.graph)
            where = None if node is None else places.node(node.graph, node.position)
            yield finding if where is None else replace(finding, location=where)


def _new(findings: Iterable[Diagnostic], told: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Those of the checker about what is not told already: an order of nodes that it takes for undefined names."""
    codes = {d.code for d in told}
    for finding in findings:
        if not (finding.code == "GI103" and "GI114" in codes) and not (finding.code == "GI113" and "GI113" in codes):
            yield finding
