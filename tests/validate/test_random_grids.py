"""Seeded random sums, multiples and limits of ranges along two axes: verdicts hold in every run of onnxruntime."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Elements, VerdictKind, verdicts
from gather_infer.validate.condition import difference

onnxruntime.set_default_logger_severity(4)

MODELS = 240
CHUNKS = 4
SIZES = (0, 1, 2, 3, 5)
HEAD = (
    '<ir_version: 9, opset_import: ["": 17]> g (float[A] a, float[B] b, float[{rows}, 2] table) => (y) {{ '
    "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () flat = Constant <value_ints = [-1]> () "
    "first = Constant <value_ints = [0]> () second = Constant <value_ints = [1]> () "
    "sa = Shape (a) sb = Shape (b) na = Squeeze (sa) nb = Squeeze (sb) "
)


class Grid:
    """A text of a graph in the making, of matrices [A or 1, B or 1] of int64."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.text = ""
        self.count = 0

    def node(self, text: str) -> str:
        self.count += 1
        self.text += f"v{self.count} = {text} "
        return f"v{self.count}"

    def number(self, least: int = -3) -> str:
        if self.choice.random() < 0.3:
            return self.choice.choice(["na", "nb"])
        return self.node(f"Constant <value_int = {self.choice.randint(least, 6)}> ()")

    def leaf(self) -> str:
        size, axis = self.choice.choice([("a", "second"), ("b", "first")])
        match self.choice.randrange(4):
            case 0:
                ones = self.node(f"ConstantOfShape <value = int64[1] {{1}}> (s{size})")
                flat = self.node(f"Reshape ({self.node(f'NonZero ({ones})')}, flat)")
                return self.node(f"Unsqueeze ({flat}, {axis})")
            case 1:
                few = self.choice.choice(["{0, 4, 1}", "{2}", "{-1, 3}"])
                return self.node(f"Constant <value = int64[1, {few.count(',') + 1}] {few}> ()")
            case _:
                vector = self.node(f"Range (zero, n{size}, one)")
                return self.node(f"Unsqueeze ({vector}, {axis})")

    def matrix(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        match self.choice.randrange(8):
            case 0 | 1:
                return self.node(f"Mul ({self.matrix(depth - 1)}, {self.number(0)})")
            case 2:
                return self.node(f"{self.choice.choice(['Add', 'Sub'])} ({self.matrix(depth - 1)}, {self.number()})")
            case 3:
                return self.node(f"{self.choice.choice(['Min', 'Max'])} ({self.matrix(depth - 1)}, {self.number()})")
            case 4:
                return self.node(f"Clip ({self.matrix(depth - 1)}, {self.number()}, {self.number()})")
            case _:
                return self.node(
                    f"{self.choice.choice(['Add', 'Add', 'Sub'])} ({self.matrix(depth - 1)}, {self.matrix(depth - 1)})"
                )


def check_seed(seed: int) -> VerdictKind | None:
    """The class of the access of a seed; None where no run comes to it."""
    grid = Grid(seed)
    rows = grid.choice.choice(["3", "6", "9", "A", "R"])
    index = grid.matrix(grid.choice.randint(1, 3))
    text = f"{HEAD.format(rows=rows)} {grid.text} index = Reshape ({index}, flat) y = Gather (table, index) }}"
    model = onnx.parser.parse_model(text)
    found = verdicts(gather_infer.infer(model, assume=False))[-1]
    model.graph.output.append(onnx.helper.make_tensor_value_info("index", onnx.TensorProto.INT64, [None]))
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString())
    except Exception:  # noqa: BLE001 - constants that do not fit
        return None
    index_alone = onnxruntime.RunOptions()
    index_alone.only_execute_path_to_fetches = True
    kind = None
    for a, b, r in itertools.product(SIZES, SIZES, (1, 4) if rows == "R" else (1,)):
        sizes = {"A": a, "B": b, "R": r}
        shape = (sizes[rows] if rows in sizes else int(rows), 2)
        feeds = {"a": np.zeros(a, np.float32), "b": np.zeros(b, np.float32), "table": np.zeros(shape, np.float32)}
        try:
            found_index = session.run(["index"], feeds, index_alone)[0]
        except Exception:  # noqa: BLE001 - the access is not reached: two matrices do not fit
            continue
        kind = found.kind
        passes = _passes(session, feeds)
        assert not any(isinstance(c.left, Elements) for c in found.conditions)
        holds = all(evaluate(difference(c), sizes) >= 0 for c in found.conditions)
        what = (seed, sizes, found.text(), found.condition)
        if found.kind is VerdictKind.PROVED or (found.kind is VerdictKind.CONDITIONAL and holds):
            assert passes, what
        elif found.kind is VerdictKind.VIOLATED or (found.kind is VerdictKind.CONDITIONAL and found.tight):
            assert not passes or found_index.size == 0, what
    return kind


def _passes(session: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> bool:
    try:
        session.run(None, feeds)
    except Exception:  # noqa: BLE001 - a run that fails is an answer
        return False
    return True


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verdicts_of_random_grids_hold(chunk: int) -> None:
    seen = Counter(check_seed(seed) for seed in range(chunk, MODELS, CHUNKS))
    assert {VerdictKind.PROVED, VerdictKind.VIOLATED, VerdictKind.CONDITIONAL} <= seen.keys()
