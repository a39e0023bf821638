"""A second export of the same network at other sizes, matched with the first by position in the graph.

Names may differ between two exports, and constants that were equal may have been shared in one of them. So the graphs
are followed from their outputs: the producers of two matched values are matched, and so are their operands. A constant
that is the same in both is not the size. One that differs stands for it, and has to be explained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, helper

from gather_infer.domains import plain_domain
from gather_infer.errors import UsageError
from gather_infer.inference import infer
from gather_infer.inference.topology import captured
from gather_infer.ir import Model
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN
from gather_infer.rules import RuleSet
from gather_infer.tensor import Shape, SymbolicTensor, Value
from gather_infer.unfreezing.declared_types import without_sizes
from gather_infer.unfreezing.sizes.computed_sizes import Site

Array = np.ndarray[Any, Any]
PADDED: Final = frozenset({"Conv", "QLinearConv", "ConvInteger", "MaxPool", "AveragePool", "LpPool", "Pad"})
"""Operators whose paddings may follow the size, as numbers or as the attribute `auto_pad`."""


class DifferingOperand(NamedTuple):
    """A constant operand of a node whose elements are `mine` in the first model and `other` in the second."""

    position: int
    mine: Array
    other: Array


@dataclass
class Counterpart:
    """A second static model, by the names of the first one.

    model       the second model
    sizes       symbol -> the size in the second model
    facts       value of the first model -> its facts in the second
    differing   node of the first model, by its first output -> the constant operands that differ
    padded      node of the first model, by its first output -> that of the second, if paddings may differ
    equal       the constant operands that are the same, as pairs of a first output and a position
    """

    model: ModelFile
    sizes: Mapping[str, int]
    facts: dict[str, Value] = field(default_factory=dict)
    differing: dict[str, list[DifferingOperand]] = field(default_factory=dict)
    padded: dict[str, NodeProto] = field(default_factory=dict)
    equal: set[tuple[str, int]] = field(default_factory=set)

    def shape(self, name: str) -> Shape | None:
        fact = self.facts.get(name)
        return fact.shape if isinstance(fact, SymbolicTensor) else None


def counterpart(
    source: ModelFile,
    other: ModelFile,
    sites: Mapping[str, Sequence[Site]],
    freed: Mapping[str, int],
    rules: Sequence[RuleSet],
) -> Counterpart:
    """The second model, matched with the first. Raises UsageError if it is not the same network at other sizes."""
    other.require_data()
    found = Counterpart(other, _sizes(source.proto, other, sites, freed))
    facts = infer(other, rules=rules, assume=False)
    if facts.errors:
        raise UsageError(f"{other.name}: {facts.errors[0].message}")
    _Matching(source, other, found, facts.scopes[MAIN]).run()
    return found


def _sizes(
    proto: ModelProto, other: ModelFile, sites: Mapping[str, Sequence[Site]], freed: Mapping[str, int]
) -> dict[str, int]:
    mine, its = fed_inputs(proto), fed_inputs(other.proto)
    if len(mine) != len(its):
        raise UsageError(f"{other.name}: the number of inputs is {len(its)}, not {len(mine)}: another network")
    named = {site: symbol for symbol, found in sites.items() for site in found}
    sizes: dict[str, int] = {}
    for one, two in zip(mine, its, strict=True):
        dims, others = one.type.tensor_type.shape.dim, two.type.tensor_type.shape.dim
        if len(dims) != len(others) or one.type.tensor_type.elem_type != two.type.tensor_type.elem_type:
            raise UsageError(f"{other.name}: its input {two.name} has another type than {one.name}: another network")
        for axis, (dim, second) in enumerate(zip(dims, others, strict=True)):
            symbol = named.get(Site(one.name, axis))
            if symbol is None and dim.dim_value != second.dim_value:
                raise UsageError(
                    f"{other.name}: {two.name}.{axis} is {second.dim_value or second.dim_param}, not"
                    f" {dim.dim_value or dim.dim_param}, and no --dim names it"
                )
            if symbol is None or symbol not in freed:
                continue
            size, place = second.dim_value, f"{two.name}.{axis}"
            if size < 1:
                raise UsageError(f"{other.name}: {place} is {second.dim_param or 'unknown'}, not a number")
            if sizes.setdefault(symbol, size) != size:
                raise UsageError(f"{other.name}: {place} is {size}, but {symbol} is {sizes[symbol]}")
    for symbol, size in freed.items():
        if sizes.get(symbol, size) == size:
            raise UsageError(
                f"{other.name}: {symbol} is {size} in both models; take an export with another {symbol}, or omit --like"
            )
    return sizes


class _Matching:
    """Two graphs followed from their outputs to their inputs."""

    def __init__(self, source: ModelFile, other: ModelFile, found: Counterpart, facts: Mapping[str, Value]) -> None:
        self.files, self.found, self.facts = (source, other), found, facts
        graphs = source.proto.graph, other.proto.graph
        self.producers = [Model(file.proto).main.producers for file in self.files]
        self.constants = [{t.name: t for t in g.initializer} for g in graphs]
        self.inputs = [{v.name: at for at, v in enumerate(fed_inputs(file.proto))} for file in self.files]
        self.pairs: dict[str, str] = {}
        self.pending: list[tuple[str, str, str]] = []

    def run(self) -> None:
        mine, its = (file.proto for file in self.files)
        functions = [sorted(f.SerializeToString(deterministic=True) for f in proto.functions) for proto in (mine, its)]
        if functions[0] != functions[1]:
            self._differ("", "the functions of the models differ")
        if len(mine.graph.output) != len(its.graph.output):
            self._differ("", f"{len(its.graph.output)} outputs, not {len(mine.graph.output)}")
        for one, two in zip(mine.graph.output, its.graph.output, strict=True):
            self.pending.append((one.name, two.name, f"output {one.name}"))
        while self.pending:
            self._match(*self.pending.pop())

    def _match(self, one: str, two: str, where: str) -> None:
        if one in self.pairs:
            if self.pairs[one] != two:
                self._differ(where, f"it reads {one}, there a value that is not its counterpart")
            return
        self.pairs[one] = two
        if two in self.facts:
            self.found.facts[one] = self.facts[two]
        places = [inputs.get(name) for inputs, name in zip(self.inputs, (one, two), strict=True)]
        if places[0] != places[1]:
            self._differ(where, f"it reads {one}, there {two}")
        if places[0] is not None:
            return
        first, second = self._producer(0, one), self._producer(1, two)
        if first is None or second is None:
            if self._array(0, one) is None or self._array(1, two) is None:
                self._differ(where, f"{one} is {_kind(first)}, there {two} is {_kind(second)}")
            return
        if (first.op_type, plain_domain(first.domain)) != (second.op_type, plain_domain(second.domain)):
            self._differ(where, f"it reads a {first.op_type}, there a {second.op_type}")
        if list(first.output).index(one) != list(second.output).index(two) or len(first.input) != len(second.input):
            self._differ(where, f"its {first.op_type} has other operands there")
        if first.op_type != "Constant":
            self._match_nodes(first, second)

    def _match_nodes(self, first: NodeProto, second: NodeProto) -> None:
        label = f"node {first.name or first.output[0]} ({first.op_type})"
        held = [{a.name: _plain(a) for a in without_sizes(node).attribute} for node in (first, second)]
        if first.op_type in PADDED and not plain_domain(first.domain):
            pads = [[each.pop(name, b"") for name in ("pads", "auto_pad")] for each in held]
            if first.op_type == "Pad" or pads[0] != pads[1]:
                self.found.padded[first.output[0]] = self._with_known_pads(second)
        for name in sorted(held[0].keys() | held[1].keys()):
            if held[0].get(name) != held[1].get(name):
                self._differ(label, f"its attribute {name} differs, which is not edited")
        inner = [(name, name) for name in sorted(captured(first) | captured(second))]
        for position, (one, two) in enumerate([*zip(first.input, second.input, strict=True), *inner]):
            if bool(one) != bool(two):
                self._differ(label, f"operand {position} is left out in one of them")
            if not one:
                continue
            arrays = self._array(0, one), self._array(1, two)
            if arrays[0] is None and arrays[1] is None:
                self.pending.append((one, two, label))
            elif arrays[0] is None or arrays[1] is None:
                self._differ(label, f"operand {position} is a constant in one of them alone")
            elif _is_same(arrays[0], arrays[1]):
                self.found.equal.add((first.output[0], position))
            elif position >= len(first.input):
                self._differ(label, f"its subgraphs read {one}, which differs")
            else:
                found = DifferingOperand(position, arrays[0], arrays[1])
                self.found.differing.setdefault(first.output[0], []).append(found)

    def _with_known_pads(self, node: NodeProto) -> NodeProto:
        """The node of the second model; a Pad with its paddings as attributes, for all axes of the data."""
        pads = self._array(1, node.input[1]) if node.op_type == "Pad" and len(node.input) > 1 else None
        fact = self.facts.get(node.input[0])
        if pads is None or not isinstance(fact, SymbolicTensor) or fact.shape is None:
            return node
        given = self._array(1, node.input[3]) if len(node.input) > 3 and node.input[3] else None
        rank = len(fact.shape)
        axes = list(range(rank)) if given is None else [int(axis) % rank for axis in given.ravel()]
        numbers = [0] * 2 * rank
        for at, axis in enumerate(axes):
            numbers[axis], numbers[axis + rank] = int(pads.flat[at]), int(pads.flat[at + len(axes)])
        return helper.make_node("Pad", node.input[:1], node.output, pads=numbers)

    def _producer(self, which: int, name: str) -> NodeProto | None:
        found = self.producers[which].get(name)
        return None if found is None else found[0].proto

    def _array(self, which: int, name: str) -> Array | None:
        tensor = self.constants[which].get(name)
        node = self._producer(which, name)
        if tensor is None and node is not None and node.op_type == "Constant" and plain_domain(node.domain) == "":
            attribute = node.attribute[0]
            if attribute.name != "value":
                kind: Any = np.float32 if "float" in attribute.name else np.int64
                is_list = attribute.name.endswith("s")
                return np.array((attribute.floats or attribute.ints) if is_list else attribute.f or attribute.i, kind)
            tensor = attribute.t
        return None if tensor is None else self.files[which].tensor(tensor)

    def _differ(self, where: str, reason: str) -> None:
        name = self.files[1].name
        raise UsageError(f"{name} is not the same graph at another size: {where}{': ' if where else ''}{reason}")


def _plain(attribute: AttributeProto) -> bytes:
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.doc_string = ""
    return bytes(copy.SerializeToString(deterministic=True))


def _kind(node: NodeProto | None) -> str:
    return "a constant" if node is None else f"a result of {node.op_type}"


def _is_same(one: Array, two: Array) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
