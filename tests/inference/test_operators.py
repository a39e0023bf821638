"""The table of operators: read off the rules and schemas, and true where it is easy to say what is true."""

from __future__ import annotations

import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import pytest

import gather_infer
from gather_infer import RuleSet, UsageError
from gather_infer.catalog import probe
from gather_infer.catalog.coverage import FactSource, Operator
from gather_infer.catalog.operators import operator_named, operators
from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.proto.schema import read_table, schema_of
from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.symbolic import DimTooLarge
from gather_infer.tensor import DType, SymbolicTensor, Value
from tests.documents import REPO

RULES = [(domain, *entry) for domain, rules in sorted(standard_rules().items()) for entry in rules.entries()]


@pytest.fixture(scope="module")
def table() -> dict[str, Operator]:
    return {operator.name: operator for operator in operators()}


def test_every_rule_and_every_schema_is_in_the_table(table: dict[str, Operator]) -> None:
    first: dict[tuple[str, str], int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        key = (schema.domain, schema.name)
        first[key] = min(schema.since_version, first.get(key, schema.since_version))
    first = {**{key: min(e["since"] for e in entries) for key, entries in read_table().items()}, **first}
    ruled = {(d, op) for d, op, _, _ in RULES}
    lowered = {("openvino", op) for op in LOWERINGS.op_types}
    assert {(o.domain, o.op_type) for o in table.values()} == first.keys() | ruled | lowered
    for operator in table.values():
        since = [b.since for b in operator.behaviours]
        assert since == sorted(set(since))
        assert since[0] >= first.get((operator.domain, operator.op_type), 1)


SOURCES = {
    "If": FactSource.INTERPRETER, "Scan": FactSource.INTERPRETER, "Gather": FactSource.RULE, "SequenceMap": FactSource.INTERPRETER,
    "ai.onnx.preview.training.Gradient": FactSource.NONE,
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_where_facts_come_from(name: str, table: dict[str, Operator]) -> None:
    assert table[name].newest.source is SOURCES[name]


TELLS_ELEMENTS = """
    Add Sub Mul Div Mod Neg Abs Min Max Cast Ceil Floor Concat Constant ConstantOfShape Equal Expand Flatten Gather
    GatherElements GatherND Greater Identity Less Not Pad Range ReduceProd Reshape ScatterND Shape Size Slice Split
    Squeeze Tile Transpose Unsqueeze Where SequenceLength
"""
NO_ELEMENTS = "Conv MatMul Softmax LSTM RandomNormal Attention BatchNormalization NonMaxSuppression"
TELLS_BOUNDS = "ArgMax ArgMin NonZero TopK Range Gather Slice Concat Add Mul Clip Where Cast MaxPool Mod"
NO_BOUNDS = "Conv MatMul Softmax RandomNormal Constant LSTM"


def test_coverage_claims(table: dict[str, Operator]) -> None:
    newest = {name: operator.newest for name, operator in table.items()}
    assert [op for op in TELLS_ELEMENTS.split() if not newest[op].values] == []
    assert [op for op in NO_ELEMENTS.split() if newest[op].values] == []
    assert [op for op in TELLS_BOUNDS.split() if not newest[op].value_ranges] == []
    assert [op for op in NO_BOUNDS.split() if newest[op].value_ranges] == []


def test_a_rule_is_probed_and_not_believed() -> None:
    rules = RuleSet("local")
    rules.rule("Same")(lambda op: [op.tensor(0)])
    rules.rule("Shape only")(lambda op: [SymbolicTensor(DType.INT64, op.tensor(0).shape)])
    rules.rule("Refuses")(lambda op: [op.tensor(7)])
    found = {op: probe.propagates(rule, op, "local", 1, None) for op, _, rule in rules.entries()}
    assert found == {"Same": (True, True), "Shape only": (False, False), "Refuses": (False, False)}


def with_unranked(group: probe.Group) -> Iterator[Sequence[Value]]:
    """The inputs of a group; before them the first with each of its tensors, then all of them, without a shape."""
    every = list(group.inputs)
    first = every[0]
    unranked = [SymbolicTensor(i.dtype) if isinstance(i, SymbolicTensor) else i for i in first]
    for index in range(len(first)):
        yield [*first[:index], unranked[index], *first[index + 1 :]]
    yield unranked
    yield from every


@pytest.mark.parametrize("domain", sorted({domain for domain, *_ in RULES}))
def test_no_rule_fails_on_small_inputs_of_any_rank(domain: str) -> None:
    for _, op_type, since, rule in (entry for entry in RULES if entry[0] == domain):
        for group in probe.groups(op_type, domain, schema_of(op_type, since, domain)):
            for inputs in with_unranked(group):
                used = (True,) * group.outputs
                call = OpCall(op_type, list(inputs), group.attributes, used, since, domain, Context())
                try:
                    rule(call)
                except (SpecViolation, DimTooLarge):
                    pass
                except Exception as error:
                    given = ", ".join(map(str, inputs))
                    raise AssertionError(f"{domain}.{op_type}-{since}({given}), {group.attributes}") from error


def test_names() -> None:
    assert [o.domain for o in operator_named("Gather")] == ["", "openvino"]
    assert [o.domain for o in operator_named("ai.onnx.Gather")] == [""]
    assert [o.domain for o in operator_named("openvino.GatherND")] == ["openvino"]
    with pytest.raises(UsageError, match="no operator 'gather'; did you mean 'Gather'"):
        operator_named("gather")
    with pytest.raises(UsageError, match=r"no operator 'openvino.Gathr'; did you mean 'openvino.Gather'"):
        operator_named("openvino.Gathr")


def test_each_rule_names_its_page_and_its_file(table: dict[str, Operator]) -> None:
    for operator in table.values():
        for behaviour in operator.behaviours:
            if behaviour.source is FactSource.RULE:
                assert behaviour.spec.startswith("https://"), operator.name
                assert (Path(gather_infer.__file__).parent / behaviour.file).exists(), operator.name


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_operators.py"))
    page = (REPO / "docs" / "operators.md").read_text()
    if f"with onnx {onnx.__version__} -->" not in page:
        pytest.skip("the page was made with another version of onnx")
    assert made["page"]() == page, "python docs/make_operators.py writes it again"
