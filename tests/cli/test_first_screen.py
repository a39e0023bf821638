"""The first screen of `infer`: the model, whether its indices are in bounds, and each fault once."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gather_infer
from gather_infer import validate
from gather_infer.explanation import root_causes
from tests.cli.cli_models import cache
from tests.cli.conftest import Run
from tests.cli.test_streams import on_a_terminal
from tests.passes.folding_models import i64, model

F, I64 = TensorProto.FLOAT, TensorProto.INT64
BERT = "fixtures/bert-torchscript.onnx"
GPT2 = "fixtures/gpt2-kv-torchscript.onnx"
WIDTHS = (80, 120)


def plain(text: str) -> list[str]:
    """The lines that a terminal is left with, without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"[^\n]*\x1b\[K", "", text)).split("\n")


def wide(run: Run, *arguments: str) -> str:
    """Output on a pipe."""
    return run(*arguments).stdout


# what repeats

CACHE = {
    80: [
        "  in   row                     float32[batch, 1, 1, 8]",
        "       past_key_{0..47}        float32[batch, 1, past, 8]  (48)",
        "       past_value_{0..47}      float32[batch, 1, past, 8]  (48)",
        "  out  present_key_{0..47}     float32[batch, 1, past + 1, 8]  (48)",
        "       key_{0..47}_rows = past + 1",
        "       present_value_{0..47}   float32[batch, 1, past + 1, 8]  (48)",
        "       value_{0..47}_rows = past + 1",
    ],
    120: [
        "  in   row                                    float32[batch, 1, 1, 8]",
        "       past_key_{0..47}, past_value_{0..47}   float32[batch, 1, past, 8]  (96)",
        "  out  present_key_{0..47}                    float32[batch, 1, past + 1, 8]  (48)",
        "       key_{0..47}_rows = past + 1",
        "       present_value_{0..47}                  float32[batch, 1, past + 1, 8]  (48)",
        "       value_{0..47}_rows = past + 1",
    ],
}


@pytest.mark.parametrize("columns", WIDTHS)
def test_what_repeats_with_a_number_is_one_row(columns: int, run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    code, text = on_a_terminal(columns, "infer", "cache.onnx")
    lines = plain(text)
    assert code == 0
    assert max(map(len, lines)) <= columns
    assert lines[1:-3] == CACHE[columns]


def test_a_type_that_does_not_fit_stands_below_its_name(run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    _, text = on_a_terminal(40, "infer", "cache.onnx")
    assert plain(text)[2:4] == ["       past_key_{0..47}", "         float32[batch, 1, past, 8]  (48)"]


@pytest.mark.parametrize("columns", WIDTHS)
def test_numbers_that_do_not_fit_go_on_below(columns: int, run: Run) -> None:
    """Every sixth layer has wider heads, as where global and local attention take turns."""
    values = [
        onnx.helper.make_tensor_value_info(f"past_key_values.{i}.key", 1, ["batch", "past", 16 if i % 6 == 5 else 8])
        for i in range(48)
    ]
    copies = [onnx.helper.make_node("Relu", [v.name], [f"y{i}"]) for i, v in enumerate(values)]
    outputs = [onnx.helper.make_tensor_value_info("y0", 1, ["batch", "past", 8])]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(copies, "g", values, outputs)), "turns.onnx")
    _, text = on_a_terminal(columns, "infer", "turns.onnx")
    lines = plain(text)
    assert max(map(len, lines)) <= columns
    name = "past_key_values.{0..4, 6..10, 12..16, 18..22, 24..28, 30..34, 36..40, 42..46}.key"
    shown = " ".join(" ".join(lines[1:4]).split())
    assert shown.startswith(f"in {name} float32[batch, past, 8] (40)")


@pytest.mark.parametrize("columns", WIDTHS)
def test_places_of_a_symbol_that_repeat_are_one(columns: int, run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    _, text = on_a_terminal(columns, "explain", "cache.onnx", "past")
    assert plain(text)[1:3] == [
        "  is           axis 2 of 48 inputs past_key_{0..47}",
        "               axis 2 of 48 inputs past_value_{0..47}",
    ]
    every = wide(run, "explain", "cache.onnx", "past", "-v")
    assert all(f"axis 2 of the input past_{part}_{i}\n" in every for part in ("key", "value") for i in range(48))


@pytest.mark.parametrize("option", ["--all", "-v"])
def test_all_of_what_repeats_on_request(option: str, run: Run) -> None:
    onnx.save(cache(), "cache.onnx")
    text = wide(run, "infer", "cache.onnx", option)
    assert all(f" past_{part}_{layer} " in text for part in ("key", "value") for layer in range(48))
    assert "{0..47}" not in text


def test_accesses_that_repeat_with_a_number(run: Run) -> None:
    """The first one implies `n >= 1`, which proves the others; each is one of its own in the count."""
    lines = wide(run, "infer", "many.onnx").splitlines()
    assert [line.split("  ")[1] for line in lines if line.startswith("  gather_")] == ["gather_0", "gather_{1..19}"]
    assert next(line for line in lines if "{1..19}" in line and "gather" in line).endswith("   proved      (19)")
    assert "  20 accesses: 19 proved, 1 conditional" in lines
    assert "{" not in wide(run, "infer", "many.onnx", "--all")


# what picks sizes, and verdicts


@pytest.mark.parametrize("columns", WIDTHS)
def test_what_picks_sizes_is_counted(columns: int, run: Run) -> None:
    _, text = on_a_terminal(columns, "infer", GPT2)
    lines = plain(text)
    assert max(map(len, lines)) <= columns
    proto = onnx.load(GPT2)
    made = {output: node.op_type for node in proto.graph.node for output in node.output}
    picking = [n for n in proto.graph.node if n.op_type == "Gather" and made.get(n.input[0]) == "Shape"]
    assert len(picking) == 34
    assert "  ... 34 that pick sizes: --all" in lines
    assert not any(line.strip().split(" ")[0] == node.name for node in picking for line in lines)
    everything = wide(run, "infer", GPT2, "--all")
    assert all(f"  {node.name} " in everything for node in picking)
    assert "pick sizes" not in everything


def test_a_table_of_sizes_only_is_a_line(run: Run) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "one"], ["n"], "pick")]
    onnx.save(model(nodes, {"x": (F, ["N", 3])}, {"n": (I64, [1])}, {"one": i64(1)}), "sizes.onnx")
    assert wide(run, "infer", "sizes.onnx").splitlines()[3:6] == [
        "",
        "  ... 1 that picks sizes: --all",
        "",
    ]
    assert "  1 access: 1 proved" in wide(run, "infer", "sizes.onnx").splitlines()


def test_a_size_that_is_out_of_bounds_is_listed(run: Run) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "two"], ["n"], "pick")]
    onnx.save(model(nodes, {"x": (F, ["N", 3])}, {"n": (I64, [1])}, {"two": i64(2)}), "sizes.onnx")
    result = run("infer", "sizes.onnx")
    assert re.search(r"^  pick .* violated$", result.stdout, re.MULTILINE)
    assert (result.exit_code, "error[GI301]" in result.stdout) == (1, True)


def verdict_model() -> onnx.ModelProto:
    """An access of each kind: by an input, by a position, by elements that depend on data, past the end."""
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["a"], "by_input"),
        helper.make_node("Gather", ["words", "three"], ["b"], "by_number"),
        helper.make_node("NonZero", ["x"], ["where"], "/NonZero"),
        helper.make_node("Gather", ["words", "where"], ["c"], "by_data"),
        helper.make_node("Gather", ["words", "nine"], ["d"], "past_the_end"),
    ]
    held = {"words": np.zeros((9, 4), np.float32), "three": i64(3), "nine": i64(9)}
    types: Any = {"ids": (I64, ["N"]), "x": (F, ["M"])}
    return model(nodes, types, dict.fromkeys("abcd", (F, None)), held)


VERDICTS = {
    # node: (verdict, code of the finding that says why)
    "by_input": ("if -9 <= ids < 9", "GI302"),
    "by_number": ("proved", None),
    "by_data": ("surely if M <= 9", "GI302"),
    "past_the_end": ("violated", "GI301"),
}


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_verdict_stands_in_the_table(columns: int, run: Run) -> None:
    """ids in [-9, 8] address 9 rows (the page of Gather); NonZero of M elements gives positions below M."""
    onnx.save(verdict_model(), "verdicts.onnx")
    code, text = on_a_terminal(columns, "infer", "verdicts.onnx")
    lines = plain(text)
    assert code == 1
    assert max(map(len, lines)) <= columns
    rows = "\n".join(lines[lines.index("") :])
    for node, (verdict, _) in VERDICTS.items():
        below = rf"( \(Gather\))?\n(    .*\n)*?    (.*   )?verdict {re.escape(verdict)}\n"  # too narrow for a table
        beside = rf" .*   {re.escape(verdict)}\n"
        assert re.search(rf"^  {node}{below if columns == 80 else beside}", rows, re.MULTILINE), rows
    assert "  4 accesses: 1 proved, 2 conditional, 1 violated" in lines


def test_verbose_prints_the_reason_of_a_verdict(run: Run) -> None:
    onnx.save(verdict_model(), "verdicts.onnx")
    shown, verbose = (wide(run, "infer", "verdicts.onnx", *more) for more in ([], ["-v"]))
    assert ("GI302" in shown, "GI310" in shown, shown.count("error[GI301]")) == (False, False, 1)
    assert verbose.count("note[GI302]: in bounds only for -9 <= ids < 9: ") == 1
    assert verbose.count("note[GI302]: always in bounds for M <= 9: ") == 1
    assert verbose.count("error[GI301]") == 1


def test_undecided(run: Run) -> None:
    """Indices that are products of the elements of two inputs."""
    nodes = [helper.make_node("Mul", ["i", "j"], ["k"]), helper.make_node("Gather", ["words", "k"], ["y"], "pick")]
    types: Any = {"i": (I64, ["N"]), "j": (I64, ["N"])}
    onnx.save(model(nodes, types, {"y": (F, None)}, {"words": np.zeros((9, 4), np.float32)}), "open.onnx")
    shown, verbose = (wide(run, "infer", "open.onnx", *more) for more in ([], ["-v"]))
    assert re.search(r"^  pick .*   undecided$", shown, re.MULTILINE)
    assert "  1 access: 1 undecided\n" in shown
    assert ("GI310" in shown, verbose.count("note[GI310]: it is not known whether every index is")) == (False, 1)


def test_sufficient_conditions_are_marked(run: Run) -> None:
    """A part of a Concat may be empty: that ids are below 9 is enough, and not needed where N is 0."""
    nodes = [
        helper.make_node("CumSum", ["mask", "zero"], ["at"], "/CumSum"),
        helper.make_node("Gather", ["words", "at"], ["y"], "pick"),
    ]
    held = {"words": np.zeros((9, 4), np.float32), "zero": np.array(0)}
    onnx.save(model(nodes, {"mask": (I64, [8])}, {"y": (F, None)}, held), "enough.onnx")
    line = next(line for line in wide(run, "infer", "enough.onnx").splitlines() if line.startswith("  pick "))
    assert line.endswith("   surely if 0 <= mask < 2")


def test_text_json_python_and_check_agree(run: Run) -> None:
    fixtures = ("gnn-torchscript", "moe-dynamo", "dlrm-dynamo", "openvino-gather", "lstm-tagger-torchscript")
    for name in fixtures:
        path = f"fixtures/{name}.onnx"
        inference = gather_infer.infer(path)
        verdicts = gather_infer.verdicts(inference)
        number = Counter(v.kind.value for v in verdicts)
        found = json.loads(wide(run, "infer", path, "--format", "json"))
        told = [access["verdict"] for access in found["accesses"]]
        assert [t["kind"] for t in told] == [v.kind.value for v in verdicts]
        assert [t["condition"] or "" for t in told] == [v.condition for v in verdicts]
        footer = next(line for line in wide(run, "infer", path).splitlines() if re.match(r"  \d+ access", line))
        assert footer.strip() in wide(run, "check", path)
        assert all(f"{n} {kind}" in footer for kind, n in number.items())
        column = [line.rsplit("   ", 1)[-1] for line in wide(run, "infer", path, "--all").splitlines()]
        for verdict in verdicts:
            tight = "if" if verdict.tight else "surely if"
            is_conditional = verdict.kind is validate.VerdictKind.CONDITIONAL
            assert (f"{tight} {verdict.condition}" if is_conditional else verdict.kind.value) in column


def test_what_is_not_proved_comes_first_where_there_is_no_room(run: Run) -> None:
    from tests.cli.cli_models import unlike_gathers

    onnx.save(unlike_gathers(), "unlike.onnx")
    lines = wide(run, "infer", "unlike.onnx").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  pick")] == [f"pick_{c}" for c in "abcdefghijks"]


# one fault


def faulty(name: str, weight: str, shape: tuple[int, ...]) -> None:
    """`faulty.onnx`: a fixture, one of whose weights has another shape."""
    proto = onnx.load(f"fixtures/{name}.onnx")
    (tensor,) = (t for t in proto.graph.initializer if t.name == weight)
    tensor.CopyFrom(numpy_helper.from_array(np.zeros(shape, np.float32), weight))
    onnx.save(proto, "faulty.onnx")


@pytest.mark.parametrize("columns", WIDTHS)
def test_one_error_is_printed_once(columns: int, run: Run) -> None:
    """The fixture is known whole; so all that is not known follows from the fault."""
    assert gather_infer.infer(GPT2).coverage().exact == gather_infer.infer(GPT2).coverage().tensors
    faulty("gpt2-kv-torchscript", "gpt2.transformer.wpe.weight", (48, 33))
    inference = gather_infer.infer("faulty.onnx")
    coverage = inference.coverage()
    lost = coverage.tensors - coverage.exact
    after = root_causes(inference)
    assert ([d.code for d in after.diagnostics], after.unknown_tensors) == (["GI212"], lost)
    assert after.symbols == inference.causes.keys()
    code, text = on_a_terminal(columns, "infer", "faulty.onnx")
    lines = plain(text)
    assert code == 1
    assert max(len(line) for line in lines if not line.startswith(("error", "  -->"))) <= columns
    told = " ".join(" ".join(lines).split())
    assert (
        f"the error GI212 at node /gpt2/transformer/Add_1 leaves {lost} tensors unknown, with "
        f"{len(inference.causes)} generated symbols and {len(inference.assumptions)} assumptions: --all"
    ) in told
    assert "generated symbols:" not in text and "assumed" not in text
    assert sum("[GI" in line for line in lines) == 1
    undecided = sum(v.kind is validate.VerdictKind.UNDECIDED for v in gather_infer.verdicts(inference))
    assert f", {undecided} downstream of errors: --all" in told
    everything = wide(run, "infer", "faulty.onnx", "--all")
    assert all(f"    {name}: " in everything for name in inference.causes)
    found = json.loads(wide(run, "infer", "faulty.onnx", "--format", "json"))["root_causes"]
    assert [root["location"]["node"] for root in found["diagnostics"]] == ["/gpt2/transformer/Add_1"]
    assert (found["unknown_tensors"], found["symbols"]) == (lost, sorted(inference.causes))


def test_an_operator_without_a_rule_is_a_cause_too(run: Run) -> None:
    nodes = [
        helper.make_node("Odd", ["x"], ["y"], "odd", domain="com.example"),
        helper.make_node("Relu", ["y"], ["z"], "relu"),
        helper.make_node("NonZero", ["w"], ["n"], "nonzero"),
    ]
    types: Any = {"x": (F, ["N"]), "w": (F, ["M"])}
    proto = model(nodes, types, {"z": (F, None), "n": (I64, None)}, {}, domains={"com.example": 1})
    for output in proto.graph.output:
        output.type.Clear()
    onnx.save(proto, "odd.onnx")
    text = wide(run, "infer", "odd.onnx")
    assert "  the warning GI105 at node odd leaves 2 tensors unknown\n" in text
    assert "    nonzero_0: " in text  # which depends on data, and not on the fault
    assert run("infer", "odd.onnx").exit_code == 0


def test_what_is_behind_a_fault_in_a_branch(run: Run) -> None:
    """A body reads what is lost outside, and gives on what is lost in it."""
    proto = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["": 18]>
        g (float[2] a, float[3] b, bool c, float[K] d) => (u, w) {
            x = Add (a, b)
            y = If (c) <then_branch = t () => (p) { q = Relu (x) p = Neg (q) },
                        else_branch = e () => (r) { r = Abs (x) }>
            u = Sigmoid (y)
            w = Relu (d)
        }"""
    )
    after = root_causes(gather_infer.infer(proto))
    assert [str(d.location.node) for d in after.diagnostics] == ["Add#0"]
    assert sorted(str(node) for node in after.nodes) == [
        "If#1", "If#1/else_branch/Abs#0", "If#1/then_branch/Neg#1", "If#1/then_branch/Relu#0", "Sigmoid#2",
    ]  # fmt: skip


def test_what_is_fine_has_no_aftermath() -> None:
    found = root_causes(gather_infer.infer(verdict_model()))
    assert (found.diagnostics, found.unknown_tensors, found.symbols) == ((), 0, frozenset())


def test_equal_messages_at_many_nodes_are_printed_once(run: Run) -> None:
    nodes = [helper.make_node("Gather", ["x", "nine"], [f"y{i}"], f"pick_{i}") for i in range(6)]
    onnx.save(model(nodes, {"x": (F, [9])}, {f"y{i}": (F, None) for i in range(6)}, {"nine": i64(9)}), "six.onnx")
    text = wide(run, "infer", "six.onnx")
    assert (text.count("error[GI301]"), "   |  and 5 more like it: -v\n6 errors\n" in text) == (1, True)
    assert wide(run, "infer", "six.onnx", "-v").count("error[GI301]") == 6
    assert wide(run, "check", "six.onnx").count("error[GI301]") == 1
    assert wide(run, "check", "six.onnx", "-v").count("error[GI301]") == 6
    assert Path("six.onnx").exists()
