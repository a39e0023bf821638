"""Symbolic shape and type inference, constant folding and Gather rewriting for ONNX models.

    >>> import gather_infer
    >>> inference = gather_infer.infer("model.onnx", dims=["seq=1..512"])
    >>> print(inference["last_hidden"])
    float32[batch, seq, 64]

This module lists every public name. Names are imported on first use, so importing the package is cheap.
"""

from __future__ import annotations

from gather_infer.lazy import lazy

TYPE_CHECKING = False  # `typing` takes longer to import than the rest, and an interrupt here would print a traceback
if TYPE_CHECKING:
    from gather_infer import shape_inference, symbolic, testing, validate, verification
    from gather_infer.checks import CheckResult, CheckSet, Problem, check, check_many
    from gather_infer.contract import Contract, Violation
    from gather_infer.cost import Cost, CostCurve
    from gather_infer.diagnostic import Diagnostic, Location, Severity
    from gather_infer.editing import ComposeResult, EditResult, RenameResult, compose, extract, outputs, rename
    from gather_infer.equality import Certificate, Difference, DiffVerdict, diff
    from gather_infer.errors import (
        CertificateRefused,
        ContractViolated,
        ConversionRefused,
        EditRefused,
        EmissionRefused,
        GatherInferError,
        ModelReadError,
        ModelStructureError,
        ModelWriteError,
        SpecViolation,
        UnknownName,
        UsageError,
    )
    from gather_infer.explanation import Explainer, Explanation, SymbolExplanation, explain
    from gather_infer.inference import Access, Inference, TensorRow, infer
    from gather_infer.many import ModelRun, contract_many, convert_many, cost_many, infer_many, optimize_many
    from gather_infer.model import ModelFile, open_model
    from gather_infer.openvino import ConversionResult, convert
    from gather_infer.pages import Page, page
    from gather_infer.passes import FreezeResult, Match, OptimizeResult, Rewrite, RewriteSet, fold, freeze, optimize
    from gather_infer.provenance import (
        AxisFactor,
        AxisOrigin,
        AxisProvenance,
        Independence,
        IndependenceVerdict,
        OutputIndependence,
        axis_provenance,
        independence,
    )
    from gather_infer.rules import OpCall, RuleSet
    from gather_infer.serving import Emission, emit
    from gather_infer.symbolic import Dim, Expr, parse_dim, symbol
    from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor, ValueRange
    from gather_infer.unfreezing import RowCheck, UnfreezeResult, unfreeze
    from gather_infer.user_code import Extension, load_extension, load_extensions
    from gather_infer.validate import Verdict, verdicts
    from gather_infer.validate.contract_builder import ContractResult, contract_of

__version__ = "0.1.0"

_HOME = {
    "checks": ("CheckResult", "CheckSet", "Problem", "check", "check_many"),
    "contract": ("Contract", "Violation"),
    "cost": ("Cost", "CostCurve"),
    "diagnostic": ("Diagnostic", "Location", "Severity"),
    "editing": ("ComposeResult", "EditResult", "RenameResult", "compose", "extract", "outputs", "rename"),
    "equality": ("Certificate", "DiffVerdict", "Difference", "diff"),
    "errors": (
        "CertificateRefused", "ContractViolated", "ConversionRefused", "EditRefused", "EmissionRefused",
        "GatherInferError", "ModelReadError", "ModelStructureError", "ModelWriteError", "SpecViolation", "UnknownName",
        "UsageError",
    ),
    "explanation": ("Explainer", "Explanation", "SymbolExplanation", "explain"),
    "many": ("ModelRun", "contract_many", "convert_many", "cost_many", "infer_many", "optimize_many"),
    "inference": ("Access", "Inference", "TensorRow", "infer"),
    "model": ("ModelFile", "open_model"),
    "openvino": ("ConversionResult", "convert"),
    "pages": ("Page", "page"),
    "passes": ("FreezeResult", "OptimizeResult", "Rewrite", "RewriteSet", "Match", "fold", "freeze", "optimize"),
    "provenance": (
        "AxisFactor", "AxisOrigin", "AxisProvenance", "Independence", "IndependenceVerdict", "OutputIndependence",
        "axis_provenance", "independence",
    ),
    "rules": ("OpCall", "RuleSet"),
    "serving": ("Emission", "emit"),
    "symbolic": ("Dim", "Expr", "parse_dim", "symbol"),
    "tensor": ("DType", "OptionalType", "SequenceType", "ValueRange", "SymbolicTensor"),
    "unfreezing": ("RowCheck", "UnfreezeResult", "unfreeze"),
    "user_code": ("Extension", "load_extension", "load_extensions"),
    "validate": ("Verdict", "verdicts"),
    "validate.contract_builder": ("ContractResult", "contract_of"),
}  # fmt: skip

__all__ = [
    "Access",
    "AxisFactor",
    "AxisOrigin",
    "AxisProvenance",
    "Certificate",
    "CertificateRefused",
    "CheckResult",
    "CheckSet",
    "ComposeResult",
    "Contract",
    "ContractResult",
    "ContractViolated",
    "ConversionRefused",
    "ConversionResult",
    "Cost",
    "CostCurve",
    "DType",
    "Diagnostic",
    "DiffVerdict",
    "Difference",
    "Dim",
    "EditRefused",
    "EditResult",
    "Emission",
    "EmissionRefused",
    "Explainer",
    "Explanation",
    "Expr",
    "Extension",
    "FreezeResult",
    "GatherInferError",
    "Independence",
    "IndependenceVerdict",
    "Inference",
    "Location",
    "Match",
    "ModelFile",
    "ModelReadError",
    "ModelRun",
    "ModelStructureError",
    "ModelWriteError",
    "OpCall",
    "OptimizeResult",
    "OptionalType",
    "OutputIndependence",
    "Page",
    "Problem",
    "RenameResult",
    "Rewrite",
    "RewriteSet",
    "RowCheck",
    "RuleSet",
    "SequenceType",
    "Severity",
    "SpecViolation",
    "SymbolExplanation",
    "SymbolicTensor",
    "TensorRow",
    "UnfreezeResult",
    "UnknownName",
    "UsageError",
    "ValueRange",
    "Verdict",
    "Violation",
    "axis_provenance",
    "check",
    "check_many",
    "compose",
    "contract_many",
    "contract_of",
    "convert",
    "convert_many",
    "cost_many",
    "diff",
    "emit",
    "explain",
    "extract",
    "fold",
    "freeze",
    "independence",
    "infer",
    "infer_many",
    "load_extension",
    "load_extensions",
    "open_model",
    "optimize",
    "optimize_many",
    "outputs",
    "page",
    "parse_dim",
    "rename",
    "shape_inference",
    "symbol",
    "symbolic",
    "testing",
    "unfreeze",
    "validate",
    "verdicts",
    "verification",
]

_MODULES = ("shape_inference", "symbolic", "testing", "validate", "verification")
"""Modules that are part of the API, and usable after `import gather_infer` alone."""

__getattr__ = lazy(__name__, _HOME, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
