"""Kinds of results, the output formats of each kind, and the functions that print them.

The command line needs these tables to validate `--format` before it computes anything. So they hold names of
functions, which are imported on first use, and this module is cheap to import.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from gather_infer.diagnostic import Severity

if TYPE_CHECKING:
    from gather_infer.catalog.coverage import Operator
    from gather_infer.checks.result import CheckResult
    from gather_infer.contract import Contract
    from gather_infer.contract.interface import ModelInterface
    from gather_infer.cost.curve import CostCurve
    from gather_infer.cost.result import Cost
    from gather_infer.diagnostic import Diagnostic
    from gather_infer.editing.result import EditResult
    from gather_infer.equality.result import Difference
    from gather_infer.explanation.chain import Explanation, SymbolExplanation
    from gather_infer.explanation.nodes import NodeRecord
    from gather_infer.explanation.root_cause import RootCauses
    from gather_infer.inference.interface_types import Interface
    from gather_infer.inference.result import Inference, TensorRow
    from gather_infer.model import ModelFile
    from gather_infer.node_ids import GraphPath, NodePath
    from gather_infer.openvino import ConversionResult
    from gather_infer.passes import FreezeResult, OptimizeResult
    from gather_infer.report.summary import ModelSummary, Unreadable
    from gather_infer.report.totals import TotalsReport
    from gather_infer.rules import RuleSet
    from gather_infer.unfreezing.result import UnfreezeResult
    from gather_infer.validate.verdict import Verdict
    from gather_infer.verification.result import Verification

R = TypeVar("R")


class OutputFormat(Enum):
    """An output format, with its `--format` name."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class View:
    """Options of the text format; the other formats have none.

    verbose   include details
    width     maximum characters of a line, None for no limit
    seconds   duration of the run, None prints no time
    """

    verbose: bool = False
    width: int | None = None
    seconds: float | None = None


PLAIN = View()


@dataclass(frozen=True, slots=True, eq=False)
class ResultKind(Generic[R]):
    """A kind of result and its output formats.

    formats   format -> `module:function` in `gather_infer.report`, for HTML in `gather_infer.pages`, the default format
              first. The function for TEXT takes the result and a View, the others take the result only. It returns
              lines or a JSON object, for HTML the data of the page
    brief     the function for TEXT of one of several results, which are printed as soon as each is complete; "" if the
              command takes one model only
    """

    formats: Mapping[OutputFormat, str]
    brief: str = ""

    def lines(self, output_format: OutputFormat, result: R, view: View = PLAIN) -> list[str]:
        """The lines of `result` in one of the `formats`."""
        if output_format is OutputFormat.HTML:
            return [_page_function(_DOCUMENT)(self._page_data(result))]
        report = _function(self.formats[output_format])
        found: Any = report(result, view) if output_format is OutputFormat.TEXT else report(result)
        if not isinstance(found, dict):
            return list(found)
        indent = None if output_format is OutputFormat.JSONL else 1
        return [json.dumps(found, indent=indent, allow_nan=False)]

    def lines_of_many(self, output_format: OutputFormat, result: R, view: View = PLAIN) -> list[str]:
        """The lines of one of several results: `brief`, or one line of JSON; for HTML the data of the page."""
        if output_format is OutputFormat.TEXT:
            return list(_function(self.brief)(result, view))
        if output_format is OutputFormat.HTML:
            return [json.dumps(self._page_data(result), allow_nan=False)]
        return self.lines(OutputFormat.JSONL, result)

    def _page_data(self, result: R) -> Any:
        return _page_function(self.formats[OutputFormat.HTML])(result)


_DOCUMENT: Final = "command_report:report_document"
"""The function that makes the page from its data."""


def _function(target: str, package: str = "gather_infer.report") -> Any:
    """The function `module:function` of a package."""
    module, _, function = target.partition(":")
    return getattr(import_module(f"{package}.{module}"), function)


def _page_function(target: str) -> Any:
    return _function(target, "gather_infer.pages")


def common_formats(*kinds: ResultKind[Any]) -> list[OutputFormat]:
    """The formats that all `kinds` have, in the order of the first kind."""
    return [output_format for output_format in kinds[0].formats if all(output_format in kind.formats for kind in kinds)]


class InferenceReport(NamedTuple):
    """A run of the inference, with options of the report.

    everything        print all rows of every list
    constraints       print all constraints; else only a few about the inputs
    interface         changes to the interface of the written model; None if no model is written
    verdicts          verdicts of the bounds checks; empty if they were not computed
    verdict_findings  the verdicts as findings
    root_causes       the unknown facts that errors cause; None if they were not computed
    nodes, producers  the nodes, and the node that produces a value, by graph and name; for the formats that list them
    floats            include elements of float tensors, in the formats that have elements
    """

    inference: Inference
    summary: ModelSummary
    everything: bool = False
    constraints: bool = False
    interface: Interface | None = None
    verdicts: Sequence[Verdict] = ()
    verdict_findings: Sequence[Diagnostic] = ()
    root_causes: RootCauses | None = None
    nodes: Sequence[NodeRecord] = ()
    producers: Mapping[tuple[GraphPath, str], NodePath] = MappingProxyType({})
    floats: bool = False

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """The findings of the inference, then the verdicts as findings."""
        return (*self.inference.diagnostics, *self.verdict_findings)


class TensorsReport(NamedTuple):
    """Selected tensors of a model; `total` is the number of all its tensors, `model` the name of the file."""

    rows: Sequence[TensorRow]
    total: int
    model: str


class ExplanationReport(NamedTuple):
    """An explanation; `model` is the name of the file."""

    explanation: Explanation
    model: str


class ExplanationsReport(NamedTuple):
    """Explanations of tensors and symbols; `omitted` is the number of selected tensors that are not explained."""

    explanations: Sequence[Explanation | SymbolExplanation]
    omitted: int = 0


class RewriteReport(NamedTuple):
    """The report on `fold` or `optimize`.

    edits          whether the report lists the edits
    verification   verification of the new model, None if it was not requested
    proof          comparison with the original by proof, None if it was not requested
    by             the command
    """

    result: OptimizeResult
    edits: bool = False
    verification: Verification | None = None
    proof: Difference | None = None
    by: Literal["fold", "optimize"] = "optimize"


class ConversionReport(NamedTuple):
    """The report on `convert`.

    edits          whether the report lists the edits
    verification   verification of the new model, None if it was not requested
    """

    result: ConversionResult
    edits: bool = False
    verification: Verification | None = None


class DiffReport(NamedTuple):
    """The comparison of two models.

    models   the models, for the formats that draw them
    rules    the rule sets of the caller
    """

    difference: Difference
    models: tuple[ModelFile, ModelFile]
    rules: Sequence[RuleSet] = ()


class FreezeReport(NamedTuple):
    """The result of `freeze`.

    verification   verification of the new model, None if it was not requested
    proof          comparison with the original by proof, None if it was not requested
    """

    result: FreezeResult
    verification: Verification | None = None
    proof: Difference | None = None


class UnfreezeReport(NamedTuple):
    """The result of `unfreeze`.

    proof   comparison with the original at the old sizes by proof, None if it was not requested
    like_proof  comparison with the second model at its sizes by proof, None if there is none or it was not requested
    edits   whether to list the edits
    """

    result: UnfreezeResult
    proof: Difference | None = None
    like_proof: Difference | None = None
    edits: bool = False


class EditReport(NamedTuple):
    """The result of `extract`, `outputs`, `rename` or `compose`.

    edits          whether the report lists the edits
    verification   verification of the new model, None if it was not requested
    proof          comparison with the original by proof, None if it was not requested
    """

    result: EditResult
    edits: bool = False
    verification: Verification | None = None
    proof: Difference | None = None


class ContractReport(NamedTuple):
    """A contract, and the diagnostics of its derivation.

    file        path of the model; the contract itself holds the name without the folder, because it may be moved
    interface   what programs for which the contract is emitted need to know; None if it is not emitted
    """

    contract: Contract
    diagnostics: Sequence[Diagnostic]
    file: str = ""
    interface: ModelInterface | None = None


class FileReport(NamedTuple):
    """The result of one checked file, printed as soon as it is complete.

    is_alone   no other file is checked
    fail_on    lowest severity that fails the run
    """

    result: CheckResult
    is_alone: bool = True
    fail_on: Severity = Severity.ERROR


class CheckReport(NamedTuple):
    """The results of all checked files, in the order of the arguments.

    fail_on     lowest severity that fails the run
    exit_code   exit code of the run
    accepted    number of findings that the baseline accepts
    outdated    number of baseline entries without a finding
    statistics  print the number of findings by code, in the formats that have it
    """

    results: Sequence[CheckResult]
    fail_on: Severity = Severity.ERROR
    exit_code: int = 0
    accepted: int = 0
    outdated: int = 0
    statistics: bool = False


class PageReport(NamedTuple):
    """The inference that a page shows, and the verdicts on its accesses."""

    inference: Inference
    verdicts: Sequence[Verdict]


class CostReport(NamedTuple):
    """The cost of a model, with options of the report.

    by_node     print a row for each node instead of each operator
    everything  print all rows of every list, also rows without multiply-adds
    """

    cost: Cost
    by_node: bool = False
    everything: bool = False


INFERENCE: ResultKind[InferenceReport] = ResultKind(
    {
        OutputFormat.TEXT: "text:inference_text",
        OutputFormat.JSON: "json:inference_json",
        OutputFormat.JSONL: "json:inference_json",
    },
    "many:inferred_text",
)
MODELS: ResultKind[TotalsReport] = ResultKind(
    {
        OutputFormat.TEXT: "many:totals_text",
        OutputFormat.JSON: "json:totals_json",
        OutputFormat.JSONL: "json:totals_jsonl",
        OutputFormat.HTML: "command_report:totals_page",
    },
)
"""The end of a report on several models, after `lines_of_many` of each."""
SUMMARIES: ResultKind[Sequence[ModelSummary | Unreadable]] = ResultKind(
    {
        OutputFormat.TEXT: "text:summaries_text",
        OutputFormat.JSON: "json:summaries_json",
        OutputFormat.JSONL: "json:summaries_jsonl",
    },
)
TENSORS: ResultKind[TensorsReport] = ResultKind(
    {OutputFormat.TEXT: "tensors:tensors_text", OutputFormat.JSON: "tensors:tensors_json"},
)
EXPLANATIONS: ResultKind[ExplanationsReport] = ResultKind(
    {OutputFormat.TEXT: "explain:explanations_text", OutputFormat.JSON: "explain:explanations_json"},
)
COST: ResultKind[CostReport] = ResultKind(
    {
        OutputFormat.TEXT: "cost:cost_text",
        OutputFormat.JSON: "cost:cost_json",
        OutputFormat.JSONL: "cost:cost_json",
    },
    "many:costed_text",
)
COST_CURVE: ResultKind[CostCurve] = ResultKind(
    {OutputFormat.TEXT: "cost_plot:curve_text", OutputFormat.JSON: "cost_plot:curve_json"},
)
PAGE: ResultKind[PageReport] = ResultKind({OutputFormat.TEXT: "page:page_text"})
"""The command prints a summary; the page itself is a file."""
CODE: ResultKind[str] = ResultKind(
    {OutputFormat.TEXT: "explain:code_text", OutputFormat.JSON: "explain:code_json"},
)
OPERATORS: ResultKind[Sequence[Operator]] = ResultKind(
    {OutputFormat.TEXT: "operators:operators_text", OutputFormat.JSON: "operators:operators_json"},
)
OPERATOR: ResultKind[Sequence[Operator]] = ResultKind(
    {OutputFormat.TEXT: "operators:operator_text", OutputFormat.JSON: "operators:operators_json"},
)
REWRITING: ResultKind[RewriteReport] = ResultKind(
    {
        OutputFormat.TEXT: "rewriting:rewriting_text",
        OutputFormat.JSON: "rewriting:rewriting_json",
        OutputFormat.JSONL: "rewriting:rewriting_json",
        OutputFormat.HTML: "change_report:rewriting_page",
    },
    "many:rewritten_text",
)
VERIFICATION: ResultKind[Verification] = ResultKind(
    {OutputFormat.TEXT: "verification:verification_text", OutputFormat.JSON: "verification:verification_json"},
)
DIFF: ResultKind[DiffReport] = ResultKind(
    {
        OutputFormat.TEXT: "diff:diff_text",
        OutputFormat.JSON: "diff:diff_json",
        OutputFormat.HTML: "diff_report:diff_page",
    },
)
FREEZE: ResultKind[FreezeReport] = ResultKind(
    {OutputFormat.TEXT: "freeze:freeze_text", OutputFormat.JSON: "freeze:freeze_json"},
)
UNFREEZE: ResultKind[UnfreezeReport] = ResultKind(
    {OutputFormat.TEXT: "unfreeze:unfreeze_text", OutputFormat.JSON: "unfreeze:unfreeze_json"},
)
EDIT: ResultKind[EditReport] = ResultKind(
    {OutputFormat.TEXT: "editing:edit_text", OutputFormat.JSON: "editing:edit_json"},
)
CONTRACT: ResultKind[ContractReport] = ResultKind(
    {
        OutputFormat.TEXT: "contract:contract_text",
        OutputFormat.JSON: "contract:contract_json",
        OutputFormat.JSONL: "contract:contract_json",
    },
    "many:contract_text",
)
CONVERSION: ResultKind[ConversionReport] = ResultKind(
    {
        OutputFormat.TEXT: "convert:conversion_text",
        OutputFormat.JSON: "convert:conversion_json",
        OutputFormat.JSONL: "convert:conversion_json",
        OutputFormat.HTML: "change_report:conversion_page",
    },
    "many:converted_text",
)
CHECK: ResultKind[FileReport] = ResultKind(
    {
        OutputFormat.TEXT: "checks.text:check_text",
        OutputFormat.JSONL: "checks.json:check_jsonl",
        OutputFormat.GITHUB: "checks.github:check_github",
    },
)
"""One of several files, in the formats that can print each file immediately; CHECKS prints the end."""
CHECKS: ResultKind[CheckReport] = ResultKind(
    {
        OutputFormat.TEXT: "checks.text:checks_text",
        OutputFormat.JSON: "checks.json:checks_json",
        OutputFormat.JSONL: "checks.json:checks_jsonl",
        OutputFormat.SARIF: "checks.sarif:checks_sarif",
        OutputFormat.JUNIT: "checks.junit:checks_junit",
        OutputFormat.GITHUB: "checks.github:checks_github",
        OutputFormat.HTML: "check_report:checks_page",
    },
)
