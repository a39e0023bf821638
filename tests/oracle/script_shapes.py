"""The shapes that onnxruntime's symbolic_shape_infer and its drop-in find in the fixtures, against runs.

    python -m tests.oracle.script_shapes [NAME ...]

prints a row for each fixture and each value of --auto_merge:

dims      the dims of the tensors for which the script writes a shape
found     of these, numbers and expressions in the dims of the inputs: by the script, and by the drop-in
wrong     dims that are not the size in some run: of the script, and of the drop-in
missed    dims that the script finds, right in every run, and the drop-in does not find, or not as a number
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import ModelProto

from fixtures import feeds
from gather_infer import infer
from gather_infer.compat.symbolic_shape_infer import SymbolicShapeInference
from gather_infer.inference.dim_rendering import dims_of
from gather_infer.symbolic import Dim, DimSyntaxError, Expr, parse_dim, symbol
from tests.oracle.runtime_faults import FAULTS, faulty_node
from tests.oracle.soundness import Runtime, compare, value_of

Shapes: TypeAlias = "dict[str, list[Dim | None]]"
Run: TypeAlias = "tuple[Mapping[str, int], Mapping[str, Any]]"
_FAULTS = {op_type: fault for op_type, fault in FAULTS.items() if op_type != "Reshape"}
_SECONDS = 300
_REPO = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """One fixture, see the module; `reason` is that of the script's failure, "" if it writes a model."""

    name: str
    merge: bool
    reason: str
    runs: int = 0
    dims: int = 0
    script_found: int = 0
    script_wrong: tuple[str, ...] = ()
    found: int = 0
    wrong: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    def __str__(self) -> str:
        merge = "auto_merge" if self.merge else ""
        counts = (self.runs, self.dims, self.script_found, len(self.script_wrong), self.found, len(self.wrong))
        columns = "".join(f"{count:>8}" for count in (*counts, len(self.missed)))
        return f"{self.name:32}{merge:12}{columns}  {self.reason}"


HEADING = f"{'':44}" + "".join(f"{t:>8}" for t in ("runs", "dims", "script", "wrong", "drop-in", "wrong", "missed"))


def rows(names: Iterable[str], merges: Iterable[bool] = (False, True), *, bindings: int = 100) -> list[Row]:
    """The rows of the fixtures `names`; at most `bindings` runs each."""
    cases = [(name, merge) for name in names for merge in merges]
    with TemporaryDirectory() as folder:
        targets = {case: Path(folder) / f"{case[0]}-{case[1]}.onnx" for case in cases}
        reasons = script_ends([(Path(feeds.model_path(case[0])), targets[case], case[1]) for case in cases])
        return [
            _row(name, merge, reason, None if reason else onnx.load(targets[name, merge]), bindings)
            for (name, merge), reason in zip(cases, reasons, strict=True)
        ]


def script_ends(cases: Sequence[tuple[Path, Path, bool]]) -> list[str]:
    """How onnxruntime's script ends for each case: its exception as text, "" if it writes a model.

    cases   model, output, and whether --auto_merge is given
    """
    arguments = chain(*((source.resolve(), target.resolve(), merge) for source, target, merge in cases))
    command = [sys.executable, "-m", "tests.oracle.script_worker", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_REPO), os.environ.get("PYTHONPATH", "")])}
    with TemporaryDirectory() as folder:  # the script leaves files behind where it fails
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    reasons = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]
    assert len(reasons) == len(cases), done.stderr
    return reasons


def _row(name: str, merge: bool, reason: str, script: ModelProto | None, bindings: int) -> Row:
    model = onnx.load(feeds.model_path(name))
    drop_in = SymbolicShapeInference.infer_shapes(model, auto_merge=merge)
    ours, theirs = _shapes(drop_in), {} if script is None else _shapes(script)
    runs = _runs(name, model, bindings)
    axes = [(value, axis) for value, dims in theirs.items() for axis in range(len(dims))]
    known, script_known = _input_names(drop_in), set() if script is None else _input_names(script)
    found = {place for place in axes if _is_found(_dim(ours, place), known)}
    script_found = {place for place in axes if _is_found(_dim(theirs, place), script_known)}
    wrong, script_wrong = _wrong(ours, runs), _wrong(theirs, runs)
    missed = [
        f"{value}, dim {axis}: {theirs[value][axis]}, found {_dim(ours, (value, axis))}"
        for value, axis in axes
        if (value, axis) in script_found
        and (value, axis) not in script_wrong
        and _is_less(ours, theirs, value, axis, found)
    ]
    return Row(
        name, merge, reason, len(runs), len(axes), len(script_found), tuple(script_wrong.values()),
        len(found), tuple(wrong.values()), tuple(missed),
    )  # fmt: skip


def _is_less(ours: Shapes, theirs: Shapes, value: str, axis: int, found: set[tuple[str, int]]) -> bool:
    if (value, axis) not in found:
        return True
    return isinstance(theirs[value][axis], int) and not isinstance(_dim(ours, (value, axis)), int)


def _runs(name: str, model: ModelProto, bindings: int) -> list[Run]:
    """Sizes of the inputs' dims, and every value of a run with them, where the listed assumptions hold."""
    inference, runtime = infer(model), Runtime(model)
    found: list[Run] = []
    for number, binding in enumerate(feeds.bindings(name)[:bindings]):
        actual = runtime.run(feeds.make_feeds(name, binding, seed=number))
        if not compare(inference, actual, binding).assumption_fails and not faulty_node(model, actual, _FAULTS):
            found.append((binding, actual))
    assert found, name
    return found


def _wrong(shapes: Shapes, runs: Iterable[Run]) -> dict[tuple[str, int], str]:
    """The dims that are not the size of the tensor in some run, with a text about it.

    A name that no input has stands for the size that it is first seen with.
    """
    found: dict[tuple[str, int], str] = {}
    for binding, actual in runs:
        sizes = dict(binding)
        for value, dims in shapes.items():
            if value not in actual or isinstance(actual[value], list):
                continue
            shape = np.shape(actual[value])
            if len(shape) != len(dims):
                found[value, -1] = f"{value}: rank {len(dims)}, is {shape} at {binding}"
                continue
            for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
                if isinstance(dim, Expr) and dim.is_symbol:
                    sizes.setdefault(dim.name, size)
                computed = None if dim is None else value_of(dim, sizes)
                if computed is not None and computed != size:
                    found.setdefault((value, axis), f"{value}, dim {axis}: {dim} = {computed}, is {size} at {binding}")
    return found


def _shapes(model: ModelProto) -> Shapes:
    """The declared shapes of the tensors that nodes make; None for an open dim."""
    made = {name for node in model.graph.node for name in node.output}
    values = {v.name: v for v in (*model.graph.value_info, *model.graph.output) if v.name in made}
    return {
        name: [_read(dim) for dim in dims_of(value.type)]
        for name, value in values.items()
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")
    }


def _read(dim: Any) -> Dim | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    try:
        return parse_dim(dim.dim_param) if dim.dim_param else None
    except DimSyntaxError:  # division that is not exact in between, or a name that is no identifier
        return symbol(dim.dim_param)


def _dim(shapes: Shapes, place: tuple[str, int]) -> Dim | None:
    value, axis = place
    dims = shapes.get(value, [])
    return dims[axis] if axis < len(dims) else None


def _input_names(model: ModelProto) -> set[str]:
    return {dim.dim_param for value in model.graph.input for dim in dims_of(value.type)}


def _is_found(dim: Dim | None, known: set[str]) -> bool:
    return isinstance(dim, int) or (dim is not None and dim.symbols <= known)


if __name__ == "__main__":
    print(HEADING)
    table = rows(sys.argv[1:] or feeds.NAMES)
    for row in table:
        print(row)
        for text in (*(f"wrong: {t}" for t in row.wrong), *(f"missed: {t}" for t in row.missed)):
            print(f"    {text}")
    print(f"{sum(not r.reason for r in table)} of {len(table)} inferred by the script")
