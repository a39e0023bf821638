"""State of OpenVINO's models as inputs and outputs: the caller feeds the state that a run returns to the next run.

ReadValue becomes an input, Assign an output. The input has the name of ReadValue's output. If the name of the variable
starts with the name of the input, the rest is the name of the output; else it is `<input>_out`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain
from gather_infer.inference import Inference
from gather_infer.ir import Graph, Model, Node, Value
from gather_infer.ir.write_back import message_of, to_proto
from gather_infer.model import ModelFile
from gather_infer.model.attributes import attribute_text
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root
from gather_infer.passes import fold
from gather_infer.symbolic import Dim, Expr, known_eq
from gather_infer.tensor import SymbolicTensor

RESET: Final = "reset_state"
"""The input that selects whether variables restart from computed initial values."""

_DEFAULTS_SINCE: Final = 4
"""The first IR version in which callers can feed an input that has an initializer."""

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


def expose_state(model: Model, source: ModelFile, inference: Inference) -> tuple[Variable, ...]:
    """Replace ReadValue and Assign in `model` by inputs and outputs; returns the variables.

    model      the IR, whose other nodes are converted
    source     the model file whose directory locates external data
    inference  result of inference on the model before the conversion

    Raises LoweringRefused for state in a body, a function or a training graph, for a variable that is assigned twice or
    read with different initial values, for unknown element types, and for a constant initial value before IR version 4.
    """
    nodes = [node for node in model.nodes if is_state(node.proto)]
    if any(node.graph is not model.main for node in nodes):
        raise LoweringRefused("a variable is read or assigned in the body of a node or in a function")
    training = (body for path, body in bodies(model.proto) if path.root in (Root.INITIALIZATION, Root.ALGORITHM))
    if any(is_state(node) for body in training for node in body.node):
        raise LoweringRefused("a variable is read or assigned in a training graph")
    making = _StateRewriter(model, source, inference)
    reads: dict[str, list[Node]] = {}
    assigns: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.order_key):
        name = _variable_of(node)
        is_read = node.op_type == "ReadValue"
        if len(node.outputs) != 1 or len(node.inputs) > 1 or not (node.outputs[0] if is_read else node.inputs):
            raise LoweringRefused(f"{node.op_type} of variable {name!r} must have one input and one output")
        if is_read:
            reads.setdefault(name, []).append(node)
        elif name in assigns:
            raise LoweringRefused(f"variable {name!r} is assigned twice")
        else:
            assigns[name] = node
    names = dict.fromkeys((*reads, *assigns))
    return tuple(making.variable(name, reads.get(name, []), assigns.get(name)) for name in names)


class _StateRewriter:
    """Rewriter of state variables; `reset` is the input that selects their initial values, "" if there is none."""

    def __init__(self, model: Model, source: ModelFile, inference: Inference) -> None:
        self.model = model
        self.graph = model.main
        self.source = source
        self.inference = inference
        self.names = Names(to_proto(model))  # the names of layers that are gone are free
        self.reset = ""

    def variable(self, name: str, reads: list[Node], assign: Node | None) -> Variable:
        """Add the input and the output of the variable `name`; returns its description.

        reads    its ReadValue nodes
        assign   its Assign node, None if it is never assigned
        """
        if not reads:
            assert assign is not None, "a variable is read or assigned"
            return Variable(name, "", self.assign(name, "", assign, None), "none")
        read = reads[0]
        start = read.inputs[0] if read.inputs else ""
        if any(one.inputs != read.inputs for one in reads):
            raise LoweringRefused(f"variable {name!r} is read with different initial values")
        constant = self.constant(start) if start else None
        if assign is None and constant is not None:  # never assigned, so it keeps its initial value
            for one in reads:
                self.replace(one, _identity(start, one.outputs[0], one.name))
            return Variable(name, "", "", "constant")
        if constant is not None and self.model.proto.ir_version < _DEFAULTS_SINCE:
            raise LoweringRefused(
                f"variable {name!r} has an initial value, which an input can have since IR version {_DEFAULTS_SINCE}"
            )
        past = read.outputs[0]
        if past in self.graph.output_set:  # the name is in use for the output
            past = self.names.fresh(f"{past}_past")
        fact = self.tensor(read.proto.input[0] if start else "")  # `start` may be the If of another variable
        initial = _initial_kind(start, fact, constant)
        value = self.declare_input(read, past, fact, assign)
        for one in reads:
            self.replace(one)
        self.model.add_input(self.graph, value, _named(constant, past), _why(read))
        current = self.add_choice(read, start, past) if initial == "computed" else past
        for one in reads:
            if one.outputs[0] != past:
                self.model.add(self.graph, _identity(current, one.outputs[0], one.name), one, _why(one))
        present = ""
        if assign is not None:
            present = self.assign(name, past, assign, value)
        elif initial == "computed":
            present = self.pass_through(read, past, current, value)
        shape = "" if fact is None or fact.shape is None else f"[{', '.join(map(str, fact.shape))}]"
        return Variable(name, past, present, initial, shape, self.reset if initial == "computed" else "")

    def replace(self, node: Node, *nodes: NodeProto) -> None:
        self.model.replace(node, nodes, _why(node))

    def tensor(self, name: str) -> SymbolicTensor | None:
        fact = self.inference.get(name) if name else None
        return fact if isinstance(fact, SymbolicTensor) else None

    def assign(self, name: str, past: str, node: Node, read: ValueInfoProto | None) -> str:
        """Make the value that the Assign `node` stores an output of the graph; returns the name of the output.

        name   the variable
        past   name of the input of the variable, "" if it is never read
        read   declaration of the input `past`, None if the variable is never read
        """
        graph = self.graph
        wanted = name.removeprefix(past) if past and name.startswith(past) else ""
        assigned, result = node.inputs[0], node.outputs[0]
        found = graph.producers.get(assigned)
        is_read = bool(graph.readers.get(result)) or result in graph.output_set
        made: list[NodeProto] = []
        if (
            wanted == assigned
            and found is not None
            and not is_state(found[0].proto)
            and assigned not in graph.output_set
        ):
            present = assigned
        else:
            present = self.names.fresh(wanted.strip() or f"{past or name}_out")
            made.append(_identity(assigned, present, node.name))
        if is_read:
            made.append(_identity(assigned, result, node.name))
        self.replace(node, *made)
        fact = self.tensor(node.proto.input[0])
        dtype = None if fact is None else fact.dtype
        element = read.type.tensor_type.elem_type if dtype is None and read is not None else int(dtype or 0)
        if not element:
            raise LoweringRefused(f"the element type of the value assigned to variable {name!r} is not known")
        value = ValueInfoProto(name=present)
        value.type.tensor_type.elem_type = element
        if fact is not None and fact.shape is not None:
            value.type.tensor_type.shape.SetInParent()
            for size in fact.shape:
                dim = value.type.tensor_type.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size
        self.model.add_output(graph, value, _why(node))
        return present

    def pass_through(self, read: Node, past: str, current: str, value: ValueInfoProto) -> str:
        """Add an output for a variable that is never assigned, so that later runs reuse its computed initial value.

        current   the value of the variable in this run
        value     the declaration of its input `past`

        Returns the name of the output.
        """
        present = self.names.fresh(f"{past}_out")
        self.model.add(self.graph, _identity(current, present, ""), read, _why(read))
        self.model.add_output(self.graph, ValueInfoProto(name=present, type=value.type), _why(read))
        return present

    def declare_input(
        self, read: Node, past: str, initial: SymbolicTensor | None, assign: Node | None
    ) -> ValueInfoProto:
        """The declaration of the input `past` of the variable that `read` reads.

        A known dim is a number. Any other dim is the symbol of that dim of `initial`, if the assigned value is known to
        keep it, else a new symbol.
        """
        fact = self.inference.get(read.outputs[0])
        assert isinstance(fact, SymbolicTensor), "the rule of ReadValue gives a tensor"
        value = ValueInfoProto(name=past)
        tensor = value.type.tensor_type
        if fact.dtype is None:
            raise LoweringRefused(f"the element type of the variable that {past} reads is not known")
        tensor.elem_type = int(fact.dtype)
        if fact.shape is None:
            return value
        rank = len(fact.shape)
        left = fact if assign is None else self.tensor(assign.proto.input[0])
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
        graph = self.graph
        held = self.constant_tensor(name)
        if held is not None:
            return held
        needed = list(_producing_nodes(graph, name))
        read = sorted({value for node in needed for value in _reads(node) if value not in graph.producers})
        tensors = [self.constant_tensor(value) for value in read]
        if not needed or None in tensors:
            return None
        needed.sort(key=lambda node: node.order_key)
        piece = GraphProto(name="initial", node=[message_of(self.model, node) for node in needed])
        piece.initializer.extend(tensors)
        piece.output.append(ValueInfoProto(name=name))
        model = ModelProto(ir_version=self.model.proto.ir_version, graph=piece)
        model.opset_import.extend(helper.make_opsetid(*entry) for entry in self.model.imported_opsets().items())
        folded: ModelProto = fold(ModelFile.from_proto(model, self.source.base_dir)).proto
        return next((tensor for tensor in folded.graph.initializer if tensor.name == name), None)

    def constant_tensor(self, name: str) -> TensorProto | None:
        """The elements of an initializer that callers cannot override; None for any other value."""
        return self.graph.tensor(name) if name in self.graph.constants else None

    def add_choice(self, read: Node, start: str, past: str) -> str:
        """Add an If that returns the computed initial value `start` if the reset input is true, else the input `past`.

        Adds the reset input if it is missing. Returns the output of the If; all readers of `past` read it instead.
        """
        model, why = self.model, _why(read)
        if not self.reset:
            self.reset = self.names.fresh(RESET)
            model.add_input(self.graph, helper.make_tensor_value_info(self.reset, TensorProto.BOOL, []), None, why)
        chosen = self.names.fresh(f"{past}_chosen")
        branches = {}
        for branch, value in (("then_branch", start), ("else_branch", past)):
            result = self.names.fresh(f"{past}_{branch}")
            graph = GraphProto(name=branch, node=[_identity(value, result, "")])
            graph.output.append(ValueInfoProto(name=result))
            branches[branch] = graph
        made = model.add(self.graph, helper.make_node("If", [self.reset], [chosen], read.name, **branches), read, why)
        for use in list(Value(self.graph, past).uses()):
            if use.node.graph.owner is not made:
                model.set_input(use.node, use.index, chosen, why)
        return chosen


def _identity(value: str, result: str, name: str) -> NodeProto:
    """An Identity called `name`, without a name if it is ""."""
    return helper.make_node("Identity", [value], [result], name or None)


def _named(tensor: TensorProto | None, name: str) -> TensorProto | None:
    if tensor is None:
        return None
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


def _variable_of(node: Node) -> str:
    """The variable that a ReadValue or Assign refers to."""
    return attribute_text(node.proto, "variable_id", node.name)


def _why(node: Node) -> str:
    return f"{node.op_type} of variable {_variable_of(node)!r}"


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
        found = graph.producers.get(pending.pop())
        if found is None or found[0] in seen:
            continue
        seen.add(found[0])
        yield found[0]
        pending += _reads(found[0])


def _reads(node: Node) -> Iterator[str]:
    """The names that a node and its subgraphs read from the graph of the node."""
    yield from filter(None, node.inputs)
    for body in node.bodies:
        yield from body.captures()
