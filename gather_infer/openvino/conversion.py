"""Conversion to plain ONNX, of OpenVINO IRs and of ONNX files with nodes in OpenVINO's domains."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain, versions_of
from gather_infer.errors import ConversionRefused, UsageError, shortened
from gather_infer.inference import Inference, infer
from gather_infer.inference.dim_dialects import save_translated
from gather_infer.inference.interface_types import declare
from gather_infer.ir import Model, Node, require_well_formed
from gather_infer.ir.dead_code import eliminate_all_dead_code
from gather_infer.ir.toposort import toposort
from gather_infer.ir.write_back import journal_of
from gather_infer.model import ModelFile, SaveReport
from gather_infer.model.apply import apply
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_model_file, with_constants
from gather_infer.model.paths import bodies
from gather_infer.model.save import Companions
from gather_infer.node_ids import NodePath, Root
from gather_infer.openvino.beam_index import eliminate_beam_indices
from gather_infer.openvino.dialect_nodes import is_opaque
from gather_infer.openvino.layer_conversion import (
    Converted,
    LayerConversion,
    OutOfBoundsPolicy,
    RandomPolicy,
    Refused,
    convert_layers,
)
from gather_infer.openvino.lowerings.lowering_table import LOWEST_OPSET
from gather_infer.openvino.model_signature import (
    check_interface,
    declare_kept_outputs,
    declare_outputs,
    declare_scan_outputs,
)
from gather_infer.openvino.sidecar_weights import with_sidecar_weights
from gather_infer.openvino.state_variables import Variable, expose_state
from gather_infer.openvino.weights import WeightConversion, WeightFormat, fold_constant_reshapes, lower_weights
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.passes.pass_input import PassInput
from gather_infer.passes.result import PassResult, Size, size_of
from gather_infer.rules import RuleSet

_OPSET = 21
"""The ai.onnx opset of a converted model whose source imports no opset of ai.onnx."""
NEWEST_OPSET = 26
_MICROSOFT = "com.microsoft"
_POLICIES = ("guard", "assume-valid", "refuse")
_BEAM_POLICIES = ("keep", "drop")
_WEIGHT_FORMATS = ("dequantize", "contrib", "float")
_RANDOM_POLICIES = ("refuse", "onnx")


BeamIndexPolicy: TypeAlias = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ConversionResult(PassResult):
    """A converted model.

    inference       result of inference on the model before conversion, with `assume=False`
    converted       the converted nodes; nodes with `indices == "assumed"` are not proved in bounds, nodes with `draws`
                    produce other random numbers than OpenVINO
    kept            the nodes that are not converted, and stay in their domain
    weights         the format of each compressed weight in the result
    variables       the state variables of the model, with the inputs and outputs that replace them
    dropped_inputs  names of the removed inputs, which only reordered state
    original        the model as read; `source` has compressed weights in the format of the result
    """

    inference: Inference
    converted: tuple[Converted, ...]
    original: ModelFile
    kept: tuple[Refused, ...] = ()
    variables: tuple[Variable, ...] = ()
    weights: tuple[WeightConversion, ...] = ()
    dropped_inputs: tuple[str, ...] = ()

    @property
    def before(self) -> Size:
        return size_of(self.original, self.original.proto)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: str | None = None,
        in_place: bool = False,
        in_place_weights: bool = False,
        dim_dialect: str | None = None,
        companions: Companions | None = None,
    ) -> SaveReport:
        """Write the model, completely or not at all, with the weights of an IR inline.

        external_data      name of a file in the directory of the output that holds the weights instead
        in_place           the output may overwrite the input; not allowed for an IR
        in_place_weights   leave the weights in the .bin of the IR, and refer to them there; the .bin has to be in the
                           directory of the output or below it
        dim_dialect        write the expressions in dims as readers of this dialect take them, see docs/dims.md
        companions         returns the files that appear together with the model, from the hashes of what is written

        Raises UsageError when the output would overwrite the IR, and when runtimes would not find the .bin; other
        errors as `gather_infer.model.save`.
        """
        if not self.source.foreign_format:
            if in_place_weights:
                raise UsageError("in_place_weights: the weights of an ONNX file stay where they are anyway")
            return PassResult.save(
                self,
                path,
                external_data=external_data,
                in_place=in_place,
                dim_dialect=dim_dialect,
                companions=companions,
            )
        if in_place or (
            os.path.exists(path) and os.path.exists(self.source.name) and os.path.samefile(path, self.source.name)
        ):
            raise UsageError(f"{self.source.name}: an IR, which is not overwritten with ONNX; write to another file")
        if not in_place_weights:
            return save_translated(
                self.source,
                self.proto,
                path,
                dim_dialect=dim_dialect,
                generated=self.generated,
                external_data=external_data,
                embed=True,
                companions=companions,
            )
        if external_data is not None:
            raise UsageError("in_place_weights and external_data exclude each other")
        source, proto = with_sidecar_weights(self.source, self.proto, path)
        return save_translated(
            source, proto, path, dim_dialect=dim_dialect, generated=self.generated, companions=companions
        )

    @property
    def generated(self) -> Collection[str]:
        """The generated symbols that dims of the model may contain."""
        return self.inference.causes


def convert(
    model: ModelLike,
    *,
    gather_oob: OutOfBoundsPolicy = "guard",
    weights: WeightFormat = "dequantize",
    beam_idx: BeamIndexPolicy = "keep",
    random: RandomPolicy = "refuse",
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
    random       "refuse" layers that draw random numbers, or convert them to the generators of ONNX ("onnx"), which
                 draw other numbers of the same distribution
    opset        opset of ai.onnx in the result for an IR, 21 by default; an ONNX file keeps its opset
    keep_unsupported   leave nodes that cannot be converted in their domain instead of refusing the model
    dims, inputs, rules   as for `infer`; the result declares these input types, and is valid for them only
    initializers_as_constants   treat an initializer that is also an input as a constant, and drop the input

    Raises ConversionRefused, naming every node that cannot be converted; ModelReadError and ModelStructureError as
    `fold`; UsageError as `infer`, and for a policy or an `opset` that is not supported.

        >>> converted = gather_infer.convert("fixtures/openvino/decoder.xml")
        >>> print([i.name for i in converted.proto.graph.input])
        ['input_ids', 'beam_idx', 'past_key_values.0.value', 'past_key_values.0.key']
    """
    if gather_oob not in _POLICIES:
        raise UsageError(f"gather_oob is one of {', '.join(_POLICIES)}, not {gather_oob!r}")
    if weights not in _WEIGHT_FORMATS:
        raise UsageError(f"weights is one of {', '.join(_WEIGHT_FORMATS)}, not {weights!r}")
    if beam_idx not in _BEAM_POLICIES:
        raise UsageError(f"beam_idx is one of {', '.join(_BEAM_POLICIES)}, not {beam_idx!r}")
    if random not in _RANDOM_POLICIES:
        raise UsageError(f"random is one of {', '.join(_RANDOM_POLICIES)}, not {random!r}")
    source = to_model_file(model)
    if initializers_as_constants:
        source = with_constants(source)
    source.require_data()
    target = _target_opset(source, opset)
    original = source
    source, dropped, compressed = _prepared(original, beam_idx, weights, target)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    has_layers = any(is_opaque(node) for _, body in bodies(source.proto) for node in body.node)
    declared, interface = declare(source.proto, inference, is_relied_on=has_layers or bool(source.foreign_format))
    lowered = MutableModel(PassInput(inference), declared)
    layers = convert_layers(lowered, inference, gather_oob=gather_oob, random=random, opset=target)
    if layers.refused and not keep_unsupported:
        raise ConversionRefused(_refusal(source.name, layers))
    if layers.converted or source.foreign_format:
        _import_opsets(lowered, target)
    try:
        variables = expose_state(lowered, source, inference)
    except LoweringRefused as refusal:
        raise ConversionRefused(f"{source.name}: {refusal}") from refusal
    if source.foreign_format:
        declare_scan_outputs(lowered, inference)
        declare_outputs(lowered, source, inference)
        declare_kept_outputs(lowered, inference)
        eliminate_all_dead_code(lowered, _has_no_side_effect)
        _deduplicate_node_names(lowered)
    if layers.converted or variables or source.foreign_format:
        _remove_unused_imports(lowered)
    journal = journal_of(lowered, "openvino")
    if not journal.edits:
        declared, interface = declare(source.proto, inference, is_relied_on=False)
    proto = apply(journal, declared)
    if source.foreign_format:
        check_interface(proto, source, inference, target)
    return ConversionResult(
        model=to_caller_type(model, proto),
        inference=inference,
        converted=tuple(layers.converted),
        original=original,
        kept=tuple(layers.refused),
        variables=variables,
        weights=compressed,
        dropped_inputs=dropped,
        diagnostics=inference.diagnostics,
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )


def _prepared(
    source: ModelFile, beam_idx: BeamIndexPolicy, weights: WeightFormat, opset: int
) -> tuple[ModelFile, tuple[str, ...], tuple[WeightConversion, ...]]:
    """The model without beam indices, if these are dropped, and with compressed weights in the format `weights`.

    Also returns the names of the removed inputs, and the form of each weight. These rewrites come before the inference,
    because they change facts that the conversion of other layers relies on.
    """
    if beam_idx == "keep" and not source.foreign_format:
        return source, (), ()
    model = Model.of(source)
    model.may_repeat_names = True  # as layers may: findings and results name the layers of the file
    require_well_formed(model, source.name)
    dropped = eliminate_beam_indices(model) if beam_idx == "drop" else ()
    if beam_idx == "drop" and not dropped:
        raise ConversionRefused(
            f"{source.name}: no input only reorders the rows of the state, so there is none to drop"
        )
    compressed: tuple[WeightConversion, ...] = ()
    recomputed: frozenset[str] = frozenset()
    if source.foreign_format:
        fold_constant_reshapes(model)
        compressed, recomputed = lower_weights(model, source, weights, opset)
    hints = {name: hint for name, hint in source.hints.items() if name not in recomputed.union(dropped)}
    journal = journal_of(model, "openvino")
    proto = apply(journal, source.proto) if journal.edits else source.proto
    return replace(source, proto=proto, hints=hints), dropped, compressed


def _target_opset(source: ModelFile, opset: int | None) -> int:
    """The opset of ai.onnx in the result: `opset`, or a default if `opset` is None.

    Raises UsageError for an opset that the result cannot have.
    """
    imported = [o.version for o in source.proto.opset_import if canonical_domain(o.domain) == ""]
    if opset is None or opset in imported[:1]:
        return imported[0] if imported else _OPSET
    if imported and not source.foreign_format:
        raise UsageError(
            f"opset = {opset}: {source.name} is ONNX of opset {imported[0]}, which convert does not change"
        )
    if not LOWEST_OPSET <= opset <= NEWEST_OPSET:
        raise UsageError(f"opset must be in [{LOWEST_OPSET}, {NEWEST_OPSET}], is {opset}")
    return opset


def _import_opsets(model: Model, target: int) -> None:
    """Import the opsets that the new nodes need and the file lacks; `target` is the opset of ai.onnx."""
    uses_microsoft = any(node.domain == _MICROSOFT for node in model.nodes if node.source is None)
    wanted = {"": target, **({_MICROSOFT: 1} if uses_microsoft else {})}
    present = versions_of(model.proto.opset_import)
    for domain, version in wanted.items():
        if present.get(domain) != version:
            model.import_opset(domain, version)


def _has_no_side_effect(node: Node) -> bool:
    """Whether a node can be removed when its outputs are dead: OpenVINO's layers may have side effects."""
    return not is_opaque(node.proto) and not any(is_opaque(inner.proto) for inner in node.nested_nodes())


def _deduplicate_node_names(model: Model) -> None:
    """Number the node names that a graph uses more than once: onnxruntime refuses a graph with two equal node names."""
    for graph in model.graphs.values():
        seen: set[str] = set()
        for node in toposort(graph):
            name = node.name
            if name in seen:
                name = model.fresh(name)
                model.rename_node(node, name, "a node name is unique in its graph")
            if name:
                seen.add(name)


def _refusal(name: str, made: LayerConversion) -> str:
    """The text of a ConversionRefused: a headline, then a line for each refused operator and reason."""
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


def _remove_unused_imports(model: Model) -> None:
    """Remove the opset imports of OpenVINO's domains that no node and no function uses."""
    used = {node.proto.domain for node in model.nodes} | {function.domain for function in model.proto.functions}
    for path, body in bodies(model.proto):
        if path.root in (Root.INITIALIZATION, Root.ALGORITHM):
            used.update(node.domain for node in body.node)
    for entry in model.proto.opset_import:
        if canonical_domain(entry.domain) == "openvino" and entry.domain not in used:
            model.remove_import(entry.domain)
