"""A symbol that the model does not have has a recorded cause, wherever in a fact it stands; no other cause is listed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gather_infer import Inference, infer
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Expr, free_symbols
from gather_infer.tensor import MapType, OptionalType, Ratio, SequenceType, SparseTensor, SymbolicTensor, Value
from tests.documents import REPO
from tests.inference.models import model, untyped

FIXTURES = sorted((REPO / "fixtures").glob("*.onnx"))
GO = "go = Constant<value = bool {1}>() one = Constant<value_ints = [1]>() zero = Constant<value_int = 0>() unit = Constant<value_int = 1>() f = Constant<value_floats = [0.5]>()"
COUNT = "<body = b (int64 i, bool c, int64[1] a) => (bool c2, int64[1] a2) { c2 = Identity(c) a2 = Add(a, one) }>"
FILL = "<body = b (int64 i, bool c, seq(float[N]) a) => (bool c2, seq(float[N]) a2) { c2 = Identity(c) a2 = SequenceInsert(a, x) }>"
PLACES = {
    # where the symbol stands:  (nodes, the name whose fact has it)
    "a dim":                    ("y = NonZero(x)", "y"),
    "an element":               (f"y = Loop(k, go, one) {COUNT}", "y"),
    "a fraction":               (f"n = Loop(k, go, one) {COUNT} c = Cast<to = 1>(n) y = Mul(c, f)", "y"),
    "an end of a span":         ("n = NonZero(x) s = Unsqueeze(n, one) y = ArgMax<axis = 2, keepdims = 0>(s)", "y"),
    "the length of a sequence": (f"e = SequenceEmpty<dtype = 1>() y = Loop(k, go, e) {FILL}", "y"),
    "a member of a sequence":   ("n = NonZero(x) y = SequenceConstruct(n)", "y"),
    "an optional value":        ("n = NonZero(x) y = Optional(n)", "y"),
    "a body":                   ("y = If(t) <then_branch = g () => (y1) { n1 = NonZero(x) y1 = Neg(x) }, else_branch = h () => (y2) { y2 = Abs(x) }>", "y"),
}  # fmt: skip


def symbols(value: Value | None) -> Iterator[str]:
    """Every symbol of a fact."""
    dims: list[object] = []
    match value:
        case SymbolicTensor():
            dims += value.shape or ()
            if value.values is not None:
                dims += [v.num if isinstance(v, Ratio) else v for v in value.values.flat]
            if value.value_range is not None:
                dims += [value.value_range.lo, value.value_range.hi]
        case SparseTensor():
            dims += value.shape or ()
        case SequenceType():
            dims.append(value.length)
            yield from symbols(value.element)
        case OptionalType():
            yield from symbols(value.element)
        case MapType():
            yield from symbols(value.value)
    for dim in dims:
        if isinstance(dim, Expr):
            yield from free_symbols(dim)


def check(inference: Inference) -> set[str]:
    """The causes, each of them of a symbol in use; every other symbol is one of the inputs."""
    used = {name for values in inference.scopes.values() for value in values.values() for name in symbols(value)}
    given = {name for value in inference.inputs for name in symbols(inference[value])}
    listed = set(inference.causes)
    assert used <= given | listed
    for constraint in inference.constraints:
        used |= free_symbols(constraint.left) | free_symbols(constraint.right)
    for assumption in inference.assumptions:
        used |= free_symbols(assumption.dim)
    made_of = {o for name in listed for o in inference.causes[name].operands}
    assert used | made_of <= given | listed
    reached = set(used)
    while more := {o for name in reached & listed for o in inference.causes[name].operands} - reached:
        reached |= more
    assert listed <= reached
    return listed


@pytest.mark.parametrize("name", PLACES)
def test_a_symbol_has_a_cause_wherever_it_stands(name: str) -> None:
    nodes, result = PLACES[name]
    proto = untyped(model(f"(float[N] x, int64 k, bool t) => ({result}) {{ {GO} {nodes} }}"))
    inference = infer(proto)
    assert inference.errors == ()
    assert check(inference)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.stem)
def test_an_access_has_the_facts_of_its_tensors(path: Path) -> None:
    inference = infer(path)
    for access in inference.accesses:
        if access.node.graph == MAIN:
            named = {
                access.data: access.data_type,
                access.indices: access.indices_type,
                access.result: access.result_type,
            }
            assert named == {name: inference[name] for name in named}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.stem)
def test_the_causes_of_a_model_are_those_of_its_symbols(path: Path) -> None:
    check(infer(path))
