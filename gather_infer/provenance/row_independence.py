"""`independence`: whether row i of each output depends on row i of the inputs alone, from the analysis of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gather_infer.errors import UsageError, close_match
from gather_infer.inference import Inference, infer
from gather_infer.model.model_loading import ModelLike
from gather_infer.provenance.confirmation import confirmed
from gather_infer.provenance.result import Independence, IndependenceVerdict
from gather_infer.provenance.row_verdicts import default_axes, fed_tensors, independence_of
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Expr


def independence(
    model: ModelLike,
    *,
    rows: Iterable[str] = (),
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    assume: bool = True,
    run: bool = True,
) -> Independence:
    """Prove or refute that row i of each output depends on row i of the inputs alone; `gather_infer.independence`.

    model, dims, inputs, rules, assume   as for `infer`
    rows   the axes that hold rows, `["ids.0", "mask.0"]`; by default the first symbol at an axis 0 of the inputs, and
           all axes of that size. They may have a fixed size of at least 2; the verdict then holds for that size
    run    whether to look for a run that refutes it, in onnxruntime, where the analysis proves nothing. Without such a
           run the verdict is never `refuted`

    Raises UsageError for axes that do not exist, have different sizes or 1 row, and the exceptions of `infer`.
    """
    inference = infer(model, dims=dims, inputs=inputs, rules=rules, assume=assume)
    axes = _named_axes(inference, rows)
    if not axes:
        raise UsageError("no input has a dynamic axis 0: name the axes of the rows, such as rows=['ids.0']")
    result = independence_of(inference, axes)
    if run and result.verdict is not IndependenceVerdict.PROVED:
        return confirmed(inference, axes, result)
    return result


def _named_axes(inference: Inference, rows: Iterable[str]) -> dict[str, int]:
    """The axes that `rows` names. Raises UsageError."""
    rows = [rows] if isinstance(rows, str) else list(rows)
    if not rows:
        return default_axes(inference)
    fed = fed_tensors(inference)
    axes: dict[str, int] = {}
    for text in rows:
        name, _, number = text.rpartition(".")
        if name not in fed or not number.isdecimal():
            raise UsageError(f"{text!r}: expected input.axis, such as ids.0{close_match(name, fed)}")
        shape = fed[name].shape
        if shape is None or int(number) >= len(shape):
            raise UsageError(f"{text!r}: input {name} is {fed[name]}")
        if name in axes:
            raise UsageError(f"{text!r}: input {name} has rows along two axes")
        axes[name] = int(number)
    sizes = {str(shape[axis]): name for name, axis in axes.items() if (shape := fed[name].shape) is not None}
    if len(sizes) > 1:
        found = ", ".join(f"{name}.{axes[name]} is {size}" for size, name in sizes.items())
        raise UsageError(f"the axes of the rows have different sizes: {found}; dims=['a=b'] makes them equal")
    size = inference.shape(next(iter(axes)))[next(iter(axes.values()))]
    if isinstance(size, int) and size < 2:
        raise UsageError(f"the number of rows is {size}; with less than 2 there is no other row")
    if isinstance(size, Expr) and not size.is_symbol:
        raise UsageError(f"the number of rows is {size}, not a symbol or a number")
    return axes
