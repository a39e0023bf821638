"""`unfreeze`: makes fixed input sizes dynamic; `freeze` with the old sizes gives the original model back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Final

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.inference import Access, Inference, infer
from gather_infer.inference.inference_driver import interpret_once
from gather_infer.inference.interface_types import Interface, Redeclared
from gather_infer.inference.interpreter import Interpreter
from gather_infer.inference.proto.types import to_type
from gather_infer.ir import Model, require_well_formed
from gather_infer.ir.dead_code import eliminate_all_dead_code
from gather_infer.ir.write_back import to_proto
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import AddInitializer, Edit, InsertNodes, Journal, RemoveInitializer, RemoveNode
from gather_infer.model.model_loading import ModelLike, to_caller_type, to_onnx_file
from gather_infer.model.paths import bodies
from gather_infer.node_ids import MAIN
from gather_infer.progress import Progress, no_progress
from gather_infer.provenance.row_verdicts import independence_of
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor
from gather_infer.unfreezing.axis_factors import is_free
from gather_infer.unfreezing.computed_sizes import Site
from gather_infer.unfreezing.counterpart import Counterpart, counterpart
from gather_infer.unfreezing.other_places import has_same_elements
from gather_infer.unfreezing.requested_sizes import Request, is_of_rows, requested
from gather_infer.unfreezing.result import Blocked, UnfreezeResult
from gather_infer.unfreezing.rows import check_rows
from gather_infer.unfreezing.unknown_sizes import SizesFound, UnknownSizes
from gather_infer.unfreezing.walk import UnfreezingWalk
from gather_infer.unfreezing.window_masks import stage_of_one_window
from gather_infer.validate import verdicts
from gather_infer.validate.verdict import VerdictKind

NAME: Final = "unfreezing"
MAX_WALKS: Final = 7


def unfreeze(
    model: ModelLike,
    dims: Mapping[str, str] | Iterable[str],
    *,
    like: ModelLike | None = None,
    partial: bool = False,
    verify: bool = True,
    rules: Sequence[RuleSet] = (),
    progress: Progress = no_progress,
) -> UnfreezeResult:
    """Give sizes of the inputs a name, and edit what stands for the old size; `gather_infer.unfreeze`.

    Constants and targets that contain the old size become expressions of the input's shape. A Reshape gets the freed
    size where the order of the elements puts it. What cannot be explained refuses the model, by the name of the node.

    model    a path, a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    dims     `["ids.0=batch", "mask.0=batch"]` or a mapping `{"ids.0": "batch"}`; `*.0=batch` names axis 0 of all inputs
    like     a second export of the same network at other sizes: a constant that is the same in both is not the size,
             one that differs is, and the result equals both models at their sizes
    partial  whether to free some of several symbols if not all can be freed
    rules    the caller's rule sets, as for `infer`
    verify   whether to run rows together in the result and alone in the original, in onnxruntime

    Raises ModelReadError when the model cannot be read, ModelStructureError for a cycle or a name that is defined
    twice, UsageError for an input, an axis or a name that does not fit, and for a model `like` that is not the same
    graph at another size.
    """
    source = to_onnx_file(model)
    source.require_data()
    require_well_formed(Model(source.proto), source.name)
    second = None if like is None else to_onnx_file(like)
    request = requested(source, dims, has_counterpart=second is not None)

    def attempt(asked: Request) -> UnfreezeResult:
        other = None if second is None else counterpart(source, second, asked.sites, asked.freed, rules)
        return _unfrozen(source, model, asked, other, verify, rules, progress)

    result = attempt(request)
    if not partial or not result.refused or len(request.freed) == 1:
        return result
    kept: list[str] = []
    dropped: dict[str, str] = {}
    for name in request.freed:
        found = attempt(request.only([*kept, name]))
        if found.refused:
            dropped[name] = found.why_refused
        else:
            kept, result = [*kept, name], found
    return replace(result, dropped=dropped)


def _unfrozen(
    source: ModelFile,
    model: ModelLike,
    request: Request,
    other: Counterpart | None,
    verify: bool,
    rules: Sequence[RuleSet],
    progress: Progress,
) -> UnfreezeResult:
    sites, freed = request
    named = {dim.dim_param for value in source.proto.graph.input for dim in value.type.tensor_type.shape.dim}
    fixed = {name: size for name, size in freed.items() if name in named}
    before = infer(source, dims=fixed, rules=rules, assume=False, progress=progress)
    opened = replace(source, proto=_opened(source.proto, sites))
    names = {value.name for value in source.proto.graph.input}

    def prepare(interpreter: Interpreter) -> None:
        assert isinstance(interpreter, UnfreezingWalk), "it has this type"
        opset = max((o.version for o in source.proto.opset_import if o.domain in ("", "ai.onnx")), default=1)
        first = {name: sites[name][0] for name in freed}
        rows = [name for name in freed if is_of_rows(sites[name])]
        interpreter.prepare(before.scopes[MAIN], freed, first, opset, _names(source.proto) | names, rows, other)

    progress(lambda: "following the sizes")
    journal = Journal()
    walk, blocked = _followed(opened, prepare, freed, rules)
    proto, interface = source.proto, Interface()
    unreached: tuple[str, ...] = ()
    after: Inference | None = None
    if blocked is None:
        journal = Journal(_edits(source.proto, walk))
        proto = _without_dead_code(apply(journal, source.proto), source.proto)
        journal = Journal([*_kept_edits(journal, proto), *_dead_code(journal, source.proto, proto)])
        _clear_bodies(proto, set(freed.values()))
        _open_inputs(proto, sites)
        del proto.graph.value_info[:]
        after = infer(replace(source, proto=proto), rules=rules, progress=progress)
        if after.errors:
            where = after.errors[0].location
            blocked = Blocked(f"node {where.node}", after.errors[0].message)
        elif other is None and not walk.row_symbols.issuperset(freed):
            blocked = _loosened_access(before, after, walk.row_numbers.in_bounds)
    if blocked is None:
        assert after is not None
        proto, interface = _declared(source.proto, proto, after)
        unreached = tuple(_fixed_outputs(before, after, freed))
    else:
        journal, proto = Journal(), source.proto
    result = UnfreezeResult(
        model=to_caller_type(model, proto),
        diagnostics=before.diagnostics,
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
        freed=freed,
        sites=request.texts,
        blocked=blocked,
        fixed=unreached,
        most={} if blocked is not None else dict(walk.upper_bounds),
        like=None if other is None else other.model,
        like_sizes={} if other is None else dict(other.sizes),
    )
    if blocked is None and after is not None:
        axes = {name: {site.input: site.axis for site in sites[name]} for name in walk.row_symbols}
        result = replace(result, independence={name: independence_of(after, found) for name, found in axes.items()})
    if blocked is None and verify:
        assert after is not None, "there is a result"
        progress(lambda: "running rows together and alone")
        rows = check_rows(source, proto, after, sites, freed, walk.factors, walk.row_symbols, walk.upper_bounds, other)
        result = replace(result, rows=rows)
    return result


def _followed(
    opened: ModelFile, prepare: Callable[[Interpreter], None], freed: Iterable[str], rules: Sequence[RuleSet]
) -> tuple[UnfreezingWalk, Blocked | None]:
    """The walk, and the node that blocks it.

    A size of 1 can stand in several places of a reshaped tensor. If a node blocks the walk, the last such choice before
    it is made in another way, `MAX_WALKS` times at most; the first fault is the one that is reported. Rows are run, and
    contradict a wrong place; a length is not, so that nothing may fit its other places, unless the elements are the
    same.
    """
    first: Blocked | None = None
    placements: dict[str, int] = {}
    sizes: dict[Site, Dim] = {}

    divides_patches = False

    def follow(places: Mapping[str, int]) -> tuple[UnfreezingWalk, Blocked | None]:
        nonlocal divides_patches
        walks: list[UnfreezingWalk] = []

        def begin(interpreter: Interpreter) -> None:
            assert isinstance(interpreter, UnfreezingWalk), "it has this type"
            prepare(interpreter)
            interpreter.placements = places
            interpreter.divides_patches = divides_patches
            interpreter.unknown = UnknownSizes(interpreter, sizes)
            walks.append(interpreter)

        try:
            interpret_once(opened, UnfreezingWalk, begin, dims=[f"{name}=1.." for name in freed], rules=rules)
        except SizesFound as found:
            sizes.update(found.sizes)
            return follow(places)
        except Blocked as fault:
            return walks[0], walks[0].unknown.fault or fault
        if walks[0].leaves_out_sizes and not divides_patches and walks[0].unknown.fault is None:
            divides_patches = True
            return follow(places)
        return walks[0], walks[0].unknown.fault or stage_of_one_window(walks[0])

    for _ in range(MAX_WALKS):
        walk, fault = follow(placements)
        if fault is None:
            for name, others in walk.other_places.items():
                for another, blocked in (follow({**placements, name: at}) for at in others):
                    if blocked is None and not has_same_elements(walk, another):
                        return walk, Blocked(f"value {name}", "more than one of its axes can hold a size of 1")
            return walk, None
        first = first or fault
        name = next((n for n, count in reversed(walk.ambiguous.items()) if placements.get(n, 0) + 1 < count), "")
        if not name:
            break
        placements[name] = placements.get(name, 0) + 1
    return walk, first


# the model that the walk reads


def _opened(proto: ModelProto, sites: Mapping[str, Iterable[Site]]) -> ModelProto:
    """A copy with symbols in the inputs, and no declared sizes elsewhere."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    _open_inputs(copy, sites)
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        _clear_dims(value.type, None)
    _clear_bodies(copy, None)
    return copy


def _open_inputs(proto: ModelProto, sites: Mapping[str, Iterable[Site]]) -> None:
    values = {value.name: value for value in proto.graph.input}
    for symbol, found in sites.items():
        for site in found:
            values[site.input].type.tensor_type.shape.dim[site.axis].dim_param = symbol


def _clear_bodies(proto: ModelProto, sizes: set[int] | None) -> None:
    """Leave declared sizes of subgraphs open: those in `sizes`, or all if that is None."""
    for path, body in bodies(proto):
        if path == MAIN or not isinstance(body, GraphProto):
            continue
        for value in (*body.input, *body.output, *body.value_info):
            _clear_dims(value.type, sizes)


def _clear_dims(declared: TypeProto, sizes: set[int] | None) -> None:
    if declared.HasField("tensor_type") and declared.tensor_type.HasField("shape"):
        for dim in declared.tensor_type.shape.dim:
            if dim.HasField("dim_value") and (sizes is None or dim.dim_value in sizes):
                dim.Clear()


def _names(proto: ModelProto) -> set[str]:
    found: set[str] = set()
    for _, body in bodies(proto):
        for node in body.node:
            found.update(node.output)
        found.update(t.name for t in getattr(body, "initializer", ()))
    return found


# the result


def _edits(proto: ModelProto, walk: UnfreezingWalk) -> list[Edit]:
    edits: list[Edit] = []
    used: set[str] = set()
    for placed in walk.placed:
        original = None if placed.is_new else proto.graph.node[placed.before]
        if original is not None and original.SerializeToString() == placed.node.SerializeToString():
            continue
        used.update(placed.node.input)
        if original is not None:
            edits.append(RemoveNode(by=NAME, reason=placed.reason, node=placed.before))
        edits.append(
            InsertNodes(
                by=NAME,
                reason=placed.reason,
                nodes=(placed.node,),
                before=placed.before,
                origin=None if original is None else placed.before,
            )
        )
    constants: list[Edit] = [
        AddInitializer(by=NAME, reason="a size or its rows", tensor=tensor)
        for name, tensor in walk.added.items()
        if name in used
    ]
    return [*constants, *edits]


def _without_dead_code(proto: ModelProto, before: ModelProto) -> ModelProto:
    """The model without the nodes and constants that nothing reads any more, of those that something read."""
    dead_before = _unread(before)
    model = Model(proto)
    eliminate_all_dead_code(model, lambda node: node.outputs[0] not in dead_before and not node.bodies)
    return to_proto(model)


def _kept_edits(journal: Journal, after: ModelProto) -> Iterator[Edit]:
    """The edits without the new nodes and constants that nothing reads in the result."""
    held = {name for node in after.graph.node for name in node.output} | {t.name for t in after.graph.initializer}
    for edit in journal.edits:
        if isinstance(edit, InsertNodes):
            made = {name for node in edit.nodes for name in node.output if name}
        else:
            made = {edit.tensor.name} if isinstance(edit, AddInitializer) else set()
        if not made or not made.isdisjoint(held):
            yield edit


def _dead_code(journal: Journal, before: ModelProto, after: ModelProto) -> Iterator[Edit]:
    """The removals of nodes and constants of the file that nothing reads any more."""
    held = {name for node in after.graph.node for name in node.output}
    removed = {edit.node for edit in journal.edits if isinstance(edit, RemoveNode)}
    reason = "nothing reads it any more"
    for position, node in enumerate(before.graph.node):
        if position not in removed and held.isdisjoint(node.output):
            yield RemoveNode(by=NAME, reason=reason, node=position)
    constants = {tensor.name for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        if tensor.name not in constants:
            yield RemoveInitializer(by=NAME, reason=reason, name=tensor.name)


def _unread(proto: ModelProto) -> set[str]:
    read = {name for _, body in bodies(proto) for node in body.node for name in node.input}
    read |= {value.name for _, body in bodies(proto) for value in getattr(body, "output", ()) if hasattr(value, "name")}
    return {name for node in proto.graph.node for name in node.output if name not in read}


def _loosened_access(before: Inference, after: Inference, in_bounds: Set[str]) -> Blocked | None:
    """An index that is not proved in bounds any more: it stands for a position in the old size.

    Rows need no such test, as they are run. The indices `in_bounds` are so by construction.
    """
    known = {_access_key(v.access): v for v in verdicts(after)}
    for verdict in verdicts(before):
        now = known.get(_access_key(verdict.access))
        if now is not None and now.access.indices in in_bounds:
            continue
        if verdict.kind is VerdictKind.PROVED and now is not None and now.kind is VerdictKind.UNDECIDED:
            return Blocked(
                f"node {now.access.node} ({now.access.op_type})", f"its index is not in bounds: {now.reason}"
            )
    return None


def _access_key(access: Access) -> tuple[str, int, int | None]:
    return access.result, access.input, None if access.addressing is None else access.addressing.column


def _declared(before: ModelProto, proto: ModelProto, after: Inference) -> tuple[ModelProto, Interface]:
    """The model with inferred types for its outputs, and for the values that the file declared; and what changed."""
    facts = after.scopes[MAIN]
    generated = after.causes

    def render(dim: Any) -> str:
        return "" if not dim.symbols.isdisjoint(generated) else str(dim)

    for value in proto.graph.output:
        fact = facts.get(value.name)
        declared = None if fact is None else to_type(fact, render)
        if declared is not None:
            value.type.CopyFrom(declared)
    for old in before.graph.value_info:
        fact = facts.get(old.name)
        declared = None if fact is None else to_type(fact, render)
        if declared is not None:
            entry = proto.graph.value_info.add()
            entry.CopyFrom(old)
            entry.type.CopyFrom(declared)
    changed = [
        Redeclared(new.name, kind, "", _dims(old), _dims(new) or ())
        for kind, olds, news in (
            ("input", before.graph.input, proto.graph.input),
            ("output", before.graph.output, proto.graph.output),
        )
        for old, new in zip(olds, news, strict=True)
        if _dims(old) != _dims(new)
    ]
    return proto, Interface(changed=tuple(changed))


def _dims(value: ValueInfoProto) -> tuple[int | str | None, ...] | None:
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in value.type.tensor_type.shape.dim
    )


def _fixed_outputs(before: Inference, after: Inference, freed: Mapping[str, int]) -> Iterator[str]:
    """The outputs that no freed size reaches, although one of their sizes is the old one."""
    for name in after.outputs:
        now, was = after.scopes[MAIN].get(name), before.scopes[MAIN].get(name)
        if isinstance(now, SymbolicTensor) and isinstance(was, SymbolicTensor):
            shape = now.shape or ()
            if not any(is_free(dim, freed) for dim in shape) and any(dim in freed.values() for dim in was.shape or ()):
                yield name
