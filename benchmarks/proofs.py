"""Outputs of optimised models that `gather-infer diff` proves equal: of our results, and of those of other tools.

    python benchmarks/proofs.py MODEL ... [--folder DIR ...] [--results DIR --tools NAME ...] [--laws NAME ...]
                                [--runs N] [--least N] [--no-times] [--jobs N]

Without `--results`: the results of `optimize`, `fold` and `freeze` (its symbols become small primes) of each model.
With it: the files that `benchmarks/optimize.py --keep DIR` has left there, of the same models; "agrees" is then the
verdict of benchmarks/outcomes.py on the bits of both in onnxruntime, its optimiser off.

Each model has a child process with a limit of time. An output that is not proved is run `--runs` times; a difference
counts when its witness shows it again in onnxruntime. `proof` is the processor time of `diff` without runs, contracts
and costs, as a multiple of both inferences alone, all warm; `--no-times` leaves it out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from any_models import choose, file_name

HERE = Path(__file__).parent
SECONDS = 300
REWRITES = ("optimize", "fold", "freeze")
SIZES = ((2, 3, 5, 7, 11, 13), (32, 64), (224,))
"""Sizes that `freeze` gives the symbols in turns; the next where a model refuses them."""
LAWS = ("rows", "columns", "gemm-bias")


def compare(first: str, second: str, sizes: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The outputs of two models: name, verdict, class and reason of each; and the times."""
    from gather_infer import diff, infer

    if options["least"]:
        inference = infer(first)
        symbols = {symbol for name in inference.inputs for symbol in _symbols(inference[name])}
        sizes = {**dict.fromkeys(symbols, (options["least"], None)), **sizes}
    given: dict[str, Any] = {"dims": sizes, "details": False, "laws": options["laws"], "rtol": 0, "atol": 0}

    def found(constants: bool) -> Any:
        return diff(first, second, **given, runs=options["runs"], initializers_as_constants=constants)

    both = found(False)
    constants = str(both.verdict) == "not_comparable"
    if constants:
        both = found(True)
    row = {
        "verdict": str(both.verdict),
        "constants": constants,
        "obligations": len(both.obligations),
        "outputs": [[o.name, str(o.verdict), str(o.proof_class or ""), o.reason] for o in both.outputs],
        "replays": None if both.witness is None else _replays(first, second, both.witness),
    }
    if options["times"]:
        row["proof"] = _seconds(lambda: diff(first, second, **given, runs=0, initializers_as_constants=constants))
        row["inferences"] = _seconds(lambda: (infer(first), infer(second)))
    return row


def _seconds(call: Callable[[], object]) -> float:
    call()
    times = []
    for _ in range(2):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def _replays(first: str, second: str, witness: dict[str, Any]) -> bool:
    """Whether a witness gives other bits in the second model, or fails there, while the first one runs."""
    from outcomes import REFUSALS, _bits, session

    def bits(path: str) -> list[Any]:
        loaded = session(path, optimized=False, packs=False)
        names = {given.name for given in [*loaded.get_inputs(), *loaded.get_overridable_initializers()]}
        return [_bits(value) for value in loaded.run(None, {n: v for n, v in witness.items() if n in names})]

    wanted = bits(first)
    try:
        return bits(second) != wanted
    except REFUSALS:
        return True


def rewrite(name: str, path: str, out: str) -> dict[str, Any]:
    """Write the result of a rewriting command; the sizes that it fixes, or why there is none."""
    import gather_infer

    if name == "freeze":
        inference = gather_infer.infer(path)
        symbols = sorted({symbol for name in inference.inputs for symbol in _symbols(inference[name])})
        if not symbols:
            return {"why": "no symbols"}
        for choice in SIZES:
            sizes = {symbol: choice[at % len(choice)] for at, symbol in enumerate(symbols)}
            frozen = gather_infer.freeze(path, dims=sizes)
            if not frozen.refused:
                frozen.save(out)
                return {"sizes": sizes}
        return {"why": f"refused: {frozen.refused[0].message}"}
    {"optimize": gather_infer.optimize, "fold": gather_infer.fold}[name](path).save(out)
    return {"sizes": {}}


def _symbols(value: Any) -> set[str]:
    shape = getattr(value, "shape", None) or ()
    return {name for dim in shape if not isinstance(dim, int) for name in dim.symbols}


def child(path: str, pairs: dict[str, str], options: dict[str, Any]) -> None:
    """Print a row for each pair: of the results that are files, or of those of the rewriting commands."""
    for tool, out in pairs.items():
        made = rewrite(tool, path, out) if options["rewrites"] else {"sizes": {}}
        has_result = Path(out).exists()
        row = compare(path, out, made["sizes"], options) if has_result else {"error": made.get("why", "no result")}
        print(json.dumps({"tool": tool, **row}), flush=True)


def rows_of_child(path: Path, pairs: dict[str, str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that a child process prints; an error for a pair that ends it, and another process for the rest."""
    words = [sys.executable, __file__, "--child", str(path), json.dumps(pairs), json.dumps(options)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS * len(pairs))
        text, why = done.stdout, (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as expired:
        text, why = (expired.stdout or b"").decode(), f"more than {SECONDS} s"
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    if len(rows) == len(pairs):
        return rows
    rows.append({"tool": [*pairs][len(rows)], "error": why})
    rest = dict([*pairs.items()][len(rows) :])
    return [*rows, *rows_of_child(path, rest, options)] if rest else rows


def agreement(original: Path, results: Sequence[Path]) -> list[str]:
    """The verdicts of benchmarks/outcomes.py; "not judged" where the process ends."""
    fixture = original.stem if original.parent == (HERE.parent / "fixtures") else "-"
    done = subprocess.run(
        [sys.executable, str(HERE / "outcomes.py"), "judge", fixture, str(original), *map(str, results)],
        capture_output=True, text=True, cwd=HERE,
    )  # fmt: skip
    own, *verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()] or ["not judged"]
    if own not in ("identical", "packing"):
        verdicts = []
    return [*verdicts, *["not judged"] * (len(results) - len(verdicts))]


def examine(name: str, path: Path, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """A row for each pair of a model and one of its results."""
    place, tools = (options.results, options.tools) if options.results else (folder, REWRITES)
    pairs = {tool: place / f"{file_name(name)}.{file_name(tool)}.onnx" for tool in tools}
    if options.results:
        pairs = {tool: out for tool, out in pairs.items() if out.exists()}
    if not pairs:
        return []
    given = {name: getattr(options, name) for name in ("laws", "runs", "times", "least")}
    given["rewrites"] = options.results is None
    rows = rows_of_child(path, {tool: str(out) for tool, out in pairs.items()}, given)
    verdicts = agreement(path, [*pairs.values()]) if options.results else ["identical"] * len(pairs)
    rows = [{"model": name, "agrees": agrees, **row} for row, agrees in zip(rows, verdicts, strict=True)]
    return [row for row in rows if row.get("error") not in ("no symbols", "no result")]


def line(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{row['model']:44} {row['tool']:20} error: {row['error']}"
    verdicts = Counter(verdict for _, verdict, _, _ in row["outputs"])
    text = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    replay = {None: "", True: ", replays", False: ", DOES NOT REPLAY"}[row["replays"]]
    ratio = f"; {row['proof'] / max(row['inferences'], 1e-9):.1f}" if "proof" in row else ""
    reason = next((reason for _, verdict, _, reason in row["outputs"] if verdict != "proved"), "")
    return f"{row['model']:44} {row['tool']:20} {row['agrees']:10} {text}{replay}{ratio}  {reason}"


def summary(rows: Sequence[dict[str, Any]]) -> None:
    by_tool = defaultdict(list)
    for row in rows:
        by_tool[row["tool"]].append(row)
    for tool, each in by_tool.items():
        whole = [row for row in each if "error" not in row]
        agreed = [o for row in whole if row["agrees"] in ("identical", "packing") for o in row["outputs"]]
        others = [row for row in whole if row["agrees"] not in ("identical", "packing", "not judged")]
        classes = Counter(o[2] for o in agreed if o[1] == "proved")
        ratios = [row["proof"] / max(row["inferences"], 1e-9) for row in whole if "proof" in row]
        print(f"\n{tool}: {len(whole)} pairs, {len(each) - len(whole)} errors")
        proved = sum(classes.values())
        print(f"  same bits: {proved} of {len(agreed)} outputs proved ({100 * proved / max(1, len(agreed)):.1f} %)")
        print(f"    {dict(classes)}, verdicts of the others: {dict(Counter(o[1] for o in agreed if o[1] != 'proved'))}")
        print(f"  other bits or failures: {len(others)} pairs, {dict(Counter(row['verdict'] for row in others))}")
        for row in others:
            if row["verdict"] == "proved":
                print(f"    PROVED: {row['model']} ({row['agrees']})")
        replays = Counter(row["replays"] for row in whole if row["replays"] is not None)
        print(f"  witnesses: {replays[True]} replay, {replays[False]} do not")
        if ratios:
            print(f"  proof, as a multiple of both inferences: median {statistics.median(ratios):.1f}")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        path, *words = sys.argv[2:]
        child(path, *map(json.loads, words))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL")
    parser.add_argument("--folder", type=Path, nargs="*", default=[], help="folders with models")
    parser.add_argument("--most-megabytes", type=float, default=30, help="of the file of a model")
    parser.add_argument("--results", type=Path, help="the folder of `benchmarks/optimize.py --keep`")
    parser.add_argument("--tools", nargs="*", default=[], help="whose results are compared")
    parser.add_argument("--runs", type=int, default=8, help="of outputs that are not proved")
    parser.add_argument("--laws", nargs="*", default=list(LAWS), help="the named laws that proofs may use")
    parser.add_argument("--least", type=int, default=0, metavar="N", help="the least size that the symbols stand for")
    parser.add_argument("--no-times", dest="times", action="store_false", help="do not measure processor times")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    options = parser.parse_args()
    models = {path.stem if path.parent.name == "fixtures" else str(path): path for path in options.models}
    models |= choose(options.folder, [], options.most_megabytes).models
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(options.jobs) as pool:

        def examined(item: tuple[str, Path]) -> list[dict[str, Any]]:
            return examine(item[0], item[1].absolute(), options, Path(directory))

        for found in pool.map(examined, models.items()):
            for row in found:
                print(line(row), flush=True)
            rows += found
    summary(rows)


if __name__ == "__main__":
    main()
