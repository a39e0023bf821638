"""Mutated files: nothing is raised, and findings and order equal a naive, set-based count from the messages."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import onnx
import pytest
from onnx import FunctionProto, ModelProto, NodeProto

from gather_infer.ir import Graph, Model, structural_findings
from gather_infer.model.paths import GraphOrFunction
from tests.ir.mutations import MUTATIONS, Mutator
from tests.ir.random_models import random_model
from tests.ir.recount import held, recounted
from tests.ir.samples import nested
from tests.ir.test_round_trip import all_fields, annotated
from tests.model.model_samples import everywhere

_FILES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"), key=lambda path: path.stat().st_size)
_SMALL = 40_000
"""Bytes of a fixture up to which there are many mutants of it."""


BASES: dict[str, tuple[Callable[[], ModelProto], int]] = {
    # id: (model, mutants)
    "nested subgraphs": (nested, 150),
    "functions and training graphs": (everywhere, 40),
    "annotated": (annotated, 80),
    "all fields of the format": (all_fields, 60),
    **{f"random {seed}": (partial(random_model, seed), 33) for seed in range(12)},
    **{
        path.stem: (partial(onnx.load, path, load_external_data=False), 12 if path.stat().st_size < _SMALL else 3)
        for path in _FILES
    },
}


@dataclass
class Count:
    """A naive count over one graph, from its message alone.

    undefined  the findings about undefined names
    repeated   name -> how often the graph defines it, where more than once
    reads      for each node, the positions of the nodes whose outputs it reads
    stuck      the positions of the nodes on or behind a cycle
    free       the names that the graph reads from graphs around it
    """

    undefined: Counter[str] = field(default_factory=Counter)
    repeated: dict[str, int] = field(default_factory=dict)
    reads: list[set[int]] = field(default_factory=list)
    stuck: set[int] = field(default_factory=set)
    free: set[str] = field(default_factory=set)


def count_all(model: ModelProto) -> list[Count]:
    """The counts of all graphs, in the order of the model: each before its subgraphs."""
    counts: list[Count] = []
    main = definitions(model.graph)
    count_graph(model.graph, [], counts)
    for function in model.functions:
        count_graph(function, [], counts)
    for info in model.training_info:
        for name in ("initialization", "algorithm"):
            if info.HasField(name):
                count_graph(getattr(info, name), [main], counts)
    return counts


def definitions(body: GraphOrFunction) -> Counter[str]:
    """Name -> how often the graph defines it. An initializer may give the default of an input."""
    found = Counter(name for node in body.node for name in node.output if name)
    if isinstance(body, FunctionProto):
        return found + Counter(body.input)
    inputs = Counter(value.name for value in body.input)
    dense = Counter(tensor.name for tensor in body.initializer)
    sparse = {tensor.values.name for tensor in body.sparse_initializer}
    for name, times in dense.items():
        found[name] += times - (name in inputs)
    for name in sparse - inputs.keys():
        found[name] += 1
    return found + inputs


def count_graph(body: GraphOrFunction, around: list[Counter[str]], counts: list[Count]) -> Count:
    """Add the counts of a graph and its subgraphs to `counts`; `around` are the definitions of the graphs around it."""
    count = Count()
    counts.append(count)
    own = definitions(body)
    scopes = [*around, own]
    outputs = list(body.output) if isinstance(body, FunctionProto) else [value.name for value in body.output]
    if isinstance(body, FunctionProto):
        given = set(body.input)
    else:
        given = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
    writers: dict[str, int] = {}
    for position, node in enumerate(body.node):
        for name in node.output:
            writers.setdefault(name, position)
    for node in body.node:
        names = {name for name in node.input if name}
        for name in filter(None, node.input):
            if not any(name in scope for scope in scopes):
                count.undefined[f"input {name} is not defined"] += 1
        for inner in subgraphs_of(node):
            names |= count_graph(inner, scopes, counts).free
        count.reads.append({writers[name] for name in names - given if name in writers and name})
        count.free |= names - own.keys()
    for name in outputs:
        if not any(name in scope for scope in scopes):
            count.undefined[f"graph output {name} is not defined"] += 1
    count.free |= set(outputs) - own.keys()
    count.repeated = {name: times for name, times in own.items() if times > 1}
    done: set[int] = set()
    while ready := {at for at, sources in enumerate(count.reads) if at not in done and sources <= done}:
        done |= ready
    count.stuck = set(range(len(count.reads))) - done
    return count


def subgraphs_of(node: NodeProto) -> list[GraphOrFunction]:
    return [g for a in node.attribute for g in ([a.g] if a.HasField("g") else []) + list(a.graphs)]


def check(proto: ModelProto) -> set[str]:
    """Compare the model with the naive count. Returns the codes of the findings."""
    before = proto.SerializeToString()
    model = Model(proto)
    findings = list(structural_findings(model))
    counts = count_all(proto)
    assert len(counts) == len(model.graphs)
    assert held(model) == recounted(model)
    expected: Counter[tuple[str, str]] = Counter()
    for count, graph in zip(counts, model.graphs.values(), strict=True):
        expected.update({("GI103", message): times for message, times in count.undefined.items()})
        expected.update(("GI101", f"{name} is defined {times} times") for name, times in count.repeated.items())
        check_order(graph, count)
        assert set(graph.captures()) == count.free
    assert Counter((f.code, f.message) for f in findings if f.code != "GI102") == expected
    cycles = [finding.message for finding in findings if finding.code == "GI102"]
    cyclic = [(graph, count) for graph, count in zip(model.graphs.values(), counts, strict=True) if count.stuck]
    assert len(cycles) == len(cyclic)
    for message, (graph, count) in zip(cycles, cyclic, strict=True):
        check_cycle(message, [str(model.label(node)) for node in graph.file_nodes], count)
    assert proto.SerializeToString() == before
    return {finding.code for finding in findings}


def check_order(graph: Graph, count: Count) -> None:
    """The nodes are in topological order, in that of the file if possible; those on or behind a cycle come last."""
    order = [node.origin for node in graph.nodes]
    assert sorted(position for position in order if position is not None) == list(range(len(count.reads)))
    assert {node.origin for node in graph.cyclic} == count.stuck
    at = {position: place for place, position in enumerate(order) if position is not None}
    for reader, sources in enumerate(count.reads):
        if reader not in count.stuck:
            assert all(at[source] < at[reader] for source in sources)
    if all(source < reader for reader, sources in enumerate(count.reads) for source in sources):
        assert order == list(range(len(order)))


def check_cycle(message: str, labels: list[str], count: Count) -> None:
    """The message names a cycle of the graph in the direction of the data: each node reads the one before it."""
    shown = message.removesuffix(" is a cycle").split(" -> ")
    assert shown[0] == shown[-1]
    path = [labels.index(label) if label != "..." else None for label in shown]
    for one, other in pairwise(path):
        if one is not None and other is not None:
            assert one in count.reads[other]
    assert len(path) <= 8 and (None in path) == (len(path) == 8)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("base", BASES)
def test_mutants(base: str) -> None:
    make, mutants = BASES[base]
    original = make()
    rng = random.Random(base)
    for _ in range(mutants):
        proto = ModelProto()
        proto.CopyFrom(original)
        mutator = Mutator(proto, rng)
        names = [mutator.mutate() for _ in range(rng.randint(1, 4))]
        try:
            check(proto)
        except Exception as error:
            raise AssertionError(f"after {', '.join(names)}") from error


def test_the_mutants_have_findings_of_each_code() -> None:
    """Guards the mutations: there are at least 1 000 mutants, of each kind, with and without findings of each code."""
    assert sum(mutants for _, mutants in BASES.values()) >= 1000
    rng = random.Random(0)
    codes: Counter[str] = Counter()
    kinds: set[str] = set()
    for _ in range(150):
        proto = nested()
        kinds.add(Mutator(proto, rng).mutate())
        codes.update(check(proto) or {"none"})
    assert kinds == set(MUTATIONS)
    assert codes.keys() == {"GI101", "GI102", "GI103", "none"} and min(codes.values()) >= 5
