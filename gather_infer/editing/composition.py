"""`compose`: two models as one, with a proof that the outputs of the first fit the contract of the second."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from gather_infer.contract import KEY as CONTRACT_KEY
from gather_infer.domains import plain_domain
from gather_infer.editing.contract_proof import joined_contract
from gather_infer.editing.opset_alignment import common_versions
from gather_infer.editing.renaming import dim_texts
from gather_infer.editing.result import EditResult, JoinedLine, LineStatus, with_constraints
from gather_infer.editing.retention import (
    needed_part,
    remove_unneeded,
    uncalled_functions,
    undefined_annotations,
)
from gather_infer.editing.selection import require_known
from gather_infer.errors import EditRefused, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.constraints.given import symbols_of_inputs
from gather_infer.inference.constraints.persisted import KEY as DIMS_KEY
from gather_infer.inference.constraints.persisted import DimConstraint, persisted_texts, read_persisted, text_of
from gather_infer.inference.dim_rendering import names_of_dims
from gather_infer.inference.proto.types import to_dim_param
from gather_infer.ir import Model, require_well_formed
from gather_infer.ir.dead_code import DEAD_CODE_REASON
from gather_infer.ir.write_back import journal_of
from gather_infer.model import AppendModel, ImportOpset, Journal, ModelFile, Names, RemoveOutput, SetMetadata
from gather_infer.model.apply import apply
from gather_infer.model.external import is_external
from gather_infer.model.file import joined_location
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file
from gather_infer.model.names import names_of
from gather_infer.model.paths import bodies
from gather_infer.model.renaming import rename_dims, rename_everywhere
from gather_infer.model.tensors import fed_inputs, iter_tensors
from gather_infer.progress import Progress, no_progress
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Expr, Interval, substitute, symbol
from gather_infer.tensor import SymbolicTensor, Value

_NAME: Final = "compose"
_UNREAD: Final = "the second model does not read it"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class ComposeResult(EditResult):
    """Two models joined to one; `source` is the first, and `other` the second.

    mapping   output of the first model -> inputs of the second that it feeds
    renamed   names of the second model that are other ones in the new model, old name -> new name
    """

    other: ModelFile
    mapping: Mapping[str, tuple[str, ...]]
    renamed: Mapping[str, str]

    @property
    def edits(self) -> list[str]:
        """A line for each edit: of the names of the second model, then of the first one."""
        names = [f"{_NAME}: rename {old} to {new}: in the second model" for old, new in self.renamed.items()]
        return [*names, *self.journal.describe(self.source.proto)]


def compose(
    first: ModelLike,
    second: ModelLike,
    *,
    mapping: Mapping[str, str] | Iterable[str] = (),
    prefix: str = "",
    keep_outputs: bool = False,
    require_proved: bool = False,
    allow_failures: bool = False,
    dims: Mapping[str, object] | Iterable[str] = (),
    types: Mapping[str, str] | Iterable[str] = (),
    initializers_as_constants: bool = False,
    rules: Sequence[RuleSet] = (),
    progress: Progress = no_progress,
) -> ComposeResult:
    """Join two models: outputs of the first become inputs of the second.

    first, second   paths, ModelProtos, ModelFiles or onnx_graphsurgeon Graphs; never changed
    mapping   input of the second model -> the output, or input, of the first that feeds it; or texts `output=input`. By
              default inputs are fed by the output of the same name, or the only input by the only output
    prefix    of all names of the second model; by default only names that both models use get one, from its file name
    keep_outputs   keep outputs of the first model that feed the second; by default only the others stay outputs
    require_proved   refuse unless every line of the second model's contract is proved
    allow_failures   join although a line fails for some inputs, which the result lists
    dims, types, initializers_as_constants   as `dims`, `inputs`, ... of `infer`, for the first model; the new model
              declares the sizes and records the bounds
    rules, progress  as for `infer`

    Inputs and outputs are those of the first model, then those of the second that are left. Element types, ranks and
    sizes have to fit. Then the contract of the joined model is derived: a line that inputs within the contract of the
    first model violate is a failure, with these inputs as a witness; a line that is neither proved nor refuted is a
    condition of the result, as are lines about the inputs of the second model that stay inputs.

    `ComposeResult.refused` has the reasons why the result is not to be written. Raises EditRefused if types or opsets
    do not fit or a model has training graphs, UnknownName and UsageError for names that do not fit.

        >>> path = "fixtures/bert-torchscript.onnx"
        >>> hidden = gather_infer.extract(path, outputs="last_hidden_state")
        >>> pooler = gather_infer.extract(path, inputs="last_hidden_state", outputs="pooler_output")
        >>> joined = gather_infer.compose(hidden.proto, pooler.proto)
        >>> print(joined.mapping, joined.after.nodes, joined.refused)
        {'last_hidden_state': ('last_hidden_state',)} 335 ()
    """
    _, a = with_constraints(
        first,
        dims=dims,
        types=types,
        rules=rules,
        initializers_as_constants=initializers_as_constants,
        progress=progress,
    )
    b = to_onnx_file(second)
    names = a.name, b.name if b.name != a.name else f"{b.name} (second)"
    for file, name in zip((a, b), names, strict=True):
        require_well_formed(Model.of(file), name)
        if file.proto.training_info:
            raise EditRefused(f"{name}: has training graphs, which are about the whole model")
    feeds = _feeds(mapping, a.proto, b.proto)
    one = infer(a, rules=rules, assume=False, progress=progress)
    two = infer(b, rules=rules, assume=False, progress=progress)
    for name, source in feeds.items():
        _require_types(names, source, one[source], name, two[name])
    versions = common_versions(a.proto, b.proto, names)
    prepared = _Prepared(a, b, feeds, one, two, prefix)
    outputs = {value.name for value in a.proto.graph.output}
    removed = [name for name in dict.fromkeys(feeds.values()) if name in outputs and not keep_outputs]
    journal = _without_unread(a, [name for name in removed if name not in prepared.read])
    for domain, version in versions.items():
        if version != _version(a.proto, domain):
            reason = "the other model imports it"
            journal.add(ImportOpset(by=_NAME, reason=reason, domain=domain, version=version))
    for name in removed:
        if name in prepared.read:
            journal.add(RemoveOutput(by=_NAME, reason="feeds the second model", name=name))
    journal.add(*prepared.metadata_edits())
    journal.add(AppendModel(by=_NAME, reason=f"the second model, {names[1]}", model=prepared.proto))
    proto = apply(journal, a.proto)
    original = replace(a, joined=(*a.joined, b))
    joined = replace(original, proto=proto, path=None, original=None, label="the joined model")
    contract = joined_contract(a, b, joined, feeds, one, rules=rules, progress=progress)
    refused = list(contract.errors)
    if not allow_failures:
        refused += [_failure(line) for line in contract.lines if line.status is LineStatus.FAILS]
    if require_proved:
        refused += [f"{line.text} is not proved" for line in contract.lines if line.status is LineStatus.OPEN]
    return ComposeResult(
        model=to_caller_type(first, proto),
        diagnostics=(),
        journal=journal,
        source=original,
        proto=proto,
        notes=tuple(prepared.notes()),
        symbols=one.causes,
        other=b,
        mapping={out: tuple(n for n, s in feeds.items() if s == out) for out in dict.fromkeys(feeds.values())},
        renamed=prepared.names,
        lines=contract.lines,
        refused=tuple(dict.fromkeys(refused)),
    )


def _without_unread(file: ModelFile, outputs: Sequence[str]) -> Journal:
    """The removal of outputs that feed inputs which the second model does not read, and of what computes them alone."""
    if not outputs:
        return Journal()
    graph = Model.of(file)
    main = graph.main
    before = needed_part(graph, main.outputs)
    unused = [name for node in main.nodes if node not in before.nodes for name in node.outputs if name]
    unused += [name for name in (*main.initializers, *main.sparse) if name not in before.values]
    for name in outputs:
        graph.remove_output(main, name, _UNREAD)
    remove_unneeded(graph, needed_part(graph, [*main.outputs, *unused]), DEAD_CODE_REASON)
    journal = journal_of(graph, _NAME)
    journal.add(*uncalled_functions(graph, _NAME, DEAD_CODE_REASON))
    journal.add(*undefined_annotations(graph, _NAME, DEAD_CODE_REASON))
    return journal


def _failure(line: JoinedLine) -> str:
    nodes = f" (node {', '.join(line.nodes)})" if line.nodes else ""
    return f"{line.text} fails: {line.example}{nodes}"


def _version(proto: ModelProto, domain: str) -> int | None:
    return next((e.version for e in proto.opset_import if plain_domain(e.domain) == domain), None)


# the mapping


def _feeds(given: Mapping[str, str] | Iterable[str], a: ModelProto, b: ModelProto) -> dict[str, str]:
    """Input of the second model -> the value of the first that feeds it, in the order of the inputs."""
    outputs = [value.name for value in a.graph.output]
    sources = list(dict.fromkeys([*outputs, *(value.name for value in a.graph.input)]))
    inputs = [value.name for value in fed_inputs(b)]
    if isinstance(given, Mapping):
        pairs = [(source, name) for name, source in given.items()]
    else:
        pairs = [_pair(text, sources, inputs) for text in ([given] if isinstance(given, str) else given)]
    if not pairs:
        pairs = [(name, name) for name in inputs if name in outputs]
        if not pairs and len(outputs) == 1 == len(inputs):
            pairs = [(outputs[0], inputs[0])]
        if not pairs:
            raise UsageError(
                f"no output of the first model has the name of an input of the second: map one of {', '.join(outputs)} "
                f"to one of {', '.join(inputs)}"
            )
    found: dict[str, str] = {}
    for source, name in pairs:
        require_known("output of the first model", source, sources)
        require_known("input of the second model", name, inputs)
        if found.setdefault(name, source) != source:
            raise UsageError(f"input {name!r} is fed by both {found[name]!r} and {source!r}")
    return {name: found[name] for name in inputs if name in found}


def _pair(text: str, sources: Sequence[str], inputs: Sequence[str]) -> tuple[str, str]:
    """The output and the input in a text `output=input`; a name may contain =."""
    parts = text.split("=")
    if len(parts) == 1:
        raise UsageError(f"a mapping is OUTPUT=INPUT, not {text!r}")
    pairs = [("=".join(parts[:at]), "=".join(parts[at:])) for at in range(1, len(parts))]
    return next((pair for pair in pairs if pair[0] in sources and pair[1] in inputs), pairs[0])


# types


def _require_types(names: tuple[str, str], source: str, given: Value, name: str, wanted: Value) -> None:
    """Raise EditRefused if no value is of both types."""
    text = f"output {source} of {names[0]} is {given}, input {name} of {names[1]} is {wanted}"
    if isinstance(given, SymbolicTensor) and isinstance(wanted, SymbolicTensor):
        if None not in (given.dtype, wanted.dtype) and given.dtype is not wanted.dtype:
            raise EditRefused(text)
        if given.shape is not None and wanted.shape is not None:
            if len(given.shape) != len(wanted.shape):
                raise EditRefused(text)
            for axis, (one, other) in enumerate(zip(given.shape, wanted.shape, strict=True)):
                if isinstance(one, int) and isinstance(other, int) and one != other:
                    raise EditRefused(f"{text}: axis {axis} is {one}, not {other}")
        return
    is_known = not any(isinstance(value, SymbolicTensor) and value.dtype is None for value in (given, wanted))
    if type(given) is not type(wanted) and is_known:
        raise EditRefused(text)


# the second model


class _Prepared:
    """The second model with names that the first does not use.

    proto     its message, without the inputs that the first model feeds
    names     old name -> new name, of values, of those that changed
    dims      its symbols, in the dims of the new model
    read      the names that its nodes read and its graphs return, values of the first model among them
    """

    def __init__(
        self, a: ModelFile, b: ModelFile, feeds: Mapping[str, str], one: Inference, two: Inference, prefix: str
    ) -> None:
        self.a, self.b, self.feeds = a, b, feeds
        proto = self.proto = ModelProto()
        proto.CopyFrom(b.proto)
        self.prefix = prefix or f"{_stem(b)}/"
        self._is_forced = bool(prefix)
        self._taken = Names(a.proto)
        self._taken_values = set(_values_of(a.proto))
        self._own = set(names_of(b.proto))
        returned = self._returned_inputs()
        self._remove_fed_inputs()
        self.names = self._value_names(returned)
        rename_everywhere(proto, {**self.names, **feeds})
        rename_everywhere(proto, returned)
        self._rename_nodes()
        self._rename_functions()
        self.dims = self._dims(one, two)
        self._set_dims()
        self.read = {name for _, body in bodies(proto) for node in body.node for name in node.input}
        self.read.update(
            value.name for _, body in bodies(proto) if isinstance(body, GraphProto) for value in body.output
        )
        for tensor in iter_tensors(proto):
            if is_external(tensor):
                for entry in tensor.external_data:
                    if entry.key == "location":
                        entry.value = joined_location(len(a.joined), entry.value)

    def _returned_inputs(self) -> dict[str, str]:
        """Insert an Identity for each fed input that is an output; returns its interim name -> the output's name."""
        graph = self.proto.graph
        found = {}
        for value in graph.output:
            if value.name in self.feeds:
                inner = self._fresh(f"{value.name}_returned")
                graph.node.append(NodeProto(op_type="Identity", input=[value.name], output=[inner]))
                is_free = value.name not in self._taken_values and not self._is_forced
                found[inner] = value.name if is_free else self._fresh(f"{self.prefix}{value.name}")
                value.name = inner
        return found

    def _fresh(self, name: str) -> str:
        """A name that neither model uses."""
        while True:
            name = self._taken.fresh(name)
            if name not in self._own:
                self._own.add(name)
                return name

    def _remove_fed_inputs(self) -> None:
        """Remove the inputs that the first model feeds, with their defaults and declarations."""
        graph = self.proto.graph
        _filter(graph.input, lambda value: value.name not in self.feeds)
        _filter(graph.value_info, lambda value: value.name not in self.feeds)
        _filter(graph.initializer, lambda tensor: tensor.name not in self.feeds)
        _filter(graph.sparse_initializer, lambda sparse: sparse.values.name not in self.feeds)
        annotated = {annotation.tensor_name for annotation in self.a.proto.graph.quantization_annotation}
        _filter(graph.quantization_annotation, lambda each: self.feeds.get(each.tensor_name) not in annotated)

    def _value_names(self, returned: Mapping[str, str]) -> dict[str, str]:
        """The new names of values: of those that the first model uses, or of all with a prefix."""
        found: dict[str, str] = {}
        for name in _values_of(self.proto):
            if name not in self.feeds and name not in returned and (self._is_forced or name in self._taken_values):
                found[name] = self._fresh(f"{self.prefix}{name}")
        return found

    def _rename_nodes(self) -> None:
        taken = {node.name for _, body in bodies(self.a.proto) for node in body.node}
        for _, body in bodies(self.proto):
            if isinstance(body, GraphProto):
                for node in body.node:
                    if node.name and (self._is_forced or node.name in taken):
                        node.name = f"{self.prefix}{node.name}"

    def _rename_functions(self) -> None:
        """Rename functions that the first model defines in another way."""
        known = {_key(function): function for function in self.a.proto.functions}
        while True:  # a function that calls a renamed one differs from that of the first model, too
            changed = {
                _key(function): self._fresh(_identifier(f"{self.prefix}{function.name}"))
                for function in self.proto.functions
                if known.get(_key(function), function) != function
            }
            if not changed:
                return
            for function in self.proto.functions:
                function.name = changed.get(_key(function), function.name)
            for _, body in bodies(self.proto):
                for node in body.node:
                    node.op_type = changed.get((plain_domain(node.domain), node.op_type, node.overload), node.op_type)

    def _dims(self, one: Inference, two: Inference) -> dict[str, Dim]:
        """The symbols of the second model that are sizes of the first, and those that need another name."""
        found: dict[str, Dim] = {}
        for name, source in self.feeds.items():
            given, wanted = one[source], two[name]
            if not (isinstance(given, SymbolicTensor) and isinstance(wanted, SymbolicTensor)):
                continue
            if given.shape is None or wanted.shape is None:
                continue
            for size, dim in zip(given.shape, wanted.shape, strict=True):
                if isinstance(dim, Expr) and dim.is_symbol:
                    found.setdefault(dim.name, size)
        taken = set(names_of_dims(self.a.proto)) | {name for dim in found.values() for name in _symbols(dim)}
        used = {name for dim in dim_texts(self.b.proto, functions=False).values() for name in _symbols(dim)}
        for name in sorted(used - found.keys()):
            if name in taken:
                base = _identifier(f"{self.prefix}{name}")
                new = next(n for n in _numbered(base) if n not in taken and n not in used)
                found[name] = symbol(new)
                taken.add(new)
        return found

    def _set_dims(self) -> None:
        texts: dict[str, str | int] = {}
        for text, dim in dim_texts(self.b.proto, functions=False).items():
            try:
                new = substitute(dim, self.dims)
            except ZeroDivisionError:
                new = symbol(self._fresh(_identifier(text)))
            if new != dim:
                texts[text] = to_dim_param(new) if isinstance(new, Expr) else new
        rename_dims(self.proto, texts, functions=False)

    def metadata_edits(self) -> Iterator[SetMetadata]:
        """The metadata of both models; keys that both have with other values get the prefix in the second."""
        mine = {entry.key: entry.value for entry in self.a.proto.metadata_props}
        if CONTRACT_KEY in mine:
            yield SetMetadata(by=_NAME, reason="is about the first model", key=CONTRACT_KEY, value=None)
        constraints = [*_constraints(self.a.proto, {}), *_constraints(self.b.proto, self.dims)]
        text = text_of(constraints)
        if text and text != mine.get(DIMS_KEY):
            yield SetMetadata(by=_NAME, reason="the bounds of both models", key=DIMS_KEY, value=text)
        kept = [e for e in self.proto.metadata_props if e.key not in (CONTRACT_KEY, DIMS_KEY)]
        entries = [type(e)(key=self._metadata_key(e.key, e.value, mine), value=e.value) for e in kept]
        del self.proto.metadata_props[:]
        self.proto.metadata_props.extend(entries)

    def _metadata_key(self, key: str, value: str, mine: Mapping[str, str]) -> str:
        return f"{self.prefix}{key}" if mine.get(key, value) != value else key

    def notes(self) -> Iterator[str]:
        """Remarks about names, and about entries of the metadata that are left out."""
        changed = [(old, new) for old, new in self.names.items() if old in self._interface()]
        if changed:
            yield f"renamed in the second model: {', '.join(f'{old} to {new}' for old, new in changed)}"
        for file, which in ((self.a, "first"), (self.b, "second")):
            if any(entry.key == CONTRACT_KEY for entry in file.proto.metadata_props):
                yield f"{CONTRACT_KEY} in the metadata: is about the {which} model alone"

    def _interface(self) -> set[str]:
        return {value.name for value in (*self.b.proto.graph.input, *self.b.proto.graph.output)}


def _filter(field: Any, is_kept: Callable[[Any], bool]) -> None:
    """Remove messages from a repeated field."""
    kept = [each for each in field if is_kept(each)]
    if len(kept) < len(field):
        copies = [type(each).FromString(each.SerializeToString()) for each in kept]
        del field[:]
        field.extend(copies)


def _stem(file: ModelFile) -> str:
    """A name for the second model, from its file or graph."""
    text = file.path.stem if file.path is not None else Path(file.proto.graph.name or "second").name
    return text or "second"


def _identifier(text: str) -> str:
    """The text as the name of a dim or function."""
    plain = re.sub(r"\W", "_", text)
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 0
    while True:
        number += 1
        yield f"{base}_{number}"


def _symbols(dim: Dim) -> frozenset[str]:
    return dim.symbols if isinstance(dim, Expr) else frozenset()


def _key(function: FunctionProto) -> tuple[str, str, str]:
    return plain_domain(function.domain), function.name, function.overload


def _values_of(proto: ModelProto) -> Iterator[str]:
    """The names of the values of all graphs but functions, each once."""
    found: dict[str, None] = {}
    for _, body in bodies(proto):
        if isinstance(body, GraphProto):
            found.update((value.name, None) for value in (*body.input, *body.output, *body.value_info))
            found.update((tensor.name, None) for tensor in body.initializer)
            found.update((sparse.values.name, None) for sparse in body.sparse_initializer)
            for node in body.node:
                found.update((name, None) for name in (*node.input, *node.output))
            for annotation in body.quantization_annotation:
                found.update((entry.value, None) for entry in annotation.quant_parameter_tensor_names)
    found.pop("", None)
    yield from found


def _constraints(proto: ModelProto, dims: Mapping[str, Dim]) -> Iterator[DimConstraint]:
    """The bounds in the metadata of a model, in other dims; those about numbers are left out."""
    known, _ = symbols_of_inputs(fed_inputs(proto), {})
    for each in read_persisted(persisted_texts(proto), known)[0]:
        dim = substitute(each.dim, dims)
        if isinstance(dim, Expr):
            value = each.value if isinstance(each.value, Interval) else substitute(each.value, dims)
            yield DimConstraint(dim, value)
