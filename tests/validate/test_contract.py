"""Contracts of small models and of the fixtures: what they say, and that onnxruntime agrees inside and outside."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import gather_infer
from gather_infer import Contract, Severity, UsageError
from gather_infer.contract import DimsLine, ElementsLine
from gather_infer.node_ids import MAIN, NodePath, Step
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME
from gather_infer.validate.minimal_constraints import operands_text
from tests.validate.contract_runs import Drawer, Feeds, NoElement, Runtime, judge

FIXTURES = Path(__file__).parents[2] / "fixtures"
SIZES = (0, 1, 2, 3, 5, 7)
NOT_SAID = {
    "lstm-tagger-torchscript": "onnxruntime's LSTM ends the process for an empty batch",
    "openvino-gather": "onnxruntime has no OpenVINO operators",
}
NAMES = sorted(path.stem for path in FIXTURES.glob("*.onnx") if path.stem not in NOT_SAID)


def parsed(
    inputs: str, body: str, given: str = "", *, dims: dict[tuple[str, int], str] | None = None
) -> onnx.ModelProto:
    """A model in onnx's text form; `dims` names dims of inputs that the text cannot."""
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (float y) <{given}> {{ {body} }}'
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for value in model.graph.input:
        for (name, axis), text in (dims or {}).items():
            if value.name == name:
                value.type.tensor_type.shape.dim[axis].dim_param = text
    return model


def constraints(contract: Contract) -> list[str]:
    """The lines as texts, those that are not tight marked."""
    return [line.text + ("" if line.tight else " (not tight)") for line in contract.lines]


ZERO, ONE = "int64[1] v0 = {0}", "int64[1] v1 = {1}"
POSITIONS = "float[5] table"
CASES: dict[str, tuple[str, str, str, list[str], list[str]]] = {
    # id: (inputs, body, constants, lines, dims that are not empty)
    "elements": ("float[9] x, int64[N] i", "y = Gather (x, i)", "", ["-9 <= i < 9"], []),
    "elements and a dim": ("float[R] x, int64[N] i", "y = Gather (x, i)", "", ["-R <= i < R"], []),
    "two tables": (
        "float[9] x, float[4] z, int64[N] i", "a = Gather (x, i) b = Gather (z, i) y = Add (a, b)", "",
        ["-4 <= i < 4"], [],
    ),
    "tables of different symbols": (
        "float[R] x, float[S] z, int64[N] i", "a = Gather (x, i) b = Gather (z, i) y = Add (a, b)", "",
        ["-R <= i < R", "-S <= i < S"], [],
    ),
    "from 0": ("float[9] x, int64[N] i", "m = Max (i, zero) y = Gather (x, m)", "int64 zero = {0}", ["i < 9"], []),
    "columns": (
        "float[9, 4] x, int64[N, 2] i", "y = GatherND (x, i)", "",
        ["-9 <= i[..., 0] < 9", "-4 <= i[..., 1] < 4"], [],
    ),
    "broadcast": ("float[A] a, float[B] b", "y = Add (a, b)", "", ["A == B or A == 1 or B == 1"], []),
    "broadcast with a number": ("float[3] a, float[B] b", "y = Add (a, b)", "", ["B == 1 or B == 3"], []),
    "broadcast with 0": ("float[0] a, float[B] b", "y = Add (a, b)", "", ["B <= 1"], []),
    "broadcast with what is at least 2": (
        "float[2] a, float[A] b, float[B] c", "d = Concat <axis = 0> (a, b) y = Add (d, c)", "",
        ["B == 1 or B == A + 2"], [],
    ),
    "broadcast of three": (
        "float[A] a, float[B] b, float[C] c", "y = Sum (a, b, c)", "",
        ["A == B or A == 1 or B == 1", "min(A*B, max(A, B)) == C or min(A*B, max(A, B)) == 1 or C == 1"], [],
    ),
    "broadcast of the same": ("float[A] a, float[A] b", "y = Add (a, b)", "", [], []),
    "Concat": ("float[A, 2] a, float[B, 3] b", "y = Concat <axis = 1> (a, b)", "", ["A == B"], []),
    "Mod by a size": (
        "float[S] x, int64[N] i", "s = Shape (x) n = Squeeze (s) j = Mod (i, n) y = Gather (x, j)", "", [], ["S >= 1"],
    ),
    "Div by a size": (
        "float[S] x, int64[N] i", "n = Shape (x) d = Div (i, n) y = Cast <to = 1> (d)", "", [], ["S >= 1"],
    ),
    "Div by a size that is more than 0": (
        "float[S] x, int64[N] i", "s = Shape (x) n = Add (s, v1) d = Div (i, n) y = Cast <to = 1> (d)", ONE, [], [],
    ),
    "Div of floats": (
        "float[S] x, double[N] i",
        "s = Shape (x) n = Cast <to = 11> (s) d = Div (i, n) y = Cast <to = 1> (d)", "", [], [],
    ),
    "MatMul": ("float[2, A] a, float[B, 3] b", "y = MatMul (a, b)", "", ["A == B"], []),
    "MatMul in batches": (
        "float[N, 2, A] a, float[M, A, 3] b", "y = MatMul (a, b)", "", ["N == M or N == 1 or M == 1"], [],
    ),
    "Gemm": (
        "float[2, 3] a, float[3, N] b, float[C] c", "y = Gemm (a, b, c)", "", ["C == 1 or C == N"], [],
    ),
    "Reshape": ("float[A, B] a", "y = Reshape (a, s)", "int64[2] s = {3, 4}", ["A*B == 12"], []),
    "Reshape, what is left": ("float[A] a", "y = Reshape (a, s)", "int64[2] s = {2, -1}", ["A % 2 == 0"], []),
    "Reshape to what is no -1": (
        "float[S, S] a",
        "b = Concat <axis = 1> (a, a) n = Shape (a) s, z = Split <axis = 0> (n) m = Add (s, s) k = Sub (m, v1) "
        "t = Concat <axis = 0> (m, s) u = Concat <axis = 0> (s, k) "
        "c = Reshape (b, t) d = Slice (c, v1, m, v0) y = Reshape (d, u)",
        f"{ZERO}, {ONE}", [], ["S >= 1"],
    ),
    "Split": ("float[A] a", "y, z = Split <axis = 0> (a, s)", "int64[2] s = {2, 3}", ["A == 5"], []),
    "positions": (
        f"{POSITIONS}, float[S] x",
        "n = Shape (x) p = Slice (table, v0, n, v0) y = Add (x, p)", ZERO, ["S <= 5"], [],
    ),
    "positions by Gather": (
        f"{POSITIONS}, float[P] past, float[S] x",
        "n = Shape (past) m = Shape (x) a = Squeeze (n, v0) b = Squeeze (m, v0) c = Add (a, b) r = Range (a, c, one) "
        "y = Gather (table, r)",
        f"{ZERO}, int64 one = {{1}}", ["P + S <= 5"], [],
    ),
    "Conv": ("float[N, 1, H] x, float[1, 1, 3] w", "y = Conv (x, w)", "", ["H >= 3"], []),
    "Conv of a padded image": (
        "float[N, 1, H] x, float[1, 1, 3] w", "y = Conv <pads = [1, 1]> (x, w)", "", [], ["H >= 1"],
    ),
    "as long as what is pooled": (
        "float[N, 1, H] x, float[1, 1, 2] w",
        "p = MaxPool <kernel_shape = [2], strides = [2]> (x) y = ConvTranspose <strides = [2]> (p, w)", "",
        ["H >= 2 (not tight)"], [],
    ),
    "rows of what is pooled": (
        "float[1, 1, H] x, int64[K] i",
        "p = MaxPool <kernel_shape = [2], strides = [2]> (x) y = Gather <axis = 2> (p, i)", "",
        ["-(H//2) <= i < H//2 (not tight)", "H >= 2 (not tight)"], [],
    ),
    "as many as are pooled, to a number": (
        "float[N, 1, H] x",
        "p = MaxPool <kernel_shape = [2], strides = [2]> (x) y = Concat <axis = 2> (p, p) z = Reshape (y, s)",
        "int64[2] s = {4, 4}", ["H >= 2 (not tight)", "N*(H//2) == 8 or H <= 1"], [],
    ),
    "ScatterElements": (
        "float[A, B] d, int64[C, D] i, float[E, F] u", "y = ScatterElements <axis = 1> (d, i, u)", "",
        ["-B <= i < B", "C == E", "D == F", "C <= A"], [],
    ),
    "ScatterElements, more indices than rows": (
        "float[3, B] d, int64[5, D] i, float[5, D] u", "y = ScatterElements (d, i, u)", "",
        ["-3 <= i < 3", "D <= B"], [],
    ),
    "ConvTranspose": (
        "float[N, 2, L] x, float[2, 1, K] w", "y = ConvTranspose <pads = [2, 1]> (x, w)", "",
        ["K + L >= 5"], ["K >= 1"],
    ),
    "ConvTranspose of a stated length": (
        "float[N, 2, L] x, float[2, 1, K] w", "y = ConvTranspose <output_shape = [5]> (x, w)", "", ["K + L >= 6"],
        ["K >= 1", "L >= 1"],
    ),
    "ConvTranspose of a stated length, with strides": (
        "float[N, 2, L] x, float[2, 1, 2] w",
        "y = ConvTranspose <output_shape = [7], strides = [3], output_padding = [2], dilations = [2]> (x, w)", "",
        ["L >= 2"], [],
    ),
    "in a branch": (
        "float[9] x, int64[N] i, bool p",
        "y = If (p) <then_branch = a () => (u) { u = Gather (x, i) }, else_branch = b () => (w) { w = Identity (x) }>",
        "", ["-9 <= i < 9 (not tight)"], [],
    ),
    "some of the elements": (
        "float[9] x, int64[N] i, int64[1] j", "k = Gather (i, j) y = Gather (x, k)", "",
        ["-9 <= i < 9 (not tight)", "-N <= j < N"], ["N >= 1"],
    ),
    "what is enough": (
        "float[W] s, float[5] t", "i = ArgMax <axis = 0> (s) y = Gather (t, i)", "", ["W <= 5 (not tight)"], ["W >= 1"],
    ),
    "what is enough takes no tight line away": (
        "float[R] s, float[5] t, int64[N] i",
        "k = ArgMax <axis = 0> (s) a = Gather (t, k) b = Gather (s, i) c = Gather (t, i) d = Add (b, c) y = Add (d, a)",
        "", ["-R <= i < R", "-5 <= i < 5", "R <= 5 (not tight)"], ["R >= 1"],
    ),
    "one of several": ("float[A] a, float[B] b, float[A] c", "d = Add (a, c) y = MatMul (d, b)", "", ["A == B"], []),
    "what follows": (
        "float[2, A] a, float[B, 3] b, float[5] t, float[A] u",
        "y = MatMul (a, b) n = Shape (u) p = Slice (t, v0, n, v0) z = Add (u, p)", ZERO, ["A == B", "A <= 5"], [],
    ),
}  # fmt: skip


NO_ZEROS = {"MatMul in batches"}
"""Cases where onnxruntime rejects a 0 that the specification allows: its MatMul does not broadcast 1 to 0."""


TARGETS = ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]


@pytest.mark.parametrize("op", TARGETS)
def test_the_shape_of_targets_is_demanded(op: str) -> None:
    """A target that is too small fails in onnx's evaluator alone: onnxruntime reads a part of the scores, so that the
    line is not tight.
    """
    model = parsed("float[N, 4, D] x, int64[M, E] i", f'y = {op} <reduction = "none"> (x, i)')
    contract = gather_infer.contract_of(model).contract
    assert constraints(contract) == ["i >= 0 (not tight)", "i < 4", "N == M (not tight)", "D == E (not tight)"]
    runtime, evaluator = Runtime(model), ReferenceEvaluator(model)
    for n, d, m, e in itertools.product((1, 2, 3), repeat=4):
        feeds: Feeds = {"x": np.ones((n, 4, d), np.float32), "i": np.ones((m, e), np.int64)}
        if (n, d) == (m, e):
            assert not contract.check(feeds) and not runtime.error(feeds)
            evaluator.run(None, feeds)
            continue
        assert contract.check(feeds, strict=True) and not contract.check(feeds)
        if not runtime.error(feeds):
            with pytest.raises(IndexError):
                evaluator.run(None, feeds)


def test_an_empty_kernel_of_conv_is_demanded(tmp_path: Path) -> None:
    """Of one onnxruntime never ends, but where there is nothing to compute."""
    model = parsed("float[N, 1, H] x, float[M, 1, K] w", "y = Conv <pads = [1, 1]> (x, w)")
    contract = gather_infer.contract_of(model).contract
    assert (constraints(contract), [line.text for line in contract.nonempty]) == (["K <= H + 2"], ["K >= 1"])
    onnx.save(model, tmp_path / "model.onnx")
    with RuntimeProcess(ONNXRUNTIME, tmp_path, 60) as child:
        assert child.load(tmp_path / "model.onnx") is None
        for n, k, ends in ((2, 1, True), (0, 0, True), (2, 0, False)):
            feeds = {"x": np.ones((n, 1, 5), np.float32), "w": np.ones((3, 1, k), np.float32)}
            assert bool(contract.check(feeds)) == (k == 0)
            (tmp_path / "feeds").write_bytes(pickle.dumps(feeds))
            child.timeout = 60 if ends else 2
            found = child.run(tmp_path / "feeds")
            assert isinstance(found, Failure) is not ends
            assert ends or (isinstance(found, Failure) and found.is_timeout)


@pytest.mark.parametrize("case", CASES)
def test_lines_are_what_onnxruntime_demands(case: str) -> None:
    inputs, body, given, lines, nonempty = CASES[case]
    model = parsed(inputs, body, given)
    contract = gather_infer.contract_of(model).contract
    assert constraints(contract) == lines
    assert [line.text for line in contract.nonempty] == nonempty
    runtime = Runtime(model)
    drawer = Drawer(contract)
    several = SIZES if len(drawer.names) < 6 else SIZES[:4]
    for sizes in itertools.product(several, repeat=len(drawer.names)):
        bound = dict(zip(drawer.names, sizes, strict=True))
        try:
            feeds = drawer.feeds(bound)
        except NoElement:
            continue
        if case in NO_ZEROS and 0 in sizes:
            continue
        found = contract.check(feeds, strict=True)
        error = runtime.error(feeds)
        assert not (error and not found), (bound, error)
        assert [v for v in found if v.line is None or v.line.tight] == contract.check(feeds)
        is_tight = any(violation.line is not None and violation.line.tight for violation in found)
        if is_tight and (0 not in sizes or not any(isinstance(v.line, DimsLine) and v.line.reason for v in found)):
            assert error, (bound, found)
    judge(contract, runtime, draws=6)


COMPOUND = {
    # id: (inputs, body, dims, lines)
    "demanded": (
        "float[A] a, float[B] b, float[M] m",
        "c = Concat <axis = 0> (a, b) y = MatMul (c, m)",
        {("m", 0): "A + B"},
        ["m.0 == A + B"],
    ),
    "demanded in part": (
        "float[A] a, float[B] b, float[M] m",
        "c = Concat <axis = 0> (a, b) n = Shape (c) s = Slice (m, v0, n, v0) y = MatMul (c, s)",
        {("m", 0): "A + B"},
        ["m.0 == A + B (not tight)", "A + B <= m.0"],
    ),
    "not demanded": (
        "float[A] a, float[B] b, float[M] m",
        "y = Concat <axis = 0> (a, b) z = Neg (m)",
        {("m", 0): "A + B"},
        ["m.0 == A + B (not tight)"],
    ),
}


@pytest.mark.parametrize("case", COMPOUND)
def test_a_dim_that_the_file_states_as_an_expression(case: str) -> None:
    inputs, body, dims, lines = COMPOUND[case]
    model = parsed(inputs, body, ZERO, dims=dims)
    contract = gather_infer.contract_of(model).contract
    assert constraints(contract) == lines
    runtime = Runtime(model)
    for a, b, m in itertools.product((1, 2, 3), (1, 2, 5), range(1, 9)):
        feeds = {name: np.ones(size, np.float32) for name, size in {"a": a, "b": b, "m": m}.items()}
        assert bool(contract.check(feeds, strict=True)) == (m != a + b)
        assert bool(contract.check(feeds)) == bool(runtime.error(feeds)), (a, b, m)


def test_a_symbol_in_no_dim_of_its_own_is_solved_for() -> None:
    model = parsed("float[M] m, float[N] n", "y = Neg (m)")
    contract = gather_infer.contract_of(model, inputs=["m=[2*A + 1]", "n=[A + B]"]).contract
    for m, n, texts in (
        (5, 7, []),
        (4, 7, ["m.0 = 4: must be 2*A + 1"]),
        (0, 0, ["m.0 = 0: must be 2*A + 1"]),
        (5, 1, ["n.0 = 1: must be A + B"]),
    ):
        feeds = {"m": np.zeros(m, np.float32), "n": np.zeros(n, np.float32)}
        assert [v.text for v in contract.check(feeds)] == texts


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_fixtures_run_inside_and_fail_outside(name: str) -> None:
    path = FIXTURES / f"{name}.onnx"
    result = gather_infer.contract_of(path)
    assert result.diagnostics == ()
    inside, outside = judge(result.contract, Runtime(str(path)), draws=6)
    assert inside > 0
    has_tight = any(line.tight for line in (*result.contract.lines, *result.contract.nonempty))
    assert (outside > 0) == has_tight
    assert Contract.from_json(result.contract.to_json()) == result.contract


def lines_of(name: str) -> list[tuple[str, bool, tuple[str, ...]]]:
    contract = gather_infer.contract_of(FIXTURES / f"{name}.onnx").contract
    return [(line.text, line.tight, line.nodes) for line in contract.lines]


def test_bert_reads_exactly() -> None:
    assert lines_of("bert-torchscript") == [
        ("-151 <= input_ids < 151", True, ("/bert/embeddings/word_embeddings/Gather",)),
        ("-2 <= token_type_ids < 2", True, ("/bert/embeddings/token_type_embeddings/Gather",)),
        ("seq <= 64", True, ("/bert/embeddings/Add_1",)),
    ]
    assert [text for text, *_ in lines_of("bert-dynamo")] == [text for text, *_ in lines_of("bert-torchscript")]


def test_gpt2_reads_exactly() -> None:
    assert lines_of("gpt2-kv-torchscript") == [
        ("-131 <= input_ids < 131", True, ("/gpt2/transformer/wte/Gather",)),
        ("past + seq <= 48", True, ("/gpt2/transformer/wpe/Gather",)),
        ("attention_mask.1 == past + seq", False, ("/gpt2/transformer/Gather_6",)),
        ("past + seq <= attention_mask.1", True, ("/gpt2/transformer/Gather_6",)),
    ]
    assert [text for text, *_ in lines_of("gpt2-kv-dynamo")] == [text for text, *_ in lines_of("gpt2-kv-torchscript")]


def test_a_size_that_would_be_called_like_a_symbol_is_not_spoken_of() -> None:
    inputs, body, dims, _ = COMPOUND["demanded"]
    model = parsed(f"{inputs}, float[K] k", f"{body} z = Neg (k)", ZERO, dims={**dims, ("k", 0): "m.0"})
    contract = gather_infer.contract_of(model).contract
    assert contract.lines == ()
    feeds = {name: np.ones(n, np.float32) for name, n in {"a": 2, "b": 1, "m": 3, "k": 5}.items()}
    assert contract.check(feeds) == []
    assert Runtime(model).error(feeds) == ""


def test_a_longer_mask_of_gpt2_runs_and_a_shorter_one_does_not() -> None:
    """So the line that the two are equal is not tight."""
    path = FIXTURES / "gpt2-kv-dynamo.onnx"
    contract = gather_infer.contract_of(path).contract
    drawer = Drawer(contract)
    feeds = drawer.feeds({"batch": 2, "past": 3, "seq": 2, "attention_mask.1": 5})
    feeds["attention_mask"] = np.ones((2, 6), np.int64)
    runtime = Runtime(str(path))
    is_sizes, demanded = (
        "attention_mask.1 = {}, past = 3, seq = 2: ",
        "attention_mask.1 == past + seq (node_GatherND_81)",
    )
    assert contract.check(feeds) == []
    assert [v.text for v in contract.warnings(feeds)] == [f"{is_sizes.format(6)}is known to work only for {demanded}"]
    assert runtime.error(feeds) == ""
    feeds["attention_mask"] = np.ones((2, 4), np.int64)
    assert [v.text for v in contract.check(feeds)] == [
        f"{is_sizes.format(4)}must be past + seq <= attention_mask.1 (node_GatherND_81)"
    ]
    assert runtime.error(feeds)


def test_the_position_table_of_bert_is_named_by_its_add() -> None:
    contract = gather_infer.contract_of(FIXTURES / "bert-torchscript.onnx").contract
    assert contract.lines[2].reason == "Add of float32[batch, seq, 32] and float32[1, min(64, seq), 32]"


IDS, TYPES, LENGTH = "-151 <= input_ids < 151", "-2 <= token_type_ids < 2", "seq <= 64"
DISCHARGED: dict[str, tuple[tuple[str, ...], tuple[str, ...], list[str], list[str]]] = {
    # id: (dims, ranges, lines left, codes)
    "a range": ((), ("input_ids=0..150",), [TYPES, LENGTH], []),
    "a range from behind": ((), ("input_ids=-151..150",), [TYPES, LENGTH], []),
    "an open range": ((), ("input_ids=0..",), ["input_ids < 151", TYPES, LENGTH], []),
    "a dim": (("seq=1..64",), (), [IDS, TYPES], []),
    "a size": (("seq=16",), (), [IDS, TYPES], []),
    "everything": (("seq=1..64",), ("input_ids=0..150", "token_type_ids=0..1"), [], []),
    "one too many": ((), ("input_ids=0..151",), ["input_ids < 151", TYPES, LENGTH], ["GI501"]),
    "too far behind": ((), ("input_ids=-152..0",), ["input_ids >= -151", TYPES, LENGTH], ["GI501"]),
    "a dim too many": (("seq=1..65",), (), [IDS, TYPES, LENGTH], ["GI501"]),
}  # fmt: skip


@pytest.mark.parametrize("case", DISCHARGED)
def test_what_is_declared_discharges_lines(case: str) -> None:
    dims, ranges, lines, codes = DISCHARGED[case]
    result = gather_infer.contract_of(FIXTURES / "bert-torchscript.onnx", dims=dims, ranges=ranges)
    assert [line.text for line in result.contract.lines] == lines
    assert [finding.code for finding in result.diagnostics] == codes


def test_a_size_that_the_model_cannot_have_is_an_error() -> None:
    result = gather_infer.contract_of(FIXTURES / "bert-torchscript.onnx", dims=["seq=65"])
    assert [finding.code for finding in result.diagnostics] == ["GI212"]


def test_all_ids_outside_are_violated() -> None:
    result = gather_infer.contract_of(FIXTURES / "bert-torchscript.onnx", ranges={"input_ids": (151, 200)})
    assert [finding.code for finding in result.diagnostics] == ["GI301"]


def test_ends_that_only_together_reach_outside_are_no_contradiction() -> None:
    """A past of 40 is fine beside 8 new ones, and 40 new ones are beside a past of 0."""
    path = FIXTURES / "gpt2-kv-dynamo.onnx"
    assert gather_infer.contract_of(path, dims=["past=0..40", "seq=1..40"]).diagnostics == ()
    found = gather_infer.contract_of(path, dims=["past=0..40", "seq=1..49"]).diagnostics
    assert [d.message for d in found] == [
        "seq=1..49 is declared, which reaches outside past + seq <= 48: the model fails there"
    ]


def test_a_range_may_end_at_a_dim() -> None:
    model = parsed("float[R] x, int64[N] i", "y = Gather (x, i)")
    contract = gather_infer.contract_of(model, ranges=["i=0..R-1"]).contract
    assert contract.lines == ()
    feeds = {"x": np.zeros(3, np.float32), "i": np.array([0, 3])}
    assert [v.text for v in contract.check(feeds)] == ["i[1] = 3: must be 0 <= i < R, R = 3"]


def test_a_relation_of_the_caller_is_checked_too() -> None:
    model = parsed("float[P] p, float[S] s, float[T] t", "c = Concat <axis = 0> (p, s) y = Add (c, t)")
    contract = gather_infer.contract_of(model, dims=["T=P+S"]).contract
    assert contract.lines == ()
    feeds = {"p": np.zeros(2, np.float32), "s": np.zeros(3, np.float32), "t": np.zeros(4, np.float32)}
    assert [v.text for v in contract.check(feeds)] == ["P = 2, S = 3, t.0 = 4: must be t.0 == P + S"]


WRONG = {
    # id: (ranges, text)
    "no such input": (["ids=0..1"], "no input 'ids'; there are x, i"),
    "no numbers": (["x=0..1"], "range of 'x': only integers have one, the input is float32[R]"),
    "nothing in it": (["i=3..1"], "range of 'i': no number is in 3..1"),
    "no ends": (["i=.."], "range of 'i' must read LOW..HIGH, of which one may be left out, found '..'"),
    "no range": (["i=3"], "range of 'i' must read LOW..HIGH, of which one may be left out, found '3'"),
    "no dim": (["i=0..Q"], "range of 'i': no input dim 'Q'; there are N, R"),
    "twice": (["i=0..1", "i=0..2"], "the range of 'i' is given twice"),
    "no name": (["0..1"], "a range must read NAME=LOW..HIGH, found '0..1'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_ranges_that_cannot_be(case: str) -> None:
    ranges, text = WRONG[case]
    with pytest.raises(UsageError) as caught:
        gather_infer.contract_of(parsed("float[R] x, int64[N] i", "y = Gather (x, i)"), ranges=ranges)
    assert str(caught.value) == text


def test_what_depends_on_data_is_open() -> None:
    model = parsed("float[9] x, int64[N] i", "j = Mul (i, i) y = Gather (x, j)")
    contract = gather_infer.contract_of(model).contract
    assert contract.lines == ()
    assert [str(o) for o in contract.open] == [
        "Gather#1: indices are computed from data; indices in [..., ...], the axis has 9 rows"
    ]


def test_a_range_outside_of_a_line_that_is_not_tight_is_a_warning() -> None:
    inputs, body, given, *_ = CASES["in a branch"]
    result = gather_infer.contract_of(parsed(inputs, body, given), ranges=["i=0..9"])
    assert [(d.code, d.severity) for d in result.diagnostics] == [("GI501", Severity.WARNING)]
    assert [d.message for d in result.undischarged] == ["not proved: i < 9"]


def test_what_is_open_is_not_proved() -> None:
    model = parsed("float[9] x, int64[N] i", "j = Mul (i, i) y = Gather (x, j)")
    (finding,) = gather_infer.contract_of(model).undischarged
    assert (finding.code, finding.location.value) == ("GI502", "Gather#1")


def test_a_node_in_the_body_of_a_schema_has_no_operands_to_name() -> None:
    inference = gather_infer.infer(parsed("float[A] a, float[B] b", "y = Add (a, b)"))
    inside = NodePath(MAIN.below(Step(0)), 0)
    assert operands_text(inference, inside) == ""
    assert operands_text(inference, NodePath(MAIN, 0)) == "Add of float32[A] and float32[B]"


def test_an_index_out_of_bounds_of_openvino_does_not_make_a_line_tight() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17, "openvino.opset8": 1]> g (float[9] x, int64[N] i) => (y) '
        "<int64 a = {0}> { y = openvino.opset8.Gather (x, i, a) }"
    )
    (line,) = gather_infer.contract_of(model).contract.lines
    assert isinstance(line, ElementsLine)
    assert (line.text, line.tight) == ("-9 <= i < 9", False)
    assert line.reason.endswith("outside the result there is 0")


@pytest.mark.parametrize(
    ("default", "dims", "is_open"),
    [
        (1, (), True),
        (0, (), False),
        (-1, (), False),
        (1, ("N=2..",), False),
        (2, ("N=2..",), True),
        (-2, ("N=2..",), False),
        (-3, ("N=2..",), True),
    ],
)
def test_a_default_that_may_be_out_of_bounds_is_open(default: int, dims: tuple[str, ...], is_open: bool) -> None:
    model = parsed("float[N, 2] x, int64[1] i", "y = Gather(x, i)", f"int64[1] i = {{{default}}}")
    contract = gather_infer.contract_of(model, dims=dims).contract
    reasons = [each.reason for each in contract.open]
    assert reasons == (["the default of i may not satisfy -N <= i < N"] if is_open else [])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    fails = []
    for size in range(2 if dims else 1, 6):
        feeds = {"x": np.zeros((size, 2), np.float32)}
        assert not contract.check(feeds)
        try:
            session.run(None, feeds)
        except InvalidArgument:
            fails.append(size)
    assert bool(fails) == is_open


def test_a_large_default_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gather_infer.validate.default_elements.MAX_BYTES", 7)
    model = parsed("float[N, 2] x, int64[1] i", "y = Gather(x, i)", "int64[1] i = {0}")
    (found,) = gather_infer.contract_of(model).contract.open
    assert found.reason == "the default of i may not satisfy -N <= i < N"
