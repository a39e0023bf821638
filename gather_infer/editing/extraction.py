"""`extract`: a subgraph as a model of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnx import ModelProto

from gather_infer.contract import KEY as CONTRACT_KEY
from gather_infer.editing.declarations import Declarations
from gather_infer.editing.result import EditResult, with_constraints
from gather_infer.editing.retention import (
    NeededPart,
    is_constant,
    needed_part,
    reads_of,
    remove_unneeded,
    uncalled_functions,
    undefined_annotations,
)
from gather_infer.editing.selection import require_in_main_graph, selected, tensors_of
from gather_infer.errors import EditRefused, UsageError
from gather_infer.inference import infer
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.constraints.persisted import KEY as DIMS_KEY
from gather_infer.inference.constraints.persisted import DimConstraint, persisted_texts, read_persisted, text_of
from gather_infer.ir import Model, Node, require_well_formed
from gather_infer.ir.write_back import journal_of
from gather_infer.model import Journal, SetMetadata
from gather_infer.model.apply import apply
from gather_infer.model.model_loading import ModelLike, to_caller_type
from gather_infer.model.paths import node_labels
from gather_infer.model.tensors import fed_inputs
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Interval, free_symbols

_NAME = "extract"
_UNNEEDED = "the outputs do not need it"
_CUT = "the cut is here"
_ORDER = "for the order of the interface"
_UNWANTED = "it is not among the outputs"
_SHOWN = 6
"""Missing inputs that a message names."""


def extract(
    model: ModelLike,
    *,
    inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] = (),
    from_nodes: str | Iterable[str] = (),
    to_nodes: str | Iterable[str] = (),
    dims: Mapping[str, object] | Iterable[str] = (),
    types: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    progress: Progress = no_progress,
) -> EditResult:
    """Cut out a subgraph: the nodes that compute `outputs` from `inputs`, with the constants and functions they need.

    model      a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    inputs     tensors of the main graph that become the inputs, in this order: names, globs, or several with commas. By
               default these are the inputs of the model that the outputs need
    outputs    tensors that become the outputs; by default those of the model
    from_nodes, to_nodes   nodes by name or glob. Values that the first ones read from other nodes become inputs, values
               that other nodes read from the last ones outputs
    dims, types, rules, initializers_as_constants, progress   as `dims`, `inputs`, ... of `infer`; the new model
               declares the sizes

    New inputs and outputs are declared with their inferred types, in the symbols of the model. Everything else about a
    node or tensor that stays is unchanged.

    Raises EditRefused if the outputs need another input too, if the element type of an input is unknown, or if the
    model has training graphs; UnknownName and UsageError for names that do not fit; ModelStructureError for a cycle.

        >>> part = gather_infer.extract("fixtures/bert-torchscript.onnx", outputs="/bert/Concat_output_0")
        >>> part.outputs, part.after.nodes
        ((('/bert/Concat_output_0', 'int64[4]'),), 60)
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
    if file.proto.training_info:
        raise EditRefused(f"{source.name}: has training graphs, which are about the whole model")
    for patterns in (inputs, outputs):
        require_in_main_graph(graph, patterns)
    first, last = (_nodes_of(graph, patterns) for patterns in (from_nodes, to_nodes))
    cut = selected("tensor", inputs, tensors_of(graph))
    cut |= dict.fromkeys(_read_from_outside(graph, first), False)
    ends = [*selected("tensor", outputs, tensors_of(graph)), *_read_outside(graph, last)]
    if not (cut or ends):
        raise UsageError("nothing to extract: inputs, outputs, from_nodes or to_nodes are missing")
    ends = list(dict.fromkeys(ends or graph.main.outputs))
    if not ends:
        raise EditRefused(f"{source.name}: has no outputs, and no tensor or node is named as the end")
    part = needed_part(graph, ends, cut)
    _require_complete(source.name, graph, part, bool(cut))
    inference = infer(file, rules=rules, assume=False, progress=progress)
    starts = [name for name, is_named in cut.items() if is_named or name in part.reached]
    starts = starts if cut else [name for name in graph.main.inputs if name in part.inputs]
    remove_unneeded(graph, part, _UNNEEDED)
    declarations = Declarations(source.name, file.proto, inference)
    _set_inputs(graph, declarations, part, starts)
    _set_outputs(graph, declarations, ends)
    journal = journal_of(graph, _NAME)
    journal.add(*uncalled_functions(graph, _NAME, _UNNEEDED), *undefined_annotations(graph, _NAME, _UNNEEDED))
    proto = apply(journal, file.proto)
    metadata = list(_metadata_edits(file.proto, proto))
    journal.add(*metadata)
    return EditResult(
        model=to_caller_type(model, proto := apply(Journal(list(metadata)), proto)),
        diagnostics=(),
        journal=journal,
        source=source,
        proto=proto,
        notes=tuple(f"{edit.key} in the metadata: {edit.reason}" for edit in metadata),
        symbols=inference.causes,
    )


def _nodes_of(model: Model, patterns: str | Iterable[str]) -> list[Node]:
    """The nodes of the main graph whose label matches."""
    labels = node_labels(model.main.proto.node)
    nodes = dict(zip(labels, model.main.file_nodes, strict=True))
    return [nodes[label] for label in selected("node", patterns, labels)]


def _read_from_outside(model: Model, nodes: Sequence[Node]) -> list[str]:
    """The values that nodes read from others and that depend on an input of the model."""
    if not nodes:
        return []
    main = model.main
    fed = {name for name in main.inputs if not is_constant(main, name)}
    for node in main.nodes:
        if not fed.isdisjoint(reads_of(node)):
            fed.update(filter(None, node.outputs))
    made = {name for node in nodes for name in node.outputs}
    return [name for node in nodes for name in reads_of(node) if name in fed and name not in made]


def _read_outside(model: Model, nodes: Sequence[Node]) -> list[str]:
    """The outputs of nodes that other nodes read, or that are outputs of the model; all outputs if there are none."""
    main, inside = model.main, set(nodes)
    made = [name for node in nodes for name in node.outputs if name]
    read = [name for name in made if name in main.output_set or main.users(name) - inside]
    return read or made


def _require_complete(source: str, model: Model, part: NeededPart, is_cut: bool) -> None:
    """Raise EditRefused if the outputs need an undefined value, or an input that is not given."""
    for name, reader in part.undefined.items():
        where = "" if reader is None else f", which node {model.label(reader)} reads"
        raise EditRefused(f"{source}: no node computes {name}{where}")
    if is_cut and part.inputs:
        readers = {name: "" if node is None else f" (node {model.label(node)})" for name, node in part.inputs.items()}
        listed = [f"{name}{reader}" for name, reader in readers.items()]
        more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        raise EditRefused(f"{source}: the outputs also need the inputs {', '.join(listed[:_SHOWN])}{more}")


def _set_inputs(model: Model, declarations: Declarations, part: NeededPart, names: Sequence[str]) -> None:
    """Make values the inputs of the main graph, in this order; inputs with a default that are needed come first."""
    main = model.main
    may_override = model.proto.ir_version >= 4
    own = [name for name in main.inputs if not is_constant(main, name)]
    defaults = [name for name in main.inputs if is_constant(main, name) and may_override]
    for name in defaults:
        if name not in part.values and name not in names:
            model.remove_input(main, name, _UNNEEDED)
            model.drop(main, name, _UNNEEDED)
    new = [name for name in names if name not in own and name not in defaults]
    wanted = [name for name in names if name not in defaults]
    is_in_order = [*(name for name in own if name in names), *new] == wanted
    for name in own:
        if name not in names or not is_in_order:
            model.remove_input(main, name, _UNNEEDED if name not in names else _ORDER)
    for name in new if is_in_order else wanted:
        producer = main.producers.get(name)
        if producer is not None:  # the node stays for another output
            model.detach(*producer, model.fresh(f"{name}_computed"), _CUT)
        if is_constant(main, name) and name not in main.dropped:
            model.drop(main, name, _CUT)
        model.add_input(main, declarations.of_input(name), None, _CUT if name in new else _ORDER)


def _set_outputs(model: Model, declarations: Declarations, names: Sequence[str]) -> None:
    """Make values the outputs of the main graph, in this order."""
    main = model.main
    own = main.outputs
    new = [name for name in names if name not in own]
    is_in_order = [*(name for name in own if name in names), *new] == list(names)
    for name in own:
        if name not in names or not is_in_order:
            model.remove_output(main, name, _UNWANTED if name not in names else _ORDER)
    for name in new if is_in_order else names:
        model.add_output(main, declarations.of_output(name), _CUT if name in new else _ORDER)


def _metadata_edits(before: ModelProto, after: ModelProto) -> Iterator[SetMetadata]:
    """The removal of entries of this tool that are about other inputs: the contract, and constraints on other sizes."""
    names, others = (symbols_of_inputs(fed_inputs(proto), {})[0] for proto in (before, after))
    if any(entry.key == CONTRACT_KEY for entry in before.metadata_props):
        yield SetMetadata(by=_NAME, reason="is about other inputs", key=CONTRACT_KEY, value=None)
    texts = persisted_texts(before)
    constraints, _, _ = read_persisted(texts, names)
    kept = [each for each in constraints if _symbols(each) <= others]
    if len(kept) < len(constraints):
        reason = "constraints on sizes that no input has are left out"
        yield SetMetadata(by=_NAME, reason=reason, key=DIMS_KEY, value=text_of(kept) or None)


def _symbols(constraint: DimConstraint) -> frozenset[str]:
    value = constraint.value
    return free_symbols(constraint.dim) | (frozenset() if isinstance(value, Interval) else free_symbols(value))
