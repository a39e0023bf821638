"""Budgets of a run and limits of the size of a fact: at each limit, and one past it."""

from __future__ import annotations

import cProfile
from collections.abc import Callable

import numpy as np
import pytest
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

from gather_infer import check, contract_of, infer, optimize
from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.limits import (
    BODY_NODES,
    BODY_NODES_PER_NODE,
    ELIMINATIONS,
    ELIMINATIONS_PER_NODE,
    LISTED_VALUES,
    LISTED_VALUES_PER_NODE,
    MAX_DIM_SIZE,
    NAMES_PER_VISIT,
    VISITS_PER_BODY,
    WorkBudget,
    limited,
    proof_fuel,
    proof_fuel_findings,
)
from gather_infer.inference.result_simplifier import ResultSimplifier, causes_of
from gather_infer.node_ids import MAIN, NodePath
from gather_infer.symbolic import Expr, Scope, symbol
from gather_infer.tensor import (
    MAX_NESTING,
    MAX_VALUES_RANK,
    UNKNOWN,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    make_values,
)
from gather_infer.trail import Assumption, Cause, Constraint

N, M, F, INT = symbol("N"), symbol("M"), DType.FLOAT32, DType.INT64


def model(count: int, functions: int = 0) -> ModelProto:
    """A model of so many nodes in all graphs, one of them in a branch; and a function of so many."""
    proto = ModelProto()
    branch = GraphProto(name="b", node=[NodeProto(op_type="Neg")])
    proto.graph.node.extend([NodeProto(op_type="Neg") for _ in range(count - 2)])
    proto.graph.node.append(helper.make_node("If", ["c"], ["y"], then_branch=branch))
    proto.functions.append(FunctionProto(name="f", node=[NodeProto(op_type="Neg")] * functions))
    return proto


@pytest.mark.parametrize(("count", "functions"), [(2, 0), (7, 0), (5, 4)])
def test_bodies_within_the_budget(count: int, functions: int) -> None:
    budget, nodes = WorkBudget(model(count, functions)), [NodeProto(input=["a"] * NAMES_PER_VISIT, output=["b"])] * 10
    each = VISITS_PER_BODY + 10 + 10 * (NAMES_PER_VISIT + 1) // NAMES_PER_VISIT
    allowed = BODY_NODES + BODY_NODES_PER_NODE * (count + functions)
    for _ in range(allowed // each):
        budget.spend(nodes, 0)
    assert not budget.is_spent
    left = allowed % each - VISITS_PER_BODY
    with pytest.raises(SpecViolation, match="work budget on bodies"):
        budget.spend([], NAMES_PER_VISIT * (left + 1))
    assert budget.is_spent
    if left >= 0:
        budget.spend([], NAMES_PER_VISIT * left + NAMES_PER_VISIT - 1)


@pytest.mark.parametrize(("count", "functions"), [(2, 0), (5, 4)])
def test_values_that_may_be_listed(count: int, functions: int) -> None:
    allowed = LISTED_VALUES + LISTED_VALUES_PER_NODE * (count + functions)
    budget = WorkBudget(model(count, functions))
    assert not budget.may_list(allowed + 1)
    assert budget.may_list(allowed - 5) and not budget.may_list(6) and budget.may_list(5) and not budget.may_list(1)


def test_proofs_that_may_be_made() -> None:
    assert proof_fuel(model(7, 4)).left == ELIMINATIONS + ELIMINATIONS_PER_NODE * (
        6 + 4
    )  # of branches none are counted
    scope = Scope()
    scope.fuels = (proof_fuel(model(2)),)
    assert proof_fuel_findings(scope) == []
    scope.fuels[0].left = 0
    assert [d.code for d in proof_fuel_findings(scope)] == ["GI214"]


def dim_of_size(size: int) -> Expr:
    """An expression of so many nodes."""
    dim: Expr = symbol("v0")
    for number in range(1, size):
        for longer in (dim + symbol(f"v{number}"), dim + symbol("v0")):
            if isinstance(longer, Expr) and dim.size < longer.size <= size:
                dim = longer
    assert dim.size == size
    return dim


def test_dims_that_are_too_long() -> None:
    context = Context(Scope())
    for dim in (dim_of_size(MAX_DIM_SIZE - 1), dim_of_size(MAX_DIM_SIZE)):
        for value in (
            SymbolicTensor(F, (dim, 3)),
            SymbolicTensor(INT, (2,), make_values([dim, 3])),
            SymbolicTensor(INT, (2,), None, ValueRange(0, dim)),
        ):
            assert limited(value, context) is value
    assert context.causes == {}
    long = dim_of_size(MAX_DIM_SIZE + 1)
    for axis in (0, 1):
        found = limited(SymbolicTensor(F, (long, 3) if axis == 0 else (3, long)), context)
        assert isinstance(found, SymbolicTensor) and found.shape is not None and found.shape[1 - axis] == 3
        made = found.shape[axis]
        assert isinstance(made, Expr) and made.is_symbol and context.causes.keys() == {made.name}  # the same for both
    assert limited(SymbolicTensor(INT, (2,), make_values([long, 3])), context) == SymbolicTensor(
        INT, (2,), make_values([None, 3])
    )
    for span, left in (
        (ValueRange(0, long), ValueRange(0, None)),
        (ValueRange(long, N), ValueRange(None, N)),
        (ValueRange(long, long), ValueRange(None, None)),
    ):
        assert limited(SymbolicTensor(INT, (2,), None, span), context) == SymbolicTensor(INT, (2,), None, left)


def test_sizes_and_ranks_that_are_too_large() -> None:
    context = Context(Scope())
    assert limited(SymbolicTensor(F, (2**63 - 1,)), context) == SymbolicTensor(F, (2**63 - 1,))
    with pytest.raises(SpecViolation, match="a size must be <= "):
        limited(SymbolicTensor(F, (2**63,)), context)
    for rank, is_kept in ((MAX_VALUES_RANK, True), (MAX_VALUES_RANK + 1, False)):
        values = np.full((1,) * rank, N, dtype=object)
        found = limited(SymbolicTensor(INT, (1,) * rank, values), context)
        assert isinstance(found, SymbolicTensor) and (found.values is not None) is is_kept


def test_types_that_are_nested_too_deep() -> None:
    value: Value = SymbolicTensor(F, (N,))
    for depth in range(1, MAX_NESTING + 3):
        value = SequenceType(value)
        assert limited(value, Context(Scope())) == (value if depth < MAX_NESTING else UNKNOWN), depth


SETTLED: dict[str, tuple[Value, Value]] = {
    # id: (in a run, at its end, where `made` is N + 1)
    "a size": (SymbolicTensor(F, (symbol("made"), N, 3)), SymbolicTensor(F, (N + 1, N, 3))),
    "numbers": (SymbolicTensor(F, (2, 3)), SymbolicTensor(F, (2, 3))),
    "an element": (
        SymbolicTensor(INT, (3,), make_values([symbol("made"), 3, None])),
        SymbolicTensor(INT, (3,), make_values([N + 1, 3, None])),
    ),
    "a span": (SymbolicTensor(INT, (2,), None, ValueRange(0, symbol("made"))), SymbolicTensor(INT, (2,), None, ValueRange(0, N + 1))),
    "a span from": (SymbolicTensor(INT, (2,), None, ValueRange(symbol("made"), None)), SymbolicTensor(INT, (2,), None, ValueRange(N + 1, None))),
    "sparse": (SparseTensor(F, (symbol("made"),)), SparseTensor(F, (N + 1,))),
    "sparse without a shape": (SparseTensor(F), SparseTensor(F)),
    "a sequence": (
        SequenceType(SymbolicTensor(F, (symbol("made"),)), symbol("made")),
        SequenceType(SymbolicTensor(F, (N + 1,)), N + 1),
    ),
    "a sequence of nothing known": (SequenceType(None), SequenceType(None)),
    "an optional": (OptionalType(SymbolicTensor(F, (symbol("made"),)), True), OptionalType(SymbolicTensor(F, (N + 1,)), True)),
    "an optional of nothing known": (OptionalType(None, False), OptionalType(None, False)),
    "a map": (MapType(INT, SymbolicTensor(F, (2,))), MapType(INT, SymbolicTensor(F, (2,)))),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTLED)
def test_facts_at_the_end_of_a_run(name: str) -> None:
    value, expected = SETTLED[name]
    context = Context(Scope())
    context.causes["made"] = Cause(NodePath(MAIN, 0), "Add", "it is made", False, equals=N + 1)
    assert ResultSimplifier(context).value(value) == expected


def test_reported_causes() -> None:
    """Those of symbols that stand in a fact, a constraint or an assumption, and of what these are made of."""
    place = NodePath(MAIN, 0)
    causes = {
        name: Cause(place, "Add", "it is made", False, operands=frozenset(operands))
        for name, operands in {"a": "", "b": "a", "c": "", "d": "bN", "e": ""}.items()
    }
    a, b, c, d = (symbol(name) for name in "abcd")
    fact = SymbolicTensor(F, (b, 3))
    assert causes_of([fact], [], [], [], {}) == {}
    assert set(causes_of([fact], [], [], [], causes)) == {"a", "b"}
    assert set(causes_of([], [Constraint(c, "==", N, place)], [], [], causes)) == {"c"}
    assert set(causes_of([], [Constraint(N, "==", c, place)], [], [], causes)) == {"c"}
    assert set(causes_of([], [], [Assumption(d, 1, place, "so it is")], [], causes)) == {"a", "b", "d"}
    assert set(causes_of([SequenceType(SymbolicTensor(F, (a,)), c)], [], [], [], causes)) == {"a", "c"}
    assert causes_of([SymbolicTensor(F, (N,))], [], [], [], causes) == {}


def doubling(levels: int) -> ModelProto:
    """Functions of which each calls the one before twice."""
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    functions = [helper.make_function("f", "f0", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])], imports[:1])]
    for level in range(1, levels):
        calls = [helper.make_node(f"f{level - 1}", [a], [b], domain="f") for a, b in (("x", "a"), ("a", "y"))]
        functions.append(helper.make_function("f", f"f{level}", ["x"], ["y"], calls, imports))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xy")
    graph = helper.make_graph([helper.make_node(f"f{levels - 1}", ["x"], ["y"], domain="f")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10)


def nested(levels: int) -> ModelProto:
    """Loops in loops, whose six states grow by each other in the innermost."""
    count = 6

    def body(level: int) -> GraphProto:
        made = {f"s{level}_{at}": f"r{level}_{at}" for at in range(count)}
        values = [f"i{level}", f"c{level}", *made]
        kinds = [TensorProto.INT64, TensorProto.BOOL, *[TensorProto.FLOAT] * count]
        shapes: list[list[int] | None] = [[], [], *[None] * count]
        inputs = [helper.make_tensor_value_info(*given) for given in zip(values, kinds, shapes, strict=True)]
        nodes = [helper.make_node("Identity", [f"c{level}"], [f"d{level}"])]
        if level + 1 < levels:
            nodes.append(helper.make_node("Loop", ["m", "", *made], list(made.values()), body=body(level + 1)))
        else:
            names = list(made)
            pairs = zip(names, [*names[1:], names[0]], made.values(), strict=True)
            nodes += [helper.make_node("Concat", [a, b], [r], axis=0) for a, b, r in pairs]
        outputs = [helper.make_tensor_value_info(f"d{level}", TensorProto.BOOL, [])]
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made.values()]
        return helper.make_graph(nodes, f"b{level}", inputs, outputs)

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])
    given = [x, helper.make_tensor_value_info("m", TensorProto.INT64, [])]
    names = [f"y{at}" for at in range(count)]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["m", "", *["x"] * count], names, body=body(0))], "g", given,
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


DEEP = {"functions that call twice": doubling(40), "loops in loops": nested(15)}
COMMANDS: dict[str, Callable[[ModelProto], object]] = {
    "infer": infer,
    "check": check,
    "cost": lambda made: infer(made).cost(),
    "contract": contract_of,
    "optimize": optimize,
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_nested_deep_takes_little_work(command: str, deep: str) -> None:
    profile = cProfile.Profile()
    profile.runcall(COMMANDS[command], DEEP[deep])
    calls = sum(entry.callcount for entry in profile.getstats())
    assert calls < 60_000_000, "each level once is a third of that at most; each path would be 2 ** 15 levels or more"
