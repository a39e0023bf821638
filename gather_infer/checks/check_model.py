"""`gather_infer.check`: all checks of one model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gather_infer.checks.check_set import CheckSet, user_findings
from gather_infer.checks.declared_types import declared_type_findings
from gather_infer.checks.dependent_rows import dependent_row_findings
from gather_infer.checks.dim_names import shared_name_findings
from gather_infer.checks.divisors import divisor_findings
from gather_infer.checks.element_types import element_type_findings
from gather_infer.checks.external_data import external_data_findings
from gather_infer.checks.integer_overflow import overflow_findings
from gather_infer.checks.large_tensors import large_tensor_findings
from gather_infer.checks.locations import NodeLocations
from gather_infer.checks.node_names import node_name_findings
from gather_infer.checks.node_order import order_findings
from gather_infer.checks.nonfinite import nonfinite_findings
from gather_infer.checks.onnx_checker import checker_findings
from gather_infer.checks.operators import is_unknown_onnx_operator, operator_findings
from gather_infer.checks.overspecialized import overspecialized_findings
from gather_infer.checks.result import CONTRADICTED, UNREADABLE, CheckResult, ordered
from gather_infer.checks.versions import version_findings
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.constraints.shared import NO_CONSTRAINTS, SharedConstraints, applicable
from gather_infer.inference.failures import refused_unreachable
from gather_infer.model import ModelFile
from gather_infer.model.file import STDIN
from gather_infer.model.model_loading import to_model_file, with_constants
from gather_infer.rules import RuleSet
from gather_infer.validate import verdict_diagnostics, verdicts
from gather_infer.validate.contract_builder import contract

if TYPE_CHECKING:
    from gather_infer.contract import Contract
    from gather_infer.model.model_loading import ModelLike

Illustrate: TypeAlias = "Callable[[Inference, Contract, Sequence[Diagnostic]], str]"
"""Makes the illustrations of a result from the inference, the contract and the findings, as JSON."""


def check(
    model: ModelLike,
    *,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    ranges: Mapping[str, object] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    checks: Sequence[CheckSet] = (),
    initializers_as_constants: bool = False,
) -> CheckResult:
    """Check a model statically for problems that would break deployment.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     constraints on the dims of the inputs, as for `infer`
    inputs   types of inputs that the model does not declare fully, as for `infer`
    ranges   bounds of the elements of integer inputs, as for `infer`: `["input_ids=0..30521"]`
    rules    additional rule sets, as for `infer`
    checks   additional check sets; their findings have the code GI601
    initializers_as_constants   as for `infer`

    Raises ModelReadError if the model cannot be read, and UsageError as `infer` does.

        >>> result = gather_infer.check("fixtures/bert-torchscript.onnx", dims=["seq=1..512"])
        >>> print(result.errors[0].code, result.errors[0].message)
        GI501 seq=1..512 is declared, which reaches outside seq <= 64: the model fails there
    """
    file = to_model_file(model)
    if initializers_as_constants:
        file = with_constants(file)
    return _check(file, checks, rules, None, dims=dims, inputs=inputs, ranges=ranges)


def _check(
    file: ModelFile,
    checks: Sequence[CheckSet],
    rules: Sequence[RuleSet],
    illustrate: Illustrate | None,
    *,
    dims: Mapping[str, object] | Iterable[str],
    inputs: Mapping[str, str] | Iterable[str],
    ranges: Mapping[str, object] | Iterable[str],
) -> CheckResult:
    """The result of `check` for a file, with illustrations if there is a function that makes them."""
    started = time.monotonic()
    weights = [*external_data_findings(file), *nonfinite_findings(file)]
    inference = infer(file, dims=dims, inputs=inputs, ranges=ranges, rules=rules)
    access_verdicts = verdicts(inference, rules=rules)
    derived_contract = contract(inference, found=access_verdicts, rules=rules)
    locations = NodeLocations(inference)
    found = [
        *weights,
        *_inference_findings(inference),
        *verdict_diagnostics(access_verdicts, inference),
        *_contract_violations(derived_contract.diagnostics, inference, locations),
        *overspecialized_findings(inference, locations),
        *version_findings(file.proto),
        *operator_findings(file.proto, inference.diagnostics, locations),
        *declared_type_findings(inference, locations),
        *shared_name_findings(inference, locations),
        *overflow_findings(inference, locations),
        *large_tensor_findings(inference, locations),
        *dependent_row_findings(inference, locations),
        *user_findings(checks, inference, locations),
    ]
    if not file.foreign_format:
        found += node_name_findings(locations)
        found += element_type_findings(locations)
        found += divisor_findings(inference, locations)
        found += refused_unreachable(inference)
    if not any(d.code == "GI102" for d in found):
        found += order_findings(locations)
    if not file.foreign_format and not any(d.severity is Severity.ERROR or d.code == "GI116" for d in found):
        locations.release()  # onnx.checker needs as much memory
        found += _not_reported(checker_findings(file, locations), found)
    findings = ordered(found)
    return CheckResult(
        file.name,
        findings,
        Counter(str(verdict.kind) for verdict in access_verdicts),
        tuple((line.text, ", ".join(line.nodes)) for line in derived_contract.contract.ordinary_lines),
        seconds=time.monotonic() - started,
        illustrations="" if illustrate is None else illustrate(inference, derived_contract.contract, findings),
    )


def check_file(
    path: str,
    constraints: SharedConstraints,
    defaults: SharedConstraints = NO_CONSTRAINTS,
    *,
    checks: Sequence[CheckSet] = (),
    opener: Callable[[str], ModelFile] = to_model_file,
    is_alone: bool = False,
    illustrate: Illustrate | None = None,
) -> CheckResult:
    """Check the file at `path`; a file that cannot be read gets a finding instead of an exception.

    constraints   given by the caller for all files. Each file uses those that name one of its inputs or input dims; a
                  contradiction becomes a finding
    defaults      constraints of the configuration, used in the same way
    checks        additional check sets, as for `check`
    opener        opens the model
    is_alone      no other file is checked: unknown names and contradictions in `constraints` raise UsageError
    illustrate    makes the `illustrations` of the result
    """
    started = time.monotonic()
    unused: tuple[str, ...] = ()
    name = "<stdin>" if path == STDIN else path
    try:
        file = opener(path)
        if constraints.constants:
            file = with_constants(file)
        if not is_alone:
            constraints, unused = applicable(file, constraints)
        constraints += applicable(file, defaults)[0]
        result = _check(
            file,
            checks,
            constraints.rules,
            illustrate,
            dims=constraints.dims,
            inputs=constraints.inputs,
            ranges=constraints.ranges,
        )
    except ModelReadError as error:
        text = str(error).removeprefix(f"{name}: ").removeprefix(f"{Path(path)}: ")  # a Path drops a final slash
        return CheckResult(name, (diagnostic(UNREADABLE, text),), seconds=time.monotonic() - started)
    except UsageError as error:
        if is_alone:
            raise
        return CheckResult(name, (diagnostic(CONTRADICTED, str(error)),), seconds=time.monotonic() - started)
    return replace(result, model=name, unused=unused, seconds=time.monotonic() - started)


def _inference_findings(inference: Inference) -> Iterator[Diagnostic]:
    """The findings of the inference, with severities for deployment.

    No runtime relies on the output shapes that a subgraph declares, so GI202 in a subgraph is a note. Findings about
    unknown standard operators and missing data are left out: other checks report them in more detail.
    """
    for finding in inference.diagnostics:
        where = finding.location
        if finding.code == "GI202" and where.graph and finding.severity is Severity.WARNING:
            yield replace(finding, severity=Severity.NOTE)
        elif finding.code != "GI112" and not is_unknown_onnx_operator(finding):
            yield finding


def _contract_violations(
    diagnostics: Iterable[Diagnostic], inference: Inference, locations: NodeLocations
) -> Iterator[Diagnostic]:
    """The GI501 findings among `diagnostics`, each located at the node that requires the violated line, if known."""
    at = [access.node for access in inference.accesses]
    at += [constraint.node for constraint in inference.constraints]
    at += [demand.node for demand in inference.implied_constraints]
    nodes = {f"node {place}": place for place in at}
    for finding in diagnostics:
        if finding.code == "GI501":
            node = nodes.get(finding.location.graph)
            where = None if node is None else locations.location(node.graph, node.position)
            yield finding if where is None else replace(finding, location=where)


def _not_reported(findings: Iterable[Diagnostic], reported: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """The `findings` of onnx.checker that do not repeat a problem in `reported`.

    For onnx.checker, nodes out of order (GI114) read undefined names (GI103).
    """
    codes = {d.code for d in reported}
    for finding in findings:
        if not (finding.code == "GI103" and "GI114" in codes) and not (finding.code == "GI113" and "GI113" in codes):
            yield finding
