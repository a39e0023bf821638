"""Conversion plan: the edits that lower each node of OpenVINO's dialect, or the reason why the node is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy.typing as npt
from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.dialect import LoweringRefused
from gather_infer.domains import NEWEST_OPENVINO, is_extension, plain_domain
from gather_infer.errors import SpecViolation
from gather_infer.inference import Access, Inference
from gather_infer.inference.op_resolution import Opsets
from gather_infer.ir import Use
from gather_infer.model.attributes import attributes_of
from gather_infer.model.edits import AddInitializer, Edit, InsertNodes, RemoveNode
from gather_infer.model.paths import bodies, node_at
from gather_infer.node_ids import MAIN, GraphPath, NodeId, NodePath, Root
from gather_infer.openvino.beam_index import find_beam_indices
from gather_infer.openvino.body_inlining import Inliner
from gather_infer.openvino.dialect_nodes import is_opaque, reads_of
from gather_infer.openvino.lowerings import LOWERINGS, lower
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.sampling import RANDOM
from gather_infer.openvino.state_variables import is_state
from gather_infer.passes.dead_code import find_dead_code
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.passes.pass_input import PassInput
from gather_infer.rules import OpCall
from gather_infer.tensor import Value
from gather_infer.validate import VerdictKind, combined, verdict

_BY: Final = "openvino"
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
    """

    node: NodePath
    op_type: str
    version: int
    operators: tuple[str, ...]
    indices: IndexBounds = ""
    draws: bool = False


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
class ConversionPlan:
    """The converted nodes, the refused nodes, and the edits that make the conversion.

    unproved     number of refused nodes that `gather_oob="guard"` would convert
    dead_edits   removals of constants that only converted nodes read
    """

    converted: list[Converted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    unproved: int = 0
    edits: list[Edit] = field(default_factory=list)
    dead_edits: list[Edit] = field(default_factory=list)


def plan_conversion(
    inference: Inference, *, gather_oob: OutOfBoundsPolicy, random: RandomPolicy, opset: int
) -> ConversionPlan:
    """Plan the conversion of every node of OpenVINO's domains.

    inference   result of inference with `assume=False`
    gather_oob  treatment of indices that are not proved in bounds, as in `convert`
    random      treatment of layers that draw random numbers, as in `convert`
    opset       version of the ai.onnx domain in the result

    Raises ModelStructureError when the structure of the model makes every rewrite unsafe, ModelReadError when external
    data is missing.
    """
    return _Planner(inference, gather_oob, random, opset).run()


class _Planner:
    def __init__(self, inference: Inference, gather_oob: OutOfBoundsPolicy, random: RandomPolicy, opset: int) -> None:
        self.known = PassInput(inference)
        self.model = MutableModel(self.known)
        self.allow_random = random == "onnx"
        self.gather_oob = gather_oob
        self.opset = opset
        self.plan = ConversionPlan()
        self.inliner = Inliner(self.model.fresh)
        self.declared = inference.declared
        found = find_beam_indices(self.model)
        self.reorders = {(MAIN, position) for one in found for position in one.gathers}
        self.accesses: dict[NodePath, list[Access]] = {}
        for access in inference.accesses:
            self.accesses.setdefault(access.node, []).append(access)
        proto = inference.model.proto
        self.functions = {(f.domain, f.name) for f in proto.functions}
        self.versions = Opsets(proto.opset_import, (), {})

    def run(self) -> ConversionPlan:
        rewritten: set[NodeId] = set()
        for path, body in bodies(self.known.model.proto):
            for position, node in enumerate(body.node):
                if not is_opaque(node) or is_state(node) or (node.domain, node.op_type) in self.functions:
                    continue
                try:
                    if path.root is not Root.GRAPH:
                        raise LoweringRefused("it is in a function or a training graph")
                    self.rewrite(path, position, node)
                    rewritten.add((path, position))
                except (LoweringRefused, SpecViolation) as refusal:
                    where = node_at(self.model.proto, path, position)
                    self.plan.refused.append(Refused(where, node.op_type, self.version(node), str(refusal)))
        self.plan.dead_edits += self.dead_constants(rewritten)
        return self.plan

    def version(self, node: NodeProto) -> int:
        """The OpenVINO opset of `node`; 0 for an operator of an extension set, which has no opsets."""
        if is_extension(node.domain):
            return 0
        domain = node.domain if plain_domain(node.domain) else "openvino"
        return self.versions.version_of(domain) or NEWEST_OPENVINO

    def rewrite(self, path: GraphPath, position: int, node: NodeProto) -> None:
        """Add the edits that lower `node`, which is at `position` of graph `path`, to the plan.

        Raises LoweringRefused when the node has no safe lowering, SpecViolation when it violates its specification.
        """
        if is_extension(node.domain):
            kind = node.domain.rpartition(".")[2]
            raise LoweringRefused(f"OpenVINO has no such operator in the set {kind}")
        version = self.version(node)
        entry = LOWERINGS.find(node.op_type, version)
        if entry is None:
            raise LoweringRefused("it has no lowering")
        where = self.model.node_path(path, position)
        indices, fault = self.indices(where, reorders=(path, position) in self.reorders)
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
            self.plan.unproved += 1
            raise LoweringRefused(fault)
        given = {local: name for local, name in zip(names, node.input, strict=True) if local}
        results = _results(builder, outputs, node.output, given)
        spliced = self.inliner.inline(builder, node.name, given, results)
        if len(spliced.nodes) == 1:
            spliced = replace(spliced, nodes=(_with_metadata_of(node, spliced.nodes[0]),))
        reason = f"{node.op_type}-{version}" + (f", indices {indices}" if indices else "")
        for tensor in spliced.constants:
            self.plan.edits.append(AddInitializer(by=_BY, reason=reason, path=MAIN, tensor=tensor))
        for tensor in spliced.constant_outputs:
            self.plan.edits.append(AddInitializer(by=_BY, reason=reason, path=path, tensor=tensor))
        if spliced.nodes:
            self.plan.edits.append(InsertNodes(by=_BY, reason=reason, path=path, nodes=spliced.nodes, before=position))
        self.plan.edits.append(RemoveNode(by=_BY, reason=reason, path=path, node=position))
        made = tuple(one.op_type for one in spliced.nodes)
        self.plan.converted.append(Converted(where, node.op_type, version, made, indices, node.op_type in RANDOM))

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

    def dead_constants(self, rewritten: Set[NodeId]) -> Iterator[Edit]:
        """Removals of constants that only the nodes in `rewritten` have read."""
        read = {
            (edit.path, name)
            for edit in self.plan.edits
            if isinstance(edit, InsertNodes)
            for node in edit.nodes
            for name in reads_of(node)
        }

        def is_gone(use: Use) -> bool:
            return use.node.source in rewritten and (use.node.graph.path, use.node.inputs[use.index]) not in read

        nodes = [node for node in self.model.nodes if node.source in rewritten]
        names = dict.fromkeys((node.graph, name) for node in nodes for name in node.inputs)
        return find_dead_code(self.model, names, is_gone).edits(_BY)


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
