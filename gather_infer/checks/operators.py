"""Operators that are not in the imported opset of a standard domain (ai.onnx, ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from onnx import ModelProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import close_match
from gather_infer.inference.inferred_graphs import position_of
from gather_infer.inference.proto.releases import NEWEST_OPSET
from gather_infer.inference.proto.schema import schema_of, versions_of_operators
from gather_infer.ir import Node

DOMAINS = frozenset({"", "ai.onnx.ml"})


def is_unknown_onnx_operator(finding: Diagnostic) -> bool:
    """Whether a finding of the inference reports an unknown operator of a standard domain."""
    return finding.code == "GI105" and finding.location.domain in DOMAINS


def operator_findings(
    model: ModelProto, diagnostics: Iterable[Diagnostic], locations: NodeLocations
) -> Iterator[Diagnostic]:
    """A finding for each operator of a standard domain that the imported opset lacks, at the first node that uses it.

    diagnostics   findings of the inference. An operator that the inference knows and the opset lacks gets a warning
                  only, because some runtime implements it: LayerNormalization before opset 17
    """
    unknown = {(d.location.domain, d.location.op_type) for d in diagnostics if is_unknown_onnx_operator(d)}
    functions = {(plain_domain(f.domain), f.name) for f in model.functions}
    used: dict[tuple[str, str, int], list[Node]] = {}
    for graph in locations.graphs.graphs.values():
        for node in graph.file_nodes:
            used.setdefault((node.domain, node.op_type, node.version), []).append(node)
    for (domain, op_type, version), nodes in used.items():
        if domain not in DOMAINS or not 1 <= version <= _newest(domain) or (domain, op_type) in functions:
            continue
        reason = _unavailable_reason(domain, op_type, version)
        if reason is None:
            continue
        known = not reason.startswith("deprecated") and (domain, op_type) not in unknown
        hint = close_match(op_type, _names(domain, version)) if not reason else ""
        more = () if len(nodes) == 1 else (f"and {len(nodes) - 1} more node{'s' * (len(nodes) > 2)}",)
        runtime_note = ("onnxruntime may run it, other runtimes do not",) if known else ()
        message = f"opset {version} of {domain or 'ai.onnx'} has no {op_type}{': ' if reason else ''}{reason}{hint}"
        severity = Severity.WARNING if known else Severity.ERROR
        where = locations.location(nodes[0].graph.path, position_of(nodes[0]))
        yield diagnostic("GI116", message, where, detail=(*runtime_note, *more), severity=severity)


def _newest(domain: str) -> int:
    return 1 << 30 if domain else NEWEST_OPSET


@cache
def _names(domain: str, version: int) -> list[str]:
    """The names of the operators of `domain` at opset `version`, sorted, without deprecated ones."""
    names = {op_type for of, op_type in versions_of_operators() if of == domain}
    known = ((name, schema_of(name, version, domain)) for name in names)
    return sorted(name for name, schema in known if schema is not None and not schema.deprecated)


def _unavailable_reason(domain: str, op_type: str, version: int) -> str | None:
    """Why opset `version` lacks the operator, "" if it is neither newer nor deprecated; None if the opset has it."""
    schema = schema_of(op_type, version, domain)
    if schema is not None:
        return f"deprecated since {schema.since}" if schema.deprecated else None
    oldest = min(versions_of_operators().get((domain, op_type), ()), default=0)
    return f"it came with {oldest}" if oldest > version else ""
