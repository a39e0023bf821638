"""Right rewrites of the structure of a model: names, orders, functions, branches, constants, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.oracle.changed_model import TRIES, Chain, ChangedModel, Site, inserted, rename_graph, renamed_node
from tests.oracle.graph_builder import captures_of
from tests.oracle.optimized_graphs import outer_reads, swap_constants

Rewrite: TypeAlias = "Callable[[ChangedModel], str]"
"""Changes a model; returns where, in words, or an empty text if it does not apply."""

STRUCTURE: Final[dict[str, Rewrite]] = {}


def _kind(name: str) -> Callable[[Rewrite], Rewrite]:
    def add(function: Rewrite) -> Rewrite:
        STRUCTURE[name] = function
        return function

    return add


@_kind("other names")
def _other_names(draft: ChangedModel) -> str:
    """Other names of nodes, functions' values, and all values but inputs and outputs of the model."""
    model = draft.model
    kept = {value.name for value in (*model.graph.input, *model.graph.output)}
    made = {name for _, graph in draft.graphs for name in _defined(graph)} - kept
    names = {name: draft.fresh("v") for name in sorted(made)}
    rename_graph(model.graph, names)
    for function in model.functions:
        own = [*function.input, *(name for node in function.node for name in node.output if name)]
        inner = {name: draft.fresh("f") for name in own}
        inner |= {name: draft.fresh("f") for node in function.node for g in _below(node) for name in _defined(g)}
        nodes = [renamed_node(node, inner) for node in function.node]
        del function.node[:], function.value_info[:]
        function.node.extend(nodes)
        for held in (function.input, function.output):
            held[:] = [inner[name] for name in held]
    for graph in (model.graph, *(body for node in model.graph.node for body in _below(node))):
        for node in graph.node:
            node.name = draft.fresh("node")
    return "all"


def _defined(graph: GraphProto) -> list[str]:
    found = [value.name for value in (*graph.input, *graph.initializer)]
    return found + [name for node in graph.node for name in node.output if name]


def _below(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
            for inner in attribute.g.node:
                yield from _below(inner)


@_kind("other order")
def _other_order(draft: ChangedModel) -> str:
    """The nodes of each graph in another topological order."""
    for _, graph in reversed(draft.graphs):  # inner ones first: a change of the outer one copies them
        waiting = list(graph.node)
        made = {name for node in waiting for name in node.output}
        known: set[str] = {""}
        nodes: list[NodeProto] = []
        while waiting:
            ready = [at for at, node in enumerate(waiting) if not (outer_reads(node) & made) - known]
            node = waiting.pop(draft.rng.choice(ready))
            known |= set(node.output)
            nodes.append(renamed_node(node, {}))
        del graph.node[:]
        graph.node.extend(nodes)
    return "all"


@_kind("constants and initializers")
def _other_constants(draft: ChangedModel) -> str:
    fed = {value.name for value in draft.model.graph.input}
    if any(tensor.name in fed for tensor in draft.model.graph.initializer):
        return ""
    swap_constants(draft.model, draft.rng)
    return "some"


@_kind("a copy of a node")
def _copied(draft: ChangedModel) -> str:
    """A second node like one, which some of its readers read; perhaps none does."""
    for _ in range(TRIES):
        site = draft.any_graph()
        if not site.graph.node:
            continue
        at = draft.rng.randrange(len(site.graph.node))
        node = site.graph.node[at]
        names = {name: draft.fresh() for name in node.output if name}
        names |= {name: draft.fresh() for graph in _below(node) for name in _defined(graph)}
        copy = renamed_node(node, names)
        copy.name = ""
        count = 0
        for name in filter(None, node.output):
            for reader, slot in site.readers(name):
                if draft.rng.random() < 0.5:
                    reader.input[slot] = names[name]
                    count += 1
        site.put(at + 1, [copy])
        return f"{node.op_type}, read {count} times"
    return ""


@_kind("an Identity")
def _identity(draft: ChangedModel) -> str:
    return inserted(draft, lambda chain, name, fact: chain.one("Identity", name))


@_kind("a Dropout that drops nothing")
def _dropout(draft: ChangedModel) -> str:
    def build(chain: Chain, name: str, fact: Any) -> str | None:
        return chain.one("Dropout", name) if fact.dtype == TensorProto.FLOAT and draft.opset >= 12 else None

    return inserted(draft, build)


# runs of nodes


@dataclass(frozen=True)
class Run:
    """Nodes of a graph one after the other.

    reads   what they read of others
    makes   what others read of them
    """

    site: Site
    at: int
    nodes: Sequence[NodeProto]
    reads: Sequence[str]
    makes: Sequence[str]

    @property
    def text(self) -> str:
        return " ".join(node.op_type for node in self.nodes)

    def renamed(self, names: Mapping[str, str]) -> list[NodeProto]:
        """The nodes with new names of all that they and their bodies define."""
        draft = self.site.draft
        own = {name: draft.fresh() for node in self.nodes for name in node.output if name}
        own |= {name: draft.fresh() for node in self.nodes for g in _below(node) for name in _defined(g)}
        own.update(names)
        return [renamed_node(node, own) for node in self.nodes]

    def replace(self, node: NodeProto, *before: NodeProto) -> None:
        """Put another node in their place."""
        self.site.put(self.at, [*before, node], instead=len(self.nodes))
        gone = {name for each in self.nodes for name in each.output} - set(self.makes)
        kept = [value for value in self.site.graph.value_info if value.name not in gone]
        infos = [helper.make_empty_tensor_value_info(value.name) for value in kept]
        for info, value in zip(infos, kept, strict=True):
            info.CopyFrom(value)
        del self.site.graph.value_info[:]
        self.site.graph.value_info.extend(infos)


def _runs(draft: ChangedModel, longest: int = 8) -> Iterator[Run]:
    for _ in range(TRIES):
        site = draft.any_graph()
        count = len(site.graph.node)
        if not count:
            continue
        at = draft.rng.randrange(count)
        end = min(count, at + draft.rng.randint(1, longest))
        nodes = [renamed_node(node, {}) for node in site.graph.node[at:end]]
        own = {name for node in nodes for name in node.output if name}
        read = dict.fromkeys(
            name for node in nodes for name in (*node.input, *sorted(captures_of(node))) if name and name not in own
        )
        outside = [*site.graph.node[:at], *site.graph.node[end:]]
        needed = {name for node in outside for name in outer_reads(node)}
        needed |= {value.name for value in site.graph.output}
        makes = [name for node in nodes for name in node.output if name and name in needed]
        if makes:
            yield Run(site, at, nodes, [*read], makes)


@_kind("a function")
def _function(draft: ChangedModel) -> str:
    """A run of nodes as a local function: some constants inside, an attribute passed on, a left out input passed on."""
    run = next(_runs(draft), None)
    if run is None:
        return ""
    rng, inputs, inner = draft.rng, [], []
    for name in run.reads:
        array = run.site.array(name)
        if array is not None and array.size <= 64 and rng.random() < 0.6:
            inner.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
        else:
            inputs.append(name)
    names = {name: draft.fresh("p") for name in (*run.reads, *run.makes)}
    nodes = [renamed_node(node, names) for node in inner] + run.renamed(names)
    call = helper.make_node(draft.fresh("Part"), inputs, list(run.makes), domain="parts")
    parameters = [names[name] for name in inputs]
    for node in nodes:
        if "" in node.input and rng.random() < 0.5:
            at = list(node.input).index("")
            node.input[at] = draft.fresh("p")
            call.input.append("")
            parameters.append(node.input[at])
    passed = []
    for node in nodes:
        for attribute in node.attribute:
            plain = attribute.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT)
            if plain and not attribute.ref_attr_name and rng.random() < 0.2:
                title, given = draft.fresh("a"), AttributeProto()
                given.CopyFrom(attribute)
                given.name = title
                call.attribute.append(given)
                passed.append(title)
                for field in ("i", "f", "ints"):
                    attribute.ClearField(field)
                attribute.ref_attr_name = title
    function = helper.make_function(
        "parts", call.op_type, parameters, [names[name] for name in run.makes], nodes, draft.model.opset_import, passed
    )
    draft.model.functions.append(function)
    if not any(each.domain == "parts" for each in draft.model.opset_import):
        draft.model.opset_import.append(helper.make_opsetid("parts", 1))
    _know_parts(draft.model.functions)
    run.replace(call)
    return run.text


def _know_parts(functions: Sequence[FunctionProto]) -> None:
    """Let functions import the domain of those that they may call."""
    for function in functions:
        if function.domain == "parts" and not any(each.domain == "parts" for each in function.opset_import):
            function.opset_import.append(helper.make_opsetid("parts", 1))


# branches


@_kind("a branch that is always taken")
def _taken_branch(draft: ChangedModel) -> str:
    """A run of nodes in one branch of an If with a known condition; the other is equal, another, or fails."""
    for run in _runs(draft):
        types = [run.site.dtype(name) for name in run.makes]
        if not all(types):
            continue
        chain = Chain(run.site)
        truth = draft.rng.random() < 0.5
        condition = _known_condition(chain, run, truth)
        branch, other = _branch(run, types), _other_branch(run, types)
        names = ("then_branch", "else_branch") if truth else ("else_branch", "then_branch")
        node = helper.make_node("If", [condition], list(run.makes), **dict(zip(names, (branch, other), strict=True)))
        run.replace(node, *chain.nodes)
        chain.store()
        return run.text
    return ""


@_kind("equal branches")
def _equal_branches(draft: ChangedModel) -> str:
    """A run of nodes in both branches of an If whose condition depends on the inputs."""
    for run in _runs(draft):
        types = [run.site.dtype(name) for name in run.makes]
        chain = Chain(run.site)
        condition = _unknown_condition(chain, run) if all(types) else None
        if condition is None:
            continue
        branches = {name: _branch(run, types) for name in ("then_branch", "else_branch")}
        run.replace(helper.make_node("If", [condition], list(run.makes), **branches), *chain.nodes)
        chain.store()
        return run.text
    return ""


def _known_condition(chain: Chain, run: Run, truth: bool) -> str:
    rng = chain.draft.rng
    roll = rng.random()
    if roll < 0.4:
        return chain.constant(truth, np.bool_)
    if roll < 0.6:
        return chain.one("Not", chain.constant(not truth, np.bool_))
    if roll < 0.8 or not run.reads or not run.site.dtype(run.reads[0]):
        return chain.one("Less", chain.constant(0 if truth else 2), chain.constant(1))
    size = chain.one("Size", run.reads[0])
    zero = chain.constant(0)
    return chain.one("GreaterOrEqual", size, zero) if truth else chain.one("Less", size, zero)


def _unknown_condition(chain: Chain, run: Run) -> str | None:
    site, rng = run.site, chain.draft.rng
    before = [name for node in site.graph.node[: run.at] for name in node.output if name]
    before += [value.name for value in chain.draft.model.graph.input]
    rng.shuffle(before)
    for name in before:
        if site.dtype(name) == TensorProto.BOOL and site.shape(name) == ():
            return name
    for name in before:
        if site.dtype(name) == TensorProto.FLOAT and rng.random() < 0.5:
            return chain.one("Less", chain.one("ReduceSum", name, keepdims=0), chain.constant(1.5, np.float32))
        if site.dtype(name):
            return chain.one("Less", chain.one("Size", name), chain.constant(rng.randint(1, 12)))
    return None


def _branch(run: Run, types: Sequence[int]) -> GraphProto:
    """The run as a branch."""
    names = {name: run.site.draft.fresh("b") for name in run.makes}
    return _graph(run, run.renamed(names), [names[name] for name in run.makes], types)


def _other_branch(run: Run, types: Sequence[int]) -> GraphProto:
    """A branch with outputs of the same types that no run takes."""
    draft = run.site.draft
    roll = draft.rng.random()
    if roll < 0.25:
        return _branch(run, types)
    nodes: list[NodeProto] = []
    outputs: list[str] = []
    source = next((name for name in run.reads if run.site.dtype(name) == TensorProto.FLOAT), None)
    for dtype in types:
        chain = Chain(run.site)
        if roll < 0.6 or source is None:
            zero: Any = b"" if dtype == TensorProto.STRING else 0
            made = helper.make_tensor("value", dtype, [1], [zero])
            chain.nodes.append(helper.make_node("Constant", [], [draft.fresh()], value=made))
            outputs.append(chain.nodes[-1].output[0])
        else:
            flat = chain.one("Reshape", source, _inner(chain, [-1]))
            found = chain.one("Gather", flat, _inner(chain, 1 << 40))  # no axis is that long
            outputs.append(chain.one("Cast", found, to=dtype))
        nodes += chain.nodes
    return _graph(run, nodes, outputs, types)


def _inner(chain: Chain, value: Any) -> str:
    name = chain.draft.fresh("c")
    chain.nodes.append(
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value, np.int64), name))
    )
    return name


def _graph(run: Run, nodes: Sequence[NodeProto], outputs: Sequence[str], types: Sequence[int]) -> GraphProto:
    declared: list[ValueInfoProto] = [
        helper.make_tensor_value_info(name, dtype, None) for name, dtype in zip(outputs, types, strict=True)
    ]
    return helper.make_graph(nodes, run.site.draft.fresh("branch"), [], declared)
