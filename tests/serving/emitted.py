"""Profiles read from emitted texts, and points of their boxes.

trtexec and onnxruntime's TensorRT provider are read as their sources read them: trtexec splits a list at `,` and a pair
at its last `:` (`samples/common/sampleOptions.cpp`), the provider at `,` and `:`, and it takes the n-th shape of an
input for the n-th profile (`tensorrt_execution_provider_utils.h`). Polygraphy reads its script itself.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from gather_infer import Contract
from gather_infer.contract import ElementsLine
from gather_infer.contract.checking import RANGES
from gather_infer.symbolic import evaluate, free_symbols

FIXTURES = sorted(Path(__file__).parents[2].joinpath("fixtures").glob("*.onnx"))

Shape = tuple[int, ...]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class Profile:
    """The smallest, preferred and largest shapes, by input."""

    least: Shapes
    preferred: Shapes
    most: Shapes


def of_trtexec(text: str) -> list[Profile]:
    words = shlex.split(text.partition("\ntrtexec")[2], comments=True)
    ends: list[dict[str, Shapes]] = []
    for word in words:
        option, _, value = word.partition("=")
        if option == "--profile":
            assert int(value) == len(ends)
            ends.append({})
        elif option in ("--minShapes", "--optShapes", "--maxShapes"):
            if not ends:
                ends.append({})
            pairs = (pair.rpartition(":") for pair in value.split(","))
            ends[-1][option] = {name: _shape(shape) for name, _, shape in pairs}
    return [Profile(end["--minShapes"], end["--optShapes"], end["--maxShapes"]) for end in ends]


def of_provider(text: str) -> list[Profile]:
    names: dict[str, Any] = {}
    exec(compile(text, "options.py", "exec"), names)
    options = names["TENSORRT_OPTIONS"]
    assert names["PROVIDERS"][0] == ("TensorrtExecutionProvider", options)
    read = []
    for word in ("min", "opt", "max"):
        shapes: dict[str, list[Shape]] = {}
        for pair in filter(None, options[f"trt_profile_{word}_shapes"].split(",")):
            name, shape = pair.split(":")
            shapes.setdefault(name, []).append(_shape(shape))
        read.append(shapes)
    count = max((len(shapes) for shapes in read[0].values()), default=0)
    return [Profile(*({name: each[n] for name, each in shapes.items()} for shapes in read)) for n in range(count)]


def of_polygraphy(text: str) -> list[Profile]:
    names: dict[str, Any] = {}
    exec(compile(text, "profiles.py", "exec"), names)
    return [
        Profile(*({name: tuple(getattr(s, end)) for name, s in profile.items()} for end in ("min", "opt", "max")))
        for profile in names["profiles"]
    ]


READERS = {"trtexec": of_trtexec, "ort-trt": of_provider, "polygraphy": of_polygraphy}


def _shape(text: str) -> Shape:
    return () if text == "scalar" else tuple(map(int, text.split("x")))


def dim_names(model: onnx.ModelProto) -> dict[tuple[str, int], str]:
    """The name of each dynamic axis in the file, or of the axis itself; TensorRT makes axes of one name equal."""
    return {
        (value.name, axis): dim.dim_param or f"{value.name} axis {axis}"
        for value in model.graph.input
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if not dim.HasField("dim_value")
    }


def intervals(profile: Profile, names: Mapping[tuple[str, int], str]) -> dict[str, tuple[int, int]]:
    """The sizes that each name takes in a profile, which is a box of them."""
    found: dict[str, tuple[int, int]] = {}
    for (value, axis), name in names.items():
        ends = profile.least[value][axis], profile.most[value][axis]
        assert ends[0] <= profile.preferred[value][axis] <= ends[1]
        assert found.setdefault(name, ends) == ends, name
    return found


def points(box: Mapping[str, tuple[int, int]], number: int, seed: int) -> Iterator[dict[str, int]]:
    """Every corner of a box, up to 256 of them, and `number` random points."""
    for corner in itertools.islice(itertools.product(*({low, high} for low, high in box.values())), 256):
        yield dict(zip(box, corner, strict=True))
    numbers = np.random.default_rng(seed)
    for _ in range(number):
        yield {name: int(numbers.integers(low, high, endpoint=True)) for name, (low, high) in box.items()}


def feeds_of(
    contract: Contract, model: onnx.ModelProto, names: Mapping[tuple[str, int], str], sizes: Mapping[str, int]
) -> dict[str, np.ndarray[Any, Any]]:
    """Feeds with these sizes of the dims that the file names, and elements inside the lines on elements."""
    shapes = {}
    for value in model.graph.input:
        dims = enumerate(value.type.tensor_type.shape.dim)
        shapes[value.name] = tuple(
            sizes[names[value.name, axis]] if (value.name, axis) in names else dim.dim_value for axis, dim in dims
        )
    symbols = {
        str(dim): shapes[spec.name][axis] for spec in contract.inputs for axis, dim in enumerate(spec.shape or ())
    }
    return {
        spec.name: np.broadcast_to(_element(contract, spec.name, spec.dtype or "", symbols), shapes[spec.name])
        for spec in contract.inputs
    }


def _element(contract: Contract, name: str, dtype: str, sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    low, high = RANGES.get(dtype, (0, 1))
    for line in contract.all_lines:
        if isinstance(line, ElementsLine) and line.input == name:
            low = low if line.lower is None else max(low, evaluate(line.lower, sizes))
            high = high if line.upper is None else min(high, evaluate(line.upper, sizes))
    return np.asarray(min(max(0, low), high)).astype(dtype)


def violations(contract: Contract, model: onnx.ModelProto, profile: Profile, number: int, seed: int = 0) -> list[str]:
    """Points of a profile at which the contract is violated, lines that are not tight included."""
    names = dim_names(model)
    found = []
    for sizes in points(intervals(profile, names), number, seed):
        wrong = contract.check(feeds_of(contract, model, names, sizes), strict=True)
        found += [f"{sizes}: {violation}" for violation in wrong]
    return found


def symbols_of(contract: Contract) -> set[str]:
    return {name for spec in contract.inputs for dim in spec.shape or () for name in free_symbols(dim)}
