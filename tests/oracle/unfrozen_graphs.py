"""Random dynamic graphs made static, and dynamic again by `unfreeze`, beside the original in onnxruntime.

python -m tests.oracle.unfrozen_graphs --graphs N [--seed S] [--symbol batch seq] [--time-first]
    [--only MOVE ...] [--without MOVE ...] [--python PATH]

`freeze` and `optimize` make a graph static, or the onnxsim of the interpreter `--python`. The result runs at other
sizes than the old one, and has to have the outputs of the original. Rows are not checked by `unfreeze` unless they
differ here: the check takes longer than all else.

    back     equal at every size
    cut      equal up to the size that the result states
    narrow   equal where it runs; its contract excludes the sizes at which it fails
    moved    the rows of an old size of 1 are right, and in another axis of an output: the file does not tell which
    fixed    other outputs, of which the result reports that no freed size reaches them, as constants that were repeated
    refused  nothing was written
    wrong    written, and other outputs, or a failure inside of its contract
    fails    there is no static model, or it has other outputs than the original at the old sizes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import ModelProto

from gather_infer import GatherInferError, UnfreezeResult, contract_of, freeze, optimize, unfreeze
from tests.oracle.graph_builder import REFUSALS, session
from tests.oracle.row_graphs import RowGraph, Value
from tests.oracle.row_moves import MOVES, Move

SIZES: Final = (1, 2, 3, 5)
OLD: Final = {"batch": (1, 2, 2, 3, 4), "seq": (2, 3, 4, 5, 7)}
SIMPLIFY: Final = """
import json, sys, onnx, onnxsim
for name, shapes in json.load(open(sys.argv[1])).items():
    try:
        static, _ = onnxsim.simplify(onnx.load(name), overwrite_input_shapes=shapes)
        onnx.save(static, name + ".static")
    except Exception as error:
        print(name, error)
"""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sample:
    """A random graph, the dynamic model, and the sizes at which it is made static."""

    seed: int
    graph: RowGraph
    model: ModelProto

    @property
    def old(self) -> dict[str, int]:
        return self.graph.old


@dataclass(frozen=True)
class Outcome:
    verdict: str
    why: str = ""
    result: UnfreezeResult | None = None


def sample(seed: int, *, time_first: bool = False, moves: Mapping[str, Move] = MOVES) -> Sample:
    rng = np.random.default_rng((seed, 17))
    old = {symbol: int(rng.choice(sizes)) for symbol, sizes in OLD.items()}
    graph = RowGraph(seed, old, time_first=time_first)
    first = graph.grow(Value("x", graph.inputs["x"]), moves, int(rng.integers(2, 6)))
    last = graph.grow(first, moves, int(rng.integers(1, 5)))
    ends = [last] if rng.random() < 0.7 or last == first else [first, last]
    return Sample(seed, graph, graph.model(ends))


def static_of(each: Sample) -> ModelProto:
    """The model at the old sizes, made static by `freeze` and `optimize`."""
    result: ModelProto = optimize(freeze(each.model, dims=each.old).proto).proto
    return result


def simplified(samples: Sequence[Sample], python: str) -> Iterator[ModelProto | None]:
    """The models at the old sizes, made static by onnxsim; None where it fails."""
    with tempfile.TemporaryDirectory() as directory:
        folder, shapes = Path(directory), {}
        for each in samples:
            name = str(folder / f"{each.seed}.onnx")
            onnx.save(each.model, name)
            given = each.graph.inputs.items()
            shapes[name] = {key: Value(key, axes).shape(each.old) for key, axes in given}
        (folder / "shapes.json").write_text(json.dumps(shapes))
        subprocess.run([python, "-c", SIMPLIFY, str(folder / "shapes.json")], capture_output=True, check=True)
        for name in shapes:
            yield onnx.load(f"{name}.static") if Path(f"{name}.static").exists() else None


def judged(each: Sample, static: ModelProto, symbols: Sequence[str]) -> Outcome:
    """The outcome of `unfreeze` on the static model, beside the original."""
    original = session(each.model)
    feeds = each.graph.feeds(each.old, 0)
    kept = {value.name for value in static.graph.input}
    try:
        wanted = original.run(None, feeds)
        found = session(static).run(None, _only(feeds, kept))
    except REFUSALS as error:
        return Outcome("fails", f"does not run: {error}")
    if not _is_close(wanted, found):
        return Outcome("fails", "the static model has other outputs")
    names = [name for name in each.graph.names(symbols) if name.rpartition(".")[0] in kept]
    if not names:
        return Outcome("fails", "no input is left")
    for verify in (False, True):
        try:
            result = unfreeze(static, names, verify=verify)
        except GatherInferError as error:
            return Outcome("refused", f"{type(error).__name__}: {error}")
        if result.refused:
            return Outcome("refused", result.why_refused, result)
        outcome = _compared(each, result, symbols)
        if outcome.verdict != "wrong":
            break
    return outcome


def sizes_of(old: Mapping[str, int], symbols: Sequence[str]) -> Iterator[dict[str, int]]:
    """Sizes of the freed symbols, alone and together."""
    yield dict(old)
    for size in (*SIZES, old[symbols[0]] + 1, 9):
        yield {**old, **{symbol: size + at for at, symbol in enumerate(symbols)}}
        if len(symbols) > 1:
            yield {**old, symbols[size % len(symbols)]: size}


def _compared(each: Sample, result: UnfreezeResult, symbols: Sequence[str]) -> Outcome:
    original = session(each.model)
    try:
        written = session(result.proto)
    except REFUSALS as error:
        return Outcome("wrong", f"does not load: {error}", result)
    contract = contract_of(result.proto).contract
    verdict, why = ("cut", str(dict(result.most))) if result.most else ("back", "")
    names = {value.name for value in result.proto.graph.input}
    for number, sizes in enumerate(sizes_of(each.old, symbols)):
        if any(sizes[symbol] > most for symbol, most in result.most.items()):
            continue
        feeds = each.graph.feeds(sizes, number)
        try:
            wanted = original.run(None, feeds)
        except REFUSALS:
            continue
        mine = _only(feeds, names)
        try:
            found = written.run(None, mine)
        except REFUSALS as error:
            if not contract.check(mine):
                return Outcome("wrong", f"at {sizes} it fails: {error}", result)
            verdict, why = "narrow", f"not at {sizes}"
            continue
        differing = [at for at, (a, b) in enumerate(zip(wanted, found, strict=True)) if not _is_close([a], [b])]
        if differing:
            why = f"at {sizes}: {[(np.shape(wanted[at]), np.shape(found[at])) for at in differing]}"
            if {f"y{at}" for at in differing}.issubset(result.fixed):
                verdict = "fixed"
            elif each.old[symbols[0]] == 1 and all(_are_moved(wanted[at], found[at]) for at in differing):
                verdict = "moved"
            else:
                return Outcome("wrong", why, result)
    return Outcome(verdict, why, result)


def _only(feeds: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in feeds.items() if name in names}


def _are_moved(one: Array, two: Array) -> bool:
    return _is_close([np.sort(one, None)], [np.sort(two, None)])


def _is_close(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    for a, b in zip(wanted, found, strict=True):
        one, two = np.asarray(a), np.asarray(b)
        scale = float(np.max(np.abs(one[np.isfinite(one)]), initial=1e-3))
        if one.shape != two.shape or not np.allclose(one, two, rtol=1e-4, atol=1e-5 * scale, equal_nan=True):
            return False
    return True


def outcomes(
    seeds: Sequence[int],
    symbols: Sequence[str],
    *,
    time_first: bool = False,
    python: str = "",
    moves: Mapping[str, Move] = MOVES,
) -> Iterator[tuple[Sample, ModelProto, Outcome]]:
    """The samples of seeds, as static models, with what became of them."""
    samples = [sample(seed, time_first=time_first, moves=moves) for seed in seeds]
    statics = simplified(samples, python) if python else map(static_of, samples)
    for each, static in zip(samples, statics, strict=True):
        if static is None:
            yield each, each.model, Outcome("fails", "no static model was made")
        else:
            yield each, static, judged(each, static, symbols)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--symbol", nargs="+", default=["batch"], choices=("batch", "seq"))
    parser.add_argument("--time-first", action="store_true", help="the batch is axis 1 of the first input")
    parser.add_argument("--python", default="", help="the interpreter that has onnxsim")
    parser.add_argument("--show", nargs="*", default=["wrong"], help="the verdicts whose models are printed")
    parser.add_argument("--list", action="store_true", help="print a line for each graph")
    parser.add_argument("--only", nargs="+", default=list(MOVES), metavar="MOVE")
    parser.add_argument("--without", nargs="+", default=[], metavar="MOVE")
    options = parser.parse_args()
    moves = {name: MOVES[name] for name in options.only if name not in options.without}
    seeds = range(options.seed, options.seed + options.graphs)
    totals: Counter[str] = Counter()
    for each, static, found in outcomes(
        seeds, options.symbol, time_first=options.time_first, python=options.python, moves=moves
    ):
        totals[found.verdict] += 1
        if options.list or found.verdict in options.show:
            print(
                f"{each.seed} {found.verdict} {found.why[:300]}\n    {each.old} {', '.join(each.graph.moves)}",
                flush=True,
            )
        if found.verdict in options.show:
            print(onnx.printer.to_text(static))
            if found.result is not None and not found.result.refused:
                print(onnx.printer.to_text(found.result.proto), flush=True)
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(totals.items())))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
