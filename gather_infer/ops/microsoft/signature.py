"""Signatures of com.microsoft operators: names, element types and attributes, from the schemas of ONNX Runtime 1.32.

    A:T B:T scale:float32 bias?:T rest*:V -> Y:T mask?:bool

`?` marks an optional parameter, `*` a variadic one. A type is an element type, `*` for any type, or a type variable. A
type variable is one element type throughout a node, from the choices passed with the signature.

Operators of com.microsoft stay at version 1 while releases append inputs, outputs and attributes. An input, output or
attribute that the signature lacks is therefore a warning, and the rest of the node is inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation, close_match
from gather_infer.ops.semantics.indices import require_type
from gather_infer.rules import OpCall, RuleSet
from gather_infer.tensor import DType, Shape, SymbolicTensor

Inferred: TypeAlias = "Sequence[Shape | SymbolicTensor | None]"
"""Result of a rule with a signature: for each output its shape (None for an unknown rank), or its SymbolicTensor."""

PAGE = "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md"

F16, F32, F64, BF16 = DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16
INT8_TYPES = frozenset({DType.INT8, DType.UINT8})
FLOATS = frozenset({F16, F32, F64, BF16})
IEEE_FLOATS = frozenset({F16, F32, F64})
MODEL_FLOATS = frozenset({F16, F32, BF16})
HALF_OR_SINGLE = frozenset({F16, F32})
INTEGERS = frozenset(
    {
        DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
    }
)  # fmt: skip
NUMBERS = INTEGERS | FLOATS
ALL_TYPES = INTEGERS | IEEE_FLOATS | {DType.BOOL, DType.STRING, DType.COMPLEX64, DType.COMPLEX128}


class Formal(NamedTuple):
    """One input or output of a signature.

    type         an element type, as `float32`; `*` for any type; or the name of a type variable
    is_repeated  the parameter is variadic
    """

    name: str
    type: str
    is_optional: bool
    is_repeated: bool


def _formals(text: str) -> tuple[Formal, ...]:
    found = []
    for word in text.split():
        name, _, kind = word.partition(":")
        found.append(Formal(name.rstrip("?*"), kind, name.endswith("?"), name.endswith("*")))
    return tuple(found)


_KINDS: dict[str, Callable[[object], bool]] = {
    "int": lambda value: isinstance(value, int),
    "float": lambda value: isinstance(value, (int, float)),
    "string": lambda value: isinstance(value, str),
    "ints": lambda value: isinstance(value, tuple) and all(isinstance(e, int) for e in value),
    "floats": lambda value: isinstance(value, tuple) and all(isinstance(e, (int, float)) for e in value),
    "strings": lambda value: isinstance(value, tuple) and all(isinstance(e, str) for e in value),
    "graph": lambda value: True,
}
_PHRASES = {
    "int": "an integer", "float": "a float", "string": "a string", "ints": "a list of integers",
    "floats": "a list of floats", "strings": "a list of strings", "graph": "a graph",
}  # fmt: skip


class Signature:
    """The parsed signature of an operator.

    text         the inputs and outputs, in the syntax of the module docstring
    attributes   words `name:kind`; a trailing `!` marks a required attribute
    choices      the element types allowed for each type variable
    """

    def __init__(self, text: str, attributes: str, choices: Mapping[str, frozenset[DType]]) -> None:
        inputs, _, outputs = text.partition("->")
        self.inputs, self.outputs = _formals(inputs), _formals(outputs)
        pairs = [word.split(":") for word in attributes.split()]
        self.attributes = {name: kind.rstrip("!") for name, kind in pairs}
        self.required = tuple(name for name, kind in pairs if kind.endswith("!"))
        self.choices = dict(choices)
        for formal in self.inputs + self.outputs:
            kind = formal.type
            if kind != "*" and kind not in self.choices:
                self.choices[kind] = frozenset({DType[kind.upper()]})

    def check(self, op: OpCall) -> dict[str, DType]:
        """Check a node; return the known element types by their names in the signature, as `T` or `int64`.

        Raises SpecViolation when an input or attribute is missing or has a wrong type, or when two inputs with the same
        type variable differ in element type.
        """
        self._check_attributes(op)
        self._check_counts(op)
        found: dict[str, tuple[DType, str]] = {}
        for index in range(len(op.inputs)):
            formal = self._formal(index)
            if formal is None or formal.type == "*":
                continue
            tensor = op.optional_tensor(index)
            if tensor is None or tensor.dtype is None:
                continue
            require_type(tensor, self.choices[formal.type], formal.name)
            dtype, name = found.setdefault(formal.type, (tensor.dtype, formal.name))
            if dtype is not tensor.dtype and not formal.is_repeated:
                raise SpecViolation(
                    f"{name} and {formal.name} must have one element type, have {dtype} and {tensor.dtype}", "GI211"
                )
        types = {kind: dtype for kind, (dtype, _) in found.items()}
        for kind, choices in self.choices.items():
            if len(choices) == 1:
                (types[kind],) = choices
        return types

    def _formal(self, index: int) -> Formal | None:
        if index < len(self.inputs):
            return self.inputs[index]
        last = self.inputs[-1]
        return last if last.is_repeated else None

    def _check_attributes(self, op: OpCall) -> None:
        for name, value in op.attributes.items():
            kind = self.attributes.get(name)
            if kind is None:
                known = f"known are {', '.join(self.attributes)}" if self.attributes else "it has none"
                message = f"{name} is not an attribute of {op.op_type}, {known}{close_match(name, self.attributes)}"
                op.report("GI106", message, severity=Severity.WARNING)
            elif not _KINDS[kind](value):
                raise SpecViolation(f"attribute {name} must be {_PHRASES[kind]}, is {value!r}", "GI106")
        for name in self.required:
            if op.attr(name) is None:
                raise SpecViolation(f"attribute {name} is missing", "GI106")

    def _check_counts(self, op: OpCall) -> None:
        for index, formal in enumerate(self.inputs):
            if not op.has(index) and not formal.is_optional and not formal.is_repeated:
                raise SpecViolation(f"input {index}, {formal.name}, is missing", "GI107")
        for what, formals, count in (
            ("inputs", self.inputs, len(op.inputs)),
            ("outputs", self.outputs, len(op.outputs)),
        ):
            if count > len(formals) and not formals[-1].is_repeated:
                message = f"{op.op_type} has {len(formals)} {what}, the node has {count}"
                op.report("GI107", message, severity=Severity.WARNING)


def contrib(
    rules: RuleSet,
    op_type: str,
    text: str,
    attributes: str = "",
    *,
    since: int = 1,
    addresses: Mapping[int, int] | None = None,
    moves: int | None = None,
    permutes: bool = False,
    gathers: bool = False,
    deterministic: bool = True,
    operands: Mapping[int, str] | None = None,
    dims: Iterable[int] = (),
    unchecked_sizes: Iterable[int] = (),
    **choices: frozenset[DType],
) -> Callable[[Callable[[OpCall], Inferred]], Callable[[OpCall], Inferred]]:
    """Decorator: register a rule for `op_type` that checks a node against its signature, then calls the function.

    The function returns the output shapes; the signature supplies the element types.

    text, attributes, choices   see `Signature`
    since                       first version of the operator that the rule covers
    addresses, moves, permutes, gathers, deterministic, operands, dims, unchecked_sizes   see `Traits`
    """
    signature = Signature(text, attributes, choices)

    def add(function: Callable[[OpCall], Inferred]) -> Callable[[OpCall], Inferred]:
        def rule(op: OpCall) -> list[SymbolicTensor]:
            types = signature.check(op)
            return _facts(op, signature, types, function(op))

        rule.__name__ = function.__name__
        page = f"{PAGE}#com.microsoft.{op_type}" if rules.domain else f"{PAGE} ({op_type}, in the default domain)"
        rule.__doc__ = (
            f"{page} (ONNX Runtime 1.32)\n\n    {signature_text(text)}\n\n    {function.__doc__ or ''}".rstrip()
        )
        add_rule = rules.rule(
            op_type, since=since, addresses=addresses, moves=moves, permutes=permutes, gathers=gathers,
            deterministic=deterministic, operands=operands, dims=dims, unchecked_sizes=unchecked_sizes,
        )  # fmt: skip
        add_rule(rule)
        return function

    return add


def signature_text(text: str) -> str:
    """The signature `text` on one line."""
    return " ".join(text.split())


def _facts(op: OpCall, signature: Signature, types: Mapping[str, DType], inferred: Inferred) -> list[SymbolicTensor]:
    """The type of each output of the node; unknown for outputs that the signature lacks."""
    facts = [
        SymbolicTensor(types.get(formal.type), shape) if shape is None or isinstance(shape, tuple) else shape
        for formal, shape in zip(signature.outputs, inferred, strict=True)
    ]
    missing = len(op.outputs) - len(facts)
    return facts[: len(op.outputs)] + [SymbolicTensor()] * max(0, missing)
