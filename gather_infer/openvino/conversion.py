"""Conversion to plain ONNX, of IRs and of nodes of OpenVINO that stand in an ONNX file."""

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
from gather_infer.inference.interface import declare
from gather_infer.inference.proto.types import to_type
from gather_infer.model import ModelFile, SaveReport, save
from gather_infer.model.apply import apply
from gather_infer.model.edits import ImportOpset, InsertNodes, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file, with_constants
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
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
from gather_infer.places import NodePath
from gather_infer.rules import RuleSet

_OPSET = 21
"""The ai.onnx opset that a model gets which imports none."""
NEWEST_OPSET = 26
_IR_VERSIONS = {23: 11, 24: 12, 25: 13, 26: 13}
"""The format that a model of an opset of ai.onnx needs, where it is a later one than the reader's."""
_MICROSOFT = "com.microsoft"
_POLICIES = ("guard", "assume-valid", "refuse")
_BEAMS = ("keep", "drop")
_FORMS = ("dequantize", "contrib", "float")
_RANDOM = ("refuse", "onnx")


Beams: TypeAlias = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ConversionResult(PassResult):
    """A converted model.

    inference   of the model before, without assumptions
    converted   the nodes that were rewritten; those with `indices == "assumed"` were not proved in bounds, those with
                `draws` give other random numbers than OpenVINO
    kept        the nodes that have no counterpart, which stay in their domain
    weights     what became of the compressed weights
    variables   the state of the model, with the inputs and outputs that stand for it
    dropped     the inputs that only reordered state, which are gone
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

        external_data      a file beside the output that takes them instead
        in_place_weights   they stay where they are: the model refers to the .bin, which is in the folder of the output
                           or below it

        Raises UsageError where the output would take the place of the IR, and where runtimes would not find the .bin;
        else as `gather_infer.model.save`.
        """
        if not self.source.foreign:
            if in_place_weights:
                raise UsageError("in_place_weights: the weights of an ONNX file stay where they are anyway")
            return save(self.source, self.proto, path, external_data=external_data, in_place=in_place)
        if in_place or (
            os.path.exists(path) and os.path.exists(self.source.name) and os.path.samefile(path, self.source.name)
        ):
            raise UsageError(f"{self.source.name}: an IR, which ONNX does not take the place of; write to another file")
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
    """A model of OpenVINO, or one with nodes of its operators, in operators of ONNX; `gather_infer.convert`.

    model        a path (also of an IR), a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    gather_oob   OpenVINO gives zeros for an index out of bounds where ONNX fails. Where the indices are not proved in
                 bounds, "guard" gives zeros too, "assume-valid" takes them for it, "refuse" does not convert
    weights      of compressed weights of an IR: "dequantize" has DequantizeLinear multiply them out, "contrib"
                 com.microsoft.MatMulNBits where it can, "float" plain operators as in the file
    beam_idx     "keep" the input that only says which rows of the state are read, "drop" it: then they stay where they
                 are. A Gather by such an input has no guard, and is among those that are assumed to be in bounds
    random       "refuse" layers that draw random numbers, or let "onnx" draw them with its own generators: others than
                 OpenVINO's, of the same distribution
    opset        of ai.onnx in the result of an IR, 21 by default; an ONNX file keeps its own
    keep_unsupported   nodes without a counterpart stay in their domain instead of being refused
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them so
    initializers_as_constants   an initializer that is an input too is a constant, and no input of the result

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
            raise ConversionRefused(f"{source.name}: no input only reorders rows of the state, so none can be dropped")
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
    declared, interface = declare(source.proto, inference, rests=bool(journal.edits))
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
    """The opset of ai.onnx in the result. Raises UsageError for one that it cannot have."""
    imported = [o.version for o in source.proto.opset_import if canonical_domain(o.domain) == ""]
    if opset is None or opset in imported[:1]:
        return imported[0] if imported else _OPSET
    if imported and not source.foreign:
        raise UsageError(f"opset = {opset}: {source.name} is ONNX of opset {imported[0]}, and stays so")
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
    """Declare what is believed of the outputs of nodes that stay: their readers were converted for such types."""
    believed = {belief.value: to_type(belief.type, lambda _: "") for belief in inference.believed}
    for _, body in bodies(proto):
        said = {value.name for value in (*body.value_info, *body.output)}
        for node in body.node:
            for name in node.output if is_kept_apart(node) else ():
                known = believed.get(name)
                if known is not None and name not in said:
                    body.value_info.add(name=name, type=known)


def _name_apart(proto: ModelProto) -> None:
    """Names that nodes of a graph share in the file get numbers: onnxruntime refuses a graph where two are equal."""
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
    """Remove the opset imports of OpenVINO's domains that no node of the graph is in."""
    used = {node.domain for _, body in bodies(proto) for node in body.node}
    used |= {function.domain for function in proto.functions}
    kept = [o for o in proto.opset_import if canonical_domain(o.domain) != "openvino" or o.domain in used]
    if len(kept) < len(proto.opset_import):
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
