"""Conversion to plain ONNX; in this version of OpenVINO-style Gathers that stand in an ONNX file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from onnx import ModelProto

from gather_infer.diagnostic import Diagnostic
from gather_infer.domains import canonical_domain
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.inference import infer
from gather_infer.model import ModelFile, SaveReport, save
from gather_infer.model.apply import apply
from gather_infer.model.edits import ImportOpset, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.model.paths import bodies
from gather_infer.openvino.gather import Converted, plan_gathers
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

_OPSET = 13
"""The ai.onnx opset that a model gets which imports none: the first whose Gather takes every element type."""


@dataclass(frozen=True, slots=True, eq=False)
class ConversionResult:
    """A converted model and what was done.

    model         of the kind that was given: a graphsurgeon Graph for one, else a ModelProto (see `fold`)
    converted     the nodes that were rewritten; those with `indices == "assumed"` were not proved in bounds
    diagnostics   what the inference found in the model that was given
    """

    model: ModelProto | gs.Graph
    converted: tuple[Converted, ...]
    diagnostics: tuple[Diagnostic, ...]
    journal: Journal
    source: ModelFile
    proto: ModelProto

    def save(
        self, path: str | os.PathLike[str], *, external_data: str | None = None, in_place: bool = False
    ) -> SaveReport:
        """Write the converted model, whole or not at all. Raises as `gather_infer.model.save`."""
        return save(self.source, self.proto, path, external_data=external_data, in_place=in_place)


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
    dims, inputs, rules   as for `infer`; a proof that rests on them holds for such inputs only

    Raises ConversionRefused, naming every node that cannot be converted; ModelReadError and ModelStructureError as
    `fold`; UsageError for another `gather_oob` and as `infer`.
    """
    if gather_oob not in ("refuse", "assume-valid"):
        raise UsageError(f"gather_oob is 'refuse' or 'assume-valid', not {gather_oob!r}")
    source = to_model_file(model)
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
    if plan.converted and not imported:
        plan.journal.add(ImportOpset(by="openvino", reason="for the converted nodes", domain="", version=opset))
    proto = apply(plan.journal, source.proto)
    if plan.converted:
        _drop_unused_imports(proto)
    return ConversionResult(
        as_given(model, proto), tuple(plan.converted), inference.diagnostics, plan.journal, source, proto
    )


def _drop_unused_imports(proto: ModelProto) -> None:
    """Remove the opset imports of OpenVINO's domains that no node of the graph is in."""
    used = {node.domain for _, body in bodies(proto) for node in body.node}
    used |= {function.domain for function in proto.functions}
    kept = [o for o in proto.opset_import if canonical_domain(o.domain) != "openvino" or o.domain in used]
    if len(kept) < len(proto.opset_import):
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
