"""Models with one planted fault each: `diff` must not prove them equal. `python -m tests.oracle.planted_differences`.

A fault changes one node of a random graph or of a fixture: an attribute, an element of a constant, the order of two
inputs, an operator. Not each change makes a difference: one of a dead node does not. So a pair that is proved equal is
run at many sizes, and a run that differs is a fault of the proof. `--right` proves results of `optimize` instead.

With `--witness` each pair is first run at many sizes, and only those count of which a run differs, or fails in the
second model alone. `diff` has to find an input that tells them apart; it is run again in both models.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper
from onnxruntime import InferenceSession

from gather_infer import diff, optimize
from gather_infer.equality import DiffVerdict
from gather_infer.errors import GatherInferError
from tests.oracle.generated_graphs import bindings_of, generate
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


def is_proved(one: ModelProto, two: ModelProto, counts: Counter[str]) -> bool:
    """Whether the models are proved equal; every other verdict is counted."""
    found = diff(one, two, runs=0)
    counts[str(found.verdict)] += 1
    return found.verdict is DiffVerdict.PROVED


def examine(seed: int, each: int, counts: Counter[str], *, is_right: bool) -> Iterator[str]:
    """Pairs made of the random graph of a seed; a text for each that is proved and differs in a run."""
    rng = random.Random(seed)
    graph = generate(seed)
    model = ordered(graph.model)
    try:
        before = session(model)
    except REFUSALS:
        return
    pairs: list[tuple[str, ModelProto]] = []
    if is_right:
        pairs = [("optimize", optimize(model).proto)]
    else:
        making = faults(model, rng)
        pairs = [next(making) for _ in range(each)]
    for text, changed in pairs:
        try:
            after = session(changed)
        except REFUSALS:
            counts["does not load"] += 1
            continue
        try:
            proved = is_proved(model, changed, counts)
        except GatherInferError:
            counts["refused"] += 1
            continue
        if is_right and not proved:
            counts["right and not proved"] += 1
        if not proved:
            continue
        for number, bindings in enumerate(bindings_of(graph, 8)):
            wrong = differs(model, before, after, graph.feeds(bindings, number), bindings, counts)
            if wrong:
                yield f"seed {seed}, {text}: proved, but {wrong}"
                break


def confirmed(seed: int, each: int, counts: Counter[str]) -> Iterator[str]:
    """Pairs that a run tells apart; a text for each that `diff` proves, or whose witness both models agree on."""
    rng = random.Random(seed)
    graph = generate(seed)
    model = ordered(graph.model)
    try:
        before = session(model)
    except REFUSALS:
        return
    making = faults(model, rng)
    for text, changed in (next(making) for _ in range(each)):
        try:
            after = session(changed)
        except REFUSALS:
            counts["does not load"] += 1
            continue
        runs = enumerate(bindings_of(graph, 12))
        known = next(
            filter(None, (differs(model, before, after, graph.feeds(b, n), b, Counter()) for n, b in runs)), ""
        )
        if not known:
            counts["not told apart by runs"] += 1
            continue
        counts["confirmed"] += 1
        try:
            found = diff(model, changed)
        except GatherInferError:
            counts["confirmed: refused"] += 1
            continue
        counts[f"confirmed: {found.verdict}"] += 1
        if found.verdict is DiffVerdict.PROVED:
            yield f"seed {seed}, {text}: proved, but {known}"
        elif found.verdict is not DiffVerdict.DIFFERENT:
            print(f"seed {seed}, {text}: {found.verdict}, but {known}"[:400], flush=True)
        elif found.witness is None:
            counts["confirmed: other types"] += 1
        else:
            again = _differs_on(before, after, found.witness)
            counts["witness replayed" if again else "witness not replayed"] += 1
            if not again:
                yield f"seed {seed}, {text}: the witness shows no difference"


def _differs_on(before: InferenceSession, after: InferenceSession, feeds: Mapping[str, Any]) -> bool:
    """Whether outputs of two models differ, or the second one fails."""
    expected = before.run(None, dict(feeds))
    try:
        found = after.run(None, dict(feeds))
    except REFUSALS:
        return True
    return any(bits(one) != bits(other) for one, other in zip(expected, found, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many random graphs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--each", type=int, default=5, help="faults planted into each")
    parser.add_argument("--right", action="store_true", help="results of optimize instead of faults")
    parser.add_argument("--witness", action="store_true", help="pairs that a run tells apart, and the witness of diff")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    begin = time.monotonic()
    for seed in range(options.first, options.first + options.seeds):
        found = (
            confirmed(seed, options.each, counts)
            if options.witness
            else examine(seed, options.each, counts, is_right=options.right)
        )
        for text in found:
            print(text, flush=True)
            wrong.append(text)
    for name, count in sorted(counts.items()):
        print(f"{name:32}{count:8}")
    print(f"proved although different: {len(wrong)}; {time.monotonic() - begin:.0f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
