"""The table of OpenVINO's operators: up to date, and whole."""

from __future__ import annotations

import re
import runpy
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from gather_infer.catalog.coverage import FactSource, Operator
from gather_infer.catalog.operators import operators
from gather_infer.openvino.lowerings import DIALECT, LOWERINGS
from gather_infer.openvino.lowerings.openvino_dialect import NEWEST_PAGE, READER_OPERATORS
from gather_infer.openvino.lowerings.unsupported import REASONS
from gather_infer.report.operators import operator_text
from tests.documents import REPO

READ = {"Parameter", "Result", "If", "Loop", "TensorIterator", "ReadValue", "Assign"}
"""What the reader and the state know."""
WRITTEN = {"Relu": "ReLU", "PRelu": "PReLU", "Softmax": "SoftMax", "Constant": "Const"}
"""Types that a file writes otherwise than the opset."""


def test_the_page_is_up_to_date() -> None:
    made = runpy.run_path(str(REPO / "docs" / "make_openvino_operators.py"))
    page = (REPO / "docs" / "openvino-operators.md").read_text()
    assert made["page"]() == page, "python docs/make_openvino_operators.py writes it again"


def test_every_operator_of_every_opset_is_known() -> None:
    names = set().union(*opsets().values())
    assert len(names) > 200
    assert names - READ <= set(LOWERINGS.op_types)


def opsets() -> dict[int, set[str]]:
    """The operators of each opset, as files write them, read off OpenVINO's headers; nothing of it is imported."""
    spec = find_spec("openvino")
    assert spec is not None and spec.submodule_search_locations
    tables = sorted(Path(spec.submodule_search_locations[0]).glob("include/openvino/opsets/opset*_tbl.hpp"))
    assert len(tables) >= 17
    found: dict[int, set[str]] = {}
    for table in tables:
        names = re.findall(r"^_OPENVINO_OP_REG\((\w+),", table.read_text(), re.M)
        found[int(re.findall(r"\d+", table.stem)[0])] = {WRITTEN.get(name, name) for name in names}
    return found


def test_the_page_of_an_operator_is_that_of_an_opset_which_has_it() -> None:
    by_opset = opsets()
    table = DIALECT.operators()
    for known in (known for op_type in table.op_types for known in table.versions(op_type)):
        op_type, found = known.op_type, re.search(r"opset(\d+)\.html$", known.spec)
        if found is None:
            assert op_type in READER_OPERATORS or known.since > NEWEST_PAGE, op_type
        else:
            assert op_type in by_opset[int(found[1])], op_type


MVN = "LayerNormalization or InstanceNormalization, else ReduceMean, Sub and Div over the axes of an input."


def test_ops_knows_what_is_lowered() -> None:
    """A rule is asked before a lowering; one operator is refused."""
    table = {o.op_type: o for o in operators() if o.domain == "openvino"}
    assert set(LOWERINGS.op_types) <= set(table)
    lowered = table["MVN"]
    assert [(b.since, b.source, b.file) for b in lowered.behaviours] == [
        (1, FactSource.LOWERING, "openvino/lowerings/normalization.py"),
        (6, FactSource.LOWERING, "openvino/lowerings/normalization.py"),
    ]
    assert lowered.newest.summary == f"mvn-6: {MVN}" and lowered.newest.values is None
    assert {b.source for b in table["Gather"].behaviours} == {FactSource.RULE}
    refused = {name: o.newest.summary for name, o in table.items() if o.newest.source is FactSource.NONE}
    assert refused == {name: f"{reason[:1].upper()}{reason[1:]}." for name, reason in REASONS.items()}


SENTENCE = re.compile(r"(Conversion: .+|[A-Z`(].*|\w+ = .+|\w+_\w+, .+)\.")
"""A sentence; one about an attribute or an output begins with its name."""


@cache
def known_operators() -> tuple[Operator, ...]:
    return tuple(operators())


def test_what_ops_says_of_an_operator_are_whole_sentences() -> None:
    """Each text of every behaviour but the address of its page."""
    for operator in known_operators():
        for line in operator_text([operator])[1:]:
            text = line[12:]
            assert text.startswith("https://") or SENTENCE.fullmatch(text), (operator.name, text)


SAID = {
    "MVN": f"Conversion: {MVN}",
    "Abs": "Conversion: ONNX's Abs.",
    "AdaptiveMaxPool": "Conversion: Gather of every window, then ArgMax and GatherElements.",
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_lowering_says_begins_behind_its_page(name: str) -> None:
    (operator,) = (each for each in known_operators() if each.name == f"openvino.{name}")
    told = [line[12:] for line in operator_text([operator]) if "Conversion: " in line]
    assert told[-1:] == ([SAID[name]] if SAID[name] else [])
