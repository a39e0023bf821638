"""Pairs of equal models: `diff` has to prove them, and must find no difference. `python -m tests.oracle.equal_pairs`.

Each pair is a model and a copy with 1 to 4 right rewrites: the reverse of rules of `optimize`, and laws of movement,
elements and structure, each right in every legal run, sizes of 0 included. Models are random graphs, or with `--folder`
those of a folder with a manifest: `fixtures`, or that of benchmarks/exports.py.

A pair counts if both models load and run: it is run at many sizes, and has to have the same bits at all of them, where
a NaN is a NaN. A pair that differs is a fault of the generator. Left out, and counted, are models with random
operators, which are equal to nothing by definition, and models that the specification refuses though onnxruntime runs
them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer import diff, infer
from gather_infer.equality import DiffVerdict
from gather_infer.errors import GatherInferError
from tests.oracle.changed_model import ChangedModel
from tests.oracle.equal_arithmetic import ARITHMETIC
from tests.oracle.equal_movement import MOVEMENT
from tests.oracle.equal_structure import STRUCTURE
from tests.oracle.fuzz import Found, examined
from tests.oracle.generated_graphs import generate
from tests.oracle.graph_builder import REFUSALS, session
from tests.oracle.graph_edges import random_values
from tests.oracle.optimized_graphs import bits, differs, ordered
from tests.oracle.planted_differences import Source, file_sources, graph_runs

KINDS: Final[Mapping[str, Callable[[ChangedModel], str]]] = {**STRUCTURE, **MOVEMENT, **ARITHMETIC}
"""The rewrites by what they make."""

OLDEST_OPSET: Final = 13
RUNS: Final = 12
PATIENCE: Final = 120.0
"""Seconds for one pair."""
SIZES: Final = range(10, 2001)
"""Numbers of nodes of the main graph of a model of a folder."""
ALL: Final = "all"
VERDICTS: Final = ("proved", "runs", "unknown", "different", "refused")
ATTEMPTS: Final = 8
"""So many kinds are tried for a rewrite of a model."""


@dataclass(frozen=True)
class EqualPair:
    """A model and one that is equal to it by right rewrites.

    kinds  the rewrites, in order
    text   the rewrites with where they were made
    """

    source: Source
    changed: ModelProto
    kinds: Sequence[str]
    text: str

    def difference(self, counts: Counter[str]) -> str:
        """How runs differ, in words; empty if none does. `runs` counts the runs in which both succeed."""
        before, after = (session(each, packs_weights=False) for each in (self.source.model, self.changed))
        for bindings, feeds in self.source.runs(RUNS):
            wrong = differs(self.source.model, before, after, feeds, bindings, counts)
            if wrong and not wrong.startswith("it fails"):
                expected, found = (_plain(each.run(None, dict(feeds))) for each in (before, after))
                wrong = "" if bits(expected) == bits(found) else wrong
                counts["runs"] += not wrong
            if "Missing Input" in wrong:
                counts["lost inputs"] += 1  # a value that a body reads, of a node inside a function
                return ""
            if wrong:
                return wrong
        return ""


def _plain(value: Any) -> Any:
    """A result with one NaN for every NaN."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    array = np.asarray(value)
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array) if array.dtype.kind == "f" else array


def rewritten(
    model: ModelProto, rng: random.Random, kinds: Sequence[str], most: int
) -> tuple[ModelProto, list[str], str]:
    """A model after 1 to `most` rewrites, the kinds of these, and where they were made."""
    done: list[str] = []
    texts: list[str] = []
    for _ in range(rng.randint(1, most)):
        for kind in rng.sample(kinds, min(ATTEMPTS, len(kinds))):
            draft = ChangedModel(model, rng)
            text = KINDS[kind](draft)
            if text:
                model = draft.model
                done.append(kind)
                texts.append(f"{kind} ({text})")
                break
    return model, done, "; ".join(texts)


def equal_pair(source: Source, kinds: Sequence[str], most: int, counts: Counter[str]) -> EqualPair | None:
    """The pair made of a model, confirmed by runs; None if there is none, which is counted.

    Raises AssertionError if runs differ.
    """
    model = source.model
    if random_values(model):
        counts["left out: random operators"] += 1
    elif any(each.is_failure and not each.conditional_bodies for each in infer(model).diagnostics):
        counts["left out: fails by the specification"] += 1
    elif max(each.version for each in model.opset_import if not each.domain) < OLDEST_OPSET:
        counts["left out: old opset"] += 1
    elif not _loads(model):
        counts["left out: does not load"] += 1
    else:
        changed, done, text = rewritten(model, random.Random(source.seed), kinds, most)
        pair, runs = EqualPair(source, changed, done, text), Counter[str]()
        if not done:
            counts["left out: no rewrite applies"] += 1
        elif not _loads(changed):
            counts["left out: the changed model does not load"] += 1
        elif wrong := pair.difference(runs):
            raise AssertionError(f"{source.name}, {text}: {wrong[:1500]}")
        elif runs["lost inputs"]:
            counts["left out: onnxruntime loses an input"] += 1
        elif not runs["runs"]:
            counts["left out: no legal run"] += 1
        else:
            return pair
    return None


def _loads(model: ModelProto) -> bool:
    try:
        session(model, packs_weights=False)
    except REFUSALS:
        return False
    return True


def verdict_of(pair: EqualPair) -> tuple[str, str]:
    """The verdict of `diff`, and why it is no proof."""
    try:
        found = diff(pair.source.model, pair.changed, runs=0, details=False)
        if found.verdict is DiffVerdict.PROVED:
            return "proved", ""
        parts = "" if found.first_difference is None else f"first {found.first_difference.second}"
        reasons = [*found.obligations, *dict.fromkeys(each.reason for each in found.outputs if each.reason), parts]
        found = diff(pair.source.model, pair.changed, details=False)
    except GatherInferError as failure:
        return "refused", str(failure)
    return str(found.verdict), "; ".join(filter(None, reasons))


def examine(
    seed: int, runs: int, shrink: bool, *, folders: Sequence[Path] = (), kinds: Sequence[str] = (), most: int = 4
) -> Found:
    """The verdict of `diff` on the pair of a seed, for each of its kinds; a text if it is not proved."""
    counts: Counter[str] = Counter()
    source = source_of(seed, folders)
    pair = None if source is None else equal_pair(source, kinds or [*KINDS], most, counts)
    if pair is None:
        return counts, Counter(), []
    verdict, reason = verdict_of(pair)
    if reason.startswith("the first model fails"):  # where all its inputs are empty, onnxruntime may run it
        return counts + Counter({"left out: fails by the specification": 1}), Counter(), []
    for kind in {*pair.kinds, ALL}:
        counts[f"{kind}: {verdict}"] += 1
    return counts, Counter(), [] if verdict == "proved" else [f"{verdict}: {pair.source.name}, {pair.text}: {reason}"]


def source_of(seed: int, folders: Sequence[Path]) -> Source | None:
    """The random graph of a seed, or a model of one of the folders; None if that is too small or too large.

    A random graph is taken without declarations that are not true.
    """
    if not folders:
        graph = generate(seed)
        return Source(f"seed {seed}", seed, ordered(graph.runnable), partial(graph_runs, graph))
    found = next(file_sources(folders[seed % len(folders)], range(seed // len(folders), seed // len(folders) + 1)))
    return found._replace(seed=seed) if len(found.model.graph.node) in SIZES else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200, help="how many confirmed pairs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=4, help="rewrites of a pair, at most")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="rewrites of this kind alone")
    parser.add_argument("--folder", type=Path, action="append", help="take the models of a folder; may be repeated")
    options = parser.parse_args()
    begin, counts, faults = time.monotonic(), Counter[str](), 0
    by = partial(examine, folders=options.folder or (), kinds=options.kind or (), most=options.most)
    seeds = count(options.first)
    for _, (found, _, texts) in examined(seeds, RUNS, shrink=False, by=by, patience=PATIENCE):
        counts += found
        faults += any("Traceback" in text for text in texts)
        for text in texts:
            print(text[-2500:] if "Traceback" in text else text[:700], flush=True)
        if sum(counts[f"{ALL}: {verdict}"] for verdict in VERDICTS) >= options.pairs:
            break
    print(f"{'':48}{'pairs':>8}" + "".join(f"{verdict:>11}" for verdict in VERDICTS))
    for kind in [*sorted(KINDS), ALL]:
        numbers = [counts.pop(f"{kind}: {verdict}", 0) for verdict in VERDICTS]
        if sum(numbers):
            print(f"{kind:48}{sum(numbers):8}" + "".join(f"{number:11}" for number in numbers))
    for name, number in sorted(counts.items()):
        print(f"{name:48}{number:8}")
    print(f"seeds {options.first} to {next(seeds) - 1}; pairs that differ: {faults}; {time.monotonic() - begin:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
