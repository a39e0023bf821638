"""Multiply-adds of the fixtures beside those that other counters find, operator by operator.

python benchmarks/cost.py                        all fixtures, with the counters that are installed
python benchmarks/cost.py --python PYTHON        with the counters of another environment
python benchmarks/cost.py bert-dynamo            some fixtures only

Each fixture is frozen at its largest listed sizes and optimised, because the others read numbers only; what they count
is then held against the formulas of the model as it is, evaluated at these sizes. A `+` marks a difference that is
explained, a `-` an operator that the counter leaves out. Exits with 1 where a count differs and is not explained.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gather_infer
from fixtures import feeds
from gather_infer.tensor import SymbolicTensor

COUNTERS = ("onnx-tool", "onnx-opcounter")
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "LSTM", "MatMul")
"""The operators of the fixtures that multiply and add."""

LEFT_OUT = {"onnx-tool": (), "onnx-opcounter": ("LSTM",)}
"""What a counter takes for nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fixtures", nargs="*")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the counters")
    options = parser.parse_args()
    equal: Counter[str] = Counter()
    print(f"{'fixture':<28}{'operator':<15}{'gather-infer':>14}" + "".join(f"{c:>16}" for c in COUNTERS))
    unexplained = 0
    both = same = 0
    for name in options.fixtures or feeds.NAMES:
        agree, wrong, is_same = compare(name, options.python)
        same += is_same
        equal.update(agree)
        unexplained += wrong
        both += len(agree) == len(COUNTERS)
    for counter in COUNTERS:
        print(f"equal to {counter}, or explained, on {equal[counter]} fixtures")
    print(f"on {both} with both, on {same} of them without a difference; {unexplained} differences are not explained")
    sys.exit(unexplained > 0)


def compare(name: str, python: str) -> tuple[list[str], int, bool]:
    """Prints a fixture; the counters that agree, how many differences nothing explains, whether there is none."""
    sizes = max(feeds.bindings(name), key=lambda binding: (min(binding.values()) > 0, sum(binding.values())))
    path = str(feeds.model_path(name))
    inference = gather_infer.infer(path)
    rows = [row for row in inference.cost().at(**sizes).by_operator() if row.macs != 0]
    ours = {row.op_type: row.macs for row in rows if isinstance(row.macs, int)}
    if len(ours) < len(rows):
        print(f"{name:<28}depends on data")
        return [], 0, False
    with tempfile.TemporaryDirectory() as folder:
        frozen = str(Path(folder) / "frozen.onnx")
        static = gather_infer.infer(gather_infer.optimize(gather_infer.freeze(path, dims=sizes).proto).proto)
        onnx.save(static.annotated(weights=True), frozen)
        counts = {counter: counted(counter, frozen, python) for counter in COUNTERS}
        extras = {counter: explained(counter, static) for counter in COUNTERS}
    agree, wrong = [], 0
    marks: dict[str, dict[str, str]] = {op_type: {} for op_type in CONTRACTIONS}
    for counter, found in counts.items():
        if found is None:
            for op_type in ours:
                marks[op_type][counter] = "fails"
            continue
        seen = 0
        for op_type in ours:
            theirs = found.get(op_type, 0)
            extra = theirs - ours[op_type]
            is_left_out = op_type in LEFT_OUT[counter]
            is_known = is_left_out or extra in (0, extras[counter][op_type])
            mark = "-" if is_left_out else f"{theirs} +" if extra and is_known else f"{theirs} ?" if extra else theirs
            marks[op_type][counter] = f"{mark}"
            seen += is_known
            wrong += not is_known
        if seen == len(ours):
            agree.append(counter)
    for op_type, macs in sorted(ours.items()):
        row = "".join(f"{marks[op_type].get(counter, ''):>16}" for counter in COUNTERS)
        print(f"{name:<28}{op_type:<15}{macs:>14}{row}")
    is_same = all(marks[op_type].get(counter) == str(macs) for op_type, macs in ours.items() for counter in COUNTERS)
    return agree, wrong, is_same


def counted(counter: str, path: str, python: str) -> Mapping[str, int] | None:
    """Counts of a counter, by operator; None where it fails."""
    script = Path(__file__).with_name("counters.py")
    done = subprocess.run([python, script, counter, path], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    found: dict[str, int] = json.loads(done.stdout)
    return found


def explained(counter: str, inference: gather_infer.Inference) -> Counter[str]:
    """Operations that a counter is known to add to the products of an operator.

    onnx-tool adds an addition per element of a bias: Conv, ConvTranspose, Gemm, LSTM; of an LSTM also what its
    activations take. Both count a ConvTranspose by the elements of Y, each of them as if no stride left any out.
    """
    found: Counter[str] = Counter()
    for node in inference.model.proto.graph.node:
        made = elements(inference, node.output[0])
        has_bias = len(node.input) > 2 and counter == "onnx-tool"
        if node.op_type == "ConvTranspose":
            given, filters = shape(inference, node.input[0]), shape(inference, node.input[1])
            group = next((a.i for a in node.attribute if a.name == "group"), 1)
            kernel = prod(filters[2:])
            found[node.op_type] += made * given[1] // group * kernel - prod(given) * prod(filters[1:])
        if node.op_type in ("Conv", "ConvTranspose", "Gemm") and has_bias:
            found[node.op_type] += made
        if node.op_type == "LSTM" and has_bias:
            steps = prod(shape(inference, node.input[0])[:2])
            hidden = shape(inference, node.input[2])[2]
            found[node.op_type] += steps * (prod(shape(inference, node.input[3])) + hidden * ACTIVATIONS)
    return found


ACTIVATIONS = 4 + 3 * 32 + 2 * 38 + 4
"""What onnx-tool adds for an element of the state: sums, three exponentials, two hyperbolic tangents, a mixture."""


def shape(inference: gather_infer.Inference, name: str) -> tuple[int, ...]:
    """The sizes of a tensor of a frozen model."""
    fact = inference[name]
    assert isinstance(fact, SymbolicTensor)
    assert fact.shape is not None
    return tuple(dim for dim in fact.shape if isinstance(dim, int))


def elements(inference: gather_infer.Inference, name: str) -> int:
    fact = inference.get(name)
    is_known = isinstance(fact, SymbolicTensor) and fact.is_static
    return prod(shape(inference, name)) if is_known else 0


if __name__ == "__main__":
    main()
