"""Results as text and JSON; knows the result dataclasses and nothing of files or terminals.

Names are resolved on first use: a summary of a file needs nothing of the inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.report.explain import code_json, code_text, explanation_json, explanation_text
    from gather_infer.report.json import SCHEMA, inference_json, summary_json
    from gather_infer.report.operators import operator_text, operators_json, operators_markdown, operators_text
    from gather_infer.report.summary import ExternalFile, ModelSummary, summarize
    from gather_infer.report.text import inference_text, summary_text

_HOME = {
    "explain": ("code_json", "code_text", "explanation_json", "explanation_text"),
    "json": ("SCHEMA", "inference_json", "summary_json"),
    "operators": ("operator_text", "operators_json", "operators_markdown", "operators_text"),
    "summary": ("ExternalFile", "ModelSummary", "summarize"),
    "text": ("inference_text", "summary_text"),
}

__all__ = [
    "SCHEMA",
    "ExternalFile",
    "ModelSummary",
    "code_json",
    "code_text",
    "explanation_json",
    "explanation_text",
    "inference_json",
    "inference_text",
    "operator_text",
    "operators_json",
    "operators_markdown",
    "operators_text",
    "summarize",
    "summary_json",
    "summary_text",
]

__getattr__ = lazy(__name__, _HOME)
