"""Rules of OpenVINO variables: ReadValue reads a variable at the start of a run, Assign writes it at the end."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.openvino.element_types import ELEMENT_TYPES
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import Shape, SymbolicTensor

rules = RuleSet("openvino")


@rules.rule("ReadValue", since=1, deterministic=False)
def read_value(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/read-value-6.html

    initial   value of the variable in the first run and after a reset; optional in version 6
    result    value of the variable, with the shape and type of attributes variable_shape and variable_type. Version 3
              lacks these attributes; the result then has the type, rank and static nonzero dims of initial. The other
              dims may change between runs and become new symbols
    """
    initial = op.optional_tensor(0)
    text = op.attr("variable_shape")
    if text is None:
        if initial is None:
            raise SpecViolation("ReadValue has neither an initial value nor a variable_shape", "GI106")
        return [SymbolicTensor(initial.dtype, _initial_dims(op, initial.shape))]
    dtype = ELEMENT_TYPES.get(str(op.attr("variable_type", "")))
    return [SymbolicTensor(dtype or (None if initial is None else initial.dtype), _variable_shape(op, text))]


def _initial_dims(op: OpCall, first: Shape | None) -> Shape | None:
    """The shape of a variable without attribute variable_shape; None when the shape `first` of its initial value is.

    A static nonzero dim of `first` is kept; any other may change between runs and becomes a new symbol.
    """
    if first is None:
        return None
    return tuple(
        dim if isinstance(dim, int) and dim else op.fresh("the variable may have another size later") for dim in first
    )


def _variable_shape(op: OpCall, declared: object) -> Shape | None:
    """The shape in attribute variable_shape, such as the text `1,4,?,64`; None for `...`, an unknown rank.

    A dynamic dim (`?`) becomes a new symbol. If all dims are numbers, the IR reader passes an int or a tuple of ints.
    """
    parts = (
        [declared]
        if isinstance(declared, int)
        else declared
        if isinstance(declared, tuple)
        else str(declared).split(",")
    )
    texts = [str(part).strip() for part in parts]
    if texts == [""]:
        return ()
    if "..." in texts:
        return None
    return tuple(int(text) if text.isdecimal() else op.fresh("the size of the variable is open") for text in texts)


@rules.rule("Assign", since=1, moves=0, permutes=True, deterministic=False)
def assign(op: OpCall) -> list[SymbolicTensor]:
    """https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/infrastructure/assign-6.html

    The result is the new value of the variable.
    """
    return [op.tensor(0)]
