"""Exports with dynamic sizes, made static by onnxsim, and made dynamic again by `gather_infer.unfreeze`.

    python benchmarks/unfreeze.py --python PATH --symbol batch --size 2 [--exports DIR] [--only NAME ...] [--jobs N]
    python benchmarks/unfreeze.py --python PATH --symbol seq            a length, that of the first binding
    python benchmarks/unfreeze.py --python PATH --symbol height width   two sizes at once
    python benchmarks/unfreeze.py --static DIR --size 2 [--exports DIR]     the exporters' own static exports
    python benchmarks/unfreeze.py --python PATH --size 1 --like 3      with a second static file, of that size
    python benchmarks/unfreeze.py --python PATH --symbol height width --like 37 53      a size for each symbol
    python benchmarks/unfreeze.py --python PATH --symbol height width --like            37 and 53, or another
                                    binding: the first one with which the model is not refused

Models are the fixtures, and the files of benchmarks/exports.py in `--exports`. Each is made static by the onnxsim of
`--python` (all input sizes given: those of the first binding of its manifest unless `--size` is), or taken from
`--static`. The result is run beside the dynamic original at other sizes: outputs have to be equal (bits, else within
1e-5 of the largest element, as onnxsim fuses floats). Nodes are those of the static file, of the result, of the result
after `optimize`, and of the optimised original. The last line counts results that have more than 1.1 times the nodes
of the optimised original and more than 15 more: as they are, and after `optimize`.

    back      equal at every size          refused   nothing written: the reason is printed
    cut       equal up to a size that the result states (a table of the file has no more rows)
    narrow    equal, or its contract excludes the sizes at which it fails
    wrong     written, and other outputs   fails     the original or the static file does not run, or none could be made
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
SECONDS = 240
SIZES = (1, 2, 3, 5)
STEPS: tuple[Callable[[int], int], ...] = (
    lambda size: size + 4,
    lambda size: size + 1,
    lambda size: 2 * size,
    lambda size: size // 2,
    lambda size: size + 16,
    lambda size: size + 32,
)
"""Other sizes, made from the old one: some that strides and windows divide, some that they do not."""
SIMPLIFY = """
import json, sys, onnx, onnxsim
model = onnx.load(sys.argv[1])
static, _ = onnxsim.simplify(model, overwrite_input_shapes=json.loads(sys.argv[3]))
onnx.save(static, sys.argv[2])
"""


def spec_of(name: str, exports: str) -> Any:
    sys.path[:0] = [str(ROOT), str(HERE)]
    if exports:
        from exported.manifest import spec_of as of_entry

        return of_entry(json.loads((Path(exports) / "manifest.json").read_text())[f"{name}.onnx"])
    from fixtures import feeds

    return feeds.spec_of(name)


def static_sizes(spec: Any, symbols: Sequence[str], sizes: Sequence[int]) -> dict[str, int] | None:
    """The first binding of a model that allows the sizes of the symbols."""
    from fixtures.feeds import holds

    for binding in spec.bindings:
        found = {**binding, **dict(zip(symbols, sizes, strict=False))}
        if all(holds(constraint, found) for constraint in spec.constraints):
            return found
    return None


def like_sizes(spec: Any, symbols: Sequence[str], old: Mapping[str, int], given: Sequence[int]) -> list[dict[str, int]]:
    """The sizes of a second file: those given; else two primes, which strides do not divide, and other bindings."""
    from fixtures.feeds import holds

    if given:
        return [{**old, **dict(zip(symbols, [*given, *[given[0]] * (len(symbols) - len(given))], strict=False))}]
    bindings = [dict(zip(symbols, (37, 53), strict=False)), *spec.bindings]
    found = [{**old, **{each: binding[each] for each in symbols if each in binding}} for binding in bindings]
    others = [each for each in found if all(each[name] not in (0, 1, old[name]) for name in symbols)]
    return [each for each in others if all(holds(constraint, each) for constraint in spec.constraints)]


def other_sizes(spec: Any, symbols: Sequence[str], old: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The sizes at which a result is run, which the original allows."""
    from fixtures.feeds import holds

    chosen = [dict.fromkeys(symbols, size) for size in SIZES]
    chosen += [{symbol: binding[symbol] for symbol in symbols} for binding in spec.bindings]
    for step in STEPS:
        moved = {symbol: step(old[symbol]) for symbol in symbols}
        chosen += [moved, *({**{each: old[each] for each in symbols}, symbol: moved[symbol]} for symbol in symbols)]
    seen: list[dict[str, int]] = []
    for each in chosen:
        found = {**old, **each}
        if found not in seen and all(size > 0 for size in each.values()):
            seen.append(found)
            if all(holds(constraint, found) for constraint in spec.constraints):
                yield found


def make_static(path: str, target: str, spec: Any, sizes: Mapping[str, int], python: str) -> str:
    """Make the model static with onnxsim; why that failed, or ""."""
    from fixtures.feeds import evaluate

    shapes = {given: [evaluate(dim, sizes) for dim in described.shape] for given, described in spec.inputs.items()}
    done = subprocess.run([python, "-c", SIMPLIFY, path, target, json.dumps(shapes)], capture_output=True, text=True)
    return "" if not done.returncode and Path(target).exists() else f"onnxsim: {done.stderr.strip().splitlines()[-1:]}"


def session_of(path: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def why_not_static(path: str, static: str, spec: Any, sizes: Mapping[str, int]) -> str:
    """Why a file is not the model at the sizes: it keeps one, or does not run, or the model does not; "" if it is."""
    import onnx
    from outcomes import REFUSALS

    from fixtures.feeds import draw_feeds

    inputs = onnx.load(static, load_external_data=False).graph.input
    kept = {dim.dim_param for value in inputs for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    if kept:
        return f"the static file keeps {', '.join(sorted(kept))}"
    feeds = draw_feeds(spec, sizes, seed=0)
    for kind, file, given in (
        ("original", path, feeds),
        ("static file", static, {v.name: feeds[v.name] for v in inputs}),
    ):
        try:
            session_of(file).run(None, given)
        except REFUSALS as error:
            return f"the {kind} does not run: {error}"[:300]
    return ""


def dims_of(spec: Any, symbols: Sequence[str], sizes: Mapping[str, int], inputs: Collection[str]) -> list[str]:
    """The `--dim` options that name the symbols in the inputs of a static file."""
    numbers = {name: str(number) for name, number in sizes.items() if name not in symbols}
    names: list[str] = []
    expressions: list[str] = []
    for given, described in spec.inputs.items():
        for axis, dim in enumerate(described.shape):
            words = set(re.findall(r"[A-Za-z_]\w*", str(dim)))
            if given in inputs and not words.isdisjoint(symbols):
                text = re.sub(r"\w+", lambda word: numbers.get(word[0], word[0]), str(dim))
                (names if dim in symbols else expressions).append(f"{given}.{axis}={text}")
    return [*names, *expressions] if names else []


def examine(
    name: str, path: str, exports: str, symbols: Sequence[str], given_sizes: Sequence[int], python: str, static: str,
    like: Sequence[int] | None,
) -> dict[str, Any]:  # fmt: skip
    import numpy as np
    import onnx

    spec = spec_of(name, exports)
    from outcomes import REFUSALS

    import gather_infer
    from fixtures.feeds import draw_feeds
    from gather_infer.unfreezing import unfreeze

    sizes = static_sizes(spec, symbols, given_sizes)
    if sizes is None or not all(symbol in sizes for symbol in symbols):
        return {"verdict": "no such symbol"}
    with tempfile.TemporaryDirectory() as directory:
        frozen, other = static or f"{directory}/static.onnx", f"{directory}/other.onnx"
        why = "" if static else make_static(path, frozen, spec, sizes, python)
        why = why or why_not_static(path, frozen, spec, sizes)
        if why:
            return {"verdict": "fails", "why": why}
        inputs = {value.name for value in onnx.load(frozen, load_external_data=False).graph.input}
        dims = dims_of(spec, symbols, sizes, inputs)
        if not dims:
            return {"verdict": "no such symbol"}
        lengths = [symbol for symbol in symbols if symbol != "batch"]
        result, at_second = None, ""
        for second in [None] if like is None else like_sizes(spec, symbols, sizes, like):
            if second is not None:
                at_second = f"with {', '.join(str(second[symbol]) for symbol in symbols)}; "
                why = make_static(path, other, spec, second, python)
                if why:
                    continue
            try:
                result = unfreeze(frozen, dims, lengths=lengths, like=None if second is None else other)
            except gather_infer.GatherInferError as error:
                why = f"{at_second}{type(error).__name__}: {error}"
                continue
            if not result.refused:
                break
            why = f"{at_second}{'rows' if result.blocked is None else 'node'}: {result.why_refused}"
        if result is None or result.refused:
            return {"verdict": "refused", "why": why or "no second size"}
        written = f"{directory}/out.onnx"
        result.save(written)
        found: dict[str, Any] = {
            "verdict": "cut" if result.most else "back",
            "why": at_second + ", ".join(f"{symbol} <= {size}" for symbol, size in result.most.items()),
            "nodes": [
                result.before.nodes,
                result.after.nodes,
                *(gather_infer.optimize(file).after.nodes for file in (written, path)),
            ],
        }
        original = session_of(path)
        try:
            ours = session_of(written)
        except REFUSALS as error:
            return {**found, "verdict": "wrong", "why": f"does not load: {error}"[:300]}
        contract = gather_infer.contract_of(written).contract
        compared = 0
        for seed, binding in enumerate(other_sizes(spec, symbols, sizes)):
            if any(binding[symbol] > size for symbol, size in result.most.items()):
                continue
            at = ", ".join(f"{symbol}={binding[symbol]}" for symbol in symbols)
            try:
                feeds = draw_feeds(spec, binding, seed=seed)
                wanted = original.run(None, feeds)
            except (*REFUSALS, ValueError):
                continue
            mine = {key: value for key, value in feeds.items() if key in inputs}
            try:
                got = ours.run(None, mine)
            except REFUSALS as error:
                if not contract.check(mine):
                    return {**found, "verdict": "wrong", "why": f"at {at}: {error}"[:300]}
                found |= {"verdict": "narrow", "why": f"{at_second}not {at}"}
                continue
            for output, a, b in zip(original.get_outputs(), wanted, got, strict=True):
                one, two = np.asarray(a), np.asarray(b)
                if one.shape != two.shape or not close(one, two):
                    return {**found, "verdict": "wrong", "why": f"at {at}: {output.name} {one.shape} {two.shape}"}
            compared += binding != sizes
        return {**found, "compared": compared} if compared else {**found, "verdict": "fails", "why": "no other size"}


def close(one: Any, two: Any) -> bool:
    import numpy as np

    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, two))
    finite = np.abs(one[np.isfinite(one)])
    allowed = 1e-5 * max(1.0, float(finite.max()) if finite.size else 0.0)
    return bool(np.allclose(one, two, rtol=1e-5, atol=allowed, equal_nan=True))


def run_child(name: str, path: Path, options: argparse.Namespace) -> dict[str, Any]:
    exports = "" if path.parent == ROOT / "fixtures" else str(path.parent)
    static = ""
    if options.static:
        file = options.static / f"{name}-b{options.size[0]}.onnx"
        if not file.exists():
            return {"verdict": "no such file"}
        static = str(file)
    sizes = ",".join(map(str, options.size))
    like = "-" if options.like is None else ",".join(map(str, options.like))
    words = (name, str(path), exports, ",".join(options.symbol), sizes, options.python, static, like)
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--child", *words], capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return {"verdict": "fails", "why": f"more than {SECONDS} s"}
    if done.returncode:
        return {"verdict": "error", "why": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        name, path, exports, symbols, sizes, python, static, like = sys.argv[2:]
        numbers, others = ([int(size) for size in text.split(",") if size] for text in (sizes, like.strip("-")))
        second = None if like == "-" else others
        print(json.dumps(examine(name, path, exports, symbols.split(","), numbers, python, static, second)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxsim")
    parser.add_argument("--exports", type=Path, nargs="*", default=[], help="folders of benchmarks/exports.py")
    parser.add_argument("--no-fixtures", action="store_true")
    parser.add_argument("--static", type=Path, help="a folder of benchmarks/exports.py --static")
    parser.add_argument("--symbol", nargs="+", default=["batch"])
    parser.add_argument("--size", type=int, nargs="*", default=[], help="of each symbol in the static file")
    parser.add_argument("--like", type=int, nargs="*", help="the sizes of a second static file")
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--skip", nargs="*", default=[], help="patterns of names")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    paths = [] if options.no_fixtures else sorted((ROOT / "fixtures").glob("*.onnx"))
    for folder in options.exports:
        entries = json.loads((folder / "manifest.json").read_text())
        paths += [folder / file for file, entry in sorted(entries.items()) if entry["error"] is None]
    chosen = {
        path.stem: path.absolute()
        for path in paths
        if path.exists()
        and any(fnmatch(path.stem, pattern) for pattern in options.only)
        and not any(fnmatch(path.stem, pattern) for pattern in options.skip)
    }
    verdicts: Counter[str] = Counter()
    many = many_optimized = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda item: run_child(item[0], item[1], options), chosen.items())
        for name, found in zip(chosen, results, strict=True):
            verdicts[found["verdict"]] += 1
            if found["verdict"].startswith("no such"):
                continue
            text = ""
            if "nodes" in found:
                static, ours, optimized, original = found["nodes"]
                most = max(1.1 * original, original + 15)
                many += ours > most
                many_optimized += optimized > most
                text = f"{static} -> {ours} nodes, {optimized} optimised, {original} in the optimised original"
            print(f"{name:44} {found['verdict']:8} {text} {found.get('why', '')}", flush=True)
    print(
        ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()),
        f"; {many} with more nodes, {many_optimized} optimised",
    )


if __name__ == "__main__":
    main()
