"""Results as text and JSON; knows the result dataclasses and nothing of files or terminals."""

from gather_infer.report.json import SCHEMA, inference_json, summary_json
from gather_infer.report.summary import ExternalFile, ModelSummary, summarize
from gather_infer.report.text import inference_text, summary_text

__all__ = [
    "SCHEMA",
    "ExternalFile",
    "ModelSummary",
    "inference_json",
    "inference_text",
    "summarize",
    "summary_json",
    "summary_text",
]
