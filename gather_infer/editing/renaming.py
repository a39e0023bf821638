"""`rename`: other names for inputs, outputs, dims and nodes, wherever they occur."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from onnx import ModelProto, NodeProto

from gather_infer.contract import KEY as CONTRACT_KEY
from gather_infer.contract import Contract
from gather_infer.contract.renaming import renamed
from gather_infer.editing.result import EditResult
from gather_infer.errors import EditRefused, UnknownName, UsageError
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.constraints.persisted import KEY as DIMS_KEY
from gather_infer.inference.constraints.persisted import DimConstraint, persisted_texts, read_persisted, text_of
from gather_infer.inference.proto.dim_texts import read_dim_text
from gather_infer.inference.proto.types import to_dim_param
from gather_infer.ir import Model, require_well_formed
from gather_infer.model import Journal, RenameDim, RenameNode, RenameValue, SetMetadata
from gather_infer.model.apply import apply
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file
from gather_infer.model.paths import bodies, joined_label, label_of, node_labels
from gather_infer.model.renaming import named_dims
from gather_infer.model.tensors import fed_inputs, initializers_of
from gather_infer.symbolic import Dim, Expr, Interval, free_symbols, substitute, symbol
from gather_infer.symbolic.printing import is_plain_name

_NAME: Final = "rename"
_REQUESTED: Final = "requested"
_UNREADABLE: Final = "cannot be read as a contract, so its names cannot follow"
_SUBSTITUTION: Final = re.compile(r"s([^\w\s=])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1(g?)", re.DOTALL)

Renames: TypeAlias = "Mapping[str, str] | Iterable[str]"
"""Old name -> new name; or texts `old=new`, and substitutions `s/pattern/replacement/` of Python's `re`."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class RenameResult(EditResult):
    """A model with other names.

    renamed_inputs, renamed_outputs   old name -> new name
    """

    renamed_inputs: Mapping[str, str]
    renamed_outputs: Mapping[str, str]


def rename(
    model: ModelLike, *, inputs: Renames = (), outputs: Renames = (), dims: Renames = (), nodes: Renames = ()
) -> RenameResult:
    """Rename inputs, outputs, dims or nodes of a model, wherever the names occur; all at once.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    inputs, outputs   of the main graph; nodes, subgraphs, defaults and annotations that refer to them follow
    dims     symbolic dims, in the types of all graphs and functions; expressions such as `past + seq` follow
    nodes    nodes of all graphs and functions, by name

    Each is a mapping from old to new names, or a list of texts: `old=new`, or `s/pattern/replacement/` with a regular
    expression of Python, which renames all names that it changes. `g` at the end replaces all its matches in a name.
    A contract and bounds of sizes that this tool has stored in the metadata follow too.

    Raises EditRefused if a new name is in use, UnknownName for a name that does not exist, UsageError for a text that
    is no renaming, ModelStructureError for a cycle or a name that is defined twice.

        >>> found = gather_infer.rename("fixtures/bert-torchscript.onnx", inputs=["s/^input_//"], dims={"seq": "rows"})
        >>> [name for name, _ in found.inputs], found.outputs[0]
        (['ids', 'attention_mask', 'token_type_ids'], ('last_hidden_state', 'float32[batch, rows, 32]'))
    """
    source = to_onnx_file(model)
    proto = source.proto
    graph = Model.of(source)
    require_well_formed(graph, source.name)
    fed = [value.name for value in proto.graph.input]
    results = [value.name for value in proto.graph.output]
    new_inputs, new_outputs = _read("input", inputs, fed), _read("output", outputs, results)
    values = _values(new_inputs, new_outputs, fed, results)
    texts = dim_texts(proto)
    symbols = sorted(frozenset().union(*map(free_symbols, texts.values())))
    new_dims = _read("dim", dims, symbols)
    new_nodes = _read("node", nodes, list(dict.fromkeys(node.name for node in _nodes(proto) if node.name)))
    if not (values or new_dims or new_nodes):
        raise UsageError("nothing to rename: inputs, outputs, dims or nodes are missing")
    _require_free_values(source.name, graph, values)
    _require_free_dims(source.name, new_dims, symbols)
    journal = Journal([RenameValue(by=_NAME, reason=_REQUESTED, old=old, new=new) for old, new in values.items()])
    to_new = {old: symbol(new) for old, new in new_dims.items()}
    for text, dim in texts.items():
        if not free_symbols(dim).isdisjoint(new_dims):
            new_dim = substitute(dim, to_new)
            assert isinstance(new_dim, Expr), "a dim with a symbol stays one"
            journal.add(RenameDim(by=_NAME, reason=_REQUESTED, old=text, new=to_dim_param(new_dim)))
    journal.add(*_node_edits(source.name, proto, new_nodes))
    result = apply(journal, proto)
    metadata = list(_metadata_edits(proto, result, {old: values[old] for old in fed if old in values}, new_dims))
    if metadata:
        journal.add(*metadata)
        result = apply(Journal(list(metadata)), result)
    return RenameResult(
        model=to_caller_type(model, result),
        diagnostics=(),
        journal=journal,
        source=source,
        proto=result,
        notes=tuple(f"{edit.key} in the metadata: {edit.reason}" for edit in metadata if edit.value is None),
        renamed_inputs={old: values[old] for old in fed if old in values},
        renamed_outputs={old: values[old] for old in results if old in values},
    )


# the requested names


def _read(what: str, given: Renames, known: Sequence[str]) -> dict[str, str]:
    """Old name -> new name, without names that stay.

    Raises UnknownName for a name that is not in `known`, UsageError for a text that is no renaming.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
        for old, _ in pairs:
            if old not in known:
                raise UnknownName(what, old, known)
    else:
        pairs = [pair for text in ([given] if isinstance(given, str) else given) for pair in _pairs(what, text, known)]
    found: dict[str, str] = {}
    for old, new in pairs:
        if not new:
            raise UsageError(f"{what} {old!r} needs a name")
        if what == "dim" and not is_plain_name(new):
            raise UsageError(f"{new!r} is no name of a dim: letters, digits, _ and ., no digit at the start")
        if found.setdefault(old, new) != new:
            raise UsageError(f"{what} {old!r} is renamed to both {found[old]!r} and {new!r}")
    return {old: new for old, new in found.items() if old != new}


def _pairs(what: str, text: str, known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The renamings that a text requests."""
    substitution = _SUBSTITUTION.fullmatch(text)
    if substitution is not None and not any(text.startswith(f"{name}=") for name in known):
        yield from _substituted(what, text, substitution, known)
        return
    parts = text.split("=")
    for at in range(1, len(parts)):  # a name may contain =
        old = "=".join(parts[:at])
        if old in known:
            yield old, "=".join(parts[at:])
            return
    if len(parts) == 1:
        raise UsageError(f"a renaming is OLD=NEW or s/PATTERN/REPLACEMENT/, not {text!r}")
    raise UnknownName(what, parts[0], known)


def _substituted(what: str, text: str, substitution: re.Match[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    delimiter, pattern, replacement, is_global = substitution.groups()
    escaped = f"\\{delimiter}"
    try:
        expression = re.compile(pattern.replace(escaped, delimiter) if delimiter not in r"\.^$*+?{}[]|()" else pattern)
        count = 0 if is_global else 1
        pairs = [(name, expression.sub(replacement.replace(escaped, delimiter), name, count=count)) for name in known]
    except (re.error, IndexError) as error:
        raise UsageError(f"{text!r}: {error}") from error
    changed = [(old, new) for old, new in pairs if old != new]
    if not changed:
        raise UsageError(f"no {what} matches {text!r}")
    yield from changed


def _values(
    inputs: Mapping[str, str], outputs: Mapping[str, str], fed: Collection[str], results: Collection[str]
) -> dict[str, str]:
    """Value -> new name. Raises UsageError for an input that is an output too, unless both get the same name."""
    for name in inputs.keys() | outputs.keys():
        if name in fed and name in results and inputs.get(name) != outputs.get(name):
            raise UsageError(f"{name!r} is an input and an output: rename both to the same name")
    return {**inputs, **outputs}


def _require_free_values(source: str, model: Model, values: Mapping[str, str]) -> None:
    """Raise EditRefused if a new name is defined in the main graph, or in a graph that sees its values."""
    _require_distinct(source, values)
    for graph in model.graphs.values():
        if graph is not model.main and model.main not in graph.scope_chain():
            continue
        for old, new in values.items():
            if graph.defines(new) and not (graph is model.main and new in values):
                where = "" if graph is model.main else f" of {model.graph_label(graph.path)}"
                raise EditRefused(f"{source}: {old} cannot become {new}, which is a tensor{where} already")


def _require_free_dims(source: str, dims: Mapping[str, str], symbols: Collection[str]) -> None:
    _require_distinct(source, dims)
    for old, new in dims.items():
        if new in symbols and new not in dims:
            raise EditRefused(f"{source}: {old} cannot become {new}, which is a dim already")


def _require_distinct(source: str, names: Mapping[str, str]) -> None:
    first: dict[str, str] = {}
    for old, new in names.items():
        other = first.setdefault(new, old)
        if other != old:
            raise EditRefused(f"{source}: {other} and {old} cannot both become {new}")


# dims


def dim_texts(proto: ModelProto, *, functions: bool = True) -> dict[str, Dim]:
    """Each dim_param of the model -> the dim that it denotes: an expression of other dims, or a symbol."""
    texts = sorted({dim.dim_param for dim in named_dims(proto, functions=functions)})
    known, _ = symbols_of_inputs(fed_inputs(proto), {})
    names = known | {text for text in texts if is_plain_name(text)}
    found: dict[str, Dim] = {}
    for text in texts:
        expression = None if text in names else read_dim_text(text, names).expression
        found[text] = symbol(text) if expression is None else expression
    return found


# nodes


def _nodes(proto: ModelProto) -> Iterator[NodeProto]:
    for _, body in bodies(proto):
        yield from body.node


def _node_edits(source: str, proto: ModelProto, names: Mapping[str, str]) -> Iterator[RenameNode]:
    """Raises EditRefused if two nodes of a graph would get the same name."""
    if not names:
        return
    for path, body in bodies(proto):
        before = Counter(node.name for node in body.node if node.name)
        after = Counter(names.get(node.name, node.name) for node in body.node if node.name)
        for position, node in enumerate(body.node):
            if node.name in names:
                new = names[node.name]
                if after[new] > before[node.name]:
                    raise EditRefused(f"{source}: node {node.name} cannot become {new}, which is a node already")
                yield RenameNode(by=_NAME, reason=_REQUESTED, path=path, node=position, new=new)


# metadata


def _metadata_edits(
    before: ModelProto, after: ModelProto, inputs: Mapping[str, str], dims: Mapping[str, str]
) -> Iterator[SetMetadata]:
    """The contract and the bounds that the metadata hold, in the new names."""
    texts = persisted_texts(before)
    if texts:
        known, _ = symbols_of_inputs(fed_inputs(before), {})
        constraints, _, _ = read_persisted(texts, known)
        symbols = {f"{old}.{axis}": symbol(f"{new}.{axis}") for old, new in inputs.items() for axis in range(_MAX_RANK)}
        symbols |= {old: symbol(new) for old, new in dims.items()}
        text = text_of(_renamed_constraint(each, symbols) for each in constraints)
        if text != text_of(constraints):
            yield SetMetadata(by=_NAME, reason="follows the names", key=DIMS_KEY, value=text)
    stored = next((entry.value for entry in before.metadata_props if entry.key == CONTRACT_KEY), None)
    if stored is not None:
        old = _read_contract(stored)
        if old is None:
            yield SetMetadata(by=_NAME, reason=_UNREADABLE, key=CONTRACT_KEY, value=None)
            return
        new = renamed(old, inputs=inputs, dims=dims, nodes=_labels(before, after))
        if new != old:
            value = json.dumps(new.to_json())
            yield SetMetadata(by=_NAME, reason="follows the names", key=CONTRACT_KEY, value=value)


def _read_contract(text: str) -> Contract | None:
    """The contract in a text; None if it holds none."""
    try:
        data = json.loads(text)
        return Contract.from_json(data) if isinstance(data, dict) else None
    except (ValueError, RecursionError, UsageError):
        return None


_MAX_RANK: Final = 16
"""Axes of an input whose sizes bounds may be about."""


def _renamed_constraint(constraint: DimConstraint, symbols: Mapping[str, Dim]) -> DimConstraint:
    dim, value = substitute(constraint.dim, symbols), constraint.value
    assert isinstance(dim, Expr), "a dim with a symbol stays one"
    return DimConstraint(dim, value if isinstance(value, Interval) else substitute(value, symbols))


def _labels(before: ModelProto, after: ModelProto) -> dict[str, str]:
    """The label of each node -> its new label, where they differ."""
    found = {}
    for (path, one), (_, other) in zip(bodies(before), bodies(after), strict=True):
        outer = label_of(before, path), label_of(after, path)
        for old, new in zip(node_labels(one.node), node_labels(other.node), strict=True):
            if (joined := (joined_label(outer[0], old), joined_label(outer[1], new)))[0] != joined[1]:
                found[joined[0]] = joined[1]
    return found


# comparison with the original


def require_paired_inputs(result: RenameResult) -> None:
    """Raise UsageError if `diff` would not pair the inputs of both models as they are renamed.

    It pairs them by name if the names are the same, as after an exchange of names, else by position.
    """
    before, after = ([value.name for value in fed_inputs(proto)] for proto in (result.source.proto, result.proto))
    if before != after and set(before) == set(after):
        old, new = next((old, new) for old, new in zip(before, after, strict=True) if old != new)
        raise UsageError(f"{old} and {new} exchange their names, so the models cannot be compared by name")


def with_original_interface(result: RenameResult) -> ModelProto:
    """The new model with Identity nodes, so that its inputs and outputs have the original names.

    Raises UsageError if an original name is that of another tensor in the new model, as after an exchange of names.
    """
    proto = ModelProto()
    proto.CopyFrom(result.proto)
    graph = proto.graph
    taken = {value.name for value in graph.input} | initializers_of(graph)
    taken.update(name for _, body in bodies(proto) for node in body.node for name in (*node.input, *node.output))
    for old, new in (*result.renamed_inputs.items(), *result.renamed_outputs.items()):
        if old in taken:
            raise UsageError(f"{old} and {new} exchange their names, so the models cannot be compared by name")
    first, last = [], []
    for old, new in result.renamed_inputs.items():
        for held in (*graph.input, *graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
            if held.name == new:
                held.name = old  # the default too
        first.append(NodeProto(op_type="Identity", input=[old], output=[new]))
    for old, new in result.renamed_outputs.items():
        if old not in result.renamed_inputs:
            last.append(NodeProto(op_type="Identity", input=[new], output=[old]))
        for value in graph.output:
            if value.name == new:
                value.name = old
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)
    return proto
