"""Conversion to plain ONNX, of OpenVINO IRs and of ONNX files with nodes in OpenVINO's domains."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onnx import ModelProto

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain
from gather_infer.errors import ConversionRefused, UsageError, shortened
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface_types import declare
from gather_infer.inference.proto.types import to_type
from gather_infer.model import ModelFile, SaveReport, save
from gather_infer.model.apply import apply
from gather_infer.model.edits import ImportOpset, InsertNodes, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file, with_constants
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.node_ids import NodePath
from gather_infer.openvino.beams import without_reorderings
from gather_infer.openvino.beside import beside
from gather_infer.openvino.interface import check_interface, state_outputs, with_parts_declared
from gather_infer.openvino.lowerings.table import LOWEST_OPSET
from gather_infer.openvino.nodes import is_kept_apart
from gather_infer.openvino.plan import Converted, Plan, Policy, Random, Refused, plan
from gather_infer.openvino.state import Variable, without_state
from gather_infer.openvino.unread import drop_unread
from gather_infer.openvino.weights import Compression, Form, with_reshaped_constants, with_weights
from gather_infer.passes.result import PassResult
from gather_infer.rules import RuleSet

_OPSET = 21
"""The ai.onnx opset of a converted model that imports none."""
NEWEST_OPSET = 26
_IR_VERSIONS = {23: 11, 24: 12, 25: 13, 26: 13}
"""The IR version of ONNX that an opset of ai.onnx needs, where it is newer than the one that the reader writes."""
_MICROSOFT = "com.microsoft"
_POLICIES = ("guard", "assume-valid", "refuse")
_BEAMS = ("keep", "drop")
_FORMS = ("dequantize", "contrib", "float")
_RANDOM = ("refuse", "onnx")


Beams: TypeAlias = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ConversionResult(PassResult):
    """A converted model.

    inference       of the model before conversion, without assumptions
    converted       the rewritten nodes; those with `indices == "assumed"` were not proved in bounds, those with `draws`
                    produce other random numbers than OpenVINO
    kept            the nodes without a counterpart in ONNX, which stay in their domain
    weights         the format of each compressed weight in the result
    variables       the state variables of the model, with the inputs and outputs that replace them
    dropped_inputs  the removed inputs, which only reordered state
    """

    inference: Inference
    converted: tuple[Converted, ...]
    kept: tuple[Refused, ...] = ()
    variables: tuple[Variable, ...] = ()
    weights: tuple[Compression, ...] = ()
    dropped: tuple[str, ...] = ()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        in_place_weights: bool = False,
    ) -> SaveReport:
        """Write the model, whole or not at all, with the weights of an IR inline.

        external_data      a file beside the output that holds the weights instead
        in_place_weights   leave the weights in the .bin, which the model then refers to; it has to be in the output's
                           directory or below it

        Raises UsageError where the output would overwrite the IR, and where runtimes would not find the .bin; otherwise
        as `gather_infer.model.save`.
        """
        if not self.source.foreign:
            if in_place_weights:
                raise UsageError("in_place_weights: the weights of an ONNX file stay where they are anyway")
            return save(self.source, self.proto, path, external_data=external_data, in_place=in_place)
        if in_place or (
            os.path.exists(path) and os.path.exists(self.source.name) and os.path.samefile(path, self.source.name)
        ):
            raise UsageError(f"{self.source.name}: an IR, which is not overwritten with ONNX; write to another file")
        if not in_place_weights:
            return save(self.source, self.proto, path, external_data=external_data, embed=True)
        if external_data is not None:
            raise UsageError("in_place_weights and external_data exclude each other")
        return save(*beside(self.source, self.proto, path), path)


def convert(
    model: GivenModel,
    *,
    gather_oob: Policy = "guard",
    weights: Form = "dequantize",
    beam_idx: Beams = "keep",
    random: Random = "refuse",
    opset: int | None = None,
    keep_unsupported: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
) -> ConversionResult:
    """Convert an OpenVINO model, or an ONNX model with OpenVINO nodes, to operators of ONNX; `gather_infer.convert`.

    model        a path (also of an IR), a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    gather_oob   for indices not proved in bounds, where OpenVINO gathers zeros and ONNX fails: "guard" adds nodes that
                 mask them to zeros, "assume-valid" adds none, "refuse" does not convert the node
    weights      for compressed weights of an IR: "dequantize" writes DequantizeLinear, "contrib"
                 com.microsoft.MatMulNBits where possible, "float" plain operators as in the file
    beam_idx     "keep" the input that selects which rows of the state are read, or "drop" it, so that rows keep their
                 order. A Gather by such an input is not guarded: its indices count as assumed in bounds
    random       "refuse" layers that draw random numbers, or convert them to generators of "onnx": other numbers than
                 OpenVINO's, of the same distribution
    opset        of ai.onnx in the result of an IR, 21 by default; an ONNX file keeps its own
    keep_unsupported   leave nodes without a counterpart in their domain instead of refusing them
    dims, inputs, rules   as for `infer`; the result is valid for such inputs only, and declares them
    initializers_as_constants   treat an initializer that is also an input as a constant, and drop the input

    Raises ConversionRefused, naming every node that cannot be converted; ModelReadError and ModelStructureError as
    `fold`; UsageError for another `gather_oob` or `opset` and as `infer`.

        >>> converted = gather_infer.convert("fixtures/openvino/decoder.xml")
        >>> print([i.name for i in converted.proto.graph.input])
        ['input_ids', 'beam_idx', 'past_key_values.0.value', 'past_key_values.0.key']
    """
    if gather_oob not in _POLICIES:
        raise UsageError(f"gather_oob is one of {', '.join(_POLICIES)}, not {gather_oob!r}")
    if weights not in _FORMS:
        raise UsageError(f"weights is one of {', '.join(_FORMS)}, not {weights!r}")
    if beam_idx not in _BEAMS:
        raise UsageError(f"beam_idx is one of {', '.join(_BEAMS)}, not {beam_idx!r}")
    if random not in _RANDOM:
        raise UsageError(f"random is one of {', '.join(_RANDOM)}, not {random!r}")
    source = to_model_file(model)
    if initializers_as_constants:
        source = with_constants(source)
    source.require_data()
    target = _target(source, opset)
    dropped: tuple[str, ...] = ()
    if beam_idx == "drop":
        source, dropped = without_reorderings(source)
        if not dropped:
            raise ConversionRefused(
                f"{source.name}: no input only reorders the rows of the state, so there is none to drop"
            )
    compressed: tuple[Compression, ...] = ()
    if source.foreign:
        source, compressed = with_weights(with_reshaped_constants(source), weights, target)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    made = plan(inference, gather_oob=gather_oob, random=random, opset=target)
    if made.refused and not keep_unsupported:
        raise ConversionRefused(_refusal(source.name, made))
    journal = Journal()
    journal.add(*made.edits)
    journal.add(*made.dead)
    if made.converted or source.foreign:
        journal.add(*_imports(source.proto, made, target))
    declared, interface = declare(source.proto, inference, is_relied_on=bool(journal.edits))
    proto = apply(journal, with_parts_declared(declared, inference) if source.foreign else declared)
    try:
        variables = without_state(proto, source, inference)
    except LoweringRefused as refusal:
        raise ConversionRefused(f"{source.name}: {refusal}") from refusal
    if source.foreign:
        proto.ir_version = max(proto.ir_version, _IR_VERSIONS.get(target, 0))
        state_outputs(proto, source, inference)
        _declare_kept(proto, inference)
        drop_unread(proto)
        check_interface(proto, source, inference, target)
        _name_apart(proto)
    if made.converted or variables or source.foreign:
        _drop_unused_imports(proto)
    return ConversionResult(
        model=as_given(model, proto),
        inference=inference,
        converted=tuple(made.converted),
        kept=tuple(made.refused),
        variables=variables,
        weights=compressed,
        dropped=dropped,
        diagnostics=inference.diagnostics,
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )


def _target(source: ModelFile, opset: int | None) -> int:
    """The opset of ai.onnx in the result. Raises UsageError for an opset that the result cannot have."""
    imported = [o.version for o in source.proto.opset_import if canonical_domain(o.domain) == ""]
    if opset is None or opset in imported[:1]:
        return imported[0] if imported else _OPSET
    if imported and not source.foreign:
        raise UsageError(
            f"opset = {opset}: {source.name} is ONNX of opset {imported[0]}, which convert does not change"
        )
    if not LOWEST_OPSET <= opset <= NEWEST_OPSET:
        raise UsageError(f"opset must be in [{LOWEST_OPSET}, {NEWEST_OPSET}], is {opset}")
    return opset


def _imports(proto: ModelProto, made: Plan, target: int) -> Iterator[ImportOpset]:
    """The opset imports that the new nodes need."""
    microsoft = any(n.domain == _MICROSOFT for e in made.edits if isinstance(e, InsertNodes) for n in e.nodes)
    wanted = {"": target, **({_MICROSOFT: 1} if microsoft else {})}
    present = {canonical_domain(o.domain): o.version for o in proto.opset_import}
    for domain, version in wanted.items():
        if present.get(domain) != version:
            yield ImportOpset(by="openvino", reason="for the converted nodes", domain=domain, version=version)


def _declare_kept(proto: ModelProto, inference: Inference) -> None:
    """Declare the trusted types of the outputs of kept nodes: their readers were converted for these types."""
    believed = {belief.value: to_type(belief.type, lambda _: "") for belief in inference.trusted_annotations}
    for _, body in bodies(proto):
        said = {value.name for value in (*body.value_info, *body.output)}
        for node in body.node:
            for name in node.output if is_kept_apart(node) else ():
                known = believed.get(name)
                if known is not None and name not in said:
                    body.value_info.add(name=name, type=known)


def _name_apart(proto: ModelProto) -> None:
    """Number the node names that a graph uses more than once: onnxruntime refuses a graph with two equal ones."""
    names = Names(proto)
    for _, body in bodies(proto):
        seen: set[str] = set()
        for node in body.node:
            if node.name in seen:
                node.name = names.fresh(node.name)
            if node.name:
                seen.add(node.name)


def _refusal(name: str, made: Plan) -> str:
    """One error that names every operator that cannot be converted, once for each reason."""
    alike: dict[tuple[str, str], list[NodePath]] = {}
    for refused in made.refused:
        alike.setdefault((refused.operator, refused.reason), []).append(refused.node)
    total = len(made.refused)
    guarded = f"{made.unproved} of them" if made.unproved < total else "them" if total > 1 else "it"
    hint = f"; --gather-oob guard converts {guarded}" if made.unproved else ""
    nodes = f"{total} nodes" if total > 1 else "1 node"
    lines = []
    for (operator, reason), found in alike.items():
        which = f"{len(found)} nodes, first " if len(found) > 1 else ""
        lines.append(f"{shortened(operator)}, {which}{shortened(str(found[0]))}: {shortened(reason, 500)}")
    return "\n  ".join([f"{name}: {nodes} cannot be converted{hint}", *lines])


def _drop_unused_imports(proto: ModelProto) -> None:
    """Remove the opset imports of OpenVINO's domains that no node of the graph uses."""
    used = {node.domain for _, body in bodies(proto) for node in body.node}
    used |= {function.domain for function in proto.functions}
    kept = [o for o in proto.opset_import if canonical_domain(o.domain) != "openvino" or o.domain in used]
    if len(kept) < len(proto.opset_import):
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
