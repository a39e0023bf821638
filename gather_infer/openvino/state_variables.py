"""State of OpenVINO's models as inputs and outputs: the caller feeds the state that a run returns to the next run.

ReadValue becomes an input, Assign an output. The input has the name of ReadValue's output. If the name of the variable
starts with the name of the input, the rest is the name of the output; else it is `<input>_out`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain
from gather_infer.inference import Inference
from gather_infer.ir import Graph, Model, Node
from gather_infer.model import ModelFile
from gather_infer.model.attributes import attribute_text
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.node_ids import MAIN
from gather_infer.passes import fold
from gather_infer.symbolic import Dim, Expr, known_eq
from gather_infer.tensor import SymbolicTensor

RESET: Final = "reset_state"
"""The input that selects whether variables restart from computed initial values."""

Initial = Literal["none", "constant", "empty", "computed"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A state variable of the model.

    name           `variable_id` in the file
    past, present  names of the input and the output that replace the variable; "" if there is none
    initial        kind of the initial value; see below
    shape          shape of the initial value as text, in symbols of the inputs; "" if unknown
    reset          name of the input that is true when variables restart; "" unless `initial` is "computed"

    Kinds of initial values:

    constant       becomes the default value of the input
    empty          a tensor without elements, which the caller passes
    computed       used when the input `reset` is true
    none           not in the file: OpenVINO starts with zeros, of size 0 along dynamic dims
    """

    name: str
    past: str
    present: str
    initial: Initial
    shape: str = ""
    reset: str = ""


def is_state(node: NodeProto) -> bool:
    """Whether `node` reads or assigns a state variable."""
    return node.op_type in ("ReadValue", "Assign") and canonical_domain(node.domain) == "openvino"


def expose_state(proto: ModelProto, source: ModelFile, inference: Inference) -> tuple[Variable, ...]:
    """Replace ReadValue and Assign in `proto` by inputs and outputs; returns the variables.

    proto      the model, whose other nodes are converted; changed in place
    source     the model file whose directory locates external data
    inference  result of inference on the model before the conversion

    Raises LoweringRefused for state in a body or a function, for a variable that is assigned twice or read with
    different initial values, and for unknown element types.
    """
    for path, body in bodies(proto):
        if path != MAIN and any(map(is_state, body.node)):
            raise LoweringRefused("a variable is read or assigned in the body of a node or in a function")
    graph = proto.graph
    nodes = [node for node in graph.node if is_state(node)]
    if not nodes:
        return ()
    making = _StateRewriter(proto, source, inference)
    reads: dict[str, list[NodeProto]] = {}
    assigns: dict[str, NodeProto] = {}
    for node in nodes:
        name = attribute_text(node, "variable_id", node.name)
        if len(node.output) != 1 or len(node.input) > 1 or (node.op_type == "Assign" and not node.input):
            raise LoweringRefused(f"{node.op_type} of variable {name!r} must have one input and one output")
        if node.op_type == "ReadValue":
            reads.setdefault(name, []).append(node)
        elif name in assigns:
            raise LoweringRefused(f"variable {name!r} is assigned twice")
        else:
            assigns[name] = node
    names = dict.fromkeys((*reads, *assigns))
    found = [making.variable(name, reads.get(name, []), assigns.get(name)) for name in names]
    kept = [one for node in graph.node for one in making.replaced.get(_key(node), [node])]
    copies = [NodeProto.FromString(node.SerializeToString()) for node in kept]
    for node in copies:
        _rename(node, {past: chosen for past, chosen in making.selected.items() if chosen != node.output[0]})
    del graph.node[:]
    graph.node.extend(copies)
    return tuple(found)


def _key(node: NodeProto) -> str:
    return node.output[0] if node.output else ""


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Rename the inputs of `node` and of the nodes in its bodies by `names`, old name -> new name."""
    for position, name in enumerate(node.input):
        node.input[position] = names.get(name, name)
    for attribute in node.attribute:
        for inner in attribute.g.node if attribute.HasField("g") else ():
            _rename(inner, names)


class _StateRewriter:
    """Rewriter of state variables.

    replaced  first output of a ReadValue or Assign -> the nodes that replace the node
    selected  input of a variable with a computed initial value -> the value that readers read instead
    """

    def __init__(self, proto: ModelProto, source: ModelFile, inference: Inference) -> None:
        self.proto = proto
        self.source = source
        self.inference = inference
        self.names = Names(proto)
        self.replaced: dict[str, list[NodeProto]] = {}
        self.selected: dict[str, str] = {}
        self.reset = ""
        self.graph = Model(proto).main
        self.outputs = self.graph.output_set
        self.read = {name for _, body in bodies(proto) for node in body.node for name in node.input} | self.outputs

    def variable(self, name: str, reads: list[NodeProto], assign: NodeProto | None) -> Variable:
        """Add the input and the output of the variable `name`; returns its description.

        reads    its ReadValue nodes
        assign   its Assign node, None if it is never assigned
        """
        graph = self.proto.graph
        if not reads:
            assert assign is not None, "a variable is read or assigned"
            return Variable(name, "", self.assign(name, "", assign, None), "none")
        read = reads[0]
        start = read.input[0] if read.input else ""
        if any(list(one.input) != list(read.input) for one in reads):
            raise LoweringRefused(f"variable {name!r} is read with different initial values")
        constant = self.constant(start) if start else None
        if assign is None and constant is not None:  # never assigned, so it keeps its initial value
            for one in reads:
                self.replaced[one.output[0]] = [helper.make_node("Identity", [start], [one.output[0]], one.name)]
            return Variable(name, "", "", "constant")
        past = read.output[0]
        if past in self.outputs:  # the name is in use for the output
            past = self.names.fresh(f"{past}_past")
        fact = self.tensor(start)
        initial = _initial_kind(start, fact, constant)
        value = self.declare_input(read, past, fact, assign)
        graph.input.append(value)
        for one in reads:
            again = helper.make_node("Identity", [past], [one.output[0]], one.name)
            self.replaced[one.output[0]] = [] if one.output[0] == past else [again]
        if constant is not None:
            held = TensorProto()
            held.CopyFrom(constant)
            held.name = past
            graph.initializer.append(held)
        if initial == "computed":
            self.replaced[read.output[0]].insert(0, self.initial_or_past(read, start, past))
        present = ""
        if assign is not None:
            present = self.assign(name, past, assign, value)
        elif initial == "computed":
            present = self.pass_through(read, past, value)
        shape = "" if fact is None or fact.shape is None else f"[{', '.join(map(str, fact.shape))}]"
        return Variable(name, past, present, initial, shape, self.reset if initial == "computed" else "")

    def tensor(self, name: str) -> SymbolicTensor | None:
        fact = self.inference.get(name) if name else None
        return fact if isinstance(fact, SymbolicTensor) else None

    def assign(self, name: str, past: str, node: NodeProto, read: ValueInfoProto | None) -> str:
        """Make the value that the Assign `node` stores an output of the graph; returns the name of the output.

        name   the variable
        past   name of the input of the variable, "" if it is never read
        read   declaration of the input `past`, None if the variable is never read
        """
        wanted = name.removeprefix(past) if past and name.startswith(past) else ""
        assigned: str = node.input[0]
        present: str
        found = self.graph.producers.get(assigned)
        source = None if found is None else found[0].proto
        made: list[NodeProto] = []
        if wanted == assigned and source is not None and not is_state(source) and assigned not in self.outputs:
            present = assigned
        else:
            present = self.names.fresh(wanted.strip() or f"{past or name}_out")
            made.append(helper.make_node("Identity", [assigned], [present], node.name))
        if node.output[0] in self.read:
            made.append(helper.make_node("Identity", [node.input[0]], [node.output[0]], node.name))
        self.replaced[node.output[0]] = made
        fact = self.tensor(node.input[0])
        dtype = None if fact is None else fact.dtype
        element = read.type.tensor_type.elem_type if dtype is None and read is not None else int(dtype or 0)
        if not element:
            raise LoweringRefused(f"the element type of the value assigned to variable {name!r} is not known")
        value = self.proto.graph.output.add(name=present)
        value.type.tensor_type.elem_type = element
        if fact is not None and fact.shape is not None:
            value.type.tensor_type.shape.SetInParent()
            for size in fact.shape:
                dim = value.type.tensor_type.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size
        return present

    def pass_through(self, read: NodeProto, past: str, value: ValueInfoProto) -> str:
        """Add an output for a variable that is never assigned, so that later runs reuse its computed initial value.

        Returns the name of the output. `past` is the input of the variable, `value` the declaration of that input.
        """
        present: str = self.names.fresh(f"{past}_out")
        self.replaced[read.output[0]].append(helper.make_node("Identity", [past], [present]))
        made = self.proto.graph.output.add(name=present)
        made.type.CopyFrom(value.type)
        return present

    def declare_input(
        self, read: NodeProto, past: str, initial: SymbolicTensor | None, assign: NodeProto | None
    ) -> ValueInfoProto:
        """The declaration of the input `past` of the variable that `read` reads.

        A known dim is a number. Any other dim is the symbol of that dim of `initial`, if the assigned value is known to
        keep it, else a new symbol.
        """
        fact = self.inference.get(read.output[0])
        assert isinstance(fact, SymbolicTensor), "the rule of ReadValue gives a tensor"
        value = ValueInfoProto(name=past)
        tensor = value.type.tensor_type
        if fact.dtype is None:
            raise LoweringRefused(f"the element type of the variable that {past} reads is not known")
        tensor.elem_type = int(fact.dtype)
        if fact.shape is None:
            return value
        rank = len(fact.shape)
        left = fact if assign is None else self.tensor(assign.input[0])
        first, later = _dims(initial, rank), _dims(left, rank)
        tensor.shape.SetInParent()
        for axis, size in enumerate(fact.shape):
            dim = tensor.shape.dim.add()
            begun, after = first[axis], later[axis]
            stays = begun is not None and after is not None and (after == size or known_eq(after, begun) is True)
            if isinstance(size, int):
                dim.dim_value = size
            elif stays and isinstance(begun, Expr) and begun.is_symbol:
                dim.dim_param = str(begun)
            else:
                dim.dim_param = f"{past}.{axis}"
        return value

    def constant(self, name: str) -> TensorProto | None:
        """The value `name` as a tensor, if folding computes it from constants alone; None if it depends on inputs."""
        held, made = self.graph.initializers, self.graph.producers
        if name in held:
            return held[name]
        needed = list(_producing_nodes(self.graph, name))
        read = {value for node in needed for value in _reads(node)}
        if not needed or read - held.keys() - made.keys():
            return None
        needed.sort(key=lambda node: node.order_key)
        piece = GraphProto(name="initial", node=[node.proto for node in needed])
        piece.initializer.extend(held[value] for value in sorted(read & held.keys()))
        piece.output.append(ValueInfoProto(name=name))
        model = ModelProto(ir_version=self.proto.ir_version, graph=piece, opset_import=self.proto.opset_import)
        folded: ModelProto = fold(ModelFile.from_proto(model, self.source.base_dir)).proto
        found: TensorProto | None = next((t for t in folded.graph.initializer if t.name == name), None)
        return found

    def initial_or_past(self, read: NodeProto, start: str, past: str) -> NodeProto:
        """An If that returns the computed initial value `start` if the reset input is true, else the input `past`.

        Adds the reset input if it is missing; `selected` redirects readers of the variable to the output of the If.
        """
        if not self.reset:
            self.reset = self.names.fresh(RESET)
            self.proto.graph.input.append(helper.make_tensor_value_info(self.reset, TensorProto.BOOL, []))
        chosen = self.selected[past] = self.names.fresh(f"{past}_chosen")
        branches = {}
        for branch, value in (("then_branch", start), ("else_branch", past)):
            result = self.names.fresh(f"{past}_{branch}")
            graph = GraphProto(name=branch, node=[helper.make_node("Identity", [value], [result])])
            graph.output.append(ValueInfoProto(name=result))
            branches[branch] = graph
        return helper.make_node("If", [self.reset], [chosen], read.name, **branches)


def _dims(tensor: SymbolicTensor | None, rank: int) -> Sequence[Dim | None]:
    """The dims of `tensor`; a list of `rank` Nones if its rank is unknown or not `rank`."""
    if tensor is None or tensor.shape is None or len(tensor.shape) != rank:
        return [None] * rank
    return tensor.shape


def _initial_kind(start: str, fact: SymbolicTensor | None, constant: TensorProto | None) -> Initial:
    if not start:
        return "none"
    if constant is not None:
        return "constant"
    return "empty" if fact is not None and 0 in (fact.shape or ()) else "computed"


def _producing_nodes(graph: Graph, name: str) -> Iterator[Node]:
    """The nodes of `graph` that compute its value `name` from graph inputs and initializers, its producer first."""
    seen: set[Node] = set()
    pending = [name]
    while pending:
        value = pending.pop()
        found = graph.producers.get(value)
        if value in graph.initializers or found is None or found[0] in seen:
            continue
        seen.add(found[0])
        yield found[0]
        pending += _reads(found[0])


def _reads(node: Node) -> Iterator[str]:
    """The names that a node and its subgraphs read from the graph of the node."""
    yield from filter(None, node.inputs)
    for body in node.bodies:
        yield from body.captures()
