"""Random models with subgraphs, functions and training graphs; only their structure makes sense, not their types."""

from __future__ import annotations

import random
from collections.abc import Sequence

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, helper

from tests.ir.samples import N
from tests.model.model_samples import INFO

_DEPTH = 3


class _Builder:
    """The builder of one model; every node output has a new name, save some that shadow a name of an outer graph."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.serial = 0

    def name(self, base: str) -> str:
        self.serial += 1
        return f"{base}{self.serial}"

    def output(self, hidden: list[str]) -> str:
        """The name of a new value: a new name, or one of `hidden`, the names of outer values that it may hide."""
        return hidden.pop() if hidden and self.rng.random() < 0.5 else self.name("v")

    def node(self, visible: Sequence[str], hidden: list[str], own: Sequence[str], depth: int) -> NodeProto:
        rng = self.rng
        reads = [rng.choice([*visible, *own, *own]) for _ in range(rng.randint(1, 3))]
        outputs = [self.output(hidden)]
        kind = rng.random()
        if kind < 0.2 and depth < _DEPTH:
            bodies = {key: self.graph([*visible, *own], depth + 1) for key in ("else_branch", "then_branch")}
            return N("If", reads[:1], [self.name("v")], name=self.name("If"), **bodies)
        if kind < 0.3 and depth < _DEPTH:
            body = self.graph([*visible, *own], depth + 1, inputs=rng.randint(1, 3))
            return N("Loop", reads, [self.name("v"), self.name("v")], body=body)
        if kind < 0.35 and depth < _DEPTH:
            items = [self.graph([*visible, *own], depth + 1) for _ in range(2)]
            return N("Many", reads, [self.name("v")], domain="test", graphs=items)
        if kind < 0.45:
            return N("Split", reads[:1], [outputs[0], self.name("v")], name="repeated")
        if kind < 0.5:
            return N("Constant", [], outputs, value=helper.make_tensor("", 1, [1], [self.serial]))
        if kind < 0.6:
            return N("F", [reads[0], "", reads[-1]], outputs, domain="test")
        return N(rng.choice(("Add", "Sum", "Identity")), reads, outputs, name=self.name("n"))

    def graph(self, outer: Sequence[str], depth: int, inputs: int = 0) -> GraphProto:
        """A graph in which each node reads values of the nodes before it, or of the graphs around it."""
        rng = self.rng
        visible = [name for name in dict.fromkeys(outer) if rng.random() < 0.9]
        hidden = [name for name in dict.fromkeys(outer) if name not in visible]
        params = [self.output(hidden) for _ in range(inputs)]
        weights = [self.name("w") for _ in range(rng.randint(0, 2))]
        sparse = [self.name("s")] if rng.random() < 0.1 else []
        own = [*params, *weights, *sparse]
        nodes: list[NodeProto] = []
        for _ in range(rng.randint(1, 9 if depth == 0 else 4)):
            node = self.node(visible, hidden, own, depth)
            nodes.append(node)
            own += node.output[:]
        outputs = [rng.choice(own)]
        if depth and rng.random() < 0.2:
            outputs = [rng.choice([*visible, *own])]  # may be a value of an outer graph
        if rng.random() < 0.3:
            rng.shuffle(nodes)
        made = helper.make_graph(
            nodes,
            self.name("g"),
            [INFO(name, 1, None) for name in params],
            [INFO(name, 1, None) for name in outputs],
            [helper.make_tensor(name, 1, [2], [1, 2]) for name in weights],
            value_info=[INFO(name, 1, None) for name in own if rng.random() < 0.2 and name not in params],
        )
        for name in sparse:
            values = helper.make_tensor(name, 1, [1], [1])
            indices = helper.make_tensor("", 7, [1], [0])
            made.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
        return made

    def function(self) -> FunctionProto:
        graph = self.graph([], 0, inputs=3)
        given = {tensor.name for tensor in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
        nodes = [N("Constant", [], [name], value_int=1) for name in sorted(given)]
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("test", 1)]
        return helper.make_function(
            "test",
            "F",
            [v.name for v in graph.input],
            [v.name for v in graph.output],
            [*nodes, *graph.node],
            imports,
        )

    def model(self) -> ModelProto:
        main = self.graph([], 0, inputs=3)
        main.initializer.append(helper.make_tensor(main.input[0].name, 1, [1], [1]))  # a default
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("test", 1)]
        model = helper.make_model(main, functions=[self.function()], opset_imports=imports, ir_version=10)
        if self.rng.random() < 0.5:
            seen = [name for node in main.node for name in node.output]
            model.training_info.add().algorithm.CopyFrom(self.graph(seen, 1))
        return model


def random_model(seed: int) -> ModelProto:
    """A valid model in structure: no undefined name, no name defined twice in a graph, no cycle."""
    return _Builder(seed).model()
