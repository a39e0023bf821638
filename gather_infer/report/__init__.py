"""Output formats of the results. The package reads result objects, but accesses neither files nor terminals.

Names are resolved on first use, so that the summary of a file does not import the inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.report.contract import contract_json, contract_text
    from gather_infer.report.convert import conversion_json, conversion_text, remaining_diagnostics
    from gather_infer.report.cost import cost_json, cost_text
    from gather_infer.report.editing import edit_json, edit_text
    from gather_infer.report.explain import code_json, code_text, explanation_json, explanation_text
    from gather_infer.report.freeze import freeze_json, freeze_text
    from gather_infer.report.guard import guard_source
    from gather_infer.report.interface import interface_text
    from gather_infer.report.json import SCHEMA, inference_json, summaries_json, summary_json
    from gather_infer.report.operators import operator_text, operators_json, operators_markdown, operators_text
    from gather_infer.report.output_formats import (
        PLAIN,
        ContractReport,
        ConversionReport,
        CostReport,
        EditReport,
        ExplanationReport,
        InferenceReport,
        OutputFormat,
        RewriteReport,
        View,
    )
    from gather_infer.report.requests import request_schema
    from gather_infer.report.rewriting import rewriting_json, rewriting_text
    from gather_infer.report.summary import ExternalFile, ModelSummary, summarize
    from gather_infer.report.text import inference_text, summaries_text
    from gather_infer.report.verification import verification_json, verification_members, verification_text

_HOME = {
    "contract": ("contract_json", "contract_text"),
    "convert": ("conversion_json", "conversion_text", "remaining_diagnostics"),
    "cost": ("cost_json", "cost_text"),
    "editing": ("edit_json", "edit_text"),
    "explain": ("code_json", "code_text", "explanation_json", "explanation_text"),
    "output_formats": (
        "PLAIN",
        "ContractReport",
        "ConversionReport",
        "CostReport",
        "EditReport",
        "ExplanationReport",
        "RewriteReport",
        "OutputFormat",
        "InferenceReport",
        "View",
    ),
    "freeze": ("freeze_json", "freeze_text"),
    "guard": ("guard_source",),
    "interface": ("interface_text",),
    "json": ("SCHEMA", "inference_json", "summaries_json", "summary_json"),
    "operators": ("operator_text", "operators_json", "operators_markdown", "operators_text"),
    "requests": ("request_schema",),
    "rewriting": ("rewriting_json", "rewriting_text"),
    "summary": ("ExternalFile", "ModelSummary", "summarize"),
    "text": ("inference_text", "summaries_text"),
    "verification": ("verification_json", "verification_members", "verification_text"),
}

__all__ = [
    "PLAIN",
    "SCHEMA",
    "ContractReport",
    "ConversionReport",
    "CostReport",
    "EditReport",
    "ExplanationReport",
    "ExternalFile",
    "InferenceReport",
    "ModelSummary",
    "OutputFormat",
    "RewriteReport",
    "View",
    "code_json",
    "code_text",
    "contract_json",
    "contract_text",
    "conversion_json",
    "conversion_text",
    "cost_json",
    "cost_text",
    "edit_json",
    "edit_text",
    "explanation_json",
    "explanation_text",
    "freeze_json",
    "freeze_text",
    "guard_source",
    "inference_json",
    "inference_text",
    "interface_text",
    "operator_text",
    "operators_json",
    "operators_markdown",
    "operators_text",
    "remaining_diagnostics",
    "request_schema",
    "rewriting_json",
    "rewriting_text",
    "summaries_json",
    "summaries_text",
    "summarize",
    "summary_json",
    "verification_json",
    "verification_members",
    "verification_text",
]

__getattr__ = lazy(__name__, _HOME)
