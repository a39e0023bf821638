"""Entries by operator and first opset version."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
import pytest
from onnx import defs, helper, parser

from gather_infer import OpCall, RuleSet, SymbolicTensor, infer, symbol
from gather_infer.domains import NEWEST_OPENVINO, version_in, versions_of
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.passes.evaluate import EvaluatorSet
from gather_infer.versioned import VersionedTable, newest_version, valid_at

N = symbol("N")


@dataclass(frozen=True)
class Entry:
    since: int


def table(*versions: int) -> VersionedTable[Entry]:
    return VersionedTable("mine", "entries", (("Op", Entry(since)) for since in versions))


@pytest.mark.parametrize("order", [(1, 6, 13), (13, 6, 1), (6, 13, 1)])
def test_the_newest_entry_up_to_a_version(order: tuple[int, ...]) -> None:
    """As onnx looks up the schema of Relu, which has the versions 1, 6, 13 and 14."""
    assert {s.since_version for s in defs.get_all_schemas_with_history() if s.name == "Relu"} == {1, 6, 13, 14}
    found = table(*order)
    for version in range(1, 14):
        entry = found.lookup("Op", version)
        assert entry is not None and entry.since == defs.get_schema("Relu", version).since_version
    assert found.lookup("Op", 0) is None and found.lookup("Other", 13) is None
    assert [entry.since for entry in found.versions("Op")] == [13, 6, 1]
    assert (found.versions("Other"), list(found.op_types)) == ((), ["Op"])


def test_entries_that_hold_together_keep_their_order() -> None:
    entries = [Entry(6), Entry(1), Entry(13)]
    assert [entry.since for entry in valid_at(6, entries)] == [6, 1]
    assert list(valid_at(0, entries)) == []


def test_the_newest_number() -> None:
    assert [newest_version([9, 13, 18], version) for version in (8, 9, 12, 13, 99)] == [None, 9, 9, 13, 18]


def test_an_operator_has_one_entry_for_a_version() -> None:
    rules = RuleSet("mine")

    @rules.rule("Mix", since=2)
    def mix(op: OpCall) -> list[SymbolicTensor]:
        return [op.tensor(0)]

    with pytest.raises(ValueError, match=r"^mine Mix has two rules since 2$"):
        rules.rule("Mix", since=2)(mix)
    other = RuleSet("mine")
    other.rule("Mix", since=1)(mix)
    rules.update(other)
    with pytest.raises(ValueError, match=r"^mine Mix has two rules since 1$"):
        rules.update(other)
    assert rules.entries() == [("Mix", 1, mix), ("Mix", 2, mix)]
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "mine": 1]> g (float[N] x) => (y) { y = mine.Mix(x) }'
    )
    assert isinstance(model, onnx.ModelProto) and str(infer(model, rules=[rules])["y"]) == "float32[N]"

    lowerings, evaluators = LoweringTable(), EvaluatorSet("")
    lowerings.lowers("TopK", since=3)(lambda op, g: "")
    with pytest.raises(ValueError, match=r"^openvino TopK has two lowerings since 3$"):
        lowerings.lowers("TopK", since=3)(lambda op, g: "")
    evaluators.evaluates("Abs", since=6)(lambda call: None)
    with pytest.raises(ValueError, match=r"^ai.onnx Abs has two evaluators since 6$"):
        evaluators.evaluates("Abs", since=6)(lambda call: None)


def test_the_first_import_of_a_domain_counts() -> None:
    """As the inference reports with GI109; `ai.onnx` is another name of the default domain."""
    imports = [helper.make_opsetid(*entry) for entry in (("ai.onnx", 17), ("", 9), ("mine", 2), ("mine", 1))]
    assert versions_of(imports) == {"": 17, "mine": 2}


@pytest.mark.parametrize(
    ("domain", "version"),
    [("", 17), ("ai.onnx", 17), ("mine", 2), ("other", 0), ("openvino.opset8", 8), ("openvino", NEWEST_OPENVINO)],
)
def test_the_version_of_a_domain_as_a_node_has_it(domain: str, version: int) -> None:
    assert version_in({"": 17, "mine": 2}, domain) == version


@pytest.mark.parametrize("domain", ["openvino.opset8", "openvino", "org.openvinotoolkit"])
def test_a_gather_of_openvino_reads_its_rows_only(domain: str) -> None:
    """N indices of 8 bytes, the axis, N rows of 8 floats: also without an import, as an IR has none."""
    graph = f"g (float[1000, 8] t, int64[N] i) => (y) <int64 a = {{0}}> {{ y = {domain}.Gather(t, i, a) }}"
    cost = infer(parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}')).cost()
    assert cost.reads == 8 * N + 8 + 32 * N
