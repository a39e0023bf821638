"""Comparison of a subgraph with the whole model, and of a joined model with its parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from onnx import ModelProto, ValueInfoProto

from gather_infer.editing.composition import ComposeResult, compose
from gather_infer.editing.declarations import Declarations
from gather_infer.editing.result import EditResult
from gather_infer.equality import Difference, diff
from gather_infer.inference import Inference, infer
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.progress import Progress, no_progress
from gather_infer.verification import ModelChain


class ExtractComparison:
    """The whole model with the outputs of a subgraph, and the subgraph behind the part that computes its inputs.

    whole      the original model, with the outputs of the subgraph
    inference  of the whole model
    chain      the original model with the inputs of the subgraph as outputs, then the subgraph
    """

    def __init__(self, result: EditResult, *, progress: Progress = no_progress, **given: Any) -> None:
        """result  of `extract`; given  the other arguments of `infer` that `extract` had"""
        source = result.source
        self._given = given
        inference = infer(source, **{**given, "assume": False}, progress=progress)
        declarations = Declarations(source.name, source.proto, inference)
        ends = [value.name for value in result.proto.graph.output]
        fed = {value.name for value in fed_inputs(source.proto)}
        inputs = [value.name for value in fed_inputs(result.proto)]
        starts = [name for name in inputs if name not in fed]
        self.whole = _with_outputs(source, map(declarations.of_output, ends))
        self.inference: Inference = infer(self.whole, **given, progress=progress)
        part = _in_memory(result.source, result.proto, "the subgraph")
        first = _with_outputs(source, map(declarations.of_output, starts)) if starts else None
        self.chain = ModelChain(first, part, {name: name for name in inputs}, {name: name for name in ends})

    def proof(self, *, progress: Progress = no_progress) -> Difference:
        """The comparison of both by proof: the subgraph is joined to the part that computes its inputs."""
        ends = [*self.chain.outputs]
        joined, names = _with_inputs_of(self.chain.second, self.whole), ends
        if self.chain.first is not None:
            result = compose(
                self.chain.first,
                self.chain.second,
                mapping=self.chain.feeds,
                allow_failures=True,
                rules=self._given.get("rules", ()),
                progress=progress,
            )
            joined = _in_memory(result.source, result.proto, "the subgraph behind its inputs")
            names = [value.name for value in joined.proto.graph.output]
        outputs = dict(zip(ends, names, strict=True))
        return diff(self.whole, joined, **self._given, outputs=outputs, details=False, runs=0, progress=progress)


def chain_of(result: ComposeResult) -> tuple[ModelFile, ModelChain]:
    """A joined model, and its two parts one after the other."""
    joined = _in_memory(result.source, result.proto, "the joined model")
    sources = {name: source for source, names in result.mapping.items() for name in names}
    other = result.other.proto.graph
    feeds = {v.name: sources.get(v.name, result.renamed.get(v.name, v.name)) for v in other.input}
    names = [value.name for value in joined.proto.graph.output]
    of_second = [value.name for value in other.output]
    of_first = names[: len(names) - len(of_second)]
    outputs = {name: name for name in of_first} | dict(zip(names[len(of_first) :], of_second, strict=True))
    return joined, ModelChain(result.source, result.other, feeds, outputs, frozenset(of_first))


def _with_outputs(model: ModelFile, outputs: Iterable[ValueInfoProto]) -> ModelFile:
    """The model with these outputs, and all its nodes."""
    declared = [ValueInfoProto.FromString(value.SerializeToString()) for value in outputs]
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    del proto.graph.output[:]
    proto.graph.output.extend(declared)
    names = {value.name for value in declared}
    left = [value for value in proto.graph.value_info if value.name not in names]
    if len(left) < len(proto.graph.value_info):
        kept = [ValueInfoProto.FromString(value.SerializeToString()) for value in left]
        del proto.graph.value_info[:]
        proto.graph.value_info.extend(kept)
    return _in_memory(model, proto, model.name)


def _with_inputs_of(model: ModelFile, other: ModelFile) -> ModelFile:
    """The model with the inputs of another one that it lacks, which it does not read."""
    proto = ModelProto()
    proto.CopyFrom(model.proto)
    known = {value.name for value in proto.graph.input}
    proto.graph.input.extend(value for value in fed_inputs(other.proto) if value.name not in known)
    return replace(model, proto=proto)


def _in_memory(model: ModelFile, proto: ModelProto, label: str) -> ModelFile:
    """Another message with the large weights of a file."""
    return replace(model, proto=proto, path=None, original=None, label=label)
