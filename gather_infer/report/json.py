"""Results as JSON; docs/json.md documents the schema, and each incompatible change increments `SCHEMA`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from gather_infer.diagnostic import Diagnostic, Location
from gather_infer.symbolic import Dim, Interval
from gather_infer.tensor import MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value
from gather_infer.trail import Assumption, Cause, Constraint

if TYPE_CHECKING:
    from gather_infer.explanation.nodes import NodeRecord
    from gather_infer.explanation.root_cause import RootCauses
    from gather_infer.inference.constraints.persisted import DimConstraint
    from gather_infer.inference.interface_types import Interface
    from gather_infer.inference.result import TrustedAnnotation
    from gather_infer.node_ids import GraphPath
    from gather_infer.report.output_formats import InferenceReport
    from gather_infer.report.summary import ModelSummary, Unreadable
    from gather_infer.report.totals import TotalsReport
    from gather_infer.validate.verdict import Verdict

SCHEMA = 2

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def inference_json(report: InferenceReport) -> dict[str, Json]:
    """The result of an inference as a JSON object."""
    inference, summary = report.inference, report.summary
    facts = inference.scope("")
    coverage = inference.coverage()
    verdicts = {verdict.access.key: verdict for verdict in report.verdicts}

    def named(name: str, value: Value | None) -> Json:
        return {"name": name, **type_json(value, floats=report.floats)}

    def tensor(path: GraphPath, name: str, value: Value) -> Json:
        producer = report.producers.get((path, name))
        return {**type_json(value, floats=report.floats), "producer": None if producer is None else str(producer)}

    return {
        "schema": SCHEMA,
        "model": {
            "name": summary.name,
            "bytes": summary.nbytes or None,
            "format": summary.file_format or "ONNX",
            "ir_version": None if summary.file_format else summary.ir_version,
            "producer": summary.producer,
            "opsets": dict(summary.opsets),
            "nodes": summary.nodes,
        },
        "inputs": [named(name, facts.get(name)) for name in inference.inputs],
        "outputs": [named(name, facts.get(name)) for name in inference.outputs],
        "nodes": [node_json(node, inference.labels[node.path.graph]) for node in report.nodes],
        "tensors": {
            inference.labels[path]: {name: tensor(path, name, value) for name, value in values.items()}
            for path, values in inference.scopes.items()
        },
        "accesses": [
            {
                "node": str(a.node),
                "op_type": a.op_type,
                "domain": a.domain,
                "version": a.version,
                "axis": a.axis,
                "component": None if a.addressing is None else a.addressing.column,
                "data": named(a.data, a.data_type),
                "indices": named(a.indices, a.indices_type),
                "result": named(a.result, a.result_type),
                "verdict": verdict_json(verdicts[a.key]) if a.key in verdicts else None,
            }
            for a in inference.accesses
        ],
        "constraints": [constraint_json(c) for c in inference.constraints],
        "assumptions": [assumption_json(a) for a in inference.assumptions],
        "persisted_constraints": [persisted_constraint_json(s) for s in inference.persisted_constraints],
        "trusted_annotations": [trusted_annotation_json(b) for b in inference.trusted_annotations],
        "causes": {name: cause_json(cause) for name, cause in inference.causes.items()},
        "interface": None if report.interface is None else interface_json(report.interface),
        "diagnostics": [diagnostic_json(d) for d in report.findings],
        "root_causes": None if report.root_causes is None else root_causes_json(report.root_causes),
        "coverage": {
            "tensors": coverage.tensors,
            "typed": coverage.typed,
            "ranked": coverage.ranked,
            "exact": coverage.exact,
        },
    }


def totals_json(report: TotalsReport) -> dict[str, Json]:
    """The results of several models as one JSON object."""
    return {"schema": SCHEMA, "models": [dict(each) for each in report.models]}


def totals_jsonl(report: TotalsReport) -> list[str]:
    """An empty list: the lines of the models contain everything."""
    return []


def unreadable_json(file: Unreadable) -> dict[str, Json]:
    """The JSON object of a model without a report, in place of the report."""
    return {"schema": SCHEMA, "model": {"name": file.name}, "error": file.error}


def node_json(node: NodeRecord, scope: str) -> dict[str, Json]:
    return {
        "node": str(node.path),
        "scope": scope,
        "op_type": node.op_type,
        "domain": node.domain,
        "inputs": [*node.inputs],
        "outputs": [*node.outputs],
    }


def verdict_json(verdict: Verdict) -> dict[str, Json]:
    """The verdict of the bounds check of an access, with its condition."""
    is_conditional = verdict.kind.value == "conditional"
    return {
        "kind": verdict.kind.value,
        "condition": verdict.condition if is_conditional else None,
        "tight": verdict.tight if is_conditional else None,
        "witness": {name: dim_json(size) for name, size in verdict.witness},
        "outside": str(verdict.outside),
        "reason": verdict.reason,
    }


def root_causes_json(root_causes: RootCauses) -> dict[str, Json]:
    """The errors and warnings that leave facts unknown, with the number of tensors and the symbols they affect."""
    return {
        "diagnostics": [diagnostic_json(finding) for finding in root_causes.diagnostics],
        "unknown_tensors": root_causes.unknown_tensors,
        "symbols": [*sorted(root_causes.symbols)],
    }


def summaries_json(summaries: Sequence[ModelSummary | Unreadable]) -> dict[str, Json]:
    """The summary of each file, or the error of a file that cannot be read, as one JSON object."""
    return {"schema": SCHEMA, "models": [_summary_or_error(summary) for summary in summaries]}


def summaries_jsonl(summaries: Sequence[ModelSummary | Unreadable]) -> list[str]:
    """The summary or error of each file, as one line of JSON."""
    return [json.dumps({"schema": SCHEMA, **_summary_or_error(summary)}, allow_nan=False) for summary in summaries]


def _summary_or_error(summary: ModelSummary | Unreadable) -> dict[str, Json]:
    from gather_infer.report.summary import Unreadable  # whose imports a report on one model does not need

    if isinstance(summary, Unreadable):
        return {"name": summary.name, "error": summary.error}
    return summary_json(summary)


def trusted_annotation_json(annotation: TrustedAnnotation) -> dict[str, Json]:
    return {
        "scope": annotation.graph,
        "node": str(annotation.node),
        "name": annotation.value,
        **type_json(annotation.type),
    }


def summary_json(summary: ModelSummary) -> dict[str, Json]:
    """The summary of a model file as a JSON object."""
    return {
        "name": summary.name,
        "bytes": summary.nbytes or None,
        "format": summary.file_format or "ONNX",
        "ir_version": None if summary.file_format else summary.ir_version,
        "producer": summary.producer,
        "opsets": dict(summary.opsets),
        "inputs": [{"name": name, "declared": text} for name, text in summary.inputs],
        "outputs": [{"name": name, "declared": text} for name, text in summary.outputs],
        "nodes": summary.nodes,
        "subgraphs": {"count": summary.subgraphs, "nodes": summary.subgraph_nodes},
        "functions": {"count": summary.functions, "nodes": summary.function_nodes},
        "initializers": {"count": summary.initializers, "bytes": summary.weight_bytes},
        "external_data": [{"location": f.location, "bytes": f.nbytes, "tensors": f.tensors} for f in summary.external],
        "metadata": [key for key, _ in summary.metadata],
        "gathers": _operators(summary.gathers),
        "operators": _operators(summary.operators),
    }


def _operators(operators: Mapping[tuple[str, str], int]) -> list[Json]:
    return [{"domain": domain, "op_type": op, "count": n} for (domain, op), n in sorted(operators.items())]


def persisted_constraint_json(constraint: DimConstraint) -> dict[str, Json]:
    """A persisted constraint on a dim as a JSON object: with bounds, or with the dim that it equals."""
    value = constraint.value
    return {
        "dim": dim_json(constraint.dim),
        "lower": value.lo if isinstance(value, Interval) else None,
        "upper": value.hi if isinstance(value, Interval) else None,
        "equals": None if isinstance(value, Interval) else dim_json(value),
    }


def interface_json(interface: Interface) -> Json:
    """Differences between the interfaces of a written model and of its source, as a JSON object."""
    return {
        "changed": [
            {
                "scope": c.graph,
                "name": c.name,
                "kind": c.kind,
                "before": None if c.before is None else [*c.before],
                "after": [*c.after],
            }
            for c in interface.changed
        ],
        "dynamic_dims": [
            {"name": o.name, "kind": o.kind, "axis": o.axis, "dim": o.dim, "reason": o.reason}
            for o in interface.dynamic_dims
        ],
        "persisted_constraints": [persisted_constraint_json(s) for s in interface.persisted_constraints],
    }


def constraint_json(constraint: Constraint) -> dict[str, Json]:
    return {
        "left": dim_json(constraint.left),
        "relation": constraint.relation,
        "right": dim_json(constraint.right),
        "node": str(constraint.node),
    }


def assumption_json(assumption: Assumption) -> dict[str, Json]:
    return {
        "dim": dim_json(assumption.dim),
        "lower": assumption.lower,
        "upper": assumption.upper,
        "node": str(assumption.node),
        "reason": assumption.reason,
    }


def cause_json(cause: Cause) -> dict[str, Json]:
    return {
        "node": str(cause.node),
        "op_type": cause.op_type,
        "reason": cause.reason,
        "data_dependent": cause.data_dependent,
    }


def diagnostic_json(finding: Diagnostic) -> dict[str, Json]:
    return {
        "severity": str(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "location": _location(finding.location),
        "detail": list(finding.detail),
    }


def _location(location: Location) -> Json:
    return {
        "node": location.graph if location.node is None else str(location.node),
        "op_type": location.op_type,
        "domain": location.domain,
        "version": location.version,
        "value": location.value,
    }


def type_json(value: Value | None, *, floats: bool = True) -> dict[str, Json]:
    """A type as a JSON object; its member `kind` determines the other members.

    floats   False leaves out the elements of a float tensor
    """
    match value:
        case SymbolicTensor():
            is_left_out = not floats and value.dtype is not None and value.dtype.is_float
            return _tensor(value.with_(values=None) if is_left_out else value)
        case SparseTensor():
            return {
                "kind": "sparse",
                "dtype": None if value.dtype is None else str(value.dtype),
                "shape": None if value.shape is None else [dim_json(d) for d in value.shape],
            }
        case SequenceType():
            length = None if value.length is None else dim_json(value.length)
            return {"kind": "sequence", "element": type_json(value.element), "length": length}
        case OptionalType():
            return {"kind": "optional", "element": type_json(value.element), "present": value.present}
        case MapType():
            key = None if value.key is None else str(value.key)
            return {"kind": "map", "key": key, "value": type_json(value.value)}
    return {"kind": "unknown"}


def _tensor(value: SymbolicTensor) -> dict[str, Json]:
    value_range: Json = None
    if value.value_range is not None:
        value_range = [None if end is None else dim_json(end) for end in (value.value_range.lo, value.value_range.hi)]
    return {
        "kind": "tensor",
        "dtype": None if value.dtype is None else str(value.dtype),
        "shape": None if value.shape is None else [dim_json(d) for d in value.shape],
        "values": None if value.values is None else _elements(value.values),
        "value_range": value_range,
    }


def dim_json(dim: Dim) -> int | str:
    """A number, or the text of an expression."""
    return dim if isinstance(dim, int) else str(dim)


def _elements(values: npt.NDArray[np.object_]) -> Json:
    """Nested lists, as deep as the rank of the tensor; a scalar is a single element."""
    if values.ndim == 0:
        return _element(values.item())
    return [_elements(np.asarray(part, dtype=object)) for part in values]


def _element(element: object) -> Json:
    if element is None or isinstance(element, (bool, int)):
        return element
    if isinstance(element, float):
        # JSON has neither infinity nor NaN, and a plain string would mean an expression
        return element if math.isfinite(element) else {"float": str(element)}
    return str(element)
