"""`outputs`: add intermediate tensors to the outputs of a model, and remove outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from onnx import ModelProto

from gather_infer.editing.declarations import Declarations
from gather_infer.editing.result import EditResult, with_constraints
from gather_infer.editing.retention import (
    needed_part,
    remove_unneeded,
    training_reads,
    uncalled_functions,
    undefined_annotations,
)
from gather_infer.editing.selection import require_in_main_graph, selected, tensors_of
from gather_infer.errors import EditRefused, UsageError
from gather_infer.inference import infer
from gather_infer.ir import Model, require_well_formed
from gather_infer.ir.write_back import journal_of
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.model_loading import ModelLike, to_caller_type
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet

_NAME = "outputs"
_DEAD = "no output needs it any more"


def outputs(
    model: ModelLike,
    *,
    add: str | Iterable[str] = (),
    keep: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
    keep_nodes: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    types: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> EditResult:
    """Add tensors to the outputs of a model, or remove outputs; the inputs stay.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    add      tensors of the main graph: names, globs, or several with commas. They follow the outputs of the model, and
             are declared with their inferred types
    keep     the outputs of the model to keep; by default all
    drop     the outputs of the model to remove
    keep_nodes   keep nodes and initializers that no output needs any more; else they are removed, with the functions
             that no node calls
    dims, types, rules, initializers_as_constants, progress   as `dims`, `inputs`, ... of `infer`; the new model
             declares the sizes

    Raises EditRefused if no output is left, or the element type of a new one is unknown; UnknownName and UsageError for
    names that do not fit; ModelStructureError for a cycle.

        >>> found = gather_infer.outputs("fixtures/bert-torchscript.onnx", add="*/self/Softmax*", drop="pool*")
        >>> [text for _, text in found.outputs]
        ['float32[batch, seq, 32]', 'float32[batch, 4, seq, seq]', 'float32[batch, 4, seq, seq]']
    """
    source, file = with_constraints(
        model,
        dims=dims,
        types=types,
        rules=rules,
        initializers_as_constants=initializers_as_constants,
        progress=progress,
    )
    graph = Model.of(file)
    require_well_formed(graph, source.name)
    main = graph.main
    require_in_main_graph(graph, add)
    before = main.outputs
    kept = selected("output", keep, before)
    dropped = selected("output", drop, before)
    new = [name for name in selected("tensor", add, tensors_of(graph)) if name not in before]
    if not (kept or dropped or new):
        raise UsageError("nothing to do: add, keep or drop is missing" if not add else "these are outputs already")
    for name in before:
        if name in dropped or (kept and name not in kept):
            graph.remove_output(main, name, "it is not to be an output")
    if not main.outputs and not new:
        raise EditRefused(f"{source.name}: no output is left")
    inference = infer(file, rules=rules, assume=False, progress=progress)
    declarations = Declarations(source.name, file.proto, inference)
    for name in new:
        graph.add_output(main, declarations.of_output(name), "requested")
    is_pruned = bool(main.removed_outputs) and not keep_nodes
    if is_pruned:
        roots = dict.fromkeys([*main.outputs, *sorted(training_reads(graph))])
        remove_unneeded(graph, needed_part(graph, roots), _DEAD)
    journal = journal_of(graph, _NAME)
    if is_pruned:
        journal.add(*uncalled_functions(graph, _NAME, _DEAD), *undefined_annotations(graph, _NAME, _DEAD))
    proto = apply(journal, file.proto)
    return EditResult(
        model=to_caller_type(model, proto),
        diagnostics=(),
        journal=journal,
        source=source,
        proto=proto,
        symbols=inference.causes,
    )


def with_common_outputs(result: EditResult) -> tuple[ModelFile, ModelProto]:
    """The original and the new model with those outputs alone that both have, for a comparison.

    Raises UsageError if they have none in common.
    """
    before, after = result.source.proto, result.proto
    common = {value.name for value in before.graph.output} & {value.name for value in after.graph.output}
    if not common:
        raise UsageError("the models have no output in common, so there is nothing to compare")
    original = replace(result.source, proto=_with_outputs(before, common))
    if original.proto is not before:  # it is no longer the model of the file
        original = replace(original, path=None, original=None, label=original.name)
    return original, _with_outputs(after, common)


def _with_outputs(proto: ModelProto, names: set[str]) -> ModelProto:
    """The model with these outputs alone; the model itself if it has no other."""
    left = [value for value in proto.graph.output if value.name in names]
    if len(left) == len(proto.graph.output):
        return proto
    copy = ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.output[:]
    copy.graph.output.extend(left)
    return copy
