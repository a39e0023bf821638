"""ONNX files converted to IRs and back: the nodes of the result beside those of the original, both optimised.

    python benchmarks/converted_nodes.py [--work DIR] [--reuse] [--list FILE] [--details NAME ...] [MODEL.onnx ...]

Without files: all fixtures. `ov.convert_model` and `ov.save_model` (weights in their own type) make an IR of each file,
then `gather_infer.convert` and `gather_infer.optimize` make ONNX of the IR. Counted are the nodes over all graphs and
functions of that, beside those of `gather_infer.optimize` of the original. Each step is done in a child process with a
time limit. `--reuse` keeps the IRs and the counts of the originals that DIR has.

For an index out of bounds ONNX fails and OpenVINO gives zeros, so that the conversion masks the indices that are not
proved in bounds; the original has no such nodes. Compared is the result of `gather_oob="assume-valid"`, which adds
none; the column `guarded` has the nodes with them. The conversion is to the opset of the original, and at least to 21.

An IR does not tell which dims are equal, as a batch that all inputs have. The column `declared` has the nodes of a
conversion that is given the dims of the inputs as the original declares them.

`--details` prints for the named models which operators the result has more of than the optimised original, and which
layers the converted nodes come from.

Exit code 1: the sum is above 1.03 times the nodes of the originals, or a single one above 1.3 times.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

import gather_infer
from gather_infer.openvino.layer_conversion import OutOfBoundsPolicy
from gather_infer.tensor import DType

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"
SECONDS = 120
"""For one step of one model."""
SUM, WORST = 1.03, 1.3
OPSET = 21
"""The least opset of a conversion; an original of a newer one is compared with a conversion to its own."""
ORIGINAL = ".original.json"
COUNTS = ("before", "after", "guarded", "declared")


def to_ir(source: str, target: str) -> None:
    """Write the IR of an ONNX file."""
    import openvino

    openvino.save_model(openvino.convert_model(source), target, compress_to_fp16=False)


def count(path: str, target: str) -> None:
    """Write the operators of an optimised file; of an IR, those of its conversion with and without guards."""
    if not path.endswith(".xml"):
        model = onnx.load(path)
        opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
        operators = gather_infer.optimize(path).after.operators
        original = {"optimised": operators, "opset": opset, "inputs": declared_inputs(model)}
        Path(target).write_text(json.dumps(original))
        return
    original = json.loads(Path(path.replace(".xml", ORIGINAL)).read_text())
    opset = max(OPSET, original["opset"])
    found: dict[str, Any] = {}
    policies: dict[str, OutOfBoundsPolicy] = {
        "optimised": "assume-valid", "guarded": "guard", "declared": "assume-valid",
    }  # fmt: skip
    inputs: dict[str, str] = {}
    for key, policy in policies.items():
        converted = target.replace(".json", f".{key}.onnx")
        result = gather_infer.convert(path, gather_oob=policy, opset=opset, inputs=inputs if key == "declared" else {})
        names = (one.name for one in result.proto.graph.input)
        inputs = {name: original["inputs"][name] for name in names if name in original["inputs"]}
        result.save(converted)
        found[key] = gather_infer.optimize(converted).after.operators
        if key == "optimised":
            layers = Counter(f"{one.op_type} -> {' '.join(one.operators)}" for one in result.converted)
            found["layers"] = layers.most_common()
    Path(target).write_text(json.dumps(found))


def declared_inputs(model: onnx.ModelProto) -> dict[str, str]:
    """Name -> element type and dims of the tensors that are inputs, as `--input` takes them."""
    found: dict[str, str] = {}
    for one in model.graph.input:
        if one.type.HasField("tensor_type"):
            dims = one.type.tensor_type.shape.dim
            texts = [d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in dims]
            found[one.name] = f"{DType(one.type.tensor_type.elem_type)}[{', '.join(texts)}]"
    return found


def child(step: Callable[[str, str], None], source: Path, target: Path) -> str:
    """Do a step in a fork of this process, with a time limit; the reason if there is no result."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        os.dup2(writing, 2)
        signal.alarm(SECONDS)
        try:
            step(str(source), str(target))
            code = 0
        finally:
            if (error := sys.exc_info()[1]) is not None:
                os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == 0 and target.exists():
        return ""
    return f"{step.__name__}: " + (" ".join(text.split()) if text else f"exit code {status}, {SECONDS} s at most")


def measure(source: Path, name: str, folder: Path, *, reuse: bool) -> dict[str, Any]:
    """The counts of one model; `reason` where a step failed."""
    ir, original, ours = (folder / f"{name}{suffix}" for suffix in (".xml", ORIGINAL, ".ours.json"))
    for step, start, target in ((to_ir, source, ir), (count, source, original), (count, ir, ours)):
        if reuse and target is not ours and target.exists():
            continue
        target.unlink(missing_ok=True)
        reason = child(step, start, target)
        if reason:
            return {"name": name, "reason": f"{'the original, ' if target is original else ''}{reason}"}
    before, after = (json.loads(path.read_text()) for path in (original, ours))
    return {"name": name, "reason": "", "before": before["optimised"], "after": after["optimised"]} | {
        key: after[key] for key in ("guarded", "declared", "layers")
    }


def total(row: dict[str, Any], key: str) -> int:
    return sum(row[key].values())


def ratio(row: dict[str, Any]) -> float:
    return total(row, "after") / max(1, total(row, "before"))


def table(rows: list[dict[str, Any]], details: list[str]) -> bool:
    """Print the table; whether the sum and each model are within their limits."""
    good = sorted((row for row in rows if not row["reason"]), key=ratio, reverse=True)
    print(f"{'model':60}{'original':>9}{'IR':>7}{'ratio':>7}{'guarded':>9}{'declared':>10}")
    for row in good:
        before, after, guarded, declared = (total(row, key) for key in COUNTS)
        print(f"{row['name']:60}{before:>9}{after:>7}{ratio(row):>7.2f}{guarded:>9}{declared:>10}")
    for row in good:
        if row["name"] in details:
            more = Counter(row["after"])
            more.subtract(row["before"])
            print(f"\n{row['name']}: " + ", ".join(f"{n:+} {op}" for op, n in more.most_common() if n))
            print("\n".join(f"  {n:4} {text}" for text, n in row["layers"]))
    print("\nnot compared:")
    print("\n".join(f"  {row['name']}: {row['reason'][:200]}" for row in rows if row["reason"]))
    before, after, guarded, declared = (sum(total(row, key) for row in good) for key in COUNTS)
    above = sum(ratio(row) > WORST for row in good)
    print(
        f"\n{len(good)} models: {before} nodes, {after} from the IRs: {after / max(1, before):.3f}; "
        f"{above} above {WORST}; guarded {guarded}: {guarded / max(1, before):.3f}; "
        f"declared {declared}: {declared / max(1, before):.3f}"
    )
    return after <= SUM * before and not above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="a folder for the IRs and the results")
    parser.add_argument("--reuse", action="store_true", help="keep what the folder has, but for our results")
    parser.add_argument("--list", type=Path, help="a file with a path in each line, in addition to the models")
    parser.add_argument("--details", nargs="*", default=[], metavar="NAME")
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    listed = [Path(line) for line in options.list.read_text().splitlines() if line] if options.list else []
    models = [*options.models, *listed] or sorted(FIXTURES.glob("*.onnx"))
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        names = Counter[str]()
        rows = []
        for path in models:
            names[path.stem] += 1
            name = path.stem if names[path.stem] == 1 else f"{path.stem}-{names[path.stem]}"
            rows.append(measure(path, name, folder.resolve(), reuse=options.reuse))
    sys.exit(not table(rows, options.details))


if __name__ == "__main__":
    main()
