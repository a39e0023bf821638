"""OpenVINO's Gather inside an ONNX file (the axis is an input) as ONNX's Gather (the axis is an attribute)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from gather_infer.domains import NEWEST_OPENVINO, canonical_domain, plain_domain, qualified
from gather_infer.inference import Access, Inference
from gather_infer.inference.dispatch import Opsets
from gather_infer.model.edits import Edit, InsertNodes, RemoveNode
from gather_infer.model.index import Use
from gather_infer.model.paths import bodies
from gather_infer.passes.dead import find_dead
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.subject import Subject
from gather_infer.places import GraphPath, NodePath, Root
from gather_infer.symbolic import Dim, known_le
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.validate import Kind, combined, verdict

_BY = "openvino.gather"
# OpenVINO's Gather whose indices are all in bounds, with batch_dims 0, is ONNX's with the same axis.
_CASTABLE = frozenset({DType.INT8, DType.INT16, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64})
_GATHERED = frozenset(
    {
        DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64, DType.COMPLEX128, DType.BOOL,
        DType.STRING, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32,
        DType.UINT64,
    }
)  # fmt: skip
_BFLOAT16_SINCE = 13
_NEGATIVE_SINCE = 11


@dataclass(frozen=True, slots=True)
class Converted:
    """A Gather that was rewritten.

    indices   "proved" in bounds for every legal run, or "assumed" to be
    cast      whether a Cast of the indices to int64 was inserted
    """

    node: NodePath
    axis: int
    indices: str
    cast: bool


@dataclass(slots=True)
class GatherPlan:
    """The edits, and the reasons against them; `unproved` of the refusals could be lifted by assuming.

    dead   removals of constants that were only an axis
    """

    converted: list[Converted] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unproved: int = 0
    edits: list[Edit] = field(default_factory=list)
    dead: list[Edit] = field(default_factory=list)


class _Refused(Exception):
    def __init__(self, reason: str, *, unproved: bool = False) -> None:
        super().__init__(reason)
        self.unproved = unproved


def plan_gathers(inference: Inference, *, assume_valid: bool, opset: int) -> GatherPlan:
    """How to rewrite every OpenVINO-style Gather; every other node of OpenVINO's domains is refused.

    assume_valid   take indices that cannot be proved in bounds for valid
    opset          version of the ai.onnx domain in the result

    Raises ModelStructureError when no rewrite of the model is safe, ModelReadError when external data is missing.
    """
    return _Planner(inference, Subject(inference), assume_valid, opset).run()


@dataclass(slots=True)
class _Planner:
    inference: Inference
    known: Subject
    assume_valid: bool
    opset: int
    plan: GatherPlan = field(default_factory=GatherPlan)
    accesses: dict[NodePath, list[Access]] = field(default_factory=dict)

    def run(self) -> GatherPlan:
        for access in self.inference.accesses:
            self.accesses.setdefault(access.node, []).append(access)
        proto = self.inference.model.proto
        functions = {(f.domain, f.name) for f in proto.functions}
        versions = Opsets(proto.opset_import, (), {})
        rewritten: dict[GraphPath, set[int]] = {}
        for path, body in bodies(proto):
            for position, node in enumerate(body.node):
                if not is_openvino(node) or (node.domain, node.op_type) in functions:
                    continue
                where = self.known.node(path, position)
                try:
                    if path.root is not Root.GRAPH:
                        raise _Refused("it is in a function or a training graph")
                    domain = node.domain if plain_domain(node.domain) else "openvino"
                    self.rewrite(path, position, node, where, versions.version_of(domain) or NEWEST_OPENVINO)
                    rewritten.setdefault(path, set()).add(position)
                except _Refused as refusal:
                    op = qualified(node.domain, node.op_type)
                    self.plan.refused.append(f"{where} ({op}): {refusal}")
                    self.plan.unproved += refusal.unproved
        if not self.plan.refused:
            self.plan.dead += self.dead_axes(rewritten)
        return self.plan

    def rewrite(self, path: GraphPath, position: int, node: NodeProto, where: NodePath, version: int) -> None:
        """Add the edits for one node. Raises _Refused."""
        if node.op_type != "Gather":
            raise _Refused("only Gather is converted")
        if len(node.input) != 3 or len(node.output) != 1 or not all(node.input):
            raise _Refused(f"it must have 3 inputs and 1 output, has {len(node.input)} and {len(node.output)}")
        data, indices = (self.fact(path, name) for name in node.input[:2])
        self.check_attributes(node, indices)
        if data.dtype not in _GATHERED:
            raise _Refused(f"ONNX's Gather does not take data of type {data.dtype or '? (not known)'}")
        if data.dtype is DType.BFLOAT16 and self.opset < _BFLOAT16_SINCE:
            raise _Refused(f"data of type bfloat16 needs opset {_BFLOAT16_SINCE}, the model imports {self.opset}")
        axis = self.axis(path, node.input[2], data)
        needs_cast = indices.dtype not in (DType.INT32, DType.INT64)
        if needs_cast and indices.dtype not in _CASTABLE:
            raise _Refused(f"indices of type {indices.dtype or '? (not known)'} cannot be cast to int64")
        size = None if data.shape is None else data.shape[axis]
        found = self.indices(path, where, node.input[1], indices, size, version)
        nodes = self.nodes(node, where, axis, needs_cast)
        reason = f"OpenVINO's Gather-{version}, indices {found}"
        edits = (
            InsertNodes(by=_BY, reason=reason, path=path, nodes=nodes, before=position),
            RemoveNode(by=_BY, reason=reason, path=path, node=position),
        )
        self.plan.edits += edits
        self.plan.converted.append(Converted(where, axis, found, needs_cast))

    def fact(self, path: GraphPath, name: str) -> SymbolicTensor:
        home = self.known.index.home(path, name)
        value = None if home is None or home.path not in self.known.graphs else self.known.facts(home.path).get(name)
        return value if isinstance(value, SymbolicTensor) else SymbolicTensor()

    def check_attributes(self, node: NodeProto, indices: SymbolicTensor) -> None:
        for attribute in node.attribute:
            if attribute.name != "batch_dims":
                raise _Refused(f"attribute {attribute.name} is not one of OpenVINO's Gather")
            # OpenVINO counts a negative batch_dims from the rank of indices, not of data.
            if attribute.i != 0 and not (indices.rank is not None and attribute.i == -indices.rank):
                raise _Refused(f"batch_dims = {attribute.i}, only 0 is converted")

    def axis(self, path: GraphPath, name: str, data: SymbolicTensor) -> int:
        """The axis, counted from the front when the rank of data is known."""
        constant = self.known.load(path, name)
        numbers = None if constant is None else _numbers(constant)
        fact = self.fact(path, name)
        if numbers is None and fact.values is not None and all(type(v) is int for v in fact.values.ravel().tolist()):
            numbers = fact.values
        if numbers is None:
            raise _Refused(f"axis {name} is not constant")
        if numbers.size != 1:
            raise _Refused(f"axis must have one element, has {numbers.size}")
        axis = int(numbers.reshape(-1)[0])
        if data.rank is None:
            return axis
        if not -data.rank <= axis < data.rank:
            raise _Refused(f"axis = {axis} is outside [{-data.rank}, {data.rank - 1}], data has rank {data.rank}")
        return axis % data.rank

    def indices(
        self, path: GraphPath, where: NodePath, name: str, indices: SymbolicTensor, size: Dim | None, version: int
    ) -> str:
        """ "proved" or "assumed": where OpenVINO writes zeros for an index out of bounds, ONNX fails.

        Raises _Refused for a constant index out of bounds, and for what is not proved unless it may be assumed.
        """
        constant = self.known.load(path, name)
        numbers = None if constant is None else _numbers(constant)
        if numbers is not None and numbers.size:
            self.check_constant(int(numbers.min()), int(numbers.max()), size, version)
        allow_negative = self.opset >= _NEGATIVE_SINCE
        judged = [verdict(access, allow_negative=allow_negative) for access in self.accesses.get(where, ())]
        found = combined(judged) if judged else None
        if found is not None and found.kind is Kind.PROVED:
            return "proved"
        if self.assume_valid:
            return "assumed"
        axis = "of unknown length" if size is None else f"of length {size}"
        if found is not None and found.conditions:
            known = f"only for {found.condition}" if found.tight else f"for {found.condition}, else not known to be"
            raise _Refused(f"in bounds of an axis {axis} {known}: {found.reason}", unproved=True)
        why = "the node was not reached" if found is None else found.reason
        raise _Refused(f"the indices are not proved in bounds of an axis {axis}: {why}", unproved=True)

    def check_constant(self, least: int, most: int, size: Dim | None, version: int) -> None:
        """Raise _Refused for constant indices that ONNX has no equal for."""
        if least < 0 and version < 8:
            raise _Refused(f"index {least} is negative, which Gather-{7 if version == 7 else 1} does not define")
        if least < 0 and self.opset < _NEGATIVE_SINCE:
            raise _Refused(f"index {least} is negative, which needs opset {_NEGATIVE_SINCE}")
        if size is None:
            return
        for index, inside in ((least, known_le(-size, least)), (most, known_le(most, size - 1))):
            if inside is False:
                raise _Refused(f"index {index} is outside an axis of length {size}: OpenVINO gives zeros, ONNX fails")

    def nodes(self, node: NodeProto, where: NodePath, axis: int, needs_cast: bool) -> tuple[NodeProto, ...]:
        """The Gather in ONNX's form, with name, doc string, metadata and unknown fields of the node it stands for."""
        gather = NodeProto()
        gather.CopyFrom(node)
        gather.ClearField("domain")
        del gather.input[2:]
        del gather.attribute[:]
        gather.attribute.append(helper.make_attribute("axis", axis))
        if not needs_cast:
            return (gather,)
        cast = self.known.index.fresh(f"{node.input[1]}_int64")
        gather.input[1] = cast
        name = self.known.index.fresh(f"{where}_Cast")
        return helper.make_node("Cast", [node.input[1]], [cast], name=name, to=TensorProto.INT64), gather

    def dead_axes(self, rewritten: Mapping[GraphPath, set[int]]) -> Iterator[Edit]:
        """Removals of constants that were only the axis of rewritten nodes."""

        def is_gone(path: GraphPath, use: Use) -> bool:
            return use.input == 2 and use.node in rewritten.get(path, ())

        axes = [(path, self.known.graphs[path].node[p].input[2]) for path, at in rewritten.items() for p in sorted(at)]
        return find_dead(self.known, axes, is_gone).edits(_BY)


def is_openvino(node: NodeProto) -> bool:
    """A node of OpenVINO's domains, or a Gather with the axis as an input that stands in the default one."""
    domain = canonical_domain(node.domain)
    return domain == "openvino" or (domain == "" and node.op_type == "Gather" and len(node.input) == 3)


def _numbers(constant: Constant) -> np.ndarray[Any, Any] | None:
    """The elements of an integer constant of any width, None for another type."""
    dtype = DType(constant.data_type)
    if not dtype.is_integer:
        return None
    signed = "i" if str(dtype).startswith("int") else "u"
    return constant.bits.view(f"<{signed}{constant.bits.itemsize}")
