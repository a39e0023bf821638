"""The check of a result by its rows: run together in the result, and in the original, which fixes the number of rows.

It needs no reference. A model whose rows are independent gives each row the same result, whichever rows are beside it:
so the rows of a run at sizes 1, 2, 3 and 5 are run again in the original, as many at a time as it takes. Masks are
random, since a mask of ones hides that the mask of row 0 is used for every row.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer.inference import Inference
from gather_infer.model import ModelFile
from gather_infer.model.tensors import fed_inputs
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME, REFERENCE
from gather_infer.symbolic import Expr, evaluate, free_symbols
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, is_free
from gather_infer.unfreezing.result import RowCheck
from gather_infer.unfreezing.row_checks.merged_rows import Part, merged_difference, part_of
from gather_infer.validate import verdicts
from gather_infer.validate.contract_builder import contract
from gather_infer.verification.element_sampling import (
    ElementDrawer,
    FloatPattern,
    NotDrawable,
    limits_of,
    why_not_drawable,
)
from gather_infer.verification.files import on_disk
from gather_infer.verification.nondeterminism import nondeterministic_outputs
from gather_infer.verification.output_comparison import ValueDifference, difference
from gather_infer.verification.size_sampling import SizePattern, size_sampler_of
from gather_infer.verification.tolerance import Tolerance

if TYPE_CHECKING:
    from gather_infer.unfreezing.counterpart import Counterpart
    from gather_infer.unfreezing.sizes.computed_sizes import Site

Feeds = dict[str, Any]

SIZES: Final = (3, 1, 2, 5)
TOLERANCE: Final = Tolerance(rtol=1e-4, noise=1e-5)
"""Kernels sum in another order for another number of rows."""
_ATTEMPTS: Final = 8
_SECONDS: Final = 60.0


def check_rows(
    source: ModelFile,
    result: ModelProto,
    after: Inference,
    sites: Mapping[str, Sequence[Site]],
    freed: Mapping[str, int],
    factors: Mapping[str, AxisFactors],
    row_symbols: frozenset[str],
    upper_bounds: Mapping[str, int],
    other: Counterpart | None = None,
) -> RowCheck:
    """Compare rows of the result with rows of the original, in child processes.

    In onnxruntime, or in onnx's reference evaluator if that is not installed.
    """
    constants = {tensor.name for tensor in source.proto.graph.initializer}
    needed = [name for name in after.inputs if name not in constants]
    reason = next((why for name in needed if (why := why_not_drawable(after[name]))), "")
    random = nondeterministic_outputs(after)
    if random:
        name, node = next(iter(random.items()))
        reason = f"output {name} depends on random numbers, of {node}"
    if reason:
        return RowCheck(skipped=reason)
    for runtime in (ONNXRUNTIME, REFERENCE):
        check = _run_in(runtime, source, result, after, needed, sites, freed, factors, row_symbols, upper_bounds, other)
        if check is not None:
            return check
    return RowCheck(skipped="neither onnxruntime nor onnx's reference evaluator is installed")


def _run_in(
    runtime: str,
    source: ModelFile,
    result: ModelProto,
    after: Inference,
    needed: Sequence[str],
    sites: Mapping[str, Sequence[Site]],
    freed: Mapping[str, int],
    factors: Mapping[str, AxisFactors],
    row_symbols: frozenset[str],
    upper_bounds: Mapping[str, int],
    other: Counterpart | None,
) -> RowCheck | None:
    """The check in a runtime; None if it is not installed."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        for place in ("a", "b", "models"):
            (folder / place).mkdir()
        with (
            on_disk(source, source.proto, folder / "models" / "before") as one,
            on_disk(source, result, folder / "models" / "after") as two,
            RuntimeProcess(runtime, folder / "a", _SECONDS) as original,
            RuntimeProcess(runtime, folder / "b", _SECONDS) as rewritten,
        ):
            failure = original.load(one)
            if failure is not None and failure.is_not_installed:
                return None
            if failure is not None:
                return RowCheck(skipped=f"the original does not load: {failure}")
            failure = rewritten.load(two)
            if failure is not None:
                return RowCheck(faults=(f"the result does not load: {failure}",))
            check = _Check(
                after, needed, sites, freed, factors, row_symbols, upper_bounds, original, rewritten, folder / "feeds"
            )
            found = check.run()
            if other is None or not found.ok:
                return found
            with on_disk(other.model, other.model.proto, folder / "models" / "other") as three:
                failure = original.load(three)
                if failure is not None:
                    return found._replace(skipped=f"{other.model.name} does not load: {failure}")
                return check.compared_with(other, found)


class _Check:
    def __init__(
        self,
        after: Inference,
        needed: Sequence[str],
        sites: Mapping[str, Sequence[Site]],
        freed: Mapping[str, int],
        factors: Mapping[str, AxisFactors],
        row_symbols: frozenset[str],
        upper_bounds: Mapping[str, int],
        original: RuntimeProcess,
        rewritten: RuntimeProcess,
        feeds: Path,
    ) -> None:
        self.after, self.needed, self.sites, self.freed, self.factors = after, needed, sites, freed, factors
        self.row_symbols, self.upper_bounds = row_symbols, upper_bounds
        self.original, self.rewritten, self.path = original, rewritten, feeds
        found = list(verdicts(after))
        self.contract = contract(after, found=found).contract
        self.merged = {name: axes for name in after.outputs if (axes := self._merged_axes(name))}
        self.sizes, self.limits = size_sampler_of(after, found), limits_of(found)
        self.drawn: Mapping[str, int] = {}  # the sizes of the inputs that were drawn last

    def _merged_axes(self, name: str) -> tuple[int, ...]:
        """The axes of an output whose size depends on elements: results of all rows, say."""
        fact = self.after[name]
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        causes = [[self.after.causes.get(symbol) for symbol in free_symbols(dim)] for dim in shape]
        return tuple(
            axis for axis, found in enumerate(causes) if any(c is not None and c.data_dependent for c in found)
        )

    def run(self) -> RowCheck:
        runs: list[str] = []
        ran: list[str] = []
        faults: list[str] = []
        skipped = ""  # of a symbol that was not run at a size that tells
        for symbol, old in self.freed.items():
            if symbol not in self.row_symbols:
                sizes, differing = self._length(symbol)
                runs += [f"{symbol}={old}"] if old in sizes else []
                ran += [f"{symbol}={size}" for size in sizes if size != old]
                faults += differing
                if old not in sizes and not faults:
                    skipped = f"no inputs were found on which the original runs, {symbol}={old}"
                continue
            largest = 0
            for size in (*SIZES, *({old} - {*SIZES})):
                found = self._at(symbol, size)
                if found is None:
                    continue
                largest = max(largest, size)
                runs.append(f"{symbol}={size}")
                faults += found
                if faults:
                    return RowCheck(tuple(runs), tuple(ran), "", tuple(faults))
            if largest <= min(old, max(SIZES) - 1):
                skipped = f"no inputs were found on which the original runs on more than {max(largest, 1)} rows"
        return RowCheck(tuple(runs), tuple(ran), skipped, tuple(faults))

    def compared_with(self, other: Counterpart, found: RowCheck) -> RowCheck:
        """The check, with runs of the result beside the second model, which `original` has loaded."""
        at = ", ".join(f"{symbol}={size}" for symbol, size in other.sizes.items())
        names = [value.name for value in fed_inputs(other.model.proto)]
        mine = [value.name for value in fed_inputs(self.after.model.proto)]
        for attempt in range(_ATTEMPTS):
            drawn = self._drawn(other.sizes, attempt)
            if drawn is None:
                continue
            wanted = self._outputs(self.original, {its: drawn[name] for its, name in zip(names, mine, strict=True)})
            if isinstance(wanted, Failure):
                continue
            result = self._outputs(self.rewritten, drawn)
            if isinstance(result, Failure):
                return found._replace(faults=(f"at {at} the result fails, {other.model.name} does not: {result}",))
            for name, a, b in zip(self.after.outputs, wanted, result, strict=True):
                differing = difference(a, b, TOLERANCE)
                if differing is not None:
                    why = f"output {name} at {at}, beside {other.model.name}: {_text(differing)}"
                    return found._replace(faults=(why,))
            return found._replace(runs=(*found.runs, f"{at} as {other.model.name}"))
        return found._replace(skipped=f"no inputs were found on which {other.model.name} runs")

    def _length(self, symbol: str) -> tuple[list[int], list[str]]:
        """The sizes of a length that were run, and the faults: a failure, or other outputs at the old size."""
        old = self.freed[symbol]
        most = self.upper_bounds.get(symbol, max(64, old + 1))
        ran: list[int] = []
        for size in dict.fromkeys((old, *(n for n in (1, 2, 3, 5, old + 1, 2 * old, 2 * old + 1) if n <= most))):
            for attempt in range(_ATTEMPTS):
                drawn = self._drawn({symbol: size}, attempt)
                if drawn is None:
                    continue
                wanted = self._outputs(self.original, drawn) if size == old else []
                if isinstance(wanted, Failure):
                    continue
                found = self._outputs(self.rewritten, drawn)
                if isinstance(found, Failure):
                    if size != old and self.contract.check(drawn):
                        break  # it is outside of the contract
                    if size != old and self._is_open(found):
                        continue
                    return ran, [f"at {symbol}={size} the result fails: {found}"]
                ran.append(size)
                for name, a, b in zip(self.after.outputs, wanted or found, found, strict=True):
                    differing = difference(a, b, TOLERANCE)
                    if differing is not None:
                        return ran, [f"output {name} at {symbol}={size}: {_text(differing)}"]
                break
        return ran, []

    def _is_open(self, failure: Failure) -> bool:
        """Whether a node failed that may do so by the contract, such as for an expert that no token chose.

        The message of onnxruntime has its operator and its name, if it has one; its label is that or `Split#3`.
        """
        labels = [point.node.partition("#") for point in self.contract.open if point.node]
        texts = [f"running {name} node. Name:''" if is_unnamed else f"Name:'{name}'" for name, is_unnamed, _ in labels]
        return any(text in str(failure) for text in texts)

    def _at(self, symbol: str, size: int) -> list[str] | None:
        """The faults of a run at a size; None if the original ran on no inputs."""
        for attempt in range(_ATTEMPTS):
            drawn = self._drawn({symbol: size}, attempt)
            if drawn is None:
                continue
            rows = [self._row(drawn, symbol, self._together(symbol, size, row)) for row in range(size)]
            wanted = [self._outputs(self.original, feeds) for feeds in rows]
            if any(isinstance(found, Failure) for found in wanted):
                continue
            found = self._outputs(self.rewritten, drawn)
            if isinstance(found, Failure):
                return [f"at {symbol}={size} the result fails: {found}"]
            faults = list(self._differences(symbol, size, found, wanted))
            if size == self.freed[symbol] and self.merged:
                faults += self._differences_in_whole(symbol, size, found, wanted[0])
            return [*faults, *self._differences_of_merged(symbol, size, drawn, found)]
        return None

    def _together(self, symbol: str, size: int, row: int) -> list[int]:
        """The rows that are run in the original together: as many as it has, from one on."""
        return [(row + at) % size for at in range(self.freed[symbol])]

    def _drawn(self, sizes: Mapping[str, int], attempt: int) -> Feeds | None:
        numbers = np.random.default_rng((*sizes.values(), attempt))
        pattern = (SizePattern.PRIMES, SizePattern.EQUAL, SizePattern.MIXED)[attempt % 3]
        binding = self.sizes.draw(pattern, numbers, turn=attempt, trusting=attempt < _ATTEMPTS // 2)
        if binding is None:
            return None
        binding = {**binding, **self.freed, **sizes}
        is_other = any(name not in self.row_symbols and size != self.freed[name] for name, size in sizes.items())
        if is_other and not self.sizes.meets_constraints(binding):
            return None
        self.drawn = binding
        drawer = ElementDrawer(self.limits, binding, FloatPattern.FINITE, attempt, attempt, numbers)
        try:
            return drawer.feeds_with_masks(self.after, self.needed)
        except NotDrawable:
            return None

    def _row(self, feeds: Feeds, symbol: str, rows: Sequence[int]) -> Feeds:
        found = dict(feeds)
        for site in self.sites[symbol]:
            if site.input in found:
                found[site.input] = np.take(found[site.input], rows, site.axis)
        return found

    def _outputs(self, process: RuntimeProcess, feeds: Feeds) -> list[Any] | Failure:
        self.path.write_bytes(pickle.dumps(feeds))
        return process.run(self.path)

    def _differences(
        self, symbol: str, size: int, found: Sequence[Any], wanted: Sequence[list[Any] | Failure]
    ) -> Iterator[str]:
        for position, name in enumerate(self.after.outputs):
            if name in self.merged:
                continue
            for row, outputs in enumerate(wanted):
                assert not isinstance(outputs, Failure), "the original ran"
                mine = self._part(name, found[position], symbol, {symbol: size}, self._together(symbol, size, row))
                its = self._part(name, outputs[position], symbol, {}, self._together(symbol, self.freed[symbol], 0))
                differing = difference(its, mine, TOLERANCE)
                if differing is not None:
                    yield f"output {name}, row {row} of {symbol}={size}: {_text(differing)}"
                    break

    def _differences_in_whole(
        self, symbol: str, size: int, found: Sequence[Any], wanted: list[Any] | Failure
    ) -> Iterator[str]:
        """The differences of outputs that have no part for each row, at the old size."""
        assert not isinstance(wanted, Failure), "the original ran"
        for position, name in enumerate(self.after.outputs):
            if name in self.merged:
                differing = difference(wanted[position], found[position], TOLERANCE)
                if differing is not None:
                    yield f"output {name} at {symbol}={size}: {_text(differing)}"

    def _differences_of_merged(self, symbol: str, size: int, drawn: Feeds, found: Sequence[Any]) -> Iterator[str]:
        """The differences of outputs with a size that depends on elements, which may be those of all rows.

        Such an output of a model of one row has to be comparable; of one of several rows the whole has been compared.
        """
        if not self.merged:
            return
        copies = self.freed[symbol]
        runs = [self._outputs(self.original, self._row(drawn, symbol, [row] * copies)) for row in range(size)]
        for position, name in enumerate(self.after.outputs):
            axes = self.merged.get(name, ())
            alone = [None if isinstance(outputs, Failure) else outputs[position] for outputs in runs]
            if not axes or self._is_by_row(name, found[position], alone, symbol, size):
                continue
            parts = [part for value in alone if (part := self._results_of_row(value, axes, copies)) is not None]
            if len(parts) < size:
                if copies == 1:
                    yield f"output {name} has the results of all rows, which cannot be told apart"
                continue
            differing = merged_difference(found[position], parts, axes[0], TOLERANCE)
            if differing is not None:
                yield f"output {name}, the results of rows of {symbol}={size} one after the other: {_text(differing)}"

    def _is_by_row(self, name: str, found: Any, alone: Sequence[Any], symbol: str, size: int) -> bool:
        """Whether an output has an axis of rows with the results of each, or the same result for every row."""
        return all(
            value is not None
            and difference(
                self._part(name, value, symbol, {}, [0]),
                self._part(name, found, symbol, {symbol: size}, [row]),
                TOLERANCE,
            )
            is None
            for row, value in enumerate(alone)
        )

    @staticmethod
    def _results_of_row(value: Any, axes: Sequence[int], copies: int) -> Part | None:
        """The results of one row, of a run on copies of it; None if the run failed or they cannot be told apart."""
        return None if value is None or len(axes) != 1 else part_of(value, axes[0], copies, TOLERANCE)

    def _part(self, name: str, value: Any, symbol: str, sizes: Mapping[str, int], rows: Sequence[int]) -> Any:
        """The part of an output that belongs to rows, along each of its axes that has them; all of it if none does."""
        factors = self.factors.get(name)
        fact = self.after[name]
        if not isinstance(value, np.ndarray) or not isinstance(fact, SymbolicTensor):
            return value
        if factors is None or value.ndim != len(factors):
            return value
        binding = {**self.drawn, **self.freed, **sizes}
        for axis in range(value.ndim - 1, -1, -1):
            held = factors[axis]
            if not any(is_free(factor, {symbol: 0}) for factor in held):
                continue
            place = next(at for at, factor in enumerate(held) if is_free(factor, {symbol: 0}))
            dim = held[place]
            if not (isinstance(dim, Expr) and dim.is_symbol):
                continue
            split = [evaluate(factor, binding) for factor in held]
            shape = [*value.shape[:axis], *split, *value.shape[axis + 1 :]]
            value = np.take(value.reshape(shape), rows, axis + place)
        return value


def _text(found: ValueDifference) -> str:
    if found.index is None:
        return found.reason
    return f"element {list(found.index)} is {found.rewritten}, the original has {found.original}"
