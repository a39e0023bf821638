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
    "other places of merged axes": ("label_transfer", "if other.state.digit.order != first.order or", "if False and"),
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
    "Reshape splits rows": ("movement", "digit = None if found is None else digit._replace(", "digit = digit if found is None else digit._replace("),
    "Concat joins any rows": ("movement", "if axis not in state.flat if state.constant else state.digit != digit:", "if False:"),
    "Concat joins rows along two axes": ("movement", "if axis not in state.flat if state.constant else state.digit != digit:", "if axis not in state.flat and (state.digit != digit or state.constant):"),
    "Range without a number": ("movement", "return [Rows(Digit(0, inner), number=number)]", "return [Rows(Digit(0, inner))]"),
    "Shape does not count": ("movement", "return [Rows(counted=step.place.path) if counts else CONSTANT]", "return [CONSTANT]"),
    "a scale of all rows": ("movement", "    if not state.constant:\n        raise step.mixed(\"it scales", "    if False:\n        raise step.mixed(\"it scales"),
    "any index is of the own row": ("indexing", "return number.coefficient == digit.inner and is_within(step, number, digit.inner)", "return True"),
    "an index of another stride": ("indexing", "return number.coefficient == digit.inner and is_within", "return is_within"),
    "an index that leaves the row": ("indexing", "return number.coefficient == digit.inner and is_within(step, number, digit.inner)", "return number.coefficient == digit.inner"),
    "a quotient of a negative number of a row": ("row_numbers", "if part is None or is_negative or", "if part is None or"),
    "a condition of rows": ("bodies", '    if not state.constant or state.has_numbers:\n        raise step.mixed("its condition', '    if False:\n        raise step.mixed("its condition'),
    "one branch is enough": ("bodies", "return [join(step, a, b) for a, b in zip(first, second, strict=False)]", "return first"),
    "iterations for each row": ("bodies", '    if not condition.constant or condition.has_numbers:\n        raise step.mixed("the number', '    if False:\n        raise step.mixed("the number'),
    "Scan over rows": ("bodies", "    if step.batch.counts_rows(shape[axis]):\n        raise step.mixed(\"it iterates", "    if False:\n        raise step.mixed(\"it iterates"),
    "sizes from elements": ("well_formed", "if not all(batch.is_fixed(dim) or axis in flat or axis == listed for axis, dim in enumerate(shape)):", "if False:"),
    "random numbers for each row are constant": ("movement", "    if any(step.batch.counts_rows(dim) for dim in step.result_shape()):\n        raise step.unknown(\"it draws", "    if False:\n        raise step.unknown(\"it draws"),
    "two axes of rows": ("analysis", "if any(self.batch.counts_rows(dim) for dim in others):", "if False:"),
    "constants have equal rows": ("analysis", "bool(np.all(elements == np.take(elements, [0], axis)))", "True"),
    "elements of all rows combined count nothing": ("label_transfer", "                if carriers:\n                    raise step.blocked(Kind.COUNT, \"it combines elements of all rows\")\n                counted = step.place.path\n", "                pass\n"),
    "a Reshape keeps columns": ("movement", "    if columns is None and state.columns is not None:\n", "    if False:\n"),
    "Tile: rows inside": ("movement", "places = (Digit(axis, dim) for axis", "places = (Digit(axis) for axis"),
    "Slice by steps of rows": ("movement", "axis not in steps and y[axis] != x[axis]:", "y[axis] != x[axis]:"),
    "Split at any row": ("movement", "        if not (_multiple_of_rows(step, offset, state.digit) and _multiple_of_rows(step, size, state.digit)):\n", "        if False:\n"),
    "Concat joins a count": ("movement", "    if any(state.counted is not None for state in states):\n        raise step.blocked(Kind.COUNT, \"it computes with the number of rows\")\n    shapes", "    shapes"),
    "Concat joins parts of rows": ("movement", "        if not _multiple_of_rows(step, step.input_shape(index)[axis], digit):\n", "        if False:\n"),
    "a Shape from elements": ("movement", "    if not all(step.batch.is_fixed(dim) for dim in shape):\n        raise step.unknown(\"the size of its input", "    if False:\n        raise step.unknown(\"the size of its input"),
    "Gather moves numbers": ("indexing", "        if data.has_numbers:\n            raise step.blocked(Kind.NUMBER, \"it moves the numbers of rows\")\n        if not leads", "        if not leads"),
    "Gather of a count": ("indexing", "        if indices.counted is not None or data.counted is not None:\n            raise step.blocked(Kind.COUNT, \"it computes with the number of rows\")\n        assert indices.digit is not None, \"numbers have a place\"\n        is_constant", "        assert indices.digit is not None, \"numbers have a place\"\n        is_constant"),
    "GatherND: numbers into axes without rows": ("indexing", "    if any(number is not None for number in used):\n", "    if False:\n"),
    "ScatterND: any updates": ("indexing", "    if updates.digit != indices.digit:\n", "    if False:\n"),
    "ScatterND: numbers into any axis": ("indexing", "    if digit is None or len(numbered) > 1:\n        raise step.blocked(Kind.NUMBER, \"an index is the number of the row\")\n", "    digit = digit or Digit(0)\n"),
    "ScatterND: counts": ("indexing", "    if any(state.counted is not None for state in (data, indices, updates)):\n", "    if False:\n"),
    "ScatterElements: numbers along another axis": ("indexing", "    if digit is None or indices.digit.axis != axis:\n", "    digit = digit or Digit(axis, indices.number.coefficient)\n    if False:\n"),
    "GatherElements: any number": ("indexing", "    if data.has_numbers or not is_own or indices.digit.axis != axis:\n", "    if False:\n"),
    "equal elements at any axis": ("indexing", "if number is not None and data.constant and axis in data.flat:", "if number is not None and data.constant:"),
    "an index into listed positions": ("indexing", "if number is None or digit.listing is not None or shape", "if number is None or shape"),
    "other positions, as many": ("states", "return self.inner, self.listing\n", "return self.inner, None\n"),
    "a position at the begin of its row": ("indexing", "RowNumber(digit.inner, 0, digit.inner - 1)", "RowNumber(digit.inner, 0, 0)"),
    "positions of several batches": ("indexing", "    if shape[digit.axis] != step.batch.rows * digit.inner:\n", "    if False:\n"),
    "the number of the first index": ("indexing", "number if a == digit.axis else None", "number if a == 0 else None"),
    "positions leave a body": ("analysis", "    if listing is None or listing.node.graph != graph.path:\n", "    if True:\n"),
    "an output of listed positions": ("row_verdicts", "    if listing is not None:\n        return Lost(", "    if False:\n        return Lost("),
    "an output whose size depends on elements": ("row_verdicts", "if isinstance(state, Rows) and not all(map(analysis.batch.is_fixed, shape)):", "if False:"),
    "equal elements that are summed": ("label_transfer", "and not step.batch.is_fixed(operand.shape[axis]):\n", "and False:\n"),
    "equal elements of any number are constant": ("analysis", "if any(self.batch.counts_rows(dim) or not self.batch.is_fixed(dim) for dim in fact.shape or ()):", "if any(self.batch.counts_rows(dim) for dim in fact.shape or ()):"),
    "components of another axis": ("row_step", "np.take(elements, column, place)", "np.take(elements, 0, place)"),
    "components along axis 0, not moved": ("indexing", " == (*range(1, rank), 0):\n", "[-1] == 0 or True:\n"),
    "columns from the first on": ("movement", "columns[start : start + size]", "columns[:size]"),
    "numbers as floats": ("row_numbers", "    if step.rows(0).has_numbers and step.result(0).dtype not in (DType.INT32, DType.INT64):\n", "    if False:\n"),
    "a product with any number": ("row_numbers", "    if not is_single or value is None or known_le(least, value, step.batch.scope) is not True:\n", "    if value is None:\n"),
    "a product with a negative number": ("row_numbers", "or known_le(least, value, step.batch.scope) is not True:", ":"),
    "components without an offset": ("row_numbers", "[_computed(step, a, b) for a, b in operands]", "[_computed(step, a, b._replace(lo=0, hi=0) if step.op_type == 'Add' else b) for a, b in operands]"),
    "a quotient of any number": ("row_numbers", "    if part is None or is_negative or not is_within(step, number, divisor):\n", "    if part is None:\n"),
    "a remainder of any coefficient": ("row_numbers", "    if part is None or is_negative or not is_within(step, number, divisor):\n", "    if not is_within(step, number, divisor):\n"),
    "a difference has the bounds of a sum": ("row_numbers", "_difference(a.lo, b.hi), _difference(a.hi, b.lo)", "_difference(a.lo, b.lo), _difference(a.hi, b.hi)"),
    "Where: one of two numbers": ("row_numbers", "    if a.coefficient != b.coefficient:\n", "    if False:\n"),
    "Where: the bounds of one": ("row_numbers", "    lo = a.lo if a.lo == b.lo else None\n", "    lo = a.lo\n"),
    "Where: the upper bound of one": ("row_numbers", "    hi = a.hi if a.hi == b.hi else None\n", "    hi = a.hi\n"),
    "If: a condition that counts": ("bodies", "    if state.counted is not None:\n        raise step.blocked(Kind.COUNT, \"its condition", "    if False:\n        raise step.blocked(Kind.COUNT, \"its condition"),
    "a join of numbers": ("bodies", "    if a.has_numbers or b.has_numbers:\n", "    if False:\n"),
    "a join keeps what is flat in one": ("bodies", "    flat = a.flat & b.flat\n", "    flat = a.flat | b.flat\n"),
    "a join of rows at other places": ("bodies", "        return step.unknown(\"it joins rows at different places\").state\n", "        digit = a.digit\n"),
    "a join of a constant with rows": ("bodies", "(b.digit is None or b.constant or b.digit.axis in a.flat):", "True:"),
    "a join of rows with a constant": ("bodies", "    elif b.constant and a.digit is not None and a.digit.axis in b.flat:\n", "    elif b.constant and a.digit is not None:\n"),
    "Loop: any number of iterations": ("bodies", "    for index in (0, 1):\n        step.require_parameter(index)\n", ""),
    "Loop: one visit": ("bodies", "        if joined == carried:\n            break\n        carried = joined\n    else:\n        raise step.unknown(\"its states do not reach a fixed point\")\n    condition", "        break\n    condition"),
    "Loop: iterations by a count": ("bodies", "    if condition.counted is not None:\n", "    if False:\n"),
    "Scan: one visit": ("bodies", "        if joined == states:\n            break\n        states = joined\n    else:\n        raise step.unknown(\"its states do not reach a fixed point\")\n    places", "        break\n    places"),
    "an axis with the number of rows": ("well_formed", "        if batch.counts_rows(dim) and axis not in flat and not is_digit:\n", "        if False:\n"),
    "known elements that count rows": ("row_step", "return batch.is_fixed(element) and not batch.counts_rows(element)", "return batch.is_fixed(element)"),
    "known elements that depend on elements": ("row_step", "return batch.is_fixed(element) and not batch.counts_rows(element)", "return not batch.counts_rows(element)"),
    "parameters that count": ("row_step", "        if state.counted is not None:\n            raise self.blocked(Kind.COUNT, f\"input {index}", "        if False:\n            raise self.blocked(Kind.COUNT, f\"input {index}"),
    "sizes from elements are fixed": ("row_step", "        if cause.data_dependent or not cause.operands:\n            return False\n", ""),
    "constants of rows are constant": ("analysis", "            if not isinstance(state, Rows) or not state.constant or state.counted is not None or state.has_numbers:\n", "            if not isinstance(state, Rows):\n"),
    "an output that counts": ("row_verdicts", "        if state.counted is not None:\n", "        if False:\n"),
    "an output of numbers": ("row_verdicts", "        if state.has_numbers and (producer := main.producer(name)) is not None:\n", "        if False and (producer := main.producer(name)) is not None:\n"),
    "CumSum mixes nothing": ("operator_labels", "return None if axis is None else mixing(step, {axis})", "return None if axis is None else mixing(step, set())"),
    "mean variance of each row": ("operator_labels", "step.integers(\"axes\") or (0, 2, 3)})", "step.integers(\"axes\") or (2, 3)})"),
    "layer normalization along the last axis": ("operator_labels", "found = mixing(step, set(range(axis, rank)), parameters=True)", "found = mixing(step, {rank - 1}, parameters=True)"),
    "GatherElements: any axis": ("movement_labels", "    indices = (*x[:axis], own(\"taken\"), *x[axis + 1 :])\n    return AxisLabels((data, indices)", "    indices = x\n    return AxisLabels((x, indices)"),
    "ReverseSequence: time is kept": ("movement_labels", "return AxisLabels((tuple(x), (x[batch],)), (tuple(x),), frozenset({x[time]}))", "return AxisLabels((tuple(x), (x[batch],)), (tuple(x),))"),
    "Transpose: no order": ("movement_labels", "(tuple(x[axis] for axis in order),)", "(x,)"),
}  # fmt: skip

GUARDED_TWICE = {
    # a second check has the same effect: which
    "Scan over rows": "the place of the rows is checked too",
    "a count meets rows": "an output that counts rows is not proved",
    "a condition of rows": "a scalar has no rows, unless it is mixed",
    "iterations for each row": "a scalar has no rows, unless it is mixed",
    "sizes from elements": "an output whose size depends on elements is not proved",
    "other positions, as many": "their number is another size",
    "an index into listed positions": "their number is another size",
    "positions of several batches": "an index leads to the rows of one batch alone",
    "components along axis 0, not moved": "the rows have no place in another axis",
    "positions leave a body": "their number is another size outside",
    "an output of listed positions": "its size depends on elements",
    "two axes of rows": "a second axis of an output that counts rows is not proved",
    "random numbers for each row are constant": "an axis of the size of the rows has a place for them",
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught(
    fault: str, not_proved: list[tuple[str, Inference, dict[str, int]]], rightly_proved: set[tuple[str, str]]
) -> None:
    with planted(*FAULTS[fault]) as module:
        wrong = proved_outputs(module, not_proved) - rightly_proved
    assert bool(wrong) == (fault not in GUARDED_TWICE), wrong
