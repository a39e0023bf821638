"""Loop and TensorIterator layers as Loop nodes of ONNX, whose bodies hold dialect nodes and capture outer values.

The reader does not know ranks, so it keeps negative axes. Parts concatenated along an axis become scan outputs of the
Loop, stacked along axis 0; a node `ConcatParts` of the dialect after the Loop concatenates them:

    parts   [trips, d0, ..., dr-1]
    output  [d0, ..., trips * d_axis, ..., dr-1], the parts concatenated along `axis` of a part, in reverse if `reverse`

https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/loop-5.html
https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/tensor-iterator-1.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from onnx import AttributeProto, NodeProto, TensorProto, helper

from gather_infer.openvino.ir.branches import control_node, output_port
from gather_infer.openvino.ir.graph_builder import READER_DOMAIN, GraphBuilder, declare
from gather_infer.openvino.ir.ir_element_types import is_integer, onnx_type
from gather_infer.openvino.ir.layers import IRLayer
from gather_infer.openvino.ir.port_map import LayerBody, PortMapEntry, read_body
from gather_infer.openvino.ir.shape_syntax import partial_shape

PARTS: Final = "ConcatParts"
FOREVER: Final = 2**63 - 1
_FILLED: Final = frozenset(
    ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean")
)  # fmt: skip
"""Element types for which onnxruntime has a kernel of ConstantOfShape."""


def add_loop(builder: GraphBuilder, layer: IRLayer) -> GraphBuilder:
    """Add the Loop node for `layer`, a Loop or TensorIterator; returns the builder of its body, not yet written."""
    return _LoopBuilder(builder, layer, read_body(layer)).add()


@dataclass(slots=True)
class _LoopBuilder:
    """Builder of the Loop node for a Loop or TensorIterator layer.

    outer     builder of the graph around the Loop
    begins    id of the Parameter of a sliced input -> value of its `start` position, a one-element vector; "" for 0
    counts    values of the number of parts of each sliced input, one-element vectors
    states    (Parameter, its name in the body, its initial value) for each loop-carried value
    invariant output port of a Parameter -> the outer value that it has in every iteration
    stacked   Results that become scan outputs
    counter, condition_name   names of the first two inputs of the body
    """

    outer: GraphBuilder
    layer: IRLayer
    body: LayerBody
    begins: dict[str, str] = field(default_factory=dict)
    counts: list[str] = field(default_factory=list)
    states: list[tuple[IRLayer, str, str]] = field(default_factory=list)
    invariant: dict[tuple[str, str], str] = field(default_factory=dict)
    stacked: list[IRLayer] = field(default_factory=list)
    counter: str = ""
    condition_name: str = ""

    def add(self) -> GraphBuilder:
        layer, outer, body = self.layer, self.outer, self.body
        inputs = outer.inputs(layer)
        values = {port.id: value for port, value in zip(layer.inputs, inputs, strict=True)}
        for entry in body.inputs:
            if entry.axis is not None:
                self.measure_slices(entry, values)
        limits = self.limits(inputs)
        node = control_node(outer, layer, "Loop")
        held = node.attribute.add(name="body", type=AttributeProto.GRAPH)
        held.g.name = f"{layer.name}/body"
        inner = GraphBuilder(outer.context, held.g, body.network)
        self.counter, self.condition_name = (outer.context.names.fresh(f"{layer.name}.{end}") for end in ("i", "cond"))
        for entry in body.inputs:
            self.bind_parameter(entry, values, inner)
        bound = {state.id for state, _, _ in self.states}
        for parameter in body.back.keys() - bound:
            raise layer.error(f"a back edge leads to internal layer {parameter}, no input does")
        declare(held.g.input, self.counter, "i64", ())
        declare(held.g.input, self.condition_name, "boolean", ())
        for state, name, _ in self.states:
            declare(held.g.input, name, _element(state))
        node.input.extend((*limits, *(first for _, _, first in self.states)))
        self.add_outputs(node)
        inner.finish = self.finish
        return inner

    # before the loop

    def measure_slices(self, entry: PortMapEntry, values: dict[str, str]) -> None:
        """Add nodes that compute the begin of the first part of the sliced input `entry`, and the number of parts.

        `values` maps ids of input ports of the layer to values; results are kept in `begins` and `counts`.
        """
        axis, outer, stem = entry.axis, self.outer, self.layer.name
        if entry.port is None or axis is None:
            raise self.layer.error("a sliced input without a port")
        ends = {} if axis == -1 else {"end": axis + 1}
        size = outer.node("Shape", [values[entry.port]], f"{stem}.size", start=axis, **ends)

        def position(index: int) -> str:
            if index >= 0:
                return outer.context.constant([index])
            return (
                size if index == -1 else outer.node("Add", [size, outer.context.constant([index + 1])], f"{stem}.end")
            )

        first, last = position(entry.start), position(entry.end)
        self.begins[entry.inner.id] = "" if entry.start == 0 else first
        low, high, start = (first, last, entry.start) if entry.stride > 0 else (last, first, entry.end)
        length = high if start == 0 else outer.node("Sub", [high, low], f"{stem}.length")
        step = abs(entry.stride)
        if step > 1:
            length = outer.node("Div", [length, outer.context.constant([step])], f"{stem}.parts")
        self.counts.append(length)

    def limits(self, inputs: list[str]) -> tuple[str, str]:
        """Values of the trip count and the initial condition of the Loop node, both scalars; "" if there is none."""
        layer, outer = self.layer, self.outer
        if layer.type == "Loop":
            if len(inputs) < 2:
                raise layer.error("a Loop needs a trip count and a condition")
            limit, start = self.trip_count(inputs[0]), self.condition(inputs[1])
        else:
            limit, start = self.concatenated_trip_count(), ""
        if self.counts:
            count = outer.node("Reshape", [self.counts[0], outer.context.constant([])], f"{layer.name}.count")
            limit = outer.node("Min", [limit, count], f"{layer.name}.trips") if limit else count
        return limit, start

    def concatenated_trip_count(self) -> str:
        """Trip count of a TensorIterator from its concatenated outputs; "" if sliced inputs determine it."""
        if self.counts:
            return ""
        joined = [entry for entry in self.body.outputs if entry.axis is not None]
        for entry in joined:
            if (entry.start < 0) != (entry.end < 0):
                raise self.layer.error("no input is sliced, and no concatenated output determines the trip count")
        counts = [abs(entry.end - entry.start) // abs(entry.stride) for entry in joined]
        return self.outer.context.constant(counts[0] if counts else 1)

    def trip_count(self, value: str) -> str:
        """The trip count of the Loop node, from the trip count `value` of the layer; "" if it is known to be negative.

        A negative trip count of the layer means that only the condition ends the loop.
        """
        outer, stem = self.outer, self.layer.name
        known = self.known_element(0)
        if known is not None:
            return "" if known < 0 else outer.context.constant(known)
        wide = outer.node("Cast", [value], f"{stem}.limit", to=TensorProto.INT64)
        limit = outer.node("Reshape", [wide, outer.context.constant([])], f"{stem}.limit")
        is_endless = outer.node("Less", [limit, outer.context.constant(0)], f"{stem}.endless")
        return outer.node("Where", [is_endless, outer.context.constant(FOREVER), limit], f"{stem}.limit")

    def condition(self, value: str) -> str:
        known = self.known_element(1)
        if known is not None:
            return self.outer.context.constant(bool(known), bool)
        return self.outer.node("Reshape", [value, self.outer.context.constant([])], f"{self.layer.name}.start")

    def known_element(self, position: int) -> int | None:
        """The element of the one-element constant at input number `position`; None if that input is not a constant."""
        outer = self.outer
        source = outer.network.layers[outer.network.sources[self.layer.id, self.layer.inputs[position].id][0]]
        if source.type != "Const":
            return None
        constants = outer.context.constants
        constant = constants.describe(source)
        if constant.count != 1 or not (is_integer(constant.element) or constant.element == "boolean"):
            raise self.layer.error(f"input port {self.layer.inputs[position].id} must be one number or boolean")
        data = constants.weights.read(constant.offset, constant.nbytes)
        return int.from_bytes(data, "little", signed=constant.element.startswith("i"))

    # in the body

    def bind_parameter(self, entry: PortMapEntry, values: dict[str, str], inner: GraphBuilder) -> None:
        """Bind the Parameter of `entry` to the iteration number, a slice, a loop-carried value or an outer value.

        `values` maps ids of input ports of the layer to values; `inner` builds the body.
        """
        end = output_port(entry.inner)
        is_state = entry.inner.id in self.body.back
        if entry.port is None:
            if entry.axis is not None or is_state or self.layer.type != "Loop":
                raise self.layer.error(f"nothing is bound to internal layer {entry.inner.id}")
            inner.values[end] = self.iteration(entry.inner, inner)
        elif entry.axis is not None:
            if is_state:
                raise self.layer.error(f"internal layer {entry.inner.id} has a back edge and a sliced input")
            inner.values[end] = self.part(entry, values[entry.port], inner)
        elif is_state:
            name = inner.define(entry.inner, entry.inner.outputs[0])
            self.states.append((entry.inner, name, values[entry.port]))
        else:
            inner.values[end] = self.invariant[end] = values[entry.port]

    def iteration(self, parameter: IRLayer, inner: GraphBuilder) -> str:
        """The iteration number with the type of `parameter`: i32 or i64, a scalar or one element of any rank."""
        element, stem, value = _element(parameter), parameter.name, self.counter
        if element not in ("i32", "i64"):
            raise parameter.error(f"the number of an iteration must be i32 or i64, is {element}")
        if element != "i64":
            value = inner.node("Cast", [value], stem, to=onnx_type(element))
        with parameter.error_context():
            shape = partial_shape(parameter.data.get("shape", ""))
        if shape:
            value = inner.node("Reshape", [value, inner.context.constant([1] * len(shape))], stem)
        return value

    def part(self, entry: PortMapEntry, value: str, inner: GraphBuilder) -> str:
        """The slice of `value`, the outer value of the sliced input `entry`, for the current iteration."""
        book, stem, begin = inner.context, entry.inner.name, self.begins[entry.inner.id]
        step = inner.node("Reshape", [self.counter, book.constant([1])], f"{stem}.i")
        if abs(entry.stride) > 1:
            step = inner.node("Mul", [step, book.constant([abs(entry.stride)])], f"{stem}.step")
        length = book.constant([entry.part])
        if entry.stride > 0:
            first = inner.node("Add", [begin, step], f"{stem}.first") if begin else step
            last = inner.node("Add", [first, length], f"{stem}.last")
        else:
            last = inner.node("Sub", [begin or book.constant([0]), step], f"{stem}.last")
            first = inner.node("Sub", [last, length], f"{stem}.first")
        return inner.node("Slice", [value, first, last, book.constant([entry.axis or 0])], stem)

    def finish(self, inner: GraphBuilder) -> None:
        """Declare the outputs of the body `inner`: the condition, the loop-carried values, the scan outputs."""
        outputs, stem = inner.graph.output, self.layer.name
        ends = [entry.inner for entry in self.body.outputs if entry.port is None]
        if ends and self.layer.type == "Loop":
            goes_on = inner.node("Reshape", [inner.result(ends[0]), inner.context.constant([])], f"{stem}.cond")
        else:
            goes_on = inner.node("Identity", [self.condition_name], f"{stem}.cond")
        declare(outputs, goes_on, "boolean", ())
        for result in (*(self.body.back[state.id] for state, _, _ in self.states), *self.stacked):
            value = inner.fresh_output(inner.result(result), f"{stem}.out")
            declare(outputs, value, inner.element(result, result.single_port("input")))

    # after the loop

    def add_outputs(self, node: NodeProto) -> None:
        """Add the outputs of the Loop `node`, and nodes that compute the outputs of the layer from them."""
        layer, outer, stem = self.layer, self.outer, self.layer.name
        entries = {entry.port: entry for entry in self.body.outputs if entry.port is not None}
        missing = [port.id for port in layer.outputs if port.id not in entries]
        if missing:
            raise layer.error(f"the port map has nothing for output port {missing[0]}")
        wanted = {port.id: outer.define(layer, port) for port in layer.outputs}
        final: dict[str, str] = {}
        for state, _, _ in self.states:
            result = self.body.back[state.id].id
            ports = [p for p, e in entries.items() if e.axis is None and e.inner.id == result and p in wanted]
            name = wanted.pop(ports[0]) if ports else outer.context.names.fresh(f"{stem}.state")
            node.output.append(name)
            final.setdefault(result, name)
        behind = []
        for port, name in wanted.items():
            entry = entries[port]
            source = self.body.network.source(entry.inner)
            whole = final.get(entry.inner.id) or self.invariant.get(source)
            if entry.axis is None and whole is not None:
                behind.append((entry, whole, name))
                continue
            self.stacked.append(entry.inner)
            node.output.append(outer.context.names.fresh(f"{stem}.parts"))
            behind.append((entry, node.output[-1], name))
        outer.produced.update(node.output)
        for entry, value, name in behind:
            self.add_layer_output(entry, value, name, is_stack=value not in (*final.values(), *self.invariant.values()))

    def add_layer_output(self, entry: PortMapEntry, value: str, name: str, *, is_stack: bool) -> None:
        """Add the nodes that compute the layer output `name`, of port map entry `entry`, from the value `value`.

        is_stack   `value` holds the parts of all iterations along axis 0; else it is the final value
        """
        outer, book = self.outer, self.outer.context
        if entry.axis is not None:
            if (entry.stride > 0, entry.start, entry.end) not in ((True, 0, -1), (False, -1, 0)) and self.counts:
                raise self.layer.error(
                    f"parts concatenated from {entry.start} to {entry.end} are not supported, only all of them"
                )
            reverse = {"reverse": 1} if entry.stride < 0 else {}
            outer.named_node(PARTS, [value], name, READER_DOMAIN, axis=entry.axis, **reverse)
        elif is_stack:
            bounds = [book.constant([-1]), book.constant([FOREVER]), book.constant([0])]
            last = outer.node("Slice", [value, *bounds], f"{name}.last")
            zeros = self.zero_part(entry, value)
            if zeros:
                last = outer.node("Slice", [outer.node("Concat", [zeros, last], f"{name}.rows", axis=0), *bounds], name)
            outer.named_node("Squeeze", [last, book.constant([0])], name)
        else:
            outer.named_node("Identity", [value], name)

    def zero_part(self, entry: PortMapEntry, stack: str) -> str:
        """A one-row stack of zeros, the last value of a Loop without iterations; "" if the Loop always runs one.

        `stack` holds the parts of all iterations along axis 0. "" also for a TensorIterator and for element types that
        ConstantOfShape lacks.
        """
        network = self.body.network
        element = network.outputs[network.source(entry.inner)].element
        runs = not self.counts and self.known_element(0) not in (0, None) and self.known_element(1) == 1
        if self.layer.type != "Loop" or runs or element not in _FILLED:
            return ""
        outer, name = self.outer, f"{self.layer.name}.zeros"
        dims = outer.node("Shape", [stack], f"{name}.dims", start=1)
        shape = outer.node("Concat", [outer.context.constant([1]), dims], f"{name}.shape", axis=0)
        number = onnx_type(element)
        assert number is not None, "ONNX has what can be filled"
        return outer.node("ConstantOfShape", [shape], name, value=helper.make_tensor("value", number, [1], [0]))


def _element(parameter: IRLayer) -> str:
    """The element type that a Parameter declares."""
    parameter.attribute("element_type")
    return parameter.single_port("output").element
