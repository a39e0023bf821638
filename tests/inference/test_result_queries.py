"""Queries of an inference: by name, as rows, at sizes, as a file, in a notebook."""

from __future__ import annotations

import copy
import html.parser
import pickle
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import gather_infer
from gather_infer import DType, UnknownName, UsageError
from gather_infer.symbolic import free_symbols
from tests.cli.cli_models import embedding, openvino, out_of_bounds
from tests.onnx_versions import require_type

FIXTURES = Path(__file__).parents[2] / "fixtures"


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> {text}')


BRANCHES = parsed("""
    g (float[N, 3] x, bool c) => (float[M, 3] y) {
        y = If (c) <
            then_branch = t () => (float[K, 3] a) { a = Concat <axis = 0> (x, x) },
            else_branch = e () => (float[L, 3] b) { b = Identity (x) }
        >
    }
""")
UNKNOWN = parsed("g (float[N] x) => (float[N] z) { y = mine.Op (x) z = Identity (y) }")
UNKNOWN.opset_import.append(helper.make_opsetid("mine", 1))


def test_an_unknown_name_is_a_key_error_that_suggests_another() -> None:
    inference = gather_infer.infer(embedding())
    with pytest.raises(KeyError) as raised:
        inference["hiden"]
    assert isinstance(raised.value, UnknownName) and isinstance(raised.value, UsageError)
    assert str(raised.value) == "no tensor 'hiden'; did you mean 'hidden'?"
    assert repr(raised.value) == """UnknownName("no tensor 'hiden'; did you mean 'hidden'?")"""
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert ("hiden" in inference, inference.get("hiden"), "hidden" in inference) == (False, None, True)
    with pytest.raises(UnknownName, match=r"no tensor 'hiden'; did you mean 'hidden'?"):
        inference.tensor("hiden")
    with pytest.raises(UnknownName, match=r"no graph 'If#0/then'; did you mean 'If#0/then_branch'?"):
        gather_infer.infer(BRANCHES).scope("If#0/then")


def test_tensors_by_name_below_paths_too() -> None:
    inference = gather_infer.infer(BRANCHES)
    assert str(inference.tensor("If#0/then_branch/a")) == "float32[2*N, 3]"
    assert inference.tensor("x") == inference["x"]
    assert list(map(str, inference.shape("If#0/else_branch/b"))) == ["N", "3"]


def test_what_is_no_tensor_or_has_no_rank() -> None:
    sequence = gather_infer.infer(parsed("g (float[N] x) => (seq(float[N]) s) { s = SequenceConstruct (x) }"))
    with pytest.raises(UsageError, match=r"'s' is not a tensor, it is seq\(float32\[N\]\)"):
        sequence.tensor("s")
    model = parsed("g (float x) => (y) { y = Relu (x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(UsageError, match="the rank of 'y' is not known"):
        gather_infer.infer(model).shape("y")


def test_rows_say_what_makes_a_tensor_and_why_it_is_not_known() -> None:
    rows = {row.title: row for row in gather_infer.infer(BRANCHES).tensors()}
    assert {title: row.operator or row.origin for title, row in rows.items()} == {
        "x": "input", "c": "input", "y": "If", "If#0/then_branch/a": "Concat", "If#0/else_branch/b": "Identity",
    }  # fmt: skip
    assert [title for title, row in rows.items() if not row.is_known] == ["y"]
    ((symbol, cause),) = gather_infer.infer(BRANCHES).causes.items()
    assert rows["y"].cause == f"{symbol}: {cause.reason}"
    unknown = {row.title: row.cause for row in gather_infer.infer(UNKNOWN).tensors(unknown=True)}
    assert unknown["y"].startswith("GI105: ")


def test_every_fixture_has_a_row_for_each_tensor_and_a_cause_for_each_that_is_not_exact() -> None:
    for name in ("detector-nonzero-torchscript", "lstm-tagger-torchscript", "t5-decoder-torchscript"):
        inference = gather_infer.infer(FIXTURES / f"{name}.onnx")
        rows, coverage = inference.tensors(), inference.coverage()
        assert (len(rows), sum(row.is_known for row in rows)) == (coverage.tensors, coverage.exact)
        assert all(row.origin == "node" or row.node is None for row in rows)


GLOBS = {
    # pattern and filters: titles
    ("hidden", None): ["hidden"],
    ("*Gather*", None): None,
    ("w*", None): ["words", "word", "widths", "width"],
    ("", "Gather"): ["word", "seq_len", "place", "width"],
    ("w*", "Gather"): ["word", "width"],
    ("?idth", None): ["width"],
}


@pytest.mark.parametrize(("pattern", "op"), GLOBS)
def test_globs_and_operators(pattern: str, op: str | None) -> None:
    inference, titles = gather_infer.infer(embedding()), GLOBS[pattern, op]
    if titles is None:
        with pytest.raises(UsageError, match=r"no tensor matches '\*Gather\*'"):
            inference.tensors(pattern, op=op)
    else:
        assert [row.title for row in inference.tensors(pattern, op=op)] == titles
        assert [row["name"] for row in inference.table(pattern, op=op)] == titles


def test_a_name_that_looks_like_a_glob_is_itself() -> None:
    model = embedding()
    model.graph.node[0].output[0] = "w[o]rd*"
    model.graph.node[5].input[0] = "w[o]rd*"
    assert [row.title for row in gather_infer.infer(model).tensors("w[o]rd*")] == ["w[o]rd*"]


def test_a_table_has_plain_values_in_the_same_columns() -> None:
    table = gather_infer.infer(UNKNOWN).table()
    assert {tuple(row) for row in table} == {tuple(table[0])}
    assert all(cell is None or type(cell) in (str, int, bool) for row in table for cell in row.values())
    x = next(row for row in table if row["name"] == "x")
    assert (x["operator"], x["dtype"], x["rank"], x["shape"], x["known"]) == ("input", "float32", 1, "[N]", True)
    y = next(row for row in table if row["name"] == "y")
    assert (y["operator"], y["dtype"], y["rank"], y["shape"], y["known"]) == ("mine.Op", None, None, None, False)


@pytest.mark.parametrize("sizes", [(0, 5), (1, 1), (3, 3), (7, 13)], ids=str)
def test_at_sizes_every_dim_is_the_number_that_the_expression_gives(sizes: tuple[int, int]) -> None:
    inference = gather_infer.infer(embedding())
    batch, seq = sizes
    at = inference.at(batch=batch, seq=seq)
    for name, value in inference.items():
        if isinstance(value, gather_infer.SymbolicTensor) and value.shape is not None:
            wanted = [gather_infer.symbolic.evaluate(dim, {"batch": batch, "seq": seq}) for dim in value.shape]
            assert list(at.shape(name)) == wanted, name


def test_at_some_sizes_the_others_stay() -> None:
    inference = gather_infer.infer(embedding(), dims=["seq=1..16"])
    assert str(inference.at(batch=np.int64(2))["hidden"]) == "float32[2, seq, 8]"
    assert str(inference.at({"seq": 4})["hidden"]) == "float32[batch, 4, 8]"
    assert str(inference.at(batch=2).at(seq=4)["hidden"]) == "float32[2, 4, 8]"
    assert str(inference["hidden"]) == "float32[batch, seq, 8]"


def test_at_uses_the_constraints_of_the_run() -> None:
    rules = gather_infer.RuleSet("mine")

    @rules.rule("Op")
    def op(call: gather_infer.OpCall) -> list[gather_infer.SymbolicTensor]:
        return [call.tensor(0)]

    inference = gather_infer.infer(UNKNOWN, inputs={"x": "[rows]"}, rules=[rules])
    assert str(inference.at(rows=3)["z"]) == "float32[3]"
    total = gather_infer.infer(
        parsed("g (float[A] x, float[B] y, float[T] z) => (float[T] o) { c = Concat<axis=0>(x, y) o = Add(c, z) }"),
        dims=["T=A+B"],
    )
    assert str(total.at(A=2, B=3)["o"]) == "float32[5]"
    assert str(total.at(T=5, A=2)["y"]) == "float32[3]"
    with pytest.raises(UsageError):
        total.at(T=5, A=2, B=4)


WRONG_SIZES = {
    # sizes: message
    "unknown": ({"sec": 3}, "no input dim 'sec'; did you mean 'seq'"),
    "outside": ({"seq": 17}, r"dim 'seq' is 17, which is outside \[1, 16\]"),
    "negative": ({"seq": -1}, r"dim 'seq' must be in \[0, 2\^63 - 1\], is -1"),
    "a text": ({"seq": "3"}, "dim 'seq' must be a number, is '3'"),
    "a truth value": ({"seq": True}, "dim 'seq' must be a number"),
}


@pytest.mark.parametrize("case", WRONG_SIZES)
def test_sizes_that_are_none(case: str) -> None:
    sizes, message = WRONG_SIZES[case]
    with pytest.raises(UsageError, match=message):
        gather_infer.infer(embedding(), dims=["seq=1..16"]).at(sizes)  # type: ignore[arg-type] # what callers without types may say


def test_save_writes_the_annotated_model(tmp_path: Path) -> None:
    inference = gather_infer.infer(embedding(), dims=["batch=2"])
    report = inference.save(tmp_path / "out.onnx")
    assert report.path == tmp_path / "out.onnx"
    written = onnx.load(tmp_path / "out.onnx")
    assert written == inference.annotated()
    onnx.checker.check_model(written, full_check=True)
    ir = gather_infer.infer(FIXTURES / "openvino" / "cnn.xml")
    with pytest.raises(
        gather_infer.ModelReadError, match=r"`gather-infer convert .*cnn.xml -o OUT.onnx` makes it ONNX"
    ):
        ir.save(tmp_path / "ir.onnx")


def test_a_short_repr() -> None:
    assert repr(gather_infer.infer(embedding())) == "<Inference of <model>: 19 tensors, 19 known>"
    assert repr(gather_infer.infer(out_of_bounds())) == "<Inference of <model>: 3 tensors, 3 known, 1 error>"


def test_results_of_commands_have_a_short_repr() -> None:
    """A notebook shows the last expression of a cell: no protobuf and no table of facts belongs there."""
    found = gather_infer.check(out_of_bounds())
    assert repr(found) == str(found) == "<CheckResult of <model>: 1 error>"
    assert repr(gather_infer.check(embedding())) == "<CheckResult of <model>: clean>"
    assert repr(gather_infer.fold(out_of_bounds())) == "<OptimizeResult of <model>: 1 node, 1 error>"
    converted = gather_infer.convert(openvino())
    after = len(converted.proto.graph.node)
    assert repr(converted) == f"<ConversionResult of <model>: 2 nodes before, {after} after>"
    assert repr(gather_infer.freeze(table_of_positions(), dims=["N=3"])) == "<FreezeResult of <model>: 3 nodes>"
    refused = gather_infer.freeze(table_of_positions(), dims=["N=5"])
    assert refused.refused and repr(refused) == "<FreezeResult of <model>: refused>"
    assert repr(gather_infer.contract_of(table_of_positions())) == "<ContractResult of <model>: 1 line>"


def table_of_positions() -> onnx.ModelProto:
    return parsed("""
        g (float[N] x) => (float[M, 2] y)
        <float[4, 2] table = {0, 1, 2, 3, 4, 5, 6, 7}, int64 zero = {0}, int64 one = {1}> {
            n = Size (x) i = Range (zero, n, one) y = Gather (table, i)
        }
    """)


def test_a_finding_and_a_verdict_are_printed_as_the_commands_print_them() -> None:
    (finding,) = gather_infer.infer(out_of_bounds()).errors
    assert str(finding).splitlines()[0] == "error[GI301]: index 9 is outside [-9, 8]"
    assert str(finding) == finding.text()
    (verdict,) = gather_infer.verdicts(gather_infer.infer(table_of_positions()))
    assert "in bounds only for N <= 4" in str(verdict)


class Tags(html.parser.HTMLParser):
    """Checks that tags are closed, and collects the texts of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["td"]:
            self.cells[-1] += data


def test_a_notebook_shows_the_interface_and_the_unknowns() -> None:
    model = onnx.load(FIXTURES / "detector-nonzero-dynamo.onnx")
    model.graph.output[0].name = "<b>&boxes"
    tags = Tags()
    tags.feed(gather_infer.infer(model)._repr_html_())
    assert tags.open == []
    assert {"images", "float32[batch, 3, height, width]", "nonzero_0", "<b>&boxes"} <= set(tags.cells)
    broken = gather_infer.infer(out_of_bounds())._repr_html_()
    assert "error[GI301]" in broken and "<p>1 error</p>" in broken


def test_a_notebook_shows_a_cost() -> None:
    """Its sums, what they leave out, what fails; names of the model are escaped."""
    model = onnx.load(FIXTURES / "gpt2-kv-torchscript.onnx")
    lookup = next(node for node in model.graph.node if node.name.endswith("/wpe/Gather"))
    lookup.name = "<i>&wpe"
    cost = gather_infer.infer(model).cost()
    tags = Tags()
    tags.feed(cost._repr_html_())
    assert tags.open == []
    assert {"macs", "32*batch*seq*(4*past + 4*seq + 579)", "MatMul", "14336*batch*seq"} <= set(tags.cells)
    failing = cost.at(batch=1, seq=1, past=48)._repr_html_()
    assert "error[GI301]" in failing and "node &lt;i&gt;&amp;wpe" in failing and "<i>" not in failing
    custom = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18, "mine": 1]> g (float[N] x) => (float[N] y) { y = mine.Blur (x) }'
    )
    custom.graph.node[0].op_type = "<b>Blur"
    unknown = gather_infer.infer(custom).cost()
    assert "&lt;b&gt;Blur has no formula" in unknown._repr_html_()
    for result in (cost, unknown, gather_infer.infer(custom)):  # where more is to be found
        assert all(hasattr(result, name) for name in re.findall(r"<code>\.(\w+)", result._repr_html_()))


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_numpy_has_each_element_type_as_onnx_does(dtype: DType) -> None:
    require_type(dtype)
    assert np.dtype(dtype) == dtype.dtype == helper.tensor_dtype_to_np_dtype(int(dtype))


def test_an_element_of_few_bits_takes_a_byte() -> None:
    assert [np.dtype(d).itemsize for d in (DType.INT4, DType.UINT2, DType.FLOAT4E2M1, DType.BFLOAT16)] == [1, 1, 1, 2]
    assert DType(TensorProto.STRING).dtype == np.dtype(object)


def test_the_package_lists_its_modules() -> None:
    for name in ("symbolic", "validate", "shape_inference", "testing", "verification"):
        assert name in dir(gather_infer)
        assert getattr(gather_infer, name).__name__ == f"gather_infer.{name}"


def test_symbols_in_rows_are_generated() -> None:
    inference = gather_infer.infer(FIXTURES / "detector-nonzero-torchscript.onnx")
    for row in inference.tensors(unknown=True):
        value = row.value
        assert isinstance(value, gather_infer.SymbolicTensor) and value.shape is not None
        names = {name for dim in value.shape for name in free_symbols(dim)} & inference.causes.keys()
        assert names and all(name in row.cause for name in names)


def test_copies_and_pickles_leave_out_the_ir() -> None:
    inference = gather_infer.infer(BRANCHES)
    size = len(pickle.dumps(inference))
    macs = inference.cost().macs  # computed from the IR, which the inference keeps
    assert len(pickle.dumps(inference)) == size
    for again in (copy.deepcopy(inference), pickle.loads(pickle.dumps(inference))):
        assert again.ir.proto is again.model.proto
        assert again.cost().macs == macs
