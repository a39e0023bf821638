"""Conversion of the layers: each node of OpenVINO's dialect is lowered in the IR, or refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy.typing as npt
from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.dialect import LoweringRefused
from gather_infer.domains import is_extension, plain_domain, version_in, versions_of
from gather_infer.errors import SpecViolation
from gather_infer.inference import Access, Inference
from gather_infer.ir import Graph, Node
from gather_infer.ir.dead_code import eliminate_dead_code
from gather_infer.model.attributes import attributes_of
from gather_infer.model.paths import bodies, node_at
from gather_infer.node_ids import GraphPath, NodePath, Root
from gather_infer.openvino.beam_index import find_beam_indices
from gather_infer.openvino.body_inlining import Inliner
from gather_infer.openvino.dialect_nodes import is_opaque
from gather_infer.openvino.fusion import fuse_nodes
from gather_infer.openvino.lowerings import DIALECT, OpenVINODialect, lower
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.sampling import RANDOM
from gather_infer.openvino.state_variables import is_state
from gather_infer.ops import standard_rule
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.rules import OpCall
from gather_infer.tensor import Value
from gather_infer.validate import VerdictKind, combined, verdict

IndexBounds: TypeAlias = Literal["", "proved", "assumed", "guarded"]
OutOfBoundsPolicy: TypeAlias = Literal["guard", "assume-valid", "refuse"]
RandomPolicy: TypeAlias = Literal["refuse", "onnx"]


@dataclass(frozen=True, slots=True)
class Converted:
    """A node that was rewritten.

    op_type, version   the OpenVINO operator, and the OpenVINO opset that the node belongs to
    operators  types of the ONNX nodes that replace the node
    indices    "proved": in bounds in every legal run. "assumed": not proved, and used unchanged. "guarded": masked, so
               that indices out of bounds give OpenVINO's result. "" for a node without indices, and for an operator
               that fails on indices out of bounds in OpenVINO as in ONNX
    draws      the node draws random numbers: the same distribution as in OpenVINO, but other numbers
    fused_into   type of the ONNX node of another layer that computes this one too, as Conv does the addition of a bias;
                 "" if there is none
    """

    node: NodePath
    op_type: str
    version: int
    operators: tuple[str, ...]
    indices: IndexBounds = ""
    draws: bool = False
    fused_into: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A node that is not converted, because it has no counterpart in ONNX, or no safe one.

    op_type, version   the OpenVINO operator and its OpenVINO opset; 0 for an operator that is in no opset
    reason             text for messages
    """

    node: NodePath
    op_type: str
    version: int
    reason: str

    @property
    def operator(self) -> str:
        """Operator and opset in messages, such as `Gather-8`."""
        return f"{self.op_type}-{self.version}" if self.version else self.op_type


@dataclass(slots=True)
class LayerConversion:
    """The converted and the refused nodes.

    unproved     number of refused nodes that `gather_oob="guard"` would convert
    """

    converted: list[Converted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unproved: int = 0


def convert_layers(
    model: MutableModel, inference: Inference, *, gather_oob: OutOfBoundsPolicy, random: RandomPolicy, opset: int
) -> LayerConversion:
    """Lower every node of OpenVINO's domains in `model`, and remove the constants that only these nodes read.

    model       without edits
    inference   result of inference on the same model, with `assume=False`
    gather_oob  treatment of indices that are not proved in bounds, as in `convert`
    random      treatment of layers that draw random numbers, as in `convert`
    opset       version of the ai.onnx domain in the result

    Raises ModelReadError when external data is missing.
    """
    return _LayerConverter(model, inference, gather_oob, random, opset).run()


class _LayerConverter:
    def __init__(
        self, model: MutableModel, inference: Inference, gather_oob: OutOfBoundsPolicy, random: RandomPolicy, opset: int
    ) -> None:
        self.model = model
        self.known = model.pass_input
        self.allow_random = random == "onnx"
        self.gather_oob = gather_oob
        self.opset = opset
        self.result = LayerConversion()
        self.layer_of: dict[Node, int] = {}  # new node -> position of its layer in `result.converted`
        self.inliner = Inliner(model.fresh)
        self.declared = inference.declared
        self.reorders = {node for one in find_beam_indices(model) for node in one.gathers}
        self.accesses: dict[NodePath, list[Access]] = {}
        for access in inference.accesses:
            rule = standard_rule(access.domain, access.op_type, access.version)
            if rule is not None and rule.traits.gathers:
                self.accesses.setdefault(access.node, []).append(access)
        self.functions = {(f.domain, f.name) for f in model.proto.functions}
        self.versions = versions_of(model.proto.opset_import)
        dialects = (each for each in inference.model.dialects if isinstance(each, OpenVINODialect))
        self.dialects = {DIALECT.domain: DIALECT, **{each.domain: each for each in dialects}}

    def run(self) -> LayerConversion:
        lost: list[tuple[Graph, str]] = []
        for path, body in bodies(self.model.proto):
            for position, proto in enumerate(body.node):
                if not is_opaque(proto) or is_state(proto) or (proto.domain, proto.op_type) in self.functions:
                    continue
                try:
                    if path.root is not Root.GRAPH:
                        raise LoweringRefused("it is in a function or a training graph")
                    node = self.model[path].file_nodes[position]
                    self.convert(path, position, node)
                    lost += [(node.graph, name) for name in node.inputs]
                except (LoweringRefused, SpecViolation) as refusal:
                    is_read = path in self.model.graphs
                    where = (
                        self.model.node_path(path, position) if is_read else node_at(self.model.proto, path, position)
                    )
                    self.result.refused.append(Refused(where, proto.op_type, self.version(proto), str(refusal)))
        self.fuse()
        eliminate_dead_code(self.model, lost, self.only_reads_dims)
        return self.result

    def fuse(self) -> None:
        """Fuse nodes of several layers. One layer is listed with the operator, the others as parts of it."""
        for fusion in fuse_nodes(self.model, self.opset):
            first, name = self.layer_of.pop(fusion.first), fusion.fused.op_type
            self.layer_of[fusion.fused] = first
            self.relist(first, fusion.first.op_type, name)
            for node in fusion.others:
                layer = self.layer_of.pop(node)
                self.relist(layer, node.op_type)
                if layer != first:
                    self.result.converted[layer] = replace(self.result.converted[layer], fused_into=name)
            for node in fusion.unread:
                self.relist(self.layer_of.pop(node), node.op_type)

    def relist(self, layer: int, old: str, *new: str) -> None:
        """Replace the operator `old` in the list of those that a converted layer became."""
        found = self.result.converted[layer]
        at = found.operators.index(old)
        operators = (*found.operators[:at], *new, *found.operators[at + 1 :])
        self.result.converted[layer] = replace(found, operators=operators)

    def only_reads_dims(self, node: Node) -> bool:
        """Whether a node is a Constant, Shape or Size, which has no side effect and never fails."""
        return node.is_constant or self.known.traits(node.proto).outputs_dims

    def version(self, node: NodeProto) -> int:
        """The OpenVINO opset of `node`; 0 for an operator of an extension set, which has no opsets."""
        if is_extension(node.domain):
            return 0
        domain = node.domain if plain_domain(node.domain) else "openvino"
        return version_in(self.versions, domain)

    def convert(self, path: GraphPath, position: int, layer_node: Node) -> None:
        """Lower a node, which is at `position` of graph `path`.

        Raises LoweringRefused when the node has no safe lowering, SpecViolation when it violates its specification.
        """
        node = layer_node.proto
        version = self.version(node)
        dialect = self.dialects.get(node.domain) if is_extension(node.domain) else self.dialects["openvino"]
        entry = None if dialect is None else dialect.lookup(node.op_type, version or 1)
        if entry is None and is_extension(node.domain):
            kind = node.domain.rpartition(".")[2]
            raise LoweringRefused(f"OpenVINO has no such operator in the set {kind}")
        if entry is None:
            raise LoweringRefused("it has no lowering")
        where = self.model.node_path(path, position)
        indices, fault = self.indices(where, reorders=layer_node in self.reorders)
        call = OpCall(
            node.op_type,
            [self.fact(path, name) for name in node.input],
            attributes_of(node),
            tuple(self.is_read(path, name) for name in node.output),
            version,
            "openvino",
            Context(self.declared),
            lambda i: self.load(path, node.input[i]) if i < len(node.input) else None,
        )
        builder = FunctionBuilder(self.opset)
        names = [f"x{i}" if name else "" for i, name in enumerate(node.input)]
        layer = LayerView(
            call, names, mask_out_of_bounds=indices not in ("proved", "assumed"), allow_random=self.allow_random
        )
        outputs = lower(entry, layer, builder)
        if fault:
            self.result.unproved += 1
            raise LoweringRefused(fault)
        given = {local: name for local, name in zip(names, node.input, strict=True) if local}
        results = _results(builder, outputs, node.output, given)
        spliced = self.inliner.inline(builder, node.name, given, results)
        if len(spliced.nodes) == 1:
            spliced = replace(spliced, nodes=(_with_metadata_of(node, spliced.nodes[0]),))
        reason = f"{node.op_type}-{version}" + (f", indices {indices}" if indices else "")
        for tensor in spliced.constants:
            self.model.add_constant(self.model.main, tensor.name, tensor, None, reason)
        nodes = self.model.replace(layer_node, spliced.nodes, reason)
        self.layer_of.update(dict.fromkeys(nodes, len(self.result.converted)))
        for tensor in spliced.constant_outputs:
            self.model.add_constant(layer_node.graph, tensor.name, tensor, None, reason)
        made = tuple(one.op_type for one in spliced.nodes)
        self.result.converted.append(Converted(where, node.op_type, version, made, indices, node.op_type in RANDOM))

    def indices(self, where: NodePath, *, reorders: bool) -> tuple[IndexBounds, str]:
        """`Converted.indices` for the node `where`, and the reason to refuse the node; "" if it is not refused.

        reorders   the indices are a beam index: they are assumed to be in bounds, unless the policy is "refuse" or they
                   are proved to be out of bounds
        """
        accesses = self.accesses.get(where)
        if not accesses:
            return "", ""
        found = combined([verdict(access, allow_negative=True) for access in accesses])
        if found.kind is VerdictKind.PROVED:
            return "proved", ""
        if all(access.addressing is not None and access.addressing.indexing.strict for access in accesses):
            return "", ""
        if reorders and self.gather_oob != "refuse" and found.kind is not VerdictKind.VIOLATED:
            return "assumed", ""
        if self.gather_oob == "guard":
            return "guarded", ""
        if found.kind is VerdictKind.VIOLATED:
            return "guarded", f"{found.reason}: OpenVINO gives zeros, ONNX fails"
        if self.gather_oob == "assume-valid":
            return "assumed", ""
        known = "not known to be in bounds"
        if found.conditions:
            known = f"in bounds only for {found.condition}" if found.tight else f"in bounds for {found.condition}"
        return "guarded", f"indices are {known}: {found.reason}"

    def fact(self, path: GraphPath, name: str) -> Value | None:
        value = self.model[path].value(name)
        return None if value is None else value.graph.facts.get(name)

    def load(self, path: GraphPath, name: str) -> npt.NDArray[Any] | None:
        held = self.model[path].constant_payload(name)
        constant = None if held is None else self.known.read(held)
        return None if constant is None else self.known.model.tensor(constant.to_tensor(name))

    def is_read(self, path: GraphPath, name: str) -> bool:
        """Whether a node reads the value `name` of graph `path`, or a graph returns it; False for ""."""
        if not name:
            return False
        value = self.model[path].value(name)
        return value is not None and (value.is_output or bool(value.readers))


def _with_metadata_of(node: NodeProto, replacement: NodeProto) -> NodeProto:
    """`replacement` with the name, the metadata and the other fields of `node` that do not define the computation."""
    made = NodeProto()
    made.CopyFrom(node)
    for name in ("domain", "op_type", "overload", "input", "output", "attribute"):
        made.ClearField(name)
    replacement.ClearField("name")
    made.MergeFrom(replacement)
    return made


def _results(
    builder: FunctionBuilder, outputs: Sequence[str], names: Sequence[str], inputs: Mapping[str, str]
) -> dict[str, str]:
    """Value of the built function -> name in the model, for the values that the function returns.

    builder   holds the function; an Identity is added for each returned input and each further return of a value
    outputs   the values that the function returns
    names     names in the model for `outputs`, in the same order; "" for an output that is not used
    inputs    input of the function -> name in the model
    """
    results: dict[str, str] = {}
    made = {name for node in builder.nodes for name in node.output} | builder.constants.keys()
    for local, name in zip(outputs, names, strict=True):
        if not local or not name:
            continue
        if local in results or local in inputs or local not in made:
            local = builder.Identity(local)
        results[local] = name
    return results
