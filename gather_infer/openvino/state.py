"""State of OpenVINO's models as inputs and outputs: what a run leaves is given back to the next one.

ReadValue becomes an input, Assign an output. The input is called like the tensor that ReadValue gives; the output like
the variable without that in front, else `<input>_out`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain
from gather_infer.inference import Inference
from gather_infer.model import ModelFile
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.passes import fold
from gather_infer.tensor import SymbolicTensor

RESET: Final = "reset_state"
"""The input that says whether variables begin anew from values that are computed."""

Initial = Literal["none", "constant", "empty", "computed"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the model.

    name           `variable_id` in the file
    past, present  the input and the output that stand for it; "" where it is never read or never assigned
    initial        what it holds first: "constant" is the default of the input; where it is "empty", without elements,
                   the caller passes such a tensor; "computed" is taken when `reset_state` is true
    shape          of the initial value, in symbols of the inputs; "" where that is not known
    """

    name: str
    past: str
    present: str
    initial: Initial
    shape: str = ""


def is_state(node: NodeProto) -> bool:
    """Whether a node reads or assigns a variable."""
    return node.op_type in ("ReadValue", "Assign") and canonical_domain(node.domain) == "openvino"


def without_state(proto: ModelProto, source: ModelFile, inference: Inference) -> tuple[Variable, ...]:
    """Puts inputs and outputs in the place of ReadValue and Assign, in `proto`.

    proto      converted but for these nodes; changed
    source     where external data are
    inference  of the model before the conversion: what is known of initial values, by name

    Raises LoweringRefused for state in a body.
    """
    for path, body in bodies(proto):
        if path.steps and any(map(is_state, body.node)):
            raise LoweringRefused("a variable is read or assigned in the body of a node")
    graph = proto.graph
    nodes = [node for node in graph.node if is_state(node)]
    if not nodes:
        return ()
    making = _Making(proto, source, inference)
    reads: dict[str, list[NodeProto]] = {}
    assigns: dict[str, NodeProto] = {}
    for node in nodes:
        if node.op_type == "ReadValue":
            reads.setdefault(_variable_id(node), []).append(node)
        else:
            assigns[_variable_id(node)] = node
    names = dict.fromkeys((*reads, *assigns))
    found = [making.variable(name, reads.get(name, []), assigns.get(name)) for name in names]
    kept = [making.replaced.get(node.output[0], node) for node in graph.node]
    copies = [NodeProto.FromString(node.SerializeToString()) for node in kept if node is not None]
    del graph.node[:]
    graph.node.extend(copies)
    return tuple(found)


class _Making:
    def __init__(self, proto: ModelProto, source: ModelFile, inference: Inference) -> None:
        self.proto = proto
        self.source = source
        self.inference = inference
        self.names = Names(proto)
        self.replaced: dict[str, NodeProto | None] = {}  # by the first output
        self.resets = False
        self.held = {tensor.name: tensor for tensor in proto.graph.initializer}
        self.made = {output: node for node in proto.graph.node for output in node.output}
        self.order = {node.output[0]: position for position, node in enumerate(proto.graph.node)}

    def variable(self, name: str, reads: list[NodeProto], assign: NodeProto | None) -> Variable:
        """Adds the input and the output of a variable."""
        graph = self.proto.graph
        if not reads:
            assert assign is not None, "a variable is read or assigned"
            return Variable(name, "", self.assign(name, "", assign), "none")
        read = reads[0]
        past = read.output[0]
        start = read.input[0] if read.input else ""
        if assign is None and start:  # it always holds what it held first
            for one in reads:
                self.replaced[one.output[0]] = helper.make_node("Identity", [start], [one.output[0]], one.name)
            return Variable(name, "", "", "constant")
        fact = self.inference.get(start) if start else None
        fact = fact if isinstance(fact, SymbolicTensor) else None
        constant = self.constant(start) if start else None
        initial = _kind(start, fact, constant)
        for position, one in enumerate(reads):
            again = helper.make_node("Identity", [past], [one.output[0]], one.name)
            self.replaced[one.output[0]] = again if position else None
        graph.input.append(self.declared(past, fact))
        if constant is not None:
            held = TensorProto()
            held.CopyFrom(constant)
            held.name = past
            graph.initializer.append(held)
        if initial == "computed":
            self.replaced[past] = self.choice(read, start, past)
        shape = "" if fact is None or fact.shape is None else f"[{', '.join(map(str, fact.shape))}]"
        return Variable(name, past, "" if assign is None else self.assign(name, past, assign), initial, shape)

    def assign(self, name: str, past: str, node: NodeProto) -> str:
        """Makes what is assigned an output of the graph; its name."""
        wanted = name.removeprefix(past) if past and name.startswith(past) else ""
        assigned = node.input[0]
        outputs = {output.name for output in self.proto.graph.output}
        if wanted == assigned and assigned in self.made and assigned not in outputs:
            present, self.replaced[node.output[0]] = wanted, None
        else:
            present = self.names.fresh(wanted.strip() or f"{past or name}_out")
            self.replaced[node.output[0]] = helper.make_node("Identity", [assigned], [present], node.name)
        value = ValueInfoProto(name=present)
        fact = self.inference.get(assigned)
        if isinstance(fact, SymbolicTensor) and fact.dtype is not None:
            value.type.tensor_type.elem_type = int(fact.dtype)
            if fact.shape is not None:
                value.type.tensor_type.shape.SetInParent()
                for size in fact.shape:
                    dim = value.type.tensor_type.shape.dim.add()
                    if isinstance(size, int):
                        dim.dim_value = size
        self.proto.graph.output.append(value)
        return present

    def declared(self, past: str, initial: SymbolicTensor | None) -> ValueInfoProto:
        """The input: sizes of the variable where they are numbers, names of the initial value where it has some."""
        fact = self.inference.get(past)
        assert isinstance(fact, SymbolicTensor), "the rule of ReadValue gives a tensor"
        value = ValueInfoProto(name=past)
        tensor = value.type.tensor_type
        if fact.dtype is None:
            raise LoweringRefused(f"the element type of the variable that {past} reads is not known")
        tensor.elem_type = int(fact.dtype)
        if fact.shape is None:
            return value
        tensor.shape.SetInParent()
        for axis, size in enumerate(fact.shape):
            dim = tensor.shape.dim.add()
            first = None if initial is None or initial.shape is None else initial.shape[axis]
            if isinstance(size, int):
                dim.dim_value = size
            elif first is not None and not isinstance(first, int) and first.is_symbol:
                dim.dim_param = str(first)
            else:
                dim.dim_param = f"{past}.{axis}"
        return value

    def constant(self, name: str) -> TensorProto | None:
        """The tensor that is computed under a name from constants alone; None when it is not."""
        held, made = self.held, self.made
        if name in held:
            tensor: TensorProto = held[name]
            return tensor
        needed = list(_above(name, made, held))
        read = {value for node in needed for value in node.input if value}
        if not needed or read - held.keys() - made.keys():
            return None
        needed.sort(key=lambda node: self.order[node.output[0]])
        piece = GraphProto(name="initial", node=needed)
        piece.initializer.extend(held[value] for value in sorted(read & held.keys()))
        piece.output.append(ValueInfoProto(name=name))
        model = ModelProto(ir_version=self.proto.ir_version, graph=piece, opset_import=self.proto.opset_import)
        folded: ModelProto = fold(ModelFile.from_proto(model, self.source.base_dir)).proto
        found: TensorProto | None = next((t for t in folded.graph.initializer if t.name == name), None)
        return found

    def choice(self, read: NodeProto, start: str, past: str) -> NodeProto:
        """The node that takes the computed value when the caller begins anew; who reads the variable reads it."""
        if not self.resets:
            self.resets = True
            self.proto.graph.input.append(helper.make_tensor_value_info(RESET, TensorProto.BOOL, []))
        chosen = self.names.fresh(f"{past}_chosen")
        for _, body in bodies(self.proto):
            for node in body.node:
                for position, name in enumerate(node.input):
                    if name == past:
                        node.input[position] = chosen
        branches = {}
        for branch, value in (("then_branch", start), ("else_branch", past)):
            result = self.names.fresh(f"{past}_{branch}")
            graph = GraphProto(name=branch, node=[helper.make_node("Identity", [value], [result])])
            graph.output.append(ValueInfoProto(name=result))
            branches[branch] = graph
        return helper.make_node("If", [RESET], [chosen], read.name, **branches)


def _kind(start: str, fact: SymbolicTensor | None, constant: TensorProto | None) -> Initial:
    if not start:
        return "none"
    if constant is not None:
        return "constant"
    return "empty" if fact is not None and 0 in (fact.shape or ()) else "computed"


def _above(name: str, made: Mapping[str, NodeProto], held: Mapping[str, TensorProto]) -> Iterator[NodeProto]:
    """The nodes that a value is computed by."""
    seen: set[str] = set()
    pending = [name]
    while pending:
        value = pending.pop()
        node = made.get(value)
        if value in held or node is None or node.output[0] in seen:
            continue
        seen.add(node.output[0])
        yield node
        pending += [one for one in node.input if one]


def _variable_id(node: NodeProto) -> str:
    for attribute in node.attribute:
        if attribute.name == "variable_id":
            return attribute.s.decode() if attribute.s else str(attribute.i)
    return node.name
