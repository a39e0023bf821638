"""Each kind of result in each of its forms, as functions of results."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from importlib import import_module

import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer.catalog.coverage import Behaviour, FactSource, Operator
from gather_infer.explanation import explain
from gather_infer.openvino import convert
from gather_infer.passes import fold, optimize
from gather_infer.report import (
    ConversionReport,
    ExplanationReport,
    OutputFormat,
    RewriteReport,
    View,
    code_json,
    code_text,
    conversion_json,
    conversion_text,
    explanation_json,
    explanation_text,
    operator_text,
    operators_json,
    operators_text,
    output_formats,
    remaining_diagnostics,
    rewriting_json,
    rewriting_text,
    summaries_json,
    summaries_text,
)
from gather_infer.report.output_formats import PLAIN, ResultKind, common_formats
from gather_infer.report.rewriting import SHOWN_EDITS, edits_text
from tests.cli.cli_models import embedding, in_bounds, openvino, out_of_bounds

KINDS = {name: kind for name, kind in vars(output_formats).items() if isinstance(kind, ResultKind)}
VERBOSE = View(verbose=True)


@pytest.mark.parametrize("name", KINDS)
def test_every_form_has_a_function_of_the_result_alone(name: str) -> None:
    """A text may also be looked at; that the functions take what the kind says is not seen by a type checker."""
    declared = output_formats.__annotations__[name]
    for form, place in KINDS[name].formats.items():
        module, _, function = place.partition(":")
        package = "pages" if form is OutputFormat.HTML else "report"
        found = getattr(import_module(f"gather_infer.{package}.{module}"), function)
        first, *rest = inspect.signature(found).parameters.values()
        assert declared == f"ResultKind[{first.annotation}]", place
        assert [p.annotation for p in rest] == (["View"] if form is OutputFormat.TEXT else []), place
        assert all(p.default is output_formats.PLAIN for p in rest), place


def test_texts_come_first() -> None:
    assert all(next(iter(kind.formats)) is OutputFormat.TEXT for kind in KINDS.values())


def test_a_command_has_the_forms_that_all_its_results_have() -> None:
    both: ResultKind[str] = ResultKind({OutputFormat.TEXT: "explain:code_text", OutputFormat.JSON: "explain:code_json"})
    text: ResultKind[str] = ResultKind({OutputFormat.TEXT: "explain:code_text"})
    assert common_formats(both) == [OutputFormat.TEXT, OutputFormat.JSON]
    assert common_formats(both, text) == common_formats(text, both) == [OutputFormat.TEXT]


def test_objects_are_printed_as_json_and_lines_as_they_are() -> None:
    assert output_formats.CODE.lines(OutputFormat.TEXT, "GI301") == code_text("GI301")
    (text,) = output_formats.CODE.lines(OutputFormat.JSON, "GI301")
    assert json.loads(text) == code_json("GI301")
    assert text.startswith('{\n "schema": 2,\n "code": "GI301"')


def test_codes() -> None:
    first, *rest = code_text("GI301")
    assert first.startswith("error[GI301]: ")
    assert len(rest) == 2 and all(line.startswith("  ") for line in rest)
    assert list(code_json("GI301")) == ["schema", "code", "severity", "group", "meaning", "advice"]


def test_no_summaries_are_no_lines() -> None:
    assert summaries_text([], VERBOSE) == []
    assert summaries_json([]) == {"schema": 2, "models": []}


def test_a_fold() -> None:
    report = RewriteReport(fold(embedding()))
    assert rewriting_text(report) == [
        "                     before      after",
        "  nodes                  11          8",
        "    Gather                4          3",
        "    Shape                 2          1",
        "    Unsqueeze             1          0",
        "  initializers            6          6",
        "  constant bytes   3.66 KiB   3.66 KiB",
        "  3 rewrites: fold-constants 2, fold-known 1",
        "  largest new constant: 16 B",
        "  interface unchanged: 2 inputs, 1 output, 3 symbolic dims",
    ]
    assert "    /Gather_width: all inputs are constant" in rewriting_text(report, VERBOSE)
    found = rewriting_json(report)
    assert found["edits"] is None
    assert _objects(found["applied"])[1] == {
        "node": "/Gather_width", "op_type": "Gather", "name": "width", "rule": "fold-constants",
        "law": "all inputs are constant", "bytes": 8,
    }  # fmt: skip


def test_the_edits_of_a_fold() -> None:
    report = RewriteReport(fold(embedding()), edits=True)
    edits = report.result.edits
    assert rewriting_json(report)["edits"] == edits
    assert edits[0] == "fold: add last int64[1]: all inputs are constant (/Unsqueeze) (+8 bytes)"
    assert "fold: remove Gather /Gather_width: all inputs are constant (/Gather_width)" in edits
    done = rewriting_text(RewriteReport(report.result))
    assert rewriting_text(report) == [*done, "", *(f"  {edit}" for edit in edits)]


def test_dead_nodes_are_reported_where_no_rule_applied() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { a = Neg (x) y = Relu (x) }'
    )
    result = optimize(model)
    assert result.applied == () and [node.op_type for node in result.proto.graph.node] == ["Relu"]
    shown = rewriting_text(RewriteReport(result))
    assert "  1 node removed as dead code" in shown and "  nothing to do" not in shown


def test_many_edits_are_listed_for_those_who_ask() -> None:
    edits = [f"fold: remove node {number}" for number in range(SHOWN_EDITS + 1)]
    assert edits_text(edits, PLAIN) == [f"  {len(edits)} edits: --verbose"]
    assert edits_text(edits, VERBOSE) == ["", *(f"  {edit}" for edit in edits)]
    assert edits_text(edits[1:], PLAIN) == ["", *(f"  {edit}" for edit in edits[1:])]
    assert edits_text([], PLAIN) == []


def test_a_fold_that_leaves_alone_what_it_may_not_fold() -> None:
    report = RewriteReport(fold(in_bounds(), max_growth=7))
    shown = rewriting_text(report)
    at = shown.index("  nothing to do")
    assert shown[at + 2] == "  left alone   operator   because"
    assert "its result " in shown[at + 3] and shown[at + 4 : at + 5] == [""]
    assert shown == rewriting_text(report, VERBOSE) and not any("GI401" in line for line in shown)
    assert rewriting_text(RewriteReport(report.result, edits=True)) == shown, "there are no edits"
    assert [d["code"] for d in _objects(rewriting_json(report)["diagnostics"])] == ["GI401"]


def test_a_conversion() -> None:
    model = openvino()
    model.graph.initializer[1].CopyFrom(helper.make_tensor("index", TensorProto.UINT8, [2], [0, 8]))
    report = ConversionReport(convert(model, gather_oob="assume-valid"))
    assert remaining_diagnostics(report.result) == []
    shown = conversion_text(report)
    assert shown[0] == "<model>   ONNX, 2 nodes -> 3 nodes, opset 17"
    assert shown[2:] == [
        "  operator   nodes   in ONNX          indices",
        "  Gather-8       2   2 Gather, Cast   1 proved, 1 assumed",
        "",
        "  indices assumed in bounds, where OpenVINO would give zeros: 1 (dynamic)",
        "  names and order of 1 input and 1 output kept",
    ]
    assert conversion_text(report, VERBOSE)[5:8] == [
        "  node       operator   in ONNX        indices",
        "  constant   Gather-8   Cast, Gather   proved",
        "  dynamic    Gather-8   Gather         assumed",
    ]
    node = {"op_type": "Gather", "version": 8, "draws": False, "fused_into": None}
    assert conversion_json(report)["converted"] == [
        {"node": "constant", **node, "operators": ["Cast", "Gather"], "indices": "proved"},
        {"node": "dynamic", **node, "operators": ["Gather"], "indices": "assumed"},
    ]


def test_a_conversion_with_a_guard() -> None:
    report = ConversionReport(convert(openvino()))
    assert "  guards, which give zeros for an index out of bounds: 1 (dynamic)" in conversion_text(report)
    assert [c["indices"] for c in _objects(conversion_json(report)["converted"])] == ["proved", "guarded"]


def test_a_conversion_that_leaves_unsupported_nodes() -> None:
    model = openvino()
    model.graph.node.append(helper.make_node("Unheard", ["index"], ["z"], "strange", domain="openvino.opset8"))
    report = ConversionReport(convert(model, keep_unsupported=True))
    shown = conversion_text(report)
    at = shown.index("  not converted: 1 node")
    assert shown[at + 1] == "    Unheard-8: it has no lowering (strange)"
    assert conversion_json(report)["kept"] == [
        {"node": "strange", "op_type": "Unheard", "version": 8, "reason": "it has no lowering"}
    ]


def test_the_edits_of_a_conversion() -> None:
    report = ConversionReport(convert(openvino()), edits=True)
    lines = report.result.edits
    assert conversion_json(report)["edits"] == lines
    done = conversion_text(ConversionReport(report.result))
    assert conversion_text(report) == [*done, "", *(f"  {edit}" for edit in lines)]
    assert "openvino: replace openvino.opset8.Gather constant by Gather -> a: Gather-8, indices proved" in lines


def test_the_opset_of_a_conversion_by_either_name_of_the_domain() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["ai.onnx": 21, "openvino": 8]> g (float[9, 8] t, int64[N] i) => (y)
        <int64 a = {0}> { y = openvino.Gather(t, i, a) }"""
    )
    assert conversion_text(ConversionReport(convert(model)))[0].endswith(", opset 21")


def test_a_conversion_of_nothing() -> None:
    report = ConversionReport(convert(embedding()))
    assert conversion_text(report)[0] == "<model>   ONNX, no OpenVINO nodes"
    assert conversion_json(report)["converted"] == []


def test_an_explanation() -> None:
    report = ExplanationReport(explain(embedding(), "hidden"), "embedding.onnx")
    first, second, *_ = explanation_text(report)
    assert first == "hidden   float32[batch, seq, 8]"
    assert second.startswith("  Reshape   /Reshape ")
    assert (explanation_json(report)["scope"], explanation_json(report)["name"]) == ("", "hidden")


def test_an_explanation_calls_the_file_what_the_caller_calls_it() -> None:
    report = ExplanationReport(explain(out_of_bounds(), "y"), "tables.onnx")
    assert "  --> tables.onnx: node pick (Gather-13)" in explanation_text(report)


OPERATORS = [
    Operator(
        "",
        "Twice",
        (
            Behaviour(1, FactSource.ONNX, False, False, "Doubles.", "https://twice", ""),
            Behaviour(7, FactSource.RULE, True, False, "Doubles.", "https://twice", "ops/twice.py"),
        ),
    ),
    Operator("com.example", "Run", (Behaviour(1, FactSource.FUNCTION, None, None, "", "", ""),), deprecated=True),
]


def test_operators() -> None:
    assert operators_text(OPERATORS) == [
        "ai.onnx   since   facts from                   values   value ranges",
        "Twice     1, 7    built-in rule, before onnx   yes",
        "",
        "com.example   since   facts from                  values        value ranges",
        "Run           1       function body, deprecated   as its body   as its body",
        "",
        "2 operators: 1 by a built-in rule, 1 by their function body",
    ]
    in_detail = operator_text(OPERATORS)
    assert in_detail == operators_text(OPERATORS, VERBOSE)
    assert in_detail[:5] == [
        "Twice   ai.onnx",
        "  since 1   onnx infers its element type and rank, and its sizes where all of them are static.",
        "            Doubles.",
        "            Elements and value ranges of the results are unknown.",
        "            https://twice",
    ]
    assert in_detail[5] == "  since 7   A built-in rule infers it, in gather_infer/ops/twice.py."
    assert "Run   com.example, deprecated" in in_detail
    twice, _ = _objects(operators_json(OPERATORS)["operators"])
    assert [b["since"] for b in _objects(twice["behaviours"])] == [1, 7]


def _objects(found: object) -> list[Mapping[str, object]]:
    assert isinstance(found, list)
    return found
