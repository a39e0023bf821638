"""Mutations of a model file, valid or not, drawn from a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable

from google.protobuf.message import DecodeError
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from gather_infer.model.paths import GraphOrFunction, bodies
from tests.ir.samples import N


class Mutator:
    """The mutator of one model, which it changes in place."""

    def __init__(self, model: ModelProto, rng: random.Random) -> None:
        self.model = model
        self.rng = rng

    def mutate(self) -> str:
        """Apply one mutation. Returns its name."""
        graphs = [body for _, body in bodies(self.model)]
        # subgraphs and functions are few: as likely as the main graph
        body = self.rng.choice(graphs) if self.rng.random() < 0.5 else self.model.graph
        name = self.rng.choice(list(MUTATIONS))
        MUTATIONS[name](self, body)
        return name

    def node(self, body: GraphOrFunction) -> NodeProto:
        """A node of the graph; a new one if it has none."""
        if not body.node:
            body.node.append(N("Neg", ["x"], ["y"]))
        return self.rng.choice(body.node)

    def names(self, body: GraphOrFunction) -> list[str]:
        """The names that the graph reads or writes; at least one."""
        found = [name for node in body.node for name in (*node.input, *node.output)]
        if isinstance(body, GraphProto):
            found += [value.name for value in (*body.input, *body.output)] + [t.name for t in body.initializer]
        return found or ["x"]

    def any_name(self, body: GraphOrFunction) -> str:
        """A name of the graph, or, with a small probability, of the main graph, a new one or none."""
        pool = self.rng.choice([self.names(body)] * 5 + [self.names(self.model.graph), ["gone"], [""]])
        return self.rng.choice(pool)

    def drop_node(self, body: GraphOrFunction) -> None:
        if body.node:
            del body.node[self.rng.randrange(len(body.node))]

    def duplicate_node(self, body: GraphOrFunction) -> None:
        _append(body, self.node(body))

    def swap_nodes(self, body: GraphOrFunction) -> None:
        one, other = self.node(body), self.node(body)
        first, second = _copy(one), _copy(other)
        one.CopyFrom(second)
        other.CopyFrom(first)

    def move_first_to_end(self, body: GraphOrFunction) -> None:
        first = _copy(body.node[0]) if body.node else N("Neg", ["x"], ["y"])
        del body.node[:1]
        _append(body, first)

    def change_read(self, body: GraphOrFunction) -> None:
        node = self.node(body)
        if node.input:
            node.input[self.rng.randrange(len(node.input))] = self.any_name(body)
        else:
            node.input.append(self.any_name(body))

    def change_write(self, body: GraphOrFunction) -> None:
        node = self.node(body)
        if node.output:
            node.output[self.rng.randrange(len(node.output))] = self.any_name(body)
        else:
            node.output.append(self.any_name(body))

    def read_itself(self, body: GraphOrFunction) -> None:
        node = self.node(body)
        node.input.extend(node.output[:1])

    def close_a_cycle(self, body: GraphOrFunction) -> None:
        """A node reads a value that another node computes from its output, where there is one."""
        node = self.node(body)
        readers = [each for each in body.node if set(each.input) & set(node.output)]
        node.input.extend(self.rng.choice(readers).output[:1] if readers else ["gone"])

    def rename_node(self, body: GraphOrFunction) -> None:
        self.node(body).name = self.rng.choice(["", "same", self.node(body).name])

    def rename_input(self, body: GraphOrFunction) -> None:
        if isinstance(body, FunctionProto):
            body.input.append(self.any_name(body))
        elif body.input:
            self.rng.choice(body.input).name = self.any_name(body)
        else:
            body.input.add(name=self.any_name(body))

    def rename_output(self, body: GraphOrFunction) -> None:
        if isinstance(body, FunctionProto):
            body.output.append(self.any_name(body))
        elif body.output:
            self.rng.choice(body.output).name = self.any_name(body)
        else:
            body.output.add(name=self.any_name(body))

    def add_initializer(self, body: GraphOrFunction) -> None:
        if isinstance(body, GraphProto):
            body.initializer.add(name=self.any_name(body), data_type=1)

    def add_sparse_initializer(self, body: GraphOrFunction) -> None:
        if isinstance(body, GraphProto):
            body.sparse_initializer.add().values.name = self.any_name(body)

    def drop_initializer(self, body: GraphOrFunction) -> None:
        if isinstance(body, GraphProto) and body.initializer:
            del body.initializer[self.rng.randrange(len(body.initializer))]

    def drop_attributes(self, body: GraphOrFunction) -> None:
        held = [node for node in body.node if any(a.HasField("g") or a.graphs for a in node.attribute)]
        node = self.rng.choice(held) if held else self.node(body)
        del node.attribute[:]

    def empty_subgraph(self, body: GraphOrFunction) -> None:
        """A subgraph attribute without a graph, with an empty one, or of another type than it states."""
        node = self.node(body)
        attribute = node.attribute.add(name=self.rng.choice(["then_branch", "body", ""]), type=AttributeProto.GRAPH)
        if self.rng.random() < 0.7:
            attribute.g.SetInParent()
            attribute.graphs.add()
            attribute.type = self.rng.choice([AttributeProto.GRAPH, AttributeProto.INT, AttributeProto.UNDEFINED])

    def wrap_node(self, body: GraphOrFunction) -> None:
        """Move a node into a subgraph of a new node that replaces it."""
        node = self.node(body)
        inner = GraphProto(name="wrapped")
        inner.node.append(_copy(node))
        for name in node.output:
            inner.output.add(name=name)
        node.CopyFrom(N("If", [self.any_name(body)], list(node.output), then_branch=inner, else_branch=inner))

    def training_graph(self, body: GraphOrFunction) -> None:
        step = self.model.training_info.add().algorithm
        step.node.append(N("Neg", [self.any_name(self.model.graph)], [self.any_name(self.model.graph)]))

    def copy_function(self, body: GraphOrFunction) -> None:
        function = self.model.functions.add(name="copied", input=["a"], output=["b"])
        function.node.extend(_copy(node) for node in list(body.node)[:5])

    def cut_bytes(self, body: GraphOrFunction) -> None:
        """Truncate the bytes of the model, a graph or a node at a position where they can still be parsed."""
        message = self.rng.choice([self.model, self.model.graph, body, self.node(body)])
        data = message.SerializeToString()
        for _ in range(30):
            cut = type(message)()
            try:
                cut.ParseFromString(data[: self.rng.randint(0, len(data))])
            except DecodeError:
                continue
            message.CopyFrom(cut)
            return


MUTATIONS: dict[str, Callable[[Mutator, GraphOrFunction], None]] = {
    name: method for name, method in vars(Mutator).items() if callable(method) and name not in (
        "__init__", "mutate", "node", "names", "any_name",
    )
}  # fmt: skip


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _append(body: GraphOrFunction, node: NodeProto) -> None:
    copy = _copy(node)
    body.node.add().CopyFrom(copy)
