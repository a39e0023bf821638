"""Faults planted in the transfer functions of rows: the small models catch each, by a verdict `proved` that is wrong."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gather_infer.provenance
from gather_infer.inference import Inference, infer
from tests.provenance.row_models import MIXED, OPEN
from tests.provenance.test_rows import STATIC, model_of

FOLDER = Path(gather_infer.provenance.__file__).parent

FAULTS = {
    # what is wrong: the module, and the text that is replaced
    "mixed labels are kept": ("label_transfer", "if label is None or label in labels.mixed:", "if label is None:"),
    "carriers with other labels": ("label_transfer", "any(other.digit_label != label for other in carriers)", "False"),
    "other places of merged axes": ("label_transfer", "if other.state.digit.inner != first.inner or", "if False and"),
    "constants that differ from row to row": ("label_transfer", "if not operand.has_rows and _meets_constant(operand, label, carriers[0]):", "if False:"),
    "a count meets rows": ("label_transfer", "        if counted is not None:\n", "        if False:\n"),
    "numbers in any operator": ("label_transfer", "for operand in operands) and not labels.moves:", "for operand in operands) and False:"),
    "softmax mixes no axis": ("operator_labels", "return mixing(step, {axis} if step.version >= 13 else set(range(axis, rank)))", "return mixing(step, set())"),
    "a reduction keeps labels": ("operator_labels", 'own("reduced", a) if a in axes else label', "label"),
    "training is inference": ("operator_labels", "if is_training:\n        return from_template", "if False:\n        return from_template"),
    "recurrence mixes nothing": ("operator_labels", '_LSTM = "s! b i', '_LSTM = "s b i'),
    "convolution shares space": ("operator_labels", 'template("n c *, o i *, o -> n o *", "Conv")', 'template("n c s, o i k, o -> n o s", "Conv")'),
    "normalization of instances shares channels": ("operator_labels", 'template("n c *, c, c -> n c *", "InstanceNormalization")', 'template("n c ..., c, c -> n c ...", "InstanceNormalization")'),
    "Gemm without transposes": ("operator_labels", 'left = ("k", "m") if step.integer("transA") else ("m", "k")', 'left = ("m", "k")'),
    "Trilu ignores numbers": ("movement_labels", "(x,), frozenset(x[-2:]))", "(x,))"),
    "Pad by the sum of its widths": ("movement_labels", "if widths[i] or widths[i + half]}", "if widths[i] + widths[i + half]}"),
    "Slice ignores steps": ("movement_labels", "return {axis % rank for axis, by in zip(axes, found, strict=True) if by != 1 and", "return {axis % rank for axis, by in zip(axes, found, strict=True) if False and"),
    "Resize ignores scales": ("movement_labels", "made[axis] == shape[axis] and axis not in scaled", "made[axis] == shape[axis]"),
    "TopK keeps the axis": ("movement_labels", 'y = (*x[:axis], own("top"), *x[axis + 1 :])', "y = x"),
    "ScatterElements keeps the axis": ("movement_labels", "written, written), (x,), mixed)", "written, written), (x,))"),
    "Reshape splits rows": ("movement", "digit = None if found is None else Digit(*found)", "digit = digit if found is None else Digit(*found)"),
    "Concat joins any rows": ("movement", "if axis not in state.flat and (state.digit != digit or state.constant):", "if False:"),
    "Range without a number": ("movement", "return [Rows(Digit(0, inner), number=number)]", "return [Rows(Digit(0, inner))]"),
    "Shape does not count": ("movement", "return [Rows(counted=step.place.path) if counts else CONSTANT]", "return [CONSTANT]"),
    "a scale of all rows": ("movement", "    if not state.constant:\n        raise step.mixed(\"it scales", "    if False:\n        raise step.mixed(\"it scales"),
    "any index is of the own row": ("indexing", "return number.coefficient == digit.inner and is_within(step, number, digit.inner)", "return True"),
    "an index of another stride": ("indexing", "return number.coefficient == digit.inner and is_within", "return is_within"),
    "an index that leaves the row": ("indexing", "return number.coefficient == digit.inner and is_within(step, number, digit.inner)", "return number.coefficient == digit.inner"),
    "a condition of rows": ("bodies", '    if not state.constant or state.has_numbers:\n        raise step.mixed("its condition', '    if False:\n        raise step.mixed("its condition'),
    "one branch is enough": ("bodies", "return [join(step, a, b) for a, b in zip(first, second, strict=False)]", "return first"),
    "iterations for each row": ("bodies", '    if not condition.constant or condition.has_numbers:\n        raise step.mixed("the number', '    if False:\n        raise step.mixed("the number'),
    "Scan over rows": ("bodies", "    if step.batch.counts_rows(shape[axis]):\n        raise step.mixed(\"it iterates", "    if False:\n        raise step.mixed(\"it iterates"),
    "sizes from elements": ("well_formed", "if not all(batch.is_fixed(dim) for dim in shape):", "if False:"),
    "random numbers are constant": ("analysis", "or not found.traits.deterministic", ""),
    "two axes of rows": ("analysis", "if any(self.batch.counts_rows(dim) for dim in others):", "if False:"),
    "constants have equal rows": ("analysis", "bool(np.all(elements == np.take(elements, [0], axis)))", "True"),
}  # fmt: skip

GUARDED_TWICE = {
    # a second check has the same effect: which
    "Scan over rows": "the place of the rows is checked too",
    "a count meets rows": "an output that counts rows is not proved",
    "a condition of rows": "a scalar has no rows, unless it is mixed",
    "iterations for each row": "a scalar has no rows, unless it is mixed",
    "two axes of rows": "a second axis of an output that counts rows is not proved",
}


@contextmanager
def planted(name: str, old: str, new: str) -> Iterator[ModuleType]:
    """The module `row_verdicts` of a copy of the package with a fault."""
    kept = {key: module for key, module in sys.modules.items() if key.startswith("gather_infer.provenance.")}
    source = (FOLDER / f"{name}.py").read_text()
    assert source.count(old) == 1, f"{name} has the text {source.count(old)} times: {old}"

    class Finder:
        @staticmethod
        def find_spec(full: str, path: Any = None, target: Any = None) -> Any:
            if full != f"gather_infer.provenance.{name}":
                return None
            return importlib.machinery.ModuleSpec(full, Loader(), origin=str(FOLDER / f"{name}.py"))

    class Loader(importlib.abc.Loader):
        def create_module(self, spec: Any) -> None:
            return None

        def exec_module(self, module: ModuleType) -> None:
            exec(compile(source.replace(old, new), f"{name} with a fault", "exec"), module.__dict__)

    package = vars(gather_infer.provenance)
    attributes = {key: value for key, value in package.items() if isinstance(value, ModuleType)}
    for key in kept:
        if key != "gather_infer.provenance.result":
            del sys.modules[key]
            package.pop(key.rpartition(".")[2], None)
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module("gather_infer.provenance.row_verdicts")
    finally:
        sys.meta_path.remove(finder)
        for key in [key for key in sys.modules if key.startswith("gather_infer.provenance.")]:
            del sys.modules[key]
        sys.modules.update(kept)
        package.update(attributes)


@pytest.fixture(scope="module")
def not_proved() -> list[tuple[str, Inference, dict[str, int]]]:
    """Models whose rows are not to be proved."""
    found: list[tuple[str, Inference, dict[str, int]]] = []
    for name, text in {**MIXED, **OPEN}.items():
        inference = infer(model_of(text))
        names = [value.name for value in inference.model.proto.graph.input]
        shapes = {n: inference.shape(n) for n in names}
        rows = shapes["x"][0] if str(shapes["x"][0]) == "B" else shapes["x"][1]
        found.append((name, inference, {n: shape.index(rows) for n, shape in shapes.items() if rows in shape}))
    for name, (text, is_proved) in STATIC.items():
        if not is_proved:
            found.append((name, infer(model_of(text)), {"x": 0}))
    return found


def proved_outputs(module: ModuleType, models: list[tuple[str, Inference, dict[str, int]]]) -> set[tuple[str, str]]:
    """The models and their outputs that are proved."""
    found: set[tuple[str, str]] = set()
    for name, inference, axes in models:
        try:
            result = module.independence_of(inference, axes)
        except (AssertionError, ValueError):
            continue
        found |= {(name, output.name) for output in result.outputs if str(output.verdict) == "proved"}
    return found


@pytest.fixture(scope="module")
def rightly_proved(not_proved: list[tuple[str, Inference, dict[str, int]]]) -> set[tuple[str, str]]:
    """Other outputs of these models."""
    return proved_outputs(importlib.import_module("gather_infer.provenance.row_verdicts"), not_proved)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught(
    fault: str, not_proved: list[tuple[str, Inference, dict[str, int]]], rightly_proved: set[tuple[str, str]]
) -> None:
    with planted(*FAULTS[fault]) as module:
        wrong = proved_outputs(module, not_proved) - rightly_proved
    assert bool(wrong) == (fault not in GUARDED_TWICE), wrong
