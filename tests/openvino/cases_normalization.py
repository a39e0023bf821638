"""Cases of normalisation."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case, Engine

CASES: dict[str, Case] = {}


def over(
    opset: int,
    type_name: str,
    data: tuple[int, ...],
    axes: list[int] | None,
    dtype: str = "f4",
    engine: Engine = "plugin",
    **attributes: Any,
) -> Case:
    """A layer of data and, if it has them, constant axes."""

    def build(b: Build) -> Any:
        given = [b.param(b.floats(*data, dtype=dtype))]
        if axes is not None:
            given.append(b.const(np.array(axes, np.int64)))
        return b.op(opset, type_name, given, **attributes)

    return Case(build, engine=engine, rtol=2e-3 if dtype == "f2" else 2e-5)


for _axes, _mode in product(([1], [1, 2, 3], [2, 3], [-1], []), ("add", "max")):
    CASES[f"NormalizeL2-1 axes {_axes}, {_mode}"] = over(1, "NormalizeL2", (2, 3, 4, 5), _axes, eps=0.1, eps_mode=_mode)
CASES["NormalizeL2-1 f16"] = over(1, "NormalizeL2", (2, 3, 4, 5), [1], "f2", eps=0.01, eps_mode="add")
CASES["NormalizeL2-1 of rank 2"] = over(1, "NormalizeL2", (2, 3), [1], eps=1e-6, eps_mode="max")
CASES["NormalizeL2-1 of rank 1"] = over(1, "NormalizeL2", (5,), [0], eps=1e-6, eps_mode="max")

for _across, _variance in product((True, False), (True, False)):
    CASES[f"MVN-1 across {_across}, variance {_variance}"] = over(
        2, "MVN", (2, 3, 4, 5), None, across_channels=_across, normalize_variance=_variance, eps=0.1
    )
CASES["MVN-1 f16"] = over(2, "MVN", (2, 3, 4, 5), None, "f2", across_channels=True, normalize_variance=True, eps=0.1)
CASES["MVN-1 of three axes"] = over(
    2, "MVN", (2, 3, 4, 5, 2), None, across_channels=False, normalize_variance=True, eps=0.1
)
for _axes, _mode, _variance in product(
    ([-1], [2, 3], [1, 2, 3], [1], [0, 3]), ("INSIDE_SQRT", "OUTSIDE_SQRT"), (True, False)
):
    CASES[f"MVN-6 axes {_axes}, {_mode}, variance {_variance}"] = over(
        6, "MVN", (2, 3, 4, 5), _axes, eps=0.1, eps_mode=_mode, normalize_variance=_variance
    )
_SIX: dict[str, Any] = {"eps": 1e-5, "eps_mode": "inside_sqrt", "normalize_variance": True}
CASES |= {
    "MVN-6 lower case": over(6, "MVN", (2, 3, 4), [-1], **_SIX),
    "MVN-6 f16": over(6, "MVN", (2, 3, 4), [-1], "f2", **_SIX),
    "MVN-6 of rank 2": over(6, "MVN", (4, 6), [1], **_SIX),
    "MVN-6 no rows": over(6, "MVN", (0, 6), [1], **_SIX),
    "GRN-1": over(1, "GRN", (2, 3, 4, 5), None, bias=0.5),
    "GRN-1 of rank 2": over(1, "GRN", (2, 3), None, bias=1e-3),
    "GRN-1 f16": over(1, "GRN", (2, 3, 4), None, "f2", bias=0.5),
}
_LRN: dict[str, Any] = {"alpha": 0.3, "beta": 0.75, "bias": 2.0}


def lrn_of(axes: list[int], size: int, alpha: float, beta: float, bias: float) -> Any:
    """The formula of the page; a window has as many elements as OpenVINO takes where it can run it."""

    def witness(x: np.ndarray) -> list[np.ndarray]:
        near, along = (size - 1) // 2, [axis % x.ndim for axis in axes]
        total = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            window = (
                slice(max(i - near, 0), i + near + 1) if d in along else slice(i, i + 1) for d, i in enumerate(at)
            )
            total[at] = (x[tuple(window)] ** 2).sum()
        return [x / (bias + alpha * total / size ** len(axes)) ** beta]

    return witness


for _axes, _size in product(([1], [2, 3], [1, 2, 3], [2], [-1], []), (1, 3, 4, 5)):
    # of other axes than 1, and 2 and 3, OpenVINO crashes, says that it cannot, or takes [1, 2, 3] for [2, 3]; of
    # unknown dims it cannot do any but 1
    CASES[f"LRN-1 axes {_axes}, size {_size}"] = replace(
        over(1, "LRN", (2, 6, 5, 4), _axes, engine="reshaped", size=_size, **_LRN),
        witness=None if _axes in ([1], [2, 3]) else lrn_of(_axes, _size, **_LRN),
    )
_FRACTION: dict[str, Any] = {"alpha": 0.3, "beta": 0.75, "bias": 1.5}
CASES |= {
    "LRN-1 of rank 3": over(1, "LRN", (2, 6, 5), [1], size=3, **_LRN),
    "LRN-1 of rank 2": over(1, "LRN", (2, 6), [1], size=3, **_LRN),
    "LRN-1 of rank 5": over(1, "LRN", (2, 6, 3, 2, 3), [1], size=3, **_LRN),
    "LRN-1 f16": over(1, "LRN", (2, 6, 5, 4), [1], "f2", size=3, **_LRN),
    # OpenVINO takes bias for an integer
    "LRN-1 bias with a fraction": replace(
        over(1, "LRN", (2, 6, 5, 4), [1], size=3, **_FRACTION), witness=lrn_of([1], 3, **_FRACTION)
    ),
}


def batch_norm(opset: int, data: tuple[int, ...], dtype: str = "f4", weights: str = "const") -> Case:
    def build(b: Build) -> Any:
        channels = data[1]
        x = b.param(b.floats(*data, dtype=dtype))
        gamma, beta, mean = (getattr(b, weights)(b.floats(channels, dtype=dtype)) for _ in range(3))
        variance = getattr(b, weights)(b.floats(channels, low=0.5, dtype=dtype))
        given = [x, gamma, beta, mean, variance] if opset >= 5 else [gamma, beta, x, mean, variance]
        return b.op(opset, "BatchNormInference", given, epsilon=0.01)

    return Case(build, rtol=3e-3 if dtype == "f2" else 1e-5)


for _opset in (1, 5):
    CASES |= {
        f"BatchNormInference-{_opset}": batch_norm(_opset, (2, 3, 4, 5)),
        f"BatchNormInference-{_opset} inputs": batch_norm(_opset, (2, 3, 4, 5), weights="param"),
        f"BatchNormInference-{_opset} of rank 2": batch_norm(_opset, (2, 3)),
        f"BatchNormInference-{_opset} of rank 3": batch_norm(_opset, (2, 3, 4)),
        f"BatchNormInference-{_opset} f16": batch_norm(_opset, (2, 3, 4, 5), "f2"),
        f"BatchNormInference-{_opset} no batch": batch_norm(_opset, (0, 3, 4, 5)),
    }


def group_norm(data: tuple[int, ...], groups: int, dtype: str = "f4") -> Case:
    def build(b: Build) -> Any:
        x, scale, bias = b.floats(*data, dtype=dtype), b.floats(data[1], dtype=dtype), b.floats(data[1], dtype=dtype)
        given = [b.param(x), b.const(scale), b.const(bias)]
        return b.op(12, "GroupNormalization", given, num_groups=groups, epsilon=0.01)

    return Case(build, rtol=4e-3 if dtype == "f2" else 2e-5)


CASES |= {
    "GroupNormalization-12": group_norm((2, 6, 4, 5), 3),
    "GroupNormalization-12 one group": group_norm((2, 6, 4, 5), 1),
    "GroupNormalization-12 a group per channel": group_norm((2, 6, 4, 5), 6),
    "GroupNormalization-12 of rank 3": group_norm((2, 6, 4), 2),
    "GroupNormalization-12 of rank 5": group_norm((1, 4, 3, 2, 2), 2),
    "GroupNormalization-12 of rank 2": replace(group_norm((2, 6), 2), engine="reshaped"),
    "GroupNormalization-12 f16": group_norm((2, 6, 4, 5), 3, "f2"),
    "GroupNormalization-12 no batch": group_norm((0, 6, 4, 5), 3),
}
