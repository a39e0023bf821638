"""Runs of models that make an index `y`, by which a table of 9 rows is gathered, held against what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from gather_infer import Inference, infer
from gather_infer.symbolic import evaluate
from gather_infer.tensor import SymbolicTensor, ValueRange
from gather_infer.validate import Condition, Elements, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

Array: TypeAlias = np.ndarray[Any, Any]
Row: TypeAlias = tuple[str, str, str]
"""Nodes, the span of y, and the verdict or its conditions; in brackets what the runs say, where that is more."""

ROWS = 9
INPUTS = {
    # name: (element type in ONNX's text form, shape)
    "x": ("int64", ("N",)),
    "w": ("int32", ("N",)),
    "u": ("uint64", ("N",)),
    "dword": ("uint32", ("N",)),
    "k": ("int64", ("N",)),
    "scores": ("float", ("N", ROWS)),
    "mask": ("float", (ROWS, 4)),
    "boxes": ("float", (1, 6, 4)),
    "classes": ("float", (1, 2, 6)),
    "byte": ("uint8", ("N",)),
}
# a and p are in [0, 8]
HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>() four = Constant<value_int = 4>()
    eight = Constant<value_int = 8>() nine = Constant<value_int = 9>() ten = Constant<value_int = 10>() neg = Constant<value_int = -1>()
    far = Constant<value_int = 18>() v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>() v2 = Constant<value_ints = [2]>()
    all = Constant<value_ints = [-1]>() five = Constant<value_float = 5.0>() fifth = Constant<value_float = 0.2>() big = Constant<value_int = 44>()
    a = ArgMax<axis = 1, keepdims = 0>(scores) p = Clip(x, zero, eight)"""

LOOSE = {
    "one of several, some past the end", "int32 products side by side", "an input of uint32 as int64", "an input of uint32 as int32, then int64",
    "positions in steps of two",
    "range by two", "nonzero concat", "cast from int32", "cast to int8", "product to int8", "grows, other half",
    "kept by a loop", "raised to a limit by a loop", "lowered to a limit by a loop",
    "kept from below by a loop", "kept from above by a loop", "the largest of argmax plus",
    "nonzero sliced, no axes", "wrapped of a cast", "wrapped of a plus that wraps", "int32 at its least",
    "an end at the least of int64", "an end at the most of int64", "int32 plus at its end", "limited sum in half",
    "grows, in int32 to the end",
    "limited, cast to int32, limited", "uint8 plus", "uint8 plus, plus again", "nonzero picked at another axis",
    "nonzero sliced by two", "nonzero reversed", "wrapped in int32", "wrapped int32 plus",
    "half of a at the ends", "half of a, none below", "half of p shifted twice", "test of a difference",
    "test by a float", "sum in half, floats between", "floats to int8 past its least", "floats to int8 past its most",
    "quotient of sizes to int8", "grows, other test is falling", "grows, to int8",
}  # fmt: skip
"""Rows whose span has an end that is no element."""

READ = {
    "wrapped, limited above before", "wrapped, limited below before",
    "tiled", "split", "wrapped the wrong way", "two inputs chosen", "compressed", "different ones", "different ones of rows",
    "wrapped, moved before",
    "wrapped uint8",
    "of any rank, repeated", "of any rank, tiled", "of any rank, split", "of any rank, split last",
    "wrapped, limited before, by more", "chosen, a number", "chosen, a number above", "chosen, a number below",
}  # fmt: skip
"""Rows that are said to read some elements of an input, nobody knows which, and read all that matter in every run."""


def proto_of(nodes: str, *, with_table: bool) -> Any:
    used = {name: kind for name, kind in INPUTS.items() if f"({name}" in HEAD + nodes or f" {name}" in HEAD + nodes}
    inputs = [f"{kind}[{', '.join(map(str, shape))}] {name}" for name, (kind, shape) in used.items()]
    last = "z = Gather(table, y)" if with_table else ""
    return model(f"(float[{ROWS}, 2] table, {', '.join(inputs)}) => (y) {{ {HEAD} {nodes} {last} }}", opset=18)


@cache
def inferred(nodes: str) -> Inference:
    return infer(proto_of(nodes, with_table=True))


@cache
def runs(nodes: str) -> tuple[tuple[dict[str, int], dict[str, Array], dict[str, Any]], ...]:
    """Sizes, inputs and every value of runs up to the index."""
    proto, rng = proto_of(nodes, with_table=False), np.random.default_rng(7)
    runtime = Runtime(proto)
    found = []
    for n in (1, 1, 2, 2, 5, 8, 9, 10, 11, 30, 47, 300):
        for _ in range(4):
            feeds = {}
            for given in proto.graph.input:
                kind, shape = INPUTS.get(given.name, ("float", (ROWS, 2)))
                sizes = tuple(n if d == "N" else int(d) for d in shape)
                if kind == "float":
                    feeds[given.name] = np.maximum(rng.normal(size=sizes), 0).astype(np.float32)
                else:
                    feeds[given.name] = _integers(rng, np.dtype(kind), sizes)
            found.append(({"N": n}, feeds, runtime.run(feeds)))
    return tuple(found)


def _integers(rng: np.random.Generator, kind: np.dtype[Any], sizes: tuple[int, ...]) -> Array:
    """Small ones, ones up to 2^30, or the same one many times.

    Larger ones than 2^31 are not for onnxruntime 1.31, whose Clip of several int64 looks at 32 bits of some of them.
    """
    least, most = rng.choice([(-20, 20), (-9, 8), (-18, 8), (0, 8), (1, 8), (-60, 60), (0, 0)])
    made = rng.integers(least, most, sizes, np.int64, endpoint=True)
    match rng.integers(5):
        case 0:
            made = (2.0 ** rng.uniform(0, 30, sizes)).astype(np.int64) * rng.choice([-1, 1], sizes)
        case 1:
            made = np.full(sizes, made.flat[0])
    if kind.kind == "u":
        made = np.abs(made)
    return made.astype(kind)


def holds(condition: Condition, sizes: Mapping[str, int], feeds: Mapping[str, Array]) -> bool:
    if not isinstance(condition.left, Elements):
        return evaluate(difference(condition), sizes) >= 0
    elements = feeds[condition.left.input]
    if condition.left.column is not None:
        elements = elements[..., condition.left.column]
    limit = evaluate(condition.right, sizes)
    return bool(np.all(elements >= limit) if condition.relation == ">=" else np.all(elements < limit))


def outcomes(nodes: str) -> Iterator[bool]:
    """Of each run with an index whether it is in bounds."""
    for _, _, values in runs(nodes):
        if values["y"].size:
            yield bool(np.all((values["y"] >= -ROWS) & (values["y"] < ROWS)))


def check_conditions(verdict: Verdict, nodes: str) -> bool:
    """The conditions are exact; of elements of which only some are read, as far as these go. Whether some are not read.

    Those that are not tight are enough.
    """
    is_exact = verdict.tight and all(c.left.whole for c in verdict.conditions if isinstance(c.left, Elements))
    passed_unmet = False
    for (sizes, feeds, _), passes in zip((r for r in runs(nodes) if r[2]["y"].size), outcomes(nodes), strict=True):
        met = all(holds(c, sizes, feeds) for c in verdict.conditions)
        assert passes if met else not (is_exact and passes), (sizes, feeds)
        passed_unmet |= passes and not met
    return is_exact or passed_unmet or not verdict.tight


def ends(span: ValueRange | None) -> str:
    return "" if span is None else f"{'...' if span.lo is None else span.lo}, {'...' if span.hi is None else span.hi}"


def constraints(row: Row) -> Verdict:
    """The verdict on a row, which is the one that the row has; it takes no run. Whether it is right `check` asks."""
    nodes, span, verdict = row
    inference = inferred(nodes)
    y = inference["y"]
    assert isinstance(y, SymbolicTensor)
    assert ends(y.value_range) == span
    found = verdicts(inference)[-1]
    condition = found.condition if found.tight or not found.condition else f"enough: {found.condition}"
    assert (condition or str(found.kind)) == re.sub(r" \((proved|violated)\)$", "", verdict)
    return found


def check(name: str, row: Row) -> None:
    """Facts of every tensor on the way hold in every run, and the verdict agrees with the runs.

    The ends of the span of `y` are elements in some run.
    """
    nodes, _, verdict = row
    inference = inferred(nodes)
    for sizes, _, values in runs(nodes):
        assert compare(inference, values, sizes).wrong == [], sizes
    y = inference["y"]
    found = constraints(row)
    assert isinstance(y, SymbolicTensor)
    if y.value_range is not None and name not in LOOSE:
        for end, pick in ((y.value_range.lo, np.min), (y.value_range.hi, np.max)):
            reached = [
                pick(values["y"]) == evaluate(end, sizes)
                for sizes, _, values in runs(nodes)
                if end is not None and values["y"].size
            ]
            assert end is None or any(reached), (end, "is never reached")
    told, _, is_ = re.fullmatch(r"(.*?)( \((proved|violated)\))?", verdict).groups("")
    seen = set(outcomes(nodes))
    expected = {"proved": {True}, "violated": {False}}.get(is_ or told, {True, False})
    assert seen == expected
    if found.kind is VerdictKind.CONDITIONAL:
        assert check_conditions(found, nodes) or name in READ
