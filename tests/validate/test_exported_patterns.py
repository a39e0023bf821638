"""Indices as exporters compute them, with runs of onnxruntime on both sides of what the verdicts say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Elements, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from gather_infer.validate.contract_builder import contract_of

onnxruntime.set_default_logger_severity(4)

HEAD = '<ir_version: 9, opset_import: ["": 17]>'
NUMBERS = (
    "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () two = Constant <value_int = 2> () "
    "first = Constant <value_ints = [0]> () second = Constant <value_ints = [1]> () "
    "flat = Constant <value_ints = [-1]> () rows = Constant <value_ints = [-1, 2]> () "
)


@dataclass(frozen=True)
class Pattern:
    """A graph whose last access is judged.

    condition  of the verdict, and whether it is tight
    sizes      that are tried for each symbol, and numbers that fill the integer inputs
    """

    inputs: str
    body: str
    condition: str
    tight: bool
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    numbers: tuple[int, ...] = (0,)


PATTERNS = {
    "the last token of each sequence": Pattern(
        "float[batch, seq, 2] h, int64[batch] last",
        "f = Reshape (h, rows) s = Shape (h) b = Gather (s, zero) q = Gather (s, one) r = Range (zero, b, one) "
        "m = Mul (r, q) i = Add (m, last) y = Gather (f, i)",
        "-batch*seq <= last < seq", False, (("batch", (1, 2, 3)), ("seq", (1, 2, 5))), (-1, 0, 1, 2, 4, 5),
    ),
    "two inputs as one flat index": Pattern(
        "float[a, b, 2] h, int64[n] i, int64[n] j",
        "f = Reshape (h, rows) s = Shape (h) q = Gather (s, one) m = Mul (i, q) k = Add (m, j) y = Gather (f, k)",
        "0 <= j < b and 0 <= i < a", False, (("a", (1, 3)), ("b", (1, 2, 4)), ("n", (1, 2))), (-1, 0, 1, 2, 3, 4),
    ),
    "positions of every sequence in one table": Pattern(
        "float[batch, total, 2] h, float[past] p, float[seq] x",
        "f = Reshape (h, rows) s = Shape (h) b = Gather (s, zero) t = Gather (s, one) u = Shape (p) v = Shape (x) "
        "pp = Squeeze (u) ss = Squeeze (v) e = Add (pp, ss) r = Range (zero, e, one) c = Range (zero, b, one) "
        "m = Mul (c, t) mm = Unsqueeze (m, second) rr = Unsqueeze (r, first) i = Add (rr, mm) y = Gather (f, i)",
        "past + seq <= total", True, (("batch", (1, 2)), ("total", (1, 3, 4)), ("past", (0, 1, 3)), ("seq", (1, 2))),
    ),
    "positions counted from a mask": Pattern(
        "int64[batch, seq] mask, float[6, 2] table",
        "c = CumSum (mask, one) m = Mul (c, mask) s = Sub (m, one) i = Add (s, two) y = Gather (table, i)",
        "seq <= 4 and 0 <= mask < 2", False, (("batch", (1, 2)), ("seq", (1, 4, 5))), (0, 1, 2),
    ),
    "positions counted from what is no padding": Pattern(
        "int64[batch, seq] ids, float[7, 2] table",
        "e = Equal (ids, one) d = Not (e) n = Cast <to = 6> (d) c = CumSum (n, one) m = Mul (c, n) "
        "w = Cast <to = 7> (m) i = Add (w, one) y = Gather (table, i)",
        "seq <= 5", False, (("batch", (1, 2)), ("seq", (1, 5, 6))), (0, 1),
    ),
    "the head of constant positions": Pattern(
        "float[seq, 2] x, float[6, 2] table",
        "p = Constant <value = int64[1, 9] {0, 1, 2, 3, 4, 5, 6, 7, 8}> () s = Shape <end = 1> (x) "
        "i = Slice (p, first, s, second) y = Gather (table, i)",
        "seq <= 6", True, (("seq", (1, 6, 7, 9, 12)),),
    ),
    "relative positions in a table that was cut when exported": Pattern(
        "float[seq, 2] x, float[1, 8] table",
        "s = Shape (x) q = Gather (s, zero) r = Range (zero, q, one) a = Unsqueeze (r, second) "
        "b = Unsqueeze (r, first) d = Sub (a, b) e = Add (d, q) m = Mul (q, two) l = Sub (m, one) "
        "c = Clip (e, zero, l) i = Reshape (c, flat) ii = Unsqueeze (i, first) "
        "y = GatherElements <axis = 1> (table, ii)",
        "seq <= 4", True, (("seq", (1, 2, 4, 5)),),
    ),
    "windows that slide": Pattern(
        "float[batch, seq, 2] x",
        "s = Shape (x) b = Gather (s, zero) n = Gather (s, one) four = Constant <value_int = 4> () q = Div (n, four) "
        "f = Reshape (x, rows) bb = Range (zero, b, one) st = Mul (bb, q) aa = Unsqueeze (st, second) "
        "qq = Range (zero, q, one) w = Mul (qq, four) cc = Unsqueeze (w, first) i = Add (aa, cc) y = Gather (f, i)",
        "", True, (("batch", (1, 2, 3)), ("seq", (4, 5, 8, 15, 16))),
    ),
    "strides that were fixed when exported": Pattern(
        "float[batch, seq, 2] x",
        "s = Shape (x) b = Gather (s, zero) n = Gather (s, one) f = Reshape (x, rows) bb = Range (zero, b, one) "
        "four = Constant <value_int = 4> () st = Mul (bb, four) aa = Unsqueeze (st, second) qq = Range (zero, n, one) "
        "cc = Unsqueeze (qq, first) i = Add (aa, cc) y = Gather (f, i)",
        "batch <= 1 or seq >= 4", True, (("batch", (1, 2, 3)), ("seq", (1, 3, 4, 5, 9))),
    ),
    "lengths of masks, halved in floats": Pattern(
        "int64[batch, seq] mask, float[batch, seq, 2] x",
        "n = ReduceSum <keepdims = 0> (mask, second) three = Constant <value_int = 3> () d = Sub (n, three) "
        "f = Cast <to = 1> (d) h = Constant <value_float = 2.0> () q = Div (f, h) r = Floor (q) i = Cast <to = 7> (r) "
        "t = Transpose <perm = [1, 0, 2]> (x) y = Gather (t, i)",
        "seq >= 2 and seq <= 16777219 and 0 <= mask < 2", False,
        (("batch", (1, 2)), ("seq", (1, 2, 3, 4, 7))), (0, 1, 40),
    ),
    "two inputs as one flat index, in a branch": Pattern(
        "float[a, b, 2] h, int64[n] i, int64[n] j",
        "f = Reshape (h, rows) s = Shape (h) q = Gather (s, one) p = Greater (q, zero) m = Mul (i, q) "
        "y = If (p) <then_branch = t () => (u) { k = Add (m, j) u = Gather (f, k) }, "
        "else_branch = e () => (v) { v = Identity (f) }>",
        "0 <= j < b and 0 <= i < a", False, (("a", (1, 3)), ("b", (1, 2, 4)), ("n", (1, 2))), (-1, 0, 1, 2, 3, 4),
    ),
    "the row before the sum of a mask, in a loop": Pattern(
        "int64[batch, seq] mask, float[seq, 2] x, float[2] w",
        "n = Constant <value_int = 2> () y = Loop (n, , w) <body = g (int64 i, bool c, float[2] v) => (d, u) "
        "{ d = Identity (c) s = CumSum (mask, one) k = Sub (s, one) r = Gather (x, k) t = ReduceMax <axes = [0, 1], "
        "keepdims = 0> (r) u = Add (v, t) }>",
        "0 <= mask < 2", False, (("batch", (1, 2)), ("seq", (1, 2, 5))), (0, 1, 2, -1, 9),
    ),
    "hashed buckets": Pattern(
        "int64[batch, seq] ids, float[5, 2] table",
        "p = Constant <value_int = 31> () k = Constant <value_int = 5> () a = Add (ids, one) m = Mul (a, p) "
        "i = Mod (m, k) y = Gather (table, i)",
        "", True, (("batch", (1, 2)), ("seq", (1, 3))), (-9, 0, 4, 1 << 40),
    ),
}  # fmt: skip


def judged(pattern: Pattern) -> tuple[onnx.ModelProto, Verdict]:
    model = onnx.parser.parse_model(f"{HEAD} g ({pattern.inputs}) => (y) {{ {NUMBERS} {pattern.body} }}")
    return model, verdicts(gather_infer.infer(model))[-1]


@pytest.mark.parametrize("name", PATTERNS)
def test_expected_results(name: str) -> None:
    _, found = judged(PATTERNS[name])
    wanted = VerdictKind.CONDITIONAL if PATTERNS[name].condition else VerdictKind.PROVED
    assert (found.kind, found.condition, found.tight) == (wanted, PATTERNS[name].condition, PATTERNS[name].tight)


def bindings(pattern: Pattern) -> Iterator[dict[str, int]]:
    found: list[dict[str, int]] = [{}]
    for name, sizes in pattern.sizes:
        found = [{**each, name: size} for each in found for size in sizes]
    yield from found


@pytest.mark.parametrize("name", PATTERNS)
def test_runs_agree(name: str) -> None:
    pattern = PATTERNS[name]
    model, found = judged(pattern)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    outcomes = set()
    for sizes in bindings(pattern):
        for number in pattern.numbers:
            for last in pattern.numbers:
                feeds, rest = {}, number
                for i in session.get_inputs():
                    shape = [sizes.get(d, d) for d in i.shape]
                    is_float = i.type == "tensor(float)"
                    feeds[i.name] = np.ones(shape, np.float32) if is_float else np.full(shape, rest, np.int64)
                    rest = rest if is_float else last  # of two inputs of integers each has its own
                holds = all(_holds(condition, sizes, feeds) for condition in found.conditions)
                passes = _passes(session, feeds)
                outcomes.add(passes)
                assert passes or not holds, (sizes, feeds)
                assert not found.tight or passes == holds, (sizes, feeds)
    assert outcomes == ({True, False} if pattern.condition else {True})


def _passes(session: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> bool:
    try:
        session.run(None, feeds)
    except Exception:  # noqa: BLE001 - a run that fails is an answer
        return False
    return True


def _holds(condition: gather_infer.validate.Condition, sizes: dict[str, int], feeds: dict[str, np.ndarray]) -> bool:
    if not isinstance(condition.left, Elements):
        return evaluate(difference(condition), sizes) >= 0
    end, numbers = evaluate(condition.right, sizes), feeds[condition.left.input]
    return bool((numbers >= end).all() if condition.relation == ">=" else (numbers < end).all())


def test_a_contract_has_the_words_of_the_condition() -> None:
    model, _ = judged(PATTERNS["strides that were fixed when exported"])
    assert [(line.text, line.tight) for line in contract_of(model).contract.lines] == [("batch <= 1 or seq >= 4", True)]
