"""Protected values: rewrites do not change their producers, so that the rewritten model still loads.

A node that never runs may be invalid, such as a Squeeze of an axis that is never 1 in a branch that is not taken. A
runtime loads the model as long as the runtime cannot infer the shapes that the node reads. A rewrite that lets the
runtime infer these shapes makes the file unusable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from onnx import ModelProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic, is_broken
from gather_infer.inference import Inference
from gather_infer.inference.backward_slice import BackwardSlice
from gather_infer.inference.load_refusals import (
    can_propagate_elements,
    refused_alone,
    refused_nodes,
    wrongly_declared,
)
from gather_infer.model.edits import DeclareType, Journal
from gather_infer.model.paths import bodies
from gather_infer.node_ids import GraphPath, NodeId
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.tensor import Value

_MAX_ATTEMPTS: Final = 5
"""Maximum number of attempts to rewrite a model; in the last one every value is protected."""


class ProtectedValues:
    """The protected values of a model.

    names        names of the outputs of the nodes that are not rewritten
    diagnostics  a note for each node that a runtime would reject after the rewrites
    """

    def __init__(self, inference: Inference) -> None:
        self.names: frozenset[str] = frozenset()
        self.diagnostics: list[Diagnostic] = []
        self._inference = inference
        self._is_broken = is_broken(inference.diagnostics)  # shape inference of onnx may crash on such a model
        self._source = inference.model
        self._upstream: BackwardSlice | None = None
        self._writers: dict[str, list[NodeId]] = {}
        self._is_whole: dict[NodeId, bool] = {}
        self._attempts = 1

    def extend_for(self, proto: ModelProto, model: MutableModel) -> bool:
        """Protect more values if a runtime would reject a node of the rewritten model. Returns whether more are needed.

        model   the mutable model after the last rewrite
        """
        if self._is_broken:
            return False
        known = _facts_by_name(model)
        data_prop = self._can_propagate_elements
        found = refused_nodes(self._source, proto, lambda _, name: known.get(name), data_prop=data_prop)
        plain = refused_alone(self._source, proto, data_prop=data_prop)
        if not found | plain:
            return False
        if self._upstream is None:
            self._upstream = BackwardSlice(self._source, self._source.proto, self._fact)
            for place in self._upstream.nodes:
                for _, name in self._upstream.outputs([place]):
                    self._writers.setdefault(name, []).append(place)
        writers = {**self._writers, **self._moved(model)}
        places = _origins(proto, found, writers)
        if plain:
            refused_before = self._refused_before
            places += [place for place in _origins(proto, plain - found, writers) if place not in refused_before]
        if not places:
            return False
        before = self.names
        self._attempts += 1
        if self._attempts == _MAX_ATTEMPTS:
            self.names = frozenset(self._writers)
        else:
            for place in places:
                self._protect(place, self._upstream)
        return self.names != before

    @cached_property
    def _refused_before(self) -> frozenset[NodeId]:
        """The nodes of the original model that shape inference of onnx refuses: the rewrites did not cause these
        refusals.
        """
        return refused_alone(self._source, self._source.proto, data_prop=self._can_propagate_elements)

    @cached_property
    def _can_propagate_elements(self) -> bool:
        return can_propagate_elements(self._inference.scopes)

    @cached_property
    def _failing(self) -> frozenset[NodeId]:
        """The nodes at which every run fails: it does not matter whether such a model loads."""
        return frozenset(
            (finding.location.node.graph, finding.location.node.position)
            for finding in self._inference.diagnostics
            if finding.severity is Severity.ERROR and finding.location.node is not None
        )

    def _moved(self, model: MutableModel) -> dict[str, list[NodeId]]:
        """Value -> the original node that writes it now; empty unless `model` was built from the original file."""
        if model.pass_input.inference is not self._inference:
            return {}
        return {
            name: [node.source]
            for graph in model.graphs.values()
            for name, (node, _) in graph.producers.items()
            if node.source is not None
        }

    def _protect(self, place: NodeId, upstream: BackwardSlice) -> None:
        """Protect a node, and the nodes that determine the shapes of its inputs."""
        is_whole = self._is_whole.get(place)
        if is_whole is None:
            self.diagnostics.append(self._note(place, upstream))
        elif is_whole or place in refused_nodes(
            self._source, self._source.proto, self._fact, data_prop=self._can_propagate_elements
        ):
            return  # no node that determines its inputs has changed
        # A node that onnx refuses in the original model may load in a runtime that infers less than onnx.
        self._is_whole[place] = is_whole is not None or (place in self._refused_before and place not in self._failing)
        determining = upstream.of([place], whole=self._is_whole[place])
        self.names |= {name for _, name in upstream.outputs(determining)}

    def _fact(self, path: GraphPath, name: str) -> Value | None:
        return self._inference.scopes.get(path, {}).get(name)

    def _note(self, place: NodeId, upstream: BackwardSlice) -> Diagnostic:
        node = upstream.node(place)
        where = Location(upstream.model.label(node), node.op_type, node.proto.domain)
        text = "not rewritten, nor the nodes that its shapes depend on: the model would not load any more"
        return diagnostic("GI401", text, where)


def corrections(inference: Inference, by: str) -> Journal:
    """The removal of the declared dims that are wrong; empty if there are none.

    Beside a wrong declaration onnxruntime knows nothing of a value. A rewrite may let onnxruntime infer less of the
    inputs of the node: then it takes the declared dims for granted, and the run fails.
    """
    if is_broken(inference.diagnostics):
        return Journal()
    found = wrongly_declared(
        inference.model,
        lambda path, name: inference.scopes.get(path, {}).get(name),
        data_prop=can_propagate_elements(inference.scopes),
    )
    return Journal(
        [
            DeclareType(path=path, by=by, reason="the declared dims are wrong", name=name, type=kind)
            for path, types in found.items()
            for name, kind in types.items()
        ]
    )


def _facts_by_name(model: MutableModel) -> Mapping[str, Value]:
    """The facts about values whose name is unique in the model."""
    found: dict[str, Value] = {}
    repeated: set[str] = set()
    for graph in model.graphs.values():
        for name in graph.producers:
            if name in found:
                repeated.add(name)
            elif name in graph.facts:
                found[name] = graph.facts[name]
    return {name: fact for name, fact in found.items() if name not in repeated}


def _origins(proto: ModelProto, places: Iterable[NodeId], known: Mapping[str, Sequence[NodeId]]) -> list[NodeId]:
    """The original nodes from which nodes of the rewritten model stem.

    places   the nodes of `proto`, the rewritten model
    known    value -> the original nodes that write it

    If a node in `places` writes no known value, the nearest known values downstream of it are used.
    """
    readers: dict[str, list[Sequence[str]]] = {}
    graphs = dict(bodies(proto))
    for body in graphs.values():
        for node in body.node:
            for name in node.input:
                readers.setdefault(name, []).append(node.output)
    found: dict[NodeId, None] = {}
    seen: set[str] = set()
    pending = [name for path, at in sorted(places, key=str) for name in graphs[path].node[at].output if name]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in known:
            found.update(dict.fromkeys(known[name]))
        else:
            pending += [output for outputs in readers.get(name, ()) for output in outputs if output]
    return list(found)
