"""Exports with a dynamic batch, made static by onnxsim, and made dynamic again by `gather_infer.unfreeze`.

    python benchmarks/unfreeze.py --python PATH --size 2 [--symbol batch] [--exports DIR] [--only NAME ...] [--jobs N]
    python benchmarks/unfreeze.py --static DIR --size 2 [--exports DIR]     the exporters' own static exports

Models are the fixtures, and the files of benchmarks/exports.py in `--exports`. Each is made static by the onnxsim of
`--python` (all input sizes given: the other symbols as in the first binding of its manifest), or taken from `--static`.
The result is run beside the dynamic original at batches 1, 2, 3 and 5: outputs have to be equal (bits, else within
1e-5 of the largest element, as onnxsim fuses floats). `nodes` is that of the result, beside the optimised original.

    back      equal at every size          refused   nothing written: the reason is printed
    wrong     written, and other outputs   fails     the static file does not load or run, or could not be made
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
SECONDS = 240
SIZES = (1, 2, 3, 5)
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


def sizes_of(spec: Any, symbol: str, size: int) -> dict[str, int] | None:
    """The first binding of a model that allows the size of the symbol."""
    from fixtures.feeds import holds

    for binding in spec.bindings:
        found = {**binding, symbol: size}
        if all(holds(constraint, found) for constraint in spec.constraints):
            return found
    return None


def examine(name: str, path: str, exports: str, symbol: str, size: int, python: str, static: str) -> dict[str, Any]:
    import numpy as np
    import onnx
    import onnxruntime

    spec = spec_of(name, exports)
    from outcomes import REFUSALS

    import gather_infer
    from fixtures.feeds import draw_feeds, evaluate
    from gather_infer.unfreezing import unfreeze

    sizes = sizes_of(spec, symbol, size)
    sites = [
        (given, axis)
        for given, described in spec.inputs.items()
        for axis, dim in enumerate(described.shape)
        if dim == symbol
    ]
    numbers = {name: str(number) for name, number in (sizes or {}).items() if name != symbol}
    more = [
        (given, axis, re.sub(r"\w+", lambda word: numbers.get(word[0], word[0]), str(dim)))
        for given, described in spec.inputs.items()
        for axis, dim in enumerate(described.shape)
        if dim != symbol and re.search(rf"\b{symbol}\b", str(dim))
    ]
    if sizes is None or not sites:
        return {"verdict": "no such symbol"}
    with tempfile.TemporaryDirectory() as directory:
        if static:
            frozen = static
        else:
            frozen = f"{directory}/static.onnx"
            shapes = {
                given: [evaluate(dim, sizes) for dim in described.shape] for given, described in spec.inputs.items()
            }
            done = subprocess.run(
                [python, "-c", SIMPLIFY, path, frozen, json.dumps(shapes)], capture_output=True, text=True
            )
            if done.returncode or not Path(frozen).exists():
                return {"verdict": "fails", "why": f"onnxsim: {done.stderr.strip().splitlines()[-1:]}"}
        inputs = {value.name for value in onnx.load(frozen, load_external_data=False).graph.input}
        dims = [f"{given}.{axis}={symbol}" for given, axis in sites if given in inputs]
        dims += [f"{given}.{axis}={text}" for given, axis, text in more if given in inputs and dims]
        if not dims:
            return {"verdict": "fails", "why": "the static file has no such input"}
        try:
            result = unfreeze(frozen, dims)
        except gather_infer.GatherInferError as error:
            return {"verdict": "refused", "why": f"{type(error).__name__}: {error}"}
        if result.refused:
            by = "rows" if result.blocked is None else "node"
            return {"verdict": "refused", "why": f"{by}: {result.why_refused}"}
        written = f"{directory}/out.onnx"
        result.save(written)
        found = {
            "verdict": "back",
            "why": "" if result.rows is None else result.rows.skipped,
            "runs": [] if result.rows is None else result.rows.runs,
            "nodes": [result.before.nodes, result.after.nodes, gather_infer.optimize(path).after.nodes],
        }
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        original = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        try:
            ours = onnxruntime.InferenceSession(written, options, providers=["CPUExecutionProvider"])
        except REFUSALS as error:
            return {**found, "verdict": "wrong", "why": f"does not load: {error}"[:300]}
        most = result.most.get(symbol, 1 << 30)
        if most < 1 << 30:
            found["why"] = f"{symbol} <= {most}"
        for batch in (*SIZES, size + 4):
            if batch > most:
                continue
            feeds = draw_feeds(spec, {**sizes, symbol: batch}, seed=batch)
            try:
                wanted = original.run(None, feeds)
            except REFUSALS:
                continue
            try:
                got = ours.run(None, {key: value for key, value in feeds.items() if key in inputs})
            except REFUSALS as error:
                return {**found, "verdict": "wrong", "why": f"at {symbol}={batch}: {error}"[:300]}
            for output, a, b in zip(original.get_outputs(), wanted, got, strict=True):
                one, two = np.asarray(a), np.asarray(b)
                if one.shape != two.shape or not close(one, two):
                    why = f"at {symbol}={batch}: {output.name} {one.shape} {two.shape}"
                    return {**found, "verdict": "wrong", "why": why}
        return found


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
        file = options.static / f"{name}-b{options.size}.onnx"
        if not file.exists():
            return {"verdict": "no such file"}
        static = str(file)
    words = (name, str(path), exports, options.symbol, str(options.size), options.python, static)
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
        name, path, exports, symbol, size, python, static = sys.argv[2:]
        print(json.dumps(examine(name, path, exports, symbol, int(size), python, static)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxsim")
    parser.add_argument("--exports", type=Path, nargs="*", default=[], help="folders of benchmarks/exports.py")
    parser.add_argument("--no-fixtures", action="store_true")
    parser.add_argument("--static", type=Path, help="a folder of benchmarks/exports.py --static")
    parser.add_argument("--size", type=int, default=2, help="that is fixed")
    parser.add_argument("--symbol", default="batch")
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
    many = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda item: run_child(item[0], item[1], options), chosen.items())
        for name, found in zip(chosen, results, strict=True):
            verdicts[found["verdict"]] += 1
            if found["verdict"].startswith("no such"):
                continue
            nodes = found.get("nodes")
            if nodes:
                many += nodes[1] > max(1.1 * nodes[2], nodes[2] + 15)
            text = "" if nodes is None else f"{nodes[0]} -> {nodes[1]} nodes, {nodes[2]} in the optimised original"
            print(f"{name:44} {found['verdict']:8} {text} {found.get('why', '')}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()), f"; {many} with more nodes")


if __name__ == "__main__":
    main()
