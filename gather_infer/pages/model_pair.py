"""Two models side by side: the nodes of one in the other, and drawings of a change in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gather_infer.inference.result import Inference
from gather_infer.node_ids import NodePath
from gather_infer.pages.labelled_drawings import LabelledDrawings
from gather_infer.report.json import Json

_MAX_LEVELS: Final = 8
"""Maximum number of steps from a node to readers for a place that both models have."""

_MAX_REGION: Final = 10
"""Maximum number of nodes of a change that are drawn with their neighbours."""


class ModelPair:
    """Two models, the first usually the original of the second, whose values correspond by name.

    A node is only in one of them if the other has no node with the same operator and the same names of outputs.
    """

    def __init__(self, first: Inference, second: Inference) -> None:
        self.sides = LabelledDrawings(first), LabelledDrawings(second)
        self._names = tuple(
            [(side.tables.inference.labels[path], name) for path, name in side.tables.tensors] for side in self.sides
        )
        self._tensors = tuple({key: at for at, key in enumerate(names)} for names in self._names)
        calls = [[self._call(side, at) for at in range(len(self.sides[side].tables.labels))] for side in (0, 1)]
        known = [set(each) for each in calls]
        self._own = tuple({at for at, call in enumerate(calls[side]) if call not in known[1 - side]} for side in (0, 1))

    def counterparts(self, side: int, nodes: Sequence[int]) -> list[int]:
        """The nodes of the other side in place of `nodes`: with outputs of the same names, or else their surroundings.

        The surroundings are nodes whose outputs have the names of those of the nearest readers, or else nodes that read
        values with the names of the inputs.
        """
        mine, its = self.sides[side].tables, self.sides[1 - side].tables
        for level in self._levels(side, nodes):
            outputs = [tensor for node in level for tensor in mine.node_outputs[node] if tensor is not None]
            producers = [its.producers[tensor] for tensor in self._there(side, outputs)]
            found = [each for each in producers if each is not None]
            if found:
                return list(dict.fromkeys(found))[:_MAX_REGION]
        inputs = [tensor for node in nodes for tensor in mine.node_inputs[node] if tensor is not None]
        there = self._there(side, [tensor for tensor in inputs if not mine.is_constant[tensor]])
        return list(dict.fromkeys(reader for tensor in there for reader in its.consumers[tensor]))[:_MAX_REGION]

    def _levels(self, side: int, nodes: Sequence[int]) -> Iterator[list[int]]:
        """`nodes`, then those that read their outputs, and so on; a node once."""
        tables = self.sides[side].tables
        level, seen = [*nodes], set(nodes)
        for _ in range(_MAX_LEVELS):
            yield level
            outputs = [tensor for node in level for tensor in tables.node_outputs[node] if tensor is not None]
            readers = dict.fromkeys(reader for tensor in outputs for reader in tables.consumers[tensor])
            level = [reader for reader in readers if reader not in seen][:_MAX_REGION]
            seen.update(level)

    def drawings(self, path: NodePath, name: str) -> Json:
        """A changed node, with the nodes around it that only one model has, in both; None if neither has it.

        name   a value that the change replaces, for a node that the first model does not have
        """
        nodes: list[list[int]] = [[], []]
        found = self.sides[0].tables.nodes.get(path)
        if found is not None:
            nodes[1] = self.counterparts(0, [found])
            nodes[0] = [found, *self._between(found, nodes[1])]
        else:
            label = self.sides[0].tables.inference.labels.get(path.graph, "")
            for side in (0, 1):
                tensor = self._tensors[side].get((label, name))
                producer = None if tensor is None else self.sides[side].tables.producers[tensor]
                nodes[side] = [] if producer is None else [producer]
        if not any(nodes):
            return None
        return [self._drawing(side, nodes[side], mark) for side, mark in ((0, "removed"), (1, "added"))]

    def _between(self, node: int, others: Sequence[int]) -> list[int]:
        """The nodes of the first model from `node` on to the one that the second has too, if that is among `others`."""
        goals = {self._call(1, other) for other in others}
        passed: list[int] = []
        for level in self._levels(0, [node]):
            passed += level
            if any(self._call(0, each) in goals for each in level):
                return [each for each in passed if each != node]
        return []

    def _drawing(self, side: int, nodes: Sequence[int], mark: str) -> Json:
        if not nodes:
            return None
        return self.sides[side].around_nodes(self._region(side, nodes), self._own[side], mark)

    def _region(self, side: int, nodes: Sequence[int]) -> list[int]:
        """`nodes`, and nodes that compute their inputs and that this side alone has, the nearest first."""
        tables = self.sides[side].tables
        found = list(dict.fromkeys(nodes))
        for node in found:  # which grows meanwhile
            for tensor in tables.node_inputs[node]:
                producer = None if tensor is None or tables.is_constant[tensor] else tables.producers[tensor]
                if (
                    producer is not None
                    and producer in self._own[side]
                    and producer not in found
                    and len(found) < _MAX_REGION
                ):
                    found.append(producer)
        return found

    def _call(self, side: int, node: int) -> object:
        """The operator of a node and the names of its outputs."""
        tables, names = self.sides[side].tables, self._names[side]
        outputs = tables.node_outputs[node]
        return tables.operators[node], tuple(None if tensor is None else names[tensor] for tensor in outputs)

    def _there(self, side: int, tensors: Sequence[int]) -> list[int]:
        """The tensors of the other side with the names of these."""
        found = [self._tensors[1 - side].get(self._names[side][tensor]) for tensor in tensors]
        return [tensor for tensor in found if tensor is not None]
