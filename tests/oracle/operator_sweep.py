"""Every operator at all sizes of 0 to 3: a run that fails is outside the contract, or the contract has something open.

    python -m tests.oracle.operator_sweep [--only Reshape ...] [--runs 256] [--seed 1]

A node model of onnx, or a generated node of com.microsoft, gets a symbol for each dim of each input. Where inputs
decide sizes, axes or counts it is judged twice: with these as constants, and as inputs. onnxruntime judges the runs,
onnx's evaluator where that has no kernel.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx
from onnx import helper, numpy_helper

from gather_infer import Contract, contract_of
from gather_infer.diagnostic import Severity
from tests.conformance import backend
from tests.oracle import ms_attention_cases, ms_cases, ms_run, sweep_nodes
from tests.oracle.sweep_worker import CRASH, LATE, LOADED, Feeds, Worker

Array = np.ndarray[Any, Any]

SIZES: Final = (0, 1, 2, 3)
ENDING: Final[Mapping[str, str]] = {
    # operators that end the process of onnxruntime for sizes of which nothing is wrong
    "QLinearAveragePool": "with channels_last and unequal strides it reads past the end",
}

UNTOLD: Final = ("Numpy_type", "No corresponding Numpy type", "Pillow must be installed")
"""Errors that say nothing of the sizes: of element types that numpy does not have."""

MS_DRAWS: Final = 60
"""Nodes that are drawn of each family of com.microsoft."""

MS_CASES: Final = 2
"""Those of one operator that are taken."""


@dataclass(frozen=True)
class Subject:
    """A model of one node whose inputs are arrays, each dim a symbol of its own.

    recorded   arrays with which it runs
    fixed      (input, axis) of dims that stay numbers, as they decide a rank
    """

    name: str
    model: onnx.ModelProto
    recorded: dict[str, Array]
    fixed: frozenset[tuple[str, int]] = frozenset()

    @property
    def node(self) -> onnx.NodeProto:
        return self.model.graph.node[0]

    @property
    def operator(self) -> str:
        domain = self.node.domain
        return f"{domain}.{self.node.op_type}" if domain else self.node.op_type


@dataclass
class Verdict:
    """The outcome of the runs of a subject.

    silent   (feeds, error) of runs that fail inside a contract with nothing open
    strict   (line, feeds) of tight lines that are broken by a run that goes well
    """

    subject: Subject
    judge: str
    contract: Contract | None = None
    runs: int = 0
    failed: int = 0
    opened: int = 0
    silent: list[tuple[Feeds, str]] = field(default_factory=list)
    strict: list[tuple[str, Feeds]] = field(default_factory=list)
    crashes: list[Feeds] = field(default_factory=list)


# subjects


def subjects() -> Iterator[Subject]:
    yield from _of_onnx()
    for name, model, arrays in sweep_nodes.nodes():
        yield _subject(name, model, arrays, frozenset(), frozenset())
    yield from _of_microsoft()


def _of_onnx() -> Iterator[Subject]:
    seen: set[bytes] = set()
    for case in backend.cases():
        if "_expanded" in case.name or len(case.model.graph.node) != 1:
            continue
        values = {proto.name: _plain(value) for proto, value in zip(case.model.graph.input, case.inputs, strict=False)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        if len(arrays) < len(case.model.graph.input) or any(a.dtype.kind not in "biuf" for a in arrays.values()):
            continue
        node = case.node
        ranks = {
            (node.input[i], axis % arrays[node.input[i]].ndim)
            for (op_type, i), axis in backend.RANK_DIMS.items()
            if op_type == node.op_type and arrays[node.input[i]].ndim
        }
        operands = [node.input[i] for i in backend.SHAPE_DATA.get(node.op_type, ()) if i < len(node.input)]
        for constants in dict.fromkeys((tuple(filter(None, operands)), ())):
            subject = _subject(case.name, case.model, arrays, frozenset(constants), frozenset(ranks))
            key = subject.model.graph.SerializeToString()
            if key not in seen:
                seen.add(key)
                yield subject


def _plain(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if np.isscalar(value) else value


def _subject(
    name: str,
    given: onnx.ModelProto,
    arrays: dict[str, Array],
    constants: frozenset[str],
    fixed: frozenset[tuple[str, int]],
) -> Subject:
    model = onnx.ModelProto()
    model.CopyFrom(given)
    model.graph.name = "sweep"
    del model.graph.input[:], model.graph.value_info[:]
    for output in model.graph.output:
        output.ClearField("type")
    for number, (key, array) in enumerate(arrays.items()):
        if key in constants:
            model.graph.initializer.append(numpy_helper.from_array(array, key))
            continue
        dims = [n if (key, axis) in fixed else f"i{number}_{axis}" for axis, n in enumerate(array.shape)]
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.input.append(helper.make_tensor_value_info(key, dtype, dims))
    recorded = {key: array for key, array in arrays.items() if key not in constants}
    suffix = f", constant {', '.join(sorted(constants))}" if constants else ""
    return Subject(name + suffix, model, recorded, fixed)


def _of_microsoft() -> Iterator[Subject]:
    r = random.Random(1)
    for family, generate in {**ms_cases.GENERATORS, **ms_attention_cases.GENERATORS}.items():
        if family == "search":
            continue
        drawn: Counter[str] = Counter()
        for number in range(MS_DRAWS):
            case = generate(r)
            drawn[case.op_type] += 1
            if drawn[case.op_type] <= MS_CASES:
                yield from _of_case(f"{family} {number}", case)


def _of_case(name: str, case: ms_run.Case) -> Iterator[Subject]:
    arrays = {f"x{i}": array for i, array in enumerate(case.inputs) if array is not None}
    if any(array.dtype == object or array.dtype.kind not in "biuf" for array in arrays.values()):
        return
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(case.inputs)]
    used = case.used or (True,) * case.outputs
    outputs = [f"y{i}" if is_used else "" for i, is_used in enumerate(used)]
    node = helper.make_node(case.op_type, names, outputs, domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], "sweep", [], [onnx.ValueInfoProto(name=name) for name in outputs if name])
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    declared = [f"x{i}" for i in case.declared if f"x{i}" in arrays]
    fixed = frozenset((name, axis) for name in declared for axis in range(arrays[name].ndim))
    known = frozenset(f"x{i}" for i in case.known)
    for constants in dict.fromkeys((known, frozenset[str]())):
        yield _subject(name, model, arrays, constants, fixed)


# feeds


def bindings(subject: Subject, runs: int, r: random.Random) -> Iterator[dict[tuple[str, int], int]]:
    """Sizes of all dims: every combination where these are few; else drawn, and near the recorded ones."""
    recorded = {
        (name, axis): size
        for name, array in subject.recorded.items()
        for axis, size in enumerate(array.shape)
        if (name, axis) not in subject.fixed
    }
    keys = list(recorded)
    if len(SIZES) ** len(keys) <= runs:
        yield recorded
        for sizes in itertools.product(SIZES, repeat=len(keys)):
            yield dict(zip(keys, sizes, strict=True))
        return
    for key in keys:
        for size in (*SIZES, recorded[key] + 1, max(0, recorded[key] - 1)):
            yield {**recorded, key: size}
    groups: dict[int, list[tuple[str, int]]] = {}
    for key, size in recorded.items():
        groups.setdefault(size, []).append(key)
    for members in groups.values():
        for size in SIZES:
            yield {**recorded, **dict.fromkeys(members, size)}
    for _ in range(runs):
        match r.randrange(4):
            case 0:
                yield {key: r.choice(SIZES) for key in keys}
            case 1:
                yield {**recorded, **{key: r.choice(SIZES) for key in r.sample(keys, min(2, len(keys)))}}
            case 2:
                drawn = {size: r.choice(SIZES) for size in groups}
                yield {key: drawn[size] for key, size in recorded.items()}
            case _:
                drawn = {size: r.choice(SIZES) for size in groups}
                yield {**{key: drawn[size] for key, size in recorded.items()}, r.choice(keys): r.choice(SIZES)}


def feeds_of(subject: Subject, sizes: dict[tuple[str, int], int], r: random.Random) -> Feeds:
    feeds: dict[str, Array] = {}
    for name, array in subject.recorded.items():
        shape = tuple(sizes.get((name, axis), size) for axis, size in enumerate(array.shape))
        if array.dtype.kind in "iu" and r.random() < 0.4:
            low = -2 if array.dtype.kind == "i" and r.random() < 0.5 else 0
            feeds[name] = np.random.default_rng(r.randrange(1 << 30)).integers(low, 4, shape).astype(array.dtype)
        elif array.size:
            feeds[name] = np.resize(array, shape).astype(array.dtype)
        else:
            feeds[name] = np.ones(shape, array.dtype)
    return feeds


# the verdict


def judge(subject: Subject, worker: Worker, *, runs: int = 256, seed: int = 1) -> Verdict:
    """Hold the contract of a subject against runs of it."""
    loaded = worker.load(subject.model.SerializeToString())
    if not loaded.startswith(LOADED):
        return Verdict(subject, f"refused: {loaded}")
    verdict = Verdict(subject, loaded)
    made = contract_of(subject.model)
    contract = verdict.contract = made.contract
    if any(d.severity is Severity.ERROR for d in made.diagnostics):
        verdict.judge += " (an error in every run)"
        return verdict
    r = random.Random(f"{seed} {subject.name}")
    feeds = [feeds_of(subject, sizes, r) for sizes in bindings(subject, runs, r)]
    for each, error in zip(feeds, worker.errors(feeds), strict=False):
        if any(text in error for text in UNTOLD):
            break
        verdict.runs += 1
        broken = contract.check(each, strict=True)  # a line that is sufficient only tells of the failure too
        if not error:
            is_empty = any(0 in a.shape for a in each.values())
            tight = [v for v in broken if v.line is not None and v.line.tight]
            is_strict = loaded == LOADED + "onnxruntime"
            if tight and not is_empty and is_strict:
                verdict.strict.append((str(tight[0]), each))
            continue
        verdict.failed += 1
        if error in (CRASH, LATE):
            verdict.crashes.append(each)
            if subject.node.op_type in ENDING:
                continue
        if not broken:
            if contract.open:
                verdict.opened += 1
            else:
                verdict.silent.append((each, error))
    return verdict


def shown(feeds: Feeds) -> str:
    return ", ".join(
        f"{name}{list(a.shape)}" + (f"={a.reshape(-1)[:6].tolist()}" if a.dtype.kind in "iub" else "")
        for name, a in feeds.items()
    )


def describe(subject: Subject) -> str:
    shown = []
    for attribute in subject.node.attribute:
        if attribute.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR):
            value = helper.get_attribute_value(attribute)
            shown.append(f"{attribute.name}={value.decode() if isinstance(value, bytes) else value}")
    return f"{subject.operator}({', '.join(shown)}) [{subject.name}]"


def one_line(text: str) -> str:
    """An error without what onnxruntime puts before it."""
    return " ".join(re.sub(r"^.*?(Status Message: |node\. Name:'' )(/\S+ )?", "", " ".join(text.split())).split())[:200]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--domain")
    parser.add_argument("--runs", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(arguments)
    totals: Counter[str] = Counter()
    with Worker() as worker:
        for subject in subjects():
            if options.only and subject.operator not in options.only and subject.node.op_type not in options.only:
                continue
            if options.domain is not None and subject.node.domain != options.domain:
                continue
            verdict = judge(subject, worker, runs=options.runs, seed=options.seed)
            totals["subjects"] += 1
            totals[verdict.judge.partition(":")[0]] += 1
            totals["runs"] += verdict.runs
            totals["failing runs"] += verdict.failed
            totals["under an open entry"] += verdict.opened
            if verdict.crashes:
                totals["subjects with crashes"] += 1
            if options.verbose or verdict.silent or verdict.strict:
                print(f"{describe(subject)} {verdict.judge[:100]}")
                contract = verdict.contract
                if contract is not None:
                    for line in (*contract.nonempty, *contract.lines):
                        print(f"    {line.text} {'tight' if line.tight else 'enough'}")
                    for entry in contract.open:
                        print(f"    open: {entry.reason}")
            if verdict.silent:
                totals["silent"] += 1
                totals["silent runs"] += len(verdict.silent)
                for feeds, error in verdict.silent[:: max(1, len(verdict.silent) // 3)]:
                    of = f"{len(verdict.silent)} of {verdict.failed}"
                    print(f"  SILENT {of}: {shown(feeds)}: {one_line(error)}")
            if verdict.strict:
                totals["strict"] += 1
                for text, feeds in verdict.strict[:2]:
                    print(f"  STRICT {len(verdict.strict)}: {text}: {shown(feeds)}")
            sys.stdout.flush()
    for name, count in totals.items():
        print(f"{name}: {count}")
    return 1 if totals["silent"] or totals["strict"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
