"""The forms of results: what kinds of results there are, which forms each has, and what prints it.

`--format` is read off the tables before anything is computed. So they name functions, imported on first use, and
importing this module costs next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gather_infer.diagnostic import Severity

if TYPE_CHECKING:
    from gather_infer.catalog.coverage import Operator
    from gather_infer.checks.result import CheckResult
    from gather_infer.contract import Contract
    from gather_infer.cost.result import Cost
    from gather_infer.diagnostic import Diagnostic
    from gather_infer.explanation.chain import Explanation, SymbolExplanation
    from gather_infer.explanation.faults import Aftermath
    from gather_infer.explanation.nodes import WalkedNode
    from gather_infer.inference.interface import Interface
    from gather_infer.inference.result import Inference, TensorRow
    from gather_infer.openvino import ConversionResult
    from gather_infer.passes import FreezeResult, OptimizeResult
    from gather_infer.report.summary import ModelSummary, Unreadable
    from gather_infer.report.totals import InferencesReport
    from gather_infer.validate.verdict import Verdict
    from gather_infer.verification.result import Verification

R = TypeVar("R")


class Form(Enum):
    """A form of results, with the name that `--format` has for it."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


@dataclass(frozen=True, slots=True)
class View:
    """How a text is looked at; the other forms are the same for everyone.

    verbose   all that was found
    width     characters per line of tables at most, None for no limit
    seconds   how long the run took, None prints no time
    """

    verbose: bool = False
    width: int | None = None
    seconds: float | None = None


PLAIN = View()


@dataclass(frozen=True, slots=True)
class ResultKind(Generic[R]):
    """A kind of result.

    forms   `module:function` of this room by form, the usual form first. The function of TEXT takes the result and a
            View, every other the result alone; it returns lines, or an object of JSON
    """

    forms: Mapping[Form, str]

    def lines(self, form: Form, result: R, view: View = PLAIN) -> list[str]:
        """`result` in one of the `forms`."""
        module, _, function = self.forms[form].partition(":")
        report = getattr(import_module(f"gather_infer.report.{module}"), function)
        found: Any = report(result, view) if form is Form.TEXT else report(result)
        return [json.dumps(found, indent=1, allow_nan=False)] if isinstance(found, dict) else list(found)


def common_forms(*kinds: ResultKind[Any]) -> list[Form]:
    """The forms that all of the kinds have, in the order of the first."""
    return [form for form in kinds[0].forms if all(form in kind.forms for kind in kinds)]


@dataclass(frozen=True, slots=True)
class InferenceReport:
    """A run of the inference, and how much of it is told.

    everything    all rows of every list
    constraints   all that validity implies about the symbols; else a few of what it demands of the inputs
    interface     of the model that is written; None when none is
    verdicts      of the accesses; empty where none were asked for
    judged        what the verdicts come to, as findings
    aftermath     what is not known because something is wrong; None where nobody looked
    nodes         of the model, in those forms that list them
    floats        the elements of float tensors too, in those forms that have elements
    """

    inference: Inference
    summary: ModelSummary
    everything: bool = False
    constraints: bool = False
    interface: Interface | None = None
    verdicts: Sequence[Verdict] = ()
    judged: Sequence[Diagnostic] = ()
    aftermath: Aftermath | None = None
    nodes: Sequence[WalkedNode] = ()
    floats: bool = False

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Those of the run, and what the verdicts come to."""
        return (*self.inference.diagnostics, *self.judged)


@dataclass(frozen=True, slots=True)
class TensorsReport:
    """Tensors of a model, of `total` that it has; `model` is what the file is called."""

    rows: Sequence[TensorRow]
    total: int
    model: str


@dataclass(frozen=True, slots=True)
class ExplanationReport:
    """An explanation; `model` is what the file is called."""

    explanation: Explanation
    model: str


@dataclass(frozen=True, slots=True)
class ExplanationsReport:
    """Explanations of tensors and symbols; of `more` there is none, though they were asked for."""

    found: Sequence[Explanation | SymbolExplanation]
    more: int = 0


@dataclass(frozen=True, slots=True)
class RewriteReport:
    """A fold or an optimisation; `edits` tells what would be edited, too.

    verification   of the new model, None when none was asked for
    """

    result: OptimizeResult
    edits: bool = False
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """A conversion; `edits` tells what would be edited, too.

    verification   of the new model, None when none was asked for
    """

    result: ConversionResult
    edits: bool = False
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class FreezeReport:
    """A freeze.

    verification   of the new model, None when none was asked for
    """

    result: FreezeResult
    verification: Verification | None = None


@dataclass(frozen=True, slots=True)
class ContractReport:
    """A contract, and what came up while it was made.

    file   what the model is called where it was read; the contract has its name without the folder, because it travels
    """

    contract: Contract
    diagnostics: Sequence[Diagnostic]
    file: str = ""


@dataclass(frozen=True, slots=True)
class FileReport:
    """The checks of one file, as soon as they are there.

    is_alone   no other file is checked
    fail_on    findings that weigh less do not fail the run
    """

    result: CheckResult
    is_alone: bool = True
    fail_on: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The checks of all files, in the order in which they were named.

    fail_on    findings that weigh less do not fail the run
    exit_code  of the run
    accepted   findings that the baseline has
    outdated   entries of the baseline for which nothing was found any more
    statistics  how often each code was found is told too, in those forms that have it
    """

    results: Sequence[CheckResult]
    fail_on: Severity = Severity.ERROR
    exit_code: int = 0
    accepted: int = 0
    outdated: int = 0
    statistics: bool = False


@dataclass(frozen=True, slots=True)
class CostReport:
    """What a model costs, and how it is told.

    by_node     a row per node in place of one per operator
    everything  rows of what takes no multiply-adds too
    """

    cost: Cost
    by_node: bool = False
    everything: bool = False


INFERENCE: ResultKind[InferenceReport] = ResultKind(
    {Form.TEXT: "text:inference_text", Form.JSON: "json:inference_json", Form.JSONL: "json:inference_jsonl"},
)
INFERRED: ResultKind[InferenceReport] = ResultKind(
    {Form.TEXT: "many:inferred_text", Form.JSONL: "json:inference_jsonl"},
)
"""Told model by model where there are several, in the forms that can be; what is left for the end is in INFERENCES."""
INFERENCES: ResultKind[InferencesReport] = ResultKind(
    {Form.TEXT: "many:inferences_text", Form.JSON: "json:inferences_json", Form.JSONL: "json:inferences_jsonl"},
)
SUMMARIES: ResultKind[Sequence[ModelSummary | Unreadable]] = ResultKind(
    {Form.TEXT: "text:summaries_text", Form.JSON: "json:summaries_json", Form.JSONL: "json:summaries_jsonl"},
)
TENSORS: ResultKind[TensorsReport] = ResultKind(
    {Form.TEXT: "tensors:tensors_text", Form.JSON: "tensors:tensors_json"},
)
EXPLANATIONS: ResultKind[ExplanationsReport] = ResultKind(
    {Form.TEXT: "explain:explanations_text", Form.JSON: "explain:explanations_json"},
)
COST: ResultKind[CostReport] = ResultKind(
    {Form.TEXT: "cost:cost_text", Form.JSON: "cost:cost_json"},
)
CODE: ResultKind[str] = ResultKind(
    {Form.TEXT: "explain:code_text", Form.JSON: "explain:code_json"},
)
OPERATORS: ResultKind[Sequence[Operator]] = ResultKind(
    {Form.TEXT: "operators:operators_text", Form.JSON: "operators:operators_json"},
)
OPERATOR: ResultKind[Sequence[Operator]] = ResultKind(
    {Form.TEXT: "operators:operator_text", Form.JSON: "operators:operators_json"},
)
REWRITING: ResultKind[RewriteReport] = ResultKind(
    {Form.TEXT: "rewriting:rewriting_text", Form.JSON: "rewriting:rewriting_json"},
)
VERIFICATION: ResultKind[Verification] = ResultKind(
    {Form.TEXT: "verification:verification_text", Form.JSON: "verification:verification_json"},
)
FREEZE: ResultKind[FreezeReport] = ResultKind(
    {Form.TEXT: "freeze:freeze_text", Form.JSON: "freeze:freeze_json"},
)
CONTRACT: ResultKind[ContractReport] = ResultKind(
    {Form.TEXT: "contract:contract_text", Form.JSON: "contract:contract_json"},
)
CONVERSION: ResultKind[ConversionReport] = ResultKind(
    {Form.TEXT: "convert:conversion_text", Form.JSON: "convert:conversion_json"},
)
CHECK: ResultKind[FileReport] = ResultKind(
    {
        Form.TEXT: "checks.text:check_text",
        Form.JSONL: "checks.json:check_jsonl",
        Form.GITHUB: "checks.github:check_github",
    },
)
"""Told file by file, in the forms that can be; what is left for the end is in CHECKS."""
CHECKS: ResultKind[CheckReport] = ResultKind(
    {
        Form.TEXT: "checks.text:checks_text",
        Form.JSON: "checks.json:checks_json",
        Form.JSONL: "checks.json:checks_jsonl",
        Form.SARIF: "checks.sarif:checks_sarif",
        Form.JUNIT: "checks.junit:checks_junit",
        Form.GITHUB: "checks.github:checks_github",
    },
)
