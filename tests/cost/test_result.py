"""Queries of a cost."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

import gather_infer
from gather_infer import Cost, UnknownName, UsageError, infer
from gather_infer.cost import ProgramPoint
from gather_infer.cost.loops import LoopIterations
from gather_infer.cost.pareto import ParetoSet
from gather_infer.cost.work import CostUnknown
from gather_infer.symbolic import Interval, Scope, evaluate, parse_dim, symbol
from tests.cost.test_control import CASES, model

BERT = "fixtures/bert-torchscript.onnx"


def bert() -> Cost:
    return infer(BERT).cost()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown name": ({"sequ": 4}, "no dim 'sequ'; did you mean 'seq'?"),
    "a negative size": ({"seq": -1}, "dim 'seq' must be a size, a number >= 0, is -1"),
    "no number": ({"seq": "4"}, "dim 'seq' must be a size, a number >= 0, is '4'"),
    "True": ({"seq": True}, "dim 'seq' must be a size, a number >= 0, is True"),
    "nothing": ({"seq": 0}, "no run has seq = 0: seq >= 1"),
    "more positions than there are": ({"seq": 65}, "no run has seq = 65: seq <= 64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_sizes_that_no_run_can_have(name: str) -> None:
    sizes, message = REFUSED[name]
    with pytest.raises(UsageError, match=message):
        bert().at(**sizes)


def test_sizes_that_relations_exclude() -> None:
    cost = infer(model("g (float[2,N] x, float[M,2] u) => (float[2,2] y) { y = MatMul(x, u) }")).cost()
    with pytest.raises(UsageError, match=r"no run has M = 4, N = 3: (N == M|M == N) \(node MatMul#0\)"):
        cost.at(N=3, M=4)
    assert cost.at(M=3, N=3).peak == 8 * 3 * 2 + 16


def test_a_size_outside_what_is_declared() -> None:
    cost = infer(model(CASES["a chain"][0]), dims=["N=1..8"]).cost()
    with pytest.raises(UsageError, match="no run has N = 9: 1 <= N <= 8"):
        cost.at(N=9)


def test_a_size_at_a_time_is_all_at_once() -> None:
    once, twice = bert().at(batch=2, seq=5), bert().at(seq=5).at(batch=2)
    assert (once.macs, once.reads, once.writes, once.peak) == (twice.macs, twice.reads, twice.writes, twice.peak)
    assert dict(twice.sizes) == {"seq": 5, "batch": 2}
    assert twice.symbols == ()


def test_rows_of_operators_add_up() -> None:
    cost = bert()
    rows = cost.by_operator()
    assert sum((row.macs for row in rows), start=0) == cost.macs
    assert sum((row.reads for row in rows), start=0) == cost.reads
    assert sum((row.writes for row in rows), start=0) == cost.writes
    assert sum(row.nodes for row in rows) == len(cost.nodes)
    assert [row.op_type for row in rows[:2]] == ["MatMul", "Gemm"]


def test_what_is_live_at_each_node_is_no_more_than_the_peak() -> None:
    cost = bert().at(batch=3, seq=7)
    lives = [node.live for node in cost.nodes]
    assert max(live for live in lives if isinstance(live, int)) == cost.peak


def test_the_summary_is_one_line() -> None:
    text = str(infer(model(CASES["a chain"][0])).cost())
    assert text == "<model>: macs 32*N, parameters 0, peak 16*(3*N + max(8, N))"


def test_the_package_has_it() -> None:
    assert gather_infer.Cost is Cost


def test_the_model_is_not_changed() -> None:
    proto = model(CASES["a Loop whose state grows"][0])
    before = proto.SerializeToString(deterministic=True)
    infer(proto).cost().at(N=3)
    assert proto.SerializeToString(deterministic=True) == before


N, i = symbol("N"), symbol("i")


@pytest.mark.parametrize("text", ["1", "i", "i*i", "3*i*i + N*i + 5", "N*N - i", "0"])
@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_sums_over_iterations(text: str, trips: int) -> None:
    dim = parse_dim(text)
    rounds = LoopIterations(N, "i", frozenset())
    expected = sum(evaluate(dim, {"N": trips, "i": iteration}) for iteration in range(trips))
    assert evaluate(rounds.sum_over(dim), {"N": trips}) == expected


@pytest.mark.parametrize("text", ["5", "i + N", "N - i", "2*i*i + i"])
def test_the_largest_of_iterations(text: str) -> None:
    dim = parse_dim(text)
    most = LoopIterations(N, "i", frozenset()).max_over(dim, Scope())
    for trips in (1, 2, 7):
        expected = max(evaluate(dim, {"N": trips, "i": iteration}) for iteration in range(trips))
        assert evaluate(most, {"N": trips}) == expected


@pytest.mark.parametrize("text", ["i*i*i", "i//2", "max(i, 3)", "e*i"])
def test_what_cannot_be_summed(text: str) -> None:
    with pytest.raises(CostUnknown):
        LoopIterations(N, "i", frozenset({"e"})).sum_over(parse_dim(text))


@pytest.mark.parametrize("text", ["i*i - 3*i", "i//2", "e"])
def test_what_has_no_known_maximum(text: str) -> None:
    with pytest.raises(CostUnknown):
        LoopIterations(N, "i", frozenset({"e"})).max_over(parse_dim(text), Scope())


FRONTS = {
    # id: (sums, those that are left, least sizes)
    "a smaller factor": (("4*N", "8*N"), ("8*N",), 0),
    "a number may be larger": (("4*N", "16"), ("4*N", "16"), 0),
    "one that is not, where N is 4": (("4*N", "16"), ("4*N",), 4),
    "another symbol": (("4*N", "4*M"), ("4*N", "4*M"), 0),
    "a square beats its root": (("N*M", "N"), ("M*N",), 1),
    "a square of nothing does not": (("N*M", "N"), ("M*N", "N"), 0),
    "equal ones": (("N + M", "M + N"), ("M + N",), 0),
    "a quotient": (("N", "N//2"), ("N",), 0),
    "later ones beat all before": (("N", "M", "N + M"), ("M + N",), 0),
}


@pytest.mark.parametrize("name", FRONTS)
def test_sums_that_another_one_always_beats_go(name: str) -> None:
    sums, left, least = FRONTS[name]
    scope = Scope()
    for symbol_name in "NM":
        scope.declare(symbol_name, Interval(least, None))
    front = ParetoSet(scope)
    front.extend([ProgramPoint(parse_dim(text), None) for text in sums])
    assert [str(moment.live) for moment in front.points] == list(left)


def test_sizes_are_given_by_name_or_as_a_mapping() -> None:
    """Names such as x.0 are none of Python's."""
    cost = infer("fixtures/openvino/int8.xml").cost()
    assert cost.at({"x.0": 2, "x.1": 3}).macs == 2 * 3 * (32 * 48 + 48 * 32)
    assert bert().at({"batch": 2}, seq=5).macs == bert().at(batch=2, seq=5).macs
    with pytest.raises(UnknownName, match="no dim 'y'"):
        cost.at({"y": 1})


def test_its_repr_is_a_line() -> None:
    cost = bert().at(batch=1, seq=64)
    assert repr(cost) == f"<Cost of {BERT}: macs {cost.macs}, parameters {cost.parameter_bytes}, peak {cost.peak}>"


def test_a_size_that_only_the_file_tells_can_be_given() -> None:
    """Nothing is known of Blur: what the file says of y is believed, A and B with it."""
    cost = infer(
        onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 21, "mine" : 1]>'
            "g (float[N] x) => (float[A,B] y) { a = mine.Blur(x) y = mine.Blur(a) }"
        )
    ).cost()
    assert set(cost.symbols) == {"N", "A", "B"}
    assert cost.at(A=3, B=5).nodes[-1].writes == 4 * 3 * 5


def test_a_size_of_the_members_of_a_sequence_can_be_given() -> None:
    cost = infer(model("g (seq(float[N]) x, int64 i) => (float[N] y) { y = SequenceAt(x, i) }")).cost()
    assert cost.symbols == ("N",)
    assert cost.at(N=5).writes == 4 * 5
