"""The smallest graph that can be cut out of one with a mismatch and still has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, ValueInfoProto, helper, numpy_helper

from gather_infer.errors import GatherInferError
from tests.oracle.generated_graphs import Mismatch, infer_with_scope, wrong_in
from tests.oracle.graph_builder import REFUSALS, captures_of
from tests.oracle.runtime_faults import faulty_node
from tests.oracle.soundness import Runtime

MAX_TRIALS = 600


class _Shrinker:
    def __init__(self, mismatch: Mismatch) -> None:
        self.best = mismatch
        self.feeds: dict[str, Any] = mismatch.graph.feeds(mismatch.bindings, mismatch.data)
        self.values: dict[str, Any] = Runtime(mismatch.graph.runnable).run(self.feeds) | self.feeds
        self.trials = 0

    def accepts(self, model: ModelProto, feeds: dict[str, Any]) -> bool:
        """True, and the model is the best so far, when it still has a mismatch at the same binding."""
        self.trials += 1
        if self.trials > MAX_TRIALS:
            return False
        _drop_unused(model)
        feeds = {i.name: feeds[i.name] for i in model.graph.input}
        options = dict(self.best.graph.options)
        if "dims" in options and not _has_dims(model, options["dims"]):
            del options["dims"]
        try:
            actual = Runtime(model).run(feeds)
            if faulty_node(model, {**feeds, **actual}):
                return False
            inference, scope = infer_with_scope(model, options)
            wrong = wrong_in(inference, scope, actual, self.best.bindings, Counter())
        except (*REFUSALS, GatherInferError, AssertionError):
            return False
        if not wrong:
            return False
        graph = replace(self.best.graph, model=model, runnable=model, options=options)
        self.best = replace(self.best, graph=graph, texts=wrong)
        self.feeds = feeds
        return True

    def run(self) -> Mismatch:
        plain = ModelProto()
        plain.CopyFrom(self.best.graph.runnable)
        self.accepts(plain, self.feeds)
        self._truncate()
        again = True
        while again and self.trials < MAX_TRIALS:
            again = any([self._remove_nodes(), self._bypass_inside(), self._take_branches_apart()])
        return self.best

    def _copy(self) -> ModelProto:
        model = ModelProto()
        model.CopyFrom(self.best.graph.model)
        return model

    def _truncate(self) -> None:
        """Only one value as the output."""
        for name in [o for n in self.best.graph.model.graph.node for o in n.output]:
            model = self._copy()
            del model.graph.output[:]
            model.graph.output.append(ValueInfoProto(name=name))
            if self.accepts(model, self.feeds):
                return

    def _remove_nodes(self) -> bool:
        """A node goes, its outputs become constants or inputs."""
        removed = False
        for name in [n.output[0] for n in reversed(self.best.graph.model.graph.node)]:
            for as_constant in (True, False):
                model = self._copy()
                graph = model.graph
                index = next((i for i, n in enumerate(graph.node) if n.output[0] == name), None)
                if index is None:
                    break
                outputs = list(graph.node[index].output)
                arrays: list[Any] = [self.values.get(o) for o in outputs]
                if not all(isinstance(a, np.ndarray) and a.dtype.kind != "O" for a in arrays):
                    break
                del graph.node[index]
                feeds = dict(self.feeds)
                for output, array in zip(outputs, arrays, strict=True):
                    if as_constant:
                        graph.initializer.append(numpy_helper.from_array(array, output))
                    else:
                        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                        graph.input.append(helper.make_tensor_value_info(output, kind, array.shape))
                        feeds[output] = array
                kept = [o for o in graph.output if o.name not in outputs]
                del graph.output[:]
                graph.output.extend(kept)
                if self.accepts(model, feeds):
                    removed = True
                    break
        return removed

    def _bypass_inside(self) -> bool:
        """A node, in a subgraph or function too, is replaced by one of its inputs."""
        done = False
        position = 0
        while self.trials < MAX_TRIALS:
            bodies = list(_bodies(self.best.graph.model))
            nodes = [(b, k) for b, nodes in enumerate(bodies) for k in range(len(nodes))]
            if position >= len(nodes):
                return done
            where, index = nodes[position]
            for name in dict.fromkeys(n for n in bodies[where][index].input if n):
                model = self._copy()
                node = list(_bodies(model))[where][index]
                if node.op_type == "Identity" or len(node.output) != 1:
                    break
                node.op_type, node.domain = "Identity", ""
                del node.input[:]
                node.input.append(name)
                del node.attribute[:]
                if self.accepts(model, self.feeds):
                    done = True
                    break
            position += 1
        return done

    def _take_branches_apart(self) -> bool:
        """Remove nodes of subgraphs without uses."""
        model = self._copy()
        before = len(model.SerializeToString())
        for nodes in _bodies(model):
            for index in reversed(range(len(nodes))):
                if nodes[index].op_type == "Identity":
                    _rename(model, nodes[index].output[0], nodes[index].input[0])
        _drop_unused(model)
        return len(model.SerializeToString()) < before and self.accepts(model, self.feeds)


def _bodies(model: ModelProto) -> Iterator[Any]:
    """The node lists of the graph, its subgraphs and the functions."""
    yield from _nested(model.graph)
    for function in model.functions:
        yield from _nested(function)


def _nested(graph: Any) -> Iterator[Any]:
    yield graph.node
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nested(attribute.g)


def _rename(model: ModelProto, old: str, new: str) -> None:
    for nodes in _bodies(model):
        for node in nodes:
            for k, name in enumerate(node.input):
                if name == old:
                    node.input[k] = new


def _drop_unused(model: ModelProto) -> None:
    while True:
        before = len(model.SerializeToString())
        _drop_unused_nodes(model.graph)
        for function in model.functions:
            _prune(function.node, set(function.output))
        used = {n.op_type for nodes in _bodies(model) for n in nodes}
        functions = [f for f in model.functions if f.name in used]
        del model.functions[:]
        model.functions.extend(functions)
        if len(model.SerializeToString()) == before:
            return


def _drop_unused_nodes(graph: GraphProto) -> None:
    used = _prune(graph.node, {o.name for o in graph.output})
    inputs = [i for i in graph.input if i.name in used]
    tensors = [t for t in graph.initializer if t.name in used]
    if inputs:
        del graph.input[:]
        graph.input.extend(inputs)
    del graph.initializer[:]
    graph.initializer.extend(tensors)


def _prune(nodes: Any, used: set[str]) -> set[str]:
    """Remove the nodes of which nothing is used, inside subgraphs too; the names that the others use."""
    kept = []
    for node in reversed(list(nodes)):
        if used.isdisjoint(node.output):
            continue
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                inner = _prune(attribute.g.node, {o.name for o in attribute.g.output})
                tensors = [t for t in attribute.g.initializer if t.name in inner]
                del attribute.g.initializer[:]
                attribute.g.initializer.extend(tensors)
        kept.append(node)
        used = used | set(node.input) | captures_of(node)
    del nodes[:]
    nodes.extend(reversed(kept))
    return used


def _has_dims(model: ModelProto, dims: list[str]) -> bool:
    declared = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim}
    return all(d.split("=")[0] in declared for d in dims)


def shrunk(mismatch: Mismatch) -> Mismatch:
    """A mismatch of a smaller graph at the same binding."""
    return _Shrinker(mismatch).run()
