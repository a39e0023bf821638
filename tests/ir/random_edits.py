"""Random legal edits of a model: no cycle, no undefined name, no name defined twice, no shadowed read."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from gather_infer.ir import Graph, Model, Node
from gather_infer.ir.constant import Constant, from_integers, read_inline, strings
from gather_infer.ir.inlining import Inlining
from gather_infer.node_ids import Root
from gather_infer.tensor import UNKNOWN
from tests.ir.recount import defined_names, dependencies, home_of, nodes_below, reachable
from tests.ir.samples import N

WHY = "random"


class RandomEdits:
    """Edits of one model, drawn from a seeded generator. Each method returns whether it has changed the model."""

    def __init__(self, model: Model, seed: int) -> None:
        self.model = model
        self.rng = random.Random(seed)
        self.kinds: dict[str, Callable[[], bool]] = {
            "add": self.add,
            "set_input": self.set_input,
            "replace_all_uses": self.replace_all_uses,
            "rename": self.rename,
            "detach": self.detach,
            "take_over": self.take_over,
            "remove": self.remove,
            "add_constant": self.add_constant,
            "drop": self.drop,
            "import_opset": self.import_opset,
            "inline": self.inline,
            "add_with_subgraphs": self.add_with_subgraphs,
            "replace": self.replace,
            "add_input": self.add_input,
            "remove_input": self.remove_input,
            "add_output": self.add_output,
            "declare_type": self.declare_type,
            "rename_node": self.rename_node,
        }

    def edit(self) -> str:
        """Make one edit. Returns its kind."""
        while True:
            kind = self.rng.choice(list(self.kinds))
            if self.kinds[kind]():
                return kind

    # random parts

    def graph(self) -> Graph:
        """A graph that has nodes."""
        return self.rng.choice([graph for graph in self.model.graphs.values() if graph.nodes])

    def node(self) -> Node:
        return self.rng.choice(list(self.model.nodes))

    def visible(self, graph: Graph) -> list[str]:
        """The names that a node of the graph can read."""
        return sorted({name for around in graph.scope_chain() for name in defined_names(around)})

    def value(self) -> tuple[Graph, str]:
        """A value that a graph defines."""
        graph = self.graph()
        return graph, self.rng.choice(sorted(defined_names(graph)))

    # side conditions

    def home(self, graph: Graph, name: str) -> Graph:
        found = home_of({each: defined_names(each) for each in self.model.graphs.values()}, graph, name)
        assert found is not None, "the name is defined"
        return found

    def is_returned(self, graph: Graph, name: str) -> bool:
        """Whether a graph has to define a value of this name: it or a subgraph returns it."""
        return name in graph.outputs or any(
            name in body.outputs and self.home(body, name) is graph for body in self.model.graphs.values()
        )

    def readers(self, graph: Graph, name: str) -> list[Node]:
        """The nodes that read the value `name` of the graph."""
        return [node for node in self.model.nodes if name in node.inputs and self.home(node.graph, name) is graph]

    def makes_a_cycle(self, graph: Graph, reader: Node | None, name: str) -> bool:
        """Whether a cycle arises when `reader`, or None for a new node without readers, reads `name` in the graph."""
        home = self.home(graph, name)
        writer = next((node for node in home.nodes if name in node.outputs), None)
        if writer is None or not home.path.contains(graph.path):
            return False
        around = reader
        while graph is not home:
            around = graph.owner
            assert around is not None, "the reader is inside of the graph"
            graph = around.graph
        return around is not None and around in reachable(dependencies(self.model, home), [writer])

    def may_replace(self, graph: Graph, old: str, new: str) -> bool:
        """Whether the readers of `old` may read `new` instead, a value that is visible in the graph."""
        home, readers = self.home(graph, new), self.readers(graph, old)
        return old != new and all(
            new in self.visible(reader.graph)
            and self.home(reader.graph, new) is home
            and not self.makes_a_cycle(reader.graph, reader, new)
            for reader in readers
        )

    # edits

    def add(self) -> bool:
        graph = self.graph()
        legal = [name for name in self.visible(graph) if not self.makes_a_cycle(graph, None, name)]
        reads = [self.rng.choice([*legal, ""]) for _ in range(self.rng.randint(1, 3))]
        before = self.rng.choice(list(graph.nodes))
        outputs = [self.model.fresh("new"), "", self.model.fresh("new")]
        self.model.add(graph, N("Split", reads, outputs, name="added"), before, WHY, [])
        return True

    def set_input(self) -> bool:
        node = self.node()
        if not node.inputs:
            return False
        at, name = self.rng.randrange(len(node.inputs)), self.rng.choice([*self.visible(node.graph), ""])
        if name and self.makes_a_cycle(node.graph, node, name):
            return False
        old = node.inputs[at]
        assert self.model.set_input(node, at, name, WHY) == old
        return True

    def replace_all_uses(self) -> bool:
        graph, old = self.value()
        new = self.rng.choice(self.visible(graph))
        if not self.may_replace(graph, old, new):
            return False
        expected = self.readers(graph, old)
        assert set(self.model.replace_all_uses(graph, old, new, WHY)) == set(expected)
        return True

    def rename(self) -> bool:
        graph, old = self.value()
        if self.is_returned(graph, old) or not (old in graph.added or any(old in node.outputs for node in graph.nodes)):
            return False
        self.model.rename(graph, old, self.model.fresh("renamed"), WHY)
        return True

    def detach(self) -> bool:
        """Rename an output that no node reads."""
        node = self.node()
        at = self.rng.randrange(len(node.outputs))
        old = node.outputs[at]
        if not old or self.is_returned(node.graph, old) or self.readers(node.graph, old):
            return False
        self.model.detach(node, at, self.model.fresh("unused"), WHY)
        return True

    def take_over(self) -> bool:
        """Give the name of an output to the value of a new node, and with it the readers of the output."""
        node = self.node()
        at = self.rng.randrange(len(node.outputs))
        old, sources = node.outputs[at], [name for name in node.inputs if name]
        if not old or not sources:
            return False
        new = self.model.fresh("taking")
        self.model.add(node.graph, N("Identity", [self.rng.choice(sources)], [new]), node, WHY, [UNKNOWN])
        self.model.detach(node, at, self.model.fresh("unused"), WHY)
        self.model.rename(node.graph, new, old, WHY)
        return True

    def remove(self) -> bool:
        """Remove a node without live outputs."""
        node = self.node()
        graph = node.graph
        dead = [name for name in node.outputs if name]
        if len(graph.nodes) == 1 or any(self.is_returned(graph, name) or self.readers(graph, name) for name in dead):
            return False
        below = list(nodes_below(node))
        lost = self.model.remove(node, WHY)
        assert {name for name in node.inputs if name} <= set(lost)
        assert all(each.is_removed and each not in each.graph.nodes for each in below)
        return True

    def add_constant(self) -> bool:
        constant = strings([b"text"]) if self.rng.random() < 0.5 else _integers(self.rng.randint(0, 9))
        self.model.add_constant(self.graph(), self.model.fresh("constant"), constant, UNKNOWN, WHY)
        return True

    def drop(self) -> bool:
        """Drop an initializer after its uses have been replaced."""
        graph = self.graph()
        names = [*graph.added, *(name for name in graph.initializers if name not in graph.dropped)]
        names = [name for name in names if name not in graph.inputs and not self.is_returned(graph, name)]
        if not names:
            return False
        name, new = self.rng.choice(names), self.rng.choice(self.visible(graph))
        if not self.may_replace(graph, name, new):
            return False
        self.model.replace_all_uses(graph, name, new, WHY)
        self.model.drop(graph, name, WHY)
        return True

    def import_opset(self) -> bool:
        paths = [path for path in self.model.graphs if not path.steps and path.root in (Root.GRAPH, Root.FUNCTION)]
        self.model.import_opset(self.rng.choice(["", "new"]), self.rng.randint(21, 23), self.rng.choice(paths))
        return True

    def inline(self) -> bool:
        """Replace a node by the nodes of one of its subgraphs; the value of the first output is that of the body."""
        model = self.model
        held = [node for node in model.nodes if node.bodies]
        if not held:
            return False
        node = self.rng.choice(held)
        graph, body = node.graph, self.rng.choice(node.bodies)
        sources = [name for name in node.inputs if name]
        if (body.inputs and not sources) or not body.nodes:
            return False
        live = [name for name in node.outputs if self.is_returned(graph, name) or self.readers(graph, name)]
        inlining = Inlining(model, node, body, {name: self.rng.choice(sources) for name in body.inputs})
        if not inlining.is_possible(self.load, lambda *_: True, 1000):
            return False
        inner = list(body.nodes)
        assert set(inlining.move(self.load, WHY)) == set(inner) and not body.nodes
        result = inlining.name(body.outputs[0])
        for old in live:
            new = model.fresh("copy")
            model.add(graph, N("Identity", [result], [new]), node, WHY, [UNKNOWN])
            if self.is_returned(graph, old) or self.rng.random() < 0.5:
                model.detach(node, node.outputs.index(old), model.fresh("unused"), WHY)
                model.rename(graph, new, old, WHY)
            else:
                model.replace_all_uses(graph, old, new, WHY)
        model.remove(node, WHY)
        return True

    def add_with_subgraphs(self) -> bool:
        """Add an If with a branch that returns an outer value, and one with a node and an If of its own."""
        graph = self.graph()
        legal = [name for name in self.visible(graph) if not self.makes_a_cycle(graph, None, name)]
        if not legal:
            return False
        inner, result, deep = (self.model.fresh("inner") for _ in range(3))
        leaf = helper.make_graph([N("Neg", [self.rng.choice(legal)], [deep])], "leaf", [], [_value(deep)])
        nested = N("If", [self.rng.choice(legal)], [result], then_branch=leaf)
        body = helper.make_graph([N("Abs", [self.rng.choice(legal)], [inner]), nested], "body", [], [_value(result)])
        returned = helper.make_graph([], "outer", [], [_value(self.rng.choice(legal))])
        node = N("If", [self.rng.choice(legal)], [self.model.fresh("new")], then_branch=body, else_branch=returned)
        before = self.rng.choice([*graph.nodes, None])
        added = self.model.add(graph, node, before, WHY)
        assert [len(each.nodes) for each in added.bodies] == [0, 2] and added.source is None
        assert all(each.source is None for each in nodes_below(added))
        return True

    def replace(self) -> bool:
        """Replace a node by nodes of another operator with the same outputs."""
        node = self.node()
        if node.bodies:
            return False
        names = [name for name in node.outputs if name]
        made = self.model.replace(node, [N("Abs", node.inputs[:1], [name]) for name in names], WHY)
        assert node.is_removed and [each.outputs for each in made] == [[name] for name in names]
        return True

    def add_input(self) -> bool:
        name = self.model.fresh("input")
        default = _integers(1).to_tensor(name) if self.rng.random() < 0.5 else None
        self.model.add_input(self.model.main, _value(name), default, WHY)
        return True

    def remove_input(self) -> bool:
        """Remove an input of the file after its uses have been replaced."""
        main = self.model.main
        given = {value.name for value in self.model.proto.graph.input} - main.initializers.keys()
        names = [name for name in main.inputs if name in given and not self.is_returned(main, name)]
        if len(names) < 2:
            return False
        name, new = self.rng.choice(names), self.rng.choice(self.visible(main))
        if not self.may_replace(main, name, new):
            return False
        self.model.replace_all_uses(main, name, new, WHY)
        self.model.remove_input(main, name, WHY)
        return True

    def add_output(self) -> bool:
        main = self.model.main
        names = sorted(defined_names(main) - set(main.outputs))
        if not names or len(main.new_outputs) > 2:
            return False
        self.model.add_output(main, _value(self.rng.choice(names)), WHY)
        return True

    def declare_type(self) -> bool:
        graph, name = self.value()
        declared = helper.make_tensor_type_proto(TensorProto.INT64, [self.rng.randint(0, 9)])
        self.model.declare_type(graph, name, declared, WHY)
        assert graph.declared_types()[name] == declared
        return True

    def rename_node(self) -> bool:
        node = self.node()
        name = self.model.fresh("name")
        self.model.rename_node(node, name, WHY)
        assert node.name == name
        return True

    def load(self, graph: Graph, name: str) -> Constant | None:
        tensor = graph.tensor(name)
        return None if tensor is None else read_inline(tensor)


def _value(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, None)


def _integers(*values: int) -> Constant:
    return from_integers(TensorProto.INT64, np.array(values, dtype=object))
