"""The transfer function of operators with axis labels: where the rows are in the outputs, or which node mixes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gather_infer.provenance.axis_labels import AxisLabels, Label, Labels, Role
from gather_infer.provenance.row_step import RowStep
from gather_infer.provenance.states import Digit, Kind, Lost, Rows, RowsLost, State
from gather_infer.tensor import Shape


@dataclass(frozen=True, slots=True)
class LabelledOperand:
    """An input with labels."""

    state: Rows
    shape: Shape
    labels: Labels

    @property
    def has_rows(self) -> bool:
        return not self.state.constant

    @property
    def digit_label(self) -> Label | None:
        """The label of the axis of the rows; None if there are none, or elements do not vary along it."""
        digit = self.state.digit
        return None if digit is None or digit.axis in self.state.flat else self.labels[digit.axis]

    def varies_along(self, label: Label) -> bool:
        """Whether elements may vary along a label."""
        return any(
            found == label and axis not in self.state.flat and self.shape[axis] != 1
            for axis, found in enumerate(self.labels)
        )


def by_labels(step: RowStep, labels: AxisLabels) -> list[State]:
    """The states of the outputs of an operator with axis labels."""
    operands = operands_of(step, labels)
    _require_no_numbers(step, labels, operands)
    return [_output_or_lost(step, labels, operands, output) for output in step.outputs]


def _output_or_lost(step: RowStep, labels: AxisLabels, operands: Sequence[LabelledOperand], output: int) -> State:
    """The state of one output: others may mix rows, as the indices of a MaxPool do."""
    try:
        return _output(step, labels, operands, output)
    except RowsLost as error:
        return error.state


def operands_of(step: RowStep, labels: AxisLabels) -> list[LabelledOperand]:
    """The inputs with labels. Raises RowsLost if an input blocks, a mixed one before one that is unknown."""
    blocked: list[Lost] = []
    operands: list[LabelledOperand] = []
    for index, entry in enumerate(labels.inputs):
        if entry is Role.SHAPE or step.states[index] is None:
            continue
        try:
            if isinstance(entry, Role):
                step.require_parameter(index)
                continue
            operand = LabelledOperand(step.rows(index), step.input_shape(index), entry)
        except RowsLost as error:
            blocked.append(error.state)
            continue
        if len(operand.shape) != len(entry):
            raise step.unknown(f"the rank of input {index} does not fit")
        operands.append(operand)
    if blocked:
        raise RowsLost(min(blocked, key=lambda state: not state.mixes))
    return operands


def _require_no_numbers(step: RowStep, labels: AxisLabels, operands: Sequence[LabelledOperand]) -> None:
    if any(operand.state.has_numbers for operand in operands) and not labels.moves:
        raise step.blocked(Kind.NUMBER, "it computes with the numbers of rows")


def _output(step: RowStep, labels: AxisLabels, operands: Sequence[LabelledOperand], output: int) -> State:
    made = labels.outputs[output]
    counted = next((operand.state.counted for operand in operands if operand.state.counted is not None), None)
    carriers = [operand for operand in operands if operand.has_rows]
    digit: Digit | None = None
    if carriers:
        if counted is not None:
            raise step.blocked(Kind.COUNT, "it computes with the number of rows")
        digit = _digit(step, labels, operands, carriers, made)
    else:
        for operand in operands:
            label = operand.digit_label
            if label is None or label not in made or label in labels.mixed or operand.state.digit is None:
                continue
            if not any(_meets_constant(other, label, operand) for other in operands):
                digit = operand.state.digit._replace(axis=made.index(label))
                break
    for operand in operands:
        for axis, label in enumerate(operand.labels):
            if label in labels.selected and axis in operand.state.flat:
                continue
            if (label in labels.mixed or label not in made) and step.batch.counts_rows(operand.shape[axis]):
                if carriers:
                    raise step.blocked(Kind.COUNT, "it combines elements of all rows")
                counted = step.place.path
            if (label in labels.mixed or label not in made) and not step.batch.is_fixed(operand.shape[axis]):
                raise step.unknown("it combines elements along an axis whose size depends on elements")
    flat = frozenset(a for a, label in enumerate(made) if label in labels.flat or _is_flat(labels, operands, label))
    number, columns = None, None
    if labels.moves and operands and operands[0].state.has_numbers:
        number, columns = operands[0].state.number, operands[0].state.columns
        if len(operands) > 1 or (columns is not None and made[-1:] != operands[0].labels[-1:]):
            raise step.blocked(Kind.NUMBER, "it moves the numbers of rows")
    return Rows(digit, flat, not carriers, number, columns, counted)


def _digit(
    step: RowStep,
    labels: AxisLabels,
    operands: Sequence[LabelledOperand],
    carriers: Sequence[LabelledOperand],
    made: Labels,
) -> Digit:
    """The place of the rows in an output that depends on rows."""
    label = carriers[0].digit_label
    first = carriers[0].state.digit
    assert first is not None, "a tensor that depends on rows has a place for them"
    if any(other.digit_label != label for other in carriers):
        raise step.mixed("it combines each row with each other one")
    if label is None or label in labels.mixed:
        raise step.mixed(f"it {labels.action}")
    if made.count(label) != 1:
        raise step.mixed(f"it {labels.action}")
    size = carriers[0].shape[carriers[0].labels.index(label)]
    for other in carriers:
        assert other.state.digit is not None, "a tensor that depends on rows has a place for them"
        if other.state.digit.order != first.order or other.shape[other.state.digit.axis] != size:
            raise step.mixed("it combines rows at different places of merged axes")
    for operand in operands:
        if list(operand.labels).count(label) > 1:
            raise step.mixed("it combines two axes of rows")
        if not operand.has_rows and _meets_constant(operand, label, carriers[0]):
            raise step.blocked(Kind.NUMBER, "it combines rows with a tensor that differs from row to row")
    return first._replace(axis=made.index(label))


def _meets_constant(operand: LabelledOperand, label: Label, carrier: LabelledOperand) -> bool:
    """Whether a constant operand may differ from row to row of another one."""
    if not operand.varies_along(label):
        return False
    digit, other = operand.state.digit, carrier.state.digit
    assert other is not None, "the carrier has rows"
    if operand.labels.count(label) > 1:
        return True
    is_aligned = digit is not None and operand.labels[digit.axis] == label and digit.order == other.order
    return not (is_aligned and operand.shape[operand.labels.index(label)] == carrier.shape[other.axis])


def _is_flat(labels: AxisLabels, operands: Sequence[LabelledOperand], label: Label) -> bool:
    having = [operand for operand in operands if label in operand.labels]
    return bool(having) and label not in labels.mixed and not any(operand.varies_along(label) for operand in having)
