"""Conversion to plain ONNX; in this version of OpenVINO-style Gathers that stand in an ONNX file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from onnx import ModelProto

from gather_infer.domains import canonical_domain
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.inference import infer
from gather_infer.inference.interface import declare
from gather_infer.model.apply import apply
from gather_infer.model.edits import ImportOpset, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.model.paths import bodies
from gather_infer.openvino.gather import Converted, plan_gathers
from gather_infer.passes.result import PassResult
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    pass

_OPSET = 13
"""The ai.onnx opset that a model gets which imports none: the first whose Gather takes every element type."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConversionResult(PassResult):
    """A converted model.

    converted   the nodes that were rewritten; those with `indices == "assumed"` were not proved in bounds
    """

    converted: tuple[Converted, ...]


def convert(
    model: GivenModel,
    *,
    gather_oob: Literal["refuse", "assume-valid"] = "refuse",
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> ConversionResult:
    """The model with OpenVINO-style Gathers as ONNX Gathers; `gather_infer.convert`.

    OpenVINO gives zeros for an index out of bounds where ONNX fails, so a Gather is converted when its indices are
    proved in bounds.

    model        a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    gather_oob   "assume-valid" also converts a Gather whose indices are not proved in bounds, and lists it
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them so

    Raises ConversionRefused, naming every node that cannot be converted; ModelReadError and ModelStructureError as
    `fold`; UsageError for another `gather_oob` and as `infer`.
    """
    if gather_oob not in ("refuse", "assume-valid"):
        raise UsageError(f"gather_oob is 'refuse' or 'assume-valid', not {gather_oob!r}")
    source = to_model_file(model)
    source.require_data()
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    imported = [o.version for o in source.proto.opset_import if canonical_domain(o.domain) == ""]
    opset = imported[0] if imported else _OPSET
    plan = plan_gathers(inference, assume_valid=gather_oob == "assume-valid", opset=opset)
    if plan.refused:
        total = len(plan.refused)
        nodes = f"{total} nodes" if total > 1 else "1 node"
        which = f"{plan.unproved} of them" if plan.unproved < total else "them" if total > 1 else "it"
        hint = f"; --gather-oob assume-valid converts {which}" if plan.unproved else ""
        raise ConversionRefused("\n  ".join([f"{source.name}: {nodes} cannot be converted{hint}", *plan.refused]))
    journal = Journal()
    journal.add(*plan.edits)
    journal.add(*plan.dead)
    if plan.converted and not imported:
        journal.add(ImportOpset(by="openvino", reason="for the converted nodes", domain="", version=opset))
    declared, interface = declare(source.proto, inference, rests=bool(journal.edits))
    proto = apply(journal, declared)
    if plan.converted:
        _drop_unused_imports(proto)
    return ConversionResult(
        model=as_given(model, proto),
        converted=tuple(plan.converted),
        diagnostics=inference.diagnostics,
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )


def _drop_unused_imports(proto: ModelProto) -> None:
    """Remove the opset imports of OpenVINO's domains that no node of the graph is in."""
    used = {node.domain for _, body in bodies(proto) for node in body.node}
    used |= {function.domain for function in proto.functions}
    kept = [o for o in proto.opset_import if canonical_domain(o.domain) != "openvino" or o.domain in used]
    if len(kept) < len(proto.opset_import):
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
