"""Models with one planted fault each: `diff` must not prove them equal. `python -m tests.oracle.planted_differences`.

A fault changes one node of a random graph: an attribute, an element of a constant, the order of two
inputs, an operator. Not each change makes a difference: one of a dead node does not. So a pair that is proved equal is
run at many sizes, and a run that differs is a fault of the proof. `--right` proves results of `optimize` instead.

`--folder` takes the models of a folder with a manifest instead, `fixtures` or that of benchmarks/exports.py.

With `--witness` each pair is first run at many sizes, and only those count of which a run differs, or fails in the
second model alone. `diff` has to find an input that tells them apart; it is run again in both models.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper
from onnxruntime import InferenceSession

from benchmarks.exported.manifest import spec_of
from fixtures.feeds import NAMES, Spec, draw_feeds
from fixtures.feeds import spec_of as fixture_spec
from gather_infer import diff, optimize
from gather_infer.equality import DiffVerdict
from gather_infer.errors import GatherInferError
from tests.oracle.generated_graphs import Graph, bindings_of, generate
from tests.oracle.graph_builder import REFUSALS, session
from tests.oracle.optimized_graphs import bits, differs, ordered

OTHERS = {
    # operator -> another of the same signature
    "Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Min": "Max", "Max": "Min", "And": "Or", "Or": "And",
    "Less": "LessOrEqual", "Greater": "GreaterOrEqual", "LessOrEqual": "Less", "GreaterOrEqual": "Greater",
    "Floor": "Ceil", "Ceil": "Floor", "ReduceMax": "ReduceMin", "ReduceMin": "ReduceMax", "ReduceSum": "ReduceMax",
    "ArgMax": "ArgMin", "Relu": "Abs", "Neg": "Abs", "Sin": "Cos", "Tanh": "Sigmoid", "Exp": "Sinh", "Sqrt": "Abs",
    "Softmax": "LogSoftmax",
}  # fmt: skip


def faults(model: ModelProto, rng: random.Random) -> Iterator[tuple[str, ModelProto]]:
    """Copies of a model with one fault each, in a random order, without end; and what the fault is."""
    while True:
        copy = ModelProto()
        copy.CopyFrom(model)
        bodies = list(_bodies(copy.graph))
        body = rng.choice(bodies)
        if not body.node:
            continue
        node = rng.choice(body.node)
        change = rng.choice((_attribute, _constant, _swap, _operator, _rewire, _lose, _branch))
        text = change(copy, body, node, rng)
        if text:
            yield f"{node.op_type} {node.output[0] if node.output else ''}: {text}", copy


def _bodies(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _bodies(attribute.g)


def _attribute(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """Another value of an attribute."""
    held = [a for a in node.attribute if a.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT)]
    if not held:
        return ""
    attribute = rng.choice(held)
    if attribute.type == AttributeProto.INT:
        attribute.i += rng.choice((-1, 1))
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = attribute.f * 1.5 + 0.25
    elif len(attribute.ints) > 1 and rng.random() < 0.5:
        one, two = rng.sample(range(len(attribute.ints)), 2)
        attribute.ints[one], attribute.ints[two] = attribute.ints[two], attribute.ints[one]
    elif attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] += rng.choice((-1, 1))
    return f"attribute {attribute.name}"


def _constant(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """One element of a constant that the node reads."""
    tensors: dict[str, TensorProto] = {t.name: t for t in model.graph.initializer}
    tensors |= {t.name: t for t in body.initializer}
    for each in body.node:
        if each.op_type == "Constant" and each.attribute and each.attribute[0].type == AttributeProto.TENSOR:
            tensors[each.output[0]] = each.attribute[0].t
    held = [name for name in node.input if name in tensors]
    if not held:
        return ""
    name = rng.choice(held)
    tensor = tensors[name]
    try:
        array = numpy_helper.to_array(tensor).copy()
    except (TypeError, ValueError):
        return ""
    if not array.size or array.dtype.kind not in "fiub":
        return ""
    at = rng.randrange(array.size)
    if array.dtype.kind == "b":
        array.flat[at] = not array.flat[at]
    elif array.dtype.kind == "f":
        array.flat[at] = (
            np.nextafter(array.flat[at], array.dtype.type(np.inf)) if rng.random() < 0.5 else array.flat[at] + 1
        )
    else:
        array.flat[at] += rng.choice((-1, 1))
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return f"an element of {name}"


def _swap(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """Two inputs in the other order."""
    if len(node.input) < 2:
        return ""
    one, two = rng.sample(range(len(node.input)), 2)
    if node.input[one] == node.input[two]:
        return ""
    node.input[one], node.input[two] = node.input[two], node.input[one]
    return "swapped operands"


def _operator(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """Another operator."""
    if node.op_type not in OTHERS or node.domain:
        return ""
    node.op_type = OTHERS[node.op_type]
    return "operator"


def _lose(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """The first operand in place of the result."""
    if not node.input or len(node.output) != 1 or node.op_type in ("Identity", "Constant"):
        return ""
    del node.input[1:], node.attribute[:]
    node.op_type, node.domain = "Identity", ""
    return "lost operator"


def _branch(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """The branches of an If in the other order."""
    if node.op_type != "If":
        return ""
    one, two = node.attribute
    one.name, two.name = two.name, one.name
    return "swapped branches"


def _rewire(model: ModelProto, body: GraphProto, node: NodeProto, rng: random.Random) -> str:
    """Another value in place of an input."""
    before = [name for each in body.node[: list(body.node).index(node)] for name in each.output if name]
    names = [*before, *(value.name for value in body.input)]
    if not node.input or not names:
        return ""
    at, name = rng.randrange(len(node.input)), rng.choice(names)
    if node.input[at] == name or not node.input[at]:
        return ""
    node.input[at] = name
    return f"input {at}"


Runs: TypeAlias = Iterator[tuple[dict[str, int], dict[str, Any]]]
"""Sizes and inputs of runs."""


class Source(NamedTuple):
    """A model that faults are planted into.

    name  says in a report which one it is
    seed  chooses the faults
    runs  so many runs of the model
    """

    name: str
    seed: int
    model: ModelProto
    runs: Callable[[int], Runs]


def random_sources(seeds: range) -> Iterator[Source]:
    for seed in seeds:
        graph = generate(seed)
        yield Source(f"seed {seed}", seed, ordered(graph.model), partial(graph_runs, graph))


def graph_runs(graph: Graph, count: int) -> Runs:
    for number, bindings in enumerate(bindings_of(graph, count)):
        yield bindings, graph.feeds(bindings, number)


def file_sources(folder: Path, seeds: range) -> Iterator[Source]:
    """The models of a folder in turns, one for each seed."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = sorted(path for path in folder.glob("*.onnx") if path.name in manifest or path.stem in NAMES)
    for seed in seeds:
        path = files[seed % len(files)]
        spec = fixture_spec(path.stem) if path.stem in NAMES else spec_of(manifest[path.name])
        yield Source(f"{path.stem}, seed {seed}", seed, ordered(onnx.load(path)), partial(_file_runs, spec))


def _file_runs(spec: Spec, count: int) -> Runs:
    for seed, bindings in enumerate(islice(cycle(spec.bindings), count)):
        yield bindings, draw_feeds(spec, bindings, seed)


class Pair(NamedTuple):
    """A model and another one made of it, with the sessions of both; `text` says how it was made."""

    source: Source
    before: InferenceSession
    text: str
    changed: ModelProto
    after: InferenceSession

    def difference(self, runs: int, counts: Counter[str]) -> str:
        """The first difference in up to `runs` runs, in words; empty if there is none."""
        for bindings, feeds in self.source.runs(runs):
            if wrong := differs(self.source.model, self.before, self.after, feeds, bindings, counts):
                return wrong
        return ""

    def differs_on(self, feeds: Mapping[str, Any]) -> bool:
        """Whether outputs of the two models differ, or only the second one fails."""
        try:
            expected = self.before.run(None, dict(feeds))
        except REFUSALS:
            return False
        try:
            found = self.after.run(None, dict(feeds))
        except REFUSALS:
            return True
        return any(bits(one) != bits(other) for one, other in zip(expected, found, strict=True))


def pairs(source: Source, each: int, counts: Counter[str], *, is_right: bool) -> Iterator[Pair]:
    """The pairs made of a model that load."""
    model = source.model
    try:
        before = session(model)
    except REFUSALS:
        return
    planted = islice(faults(model, random.Random(source.seed)), each)
    made = [("optimize", optimize(model).proto)] if is_right else planted
    for text, changed in made:
        try:
            yield Pair(source, before, text, changed, session(changed))
        except REFUSALS:
            counts["does not load"] += 1


def examine(source: Source, each: int, counts: Counter[str], *, is_right: bool) -> Iterator[str]:
    """A text for each pair that is proved and differs in a run."""
    for pair in pairs(source, each, counts, is_right=is_right):
        try:
            found = diff(pair.source.model, pair.changed, runs=0)
        except GatherInferError:
            counts["refused"] += 1
            continue
        counts[str(found.verdict)] += 1
        if found.verdict is not DiffVerdict.PROVED:
            counts["right and not proved"] += is_right
        elif wrong := pair.difference(8, counts):
            yield f"{source.name}, {pair.text}: proved, but {wrong}"


def examine_confirmed(source: Source, each: int, counts: Counter[str]) -> Iterator[str]:
    """A text for each pair that differs in a run, and that `diff` proves or tells apart by a wrong witness."""
    for pair in pairs(source, each, counts, is_right=False):
        known = pair.difference(12, Counter())
        if not known:
            counts["equal in runs"] += 1
            continue
        counts["confirmed"] += 1
        try:
            found = diff(pair.source.model, pair.changed)
        except GatherInferError:
            counts["confirmed: refused"] += 1
            continue
        counts[f"confirmed: {found.verdict}"] += 1
        if found.verdict is DiffVerdict.PROVED:
            yield f"{source.name}, {pair.text}: proved, but {known}"
        elif found.verdict is not DiffVerdict.DIFFERENT:
            print(f"{source.name}, {pair.text}: {found.verdict}, but {known}"[:400], flush=True)
        elif found.witness is None:
            counts["confirmed: no witness"] += 1
        elif pair.differs_on(found.witness):
            counts["witness replayed"] += 1
        else:
            yield f"{source.name}, {pair.text}: the models agree on the witness"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many random graphs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--each", type=int, default=5, help="faults planted into each")
    parser.add_argument("--folder", type=Path, help="take the models of this folder instead of random graphs")
    parser.add_argument("--right", action="store_true", help="results of optimize instead of faults")
    parser.add_argument("--witness", action="store_true", help="pairs that a run tells apart, and the witness of diff")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    begin = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    for source in file_sources(options.folder, seeds) if options.folder else random_sources(seeds):
        found = (
            examine_confirmed(source, options.each, counts)
            if options.witness
            else examine(source, options.each, counts, is_right=options.right)
        )
        for text in found:
            print(text, flush=True)
            wrong.append(text)
    for name, count in sorted(counts.items()):
        print(f"{name:32}{count:8}")
    print(f"wrong proofs and witnesses: {len(wrong)}; {time.monotonic() - begin:.0f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
