"""Lines that hold under a condition: what they print, how they are stored, which feeds they are about."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from gather_infer import Contract, contract_of
from gather_infer.contract import ConditionalBody, DimsLine, InputCondition, Open
from gather_infer.report.contract import contract_text
from gather_infer.report.output_formats import ContractReport, View
from gather_infer.report.requests import request_schema
from tests.contract.contracts import dims, spec
from tests.validate.contract_runs import Runtime, judge

PAD = """(int64 rate, float[samples] x) => (float[P] z) {
  high = Constant <value_int = 16000> () c = Equal (rate, high) five = Constant <value_ints = [5, 5]> ()
  three = Constant <value_ints = [3, 3]> () two = Constant <value_ints = [2, 2]> ()
  z = If (c) <then_branch = t () => (float[Q] u) {
  w = Pad <mode = "reflect"> (x, two) u = Pad <mode = "reflect"> (x, five) },
  else_branch = e () => (float[R] v) { v = Pad <mode = "reflect"> (x, three) }> }"""


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> agraph {text}')


@pytest.fixture(scope="module")
def pads() -> Contract:
    return contract_of(model(PAD)).contract


def test_a_line_of_a_branch_is_judged_by_onnxruntime(pads: Contract) -> None:
    assert [line.text for line in pads.lines] == [
        "samples >= 6 where rate == 16000",
        "samples >= 4 where rate != 16000",
    ]
    assert all(line.tight for line in pads.lines) and not pads.open
    runtime = Runtime(model(PAD))
    assert min(judge(pads, runtime, draws=10)) >= 3
    for rate in (16000, 8000):
        for samples in range(9):
            feeds = {"rate": np.array(rate), "x": np.zeros(samples, np.float32)}
            assert bool(pads.check(feeds)) == bool(runtime.error(feeds)), (rate, samples)


def test_it_is_stored(pads: Contract) -> None:
    assert Contract.from_json(json.loads(json.dumps(pads.to_json()))) == pads
    line = pads.to_json()["lines"][0]
    assert line["where"] == [{"input": "rate", "relation": "==", "number": 16000}]


def test_the_condition_of_a_schema(pads: Contract) -> None:
    first, second = request_schema(pads)["allOf"]
    assert first["if"] == {"properties": {"rate": {"const": 16000}}, "required": ["rate"]}
    assert first["then"] == {"properties": {"x": {"minItems": 6}}}
    assert second["if"]["properties"] == {"rate": {"type": "number", "not": {"const": 16000}}}


def test_it_says_nothing_where_the_input_that_decides_is_no_single_element(pads: Contract) -> None:
    x = np.zeros(1, np.float32)
    for rate in (np.array([16000, 16000]), np.zeros(0, np.int64), np.array(16000.0)):
        assert not [found for found in pads.check({"rate": rate, "x": x}) if found.line is not None]


RATE = InputCondition("rate", "==", 16000)
MANY = Contract(
    "many.onnx",
    (spec("rate", "int64"), spec("x", "float32", "n", "m")),
    (
        dims("n <= 4", "A"),
        dims("m <= 2147483647", "B", tight=False),
        dims("n >= 2", "If_0/then_branch/a/stft/Conv", where=(RATE,)),
        dims("m >= 3 or n >= 3", "If_0/then_branch/b/stft/Conv", "If_0/then_branch/b/stft/Pad", where=(RATE,)),
    ),
    open=(
        *(Open(f"norm.{k}", "the requirements of Norm are unknown") for k in range(25)),
        Open(
            "If_1/then_branch/x/y/z",
            "k == 1",
            (ConditionalBody("If_1", "then_branch", "n >= 5"), ConditionalBody("If_1/a/b/c", "body")),
        ),
    ),
)


def text(contract: Contract, **view: object) -> list[str]:
    return contract_text(ContractReport(contract, (), contract.model), View(**view))  # type: ignore[arg-type]


def test_what_a_person_reads() -> None:
    assert text(MANY) == [
        "contract of many.onnx",
        "  n <= 4   tight       A",
        "  where rate == 16000:",
        "    n >= 2             tight       …/a/stft/Conv",
        "    m >= 3 or n >= 3   tight       …/b/stft/Conv and 1 more node",
        "  and 1 limit of 10^9 or more: -v",
        "  open, a run may still fail there:",
        "    norm.0 and 24 more nodes: the requirements of Norm are unknown",
        "    in then_branch of If_1, where n >= 5; in body of …/b/c:",
        "      …/y/z: k == 1",
        "",
        "3 lines, 3 tight, 26 open",
    ]


def test_a_verbose_one_names_everything() -> None:
    shown = text(MANY, verbose=True)
    assert "    m >= 3 or n >= 3   tight       If_0/then_branch/b/stft/Conv" in shown
    assert any("2147483647" in line for line in shown) and not any("10^9" in line for line in shown)
    assert "    in then_branch of If_1, where n >= 5; in body of If_1/a/b/c:" in shown
    assert "      norm.24" in shown


def test_reasons_are_wrapped() -> None:
    line = DimsLine(MANY.lines[0].relations, reason="a reason of many words " * 9) if isinstance(
        MANY.lines[0], DimsLine
    ) else MANY.lines[0]  # fmt: skip
    long = Contract("long.onnx", MANY.inputs, (line,))
    assert max(map(len, text(long, verbose=True, width=60))) <= 60


def test_a_contract_of_no_line_says_so_in_words() -> None:
    nothing = Contract("nothing.onnx", MANY.inputs, ())
    assert text(nothing)[1:] == [
        "  no line: for all inputs, no index is out of bounds and no shapes clash",
        "",
        "no lines",
    ]
    only = Contract("only.onnx", MANY.inputs, (), (dims("n >= 1"),))
    assert text(only)[1:] == [
        "  not empty: n",
        "  no other line: for all inputs, no index is out of bounds and no shapes clash",
        "",
        "only sizes that must not be 0",
    ]


def test_a_line_of_a_node_that_may_be_another_is_not_tight() -> None:
    """Whether the function of the model runs or the operator of its name is up to the runtime."""
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> agraph (bool c, float[A] x, float[B] y) => (float[P] z) { '
        "z = If (c) <"
        "then_branch = t () => (float[Q] u) { u = Mul (x, y) }, "
        "else_branch = e () => (float[R] v) { v = Identity (x) }> } "
        '<domain: "", opset_import: ["" : 18]> Mul (a, b) => (d) { d = Add (a, b) }'
    )
    (line,) = contract_of(proto).contract.lines
    assert (line.text, line.tight) == ("A == B or A == 1 or B == 1 where c is true", False)
