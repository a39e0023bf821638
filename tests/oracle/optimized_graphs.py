"""Whole random graphs before and after `optimize`: the same bits at many bindings, and an end of it."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from gather_infer.inference import infer
from gather_infer.model import ModelFile
from gather_infer.passes import DEFAULT_MAX_GROWTH, OptimizeResult, optimize
from gather_infer.passes.match import Match
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.rule_table import RewriteSet
from gather_infer.verification.rounding import has_halves, rounded
from tests.oracle.fuzz import Found
from tests.oracle.generated_graphs import Graph, bindings_of, generate
from tests.oracle.graph_builder import REFUSALS, session
from tests.oracle.graph_edges import random_values
from tests.oracle.loaders import refused_now
from tests.oracle.runtime_faults import faulty_node, may_hide_a_fault
from tests.oracle.soundness import Runtime

_WEIGHED = 2
"""Runs of a graph whose bytes are counted."""

REWRITES = RewriteSet()
"""Rules that try what the engine does for rules: values that are there already, new nodes, constants, outputs that
nobody reads. All hold bit for bit."""


@REWRITES.rewrites("Identity")
def identity(site: Match) -> Rewrite | None:
    return site.replace_with("Identity(x) = x", site.input(0))


@REWRITES.rewrites("Neg", "Not", name="twice")
def twice(site: Match) -> Rewrite | None:
    before = site.producer(0, site.op_type)
    return None if before is None else site.replace_with("f(f(x)) = x", before.input(0))


@REWRITES.rewrites("Reshape", "Expand", "Slice", "Tile", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Concat")
def scalars(site: Match) -> Rewrite | None:
    """Of one element only: moved about it stays what it is."""
    if site.shape(0) != (1,) or site.result().shape != (1,) or (site.op_type == "Concat" and len(site.inputs) > 1):
        return None
    return site.replace_with("one element of rank 1", site.input(0))


@REWRITES.rewrites("Less", "LessOrEqual")
def turned(site: Match) -> Rewrite | None:
    other = {"Less": "Greater", "LessOrEqual": "GreaterOrEqual"}[site.op_type]
    return site.replace_with("a < b = b > a", site.new(other, [site.input(1), site.input(0)]))


@REWRITES.rewrites("Split", since=13)
def part(site: Match) -> Rewrite | None:
    needed = [at for at in range(len(site.outputs)) if site.is_needed(at)]
    sizes = [(site.result(at).shape or ())[site.integer("axis", 0) :][:1] for at in range(len(site.outputs))]
    if site.has_attribute_reference or len(needed) != 1 or site.integer("axis", 0) < 0:
        return None
    if not all(len(size) == 1 and isinstance(size[0], int) for size in sizes):
        return None
    numbers = [int(str(size[0])) for size in sizes]
    start = sum(numbers[: needed[0]])
    values = [""] * len(site.outputs)
    values[needed[0]] = site.slice(site.input(0), [start], [start + numbers[needed[0]]], [site.integer("axis", 0)])
    return site.replace_with("one part is a Slice", *values)


@REWRITES.rewrites(name="same-as-another")
def same_as_another(site: Match) -> Rewrite | None:
    """Equal nodes of one graph or of graphs around it."""
    if not site.inputs or site.op_type.startswith("Random") or site.op_type in ("Dropout", "Bernoulli"):
        return None
    if any(a.HasField("g") for a in site.node.proto.attribute):
        return None
    draft = site.context.model
    for node in draft.readers(site.graph, site.input(0)):
        other = Match(site.context, node)
        if (
            node is not site.node
            and (node.domain, node.op_type) == (site.domain, site.op_type)
            and node.graph.path.contains(site.graph.path)
            and all(site.graph.defining_graph(name) is node.graph for name in node.outputs if name)
            and node.inputs == site.node.inputs
            and all(site.graph.defining_graph(name) is node.graph.defining_graph(name) for name in node.inputs)
            and len(node.outputs) == len(site.outputs)
            and all(theirs or not mine for theirs, mine in zip(node.outputs, site.outputs, strict=True))
            and site.same_attributes(other)
        ):
            values = [theirs if mine else "" for theirs, mine in zip(node.outputs, site.outputs, strict=True)]
            return site.replace_with("equal nodes are one", *values)
    return None


def odd(graph: Graph, rng: random.Random) -> ModelProto:
    """The model with more that an engine can stumble over and a runtime does not mind."""
    model = ModelProto()
    model.CopyFrom(graph.model)
    del model.graph.value_info[:]
    if rng.random() < 0.5:
        made = [n for node in model.graph.node for n in node.output if n]
        known = {o.name for o in model.graph.output}
        for name in rng.sample(made, min(len(made), rng.randint(1, 6))):
            if name not in known:
                model.graph.output.append(ValueInfoProto(name=name))
    if rng.random() < 0.3:
        swap_constants(model, rng)
    for name, body in list(_bodies(model.graph)):
        if name != "body" and rng.random() < 0.5:
            _rename(body, {n: f"b{at}" for at, n in enumerate(_own(body))})
    for function in model.functions:
        if rng.random() < 0.5:  # what a function calls a value is its own affair
            outer = [n for node in model.graph.node for n in node.output if n] + [i.name for i in model.graph.input]
            _rename(function, dict(zip(_own(function), outer, strict=False)))
    return model


def swap_constants(model: ModelProto, rng: random.Random) -> None:
    """Initializers that are Constant nodes, and the other way round."""
    graph = model.graph
    tensors = [t for t in graph.initializer if rng.random() < 0.5]
    nodes = [n for n in graph.node if n.op_type == "Constant" and n.attribute[0].HasField("t") and rng.random() < 0.5]
    left = [t for t in graph.initializer if t not in tensors]
    rest = [n for n in graph.node if n not in nodes]
    made = [helper.make_node("Constant", [], [t.name], value=t) for t in tensors]
    for node in nodes:
        tensor = TensorProto()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        left.append(tensor)
    del graph.initializer[:]
    graph.initializer.extend(left)
    del graph.node[:]
    graph.node.extend([*made, *rest])


def _bodies(graph: GraphProto) -> Iterator[tuple[str, GraphProto]]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.name, attribute.g
                yield from _bodies(attribute.g)


def _own(body: GraphProto | FunctionProto) -> list[str]:
    """Names that a body defines itself, without those of nested graphs."""
    if isinstance(body, FunctionProto):
        names = list(body.input)
    else:
        names = [i.name for i in body.input] + [t.name for t in body.initializer]
    return list(dict.fromkeys(names + [n for node in body.node for n in node.output if n]))


def _rename(body: GraphProto | FunctionProto, names: Mapping[str, str]) -> None:
    """Other names for what a body defines, unless one is taken around here: names of nested graphs have to differ."""
    taken = {n for node in body.node for n in (*node.input, *node.output)}
    for node in body.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                return
    if taken & set(names.values()) & set(names) or set(names.values()) & taken:
        return
    if isinstance(body, FunctionProto):
        for held in (body.input, body.output):
            held[:] = [names.get(n, n) for n in held]
    else:
        for value in (*body.input, *body.output, *body.initializer):
            value.name = names.get(value.name, value.name)
        del body.value_info[:]
    for node in body.node:
        node.input[:] = [names.get(n, n) for n in node.input]
        node.output[:] = [names.get(n, n) for n in node.output]


def ordered(model: ModelProto) -> ModelProto:
    """The model with the nodes of the main graph in an order that runtimes accept."""
    copy = ModelProto()
    copy.CopyFrom(model)
    waiting, known = list(copy.graph.node), {i.name for i in copy.graph.input} | {""}
    known |= {t.name for t in copy.graph.initializer}
    made = {n for node in waiting for n in node.output}
    nodes: list[NodeProto] = []
    while waiting:
        ready = [n for n in waiting if not (outer_reads(n) & made) - known]
        assert ready, "a random graph has no cycle"
        nodes += ready
        known |= {name for n in ready for name in n.output}
        waiting = [n for n in waiting if n not in ready]
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    return copy


def outer_reads(node: NodeProto) -> set[str]:
    """Every name in a node and below that comes from around it."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            own = set(_own(attribute.g))
            found |= {o.name for o in attribute.g.output} - own
            for inner in attribute.g.node:
                found |= outer_reads(inner) - own
    return found


def examine(seed: int, runs: int, shrink: bool) -> Found:
    """Counts and differences of one graph; nothing is shrunk."""
    counts: Counter[str] = Counter()
    rng = random.Random(seed)
    graph = generate(seed)
    model = odd(graph, rng)
    sets: Sequence[RewriteSet] = (REWRITES,) if rng.random() < 0.7 else ()
    options = {name: value for name, value in graph.options.items() if name == "dims"}
    max_growth = rng.choice((0, 64, DEFAULT_MAX_GROWTH))
    try:
        before = session(ordered(model))
    except REFUSALS:
        return Counter({"graphs that do not load": 1}), Counter(), []
    counts["graphs"] += 1
    result = optimize(model, rewrites=sets, max_growth=max_growth, **options)
    counts["rewrites"] += len(result.applied)
    for done in result.applied:
        counts[f"by {done.rule}"] += 1
    wrong = _grown(result, max_growth)
    again = optimize(result.proto, rewrites=sets, max_growth=max_growth, **options)
    if again.applied or again.proto.graph != result.proto.graph:
        wrong = f"a second run does {again.applied}"
    if [v.name for v in result.proto.graph.output] != [v.name for v in model.graph.output]:
        wrong = "outputs differ"
    if not any(finding.is_failure for finding in result.inference.diagnostics):  # else no run is legal
        wrong = wrong or refused_now(ordered(model), result.proto)
    after = _loaded(result.proto)
    if not isinstance(after, Exception) and has_halves(result.inference):
        before, after = (rounding_session(each) for each in (ordered(model), result.proto))
    for number, bindings in enumerate(bindings_of(graph, runs)):
        feeds = graph.feeds(bindings, number)
        wrong = wrong or differs(model, before, after, feeds, bindings, counts)
        if number < _WEIGHED and not wrong:
            wrong = has_more_to_do(model, result.proto, feeds, bindings, counts)
    return counts, Counter(), [f"seed {seed}: {wrong}\n{onnx.printer.to_text(result.proto)}"] if wrong else []


def _loaded(model: ModelProto) -> ort.InferenceSession | Exception:
    try:
        return session(model)
    except REFUSALS as failure:
        return failure


def rounding_session(model: ModelProto) -> ort.InferenceSession:
    """A session that rounds half precision after each node, which onnxruntime leaves out between some neighbours."""
    return session(rounded(ModelFile.from_proto(model), infer(model)))


def _grown(result: OptimizeResult, max_growth: int) -> str:
    """Sizes that grew and must not, in words; empty when none did."""
    before, after = (size.nodes - size.operators["Constant"] for size in (result.before, result.after))
    if after > before:
        return f"{before} nodes became {after}"
    worst = max((done.cost.constant_bytes for done in result.applied), default=0)
    return f"a rewrite added {worst} bytes of constants" if worst > max_growth else ""


def differs(
    model: ModelProto,
    before: ort.InferenceSession,
    after: ort.InferenceSession | Exception,
    feeds: Mapping[str, Any],
    bindings: Mapping[str, int],
    counts: Counter[str],
) -> str:
    """How one run of a model and of what became of it differ, in words; empty when they do not."""
    try:
        expected = _run(before, feeds)
    except REFUSALS:
        counts["refused runs"] += 1
        return ""
    except ValueError as failure:
        if "array is too big" not in str(failure):  # an empty result whose other dims multiply to more than 2^63
            raise
        counts["results that numpy cannot hold"] += 1
        return ""
    drawn = random_values(ordered(model))
    try:
        if isinstance(after, Exception):
            raise after
        found = _run(after, feeds)
    except REFUSALS as failure:
        if drawn:
            counts["failures that may be drawn"] += 1
            return ""
        # CenterCropPad to a size of -1, which the runtime takes unless it is a constant
        if _is_fault_of_the_runtime(model, feeds) or any(n.op_type == "CenterCropPad" for n in model.graph.node):
            counts["runs with what may be a known fault"] += 1
            return ""
        if _reads_unsaid(model, feeds, str(failure)):
            counts["failures by sizes that are not specified"] += 1
            return ""
        return f"it fails at {bindings}: {failure}"
    compared = [at for at, output in enumerate(model.graph.output) if output.name not in drawn]
    if all(bits(found[at]) == bits(expected[at]) for at in compared):
        counts["runs"] += 1
        return ""
    if _is_fault_of_the_runtime(model, feeds):
        counts["runs with what may be a known fault"] += 1
        return ""
    unsaid = _unsaid(model, feeds)
    for at in compared:
        output, one, other = model.graph.output[at], expected[at], found[at]
        if output.name in unsaid:
            continue
        if bits(one) != bits(other) and bits(_run(before, feeds)) == bits(expected):
            return f"{output.name} differs at {bindings}: {one} became {other}"
    return ""


def has_more_to_do(
    model: ModelProto, after: ModelProto, feeds: Mapping[str, Any], bindings: Mapping[str, int], counts: Counter[str]
) -> str:
    """How the bytes of a run have grown, in words; empty when they have not."""
    if any(m.functions or any(a.HasField("g") for n in m.graph.node for a in n.attribute) for m in (model, after)):
        return ""  # what is in subgraphs and functions may come to stand in the main graph
    if random_values(model):
        return ""  # what a random element picks has another size in every run
    try:
        if _is_fault_of_the_runtime(model, feeds):
            return ""  # the dims may be others than those on which a rewrite rests
        before, now = (_run_bytes(each, feeds) for each in (model, after))
    except REFUSALS:
        return ""
    counts["runs whose bytes were compared"] += 1
    return f"{before} bytes in a run became {now} at {bindings}" if now > before else ""


def _run_bytes(model: ModelProto, feeds: Mapping[str, Any]) -> int:
    """The bytes that nodes read and write in a run, without small constants and what is only asked for its size."""
    runnable = ordered(model)
    values = {**feeds, **Runtime(runnable).run(feeds)}
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    constants |= {n.output[0]: np.asarray(values[n.output[0]]) for n in model.graph.node if n.op_type == "Constant"}
    values |= {name: array for name, array in constants.items() if array.size > 64}
    for name, array in constants.items():
        if array.size <= 64:
            values[name] = None
    return sum(
        _nbytes(values.get(name))
        for node in model.graph.node
        if node.op_type != "Constant"
        for name in (*(() if node.op_type in ("Shape", "Size") else node.input), *node.output)
    )


def _nbytes(value: Any) -> int:
    return sum(map(_nbytes, value)) if isinstance(value, list) else getattr(value, "nbytes", 0)


def _is_fault_of_the_runtime(model: ModelProto, feeds: Mapping[str, Any]) -> bool:
    """Whether a run of the original meets what onnxruntime is known to do wrong, or another one may fail by chance."""
    runnable = ordered(model)
    try:
        values = {**feeds, **Runtime(runnable).run(feeds)}
    except REFUSALS:  # with all values as outputs the original fails, without them it has run
        return True
    except ValueError as failure:
        if "array is too big" in str(failure):  # sizes that a kernel has not written: no memory holds them
            return True
        raise
    return faulty_node(runnable, values) is not None or may_hide_a_fault(runnable, values)


def _unsaid(model: ModelProto, feeds: Mapping[str, Any]) -> set[str]:
    """Values that depend on a scan output of a Loop of 0 trips: its other dims are not specified.

    The runtime writes those that it knows of the body, for others 0: https://onnx.ai/onnx/operators/onnx__Loop.html.
    """
    runnable = ordered(model)
    values = Runtime(runnable).run(feeds)
    looping: set[str] = set()
    for _ in runnable.functions:  # they call each other
        looping |= {f.name for f in runnable.functions if _has_loop(f.node, looping)}
    found: set[str] = set()
    for node in runnable.graph.node:
        inner = [n for a in node.attribute for n in a.g.node]
        if not found.isdisjoint(outer_reads(node)) or node.op_type in looping or _has_loop(inner, looping):
            found.update(node.output)
        elif node.op_type == "Loop":
            scans = node.output[len(node.input) - 2 :]
            found.update(n for n in scans if n and np.shape(values[n])[:1] == (0,))
        found.discard("")
    return found


def _reads_unsaid(model: ModelProto, feeds: Mapping[str, Any], failure: str) -> bool:
    """Whether the operator that a failure names reads a value with sizes that are not specified."""
    failed = re.search(r"running (\w+) node", failure)
    if failed is None:
        return False
    unsaid = _unsaid(model, feeds)
    return any(node.op_type == failed[1] and not unsaid.isdisjoint(node.input) for node in model.graph.node)


def _has_loop(nodes: Iterable[NodeProto], functions: Collection[str]) -> bool:
    """Whether a Loop is among the nodes, in their subgraphs, or in functions by these names."""
    return any(
        n.op_type == "Loop" or n.op_type in functions or any(_has_loop(a.g.node, functions) for a in n.attribute)
        for n in nodes
    )


def _run(runtime: ort.InferenceSession, feeds: Mapping[str, Any]) -> list[Any]:
    return list(runtime.run(None, dict(feeds)))


def bits(value: Any) -> object:
    if isinstance(value, list):
        return [bits(member) for member in value]
    array = np.asarray(value)
    if array.dtype.hasobject:
        return array.dtype.str, array.shape, array.tolist()
    return array.dtype.str, array.shape, blake2b(np.ascontiguousarray(array).data).digest()  # no copy: it may be large
