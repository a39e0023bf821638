"""Random programs of gathers over tables and shapes: onnxruntime gives the same bits before and after."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer.passes import fold
from tests.passes.folding_models import assert_same_outputs, model

FEEDS: dict[str, Any] = {"x": np.ones((2, 3, 4), np.float32), "z": np.ones((5, 7), np.float32)}


def random_model(seed: int) -> ModelProto:
    """Gathers of tables, of Shape(x) with symbolic dims and of Shape(z) with static ones, chained; all in bounds."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    nodes = [helper.make_node("Shape", ["x"], ["of_x"]), helper.make_node("Shape", ["z"], ["of_z"])]
    held = {"table": numbers.integers(-9, 9, (3, 4)), "vector": numbers.integers(-9, 9, 5)}
    shapes: dict[str, tuple[int, ...]] = {"of_x": (3,), "of_z": (2,), "table": (3, 4), "vector": (5,)}
    outputs = []
    for k in range(rng.randint(2, 8)):
        source = rng.choice([name for name, shape in shapes.items() if shape])
        shape, out, index = shapes[source], f"v{k}", f"i{k}"
        op = rng.choice(["Gather", "Gather", "GatherElements", "GatherND"])
        attributes: dict[str, Any] = {} if op == "GatherND" else {"axis": rng.randrange(len(shape))}
        axis = attributes.get("axis", 0)
        if op == "Gather":
            picked = rng.choice([(), (1,), (2,), (2, 2)])
            held[index] = np.asarray(numbers.integers(-shape[axis], shape[axis], picked))
            shapes[out] = shape[:axis] + picked + shape[axis + 1 :]
        elif op == "GatherElements":
            picked = tuple(rng.randint(1, n) for n in shape)
            held[index] = numbers.integers(-shape[axis], shape[axis], picked)
            shapes[out] = picked
        else:
            width = rng.randint(1, len(shape))
            tuples = rng.choice([(), (2,)])
            held[index] = np.stack([numbers.integers(-n, n, tuples) for n in shape[:width]], -1)
            shapes[out] = tuples + shape[width:]
        nodes.append(helper.make_node(op, [source, index], [out], f"node_{k}", **attributes))
        if rng.random() < 0.3:
            nodes.append(helper.make_node("Mul", [out, out], [f"{out}_squared"]))
            shapes[f"{out}_squared"] = shapes[out]
        if rng.random() < 0.5 or k == 0:
            outputs.append(out)
    types: Any = {"x": (TensorProto.FLOAT, ["N", 3, "M"]), "z": (TensorProto.FLOAT, [5, 7])}
    return model(nodes, types, {name: (TensorProto.INT64, shapes[name]) for name in outputs}, held)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs(first: int) -> None:
    folded = 0
    for seed in range(first, first + 20):
        made = random_model(seed)
        result = fold(made)
        assert not result.diagnostics
        folded += len(result.applied)
        assert_same_outputs(made, result.proto, FEEDS)
    assert folded > 20
