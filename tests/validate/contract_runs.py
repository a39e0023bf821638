"""Feeds drawn inside a contract and one step outside its lines, for onnxruntime to judge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import onnx
import onnxruntime

from gather_infer import Contract
from gather_infer.contract import ContractInput, DimsLine, ElementsLine, Line
from gather_infer.contract.checking import compound_axes
from gather_infer.symbolic import evaluate, free_symbols

Sizes = dict[str, int]
Feeds = dict[str, np.ndarray[Any, Any]]
SIZES = (1, 2, 3, 5, 7, 1, 2, 4, 8, 13, 16, 24, 31, 48, 64, 97, 0)

onnxruntime.set_default_logger_severity(4)


class Judge(Protocol):
    """A runtime that holds a model."""

    def error(self, feeds: Feeds) -> str: ...


class Runtime:
    """onnxruntime without its optimiser."""

    def __init__(self, model: onnx.ModelProto | str) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        serialized = model if isinstance(model, str) else model.SerializeToString()
        self.session = onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])

    def error(self, feeds: Feeds) -> str:
        """The error of the run; empty when it succeeds."""
        try:
            self.session.run(None, feeds)
        except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
            return str(error) or "it fails"
        return ""


class NoElement(Exception):
    """No element of an input is inside at the sizes."""


class NoSizes(Exception):
    """No sizes that are drawn are inside the contract."""


class Drawer:
    """Feeds for the inputs of a contract, by what that says alone."""

    def __init__(self, contract: Contract, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> None:
        self.contract = contract
        self.numbers = np.random.default_rng(seed)
        self.sizes = sizes
        self.compound = {spec.axis_name(axis): dim for spec, axis, dim in compound_axes(contract.inputs)}
        names = {name for spec in contract.inputs for dim in spec.shape or () for name in free_symbols(dim)}
        self.names = sorted(names)

    def whole(self, sizes: Sizes) -> Sizes:
        """The sizes with those of dims that are expressions."""
        return {**{axis: evaluate(dim, sizes) for axis, dim in self.compound.items()}, **sizes}

    def holds(self, line: Line, sizes: Sizes) -> bool:
        try:
            return isinstance(line, ElementsLine) or any(relation.holds(sizes) for relation in line.relations)
        except ZeroDivisionError:
            return True  # it says nothing at these sizes

    def inside(self, *, but: Line | None = None) -> Sizes | None:
        """Sizes for which every line holds but one, of which nothing is known; None when none are found."""
        for _ in range(4000):
            drawn = {name: int(self.numbers.choice(self.sizes)) for name in self.names}
            sizes = self.whole(drawn)
            lines = [line for line in self.contract.all_lines if line is not but]
            if min([0, *sizes.values()]) == 0 and all(self.holds(line, sizes) for line in lines):
                return sizes
        return None

    def outside(self, line: DimsLine) -> Iterator[Sizes]:
        """Sizes that break a line by one, and no other line; none is 0."""
        (relation,) = line.relations
        step = {"<=": 1, ">=": -1}
        found = 0
        for _ in range(40):
            drawn = {name: max(1, int(self.numbers.choice(self.sizes))) for name in self.names}
            for name in sorted(relation.symbols & self.whole(drawn).keys()):
                for size in range(1, 200) if relation.right != 1 else (0,):
                    sizes = self.whole({**drawn, name: size})
                    try:
                        gap = evaluate(relation.left, sizes) - evaluate(relation.right, sizes)
                    except ZeroDivisionError:
                        continue
                    is_next = gap == step[relation.relation] if relation.relation in step else abs(gap) == 1
                    others = (
                        other for other, is_enforced in self.contract.enforced if is_enforced and other is not line
                    )
                    if is_next and all(self.holds(other, sizes) for other in others):
                        yield sizes
                        found += 1
                        break
            if found >= 3:
                return

    def feeds(self, sizes: Sizes) -> Feeds:
        return {spec.name: self.array(spec, self.shape(spec, sizes), sizes) for spec in self.contract.inputs}

    def shape(self, spec: ContractInput, sizes: Sizes) -> tuple[int, ...]:
        """The sizes of an input, where one of a dim that is an expression may be another than the file says."""
        dims = [(spec.axis_name(axis), dim) for axis, dim in enumerate(spec.shape or ())]
        return tuple(
            sizes[name] if name in self.compound and name in sizes else evaluate(dim, sizes) for name, dim in dims
        )

    def array(self, spec: ContractInput, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray[Any, Any]:
        assert spec.dtype is not None
        dtype = np.dtype(spec.dtype)
        if dtype.kind == "f":
            return self.numbers.normal(size=shape).astype(dtype)
        if dtype.kind == "b":
            return np.asarray(self.numbers.random(shape) < 0.5)
        low, high = (-5, 300) if dtype.kind == "i" else (0, 250)
        drawn = self.numbers.integers(low, high, shape)
        lines = [x for x in self.contract.all_lines if isinstance(x, ElementsLine) and x.input == spec.name]
        for column in dict.fromkeys(line.column for line in lines):
            least, most = self.ends([line for line in lines if line.column in (None, column)], sizes, low, high)
            columns = ... if column is None else (..., column)
            part = drawn[columns]
            if part.size and least > most:
                raise NoElement
            if part.size:
                pool = [least, most, *self.numbers.integers(least, most, 8, endpoint=True)]
                drawn[columns] = self.numbers.choice(pool, part.shape)
        return drawn.astype(dtype)

    def ends(self, lines: list[ElementsLine], sizes: Sizes, low: int, high: int) -> tuple[int, int]:
        lows = [evaluate(line.lower, sizes) for line in lines if line.lower is not None]
        highs = [evaluate(line.upper, sizes) for line in lines if line.upper is not None]
        least = max(lows, default=min([low, *highs]))
        return least, min(highs, default=max(high, least))

    def decided(self, line: DimsLine, feeds: Feeds) -> Feeds:
        """The feeds with the elements for which the line says something."""
        step = {"<": -1, "!=": 1}
        chosen = {when.input: when.number + step.get(when.relation, 0) for when in line.where}
        return {name: np.full_like(each, chosen[name]) if name in chosen else each for name, each in feeds.items()}

    def broken(self, line: ElementsLine, feeds: Feeds, sizes: Sizes) -> Iterator[Feeds]:
        """The feeds with one element just outside a line."""
        for end, step in ((line.lower, -1), (line.upper, 1)):
            array = feeds[line.input].copy()
            if end is None or not array.size:
                continue
            index = [int(self.numbers.integers(n)) for n in array.shape]
            if line.column is not None:
                index[-1] = line.column
            value = evaluate(end, sizes) + step
            info = np.iinfo(array.dtype)
            if info.min <= value <= info.max:
                array[tuple(index)] = value
                yield {**feeds, line.input: array}


def judge(
    contract: Contract, runtime: Judge, *, draws: int, seed: int = 0, pool: tuple[int, ...] = SIZES
) -> tuple[int, int]:
    """Runs inside and just outside, judged by a runtime; how many there were of each.

    pool   sizes that are drawn
    """
    drawer = Drawer(contract, seed, pool)
    inside = outside = 0
    for _ in range(draws):
        sizes = drawer.inside()
        if sizes is None:
            raise NoSizes
        try:
            feeds = drawer.feeds(sizes)
        except NoElement:
            continue
        assert contract.check(feeds, strict=True) == [], (sizes, contract.check(feeds, strict=True))
        assert not (error := runtime.error(feeds)), (sizes, error)
        inside += 1
        for line in contract.lines:
            if isinstance(line, ElementsLine):
                for wrong in drawer.broken(line, feeds, sizes):
                    found = contract.check(wrong, strict=True)
                    assert line in [v.line for v in found], (line, found)
                    assert (line in [v.line for v in contract.check(wrong)]) == line.tight
                    if line.tight and 0 not in sizes.values():
                        assert runtime.error(wrong), (line.text, sizes)
                        outside += 1
    for line in itertools.chain(contract.lines, contract.nonempty):
        if isinstance(line, DimsLine) and len(line.relations) == 1 and line.tight:
            for sizes in drawer.outside(line):
                try:
                    feeds = drawer.decided(line, drawer.feeds(sizes))
                except NoElement:
                    continue
                assert line in [v.line for v in contract.check(feeds)], (line, sizes)
                assert runtime.error(feeds), (line.text, sizes)
                outside += 1
    return inside, outside
