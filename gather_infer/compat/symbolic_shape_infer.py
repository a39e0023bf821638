"""Drop-in for `onnxruntime.tools.symbolic_shape_infer`.

    >>> from gather_infer.compat.symbolic_shape_infer import SymbolicShapeInference
    >>> model = SymbolicShapeInference.infer_shapes(model)

Open dims of inputs get the same names, `x_d0`, as from the script. See docs/drop-ins.md for the differences.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from onnx import ModelProto

from gather_infer.compat.command import add_data_options, add_inference_options, parser_of, run
from gather_infer.compat.saving import DataFiles, write
from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.errors import GatherInferError
from gather_infer.inference import Inference, TensorRow, infer
from gather_infer.inference.annotate import annotated
from gather_infer.inference.dim_rendering import dim_renderer, dims_of, names_of_dims
from gather_infer.inference.proto.types import to_dim_param
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import ModelLike, to_onnx_file
from gather_infer.model.tensors import fed_inputs
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, free_symbols
from gather_infer.tensor import SymbolicTensor

INT_MAX: Final = 2**31 - 1
PARTIAL_FILE: Final = "sym_shape_infer_temp.onnx"
"""The file in the working directory for the facts of an incomplete inference, as from the script."""

_CONTRADICTIONS: Final = {"GI201", "GI202"}
"""Codes for declared types that contradict the inferred types: the script replaces declarations unseen."""

_UNKNOWN_OPERATOR: Final = "GI105"

logger = logging.getLogger(__name__)


class InvalidModel(GatherInferError):
    """The model fails in every run; the text is that of its first error."""

    exit_code = 1


class IncompleteInference(GatherInferError):
    """The type of a tensor stays unknown, because an operator is unknown.

    model   the model with the known types
    """

    exit_code = 1

    def __init__(self, text: str, source: ModelFile, model: ModelProto) -> None:
        super().__init__(text)
        self.source = source
        self.model = model


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the script; see `SymbolicShapeInference.infer_shapes`."""

    int_max: int = INT_MAX
    auto_merge: bool = False
    guess_output_rank: bool = False
    verbose: int = 0


class SymbolicShapeInference:
    """The class of the script, with the function that callers use."""

    @staticmethod
    def infer_shapes(
        in_mp: ModelLike,
        int_max: int = INT_MAX,
        auto_merge: bool = False,
        guess_output_rank: bool = False,
        verbose: int = 0,
    ) -> ModelProto:
        """A copy of the model with inferred types in `value_info` and in the graph outputs.

        in_mp              a ModelProto; a path, a ModelFile or a graphsurgeon Graph too
        int_max            largest size of a dim: a slice up to this end is a slice to the end
        auto_merge         take two dims of inputs for equal if a node broadcasts one against the other. This is wrong
                           for runs in which one of them is 1
        guess_output_rank  give the outputs of unknown operators the element type and the rank of input 0
        verbose            1 logs warnings and unknown dims, 3 also every tensor

        Raises IncompleteInference if the type of a tensor stays unknown, InvalidModel for a model that fails in every
        run, ModelReadError and UsageError as `gather_infer.infer`.

            >>> from gather_infer.compat.symbolic_shape_infer import SymbolicShapeInference
            >>> model = SymbolicShapeInference.infer_shapes("fixtures/bert-torchscript.onnx")
            >>> print([dim.dim_param or dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim])
            ['batch', 'seq', 32]
        """
        source, proto = with_shapes(to_onnx_file(in_mp), Options(int_max, auto_merge, guess_output_rank, verbose))
        return replace(source, proto=proto).with_weights()


def with_shapes(file: ModelFile, options: Options) -> tuple[ModelFile, ModelProto]:
    """The model with names for the open dims of its inputs, and its form with inferred types, large weights on disk.

    Raises IncompleteInference and InvalidModel.
    """
    source, inference = _inferred(with_named_dims(file), options)
    _log(inference, options.verbose)
    errors = [d for d in inference.errors if d.code not in _CONTRADICTIONS]
    if errors:
        raise InvalidModel(f"{file.name}: {_in_one_line(errors[0])}")
    proto = with_inferred_types(source, inference)
    if _has_untyped_values(inference):
        raise IncompleteInference(f"{file.name}: {_first_unknown(inference, options)}", source, proto)
    return source, proto


def with_named_dims(file: ModelFile) -> ModelFile:
    """`file` with a name for each open dim of an input, such as `x_d0`; `file` itself if there is none."""
    taken = set(names_of_dims(file.proto))
    proto = ModelProto()
    proto.CopyFrom(file.proto)
    is_changed = False
    for value in fed_inputs(proto):
        for axis, dim in enumerate(dims_of(value.type)):
            if dim.dim_param or (dim.HasField("dim_value") and dim.dim_value >= 0):
                continue
            name = f"{value.name}_d{axis}"
            while name in taken:
                name += "_"
            taken.add(name)
            dim.dim_param = name
            is_changed = True
    return replace(file, proto=proto) if is_changed else file


def with_inferred_types(source: ModelFile, inference: Inference) -> ModelProto:
    """The annotated model, with the inferred dims in the outputs too, also in place of sizes that not every run has.

    A dim of an output that no expression in the dims of the inputs equals keeps its declared name if it has one.
    """
    proto, _ = annotated(source, inference, outputs=True)
    render = dim_renderer(proto, inference.scopes, inference.inputs)
    known = _input_symbols(inference)
    kept: dict[str, Dim] = {}
    for output in proto.graph.output:
        value = inference.get(output.name)
        declared = dims_of(output.type)
        if not isinstance(value, SymbolicTensor) or value.shape is None or len(value.shape) != len(declared):
            continue
        for dim, fact in zip(declared, value.shape, strict=True):
            if not isinstance(fact, Expr):
                continue
            name = dim.dim_param
            is_kept = (
                name and name not in known and inference.is_generated(fact) and kept.setdefault(name, fact) == fact
            )
            if not is_kept:
                dim.dim_param = render(fact)
    return proto


def _inferred(source: ModelFile, options: Options) -> tuple[ModelFile, Inference]:
    """The inference of the model under the options, and the model, in which --auto_merge renames dims of inputs."""
    inference = infer(source)
    rules = _guessing_rules(inference) if options.guess_output_rank else ()
    if rules or options.int_max != INT_MAX:
        inference = _inferred_again(source, rules, options)
    while options.auto_merge and (merge := _merge(inference)) is not None:
        source = _with_merged_dims(source, *merge)
        inference = _inferred_again(source, rules, options)
    return source, inference


def _inferred_again(source: ModelFile, rules: Sequence[RuleSet], options: Options) -> Inference:
    if options.int_max == INT_MAX:
        return infer(source, rules=rules)
    names = _input_symbols(infer(source, rules=rules))
    return infer(source, rules=rules, dims=dict.fromkeys(names, (0, options.int_max)))


def _merge(inference: Inference) -> tuple[str, Dim] | None:
    """The first dim of an input that a node broadcasts against another dim of an input or a number, and the latter.

    None if there is no such dim. A broadcast implies `a == b or a == 1 or b == 1`. A merge leaves one symbol less.
    """
    known = set(_input_dims(inference))
    for constraint in inference.implied_constraints:
        equal = [frozenset((left, right)) for left, relation, right in constraint.any_of if relation == "=="]
        pairs = [pair for pair in equal if 1 not in pair]
        if len(equal) != len(constraint.any_of) or len(pairs) != 1 or len(pairs[0]) != 2:
            continue
        ones = {dim for pair in equal if 1 in pair for dim in pair if isinstance(dim, Expr)}
        if ones != {dim for dim in pairs[0] if isinstance(dim, Expr)} or 0 in pairs[0]:
            continue
        names = sorted((dim for dim in pairs[0] if isinstance(dim, Expr)), key=str)
        if all(dim.is_symbol and dim in known for dim in names):
            return names[-1].name, next(dim for dim in pairs[0] if dim != names[-1])
    return None


def _with_merged_dims(source: ModelFile, name: str, other: Dim) -> ModelFile:
    """`source` with `other` in place of the dim `name` of its inputs."""
    proto = ModelProto()
    proto.CopyFrom(source.proto)
    for value in fed_inputs(proto):
        for dim in dims_of(value.type):
            if dim.dim_param == name and isinstance(other, int):
                dim.dim_value = other
            elif dim.dim_param == name and isinstance(other, Expr):
                dim.dim_param = to_dim_param(other)
    return replace(source, proto=proto)


def _guessing_rules(inference: Inference) -> tuple[RuleSet, ...]:
    """Rules that guess the outputs of the unknown operators from input 0."""
    found = {
        (d.location.domain, d.location.op_type)
        for d in inference.diagnostics
        if d.code == _UNKNOWN_OPERATOR and d.location.op_type
    }
    sets = []
    for domain, entries in groupby(sorted(found), key=lambda entry: entry[0]):
        rules = RuleSet(domain)
        for _, op_type in entries:
            rules.rule(op_type)(_guess)
        sets.append(rules)
    return tuple(sets)


def _guess(op: OpCall) -> list[SymbolicTensor]:
    """The element type and the rank of input 0, with sizes of their own, for each output."""
    first = op.fact(0)
    shape = first.shape
    reason = "the rank is guessed from input 0"
    return [
        SymbolicTensor(first.dtype, None if shape is None else tuple(op.fresh(reason) for _ in shape))
        for _ in op.outputs
    ]


def _input_dims(inference: Inference) -> Iterator[Expr]:
    """The symbolic dims of the inputs."""
    for name in inference.inputs:
        value = inference[name]
        yield from (dim for dim in getattr(value, "shape", None) or () if isinstance(dim, Expr))


def _input_symbols(inference: Inference) -> set[str]:
    return {name for dim in _input_dims(inference) for name in free_symbols(dim)}


def _has_untyped_values(inference: Inference) -> bool:
    return any(_is_untyped(value) for values in inference.scopes.values() for value in values.values())


def _is_untyped(value: object) -> bool:
    return isinstance(value, SymbolicTensor) and value.dtype is None


def _first_unknown(inference: Inference, options: Options) -> str:
    """The text for the first tensor of unknown element type."""
    row = next(row for row in inference.tensors() if _is_untyped(row.value))
    where = f"{row.operator} node {row.node}" if row.node is not None else row.origin
    hint = "" if options.guess_output_rank else "; --guess_output_rank guesses from input 0"
    return f"incomplete symbolic shape inference: {row.title} of {where}: {row.cause}{hint}"


def _rows(inference: Inference) -> Sequence[TensorRow]:
    return inference.tensors() if any(inference.scopes.values()) else ()


def _log(inference: Inference, verbose: int) -> None:
    if verbose < 1:
        return
    for finding in inference.diagnostics:
        if finding.severity is not Severity.NOTE:
            logger.warning("%s", _in_one_line(finding))
    for row in _rows(inference):
        if verbose > 2:
            logger.warning("%s: %s", row.title, row.value)
        elif row.cause:
            logger.warning("%s: %s: %s", row.title, row.value, row.cause)


def _in_one_line(finding: Diagnostic) -> str:
    return f"{finding.location}: [{finding.code}] {finding.message}"


def main(arguments: Sequence[str]) -> int:
    """The command: reads --input, writes --output if it is given. Returns the exit code."""
    parser = parser_of(
        "symbolic_shape_infer",
        "Write a model with inferred types for every tensor.",
        "--input fixtures/bert-torchscript.onnx --output shaped.onnx",
    )
    parser.add_argument("--input", required=True, help="the model to read")
    parser.add_argument("--output", help="the model to write; without it, the command checks only")
    add_inference_options(parser)
    add_data_options(parser, "./")
    given: Any = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    options = Options(given.int_max, given.auto_merge, given.guess_output_rank, given.verbose)
    data = DataFiles(given.all_tensors_to_one_file, given.external_data_location, given.external_data_size_threshold)
    try:
        source, proto = with_shapes(to_onnx_file(given.input), options)
    except IncompleteInference as error:
        write(error.source, error.model, PARTIAL_FILE)
        raise
    if given.output:
        write(source, proto, given.output, data if given.save_as_external_data else None)
    return 0


if __name__ == "__main__":
    run(main)
