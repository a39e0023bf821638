"""Random pairs of models for `compose`, right and wrong ones, with onnxruntime as the judge of its verdicts.

    python -m tests.oracle.composed_pairs [--pairs 1000] [--seed 0]

The first model computes integers and floats of random sizes and ranges, the second looks rows up, adds tensors or needs
some size. Random inputs are run in the first model, then in the second:

* a pair that is joined runs in the joined model exactly where both models run one after the other, with the same bits,
  and wherever the contract of the result holds, unless the contract lists a node as open;
* a pair that is refused because a line fails, or because types do not fit, has inputs on which the first model runs and
  the second fails. The witness of the line shows the sizes and the element.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import ModelProto, numpy_helper

from gather_infer import EditRefused, compose, contract_of

SIZES: Final = (0, 1, 2, 3, 5, 7, 8, 9)
HEAD: Final = '<ir_version: 9, opset_import: ["": 18]>'
RUNS: Final = 24


class Session:
    """A model in onnxruntime, without graph optimization."""

    def __init__(self, model: ModelProto) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        self.inputs = [value.name for value in model.graph.input]
        self.outputs = [value.name for value in model.graph.output]
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """The outputs by name; None if the run fails."""
        try:
            found = self._session.run(None, {name: feeds[name] for name in self.inputs})
        except Exception:  # noqa: BLE001  (the runtime is the judge)
            return None
        return dict(zip(self.outputs, found, strict=True))


def _model(text: str, **held: Any) -> ModelProto:
    model: ModelProto = onnx.parser.parse_model(f"{HEAD} {text}")
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in held.items())
    return model


def first_model(rng: random.Random) -> ModelProto:
    """A model from x (floats) and i (integers) to y (floats), j (integers) and k (integers of another length)."""
    rows = rng.choice(["N", "N", "3", "5"])
    width = rng.choice(["4", "4", "4", "5", "W"])
    integers = rng.choice(
        [
            "j = Mod(i, k0)",
            "j = Identity(i)",
            "a = Mod(i, k0) j = Sub(a, k1)",
            "j = Clip(i, k2, k3)",
            "a = Abs(i) j = Mod(a, k0)",
            "a = Mod(i, k0) b = Mod(i, k1) j = Add(a, b)",
            "t = Gather(own, i) a = Cast<to = 7>(t) j = Mod(a, k0)",
        ]
    )
    floats = rng.choice(["y = Relu(x)", "y = Concat<axis = 0>(x, x)", "y = Slice(x, s0, s1, s0)", "y = Neg(x)"])
    values = {
        "k0": np.array(rng.choice([1, 4, 5, 8, 9])),
        "k1": np.array(rng.choice([1, 3, 4, 5])),
        "k2": np.array(rng.choice([-8, -5, 0])),
        "k3": np.array(rng.choice([3, 4, 7, 8])),
        "s0": np.array([0]),
        "s1": np.array([rng.choice([1, 3, 8])]),
        "own": np.arange(rng.choice([4, 9]), dtype=np.float32),
    }
    text = (
        f"g (float[{rows}, {width}] x, int64[M] i) => (float[R, {width}] y, int64[M] j, int64[L] k) "
        f"{{ {integers} {floats} k = Concat<axis = 0>(i, i) }}"
    )
    used = {name: value for name, value in values.items() if name in text}
    return _model(text, **used)


def second_model(rng: random.Random) -> ModelProto:
    """A model from u (floats), v (integers) and perhaps q to z."""
    table = np.arange(rng.choice([4, 8]) * 4, dtype=np.float32).reshape(-1, 4)
    columns, length = rng.choice(["4", "4", "5", "C"]), rng.choice(["P", "P", "P", "3"])
    body, extra = rng.choice(
        [
            ("a = Gather(table, v) z = ReduceSum<keepdims = 0>(a) w = Relu(u)", ""),
            ("a = Gather(table, v) b = ReduceSum<keepdims = 0>(a) z = Add(u, b) w = Neg(u)", ""),
            ("c = Gather(u, v) z = Abs(c) w = Neg(u)", ""),
            ("z = MatMul(u, square) w = Identity(v)", ""),
            ("z = Add(u, q) w = Gather(table, v)", f", float[Q, {columns}] q"),
            ("p = Cast<to = 1>(v) z = Mul(p, q) w = Relu(u)", ", float[P] q"),
            ("z = Reshape(u, r) w = Identity(v)", ""),
            ("l = Shape(v) f = Cast<to = 1>(l) z = Mul(u, f) w = Gather(tiny, v)", ""),
        ]
    )
    kind = rng.choice(["int64"] * 7 + ["int32"])
    values = {
        "table": table,
        "tiny": np.arange(rng.choice([2, 9]), dtype=np.float32),
        "square": np.ones((4, 4), np.float32),
        "r": np.array([rng.choice([2, 3]), -1]),
    }
    text = f"h (float[T, {columns}] u, {kind}[{length}] v{extra}) => (z, w) {{ {body} }}"
    held = {name: value for name, value in values.items() if f"{name}," in text or f", {name}" in text}
    return _model(text, **held)


def drawn(model: ModelProto, rng: random.Random, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Random inputs of a model; `sizes` by symbol or axis, such as `x.0`."""
    feeds: dict[str, Any] = {}
    own = dict(sizes)
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            size = own.get(f"{value.name}.{axis}", dim.dim_value)
            if not dim.HasField("dim_value"):
                size = own[f"{value.name}.{axis}"] if f"{value.name}.{axis}" in own else _size(dim.dim_param, own, rng)
            shape.append(size)
        if tensor.elem_type == onnx.TensorProto.FLOAT:
            array: Any = np.array([rng.uniform(-3, 3) for _ in range(int(np.prod(shape)))], np.float32)
        else:
            reach = rng.choice([1, 4, 9])
            kind = np.int32 if tensor.elem_type == onnx.TensorProto.INT32 else np.int64
            array = np.array([rng.randrange(-reach, reach) for _ in range(int(np.prod(shape)))], kind)
        feeds[value.name] = array.reshape(shape)
    return feeds


def _size(text: str, sizes: dict[str, int], rng: random.Random) -> int:
    """The size that a dim_param denotes; symbols that have no size yet get one."""
    if not text:
        return rng.choice(SIZES)
    for name in re.findall(r"[A-Za-z_]\w*", text):
        if name not in ("min", "max"):
            sizes.setdefault(name, rng.choice(SIZES))
    return max(0, int(eval(text, {"min": min, "max": max}, sizes)))


def _loads(model: ModelProto) -> bool:
    try:
        Session(model)
    except Exception:  # noqa: BLE001  (the runtime is the judge)
        return False
    return True


def chained(
    a: Session, b: Session, mapping: Mapping[str, str], feeds: Mapping[str, Any]
) -> tuple[bool, dict[str, Any] | None]:
    """Whether the first model runs, and the outputs of both, None if the second fails."""
    first = a.run(feeds)
    if first is None:
        return False, None
    second = b.run({name: {**feeds, **first}[mapping.get(name, name)] for name in b.inputs})
    return True, None if second is None else {**first, **second}


def judged(a: ModelProto, b: ModelProto, mapping: dict[str, str], rng: random.Random) -> tuple[str, str]:
    """The verdict on a pair, and a text that is empty if the runs agree with it."""
    one, other = Session(a), Session(b)
    try:
        result = compose(a, b, mapping=mapping)
    except EditRefused as error:
        return "types do not fit", _some_fails(a, b, one, other, mapping, rng, {}, str(error))
    if result.refused:
        failing = [line for line in result.lines if str(line.status) == "fails"]
        if not failing:
            return "an error", _some_fails(a, b, one, other, mapping, rng, {}, str(result.refused))
        for line in failing:
            fault = _some_fails(a, b, one, other, mapping, rng, dict(line.witness), line.text)
            if fault:
                return "a line fails", fault
        return "a line fails", ""
    if not _loads(result.proto):
        return "joined", "onnxruntime does not load the joined model"
    whole = Session(result.proto)
    contract = contract_of(result.proto).contract
    is_open = any(str(line.status) == "open" for line in result.lines)
    for _ in range(RUNS):
        feeds = drawn(result.proto, rng, {})
        legal = not contract.open and not contract.check(feeds, strict=True)
        found = whole.run(feeds)
        ran, wanted = chained(one, other, mapping, feeds)
        if legal and found is None:
            return "joined", f"fails within its contract: { {n: v.shape for n, v in feeds.items()} }"
        if (found is None) != (wanted is None):
            return "joined", f"the joined model {'fails' if found is None else 'runs'}, both models do not"
        if found is not None and wanted is not None:
            for name, value in found.items():
                if name not in wanted or value.tobytes() != wanted[name].tobytes() or value.shape != wanted[name].shape:
                    return "joined", f"{name} differs"
        if ran and wanted is None and not is_open and not any(str(line.status) == "input" for line in result.lines):
            return "joined", "the second model fails though no line is open"
    return ("joined, open" if is_open else "joined"), ""


def _some_fails(
    a: ModelProto, b: ModelProto, one: Session, other: Session, mapping: Mapping[str, str], rng: random.Random,
    witness: Mapping[str, int], text: str,
) -> str:  # fmt: skip
    """A text unless there are inputs on which the first model runs and the second fails; the witness is tried first."""
    contract = contract_of(a).contract
    ran = 0
    for number in range(400):
        sizes = {name: size for name, size in witness.items() if "." in name} if number % 4 else {}
        feeds = drawn(a, rng, sizes)
        for value in b.graph.input:
            if value.name not in mapping:
                feeds |= {value.name: drawn(b, rng, sizes)[value.name]}
        for name, number_ in witness.items():
            if "." not in name and name in feeds and number % 4:
                feeds[name] = np.full_like(feeds[name], number_)
        if contract.check({name: feeds[name] for name in one.inputs}):
            continue
        has_run, outputs = chained(one, other, mapping, feeds)
        ran += has_run
        if has_run and outputs is None:
            return ""
    return "" if not ran else f"no input of {ran} fails: {text}"


def pairs(seed: int, count: int) -> Counter[str]:
    """The verdicts on random pairs. Raises AssertionError for one that runs contradict."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    while sum(found.values()) < count:
        a, b = first_model(rng), second_model(rng)
        mapping = {"u": "y", "v": rng.choice(["j", "j", "j", "k", "i"])}
        if rng.random() < 0.2 and any(value.name == "q" for value in b.graph.input):
            mapping["q"] = "x"
        if not (_loads(a) and _loads(b)):
            continue
        verdict, fault = judged(a, b, mapping, rng)
        assert not fault, f"{verdict}: {fault}\n{onnx.printer.to_text(a)}\n{onnx.printer.to_text(b)}\n{mapping}"
        found[verdict] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge the refusals of compose by runs.")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(dict(pairs(options.seed, options.pairs)))


if __name__ == "__main__":
    main()
