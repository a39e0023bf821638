"""Matching of compressed weights in IRs: Const -> Convert -> (Subtract) -> Multiply -> (Reshape) -> (Convert)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from onnx import TensorProto

from gather_infer.domains import canonical_domain
from gather_infer.ir import Graph, Node, Value
from gather_infer.model.attributes import attribute_of
from gather_infer.openvino.weights.reshape_folding import integers_of

_INPUTS: Final = {"Const": 1, "Convert": 1, "Subtract": 2, "Multiply": 2, "Reshape": 2}
FLOATS: Final = ("f16", "f32")


@dataclass(frozen=True, slots=True)
class WeightConstant:
    """A constant of the model.

    name         name of the value
    initializer  holds the elements, or packed bytes if ONNX lacks the element type
    element      number of the element type in TensorProto, 0 if ONNX lacks the type
    """

    name: str
    initializer: TensorProto
    element: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Weight:
    """One compressed weight.

    data, zero, scale   the weight is `(data - zero) * scale`, elementwise with broadcasting; `zero` is None without
                        a Subtract
    converts            the Convert of `data`, and the Convert of `zero` if there is one
    multiply            the Multiply by `scale`
    chain               all nodes that compute the weight, in topological order; the last node writes `result`
    shape               shape of the result
    is_half             whether the weight is computed in f16, and converted to f32 at the end
    graph               the graph of the chain; its constants may belong to an enclosing graph
    """

    data: WeightConstant
    zero: WeightConstant | None
    scale: WeightConstant
    converts: tuple[Node, ...]
    multiply: Node
    chain: tuple[Node, ...]
    shape: tuple[int, ...]
    is_half: bool
    graph: Graph

    @property
    def result(self) -> str:
        return self.chain[-1].outputs[0]


class WeightMatcher:
    """Finds the compressed weights in one graph of a model in OpenVINO's dialect.

    graph   the graph, in which no edit has touched a weight
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def weights(self) -> Iterator[Weight]:
        """Every compressed weight, in the order of the file."""
        for node in list(self.graph.nodes):
            if self._is(node, "Multiply"):
                for main, scale in ((0, 1), (1, 0)):
                    found = self._match(node, main, scale)
                    if found is not None:
                        yield found
                        break

    def _match(self, multiply: Node, main: int, scale: int) -> Weight | None:
        factor = self._constant(multiply.inputs[scale])
        above = self._producer(multiply.inputs[main])
        if factor is None or above is None or factor.element not in (TensorProto.FLOAT, TensorProto.FLOAT16):
            return None
        chain, zero, zero_convert = [above], None, None
        if self._is(above, "Subtract"):
            below = self._producer(above.inputs[0])
            zero_convert = self._producer(above.inputs[1])
            zero = self._constant(above.inputs[1])
            if zero is None and zero_convert is not None and self._is(zero_convert, "Convert"):
                zero = self._constant(zero_convert.inputs[0])
                chain.insert(0, zero_convert)
            else:
                zero_convert = None
            if below is None or zero is None:
                return None
            chain.insert(0, below)
        convert = chain[0]
        data = self._constant(convert.inputs[0]) if self._is(convert, "Convert") else None
        kind = attribute_of(convert.proto, "destination_type")
        if data is None or kind not in FLOATS or data.element in (TensorProto.FLOAT, TensorProto.FLOAT16):
            return None
        chain.append(multiply)
        if not all(self._is_private(node) for node in chain[:-1]):
            return None
        shape = data.shape
        shape = self._match_suffix(chain, shape)
        is_half = kind == "f16"
        if is_half and attribute_of(chain[-1].proto, "destination_type") != "f32":
            return None  # the readers use the weight in f16
        converts = (convert,) if zero_convert is None else (convert, zero_convert)
        return Weight(data, zero, factor, converts, multiply, tuple(chain), shape, is_half, self.graph)

    def _match_suffix(self, chain: list[Node], shape: tuple[int, ...]) -> tuple[int, ...]:
        """Append the Reshape and the Convert to f32 that may follow to `chain`; returns the shape after the Reshape.

        `shape` is the shape before the Reshape.
        """
        after = self._only_reader(chain[-1])
        if after is not None and self._is(after, "Reshape") and after.inputs[0] == chain[-1].outputs[0]:
            target = self._constant(after.inputs[1])
            sizes = None if target is None else integers_of(target.initializer)
            if sizes is not None and all(size > 0 for size in sizes):
                chain.append(after)
                shape = tuple(sizes)
                after = self._only_reader(after)
        if after is not None and self._is(after, "Convert") and attribute_of(after.proto, "destination_type") == "f32":
            chain.append(after)
        return shape

    def _constant(self, name: str) -> WeightConstant | None:
        held = self._initializer(name)
        if held is not None:
            return WeightConstant(name, held, held.data_type, tuple(held.dims))
        value = self.graph.value(name)
        producer = None if value is None else value.producer
        if producer is None:
            return None
        if not self._is(producer, "Const"):
            return None
        shape: Any = attribute_of(producer.proto, "shape", ())
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        packed = self._initializer(producer.inputs[0])
        return None if packed is None else WeightConstant(name, packed, 0, sizes)

    def _initializer(self, name: str) -> TensorProto | None:
        """The initializer that `name` refers to in the graph; None if it refers to another value."""
        value = self.graph.value(name)
        return None if value is None else value.graph.tensor(name)

    def _producer(self, name: str) -> Node | None:
        """The node of the graph that writes the value `name`; None for an input, an initializer or an outer value."""
        found = self.graph.producers.get(name)
        return None if found is None else found[0]

    @staticmethod
    def _is(node: Node, op_type: str) -> bool:
        if node.op_type != op_type or canonical_domain(node.domain) != "openvino":
            return False
        return len(node.inputs) == _INPUTS[op_type] and len(node.outputs) == 1

    def _only_reader(self, node: Node) -> Node | None:
        """The only node that reads the first output of `node`.

        None if none or several nodes read it, a node of a subgraph reads it, or it is a graph output.
        """
        value = Value(self.graph, node.outputs[0])
        uses = list(value.uses())
        if len(uses) != 1 or value.is_output:
            return None
        reader = uses[0].node
        return reader if reader.graph is self.graph else None

    def _is_private(self, node: Node) -> bool:
        return self._only_reader(node) is not None
