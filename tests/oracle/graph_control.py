"""If, Loop, Scan and calls of functions in a random graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import AttributeProto, FunctionProto, NodeProto, helper

from tests.oracle.graph_builder import LOCAL, Builder, Entry, is_bool, is_float, is_int
from tests.oracle.graph_edges import EDGES
from tests.oracle.graph_menu import DATA
from tests.oracle.graph_networks import conv, einsum
from tests.oracle.graph_sizes import SIZES, size

MAX_DEPTH = 2


def grow(b: Builder, nodes: int) -> None:
    """Add entries of the menu until there are that many nodes."""
    menu = {**SIZES, **DATA, **EDGES}
    if b.depth < MAX_DEPTH:
        menu |= CONTROL
    if not b.world.aborting:
        menu = {entry: weight for entry, weight in menu.items() if entry not in (einsum, conv, scan)}
    entries, weights = list(menu), list(menu.values())
    for _ in range(3 * nodes):
        if len(b.nodes) >= nodes:
            return
        b.rng.choices(entries, weights)[0](b)


def own(b: Builder, accept: Callable[[Any], bool]) -> str | None:
    """A value made in this graph."""
    names = [n for n in b.values if b.first(n) is not None and accept(b.first(n))]
    return b.rng.choice(names[-4:]) if names else None


def copied(b: Builder, name: str | None) -> str | None:
    """Under a new name: an output of a subgraph has to be made in it, and only once."""
    return b.one("Identity", name)


def is_of(dtype: Any) -> Callable[[Any], bool]:
    """Whether a value is a tensor of that type."""
    return lambda value: is_tensor(value) and value.dtype == dtype


def is_tensor(value: Any) -> bool:
    return not isinstance(value, list)


def condition(b: Builder) -> str | None:
    roll = b.rng.random()
    if roll < 0.15:
        return b.constant(b.rng.random() < 0.5, np.bool_)
    if roll < 0.7:
        op = b.rng.choice(("Less", "Equal", "Greater", "LessOrEqual", "GreaterOrEqual"))
        return b.one(op, size(b), b.constant(b.rng.choice((0, 0, 1, 2, 3))) if b.rng.random() < 0.7 else size(b))
    return b.pick(lambda a: is_bool(a) and a.size == 1)


def if_(b: Builder) -> Any:
    chosen = condition(b)
    branches: dict[str, list[str]] = {"then_branch": [], "else_branch": []}
    graphs = {}
    kinds: list[Any] = []
    for name in branches:
        inner = b.inner()
        grow(inner, b.rng.randint(1, 4))
        if not kinds:
            for _ in range(b.rng.randint(1, 2)):
                made = copied(inner, own(inner, is_tensor))
                if made is None:
                    return None
                branches[name].append(made)
                kinds.append(inner.first(made).dtype)
        else:
            for kind in kinds:
                made = own(inner, is_of(kind))
                made = copied(inner, made or inner.pick(is_of(kind)))
                if made is None:
                    return None
                branches[name].append(made)
        graphs[name] = inner.graph((), branches[name])
    return b.add("If", [chosen], len(kinds), **graphs)


def next_state(b: Builder, state: str) -> str | None:
    """The next value of a state: itself, larger, or something of the same kind."""
    value = b.first(state)
    roll = b.rng.random()
    if isinstance(value, list):
        return b.one("SequenceInsert", state, b.floats(1, 3))
    if roll < 0.15:
        return copied(b, state)
    if roll < 0.5 and value.ndim >= 1:
        at = b.rng.randrange(value.ndim)
        part = b.pick(
            lambda a: is_tensor(a) and a.dtype == value.dtype and a.ndim == value.ndim and _differ(a, value, at)
        )
        return b.one("Concat", *b.rng.sample((state, part), 2), axis=at)
    if roll < 0.65 and value.dtype == np.int64:
        return b.one(b.rng.choice(("Add", "Sub", "Mul")), state, b.constant(b.rng.choice((1, 2))))
    if roll < 0.75 and value.ndim >= 1:
        return b.one("Slice", state, b.constant([b.rng.choice((0, 1))]), b.constant([b.rng.choice((2, -1, 2**62))]))
    other = own(b, lambda a: is_tensor(a) and a.dtype == value.dtype and (a.ndim == value.ndim or b.rng.random() < 0.1))
    return copied(b, other)


def _differ(a: np.ndarray, value: np.ndarray, at: int) -> bool:
    return all(m == n for k, (m, n) in enumerate(zip(a.shape, value.shape, strict=True)) if k != at)


def loop(b: Builder) -> Any:
    examples = len(b.world.examples)
    states: list[Any] = [
        b.pick(lambda a: (is_float(a) and a.ndim <= 3) or (is_int(a) and a.ndim <= 1) or isinstance(a, list))
        for _ in range(b.rng.randint(0, 2))
    ]
    if None in states:
        return None
    roll = b.rng.random()
    limit: str | None
    if roll < 0.3:
        limit = b.constant(b.rng.choice((0, 1, 2, 3)))
    elif roll < 0.75:
        limit = size(b)
        if b.rng.random() < 0.5:
            limit = b.one("Min", limit, b.constant(4))
    else:
        limit = b.pick(lambda a: is_int(a) and a.ndim == 0 and a.max() <= 8)
    if limit is None:
        return None
    start = "" if b.rng.random() < 0.6 else (condition(b) or "")
    inner = b.inner()
    i, keep = b.world.name("i"), b.world.name("k")
    inner.bind(i, [np.array(0)] * examples, is_static=True)
    inner.bind(keep, [np.array(True)] * examples, is_static=False)
    given = []
    for state in states:
        name = b.world.name("s")
        inner.bind(name, list(b.find(state)), is_static=state in b.world.static and b.rng.random() < 0.5)
        given.append(name)
    grow(inner, b.rng.randint(1, 5))
    roll = b.rng.random()
    if roll < 0.65:
        goes_on = copied(inner, keep)
    elif roll < 0.85:
        counted = i if b.rng.random() < 0.6 else size(inner)
        goes_on = inner.one(
            "Less", counted, inner.constant(b.rng.choice((0, 1, 2))) if b.rng.random() < 0.5 else size(inner)
        )
    else:
        goes_on = copied(inner, condition(inner))
    after: list[Any] = [next_state(inner, s) for s in given]
    scans: list[Any] = [copied(inner, own(inner, is_tensor)) for _ in range(b.rng.randint(0, 2))]
    if goes_on is None or None in after or None in scans or not states + scans:
        return None
    if len(set(after)) < len(after):
        return None
    body = inner.graph((i, keep, *given), (goes_on, *after, *scans))
    return b.add("Loop", [limit, start, *states], len(states) + len(scans), body=body)


def scan(b: Builder) -> Any:
    states: list[Any] = [b.pick(lambda a: is_float(a) and a.ndim <= 3) for _ in range(b.rng.randint(0, 1))]
    x = b.floats(1, 4)
    if x is None or None in states:
        return None
    at = b.rng.randrange(b.first(x).ndim)
    if not b.first(x).shape[at]:
        return None
    inner = b.inner()
    given = []
    for state in states:
        given.append(b.world.name("s"))
        inner.bind(given[-1], list(b.find(state)), is_static=False)
    given.append(b.world.name("s"))
    slices = [None if a is None or a.ndim <= at or not a.shape[at] else np.take(a, 0, at) for a in b.find(x)]
    inner.bind(given[-1], slices, is_static=False)
    inner.alive = {e for e in inner.alive if slices[e] is not None}
    grow(inner, b.rng.randint(1, 4))
    after: list[Any] = [next_state(inner, s) for s in given[:-1]]
    scans: list[Any] = [copied(inner, own(inner, is_tensor)) for _ in range(b.rng.randint(1, 2))]
    if None in after or None in scans:
        return None
    attributes: dict[str, Any] = {"num_scan_inputs": 1}
    if at or b.rng.random() < 0.2:
        attributes["scan_input_axes"] = [at - (b.first(x).ndim if b.rng.random() < 0.3 else 0)]
    if b.rng.random() < 0.3:
        attributes["scan_output_axes"] = [b.rng.randint(-1, inner.first(s).ndim) for s in scans]
    if b.rng.random() < 0.2:
        attributes["scan_input_directions"] = [1]
    body = inner.graph(given, (*after, *scans))
    return b.add("Scan", [*states, x], len(states) + len(scans), body=body, **attributes)


def function(b: Builder) -> Any:
    """A call; often of a function that is there already, with other arguments."""
    known = b.world.functions
    if known and b.rng.random() < 0.5:
        body = b.rng.choice(known)
        call = helper.make_node(
            body.name,
            [b.pick(is_tensor) or "" for _ in body.input],
            [b.world.name("v") for _ in body.output],
            domain=LOCAL,
            **dict[str, Any]({name: b.rng.randint(-1, 2) for name in body.attribute}),
        )
        return b.add_node(call) if "" not in call.input else None
    if b.is_function or (b.parent is not None and b.parent.is_function):
        return None
    arguments: list[Any] = [b.floats(0, 4) if k == 0 else b.pick(is_tensor) for k in range(b.rng.randint(1, 3))]
    if None in arguments:
        return None
    inner = Builder(b.world, b, is_function=True)
    formal = [b.world.name("a") for _ in arguments]
    for name, argument in zip(formal, arguments, strict=True):
        inner.bind(name, list(b.find(argument)), is_static=argument in b.world.static)
    grow(inner, b.rng.randint(1, 6))
    made: list[Any] = [copied(inner, own(inner, is_tensor)) for _ in range(b.rng.randint(1, 2))]
    if None in made:
        return None
    body = FunctionProto(domain=LOCAL, name=b.world.name("F"), input=formal, output=made, node=inner.nodes)
    body.opset_import.extend(b.world.imports())
    passed = _with_attribute(body)
    known.append(body)
    results = b.add_node(
        NodeProto(
            op_type=body.name,
            domain=LOCAL,
            input=arguments,
            output=[b.world.name("v") for _ in made],
            attribute=passed,
        )
    )
    if results is None:
        known.remove(body)
    return results


def _with_attribute(body: FunctionProto) -> list[AttributeProto]:
    """An `axis` in the body becomes an attribute of the function; what the call has to pass."""
    for node in body.node:
        for attribute in node.attribute if not node.op_type.startswith("Arg") else ():
            if attribute.name == "axis" and attribute.type == AttributeProto.INT:
                value = attribute.i
                attribute.CopyFrom(AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="axis"))
                body.attribute.append("axis")
                return [helper.make_attribute("axis", value)]
    return []


CONTROL: dict[Entry, int] = {if_: 6, loop: 7, scan: 3, function: 4}
