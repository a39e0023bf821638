"""Whole random graphs: inferred once, run at many bindings, every fact held against every run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto, helper

from gather_infer import Inference, infer
from gather_infer.context import Context
from gather_infer.inference import inference_driver as inference_run
from gather_infer.symbolic import Expr, Scope, evaluate, free_symbols, parse_dim, symbol
from gather_infer.tensor import SymbolicTensor
from tests.oracle.graph_builder import REFUSALS, Builder, Input, World
from tests.oracle.graph_control import grow
from tests.oracle.runtime_faults import faulty_node, has_aborting_node, may_hide_a_fault
from tests.oracle.soundness import Runtime, bound_symbols, compare, value_of

SYMBOLS = ("N", "M", "S", "P")
SIZES = (0, 0, 1, 1, 2, 3, 4, 5, 7, 9)


@dataclass
class Graph:
    """A model with what is needed to run and to infer it.

    model     as it is inferred: perhaps with nodes in another order and value_info that is not true
    runnable  the same without these
    options   for `infer`
    """

    seed: int
    model: ModelProto
    runnable: ModelProto
    inputs: list[Input]
    symbols: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)

    def feeds(self, bindings: Mapping[str, int], seed: int) -> dict[str, np.ndarray[Any, Any]]:
        rng = np.random.default_rng(seed)
        return {i.name: i.feed(bindings, rng) for i in self.inputs}


def _inputs(rng: random.Random, symbols: list[str]) -> list[Input]:
    found = []
    for number in range(rng.randint(2, 4)):
        dims: list[int | str | None] = []
        for _ in range(rng.choice((1, 2, 2, 3, 3, 4))):
            roll = rng.random()
            if roll < 0.62:
                dims.append(rng.choice(symbols))
            elif roll < 0.72 and len(symbols) >= 2:
                dims.append("{} + {}".format(*rng.sample(symbols, 2)))
            elif roll < 0.76:
                dims.append(f"2*{rng.choice(symbols)}")
            elif roll < 0.79:
                dims.append(None)
            else:
                dims.append(rng.choice((1, 1, 2, 3, 4)))
        found.append(Input(f"x{number}", tuple(dims), "float"))
    if rng.random() < 0.5:
        found.append(Input("ids", tuple(rng.choice(symbols) for _ in range(rng.randint(1, 2))), "index"))
    if rng.random() < 0.5:
        found.append(Input("t", (), "count"))
    if rng.random() < 0.3:
        found.append(Input("sizes", (rng.randint(1, 3),), "count"))
    if rng.random() < 0.4:
        found.append(Input("flag", (), "bool"))
    if rng.random() < 0.3:
        found.append(Input("mask", (rng.choice(symbols),), "bool"))
    if rng.random() < 0.5:
        found.append(Input("never", (), "never"))
    if rng.random() < 0.3:
        found.append(Input("zero", (), "zero"))
    return found


def generate(seed: int) -> Graph:
    """The random graph of a seed."""
    rng = random.Random(seed)
    symbols = list(SYMBOLS[: rng.randint(2, 4)])
    inputs = _inputs(rng, symbols)
    every = sorted(set().union(*(i.symbols() for i in inputs)))
    equal = rng.choice((2, 3))
    examples = [
        dict(zip(every, rng.sample((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), len(every)), strict=True)),
        dict.fromkeys(every, equal),
        {s: rng.choice((0, 1, 1, 2, 5)) for s in every},
    ]
    world = World(rng, examples, rng.choice((18, 19, 21)), aborting=rng.random() < 0.35)
    b = Builder(world)
    for number, given in enumerate(inputs):
        b.bind(given.name, [given.feed(e, np.random.default_rng(seed + number)) for e in examples], is_static=False)
    grow(b, rng.randint(5, 40))
    used = {n for node in b.nodes for n in node.input}
    made = [o for node in b.nodes for o in node.output]
    ends = [n for n in made if n not in used or n in world.ends][:8] or made[-1:]
    graph = helper.make_graph(
        b.nodes,
        "g",
        [i.proto() for i in inputs],
        [ValueInfoProto(name=n) for n in ends],
        b.initializers,
    )
    model = helper.make_model(graph, functions=world.functions, opset_imports=world.imports(), ir_version=10)
    result = Graph(seed, model, model, inputs, every)
    _disguise(result, b, rng)
    return result


def _disguise(graph: Graph, b: Builder, rng: random.Random) -> None:
    """Other orders of the nodes, value_info that is not true, and options."""
    changed = ModelProto()
    changed.CopyFrom(graph.model)
    if rng.random() < 0.2:
        nodes = list(changed.graph.node)
        rng.shuffle(nodes)
        del changed.graph.node[:]
        changed.graph.node.extend(nodes)
    if rng.random() < 0.15:
        facts = infer(graph.model)
        for name in rng.sample(list(b.values), min(4, len(b.values))):
            value, fact = b.first(name), facts.get(name)
            if isinstance(fact, SymbolicTensor) and fact.shape is not None and not isinstance(value, list):
                dims = [rng.choice((1, 3, 17, "N", "old", None)) for _ in fact.shape]
                changed.graph.value_info.append(helper.make_tensor_value_info(name, int(fact.dtype or 1), dims))
    graph.model = changed
    if rng.random() < 0.3:
        graph.options["assume"] = False
    if rng.random() < 0.15:
        least = rng.choice((0, 1, 2))
        named = sorted({d for i in graph.inputs for d in i.dims if d in SYMBOLS})
        graph.least |= {str(name): least for name in named[:1]}
        graph.options["dims"] = [f"{n}={least}..64" for n in graph.least]


def bindings_of(graph: Graph, count: int) -> Iterator[dict[str, int]]:
    """Sizes to run at: zeros, ones, all different, all equal, larger."""
    rng = random.Random(graph.seed * 7 + 1)
    lowest = int(has_aborting_node([*graph.model.graph.node, *(n for f in graph.model.functions for n in f.node)]))
    for number in range(count):
        if number == 0:
            found = dict(
                zip(
                    graph.symbols, rng.sample((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), len(graph.symbols)), strict=True
                )
            )
        elif number == 1:
            found = dict.fromkeys(graph.symbols, rng.choice((0, 1, 2, 3, 4)))
        elif number == 2:
            found = {s: rng.choice((1, 2, 3, 5, 8, 16)) for s in graph.symbols}
        else:
            found = {s: rng.choice(SIZES) for s in graph.symbols}
        yield {s: max(n, lowest, graph.least.get(s, 0)) for s, n in found.items()}


def infer_with_scope(model: ModelProto, options: Mapping[str, Any]) -> tuple[Inference, Scope]:
    """The inference, and the scope in which its unconditional facts were learnt."""
    contexts: list[Context] = []

    def remembered(*arguments: Any, **named: Any) -> Context:
        contexts.append(Context(*arguments, **named))
        return contexts[-1]

    with mock.patch.object(inference_run, "Context", remembered):
        inference = infer(model, **options)
    return inference, contexts[-1].scope


def sizes_of_texts(inference: Inference, bindings: Mapping[str, int]) -> dict[str, int]:
    """The sizes of input dims that are symbols themselves because no input has the symbols in them: `M + S`."""
    shapes = [v.shape or () for v in map(inference.get, inference.inputs) if isinstance(v, SymbolicTensor)]
    names = {d.name for shape in shapes for d in shape if isinstance(d, Expr) and d.is_symbol} - bindings.keys()
    texts = {name: parse_dim(name) for name in names if not name.isidentifier() and "." not in name}
    return {name: evaluate(dim, bindings) for name, dim in texts.items() if free_symbols(dim) <= bindings.keys()}


def wrong_facts(scope: Scope, sizes: Mapping[str, int]) -> Iterator[str]:
    """Facts that the run inferred about its symbols and that are false."""
    for fact in scope.facts:
        value = value_of(fact, sizes)
        if value is not None and value < 0:
            yield f"learnt {fact} >= 0, is {value}"
    for name, size in sizes.items():
        if size not in scope.symbol_bounds(name):
            yield f"learnt that {name} is in {scope.symbol_bounds(name)}, is {size}"
        if size not in scope.bounds(symbol(name)):
            yield f"{name} is said to be in {scope.bounds(symbol(name))}, is {size}"


@dataclass
class Mismatch:
    graph: Graph
    bindings: dict[str, int]
    data: int
    texts: list[str]


def wrong_in(
    inference: Inference, scope: Scope, actual: Mapping[str, Any], bindings: Mapping[str, int], counts: Counter[str]
) -> list[str] | None:
    """Errors found by a run; None when nothing is promised for it.

    Nothing is promised when a listed assumption, or a trusted annotation, fails in the run, nor when the run does not
    bind a symbol: an error may then rest on it.
    """
    bindings = {**bindings, **sizes_of_texts(inference, bindings)}
    result = compare(inference, actual, bindings)
    if result.assumption_fails or any(
        w.startswith(f"{b.value}:") for b in inference.trusted_annotations for w in result.wrong
    ):
        counts["runs outside the assumptions"] += 1
        return None
    counts["dims"] += result.dims
    counts["symbolic dims"] += result.symbolic
    counts["values"] += result.values
    counts["spans"] += result.spans
    wrong = list(result.wrong)
    wrong += wrong_facts(scope, bound_symbols(inference, actual, bindings))
    for error in inference.errors:
        wrong.append(f"an error is reported but it runs: {error.code} {error.message} at {error.location}")
    if wrong and result.unbound:
        counts["runs that may be outside the assumptions"] += 1
        return None
    return wrong


def check(graph: Graph, runs: int, counts: Counter[str], lost: Counter[str] | None = None) -> Mismatch | None:
    """Infer once, run at several bindings; the first contradiction, None when there is none."""
    try:
        runtime = Runtime(graph.runnable)
    except REFUSALS:
        counts["graphs that do not load"] += 1
        return None
    inference, scope = infer_with_scope(graph.model, graph.options)
    counts["graphs"] += 1
    counts["nodes"] += len(graph.model.graph.node)
    legal: list[tuple[dict[str, int], dict[str, Any]]] = []
    for number, bindings in enumerate(bindings_of(graph, runs)):
        try:
            actual = runtime.run(graph.feeds(bindings, number))
        except REFUSALS:
            counts["refused runs"] += 1
            continue
        feeds = graph.feeds(bindings, number)
        if faulty_node(graph.runnable, {**feeds, **actual}):
            counts["runs with a known fault"] += 1
            continue
        wrong = wrong_in(inference, scope, actual, bindings, counts)
        if wrong is None:
            continue
        if wrong and may_hide_a_fault(graph.runnable, {**feeds, **actual}):
            counts["runs with what may be a known fault"] += 1
            continue
        counts["runs"] += 1
        legal.append((bindings, actual))
        if wrong:
            return Mismatch(graph, bindings, number, wrong)
    if lost is not None and len(legal) >= 5:
        lost.update(lost_dims(inference, legal, graph.symbols))
    return None


def lost_dims(
    inference: Inference, runs: list[tuple[dict[str, int], dict[str, Any]]], symbols: list[str]
) -> Iterator[str]:
    """Causes of the generated dims that agree with a simple expression in every run."""
    bindings = [b for b, _ in runs]
    candidates = dict(_candidates(symbols, bindings))
    for name, fact in inference.items():
        if not isinstance(fact, SymbolicTensor) or name not in runs[0][1] or isinstance(runs[0][1][name], list):
            continue
        if fact.shape is None:
            yield "unknown rank"
            continue
        for axis, dim in enumerate(fact.shape):
            if not (isinstance(dim, Expr) and dim.is_symbol and inference.is_generated(dim)):
                continue
            sizes = tuple(np.shape(actual[name])[axis] for _, actual in runs)
            if len(set(sizes)) >= 3 and sizes in candidates:
                cause = inference.causes[dim.name]
                operator = cause.op_type or "?"
                yield f"{operator}: {cause.reason} [could be {candidates[sizes]}]"


def _candidates(symbols: list[str], bindings: list[dict[str, int]]) -> Iterator[tuple[tuple[int, ...], str]]:
    def row(text: str, values: list[int]) -> tuple[tuple[int, ...], str]:
        return tuple(values), text

    for p in symbols:
        for q in symbols:
            if p < q:
                yield row("p*q", [b[p] * b[q] for b in bindings])
                yield row("p + q", [b[p] + b[q] for b in bindings])
                yield row("max(p, q)", [max(b[p], b[q]) for b in bindings])
                yield row("min(p, q)", [min(b[p], b[q]) for b in bindings])
        for k in (2, 3, 4):
            yield row(f"p//{k}", [b[p] // k for b in bindings])
            yield row(f"-(-p//{k})", [-(-b[p] // k) for b in bindings])
            yield row(f"{k}*p", [b[p] * k for b in bindings])
            yield row(f"min(p, {k})", [min(b[p], k) for b in bindings])
        for k in (1, 2, 3):
            yield row(f"p + {k}", [b[p] + k for b in bindings])
            yield row(f"max(0, p - {k})", [max(0, b[p] - k) for b in bindings])
    for p in symbols:
        yield row("p", [b[p] for b in bindings])


def text_of(mismatch: Mismatch) -> str:
    """A report: the model in ONNX's text form, the binding, what is wrong."""
    lines = [f"seed {mismatch.graph.seed}, at {mismatch.bindings}, data {mismatch.data}, {mismatch.graph.options}"]
    lines += [f"  {text}" for text in mismatch.texts[:8]]
    return "\n".join([*lines, onnx.printer.to_text(mismatch.graph.model)])
